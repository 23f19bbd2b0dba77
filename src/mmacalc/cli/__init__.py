"""The command line: options in, an answer object, rendered, out.

`replies` does everything but print: it turns one command line into a status and two texts, so that
`mmacalc batch`, the tests and `main` share one path. A subcommand is a module of this package with two functions,
`add_arguments(parser)` and `run(options) -> str | Reply | Iterator[Reply]`, and a row in SUBCOMMANDS; every other
command line is the classic one of AMD's Matrix Instruction Calculator. `run` reads the options, calls the function
that answers, and has `show` render the answer; nothing below this package sees the options.

Status 0 is an answer, 1 a finding (such as `lint` has), 2 a refusal, 3 a bug in mmacalc,
130 Ctrl-C.
"""

from __future__ import annotations

import sys

from ..checks import missing_package
from ..errors import Error, printable
from ..records import Cache, TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Protocol, TextIO, TypeAlias

    from .parser import Parser

    Result: TypeAlias = "str | Reply | Iterator[Reply]"

    class Renderer(Protocol):
        """A module of `mmacalc.render`."""

        @property
        def text(self) -> Callable[..., str]: ...

        @property
        def json_object(self) -> Callable[..., dict[str, Any]]: ...


__all__ = ["Reply", "SUBCOMMANDS", "answer", "main", "replies", "show"]

INTERRUPTED = 130  # what a shell reports of a program that SIGINT ends

SUBCOMMANDS = {
    "architectures": "list the architectures, with the names and products that -a takes",
    "assemble": "encode matrix instructions; --fields draws the encoding with every field",
    "batch": "answer one command line per input line, a line of JSON each",
    "chain": "whether the result of one instruction can feed the next, and how",
    "compare": "compare two instructions of any architectures side by side",
    "completion": "print the completion script of a shell (bash, zsh, fish)",
    "descriptor": "encode and decode the descriptors of tcgen05 and wgmma; draw the atom of a swizzle",
    "disassemble": "decode machine code: hexadecimal, raw bytes, or an ELF code object",
    "draw": "draw which lane holds which element: in the terminal, as SVG, PNG or HTML",
    "estimate": "estimate what a GEMM costs, for every instruction that could do it",
    "explain": "explain a line or a listing of assembly, PTX or SASS: what its matrix instructions do",
    "find": "find instructions by shape, format, architecture, intrinsic or opcode",
    "gemm": "compute a whole matrix product on the emulator, one instruction chained along K",
    "generate": "write a kernel around one instruction: HIP with its builtin, CUDA with inline PTX",
    "help": "explain a topic (layouts, modifiers, formats ...) or a command",
    "intrinsic": "show the clang builtin and the LLVM intrinsic of an instruction",
    "lint": "find hazards in listings: registers used too early, missing waits, lines that no assembler accepts",
    "memory": "show how an operand is loaded: access width, cache lines, LDS bank conflicts, padding and swizzles",
    "numerics": "explain how an instruction rounds, with an input that shows it",
    "page": "write the interactive page of all layouts: one file, no network",
    "run": "run one instruction on the emulator, to the bit, and compare with a kernel's result",
    "run-kernel": "run a compiled AMD or PTX kernel on the emulator, and say what is wrong with it",
    "transpose-loads": "show the loads that transpose: what each lane receives, and the operands they fill",
    "waits": "show how many wait states one instruction needs after another, and by which rule",
}


OLDER_NAMES = {"lds-transpose": "transpose-loads"}
CLASSIC_USAGE = "mmacalc COMMAND ...\n       mmacalc -a NAME -i NAME [MATRIX] ACTION [options]"


class Reply(TupleRecord):
    """Result of a command line: exit status, standard output, standard error."""

    status: int
    out: str
    err: str


def show(
    as_json: bool, query: str, found: object, render: Renderer, *how: object, status: int = 0, notes: Iterable[str] = ()
) -> Reply:
    """The one place where an answer becomes output: JSON if that is asked for, else text.

    Args:
        as_json: whether --json was given. query: the answer's name in JSON.
        found: the answer object; render: the module of `mmacalc.render` that writes it; how: what its `text` takes
            besides the answer.
        status: the exit status. notes: sentences about the text, for standard error.
    """
    if as_json:
        from ..render.json import document

        return Reply(status, document(query, render.json_object(found)), "")
    return Reply(status, render.text(found, *how), "".join([f"mmacalc: {note}\n" for note in notes]))


class HelpRequested(Exception):  # noqa: N818 (not an error)
    """The help was asked for; showing it is the whole answer."""


