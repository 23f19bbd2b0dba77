"""Copies of tiles of tensors by descriptors between memory and LDS: TENSOR_LOAD_TO_LDS and TENSOR_STORE_FROM_LDS.

A wave gives a descriptor (D#) in two or four groups of scalar registers; EXEC does not matter, and the data pass
through no vector register. Dimension 0 is the innermost one. A tile's elements are consecutive in LDS, dimension 0
first; padding leaves gaps there at regular distances. What is outside of the tensor is loaded as zeros and not stored.

Source: CDNA5 ISA guide (27 July 2026), section 10.11 and tables 61 to 67, as two public readings of it that agree have
them: a chapter on descriptors with citations, and an emulator's tests. Fields, padding and row indices also by Triton
3.9 (TDMUtility.cpp, its launcher's driver.c). Which of bits 30 and 31 means gather: table 62, Triton, CK and AITER's
opus; MLIR's lowering has them the other way round. Repeated tiles: the guide alone.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...base.errors import Error, plural
from ...base.records import TupleRecord
from ..device.memory import gathered, scattered
from .checks import LocalAccess
from .local_barriers import arrived_by_copy
from .memory import Access, ActiveLanes, global_offsets
from .operands import raw_reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from .state import Group

__all__ = ["packed_descriptor", "tensor_access", "tensor_step"]

_GROUPS = (4, 8, 4, 4)
"""Registers of the descriptor's groups."""
_BOUNDS = ((48, 32, 1), (80, 32, 1), (0, 32, 2), (32, 32, 2), (48, 32, 3))
"""First bit, width and group of the tensor's sizes, from dimension 0; elements."""
_TILES = ((112, 16, 1), (128, 16, 1), (144, 16, 1), (112, 16, 2), (80, 16, 3))
_STRIDES = ((160, 48, 1), (208, 48, 1), (64, 48, 2), (0, 48, 3))
"""Of dimensions 1 to 4: elements from one index to the next."""
_TENSOR = 2
"""The type of a tensor's descriptor (bits 126 and 127)."""
_MOST_REPEATS = 255
"""The largest iterate_count that the guide's table gives a meaning."""


class Shape(TupleRecord):
    """What a descriptor says but for where the tile lies: all that decides which elements are copied.

    size: bytes of an element. tile, bounds: of dimensions 0 to 4; a dimension that is not used has 0 in the tile.
    strides: of dimensions 1 to 4. padding: bytes between gaps in LDS and of a gap, or (0, 0). repeats, steps: how often
    the tile is copied, and by how many elements the places in LDS and memory advance. rows: of a gather the row of each
    index, else None.
    """

    size: int
    tile: tuple[int, ...]
    bounds: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[int, int]
    repeats: int
    steps: tuple[int, int]
    rows: tuple[int, ...] | None


class Descriptor(TupleRecord):
    """A descriptor: whether it copies anything, the byte in LDS and the address in memory of its tile; its type, the
    workgroups of the cluster that load it (stores ignore that), and the byte in LDS of the barrier at which it
    arrives when it has ended, or None."""

    copies: bool
    local: int
    address: int
    shape: Shape
    type: int = _TENSOR
    mask: int = 0
    barrier: int | None = None


def tensor_access(name: str) -> Access | None:
    """The access of a copy of a tile; None of other instructions. The bytes of an element are in the descriptor.

    >>> tensor_access("tensor_load_to_lds").to_lds, tensor_access("ds_load_b32")
    (True, None)
    """
    if name not in ("tensor_load_to_lds", "tensor_store_from_lds"):
        return None
    loads = name == "tensor_load_to_lds"
    return Access("tensor", "load" if loads else "store", 1, to_lds=loads)


def tensor_step(instruction: DecodedInstruction, access: Access) -> Callable[[Group], None]:
    """The function of a copy of a tile, of waves whose descriptors may differ."""
    for name in ("th", "scope", "nv", "r128"):  # caches
        instruction.modifiers.get(name)
    readers = [
        [raw_reader(source, number) for number in range(count)] for source, count in zip(instruction.sources, _GROUPS)
    ]

    def run(group: Group) -> None:
        words = [[np.broadcast_to(read(group)[:, 0], (group.count,)).tolist() for read in one] for one in readers]
        found: dict[int, list[tuple[int, Descriptor]]] = {}
        for number, row in enumerate(group.numbers().tolist()):
            descriptor = descriptor_of(tuple([_joined([word[number] for word in one]) for one in words]))
            if descriptor.copies and descriptor.type != _TENSOR:
                _unknown(group, instruction, access, row, descriptor)
            elif descriptor.copies:
                _check_rows(descriptor.shape, access.action)
                if descriptor.mask and access.action == "load":
                    group.batch.multicasts.made(row, instruction, descriptor.mask, descriptor)
                found.setdefault(descriptor.shape.size, []).append((row, descriptor))
        if any(one.barrier is not None for copies in found.values() for _, one in copies):
            group.batch.ordered_lds()
        for size, copies in found.items():
            _copy(group, instruction, access._replace(size=size), copies)
        for row, descriptor in sorted((one for copies in found.values() for one in copies), key=lambda one: one[0]):
            if descriptor.barrier is not None:
                arrived_by_copy(group, row, descriptor.barrier)

    return run


