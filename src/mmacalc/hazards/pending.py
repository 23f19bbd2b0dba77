"""Hazards that are pending along the paths of a listing: which instructions must wait for which, and how long ago those
ran.

A pending hazard is what an instruction opens: its kinds, some of its registers in one role, and perhaps that
an instruction of other kinds must follow, or that instructions of some kinds end it. Instructions that open the same
hazard share it, so their number is bounded by the registers, not by the listing. A hazard that passes an
instruction which it waits for becomes the hazard of the next number. Along each path the least number of wait states
since the hazard arose counts. How many that is at the start of every block is found level by level, as the shortest
paths of a graph are: all hazards that are `n` states old are carried on before any that are `n + 1` old, so that each
arrives once at every block. Sets of hazards are the bits of integers, so that one operation carries them all.

What is assumed of control flow: a branch whose target is not in the listing, and s_setpc, lead nowhere; s_swappc and
s_call come back at once.
"""

from __future__ import annotations

from ..asm.blocks import LEAVING, Block, blocks_of
from ..asm.tables import flags_of
from ..asm.tokens import integer
from ..base.errors import Error
from ..base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from ..asm.reader import Listing
    from ..asm.registers import RegisterRange
    from .recognizer import HazardRecognizer
    from .register_use import RegisterUse
    from .tables import Expiry

    Key = tuple[int, str, RegisterRange | None, frozenset[str], Expiry]

__all__ = [
    "PendingHazards",
    "Repair",
    "Violation",
    "basic_blocks",
    "bits_of",
    "blocks_before",
]


def basic_blocks(listing: Listing) -> list[Block]:
    """The basic blocks, in the order of the listing."""
    addresses = {place: address for address, place in listing.addresses.items()}
    leaving: dict[int, tuple[int, ...]] = {}  # statement -> its successors, where they are not just the next one
    for at, statement in enumerate(listing.statements):
        flags = flags_of(statement.mnemonic) & LEAVING
        if flags:
            following: tuple[int, ...] = () if "barrier" in flags else (at + 1,)
            if "branch" in flags and statement.operands:
                following += _target(listing, at, statement.operands[-1], addresses.get(at))
            leaving[at] = following
    return blocks_of(len(listing.statements), leaving)


def _target(listing: Listing, at: int, name: str, address: int | None) -> tuple[int, ...]:
    """Where a branch leads: a label, `1f` and `1b`, or an offset in words where the listing has addresses."""
    if name in listing.labels:
        return listing.labels[name][:1]
    if name[-1] in "bf" and name[:-1] in listing.labels:
        places = listing.labels[name[:-1]]
        return tuple(p for p in places if p > at)[:1] if name[-1] == "f" else tuple(p for p in places if p <= at)[-1:]
    if address is None:
        return ()
    try:
        offset = (integer(name) & 0xFFFF ^ 0x8000) - 0x8000  # a signed 16-bit number of words after the branch itself
    except Error:
        return ()
    place = listing.addresses.get(address + 4 + 4 * offset)
    return () if place is None else (place,)


def blocks_before(blocks: Sequence[Block]) -> list[list[int]]:
    """For each block the numbers of the blocks that it can follow."""
    found: list[list[int]] = [[] for _ in blocks]
    for number, block in enumerate(blocks):
        for following in block.following:
            found[following].append(number)
    return found


# --- violations ---


class Violation(TupleRecord):
    """An instruction that must wait longer: for which statement (-1 if it is before the block), the wait states
    since that one, how many are missing, the kinds that have passed between, of those that rules ask for, and what ends
    the hazard."""

    first: int
    elapsed: int
    missing: int
    between: frozenset[str]
    expiry: Expiry


class Repair(TupleRecord):
    """What is put in before a statement: wait states, and instructions that end hazards (`Expiry.instruction`)."""

    states: int = 0
    instructions: frozenset[str] = frozenset()

    def __add__(self, other: Repair) -> Repair:  # type: ignore[override]  # not tuple's
        return Repair(self.states + other.states, self.instructions | other.instructions)


