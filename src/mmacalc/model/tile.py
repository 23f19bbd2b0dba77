"""Tile: one instruction repeated over waves, and by each wave several times.

One worked example. D of v_mfma_f32_32x32x8_f16 is `(v m h) j -> lane (m j), item (v h)`. Four waves, two by two, that
each execute it four times, two by two, have D of 128 x 128 between them, and two more digits in each coordinate:

    (rm wm v m h) (rn wn j) -> wave (wn wm), lane (m j), item (rn rm v h)

wm and wn say which wave, rm and rn which of its instructions; the rest is the instruction's own layout. Which digit is
above which is the tile's arrangement, a `Layout` by itself: from the number of the instruction along m, n and k to the
wave and to the number of the wave's instruction:

    (rm wm) (rn wn) (rk wk) -> wave (wk wn wm), instruction (rk rn rm)

These are the defaults, and CuTe's: a TiledMMA with atom layout (2,2,1), whose waves follow one another along m first,
and whose values have those of one instruction first, then the rows (CUTLASS, cute/atom/mma_atom.hpp, `thrfrg_A`).
Triton counts waves and instructions along n first: `wave_order` and `repeat_order` are "nmk". A and B do not have each
other's digits: the waves that differ in these hold copies.
"""

from __future__ import annotations

from ..base.checks import require_int, shown
from ..base.errors import Error
from ..base.records import Frozen, frozen, json_keys
from ..families import Axis, shared_layout
from ..layout import Layout, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..families import Placement
    from ..layout.cute import CuteLayout
    from .instruction import Instruction
    from .operand import Operand

__all__ = ["Tile"]

AXES = {"i": "m", "j": "n", "k": "k"}
"""The coordinates of an operand, and the axes of a tile along which they are."""
MOST = 1 << 16
"""Instructions of a tile, and threads."""


