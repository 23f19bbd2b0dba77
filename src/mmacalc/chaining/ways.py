"""The ways to move elements between lanes, each with the instructions it takes.

All move packed registers: the elements are converted and packed first, so that fewer registers move. Only the 6-bit
formats, whose elements cross registers, are converted last.

An exchange of m item bits with m lane bits by shuffles takes, of R registers, R (1 - 1 / 2^m): every lane keeps one in
2^m and fetches the others. With a permutation of lanes, it takes R. It needs m <= log2 R; what is more takes another
round. Which register a lane sends, and where it keeps what it gets, takes selects: three for each register fetched if
m = 1 (where copies are gathered, two), otherwise one for each register and bit before and after.
"""

from __future__ import annotations

from collections import Counter

from ..base.errors import Error
from ..base.records import TupleRecord, json_keys
from ..memory_access.transpose_loads import loads_for
from .lds_rows import LdsRows, Side, rows_in_lds
from .shuffles import FAMILIES, VALU, cover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .place_bits import Movement
    from .tiles import Places, Tiles

    Reach = Mapping[str, int]

__all__ = ["Exchange", "Memory", "Transpose", "Way", "ways"]

SWAPS = {4: "v_permlane16_swap_b32", 5: "v_permlane32_swap_b32"}
"""The instruction that exchanges two registers along a lane bit: its transposition (register bit, lane bit)."""
SELECTS = ("v_cndmask_b32", "selp.b32")
PERMUTES = ("v_perm_b32", "prmt.b32")
MOVMATRIX = "movmatrix.sync.aligned.m8n8.trans.b16"
STMATRIX = "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
LDMATRIX = "ldmatrix.sync.aligned.m8n8.x4"
IN_VALU, BETWEEN_LANES, IN_MEMORY = range(3)
IN_LANE = ("v_", "s_", "selp", "prmt")
ROUND_TRIP = 32
AMD = {1: "u8", 2: "u16", 4: "b32", 8: "b64", 16: "b128"}
PTX = {1: "b8", 2: "b16", 4: "b32", 8: "v2.b32", 16: "v4.b32"}
MEMORY_NAMES = {
    "ds_write_b32": ("ds_write", "ds_read", AMD), "ds_store_b32": ("ds_store", "ds_load", AMD),
    "shfl.sync.idx.b32": ("st.shared", "ld.shared", PTX),
}  # fmt: skip
"""By an instruction that a target has: how it calls its accesses to LDS or shared memory."""


class Exchange(TupleRecord):
    """One step: exchange item bits with lane bits, then permute the lanes.

    pairs: (item bit, lane bit), all at once; permutation: where each lane bit goes then.
    """

    pairs: tuple[tuple[int, int], ...]
    permutation: Mapping[int, int]


class Transpose(TupleRecord):
    """One step: movmatrix, or stmatrix and ldmatrix, on every register: an 8 x 8 matrix of 16-bit elements each."""


class Memory(TupleRecord):
    """One step: all elements through LDS or shared memory."""


class CountedInstruction(TupleRecord):
    """A mnemonic, and how many of it there are."""

    name: str
    count: int  # type: ignore[assignment]  # not tuple's method


@json_keys(
    "name",
    "instructions=counted",
    "total",
    "bytes: of memory",
    "lds: the rows in memory between stores and loads; null where lanes hold copies or a load transposes",
)
class Way(TupleRecord):
    """A way to move the elements.

    name: what it rests on; place: 0 in the vector ALU, 1 through the data share's crossbar or shfl, 2 in memory.
    instructions: (mnemonic, count) for each; steps: what they do, in order; bytes: the memory that it takes; lds: the
    rows there, with padding and bank conflicts, None where lanes hold copies or a load transposes.
    """

    name: str
    place: int
    instructions: tuple[tuple[str, int], ...]
    steps: tuple[Exchange | Transpose | Memory, ...]
    bytes: int
    lds: LdsRows | None = None

    @property
    def counted(self) -> tuple[CountedInstruction, ...]:
        """`instructions` with names for both."""
        return tuple([CountedInstruction(*each) for each in self.instructions])

    @property
    def total(self) -> int:
        """All instructions together."""
        return sum([count for _, count in self.instructions])

    @property
    def cost(self) -> int:
        """What the ways are ordered by. No time, but a rule of thumb: an instruction counts 1, one that goes through
        the data share or shfl 2, and a round trip through memory, which must be waited for, 32 more."""
        outside = sum([count for name, count in self.instructions if not name.startswith(IN_LANE)])
        return self.total + outside + (ROUND_TRIP if self.place == IN_MEMORY else 0)