def repair_of(violation: Violation) -> Repair:
    """What repairs a violation; nothing where the wait is disputed."""
    if violation.expiry.disputed:
        return Repair()
    instruction = violation.expiry.instruction
    return Repair(0, frozenset({instruction})) if instruction else Repair(violation.missing)


# --- ages ---


class Ages:
    """How long ago pending hazards arose, at the start of each block: `at_start[block]` is a list of (age, hazards),
    `arrived[block]` all of those hazards."""

    arrived: list[int]

    def __init__(self, pending: PendingHazards, repairs: Mapping[int, Repair]) -> None:
        self._pending = pending
        self.lengths: list[int] = []
        self.at_end: list[dict[int, tuple[int, int]]] = []  # of each block: hazard -> (age, statement)
        blocks = pending.blocks
        levels: list[dict[int, int]] = [{} for _ in range(pending.longest + 1)]
        self._becoming: list[int] = []  # of each block, the hazards that become others in it
        self._ending: list[int] = []  # and those that end in it
        for block in blocks:
            ends, length, becoming, ending = self._from_end(block, repairs)
            self.at_end.append(ends)
            self.lengths.append(length)
            self._becoming.append(becoming)
            self._ending.append(ending)
            by_age: dict[int, int] = {}
            for hazard, (age, _) in ends.items():
                by_age[age] = by_age.get(age, 0) | 1 << hazard
            for age, hazards in by_age.items():
                for following in block.following:
                    levels[age][following] = levels[age].get(following, 0) | hazards
        self.at_start: list[list[tuple[int, int]]] = [[] for _ in blocks]
        self.arrived = arrived = [0] * len(blocks)
        for age, level in enumerate(levels):
            while level:
                number, hazards = level.popitem()
                new = hazards & ~arrived[number]
                if not new:
                    continue
                arrived[number] |= new
                self.at_start[number].append((age, new))
                older = age + self.lengths[number]
                if older < len(levels):
                    becoming = new & self._becoming[number]
                    left = new & ~self._ending[number]
                    left = (left ^ becoming | becoming << 1) & pending.alive[older]
                    for following in blocks[number].following if left else ():
                        levels[older][following] = levels[older].get(following, 0) | left

    def _from_end(
        self, block: Block, repairs: Mapping[int, Repair]
    ) -> tuple[dict[int, tuple[int, int]], int, int, int]:
        """The hazards that arise in a block and are pending at its end; its length in states, as far as that matters;
        the hazards that become others in it, and those that end in it."""
        pending, longest = self._pending, self._pending.longest
        ends: dict[int, tuple[int, int]] = {}
        length = becoming = ending = 0  # from after the statement to the end of the block
        for at in range(block.end - 1, block.start - 1, -1):
            step = pending.steps[at]
            for hazard in step.leaves:
                became = hazard + (becoming >> hazard & 1)
                if not ending >> hazard & 1 and became not in ends and length < pending.limits[hazard]:
                    ends[became] = length, at
            length += step.states
            if watched := step.watched:  # what becomes another here ends if that one ends later
                becoming = becoming & ~watched | watched & ~(ending >> 1)
                ending = ending & ~watched | watched & ending >> 1
            ending, becoming = ending | step.ended, becoming & ~step.ended
            if repair := repairs.get(at):
                length += repair.states
                ended = pending.ended(repair)
                ending, becoming = ending | ended, becoming & ~ended
            if length >= longest:
                break
        return ends, length, becoming, ending

    def age(self, block: int, hazard: int) -> int:
        """The age of a hazard that is pending at the start of a block."""
        for age, hazards in self.at_start[block]:
            if hazards >> hazard & 1:
                return age
        raise AssertionError(f"hazard {hazard} is not pending at the start of block {block}")

    def source(self, block: int, hazard: int) -> int:
        """A statement that left a hazard pending at the start of a block, exactly its age ago."""
        work, seen = [(block, hazard)], {(block, hazard)}
        while work:
            block, hazard = work.pop()
            age = self.age(block, hazard)
            for before in self._pending.before[block]:
                at_end = self.at_end[before].get(hazard)
                if at_end and at_end[0] == age:
                    return at_end[1]
                earlier = self._earlier(before, hazard, age - self.lengths[before])
                new = {(before, each) for each in earlier} - seen
                seen |= new
                work.extend(new)
        raise AssertionError("every pending hazard has arisen somewhere")

    def _earlier(self, block: int, hazard: int, age: int) -> Iterator[int]:
        """The hazards of an age at the start of a block that have become a hazard at its end."""
        changed = self._becoming[block] | self._ending[block]
        candidates = [] if changed >> hazard & 1 else [hazard]
        if hazard and self._becoming[block] >> hazard - 1 & 1:
            candidates.append(hazard - 1)
        for each in candidates:
            if self.arrived[block] >> each & 1 and self.age(block, each) == age:
                yield each


