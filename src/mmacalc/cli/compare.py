"""Compare two instructions of any architectures side by side: shape, work, formats, registers and layouts.

    mmacalc compare gfx942 v_mfma_f32_16x16x16_f16 sm_80 mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32

Of an operand that is not held in registers, such as B of wgmma, the table names where it is.
"""

from __future__ import annotations

from ..catalog import entry
from . import Reply, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    add = parser.add_argument
    for which in ("first", "second"):
        add(f"{which}_architecture", metavar="ARCH", help=f"the architecture of the {which} instruction")
        add(f"{which}_instruction", metavar="INSTRUCTION", help=f"the {which} instruction")
    parser.add_common("json")


def run(options: Namespace) -> Reply:
    """Compare the two."""
    from ..answers.compare import compare
    from ..render import compare as render

    first = entry(options.first_architecture).instruction(options.first_instruction)
    second = entry(options.second_architecture).instruction(options.second_instruction)
    return show(options.json, "compare", compare(first, second), render)
