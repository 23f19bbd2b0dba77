"""argparse that raises instead of printing and exiting."""

from __future__ import annotations

import argparse
import re

from ..base.checks import shown
from ..base.errors import Error, did_you_mean
from ..command.options import is_modifier, terminal_width
from . import HelpRequested

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, NoReturn

    from ..command import Command, Option


class _Help(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str, **rest: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, **rest)

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: object, values: object, option: str | None = None
    ) -> NoReturn:
        assert isinstance(parser, Parser)
        short = option == "-h" and not parser.commands_first
        raise HelpRequested(parser.format_short() if short else parser.format_help())


GIVEN = "options given"
"""Under which a namespace keeps the options that were given, while they are read; no option is called so."""


class _Once(argparse.Action):
    """Keeps the value of an option that is given once. A second value that differs would replace the first in silence,
    so it is refused. (Of AMD's command line the last one counts, as there.)"""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        given = vars(namespace).setdefault(GIVEN, {})
        first = given.setdefault(self.dest, values)
        if first != values:
            parser.error(f"{option} is given twice, first as {shown(first)} and then as {shown(values)}")
        setattr(namespace, self.dest, values)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal: paragraphs are filled, indented lines stay as they are."""

    def __init__(self, prog: str) -> None:
        width = max(40, terminal_width())
        super().__init__(prog, max_help_position=min(32, width // 3), width=width)
        self.whole_width = width

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        from .help import wrapped

        return wrapped(text, self.whole_width)


class Parser(argparse.ArgumentParser):
    """The argument parser of a command; it raises `Error` for bad arguments and `HelpRequested` for -h.

    The help of the classic command line, which has no name, has the commands first.
    """

    formatter_class: Any
    abbreviated: frozenset[str]
    commands_first: bool
    command: Command

    def __init__(self, command: Command) -> None:
        # A formatter is made for every parser, and asking the terminal for its width takes 4 ms, so it waits for -h.
        super().__init__(f"mmacalc {command.name}".rstrip(), command.usage, command.about, add_help=False)
        self.abbreviated = frozenset(command.abbreviated)
        self.commands_first = not command.name
        self._modifiers: set[str] = set()
        self.add_argument("-h", "--help", action=_Help, help="show a screen of help; --help: all of it")
        self.command = command
        self.add(command.options)

    def _get_option_tuples(self, option_string: str) -> list[Any]:
        """What an abbreviation may stand for: the spellings in `abbreviated` before all others, each option once.

        argparse of Python 3.10 and 3.11 takes the spellings `--x-y` and `--x_y` for two options, and so refuses it.
        Spellings that help leaves out are not abbreviated.
        """
        every = super()._get_option_tuples(option_string)
        found = [one for one in every if one[0].help != argparse.SUPPRESS or one[1] in self._modifiers]
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
            from .help import modifiers_line

            return f"{whole}{modifiers_line(self.command, max(40, terminal_width()))}"
        from .help import by_need, commands

        usage, gap, rest = whole.partition("\n\n")
        return f"{usage}\n\ncommands, by need:\n{commands(by_need(), max(40, terminal_width()))}{gap}{rest}"

    def format_short(self) -> str:
        """The help on one screen: what the command does, an example or two, and each option in one line."""
        from .help import short_help

        return short_help(self.command, max(40, terminal_width()))

    def add(self, options: Iterable[Option]) -> None:
        """The options of a command."""
        groups: dict[str, Any] = {"": self}
        unlisted = set() if self.commands_first else {each.name for each in filter(is_modifier, options)}
        for each in options:
            if each.alone not in groups:
                groups[each.alone] = self.add_mutually_exclusive_group()
            shown = argparse.SUPPRESS if each.name in unlisted else each.help
            self._modifiers |= {*each.spellings} if shown != each.help else set()
            settings = _settings(each, not self.commands_first)
            made = groups[each.alone].add_argument(*(each.spellings or (each.name,)), **settings, help=shown)
            made.required = made.required and each.nargs != "..."  # which argparse asks for before Python 3.14
            if each.hidden:
                self.add_argument(*each.hidden, **settings, help=argparse.SUPPRESS)

    def parsed(self, words: Sequence[str]) -> argparse.Namespace:
        """The options that words stand for; arguments without an option may stand before, between and after them.

        Raises:
            Error: an argument is unknown, missing or wrong.
        """
        words = self._architecture_first(words)
        found, left = self.parse_known_args(words)
        if left and not left[0].startswith("-"):  # argparse by itself takes an optional argument only beside the first
            found, left = self.parse_known_intermixed_args(words)
        if left:
            self.error(f"unrecognized arguments: {' '.join(left)}")
        vars(found).pop(GIVEN, None)
        return found

    def _architecture_first(self, words: Sequence[str]) -> Sequence[str]:
        """The words with -a before a first one that is an architecture, and -i before an instruction behind it, where
        the command has these options and they are not given: `chain MI300X X Y`, `draw MI300X X -A`."""
        own = ("", "compare", "find", "architectures")
        if self.command.name in own or "-a" not in self._option_string_actions or not words or words[0][:1] == "-":
            return words
        if any(word.startswith(("-a", "--arch")) for word in words):
            return words
        from ..command.files import exists
        from .hints import is_architecture, is_instruction

        if exists(words[0]) or not is_architecture(words[0]):
            return words
        first = ["-a", words[0]]
        takes = any(not option.spellings for option in self.command.options)
        if not takes and "-i" in self._option_string_actions and words[1:] and is_instruction(words[1]):
            return [*first, "-i", *words[1:]]
        return [*first, *words[1:]]

    def error(self, message: str) -> NoReturn:
        shown = message if len(message) < 200 else f"{message[:200]}..."
        raise Error(f"{shown}.{self._meant(message)} `{self.prog} -h` lists the options.", kind="usage")

    def _example(self, spellings: Sequence[str]) -> str:
        """What an option takes that was given nothing, as the command's help has it."""
        for option in self.command.options:
            if {*option.spellings, *option.hidden}.intersection(spellings) and option.placeholder:
                names = "|".join(map(re.escape, sorted(option.spellings, key=len, reverse=True)))
                example = re.search(rf'(?<!\S)(?:{names}) (?:"[^"]*"|[^\s-]\S*)', self.command.about or "")
                return f" It takes {option.placeholder}{f', as in `{example[0]}`' if example else f': {option.help}'}."
        return ""

    def _meant(self, message: str) -> str:
        """The option or the choice that an unknown one is close to, or an example of what was left out."""
        _, invalid, after = message.partition("invalid choice: '")
        if invalid:
            given, _, choices = after.partition("' (choose from ")
            return did_you_mean(given, choices.rstrip(")").replace("'", "").split(", "))
        if " expected " in message:
            return self._example(message.removeprefix("argument ").partition(": expected ")[0].split("/"))
        _, unrecognized, words = message.partition("unrecognized arguments: ")
        if not unrecognized:
            return ""
        unknown = words.split(" ")[0].partition("=")[0]
        if not unknown.startswith("-"):
            from .hints import option_for

            return option_for(unknown, self._option_string_actions)
        known = {name.replace("_", "-") for name in self._option_string_actions if name.startswith("--")}
        return did_you_mean(unknown.replace("_", "-"), sorted(known))


def _settings(option: Option, once: bool) -> dict[str, Any]:
    """What argparse calls the parts of an option. once: refuse two values where one counts."""
    if not option.spellings:
        settings = {"nargs": option.nargs, "metavar": option.placeholder, "type": option.kind}
        return {name: value for name, value in (*settings.items(), ("choices", option.choices)) if value}
    if not (option.placeholder or option.choices):
        return {"dest": option.name, "action": "store_const", "const": option.constant, "default": option.default}
    found = {"dest": option.name, "default": option.default, "required": option.required}
    if option.many or once:
        found["action"] = "append" if option.many else _Once
    others = {"metavar": option.placeholder, "type": option.kind, "choices": option.choices, "nargs": option.nargs}
    return found | {name: value for name, value in others.items() if value}
