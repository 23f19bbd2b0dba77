"""What kernels that copy by TMA share: tensor maps, mbarriers, the copies of a stage, and matrix descriptors of it.

Elements of 4 and 6 bits that tcgen05.mma takes beside those of 8 are packed in memory, and 16 of them are padded to 16
bytes in a stage: a box has 128, and an mbarrier counts the bytes in memory (CUTLASS, TmaTransactionBytes).

A side lies in a stage as its swizzle has it: K-major with 128 bytes of k in a row, or as memory has it (MN-major), in
panels as wide as the swizzle. A stage has 128 bytes of k of A; those of a compressed A stand for twice as many k, which
are two panels of B. A tensor map of its matrix has the rows of memory; what the matrix does not have arrives
as zeros.

Sources: PTX ISA 9.1, sections 9.7.9.27 (cp.async.bulk.tensor), 9.7.13.15 (mbarrier); CUDA Driver API,
cuTensorMapEncodeTiled.
"""

from __future__ import annotations

from ..families.shared_memory import PADDED_ROW, SWIZZLES, panel_offsets
from ..memory_access.swizzles import MODES
from .gemm_staging import ALIGNMENT, SHARED_BYTES, element_of
from .staging import Side, compression
from .wgmma import ROWS, widest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..model import Instruction

__all__ = [
    "ALIGNMENT", "ARRIVE", "BEGIN_BARRIER", "COPY_BOX", "MBARRIERS", "ROW_BYTES", "SHARED_BYTES",
    "TENSOR_MAP", "VECTOR", "WAIT_FOR_BARRIER", "box", "copied_bytes", "copies", "copy_boxes", "copy_lines",
    "map_comments", "multiple", "offsets", "side", "step_bytes", "swizzle_name",
]  # fmt: skip

ROW_BYTES = 128  # of k in a stage: the widest swizzle
VECTOR = 16  # bytes: what rows of memory are multiples of
MOST_ROWS = 256  # of a box

TENSOR_MAP = """\
struct __attribute__((aligned(64))) tensor_map { unsigned long long word[16]; };  // CUtensorMap
"""

ARRIVE = """\
static __device__ void arrive(unsigned int barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(barrier) : "memory");
}
"""

BEGIN_BARRIER = """\
static __device__ void begin(unsigned int barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(barrier), "r"(arrivals) : "memory");
}

"""
WAIT_FOR_BARRIER = """\
// Waits until the phase of that parity has ended.
static __device__ void wait(unsigned int barrier, int parity) {
    asm volatile("{ .reg .pred ended;\\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\\n"
                 "@!ended bra again; }" : : "r"(barrier), "r"(parity) : "memory");
}
"""
EXPECT = """\
// Arrives, and lets the phase end only when that number of bytes has been copied.
static __device__ void arrive_and_expect(unsigned int barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(barrier), "r"(bytes) : "memory");
}

"""
MBARRIERS = BEGIN_BARRIER + EXPECT + WAIT_FOR_BARRIER

COPY_BOX = """\
// Starts to copy a box of a matrix: x counts elements along a row of memory, y rows.
static __device__ void copy_box(unsigned int to, const tensor_map *map, int x, int y, unsigned int barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];"
                 : : "r"(to), "l"(map), "r"(x), "r"(y), "r"(barrier) : "memory");
}
"""


def copy_boxes(matrices: Iterable[str]) -> str:
    """The functions that copy a box of a matrix, and of one of several in a map.

    Args:
        matrices: what `copy_lines` is called with, "" for a matrix that is alone in its map.
    """
    return "\n".join([_copy_box(several) for several in sorted({bool(matrix) for matrix in matrices})])


def _copy_box(several: bool) -> str:
    if not several:
        return COPY_BOX
    changes = (
        ("y rows.", "y rows, z matrices."), ("int x, int y, ", "int x, int y, int z, "), (".2d.", ".3d."),
        ("{%2, %3}], [%4]", "{%2, %3, %4}], [%5]"), ('"r"(y), ', '"r"(y), "r"(z), '),
    )  # fmt: skip
    found = COPY_BOX
    for old, new in changes:
        assert found.count(old) == 1
        found = found.replace(old, new)
    return found


