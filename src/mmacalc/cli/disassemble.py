"""Decode machine code of AMD, as llvm-objdump 22 prints it.

    mmacalc disassemble -a gfx942 "00 81 cc d3 10 25 02 04"
    mmacalc disassemble kernel.hsaco
    mmacalc disassemble --matrix kernel.hsaco

Every instruction is decoded for gfx908, gfx90a, gfx942, gfx950, gfx1100 to gfx1103, gfx1200, gfx1201 and gfx1250; .long
is left for words that compute kernels do not have. For other targets, with --llvm, and with --matrix, only matrix
instructions are decoded, and everything else is written as .long. --all refuses targets whose other instructions are
not known.

An object is printed with its target, the names of kernels and functions, labels where branches lead, and addresses and
words as comments. `lint` and `explain` take that text, and an object directly.

Takes bytes in hexadecimal, in memory order, or 32-bit words: groups with 0x, or several of eight digits, as objdump
prints them. Or a file (- for standard input): such text, a listing of llvm-objdump, raw bytes, or an ELF code object,
by itself or in clang's offload bundle, whose executable sections are decoded (that needs pyelftools). An object names
its target, so -a is needed only where that stands for several GPUs (gfx9-4-generic), and to choose from a bundle
(-a gfx942:xnack+). Assembly is taken too: its matrix instructions are printed as LLVM spells them, the rest as it is.
"""

from __future__ import annotations

from . import Reply, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from ..asm.objects import CodeFile
    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    parser.add_common("target", "wave", "llvm", "json")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="decode every instruction, or refuse the target")
    which.add_argument("--matrix", action="store_true", help="decode matrix instructions only")
    parser.add_argument("code", nargs="+", help="hexadecimal or assembly, or the path of a file")


def run(options: Namespace) -> Reply:
    """The text of the code."""
    from ..answers.disassembly import disassembly
    from ..render import disassembly as render

    file, name = _code(options.code, options.architecture)
    every = True if options.all else False if options.matrix or options.llvm else None
    answer = disassembly(file, name, options.architecture, options.wavefront, options.llvm, every)
    return show(options.json, "disassemble", answer, render)


def _code(given: list[str], arch: str | None) -> tuple[CodeFile, str]:
    """What is to be decoded, and how messages call it."""
    from ..asm.objects import read, read_text
    from .files import exists, read_bytes

    path = given[0]
    if len(given) == 1 and (path == "-" or exists(path)):
        name = "<stdin>" if path == "-" else path
        return read(read_bytes(path), name, arch), f"'{name}'"
    return read_text(" ".join(given), f"'{path}' is not a file, hexadecimal text or assembly"), "the code"
