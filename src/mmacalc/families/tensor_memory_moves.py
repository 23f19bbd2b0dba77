"""tcgen05.ld, st, cp and shift: which thread and register, or which row, gets which cell of Tensor Memory.

ld and st: the coordinates are the lane and column from the address (of one warp: its 32 lanes, or 16 of them), the
places thread and item, the register; `.pack::16b` puts the low halves of two neighbouring columns in one register.
cp: the coordinates are the row and 32-bit column of the box in shared memory, the places lane and column.
D after a load is D's layout composed with the loads of all four warps: `epilogue`.

Sources: PTX ISA 9.1, sections 9.7.16.8 and 9.7.16.9; CUTLASS 7107b055, copy_traits_sm100.hpp. The PTX ISA's figure of
.16x32bx2 differs; it is wrong according to CUTLASS and to one emulator's author.
"""

from __future__ import annotations

from ..base.errors import Error
from ..base.records import TupleRecord
from .base import shared_layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..layout import Layout
    from .base import Placement

__all__ = ["COPIES", "LOADS", "Load", "after", "copy_layout", "epilogue", "load_layout", "registers"]

# The digits of lane and column, those of thread and register, sizes, and the registers of .x1.
# The lowest digit of the column is that of the register, or of its low halves with .pack.
LOADS = {
    "32x32b": ("i", "n", "i", "n", {"i": 32}, 1),
    "16x64b": ("h g", "n c", "g c h", "n", {"h": 2, "g": 8, "c": 2}, 1),
    "16x128b": ("h g", "n t", "g t", "n h", {"h": 2, "g": 8, "t": 4}, 2),
    "16x256b": ("h g", "n t e", "g t", "n h e", {"h": 2, "g": 8, "t": 4, "e": 2}, 4),
    "16x32bx2": ("i", "s n", "s i", "n", {"i": 16, "s": 2}, 1),
}
MOST_REGISTERS = 128
COPIES = {
    "128x256b": ("i c -> lane (i), column (c)", {"i": 128, "c": 8}),
    "128x128b": ("i c -> lane (i), column (c)", {"i": 128, "c": 4}),
    "64x128b.warpx2::02_13": ("i c -> lane (*r i), column (c)", {"r": 2, "i": 64, "c": 4}),
    "64x128b.warpx2::01_23": ("(h i) c -> lane (h *r i), column (c)", {"h": 2, "r": 2, "i": 32, "c": 4}),
    "32x128b.warpx4": ("i c -> lane (*r i), column (c)", {"r": 4, "i": 32, "c": 4}),
    "4x256b": ("w c -> lane (w zero), column (c)", {"w": 4, "zero": 32, "c": 8}),
}


def registers(shape: str, count: int) -> int:
    """The 32-bit registers that each thread has for a shape and .xN.

    Raises:
        Error: there is no such shape, or not with this count.

    >>> registers("16x256b", 32)
    128
    """
    if shape not in LOADS:
        raise Error(f"tcgen05.ld has no shape '{shape}'; its shapes are {', '.join(LOADS)}")
    most = MOST_REGISTERS // LOADS[shape][-1]
    if count not in (1, 2, 4, 8, 16, 32, 64, 128) or count > most:
        raise Error(f".{shape} takes .x1 to .x{most} in powers of two; got .x{count}")
    return count * LOADS[shape][-1]


def load_layout(shape: str, count: int, pack: bool = False) -> Layout:
    """Which thread of the warp and which register gets the cell at a lane and column from the address.

    With `pack`, item is a 16-bit half: register item // 2, from the low half of the cell. The second half of the
    columns of 16x32bx2 begins immHalfSplitoff columns after the address; here they follow each other.

    Raises:
        Error: there is no such shape, or not with this count.

    >>> load_layout("16x256b", 2).pattern
    '(h g) (n t e) -> lane (g t), item (n h e)'
    >>> load_layout("32x32b", 4, pack=True).pattern
    'i (n p) -> lane (i), item (n p)'
    """
    registers(shape, count)
    lane, column, thread, item, sizes, _ = LOADS[shape]
    text = f"({lane}) ({column} p) -> lane ({thread}), item ({item} p)"
    return shared_layout(text, ("lane", "column"), (*sizes.items(), ("n", count), ("p", 2 if pack else 1)))


def copy_layout(shape: str) -> Layout:
    """Where tcgen05.cp writes row and 32-bit column of its box, from the address.

    Raises:
        Error: there is no such shape.

    >>> copy_layout("32x128b.warpx4").locate({"row": 5, "column": 1})
    ((5, 1), (37, 1), (69, 1), (101, 1))
    """
    if shape not in COPIES:
        raise Error(f"tcgen05.cp has no shape '{shape}'; its shapes are {', '.join(COPIES)}")
    text, sizes = COPIES[shape]
    return shared_layout(text, ("row", "column"), tuple(sizes.items()))


def epilogue(d: Layout, shape: str, count: int, pack: bool = False) -> Layout:
    """Which warp, thread, load and register holds each element of D once all of D's columns were loaded.

    Args:
        d: D's layout in Tensor Memory. shape, count, pack: of tcgen05.ld. The loads of a warp are numbered by
            column, then by the half of its 32 lanes for the shapes of 16 lanes.

    Raises:
        Error: D's columns are not a multiple of those that one load reads.

    >>> d = shared_layout("i j -> lane (i), column (j)", ("i", "j"), (("i", 128), ("j", 64)))
    >>> epilogue(d, "32x32b", 32).pattern
    '(i1 i0) (j1 j0) -> warp (i1), lane (i0), load (j1), item (j0)'
    """
    one = load_layout(shape, count, pack)
    rows, columns = one.extents
    if d.spans["column"] % columns:
        raise Error(
            f"D has {d.spans['column']} columns, and .{shape}.x{count} reads {columns} at a time: choose .xN so that "
            "it divides them"
        )
    lane, column, thread, item, sizes, _ = LOADS[shape]
    pair = "cta" in d.places
    text = (
        f"{'cta ' * pair}(warp half {lane}) (load {column} p) -> "
        f"{'cta (cta), ' * pair}warp (warp), lane ({thread}), load (load half), item ({item} p)"
    )
    every = {
        **sizes, "n": count, "p": 2 if pack else 1, "cta": 2, "warp": 4, "half": {32: 1, 16: 2}[rows],
        "load": d.spans["column"] // columns,
    }  # fmt: skip
    sizes = {name: size for name, size in every.items() if pair or name != "cta"}
    return d.compose(shared_layout(text, tuple(d.places), tuple(sizes.items())))


class Load(TupleRecord):
    """A tcgen05.ld by which all columns of D are read: its shape, N of .xN, and whether it packs 16-bit halves."""

    shape: str
    times: int
    pack: bool

    @property
    def name(self) -> str:
        """As PTX spells it, such as 32x32b.x32."""
        return f"{self.shape}.x{self.times}{'.pack::16b' if self.pack else ''}"


def after(d: Placement, load: Load) -> Placement:
    """The placement of D in the registers of a warpgroup after loads of all its columns.

    Raises:
        Error: D is not of 16 bits and is to be packed, or its columns are not a multiple of the load's.
    """
    if load.pack and d.bits != 16:
        raise Error(f".pack::16b is for a D of 16 bits; it has {d.bits} here")
    return d._replace(layout=epilogue(d.layout, *load), slot_bits=16 if load.pack else 32)