@json_keys(
    "m", "n", "k", "waves: along m, n and k", "repeat: the instructions of each wave along m, n and k", "threads",
    "arrangement=arrangement.pattern: from an instruction's numbers along m, n, k to its wave and its number there",
    "permutation=permutation_texts: by m, n and k, as CuTe writes it",
)  # fmt: skip
class Tile(Frozen):
    """An instruction repeated over waves and by each wave. Immutable; made by `Instruction.tile`.

    Attributes:
        instruction: which; wave: the wave size.
        waves, repeat: how many waves, and how many instructions of each wave, along m, n and k.
        arrangement: from the numbers of an instruction along m, n and k to its wave and its number there.
        permutation: by m, n and k, where a coordinate of the tile is before the tile is cut into instructions.
    """

    instruction: Instruction
    wave: int
    arrangement: Layout
    permutation: Mapping[str, CuteLayout]
    waves: tuple[int, int, int]
    repeat: tuple[int, int, int]

    def __init__(
        self, instruction: Instruction, wave: int, arrangement: Layout, permutation: Mapping[str, CuteLayout] = {}
    ) -> None:
        if instruction.in_tensor_memory:
            raise Error(f"{instruction.name} has a shape of its own choice: give --m and --n in place of a tile")
        architecture = instruction.architecture
        architecture.family.require("tile", architecture.title)
        if not {"A", "B"} <= set(instruction.operands):
            raise Error(
                f"{instruction.name} moves a matrix and multiplies nothing; a tile is of an instruction that does"
            )
        _check_arrangement(arrangement)
        self._set(
            instruction=instruction, wave=wave, arrangement=arrangement, permutation=frozen(dict(permutation)),
            waves=_counts(arrangement, "wave"), repeat=_counts(arrangement, "instruction"),
        )  # fmt: skip
        for axis, layout in self.permutation.items():
            _permuted(axis, layout, dict(zip("mnk", self.shape))[axis])

    def __reduce__(self) -> tuple[Any, ...]:
        return Tile, (self.instruction, self.wave, self.arrangement, dict(self.permutation))

    def __eq__(self, other: object) -> bool:
        """The same instruction, wave size, arrangement and permutation."""
        return isinstance(other, Tile) and self.__reduce__()[1] == other.__reduce__()[1]

    def __hash__(self) -> int:
        return hash((self.instruction, self.waves, self.repeat))

    def __repr__(self) -> str:
        return f"<tile of {self.instruction.name}: {self.title}>"

    @property
    def title(self) -> str:
        """Its shape and how it is made up, such as 128x128x8, waves 2x2x1, repeat 2x2x1."""
        return f"{_times(self.shape)}, waves {_times(self.waves)}, repeat {_times(self.repeat)}"

    @property
    def shape(self) -> tuple[int, int, int]:
        """M, N and K of the tile.

        >>> import mmacalc
        >>> mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16").tile((2, 2), (2, 2)).shape
        (128, 128, 8)
        """
        inst = self.instruction
        m, n, k = [a * b for a, b in zip(self.waves, self.repeat)]
        return inst.m * m, inst.n * n, inst.k * k

    @property
    def m(self) -> int:
        """The rows of the tile."""
        return self.shape[0]

    @property
    def n(self) -> int:
        """The columns of the tile."""
        return self.shape[1]

    @property
    def k(self) -> int:
        """The k of the tile."""
        return self.shape[2]

    @property
    def permutation_texts(self) -> dict[str, str]:
        """The permutations as CuTe writes them."""
        return {axis: str(layout) for axis, layout in self.permutation.items()}

    @property
    def operands(self) -> tuple[str, ...]:
        """The operands of the instruction that are in registers."""
        return self.instruction.register_operands

    @property
    def lanes(self) -> int:
        """How many threads carry out one instruction: those of a wave, of a warpgroup for wgmma."""
        return self.instruction.operand("D", self.wave).lanes

    @property
    def threads(self) -> int:
        """The threads of all waves.

        >>> import mmacalc
        >>> mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16").tile((2, 2)).threads
        256
        """
        return self.lanes * self.arrangement.spans["wave"]

    @property
    def instructions(self) -> int:
        """How many instructions each wave executes."""
        return self.arrangement.spans["instruction"]

    def operand(self, name: str, **modifiers: int | str) -> Operand:
        """One operand of the whole tile, which answers all that an operand of one instruction does.

        `locate` gives `TileLocation`, with the wave; the item counts through the instructions of the wave. `contents`
        takes a wave, lane and register, or a thread and value.

        Raises:
            Error: no such operand in registers, or a modifier that the instruction lacks.

        >>> import mmacalc
        >>> inst = mmacalc.instruction("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        >>> d = inst.tile((2, 2), (1, 2)).operand("D")
        >>> d.pattern
        '(wm i1 i0) (rn wn t e) -> wave (wn wm), lane (i0 t), item (rn i1 e)'
        >>> d.locate(i=19, j=5)
        (TileLocation(wave=1, lane=14, item=1, register=1, lsb=0, width=32),)
        >>> d.contents(thread=77, value=5)
        (Element(row=3, col=27, block=0, lsb=0, width=32),)
        """
        from .operand import Operand

        atom = self.instruction.operand(name, self.wave, **modifiers)
        return Operand(self.instruction, atom.name, atom.wave, atom.fields, tile=self)

    def _placed(self, name: str, atom: Placement, lanes: int) -> Placement:
        """Where the elements of an operand of the whole tile are, from where those of one instruction are.

        Raises:
            Error: the operand does not fill its layout, so that a repetition of it does not just re-group digits.
        """
        layout = atom.layout
        coordinates = layout.axes[-2:]
        named = [axis.name for axis in atom.axes] or list(coordinates)
        axes = dict(zip(coordinates, named))
        _check_whole(self, name, atom, axes)
        printed = shared_layout(written(layout, whole=True), layout.axes, tuple(layout.trimmed_sizes.items()))
        text, sizes = _tiled(self.arrangement, atom._replace(layout=printed), axes)
        ends = {
            axis: end for axis, end in zip(layout.axes, layout.extents) if axis in layout.partial
        }  # only where it is not repeated
        tiled = shared_layout(text, layout.axes, tuple(sizes.items()), tuple(ends.items()))
        if any(AXES[coordinate] in self.permutation for coordinate in named):
            tiled = self._permute(tiled, axes)
        own = tuple([
            Axis(axis.name, axis.extent * self._times(axis.name), axis.first, axis.run) for axis in atom.axes
        ])  # fmt: skip
        read = atom.lanes
        through = (lambda lane: lane // lanes * lanes + read(lane % lanes)) if read else None
        return atom._replace(layout=tiled, axes=own, lanes=through)

    def _times(self, coordinate: str) -> int:
        at = "mnk".index(AXES[coordinate])
        return self.waves[at] * self.repeat[at]

    def _permute(self, tiled: Layout, axes: Mapping[str, str]) -> Layout:
        groups, places = [], []
        sizes: dict[str, int] = {}
        for axis, extent in zip(tiled.axes, tiled.extents):
            digits, moved, extents = ["d"], ["d"], [extent]
            if axis in axes and AXES[axes[axis]] in self.permutation:
                digits, moved, extents = _permuted(AXES[axes[axis]], self.permutation[AXES[axes[axis]]], extent)
            sizes |= {f"{axis}{digit}": size for digit, size in zip(digits, extents)}
            groups.append(f"({' '.join([axis + digit for digit in digits])})")
            places.append(f"{axis} ({' '.join([axis + digit for digit in moved])})")
        before = Layout(f"{' '.join(groups)} -> {', '.join(places)}", tiled.axes, sizes)
        return before.compose(tiled)


def _times(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes))


