"""CDNA5 (gfx1250) and gfx1251 against LLVM's lists and against closed forms of their layouts.

The closed forms are transcribed from public descriptions of the CDNA5 ISA, not from the rules that they test.
Notation: h = lane / 16, i = lane % 16, e the slot in the lane. Those of the SWMMAC operands A, B and index are AMD's
hip-fpsan's (include/fpsan/amdgcn_swmmac_gfx1250.hpp), which was fitted to the builtins on gfx1250.
"""

from __future__ import annotations

from itertools import product

import ml_dtypes
import numpy as np
import pytest

import mmacalc
from closed_forms import assert_bijective, assert_follows, distinct, llvm
from mmacalc.cli import answer

ALL = mmacalc.instructions("gfx1250")
LLVM = llvm("gfx1250")
F8F6F4 = [inst for inst in ALL if inst.formats["A"] == "f8f6f4"]
DENSE = [inst for inst in ALL if not inst.sparse]
FORMATS = {"fp8": (8, 16), "bf8": (8, 16), "fp6": (6, 12), "bf6": (6, 12), "fp4": (4, 8)}


def ids(inst):
    return getattr(inst, "name", None)


def selectable(lines):
    """The lines that the compiler can select: LLVM assembles RDNA4's forms for gfx1250 as well."""
    return {name for name, line in lines.items() if line["builtins"]}


def test_the_list_is_what_llvm_can_select():
    assert {inst.name for inst in ALL} == selectable(LLVM)
    assert len(ALL) == 43
    assert not [inst for inst in ALL if "xf32" in inst.name or "iu4" in inst.name]
    plain = [inst.opcode for inst in ALL if "SA" not in inst.operands]
    assert plain == sorted(plain)


def test_gfx1251_has_the_same_and_a_64_bit_one():
    other = {inst.name: inst for inst in mmacalc.instructions("gfx1251")}
    assert selectable(llvm("gfx1251")) == {inst.name for inst in ALL}
    assert set(other) - {inst.name for inst in ALL} == {"v_wmma_f64_16x16x4_f64"}
    for inst in ALL:
        assert other[inst.name].opcode == inst.opcode
        for name in inst.operands:
            assert other[inst.name].operand(name).placement == inst.operand(name).placement
    f64 = other["v_wmma_f64_16x16x4_f64"]
    assert (f64.opcode, f64.provenance, f64.cycles) == (91, "unconfirmed", 16)
    for name in "ABCD":
        assert_bijective(f64.operand(name))


def test_scale_patterns_are_those_of_the_notation():
    def scale(arch, name, operand):
        return mmacalc.instruction(arch, name).operand(operand).pattern

    cdna4 = "v_mfma_scale_f32_16x16x128_f8f6f4"
    assert scale("cdna4", cdna4, "SA") == "i (g p) -> lane (g i), item (byte)"
    assert scale("cdna4", cdna4, "SB") == "(g p) j -> lane (g j), item (byte)"
    assert scale("cdna5", "v_wmma_scale_f32_16x16x128_f8f6f4", "SA") == "i (kb p) -> lane (half i), item (kb)"
    assert scale("cdna5", "v_wmma_scale16_f32_32x16x128_f4", "SA") == "i (kb p) -> lane (i), item (kb)"


def test_every_compiler_target_is_a_name_of_its_architecture():
    names = {"gfx950": "cdna4", "gfx1250": "cdna5", "gfx1251": "gfx1251", "gfx1200": "rdna4", "gfx1201": "rdna4"}
    names |= {f"gfx{number}": "rdna3" for number in (1100, 1101, 1102, 1103, 1150, 1151, 1152, 1153)}
    assert {name: mmacalc.instructions(name)[0].arch for name in names} == names


@pytest.mark.parametrize("inst", ALL, ids=ids)
def test_every_opcode_and_register_count_is_llvms(inst):
    line = LLVM[inst.name]
    if "opcode" in line:
        assert inst.opcode == int(line["opcode"], 16)
    for name in inst.operands:
        if len(name) == 1:
            assert inst.operand(name).registers == line["vgprs"]["index" if name == "K" else name]
    for name, registers in (line.get("vgprs_by_fmt") or {}).items():
        assert inst.operand("A", matrix_a_fmt=name.lower()).registers == registers
        assert inst.operand("B", matrix_b_fmt=name.lower()).registers == registers
    if "SA" in inst.operands:
        width = int(line["scale_operands"].split()[2].split("-")[0])
        assert 32 * inst.operand("SA").registers == 32 * inst.operand("SB").registers == width


