"""The sizes of an attention kernel: softmax(scale Q K^T) V for any lengths, without the products' matrix in memory.

Each workgroup takes some queries of one head and all keys, a tile of them at a time; each wave keeps its queries, the
largest product of each, the sum of the exponentials, and its part of the result in registers (online softmax: Milakov
and Gimelshein, arXiv:1805.02867; FlashAttention-2, Dao, arXiv:2307.08691).

P = exp(S - largest) is handed from the first product to the second in registers, as `mmacalc.chain` says:

    AMD       S^T = K Q^T, D of it is B of    O^T = V^T P^T     a lane has one query, so what belongs to it is its own
    NVIDIA    S = Q K^T,   D of it is A of    O = P V           the four lanes of a group have two queries; with
                                                                tcgen05 a thread has one, and P is in Tensor Memory

Where `chain` relabels k, the rows of K are put into LDS in that order; where elements would have to move between
lanes they are exchanged (RDNA3), or go through LDS.
"""

from __future__ import annotations

from ..base.checks import shown
from ..base.errors import Error
from ..base.records import TupleRecord
from ..chaining import chain
from ..memory_access.swizzles import MODES
from .fragments import fragment
from .gemm import VECTOR, best_swizzle, cycles_lost, held_k, kpack_of, pieces, transposing, turns_of, writes
from .gemm_staging import FIRST_ASYNC, STATIC_BYTES, THREADS, target_number
from .source import extents, kernel_name, memory_type
from .staging import Side, matrix_swizzle
from .tensor_copies import ALIGNMENT, SHARED_BYTES
from .wgmma import WARPGROUP, widest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..memory_access.swizzles import Swizzle
    from ..model import Instruction
    from .gemm import Piece, Turn

__all__ = [
    "AttentionPlan", "CudaAttentionPlan", "Problem", "attention_plan", "checked_instruction", "cuda_attention_plan",
    "problem_of", "tile_of",
]  # fmt: skip

WORKGROUP_QUERIES = 128
WAVE_QUERIES = {64: 32, 32: 16}  # by the lanes of a wave, unless the instruction has more
KEYS = 64  # of a tile
FEWER_KEYS = {"gfx11": 16, "gfx10": 16, "gfx120": 32}
"""Of larger heads, where more would spill: waves have 256 registers, of which Q and O take half (on RDNA3, where both
halves of a wave hold all of Q, three quarters)."""
MOST_HEAD = 256
CUDA_HEADS = (32, 64, 128)  # of mma.sync
K_STAGES = 2  # tiles of K in shared memory of NVIDIA's kernels, and one of V
STATIC_MARGIN = 256  # bytes of shared memory, for an mbarrier
MOST_WARPGROUPS = 2  # that share a tile of keys
# N of a tile, with more of which ptxas 13.0 spills: of wgmma, where four threads share the keys of a query, as far as
# shared memory has room for the head; of tcgen05, where each thread has all keys of one.
MOST_KEYS, MOST_KEYS_OF_A_THREAD = 192, 160
FORMATS = ("f16", "bf16")


class Problem(TupleRecord):
    """The sizes of the launch line: batches, heads of Q, queries and keys; the head size is the kernel's own."""

    batches: int
    heads: int
    queries: int
    keys: int
    head: int


class AttentionPlan(TupleRecord):
    """The sizes of an attention kernel of AMD.

    head: elements of a row of Q, K, V and O; causal: whether a query sees no later key; waves: of a workgroup;
    tiles_q: query tiles of the instruction in a wave; kpack: instructions whose k a lane reads at once; k, v: how they
    go through LDS; v_turn: how V is transposed in registers on the way; handover: how P goes from product to product:
    "registers", "exchange" (with the other half of the wave) or "LDS"; keys: for each row of the first product's
    results, in groups of `unit`, the key that it has in its group.
    """

    instruction: Instruction
    wave: int
    head: int
    causal: bool
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
        return f"attention_{kernel_name(self.instruction)}_{self.head}{'_causal' * self.causal}"

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


