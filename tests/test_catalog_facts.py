"""Numbers and tables that nothing else would miss, each against a source outside the package."""

import itertools
import re
import subprocess

import ml_dtypes
import numpy as np
import pytest

import mmacalc
from llvm_mc import assembled, tool
from mmacalc import intrinsics, rocwmma
from mmacalc.arithmetic.tables import TABLES
from mmacalc.catalog import entry
from mmacalc.chaining.conversions import of_target
from mmacalc.cli import answer
from mmacalc.families import descriptors, shared_memory
from mmacalc.families import tensor_memory as tensor_memory_shapes
from mmacalc.formats import FORMATS, NUMPY_NAMES
from mmacalc.page.words import encodable


def test_every_architecture_names_an_arithmetic_table_and_every_table_has_one():
    named = {mmacalc.architecture(name).arithmetic for name in mmacalc.architectures()}
    assert named == set(TABLES)  # "" is for unpublished arithmetic: of Rubin nothing is known


def test_the_lds_of_a_workgroup_is_the_most_that_llvm_lets_a_kernel_have():
    for target in ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250", "gfx1251"):
        source = (
            "@lds = addrspace(3) global [16777216 x i8] poison\n"
            "define amdgpu_kernel void @kernel() { store volatile i8 0, ptr addrspace(3) @lds ret void }\n"
        )
        command = [tool("llc"), "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-o", "/dev/null", "-"]
        done = subprocess.run(command, input=source, capture_output=True, text=True)
        (limit,) = re.findall(r"local memory \(16777216\) exceeds limit \((\d+)\)", done.stderr)
        assert mmacalc.architecture(target).lds_bytes == int(limit), target


def test_tuples_of_registers_are_aligned_as_llvm_takes_them_and_intels_as_long_as_they_are():
    """LLVM refuses a pair that begins at an odd VGPR where pairs are aligned. Intel's registers have 32 bits for each
    channel, 32 bytes up to Xe-HPG and 64 bytes from Xe-HPC on (IGC's documentation/visa)."""
    for target in ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250", "gfx1251"):
        (found,) = assembled(["global_load_b64 v[1:2], v[4:5], off"], target)
        if isinstance(found, str):
            (found,) = assembled(["global_load_dwordx2 v[1:2], v[4:5], off"], target)
        assert mmacalc.architecture(target).register_alignment == (8 if isinstance(found, str) else 4), target
    for arch, size in {"xe-hp": 32, "xe-hpg": 32, "xe-hpc": 64, "xe2": 64}.items():
        record = mmacalc.architecture(arch)
        assert (record.register_alignment, 4 * record.waves[0]) == (size, size)


# --- cycles that llvm-mca does not model ---


def test_rdnas_cycles_follow_from_amds_rates_per_workgroup_processor():
    """RDNA3: 1024 FP16 and INT8, 2048 INT4 operations a clock; RDNA4: 2048, 4096, and 8192 for INT4 with K = 32; twice
    that with 2:4 sparsity (AMD's RDNA3 and RDNA4 ISA guides and product pages; RDNA4's INT4 with K = 16 is INT8's)."""
    for inst in mmacalc.instructions("rdna3"):
        assert inst.cycles == (16 if inst.formats["A"] == "iu4" else 32), inst
    for inst in mmacalc.instructions("rdna4"):
        assert inst.cycles == (16 if inst.formats["A"] in ("f16", "bf16") else 8), inst


@pytest.mark.parametrize("arch", ["cdna1", "cdna2", "cdna3", "cdna4"])
def test_the_cycles_that_leave_the_valu_free_are_all_but_those_of_the_first_passes(arch):
    """AMD's tool 1.3.2 for CDNA1 to CDNA3; CDNA4 by CDNA3's rule, which its record calls assumed."""
    for inst in mmacalc.instructions(arch):
        busy = 8 if arch == "cdna1" or inst.sparse else 4
        alone = inst.formats["A"] == "f64" or (inst.formats["A"] == "f32" and arch in ("cdna3", "cdna4"))
        free = 0 if alone else inst.cycles - busy
        assert (inst.valu_cycles or 0) == free, inst
        if inst.narrow_cycles:
            assert inst.valu_cycles_for(cbsz=4, blgp=4) == inst.narrow_cycles[1] - busy
        assert inst.provenance_of("valu_cycles") == ("assumed" if arch == "cdna4" else "two sources agree")


