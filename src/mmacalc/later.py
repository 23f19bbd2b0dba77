"""Methods of a lower layer whose code is in a higher one.

`Instruction.multiply` belongs to the record that users hold, but its code belongs to the emulator, which is built on
records. The package root (`mmacalc/__init__.py`), which sees every layer, enters such functions here by name; the
lower layer calls them through `higher_layer`. So no module imports one above it.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["FUNCTIONS", "higher_layer", "imported", "written"]

FUNCTIONS: dict[str, str] = {}  # the name that the lower layer uses: "module:function"


_found: dict[str, Any] = {}


def higher_layer(name: str) -> Any:
    """The function that the package root entered under this name; its module is imported now.

    Of a function with `arguments_checked` it is the one inside: the methods that call it have checked the arguments.
    """
    if name not in _found:
        module, _, attribute = FUNCTIONS[name].partition(":")
        function = getattr(imported(module), attribute)
        _found[name] = getattr(function, "__wrapped__", function)
    return _found[name]


def written(place: str, record: Any) -> str:
    """The text of an answer by the function of `mmacalc.questions` that writes it."""
    module, _, function = place.partition(":")
    text: str = getattr(imported(f"mmacalc.questions.{module}"), function)(record)
    return text


def imported(module: str) -> Any:
    """A module by its absolute name: importlib.import_module, without what it takes to import importlib."""
    __import__(module)
    return sys.modules[module]
