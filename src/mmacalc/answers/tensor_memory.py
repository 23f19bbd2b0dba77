"""Answers about Tensor Memory: where an element is, what a cell holds, whole tables, a pattern, an instruction."""

from __future__ import annotations

from ..families.tensor_memory import LANES
from ..families.tensor_memory_moves import LOADS, epilogue
from ..families.tensor_memory_shapes import TYPES, allowed_shapes, transposes
from ..records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..layout import Layout
    from ..model import Element, Location, Operand
    from ..model.tensor_memory import TensorMemoryInstruction, TensorMemoryMove

__all__ = [
    "CellContents", "CellTable", "Detail", "ElementCells", "ElementTable", "Move", "MovedCell", "Pattern", "Reading",
    "cell_contents", "cell_table", "detail", "element_cells", "element_table", "readings",
]  # fmt: skip


class ElementCells(Record):
    """Where an element is: its cells, and after a load its threads and registers (None if no load was named)."""

    operand: Operand
    row: int
    col: int
    locations: tuple[Any, ...]
    loaded: tuple[Any, ...] | None


class CellContents(Record):
    """What one cell holds."""

    operand: Operand
    cta: int
    lane: int
    column: int
    elements: tuple[Element, ...]


class ElementTable(Record):
    """The places of every element: by row and column, the locations."""

    operand: Operand
    places: tuple[tuple[tuple[Any, ...], ...], ...]


class CellTable(Record):
    """The elements of every cell of one CTA: by lane and column."""

    operand: Operand
    cta: int
    cells: tuple[tuple[tuple[Element, ...], ...], ...]


class Reading(Record):
    """How one shape of tcgen05.ld reads D: the load's .xN, the loads of each warp, the registers of a thread for all
    of D, how many lanes of a load hold elements, and how many neighbours along j a thread has in one load."""

    shape: str
    count: int
    loads: int
    registers: int
    lanes_used: str
    run: int
    pattern: str


class Pattern(Record):
    """An operand's layout, after a load as well, and for D the shapes of tcgen05.ld that read it."""

    operand: Operand
    loaded: Operand | None


class Detail(Record):
    """A tcgen05.mma: M, N and K that it may have, its types (none where they are not published), what it transposes."""

    instruction: TensorMemoryInstruction
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    transposes: str


class Move(Record):
    """A tcgen05.ld, st, cp or the like."""

    instruction: TensorMemoryMove


class MovedCell(Record):
    """The threads and registers of a cell in a tcgen05.ld or st."""

    instruction: TensorMemoryMove
    lane: int
    column: int
    locations: tuple[Location, ...]


def element_cells(operand: Operand, i: int, j: int, k: int, loaded: Operand | None = None) -> ElementCells:
    """Where an element is.

    Raises:
        Error: it is outside the operand.
    """
    coordinates = {"i": i, "j": j, "k": k}
    row, col = (coordinates[axis] for axis in operand.axes[1:])
    found = operand.locate(**coordinates)
    return ElementCells(operand, row, col, found, None if loaded is None else loaded.locate(i=i, j=j))


def cell_contents(operand: Operand, lane: int, column: int, cta: int = 0) -> CellContents:
    """What a cell holds.

    Raises:
        Error: Tensor Memory has no such cell.
    """
    return CellContents(operand, cta, lane, column, operand.contents(lane=lane, column=column, cta=cta))


def element_table(operand: Operand) -> ElementTable:
    """The places of every element."""
    _, first, second = operand.axes
    _, rows, columns = operand.shape
    places = [[operand.locate(**{first: row, second: col}) for col in range(columns)] for row in range(rows)]
    return ElementTable(operand, tuple(map(tuple, places)))


def cell_table(operand: Operand, cta: int = 0) -> CellTable:
    """The elements of every cell that the operand takes.

    Raises:
        Error: there is no such CTA.
    """
    cells = [
        [operand.contents(lane=lane, column=column, cta=cta) for column in range(operand.registers)]
        for lane in range(LANES)
    ]
    return CellTable(operand, cta, tuple(map(tuple, cells)))


def detail(instruction: TensorMemoryInstruction) -> Detail:
    """The shapes and types of an instruction."""
    form = instruction.form
    m, n = allowed_shapes(form)
    k = dict.fromkeys(depth for rows in m for depth in instruction.depths_with(rows))
    inputs, outputs = TYPES.get(form.kind, ((), ()))
    transposed = transposes(form.kind, form.cta_group) if inputs else ""
    return Detail(instruction, m, n, tuple(k), inputs, outputs, transposed)


def readings(operand: Operand) -> tuple[Reading, ...]:
    """The shapes of tcgen05.ld that read D, each with the largest .xN that D's columns are a multiple of.

    >>> import mmacalc
    >>> d = mmacalc.instruction("B200", "tcgen05.mma.cta_group::1.kind::f16").operand("D", m=64, n=128)
    >>> [(reading.shape, reading.lanes_used, reading.run) for reading in readings(d)][0]
    ('32x32b', '16 of 32', 128)
    """
    found = []
    half_rows = "half" in operand.layout.selectors
    for shape, (*_, sizes, each) in LOADS.items():
        per_one = 2 if shape == "16x32bx2" else each * 32 // (32 if shape == "32x32b" else 16)
        counts = [
            1 << power for power in range(8) if operand.registers % (per_one << power) == 0 and each << power <= 128
        ]
        if not counts:
            continue
        count = counts[-1]
        layout = epilogue(operand.layout, shape, count)
        wide = "i" in sizes and sizes["i"] == 32
        loads = layout.spans["load"] // (2 if half_rows and not wide else 1)
        lanes = "16 of 32" if half_rows and wide else "all"
        found.append(Reading(shape, count, loads, loads * count * each, lanes, _run(layout), layout.pattern))
    return tuple(found)


def _run(layout: Layout) -> int:
    """How many neighbours along j are in neighbouring registers of one thread."""
    tables = layout.axis_tables()["j"]
    run = 1
    while (
        run < len(tables["item"])
        and tables["item"][run] == run
        and not any(tables[place][run] for place in ("lane", "warp", "load"))
    ):
        run += 1
    return run
