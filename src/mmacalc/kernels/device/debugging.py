"""To stop a kernel and look: what is asked for, the state of a wave, and who wrote what, of whichever machine."""

from __future__ import annotations

import re

import numpy as np

from ...arithmetic.codecs import decode
from ...base.checks import number
from ...base.errors import Error, abbreviated, plural
from ...base.json_form import encoded
from ...base.records import TupleRecord, json_keys
from .findings import lanes_text
from .observer import Observer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, NoReturn

    from ...base.arrays import Array
    from ...model import Instruction

__all__ = [
    "Change", "Debugged", "Debugger", "HeldElement", "HeldRegister", "StopAt", "Stopped", "Watched", "WaveState",
    "held_elements", "hits", "stop_at", "value_text", "values_text", "watched",
]  # fmt: skip

SHOWN_LANES = (0, 1, 2, 3)
"""The lanes that a text shows where none are chosen."""


class Stopped(Exception):  # noqa: N818
    """The launch was stopped where that was asked for."""


# --- what is asked for ---


class StopAt(TupleRecord):
    """Where to stop: kind "finding", "place" (an address, a line of PTX) or "line" (of the source); place; file, which
    may be left out; times: at which time."""

    kind: str
    place: int
    file: str
    times: int


def stop_at(text: str, ptx: bool) -> StopAt:
    """What a text asks for.

    >>> stop_at("gemm.py:74#2", False)
    StopAt(kind='line', place=74, file='gemm.py', times=2)
    >>> stop_at("0x1c98", False).place == 0x1c98, stop_at("finding", True).kind, stop_at("74", True).kind
    (True, 'finding', 'place')
    """
    what, _, times_text = text.strip().partition("#")
    times = number(times_text, 1 << 62, 1) if times_text else 1
    file, colon, line_text = what.rpartition(":")
    place = number(line_text, (1 << 64) - 1, 0)
    if times is not None and what == "finding":
        return StopAt("finding", 0, "", times)
    if times is None or place is None or (colon and not file):
        raise Error(
            f"stop_at takes an address such as 0x1c98, a line such as gemm.py:74 or 74, or finding; behind it #3 for "
            f"the third time; got '{text[:60]}'"
        )
    address = line_text.lower().startswith("0x")
    if colon or (not address and not ptx):
        return StopAt("line", place, file, times)
    return StopAt("place", place, "", times)


class Watched(TupleRecord):
    """What is watched: kind "register", "shared" or "argument"; name: of the register or the argument; at: the number
    of the lane (None: all), of the byte, or of the element."""

    text: str
    kind: str
    name: str
    at: int | None


_WATCHED = re.compile(r"(?P<shared>lds|shared):(?P<byte>\w+)|(?P<name>[%\w$.]+|argument \w+)(\[(?P<index>\w+)\])?")


def watched(text: str, is_register: Callable[[str], bool]) -> Watched:
    """What a text asks to watch.

    Args:
        is_register: whether a name is one of a register.

    >>> watched("lds:4160", str.isalpha), watched("d[17]", lambda name: name == "v4").kind
    (Watched(text='lds:4160', kind='shared', name='lds', at=4160), 'argument')
    """
    found = _WATCHED.fullmatch(text.strip())
    if found and found["shared"]:
        byte = number(found["byte"], 1 << 31, 0)
        if byte is not None:
            return Watched(text, "shared", found["shared"], byte)
    elif found:
        index = None if found["index"] is None else number(found["index"], 1 << 62, 0)
        if found["index"] is None or index is not None:
            if is_register(found["name"]):
                return Watched(text, "register", found["name"], index)
            if index is not None:
                return Watched(text, "argument", found["name"], index)
    raise Error(
        f"watch takes a register such as v41 or v41[3] (of lane 3; of PTX %r5), a byte such as lds:4160 (of PTX "
        f"shared:4160), or an element of an argument such as d[17]; got '{text[:60]}'"
    )


# --- what is answered ---


class HeldElement(TupleRecord):
    """An element of a matrix that a register holds: the operand, row, column, block, its bits, and its value (None of
    one of which this register holds a part)."""

    operand: str
    row: int
    col: int
    block: int
    lsb: int
    width: int
    value: float | int | None

    def __str__(self) -> str:
        block = f".B{self.block}" if self.block else ""
        value = "a part of it" if self.value is None else f"{self.value:g}"
        return f"{self.operand}[{self.row}][{self.col}]{block} = {value}"


class HeldRegister(TupleRecord):
    """A register of the wave that stopped.

    name; role: what the instruction has it for: "A", "B", "C" or "D" of a product, "read", "written" or "". values: of
    each lane, or one. undefined: the lanes whose value no instruction has written. elements: of a product, by lane.
    """

    name: str
    role: str
    values: tuple[int, ...]
    undefined: tuple[int, ...]
    elements: tuple[tuple[HeldElement, ...], ...] = ()