def answer(argv: Sequence[str]) -> Reply:
    """Carry out one command line without printing.

    >>> answer(["-a", "cdna3", "-i", "v_mfma_f32_16x16x16_f16", "-A", "-g", "-I", "3", "-K", "9"]).out
    'Architecture: CDNA3\\nInstruction: V_MFMA_F32_16X16X16_F16\\nA[3][9] = v0{35}.[31:16]\\n'
    """
    statuses, outs, errs = zip(*replies(argv))
    return Reply(max(statuses), "".join(outs), "".join(errs))


def replies(argv: Sequence[str]) -> Iterator[Reply]:
    """The answer in the pieces in which it comes, at least one; the largest status counts."""
    try:
        result = _result(argv)
        if isinstance(result, str):
            yield Reply(0, result, "")
        elif isinstance(result, Reply):
            yield result
        else:
            yield Reply(0, "", "")
            yield from result
    except HelpRequested as shown:
        yield Reply(0, str(shown), "")
    except Exception as problem:
        yield _refusal(problem)


def _refusal(problem: Exception) -> Reply:
    """The reply for an exception: a refusal in one line, or the report of a fault of ours."""
    if isinstance(problem, ModuleNotFoundError):
        problem = missing_package(problem)
    if isinstance(problem, Error):
        return Reply(2, "", f"mmacalc: {problem}\n")
    if isinstance(problem, (MemoryError, RecursionError)):
        what = "needs more memory than there is" if isinstance(problem, MemoryError) else "is nested too deep"
        return Reply(2, "", f"mmacalc: the input {what}\n")
    place, trace, package = "", problem.__traceback__, __file__.removesuffix("cli/__init__.py")
    while trace:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith(package):  # the last place in our code: a clone may be in a folder called mmacalc as well
            place = f" at {file.removeprefix(package)}:{trace.tb_lineno}"
        trace = trace.tb_next
    text = printable(f"{type(problem).__name__}: {problem}")
    report = "this is a bug in mmacalc; please report it with the command line"
    return Reply(3, "", f"mmacalc: internal error{place}: {text}: {report}\n")


def _result(argv: Sequence[str]) -> Result:
    first = OLDER_NAMES.get(argv[0], argv[0]) if argv else ""
    if first in SUBCOMMANDS:
        parser, run = _command(first)
        return run(parser.parsed(argv[1:]))
    if not argv:
        from .help import first_page

        return first_page()
    if first and first[0] != "-":
        from .hints import unknown_command

        raise Error(unknown_command(first))
    from . import classic, options

    words = options.with_shape(argv)
    return classic.run(options.scan(words) or command_parser("classic").parsed(words))


_commands = Cache(64)


def _command(name: str) -> tuple[Parser, Callable[[Namespace], Result]]:
    """A command's argument parser and its function; made once, for building a parser takes a millisecond."""
    command: tuple[Parser, Callable[[Namespace], Result]] = _commands.get(name, lambda: _made(name))
    return command


def _made(name: str) -> tuple[Parser, Callable[[Namespace], Result]]:
    from importlib import import_module

    from .parser import Parser

    module = import_module(f".{name.replace('-', '_')}", __name__)
    classic = name == "classic"
    parser = Parser("mmacalc" if classic else f"mmacalc {name}", module.__doc__, CLASSIC_USAGE if classic else None)
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
    words = sys.argv[1:] if argv is None else argv
    if words and words[0] in SUBCOMMANDS and not sys.warnoptions:  # warnings are for those who call us from Python
        import warnings

        warnings.simplefilter("ignore")
    status = 0
    try:
        for piece in replies(words):
            status = max(status, piece.status)
            _complain(piece.err)
            if piece.out and sys.stdout is None:  # closed by the shell (`>&-`)
                _complain("mmacalc: the answer could not be written: standard output is closed\n")
                return 2
            _write(sys.stdout, piece.out)
    except BrokenPipeError:
        _drop_output()
    except OSError as problem:
        _drop_output()
        _complain(f"mmacalc: the answer could not be written: {problem.strerror}\n")
        return 2
    except KeyboardInterrupt as interrupted:
        if str(interrupted):  # the places of a kernel's waves
            _complain(f"mmacalc: {interrupted}\n")
        return INTERRUPTED
    return status


def _write(stream: TextIO | None, text: str) -> None:
    """Write a text, escaping what the stream's encoding lacks."""
    if stream is None or not text:
        return
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def _complain(text: str) -> None:
    """Write to standard error; if that fails, the exit status is all that is left."""
    try:
        _write(sys.stderr, text)
    except OSError:
        _drop_output(sys.stderr)


def _drop_output(stream: TextIO | None = None) -> None:
    """Redirect a stream (by default standard output) to devnull, so that the flush at exit cannot fail."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())
