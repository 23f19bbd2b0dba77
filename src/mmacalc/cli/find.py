"""Find instructions by shape, format, architecture, intrinsic or opcode, across architectures.

All that is given must fit. For example:

    mmacalc find --shape 32x32x8 --a bf16          every 32x32x8 instruction with bf16 inputs
    mmacalc find -a gfx950 --a fp8 --sparse        the sparse FP8 instructions of CDNA4
    mmacalc find --intrinsic mfma_f32_32x32x1f32   the instructions that a builtin becomes
"""

from __future__ import annotations

from ..errors import Error
from ..query import find
from .parser import whole_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from ..record import Instruction
    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """What to look for."""
    add = parser.add_argument
    add("name", nargs="?", help="a part of the mnemonic")
    add("-a", "--architecture", metavar="NAME", help="one architecture only")
    add("--shape", metavar="MxNxK", help="the shape of one block, such as 16x16x32")
    for size in ("m", "n", "k"):
        add(f"--{size}", type=whole_number, metavar="#", help=f"the size {size.upper()} of one block")
    add("--blocks", type=whole_number, metavar="#", help="how many blocks one instruction multiplies")
    for operand in "abcd":
        add(f"--{operand}", metavar="FORMAT", help=f"the format of {operand.upper()}")
    add("--sparse", action="store_true", default=None, help="sparse instructions only")
    add("--dense", dest="sparse", action="store_false", help="dense instructions only")
    add("--opcode", type=whole_number, metavar="#", help="the opcode field, decimal or 0x...")
    add("--intrinsic", metavar="NAME", help="a part of the name of a compiler builtin or intrinsic")
    parser.add_common("json")


def run(options: Namespace) -> str:
    """List what fits, a line each."""
    m, n, k = _shape(options)
    found = find(
        arch=options.architecture, m=m, n=n, k=k, blocks=options.blocks, a=options.a, b=options.b, c=options.c,
        d=options.d, sparse=options.sparse, opcode=options.opcode, intrinsic=options.intrinsic, name=options.name,
    )  # fmt: skip
    if options.json:
        from ..present import json_text

        return json_text.listing(found)
    if not found:
        raise Error("no instruction fits all of that; leave something out")
    widths = [max(len(_columns(inst)[column]) for inst in found) for column in range(4)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(_columns(inst), widths)) for inst in found)
    return "".join(line.rstrip() + "\n" for line in lines)


def _columns(inst: Instruction) -> tuple[str, str, str, str]:
    blocks = f" x {inst.blocks}" if inst.blocks > 1 else ""
    held = inst.formats
    formats = f"{held['A']} {held['B']} -> {held['D']}" if {"A", "B", "D"} <= set(held) else next(iter(held.values()))
    return inst.arch, inst.name, f"{inst.m}x{inst.n}x{inst.k}{blocks}", formats


def _shape(options: Namespace) -> tuple[int | None, int | None, int | None]:
    if options.shape is None:
        return options.m, options.n, options.k
    parts = options.shape.lower().split("x")
    if len(parts) != 3 or not all(part.isascii() and part.isdecimal() for part in parts):
        raise Error(f"--shape takes M, N and K, such as 16x16x32; got '{options.shape}'")
    m, n, k = map(int, parts)
    return m, n, k
