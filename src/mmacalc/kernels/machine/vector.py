"""Vector and scalar arithmetic: a decoded instruction and its row of the table, compiled to a function."""

from __future__ import annotations

import numpy as np

from ...asm.decoded import RegisterOperand
from ...errors import Error
from .lanes import dpp8_lanes, dpp_lanes, written_lanes
from .operands import (
    DTYPES,
    modified,
    raw_reader,
    read_exec,
    reader,
    write_exec,
    write_scc,
    writer,
)
from .operations.conversions import largest_float8
from .operations.floats import flushed
from .operations.rounding import directed
from .operations.saturating import saturating
from .state import SCC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from ...asm.decoded import DecodedInstruction
    from .operands import Reader
    from .state import Group
    from .target import MachineTarget

    Array = NDArray[Any]
    Compute = Callable[[Group], tuple[Array, ...]]
    Store = Callable[[Group, tuple[Array, ...]], None]

__all__ = ["arithmetic", "dual"]

FLOAT_RESULTS = ("f16", "f32", "f64", "bf16")


def arithmetic(instruction: DecodedInstruction, target: MachineTarget) -> tuple[Compute, Store]:
    """What an instruction with a row in the table computes, and how it is written.

    Raises:
        Error: a modifier that is not covered.
    """
    sources, results, function = target.row(instruction.name)
    if "bitop" in instruction.name:
        function = function(int(instruction.modifiers.get("bitop3", 0)))
    if instruction.modifiers.get("clamp"):
        function = saturating(instruction.name) or function
    reads = _sources(instruction, sources, target)
    writes = _results(instruction, results, target)
    single, most = len(results) == 1, largest_float8(instruction.name, target.architecture.format_names)
    kind = "f32" if results[0] == "bf16" else results[0]
    by_mode = {0: function}

    def compute(group: Group) -> tuple[Array, ...]:
        mode = group.mode.rounding.get(kind, 0)
        if mode not in by_mode:
            by_mode[mode] = directed(instruction.name, function, kind, mode)
        values = [read(group) for read in reads]
        if most and group.mode.clamps_overflow:
            values = [np.where(np.isfinite(value), np.clip(value, -most, most), value) for value in values]
        found = by_mode[mode](*values)
        return (found,) if single else found

    def store(group: Group, values: tuple[Array, ...]) -> None:
        for write, value in zip(writes, values):
            write(group, value)

    if "dpp_ctrl" in instruction.modifiers:
        return compute, _dpp_store(instruction, store, target.wave)
    return compute, store


def _sources(instruction: DecodedInstruction, kinds: tuple[str, ...], target: MachineTarget) -> list[Reader]:
    explicit = iter(instruction.sources)
    reads: list[Reader] = []
    place = 0
    for kind in kinds:
        if kind == "scc":
            reads.append(lambda group: group.s[SCC, group.rows][:, None] != 0)
        elif kind == "exec":
            reads.append(read_exec)
        elif kind in ("old", "old64"):
            reads.append(reader(instruction.destinations[0], "u64" if kind == "old64" else "u32"))
        elif kind in ("simm", "uimm"):
            raw = int(instruction.modifiers["simm16"])
            value = np.array([[raw - (raw >> 15 << 16) if kind == "simm" else raw]])
            typed = value.astype(np.int32 if kind == "simm" else np.uint32)
            reads.append(lambda group, typed=typed: typed)  # type: ignore[misc]
        else:
            reads.append(_source(instruction, next(explicit), kind, place, target))
            place += 1
    return reads


