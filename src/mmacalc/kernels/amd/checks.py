"""What the waves of a batch do wrong, each check a class: `Batch` tells them what happens.

A check sees every instruction before and after it runs (`before`, `after`), or every access of LDS (`accessed`); some
are asked by the instruction itself, such as `Uninitialised` by a store. What they find they give to a `Reporter`.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from ...asm.decoder import text
from ...asm.high_registers import chooses_registers
from ...asm.immediates import hardware_field
from ...asm.tables import flags_of
from ...base.errors import plural
from ...base.records import Cache, TupleRecord
from ...emulator.core import address as core_address
from ...hazards.deallocation import MESSAGE as DEALLOCATION
from ...hazards.lint import SCHED_MODE
from ..device.findings import KernelFinding, Stop
from ..device.memory import octets_of
from ..device.ordered_races import COPIES, OrderedRaces
from ..device.races import UNFETCHED, UNREAD, UNWAITED
from ..device.traffic import KNOWN, PERIOD, enter
from ..device.unread import unread_text
from .counters import Landing
from .state import register_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from ...asm.code_objects import Kernel
    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from ..device.findings import Reporter, Tally
    from ..device.memory import Outside
    from ..device.races import Race
    from ..device.scheduler import Waves
    from ..device.shared import PrivateMemory, SharedMemory
    from ..device.traffic import Added, BankCounter, Cost
    from .counters import Counters, Flight, Translations
    from .memory import Access, ActiveLanes
    from .program import Program, Step
    from .state import Group

__all__ = [
    "Alignment", "Barriers", "Bounds", "LocalAccess", "Moves", "Products", "Races", "Unread", "Waits",
    "check_lane_masks", "check_result_waits", "check_wait_states", "entry_at",
]  # fmt: skip

_VERBS = {"read": "reads", "write": "writes"}
_OUTSTANDING = {UNWAITED: "load that writes", UNFETCHED: "store that copies", UNREAD: "load that reads"}
"""Of an access of LDS by the same wave what it is, by its kind."""
_UNENDED = {
    UNWAITED: ("writes", "write to"), UNFETCHED: ("copies to memory", "copy from"), UNREAD: ("reads", "load from"),
}  # fmt: skip
"""Of an access of LDS by another wave, before a barrier, what it does and what it is, by its kind."""
_DISPUTED = "LLVM's memory model asks for it, AMD's AITER kernels for gfx942 have none there (fmha_bwd_hd128_fp16_a16)"
"""Of a load outstanding at a barrier behind which another wave stores: AMDGPUUsage, "Memory Model", has accesses of
several waves in any order; AITER e404860 relies on theirs."""


class LocalAccess(TupleRecord):
    """An access of LDS by the active lanes of a group.

    kind: of `device.races`. offsets, rows: of each access where it is in LDS, and its wave. words: what a write is
    about to store. loaded: whether what it writes comes from memory, not from registers.
    """

    group: Group
    lanes: ActiveLanes
    instruction: DecodedInstruction
    access: Access
    kind: str
    offsets: Array
    rows: Array
    words: list[Array] | None
    loaded: bool


class Moves:
    """Counts bytes moved, and the cycles and bank conflicts of accesses of LDS."""

    banks: BankCounter | None
    tally: Tally

    def __init__(self, tally: Tally, banks: BankCounter | None) -> None:
        self.tally, self.banks = tally, banks
        self._places: dict[int, str] = {}
        self._patterns, self._known = Cache(KNOWN), Cache(KNOWN)

    def moved(self, access: Access, elements: int, local: bool = False) -> None:
        """Count bytes moved."""
        self.tally.moved.add(elements * access.size, store=access.action != "load", local=local)

    def accessed(self, event: LocalAccess) -> None:
        """Count an access, once for each pattern of addresses.

        Of atomic operations only their number: no public source measures their cycles.
        """
        group, access = event.group, event.access
        if event.loaded or access.unit == "tensor":  # whose banks no source tells
            return
        self.moved(access, len(event.offsets), local=True)
        if access.action not in ("load", "store"):
            self.tally.atomics += group.count
            return
        if self.banks is not None and access.size <= 16:
            enter(self._added(event.instruction, event.kind, self._found(event, self.banks), self.banks))

    def costs(
        self, instruction: DecodedInstruction, key: tuple[int, int, str], event: Callable[[], LocalAccess]
    ) -> list[Added]:
        """The counts to which a load or a store adds, and what: it is not entered.

        Args:
            key: a number for its addresses, its bytes, "read" or "write": what they cost does not depend on the
                instruction. event: gives the access, where these addresses were not met before.
        """
        banks = self.banks
        if banks is None:
            return []
        found = self._known.get(key, lambda: self._found(event(), banks))
        return self._added(instruction, key[2], found, banks)

    def _added(
        self, instruction: DecodedInstruction, kind: str, found: list[tuple[list[Cost], int]], banks: BankCounter
    ) -> list[Added]:
        """What some waves' accesses add to which of the instruction's counts."""
        at = instruction.address
        if at not in self._places:
            self._places[at] = f"{at:#x}: {self.tally.describe(instruction)}"
        return [one for costs, times in found for one in banks.added(costs, kind, self._places[at], times)]

    def _found(self, event: LocalAccess, banks: BankCounter) -> list[tuple[list[Cost], int]]:
        """What the accesses of some waves cost, and how many cost that: known where a loop comes back with the same
        table of addresses."""
        group, access = event.group, event.access
        if group.mask is None:
            table = event.lanes.addresses.reshape(group.count, group.lanes)
            low = table.min(axis=1, keepdims=True)
            table = table - low // PERIOD * PERIOD
        else:
            table = np.full((group.count, group.lanes), -1, np.int64)
            table[group.mask] = event.lanes.addresses
            low = np.where(table < 0, 1 << 40, table).min(axis=1, keepdims=True)
            table = np.where(table < 0, -1, table - low // PERIOD * PERIOD)
        raw, each = table.tobytes(), table.strides[0]

        def make() -> list[tuple[list[Cost], int]]:
            times = Counter([raw[first : first + each] for first in range(0, len(raw), each)])
            return [
                (banks.costs(np.frombuffer(pattern, np.int64)[:, None], access.size, event.kind), count)
                for pattern, count in times.items()
            ]

        found: list[tuple[list[Cost], int]] = self._patterns.get((access.size, event.kind, raw), make)
        return found


class Products:
    """Counts matrix instructions; WMMA needs every lane active (RDNA3 ISA guide, "WMMA")."""

    reporter: Reporter

    def __init__(self, reporter: Reporter) -> None:
        self.reporter = reporter

    def issued(self, group: Group, instruction: DecodedInstruction, key: Any) -> None:
        """Count one. key: the instruction of the catalog and its modifiers."""
        self.reporter.tally.issued[key] += group.count
        if group.mask is not None and "mfma" not in instruction.name and "smfmac" not in instruction.name:
            message = "runs while lanes are inactive, which is undefined"
            self.reporter.find("exec", group.numbers(), instruction, message, ~group.mask)


class Waits:
    """Finds registers and bytes of LDS that are touched before the access that writes them is waited for."""

    counters: Counters
    program: Program
    reporter: Reporter

    def __init__(self, counters: Counters, program: Program, reporter: Reporter) -> None:
        self.counters, self.program, self.reporter = counters, program, reporter

    def before(self, step: Step, group: Group) -> None:
        """Look for what an instruction touches too early."""
        busy, translations = self.counters.busy, self.counters.translations
        if busy and not step.touched.isdisjoint(busy.keys()):
            self._too_early(step, group)
        if translations is not None:
            self._untranslated(step, group, translations)

    def issue(self, step: Step, group: Group) -> Flight | None:
        """Enter an access as outstanding; None if no check asks for it."""
        counters = self.counters
        flight = counters.issue(group, step.instruction.address, step.count, step.writes, step.writes_lds)
        if counters.translations is not None:
            counters.translations.after(step, group)
        return flight

    def accessed(self, event: LocalAccess) -> None:
        """Look for bytes of LDS that an outstanding copy loads or stores, and for those that a copy overwrites while a
        load of them is outstanding; enter what is written or read.

        LDS serves the accesses of a wave in order, but not its copies among them (LLVM's pull requests 142018 and
        220288), and those of several waves in any order (AMDGPUUsage, "Memory Model": it has several queues).
        """
        lanes, access, reads = event.lanes, event.access, event.kind == "read"
        against = ((UNREAD,) if event.loaded else (UNWAITED,)) + (() if reads else (UNFETCHED,))
        while (met := self.counters.landing_at(event.offsets, access.size, event.rows, against)) is not None:
            flight, wrong = met
            byte = int(lanes.addresses[int(wrong.argmax())])
            verb = {"read": "reads", "write": "writes"}.get(event.kind, "reads and writes")
            other = _OUTSTANDING[flight.landings[0].kind]
            message = (
                f"{verb} byte {byte} of LDS while the {other} it may be outstanding: "
                f"no wait for {' and '.join(self.counters.kinds[flight.kind])} before it"
            )
            self._find(event.group, event.instruction, message, flight.address, lanes.spread(wrong))
        if len(event.offsets):
            copies = "from_lds" in flags_of(event.instruction.name)
            kind = UNWAITED if not reads else UNFETCHED if copies else UNREAD
            numbers = self.reporter.waves.wave_in_group[event.rows] + 1
            self.counters.landings.append(Landing(event.offsets, lanes.size, event.rows, numbers, kind))

    def _too_early(self, step: Step, group: Group) -> None:
        while (flight := self.counters.touched(step.reads, step.writes, step.count, group)) is not None:
            names = ", ".join(register_name(number) for number in sorted(flight.numbers & step.touched)[:4])
            waits = " and ".join(self.counters.kinds[flight.kind])
            verb = "reads" if flight.numbers & step.reads else "writes"
            message = (
                f"{verb} {names} while the access that writes it may be outstanding: no wait for {waits} before it"
            )
            self._find(group, step.instruction, message, flight.address)

    def _untranslated(self, step: Step, group: Group, translations: Translations) -> None:
        while (access := translations.before(step, group)) is not None:
            names = ", ".join(register_name(number) for number in sorted(access.reads & step.writes)[:4])
            message = (
                f"overwrites {names}, which an access reads that may be issued again until its address is translated: "
                "no wait for xcnt before it"
            )
            self._find(group, step.instruction, message, access.address)

    def _find(
        self, group: Group, instruction: DecodedInstruction, message: str, other: int, where: Array | None = None
    ) -> None:
        self.reporter.find("wait", group.numbers(), instruction, message, where, self.program.instructions[other])


class Races:
    """Finds accesses of the same bytes of LDS by two waves without a barrier in between."""

    counters: Counters
    lds: SharedMemory
    program: Program
    reporter: Reporter

    def __init__(self, lds: SharedMemory, counters: Counters, program: Program, reporter: Reporter) -> None:
        self.lds, self.counters, self.program, self.reporter = lds, counters, program, reporter

    def accessed(self, event: LocalAccess) -> None:
        """Enter an access, and the race that it makes."""
        offsets, words, size, lds = event.offsets, event.words, event.lanes.size, self.lds
        stored = None
        if words is not None:
            stored = lambda: (lds.data[offsets[:, None] + np.arange(size)], octets_of(words, size))  # noqa: E731
        numbers = self.reporter.waves.wave_in_group[event.rows] + 1
        label = lds.labels.label(event.instruction.address)
        if isinstance(lds.races, OrderedRaces):
            count = self.program.step(event.instruction.address).count
            copies = count if count in COPIES else ""
            race = lds.races.note(event.kind, offsets, size, numbers, label, stored, copies)
        else:
            race = lds.races.note(event.kind, offsets, size, numbers, label, stored)
        if race is not None:
            self._race(event, race)

    def _race(self, event: LocalAccess, race: Race) -> None:
        lanes, rows = event.lanes, event.group.numbers()
        hit = np.zeros(len(event.offsets), np.bool_)
        hit[race.access] = True
        where = lanes.spread(hit)
        address = self.lds.labels.place(race.label)
        other = None if address is None else self.program.instructions[address]
        verb = _VERBS.get(event.kind, "reads and writes")
        what = f"{verb} byte {int(lanes.addresses[race.access])} of LDS"
        who = f"wave {race.wave - 1} of the workgroup"
        enter, kind = self.reporter.find, "race"
        if race.same:
            enter, kind = self.reporter.note, "same value"
            message = f"{what}, where {who} writes the same value without a barrier in between"
        elif race.kind in _UNENDED:
            kind, count = "wait", "lds" if address is None else self.program.step(address).count
            waits = " and ".join(self.counters.kinds[count])
            does, name = _UNENDED[race.kind]
            early = f"its barrier comes before the {name} LDS is waited for: no wait for {waits} before it"
            message = f"{what}, which {who} {does}, and {early}"
            if race.kind == UNREAD and not event.loaded:
                enter, message = self.reporter.note, f"{message}; {_DISPUTED}"
        else:
            message = f"{what}, which {who} accesses without a barrier in between"
            if isinstance(self.lds.races, OrderedRaces):
                message += ", of the workgroup or one in LDS whose phase this wave has seen to end"
        enter(kind, rows, event.instruction, message, where, other)


class Barriers:
    """Finds waves of a workgroup that meet at different barriers, or with fewer lanes than they began with: the
    hardware allows both, as it counts waves. began: EXEC at the start, (waves, lanes)."""

    program: Program
    reporter: Reporter
    waves: Waves

    def __init__(self, waves: Waves, program: Program, reporter: Reporter, began: Array) -> None:
        self.waves, self.program, self.reporter, self._began = waves, program, reporter, began
        self._apart: dict[int, tuple[int, int]] = {}

    def arrived(self, group: Group, instruction: DecodedInstruction) -> None:
        """Some waves arrive: note the lanes that are inactive and were active at the start."""
        if group.mask is not None and (missing := self._began[group.rows] & ~group.mask).any():
            message = "lanes are inactive at the barrier that were active at the start: EXEC may not be restored"
            self.reporter.note("exec", group.numbers(), instruction, message, missing)

    def met(self, workgroups: list[int]) -> None:
        """The waves of some workgroups have met, those of each. One that has signalled and does not wait yet is at no
        other barrier."""
        waves, shape = self.waves, (len(self.waves.groups), -1)
        if not waves.ended.any() and (waves.place == waves.place[0]).all():
            return
        live, freed = (kept.reshape(shape)[workgroups] for kept in (~waves.ended, waves.freed))
        places = waves.place.reshape(shape)[workgroups]
        first = np.where(freed, places, places.max()).min(axis=1)
        last = np.where(freed, places, 0).max(axis=1)
        for at in np.flatnonzero(first != last).tolist():
            self._met_apart(workgroups[at], np.unique(places[at][freed[at]])[:2])
        text = "waves had ended when the others of their workgroup met at a barrier"
        if early := int((~live).any(axis=1).sum()):
            self.reporter.tally.warnings[text] += early

    def _met_apart(self, workgroup: int, places: Array) -> None:
        first, second = (self.program.instructions[int(place)] for place in places)
        self._apart.setdefault(workgroup, (second.address, first.address))
        rows = np.flatnonzero(self.waves.live(workgroup) & (self.waves.place == places[1]))
        message = "other waves of the workgroup are at another barrier"
        self.reporter.note("barrier", rows, second, message, None, first)

    def finish(self) -> None:
        """All waves have ended: it is wrong if those that met at different barriers passed another number of them."""
        waves = self.waves
        for workgroup, (place, other_place) in self._apart.items():
            members = np.flatnonzero(waves.workgroup_of == workgroup)
            counts = waves.signalled[members]
            if counts.min() < counts.max():
                row, other = members[counts.argmax()], int(waves.wave_in_group[members[counts.argmin()]])
                message = (
                    "waves of the workgroup meet at different barriers and not equally often: "
                    f"this wave {counts.max()} times, wave {other} {counts.min()} times"
                )
                first, second = self.program.instructions[other_place], self.program.instructions[place]
                self.reporter.find("barrier", np.array([row]), second, message, None, first)


class Bounds:
    """Stops the launch at an access outside of memory. most: bytes of LDS of the largest workgroup."""

    lds: SharedMemory
    most: int
    reporter: Reporter
    scratch: PrivateMemory

    def __init__(self, lds: SharedMemory, scratch: PrivateMemory, most: int, reporter: Reporter) -> None:
        self.lds, self.scratch, self.most, self.reporter = lds, scratch, most, reporter

    def outside(
        self, group: Group, instruction: DecodedInstruction, access: Access, outside: Outside, lanes: ActiveLanes | None
    ) -> NoReturn:
        """An access of global memory outside every region.

        Raises:
            Stop: always.
        """
        row, lane = int(group.numbers()[0]), None
        if lanes is not None:
            row, lane = lanes.who(outside.place)
        self._stop(instruction, access, (row, lane), outside.where)

    def far_outside_lds(
        self, group: Group, instruction: DecodedInstruction, access: Access, lanes: ActiveLanes
    ) -> Array:
        """Which accesses are so far outside of LDS that they are masked off, which is noted.

        What is stored outside of LDS is dropped, and zeros are loaded; a load from memory into LDS does not even fetch.
        Compilers mask lanes off by that (Triton, pull requests 9761 and 10588: by the address 0x7FFFFFFF). The rule
        here: an address beyond the largest LDS of the architecture, counted up from 0 or down from 2^32, is such a
        mask. Any other one outside of the kernel's LDS is within reach of a wrong index: a mistake.

        Raises:
            Stop: an access outside LDS that is not far outside.
        """
        wrong = (lanes.addresses < 0) | (lanes.addresses + access.size > self.lds.size)
        far: Array = wrong & (lanes.addresses >= self.most) & (lanes.addresses < (1 << 32) - self.most)
        if (wrong & ~far).any():
            self.outside_lds(instruction, access, lanes, wrong & ~far)
        verb = "loads zeros from" if access.action == "load" and not access.to_lds else "drops what it stores at"
        message = f"{verb} byte {int(lanes.addresses[far][0]):#x} of LDS, far outside of its {self.lds.size}"
        self.reporter.note("outside LDS", group.numbers(), instruction, message, lanes.spread(far))
        return far

    def outside_lds(
        self, instruction: DecodedInstruction, access: Access, lanes: ActiveLanes, wrong: Array
    ) -> NoReturn:
        """Accesses outside LDS. wrong: which.

        Raises:
            Stop: always.
        """
        self._outside_local(instruction, access, lanes, wrong, f"LDS, which has {self.lds.size}")

    def outside_scratch(self, instruction: DecodedInstruction, access: Access, lanes: ActiveLanes) -> NoReturn:
        """An access outside scratch.

        Raises:
            Stop: always.
        """
        wrong = (lanes.addresses < 0) | (lanes.addresses + access.size > self.scratch.size)
        self._outside_local(instruction, access, lanes, wrong, f"scratch, which has {self.scratch.size}")

    def _outside_local(
        self, instruction: DecodedInstruction, access: Access, lanes: ActiveLanes, wrong: Array, what: str
    ) -> NoReturn:
        place = int(np.flatnonzero(wrong)[0])
        self._stop(instruction, access, lanes.who(place), f"at byte {int(lanes.addresses[place])} of {what}")

    def _stop(
        self, instruction: DecodedInstruction, access: Access, who: tuple[int, int | None], where: str
    ) -> NoReturn:
        row, lane = who
        verb = "loads" if access.action == "load" else "stores"
        text = f"it {verb} {plural(access.size, 'byte')} {where}"
        raise Stop(f"{self.reporter.where(row, instruction, lane)}: {text}")


class Alignment:
    """Finds accesses whose address is not a multiple of what the hardware wants.

    ROCm runs kernels with SH_MEM_CONFIG.alignment_mode UNALIGNED (Linux, kfd_device_queue_manager_v9.c to _v12.c; LLVM
    22, GCNSubtarget: amdhsa has unaligned-access-mode): loads and stores of any size may then lie at any byte. LDS in
    another mode ignores the lowest bits of an address that is not native: a multiple of the access's size, of 16 for 96
    bits (RDNA3 ISA guide, sections 3.3.4.1 and 12.7): noted. Atomic operations must be aligned in every mode, else the
    hardware reports a memory violation (sections 3.3.3 and 12.7; RDNA4 ISA guide, section 9.5): the launch is stopped.
    Scalar loads ignore the two lowest bits of an address (CDNA3 ISA guide, section 8.2): found. So is a load of LDS
    that transposes, where it then does not: gfx1250's DS_LOAD_TR16_B128 (measured on an MI455X, see
    `memory_access.transpose_loads`). falls_back: whether the target does that.
    """

    falls_back: bool
    reporter: Reporter

    def __init__(self, reporter: Reporter, falls_back: bool) -> None:
        self.reporter, self.falls_back = reporter, falls_back

    def accessed(self, event: LocalAccess) -> None:
        """Note a load or a store of LDS that is right in the unaligned mode only."""
        access, addresses = event.access, event.lanes.addresses
        if access.action not in ("load", "store") or not len(addresses):
            return
        native = min(4, event.lanes.size) if event.loaded else 1 << (access.size - 1).bit_length()
        if not int(np.bitwise_or.reduce(addresses)) & (native - 1):
            return
        wrong = (addresses & (native - 1)) != 0
        byte = int(addresses[int(wrong.argmax())])
        verb = "writes" if event.kind == "write" else "reads"
        what = f"{verb} {plural(access.size, 'byte')} at byte {byte} of LDS, not a multiple of {native}"
        enter, why = self.reporter.note, "right in the unaligned mode that ROCm sets, at another address in any other"
        if self.falls_back and "_load_tr16" in event.instruction.name:
            enter, why = self.reporter.find, "the hardware then loads without transposing"
        enter("misaligned", event.group.numbers(), event.instruction, f"{what}: {why}", event.lanes.spread(wrong))

    def atomic(self, instruction: DecodedInstruction, access: Access, lanes: ActiveLanes, where: str) -> None:
        """An atomic operation of some lanes. where: what memory it is in.

        Raises:
            Stop: its address is not a multiple of its size.
        """
        wrong = (lanes.addresses.astype(np.int64) & (access.size - 1)) != 0
        if not wrong.any():
            return
        place = int(wrong.argmax())
        self._stop(instruction, access, lanes.who(place), f"{int(lanes.addresses[place]):#x} of {where}")

    def scalar_atomic(self, group: Group, instruction: DecodedInstruction, access: Access, addresses: Array) -> None:
        """A scalar atomic operation of some waves.

        Raises:
            Stop: its address is not a multiple of its size.
        """
        wrong = (addresses & np.uint64(access.size - 1)) != 0
        if wrong.any():
            place = int(wrong.argmax())
            where = f"{int(addresses[place]):#x} of global memory"
            self._stop(instruction, access, (int(group.numbers()[place]), None), where)

    def _stop(
        self, instruction: DecodedInstruction, access: Access, who: tuple[int, int | None], where: str
    ) -> NoReturn:
        raise Stop(
            f"{self.reporter.where(who[0], instruction, who[1])}: misaligned: an atomic operation of {access.size} "
            f"bytes at {where}, not a multiple of {access.size}, which is a memory violation on hardware"
        )

    def scalar(self, group: Group, instruction: DecodedInstruction, access: Access, addresses: Array) -> None:
        """Find a scalar access of words whose address (uint64, of each wave) is not a multiple of 4."""
        wrong = (addresses & np.uint64(3)) != 0
        if access.size >= 4 and wrong.any():
            address = int(addresses[int(wrong.argmax())])
            message = (
                f"accesses memory at {address:#x}, not a multiple of 4: the hardware ignores the two lowest bits, and "
                f"takes {address & ~3:#x}"
            )
            self.reporter.find("misaligned", group.numbers(), instruction, message, wrong[:, None])


# --- after the launch ---


class Unread:
    """Finds bytes of LDS that are written, and that no workgroup of the launch reads. size: of a workgroup's LDS.

    An atomic operation that returns nothing only writes; one that returns or compares reads as well.
    """

    size: int

    def __init__(self, size: int) -> None:
        self.size = size
        self._read: Array = np.zeros(-(-size // 16) * 16, np.uint8)
        self._writer: Array = np.full(len(self._read), -1, np.int32)
        self._known: set[tuple[int, int]] = set()

    def places(self) -> tuple[int, int]:
        """Where the core enters accesses: which bytes are read, and who has written them."""
        return core_address(self._read), core_address(self._writer)

    def accessed(self, event: LocalAccess) -> None:
        """Enter an access; one of the same addresses by the same instruction again is known."""
        addresses, instruction = event.lanes.addresses, event.instruction
        key = instruction.address, hash(addresses.tobytes())
        if key in self._known:
            return
        if len(self._known) >= KNOWN:
            self._known.clear()
        self._known.add(key)
        places = addresses[:, None] + np.arange(event.lanes.size)
        writes = event.kind != "read"
        if not writes or event.kind == "compare-and-swap" or (event.kind == "atomic" and instruction.destinations):
            self._read[places] = 1
        if writes:
            self._writer[places] = instruction.address

    def finish(self, program: Program, tally: Tally) -> None:
        """Note for each instruction the bytes that it was the last one to write, and that nothing has read."""
        unread = (self._writer >= 0) & (self._read == 0)
        for address in sorted({*self._writer[unread].tolist()}):
            bytes_ = np.flatnonzero(unread & (self._writer == address)).tolist()
            tally.note(entry_at(tally, "never read", program.instructions[address], unread_text("LDS", bytes_), 1))


LEFT_OUT = "LLVM 24 has it, AMD's own kernels with VGPRs above 255 leave such waits out"
"""What a note says instead of a finding in expert scheduling: AITER's for gfx1250 lack up to 1,456 of a kernel."""


