"""Instruction: one matrix instruction of one architecture."""

from __future__ import annotations

from ..base.checks import argument_class, arguments_checked, require_int
from ..base.errors import Error, did_you_mean
from ..base.records import Cache, Record, cached_property, json_keys
from ..formats import CHOICES, FORMATS, chosen, named
from .actions import Actions
from .architecture import PROVENANCES, Architecture
from .operand import Operand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from ..families import Placement
    from ..formats import Format
    from ..layout import Layout
    from .tile import Tile

__all__ = ["canonical_modifiers", "check_modifiers", "Instruction", "modifier_ranges"]

# Operands that were made before, one for each combination of modifiers; not in the records, which are immutable.
# Keyed by the id of the instruction, which stays its own as long as one of its operands is kept here.
_operands = Cache(1 << 11)


@json_keys(
    "architecture=arch: the canonical name, such as cdna3",
    "instruction=name",
    "aliases",
    "m",
    "n",
    "k",
    "blocks",
    "formats: the number format of each operand, by its letter; of operands whose format a field chooses, the choice",
    "sparse",
    "opcode",
    "cycles: how long the matrix unit is busy; null where unpublished",
    "operations=flops: 2 M N K, times the blocks; 0 if it only moves a matrix",
    "provenance",
    "unconfirmed: operands and numbers that only one public source has",
)
class Instruction(Record, Actions):
    """One matrix instruction of one architecture.

    Attributes:
        architecture: its record; name: the mnemonic.
        blocks: how many blocks one instruction multiplies; m, n, k: the shape of one.
        formats: the format's name of each of A, B, C and D; that of SA and SB where there are scales. A name of
            `mmacalc.formats.CHOICES`, such as f8f6f4, is a choice that a field makes: see `format`.
        opcode: the opcode field; prefix_opcode: that of the first half of a 16-byte encoding; None if there is none.
        cycles: how long the instruction occupies the matrix unit; None if not known.
        narrow_cycles: (bits, cycles): the cycles if A and B both have at most that many bits; see `cycles_for`.
        wait_cycles: (cycles, narrow_cycles) by which wait states count, where those are not the two above.
        valu_cycles: of `cycles`, how many can run VALU instructions; None if none can, or if that is unconfirmed.
        features: sparse, scale, cbsz, blgp, neg, opsel ...
        block_size: how many consecutive k one scale multiplies; 0 without scales.
        since_llvm: the first LLVM version that assembles it, where that is not the oldest of `mmacalc.asm.targets`.
        aliases: other spellings.
        unconfirmed_parts: those that no second public source confirms, each with the reason ("" if none is recorded).
        row_provenance: how sure the rest is.
        outside_registers: operands that are not in registers, or whose layout is unspecified, each with a sentence.

    PTX instructions also have:
        ptx: the PTX ISA version; targets: the compilation targets that have it; kind: as in .kind::f8f6f4;
        layouts: the row and col qualifiers; rounding, bit_operation: those qualifiers; scale_vec: scales per row;
        moves: "ldmatrix", "stmatrix" or "movmatrix"; fragment_registers: registers of wmma fragments.
    """

    architecture: Architecture
    name: str
    m: int
    n: int
    k: int
    blocks: int
    formats: Mapping[str, str]
    opcode: int | None = None
    cycles: int | None = None
    valu_cycles: int | None = None
    features: tuple[str, ...] = ()
    narrow_cycles: tuple[int, int] | None = None
    wait_cycles: tuple[int, tuple[int, int] | None] | None = None
    block_size: int = 0
    prefix_opcode: int | None = None
    since_llvm: int = 0
    aliases: tuple[str, ...] = ()
    row_provenance: str = "two sources agree"
    unconfirmed_parts: Mapping[str, str] = {}
    outside_registers: Mapping[str, str] = {}
    explicit_operands: tuple[str, ...] = ()
    ptx: str = ""
    targets: tuple[str, ...] = ()
    kind: str = ""
    layouts: tuple[str, ...] = ()
    rounding: str = ""
    bit_operation: str = ""
    scale_vec: int = 0
    moves: str = ""
    fragment_registers: Mapping[str, int] = {}

    in_tensor_memory = False  # whether its operands are in Tensor Memory: see `mmacalc.model.tensor_memory`

    def _check(self) -> None:
        for problem in self._problems():
            raise Error(f"catalog line of {self.name} ({self.architecture.name}): {problem}")

    def __hash__(self) -> int:
        return hash((self.architecture.name, self.name))

    @property
    def arch(self) -> str:
        """The architecture's canonical name."""
        return self.architecture.name

    @cached_property
    def sparse(self) -> bool:
        """Whether A is 2:4 sparse."""
        return "sparse" in self.features

    @cached_property
    def scaled(self) -> bool:
        """Whether blocks of k are multiplied by scales, the operands SA and SB."""
        return "scale" in self.features

    @cached_property
    def operands(self) -> tuple[str, ...]:
        """The names of the operands: A B C D, or A B D K for a sparse AMD instruction; SA, SB for scales."""
        return self.architecture.family.operands(self)

    @cached_property
    def register_operands(self) -> tuple[str, ...]:
        """Those of `operands` whose elements have known places in registers (not B of wgmma, nor wmma fragments)."""
        return tuple([name for name in self.operands if name not in self.outside_registers])

    @property
    def given_shape(self) -> str:
        """The shape as a message says it, where it is a parameter of the instruction; else ""."""
        return ""

    @property
    def modelled_as(self) -> str:
        """What its arithmetic is assumed to be like, where no model is about this very form; else ""."""
        return ""

    def placement(self, operand: str, wave: int, fields: Mapping[str, int]) -> Placement:
        """Where an operand is, as its family lays it out.

        >>> import mmacalc
        >>> mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").placement("A", 64, {}).slot_bits
        16
        """
        return self.architecture.family.place(self, operand, wave, fields)

    @property
    def drawn_operands(self) -> tuple[str, ...]:
        """Those of `operands` that have pictures."""
        return self.register_operands

    @cached_property
    def unconfirmed(self) -> tuple[str, ...]:
        """What about this instruction no second public source confirms: operands, "cycles" ..."""
        return (*self.unconfirmed_parts, *self.architecture.unconfirmed)

    @cached_property
    def provenance(self) -> str:
        """How sure the record is: "unconfirmed" when any part of it is, see `provenance_of`."""
        return "unconfirmed" if self.unconfirmed else self.row_provenance

    def _problems(self) -> Iterator[str]:
        shape = (self.m, self.n, self.k, self.blocks)
        if not all(isinstance(size, int) and size > 0 for size in shape):
            yield f"the shape is {shape}; it should be four positive numbers M, N, K, blocks"
        if self.row_provenance not in PROVENANCES:
            yield f"provenance '{self.row_provenance}' is not one of: {', '.join(PROVENANCES)}"
        for name in self.formats.values():
            if name not in FORMATS and name not in CHOICES:
                yield f"the format '{name}' is called '{named(name).name}' here"
        known = (*self.architecture.family.features, "sparse", "scale")
        for word in self.features:
            if word not in known:
                yield f"unknown feature '{word}'.{did_you_mean(word, known)} Known: {', '.join(known)}"
        bits = self.architecture.family.opcode_bits
        for field in ("opcode", "prefix_opcode") if bits else ():
            value = getattr(self, field)
            optional = field == "prefix_opcode" and value is None
            if not optional and not (isinstance(value, int) and 0 <= value < 1 << bits):
                yield f"the {field} is {value!r}; it should be a number below {1 << bits}"
        yield from self._cycle_problems()
        if ("scale" in self.features) != bool(self.block_size) or (self.block_size and self.k % self.block_size):
            yield f"an instruction with scales has a block_size that divides k = {self.k}; got {self.block_size}"

    def _cycle_problems(self) -> Iterator[str]:
        cycles, valu = self.cycles, self.valu_cycles
        if cycles is not None and not (isinstance(cycles, int) and cycles > 0):
            yield f"the cycles are {cycles!r}; they should be a positive number, or None if not known"
        elif valu is not None and not (isinstance(valu, int) and cycles is not None and 0 < valu < cycles):
            yield f"the VALU co-execution cycles are {valu!r}; they should be between 0 and the cycles ({cycles})"
        if self.narrow_cycles is not None:
            bits, narrow = self.narrow_cycles
            if cycles is None or not 0 < narrow < cycles or not 0 < bits <= 64:
                yield f"narrow_cycles are {self.narrow_cycles}; they should be (bits, fewer cycles than {cycles})"

    def __repr__(self) -> str:
        return f"mmacalc.instruction({self.arch!r}, {self.name!r})"

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

    @arguments_checked
    def throughput(self, **modifiers: int | str) -> int:
        """The same under modifiers, which matter where the cycles depend on the formats.

        Raises:
            Error: the cycles are not known.

        >>> import mmacalc
        >>> mmacalc.instruction("mi355x", "v_mfma_f32_32x32x64_f8f6f4").throughput(cbsz="fp4", blgp="fp4")
        16384
        """
        self.check_modifiers(None, self.resolved(modifiers))
        cycles = self.cycles_for(**modifiers)
        if cycles is None:
            raise Error(f"the cycles of {self.name} on {self.architecture.title} are not known")
        return 4 * self.flops // cycles

    @property
    def integer(self) -> bool:
        """Whether the inputs are integers (so the counts are of operations, not of FLOPs)."""
        return "A" in self.formats and not self.format_of("A").is_float

    @arguments_checked
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
        chosen = canonical_modifiers(self, fields) if self.formats.get(operand) in CHOICES else {}
        return self.format_of(operand, chosen)

    def format_of(self, operand: str, fields: Mapping[str, int] = {}) -> Format:
        """What `format` gives for fields as `resolved` gives them.

        Raises:
            Error: as `format`.

        >>> import mmacalc
        >>> mmacalc.instruction("gfx950", "v_mfma_f32_16x16x128_f8f6f4").format_of("A", {"cbsz": 4}).name
        'e2m1'
        """
        if operand != "K" and operand not in self.formats:
            raise Error(f"{self.name} has no operand {operand!r}; it has {', '.join(self.operands)}")
        name = self.formats.get(operand, "index")
        if name in CHOICES:
            field = self.architecture.format_fields[operand]
            value = fields.get(field, 0)
            if not 0 <= value < len(CHOICES[name]):
                check_modifiers(self, None, {field: value})
            name = CHOICES[name][value]
        return FORMATS[name]

    @property
    def choices(self) -> dict[str, str]:
        """The fields that choose formats, each with the operand whose format it chooses."""
        fields = self.architecture.format_fields
        return {fields[operand]: operand for operand, name in self.formats.items() if name in CHOICES}

    @arguments_checked
    def cycles_for(self, **modifiers: int | str) -> int | None:
        """How long the instruction occupies the unit under modifiers; None if not known.

        >>> import mmacalc
        >>> inst = mmacalc.instruction("gfx950", "v_mfma_f32_16x16x128_f8f6f4")
        >>> inst.cycles_for(cbsz="fp8", blgp="fp4"), inst.cycles_for(cbsz="fp6", blgp="fp4")
        (32, 16)
        """
        if self.narrow_cycles is None:
            return self.cycles
        fields = self.resolved(modifiers)
        widest, cycles = self.narrow_cycles
        narrow = max(self.format_of("A", fields).bits, self.format_of("B", fields).bits) <= widest
        return cycles if narrow else self.cycles

    @arguments_checked
    def valu_cycles_for(self, **modifiers: int | str) -> int | None:
        """Of `cycles_for`, how many can run VALU instructions; None if none can.

        >>> import mmacalc
        >>> mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").valu_cycles_for()
        12
        """
        cycles = self.cycles_for(**modifiers)
        if self.valu_cycles is None or self.cycles is None or cycles is None:
            return None
        return self.valu_cycles - (self.cycles - cycles)

    @property
    def notes(self) -> tuple[str, ...]:
        """What else a user should know: the architecture's notes on this instruction's features and formats."""
        about = {*self.features, *self.formats.values()}
        doubts = [f"{part}: {why}" for part, why in self.unconfirmed_parts.items() if why]
        return (*doubts, *(text for topic, text in self.architecture.notes.items() if topic in about))

    @arguments_checked
    def provenance_of(self, part: str) -> str:
        """How sure one part is: an operand's layout, "cycles", "valu_cycles" or "arithmetic".

        >>> import mmacalc
        >>> inst = mmacalc.instruction("gfx1250", "v_wmma_f32_16x16x64_fp8_fp8")
        >>> inst.provenance_of("A"), inst.provenance_of("D"), inst.provenance_of("cycles")
        ('unconfirmed', 'hardware-verified', 'unconfirmed')
        """
        if part in self.unconfirmed:
            return "unconfirmed"
        kind = "sparse" if self.sparse else "scale" if self.scaled else "dense"
        tested = self.architecture.layouts_on_hardware.get(kind, ())
        if part in self.operands and self.formats.get("A") in tested:
            return "hardware-verified"
        return "assumed" if part in self.architecture.assumed else self.row_provenance

    @arguments_checked
    def format_names(self, operand: str) -> set[str]:
        """The names of the formats that an operand can have: several where a field chooses, and the choice's own.

        >>> import mmacalc
        >>> sorted(mmacalc.instruction("cdna4", "v_mfma_f32_16x16x128_f8f6f4").format_names("A"))
        ['e2m1', 'e2m3', 'e3m2', 'e4m3', 'e5m2', 'f8f6f4']
        """
        name = self.formats.get(operand, "")
        return {name, *CHOICES.get(name, ())} - {""}

    @arguments_checked
    def operand(self, name: str, wave: int | None = None, **modifiers: int | str) -> Operand:
        """One operand under modifiers.

        Args:
            name: one of `operands`, case-insensitive.
            wave: the wave size; the architecture's default if left out.
            modifiers: cbsz, abid, blgp, opsel, op_sel_hi, neg, neg_hi and the fields of `choices`: those that the
                instruction has. One that has no effect on this operand is ignored. A field that chooses a format
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
            raise Error(f"{upper} of {self.name} {self.outside_registers[upper]}")
        key = (id(self), upper, wave, *sorted(modifiers.items()))
        operand: Operand = _operands.get(key, lambda: self._operand(upper, wave, modifiers))
        return operand

    def _operand(self, name: str, wave: int | None, modifiers: Mapping[str, int | str]) -> Operand:
        size = self.architecture.wave(wave)
        fields = canonical_modifiers(self, modifiers)
        check_modifiers(self, size, fields)
        return Operand(self, name, size, {field: value for field, value in fields.items() if value})

    @arguments_checked
    def tile(  # noqa: PLR0913
        self,
        waves: Sequence[int] = (1, 1, 1),
        repeat: Sequence[int] = (1, 1, 1),
        *,
        adjacent: Sequence[int] = (1, 1, 1),
        repeat_order: str = "mnk",
        wave_order: str = "mnk",
        permutation: Any = None,
        arrangement: Layout | None = None,
        wave: int | None = None,
    ) -> Tile:
        """The instruction repeated over waves and by each wave, whose operands say where each element is.

        Args:
            waves, repeat: how many waves, and how many instructions of each, along m, n and (1 if left out) k. CuTe's
                atom layout (2, 2, 1) is waves=(2, 2); Triton's warpsPerCTA [2, 2] too, with wave_order="nmk".
            adjacent: how many of a wave's instructions are neighbours; the waves alternate around them (Triton's
                tilesPerWarp). As many as `repeat` gives each wave one contiguous part.
            repeat_order, wave_order: m, n, k, the fastest first, of a wave's instructions and of the waves.
            permutation: by m, n and k a CuTe layout (or its text) as in CuTe's permutation_mnk.
            arrangement: in place of all the above, a layout from m, n and k to wave and instruction.
            wave: the wave size; the architecture's default if left out.

        Raises:
            Error: a count, order, permutation or arrangement that cannot be; an instruction that does not multiply, or
                whose operands are in Tensor Memory.

        >>> import mmacalc
        >>> tile = mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16").tile((2, 2), (2, 2))
        >>> tile.shape, tile.operand("A").pattern
        ((128, 128, 8), '(rm wm i) (g e) -> wave (*wn wm), lane (g i), item (rm e)')
        """
        from ..layout.cute import CuteLayout
        from .tile import Tile, arranged

        if arrangement is None:
            arrangement = arranged(waves, repeat, adjacent, repeat_order, wave_order)
        given = permutation or {}
        if not hasattr(given, "items") or not set(given) <= {"m", "n", "k"}:
            raise Error("permutation has a layout for each of m, n or k, such as {'n': '(8,2,2):(1,16,8)'}")
        read = {axis: CuteLayout.parse(one) if isinstance(one, str) else one for axis, one in given.items()}
        if wrong := [axis for axis, one in read.items() if not isinstance(one, CuteLayout)]:
            raise Error(f"the permutation of {wrong[0]} is a CuteLayout or its text")
        return Tile(self, self.architecture.wave(wave), arrangement, read)

    @arguments_checked
    def modifier_limits(self, wave: int | None = None, cbsz: int = 0) -> dict[str, tuple[int, ...]]:
        """The modifiers that the instruction has, with the values that each may take.

        >>> import mmacalc
        >>> mmacalc.instruction("cdna3", "v_mfma_f32_32x32x4_2b_f16").modifier_limits(cbsz=1)["abid"]
        (0, 1)
        """
        return modifier_ranges(self, wave, cbsz)

    @arguments_checked
    def index_sets(self, wave: int | None = None) -> int:
        """How many sets of compression indices fit in the index register (1 for a dense instruction).

        >>> import mmacalc
        >>> mmacalc.instruction("cdna3", "v_smfmac_f32_16x16x32_f16").index_sets()
        4
        """
        if "K" not in self.operands:
            return 1
        sizes = self.placement("K", self.architecture.wave(wave), {}).layout.sizes
        return sizes["set"] if "set" in sizes else len(self.modifier_limits(wave).get("selector", "0"))

    @arguments_checked
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
        return canonical_modifiers(self, modifiers)

    def split_parameters(self, modifiers: Mapping[str, Any]) -> tuple[Instruction, dict[str, Any]]:
        """The instruction with the shape and types that are among modifiers, and the other modifiers.

        Args:
            modifiers: of tcgen05 also m, n, k, a, b, d, scale; see `TensorMemoryInstruction.shaped`.

        >>> import mmacalc
        >>> mma, rest = mmacalc.instruction("B200", "tcgen05.mma.cta_group::1.kind::f16").split_parameters({"m": 64})
        >>> mma.m, rest
        (64, {})
        """
        return self, dict(modifiers)

    @arguments_checked
    def check_modifiers(self, wave: int | None, modifiers: Mapping[str, int]) -> None:
        """Refuse modifiers that the instruction lacks and values that it does not take.

        Raises:
            Error: says which modifier, what it was given, and what it may be.

        >>> import mmacalc
        >>> mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").check_modifiers(64, {"cbsz": 1})
        Traceback (most recent call last):
        mmacalc.base.errors.Error: v_mfma_f32_16x16x16_f16 on CDNA3 has no CBSZ; it has no modifiers
        """
        check_modifiers(self, wave, modifiers)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What a notebook shows: the picture, where there is one."""
        plain = {"text/plain": repr(self)}
        return {**plain, "image/svg+xml": self.draw().svg} if self.register_operands else plain


