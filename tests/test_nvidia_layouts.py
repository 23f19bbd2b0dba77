"""NVIDIA's register layouts against the PTX ISA's formulas, CUTLASS's fragments, and themselves."""

import gzip
import json
from pathlib import Path

import pytest

import mmacalc
from ptx_formulas import (
    DENSE,
    MOVED,
    VOLTA_A,
    VOLTA_B,
    VOLTA_C,
    accumulator,
    accumulator_m8,
    metadata_place,
    scale_place,
)
from samples import sampled

DATA = Path(__file__).parent / "data" / "nvidia"
# Between them these have every instruction; a layout does not depend on the target.
TARGETS = ("sm_70", "sm_90a", "sm_121a")
EVERY = {inst.name: inst for target in TARGETS for inst in mmacalc.instructions(target)}
MULTIPLYING = [inst for inst in EVERY.values() if "move" not in inst.features and "wmma" not in inst.features]
MMA = [inst for inst in MULTIPLYING if inst.name.startswith("mma")]
WGMMA = [inst for inst in MULTIPLYING if inst.name.startswith("wgmma")]


def distinct(instructions):
    """One instruction of each shape, of each width of A and of B, and of each set of layouts.

    Of the 25 pairs of kind::f8f6f4 those with equal formats are enough, since A and B are placed on their own.
    """
    found = {}
    for inst in instructions:
        if inst.kind.endswith("f8f6f4") and inst.formats["A"] != inst.formats["B"]:
            continue
        operands = [inst.operand(name) for name in inst.register_operands]
        widths = tuple((op.name, op.layout, op.format.bits, op.placement.slot_bits) for op in operands)
        voltas = inst.layouts if inst.blocks == 4 else None
        found.setdefault((inst.m, inst.n, inst.k, inst.blocks, "wgmma" in inst.features, widths, voltas), inst)
    return list(found.values())


def shape_of(inst):
    return f"m{inst.m}n{inst.n}k{inst.k}"


def slot_bits(inst, operand):
    bits = inst.format(operand).bits
    return max(bits, 8) if inst.kind.endswith("f8f6f4") else bits


def assert_holds(operand, formula, count, lanes=32, block=None):
    """Each lane's i-th element is the formula's, both ways, in the register and bits that follow from i."""
    width = operand.placement.slot_bits
    for lane in range(lanes):
        for i in range(count):
            row, col = formula(lane, i)
            of_block = block(lane) if block else 0
            assert list(operand.elements(lane, i)) == [(row, col, of_block)]
            first, second = operand.axes[1:]
            (found,) = operand.locate(**{first: row, second: col}, block=of_block)
            assert (found.lane, found.item) == (lane, i)
            offset = 2 if operand.format.bits < width and operand.format.bits == 4 else 0
            assert 32 * found.register + found.lsb == i * width + offset
            assert found.width == operand.format.bits


@pytest.mark.parametrize("inst", distinct(i for i in MMA if not i.sparse and i.blocks == 1), ids=lambda i: i.name)
def test_every_dense_fragment_is_the_one_of_the_ptx_page(inst):
    a, a_count, b, b_count = DENSE[shape_of(inst), slot_bits(inst, "A")]
    assert_holds(inst.operand("A"), a, a_count)
    assert_holds(inst.operand("B"), b, b_count)
    for name in "CD":
        assert_holds(inst.operand(name), accumulator if inst.m == 16 else accumulator_m8, 4 if inst.m == 16 else 2)


@pytest.mark.parametrize("inst", distinct(i for i in MMA if i.blocks == 4), ids=lambda i: i.name)
def test_every_m8n8k4_f16_fragment_is_the_one_of_the_ptx_page(inst):
    rows, columns = inst.layouts

    def block(lane):
        return lane % 16 // 4

    assert_holds(inst.operand("A"), VOLTA_A[rows], 4, block=block)
    assert_holds(inst.operand("B"), VOLTA_B[columns], 4, block=block)
    for name in "CD":
        assert_holds(inst.operand(name), VOLTA_C[inst.formats[name]], 8, block=block)


SPARSE = distinct(i for i in MMA if i.sparse)


