"""Show how a compiler reaches an instruction: clang's builtin with its prototype, and the LLVM intrinsic.

    mmacalc intrinsic -a gfx942 v_mfma_f32_16x16x16_f16
    mmacalc intrinsic -a gfx942 __builtin_amdgcn_mfma_f32_16x16x16f16

`float x4` is a vector of four floats; `imm` marks arguments that must be constants.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from ..compiler.builtins import Intrinsic
    from ..model import Instruction
    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """The architecture and the instruction."""
    parser.add_common("architecture", "wave", "json")
    parser.add_argument("name", help="an instruction, or the name of a builtin or intrinsic")


def run(options: Namespace) -> str:
    """The builtins of one instruction."""
    from ..catalog import instruction
    from ..compiler.builtins import by_name, intrinsics

    if options.name.startswith(("__builtin", "llvm.")):
        inst, one = by_name(options.architecture, options.name)
        found: tuple[Intrinsic, ...] = (one,)
    else:
        inst = instruction(options.architecture, options.name)
        found = intrinsics(inst, options.wavefront)
    if options.json:
        from ..render.json import document, intrinsic_data

        answers = [intrinsic_data(one) for one in found]
        return document("intrinsic", architecture=inst.arch, instruction=inst.name, intrinsics=answers)
    return f"{inst.name}\n" + "\n".join(_text(one) for one in found) if found else _none(inst)


def _none(inst: Instruction) -> str:
    from ..catalog import entry
    from ..compiler.builtins import unscaled

    scaled = next((other for other in entry(inst.arch).instructions() if unscaled(other) is inst), None)
    note = f"; that of {scaled.name} with both scales the constant 0 becomes it" if scaled else ""
    return f"{inst.name}\n  no builtin of its own{note}\n"


def _text(one: Intrinsic) -> str:
    arguments = [
        f"    {name:12} {kind}{', an immediate' if at in one.immediates else ''}\n"
        for at, (name, kind) in enumerate(zip(one.arg_names, one.arg_types))
    ]
    return f"  {one.prototype}\n{''.join(arguments)}  {one.llvm_intrinsic}\n    {one.declaration}\n"