def _joined(words: list[int]) -> int:
    return sum(word << 32 * number for number, word in enumerate(words))


# --- descriptors ---


def _field(groups: tuple[int, ...], first: int, width: int, group: int) -> int:
    return groups[group] >> first & (1 << width) - 1 if group < len(groups) else 0


def descriptor_of(groups: tuple[int, ...]) -> Descriptor:
    """What a descriptor says. groups: two or four, each as one number; those that are missing count as zeros.

    Raises:
        Error: it says something that is not covered, or that no source gives a meaning.
    """
    count, gathers = _field(groups, 0, 2, 0), bool(_field(groups, 31, 1, 0))
    if count > 1 or _field(groups, 2, 9, 0):
        raise _refusal("restores a copy that was interrupted (bits 0 to 10 of its first group are those of 0 or 1)")
    if count == 0:
        return Descriptor(False, 0, 0, _NOTHING)
    barrier = 8 * _field(groups, 32, 16, 1) if _field(groups, 18, 1, 1) else None
    shape = _gathering(groups) if gathers else _dense(groups)
    places = _field(groups, 32, 32, 0), _field(groups, 64, 57, 0)
    kind, mask = _field(groups, 126, 2, 0), _field(groups, 0, 16, 1)
    if barrier is not None and (mask or not shape.tile[0] or kind != _TENSOR):
        raise _refusal("arrives at a barrier in LDS and is shared by workgroups of a cluster, or copies nothing")
    return Descriptor(bool(shape.tile[0]), *places, shape, kind, mask, barrier)


def _refusal(what: str) -> Error:
    return Error(f"a tensor descriptor is not covered that {what}")


_NOTHING = Shape(1, (0,) * 5, (0,) * 5, (0,) * 4, (0, 0), 1, (0, 0), None)


def _dense(groups: tuple[int, ...]) -> Shape:
    """A tile of one to five dimensions, or of one to three that is copied repeatedly."""
    repeated = bool(_field(groups, 19, 1, 1))
    tile = tuple([_field(groups, *place) for place in _TILES])
    repeats, steps = 1, (0, 0)
    if repeated:
        repeats, steps = tile[3] + 1, (_field(groups, 32, 32, 2), _field(groups, 64, 48, 2))
        if tile[3] > _MOST_REPEATS or tile[4]:
            raise _refusal("repeats its tile more than 256 times, or one of more than three dimensions")
        tile = (*tile[:3], 0, 0)
    used = 1 + max(number for number in range(5) if tile[number] or number == 0)
    if tile[0] and not all(tile[:used]):
        raise _refusal(f"has a tile of {tile} elements: a dimension of 0 is unused, and so must be those beyond it")
    shape = Shape(
        1 << _field(groups, 16, 2, 1), tile, tuple([_field(groups, *place) for place in _BOUNDS]),
        tuple([_field(groups, *place) for place in _STRIDES]), _padding(groups), repeats, steps, None,
    )  # fmt: skip
    return _checked(shape)


def _gathering(groups: tuple[int, ...]) -> Shape:
    """Rows of a tensor of two dimensions by their indices, 16 of 16 bits or 8 of 32 bits."""
    bits, columns, count = 32 if _field(groups, 30, 1, 0) else 16, *[_field(groups, *place) for place in _TILES[:2]]
    if count > 256 // bits:
        raise _refusal(f"has {count} row indices of {bits} bits; at most {256 // bits} fit")
    indices = _field(groups, 0, 128, 2) | _field(groups, 0, 128, 3) << 128
    rows = tuple([indices >> bits * number & (1 << bits) - 1 for number in range(count)])
    bounds = tuple([_field(groups, *place) for place in _BOUNDS[:2]])
    if any(row >= bounds[1] for row in rows) and list(rows) != sorted(rows):
        raise _refusal(
            f"has rows beyond its tensor's {bounds[1]} among indices that decrease ({list(rows)}): only where they do "
            "not are such rows left out (ISA guide, section 10.11.3)"
        )
    tile = (columns if count else 0, count, 0, 0, 0)
    shape = Shape(
        1 << _field(groups, 16, 2, 1), tile, (*bounds, 0, 0, 0), (_field(groups, *_STRIDES[0]), 0, 0, 0),
        _padding(groups), 1, (0, 0), rows,
    )  # fmt: skip
    return _checked(shape)


