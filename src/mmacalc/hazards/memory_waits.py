"""Missing waits for memory: registers that are touched while an access that writes or reads them may be outstanding.

Every path through the basic blocks is followed. On a path an outstanding access has an age, how many accesses of its
sequence are younger (see `memory_counters`): a wait for n ends those of age n and more. Where paths meet, the youngest
age counts, so a wait must be enough on all of them.

What is watched: registers that loads write; what exports read, which may not be overwritten before; and on gfx1250
what any access reads until its address is translated (XCNT). What is not: bytes of LDS and of memory. Assumed: calls
come back with nothing outstanding, and a kernel begins so.
"""

from __future__ import annotations

from functools import partial

from ..asm.tables import flags_of
from ..base.records import Cache, TupleRecord
from .memory_counters import MOST, counters_of, sequence_of, wait_text, waits_of_statement
from .pending import blocks_before
from .touched import EXEC, register_names, tables_of, touched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..asm.reader import Listing, Statement
    from .pending import Block
    from .touched import Touched

    Place = tuple[int, str]  # a statement that is an access, and one of its counters
    Ages = dict[Place, int]  # of the outstanding ones, how many of their sequence are younger

__all__ = ["MemoryWait", "TooManyPaths", "has_counters", "missing_waits", "repaired"]

XCNT = "xcnt"
_UNTRANSLATED = ("lds", "gds", "async", "tensor", "export", "direct", "message")
"""Accesses that XCNT does not count."""


_CACHES = frozenset(("invalidate", "write_back", "prefetch"))
"""Flags of what moves no data of the program: nothing is translated."""


EFFORT = 400
"""How many outstanding accesses are looked at for each statement of a listing on all its paths; a compiler's listings
need 1 to 40."""


class TooManyPaths(Exception):  # noqa: N818 (not the user's error)
    """Following all outstanding accesses over all paths takes too long."""


class MemoryWait(TupleRecord):
    """A missing wait: the statement that comes too early, the access that it must wait for, the sentence that says so,
    and the waits that are enough there, by counter."""

    at: int
    access: int
    message: str
    waits: tuple[tuple[str, int], ...]


class _Step(TupleRecord):
    """A statement: what it touches, its waits, and the counters that it raises, each with its sequence."""

    touched: Touched
    waits: dict[str, int]
    raises: tuple[tuple[str, str | None], ...]
    drains: bool
    calls: bool


def missing_waits(listing: Listing, blocks: Sequence[Block], target: str) -> Iterator[MemoryWait]:
    """Every statement that comes too early, with each access that it must wait for, in the order of the listing.

    Args:
        listing, blocks: from `mmacalc.asm.reader` and `pending`. target: the compiler target, such as "gfx942".

    Raises:
        TooManyPaths: following them all takes too long.
    """
    paths = _Paths(listing, blocks, target)
    for number, block in enumerate(blocks):
        yield from paths.walk(block, dict(paths.entering[number]))


def repaired(waits: Iterable[tuple[str, int]], target: str) -> tuple[str, ...]:
    """The instructions that wait.

    >>> repaired([("vmcnt", 0)], "gfx942")
    ('s_waitcnt vmcnt(0)',)
    """
    return wait_text(dict(waits), _generation(target))


def has_counters(target: str) -> bool:
    """Whether the counters of a target are known.

    >>> has_counters("gfx942"), has_counters("gfx1030")
    (True, False)
    """
    return target.startswith(tuple(MOST))


def _generation(target: str) -> str:
    return next(name for name in MOST if target.startswith(name))


_known_steps = Cache(1 << 15)  # as `mmacalc.hazards.lint` keeps what statements do


