"""Explain how an instruction rounds: its arithmetic model in words, how sure that is, and an input that shows it.

    mmacalc numerics -a gfx942 -i v_mfma_f32_16x16x16_f16
    mmacalc numerics -a gfx942                             a table of all its instructions
    mmacalc numerics                                       the same of every architecture

The input is one dot product on which the instruction differs from the exact sum rounded once, and from a chain of
fused multiply-adds; it was found by trying, and the emulator computed all three answers.
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
    add("-a", "--architecture", metavar="NAME", help="one architecture only")
    add("-i", "--instruction", metavar="NAME", help="one instruction (case-insensitive)")
    parser.add_common("wave", "json")
    add("--markdown", action="store_true", help="print the table as a page of Markdown")
    parser.add_modifiers()


def run(options: Namespace) -> Reply:
    """The model of an instruction, its provenance and the input; or a table of many."""
    if not options.instruction:
        return _overview(options)
    if not options.architecture:
        raise Error(f"-i {options.instruction[:60]} needs -a, the architecture of the instruction")
    if options.markdown:
        raise Error("--markdown prints a table of instructions; leave -i out")
    return _instruction(options)


def _overview(options: Namespace) -> Reply:
    from ..answers.numerics import overview
    from ..render import numerics

    if modifiers(options) or options.wavefront:
        raise Error("modifiers and --wavefront are for one instruction; give -i as well")
    return show(options.json, "numerics-overview", overview(options.architecture), numerics, options.markdown)


def _instruction(options: Namespace) -> Reply:
    from ..answers.numerics import numerics
    from ..render import instruction_numerics

    inst = entry(options.architecture).instruction(options.instruction)
    answer = numerics(inst, options.wavefront, **modifiers(options))
    return show(options.json, "numerics", answer, instruction_numerics)
