"""How many wait states one instruction needs after another, and by which rule.

    mmacalc waits -a gfx950 "v_mfma_f32_32x32x16_f16 v[0:15], v[16:19], v[20:23], v[0:15]" "v_add_f32 v24, v0, v25"

The two lines are assembly as LLVM writes it. Wait states are independent instructions, or s_nop N for N + 1 of them;
on gfx11, gfx12 and gfx1250 they are VALU instructions or v_nop. On gfx1100 to gfx1103 a VALU instruction that reads
what a transcendental one wrote (v_exp_f32, then a WMMA) needs s_waitcnt_depctr depctr_va_vdst(0), unless enough stands
between; so does lds_direct_load whose wait_vdst is too large for what was before. Where LLVM and the ISA guide differ
the larger counts. A source marked unconfirmed is shown but does not count.
"""

from __future__ import annotations

from . import Reply, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    parser.add_common("architecture", "json")
    parser.add_argument("first", help="a line of assembly")
    parser.add_argument("second", help="the line that follows it")


def run(options: Namespace) -> Reply:
    """The wait states of a pair."""
    from ..hazards.recognizer import wait_states
    from ..render import waits

    answer = wait_states(options.first, options.second, options.architecture)
    return show(options.json, "waits", answer, waits)
