"""A layout written out as formulas, both ways.

Each digit of the layout is one term: forwards `weight * (floor(coordinate / stride) % size)`, backwards the
same with the lane, GPR_num and GPR_bits in place of the coordinate. An item is split at the register boundary
into a GPR number and bits within it. The spelling is that of AMD's detail pages; the terms are derived, so
they cannot disagree with the queries.
"""

from __future__ import annotations

from ...base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...model import Operand


class _Digit(TupleRecord):
    """One digit: its weight in a place's index, its stride in a coordinate, and that coordinate's extent.

    axis is "" for a replicated digit or a selector; place is "" for a shared digit.
    """

    place: str
    axis: str
    weight: int
    stride: int
    size: int
    extent: int


def forward(operand: Operand) -> dict[str, str]:
    """The GPR and the lane of an element as formulas of i, j, k and block.

    >>> import mmacalc
    >>> forward(mmacalc.instruction("cdna2", "v_mfma_f32_4x4x1f32").operand("A"))
    {'GPR': '0', 'Lane': '4 * block + i'}
    """
    digits = list(_digits(operand))
    lane = _of_places(digits, "lane")
    if waves := operand.wave_place:
        lane = f"{operand.wave} * {_factor(_of_places(digits, waves))} + {lane}"
    copies = sorted({offset for offset, _ in operand.copies()})
    return {"GPR": _register(operand, digits), "Lane": _copied(lane, copies)}


def backward(operand: Operand) -> dict[str, str]:
    """Each coordinate as a formula of lane, GPR_num and GPR_bits.

    Where one place holds a run of a coordinate's values (2:4 sparse A), the formula is "last through first".

    >>> import mmacalc
    >>> backward(mmacalc.instruction("cdna2", "v_mfma_f32_4x4x1f32").operand("D"))["i"]
    '(GPR_num % 4)'
    """
    digits = list(_digits(operand))
    formulas = {}
    for axis in operand.axes:
        placed = [digit for digit in digits if digit.axis == axis and digit.place]
        placed.sort(key=lambda digit: -digit.stride)
        text = _sum([_of_place(operand, digit) for digit in placed])
        run = sum(digit.stride * (digit.size - 1) for digit in digits if digit.axis == axis and not digit.place)
        if run:
            text = f"({text} + {run}) through {text}" if text != "0" else f"{run} through 0"
        formulas[axis] = text
    return formulas


