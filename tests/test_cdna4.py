"""CDNA4 (gfx950) against LLVM's lists and against closed forms of its layouts, for every lane and slot.

The closed forms are transcribed from public descriptions (AMD's matrix-core blog, Composable Kernel, Triton, the
CDNA4 ISA guide's tables with the corrections of docs/isa-errata.md), not from the rules that they test. Notation:
l lane, dim the rows of A or columns of B, g = l / dim, G = 64 / dim, e the slot in the lane.
"""

from __future__ import annotations

import pytest

import mmacalc
from closed_forms import aliases, assert_bijective, assert_follows, distinct, llvm

ALL = mmacalc.instructions("gfx950")
LLVM = llvm("gfx950")
F8F6F4 = [inst for inst in ALL if inst.formats["A"] == "f8f6f4"]
SCALED = [inst for inst in ALL if "SA" in inst.operands]
KEPT = [inst for inst in ALL if inst.name in {other.name for other in mmacalc.instructions("cdna3")}]
NEW_DENSE = [inst for inst in ALL if inst not in KEPT and not inst.sparse and inst not in F8F6F4]
NEW_SPARSE = [inst for inst in ALL if inst not in KEPT and inst.sparse]
FORMATS = {"fp8": (8, 8), "bf8": (8, 8), "fp6": (6, 6), "bf6": (6, 6), "fp4": (4, 4)}


def ids(inst):
    return getattr(inst, "name", None)


