"""Record: the base of the catalog's immutable records.

A subclass declares its fields as annotations, with a default where a field may be left out:

>>> class Product(Record):
...     name: str
...     clock_ghz: float = 0.0
>>> Product("MI300X", clock_ghz=2.1)
Product(name='MI300X', clock_ghz=2.1)
>>> Product("MI300X", clokc_ghz=2.1)
Traceback (most recent call last):
    ...
mmacalc.base.errors.Error: Product 'MI300X' has no field 'clokc_ghz'. Did you mean clock_ghz? Fields: name, clock_ghz

`TupleRecord` is the same as a tuple, which is cheaper to make and can be unpacked.

dataclasses would do the same but cost 12 ms to import, more than a whole query; collections.namedtuple and
functools.cached_property 2 ms, a tenth of one.
"""

from __future__ import annotations

import sys
from _thread import allocate_lock

from .errors import Error, did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from functools import cached_property
    from types import MappingProxyType
    from typing import Any, NoReturn, TypeVar

    from typing_extensions import Self, dataclass_transform

    Class = TypeVar("Class", bound=type)

else:
    MappingProxyType = type(type.__dict__)  # without the module types, which costs a query a quarter of a millisecond
    try:
        from _collections import _tuplegetter  # as collections.namedtuple does
    except ImportError:  # a Python without it
        from operator import itemgetter

        def _tuplegetter(index, doc):
            return property(itemgetter(index), doc=doc)

    def dataclass_transform(**_: object):
        return lambda cls: cls

    class cached_property:
        """A property that is computed once, as functools.cached_property."""

        def __init__(self, function):
            self.function, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = self.function(instance)
            object.__setattr__(instance, self.name, value)  # past the refusal of `Frozen`
            return value


__all__ = [
    "FORMS", "Cache", "Frozen", "MappingProxyType", "Record", "TupleRecord", "cached_property", "frozen", "imported",
    "json_keys", "late", "text_of",
]  # fmt: skip


CONTAINERS = frozenset((dict, list, tuple, set, MappingProxyType))
LOOSE = ("Mapping", "Sequence")  # how the annotation of a field begins whose values are made immutable
LONGEST = 100  # bytes or items that the repr of a record shows of one field


def _shortened(value: object) -> str:
    """The repr of a field's value, of a long one its beginning, so that a prompt shows no megabytes of code.

    >>> _shortened(b"code"), _shortened(bytes(70000)), _shortened((1, 2))
    ("b'code'", '<70000 bytes>', '(1, 2)')
    >>> _shortened(tuple(range(1000)))
    '(0, 1, 2, ... 997 more)'
    """
    if isinstance(value, bytes) and len(value) > LONGEST:
        return f"<{len(value)} bytes>"
    if type(value) is tuple and len(value) > LONGEST:
        return f"({', '.join(map(repr, value[:3]))}, ... {len(value) - 3} more)"
    return repr(value)


def frozen(value: Any) -> Any:
    """An immutable copy of a value: dictionaries become read-only mappings, lists tuples, sets frozen sets.

    A mapping is copied, since a read-only view would show what its first owner changes later.

    >>> frozen({"a": [1, 2]}), frozen({3})
    (mappingproxy({'a': (1, 2)}), frozenset({3}))
    """
    kind = type(value)
    if kind is dict or kind is MappingProxyType:
        return MappingProxyType(
            {name: frozen(held) if type(held) in CONTAINERS else held for name, held in value.items()}
        )
    if kind is list or (kind is tuple and not CONTAINERS.isdisjoint(map(type, value))):
        return tuple([frozen(held) for held in value])
    return frozenset(value) if kind is set else value


def thawed(value: Any) -> Any:
    """The same with dictionaries in place of read-only mappings, which cannot be pickled."""
    if type(value) is MappingProxyType:
        return {name: thawed(held) for name, held in value.items()}
    return tuple([thawed(held) for held in value]) if type(value) is tuple else value


