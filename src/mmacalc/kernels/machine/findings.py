"""What a launch found wrong with a kernel, and what it noted, each with its instruction, waves and lanes."""

from __future__ import annotations

from ...errors import first_of
from ...records import TupleRecord

__all__ = ["KINDS", "NOTES", "KernelFinding", "lanes_text"]

KINDS = {
    "uninitialised": "a value that no instruction has written is used",
    "wait": "a register or a byte of LDS is touched before the access that writes it is waited for",
    "race": "two waves access the same bytes of LDS without a barrier in between",
    "barrier": "the waves of a workgroup meet at different barriers, and not equally often",
    "exec": "a WMMA instruction runs while lanes are inactive",
    "wait states": "too few wait states after a matrix instruction",
}


NOTES = {
    "same value": "two waves write the same value to the same bytes of LDS without a barrier in between",
    "barrier": "the waves of a workgroup meet at different barriers",
    "outside LDS": "lanes access LDS far outside: the hardware drops what they store and loads zeros",
    "not checked": "a check did not run",
}
"""What is remarkable, and not wrong."""


class KernelFinding(TupleRecord):
    """One mistake, or one note.

    kind: one of `KINDS`, of a note one of `NOTES`. address, text: the instruction. message: what is wrong with it.
    other_address, other_text: the instruction that it collides with, None and "" if there is none. workgroup, wave:
    where it was first seen. lanes: which lanes then. times: how often it was executed that way.
    """

    kind: str
    address: int
    text: str
    message: str
    other_address: int | None
    other_text: str
    workgroup: tuple[int, int, int]
    wave: int
    lanes: tuple[int, ...]
    times: int

    @property
    def sentence(self) -> str:
        """The finding in words, over one or two lines."""
        lanes = f", {lanes_text(self.lanes)}" if self.lanes else ""
        where = f"workgroup {self.workgroup}, wave {self.wave}{lanes}"
        more = f" ({self.times} times)" if self.times > 1 else ""
        other = ""
        if self.other_address is not None:
            other = f"\n    the other instruction: {self.other_address:#x}: {self.other_text}"
        return f"{self.kind}: {self.address:#x}: {self.text}: {self.message}; {where}{more}{other}"


def lanes_text(lanes: tuple[int, ...]) -> str:
    """Lanes as runs.

    >>> lanes_text((0, 1, 2, 5)), lanes_text((7,)), lanes_text(())
    ('lanes 0-2, 5', 'lane 7', '')
    """
    runs: list[list[int]] = []
    for lane in lanes:
        if runs and lane == runs[-1][1] + 1:
            runs[-1][1] = lane
        else:
            runs.append([lane, lane])
    parts = [str(first) if first == last else f"{first}-{last}" for first, last in runs]
    return f"lane{'s' if len(lanes) > 1 else ''} {first_of(parts, 6)}" if lanes else ""
