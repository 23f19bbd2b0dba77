"""What a GEMM costs, for every instruction that could do it, from shapes alone, best first.

    mmacalc estimate -a gfx942 --gemm 4096x4096x4096 --type f16
    mmacalc estimate -a gfx950 --gemm 8192x8192x8192 --type fp4 --json

Cycles are the catalog's, added up over all instructions; a compute unit (of RDNA: a workgroup processor) has four
matrix units that work at the same time. "useful" is the part of the issued operations that is not padding, "peak" the
useful operations in that time over the architecture's fastest instruction on the format, "time" that of the product
whose units and clock stand above the table, its matrix units sharing the output blocks evenly and nothing else taking
time, "A B D" the 32-bit registers of each lane, and "bytes" what is moved when every instruction loads its A and B
from memory.
"""

from __future__ import annotations

from ..cost import estimate
from ..errors import Error
from ..present import costs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """The architecture, the shape, and the formats."""
    add = parser.add_argument
    parser.add_common("architecture", "json")
    add("--gemm", metavar="MxNxK", required=True, help="the shape of the whole product, such as 4096x4096x4096")
    add("--type", metavar="FORMAT", required=True, help="the format of A and B, such as f16, bf16, fp8 or i8")
    add("--out", metavar="FORMAT", help="the format of C and D; any if left out")


def run(options: Namespace) -> str:
    """The table, or JSON."""
    parts = options.gemm.lower().split("x")
    if len(parts) != 3 or not all(part.isascii() and part.isdecimal() and len(part) <= 18 for part in parts):
        raise Error(f"--gemm takes M, N and K, such as 4096x4096x4096; got '{options.gemm[:60]}'")
    m, n, k = map(int, parts)
    found = estimate(options.architecture, m, n, k, options.type, options.out)
    return costs.as_json(found) if options.json else costs.table(found)
