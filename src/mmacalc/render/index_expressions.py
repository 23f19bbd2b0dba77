"""The index expressions of an operand, as text and plain data."""

from __future__ import annotations

from ..model.architecture import DOUBTFUL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..codegen.generate import Formulas

__all__ = ["json_object", "text"]

# Triton's names of our places, in its order; Gluon's arguments.
TRITON = {"item": "register", "lane": "lane", "warp": "warp", "block": "block"}
GLUON = {"item": "reg_bases", "lane": "lane_bases", "warp": "warp_bases", "block": "block_bases"}


def text(found: Formulas) -> str:
    """The expressions in C and Python, and the layout in Triton and CuTe."""
    head = f"{found.operand.name} of {found.operand.instruction.name}: {found.operand.pattern}"
    doubt = found.operand.provenance in DOUBTFUL
    notes = [f"the layout of {found.operand.name} is {found.operand.provenance}"] * doubt + [*found.notes]
    sections = [
        head,
        *[f"note: {note}" for note in notes],
        *_expressions(found),
        *_items(found),
        *_triton(found),
        *_cute(found),
    ]
    return "\n".join(sections) + "\n"


def _coordinates(found: Formulas) -> dict[str, str]:
    axes = found.operand.axes[1:]
    sums = {axes[0]: found.row, axes[1]: found.column}
    return {**sums, "block": found.block} if found.operand.shape[0] > 1 else sums


def _expressions(found: Formulas) -> Iterator[str]:
    sums = _coordinates(found)
    yield from ("", "C, lane by lane:")
    yield from (f"    const int {name} = {expression};" for name, expression in found.digits)
    yield from (f"    const int {axis} = {expression};  // + the item's" for axis, expression in sums.items())
    yield from ("", "Python, for all lanes (lane = numpy.arange(wave)):")
    yield from (f"    {name} = {expression.replace(' / ', ' // ')}" for name, expression in found.digits)
    yield from (f"    {axis} = {expression}" for axis, expression in sums.items())


def _items(found: Formulas) -> Iterator[str]:
    names = list(_coordinates(found))
    yield from ("", f"items: (slot, {', '.join(names)}) that each adds")
    for first in range(0, len(found.items), 8):
        yield "    " + "  ".join(_item(item, "block" in names) for item in found.items[first : first + 8])


def _item(item: tuple[int, int, int, int], blocks: bool) -> str:
    slot, block, row, column = item
    return f"({slot}, {row}, {column}{f', {block}' if blocks else ''})"


def _axes(found: Formulas) -> list[int]:
    """Which axes a tensor of Triton has: a block only where there are several."""
    return [axis for axis, extent in enumerate(found.operand.shape) if axis or extent > 1]


def _bases(found: Formulas, place: str) -> list[list[int]]:
    return [[basis[axis] for axis in _axes(found)] for basis in found.linear.get(place, ())]


def _triton(found: Formulas) -> Iterator[str]:
    axes = [found.operand.axes[axis] for axis in _axes(found)]
    yield from ("", f"Triton, for a tensor of ({', '.join(axes)}); an item is a register:")
    if found.not_linear:
        yield f"    none: {found.not_linear}"
        return
    bases = ", ".join(f"{name} = {_bases(found, place)}" for place, name in TRITON.items())
    yield f"    #ttg.linear<{{{bases}}}>"
    if any(not any(basis) for place in found.linear.values() for basis in place):
        yield "    (a basis of zeros adds nothing: a copy, or the half of a register that OPSEL does not choose)"
    arguments = ", ".join(f"{name}={_bases(found, place)}" for place, name in GLUON.items())
    shape = [found.operand.shape[axis] for axis in _axes(found)]
    yield from ("", "Gluon (gl = triton.experimental.gluon.language):")
    yield f"    gl.DistributedLinearLayout({arguments}, shape={shape})"


def _cute(found: Formulas) -> Iterator[str]:
    axes = [found.operand.axes[axis] for axis in _axes(found) if axis]
    yield from ("", f"CuTe, (thread, value) -> index of the element where {axes[0]} is the fastest, then {axes[1]}:")
    yield f"    {found.cute}" if found.cute else f"    none: {found.not_cute}"


def json_object(found: Formulas) -> dict[str, Any]:
    """The expressions as plain data; null where Triton or CuTe has no such layout."""
    axes = found.operand.axes[1:]
    return {
        "architecture": found.operand.instruction.arch,
        "instruction": found.operand.instruction.name,
        "matrix": found.operand.name,
        "wave": found.operand.wave,
        "pattern": found.operand.pattern,
        "digits": dict(found.digits),
        "row": {"axis": axes[0], "expression": found.row},
        "column": {"axis": axes[1], "expression": found.column},
        "block": found.block,
        "items": [dict(zip(("slot", "block", "row", "column"), item)) for item in found.items],
        "linear": None if found.not_linear else {name: _bases(found, place) for place, name in TRITON.items()},
        "cute": found.cute or None,
        "provenance": found.operand.provenance,
        "notes": list(found.notes),
    }
