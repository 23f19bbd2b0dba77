"""fragment, fill_fragment, load, store, mma_sync: rocWMMA's functions, on the wave that calls them.

Source: rocWMMA API guide, "rocWMMA API functions". Sub-tiles and leading dimensions are counted in elements, as there.
"""

from __future__ import annotations

from functools import lru_cache
from operator import index

import numpy as np

from ..base.errors import Error
from ..kernels.memory import Pointer
from ..kernels.waves import current_wave
from .fragments import Fragment, Plan, Product
from .geometry import memory_shape
from .support import check_fragment, check_multiply, check_target
from .types import CONTEXTS, LAYOUTS, RUNTIME_LAYOUTS, DataType, data_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from ..base.arrays import Array
    from ..model import Architecture
    from .geometry import Blocks, MemoryShape

    Share = tuple[int | None, int | None, int | None, str]  # waveIndex, waveCount, splitCount, assignment

__all__ = [
    "fill_fragment",
    "fragment",
    "load_matrix_coop_sync",
    "load_matrix_sync",
    "mma_sync",
    "store_matrix_coop_sync",
    "store_matrix_sync",
    "synchronize_workgroup",
]

ASSIGNMENTS = ("round robin", "contiguous")


def fragment(context: str, BlockM: int, BlockN: int, BlockK: int, type: Any, layout: str | None = None) -> Fragment:
    """`fragment<MatrixT, BlockM, BlockN, BlockK, DataT, DataLayout>`: a block of a matrix, spread over the wave.

    Args:
        context: matrix_a (BlockM x BlockK), matrix_b (BlockK x BlockN) or accumulator (BlockM x BlockN).
        BlockM, BlockN, BlockK: 16 or 32 for M and N; of a macro tile, M of matrix_a or N of matrix_b is several times
            that. Macro tiles are loaded and stored, usually cooperatively, and not multiplied.
        type: a data type of `mmacalc.rocwmma` such as float16_t, its name, or a NumPy type.
        layout: row_major or col_major; None for an accumulator whose layout is given when it is loaded.

    Raises:
        Error: sizes, type or architecture that are not in the support table (what rocWMMA asserts at compile time).
    """
    wave = current_wave("fragment")
    check_target(wave.architecture, wave.target)
    if wave.size != wave.architecture.waves[0]:
        raise Error(
            f"fragment: rocWMMA has wave{wave.architecture.waves[0]} on {wave.target}; this wave has {wave.size} lanes"
        )
    if context not in CONTEXTS:
        raise Error(f"fragment: the context is {context!r}; it is one of {', '.join(CONTEXTS)}")
    if layout is not None and layout not in LAYOUTS:
        raise Error(f"fragment: the layout is {layout!r}; it is row_major, col_major, or left out for an accumulator")
    try:
        blocks = (index(BlockM), index(BlockN), index(BlockK))
    except TypeError:
        raise Error(f"fragment: block sizes are whole numbers; got {BlockM!r}, {BlockN!r}, {BlockK!r}") from None
    kind = data_type(type, wave.architecture)
    check_fragment(wave.architecture, context, blocks, kind)
    return Fragment(wave, context, blocks, kind, layout)


def fill_fragment(frag: Fragment, value: ArrayLike) -> None:
    """Set every element of a fragment to a value, converted to its type.

    Raises:
        Error: the value is not a single number.
    """
    _fragment("fill_fragment", frag)
    try:
        with np.errstate(all="ignore"):
            frag.fill(np.full(frag.data.shape, np.asarray(value).astype(frag.dtype).reshape(())))
    except (TypeError, ValueError):
        raise Error(f"fill_fragment: {frag!r} is filled with one number; got {value!r}") from None


def load_matrix_sync(frag: Fragment, data: Pointer | Array, ldm: int, layout: str | None = None) -> None:
    """Load a fragment from global memory or LDS.

    Args:
        frag: the fragment, which has a layout; or an accumulator without one.
        data: where its first element is, a pointer or an array. ldm: the leading dimension, in elements.
        layout: mem_row_major or mem_col_major, for an accumulator without a layout.

    Raises:
        Error: another element type, out of bounds, a layout missing or given twice.
    """
    call = "load_matrix_sync"
    pointer, shape = _access(call, frag, data, ldm, layout)
    pointer.check(call, shape.places, shape.least, shape.most, store=False)
    frag.fill(pointer.read(shape.places, shape.places.size, shape.places))


def store_matrix_sync(data: Pointer | Array, frag: Fragment, ldm: int, layout: str | None = None) -> None:
    """Store a fragment to global memory or LDS; same arguments and errors as `load_matrix_sync`."""
    call = "store_matrix_sync"
    pointer, shape = _access(call, frag, data, ldm, layout)
    pointer.check(call, shape.places, shape.least, shape.most, store=True)
    pointer.write(shape.places, frag.values(call), shape.places.size, shape.places)


