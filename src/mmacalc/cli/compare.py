"""Compare two instructions of any architectures side by side: shape, work, formats, registers and layouts.

    mmacalc compare gfx942 v_mfma_f32_16x16x16_f16 sm_80 mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32

Of an operand that is not held in registers, such as B of wgmma, the table names where it is.
"""

from __future__ import annotations

from ..catalog import entry
from ..errors import Error
from . import Reply, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    add = parser.add_argument
    add(
        "names", nargs="*", metavar="NAME", help="the architecture and the instruction, first of one, then of the other"
    )
    add(
        "-a",
        "--architecture",
        metavar="NAME",
        action="append",
        default=[],
        help="an architecture; once for each or both",
    )
    parser.add_common("instructions", "json")


def run(options: Namespace) -> Reply:
    """Compare the two."""
    from ..answers.compare import compare
    from ..render import compare as render

    architectures = options.names[::2] + options.architecture
    instructions = options.names[1::2] + options.instruction
    if len(options.names) % 2 or len(architectures) not in (1, 2) or len(instructions) != 2:
        got = " ".join([*architectures, *instructions]) or "none"
        raise Error(f"compare takes two instructions, each after its architecture, or -a and -i for each; got {got}")
    first, second = map(lambda arch, name: entry(arch).instruction(name), (architectures * 2)[:2], instructions)
    return show(options.json, "compare", compare(first, second), render)
