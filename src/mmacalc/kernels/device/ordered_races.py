"""Races in shared memory where waves of a workgroup tell each other by barriers in it: what happens before what.

Every wave has a clock, and so has each kind of copy that it starts and that ends by itself (`COPIES`): an *agent*. A
wave knows of each agent of its workgroup up to which clock everything has happened. What a wave does at a barrier in
shared memory it *releases* there: what it knows, and itself. When a phase of the barrier ends, that becomes what a wave
*acquires* that then reads the barrier. A barrier of the whole workgroup joins what all of them know. Two accesses of a
byte race as in `races`, unless the later one's wave knows of the earlier one.
"""

from __future__ import annotations

import numpy as np

from .memory import untouched
from .races import AGAINST, UNFETCHED, UNWAITED, Race, RaceShadow, together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.arrays import Array
    from .races import Stored

__all__ = ["COPIES", "OrderedRaces"]

COPIES = ("async", "tensor")
"""Kinds of copies that are agents of their own."""
_ENDS = {"write": UNWAITED, "read": UNFETCHED}


class _Table:
    """By byte, the clock of the last access of a kind by an agent (0: none), the clock of its wave, and its label.
    most: by workgroup, the last clock of all."""

    __slots__ = ("clocks", "labels", "most", "waves")

    def __init__(self, size: int, groups: int, copies: bool) -> None:
        self.clocks: Array = untouched((size,), np.int32)
        self.labels: Array = untouched((size,), np.uint16)
        self.waves: Array | None = untouched((size,), np.int32) if copies else None
        self.most: Array = np.zeros(groups, np.int64)


