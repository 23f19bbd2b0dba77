"""What a launch of a PTX kernel found, by line of PTX and thread."""

from __future__ import annotations

import re

from ...base.records import TupleRecord
from ..device.findings import lanes_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...ptx.module import Location

__all__ = ["KINDS", "PtxFinding"]

KINDS = {
    "race": "two threads access the same bytes without synchronisation in between, and one of them writes",
    "wait": "the result of an asynchronous operation is used, or its operands changed, before it is waited for",
    "proxy": "the async proxy reads bytes that the generic proxy wrote, without fence.proxy.async in between",
    "fence": "wgmma.fence is missing",
    "uninitialised": "a value that no instruction has written is used",
    "barrier": "threads meet at a barrier in a way that PTX leaves undefined",
    "mbarrier": "an mbarrier is used in a way that PTX leaves undefined",
    "deadlock": "threads wait, and nothing can release them",
    "misaligned": "an address is not a multiple of the size of its access",
    "descriptor": "the descriptor of a matrix in shared memory contradicts itself",
    "tensor memory": "Tensor Memory is used in a way that PTX leaves undefined",
    "warp": "an instruction that all threads of a warp must execute lacks some of them",
}


_LIST = re.compile(r"\{\s*([^{},]+),(?:[^{},]+,){3,}\s*([^{},]+?)\s*\}")


def _short(text: str) -> str:
    """A statement with its long lists of registers cut.

    >>> _short("wgmma.mma_async {%f1, %f2, %f3, %f4, %f5}, %rd1")
    'wgmma.mma_async {%f1, ..., %f5}, %rd1'
    """
    return _LIST.sub(r"{\1, ..., \2}", text)


class PtxFinding(TupleRecord):
    """One mistake.

    kind: one of `KINDS`. line, text: the statement. message: what is wrong with it. other_line, other_text: the
    statement that it collides with, None and "" if there is none. location, other_location: their places in the
    source that `.loc` names, None without. cta: (x, y, z). threads: of the CTA, in which it was first seen. times:
    how often it was executed that way.
    """

    kind: str
    line: int
    text: str
    message: str
    other_line: int | None
    other_text: str
    location: Location | None
    other_location: Location | None
    cta: tuple[int, int, int]
    threads: tuple[int, ...]
    times: int

    @property
    def sentence(self) -> str:
        """The finding in words, over one or two lines."""
        source = f" ({self.location})" if self.location else ""
        threads = f", {lanes_text(self.threads, 'thread')}" if self.threads else ""
        more = f" ({self.times} times)" if self.times > 1 else ""
        other = ""
        if self.other_line is not None:
            place = f" ({self.other_location})" if self.other_location else ""
            other = f"\n    the other statement: line {self.other_line}{place}: {_short(self.other_text)}"
        text = _short(self.text)
        return f"{self.kind}: line {self.line}{source}: {text}: {self.message}; CTA {self.cta}{threads}{more}{other}"
