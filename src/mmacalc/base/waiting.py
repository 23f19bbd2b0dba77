"""What a terminal shows of work that takes long: one line on standard error, erased before anything else is written.

`Working` says after two seconds that a command is at work and since when; what knows how much is done shows that on the
same line instead (`LINE`).
"""

from __future__ import annotations

import sys
import time
from _thread import allocate_lock, start_new_thread

__all__ = ["DELAY", "LINE", "Line", "Working"]

DELAY = 2.0  # seconds, after which a user may wonder
STEP = 0.5  # seconds between two looks at the clock
QUIET = 3.0  # seconds without news from whoever knows how much is done


class Line:
    """The line; threads may share it. It is shown on a terminal, or where that is wanted."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self.shown: bool = False
        self.last: float = 0.0
        self.owner: object = None

    def show(self, text: str, wanted: bool | None = None, owner: object = None) -> None:
        """Replace what the line shows.

        Args:
            text: what. wanted: whether to show it; None: on a terminal. owner: who shows it.
        """
        if sys.stderr is None or not (sys.stderr.isatty() if wanted is None else wanted):
            return
        with self._lock:
            self.shown, self.last, self.owner = True, time.monotonic(), owner
            sys.stderr.write(f"\r{text}\x1b[K")
            sys.stderr.flush()

    def erase(self) -> None:
        """Remove it."""
        with self._lock:
            if self.shown and sys.stderr is not None:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()
            self.shown, self.last = False, 0.0


LINE = Line()
"""The one line of this process."""


class Working:
    """While this lasts, the line says so, unless somebody says more: `with Working("diagnose"): ...`."""

    def __init__(self, name: str) -> None:
        self.name: str = name
        self._done, self._over = allocate_lock(), allocate_lock()

    def __enter__(self) -> Working:
        if sys.stderr is not None and sys.stderr.isatty():
            self._done.acquire()
            self._over.acquire()
            start_new_thread(self._watch, (time.monotonic(),))
        return self

    def _watch(self, start: float) -> None:
        wait = DELAY
        while not self._done.acquire(timeout=wait):
            now, wait = time.monotonic(), STEP
            if now - LINE.last > QUIET or LINE.owner is self:
                LINE.show(f"mmacalc {self.name}: {now - start:.0f} s", owner=self)
        LINE.erase()
        self._over.release()

    def __exit__(self, *problem: object) -> None:
        if self._over.locked():
            self._done.release()
            self._over.acquire()  # when the other thread has erased the line
            self._over.release()
