"""The loads (stores) of an operand: how wide, how many, which lines and banks.

Every lane moves its elements in register order. The longest run that is contiguous both in the registers and in
memory, for every lane, bounds the access: the largest power of two up to 16 bytes that divides the run and every
address.
"""

from __future__ import annotations

from math import gcd

from ..base.errors import Error
from ..base.records import TupleRecord, json_keys
from .banks import BankAccess, bank_access, conflict_free, rule
from .swizzles import RowSwizzle, Swizzle
from .units import Tile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .banks import Phase, Rule
    from .units import Tile

WIDEST = 16  # bytes of one lane's access
PERIOD = 256  # bytes of all banks, of which there are 64 at most


class Placing(TupleRecord):
    """How rows lie in LDS: bytes of padding behind each row, or every N bytes of the tile, and a swizzle."""

    pad: int = 0
    swizzle: Swizzle | RowSwizzle = Swizzle(0, 4, 3)
    every: int = 0

    def addresses(self, tile: Tile, places: Iterable[tuple[int, int] | None]) -> list[int]:
        """The byte addresses in LDS of places of a tile, each (row, byte in the row); of None -1."""
        swizzle, row_bytes, bits = self.swizzle, tile.row_bytes, tile.operand.placement.bits
        row_pad, pad, every = (0, self.pad, self.every) if self.every else (self.pad, 0, 1)
        found = []
        for at in places:
            if at is None:
                found.append(-1)
                continue
            linear = at[0] * (row_bytes + row_pad) + swizzle.in_row(*at, bits)
            found.append(swizzle.address(linear + linear // every * pad))
        return found

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the swizzle."""
        return tuple(self.swizzle)

    @property
    def kind(self) -> str:
        """The kind of swizzle: "xor" of address bits, or "row" by row."""
        return "xor" if isinstance(self.swizzle, Swizzle) else "row"


PLAIN = Placing()


class Accesses(TupleRecord):
    """The accesses that move an operand.

    run_bytes: the contiguous bytes of a lane; access_bytes: of one access of a lane.
    addresses: for each access of the wave, (row, byte in the row) of each lane; None where a lane has nothing left.
    """

    run_bytes: int
    access_bytes: int
    addresses: tuple[tuple[tuple[int, int] | None, ...], ...]

    def linear(self, tile: Tile, placing: Placing) -> list[list[int | None]]:
        """The byte address of each lane in each access."""
        if placing == PLAIN:
            stride = tile.row_bytes
            return [[None if at is None else at[0] * stride + at[1] for at in lanes] for lanes in self.addresses]
        found = (placing.addresses(tile, lanes) for lanes in self.addresses)
        return [[None if address < 0 else address for address in lanes] for lanes in found]

    @property
    def bytes_used(self) -> int:
        """The distinct bytes that the accesses move, counted for each access."""
        return sum(len(set(lanes) - {None}) for lanes in self.addresses) * self.access_bytes

    def lines(self, tile: Tile, size: int) -> int:
        """The distinct lines of `size` bytes that the accesses touch in memory without padding, for each access."""
        waves = self.linear(tile, PLAIN)
        return sum(len({address // size for address in lanes if address is not None}) for lanes in waves)


class LdsCost(TupleRecord):
    """What all accesses cost in LDS: cycles, ideal, conflicts; phases of one access; the worst phase; the rule."""

    cycles: int
    ideal: int
    conflicts: int
    phases: int
    worst: Phase
    rule: Rule


def accesses(tile: Tile) -> Accesses:
    """The widest accesses that move an operand.

    Raises:
        Error: elements narrower than a byte that do not lie side by side in memory.
    """
    run = _run(tile)
    run_bits = run * tile.unit_bits
    if run_bits % 8:
        raise Error(_not_addressable(tile))
    starts = [units[first] for units in tile.lanes for first in range(0, len(units), run)]
    if any(bit % 8 for _, _, bit in starts):
        raise Error(_not_addressable(tile))
    shared = gcd(WIDEST, run_bits // 8, tile.row_bytes, *[bit // 8 for _, _, bit in starts])
    width = shared & -shared
    per_run = run_bits // 8 // width
    runs = max([len(units) for units in tile.lanes]) // run
    table: list[tuple[tuple[int, int] | None, ...]] = []
    for number in range(runs * per_run):
        which, part = divmod(number, per_run)
        lanes = [units[which * run : which * run + 1] for units in tile.lanes]
        table.append(tuple([(at[0][1], at[0][2] // 8 + part * width) if at else None for at in lanes]))
    return Accesses(run_bits // 8, width, tuple(table))


def _run(tile: Tile) -> int:
    """The most units that are contiguous in registers and memory in every lane, in aligned runs of equal length."""
    count = max([len(units) for units in tile.lanes])
    for run in range(count, 1, -1):
        if count % run == 0 and all(_contiguous(units, run, tile.unit_bits) for units in tile.lanes):
            return run
    return 1


def _contiguous(units: tuple[tuple[int, int, int], ...], run: int, width: int) -> bool:
    pairs = [(units[n - 1], units[n]) for n in range(1, len(units)) if n % run]
    return all((bit + width, row, place + width) == after for (bit, row, place), after in pairs)


def _not_addressable(tile: Tile) -> str:
    from .transpose_loads import loads_for

    try:
        load = f"a load that transposes: {loads_for(tile.operand)[0].load.name} (`mmacalc transpose-loads`)"
    except Error:
        load = "a load that transposes"
    where = f"{tile.operand.name} of {tile.operand.instruction.name}"
    other = "col" if tile.order == "row" else "row"
    return (
        f"{where} has elements of {tile.unit_bits} bits that do not lie side by side in memory under order "
        f"'{tile.order}', so no load reaches one of them: use order '{other}', or {load}"
    )


def _waves(addresses: list[int | None], wave: int) -> list[list[int | None]]:
    return [addresses[first : first + wave] for first in range(0, len(addresses), wave)]


def lds_cost(found: Accesses, tile: Tile, placing: Placing, access: str) -> LdsCost:
    """What the accesses cost in LDS."""
    architecture, wave = tile.operand.instruction.architecture, tile.operand.wave
    costs: list[BankAccess] = [
        bank_access(architecture, part, found.access_bytes, access)
        for addresses in found.linear(tile, placing)
        for part in _waves(addresses, wave)
    ]
    cycles, ideal = sum(cost.cycles for cost in costs), sum(cost.ideal for cost in costs)
    worst = max([cost.worst for cost in costs], key=lambda phase: phase.cycles)
    return LdsCost(cycles, ideal, cycles - ideal, costs[0].ideal, worst, costs[0].rule)


def reads_without_conflict(found: Accesses, tile: Tile, placing: Placing, access: str) -> bool:
    """Whether no access of the operand has a conflict."""
    architecture, wave = tile.operand.instruction.architecture, tile.operand.wave
    served = rule(architecture, found.access_bytes, access)
    return all(
        conflict_free(served, part, found.access_bytes)
        for addresses in found.linear(tile, placing)
        for part in _waves(addresses, wave)
    )


def fills(tile: Tile, width: int, padded: bool, every: int = 0) -> Accesses:
    """Of the accesses of a wave that writes (for a store: reads) the whole tile row by row, `width` bytes a lane, those
    that the others behave as.

    An access has `wave` neighbouring pieces, a power of two of bytes, W. Without padding an access begins at a multiple
    of W, and what an XOR swizzle does to it differs from what it does to the first by an XOR of one number with all
    addresses, which renames banks: so the first tells of all, and the last, in which some lanes may be inactive, of
    itself. With padding, accesses within one row are shifts of each other by multiples of W: those whose distance is a
    multiple of all banks behave alike; those over the end of a row are taken one by one. With padding behind every
    `every` bytes of the tile, a power of two, an access behaves as the one that far before it.
    """
    width = min(width, tile.row_bytes & -tile.row_bytes)
    wave = tile.operand.wave
    per_row, count = tile.row_bytes // width, -(-tile.rows * tile.row_bytes // (width * wave))
    numbers = {0, count - 1}
    if every:
        numbers |= set(range(min(count, max(1, every // (wave * width)))))
    elif padded:
        alike = max(1, PERIOD // (wave * width))
        for row in range(tile.rows):
            first = row * per_row // wave  # the access over the beginning of the row, and those after it
            numbers |= {number for number in range(first, first + alike + 1) if number < count}
    table = []
    for number in sorted(numbers):
        pieces = range(number * wave, min((number + 1) * wave, tile.rows * per_row))
        lanes = [(piece // per_row, piece % per_row * width) for piece in pieces]
        table.append((*lanes, *[None] * (wave - len(lanes))))
    return Accesses(width, width, tuple(table))


# --- Padding and swizzles that free an operand's LDS accesses, and those that fill the tile, of bank conflicts ---


MOST_PAD = 256  # bytes: addresses modulo all banks repeat beyond
MOST_EVERY = 16  # bits of the bytes after which padding stands: a tile has no more bytes in LDS
MOST_BITS = 5
HIGHEST_BASE = 8
HIGHEST_BIT = 32  # of an address that a swizzle can feel


@json_keys("pad_bytes", "every: bytes of the tile after which they stand")
class SparsePadding(TupleRecord):
    """Padding that does not stand behind each row: `pad_bytes` behind every `every` bytes of the tile."""

    pad_bytes: int
    every: int


@json_keys(
    "pad_bytes: null where no padding keeps both free",
    "swizzle=numbers: null where none keeps both free",
    "sparse: the padding between parts of the tile that adds the fewest bytes; null where none keeps both free",
)
class Repair(TupleRecord):
    """What is without a conflict: the smallest padding behind each row, the smallest (bits, base, shift), and the
    padding between parts of the tile that adds the fewest bytes; None where there is none, and no `sparse` where
    none is needed."""

    pad_bytes: int | None
    swizzle: Swizzle | None
    sparse: SparsePadding | None = None

    @property
    def numbers(self) -> tuple[int, ...] | None:
        """The numbers of the swizzle."""
        return None if self.swizzle is None else tuple(self.swizzle)


def repair(found: Accesses, tile: Tile, fill: int, access: str) -> Repair:
    """The smallest padding and the smallest XOR swizzle under which no access conflicts.

    Args:
        fill: the bytes of a lane's access that fills the tile (for a store: empties it). Padding is a multiple of it,
            and a swizzle leaves it and the operand's accesses in one piece.
        access: "read" if the operand is loaded, "write" if it is stored.
    """
    filling = {padded: fills(tile, fill, padded) for padded in (False, True)}
    other = "write" if access == "read" else "read"

    def free(placing: Placing) -> bool:
        filled = fills(tile, fill, True, placing.every) if placing.every else filling[placing.pad > 0]
        return all(reads_without_conflict(each, tile, placing, how) for each, how in ((found, access), (filled, other)))

    pad = next((pad for pad in range(0, MOST_PAD, max(fill, found.access_bytes)) if free(Placing(pad))), None)
    base = max(found.access_bytes, fill).bit_length() - 1
    last = (tile.rows * tile.row_bytes - 1).bit_length()
    size = (tile.rows, tile.row_bytes, tile.row_bytes, tile.operand.placement.bits)
    swizzles = (swizzle for swizzle in _swizzles(base, last) if not swizzle.fault(*size))
    swizzled = next((swizzle for swizzle in swizzles if free(Placing(0, swizzle))), None)
    if pad == 0:
        return Repair(pad, swizzled)
    tried = _sparse(tile.rows * tile.row_bytes, max(fill, found.access_bytes))
    return Repair(pad, swizzled, next((one for one in tried if free(Placing(one.pad_bytes, every=one.every))), None))


def _sparse(size: int, step: int) -> list[SparsePadding]:
    """Padding in steps behind every power of two of bytes of a tile, that which adds the fewest bytes first."""
    every = [1 << bit for bit in range(step.bit_length() - 1, min((size - 1).bit_length(), MOST_EVERY))]
    found = [SparsePadding(pad, each) for each in every for pad in range(step, MOST_PAD, step)]
    return sorted(found, key=lambda one: (one.pad_bytes * ((size - 1) // one.every), one.pad_bytes))


def _swizzles(lowest: int, last: int) -> list[Swizzle]:
    """Every swizzle that an address below 2**last can feel, the smallest first."""
    none = Swizzle(0, lowest, 1)
    return [none, *[
        Swizzle(bits, base, shift)
        for bits in range(1, MOST_BITS + 1)
        for base in range(lowest, HIGHEST_BASE + 1)
        for shift in range(bits, min(max(bits, last - base), HIGHEST_BIT - base - bits) + 1)
    ]]  # fmt: skip
