"""Estimates of what a GEMM costs, as a table and as JSON."""

from __future__ import annotations

from ..cost import units
from ..formats import named
from . import tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..cost import Candidate, Estimate

COLUMNS = ("count", "instruction", "cycles", "useful", "peak", "time", "A B D", "bytes")


def table(estimate: Estimate) -> str:
    """The estimate as text: a heading, and a row for each instruction, best first."""
    record = estimate.architecture
    unit = record.unit
    count, clock = units(record), record.clock_ghz
    lines = [f"D = A B + C of {estimate.m}x{estimate.n}x{estimate.k} with {estimate.type} inputs on {record.title}"]
    lines.append(f"{estimate.flops} operations; at least {estimate.bytes} bytes to move")
    if estimate.peak is not None:
        device = f"; {count} {unit}s at {clock} GHz" if count and clock else ""
        lines.append(f"peak: {estimate.peak} operations per {unit} and cycle{device}")
    rows = [_row(estimate, candidate) for candidate in estimate.candidates]
    unsure = [c.instruction.name for c in estimate.candidates if c.instruction.provenance_of("cycles") == "unconfirmed"]
    notes = [f"The cycles of {', '.join(unsure)} are unconfirmed."] if unsure else []
    return "\n".join(lines) + "\n" + tables.write(COLUMNS, rows) + "".join(f"{note}\n" for note in notes)


def _row(estimate: Estimate, found: Candidate) -> tuple[str, ...]:
    registers = " ".join(str(found.registers[name]) for name in "ABD")
    seconds = estimate.seconds(found)
    return (
        str(found.count),
        found.instruction.name + _chosen(found),
        "?" if found.cycles is None else str(found.cycles),
        _percent(found.useful),
        _percent(found.share),
        "?" if seconds is None else _time(seconds),
        registers,
        str(found.bytes),
    )


def _chosen(found: Candidate) -> str:
    """The fields that choose the formats, as the assembler writes them."""
    return "".join(f" {field}:{value}" for field, value in found.modifiers.items())


def _percent(share: float | None) -> str:
    return "?" if share is None else f"{100 * share:.1f} %"


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def as_json(estimate: Estimate) -> str:
    """The estimate as one JSON object."""
    from . import json_text

    record = estimate.architecture
    return json_text.document(
        "estimate",
        architecture=record.name,
        m=estimate.m,
        n=estimate.n,
        k=estimate.k,
        type=estimate.type,
        operations=estimate.flops,
        peak_operations_per_unit_and_cycle=estimate.peak,
        unit=record.unit,
        units=units(record),
        clock_ghz=record.clock_ghz,
        least_bytes=estimate.bytes,
        candidates=[_described(estimate, candidate) for candidate in estimate.candidates],
    )


def _described(estimate: Estimate, found: Candidate) -> dict[str, Any]:
    inst = found.instruction
    return {
        "instruction": inst.name,
        "modifiers": dict(found.modifiers),
        "formats": {name: inst.format(name, found.modifiers).name for name in "ABCD"},
        "integer": not named(inst.format("A", found.modifiers).name).is_float,
        "chains": found.chains,
        "count": found.count,
        "cycles": found.cycles,
        "cycles_provenance": inst.provenance_of("cycles"),
        "operations": found.flops,
        "useful": found.useful,
        "peak_share": found.share,
        "seconds": estimate.seconds(found),
        "registers": dict(found.registers),
        "bytes": found.bytes,
    }
