"""Races in global memory between the workgroups of a compiled AMD kernel, where nothing in it orders workgroups."""

from __future__ import annotations

import numpy as np

from ...asm.tables import flags_of
from ..device.grid_races import GridRaces
from ..device.memory import octets_of
from .checks import entry_at, instructions_of
from .memory import access_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...asm.code_objects import Kernel
    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from ..device.findings import Reporter, Tally
    from ..device.grid_races import GridRace
    from ..device.memory import GlobalMemory
    from .memory import ActiveLanes
    from .program import Program

__all__ = ["GlobalRaces", "grid_races", "orders_workgroups"]


class GlobalRaces:
    """Finds accesses of the same bytes of global memory by two workgroups, which nothing orders.

    shadow: who accessed what, of the whole launch; None where it is not checked. first: the number of the batch's first
    workgroup in the launch.
    """

    first: int
    memory: GlobalMemory
    program: Program
    reporter: Reporter
    shadow: GridRaces | None

    def __init__(
        self, shadow: GridRaces | None, memory: GlobalMemory, program: Program, reporter: Reporter, first: int
    ) -> None:
        self.shadow, self.memory, self.program, self.reporter, self.first = shadow, memory, program, reporter, first

    def accessed(
        self, lanes: ActiveLanes, instruction: DecodedInstruction, kind: str, offsets: Array, words: list[Array] | None
    ) -> None:
        """Enter an access, and the race that it makes. kind: "read", "write" or "atomic"."""
        if self.shadow is None:
            return
        group, size = lanes.group, lanes.size
        own = np.broadcast_to(self.reporter.waves.workgroup_of[group.rows][:, None], (group.count, group.lanes))
        groups = (own.ravel() if lanes.mask is None else own[lanes.mask]) + self.first
        stored = None
        if words is not None:
            data = self.memory.data
            stored = lambda: (data[offsets[:, None] + np.arange(size)], octets_of(words, size))  # noqa: E731
        race = self.shadow.note(kind, offsets, size, groups, instruction.address, stored)
        if race is not None:
            self._race(lanes, instruction, kind, race)

    def _race(self, lanes: ActiveLanes, instruction: DecodedInstruction, kind: str, race: GridRace) -> None:
        group = lanes.group
        hit = np.zeros(len(lanes.addresses), np.bool_)
        hit[race.access] = True
        region = next(one for one in self.memory.regions if one.place <= race.offset < one.place + one.end - one.start)
        verb = {"read": "reads", "write": "writes"}.get(kind, "changes")
        who = "other workgroups" if race.workgroup is None else f"workgroup number {race.workgroup} of the launch"
        what = f"{verb} byte {race.offset - region.place} of {region.name}"
        other = self.program.instructions.get(race.label)
        if race.same:
            message = f"{what}, where {who} {race.did} the same value, and nothing orders the two"
            self.reporter.note("same value", group.numbers(), instruction, message, lanes.spread(hit), other)
        else:
            message = f"{what}, which {who} {race.did}, and nothing orders the two"
            self.reporter.find("race", group.numbers(), instruction, message, lanes.spread(hit), other)


def orders_workgroups(instruction: DecodedInstruction) -> bool:
    """Whether an instruction releases or acquires beyond its workgroup, as LLVM's memory model has it on each target
    (User Guide for AMDGPU Backend, "Memory Model"): it writes back or invalidates a cache that compute units share, an
    atomic operation returns what was there, or a load goes past the first cache."""
    name, modifiers = instruction.name, instruction.modifiers
    if name.startswith(CACHES):
        return name not in SCOPED or bool(modifiers.get("sc1")) or int(modifiers.get("scope", 0)) >= DEVICE_SCOPE
    flags = flags_of(name)
    if flags.isdisjoint(("flat", "mubuf")) or not flags.isdisjoint(("scratch", "prefetch", "from_lds")):
        return False
    if "atomic" in flags:
        return bool(instruction.destinations)
    return "load" in flags and (
        bool(modifiers.get("sc1") or modifiers.get("glc")) or int(modifiers.get("scope", 0)) >= DEVICE_SCOPE
    )


CACHES = ("buffer_gl1_inv", "buffer_wbl2", "buffer_invl2", "buffer_wbinvl1", "buffer_inv", "global_inv", "global_wb",
          "s_dcache_wb")  # fmt: skip
SCOPED = ("buffer_inv", "global_inv", "global_wb", "global_wbinv")
"""Those of `CACHES` that are of a workgroup alone by their scope."""
DEVICE_SCOPE = 2


def grid_races(
    kernel: Kernel, program: Program, memory: GlobalMemory, workgroups: int, tally: Tally
) -> GridRaces | None:
    """Where the accesses of a launch are kept; None where nothing can be said, which a note says."""
    if workgroups == 1:
        return None
    listed = instructions_of(kernel, program)
    ordering = [one for one in listed if orders_workgroups(one)]
    if ordering:
        message = "races in global memory between workgroups are not checked: this may order them"
        tally.note(entry_at(tally, "not checked", ordering[0], message, 1))
        return None
    sizes = [access.size for one in listed if (access := access_of(one.name)) is not None and access.unit != "ds"]
    return GridRaces(memory, min([4, *[size & -size for size in sizes]]))
