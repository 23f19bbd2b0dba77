"""Calls of clang's builtins and of LLVM's intrinsics for AMD's matrix instructions, explained: see `explain`."""

from __future__ import annotations

import re
from functools import cache

from ..catalog import entry
from ..compiler.arguments import OPERANDS, fields_of
from ..compiler.builtins import named, unscaled
from ..errors import did_you_mean
from ..numerals import literal
from ..records import TupleRecord
from .explain import ExplainedLine, ExplainedOperand
from .explain_amd_operands import accepted, explained_operand, numbered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..compiler.prototypes import Intrinsic
    from ..model import Instruction

__all__ = ["BuiltinCall", "builtin_calls", "builtin_line", "builtin_names", "has_builtin", "without_comments"]

_KINDS = "(?:mfma|smfmac|wmma|swmmac)"
_NAME = re.compile(rf"\b(?:__builtin_amdgcn_{_KINDS}_\w+|llvm\.amdgcn\.{_KINDS}\.[\w.]+)")
_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)


class BuiltinCall(TupleRecord):
    """A call: the line of its name, from 1, the name, its arguments (none where only the name is there), its text."""

    number: int
    name: str
    arguments: tuple[str, ...]
    text: str


def without_comments(text: str) -> str:
    """C++ with its comments as blanks, so that lines keep their numbers."""
    return _COMMENT.sub(lambda found: found[1] or " " + "\n" * found[0].count("\n"), text)


def builtin_calls(text: str) -> list[BuiltinCall]:
    """The calls in C++ or LLVM IR.

    >>> builtin_calls("d = __builtin_amdgcn_mfma_f32_32x32x8f16(a[i], f(b, 1), c, 0, 0, 0);")[0].arguments
    ('a[i]', 'f(b, 1)', 'c', '0', '0', '0')
    """
    plain, found = without_comments(text), []
    for match in _NAME.finditer(plain):
        arguments, end = _arguments(plain, match.end())
        shown = " ".join(plain[match.start() : end].split())
        before = plain[: match.start()].rpartition("\n")[2].strip()
        if not before.startswith(("declare ", ";", "#")):  # LLVM's declarations and comments, the preprocessor's tests
            found.append(BuiltinCall(plain.count("\n", 0, match.start()) + 1, match[0], arguments, shown))
    return found


def _arguments(text: str, at: int) -> tuple[tuple[str, ...], int]:
    """The arguments in the parentheses that follow, and where they end."""
    start = at + len(text[at:]) - len(text[at:].lstrip())
    if text[start : start + 1] != "(":
        return (), at
    depth, words = 0, [""]
    for end in range(start, len(text)):
        letter = text[end]
        depth += (letter in "([{<") - (letter in ")]}>")
        if depth == 0:
            return tuple([" ".join(word.split()) for word in words if word.strip()]), end + 1
        if letter == "," and depth == 1:
            words.append("")
        elif end > start:
            words[-1] += letter
    return (), at


@cache
def _known(arch: str) -> Mapping[str, tuple[Instruction, Intrinsic, int]]:
    """The builtins and intrinsics of an architecture, with the wave size."""
    return named(arch) if entry(arch).architecture.builtins else {}


def builtin_names(arch: str) -> Iterator[str]:
    """The names of an architecture's builtins and LLVM's intrinsics."""
    yield from _known(arch)


def has_builtin(arch: str, name: str) -> bool:
    """Whether an architecture has a builtin or intrinsic."""
    return name in _known(arch)


def builtin_line(call: BuiltinCall, where: str) -> ExplainedLine:
    """The explanation of one call."""
    known = _known(where)
    if call.name not in known:
        title = entry(where).architecture.title
        return ExplainedLine(
            call.number, call.text, "builtin",
            problem=f"{title} has no matrix builtin '{call.name}'.{did_you_mean(call.name, list(known))}",
        )  # fmt: skip
    inst, intrinsic, wave = known[call.name]
    if call.arguments and len(call.arguments) < len(intrinsic.arg_names):
        return ExplainedLine(call.number, call.text, "builtin", inst, problem=f"it is {intrinsic.prototype}")
    passed = dict(zip(intrinsic.arg_names, call.arguments))
    constants = {name: number for name, text in passed.items() if (number := _constant(text)) is not None}
    if constants.get("a_scale") == constants.get("b_scale") == 0:
        inst = unscaled(inst) or inst
    clamp = constants.pop("clamp", 0)
    given = fields_of(inst, {name: value for name, value in constants.items() if name not in OPERANDS})
    fields, problem = accepted(inst, wave, given)
    flags = {"clamp": 1} if clamp else {}
    cycles = inst.cycles_for(**{name: value for name, value in fields.items() if name in inst.choices})
    operands = _operands(inst, passed, fields, wave)
    return ExplainedLine(
        call.number, call.text, "builtin", inst, tuple(operands), fields, cycles, problem=problem, flags=flags
    )


def _operands(
    inst: Instruction, passed: Mapping[str, str], fields: Mapping[str, int], wave: int
) -> Iterator[ExplainedOperand]:
    layout = inst.operand("D", wave, **fields)
    yield explained_operand("D", "the result", numbered(layout), layout)
    for name, text in passed.items():
        if (role := OPERANDS.get(name, name)) in inst.operands:
            layout = inst.operand(role, wave, **fields)
            yield explained_operand(role, text, numbered(layout), layout)
        elif role == "C":  # of a sparse product, whose D is also what is added to
            yield ExplainedOperand("C", text, remarks=("in the registers of D",))


def _constant(text: str) -> int | None:
    """The value of a constant of C++ or of LLVM IR (i32 1); None if it is another expression."""
    word = text.split(" ")[-1]
    return {"true": 1, "false": 0}.get(word, literal(word))
