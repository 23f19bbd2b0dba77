"""What a question of the command line is made of: a `Command` with its options, an answer, and what writes it.

A question is one module of `mmacalc.questions`. It holds the record that is its answer, what computes that, the
function that writes it as text, and a `Command` named COMMAND. From these follow its help, its completion, its row in
the lists of commands and options, and its JSON: the fields of the record (`mmacalc.base.json_form`), of which the
schema is made (`tools/schema.py`).
"""

from __future__ import annotations

from ..base.errors import Error
from ..base.records import Record, TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import SimpleNamespace
    from typing import Any, TypeAlias, TypeVar

    Result: TypeAlias = "str | Reply | Iterator[Reply]"
    Answer = TypeVar("Answer")
    Options: TypeAlias = "Namespace | SimpleNamespace"
else:
    Options = object  # for annotations

__all__ = [
    "NEEDS",
    "Command",
    "Option",
    "Options",
    "Reply",
    "argument",
    "flag",
    "given",
    "number",
    "option",
    "Summary",
    "refuse_given",
    "refused",
    "show",
    "summary",
    "summary_of",
]

NEEDS = ("find", "look", "place", "chain", "load", "encode", "wait", "compute", "generate", "work with it")
"""What one wants of mmacalc: the headings under which help lists the commands."""


class Reply(TupleRecord):
    """Result of a command line: exit status, standard output, standard error."""

    status: int
    out: str
    err: str


class Option(TupleRecord):
    """One option of a command, or one argument without an option.

    Attributes:
        name: under which its value is found. spellings: the ways to write it; none: it stands by itself.
        help: what it is, for help; of `hidden` spellings help says nothing.
        placeholder: what follows it, as help calls it; "": nothing.
        kind: what makes a value of the text that follows, and raises ArgumentTypeError. default: the value without it.
        choices: all that may follow. nargs: how many follow, as argparse has it. many: whether it may be given again.
        required: whether it must be given. constant: what an option that nothing follows sets.
        alone: options with the same word here exclude each other.
        hidden: spellings that help leaves out. older: spellings of which another command has another meaning.
        known: values that completion offers in addition to `choices`; others may follow as well.
    """

    name: str
    spellings: tuple[str, ...]
    help: str
    placeholder: str = ""
    kind: Callable[[str], Any] | None = None
    default: Any = None
    choices: tuple[str, ...] = ()
    nargs: str | int | None = None
    many: bool = False
    required: bool = False
    constant: Any = True
    alone: str = ""
    hidden: tuple[str, ...] = ()
    older: tuple[str, ...] = ()
    known: tuple[str, ...] = ()


class Command(Record):
    """A command: what help says of it, its options, the function that answers, and the forms of its answers.

    Attributes:
        name: as it is typed. summary: one line for lists. need: the word of NEEDS under which help lists it.
        about: the text of its help. options: what it takes, in the order of its help.
        run: answers a command line.
        answers: by the name that JSON has for it, the function that writes an answer as text; the answer is its first
            parameter.
        others: gives further answers, whose modules are imported only for them.
        older: names that it had. usage: the first line of help, where it is not made of the options.
        abbreviated: the long options that an abbreviation stands for before it stands for others.
    """

    name: str
    summary: str
    need: str
    about: str | None
    options: tuple[Option, ...]
    run: Callable[[Options], Result]
    answers: Mapping[str, Callable[..., str]] = {}
    others: Callable[[], Mapping[str, Callable[..., str]]] | None = None
    older: tuple[str, ...] = ()
    usage: str | None = None
    abbreviated: tuple[str, ...] = ()

    def every_answer(self) -> dict[str, Callable[..., str]]:
        """`answers` and `others`."""
        return {**self.answers, **(self.others() if self.others else {})}


def _main(spellings: Iterable[str]) -> str:
    """The spelling that names an option: the first long one."""
    return next((each for each in spellings if each.startswith("--")), "") or next(iter(spellings))


def _name(spellings: Iterable[str]) -> str:
    """The name of an option: its main spelling, as Python spells names."""
    return _main(spellings).lstrip("-").replace("-", "_")


def option(*spellings: str, placeholder: str, help: str, **rest: Any) -> Option:
    """An option that a value follows.

    >>> option("-o", "--output", placeholder="FILE", help="where").name
    'output'
    """
    given = {"name": _name(spellings), "spellings": spellings, "help": help, "placeholder": placeholder}
    return Option(**{**given, **rest})


