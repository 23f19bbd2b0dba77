"""Rows: one instruction in one of its encodings, with its operands and modifiers.

The decoder, the printer and the assembler read rows alone. They are made of the lines of instruction_tables.txt
(`mmacalc.asm.tables`) and, of matrix instructions, of the lines of the catalog (`mmacalc.asm.forms`).
"""

from __future__ import annotations

from ..base.records import TupleRecord, cached_property
from ..formats import CHOICES, SHORT_NAMES
from ..model.instruction import SCALE_ROWS
from .decoded import RegisterOperand
from .operand_codes import OTHER_NAMES, register_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from typing import Any

    from ..model import Instruction
    from .decoded import ConstantOperand
    from .fields import Encoding, Field
    from .operand_codes import Literal

    Entry = tuple[RegisterOperand | ConstantOperand | Literal | None, ...]

__all__ = ["FLAGS", "LISTS", "MATRIX_FMT", "NAMES", "NUMBERS", "SCALE_FMT", "Modifier", "Row", "Slot", "kind_of"]

# --- Modifiers: what may follow the operands of an instruction, and how each is written ---
#
# LLVM has four kinds: a number (cbsz:1), bits for operands (neg_lo:[1,0,0]), a flag (clamp), and a choice by name or
# number (matrix_a_fmt:MATRIX_FMT_FP4). What is written otherwise (controls of DPP, cache policies) is known by its
# texts alone (`mmacalc.asm.decoded_text`). Each instruction takes its modifiers in one fixed order.
#
# Source: LLVM 22.1.8, AMDGPUAsmParser, and its assembler on random texts (tests/test_asm_llvm.py,
# tests/test_encoder.py).


MATRIX_FMT = tuple(f"MATRIX_FMT_{SHORT_NAMES[name].upper()}" for name in CHOICES["f8f6f4"])
SCALE_FMT = tuple(f"MATRIX_SCALE_FMT_{name}" for name in ("E8", "E5M3", "E4M3"))
NUMBERS = frozenset((
    "offset", "offset0", "offset1", "row_mask", "bank_mask", "bitop3", "fi", "bound_ctrl", "cbsz", "abid", "blgp",
    "index_key",
))  # fmt: skip
LISTS = frozenset(("op_sel", "op_sel_hi", "neg_lo", "neg_hi", "neg"))
FLAGS = frozenset((
    "clamp", "offen", "idxen", "gds", "glc", "slc", "dlc", "scc", "sc0", "sc1", "nt", "lds", "tfe", "nv",
    "scale_offset", "r128", "matrix_a_reuse", "matrix_b_reuse",
))  # fmt: skip
NAMES: Mapping[str, tuple[str, ...]] = {
    f"matrix_{x}_{name}": names for x in "ab"
    for name, names in (("fmt", MATRIX_FMT), ("scale", SCALE_ROWS), ("scale_fmt", SCALE_FMT))
}  # fmt: skip


_KINDS = {
    **dict.fromkeys(NUMBERS, "number"), **dict.fromkeys(LISTS, "bits"), **dict.fromkeys(FLAGS, "flag"),
    **dict.fromkeys(NAMES, "choice"),
}  # fmt: skip


def kind_of(name: str) -> str:
    """How a modifier is written: "number", "bits", "flag", "choice", or "" where its texts alone say it."""
    return _KINDS.get(name, "")


class Modifier(TupleRecord):
    """One modifier of a row.

    name: as it is written, or the field's in lower case. shift, mask: where its field is. split: the field, where it
    has several pieces. always: whether a decoded instruction has it also if it is 0. sign: the bit that makes a number
    negative, 0 if none does. known: the values that it takes, None for all. field: the encoding's.
    """

    name: str
    shift: int
    mask: int
    split: Field | None
    always: bool
    sign: int
    known: Container[int] | None
    field: Field

    def takes(self, value: int) -> bool:
        """Whether the field may have this value."""
        return not value & ~self.mask and (self.known is None or value in self.known)


# --- Rows and their operands ---


_NUMBERED = ("v", "a", "s", "ttmp")


