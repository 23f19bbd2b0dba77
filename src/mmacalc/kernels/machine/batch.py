"""A batch of workgroups that run together: their state, and the order in which waves run."""

from __future__ import annotations

import math

import numpy as np

from ...errors import Error, counted
from .counters import Counters, Landing
from .indexing import relative_key
from .state import ACCUMULATORS, GPR_INDEX, M0, Group
from .watching import NONE_UNDEFINED, Stop, Undefined, Watched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from ...asm.decoded import DecodedInstruction
    from ..device.launch import Dim3
    from ..device.memory import GlobalMemory
    from ..device.shared import PrivateMemory, SharedMemory
    from .program import Program, Step
    from .state import Registers
    from .tally import Tally

    Array = NDArray[Any]

__all__ = ["Batch"]

PATIENCE = 4096
"""Blocks that one group of waves may run while others could, before these have their turn."""
PLACES = 6
"""How many places of waves a message names."""


class Batch(Watched):
    """Some workgroups. workgroup_of, wave_in_group: of each wave; groups: where the workgroups are in the grid. limit:
    of the instructions of the launch."""

    counters: Counters
    groups: list[Dim3]
    lds: SharedMemory
    lds_counter: Any
    memory: GlobalMemory
    program: Program
    registers: Registers
    scratch: PrivateMemory
    steps: int
    tally: Tally

    def __init__(
        self,
        program: Program,
        registers: Registers,
        memory: GlobalMemory,
        stores: tuple[SharedMemory, PrivateMemory],
        groups: list[Dim3],
        tally: Tally,
        lds_counter: Any,
    ) -> None:
        self.program, self.registers, self.memory = program, registers, memory
        self.lds, self.scratch = stores
        self.groups, self.tally, self.lds_counter = groups, tally, lds_counter
        count = registers.waves
        each = count // len(groups)
        self.workgroup_of: Array = np.repeat(np.arange(len(groups)), each)
        self.wave_in_group: Array = np.tile(np.arange(each), len(groups))
        self.counters = Counters(count, program.target.generation, program.target.translates)
        self.ended: Array = np.zeros(count, np.bool_)
        self.waiting: Array = np.zeros(count, np.bool_)
        self.signalled: Array = np.zeros(count, np.int64)
        self.waited: Array = np.zeros(count, np.int64)
        self.place: Array = np.zeros(count, np.int64)
        self.unwaited: dict[int, list[tuple[int, Landing]]] = {}
        self.apart: dict[int, tuple[int, int]] = {}
        self.steps = 0
        self.limit: float = math.inf
        self._rows: Array = np.zeros(0, np.int64)  # the waves whose block runs
        self.trace: tuple[int, Callable[[Step, Group, int], None]] | None = None
        self._taint: Array | None = None

    # --- running ---

    def run(self, tick: Callable[[], None]) -> None:
        """Run all waves to their end.

        Raises:
            KeyboardInterrupt: with the places of the waves.
        """
        try:
            self._run(tick)
        except KeyboardInterrupt:
            if len(self._rows):
                self.registers.pc[self._rows] = self._running.instruction.address
            raise KeyboardInterrupt(f"interrupted after {self._places()}") from None

    def _run(self, tick: Callable[[], None]) -> None:
        patience, turn = PATIENCE, 0
        while True:
            ready = ~(self.ended | self.waiting)
            if not ready.any():
                if self.ended.all():
                    self._count_barriers()
                    return
                self._release()
                continue
            at = self.registers.pc[ready]
            lowest = int(at.min())
            if patience <= 0:  # a loop may wait for what other waves do
                others = np.unique(at)
                turn += 1
                lowest = int(others[turn % len(others)])
                patience = 0 if turn % len(others) else PATIENCE
            elif int(at.max()) != lowest:
                patience -= 1
            rows = np.flatnonzero(ready & (self.registers.pc == lowest))
            if not self.registers.one_mode:
                modes = self.registers.modes[rows]
                rows = rows[modes == modes[0]]
            self._run_block(lowest, Group(self.registers, self, rows))
            tick()

    def _run_block(self, address: int, group: Group) -> None:
        block = self.program.block(address)
        last = block[-1].instruction
        self.registers.pc[group.rows], self._rows = last.address + last.size, group.numbers()
        for step in block:
            if self.tally.executed >= self.limit:
                self.registers.pc[group.rows] = step.instruction.address
                raise Stop(f"the launch is at its limit, stopped after {self._places()}")
            self.execute(step, group)

    def _places(self) -> str:
        """How many instructions were executed, and where the waves are that have not ended."""
        parts = []
        for at, waiting in sorted({*zip(self.registers.pc.tolist(), self.waiting.tolist())}):
            rows = np.flatnonzero((self.registers.pc == at) & (self.waiting == waiting) & ~self.ended)
            if len(rows):
                place = int(self.place[rows[0]]) if waiting else at
                known = self.program.instructions.get(place)
                text = "no instruction" if known is None else self.tally.describe(known)
                who = f"{counted(len(rows), 'wave')} {'waiting ' if waiting else ''}at {place:#x} ({text})"
                parts.append(f"{who}, first {self._wave(int(rows[0]))}")
        ended = int(self.ended.sum())
        parts += [f"{counted(ended, 'wave')} ended"] if ended else []
        more = [f"{counted(len(parts) - PLACES, 'place')} more"] if len(parts) > PLACES else []
        return f"{counted(self.tally.executed, 'instruction')}: {'; '.join(parts[:PLACES] + more)}"

    def execute(self, step: Step, group: Group) -> None:
        """Carry out one instruction in a group of waves."""
        self.steps += 1
        if group.mode.skips and step.vector:
            return
        step.executed += group.count
        self.tally.executed += group.count
        if not step.relative and not (self.registers.indexes and step.indexable):
            high = group.mode.high_bits
            self._execute(self.program.with_high_bits(step, high) if high else step, group)
            return
        values = group.s[M0, group.rows]
        keys = relative_key(
            step.instruction.name, values if group.mode.bits & GPR_INDEX or step.relative else values * 0
        )
        for key in np.unique(keys).tolist():
            other = self.program.indexed(step, key)
            most = max([number for number in other.touched if number < ACCUMULATORS], default=0)
            if most >= len(self.registers.v):
                raise Error(
                    f"{self._where(group, step.instruction)}: M0 is {key & 0x3FF}, so it means v{most}; "
                    f"the kernel has {len(self.registers.v)} vector registers"
                )
            self._execute(other, Group(self.registers, self, group.numbers()[keys == key]))

    def _execute(self, step: Step, group: Group) -> None:
        registers = self.registers
        if self.counters.busy and not step.touched.isdisjoint(self.counters.busy.keys()):
            self._too_early(step, group)
        translations = self.counters.translations
        if translations is not None:
            self._untranslated(step, group, translations)
        undefined, self._taint, self._loaded, self._running = NONE_UNDEFINED, None, {}, step
        if not step.uses <= registers.clean:
            undefined = self._undefined_of(step, group)
        mask = group.mask
        try:
            step.run(group)
        except Stop:
            raise
        except Error as error:
            raise Error(f"{self._where(group, step.instruction)}: {error}") from None
        if step.count:
            self.counters.issue(group, step.instruction.address, step.count, step.writes, step.writes_lds)
            if translations is not None:
                translations.after(step, group)
        self._note_written(step, group, mask, undefined)
        if self.trace is not None:
            row, show = self.trace
            found = np.flatnonzero(group.numbers() == row)
            if len(found):
                show(step, group, int(found[0]))

    def _note_written(self, step: Step, group: Group, mask: Array | None, undefined: Undefined) -> None:
        """Enter what an instruction has written. mask: EXEC before it."""
        if step.kind == "memory":
            self._settle(step.writes - self._loaded.keys(), group, mask, self._taint)
            for number, found in self._loaded.items():
                self._settle(frozenset({number}), group, mask, found)
        elif undefined.bits is not None:
            for number, found in undefined.bits.items():  # V_WRITELANE writes a lane that EXEC does not name
                self._settle(frozenset({number}), group, None if step.kind == "lane" else mask, found)
        elif undefined.lanes is not None:
            masks = step.lane_results
            self._settle(step.writes - step.low - masks.keys(), group, mask, undefined.lanes)
            self._settle(step.low, group, mask, undefined.low)
            for number, word in masks.items():
                self._settle(frozenset({number}), group, mask, group.mask_word(undefined.lanes, mask, word))
        elif not step.writes <= self.registers.clean:
            self._settle(step.writes, group, mask, None)
        if self.registers.origins:
            for number in step.writes & self.registers.clean & self.registers.origins.keys():
                del self.registers.origins[number]

    # --- barriers ---

    def barrier(self, group: Group, instruction: DecodedInstruction, signals: bool, waits: bool) -> None:
        """Waves arrive at a barrier, or wait at it."""
        if signals:
            self.signalled[group.rows] += 1
            for address, landing in self.counters.unfinished_lds_writes(group):
                owners = self.workgroup_of[landing.waves]
                for workgroup in np.unique(owners).tolist():
                    self.unwaited.setdefault(workgroup, []).append((address, landing.of(owners == workgroup)))
        if waits:
            self.waited[group.rows] += 1
            self.waiting[group.rows] = True
            self.place[group.rows] = instruction.address

    def _release(self) -> None:
        """Let waves go on whose workgroup has come to the barrier: those that have ended do not count.

        Raises:
            Error: no wave can go on.
        """
        released = False
        for workgroup in np.unique(self.workgroup_of[self.waiting]).tolist():
            members = self.workgroup_of == workgroup
            live = members & ~self.ended
            least = int(self.signalled[live].min())
            free = live & self.waiting & (self.waited <= least)
            if not free.any():
                continue
            released = True
            self._compare(workgroup, members, live)
            self.waiting[free] = False
            self.lds.barrier(workgroup, self.unwaited.pop(workgroup, ()))
        if not released:
            row = int(np.flatnonzero(self.waiting)[0])
            raise Error(
                f"{self._wave(row)} waits for ever at the barrier at {int(self.place[row]):#x}: "
                "other waves of its workgroup never signal it"
            )

    def _compare(self, workgroup: int, members: Array, live: Array) -> None:
        """Note waves that are at different barriers: the hardware counts waves, and does not ask where they are."""
        places = np.unique(self.place[live])
        if len(places) > 1:
            first, second = (self.program.instructions[int(place)] for place in places[:2])
            group = Group(self.registers, self, np.flatnonzero(live & (self.place == places[1])))
            self.apart.setdefault(workgroup, (second.address, first.address))
            self.note("barrier", group, second, "other waves of the workgroup are at another barrier", None, first)
        if (members & self.ended).any():
            self.tally.warnings["waves had ended when the others of their workgroup met at a barrier"] += 1

    def _count_barriers(self) -> None:
        """Find it wrong if waves that met at different barriers passed another number of them at their end."""
        for workgroup, (place, other_place) in self.apart.items():
            members = np.flatnonzero(self.workgroup_of == workgroup)
            counts = self.signalled[members]
            if counts.min() < counts.max():
                row, other = members[counts.argmax()], int(self.wave_in_group[members[counts.argmin()]])
                message = (
                    "waves of the workgroup meet at different barriers and not equally often: "
                    f"this wave {counts.max()} times, wave {other} {counts.min()} times"
                )
                first, second = self.program.instructions[other_place], self.program.instructions[place]
                self.find("barrier", Group(self.registers, self, np.array([row])), second, message, None, first)
