"""A tile of A or B in LDS (NVIDIA: shared memory): how it is filled from memory, and where its bytes lie.

The tile keeps the order of memory, a row of memory behind the other, unless it has to be turned over while it is
filled. A swizzle or padding keeps the accesses free of bank conflicts:

    static __device__ int a_place(int row, int byte) {
        const int at = row * 64 + byte;
        return at ^ ((at >> 3) & 0x30);  // Swizzle<2,4,3>
    }
"""

from __future__ import annotations

import math

from ..base.errors import Error
from ..base.records import TupleRecord
from ..memory_access.answer import memory
from ..memory_access.swizzles import MODES
from .fragments import group_size
from .ldmatrix import matrices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..memory_access.swizzles import Swizzle
    from ..model import Instruction, Operand
    from .fragments import Fragment

__all__ = [
    "BANKED_BYTES", "VECTOR", "WORDS", "Side", "Staged", "bytes_of", "compression", "matrix_swizzle", "staged",
    "whole_accesses",
]  # fmt: skip

WORDS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "u32x2", 16: "u32x4"}
VECTOR = 16  # bytes of a thread's access
BANKED_BYTES = 128  # of shared memory that one cycle serves: 32 banks of 4 bytes


def bytes_of(count: str, bits: int) -> str:
    """The bytes of a number of elements that lie one behind the other, as C text.

    >>> bytes_of("ld", 16), bytes_of("ld", 8), bytes_of("ld", 6), bytes_of("ld", 4)
    ('ld * 2', 'ld', 'ld * 3 / 4', 'ld / 2')
    """
    together = math.lcm(bits, 8)  # bits of the fewest elements that are whole bytes
    size, count_of = together // 8, together // bits
    return f"{count}{f' * {size}' * (size > 1)}{f' / {count_of}' * (count_of > 1)}"


def whole_accesses(bits: int) -> int:
    """The fewest elements that fill whole accesses of 16 bytes.

    >>> whole_accesses(8), whole_accesses(6), whole_accesses(4)
    (16, 64, 32)
    """
    return math.lcm(bits, VECTOR * 8) // bits