VOPD_FAULT = (
    "LLVM 22 inserts none before a pair of VOPD, which is a fault of the compiler, not of the source (LLVM issue "
    "183546): compile by one that has pull request 183573, or without pairs (-mllvm -amdgpu-enable-vopd=0)"
)
"""Where wait states are missing between a WMMA of gfx1250 and a pair behind it."""


def check_wait_states(kernel: Kernel, program: Program, tally: Tally) -> None:
    """Enter the places where executed instructions come too early after others, by the rules of `lint`; where AMD's own
    kernels leave a wait out, a note.

    Where that is not looked at, a note says so: VGPRs above 255 that depend on the path; what the rules cannot read.
    """
    executed = {address: step.executed for address, step in program.steps.items() if step.executed}
    matrix = [program.instructions[at] for at in executed if program.steps[at].matrix is not None]
    listed = program.of_kernel(kernel)
    expert = any(_is_expert(one) for one in listed)
    found, why = program.missing_states(kernel, expert)
    addresses = [(listed[place.second].address, listed[place.first].address) for place in found]
    places = [place for place, both in zip(found, addresses) if executed.keys() >= {*both}]
    general = LEFT_OUT if expert and chooses_registers(listed) else ""
    disputed = Counter(place.wait.expiry.disputed or general for place in places)
    for place in places:
        second, first = listed[place.second], listed[place.first]
        message = f"{place.missing} wait states missing: {place.wait.rule}"
        if second.name.startswith("v_dual_") and "checkWMMACoexecutionHazards" in message:
            message += f". {VOPD_FAULT}"
        if not (left_out := place.wait.expiry.disputed or general):
            tally.add(entry_at(tally, "wait states", second, message, executed[second.address], first))
        elif count := disputed.pop(left_out, 0):
            message += f"; {left_out}; in {plural(count, 'place')}"
            tally.note(entry_at(tally, "wait states", second, message, executed[second.address], first))
    if why and (matrix or kernel.target.startswith("gfx9")):
        first = (matrix or listed)[0]
        message = f"wait states around matrix instructions are not checked: {why}"
        tally.note(entry_at(tally, "not checked", first, message, executed[first.address]))


