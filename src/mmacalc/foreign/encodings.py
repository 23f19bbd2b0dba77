"""Triton's layouts: from an encoding and a tensor's shape to a linear layout.

An encoding is a kind and its parameters, under the names that Triton's MLIR has for them; `ttgir` reads them from MLIR,
`gluon` from Python. Each rule below is that of Triton's LinearLayoutConversions.cpp, as bases: registers, lanes, warps
and blocks of a distributed layout; offsets, in elements, of one in shared memory. Compared with Triton 3.9's own
`to_linear_layout` (tests/oracles/triton_encodings.py).
"""

from __future__ import annotations

from ..base.checks import shown
from ..base.errors import Error, did_you_mean
from ..base.records import Record
from ..layout.linear import LinearLayout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

__all__ = ["Encoding", "axes_of", "linear"]

PLACES = ("register", "lane", "warp", "block")
SWIZZLES = {128: (1, 8), 64: (2, 4), 32: (4, 2), 0: (1, 1)}
"""Of nvmma_shared, by the bytes of its swizzle: perPhase and maxPhase."""


class Encoding(Record):
    """A kind of layout with its parameters, such as amd_mfma and {"version": 3, "warpsPerCTA": (2, 2) ...}."""

    kind: str
    parameters: Mapping[str, Any]

    def _check(self) -> None:
        if self.kind not in KINDS:
            raise Error(
                f"'{self.kind}' is not a layout of Triton that is known here.{did_you_mean(self.kind, KINDS)} "
                f"Known: {', '.join(KINDS)}"
            )

    def get(self, name: str, *default: Any) -> Any:
        """A parameter; of one that is missing the default, if there is one.

        Raises:
            Error: it is missing, and has no default.
        """
        if name in self.parameters:
            return self.parameters[name]
        if default:
            return default[0]
        given = ", ".join(self.parameters) or "none"
        raise Error(f"#ttg.{self.kind} has no {name}; its parameters here are {given}")

    @property
    def shared(self) -> bool:
        """Whether it is of shared memory."""
        return self.kind in (
            "swizzled_shared",
            "amd_rotating_shared",
            "padded_shared",
            "nvmma_shared",
            "shared_linear",
            "partitioned_shared",
        )

    @property
    def rank(self) -> int:
        """How many dimensions its tensors have."""
        return KINDS[self.kind].rank(self)


def axes_of(rank: int) -> tuple[str, ...]:
    """The names of the dimensions: i and j of two."""
    return ("i", "j") if rank == 2 else ("i",) if rank == 1 else tuple([f"d{at}" for at in range(rank)])


def linear(encoding: Encoding, shape: Sequence[int]) -> LinearLayout:
    """The linear layout of a tensor.

    Raises:
        Error: a size is not a power of two, the tensor has another rank, or a parameter is missing or wrong.

    >>> blocked = Encoding("blocked", {"sizePerThread": (1, 4), "threadsPerWarp": (8, 8), "warpsPerCTA": (4, 1),
    ...                                "order": (1, 0)})
    >>> linear(blocked, (32, 32)).bases["lane"]
    ((0, 4), (0, 8), (0, 16), (1, 0), (2, 0), (4, 0))
    """
    if len(shape) != encoding.rank:
        raise Error(f"#ttg.{encoding.kind} is of {encoding.rank} dimensions; the tensor has {len(shape)}")
    for size in shape:
        if size < 1 or size & (size - 1):
            raise Error(f"the sizes of Triton's tensors are powers of two; got {'x'.join(map(shown, shape))}")
    try:
        return KINDS[encoding.kind].linear(encoding, tuple(shape))
    except Error:
        raise
    except (TypeError, ValueError, IndexError, AttributeError, KeyError):
        given = ", ".join([f"{name} = {shown(value)}" for name, value in encoding.parameters.items()])
        raise Error(f"the parameters of #ttg.{encoding.kind} are not of its form: {given}") from None


# --- parts ---


class _Bases:
    """Bases while they are collected: `add` appends to a place the powers of two of an axis."""

    def __init__(self, rank: int) -> None:
        self.rows: dict[str, list[tuple[int, ...]]] = {place: [] for place in PLACES}
        self.rank = rank

    def add(self, place: str, axis: int | None, count: int, first: int = 1) -> None:
        """`count` values from `first` on along an axis; None: copies."""
        if count < 1 or count & (count - 1):
            raise Error(f"Triton's layouts have powers of two; got {count}")
        for bit in range(count.bit_length() - 1):
            self.rows[place].append(tuple([first << bit if at == axis else 0 for at in range(self.rank)]))

    def fitted(self, shape: Sequence[int], order: Sequence[int], keep: bool = True) -> LinearLayout:
        """On a tensor: see `LinearLayout.fitted`."""
        return _fitted(self.rows, shape, order, "register", keep)


