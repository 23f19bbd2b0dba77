"""setmaxnreg: the registers that warpgroups of a CTA hand to each other (PTX ISA 9.7.19.5).

An increase waits until the CTA's pool has the registers; the pool is what the CTA began with. Every warp of a
warpgroup executes the same statement.
"""

from __future__ import annotations

import numpy as np

from ...base.errors import Error, plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...ptx.module import Statement
    from .compiler import Compiler
    from .machine import Machine
    from .program import Step
    from .threads import Threads

__all__ = ["RegisterPool", "set_registers"]

REGISTERS = 65536
"""Of a CTA at most (CUDA C++ Programming Guide, technical specifications by compute capability, 9.0 and 10.0)."""
GROUP = 4
"""Warps of a warpgroup."""


class RegisterPool:
    """What setmaxnreg did in each warp of the resident CTAs, in order."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.done: dict[int, list[tuple[Step, int]]] = {}  # warp -> statements, and the registers of a thread after

    def set(self, step: Step, threads: Threads, count: int) -> None:
        """Warps change the number of their threads' registers."""
        for warp in np.unique(threads.number // 32).tolist():
            self.done.setdefault(warp, []).append((step, count))

    def finish(self) -> None:
        """Findings at the end of the CTAs."""
        machine = self.machine
        if not self.done or machine.block_size % 32:
            return
        warps = machine.block_size // 32
        named = machine.program.attribute("maxnreg")
        first = int(named[0]) if named else min(255, REGISTERS // machine.block_size) // 8 * 8
        for cta in {warp // warps for warp in self.done}:
            mine = range(cta * warps, (cta + 1) * warps)
            for start in range(0, warps, GROUP):
                self._check_group(list(mine[start : start + GROUP]))
            counts = [self.done[warp][-1][1] if warp in self.done else first for warp in mine]
            if sum(counts) <= first * warps:
                continue
            step, _ = max((self.done[warp][-1] for warp in mine if warp in self.done), key=lambda one: one[1])
            waiting = [32 * warp for warp in mine if warp in self.done and self.done[warp][-1][0] is step]
            machine.launch.find(
                "deadlock", step, f"waits for ever: all warps together want {32 * sum(counts):,} registers, and the "
                f"CTA has {32 * first * warps:,} ({machine.block_size} threads of {first}); others must give more "
                "away before", np.array(waiting),
            )  # fmt: skip

    def _check_group(self, group: list[int]) -> None:
        done = [[step.index for step, _ in self.done.get(warp, [])] for warp in group]
        lacking = [warp for warp, steps in zip(group, done) if len(steps) < max(map(len, done))]
        if not lacking:
            return
        at = max(range(len(done)), key=lambda one: len(done[one]))
        step = self.done[group[at]][min(map(len, done))][0]
        self.machine.launch.find(
            "warp", step, f"only {plural(len(group) - len(lacking), 'warp')} of the warpgroup's {len(group)} "
            "executed it: every warp of a warpgroup must", np.array([32 * group[at]]),
        )  # fmt: skip


def set_registers(compiler: Compiler, statement: Statement, step: Step) -> None:
    """setmaxnreg.inc and .dec: 24 to 256 registers, a multiple of 8."""
    count = compiler.number(statement.operands[0])
    if not 24 <= count <= 256 or count % 8:
        raise Error(f"{statement.opcode} takes 24 to 256 registers, a multiple of 8; got {count}")
    step.run = lambda machine, threads: machine.pool.set(step, threads, count)
