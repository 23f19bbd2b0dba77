"""Which elements are in the right lane already, and how k may be relabelled so that all are.

k is only a name for what is added up: if the columns of the result can be paired with the columns of the operand so
that each pair lies in the same lanes, then nothing moves. The pairing pi sends the k of a column of D to the k of the
operand where it lands; Y's other operand, or the rows of X, must follow it.

The pairing keeps as many k in place as it can, then goes upwards. Where that would send different lanes' items to
different places, it goes upwards in every lane instead, which sends item to item alike in all lanes.
"""

from __future__ import annotations

from itertools import product

from ..base.records import TupleRecord
from .tiles import slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .tiles import Tiles

    Places = tuple[tuple[int, int], ...]

__all__ = ["Match", "item_sources", "match"]

KINDS = ("identical", "renamed", "repacked", "k-relabel", "kf-relabel", "lane-moves")
"""From what costs nothing at all to what moves data between lanes."""


class Match(TupleRecord):
    """A way for every element to stay in its lane.

    f, k: for each f and k of the result, the f and k of the operand; None where they are the same.
    sources: for each item of the operand, the item of the result that becomes it; None where it holds nothing.
    """

    f: tuple[int, ...] | None
    k: tuple[int, ...] | None
    sources: tuple[int | None, ...]


def match(tiles: Tiles, keep_k: bool) -> Match | None:
    """The way for every element to stay in its lane, or None if there is none.

    Args:
        tiles: both sides.
        keep_k: whether k must not be relabelled.
    """
    if len(tiles.target.copies()) != 1:
        return None
    fs = _pairings(tiles.source_f, tiles.target_f, relabel=not keep_k)
    ks = _pairings(tiles.source_k, tiles.target_k, relabel=not keep_k)
    for f, k in product(fs, ks):
        sources = item_sources(tiles, f, k)
        if sources is not None:
            return Match(_unless_identity(f), _unless_identity(k), sources)
    return None


def _lanes(places: Places) -> list[int]:
    return [lane for lane, _ in places]


def _unless_identity(pairing: list[int]) -> tuple[int, ...] | None:
    return None if pairing == sorted(pairing) else tuple(pairing)


def _pairings(source: Places, target: Places, relabel: bool) -> list[list[int]]:
    """For each value of a coordinate of the result, a value of the operand's in the same lane; the best first."""
    if _lanes(source) == _lanes(target):
        return [list(range(len(source)))]
    if not relabel or sorted(_lanes(source)) != sorted(_lanes(target)):
        return []
    return [_in_place_first(source, target), _upwards(source, target)]


def _in_place_first(source: Places, target: Places) -> list[int]:
    free: dict[int, list[int]] = {}
    for value, (lane, _) in enumerate(target):
        if source[value][0] != lane:
            free.setdefault(lane, []).append(value)
    waiting = {lane: iter(values) for lane, values in free.items()}
    return [value if target[value][0] == lane else next(waiting[lane]) for value, (lane, _) in enumerate(source)]


def _upwards(source: Places, target: Places) -> list[int]:
    free: dict[int, list[int]] = {}
    for value, (lane, _) in enumerate(target):
        free.setdefault(lane, []).append(value)
    waiting = {lane: iter(values) for lane, values in free.items()}
    return [next(waiting[lane]) for lane, _ in source]


def item_sources(tiles: Tiles, f: list[int], k: list[int]) -> tuple[int | None, ...] | None:
    """For each item of the operand the item of the result that becomes it, or None if that differs between lanes."""
    ((_, start),) = tiles.source.copies()
    # Items, too, are sums over f and k, so the different pairs of what each adds stand for all elements.
    along_f = {(tiles.target_f[at][1], first) for at, (_, first) in zip(f, tiles.source_f)}
    along_k = {(tiles.target_k[at][1], second) for at, (_, second) in zip(k, tiles.source_k)}
    found: dict[int, int] = {}
    for (base, first), (more, second) in product(along_f, along_k):
        if found.setdefault(base + more, start + first + second) != start + first + second:
            return None
    count = tiles.y_tiles[0] * tiles.y_tiles[1] * slots(tiles.target)
    return tuple([found.get(item) for item in range(count)])
