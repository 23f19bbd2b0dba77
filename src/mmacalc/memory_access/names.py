"""What loads and stores of each width are called."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Operand

__all__ = ["NAMES", "access_name"]

# By the family's `mnemonics`, then the memory, then "load" or "store": the names for 1, 2, 4, 8 and 16 bytes.
# Sources: CDNA3 and RDNA3 ISA guides (DS, FLAT and GLOBAL instructions); PTX ISA 9.1, ld and st.
NAMES = {
    "gfx9": {
        ("global", "load"): "global_load_ubyte global_load_ushort global_load_dword global_load_dwordx2 global_load_dwordx4",
        ("global", "store"): "global_store_byte global_store_short global_store_dword global_store_dwordx2 global_store_dwordx4",
        ("lds", "load"): "ds_read_u8 ds_read_u16 ds_read_b32 ds_read_b64 ds_read_b128",
        ("lds", "store"): "ds_write_b8 ds_write_b16 ds_write_b32 ds_write_b64 ds_write_b128",
    },
    "gfx11": {
        ("global", "load"): "global_load_u8 global_load_u16 global_load_b32 global_load_b64 global_load_b128",
        ("global", "store"): "global_store_b8 global_store_b16 global_store_b32 global_store_b64 global_store_b128",
        ("lds", "load"): "ds_load_u8 ds_load_u16 ds_load_b32 ds_load_b64 ds_load_b128",
        ("lds", "store"): "ds_store_b8 ds_store_b16 ds_store_b32 ds_store_b64 ds_store_b128",
    },
    "ptx": {
        ("global", "load"): "ld.global.b8 ld.global.b16 ld.global.b32 ld.global.v2.b32 ld.global.v4.b32",
        ("global", "store"): "st.global.b8 st.global.b16 st.global.b32 st.global.v2.b32 st.global.v4.b32",
        ("lds", "load"): "ld.shared.b8 ld.shared.b16 ld.shared.b32 ld.shared.v2.b32 ld.shared.v4.b32",
        ("lds", "store"): "st.shared.b8 st.shared.b16 st.shared.b32 st.shared.v2.b32 st.shared.v4.b32",
    },
}  # fmt: skip


def access_name(operand: Operand, memory: str, width: int) -> str:
    """The load (for D: the store) of `width` bytes a lane from "global" memory or "lds".

    >>> import mmacalc
    >>> access_name(mmacalc.instruction("mi300x", "v_mfma_f32_32x32x8_f16").operand("A"), "lds", 8)
    'ds_read_b64'
    """
    direction = "store" if operand.name == "D" else "load"
    names = NAMES[operand.instruction.architecture.family.mnemonics][memory, direction].split()
    return names[width.bit_length() - 1]
