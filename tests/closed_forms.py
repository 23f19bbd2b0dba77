"""Compare operands with closed forms: functions from (lane, slot) to the coordinates that the slot holds."""

from __future__ import annotations

from itertools import pairwise

from recorded import json_file


def llvm(target):
    """LLVM's matrix instructions of a target by mnemonic: opcodes, register counts, aliases."""
    lines = json_file(f"llvm/instructions_{target}.json.gz")["instructions"]
    return {line["mnemonic"]: line for line in lines if line.get("vgprs")}


def aliases(target):
    return json_file("llvm/aliases.json.gz")[target]


def distinct(operands):
    """One operand for each different placement, so that a layout many instructions share is compared once."""
    return list({(o.placement[0], str(o.placement[1:]), o.wave, o.format.bits): o for o in operands}.values())


def assert_follows(operand, form):
    """Every lane and slot of `operand` holds exactly the set of (row, column, block) that form(lane, slot) gives,
    in bits [width * slot, width * (slot + 1)) of the lane's registers; `locate` and `table` lead back there."""
    width = operand.placement.bits * operand.placement.slots_per_location
    places = {}
    for lane in range(operand.lanes):
        held = held_by(operand, lane)
        for slot in range(operand.items):
            expected = form(lane, slot)
            assert held.pop((width * slot, width), set()) == expected, (operand, lane, slot)
            for coordinates in expected:
                places.setdefault(coordinates, set()).add((lane, slot, width * slot))
        assert not held, (operand, lane, held)
    table = operand.table()
    for number, (coordinates, expected) in enumerate(sorted(places.items())):
        row, column, block = coordinates
        index = (block, row, column) if table.ndim == 3 else (row, column)
        lane, slot, register, lsb = table[index].tolist()
        assert {(lane, slot, 32 * register + lsb)} == expected
        if number % 5 == 0:
            located = operand.locate(**named(operand, coordinates))
            assert {(at.lane, at.item, 32 * at.register + at.lsb) for at in located} == expected
            assert {at.width for at in located} == {width}


def held_by(operand, lane):
    """What `contents` shows in a lane: {(first bit, width): the coordinates there}, the pieces of elements that
    reach across registers put together."""
    spans = {}
    for register in range(0, operand.registers, max(1, operand.format.bits // 32)):
        for row, column, block, lsb, width in operand.contents(register, lane):
            spans.setdefault((row, column, block), []).append((32 * register + lsb, width))
    held = {}
    for coordinates, pieces in spans.items():
        assert all(first + width == following for (first, width), (following, _) in pairwise(pieces))
        held.setdefault((pieces[0][0], sum(width for _, width in pieces)), set()).add(coordinates)
    return held


def named(operand, coordinates):
    row, column, block = coordinates
    names = [axis for axis in operand.axes if axis != "block"]
    return {names[0]: row, names[1]: column, "block": block}


def assert_bijective(operand):
    """Every element (of a sparse A: every group of four k) has one place, no two share a bit, and together they
    fill the operand's registers."""
    width = operand.format.bits * operand.placement.slots_per_location
    assert operand.items * width == 32 * operand.registers
    table = operand.table()
    places = table.ravel().tolist()
    assert len(set(places)) * (4 if operand.placement.slots_per_location == 2 else 1) == len(places)
    assert len(set(places)) == operand.lanes * operand.items
    for lane in range(operand.lanes):
        assert sorted(held_by(operand, lane)) == [(width * slot, width) for slot in range(operand.items)]
