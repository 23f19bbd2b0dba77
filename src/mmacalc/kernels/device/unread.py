"""Values that instructions write to the memory of a workgroup, and that nothing reads.

A value is read if something reads it before it is overwritten. Of an instruction those places of a workgroup are told
where none of the values that it wrote, in any workgroup of the launch, was read: so the last round of a loop that loads
ahead does no harm, and what another instruction writes to the same place later does not hide it. Zeros do not count:
they are put where there is nothing to copy, beyond the edges of a matrix or behind its last tile.
"""

from __future__ import annotations

import numpy as np

from ...base.errors import plural
from .findings import lanes_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...base.arrays import Array

__all__ = ["LOST", "READ", "Unread", "unread_text"]

READ, LOST = 1, 2
"""Flags of a writer and a place, as in threads.c: a value was read; one was not."""


class Unread:
    """Whether the values that writers, from 1 on, wrote to places of a workgroup were read. Writer 0 is what does not
    count. flags: (writer, place). lost: of which writers a value was lost: most of the flags are never looked at.

    >>> unread = Unread(2, 8)
    >>> unread.flag(np.array([1, 1, 2]), np.array([0, 1, 1]), LOST)
    >>> unread.flag(np.array([1]), np.array([8]), READ)
    >>> [(writer, places.tolist()) for writer, places in unread.found()]
    [(1, [1]), (2, [1])]
    """

    flags: Array
    lost: Array

    def __init__(self, writers: int, places: int) -> None:
        self.flags = np.zeros((writers + 1, places), np.uint8)
        self.lost = np.zeros(writers + 1, np.uint8)

    def flag(self, writers: Array, places: Array, what: int) -> None:
        """Enter what became of values at places, counted through all workgroups."""
        self.flags[writers, places % self.flags.shape[1]] |= np.uint8(what)
        if what == LOST:
            self.lost[writers] = 1

    def found(self) -> Iterator[tuple[int, Array]]:
        """The writers of which nothing reads some values, and their places."""
        for writer in np.flatnonzero(self.lost).tolist():
            places = np.flatnonzero(self.flags[writer] == LOST)
            if writer and len(places):
                yield writer, places


def unread_text(memory: str, places: Sequence[int]) -> str:
    """What is said of bytes that an instruction writes and nothing reads.

    >>> unread_text("LDS", [0, 1, 2, 3, 8])
    'writes 5 bytes of LDS that nothing reads: bytes 0-3, 8'
    """
    return f"writes {plural(len(places), 'byte')} of {memory} that nothing reads: {lanes_text(tuple(places), 'byte')}"