# --- pending hazards ---

_NOTHING = Repair()


class _Step:
    """One kind of statement: what it leaves behind, what it may meet, the wait states it gives, the hazards that wait
    for it to become others, and those that it ends."""

    __slots__ = ("ended", "leaves", "leaves_bits", "meets", "states", "use", "watched")

    def __init__(self, use: RegisterUse, leaves: tuple[int, ...], states: int) -> None:
        self.use, self.leaves, self.states = use, leaves, states
        self.leaves_bits = sum(1 << hazard for hazard in leaves)
        self.meets: tuple[int, ...] = ()
        self.watched = self.ended = 0


class PendingHazards:
    """The hazards of a listing.

    Args:
        uses: what each statement does; statements that do the same may share one object.
        blocks: the basic blocks.
        recognizer: the rules.
        beyond: how many states longer than it needs a hazard is kept.
    """

    blocks: Sequence[Block]
    recognizer: HazardRecognizer
    steps: list[_Step]
    alive: list[int]

    def __init__(
        self, uses: Sequence[RegisterUse], blocks: Sequence[Block], recognizer: HazardRecognizer, beyond: int = 0
    ) -> None:
        self.blocks, self.recognizer, self._beyond = blocks, recognizer, beyond
        self.longest: int = recognizer.longest + beyond
        self._firsts: list[RegisterUse] = []  # of every hazard, an instruction that leaves just that behind
        self._between: list[frozenset[str]] = []  # the kinds that have passed since, of those that rules ask for
        self.limits: list[int] = []  # the states after which it is over
        self._expiries: list[Expiry] = []  # what ends it before
        self._numbers: dict[Key, int] = {}
        self._kinds: dict[tuple[frozenset[str], int, str], int] = {}
        self._waiting: dict[frozenset[str], int] = {}  # kinds -> the hazards that wait for one of them to pass
        self._ending: dict[frozenset[str], int] = {}  # kinds -> the hazards that one of them ends
        self._ended_by: dict[str, int] = {"": 0}  # an instruction of a `Repair` -> the hazards that it ends
        self._others = frozenset[str]().union(*{use.kinds for use in uses})
        self._touching: dict[str, list[int]] = {"v": [0] * 1024, "a": [0] * 1024, "s": [0] * 128, "hwreg": [0] * 64}
        self._everywhere = 0  # hazards without registers
        self._states: dict[tuple[int, int], int] = {}
        steps: dict[int, _Step] = {}
        self.steps = [steps.get(id(use)) or steps.setdefault(id(use), self._step(use)) for use in uses]
        self.alive = [
            sum(1 << hazard for hazard, limit in enumerate(self.limits) if limit > age)
            for age in range(self.longest + 1)
        ]
        ranges: dict[RegisterRange, int] = {}
        for step in steps.values():
            step.meets = tuple(self._met(step.use, ranges))
            step.ended = _of_kinds(self._ending, step.use.kinds)
            step.watched = _of_kinds(self._waiting, step.use.kinds) & ~step.ended
        self.before: list[list[int]] = blocks_before(blocks)

    # --- hazards ---

    def _step(self, use: RegisterUse) -> _Step:
        name = use.name if "DOT" in use.kinds else ""  # rules compare the opcodes of DOTs only
        kinds = self._kinds.setdefault((use.kinds, use.passes, name), len(self._kinds))
        leaves: list[int] = []
        for roles, between, expiry, states in self.recognizer.reach(use, self._others):
            touched: list[tuple[str, RegisterRange | None]]
            if "writes" in roles:
                touched = [("writes", each) for each in use.writes]
            elif "scalars" in roles:
                touched = [("scalars", each) for each in use.scalars_written]
            elif "EXEC" in roles:
                touched = [("EXEC", None)] if use.execs else []
            elif roles:
                touched = [(role, each) for role, each in use.reads if role in roles]
            else:
                touched = [("", None)]
            leaves += [self._hazard(use, (kinds, role, each, between, expiry), states) for role, each in touched]
        return _Step(use, tuple(dict.fromkeys(leaves)), self.recognizer.states_provided(use))

    def _hazard(self, use: RegisterUse, key: Key, states: int) -> int:
        """The number of a hazard. One that waits for other kinds to pass is followed by what it then becomes: one whose
        rule holds only then, or one that ends when such an instruction passes again."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._firsts)
            _, role, registers, between, expiry = key
            written = (registers,) if registers and role == "writes" else ()
            read = ((role, registers),) if registers and role not in ("writes", "scalars") else ()
            scalars = (registers,) if registers and role == "scalars" else ()
            first = use._replace(writes=written, reads=read, execs=role == "EXEC", scalars_written=scalars)
            if waits_for := between or frozenset(expiry.second.split()):
                _mark(self._waiting, waits_for, 1 << number)
                self._add(first, registers, frozenset(), states, expiry)
                _mark(self._ending, frozenset(expiry.second.split()), 2 << number)
            self._add(first, registers, between, states, expiry)
        return number

    def _add(
        self,
        first: RegisterUse,
        registers: RegisterRange | None,
        passed: frozenset[str],
        states: int,
        expiry: Expiry,
    ) -> None:
        bit = 1 << len(self._firsts)
        _mark(self._ending, frozenset(expiry.first.split()), bit)
        _mark(self._ended_by, expiry.instruction, bit)
        self._expiries.append(expiry)
        if registers is None:
            self._everywhere |= bit
        else:
            touching = self._touching[registers.file]
            for number in range(registers.first, registers.last + 1):
                touching[number] |= bit
        self._firsts.append(first)
        self._between.append(passed)
        self.limits.append(states + self._beyond)

    def _met(self, use: RegisterUse, known: dict[RegisterRange, int]) -> Iterator[int]:
        """The hazards whose registers an instruction touches, as a few sets."""
        if self._everywhere:
            yield self._everywhere
        read = (*use.reads, *use.scalars_read)
        for registers in (*use.writes, *[registers for _, registers in read]):
            if registers not in known:
                bits = 0
                for each in self._touching[registers.file][registers.first : registers.last + 1]:
                    bits |= each
                known[registers] = bits
            if known[registers]:
                yield known[registers]

    def _needed(self, hazard: int, step: _Step) -> int:
        key = hazard, id(step)
        if key not in self._states:
            first, between = self._firsts[hazard], self._between[hazard]
            self._states[key] = self.recognizer.states(first, step.use, between, self._expiries[hazard])
        return self._states[key]

    def ended(self, repair: Repair) -> int:
        """The hazards that what is put in ends."""
        return sum(self._ended_by[instruction] for instruction in repair.instructions)

    # --- paths ---

    def ages(self, repairs: Mapping[int, Repair]) -> Ages:
        """How old the pending hazards are at the start of each block, with repairs put in before statements."""
        return Ages(self, repairs)

    def violations(self, ages: Ages) -> Iterator[tuple[int, Violation]]:
        """The worst violations of every statement that has any, one for each way to repair it, in the order of the
        listing."""
        for number, block in enumerate(self.blocks):
            yield from _Walk(self, ages, number).violations(block, {})

    def waits(self, ages: Ages) -> Iterator[tuple[int, Violation]]:
        """As `violations`, but also of statements that wait long enough: their `missing` is 0 or less."""
        for number, block in enumerate(self.blocks):
            yield from _Walk(self, ages, number, least=-self.longest).violations(block, {})

    def repairs(self, ages: Ages, done: Mapping[int, Repair]) -> dict[int, Repair]:
        """What to put in before statements.

        Args:
            ages: those at the start of each block.
            done: what is put in within the blocks already; what this puts in counts for what follows in the block.
        """
        found: dict[int, Repair] = {}
        for number, block in enumerate(self.blocks):
            for at, violation in _Walk(self, ages, number).violations(block, done, repair=True):
                found[at] = found.get(at, _NOTHING) + repair_of(violation)
        return found


def _mark(bits: dict[Any, int], key: Any, more: int) -> None:
    bits[key] = bits.get(key, 0) | more


def _of_kinds(hazards: Mapping[frozenset[str], int], kinds: frozenset[str]) -> int:
    found = 0
    for wanted, bits in hazards.items():
        if wanted & kinds:
            found |= bits
    return found


class _Walk:
    """One walk through a block. least: of the missing states of what it reports."""

    def __init__(self, pending: PendingHazards, ages: Ages, number: int, least: int = 1) -> None:
        self._pending, self._ages, self._number, self._least = pending, ages, number, least
        self._live = ages.arrived[number]
        self._arose: dict[int, tuple[int, int]] = {}  # hazard -> the states of the block when it arose, the statement

    def violations(
        self, block: Block, repairs: Mapping[int, Repair], repair: bool = False
    ) -> Iterator[tuple[int, Violation]]:
        """The worst violations of each statement that has any.

        Args:
            block, repairs: the block, and what is put in before its statements.
            repair: judge what follows a violation as if it had been repaired; do not look for `first`.
        """
        steps, arose, states = self._pending.steps, self._arose, 0
        for at in range(block.start, block.end):
            step = steps[at]
            if done := repairs.get(at):
                states += done.states
                self._live &= ~self._pending.ended(done)
            met = 0
            for hazards in step.meets:
                met |= hazards
            met &= self._live
            for worst in self._worst(step, met, states, repair) if met else ():
                yield at, worst
                if repair:
                    repaired = repair_of(worst)
                    states += repaired.states
                    self._live &= ~self._pending.ended(repaired)
            self._live &= ~step.ended
            if step.watched & self._live:
                self._become(step.watched & self._live, states)
            states += step.states
            if step.leaves:
                self._live |= step.leaves_bits
                for hazard in step.leaves:
                    arose[hazard] = states, at

    def _since(self, hazard: int, states: int) -> int:
        if hazard in self._arose:
            return states - self._arose[hazard][0]
        return states + self._ages.age(self._number, hazard)

    def _worst(self, step: _Step, met: int, states: int, repair: bool) -> list[Violation]:
        """The worst violation of those that the same instruction repairs, for each such instruction ("" for nops), and
        of those that are disputed."""
        pending = self._pending
        worst: dict[tuple[str, str], tuple[int, int, int]] = {}
        for hazard in bits_of(met):
            elapsed = self._since(hazard, states)
            if elapsed >= pending.limits[hazard]:
                self._live ^= 1 << hazard  # it is over
                continue
            needed = pending._needed(hazard, step)
            missing = needed - elapsed
            if needed and missing >= self._least:
                expiry = pending._expiries[hazard]
                found, key = (missing, -elapsed, -hazard), (expiry.instruction, expiry.disputed)
                worst[key] = max(worst.get(key, found), found)
        return [
            Violation(
                -1 if repair else self._first(-hazard),
                -elapsed,
                missing,
                pending._between[-hazard],
                pending._expiries[-hazard],
            )
            for missing, elapsed, hazard in worst.values()
        ]

    def _first(self, hazard: int) -> int:
        """The statement that left a pending hazard behind."""
        arose = self._arose.get(hazard)
        if arose and arose[1] >= 0:
            return arose[1]
        # It was pending at the start, perhaps as what became this one.
        return self._ages.source(self._number, hazard - 1 if arose else hazard)

    def _become(self, hazards: int, states: int) -> None:
        """Hazards that waited for an instruction of some kind have met one: they become others of the same age."""
        for hazard in bits_of(hazards):
            since = self._since(hazard, states)
            if not self._live >> hazard + 1 & 1 or since < self._since(hazard + 1, states):
                self._arose[hazard + 1] = states - since, self._arose.get(hazard, (0, -1))[1]
            self._live = self._live & ~(1 << hazard) | 2 << hazard


def bits_of(bits: int) -> Iterator[int]:
    """The numbers of the bits that are set, the lowest first."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
