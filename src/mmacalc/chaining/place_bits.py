"""How elements that are in the wrong lane must move: a permutation of the bits of lane and item.

Where all sizes are powers of two, a coordinate is a row of bits, and each bit is one bit of the lane or of the item,
in the result as in the operand. So the way from one to the other is a permutation of these *place bits*, the same
for every element. Item bits that change places among themselves cost nothing (registers get other names). What is
left is, in every cycle of the permutation that has both sorts, runs of lane bits

    item bit r -> lane bit l0 -> l1 ... -> ln -> item bit e

and such a run is an exchange of item bit e with lane bit ln (half of the registers go to the lane whose number
differs in that bit), followed by a permutation of the lanes, ln -> l0 -> l1 ... -> ln, if it has several bits. Cycles
of lane bits only are permutations of the lanes. Items are counted as in the operand throughout: the item bit r of the
result is renamed to e beforehand.

Lane bits that no coordinate of the operand uses (RDNA3 holds A and B twice) get an item bit that the result does not
use: the exchange then gathers copies.

Source of the decomposition: Triton, lib/Analysis/Utility.cpp, getWarpLayoutConvertDecomposition.
"""

from __future__ import annotations

from itertools import permutations

from ..base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .tiles import Places, Tiles

    Bits = dict[int, int]

__all__ = ["Movement", "movements"]

ITEM = 64
"""Place bits of the item are numbered from here, those of the lane from 0."""
CANDIDATES = 400
"""The most relabellings of k that are tried."""


class Movement(TupleRecord):
    """A decomposed permutation of place bits.

    k: for each k of the result, the k of the operand; None if all stay.
    runs: (item bit e, lane bits l0 ... ln) of each run; cycles: the lane bits of each cycle of lane bits only.
    gathered: the lane bits along which copies are gathered.
    sources: for each item of the operand, counted as before the exchanges, the item of the result, or None.
    item_bits: how many bits the item has.
    """

    k: tuple[int, ...] | None
    runs: tuple[tuple[int, tuple[int, ...]], ...]
    cycles: tuple[tuple[int, ...], ...]
    gathered: tuple[int, ...]
    sources: tuple[int | None, ...]
    item_bits: int

    @property
    def exchanges(self) -> tuple[tuple[int, int], ...]:
        """(item bit, first lane bit) of each run, by lane bit."""
        return tuple(sorted([(item, run[0]) for item, run in self.runs], key=lambda pair: pair[1]))

    @property
    def lane_permutation(self) -> dict[int, int]:
        """Where each lane bit goes after the exchanges; those that stay are left out."""
        closed = [run for _, run in self.runs if len(run) > 1] + list(self.cycles)
        return {bit: run[(at + 1) % len(run)] for run in closed for at, bit in enumerate(run)}


def movements(tiles: Tiles, keep_k: bool) -> list[Movement]:
    """The movement that keeps k, and the best one that relabels it; empty where sizes are not powers of two.

    Best is: the fewest exchanges, then the fewest lane bits permuted, then the fewest changes among the items that
    share a register, then the fewest changes of k.
    """
    tables = (tiles.source_f, tiles.target_f, tiles.source_k, tiles.target_k)
    bits = [_place_bits(table) for table in tables]
    if any(found is None for found in bits):
        return []
    source_f, target_f, source_k, target_k = [found or [] for found in bits]
    lane_bits = tiles.source.lanes.bit_length() - 1
    fixed, kept = dict(zip(source_f, target_f)), dict(zip(source_k, target_k))
    low = _shared_register_bits(tiles)
    best, least = kept, (*_cost({**fixed, **kept}, lane_bits, low), 0)
    for assigned in _relabellings(source_k, target_k, low) if not keep_k else ():
        changed = sum([assigned[bit] != other for bit, other in kept.items()])
        if (cost := (*_cost({**fixed, **assigned}, lane_bits, low), changed)) < least:
            best, least = assigned, cost
    found = [_movement(tiles, {**fixed, **kept}, lane_bits)]
    if best != kept:
        relabelled = _movement(tiles, {**fixed, **best}, lane_bits)
        found.append(relabelled._replace(k=_relabelled(source_k, target_k, best)))
    return found


def _place_bits(table: Places) -> list[int] | None:
    """The place bit of each bit of a coordinate, lowest first, or None if it has none."""
    found = []
    for at in range((len(table) - 1).bit_length()):
        if 1 << at >= len(table):
            return None
        lane, item = table[1 << at]
        if (lane and item) or (lane | item).bit_count() != 1:
            return None
        found.append(lane.bit_length() - 1 if lane else ITEM + item.bit_length() - 1)
    if len(table) != 1 << len(found):
        return None
    for value, (lane, item) in enumerate(table):
        parts = [table[1 << at] for at in range(len(found)) if value >> at & 1]
        if lane != sum([part[0] for part in parts]) or item != sum([part[1] for part in parts]):
            return None
    return found