def _digits(operand: Operand) -> Iterator[_Digit]:
    """The digits of an operand, as they follow in the places, then the shared ones.

    The item counts Locations (see `Placement.slots_per_location`) and is split where a register ends.
    """
    layout, per_location = operand.flat if operand.tile else operand.layout, operand.placement.slots_per_location
    origins: dict[str, tuple[str, int, int]] = {}
    for coordinate, group in zip(layout.axes, layout.coordinates):
        stride = extent = layout.span(group)
        for name in group:
            stride //= layout.sizes[name]
            origins[name] = (coordinate, stride, extent)
    placed = set()
    for place, names in layout.places.items():
        weight = layout.spans[place]
        for name in names:
            size = layout.sizes[name.lstrip("*")]
            weight //= size
            placed.add(name)
            if size == 1 or (name == "*s" and per_location > 1):
                continue
            axis, stride, extent = origins.get(name, ("", 0, 0))
            if place == "item":
                yield from _split(operand, _Digit(place, axis, weight // per_location, stride, size, extent))
            else:
                yield _Digit(place, axis, weight, stride, size, extent)
    for name, (axis, stride, extent) in origins.items():
        if name not in placed and layout.sizes[name] > 1:
            yield _Digit("", axis, 0, stride, layout.sizes[name], extent)


def _split(operand: Operand, digit: _Digit) -> Iterator[_Digit]:
    """A digit of the item as at most two: of the register number, and of the slot within the register."""
    slots = 32 // _slot_bits(operand)
    weight, size = digit.weight, digit.size
    inside = slots // weight if slots > weight else 1
    if inside >= size or 32 % _slot_bits(operand):
        in_slot = weight < slots and not 32 % _slot_bits(operand)
        yield digit._replace(place="slot") if in_slot else digit
    elif inside > 1:
        yield digit._replace(weight=weight * inside, stride=digit.stride * inside, size=size // inside)
        yield digit._replace(place="slot", size=inside)
    else:
        yield digit


def _slot_bits(operand: Operand) -> int:
    return operand.placement.slot_bits * operand.placement.slots_per_location


def _register(operand: Operand, digits: list[_Digit]) -> str:
    """The GPR formula: a register, `.[high : low]` for narrow elements, a pair for wide ones."""
    width, bits = _slot_bits(operand), operand.placement.bits * operand.placement.slots_per_location
    terms = [digit for digit in digits if digit.place == "item" and digit.axis]
    if width == 64:
        first = _sum([_of_coordinate(digit, 2 * digit.weight) for digit in terms])
        return "[1:0]" if first == "0" else f"[{first} + 1 : {first}]"
    if 32 % width:
        slot = _sum([_of_coordinate(digit, digit.weight) for digit in terms])
        bit = f"{width} * {_factor(slot)}"
        return f"floor({bit} / 32).[{bit} % 32 + {bits - 1} : {bit} % 32]"
    slots = 32 // width
    register = _sum([_of_coordinate(digit, digit.weight // slots) for digit in terms])
    if width == 32:
        return register
    inside = [digit for digit in digits if digit.place == "slot" and digit.axis]
    low = _sum([_of_coordinate(digit, digit.weight * width) for digit in inside])
    fixed = operand.placement.offset + width * sum(offset for _, offset in operand.copies()[:1]) % 32
    items = sorted({item for _, item in operand.copies()})  # several where a lane holds copies (wmma fragments)
    in_register = slots * operand.placement.slots_per_location
    whole = _factor(_copied(register, [(item - items[0]) // in_register for item in items]))
    if low == "0":
        return f"{whole}.[{fixed + bits - 1}:{fixed}]"
    start = f" + {fixed}" if fixed else ""
    return f"{whole}.[{low} + {fixed + bits - 1} : {low}{start}]"


def _of_coordinate(digit: _Digit, weight: int) -> str:
    """A digit's part of a place, in which it has a weight."""
    whole = digit.stride * digit.size == digit.extent
    text = digit.axis if digit.stride == 1 else f"floor({digit.axis} / {digit.stride})"
    if not whole:
        text = f"({text} % {digit.size})"
    return text if weight == 1 else f"{weight} * {text}"


def _of_place(operand: Operand, digit: _Digit) -> str:
    """A digit's part of its coordinate. The lowest digit of a place is always written with its modulus."""
    width = _slot_bits(operand)
    if digit.place == "slot":
        name, step, end = "GPR_bits", digit.weight * width, 32
    elif digit.place == "item" and 32 % width and width != 64:
        # Where elements cross registers, the slot is counted in bits over all of the lane's registers.
        name, step, end = "(32 * GPR_num + GPR_bits)", digit.weight * width, operand.items * width
    elif digit.place == "item":
        name, step, end = "GPR_num", digit.weight * width // 32, operand.registers
    elif digit.place == operand.wave_place:  # lanes count through the warps of a warpgroup
        name, step, end = "lane", digit.weight * operand.wave, operand.lanes
    else:
        warps = operand.flat.spans.get(operand.wave_place, 1)
        name, step, end = digit.place, digit.weight, operand.flat.spans[digit.place] * warps
    text = name if step == 1 else f"floor({name} / {step})"
    if step * digit.size != end or step == 1:
        text = f"({text} % {digit.size})"
    return text if digit.stride == 1 else f"{digit.stride} * {text}"


def _of_places(digits: list[_Digit], place: str) -> str:
    """A place as the sum of the digits in it."""
    return _sum([_of_coordinate(digit, digit.weight) for digit in digits if digit.place == place and digit.axis])


def _sum(terms: list[str]) -> str:
    return " + ".join(terms) or "0"


def _factor(text: str) -> str:
    """Parenthesise a sum or product for use as a factor."""
    depth = 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == " " and depth == 0:
            return f"({text})"
    return text


def _copied(lane: str, offsets: list[int]) -> str:
    texts = [lane if offset == 0 else f"{lane}+{offset}" for offset in offsets]
    if len(texts) > 2:
        return f"{', '.join(texts[:-1])}, and {texts[-1]}"
    return " and ".join(texts)
