"""What the batches of a launch add up."""

from __future__ import annotations

from collections import Counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...asm.decoded import DecodedInstruction
    from .findings import KernelFinding

__all__ = ["Tally"]


class Tally:
    """What the batches of a launch add up: findings, notes, traffic, matrix instructions, warnings."""

    def __init__(self, describe: Callable[[DecodedInstruction], str]) -> None:
        self.describe = describe
        self.findings: dict[tuple[str, int, int | None], KernelFinding] = {}
        self.notes: dict[tuple[str, int, int | None], KernelFinding] = {}
        self.undefined: dict[tuple[int, str], int] = {}  # by where it was read first: the instruction that used it
        self.issued: Counter[Any] = Counter()
        self.warnings: Counter[str] = Counter()
        self.loaded = self.stored = self.lds_loaded = self.lds_stored = self.lds_atomics = 0
        self.steps = self.executed = 0

    def add(self, finding: KernelFinding) -> None:
        """Enter a finding; one of the same instructions again only counts."""
        self._enter(self.findings, finding)

    def note(self, finding: KernelFinding) -> None:
        """Enter a note, in the same way."""
        self._enter(self.notes, finding)

    @staticmethod
    def _enter(known: dict[tuple[str, int, int | None], KernelFinding], one: KernelFinding) -> None:
        key = one.kind, one.address, one.other_address
        known[key] = known[key]._replace(times=known[key].times + one.times) if key in known else one
