"""What loads and stores of each width are called."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Operand

__all__ = ["NAMES", "access_name"]

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
