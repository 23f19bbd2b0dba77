"""What a GEMM costs, for every instruction that could do it, from the shapes, best first.

    mmacalc estimate -a MI300A --gemm 4096x4096x4096 --type f16
    mmacalc estimate -a gfx950 --gemm 8192x8192x8192 --type fp4 --json
    mmacalc estimate -a MI308X --gemm 4096x4096x4096 --type fp8 --clock 1.4

An architecture or target stands for the product that the answer names; --units and --clock describe another. "cycles
each" is how long one instruction occupies its matrix unit, of which a compute unit (of RDNA: a workgroup processor,
of NVIDIA: an SM) has four that work at the same time; "cycles" is that of all instructions. "useful" is the part of
the issued operations that is not padding, "peak" the useful operations in those cycles over the architecture's fastest
instruction on the format, "time" that of the device, its matrix units sharing the output blocks evenly and nothing
else taking time, "A B D" the 32-bit registers of each lane, and "bytes" what is moved when every instruction loads its
A and B from memory.
"""

from __future__ import annotations

from ..errors import Error
from ..numerals import real
from . import Reply, show
from .parser import shape, whole_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    add = parser.add_argument
    parser.add_common("architecture", "json")
    add("--gemm", metavar="MxNxK", required=True, help="the shape of the whole product, such as 4096x4096x4096")
    add("--type", metavar="FORMAT", required=True, help="the format of A and B, such as f16, bf16, fp8 or i8")
    add("--out", metavar="FORMAT", help="the format of C and D; any if left out")
    add("--units", metavar="#", type=whole_number, help="compute units (of NVIDIA: SMs), instead of the product's")
    add("--clock", metavar="GHZ", help="the clock in GHz, instead of the product's")


def run(options: Namespace) -> Reply:
    """The table, or JSON."""
    from ..estimates import estimate
    from ..render import estimate as render

    answer = estimate(
        options.architecture, *shape("--gemm", options.gemm), options.type,
        out=options.out, units=options.units, clock_ghz=_clock(options.clock),
    )  # fmt: skip
    return show(options.json, "estimate", answer, render)


def _clock(text: str | None) -> float | None:
    if text is None:
        return None
    if (clock := real(text)) is None:
        raise Error(f"--clock takes a number of GHz, such as 2.1; got '{text}'")
    return clock
