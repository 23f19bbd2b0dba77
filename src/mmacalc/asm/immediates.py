"""Numbers in instructions that have names: counters, hardware registers, messages, delays, DPP controls.

Source: LLVM 22.1.8's disassembler on every value (tests/test_decoder.py).
"""

from __future__ import annotations

from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .decoded import DecodedInstruction

__all__ = [
    "DEPENDENCIES", "INSTANCES", "SKIPS", "STYLES", "counter_fields", "counters", "dpp_control", "dpp_controls",
    "hardware_field", "hardware_register", "hardware_registers", "swizzle",
]  # fmt: skip

_PERFORMANCE = {
    20: "XCC_ID", 21: "SQ_PERF_SNAPSHOT_DATA", 22: "SQ_PERF_SNAPSHOT_DATA1", 23: "SQ_PERF_SNAPSHOT_PC_LO",
    24: "SQ_PERF_SNAPSHOT_PC_HI",
}  # fmt: skip
_CDNA_HARDWARE = {
    1: "MODE", 2: "STATUS", 3: "TRAPSTS", 4: "HW_ID", 5: "GPR_ALLOC", 6: "LDS_ALLOC", 7: "IB_STS", 15: "SH_MEM_BASES",
    16: "TBA_LO", 17: "TBA_HI", 18: "TMA_LO", 19: "TMA_HI",
}  # fmt: skip
_RDNA4_HARDWARE = {
    1: "WAVE_MODE", 2: "WAVE_STATUS", 4: "WAVE_STATE_PRIV", 5: "WAVE_GPR_ALLOC", 6: "WAVE_LDS_ALLOC", 7: "IB_STS",
    10: "PERF_SNAPSHOT_DATA", 11: "PERF_SNAPSHOT_PC_LO", 12: "PERF_SNAPSHOT_PC_HI", 15: "PERF_SNAPSHOT_DATA1",
    16: "PERF_SNAPSHOT_DATA2", 17: "WAVE_EXCP_FLAG_PRIV", 18: "WAVE_EXCP_FLAG_USER", 19: "WAVE_TRAP_CTRL",
    20: "WAVE_SCRATCH_BASE_LO", 21: "WAVE_SCRATCH_BASE_HI", 23: "WAVE_HW_ID1", 24: "WAVE_HW_ID2",
    26: "WAVE_SCHED_MODE", 29: "SHADER_CYCLES_LO", 30: "SHADER_CYCLES_HI", 31: "WAVE_DVGPR_ALLOC_LO",
    32: "WAVE_DVGPR_ALLOC_HI",
}  # fmt: skip
_HARDWARE = {
    "cdna1": _CDNA_HARDWARE,
    "cdna2": _CDNA_HARDWARE,
    "cdna3": {**_CDNA_HARDWARE, **_PERFORMANCE},
    "rdna3": {
        1: "MODE", 2: "STATUS", 3: "TRAPSTS", 5: "GPR_ALLOC", 6: "LDS_ALLOC", 7: "IB_STS", 15: "SH_MEM_BASES",
        18: "PERF_SNAPSHOT_PC_LO", 19: "PERF_SNAPSHOT_PC_HI", 20: "FLAT_SCR_LO", 21: "FLAT_SCR_HI", 23: "HW_ID1",
        24: "HW_ID2", 27: "PERF_SNAPSHOT_DATA", 29: "SHADER_CYCLES",
    },
    "rdna4": _RDNA4_HARDWARE,
    "cdna5": {**_RDNA4_HARDWARE, 28: "IB_STS2", 33: "XNACK_STATE_PRIV", 34: "XNACK_MASK"},
}  # fmt: skip
_CDNA_MESSAGES = {
    1: "INTERRUPT", 2: "GS", 3: "GS_DONE", 4: "SAVEWAVE", 5: "STALL_WAVE_GEN", 6: "HALT_WAVES", 7: "ORDERED_PS_DONE",
    8: "EARLY_PRIM_DEALLOC", 9: "GS_ALLOC_REQ", 10: "GET_DOORBELL", 15: "SYSMSG",
}  # fmt: skip
_CDNA_OPERATIONS = {
    2: {1: "GS_OP_CUT", 2: "GS_OP_EMIT", 3: "GS_OP_EMIT_CUT"},
    3: {0: "GS_OP_NOP", 1: "GS_OP_CUT", 2: "GS_OP_EMIT", 3: "GS_OP_EMIT_CUT"},
    15: {1: "SYSMSG_OP_ECC_ERR_INTERRUPT", 2: "SYSMSG_OP_REG_RD", 4: "SYSMSG_OP_TTRACE_PC"},
}
_RDNA4_MESSAGES = {
    1: "INTERRUPT", 2: "HS_TESSFACTOR", 3: "DEALLOC_VGPRS", 9: "GS_ALLOC_REQ", 128: "RTN_GET_DOORBELL",
    129: "RTN_GET_DDID", 130: "RTN_GET_TMA", 131: "RTN_GET_REALTIME", 132: "RTN_SAVE_WAVE", 133: "RTN_GET_TBA",
    134: "RTN_GET_TBA_TO_PC", 135: "RTN_GET_SE_AID_ID",
}  # fmt: skip
_RDNA3_MESSAGES = {5: "STALL_WAVE_GEN", 6: "HALT_WAVES", **_RDNA4_MESSAGES}
del _RDNA3_MESSAGES[135]
_MESSAGES = {
    "rdna3": _RDNA3_MESSAGES,
    "rdna4": _RDNA4_MESSAGES,
    "cdna5": {**_RDNA4_MESSAGES, 10: "SAVEWAVE_HAS_TDM", 136: "RTN_GET_CLUSTER_BARRIER_STATE"},
}
INSTANCES = (
    "NO_DEP", "VALU_DEP_1", "VALU_DEP_2", "VALU_DEP_3", "VALU_DEP_4", "TRANS32_DEP_1", "TRANS32_DEP_2",
    "TRANS32_DEP_3", "FMA_ACCUM_CYCLE_1", "SALU_CYCLE_1", "SALU_CYCLE_2", "SALU_CYCLE_3",
)  # fmt: skip
SKIPS = ("SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4")
_INVALID = "/* invalid {} value */"
# (name, lowest bit, width)
DEPENDENCIES = (
    ("hold_cnt", 7, 1), ("sa_sdst", 0, 1), ("va_vdst", 12, 4), ("va_sdst", 9, 3), ("va_ssrc", 8, 1), ("va_vcc", 1, 1),
    ("vm_vsrc", 2, 3),
)  # fmt: skip


