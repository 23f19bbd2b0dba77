"""What one can ask: a module for each question, with its answer, what computes it, its text and its command.

A module here is a command of the same name (with - for _): the folder is the list, so a new question is one new file.
CONTRIBUTING.md ("Add a question") has one to begin with. `mmacalc.command` describes the parts.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..command import Command, Summary

__all__ = ["command", "names"]

CLASSIC = "classic"  # the command line of AMD's tool, which is not typed by a name


def names() -> tuple[str, ...]:
    """The names of the commands that this folder has.

    >>> "transpose-loads" in names()
    True
    """
    import os

    try:
        found = [file.partition(".") for file in os.listdir(__path__[0])]
        modules = [name for name, _, ending in found if ending == "py" or (not ending and name[:1] != "_")]
    except OSError:  # in a zip file
        from pkgutil import iter_modules

        modules = [module.name for module in iter_modules(__path__)]
    return tuple(sorted([name.replace("_", "-") for name in modules if name not in (CLASSIC, "__init__")]))


def command(name: str) -> Command | None:
    """The command of a name, also of one that it had before; "" is the classic command line. None: there is none.

    >>> command("lds-transpose").name
    'transpose-loads'
    """
    if not name:
        return _of(f"{CLASSIC}.command")
    module = name.replace("-", "_")
    if module.isidentifier() and module != CLASSIC and name == module.replace("_", "-"):
        try:
            return _of(module)
        except ModuleNotFoundError as missing:
            if missing.name != f"{__name__}.{module}":
                raise
    having = [found for each in names() if name in (found := _of(each.replace("-", "_"))).older]
    return having[0] if having else None


def summaries() -> tuple[Summary, ...]:
    """What each command does, in the order of their names; read from the texts of the modules."""
    from ..command import summary_of

    return tuple([summary_of(__path__[0], name, lambda name: _of(name.replace("-", "_"))) for name in names()])


def _of(module: str) -> Command:
    from importlib import import_module

    found: Command = import_module(f".{module}", __name__).COMMAND
    return found
