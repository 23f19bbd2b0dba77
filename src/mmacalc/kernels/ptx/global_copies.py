"""Bulk copies in the check of global memory (PTX ISA 9.7.9.25): they run in the async proxy, from their issue to their
end, and only who observes the end knows of what they did.

A load reads until the phase of its mbarrier is complete; a store or reduction writes until its thread has waited for
the bulk group without .read (with .read it is the shared memory alone that is free again). What they meet was ordered
before their issue or is a race; what threads wrote by the generic proxy needs a proxy fence in between. A reduction is
a relaxed access of .gpu scope each (9.7.9.25.4.2). Tensor maps that kernels write are read by the tensormap proxy: its
fence with .release belongs after the write, the one with .acquire before the use (9.7.13.5).
"""

from __future__ import annotations

import numpy as np

from .knowledge import AGENT, GPU, NO_STEP, Access
from .proxies import ProxyFences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .global_order import GlobalOrder
    from .machine import Machine
    from .program import Step
    from .threads import Threads

    Array = NDArray[Any]

__all__ = ["ASYNC", "GlobalCopies", "GlobalLoad", "GlobalStore", "TensorMapFences", "covered"]

ASYNC = 16
"""Of the last write of a granule: by the async proxy."""
WEAK, REDUCTION = Access(0, False, False, False), Access(GPU, False, False, False)


def covered(offsets: Array, size: int, granule: int) -> tuple[Array, Array]:
    """The granules that elements of `size` bytes at offsets cover whole, and of each the places of its bytes in the
    elements' bytes, one element after the other.

    >>> covered(np.array([8, 2, 0, 6]), 2, 4)[0]
    array([0])
    >>> covered(np.array([6, 2, 0, 4]), 2, 4)
    (array([0, 1]), array([[4, 5, 2, 3],
           [6, 7, 0, 1]]))
    """
    order = np.argsort(offsets, kind="stable")
    flat = (offsets[order][:, None] + np.arange(size)).reshape(-1)
    source = (order[:, None] * size + np.arange(size)).reshape(-1)
    starts = np.flatnonzero(flat % granule == 0)
    starts = starts[starts + granule <= len(flat)]
    whole = starts[flat[starts + granule - 1] == flat[starts] + granule - 1]
    return flat[whole] // granule, source[whole[:, None] + np.arange(granule)]


class GlobalLoad:
    """A bulk copy that reads global memory: granules, and who had written them last when it was issued."""

    __slots__ = ("at", "before", "step", "thread")
    step: Step
    thread: int
    at: Array
    before: Array

    def __init__(self, step: Step, thread: int, at: Array, before: Array) -> None:
        self.step, self.thread, self.at, self.before = step, thread, at, before


class GlobalStore:
    """A bulk copy that writes global memory. mark: how its writes stand in `GlobalOrder.writes` while it is in flight.
    overlaps: stores in flight that write some of the same granules. waited: whether its thread waited for its end."""

    __slots__ = ("access", "at", "done", "mark", "overlaps", "places", "step", "thread", "waited")
    step: Step
    thread: int
    at: Array
    places: Array
    mark: int
    access: Access
    done: bool
    waited: bool

    def __init__(self, step: Step, thread: int, at: Array, places: Array, mark: int, access: Access) -> None:
        self.step, self.thread, self.at, self.places, self.mark, self.access = step, thread, at, places, mark, access
        self.overlaps: list[tuple[GlobalStore, Array]] = []
        self.done = self.waited = False


