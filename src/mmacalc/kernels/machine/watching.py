"""What the waves of a batch do wrong: undefined values, missing waits, races, accesses out of bounds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...errors import Error, counted
from ..device.findings import KernelFinding, lanes_text
from ..device.memory import octets_of
from ..device.races import UNWAITED
from .counters import Landing
from .operands import numbers_of
from .shadows import half_bits, surely_unequal, undefined_bits
from .state import ACCUMULATORS, EXEC, SCALARS, scalar_name, unpacked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from numpy.typing import NDArray

    from ...asm.decoded import DecodedInstruction
    from ..device.launch import Dim3
    from ..device.memory import Outside
    from ..device.races import Race
    from ..device.shared import PrivateMemory, SharedMemory
    from .access_names import Access
    from .active_lanes import ActiveLanes
    from .counters import Counters
    from .program import Program, Step
    from .state import Group, Registers
    from .tally import Tally
    from .translations import Translations

    Array = NDArray[Any]

__all__ = ["NONE_UNDEFINED", "Stop", "Undefined", "Watched"]

USES = {"memory": "its address depends on", "matrix": "the product depends on", "control": "the branch depends on"}
"""What an instruction of a kind makes of an undefined value; others pass it on."""
_EXEC_USE = "EXEC is set from"
_VERBS = {"read": "reads", "write": "writes"}


class Undefined(NamedTuple):
    """What an instruction leaves undefined: the lanes; those of the low register of a wide sum; bits by register."""

    lanes: Array | None
    low: Array | None
    bits: dict[int, Array] | None


NONE_UNDEFINED = Undefined(None, None, None)


class Stop(Error):  # noqa: N818
    """An error that says where it is."""


class Watched:
    """The part of a batch (see `Batch`) that watches it."""

    program: Program
    registers: Registers
    counters: Counters
    lds: SharedMemory
    scratch: PrivateMemory
    groups: list[Dim3]
    tally: Tally
    workgroup_of: Array
    wave_in_group: Array
    lds_counter: Any
    _taint: Array | None
    _loaded: dict[int, Array]
    _running: Step

    # --- undefined values ---

    def _settle(self, numbers: frozenset[int], group: Group, mask: Array | None, taint: Array | None) -> None:
        """Note what was written, under the EXEC that it was written under."""
        after, group.mask = group.mask, mask
        group.settle(numbers, taint)
        group.mask = after

    def _undefined_of(self, step: Step, group: Group) -> Undefined:
        """What an instruction leaves undefined; uses that must not depend on undefined values are found wrong here."""
        taint, which = group.tainted(step.addresses if step.kind == "memory" else step.uses, step.bits, step.lane_masks)
        if taint is not None and (decided := self._decided(step, group)) is not None:
            taint = taint & ~decided
            taint = taint if taint.any() else None
        reads_others = step.bitwise and step.kind in ("lane", "cross")  # inactive lanes, too
        if reads_others or (taint is not None and (step.bitwise or step.halves is not None)):
            return self._undefined_bits_of(step, group, which)
        if taint is None:
            return NONE_UNDEFINED
        use = USES.get(step.kind, _EXEC_USE if SCALARS + EXEC in step.writes else "")
        if use:
            self._use_undefined(step.instruction, group, taint, which, use)
            return NONE_UNDEFINED
        self._pass_origins(which, step.writes)
        low = group.tainted(step.low_reads)[0] if step.low else None
        return Undefined(taint, low, None)

    def _decided(self, step: Step, group: Group) -> Array | None:
        """Where defined bits of a source are enough for the result; None of most instructions."""
        if step.equality:
            return surely_unequal(step.instruction, group)
        if step.kind == "control" and "vcc" in step.instruction.name:
            return group.decided(step.uses)
        return None

    def _undefined_bits_of(self, step: Step, group: Group, which: tuple[int, ...]) -> Undefined:
        """As `_undefined_of`, of an instruction that moves bits, or of a packed one."""
        bits = undefined_bits(step, group) if step.halves is None else half_bits(step.halves, group)
        if SCALARS + EXEC in bits:
            words = [bits[number][:, 0] for number in sorted(bits) if number - SCALARS in (EXEC, EXEC + 1)]
            wrong = unpacked(np.array(words), group.lanes)
            if wrong.any():
                self._use_undefined(step.instruction, group, wrong, which, _EXEC_USE)
                return NONE_UNDEFINED
        self._pass_origins(which, frozenset(number for number, found in bits.items() if found.any()))
        return Undefined(None, None, bits)

    def _pass_origins(self, which: tuple[int, ...], writes: frozenset[int]) -> None:
        origins = self.registers.origins
        for number in which:
            origin = origins.setdefault(number, (self._running.instruction.address, self._name(number)))
            origins.update(dict.fromkeys(writes, origin))

    def _use_undefined(
        self, instruction: DecodedInstruction, group: Group, taint: Array, which: tuple[int, ...], use: str
    ) -> None:
        number = which[0]
        address, register = self.registers.origins.get(number, (instruction.address, self._name(number)))
        first = self.program.instructions[address]
        source = f"{use} {register}, which no instruction has written"
        if register.startswith(("LDS", "scratch")):
            source = f"{use} bytes of {register} that nothing has written"
        if address != instruction.address:
            source += f" (read at {address:#x} by {self.tally.describe(first)})"
        whole = np.broadcast_to(taint, (group.count, group.lanes if taint.shape[1] > 1 else 1))
        if self.tally.undefined.setdefault((address, register), instruction.address) == instruction.address:
            self.find("uninitialised", group, instruction, source, whole, None)  # copies of the value are not again
        for each in which:  # once is enough
            self._settle(frozenset({each}), group, None, None)

    def _name(self, number: int) -> str:
        if number < ACCUMULATORS:
            return f"v{number}"
        if number < SCALARS:
            return f"a{number - ACCUMULATORS}"
        return scalar_name(number - SCALARS)

    def loaded_taint(self, group: Group, lanes: ActiveLanes, undefined: Array | None, what: str) -> None:
        """A load has read bytes that nothing has written."""
        if undefined is None:
            return
        spread = lanes.spread(undefined)
        self._taint = spread if self._taint is None else self._taint | spread
        step = self._running
        for number in step.writes:
            self.registers.origins[number] = (step.instruction.address, what)

    def loaded_bits(
        self, group: Group, lanes: ActiveLanes, words: list[Array], instruction: DecodedInstruction
    ) -> None:
        """A load from scratch has read words with these undefined bits."""
        if not any(word.any() for word in words):
            return
        self.loaded_taint(group, lanes, np.any([word != 0 for word in words], axis=0), "scratch")
        self._loaded = dict(zip(numbers_of(instruction.destinations[0]), [lanes.spread(word) for word in words]))

    def stored_bits(self, data: Any) -> tuple[int, ...] | None:
        """The registers to be stored, if one of them has undefined bits."""
        numbers = numbers_of(data)
        return None if self.registers.clean.issuperset(numbers) else numbers

    def stored_taint(self, group: Group, data: Any) -> Array | None:
        """Where data to be stored is undefined."""
        numbers = frozenset(numbers_of(data))
        if numbers <= self.registers.clean:
            return None
        taint, _ = group.tainted(numbers)
        return None if taint is None else np.broadcast_to(taint, (group.count, group.lanes))

    def check_stored(self, group: Group, instruction: DecodedInstruction, data: Any, access: Access) -> None:
        """Find it wrong to store an undefined value to global memory."""
        numbers = frozenset(numbers_of(data))
        if numbers <= self.registers.clean:
            return
        stored = (1 << 8 * min(access.size, 4)) - 1 << (16 if access.half else 0)
        taint, which = group.tainted(numbers, stored)
        if taint is not None:
            self._use_undefined(instruction, group, taint, which, "it stores")

    # --- findings ---

    def find(
        self,
        kind: str,
        group: Group,
        instruction: DecodedInstruction,
        message: str,
        where: Array | None,
        other: DecodedInstruction | None,
    ) -> None:
        """Enter a finding about an instruction; `where`: the waves and lanes that it concerns, (count, lanes or 1)."""
        self.tally.add(self._found(kind, group, instruction, message, where, other))

    def note(
        self,
        kind: str,
        group: Group,
        instruction: DecodedInstruction,
        message: str,
        where: Array | None,
        other: DecodedInstruction | None,
    ) -> None:
        """Enter what is remarkable and not wrong; as `find`."""
        self.tally.note(self._found(kind, group, instruction, message, where, other))

    def _found(
        self,
        kind: str,
        group: Group,
        instruction: DecodedInstruction,
        message: str,
        where: Array | None,
        other: DecodedInstruction | None,
    ) -> KernelFinding:
        row = 0
        lanes: tuple[int, ...] = ()
        if where is not None and where.any():
            row = int(where.any(axis=1).argmax())
            lanes = tuple(np.flatnonzero(where[row]).tolist()) if where.shape[1] > 1 else ()
        number = int(group.numbers()[row])
        place = self.groups[int(self.workgroup_of[number])]
        return KernelFinding(
            kind, instruction.address, self.tally.describe(instruction), message,
            None if other is None else other.address, "" if other is None else self.tally.describe(other),
            (place.x, place.y, place.z), int(self.wave_in_group[number]), lanes, 1,
        )  # fmt: skip

    def _too_early(self, step: Step, group: Group) -> None:
        while (flight := self.counters.touched(step.reads, step.writes, step.count, group)) is not None:
            other = self.program.instructions[flight.address]
            names = ", ".join(self._name(number) for number in sorted(flight.numbers & step.touched)[:4])
            waits = " and ".join(self.counters.kinds[flight.kind])
            verb = "reads" if flight.numbers & step.reads else "writes"
            message = (
                f"{verb} {names} while the access that writes it may be outstanding: no wait for {waits} before it"
            )
            self.find("wait", group, step.instruction, message, None, other)

    def _untranslated(self, step: Step, group: Group, translations: Translations) -> None:
        while (access := translations.before(step, group)) is not None:
            names = ", ".join(self._name(number) for number in sorted(access.reads & step.writes)[:4])
            message = (
                f"overwrites {names}, which an access reads that may be issued again until its address is translated: "
                "no wait for xcnt before it"
            )
            self.find("wait", group, step.instruction, message, None, self.program.instructions[access.address])

    def check_landed(
        self,
        group: Group,
        lanes: ActiveLanes,
        instruction: DecodedInstruction,
        access: Access,
        where: tuple[Array, Array],
    ) -> None:
        """Find it wrong to access LDS before a load into these bytes is waited for; `where`: offsets and waves."""
        offsets, waves = where
        while (met := self.counters.landing_at(offsets, access.size, waves)) is not None:
            flight, wrong = met
            byte = int(lanes.addresses[int(wrong.argmax())])
            verb = {"load": "reads", "store": "writes"}.get(access.action, "reads and writes")
            message = (
                f"{verb} byte {byte} of LDS while the load that writes it may be outstanding: "
                f"no wait for {' and '.join(self.counters.kinds[flight.kind])} before it"
            )
            other = self.program.instructions[flight.address]
            self.find("wait", group, instruction, message, lanes.spread(wrong), other)

    def note_lds(
        self,
        group: Group,
        instruction: DecodedInstruction,
        kind: str,
        lanes: ActiveLanes,
        where: tuple[Array, Array],
        words: list[Array] | None = None,
    ) -> None:
        """Enter an access of LDS, and the race that it makes.

        Args:
            kind: of `device.races`. where: offsets and waves of the accesses. words: what a write is about to store.
        """
        (offsets, rows), size, lds = where, lanes.size, self.lds
        numbers = self.wave_in_group[rows] + 1
        stored = None
        if words is not None:
            stored = lambda: (lds.data[offsets[:, None] + np.arange(size)], octets_of(words, size))  # noqa: E731
        race = lds.races.note(kind, offsets, size, numbers, lds.label(instruction.address), stored)
        if kind != "read" and len(offsets):
            self.counters.landings.append(Landing(offsets, size, rows, numbers))
        if race is not None:
            self._race(group, instruction, race, _VERBS.get(kind, "reads and writes"), lanes)

    def _race(self, group: Group, instruction: DecodedInstruction, race: Race, verb: str, lanes: ActiveLanes) -> None:
        rows, columns = lanes.lanes()
        number, lane = int(rows[race.access]), int(columns[race.access])
        where = np.zeros((group.count, group.lanes), np.bool_)
        where[int(np.flatnonzero(group.numbers() == number)[0]), lane] = True
        address = self.lds.place(race.label)
        other = None if address is None else self.program.instructions[address]
        what = f"{verb} byte {int(lanes.addresses[race.access])} of LDS"
        who = f"wave {race.wave - 1} of the workgroup"
        if race.same:
            message = f"{what}, where {who} writes the same value without a barrier in between"
            self.note("same value", group, instruction, message, where, other)
        elif race.kind == UNWAITED:
            kind = "lds" if address is None else self.program.step(address).count
            waits = " and ".join(self.counters.kinds[kind])
            early = f"its barrier comes before the write to LDS is waited for: no wait for {waits} before it"
            message = f"{what}, which {who} writes, and {early}"
            self.find("wait", group, instruction, message, where, other)
        else:
            message = f"{what}, which {who} accesses without a barrier in between"
            self.find("race", group, instruction, message, where, other)

    def matrix(self, group: Group, instruction: DecodedInstruction, key: Any) -> None:
        """Count a matrix instruction; WMMA wants every lane active (RDNA3 ISA guide, "WMMA")."""
        self.tally.issued[key] += group.count
        if group.mask is not None and "mfma" not in instruction.name and "smfmac" not in instruction.name:
            self.find(
                "exec", group, instruction, "runs while lanes are inactive, which is undefined", ~group.mask, None
            )

    # --- memory ---

    def count_bytes(self, access: Access, elements: int, local: bool) -> None:
        """Count bytes moved."""
        moved = elements * access.size
        name = ("lds_" if local else "") + ("loaded" if access.action == "load" else "stored")
        setattr(self.tally, name, getattr(self.tally, name) + moved)

    def count_lds(self, group: Group, lanes: ActiveLanes, instruction: DecodedInstruction, access: Access) -> None:
        """Count the cycles and bank conflicts of an LDS access, once for each pattern of addresses.

        Of atomic operations only their number: no public source measures their cycles.
        """
        if access.action not in ("load", "store"):
            self.tally.lds_atomics += group.count
            return
        if self.lds_counter is None or access.size > 16:
            return
        table = np.full((group.count, group.lanes), -1, np.int64)
        table[group.active] = lanes.addresses
        low = np.where(table < 0, 1 << 40, table).min(axis=1, keepdims=True) // 256 * 256
        table = np.where(table < 0, -1, table - low)
        patterns, times = (
            (table, np.ones(1, np.int64)) if len(table) == 1 else np.unique(table, axis=0, return_counts=True)
        )
        kind = "read" if access.action == "load" else "write"
        place = f"{instruction.address:#x}: {self.tally.describe(instruction)}"
        for pattern, count in zip(patterns, times.tolist()):
            if pattern.max() >= 0:
                self.lds_counter.count(pattern[:, None], access.size, kind, place, count)

    def outside(
        self, group: Group, instruction: DecodedInstruction, access: Access, outside: Outside, lanes: ActiveLanes | None
    ) -> NoReturn:
        """Stop the launch: an access outside every region.

        Raises:
            Error: always.
        """
        verb = "loads" if access.action == "load" else "stores"
        who = (
            self._where(group, instruction)
            if lanes is None
            else self._lane_where(group, instruction, lanes, outside.place)
        )
        raise Stop(f"{who}: it {verb} {counted(access.size, 'byte')} {outside.where}")

    def far_outside_lds(
        self, group: Group, instruction: DecodedInstruction, access: Access, lanes: ActiveLanes
    ) -> Array:
        """Which accesses are so far outside of LDS that they are masked off, which is noted.

        What is stored outside of LDS is dropped, and zeros are loaded; a load from memory into LDS does not even fetch.
        Compilers mask lanes off by that (Triton, pull requests 9761 and 10588: by the address 0x7FFFFFFF). The rule
        here: an address beyond the largest LDS of the architecture, counted up from 0 or down from 2^32, is such a
        mask. Any other one outside of the kernel's LDS is within reach of a wrong index: a mistake.

        Raises:
            Error: an access outside LDS that is not far outside. The launch stops there.
        """
        most = self.program.target.architecture.lds_bytes
        wrong = (lanes.addresses < 0) | (lanes.addresses + access.size > self.lds.size)
        far: Array = wrong & (lanes.addresses >= most) & (lanes.addresses < (1 << 32) - most)
        if (wrong & ~far).any():
            self._outside_local(group, instruction, access, lanes, "LDS", self.lds.size)
        verb = "loads zeros from" if access.action == "load" and not access.to_lds else "drops what it stores at"
        message = f"{verb} byte {int(lanes.addresses[far][0]):#x} of LDS, far outside of its {self.lds.size}"
        self.note("outside LDS", group, instruction, message, lanes.spread(far), None)
        return far

    def outside_scratch(
        self, group: Group, instruction: DecodedInstruction, access: Access, lanes: ActiveLanes
    ) -> None:
        """Stop the launch: an access outside scratch."""
        self._outside_local(group, instruction, access, lanes, "scratch", self.scratch.size)

    def _outside_local(
        self, group: Group, instruction: DecodedInstruction, access: Access, lanes: ActiveLanes, what: str, size: int
    ) -> None:
        most = self.program.target.architecture.lds_bytes if what == "LDS" else 0
        far = (lanes.addresses >= most) & (lanes.addresses < (1 << 32) - most) if most else np.False_
        wrong = ((lanes.addresses < 0) | (lanes.addresses + access.size > size)) & ~far
        place = int(np.flatnonzero(wrong)[0])
        verb = "loads" if access.action == "load" else "stores"
        who = self._lane_where(group, instruction, lanes, place)
        at = f"{counted(access.size, 'byte')} at byte {int(lanes.addresses[place])}"
        raise Stop(f"{who}: it {verb} {at} of {what}, which has {size}")

    def _lane_where(self, group: Group, instruction: DecodedInstruction, lanes: ActiveLanes, place: int) -> str:
        rows, columns = lanes.lanes()
        return f"{self._wave(int(rows[place]))}, {lanes_text((int(columns[place]),))}, {self._at(instruction)}"

    def _where(self, group: Group, instruction: DecodedInstruction) -> str:
        return f"{self._wave(int(group.numbers()[0]))}, {self._at(instruction)}"

    def _wave(self, number: int) -> str:
        place = self.groups[int(self.workgroup_of[number])]
        return f"workgroup ({place.x}, {place.y}, {place.z}), wave {int(self.wave_in_group[number])}"

    def _at(self, instruction: DecodedInstruction) -> str:
        return f"at {instruction.address:#x} ({self.tally.describe(instruction)})"
