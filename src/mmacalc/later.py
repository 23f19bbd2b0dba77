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

__all__ = ["FUNCTIONS", "higher_layer", "imported"]

FUNCTIONS: dict[str, str] = {}  # the name that the lower layer uses: "module:function"


def higher_layer(name: str) -> Any:
    """The function that the package root entered under this name; its module is imported now."""
    module, _, function = FUNCTIONS[name].partition(":")
    return getattr(imported(module), function)


def imported(module: str) -> Any:
    """A module by its absolute name: importlib.import_module, without what it takes to import importlib."""
    __import__(module)
    return sys.modules[module]
