"""A batch of workgroups that run together: the state of the machine, and one instruction after the other."""

from __future__ import annotations

import math
from functools import cached_property
from hashlib import blake2b

import numpy as np

from ...base.errors import Error, plural
from ..device.findings import Reporter, Stop
from ..device.launch import collector_paused
from ..device.ordered_races import COPIES, OrderedRaces
from ..device.races import UNWAITED
from ..device.scheduler import Waves
from ..device.undefined import unpacked
from .checks import Alignment, Barriers, Bounds, Moves, Products, Races, Unread, Waits
from .clusters import ClusterBarrier, Multicasts
from .counters import Counters
from .global_moves import GlobalMove
from .indexing import relative_key
from .local_access import LocalMove
from .named_barriers import MOST, NamedBarriers
from .ordering import GlobalRaces
from .runs import CoreWaves, Run
from .state import ACCUMULATORS, EXEC, GPR_INDEX, M0, Group
from .undefined import Uninitialised

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from typing import Any

    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from ..device.findings import Tally
    from ..device.launch import Dim3
    from ..device.memory import GlobalMemory
    from ..device.observer import Observer
    from ..device.shared import PrivateMemory, SharedMemory, Touched
    from ..device.traffic import BankCounter
    from .checks import LocalAccess
    from .counters import Flight, Landing
    from .memory import Access, ActiveLanes
    from .program import Program, Step
    from .state import Registers

__all__ = ["Batch"]

FIRST_TURN, TURNS = 16, 8
"""Where the state of the machine is compared: from the 16th turn of waves that stood back, up to the 8th turn after
every power of two."""
PLACES = 6
"""How many places of waves a message names."""


