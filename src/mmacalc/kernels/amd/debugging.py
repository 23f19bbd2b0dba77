"""Stops and watches of compiled AMD kernels."""

from __future__ import annotations

import re

import numpy as np

from ...asm.decoded import ConstantOperand, RegisterOperand
from ...asm.decoder import text
from ...base.checks import whole
from ...base.errors import Error
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
from .matrix import fields_of
from .modifiers import Modifiers
from .state import ACCUMULATORS, EXEC, ROWS, SCALARS, register_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ...asm.code_objects import Kernel
    from ...base.arrays import Array
    from ..device.debugging import StopAt, Watched
    from ..device.memory import Region
    from .batch import Batch
    from .memory import ActiveLanes
    from .program import Step
    from .state import Group

__all__ = ["AmdDebugger", "is_register"]

_VECTOR = re.compile(r"([vas])(\d+)")


def is_register(name: str) -> bool:
    """Whether a name is one of a register.

    >>> is_register("v41"), is_register("vcc_hi"), is_register("d")
    (True, True, False)
    """
    return bool(_VECTOR.fullmatch(name)) or name.removesuffix("_lo").removesuffix("_hi") in ROWS


def _number(name: str) -> int:
    found = _VECTOR.fullmatch(name)
    if found is not None:
        return whole(found[2], "the number of a register") + {"v": 0, "a": ACCUMULATORS, "s": SCALARS}[found[1]]
    base = name.removesuffix("_lo").removesuffix("_hi")
    return SCALARS + ROWS[base] + name.endswith("_hi")


