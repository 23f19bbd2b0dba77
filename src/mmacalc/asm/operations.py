"""What an instruction is, by its name: the operations of instruction_tables.txt.

A reader that wants to know whether an instruction loads, is a VALU instruction or keeps its destination asks here, not
the letters of the name:

>>> one = operation("v_dot2acc_f32_f16", "gfx1100")
>>> sorted(one.flags), [(form.suffix, [str(each) for each in form.operands]) for form in one.forms][0]
(['dot', 'valu'], ('_dpp', ['rw VDST v1', 'r SRC0 v1', 'r VSRC1 v1']))
>>> operation("ds_read_u8_d16", "gfx908").forms[0].operands[0].access
'rw'
>>> sorted(operation("cluster_load_async_to_lds_b32", "gfx1250").flags)
['asynccnt', 'flat', 'global', 'load', 'store', 'valu']

Flags are LLVM 22.1.8's, in lower case (MCInstrDesc.h and SIDefines.h, namespace SIInstrFlags):

- salu, valu, smem, flat (with global, scratch: which of them), ds, mubuf, ldsdir, trans, dot, packed: the unit and what
  its rules name. LLVM calls loads to LDS valu too; `unit` says flat or mubuf of these.
- load, store: the memory that it reads and writes. atomic is LLVM's: ds_store_b32 has it, as what may be one.
- vmcnt, lgkmcnt, expcnt, asynccnt, tensorcnt: the counters of the generation before gfx12, under which LLVM counts.
- branch, call, barrier (nothing follows), terminator, return: control flow. gws, float_atomic, scalar_store.
- double_rounding: MODE's rounding of f64 and f16 decides, not that of f32.

Those that LLVM asks opcodes for, or that its printer knows, are in tools/decoder_tables/corrections.py, each with its
reason: permlane_swap, sets_vskip, lane_select, read_lane, div_fmas, fma64, relative, byte_sel, byte_sel_dst, scale_sel.
"""

from __future__ import annotations

from functools import lru_cache

from ..base.records import TupleRecord
from .immediates import STYLES
from .rows import Row
from .tables import FAMILY_OF, covered, table, valued

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Form", "Operation", "OperandUse", "form_of_row", "operation", "operations"]

_UNITS = ("salu", "smem", "flat", "ds", "mubuf", "ldsdir", "valu")


class OperandUse(TupleRecord):
    """One printed operand of a form.

    access: "r", "w", or "rw" where what is written was read, or a part of it is kept. field: the field of the encoding,
    or the register that the text always has (vcc, off). kind: the letters of `mmacalc.asm.operand_codes` and how many
    registers; "" where it is a number or no field. destination: whether it is among the destinations of a decoded
    instruction. number: whether it is a number among the modifiers, such as SIMM16, not an operand there.
    """

    access: str
    field: str
    kind: str
    destination: bool
    number: bool

    def __str__(self) -> str:
        return " ".join(filter(None, self[:3]))


class Form(TupleRecord):
    """One encoding of an operation: its format and the suffix of its mnemonic, the operands in the order of the text,
    what it reads and writes that the text does not name, and the modifiers that it implies."""

    format: str
    suffix: str
    operands: tuple[OperandUse, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    implied: dict[str, int]

    @property
    def lanes_kept(self) -> bool:
        """Whether DPP's masks leave lanes of the destination as they are: LLVM's operand `old`, which is not among the
        operands that are read."""
        return "dpp" in self.format


class Operation(TupleRecord):
    """An instruction of a target: name (without suffix), target, flags (see the module) and forms."""

    name: str
    target: str
    flags: frozenset[str]
    forms: tuple[Form, ...]

    @property
    def unit(self) -> str:
        """What carries it out: "salu", "smem", "flat", "ds", "mubuf", "ldsdir" or "valu"."""
        return next((unit for unit in _UNITS if unit in self.flags), "")

    @property
    def scalar(self) -> bool:
        """Whether it is an instruction of the scalar unit, or a scalar access to memory."""
        return self.unit in ("salu", "smem")

    @property
    def vector_memory(self) -> bool:
        """Whether it is a FLAT, buffer or LDS instruction, or a copy of a tensor."""
        return self.unit in ("flat", "mubuf", "ds") or "tensorcnt" in self.flags


def operation(name: str, target: str) -> Operation | None:
    """The operation of a name without suffix, such as v_add_f32; None if the target has none.

    Args:
        target: one that `mmacalc.asm.decoder.decode` takes.

    Raises:
        Error: no such target.
    """
    return _named(covered(target)).get(name)


def operations(target: str) -> Iterator[Operation]:
    """All operations of a target.

    Raises:
        Error: no such target.
    """
    return iter(_named(covered(target)).values())


def form_of_row(row: object) -> Form:
    """The form of the row that an instruction was decoded with."""
    assert isinstance(row, Row)
    return _form(row.format.name, row.signature)


class _Named:
    """The operations of a target, each made when it is first asked for."""

    def __init__(self, target: str) -> None:
        self.target = target
        self._made: dict[str, Operation] = {}

    def get(self, name: str) -> Operation | None:
        rows = table(self.target, FAMILY_OF[self.target][2])
        if name not in self._made and name in rows.flags:
            forms = tuple(_form(*line) for line in rows.by_name.get(name, ()))
            self._made[name] = Operation(name, self.target, rows.flags[name], forms)
        return self._made.get(name)

    def values(self) -> Iterator[Operation]:
        names = table(self.target, FAMILY_OF[self.target][2]).flags
        return (one for name in names if (one := self.get(name)) is not None)


@lru_cache(maxsize=256)
def _named(target: str) -> _Named:
    return _Named(target)


@lru_cache(maxsize=8192)
def _form(format_name: str, signature: tuple[str, ...]) -> Form:
    suffix, operands, extra, _, fixed, _ = signature
    marks: dict[str, set[str]] = {sign: {text[1:] for text in extra.split() if text[0] == sign} for sign in "<>="}
    found = []
    for text in operands.split():
        name, _, kind = text.lstrip(">").partition("=")
        access = "w" if text.startswith(">") else "r"
        if access == "w" and name in marks["<"] | marks["="]:
            access = "rw"
        letter = kind[:1] if kind[1:2].isdigit() else ""
        count = kind[1:].lstrip("/")
        digits = count[: len(count) - len(count.lstrip("/0123456789"))]
        shown = f"{letter}{digits}" if letter else ""
        found.append(OperandUse(access, name, shown, text.startswith(">"), kind in STYLES))
    fields = {one.field for one in found}
    implied = {name.lower(): value for name, value in map(valued, fixed.split())}
    reads, writes = (tuple(sorted(marks[sign] - fields)) for sign in "<>")
    return Form(format_name, suffix, tuple(found), reads, writes, implied)
