"""ldmatrix and stmatrix: which of them fill an operand of an mma, and the row address that each lane gives.

Both are compared byte by byte. An operand's registers hold bytes of rows in memory; a load's registers hold bytes of
the rows whose addresses its lanes give. A load fills registers r, r + 1 ... if one set of row addresses explains every
byte of them.
"""

from __future__ import annotations

from collections import namedtuple

from ..catalog import entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Instruction
    from .units import Tile

__all__ = ["MatrixLoad", "matrix_loads"]


class MatrixLoad(namedtuple("MatrixLoad", "name first_register registers rows")):
    """One ldmatrix (for D: stmatrix).

    name: the PTX name; first_register, registers: those of the operand that it fills; rows: for each lane that gives an
    address, (row in memory, byte in the row).
    """

    __slots__ = ()
    name: str
    first_register: int
    registers: int
    rows: tuple[tuple[int, int], ...]


def matrix_loads(tile: Tile) -> tuple[MatrixLoad, ...]:
    """The fewest ldmatrix (stmatrix for D) that fill a warp's operand; empty if none does.

    >>> import mmacalc
    >>> from mmacalc.memory_access.units import tile
    >>> a = mmacalc.instruction("a100", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").operand("A")
    >>> [(load.name.split(".")[4], load.registers) for load in matrix_loads(tile(a, "row", 64, None))]
    [('x4', 4)]
    """
    operand = tile.operand
    if not operand.instruction.architecture.family.ptx or "warp" in operand.layout.places:
        return ()
    moves = "stmatrix" if operand.name == "D" else "ldmatrix"
    candidates = [inst for inst in _moving(operand.instruction.arch, moves)]
    want = _operand_bytes(tile)
    count = 1 + max([place // 4 for _, place in want])
    chosen: list[MatrixLoad] = []
    while (first := sum(load.registers for load in chosen)) < count:
        fits = [load for inst in candidates if (load := _fit(inst, want, first, count))]
        if not fits:
            return ()
        chosen.append(max(fits, key=lambda load: load.registers))
    return tuple(chosen)


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


def _fit(
    inst: Instruction, want: dict[tuple[int, int], tuple[int, int]], first: int, count: int
) -> MatrixLoad | None:
    """The load with the row addresses that fill registers from `first` on, if there are such."""
    matrix = inst.operand("A" if inst.moves == "stmatrix" else "D")
    registers = matrix.registers
    if first + registers > count:
        return None
    rows: dict[int, tuple[int, int]] = {}
    width = matrix.placement.bits // 8
    blocks, height, columns = matrix.shape
    for block in range(blocks):
        for i in range(height):
            for j in range(columns):
                (place,) = matrix.locate(block=block, i=i, j=j)
                for byte in range(width):
                    at = want.get((place.lane, 4 * (first + place.register) + place.lsb // 8 + byte))
                    if at is None:
                        return None
                    start = (at[0], at[1] - j * width - byte)
                    if rows.setdefault(block * height + i, start) != start:
                        return None
    return MatrixLoad(inst.name, first, registers, tuple(rows.values()))
