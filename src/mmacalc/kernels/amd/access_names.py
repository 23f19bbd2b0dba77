"""What the names of memory instructions say: loads, stores and atomic operations, their sizes and types."""

from __future__ import annotations

import re

from ...records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...asm.decoded import DecodedInstruction

__all__ = ["Access", "access_of", "index_scale", "offset_of"]

# What is moved: words, bytes or shorts as CDNA spells them, or so many bits; d16: to half of a register, the lower one
# or (hi) the upper one.
_TYPE = re.compile(
    r"(?P<before>d16_(hi_)?)?"
    r"(dword(x(?P<words>\d+))?|(?P<sign>[us]?)(?P<name>byte|short)|(?P<kind>[bui])(?P<bits>\d+))"
    r"(?P<after>_d16(_hi)?)?$"
)
_BYTES = {"byte": 1, "short": 2}

_UNITS = r"(global|flat|scratch|buffer|ds|s_buffer|s)_"
_PLAIN = re.compile(rf"{_UNITS}(load|store|read|write)_(lds_|async_to_lds_|async_from_lds_)?(.*)$")
_TWO = re.compile(r"ds_(load_2addr|store_2addr|read2|write2)(st64|_stride64)?_b(32|64)$")
_ATOMIC = re.compile(
    r"(global_atomic|flat_atomic|buffer_atomic|s_buffer_atomic|s_atomic|ds)_(cmpswap|cmpst|cmpstore|swap|wrxchg|storexchg"
    r"|add|sub|rsub|csub|smin|smax|umin|umax|min_num|max_num|min|max|and|or|xor|inc|dec|pk_add|cond_sub|sub_clamp)"
    r"(_rtn)?(_x2|_[a-z]+\d+)?$"
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
    if (match := _PLAIN.match(name)) and (moved := _TYPE.match(match[4])):
        size, signed, half = _size(moved)
        unit = {"s": "scalar", "s_buffer": "scalar buffer"}.get(match[1], match[1])
        return Access(
            unit,
            {"read": "load", "write": "store"}.get(match[2], match[2]),
            size,
            signed,
            half,
            to_lds=match[3] in ("lds_", "async_to_lds_"),
        )
    if match := _ATOMIC.match(name):
        return _atomic(*match.groups())
    return None


def _size(moved: re.Match[str]) -> tuple[int, bool, int | None]:
    """The bytes of a type, whether it extends its sign, and which half of the register it fills; None for all of it."""
    where = moved["before"] or moved["after"]
    half = ("hi" in where) + 0 if where else None
    if moved["name"]:
        return _BYTES[moved["name"]], moved["sign"] == "s", half
    if moved["kind"]:
        return int(moved["bits"]) // 8, moved["kind"] == "i", half
    return 4 * int(moved["words"] or 1), False, half


def _atomic(unit: str, action: str, returns: str | None, suffix: str | None) -> Access:
    action = {"cmpst": "cmpswap", "wrxchg": "swap", "storexchg": "swap", "min_num": "min", "max_num": "max"}.get(
        action, action
    )
    default = {"smin": "i", "smax": "i"}.get(action, "u")
    action = {"smin": "min", "smax": "max", "umin": "min", "umax": "max"}.get(action, action)
    kind = {None: f"{default}32", "_x2": f"{default}64"}.get(suffix) or (suffix or "")[1:]
    kind = kind.replace("b", "u") if kind in ("b32", "b64") else kind
    size = 8 if kind.endswith("64") else 4
    unit = {"s_atomic": "scalar", "s_buffer_atomic": "scalar buffer"}.get(unit, unit.partition("_")[0])
    return Access(unit, action, size, kind=kind)


def offset_of(instruction: DecodedInstruction) -> int:
    """The constant offset of an access."""
    return int(instruction.modifiers.get("offset", 0))


def index_scale(instruction: DecodedInstruction, access: Access) -> int:
    """By how much an index register counts: SCALE_OFFSET multiplies it by the size of the access."""
    return access.size if instruction.modifiers.get("scale_offset") else 1