def test_operands_of_six_and_four_bits_halve_the_cycles_of_cdna4():
    """AMD's product pages of MI350: MXFP6 and MXFP4 have twice the rate of MXFP8."""
    found = {
        inst.name: (inst.cycles, inst.narrow_cycles) for inst in mmacalc.instructions("cdna4") if inst.narrow_cycles
    }
    assert len(found) == 4
    for cycles, narrow in found.values():
        assert tuple(narrow) == (6, cycles // 2)


# --- modifiers ---


def test_blgp_takes_b_from_the_lanes_that_amds_lab_notes_name():
    """AMD lab notes, "AMD matrix cores": 1 and 2 broadcast a half of the lanes to the other, 4 to 7 a quarter to all
    quarters; 3 rotates the data of all lanes down by 16: lane 0's goes to lane 48, lane 16's to lane 0."""
    quarters = [list(range(16 * number, 16 * number + 16)) for number in range(4)]
    first, second, third, fourth = quarters
    sources = {
        1: 2 * (first + second), 2: 2 * (third + fourth), 3: second + third + fourth + first,
        **{4 + number: 4 * quarter for number, quarter in enumerate(quarters)},
    }  # fmt: skip
    for arch in ("cdna1", "cdna2", "cdna3", "cdna4"):
        for inst in (one for one in mmacalc.instructions(arch) if "blgp" in one.features and one.formats["A"] != "f64"):
            plain = inst.operand("B")
            for blgp, source in sources.items():
                moved = inst.operand("B", blgp=blgp)
                for k, j, block in itertools.product(range(inst.k), range(0, inst.n, 3), range(inst.blocks)):
                    (before,), (after,) = (one.locate(k=k, j=j, block=block) for one in (plain, moved))
                    assert after == before._replace(lane=source[before.lane]), (inst, blgp)


def test_fields_take_the_values_that_their_bits_can_say():
    """The ISA guides: BLGP has three bits; NEG and NEG_HI have one for each of A, B and C. Of integers those of A and B
    are their signs. NEG_HI is of the upper halves of A and B, which only 16-bit elements have, and C's magnitude."""
    for arch in mmacalc.architectures():
        for inst in (one for one in mmacalc.instructions(arch) if one.architecture.vendor == "amd"):
            of_c = "neg_c" in inst.features
            low = (0, 4) if of_c else range(4 if inst.integer else 8)
            high = (0,) if inst.integer else range(8) if inst.format("A").bits == 16 else (0, 4)
            every = {"blgp": range(5 if "blgp" in inst.choices else 8), "neg": low, "neg_hi": high}
            for name, values in inst.modifier_limits().items():
                assert name not in every or values == tuple(every[name]), (inst, name)


def test_c_mod_of_the_builtins_negates_by_1_and_takes_the_magnitude_by_2_as_clang_compiles_it():
    kernels = "".join(
        f"KERNEL k{value}(I* a, F* c) {{"
        f" *c = __builtin_amdgcn_wmma_f32_16x16x64_fp8_fp8(a[0], a[1], {value}, *c, 0, 0); }}\n"
        for value in (1, 2)
    )
    source = (
        '#define KERNEL extern "C" __attribute__((global)) void\n'
        "typedef int I __attribute__((ext_vector_type(8))); typedef float F __attribute__((ext_vector_type(8)));\n"
    ) + kernels
    command = [
        tool("clang"), "-x", "hip", "--offload-arch=gfx1250", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-O1",
        "-S", "-o", "-", "-",
    ]  # fmt: skip
    text = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"v_wmma_\S+ .* (neg_\w+:\S+)", text) == ["neg_lo:[0,0,1]", "neg_hi:[0,0,1]"]
    nothing = np.zeros((8, 32), np.int32)
    c = np.linspace(-2, 2, 256, dtype=np.float32).reshape(8, 32)
    for value, expected in ((0, c), (1, -c), (2, abs(c)), (3, -abs(c))):
        d = intrinsics.amdgcn_wmma_f32_16x16x64_fp8_fp8(nothing, nothing, value, c, 0, 0, arch="gfx1250")
        assert np.array_equal(d, expected)


# --- what NVIDIA's sources leave open ---