def check_result_waits(kernel: Kernel, program: Program, tally: Tally) -> None:
    """Enter the places where executed instructions lack s_wait_alu: for SGPRs on gfx11 and gfx12, for vector registers
    in the mode of expert scheduling.

    Of kernels with VGPRs above 255 it is a note. Where that mode's is not looked at, a note says so: such registers
    that depend on the path, or too many paths.
    """
    executed = {address: step.executed for address, step in program.steps.items() if step.executed}
    listed = program.of_kernel(kernel)
    found = program.missing_scalar_waits(kernel)
    expert = next((one for one in listed if one.address in executed and _is_expert(one)), None)
    if expert is not None:
        more, why = program.missing_result_waits(kernel)
        if why:
            message = f"s_wait_alu is not checked: {why}"
            tally.note(entry_at(tally, "not checked", expert, message, executed[expert.address]))
        more = [one for one in more if {listed[one.at].address, listed[one.access].address} <= executed.keys()]
        if more and chooses_registers(listed):
            second, first = listed[more[0].at], listed[more[0].access]
            message = f"{more[0].message}; {LEFT_OUT}; in {plural(len(more), 'place')}"
            tally.note(entry_at(tally, "wait", second, message, executed[second.address], first))
        else:
            found = [*found, *more]
    for place in found:
        second, first = listed[place.at], listed[place.access]
        if {first.address, second.address} <= executed.keys():
            tally.add(entry_at(tally, "wait", second, place.message, executed[second.address], first))


