"""The lanes of a memory access: their addresses, what they load into registers and store from them."""

from __future__ import annotations

import numpy as np

from ...asm.decoded import RegisterOperand
from .operands import raw_reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...arrays import Array
    from ...asm.decoded import DecodedInstruction
    from .access_names import Access
    from .state import Group

__all__ = ["ActiveLanes", "extended", "load_registers", "stored_words"]


class ActiveLanes:
    """The lanes of one access: which are active, their addresses, and which waves they belong to."""

    group: Group
    mask: Array | None
    size: int

    __slots__ = ("addresses", "group", "mask", "size", "waves")

    def __init__(self, group: Group, addresses: Array, size: int) -> None:
        self.group, self.mask, self.size = group, group.mask, size
        whole = np.broadcast_to(addresses, (group.count, group.lanes))
        self.addresses: Array = whole.ravel() if group.mask is None else whole[group.mask]
        self.waves: Array

    def lanes(self) -> tuple[Array, Array]:
        """The wave (row of the batch) and the lane of each access."""
        waves, lanes = np.nonzero(self.group.active)
        return self.group.numbers()[waves], lanes

    def spread(self, value: Array) -> Array:
        """The values of the accesses as (count, lanes)."""
        shape = (self.group.count, self.group.lanes)
        if self.mask is None:
            return value.reshape(shape)
        found = np.zeros(shape, value.dtype)
        found[self.mask] = value
        return found

    def gather(self, value: Array) -> Array:
        """The values (count, lanes) of the active lanes, in the order of the accesses."""
        whole = np.broadcast_to(value, (self.group.count, self.group.lanes))
        return whole.ravel() if self.mask is None else whole[self.mask]


def extended(word: Array, access: Access) -> Array:
    """A word that was loaded, with its sign extended where the access does that."""
    if not access.signed:
        return word
    by = np.int32(32 - 8 * access.size)
    return ((word.view(np.int32) << by) >> by).view(np.uint32)


def load_registers(
    group: Group,
    lanes: ActiveLanes,
    instruction: DecodedInstruction,
    access: Access,
    words: list[Array],
    first: int = 0,
) -> None:
    """Write what was loaded into the destination."""
    destination = instruction.destinations[0]
    file = group.a if destination.file == "a" else group.v
    for number, word in enumerate(words):
        index = destination[1] + first + number
        spread = lanes.spread(extended(word, access))
        half = access.half
        if half is None and destination.bits == 16:
            half = destination.half
        if half is not None:
            old = file[index, group.rows]
            low = np.uint32(0xFFFF)
            spread = old & low | spread << np.uint32(16) if half else old & ~low | spread & low
        group.write(file, index, spread)


def stored_words(group: Group, lanes: ActiveLanes, access: Access, data: Any, first: int = 0) -> list[Array]:
    """The words that a store writes."""
    words = []
    for number in range(max(1, access.size // 4)):
        value = lanes.gather(raw_reader(data, first + number)(group))
        half = access.half or (data.half if isinstance(data, RegisterOperand) and data.bits == 16 else 0)
        words.append(value >> np.uint32(16) if half else value)
    return words
