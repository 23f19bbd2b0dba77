"""How the elements of a chain lie in LDS (shared memory) between the stores and the loads, and what those cost there.

The tile lies in rows of one coordinate, the other behind each other: the element (row r, column c) at r (columns size +
padding) + c size. Which lane stores and loads it say the two layouts. The padding is the smallest under which neither
the stores nor the loads conflict, or else the one with the fewest conflicts; the cost is that of `mmacalc.memory`.
"""

from __future__ import annotations

from ..base.errors import Error
from ..base.records import TupleRecord, json_keys
from ..memory_access.banks import bank_access

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model import Operand
    from .tiles import Places

__all__ = ["LdsRows", "Side", "rows_in_lds"]

MOST_PAD = 256  # bytes: addresses modulo all banks repeat beyond


@json_keys(
    "along: the coordinate along a row: k or f",
    "row_bytes: without padding",
    "pad_bytes",
    "rows",
    "cycles: of all stores and loads in LDS",
    "conflicts: those above the least",
)
class LdsRows(TupleRecord):
    """Rows in LDS. along: the coordinate along a row; row_bytes: without padding; pad_bytes: behind each row; rows: how
    many; cycles: of all stores and loads; conflicts: the cycles above the least."""

    along: str
    row_bytes: int
    pad_bytes: int
    rows: int
    cycles: int
    conflicts: int


class Side(TupleRecord):
    """The stores, or the loads: "write" or "read"; the operand whose lanes do it; the lanes and items of the elements
    along a row and from row to row; the elements of one access."""

    access: str
    operand: Operand
    along: Places
    across: Places
    run: int


def rows_in_lds(along: str, sides: tuple[Side, Side], size: int) -> LdsRows | None:
    """The padding and the cost; None where lanes hold copies, or the phases of LDS are not published.

    Args:
        along: k or f; size: bytes of an element.
    """
    tables = [_accesses(side) for side in sides]
    if any(len(lanes) != side.operand.lanes for side, table in zip(sides, tables) for lanes in table):
        return None
    step = max(side.run * size for side in sides)
    row_bytes, rows = len(sides[0].along) * size, len(sides[0].across)
    best = None
    for pad in range(0, MOST_PAD, max(4, step)):
        try:
            cycles, conflicts = _cost(sides, tables, row_bytes + pad, size)
        except Error:
            return None
        found = LdsRows(along, row_bytes, pad, rows, cycles, conflicts)
        if best is None or conflicts < best.conflicts:
            best = found
        if not conflicts:
            break
    return best


def _accesses(side: Side) -> list[dict[int, tuple[int, int]]]:
    """For each access of the lanes: (row, column) of each lane's first element."""
    table: dict[int, dict[int, tuple[int, int]]] = {}
    for column in range(0, len(side.along), side.run):
        lane, item = side.along[column]
        for row, (more, further) in enumerate(side.across):
            table.setdefault(item + further, {})[lane + more] = (row, column)
    return list(table.values())


def _cost(
    sides: tuple[Side, Side], tables: list[list[dict[int, tuple[int, int]]]], stride: int, size: int
) -> tuple[int, int]:
    """Cycles and conflicts of all accesses.

    Raises:
        Error: the phases of an access are not published.
    """
    found = [one for side, table in zip(sides, tables) for one in _costs(side, table, stride, size)]
    cycles = sum(cost for cost, _ in found)
    return cycles, cycles - sum(ideal for _, ideal in found)


def _costs(side: Side, table: list[dict[int, tuple[int, int]]], stride: int, size: int) -> Iterator[tuple[int, int]]:
    wave, architecture = side.operand.wave, side.operand.instruction.architecture
    for lanes in table:
        places = [lanes[lane] for lane in range(side.operand.lanes)]
        addresses = [row * stride + column * size for row, column in places]
        for first in range(0, len(addresses), wave):
            cost = bank_access(architecture, addresses[first : first + wave], side.run * size, side.access)
            yield cost.cycles, cost.ideal