def row_form(k_of, dim):
    """A or a scale of A: slot -> {(row, k)}."""
    return lambda lane, slot: {(lane % dim, k, 0) for k in k_of(lane // dim, slot)}


def column_form(k_of, dim):
    return lambda lane, slot: {(k, lane % dim, 0) for k in k_of(lane // dim, slot)}


# --- the list -----------------------------------------------------------------------------------------------


def test_the_list_is_llvms_in_the_order_of_the_opcodes_with_the_scaled_ones_last():
    plain = sorted((name for name in LLVM if "scale" not in name), key=lambda name: int(LLVM[name]["opcode"], 16))
    assert [inst.name for inst in ALL[:66]] == plain
    assert [inst.name for inst in ALL[66:]] == [
        "v_mfma_scale_f32_16x16x128_f8f6f4",
        "v_mfma_scale_f32_32x32x64_f8f6f4",
    ]
    assert len(LLVM) == len(ALL) == 68
    assert not [inst for inst in ALL if "xf32" in inst.name]


@pytest.mark.parametrize("inst", ALL, ids=ids)
def test_every_opcode_and_register_count_is_llvms(inst):
    line = LLVM[inst.name]
    opcodes = [int(text, 16) for text in line["opcode"].split(" + ")]
    assert inst.opcode == opcodes[-1]
    assert inst.prefix_opcode == (opcodes[0] if len(opcodes) == 2 else None)
    counts = {name: inst.operand("K" if name == "index" else name).registers for name in line["vgprs"] if name in "ABD"}
    assert counts == {name: line["vgprs"][name] for name in counts}
    if inst.sparse:
        assert inst.operand("K").registers == line["vgprs"]["index"] == 1
    for name, registers in line.get("vgprs_by_fmt", {}).items():
        assert inst.operand("A", cbsz=name.lower()).registers == registers
        assert inst.operand("B", blgp=name.lower()).registers == registers


def test_every_other_spelling_of_llvm_is_understood():
    for other, name in aliases("gfx950").items():
        assert mmacalc.instruction("mi355x", other.upper()).name == name


# --- layouts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inst", KEPT, ids=ids)
def test_shapes_kept_from_cdna3_are_laid_out_as_there(inst):
    before = mmacalc.instruction("cdna3", inst.name)
    assert inst.operands == before.operands
    for name in inst.operands:
        assert inst.operand(name).layout == before.operand(name).layout
        assert inst.operand(name).placement[1:] == before.operand(name).placement[1:]
    assert inst.modifier_limits() == before.modifier_limits()


def test_new_dense_a_and_b_hold_128_bits_of_consecutive_k():
    assert len(NEW_DENSE) == 6
    for operand in distinct(inst.operand(name) for inst in NEW_DENSE for name in "AB"):
        slots = 128 // operand.format.bits

        def k_of(group, slot, slots=slots):
            return [slots * group + slot]

        assert operand.items == slots
        inst = operand.instruction
        form = row_form(k_of, inst.m) if operand.name == "A" else column_form(k_of, inst.n)
        assert_follows(operand, form)


def f8f6f4_k(bits, dim):
    groups = 64 // dim
    if bits == 8:
        return lambda group, slot: [16 * group + slot % 16 + 16 * groups * (slot // 16)]
    return lambda group, slot: [32 * group + slot]


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("inst", F8F6F4[:2], ids=ids)
def test_f8f6f4_splits_8_bit_k_in_halves_of_16_and_keeps_narrower_k_together(inst, fmt):
    bits, registers = FORMATS[fmt]
    a, b = inst.operand("A", cbsz=fmt), inst.operand("B", blgp=fmt)
    assert (a.items, a.registers, b.items, b.registers) == (32, registers, 32, registers)
    assert_follows(a, row_form(f8f6f4_k(bits, inst.m), inst.m))
    assert_follows(b, column_form(f8f6f4_k(bits, inst.n), inst.n))


@pytest.mark.parametrize("inst", F8F6F4, ids=ids)
def test_the_formats_of_a_and_b_are_independent_and_scales_do_not_move_them(inst):
    plain = mmacalc.instruction("cdna4", inst.name.replace("_scale", ""))
    for a in FORMATS:
        for number, b in enumerate(FORMATS):
            assert inst.operand("A", cbsz=a, blgp=number).placement == plain.operand("A", cbsz=a).placement
            assert inst.operand("B", cbsz=a, blgp=number).placement == plain.operand("B", blgp=b).placement


def result_form(dim):
    if dim == 16:
        return lambda lane, slot: {(4 * (lane // 16) + slot, lane % 16, 0)}
    return lambda lane, slot: {(8 * (slot // 4) + 4 * (lane // 32) + slot % 4, lane % 32, 0)}


def test_32_bit_results_of_one_block_are_rows_of_four():
    of_one_block = [inst for inst in ALL if inst.blocks == 1 and inst.format("D").bits == 32]
    assert len(of_one_block) == 54
    operands = distinct(inst.operand(name) for inst in of_one_block for name in set(inst.operands) & {"C", "D"})
    assert len(operands) == 2
    for operand in operands:
        assert_follows(operand, result_form(operand.instruction.m))


def test_64_bit_results_are_in_pairs_of_registers():
    inst = mmacalc.instruction("cdna4", "v_mfma_f64_16x16x4_f64")
    assert_follows(inst.operand("D"), lambda lane, slot: {(4 * slot + lane // 16, lane % 16, 0)})
    # D of the four-block form follows B's lanes: docs/isa-errata.md.
    small = mmacalc.instruction("cdna4", "v_mfma_f64_4x4x4_4b_f64")
    assert_follows(small.operand("D"), lambda lane, slot: {(lane // 16, lane % 4, lane // 4 % 4)})


# --- sparse -------------------------------------------------------------------------------------------------


def compressed_k(inst, group, slot):
    """The four logical k of the group of 2:4 whose two stored values are slots 2 * slot and 2 * slot + 1."""
    n = 128 // inst.format("A").bits
    first = 4 * ((n * group + 2 * slot) // 2)
    return range(first, first + 4)


def test_new_sparse_a_is_laid_out_like_a_dense_half_and_b_is_split():
    assert len(NEW_SPARSE) == 14
    for operand in distinct(inst.operand(name) for inst in NEW_SPARSE for name in "AB"):
        inst, bits = operand.instruction, operand.format.bits
        chunk = 128 // bits
        second = {(16, 16): 32, (32, 16): 16, (16, 8): 64, (32, 8): 32}[inst.m, bits]
        if operand.name == "A":
            assert operand.items * 2 == chunk
            assert_follows(operand, row_form(lambda g, slot: compressed_k(inst, g, slot), inst.m))  # noqa: B023
        else:
            form = column_form(lambda g, e: [chunk * g + e % chunk + second * (e // chunk)], inst.n)  # noqa: B023
            assert_follows(operand, form)


def test_the_index_of_new_sparse_shapes_is_in_the_lane_of_its_data():
    for first in distinct(inst.operand("K") for inst in NEW_SPARSE):
        inst = first.instruction
        stored = 128 // inst.format("A").bits
        sets = 32 // (2 * stored)
        assert inst.index_sets() == sets == {16: 2, 8: 1}[inst.format("A").bits]
        for abid in range(sets):

            def form(lane, slot, inst=inst, start=abid * stored // 2, end=(abid + 1) * stored // 2):
                if not start <= slot < end:
                    return set()
                return {(lane % inst.m, k, 0) for k in compressed_k(inst, lane // inst.m, slot - start)}

            assert_follows(inst.operand("K", abid=abid), form)
            assert inst.operand("K", cbsz=1, abid=abid).locate(i=3, k=5) == inst.operand("K").locate(i=3, k=5)


def test_a_set_that_fills_the_index_register_leaves_cbsz_and_abid_without_effect():
    inst = mmacalc.instruction("cdna4", "v_smfmac_f32_16x16x128_fp8_bf8")
    for abid in range(16):
        assert inst.operand("K", abid=abid, cbsz=abid % 4).table().tolist() == inst.operand("K").table().tolist()
    two_sets = mmacalc.instruction("cdna4", "v_smfmac_f32_16x16x64_f16")
    with pytest.raises(mmacalc.Error, match="ABID of v_smfmac_f32_16x16x64_f16 is 0 or 1; got 2"):
        two_sets.operand("K", abid=2)


# --- scales -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inst", SCALED, ids=ids)
def test_a_scale_is_in_the_byte_that_op_sel_names_of_the_lane_of_its_row_and_block_of_32_k(inst):
    for name, x, dim in (("SA", 0, inst.m), ("SB", 1, inst.n)):
        for byte in range(4):

            def k_of(group, slot, byte=byte):
                return range(32 * group, 32 * group + 32) if slot == byte else ()

            operand = inst.operand(name, opsel=(byte & 1) << x, op_sel_hi=(byte >> 1) << x)
            assert (operand.registers, operand.format.name) == (1, "e8m0")
            assert_follows(operand, (column_form if x else row_form)(k_of, dim))
            others = {"opsel": (byte & 1) << x | 1 << (1 - x), "op_sel_hi": (byte >> 1) << x | 1 << (1 - x)}
            assert inst.operand(name, **others).placement == operand.placement


def test_a_split_operand_is_not_covered_by_the_scale_of_its_own_lane():
    inst = mmacalc.instruction("cdna4", "v_mfma_scale_f32_16x16x128_f8f6f4")
    scale = inst.operand("SA")
    for fmt, covered in (("fp8", 0.25), ("fp6", 1), ("fp4", 1)):
        data = inst.operand("A", cbsz=fmt)
        same = [data.locate(i=5, k=k)[0].lane == scale.locate(i=5, k=k)[0].lane for k in range(128)]
        assert sum(same) == 128 * covered


# --- registers, cycles, modifiers ---------------------------------------------------------------------------


def test_every_element_has_bits_of_its_own_and_they_fill_the_registers():
    operands = [inst.operand(name) for inst in ALL for name in inst.operands if name in "ABCD"]
    operands += [inst.operand(name, cbsz=f, blgp=f) for inst in F8F6F4 for f in FORMATS for name in "AB"]
    for operand in distinct(operands):
        assert_bijective(operand)


def test_a_6_bit_element_across_two_registers_is_one_location_and_shows_in_both():
    a = mmacalc.instruction("cdna4", "v_mfma_f32_16x16x128_f8f6f4").operand("A", cbsz="fp6")
    assert a.locate(i=3, k=5) == ((3, 5, 0, 30, 6),)
    assert a.contents(register=0, lane=3)[-1] == (3, 5, 0, 30, 2)
    assert a.contents(register=1, lane=3)[0] == (3, 5, 0, 0, 4)
    straddling = [slot for slot in range(32) if a.location_of_item(0, slot).lsb > 26]
    assert straddling == [5, 10, 21, 26]


def test_cycles_give_the_published_peaks_of_the_mi355x():
    arch = mmacalc.instruction("cdna4", "v_mfma_f32_16x16x32_f16").architecture
    units, clock = arch.products[0].units, arch.products[0].clock_ghz * 1e9

    def rate(name, **modifiers):
        inst = mmacalc.instruction("cdna4", name)
        return 4 * inst.flops // inst.cycles_for(**modifiers)

    per_clock = {
        ("v_mfma_f32_16x16x32_f16",): 4096,
        ("v_mfma_f32_32x32x16_bf16",): 4096,
        ("v_mfma_i32_16x16x64_i8",): 8192,
        ("v_mfma_f32_16x16x4_f32",): 256,
        ("v_mfma_f64_16x16x4_f64",): 128,
    }
    assert {key: rate(*key) for key in per_clock} == per_clock
    for name in ("v_mfma_f32_16x16x128_f8f6f4", "v_mfma_scale_f32_32x32x64_f8f6f4"):
        for a, (wide, _) in FORMATS.items():
            for b, (other, _) in FORMATS.items():
                assert rate(name, cbsz=a, blgp=b) == (8192 if 8 in (wide, other) else 16384)
    peaks = [rate("v_mfma_f32_16x16x32_f16"), *(rate("v_mfma_f32_16x16x128_f8f6f4", cbsz=f, blgp=f) for f in (0, 4))]
    assert [round(peak * units * clock / 1e15, 1) for peak in peaks] == [2.5, 5.0, 10.1]


def test_every_cycle_count_is_that_of_llvms_scheduling_model():
    # LLVM models f8f6f4 by its narrow formats and counts passes of 4 cycles.
    for inst in ALL:
        narrow = {"cbsz": "fp4", "blgp": "fp4"} if inst in F8F6F4 else {}
        assert LLVM[inst.name]["mca_resource_cycles"] == [inst.cycles_for(**narrow) // 4], inst.name


def test_a_format_is_chosen_by_number_or_name_and_other_values_are_refused():
    inst = mmacalc.instruction("cdna4", "v_mfma_f32_32x32x64_f8f6f4")
    for number, name in enumerate(FORMATS):
        assert inst.operand("A", cbsz=number).format == inst.operand("A", cbsz=name).format
        assert inst.operand("B", matrix_b_fmt=str(number)).format == inst.operand("B", blgp=name.upper()).format
    assert inst.modifier_limits() == {"cbsz": (0, 1, 2, 3, 4), "blgp": (0, 1, 2, 3, 4)}
    for wrong in (5, 7, "fp5", "f16", ""):
        with pytest.raises(mmacalc.Error, match=r"4 \(fp4\)"):
            inst.operand("A", cbsz=wrong)
    with pytest.raises(mmacalc.Error, match="has no OPSEL"):
        inst.operand("A", opsel=1)
    with pytest.raises(mmacalc.Error, match="should be a number"):
        mmacalc.instruction("cdna4", "v_mfma_f32_4x4x1_16b_f32").operand("A", cbsz="fp4")
    with pytest.raises(mmacalc.Error, match="has no operand 'SA'"):
        inst.operand("SA")


def test_what_nobody_has_confirmed_says_so():
    scaled = SCALED[0]
    assert scaled.provenance == scaled.provenance_of("arithmetic") == "unconfirmed"
    assert scaled.operand("SA").provenance == scaled.provenance_of("cycles") == "two sources agree"
    assert ALL[0].provenance == "two sources agree"
    assert ALL[0].provenance_of("valu_cycles") == "assumed"
