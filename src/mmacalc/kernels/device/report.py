"""What the report of a compiled kernel says, of whichever vendor: its kernel, what it executed, what is wrong."""

from __future__ import annotations

from ...base.errors import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["CompiledReport"]


class CompiledReport:
    """What the reports of compiled kernels have in common.

    Attributes:
        kernel, target: the kernel's name and its target.
        executed: how many instructions were executed, see the report.
        findings: what is wrong with the kernel; empty if nothing was found.
    """

    kernel: str
    target: str
    executed: int
    findings: tuple[Any, ...]

    def verdict(self) -> list[str]:
        """The findings in words, and how many there are."""
        lines = [finding.sentence for finding in self.findings]
        return [*lines, plural(len(self.findings), "finding") if self.findings else "nothing wrong was found"]

    def _short(self, ran: str) -> str:
        return f"<{type(self).__name__}: {self.kernel}, {ran}, {plural(len(self.findings), 'finding')}>"
