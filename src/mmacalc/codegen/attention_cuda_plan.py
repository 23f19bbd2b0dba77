"""The sizes of NVIDIA's attention kernels: see `mmacalc.codegen.attention` for what they compute.

A block has

    mma.sync    four warps of 16 queries; K and V come by cp.async, Q and O are in registers
    wgmma       two warpgroups of 64 queries, by turns; another copies by TMA; O is in registers
    tcgen05     two warpgroups of 128 queries; one warp copies by TMA, one starts products; O is in Tensor Memory

and the tiles of K and V are as large as shared memory, registers and Tensor Memory allow.
"""

from __future__ import annotations

from ..base.errors import Error
from ..base.records import TupleRecord
from ..chaining import chain
from ..families.tensor_memory import COLUMNS
from ..memory_access.swizzles import MODES
from .attention import KEYS, MOST_HEAD, Problem, Seen, checked_instruction, tile_of
from .gemm_staging import FIRST_ASYNC, STATIC_BYTES, THREADS, target_number
from .source import kernel_name, memory_type
from .staging import Side
from .tensor_copies import ALIGNMENT, SHARED_BYTES
from .wgmma import WARPGROUP, widest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model import Instruction

__all__ = ["TURNED_PLACES", "CudaAttentionPlan", "cuda_attention_plan"]

TURNED_PLACES = 2  # in shared memory for tiles of V that are turned over
MMA_STAGES = 2  # tiles of K in shared memory of kernels around mma.sync, and one of V
STATIC_MARGIN = 256  # bytes of shared memory, for mbarriers
MOST_GROUPS = 2  # warpgroups that share the tiles of K and V
LEAST_STAGES, MOST_STAGES = 3, 4  # tiles of K and V in shared memory: the next K is multiplied before this V
# N of a tile, with more of which ptxas 13.0 spills: of wgmma, where four threads share the keys of a query, as far as
# shared memory has room for the head; of tcgen05, where each thread has all keys of one.
MOST_KEYS, MOST_KEYS_OF_A_THREAD = 192, 128
MOST_MMA_HELD = 176  # registers of a thread with Q, O and S of an mma.sync, with more of which it spills, too
MOST_HELD = 196  # registers of a thread with S, P and O of a wgmma, with more of which ptxas 13.0 spills


