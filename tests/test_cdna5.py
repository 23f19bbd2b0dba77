"""CDNA5 (gfx1250) and gfx1251 against LLVM's lists and against closed forms of their layouts.

The closed forms are transcribed from public descriptions of the CDNA5 ISA, not from the rules that they test.
Notation: h = lane / 16, i = lane % 16, e the slot in the lane. No closed form of the SWMMAC operands A, B and
index is public; they are checked for consistency only, and the product calls them unconfirmed.
"""

from __future__ import annotations

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
    assert (f64.opcode, f64.provenance, f64.cycles) == (91, "unconfirmed", None)
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


def test_the_index_of_a_sparse_a_lies_in_the_lane_of_its_data_and_fills_its_registers():
    for inst in ALL:
        if inst.sparse:
            data, index = inst.operand("A"), inst.operand("K")
            assert index.provenance == data.provenance == inst.operand("B").provenance == "unconfirmed"
            assert index.registers == inst.k // 64
            assert index.table()["lane"].tolist() == data.table()["lane"].tolist()
            assert index.table()["item"].tolist() == data.table()["item"].tolist()


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


def test_only_8_bit_chunks_and_sparse_operands_are_unconfirmed_layouts():
    for inst in DENSE:
        doubtful = inst.format("A").bits == 8 and inst not in F8F6F4
        assert inst.operand("A").provenance == ("unconfirmed" if doubtful else "two sources agree")
        assert inst.operand("D").provenance == "two sources agree"


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