argument_class(Instruction)


# --- Which modifiers an instruction has, under which names, and which values they take ---
#
# `Instruction.modifier_limits`, `.resolved` and `.check_modifiers` are implemented here. What the fields do to a
# layout is in `mmacalc.families`. Names are those of the encodings' fields.


# Other spellings of modifiers: those of assembly text.
SYNONYMS = {"op_sel": "opsel", "opsel_hi": "op_sel_hi", "neg_lo": "neg", "index_key": "opsel"}
FORMAT_SYNONYMS = {"A": ("cbsz", "matrix_a_fmt"), "B": ("blgp", "matrix_b_fmt")}
BESIDE = ("clamp", "satfinite", "wave", "index", "scale_a", "scale_b")  # arguments of multiply that are none
SCALE_ROWS = ("MATRIX_SCALE_ROW0", "MATRIX_SCALE_ROW1")  # LLVM's names of the values of matrix_a_scale
KNOWN_MODIFIERS = (
    "cbsz", "abid", "blgp", "opsel", "op_sel_hi", "neg", "neg_hi",
    "selector", "byte_id_a", "thread_id_a", "byte_id_b", "thread_id_b",
)  # fmt: skip


def modifier_ranges(instruction: Instruction, wave: int | None, cbsz: int) -> dict[str, tuple[int, ...]]:
    """The modifiers that an instruction has, with the values that each may take: see `Instruction.modifier_limits`."""
    values: dict[str, tuple[int, ...]] = {}
    if "cbsz" in instruction.features:
        most = 3 if instruction.sparse else instruction.blocks.bit_length() - 1
        values["cbsz"] = tuple(range(most + 1))
        blocks = 1 << max(0, min(cbsz, most))
        values["abid"] = tuple(range(_index_choices(instruction, wave, cbsz) if instruction.sparse else blocks))
    if "blgp" in instruction.features:
        values["blgp"] = tuple(range(8))
    for field, operand in instruction.choices.items():
        values[field] = tuple(range(len(CHOICES[instruction.formats[operand]])))
    if "opsel" in instruction.features:
        values["opsel"] = tuple(range(instruction.index_sets(wave))) if instruction.sparse else (0, 4)
    for field in instruction.architecture.scale_fields if instruction.scaled else ():
        values[field] = tuple(range(instruction.architecture.scale_fields[field]))
    if "neg" in instruction.features:
        values["neg"] = tuple(range(4 if instruction.integer else 8))
        of_c = (0,) if instruction.integer else (0, 4)  # an element that fills a register has no upper half
        values["neg_hi"] = tuple(range(8)) if of_c[1:] and instruction.format_of("A").bits == 16 else of_c
    if "neg_c" in instruction.features:
        values["neg"] = values["neg_hi"] = (0, 4)
    return {**values, **instruction.architecture.family.fields(instruction)}


