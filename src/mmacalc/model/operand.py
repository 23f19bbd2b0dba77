"""Operand: one matrix of an instruction under given modifiers, and where its elements are."""

from __future__ import annotations

from ..checks import argument_class, arguments_checked, require_int
from ..errors import Error
from ..later import higher_layer
from ..records import Frozen, cached_property, frozen
from .location import Element, Location
from .modifiers import negated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from ..drawing import Drawing
    from ..families.base import Placement
    from ..formats import Format
    from ..layout import Layout
    from .instruction import Instruction

__all__ = ["Operand"]


class Operand(Frozen):
    """One operand of an instruction under given modifiers. Immutable; made by `Instruction.operand`."""

    instruction: Instruction
    name: str
    wave: int
    fields: Mapping[str, int]
    placement: Placement
    layout: Layout
    format: Format

    def __init__(self, instruction: Instruction, name: str, wave: int, fields: Mapping[str, int]) -> None:
        placement = instruction.architecture.family.place(instruction, name, wave, fields)
        self._set(
            instruction=instruction, name=name, wave=wave, fields=frozen(dict(fields)), placement=placement,
            layout=placement.layout, format=instruction.format(name, fields),
        )  # fmt: skip

    def __reduce__(self) -> tuple[Any, ...]:
        return Operand, (self.instruction, self.name, self.wave, dict(self.fields))

    def __eq__(self, other: object) -> bool:
        """The same operand of the same instruction under the same modifiers; one that is 0 may be left out."""
        return isinstance(other, Operand) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((self.instruction, self.name, self.wave))

    def _identity(self) -> tuple[object, ...]:
        chosen = {field: value for field, value in self.fields.items() if value}
        return self.name, self.wave, chosen, self.instruction

    def __repr__(self) -> str:
        return f"<{self.name} of {self.instruction.name}: {self.pattern}>"

    @property
    def pattern(self) -> str:
        """The layout in this package's notation, unit digits dropped."""
        return self.layout.pattern

    @property
    def sizes(self) -> dict[str, int]:
        """The number of values of each digit that `pattern` names."""
        return self.layout.trimmed_sizes

    @property
    def einops(self) -> str:
        """The layout as a plain einops pattern."""
        return self.layout.einops

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of the coordinates: block, then two of i, j, k."""
        return self.layout.axes

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis: (blocks, rows, columns)."""
        return self.layout.extents

    @property
    def items(self) -> int:
        """The number of slots that a lane holds."""
        return self.layout.spans["item"] // self.placement.merge

    @property
    def registers(self) -> int:
        """The number of 32-bit registers of the operand."""
        return -(-self.layout.spans["item"] * self.placement.slot_bits // 32)

    @property
    def provenance(self) -> str:
        """How sure this layout is: one of the words of `Instruction.provenance_of`."""
        return self.instruction.provenance_of(self.name)

    def locate(self, **coordinates: int) -> tuple[Location, ...]:
        """Where an element is: a tuple of `Location`, more than one when it is replicated.

        Args:
            coordinates: i, j, k and block. Those left out are 0; those that the operand lacks are ignored.

        Raises:
            Error: a coordinate is outside the operand, is not a whole number, or is not called i, j, k or block.

        >>> import mmacalc
        >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
        >>> a.locate(i=3, k=9)
        (Location(lane=35, item=1, register=0, lsb=16, width=16),)
        """
        if unknown := [name for name in coordinates if name not in ("i", "j", "k", "block")]:
            raise Error(f"an element has no coordinate '{unknown[0]}'; its coordinates are i, j, k and block")
        merge, read = self.placement.merge, self.placement.lanes or int
        lane = item = 0
        for axis, extent in zip(self.axes, self.shape):
            value = require_int(axis, coordinates.get(axis, 0))
            if not 0 <= value < extent:
                here = f"{self.name} of {self.instruction.name}"
                raise Error(f"{axis} = {value} is outside {here}: {axis} is 0 to {extent - 1}")
            lane_step, item_step = self.steps(axis)[value]
            lane, item = lane + lane_step, item + item_step
        places = {(read(lane + more), (item + further) // merge) for more, further in self.copies()}
        return tuple([self.slot(lane, item) for lane, item in sorted(places)])

    def contents(self, register: int, lane: int) -> tuple[Element, ...]:
        """What a register of a lane holds: a tuple of `Element`, lowest bits first.

        Empty where the lane or the bits hold nothing. Of an element that reaches into a neighbouring register,
        the bits in this register are given.

        Raises:
            Error: the operand has no such register, or the wave no such lane.

        >>> import mmacalc
        >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
        >>> a.contents(register=0, lane=35)[1]
        Element(row=3, col=9, block=0, lsb=16, width=16)
        """
        register, lane = require_int("register", register), require_int("lane", lane)
        here = f"{self.name} of {self.instruction.name}"
        if not 0 <= register < self.registers:
            raise Error(f"register = {register} is outside {here}: it has registers 0 to {self.registers - 1}")
        if not 0 <= lane < self.lanes:
            raise Error(f"lane = {lane} is outside the wave: lanes are 0 to {self.lanes - 1}")
        elements = []
        for item in self.items_in(register):
            first, last = self.bits_in(item, register)
            for row, col, block in self.elements(lane, item):
                elements.append(Element(row, col, block, first, last - first + 1))
        return tuple(elements)

    @arguments_checked
    def table(self) -> NDArray[Any]:
        """Every element's location: a structured NumPy array with fields lane, item, register and lsb.

        Its shape is (rows, columns), with the blocks first when there are several, and the copies last when
        elements are replicated. Read a field as `table["lane"]`.

        >>> import mmacalc
        >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
        >>> table = a.table()
        >>> table.shape, table["lane"][3, 9], table["item"][3, 9]
        ((16, 16), np.int32(35), np.int32(1))
        """
        import numpy

        places = numpy.zeros((1, 2), dtype=int)
        for axis in self.axes:
            places = places[..., None, :] + numpy.array(self.steps(axis))
        places = places[0, ..., None, :] + numpy.array(self.copies())
        lane, item = places[..., 0], places[..., 1] // self.placement.merge
        if self.placement.lanes:
            lane = numpy.array([self.placement.lanes(value) for value in range(self.lanes)])[lane]
        bit = item * self.placement.merge * self.placement.slot_bits + self.placement.offset
        columns = {"lane": lane, "item": item, "register": bit // 32, "lsb": bit % 32}
        result = numpy.empty(lane.shape, dtype=[(name, numpy.int32) for name in columns])
        for name, column in columns.items():
            result[name] = column
        result = result[..., 0] if result.shape[-1] == 1 else result
        return result[0] if self.shape[0] == 1 else result

    @arguments_checked
    def draw(
        self,
        *,
        registers: bool = False,
        style: str = "light",
        color_by: str = "lane",
        mark: Sequence[str] = (),
        labels: bool = False,
        fold: bool = True,
    ) -> Drawing:
        """A picture of the operand, as SVG, PNG, HTML or text; a notebook shows it.

        Args:
            registers: draw lanes down and registers across instead of rows and columns.
            style: "light", "dark" or "print"; color_by: "lane", "register" or a digit of the pattern.
            mark: an element to mark, such as "A[3][9]" or "A[3][9].B2", or several.
            labels: name every cell's place, not every tile's lane.
            fold: draw an ellipsis for repetitions where they leave too little room.

        Raises:
            Error: an option has no such value, or a marked element is outside.

        >>> import mmacalc
        >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
        >>> print(a.draw(mark="A[3][9]").text().splitlines()[-1])
        A[3][9] is in lane 35 v0[31:16]
        """
        drawing: Drawing = higher_layer("draw_operand")(
            self, registers=registers, style=style, color_by=color_by, mark=mark, labels=labels, fold=fold
        )
        return drawing

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What a notebook shows: the picture."""
        return {"text/plain": repr(self), "image/svg+xml": self.draw().svg}

    def steps(self, axis: str) -> tuple[tuple[int, int], ...]:
        """What each value of a coordinate adds to the lane and to the slot of an element.

        >>> import mmacalc
        >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
        >>> a.steps("i")[:3], a.steps("k")[3:6]
        (((0, 0), (1, 0), (2, 0)), ((0, 3), (16, 0), (16, 1)))
        """
        return self._steps.get(axis, ((0, 0),))

    @cached_property
    def _steps(self) -> Mapping[str, tuple[tuple[int, int], ...]]:
        found = {}
        for axis, tables in self.layout.axis_tables().items():
            warps = tables.get(self.outer, (0,) * len(tables["lane"]))
            rows = zip(tables["lane"], warps, tables["item"])
            found[axis] = tuple([(lane + self.wave * warp, item) for lane, warp, item in rows])
        steps: Mapping[str, tuple[tuple[int, int], ...]] = frozen(found)
        return steps

    def copies(self) -> tuple[tuple[int, int], ...]:
        """What selectors and replication add to the lane and slot: one pair for each copy of an element.

        The slots of one Location (see `Placement.merge`) count once.

        >>> import mmacalc
        >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
        >>> a.copies()
        ((0, 0),)
        """
        return self._copies

    @cached_property
    def _copies(self) -> tuple[tuple[int, int], ...]:
        offsets = self.layout.copy_offsets(self.placement.fields)[:: self.placement.merge]
        return tuple([(place[-2] + (self.wave * place[0] if len(place) == 3 else 0), place[-1]) for place in offsets])

    def sign(self, lsb: int) -> str:
        """The signs that NEG, NEG_HI (or BLGP on an FP64 MFMA) put on what is read at a bit position.

        Returns:
            ``""``, ``"-"``, ``"|"`` (absolute value) or ``"-|"``; where two f16 values of a sparse A share the location
            and one is negated, ``"low"`` or ``"high"``.

        >>> import mmacalc
        >>> wmma = mmacalc.instruction("rdna3", "v_wmma_f32_16x16x16_f16")
        >>> wmma.operand("B", neg=2).sign(lsb=0), wmma.operand("B", neg=2).sign(lsb=16)
        ('-', '')
        >>> swmmac = mmacalc.instruction("rdna4", "v_swmmac_f32_16x16x32_f16")
        >>> swmmac.operand("A", neg=1).sign(lsb=0), swmmac.operand("A", neg=1, neg_hi=1).sign(lsb=0)
        ('low', '-')
        """
        if not self.fields or self.instruction.integer:
            return ""  # of integers, NEG makes operands signed
        # BLGP of an FP64 MFMA negates A, B and C by its three bits (CDNA3 ISA guide, VOP3P-MAI fields).
        both = self.fields.get("blgp", 0) if self.instruction.formats.get("A") == "f64" else 0
        low = negated(self.fields.get("neg", 0) | both, self.name)
        if self.name == "C":
            return "-" * low + "|" * negated(self.fields.get("neg_hi", 0), "C")
        high = negated(self.fields.get("neg_hi", 0) | both, self.name)
        if self.placement.merge == 2 and self.placement.bits == 16:
            return {(True, True): "-", (True, False): "low", (False, True): "high"}.get((low, high), "")
        return "-" if (high if lsb >= 16 else low) else ""

    @property
    def lanes(self) -> int:
        """The number of lanes of the wave (for a warpgroup, of its four warps; for fused EUs, of both)."""
        return self.wave * self.layout.spans.get(self.outer, 1)

    @property
    def outer(self) -> str:
        """The place that counts waves, "" where there is one: "warp" for a warpgroup, "eu" for two fused EUs."""
        return next((place for place in self.layout.places if place not in ("lane", "item")), "")

    def slot(self, lane: int, item: int) -> Location:
        """The Location of one item of one lane.

        >>> import mmacalc
        >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
        >>> a.slot(lane=35, item=1)
        Location(lane=35, item=1, register=0, lsb=16, width=16)
        """
        placement = self.placement
        bit = item * placement.merge * placement.slot_bits + placement.offset
        return Location(lane, item, bit // 32, bit % 32, placement.bits * placement.merge)

    def items_in(self, register: int) -> range:
        """The items that have bits in a register.

        >>> import mmacalc
        >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
        >>> a.items_in(register=0)
        range(0, 2)
        """
        width = self.placement.slot_bits * self.placement.merge
        return range(32 * register // width, min(self.items, -(-32 * (register + 1) // width)))

    def bits_in(self, item: int, register: int) -> tuple[int, int]:
        """The first and last bit that an item has in a register; of a 64-bit item, 0 and 63.

        >>> import mmacalc
        >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
        >>> a.bits_in(item=1, register=0)
        (16, 31)
        """
        location = self.slot(0, item)
        if location.width == 64:
            return 0, 63
        first = 32 * (location.register - register) + location.lsb
        return max(first, 0), min(first + location.width - 1, 31)

    def elements(self, lane: int, item: int) -> Iterator[tuple[int, int, int]]:
        """The (row, column, block) of every element at one item of one lane.

        >>> import mmacalc
        >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
        >>> list(a.elements(lane=35, item=1))
        [(3, 9, 0)]
        """
        merge, lanes = self.placement.merge, self.placement.lanes
        sources = [lane] if lanes is None else [source for source in range(self.wave) if lanes(source) == lane]
        for source in sources:
            for block, row, col in self.layout.contents(self._place(source, item * merge), self.placement.fields):
                yield row, col, block

    def _place(self, lane: int, item: int) -> tuple[int, ...]:
        return (lane // self.wave, lane % self.wave, item) if self.outer else (lane, item)


argument_class(Operand)