# --- the arrangement ---


def arranged(
    waves: Sequence[int], repeat: Sequence[int], adjacent: Sequence[int], repeat_order: str, wave_order: str
) -> Layout:
    """The arrangement of waves and repetitions along m, n and k.

    Args:
        waves, repeat: along m, n and, 1 if left out, k. adjacent: how many of a wave's instructions are neighbours.
        repeat_order, wave_order: m, n and k, the fastest first: of a wave's instructions, and of the waves.

    Raises:
        Error: a count is below 1, or there are too many; an order is not one of m, n and k.

    >>> arranged((2, 2), (2, 4), (), "mnk", "mnk").pattern
    '(rm wm) (rn wn) () -> wave (wn wm), instruction (rn rm)'
    >>> arranged((2, 2), (2, 4), (1, 2), "nmk", "nmk").pattern
    '(rm wm) (rn wn an) () -> wave (wm wn), instruction (rm rn an)'
    """
    sizes: dict[str, int] = {}
    groups = []
    given = {
        "waves": _three("waves", waves),
        "repeat": _three("repeat", repeat),
        "adjacent": _three("adjacent", adjacent),
    }
    for at, axis in enumerate("mnk"):
        count, near = given["repeat"][at], given["adjacent"][at]
        if count % near:
            raise Error(f"adjacent divides repeat; got {near} of {count} along {axis}")
        sizes |= {f"r{axis}": count // near, f"w{axis}": given["waves"][at], f"a{axis}": near}
        groups.append(f"(r{axis} w{axis} a{axis})")
    for what, letters in (("repeat_order", repeat_order), ("wave_order", wave_order)):
        if not isinstance(letters, str) or sorted(letters) not in (["k", "m", "n"], ["m", "n"]):
            raise Error(f"{what} is m, n and k, the fastest first, such as 'mnk' or 'nm'; got {shown(letters)}")
    order, wave_order = ((letters + "k")[:3] for letters in (repeat_order, wave_order))
    wave = " ".join([f"w{axis}" for axis in reversed(wave_order)])
    instruction = " ".join([f"r{axis} a{axis}" for axis in reversed(order)])
    return Layout(f"{' '.join(groups)} -> wave ({wave}), instruction ({instruction})", "mnk", sizes)


def _three(what: str, counts: Sequence[int]) -> tuple[int, ...]:
    if isinstance(counts, (str, bytes)) or not hasattr(counts, "__len__") or len(counts) > 3:
        raise Error(f"{what} is up to three whole numbers, along m, n and k, such as (2, 2); got {shown(counts)}")
    found = tuple([require_int(f"each of {what}", count) for count in counts])
    if wrong := [count for count in found if not 1 <= count <= MOST]:
        raise Error(f"{what} is 1 to {MOST} along each axis; got {wrong[0]}")
    return (*found, 1, 1, 1)[:3]


def _check_arrangement(layout: Layout) -> None:
    if layout.axes != ("m", "n", "k") or tuple(layout.places) != ("wave", "instruction"):
        raise Error(
            "an arrangement goes from m, n and k to wave and instruction, such as "
            f"'(rm wm) (rn wn) k -> wave (wn wm), instruction (k rn rm)'; got '{layout.pattern}'"
        )
    for what in ("shared", "replicated", "selectors"):
        if digits := [name for name in getattr(layout, what) if layout.sizes[name] > 1]:
            raise Error(f"every digit of an arrangement is on both sides; {digits[0]} of '{layout.pattern}' is {what}")
    if layout.partial:
        raise Error(f"'{layout.pattern}' ends before its digits do, so some waves have nothing to do")
    if max(layout.spans.values()) > MOST:
        raise Error(f"a tile has at most {MOST} waves, and {MOST} instructions of each")


def _counts(layout: Layout, place: str) -> tuple[int, int, int]:
    m, n, k = [layout.span([name for name in group if name in layout.places[place]]) for group in layout.coordinates]
    return m, n, k


# --- operands ---


def _check_whole(tile: Tile, name: str, atom: Placement, axes: Mapping[str, str]) -> None:
    """Refuse to repeat an operand along an axis where it does not fill its layout."""
    layout = atom.layout
    extents = dict(zip(layout.axes, layout.extents))
    own = {axis.name: axis for axis in atom.axes}
    for axis, coordinate in axes.items():
        if tile._times(coordinate) == 1:
            continue
        scaled = own.get(coordinate)
        unfilled = scaled is not None and (scaled.first or scaled.extent != extents[axis] * scaled.run)
        if axis in layout.partial or unfilled:
            raise Error(
                f"{name} of {tile.instruction.name} does not fill its layout along {coordinate}, so a tile along "
                f"{AXES[coordinate]} has no layout of its own: repeat it along other axes"
            )


def _tiled(arrangement: Layout, atom: Placement, axes: Mapping[str, str]) -> tuple[str, dict[str, int]]:
    """The pattern and sizes of an operand of the tile: the arrangement's digits above those of the instruction."""
    layout = atom.layout
    names = {digit: _unused(digit, layout.sizes) for digit in arrangement.sizes}
    sizes = {names[digit]: size for digit, size in arrangement.sizes.items()}
    above = {
        axis: [names[digit] for digit in arrangement.coordinates["mnk".index(AXES[coordinate])]]
        for axis, coordinate in axes.items()
    }
    own = {digit for digits in above.values() for digit in digits}
    left = [f"({' '.join([*above.get(axis, ()), *group])})" for axis, group in zip(layout.axes, layout.coordinates)]
    wave = [names[digit] for digit in arrangement.places["wave"]]
    items = [names[digit] for digit in arrangement.places["instruction"] if names[digit] in own]
    # The instructions of a wave begin in registers of their own.
    held = layout.spans["item"] * atom.slot_bits
    unused, sizes = "unused", sizes | dict(layout.sizes)
    sizes[unused] = -(-held // 32) * 32 // held if any(sizes[digit] > 1 for digit in items) else 1
    places = {"wave": [digit if digit in own else f"*{digit}" for digit in wave], **layout.places}
    places["item"] = (*items, unused, *layout.places["item"])
    right = ", ".join([f"{place} ({' '.join(digits)})" for place, digits in places.items()])
    kept = {*own, *wave, unused, *layout.sizes}
    return f"{' '.join(left)} -> {right}", {digit: size for digit, size in sizes.items() if digit in kept}


def _unused(digit: str, taken: Mapping[str, int]) -> str:
    while digit in taken:
        digit += "_"
    return digit


def _permuted(axis: str, layout: CuteLayout, extent: int) -> tuple[list[str], list[str], list[int]]:
    """The digits of a coordinate, where each goes, and their sizes, of a permutation that CuTe writes as a layout.

    Raises:
        Error: it is not a permutation, or its size does not divide the tile's.
    """
    size = layout.size
    if extent % size:
        raise Error(f"the permutation {layout} of {axis} has {size} elements, which do not divide the tile's {extent}")
    try:
        turned = layout.layout((axis,), "p")
    except Error as problem:
        raise Error(f"the permutation of {axis} cannot be used: {problem}") from None
    if turned.copies > 1:
        raise Error(f"the permutation {layout} of {axis} has a stride of 0, so it permutes nothing")
    digits = list(turned.coordinates[0])
    moved = [digit for place in reversed([*turned.places.values()]) for digit in place]
    sizes = [turned.sizes[digit] for digit in digits]
    if extent > size:
        return ["above", *digits], ["above", *moved], [extent // size, *sizes]
    return digits, moved, sizes