def flag(*spellings: str, help: str, **rest: Any) -> Option:
    """An option that nothing follows; its value is False without it, unless `default` says otherwise."""
    return Option(**{"name": _name(spellings), "spellings": spellings, "help": help, "default": False, **rest})


def number(*spellings: str, help: str, **rest: Any) -> Option:
    """An option that a whole number follows."""
    from .options import whole_number

    return option(*spellings, **{"placeholder": "#", "help": help, "kind": whole_number, **rest})


def argument(name: str, help: str, **rest: Any) -> Option:
    """An argument without an option."""
    return Option(name, (), help, **rest)


class Summary(TupleRecord):
    """What lists say of a command: its name, what it does, and the word of NEEDS under which it stands."""

    name: str
    summary: str
    need: str


def summary_of(folder: str, name: str, command: Callable[[str], Command | None]) -> Summary:
    """The summary of a command whose module is in a folder; the module's text is read for that.

    `command` is asked where there is no text, or none that begins its COMMAND with three plain strings.
    """
    module, found = f"{folder}/{name.replace('-', '_')}", None
    for path in (f"{module}.py", f"{module}/__init__.py"):
        try:
            with open(path, encoding="utf-8") as stream:
                found = summary(stream.read())
                break
        except OSError:  # it is the other one, or in a zip file
            continue
    if found is None:
        known = command(name)
        assert known is not None, name
        found = Summary(known.name, known.summary, known.need)
    return found


def summary(source: str) -> Summary | None:
    """What the text of a module says first of its COMMAND, so that a list of commands imports none of them.

    None: the text does not begin it with three plain strings.

    >>> summary('COMMAND = Command(\\n    "batch", "answer one line each", "work with it", __doc__,\\n')
    Summary(name='batch', summary='answer one line each', need='work with it')
    """
    words = source.rpartition("\nCOMMAND = Command(")[2] if source[:7] != "COMMAND" else source
    parts = words.split('"', 6)
    gaps = [gap.strip(" \n,") for gap in parts[2:6:2]]
    if len(parts) < 7 or any(gaps) or "\\" in "".join(parts[1:6]):
        return None
    return Summary(parts[1], parts[3], parts[5])


def given(command: Command, options: Options, names: Iterable[str]) -> list[str]:
    """The spellings of those options of these names that were given a value other than their default. Arguments
    without an option are not asked for."""
    asked = {*names}
    listed = [one for one in command.options if one.spellings and one.name in asked]
    return [_main(one.spellings) for one in listed if getattr(options, one.name) not in (one.default, None, [])]


def refuse_given(command: Command, options: Options, names: Iterable[str], why: str) -> None:
    """Refuse options that the answer would leave unread.

    Raises:
        Error: one of those with these names was given; "--tensor " and `why` say what is wrong.
    """
    if found := given(command, options, names):
        raise Error(f"{found[0]} {why}")


def show(
    as_json: bool, query: str, answer: Answer, text: Callable[[Answer], str], status: int = 0, notes: Iterable[str] = ()
) -> Reply:
    """The one place where an answer becomes output: JSON if that is asked for, else text.

    Args:
        as_json: whether --json was given. query: the answer's name in JSON.
        answer: the record; text: what writes it.
        status: the exit status. notes: sentences about the text, for standard error.
    """
    if as_json:
        from .json import document

        return Reply(status, document(query, answer), "")
    return Reply(status, text(answer), "".join([f"mmacalc: {note}\n" for note in notes]))


def refused(as_json: bool, error: Error, file: str = "") -> Reply:
    """The one place where a refusal becomes output: JSON on standard output, else a sentence on standard error.

    Args:
        as_json: whether --json was given. error: what is wrong. file: of several the one that it is about.
    """
    from ..base.errors import printable

    status = 3 if error.kind == "bug" else 2
    if as_json:
        from .json import refusal

        error.file = error.file or file
        return Reply(status, refusal(error), "")
    named = not file or f"'{printable(file)}'" in str(error)  # a sentence about the file itself
    about = "" if named else f"{printable(file)}: "
    return Reply(status, "", f"mmacalc: {about}{error}\n")