class CudaAttentionPlan(TupleRecord):
    """The sizes of an attention kernel of NVIDIA; head and seen as of `AttentionPlan`.

    instruction: that of the first product; groups: of threads in a block, of which each computes the instruction's m
    queries; k, v: how they go through shared memory; q: so does Q, unless it is in registers; stages: tiles of K and V
    in shared memory, if they come by TMA. Q has a tile for each group.
    """

    instruction: Instruction
    head: int
    seen: Seen
    groups: int
    k: Side
    v: Side
    q: Side | None = None
    stages: int = 0

    @property
    def name(self) -> str:
        """The name of the kernel."""
        inst = self.instruction
        shape = ""
        if inst.in_tensor_memory:  # whose names have neither shape nor types
            shape = f"_m{inst.m}n{inst.n}k{inst.k}_{inst.format('A').name}"
        return f"attention_{kernel_name(inst)}{shape}_{Problem.heads_name(self.head, self.head_v)}{self.seen.name}"

    @property
    def form(self) -> str:
        """The format of Q, K and V."""
        return self.instruction.format("A").name

    @property
    def form_p(self) -> str:
        """The format of Q and P."""
        return self.form

    @property
    def head_v(self) -> int:
        """The elements of a row of V and O."""
        return self.v.extent

    @property
    def lanes(self) -> int:
        """The threads that compute one product: a warp, or four."""
        return WARPGROUP if self.q else 32

    @property
    def threads(self) -> int:
        """The threads of a block: those with queries, and with TMA a warpgroup that copies or starts products."""
        return self.lanes * (self.groups + bool(self.q))

    @property
    def block_m(self) -> int:
        """The queries of a block."""
        return self.groups * self.instruction.m

    @property
    def block_n(self) -> int:
        """The keys of a tile."""
        return self.k.depth

    @property
    def stage_bytes(self) -> int:
        """The bytes of a place in shared memory for a tile of K or of V."""
        return max(self.k.tile.bytes, self.v.tile.bytes)

    @property
    def shared(self) -> int:
        """The bytes of dynamic shared memory of a launch; 0 where all is static."""
        if not self.q:
            return 0
        turned = TURNED_PLACES * self.turned.tile.bytes if self.turned else 0
        return ALIGNMENT + self.groups * self.q.tile.bytes + self.stages * self.stage_bytes + turned

    @property
    def turned(self) -> Side | None:
        """V turned over, rows of keys for each element, of which wgmma reads 8 bits; None of what reads V as it is."""
        if not self.q or self.v.bits != 8 or self.instruction.in_tensor_memory:
            return None
        mode = widest(self.block_n)
        return Side("T", self.head_v, self.block_n, self.v.element, 8, True, False, MODES[mode.name], mode.row_bytes)

    @property
    def boxes(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """The boxes of the tensor maps of Q, K and V as `mmacalc.tensor_map` takes them: batch, head, row, element."""
        assert self.q
        of_q = (1, 1, self.instruction.m, self.q.panel // self.q.bytes)
        return of_q, *((1, 1, self.block_n, side.panel // side.bytes) for side in (self.k, self.v))  # type: ignore[return-value]


def cuda_attention_plan(
    inst: Instruction, head: int, seen: Seen | None = None, tile: str | Sequence[int] | None = None, head_v: int = 0
) -> CudaAttentionPlan:
    """The sizes of an attention kernel around an mma.sync, a wgmma or a tcgen05.mma.

    Args:
        head_v: elements of a row of V and O; 0: as of Q and K.

    Raises:
        Error: an instruction, a head size or a tile that does not fit; the message says what would.

    >>> import mmacalc
    >>> inst = mmacalc.instruction("a100", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
    >>> found = cuda_attention_plan(inst, 128)
    >>> found.block_m, found.block_n, found.v.swizzle
    (64, 64, Swizzle(bits=3, base=4, shift=3))
    >>> inst = mmacalc.instruction("h100", "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16")
    >>> found = cuda_attention_plan(inst, 128)
    >>> found.block_m, found.block_n, found.stages, found.shared
    (128, 128, 4, 164864)
    """
    checked_instruction(inst)
    seen, head_v = seen or Seen(), head_v or head
    if inst.in_tensor_memory:
        return _by_descriptors(_with_shape(inst), (head, head_v), seen, tile)
    link, bits = chain(inst, inst, "A"), inst.format("A").bits
    as_it_lies = not link.relabel and link.sources == tuple(range(len(link.sources)))
    if not link.free or not (as_it_lies or bits == 8):  # of 8 bits the keys of V take the order of P
        raise Error(f"D of {inst.name} is not A of it as it lies; attention is generated around m16n8k16 and m16n8k8")
    if bits == 8 and inst.k < 32:
        raise Error(f"attention of 8 bits is generated around m16n8k32: ldmatrix loads no V for {inst.name}")
    if "wgmma" in inst.features:
        return _by_descriptors(inst, (head, head_v), seen, tile)
    return _by_mma(inst, (head, head_v), seen, tile)


def _by_mma(
    inst: Instruction, heads: tuple[int, int], seen: Seen, tile: str | Sequence[int] | None
) -> CudaAttentionPlan:
    """The sizes of a kernel around an mma.sync.

    Raises:
        Error: as of `cuda_attention_plan`.
    """
    if target_number(inst) < FIRST_ASYNC:
        raise Error(f"attention for NVIDIA copies by cp.async, which sm_{FIRST_ASYNC} and later have; not {inst.arch}")
    unit = 4 // inst.operand("B").registers * inst.n  # columns of B that one ldmatrix loads
    size = inst.format("A").bits // 8
    for head, least in zip(heads, (max(16, inst.k), max(unit, 32 // size))):
        if head % least or not least <= head <= MOST_HEAD:
            raise Error(
                f"the head size of {inst.name} is a multiple of {least} up to {MOST_HEAD}, such as 64; got {head}"
            )
    unit = max(unit, inst.k)
    in_registers = heads[0] * size // 8 + heads[1] // 2  # Q and O
    most = min(STATIC_BYTES // (size * (MMA_STAGES * heads[0] + heads[1])), 2 * (MOST_MMA_HELD - in_registers))
    if most < unit:
        raise Error(
            f"a thread has {in_registers} registers of Q and O with heads of {Problem.heads_name(*heads)}, and with "
            f"the products of {unit} keys room for {MOST_MMA_HELD}: {inst.name} has heads of up to "
            f"{224 if size == 2 else 256}, or 256 of Q and K with 192 of V"
        )
    queries, keys = tile_of(tile, (THREADS // 32 * inst.m, min(KEYS, most // unit * unit)))
    k, v = (_rows_of_a_head(inst, name, head, keys) for name, head in zip("KV", heads))
    found = CudaAttentionPlan(inst, heads[0], seen, THREADS // 32, k, v)
    if queries != found.block_m or keys % unit or not unit <= keys <= most:
        raise Error(
            f"a tile of {inst.name} has {found.block_m} queries and a multiple of {unit} keys up to "
            f"{most // unit * unit} with heads of {Problem.heads_name(*heads)} (V and two K in {STATIC_BYTES} bytes of "
            f"shared memory, products in registers); got {queries}x{keys}"
        )
    return found


def _rows_of_a_head(inst: Instruction, name: str, head: int, rows: int) -> Side:
    """Q, K or V in shared memory: rows of a head's elements, in panels as wide as their swizzle."""
    form = inst.format("B")
    mode = widest(head * form.bits // 8)
    element = memory_type(form.name, "cuda")
    return Side(name, head, rows, element, form.bits, False, False, MODES[mode.name], mode.row_bytes)


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


def _by_descriptors(
    inst: Instruction, heads: tuple[int, int], seen: Seen, tile: str | Sequence[int] | None
) -> CudaAttentionPlan:
    """The sizes of a kernel that reads Q, K and V through matrix descriptors.

    Raises:
        Error: as of `cuda_attention_plan`.
    """
    _check_shape(inst, heads)
    k, v = (_rows_of_a_head(inst, name, head, inst.n) for name, head in zip("KV", heads))
    fitting = [
        found
        for groups in range(1, MOST_GROUPS + 1)
        if (found := _with_stages(CudaAttentionPlan(
            inst, heads[0], seen, groups, k, v, _rows_of_a_head(inst, "Q", heads[0], inst.m)
        )))
    ]  # fmt: skip
    if not fitting:
        raise Error(
            f"{inst.m} queries and {LEAST_STAGES} tiles of {inst.n} keys of {max(heads)} elements do not fit into "
            f"{SHARED_BYTES} bytes of shared memory: use an instruction with a smaller N"
        )
    asked = tile_of(tile, (fitting[-1].block_m, inst.n))
    for found in fitting:
        if asked == (found.block_m, inst.n):
            return found
    known = " or ".join(f"{found.block_m}x{inst.n}" for found in fitting)
    raise Error(
        f"a tile of {inst.name} is {known} for heads of {heads[0]} (the keys are its N); got {asked[0]}x{asked[1]}"
    )


def _check_shape(inst: Instruction, heads: tuple[int, int]) -> None:
    """Refuse what no kernel with matrix descriptors is generated for.

    Raises:
        Error: with what would be right.
    """
    least = inst.k  # 32 bytes
    for head in heads:
        if head % least or not least <= head <= MOST_HEAD:
            raise Error(
                f"the head size of {inst.name} is a multiple of {least} up to {MOST_HEAD}, such as 64; got {head}"
            )
    if inst.n % least:
        raise Error(
            f"N of {inst.name}, the keys of a tile, is k of the second product, a multiple of {least}; got {inst.n}"
        )
    most = MOST_KEYS_OF_A_THREAD if inst.in_tensor_memory else MOST_KEYS
    if inst.n > most:
        raise Error(
            f"a thread's products with {inst.n} keys leave too few registers: N of {inst.name} is up to {most} for "
            f"attention; got {inst.n}"
        )
    held = inst.n // 2 + inst.n * inst.format("A").bits // 64 + heads[1] // 2
    if not inst.in_tensor_memory and held > MOST_HELD:
        raise Error(
            f"a thread has {held} registers of products, P and O with {inst.n} keys and heads of {heads[1]}, and room "
            f"for {MOST_HELD}: use an instruction with a smaller N"
        )


def _with_stages(found: CudaAttentionPlan) -> CudaAttentionPlan | None:
    """The plan with its stages; None where shared or Tensor Memory has no room for it."""
    assert found.q
    most = (SHARED_BYTES - STATIC_MARGIN - found.shared) // found.stage_bytes
    in_columns = found.groups * (found.block_n + found.head_v) <= COLUMNS
    if most < LEAST_STAGES or (found.instruction.in_tensor_memory and not in_columns):
        return None
    return found._replace(stages=min(MOST_STAGES, most))
