"""How an operand is loaded, as text and as plain data."""

from __future__ import annotations

from ..errors import counted
from .spelling import instruction_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..memory_access.accesses import LdsCost
    from ..memory_access.answer import Memory, MemoryAndRepair
    from ..memory_access.matrix_loads import MatrixLoad
    from ..memory_access.search import Repair

__all__ = ["json_object", "text"]


def text(found: MemoryAndRepair) -> str:
    """The answer for a terminal."""
    answer, repair = found.memory, found.repair
    return (
        "\n".join(
            [*_head(answer), *_accesses(answer), *_lds(answer.lds), *_matrix(answer), *_repair(repair, answer.fill)]
        )
        + "\n"
    )


def _head(answer: Memory) -> Iterator[str]:
    operand, tile = answer.operand, answer.tile
    inst = operand.instruction
    yield f"Architecture: {inst.architecture.title}"
    yield f"Instruction: {instruction_name(inst)}"
    along = "row by row" if tile.order == "row" else "column by column"
    yield f"{operand.name} ({operand.format.title}), {along}: {tile.rows} rows of {tile.row_bytes} bytes (ld {tile.ld})"
    if answer.kpack:
        yield f"  k relabelled over {counted(answer.kpack, 'instruction')}: A and B alike, all k of a lane side by side"


def _accesses(answer: Memory) -> Iterator[str]:
    verb = "Stores" if answer.operand.name == "D" else "Loads"
    number, each = answer.instructions, answer.access_bytes
    yield f"{verb}: {number} of {counted(each, 'byte')} per lane (runs of {counted(answer.run_bytes, 'byte')})"
    yield f"  global  {number} x {answer.global_instruction}"
    yield f"  LDS     {number} x {answer.lds_instruction}"
    terms = answer.terms
    if terms is not None:
        parts = [_term(*term) for term in terms]
        yield f"  byte address of a lane: {' + '.join(parts) or '0'}"
    if len(answer.offsets) > 1:
        shown = ", ".join(map(str, answer.offsets[:16])) + (" ..." if len(answer.offsets) > 16 else "")
        yield f"  and of the accesses:    {shown}"
    used = answer.bytes_used
    for size, lines in ((64, answer.lines64), (128, answer.lines128)):
        share = f"{used / (size * lines):.0%}"
        yield f"Cache lines of {size} bytes: {lines}, {size * lines} bytes fetched for {used} used ({share})"


def _term(divisor: int, size: int, stride: int) -> str:
    lane = f"lane / {divisor}" if divisor > 1 else "lane"
    return f"({lane} % {size}) * {stride}"


def _lds(cost: LdsCost) -> Iterator[str]:
    rule, worst = cost.rule, cost.worst
    yield f"LDS: {counted(cost.cycles, 'cycle')}, ideal {cost.ideal}, {counted(cost.conflicts, 'conflict')}"
    if cost.conflicts:
        lanes, cycles = _runs(worst.lanes), counted(worst.cycles, "cycle")
        yield f"  worst phase: lanes {lanes} need {cycles}; bank {worst.bank} is busiest"
    source = f", {rule.source}" if rule.source else ""
    yield f"  {rule.banks} banks, {counted(cost.phases, 'phase')} in an access ({rule.provenance}{source})"


def _matrix(answer: Memory) -> Iterator[str]:
    for load in answer.matrix_loads:
        registers = f"registers {load.first_register} to {load.first_register + load.registers - 1}"
        yield f"{load.name}: {registers}" if load.registers > 1 else f"{load.name}: register {load.first_register}"
        yield f"  shared memory: {counted(load.cost.cycles, 'cycle')}, {counted(load.cost.conflicts, 'conflict')}"
        rows = [f"{row}:{byte}" for row, byte in load.rows]
        for first in range(0, len(rows), 8):
            yield f"  lanes {first} to {first + 7} give row:byte  {'  '.join(rows[first : first + 8])}"


def _repair(repair: Repair | None, fill: int) -> Iterator[str]:
    if repair is None:
        return
    pad, swizzle = repair
    yield f"Without conflicts, both for these accesses and for those that fill the tile ({fill} bytes a lane, --fill):"
    yield f"  padding  {'none keeps both free' if pad is None else counted(pad, 'byte') + ' behind each row'}"
    if swizzle is None:
        yield "  swizzle  no XOR of address bits keeps both free; try --kpack 2"
    elif not swizzle.bits:
        yield "  swizzle  not needed"
    else:
        yield f"  swizzle  bits {swizzle.bits}, base {swizzle.base}, shift {swizzle.shift}: {_formula(*swizzle)}"


def _formula(bits: int, base: int, shift: int) -> str:
    return f"address ^ ((address >> {shift}) & {((1 << bits) - 1) << base:#x})"


def _runs(lanes: tuple[int, ...]) -> str:
    """0-3 20-23 for the lanes 0, 1, 2, 3, 20, 21, 22, 23."""
    runs: list[list[int]] = []
    for lane in lanes:
        if runs and lane == runs[-1][-1] + 1:
            runs[-1].append(lane)
        else:
            runs.append([lane])
    return " ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def json_object(found: MemoryAndRepair) -> dict[str, Any]:
    """The answer as plain data."""
    answer, repair = found.memory, found.repair
    operand, tile, cost = answer.operand, answer.tile, answer.lds
    pad, swizzle = answer.placing
    terms = answer.terms
    return {
        "architecture": operand.instruction.arch,
        "instruction": operand.instruction.name,
        "matrix": operand.name,
        "wave": operand.wave,
        "modifiers": dict(operand.fields),
        "order": tile.order,
        "ld": tile.ld,
        "row_bytes": tile.row_bytes,
        "pad_bytes": pad,
        "swizzle": list(swizzle),
        "swizzle_kind": "xor" if hasattr(swizzle, "shift") else "row",
        "kpack": answer.kpack,
        "run_bytes": answer.run_bytes,
        "access_bytes": answer.access_bytes,
        "instructions": answer.instructions,
        "global_instruction": answer.global_instruction,
        "lds_instruction": answer.lds_instruction,
        "address": None if terms is None else [term._asdict() for term in terms],
        "offsets": list(answer.offsets),
        "lines64": answer.lines64,
        "lines128": answer.lines128,
        "bytes_used": answer.bytes_used,
        "bytes_fetched": answer.bytes_fetched,
        "lds": {
            "cycles": cost.cycles,
            "ideal": cost.ideal,
            "conflicts": cost.conflicts,
            "phases": [list(lanes) for lanes in cost.rule.lanes(operand.wave)],
            "banks": cost.rule.banks,
            "worst": {"lanes": list(cost.worst.lanes), "cycles": cost.worst.cycles, "bank": cost.worst.bank},
            "provenance": cost.rule.provenance,
            "source": cost.rule.source,
        },
        "matrix_loads": [_matrix_load(load) for load in answer.matrix_loads],
        "search": None if repair is None else _search(repair),
    }


def _matrix_load(load: MatrixLoad) -> dict[str, Any]:
    return {
        "name": load.name,
        "first_register": load.first_register,
        "registers": load.registers,
        "rows": [list(row) for row in load.rows],
        "cycles": load.cost.cycles,
        "conflicts": load.cost.conflicts,
    }


def _search(repair: Repair) -> dict[str, Any]:
    return {
        "pad_bytes": repair.pad_bytes,
        "swizzle": None if repair.swizzle is None else list(repair.swizzle),
    }
