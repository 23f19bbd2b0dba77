"""What the waves of a Python kernel do wrong with LDS: races, and reads of what nothing has written.

The rule of a race is that of compiled kernels (`machine.race_shadow`), by elements instead of bytes. Waves take turns
in a fixed order, so a launch can give the right result where a barrier is missing. Waves that write the same value to
an element do no harm, and are not reported.
"""

from __future__ import annotations

import sys

import numpy as np

from ..records import TupleRecord
from .lds_counter import call_site
from .machine.race_shadow import RaceShadow
from .waves import running_wave

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .machine.race_shadow import Race, Stored
    from .waves import Wave

    Array = NDArray[Any]

__all__ = ["LdsFinding", "LdsWatch"]


class LdsFinding(TupleRecord):
    """A race in LDS.

    kind: "race". place, other_place: the two lines, "file:line", in the order in which they ran here. message: what is
    wrong. workgroup, wave, other_wave: where it was first seen. times: how often the first line was executed that way.
    """

    kind: str
    place: str
    message: str
    other_place: str
    workgroup: tuple[int, int, int]
    wave: int
    other_wave: int
    times: int

    @property
    def sentence(self) -> str:
        """The finding in words."""
        more = f" ({self.times} times)" if self.times > 1 else ""
        return f"{self.kind}: {self.place}: {self.message}; workgroup {self.workgroup}, wave {self.wave}{more}"


class LdsWatch:
    """Watches one allocation in LDS. name: its name; elements: its size."""

    lines: list[str]
    name: str
    races: RaceShadow

    def __init__(self, name: str, elements: int) -> None:
        self.name = name
        self.races = RaceShadow(-(-elements // 16) * 16)
        self.written: Array = np.zeros(elements, np.bool_)
        self.lines: list[str] = []

    def barrier(self) -> None:
        """The waves of the workgroup have met."""
        self.races.barrier()

    def note(self, kind: str, places: Array, stored: Stored | None = None) -> None:
        """Enter an access by the running wave.

        Args:
            kind: "read" or "write". places: elements. stored: of a write gives the elements before it and those
                written, each of one unsigned integer.
        """
        wave = running_wave()
        if wave is None or not places.size:
            return
        elements, line = places.ravel(), call_site(sys._getframe(1))
        if line not in self.lines:
            self.lines.append(line)
        number = np.full(elements.size, wave.index + 1, np.uint8)
        race = self.races.note(kind, elements, 1, number, self.lines.index(line), stored)
        if race is not None and not race.same:
            self._race(wave, kind, line, int(elements[race.access]), race)
        if kind == "write":
            self.written[elements] = True
        elif not self.written[elements].all():
            wave.group.warn(wave.launch, f"{line} reads elements of {self.name} in LDS that nothing has written")

    def _race(self, wave: Wave, kind: str, line: str, element: int, race: Race) -> None:
        place = self.lines[race.label]
        who = f"wave {race.wave - 1}"
        message = (
            f"{kind}s {self.name}[{element}] in LDS, which {who} of the workgroup {race.kind}s at {place}, without "
            "synchronize_workgroup in between"
        )
        index = wave.group.index
        found = LdsFinding("race", line, message, place, (index.x, index.y, index.z), wave.index, race.wave - 1, 1)
        findings = wave.launch.findings
        known = findings.get((line, place))
        findings[line, place] = found if known is None else known._replace(times=known.times + 1)
