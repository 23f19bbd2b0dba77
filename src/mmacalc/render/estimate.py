"""Estimates of what a GEMM costs, as a table and as JSON."""

from __future__ import annotations

from ..formats import named
from . import tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..estimates import Candidate, Estimate
    from ..model import Instruction

__all__ = ["json_object", "text"]

COLUMNS = ("count", "instruction", "cycles each", "cycles", "useful", "peak", "time", "A B D", "bytes")


def text(estimate: Estimate) -> str:
    """The estimate as text: a heading, a row for each instruction, best first, and notes."""
    record = estimate.architecture
    lines = [
        f"D = A B + C of {estimate.m}x{estimate.n}x{estimate.k} with {estimate.type} inputs on {record.title}",
        f"{estimate.flops} operations; at least {estimate.bytes} bytes to move",
        _device(estimate),
    ]
    if estimate.peak is not None:
        lines.append(f"peak: {estimate.peak} operations per {record.unit} and cycle{_rate(estimate)}")
    rows = [_row(candidate) for candidate in estimate.candidates]
    return "\n".join(lines) + "\n" + tables.write(COLUMNS, rows) + "".join(f"{note}\n" for note in _notes(estimate))


def _device(estimate: Estimate) -> str:
    """The product that is assumed, and what is missing for a time."""
    device, record = estimate.device, estimate.architecture
    known = [f"{device.units} {record.unit}s"] if device.units else []
    known += [f"{device.clock_ghz:g} GHz"] if device.clock_ghz else []
    name = device.product.name if device.product else f"no product with {device.name} is in the catalog"
    wanted = [option for option, value in (("--units", device.units), ("--clock", device.clock_ghz)) if not value]
    if not wanted or not any(candidate.cycles for candidate in estimate.candidates):
        return f"device: {': '.join([name, ' at '.join(known)] if known else [name])}"
    what = f"{name}: {' at '.join(known)}" if known else name
    return f"device: {what}; with {' and '.join(wanted)} there would be times"


def _rate(estimate: Estimate) -> str:
    device = estimate.device
    if estimate.peak is None or not device.units or not device.clock_ghz:
        return ""
    tera = estimate.peak * device.units * device.clock_ghz / 1000
    return f", {float(f'{tera:.4g}'):g} T{'OPS' if estimate.candidates[0].instruction.integer else 'FLOPS'}"


def _notes(estimate: Estimate) -> Iterator[str]:
    record = estimate.architecture
    unsure = [c.instruction.name for c in estimate.candidates if c.instruction.provenance_of("cycles") == "unconfirmed"]
    if unsure:
        yield f"The cycles of {', '.join(unsure)} are unconfirmed."
    if not record.family.has_published_rates:
        return
    if any(c.cycles for c in estimate.candidates):
        yield f"Cycles follow from the multiply-adds per clock and SM that NVIDIA publishes ({record.fma_source})."
    if any(c.instruction.in_tensor_memory for c in estimate.candidates):
        yield "tcgen05 has D in Tensor Memory, not in registers. Its cycles are those with 128 rows in each SM, without"
        yield ".ws, and where the 128 bytes that shared memory delivers in a clock are enough for A and B."
    if any(c.cycles is None for c in estimate.candidates):
        through = f"; those it publishes for {record.title} are of {record.fma_through}" if record.fma_through else ""
        yield f"?: NVIDIA publishes no rate for this instruction and these formats{through}."


def _row(found: Candidate) -> tuple[str, ...]:
    chosen = "".join(f" {field}:{value}" for field, value in found.modifiers.items())  # as the assembler writes them
    return (
        str(found.count),
        found.instruction.name + chosen + _parameters(found.instruction),
        "?" if found.duration is None else str(found.duration),
        "?" if found.cycles is None else str(found.cycles),
        _percent(found.useful),
        _percent(found.share),
        "?" if found.seconds is None else time_text(found.seconds),
        " ".join(str(found.registers[name]) for name in "ABD"),
        str(found.bytes),
    )


def _parameters(inst: Instruction) -> str:
    """The shape and types of a tcgen05.mma, which its name does not say, as `shaped` takes them."""
    given = getattr(inst, "given", {})
    return "".join(f" {name}={value}" for name, value in given.items() if not (name == "b" and value == given.get("a")))


def _percent(share: float | None) -> str:
    return "?" if share is None else f"{100 * share:.1f} %"


def time_text(seconds: float) -> str:
    """A time with three digits and the unit that gives it one to three before the point.

    >>> time_text(0.0123), time_text(0.00999), time_text(105.3e-6), time_text(3.05e-8)
    ('12.3 ms', '9.99 ms', '105 us', '30.5 ns')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def json_object(estimate: Estimate) -> dict[str, Any]:
    """The same as plain data."""
    record, device = estimate.architecture, estimate.device
    return {
        "architecture": record.name,
        "product": device.product.name if device.product else None,
        "m": estimate.m,
        "n": estimate.n,
        "k": estimate.k,
        "type": estimate.type,
        "operations": estimate.flops,
        "peak_operations_per_unit_and_cycle": estimate.peak,
        "unit": record.unit,
        "units": device.units,
        "clock_ghz": device.clock_ghz,
        "least_bytes": estimate.bytes,
        "candidates": [_described(candidate) for candidate in estimate.candidates],
    }


def _described(found: Candidate) -> dict[str, Any]:
    inst = found.instruction
    return {
        "instruction": inst.name,
        "shape": [inst.m, inst.n, inst.k],
        "modifiers": dict(found.modifiers),
        "formats": {name: inst.format(name, found.modifiers).name for name in "ABCD"},
        "integer": not named(inst.format("A", found.modifiers).name).is_float,
        "chains": found.chains,
        "count": found.count,
        "cycles_each": found.duration,
        "cycles": found.cycles,
        "cycles_provenance": inst.provenance_of("cycles"),
        "operations": found.flops,
        "useful": found.useful,
        "peak_share": found.share,
        "seconds": found.seconds,
        "registers": dict(found.registers),
        "bytes": found.bytes,
    }