class OrderedRaces(RaceShadow):
    """The races of some workgroups. stride: bytes of shared memory of each; waves: of each.

    >>> two = OrderedRaces(64, 64, 2)
    >>> byte, first, second = np.array([8]), np.array([1]), np.array([2])
    >>> two.note("write", byte, 4, first)
    >>> two.release(0, 0, 32), two.pass_on(0, 0), two.end_phase(32), two.acquire(0, 1, np.array([32]))
    (None, None, None, True)
    >>> two.note("read", byte, 4, second)
    >>> two.note("write", byte, 4, first).kind
    'read'
    """

    stride: int
    waves: int

    def __init__(self, size: int, stride: int, waves: int) -> None:
        super().__init__(size)
        self.stride, self.waves = stride, waves
        groups, agents = size // stride, waves * (1 + len(COPIES))
        self.known: Array = np.zeros((groups, waves, agents), np.int32)
        """By workgroup and wave, up to which clock it knows of each agent; of itself, its clock."""
        self.known[:, np.arange(waves), np.arange(waves)] = 1
        self.copied: Array = np.zeros((groups, agents), np.int32)
        """By workgroup, how many copies of each kind a wave has started."""
        self._tables: dict[tuple[str, int], _Table] = {}
        self._held: dict[int, Array] = {}  # by barrier, what is released in this phase
        self._ended: dict[int, Array] = {}  # by barrier, what is released in those that have ended

    def take_over(self, before: RaceShadow) -> None:
        """Enter what was accessed since the last barrier of the workgroup, before the first one in shared memory."""
        before.enter_deferred()
        for kind in (*AGAINST, UNWAITED, UNFETCHED):
            for layer in before.layers_of(kind, make=False):
                at = np.flatnonzero(layer.waves)
                for label in np.unique(layer.labels[at]).tolist():
                    some = at[layer.labels[at] == label]
                    self._put(kind, some, layer.waves[some].astype(np.int64) - 1, label, "")

    def copying(self, kind: str, offsets: Array, size: int, wave: int, label: int, copies: str) -> None:
        """A copy by a wave is on its way, whose accesses have been entered as the wave's (`take_over`)."""
        places = (offsets[:, None] + np.arange(size)).ravel()
        if (own := self._tables.get((kind, wave))) is not None:
            own.clocks[places] = 0
        self._put(kind, places, np.full(len(places), wave), label, copies)
        self.copied[offsets[0] // self.stride, self.agent(wave, copies)] += 1

    # --- what orders ---

    def barrier(self, workgroups: Sequence[int] = (0,), stride: int = 0) -> None:
        """The waves of some workgroups have met."""
        del stride
        own = np.arange(self.waves)
        for group in workgroups:
            self.known[group] = self.known[group].max(axis=0)
            self.known[group, own, own] += 1

    def release(self, group: int, wave: int, place: int, copies: str = "") -> None:
        """A wave arrives at the barrier at a byte of shared memory, or its copies of a kind do (then `pass_on`)."""
        known = self.known[group, wave].copy()
        if copies:
            agent = self.agent(wave, copies)
            known[agent] = self.copied[group, agent] + 1  # the one that ends now is counted behind its instruction
        held = self._held.get(place)
        self._held[place] = known if held is None else np.maximum(held, known)

    def pass_on(self, group: int, wave: int) -> None:
        """What a wave does from now on is not released by what it has released before."""
        self.known[group, wave, wave] += 1

    def end_phase(self, place: int) -> None:
        """A phase of a barrier has ended."""
        held, ended = self._held.pop(place, None), self._ended.get(place)
        if held is not None:
            self._ended[place] = held if ended is None else np.maximum(held, ended)

    def acquire(self, group: int, wave: int, places: Array) -> bool:
        """A wave reads some words of 8 bytes, of which some may be barriers: whether it has learned anything."""
        learned = False
        for place in self._ended.keys() & set(places.tolist()):
            own, found = self.known[group, wave], self._ended[place]
            learned |= bool((found > own).any())
            clock = int(own[wave])
            np.maximum(own, found, out=own)
            own[wave] = clock
        return learned

    def agent(self, wave: int, copies: str) -> int:
        """The agent of a kind of copies of a wave."""
        return wave + self.waves * (1 + COPIES.index(copies))

    # --- accesses ---

    def note(
        self, kind: str, offsets: Array, size: int, waves: Array, label: int = 0, stored: Stored | None = None,
        copies: str = "",
    ) -> Race | None:  # fmt: skip
        """As `RaceShadow.note`. copies: the kind of copies that make the accesses; "" of the waves themselves."""
        places = (offsets[:, None] + np.arange(size)).ravel()
        own = np.repeat(waves.astype(np.int64) - 1, size)
        race: Race | None = None
        for (other, agent), table in list(self._tables.items()):
            if (race is None or race.same) and other in AGAINST.get(kind, ()):
                against_write = kind == "write" and other in ("write", UNWAITED)
                race = (
                    self._against((other, agent), table, (places, own, size), stored if against_write else None) or race
                )
        if kind == "write" and (race is None or race.same) and len(np.unique(places)) < len(places):
            race = together(offsets, size, waves, (label, stored)) or race
        self._put(kind, places, own, label, copies)
        return race

    def _against(
        self, other: tuple[str, int], table: _Table, where: tuple[Array, Array, int], stored: Stored | None
    ) -> Race | None:
        """The first race with accesses of a kind by an agent, one that does harm if there is one."""
        (kind, agent), (places, own, size) = other, where
        wave = agent % self.waves
        known = self.known[:, :, agent]
        if (known.min(axis=1) >= table.most).all():
            return None
        clocks, group = table.clocks[places], places // self.stride
        wrong = (clocks > known[group, own]) & (own != wave)
        if not wrong.any():
            return None
        harm = wrong
        if stored is not None:
            before, after = stored()
            harm = wrong & (before != after).ravel()
        at = int(np.flatnonzero(harm if harm.any() else wrong)[0])
        if table.waves is not None and table.waves[places[at]] <= self.known[group[at], own[at], wave]:
            kind = _ENDS[kind]  # a barrier comes in between, but not behind the end of the copy
        return Race(at // size, wave + 1, kind, int(table.labels[places[at]]), not harm.any())

    def _put(self, kind: str, places: Array, own: Array, label: int, copies: str) -> None:
        for wave in np.unique(own).tolist():
            at = places[own == wave]
            groups = at // self.stride
            agent = self.agent(wave, copies) if copies else wave
            table = self._tables.get((kind, agent))
            if table is None:
                table = self._tables[kind, agent] = _Table(self.size, len(self.known), bool(copies))
            clocks = self.known[:, wave, wave]
            if table.waves is not None:
                table.waves[at] = clocks[groups]
                clocks = self.copied[:, agent] + 1
            table.clocks[at], table.labels[at] = clocks[groups], label
            np.maximum.at(table.most, groups, clocks[groups])
