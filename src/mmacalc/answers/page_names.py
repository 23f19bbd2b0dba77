"""Names made small: thousands of them are the ways through a graph of their parts.

The names of an instruction set are products of few parts: `dpas.8x1.f.f.bf.bf` to `dpas.8x8.f.f.hf.hf` are 8 x 2 names.
A node is a list in which texts, the next parts of a name, are followed by the node where it goes on, if it does. Parts
that go on alike are one text, with `|` between them. A node to which several lead is written once and referred to by
its number. The ways are in the order of the names, so that columns can hold what else is known of each.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Node = tuple[tuple[str, "Node | None"], ...]  # parts, each with the node where it goes on, None where a name ends

__all__ = ["graph"]

# Where one part of a name ends and the next begins: behind punctuation, and before the number of a shape's k.
BOUNDARY = re.compile(r"(?<=[._:])(?![._:])|(?<=\dk)(?=\d)")
SMALL = 20  # characters of a node that is written again rather than referred to


def graph(names: Sequence[str]) -> list[Any]:
    """The nodes to which others refer by their numbers, and then the node where all names begin.

    >>> graph(["mma.m8n8k4.f16", "mma.m8n8k4.f32", "mma.m8n8k16.f16", "mma.m8n8k16.f32"])
    [['mma.', ['m8n8k', ['4.|16.', ['f16|f32']]]]]
    """
    first = _node([[part for part in BOUNDARY.split(name) if part] for name in names])
    writer = _Writer(first)
    return [*writer.shared, writer.last]


def _node(names: Sequence[list[str]]) -> Node:
    """The node where names begin, each a list of its parts."""
    found: list[tuple[str, Node | None]] = []
    for (part, ends), same in groupby(names, lambda name: (name[0], len(name) == 1)):
        rests = [name[1:] for name in same]
        found += [(part, None)] * len(rests) if ends else [(part, _node(rests))]
    return tuple(found)


def _alike(node: Node) -> Iterator[tuple[str, Node | None]]:
    """The parts of a node, neighbours that go on alike as one text."""
    for following, same in groupby(node, lambda pair: pair[1]):
        yield "|".join([part for part, _ in same]), following


class _Writer:
    """Writes the nodes, those to which several lead only once."""

    def __init__(self, first: Node) -> None:
        self.shared: list[list[Any]] = []
        self._numbers: dict[Node, int] = {}
        self._leading: Counter[Node] = Counter()
        self._count(first)
        self.last = self._written(first)

    def _count(self, node: Node) -> None:
        for _, following in _alike(node):
            if following is not None:
                self._leading[following] += 1
                if self._leading[following] == 1:
                    self._count(following)

    def _written(self, node: Node) -> list[Any]:
        row: list[Any] = []
        for text, following in _alike(node):
            row += [text] if following is None else [text, self._reference(following)]
        return row

    def _reference(self, node: Node) -> Any:
        if node not in self._numbers:
            written = self._written(node)
            if self._leading[node] == 1 or len(str(written)) < SMALL:
                return written
            self._numbers[node] = len(self.shared)
            self.shared.append(written)
        return self._numbers[node]
