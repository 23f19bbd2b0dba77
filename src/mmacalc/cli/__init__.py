"""The command line: options in, an answer object, written, out.

`replies` does everything but print: it turns one command line into a status and two texts, so that
`mmacalc batch`, the tests and `main` share one path. A command is a `Command` (`mmacalc.command`) of a module of
`mmacalc.questions`, or of one here; every other command line is the classic one of AMD's Matrix Instruction
Calculator. This package has options, streams and errors; what is asked and answered is in the questions.

Status 0 is an answer, 1 a finding (such as `lint` has), 2 a refusal, 3 a bug in mmacalc,
130 Ctrl-C.
"""

from __future__ import annotations

import sys
import time

from ..base.checks import missing_package
from ..base.errors import Error, printable
from ..base.records import Cache
from ..command import Command, Reply, Summary, refused, summary_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import NoReturn, TextIO

    from ..command import Result
    from .parser import Parser

__all__ = [
    "Reply",
    "answer",
    "command",
    "command_names",
    "command_parser",
    "commands",
    "main",
    "replies",
    "script",
    "summaries",
]

INTERRUPTED = 130  # what a shell reports of a program that SIGINT ends

OWN = ("batch", "completion", "help", "lsp", "mcp")
"""The commands of this package, which are about the command line itself."""


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
    start = time.monotonic()
    try:
        result = _result(argv)
        if isinstance(result, str):
            yield Reply(0, result, "")
        elif isinstance(result, Reply):
            yield result
        else:
            yield Reply(0, "", "")
            yield from result
        if note := _slowness(time.monotonic() - start):
            yield Reply(0, "", note)
    except HelpRequested as shown:
        yield Reply(0, str(shown), "")
    except Exception as problem:
        yield refused(wants_json(argv), _refusal(problem))


LONG = 5.0  # seconds, after which a user may wonder


def _slowness(seconds: float) -> str:
    """Why something took long, where that could be helped: the core was wanted, and is not there."""
    core = sys.modules.get(f"{__package__.rpartition('.')[0]}.emulator.core")
    if seconds < LONG or core is None or core.library() is not None:
        return ""
    faster = "which is about ten times as fast: install mmacalc where a C compiler is"
    return f"mmacalc: computed without the C core, {faster}\n"


def wants_json(argv: Sequence[str]) -> bool:
    """Whether a command line asks for JSON, also one that cannot be read."""
    return any(len(word) > 3 and "--json".startswith(word) for word in argv)


def _refusal(problem: Exception) -> Error:
    """The error to show for an exception: a refusal, or the report of a fault of ours."""
    if isinstance(problem, ModuleNotFoundError):
        problem = missing_package(problem)
    if isinstance(problem, Error):
        return problem
    if isinstance(problem, (MemoryError, RecursionError)):
        what = "needs more memory than there is" if isinstance(problem, MemoryError) else "is nested too deep"
        return Error(f"the input {what}", kind="memory")
    place, trace, package = "", problem.__traceback__, __file__.removesuffix("cli/__init__.py")
    while trace:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith(package):  # the last place in our code: a clone may be in a folder called mmacalc as well
            place = f" at {file.removeprefix(package)}:{trace.tb_lineno}"
        trace = trace.tb_next
    text = printable(f"{type(problem).__name__}: {problem}")
    report = "this is a bug in mmacalc; please report it with the command line"
    return Error(f"internal error{place}: {text}: {report}", kind="bug")


def _result(argv: Sequence[str]) -> Result:
    first = argv[0] if argv else ""
    if not argv:
        from .help import first_page

        return first_page()
    if first[:1] == "-":
        from ..questions import classic

        words = classic.with_shape(argv)
        return classic.run(classic.scan(words) or command_parser("").parsed(words))
    found = command(first) if first else None
    if found is None:
        if not first:
            return command_parser("").parsed(argv)  # which refuses it
        from .hints import unknown_command

        raise Error(unknown_command(first), kind="usage")
    return found.run(command_parser(found.name).parsed(argv[1:]))


def command(name: str) -> Command | None:
    """The command of a name, also of one that it had before; "" is the classic command line."""
    if name in OWN:
        from importlib import import_module

        own: Command = import_module(f".{name}", __name__).COMMAND
        return own
    from .. import questions

    return questions.command(name)


def command_names() -> list[str]:
    """The names of the commands, in alphabetical order; none of them is imported for that."""
    from .. import questions

    return sorted((*OWN, *questions.names()))


def summaries() -> list[Summary]:
    """What each command does, in alphabetical order; none of them is imported for that."""
    from .. import questions

    own = [summary_of(__path__[0], name, command) for name in OWN]
    return sorted((*own, *questions.summaries()))


def commands() -> dict[str, Command]:
    """Every command by its name, in alphabetical order; without the classic command line."""
    return {name: found for name in command_names() if (found := command(name))}


_parsers = Cache(64)


def command_parser(name: str) -> Parser:
    """The argument parser of a command, or of the classic command line (""); made once, which takes a millisecond."""
    made: Parser = _parsers.get(name, lambda: _parser(name))
    return made