def _fitted(
    rows: Mapping[str, Sequence[tuple[int, ...]]], shape: Sequence[int], order: Sequence[int], place: str,
    keep: bool = False,
) -> LinearLayout:  # fmt: skip
    axes = axes_of(len(shape))
    every = [basis for bases in rows.values() for basis in bases]
    sizes = {axis: 1 << max([basis[at].bit_length() for basis in every], default=0) for at, axis in enumerate(axes)}
    own = LinearLayout(rows, sizes)
    return own.fitted(dict(zip(axes, shape)), [axes[at] for at in order], place, keep)


def _order(rank: int) -> tuple[int, ...]:
    """The last dimension first, as the instructions' layouts repeat."""
    return tuple(reversed(range(rank)))


def _blocks(encoding: Encoding) -> None:
    """Refuse a layout over several CTAs, which is not covered."""
    several = encoding.get("CTAsPerCGA", ())
    layout = encoding.get("CGALayout", encoding.get("CTALayout", ()))
    if any(count > 1 for count in several) or (isinstance(layout, tuple) and any(any(row) for row in layout)):
        raise Error("layouts over several CTAs of a cluster (CGALayout) are not covered")


# --- registers ---


def _blocked(encoding: Encoding, shape: tuple[int, ...], k_axis: int | None = None) -> LinearLayout:
    """Threads of neighbouring elements; with `k_axis`, the operand of a dot without matrix instructions."""
    order = encoding.get("order")
    found = _Bases(len(shape))
    for axis in order:
        found.add("register", axis, shape[axis] if axis == k_axis else encoding.get("sizePerThread")[axis])
    for place, name in (("lane", "threadsPerWarp"), ("warp", "warpsPerCTA")):
        for axis in order:
            before = encoding.get("sizePerThread")[axis]
            if place == "warp":
                before *= encoding.get("threadsPerWarp")[axis]
            found.add(place, None if axis == k_axis else axis, encoding.get(name)[axis], before)
    return found.fitted(shape, order, keep=False)