def ways(tiles: Tiles, movement: Movement | None, reach: Reach) -> tuple[Way, ...]:
    """Every way that the target has, the cheapest first (see `Way.cost`)."""
    plain = _memory(tiles, movement, reach)
    found = [plain, *[way for way in _transposing(tiles, reach) if way.cost < plain.cost]]
    if movement is not None:
        size = _Size(tiles, movement, reach)
        found += [way for way in (_swaps(size), _in_part_of_the_lanes(size), *_shuffles(size), *_matrices(size)) if way]
    return tuple(sorted(found, key=lambda way: way.cost))


class _Size:
    """A movement in numbers: words, the registers that move; low and high, the item bits within one and beyond."""

    def __init__(self, tiles: Tiles, movement: Movement, reach: Reach) -> None:
        self.tiles, self.movement, self.reach = tiles, movement, reach
        self.bits = moved_bits(tiles)
        each = max(1, 32 // self.bits)
        sources = movement.sources
        filled = [any(item is not None for item in sources[at : at + each]) for at in range(0, len(sources), each)]
        self.words = sum(filled) * max(1, self.bits // 32)
        self.low = each.bit_length() - 1
        self.high = max(0, movement.item_bits - self.low)
        self.select = next(name for name in SELECTS if name in reach)
        self.permute = next(name for name in PERMUTES if name in reach)


def moved_bits(tiles: Tiles) -> int:
    """The bits of an element while it moves: those of its slot in the operand, or 32 where slots cross registers."""
    bits = int(tiles.target.placement.slot_bits)
    return bits if bits & (bits - 1) == 0 else 32


def _way(name: str, place: int, count: Counter[str], steps: Sequence[Exchange | Transpose | Memory]) -> Way:
    return Way(name, place, tuple([(one, many) for one, many in count.items() if many]), tuple(steps), 0)


# --- registers of two lanes at a time ---


def _transpositions(movement: Movement, helper: int) -> list[tuple[int, int]]:
    """The movement as transpositions (item bit, lane bit), one after another; `helper` is an item bit for cycles of
    lane bits only, which it enters and leaves."""
    found = [(item, lane) for item, run in movement.runs for lane in run]
    return found + [(helper, lane) for cycle in movement.cycles for lane in (*cycle, cycle[0])]


def _swaps(size: _Size) -> Way | None:
    movement = size.movement
    pairs = _transpositions(movement, movement.item_bits - 1)
    names = [SWAPS.get(lane, "") for _, lane in pairs]
    narrow = {item for item, _ in pairs if item < size.low}
    if movement.gathered or len({item for item, _ in pairs}) > size.high or any(n not in size.reach for n in names):
        return None
    count = Counter({name: size.words // 2 * names.count(name) for name in dict.fromkeys(names)})
    if narrow:  # the halves that change lanes are put into whole registers, and back
        count[size.permute] += size.words
    return _way(" and ".join(dict.fromkeys(names)), IN_VALU, count, [Exchange((pair,), {}) for pair in pairs])


def _in_part_of_the_lanes(size: _Size) -> Way | None:
    """Exchanges of which each register fetches in half of the lanes alone.

    Within a row of 16 lanes v_cndmask_b32_dpp reads one source from another lane, and so both fetches and selects. Of
    the rows of a half, v_permlanex16_b32 writes a register in the lanes that EXEC has and reads those that it lacks
    (FI): of each pair a copy and two of them; EXEC of a wave32 is written three times.
    """
    movement, count, names, steps = size.movement, Counter[str](), [], []
    if movement.cycles or movement.gathered or not movement.runs:
        return None
    for item, run in movement.runs:
        found = _masked(size, run[0]) if len(run) == 1 and item >= size.low else None
        if found is None:
            return None
        name, each = found
        names.append(name)
        count += each
        steps.append(Exchange(((item, run[0]),), {}))
    return _way(" and ".join(dict.fromkeys(names)), IN_VALU, count, steps)


def _masked(size: _Size, lane_bit: int) -> tuple[str, Counter[str]] | None:
    """The name and the instructions of an exchange of all registers with a lane bit, in parts of the lanes."""
    select, permute = "v_cndmask_b32_dpp", "v_permlanex16_b32"
    if lane_bit < 4 and select in size.reach:
        return select, Counter({select: size.words})
    if lane_bit != 4 or permute not in size.reach or size.tiles.source.wave != 32:
        return None
    return f"{permute}, EXEC", Counter({"v_mov_b32": size.words // 2, permute: size.words, "s_mov_b32": 3})


# --- shuffles ---


def _phases(size: _Size) -> list[Exchange]:
    """The movement as few exchanges, each of as many bits as the registers have number bits."""
    movement, most = size.movement, max(1, size.high)
    pairs = [(item, run[-1]) for item, run in movement.runs]
    groups = [tuple(pairs[at : at + most]) for at in range(0, len(pairs), most)]
    permutation = movement.lane_permutation
    if permutation and (not groups or not size.high):
        return [*[Exchange(group, {}) for group in groups], Exchange((), permutation)]
    return [Exchange(group, permutation if group is groups[-1] else {}) for group in groups]


def _shuffles(size: _Size) -> Iterator[Way]:
    phases = _phases(size)
    for family in FAMILIES:
        counts = [_count(size, phase, family) for phase in phases]
        total: Counter[str] = Counter()
        for count in counts:
            total += count or Counter()
        if all(counts):
            movers = [name for name in total if name not in (size.select, size.permute)]
            yield _way(" and ".join(movers), IN_VALU if family == VALU else BETWEEN_LANES, total, phases)


def _fetches(size: _Size, phase: Exchange) -> list[int]:
    """The masks by which lanes differ, one for each group of registers that is fetched."""
    lanes = [1 << lane for _, lane in phase.pairs]
    masks = [sum([lane for at, lane in enumerate(lanes) if group >> at & 1]) for group in range(1 << len(lanes))]
    return masks if phase.permutation else masks[1:]


def _count(size: _Size, phase: Exchange, family: str) -> Counter[str] | None:
    """The instructions of one exchange; None if the family cannot make it."""
    total: Counter[str] = Counter()
    each = size.words >> len(phase.pairs) if size.high else size.words
    for mask in _fetches(size, phase):
        one = cover(family, mask, phase.permutation, size.reach)
        if one is None:
            return None
        total += Counter({name: many * each for name, many in one.items()})
    narrow = any(item < size.low for item, _ in phase.pairs)
    total[size.permute if narrow else size.select] += _selects(size, phase)
    return total


def _selects(size: _Size, phase: Exchange) -> int:
    pairs = len(phase.pairs)
    gathering = all(lane in size.movement.gathered for _, lane in phase.pairs)
    if not size.high:
        return size.words * pairs
    if pairs == 1 and not phase.permutation:
        return size.words if gathering else 3 * size.words // 2
    return (1 if gathering else 2) * pairs * size.words


# --- whole matrices ---


def _matrices(size: _Size) -> Iterator[Way]:
    """movmatrix transposes 8 x 8 elements of 16 bits: lane bits (4 3 2) and (1 0) with the item's lowest bit."""
    movement = size.movement
    cycles = {frozenset(cycle) for cycle in movement.cycles}
    if size.bits != 16 or movement.runs != ((0, (2,)),) or cycles != {frozenset((0, 3)), frozenset((1, 4))}:
        return
    if MOVMATRIX in size.reach:
        yield _way("movmatrix", BETWEEN_LANES, Counter({MOVMATRIX: size.words}), [Transpose()])
    quarter = -(-size.words // 4)
    if STMATRIX in size.reach:
        count = Counter({STMATRIX: quarter, f"{LDMATRIX}.shared.b16": quarter})
    else:
        count = Counter({"st.shared.b32": size.words, f"{LDMATRIX}.trans.shared.b16": quarter})
    if f"{LDMATRIX}.shared.b16" in size.reach:
        name = "stmatrix, ldmatrix" if STMATRIX in size.reach else "st.shared, ldmatrix.trans"
        yield _way(name, IN_MEMORY, count, [Transpose()])._replace(bytes=128 * size.words)


# --- memory ---


def _memory(tiles: Tiles, movement: Movement | None, reach: Reach) -> Way:
    """All elements written to memory, in the order of one coordinate or the other, and read as the operand has them."""
    bits = int(tiles.target.placement.slot_bits)
    size = bits // 8 if bits % 8 == 0 else max(1, int(tiles.source.placement.slot_bits) // 8)
    written = list(tiles.source_k)  # in the order of the operand's k
    for k, lands in enumerate(movement.k if movement is not None and movement.k is not None else ()):
        written[lands] = tiles.source_k[k]
    orders = {"k": (tuple(written), tiles.target_k), "f": (tiles.source_f, tiles.target_f)}
    counts = {along: _through_memory(tiles, size, order, reach) for along, order in orders.items()}
    along = min(counts, key=lambda name: counts[name].total())
    name = "LDS" if _memory_names(reach)[2] is AMD else "shared memory"
    way = _way(name, IN_MEMORY, counts[along], [Memory()])
    operands, across = (tiles.source, tiles.target), orders["f" if along == "k" else "k"]
    stores, loads = (
        Side(access, operand, one, other, _run(one, size))
        for access, operand, one, other in zip(("write", "read"), operands, orders[along], across)
    )
    rows = rows_in_lds(along, (stores, loads), size)
    padding = rows.pad_bytes * rows.rows if rows else 0
    return way._replace(bytes=len(tiles.source_f) * tiles.k * size + padding, lds=rows)


def _transposing(tiles: Tiles, reach: Reach) -> Iterator[Way]:
    """All elements written to LDS as rows of k, and read by loads that transpose.

    A row may have any number, so a relabelled k costs nothing.
    """
    try:
        steps = loads_for(tiles.target)
    except Error:  # the target has no such loads, or none for this operand
        return
    size = int(tiles.target.placement.slot_bits) // 8
    if steps[0].load.memory != "LDS" or size == 0:
        return
    writing, _, widths = _memory_names(reach)
    written = _run(tiles.source_f, size) * size
    elements = len(tiles.source_f) * len(tiles.source_k)
    count = Counter({
        f"{writing}_{widths[written].replace('u', 'b')}": -(-elements * size // (tiles.source.lanes * written)),
        steps[0].load.name: len(steps) * tiles.y_tiles[0] * tiles.y_tiles[1],
    })  # fmt: skip
    yield _way("LDS, transposing loads", IN_MEMORY, count, [Memory()])._replace(bytes=elements * size)


def _memory_names(reach: Reach) -> tuple[str, str, dict[int, str]]:
    return next(names for name, names in MEMORY_NAMES.items() if name in reach)


def _through_memory(tiles: Tiles, size: int, order: tuple[Places, Places], reach: Reach) -> Counter[str]:
    elements = len(tiles.source_f) * len(tiles.source_k)
    lanes = 1 + max(lane for lane, _ in tiles.target_f) + max(lane for lane, _ in tiles.target_k)
    written, read = [_run(places, size) * size for places in order]
    writing, reading, widths = _memory_names(reach)
    join = "." if widths is PTX else "_"
    count = Counter({
        f"{writing}{join}{widths[written].replace('u', 'b')}": -(-elements * size // (tiles.source.lanes * written)),
        f"{reading}{join}{widths[read]}": -(-elements * size // (lanes * read)),
    })  # fmt: skip
    if read < 4:  # what was read byte by byte or in halves is put together
        words = -(-elements * size // (lanes * 4))
        count[next(name for name in PERMUTES if name in reach)] += words * (4 // read - 1)
    return count


def _run(places: Places, size: int) -> int:
    """How many neighbours along a coordinate are neighbouring items of one lane, up to 16 bytes: a power of two."""
    run = 16 // size
    while run > 1:
        chunks = [places[at : at + run] for at in range(0, len(places), run)]
        if all(chunk == tuple([(chunk[0][0], chunk[0][1] + at) for at in range(run)]) for chunk in chunks):
            return run
        run //= 2
    return 1
