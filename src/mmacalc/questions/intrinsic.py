"""Show how a compiler reaches an instruction: clang's builtin with its prototype, and the LLVM intrinsic.

    mmacalc intrinsic -a gfx942 v_mfma_f32_16x16x16_f16
    mmacalc intrinsic -a gfx942 __builtin_amdgcn_mfma_f32_16x16x16f16

    mmacalc intrinsic -a xe-hpc dpas.8x8.f.f.bf.bf
    mmacalc intrinsic -a A100 wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32
    mmacalc intrinsic -a A100 llvm.nvvm.mma.m16n8k16.row.col.bf16

For NVIDIA these are the names of clang 22 and LLVM 22; what they lack is reached by inline assembly.
`float x4` is a vector of four floats; `imm` marks arguments that must be constants.
"""

from __future__ import annotations

from ..base.checks import arguments_checked
from ..base.errors import Error, abbreviated
from ..base.records import Record, json_keys
from ..catalog import entry
from ..command import Command, Reply, argument, option, show
from ..command.common import ARCHITECTURE, JSON, WAVE
from ..command.options import either

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..command import Options
    from ..compiler.dialects import Intrinsic
    from ..model import Instruction


@json_keys(
    "architecture=instruction.arch",
    "instruction=instruction.name",
    "provenance=instruction.provenance",
    "intrinsics",
    "through=through.name: the scaled instruction whose builtin becomes it",
    "others=other_names",
)
class InstructionIntrinsics(Record):
    """The builtins of one instruction.

    Attributes:
        instruction: which. intrinsics: none, one, or on RDNA3 with a 16-bit D two.
        through: where it has none, the scaled instruction whose builtin becomes it when both scales are the constant
            0; None if there is no such instruction either.
        others: what a name that was asked for becomes as well, by its arguments.
    """

    instruction: Instruction
    intrinsics: tuple[Intrinsic, ...]
    through: Instruction | None = None
    others: tuple[Instruction, ...] = ()

    @property
    def other_names(self) -> tuple[str, ...]:
        """The names of `others`."""
        return tuple([inst.name for inst in self.others])


@arguments_checked
def intrinsic(instruction: Instruction, wave: int | None = None) -> InstructionIntrinsics:
    """The builtins of an instruction.

    Args:
        instruction: which. wave: the wave size; the architecture's default if left out.

    Raises:
        Error: the architecture has no such wave size.

    >>> import mmacalc
    >>> found = mmacalc.intrinsic(mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16"))
    >>> [one.llvm_intrinsic for one in found.intrinsics]
    ['llvm.amdgcn.mfma.f32.16x16x16f16']
    """
    from ..compiler.builtins import intrinsics, unscaled

    found = intrinsics(instruction, wave)
    if found or not instruction.architecture.encoding:
        return InstructionIntrinsics(instruction, found)
    scaled = entry(instruction.arch).instructions(lambda name: name != instruction.name == name.replace("_scale_", "_"))
    through = (other for other in scaled if unscaled(other) is instruction)
    return InstructionIntrinsics(instruction, (), next(through, None))


def intrinsic_named(arch: str, name: str) -> InstructionIntrinsics:
    """The builtin or LLVM intrinsic of that name, and its instruction.

    Raises:
        Error: the architecture has no such builtin.
    """
    from ..compiler.builtins import all_by_name

    (instruction, found, _), *others = all_by_name(arch, name)
    return InstructionIntrinsics(instruction, (found,), others=tuple([inst for inst, _, _ in others]))


def text(answer: InstructionIntrinsics) -> str:
    """Each builtin with its arguments, and the LLVM intrinsic."""
    name = answer.instruction.name
    if answer.intrinsics and not answer.intrinsics[0].return_type:
        also = (
            f"  by its arguments also {abbreviated([inst.name for inst in answer.others])}\n" if answer.others else ""
        )
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
        if one.llvm_intrinsic:
            yield f"  {one.llvm_intrinsic}  (LLVM)\n"


def _builtin(one: Intrinsic) -> str:
    arguments = [
        f"    {name:12} {kind}{', an immediate' if at in one.immediates else ''}\n"
        for at, (name, kind) in enumerate(zip(one.arg_names, one.arg_types))
    ]
    llvm = f"  {one.llvm_intrinsic}\n    {one.declaration}\n" if one.llvm_intrinsic else ""
    return f"  {one.prototype}\n{''.join(arguments)}{llvm}"


def run(options: Options) -> Reply:
    """The builtins of one instruction."""
    from ..catalog import instruction
    from ..compiler.builtins import PREFIXES

    name = either("the instruction", options.name, options.instruction)
    if name is None:
        raise Error("no instruction was given; choose one with -i, or list them with `mmacalc -a ... -L`")
    if name.lstrip("@").startswith(PREFIXES):
        answer = intrinsic_named(options.architecture, name)
    else:
        answer = intrinsic(instruction(options.architecture, name), options.wavefront)
    return show(options.json, "intrinsic", answer, text)


COMMAND = Command(
    "intrinsic", "show the clang builtin and the LLVM intrinsic of an instruction", "look", __doc__,
    (
        ARCHITECTURE, WAVE, JSON,
        argument("name", "an instruction, or the name of a builtin or intrinsic", nargs="?", placeholder="INSTRUCTION"),
        option("-i", "--instruction", placeholder="NAME", help="the same"),
    ),
    run, {"intrinsic": text},
)  # fmt: skip
