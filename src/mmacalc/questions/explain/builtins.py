"""Calls of clang's builtins and of LLVM's intrinsics for AMD's matrix instructions, explained: see `explain`."""

from __future__ import annotations

from functools import lru_cache

from ...base.errors import Error, did_you_mean
from ...catalog import entry
from ...compiler.builtins import OPERANDS, fields_of, named, unscaled
from ...compiler.c_text import calls, constant
from .amd import accepted, explained_operand, numbered
from .answer import ExplainedLine, ExplainedOperand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...compiler.c_text import Call
    from ...compiler.dialects import Intrinsic
    from ...model import Instruction

__all__ = ["builtin_calls", "builtin_line", "builtin_names", "has_builtin"]

_KINDS = ("mfma", "smfmac", "wmma", "swmmac")
_NAMES = tuple([f"__builtin_amdgcn_{kind}_" for kind in _KINDS] + [f"llvm.amdgcn.{kind}." for kind in _KINDS])


def builtin_calls(text: str) -> list[Call]:
    """The calls of matrix builtins in C++ or LLVM IR.

    >>> builtin_calls("d = __builtin_amdgcn_mfma_f32_32x32x8f16(p->a, f(b, 1), c, 0, 0, 0);")[0].arguments
    ('p->a', 'f(b, 1)', 'c', '0', '0', '0')
    """
    return calls(text, lambda name: name.startswith(_NAMES)) if any(map(text.__contains__, _NAMES)) else []


@lru_cache(maxsize=64)
def _known(arch: str) -> Mapping[str, tuple[Instruction, Intrinsic, int]]:
    """The builtins and intrinsics of an architecture, with the wave size."""
    return named(arch) if entry(arch).architecture.builtins else {}


def builtin_names(arch: str) -> Iterator[str]:
    """The names of an architecture's builtins and LLVM's intrinsics."""
    yield from _known(arch)


def has_builtin(arch: str, name: str) -> bool:
    """Whether an architecture has a builtin or intrinsic."""
    return name in _known(arch)


def builtin_line(call: Call, where: str) -> ExplainedLine:
    """The explanation of one call."""
    known = _known(where)
    if call.name not in known:
        title = entry(where).architecture.title
        return ExplainedLine(
            call.number, call.text, "builtin",
            problem=f"{title} has no matrix builtin '{call.name}'.{did_you_mean(call.name, list(known))}",
        )  # fmt: skip
    inst, intrinsic, wave = known[call.name]
    given = call.arguments_for(len(intrinsic.arg_names))
    if given and not len(intrinsic.arg_names) <= len(given) <= most_arguments(intrinsic):
        return ExplainedLine(
            call.number, call.text, "builtin", inst,
            problem=f"it takes {len(intrinsic.arg_names)} arguments; got {len(given)}: it is {intrinsic.prototype}",
        )  # fmt: skip
    passed = dict(zip(intrinsic.arg_names, given))
    constants, unknown = immediates(passed, intrinsic, call.name)
    if constants.get("a_scale") == constants.get("b_scale") == 0:
        inst = unscaled(inst) or inst
    clamp = constants.pop("clamp", 0)
    fields, problem = accepted(
        inst, wave, fields_of(inst, {name: value for name, value in constants.items() if name not in OPERANDS})
    )
    flags = {"clamp": 1} if clamp else {}
    cycles = inst.cycles_for(**{name: value for name, value in fields.items() if name in inst.choices})
    operands = _operands(inst, passed, fields, wave)
    return ExplainedLine(
        call.number, call.text, "builtin", inst, tuple(operands), fields, cycles, problem=unknown or problem,
        flags=flags,
    )  # fmt: skip


def most_arguments(intrinsic: Intrinsic) -> int:
    """How many arguments a call may have: LLVM may have some that clang fills in."""
    return max(len(intrinsic.arg_names), len(intrinsic.declaration.partition("(")[2].split(", ")))


def immediates(passed: Mapping[str, str], intrinsic: Intrinsic, name: str) -> tuple[dict[str, int], str]:
    """The values of the arguments that are constants; and what is wrong with those that must be and are not."""
    found: dict[str, int] = {}
    problem = ""
    must = {intrinsic.arg_names[at] for at in intrinsic.immediates}
    for argument, text in passed.items():
        try:
            value = constant(text, llvm=name.startswith("llvm."))
        except Error as refused:
            problem = problem or f"{argument}: {refused}"
            continue
        if value is not None:
            found[argument] = value
        elif argument in must:
            problem = (
                problem or f"the value of {argument}, '{text}', is not in the text; it is explained for {argument} 0"
            )
    return found, problem


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
