"""Named barriers of gfx1250: barriers 1 to 16 of a workgroup, at which those of its waves meet that join them.

Source: LLVM, AMDGPU Execution Synchronization, "s_barrier", GFX12 (llvm/docs/AMDGPUExecutionSynchronization.rst). A
barrier has a number of members, which s_barrier_init sets, or a signal with a number in bits 22 to 16 of M0. It is
completed when as many signals have come; then it counts from 0 again. A wave waits at the barrier that it has joined
last, whichever S_BARRIER_WAIT names, for the signal that completes it. S_BARRIER_LEAVE takes one member away. Barrier 0
can be joined; everything else does nothing there.

No public text says what S_WAKEUP_BARRIER wakes, nor what the bits of S_GET_BARRIER_STATE are, nor SCC after
S_BARRIER_LEAVE: the first two are refused, SCC is undefined.
"""

from __future__ import annotations

import numpy as np

from ...asm.decoded import ConstantOperand, RegisterOperand
from ...base.errors import Error
from .operands import raw_reader
from .state import M0, SCC
from .undefined import Undefined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from ..device.scheduler import Waves
    from .state import Group
    from .target import MachineTarget

__all__ = ["JOIN", "NAMED_CONTROL", "NamedBarriers", "meets_named", "named_signal", "named_wait"]

JOIN = "s_barrier_join"
MOST = 16
"""The highest number of a named barrier."""
NONE = -1
"""A wave that has joined no barrier."""
_NUMBER, _MEMBERS, _MEMBERS_AT = 31, 127, 16
"""The fields of M0: bits 4 to 0, and 22 to 16."""


class NamedBarriers:
    """The named barriers of the workgroups of a batch, (workgroup, number) each.

    members: how many signals complete each, 0 before it is known; signalled: how many have come since it was completed
    last, which was `completed` times. joined: the barrier of each wave; passed: how many of its completions it has
    waited for, or were before it joined.
    """

    waves: Waves

    def __init__(self, waves: Waves) -> None:
        shape, count = (len(waves.groups), MOST + 1), len(waves.ended)
        self.waves = waves
        self.members: Array = np.zeros(shape, np.int64)
        self.signalled: Array = np.zeros(shape, np.int64)
        self.completed: Array = np.zeros(shape, np.int64)
        self.joined: Array = np.full(count, NONE, np.int64)
        self.passed: Array = np.zeros(count, np.int64)

    def begin(self, workgroup: int, number: int, members: int) -> None:
        """S_BARRIER_INIT.

        Raises:
            Error: it would have no member.
        """
        if number and not members:
            raise Error(f"barrier {number} would have no member: bits 22 to 16 of M0 are how many waves signal it")
        self.members[workgroup, number], self.signalled[workgroup, number] = members, 0

    def signal(self, workgroup: int, number: int, members: int = 0) -> tuple[bool, bool]:
        """One wave signals a barrier. members: how many it has from now on, if not 0.

        Returns:
            Whether this was the first signal, and whether it completes the barrier.

        Raises:
            Error: the barrier has no number of members, or one that is too small.
        """
        place = workgroup, number
        self.members[place] = members or self.members[place]
        if not self.members[place]:
            raise Error(
                f"barrier {number} has no number of members: s_barrier_init, or a signal with one in bits 22 to 16 of "
                "M0, must come first"
            )
        if self.signalled[place] >= self.members[place]:
            raise Error(
                f"barrier {number} has been signalled {int(self.signalled[place])} times, and is to have "
                f"{int(self.members[place])} members: what happens then is undefined"
            )
        first = self.signalled[place] == 0
        self.signalled[place] += 1
        return bool(first), self._completes(place)

    def join(self, row: int, number: int) -> None:
        """A wave joins a barrier."""
        self.joined[row], self.passed[row] = number, self.completed[self.waves.workgroup_of[row], number]

    def leave(self, row: int) -> tuple[int, bool]:
        """A wave leaves the barrier that it has joined; gives this one, and whether it is completed by that.

        Raises:
            Error: the wave has joined none, or the barrier has no member.
        """
        number = self._joined(row, "leaves")
        place = int(self.waves.workgroup_of[row]), number
        self.joined[row] = NONE
        if not number:
            return 0, False
        if not self.members[place]:
            raise Error(f"barrier {number} has no member that could leave it")
        self.members[place] -= 1
        return number, bool(self.signalled[place]) and self._completes(place)

    def wait(self, row: int, address: int) -> None:
        """A wave waits at the barrier that it has joined last.

        Raises:
            Error: there is none.
        """
        if self._joined(row, "waits at"):
            waves = self.waves
            self.passed[row] += 1
            waves.waiting[row] = waves.elsewhere[row] = waves.named[row] = True
            waves.place[row] = address

    def released(self) -> Array:
        """Let waves go on whose barrier is completed: which."""
        waves = self.waves
        completed = self.completed[waves.workgroup_of, np.maximum(self.joined, 0)]
        free = waves.named & ~waves.ended & (self.passed <= completed)
        waves.waiting[free] = waves.elsewhere[free] = waves.named[free] = False
        return np.flatnonzero(free)

    def missing(self, row: int) -> str:
        """Why a wave waits for ever, in words."""
        number = int(self.joined[row])
        place = int(self.waves.workgroup_of[row]), number
        return f"barrier {number} has {int(self.members[place])} members and {int(self.signalled[place])} signals"

    def _joined(self, row: int, does: str) -> int:
        number = int(self.joined[row])
        if number == NONE:
            raise Error(f"{self.waves.text(row)} {does} a named barrier and has joined none (s_barrier_join)")
        return number

    def _completes(self, place: tuple[int, int]) -> bool:
        if self.signalled[place] != self.members[place]:
            return False
        self.signalled[place] = 0
        self.completed[place] += 1
        return True


