"""The sizes of an attention kernel: softmax(scale Q K^T) V for any lengths, without the products' matrix in memory.

Each workgroup takes some queries of one head and all keys, a tile of them at a time; each wave keeps its queries, the
largest product of each, the sum of the exponentials, and its part of the result in registers (online softmax: Milakov
and Gimelshein, arXiv:1805.02867; FlashAttention-2, Dao, arXiv:2307.08691).

P = exp(S - largest) is handed from the first product to the second in registers, as `mmacalc.chain` says:

    AMD       S^T = K Q^T, D of it is B of    O^T = V^T P^T     a lane has one query, so what belongs to it is its own
    NVIDIA    S = Q K^T,   D of it is A of    O = P V           the four lanes of a group have two queries; with
                                                                tcgen05 a thread has one, and P is in Tensor Memory

Where `chain` relabels k, the rows of K are put into LDS in that order (around NVIDIA's instructions of 8 bits V's keys
take it); where elements would have to move between lanes they are exchanged (RDNA3), or go through LDS.

Of 8 bits K and V have the format of the instruction's A, Q and P that of B (NVIDIA: e4m3 all), and O is of bf16.
"""

from __future__ import annotations

from math import lcm

from ..base.checks import require_int, shown
from ..base.errors import Error
from ..base.records import TupleRecord
from ..chaining import chain
from .fragments import fragment
from .gemm import kpack_of
from .gemm_lds import VECTOR, best_swizzle, held_k, pieces, transposing, turns_of
from .source import extents, kernel_name, memory_type
from .staging import Side

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..model import Architecture, Instruction
    from .gemm_lds import Piece, Turn

__all__ = [
    "FORMATS", "FP8", "KEYS", "MOST_HEAD", "AttentionPlan", "Growth", "Problem", "Seen", "attention_plan",
    "checked_instruction", "elements_of", "growth_of", "o_format", "problem_of", "seen_of", "tile_of",
]  # fmt: skip

WORKGROUP_QUERIES = 128
WAVE_QUERIES = {64: 32, 32: 16}  # by the lanes of a wave, unless the instruction has more
KEYS = 64  # of a tile
FEWER_KEYS = {"gfx11": 16, "gfx10": 16, "gfx120": 32}
"""Of larger heads, where more would spill: waves have 256 registers, of which Q and O take half (on RDNA3, where both
halves of a wave hold all of Q, three quarters)."""
MORE_KEYS = "gfx9"  # of 8 bits a tile has as many bytes as of 16 there
MOST_HEAD = 256
FORMATS = ("f16", "bf16")
FP8 = "e4m3"  # of NVIDIA: Q, K and V; P is rounded to it
SMALL = {"fp8": FP8, "bf8": "e5m2"}  # by the names that AMD's instructions have for them


class Growth(TupleRecord):
    """Of the exponentials that become P, as powers of 2: what they are multiplied by, so that fewer of them are below
    its format's smallest number; and how far they may grow beyond that before O is multiplied."""

    offset: int
    most: int


MOST_GROWTH = Growth(0, 8)
"""Exponentials of up to 256 are rounded as exactly as those of up to 1 (FlashAttention-4: Algorithm and Kernel
Pipelining Co-Design, Zadouri et al., 2026)."""
GROWTHS = {"e4m3": Growth(6, 2), "e4m3fnuz": Growth(5, 2), "e5m2": Growth(7, 8), "e5m2fnuz": Growth(7, 8)}
"""The sum is within the largest number of a format, 448, 240 and 57,344. FlashAttention-3 multiplies by 2^8."""


def growth_of(form: str) -> Growth:
    """How far exponentials grow that are rounded to a format.

    >>> growth_of("e4m3"), growth_of("bf16")
    (Growth(offset=6, most=2), Growth(offset=0, most=8))
    """
    return GROWTHS.get(form, MOST_GROWTH)


