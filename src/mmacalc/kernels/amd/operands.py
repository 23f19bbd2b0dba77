"""Operands of instructions, compiled to functions that read and write the registers of a group of waves.

The types of signatures:

    u32 i32 f32 u64 i64 f64     as NumPy has them; u16, i16, f16: the half that the operand or OP_SEL names
    b32 b64                     a pattern; b32 takes the modifiers of f32
    bf16                        bfloat16, as float32; byte: the byte that BYTE_SEL or SDWA names, lowest
    h16                         (results) a half of the register that OP_SEL names; the other half is kept
    mask                        a bit for each lane, in a scalar register or two
    scc exec                    the registers of these names; old, old64: what the destination holds
    simm uimm                   the 16-bit constant of SOPK, with and without sign
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...asm.decoded import ConstantOperand, RegisterOperand
from ...base.errors import Error
from ..device.undefined import unpacked
from .operations.floats import flushed
from .state import ACCUMULATORS, EXEC, ROWS, SCALARS, SCC, VCC, packed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...base.arrays import Array
    from .state import Group

    Operand = RegisterOperand | ConstantOperand
    Data = Operand | None  # of a memory instruction; loads have none
    Reader = Callable[[Group], Array]
    Words = Callable[..., Reader]
    Writer = Callable[[Group, Array], None]

__all__ = [
    "DTYPES",
    "FLOATS",
    "bfloat",
    "modified",
    "numbers_of",
    "raw_reader",
    "read_exec",
    "reader",
    "scalar_row",
    "typed",
    "write_exec",
    "write_scc",
    "writer",
]

DTYPES: dict[str, type[np.generic]] = {
    "u32": np.uint32, "i32": np.int32, "f32": np.float32, "b32": np.uint32, "u64": np.uint64, "i64": np.int64,
    "f64": np.float64, "b64": np.uint64, "u16": np.uint16, "i16": np.int16, "f16": np.float16,
}  # fmt: skip
FLOATS = ("f16", "f32", "f64")
HALF = np.uint64(32)


def scalar_row(operand: RegisterOperand) -> int:
    """The row of a scalar register among those of a wave.

    Raises:
        Error: the operand is not a scalar register.
    """
    if operand.file not in ROWS:
        raise Error(f"{operand.file} in the place of a scalar register is not covered")
    return ROWS[operand.file] + operand[1]


def numbers_of(operand: object) -> tuple[int, ...]:
    """The numbers of the registers of an operand (see `state`); none for constants."""
    if not isinstance(operand, RegisterOperand) or operand.file in ("off", "null"):
        return ()
    first, count = operand[1], operand[2]
    if operand.file in ("vccz", "execz"):  # they follow from these
        return (SCALARS + (VCC if operand.file == "vccz" else EXEC),)
    start = {"v": 0, "a": ACCUMULATORS}.get(operand.file)
    if start is None and operand.file not in ROWS:  # lds_direct: whoever reads it refuses it
        return ()
    if start is None:
        start = SCALARS + ROWS[operand.file]
    return tuple(range(start + first, start + first + count))


def raw_reader(operand: Operand, part: int = 0) -> Reader:
    """Reads one 32-bit register of an operand: (waves, lanes), (waves, 1) or (1, 1)."""
    if isinstance(operand, ConstantOperand):
        value = np.array([[operand.bits >> 32 * part & 0xFFFFFFFF]], np.uint32)
        return lambda group: value
    index = operand[1] + part
    if operand.file == "v":
        return lambda group: group.v[index, group.rows]
    if operand.file == "a":
        return lambda group: group.a[index, group.rows]
    if operand.file in ("null", "off"):
        zero = np.zeros((1, 1), np.uint32)
        return lambda group: zero
    row = scalar_row(operand) + part
    if operand.file in ("execz", "vccz"):
        first = EXEC if operand.file == "execz" else VCC
        return lambda group: np.asarray(
            ~group.s[first : first + group.lanes // 32, group.rows].any(axis=0)[:, None], np.uint32
        )

    def read_scalar(group: Group) -> Array:
        found: Array = group.s[row, group.rows][:, None]
        return found

    return read_scalar


def reader(operand: Operand, kind: str, high: bool = False) -> Reader:
    """Reads an operand as a type; `high`: the high half, where OP_SEL says so.

    Raises:
        Error: a type that no operand has.
    """
    return typed(partial(raw_reader, operand), operand, kind, high)


def typed(word: Words, operand: Operand, kind: str, high: bool = False) -> Reader:
    """Reads the words of an operand as a type. word: the reader of each 32-bit word.

    Raises:
        Error: a type that no operand has.
    """
    if kind == "mask":
        return _mask_reader(operand)
    if kind in ("u64", "i64", "f64", "b64") and isinstance(operand, ConstantOperand):
        value = np.array([[operand.bits]], np.uint64).view(DTYPES[kind])
        return lambda group: value
    low = word(0)
    if kind in ("u32", "b32"):
        return low
    if kind in ("i32", "f32"):
        dtype = DTYPES[kind]
        return lambda group: low(group).view(dtype)
    if kind in ("u16", "i16", "f16", "bf16"):
        return _half_reader(low, operand, kind, high)
    if kind in ("u64", "i64", "f64", "b64"):
        top, dtype = word(1), DTYPES[kind]
        return lambda group: (top(group).astype(np.uint64) << HALF | low(group)).view(dtype)
    raise Error(f"an operand is read as {kind}, an unknown type")


def _half_reader(low: Reader, operand: Operand, kind: str, high: bool) -> Reader:
    if isinstance(operand, RegisterOperand) and operand.half:
        high = True
    by = np.uint32(16 if high and not (isinstance(operand, ConstantOperand) and operand.width == 16) else 0)
    if kind == "bf16":
        return lambda group: (low(group) >> by << np.uint32(16)).view(np.float32)
    dtype = DTYPES[kind]
    if by:
        return lambda group: (low(group) >> by).astype(np.uint16).view(dtype)
    return lambda group: low(group).astype(np.uint16).view(dtype)


def _mask_reader(operand: Operand) -> Reader:
    if isinstance(operand, ConstantOperand):
        bits = operand.bits
        return lambda group: np.array([[bits >> lane & 1 for lane in range(group.lanes)]], np.bool_)
    if operand.file == "null":
        return lambda group: np.zeros((1, group.lanes), np.bool_)
    first = scalar_row(operand)
    return lambda group: unpacked(group.s[first : first + group.lanes // 32, group.rows], group.lanes)


# --- modifiers of sources ---


def modified(read: Reader, kind: str, negative: bool, absolute: bool) -> Reader:
    """A source with NEG and ABS; of a float in the mode that flushes subnormal numbers, without those."""
    if kind in ("b32", "b64") and (negative or absolute):
        float_kind = np.float32 if kind == "b32" else np.float64
        dtype, inner = DTYPES[kind], read
        return lambda group: _signed(inner(group).view(float_kind), negative, absolute).view(dtype)
    if kind not in (*FLOATS, "bf16"):
        return read
    name = "f32" if kind == "bf16" else kind

    def source(group: Group) -> Array:
        value = read(group)
        if group.mode.flush[name][0]:
            value = flushed(value)
        return _signed(value, negative, absolute)

    return source


def _signed(value: Array, negative: bool, absolute: bool) -> Array:
    if absolute:
        value = np.abs(value)
    return np.negative(value) if negative else value


# --- results ---


def writer(operand: RegisterOperand, kind: str, keeps_half: bool = False, high: bool = False) -> Writer:
    """Writes a result of a type. keeps_half: whether 16-bit results keep the other half of the register. high: whether
    OP_SEL puts them into the high half.

    Raises:
        Error: a result of a type that no operand has.
    """
    if operand.file == "null":
        return lambda group, value: None
    if kind == "mask":
        return _mask_writer(operand)
    if operand.file not in ("v", "a"):
        return _scalar_writer(operand, kind)
    index = operand[1]
    if kind in ("u16", "i16", "f16", "bf16", "h16"):
        return _half_writer(operand, kind, keeps_half, high)
    if kind in ("u64", "i64", "f64", "b64"):

        def write_pair(group: Group, value: Array) -> None:
            file = group.registers.file(operand)
            raw = value.view(np.uint64)
            group.write(file, index, raw.astype(np.uint32))
            group.write(file, index + 1, (raw >> HALF).astype(np.uint32))

        return write_pair

    def write(group: Group, value: Array) -> None:
        group.write(group.registers.file(operand), index, value.view(np.uint32))

    return write


def _mask_writer(operand: RegisterOperand) -> Writer:
    first = scalar_row(operand)

    def write(group: Group, value: Array) -> None:
        whole = np.broadcast_to(value, (group.count, group.lanes))
        words = packed(whole if group.mask is None else whole & group.mask)
        group.s[first : first + len(words), group.rows] = words
        if first == EXEC:
            group.refresh()

    return write


def _scalar_writer(operand: RegisterOperand, kind: str) -> Writer:
    row = scalar_row(operand)
    if kind in ("u64", "i64", "f64", "b64"):

        def write_pair(group: Group, value: Array) -> None:
            raw = value.view(np.uint64)
            group.write_scalar(row, raw.astype(np.uint32))
            group.write_scalar(row + 1, (raw >> HALF).astype(np.uint32))

        return write_pair
    if kind in ("u16", "i16", "f16"):
        return lambda group, value: group.write_scalar(row, value.view(np.uint16).astype(np.uint32))
    return lambda group, value: group.write_scalar(row, value.view(np.uint32))


def _half_writer(operand: RegisterOperand, kind: str, keeps_half: bool, high: bool) -> Writer:
    index, high = operand[1], high or bool(operand.half)
    keep = keeps_half or kind == "h16" or high

    def write(group: Group, value: Array) -> None:
        file = group.registers.file(operand)
        raw = bfloat(value) if kind == "bf16" else value.view(np.uint16).astype(np.uint32)
        if keep:
            old = file[index, group.rows]
            if high:
                raw = old & np.uint32(0xFFFF) | raw << np.uint32(16)
            else:
                raw = old & np.uint32(0xFFFF0000) | raw
        group.write(file, index, raw)

    return write


def bfloat(value: Array) -> Array:
    """float32 to bfloat16, to nearest even, in the low half of a word."""
    raw = np.ascontiguousarray(value, np.float32).view(np.uint32)
    rounded = raw + np.uint32(0x7FFF) + (raw >> np.uint32(16) & np.uint32(1))
    found: Array = np.where(np.isnan(value), raw | np.uint32(0x400000), rounded) >> np.uint32(16)
    return found


def write_scc(group: Group, value: Array) -> None:
    """SCC of a truth value for each wave."""
    group.write_scalar(SCC, value.astype(np.uint32))


def read_exec(group: Group) -> Array:
    """EXEC as a number of each wave."""
    if group.lanes == 32:
        return group.s[EXEC, group.rows][:, None]
    return (group.s[EXEC + 1, group.rows].astype(np.uint64) << HALF | group.s[EXEC, group.rows])[:, None]


def write_exec(group: Group, value: Array) -> None:
    """EXEC of a number of each wave."""
    flat = value[:, 0] if value.ndim == 2 else value
    group.s[EXEC, group.rows] = flat.astype(np.uint32)
    if group.lanes == 64:
        group.s[EXEC + 1, group.rows] = (flat.astype(np.uint64) >> HALF).astype(np.uint32)
    group.refresh()
