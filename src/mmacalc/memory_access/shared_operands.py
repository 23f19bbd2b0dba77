"""Which byte of shared memory holds each element of an operand that wgmma or tcgen05.mma reads by a descriptor.

The operand lies in atoms of eight rows of 16, 32, 64 or 128 bytes. K-major, a row of an atom is a row of A (a column of
B) and k runs along it; MN-major, a row is a k, and m (n) runs along it. The descriptor's two offsets say where the next
atoms lie, and the swizzle permutes the 16-byte pieces of each row (of "128B base32B", whose atoms have four rows:
32-byte pieces):

    x = across // 8 * S + across % 8 * W + along_bytes // W * L + along_bytes % W      byte = x ^ (x >> 3 & mask)

Of elements of 4 and 6 bits in kinds f8f6f4 and mxf8f6f4, 16 lie in 16 bytes, packed from the first one on.

Sources: PTX ISA 9.1, 9.7.15.5.1 (wgmma), 9.7.16.3 to 9.7.16.4 and 9.7.16.10.6 (tcgen05); CUTLASS 7107b055,
mma_traits_sm90_gmma.hpp and mma_sm100_desc.hpp.
"""

from __future__ import annotations

from ..base.checks import arguments_checked, require_int
from ..base.errors import Error, did_you_mean
from ..base.records import TupleRecord, json_keys
from ..families.descriptors import ATOMS, SWIZZLES
from ..families.shared_memory import element_byte, panel_offsets
from ..families.tensor_memory import slot_bits
from ..model.tensor_memory import TensorMemoryInstruction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..families.shared_memory import Swizzle
    from ..model import Instruction

__all__ = ["SharedOperand", "reads_shared_memory", "shared_operand"]

ORDERS = {("A", "row"): "k", ("A", "col"): "mn", ("B", "col"): "k", ("B", "row"): "mn"}


@json_keys(
    "architecture=instruction.arch",
    "instruction=instruction.name",
    "matrix",
    "format",
    "major: k or mn",
    "swizzle",
    "row_bytes: of an atom, which has 8 rows",
    "rows: of A, of B columns; of one CTA",
    "depth: along k, in stored elements; where a row of an atom has more than one instruction reads, of several",
    "instruction_depth: along k, in stored elements of one instruction",
    "leading: the leading dimension byte offset; 0 where it is not used",
    "stride: the stride dimension byte offset",
    "size: bytes of all",
    "alignment: of the start, in bytes",
    "formula",
    "bytes=table: of each row of A (column of B), the byte of each k, from the start of the operand",
)
class SharedOperand(TupleRecord):
    """An operand in shared memory as a matrix descriptor has it.

    Attributes:
        instruction, matrix: whose operand; format: of its elements; bits: of one; padded: whether 16 of them lie in 16
            bytes.
        major: "k" or "mn"; swizzle: as for `mmacalc.shared_memory_descriptor`.
        rows: rows of A, or columns of B, that one CTA has; depth: stored elements along k; instruction_depth: those
            that one instruction reads. leading, stride: the descriptor's offsets in bytes.
    """

    instruction: Instruction
    matrix: str
    format: str
    bits: int
    major: str
    swizzle: str
    rows: int
    depth: int
    instruction_depth: int
    leading: int
    stride: int
    padded: bool = False

    @property
    def row_bytes(self) -> int:
        """The bytes of a row of an atom."""
        return ATOMS[self.swizzle].row_bytes

    @property
    def slot(self) -> int:
        """The bits from an element to the one 16 further, by 16."""
        return 8 if self.padded else self.bits

    @property
    def alignment(self) -> int:
        """What the start is a multiple of, for the swizzle to begin with its first row; 16 bytes without."""
        atom = ATOMS[self.swizzle]
        return atom.rows * atom.row_bytes if atom.bits else 16

    def byte(self, mn: int, k: int) -> int:
        """The byte that holds an element, of 4-bit elements one of two, from the start of the operand.

        Args:
            mn: the row of A, or the column of B; k: along k, of a sparse A the stored element.

        Raises:
            Error: outside the operand.
        """
        require_int("mn", mn)
        require_int("k", k)
        if not (0 <= mn < self.rows and 0 <= k < self.depth):
            raise Error(f"{self.matrix} has {self.rows} rows or columns and {self.depth} k here; got {mn}, {k}")
        return self._byte(mn, k)

    def _byte(self, mn: int, k: int) -> int:
        along, across = (k, mn) if self.major == "k" else (mn, k)
        swizzle, byte = ATOMS[self.swizzle], element_byte(along, self.bits, self.padded)
        return int(swizzle(swizzle.linear(across, byte, self.major == "mn", self.leading, self.stride)))

    @property
    def table(self) -> tuple[tuple[int, ...], ...]:
        """For each row of A (column of B), the byte of each k."""
        return tuple([tuple([self._byte(mn, k) for k in range(self.depth)]) for mn in range(self.rows)])

    @property
    def size(self) -> int:
        """The bytes from the first to the last."""
        last = max([max(row) for row in self.table])
        return last // 16 * 16 + 16 if self.padded else last + max(1, self.bits // 8)

    @property
    def formula(self) -> str:
        """The byte as an expression of i (of B: j) and k."""
        mn = "i" if self.matrix == "A" else "j"
        along, across = ("k", mn) if self.major == "k" else (mn, "k")
        scaled = f"{along} * {self.bits // 8}" if self.bits > 8 else along if self.bits == 8 else f"{along} / 2"
        if self.padded:
            scaled = f"({along} / 16 * 16 + {along} % 16 * {self.bits} / 8)"
        inner, outer = self.stride, self.leading
        if self.major == "mn" and self.row_bytes == 16:
            inner, outer = outer, inner
        swizzle = ATOMS[self.swizzle]
        terms = [f"{across} / {swizzle.rows} * {inner}", f"{across} % {swizzle.rows} * {self.row_bytes}"]
        if self._extent_along > self.row_bytes:
            terms += [f"{scaled} / {self.row_bytes} * {outer}", f"{scaled} % {self.row_bytes}"]
        else:
            terms.append(scaled)
        place = " + ".join(terms)
        return f"x ^ (x >> {swizzle.shift} & {swizzle.mask:#x}), x = {place}" if swizzle.mask else place

    @property
    def _extent_along(self) -> int:
        return (self.depth if self.major == "k" else self.rows) * self.slot // 8