def _parser(name: str) -> Parser:
    from .parser import Parser

    found = command(name)
    assert found is not None, name
    return Parser(found)


def main(argv: Sequence[str] | None = None) -> int:
    """Answer `argv` (by default the process's arguments) on standard output and error; give the exit status.

    Never raises for bad input: the status is then 2, the message is on standard error, and standard output is
    empty. A reader that closes the pipe early is not an error.
    """
    words = sys.argv[1:] if argv is None else argv
    if words and words[0][:1] != "-" and not sys.warnoptions:  # warnings are for those who call us from Python
        import warnings

        warnings.simplefilter("ignore")
    status = 0
    try:
        for piece in _watched(words):
            status = max(status, piece.status)
            _write_error(_in_width(piece.err, words))
            piece = _coloured(_fitted(piece, words), words)
            if piece.out and sys.stdout is None:  # closed by the shell (`>&-`)
                _write_error("mmacalc: the answer could not be written: standard output is closed\n")
                return 2
            _write(sys.stdout, piece.out)
    except BrokenPipeError:
        _silence()
    except OSError as problem:
        _silence()
        _write_error(f"mmacalc: the answer could not be written: {problem.strerror}\n")
        return 2
    except KeyboardInterrupt as interrupted:
        if str(interrupted):  # the places of a kernel's waves
            _write_error(f"mmacalc: {interrupted}\n")
        return INTERRUPTED
    return status


def script() -> NoReturn:
    """Answer the process's arguments and end the process: the program `mmacalc`.

    A query takes longer to collect and to take apart what it has made than to compute its answer. So garbage is looked
    for less often, and when everything is written the process ends at once; not where something waits for the end of
    the process (a thread, a function of atexit, a profiler), which needs modules that no plain query loads.
    """
    import gc
    import os

    gc.set_threshold(50_000)
    status = main()
    if sys.modules.keys().isdisjoint(("atexit", "threading")) and not (sys.getprofile() or sys.gettrace()):
        os._exit(status)
    sys.exit(status)


def _watched(words: Sequence[str]) -> Iterator[Reply]:
    """The pieces of an answer; while one is made, a terminal shows after two seconds that it is."""
    if not words or words[0] in ("lsp", "mcp", "batch") or sys.stderr is None or not sys.stderr.isatty():
        yield from replies(words)
        return
    from ..base.waiting import Working

    pieces = replies(words)
    while True:
        with Working(words[0] if words[0][:1] != "-" else ""):
            piece = next(pieces, None)
        if piece is None:
            return
        yield piece


_FOR_PROGRAMS = {"--json", "--csv", "--markdown", "--asciidoc", "--format"}


def _plain(words: Sequence[str]) -> bool:
    """Whether a command line asks for an output that programs read."""
    return not _FOR_PROGRAMS.isdisjoint([word.partition("=")[0] for word in words])


def _fitted(piece: Reply, words: Sequence[str]) -> Reply:
    """A text for people in the width of the terminal, or of COLUMNS."""
    if not piece.out or not words or (words[0][:1] == "-" and not _is_detail(words, piece.out)):
        return piece
    from ..command.fitting import COMMANDS, fitted, screen

    if (words[0][:1] != "-" and _name(words[0]) not in COMMANDS) or _plain(words) or not (width := screen(sys.stdout)):
        return piece
    return piece._replace(out=fitted(piece.out, width))


def _name(word: str) -> str:
    """The present name of a command."""
    found = command(word)
    return found.name if found else word


def _in_width(err: str, words: Sequence[str]) -> str:
    """Notes and refusals in the width of the terminal that shows them."""
    if not err or not words or words[0] in ("batch", "lsp", "mcp"):
        return err
    from ..command.fitting import fitted, screen

    return fitted(err, width) if (width := screen(sys.stderr)) else err


def _is_detail(words: Sequence[str], out: str) -> bool:
    """Whether this is the page of an instruction (-d) in our words; AMD's classic pages stay as they are."""
    return any(word in ("-d", "--detail-instruction") for word in words) and not out.startswith(
        ("Architecture: CDNA", "Architecture: RDNA")
    )


def _coloured(piece: Reply, words: Sequence[str]) -> Reply:
    """A text for people with colours, where the terminal and its user want them."""
    if not piece.out or not words or words[0][:1] == "-" or not (sys.stdout and (_asked() or sys.stdout.isatty())):
        return piece
    from ..command.colours import COMMANDS, coloured, wanted

    shown = _name(words[0]) in COMMANDS or "-h" in words or "--help" in words
    if _plain(words) or not shown or words[-1] == "agents" or not wanted(sys.stdout):
        return piece
    return piece._replace(out=coloured(piece.out))


def _asked() -> bool:
    import os

    return bool(os.environ.get("FORCE_COLOR"))


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


def _write_error(text: str) -> None:
    """Write to standard error; if that fails, the exit status is all that is left."""
    try:
        _write(sys.stderr, text)
    except OSError:
        _silence(sys.stderr)


def _silence(stream: TextIO | None = None) -> None:
    """Redirect a stream (by default standard output) to devnull, so that the flush at exit cannot fail."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())
