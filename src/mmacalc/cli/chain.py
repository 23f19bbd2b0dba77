"""Say whether the result of one instruction can be an operand of the next, and how.

    mmacalc chain -a gfx942 v_mfma_f32_32x32x8_f16 v_mfma_f32_32x32x8_f16          D of the first into the second
    mmacalc chain -a gfx950 v_mfma_f32_32x32x16_f16 v_mfma_f32_32x32x16_f16 --use B --keep-k
    mmacalc chain -a sm_80 --list mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32

The result D can become A or B of the next instruction, as it is or transposed (At, Bt): f is the index that
survives, k the one that is added up. Without --use all four are answered, the cheapest first. Where k may be
relabelled, elements often stay in their lanes; --keep-k asks without that.
"""

from __future__ import annotations

from ..catalog import entry
from ..chains import Feeds, chain, feeds
from ..errors import Error
from ..render import chain as render
from ..render import chain_list
from . import show
from .parser import modifiers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from . import Reply
    from .parser import Parser

TWO = "chain takes two instructions, the one that computes D and the one that uses it; or --list and one"


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    add = parser.add_argument
    parser.add_common("architecture", "wave", "json")
    add("x", metavar="X", nargs="?", help="the instruction whose result D is used")
    add("y", metavar="Y", nargs="?", help="the instruction that uses it")
    parser.add_common("instructions")
    add("--use", metavar="OPERAND", help="A, At, B or Bt: what D becomes (At and Bt: its transpose)")
    add("--keep-k", action="store_true", help="do not relabel the contracted index")
    add(
        "--list",
        action="store_true",
        help="list all that D of X feeds without moves between lanes (f8f6f4: as 8 bits, or as --cbsz ... say)",
    )
    parser.add_modifiers()


def run(options: Namespace) -> Reply:
    """One chain, the four, or the list."""
    known = entry(options.architecture)
    names = [name for name in (options.x, options.y) if name is not None] + options.instruction
    if not 1 <= len(names) <= 2 or (len(names) == 2) == options.list:
        wanted = "--list takes one instruction, the one whose result is used" if options.list else TWO
        raise Error(f"{wanted}; got {' and '.join(names) or 'none'}")
    x = known.instruction(names[0])
    fields = modifiers(options)
    if options.list:
        found = Feeds(x, feeds(x, options.use, options.wavefront, **fields))
        return show(options.json, "chain-list", found, chain_list)
    y, how = known.instruction(names[1]), (options.keep_k, options.wavefront)
    one = (chain(x, y, options.use, *how, **fields),) if options.use else chain(x, y, None, *how, **fields)
    return show(options.json, "chain", one, render)
