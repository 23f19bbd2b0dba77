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
from ..render.arithmetic import numerics_data, numerics_text
from ..render.spelling import heading
from .parser import field_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from ..diagnosis.witness import RoundingExample
    from .parser import Parser

OWN = {"exact": "The model is the exact sum, so only the chain differs.", "fused": "The model is such a chain."}


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    add = parser.add_argument
    add("-a", "--architecture", metavar="NAME", help="one architecture only")
    add("-i", "--instruction", metavar="NAME", help="one instruction (case-insensitive)")
    parser.add_common("wave", "json")
    add("--markdown", action="store_true", help="print the table as a page of Markdown")
    add("-m", "--modifier", metavar="NAME=VALUE", action="append", default=[], help="cbsz=fp4 ... (where formats vary)")


def run(options: Namespace) -> str:
    """The model of an instruction, its provenance and the input; or a table of many."""
    if not options.instruction:
        return _overview(options)
    if not options.architecture:
        raise Error(f"-i {options.instruction[:60]} needs -a, the architecture of the instruction")
    if options.markdown:
        raise Error("--markdown prints a table of instructions; leave -i out")
    return _instruction(options)


def _overview(options: Namespace) -> str:
    from ..answers.numerics import overview
    from ..render import numerics

    if options.modifier or options.wavefront:
        raise Error("-m and --wavefront are for one instruction; give -i as well")
    rows = overview(options.architecture)
    if options.json:
        from ..render.json import document

        return document("numerics", numerics.json_object(rows))
    return numerics.page(rows) if options.markdown else numerics.text(rows)


def _instruction(options: Namespace) -> str:
    from ..diagnosis.witness import rounding_example
    from ..emulator.execution import execution_of

    inst = entry(options.architecture).instruction(options.instruction)
    modifiers = dict(map(field_value, options.modifier))
    execution = execution_of(inst, options.wavefront or None, modifiers, False, False)
    found = rounding_example(execution)
    if options.json:
        from ..render import json as json_text

        example = dict(zip(found._fields, found)) if found else None
        return json_text.document(
            "numerics",
            {**json_text.instruction_object(inst), "numerics": numerics_data(execution.numerics), "example": example},
        )
    return heading(inst) + numerics_text(execution.numerics) + (_example(found) if found else "")


def _example(found: RoundingExample) -> str:
    """The dot product, its terms that are not zero, and the three sums."""
    terms = [f"a[{k}] = {_number(x)}, b[{k}] = {_number(y)}" for k, (x, y) in enumerate(zip(found.a, found.b)) if x * y]
    lines = ["Where it shows: c = " + _number(found.c) + ", " + "; ".join(terms) + ", all others 0"]
    for name, value in (
        ("this instruction", found.instruction), ("exact sum, rounded once", found.exact),
        ("chain of fused multiply-adds", found.fused),
    ):  # fmt: skip
        lines.append(f"  {name:28}  {float.hex(value):>24}  {value:.17g}")
    lines += [f"  {text}" for name, text in OWN.items() if getattr(found, name) == found.instruction]
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    """A number, as a power of two where it is a far one.

    >>> _number(-1.5), _number(2.0**-24), _number(-3 * 2.0**-25)
    ('-1.5', '2^-24', '-1.5*2^-24')
    """
    from math import frexp

    if value == 0 or 2.0**-6 <= abs(value) <= 4096:
        return f"{value:.17g}"
    fraction, exponent = frexp(abs(value))
    sign = "-" if value < 0 else ""
    return f"{sign}2^{exponent - 1}" if fraction == 0.5 else f"{sign}{2 * fraction:.17g}*2^{exponent - 1}"
