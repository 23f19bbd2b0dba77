"""LDS (shared memory) banks: how many cycles one access takes, and which lanes collide.

An access is served in phases. Each phase serves some of the lanes; it takes as many cycles as the busiest bank has
distinct dwords to deliver. Lanes that read the same dword share it. So

    cycles     the sum over the phases of the busiest bank's distinct dwords
    ideal      the number of phases that have an active lane
    conflicts  cycles - ideal, which is what hardware counters report

Which lanes a phase serves is data of the architecture (`Architecture.lds_phases`), measured for most: it is not a
formula. For a width or direction without a row of its own the row of the next narrower width, or of reads, is used,
and the answer is unconfirmed.
"""

from __future__ import annotations

from functools import lru_cache

from ..base.errors import Error
from ..base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..model import Architecture

__all__ = ["BankAccess", "Phase", "Rule", "bank_access", "conflict_free", "lost_cycles", "rule"]

DWORD = 4


class Rule(TupleRecord):
    """How LDS serves one kind of access.

    Attributes:
        access: "read", "write" or "ldmatrix"; bytes: the width of one lane's access, 4 for anything narrower.
        banks: how many banks of a dword each.
        phases: for each phase, the lanes that it serves; the pattern repeats over the wave.
        merges: whether neighbouring phases are served together when lanes of a pair read the same address (NVIDIA).
        ports: the dwords that a bank delivers in a cycle.
        provenance: how sure the row is; source: who measured or documented it.
    """

    access: str
    bytes: int
    banks: int
    phases: tuple[tuple[int, ...], ...]
    merges: bool
    ports: int
    provenance: str
    source: str

    def lanes(self, wave: int) -> list[tuple[int, ...]]:
        """The phases of a whole wave."""
        period = sum(map(len, self.phases))
        return [tuple([first + lane for lane in phase if first + lane < wave])
                for first in range(0, wave, period) for phase in self.phases]  # fmt: skip


class Phase(TupleRecord):
    """One phase of an access: its active lanes, its cycles, and the bank that is busiest."""

    lanes: tuple[int, ...]
    cycles: int
    bank: int


class BankAccess(TupleRecord):
    """What one access costs."""

    rule: Rule
    phases: tuple[Phase, ...]

    @property
    def cycles(self) -> int:
        """The cycles of all phases."""
        return sum([phase.cycles for phase in self.phases])

    @property
    def ideal(self) -> int:
        """The cycles without conflicts: one for each phase."""
        return len(self.phases)

    @property
    def conflicts(self) -> int:
        """The cycles lost, as hardware counters report them."""
        return self.cycles - self.ideal

    @property
    def worst(self) -> Phase:
        """The phase that takes most cycles."""
        return max(self.phases, key=lambda phase: phase.cycles)


@lru_cache(maxsize=256)
def _lanes_of(text: str) -> tuple[tuple[int, ...], ...]:
    """Phases as catalog files write them: "0-3 20-23, 4-7 16-19" is two phases of eight lanes."""
    phases = []
    for phase in text.split(","):
        lanes: list[int] = []
        for run in phase.split():
            first, _, last = run.partition("-")
            lanes += range(int(first), int(last or first) + 1)
        phases.append(tuple(lanes))
    return tuple(phases)


@lru_cache(maxsize=256)
def rule(architecture: Architecture, width: int, access: str = "read") -> Rule:
    """How LDS of an architecture serves an access.

    Args:
        width: the bytes of one lane's access. access: "read" or "write".

    Raises:
        Error: the phases of this architecture are not published, or an access that does not exist.

    >>> import mmacalc
    >>> rule(mmacalc.architecture("mi300x"), 16).phases[0]
    (0, 1, 2, 3, 20, 21, 22, 23)
    """
    rows = [row for row in architecture.lds_phases if row[0] == access]
    rows = rows or [row for row in architecture.lds_phases if row[0] == "read"]
    if not rows:
        raise Error(f"which lanes LDS of {architecture.title} serves together is not published")
    wanted = max(width, DWORD)
    row = max([row for row in rows if row[1] <= wanted], key=lambda row: int(row[1]))
    kind, covers, banks, phases, provenance, source = row[:6]
    more = row[6] if len(row) > 6 else {}
    if (kind, covers) != (access, width):
        provenance = "unconfirmed"
    elif "lds_phases" in architecture.assumed:
        provenance = "assumed"
    merges, ports = more.get("merges", False), more.get("ports", 1)
    return Rule(access, wanted, banks, _lanes_of(phases), merges, ports, provenance, source)


