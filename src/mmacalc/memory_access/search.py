"""Padding and swizzles that free an operand's LDS accesses, and those that fill the tile, of bank conflicts."""

from __future__ import annotations

from ..base.records import TupleRecord, json_keys
from .accesses import Placing, fills, reads_without_conflict
from .swizzles import Swizzle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .accesses import Accesses
    from .units import Tile

__all__ = ["Repair", "repair"]

MOST_PAD = 256  # bytes: addresses modulo all banks repeat beyond
MOST_BITS = 5
HIGHEST_BASE = 8
HIGHEST_BIT = 32  # of an address that a swizzle can feel


@json_keys(
    "pad_bytes: null where no padding keeps both free",
    "swizzle=numbers: null where none keeps both free",
)
class Repair(TupleRecord):
    """The smallest padding, and the smallest (bits, base, shift), without a conflict; None where there is none."""

    pad_bytes: int | None
    swizzle: Swizzle | None

    @property
    def numbers(self) -> tuple[int, ...] | None:
        """The numbers of the swizzle."""
        return None if self.swizzle is None else tuple(self.swizzle)


def repair(found: Accesses, tile: Tile, fill: int, access: str) -> Repair:
    """The smallest padding and the smallest XOR swizzle under which no access conflicts.

    Args:
        fill: the bytes of a lane's access that fills the tile (for a store: empties it). Padding is a multiple of it,
            and a swizzle leaves it and the operand's accesses in one piece.
        access: "read" if the operand is loaded, "write" if it is stored.
    """
    filling = {padded: fills(tile, fill, padded) for padded in (False, True)}
    other = "write" if access == "read" else "read"

    def free(placing: Placing) -> bool:
        return reads_without_conflict(found, tile, placing, access) and reads_without_conflict(
            filling[placing.pad > 0], tile, placing, other
        )

    pad = next((pad for pad in range(0, MOST_PAD, max(fill, found.access_bytes)) if free(Placing(pad))), None)
    base = max(found.access_bytes, fill).bit_length() - 1
    last = (tile.rows * tile.row_bytes - 1).bit_length()
    size = (tile.rows, tile.row_bytes, tile.row_bytes, tile.operand.placement.bits)
    swizzles = (swizzle for swizzle in _swizzles(base, last) if not swizzle.fault(*size))
    return Repair(pad, next((swizzle for swizzle in swizzles if free(Placing(0, swizzle))), None))


def _swizzles(lowest: int, last: int) -> list[Swizzle]:
    """Every swizzle that an address below 2**last can feel, the smallest first."""
    none = Swizzle(0, lowest, 1)
    return [none, *[
        Swizzle(bits, base, shift)
        for bits in range(1, MOST_BITS + 1)
        for base in range(lowest, HIGHEST_BASE + 1)
        for shift in range(bits, min(max(bits, last - base), HIGHEST_BIT - base - bits) + 1)
    ]]  # fmt: skip