class CudaAttentionPlan(TupleRecord):
    """The sizes of an attention kernel of NVIDIA: head and causal as of `AttentionPlan`.

    instruction: that of the first product; groups: of threads in a block, of which each computes the instruction's m
    queries; k, v: how they go through shared memory; q: so does Q, unless it is in registers.
    """

    instruction: Instruction
    head: int
    causal: bool
    groups: int
    k: Side
    v: Side
    q: Side | None = None

    @property
    def name(self) -> str:
        """The name of the kernel."""
        inst = self.instruction
        shape = ""
        if inst.in_tensor_memory:  # whose names have neither shape nor types
            shape = f"_m{inst.m}n{inst.n}k{inst.k}_{inst.format('A').name}"
        return f"attention_{kernel_name(inst)}{shape}_{self.head}{'_causal' * self.causal}"

    @property
    def lanes(self) -> int:
        """The threads that compute one product: a warp, or four."""
        return 128 if self.q else 32

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.lanes * self.groups

    @property
    def block_m(self) -> int:
        """The queries of a block."""
        return self.groups * self.instruction.m

    @property
    def block_n(self) -> int:
        """The keys of a tile."""
        return self.k.depth

    @property
    def sides(self) -> tuple[Side, ...]:
        """What goes through shared memory."""
        return (self.q, self.k, self.v) if self.q else (self.k, self.v)

    @property
    def shared(self) -> int:
        """The bytes of dynamic shared memory of a launch; 0 where all is static."""
        return ALIGNMENT + tile_bytes(self) if self.q else 0


def problem_of(given: str | Sequence[int]) -> Problem:
    """The sizes of an attention.

    Raises:
        Error: they are not five numbers from 1 on.

    >>> problem_of("2x16x4096x4096x128").head
    128
    """
    meaning = "attention is BxHxMxNxD: batches, heads, queries, keys and the head size, such as 2x16x4096x4096x128"
    found = Problem(*extents(given, 5, meaning))
    if min(found) < 1 or max(found) >= 1 << 31:
        raise Error(f"the sizes of an attention are from 1 to {(1 << 31) - 1}; got {shown(given)}")
    return found


def tile_of(given: str | Sequence[int] | None, default: tuple[int, int]) -> tuple[int, int]:
    """The queries and keys of a workgroup's tile."""
    if given is None:
        return default
    m, n = extents(given, 2, "tile of an attention is MxN, queries and keys, such as 128x64")
    return m, n


def checked_instruction(inst: Instruction) -> None:
    """Refuse an instruction around which no attention kernel is written.

    Raises:
        Error: it is sparse, scaled, of several blocks, not of f16 or bf16, or does not add up in f32.
    """
    dense = not inst.sparse and not inst.scaled and inst.blocks == 1 and "wmma" not in inst.features
    if not dense or inst.flops == 0:
        raise Error(
            "attention is generated around MFMA, WMMA of AMD, mma.sync, wgmma and tcgen05.mma: dense, without block "
            f"scales, of one block; not {inst.name}"
        )
    forms = [inst.format(name).name for name in "AB"]
    if forms[0] != forms[1] or forms[0] not in FORMATS:
        raise Error(
            f"attention is generated for f16 and bf16; A of {inst.name} is {forms[0]} and B {forms[1]}: use an "
            "instruction with f16 or bf16 operands"
        )
    if {inst.format(name).name for name in "CD"} != {"f32"}:
        raise Error(
            f"attention needs products in f32; C of {inst.name} is {inst.format('C').name} and D "
            f"{inst.format('D').name}: use its sibling that adds up in f32"
        )


