"""Missing wait states of decoded code: what `mmacalc.hazards.lint` finds in its text, without the text."""

from __future__ import annotations

from ..errors import Error
from ..records import TupleRecord
from .control_flow import decoded_blocks
from .forwarding import Forwarding
from .pending import PendingHazards
from .recognizer import recognizer_for
from .register_use import UNREAD, decoded_use, entry_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..asm.decoded import DecodedInstruction
    from ..catalog import Entry
    from .recognizer import WaitStates
    from .register_use import RegisterUse

__all__ = ["MissingStates", "missing_states"]


class MissingStates(TupleRecord):
    """first, second: numbers of the two instructions; missing: how many wait states more are needed; wait: the rule."""

    first: int
    second: int
    missing: int
    wait: WaitStates


def missing_states(instructions: Sequence[DecodedInstruction], arch: str) -> Iterator[MissingStates]:
    """The places where an instruction comes too early after another, in the order of the code.

    Args:
        instructions: from `mmacalc.asm.decoder.decode`. arch: the target.

    Raises:
        Error: the rules have no number for a matrix instruction.
    """
    entry = entry_of(arch)
    recognizer, blocks = recognizer_for(entry.architecture, arch), decoded_blocks(instructions)
    uses = [_use(one, entry) for one in instructions]
    pending = PendingHazards(uses, blocks, recognizer)
    found = []
    for at, one in pending.violations(pending.ages({})):
        wait = recognizer.answer(uses[one.first], uses[at], one.between, one.expiry)
        found.append(MissingStates(one.first, at, one.missing, wait))
    if recognizer.forwarding:
        forwarding = Forwarding(uses, blocks, recognizer.forwarding)
        for at, later in forwarding.violations({}):
            wait = forwarding.answer(at, later)
            found.append(MissingStates(later.later, at, wait.states - later.elapsed, wait))
    return iter(sorted(found, key=lambda one: one.second))


def _use(instruction: DecodedInstruction, entry: Entry) -> RegisterUse:
    try:
        return decoded_use(instruction, entry)
    except Error:  # one that LLVM encodes and the architecture lacks
        return UNREAD._replace(name=instruction.name)