class Batch:
    """Some workgroups, and what watches them.

    waves: which run, wait and have ended. limit: of the instructions of the launch. later: the workgroups of the launch
    that come after these, in words. trace: the row of a wave, and what is called after each of its instructions.
    """

    alignment: Alignment
    barriers: Barriers
    cluster: ClusterBarrier
    cluster_state: Array
    multicasts: Multicasts
    bounds: Bounds
    counters: Counters
    grid_races: GlobalRaces
    later: str
    lds: SharedMemory
    limit: float
    memory: GlobalMemory
    moves: Moves
    products: Products
    program: Program
    races: Races
    registers: Registers
    reporter: Reporter
    running: Step
    scratch: PrivateMemory
    steps: int
    tally: Tally
    uninitialised: Uninitialised
    unread: Unread
    waits: Waits
    waves: Waves

    def __init__(  # noqa: PLR0913
        self,
        program: Program,
        registers: Registers,
        memory: GlobalMemory,
        stores: tuple[SharedMemory, PrivateMemory],
        groups: list[Dim3],
        tally: Tally,
        banks: BankCounter | None,
        schedule: int | None = None,
    ) -> None:
        self.program, self.registers, self.memory, self.tally = program, registers, memory, tally
        self.lds, self.scratch = stores
        self.waves = Waves(groups, registers.waves // len(groups), schedule)
        self.counters = Counters(registers.waves, program.target.generation, program.target.translates)
        self.reporter = Reporter(tally, self.waves)
        self.moves, self.products = Moves(tally, banks), Products(self.reporter)
        self.waits = Waits(self.counters, program, self.reporter)
        self.races = Races(self.lds, self.counters, program, self.reporter)
        self.grid_races = GlobalRaces(self.memory, program, self.reporter)
        self.alignment = Alignment(self.reporter, program.target.translates)
        self.unread = Unread(self.lds.size)
        began = unpacked(registers.s[EXEC : EXEC + registers.lanes // 32], registers.lanes)
        self.barriers = Barriers(self.waves, program, self.reporter, began)
        self.bounds = Bounds(self.lds, self.scratch, program.target.architecture.lds_bytes, self.reporter)
        self.uninitialised = Uninitialised(registers, program, self.reporter)
        self.steps, self.limit, self.later = 0, math.inf, ""
        self.trace: tuple[int, Callable[[Step, Group, int], None]] | None = None
        self.observers: tuple[Observer, ...] = ()
        self.named: NamedBarriers = NamedBarriers(self.waves)
        self._unwaited: dict[tuple[int, int], list[tuple[int, Landing]]] = {}  # by workgroup and barrier, 0 its own
        self._rows: Array = np.zeros(0, np.int64)  # the waves whose block runs
        self._turns, self._state = 0, b""  # how often waves that stood back have gone on, and the state at one of them
        self.prepared: dict[Hashable, Any] = {}  # for the core, by what it is for
        self.in_clusters(1, [0] * len(groups))
        self.running: Step

    def in_clusters(self, size: int, state: list[int]) -> None:
        """The workgroups are in clusters of `size`, one after another. state: what IB_STS2 is in each."""
        self.cluster = ClusterBarrier(self.waves, self.program, self.reporter, size)
        self.multicasts = Multicasts(self.waves, self.reporter, size)
        self.cluster_state: Array = np.array(state, np.int64)

    def accessed(self, event: LocalAccess) -> None:
        """LDS is about to be accessed."""
        self.moves.accessed(event)
        self.waits.accessed(event)
        self.races.accessed(event)
        self.alignment.accessed(event)
        self.unread.accessed(event)
        for observer in self.observers:
            observer.shared(self.running, event.lanes, event.offsets, event.lanes.size, event.kind)

    def reaches(self, lanes: ActiveLanes, access: Access, offsets: Array) -> None:
        """Global memory is about to be accessed."""
        self.moves.moved(access, len(offsets))
        for observer in self.observers:
            kind = {"load": "read", "store": "write"}.get(access.action, "atomic")
            observer.memory(self.running, lanes, lanes.addresses.astype(np.int64), access.size, kind)

    # --- running ---

    def run(self, tick: Callable[[], None]) -> None:
        """Run all waves to their end.

        Raises:
            KeyboardInterrupt: with the places of the waves.
        """
        try:
            with collector_paused():
                self._run(tick)
        except KeyboardInterrupt:
            if len(self._rows):
                self.registers.pc[self._rows] = self.running.instruction.address
            raise KeyboardInterrupt(f"interrupted after {self._places()}") from None
        finally:
            self.program.settle()

    def _run(self, tick: Callable[[], None]) -> None:
        registers, waves = self.registers, self.waves
        while True:
            found = waves.next(registers.pc)
            if found is not None:
                address, rows = found
                if not registers.one_mode:
                    modes = registers.modes[rows]
                    rows = rows[modes == modes[0]]
                self._run_block(address, Group(registers, self, rows))
                tick()
            elif waves.ended.all():
                self.barriers.finish()
                self.multicasts.finish()
                return
            else:
                self._release()

    def _run_block(self, address: int, group: Group) -> None:
        separate = self._separate()
        block, parts = self.program.block(address, separate)
        last = block[-1].instruction
        self.registers.pc[group.rows], self._rows = last.address + last.size, group.numbers()
        alone = self.trace is None and not self.observers
        for part in parts:
            if not isinstance(part, Run):
                self._step(part, group)
                continue
            at, alone = 0, alone and separate == self._separate()  # a barrier in LDS may be the first one
            while at < len(part.steps):
                before, at = at, part.carry_out(group, at) if alone and self._run_fits(part, group) else at
                if at == before:
                    self._step(part.steps[at], group)
                    at += 1

    def _separate(self) -> tuple[type, ...]:
        """Which accesses are looked at one by one."""
        ordered = (LocalMove,) if self.ordered is not None else ()
        return (*ordered, GlobalMove) if self.grid_races.separate else ordered

    def _run_fits(self, run: Run, group: Group) -> bool:
        return self.tally.executed + len(run.steps) * group.count <= self.limit

    def _step(self, step: Step, group: Group) -> None:
        if self.tally.executed >= self.limit:
            self.registers.pc[group.rows] = step.instruction.address
            raise Stop(f"the launch is at its limit, stopped after {self._places()}{self._found()}")
        self.execute(step, group)

    @cached_property
    def core(self) -> CoreWaves:
        """What the core sees of the waves."""
        found = CoreWaves(self.registers)
        checks = self.grid_races.checks
        found.reach(self.memory, None if checks is None else checks.shadow)
        found.share(self.lds, self.unread, self.waves.workgroup_of, self.waves.wave_in_group)
        return found

    def _places(self) -> str:
        """How many instructions were executed, and where the waves are that have not ended."""
        parts, waves, pc = [], self.waves, self.registers.pc
        for at, waiting in sorted({*zip(pc.tolist(), waves.waiting.tolist())}):
            rows = np.flatnonzero((pc == at) & (waves.waiting == waiting) & ~waves.ended)
            if len(rows):
                place = int(waves.place[rows[0]]) if waiting else at
                known = self.program.instructions.get(place)
                text = "no instruction" if known is None else self.tally.describe(known)
                who = f"{plural(len(rows), 'wave')} {'waiting ' if waiting else ''}at {place:#x} ({text})"
                parts.append(f"{who}, first {waves.text(int(rows[0]))}")
        ended = int(waves.ended.sum())
        parts += [f"{plural(ended, 'wave')} ended"] if ended else []
        more = [f"{plural(len(parts) - PLACES, 'place')} more"] if len(parts) > PLACES else []
        return f"{plural(self.tally.executed, 'instruction')}: {'; '.join(parts[:PLACES] + more)}"

    def _found(self) -> str:
        """The first finding of a launch that does not end, which is often why."""
        findings = list(self.tally.findings.values())
        return f". Found wrong before that: {findings[0].sentence}" if findings else ""

    def execute(self, step: Step, group: Group) -> None:
        """Carry out one instruction in a group of waves."""
        self.steps += 1
        if group.mode.skips and step.vector:
            return
        step.executed += group.count
        self.tally.executed += group.count
        if not step.relative and not (self.registers.indexes and step.indexable):
            if high := group.mode.high_bits:
                step = self._within(step, group, self.program.with_high_bits(step, high), "S_SET_VGPR_MSB", high)
            self._execute(step, group)
            return
        if group.mode.high_bits:
            why = "chooses registers by M0 and by S_SET_VGPR_MSB, which is not covered"
            raise Error(f"{self._where(group, step.instruction)} {why}")
        values = group.s[M0, group.rows]
        keys = relative_key(
            step.instruction.name, values if group.mode.bits & GPR_INDEX or step.relative else values * 0
        )
        for key in np.unique(keys).tolist():
            other = self._within(step, group, self.program.indexed(step, key), "M0", key & 0x3FF)
            self._execute(other, Group(self.registers, self, group.numbers()[keys == key]))

    def _within(self, step: Step, group: Group, other: Step, name: str, value: int) -> Step:
        """An instruction with the registers that something chooses for it, all of which the kernel has."""
        most = max([number for number in other.touched if number < ACCUMULATORS], default=0)
        if most >= len(self.registers.v):
            raise Error(
                f"{self._where(group, step.instruction)}: {name} is {value}, so it means v{most}; "
                f"the kernel has {len(self.registers.v)} vector registers"
            )
        return other

    def _execute(self, step: Step, group: Group) -> None:
        self.running = step
        for observer in self.observers:
            observer.before(step, group)
        self.waits.before(step, group)
        self.uninitialised.before(step, group)
        mask = group.mask
        self.guarded(step, group, step.run)
        if step.count:
            self.issue(step, group)
        self.uninitialised.after(step, group, mask)
        for observer in self.observers:
            observer.after(step, group)
        if self.trace is not None:
            row, show = self.trace
            found = np.flatnonzero(group.numbers() == row)
            if len(found):
                show(step, group, int(found[0]))

    def guarded(self, step: Step, group: Group, run: Callable[[Group], None]) -> None:
        """Carry out an instruction, or a part of it.

        Raises:
            Error: what is not covered, with the place.
        """
        try:
            run(group)
        except Stop:
            raise
        except Error as error:
            raise Error(f"{self._where(group, step.instruction)}: {error}") from None

    def issue(self, step: Step, group: Group) -> Flight | None:
        """Waves have issued an access; None if no check asks whether it has ended."""
        flight = self.waits.issue(step, group)
        if step.count in COPIES and (races := self.ordered) is not None:
            numbers = group.numbers()
            groups, waves = self.waves.workgroup_of[numbers], self.waves.wave_in_group[numbers]
            agents = races.agent(0, step.count) + waves
            races.copied[groups, agents] += 1
            if flight is not None:
                flight.clocks = np.zeros(len(self.waves.ended), np.int64)
                flight.clocks[numbers] = races.copied[groups, agents]
        self.grid_races.raised(group, self.counters.kinds[step.count])
        return flight

    def wait(self, group: Group, waits: dict[str, int]) -> None:
        """Waves wait until at most a number of accesses of each counter is outstanding."""
        self.counters.wait(group, waits)
        self.grid_races.waited(group, waits)

    def _where(self, group: Group, instruction: DecodedInstruction) -> str:
        return self.reporter.where(int(group.numbers()[0]), instruction)

    # --- barriers ---

    def _check_progress(self) -> None:
        """Compare the state of the machine with an earlier one: what comes back comes back for ever.

        Raises:
            Error: all waves wait for what none of them will do.
        """
        self._turns += 1
        since = self._turns - (1 << self._turns.bit_length() - 1)
        if self._turns < FIRST_TURN or since > TURNS:
            return
        registers, digest = self.registers, blake2b(digest_size=16)
        parts = (registers.pc, registers.s, registers.v, registers.a, self.waves.ended, self.waves.waiting,
                 self.lds.data, self.scratch.data, self.memory.data)  # fmt: skip
        for part in parts:
            digest.update(np.ascontiguousarray(part))
        found = digest.digest()
        if since and found == self._state:
            later = f"; {self.later} have not started" if self.later else ""
            raise Stop(f"the waves wait for ever, for what none of them will do: nothing changes any more{later}. "
                       f"They are stopped after {self._places()}{self._found()}")  # fmt: skip
        if not since:
            self._state = found

    def barrier(self, group: Group, instruction: DecodedInstruction, signals: bool, waits: bool) -> None:
        """Waves arrive at a barrier, or wait at it."""
        self.waves.arrive(group.rows, instruction.address, signals, waits)
        if signals:
            self.barriers.arrived(group, instruction)
            self.grid_races.signalled(group)
            self._keep_unwaited(group, 0)

    def _keep_unwaited(self, group: Group, number: int) -> None:
        """Keep what the waves that signal a barrier have not waited for."""
        self.settle_copies(group.numbers())
        for address, landing in self.counters.unfinished_in_lds(group):
            owners = self.waves.workgroup_of[landing.waves]
            for workgroup in np.unique(owners).tolist():
                self._unwaited.setdefault((workgroup, number), []).append((address, landing.of(owners == workgroup)))

    # --- barriers in LDS ---

    @property
    def ordered(self) -> OrderedRaces | None:
        """The races in LDS where waves meet at barriers in it; None before the first wave does."""
        races = self.lds.races
        return races if isinstance(races, OrderedRaces) else None

    def ordered_lds(self) -> OrderedRaces:
        """The races in LDS, which from now on are followed by what happens before what."""
        races = self.ordered
        if races is None:
            races = OrderedRaces(len(self.lds.data), self.lds.stride, len(self.waves.ended) // len(self.waves.groups))
            races.take_over(self.lds.races)
            self.lds.races = races
            for flight in [one for one in self.counters.flights if one.kind in COPIES]:
                flight.clocks = np.zeros(len(self.waves.ended), np.int64)
                for landing in flight.landings:
                    self._copying(races, flight, landing)
        return races

    def _copying(self, races: OrderedRaces, flight: Flight, landing: Landing) -> None:
        """A copy was on its way before races in LDS were followed so."""
        assert flight.clocks is not None
        label, kind = self.lds.labels.label(flight.address), "write" if landing.kind == UNWAITED else "read"
        for row in np.unique(landing.waves).tolist():
            wave, mine = int(self.waves.wave_in_group[row]), landing.waves == row
            races.copying(kind, landing.offsets[mine], landing.size, wave, label, flight.kind)
            flight.clocks[row] = races.copied[self.waves.workgroup_of[row], races.agent(wave, flight.kind)]

    def barriers_read(self, rows: Array, offsets: Array, size: int) -> None:
        """Waves read bytes of LDS, of which some may be barriers. Their copies that have arrived there have ended."""
        races = self.ordered
        if races is None:
            return
        for row in np.unique(rows).tolist():
            at = offsets[rows == row]
            group, wave = int(self.waves.workgroup_of[row]), int(self.waves.wave_in_group[row])
            if races.acquire(group, wave, np.unique(np.concatenate([at & ~7, at + size - 1 & ~7]))):
                for kind in COPIES:
                    self.counters.copied(row, kind, int(races.known[group, wave, races.agent(wave, kind)]))

    def settle_copies(self, rows: Array) -> None:
        """What waves know of their own copies between memory and LDS, before they meet others: which have ended."""
        races = self.ordered
        if races is None:
            return
        for row in rows.tolist():
            group, wave = int(self.waves.workgroup_of[row]), int(self.waves.wave_in_group[row])
            for kind in COPIES:
                agent = races.agent(wave, kind)
                ended = self.counters.copies_ended(row, kind, int(races.copied[group, agent]))
                races.known[group, wave, agent] = max(races.known[group, wave, agent], ended)

    def cluster_barrier(self, group: Group, instruction: DecodedInstruction, signals: bool, waits: bool) -> None:
        """Waves signal the barrier of their cluster, or wait at it."""
        self.cluster.arrive(group, instruction, signals, waits)
        if signals:
            self.grid_races.signalled_cluster(group, self.cluster.signalled)

    def named_signalled(self, group: Group, row: int, number: int) -> None:
        """A wave signals a named barrier."""
        races, workgroup = self.ordered_lds(), int(self.waves.workgroup_of[row])
        wave = int(self.waves.wave_in_group[row])
        self._keep_unwaited(Group(self.registers, self, np.array([row])), number)
        races.release(workgroup, wave, _named(workgroup, number))
        races.pass_on(workgroup, wave)
        for address, one in self._unwaited.pop((workgroup, number), []):
            races.note(one.kind, one.offsets, one.size, one.numbers, self.lds.labels.label(address))

    def named_completed(self, workgroup: int, number: int) -> None:
        """A named barrier is completed: what its members have done before comes before what they do behind it."""
        self.ordered_lds().end_phase(_named(workgroup, number))

    def _release(self) -> None:
        """Let waves go on whose workgroup or cluster has come to its barrier, or if there are none, those that stand
        back.

        Raises:
            Error: no wave can go on, or nothing changes when they do.
        """
        released = self.waves.released()
        if released:
            self.barriers.met(released)
            self.grid_races.met(released)
            unwaited: list[tuple[Hashable, Touched]] = []
            for workgroup in sorted(released):
                unwaited += self._unwaited.pop((workgroup, 0), [])
            self.lds.barrier(released, unwaited)
        if self.waves.elsewhere.any():
            met = self.cluster.released()
            if len(met):
                self.grid_races.met_cluster(met, self.cluster.waited[met], self.cluster.size)
            released = released or met.tolist()
            freed = self.named.released()
            for row in freed.tolist():
                group, wave = int(self.waves.workgroup_of[row]), int(self.waves.wave_in_group[row])
                self.ordered_lds().acquire(group, wave, np.array([_named(group, int(self.named.joined[row]))]))
            if len(freed):
                return
        if released:
            return
        if self.waves.resume():
            self._check_progress()
        else:
            row = int(np.flatnonzero(self.waves.waiting)[0])
            why = "other waves of its workgroup never signal it"
            if self.waves.elsewhere[row]:
                why = (self.named if self.waves.named[row] else self.cluster).missing(row)
            raise Error(
                f"{self.waves.text(row)} waits for ever at the barrier at {int(self.waves.place[row]):#x}: {why}"
            )


def _named(workgroup: int, number: int) -> int:
    """A named barrier, as races in LDS are told of it: below all places there."""
    return -1 - workgroup * (MOST + 1) - number
