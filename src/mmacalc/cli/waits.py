"""How many wait states one instruction needs after another, and by which rule; or all such pairs of a listing.

    mmacalc waits -a gfx950 "v_mfma_f32_32x32x16_f16 v[0:15], v[16:19], v[20:23], v[0:15]" "v_add_f32 v24, v0, v25"
    mmacalc waits kernel.hsaco               an object: each kernel's pairs
    mmacalc waits -a gfx942 kernel.s         a listing

Two lines are assembly as LLVM writes it. Wait states are independent instructions, or s_nop N for N + 1 of them;
on gfx11, gfx12 and gfx1250 they are VALU instructions or v_nop. On gfx1100 to gfx1103 a VALU instruction that reads
what a transcendental one wrote (v_exp_f32, then a WMMA) needs s_waitcnt_depctr depctr_va_vdst(0), unless enough stands
between; so does lds_direct_load whose wait_vdst is too large for what was before. Where LLVM and the ISA guide differ
the larger counts. A source marked unconfirmed is shown but does not count.

Of a listing or an object each instruction that needs wait states after an earlier one is printed with the states that
it needs and has, on the shortest path; those that lack some are marked. `mmacalc lint` finds the same mistakes, and
missing waits for memory. The status is 0 both ways.
"""

from __future__ import annotations

from ..errors import Error
from ..render.json import document
from . import Reply, show
from .files import each_text, names_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from .files import GivenText
    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    parser.add_common("target", "json")
    parser.add_argument("text", nargs="+", help="two lines of assembly; or paths of files, - for standard input")


def run(options: Namespace) -> Iterator[Reply]:
    """The wait states of a pair, or of every pair of each listing."""
    from ..hazards.recognizer import wait_states
    from ..render import waits

    lines = options.text
    if len(lines) != 2 or any(map(names_file, lines)):
        yield from each_text(options, _reply)
        return
    if options.architecture is None:
        raise Error("two lines of assembly name no architecture; give it: -a gfx942")
    yield show(options.json, "waits", wait_states(lines[0], lines[1], options.architecture), waits)


def _reply(given: GivenText, options: Namespace) -> Reply:
    from ..asm.reader import addresses
    from ..hazards.lint import required_waits
    from ..render import waits

    report = required_waits(given.text, options.architecture and options.architecture.partition(":")[0])
    if options.json:
        return Reply(0, document("waits", waits.listing_object(report, given.name)), "")
    return Reply(0, waits.listing_text(report, given.name, addresses(given.text) if given.listed else {}), "")
