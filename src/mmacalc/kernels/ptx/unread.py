"""Bytes of shared memory that statements write and nothing reads: a note with each statement.

What counts are plain values: of st, stmatrix, cp.async, bulk and tensor copies, st.async, and of reductions whose
result nothing uses. Flags (strong accesses, other atomic operations) and mbarriers do not count.
"""

from __future__ import annotations

import numpy as np

from ..device.unread import LOST, READ, Unread, unread_text
from .knowledge import access_of
from .order import FRESH, GENERIC
from .program import RESERVED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .machine import Machine
    from .order import Shadow
    from .program import Program, Step

    Array = NDArray[Any]

__all__ = ["SharedUnread", "SharedWrites"]


class SharedWrites:
    """What the statements of a launch write to shared memory. writers: of each step its number as a writer, 0 if it
    does not count; unread: of granules of a CTA."""

    writers: Array
    unread: Unread

    def __init__(self, program: Program, shared_size: int) -> None:
        self._program = program
        self._steps = [step for step in program.steps if _counts(program, step)][: (1 << 16) - 1]
        self.writers = np.zeros(len(program.steps), np.uint16)
        self.writers[[step.index for step in self._steps]] = np.arange(1, len(self._steps) + 1)
        self.unread = Unread(len(self._steps), shared_size // program.granule)

    def notes(self) -> list[tuple[Step, str]]:
        """What is to be noted of statements."""
        granule, found = self._program.granule, []
        for writer, granules in self.unread.found():
            places = (granules[:, None] * granule + np.arange(granule)).reshape(-1)
            if len(places := places[places >= RESERVED]):
                found.append((self._steps[writer - 1], self._text(places)))
        return found

    def _text(self, places: Array) -> str:
        """In bytes of the variables that they lie in."""
        parts: dict[tuple[int, str], list[int]] = {}
        for place in places.tolist():
            start, name = self._program.shared_part(place)
            parts.setdefault((start, name), []).append(place - start)
        return " and ".join([unread_text(name, bytes_) for (_, name), bytes_ in sorted(parts.items())])


class SharedUnread:
    """What the last writes of the shared memory of a machine's CTAs become: the places of the shadow are granules."""

    def __init__(self, written: SharedWrites, machine: Machine) -> None:
        self._written = written
        self._values: Array = machine.shared.view(f"u{machine.granule}")

    def read(self, shadow: Shadow, at: Array) -> None:
        """Granules are read."""
        self._flag(shadow, at, READ)
        shadow.how[at] &= np.uint8(GENERIC)

    def replaced(self, shadow: Shadow, at: Array) -> None:
        """Granules are about to be written."""
        if (shadow.how[at] & FRESH).any():
            self._flag(shadow, at[self._values[at] != 0], LOST)

    def finish(self, shadow: Shadow) -> None:
        """The CTAs have ended."""
        self.replaced(shadow, np.flatnonzero(shadow.how & FRESH))

    def _flag(self, shadow: Shadow, at: Array, what: int) -> None:
        at = at[(shadow.how[at] & FRESH) > 0]
        if len(at):
            self._written.unread.flag(self._written.writers[shadow.write_step[at]], at, what)


def _counts(program: Program, step: Step) -> bool:
    """Whether what a statement writes is data."""
    root = step.statement.root
    if root == "st":
        modifiers = step.statement.modifiers
        strong = bool(access_of(root, modifiers).scope)
        return not strong or ("volatile" in modifiers and not program.polls_shared)
    unused = root == "red" or (root == "atom" and step.writes.isdisjoint(program.used))
    return unused or root in ("stmatrix", "cp")