def load_matrix_coop_sync(
    frag: Fragment,
    data: Pointer | Array,
    ldm: int,
    waveIndex: int | None = None,
    waveCount: int | None = None,
    splitCount: int | None = None,
    *,
    assignment: str = "round robin",
) -> None:
    """Load a fragment together with other waves, each its part of the work.

    The fragment is cut into splitCount work items, which are dealt to waves 0 to waveCount - 1. Afterwards each wave
    has only its own items; `store_matrix_coop_sync` with the same numbers stores them.

    Args:
        frag, data, ldm: see `load_matrix_sync`.
        waveIndex: this wave's number among those that work together; one from waveCount up has no work.
        waveCount: how many work together. splitCount: the number of work items; waveCount if left out.
            With all three left out: waveCount is the workgroup's number of waves in y for matrix_a and in x for
            matrix_b, and waveIndex the wave's coordinate there.
        assignment: "round robin", as the API guide says, or "contiguous", as the 1.6 source does. Which wave holds
            which item cannot be observed after a matching store.
    """
    call, share = "load_matrix_coop_sync", (waveIndex, waveCount, splitCount, assignment)
    pointer, mine, places = _part(call, frag, data, ldm, share, store=False)
    if mine.any():
        frag.fill_part(mine, pointer.read(places[mine], mine.sum(), np.where(mine, places, -1)))


def store_matrix_coop_sync(
    data: Pointer | Array,
    frag: Fragment,
    ldm: int,
    waveIndex: int | None = None,
    waveCount: int | None = None,
    splitCount: int | None = None,
    *,
    assignment: str = "round robin",
) -> None:
    """Store a fragment together with other waves, each its part; same arguments as `load_matrix_coop_sync`."""
    call, share = "store_matrix_coop_sync", (waveIndex, waveCount, splitCount, assignment)
    pointer, mine, places = _part(call, frag, data, ldm, share, store=True)
    if mine.any():
        pointer.write(places[mine], frag.values(call, mine)[mine], mine.sum(), np.where(mine, places, -1))


def _access(
    call: str, frag: Fragment, data: Pointer | Array, ldm: int, layout: str | None
) -> tuple[Pointer, MemoryShape]:
    """The pointer and the places that a load or store means."""
    _fragment(call, frag)
    pointer = frag.wave.launch.memory.pointer(data) if isinstance(data, np.ndarray) else data
    if not isinstance(pointer, Pointer):
        raise Error(f"{call}: the data is {type(data).__name__}; it takes a pointer or a NumPy array")
    if pointer.dtype != frag.dtype:
        raise Error(
            f"{call}: {pointer.name} holds {pointer.dtype}, but {frag!r} is loaded from and stored to {frag.dtype}"
        )
    pointer = pointer.same_in_all_lanes(call)
    try:
        ldm = index(ldm)
    except TypeError:
        raise Error(f"{call}: the leading dimension is {ldm!r}; it takes a whole number of elements") from None
    chosen = _layout(call, frag, layout)
    if (chosen, ldm) not in frag.shapes:
        architecture, itemsize = frag.wave.architecture, frag.dtype.itemsize
        shape = memory_shape(architecture, frag.context, frag.blocks, itemsize, chosen == "row_major", ldm)
        frag.shapes[chosen, ldm] = shape
    return pointer, frag.shapes[chosen, ldm]


def _part(
    call: str, frag: Fragment, data: Pointer | Array, ldm: int, share: Share, store: bool
) -> tuple[Pointer, Array, Array]:
    """The pointer, which elements a wave has to load or store, and the places of all, of which those are checked."""
    pointer, shape = _access(call, frag, data, ldm, None)
    mine = _share(call, frag, *share)
    places = shape.places[mine]
    if places.size:
        pointer.check(call, places, int(places.min()), int(places.max()), store=store)
    return pointer, mine, shape.places


def _layout(call: str, frag: Fragment, layout: str | None) -> str:
    if layout is None:
        if frag.layout is None:
            more = ", or is given mem_row_major or mem_col_major" if frag.context == "accumulator" else ""
            raise Error(f"{call}: {frag!r} has no layout; it needs one, row_major or col_major{more}")
        return frag.layout
    if layout not in RUNTIME_LAYOUTS:
        raise Error(f"{call}: the layout is {layout!r}; it is mem_row_major or mem_col_major")
    if frag.context != "accumulator" or frag.layout is not None:
        raise Error(f"{call}: a run-time layout is for accumulators without a layout of their own; this is {frag!r}")
    return RUNTIME_LAYOUTS[layout]  # type: ignore[index]