def _sliced(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    parent, dim = encoding.get("parent"), encoding.get("dim")
    whole = linear(parent, (*shape[:dim], 1, *shape[dim:]))
    found = whole.sliced(axes_of(len(shape) + 1)[dim])
    return found.renamed(**dict(zip(found.extents, axes_of(len(shape)))))


def _linear(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    rows = {place: encoding.get(place, ()) for place in PLACES}
    return _fitted(rows, shape, _order(len(shape)), "register")


def _warps(found: _Bases, encoding: Encoding, tile: Sequence[int], missing: int | None, order: Sequence[int]) -> None:
    """The warps side by side, the axes in `order`; those along a missing axis hold copies."""
    for axis in order:
        found.add("warp", None if axis == missing else axis, encoding.get("warpsPerCTA")[axis], tile[axis])


def _nvidia_mma(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    major = encoding.get("versionMajor")
    found, (m, n) = _Bases(2), encoding.get("instrShape")[-3:][:2]
    if major not in (2, 3):
        raise Error(f"#ttg.nvidia_mma of version {major} is not covered: 2 (mma.sync) and 3 (wgmma) are")
    found.add("register", 1, 2)
    found.add("register", 0, 2, 8)
    if major == 3:
        found.add("register", 1, n // 8, 8)
    found.add("lane", 1, 4, 2)
    found.add("lane", 0, 8)
    _warps(found, encoding, (m, n), None, _warp_order(encoding))
    return found.fitted(shape, (1, 0))


def _warp_order(encoding: Encoding) -> tuple[int, ...]:
    """The axes of the warps, the fastest first: of a warpgroup's the rows."""
    return (0, 1) if encoding.kind == "nvidia_mma" and encoding.get("versionMajor") == 3 else (1, 0)


def _amd_mfma(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    found, (m, n) = _Bases(2), encoding.get("instrShape")[:2]
    row, column = (1, 0) if encoding.get("isTransposed") else (0, 1)
    high = 1 if encoding.get("elementBitWidth", 32) == 64 else 4
    rows, columns = (n, m) if encoding.get("isTransposed") else (m, n)
    lanes = min(rows // high, 64 // columns)
    found.add("register", row, high)
    found.add("lane", column, columns)
    found.add("lane", row, lanes, high)
    found.add("register", row, rows // (high * lanes), high * lanes)
    return _mfma_tiles(found, encoding, shape, (m, n), None)


def _mfma_tiles(
    found: _Bases, encoding: Encoding, shape: Sequence[int], tile: tuple[int, int], k_axis: int | None
) -> LinearLayout:
    """The instructions of a warp beside each other, the warps around them, and the repetitions, along n and then m."""
    near, warps = encoding.get("tilesPerWarp", (1, 1)), encoding.get("warpsPerCTA")
    order = [axis for axis in (1, 0) if axis != k_axis]
    if k_axis is not None:
        found.add("register", k_axis, max(1, shape[k_axis] // tile[k_axis]), tile[k_axis])
    sides = [tile[axis] * near[axis] for axis in (0, 1)]
    for axis in (1, 0):
        found.add("warp", None if axis == k_axis else axis, warps[axis], sides[axis])
    for axis in order:
        found.add("register", axis, near[axis], tile[axis])
        covered = sides[axis] * warps[axis]
        found.add("register", axis, max(1, shape[axis] // covered), covered)
    return found.fitted(shape, (1, 0))


def _amd_wmma(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    version = encoding.get("version")
    found = _Bases(2)
    row, column = (1, 0) if encoding.get("isTransposed", encoding.get("isTranspose", False)) else (0, 1)
    if version == 1:
        found.add("register", row, 8, 2)
        found.add("lane", column, 16)
        found.add("lane", row, 2)
    else:
        found.add("register", row, 8)
        found.add("lane", column, 16)
        found.add("lane", row, 2, 8)
    _wmma_tiles(found, encoding, (16, 16), None)
    return found.fitted(shape, (1, 0))


def _wmma_tiles(found: _Bases, encoding: Encoding, tile: Sequence[int], k_axis: int | None) -> None:
    """Registers and warps of the CTA's tiles, whose bases count instructions."""
    placed = encoding.get("ctaLayout", {})
    warps = placed.get("warp", ())
    if not placed and "warpsPerCTA" in encoding.parameters:
        counts = encoding.get("warpsPerCTA")
        warps = [[1 << bit if at == axis else 0 for at in (0, 1)] for axis in (1, 0)
                 for bit in range(counts[axis].bit_length() - 1)]  # fmt: skip
    for place, rows in (("register", placed.get("register", ())), ("warp", warps)):
        for basis in rows:
            moved = tuple([0 if at == k_axis else value * tile[at] for at, value in enumerate(basis)])
            if any(moved) or place == "warp":
                found.rows[place].append(moved)


def _dot_op(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    parent, operand = encoding.get("parent"), encoding.get("opIdx")
    if operand not in (0, 1):
        raise Error(f"opIdx of #ttg.dot_op is 0 (A) or 1 (B); got {operand}")
    k_axis, width = 1 - operand, encoding.get("kWidth", 0)
    found, other = _Bases(2), operand
    if parent.kind == "blocked":
        return _blocked(parent, shape, k_axis)
    if parent.kind == "nvidia_mma":
        found.add("register", k_axis, width)
        if operand == 0:
            found.add("register", other, 2, 8)
        found.add("register", k_axis, 2, 4 * width)
        found.add("lane", k_axis, 4, width)
        found.add("lane", other, 8)
        m, n = parent.get("instrShape")[-3:][:2]
        _warps(found, parent, (m, n), k_axis, _warp_order(parent))
        return found.fitted(shape, (k_axis, other))
    if parent.kind == "amd_mfma":
        side = parent.get("instrShape")[operand]
        if side not in (16, 32):
            raise Error(f"#ttg.dot_op of an MFMA with {side} rows or columns is not covered: those of 16 and 32 are")
        found.add("register", k_axis, width)
        found.add("lane", other, side)
        found.add("lane", k_axis, 64 // side, width)
        tile = (side, width * 64 // side) if operand == 0 else (width * 64 // side, side)
        return _mfma_tiles(found, parent, shape, tile, k_axis)
    if parent.kind == "amd_wmma":
        found.add("register", k_axis, width)
        found.add("lane", other, 16)
        halves = 1 if parent.get("version") == 1 else 2
        found.add("lane", None if halves == 1 else k_axis, 2, width)
        depth = parent.get("instrShape", (16, 16, 16))[2]
        found.add("register", k_axis, max(1, depth // (halves * width)), halves * width)
        _wmma_tiles(found, parent, (16, 16), k_axis)
        return found.fitted(shape, (k_axis, other))
    raise Error(f"#ttg.dot_op of #ttg.{parent.kind} is not covered")


# --- shared memory ---


def _rows(
    shape: Sequence[int], order: Sequence[int], columns: int, rows: int, phases: Sequence[int], rotating: bool = False
) -> Iterator[tuple[int, ...]]:
    """The bases of the offsets of a tile whose rows are swizzled: columns first, then rows. A rotating swizzle begins
    each run of maxPhase phases with another one."""
    vec, per_phase, most = phases
    fast, slow = order[0], order[1] if len(order) > 1 else None
    for bit in range(columns.bit_length() - 1):
        yield tuple([1 << bit if at == fast else 0 for at in range(len(shape))])
    if slow is None:
        return
    for bit in range(rows.bit_length() - 1):
        run = (1 << bit) // per_phase
        phase = run % most ^ (run // most % most if rotating else 0)
        moved = vec * phase % columns
        yield tuple([1 << bit if at == slow else moved if at == fast else 0 for at in range(len(shape))])


def _swizzled_shared(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    order = encoding.get("order")
    phases = [encoding.get(name) for name in ("vec", "perPhase", "maxPhase")]
    slow = shape[order[1]] if len(order) > 1 else 1
    rows = [*_rows(shape, order, shape[order[0]], slow, phases, encoding.kind == "amd_rotating_shared")]
    return _fitted({"offset": rows, "block": ()}, shape, order, "offset")


def _nvmma_shared(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    width, bits = encoding.get("swizzlingByteWidth"), encoding.get("elementBitWidth")
    if width not in SWIZZLES:
        raise Error(f"swizzlingByteWidth is 0, 32, 64 or 128; got {width}")
    if encoding.get("fp4Padded", False):
        raise Error("#ttg.nvmma_shared with fp4Padded is not covered")
    rank = len(shape)
    order: tuple[int, ...] = (rank - 2, rank - 1) if encoding.get("transposed", False) else (rank - 1, rank - 2)
    order = (*order, *reversed(range(rank - 2)))
    per_phase, most = SWIZZLES[width]
    columns = 8 * width // bits or shape[order[0]]
    rows = [*_rows(shape, order, columns, 8, (128 // bits, per_phase, most))]
    return _fitted({"offset": rows, "block": ()}, shape, (*order[1:], order[0]), "offset")


def _padded_shared(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    rows = encoding.get("offset", None)
    if rows is None:
        return _fitted({"offset": (), "block": ()}, shape, encoding.get("order"), "offset")
    return _fitted({"offset": rows, "block": encoding.get("block", ())}, shape, _order(len(shape)), "offset")


def _partitioned_shared(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    """gfx1250: one axis cut into groups of pieces, of which each partition of the LDS has one of every group.

    A piece lies as `partitionLayout` says; in a partition its groups follow one another. Source: what Triton 3.9 makes
    of it, which leaves the number of the partition out; triton-lang/triton pull request 10145.
    """
    inner, axis = encoding.get("partitionLayout"), encoding.get("partitionDim")
    partitions, groups = encoding.get("numPartitions"), encoding.get("numGroups")
    size, count = shape[axis], partitions * groups
    if partitions < 2 or count & (count - 1) or size % count:
        raise Error(
            f"numPartitions (2 or more) times numGroups is a power of two that divides the axis; got {partitions} "
            f"times {groups} of {size}"
        )
    piece = [size // count if at == axis else extent for at, extent in enumerate(shape)]
    found = linear(inner, piece)
    more = _Bases(len(shape))
    more.add("register", axis, partitions, size // count)
    more.add("lane", axis, groups, size // groups)
    rows = {
        "offset": (*found.bases.get("offset", ()), *more.rows["lane"]), "partition": tuple(more.rows["register"]),
        "block": found.bases.get("block", ()),
    }  # fmt: skip
    return LinearLayout(rows, dict(zip(axes_of(len(shape)), shape)))


def _shared_linear(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    rows = {"offset": encoding.get("offset"), "block": encoding.get("block", ())}
    return _fitted(rows, shape, _order(len(shape)), "offset")


class _Kind(Record):
    """A rule, and where the rank of a layout is found."""

    linear: Callable[[Encoding, tuple[int, ...]], LinearLayout]
    rank: Callable[[Encoding], int]


def _two(encoding: Encoding) -> int:
    return 2


def _basis_rank(encoding: Encoding) -> int:
    for rows in encoding.parameters.values():
        if isinstance(rows, tuple) and rows and isinstance(rows[0], tuple):
            return len(rows[0])
    return len(encoding.get("order", ())) or 2


KINDS: dict[str, _Kind] = {
    "blocked": _Kind(_blocked, lambda one: len(one.get("order"))),
    "slice": _Kind(_sliced, lambda one: one.get("parent").rank - 1),
    "linear": _Kind(_linear, _basis_rank),
    "nvidia_mma": _Kind(_nvidia_mma, _two),
    "amd_mfma": _Kind(_amd_mfma, _two),
    "amd_wmma": _Kind(_amd_wmma, _two),
    "dot_op": _Kind(_dot_op, _two),
    "swizzled_shared": _Kind(_swizzled_shared, lambda one: len(one.get("order"))),
    "amd_rotating_shared": _Kind(_swizzled_shared, lambda one: len(one.get("order"))),
    "nvmma_shared": _Kind(_nvmma_shared, lambda one: one.get("rank", 2)),
    "padded_shared": _Kind(_padded_shared, _basis_rank),
    "shared_linear": _Kind(_shared_linear, _basis_rank),
    "partitioned_shared": _Kind(_partitioned_shared, lambda one: one.get("partitionLayout").rank),
}
"""By kind its rule: an addition is a row."""
