"""What is wrong at one instruction of a listing, and what repairs it."""

from __future__ import annotations

from ..records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .tables import Expiry

__all__ = ["Repair", "Violation", "repair_of"]


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
    """What repairs a violation."""
    instruction = violation.expiry.instruction
    return Repair(0, frozenset({instruction})) if instruction else Repair(violation.missing)
