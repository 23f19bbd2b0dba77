"""Families of names: a shell's braces."""

from __future__ import annotations

from ...numerals import whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["expand"]


def expand(template: str) -> Iterator[str]:
    """The names of a family, braces expanded from left to right.

    >>> list(expand("m16n8k{8,16}.{d=f16,f32}.f16.f16.{d}"))[1:3]
    ['m16n8k8.f32.f16.f16.f32', 'm16n8k16.f16.f16.f16.f16']
    >>> list(expand("m64n{8,16..48..16}k8{,.satfinite}"))[-2:]
    ['m64n48k8', 'm64n48k8.satfinite']
    """
    head, brace, rest = template.partition("{")
    if not brace:
        yield template
        return
    inside, _, tail = rest.partition("}")
    label, equals, inside = inside.rpartition("=")
    for choice in _choices(inside):
        yield from expand(head + choice + (tail.replace(f"{{{label}}}", choice) if equals else tail))


def _choices(inside: str) -> Iterator[str]:
    for part in inside.split(","):
        if ".." in part:
            first, last, step = (whole(number, f"a number of {part}") for number in part.split(".."))
            yield from map(str, range(first, last + 1, step))
        else:
            yield part
