"""Catalog files: what they may assign, and how one outside the package is read, which MMACALC_CATALOG names.

A file outside the package is parsed, never executed.
"""

from __future__ import annotations

from ...base.checks import whole
from ...base.errors import Error, did_you_mean
from ...base.records import Cache, TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator, Mapping
    from typing import Any

LARGEST = 1 << 18  # bytes of a file: the largest of the package has 40,000, and a syntax tree takes 200 times as much


class CatalogFile(TupleRecord):
    """What a catalog file assigns, in lower case: see `mmacalc.catalog`."""

    architectures: tuple[Mapping[str, Any], ...]
    instructions: tuple[tuple[Any, ...], ...]
    common: Mapping[str, Any] = {}
    aliases: Mapping[str, str] = {}
    transpose_loads: tuple[tuple[Any, ...], ...] = ()
    vector_instructions: Mapping[str, int] | tuple[tuple[str, int, str], ...] = {}
    tensor_memory: tuple[str, ...] = ()
    outside: Mapping[str, str] = {}
    unlisted: tuple[tuple[Any, ...], ...] = ()
    without_matrix_instructions: Mapping[str, str] = {}

    @property
    def records(self) -> list[dict[str, Any]]:
        """The records of the architectures, each with what they share."""
        return [{**self.common, **record} for record in self.architectures]


NAMES = {name.upper(): name for name in CatalogFile._fields}


def contents(values: Mapping[str, Any]) -> CatalogFile:
    """A catalog file's assignments, what it leaves out included."""
    return CatalogFile(**{name: values[spelled] for spelled, name in NAMES.items() if spelled in values})


def read_literals(path: str) -> CatalogFile:
    """A catalog file outside the package, read as literals: nothing in it is executed.

    Raises:
        Error: the file cannot be read, is too large, is not Python, or has anything but literals assigned to known names.
    """
    import ast

    try:
        with open(path, "rb") as stream:
            text = stream.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise Error(f"it has more than {LARGEST} bytes, the most that a catalog file may have")
        tree = ast.parse(text, path)
    except Error:
        raise
    except (OSError, SyntaxError, ValueError, MemoryError, RecursionError) as problem:
        raise Error(f"it cannot be read: {getattr(problem, 'strerror', None) or problem or 'its brackets are nested too deep'}") from None
    values: dict[str, Any] = {}
    for number, statement in enumerate(tree.body):
        if number == 0 and isinstance(statement, ast.Expr):
            continue  # the docstring
        name, value = _assignment(statement)
        if name not in NAMES or value is None:
            hint = did_you_mean(name, NAMES) if name else ""
            raise Error(f"its line {statement.lineno} should assign a literal to one of {', '.join(NAMES)}.{hint}")
        if name in values:
            raise Error(f"its line {statement.lineno} assigns {name} a second time")
        try:
            values[name] = ast.literal_eval(value)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            raise Error(f"{name} in line {statement.lineno} is not a literal") from None
    if missing := [name for name in ("ARCHITECTURES", "INSTRUCTIONS") if name not in values]:
        raise Error(f"it has no {' and no '.join(missing)}")
    return contents(values)


def _assignment(statement: ast.stmt) -> tuple[str, ast.expr | None]:
    """The name and value of `name = value` or `name: type = value`; "" and None for any other statement."""
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    name = getattr(targets[0], "id", "") if len(targets) == 1 and type(statement).__name__ in ("Assign", "AnnAssign") else ""
    return name, getattr(statement, "value", None)


# --- Families of names: a shell's braces ---


MOST = 1 << 14
"""Names of one family, and numbers of one range: wgmma's largest family has 1,000."""


_kept = Cache(1 << 9)


def expand(template: str) -> tuple[str, ...]:
    """The names of a family, braces expanded from left to right.

    Raises:
        Error: a brace is open, a range is not first..last..step, or there are more names than `MOST`.

    >>> expand("m16n8k{8,16}.{d=f16,f32}.f16.f16.{d}")[1:3]
    ('m16n8k8.f32.f16.f16.f32', 'm16n8k16.f16.f16.f16.f16')
    >>> expand("m64n{8,16..48..16}k8{,.satfinite}")[-2:]
    ('m64n48k8', 'm64n48k8.satfinite')
    """
    made: tuple[str, ...] = _kept.get(template, lambda: _made(template))
    return made


def _made(template: str) -> tuple[str, ...]:
    from itertools import islice

    names = tuple(islice(_expanded(template), MOST + 1))
    if len(names) > MOST:
        raise Error(f"the family '{template}' has more than {MOST} names")
    return names


def _expanded(template: str) -> Iterator[str]:
    head, brace, rest = template.partition("{")
    if not brace:
        yield template
        return
    inside, closed, tail = rest.partition("}")
    if not closed or "}" in head:
        raise Error(f"'{template}' has a brace that is not closed, or not opened")
    label, equals, inside = inside.rpartition("=")
    for choice in _choices(inside):
        yield from _expanded(head + choice + (tail.replace(f"{{{label}}}", choice) if equals else tail))


def _choices(inside: str) -> Iterator[str]:
    for part in inside.split(","):
        if ".." in part:
            numbers = part.split("..")
            if len(numbers) != 3:
                raise Error(f"'{part}' should be a range first..last..step, such as 8..256..8")
            first, last, step = (whole(number, f"a number of {part}", MOST, 1) for number in numbers)
            yield from map(str, range(first, last + 1, step))
        else:
            yield part
