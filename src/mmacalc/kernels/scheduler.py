"""The order in which waves run: one at a time, each until it waits, in the same order every time.

A kernel is a plain function, so each wave has a thread of its own, but only one thread runs at a time: a wave that
waits yields to the next. It waits either at a *barrier*, for the other waves of its workgroup, or for a *value*. Values
are computed when no wave can go on without one, all that are awaited together (one NumPy call for many waves), which
is what makes the emulation fast.
"""

from __future__ import annotations

import sys
import threading
from os.path import dirname

from ..base.errors import Error
from .device.scheduler import Waves
from .waves import bind_wave

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType, TracebackType
    from typing import Any

    from .waves import Wave

__all__ = ["Task", "run"]

PACKAGE = dirname(dirname(__file__))


class _Stop(BaseException):
    """Unwinds a wave whose launch has failed."""


class Task:
    """A wave with its thread and what it waits for."""

    wave: Wave
    body: Callable[[Wave], object]
    state: str
    barriers: int
    place: str
    stopping: bool

    def __init__(self, wave: Wave, body: Callable[[Wave], object]) -> None:
        self.wave, self.body = wave, body
        self.state, self.barriers = "ready", 0
        self.awaited: Any = None
        self.failure: BaseException | None = None
        self.place = ""
        self.stopping = False
        self._go, self._back = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._back.acquire()
        self._thread = threading.Thread(target=self._run, name=repr(wave), daemon=True)
        self._started = False
        wave.wait = self._wait

    def resume(self) -> None:
        """Let the wave run until it waits or ends."""
        self.state = "running"
        if not self._started:
            self._started = True
            self._thread.start()
        else:
            self._go.release()
        self._back.acquire()

    def stop(self) -> None:
        """Unwind a wave that waits."""
        if self._started and self.state != "done":
            self.stopping = True
            self.resume()

    def _run(self) -> None:
        bind_wave(self.wave)
        try:
            self.body(self.wave)
        except _Stop:
            pass
        except BaseException as error:
            self.failure = error
        self.state = "done"
        self._back.release()

    def _wait(self, state: str, awaited: Any) -> None:
        if self.stopping:
            raise _Stop
        self.state, self.awaited = state, awaited
        if state == "barrier":
            self.barriers += 1
            self.place = line_of(sys._getframe(1))
        self._back.release()
        self._go.acquire()
        if self.stopping:
            raise _Stop


def run(groups: Sequence[Sequence[Task]], tick: Callable[[], None]) -> None:
    """Run the waves of some workgroups, as many of each, to their end; `tick` is called now and then.

    Raises:
        Error: what a wave raised, with the wave's place.
    """
    tasks = [task for group in groups for task in group]
    waves = Waves([group[0].wave.blockIdx for group in groups], len(groups[0]))
    try:
        while any(task.state != "done" for task in tasks):
            for number, task in enumerate(tasks):
                if task.state == "ready":
                    task.resume()
                    if task.failure is not None:
                        _raise_failure(task)
                    _enter(waves, tasks, number)
                    tick()
            if not _open_barriers(waves, groups):
                _compute_values(tasks)
    finally:
        for task in tasks:
            task.stop()


def _enter(waves: Waves, tasks: Sequence[Task], number: int) -> None:
    """Enter that a wave has come to a barrier, or has ended."""
    if tasks[number].state == "barrier":
        waves.arrive(number, 0, signals=True, waits=True)
    elif tasks[number].state == "done":
        waves.ended[number] = True


def _open_barriers(waves: Waves, groups: Sequence[Sequence[Task]]) -> bool:
    """Let the waves go on whose workgroup has come to the barrier; whether there are any."""
    released = waves.released()
    for workgroup in released:
        group = groups[workgroup]
        waiting = [task for task in group if task.state == "barrier"]
        for text in _doubts(waiting, [task for task in group if task.state == "done"]):
            waiting[0].wave.launch.warnings[text] += 1
        waiting[0].wave.group.meet()
        for task in waiting:
            task.state = "ready"
    return bool(released)


def _doubts(waiting: Sequence[Task], ended: Sequence[Task]) -> Iterator[str]:
    """What is allowed at a barrier, but may be a mistake in the kernel."""
    places: dict[str, list[Task]] = {}
    for task in waiting:
        places.setdefault(task.place, []).append(task)
    met = " and ".join(f"{_waves(tasks)} at {place}" for place, tasks in places.items())
    if ended:
        yield f"{_waves(ended)} had ended when the others met at barrier {waiting[0].barriers} ({met})"
    elif len(places) > 1:
        yield f"{met} met at the same barrier, number {waiting[0].barriers}"


def _waves(tasks: Sequence[Task]) -> str:
    return f"wave{'s' * (len(tasks) > 1)} {', '.join(str(task.wave.index) for task in tasks)}"


def _compute_values(tasks: Sequence[Task]) -> None:
    """Compute the awaited values, those of one kind together."""
    awaited: dict[Callable[[list[Any]], None], list[Any]] = {}
    for task in tasks:
        if task.state == "value":
            function, item = task.awaited
            awaited.setdefault(function, []).append(item)
            task.state = "ready"
    for function, items in awaited.items():
        function(items)


def _raise_failure(task: Task) -> None:
    failure = task.failure
    assert failure is not None
    if not isinstance(failure, Error):
        raise failure
    raise Error(f"{task.wave}{_at(failure.__traceback__)}: {failure}") from failure


def _at(trace: TracebackType | None) -> str:
    """The line of the kernel where an error was raised."""
    place = ""
    while trace is not None:
        if not _in_package(trace.tb_frame):
            place = f", {_line(trace.tb_frame, trace.tb_lineno)}"
        trace = trace.tb_next
    return place


def line_of(frame: FrameType | None) -> str:
    """The line outside this package that a frame was called from."""
    while frame is not None and _in_package(frame):
        frame = frame.f_back
    return _line(frame, frame.f_lineno) if frame is not None else "an unknown line"


def _in_package(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(PACKAGE) or "threading" in frame.f_code.co_filename


def _line(frame: FrameType, number: int) -> str:
    name = frame.f_code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{name} line {number}"
