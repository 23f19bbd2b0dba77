"""Columns of Tensor Memory that statements write and nothing reads: a note with each statement.

What counts are the values of tcgen05.st, tcgen05.cp and tcgen05.mma; what reads them are tcgen05.ld, tcgen05.mma as A,
scales, metadata or the accumulator that it adds to, and tcgen05.shift. Followed are bands of 16 lanes. Zeros do not
count, as in shared memory (`device.unread`).
"""

from __future__ import annotations

import numpy as np

from ..device.findings import lanes_text
from ..device.unread import LOST, READ, Unread
from .tensor_commits import BAND, BANDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .program import Program, Step

    Array = NDArray[Any]

__all__ = ["TensorUnread", "TensorWrites"]

COUNTED = ("st", "cp", "mma")
PLACES: Array = np.arange(BANDS * 512).reshape(BANDS, 512)
"""The place of each band and column among those of a CTA."""


class TensorWrites:
    """What the statements of a launch write to Tensor Memory. writers: of each step its number as a writer, 0 if it
    does not count; unread: of bands and columns of a CTA."""

    writers: Array
    unread: Unread

    def __init__(self, program: Program) -> None:
        found = [step for step in program.steps if step.statement.root == "tcgen05"]
        self._steps = [step for step in found if step.statement.modifiers[0] in COUNTED]
        self.writers = np.zeros(len(program.steps), np.uint16)
        self.writers[[step.index for step in self._steps]] = np.arange(1, len(self._steps) + 1)
        self.unread = Unread(len(self._steps), PLACES.size)

    def notes(self) -> list[tuple[Step, str]]:
        """What is to be noted of statements."""
        return [(self._steps[writer - 1], _text(places)) for writer, places in self.unread.found()]


def _text(places: Array) -> str:
    """Columns, and the lanes that they are of.

    >>> _text(np.array([0, 1, 512, 513]))
    'writes Tensor Memory that nothing reads: columns 0-1 of lanes 0-31'
    """
    lanes: dict[tuple[int, ...], list[int]] = {}
    for band in np.unique(places // PLACES.shape[1]).tolist():
        columns = places[places // PLACES.shape[1] == band] % PLACES.shape[1]
        lanes.setdefault(tuple(columns.tolist()), []).extend(range(band * BAND, (band + 1) * BAND))
    parts = [f"{lanes_text(columns, 'column')} of {lanes_text(tuple(each))}" for columns, each in lanes.items()]
    return f"writes Tensor Memory that nothing reads: {' and '.join(parts)}"


class TensorUnread:
    """What the last writes of the Tensor Memory of a machine's CTAs become. Cells are given by their index, which is
    (CTA, band, column)."""

    def __init__(self, written: TensorWrites, cells: Array) -> None:
        self._written, self._cells = written, cells
        # By CTA, band and column the writer whose value nothing has read yet, else 0.
        self._fresh: Array = np.zeros((len(cells), *PLACES.shape), np.uint16)

    def read(self, index: tuple[Any, Any, Any], by: int = 0) -> None:
        """Cells are read. by: the writer that adds to them, whose own values are not looked at: what becomes of its
        last ones tells of them all."""
        found = self._fresh[index]
        mine = (found != 0) & (found != by)
        if mine.any():
            self._written.unread.flag(found[mine], np.broadcast_to(PLACES[index[1:]], found.shape)[mine], READ)
            self._fresh[index] = np.where(mine, 0, found)

    def replaced(self, index: tuple[Any, Any, Any]) -> None:
        """All lanes of cells are about to be written."""
        found = self._fresh[index]
        if found.any():
            bands = self._cells.reshape(len(self._cells), BANDS, BAND, -1)
            lost = (found != 0) & bands.any(axis=2)[index]
            self._written.unread.flag(found[lost], np.broadcast_to(PLACES[index[1:]], found.shape)[lost], LOST)

    def wrote(self, index: tuple[Any, Any, Any], step: Step) -> None:
        """A statement has written cells."""
        self._fresh[index] = self._written.writers[step.index]

    def finish(self) -> None:
        """The CTAs have ended."""
        everything = slice(None)
        self.replaced((everything, everything, everything))
