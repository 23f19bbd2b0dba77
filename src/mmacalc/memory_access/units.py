"""An operand as memory sees it: for each lane, its elements in register order, with their row and column in memory."""

from __future__ import annotations

from ..base.checks import shown
from ..base.errors import Error, did_you_mean
from ..base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Operand


class Tile(TupleRecord):
    """The elements of an operand, lane by lane.

    Attributes:
        operand: the operand; order: "row" or "col": which of its two coordinates runs along memory.
        ld: elements from one row of memory to the next; row_bytes: the same in bytes, without padding.
        rows: how many rows memory has (over all blocks).
        unit_bits: the width of what is addressed: an element, or the stored values of a 2:4 group.
        lanes: for each lane, its units ascending by their bit in the registers: (bit, row of memory, bit in the row).
            The registers of further instructions (kpack) follow those of the first.
    """

    operand: Operand
    order: str
    ld: int
    row_bytes: int
    rows: int
    unit_bits: int
    lanes: tuple[tuple[tuple[int, int, int], ...], ...]


def tile(operand: Operand, order: str, ld: int | None, kpack: int | None) -> Tile:
    """An operand's elements by lane, with their places in memory.

    Args:
        order: "row": memory has the matrix row by row; "col": column by column.
        ld: elements from one row (for "col": column) to the next; those of the operand if None.
        kpack: load the operands of this many instructions at once, with k relabelled so that all that a lane holds is
            contiguous; None for one instruction in the natural order of k.

    Raises:
        Error: an order, ld or kpack that cannot be, or an operand that is not loaded as a matrix.
    """
    where = f"{operand.name} of {operand.instruction.name}"
    if order not in ("row", "col"):
        hint = did_you_mean(shown(order), ("row", "col"))
        raise Error(f"the order is 'row' (row by row in memory) or 'col' (column by column); got {shown(order)}.{hint}")
    if operand.name not in ("A", "B", "C", "D"):
        raise Error(f"{where} is not a matrix in memory: it is packed into whole registers; ask for A, B, C or D")
    group = _group(operand)
    if group > 1 and order == "col":
        raise Error(f"{where} is 2:4 sparse: the stored values of a row are consecutive, so the order is 'row'")
    blocks, *extents = operand.shape
    relabelled = _relabelled(operand, kpack)
    k_axis = operand.axes[1:].index("k") if "k" in operand.axes else None
    if k_axis is not None:
        extents[k_axis] = extents[k_axis] * len(relabelled) // group
    along, across = (1, 0) if order == "row" else (0, 1)
    bits, per_location = operand.placement.bits, operand.placement.slots_per_location
    shortest = extents[along] * per_location
    ld = shortest if ld is None else ld
    if not isinstance(ld, int) or ld < shortest:
        raise Error(f"ld is at least {shortest}, the elements of {where} along memory; got {ld}")
    if ld * bits % 8:
        raise Error(f"a row of {ld} elements of {bits} bits is not a whole number of bytes")
    lanes: list[set[tuple[int, int, int]]] = [set() for _ in range(operand.lanes)]
    for pack, k_of in enumerate(relabelled):
        for lane, bit, (block, *place) in _units(operand):
            if k_axis is not None:
                place[k_axis] = k_of[place[k_axis]] // group
            row = block * extents[across] + place[across]
            lanes[lane].add((pack * 32 * operand.registers + bit, row, place[along] * bits * per_location))
    rows = blocks * extents[across]
    return Tile(
        operand, order, ld, ld * bits // 8, rows, bits * per_location, tuple([tuple(sorted(units)) for units in lanes])
    )


def _group(operand: Operand) -> int:
    """How many k of a 2:4 sparse A share a group of stored values; 1 for any other operand."""
    return operand.layout.sizes["p"] if operand.name == "A" and operand.instruction.sparse else 1


