"""Encode AMD's instructions as machine code, byte for byte as LLVM 24 or 22 does.

    mmacalc assemble -a gfx942 "v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15] cbsz:1" --fields

    mmacalc assemble kernel.s                a compiler's text, which names its target (.amdgcn_target)

Every instruction is taken, but those of graphics, for gfx908, gfx90a, gfx942, gfx950, gfx1100 to gfx1103, gfx1200,
gfx1201 and gfx1250; for other targets matrix instructions. Prints one line of bytes per instruction, in memory order.
With --fields, the encoding of a matrix instruction is drawn with every field, its bits (numbered as in the ISA guides)
and its meaning. The text may have labels, comments, .set, data and the directives that clang -S and Triton write; what
is printed is the code. It is the argument itself, or in a file (- for standard input).
"""

from __future__ import annotations

from . import Reply, show
from .files import text_argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    parser.add_common("target", "wave", "llvm", "json")
    parser.add_argument("text", nargs="+", help="one or more lines; or the path of a file, - for standard input")
    parser.add_argument("--fields", action="store_true", help="draw the encoding with every field")


def run(options: Namespace) -> Reply:
    """The bytes of every statement."""
    from ..answers.assembly import assembly
    from ..render import assembly as render

    text, _ = text_argument(options.text)
    answer = assembly(text, options.architecture, options.wavefront, llvm=options.llvm, fields=options.fields)
    return show(options.json, "assemble", answer, render)