def reads_shared_memory(inst: Instruction, matrix: str) -> bool:
    """Whether an instruction reads A or B by a descriptor, or can: B of wgmma and tcgen05.mma always, A if wanted."""
    return matrix in ("A", "B") and ("wgmma" in inst.features or isinstance(inst, TensorMemoryInstruction))


@arguments_checked
def shared_operand(
    inst: Instruction,
    matrix: str,
    order: str = "row",
    swizzle: str | None = None,
    leading: int | None = None,
    stride: int | None = None,
) -> SharedOperand:
    """Where A or B of wgmma or tcgen05.mma lies in shared memory.

    Args:
        inst: the instruction; a tcgen05.mma with its shape and types (`shaped`).
        matrix: "A" or "B". order: of the matrix in memory; "row": A is K-major and B MN-major; "col": the reverse.
        swizzle: "none", "32B", "64B", "128B" or, of tcgen05, "128B base32B"; the widest that fits if left out.
        leading, stride: the descriptor's offsets in bytes; those of atoms that lie one behind the other if left out.

    Raises:
        Error: an instruction without such an operand, types that cannot be MN-major, a swizzle wider than the operand,
            offsets that are not multiples of 16, or under which two elements share a byte.

    Sources: PTX ISA 9.1, sections 9.7.15.5.1 and 9.7.16.3; one source, not measured on hardware. That padded elements
    may lie along M or N is CUTLASS's (blackwell_functionality.md); the ISA's table 54 has them along K alone.

    >>> import mmacalc
    >>> wgmma = mmacalc.instruction("H100", "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16")
    >>> b = mmacalc.shared_operand(wgmma, "B", order="col")
    >>> b.byte(0, 0), b.byte(1, 0), b.byte(9, 8)
    (0, 144, 1152)
    >>> b.formula
    'x ^ (x >> 3 & 0x70), x = j / 8 * 1024 + j % 8 * 128 + k * 2'
    """
    if not reads_shared_memory(inst, matrix):
        raise Error(f"{matrix} of {inst.name} is not read from shared memory by a descriptor; A and B of wgmma and "
                    "tcgen05.mma are")  # fmt: skip
    unit = "tcgen05" if inst.in_tensor_memory else "wgmma"
    if order not in ("row", "col"):
        raise Error(f"the order is 'row' or 'col'; got '{order}'")
    major, bits = ORDERS[matrix, order], inst.format(matrix).bits
    slot = slot_bits(inst.kind, bits) if inst.in_tensor_memory else bits
    ctas = inst.form.cta_group if isinstance(inst, TensorMemoryInstruction) else 1
    rows = (inst.m if matrix == "A" else inst.n) // ctas
    depth = inst.k // 2 if matrix == "A" and inst.sparse else inst.k
    _check_major(inst, matrix, major, slot)
    swizzle = _swizzle(unit, swizzle, major, rows, slot)
    width = ATOMS[swizzle].row_bytes
    whole = max(depth, width * 8 // slot) if major == "k" else depth
    packed = _packed(major, ATOMS[swizzle], whole * slot // 8 if major == "k" else whole)
    found = SharedOperand(
        inst, matrix, inst.format(matrix).name, bits, major, swizzle, rows, whole, depth,
        packed[0] if leading is None else leading, packed[1] if stride is None else stride, slot != bits,
    )  # fmt: skip
    for name, offset in (("leading", found.leading), ("stride", found.stride)):
        if offset % 16 or not 0 <= offset < 1 << 18:
            raise Error(f"the {name} dimension byte offset is a multiple of 16 below {1 << 18}; got {offset}")
    places = [byte for row in found.table for byte in row] if (leading, stride) != (None, None) else []
    if len(set(places)) * max(8, bits) < len(places) * bits:
        raise Error(f"under leading {found.leading} and stride {found.stride} two elements of {matrix} share a byte; "
                    f"atoms one behind the other have {packed[0]} and {packed[1]}")  # fmt: skip
    return found


def _check_major(inst: Instruction, matrix: str, major: str, bits: int) -> None:
    """Refuse an MN-major operand that the instruction cannot read. bits: of an element's slot."""
    if major == "k":
        return
    turn = f"give --order {'row' if matrix == 'A' else 'col'} (order=) for {matrix} K-major"
    if not inst.in_tensor_memory and bits != 16:
        raise Error(f"wgmma reads only 16-bit elements MN-major, and {matrix} has {bits} bits; {turn}")
    if bits < 8:
        raise Error(f"{inst.name} reads no elements of {bits} bits MN-major; {turn}")


def _swizzle(unit: str, asked: str | None, major: str, rows: int, bits: int) -> str:
    """The swizzle that was asked for, or the widest whose atoms divide the operand. bits: of an element's slot."""
    known = SWIZZLES[unit]
    turned_tf32 = unit == "tcgen05" and major == "mn" and bits == 32
    if asked is not None and asked not in known:
        raise Error(f"the swizzle of {unit} is {', '.join(known)}; got '{asked}'.{did_you_mean(asked, known)}")
    if asked is not None and turned_tf32 != (asked == "128B base32B"):
        raise Error("tcgen05 reads tf32 MN-major under the swizzle '128B base32B' alone, and nothing else under it")
    whole = [name for name, one in ATOMS.items() if major == "k" or rows * bits // 8 % one.row_bytes == 0]
    fits = [name for name in whole if turned_tf32 == (name == "128B base32B")]
    if not fits or (asked is not None and asked not in fits):
        raise Error(
            f"{rows} elements are {rows * bits // 8} bytes, no multiple of the {ATOMS[asked or '128B'].row_bytes} "
            f"of an MN-major row under this swizzle{'; ' + ', '.join(fits) + ' fit' if fits else ''}"
        )
    return asked or fits[-1]


def _packed(major: str, swizzle: Swizzle, extent: int) -> tuple[int, int]:
    """The leading and stride offset of atoms that lie one behind the other. extent: of K-major operands the bytes of a
    row along k, of MN-major ones the rows along k."""
    width = swizzle.row_bytes
    if major == "mn":
        return panel_offsets(width, extent, swizzle.rows)
    atom, atoms = swizzle.rows * width, extent // width
    return (atom if atoms > 1 else 0), atom * atoms