def _decimal(value: int, family: str) -> str:
    return str(value)


def _optional(value: int, family: str) -> str:
    """s_endpgm: 0 is not printed."""
    return str(value) if value else ""


def _inline(value: int, family: str) -> str:
    """s_barrier_wait: in decimal digits as far as it were an inline constant."""
    return str(value) if value <= 64 else f"{value:#x}"


def _hexadecimal(value: int, family: str) -> str:
    return f"{value:#x}"


def _counters(value: int, family: str) -> str:
    """s_waitcnt: those that are waited for, or all."""
    fields = [(name, count, most) for (name, count), (_, _, most) in
              zip(counters(value, family).items(), counter_fields(family))]  # fmt: skip
    waited = [field for field in fields if field[1] != field[2]] or fields
    return " ".join(f"{name}({count})" for name, count, _ in waited)


# Of s_waitcnt: the counters, (lowest bit, width) of their parts, the lowest part first, and their largest value.
_CDNA_COUNTERS = (("vmcnt", ((0, 4), (14, 2)), 63), ("expcnt", ((4, 3),), 7), ("lgkmcnt", ((8, 4),), 15))
_RDNA_COUNTERS = (("vmcnt", ((10, 6),), 63), ("expcnt", ((0, 3),), 7), ("lgkmcnt", ((4, 6),), 63))


def counter_fields(family: str) -> tuple[tuple[str, tuple[tuple[int, int], ...], int], ...]:
    """The fields of s_waitcnt: (counter, (lowest bit, width) of its parts from the lowest, largest value).

    >>> counter_fields("cdna3")[0]
    ('vmcnt', ((0, 4), (14, 2)), 63)
    """
    return _CDNA_COUNTERS if family.startswith("cdna") else _RDNA_COUNTERS