@json_keys(
    "kernel", "place: the address, or the line of PTX", "text", "location: FILE:LINE of the source", "why", "workgroup",
    "wave", "executed: instructions of all waves before it", "active: lanes", "registers: those that it touches",
    "outstanding: accesses of memory that are not waited for",
)  # fmt: skip
class WaveState(TupleRecord):
    """A wave, before it executes an instruction.

    kernel; place, text, location: the instruction. why it stopped. workgroup, wave (in it); executed: instructions of
    all waves before. active: the lanes. registers: those that the instruction touches; file: all others, by name.
    outstanding: the accesses of memory that are not waited for, in words.
    """

    kernel: str
    place: str
    text: str
    location: Any
    why: str
    workgroup: tuple[int, int, int]
    wave: int
    executed: int
    active: tuple[int, ...]
    registers: tuple[HeldRegister, ...]
    outstanding: tuple[str, ...]
    file: Mapping[str, tuple[int, ...]]

    def register(self, name: str) -> tuple[int, ...]:
        """The values of a register, by lane (of a scalar one: one value).

        Raises:
            Error: the wave has no such register.
        """
        if name not in self.file:
            raise Error(f"the wave has no register '{name}'; it has {abbreviated(list(self.file), 8)}")
        return self.file[name]

    def words(self, lanes: Sequence[int] = SHOWN_LANES) -> str:
        """The state as text. lanes: those that are shown."""
        place = f" ({self.location})" if self.location else ""
        count = len(self.active)
        lines = [
            f"stopped at {self.place}{place}: {self.text}",
            f"  {self.why}; workgroup {self.workgroup}, wave {self.wave}, "
            f"{plural(self.executed, 'instruction')} of all waves before; {plural(count, 'lane')} active"
            + (f": {lanes_text(self.active)}" if count and count < max(self.active) + 1 else ""),
        ]
        lines += [line for register in self.registers for line in _register_lines(register, lanes)]
        lines += [f"  not waited for: {access}" for access in self.outstanding]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.words()

    def _repr_html_(self) -> str:
        """The state in a notebook: a table, a row for each lane."""
        from html import escape

        shown = [register for register in self.registers if len(register.values) > 1]
        head = "".join([f"<th>{escape(one.name)}{' = ' + one.role if one.role else ''}</th>" for one in shown])
        body = []
        for lane in range(max((len(one.values) for one in shown), default=0)):
            cells = "".join([f"<td>{escape(_cell(one, lane))}</td>" for one in shown])
            body.append(f"<tr><th>lane {lane}</th>{cells}</tr>")
        title = escape(f"{self.place}: {self.text}, workgroup {self.workgroup}, wave {self.wave}; {self.why}")
        return f"<table><caption>{title}</caption><tr><th></th>{head}</tr>{''.join(body)}</table>"


def _cell(register: HeldRegister, lane: int) -> str:
    if lane in register.undefined:
        return "undefined"
    if register.elements and register.elements[lane]:
        return ", ".join(map(str, register.elements[lane]))
    return f"{register.values[lane]:08x}"


def _register_lines(register: HeldRegister, lanes: Sequence[int]) -> Iterator[str]:
    role = f" ({register.role})" if register.role else ""
    if len(register.values) == 1:
        value = "undefined" if register.undefined else f"{register.values[0]:08x}"
        yield f"  {register.name}{role} = {value}"
        return
    cells = [f"lane {lane}: {_cell(register, lane)}" for lane in lanes if lane < len(register.values)]
    undefined = f"; undefined in {lanes_text(register.undefined)}" if register.undefined else ""
    yield f"  {register.name}{role}: {'; '.join(cells)}{undefined}"


@json_keys(
    "watched", "executed: instructions of all waves before it", "place", "text", "location: FILE:LINE of the source",
    "workgroup", "wave", "lanes", "before", "after",
)  # fmt: skip
class Change(TupleRecord):
    """A write of what is watched.

    watched: as it was asked for. executed: how many instructions all waves had executed. place, text, location: of the
    instruction. workgroup, wave: who; lanes: which of its lanes wrote it. before, after: the values, in words.
    """

    watched: str
    executed: int
    place: str
    text: str
    location: Any
    workgroup: tuple[int, int, int]
    wave: int
    lanes: tuple[int, ...]
    before: str
    after: str

    def __str__(self) -> str:
        source = f" ({self.location})" if self.location else ""
        lanes = f", {lanes_text(self.lanes)}" if self.lanes else ""
        return (
            f"{self.watched}: {self.before} -> {self.after} by {self.place}{source}: {self.text}; workgroup "
            f"{self.workgroup}, wave {self.wave}{lanes}; after {plural(self.executed, 'instruction')}"
        )