def bank_access(
    architecture: Architecture, addresses: Sequence[int | None], width: int, access: str = "read"
) -> BankAccess:
    """What one access of a wave costs.

    Args:
        addresses: the byte address of each lane; None for an inactive lane.
        width: the bytes of one lane's access; wider than 16 is split into accesses of 16 by the caller.

    Raises:
        Error: a width that no LDS access has, an address that is not aligned to it, or unpublished phases.

    >>> import mmacalc
    >>> bank_access(mmacalc.architecture("mi300x"), [16 * lane for lane in range(64)], 4).conflicts
    6
    """
    if width not in (1, 2, 4, 8, 12, 16):
        raise Error(f"a lane's LDS access is 1, 2, 4, 8, 12 or 16 bytes wide; got {width}")
    found = rule(architecture, width, access)
    active = [lane for lane, address in enumerate(addresses) if address is not None]
    phases = []
    for lanes in _merged(found, addresses, active):
        busiest, cycles = _busiest(found, [addresses[lane] or 0 for lane in lanes], width)
        phases.append(Phase(lanes, cycles, busiest))
    return BankAccess(found, tuple(phases))


def conflict_free(found: Rule, addresses: Sequence[int | None], width: int) -> bool:
    """Whether no phase has a conflict. Faster than `bank_access`, for searches."""
    active = [lane for lane, address in enumerate(addresses) if address is not None]
    return all(
        _busiest(found, [addresses[lane] or 0 for lane in lanes], width)[1] == 1
        for lanes in _merged(found, addresses, active)
    )


def lost_cycles(found: Rule, addresses: Sequence[int | None], width: int) -> int:
    """The cycles that an access loses to conflicts, as `BankAccess.conflicts`. Faster, for searches."""
    active = [lane for lane, address in enumerate(addresses) if address is not None]
    phases = [[addresses[lane] or 0 for lane in lanes] for lanes in _merged(found, addresses, active)]
    return sum([_busiest(found, phase, width)[1] - 1 for phase in phases])


def _merged(found: Rule, addresses: Sequence[int | None], active: list[int]) -> Iterator[tuple[int, ...]]:
    """The phases with their active lanes, merged in pairs where the rule allows it.

    An 8- or 16-byte access of NVIDIA serves two phases together if for all active lanes the lane with bit 0 of its
    number flipped (or for all, that with bit 1 flipped) is inactive or has the same address.
    """
    present = set(active)
    phases = [tuple([lane for lane in lanes if lane in present]) for lanes in found.lanes(len(addresses))]
    if found.merges and any(_paired(addresses, active, flip) for flip in (1, 2)):
        phases = [first + second for first, second in zip(phases[::2], phases[1::2])]
    return (lanes for lanes in phases if lanes)


def _paired(addresses: Sequence[int | None], active: list[int], flip: int) -> bool:
    return all(addresses[lane ^ flip] in (None, addresses[lane]) for lane in active)


def _busiest(found: Rule, addresses: list[int], width: int) -> tuple[int, int]:
    """The bank with the most distinct dwords, and the cycles that it takes."""
    dwords = {dword for address in addresses for dword in range(address // DWORD, (address + width - 1) // DWORD + 1)}
    counts = [0] * found.banks
    for dword in dwords:
        counts[dword % found.banks] += 1
    most = max(counts)
    return counts.index(most), -(-most // found.ports)
