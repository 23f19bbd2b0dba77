"""The strips at the edges of a picture: what each row and each column adds to the lane, the register and the bits.

A place is a sum of one-dimensional tables, so these strips are the whole layout: the lane of an element is the lane
part of its row and that of its column. Where one axis makes up a part by itself, its strip says it outright (`v0`,
`35`), else as a summand (`+32`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..model.architecture import DOUBTFUL
from ..spelling import register_text, spelling_of
from .places import bits_text

if TYPE_CHECKING:
    from .matrix import Axis, Matrix

__all__ = ["Part", "Strip", "block_title", "notes", "strips"]


class Part(NamedTuple):
    """A stretch of an axis, its text, and the lane part or the digit by which it is coloured."""

    first: int
    last: int
    text: str
    value: int = 0


class Strip(NamedTuple):
    """One strip: `kind` is index, lane, bits, register or digit; `head` is written at its end."""

    kind: str
    head: str
    parts: tuple[Part, ...]


def strips(matrix: Matrix, axis: Axis, digit: str = "") -> tuple[Strip, ...]:
    """The strips of the rows or of the columns, the nearest to the cells first, with the values of one digit."""
    indices = range(0, axis.extent, axis.merged)
    found = [Strip("index", axis.name, tuple(Part(n, n + axis.merged - 1, str(n)) for n in indices))]
    found += [strip for strip in (_lane(matrix, axis), _bits(matrix, axis), _register(matrix, axis)) if strip]
    if digit in dict(axis.digits):
        values = [axis.digit(digit, value) for value in range(axis.extent)]
        found.append(Strip("digit", digit, _grouped(axis, [(value, str(value), value) for value in values])))
    return tuple(found)


def _others(matrix: Matrix, axis: Axis) -> tuple[Axis, ...]:
    return tuple(other for other in (matrix.blocks, matrix.rows, matrix.columns) if other is not axis)


def _grouped(axis: Axis, parts: list[tuple[object, str, int]]) -> tuple[Part, ...]:
    """Neighbours with the same key as one part."""
    result: list[Part] = []
    for value, (key, text, coloured_by) in enumerate(parts):
        if value and parts[value - 1][0] == key:
            result[-1] = result[-1]._replace(last=value)
        else:
            result.append(Part(value, value, text, coloured_by))
    return tuple(result)


def _lane(matrix: Matrix, axis: Axis) -> Strip | None:
    if not axis.moves_lane:
        return None
    only, base = not any(other.moves_lane for other in _others(matrix, axis)), matrix.base[0]
    if matrix.read or not only:
        head = f"lane {base} +" if base else "lane"
        return Strip("lane", head, _grouped(axis, [(lane, f"+{lane}", lane) for lane, _ in axis.steps]))
    return Strip("lane", "lane", _grouped(axis, [(lane, str(lane + base), lane) for lane, _ in axis.steps]))


def _bit(matrix: Matrix, slot: int) -> int:
    """The first bit of a slot, counted from the operand's first register."""
    place = matrix.slots[slot // matrix.merge]
    return 32 * place.register + place.lsb - matrix.operand.placement.offset


def _parts(matrix: Matrix, axis: Axis) -> list[tuple[int, int]]:
    """What each value adds to the register, and to the bits beyond that."""
    return [divmod(_bit(matrix, slot), 32) for _, slot in axis.steps]


def _bits(matrix: Matrix, axis: Axis) -> Strip | None:
    parts = _parts(matrix, axis)
    if not any(bit for _, bit in parts):
        return None
    if any(bit for other in _others(matrix, axis) for _, bit in _parts(matrix, other)):
        return Strip("bits", "bits", _grouped(axis, [(part, f"+{part[1]}", 0) for part in parts]))
    texts = []
    for _, slot in axis.steps:
        place = matrix.slots[(slot + matrix.base[1]) // matrix.merge]
        texts.append(bits_text(place.lsb, place.width))
    return Strip("bits", "bits", _grouped(axis, [(part, text, 0) for part, text in zip(parts, texts)]))


def _register(matrix: Matrix, axis: Axis) -> Strip | None:
    if not axis.moves_slot:
        return None
    registers = [register for register, _ in _parts(matrix, axis)]
    head = spelling_of(matrix.operand).register
    if any(register for other in _others(matrix, axis) for register, _ in _parts(matrix, other)):
        if not any(registers):
            return None
        return Strip("register", head, _grouped(axis, [(r, f"+{r}", 0) for r in registers]))
    if not any(registers) and axis is matrix.rows and matrix.columns.moves_slot:
        return None  # one register for all, which the strip above the columns names
    base = _bit(matrix, matrix.base[1]) // 32
    width = matrix.slots[0].width
    names = [register_text(matrix.operand, r + base, width).removeprefix(f"{head} ") for r in registers]
    return Strip("register", head, _grouped(axis, [(r, name, 0) for r, name in zip(registers, names)]))


def block_title(matrix: Matrix, block: int) -> str:
    """What stands above a block: its number, and what it adds to the lane and the register."""
    lane, _ = matrix.blocks.steps[block]
    register, bit = _parts(matrix, matrix.blocks)[block]
    text = f"block {block}"
    if matrix.blocks.moves_lane:
        text += f", lane +{lane}"
    if any(part for part, _ in _parts(matrix, matrix.blocks)):
        text += f", register +{register}"
    return text + (f", bits +{bit}" if bit else "")


def notes(matrix: Matrix) -> tuple[str, ...]:
    """What else a reader must know: copies, shared places, signs, lanes moved, and how sure the layout is."""
    operand = matrix.operand
    found = []
    if not any(axis.moves_slot for axis in (matrix.blocks, matrix.rows, matrix.columns)):
        place = matrix.slots[matrix.base[1] // matrix.merge]
        name = register_text(operand, place.register, place.width)
        found.append(f"all in {name}" + (f"[{bits}]" if (bits := bits_text(place.lsb, place.width)) else ""))
    if len(matrix.copies) > 1:
        found.append(f"each element is kept {len(matrix.copies)} times")
    if matrix.merge > 1:
        kept = "indices" if operand.name == "K" else "stored values"
        found.append(f"{matrix.shared_by} values of k share a place, that of their {matrix.merge} {kept}")
    elif matrix.shared_by > 1:
        found.append(f"{matrix.shared_by} elements share each value")
    if matrix.read:
        found.append(f"BLGP {operand.fields['blgp']}: the tiles name the lanes that are read, the strips those without")
    found += _signs(matrix)
    if operand.tile:
        found.append(f"lanes are the threads of all waves: those of wave 1 begin at {operand.tile.lanes}")
    found += spelling_of(operand).notes(operand)
    if operand.provenance in DOUBTFUL:
        found.append(f"this layout is {operand.provenance}")
    return tuple(found)


def _signs(matrix: Matrix) -> list[str]:
    """Which elements are read with a sign: all, or those of some bits."""
    meanings = {
        "-": "negated", "|": "taken without their sign", "-|": "taken without their sign, then negated",
        "low": "negated in their lower half, which is the first stored value of two",
        "high": "negated in their upper half, which is the second stored value of two",
    }  # fmt: skip
    found = []
    for sign, meaning in meanings.items():
        items = [item for item, of_item in enumerate(matrix.signs) if of_item == sign]
        if not items:
            continue
        places = {(slot.lsb, slot.width) for slot in (matrix.slots[item] for item in items)}
        which = "all elements" if len(items) == len(matrix.signs) else ""
        which = which or "the elements in bits " + ", ".join(bits_text(*place) for place in sorted(places))
        found.append(f"{which} are {meaning}")
    return found
