"""DPAS in iga64's assembly, explained: see `explain`."""

from __future__ import annotations

import re

from ...asm.dpas import statements
from ...asm.targets import own_assembler
from ...base.checks import whole
from ...base.errors import Error
from ...catalog import architectures, entry
from .answer import ExplainedLine, ExplainedOperand, Explanation, explained_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...model import Instruction

__all__ = ["explained"]

_DPAS = re.compile(r"(?:\([^)]*\)\s*)?b?dpasw?\.")
_OPERAND = re.compile(r"\b(null|r\d+)(?:\.(\d+))?\s*:\s*\w+")
_ROLES = ("D", "C", "B", "A", "SB", "SA")  # dst, src0 to src4


def explained(text: str, arch: str | None) -> Explanation | None:
    """The explanation of DPAS; None if the text has none.

    Raises:
        Error: `arch` has no DPAS.
    """
    lines = [(number, line) for number, line in statements(text) if _DPAS.match(line)]
    if not lines:
        return None
    if arch is not None:
        if own_assembler(arch) is None:
            raise Error(f"the text is iga64's assembly; {arch} is not an architecture of Intel")
        having = [entry(arch).architecture.name]
    else:
        known = [name for name in architectures() if own_assembler(name)]
        counts = {name: sum(entry(name).canonical(line) is not None for _, line in lines) for name in known}
        having = [name for name in known if counts[name] == max(counts.values())]
    seen = [name for name in having if entry(name).architecture.provenance != "one source"] or having
    where = seen[-1]  # the newest that more than one source describes
    also = tuple([name for name in having if name != where])
    found = explained_once(
        lines, lambda each: each[1], lambda each: each[0], lambda each, name: _line(*each, name), where, also,
        lambda each: (each[1], "iga64"),
    )  # fmt: skip
    return Explanation(where, also, tuple(found))


def _line(number: int, text: str, where: str) -> ExplainedLine:
    try:
        inst = entry(where).instruction(text)
    except Error as refused:
        return ExplainedLine(number, text, "iga64", problem=str(refused))
    operands = [
        _operand(inst, role, read) for role, read in zip(_ROLES, _OPERAND.finditer(text.partition(")")[2] or text))
    ]
    return ExplainedLine(number, text, "iga64", inst, tuple(operands))


def _operand(inst: Instruction, role: str, read: re.Match[str]) -> ExplainedOperand:
    """An operand with its registers; those of an A that begins within a register are left out."""
    if read[1] == "null":
        return ExplainedOperand(role, f"{read[0]} (zero)")
    if whole(read[2] or "0", "an element of a register"):
        return ExplainedOperand(role, read[0])
    layout, first = inst.operand(role), whole(read[1][1:], "a register", 255)
    return ExplainedOperand(role, read[0], tuple([f"r{first + at}" for at in range(layout.registers)]), layout)