def _index_choices(instruction: Instruction, wave: int | None, cbsz: int) -> int:
    """How many values of ABID a sparse instruction takes: all 16 where the hardware ignores the field, since one set
    fills the register or CBSZ[1:0] is not 0 (CDNA4 ISA guide, section 7.5, "Sparse Index Select"; AMD's hip-fpsan runs
    CBSZ 1 with ABID 3 on gfx950, and LLVM takes any)."""
    sets = instruction.index_sets(wave)
    return sets if sets > 1 and not cbsz else 16


def canonical_modifiers(instruction: Instruction, modifiers: Mapping[str, int | str]) -> dict[str, int]:
    """Modifiers under the architecture's names for them, as numbers: see `Instruction.resolved`."""
    if not modifiers:
        return {}
    synonyms, choices = dict(SYNONYMS), instruction.choices
    if "blgp" in instruction.features and instruction.formats["A"] == "f64":
        synonyms |= {"neg": "blgp", "neg_lo": "blgp"}  # LLVM's assembly has neg:[1,0,1] for blgp:5
    for field, operand in choices.items():
        synonyms |= dict.fromkeys(FORMAT_SYNONYMS.get(operand, ()), field)
    result: dict[str, int] = {}
    for given, value in modifiers.items():
        name = synonyms.get(given, given)
        if isinstance(value, str) and value.upper() in SCALE_ROWS and name in instruction.architecture.scale_fields:
            value = SCALE_ROWS.index(value.upper())
        elif isinstance(value, str):
            if name not in choices:
                rows = f" or {' or '.join(SCALE_ROWS)}" if name in instruction.architecture.scale_fields else ""
                why = f": {instruction.name} has no formats to choose by it" if not rows else ""
                raise Error(f"{given} = '{value}' should be a number{rows}{why}")
            value = chosen(instruction.formats[choices[name]], value)
        number = require_int(given, value)
        if result.setdefault(name, number) != number:
            raise Error(f"{name} of {instruction.name} is given twice: {result[name]} and {number}")
    return result


