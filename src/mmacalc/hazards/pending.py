"""Hazards that are pending along the paths of a listing: which instructions must wait for which, and how long ago those
ran.

A pending hazard is what an instruction leaves behind: its kinds, some of its registers in one role, and perhaps that
an instruction of other kinds must follow. Instructions that leave the same behind leave one hazard, so their number is
bounded by the registers, not by the listing. Along each path the least number of wait states since the hazard arose
counts. How many that is at the start of every block is found level by level, as the shortest paths of a graph are: all
hazards that are `n` states old are carried on before any that are `n + 1` old, so that each arrives once at every
block. Sets of hazards are the bits of integers, so that one operation carries them all.
"""

from __future__ import annotations

from ..records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..asm.registers import RegisterRange
    from .control_flow import Block
    from .recognizer import HazardRecognizer
    from .register_use import RegisterUse

__all__ = ["PendingHazards", "Violation"]


class Violation(TupleRecord):
    """An instruction that must wait longer: for which statement (-1 if it is before the block), the wait states
    since that one, how many are missing, and the kinds that have passed between, of those that rules ask for."""

    first: int
    elapsed: int
    missing: int
    between: frozenset[str]


class _Step:
    """One kind of statement: what it leaves behind, what it may meet, and the wait states it gives."""

    __slots__ = ("leaves", "leaves_bits", "meets", "states", "use", "watched")

    def __init__(self, use: RegisterUse, leaves: tuple[int, ...], states: int) -> None:
        self.use, self.leaves, self.states = use, leaves, states
        self.leaves_bits = sum(1 << hazard for hazard in leaves)
        self.meets: tuple[int, ...] = ()
        self.watched = 0