def test_what_no_second_source_or_measurement_confirms_is_unconfirmed():
    """The registers of metadata that not every lane of a quad or row holds, sparse TF32's B, and wgmma's metadata."""
    unconfirmed = {
        ("f16", 16): "K", ("bf16", 16): "K", ("tf32", 8): "K", ("tf32", 16): "B",
        **{(kind, 32): "K" for kind in ("i8", "u8")}, **{(kind, 64): "K" for kind in ("i4", "u4")},
    }  # fmt: skip
    for target in ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"):
        for inst in mmacalc.instructions(target):
            expected = ""
            if inst.sparse:
                expected = "K" if "wgmma" in inst.features else unconfirmed.get((inst.formats["A"], inst.k), "")
            assert "".join(inst.unconfirmed_parts) == expected, inst
            for name in inst.operands:
                sure = "unconfirmed" if name == expected else inst.row_provenance
                assert inst.provenance_of(name) == sure, (inst, name)


@pytest.mark.parametrize(
    "arch",
    ["cdna3", "cdna4", "cdna5", "rdna3", "rdna4", "xe-hp", "xe-hpg", "xe-hpc", "xe2", "sm_75", "sm_90a", "sm_120a"],
)
def test_an_architecture_has_the_doubts_of_its_instructions_and_of_no_others(arch):
    doubts = {part for inst in mmacalc.instructions(arch) for part in inst.unconfirmed_parts}
    assert entry(arch).unconfirmed_parts == doubts
    page = answer(["architectures", arch]).out
    assert ("unconfirmed" in re.search("layouts .*", page)[0]) == bool(
        {*doubts, *mmacalc.architecture(arch).unconfirmed} & {"A", "B", "C", "D", "K", "SA", "SB"}
    )