def _source(instruction: DecodedInstruction, operand: Any, kind: str, place: int, target: MachineTarget) -> Reader:
    modifiers = instruction.modifiers
    bit = 1 << place
    high = bool(int(modifiers.get("op_sel", 0)) & bit) and "op_sel_hi" not in modifiers
    sdwa = modifiers.get(f"src{place}_sel")
    if sdwa is not None and kind != "mask":
        read = _sdwa(operand, int(sdwa), bool(int(modifiers.get("sext", 0)) & bit), kind)
    elif kind == "byte":
        read = _byte(operand, int(modifiers.get("op_sel", 0)))
    else:
        read = reader(operand, kind, high)
    if place == 0 and ("dpp_ctrl" in modifiers or "dpp8" in modifiers) and kind != "mask":
        read = _dpp(operand, kind, instruction, target.wave)
    negative, absolute = (bool(int(modifiers.get(name, 0)) & bit) for name in ("neg", "abs"))
    return modified(read, kind, negative, absolute)


def _byte(operand: Any, op_sel: int) -> Reader:
    """BYTE_SEL of RDNA4 and gfx1250, whose high bit is the first of OP_SEL (LLVM 22, `byte_sel`)."""
    raw, by = raw_reader(operand), np.uint32(8 * (op_sel << 1 & 2 | op_sel >> 1 & 1))
    return lambda group: raw(group) >> by


def _sdwa(operand: Any, select: int, sign: bool, kind: str) -> Reader:
    """A byte, a half or all of a register, widened; of wider types nothing else is possible than all of it."""
    raw = raw_reader(operand)
    if select == 6:
        return reader(operand, "u32" if kind == "byte" else kind)
    by, bits = (8 * select, 8) if select < 4 else (16 * (select - 4), 16)
    up = 32 - bits
    dtype = DTYPES.get(kind, np.uint32)

    def read(group: Group) -> Array:
        field = raw(group) << np.uint32(up - by)
        wide = (field.view(np.int32) >> np.int32(up)).view(np.uint32) if sign else field >> np.uint32(up)
        return wide.astype(np.uint16).view(dtype) if np.dtype(dtype).itemsize == 2 else wide.view(dtype)

    return read


# --- DPP ---


def _dpp(operand: Any, kind: str, instruction: DecodedInstruction, wave: int) -> Reader:
    """A source of other lanes."""
    modifiers = instruction.modifiers
    plain = reader(operand, kind)
    fetch_inactive = bool(modifiers.get("fi"))
    if "dpp8" in modifiers:
        lanes, there = dpp8_lanes(int(modifiers["dpp8"]), wave), np.ones(wave, bool)
        zero = True
    else:
        lanes, there = dpp_lanes(int(modifiers["dpp_ctrl"]), wave)
        zero = bool(modifiers.get("bound_ctrl"))
    lanes = np.clip(lanes, 0, wave - 1)

    def read(group: Group) -> Array:
        value = np.broadcast_to(plain(group), (group.count, wave))[:, lanes]
        if group.mask is None or fetch_inactive:
            right = there[None, :]
        else:
            right = there & group.mask[:, lanes]
        return np.where(right, value, value.dtype.type(0)) if zero or not right.all() else value

    return read


def _dpp_store(instruction: DecodedInstruction, store: Store, wave: int) -> Store:
    """Only the lanes that DPP lets be written: by the masks, and those whose source exists unless BOUND_CTRL."""
    modifiers = instruction.modifiers
    lanes, there = dpp_lanes(int(modifiers["dpp_ctrl"]), wave)
    lanes = np.clip(lanes, 0, wave - 1)
    allowed = written_lanes(int(modifiers.get("row_mask", 15)), int(modifiers.get("bank_mask", 15)), wave)
    zero, inactive = bool(modifiers.get("bound_ctrl")), bool(modifiers.get("fi"))
    if not zero:
        allowed = allowed & there
    if allowed.all() and (zero or inactive):
        return store

    def write(group: Group, values: tuple[Array, ...]) -> None:
        before = group.mask
        mask = allowed & group.active
        if not zero and not inactive and before is not None:
            mask = mask & before[:, lanes]
        group.mask = mask
        try:
            store(group, values)
        finally:
            group.mask = before

    return write


# --- results ---


