"""Operand: one matrix of an instruction under given modifiers, and where its elements are: in registers, in Tensor
Memory, or in registers after they were loaded from there."""

from __future__ import annotations

from ..base.checks import argument_class, arguments_checked, require_int
from ..base.errors import Error
from ..base.records import Frozen, TupleRecord, cached_property, frozen, json_keys, late
from ..families import Axis, joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from ..drawing import Drawing
    from ..families import Placement
    from ..families.tensor_memory import Load
    from ..formats import Format
    from ..layout import Layout
    from .instruction import Instruction
    from .tile import Tile

__all__ = ["Element", "LoadedLocation", "Location", "Operand", "TensorMemoryLocation", "TileLocation"]

WARP = 32  # the lanes of a warp
_NEW = tuple.__new__  # of elements, of which hundreds are made at once
_LEFT_OUT: Any = object()  # a part of a place that is not given


class Location(TupleRecord):
    """Where an element is: its lane, its slot in the lane, the 32-bit register (from the operand's first), its lowest
    bit there, and its width in bits. A 64-bit element takes `register` and the one after it. Of Intel, a lane is a
    channel of 32 bits of a general register, and `register` counts those; of two fused EUs, the second has the lanes
    behind the first's."""

    lane: int
    item: int
    register: int
    lsb: int
    width: int


class TensorMemoryLocation(TupleRecord):
    """Where an element is in Tensor Memory: the CTA of the pair (0 or 1), the lane (0 to 127) and column from the
    operand's first, its lowest bit in the 32-bit cell, and its width in bits."""

    cta: int
    lane: int
    column: int
    lsb: int
    width: int


class LoadedLocation(TupleRecord):
    """Where an element is after tcgen05.ld: CTA, warp of the warpgroup, lane (thread) of the warp, the number of the
    load, its register, and the bits."""

    cta: int
    warp: int
    lane: int
    load: int
    register: int
    lsb: int
    width: int


class TileLocation(TupleRecord):
    """Where an element of a tile is: the wave, the lane of the wave (of a wgmma, of the warpgroup), its slot among the
    values of all instructions of the wave, the 32-bit register among theirs, and the bits."""

    wave: int
    lane: int
    item: int
    register: int
    lsb: int
    width: int


class Element(TupleRecord):
    """What some bits of a register, or of a cell of Tensor Memory, hold: the element's row, column and block, and the
    bits."""

    row: int
    col: int
    block: int
    lsb: int
    width: int


class PlaceParts(TupleRecord):
    """What the places of an operand are called, with the number of values of each part, the outermost first.

    Attributes:
        lane: the parts of a lane's number, such as CTA, warp and lane. register: those of a register's, such as the
            load and the register that it fills.
    """

    lane: tuple[tuple[str, int], ...]
    register: tuple[tuple[str, int], ...]


# By the parts of a lane, what `locate` gives.
LOCATIONS: dict[tuple[str, ...], type[Location | TensorMemoryLocation | LoadedLocation | TileLocation]] = {
    ("lane",): Location, ("wave", "lane"): TileLocation, ("cta", "lane"): TensorMemoryLocation,
    ("cta", "warp", "lane"): LoadedLocation,
}  # fmt: skip


def _split(number: Any, parts: tuple[tuple[str, int], ...]) -> tuple[Any, ...]:
    """A number, or an array of them, as the values of its parts."""
    inner: list[Any] = []
    for _, extent in parts[:0:-1]:
        inner.append(number % extent)
        number = number // extent
    return number, *inner[::-1]


def _number(values: Mapping[str, int], parts: tuple[tuple[str, int], ...]) -> int:
    """The number whose parts have these values."""
    number = 0
    for name, extent in parts:
        number = number * extent + values[name]
    return number


