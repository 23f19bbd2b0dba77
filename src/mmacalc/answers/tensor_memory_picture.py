"""Operands in Tensor Memory as pictures read operands: a datapath lane for a lane, the slots of columns for items.

A picture needs lanes and slots. Of an operand in Tensor Memory the lanes are those of the datapath, of a pair of CTAs
those of the second after those of the first, and the slots those of the columns; after tcgen05.ld the lanes are the
threads of the warpgroup, and the slots their registers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..errors import counted
from ..families.base import packed, shared_layout
from ..layout import Layout
from ..model import Location

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..families.base import Placement
    from ..formats import Format
    from ..model.loaded_matrix import LoadedMatrix
    from ..model.tensor_memory import TensorMemoryInstruction
    from ..model.tensor_memory_move import TensorMemoryMove
    from ..model.tensor_memory_operand import TensorMemoryOperand

__all__ = ["Placed", "cells", "loaded", "moved"]


THREADS, WARPS = 32, 4  # of a warp; of a warpgroup


MOVED_AXES = {"lane": "L", "column": "C", "row": "R"}


class Words(NamedTuple):
    """What a picture calls things: the place of an item ("column", "register"), the beginning of its name, and what is
    worth saying besides."""

    slot: str
    prefix: str
    notes: tuple[str, ...]


class Placed:
    """Elements in lanes and slots, as `mmacalc.answers.picture` reads them. Immutable.

    Attributes:
        instruction, name: whose they are; layout: coordinates to lane and item, perhaps with an outer place before;
        placement: the slots' width and what is in them; format: of an element; fields: the selectors' values;
        wave: how many lanes one value of the outer place has; words: see `Words`.
    """

    axes: tuple[str, ...]
    instruction: TensorMemoryInstruction | TensorMemoryMove
    pattern: str
    shape_text: str

    name: str
    layout: Layout
    placement: Placement
    format: Format
    wave: int
    words: Words
    provenance: str
    title: str

    def __init__(
        self, instruction: TensorMemoryInstruction | TensorMemoryMove, layout: Layout, placement: Placement, wave: int,
        words: Words, **rest: str,
    ) -> None:  # fmt: skip
        self.instruction, self.layout, self.placement, self.wave, self.words = (
            instruction, layout, placement, wave, words
        )  # fmt: skip
        self.name, self.pattern, self.provenance = rest["name"], rest["pattern"], rest["provenance"]
        self.title, self.shape_text = rest["title"], rest["shape_text"]
        self.fields: dict[str, int] = {}
        self.axes = ("block", *layout.axes)

    @property
    def sizes(self) -> dict[str, int]:
        """The number of values of each digit that the pattern names."""
        return self.layout.trimmed_sizes

    @property
    def outer(self) -> str:
        """The place before the lane: the CTA or the warp; "" where there is one."""
        return next((place for place in self.layout.places if place not in ("lane", "item")), "")

    @property
    def lanes(self) -> int:
        """How many lanes there are."""
        return self.wave * self.layout.spans.get(self.outer, 1)

    @property
    def items(self) -> int:
        """How many slots a lane has."""
        return self.layout.spans["item"] // self.placement.merge

    def steps(self, axis: str) -> list[tuple[int, int]]:
        """What each value of a coordinate adds to the lane and to the slot of an element."""
        tables = self.layout.axis_tables().get(axis, {"lane": (0,), "item": (0,)})
        outer = tables.get(self.outer, (0,) * len(tables["lane"]))
        rows = zip(tables["lane"], outer, tables["item"])
        return [(lane + self.wave * further, item) for lane, further, item in rows]

    def copies(self) -> list[tuple[int, int]]:
        """What selectors and replication add to the lane and slot."""
        places = tuple(self.layout.places)
        found = []
        for offsets in self.layout.copy_offsets(self.placement.fields):
            at = dict(zip(places, offsets))
            if at["item"] % self.placement.merge == 0 or self.placement.merge == 1:
                found.append((at["lane"] + self.wave * at.get(self.outer, 0), at["item"]))
        return found

    def sign(self, lsb: int) -> str:
        """None: tcgen05 negates A and B by its instruction descriptor, not by what is read."""
        return ""

    def slot(self, lane: int, item: int) -> Location:
        """The place of one slot of one lane; its register is the column, or the register."""
        placed = self.placement
        bit = item * placed.merge * placed.slot_bits + placed.offset
        return Location(lane, item, bit // 32, bit % 32, placed.bits * placed.merge)

    def lanes_text(self, lanes: tuple[int, ...]) -> str:
        """Lanes as a sentence names them: with their CTA or warp, where there are several."""
        if not self.outer:
            return f"lane{'s' * (len(lanes) > 1)} {', '.join(map(str, lanes))},"
        found = []
        for lane in lanes:
            outer, own = divmod(lane, self.wave)
            warp = f"warp {outer % WARPS}, " if self.wave == THREADS else ""
            cta = f"CTA {outer // WARPS if warp else outer}, " if self.outer == "cta" else ""
            found.append(f"{cta}{warp}lane {own}")
        return f"{'; '.join(found)},"

    def elements(self, lane: int, item: int) -> Iterator[tuple[int, int, int]]:
        """The (row, column, block) of every element at a slot of a lane."""
        place = {"lane": lane % self.wave, "item": item * self.placement.merge}
        if self.outer:
            place[self.outer] = lane // self.wave
        for row, column in self.layout.contents([place[name] for name in self.layout.places], self.placement.fields):
            yield row, column, 0


def _merged(layout: Layout, lanes: tuple[str, ...], outer: tuple[str, ...], items: tuple[str, ...]) -> Layout:
    """The same layout with its places joined to an outer place, lane and item; places of one value are left out."""
    left = " ".join(f"({' '.join(group)})" for group in layout.coordinates)
    spans = layout.spans
    groups = {"lane": lanes, "item": items}
    if any(spans.get(name, 1) > 1 for name in outer):
        groups = {outer[0]: outer, **groups}
    right = ", ".join(
        f"{name} ({' '.join(digit for place in places for digit in layout.places.get(place, ()))})"
        for name, places in groups.items()
    )
    return shared_layout(f"{left} -> {right}", tuple(layout.axes), tuple(layout.sizes.items()))


def cells(operand: TensorMemoryOperand) -> Placed:
    """An operand in Tensor Memory.

    >>> import mmacalc
    >>> mma = mmacalc.instruction("B200", "tcgen05.mma.cta_group::1.kind::f16")
    >>> found = cells(mma.operand("A", m=128, n=64))
    >>> found.lanes, found.items, found.slot(3, 5)
    (128, 16, Location(lane=3, item=5, register=2, lsb=16, width=16))
    """
    inst, held = operand.instruction, operand.cells
    layout = _merged(operand.layout, ("lane",), ("cta",), ("column", "item"))
    placement = packed(layout, held.slot_bits, operand.fields, held.merge)._replace(bits=held.bits, offset=held.offset)
    notes = []
    if operand.layout.spans["cta"] > 1:
        notes.append("lanes 128 to 255 are lanes 0 to 127 of CTA 1")
    if operand.scales:
        notes.append(f"s counts the bytes of the stream of scales, one for every {inst.block_size} of k")
        if operand.layout.extents[0] > operand.shape[0]:
            notes.append(f"{operand.axes[0]} = {operand.shape[0]} and above are padding")
    if "half" in operand.layout.selectors:
        notes.append(f"half = {operand.fields.get('half', 0)}: bit 4 of the lane in the address")
    if operand.doubt:
        notes.append(operand.doubt)
    types = ", ".join(f"{name} {kind}" for name, kind in operand.types.items())
    return Placed(
        inst, layout, placement, 128, Words("column", "column ", tuple(notes)), name=operand.name,
        pattern=operand.pattern, provenance=operand.provenance,
        title=f"{inst.name}, {inst.architecture.title}, M {operand.m}, N {operand.n}, K {operand.k}, {types}",
        shape_text=f"{operand.shape[0]}x{operand.shape[1]} in Tensor Memory",
    )  # fmt: skip


def loaded(matrix: LoadedMatrix) -> Placed:
    """D in the registers of a warpgroup after tcgen05.ld."""
    operand, inst = matrix.operand, matrix.operand.instruction
    layout = _merged(matrix.layout, ("lane",), ("warp",), ("load", "item"))
    if operand.layout.spans["cta"] > 1:
        layout = _merged(matrix.layout, ("lane",), ("cta", "warp"), ("load", "item"))
    slot = 16 if matrix.pack else 32
    placement = packed(layout, slot, operand.fields)._replace(bits=operand.cells.bits)
    each = matrix.layout.spans["item"] * slot // 32
    loads = matrix.layout.spans["load"]
    notes = [f"lane 32 w + t is lane t of warp w; {counted(loads, 'load')} of {counted(each, 'register')}"]
    if operand.layout.spans["cta"] > 1:
        notes.append("lanes 128 to 255 are 0 to 127 of CTA 1")
    return Placed(
        inst, layout, placement, 32, Words("register", "%r", tuple(notes)), name=operand.name,
        pattern=matrix.layout.pattern.replace("cta (), ", ""), provenance=operand.provenance,
        title=f"{inst.name}, {inst.architecture.title}, M {operand.m}, N {operand.n}, after tcgen05.ld.{matrix.load}",
        shape_text=f"{operand.shape[0]}x{operand.shape[1]} after tcgen05.ld.{matrix.load}",
    )  # fmt: skip


def moved(move: TensorMemoryMove) -> Placed:
    """The cells of a tcgen05.ld or st with the threads and registers of a warp; of a cp its rows with lane and column.

    Raises:
        Error: the instruction moves nothing between such places.
    """
    source = move.placed_layout
    to_registers = "item" in source.places
    layout = _merged(source, ("lane",), (), ("item",) if to_registers else ("column",))
    layout = Layout(layout.pattern, [MOVED_AXES[axis] for axis in layout.axes], layout.trimmed_sizes)
    slot = 16 if move.pack else 32
    words = Words("register", "%r", ("L and C: the lane and column from the address; tiles name lanes of the warp",))
    if not to_registers:
        words = Words("column", "column ", ("R and C: the row and 32-bit column of the box in shared memory; lanes and "
                                            "columns count from the address",))  # fmt: skip
    return Placed(
        move, layout, packed(layout, slot), 32 if to_registers else 128, words, name="T", pattern=source.pattern,
        provenance=move.provenance, title=f"{move.name}, {move.architecture.title}",
        shape_text="x".join(map(str, source.extents)),
    )  # fmt: skip
