"""Stops and watches of PTX kernels."""

from __future__ import annotations

import numpy as np

from ...base.errors import Error
from ...catalog import instruction
from ...ptx.module import Register, is_braced
from ..device.debugging import (
    Change,
    Debugger,
    HeldRegister,
    WaveState,
    held_elements,
    hits,
    value_text,
    values_text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ...base.arrays import Array
    from ..device.debugging import StopAt, Watched
    from ..device.memory import Region
    from .launch import Launch
    from .machine import Machine
    from .program import Step
    from .threads import Threads

__all__ = ["PtxDebugger"]

WARP = 32


class PtxDebugger(Debugger):
    """Stops and watches of a launch. wave: the warp, all of the launch counted; launch: given when it begins."""

    launch: Launch

    def __init__(
        self, stop: StopAt | None, watches: Sequence[Watched], wave: int,
        places: Callable[[Machine, Watched], tuple[Region, int, np.dtype[Any]]],
    ) -> None:  # fmt: skip
        super().__init__(stop, watches, wave)
        self._places, self._machine = places, None
        self._threads: Array = np.zeros(0, np.int64)
        self._known: dict[int, Any] = {}
        self._memory: dict[int, tuple[int, int, np.dtype[Any]]] = {}
        self._addresses: dict[int, tuple[int, int]] = {}
        self._touched: dict[int, Array] = {}
        self._indices: dict[int, int] = {}
        self._on_line = False
        self._findings = 0

    def started(self, machine: Any) -> None:
        """Some CTAs begin: where the warp and the watched bytes are."""
        self._machine, self.launch = machine, machine.launch
        each = -(-machine.block_size // WARP)
        cta, warp = self.wave // each - machine.first, self.wave % each
        start = cta * machine.block_size + warp * WARP
        end = min(start + WARP, (cta + 1) * machine.block_size)
        self._threads = np.arange(start, end) if 0 <= cta < machine.ctas else np.zeros(0, np.int64)
        self._known, self._memory, self._addresses, self._indices = {}, {}, {}, {}
        for number, watch in enumerate(self.watches):
            if watch.kind == "register":
                if watch.name not in machine.program.names:
                    raise Error(f"watch: the kernel has no register {watch.name}")
                self._indices[number] = machine.program.names.index(watch.name)
            elif watch.kind == "shared" and len(self._threads):
                assert watch.at is not None
                if watch.at >= machine.shared_size:
                    raise Error(f"watch: {watch.text}: a CTA has {machine.shared_size} bytes of shared memory")
                self._memory[number] = cta * machine.shared_size + watch.at // 4 * 4, 4, np.dtype(np.uint32)
            elif watch.kind == "argument":
                region, offset, kind = self._places(machine, watch)
                self._memory[number] = region.place + offset, kind.itemsize, kind
                self._addresses[number] = region.start + offset, kind.itemsize
        for number in self._memory:
            self._known[number] = self._bytes(number)

    def _bytes(self, number: int) -> Array:
        start, size, _ = self._memory[number]
        machine: Any = self._machine
        data = machine.shared if self.watches[number].kind == "shared" else self.launch.memory.data
        found: Array = data[start : start + size].copy()
        return found

    # --- while it runs ---

    def before(self, step: Step, who: Threads) -> None:
        """Stop, if this is the place."""
        self._touched = {}
        here = self._here(who)
        if len(here):
            for number, index in self._indices.items():
                if index in step.writes:
                    self._known[number] = self._register(index, self.watches[number].at)
        stop = self.stop
        if stop is None or stop.kind == "finding" or not len(here):
            return
        if stop.kind == "place":
            there = step.line == stop.place
        else:
            on_line = self.at_line(step.statement.location)
            there, self._on_line = on_line and not self._on_line, on_line
        if there and self.due():
            self._stop(step, here, "the place that was asked for", self._executed() - -(-len(who.number) // WARP))

    def _here(self, who: Threads) -> Array:
        """The threads of the warp that take part."""
        if not len(self._threads):
            return self._threads
        if isinstance(who.use, slice):
            return self._threads
        found: Array = np.intersect1d(self._threads, who.number)
        return found

    def _register(self, index: int, lane: int | None) -> str:
        values = self._values(index)
        if lane is not None:
            values = values[lane : lane + 1]
        return values_text([f"{value:x}" for value in values])

    def _values(self, index: int) -> tuple[int, ...]:
        machine: Any = self._machine
        held = machine.registers[index]
        if held is None:
            return (0,) * len(self._threads)
        found = held[self._threads]
        kinds = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
        plain = found.view(kinds[found.dtype.itemsize]) if found.dtype.itemsize in kinds else found.real
        return tuple([int(value) for value in plain])

    def after(self, step: Step, who: Threads) -> None:
        """Enter what was written; stop at a finding."""
        here = self._here(who)
        for number, index in self._indices.items():
            if len(here) and index in step.writes:
                watch = self.watches[number]
                self._enter(step, watch, here, self._known[number], self._register(index, watch.at))
        for number in self._memory:
            now, before = self._bytes(number), self._known[number]
            touched = self._touched.get(number)
            if touched is None and (now == before).all():
                continue
            self._known[number] = now
            kind = self._memory[number][2] if self.watches[number].kind == "argument" else None
            threads = touched if touched is not None else who.number[:1]
            self._enter(step, self.watches[number], threads, value_text(before, kind), value_text(now, kind))
        if self.stop is not None and self.stop.kind == "finding" and len(self.launch.findings) > self._findings:
            self._findings = len(self.launch.findings)
            if self.due():
                last = list(self.launch.findings.values())[-1]
                self._stop(step, who.number[:1], last.sentence.split("\n")[0], self._executed())

    def shared(self, step: Step, who: Threads, places: Array, size: int, kind: str) -> None:
        """Note who writes watched bytes of shared memory."""
        for number, (start, length, _) in self._memory.items():
            if kind in ("write", "stmatrix") and self.watches[number].kind == "shared":
                self._note(who, hits(places, size, start, length), number)

    def memory(self, step: Step, who: Threads, addresses: Array, size: int, kind: str) -> None:
        """Note who writes watched elements."""
        for number, where in self._addresses.items():
            if kind != "read":
                self._note(who, hits(addresses, size, *where), number)

    def _note(self, who: Threads, which: Array, number: int) -> None:
        if which.any():
            self._touched[number] = who.number[which]

    def _enter(self, step: Step, watch: Watched, threads: Array, before: str, after: str) -> None:
        machine: Any = self._machine
        first = int(threads[0])
        warp = machine.inner_of[threads] // WARP
        lanes = tuple((machine.inner_of[threads[warp == warp[0]]] % WARP).tolist())
        self.enter(
            Change(watch.text, self._executed(), f"line {step.line}", step.text, step.statement.location,
                   self.launch.cta_of(machine, first), int(warp[0]), lanes, before, after)
        )  # fmt: skip

    # --- the state ---

    def _executed(self) -> int:
        """Instructions of all warps so far: those of 32 threads."""
        machine: Any = self._machine
        return int(machine.executed) // WARP

    def _stop(self, step: Step, threads: Array, why: str, executed: int) -> None:
        machine: Any = self._machine
        if len(threads) and threads[0] not in self._threads:  # a finding of another warp
            start = int(threads[0]) - int(machine.inner_of[threads[0]]) % WARP
            end = (start // machine.block_size + 1) * machine.block_size
            self._threads = np.arange(start, min(start + WARP, end))
        first = int(self._threads[0])
        names = machine.program.names
        file = {name: self._values(index) for index, name in enumerate(names) if machine.registers[index] is not None}
        held = self._matrices(step, file)
        for index in sorted(step.reads | step.writes):
            name = names[index]
            if name not in held and name in file:
                role = "read" if index in step.reads else "written"
                held[name] = HeldRegister(name, role, file[name], self._undefined(index))
        self.halt(WaveState(
            machine.program.name, f"line {step.line}", step.text, step.statement.location, why,
            self.launch.cta_of(machine, first), int(machine.inner_of[first]) // WARP, executed,
            tuple((machine.inner_of[threads] % WARP).tolist()), tuple(held.values()), (), file,
        ))  # fmt: skip

    def _undefined(self, index: int) -> tuple[int, ...]:
        machine: Any = self._machine
        bits = machine.undefined.get(index)
        return () if bits is None else tuple(np.flatnonzero(bits[self._threads].astype(bool)).tolist())

    def _matrices(self, step: Step, file: dict[str, tuple[int, ...]]) -> dict[str, HeldRegister]:
        """The registers of mma with what they hold of its matrices."""
        statement, machine = step.statement, self._machine
        if statement.root != "mma" or len(self._threads) != WARP:
            return {}
        try:
            inst = instruction(self.launch.program.target, statement.opcode)
        except Error:
            return {}
        assert machine is not None
        found: dict[str, HeldRegister] = {}
        for role, operand in zip("DABC", statement.operands):
            listed = operand if is_braced(operand) else (operand,)
            names = [one.name for one in listed if isinstance(one, Register)]
            if inst.format(role).bits == 64 or any(name not in file for name in names) or not names:
                continue
            values = np.array([file[name] for name in names], np.uint64).astype(np.uint32)
            for at, name in enumerate(names):
                if name not in found:
                    elements = held_elements(inst, role, WARP, at, values, {})
                    index = self.launch.program.names.index(name)
                    found[name] = HeldRegister(name, role, file[name], self._undefined(index), elements)
        return found
