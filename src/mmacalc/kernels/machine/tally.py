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
    """What the batches of a launch add up: findings, traffic, matrix instructions, warnings."""

    def __init__(self, describe: Callable[[DecodedInstruction], str]) -> None:
        self.describe = describe
        self.findings: dict[tuple[str, int, int | None], KernelFinding] = {}
        self.issued: Counter[Any] = Counter()
        self.warnings: Counter[str] = Counter()
        self.loaded = self.stored = self.lds_loaded = self.lds_stored = self.lds_atomics = 0
        self.steps = 0

    def add(self, finding: KernelFinding) -> None:
        """Enter a finding; one of the same instructions again only counts."""
        key = finding.kind, finding.address, finding.other_address
        known = self.findings.get(key)
        self.findings[key] = finding if known is None else known._replace(times=known.times + finding.times)