def side(inst: Instruction, name: str, extent: int, along_k: bool, bits: int = 0) -> Side:
    """A or B in a stage of 128 bytes of k of A.

    Args:
        extent: rows of A, columns of B. bits: of an element in memory, if it lies in a wider container.
    """
    own = inst.format(name).bits
    bits, element, packed = bits or own, element_of(inst, name), own if own < bits else 0
    panels = compression(inst, "A") // compression(inst, name)
    depth, panel = panels * ROW_BYTES * 8 // bits, ROW_BYTES if panels > 1 else 0
    if along_k:
        return Side(name, extent, depth, element, bits, True, False, MODES["128B"], panel, packed=packed)
    mode = widest(extent * bits // 8)
    return Side(name, extent, depth, element, bits, False, False, MODES[mode.name], mode.row_bytes, packed=packed)


def swizzle_name(given: Side) -> str:
    """The name of a side's swizzle, as `mmacalc.tensor_map` takes it."""
    return next(name for name, swizzle in MODES.items() if swizzle == given.swizzle)


def box(given: Side) -> tuple[int, int]:
    """The (rows of memory, elements) of one tensor copy; of elements below a byte the bytes.

    A square is copied of a side that is turned over in a stage: it has as many k as elements of 128 bytes.
    """
    if given.turned:
        rows = columns = ROW_BYTES // given.bytes
    elif given.rows_of_k:
        rows, columns = min(given.extent, MOST_ROWS), ROW_BYTES * 8 // max(8, given.bits)
    else:
        rows, columns = given.depth, given.panel * 8 // given.bits
    return rows, columns * (given.packed or 8) // 8


def copied_bytes(given: Side) -> int:
    """The bytes of a stage in memory, which an mbarrier counts."""
    return given.tile.bytes * (given.packed or 8) // 8


def copies(given: Side) -> int:
    """The tensor copies of a stage."""
    rows, columns = box(given)
    return copied_bytes(given) * 8 // (rows * columns * (8 if given.packed else max(8, given.bits)))


def multiple(given: Side) -> int:
    """What the leading dimension of a side's matrix is a multiple of, in elements."""
    return PADDED_ROW if given.packed else VECTOR * 8 // given.bits


def map_comments(sides: tuple[Side, ...]) -> Iterator[str]:
    """The boxes and swizzles of the tensor maps."""
    for given in sides:
        rows, columns = box(given)
        of = "bytes" if given.bits < 8 else "elements"
        mode = swizzle_name(given)
        if given.packed:
            columns = PADDED_ROW
            kind = f"CU_TENSOR_MAP_DATA_TYPE_16U{given.packed}_ALIGN16B"
            yield f"// Elements of {given.name} have {given.packed} bits in memory, one behind the other: {kind}."
        yield f"// Map of {given.name}: rows as memory has them; box {rows} rows of {columns} {of}, swizzle {mode}."


def copy_lines(given: Side, first: str, matrix: str = "", stands_for: int = 1) -> Iterator[str]:
    """The tensor copies of a side into the stage `stage`, for the k from `k` on, completed by `barrier`.

    Args:
        first: the first row of A, or column of B, as C text. matrix: its number in the map, "" where it is alone.
        stands_for: the k of an element, more than 1 of a compressed A.
    """
    barrier = f"{matrix}, barrier" if matrix else "barrier"
    letter, count = given.name.lower(), copies(given)
    columns = PADDED_ROW if given.packed else box(given)[1]
    several = count > 1 or not given.rows_of_k
    panel = f" + panel * {columns}" * several
    each = stands_for * (max(1, 8 // given.bits) if given.rows_of_k else 1)
    at = f"k / {each}" if each > 1 else "k"
    x, y = (f"{at}{panel}", first) if given.along_k else (f"{first}{panel}", at)
    across = given.extent // columns
    if given.turned and count > across:  # squares of the second 128 bytes of k follow those of the first
        x, y = f"{first} + panel % {across} * {columns}", f"{at} + panel / {across} * {columns}"
    to = f"{letter}_stages + stage * {given.name}_BYTES" + f" + panel * {given.tile.bytes // count}" * several
    if several:
        of = f"{columns} k" if given.turned else "all rows" if given.rows_of_k else "all k"
        yield f"for (int panel = 0; panel < {count}; ++panel)  // {columns} neighbours in memory, of {of}"
    yield f"{'    ' * several}copy_box({to}, &{given.name}, {x}, {y}, {barrier});"


def offsets(given: Side) -> tuple[int, int]:
    """The leading and the stride dimension byte offset of a side's descriptor."""
    if given.rows_of_k:
        return VECTOR, ROWS * ROW_BYTES
    return panel_offsets(SWIZZLES[swizzle_name(given)].row_bytes, given.depth)


def step_bytes(given: Side, k: int, step: int) -> int:
    """The bytes from the beginning of a tile to what the instruction of a step along k reads.

    Args:
        k: of an instruction, in elements of the side.
    """
    if not given.rows_of_k:
        return step * k * given.panel
    byte, panel = step * k * given.bits // 8, given.panel or given.tile.row_bytes
    return byte // panel * given.tile.rows * panel + byte % panel
