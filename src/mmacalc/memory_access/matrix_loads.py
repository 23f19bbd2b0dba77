"""ldmatrix and stmatrix: which of them fill an operand of an mma, and the row address that each lane gives.

Both are compared byte by byte. An operand's registers hold bytes of rows in memory; a load's registers hold bytes of
the rows whose addresses its lanes give. A load fills registers r, r + 1 ... if one set of row addresses explains every
byte of them.
"""

from __future__ import annotations

from ..base.records import Cache, TupleRecord, json_keys
from ..catalog import entry
from .accesses import PLAIN, Accesses, Placing
from .banks import BankAccess, bank_access

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Instruction, Location, Operand
    from .units import Tile

__all__ = ["MatrixLoad", "matrix_loads"]

ROW_BYTES = 16  # of a matrix: eight elements of 16 bits, or sixteen of 8
_elements = Cache(64)  # of the matrices of a load, by its name


@json_keys(
    "name",
    "first_register",
    "registers",
    "rows",
    "cycles=cost.cycles",
    "conflicts=cost.conflicts",
)
class MatrixLoad(TupleRecord):
    """One ldmatrix (for D: stmatrix).

    name: the PTX name; first_register, registers: those of the operand that it fills; rows: for each lane that gives an
    address, (row in memory, byte in the row); cost: what the access costs in shared memory.
    """

    name: str
    first_register: int
    registers: int
    rows: tuple[tuple[int, int], ...]
    cost: BankAccess


def matrix_loads(tile: Tile, placing: Placing = PLAIN) -> tuple[MatrixLoad, ...]:
    """The fewest ldmatrix (stmatrix for D) that fill a warp's operand; empty if none does.

    >>> import mmacalc
    >>> from mmacalc.memory_access.units import tile
    >>> a = mmacalc.instruction("a100", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").operand("A")
    >>> [(load.name.split(".")[4], load.registers) for load in matrix_loads(tile(a, "row", 64, None))]
    [('x4', 4)]
    """
    operand = tile.operand
    if not operand.instruction.architecture.family.matrix_moves or "warp" in operand.layout.places:
        return ()
    moves = "stmatrix" if operand.name == "D" else "ldmatrix"
    candidates = _moving(operand.instruction.arch, moves)
    want = _operand_bytes(tile)
    count = 1 + max([place // 4 for _, place in want])
    chosen: list[MatrixLoad] = []
    while (first := sum(load.registers for load in chosen)) < count:
        fits = [(inst, rows) for inst in candidates if (rows := _rows(inst, want, first, count))]
        if not fits:
            return ()
        inst, rows = max(fits, key=lambda fit: len(fit[1]))
        registers = inst.operand(inst.operands[0]).registers
        chosen.append(MatrixLoad(inst.name, first, registers, rows, _cost(rows, tile, placing)))
    return tuple(chosen)


def _cost(rows: tuple[tuple[int, int], ...], tile: Tile, placing: Placing) -> BankAccess:
    """The cost of the row addresses: a phase for each matrix of eight rows of 16 bytes."""
    ((addresses,)) = Accesses(ROW_BYTES, ROW_BYTES, (rows,)).linear(tile, placing)
    return bank_access(tile.operand.instruction.architecture, addresses, ROW_BYTES, "ldmatrix")


def _moving(arch: str, moves: str) -> list[Instruction]:
    """The ldmatrix or stmatrix of a target that do not unpack their elements."""
    listed = entry(arch)
    return [listed.instruction(name) for name in listed.names if name.startswith(moves) and "b8x16" not in name]


def _operand_bytes(tile: Tile) -> dict[tuple[int, int], tuple[int, int]]:
    """For each lane and byte of its registers: (row in memory, byte in the row)."""
    return {
        (lane, bit // 8 + more): (row, place // 8 + more)
        for lane, units in enumerate(tile.lanes)
        for bit, row, place in units
        if bit % 8 == 0
        for more in range(max(1, tile.unit_bits // 8))
    }


def _located(matrix: Operand) -> tuple[tuple[tuple[int, int, int], Location], ...]:
    """Every element of the matrices of a load (block, i, j), and the one place that it has."""
    blocks, rows, columns = matrix.shape
    every = [(block, i, j) for block in range(blocks) for i in range(rows) for j in range(columns)]
    return tuple([(at, matrix.locate(block=at[0], i=at[1], j=at[2])[0]) for at in every])


def _rows(
    inst: Instruction, want: dict[tuple[int, int], tuple[int, int]], first: int, count: int
) -> tuple[tuple[int, int], ...]:
    """The row addresses under which a load fills registers from `first` on; empty if there are none."""
    matrix = inst.operand(inst.operands[0])
    if first + matrix.registers > count:
        return ()
    rows: dict[tuple[int, int], tuple[int, int]] = {}
    width = matrix.placement.bits // 8
    for (block, i, j), place in _elements.get(inst.name, lambda: _located(matrix)):
        for byte in range(width):
            at = want.get((place.lane, 4 * (first + place.register) + place.lsb // 8 + byte))
            start = at and (at[0], at[1] - j * width - byte)
            if start is None or rows.setdefault((block, i), start) != start:
                return ()
    return tuple(rows.values())
