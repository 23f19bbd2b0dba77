"""The loads that transpose a matrix into an operand: what each lane receives (CDNA4, RDNA4, gfx1250).

    mmacalc transpose-loads -a gfx950                                  the loads, and the operands that each fills
    mmacalc transpose-loads -a gfx950 -i v_mfma_f32_32x32x16_f16 -A    the loads that fill A, and which k each takes
    mmacalc transpose-loads -a gfx950 --load ds_read_b64_tr_b8            lane by lane, a tile of one load
    mmacalc transpose-loads -a gfx1250 -i v_wmma_f32_16x16x32_f16 -B --load global_load_tr16_b128

-A is for an A that memory holds column by column, -B for a B that it holds row by row. `lds-transpose` is this
command's older name.
"""

from __future__ import annotations

from ..catalog import entry
from ..errors import Error
from . import Reply, show
from .parser import modifiers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    add = parser.add_argument
    add("-a", "--architecture", metavar="NAME", default="cdna4", help="the architecture (default: cdna4)")
    add("-i", "--instruction", metavar="NAME", help="the instruction")
    add("-A", "--A-matrix", dest="matrix", action="store_const", const="A", help="its A, column by column in memory")
    add("-B", "--B-matrix", dest="matrix", action="store_const", const="B", help="its B, row by row in memory")
    parser.add_modifiers()
    add("--load", "-l", metavar="NAME", help="the load; with -i, the one to use")
    parser.add_common("json")


def run(options: Namespace) -> Reply:
    """The loads of an architecture, those of an operand, or the tile of one load."""
    from ..answers.transpose_loads import load_listing, load_named, operand_loads
    from ..render import transpose_loads as render

    arch = options.architecture
    if options.instruction:
        if not options.matrix:
            raise Error("choose the matrix with -A or -B")
        operand = entry(arch).instruction(options.instruction).operand(options.matrix, **modifiers(options))
        return show(options.json, "lds-transpose", operand_loads(operand, options.load), render)
    if options.load:
        return show(options.json, "lds-transpose-tile", load_named(arch, options.load), render)
    return show(options.json, "lds-transpose-loads", load_listing(arch), render)