def _padding(groups: tuple[int, ...]) -> tuple[int, int]:
    """Bytes between gaps in LDS and of a gap; (0, 0) without."""
    if not _field(groups, 20, 1, 1):
        return 0, 0
    return 8 << _field(groups, 22, 3, 1), 4 * (_field(groups, 25, 7, 1) + 1)


def _checked(shape: Shape) -> Shape:
    """The shape itself.

    Raises:
        Error: the padding and the tile do not go together.
    """
    if not shape.padding[0]:
        return shape
    row = shape.tile[0] * shape.size
    if row % 4:
        raise _refusal(f"pads rows of {plural(row, 'byte')}; padding is for multiples of 4")
    if shape.repeats > 1 and row * int(np.prod([max(1, one) for one in shape.tile[1:]])) % shape.padding[0]:
        raise _refusal("pads a tile that it repeats and that does not fill its last interval")
    return shape


def _check_rows(shape: Shape, action: str) -> None:
    """Refuse what no source gives a meaning.

    Raises:
        Error: a store to one row of the tensor twice.
    """
    if action == "store" and shape.rows is not None:
        rows = [row for row in shape.rows if row < shape.bounds[1]]
        if twice := {row for row in rows if rows.count(row) > 1}:
            raise _refusal(f"stores to row {min(twice)} twice: no source says which one remains")


