"""What one instruction's result feeds without moves between lanes, as text and as JSON."""

from __future__ import annotations

from .chain import identity, ranges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..chains import Chain, Feeds

__all__ = ["json_object", "text"]


def text(found: Feeds) -> str:
    """A line for each instruction and use: its kind, how many X feed how many Y, and how k is relabelled."""
    x, rows = found.x, [_row(chain) for chain in found.chains]
    if not rows:
        return f"D of {x.name} feeds no instruction of {x.architecture.title} without moves between lanes\n"
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["  ".join([cell.ljust(width) for cell, width in zip(row, [*widths, 0])]).rstrip() for row in rows]
    return f"{x.architecture.title}: what D of {x.name} feeds without moves between lanes\n" + "\n".join(lines) + "\n"


def _row(chain: Chain) -> tuple[str, ...]:
    order = ""
    if chain.relabel is not None:
        order = f"k {chain.relabel_pattern or ' '.join(ranges(chain.relabel))}"
    return chain.y.name, chain.use, chain.kind, f"{chain.x_count}:{chain.y_count}", order


def json_object(found: Feeds) -> dict[str, Any]:
    """The same as plain data."""
    return {"architecture": found.x.arch, "x": found.x.name, "chains": [identity(chain) for chain in found.chains]}