class GlobalCopies:
    """The bulk copies of a grid in global memory."""

    order: GlobalOrder

    def __init__(self, order: GlobalOrder) -> None:
        self.order = order
        self.flying: dict[int, GlobalStore] = {}  # by mark

    # --- loads ---

    def loads(self, machine: Machine, step: Step, one: Threads, at: Array) -> GlobalLoad:
        """A thread issues a copy that reads granules."""
        order = self.order
        if order.enabled and len(at) and self._changed(at):
            self._check(machine, step, one, at, WEAK, "reads", None)
            self._check_proxy(machine, step, one, at)
        return GlobalLoad(step, int(one.number[0]), at, order.writes[at])

    def loaded(self, machine: Machine, load: GlobalLoad, agent: int, clock: int) -> None:
        """A load has ended: who knows the agent's clock knows it."""
        order = self.order
        if not order.enabled or not len(load.at) or agent >= order.stride - 1:
            return
        now = order.writes[load.at]
        changed = np.flatnonzero(now != load.before)
        if len(changed):
            place, other = int(load.at[changed[0]]) * order.granule, int(now[changed[0]])
            machine.launch.find(
                "race", load.step, f"may still read {order.place(place)} when it is written: the mbarrier of the copy "
                "must be waited for before", np.array([load.thread]), self._step(machine, other),
            )  # fmt: skip
        team = int(machine.team_of[load.thread]) + machine.knowledge.first_team
        access = machine.knowledge.coded(team * order.stride + agent, clock) & ~NO_STEP | min(load.step.index, NO_STEP)
        order.read_later(load.at, access)

    def _changed(self, at: Array) -> bool:
        order = self.order
        ends = np.array([at[0], at[-1]]) * order.granule
        return bool(order.changed) and not {*order.regions(ends).tolist()}.isdisjoint(order.changed)

    # --- stores ---

    def stores(
        self, machine: Machine, step: Step, one: Threads, at: Array, places: Array, data: Array, reduces: bool
    ) -> GlobalStore:
        """A thread issues a copy that writes granules, the bytes `places` of `data` as it is now."""
        order, thread = self.order, int(one.number[0])
        access = REDUCTION if reduces else WEAK
        mark: int = order.unknown(int(machine.team_of[thread]) + machine.knowledge.first_team, step)
        store = GlobalStore(step, thread, at, places, mark, access)
        if not order.enabled or not len(at):
            return store
        for region in np.unique(order.regions(at * order.granule)).tolist():
            order.entered_at_once(region)
        before = order.writes[at]
        for other in [self.flying[one] for one in np.unique(before).tolist() if one in self.flying]:
            if not (reduces and other.access.scope):
                store.overlaps.append((other, before == other.mark))
        self._check(machine, step, one, at, access, "writes", data[places])
        self._check_proxy(machine, step, one, at, None if reduces else data[places])
        order.mark_written(at, mark, access.scope | ASYNC)
        self.flying[mark] = store
        return store

    def stored(self, machine: Machine, store: GlobalStore, data: Array) -> None:
        """A store is about to write its bytes (flat), and has then ended."""
        order, at = self.order, store.at
        self.flying.pop(store.mark, None)
        store.done = True
        if not order.enabled or not len(at):
            return
        for other, mine in store.overlaps:
            if not other.done:
                other.overlaps.append((store, np.isin(other.at, at[mine])))
                continue
            now = machine.launch.memory.data[at[mine][:, None] * order.granule + np.arange(order.granule)]
            wrong = np.flatnonzero((now != data[store.places[mine]]).any(axis=1))
            if len(wrong):
                place = int(at[mine][wrong[0]]) * order.granule
                machine.launch.find(
                    "race", store.step, f"writes {order.place(place)}, which another bulk copy in flight writes, too: "
                    "which of them remains is open", np.array([store.thread]), other.step,
                )  # fmt: skip
        if store.waited:
            still = order.writes[at] == store.mark
            thread = slice(store.thread, store.thread + 1)
            access = int(machine.knowledge.agent[thread][0] | machine.knowledge.clocks()[thread][0])
            order.writes[at[still]] = access | min(store.step.index, NO_STEP)

    # --- checks ---

    def _check(
        self, machine: Machine, step: Step, one: Threads, at: Array, access: Access, does: str, data: Array | None
    ) -> None:
        order = self.order
        width, agent = len(at), np.broadcast_to(machine.knowledge.agent[one.use], len(at))
        before = order.writes[at]
        other = np.flatnonzero((before != 0) & ((before ^ agent) >> AGENT != 0))
        if does == "writes" and len(other):  # those in flight are compared when the second one has ended
            other = other[~np.isin(before[other], list(self.flying))]
        if len(other):
            scopes = order.scopes[at[other]]
            wrong = other[order.unordered(machine, one, at, width, other, before[other], scopes, access, does)]
            if data is not None and len(wrong):
                now = machine.launch.memory.data[at[wrong][:, None] * order.granule + np.arange(order.granule)]
                wrong = wrong[(now != data[wrong]).any(axis=1)]
            if len(wrong):
                first = int(wrong[0])
                order.race(machine, step, one, first, width, int(at[first]), int(before[first]), does, "wrote")
        if does == "writes" and order.entered:
            order.check_reads(machine, step, one, at, width, agent, access)

    def _check_proxy(self, machine: Machine, step: Step, one: Threads, at: Array, data: Array | None = None) -> None:
        """Whether a proxy fence lies between the generic writes of granules and a copy that accesses them now. data: of
        a store, which may write what is there: two writes in proxies that no fence orders leave either value (8.9.5,
        8.9.6). What a thread has read before needs none: CUTLASS's consumers have none before a stage is loaded again.
        """
        order, knowledge = self.order, machine.knowledge
        before = order.writes[at]
        generic = np.flatnonzero((before != 0) & (order.scopes[at] & ASYNC == 0))
        if data is not None and len(generic):
            now = machine.launch.memory.data[at[generic][:, None] * order.granule + np.arange(order.granule)]
            generic = generic[(now != data[generic]).any(axis=1)]
        if not len(generic):
            return
        team, member = int(one.team[0]), int(one.member[0])
        values, first = np.unique(before[generic] & ~NO_STEP, return_index=True)
        who = np.full(len(values), team), np.full(len(values), member)
        known = knowledge.ordered(*who, values) | (values >> AGENT == int(knowledge.agent[one.use][0]) >> AGENT)
        missing = machine.proxy_fences["global"].missing_beyond(knowledge, team, member, values[known])
        if missing.any():
            place = int(generic[first[np.flatnonzero(known)[np.flatnonzero(missing)[0]]]])
            other = self._step(machine, int(before[place]))
            line = f"the statement at line {other.line}" if other is not None else "another statement"
            does = "reads" if data is None else "writes"
            machine.launch.find(
                "proxy", step, f"{does} {order.place(int(at[place]) * order.granule)} by the async proxy, which {line} "
                "wrote by the generic proxy: fence.proxy.async (or .global) must come after the write, before the "
                "synchronisation", one.number, other,
            )  # fmt: skip

    def _step(self, machine: Machine, access: int) -> Step | None:
        steps, index = machine.program.steps, access & NO_STEP
        return steps[index] if index < len(steps) else None