def packed_descriptor(
    address: int, size: int, shape: list[int], strides: list[int], tile: list[int], padding: tuple[int, int]
) -> bytes:
    """A descriptor of a dense tile of one to five dimensions, the innermost one last, without its place in LDS.

    Args:
        address: of the tensor, in memory. size: bytes of an element. shape, strides: of the tensor, in elements.
        tile: its shape. padding: bytes of LDS between gaps, a power of two from 8 on, and of a gap, or (0, 0).

    Returns:
        Two groups (48 bytes) up to two dimensions, else four (80 bytes).
    """
    groups = [0] * (2 if len(shape) <= 2 else 4)

    def put(place: tuple[int, int, int], value: int) -> None:
        first, width, group = place
        groups[group] |= (value & (1 << width) - 1) << first

    fields = [((0, 2, 0), 1), ((64, 57, 0), address), ((126, 2, 0), 2), ((16, 2, 1), size.bit_length() - 1)]
    fields += [*zip(_BOUNDS, shape[::-1]), *zip(_TILES, tile[::-1]), *zip(_STRIDES, strides[-2::-1])]
    if all(padding):
        fields += [((20, 1, 1), 1), ((22, 3, 1), padding[0].bit_length() - 4), ((25, 7, 1), padding[1] // 4 - 1)]
    for place, value in fields:
        put(place, value)
    return b"".join([group.to_bytes(4 * words, "little") for group, words in zip(groups, _GROUPS)])


# --- which elements ---


@lru_cache(maxsize=256)
def _elements(shape: Shape, stores: bool) -> tuple[Array, Array, Array]:
    """Of each element of a tile the byte in LDS and in memory from its beginning, and whether it is in the tensor.

    Stores take no notice of padding.
    """
    used = [max(1, one) for one in shape.tile]
    index = np.indices(tuple(reversed(used)), np.int64).reshape(5, -1)[::-1]  # of dimensions 0 to 4
    if shape.rows is not None:
        index[1] = np.array(shape.rows, np.int64)[index[1]]
    inside = np.ones(index.shape[1], np.bool_)
    for place, bound, tile in zip(index, shape.bounds, shape.tile):
        inside &= (place < bound) | (tile == 0)
    elements = index[0] + sum(place * stride for place, stride in zip(index[1:], shape.strides))
    local = np.arange(index.shape[1], dtype=np.int64) * shape.size
    if shape.padding[0] and not stores:
        local = local + local // shape.padding[0] * shape.padding[1]
    again = np.arange(shape.repeats, dtype=np.int64)[:, None] * shape.size
    far, near = (elements * shape.size + again * shape.steps[1]).ravel(), (local + again * shape.steps[0]).ravel()
    return near, far, np.tile(inside, shape.repeats)


class TileElements(ActiveLanes):
    """The elements of tiles in the place of lanes. waves: whose each is, a row of the batch."""

    group: Group
    mask: Array | None
    size: int
    addresses: Array
    waves: Array

    __slots__ = ()

    def __init__(self, group: Group, addresses: Array, size: int, waves: Array) -> None:
        self.group, self.mask, self.size, self.addresses, self.waves = group, None, size, addresses, waves

    def rows(self) -> Array:
        """The wave of each element."""
        return self.waves

    def who(self, place: int) -> tuple[int, None]:
        """The wave of an element; no lane copies it."""
        return int(self.waves[place]), None

    def spread(self, value: Array) -> Array:
        """In which waves something is true of an element."""
        return np.isin(self.group.numbers(), self.waves[value])[:, None]

    def table(self, value: Array) -> Array:
        """The values of the elements, one row for each wave, -1 behind its last one."""
        waves, first, counts = np.unique(self.waves, return_index=True, return_counts=True)
        found: Array = np.full((len(waves), int(counts.max(initial=0))), -1, np.int64)
        for row, (start, count) in enumerate(zip(first.tolist(), counts.tolist())):
            found[row, :count] = value[start : start + count]
        return found


def _unknown(
    group: Group, instruction: DecodedInstruction, access: Access, row: int, descriptor: Descriptor
) -> None:  # fmt: skip
    """A copy by a descriptor of another type. AITER's attention kernels for gfx1250 clear the type of loads beyond
    their last key, and use nothing of what they load; whether it is copied no public source says.

    Raises:
        Error: a store.
    """
    if access.action == "store":
        raise _refusal(f"is of type {descriptor.type}; that of a tensor is {_TENSOR} (bits 126 and 127)")
    batch, size = group.batch, descriptor.shape.size
    batch.reporter.note(
        "not checked", np.array([row]), instruction,
        f"the tensor descriptor is of type {descriptor.type}, and that of a tensor is {_TENSOR}: what it copies is not "
        f"known, and its bytes of LDS count as not written",
    )  # fmt: skip
    near = _elements(descriptor.shape, False)[0] + descriptor.local
    offsets = near[near + size <= batch.lds.size] + batch.waves.workgroup_of[row] * batch.lds.stride
    scattered(batch.lds.data, offsets, size, [np.full(len(offsets), 0xFFFFFFFF, np.uint32)] * max(1, size // 4))
    batch.lds.note_stored(offsets, size, np.ones(len(offsets), np.bool_))


def _copy(group: Group, instruction: DecodedInstruction, access: Access, copies: list[tuple[int, Descriptor]]) -> None:
    """Copy the tiles of some waves, of elements of one size."""
    batch, stores, size = group.batch, access.action == "store", access.size
    near, far, inside, waves = (np.concatenate(one) for one in zip(*_placed(copies, stores)))
    if stores:
        near, far, waves = near[inside], far[inside], waves[inside]
    local = TileElements(group, near, size, waves)
    if len(near) and (int(near.max()) + size > batch.lds.size):
        batch.bounds.outside_lds(instruction, access, local, near + size > batch.lds.size)
    offsets = near + batch.waves.workgroup_of[waves] * batch.lds.stride
    if stores:
        batch.accessed(LocalAccess(group, local, instruction, access, "read", offsets, waves, None, False))
        if (wrong := batch.lds.undefined_at(offsets, size)) is not None:
            text = "it stores bytes of LDS that nothing has written"
            batch.reporter.find("uninitialised", group.numbers(), instruction, text, local.spread(wrong))
        words = gathered(batch.lds.data, offsets, size)
        remote = TileElements(group, far, size, waves)
        places = global_offsets(group, remote, instruction, access)
        batch.grid_races.accessed(remote, instruction, access, places, words)
        scattered(batch.memory.data, places, size, words)
        return
    remote = TileElements(group, far[inside], size, waves[inside])
    places = global_offsets(group, remote, instruction, access)
    batch.grid_races.accessed(remote, instruction, access, places, None)
    words = []
    for word in gathered(batch.memory.data, places, size):
        words.append(np.zeros(len(near), np.uint32))
        words[-1][inside] = word
    batch.accessed(LocalAccess(group, local, instruction, access, "write", offsets, waves, words, True))
    scattered(batch.lds.data, offsets, size, words)
    batch.lds.note_stored(offsets, size)


def _placed(copies: list[tuple[int, Descriptor]], stores: bool) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Of each wave's elements the byte in LDS, the address, whether it is in the tensor, and the wave."""
    for row, descriptor in copies:
        near, far, inside = _elements(descriptor.shape, stores)
        address = far.view(np.uint64) + np.uint64(descriptor.address)
        yield near + descriptor.local, address, inside, np.full(len(near), row, np.int64)
