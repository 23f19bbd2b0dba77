"""Explain the matrix instructions of a text: AMD's assembly, PTX, SASS, iga64's, or builtins; a line or a listing.

    mmacalc explain "v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15]"
    mmacalc explain "HMMA.16816.F32 R4, R8, R12, R4"
    mmacalc explain -a MI300X kernel.s
    mmacalc explain *.s                          several; with --json, one line for each
    mmacalc explain kernel.hsaco                 an object of an AMD GPU
    mmacalc explain "c = __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c, 0, 0, 0);"
    mmacalc explain "__hmma_m16n16k16_mma_f32f32(d, a, b, c, 1, 0);"
    cuobjdump -sass kernel.o | mmacalc explain -

For each: what it computes, with the signs that modifiers put on A, B and C (A' has the halves of its registers that are
named negated), its cycles, which registers hold which operand with which layout, and what lane 0 has; of AMD's assembly
also where a result is used too early, as `mmacalc lint` finds it. Where neither -a nor the text names an architecture,
it is the newest that has all of the instructions, with the cycles of the others where they differ.
"""

from __future__ import annotations

from ..errors import printable
from ..render.json import document
from . import Reply, show
from .files import each_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from .files import GivenText
    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    parser.add_common("target", "json")
    parser.add_argument("text", nargs="+", help="paths of files, - for standard input; or one or more lines")


def run(options: Namespace) -> Iterator[Reply]:
    """The explanation; of several files one after another, also where one is refused."""
    return each_text(options, _reply)


def _reply(given: GivenText, options: Namespace) -> Reply:
    from ..answers.explain import explain
    from ..render import explain as render

    arch = options.architecture and options.architecture.partition(":")[0]
    answer = explain(given.text, arch)
    if options.json:
        return Reply(0, document("explain", render.json_object(answer, given.name if given.several else None)), "")
    reply = show(False, "explain", answer, render, given.name)
    return reply._replace(out=f"{printable(given.name)}:\n{reply.out}\n") if given.several else reply