class TensorMapFences:
    """fence.proxy.tensormap::generic: which writes of tensor maps in global memory were released and acquired."""

    machine: Machine
    releases: ProxyFences

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.releases = ProxyFences(machine.order)
        # (place of a map, its last write) -> team, member and clock of threads that acquired it
        self.acquired: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        self.fenced: set[int] = set()  # statements that write and release

    def fence(self, threads: Threads, words: tuple[str, ...], places: Array | None) -> None:
        """Threads fence. places: of the maps that they acquire."""
        machine = self.machine
        if "acquire" not in words:
            before = machine.order.tick(threads.team, threads.member)
            self.releases.fence(threads.team, threads.member, before)
        if places is None:
            return
        for team, member, place in zip(threads.team.tolist(), threads.member.tolist(), places.tolist()):
            write = self._last_write(place)
            if write and (
                machine.knowledge.ordered(np.array([team]), np.array([member]), np.array([write])).all()
                or self._together(team, member, write)
            ):
                clock = int(machine.order.clock[team, member])
                self.acquired.setdefault((place, write), []).append((team, member, clock))
        machine.order.tick(threads.team, threads.member)

    def _last_write(self, place: int) -> int:
        order = self.machine.launch.order
        writes = order.writes[place // order.granule : (place + 128) // order.granule]
        return int(writes.max(initial=0))

    def _together(self, team: int, member: int, write: int) -> bool:
        """Whether a map was written by tensormap.cp_fenceproxy of a thread's own warp, which is one copy by all of its
        lanes: CUTLASS has nothing between it and the warp's acquire."""
        number, _ = self.machine.knowledge.decoded(write)
        group, other = divmod(number, self.machine.launch.order.stride)
        if write & NO_STEP not in self.fenced or group != self.machine.knowledge.first_team + team:
            return False
        size = self.machine.block_size
        return other // size == member // size and other % size // 32 == member % size // 32

    def check(self, step: Step, one: Threads, place: int) -> None:
        """A copy of a thread reads the map at a place of global memory."""
        machine, order = self.machine, self.machine.launch.order
        write = self._last_write(place) if order.enabled else 0
        if not write:
            return
        team, member = one.team[:1], one.member[:1]
        index = write & NO_STEP
        other = machine.program.steps[index] if index < len(machine.program.steps) else None
        line = f"the statement at line {other.line}" if other is not None else "another statement"
        number, clock = machine.knowledge.decoded(write)
        own = number // order.stride == machine.knowledge.first_team + int(team[0])
        together = self._together(int(team[0]), int(member[0]), write)
        if not together and not order.known_repeated(machine, one, place // order.granule, write):
            problem = "and nothing orders that before: a barrier, or a release that this thread acquires, is missing"
        elif (
            index not in self.fenced
            and own
            and self.releases.missing(team, member, np.array([number % order.stride]), np.array([clock])).any()
        ):
            problem = "fence.proxy.tensormap::generic.release must come after the write"
        elif not any(
            machine.order.ordered(team, member, np.array([who]), np.array([when])).all()
            for group, who, when in self.acquired.get((place, write), ())
            if group == int(team[0])
        ):
            problem = "fence.proxy.tensormap::generic.acquire of the map must come before its use"
        else:
            return
        machine.launch.find("proxy", step, f"uses a tensor map that {line} wrote: {problem}", one.number, other)
