"""Explain the matrix instructions of a text: AMD's assembly or builtins, PTX, SASS or iga64's; a line or a listing.

    mmacalc explain "v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15]"
    mmacalc explain "HMMA.16816.F32 R4, R8, R12, R4"
    mmacalc explain -a MI300X kernel.s
    mmacalc explain "c = __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c, 0, 0, 0);"
    cuobjdump -sass kernel.o | mmacalc explain -

For each: what it computes, with the signs that modifiers put on A, B and C (A' has the halves of its registers that are
named negated), its cycles, which registers hold which operand with which layout, and what lane 0 has; of AMD's assembly
also where a result is used too early, as `mmacalc lint` finds it. Where neither -a nor the text names an architecture,
it is the first that has all of the instructions.
"""

from __future__ import annotations

from ..errors import Error
from . import Reply, show
from .files import text_argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    parser.add_common("target", "json")
    parser.add_argument("text", nargs="+", help="one or more lines; or the path of a file, - for standard input")


def run(options: Namespace) -> Reply:
    """The explanation."""
    from ..answers.explain import explain
    from ..render import explain as render

    text, name = text_argument(options.text)
    if "\0" in text:
        raise Error(
            f"'{name}' is not a text file; give its disassembly, such as that of llvm-objdump -d or cuobjdump -sass"
        )
    return show(options.json, "explain", explain(text, options.architecture), render, name)
