"""Which lane each lane reads: DPP, permutes and swizzles."""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...arrays import Array

__all__ = ["dpp8_lanes", "dpp_lanes", "swizzle_lanes", "written_lanes"]


def dpp_lanes(control: int, lanes: int) -> tuple[Array, Array]:
    """The lane that each lane reads under DPP16's control, and whether there is such a lane.

    Source: RDNA3 ISA guide, "DPP16"; CDNA3 ISA guide, "DPP_CTRL Enumerations".

    >>> dpp_lanes(0x111, 64)[0][:3].tolist(), dpp_lanes(0x111, 64)[1][:3].tolist()  # row_shr:1
    ([-1, 0, 1], [False, True, True])
    """
    lane = np.arange(lanes)
    row, place, amount = lane & ~15, lane & 15, control & 15
    kind = control >> 4
    if control < 0x100:
        return (lane & ~3) + (control >> 2 * (lane & 3) & 3), np.ones(lanes, bool)
    if kind in (0x10, 0x11):
        wanted = place + amount if kind == 0x10 else place - amount
        return row + wanted, (wanted >= 0) & (wanted < 16)
    found = {
        0x12: row + (place - amount) % 16,
        0x13: _wave_shifted(control, lane, lanes),
        0x14: row + 15 - place if amount == 0 else (lane & ~7) + 7 - (lane & 7),
        0x15: row + amount,
        0x16: row + (place ^ amount),
    }[kind]
    if kind == 0x14 and amount in (2, 3):  # row_bcast:15 and row_bcast:31
        found = row - 1 if amount == 2 else np.where(lane >= 32, 31, -1)
    return found, (found >= 0) & (found < lanes)


def _wave_shifted(control: int, lane: Array, lanes: int) -> Array:
    """wave_shl:1, wave_rol:1, wave_shr:1 and wave_ror:1."""
    moved = lane + (1 if control < 0x138 else -1)
    return moved % lanes if control in (0x134, 0x13C) else moved


def dpp8_lanes(selector: int, lanes: int) -> Array:
    """The lane that each lane reads under DPP8."""
    lane = np.arange(lanes)
    found: Array = (lane & ~7) + (selector >> 3 * (lane & 7) & 7)
    return found


def written_lanes(row_mask: int, bank_mask: int, lanes: int) -> Array:
    """The lanes that DPP's row and bank masks let be written."""
    lane = np.arange(lanes)
    found: Array = (row_mask >> (lane >> 4 & 3) & 1 & bank_mask >> (lane >> 2 & 3)).astype(bool)
    return found


def swizzle_lanes(offset: int, lanes: int) -> Array:
    """The lane that each lane reads under DS_SWIZZLE_B32.

    Source: RDNA3 and Vega ISA guides, DS_SWIZZLE_B32: quad permutes, bit masks in groups of 32, rotation, and the order
    of a fast Fourier transform.
    """
    lane, mask, mode = np.arange(lanes), offset & 31, offset >> 13
    if mode == 0b111:
        turned = sum((lane >> bit & 1) << 4 - bit for bit in range(5))
        return (lane & ~31) | (lane & mask) | (turned >> mask.bit_count())
    if mode == 0b110:
        by = offset >> 5 & 31
        moved = (lane & 31) + (-by if offset & 0x400 else by)
        return (lane & ~31) | (lane & mask) | (moved & 31 & ~mask)
    if offset & 0x8000:
        return (lane & ~3) + (offset >> 2 * (lane & 3) & 3)
    kept, either, flipped = offset & 31, offset >> 5 & 31, offset >> 10 & 31
    return (lane & ~31) | (((lane & 31 & kept) | either) ^ flipped)