def _units(operand: Operand) -> list[tuple[int, int, tuple[int, int, int]]]:
    """Every element: its lane, its bit in the lane's registers, and (block, row, column)."""
    placement = operand.placement
    per_location, width, offset = placement.slots_per_location, placement.slot_bits, placement.offset
    read, copies = operand.placement.lanes or int, operand.copies()
    blocks, rows, columns = (operand.steps(axis) for axis in operand.axes)
    found = []
    for block, (block_lane, block_item) in enumerate(blocks):
        for row, (row_lane, row_item) in enumerate(rows):
            for column, (column_lane, column_item) in enumerate(columns):
                lane, item = block_lane + row_lane + column_lane, block_item + row_item + column_item
                for more, further in copies:
                    bit = (item + further) // per_location * per_location * width + offset
                    found.append((read(lane + more), bit, (block, row, column)))
    return found


def _relabelled(operand: Operand, kpack: int | None) -> list[list[int]]:
    """For each of the instructions that are loaded together, where each k goes.

    The digits of k that choose lanes come first, then the instruction, then the digits that choose the item in the
    order of the items: so all that a lane holds is contiguous. The other operand must be relabelled alike.
    """
    if kpack is None:
        return [list(range(dict(zip(operand.axes, operand.shape)).get("k", operand.instruction.k)))]
    if not isinstance(kpack, int) or not 1 <= kpack <= 64:
        raise Error(f"kpack is a number of instructions, 1 to 64; got {kpack!r}")
    if operand.name not in ("A", "B") or operand.instruction.sparse:
        raise Error("kpack relabels k of a dense A and B alike; C, D and sparse operands have no such freedom")
    layout = operand.layout
    digits = layout.coordinates[layout.axes.index("k")]
    items = [name for name in layout.places["item"] if name in digits]
    outer = [name for name in digits if name not in items]
    weights, weight = {}, 1
    for name in reversed([*outer, "", *items]):
        weights[name] = weight
        weight *= layout.sizes[name] if name else kpack
    table = [0]
    for name in digits:
        table = [base + value * weights[name] for base in table for value in range(layout.sizes[name])]
    return [[place + pack * weights[""] for place in table] for pack in range(kpack)]


# --- What loads and stores of each width are called ---


# By the family's `mnemonics`, then the memory, then "load" or "store": the name, and what * is for 1, 2, 4, 8
# and 16 bytes.
# Sources: CDNA3 and RDNA3 ISA guides (DS, FLAT and GLOBAL instructions); PTX ISA 9.1, ld and st.
NAMES = {
    "gfx9": {
        ("global", "load"): "global_load_* ubyte ushort dword dwordx2 dwordx4",
        ("global", "store"): "global_store_* byte short dword dwordx2 dwordx4",
        ("lds", "load"): "ds_read_* u8 u16 b32 b64 b128",
        ("lds", "store"): "ds_write_* b8 b16 b32 b64 b128",
    },
    "gfx11": {
        ("global", "load"): "global_load_* u8 u16 b32 b64 b128",
        ("global", "store"): "global_store_* b8 b16 b32 b64 b128",
        ("lds", "load"): "ds_load_* u8 u16 b32 b64 b128",
        ("lds", "store"): "ds_store_* b8 b16 b32 b64 b128",
    },
    "ptx": {
        ("global", "load"): "ld.global.* b8 b16 b32 v2.b32 v4.b32",
        ("global", "store"): "st.global.* b8 b16 b32 v2.b32 v4.b32",
        ("lds", "load"): "ld.shared.* b8 b16 b32 v2.b32 v4.b32",
        ("lds", "store"): "st.shared.* b8 b16 b32 v2.b32 v4.b32",
    },
}


def access_name(operand: Operand, memory: str, width: int) -> str:
    """The load (for D: the store) of `width` bytes a lane from "global" memory or "lds".

    >>> import mmacalc
    >>> access_name(mmacalc.instruction("mi300x", "v_mfma_f32_32x32x8_f16").operand("A"), "lds", 8)
    'ds_read_b64'
    """
    direction = "store" if operand.name == "D" else "load"
    name, *widths = NAMES[operand.instruction.architecture.family.mnemonics][memory, direction].split()
    return name.replace("*", widths[width.bit_length() - 1])
