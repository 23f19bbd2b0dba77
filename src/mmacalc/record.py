"""Architecture, Instruction and Operand: the records that every question is put to.

An `Instruction` is made from one line of a catalog file and checked as it is made. An `Operand` is one of its
matrices under given modifiers, on a given wave size: it answers where an element is and what a register holds.
"""

from __future__ import annotations

from collections import namedtuple
from importlib import import_module
from operator import index

from .errors import Error, did_you_mean
from .formats import CHOICES, chosen, named
from .rules import fields as rule_fields
from .rules import place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from .formats import Format
    from .layout import Layout
    from .rules import Placement

__all__ = ["Architecture", "Element", "Instruction", "Location", "Operand"]

# What an AMD catalog line may have among its features; those of other vendors are the business of their rules.
FEATURES = ("sparse", "cbsz", "blgp", "opsel", "neg", "neg_c", "scale")
PROVENANCES = ("hardware-verified", "two sources agree", "one source", "unconfirmed", "assumed")


# Other spellings of modifiers: those of assembly text.
SYNONYMS = {"op_sel": "opsel", "opsel_hi": "op_sel_hi", "neg_lo": "neg", "index_key": "opsel"}
FORMAT_SYNONYMS = {"A": ("cbsz", "matrix_a_fmt"), "B": ("blgp", "matrix_b_fmt")}
KNOWN_MODIFIERS = ("cbsz", "abid", "blgp", "opsel", "op_sel_hi", "neg", "neg_hi")


class Architecture:
    """One architecture, as its catalog file describes it.

    Attributes:
        name: the canonical name, such as "cdna3"; title: as it is printed; aliases: other names, lower case.
        vendor: "amd" or "nvidia"; targets: the compiler's names of it.
        waves: the wave sizes, the default first; layout: the family of `mmacalc.rules`.
        format_fields: of instructions that leave the formats of operands to fields, each operand's field.
        facts: whatever else the file says (register alignment, compute units, clock ...).
    """

    __slots__ = ("aliases", "facts", "format_fields", "layout", "name", "targets", "title", "vendor", "waves")

    def __init__(
        self,
        name: str,
        title: str,
        vendor: str,
        layout: str,
        waves: tuple[int, ...],
        aliases: tuple[str, ...] = (),
        targets: tuple[str, ...] = (),
        format_fields: Mapping[str, str] = {},
        **facts: Any,
    ) -> None:
        self.format_fields = dict(format_fields)
        self.name, self.title, self.vendor, self.layout = name, title, vendor, layout
        self.waves, self.aliases, self.targets, self.facts = waves, aliases, targets, facts

    def __repr__(self) -> str:
        return f"Architecture({self.name!r})"

    def wave(self, wave: int | None) -> int:
        """The wave size meant by `wave`; None or 0 is the default.

        Raises:
            Error: the architecture has no such wave size.
        """
        if not wave:
            return self.waves[0]
        if wave not in self.waves:
            raise Error(f"{self.title} has no wave size {wave!r}; it has {' and '.join(map(str, self.waves))}")
        return wave


class Location(namedtuple("Location", "lane item register lsb width")):
    """Where an element is: its lane, its slot in the lane, the 32-bit register (from the operand's first),
    its lowest bit there, and its width in bits. A 64-bit element takes `register` and the one after it."""

    __slots__ = ()
    lane: int
    item: int
    register: int
    lsb: int
    width: int


class Element(namedtuple("Element", "row col block lsb width")):
    """What some bits of a register hold: the element's row, column and block, and the bits."""

    __slots__ = ()
    row: int
    col: int
    block: int
    lsb: int
    width: int


