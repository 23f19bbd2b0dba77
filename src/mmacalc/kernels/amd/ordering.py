"""Races in global memory between the waves of a compiled AMD kernel, and how its workgroups communicate."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np

from ...asm.decoder import text
from ...asm.tables import flags_of
from ..device.findings import KernelFinding
from ..device.grid_races import CLOCK, PLAIN, WORKGROUP, Grade, GridRaces, agent_of, code_of
from ..device.memory import octets_of
from ..device.suspects import ORIGIN
from .checks import entry_at
from .global_order import MOST_AGENTS, MOST_FLAGS, VALUES, WRITES, GlobalOrder
from .memory import access_of
from .memory_model import model_of
from .named_barriers import meets_named
from .tensor_copies import tensor_access

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...asm.code_objects import Kernel
    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from ..device.findings import Reporter, Tally
    from ..device.grid_races import GridRace
    from ..device.launch import Dim3
    from ..device.memory import GlobalMemory
    from ..device.suspects import Suspects
    from .global_order import Flag, Missing
    from .memory import Access, ActiveLanes
    from .program import Program
    from .state import Group

__all__ = ["GlobalChecks", "GlobalRaces", "communicates", "global_checks"]


class GlobalChecks:
    """What the batches of a launch share: who accessed what, in which order, on which grid of which clusters. grades:
    of accesses by the addresses of their instructions, kept for the next launch. undefined: the reads that are so, in
    a run that asks whether they are used."""

    cluster: Dim3
    grades: dict[int, Grade]
    grid: Dim3
    order: GlobalOrder
    shadow: GridRaces
    undefined: Suspects | None

    def __init__(
        self, shadow: GridRaces, order: GlobalOrder, grid: tuple[Dim3, Dim3], grades: dict[int, Grade]
    ) -> None:
        self.undefined = None
        self.shadow, self.order, (self.grid, self.cluster), self.grades = shadow, order, grid, grades

    def place(self, workgroup: int) -> tuple[int, int, int]:
        """Where a workgroup is in the grid: they are numbered cluster by cluster."""
        size = self.cluster.x * self.cluster.y * self.cluster.z
        whole, own = divmod(workgroup, size)
        found = []
        for count, part in zip(self.grid, self.cluster):
            whole, outer = divmod(whole, count // part)
            own, inner = divmod(own, part)
            found.append(outer * part + inner)
        return found[0], found[1], found[2]


class GlobalRaces:
    """Finds accesses of the same bytes of global memory by two waves of a batch, which nothing orders."""

    checks: GlobalChecks | None
    memory: GlobalMemory
    program: Program
    reporter: Reporter

    def __init__(self, memory: GlobalMemory, program: Program, reporter: Reporter) -> None:
        self.checks, self.memory, self.program, self.reporter = None, memory, program, reporter
        self._reads: dict[int, tuple[int, int, bytes]] = {}  # by wave, what its last strong read found
        self._advanced: Array | None = None  # by wave, the codes of an access whose clocks have gone on already

    def begin(self, checks: GlobalChecks | None, first: int) -> None:
        """A batch starts. first: the number of its first workgroup in the launch."""
        self.checks = checks
        if checks is not None:
            checks.order.begin(self.reporter.waves, first)

    # --- what happens ---

    def accessed(
        self, lanes: ActiveLanes, instruction: DecodedInstruction, access: Access, offsets: Array,
        words: list[Array] | None,
    ) -> None:  # fmt: skip
        """Lanes are about to access global memory at some offsets; words: what a store writes."""
        checks = self.checks
        if checks is None:
            return
        group = lanes.group
        rows = lanes.rows()
        race = self._entered(checks, group, instruction, access, (offsets, lanes.size, rows), words)
        if race is not None:
            hit = np.zeros(len(offsets), np.bool_)
            hit[race.access] = True
            self._race(checks, group, instruction, access, race, int(rows[race.access]), lanes.spread(hit))
        if checks.undefined is not None and access.action == "load" and not access.to_lds:
            lost = self._undefined(checks, instruction, (offsets, lanes.size, rows))
            group.batch.uninitialised.loaded(group, lanes, lost, ORIGIN)

    def scalar(
        self, group: Group, instruction: DecodedInstruction, access: Access, where: tuple[Array, Array, int],
        words: list[Array] | None = None,
    ) -> None:  # fmt: skip
        """Waves are about to access global memory, each as a whole. where: rows, offsets, bytes."""
        rows, offsets, size = where
        region = self.memory.region
        if self.checks is not None and not (region >= 0 and not self.memory.regions[region].writeable):
            race = self._entered(self.checks, group, instruction, access, (offsets, size, rows), words)
            if race is not None:
                self._race(self.checks, group, instruction, access, race, int(rows[race.access]), None)
            if self.checks.undefined is not None and access.action == "load" and len(rows) == group.count:
                lost = self._undefined(self.checks, instruction, where=(offsets, size, rows))
                group.batch.uninitialised.loaded_scalars(group, lost, ORIGIN)

    def _undefined(
        self, checks: GlobalChecks, instruction: DecodedInstruction, where: tuple[Array, int, Array]
    ) -> Array | None:
        """Which of some reads that have been entered race, in a run that asks whether they are used."""
        (offsets, size, rows), order = where, checks.order
        assert checks.undefined is not None
        width = max(1, size // checks.shadow.granule)
        granules = (offsets[:, None] // checks.shadow.granule + np.arange(width)).ravel()
        agents, clocks = rows + order.first + 1, order.clock[rows]
        if self._advanced is not None:
            agents, clocks = self._advanced[rows] >> CLOCK, self._advanced[rows] & (1 << CLOCK) - 1
        hit = checks.undefined.among(granules, np.repeat(agents, width), np.repeat(clocks, width))
        if not hit.any():
            return None
        checks.undefined.met.add(instruction.address)
        found: Array = hit.reshape(-1, width).any(axis=1)
        return found

    def _entered(
        self, checks: GlobalChecks, group: Group, instruction: DecodedInstruction, access: Access,
        where: tuple[Array, int, Array], words: list[Array] | None,
    ) -> GridRace | None:  # fmt: skip
        offsets, size, rows = where
        order, label = checks.order, instruction.address
        grade = self._grade(checks, instruction, access)
        if self._advanced is None:
            self._clocked(checks, group, instruction, access)
            codes = code_of(rows + order.first, order.clock[rows])
        else:
            codes = self._advanced[rows]
        stored = None
        if words is not None:
            data = self.memory.data
            stored = lambda: (data[offsets[:, None] + np.arange(size)], octets_of(words, size))  # noqa: E731
        if not order.communicates or (grade.kind == "read" and grade.reach == PLAIN):
            return checks.shadow.note(grade, offsets, size, codes, label, stored)
        if grade.kind != "read":
            order.stored(np.unique(rows))
        before = checks.shadow.last_writes(offsets) if grade.kind != "write" else None
        if grade.kind == "read" or grade.returns:
            self._polled(rows, label, offsets, size)
        race = checks.shadow.note(grade, offsets, size, codes, label, stored)
        if before is not None:
            how = access.kind, _uncounted(access), max(1, size // checks.shadow.granule)
            self._flags(order, grade, how, (rows, codes, label), before)
            if order.full:
                message = f"races in global memory are not checked from here on: atomic operations changed {MOST_FLAGS}"
                self.reporter.note("not checked", group.numbers(), instruction, f"{message} places")
        return race

    @staticmethod
    def _grade(checks: GlobalChecks, instruction: DecodedInstruction, access: Access) -> Grade:
        grade = checks.grades.get(instruction.address)
        if grade is None:
            grade = checks.grades[instruction.address] = checks.order.model.grade(instruction, access)
        return grade

    def _clocked(
        self, checks: GlobalChecks, group: Group, instruction: DecodedInstruction, access: Access
    ) -> None:  # fmt: skip
        """The clocks of the waves that make an access go on."""
        grade = self._grade(checks, instruction, access)
        value = grade.kind == "read" or grade.returns
        uncounted = _uncounted(access)
        checks.order.access(group.rows, () if uncounted else (VALUES if value else WRITES,))

    # --- accesses that the core carries out ---

    @property
    def separate(self) -> bool:
        """Whether each access has to be looked at by itself: workgroups communicate, or some reads are undefined."""
        checks = self.checks
        return checks is not None and (checks.order.communicates or checks.undefined is not None)

    def bits(self, instruction: DecodedInstruction, access: Access) -> int:
        """What an access is to the rules (`Grade.bits`)."""
        return PLAIN if self.checks is None else self._grade(self.checks, instruction, access).bits

    def advanced(self, group: Group, instruction: DecodedInstruction, access: Access) -> Array:
        """The clocks of waves go on for an access that is carried out later; its codes, of each wave of the group."""
        numbers, checks = group.numbers(), self.checks
        if checks is None:
            return np.zeros(len(numbers), np.int64)
        self._clocked(checks, group, instruction, access)
        return code_of(numbers + checks.order.first, checks.order.clock[numbers])

    @contextmanager
    def using(self, group: Group, codes: Array) -> Iterator[None]:
        """Meanwhile accesses of a group have these codes of before."""
        self._advanced = np.zeros(group.registers.waves, np.int64)
        self._advanced[group.rows] = codes
        try:
            yield
        finally:
            self._advanced = None

    def listed(self, instruction: DecodedInstruction, access: Access, where: tuple[int, Array], codes: Array) -> None:
        """Lanes have read. where: the region, and the places. codes: of each, or of as many as are waves."""
        (region, places), checks = where, self.checks
        assert checks is not None
        checks.shadow.list_reads(region, places, access.size, codes, instruction.address)

    def _polled(self, rows: Array, label: int, offsets: Array, size: int) -> None:
        """Waves that read by the same instruction what they have read before stand back, so that others go on."""
        waves, data = self.reporter.waves, self.memory.data
        found, first = np.unique(rows, return_index=True)
        for row, at in zip(found.tolist(), offsets[first].tolist()):
            read = label, at, data[at : at + size].tobytes()
            waves.back[row] = self._reads.get(row) == read
            self._reads[row] = read

    @staticmethod
    def _flags(
        order: GlobalOrder, grade: Grade, how: tuple[str, bool, int], mine: tuple[Array, Array, int],
        before: tuple[Array, Array, Array],
    ) -> None:  # fmt: skip
        """Reads that are strong as far as the writer is learn what was released where they read; what integer atomic
        operations change is a flag.

        how: the type of an atomic operation, whether the access is `_uncounted`, and how many granules it has.
        """
        (kind, uncounted, width), (rows, codes, label) = how, mine
        changes = grade.kind == "atomic" and kind[:1] in ("u", "i")
        seen: set[tuple[int, int]] = set()
        flags: dict[int, Flag] = {}
        for row, code, place, last, writer in zip(*[one.tolist() for one in (rows, codes, *before)]):
            if (row, place if changes else last) in seen:
                continue
            seen.add((row, place if changes else last))
            found = flags.get(place)
            if found is None and last:
                found = order.flag_at((place, width), last, writer)
            reads = grade.kind == "read" or grade.returns
            if found is not None and found.code != code and reads and order.within(grade.reach, code, found.code):
                order.learn(row, found, label, uncounted)
            if changes:
                changed = order.changed((place, width), found, code, label)
                if changed is not None:
                    flags[place] = changed

    def raised(self, group: Group, names: tuple[str, ...]) -> None:
        """An access has raised counters."""
        if self.checks is not None:
            self.checks.order.raised(group.rows, names)

    def waited(self, group: Group, waits: dict[str, int]) -> None:
        """Waves wait for counters."""
        if self.checks is not None:
            self.checks.order.wait(group.rows, waits)

    def cached(self, group: Group, instruction: DecodedInstruction) -> None:
        """Waves execute an instruction of caches."""
        if self.checks is not None:
            caches = self.checks.order.model.caches(instruction)
            if caches is not None:
                self.checks.order.cached(group.rows, caches)

    def signalled(self, group: Group) -> None:
        """Waves have arrived at a barrier."""
        if self.checks is not None:
            self.checks.order.signal(group.rows)

    def met(self, workgroups: list[int]) -> None:
        """The waves of some workgroups have met."""
        if self.checks is not None:
            self.checks.order.meet(workgroups)

    def signalled_cluster(self, group: Group, times: Array) -> None:
        """Waves have signalled the barrier of their cluster, for their workgroups. times: how often each has now."""
        if self.checks is not None:
            self.checks.order.signal_cluster(group.rows, times)

    def met_cluster(self, rows: Array, times: Array, size: int) -> None:
        """Waves go on whose clusters have met. times: how often each has waited; size: workgroups of a cluster."""
        if self.checks is not None:
            self.checks.order.meet_cluster(rows, times, size)

    # --- what is wrong ---

    def _race(
        self, checks: GlobalChecks, group: Group, instruction: DecodedInstruction, access: Access, race: GridRace,
        row: int, where: Array | None,
    ) -> None:  # fmt: skip
        grade, order, numbers = checks.grades[instruction.address], checks.order, group.numbers()
        region = next(one for one in self.memory.regions if one.place <= race.offset < one.place + one.end - one.start)
        verb = {"read": "reads", "write": "writes"}.get(grade.kind, "changes")
        byte = f"byte {race.offset - region.place} of {region.name}"
        workgroup, wave = divmod(agent_of(race.code), order.each)
        near = workgroup == (order.first + row) // order.each
        who = f"wave {wave} of the workgroup" if near else f"workgroup number {workgroup} of the launch"
        what, other = f"{verb} {byte}, which {who} {race.did}", self.program.instructions.get(race.label)
        if where is None:
            where = (numbers == row)[:, None]
        if race.same:
            message = f"{verb} {byte}, where {who} {race.did} the same value, and nothing orders the two"
            self.reporter.note("same value", numbers, instruction, message, where, other)
            return
        returned = race.did == "read" or (other is not None and bool(other.destinations))
        missing = None if race.narrow else order.missing(row, race.code, grade.kind, returned)
        if missing is not None and missing.what == "release":
            self._released_early(checks, missing, byte, race, other)
            return
        kind = "wait" if missing is not None and missing.what == "done" else "race"
        message = f"{what}, and {self._why(order, grade, race, missing, row)}"
        if race.narrow and order.model.unsure_of(instruction) and other is not None and order.model.unsure_of(other):
            self.reporter.note("scope", numbers, instruction, f"{message}. {UNSURE}", where, other)
            return
        self.reporter.find(kind, numbers, instruction, message, where, other)
        reads = instruction if grade.kind == "read" else other if race.did == "read" else None
        if kind == "race" and reads is not None:
            key = kind, instruction.address, None if other is None else other.address
            checks.shadow.suspects.findings[key] = reads.address

    def _why(self, order: GlobalOrder, grade: Grade, race: GridRace, missing: Missing | None, row: int) -> str:
        """Why nothing orders two accesses. row: the wave of the one of now."""
        model, apart = order.model, order.apart_of(order.first + row, agent_of(race.code))
        near = apart == WORKGROUP
        if race.narrow:
            other = "wave" if near else "workgroup"
            return f"the scope of one of the two does not reach the other's {other}: {model.reaching(apart)} does"
        if missing is None:
            if near:
                return "no barrier comes in between"
            hint = ""
            if grade.reach == PLAIN and race.strong and order.communicates:
                what = "a load that waits for what they store" if grade.kind == "read" else "a store that they wait for"
                hint = f" (of other workgroups, {what} has {model.strong})"
            return f"nothing orders the two{hint}"
        if missing.what == "done":
            return f"the barrier in between comes before that is waited for: no wait for {model.done} before it"
        if missing.what == "refresh":
            return f"no {model.refresh} comes behind the barrier in between, so that a cache may have what was before"
        read = self.program.instructions[missing.read]
        return (
            f"no {model.acquire} come between the flag, which {missing.read:#x} ({text(read)}) has read, and this "
            "load: a cache may have what was before"
        )

    def _released_early(
        self, checks: GlobalChecks, missing: Missing, byte: str, race: GridRace, other: DecodedInstruction | None
    ) -> None:
        """A flag was written before what it stands for is visible."""
        tally, flag = self.reporter.tally, self.program.instructions[missing.flag]
        workgroup, wave = divmod(agent_of(missing.code), checks.order.each)
        release = checks.order.model.release
        late = "was read there is read" if race.did == "read" else "was stored there is visible"
        message = (
            f"writes the flag that {missing.read:#x} reads in another workgroup, which then accesses {byte}, before "
            f"what {late}: no {release} between the two"
        )
        address, words = (None, "") if other is None else (other.address, text(other))
        at = tally.locate(flag.address), None if address is None else tally.locate(address)
        place = checks.place(workgroup)
        tally.add(KernelFinding("wait", flag.address, text(flag), message, address, words, place, wave, (), 1, *at))


UNSURE = (
    "LLVM's memory model asks for it; Triton leaves it out of buffer atomics of RDNA4, and whether the hardware needs "
    "it there no public text says (on gfx1250 it does)"
)
"""What is said of such instructions (`MemoryModel.unsure_of`)."""


def _uncounted(access: Access) -> bool:
    """Whether an access raises counters that the order does not follow: scalar ones, and between memory and LDS."""
    return access.unit.startswith(("scalar", "tensor")) or access.asynchronous


def communicates(instruction: DecodedInstruction) -> bool:
    """Whether an instruction releases or acquires beyond its workgroup, as LLVM's memory model has it on each target
    (User Guide for AMDGPU Backend, "Memory Model"): it writes back or invalidates a cache that compute units share, an
    atomic operation returns what was there, or a load goes past the first cache."""
    name, modifiers = instruction.name, instruction.modifiers
    if name == "s_barrier_wait" and int(modifiers["simm16"]) == CLUSTER_WAIT:
        return True
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
CLUSTER_WAIT = 0xFFFD
"""SIMM16 of s_barrier_wait at the barrier of a cluster."""


def global_checks(
    kernel: Kernel, program: Program, memory: GlobalMemory, sizes: tuple[Dim3, Dim3], each: int, tally: Tally
) -> GlobalChecks | None:
    """What the accesses of a launch are held to; None where nothing can be said, which a note says, or where there is
    one wave alone. sizes: of the grid and of a cluster, in workgroups. each: waves of a workgroup."""
    grid = sizes[0]
    total = grid.x * grid.y * grid.z * each
    if total == 1:
        return None
    ordering, granule = program.remembered(
        "global accesses", kernel.address, lambda: _accesses(program.of_kernel(kernel))
    )
    model = model_of(kernel)
    why = ""
    if model is None:
        why = "its waves may be on several compute units (TgSplit mode)"
    elif (named := meets_named(program.of_kernel(kernel))) is not None and each > 1:
        ordering, why = named, "some waves of its workgroups meet at named barriers"
    elif ordering is not None and total > MOST_AGENTS:
        why = f"its workgroups communicate, and the launch has more than {MOST_AGENTS} waves"
    if why or model is None:
        message = f"races in global memory are not checked: {why}"
        tally.note(entry_at(tally, "not checked", ordering or program.of_kernel(kernel)[0], message, 1))
        return None
    cluster = sizes[1].x * sizes[1].y * sizes[1].z
    order = GlobalOrder(model, each, each * cluster, total, ordering is not None)
    mode = "WGP mode" if model.near else "CU mode"  # the same instructions reach further in one of them
    grades: dict[int, Grade] = program.remembered(f"grades in {mode}", kernel.address, dict)
    return GlobalChecks(GridRaces(memory, granule, order), order, sizes, grades)


def _accesses(listed: Sequence[DecodedInstruction]) -> tuple[DecodedInstruction | None, int]:
    """The first instruction that communicates, and the bytes that all accesses of global memory are multiples of."""
    accesses = [access_of(one.name) or tensor_access(one.name) for one in listed]
    sizes = [access.size for access in accesses if access is not None and access.unit != "ds"]
    return next((one for one in listed if communicates(one)), None), min([4, *[size & -size for size in sizes]])
