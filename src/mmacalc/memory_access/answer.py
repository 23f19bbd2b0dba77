"""mmacalc.memory: how an operand is loaded from memory, or stored to it."""

from __future__ import annotations

from ..base.checks import arguments_checked
from ..base.errors import Error, plural
from ..base.records import TupleRecord, json_keys
from .accesses import PLAIN, Accesses, LdsCost, Placing, Repair, accesses, lds_cost, repair
from .copies import LdsCopy, copies
from .matrix_loads import MatrixLoad, matrix_loads
from .swizzles import RowSwizzle, Swizzle, swizzle_of
from .transposed import AddressTerm, TransposingLoad, transposing
from .units import access_name
from .units import tile as tile_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model import Operand
    from .units import Tile

__all__ = ["AddressTerm", "Memory", "memory"]


@json_keys(
    "cycles=cost.cycles",
    "ideal=cost.ideal",
    "conflicts=cost.conflicts",
    "phases: the lanes of each",
    "banks=cost.rule.banks",
    "worst=cost.worst: the phase that takes longest",
    "provenance=cost.rule.provenance",
    "source=cost.rule.source",
)
class WaveCost(TupleRecord):
    """What an access costs in LDS, and the lanes of each of its phases."""

    cost: LdsCost
    phases: tuple[tuple[int, ...], ...]


