"""What LLVM's assembler refuses though the encoding has a place for it: rules of the hardware on several operands.

Source: LLVM 22.1.8, AMDGPUAsmParser::validateInstruction, compared on random instances of every row
(tests/test_encoder.py); CDNA3 and RDNA3 ISA guides, "Scalar operands", for the limit on scalar registers.
"""

from __future__ import annotations

from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .rows import Row

__all__ = ["bank_conflict", "missing_registers", "refusal"]

_BASE = frozenset({"src_flat_scratch_base_lo", "src_flat_scratch_base_hi"})
_OLDER = frozenset({"src_vccz", "src_execz", "src_pops_exiting_wave_id", "src_lds_direct"})
_MISSING = {
    "cdna1": _BASE | {"null"}, "cdna2": _BASE | {"null", "src_lds_direct"}, "cdna3": _BASE | {"null", "src_lds_direct"},
    "rdna3": _BASE | _OLDER, "rdna4": _BASE | _OLDER, "cdna5": _OLDER,
}  # fmt: skip
_VALU = ("vop1", "vop2", "vopc", "vop3", "vop3p", "sdwa", "dpp16", "dpp8", "vop3_dpp16", "vop3_dpp8", "vop3p_dpp16",
         "vop3p_dpp8")  # fmt: skip
_NEW_BROADCAST = range(0x150, 0x160)  # DPP controls: row_newbcast


def missing_registers(family: str) -> frozenset[str]:
    """The registers whose codes LLVM decodes and which a family lacks."""
    return _MISSING[family]


def refusal(row: Row, bits: int, scalars: set[str], literal: bool) -> str:
    """Why an encoded instruction is refused; "" if it is not.

    Args:
        scalars: the scalar registers that it reads. literal: whether it has a literal.
    """
    named = {name: (bits >> shift if field is None else field.gather(bits)) & mask
             for name, shift, mask, field, *_ in row.modifiers}  # fmt: skip
    if row.stores and (named.get("tfe") or row.implied.get("tfe") or "TFE=1" in row.signature[4].split()):
        return "tfe has no meaning for stores"
    # LLVM counts none of instructions of 16 bytes.
    if row.encoding in _VALU and row.size < 16 and (why := _too_many_scalars(row, scalars, literal)):
        return why
    double = row.family in ("cdna2", "cdna3") and "dpp_ctrl" in named and _reads_doubles(row)
    if double and named["dpp_ctrl"] not in _NEW_BROADCAST:
        return "DPP of 64-bit operands is row_newbcast alone"
    selected = named.get("op_sel") or named.get("op_sel_hi", 7) != 7
    if row.family == "cdna3" and "dot" in row.flags and selected:
        return "dot products have no op_sel and op_sel_hi on this target"
    if "lane_mask" in row.flags and "SRC2" in row.format.fields and row.format.fields["SRC2"].gather(bits) > 255:
        return "the lane mask is a scalar register"
    if row.slots and row.slots[-1].style == "gpridx" and _index_mode(row, bits) > 15:
        return "the mode has four bits"
    return ""


def _index_mode(row: Row, bits: int) -> int:
    slot = row.slots[-1]
    return slot.field.gather(bits) if slot.field is not None else 0


@lru_cache(maxsize=32768)
def _reads_doubles(row: Row) -> bool:
    return any(getattr(entry, "count", 1) == 2 for slot in row.slots if slot.field is not None and not slot.style
               for entry in slot.entries[0] if getattr(entry, "file", "") == "v")  # fmt: skip


def _too_many_scalars(row: Row, scalars: set[str], literal: bool) -> str:
    if "lane_select" in row.flags and "read_lane" not in row.flags:
        scalars = scalars - {"m0"}  # which LLVM does not count there
    implied = {"vcc"} if "vcc" in row.reads else set()
    most = 1 if row.family in ("cdna1", "cdna2", "cdna3") or "one_scalar" in row.flags else 2
    count = len(scalars | implied) + literal
    if count > most:
        return f"it reads {most} scalar register{'s' * (most > 1)} or literals at most; got {count}"
    return ""


_BANKS = {"SRC0": 4, "VSRC1": 4, "src2": 2}  # of a pair: how many banks the VGPRs of a source are in


def bank_conflict(family: str, first: dict[str, int], second: dict[str, int]) -> str:
    """Why the sources of a pair do not go together; "" if they do.

    Args:
        first, second: the VGPR of each source (SRC0, VSRC1, src2) of a half. RDNA4's may be one register; of CDNA5,
            which has more forms, nothing is refused.
    """
    if family == "cdna5":
        return ""
    for role, banks in _BANKS.items():
        one, two = first.get(role), second.get(role)
        if one is not None and two is not None and one % banks == two % banks and (one != two or family == "rdna3"):
            return f"src{role[-1]} of both halves, v{one} and v{two}, are in one VGPR bank"
    return ""
