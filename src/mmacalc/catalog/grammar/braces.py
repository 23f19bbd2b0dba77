"""Families of names: a shell's braces."""

from __future__ import annotations

from itertools import islice

from ...base.errors import Error
from ...base.numerals import whole
from ...base.records import Cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["expand"]


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
