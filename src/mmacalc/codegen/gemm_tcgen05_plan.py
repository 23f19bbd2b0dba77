"""The sizes of a GEMM kernel around tcgen05.mma: tiles, stages, what Tensor Memory holds; and what has no kernel.

Sources: PTX ISA 9.1, section 9.7.16 (tcgen05): 9.7.16.7 (allocation), 9.7.16.10 (mma, scales, metadata).
"""

from __future__ import annotations

from ..base.errors import Error
from ..base.records import TupleRecord
from ..families.descriptors import INPUT_CODES
from ..families.shared_memory import PADDED_ROW
from ..families.tensor_memory import CELL, COLUMNS, LANES, SCALE_BLOCKS, SCALE_BYTES, SCALE_ROWS, d_letter
from .epilogue import NO_EPILOGUE
from .gemm_scales import checked_scales
from .gemm_slices import name_ending, tile_rows
from .gemm_tcgen05_store import checked_totals, scale_columns
from .source import kernel_name
from .staging import Side
from .tensor_copies import ALIGNMENT, SHARED_BYTES, multiple, side

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Instruction
    from ..model.block_scales import BlockScales
    from ..model.tensor_memory import TensorMemoryInstruction
    from .epilogue import Epilogue

__all__ = ["METADATA_BOX", "PIECE_COLUMNS", "THREADS", "TensorMemoryPlan", "plan"]

THREADS = 192
STATIC_BYTES = 256  # of shared memory, for mbarriers
MOST_STAGES = 6
LEAST_COLUMNS = 32  # of an allocation
PIECE_COLUMNS = 4  # of metadata that a tcgen05.cp.128x128b copies
METADATA_BOX = PIECE_COLUMNS * LANES * CELL // 64  # elements of 8 bytes of a tensor copy


