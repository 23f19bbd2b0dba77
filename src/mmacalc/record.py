"""Architecture, Instruction and Operand: the records that every question is put to.

An `Instruction` is made from one line of a catalog file and checked as it is made. An `Operand` is one of its
matrices under given modifiers, on a given wave size: it answers where an element is and what a register holds;
its code is in `mmacalc.operand`.
"""

from __future__ import annotations

from importlib import import_module

from . import modifier_checks
from .checks import arguments_checked
from .errors import Error, did_you_mean
from .formats import CHOICES, named
from .operand import Element, Location, Operand
from .rules import place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from .formats import Format

__all__ = ["Architecture", "Element", "Instruction", "Location", "Operand"]

MOST_OPERANDS = 64
"""Operands that an instruction keeps, one for each combination of modifiers that was asked for."""

# What an AMD catalog line may have among its features; those of other vendors are the business of their rules.
FEATURES = ("sparse", "cbsz", "blgp", "opsel", "neg", "neg_c", "scale")
PROVENANCES = ("hardware-verified", "two sources agree", "one source", "unconfirmed", "assumed")


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

    @arguments_checked
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
        return "A" in self.formats and not self.format("A").is_float

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
        if operand == "K":
            return named("index")
        if operand not in self.formats:
            raise Error(f"{self.name} has no operand {operand!r}; it has {', '.join(self.operands)}")
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

    @arguments_checked
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
        tested = self.architecture.facts.get("layouts_on_hardware", {}).get(kind, ())
        if part in self.operands and self.formats.get("A") in tested:
            return "hardware-verified"
        return "assumed" if part in self.architecture.facts.get("assumed", ()) else self._stated

    def format_names(self, operand: str) -> set[str]:
        """The names of the formats that an operand can have: several where a field chooses, and the choice's own."""
        name = self.formats.get(operand, "")
        return {name, *CHOICES.get(name, ())} - {""}

    # --- operands ---

    @arguments_checked
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
            if len(self._operands) >= MOST_OPERANDS:  # so that a batch without end takes no memory without end
                self._operands.clear()
            self._operands[key] = Operand(self, upper, size, {k: v for k, v in fields.items() if v})
        return self._operands[key]

    @arguments_checked
    def modifier_limits(self, wave: int | None = None, cbsz: int = 0) -> dict[str, tuple[int, ...]]:
        """The modifiers that the instruction has, with the values that each may take.

        >>> import mmacalc
        >>> mmacalc.instruction("cdna3", "v_mfma_f32_32x32x4_2b_f16").modifier_limits(cbsz=1)["abid"]
        (0, 1)
        """
        return modifier_checks.limits(self, wave, cbsz)

    @arguments_checked
    def index_sets(self, wave: int | None = None) -> int:
        """How many sets of compression indices fit in the index register (1 for a dense instruction)."""
        if "K" not in self.operands:
            return 1
        return place(self, "K", self.architecture.wave(wave), {}).layout.sizes["set"]

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
        return modifier_checks.resolved(self, modifiers)

    @arguments_checked
    def check_modifiers(self, wave: int | None, modifiers: Mapping[str, int]) -> None:
        """Refuse modifiers that the instruction lacks and values that it does not take.

        Raises:
            Error: says which modifier, what it was given, and what it may be.
        """
        modifier_checks.check(self, wave, modifiers)

    # --- arithmetic, which lives in a room above this one and so is bound by name when it is first used ---

    @property
    def numerics(self) -> Any:
        """How the instruction computes, a `mmacalc.arithmetic.Numerics`: model, parameters, provenance, source and an
        explanation in words.

        >>> import mmacalc
        >>> found = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").numerics
        >>> found.model, found.provenance
        ('two_stage_floored', 'two sources agree')
        """
        return import_module("mmacalc.arithmetic").numerics(self)

    @arguments_checked
    def multiply(self, a: ArrayLike, b: ArrayLike, c: ArrayLike = 0, **modifiers: Any) -> NDArray[Any]:
        """D = A B + C on values, as the hardware rounds it: see `mmacalc.emulator.multiply`."""
        result: NDArray[Any] = import_module("mmacalc.emulator").multiply(self, a, b, c, **modifiers)
        return result

    @arguments_checked
    def multiply_bits(self, a: ArrayLike, b: ArrayLike, c: ArrayLike = 0, **modifiers: Any) -> NDArray[Any]:
        """D = A B + C on raw encodings: see `mmacalc.emulator.multiply_bits`."""
        result: NDArray[Any] = import_module("mmacalc.emulator").multiply_bits(self, a, b, c, **modifiers)
        return result

    @arguments_checked
    def execute(self, a: ArrayLike, b: ArrayLike, c: ArrayLike = 0, **modifiers: Any) -> NDArray[np.uint32]:
        """D = A B + C on register files: see `mmacalc.emulator.execute`."""
        result: NDArray[np.uint32] = import_module("mmacalc.emulator").execute(self, a, b, c, **modifiers)
        return result
