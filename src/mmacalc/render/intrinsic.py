"""How a compiler reaches an instruction, as text and as JSON."""

from __future__ import annotations

from ..errors import first_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..answers.intrinsic import InstructionIntrinsics
    from ..compiler.builtins import Intrinsic

__all__ = ["intrinsic_object", "json_object", "text"]


def text(answer: InstructionIntrinsics) -> str:
    """Each builtin with its arguments, and the LLVM intrinsic."""
    name = answer.instruction.name
    if answer.intrinsics and not answer.intrinsics[0].return_type:
        also = f"  by its arguments also {first_of([inst.name for inst in answer.others])}\n" if answer.others else ""
        return f"{name}\n{''.join(_named(answer.intrinsics))}{also}"
    if answer.intrinsics:
        return f"{name}\n" + "\n".join(_builtin(one) for one in answer.intrinsics)
    if answer.instruction.architecture.family.sass:
        return f"{name}\n  LLVM 22 has no intrinsic and clang 22 no builtin for it; use inline assembly (asm)\n"
    through = answer.through
    note = f"; that of {through.name} with both scales the constant 0 becomes it" if through else ""
    return f"{name}\n  no builtin of its own{note}\n"


def _named(found: tuple[Intrinsic, ...]) -> Iterator[str]:
    """The names alone; wmma's builtins have the layouts as their last arguments."""
    for builtin in dict.fromkeys([one.builtin for one in found if one.builtin]):
        yield f"  {builtin}  (clang)\n"
    for one in found:
        yield f"  {one.llvm_intrinsic}  (LLVM)\n"


def _builtin(one: Intrinsic) -> str:
    arguments = [
        f"    {name:12} {kind}{', an immediate' if at in one.immediates else ''}\n"
        for at, (name, kind) in enumerate(zip(one.arg_names, one.arg_types))
    ]
    llvm = f"  {one.llvm_intrinsic}\n    {one.declaration}\n" if one.llvm_intrinsic else ""
    return f"  {one.prototype}\n{''.join(arguments)}{llvm}"


def json_object(answer: InstructionIntrinsics) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "architecture": answer.instruction.arch,
        "instruction": answer.instruction.name,
        "provenance": answer.instruction.provenance,
        "intrinsics": [intrinsic_object(one) for one in answer.intrinsics],
        "through": answer.through and answer.through.name,
        "others": [inst.name for inst in answer.others],
    }


def intrinsic_object(intrinsic: Intrinsic) -> dict[str, Any]:
    """A compiler's builtin as plain data."""
    return {**intrinsic._asdict(), "prototype": intrinsic.prototype}