# --- layouts ------------------------------------------------------------------------------------------------


def chunked(chunk):
    """k of half h and slot e, when a lane holds chunks of consecutive k by turns with the lane 16 further on."""
    return lambda half, slot: chunk * (2 * (slot // chunk) + half) + slot % chunk


def input_form(operand, k_of):
    if operand.name == "B":
        return lambda lane, slot: {(k_of(lane // 16, slot), lane % 16, 0)}
    slots = operand.items // (operand.instruction.m // 16)
    return lambda lane, slot: {(lane % 16 + 16 * (slot // slots), k_of(lane // 16, slot % slots), 0)}


def test_dense_a_and_b_alternate_chunks_between_the_halves_of_the_wave():
    # By the input's width: f32, 16 bits, 8 bits, 6 and 4 bits. The chunk of 8 bits is unconfirmed for K = 64 and
    # 128 of the plain instructions, confirmed for f8f6f4.
    chunks = {32: 2, 16: 8, 8: 16, 6: 32, 4: 32}
    operands = [inst.operand(name) for inst in DENSE for name in "AB"]
    operands += [
        inst.operand(name, matrix_a_fmt=f, matrix_b_fmt=f) for inst in F8F6F4 for f in FORMATS for name in "AB"
    ]
    for operand in distinct(operands):
        assert_follows(operand, input_form(operand, chunked(chunks[operand.format.bits])))


def test_results_are_rows_of_eight_and_32_row_results_go_on_in_further_registers():
    for operand in distinct(inst.operand(name) for inst in ALL for name in inst.operands if name in "CD"):
        rows = operand.instruction.m

        def form(lane, slot, rows=rows):
            return {(16 * (slot // 8) + 8 * (lane // 16) + slot % 8, lane % 16, 0)}

        assert operand.items == rows // 2
        assert_follows(operand, form)


def test_bf16f32_adds_to_a_32_bit_c_and_its_sparse_form_accumulates_in_8_registers():
    dense = mmacalc.instruction("gfx1250", "v_wmma_bf16f32_16x16x32_bf16")
    assert [(dense.format(n).name, dense.operand(n).registers) for n in "CD"] == [("f32", 8), ("bf16", 4)]
    sparse = mmacalc.instruction("gfx1250", "v_swmmac_bf16f32_16x16x64_bf16")
    assert (sparse.operand("D").registers, sparse.operand("D").provenance) == (8, "unconfirmed")


@pytest.mark.parametrize("inst", [inst for inst in ALL if "SA" in inst.operands], ids=ids)
def test_scales_are_consecutive_bytes_of_a_row(inst):
    block = 16 if "scale16" in inst.name else 32
    for name, rows in (("SA", inst.m), ("SB", inst.n)):
        for half in (0, 1):
            operand = inst.operand(name, matrix_a_scale=half, matrix_b_scale=half)
            assert operand.items == 128 // block

            def form(lane, slot, name=name, rows=rows, half=half):
                if rows == 16 and lane // 16 != half:
                    return set()
                blocks = range(block * slot, block * slot + block)
                return {(lane % rows, k, 0) if name == "SA" else (k, lane % rows, 0) for k in blocks}

            assert_follows(operand, form)


def test_every_element_has_bits_of_its_own_and_they_fill_the_registers():
    operands = [inst.operand(name) for inst in ALL for name in inst.operands if name in "ABCD"]
    operands += [
        inst.operand(name, matrix_a_fmt=f, matrix_b_fmt=f) for inst in F8F6F4 for f in FORMATS for name in "AB"
    ]
    for operand in distinct(operands):
        assert_bijective(operand)


SPARSE = [inst for inst in ALL if inst.sparse]


def hip_fpsan(inst):
    """What hip-fpsan says of an SWMMAC, for a row or column 0: where compressed value c of A is, as (lane, slot),
    where its index is, as (lane, bit), and where B's element k is. c, k: hip-fpsan's numbers, which are not ours."""
    bits, count = (8, 64) if inst.k == 128 else (16, 32)
    a = {c: (16 * (c >> 1 & 1), 2 * (c >> 2) + (c & 1)) for c in range(count)}
    if bits == 8:
        index = {c: (16 * (c // 32), 32 * (c // 2 & 1) + 4 * (c // 4 % 8) + 2 * (c & 1)) for c in range(count)}
    else:
        index = {c: (16 * (c >> 4), 16 * (c >> 1 & 1) + 4 * (c >> 2 & 3) + 2 * (c & 1)) for c in range(count)}
    b = {k: (16 * (k >> 2 & 1), k & 3 | k >> 3 << 2) for k in range(2 * count)}
    return a, index, b


@pytest.mark.parametrize("inst", SPARSE, ids=ids)
def test_every_stored_value_meets_the_element_of_b_that_silicon_multiplies_it_by(inst):
    """For every slot of A and every value of its index: the bits that hold the index, and the slot of B that is
    read. Only this can be seen in a product; it does not depend on how k is counted."""
    width = inst.format("A").bits
    a, index, b = hip_fpsan(inst)
    for row, (c, (lane, slot)) in product((0, 15), a.items()):
        bit = (slot - slot % 2) * width  # a Location is that of a pair
        here = inst.operand("A").contents(bit // 32, lane + row)
        k = min(element.col for element in here if element.lsb == bit % 32)
        (at,) = inst.operand("K").locate(i=row, k=k)
        assert (at.lane - row, 32 * at.register + at.lsb + 2 * (slot % 2)) == index[c]
        for position in range(4):
            (at,) = inst.operand("B").locate(j=row, k=k + position)
            assert (at.lane - row, at.item) == b[4 * (c // 2) + position]


@pytest.mark.parametrize("inst", SPARSE, ids=ids)
def test_a_sparse_product_of_silicons_registers_is_right(inst):
    """Registers of A, B and index filled as hip-fpsan's tests fill them give the product of its matrices."""
    rng = np.random.default_rng(inst.opcode)
    a, index, b = hip_fpsan(inst)
    matrix_a = rng.integers(-2, 3, (16, len(a)))
    matrix_b = rng.integers(-2, 3, (len(b), 16))
    position = np.sort(np.stack([rng.permuted(np.tile(range(4), (16, 1)), axis=1)[:, :2] for _ in range(len(a) // 2)]))
    position = position.transpose(1, 0, 2).reshape(16, len(a))
    expected = np.zeros((16, 16), int)
    for c in range(len(a)):
        expected += matrix_a[:, c, None] * matrix_b[4 * (c // 2) + position[:, c]]
    files = {}
    for name, matrix, places in (("A", matrix_a.T, a), ("B", matrix_b, b)):
        codes = encoded(inst.format(name), matrix)
        lanes = np.zeros((32, len(places) // 2), codes.dtype)
        for key, (lane, slot) in places.items():
            lanes[lane : lane + 16, slot] = codes[key]
        files[name] = np.ascontiguousarray(lanes).view(np.uint32).T
    words = np.zeros((inst.operand("K").registers, 32), np.uint32)
    for c, (lane, bit) in index.items():
        words[bit // 32, lane : lane + 16] |= position[:, c].astype(np.uint32) << np.uint32(bit % 32)
    signs = {"neg": 3} if inst.integer else {}
    d = inst.execute(files["A"], files["B"], index=words, **signs)
    found = np.ascontiguousarray(d.T).view(RESULTS[inst.format("D").name])[:, :8]
    for lane in range(32):
        assert found[lane].astype(int).tolist() == expected[8 * (lane // 16) : 8 * (lane // 16) + 8, lane % 16].tolist()


RESULTS = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i32": np.int32}
INPUTS = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
    "iu8": np.int8,
}  # fmt: skip


def encoded(form, matrix):
    values = matrix.astype(INPUTS[form.name])
    return values.view(f"u{values.itemsize}")


def test_the_sparse_patterns_are_those_of_the_notation():
    for name, run, b_run in (("v_swmmac_f32_16x16x64_f16", 4, 16), ("v_swmmac_f32_16x16x128_fp8_fp8", 8, 32)):
        inst = mmacalc.instruction("gfx1250", name)
        assert inst.operand("A").pattern == "i (c g q p) -> lane (g i), item (c q *s)"
        assert inst.operand("B").pattern == "(c g e) j -> lane (g j), item (c e)"
        assert inst.operand("K").pattern == "i (c g q p) -> lane (c i), item (g q *s)"
        assert (inst.operand("A").sizes["q"], inst.operand("B").sizes["e"]) == (run, b_run)
        assert not inst.notes


# --- the rest -----------------------------------------------------------------------------------------------


def test_cycles_follow_the_formats_and_are_called_unconfirmed():
    def cycles(name, **modifiers):
        return mmacalc.instruction("gfx1250", name).cycles_for(**modifiers)

    assert cycles("v_wmma_f32_16x16x64_fp8_bf8") == 4
    assert cycles("v_wmma_f16_16x16x128_fp8_bf8") == cycles("v_wmma_f32_16x16x32_bf16") == 8
    assert cycles("v_wmma_i32_16x16x64_iu8") == cycles("v_wmma_f32_16x16x4_f32") == 16
    assert cycles("v_wmma_f32_32x16x128_f4") == cycles("v_wmma_f32_16x16x128_f8f6f4") == 8
    assert cycles("v_wmma_f32_16x16x128_f8f6f4", matrix_a_fmt="fp4", matrix_b_fmt="fp6") == 8
    assert cycles("v_wmma_f32_16x16x128_f8f6f4", matrix_a_fmt="fp4", matrix_b_fmt="fp4") == 4
    for inst in ALL:
        assert inst.provenance == inst.provenance_of("cycles") == "unconfirmed"


def test_layouts_that_amd_tested_on_silicon_say_so_and_only_8_bit_chunks_are_unconfirmed():
    """hip-fpsan has no integer instructions of gfx1250; k of a dense 8-bit A or B cannot be seen in a product."""
    for inst in ALL:
        tested = "two sources agree" if inst.integer else "hardware-verified"
        for name in inst.operands:
            doubtful = inst in DENSE and inst.format("A").bits == 8 and inst not in F8F6F4 and name in "AB"
            doubtful = doubtful or (name == "D" and inst.name == "v_swmmac_bf16f32_16x16x64_bf16")
            assert inst.operand(name).provenance == ("unconfirmed" if doubtful else tested), inst.name
    for inst in mmacalc.instructions("gfx1251"):
        assert {inst.provenance_of(name) for name in inst.operands} <= {"two sources agree", "unconfirmed"}


def test_formats_and_scales_are_chosen_by_name_and_by_the_classic_spelling():
    inst = mmacalc.instruction("mi455x", "v_wmma_scale_f32_16x16x128_f8f6f4")
    assert inst.operand("A", cbsz="fp6").placement == inst.operand("A", matrix_a_fmt=2).placement
    assert inst.operand("SA", matrix_a_scale_fmt="e4m3").format.name == "ue4m3"
    assert inst.operand("SB", matrix_b_scale_fmt=1).format.name == "ue5m3"
    assert set(inst.modifier_limits()) == {
        "matrix_a_fmt", "matrix_b_fmt", "matrix_a_scale_fmt", "matrix_b_scale_fmt", "matrix_a_scale", "matrix_b_scale",
        "neg", "neg_hi",
    }  # fmt: skip
    with pytest.raises(mmacalc.Error, match="given twice"):
        inst.operand("A", cbsz=1, matrix_a_fmt=2)
    with pytest.raises(mmacalc.Error, match="no wave size 64; it has 32"):
        inst.operand("A", wave=64)


def test_no_page_denies_that_valu_instructions_run_beside_a_wmma():
    """LLVM puts V_NOPs between a WMMA of gfx1250 and a VALU instruction that reads D, so they do run beside it."""
    for arch in ("gfx1250", "gfx1251"):
        for inst in mmacalc.instructions(arch):
            assert "    Can co-execute with VALU: not known\n" in answer(["-a", arch, "-i", inst.name, "-d"]).out
            assert inst.provenance_of("valu_cycles") == "unconfirmed"