def meets_named(listed: Iterable[DecodedInstruction]) -> DecodedInstruction | None:
    """The first instruction by which a wave joins a named barrier."""
    return next((one for one in listed if one.name == JOIN), None)


# --- the instructions ---


def _operand(instruction: DecodedInstruction) -> Callable[[Group], list[tuple[int, int]]]:
    """Of each wave the number of the barrier and, if it is in M0, how many members it is to have, else 0.

    Raises:
        Error: a constant that names no barrier.
    """
    named = instruction.sources[0]
    if isinstance(named, RegisterOperand):
        read = raw_reader(named)

        def from_m0(group: Group) -> list[tuple[int, int]]:
            words = np.broadcast_to(read(group)[:, 0], (group.count,)).tolist()
            return [(_checked(instruction, word & _NUMBER), word >> _MEMBERS_AT & _MEMBERS) for word in words]

        return from_m0
    assert isinstance(named, ConstantOperand)
    number = _checked(instruction, named.bits)
    return lambda group: [(number, 0)] * group.count


def _checked(instruction: DecodedInstruction, number: int) -> int:
    if number > MOST:
        raise Error(
            f"{instruction.name} of barrier {number} is not covered: -1 (the workgroup's), -3 (the cluster's) and 0 to "
            f"{MOST} are, the first two not from M0"
        )
    return number


def _needs_named(instruction: DecodedInstruction, target: MachineTarget) -> None:
    if not target.translates:
        raise Error(
            f"{instruction.name} of a named barrier is not covered on {target.name}: gfx1250 and gfx1251 have them"
        )


def _begin(instruction: DecodedInstruction, target: MachineTarget) -> Callable[[Group], None]:
    _needs_named(instruction, target)
    operand = _operand(instruction)
    from_m0 = isinstance(instruction.sources[0], RegisterOperand)

    def run(group: Group) -> None:
        waves, numbers = group.batch.waves, group.numbers().tolist()
        words = np.broadcast_to(group.s[M0, group.rows], (group.count,)).tolist()
        for row, word, (number, members) in zip(numbers, words, operand(group)):
            count = members if from_m0 else word >> _MEMBERS_AT & _MEMBERS
            group.batch.named.begin(int(waves.workgroup_of[row]), number, count)

    return run


def _join(instruction: DecodedInstruction, target: MachineTarget) -> Callable[[Group], None]:
    _needs_named(instruction, target)
    operand = _operand(instruction)

    def run(group: Group) -> None:
        for row, (number, _) in zip(group.numbers().tolist(), operand(group)):
            group.batch.named.join(row, number)

    return run


def _leave(instruction: DecodedInstruction, target: MachineTarget) -> Callable[[Group], None]:
    _needs_named(instruction, target)

    def run(group: Group) -> None:
        for row in group.numbers().tolist():
            number, completes = group.batch.named.leave(row)
            if completes:
                group.batch.named_completed(int(group.batch.waves.workgroup_of[row]), number)
        group.leaves = Undefined(group.batch.running)
        group.leaves.lanes = np.ones((group.count, group.lanes), np.bool_)

    return run


def named_signal(instruction: DecodedInstruction, target: MachineTarget) -> Callable[[Group], None]:
    """S_BARRIER_SIGNAL and S_BARRIER_SIGNAL_ISFIRST of a named barrier, by a constant or M0."""
    _needs_named(instruction, target)
    operand, tells = _operand(instruction), instruction.name == "s_barrier_signal_isfirst"

    def run(group: Group) -> None:
        batch = group.batch
        first = np.zeros(group.count, np.uint32)
        for at, (row, (number, members)) in enumerate(zip(group.numbers().tolist(), operand(group))):
            if tells and not number:
                raise Error(f"{instruction.name} of barrier 0: no public text says what SCC is then")
            if number:
                batch.named_signalled(group, row, number)
                workgroup = int(batch.waves.workgroup_of[row])
                first[at], completes = batch.named.signal(workgroup, number, members)
                if completes:
                    batch.named_completed(workgroup, number)
        if tells:
            group.s[SCC, group.rows] = first

    return run


def named_wait(instruction: DecodedInstruction, target: MachineTarget) -> Callable[[Group], None]:
    """S_BARRIER_WAIT of a named barrier: of the one that each wave has joined last."""
    _needs_named(instruction, target)
    following = instruction.address + instruction.size

    def run(group: Group) -> None:
        group.registers.pc[group.rows] = following
        for row in group.numbers().tolist():
            group.batch.named.wait(row, instruction.address)

    return run


NAMED_CONTROL = {"s_barrier_init": _begin, JOIN: _join, "s_barrier_leave": _leave}
