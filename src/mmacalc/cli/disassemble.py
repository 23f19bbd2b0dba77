"""Decode machine code of AMD: matrix instructions as LLVM prints them, everything else as .long.

    mmacalc disassemble -a gfx942 "00 81 cc d3 10 25 02 04"
    mmacalc disassemble kernel.hsaco

Takes bytes in hexadecimal, in memory order, or 32-bit words: groups with 0x, or several of eight digits, as objdump
prints them. Or a file: such text, a listing of llvm-objdump, raw bytes, or an ELF code object, alone or in clang's
offload bundle, whose executable sections are decoded (that needs pyelftools). An object names its target, so -a is
needed only where it is for several GPUs (gfx9-4-generic), and to choose from a bundle (-a gfx942:xnack+).
"""

from __future__ import annotations

import os

from ..errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from ..isa.objects import CodeFile
    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    parser.add_common("target", "wave", "json")
    parser.add_argument("code", nargs="+", help="hexadecimal, or the path of a file")


def run(options: Namespace) -> str:
    """The text of the code."""
    from ..isa.disassembler import instructions

    file = _code(options.code, options.architecture)
    arch = _architecture(options, file)
    decoded = [(part.name, instructions(part.code, arch, options.wavefront)) for part in file.sections]
    if options.json:
        from ..present.json_text import document

        answers = [
            {"offset": 4 * at, "text": text} | ({"section": name} if name else {})
            for name, found in decoded
            for at, text in found
        ]
        return document("disassemble", architecture=arch, instructions=answers)
    return "".join(
        "".join(([f"; section {name}\n"] if name else []) + [f"{text}\n" for _, text in found])
        for name, found in decoded
    )


def _code(given: list[str], arch: str | None) -> CodeFile:
    from ..isa.objects import CodeFile, Section, read, read_hexadecimal

    if len(given) > 1 or not os.path.exists(given[0]):
        return CodeFile(None, (Section("", read_hexadecimal(" ".join(given), f"'{given[0][:60]}'")),))
    try:
        with open(given[0], "rb") as file:
            return read(file.read(), given[0], arch)
    except OSError as error:
        raise Error(f"cannot read '{given[0]}': {error.strerror}") from None


def _architecture(options: Namespace, file: CodeFile) -> str:
    from ..isa.elf_machines import GENERIC

    if options.architecture:
        return str(options.architecture).partition(":")[0]
    if file.target is None:
        raise Error("which architecture is the code for? Give it with -a, such as -a gfx942")
    if file.target in GENERIC:
        members = GENERIC[file.target]
        raise Error(
            f"'{options.code[0]}' is for the generic target {file.target}, which runs on {', '.join(members)}; "
            f"give one of them, such as -a {members[-1]}"
        )
    return file.target
