"""Atomic operations on memory: lane after lane, wave after wave."""

from __future__ import annotations

import numpy as np

from .active_lanes import load_registers
from .operands import bfloat, raw_reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...arrays import Array
    from ...asm.decoded import DecodedInstruction
    from .access_names import Access
    from .active_lanes import ActiveLanes
    from .state import Group

__all__ = ["apply", "atomic_access"]


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


def apply(
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
    words = before.view(np.uint32).reshape(len(places), -1)
    return [words[:, number] for number in range(words.shape[1])]


def _typed(words: list[Array], dtype: Any) -> Array:
    if np.dtype(dtype).itemsize == 4:
        return np.ascontiguousarray(words[0]).view(dtype)
    found: Array = np.stack(words, axis=-1).view(dtype)[..., 0]
    return found


def atomic_access(
    group: Group, lanes: ActiveLanes, instruction: DecodedInstruction, access: Access, where: tuple[Array, Array, Any]
) -> None:
    """Carry out an atomic operation at some offsets; `where`: the bytes, the offsets, the operand."""
    data, offsets, operand = where
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
    found = apply(data, offsets, action, access.kind, values, compared, returns)
    if returns and found is not None:
        load_registers(group, lanes, instruction, access, found)