class Staged(TupleRecord):
    """A tile in LDS.

    name: A or B; element, bits: the C type of its elements in memory, and their width; rows, row_bytes: rows of memory
    and the bytes of one; turned: whether memory has the columns of the tile one behind the other; pad: bytes behind
    each row; swizzle: of the bytes; panel: bytes of a row after which the next panel of all rows begins, 0 for none;
    fill: the most bytes of an access that fills the tile; spread: a second swizzle, of the same bytes; gaps: as tensor
    copies of gfx1250 leave them, after how many bytes of the tile one comes, for rows of any length, and its bytes.
    """

    name: str
    element: str
    bits: int
    rows: int
    row_bytes: int
    turned: bool = False
    pad: int = 0
    swizzle: Swizzle = MODES["none"]
    panel: int = 0
    fill: int = 16
    spread: Swizzle = MODES["none"]
    gaps: tuple[int, int] = (0, 0)

    @property
    def bytes(self) -> int:
        """The size of the tile."""
        every, pad = self.gaps
        return self.rows * (self.row_bytes + self.pad) + (self.filled // every * pad if pad else 0)

    def address(self, byte: int) -> int:
        """Where a byte of a tile without panels lies."""
        every, pad = self.gaps
        return (self.swizzle.address(byte) ^ byte ^ self.spread.address(byte)) + (byte // every * pad if pad else 0)

    @property
    def filled(self) -> int:
        """The bytes of the tile without padding."""
        return self.rows * self.row_bytes

    @property
    def width(self) -> int:
        """The bytes of one access that fills the tile."""
        return min(self.fill, self.row_bytes & -self.row_bytes)

    def place(self, row: str, byte: str) -> str:
        """The address of a byte of the tile, as C text."""
        letter = self.name.lower()
        return f"{letter}_tile + {letter}_place({row}, {byte})"

    def function(self) -> Iterator[str]:
        """The function that says where a byte lies."""
        letter, (bits, base, shift) = self.name.lower(), self.swizzle
        yield f"// Where a byte of {self.name}'s tile lies: {self._layout_words()}."
        yield f"static __device__ int {letter}_place(int row, int byte) {{"
        if self.panel:
            panel = f"byte / {self.panel} * {self.rows * self.panel}"
            yield f"    const int at = {panel} + row * {self.panel} + byte % {self.panel};"
        else:
            yield f"    const int at = row * {self.row_bytes + self.pad} + byte;"
        mask = ((1 << bits) - 1) << base
        yield f"    return at ^ ((at >> {shift}) & {mask:#x});" if bits else "    return at;"
        yield "}"
        yield ""

    def _layout_words(self) -> str:
        if self.swizzle.bits:
            return f"Swizzle<{','.join(map(str, self.swizzle))}> of byte addresses, against bank conflicts"
        return f"rows are {self.pad} bytes apart, against bank conflicts" if self.pad else "row by row"

    def declaration(self, alignment: int = 16) -> str:
        """The array in LDS."""
        return f"__shared__ __attribute__((aligned({alignment}))) unsigned char {self.name.lower()}_tile[{self.bytes}];"

    def filling(self, thread: str, threads: int) -> Iterator[str]:
        """The loop that fills the tile, an access of each thread at a time."""
        name, ld = self.name, f"ld{self.name.lower()}"
        if self.turned:
            size = self.bits // 8
            columns = self.row_bytes // size
            place = self.place(f"at % {self.rows}", f"at / {self.rows}" + (f" * {size}" if size > 1 else ""))
            yield f"// {name} lies the other way round in memory: it is turned over, element by element."
            yield f"for (int at = {thread}; at < {self.rows} * {columns}; at += {threads})"
            yield f"    *({self.element} *)({place}) = {name}[at / {self.rows} * {ld} + at % {self.rows}];"
            return
        width, count = self.width, self.row_bytes // self.width
        row, part = (f"at / {count}", f"at % {count}") if count > 1 else ("at", "0")
        byte = f"{part} * {width}" if width > 1 and count > 1 else part
        start = f"{row} * {ld}" if self.bits >= 8 else f"{row} * {ld} * {self.bits} / 8"
        yield f"// {name}'s tile: {self.rows} rows of {self.row_bytes} bytes, {width} at a time."
        yield f"for (int at = {thread}; at < {self.rows} * {count}; at += {threads})"
        yield f"    *({WORDS[width]} *)({self.place(row, byte)}) ="
        yield f"        *(const {WORDS[width]} *)((const unsigned char *)({name} + {start}) + {byte});"


def compression(inst: Instruction, side: str) -> int:
    """The k that an element of an operand stands for: 2 of the A of sparse instructions."""
    return 2 if inst.sparse and side == "A" else 1


class Side(TupleRecord):
    """A or B in a GEMM: its extent in a workgroup's tile and the k of a stage, and how it goes to LDS.

    element, bits: the C type of an element in memory, and its width. along_k: whether memory has k contiguous, and so
    has the tile; else the tile has it only if it is `turned` over on the way, and otherwise its rows are k, as in
    memory, and what reads them transposes. swizzle, panel, spread, gaps: as of `Staged`. packed: the bits of an element
    of which 16 are padded to 16 bytes on the way, 0 for others.
    """

    name: str
    extent: int
    depth: int
    element: str
    bits: int
    along_k: bool
    turned: bool
    swizzle: Swizzle = MODES["none"]
    panel: int = 0
    spread: Swizzle = MODES["none"]
    gaps: tuple[int, int] = (0, 0)
    packed: int = 0

    @property
    def bytes(self) -> int:
        """The bytes of an element."""
        return self.bits // 8

    @property
    def rows_of_k(self) -> bool:
        """Whether the tile's rows have k contiguous."""
        return self.along_k or self.turned

    @property
    def tile(self) -> Staged:
        """The tile in LDS."""
        rows, columns = (self.extent, self.depth) if self.rows_of_k else (self.depth, self.extent)
        return Staged(
            self.name, self.element, self.bits, rows, columns * self.bits // 8, swizzle=self.swizzle, panel=self.panel,
            spread=self.spread, gaps=self.gaps,
        )  # fmt: skip


def staged(operand: Operand, found: Fragment, order: str, element: str) -> Staged:
    """The tile of one operand in LDS, under the swizzle or padding that frees it of bank conflicts.

    Raises:
        Error: a row of memory is not a whole number of bytes, or elements lie where no access reaches them.
    """
    bits = operand.placement.slot_bits
    blocks = operand.shape[0]
    across, along = (found.rows, found.columns) if order == "row" else (found.columns, found.rows)
    if along * bits % 8:
        raise Error(f"a row of {operand.name} of {operand.instruction.name} is {along * bits} bits, no whole bytes")
    tile = Staged(operand.name, element, bits, blocks * across, along * bits // 8)
    contained = operand.placement.bits != bits  # narrow types that lie in bytes, of which `memory` knows the bits
    if operand.instruction.architecture.family.matrix_moves and (contained or matrices(found, order)):
        return tile._replace(swizzle=matrix_swizzle(tile.row_bytes))
    if tile.width < 4 or (group_size(operand) > 1 and order == "col"):
        return tile
    # Where lanes read 8 bytes of each row, no permutation of 16 bytes frees them: then the tile is filled 8 at a time.
    for fill in (width for width in (16, 8, 4) if width <= tile.width):
        repair = memory(operand, order, fill=fill).search()
        if repair.swizzle is not None:
            return tile._replace(swizzle=repair.swizzle, fill=fill)
        if repair.pad_bytes is not None:
            return tile._replace(pad=repair.pad_bytes, fill=fill)
    return tile


def matrix_swizzle(row_bytes: int) -> Swizzle:
    """The smallest swizzle under which the eight rows of an 8x8 matrix of ldmatrix lie in different banks.

    >>> matrix_swizzle(32), matrix_swizzle(256)
    (Swizzle(bits=1, base=4, shift=3), Swizzle(bits=3, base=4, shift=4))
    """
    if row_bytes % 16:
        return MODES["none"]
    for bits in range(4):
        for shift in range(3, 8):
            swizzle = MODES["none"]._replace(bits=bits, shift=shift)
            addresses = [swizzle.address(row * row_bytes) for row in range(8)]
            if len({address % BANKED_BYTES for address in addresses}) == 8 and shift >= bits:
                return swizzle
    return MODES["none"]
