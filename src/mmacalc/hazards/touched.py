"""What a line of assembly does to registers of every file, and which memory access it is: from the instruction tables.

Registers are numbers: those of a VGPR are 2 n and 2 n + 1 (its halves), AccVGPRs and scalar registers come after them.
Operands of mnemonics that the tables do not have (graphics, matrix instructions, other spellings) are read by the
general rule of `register_use`: the first one is written, except by stores.
"""

from __future__ import annotations

from functools import lru_cache

from ..asm.reader import NAMED_REGISTERS, registers
from ..asm.tables import FAMILY_OF, covered
from ..base.errors import Error
from ..base.records import TupleRecord
from .register_use import accesses, bare, form_of, operation_of, untabled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..asm.operations import Form, Operation
    from ..asm.reader import Statement

__all__ = ["Touched", "may_access", "numbers_of", "register_names", "touched", "tables_of"]

_FIRST = {"v": 0, "a": 1024, "s": 2048, "ttmp": 2048 + 128, "flat_scratch": 2048 + 144, "xnack_mask": 2048 + 146,
          "scc": 2048 + 150}  # fmt: skip
_NAMED = {name: range(_FIRST[one.file] + one.first, _FIRST[one.file] + one.first + one.count)
          for name, one in NAMED_REGISTERS.items()}  # fmt: skip
EXEC = frozenset(2 * word + half for word in _NAMED["exec"] for half in (0, 1))
_FORMS = {"buffer": "memory", "global": "memory", "scratch": "memory", "flat": "flat", "ds": "lds", "smem": "scalar",
          "tensor": "tensor"}  # fmt: skip


class Touched(TupleRecord):
    """What a statement does.

    reads, writes: numbers of registers (see the module). kind: that of its memory access (see `memory_counters`), or
    "" of other instructions.
    """

    reads: frozenset[int]
    writes: frozenset[int]
    kind: str


def touched(statement: Statement, target: str) -> Touched:
    """What a statement does on a target of `tables_of`."""
    second = statement.second
    if second is not None:
        halves = [touched(half, target) for half in (statement._replace(second=None), second)]
        return Touched(halves[0].reads | halves[1].reads, halves[0].writes | halves[1].writes, "")
    name = bare(statement.mnemonic)
    one, found = operation_of(name, target), form_of(statement, target)
    if found is None or len(found.operands) != len(statement.operands):
        found = None  # read by the general rule
        pairs = list(zip(accesses(statement, target), statement.operands))
        reads = [text for access, text in pairs if "r" in access]
        writes = [text for access, text in pairs if "w" in access]
    else:
        operands = list(zip(found.operands, statement.operands))
        reads = [text for use, text in operands if not use.destination]
        writes = [text for use, text in operands if use.destination]
        writes += found.writes
    kind = _kind(statement, name, one, found, bool(writes))
    if found is not None and one is not None and (not kind or "atomic" in one.flags):
        # A load of 16 bits keeps a half: that is no read.
        reads += [*found.reads, *(text for use, text in operands if use.access == "rw")]
    if name.startswith(("v_smfmac", "v_swmmac")):
        reads += statement.operands[:1]
    return Touched(_numbers(reads), _numbers(writes), kind)


@lru_cache(maxsize=16384)
def may_access(mnemonic: str, target: str) -> bool:
    """Whether a statement of this mnemonic may be a memory access.

    >>> may_access("ds_read_b32", "gfx942"), may_access("v_add_f32_e32", "gfx942")
    (True, False)
    """
    name = bare(mnemonic)
    one = operation_of(name, target)
    if untabled(name).access or one is None:
        return bool(untabled(name).access)
    return bool(one.flags & {"asynccnt", "message"}) or any(
        form.format.partition(":")[0] in _FORMS for form in one.forms
    )


def _kind(statement: Statement, name: str, one: Operation | None, found: Form | None, returns: bool) -> str:
    """The kind of a memory access, "" if it is none."""
    if one is None or found is None:
        form = untabled(name).access
        flags: frozenset[str] = frozenset()
    else:
        form, flags = _FORMS.get(found.format.partition(":")[0], ""), one.flags
    if "asynccnt" in flags:
        return "async"
    if "message" in flags:
        return "message"
    if form == "lds":
        return "gds" if "gds" in statement.modifiers else "lds"
    if form in ("memory", "flat"):
        if "invalidate" in flags:  # as LLVM counts them: global_inv of gfx12 alone
            return "load" if "global" in flags else ""
        loads = "load" in flags and flags.isdisjoint(("atomic", "from_lds"))
        reading = returns or loads or "prefetch" in flags
        return ("flat " if form == "flat" else "") + ("load" if reading else "store")
    return form


@lru_cache(maxsize=256)
def numbers_of(operand: str) -> frozenset[int]:
    """The numbers of the registers of an operand."""
    halves = {"l": (0,), "h": (1,), "": (0, 1)}
    return frozenset(
        2 * (_FIRST[one.file] + one.first + at) + half
        for one in registers(operand) for at in range(one.count) for half in halves[one.half]
    )  # fmt: skip


def _numbers(operands: list[str]) -> frozenset[int]:
    return frozenset().union(*map(numbers_of, operands))


def register_names(numbers: frozenset[int], most: int = 4) -> str:
    """The names of registers, for messages."""
    words = sorted({number // 2 for number in numbers})
    names = [_name(word) for word in words[:most]]
    return ", ".join(names) + (f" and {len(words) - most} more" if len(words) > most else "")


def _name(word: int) -> str:
    for name, words in _NAMED.items():
        if word in words:
            return name if word == words[0] else f"{name}_hi"
    file, first = max(((file, first) for file, first in _FIRST.items() if first <= word), key=lambda one: one[1])
    return f"{file}{word - first}"


def tables_of(target: str) -> str:
    """The target of the tables by which the operands of a target are read.

    >>> tables_of("gfx1201"), tables_of("gfx1150"), tables_of("gfx1251")
    ('gfx1200', 'gfx1100', 'gfx1250')
    """
    try:
        return covered(target)
    except Error:
        near = [known for known in FAMILY_OF if known[:-2] == target[:-2]]
        return max(known for known in near if known <= target) if near else "gfx1100"
