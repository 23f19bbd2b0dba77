"""Accesses of memory by the lanes of a group: what a mnemonic names, which lanes take part, what is loaded, stored and
computed in global memory, LDS and scratch."""

from __future__ import annotations

import re

import numpy as np

from ...asm.decoded import RegisterOperand
from ...base.errors import Error
from ...base.records import TupleRecord
from ..device.memory import Outside, gathered, scattered
from .checks import LocalAccess
from .local_barriers import ARRIVE, arrive
from .operands import bfloat, raw_reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from ..device.shared import PrivateMemory
    from .operands import Data
    from .state import Group

__all__ = [
    "Access",
    "ActiveLanes",
    "access_of",
    "atomic_words",
    "extended",
    "global_access",
    "global_offsets",
    "index_scale",
    "lds_access",
    "load_registers",
    "loaded_words",
    "narrow_code",
    "offset_of",
    "scratch_access",
]

# --- what mnemonics say ---


# What is moved: words, bytes or shorts as CDNA spells them, or so many bits; d16: to half of a register, the lower one
# or (hi) the upper one.
_TYPE = re.compile(
    r"(?P<before>d16_(hi_)?)?"
    r"(dword(x(?P<words>\d+))?|(?P<sign>[us]?)(?P<name>byte|short)|(?P<kind>[bui])(?P<bits>\d+))"
    r"(?P<after>_d16(_hi)?)?$"
)
_BYTES = {"byte": 1, "short": 2}