def _shared_register_bits(tiles: Tiles) -> int:
    """How many of the lowest item bits number the items within one 32-bit register of the operand."""
    slot_bits = int(tiles.target.placement.slot_bits)
    return max(0, (32 // slot_bits).bit_length() - 1) if slot_bits & (slot_bits - 1) == 0 else 0


def _relabellings(source: list[int], target: list[int], low: int) -> Iterator[Bits]:
    """Assignments of the k bits of the result to those of the operand: which of them land in lanes, and in the lowest
    item bits, decides; the others stay where they can, and go upwards where not."""
    lanes = [bit for bit in target if bit < ITEM]
    chosen = lanes + [bit for bit in target if ITEM <= bit < ITEM + low]
    while len(chosen) > len(lanes) and _arrangements(len(source), len(chosen)) > CANDIDATES:
        chosen.pop()
    for picked in permutations(source, len(chosen)):
        assigned = dict(zip(picked, chosen))
        rest = [bit for bit in source if bit not in assigned]
        free = [bit for bit in target if bit not in chosen]
        staying = [bit for bit in rest if bit in free]
        assigned |= dict(zip(staying, staying))
        moving = [bit for bit in rest if bit not in staying]
        assigned |= dict(zip(moving, [bit for bit in free if bit not in staying]))
        yield assigned


def _arrangements(many: int, picked: int) -> int:
    count = 1
    for factor in range(many - picked + 1, many + 1):
        count *= factor
    return count


def _relabelled(source: list[int], target: list[int], assigned: Bits) -> tuple[int, ...]:
    goes_to = [target.index(assigned[bit]) for bit in source]
    return tuple(
        sum([1 << goes_to[at] for at in range(len(source)) if value >> at & 1]) for value in range(1 << len(source))
    )


def _cost(moves: Bits, lane_bits: int, low: int) -> tuple[int, int, int]:
    """How many exchanges, how many lane bits that are permuted, and how many changes of the lowest item bits."""
    runs, cycles = _runs(_completed(moves, lane_bits)[0], lane_bits)
    permuted = sum([len(run) for _, run in runs if len(run) > 1]) + sum(map(len, cycles))
    return len(runs), permuted, sum([bit != to for bit, to in moves.items() if ITEM <= bit < ITEM + low])


# --- the decomposition ---


def _movement(tiles: Tiles, moves: Bits, lane_bits: int) -> Movement:
    whole, spare, gathered = _completed(moves, lane_bits)
    runs, cycles = _runs(whole, lane_bits)
    renamed = {bit: to for bit, to in whole.items() if bit >= ITEM and to >= ITEM}
    for item, run in runs:
        before = next(bit for bit, to in whole.items() if to == run[0])
        renamed[before] = item + ITEM
    item_bits = max([bit - ITEM + 1 for bit in renamed.values()], default=0)
    empty = {to for bit, to in renamed.items() if bit in spare and whole[bit] not in gathered}
    sources = _item_sources(tiles, {to: bit for bit, to in renamed.items()}, spare, empty, item_bits)
    return Movement(None, tuple(runs), tuple(cycles), tuple(gathered), sources, item_bits)


def _completed(moves: Bits, lane_bits: int) -> tuple[Bits, set[int], list[int]]:
    """The moves with those of the place bits that one side does not use, these bits, and the lane bits gathered."""
    whole = dict(moves)
    gathered = [lane for lane in range(lane_bits) if lane not in moves.values()]
    spare = set()
    for lane in gathered:
        bit = next(bit for bit in range(ITEM, 2 * ITEM) if bit not in whole)
        whole[bit] = lane
        spare.add(bit)
    items = max([bit - ITEM + 1 for pair in whole.items() for bit in pair], default=0)
    places = [*range(ITEM, ITEM + items), *range(lane_bits)]
    unused = [bit for bit in places if bit not in whole]
    free = [bit for bit in places if bit not in whole.values()]
    staying = [bit for bit in unused if bit in free]
    spare.update(unused)
    whole |= dict(zip(staying, staying))
    whole |= dict(zip([bit for bit in unused if bit not in staying], [bit for bit in free if bit not in staying]))
    return whole, spare, gathered


def _runs(whole: Bits, lane_bits: int) -> tuple[list[tuple[int, tuple[int, ...]]], list[tuple[int, ...]]]:
    before = {to: bit for bit, to in whole.items()}
    runs, seen = [], set()
    for lane in range(lane_bits):
        if before[lane] >= ITEM:
            run = [lane]
            while whole[run[-1]] < ITEM:
                run.append(whole[run[-1]])
            runs.append((whole[run[-1]] - ITEM, tuple(run)))
            seen.update(run)
    cycles = []
    for lane in range(lane_bits):
        if lane not in seen and whole[lane] != lane:
            cycle = [lane]
            while whole[cycle[-1]] != lane:
                cycle.append(whole[cycle[-1]])
            cycles.append(tuple(cycle))
        seen.update(cycles[-1] if cycles else ())
    return runs, cycles


def _item_sources(
    tiles: Tiles, comes_from: Mapping[int, int], spare: set[int], empty: set[int], item_bits: int
) -> tuple[int | None, ...]:
    """For each item, the item of the result that is renamed to it."""
    ((_, start),) = tiles.source.copies()
    sources: list[int | None] = []
    for item in range(1 << item_bits):
        bits: Sequence[int] = [bit for bit in range(ITEM, ITEM + item_bits) if item >> (bit - ITEM) & 1]
        if any(bit in empty for bit in bits):
            sources.append(None)
            continue
        sources.append(start + sum([1 << comes_from[bit] - ITEM for bit in bits if comes_from[bit] not in spare]))
    return tuple(sources)
