"""Strong accesses of shared memory: flags by which threads of a CTA or cluster hand data to each other.

They order threads as those of global memory do (`knowledge`): a release pattern that an acquire pattern observes (PTX
ISA 8.8 to 8.10). Two strong accesses of one place do not race. A volatile access is relaxed (8.4), and counts as strong
here only where it polls a flag, in a loop that does no more than ask again: elsewhere `volatile` is what kernels for
GPUs before sm_70 had in place of bar.warp.sync.
"""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .machine import Machine
    from .program import Step
    from .threads import Threads

    Array = NDArray[Any]

__all__ = ["forget", "handed_on", "is_strong", "keys", "read_strong", "replaced", "write_strong"]


def keys(places: Array) -> Array:
    """Places of shared memory among the flags of a launch, of which global memory has the numbers from 0 on."""
    return -1 - places


def is_strong(machine: Machine, step: Step) -> bool:
    """Whether a load or store of shared memory is strong."""
    if not machine.launch.order.access(step).scope:
        return False
    if "volatile" not in step.statement.modifiers:
        return True
    return step.polls if step.statement.root == "ld" else machine.program.polls_shared


def read_strong(machine: Machine, step: Step, threads: Threads, places: Array, size: int) -> None:
    """Threads read a flag: only a weak write before it collides."""
    shadow, granules = machine.shadow, machine.granules(places, size)
    flat, width = granules.reshape(-1), granules.shape[1]
    if machine.flight[flat].any():
        machine.launch.touched_in_flight(machine, step, threads, granules, "reads")
    plain = np.flatnonzero(~shadow.atomic[flat])
    if len(plain):
        team, member = np.repeat(threads.team, width), np.repeat(threads.member, width)
        found = shadow.unordered_write(flat[plain], team[plain], member[plain])
        if found is not None:
            lane = int(plain[found[0]]) // width
            machine.race(step, threads, lane, int(flat[plain[found[0]]]), found[1], "reads", "wrote")
        shadow.atomic[flat] = True
    machine.knowledge.acquired(threads, keys(places), machine.launch.order.access(step))


def write_strong(machine: Machine, step: Step, threads: Threads, places: Array, size: int) -> None:
    """Threads are about to write a flag."""
    machine.launch.atomic_shared(machine, step, threads, places, size)
    machine.knowledge.released(threads, keys(places), machine.launch.order.access(step), True)


def handed_on(machine: Machine, step: Step, threads: Threads, places: Array, wrote: Array | None) -> None:
    """Atomic operations on flags, which hand on what they make known. wrote: which of them wrote, None of all."""
    machine.launch.order.hand_on(machine, step, threads, keys(places), wrote)


def replaced(machine: Machine, places: Array) -> None:
    """A weak write takes the place of flags."""
    flags = machine.launch.order.flags
    for place in [place for place in flags if place < 0 and (keys(places) == place).any()]:
        del flags[place]


def forget(flags: dict[int, Any]) -> None:
    """Forget the flags of CTAs that have ended."""
    for place in [place for place in flags if place < 0]:
        del flags[place]