@pytest.mark.parametrize("inst", SPARSE, ids=lambda i: i.name)
def test_every_sparse_a_is_the_dense_rule_on_its_stored_columns(inst):
    width = slot_bits(inst, "A")
    logical, stored = {4: (8, 4), 32: (2, 1)}.get(width, (4, 2))
    per_register, a = 32 // width, inst.operand("A")
    for lane in range(32):
        group, thread = lane >> 2, lane & 3
        for i in range(inst.m * inst.k * stored // (logical * 32)):
            row = group + 8 * ((i // per_register) & 1)
            column = thread * per_register + i % per_register + 4 * per_register * (i // (2 * per_register))
            chunk = column // stored
            held = list(a.elements(lane, i // stored))
            assert held == [(row, k, 0) for k in range(logical * chunk, logical * (chunk + 1))]
            (place,) = a.locate(i=row, k=logical * chunk)
            assert 32 * place.register + place.lsb == (i - i % stored) * width
            assert (place.lane, place.width) == (lane, stored * width)


@pytest.mark.parametrize("inst", SPARSE, ids=lambda i: i.name)
def test_every_sparse_b_is_the_dense_rule_on_twice_the_registers(inst):
    width = slot_bits(inst, "B")
    per_register = 32 // width

    def formula(lane, i):
        row = (lane & 3) * per_register + i % per_register + 4 * per_register * (i // per_register)
        return row, lane >> 2

    assert_holds(inst.operand("B"), formula, inst.k * 8 // 32)


@pytest.mark.parametrize("inst", SPARSE, ids=lambda i: i.name)
def test_metadata_is_where_the_selector_says_for_every_selector(inst):
    width = slot_bits(inst, "A")
    logical = {4: 8, 32: 2}.get(width, 4)
    chunks = inst.k // logical
    for selector in inst.modifier_limits()["selector"]:
        metadata = inst.operand("K", selector=selector)
        assert metadata.registers == 1
        for row in range(16):
            for k in range(inst.k):
                (found,) = metadata.locate(i=row, k=k)
                assert (found.lane, found.lsb) == metadata_place(width, chunks, row, k // logical, selector)
                assert (found.register, found.width) == (0, 4)
        lanes = {lane for lane in range(32) if metadata.contents(0, lane)}
        assert lanes == {metadata_place(width, chunks, r, c, selector)[0] for r in range(16) for c in range(chunks)}


@pytest.mark.parametrize(
    "inst",
    distinct(i for i in MMA if i.scaled and i.formats["A"] == i.formats["B"] in ("e4m3", "e2m1")),
    ids=lambda i: i.name,
)
def test_scales_are_where_the_byte_and_thread_ids_say(inst):
    blocks = inst.scale_vec
    limits = inst.modifier_limits()
    for side, axis, size in (("A", "i", 16), ("B", "j", 8)):
        byte, thread = f"byte_id_{side.lower()}", f"thread_id_{side.lower()}"
        for fields in ({byte: x, thread: y} for x in limits[byte] for y in limits[thread]):
            scales = inst.operand(f"S{side}", **fields)
            assert (scales.registers, scales.items) == (1, 4)
            for index in range(size):
                for k in range(inst.k):
                    (found,) = scales.locate(**{axis: index, "k": k})
                    expected = scale_place(side, blocks, index, k, inst.k, fields[byte], fields[thread])
                    assert (found.lane, found.lsb, found.width) == (*expected, 8)


# The accumulator does not know A and B: one instruction of each N, and of some with the narrow D.
ACCUMULATORS = {
    (inst.n, inst.format("D").bits): inst for inst in WGMMA if inst.format("D").bits == 32 or inst.n in (8, 24, 256)
}.values()


@sampled("inst", ACCUMULATORS, 12, first=1, ids=lambda i: i.name)
def test_every_wgmma_accumulator_is_the_closed_form(inst):
    operand = inst.operand("D")
    bits = operand.format.bits
    assert operand.registers == inst.n // 2 * bits // 32
    for lane in range(128):
        warp, group, thread = lane // 32, lane % 32 >> 2, lane & 3
        for i in range(inst.n // 2):
            row, col = 16 * warp + group + 8 * (i >> 1 & 1), 8 * (i >> 2) + 2 * thread + (i & 1)
            assert list(operand.elements(lane, i)) == [(row, col, 0)]
            assert operand.locate(i=row, j=col)[0][:2] == (lane, i)


@pytest.mark.parametrize("inst", distinct(i for i in WGMMA if i.n == 64 and not i.sparse), ids=lambda i: i.name)
def test_a_of_wgmma_in_registers_is_the_m16_rule_of_each_warp(inst):
    per_register = 32 // inst.format("A").bits
    operand = inst.operand("A")
    assert operand.registers == 4
    for lane in range(128):
        for i in range(4 * per_register):
            row = 16 * (lane // 32) + (lane % 32 >> 2) + 8 * (i // per_register & 1)
            column = (lane & 3) * per_register + i % per_register + 4 * per_register * (i // (2 * per_register))
            assert list(operand.elements(lane, i)) == [(row, column, 0)]


def test_an_element_is_in_a_lane_of_its_warp_and_only_wgmma_has_several_warps():
    for inst in EVERY.values():
        for name in inst.register_operands:
            places = ["warp", "lane", "item"] if "wgmma" in inst.features else ["lane", "item"]
            assert list(inst.operand(name).layout.places) == places, (inst, name)


def test_b_of_wgmma_is_in_no_register():
    with pytest.raises(mmacalc.Error, match="shared memory"):
        next(iter(WGMMA)).operand("B")


MOVING = [inst for name, inst in EVERY.items() if name.startswith(("ldmatrix", "stmatrix"))]


@pytest.mark.parametrize("inst", MOVING, ids=lambda i: i.name)
def test_every_loaded_and_stored_element_is_the_ptx_page_s(inst):
    opcode, _, _, shape = inst.name.split(".")[:4]
    operand = inst.operand("D" if opcode == "ldmatrix" else "A")
    formula = MOVED[opcode, shape, ".trans" in inst.name]
    each = operand.registers // inst.blocks
    per_register = 32 // operand.placement.slot_bits
    for lane in range(32):
        for register in range(operand.registers):
            held = operand.contents(register, lane)
            expected = [formula(lane, register % each, slot) for slot in range(per_register)]
            assert [(e.row, e.col) for e in held] == expected
            assert {e.block for e in held} == {register // each}
            assert [e.lsb for e in held] == [slot * operand.placement.slot_bits for slot in range(per_register)]


@pytest.mark.parametrize("inst", MOVING, ids=lambda i: i.name)
def test_lane_j_times_rows_plus_s_gives_the_address_of_row_s_of_matrix_j(inst):
    rows = 16 if ".m16n16." in inst.name else 8
    addresses = inst.operand("P")
    for lane in range(32):
        held = [(e.block, e.row) for e in addresses.contents(0, lane)]
        assert held == ([(lane // rows, lane % rows)] if lane < rows * inst.blocks else [])


def test_movmatrix_transposes_eight_rows_of_eight():
    inst = EVERY["movmatrix.sync.aligned.m8n8.trans.b16"]
    for lane in range(32):
        group, thread = lane >> 2, lane & 3
        assert [e[:2] for e in inst.operand("A").contents(0, lane)] == [(group, 2 * thread), (group, 2 * thread + 1)]
        assert [e[:2] for e in inst.operand("D").contents(0, lane)] == [(2 * thread, group), (2 * thread + 1, group)]


@sampled("step", [3, 1], 1)
def test_every_place_holds_one_element_and_every_element_has_one_place(step):
    seen = set()
    for inst in list(MULTIPLYING)[::step]:
        for name in inst.operands:
            if name in ("B", "K", "SA", "SB") and (name != "B" or "wgmma" in inst.features):
                continue
            operand = inst.operand(name)
            if (operand.layout, operand.placement.slots_per_location) in seen:
                continue
            seen.add((operand.layout, operand.placement.slots_per_location))
            held = [
                e
                for lane in range(operand.lanes)
                for item in range(operand.items)
                for e in operand.elements(lane, item)
            ]
            blocks, rows, columns = operand.shape
            assert len(held) == len(set(held)) == blocks * rows * columns
    assert len(seen) > 60 // step


def fragments():
    with gzip.open(DATA / "fragments.json.gz", "rt") as stream:
        return {name: entry for name, entry in json.load(stream).items() if name[0] != "_"}


FRAGMENTS = fragments()


def measured(entry, name, operand):
    """Our layout of the instructions that a CUTLASS fragment stands for."""
    for inst in MMA:
        same = shape_of(inst) == entry["shape"] and inst.sparse == name.startswith("mma.sp")
        if not same or inst.kind or inst.formats["A"] not in [t.replace("s", "i") for t in entry["types"]]:
            continue
        if "acc" in entry and (inst.formats["D"], inst.formats["C"]) != (entry["acc"], entry["acc"]):
            continue
        if "alayout" in entry and inst.layouts != (entry["alayout"], entry["blayout"]):
            continue
        yield inst.operand(operand)


@pytest.mark.parametrize("name", FRAGMENTS)
def test_every_fragment_of_cutlass_is_ours(name):
    entry = FRAGMENTS[name]
    compared = 0
    for letter, fragment in entry["operands"].items():
        for operand in measured(entry, name, "K" if letter[0] == "E" else letter):
            if letter[0] == "E":
                for row, first, last, lane, lsb in fragment["entries"]:
                    places = {operand.locate(i=row, k=k)[0] for k in range(first, last + 1)}
                    assert {(p.lane, p.lsb, p.width) for p in places} == {(lane, lsb, fragment["bits_per_chunk"])}
            elif "map" in fragment:
                held = [
                    [list(e[:2]) for i in range(operand.items) for e in operand.elements(lane, i)] for lane in range(32)
                ]
                assert held == fragment["map"]
            else:
                (table,) = [value for key, value in fragment.items() if key.startswith("map[")]
                for lane, items in enumerate(table):
                    for i, (row, _, first, last) in enumerate(items):
                        found = list(operand.elements(lane, i // operand.placement.slots_per_location))
                        assert [e[0] for e in found] == [row] * len(found)
                        assert (found[0][1], found[-1][1]) == (first, last)
            compared += 1
    assert compared >= 3
