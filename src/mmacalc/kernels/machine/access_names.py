"""What the names of memory instructions say: loads, stores and atomic operations, their sizes and types."""

from __future__ import annotations

import re

from ...records import TupleRecord

__all__ = ["Access", "access_of"]

# name: (bytes, signed, half of the register that is written: None for all of it)
TYPES: dict[str, tuple[int, bool, int | None]] = {
    "dword": (4, False, None), "dwordx2": (8, False, None), "dwordx3": (12, False, None),
    "dwordx4": (16, False, None), "dwordx8": (32, False, None), "dwordx16": (64, False, None),
    "b96": (12, False, None), "b32": (4, False, None), "b64": (8, False, None), "b128": (16, False, None),
    "b256": (32, False, None), "b512": (64, False, None), "ubyte": (1, False, None), "sbyte": (1, True, None),
    "byte": (1, False, None), "ushort": (2, False, None), "sshort": (2, True, None), "short": (2, False, None),
    "u8": (1, False, None), "i8": (1, True, None), "u16": (2, False, None), "i16": (2, True, None),
    "b8": (1, False, None), "b16": (2, False, None), "short_d16": (2, False, 0), "short_d16_hi": (2, False, 1),
    "ubyte_d16": (1, False, 0), "ubyte_d16_hi": (1, False, 1), "sbyte_d16": (1, True, 0),
    "sbyte_d16_hi": (1, True, 1), "byte_d16_hi": (1, False, 1), "d16_b16": (2, False, 0), "d16_hi_b16": (2, False, 1),
    "d16_u8": (1, False, 0), "d16_hi_u8": (1, False, 1), "d16_i8": (1, True, 0), "d16_hi_i8": (1, True, 1),
    "d16_hi_b8": (1, False, 1), "u8_d16": (1, False, 0), "u8_d16_hi": (1, False, 1), "i8_d16": (1, True, 0),
    "i8_d16_hi": (1, True, 1), "u16_d16": (2, False, 0), "u16_d16_hi": (2, False, 1), "b8_d16_hi": (1, False, 1),
    "b16_d16_hi": (2, False, 1),
}  # fmt: skip

_UNITS = r"(global|flat|scratch|buffer|ds|s_buffer|s)_"
_PLAIN = re.compile(rf"{_UNITS}(load|store|read|write)_(lds_)?(.*)$")
_TWO = re.compile(r"ds_(load_2addr|store_2addr|read2|write2)(st64|_stride64)?_b(32|64)$")
_ATOMIC = re.compile(
    r"(global_atomic|flat_atomic|buffer_atomic|scratch_atomic|ds)_(cmpswap|cmpst|cmpstore|swap|wrxchg|storexchg"
    r"|add|sub|rsub|csub|smin|smax|umin|umax|min_num|max_num|min|max|and|or|xor|inc|dec|pk_add|cond_sub|sub_clamp"
    r"|fcmpswap|fmin|fmax)(_rtn)?(_x2|_[a-z]+\d+)?$"
)


class Access(TupleRecord):
    """What a memory instruction does.

    unit: "global", "flat", "scratch", "buffer", "ds", "scalar" or "scalar buffer". action: "load", "store", or the name
    of an atomic operation. size: bytes of a lane. signed: whether a narrow load extends the sign. half: the half of the
    register, 0 or 1; None for all of it. kind: the type of an atomic operation's operands. pair: 0, or of ds_read2 and
    ds_write2 the bytes by which an offset counts. to_lds: whether a load goes to LDS instead of registers.
    """

    unit: str
    action: str
    size: int
    signed: bool = False
    half: int | None = None
    kind: str = ""
    pair: int = 0
    to_lds: bool = False


def access_of(name: str) -> Access | None:
    """The access that a mnemonic names; None if it is none of these.

    >>> access_of("ds_read2st64_b32").pair, access_of("global_atomic_add_x2").kind, access_of("s_load_b96").size
    (256, 'u64', 12)
    """
    if match := _TWO.match(name):
        size = int(match[3]) // 8
        action = "load" if match[1] in ("load_2addr", "read2") else "store"
        return Access("ds", action, size, pair=size * (64 if match[2] else 1))
    if (match := _PLAIN.match(name)) and match[4] in TYPES:
        size, signed, half = TYPES[match[4]]
        unit = {"s": "scalar", "s_buffer": "scalar buffer"}.get(match[1], match[1])
        return Access(
            unit, {"read": "load", "write": "store"}.get(match[2], match[2]), size, signed, half, to_lds=bool(match[3])
        )
    if match := _ATOMIC.match(name):
        return _atomic(*match.groups())
    return None


def _atomic(unit: str, action: str, returns: str | None, suffix: str | None) -> Access:
    action = {"cmpst": "cmpswap", "cmpstore": "cmpstore", "wrxchg": "swap", "storexchg": "swap", "fmin": "min",
              "fmax": "max", "min_num": "min", "max_num": "max"}.get(action, action)  # fmt: skip
    default = {"smin": "i", "smax": "i"}.get(action, "u")
    action = {"smin": "min", "smax": "max", "umin": "min", "umax": "max"}.get(action, action)
    kind = {None: f"{default}32", "_x2": f"{default}64"}.get(suffix) or (suffix or "")[1:]
    kind = kind.replace("b", "u") if kind in ("b32", "b64") else kind
    if kind == "rtn":
        kind = "u32"
    size = 8 if kind.endswith("64") else 4
    return Access(unit.partition("_")[0], action, size, kind=kind)
