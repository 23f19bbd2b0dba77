"""The loads that transpose, as text and as JSON: a tile, the loads of an operand, or all loads."""

from __future__ import annotations

from ..answers.transpose_loads import LoadListing, OperandLoads
from ..memory_access.transpose_loads import TransposeLoad, runs
from . import tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..memory_access.transpose_loads import LoadStep

    Answer = TransposeLoad | OperandLoads | LoadListing

__all__ = ["json_object", "text"]


def text(answer: Answer) -> str:
    """The tile of a load, the loads of an operand, or the listing."""
    if isinstance(answer, TransposeLoad):
        return _tile_text(answer)
    return _operand_text(answer) if isinstance(answer, OperandLoads) else _listing_text(answer)


def json_object(answer: Answer) -> dict[str, Any]:
    """The same as plain data."""
    if isinstance(answer, TransposeLoad):
        return {"architecture": answer.architecture.name, **_load(answer)}
    return _operand_object(answer) if isinstance(answer, OperandLoads) else _listing_object(answer)


def _operand_text(answer: OperandLoads) -> str:
    operand, steps = answer.operand, answer.steps
    instruction = operand.instruction
    stored = "column by column" if operand.name == "A" else "row by row"
    lines = [
        f"Architecture: {instruction.architecture.title}",
        f"Instruction: {instruction.name.upper()}",
        f"{operand.name} ({operand.format.title}), {stored} in {_memory(steps[0].load)}: {_count(len(steps))}",
        *(line for step in steps for line in _step_lines(operand.name, step)),
        f"Layout: {operand.pattern}",
        *_tile_lines(steps[0].load),
    ]
    return "\n".join(lines) + "\n"


def _step_lines(operand: str, step: LoadStep) -> list[str]:
    last = step.first_register + step.load.registers - 1
    name = "i" if operand == "A" else "j"
    lines = [f"    {step.load.name} fills v[{last}:{step.first_register}]"]
    lanes = step.load.lanes
    for lane, first, ks in step.groups:
        shown = ", ".join(f"{run[0]}..{run[-1]}" for run in runs(ks))
        lines.append(f"        lanes {lane}..{lane + lanes - 1}: {name} = {first}..{first + lanes - 1}, k = {shown}")
    return lines


def _memory(load: TransposeLoad) -> str:
    return "LDS" if load.memory == "LDS" else f"{load.memory} memory"


def _count(loads: int) -> str:
    return f"{loads} load{'s' * (loads > 1)}"


def _operand_object(answer: OperandLoads) -> dict[str, Any]:
    operand, steps = answer.operand, answer.steps
    return {
        "architecture": operand.instruction.arch,
        "instruction": operand.instruction.name,
        "matrix": operand.name,
        "modifiers": dict(operand.fields),
        "pattern": operand.pattern,
        "sizes": operand.sizes,
        "loads": [_step(step) for step in steps],
        "tile": _load(steps[0].load),
    }


def _step(step: LoadStep) -> dict[str, Any]:
    groups = [
        {"first_lane": lane, "first_row_or_column": first, "first_k": ks[0], "last_k": ks[-1], "k": list(ks)}
        for lane, first, ks in step.groups
    ]
    return {"load": step.load.name, "first_register": step.first_register, "registers": step.load.registers,
            "groups": groups}  # fmt: skip


def _tile_text(load: TransposeLoad) -> str:
    received, fetched = load.lane_receives, load.lane_fetches
    header = ["lane", f"fetches ({load.fetched_by})", *_slots(load)]
    rows = []
    for lane in range(load.lanes):
        ((k, first),) = fetched.contents((lane, 0))
        cells = [f"T[{row}][{i}]" for slot in range(load.elements) for row, i in received.contents((lane, slot))]
        rows.append((str(lane), f"T[{k}][{first}..{first + load.elements - 1}]", *cells))
    return (
        f"Architecture: {load.architecture.title}\nLoad: {load.name}\n"
        f"A row of {load.lanes} lanes transposes a tile T[k][i] of {load.elements} k and {load.lanes} rows i of A "
        f"(columns of B).\n{tables.write(header, rows)}" + "\n".join(_tile_lines(load)) + "\n"
    )


def _tile_lines(load: TransposeLoad) -> tuple[str, ...]:
    """What a lane of a row receives, and what is at its address, of a tile whose first row i and first k are 0."""
    received, fetched = (
        f"{layout.pattern}, {', '.join(f'{name}={size}' for name, size in layout.trimmed_sizes.items())}"
        for layout in (load.lane_receives, load.lane_fetches)
    )
    return (
        f"A lane of a row of {load.lanes} receives: {received} ({load.received_by})",
        f"At its address lies: {fetched} ({load.fetched_by})",
        f"Caveat: {load.caveats}",
    )


def _slots(load: TransposeLoad) -> list[str]:
    names = []
    for slot in range(load.elements):
        register, lsb = divmod(slot * load.bits, 32)
        last = lsb + load.bits - 1
        names.append(
            f"v{register}.[{last}:{lsb}]" if last < 32 else f"v{register}.[31:{lsb}] v{register + 1}.[{last - 32}:0]"
        )
    return names


def _listing_text(listing: LoadListing) -> str:
    lines = [f"Architecture: {listing.architecture.title}"]
    for load, filled in listing.loads:
        lines.append(
            f"{' or '.join((load.name, *load.aliases))} (opcode {load.opcode:#x}): {load.registers} registers, "
            f"{load.elements} elements of {load.bits} bits in each lane; {'fills' if load.lanes else 'open'}"
        )
        lines += [f"    {_filled(one)}" for one in filled]
        lines.append(f"    Caveat: {load.caveats}")
    return "\n".join(lines) + "\n"


def _filled(answer: OperandLoads) -> str:
    operand, count = answer.operand, len(answer.steps)
    chosen = f", {operand.format.name}" if operand.name in operand.instruction.choices.values() else ""
    return f"{operand.name} of {operand.instruction.name}{chosen}: {_count(count)}"


def _listing_object(listing: LoadListing) -> dict[str, Any]:
    loads = [{**_load(load), "fills": [_filled(one) for one in filled]} for load, filled in listing.loads]
    return {"architecture": listing.architecture.name, "loads": loads}


def _load(load: TransposeLoad) -> dict[str, Any]:
    layouts = {}
    if load.lanes:
        layouts = {"received": (load.lane_receives, load.received_by), "fetched": (load.lane_fetches, load.fetched_by)}
    return {
        "load": load.name, "opcode": load.opcode, "element_bits": load.bits, "registers": load.registers,
        "elements": load.elements, "lanes": load.lanes, "caveats": load.caveats, "memory": load.memory,
        "aliases": list(load.aliases),
        **{name: {"pattern": layout.pattern, "sizes": layout.trimmed_sizes, "provenance": provenance}
           for name, (layout, provenance) in layouts.items()},
    }  # fmt: skip