def check_modifiers(instruction: Instruction, wave: int | None, modifiers: Mapping[str, int]) -> None:
    """Refuse modifiers that an instruction lacks, and values out of range: see `Instruction.check_modifiers`."""
    if not modifiers:
        return
    allowed = instruction.modifier_limits(wave, modifiers.get("cbsz", 0))
    known = dict.fromkeys((*KNOWN_MODIFIERS, *allowed))
    for name, value in modifiers.items():
        if fixed := instruction.architecture.family.fixed_modes.get(name):
            raise Error(fixed.format(name=instruction.name))
        if name not in known:
            hint = did_you_mean(name, (*known, *BESIDE))
            raise Error(f"unknown modifier '{name}'.{hint} Known: {', '.join(known)}", kind="unknown name")
        if value and name not in allowed:
            has = f"its modifiers are {', '.join(allowed)}" if allowed else "it has no modifiers"
            raise Error(f"{instruction.name} on {instruction.architecture.title} has no {name.upper()}; {has}")
        if value and value not in allowed[name]:
            whose = f"{instruction.name}{_on(instruction, name, wave, modifiers)}"
            allowed_text = _values_text(instruction, name, allowed[name])
            raise Error(f"{name.upper()} of {whose} is {allowed_text}; got {value}")


def _on(instruction: Instruction, field: str, wave: int | None, modifiers: Mapping[str, int]) -> str:
    """What else decides which values a field takes, as a message says it."""
    if field == "abid" and not instruction.sparse:
        return f" with CBSZ {modifiers.get('cbsz', 0)}"
    if field == "opsel" and instruction.sparse and len(instruction.architecture.waves) > 1:
        return f" in wave{instruction.architecture.wave(wave)}"
    return ""


def _values_text(instruction: Instruction, field: str, values: tuple[int, ...]) -> str:
    """The values of a field as a message says them, with the formats that they choose."""
    if field not in instruction.choices:
        return _range_text(values)
    names = CHOICES[instruction.formats[instruction.choices[field]]]
    return ", ".join(f"{value} ({named(name).title.split()[0].lower()})" for value, name in zip(values, names))


def _range_text(values: tuple[int, ...]) -> str:
    if len(values) > 2 and values[-1] - values[0] == len(values) - 1:
        return f"{values[0]} to {values[-1]}"
    return " or ".join(map(str, values))
