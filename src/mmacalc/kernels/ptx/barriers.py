"""The barriers of CTAs: bar and barrier, .sync, .arrive and .red (PTX ISA 9.0, 9.7.13.1)."""

from __future__ import annotations

import numpy as np

from ...base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .machine import Machine
    from .program import Step
    from .threads import Threads

    Array = NDArray[Any]

__all__ = ["WARP", "CtaBarriers"]

WARP = 32


class _Arrival(TupleRecord):
    """Threads that have come to a barrier: of one CTA, or of several until these are parted.

    following: the step where they go on; wanted: how many threads the barrier wants, 0 for all of the CTA; waits:
    False of .arrive; made: what these then make known, the clocks of their team's agents when they arrived.
    """

    following: int
    number: Array
    barrier: int
    wanted: int
    step: Step
    waits: bool
    made: Array | None


class CtaBarriers:
    """Who waits at the barriers of the resident CTAs."""

    machine: Machine

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.waiting: list[_Arrival] = []

    def arrive(self, step: Step, threads: Threads, following: int, barrier: int, count: int, waits: bool) -> None:
        """Threads come to a barrier of their CTA."""
        numbers = np.broadcast_to(barrier, threads.number.shape)
        self.machine.launch.synchronised(step, threads.number, numbers, np.broadcast_to(count or 0, numbers.shape))
        if waits and self._alike(_Arrival(following, threads.number, barrier, count, step, True, None)):
            return
        machine = self.machine
        for number in np.split(threads.number, np.flatnonzero(np.diff(threads.cta)) + 1):
            made = None
            if not waits:
                made = machine.order.release(int(machine.team_of[number[0]]), machine.member_of[number])
                machine.enter(following, number)
            self.waiting.append(_Arrival(following, number, barrier, count, step, waits, made))
        self.release()

    def _alike(self, entry: _Arrival) -> bool:
        """Threads of some CTAs come to a barrier, where their CTAs do the same, as they mostly do: either all living
        threads of these CTAs have come to it then, and go on, all CTAs at once, or more are to come to each. Whether
        that is so; the threads then wait in one entry."""
        machine, entries = self.machine, [*self.waiting, entry]
        plain = machine.launch.cluster_size == 1 and all(
            one.waits and one.step.meeting is None and (one.barrier, one.wanted) == (entry.barrier, entry.wanted)
            for one in entries
        )
        if not plain:
            return False
        number = entry.number if len(entries) == 1 else np.concatenate([one.number for one in entries])
        came = np.bincount(machine.cta_of[number], minlength=machine.ctas)
        here = np.flatnonzero(came)
        came, alive = came[here], machine.alive.reshape(machine.ctas, -1)[here].sum(axis=1)
        if (came < (entry.wanted or alive)).all():
            self.waiting.append(entry)
            return True
        if (came != alive).any() or (entry.wanted and (came != entry.wanted).any()):
            return False
        self.waiting = []
        self._meet_whole(here, entries)
        return True

    def _part(self) -> None:
        """Part what waits by CTAs: an entry of each."""
        cta_of = self.machine.cta_of
        self.waiting = [
            entry._replace(number=number)
            for entry in self.waiting
            for number in np.split(entry.number, np.flatnonzero(np.diff(cta_of[entry.number])) + 1)
        ]

    def _alive(self, cta: int) -> Array:
        """The living threads of a CTA."""
        first = cta * self.machine.block_size
        found: Array = first + np.flatnonzero(self.machine.alive[first : first + self.machine.block_size])
        return found

    def release(self) -> None:
        """Release the threads at each complete barrier."""
        self._part()
        groups: dict[tuple[int, int], list[_Arrival]] = {}
        alive = self.machine.alive.reshape(self.machine.ctas, -1).sum(axis=1).tolist()
        for entry in self.waiting:
            groups.setdefault((int(self.machine.cta_of[entry.number[0]]), entry.barrier), []).append(entry)
        kept: list[_Arrival] = []
        whole: dict[int, list[_Arrival]] = {}
        for (cta, barrier), entries in groups.items():
            wanted = entries[0].wanted or alive[cta]
            if len({entry.wanted for entry in entries}) > 1:
                self.machine.launch.find(
                    "barrier", entries[-1].step, "gives another number of threads than those who wait there",
                    entries[-1].number, other=entries[0].step,
                )  # fmt: skip
            came = sum(len(entry.number) for entry in entries)
            if came < wanted:
                kept += entries
                continue
            if came > wanted:
                self.machine.launch.find(
                    "barrier", entries[-1].step, f"{came} threads come to barrier {barrier}, which wants {wanted}: "
                    "it is complete with some of them, and the others begin its next phase", entries[-1].number,
                    other=entries[0].step if len(entries) > 1 else None,
                )  # fmt: skip
            if came == alive[cta] and self._is_whole(entries):
                whole[cta] = entries
            else:
                self._meet(cta, entries)
        if whole:
            self._meet_whole(np.array([*whole]), [entry for entries in whole.values() for entry in entries])
        self.waiting = kept

    def _is_whole(self, entries: list[_Arrival]) -> bool:
        """Whether the threads at a barrier wait for a CTA that is in no cluster, and nothing else is to do."""
        plain = all(entry.waits and entry.step.meeting is None for entry in entries)
        return plain and self.machine.launch.cluster_size == 1

    def _meet_whole(self, ctas: Array, entries: list[_Arrival]) -> None:
        """The threads of whole CTAs, which are in no cluster, meet, each CTA at a barrier of its own, all at once."""
        machine = self.machine
        machine.events += len(ctas)
        if len(entries) > 1:  # or whole warps have come to one statement
            self._check_warps(entries)
        machine.order.meet(ctas)  # teams of one CTA each
        for entry in entries:
            machine.enter(entry.following, entry.number)

    def _meet(self, cta: int, entries: list[_Arrival]) -> None:
        machine, order = self.machine, self.machine.order
        machine.events += 1
        self._check_warps(entries)
        waiting = np.concatenate([entry.number for entry in entries if entry.waits] or [np.zeros(0, np.int64)])
        arrived = [entry.made for entry in entries if entry.made is not None]
        team = np.array([machine.team_of[cta * machine.block_size]])
        if machine.launch.cluster_size == 1 and not arrived and len(waiting) == len(self._alive(cta)):
            order.meet(team)
        elif len(waiting):
            made = np.zeros(order.agents, np.int32)
            for clocks in arrived:
                made[: len(clocks)] = np.maximum(made[: len(clocks)], clocks)
            order.join(team, machine.member_of[waiting][None], made)
        for entry in entries:
            if entry.step.meeting is not None:
                entry.step.meeting(machine, machine.threads(entry.number), waiting)
            if entry.waits:
                machine.enter(entry.following, entry.number)

    def _check_warps(self, entries: list[_Arrival]) -> None:
        """Whether the threads of each warp came to the same statement, where it is .aligned (PTX ISA 9.7.13.1)."""
        steps = {entry.step.index: entry.step for entry in entries}
        for index, step in steps.items():
            if step.statement.root != "bar" and "aligned" not in step.statement.modifiers:
                continue
            self.check_aligned(step, np.concatenate([one.number for one in entries if one.step.index == index]))

    def check_aligned(self, step: Step, number: Array) -> None:
        """Whether threads come to an .aligned barrier in whole warps; lanes that have ended do not count."""
        machine = self.machine
        if machine.block_size % WARP == 0:
            came = np.zeros((machine.count // WARP, WARP), bool)
            came.reshape(-1)[number] = True
            if not (machine.alive.reshape(came.shape) & ~came)[came.any(axis=1)].any():
                return
        for cta in np.unique(machine.cta_of[number]).tolist():
            mine = np.sort(number[machine.cta_of[number] == cta])
            warps = np.unique(mine // WARP)
            lanes = (warps[:, None] * WARP + np.arange(WARP)).reshape(-1)
            lanes = lanes[(lanes < machine.count) & (machine.cta_of[lanes % machine.count] == cta)]
            missing = lanes[machine.alive[lanes] & ~np.isin(lanes, mine)]
            if len(missing):
                mine = mine[np.isin(mine // WARP, missing // WARP)]
                machine.launch.find("barrier", step, "not all threads of the warp execute it; that is undefined", mine)

    def deadlock(self) -> None:
        """Threads wait that no other thread will release: say for what."""
        machine = self.machine
        self._part()
        for entry in self.waiting:
            if not entry.waits:
                continue
            cta = int(machine.cta_of[entry.number[0]])
            here = [one for one in self.waiting if machine.cta_of[one.number[0]] == cta]
            alive = self._alive(cta)
            where = machine.where(np.setdiff1d(alive, entry.number))
            came = sum(len(one.number) for one in here if one.barrier == entry.barrier)
            elsewhere = sorted({one.barrier for one in here} - {entry.barrier})
            if elsewhere and not where:
                where = f"; threads have come to barrier {', '.join(map(str, elsewhere))} instead"
            machine.launch.find(
                "deadlock", entry.step, f"is never released: barrier {entry.barrier} wants "
                f"{entry.wanted or len(alive)} threads, and {came} have come{where}", entry.number,
            )  # fmt: skip