def counters(value: int, family: str) -> dict[str, int]:
    """The counts of s_waitcnt.

    >>> counters(0x0F70, "cdna3")
    {'vmcnt': 0, 'expcnt': 7, 'lgkmcnt': 15}
    """
    found = {}
    for name, parts, _ in counter_fields(family):
        found[name], shift = 0, 0
        for low, width in parts:
            found[name] |= (value >> low & (1 << width) - 1) << shift
            shift += width
    return found


def hardware_registers(family: str) -> dict[int, str]:
    """The hardware registers of a family by their numbers, without HW_REG_."""
    return _HARDWARE[family]


def hardware_register(number: int, family: str) -> str:
    """The name of a hardware register, as s_getreg and s_setreg print it; its number where it has none.

    >>> hardware_register(26, "cdna5"), hardware_register(62, "cdna5")
    ('HW_REG_WAVE_SCHED_MODE', '62')
    """
    known = _HARDWARE[family].get(number)
    return f"HW_REG_{known}" if known else str(number)


def hardware_field(instruction: DecodedInstruction) -> tuple[str, int, int]:
    """The name of the hardware register that SIMM16 names, and the first bit and number of bits of it."""
    simm = int(instruction.modifiers["simm16"])
    return hardware_register(simm & 63, instruction.form.family), simm >> 6 & 31, (simm >> 11) + 1  # type: ignore[attr-defined]


def _hardware(value: int, family: str) -> str:
    offset, size = value >> 6 & 31, (value >> 11 & 31) + 1
    shown = hardware_register(value & 63, family)
    return f"hwreg({shown})" if (offset, size) == (0, 32) else f"hwreg({shown}, {offset}, {size})"


def _message(value: int, family: str) -> str:
    if family in _MESSAGES:
        number = value & 255
        if number in _MESSAGES[family]:
            return f"sendmsg(MSG_{_MESSAGES[family][number]})"
        return f"sendmsg({value}, 0, 0)" if value < 256 else str(value)
    number, operation, stream = value & 15, value >> 4 & 7, value >> 8 & 3
    if number in _CDNA_OPERATIONS:
        known = _CDNA_OPERATIONS[number].get(operation)
        streamed = number != 15 and operation
        if known and (streamed or not stream):  # the other bits are not looked at
            last = f", {stream}" if streamed else ""
            return f"sendmsg(MSG_{_CDNA_MESSAGES[number]}, {known}{last})"
    elif number in _CDNA_MESSAGES and not operation and not stream:
        return f"sendmsg(MSG_{_CDNA_MESSAGES[number]})"
    return f"sendmsg({number}, {operation}, {stream})" if value & ~0x37F == 0 else str(value)


def _delay(value: int, family: str) -> str:
    parts = []
    for name, part, names in (
        ("instid0", value & 15, INSTANCES),
        ("instskip", value >> 4 & 7, SKIPS),
        ("instid1", value >> 7 & 15, INSTANCES),
    ):
        if part:
            shown = names[part] if part < len(names) else _INVALID.format(name.rstrip("01"))
            parts.append(f"{name}({shown})")
    return " | ".join(parts) or "0"


def _dependencies(value: int, family: str) -> str:
    """s_waitcnt_depctr and s_wait_alu: those that are waited for, or all."""
    if value & 0x60:
        return f"{value:#x}"
    fields = [(name, value >> low & (1 << width) - 1, (1 << width) - 1) for name, low, width in DEPENDENCIES]
    waited = [field for field in fields if field[1] != field[2]] or fields
    return " ".join(f"depctr_{name}({count})" for name, count, _ in waited)


def _index_mode(value: int, family: str) -> str:
    if value > 15:
        return f"{value:#x}"
    names = ("SRC0", "SRC1", "SRC2", "DST")
    return f"gpr_idx({','.join(name for bit, name in enumerate(names) if value >> bit & 1)})"


_VERSIONS = {0: "UC_VERSION_GFX7", 4: "UC_VERSION_GFX10", 6: "UC_VERSION_GFX11", 9: "UC_VERSION_GFX12"}
_VERSION_FLAGS = ((13, "UC_VERSION_W64_BIT"), (14, "UC_VERSION_W32_BIT"), (15, "UC_VERSION_MDP_BIT"))


