"""Races in global memory: accesses of the same bytes by two agents of a launch, which nothing orders.

An *agent* is what executes in order by itself: a wave. Two accesses of a byte by two agents race if one of them writes
and neither happens before the other. What happens before what the machine says (`Order`): barriers, and what the
kernel releases and acquires. Not a race:

- two strong accesses, such as atomic operations, as long as the scope of each includes the other's agent (`Grade`).
  Atomic operations whose scopes do not are a race, in one instruction of several agents too;
- a compare-and-swap with a plain read: the loop around it begins with one;
- two writes of the same value to the same bytes, which is told apart.

As long as nothing is stored to an array, reads of it are only listed: most arrays are read or written, not both.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ...base.records import TupleRecord
from ...emulator import core
from ...emulator.core import address
from .access_log import AccessLog, Entries
from .memory import untouched
from .suspects import Suspects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from ...base.arrays import Array
    from .memory import GlobalMemory

    Stored = Callable[[], tuple[Array, Array]]

    class Order(Protocol):
        """What happens before what."""

        def unordered(self, codes: Array, returns: Array, agents: Array, kind: str, places: Array) -> Array:
            """Which accesses (`code_of`) do not happen before what some agents do now, one for each. returns: which of
            the accesses give their agent a value. kind: what the agents do now: "read", "write" or "atomic". places:
            the granule of each."""

        def apart(self, agents: Array, others: Array) -> Array:
            """How far a scope must reach to include both agents: `WORKGROUP`, `CLUSTER` or `DEVICE`."""


__all__ = ["CLUSTER", "DEVICE", "LISTED", "MAYBE", "PLAIN", "WORKGROUP", "Grade", "GridRace", "GridRaces", "agent_of",
           "clock_of", "code_of"]  # fmt: skip

LISTED = 1 << 22
"""Reads that are listed as they are before they are entered."""
PLAIN, WORKGROUP, CLUSTER, DEVICE, MAYBE = 0, 1, 2, 3, 7
"""How far an access is strong: not at all, within its workgroup, within its cluster of workgroups, on the device;
MAYBE: of the device, if the kernel means it so, which its code does not say."""
ATOMIC, SWAPS, RETURNS = 8, 16, 32
"""Of an access, beside how far it is strong: an atomic operation, one that compares, one that returns a value."""
CLOCK = 32
_LOW = (1 << CLOCK) - 1
EACH = 16
"""Granules of a line."""
_KNOWN = np.dtype([
    ("writer", np.int64), ("reader", np.int64), ("write_label", np.int32), ("read_label", np.int32),
    ("write_bits", np.uint8), ("read_reach", np.uint8), ("several_reads", np.bool_), ("several_changes", np.bool_),
    ("split", np.bool_), ("unused", np.uint8, 3),
])  # fmt: skip
"""The struct Known of waves.h: the last write and the last read of a granule, or of all granules of a line."""


class Shadow(ctypes.Structure):
    """The struct Shadow of waves.h."""

    _fields_ = [
        ("granules", ctypes.c_void_p), ("lines", ctypes.c_void_p), ("count", ctypes.c_int64), ("shift", ctypes.c_int64),
    ]  # fmt: skip


class Grade(TupleRecord):
    """What an access is to the rules. kind: "read", "write" or "atomic". reach: `PLAIN` to `MAYBE`. swaps: it compares
    and swaps; returns: the agent gets a value."""

    kind: str
    reach: int
    swaps: bool = False
    returns: bool = False

    @property
    def bits(self) -> int:
        """All of it in one number."""
        traits = (ATOMIC * (self.kind == "atomic")) | (SWAPS * self.swaps) | (RETURNS * self.returns)
        return self.reach | traits


class GridRace(TupleRecord):
    """A race: which of the accesses, the byte in memory, the other access (`code_of`), the label of its instruction,
    what it did ("wrote", "read", "changed by an atomic operation"), whether both write the same value, whether both
    are strong or atomic and their scopes alone do not reach far enough, and whether the other one is strong."""

    access: int
    offset: int
    code: int
    label: int
    did: str
    same: bool
    narrow: bool = False
    strong: bool = False


def code_of(agents: Array, clocks: Array) -> Array:
    """Accesses in one number each: the agent from 1, and its clock, below 2^32."""
    found: Array = agents.astype(np.int64) + 1 << CLOCK | clocks
    return found


def agent_of(code: int) -> int:
    """The agent of an access, from 0.

    >>> one = int(code_of(np.array([5]), np.array([9]))[0])
    >>> agent_of(one), clock_of(one)
    (5, 9)
    """
    return (code >> CLOCK) - 1


def clock_of(code: int) -> int:
    """The clock of an access."""
    return code & _LOW


_ENTER = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * 4, ctypes.c_void_p)


class GridRaces:
    """Who wrote and read each granule of global memory last. granule: bytes that all accesses are multiples of; labels
    are numbers of instructions, below 2^31. entered: of which regions all accesses are entered; of others reads are
    listed. suspects: the reads that race.

    As long as all granules of a line have the same last accesses, which the core looks after, they are kept once, of
    the line; it is `split` when one of them is looked at here.
    """

    entered: Array
    granule: int
    memory: GlobalMemory
    order: Order
    suspects: Suspects

    def __init__(self, memory: GlobalMemory, granule: int, order: Order) -> None:
        self.memory, self.granule, self.order = memory, granule, order
        self.suspects = Suspects()
        self._shift = granule.bit_length() - 1
        lines = len(memory.data) // (granule * EACH) + 1
        self._granules: Array = untouched((lines, EACH, 4), np.int64)
        self._lines: Array = untouched((lines, 4), np.int64)
        self._split: Array = self._lines.view(_KNOWN)["split"][:, 0]
        known = self._granules.reshape(-1, 4).view(_KNOWN)[:, 0]
        self._writer, self._write_bits, self._write_label = known["writer"], known["write_bits"], known["write_label"]
        self._reader, self._read_reach, self._read_label = known["reader"], known["read_reach"], known["read_label"]
        self._reads = AccessLog(lines * EACH, CLOCK, known["several_reads"])
        self._changes = AccessLog(lines * EACH, CLOCK, known["several_changes"])
        self.entered: Array = np.zeros(len(memory.regions), np.bool_)
        self._listed: dict[int, list[tuple[Array, int, Array, int, int]]] = {}
        self._count = 0

    def note(
        self, grade: Grade, offsets: Array, size: int, codes: Array, label: int, stored: Stored | None = None
    ) -> GridRace | None:
        """Enter accesses, after `GlobalMemory.offsets` has found them. Gives the first race that they make.

        Args:
            offsets: of each access in the memory's bytes; size: its bytes. codes: `code_of` each. label: of the
                instruction.
            stored: of a write gives the bytes before it and those written, (accesses, size) each.
        """
        if not len(offsets):
            return None
        region = self.memory.region
        if grade.kind == "read" and region >= 0 and not self.entered[region] and grade.reach == PLAIN:
            self.list_reads(region, offsets, size, codes, label)
            return None
        if grade.kind != "read":
            for one in [region] if region >= 0 else list(range(len(self.memory.regions))):
                self.enter_listed(one)
        at, width = self._looked_at(offsets, size)
        own = np.repeat(codes, width) if width > 1 else codes
        race = self._check(grade, at, width, own, stored)
        if grade.kind == "read":
            self._read(at, own, label, grade.reach)
        else:
            self._write(at, own, label, grade)
            if race is None and ((self._writer[at] ^ own) >> CLOCK != 0).any():
                race = self._together(grade, at, width, own, label, stored)
        return race

    def list_reads(self, region: int, offsets: Array, size: int, codes: Array, label: int) -> None:
        """List plain reads of a region to which nothing is stored yet. codes: of each, or of as many one after the
        other as are codes."""
        self._listed.setdefault(region, []).append((offsets, size, codes, label, PLAIN))
        self._count += len(offsets)
        if self._count > LISTED:
            for one in list(self._listed):
                self.enter_listed(one)

    def shadow(self) -> Shadow:
        """What is kept by granule, as the core takes it: as long as this is there."""
        return Shadow(address(self._granules), address(self._lines), len(self._lines), self._shift)

    def last_writes(self, offsets: Array) -> tuple[Array, Array, Array]:
        """The granules of some places, the last write of each (0: none), and its label."""
        at, _ = self._looked_at(offsets, 0)
        return at, self._writer[at], self._write_label[at]

    def _looked_at(self, offsets: Array, size: int) -> tuple[Array, int]:
        """The granules of some accesses, and how many each has: they are kept by granule from now on."""
        width = max(1, size // self.granule)
        at = offsets >> self._shift
        at = at if width == 1 else (at[:, None] + np.arange(width)).ravel()
        lines = at // EACH
        whole = np.unique(lines[~self._split[lines]])
        if len(whole):
            self._granules[whole] = self._lines[whole][:, None]
            self._split[whole] = True
        return at, width

    def enter_listed(self, region: int) -> None:
        """From now on accesses of a region are entered at once."""
        self.entered[region] = True
        for offsets, size, codes, label, reach in self._listed.pop(region, ()):
            self._count -= len(offsets)
            each = len(offsets) // max(len(codes), 1)
            if not self._entered(offsets, size, codes, (label, reach)):
                at, width = self._looked_at(offsets, size)
                self._read(at, np.repeat(codes, width * each), label, reach)

    def _entered(self, offsets: Array, size: int, codes: Array, what: tuple[int, int]) -> bool:
        """Let the core enter reads, as many with each code: whether it has. what: their label, and how far they are
        strong."""
        enter = core.function("enter_reads", _ENTER, ctypes.c_int64)
        if enter is None or not len(offsets):
            return enter is not None
        shadow, room = self.shadow(), np.empty((len(offsets) * max(1, size // self.granule), 2), np.int64)
        places, own = np.ascontiguousarray(offsets, np.int64), np.ascontiguousarray(codes, np.int64)
        given = len(places), address(own), len(places) // len(own), size, *what, address(room)
        return bool(enter(ctypes.byref(shadow), address(places), *given))

    # --- what is there ---

    def _read(self, at: Array, own: Array, label: int, reach: int) -> None:
        """Enter reads. Of several agents that read a granule all but the last go into the log."""
        before = self._reader[at]
        other = np.flatnonzero((before != 0) & ((before ^ own) >> CLOCK != 0))
        if len(other):
            there = at[other]
            self._reads.add(Entries(there, before[other], self._read_reach[there], self._read_label[there]))
        self._reader[at], self._read_label[at], self._read_reach[at] = own, label, reach
        self._lost(self._reads, self._reader, at, own, reach, label)

    def _write(self, at: Array, own: Array, label: int, grade: Grade) -> None:
        """Enter writes. Of several agents that change a granule by atomic operations all but the last go into a log."""
        before = self._writer[at]
        self._reads.forget(at)
        if grade.kind == "atomic":
            atomic = self._write_bits[at] & ATOMIC != 0
            other = np.flatnonzero(atomic & (before != 0) & ((before ^ own) >> CLOCK != 0))
            if len(other):
                there = at[other]
                self._changes.add(Entries(there, before[other], self._write_bits[there], self._write_label[there]))
        else:
            self._changes.forget(at)
        self._writer[at], self._write_label[at], self._write_bits[at] = own, label, grade.bits
        self._reader[at] = 0
        if grade.kind == "atomic":
            self._lost(self._changes, self._writer, at, own, grade.bits, label)

    @staticmethod
    def _lost(log: AccessLog, kept: Array, at: Array, own: Array, bits: int, label: int) -> None:
        """Accesses of one instruction that others of it have taken the place of."""
        lost = np.flatnonzero((kept[at] ^ own) >> CLOCK != 0)
        if len(lost):
            count = len(lost)
            log.add(Entries(at[lost], own[lost], np.full(count, bits, np.uint8), np.full(count, label)))

    # --- what collides ---

    def _check(self, grade: Grade, at: Array, width: int, own: Array, stored: Stored | None) -> GridRace | None:
        writer = self._writer[at]
        other = np.flatnonzero((writer != 0) & ((writer ^ own) >> CLOCK != 0))
        last = Entries(at[other], writer[other], self._write_bits[at[other]], self._write_label[at[other]])
        found = None
        for which, entries in ((other, last), self._changes.others(at, own)):
            race = self._collision(grade, (which, entries), width, own, stored, self._against_write)
            found = race if found is None or (found.same and race is not None) else found
        if grade.kind == "read" or grade.swaps:
            return found
        reader = self._reader[at]
        other = np.flatnonzero((reader != 0) & ((reader ^ own) >> CLOCK != 0))
        last = Entries(at[other], reader[other], self._read_reach[at[other]], self._read_label[at[other]])
        for which, entries in ((other, last), self._reads.others(at, own)):
            race = self._collision(grade, (which, entries), width, own, stored, self._against_read)
            if race is not None and not race.same and (found is None or found.same):
                found = race  # what stays as it is can be read before or after
        return found

    def _collision(
        self, grade: Grade, found: tuple[Array, Entries], width: int, own: Array, stored: Stored | None,
        fine: Callable[[Grade, Array, Array | int], Array],
    ) -> GridRace | None:  # fmt: skip
        """The first collision of accesses with earlier ones, of one that does harm if there is one."""
        which, entries = found
        if not len(which):
            return None
        reads = fine is self._against_read
        bits = entries.bits | RETURNS if reads else entries.bits
        wrong, narrow = self._wrong(grade, own[which], Entries(entries.at, entries.codes, bits, entries.labels), fine)
        if not wrong.any():
            return None
        harm = wrong & self._differs(len(own), stored)[which] if grade.kind == "write" else wrong
        if reads or grade.kind == "read":
            self._suspect(grade, own[which[harm]], Entries(entries.at, entries.codes, bits, entries.labels).of(harm))
        first = int(np.flatnonzero(harm if harm.any() else wrong)[0])
        did = "read" if reads else "changed by an atomic operation" if entries.bits[first] & ATOMIC else "wrote"
        return GridRace(int(which[first]) // width, int(entries.at[first]) * self.granule, int(entries.codes[first]),
                        int(entries.labels[first]), did, not harm.any(), bool(narrow[first]),
                        bool(entries.bits[first] & MAYBE >= DEVICE))  # fmt: skip

    def _suspect(self, grade: Grade, own: Array, entries: Entries) -> None:
        """Enter reads that race: those of now, or earlier ones, of each agent back to the first that nothing orders."""
        if grade.kind == "read":
            self.suspects.add(entries.at, own >> CLOCK, own & _LOW, own & _LOW)
            return
        codes, agents, returns = entries.codes, (own >> CLOCK) - 1, entries.bits & RETURNS != 0
        ordered, last = codes & ~_LOW, codes & _LOW
        least, most = np.zeros_like(last), last  # the first that is not ordered is above `least`, up to `most`
        while (most - least > 1).any():
            middle = (least + most) // 2
            later = self.order.unordered(ordered | middle, returns, agents, grade.kind, entries.at)
            least, most = np.where(later, least, middle), np.where(later, middle, most)
        self.suspects.add(entries.at, codes >> CLOCK, most, last)

    def _wrong(
        self, grade: Grade, own: Array, entries: Entries, fine: Callable[[Grade, Array, Array | int], Array]
    ) -> tuple[Array, Array]:
        """Which accesses collide with earlier ones; and which of them would not if their scopes reached far enough."""
        codes, bits = entries.codes, entries.bits
        agents, others = (own >> CLOCK) - 1, (codes >> CLOCK) - 1
        wrong = ~fine(grade, bits, self.order.apart(agents, others))
        left = np.flatnonzero(wrong)
        if len(left):
            returns = bits[left] & RETURNS != 0
            wrong[left] = self.order.unordered(codes[left], returns, agents[left], grade.kind, entries.at[left])
        both = (bits & (MAYBE | ATOMIC)).astype(bool) & bool(grade.bits & (MAYBE | ATOMIC))
        return wrong, both & fine(grade, bits, PLAIN)

    @staticmethod
    def _against_write(grade: Grade, bits: Array, apart: Array | int) -> Array:
        """Whether accesses need no order after writes: both are strong, as far as they are apart."""
        fine: Array = ((bits & MAYBE) >= apart) & (grade.reach >= apart)
        atomic = (bits & ATOMIC) != 0
        if grade.kind == "read":
            fine = fine | ((bits & SWAPS) != 0)
        elif grade.kind == "atomic":
            # A store that may be an atomic one is taken for one where somebody looks at what is there.
            fine = fine & (atomic | ((bits & MAYBE) != MAYBE) | grade.returns)
        else:
            fine = fine & ((grade.reach != MAYBE) | (atomic & ((bits & RETURNS) != 0)))
        return fine

    @staticmethod
    def _against_read(grade: Grade, bits: Array, apart: Array | int) -> Array:
        """Whether writes need no order after reads."""
        found: Array = ((bits & MAYBE) >= apart) & (grade.reach >= apart)
        return found

    @staticmethod
    def _differs(count: int, stored: Stored | None) -> Array:
        if stored is None:
            return np.ones(count, np.bool_)
        before, after = stored()
        found: Array = (before != after).reshape(count, -1).any(axis=1)
        return found

    def _together(
        self, grade: Grade, at: Array, width: int, own: Array, label: int, stored: Stored | None
    ) -> GridRace | None:  # fmt: skip
        """The race of several agents that change one granule in one instruction, after all have been entered."""
        last = self._writer[at]
        apart = self.order.apart((own >> CLOCK) - 1, (last >> CLOCK) - 1)
        lost = ((last ^ own) >> CLOCK != 0) & ((grade.reach < apart) | (grade.bits & (MAYBE | ATOMIC) == MAYBE))
        if grade.kind == "write" and stored is not None:
            after = stored()[1].reshape(len(at), -1)
            places, which = np.unique(at, return_inverse=True)
            one = np.zeros(len(places), np.int64)
            one[which] = np.arange(len(at))
            lost &= (after != after[one[which]]).any(axis=1)
        if not lost.any():
            return None
        first = int(np.flatnonzero(lost)[0])
        did = "wrote" if grade.kind == "write" else "changed by an atomic operation"
        narrow = grade.reach != MAYBE and bool(grade.bits & (MAYBE | ATOMIC))
        return GridRace(first // width, int(at[first]) * self.granule, int(last[first]), label, did, False, narrow)
