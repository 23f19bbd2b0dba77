"""How an operand is loaded from memory (D: stored): the accesses, the cache lines, and LDS bank conflicts.

    mmacalc memory -a gfx950 -i v_mfma_f32_32x32x16_bf16 -A --ld 64            row by row in memory, 64 elements a row
    mmacalc memory -a gfx950 -i v_mfma_f32_32x32x16_bf16 -A --ld 64 --search   padding and swizzles without a conflict
    mmacalc memory -a gfx942 -i v_mfma_f32_16x16x16_f16 -A --kpack 2 --search  k relabelled over two instructions
    mmacalc memory -a a100 -i mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 -B --order col      with ldmatrix

Bank phases are data of each architecture, with their source; what has not been measured is marked.
"""

from __future__ import annotations

from . import Reply, show
from .parser import modifiers, whole_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    parser.add_common("architecture", "instruction", "wave", "json")
    add = parser.add_argument
    for name in "ABCD":
        add(f"-{name}", f"--{name}-matrix", dest="matrix", action="store_const", const=name, help=f"the matrix {name}")
    add("--order", default="row", metavar="ORDER", help="row (default): row by row in memory; col: column by column")
    add("--ld", type=whole_number, metavar="N", help="elements from one row (column) in memory to the next")
    add("--pad", type=whole_number, default=0, metavar="BYTES", help="padding behind each row in LDS")
    add("--swizzle", metavar="SWIZZLE", help="of LDS: BITS,BASE,SHIFT, 32B, 64B, 128B or vec,perPhase,maxPhase=4,1,16")
    add("--kpack", type=whole_number, metavar="N", help="load N instructions' operands at once, k relabelled")
    add(
        "--fill",
        type=whole_number,
        default=16,
        metavar="BYTES",
        help="a lane's bytes in the accesses that fill LDS: 4, 8 or 16 (default), which --search also keeps free",
    )
    add("--search", action="store_true", help="the smallest padding and swizzle without a conflict")
    parser.add_modifiers()


def run(options: Namespace) -> Reply:
    """The accesses of an operand."""
    from ..catalog import entry
    from ..errors import Error
    from ..memory_access.answer import MemoryAndRepair, memory
    from ..render import memory as render

    if not options.matrix:
        raise Error("choose the matrix with -A, -B, -C or -D")
    inst = entry(options.architecture).instruction(options.instruction)
    operand = inst.operand(options.matrix, wave=options.wavefront or None, **modifiers(options))
    answer = memory(operand, options.order, options.ld, options.pad, options.swizzle, options.kpack, options.fill)
    found = MemoryAndRepair(answer, answer.search() if options.search else None)
    return show(options.json, "memory", found, render)
