"""Decode machine code of AMD: the text that LLVM prints, and .long for whatever is no matrix instruction.

    mmacalc disassemble -a gfx942 "00 81 cc d3 10 25 02 04"
    mmacalc disassemble -a gfx950 kernel.hsaco

Takes bytes in hexadecimal, in memory order, or 32-bit words: groups with 0x, or several of eight digits, as objdump
prints them. Or a file: such text, a listing of llvm-objdump, raw bytes, or an ELF code object, alone or in clang's
offload bundle, whose .text is decoded (that needs pyelftools).
"""

from __future__ import annotations

import os

from ..errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """The architecture, the code, and what to print."""
    parser.add_common("architecture", "wave", "json")
    parser.add_argument("code", nargs="+", help="hexadecimal, or the path of a file")


def run(options: Namespace) -> str:
    """The text of the code."""
    from ..isa.disassembler import instructions

    found = instructions(_code(options.code, options.architecture), options.architecture, options.wavefront)
    if options.json:
        from ..present.json_text import document

        answers = [{"offset": 4 * at, "text": text} for at, text in found]
        return document("disassemble", architecture=options.architecture, instructions=answers)
    return "".join(f"{text}\n" for _, text in found)


def _code(given: list[str], arch: str) -> bytes:
    from ..isa.objects import read, read_hexadecimal

    if len(given) > 1 or not os.path.exists(given[0]):
        return read_hexadecimal(" ".join(given), f"'{given[0][:60]}'")
    try:
        with open(given[0], "rb") as file:
            return read(file.read(), given[0], arch)
    except OSError as error:
        raise Error(f"cannot read '{given[0]}': {error.strerror}") from None
