"""The instruction tables: rows of instruction_tables.txt, compiled for decoding when they are first met.

A line of the file has nine parts between bars:

    format | suffix | operands | implied operands | modifiers | fields of one value | ignored fields | targets | names

`operands` are in the order of LLVM's assembly, a destination with ">" before it: FIELD=kind, count and type of
constants as in `mmacalc.asm.operand_codes`, "@n" where bit n of OP_SEL is the half; FIELD=style for a number in the
place of an operand; LITERAL=width for a literal of the instruction's own; or a register that the text always has.
Implied operands are not printed: "<" read, ">" written, "=" of which a part is kept, though it is not among the sources
of a decoded instruction (loads of 16 bits, s_bitset0_b32). A modifier has the mask of its legal bits after a colon, if
not all are. Names are name=opcode.

At the end are the operations, of four parts: operation | flags | targets | names; see `mmacalc.asm.operations`. The
file is made by tools/decoder_tables from LLVM 22.1.8 and its corrections alone: `nox -s tables` makes it again and
compares.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

from ..base.errors import Error, did_you_mean
from .decoded import ConstantOperand, RegisterOperand
from .formats import OPERANDS, encodings
from .immediates import STYLES, dpp_controls
from .operand_codes import Literal, Scalars, codes, scalar_registers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from .fields import Encoding, Field
    from .formats import FormatLine

    Entry = tuple[RegisterOperand | ConstantOperand | Literal | None, ...]

__all__ = [
    "COVERED",
    "FAMILY_OF",
    "Row",
    "Slot",
    "Table",
    "covered",
    "flags_of",
    "instruction_names",
    "lines",
    "table",
    "valued",
]

# target -> (formats of its family, scalar registers, default wave). Codes 124 and 125 changed places with RDNA3.
_CDNA1, _CDNA = scalar_registers(102, 124, 125, 1), scalar_registers(102, 124, 125, 2)
_RDNA, _CDNA5 = scalar_registers(106, 125, 124, 1), scalar_registers(106, 125, 124, 2, True)
FAMILY_OF = {
    "gfx908": ("cdna1", _CDNA1, 64), "gfx90a": ("cdna2", _CDNA, 64), "gfx942": ("cdna3", _CDNA, 64),
    "gfx950": ("cdna3", _CDNA, 64), "gfx1100": ("rdna3", _RDNA, 32), "gfx1200": ("rdna4", _RDNA, 32),
    "gfx1250": ("cdna5", _CDNA5, 32),
}  # fmt: skip
# Targets whose instructions are those of another one.
_SAME = {
    "gfx1101": "gfx1100", "gfx1102": "gfx1100", "gfx1103": "gfx1100", "gfx1201": "gfx1200",
    "gfx9-4-generic": "gfx942", "gfx11-generic": "gfx1100", "gfx12-generic": "gfx1200",
}  # fmt: skip
COVERED = (*FAMILY_OF, *_SAME)
"""The compiler targets whose whole code is decoded."""
# Fields that are neither operand nor modifier; DST_SEL is fixed where the result is as wide as it is.
_PRIVATE = {"SEG", "IMM", "EN", "SVE", "CODE", "ACC", "ENCODING", "REST"}
_ALWAYS = {"op_sel_hi", "dpp_ctrl", "row_mask", "bank_mask", "dpp8", "dst_sel", "dst_unused", "src0_sel", "src1_sel"}
_SELECTS = {"dst_sel": range(7), "src0_sel": range(7), "src1_sel": range(7), "dst_unused": range(3)}
# A number in SDATA: how much a prefetch fetches, of five bits (RDNA4 ISA guide, S_PREFETCH_DATA). LLVM 22 decodes none
# with the field's higher bits.
_SHORT_LENGTHS, _LENGTH_BITS = {"rdna4", "cdna5"}, 31
_SIGNED_WIDTHS = {13, 21, 24}  # of offsets: those of flat (12 bits), buffer (12) and ds (16) are unsigned


_SIGNS = {"neg": "neg", "abs": "abs", "sext": "sext"}


def covered(target: str) -> str:
    """The target of the tables that has the instructions of a compiler target.

    Raises:
        Error: there is none.
    """
    name = _SAME.get(target, target)
    if name not in FAMILY_OF:
        hint = did_you_mean(target, (*FAMILY_OF, *_SAME))
        raise Error(f"whole code is decoded for {', '.join((*FAMILY_OF, *_SAME))}; got '{target}'.{hint}")
    return name


class Slot:
    """One printed operand of a row.

    field: its field, None where the operand is fixed. style: how a number is printed, "" for registers and constants.
    entries: the operand of each code, two tables: for the bit `bank` of the instruction, which says VGPR or AccVGPR;
    two for every value of the field `choice` where one says how many registers there are.
    texts: how constants are printed, where not as `constant` says.
    """

    __slots__ = (
        "bank", "choice", "constant", "destination", "entries", "field", "fixed", "half", "mask", "shift", "style",
        "texts",
    )  # fmt: skip
    bank: int
    choice: Field | None
    texts: Mapping[object, str]
    destination: bool
    field: Field | None
    shift: int
    mask: int
    style: str
    constant: str
    half: int | None
    entries: tuple[Entry, ...]
    fixed: RegisterOperand | None


class Row:
    """One instruction in one of its forms."""

    __slots__ = (
        "acc", "branch", "encoding", "family", "flags", "format", "implied", "keeps", "lane_mask", "mask",
        "mnemonic", "modifiers", "name", "op_sel", "reads", "signature", "signs", "size", "slots", "value", "widths",
        "writes", "written_too",
    )  # fmt: skip
    name: str
    mnemonic: str
    encoding: str
    family: str
    flags: frozenset[str]  # see `mmacalc.asm.operations`
    lane_mask: int  # registers of a mask of lanes, such as EXEC
    acc: int  # the bit that says of all operands that they are AccVGPRs
    branch: bool
    signs: dict[str, str]  # what is written at operands (neg, abs, sext) -> the modifier that has it
    op_sel: int
    signature: tuple[str, ...]
    format: Encoding
    size: int
    mask: int
    value: int
    slots: tuple[Slot, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    keeps: tuple[str, ...]
    modifiers: tuple[tuple[str, int, int, Field | None, bool, int, Container[int] | None], ...]
    implied: dict[str, int]
    widths: dict[str, int]
    written_too: int  # bits that a decoder ignores and LLVM's encoder sets

    def __init__(self, name: str, opcode: int, form: FormatLine, signature: tuple[str, ...], table: Table) -> None:
        suffix, operands, extra, modifiers, fixed, ignored = signature
        self.name, self.mnemonic, self.format, self.signature = name, name + suffix, form, signature
        self.family, self.lane_mask = table.family, table.wave // 32
        self.flags = table.flags.get(name, frozenset())
        self.branch = "SIMM16" in operands and not self.flags.isdisjoint(("branch", "call"))
        self.encoding, self.size, self.implied = form.name.partition(":")[0], form.size, dict(form.implied)
        # VOP3P that is not packed mixes f32 and f16: NEG_LO are signs, NEG_HI absolute values, OP_SEL_HI chooses f16.
        mixed = self.encoding.startswith("vop3p") and "packed" not in self.flags
        self.signs = {"neg": "neg_lo", "abs": "neg_hi"} if mixed else _SIGNS
        self.slots = tuple(_slot(text, form, table) for text in operands.split())
        self.reads = tuple(text[1:] for text in extra.split() if text[0] == "<")
        self.writes = tuple(text[1:] for text in extra.split() if text[0] == ">")
        self.keeps = tuple(text[1:] for text in extra.split() if text[0] == "=")
        if "salu" in self.flags and "exec" in self.reads + self.writes and operands.startswith(">SDST=s"):
            self.lane_mask = int(operands[len(">SDST=s")])  # as wide as what EXEC is exchanged with
        values = dict(valued(text) for text in fixed.split())
        legal = dict(_masked(text) for text in modifiers.split())
        self.widths = {text.partition(":")[0].partition("/")[0].lower(): int(text.partition("/")[2])
                       for text in modifiers.split() if "/" in text}  # fmt: skip
        skipped = dict(_masked(text) for text in ignored.split())
        self._match(opcode, values, legal, skipped)
        self._modifiers(values, legal)
        self.written_too = 0
        if "OP_SEL_HI" in skipped and "OP_SEL_HI" in form.fields:  # ones for sources that the instruction lacks
            part = skipped["OP_SEL_HI"]
            self.written_too = form.fields["OP_SEL_HI"].spread(7 if part is None else part)
        self.acc = form.fields["ACC"].mask if "ACC" in form.fields else 0
        self.op_sel = form.fields["OP_SEL"].pieces[0][1] if "OP_SEL" in form.fields else 0

    def _match(
        self, opcode: int, values: dict[str, int], legal: dict[str, int | None], skipped: dict[str, int | None]
    ) -> None:
        """What the bits must be: all those that are neither an operand's, a modifier's, nor ignored."""
        mask = value = 0
        used = {slot.field.name: slot.style for slot in self.slots if slot.field}
        for name, field in self.format.fields.items():
            if name in used:
                if name == "SDATA" and used[name] and self.family in _SHORT_LENGTHS:
                    mask |= field.spread(~_LENGTH_BITS)
                continue
            free: int | None = 0
            for loose in (legal, skipped):
                if name in loose:
                    part = loose[name]
                    free = None if part is None or free is None else free | part
            if "BITS" in skipped and name.startswith("BIT") and not name.startswith("BITS"):
                free = None
            if free is None:
                if name == "TH" and "TH" in values:  # bit 0 of an atomic's says whether it returns
                    mask |= field.spread(1)
                    value |= field.spread(values[name])
                continue
            mask |= field.spread((1 << field.width) - 1 & ~free)
            value |= field.spread(opcode if name == "OP" else values.get(name, field.value or 0) & ~free)
        self.mask, self.value = mask, value

    def _modifiers(self, values: dict[str, int], legal: dict[str, int | None]) -> None:
        found = []
        implied = {
            name.lower(): value
            for name, value in values.items()
            if value
            and name not in OPERANDS | _PRIVATE | {"DST_SEL"}
            and not name.startswith("BIT")
            and name not in legal
        }
        self.implied = {**implied, **self.implied}
        for name, field in self.format.fields.items():
            if field.value and name in ("OFFEN", "IDXEN", "LDS"):
                self.implied[name.lower()] = field.value
            if name not in legal or name in _PRIVATE:
                continue
            sign = 1 << field.width - 1 if name == "OFFSET" and field.width in _SIGNED_WIDTHS else 0
            simple = len(field.pieces) == 1
            shift, mask = field.pieces[0][1] if simple else 0, (1 << field.width) - 1
            lower = name.lower()
            known = dpp_controls(self.family) if lower == "dpp_ctrl" else _SELECTS.get(lower)
            part = legal[name]
            if part is not None:  # other bits are ignored
                mask = part
            found.append((lower, shift, mask, None if simple else field, lower in _ALWAYS, sign, known))
        self.modifiers = tuple(found)


def _masked(text: str) -> tuple[str, int | None]:
    name, _, mask = text.partition("/")[0].partition(":")
    return name, int(mask) if mask else None


def valued(text: str) -> tuple[str, int]:
    """The name and number of a field of one value."""
    name, _, value = text.partition("=")
    return name, int(value)


def _slot(text: str, form: FormatLine, table: Table) -> Slot:
    """An operand of a line; see the module."""
    slot = Slot()
    slot.destination = text.startswith(">")
    name, _, kind = text.lstrip(">").partition("=")
    slot.field, slot.style, slot.constant, slot.half, slot.fixed = form.fields.get(name), "", "", None, None
    slot.shift = slot.mask = slot.bank = 0
    slot.choice, slot.texts = None, {}
    slot.entries = ((), ())
    if name == "LITERAL":
        slot.style = f"literal{kind}"
    elif slot.field is None:
        slot.fixed = table.named(name)
    elif kind in STYLES:
        slot.style = kind
    else:
        kind, _, half = kind.partition("@")
        slot.half = int(half) if half else None
        letter, digits = kind[0], kind[1:]
        size = digits[: len(digits) - len(digits.lstrip("/0123456789"))]
        slot.constant = digits[len(size) :]
        narrow, _, wide = size.partition("/")
        count = int(wide if wide and table.wave == 64 else narrow)
        letters = {"b": "va", "B": "yA"}.get(letter, 2 * letter)
        slot.entries = tuple(table.codes(one, count, slot.constant) for one in letters)
        slot.bank = form.fields["ACC"].mask if letter in "bB" and "ACC" in form.fields else 0
    if slot.field and len(slot.field.pieces) == 1:
        slot.shift, slot.mask = slot.field.pieces[0][1], (1 << slot.field.width) - 1
    return slot


class Table:
    """The rows of a target and wave size; by_name: of an instruction without suffix, its formats and signatures."""

    family: str
    formats: dict[str, FormatLine]
    scalars: Scalars
    target: str
    wave: int

    def __init__(self, target: str, wave: int) -> None:
        self.family, self.scalars, _ = FAMILY_OF[target]
        self.target, self.wave = target, wave
        self.formats = encodings(self.family)
        self._lines: dict[str, dict[int, list[tuple[str, tuple[str, ...]]]]] = {}
        self.by_name: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for line in lines():
            form, *signature, targets, names = line.split("|")
            if target not in targets.split() or form not in self.formats:
                continue
            rows = self._lines.setdefault(form, {})
            shared = tuple(signature)
            for name, opcode in [each.split("=") for each in names.split()]:
                rows.setdefault(int(opcode), []).append((name, shared))
                self.by_name.setdefault(name, []).append((form, shared))
        self.flags: dict[str, frozenset[str]] = {}
        for line in lines(operations=True):
            _, flags, targets, names = line.split("|")
            if target in targets.split():
                self.flags |= dict.fromkeys(names.split(), frozenset(flags.split()))
        self._opcodes: dict[str, list[tuple[str, int]]] = {}
        self._rows: dict[tuple[str, int], tuple[Row, ...]] = {}
        self._by_key: dict[int, tuple[tuple[str, int, int], ...]] = {}

    def named(self, name: str) -> RegisterOperand:
        """The register of a word such as vcc, off or null."""
        if name == "0":
            return ConstantOperand(0, False, 32)  # type: ignore[return-value]
        if name == "off":
            return RegisterOperand("off", 0, 0, 0, 0)
        count = self.wave // 32 if name in ("vcc", "exec") else 1
        return RegisterOperand(name, 0, count, 0, 32 * count)

    def codes(self, kind: str, count: int, constant: str) -> Entry:
        """`operand_codes.codes` of the target."""
        return codes(kind, count, constant, self.scalars)

    def rows(self, form: str, opcode: int) -> tuple[Row, ...]:
        """The rows of an opcode of a format."""
        key = (form, opcode)
        if key not in self._rows:
            listed = self._lines.get(form, {}).get(opcode, ())
            made = [Row(name, opcode, self.formats[form], signature, self) for name, signature in listed]
            # The row that fixes more bits first.
            self._rows[key] = tuple(sorted(made, key=lambda row: -bin(row.mask).count("1")))
        return self._rows[key]

    def names(self) -> tuple[str, ...]:
        """The names of all instructions, without suffixes."""
        return tuple(self.by_name)

    def named_rows(self, name: str) -> tuple[Row, ...]:
        """The rows of an instruction, by its name without suffix."""
        if not self._opcodes:
            for form, rows in self._lines.items():
                for opcode, listed in rows.items():
                    for each, _ in listed:
                        self._opcodes.setdefault(each, []).append((form, opcode))
        places = dict.fromkeys(self._opcodes.get(name, ()))
        return tuple(row for form, opcode in places for row in self.rows(form, opcode) if row.name == name)

    def every(self) -> list[Row]:
        """All rows."""
        return [row for form, rows in self._lines.items() for opcode in rows for row in self.rows(form, opcode)]

    def formats_of(self, word: int) -> tuple[tuple[str, int, int], ...]:
        """The formats that a first word may begin, in their order: (name, lowest bit and mask of the opcode)."""
        key = word >> 23 & 0x1FF
        if key not in self._by_key:
            fitting = []
            for name, form in self.formats.items():
                encoding, opcode = form.fields["ENCODING"], form.fields["OP"]
                value, bits = encoding.spread(encoding.value or 0), encoding.mask
                if name in self._lines and not name.startswith("vopd") and (word ^ value) & bits == 0:
                    fitting.append((name, opcode.pieces[0][1], (1 << opcode.width) - 1))
            self._by_key[key] = tuple(fitting)
        return self._by_key[key]


@lru_cache(maxsize=2)
def lines(operations: bool = False) -> tuple[str, ...]:
    """The lines of instruction_tables.txt that are rows; or its operations."""
    text = Path(__file__).with_name("instruction_tables.txt").read_text()
    return tuple(
        line for line in text.splitlines()
        if line and line[0] != "#" and line.startswith("operation|") is operations
    )  # fmt: skip


@cache
def instruction_names() -> frozenset[str]:
    """The names of all instructions of all targets, without suffixes of encodings.

    >>> "ds_read_b128" in instruction_names(), "ds_read_b127" in instruction_names()
    (True, False)
    """
    names = [each.partition("=")[0] for line in lines() for each in line.rpartition("|")[2].split()]
    return frozenset(names)


@lru_cache(maxsize=8192)
def flags_of(name: str) -> frozenset[str]:
    """The flags of an instruction by its name without suffix (`mmacalc.asm.operations`), of the first target that has
    it; none of what no target has.

    >>> sorted(flags_of("s_branch"))
    ['barrier', 'branch', 'salu', 'terminator']
    """
    return _every_flags().get(name, frozenset())


@cache
def _every_flags() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in reversed(lines(operations=True)):
        _, flags, _, names = line.split("|")
        found |= dict.fromkeys(names.split(), frozenset(flags.split()))
    return found


@lru_cache(maxsize=64)
def table(target: str, wave: int) -> Table:
    """The table of a target."""
    return Table(target, wave)