class PendingHazards:
    """The hazards of a listing.

    Args:
        uses: what each statement does; statements that do the same may share one object.
        blocks: the basic blocks.
        recognizer: the rules.
    """

    blocks: Sequence[Block]
    recognizer: HazardRecognizer

    def __init__(self, uses: Sequence[RegisterUse], blocks: Sequence[Block], recognizer: HazardRecognizer) -> None:
        self.blocks, self.recognizer = blocks, recognizer
        self._firsts: list[RegisterUse] = []  # of every hazard, an instruction that leaves just that behind
        self._between: list[frozenset[str]] = []  # the kinds that have passed since, of those that rules ask for
        self._limits: list[int] = []  # the states after which it is over
        self._numbers: dict[tuple[int, str, RegisterRange | None, frozenset[str]], int] = {}
        self._kinds: dict[tuple[frozenset[str], int, str], int] = {}
        self._waiting: dict[frozenset[str], int] = {}  # kinds -> the hazards that wait for one of them to pass
        self._touching: dict[str, list[int]] = {"v": [0] * 1024, "a": [0] * 1024}
        self._everywhere = 0  # hazards without registers
        self._states: dict[tuple[int, int], int] = {}
        steps: dict[int, _Step] = {}
        self._steps = [steps.get(id(use)) or steps.setdefault(id(use), self._step(use)) for use in uses]
        self._alive = [
            sum(1 << hazard for hazard, limit in enumerate(self._limits) if limit > age)
            for age in range(recognizer.longest + 1)
        ]
        ranges: dict[RegisterRange, int] = {}
        for step in steps.values():
            step.meets = tuple(self._met(step.use, ranges))
            for kinds, hazards in self._waiting.items():
                if kinds & step.use.kinds:
                    step.watched |= hazards
        self._before: list[list[int]] = [[] for _ in blocks]
        for number, block in enumerate(blocks):
            for following in block.following:
                self._before[following].append(number)

    # --- hazards ---

    def _step(self, use: RegisterUse) -> _Step:
        name = use.name if "DOT" in use.kinds else ""  # rules compare the opcodes of DOTs only
        kinds = self._kinds.setdefault((use.kinds, use.passes, name), len(self._kinds))
        leaves: list[int] = []
        for roles, between, states in self.recognizer.reach(use):
            if "writes" in roles:
                leaves += [self._hazard(use, (kinds, "writes", each, between), states) for each in use.writes]
            elif "EXEC" in roles:
                leaves += [self._hazard(use, (kinds, "EXEC", None, between), states)] if use.execs else []
            elif roles:
                leaves += [
                    self._hazard(use, (kinds, role, each, between), states) for role, each in use.reads if role in roles
                ]
            else:
                leaves.append(self._hazard(use, (kinds, "", None, between), states))
        return _Step(use, tuple(dict.fromkeys(leaves)), self.recognizer.states_provided(use))

    def _hazard(self, use: RegisterUse, key: tuple[int, str, RegisterRange | None, frozenset[str]], states: int) -> int:
        """The number of a hazard. One that waits for other kinds to pass is followed by what it then becomes."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._firsts)
            _, role, registers, between = key
            written = (registers,) if registers and role == "writes" else ()
            read = ((role, registers),) if registers and role != "writes" else ()
            first = use._replace(writes=written, reads=read, execs=role == "EXEC")
            if between:
                self._waiting[between] = self._waiting.get(between, 0) | 1 << number
                self._add(first, registers, frozenset(), states)
            self._add(first, registers, between, states)
        return number

    def _add(self, first: RegisterUse, registers: RegisterRange | None, passed: frozenset[str], states: int) -> None:
        bit = 1 << len(self._firsts)
        if registers is None:
            self._everywhere |= bit
        else:
            touching = self._touching[registers.file]
            for number in range(registers.first, registers.last + 1):
                touching[number] |= bit
        self._firsts.append(first)
        self._between.append(passed)
        self._limits.append(states)

    def _met(self, use: RegisterUse, known: dict[RegisterRange, int]) -> Iterator[int]:
        """The hazards whose registers an instruction touches, as a few sets."""
        if self._everywhere:
            yield self._everywhere
        for registers in (*use.writes, *[registers for _, registers in use.reads]):
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
            self._states[key] = self.recognizer.states(first, step.use, between)
        return self._states[key]

    # --- paths ---

    def ages(self, nops: Mapping[int, int]) -> Ages:
        """How old the pending hazards are at the start of each block, with wait states put in before statements."""
        return Ages(self, nops)

    def violations(self, ages: Ages) -> Iterator[tuple[int, Violation]]:
        """The worst violation of every statement that has one, in the order of the listing."""
        for number, block in enumerate(self.blocks):
            yield from _Walk(self, ages, number).violations(block, {})

    def repairs(self, ages: Ages, nops: Mapping[int, int]) -> dict[int, int]:
        """The wait states to put in before statements.

        Args:
            ages: those at the start of each block.
            nops: wait states put in within the blocks already; what this puts in counts for what follows in the block.
        """
        return {
            at: violation.missing
            for number, block in enumerate(self.blocks)
            for at, violation in _Walk(self, ages, number).violations(block, nops, repair=True)
        }


class Ages:
    """How long ago pending hazards arose, at the start of each block: `at_start[block]` is a list of (age, hazards),
    `arrived[block]` all of those hazards."""

    arrived: list[int]

    def __init__(self, pending: PendingHazards, nops: Mapping[int, int]) -> None:
        self._pending = pending
        self.lengths: list[int] = []
        self.at_end: list[dict[int, tuple[int, int]]] = []  # of each block: hazard -> (age, statement)
        blocks = pending.blocks
        levels: list[dict[int, int]] = [{} for _ in range(pending.recognizer.longest + 1)]
        self._becoming: list[int] = []  # of each block, the hazards that become others in it
        for block in blocks:
            ends, length, watched = self._from_end(block, nops)
            self.at_end.append(ends)
            self.lengths.append(length)
            self._becoming.append(watched)
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
                    left = (new ^ becoming | becoming << 1) & pending._alive[older]
                    for following in blocks[number].following if left else ():
                        levels[older][following] = levels[older].get(following, 0) | left

    def _from_end(self, block: Block, nops: Mapping[int, int]) -> tuple[dict[int, tuple[int, int]], int, int]:
        """The hazards that arise in a block and are pending at its end; its length in states, as far as that matters,
        and the hazards that become others in it."""
        pending, longest = self._pending, self._pending.recognizer.longest
        ends: dict[int, tuple[int, int]] = {}
        length = watched = 0
        for at in range(block.end - 1, block.start - 1, -1):
            step = pending._steps[at]
            for hazard in step.leaves:
                became = hazard + (watched >> hazard & 1)
                if became not in ends and length < pending._limits[hazard]:
                    ends[became] = length, at
            length += step.states + nops.get(at, 0)
            watched |= step.watched
            if length >= longest:
                break
        return ends, length, watched

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
            for before in self._pending._before[block]:
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
        candidates = [] if self._becoming[block] >> hazard & 1 else [hazard]
        if hazard and self._becoming[block] >> hazard - 1 & 1:
            candidates.append(hazard - 1)
        for each in candidates:
            if self.arrived[block] >> each & 1 and self.age(block, each) == age:
                yield each


class _Walk:
    """One walk through a block."""

    def __init__(self, pending: PendingHazards, ages: Ages, number: int) -> None:
        self._pending, self._ages, self._number = pending, ages, number
        self._live = ages.arrived[number]
        self._arose: dict[int, tuple[int, int]] = {}  # hazard -> the states of the block when it arose, the statement

    def violations(
        self, block: Block, nops: Mapping[int, int], repair: bool = False
    ) -> Iterator[tuple[int, Violation]]:
        """The worst violation of each statement that has one.

        Args:
            block, nops: the block, and wait states put in before its statements.
            repair: judge what follows a violation as if its missing states had been put in; do not look for `first`.
        """
        steps, arose, states = self._pending._steps, self._arose, 0
        for at in range(block.start, block.end):
            step = steps[at]
            if nops:
                states += nops.get(at, 0)
            met = 0
            for hazards in step.meets:
                met |= hazards
            met &= self._live
            if met and (worst := self._worst(step, met, states, repair)):
                yield at, worst
                states += worst.missing if repair else 0
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

    def _worst(self, step: _Step, met: int, states: int, repair: bool) -> Violation | None:
        worst, pending = (0, 0, 0), self._pending
        for hazard in _bits(met):
            elapsed = self._since(hazard, states)
            if elapsed >= pending._limits[hazard]:
                self._live ^= 1 << hazard  # it is over
                continue
            missing = pending._needed(hazard, step) - elapsed
            if missing > 0:
                worst = max(worst, (missing, -elapsed, -hazard))
        missing, elapsed, hazard = worst[0], -worst[1], -worst[2]
        if not missing:
            return None
        first = -1
        if not repair:
            arose = self._arose.get(hazard)
            first = arose[1] if arose else -1
            if first < 0:  # it was pending at the start, perhaps as what became this one
                first = self._ages.source(self._number, hazard - 1 if arose else hazard)
        return Violation(first, elapsed, missing, pending._between[hazard])

    def _become(self, hazards: int, states: int) -> None:
        """Hazards that waited for an instruction of some kind have met one: they become others of the same age."""
        for hazard in _bits(hazards):
            since = self._since(hazard, states)
            if not self._live >> hazard + 1 & 1 or since < self._since(hazard + 1, states):
                self._arose[hazard + 1] = states - since, self._arose.get(hazard, (0, -1))[1]
            self._live = self._live & ~(1 << hazard) | 2 << hazard


def _bits(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