class TensorMemoryPlan(TupleRecord):
    """The sizes of the kernel: A and B in a stage of one block, the stages, and how many tiles' sums Tensor Memory
    holds. The instruction is that of a shape and of types."""

    instruction: TensorMemoryInstruction
    a: Side
    b: Side
    stages: int
    accumulators: int
    epilogue: Epilogue = NO_EPILOGUE
    split: int = 1  # the parts of K, and how many products the launch line has: see `gemm_slices`
    batches: int | None = None
    scales: BlockScales | None = None  # along K
    groups: int | None = None  # how many the launch line has

    @property
    def group(self) -> int:
        """The blocks that compute one tile."""
        return self.instruction.form.cta_group

    @property
    def wave(self) -> int:
        """The lanes of a warp."""
        return 32

    @property
    def block_k(self) -> int:
        """The k of one stage."""
        return self.b.depth

    @property
    def steps(self) -> int:
        """The products of a stage."""
        return self.block_k // self.instruction.k

    @property
    def scale_tiles(self) -> int:
        """Tiles of scales along k in a stage, of four blocks each; 0 without scales."""
        inst = self.instruction
        return self.block_k // inst.block_size // SCALE_BLOCKS if inst.scaled else 0

    @property
    def scale_bytes(self) -> tuple[int, int]:
        """The bytes of A's and of B's scales in a stage."""
        each = self.scale_tiles * SCALE_BYTES
        return each, each * (self.instruction.n // SCALE_ROWS)

    @property
    def stage_bytes(self) -> int:
        """The bytes of a stage of one block."""
        return self.a.tile.bytes + self.b.tile.bytes + self.cell_bytes

    @property
    def cell_bytes(self) -> int:
        """The bytes of a stage that go to Tensor Memory: scales and metadata."""
        return sum(self.scale_bytes) + self.metadata_columns * LANES * CELL // 8

    @property
    def metadata_columns(self) -> int:
        """The columns of a stage's metadata; 0 without a compressed A."""
        inst = self.instruction
        return inst.operand("K").registers * self.steps // inst.index_sets() if inst.sparse else 0

    @property
    def padded(self) -> bool:
        """Whether elements of A or B are padded on the way to shared memory."""
        return bool(self.a.packed or self.b.packed)

    @property
    def sum_columns(self) -> int:
        """The columns of Tensor Memory that hold a tile's sums."""
        return self.instruction.operand("D").registers

    @property
    def halves(self) -> bool:
        """Whether D is in 16 of each 32 lanes, whose columns two threads share (tcgen05.ld.16x32bx2)."""
        return "half" in self.instruction.operand("D").layout.places["lane"]

    @property
    def lane_columns(self) -> int:
        """The columns that a thread stores."""
        return self.sum_columns // (2 if self.halves else 1)

    @property
    def scale_columns(self) -> tuple[int, int]:
        """The columns that hold A's and B's scales of a stage."""
        return self.scale_bytes[0] // 128, self.scale_bytes[1] // 128

    @property
    def cell_columns(self) -> int:
        """The columns of a stage's scales and metadata."""
        return sum(self.scale_columns) + self.metadata_columns

    @property
    def columns(self) -> int:
        """The columns that are allocated: a power of two."""
        used = self.accumulators * self.sum_columns + self.stages * self.cell_columns
        return max(LEAST_COLUMNS, 1 << (used - 1).bit_length())

    @property
    def shared(self) -> int:
        """The bytes of dynamic shared memory of a launch."""
        return self.stages * self.stage_bytes + ALIGNMENT

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return THREADS

    @property
    def name(self) -> str:
        """The name of the kernel."""
        inst, types = self.instruction, self.instruction.types
        shape = f"m{inst.m}n{inst.n}k{inst.k}_{types['D']}_{types['A']}_{types['B']}"
        return f"gemm_{kernel_name(inst)}_{shape}{name_ending(self)}"

    @property
    def reduce_name(self) -> str:
        """The name of the kernel that adds the parts of K."""
        return f"{self.name}_reduce"

    def blocks(self, m: int, n: int) -> int:
        """The blocks of a launch that has one for each tile; a smaller multiple of the group does as well."""
        return tile_rows(m, self.instruction.m, self.groups) * -(-n // self.instruction.n) * self.group

    def aligned(self, lda: int, ldb: int) -> bool:
        """Whether TMA takes matrices with these leading dimensions."""
        return not (lda % multiple(self.a) or ldb % multiple(self.b))

    def scale_box(self, name: str) -> tuple[int, int]:
        """The box of the tensor map of the scales of A or B: rows of tiles, and words of 8 bytes."""
        return (1 if name == "A" else self.instruction.n // SCALE_ROWS), self.scale_tiles * SCALE_BYTES // 8


def plan(
    instruction: Instruction, order_a: str, order_b: str, stages: int | None = None, scales: BlockScales | None = None
) -> TensorMemoryPlan:
    """The sizes of a kernel around a tcgen05.mma.

    Args:
        scales: those along K, for which a thread keeps totals.

    Raises:
        Error: a form, an order or a shape that no kernel is generated for; stages that do not fit.

    >>> import mmacalc
    >>> mma = mmacalc.instruction("B200", "tcgen05.mma.cta_group::2.kind::f16").shaped(m=256, n=256)
    >>> found = plan(mma, "row", "col")
    >>> found.a.extent, found.b.extent, found.a.depth, found.stages, found.accumulators
    (128, 128, 64, 6, 2)
    """
    inst = _with_shape(instruction, scales)
    form = inst.form
    _check(inst, order_a, order_b)
    bits = {name: 8 if form.kind.endswith("f8f6f4") else inst.format(name).bits for name in "AB"}
    a = side(inst, "A", inst.m // form.cta_group, order_a == "row", bits["A"])
    b = side(inst, "B", inst.n // form.cta_group, order_b == "col", bits["B"])
    found = checked_totals(checked_scales(TensorMemoryPlan(inst, a, b, 1, 1), scales))
    static = STATIC_BYTES + 8 * scale_columns(found)
    most = (SHARED_BYTES - ALIGNMENT - static) // found.stage_bytes
    if cells := found.cell_columns:
        most = min(most, (COLUMNS - found.sum_columns) // cells)
    if stages is not None and not 2 <= stages <= most:
        raise Error(f"stages of {inst.name} are 2 to {most} (in {SHARED_BYTES} bytes); got {stages}")
    found = found._replace(stages=stages or min(MOST_STAGES, most))
    left = COLUMNS - found.stages * cells
    return found._replace(accumulators=min(2, left // found.sum_columns))


def _with_shape(inst: Instruction, scales: BlockScales | None) -> TensorMemoryInstruction:
    """The instruction with its shape, the largest where none was named; with scales along K half as wide."""
    from ..model.tensor_memory import TensorMemoryInstruction

    if not isinstance(inst, TensorMemoryInstruction):
        raise Error(f"{inst.name} multiplies nothing; a GEMM is generated around tcgen05.mma")
    return inst.shaped(m=inst.m, n=inst.n // 2 if scales and "n" not in inst.given else inst.n)


def _check(inst: TensorMemoryInstruction, order_a: str, order_b: str) -> None:
    """Refuse what no kernel is generated for.

    Raises:
        Error: with what is generated instead.
    """
    form = inst.form
    if form.kind not in INPUT_CODES:
        raise Error(f"the types of kind::{form.kind} are not published: no GEMM is generated around {inst.name}")
    if form.sparse:
        inst.operand("K")  # or no source says where metadata of this M are
        if inst.m < LANES:
            raise Error(
                f"the place of the metadata of {inst.name} with M = {inst.m} is known from an atom of CUTLASS alone, "
                "which it does not use: a GEMM is generated with M = 128"
            )
    turned = [name for name, along in (("A", order_a == "row"), ("B", order_b == "col")) if not along]
    if turned and form.kind in ("tf32", "mxf4", "mxf4nvf4"):
        why = ", or in a swizzle of 32-byte atoms, which is not generated" if form.kind == "tf32" else ""
        raise Error(
            f"kind::{form.kind} takes A and B with neighbours along k in memory{why}: use order_a='row', "
            f"order_b='col'; got the other order of {' and '.join(turned)}"
        )
    if d_letter(form, inst.m) not in "ABDEFG":
        raise Error(f"D of {inst.name} with M = {inst.m} is in no layout that a GEMM is generated for")
    if inst.scaled and (inst.m // form.cta_group != SCALE_ROWS or inst.n % SCALE_ROWS):
        raise Error(
            f"scales are copied 128 rows at a time: a GEMM around {inst.name} has M = {SCALE_ROWS * form.cta_group} "
            f"and N = 128 or 256; got M = {inst.m}, N = {inst.n}"
        )
    for name, order, extent in (("A", order_a == "row", inst.m), ("B", order_b == "col", inst.n)):
        own, bits = extent // form.cta_group, inst.format(name).bits
        other = f"order_{name.lower()}='{'row' if name == 'A' else 'col'}'"
        if not order and form.kind.endswith("f8f6f4") and bits < 8 and own % PADDED_ROW:
            raise Error(
                f"{name} of {inst.name} has {own} elements of {bits} bits in a row of memory, which is copied "
                f"{PADDED_ROW} at a time: use {other}, or an M or N of which each block has as many"
            )
        if not order and own * bits // 8 % 16:
            raise Error(
                f"{name} of {inst.name} has {own * bits // 8} bytes in a row of memory, which is copied 16 bytes at a "
                f"time: use {other}, or an N of which each block has 16 bytes"
            )
