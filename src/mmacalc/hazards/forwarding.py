"""Registers that a VALU instruction in wave64 reads, written before and after a scalar instruction wrote EXEC.

The rule (`ForwardingRule`) is about three VALU instructions and one scalar one, so no row of the tables has it: from
each VALU instruction that reads several registers every path is followed backwards, as LLVM does, over a few VALU
instructions. Wave64 shows in the listing: only there a scalar instruction writes EXEC as a whole (exec_lo in wave32).
"""

from __future__ import annotations

from ..base.records import TupleRecord
from .pending import blocks_before
from .recognizer import SourceAnswer, WaitStates, specific_kind
from .tables import LLVM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..asm.blocks import Block
    from ..asm.registers import RegisterRange
    from .pending import Repair
    from .register_use import RegisterUse
    from .tables import ForwardingRule

    Writes = tuple[tuple[int, int] | None, ...]

__all__ = ["Forwarding", "ForwardingViolation"]


class ForwardingViolation(TupleRecord):
    """A statement that reads `registers`: the first written by the statement `before`, then EXEC was written, then the
    second written by the statement `later`, and since then `elapsed` VALU instructions have run."""

    before: int
    later: int
    registers: tuple[RegisterRange, RegisterRange]
    elapsed: int


class _Path(TupleRecord):
    """How far a path has been followed backwards: the VALU instructions passed; of each register range that is read how
    many had been passed at its last write, and the statement; how many had been passed at the last write of EXEC."""

    passed: int
    writes: Writes
    exec_at: int | None


class Forwarding:
    """The violations of a listing.

    Args:
        uses: what each statement does. blocks: the basic blocks. rule: the rule.
    """

    uses: Sequence[RegisterUse]
    blocks: Sequence[Block]
    rule: ForwardingRule

    def __init__(self, uses: Sequence[RegisterUse], blocks: Sequence[Block], rule: ForwardingRule) -> None:
        self.uses, self.blocks, self.rule = uses, blocks, rule
        self._ends = frozenset(rule.expiry.first.split())
        self._before: list[list[int]] = blocks_before(blocks)

    def violations(self, repairs: Mapping[int, Repair]) -> Iterator[tuple[int, ForwardingViolation]]:
        """Every statement that must wait, in the order of the listing, where repairs are put in before statements;
        those that are put in meanwhile count."""
        if not any("EXEC_64" in use.kinds for use in self.uses):
            return
        reach = self.rule.between + 1 + self.rule.after
        for number, block in enumerate(self.blocks):
            since = 0  # VALU instructions since EXEC was written, or may have been before the block
            for at in range(block.start, block.end):
                use = self.uses[at]
                if use.valu and since <= reach and (found := self._violation(at, number, repairs)):
                    yield at, found
                since = 0 if "EXEC_64" in use.kinds else since + use.valu

    def _violation(self, at: int, number: int, repairs: Mapping[int, Repair]) -> ForwardingViolation | None:
        read = tuple(dict.fromkeys(registers for _, registers in self.uses[at].reads))
        start = self._repaired(_Path(0, (None,) * len(read), None), repairs.get(at))
        work = [(at, number, start)] if start and len(read) > 1 else []
        seen = set()
        while work:
            place, number, path = work.pop()
            followed: _Path | None = path
            while followed and place > self.blocks[number].start:
                place -= 1
                found = self._over(place, read, followed)
                if isinstance(found, ForwardingViolation):
                    return found
                followed = self._repaired(found, repairs.get(place)) if found else None
            for before in self._before[number] if followed else ():
                if followed and (before, followed) not in seen:
                    seen.add((before, followed))
                    work.append((self.blocks[before].end, before, followed))
        return None

    def _repaired(self, path: _Path, repair: Repair | None) -> _Path | None:
        """A path beyond what is put in before a statement; None where that ends it."""
        if repair is None:
            return path
        ended = self.rule.expiry.instruction in repair.instructions
        return None if ended else path._replace(passed=path.passed + repair.states)

    def _over(self, place: int, read: tuple[RegisterRange, ...], path: _Path) -> _Path | ForwardingViolation | None:
        """A path beyond a statement; None where it needs to be followed no further."""
        use, rule, writes, exec_at = self.uses[place], self.rule, path.writes, path.exec_at
        if path.passed > rule.between + rule.after + 2 or use.kinds & self._ends:
            return None
        if use.valu:
            writes = tuple(
                (path.passed, place)
                if known is None and any(each.overlaps(registers) for each in use.writes)
                else known
                for registers, known in zip(read, writes)
            )
        elif "EXEC_64" in use.kinds and exec_at is None and any(writes):
            exec_at = path.passed
        if path.passed > rule.after and not any(writes):
            return None
        if exec_at is not None:
            known = [(*write, registers) for write, registers in zip(writes, read) if write]
            later = min([one for one in known if one[0] < exec_at], default=None)
            before = min([one for one in known if one[0] >= exec_at], default=None)
            if later and before:
                close = later[0] <= rule.after and before[0] - later[0] - 1 <= rule.between
                return ForwardingViolation(before[1], later[1], (before[2], later[2]), later[0]) if close else None
        return _Path(path.passed + use.valu, writes, exec_at)

    def answer(self, at: int, violation: ForwardingViolation) -> WaitStates:
        """What a statement must wait for, as for two instructions."""
        rule, places, read = self.rule, (violation.before, violation.later), violation.registers
        before, later = (
            next(each for each in self.uses[place].writes if each.overlaps(registers))
            for place, registers in zip(places, read)
        )
        kinds = [specific_kind(self.uses[place]) for place in (*places, at)]
        words = (
            f"{kinds[0]} writes {before}, then EXEC is written, then {kinds[1]} writes {later}, "
            f"then {kinds[2]} reads {read[0]} and {read[1]} in wave64"
        )
        place, states = f"{LLVM}, {rule.place}", rule.after + 1
        source = SourceAnswer(states, words, place, "two sources agree", later)
        return WaitStates(states, f"{words}: {place}", states, None, "v_nop", str(later), (source,), expiry=rule.expiry)