@json_keys(
    "architecture=operand.instruction.arch",
    "instruction=operand.instruction.name",
    "matrix=operand.name",
    "wave=operand.wave",
    "modifiers=operand.fields",
    "order=tile.order",
    "ld=tile.ld",
    "row_bytes=tile.row_bytes",
    "pad_bytes=placing.pad",
    "swizzle=placing.numbers: bits, base and shift, or vec, per_phase and max_phase",
    "swizzle_kind=placing.kind: xor or row",
    "kpack",
    "run_bytes: contiguous bytes of a lane",
    "access_bytes",
    "instructions",
    "global_instruction",
    "lds_instruction",
    "address=terms: the sum of (lane / divisor % size) * bytes; null where it is no such sum",
    "offsets",
    "lines64",
    "lines128",
    "bytes_used",
    "bytes_fetched",
    "lds=lds_of_wave",
    "matrix_loads",
    "pad_every=placing.every: bytes after which the padding stands; 0 behind each row",
    "copies: what could fill the tile in LDS without registers",
)
class Memory(TupleRecord):
    """How an operand is loaded (D: stored).

    Attributes:
        tile: the operand's elements and their places in memory; kpack: the instructions loaded together, or None.
        placing: padding and swizzle in LDS; fill: the bytes of a lane's access that fills the tile.
        found: the accesses of the wave; lds: their cost in LDS; matrix_loads: ldmatrix or stmatrix that do the same.
    """

    tile: Tile
    kpack: int | None
    placing: Placing
    fill: int
    found: Accesses
    lds: LdsCost
    matrix_loads: tuple[MatrixLoad, ...]

    @property
    def lds_of_wave(self) -> WaveCost:
        """The cost in LDS, with the phases of the whole wave."""
        return WaveCost(self.lds, tuple(self.lds.rule.lanes(self.operand.wave)))

    @property
    def operand(self) -> Operand:
        """The operand."""
        return self.tile.operand

    @property
    def run_bytes(self) -> int:
        """The contiguous bytes of a lane."""
        return self.found.run_bytes

    @property
    def access_bytes(self) -> int:
        """The bytes of one access of a lane."""
        return self.found.access_bytes

    @property
    def instructions(self) -> int:
        """How many loads (stores) move the operand."""
        return len(self.found.addresses)

    @property
    def global_instruction(self) -> str:
        """The load or store between global memory and registers."""
        return access_name(self.operand, "global", self.access_bytes)

    @property
    def lds_instruction(self) -> str:
        """The load or store between LDS (shared memory) and registers."""
        return access_name(self.operand, "lds", self.access_bytes)

    @property
    def lines64(self) -> int:
        """The 64-byte lines that the accesses touch in global memory."""
        return self.found.lines(self.tile, 64)

    @property
    def lines128(self) -> int:
        """The 128-byte lines that the accesses touch in global memory."""
        return self.found.lines(self.tile, 128)

    @property
    def bytes_used(self) -> int:
        """The bytes of the operand that the accesses move."""
        return self.found.bytes_used

    @property
    def bytes_fetched(self) -> int:
        """The bytes of all 64-byte lines that the accesses touch."""
        return 64 * self.lines64

    @property
    def terms(self) -> tuple[AddressTerm, ...] | None:
        """A lane's byte address in the first access, without padding and swizzle; None if it is not a sum of digits."""
        first = self.found.linear(self.tile, PLAIN)[0]
        places = self.operand.layout.places
        names = (*places.get("warp", ()), *places["lane"])  # wgmma: a lane of its warpgroup
        terms, divisor = [], 1
        for name in reversed(names):
            size = self.operand.layout.sizes[name.lstrip("*")]
            if size > 1 and divisor < len(first) and first[divisor] is not None:
                terms.append(AddressTerm(divisor, size, (first[divisor] or 0) - (first[0] or 0)))
            divisor *= size
        start = first[0] or 0
        sums = [sum(lane // t.divisor % t.size * t.bytes for t in terms) + start for lane in range(len(first))]
        moving = tuple([term for term in terms if term.bytes])
        return moving if all(a in (None, b) for a, b in zip(first, sums)) else None

    @property
    def transposing(self) -> tuple[TransposingLoad, ...]:
        """The loads that transpose (CDNA4, RDNA4, gfx1250) and fill the operand at once, where memory has the order
        that they are for: A column by column, B row by row."""
        return () if self.kpack else transposing(self.tile, self.placing)

    @property
    def copies(self) -> tuple[LdsCopy, ...]:
        """What could fill the tile in LDS without registers, the widest first, and why not as the tile lies."""
        return () if self.operand.name in ("C", "D") else copies(self.tile, self.placing)

    @property
    def offsets(self) -> tuple[int, ...]:
        """The byte address of lane 0 in each access."""
        return tuple([lanes[0] or 0 for lanes in self.found.linear(self.tile, PLAIN)])

    def search(self) -> Repair:
        """The smallest padding and the smallest XOR swizzle that free the operand's accesses and those that fill the
        tile of bank conflicts, and the padding between parts of it that adds the fewest bytes. `pad_bytes`,
        `swizzle` (bits, base, shift) and `sparse` (pad_bytes, every) are None where there is none.

        >>> import mmacalc
        >>> a = mmacalc.instruction("gfx950", "v_mfma_f32_32x32x16_bf16").operand("A")
        >>> mmacalc.memory(a, ld=64).search()
        Repair(pad_bytes=16, swizzle=Swizzle(bits=3, base=4, shift=4), sparse=SparsePadding(pad_bytes=16, every=256))
        """
        return repair(self.found, self.tile, self.fill, _access(self.operand))


@json_keys(
    "**memory",
    "search=repair",
    "[transposing]: the loads that fill the operand from memory in which its other coordinate is contiguous",
    "[transposing_search]: padding and swizzle without a conflict of those from LDS",
)
class MemoryAndRepair(TupleRecord):
    """How an operand is loaded, and the repair of its bank conflicts if that was searched for.

    transposing: the loads that transpose (CDNA4, RDNA4, gfx1250) and fill it at once, where memory has the order that
    they are for; transposing_search: padding and swizzle without a conflict of those.
    """

    memory: Memory
    repair: Repair | None
    transposing: tuple[TransposingLoad, ...] = ()
    transposing_search: Repair | None = None


@arguments_checked
def memory(
    operand: Operand,
    order: str = "row",
    ld: int | None = None,
    pad: int = 0,
    swizzle: str | Sequence[int] | Swizzle | RowSwizzle | None = None,
    kpack: int | None = None,
    fill: int = 16,
    pad_every: int = 0,
) -> Memory:
    """How an operand is loaded from memory (D: stored to it).

    Args:
        operand: A, B, C or D, as `Instruction.operand` gives it.
        order: "row": memory has the matrix row by row; "col": column by column.
        ld: elements from one row (column) in memory to the next; those of the operand if left out.
        pad: bytes of padding behind each row in LDS.
        swizzle: of LDS: (bits, base, shift) as CuTe's Swizzle on byte addresses, "32B", "64B", "128B", or
            "vec,perPhase,maxPhase=4,1,16" as Triton's.
        kpack: load the operands of this many instructions at once, with k relabelled so that a lane's elements are
            contiguous; A and B must be relabelled alike. None keeps the natural order of k.
        fill: the bytes of a lane's access that fills the tile in LDS: 4, 8 or 16.
        pad_every: the padding stands behind every `pad_every` bytes of the tile instead of behind each row.

    Returns:
        A `Memory`: run_bytes, access_bytes, instructions, global_instruction, lds_instruction, lines64, lines128,
        bytes_used, bytes_fetched, terms, offsets; copies that fill the tile without registers; lds with cycles, ideal,
        conflicts, phases; `search()`.

    Raises:
        Error: an argument out of range, or elements that no load can reach.

    Sources: the bank phases are those of `Architecture.lds_phases`, each with its source and how sure it is.

    >>> import mmacalc
    >>> a = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16").operand("A")
    >>> found = mmacalc.memory(a, ld=64)
    >>> found.lds_instruction, found.instructions, found.lds.cycles, found.lds.ideal
    ('ds_read_b64', 1, 64, 4)
    """
    if not hasattr(operand, "placement"):
        raise Error(f"memory() takes an operand, such as instruction.operand('A'); got {operand!r}")
    record = operand.instruction.architecture
    record.family.require("memory", record.title)
    if pad < 0 or pad % 4:
        raise Error(f"pad is a number of bytes, a multiple of 4; got {pad}")
    if fill not in (4, 8, 16):
        raise Error(f"fill is 4, 8 or 16 bytes; got {fill}")
    tile = tile_of(operand, order, ld, kpack)
    found, placing = accesses(tile), Placing(pad, swizzle_of(swizzle), pad_every)
    if pad_every:
        _check_every(tile, found, placing)
    elif (tile.row_bytes + pad) % found.access_bytes:
        raise Error(
            f"rows of {tile.row_bytes} bytes and {pad} of padding do not keep accesses of {found.access_bytes} bytes "
            f"aligned; pad by a multiple of {found.access_bytes}"
        )
    _check_swizzle(tile, found, placing)
    cost = lds_cost(found, tile, placing, _access(operand))
    loads = matrix_loads(tile, placing) if kpack is None else ()
    return Memory(tile, kpack, placing, fill, found, cost, loads)


def _check_every(tile: Tile, found: Accesses, placing: Placing) -> None:
    """Refuse padding that takes an access apart, or stands beside a swizzle."""
    every, size = placing.every, tile.rows * tile.row_bytes
    if placing.pad == 0 or placing.swizzle.piece(tile.operand.placement.bits):
        raise Error("pad_every is for padding without a swizzle: give pad, and leave out swizzle")
    if every < 0 or every % found.access_bytes or placing.pad % found.access_bytes:
        raise Error(
            f"pad_every and pad are multiples of {found.access_bytes} bytes, a lane's access; got {every} and "
            f"{placing.pad}"
        )
    if every >= size:
        raise Error(f"pad_every is less than the tile's {size} bytes; got {every}")


def _check_swizzle(tile: Tile, found: Accesses, placing: Placing) -> None:
    """Refuse a swizzle that is not a permutation of the tile, or that takes an access apart."""
    swizzle, bits = placing.swizzle, tile.operand.placement.bits
    named = "vec,perPhase,maxPhase" if isinstance(swizzle, RowSwizzle) else "bits,base,shift"
    asked = f"the swizzle {named}={','.join(map(str, swizzle))}"
    if fault := swizzle.fault(tile.rows, tile.row_bytes, tile.row_bytes + placing.pad, bits):
        raise Error(f"{asked} is not a permutation of this tile: {fault}")
    if (piece := swizzle.piece(bits)) % found.access_bytes:
        least = "vec" if isinstance(swizzle, RowSwizzle) else "the base"
        right = -(-found.access_bytes * 8 // bits) if least == "vec" else found.access_bytes.bit_length() - 1
        raise Error(
            f"{asked} keeps {plural(piece, 'byte')} together, and a lane's access has {found.access_bytes}; {least} "
            f"should be at least {right}"
        )


def _access(operand: Operand) -> str:
    return "write" if operand.name == "D" else "read"
