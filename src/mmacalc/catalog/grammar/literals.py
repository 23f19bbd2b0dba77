"""Catalog files outside the package, which MMACALC_CATALOG names: parsed, never executed."""

from __future__ import annotations

import ast
from types import SimpleNamespace

from ...errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["read_literals"]


def read_literals(path: str, known: tuple[str, ...]) -> SimpleNamespace:
    """The assignments of a catalog file outside the package, read as literals: nothing in it is executed.

    Raises:
        Error: the file cannot be read, is not Python, or has anything but literals assigned to known names.
    """
    where = f"MMACALC_CATALOG names '{path}'"
    try:
        with open(path, encoding="utf-8") as stream:
            tree = ast.parse(stream.read(), path)
    except (OSError, SyntaxError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise Error(f"{where}, which cannot be read: {reason}") from None
    values: dict[str, Any] = {}
    for number, statement in enumerate(tree.body):
        if number == 0 and isinstance(statement, ast.Expr):
            continue  # the docstring
        name, value = _assignment(statement)
        if name not in known or value is None:
            raise Error(f"{where}; its line {statement.lineno} should assign a literal to one of {', '.join(known)}")
        try:
            values[name] = ast.literal_eval(value)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            raise Error(f"{where}; {name} in line {statement.lineno} is not a literal") from None
    _check_file(where, values)
    return SimpleNamespace(**values)


def _assignment(statement: ast.stmt) -> tuple[str, ast.expr | None]:
    """The name and value of `name = value` or `name: type = value`; "" and None for any other statement."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    if len(targets) == 1 and isinstance(targets[0], ast.Name):
        return targets[0].id, getattr(statement, "value", None)
    return "", None


def _check_file(where: str, values: dict[str, Any]) -> None:
    if missing := [name for name in ("ARCHITECTURES", "INSTRUCTIONS") if name not in values]:
        raise Error(f"{where}, which has no {' and no '.join(missing)}")
    kinds = {"ARCHITECTURES": dict, "INSTRUCTIONS": tuple}
    for name, kind in kinds.items():
        if not isinstance(values[name], tuple) or not all(isinstance(item, kind) and item for item in values[name]):
            word = "dictionaries" if kind is dict else "tuples"
            raise Error(f"{where}, whose {name} should be a tuple of {word} (a single one ends in a comma)")