def o_format(form: str) -> str:
    """The format of O, by that of V.

    >>> o_format("f16"), o_format("e4m3fnuz")
    ('f16', 'bf16')
    """
    return "bf16" if form in GROWTHS else form


class Problem(TupleRecord):
    """The sizes of the launch line: batches, heads of Q, queries and keys, heads of K and V; the elements of a row of Q
    and K, and of V and O, are the kernel's own."""

    batches: int
    heads: int
    queries: int
    keys: int
    head: int
    head_v: int
    kv_heads: int

    @property
    def group(self) -> int:
        """The heads of Q that share one of K and V."""
        return self.heads // self.kv_heads

    @staticmethod
    def heads_name(head: int, head_v: int) -> str:
        """The sizes of a head in a kernel's name: one number where they are one."""
        return f"{head}" if head == head_v else f"{head}x{head_v}"


class AttentionPlan(TupleRecord):
    """The sizes of an attention kernel of AMD.

    fields: modifiers, which choose formats; head: elements of a row of Q and K; seen: which keys a query sees; waves:
    of a workgroup; tiles_q: query tiles of the instruction in a wave; kpack: instructions whose k a lane reads at once;
    k, v: how they go through LDS; v_turn: how V is transposed in registers on the way; handover: how P goes from
    product to product: "registers", "exchange" (with the other half of the wave) or "LDS"; keys: for each row of the
    first product's results, in groups of `unit`, the key that it has in its group.
    """

    instruction: Instruction
    fields: Mapping[str, int]
    wave: int
    head: int
    seen: Seen
    waves: int
    tiles_q: int
    kpack: int
    k: Side
    v: Side
    v_turn: Turn | None
    handover: str
    keys: tuple[int, ...]

    @property
    def name(self) -> str:
        """The name of the kernel."""
        inst = self.instruction
        formats = "".join(f"_{form}" for form in (self.form, self.form_p)) if inst.choices else ""
        heads = Problem.heads_name(self.head, self.head_v)
        return f"attention_{kernel_name(inst)}{formats}_{heads}{self.seen.name}"

    @property
    def form(self) -> str:
        """The format of K and V."""
        return self.instruction.format("A", self.fields).name

    @property
    def form_p(self) -> str:
        """The format of Q and P."""
        return self.instruction.format("B", self.fields).name

    @property
    def head_v(self) -> int:
        """The elements of a row of V and O."""
        return self.v.extent

    @property
    def threads(self) -> int:
        """The work-items of a workgroup."""
        return self.waves * self.wave

    @property
    def block_m(self) -> int:
        """The queries of a workgroup."""
        return self.waves * self.tiles_q * self.instruction.n

    @property
    def block_n(self) -> int:
        """The keys of a tile."""
        return self.k.extent

    @property
    def unit(self) -> int:
        """The keys that are permuted together."""
        return len(self.keys)

    def k_pieces(self) -> tuple[Piece, ...]:
        """The accesses by which a lane reads K for one step."""
        return pieces(self.instruction.operand("A", self.wave), self.k, self.kpack)

    @property
    def tile_keys(self) -> tuple[int, ...]:
        """The key that each row of K's tile in LDS has."""
        return tuple([row // self.unit * self.unit + self.keys[row % self.unit] for row in range(self.block_n)])


class Seen(TupleRecord):
    """Which keys a query sees: all, or (causal) those up to its own, of which `window` are the last; 0: all of them.

    The last query sees the last key, for any numbers of both: query m has the key m + N - M as its own.
    """

    causal: bool = False
    window: int = 0

    @property
    def name(self) -> str:
        """The end of a kernel's name."""
        return f"{'_causal' * self.causal}{f'_window{self.window}' * bool(self.window)}"


def seen_of(causal: bool, window: int | None) -> Seen:
    """Which keys a query sees.

    Raises:
        Error: a window without causal, or without keys.

    >>> seen_of(True, 512).name
    '_causal_window512'
    """
    if window is None:
        return Seen(causal)
    if require_int("window", window) < 1 or window >= 1 << 30:
        raise Error(f"window is the number of keys that a query sees, from 1 to {(1 << 30) - 1}; got {shown(window)}")
    if not causal:
        raise Error("window is of causal attention, the last keys up to the query's own: give causal, too")
    return Seen(True, window)


def problem_of(given: str | Sequence[int], kv_heads: int | None = None) -> Problem:
    """The sizes of an attention.

    Args:
        kv_heads: heads of K and V; None: as many as of Q.

    Raises:
        Error: they are not five or six numbers from 1 on, or kv_heads does not divide the heads of Q.

    >>> problem_of("2x16x4096x4096x128").head
    128
    >>> problem_of("2x16x4096x4096x192x128").head_v
    128
    >>> problem_of("2x32x4096x4096x128", kv_heads=8).group
    4
    """
    meaning = (
        "attention is BxHxMxNxD: batches, heads, queries, keys and the head size, such as 2x16x4096x4096x128 "
        "(BxHxMxNxDxE if V has another head size E)"
    )
    count = given.lower().count("x") + 1 if isinstance(given, str) else len(given)
    batches, heads, queries, keys, head, *rest = extents(given, 6 if count == 6 else 5, meaning)
    of_v = rest[0] if rest else head
    sizes = (batches, heads, queries, keys, head, of_v)
    if min(sizes) < 1 or max(sizes) >= 1 << 31:
        raise Error(f"the sizes of an attention are from 1 to {(1 << 31) - 1}; got {shown(given)}")
    shared = heads if kv_heads is None else require_int("kv_heads", kv_heads)
    if shared < 1 or heads % shared:
        raise Error(
            f"kv_heads, the heads of K and V, divides the {heads} heads of Q, so that as many share each; got "
            f"{shown(kv_heads)}"
        )
    return Problem(*sizes, shared)


def tile_of(given: str | Sequence[int] | None, default: tuple[int, int]) -> tuple[int, int]:
    """The queries and keys of a workgroup's tile."""
    if given is None:
        return default
    m, n = extents(given, 2, "tile of an attention is MxN, queries and keys, such as 128x64")
    return m, n


def elements_of(architecture: Architecture) -> dict[str, str]:
    """The formats of Q, K and V that attention takes on an architecture, by the names that `--type` has for them.

    >>> import mmacalc
    >>> elements_of(mmacalc.architecture("gfx942"))
    {'f16': 'f16', 'bf16': 'bf16', 'fp8': 'e4m3fnuz', 'bf8': 'e5m2fnuz'}
    """
    small = {"fp8": FP8}
    if architecture.family.language == "hip":
        small = {name: architecture.format_names.get(name, usual) for name, usual in SMALL.items()}
    return {**dict(zip(FORMATS, FORMATS)), **small}


def checked_instruction(inst: Instruction, fields: Mapping[str, int] = {}) -> None:
    """Refuse an instruction around which no attention kernel is written.

    Args:
        fields: modifiers, which choose formats.

    Raises:
        Error: it is sparse, scaled, of several blocks, of formats that are not covered, or does not add up in f32.
    """
    dense = not inst.sparse and not inst.scaled and inst.blocks == 1 and "wmma" not in inst.features
    if not dense or inst.flops == 0:
        raise Error(
            "attention is generated around MFMA, WMMA of AMD, mma.sync, wgmma and tcgen05.mma: dense, without block "
            f"scales, of one block; not {inst.name}"
        )
    forms = [inst.format(name, fields).name for name in "AB"]
    known = list(elements_of(inst.architecture).values())
    of_8_bits = {*known} - {*FORMATS}
    mixed = inst.architecture.family.language == "hip" and {*forms} <= of_8_bits  # K and V of one, Q and P of another
    if forms[0] not in known or not (forms[0] == forms[1] or mixed):
        words = " and ".join([", ".join(known[:-1]), known[-1]])
        raise Error(
            f"attention is generated for {words}; A of {inst.name} is {forms[0]} and B {forms[1]}: use an instruction "
            "with such operands"
        )
    if {inst.format(name).name for name in "CD"} != {"f32"}:
        raise Error(
            f"attention needs products in f32; C of {inst.name} is {inst.format('C').name} and D "
            f"{inst.format('D').name}: use its sibling that adds up in f32"
        )


def attention_plan(
    inst: Instruction,
    head: int,
    seen: Seen | None = None,
    wave: int | None = None,
    tile: str | Sequence[int] | None = None,
    head_v: int = 0,
    fields: Mapping[str, int] = {},
) -> AttentionPlan:
    """The sizes of an attention kernel around an AMD instruction.

    Args:
        head_v: elements of a row of V and O; 0: as of Q and K. fields: modifiers that choose formats.

    Raises:
        Error: an instruction, a head size or a tile that does not fit; the message says what would.

    >>> import mmacalc
    >>> found = attention_plan(mmacalc.instruction("gfx950", "v_mfma_f32_32x32x16_f16"), 128)
    >>> found.block_m, found.block_n, found.handover, found.keys[:12]
    (128, 64, 'registers', (0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7))
    """
    fields = inst.resolved(fields)
    checked_instruction(inst, fields)
    size, head_v = inst.architecture.wave(wave), head_v or head
    kpack = kpack_of(inst, size)
    each = max(1, WAVE_QUERIES[size] // inst.n) * inst.n  # queries of a wave
    handover, order = _handover(inst, size, kpack)
    least, unit = max(inst.m, inst.k * kpack), len(order)
    wrong = [given for given, of in ((head, least), (head_v, inst.m)) if not 0 < given <= MOST_HEAD or given % of]
    if wrong:
        raise Error(
            f"the head size of {inst.name} is a multiple of {least} up to {MOST_HEAD}, such as 64; got {wrong[0]}"
        )
    queries, keys = tile_of(tile, _default_tile(inst, (head, head_v), size // each, unit))
    if queries % each or keys % unit or not 0 < queries // each <= 16 or keys < 1:
        raise Error(
            f"a tile of {inst.name} has a multiple of {each} queries (at most {16 * each}) and of {unit} keys; got "
            f"{queries}x{keys}"
        )
    k, v = _sides(inst, (head, head_v), keys, (size, queries // each * size))
    found = AttentionPlan(
        inst, fields, size, head, seen or Seen(), queries // each, each // inst.n, kpack, k, v, None, handover, order
    )
    return _without_conflicts(found)


def _sides(inst: Instruction, heads: tuple[int, int], keys: int, lanes: tuple[int, int]) -> tuple[Side, Side]:
    """K and V of a tile.

    Args:
        lanes: of a wave, and the work-items of a workgroup.

    Raises:
        Error: a tile that they do not load evenly, or that does not fit.
    """
    wave, threads = lanes
    element, bits = memory_type(inst.format("A").name, "hip"), inst.format("A").bits
    k = Side("K", keys, heads[0], element, bits, True, False)
    v = Side("V", heads[1], keys, element, bits, False, not transposing(inst.operand("A", wave)))
    for side, head in zip((k, v), heads):
        if side.tile.bytes % (threads * VECTOR):
            raise Error(
                f"a tile of {keys} keys of {head} elements is {side.tile.bytes} bytes, no multiple of 16 for each of "
                f"{threads} work-items: ask for more keys, or fewer queries"
            )
    if k.tile.bytes + v.tile.bytes > inst.architecture.lds_bytes:
        raise Error(
            f"K and V take {k.tile.bytes + v.tile.bytes} bytes of LDS, of which a workgroup has "
            f"{inst.architecture.lds_bytes}: ask for a tile with fewer keys"
        )
    return k, v


def _default_tile(inst: Instruction, heads: tuple[int, int], lanes: int, unit: int) -> tuple[int, int]:
    """The queries and keys of a tile that none was asked for, of which each work-item loads 16 bytes at a time.

    Args:
        lanes: of a wave, for each of its queries. unit: keys of which a tile has a multiple.
    """
    target, size = inst.architecture.targets[0], inst.format("A").bits // 8
    few = next((keys for name, keys in FEWER_KEYS.items() if target.startswith(name)), KEYS)
    most = KEYS * 2 // size if target.startswith(MORE_KEYS) else KEYS
    keys = max(unit, few if max(heads) * size > 2 * KEYS else most)
    while keys < most and _uneven(heads, keys * size, WORKGROUP_QUERIES * lanes):
        keys *= 2
    fewer = WORKGROUP_QUERIES // 2
    if _uneven(heads, keys * size, WORKGROUP_QUERIES * lanes) and not _uneven(heads, keys * size, fewer * lanes):
        return fewer, keys
    return WORKGROUP_QUERIES, keys


def _uneven(heads: tuple[int, int], width: int, threads: int) -> bool:
    """Whether work-items do not load whole accesses of a tile."""
    return any(head * width % (threads * VECTOR) for head in heads)


def _without_conflicts(found: AttentionPlan) -> AttentionPlan:
    """The plan with the smallest swizzles of K and V that have no bank conflict."""
    operand = found.instruction.operand("A", found.wave)
    reads = [(piece.table, piece.width) for piece in found.k_pieces()]
    k, _ = best_swizzle(operand, found.k, reads, [None])
    reads = [(piece.table, piece.width) for piece in pieces(operand, found.v, found.kpack)]
    v, turn = best_swizzle(operand, found.v, reads, turns_of(found.v, found.threads))
    return found._replace(k=k, v=v, v_turn=turn)


def _handover(inst: Instruction, wave: int, kpack: int) -> tuple[str, tuple[int, ...]]:
    """How P becomes B of the second product, and the order of keys that this asks of K's rows."""
    link = chain(inst, inst, "B", wave=wave)
    held = held_k(inst.operand("A", wave), kpack)  # the k of kpack instructions that V's registers have
    if link.free:
        return "registers", _as_they_lie(inst, wave, held)
    by_exchange = [("v_permlanex16_b32", 4), ("v_perm_b32", 8)]
    ways = [list(way.instructions) for way in link.ways]
    # Where a lane's results are neighbouring keys, what it has is a part of the operand as it is.
    d = fragment(inst.operand("D", wave))
    order = [0] * inst.m
    digits = sorted((digit for digit in d.digits if digit.row), key=lambda one: one.row)
    for lane in range(wave):
        group = weight = 0
        for digit in digits:
            group += lane // digit.divisor % digit.size * (weight or 1)
            weight = (weight or 1) * digit.size
        first = sum(lane // digit.divisor % digit.size * digit.row for digit in digits)
        for item in d.items:
            order[first + item.row] = group * len(d.items) + item.slot
    whole_step = held == tuple(range(len(held))) and len(held) == inst.m
    if not whole_step or sorted(order) != list(range(inst.m)):
        raise Error(f"D of {inst.name} becomes B of it only by moves between lanes that are not generated")
    return ("exchange" if by_exchange in ways else "LDS"), tuple(order)


def _as_they_lie(inst: Instruction, wave: int, held: Sequence[int]) -> tuple[int, ...]:
    """The key of each row of K's tile with which a lane's results are its elements of P in the order in which they lie.

    Args:
        held: the key that V's registers have at each k of the second product.
    """
    d, b = (fragment(inst.operand(name, wave)) for name in "DB")
    unit = lcm(inst.m, len(held))
    order = [0] * unit
    for lane in range(wave):
        row, k = (sum(lane // digit.divisor % digit.size * digit.row for digit in each.digits) for each in (d, b))
        for at in range(unit // inst.m * len(d.items)):
            (tile, result), (part, element) = divmod(at, len(d.items)), divmod(at, len(b.items))
            natural = part * inst.k + k + b.items[element].row
            key = natural // len(held) * len(held) + held[natural % len(held)]
            order[tile * inst.m + row + d.items[result].row] = key
    assert sorted(order) == list(range(unit))
    return tuple(order)
