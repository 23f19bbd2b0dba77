"""How long ago the pending hazards of a listing arose, at the start of each block; see `mmacalc.hazards.pending`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .control_flow import Block
    from .pending import PendingHazards
    from .violations import Repair

__all__ = ["Ages"]


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
