"""The instruction tables: rows of instruction_tables.txt, compiled for decoding when they are first met.

A line of the file has nine parts between bars:

    format | suffix | operands | implied operands | modifiers | fields of one value | ignored fields | targets | names

`operands` are in the order of LLVM's assembly, a destination with ">" before it: FIELD=kind, count and type of
constants as in `mmacalc.asm.operand_codes`, "@n" where bit n of OP_SEL is the half; FIELD=style for a number in the
place of an operand; LITERAL=width for a literal of the instruction's own; or a register that the text always has.
Implied operands are not printed: "<" read, ">" written, "=" of which a part is kept, though it is not among the sources
of a decoded instruction (loads of 16 bits, s_bitset0_b32). A modifier has the mask of its legal bits after a colon, if
not all are. Names are name=opcode.

First are the targets: target | name | family of formats | default wave | other targets that have its instructions. At
the end are the operations, of four parts: operation | flags | targets | names; see `mmacalc.asm.operations`. The
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
from .operand_codes import Scalars, codes, registers_of
from .rows import Modifier, Row, Slot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .formats import FormatLine, Formats
    from .rows import Entry

__all__ = [
    "COVERED",
    "FAMILY_OF",
    "SAME",
    "Table",
    "covered",
    "flags_of",
    "instruction_names",
    "lines",
    "table",
    "valued",
]

_FILE = Path(__file__).with_name("instruction_tables.txt")


def _targets() -> tuple[dict[str, tuple[str, Scalars, int]], dict[str, str]]:
    """The lines of the file that are targets: target -> (family, registers, default wave); and the targets that have
    the instructions of another one -> that one."""
    found: dict[str, tuple[str, Scalars, int]] = {}
    same: dict[str, str] = {}
    with _FILE.open(encoding="ascii") as file:
        for line in file:
            kind, *parts = line.rstrip("\n").split("|")
            if kind == "target":
                name, family, wave, others = parts
                found[name] = family, registers_of(family), int(wave)
                same |= dict.fromkeys(others.split(), name)
            elif not kind.startswith("#"):
                break
    return found, same


FAMILY_OF, SAME = _targets()
"""target -> (formats of its family, registers, default wave); other targets that have the same instructions -> it."""
COVERED = (*FAMILY_OF, *SAME)
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
    name = SAME.get(target, target)
    if name not in FAMILY_OF:
        hint = did_you_mean(target, (*FAMILY_OF, *SAME))
        raise Error(f"whole code is decoded for {', '.join((*FAMILY_OF, *SAME))}; got '{target}'.{hint}")
    return name


def _row(name: str, opcode: int, form: FormatLine, signature: tuple[str, ...], table: Table) -> Row:
    """The row of an opcode of a line."""
    suffix, operands, extra, modifiers, fixed, ignored = signature
    flags = table.flags.get(name, frozenset())
    encoding = form.name.partition(":")[0]
    # VOP3P that is not packed mixes f32 and f16: NEG_LO are signs, NEG_HI absolute values, OP_SEL_HI chooses f16.
    mixed = encoding.startswith("vop3p") and "packed" not in flags
    values = dict(valued(text) for text in fixed.split())
    legal = dict(_masked(text) for text in modifiers.split())
    skipped = dict(_masked(text) for text in ignored.split())
    row = Row(
        name=name, mnemonic=name + suffix, format=form, signature=signature, family=table.family, flags=flags,
        encoding=encoding, lane_mask=table.wave // 32,
        branch="SIMM16" in operands and not flags.isdisjoint(("branch", "call")),
        signs={"neg": "neg_lo", "abs": "neg_hi"} if mixed else _SIGNS,
        slots=tuple([_slot(text, form, table) for text in operands.split()]),
        **{part: tuple([text[1:] for text in extra.split() if text[0] == sign])
           for part, sign in (("reads", "<"), ("writes", ">"), ("keeps", "="))},
        implied=_implied(form, values, legal), modifiers=_modifiers(form, table.family, legal),
        widths={text.partition(":")[0].partition("/")[0].lower(): int(text.partition("/")[2])
                for text in modifiers.split() if "/" in text},
        acc=form.fields["ACC"].mask if "ACC" in form.fields else 0,
        op_sel=form.fields["OP_SEL"].pieces[0][1] if "OP_SEL" in form.fields else 0,
    )  # fmt: skip
    if "salu" in flags and "exec" in row.reads + row.writes and operands.startswith(">SDST=s"):
        row.lane_mask = int(operands[len(">SDST=s")])  # as wide as what EXEC is exchanged with
    row.mask, row.value = _matched(row, opcode, values, legal, skipped)
    if "OP_SEL_HI" in skipped and "OP_SEL_HI" in form.fields:  # ones for sources that the instruction lacks
        part = skipped["OP_SEL_HI"]
        row.written_too = form.fields["OP_SEL_HI"].spread(7 if part is None else part)
    return row


def _matched(
    row: Row, opcode: int, values: dict[str, int], legal: dict[str, int | None], skipped: dict[str, int | None]
) -> tuple[int, int]:
    """What the bits must be: all those that are neither an operand's, a modifier's, nor ignored."""
    mask = value = 0
    used = {slot.field.name: slot.style for slot in row.slots if slot.field}
    for name, field in row.format.fields.items():
        if name in used:
            if name == "SDATA" and used[name] and row.family in _SHORT_LENGTHS:
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
    return mask, value


def _implied(form: FormatLine, values: dict[str, int], legal: dict[str, int | None]) -> dict[str, int]:
    """The modifiers that an instruction has always."""
    found = {
        name.lower(): value
        for name, value in values.items()
        if value and name not in OPERANDS | _PRIVATE | {"DST_SEL"} and not name.startswith("BIT") and name not in legal
    } | form.implied
    for name in ("OFFEN", "IDXEN", "LDS"):
        if name in form.fields and form.fields[name].value:
            found[name.lower()] = form.fields[name].value or 0
    return found


def _modifiers(form: FormatLine, family: str, legal: dict[str, int | None]) -> tuple[Modifier, ...]:
    found = []
    for name, field in form.fields.items():
        if name not in legal or name in _PRIVATE:
            continue
        sign = 1 << field.width - 1 if name == "OFFSET" and field.width in _SIGNED_WIDTHS else 0
        simple, lower, part = len(field.pieces) == 1, name.lower(), legal[name]
        shift, mask = field.pieces[0][1] if simple else 0, (1 << field.width) - 1
        known = dpp_controls(family) if lower == "dpp_ctrl" else _SELECTS.get(lower)
        if part is not None:  # other bits are ignored
            mask = part
        found.append(Modifier(lower, shift, mask, None if simple else field, lower in _ALWAYS, sign, known, field))
    return tuple(found)


def _masked(text: str) -> tuple[str, int | None]:
    name, _, mask = text.partition("/")[0].partition(":")
    return name, int(mask) if mask else None


def valued(text: str) -> tuple[str, int]:
    """The name and number of a field of one value."""
    name, _, value = text.partition("=")
    return name, int(value)


_FILES = {
    **dict.fromkeys("vltTYy", ("v",)), "a": ("a",), **dict.fromkeys("bB", ("v", "a")), **dict.fromkeys("spqSd", ("s",)),
    **dict.fromkeys("xXw", ("v", "s")),
}  # fmt: skip
# How messages call an operand, by its field.
_TITLES = {
    **dict.fromkeys(("SRC0", "SSRC0"), "Source 0"), **dict.fromkeys(("SRC1", "VSRC1", "SSRC1"), "Source 1"),
    **dict.fromkeys(("SRC2", "VSRC2"), "Source 2"), **dict.fromkeys(("ADDR", "VADDR"), "The address"),
    **dict.fromkeys(("DATA", "DATA0", "VDATA", "SDATA"), "The data"), "DATA1": "The second data",
    "SADDR": "The scalar address", "SBASE": "The base", "SRSRC": "The descriptor", "SOFFSET": "The scalar offset",
}  # fmt: skip


def _slot(text: str, form: FormatLine, table: Table) -> Slot:
    """An operand of a line; see the module."""
    name, _, kind = text.lstrip(">").partition("=")
    field, written = form.fields.get(name), text.startswith(">")
    title = "The destination" if written else _TITLES.get(name, f"The operand {name}")
    if name == "LITERAL":
        return Slot(field, style=f"literal{kind}", title="The literal", destination=written)
    if field is None:
        return Slot(field, fixed=table.named(name), title=title, destination=written)
    if kind in STYLES:
        return Slot(field, style=kind, title="The number", destination=written)
    kind, _, half = kind.partition("@")
    letter, digits = kind[0], kind[1:]
    size = digits[: len(digits) - len(digits.lstrip("/0123456789"))]
    constant = digits[len(size) :]
    narrow, _, wide = size.partition("/")
    count = int(wide if wide and table.wave == 64 else narrow)
    letters = {"b": "va", "B": "yA"}.get(letter, 2 * letter)
    return Slot(
        field, title=title, destination=written, constant=constant, half=int(half) if half else None,
        counts=(count,), files=_FILES[letter], even=table.scalars.vector_alignment == 2,
        entries=tuple([table.codes(one, count, constant) for one in letters]),
        bank=form.fields["ACC"].mask if letter in "bB" and "ACC" in form.fields else 0,
    )  # fmt: skip


class Table:
    """The rows of a target and wave size; by_name: of an instruction without suffix, its formats and signatures."""

    family: str
    formats: Formats
    scalars: Scalars
    target: str
    wave: int

    def __init__(self, target: str, wave: int) -> None:
        self.family, self.scalars, _ = FAMILY_OF[target]
        self.target, self.wave = target, wave
        self.formats = encodings(self.family)
        self._lines: dict[str, dict[int, list[tuple[str, tuple[str, ...]]]]] = {}
        self.by_name: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        known = frozenset(self.formats)
        for line in lines():
            form, *signature, targets, names = line.split("|")
            if target not in targets.split() or form not in known:
                continue
            rows = self._lines.setdefault(form, {})
            shared = tuple(signature)
            for each in names.split():
                name, _, opcode = each.partition("=")
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
            made = [_row(name, opcode, self.formats[form], signature, self) for name, signature in listed]
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
            for name in self.formats.beginning(key):
                if name in self._lines and not name.startswith("vopd"):
                    opcode = self.formats[name].fields["OP"]
                    fitting.append((name, opcode.pieces[0][1], (1 << opcode.width) - 1))
            self._by_key[key] = tuple(fitting)
        return self._by_key[key]


@lru_cache(maxsize=2)
def lines(operations: bool = False) -> tuple[str, ...]:
    """The lines of instruction_tables.txt that are rows; or its operations."""
    text = _FILE.read_text(encoding="ascii")
    return tuple([
        line for line in text.splitlines()
        if line and line[0] != "#" and not line.startswith("target|") and line.startswith("operation|") is operations
    ])  # fmt: skip


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
    ['barrier', 'branch', 'salu', 'terminator', 'waits_xcnt']
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