def check_lane_masks(kernel: Kernel, program: Program, tally: Tally) -> None:
    """Enter executed instructions with which lanes are lost, and those that give back vector registers too early, by
    the rules of `lint`."""
    listed = program.of_kernel(kernel)
    for at in program.early_deallocations(kernel):
        step = program.steps.get(listed[at].address)
        if step is not None and step.executed:
            tally.add(entry_at(tally, "wait states", listed[at], DEALLOCATION, step.executed))
    for place in program.lost_lanes(kernel):
        second, first = listed[place.at], listed[place.other]
        if times := program.steps[second.address].executed if second.address in program.steps else 0:
            other = None if first is second else first
            tally.add(entry_at(tally, "exec", second, place.message, times, other))


def _is_expert(instruction: DecodedInstruction) -> bool:
    """Whether an instruction sets the mode of scheduling, other than to 0."""
    setting = instruction.name in ("s_setreg_b32", "s_setreg_imm32_b32")
    if not setting or hardware_field(instruction)[0] != SCHED_MODE:
        return False
    return not (instruction.sources and getattr(instruction.sources[0], "bits", 1) == 0)


def entry_at(
    tally: Tally,
    kind: str,
    where: DecodedInstruction,
    message: str,
    times: int,
    other: DecodedInstruction | None = None,
) -> KernelFinding:
    """A finding of an instruction as such, without a wave."""
    address, words = (None, "") if other is None else (other.address, text(other))
    locations = tally.locate(where.address), None if address is None else tally.locate(address)
    return KernelFinding(kind, where.address, text(where), message, address, words, (0, 0, 0), 0, (), times, *locations)
