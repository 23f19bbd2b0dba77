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

from ..errors import Error
from . import Reply, show
from .parser import either

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    parser.add_common("architecture", "wave", "json")
    parser.add_argument("name", nargs="?", help="an instruction, or the name of a builtin or intrinsic")
    parser.add_argument("-i", "--instruction", metavar="NAME", help="the same")


def run(options: Namespace) -> Reply:
    """The builtins of one instruction."""
    from ..answers.intrinsic import intrinsic, intrinsic_named
    from ..catalog import instruction
    from ..compiler.builtins import PREFIXES
    from ..render import intrinsic as render

    name = either("the instruction", options.name, options.instruction)
    if name is None:
        raise Error("no instruction was given; choose one with -i, or list them with `mmacalc -a ... -L`")
    if name.lstrip("@").startswith(PREFIXES):
        answer = intrinsic_named(options.architecture, name)
    else:
        answer = intrinsic(instruction(options.architecture, name), options.wavefront)
    return show(options.json, "intrinsic", answer, render)
