"""argparse that raises instead of printing and exiting."""

from __future__ import annotations

import argparse

from ..errors import Error, did_you_mean
from ..numerals import number, real
from . import HelpRequested
from .options import FIELDS, FORMAT_FIELDS, MODIFIERS, assembly_spellings, file_option, spellings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, NoReturn


class _Help(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str, **rest: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, **rest)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        raise HelpRequested(parser.format_help())


WIDTH = 110  # characters in a line, where no terminal says how wide it is


def terminal_width() -> int:
    """Characters in a line of the terminal (COLUMNS, if it is set); WIDTH where there is no terminal."""
    from shutil import get_terminal_size

    return get_terminal_size((WIDTH, 24)).columns


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal: paragraphs are filled, indented lines stay as they are."""

    def __init__(self, prog: str) -> None:
        width = max(40, terminal_width())
        super().__init__(prog, max_help_position=min(32, width // 3), width=width)
        self.whole_width = width

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        from ..render.guide import wrapped

        return wrapped(text, self.whole_width)


class Parser(argparse.ArgumentParser):
    """An argument parser that raises `Error` for bad arguments and `HelpRequested` for -h.

    Its help has the commands first where `commands_first` is set.
    """

    formatter_class: Any

    def __init__(self, prog: str, description: str | None, usage: str | None = None) -> None:
        # A formatter is made for every parser, and asking the terminal for its width takes 4 ms, so it waits for -h.
        super().__init__(prog=prog, usage=usage, description=description, add_help=False)
        self.abbreviated: frozenset[str] = frozenset()
        self.commands_first = False
        self.add_argument("-h", "--help", action=_Help, help="show this text")

    def _get_option_tuples(self, option_string: str) -> list[Any]:
        """What an abbreviation may stand for: the spellings in `abbreviated` before all others, each option once.

        argparse of Python 3.10 and 3.11 takes the spellings `--x-y` and `--x_y` for two options, and so refuses it.
        Spellings that help leaves out are not abbreviated.
        """
        found = [one for one in super()._get_option_tuples(option_string) if one[0].help != argparse.SUPPRESS]
        first = [one for one in found if one[1] in self.abbreviated]
        each: dict[str, Any] = {}
        for candidate in first or found:
            each.setdefault(candidate[0].dest, candidate)
        return list(each.values())

    def format_help(self) -> str:
        """The help, in lines as wide as the terminal's."""
        self.formatter_class = _Formatter
        whole = super().format_help()
        if not self.commands_first:
            return whole
        from ..render.guide import commands
        from .help import by_need

        usage, gap, rest = whole.partition("\n\n")
        return f"{usage}\n\ncommands, by need:\n{commands(by_need(), max(40, terminal_width()))}{gap}{rest}"

    def add_common(self, *names: str) -> None:
        """Options that many subcommands have, by their names in COMMON."""
        for name in names:
            flags, settings = COMMON[name]
            self.add_argument(*flags, **settings)

    def add_files(self, files: Mapping[str, str]) -> None:
        """An option for each matrix that a file can hold, by name, with what it is."""
        for name, text in files.items():
            what = f".npy, .npz:NAME or .csv file: {text}"
            self.add_argument(*file_option(name), dest=name, metavar="FILE", help=what)

    def add_number(
        self, name: str, kind: Callable[[str], object], text: str, short: str | None = None, default: int | None = None
    ) -> None:
        """An option that takes a number; a modifier also by the names of assembly, which help leaves out."""
        self.add_argument(*spellings(name, short), type=kind, metavar="#", default=default, help=text)
        if also := assembly_spellings(name):
            self.add_argument(*also, dest=name, type=kind, metavar="#", default=default, help=argparse.SUPPRESS)

    def add_modifiers(self) -> None:
        """Every modifier under its own name, as on the classic command line, and -m NAME=VALUE."""
        for kind, fields in ((whole_number, FIELDS), (number_or_name, FORMAT_FIELDS)):
            for name, (_, text) in fields.items():
                self.add_number(name, kind, text)
        flags, settings = COMMON["modifier"]
        self.add_argument(*flags, **settings)

    def parsed(self, words: Sequence[str]) -> argparse.Namespace:
        """The options that words stand for; arguments without an option may stand before, between and after them.

        Raises:
            Error: an argument is unknown, missing or wrong.
        """
        found, left = self.parse_known_args(words)
        if left and not left[0].startswith("-"):  # argparse by itself takes an optional argument only beside the first
            found, left = self.parse_known_intermixed_args(words)
        if left:
            self.error(f"unrecognized arguments: {' '.join(left)}")
        return found

    def error(self, message: str) -> NoReturn:
        shown = message if len(message) < 200 else f"{message[:200]}..."
        raise Error(f"{shown}.{self._meant(message)} `{self.prog} -h` lists the options.")

    def _meant(self, message: str) -> str:
        """The option or the choice that an unknown one is close to."""
        _, invalid, after = message.partition("invalid choice: '")
        if invalid:
            given, _, choices = after.partition("' (choose from ")
            return did_you_mean(given, choices.rstrip(")").replace("'", "").split(", "))
        unknown = message.removeprefix("unrecognized arguments: ").split(" ")[0].partition("=")[0]
        if unknown == message:
            return ""
        if not unknown.startswith("-"):
            from .hints import option_for

            return option_for(unknown, self._option_string_actions)
        known = {name.replace("_", "-") for name in self._option_string_actions if name.startswith("--")}
        return did_you_mean(unknown.replace("_", "-"), sorted(known))


