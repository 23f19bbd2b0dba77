"""What the batches of a launch add up."""

from __future__ import annotations

from collections import Counter

from ..device.findings import entered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from typing import Any

    from ...asm.decoded import DecodedInstruction
    from ..device.findings import KernelFinding

__all__ = ["Tally"]


class Tally:
    """What the batches of a launch add up: findings, notes, traffic, matrix instructions, warnings."""

    def __init__(self, describe: Callable[[DecodedInstruction], str]) -> None:
        self.describe = describe
        self.findings: dict[Hashable, KernelFinding] = {}
        self.notes: dict[Hashable, KernelFinding] = {}
        self.undefined: dict[tuple[int, str], int] = {}  # by where it was read first: the instruction that used it
        self.issued: Counter[Any] = Counter()
        self.warnings: Counter[str] = Counter()
        self.loaded = self.stored = self.lds_loaded = self.lds_stored = self.lds_atomics = 0
        self.steps = self.executed = 0

    def add(self, finding: KernelFinding) -> None:
        """Enter a finding; one of the same instructions again only counts."""
        entered(self.findings, finding)

    def note(self, finding: KernelFinding) -> None:
        """Enter a note, in the same way."""
        entered(self.notes, finding)