@json_keys(
    "architecture=instruction.arch: the canonical name, such as cdna3",
    "instruction=instruction.name",
    "matrix=name",
    "wave",
    "modifiers=fields",
    "[tile]: of which it is an operand, where it is of more than one instruction",
    "provenance",
)
class Operand(Frozen):
    """One operand of an instruction under given modifiers. Immutable; made by `Instruction.operand`.

    It is in registers, or of a tcgen05.mma in Tensor Memory: there a lane is one of the datapath, those of the second
    CTA of a pair come after those of the first, and a column takes the place of a register. `load` is the tcgen05.ld
    that brought it to registers, if one did (see `loaded`). Of a `Tile` it is one operand of all its instructions; the
    lanes of the second wave come after those of the first.
    """

    instruction: Instruction
    name: str
    wave: int
    fields: Mapping[str, int]
    load: Load | None
    tile: Tile | None
    placement: Placement
    layout: Layout
    flat: Layout
    format: Format

    def __init__(
        self, instruction: Instruction, name: str, wave: int, fields: Mapping[str, int], load: Load | None = None,
        tile: Tile | None = None,
    ) -> None:  # fmt: skip
        placement = instruction.placement(name, wave, fields)
        if load:
            from ..families.tensor_memory import after

            placement = after(placement, load)
        if tile:
            placement = tile._placed(name, placement, wave)
        layout = placement.layout
        self._set(
            instruction=instruction, name=name, wave=wave, fields=frozen(dict(fields)), load=load, tile=tile,
            placement=placement, layout=layout, flat=joined(layout), format=instruction.format_of(name, fields),
        )  # fmt: skip

    def __reduce__(self) -> tuple[Any, ...]:
        return Operand, (self.instruction, self.name, self.wave, dict(self.fields), self.load, self.tile)

    def __eq__(self, other: object) -> bool:
        """The same operand of the same instruction under the same modifiers; one that is 0 may be left out."""
        return isinstance(other, Operand) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((self.instruction, self.name, self.wave))

    def _identity(self) -> tuple[object, ...]:
        chosen = {field: value for field, value in self.fields.items() if value}
        return self.name, self.wave, chosen, self.load, self.tile, self.instruction

    def __repr__(self) -> str:
        return f"<{self.title}: {self.pattern}>"

    @property
    def title(self) -> str:
        """What it is of, as messages say it."""
        tile = f" in a tile of {self.tile.title}" if self.tile else ""
        return f"{self.name} of {self.instruction.name}{self.instruction.given_shape}{tile}"

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
        return tuple([axis.name for axis in self._axes])

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis: (blocks, rows, columns)."""
        return tuple([axis.extent for axis in self._axes])

    @cached_property
    def _axes(self) -> tuple[Axis, ...]:
        layout = self.layout
        own = self.placement.axes or tuple([Axis(*axis) for axis in zip(layout.axes, layout.extents)])
        return own if len(own) == 3 else (Axis("block", 1), *own)

    @cached_property
    def parts(self) -> PlaceParts:
        """The parts of a place, by which `locate` and `contents` name it."""
        spans = self.layout.spans
        if self.load:
            loads = spans["load"]
            of_lane = (("cta", spans.get("cta", 1)), ("warp", 4), ("lane", WARP))
            return PlaceParts(of_lane, (("load", loads), ("register", self.registers // loads)))
        if self.tile:
            waves = spans["wave"]
            return PlaceParts((("wave", waves), ("lane", self.lanes // waves)), (("register", self.registers),))
        if "column" in self.layout.places:
            return PlaceParts((("cta", 2), ("lane", self.wave)), (("column", 512),))
        return PlaceParts((("lane", self.lanes),), (("register", self.registers),))

    @property
    def location(self) -> type[Location | TensorMemoryLocation | LoadedLocation | TileLocation]:
        """The type of what `locate` gives."""
        return LOCATIONS[tuple([name for name, _ in self.parts.lane])]

    @property
    def in_columns(self) -> bool:
        """Whether the operand is in Tensor Memory, where it takes columns in place of registers."""
        return self.location is TensorMemoryLocation

    @property
    def items(self) -> int:
        """The number of slots that a lane holds."""
        return self.flat.spans["item"] // self.placement.slots_per_location

    @property
    def registers(self) -> int:
        """The number of 32-bit registers of the operand, in Tensor Memory of columns."""
        return -(-self.flat.spans["item"] * self.placement.slot_bits // 32)

    @property
    def provenance(self) -> str:
        """How sure this layout is: one of the words of `Instruction.provenance_of`, "unconfirmed" in `doubt`."""
        return "unconfirmed" if self.doubt else self.instruction.provenance_of(self.name)

    @property
    def doubt(self) -> str:
        """What about this layout no second source confirms; "" if nothing is known to be so."""
        return self.placement.doubt

    def locate(self, **coordinates: int) -> tuple[Location | Any, ...]:
        """Where an element is: a tuple of `Location`, more than one when it is replicated.

        In Tensor Memory they are of the type `TensorMemoryLocation`, after tcgen05.ld `LoadedLocation`, of a tile
        `TileLocation`.

        Args:
            coordinates: i, j, k and block. Those left out are 0; those that the operand lacks are ignored. k of a
                sparse A is the logical one.

        Raises:
            Error: a coordinate is outside the operand, is not a whole number, or is not called i, j, k or block.

        >>> import mmacalc
        >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
        >>> a.locate(i=3, k=9)
        (Location(lane=35, item=1, register=0, lsb=16, width=16),)
        >>> mma = mmacalc.instruction("B200", "tcgen05.mma.cta_group::1.kind::f16")
        >>> mma.operand("D", m=128, n=256).locate(i=3, j=17)
        (TensorMemoryLocation(cta=0, lane=3, column=17, lsb=0, width=32),)
        """
        width = self.placement.bits * self.placement.slots_per_location
        located: Any = self.location
        return tuple([located(*self._named(*place), width) for place in self.places(**coordinates)])

    def places(self, **coordinates: int) -> tuple[tuple[int, int], ...]:
        """The lane and the slot in it of every copy of an element, ascending; arguments as for `locate`.

        Raises:
            Error: as `locate` does.

        >>> import mmacalc
        >>> mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A").places(i=3, k=9)
        ((35, 1),)
        """
        if unknown := [name for name in coordinates if name not in ("i", "j", "k", "block")]:
            raise Error(f"an element has no coordinate '{unknown[0]}'; its coordinates are i, j, k and block")
        per_location, read = self.placement.slots_per_location, self.placement.lanes or int
        lane = item = 0
        for axis, own in zip(self._axes, self._layout_axes):
            value = require_int(axis.name, coordinates.get(axis.name, 0))
            if not 0 <= value < axis.extent:
                raise Error(f"{axis.name} = {value} is outside {self.title}: {axis.name} is 0 to {axis.extent - 1}")
            lane_step, item_step = self.steps(own)[axis.first + value // axis.run]
            lane, item = lane + lane_step, item + item_step
        return tuple(sorted({(read(lane + more), (item + further) // per_location) for more, further in self.copies()}))

    @property
    def _layout_axes(self) -> tuple[str, ...]:
        """The layout's own names of the coordinates."""
        return self.layout.axes if len(self.layout.axes) == 3 else ("block", *self.layout.axes)

    def _named(self, lane: Any, item: Any) -> tuple[Any, ...]:
        """What a location says of one place, or of arrays of them: all but the width."""
        bit = item * self.placement.slots_per_location * self.placement.slot_bits + self.placement.offset
        lanes, registers = self.parts
        slot = (item,) if "item" in self.location._fields else ()
        return *_split(lane, lanes), *slot, *_split(bit // 32, registers), bit % 32

    def contents(self, register: int = _LEFT_OUT, lane: int = _LEFT_OUT, **place: int) -> tuple[Element, ...]:
        """What a register of a lane holds: a tuple of `Element`, lowest bits first.

        Empty where the lane or the bits hold nothing. Of an element that reaches into a neighbouring register,
        the bits in this register are given. Of a scale all k are given that it multiplies.

        Args:
            register, lane: which.
            place: in Tensor Memory the lane, column and cta instead; after tcgen05.ld the warp, lane, load, register
                and cta; of a tile also the wave, or a thread of all waves and a value (an item) in place of all others.
                What is left out is 0.

        Raises:
            Error: the operand has no such register, or the wave no such lane, or Tensor Memory no such cell.

        >>> import mmacalc
        >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
        >>> a.contents(register=0, lane=35)[1]
        Element(row=3, col=9, block=0, lsb=16, width=16)
        >>> mma = mmacalc.instruction("B200", "tcgen05.mma.cta_group::1.kind::f16")
        >>> mma.operand("D", m=128, n=256).contents(lane=3, column=17)
        (Element(row=3, col=17, block=0, lsb=0, width=32),)
        """
        given = {"register": register, "lane": lane, **place}
        given = {name: value for name, value in given.items() if value is not _LEFT_OUT}
        lane, register = self._cell(given)
        elements = []
        items = self.items_in(register)
        if "value" in given:
            items, register = range(register, register + 1), self.location_of_item(0, register).register
        for item in items:
            first, last = self.bits_in(item, register)
            for row, col, block in self.elements(lane, item):
                for i, j in self._covered(row, col):
                    elements.append(_NEW(Element, (i, j, block, first, last - first + 1)))
        return tuple(elements)

    def _cell(self, given: Mapping[str, int]) -> tuple[int, int]:
        """The lane and register of a place that `contents` takes, which has to be there."""
        limits = self._limits("thread" in given or "value" in given)
        if unknown := [name for name in given if name not in limits]:
            raise Error(f"a place of {self.title} is given by {', '.join(limits)}; got {unknown[0]}")
        values = {name: require_int(name, given.get(name, 0)) for name in limits}
        for name, value in values.items():
            if 0 <= value < limits[name]:
                continue
            if self.in_columns:
                raise Error(f"{name} = {value} is outside Tensor Memory: it is 0 to {limits[name] - 1}")
            if name == "lane":
                raise Error(f"lane = {value} is outside the wave: lanes are 0 to {limits[name] - 1}")
            if name == "thread":
                raise Error(f"thread = {value} is outside the tile: its threads are 0 to {limits[name] - 1}")
            raise Error(f"{name} = {value} is outside {self.title}: it has {name}s 0 to {limits[name] - 1}")
        if "thread" in values:
            return values["thread"], values["value"]
        lanes, registers = self.parts
        return _number(values, lanes), _number(values, registers)

    def _limits(self, by_thread: bool) -> dict[str, int]:
        """How many values each part of a place has; of a tile, also by threads and values."""
        if self.tile and by_thread:
            return {"thread": self.lanes, "value": self.items}
        return dict([*self.parts.register, *self.parts.lane])

    def _covered(self, row: int, col: int) -> Iterator[tuple[int, int]]:
        """The elements at coordinates of the layout: itself, of a scale all k, none where rows only fill up."""
        if not self.placement.axes:
            yield row, col
            return
        rows, columns = self.placement.axes
        first = (col - columns.first) * columns.run
        if row < rows.extent and 0 <= first < columns.extent:
            for k in range(first, first + columns.run):
                yield row, k

    @arguments_checked
    def table(self) -> NDArray[Any]:
        """Every element's location: a structured NumPy array with fields lane, item, register and lsb.

        Its shape is (rows, columns), with the blocks first when there are several, and the copies last when
        elements are replicated. Read a field as `table["lane"]`. In Tensor Memory the fields are cta, lane, column and
        lsb, after tcgen05.ld cta, warp, lane, load, register and lsb.

        >>> import mmacalc
        >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
        >>> table = a.table()
        >>> table.shape, table["lane"][3, 9], table["item"][3, 9]
        ((16, 16), np.int32(35), np.int32(1))
        """
        import numpy

        lane, item = self.slots()
        columns = dict(zip(self.location._fields, self._named(lane, item)))
        result = numpy.empty(lane.shape, dtype=[(name, numpy.int32) for name in columns])
        for name, column in columns.items():
            result[name] = column
        result = result[..., 0] if result.shape[-1] == 1 else result
        return result[0] if self.shape[0] == 1 else result

    def slots(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The lane and the slot in it of every element, arrays of the shape (blocks, rows, columns, copies).

        >>> import mmacalc
        >>> lane, item = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A").slots()
        >>> lane.shape, lane[0, 3, 9, 0], item[0, 3, 9, 0]
        ((1, 16, 16, 1), np.int64(35), np.int64(1))
        """
        import numpy

        places = numpy.zeros((1, 2), dtype=int)
        for axis, own in zip(self._axes, self._layout_axes):
            steps = numpy.array(self.steps(own))[axis.first + numpy.arange(axis.extent) // axis.run]
            places = places[..., None, :] + steps
        places = places[0, ..., None, :] + numpy.array(self.copies())
        lane, item = places[..., 0], places[..., 1] // self.placement.slots_per_location
        if self.placement.lanes:
            lane = numpy.array([self.placement.lanes(value) for value in range(self.lanes)])[lane]
        return lane, item

    def loaded(self, shape: str = "32x32b", count: int = 32, pack: bool = False) -> Operand:
        """D of a tcgen05.mma in the registers of a warpgroup, after tcgen05.ld of all its columns by the four warps.

        Args:
            shape, count, pack: of the load, .x`count`; pack, for a 16-bit D, puts two columns in a register.

        Raises:
            Error: it is not D, or not in Tensor Memory; D is not of 16 bits under pack, or its columns are not a
                multiple of the load's.

        >>> import mmacalc
        >>> mma = mmacalc.instruction("B200", "tcgen05.mma.cta_group::1.kind::f16")
        >>> mma.operand("D", m=128, n=256).loaded("32x32b", 32).locate(i=35, j=100)
        (LoadedLocation(cta=0, warp=1, lane=3, load=3, register=4, lsb=0, width=32),)
        """
        if not self.in_columns:
            inst = self.instruction.name
            raise Error(f"tcgen05.ld is for D of tcgen05.mma; {inst} has its {self.name} in registers")
        if self.name not in "CD":
            raise Error(f"tcgen05.ld reads D for an epilogue; got {self.name}")
        from ..families.tensor_memory import Load

        return Operand(self.instruction, self.name, WARP, self.fields, Load(shape, count, pack))

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
        drawing: Drawing = late("draw_operand")(
            self, registers=registers, style=style, color_by=color_by, mark=mark, labels=labels, fold=fold
        )
        return drawing

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What a notebook shows: the picture."""
        return {"text/plain": repr(self), "image/svg+xml": self.draw().svg}

    def steps(self, axis: str) -> tuple[tuple[int, int], ...]:
        """What each value of a coordinate adds to the lane and to the slot of an element.

        The coordinates are the layout's, which may name more than `axes` do: of scales s, that of their stream.

        >>> import mmacalc
        >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
        >>> a.steps("i")[:3], a.steps("k")[3:6]
        (((0, 0), (1, 0), (2, 0)), ((0, 3), (16, 0), (16, 1)))
        """
        return self._steps.get(axis, ((0, 0),))

    @cached_property
    def _steps(self) -> Mapping[str, tuple[tuple[int, int], ...]]:
        found = {}
        for axis, tables in self.flat.axis_tables().items():
            warps = tables.get(self.wave_place, (0,) * len(tables["lane"]))
            rows = zip(tables["lane"], warps, tables["item"])
            found[axis] = tuple([(lane + self.wave * warp, item) for lane, warp, item in rows])
        steps: Mapping[str, tuple[tuple[int, int], ...]] = frozen(found)
        return steps

    def copies(self) -> tuple[tuple[int, int], ...]:
        """What selectors and replication add to the lane and slot: one pair for each copy of an element.

        The slots of one Location (see `Placement.slots_per_location`) count once.

        >>> import mmacalc
        >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
        >>> a.copies()
        ((0, 0),)
        """
        return self._copies

    @cached_property
    def _copies(self) -> tuple[tuple[int, int], ...]:
        offsets = self.flat.copy_offsets(self.placement.fields)[:: self.placement.slots_per_location]
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
        if self.placement.slots_per_location == 2 and self.placement.bits == 16:
            return {(True, True): "-", (True, False): "low", (False, True): "high"}.get((low, high), "")
        return "-" if (high if lsb >= 16 else low) else ""

    @property
    def lanes(self) -> int:
        """The number of lanes of the wave (for a warpgroup, of its four warps; for fused EUs, of both; in Tensor
        Memory, of both CTAs of a pair)."""
        return self.wave * self.flat.spans.get(self.wave_place, 1)

    @property
    def wave_place(self) -> str:
        """The place that counts waves, "" where there is one: "warp" for a warpgroup, "eu" for two fused EUs, "cta" for
        a pair of CTAs, "wave" for a tile."""
        return next((place for place in self.flat.places if place not in ("lane", "item")), "")

    def lane_parts(self, lane: int) -> dict[str, int]:
        """The parts of a lane's number, such as the warp and the lane in it, by their names.

        >>> import mmacalc
        >>> d = mmacalc.instruction("B200", "tcgen05.mma.cta_group::2.kind::f16").operand("D", m=256, n=64)
        >>> d.lane_parts(131), d.loaded("32x32b", 32).lane_parts(131)
        ({'cta': 1, 'lane': 3}, {'cta': 1, 'warp': 0, 'lane': 3})
        """
        return dict(zip([name for name, _ in self.parts.lane], _split(lane, self.parts.lane)))

    def location_of_item(self, lane: int, item: int) -> Location:
        """The Location of one item of one lane.

        >>> import mmacalc
        >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
        >>> a.location_of_item(lane=35, item=1)
        Location(lane=35, item=1, register=0, lsb=16, width=16)
        """
        placement = self.placement
        bit = item * placement.slots_per_location * placement.slot_bits + placement.offset
        return Location(lane, item, bit // 32, bit % 32, placement.bits * placement.slots_per_location)

    def items_in(self, register: int) -> range:
        """The items that have bits in a register.

        >>> import mmacalc
        >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
        >>> a.items_in(register=0)
        range(0, 2)
        """
        width = self.placement.slot_bits * self.placement.slots_per_location
        return range(32 * register // width, min(self.items, -(-32 * (register + 1) // width)))

    def bits_in(self, item: int, register: int) -> tuple[int, int]:
        """The first and last bit that an item has in a register; of a 64-bit item, 0 and 63.

        >>> import mmacalc
        >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
        >>> a.bits_in(item=1, register=0)
        (16, 31)
        """
        placement = self.placement
        width = placement.bits * placement.slots_per_location
        if width == 64:
            return 0, 63
        first = item * placement.slots_per_location * placement.slot_bits + placement.offset - 32 * register
        return max(first, 0), min(first + width - 1, 31)

    def elements(self, lane: int, item: int) -> Iterator[tuple[int, int, int]]:
        """The (row, column, block) of every element at one item of one lane, in the coordinates of the layout.

        >>> import mmacalc
        >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
        >>> list(a.elements(lane=35, item=1))
        [(3, 9, 0)]
        """
        per_location, lanes = self.placement.slots_per_location, self.placement.lanes
        sources = [lane] if lanes is None else [source for source in range(self.lanes) if lanes(source) == lane]
        for source in sources:
            for *block, row, col in self.flat.contents(self._place(source, item * per_location), self.placement.fields):
                yield row, col, block[0] if block else 0

    def _place(self, lane: int, item: int) -> tuple[int, ...]:
        return (lane // self.wave, lane % self.wave, item) if self.wave_place else (lane, item)


argument_class(Operand)


def negated(bits: int, operand: str) -> bool:
    """Whether a 3-bit negate field (NEG, NEG_HI, or BLGP of an FP64 MFMA) names this operand.

    >>> negated(0b010, "B"), negated(0b010, "A")
    (True, False)
    """
    return operand in "ABC" and bool(bits >> "ABC".index(operand) & 1)
