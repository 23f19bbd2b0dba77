"""Encode matrix instructions of AMD as machine code, byte for byte as LLVM 24 or 22 does.

    mmacalc assemble -a gfx942 "v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15] cbsz:1" --fields

Prints one line of bytes per instruction, in memory order. With --fields, the encoding is drawn with every field, its
bits (numbered as in AMD's ISA guides) and its meaning. The text may have several lines, labels, comments, .set and
.long. It is the argument itself, or in a file (- for standard input).
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
    parser.add_common("architecture", "wave", "llvm", "json")
    parser.add_argument("text", nargs="+", help="one or more lines; or the path of a file, - for standard input")
    parser.add_argument("--fields", action="store_true", help="draw the encoding with every field")


def run(options: Namespace) -> Reply:
    """The bytes of every statement."""
    from ..answers.assembly import assembly
    from ..render import assembly as render

    text, _ = text_argument(options.text)
    answer = assembly(text, options.architecture, options.wavefront, llvm=options.llvm, fields=options.fields)
    return show(options.json, "assemble", answer, render)