@json_keys("state", "changes: of what is watched, in their order", "more: changes that are not listed")
class Debugged(TupleRecord):
    """A launch with a stop or watches.

    Attributes:
        state: the `WaveState` where it stopped; None if it ran to its end.
        changes: who wrote what is watched, and when: `Change`. more: how many are not listed.
        report: of the launch; None if it was stopped.
    """

    state: WaveState | None
    changes: tuple[Change, ...]
    more: int
    report: Any

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain data."""
        plain: dict[str, Any] = encoded(self)
        return plain

    def words(self, lanes: Sequence[int] = SHOWN_LANES) -> str:
        """The answer as text. lanes: those that are shown."""
        lines = list(map(str, self.changes))
        lines += [f"and {plural(self.more, 'change')} more"] if self.more else []
        lines.append(self.state.words(lanes) if self.state is not None else "the launch ran to its end without a stop")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.words()

    def _repr_html_(self) -> str:
        """The answer in a notebook."""
        from html import escape

        changes = "".join([f"<li>{escape(str(change))}</li>" for change in self.changes])
        state = self.state._repr_html_() if self.state is not None else ""
        return f"<ul>{changes}</ul>{state}" if changes else state


def held_elements(
    inst: Instruction, name: str, lanes: int, register: int, file: Array, fields: Mapping[str, Any]
) -> tuple[tuple[HeldElement, ...], ...]:
    """What a register of an operand holds, by lane.

    Args:
        name: of the operand; register: counted from its first. file: the operand's registers (registers, lanes).
        fields: the instruction's modifiers.
    """
    operand = inst.operand(name, **({"wave": lanes} if lanes == 64 and 64 in inst.architecture.waves else {}), **fields)
    kind, found = operand.format, []
    for lane in range(lanes):
        held = []
        for one in operand.contents(register=register, lane=lane):
            word = int(file[register, lane])
            if one.width == 64 and register + 1 < len(file):
                word |= int(file[register + 1, lane]) << 32
            code = word >> one.lsb & (1 << one.width) - 1
            value = None
            if one.width == kind.bits:
                value = decode(np.array([code], np.uint64), kind)[0].item()
            held.append(HeldElement(name, one.row, one.col, one.block, one.lsb, one.width, value))
        found.append(tuple(held))
    return tuple(found)


MOST_CHANGES = 1000
"""Changes that are listed."""


class Debugger(Observer):
    """Stops and watches, for a machine that says in its own words where it is. wave: which of the launch."""

    changes: list[Change]
    more: int
    state: WaveState | None
    stop: StopAt | None
    watches: tuple[Watched, ...]
    wave: int

    def __init__(self, stop: StopAt | None, watches: Sequence[Watched], wave: int) -> None:
        self.stop, self.watches, self.wave = stop, tuple(watches), wave
        self.changes, self.more, self.state = [], 0, None
        self._left = stop.times if stop is not None else 0

    def halt(self, state: WaveState) -> NoReturn:
        """Stop the launch, with what it was like.

        Raises:
            Stopped: always.
        """
        self.state = state
        raise Stopped

    def due(self) -> bool:
        """Whether this time is the one that is asked for."""
        self._left -= 1
        return self._left == 0

    def enter(self, change: Change) -> None:
        """List a change."""
        if len(self.changes) < MOST_CHANGES:
            self.changes.append(change)
        else:
            self.more += 1

    def at_line(self, location: Any) -> bool:
        """Whether a place of the source is the one to stop at."""
        stop = self.stop
        if stop is None or location is None or location.line != stop.place:
            return False
        return not stop.file or location.file == stop.file or location.file.endswith(f"/{stop.file}")

    def answer(self, report: Any) -> Debugged:
        """What was found."""
        return Debugged(self.state, tuple(self.changes), self.more, report)


def hits(addresses: Array, size: int, first: int, length: int) -> Array:
    """Which accesses touch some bytes."""
    found: Array = (addresses < first + length) & (addresses + size > first)
    return found


def values_text(digits: Sequence[str]) -> str:
    """The values of some lanes, once where they are the same.

    >>> values_text(["0"] * 64), values_text(["0", "1", "2", "3", "4"])
    ('0', '0 1 2 3 ...')
    """
    return digits[0] if len(set(digits)) == 1 else " ".join(digits[:4]) + (" ..." if len(digits) > 4 else "")


def value_text(content: Array, kind: np.dtype[Any] | None) -> str:
    """Bytes in words: as elements of a type, or in hexadecimal."""
    if kind is None:
        return content.tobytes()[::-1].hex()
    return str(content.view(kind)[0])