_UNITS = r"(global|cluster(?=_load)|flat|scratch|buffer|ds|s_buffer|s)_"
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
    asynchronous: whether it goes between memory and LDS under ASYNCCNT. transposes: whether lanes exchange what they
    load.
    """

    unit: str
    action: str
    size: int
    signed: bool = False
    half: int | None = None
    kind: str = ""
    pair: int = 0
    to_lds: bool = False
    asynchronous: bool = False
    transposes: bool = False


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
        unit = {"s": "scalar", "s_buffer": "scalar buffer", "cluster": "global"}.get(match[1], match[1])
        return Access(
            unit,
            {"read": "load", "write": "store"}.get(match[2], match[2]),
            size,
            signed,
            half,
            to_lds=match[3] in ("lds_", "async_to_lds_"),
            asynchronous=match[3] in ("async_to_lds_", "async_from_lds_"),
        )
    if match := _ATOMIC.match(name):
        return _atomic(*match.groups())
    if name == "ds_atomic_barrier_arrive_rtn_b64":
        return Access("ds", ARRIVE, 8, kind="u64")
    if name == "ds_atomic_async_barrier_arrive_b64":
        return Access("ds", ARRIVE, 8, kind="u64", asynchronous=True)
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


def narrow_code(access: Access, operand: RegisterOperand) -> int:
    """How the core moves less than a register (put_narrow of waves.h): 0 where it moves whole ones."""
    half = access.half
    if half is None and operand.bits == 16:
        half = operand.half
    if access.size >= 4:
        return 0
    if access.action == "store":
        return 9 if half else 1
    return 1 | 2 * access.signed | {None: 0, 0: 4, 1: 8}[half]


# --- the lanes of an access ---


class ActiveLanes:
    """The lanes of one access: which are active, their addresses, and which waves they belong to."""

    group: Group
    mask: Array | None
    size: int

    __slots__ = ("addresses", "group", "mask", "size", "waves")

    def __init__(self, group: Group, addresses: Array, size: int) -> None:
        self.group, self.mask, self.size = group, group.mask, size
        whole = np.broadcast_to(addresses, (group.count, group.lanes))
        self.addresses: Array = whole.ravel() if group.mask is None else whole[group.mask]
        self.waves: Array

    def lanes(self) -> tuple[Array, Array]:
        """The wave (row of the batch) and the lane of each access."""
        waves, lanes = np.nonzero(self.group.active)
        return self.group.numbers()[waves], lanes

    def rows(self) -> Array:
        """The wave (row of the batch) of each access."""
        whole = np.broadcast_to(self.group.numbers()[:, None], (self.group.count, self.group.lanes))
        return whole.ravel() if self.mask is None else whole[self.mask]

    def who(self, place: int) -> tuple[int, int | None]:
        """The wave and the lane of one access."""
        rows, columns = self.lanes()
        return int(rows[place]), int(columns[place])

    def spread(self, value: Array) -> Array:
        """The values of the accesses as (count, lanes)."""
        shape = (self.group.count, self.group.lanes)
        if self.mask is None:
            return value.reshape(shape)
        found = np.zeros(shape, value.dtype)
        found[self.mask] = value
        return found

    def table(self, value: Array) -> Array:
        """The values of the accesses, one row for each wave that has one, -1 where a lane is inactive."""
        if self.mask is None:
            return value.reshape(self.group.count, self.group.lanes).astype(np.int64)
        found: Array = np.full((self.group.count, self.group.lanes), -1, np.int64)
        found[self.mask] = value
        return found[self.mask.any(axis=1)]

    def gather(self, value: Array) -> Array:
        """The values (count, lanes) of the active lanes, in the order of the accesses."""
        whole = np.broadcast_to(value, (self.group.count, self.group.lanes))
        return whole.ravel() if self.mask is None else whole[self.mask]


def extended(word: Array, access: Access) -> Array:
    """A word that was loaded, with its sign extended where the access does that."""
    if not access.signed:
        return word
    by = np.int32(32 - 8 * access.size)
    return ((word.view(np.int32) << by) >> by).view(np.uint32)


def load_registers(
    group: Group,
    lanes: ActiveLanes,
    instruction: DecodedInstruction,
    access: Access,
    words: list[Array],
    first: int = 0,
) -> None:
    """Write what was loaded into the destination."""
    destination = instruction.destinations[0]
    file = group.registers.file(destination)
    for number, word in enumerate(words):
        index = destination[1] + first + number
        spread = lanes.spread(extended(word, access))
        half = access.half
        if half is None and destination.bits == 16:
            half = destination.half
        if half is not None:
            old = file[index, group.rows]
            low = np.uint32(0xFFFF)
            spread = old & low | spread << np.uint32(16) if half else old & ~low | spread & low
        group.write(file, index, spread)


def stored_words(group: Group, lanes: ActiveLanes, access: Access, data: Data, first: int = 0) -> list[Array]:
    """The words that a store writes."""
    assert data is not None
    words = []
    for number in range(max(1, access.size // 4)):
        value = lanes.gather(raw_reader(data, first + number)(group))
        half = access.half or (data.half if isinstance(data, RegisterOperand) and data.bits == 16 else 0)
        words.append(value >> np.uint32(16) if half else value)
    return words


# --- atomic operations: lane after lane, wave after wave ---


def _pairs(dtype: str) -> Callable[[Any, Any], Any]:
    def add(old: Any, value: Any) -> Any:
        both = np.array([old, value], np.uint32)
        if dtype == "f16":
            return (both.view(np.float16).reshape(2, 2).sum(axis=0, dtype=np.float16)).view(np.uint32)[0]
        low = bfloat((both << np.uint32(16)).view(np.float32).sum(keepdims=True))
        high = bfloat((both & np.uint32(0xFFFF0000)).view(np.float32).sum(keepdims=True))
        return (low | high << np.uint32(16))[0]

    return add


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda old, value: old + value,
    "sub": lambda old, value: old - value,
    "rsub": lambda old, value: value - old,
    "csub": lambda old, value: old - value if old >= value else old * 0,
    "sub_clamp": lambda old, value: old - value if old >= value else old * 0,
    "cond_sub": lambda old, value: old - value if old >= value else old,
    "min": np.fmin,
    "max": np.fmax,
    "and": lambda old, value: old & value,
    "or": lambda old, value: old | value,
    "xor": lambda old, value: old ^ value,
    "swap": lambda old, value: value,
    "inc": lambda old, value: old * 0 if old >= value else old + old.dtype.type(1),
    "dec": lambda old, value: value if old == 0 or old > value else old - old.dtype.type(1),
}
# Operations that NumPy does on many places at once, any number of them alike, where no lane wants the old value.
AT_ONCE: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "min": np.fmin, "max": np.fmax, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip
DTYPES: dict[str, type[np.number[Any]]] = {
    "u32": np.uint32, "i32": np.int32, "u64": np.uint64, "i64": np.int64, "f32": np.float32, "f64": np.float64,
}  # fmt: skip


def atomic_words(
    data: Array, offsets: Array, action: str, kind: str, values: list[Array], compared: list[Array], returns: bool
) -> list[Array] | None:
    """Do an atomic operation at some byte offsets, in their order.

    Args:
        values, compared: words of the operand, and of what cmpswap compares with.
        kind: the type: u32, i32, f32, u64, i64, f64, f16 or bf16 (of pk_add).

    Returns:
        The words of what was there before, if `returns`.
    """
    packed = action == "pk_add"
    dtype = np.uint32 if packed else DTYPES[kind]
    typed = _typed(values, dtype)
    view = data.view(dtype)
    places = offsets // np.dtype(dtype).itemsize
    if action in AT_ONCE and not returns:
        AT_ONCE[action].at(view, places, typed)
        return None
    expected = _typed(compared, dtype) if compared else None
    operation = _pairs(kind) if packed else OPERATIONS.get(action)
    before = np.empty(len(places), dtype)
    for number, place in enumerate(places.tolist()):
        old = before[number] = view[place]
        if expected is not None:
            if old == expected[number]:
                view[place] = typed[number]
        else:
            assert operation is not None
            view[place] = operation(old, typed[number])
    words = before.view(np.uint32).reshape(len(places), before.itemsize // 4)
    return [words[:, number] for number in range(words.shape[1])]


def _typed(words: list[Array], dtype: Any) -> Array:
    if np.dtype(dtype).itemsize == 4:
        return np.ascontiguousarray(words[0]).view(dtype)
    found: Array = np.stack(words, axis=-1).view(dtype)[..., 0]
    return found


def atomic_access(
    group: Group,
    lanes: ActiveLanes,
    instruction: DecodedInstruction,
    access: Access,
    where: tuple[Array, Array, Data],
) -> None:
    """Carry out an atomic operation at some offsets; `where`: the bytes, the offsets, the operand."""
    data, offsets, operand = where
    assert operand is not None
    count = access.size // 4
    returns = bool(instruction.destinations)
    action, compared = access.action, []
    values = [lanes.gather(raw_reader(operand, number)(group)) for number in range(count)]
    if action in ("cmpswap", "fcmpswap"):
        if access.unit == "ds":  # cmpst: what to compare with, then the value
            other = instruction.sources[2]
            compared, values = values, [lanes.gather(raw_reader(other, n)(group)) for n in range(count)]
        else:  # the value, then what to compare with
            compared = [lanes.gather(raw_reader(operand, count + number)(group)) for number in range(count)]
    elif action == "cmpstore":
        other = instruction.sources[2]
        compared = [lanes.gather(raw_reader(other, number)(group)) for number in range(count)]
    found = atomic_words(data, offsets, action, access.kind, values, compared, returns)
    if returns and found is not None:
        load_registers(group, lanes, instruction, access, found)


# --- LDS and scratch ---


def lds_access(
    group: Group,
    lanes: ActiveLanes,
    instruction: DecodedInstruction,
    access: Access,
    data: Data,
    delayed: bool = False,
) -> list[Array] | None:
    """An access of LDS; what a load finds is returned if `delayed`, else written."""
    batch = group.batch
    lds = batch.lds
    addresses = lanes.addresses
    if len(addresses) and (int(addresses.max()) + access.size > lds.size or int(addresses.min()) < 0):
        return _partly_outside(group, lanes, instruction, access, data, delayed)
    rows, _ = lanes.lanes()
    offsets = addresses + batch.waves.workgroup_of[rows] * lds.stride
    if access.action == "load":
        batch.barriers_read(rows, offsets, access.size)
        batch.accessed(LocalAccess(group, lanes, instruction, access, "read", offsets, rows, None, False))
        words = gathered(lds.data, offsets, access.size)
        batch.uninitialised.loaded(group, lanes, lds.undefined_at(offsets, access.size), "LDS")
        if delayed:
            return words
        load_registers(group, lanes, instruction, access, words)
    elif access.action == "store":
        words = stored_words(group, lanes, access, data)
        batch.accessed(LocalAccess(group, lanes, instruction, access, "write", offsets, rows, words, False))
        scattered(lds.data, offsets, access.size, words)
        lds.note_stored(offsets, access.size, _stored(group, lanes, data))
    else:
        batch.alignment.atomic(instruction, access, lanes, "LDS")
        if access.action == ARRIVE:
            _arrive(group, lanes, instruction, access, (offsets, rows, data))
            return None
        kind = "compare-and-swap" if "cmp" in access.action else "atomic"
        batch.accessed(LocalAccess(group, lanes, instruction, access, kind, offsets, rows, None, False))
        _local_atomic(group, lanes, instruction, access, (lds, offsets, data, "LDS"))
    return None


def _arrive(
    group: Group, lanes: ActiveLanes, instruction: DecodedInstruction, access: Access, where: tuple[Array, Array, Data]
) -> None:
    """Lanes arrive at barriers in LDS, one after the other; `where`: the offsets, the wave of each, the operand."""
    (offsets, rows, operand), batch = where, group.batch
    undefined = batch.lds.undefined_at(offsets, access.size)
    if undefined is not None:
        text = "arrives at a barrier in LDS that nothing has initialised"
        batch.reporter.find("uninitialised", group.numbers(), instruction, text, lanes.spread(undefined))
    counts: Array = np.ones(len(offsets), np.int64)
    if operand is not None:
        if (lost := _stored(group, lanes, operand)) is not None:
            batch.lds.note_stored(offsets[lost], access.size, np.ones(int(lost.sum()), np.bool_))
        counts = _typed([lanes.gather(raw_reader(operand, number)(group)) for number in range(2)], np.int64)
    before: Array = np.zeros(len(offsets), np.uint64)
    try:
        for row in np.unique(rows).tolist():
            mine = rows == row
            before[mine] = arrive(batch, row, offsets[mine], counts[mine], "async" if access.asynchronous else "")
    except Error as error:
        raise Error(f"at {instruction.address:#x} ({instruction.name}): {error}") from None
    if instruction.destinations:
        words = before.view(np.uint32).reshape(-1, 2)
        batch.uninitialised.loaded(group, lanes, undefined, "LDS")
        load_registers(group, lanes, instruction, access, [words[:, 0], words[:, 1]])


def _partly_outside(
    group: Group,
    lanes: ActiveLanes,
    instruction: DecodedInstruction,
    access: Access,
    data: Data,
    delayed: bool,
) -> list[Array] | None:
    """As `lds_access`, where some lanes are far outside of LDS: these load zeros, and what they store is dropped."""
    far = lanes.spread(group.batch.bounds.far_outside_lds(group, instruction, access, lanes))
    whole, before, active = lanes.spread(lanes.addresses), group.mask, group.active
    words: list[Array] | None = None
    zeros = [np.zeros((group.count, group.lanes), np.uint32)] * max(1, access.size // 4)
    loads = access.action == "load"
    try:
        group.mask = active & ~far
        inside = ActiveLanes(group, whole, access.size)
        if len(inside.addresses):
            words = lds_access(group, inside, instruction, access, data, delayed=loads)
        if not loads and instruction.destinations:  # what an atomic operation returns
            group.mask = active & far
            outside = ActiveLanes(group, whole, access.size)
            load_registers(group, outside, instruction, access, [outside.gather(word) for word in zeros])
    finally:
        group.mask = before
    if not loads:
        return None
    found = [lanes.gather(word) for word in (zeros if words is None else [inside.spread(word) for word in words])]
    if delayed:
        return found
    load_registers(group, lanes, instruction, access, found)
    return None


def _local_atomic(
    group: Group,
    lanes: ActiveLanes,
    instruction: DecodedInstruction,
    access: Access,
    where: tuple[PrivateMemory, Array, Data, str],
) -> None:
    """An atomic operation on LDS or scratch; `where`: the memory, the offsets, the operand, what it is called.

    What it returns is undefined where the memory was. What it leaves is undefined where the memory or an operand was;
    an exchange leaves its operand.
    """
    memory, offsets, data, name = where
    if instruction.destinations:
        group.batch.uninitialised.loaded(group, lanes, memory.undefined_at(offsets, access.size), name)
    operands = instruction.sources[1:] if access.unit == "ds" else (data,)
    for operand in operands:
        undefined = _stored(group, lanes, operand)
        if access.action == "swap":
            memory.note_stored(offsets, access.size, undefined)
        elif undefined is not None:
            memory.note_stored(offsets[undefined], access.size, np.ones(int(undefined.sum()), np.bool_))
    atomic_access(group, lanes, instruction, access, (memory.data, offsets, data))


def _stored(group: Group, lanes: ActiveLanes, data: Data) -> Array | None:
    """Which accesses store an undefined value; None if none does."""
    found = group.batch.uninitialised.stored(group, data)
    return None if found is None else lanes.gather(found)


def scratch_access(
    group: Group, lanes: ActiveLanes, instruction: DecodedInstruction, access: Access, data: Data
) -> None:
    """An access of scratch by some lanes."""
    batch = group.batch
    scratch = batch.scratch
    addresses = lanes.addresses
    if len(addresses) and (int(addresses.max()) + access.size > scratch.size or int(addresses.min()) < 0):
        batch.bounds.outside_scratch(instruction, access, lanes)
    rows, columns = lanes.lanes()
    offsets = addresses + (rows * group.lanes + columns) * scratch.stride
    if access.action == "load":
        words = gathered(scratch.data, offsets, access.size)
        if access.size < 4:
            batch.uninitialised.loaded(group, lanes, scratch.undefined_at(offsets, access.size), "scratch")
        else:
            batch.uninitialised.loaded_bits(
                group, lanes, gathered(scratch.undefined, offsets, access.size), instruction
            )
        load_registers(group, lanes, instruction, access, words)
    elif access.action == "store":
        scattered(scratch.data, offsets, access.size, stored_words(group, lanes, access, data))
        bits = batch.uninitialised.stored_bits(data)
        if bits is None or access.size < 4:
            scratch.note_stored(offsets, access.size, _stored(group, lanes, data))
        else:  # compilers keep masks of lanes there that are defined in some
            scattered(scratch.undefined, offsets, access.size, [lanes.gather(group.undefined(one)) for one in bits])
    else:
        batch.alignment.atomic(instruction, access, lanes, "scratch")
        _local_atomic(group, lanes, instruction, access, (scratch, offsets, data, "scratch"))


# --- global memory ---


def global_access(
    group: Group, lanes: ActiveLanes, instruction: DecodedInstruction, access: Access, data: Data
) -> None:
    """An access of global memory by some lanes."""
    batch = group.batch
    memory = batch.memory
    offsets = global_offsets(group, lanes, instruction, access)
    if access.action == "load":
        batch.grid_races.accessed(lanes, instruction, access, offsets, None)
        load_registers(group, lanes, instruction, access, gathered(memory.data, offsets, access.size))
    elif access.action == "store":
        batch.uninitialised.check_stored(group, instruction, data, access)
        words = stored_words(group, lanes, access, data)
        batch.grid_races.accessed(lanes, instruction, access, offsets, words)
        scattered(memory.data, offsets, access.size, words)
    else:
        batch.alignment.atomic(instruction, access, lanes, "global memory")
        batch.uninitialised.check_stored(group, instruction, data, access)
        batch.grid_races.accessed(lanes, instruction, access, offsets, None)
        atomic_access(group, lanes, instruction, access, (memory.data, offsets, data))


def global_offsets(group: Group, lanes: ActiveLanes, instruction: DecodedInstruction, access: Access) -> Array:
    """Where the accesses are in global memory; one that is outside of it stops the launch."""
    batch = group.batch
    try:
        words = batch.program.swaps_words and access.action != "store"
        offsets: Array = batch.memory.offsets(lanes.addresses, access.size, access.action != "load", words)
    except Outside as outside:
        batch.bounds.outside(group, instruction, access, outside, lanes)
    batch.reaches(lanes, access, offsets)
    return offsets


def loaded_words(group: Group, lanes: ActiveLanes, instruction: DecodedInstruction, access: Access) -> list[Array]:
    """The words that a load of some lanes finds in global memory."""
    offsets = global_offsets(group, lanes, instruction, access)
    group.batch.grid_races.accessed(lanes, instruction, access, offsets, None)
    return gathered(group.batch.memory.data, offsets, access.size)