def test_the_page_says_by_how_many_lanes_and_registers_the_selector_moves():
    """PTX ISA, mma.sp: of four lanes that could hold the metadata of f16 with k = 16, the selector names one."""
    page = answer(["-a", "sm_80", "-i", "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "-d"]).out
    assert "K lane: 1 * selector higher\n" in page
    scaled = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
    assert "SA bits: 8 * byte-id-a higher\n" in answer(["-a", "sm_120a", "-i", scaled, "-d"]).out
    inst = mmacalc.instruction("sm_80", "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    for selector in range(4):
        assert inst.operand("K", selector=selector).locate(i=0, k=0)[0].lane == selector


# The layouts of CUTLASS's mma_traits_sm90_gmma.hpp for 16-bit types, (rows or columns, k): 16 bytes are T = 8 elements;
# a mode is a list of (size, stride), fastest first. S and L are the stride and leading offsets, in elements.
T = 8
CANONICAL = {
    ("none", "k"): (((8, T), ("m", "S")), ((T, 1), (2, "L"))),
    **{(f"{16 << b}B", "k"): (((8, T << b), ("m", "S")), ((T, 1), (1 << b, T))) for b in (1, 2, 3)},
    ("none", "mn"): (((T, 1), ("m", "S")), ((8, T), ("k", "L"))),
    **{(f"{16 << b}B", "mn"): (((T, 1), (1 << b, T), ("m", "L")), ((8, T << b), ("k", "S"))) for b in (1, 2, 3)},
}


@pytest.mark.parametrize(("swizzle", "major"), CANONICAL)
def test_wgmmas_operands_lie_where_cutlass_has_them_in_shared_memory(swizzle, major):
    strides = {"S": 4096, "L": 1024}  # bytes; more than a tile, so that no two elements share a byte
    rows, depth = CANONICAL[swizzle, major]

    def place(modes, index):
        total = 0
        for size, stride in modes:
            step = index if isinstance(size, str) else index % size
            index = 0 if isinstance(size, str) else index // size
            total += step * (strides[stride] if isinstance(stride, str) else 2 * stride)
        return total

    depths = 8 * int(swizzle[:-1]) // 16 if swizzle != "none" and major == "k" else 16
    bits = {"none": 0, "32B": 1, "64B": 2, "128B": 3}[swizzle]
    seen = set()
    for row, k in itertools.product(range(64 if major == "mn" else 24), range(depths)):
        address = place(rows, row) + place(depth, k)
        chunk = address >> 4 & 7 ^ (address >> 7 & ((1 << bits) - 1))
        expected = address & ~0x70 | chunk << 4
        found = shared_memory.offset(row, k, 16, swizzle, major, strides["L"], strides["S"])
        assert found == expected, (row, k)
        seen.add(found)
    assert len(seen) == (64 if major == "mn" else 24) * depths


def test_the_detail_page_of_wgmma_names_cutes_swizzles():
    """CUTLASS, include/cute/arch/mma_sm90_desc.hpp and atom/mma_traits_sm90_gmma.hpp: Swizzle<1|2|3,4,3>."""
    page = answer(["-a", "sm_90a", "-i", "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "-d"]).out
    assert re.findall(r"(\w+) swizzle: .* x (\d+) bytes, Swizzle<(\d),4,3>", page) == [
        ("none", "16", "0"), ("32B", "32", "1"), ("64B", "64", "2"), ("128B", "128", "3"),
    ]  # fmt: skip


def test_the_bits_of_the_matrix_descriptor_are_the_ptx_isas():
    """PTX ISA, the matrix descriptor of wgmma: 13-0 address, 29-16 leading, 45-32 stride, 51-49 base, 63-62 mode."""
    fields = descriptors.decode_shared_memory(0, "wgmma").fields
    assert [(field.name, field.low, field.bits) for field in fields] == [
        ("address", 0, 14), ("leading", 16, 14), ("stride", 32, 14), ("base_offset", 49, 3), ("swizzle", 62, 2),
    ]  # fmt: skip
    for at, beyond in ((0, 1 << 18), (1, 1 << 18), (2, 1 << 18), (3, 8)):
        values = [0, 16, 16, 0]
        values[at] = beyond
        with pytest.raises(mmacalc.Error, match=f"below {beyond}; got {beyond}"):
            shared_memory.descriptor(*values[:3], "none", values[3])
    for swizzle, code in (("none", 0), ("128B", 1), ("64B", 2), ("32B", 3)):
        word = shared_memory.descriptor(0x3FFF0, 0x12340, 0x23450, swizzle, base_offset=5)
        assert word == 0x3FFF | 0x1234 << 16 | 0x2345 << 32 | 5 << 49 | code << 62


@pytest.mark.parametrize(
    ("arch", "name", "code"),
    [
        ("sm_80", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", 0x7FF8000000000000),
        ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 0x7FFFFFFF),
        ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", 0x7FFF),
        ("cdna3", "v_mfma_f64_16x16x4_f64", 0x7FF8000000000000),
        ("cdna3", "v_mfma_f32_16x16x16_f16", 0x7FC00000),
    ],
)
def test_a_nan_result_has_the_bits_that_its_page_promises(arch, name, code):
    inst = mmacalc.instruction(arch, name)
    half = inst.formats["A"] == "f16"
    nan, one, kind = (0x7E01, 0x3C00, np.uint16) if half else (0x7FF8000000000001, 0x3FF0000000000000, np.uint64)
    a, b = np.full((inst.m, inst.k), nan, kind), np.full((inst.k, inst.n), one, kind)
    d = inst.multiply_bits(a, b, np.zeros((inst.m, inst.n), f"u{inst.format('D').bits // 8}"))
    assert set(d.ravel().tolist()) == {code}


# --- rocWMMA ---


@pytest.mark.parametrize(("assignment", "columns"), [("contiguous", (0, 1)), ("round robin", (0, 2))])
def test_a_wave_of_two_with_four_work_items_has_two_in_a_row_or_every_other(assignment, columns):
    """A's lane holds four neighbours along k, one for each work item: rocWMMA's source, and its API guide."""

    def kernel(wave, a, d, first):
        frag = rocwmma.fragment(rocwmma.matrix_a, 16, 16, 16, np.float16, rocwmma.row_major)
        rocwmma.load_matrix_sync(frag, a, 16)
        rocwmma.store_matrix_coop_sync(d, frag, 16, first, 2, 4, assignment=assignment)

    a = np.arange(1, 257, dtype=np.float16).reshape(16, 16)
    for wave in (0, 1):
        d = np.zeros_like(a)
        mmacalc.launch(kernel, 1, 64, a, d, wave, arch="gfx942")
        mine = {(column + (2 if assignment == "contiguous" else 1) * wave) % 4 for column in columns}
        stored = [k % 4 in mine for k in range(16)]
        assert np.array_equal(d, np.where(stored, a, 0))


def test_every_vector_instruction_moves_data_as_far_as_the_isa_guides_say():
    """By the ISA guides DPP rows and v_permlane16 have 16 lanes, v_permlanex16 32, v_permlane64 64, ds_swizzle 32 of
    them; CDNA4 swaps rows of 16 lanes in 32, and halves of 64. By LLVM 22 ds_bpermute reaches the wave, but 32
    lanes on RDNA3 (supportsWaveWideBPermute). By the PTX ISA a warp has 32 lanes. All others stay in their lane."""
    far = {
        "v_mov_b32_dpp": 16, "v_cndmask_b32_dpp": 16, "v_mov_b32_dpp row_xmask": 16, "v_permlane16_b32": 16,
        "v_permlanex16_b32": 32, "v_permlane64_b32": 64, "v_permlane16_swap_b32": 32, "v_permlane32_swap_b32": 64,
        "ds_swizzle_b32": 32, "shfl.sync.bfly.b32": 32, "shfl.sync.idx.b32": 32,
    }  # fmt: skip
    for arch in mmacalc.architectures():
        record = mmacalc.architecture(arch)
        if record.vendor not in ("amd", "nvidia"):
            continue
        for name, lanes in of_target(record).items():
            warp = 32 if "matrix.sync" in name else far.get(name, 1)
            if name == "ds_bpermute_b32":
                warp = 32 if arch.startswith(("rdna3", "gfx115", "cdna5", "gfx125")) else 64
            assert lanes == warp, (arch, name)


def test_cbsz_of_a_sparse_instruction_has_two_bits():
    """CDNA3 and CDNA4 ISA guides, section 7.5: CBSZ[1:0] and ABID choose the index set of an SMFMAC."""
    sparse = [inst for arch in ("cdna3", "cdna4") for inst in mmacalc.instructions(arch) if inst.sparse]
    assert {inst.modifier_limits()["cbsz"] for inst in sparse} == {(0, 1, 2, 3)}
    for inst in sparse:
        for cbsz, abid in itertools.product(range(4), inst.modifier_limits()["abid"]):
            chosen = inst.operand("K", cbsz=cbsz, abid=abid).locate(i=1, k=4)
            assert chosen == inst.operand("K", abid=0 if cbsz else abid).locate(i=1, k=4), (inst, cbsz, abid)


def test_values_in_equal_steps_are_spoken_as_a_range():
    assert tensor_memory_shapes.steps((8, 16, 24, 32)) == "8 to 32 in steps of 8"
    assert tensor_memory_shapes.steps((64, 128, 256)) == "64 or 128 or 256"
    assert tensor_memory_shapes.steps((8, 16, 24)) == "8 or 16 or 24"


def test_what_a_generation_is_said_to_have_is_what_its_manuals_have():
    """AccVGPRs and blocks: CDNA1 to CDNA4; 16-bit results in half a register: RDNA3; ldmatrix, SASS, .satfinite
    and published rates instead of cycles: NVIDIA, whose layouts are the same on all generations."""
    cdna, nvidia = {"cdna1", "cdna2", "cdna3", "cdna4"}, {name for name in mmacalc.architectures() if name[:3] == "sm_"}
    having = {
        "blocks": cdna, "half_results": {"rdna3"},
        **dict.fromkeys(("matrix_moves", "equal_operands", "sass", "has_published_rates", "satfinite"), nvidia),
    }  # fmt: skip
    for name in ("cdna1", "cdna4", "cdna5", "rdna3", "rdna4", "xe-hp", "xe2", "sm_70", "sm_90a", "sm_120a"):
        family = mmacalc.architecture(name).family
        for flag, names in having.items():
            assert getattr(family, flag) == (name in names), (name, flag)


def test_of_wmma_with_narrow_floats_only_c_has_signs_as_llvm_encodes_them():
    narrow = [
        (inst, wave)
        for arch in ("rdna4", "cdna5", "gfx1251")
        for inst in mmacalc.instructions(arch)
        if inst.format("A").is_float and inst.format("A").bits < 16 and not inst.sparse
        for wave in inst.architecture.waves
    ]
    for inst, wave in narrow:
        signs = {name: values for name, values in inst.modifier_limits(wave).items() if name in ("neg", "neg_hi")}
        assert signs == {name: values for name, values in encodable(inst, wave).items() if name in signs}
        assert signs == {"neg": (0, 4), "neg_hi": (0, 4)}, inst.name
    assert len(narrow) > 40


def test_formats_are_as_wide_as_numpy_and_ml_dtypes_say():
    floats = {name: dtype for name, dtype in NUMPY_NAMES.items() if FORMATS[name].kind not in ("signed", "unsigned")}
    widths = {
        name: ml_dtypes.finfo(dtype).bits
        for name, dtype in floats.items()
        if dtype.startswith("float") and hasattr(ml_dtypes, dtype)
    }
    assert widths == {name: FORMATS[name].bits for name in widths}
    assert {"e8m0", "e4m3", "e2m3"} <= set(widths)
