"""What the waves of a Python kernel do wrong with LDS: races, and reads of what nothing has written.

The rule of a race is that of compiled kernels (`device.races`), by elements instead of bytes. Waves take turns
in a fixed order, so a launch can give the right result where a barrier is missing. Waves that write the same value to
an element do no harm, and are not reported.
"""

from __future__ import annotations

import sys

import numpy as np

from .device.findings import LineFinding, entered
from .device.shared import SharedMemory
from .device.traffic import call_site
from .waves import running_wave

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..arrays import Array
    from .device.races import Race, Stored
    from .waves import Wave

__all__ = ["LdsWatch"]


class LdsWatch:
    """Watches one allocation in LDS, by elements. name: its name; elements: its size."""

    memory: SharedMemory
    name: str

    def __init__(self, name: str, elements: int) -> None:
        self.name, self.memory = name, SharedMemory(1, elements)

    def note(self, kind: str, places: Array, stored: Stored | None = None) -> None:
        """Enter an access by the running wave.

        Args:
            kind: "read" or "write". places: elements. stored: of a write gives the elements before it and those
                written, each of one unsigned integer.
        """
        wave = running_wave()
        if wave is None or not places.size:
            return
        elements, line, memory = places.ravel(), call_site(sys._getframe(1)), self.memory
        number = np.full(elements.size, wave.index + 1, np.uint8)
        race = memory.races.note(kind, elements, 1, number, memory.label(line), stored)
        if race is not None and not race.same:
            self._race(wave, kind, line, int(elements[race.access]), race)
        if kind == "write":
            memory.undefined[elements] = 0
        elif memory.undefined_at(elements, 1) is not None:
            wave.group.warn(wave.launch, f"{line} reads elements of {self.name} in LDS that nothing has written")

    def _race(self, wave: Wave, kind: str, line: str, element: int, race: Race) -> None:
        place = self.memory.place(race.label)
        who = f"wave {race.wave - 1}"
        message = (
            f"{kind}s {self.name}[{element}] in LDS, which {who} of the workgroup {race.kind}s at {place}, without "
            "synchronize_workgroup in between"
        )
        at = (*wave.group.index,)
        entered(wave.launch.findings, LineFinding("race", line, message, place, at, wave.index, race.wave - 1, 1))