def whole_number(text: str) -> int:
    """The argument type of every index and field."""
    value = number(text)
    if value is None:
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is not a whole number from 0 up (to 18 digits)")
    return value


def fraction(text: str) -> float:
    """The argument type of a factor."""
    if (value := real(text)) is None:
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is not a number, such as 0.5")
    return value


def shape(option: str, text: str) -> tuple[int, int, int]:
    """M, N and K written as 16x16x32.

    Raises:
        Error: they are not.
    """
    sizes = [number(part.strip()) for part in text.lower().replace("*", "x").replace(",", "x").split("x")]
    if len(sizes) != 3 or None in sizes:
        raise Error(f"{option} takes M, N and K, such as 16x16x32; got '{text[:60]}'")
    m, n, k = (size or 0 for size in sizes)
    return m, n, k


def field_value(text: str) -> tuple[str, int | str]:
    """A modifier and its value, as -m takes them.

    >>> field_value("cbsz=0x1"), field_value("CBSZ = fp4")
    (('cbsz', 1), ('cbsz', 'fp4'))
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name or not value:
        raise Error(f"-m takes NAME=VALUE, such as cbsz=1 or cbsz=fp4; got '{text[:40]}'")
    try:
        return name.lower(), number_or_name(value)
    except argparse.ArgumentTypeError as error:
        raise Error(f"-m {name}: {error}") from None


def either(what: str, positional: str | None, option: str | None) -> str | None:
    """What was given by itself or after an option.

    Raises:
        Error: both were given.
    """
    if positional is not None and option is not None:
        raise Error(f"{what} was given twice: {positional} and {option}; leave one out")
    return option if positional is None else positional


def modifiers(options: argparse.Namespace, taken: Sequence[str] = ()) -> dict[str, Any]:
    """The modifiers of a command line, by their own options and by -m.

    Args:
        options: of a parser with `Parser.add_modifiers`. taken: the only ones that the command takes; all if empty.

    Raises:
        Error: one was given twice with different values, or the command does not take it.
    """
    named = [(name, value) for name in MODIFIERS if (value := getattr(options, name)) is not None]
    found: dict[str, int | str] = {}
    for name, value in (*named, *map(field_value, options.modifier)):
        if found.setdefault(name, value) != value:
            raise Error(f"{name} was given twice: {found[name]} and {value}")
        if taken and name not in taken:
            raise Error(f"{name} is not a modifier that this takes; known: {', '.join(taken)}")
    return found


def number_or_name(text: str) -> int | str:
    """The argument type of fields whose values have names, such as those of formats: a whole number, or a name."""
    return text if text[:1].isalpha() else whole_number(text)


COMMON: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "architecture": (
        ("-a", "--architecture"),
        {"metavar": "NAME", "required": True, "help": "the GPU architecture or target, by any of its names"},
    ),
    "target": (
        ("-a", "--architecture"),
        {"metavar": "NAME", "help": "the GPU architecture or target; may be left out where the file names it"},
    ),
    "instruction": (
        ("-i", "--instruction"),
        {"metavar": "NAME", "required": True, "help": "instruction name (case-insensitive)"},
    ),
    "instructions": (
        ("-i", "--instruction"),
        {"metavar": "NAME", "action": "append", "default": [], "help": "an instruction; once for each"},
    ),
    "wave": (
        ("-w", "--wavefront", "--wave"),
        {"metavar": "#", "type": whole_number, "help": "the wave size: 32 or 64 on RDNA (default 32)"},
    ),
    "llvm": (
        ("--llvm",),
        {
            "metavar": "#",
            "type": whole_number,
            "help": "the LLVM version whose encodings are meant, 24 (default) or 22",
        },
    ),
    "modifier": (
        ("-m", "--modifier"),
        {"metavar": "NAME=VALUE", "action": "append", "default": [], "help": "a modifier: cbsz=1, blgp=fp4, neg=3 ..."},
    ),
    "json": (("--json",), {"action": "store_true", "help": "answer with JSON"}),
}
