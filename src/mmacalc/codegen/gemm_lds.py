"""How A and B of a GEMM of AMD lie in LDS: the accesses of lanes, and what keeps them free of bank conflicts.

A matrix whose rows are k in memory is read by loads that transpose, or transposed in registers on its way. Bytes lie
under a swizzle, of what loads transpose sometimes two, or with gaps at equal distances (what tensor copies bring).
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

from ..base.errors import Error
from ..base.records import TupleRecord
from ..memory_access.banks import lost_cycles, rule
from ..memory_access.swizzles import MODES, Swizzle
from ..memory_access.transpose_loads import loads_for
from .fragments import fragment, linear_sum, runs, total
from .staging import compression

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..memory_access.transpose_loads import LoadStep
    from ..model import Operand
    from .fragments import Digit, Fragment
    from .staging import Side, Staged

    Access = tuple[tuple[tuple[int, int], ...], int]

__all__ = [
    "BUILTINS", "COPIES", "LINE", "SCALED_K", "VECTOR", "Piece", "Turn", "best_swizzle", "cycles_lost",
    "held_k", "padded_sides", "pieces", "run_bytes", "swizzled", "transposing", "turn_of", "turns_of", "writes",
]  # fmt: skip

VECTOR = 16  # bytes of a lane's access
WORD_BITS = 32  # that a store of transposed elements fills
COPIES = ("gfx1250",)  # tensor_load_to_lds
MOST_PAD = 256  # bytes of a gap that such a copy leaves: all banks
INTERVALS = tuple(1024 >> code for code in range(7))  # bytes behind which it leaves one
VECTOR_BITS = 4  # of an address, within 16 bytes
LINE = 128  # bytes of memory that the first cache moves at once
SCALED_K = 32  # k that share a scale


class Piece(TupleRecord):
    """An access of a lane to LDS: the terms of its byte in the tile's row for one step, and the words that it fills.

    row, byte: sums as C text of the lane's digits; table: (row, byte) of each lane; width: bytes; word: the first of
    the operand's words; load: the builtin that transposes, "" for a plain access.
    """

    row: str
    byte: str
    table: tuple[tuple[int, int], ...]
    width: int
    word: int
    load: str = ""


class Turn(TupleRecord):
    """How registers transpose a matrix whose rows are k on its way to LDS.

    rows: the k that a thread takes at once, so that a word of LDS is written whole; width: bytes of each row that it
    takes; lanes: neighbouring threads that take neighbouring parts of a row; count: pieces of a thread.
    """

    rows: int
    width: int
    lanes: int
    count: int  # type: ignore[assignment]  # not tuple's method


def run_bytes(found: Fragment, order: str) -> int:
    """The bytes that a lane has side by side in memory."""
    return runs(found, order)[0].count * found.operand.format.bits // 8


def transposing(operand: Operand) -> tuple[LoadStep, ...]:
    """The loads that read an operand from LDS where the rows of the tile are k; () if there are none.

    Every lane names a row k of its own, so that a relabelled k is no other load. Where all lanes that LDS serves at
    once fetch the same 8 bytes of 16 (4 bits for 16x16x128), no order of pieces of 16 bytes frees them of conflicts.
    """
    try:
        steps = loads_for(operand)
    except Error:
        return ()
    load, groups = steps[0].load, sorted(steps[0].groups)
    one_half = load.elements == load.lanes and groups[0][1] == groups[1][1]
    return () if load.name not in BUILTINS or one_half else steps


def pieces(operand: Operand, side: Side, kpack: int) -> tuple[Piece, ...]:
    """The accesses by which a lane reads an operand for one step."""
    found = fragment(operand)
    letter, bits = side.name.lower(), side.bits
    outer, inner = ("row", "column") if operand.name == "A" else ("column", "row")
    if not side.rows_of_k:
        return tuple(_transposing_pieces(operand, transposing(operand), bits, held_k(operand, kpack)))
    lanes = [_digits(found, lane) for lane in range(operand.wave)]
    rows = [_weighted(found, outer, values) for values in lanes]
    way = _relabelled_parts if _relabelled(operand, kpack) else _natural_parts
    digits, parts = way(found, (outer, inner), bits, kpack)
    starts = [sum(each * values[digit.name] for each, digit in digits) for values in lanes]
    byte = [(each, f"{letter}_{digit.name}") for each, digit in digits]
    row = found.first(outer, letter)
    first = [(1, row)] if row != "0" else []
    return tuple(
        Piece(
            total(first, part.row), total(byte, at),
            tuple((row + part.row, start + at) for row, start in zip(rows, starts)), width, at_word,
        )
        for part in parts
        for at, at_word, width in part.accesses()
    )  # fmt: skip


class _Part(TupleRecord):
    """Bytes of a lane that lie side by side: the row and the byte in it, from the lane's first; how many; and the first
    of the words that they fill."""

    row: int
    byte: int
    size: int
    word: int

    def accesses(self) -> Iterator[tuple[int, int, int]]:
        """The byte, the word and the width of each access."""
        width = min(VECTOR, self.size & -self.size)  # 24 bytes, of 32 elements of 6 bits, begin at multiples of 8
        for at in range(0, self.size, width):
            yield self.byte + at, self.word + at // 4, width


def _relabelled_parts(
    found: Fragment, axes: tuple[str, str], bits: int, kpack: int
) -> tuple[list[tuple[int, Digit]], list[_Part]]:
    """How far apart in memory lanes begin, and their parts, where a group of lanes has consecutive k, as many as a lane
    holds."""
    size = len(found.items) * kpack * bits // 8
    return _groups(found, axes[1], size), [_Part(0, 0, size, 0)]


def _natural_parts(
    found: Fragment, axes: tuple[str, str], bits: int, kpack: int
) -> tuple[list[tuple[int, Digit]], list[_Part]]:
    """The same where lanes have the k of the instruction, of several instructions block by block."""
    outer, inner = axes
    digits = [(_placed(getattr(digit, inner), 0, kpack) * bits // 8, digit) for digit in found.digits]
    parts: list[_Part] = []
    every = runs(found, "row" if found.operand.name == "A" else "col")
    for part, run in product(range(kpack), every):
        at, slot = _placed(getattr(run.first, inner), part, kpack), part * len(found.items) + run.first.slot
        one = _Part(getattr(run.first, outer), at * bits // 8, run.count * bits // 8, slot * bits // 32)
        if (
            kpack > 1
            and parts
            and parts[-1]._replace(size=0)
            == one._replace(byte=one.byte - parts[-1].size, word=one.word - parts[-1].size // 4, size=0)
        ):
            parts[-1] = parts[-1]._replace(size=parts[-1].size + one.size)
        else:
            parts.append(one)
    return digits, parts


def _placed(k: int, part: int, kpack: int) -> int:
    """Where a k of one of several instructions lies whose blocks of 32 k are in turn those of each.

    >>> _placed(5, 0, 1), [_placed(k, part, 2) for k in (0, 32) for part in (0, 1)]
    (5, [0, 32, 64, 96])
    """
    return (k // SCALED_K * kpack + part) * SCALED_K + k % SCALED_K


def _relabelled(operand: Operand, kpack: int) -> bool:
    """Whether lanes read pieces of k one behind the other, as many as they hold; A and B of a sparse product alike."""
    inst = operand.instruction
    found = fragment(inst.operand("A", operand.wave) if inst.sparse else operand)
    return run_bytes(found, "row" if found.operand.name == "A" else "col") < VECTOR


def held_k(operand: Operand, kpack: int) -> tuple[int, ...]:
    """The k that stand at each k of `kpack` instructions, as `pieces` reads them: relabelled where it does so.

    >>> import mmacalc
    >>> held_k(mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16").operand("A"), 2)
    (0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15)
    """
    found, k = fragment(operand), operand.instruction.k
    inner = "column" if operand.name == "A" else "row"
    if not _relabelled(operand, kpack):
        return tuple([_placed(at, part, kpack) for part in range(kpack) for at in range(k)])
    held, groups = [0] * (k * kpack), _groups(found, inner, len(found.items) * kpack)
    for lane in range(operand.wave):
        values = _digits(found, lane)
        start = sum(each * values[digit.name] for each, digit in groups)
        for part in range(kpack):
            for at, item in enumerate(found.items):
                natural = part * k + _weighted(found, inner, values) + getattr(item, inner)
                held[natural] = start + part * len(found.items) + at
    return tuple(held)


def _groups(found: Fragment, axis: str, size: int) -> list[tuple[int, Digit]]:
    """The digits of a lane that move along an axis, the nearest first, each with what a step of it is where lanes have
    pieces of a size one behind the other."""
    groups = []
    for digit in sorted((each for each in found.digits if getattr(each, axis)), key=lambda one: getattr(one, axis)):
        groups.append((size, digit))
        size *= digit.size
    return groups


def _digits(found: Fragment, lane: int) -> dict[str, int]:
    return {digit.name: lane // digit.divisor % digit.size for digit in found.digits}


def _weighted(found: Fragment, axis: str, values: Mapping[str, int]) -> int:
    return sum(getattr(digit, axis) * values[digit.name] for digit in found.digits)


BUILTINS = {
    "ds_read_b64_tr_b16": "ds_read_tr16_b64_v4i16", "ds_read_b64_tr_b8": "ds_read_tr8_b64_v2i32",
    "ds_read_b64_tr_b4": "ds_read_tr4_b64_v2i32",
    "ds_load_tr16_b128": "ds_load_tr16_b128_v8i16", "ds_load_tr8_b64": "ds_load_tr8_b64_v2i32",
}  # fmt: skip


def _transposing_pieces(operand: Operand, steps: Sequence[LoadStep], bits: int, held: Sequence[int]) -> Iterator[Piece]:
    """Each lane's address for the loads that transpose: a row k, and the first of the elements it fetches there.

    Args:
        held: the row at which each k of some instructions stands.
    """
    k_of_one = operand.instruction.k
    for part, step in product(range(len(held) // k_of_one), steps):
        load = step.load
        fetched = load.lane_fetches
        rows: list[int] = []
        bytes_: list[int] = []
        for first, row, ks in sorted(step.groups):
            for lane in range(load.lanes):
                assert first + lane == len(rows)
                ((k, at),) = fetched.contents((lane, 0))
                rows.append(held[part * k_of_one + ks[k]])
                bytes_.append((row + at) * bits // 8)
        yield Piece(
            linear_sum(rows, "lane"), linear_sum(bytes_, "lane"), tuple(zip(rows, bytes_)),
            load.elements * bits // 8, part * operand.registers + step.first_register, BUILTINS[load.name],
        )  # fmt: skip


def turn_of(side: Side, threads: int, lanes: int) -> Turn:
    """How registers transpose a stage, with a number of neighbouring threads along a row of memory."""
    rows = max(1, WORD_BITS // side.bits)
    for width in (16, 8, 4):
        units = side.depth // rows * (side.extent * side.bits // 8 // width)
        if units % threads == 0 and units and width * 8 >= side.bits:
            return Turn(rows, width, lanes, units // threads)
    raise Error(f"a stage of {side.depth} k is too small to be transposed by {threads} work-items: ask for more k")


def turned_place(side: Side, turn: Turn, at: int) -> tuple[int, int]:
    """The first row (of A; column of B) and the first k of a thread's piece."""
    pairs = side.depth // turn.rows
    across = at // (turn.lanes * pairs) * turn.lanes + at % turn.lanes
    return across * turn.width * 8 // side.bits, at // turn.lanes % pairs * turn.rows


@lru_cache(maxsize=256)
def swizzled(operand: Operand, side: Side, kpack: int, threads: int) -> tuple[Side, Turn | None]:
    """The side under its swizzle, and the order of a transposing side's threads."""
    reads = [(piece.table, piece.width) for piece in pieces(operand, side, kpack)]
    return best_swizzle(operand, side, reads, turns_of(side, threads))


def turns_of(side: Side, threads: int) -> Sequence[Turn | None]:
    """The ways to transpose a stage in registers, those first whose lanes load longer pieces of a row of memory; of a
    side that is not transposed, one: none."""
    if not side.turned:
        return [None]
    ways = [turn_of(side, threads, lanes) for lanes in (16, 8, 4, 2, 1)]
    return [way for way in ways if way.lanes == 1 or _fits(side, way)]


def _fits(side: Side, turn: Turn) -> bool:
    """Whether its lanes have a line of memory at most, and not more than a row."""
    piece = turn.lanes * turn.width
    return piece <= LINE and side.extent * side.bits // 8 % piece == 0


def best_swizzle(
    operand: Operand, side: Side, reads: Sequence[Access], turns: Sequence[Turn | None]
) -> tuple[Side, Turn | None]:
    """The side under the smallest swizzle without bank conflicts of a tile's reads and writes, and the first way to
    transpose that has one; with the fewest conflicts where none has none.

    Args:
        reads: of each access the (row, byte) of every lane, and its bytes.
    """
    best: tuple[int, Side, Turn | None] | None = None
    every = [side._replace(swizzle=swizzle) for swizzle in _swizzles(side.tile.bytes)]
    losses = [(cycles_lost(operand, each.tile, reads, "read"), each) for each in every]
    if turns == [None] and min(losses, key=lambda one: one[0])[0]:
        return _spread_reads(operand, losses, reads), None
    for turn in turns:
        written = [] if turn is None else writes(operand, side, turn)
        for lost, each in losses:
            if best is not None and lost >= best[0]:
                continue
            for spread in [MODES["none"], *_spreads(each, (VECTOR_BITS,))] if turn else [MODES["none"]]:
                found = each._replace(spread=spread)
                more = lost if not spread.bits else cycles_lost(operand, found.tile, reads, "read")
                if best is None or more < best[0]:
                    more += cycles_lost(operand, found.tile, written, "write")
                if best is None or more < best[0]:
                    best = more, found, turn
                    if not more:
                        return found, turn
    assert best is not None
    return best[1], best[2]


def _spread_reads(operand: Operand, losses: Sequence[tuple[int, Side]], reads: Sequence[Access]) -> Side:
    """The side under two swizzles by which its reads have no bank conflict, or the fewest.

    Loads that transpose read rows whose numbers differ in bits apart: those of ds_read_b64_tr_b16 for 16x16x32 k 0 to 3
    and 8 to 11 at once, of which one swizzle moves either all bits from 1 to 8 or not that of 8.

    Args:
        losses: of each swizzle the cycles that reads lose, and the side under it.
    """
    ordered = sorted(losses, key=lambda one: one[0])
    least, best = ordered[0]
    for _, each in ordered:
        for spread in _spreads(each, range(VECTOR_BITS, 8)):
            found = each._replace(spread=spread)
            lost = cycles_lost(operand, found.tile, reads, "read")
            if lost < least:
                least, best = lost, found
                if not lost:
                    return best
    return best


def _spreads(side: Side, bases: Iterable[int]) -> Iterator[Swizzle]:
    """Second swizzles of a tile, by bits of the address that neither of the two changes: so both together are their own
    inverse."""
    swizzle, size = side.swizzle, side.tile.bytes
    sources = range(swizzle.base + swizzle.shift, swizzle.base + swizzle.shift + swizzle.bits)
    changed = range(swizzle.base, swizzle.base + swizzle.bits)
    for base, bits in product(bases, range(1, 4)):
        for shift in range(bits, 8):
            more = range(base + shift, base + shift + bits)
            apart = not {*range(base, base + bits)} & {*sources} and not {*more} & {*changed}
            if apart and 1 << base + bits + shift <= size:
                yield Swizzle(bits, base, shift)


def _swizzles(size: int) -> Iterator[Swizzle]:
    yield Swizzle(0, 4, 3)
    for bits in range(1, 5):
        for base in range(4, 7):
            for shift in range(bits, 8):
                if 1 << bits + base + shift <= size:
                    yield Swizzle(bits, base, shift)


def writes(operand: Operand, side: Side, turn: Turn) -> list[tuple[tuple[tuple[int, int], ...], int]]:
    """The (row, byte) of each lane in each write of the first wave, and their width."""
    places = [turned_place(side, turn, lane) for lane in range(operand.wave)]
    return [
        (tuple((row + more, k * side.bits // 8) for row, k in places), max(4, side.bits // 8))
        for more in range(turn.width * 8 // side.bits)
    ]


def cycles_lost(
    operand: Operand,
    tile: Staged,
    given: Sequence[tuple[Sequence[tuple[int, int]], int]],
    access: str,
) -> int:
    """The cycles that accesses of a tile lose to bank conflicts.

    Args:
        given: of each access the (row, byte) of every lane, and its bytes. access: "read" or "write".
    """
    row_bytes, architecture = tile.row_bytes, operand.instruction.architecture
    return sum(
        lost_cycles(
            rule(architecture, width, access), [tile.address(row * row_bytes + byte) for row, byte in table], width
        )
        for table, width in given
    )


def padded_sides(sides: Sequence[tuple[Operand, Side]], kpack: int, waves: tuple[int, int]) -> tuple[Side, Side] | None:
    """A and B as tensor copies bring them to LDS; None if the target has no such copies, or their gaps do not free them
    of bank conflicts."""
    if sides[0][0].instruction.architecture.targets[0] not in COPIES:
        return None
    a, b = (_padded(operand, side, kpack, count) for (operand, side), count in zip(sides, waves))
    return (a, b) if a and b else None


@lru_cache(maxsize=256)
def _padded(operand: Operand, side: Side, kpack: int, waves: int) -> Side | None:
    """The side with the fewest bytes of gaps that free its reads of conflicts.

    Args:
        waves: of the workgroup, along the side.
    """
    reads = [(piece.table, piece.width) for piece in pieces(operand, side, kpack)]
    plain, size = side._replace(swizzle=MODES["none"], spread=MODES["none"]), side.tile.filled
    every = [(every, pad) for every in INTERVALS if size % every == 0 for pad in range(VECTOR, MOST_PAD + 1, VECTOR)]
    for gaps in [(0, 0), *sorted(every, key=lambda one: size // one[0] * one[1])]:
        found = plain._replace(gaps=gaps)
        lost = cycles_lost(operand, found.tile, reads, "read")
        if not lost and _constant(operand, found, reads, kpack, waves):
            return found
    return None


def _constant(operand: Operand, side: Side, reads: Sequence[Access], kpack: int, waves: int) -> bool:
    """Whether all lanes read the tiles and steps behind the first by constants more than their first place."""
    place, row = side.tile.address, side.tile.row_bytes
    inst = operand.instruction
    tile, step = inst.m if operand.name == "A" else inst.n, inst.k * kpack // compression(inst, operand.name)
    outer, inner = (row * 8, side.bits) if side.rows_of_k else (side.bits, row * 8)  # bits to the next row of A, and k
    first = [
        row * at + byte + wave * (side.extent // waves) * outer // 8
        for table, _ in reads
        for at, byte in table
        for wave in range(waves)
    ]
    every = [
        (tile * outer // 8 * i, step * inner // 8 * n)
        for i in range(side.extent // waves // tile)
        for n in range(side.depth // step)
    ]
    return all(place(at + i + n) == place(at) + place(i) + place(n) for at in first for i, n in every)