def _share(call: str, frag: Fragment, wave: int | None, waves: int | None, split: int | None, assignment: str) -> Array:
    """Which elements of a fragment are this wave's work: a mask of shape (lanes, elements)."""
    if wave is None and waves is None and split is None:
        wave, waves = _default_share(call, frag)
    elif wave is None or waves is None:
        raise Error(f"{call}: waveIndex and waveCount are given together")
    split = waves if split is None else split
    if assignment not in ASSIGNMENTS:
        raise Error(f"{call}: the assignment is {assignment!r}; it is {' or '.join(map(repr, ASSIGNMENTS))}")
    try:
        return _mask(frag.data.shape, index(wave), index(waves), index(split), assignment)
    except TypeError:
        raise Error(f"{call}: waveIndex, waveCount and splitCount are whole numbers") from None
    except ValueError as error:
        raise Error(f"{call}: {error}") from None


def _default_share(call: str, frag: Fragment) -> tuple[int, int]:
    wave = frag.wave
    if frag.context == "accumulator":
        raise Error(f"{call}: an accumulator has no waves to share with by itself; give waveIndex and waveCount")
    if wave.blockDim.x % wave.size:
        raise Error(f"{call}: blockDim.x is {wave.blockDim.x}; it must be a multiple of the wave size {wave.size}")
    if frag.context == "matrix_a":
        return wave.first_threadIdx.y, wave.blockDim.y
    return wave.first_threadIdx.x // wave.size, wave.blockDim.x // wave.size


@lru_cache(maxsize=256)
def _mask(shape: tuple[int, int], wave: int, waves: int, split: int, assignment: str) -> Array:
    if wave < 0 or waves < 1 or split < 1:
        raise ValueError(f"waveIndex is {wave}, waveCount {waves} and splitCount {split}; they are at least 0, 1 and 1")
    elements = shape[0] * shape[1]
    item = np.arange(elements).reshape(shape[::-1]).T * split // elements
    owner = item % waves if assignment == "round robin" else item * waves // split
    mask: Array = owner == wave
    mask.flags.writeable = False
    return mask


def mma_sync(d: Fragment, a: Fragment, b: Fragment, c: Fragment) -> None:
    """D = A B + C on fragments.

    Args:
        d: the accumulator that receives the product. a, b: the fragments of A and B. c: the accumulator that is added;
            it may be d.

    Issues BlockK / K instructions of the architecture, K being the instruction's. With f16 or bf16 accumulators, CDNA
    accumulates the block in f32 and converts at its end.

    Raises:
        Error: fragments of the wrong context, of sizes or types that do not go together, or used before they are
            filled.
    """
    call = "mma_sync"
    wave = current_wave(call)
    for name, frag, context in (
        ("d", d, "accumulator"),
        ("a", a, "matrix_a"),
        ("b", b, "matrix_b"),
        ("c", c, "accumulator"),
    ):
        if not isinstance(frag, Fragment) or frag.wave is not wave:
            _fragment(call, frag)
        if frag.context != context:
            raise Error(f"{call}: {name} is {frag!r}; it takes a fragment of {context}")
    if not (d.blocks == a.blocks == b.blocks == c.blocks):
        raise Error(f"{call}: the blocks differ: d is {d!r}, a {a!r}, b {b!r}, c {c!r}")
    if a.type != b.type or c.type != d.type:
        which = "a and b" if a.type != b.type else "c and d"
        raise Error(f"{call}: the types of {which} differ: d is {d!r}, a {a!r}, b {b!r}, c {c!r}")
    for frag in (a, b, c):
        frag.require(call)
    plan = _plan(call, wave.architecture, a.type, d.type, d.blocks)
    wave.issue(plan.inst, plan.steps, plan.fields)
    d.attach(Product(plan, a.codes(), b.codes(), c.addend()))


@lru_cache(maxsize=256)
def _plan(call: str, architecture: Architecture, kind: DataType, compute: DataType, blocks: Blocks) -> Plan:
    try:
        check_multiply(architecture, blocks, kind, compute)
    except Error as error:
        raise Error(f"{call}: {error}") from None
    return Plan(architecture, kind, compute, blocks)


def synchronize_workgroup() -> None:
    """Wait until every wave of the workgroup has come here."""
    current_wave("synchronize_workgroup").synchronize()


def _fragment(call: str, frag: object) -> None:
    if not isinstance(frag, Fragment):
        raise Error(f"{call}: a {type(frag).__name__} is given where a fragment belongs")
    if frag.wave is not current_wave(call):
        raise Error(f"{call}: {frag!r} belongs to another wave ({frag.wave})")
