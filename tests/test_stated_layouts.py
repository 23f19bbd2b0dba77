"""Apple's SIMD groups, Intel's AMX and Arm's SME, whose catalog files state the layouts: against their sources."""

import re

import ml_dtypes
import numpy as np
import pytest

import mmacalc
from mmacalc import Error
from mmacalc.cli import answer
from mmacalc.families.stated import sized

SIMDGROUP = "simdgroup_multiply_accumulate.8x8x8.f32.f16.f16.f32"
MATMUL = "matmul2d.16x32x16.f32.f16.f16.f32"


def places(operand):
    """(row, column): (lane, item) of every element."""
    _, rows, columns = operand.shape
    first, second = operand.axes[1:]
    found = {}
    for row in range(rows):
        for column in range(columns):
            (at,) = operand.locate(**{first: row, second: column})
            found[row, column] = (at.lane, at.item)
    return found


@pytest.mark.parametrize("name", "ABCD")
def test_an_8x8_simdgroup_matrix_lies_as_mlx_computes_it(name):
    found = places(mmacalc.instruction("M1", SIMDGROUP).operand(name))
    assert len(found) == 64
    for lane in range(32):  # BaseMMAFrag::get_coord
        quad = lane // 4
        row, column = (quad & 4) + (lane // 2) % 4, (quad & 2) * 2 + (lane % 2) * 2
        for item in range(2):
            assert found[row, column + item] == (lane, item)


@pytest.mark.parametrize(("name", "fragments"), [("A", 1), ("B", 2), ("C", 2), ("D", 2)])
def test_fragments_of_matmul2d_lie_as_mlx_computes_them(name, fragments):
    found = places(mmacalc.instruction("M5", MATMUL).operand(name))
    assert len(found) == 256 * fragments
    for lane in range(32):  # BaseNAXFrag::get_coord, and mma, which puts the second fragment behind the first
        for index in range(8):
            row = ((lane >> 2) & 4 | (lane >> 1) & 3) + (index >> 2) * 8
            column = ((lane >> 2) & 2 | lane & 1) * 4 + index % 4
            for fragment in range(fragments):
                assert found[row, column + 16 * fragment] == (lane, 8 * fragment + index)


@pytest.mark.parametrize("name", [inst.name for inst in mmacalc.instructions("amx-dmr")])
def test_amx_tiles_lie_as_the_pseudo_code_of_the_manual_reads_them(name):
    inst = mmacalc.instruction("amx-dmr", name)
    each = 32 // inst.format("A").bits  # elements of a dword
    a, b, d = (inst.operand(operand) for operand in "ABD")
    assert (inst.m, inst.n, inst.k) == (16, 16, 16 * each)
    for m in range(inst.m):
        for k in range(0, inst.k, 3):  # src1.row[m].element[k], src2.row[k / each].element[each * n + k % each]
            (at,) = a.locate(i=m, k=k)
            assert (at.register, 32 * at.lane + at.lsb) == (m, k * 32 // each)
            (at,) = b.locate(k=k, j=m)
            assert (at.register, 32 * at.lane + at.lsb) == (k // each, 32 * m + 32 // each * (k % each))
        (at,) = d.locate(i=m, j=5)
        assert (at.register, at.lane, at.lsb, at.width) == (m, 5, 0, 32)


@pytest.mark.parametrize(("arch", "length"), [("sme-128", 128), ("sme-256", 256), ("sme-512", 512)])
def test_outer_products_of_sme_follow_from_the_vector_length(arch, length):
    for inst in mmacalc.instructions(arch):
        bits = inst.format("A").bits
        dim, each = length // 32, 32 // bits
        assert (inst.m, inst.n, inst.k) == (dim, dim, each)
        for row in range(dim):
            for k in range(each):  # Elem[op1, each * row + k, esize], Elem[op2, each * col + k, esize]
                for operand, coordinates in (("A", {"i": row, "k": k}), ("B", {"j": row, "k": k})):
                    (at,) = inst.operand(operand).locate(**coordinates)
                    assert at.register == 0
                    assert 32 * at.lane + at.lsb == bits * (each * row + k)
            (at,) = inst.operand("D").locate(i=row, j=dim - 1)
            assert (at.register, at.lane) == (row, dim - 1)  # a horizontal slice of ZA, and its element


def test_places_are_written_as_the_manuals_write_them():
    for line, text in (
        (["-a", "M4", "-i", SIMDGROUP, "-D", "-g", "-I", "3", "-J", "5"], "D[3][5] = thread_elements()[1] @ thread 14"),
        (["-a", "amx", "-i", "tdpbssd", "-B", "-g", "-K", "9", "-J", "3"], "B[9][3] = row[2].byte[13]"),
        (["-a", "sme", "-i", "svmopa_za32_bf16_m", "-A", "-g", "-I", "3", "-K", "1"], "A[3][1] = z.h[7]"),
        (["-a", "sme", "-i", "bfmopa.s.h", "-D", "-g", "-I", "3", "-J", "5"], "D[3][5] = za.s[3][5]"),
    ):
        reply = answer(line)
        assert reply.status == 0, reply.err
        assert text in reply.out


def test_what_no_source_says_is_refused_by_name():
    for line, words in (
        (["numerics", "-a", "M1", "-i", SIMDGROUP], "Apple does not publish how"),
        (["gemm", "-a", "dmr", "-i", "tdpbf8ps", "--gemm", "16x16x64", "--random", "1"], "is not computed here"),
        (["assemble", "-a", "amx", "tdpbf16ps tmm0, tmm1, tmm2"], "are not encoded here"),
        (["generate", "-a", "M1", "-i", SIMDGROUP], "kernels are generated in HIP and CUDA"),
        (["estimate", "-a", "sme", "--gemm", "16x16x16", "--type", "bf16"], "no cycles of SME"),
        (["-a", "amx", "-i", "tdpfp16ps", "-d"], "AMX of Sapphire Rapids has no instruction 'tdpfp16ps'"),
        (["-a", "M5", "-i", SIMDGROUP, "-d"], "Apple M5 has no instruction"),
        (["explain", "-a", "amx", "tdpbf16ps tmm0, tmm1, tmm2"], "no assembly of AMX of Sapphire Rapids is read"),
        (["tile", "-a", "amx", "-i", "tdpbf16ps", "--waves", "2x2"], "has no waves that could share a tile"),
        (["tile", "-a", "sme", "-i", "fmopa.s.h"], "has no waves that could share a tile"),
        (["memory", "-a", "amx", "-i", "tdpbf16ps", "-A"], "loads whole tiles by TILELOADD"),
    ):
        reply = answer(line)
        assert reply.status == 2, line
        assert words in reply.err


@pytest.mark.parametrize(
    ("arch", "dtype", "name"),
    [("amx", "bfloat16", "tdpbf16ps"), ("amx-gnr", "float16", "tdpfp16ps"), ("amx", "int8", "tdpbssd"),
     ("amx", "uint8", "tdpbuud"), ("sme-512", "float16", "fmopa.s.h"), ("sme-128", "float32", "fmopa.s.s")],
)  # fmt: skip
def test_gemm_chooses_the_instruction_where_no_cycles_are_published(arch, dtype, name):
    rng = np.random.default_rng(26)
    a, b = (rng.integers(0, 9, shape).astype(getattr(ml_dtypes, dtype, dtype)) for shape in ((20, 40), (40, 24)))
    d = mmacalc.gemm(a, b, arch=arch)
    assert d.emulation.instruction.name == name
    np.testing.assert_array_equal(d, mmacalc.gemm(a, b, arch=arch, instruction=name))
    np.testing.assert_array_equal(d, a.astype(int) @ b.astype(int))


def test_functions_of_c_headers_name_their_instructions():
    for arch, name, instruction in (
        ("amx", "_tile_dpbf16ps", "tdpbf16ps"), ("amx-dmr", "_tile_mmultf32ps", "tmmultf32ps"),
        ("sme", "svmopa_za32_f16_m", "fmopa.s.h"),
    ):  # fmt: skip
        assert answer(["intrinsic", "-a", arch, name]).out == f"{instruction}\n  {name}  (clang)\n"
        assert instruction in answer(["find", "-a", arch, "--intrinsic", name]).out


OUTSIDE = """
ARCHITECTURES = (
    {"name": "lane4", "title": "Lane4", "vendor": "apple", "layout": "simdgroup", "waves": (4,),
     "patterns": {"own": {"A": ("i k -> lane (i), item (k)", {}), "B": ("k j -> lane (j), item (k)", {}),
                          "C": ("(h i) j -> lane (i), item (h j)", {"i": 4}),
                          "D": ("(h i) j -> lane (i), item (h j)", {"i": 4})}}},
)
INSTRUCTIONS = (("mul", "lane4", "4x4x8", {"A": "f16", "B": "f16", "C": "f32", "D": "f32"}, "own"),)
"""


def test_hardware_that_nobody_knows_is_one_file(tmp_path, monkeypatch):
    from mmacalc.catalog import Catalog

    path = tmp_path / "lane4.py"
    path.write_text(OUTSIDE)
    found = Catalog([str(path)]).entry("lane4").instruction("MUL")
    assert found.operand("D").pattern == "i j -> lane (i), item (j)"
    assert found.provenance_of("A") == "assumed"
    for wrong, words in (
        ('"own"),)', "is of the kind"), ('"4x4x8"', "a shape is MxNxK"), ('{"i": 4})}', "do not make 4"),
    ):  # fmt: skip
        path.write_text(
            OUTSIDE.replace(wrong, {'"own"),)': '"other"),)', '"4x4x8"': '"4x4"', '{"i": 4})}': '{"i": 3})}'}[wrong])
        )
        with pytest.raises(Error, match=re.escape(words)):
            Catalog([str(path)]).entry("lane4").instruction("mul").operand("D")


def test_a_pattern_with_two_sizes_left_open_is_refused():
    with pytest.raises(
        Error, match=re.escape("the sizes of (a b) in '(a b) k -> lane (a), item (b k)' do not make 16")
    ):
        sized("(a b) k -> lane (a), item (b k)", {}, [16, 4])