def attention_plan(
    inst: Instruction,
    head: int,
    causal: bool = False,
    wave: int | None = None,
    tile: str | Sequence[int] | None = None,
) -> AttentionPlan:
    """The sizes of an attention kernel around an AMD instruction.

    Raises:
        Error: an instruction, a head size or a tile that does not fit; the message says what would.

    >>> import mmacalc
    >>> found = attention_plan(mmacalc.instruction("gfx950", "v_mfma_f32_32x32x16_f16"), 128)
    >>> found.block_m, found.block_n, found.handover, found.keys[:12]
    (128, 64, 'registers', (0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7))
    """
    checked_instruction(inst)
    size = inst.architecture.wave(wave)
    kpack = kpack_of(inst, size)
    step = inst.k * kpack
    tiles_q = max(1, WAVE_QUERIES[size] // inst.n)
    queries, keys = tile_of(tile, (WORKGROUP_QUERIES, _default_keys(inst, head)))
    each = tiles_q * inst.n
    handover, order = _handover(inst, size, kpack)
    unit = len(order)
    if head > MOST_HEAD or head % inst.m or head % step:
        least = max(inst.m, step)
        raise Error(f"the head size of {inst.name} is a multiple of {least} up to {MOST_HEAD}, such as 64; got {head}")
    if queries % each or keys % unit or not 0 < queries // each <= 16 or keys < 1:
        raise Error(
            f"a tile of {inst.name} has a multiple of {each} queries (at most {16 * each}) and of {unit} keys; got "
            f"{queries}x{keys}"
        )
    waves = queries // each
    element, bits = memory_type(inst.format("A").name, "hip"), inst.format("A").bits
    k = Side("K", keys, head, element, bits, True, False)
    loads = transposing(inst.operand("A", size), kpack)
    v = Side("V", head, keys, element, bits, False, not loads)
    for side in (k, v):
        if side.tile.bytes % (waves * size * VECTOR):
            raise Error(
                f"a tile of {keys} keys of {head} elements is {side.tile.bytes} bytes, no multiple of 16 for each of "
                f"{waves * size} work-items: ask for more keys, or fewer queries"
            )
    if k.tile.bytes + v.tile.bytes > inst.architecture.lds_bytes:
        raise Error(
            f"K and V take {k.tile.bytes + v.tile.bytes} bytes of LDS, of which a workgroup has "
            f"{inst.architecture.lds_bytes}: ask for a tile with fewer keys"
        )
    found = AttentionPlan(inst, size, head, causal, waves, tiles_q, kpack, k, v, None, handover, order)
    return _without_conflicts(found)


def cuda_attention_plan(
    inst: Instruction, head: int, causal: bool = False, tile: str | Sequence[int] | None = None
) -> CudaAttentionPlan:
    """The sizes of an attention kernel around an mma.sync, a wgmma or a tcgen05.mma.

    Raises:
        Error: an instruction, a head size or a tile that does not fit; the message says what would.

    >>> import mmacalc
    >>> inst = mmacalc.instruction("a100", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
    >>> found = cuda_attention_plan(inst, 128)
    >>> found.block_m, found.block_n, found.v.swizzle
    (64, 64, Swizzle(bits=3, base=4, shift=4))
    >>> inst = mmacalc.instruction("h100", "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16")
    >>> found = cuda_attention_plan(inst, 128)
    >>> found.block_m, found.block_n, found.shared
    (128, 128, 132096)
    """
    checked_instruction(inst)
    if inst.in_tensor_memory:
        return _by_descriptors(_with_shape(inst), head, causal, tile)
    link = chain(inst, inst, "A")
    if not link.free or link.relabel or link.sources != tuple(range(len(link.sources))):
        raise Error(f"D of {inst.name} is not A of it as it lies; attention is generated around m16n8k16 and m16n8k8")
    if "wgmma" in inst.features:
        return _by_descriptors(inst, head, causal, tile)
    return _by_mma(inst, head, causal, tile, max(link.k, 32))


def _by_mma(
    inst: Instruction, head: int, causal: bool, tile: str | Sequence[int] | None, unit: int
) -> CudaAttentionPlan:
    """The sizes of a kernel around an mma.sync, whose tiles have a multiple of `unit` keys.

    Raises:
        Error: as of `cuda_attention_plan`.
    """
    if target_number(inst) < FIRST_ASYNC:
        raise Error(f"attention for NVIDIA copies by cp.async, which sm_{FIRST_ASYNC} and later have; not {inst.arch}")
    if head not in CUDA_HEADS:
        raise Error(f"the head size of {inst.name} is {', '.join(map(str, CUDA_HEADS))}; got {head}")
    queries, keys = tile_of(tile, (THREADS // 32 * inst.m, KEYS))
    swizzle = matrix_swizzle(2 * head)
    k, v = (_rows_of_a_head(inst, name, head, keys)._replace(swizzle=swizzle, panel=0) for name in "KV")
    found = CudaAttentionPlan(inst, head, causal, THREADS // 32, k, v)
    fits = queries == found.block_m and keys > 0 and keys % unit == 0
    if not fits or tile_bytes(found) > STATIC_BYTES:
        raise Error(
            f"a tile of {inst.name} has {found.block_m} queries and a multiple of {unit} keys, of which V and two K "
            f"fit into {STATIC_BYTES} bytes; got {queries}x{keys}"
        )
    return found


def tile_bytes(found: CudaAttentionPlan) -> int:
    """The bytes of shared memory of all tiles of a block."""
    return sum(side.tile.bytes * (K_STAGES if side.name == "K" else 1) for side in found.sides)


def _rows_of_a_head(inst: Instruction, name: str, head: int, rows: int) -> Side:
    """Q, K or V in shared memory: rows of a head's elements, in panels as wide as their swizzle."""
    mode = widest(2 * head)
    element = memory_type(inst.format("B").name, "cuda")
    return Side(name, head, rows, element, 16, False, False, MODES[mode.name], mode.row_bytes)


def _with_shape(inst: Instruction) -> Instruction:
    """A tcgen05.mma with its shape: 128 keys where none were named.

    Raises:
        Error: pairs of blocks, .ws, or other than 128 rows.
    """
    from ..model.tensor_memory import TensorMemoryInstruction

    assert isinstance(inst, TensorMemoryInstruction)
    if inst.form.cta_group != 1 or inst.form.ws:
        raise Error(
            f"attention is generated around tcgen05.mma.cta_group::1 without .ws; not {inst.name}: use "
            f"tcgen05.mma.cta_group::1.kind::{inst.form.kind}"
        )
    if inst.m != WARPGROUP:
        raise Error(f"attention by tcgen05.mma has a row of Tensor Memory for each thread: M = 128; got M = {inst.m}")
    return inst.shaped(m=inst.m, n=inst.given.get("n", 2 * KEYS))


def _by_descriptors(inst: Instruction, head: int, causal: bool, tile: str | Sequence[int] | None) -> CudaAttentionPlan:
    """The sizes of a kernel that reads Q, K and V through matrix descriptors.

    Raises:
        Error: as of `cuda_attention_plan`.
    """
    if head % 16 or not 16 <= head <= MOST_HEAD:
        raise Error(f"the head size of {inst.name} is a multiple of 16 up to {MOST_HEAD}, such as 64; got {head}")
    if inst.n % 16:
        raise Error(f"N of {inst.name}, the keys of a tile, is k of the second product, a multiple of 16; got {inst.n}")
    most = MOST_KEYS_OF_A_THREAD if inst.in_tensor_memory else MOST_KEYS
    if inst.n > most:
        raise Error(
            f"a thread's products with {inst.n} keys leave too few registers: N of {inst.name} is up to {most} for "
            f"attention; got {inst.n}"
        )
    k, v = (_rows_of_a_head(inst, name, head, inst.n) for name in "KV")
    at_once = WARPGROUP * VECTOR // k.panel
    if inst.n % at_once:
        raise Error(
            f"{WARPGROUP} threads copy {at_once} rows of {head} elements at once, of which the keys of a tile are a "
            f"multiple; {inst.name} has N = {inst.n}"
        )
    fitting = []
    for groups in range(1, (1 if inst.in_tensor_memory else MOST_WARPGROUPS) + 1):
        q = _rows_of_a_head(inst, "Q", head, groups * inst.m)
        found = CudaAttentionPlan(inst, head, causal, groups, k, v, q)
        fits = found.shared <= SHARED_BYTES - STATIC_MARGIN
        if fits and inst.n % (groups * at_once) == 0:
            fitting.append(found)
        elif groups == 1:
            raise Error(
                f"{inst.m} queries and three tiles of {inst.n} keys of {head} elements take {found.shared} bytes of "
                f"shared memory, of which a block has {SHARED_BYTES}: use an instruction with a smaller N"
            )
    asked = tile_of(tile, (fitting[-1].block_m, inst.n))
    for found in fitting:
        if asked == (found.block_m, inst.n):
            return found
    known = " or ".join(f"{found.block_m}x{inst.n}" for found in fitting)
    raise Error(f"a tile of {inst.name} is {known} for heads of {head} (the keys are its N); got {asked[0]}x{asked[1]}")


def _default_keys(inst: Instruction, head: int) -> int:
    """The keys of a tile that none was asked for."""
    fewer = [keys for name, keys in FEWER_KEYS.items() if inst.architecture.targets[0].startswith(name)]
    return fewer[0] if fewer and head > KEYS else KEYS


def _without_conflicts(found: AttentionPlan) -> AttentionPlan:
    """The plan with the smallest swizzles of K and V that have no bank conflict."""
    operand = found.instruction.operand("A", found.wave)
    reads = [(piece.table, piece.width) for piece in found.k_pieces()]
    k, _ = best_swizzle(operand, found.k, reads, [None])
    reads = [(piece.table, piece.width) for piece in pieces(operand, found.v, found.kpack)]
    ways: list[tuple[int, int, Swizzle, Turn | None]] = []
    for turn in turns_of(found.v, found.threads):  # those whose lanes take longer pieces of a row come first
        swizzle, _ = best_swizzle(operand, found.v, reads, [turn])
        lost = cycles_lost(operand, found.v.tile, reads, swizzle, "read")
        if turn:
            lost += cycles_lost(operand, found.v.tile, writes(operand, found.v, turn), swizzle, "write")
        ways.append((lost, len(ways), swizzle, turn))
    _, _, v, turn = min(ways, key=lambda way: way[:2])
    return found._replace(k=found.k._replace(swizzle=k), v=found.v._replace(swizzle=v), v_turn=turn)


def _handover(inst: Instruction, wave: int, kpack: int) -> tuple[str, tuple[int, ...]]:
    """How P becomes B of the second product, and the order of keys that this asks of K's rows."""
    link = chain(inst, inst, "B", wave=wave)
    held = held_k(inst.operand("A", wave), kpack)  # the k of kpack instructions that V's registers have
    if link.free and link.sources == tuple(range(len(link.sources))):
        relabel = link.relabel or tuple(range(link.k))
        unit = max(link.k, len(held))
        lands = [row // link.k * link.k + relabel[row % link.k] for row in range(unit)]
        return "registers", tuple([k // len(held) * len(held) + held[k % len(held)] for k in lands])
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
