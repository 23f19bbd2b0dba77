"""A module for each notation of layouts, with a `read` that gives a `ForeignLayout`, or None for texts of others.

This folder is the list of them: an addition is a file.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..reading import ForeignLayout

__all__ = ["readers"]


def readers() -> Iterator[Callable[[str], ForeignLayout | None]]:
    """What reads each notation.

    >>> len(list(readers()))
    3
    """
    from importlib import import_module
    from pkgutil import iter_modules

    for found in iter_modules(__path__):
        yield import_module(f".{found.name}", __name__).read
