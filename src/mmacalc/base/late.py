"""What is imported when it is first used, so that a query costs little and no module imports one above it.

`Instruction.multiply` belongs to the record that users hold, but its code belongs to the emulator, which is built on
records. The package root, which sees every layer, lists such functions (`LATE` in `mmacalc/__init__.py`); the methods
have the signatures and the descriptions, check their arguments, and call them through `late`.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["imported", "late", "text_of"]


def imported(module: str) -> Any:
    """A module by its absolute name: importlib.import_module, without what it takes to import importlib."""
    __import__(module)
    return sys.modules[module]


def late(name: str) -> Any:
    """What the package root lists under this name; its module is imported now."""
    module, _, attribute = sys.modules["mmacalc"].LATE[name].partition(":")
    return getattr(imported(module), attribute)


def text_of(record: Any) -> str | None:
    """The text of an answer, without the line feed at its end; None of other records."""
    kind = type(record)
    place = sys.modules["mmacalc"].TEXTS.get(f"{kind.__module__.removeprefix('mmacalc.')}.{kind.__name__}")
    if place is None:
        return None
    module, _, function = place.partition(":")
    text: str = getattr(imported(f"mmacalc.questions.{module}"), function)(record)
    return text.rstrip("\n")