class AmdDebugger(Debugger):
    """Stops and watches. kernel: which; each: waves of a workgroup; arguments: by name the parameter's number."""

    each: int
    kernel: Kernel

    def __init__(
        self, kernel: Kernel, each: int, stop: StopAt | None, watches: Sequence[Watched], wave: int,
        places: Callable[[Batch, Watched], tuple[Region, int, np.dtype[Any]]],
    ) -> None:  # fmt: skip
        super().__init__(stop, watches, wave)
        self.kernel, self.each, self._places = kernel, each, places
        self._batch: Batch
        self._begun = self._row = 0
        self._found = 0
        self._known: dict[int, Any] = {}
        self._touched: dict[int, tuple[tuple[int, ...], int]] = {}
        self._registers = {number: watch for number, watch in enumerate(self.watches) if watch.kind == "register"}
        self._memory: dict[int, tuple[int, int, np.dtype[Any]]] = {}
        self._addresses: dict[int, tuple[int, int]] = {}
        self._on_line = False

    def started(self, machine: Batch) -> None:
        """Some workgroups begin: where the wave and the watched bytes are."""
        first = self._begun * self.each
        count = len(machine.waves.groups)
        self._begun += count
        self._batch, self._row = machine, self.wave - first
        self._known, self._memory, self._addresses = {}, {}, {}
        group = self._row // self.each if 0 <= self._row < count * self.each else None
        for number, watch in enumerate(self.watches):
            if watch.kind == "shared" and group is not None:
                assert watch.at is not None
                if watch.at >= machine.lds.size:
                    raise Error(f"watch: {watch.text}: the kernel has {machine.lds.size} bytes of LDS")
                start = group * machine.lds.stride + watch.at // 4 * 4
                self._memory[number] = start, 4, np.dtype(np.uint32)
            elif watch.kind == "argument":
                region, start, kind = self._places(machine, watch)
                self._memory[number] = region.place + start, kind.itemsize, kind
                self._addresses[number] = region.start + start, kind.itemsize
        for number in self._memory:
            self._known[number] = self._bytes(number)

    def _bytes(self, number: int) -> Array:
        start, size, _ = self._memory[number]
        data = self._batch.lds.data if self.watches[number].kind == "shared" else self._batch.memory.data
        found: Array = data[start : start + size].copy()
        return found

    # --- while it runs ---

    def before(self, step: Step, who: Group) -> None:
        """Stop, if this is the place."""
        self._touched = {}
        stop = self.stop
        if self._registers:
            self._before_registers(step, who)
        if stop is None or stop.kind == "finding":
            return
        if not self._here(who):
            return
        at, there = step.instruction.address, False
        if stop.kind == "place":
            there = at == stop.place
        else:
            on_line = self.at_line(self.kernel.source_lines.at(at))
            there, self._on_line = on_line and not self._on_line, on_line
        if there and self.due():
            self._stop(step, self._row, "the place that was asked for", self._batch.tally.executed - who.count)

    def _here(self, who: Group) -> bool:
        return bool((who.numbers() == self._row).any())

    def _before_registers(self, step: Step, who: Group) -> None:
        if self._here(who):
            for number, watch in self._registers.items():
                if _number(watch.name) in step.writes:
                    self._known[number] = self._register(_number(watch.name), watch.at)

    def _register(self, number: int, lane: int | None) -> Any:
        registers, row = self._batch.registers, self._row
        if number >= SCALARS:
            return f"{int(registers.s[number - SCALARS, row]):08x}"
        file, at = (registers.v, number) if number < ACCUMULATORS else (registers.a, number - ACCUMULATORS)
        if at >= len(file):
            raise Error(f"the kernel has no register {register_name(number)}; it has {len(file)} of these")
        values = file[at, row] if lane is None else file[at, row, lane : lane + 1]
        return values_text([f"{value:08x}" for value in values.tolist()])

    def after(self, step: Step, who: Group) -> None:
        """Enter what was written; stop at a finding."""
        if self._registers and self._here(who):
            place = int(np.flatnonzero(who.numbers() == self._row)[0])
            lanes = tuple(np.flatnonzero(who.active[place]).tolist())
            for number, watch in self._registers.items():
                register = _number(watch.name)
                if register in step.writes and (watch.at is None or watch.at in lanes):
                    after = self._register(register, watch.at)
                    self._enter(
                        step, watch, self._row, () if register >= SCALARS else lanes, self._known[number], after
                    )
        for number in self._memory:
            self._after_memory(step, who, number)
        if self.stop is not None and self.stop.kind == "finding":
            findings = self._batch.tally.findings
            if len(findings) > self._found:
                self._found = len(findings)
                if self.due():
                    last = list(findings.values())[-1]
                    why = last.sentence.split("\n")[0]
                    self._stop(step, int(who.numbers()[0]), why, self._batch.tally.executed)

    def _after_memory(self, step: Step, who: Group, number: int) -> None:
        now, (_, _, kind) = self._bytes(number), self._memory[number]
        before = self._known[number]
        touched = self._touched.get(number)
        if touched is None and (now == before).all():
            return
        self._known[number] = now
        lanes, row = touched if touched is not None else ((), int(who.numbers()[0]))
        watch = self.watches[number]
        as_kind = kind if watch.kind == "argument" else None
        self._enter(step, watch, row, lanes, value_text(before, as_kind), value_text(now, as_kind))

    def _note(self, who: ActiveLanes, starts: Array, size: int, where: tuple[int, int], number: int) -> None:
        wrong = hits(starts, size, *where)
        if wrong.any():
            found = who.spread(wrong)
            row = int(found.any(axis=1).argmax())
            lanes = tuple(np.flatnonzero(found[row]).tolist()) if found.shape[1] > 1 else ()
            self._touched[number] = lanes, int(who.group.numbers()[row])

    def shared(self, step: Step, who: ActiveLanes, places: Array, size: int, kind: str) -> None:
        """Note who writes watched bytes of LDS."""
        for number, (start, length, _) in self._memory.items():
            if kind != "read" and self.watches[number].kind == "shared":
                self._note(who, places, size, (start, length), number)

    def memory(self, step: Step, who: ActiveLanes, addresses: Array, size: int, kind: str) -> None:
        """Note who writes watched elements."""
        for number, where in self._addresses.items():
            if kind != "read":
                self._note(who, addresses, size, where, number)

    def _enter(self, step: Step, watch: Watched, row: int, lanes: tuple[int, ...], before: str, after: str) -> None:
        waves, instruction = self._batch.waves, step.instruction
        group = waves.groups[int(waves.workgroup_of[row])]
        at = instruction.address
        self.enter(
            Change(watch.text, self._batch.tally.executed, f"{at:#x}", text(instruction),
                   self.kernel.source_lines.at(at), (*group,), int(waves.wave_in_group[row]), lanes, before, after)
        )  # fmt: skip

    # --- the state ---

    def _stop(self, step: Step, row: int, why: str, executed: int) -> None:
        batch, instruction = self._batch, step.instruction
        registers, waves = batch.registers, batch.waves
        at = instruction.address
        file: dict[str, tuple[int, ...]] = {}
        for letter, held in (("v", registers.v), ("a", registers.a)):
            file |= {f"{letter}{number}": tuple(held[number, row].tolist()) for number in range(len(held))}
        file |= {
            register_name(SCALARS + number): (int(registers.s[number, row]),)
            for number in range(len(registers.s))
            if SCALARS + number in registers.clean or SCALARS + number in registers.undefined
        }
        words = [int(registers.s[EXEC + part, row]) for part in range(registers.lanes // 32)]
        active = tuple([lane for lane in range(registers.lanes) if words[lane // 32] >> lane % 32 & 1])
        outstanding = [
            f"{flight.address:#x}: {text(batch.program.instructions[flight.address])}"
            for flight in batch.counters.flights
            if batch.counters.outstanding(flight, np.array([row])).any()
        ]
        self.halt(WaveState(
            self.kernel.name, f"{at:#x}", text(instruction), self.kernel.source_lines.at(at), why,
            (*waves.groups[int(waves.workgroup_of[row])],), int(waves.wave_in_group[row]), executed,
            active, tuple(self._held(step, row, file)), tuple(outstanding), file,
        ))  # fmt: skip

    def _held(self, step: Step, row: int, file: dict[str, tuple[int, ...]]) -> list[HeldRegister]:
        """The registers that an instruction touches; of a product with what they hold of its matrices."""
        roles: dict[str, HeldRegister] = {}
        if step.matrix is not None:
            for role, operand in _operands(step):
                roles |= self._of_matrix(step, row, role, operand)
        for number in sorted(step.touched):
            name = register_name(number)
            if name not in roles and name in file and not name.startswith("exec"):
                role = "read" if number in step.reads else "written"
                roles[name] = HeldRegister(name, role, file[name], self._undefined(number, row))
        return list(roles.values())

    def _undefined(self, number: int, row: int) -> tuple[int, ...]:
        registers = self._batch.registers
        bits = np.broadcast_to(
            registers.undefined_of(number, np.array([row]), 1), (1, 1 if number >= SCALARS else registers.lanes)
        )
        return tuple(np.flatnonzero(bits[0]).tolist())

    def _of_matrix(self, step: Step, row: int, role: str, operand: RegisterOperand) -> dict[str, HeldRegister]:
        registers, inst = self._batch.registers, step.matrix
        assert inst is not None
        count = min(operand[2], inst.operand(role if role in inst.operands else "D").registers)
        part = registers.file(operand)[operand[1] : operand[1] + count, row]
        instruction = step.instruction._replace(modifiers=Modifiers(step.instruction.modifiers))
        fields = fields_of(instruction, inst, registers.lanes)
        found = {}
        for at in range(count):
            number = operand[1] + at + (ACCUMULATORS if operand.file == "a" else 0)
            elements = held_elements(inst, role if role in inst.operands else "D", registers.lanes, at, part, fields)
            name = register_name(number)
            found[name] = HeldRegister(name, role, tuple(part[at].tolist()), self._undefined(number, row), elements)
        return found


def _operands(step: Step) -> list[tuple[str, RegisterOperand]]:
    """The operands of a product in vector registers, by name; D before C where they are the same registers."""
    inst, instruction = step.matrix, step.instruction
    assert inst is not None
    names = ["A", "B", "K" if inst.sparse else "C", "SA", "SB"]
    found = [("D", instruction.destinations[0]), *zip(names, instruction.sources)]
    return [(name, one) for name, one in found
            if isinstance(one, RegisterOperand) and not isinstance(one, ConstantOperand) and one.file in ("v", "a")
            and not (name == "C" and one[1:3] == instruction.destinations[0][1:3])]  # fmt: skip
