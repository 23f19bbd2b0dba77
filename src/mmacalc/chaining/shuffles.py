"""The instructions that move a register between lanes: what each can do, and how many it takes.

Which of them a target has, and within how many lanes they reach there, is in its catalog file (VECTOR_INSTRUCTIONS).
A lane map is an exclusive or of the lane number with a mask, after a permutation of its bits.

Sources: AMD's ISA guides, "DPP", "Data Share Operations" (DS_SWIZZLE_B32, DS_BPERMUTE_B32) and the V_PERMLANE
instructions; LLVM 22, GCNSubtarget::supportsWaveWideBPermute (where DS_BPERMUTE_B32 reaches half a wave64, it takes
V_PERMLANE64_B32 and one more); PTX ISA 9.1, section 9.7.9 (shfl.sync).
"""

from __future__ import annotations

from collections import Counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Reach = Mapping[str, int]
    Permutation = Mapping[int, int]
    Count = Counter[str]
    Cover = Callable[[int, Permutation, Reach], Count | None]

__all__ = ["FAMILIES", "VALU", "cover"]

VALU = "VALU"
XMASK, DPP = "v_mov_b32_dpp row_xmask", "v_mov_b32_dpp"
MIRRORS = (7, 8, 15)
"""Masks of one DPP control: row_half_mirror, row_ror:8 and row_mirror."""


def _within(lanes: int, mask: int, permutation: Permutation) -> bool:
    return mask < lanes and all(1 << bit < lanes for bit in permutation)


def _dpp(mask: int, permutation: Permutation, reach: Reach) -> Count | None:
    """One quad_perm, mirror or rotation, or two of them after one another; row_xmask does any mask at once."""
    if DPP not in reach:
        return None
    if _within(4, mask, permutation):
        return Counter({DPP: 1})
    if permutation or mask >= 16:
        return None
    if XMASK in reach:
        return Counter({XMASK: 1})
    return Counter({DPP: 1 if mask in MIRRORS else 2})


def _permlane(mask: int, permutation: Permutation, reach: Reach) -> Count | None:
    """v_permlane16 within a row of 16 lanes, v_permlanex16 between the rows of a half, v_permlane64 between halves."""
    if mask & 32:
        if "v_permlane64_b32" not in reach:
            return None
        rest = _permlane(mask & 31, permutation, reach) if mask & 31 or permutation else Counter[str]()
        return None if rest is None else rest + Counter({"v_permlane64_b32": 1})
    name = "v_permlanex16_b32" if mask & 16 else "v_permlane16_b32"
    return Counter({name: 1}) if name in reach and _within(16, mask & 15, permutation) else None


def _valu(mask: int, permutation: Permutation, reach: Reach) -> Count | None:
    found = [count for family in (_dpp, _permlane) if (count := family(mask, permutation, reach))]
    return min(found, key=Counter.total, default=None)


def _swizzle(mask: int, permutation: Permutation, reach: Reach) -> Count | None:
    lanes = reach.get("ds_swizzle_b32", 0)
    return Counter({"ds_swizzle_b32": 1}) if not permutation and mask < lanes else None


def _bpermute(mask: int, permutation: Permutation, reach: Reach) -> Count | None:
    lanes = reach.get("ds_bpermute_b32", 0)
    if _within(lanes, mask, permutation):
        return Counter({"ds_bpermute_b32": 1})
    if lanes == 32 and "v_permlane64_b32" in reach:
        return Counter({"v_permlane64_b32": 1, "ds_bpermute_b32": 2, "v_cndmask_b32": 1})
    return None


def _shfl(mask: int, permutation: Permutation, reach: Reach) -> Count | None:
    name = "shfl.sync.idx.b32" if permutation else "shfl.sync.bfly.b32"
    return Counter({name: 1}) if _within(reach.get(name, 0), mask, permutation) else None


FAMILIES: dict[str, Cover] = {
    VALU: _valu, "ds_swizzle_b32": _swizzle, "ds_bpermute_b32": _bpermute, "shfl.sync": _shfl,
}  # fmt: skip


def cover(family: str, mask: int, permutation: Permutation, reach: Reach) -> Count | None:
    """The instructions by which each lane fetches one register under a lane map; None if the family cannot.

    Args:
        family: one of FAMILIES. mask: what the lane numbers differ by, after the permutation of their bits.
        permutation: where each bit of the lane number goes; those that stay are left out.
        reach: the target's instructions, each with the number of lanes within which it moves data.
    """
    return FAMILIES[family](mask, permutation, reach)