def _results(
    instruction: DecodedInstruction, kinds: tuple[str, ...], target: MachineTarget
) -> list[Callable[[Group, Array], None]]:
    explicit = [d for d in instruction.destinations if d.file != "scc"]
    writes: list[Callable[[Group, Array], None]] = []
    if kinds == ("mask",):  # v_cmpx of gfx9 writes VCC and EXEC
        return [_several([writer(d, "mask", instruction, False) for d in explicit])]
    place = 0
    for kind in kinds:
        if kind == "scc":
            writes.append(write_scc)
            continue
        if kind == "exec":
            writes.append(write_exec)
            continue
        operand = explicit[place]
        place += 1
        write = writer(operand, kind, instruction, target.keeps_halves or operand.half == 1)
        if "dst_sel" in instruction.modifiers and operand.file == "v":
            write = _sdwa_writer(instruction, operand, kind)
        if kind in FLOAT_RESULTS or _clamped_integer(instruction, kind):
            write = _finished(write, kind, instruction, target)
        writes.append(write)
    return writes


def _several(writes: list[Callable[[Group, Array], None]]) -> Callable[[Group, Array], None]:
    if len(writes) == 1:
        return writes[0]

    def write_all(group: Group, value: Array) -> None:
        value = np.broadcast_to(value, (group.count, group.lanes)) & group.active
        for write in writes:
            write(group, value)

    return write_all


def _clamped_integer(instruction: DecodedInstruction, kind: str) -> bool:
    clamp = bool(instruction.modifiers.get("clamp")) and kind[0] in "uib"
    return clamp and saturating(instruction.name) is None


def _finished(
    write: Callable[[Group, Array], None], kind: str, instruction: DecodedInstruction, target: MachineTarget
) -> Callable[[Group, Array], None]:
    """OMOD and CLAMP, and subnormal results as zero where the mode says so."""
    clamp, omod = bool(instruction.modifiers.get("clamp")), int(instruction.modifiers.get("omod", 0))
    if clamp and kind not in FLOAT_RESULTS:
        raise Error(f"{instruction.name} with clamp is not covered")
    factor = {0: None, 1: 2.0, 2: 4.0, 3: 0.5}[omod]
    name = "f32" if kind == "bf16" else kind

    def finish(group: Group, value: Array) -> None:
        if factor is not None:
            value = value * value.dtype.type(factor)
        if clamp:
            value = np.where(np.isnan(value), value.dtype.type(0), np.clip(value, 0, 1))
        if group.mode.flush[name][1]:
            value = flushed(value)
        write(group, value)

    return finish


def _sdwa_writer(
    instruction: DecodedInstruction, operand: RegisterOperand, kind: str
) -> Callable[[Group, Array], None]:
    """A result into a byte or a half; the rest zero, the sign, or kept (DST_UNUSED 0, 1, 2)."""
    select, unused = (int(instruction.modifiers.get(name, 0)) for name in ("dst_sel", "dst_unused"))
    index = operand[1]

    def write(group: Group, value: Array) -> None:
        raw = value.view(f"u{value.dtype.itemsize}").astype(np.uint32)
        if select < 6:
            by, bits = (8 * select, 8) if select < 4 else (16 * (select - 4), 16)
            field = np.uint32((1 << bits) - 1)
            placed = (raw & field) << np.uint32(by)
            if unused == 2:
                placed = placed | group.v[index, group.rows] & ~(field << np.uint32(by))
            elif unused == 1:
                sign = raw >> np.uint32(bits - 1) & np.uint32(1)
                above = np.uint32(0xFFFFFFFF << by + bits & 0xFFFFFFFF)
                placed = placed | sign * above
            raw = placed
        group.write(group.v, index, raw)

    return write


def dual(first: tuple[Compute, Store], second: tuple[Compute, Store]) -> Callable[[Group], None]:
    """Both halves of a VOPD instruction: both read their sources before either writes (RDNA3 ISA guide, "VOPD")."""

    def run(group: Group) -> None:
        one = first[0](group)
        two = tuple([np.array(value) for value in second[0](group)])
        first[1](group, one)
        second[1](group, two)

    return run