class _Paths:
    """The outstanding accesses at the start of every block, on the worst path."""

    def __init__(self, listing: Listing, blocks: Sequence[Block], target: str) -> None:
        self.generation, self._tables = _generation(target), tables_of(target)
        self._translates = target.startswith("gfx125")
        self._effort = EFFORT * (len(listing.statements) + 100)
        known: dict[int, _Step] = {}
        for at in dict.fromkeys(listing.alike):
            one = listing.statements[at]
            known[at] = _known_steps.get((target, one.text, one.operands), partial(self._step, one))
        self.steps = [known[first] for first in listing.alike]
        self._sequences = [dict(step.raises) for step in self.steps]
        self.entering: list[Ages] = [{} for _ in blocks]
        self._solve(blocks)

    def _step(self, statement: Statement) -> _Step:
        found, flags = touched(statement, self._tables), flags_of(statement.mnemonic)
        raises = []
        if found.kind:
            kind = "load" if found.kind == "memory" else found.kind
            known = {"async": "load", "tensor": "load"} if self.generation != "gfx12" else {}
            kind = known.get(kind, kind)
            raises = [(counter, sequence_of(kind, self.generation)) for counter in counters_of(kind, self.generation)]
            if self._translates and kind not in _UNTRANSLATED and _CACHES.isdisjoint(flags):
                raises.append((XCNT, None if kind == "scalar" else ""))
        waits = waits_of_statement(statement, self.generation)
        return _Step(found, waits, tuple(raises), "waits_xcnt" in flags, "call" in flags)

    def _solve(self, blocks: Sequence[Block]) -> None:
        before, leaving = blocks_before(blocks), [{} for _ in blocks]  # type: list[list[int]], list[Ages]
        waiting = dict.fromkeys(range(len(blocks)))
        seen: set[int] = set()
        while waiting:
            number = min(waiting)
            del waiting[number]
            entering: Ages = {}
            for previous in before[number]:
                for place, age in leaving[previous].items():
                    if age < entering.get(place, age + 1):
                        entering[place] = age
            if number in seen and entering == self.entering[number]:
                continue
            seen.add(number)
            self.entering[number] = entering
            ages = dict(entering)
            for _ in self.walk(blocks[number], ages):
                pass
            if ages != leaving[number]:
                leaving[number] = ages
                waiting.update(dict.fromkeys(blocks[number].following))

    def walk(self, block: Block, ages: Ages) -> Iterator[MemoryWait]:
        """The missing waits of a block. ages: of the accesses outstanding at its start; at the end, those at its end.
        An access whose wait is missing counts as ended from there on."""
        for at in range(block.start, block.end):
            step = self.steps[at]
            self._effort -= len(ages)
            if self._effort < 0:
                raise TooManyPaths
            if ages:
                if step.waits:
                    self._wait(ages, step.waits)
                if step.drains:
                    self._end(ages, [place for place in ages if place[1] == XCNT])
                if step.calls:
                    ages.clear()
                if step.raises and self._translates:
                    self._switch(ages, step)
                yield from self._touches(at, step, ages)
            if step.raises:
                self._issue(at, step, ages)

    def _issue(self, at: int, step: _Step, ages: Ages) -> None:
        for counter, sequence in step.raises:
            if sequence is not None:
                most = MOST[self.generation][counter]
                for place in [place for place in ages if place[1] == counter]:
                    if self._sequences[place[0]][counter] == sequence:
                        ages[place] += 1
                        if ages[place] >= most:  # the counter was full
                            del ages[place]
            if step.touched.writes or counter == "expcnt" or (self._translates and XCNT in self._sequences[at]):
                ages[at, counter] = 0

    def _wait(self, ages: Ages, waits: dict[str, int]) -> None:
        ended = []
        for place, age in ages.items():
            number = waits.get(place[1])
            if number is not None and (
                number == 0 or (number <= age and self._sequences[place[0]][place[1]] is not None)
            ):
                ended.append(place)
        if self._translates:
            self._translated(ages, ended)
        self._end(ages, ended)

    def _end(self, ages: Ages, places: Iterable[Place]) -> None:
        for place in places:
            ages.pop(place, None)

    # --- XCNT: see kernels/amd/translations.py for the rules and their sources ---

    def _translated(self, ages: Ages, ended: list[Place]) -> None:
        """An access that has ended is translated, and so are the vector accesses before it."""
        for at, counter in list(ended):
            age = ages.get((at, XCNT))
            if counter == XCNT or age is None:
                continue
            ended.append((at, XCNT))
            if self._sequences[at][XCNT] is not None:
                ended += self._older(ages, age)

    def _older(self, ages: Ages, age: int) -> list[Place]:
        """The vector accesses that are at least so old."""
        return [
            place
            for place, own in ages.items()
            if place[1] == XCNT and own >= age and self._sequences[place[0]][XCNT] == ""
        ]

    def _switch(self, ages: Ages, step: _Step) -> None:
        """Between scalar and vector accesses the hardware waits for all translations."""
        mine = dict(step.raises)
        if XCNT in mine:
            other = [place for place in ages if place[1] == XCNT and self._sequences[place[0]][XCNT] != mine[XCNT]]
            self._end(ages, other)

    # --- findings ---

    def _touches(self, at: int, step: _Step, ages: Ages) -> Iterator[MemoryWait]:
        reads, writes = step.touched.reads, step.touched.writes
        if not reads and not writes:
            return
        found: dict[int, list[tuple[str, int, frozenset[int], str]]] = {}
        for place in list(ages):
            access, counter = place
            if (conflict := self._conflict(step, access, counter, reads, writes)) is None:
                continue
            number = 0 if self._sequences[access][counter] is None else ages[place]
            if counter == XCNT and (XCNT, "") in step.raises:
                self._end(ages, self._older(ages, ages[place]))  # a vector access waits itself
                continue
            found.setdefault(access, []).append((counter, number, *conflict))
        for access, conflicts in found.items():
            self._end(ages, [(access, counter) for counter in self._sequences[access]])
            counters = " and ".join(counter for counter, *_ in conflicts)
            _, _, registers, verb = conflicts[0]
            message = verb.format(register_names(registers)) + f": no sufficient wait for {counters} before it"
            yield MemoryWait(at, access, message, tuple([(counter, number) for counter, number, *_ in conflicts]))

    def _conflict(
        self, step: _Step, access: int, counter: str, reads: frozenset[int], writes: frozenset[int]
    ) -> tuple[frozenset[int], str] | None:
        """The registers of an outstanding access that a statement must not touch yet, and what it does to them."""
        first = self.steps[access].touched
        if counter in (XCNT, "expcnt") and first.kind != "direct":
            held = first.reads | EXEC if counter == XCNT and self._sequences[access][XCNT] == "" else first.reads
            if not writes.isdisjoint(held):
                why = "an access that may be issued again until its address is translated reads" \
                    if counter == XCNT else "an outstanding export reads"  # fmt: skip
                return writes & held, f"overwrites {{}}, which {why}"
            return None
        if not reads.isdisjoint(first.writes):
            return reads & first.writes, "reads {} while the access that writes it may be outstanding"
        if writes.isdisjoint(first.writes):
            return None
        sequence = self._sequences[access][counter]
        if sequence is not None and dict(step.raises).get(counter, None) == sequence:
            return None  # loads of one sequence write in order
        return writes & first.writes, "writes {} while an access that writes it may be outstanding"