def _version(value: int, family: str) -> str:
    """s_version: a number or its name, and flags; the sum of the first ones in parentheses."""
    number = value & 0xFF
    if value & 0x1F00:
        return f"{value:#x}"
    shown, several = _VERSIONS.get(number, str(number)), False
    for bit, name in _VERSION_FLAGS:
        if value >> bit & 1:
            shown, several = f"({shown})|{name}" if several else f"{shown}|{name}", True
    return shown


# What a number in the place of an operand is: by the name in the tables, the text of a value of a family of targets.
STYLES: dict[str, Callable[[int, str], str]] = {
    "dec": _decimal, "opt": _optional, "inline": _inline, "hex": _hexadecimal, "hwreg": _hardware,
    "sendmsg": _message, "waitcnt": _counters, "delay": _delay, "depctr": _dependencies, "gpridx": _index_mode,
    "version": _version,
}  # fmt: skip

_ROWS = {0x100: "row_shl", 0x110: "row_shr", 0x120: "row_ror"}
_WHOLE = {
    0x130: "wave_shl:1", 0x134: "wave_rol:1", 0x138: "wave_shr:1", 0x13C: "wave_ror:1", 0x142: "row_bcast:15",
    0x143: "row_bcast:31",
}  # fmt: skip


def dpp_control(value: int, family: str) -> str:
    """The text of a 9-bit DPP control; "" if the family has none of this value.

    >>> dpp_control(0xE4, "cdna3"), dpp_control(0x111, "rdna3"), dpp_control(0x151, "rdna3")
    ('quad_perm:[0,1,2,3]', 'row_shr:1', 'row_share:1')
    """
    if value < 0x100:
        return f"quad_perm:[{','.join(str(value >> 2 * lane & 3) for lane in range(4))}]"
    cdna = family.startswith("cdna") and family != "cdna5"
    if cdna and value in _WHOLE:
        return _WHOLE[value]
    if value in (0x140, 0x141):
        return ("row_mirror", "row_half_mirror")[value & 1]
    row, lane = value & ~15, value & 15
    if row in _ROWS and lane:
        return f"{_ROWS[row]}:{lane}"
    if row == 0x150 and family != "cdna1":
        return f"{'row_newbcast' if cdna else 'row_share'}:{lane}"
    if row == 0x160 and not cdna:
        return f"row_xmask:{lane}"
    return ""


@lru_cache(maxsize=64)
def dpp_controls(family: str) -> frozenset[int]:
    """The DPP controls that a family has."""
    return frozenset(value for value in range(512) if dpp_control(value, family))


def swizzle(value: int) -> str:
    """The pattern of ds_swizzle_b32; a number where it has no name.

    >>> swizzle(0x041F), swizzle(0x801B), swizzle(0x00A0 | 0x0400)
    ('swizzle(SWAP,1)', 'swizzle(QUAD_PERM,3,2,1,0)', 'swizzle(BITMASK_PERM,"00100")')
    """
    if value & 0xFF00 == 0x8000:
        return f"swizzle(QUAD_PERM,{','.join(str(value >> 2 * lane & 3) for lane in range(4))})"
    if value >= 0xE000:
        return f"swizzle(FFT,{value & 31})"
    if value >= 0xC000:
        return f"swizzle(ROTATE,{value >> 10 & 1},{value >> 5 & 31})"
    if value >= 0x8000:
        return str(value)
    keep, force, flip = value & 31, value >> 5 & 31, value >> 10 & 31
    if (keep, force) == (31, 0) and flip in (1, 2, 4, 8, 16):
        return f"swizzle(SWAP,{flip})"
    if (keep, force) == (31, 0) and flip in (1, 3, 7, 15, 31):
        return f"swizzle(REVERSE,{flip + 1})"
    group = 32 - keep
    if group in (2, 4, 8, 16, 32) and force < group and not flip:
        return f"swizzle(BROADCAST,{group},{force})"
    pattern = "".join(_swizzled(keep >> bit & 1, force >> bit & 1, flip >> bit & 1) for bit in range(4, -1, -1))
    return f'swizzle(BITMASK_PERM,"{pattern}")'


def _swizzled(keep: int, force: int, flip: int) -> str:
    """What becomes of one bit of the lane's number: 0, 1, p (kept), i (inverted)."""
    low, high = force ^ flip, (keep | force) ^ flip
    return {(0, 0): "0", (1, 1): "1", (0, 1): "p", (1, 0): "i"}[low, high]