class Operand:
    """One operand of an instruction under given modifiers. Immutable; made by `Instruction.operand`."""

    __slots__ = ("fields", "format", "instruction", "layout", "name", "placement", "wave")

    def __init__(self, instruction: Instruction, name: str, wave: int, fields: Mapping[str, int]) -> None:
        self.instruction = instruction
        self.name = name
        self.wave = wave
        self.fields = dict(fields)
        self.placement: Placement = place(instruction, name, wave, fields)
        self.layout: Layout = self.placement.layout
        self.format: Format = instruction.format(name, fields)

    def __repr__(self) -> str:
        return f"<{self.name} of {self.instruction.name}: {self.pattern}>"

    # --- what it looks like ---

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

    # --- both ways ---

    def locate(self, **coordinates: int) -> tuple[Location, ...]:
        """Where an element is: a tuple of `Location`, more than one when it is replicated.

        Args:
            coordinates: i, j, k and block. Those left out are 0; those that the operand lacks are ignored.

        Raises:
            Error: a coordinate is outside the operand, is no whole number, or is not called i, j, k or block.

        >>> import mmacalc
        >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
        >>> a.locate(i=3, k=9)
        (Location(lane=35, item=1, register=0, lsb=16, width=16),)
        """
        if unknown := [name for name in coordinates if name not in ("i", "j", "k", "block")]:
            raise Error(f"an element has no coordinate '{unknown[0]}'; its coordinates are i, j, k and block")
        coordinates = {name: _whole(name, value) for name, value in coordinates.items()}
        self._check(coordinates)
        merge = self.placement.merge
        places = {(self._lane(p), p[-1] // merge) for p in self.layout.locate(coordinates, self.placement.fields)}
        return tuple(self.slot(lane, item) for lane, item in sorted(places))

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
        whole = f"{self.name} of {self.instruction.name}"
        register, lane = _whole("register", register), _whole("lane", lane)
        if not 0 <= register < self.registers:
            raise Error(f"register = {register} is outside {whole}: it has registers 0 to {self.registers - 1}")
        if not 0 <= lane < self.lanes:
            raise Error(f"lane = {lane} is outside the wave: lanes are 0 to {self.lanes - 1}")
        found = []
        for item in self.items_in(register):
            first, last = self.bits_in(item, register)
            for row, col, block in self.elements(lane, item):
                found.append(Element(row, col, block, first, last - first + 1))
        return tuple(found)

    def table(self) -> NDArray[Any]:
        """Every element's location: a structured NumPy array with fields lane, item, register and lsb.

        Its shape is (rows, columns), with the blocks first when there are several, and the copies last when
        elements are replicated. Read a field as `table["lane"]`.
        """
        import numpy

        whole = numpy.zeros((1, 2), dtype=int)
        for axis in self.axes:
            whole = whole[..., None, :] + numpy.array(self.steps(axis))
        whole = whole[0, ..., None, :] + numpy.array(self.copies())
        lane, item = whole[..., 0], whole[..., 1] // self.placement.merge
        if self.placement.lanes:
            lane = numpy.array([self.placement.lanes(value) for value in range(self.lanes)])[lane]
        bit = item * self.placement.merge * self.placement.slot_bits + self.placement.offset
        columns = {"lane": lane, "item": item, "register": bit // 32, "lsb": bit % 32}
        result = numpy.empty(lane.shape, dtype=[(name, numpy.int32) for name in columns])
        for name, column in columns.items():
            result[name] = column
        result = result[..., 0] if result.shape[-1] == 1 else result
        return result[0] if self.axes[0] == "block" and self.shape[0] == 1 else result

    # --- slots, items and lanes ---

    def steps(self, axis: str) -> list[tuple[int, int]]:
        """What each value of a coordinate adds to the lane and to the slot of an element."""
        tables = self.layout.axis_tables().get(axis, {"lane": (0,), "item": (0,)})
        warps = tables.get("warp", (0,) * len(tables["lane"]))
        return [(lane + self.wave * warp, item) for lane, warp, item in zip(tables["lane"], warps, tables["item"])]

    def copies(self) -> list[tuple[int, int]]:
        """What selectors and replication add to the lane and slot: one pair for each copy of an element.

        The slots of one Location (see `Placement.merge`) count once.
        """
        offsets = self.layout.copy_offsets(self.placement.fields)[:: self.placement.merge]
        return [(self._unmapped(offset), offset[-1]) for offset in offsets]

    @property
    def lanes(self) -> int:
        """The number of lanes of the wave (for a warpgroup, of its four warps)."""
        return self.wave * self.layout.spans.get("warp", 1)

    def slot(self, lane: int, item: int) -> Location:
        """The Location of one item of one lane."""
        placement = self.placement
        bit = item * placement.merge * placement.slot_bits + placement.offset
        return Location(lane, item, bit // 32, bit % 32, placement.bits * placement.merge)

    def items_in(self, register: int) -> range:
        """The items that have bits in a register."""
        width = self.placement.slot_bits * self.placement.merge
        return range(32 * register // width, min(self.items, -(-32 * (register + 1) // width)))

    def bits_in(self, item: int, register: int) -> tuple[int, int]:
        """The first and last bit that an item has in a register; of a 64-bit item, 0 and 63."""
        location = self.slot(0, item)
        if location.width == 64:
            return 0, 63
        first = 32 * (location.register - register) + location.lsb
        return max(first, 0), min(first + location.width - 1, 31)

    def elements(self, lane: int, item: int) -> Iterator[tuple[int, int, int]]:
        """The (row, column, block) of every element at one item of one lane."""
        merge, lanes = self.placement.merge, self.placement.lanes
        sources = [lane] if lanes is None else [source for source in range(self.wave) if lanes(source) == lane]
        blocked = self.axes[0] == "block"
        for source in sources:
            for found in self.layout.contents(self._place(source, item * merge), self.placement.fields):
                yield (found[1], found[2], found[0]) if blocked else (found[0], found[1], 0)

    def _place(self, lane: int, item: int) -> tuple[int, ...]:
        return (lane // self.wave, lane % self.wave, item) if "warp" in self.layout.places else (lane, item)

    def _unmapped(self, place: tuple[int, ...]) -> int:
        """The lane of a place, counted over all warps, before BLGP."""
        return place[-2] + (self.wave * place[0] if len(place) == 3 else 0)

    def _lane(self, place: tuple[int, ...]) -> int:
        lane = self._unmapped(place)
        return self.placement.lanes(lane) if self.placement.lanes else lane

    def _check(self, coordinates: Mapping[str, int]) -> None:
        for axis, extent in zip(self.axes, self.shape):
            value = coordinates.get(axis, 0)
            if not 0 <= value < extent:
                raise Error(
                    f"{axis} = {value} is outside {self.name} of {self.instruction.name}: {axis} is 0 to {extent - 1}"
                )


class Instruction:
    """One matrix instruction of one architecture.

    Attributes:
        name, arch: the mnemonic and the architecture's canonical name; architecture: its record.
        m, n, k, blocks: the shape of one block, and how many blocks one instruction multiplies.
        formats: the format's name of each of A, B, C and D; that of SA and SB where there are scales. A name of
            `mmacalc.formats.CHOICES`, such as f8f6f4, is a choice that a field makes: see `format`.
        opcode, cycles: the opcode field, and how long the instruction occupies the unit; None if not known. Where
            the cycles depend on the formats (see `cycles_for`), they are those of the first format.
        valu_cycles: of those, how many can run VALU instructions; None if none can, or if that is unconfirmed.
        features: the words of the catalog line: sparse, cbsz, blgp, neg, opsel ...
        aliases, facts: other spellings, and whatever else the line says.
        provenance: how sure the line is: "unconfirmed" when any part of it is, see `provenance_of`.
    """

    # Its module is not called instruction.py because `mmacalc.instruction` is a function.
    __slots__ = (
        "aliases", "arch", "architecture", "blocks", "cycles", "facts", "features", "formats", "k", "m", "n",
        "name", "opcode", "provenance", "valu_cycles", "_operands", "_stated",
    )  # fmt: skip

    def __init__(
        self,
        architecture: Architecture,
        name: str,
        opcode: int | None,
        shape: tuple[int, int, int, int],
        formats: tuple[str, str, str, str] | Mapping[str, str],
        cycles: int | None = None,
        valu_cycles: int | None = None,
        features: str = "",
        aliases: tuple[str, ...] = (),
        provenance: str = "two sources agree",
        **facts: Any,
    ) -> None:
        self.architecture, self.arch, self.name, self.opcode = architecture, architecture.name, name, opcode
        self.m, self.n, self.k, self.blocks = shape
        self.formats = dict(formats) if isinstance(formats, dict) else dict(zip("ABCD", formats))
        if "scale" in features.split():
            self.formats |= dict.fromkeys(("SA", "SB"), facts.get("scale_format", "e8m0"))
        self.cycles, self.valu_cycles = cycles, valu_cycles
        self.features = tuple(features.split())
        self.aliases, self.facts, self._stated = aliases, facts, provenance
        self.provenance = "unconfirmed" if self.unconfirmed else provenance
        self._operands: dict[tuple[Any, ...], Operand] = {}
        self._check_row(shape)

    def _check_row(self, shape: tuple[int, ...]) -> None:
        where = f"catalog line of {self.name} ({self.arch})"
        if len(shape) != 4 or not all(isinstance(size, int) and size > 0 for size in shape):
            raise Error(f"{where}: the shape is {shape}; it should be four positive numbers M, N, K, blocks")
        if self._stated not in PROVENANCES:
            raise Error(f"{where}: provenance '{self._stated}' is not one of: {', '.join(PROVENANCES)}")
        for name in self.formats.values():
            named(CHOICES.get(name, (name,))[0])
        if self.architecture.vendor == "amd":
            for word in self.features:
                if word not in FEATURES:
                    hint = did_you_mean(word, FEATURES)
                    raise Error(f"{where}: unknown feature '{word}'.{hint} Known: {', '.join(FEATURES)}")

    def __repr__(self) -> str:
        return f"Instruction({self.arch!r}, {self.name!r})"

    # --- what follows from the line ---

    @property
    def sparse(self) -> bool:
        """Whether A is 2:4 sparse."""
        return "sparse" in self.features

    @property
    def operands(self) -> tuple[str, ...]:
        """The names of the operands: A B C D, or A B D K for a sparse AMD instruction; SA, SB for scales."""
        if "operands" in self.facts:
            named_operands: tuple[str, ...] = self.facts["operands"]
            return named_operands
        if self.sparse and self.architecture.vendor == "amd":
            return ("A", "B", "D", "K")
        return ("A", "B", "C", "D", "SA", "SB") if self.scaled else ("A", "B", "C", "D")

    @property
    def register_operands(self) -> tuple[str, ...]:
        """Those of `operands` whose elements have known places in registers (not B of wgmma, nor wmma fragments)."""
        elsewhere = self.facts.get("elsewhere", {})
        return tuple(name for name in self.operands if name not in elsewhere)

    @property
    def scaled(self) -> bool:
        """Whether blocks of k are multiplied by scales, the operands SA and SB."""
        return "scale" in self.features

    @property
    def flops(self) -> int:
        """Operations of one instruction: a multiplication and an addition for each of M N K in every block.

        0 for an instruction that only moves a matrix (ldmatrix).
        """
        return 0 if "move" in self.features else 2 * self.m * self.n * self.k * self.blocks

    @property
    def flops_per_unit_and_cycle(self) -> int:
        """Operations per cycle of one compute unit (CDNA) or workgroup processor (RDNA): four matrix units each.

        Raises:
            Error: the cycles are not known.
        """
        return self.throughput()

    def throughput(self, **modifiers: int | str) -> int:
        """The same under modifiers, which matter where the cycles depend on the formats.

        Raises:
            Error: the cycles are not known.

        >>> import mmacalc
        >>> mmacalc.instruction("mi355x", "v_mfma_f32_32x32x64_f8f6f4").throughput(cbsz="fp4", blgp="fp4")
        16384
        """
        cycles = self.cycles_for(**modifiers)
        if cycles is None:
            raise Error(f"the cycles of {self.name} on {self.architecture.title} are not known")
        return 4 * self.flops // cycles

    @property
    def integer(self) -> bool:
        """Whether the inputs are integers (so the counts are of operations, not of FLOPs)."""
        return "A" in self.formats and not self.format("A").is_float

    def format(self, operand: str, fields: Mapping[str, int | str] = {}) -> Format:
        """The number format of an operand's elements; K is a compression index.

        Args:
            operand: one of `operands`.
            fields: modifiers; they matter where a field chooses the format.

        Raises:
            Error: a field's value chooses no format.

        >>> import mmacalc
        >>> inst = mmacalc.instruction("gfx950", "v_mfma_f32_16x16x128_f8f6f4")
        >>> inst.format("A").name, inst.format("A", {"cbsz": 4}).name
        ('e4m3', 'e2m1')
        """
        if operand == "K":
            return named("index")
        name = self.formats[operand]
        if name in CHOICES:
            field = self.architecture.format_fields[operand]
            value = self.resolved(fields).get(field, 0)
            if not 0 <= value < len(CHOICES[name]):
                self.check_modifiers(None, {field: value})
            name = CHOICES[name][value]
        return named(name)

    @property
    def choices(self) -> dict[str, str]:
        """The fields that choose formats, each with the operand whose format it chooses."""
        fields = self.architecture.format_fields
        return {fields[operand]: operand for operand, name in self.formats.items() if name in CHOICES}

    def cycles_for(self, **modifiers: int | str) -> int | None:
        """How long the instruction occupies the unit under modifiers; None if not known.

        >>> import mmacalc
        >>> inst = mmacalc.instruction("gfx950", "v_mfma_f32_16x16x128_f8f6f4")
        >>> inst.cycles_for(cbsz="fp8", blgp="fp4"), inst.cycles_for(cbsz="fp6", blgp="fp4")
        (32, 16)
        """
        if "narrow_cycles" not in self.facts:
            return self.cycles
        fields = self.resolved(modifiers)
        widest, cycles = self.facts["narrow_cycles"]
        narrow = max(self.format("A", fields).bits, self.format("B", fields).bits) <= widest
        return cycles if narrow else self.cycles

    def valu_cycles_for(self, **modifiers: int | str) -> int | None:
        """Of `cycles_for`, how many can run VALU instructions; None if none can."""
        cycles = self.cycles_for(**modifiers)
        if self.valu_cycles is None or self.cycles is None or cycles is None:
            return None
        return self.valu_cycles - (self.cycles - cycles)

    # --- how sure it is ---

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """What about this instruction no second public source confirms: operands, "cycles" ..."""
        return (*self.facts.get("unconfirmed", ()), *self.architecture.facts.get("unconfirmed", ()))

    @property
    def notes(self) -> tuple[str, ...]:
        """What else a user should know: the architecture's notes on this instruction's features and formats."""
        about = {*self.features, *self.formats.values()}
        notes: dict[str, str] = self.architecture.facts.get("notes", {})
        why = self.facts.get("unconfirmed", ())
        doubts = [f"{part}: {why[part]}" for part in why] if isinstance(why, dict) else []
        return (*doubts, *(text for topic, text in notes.items() if topic in about))

    def provenance_of(self, part: str) -> str:
        """How sure one part is: an operand's layout, "cycles", "valu_cycles" or "arithmetic".

        >>> import mmacalc
        >>> inst = mmacalc.instruction("gfx1250", "v_wmma_f32_16x16x64_fp8_fp8")
        >>> inst.provenance_of("A"), inst.provenance_of("D"), inst.provenance_of("cycles")
        ('unconfirmed', 'two sources agree', 'unconfirmed')
        """
        if part in self.unconfirmed:
            return "unconfirmed"
        return "assumed" if part in self.architecture.facts.get("assumed", ()) else self._stated

    def format_names(self, operand: str) -> set[str]:
        """The names of the formats that an operand can have: several where a field chooses, and the choice's own."""
        name = self.formats.get(operand, "")
        return {name, *CHOICES.get(name, ())} - {""}

    # --- operands ---

    def operand(self, name: str, wave: int | None = None, **modifiers: int | str) -> Operand:
        """One operand under modifiers.

        Args:
            name: one of `operands`, in either case.
            wave: the wave size; the architecture's default if left out.
            modifiers: cbsz, abid, blgp, opsel, op_sel_hi, neg, neg_hi and the fields of `choices`: those that the
                instruction has. One that does not concern this operand is ignored. A field that chooses a format
                takes its number or the format's name (fp8, bf8, fp6, bf6, fp4).

        Raises:
            Error: no such operand, wave size or modifier, or a value out of range.

        >>> import mmacalc
        >>> mmacalc.instruction("cdna3", "v_mfma_f32_4x4x1_16b_f32").operand("A", cbsz=2, abid=1).pattern
        '(b bp) i () -> lane (b abid i), item ()'
        >>> mmacalc.instruction("gfx950", "v_mfma_f32_16x16x128_f8f6f4").operand("A", cbsz="fp6").registers
        6
        """
        upper = name.upper()
        if upper not in self.operands:
            raise Error(f"{self.name} has no operand '{name}'; it has {', '.join(self.operands)}")
        if upper not in self.register_operands:
            raise Error(f"{upper} of {self.name} {self.facts['elsewhere'][upper]}")
        key = (upper, wave, *sorted(modifiers.items()))
        if key not in self._operands:
            size = self.architecture.wave(wave)
            fields = self.resolved(modifiers)
            self.check_modifiers(size, fields)
            self._operands[key] = Operand(self, upper, size, {k: v for k, v in fields.items() if v})
        return self._operands[key]

    def modifier_limits(self, wave: int | None = None, cbsz: int = 0) -> dict[str, tuple[int, ...]]:
        """The modifiers that the instruction has, with the values that each may take.

        >>> import mmacalc
        >>> mmacalc.instruction("cdna3", "v_mfma_f32_32x32x4_2b_f16").modifier_limits(cbsz=1)["abid"]
        (0, 1)
        """
        limits: dict[str, tuple[int, ...]] = {}
        if "cbsz" in self.features:
            most = 3 if self.sparse else min(4, self.blocks.bit_length() - 1)
            limits["cbsz"] = tuple(range(most + 1))
            blocks = 1 << max(0, min(cbsz, most))
            limits["abid"] = tuple(range(self._index_choices(wave) if self.sparse else blocks))
        if "blgp" in self.features:
            limits["blgp"] = tuple(range(8))
        for field, operand in self.choices.items():
            limits[field] = tuple(range(len(CHOICES[self.formats[operand]])))
        if "opsel" in self.features:
            limits["opsel"] = tuple(range(self.index_sets(wave))) if self.sparse else (0, 4)
        for field in self.architecture.facts.get("scale_fields", ()) if self.scaled else ():
            limits[field] = tuple(range(self.architecture.facts["scale_fields"][field]))
        if "neg" in self.features:
            limits["neg"] = tuple(range(4 if self.integer else 8))
            limits["neg_hi"] = (0,) if self.integer or self.format("A").bits > 16 else tuple(range(8))
        if "neg_c" in self.features:
            limits["neg"] = limits["neg_hi"] = (0, 4)
        return {**limits, **rule_fields(self)}

    def index_sets(self, wave: int | None = None) -> int:
        """How many sets of compression indices fit in the index register (1 for a dense instruction)."""
        if "K" not in self.operands:
            return 1
        return place(self, "K", self.architecture.wave(wave), {}).layout.sizes["set"]

    def _index_choices(self, wave: int | None) -> int:
        """The values of ABID that a sparse instruction takes: all 16 where one set fills the register, since the
        hardware then ignores the field (CDNA4 ISA guide, section 7.5, "Sparse Index Select")."""
        sets = self.index_sets(wave)
        return sets if sets > 1 else 16

    def resolved(self, modifiers: Mapping[str, int | str]) -> dict[str, int]:
        """Modifiers under this architecture's names for them, with formats turned into the field's numbers.

        CBSZ and BLGP are accepted for MATRIX_A_FMT and MATRIX_B_FMT where the instruction leaves its formats to
        fields, and the other way round; op_sel and index_key for opsel.

        Raises:
            Error: a name is not a format that the field offers, or a modifier is given twice.

        >>> import mmacalc
        >>> mmacalc.instruction("gfx1250", "v_wmma_f32_16x16x128_f8f6f4").resolved({"cbsz": "fp4"})
        {'matrix_a_fmt': 4}
        """
        synonyms, choices = dict(SYNONYMS), self.choices
        for field, operand in choices.items():
            synonyms |= dict.fromkeys(FORMAT_SYNONYMS.get(operand, ()), field)
        result: dict[str, int] = {}
        for given, value in modifiers.items():
            name = synonyms.get(given, given)
            if name in result and result[name] != value:
                raise Error(f"{name} of {self.name} is given twice: {result[name]} and {value}")
            if isinstance(value, str):
                if name not in choices:
                    raise Error(f"{given} = '{value}' should be a number: {self.name} has no formats to choose by it")
                value = chosen(self.formats[choices[name]], value)
            result[name] = _whole(given, value)
        return result

    def check_modifiers(self, wave: int | None, modifiers: Mapping[str, int]) -> None:
        """Refuse modifiers that the instruction lacks and values that it does not take.

        Raises:
            Error: says which modifier, what it was given, and what it may be.
        """
        limits = self.modifier_limits(wave, modifiers.get("cbsz", 0))
        known = dict.fromkeys((*KNOWN_MODIFIERS, *limits))
        for name, value in modifiers.items():
            if name not in known:
                raise Error(f"there is no modifier '{name}'.{did_you_mean(name, known)} Known: {', '.join(known)}")
            if value and name not in limits:
                has = f"its modifiers are {', '.join(limits)}" if limits else "it has no modifiers"
                raise Error(f"{self.name} on {self.architecture.title} has no {name.upper()}; {has}")
            if value and value not in limits[name]:
                on = self._on(name, wave, modifiers)
                raise Error(f"{name.upper()} of {self.name}{on} is {self._spoken(name, limits[name])}; got {value}")

    def _on(self, field: str, wave: int | None, modifiers: Mapping[str, int]) -> str:
        """What else decides which values a field takes, as a message says it."""
        if field == "abid" and not self.sparse:
            return f" with CBSZ {modifiers.get('cbsz', 0)}"
        if field == "opsel" and self.sparse and len(self.architecture.waves) > 1:
            return f" in wave{self.architecture.wave(wave)}"
        return ""

    def _spoken(self, field: str, values: tuple[int, ...]) -> str:
        """The values of a field as a message says them, with the formats that they choose."""
        if field not in self.choices:
            return _spoken(values)
        names = CHOICES[self.formats[self.choices[field]]]
        return ", ".join(f"{value} ({named(name).title.split()[0].lower()})" for value, name in zip(values, names))

    # --- arithmetic, which lives in a room above this one and so is bound by name when it is first used ---

    @property
    def numerics(self) -> Any:
        """How the instruction computes, a `mmacalc.emulator.Numerics`: model, parameters, provenance, source and an
        explanation in words.

        >>> import mmacalc
        >>> found = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").numerics
        >>> found.model, found.provenance
        ('R', 'two sources agree')
        """
        return import_module("mmacalc.emulator").numerics(self)

    def multiply(self, a: ArrayLike, b: ArrayLike, c: ArrayLike = 0, **modifiers: Any) -> NDArray[Any]:
        """D = A B + C on values, as the hardware rounds it: see `mmacalc.emulator.multiply`."""
        result: NDArray[Any] = import_module("mmacalc.emulator").multiply(self, a, b, c, **modifiers)
        return result

    def multiply_bits(self, a: ArrayLike, b: ArrayLike, c: ArrayLike = 0, **modifiers: Any) -> NDArray[Any]:
        """D = A B + C on raw encodings: see `mmacalc.emulator.multiply_bits`."""
        result: NDArray[Any] = import_module("mmacalc.emulator").multiply_bits(self, a, b, c, **modifiers)
        return result

    def execute(self, a: ArrayLike, b: ArrayLike, c: ArrayLike = 0, **modifiers: Any) -> NDArray[np.uint32]:
        """D = A B + C on register files: see `mmacalc.emulator.execute`."""
        result: NDArray[np.uint32] = import_module("mmacalc.emulator").execute(self, a, b, c, **modifiers)
        return result


def _whole(name: str, value: Any) -> int:
    """A number that a user gave, as an int; NumPy's integers are welcome.

    Raises:
        Error: it is no whole number.
    """
    try:
        return index(value)
    except TypeError:
        raise Error(f"{name} = {value!r} should be a whole number") from None


def _spoken(values: tuple[int, ...]) -> str:
    if len(values) > 2 and values[-1] - values[0] == len(values) - 1:
        return f"{values[0]} to {values[-1]}"
    return " or ".join(map(str, values))