class Cache:
    """What was made before, by key: at most `most` values, of which the oldest go when there is no room.

    Threads may share one. Two that ask for the same key at the same moment may both make the value; both get the one
    that was kept first. `functools.lru_cache` does the same for a function, but costs a query 2 ms to import.

    >>> squares = Cache(2)
    >>> [squares.get(n, lambda: n * n) for n in (1, 2, 3)], len(squares)
    ([1, 4, 9], 2)
    """

    __slots__ = ("__held", "__lock", "__most")

    def __init__(self, most: int) -> None:
        self.__held: dict[Any, Any] = {}
        self.__lock = allocate_lock()
        self.__most = most

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        """The value of a key, made now if it is not kept."""
        found = self.__held.get(key, self)
        if found is self:
            made = make()  # outside the lock: it may ask this cache for others
            with self.__lock:
                found = self.__held.setdefault(key, made)
                if len(self.__held) > self.__most:
                    # An eighth at once: each search for the oldest passes the places of those that went before.
                    for oldest in [*self.__held][: self.__most // 8 + 1]:
                        del self.__held[oldest]
        return found

    def __len__(self) -> int:
        return len(self.__held)


FORMS: dict[type, tuple[str, ...]] = {}
"""By record, the keys that it has in JSON, where they are not simply its fields: see `mmacalc.base.json_form`."""


def json_keys(*keys: str) -> Callable[[Class], Class]:
    """Decorates a record whose keys in JSON are not simply its fields: "key=path: description" for each.

    >>> @json_keys("architecture=arch: the canonical name")
    ... class Named(Record):
    ...     arch: str
    >>> FORMS.pop(Named)
    ('architecture=arch: the canonical name',)
    """

    def enter(kind: Class) -> Class:
        FORMS[kind] = keys
        return kind

    return enter


def _str(self: Any) -> str:
    """The text of an answer, as the command line prints it; of other records the repr."""
    found = text_of(self)
    return repr(self) if found is None else found


def _to_dict(self: Any) -> dict[str, Any]:
    """The record as dictionaries, lists, numbers and texts, with the keys that it has in JSON.

    >>> import mmacalc
    >>> mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16").operand("A").locate(i=3, k=5)[0].to_dict()
    {'lane': 19, 'item': 1, 'register': 0, 'lsb': 16, 'width': 16}
    """
    from .json_form import encoded

    found: dict[str, Any] = encoded(self)
    return found


def _to_markdown(self: Any) -> str:
    """The text in Markdown.

    >>> import mmacalc
    >>> print(mmacalc.wait_states("v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]", "v_mov_b32 v9, v1",
    ...     "gfx942").to_markdown().splitlines()[0])
    ```text
    """
    return f"```text\n{self}\n```"


def _repr_html_(self: Any) -> str | None:
    """An answer in a notebook: its text, with the width of its characters kept."""
    if text_of(self) is None:
        return None
    found = str(self)  # which a class may say otherwise
    return f"<pre>{found.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;')}</pre>"


class _Plain:
    """What `Frozen` hides: the dictionary of the attributes of an object."""


_attributes = _Plain.__dict__["__dict__"].__get__


class Frozen(_Plain):
    """An object whose attributes are set once, by `_set`; `vars` of it is a read-only mapping."""

    __dict__ = property(lambda self: MappingProxyType(_attributes(self)))

    def _set(self, **values: Any) -> None:
        """Set the attributes of a new object."""
        _attributes(self).update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: '{name}' cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: '{name}' cannot be deleted")


@dataclass_transform(frozen_default=True)
class Record(Frozen):
    """An immutable record whose fields are its annotations. Values are made immutable: see `frozen`."""

    _fields: tuple[str, ...] = ()
    _defaults: Mapping[str, Any] = MappingProxyType({})

    def __init_subclass__(cls) -> None:
        own = [name for name in cls.__annotations__ if not name.startswith("_")]
        cls._fields = (*cls._fields, *[name for name in own if name not in cls._fields])
        defaults = {name: frozen(vars(cls)[name]) for name in own if name in vars(cls)}
        cls._defaults = MappingProxyType({**cls._defaults, **defaults})
        for name, value in defaults.items():
            setattr(cls, name, value)

    def __init__(self, *positional: Any, **named: Any) -> None:
        given = {**dict(zip(self._fields, positional)), **named}
        values = {**self._defaults, **given}
        if len(values) != len(self._fields) or len(positional) > len(self._fields):
            self._refuse(values, len(positional))
        for name, value in given.items():
            if type(value) in CONTAINERS:
                values[name] = frozen(value)
        _attributes(self).update(values)
        self._check()

    def _refuse(self, values: dict[str, Any], given: int) -> NoReturn:
        kind = type(self).__name__
        what = f"{kind} '{values['name']}'" if "name" in values else kind
        if unknown := [name for name in values if name not in self._fields]:
            hint = did_you_mean(unknown[0], self._fields)
            raise Error(f"{what} has no field '{unknown[0]}'.{hint} Fields: {', '.join(self._fields)}")
        if missing := [name for name in self._fields if name not in values]:
            raise Error(f"{what} lacks: {', '.join(missing)}")
        raise Error(f"{what} has {len(self._fields)} fields ({', '.join(self._fields)}); got {given} values")

    def _check(self) -> None:
        """Refuse values that contradict each other, and set what follows from the fields; for subclasses."""

    def _changed(self, **values: Any) -> Self:
        """A copy with other values of some fields, which are not checked again: they were of another record."""
        made = object.__new__(type(self))
        own = _attributes(self)
        held = {name: own[name] for name in self._fields}
        _attributes(made).update(held | {name: frozen(value) for name, value in values.items()})
        return made

    def __eq__(self, other: object) -> bool:
        if self is other or type(self) is not type(other):
            return self is other
        return all(getattr(self, name) == getattr(other, name) for name in self._fields)

    def __hash__(self) -> int:
        return hash((type(self).__name__, getattr(self, self._fields[0])))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple([thawed(getattr(self, name)) for name in self._fields])

    __str__ = _str
    to_dict = _to_dict
    to_markdown = _to_markdown
    _repr_html_ = _repr_html_

    def __repr__(self) -> str:
        shown = [f"{name}={_shortened(getattr(self, name))}" for name in self._fields
                 if getattr(self, name) != self._defaults.get(name, self)]  # fmt: skip
        return f"{type(self).__name__}({', '.join(shown)})"


if TYPE_CHECKING:
    from typing import NamedTuple as TupleRecord
else:
    _tuple = tuple.__new__

    class _TupleRecordType(type):
        """Takes the defaults out of the class, whose attributes of these names get the items, and adds __slots__."""

        def __new__(meta, name, bases, namespace):
            fields = tuple(namespace.get("__annotations__", ()))
            if not fields:
                return super().__new__(meta, name, bases, {"__slots__": (), **namespace})
            namespace["_fields"] = fields
            texts = namespace["__annotations__"].values()
            namespace["_loose"] = tuple([at for at, text in enumerate(texts) if str(text).startswith(LOOSE)])
            namespace["_plain"] = -1 if namespace["_loose"] else len(fields)
            namespace["_field_defaults"] = {field: namespace[field] for field in fields if field in namespace}
            for index, field in enumerate(fields):
                namespace[field] = _tuplegetter(index, f"Item number {index}")
            return super().__new__(meta, name, bases, {"__slots__": (), **namespace})

    class TupleRecord(tuple, metaclass=_TupleRecordType):
        """A tuple whose items have names, as typing.NamedTuple: the annotations of the subclass, with their defaults.

        >>> class Place(TupleRecord):
        ...     lane: int
        ...     item: int = 0
        >>> Place(35, item=1), Place(35), Place(35, 1).lane, Place(35, 1)._replace(lane=3) == (3, 1)
        (Place(lane=35, item=1), Place(lane=35, item=0), 35, True)
        """

        _fields = ()
        _field_defaults = {}
        _loose = ()
        _plain = 0
        """How many values become a record as they are; -1 if some are to be frozen first."""

        def __new__(cls, *values, **named):
            if len(values) == cls._plain and not named:
                return _tuple(cls, values)
            fields = cls._fields
            if named or len(values) != len(fields):
                rest = fields[len(values) :]
                given = {**cls._field_defaults, **named}
                if not set(named) <= set(rest) or not set(rest) <= set(given) or len(values) > len(fields):
                    raise Error(
                        f"{cls.__name__} takes {', '.join(fields)}; got {len(values)} values {', '.join(named)}"
                    )
                values = (*values, *[given[name] for name in rest])
            if cls._loose:
                held = [*values]
                for at in cls._loose:
                    held[at] = frozen(held[at])
                values = tuple(held)
            return _tuple(cls, values)

        @classmethod
        def _make(cls, values):
            return cls(*values)

        def _asdict(self):
            return dict(zip(self._fields, self))

        def _replace(self, **named):
            values = [named.pop(name, value) for name, value in zip(self._fields, self)]
            return type(self)(*values, **named)

        def __getnewargs__(self):
            return tuple([thawed(value) for value in self])

        __str__ = _str
        to_dict = _to_dict
        to_markdown = _to_markdown
        _repr_html_ = _repr_html_

        def __repr__(self):
            shown = [f"{name}={_shortened(value)}" for name, value in self._asdict().items()]
            return f"{type(self).__name__}({', '.join(shown)})"

# --- What is imported when it is first used ---
#
# A query costs little, and no module imports one above it. `Instruction.multiply` belongs to the record that users
# hold, but its code belongs to the emulator, which is built on records. The package root, which sees every layer, lists
# such functions (`LATE` in `mmacalc/__init__.py`); the methods have the signatures and the descriptions, check their
# arguments, and call them through `late`.


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
