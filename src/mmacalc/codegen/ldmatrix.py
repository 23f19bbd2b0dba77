"""ldmatrix: which of them fill an operand's registers from a tile in shared memory, and the row each lane names.

A matrix is eight rows of 16 bytes. Lane 8 r + s names row s of matrix r; then register r of lane (i0 t) holds word t
of row i0 of that matrix. So the registers of mma's operands, whose patterns end in lane (i0 t), item (... e) with e
elements of 32 bits, are matrices; .trans turns 8x8 matrices of 16-bit elements over. Elements of 8 bits are turned over
in pairs, as if a pair were one element of 16 bits: see `Pairs`.

Source: PTX ISA 9.1, section 9.7.14.5.15.
"""

from __future__ import annotations

from ..base.records import TupleRecord
from ..catalog import entry
from .fragments import total
from .ptx import braced, operands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .fragments import Fragment
    from .staging import Staged

__all__ = ["Blocks", "Matrices", "Pairs", "blocks", "load_name", "matrices", "pairs"]


class Matrices(TupleRecord):
    """The matrices of an operand, one for each register: where their first rows begin.

    transposed: whether ldmatrix needs .trans; rows, bytes: for each matrix the row of memory and the byte in it.
    """

    transposed: bool
    rows: tuple[int, ...]
    bytes: tuple[int, ...]

    @property
    def name(self) -> str:
        """The instruction that loads them all."""
        return f"ldmatrix.sync.aligned.m8n8.x{len(self.rows)}{'.trans' * self.transposed}.shared.b16"

    def row(self, lane: str = "lane") -> str:
        """The row of memory that a lane names, as C text."""
        return total([(1, f"{lane} % 8"), *_digits(self.rows, lane)])

    def byte(self, lane: str = "lane") -> str:
        """The byte in that row."""
        return total(_digits(self.bytes, lane))

    def load(self, tile: Staged) -> Iterator[str]:
        """The instruction, as inline PTX, for the operand of that tile."""
        letter = tile.name.lower()
        count = len(self.rows)
        outputs = [f'"=r"({letter}.word[{number}])' for number in range(count)]
        yield f"const int {letter}_row = {self.row()}, {letter}_byte = {self.byte()};  // of the row this lane names"
        yield f'asm volatile("{self.name} {braced(0, count)}, [%{count}];"'
        address = tile.place(f"{letter}_row", f"{letter}_byte")
        yield from operands(outputs, [f'"r"(shared_address({address}))'], ' : "memory"')


class Pairs(TupleRecord):
    """How ldmatrix.trans and byte permutations fill registers with 8-bit elements whose rows in memory are k.

    Two matrices have 16 k of 16 rows of A (columns of B). Of each a lane gets two k of two neighbours m and m + 1, so
    that one permutation of both registers is a register of the operand for m, another is one for m + 1. Hence the first
    eight rows of 16 are the even ones, the other eight the odd ones (of an instruction with eight rows: those of the
    next tile), and D's rows lie accordingly.

    Which k of 16 each lane names (`row`) is chosen so that the eight rows of a matrix are different ones modulo 8, for
    the swizzles of `matrix_swizzle`: lanes with t >= 2 get the higher pair of their four k first (`even`, `odd`).

    tiles: of the instruction that have 16 rows together; registers: for each 16 k, those of the even rows and of the
    odd ones, each with its tile.
    """

    tiles: int
    registers: tuple[tuple[tuple[int, int], tuple[int, int]], ...]

    @property
    def each(self) -> int:
        """The tiles that the loads of one turn fill."""
        return self.tiles * (2 if len(self.registers) == 1 else 1)

    @property
    def row(self) -> str:
        """The k that a lane names, as C text."""
        text = "lane % 2 + 4 * (lane / 2 % 4) + 2 * (lane / 4 % 2 ^ lane / 8 % 2)"
        return text + (" + 16 * (lane / 16)" if len(self.registers) > 1 else "")

    @property
    def column(self) -> str:
        """What the lane adds to the byte of a tile's first row; "" for nothing."""
        return "" if len(self.registers) > 1 else " + 16 * (lane / 16)"

    def moves(self) -> Iterator[list[tuple[int, int, int]]]:
        """For each ldmatrix.x4, in its turn: the (tile, register) that is made of two of its words, and the first."""
        count = len(self.registers)
        for first in range(0, count, 2):
            every = [(at, 0) for at in self.registers[first : first + 2]]
            every = every if count > 1 else [(self.registers[0], 0), (self.registers[0], self.tiles)]
            yield [(more + tile, number, 2 * at) for at, (both, more) in enumerate(every) for tile, number in both]


class Blocks(TupleRecord):
    """How ldmatrix.m16n16.trans fills registers with elements of a byte (or padded to one) whose rows in memory are k.

    One load has 32 rows of k, each named by the lane of that number, of 16 rows of A (columns of B).

    registers: for each load the (tile, register) that each of its four words is: of an instruction with eight columns
    16 of them are two tiles.
    """

    registers: tuple[tuple[tuple[int, int], ...], ...]

    @property
    def tiles(self) -> int:
        """The tiles that a load fills."""
        return 1 + max(tile for every in self.registers for tile, _ in every)


