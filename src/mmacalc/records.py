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
mmacalc.errors.Error: Product 'MI300X' has no field 'clokc_ghz'. Did you mean clock_ghz? Fields: name, clock_ghz

`TupleRecord` is the same as a tuple, which is cheaper to make and can be unpacked.

dataclasses would do the same but cost 12 ms to import, more than a whole query; collections.namedtuple and
functools.cached_property 2 ms, a tenth of one.
"""

from __future__ import annotations

from types import MappingProxyType

from .errors import Error, did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from functools import cached_property
    from typing import Any, NoReturn

    from typing_extensions import dataclass_transform

else:
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
            value = vars(instance)[self.name] = self.function(instance)
            return value


__all__ = ["Record", "TupleRecord", "cached_property"]


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


@dataclass_transform(frozen_default=True)
class Record:
    """An immutable record whose fields are its annotations. Dictionaries become read-only mappings."""

    _fields: tuple[str, ...] = ()
    _defaults: dict[str, Any] = {}

    def __init_subclass__(cls) -> None:
        own = [name for name in cls.__annotations__ if not name.startswith("_")]
        cls._fields = (*cls._fields, *[name for name in own if name not in cls._fields])
        cls._defaults = {**cls._defaults, **{name: vars(cls)[name] for name in own if name in vars(cls)}}

    def __init__(self, *positional: Any, **named: Any) -> None:
        values = {**self._defaults, **dict(zip(self._fields, positional)), **named}
        if len(values) != len(self._fields) or len(positional) > len(self._fields):
            self._refuse(values, len(positional))
        for name, value in values.items():
            if isinstance(value, dict):
                values[name] = MappingProxyType(value)
        vars(self).update(values)
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

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: '{name}' cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: '{name}' cannot be deleted")

    def __eq__(self, other: object) -> bool:
        if self is other or type(self) is not type(other):
            return self is other
        return all(getattr(self, name) == getattr(other, name) for name in self._fields)

    def __hash__(self) -> int:
        return hash((type(self).__name__, getattr(self, self._fields[0])))

    def __reduce__(self) -> tuple[Any, ...]:
        values = [getattr(self, name) for name in self._fields]
        return type(self), tuple([dict(value) if isinstance(value, MappingProxyType) else value for value in values])

    def __repr__(self) -> str:
        shown = [f"{name}={_shortened(getattr(self, name))}" for name in self._fields
                 if getattr(self, name) != self._defaults.get(name, self)]  # fmt: skip
        return f"{type(self).__name__}({', '.join(shown)})"


if TYPE_CHECKING:
    from typing import NamedTuple as TupleRecord
else:

    class _TupleRecordType(type):
        """Takes the defaults out of the class, whose attributes of these names get the items, and adds __slots__."""

        def __new__(meta, name, bases, namespace):
            fields = tuple(namespace.get("__annotations__", ()))
            if not fields:
                return super().__new__(meta, name, bases, {"__slots__": (), **namespace})
            namespace["_fields"] = fields
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

        def __new__(cls, *values, **named):
            fields = cls._fields
            if named or len(values) != len(fields):
                rest = fields[len(values) :]
                given = {**cls._field_defaults, **named}
                if not set(named) <= set(rest) or not set(rest) <= set(given) or len(values) > len(fields):
                    raise Error(
                        f"{cls.__name__} takes {', '.join(fields)}; got {len(values)} values {', '.join(named)}"
                    )
                values = (*values, *[given[name] for name in rest])
            return tuple.__new__(cls, values)

        @classmethod
        def _make(cls, values):
            return cls(*values)

        def _asdict(self):
            return dict(zip(self._fields, self))

        def _replace(self, **named):
            return type(self)(**{**self._asdict(), **named})

        def __getnewargs__(self):
            return tuple(self)

        def __repr__(self):
            shown = [f"{name}={_shortened(value)}" for name, value in self._asdict().items()]
            return f"{type(self).__name__}({', '.join(shown)})"
