"""The command line: arguments in, query, present, out.

`answer` does everything but print: it turns one command line into a status and two texts, so that
`mmacalc batch`, the tests and `main` share one path. A subcommand is a module of this room with two functions,
`add_arguments(parser)` and `run(options) -> str | (str, status) | Answer`, and a row in SUBCOMMANDS; every other
command line is the classic one of AMD's Matrix Instruction Calculator.
"""

from __future__ import annotations

import sys
from collections import namedtuple
from functools import cache
from importlib import import_module

from ..errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from .parser import Parser

__all__ = ["Answer", "SUBCOMMANDS", "answer", "main"]

SUBCOMMANDS = {
    "assemble": "encode matrix instructions; --fields draws the encoding with every field",
    "batch": "answer one command line per input line, a line of JSON each",
    "compare": "set two instructions side by side, of any architectures",
    "completion": "print the completion script of a shell (bash, zsh, fish)",
    "disassemble": "decode machine code: hexadecimal, raw bytes, or an ELF code object",
    "estimate": "what a GEMM costs on an architecture, for every instruction that could do it",
    "find": "find instructions by shape, format, architecture, intrinsic or opcode",
    "intrinsic": "show the clang builtin and the LLVM intrinsic of an instruction",
    "lds-transpose": "show which lane an LDS load that transposes gives which element, and the operands it fills",
    "lint": "find where a listing touches a matrix instruction's registers too early",
    "numerics": "explain how an instruction rounds, with an input on which it shows",
    "run": "run one instruction on the emulator, to the bit, and compare with a kernel's result",
    "waits": "how many wait states one instruction needs after another, and by which rule",
}


class Answer(namedtuple("Answer", "status out err")):
    """What a command line comes to: the exit status, standard output, standard error."""

    __slots__ = ()
    status: int
    out: str
    err: str


class Shown(Exception):  # noqa: N818 (it is no error)
    """A text was asked for (help, version); showing it is the whole answer."""


def answer(argv: Sequence[str]) -> Answer:
    """Carry out one command line without printing.

    >>> answer(["-a", "cdna3", "-i", "v_mfma_f32_16x16x16_f16", "-A", "-g", "-I", "3", "-K", "9"]).out
    'Architecture: CDNA3\\nInstruction: V_MFMA_F32_16X16X16_F16\\nA[3][9] = v0{35}.[31:16]\\n'
    """
    try:
        result = _result(argv)
    except Shown as shown:
        return Answer(0, str(shown), "")
    except Error as error:
        return Answer(2, "", f"mmacalc: {error}\n")
    if isinstance(result, Answer):
        return result
    out, status = result if isinstance(result, tuple) else (result, 0)
    return Answer(status, out, "")


def _result(argv: Sequence[str]) -> str | tuple[str, int] | Answer:
    if argv and argv[0] in SUBCOMMANDS:
        parser, run = _command(argv[0])
        return run(parser.parse_args(argv[1:]))
    from . import classic

    return classic.run(classic.scan(argv) or command_parser("classic").parse_args(argv))


@cache
def _command(name: str) -> tuple[Parser, Callable[[Namespace], str | tuple[str, int] | Answer]]:
    """A command's argument parser and its function; made once, for building a parser takes a millisecond."""
    from .parser import Parser

    module = import_module(f".{name.replace('-', '_')}", __name__)
    parser = Parser(prog="mmacalc" if name == "classic" else f"mmacalc {name}", description=module.__doc__)
    module.add_arguments(parser)
    return parser, module.run


def command_parser(name: str) -> Parser:
    """The argument parser of a subcommand, or of the classic command line ("classic")."""
    return _command(name)[0]


def main(argv: Sequence[str] | None = None) -> int:
    """Answer `argv` (by default the process's arguments) on standard output and error; give the exit status.

    Never raises for bad input: the status is then 2, the message is on standard error, and standard output is
    empty. A reader that closes the pipe early is not an error.
    """
    reply = answer(sys.argv[1:] if argv is None else argv)
    try:
        _write(sys.stderr, reply.err)
        _write(sys.stdout, reply.out)
    except BrokenPipeError:
        _drop_output()
    except OSError as problem:
        _drop_output()
        _write(sys.stderr, f"mmacalc: the answer could not be written: {problem.strerror}\n")
        return 2
    return reply.status


def _write(stream: TextIO | None, text: str) -> None:
    if stream is not None:  # as it is where the shell closed it (`>&-`)
        stream.write(text)
        stream.flush()


def _drop_output() -> None:
    """Point standard output where nobody minds: Python flushes it once more as it exits."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