class Slot:
    """One printed operand of a row.

    Attributes:
        field: its field, None where the operand is fixed. style: how a number is printed, "" for registers and
            constants. name, title: "A", and how a message calls it.
        entries: the operand of each code, two tables: for the bit `bank` of the instruction, which says VGPR or
            AccVGPR; two for every value of the field `choice` where one says how many registers there are.
        counts: how many registers, one for every value of `choice`. files: the files of registers that it takes.
        constant: the format in which constants are read, "" if there are none. texts: how constants are printed, where
            not as `constant` says. even: whether tuples begin at even registers.
    """

    __slots__ = (
        "bank", "choice", "constant", "counts", "destination", "entries", "even", "field", "files", "fixed",
        "half", "known", "mask", "name", "shift", "style", "texts", "title",
    )  # fmt: skip
    bank: int
    choice: Field | None
    counts: tuple[int, ...]
    destination: bool
    even: bool
    field: Field | None
    files: tuple[str, ...]
    fixed: RegisterOperand | None
    half: int | None
    known: dict[int, tuple[dict[object, int], dict[str, int]]]  # what `codes` found
    mask: int
    name: str
    shift: int
    style: str
    texts: Mapping[object, str]
    title: str
    constant: str
    entries: tuple[Entry, ...]

    def __init__(self, field: Field | None, **values: Any) -> None:
        self.field, self.style, self.constant, self.half, self.fixed = field, "", "", None, None
        self.shift = self.mask = self.bank = 0
        self.choice, self.texts, self.destination, self.even = None, {}, False, False
        self.entries, self.counts, self.files, self.name, self.title = ((), ()), (1,), (), "", ""
        self.known = {}
        for name, value in values.items():
            setattr(self, name, value)
        if field and len(field.pieces) == 1:
            self.shift, self.mask = field.pieces[0][1], (1 << field.width) - 1

    def count(self, values: Mapping[str, int]) -> int:
        """How many registers it takes under the fields that choose formats."""
        return self.counts[values.get(self.choice.name, 0) if self.choice else 0]

    def codes(self, table: int) -> tuple[dict[object, int], dict[str, int]]:
        """The codes of one of the `entries`: of registers that are counted, and of other registers by their names."""
        found = self.known.get(table)
        if found is None:
            entries = list(enumerate(self.entries[table]))[::-1]  # the first of several codes is kept
            counted: dict[object, int] = {one: code for code, one in entries if isinstance(one, RegisterOperand)}
            named = {register_text(one): code for code, one in entries
                     if isinstance(one, RegisterOperand) and one[0] not in _NUMBERED}  # fmt: skip
            others = {OTHER_NAMES[name]: code for name, code in named.items() if name in OTHER_NAMES}
            found = self.known[table] = counted, named | others
        return found

    def text(self, bits: int) -> str | None:
        """The operand that an instruction has in the field; None where LLVM has no text."""
        assert self.field is not None
        table = (2 * self.choice.gather(bits) if self.choice is not None else 0) + (1 if bits & self.bank else 0)
        operand = self.entries[table][self.field.gather(bits)]
        return register_text(operand) if isinstance(operand, RegisterOperand) else self.texts.get(operand)

    @property
    def specials(self) -> tuple[str, ...]:
        """The scalar registers and values of the hardware that it takes, as they are written."""
        if self.destination:
            return ()
        counted, named = self.codes(0)
        scalar = [register_text(one) for one in counted if isinstance(one, RegisterOperand) and one[0] in ("s", "ttmp")]
        return (*scalar, *named)


class Row:
    """One instruction in one of its forms.

    Attributes:
        name, mnemonic: without and with the suffix of the encoding. encoding: "vop3p", "ds" ...; format: its fields.
        family: whose formats it has. flags: what the instruction is (`mmacalc.asm.operations`).
        mask, value: the bits that it fixes. slots, modifiers: what is printed, in order.
        reads, writes, keeps: registers and fields that the text does not name (`mmacalc.asm.tables`).
        lane_mask: registers of a mask of lanes, such as EXEC. acc: the bit that says of all operands that they are
            AccVGPRs. signs: what is written at operands (neg, abs, sext) -> the modifier that has it.
        implied: modifiers that the row has always. widths: how many bits of a modifier are printed. dropped: bits of a
            modifier that are accepted and not encoded. written_too: bits that a decoder ignores and an encoder sets.
        signature: its line of the table. instruction: the catalog's record of a matrix instruction. fixed: values of
            fields. meanings: what fields mean in this instruction, where that is not the format's own text.
        overlap_checked: whether LLVM refuses a C that overlaps D in part.
    """

    name: str
    mnemonic: str
    encoding: str
    family: str
    flags: frozenset[str]
    lane_mask: int
    acc: int
    branch: bool
    signs: dict[str, str]
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
    modifiers: tuple[Modifier, ...]
    implied: dict[str, int]
    widths: dict[str, int]
    dropped: dict[str, int]
    written_too: int
    instruction: Instruction | None
    fixed: Mapping[str, int]
    meanings: Mapping[str, str]
    overlap_checked: bool
    unmodified: int | None  # the bits of its modifiers where none is written, once they are known

    def __init__(self, **values: Any) -> None:
        self.flags = frozenset()
        self.acc = self.op_sel = self.written_too = self.mask = self.value = 0
        self.branch = self.overlap_checked = False
        self.slots, self.modifiers = (), ()
        self.reads = self.writes = self.keeps = ()
        self.signs, self.implied, self.widths, self.dropped = {}, {}, {}, {}
        self.instruction, self.fixed, self.meanings = None, {}, {}
        self.unmodified = None
        self.__dict__.update(values)
        self.size = self.format.size

    def __repr__(self) -> str:
        return f"Row({self.mnemonic!r}, {self.format.name})"

    def slot(self, name: str) -> Slot | None:
        """The operand of that name, None if there is none."""
        return next((slot for slot in self.slots if slot.name == name), None)

    @cached_property
    def sources(self) -> int:
        """How many operands that are not numbers it has beside destinations."""
        return sum(1 for slot in self.slots if not slot.destination and slot.field is not None and not slot.style)

    @property
    def stores(self) -> bool:
        """Whether it writes memory and gives nothing back."""
        return "store" in self.flags and ("load" not in self.flags or "from_lds" in self.flags)

    @cached_property
    def literal_second(self) -> bool:
        """Whether the second source is a literal, so that the third is in the field of the second: FMAMK."""
        texts = [slot.style[:7] or (slot.field.name if slot.field else "") for slot in self.slots]
        return texts[-2:] == ["literal", "VSRC1"]

    @cached_property
    def in_place(self) -> frozenset[str]:
        """The fields, in lower case, of numbers in the place of operands."""
        return frozenset(slot.field.name.lower() for slot in self.slots if slot.style and slot.field is not None)

    @cached_property
    def flag_names(self) -> frozenset[str]:
        """The words that are flags of it, set or not."""
        names = [one.name for one in self.modifiers if one.name in FLAGS] + [
            name for name in self.implied if name in FLAGS
        ]
        return frozenset((*names, *(f"no{name}" for name in names)))