def blocks(found: Fragment) -> Blocks | None:
    """How an operand in bytes is filled from memory whose rows are k by ldmatrix.m16n16; None where it is not.

    >>> import mmacalc
    >>> from mmacalc.codegen.fragments import fragment
    >>> inst = mmacalc.instruction("sm_120a", "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e2m3.f32")
    >>> blocks(fragment(inst.operand("A")))
    Blocks(registers=(((0, 0), (0, 1), (0, 2), (0, 3)),))
    >>> blocks(fragment(inst.operand("B")))
    Blocks(registers=(((0, 0), (1, 0), (0, 1), (1, 1)),))
    """
    operand = found.operand
    given = matrices(found, "row" if operand.name == "A" else "col")
    if (
        given is None
        or operand.placement.slot_bits != 8
        or load_name(6, True) not in entry(operand.instruction.arch).names
    ):
        return None
    number_of = {place: number for number, place in enumerate(zip(given.rows, given.bytes))}
    every = sorted(set(given.bytes))
    if len(every) % 2 or every != list(range(0, 16 * len(every), 16)):
        return None
    halves = [(0, 0), (0, 8)] if 8 in given.rows else [(0, 0), (1, 0)]  # the tile and its row of each eight rows
    if halves[1][0] and operand.format.bits == 8:
        return None  # registers of a tile lie apart, and have to be copied; pairs take no more, and stores have four
    return Blocks(
        tuple(
            tuple((tile, number_of[row, k]) for k in every[first : first + 2] for tile, row in halves)
            for first in range(0, len(every), 2)
        )
    )


def load_name(bits: int, turned: bool) -> str:
    """The ldmatrix of four registers that loads elements of bits: of 16 (or pairs of 8), or (turned over) of 8; of
    fewer, 16 of which are padded to 16 bytes, to bytes.

    >>> load_name(16, True), load_name(6, False)
    ('ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16', 'ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b6x16_p32')
    """
    padded = {4: "b8x16.b4x16_p64", 6: "b8x16.b6x16_p32"}
    if bits == 16:
        return f"ldmatrix.sync.aligned.m8n8.x4{'.trans' * turned}.shared.b16"
    shape = "m16n16.x2.trans" if turned else "m8n16.x4"
    return f"ldmatrix.sync.aligned.{shape}.shared.{padded.get(bits, 'b8')}"


def pairs(found: Fragment) -> Pairs | None:
    """How an operand of 8-bit elements is filled from memory whose rows are k; None for any other operand.

    >>> import mmacalc
    >>> from mmacalc.codegen.fragments import fragment
    >>> inst = mmacalc.instruction("a100", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
    >>> pairs(fragment(inst.operand("A")))
    Pairs(tiles=1, registers=(((0, 0), (0, 1)), ((0, 2), (0, 3))))
    >>> pairs(fragment(inst.operand("B")))
    Pairs(tiles=2, registers=(((0, 0), (1, 0)), ((0, 1), (1, 1))))
    """
    operand = found.operand
    given = matrices(found, "row" if operand.name == "A" else "col")
    if given is None or operand.placement.slot_bits != 8 or (operand.instruction.sparse and operand.name == "A"):
        return None
    number_of = {place: number for number, place in enumerate(zip(given.rows, given.bytes))}
    tiles = 1 if 8 in given.rows else 2
    every = sorted(set(given.bytes))
    if every != list(range(0, 16 * len(every), 16)):
        return None
    odd = (0, 8) if tiles == 1 else (1, 0)  # the tile and the row of a register of odd rows
    return Pairs(tiles, tuple([((0, number_of[0, k]), (odd[0], number_of[odd[1], k])) for k in every]))


def _digits(values: Sequence[int], lane: str) -> list[tuple[int, str]]:
    """Terms of the lane that give matrix r = lane / 8 % count its value, one for each bit of r."""
    bits = (len(values) - 1).bit_length()
    return [(values[1 << bit], f"({lane} / {8 << bit} % 2)") for bit in range(bits)]


def matrices(found: Fragment, order: str) -> Matrices | None:
    """The matrices that fill an operand from memory of that order; None if none do, or the target has no ldmatrix.

    >>> import mmacalc
    >>> from mmacalc.codegen.fragments import fragment
    >>> a = mmacalc.instruction("a100", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").operand("A")
    >>> matrices(fragment(a), "row")
    Matrices(transposed=False, rows=(0, 8, 0, 8), bytes=(0, 0, 16, 16))
    >>> matrices(fragment(a), "col")
    Matrices(transposed=True, rows=(0, 0, 8, 8), bytes=(0, 16, 0, 16))
    """
    operand, bits = found.operand, found.operand.placement.slot_bits
    count, each = operand.registers, 32 // bits
    if bits > 32 or count not in (1, 2, 4) or operand.instruction.blocks > 1 or not _has(operand.instruction.arch):
        return None
    lanes = {(digit.divisor, digit.size): digit for digit in found.digits}
    if set(lanes) != {(1, 4), (4, 8)} or len(found.items) != count * each:
        return None
    word, line = lanes[1, 4], lanes[4, 8]
    natural = "row" if word.column else "col"
    along, across = (3, 2) if natural == "row" else (2, 3)
    if (word[along + 2], word[across + 2], line[across + 2], line[along + 2]) != (each, 0, 1, 0):
        return None
    firsts = [found.items[number * each] for number in range(count)]
    expected = [first[along] + more for first in firsts for more in range(each)]
    if [item[along] for item in found.items] != expected:
        return None
    lines, words = [first[across] for first in firsts], [first[along] for first in firsts]
    if order == natural:
        return _affine(False, lines, [place * bits // 8 for place in words])
    return _affine(True, words, [place * 2 for place in lines]) if bits == 16 else None


def _affine(transposed: bool, rows: Sequence[int], places: Sequence[int]) -> Matrices | None:
    for values in (rows, places):
        for number, value in enumerate(values):
            if value != sum(values[1 << bit] for bit in range(2) if number >> bit & 1):
                return None
    return Matrices(transposed, tuple(rows), tuple(places))


def _has(arch: str) -> bool:
    return "ldmatrix.sync.aligned.m8n8.x4.shared.b16" in entry(arch).names
