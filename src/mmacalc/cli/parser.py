"""argparse, answering through exceptions instead of printing and leaving."""

from __future__ import annotations

import argparse

from ..errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn


class Shown(Exception):  # noqa: N818 (it is no error)
    """A text was asked for (help, version); showing it is the whole answer."""


class _Show(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str, text: str | None = None, **rest: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, **rest)
        self.text = text

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        raise Shown(self.text if self.text is not None else parser.format_help())


class Parser(argparse.ArgumentParser):
    """An argument parser that raises `Error` for bad arguments and `Shown` for -h."""

    def __init__(self, prog: str, description: str | None) -> None:
        super().__init__(
            prog=prog, description=description, add_help=False, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        self.add_argument("-h", "--help", action=_Show, help="show this text")

    def add_text(self, *flags: str, text: str, help: str) -> None:
        """An option whose whole answer is a fixed text."""
        self.add_argument(*flags, action=_Show, text=text, help=help)

    def error(self, message: str) -> NoReturn:
        raise Error(f"{message}. `{self.prog} -h` lists the options.")


def whole_number(text: str) -> int:
    """The argument type of every index and field: decimal, or 0x hexadecimal, and not negative."""
    try:
        value = int(text, 16) if text.lower().startswith("0x") else int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is not a whole number from 0 up")
    return value


def number_or_name(text: str) -> int | str:
    """The argument type of fields that choose a format: a whole number, or a format's name."""
    return text if text[:1].isalpha() else whole_number(text)
