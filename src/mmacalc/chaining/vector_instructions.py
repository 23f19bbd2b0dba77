"""The instructions beside the matrix unit that a chain can use: moves between lanes, selects and conversions.

The targets of a vendor share most of them; those that not all have are in the catalog files (VECTOR_INSTRUCTIONS). Each
has the number of lanes within which it moves data; 1 where it stays in its lane.

Sources: LLVM 22.1.8 for AMD, ptxas 13.0.88 for NVIDIA; a test asks both of them for every name and target.
"""

from __future__ import annotations

from ..base.errors import Error
from ..catalog import entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..model import Architecture

__all__ = ["AMD", "PTX", "SHARED", "of_target"]

AMD = {
    "v_mov_b32_dpp": 16, "v_cndmask_b32_dpp": 16, "ds_swizzle_b32": 32, "v_perm_b32": 1, "v_cndmask_b32": 1,
    "v_cvt_f16_f32": 1, "v_cvt_f32_f16": 1, "v_pack_b32_f16": 1, "v_bfe_u32": 1, "v_add3_u32": 1, "v_or_b32": 1,
    "v_cmp_u_f32": 1, "v_and_b32": 1, "v_lshlrev_b32": 1, "v_and_or_b32": 1, "v_lshl_or_b32": 1,
}  # fmt: skip
PTX = {
    "shfl.sync.bfly.b32": 32, "shfl.sync.idx.b32": 32, "prmt.b32": 1, "selp.b32": 1, "mov.b32": 1, "and.b32": 1,
    "bfi.b32": 1, "shl.b32": 1, "lop3.b32": 1, "cvt.rn.f16.f32": 1, "cvt.f32.f16": 1,
}  # fmt: skip
SHARED: Mapping[str, Mapping[str, int]] = {"amd": AMD, "ptx": PTX}


def of_target(architecture: Architecture) -> Mapping[str, int]:
    """Every such instruction of an architecture, with the lanes within which it moves data.

    Raises:
        Error: the architecture's catalog file lists none.

    >>> import mmacalc
    >>> of_target(mmacalc.architecture("gfx950"))["v_permlane32_swap_b32"]
    64
    """
    listed = entry(architecture.name).vector_instructions
    if not listed and not architecture.family.grammar:
        raise Error(f"the catalog's file of {architecture.title} has no VECTOR_INSTRUCTIONS, which move data")
    return {**SHARED[architecture.family.vector_instructions], **listed}
