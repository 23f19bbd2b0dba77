"""Records as JSON: one encoder over their fields.

A record becomes an object whose keys are its fields. Where they are not, `mmacalc.base.records.json_keys` says which
they are, a line each:

    name                        the field of that name
    key=path.to.value           under another name, or a part of a field
    key=path?                   null where it is empty
    [key]=path                  left out where it is None or empty
    **path                      the keys of that record, in this object
    key=path: what it is        a description, for the schema
    str()                       alone: the record is its text

Mappings are objects, tuples and arrays lists; an infinity or NaN is text, since JSON has none.

>>> from mmacalc.model import Location
>>> encoded({"location": Location(35, 1, 0, 16, 16), "cost": float("inf")})
{'location': {'lane': 35, 'item': 1, 'register': 0, 'lsb': 16, 'width': 16}, 'cost': 'inf'}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite

from .records import FORMS, Cache, TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Key", "encoded", "keys_of"]

LINE = re.compile(r"(?:(?P<spread>\*\*)|(?P<left>\[)?(?P<key>\w+)\]?(?P<equals>=)?)(?P<path>[\w.]+)?(?P<null>\?)?"
                  r"(?:: (?P<about>.*))?", re.S)  # fmt: skip


TEXT = ("str()",)
PLAIN = frozenset((type(None), str, int, bool))


class Key(TupleRecord):
    """One key of a record in JSON; `name` is "" where the keys of the value stand in its place.

    Attributes:
        name: of the key. path: the names of the attributes that lead to the value. null: whether an empty value is
            null. left_out: whether it is left out. about: what it is.
    """

    name: str
    path: tuple[str, ...]
    null: bool = False
    left_out: bool = False
    about: str = ""


_keys = Cache(1024)


def keys_of(kind: type) -> tuple[Key, ...] | None:
    """The keys of a record in JSON; None for other classes."""
    found: tuple[Key, ...] | None = _keys.get(kind, lambda: _read(kind))
    return found


def _read(kind: type) -> tuple[Key, ...] | None:
    for base in kind.__mro__:
        if base in FORMS:
            return None if FORMS[base] == TEXT else tuple(map(_key, FORMS[base]))
    fields: tuple[str, ...] | None = getattr(kind, "_fields", None)
    return None if fields is None else tuple([Key(name, (name,)) for name in fields])


def _key(line: str) -> Key:
    """One line of a form.

    >>> _key("encoding=architecture.encoding?: of the ISA guide")
    Key(name='encoding', path=('architecture', 'encoding'), null=True, left_out=False, about='of the ISA guide')
    """
    found = LINE.fullmatch(line)
    assert found, line
    assert (found["path"] is not None) == bool(found["equals"] or found["spread"]), line
    name, path, about = found["key"] or "", found["path"] or found["key"], found["about"] or ""
    return Key(name, tuple(path.split(".")), bool(found["null"]), bool(found["left"]), about)


def encoded(value: Any) -> Any:
    """A value as what JSON has."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is float:
        return value if isfinite(value) else "nan" if value != value else "inf" if value > 0 else "-inf"
    if kind is tuple or kind is list:
        return [encoded(held) for held in value]
    if (keys := keys_of(kind)) is not None:
        return _object(value, keys)
    if FORMS.get(kind) == TEXT:
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): encoded(held) for name, held in value.items()}
    if isinstance(value, (tuple, list, range)):
        return [encoded(held) for held in value]
    if hasattr(value, "tolist"):  # an array or a number of NumPy
        return encoded(value.tolist())
    raise TypeError(f"{kind.__name__} has no form in JSON")


def _object(record: Any, keys: tuple[Key, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, path, null, left_out, _ in keys:
        value = record
        for step in path:
            value = None if value is None else getattr(value, step)
        if not name:
            found |= {} if value is None else encoded(value)
        elif not (left_out and (value is None or (isinstance(value, (str, tuple, list, Mapping)) and not value))):
            found[name] = None if null and not value else encoded(value)
    return found
