"""Packed, mixed and dot-product instructions (VOP3P), compiled."""

from __future__ import annotations

import numpy as np

from ...asm.decoded import RegisterOperand
from ...errors import Error
from .operands import DTYPES, bfloat, modified, raw_reader, reader, writer
from .operations.floats import exact_sum_of_product, flushed, fma, fma_bfloat
from .operations.packed import DOTS, MIXED, PACKED
from .operations.rounding import directed
from .operations.saturating import saturating
from .vector import FLOAT_RESULTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ...asm.decoded import DecodedInstruction
    from .operands import Reader
    from .state import Group
    from .target import MachineTarget
    from .vector import Compute, Store

    Array = NDArray[Any]

__all__ = ["dot", "mixed", "packed_arithmetic"]


def _source_half(operand: Any, kind: str, wide: bool, bit: int, negative: bool) -> Reader:
    """The half of a source that OP_SEL chose: 16 bits of a register, or one register of a pair."""
    if wide:
        part = bit if isinstance(operand, RegisterOperand) else 0
        raw = raw_reader(operand, part)
        dtype = DTYPES[kind]
        read: Reader = lambda group: raw(group).view(dtype)  # noqa: E731
    else:
        read = reader(operand, kind, bool(bit))
    return modified(read, kind, negative, False)


def packed_arithmetic(instruction: DecodedInstruction, target: MachineTarget) -> tuple[Compute, Store]:
    """Both halves of a packed instruction."""
    signature, function = PACKED[instruction.name]
    kinds = signature.partition(" -> ")[0].split()
    kind = signature.rpartition(" ")[2]
    wide = kind in ("f32", "b32")
    modifiers = instruction.modifiers
    chosen = [int(modifiers.get("op_sel", 0)), int(modifiers.get("op_sel_hi", -1))]  # VOP2 has neither
    signs = [int(modifiers.get("neg_lo", 0)), int(modifiers.get("neg_hi", 0))]
    if instruction.name == "v_pk_mov_b32":  # OP_SEL[0] chooses for the low result, OP_SEL[1] for the high one
        picks = [[chosen[0] & 1, 0], [chosen[0] >> 1 & 1, 0]]
        sources = [[instruction.sources[0]] * 2, [instruction.sources[1]] * 2]
    else:
        picks = [[chosen[half] >> place & 1 for place in range(len(kinds))] for half in (0, 1)]
        sources = [list(instruction.sources), list(instruction.sources)]
    reads = [
        [
            _source_half(operand, each, wide, picks[half][place], bool(signs[half] >> place & 1))
            for place, (operand, each) in enumerate(zip(sources[half], kinds))
        ]
        for half in (0, 1)
    ]
    function, clamp = _clamped(instruction, function, kind)
    operand = instruction.destinations[0]
    name = "f32" if kind in ("bf16", "b32") else kind

    def compute(group: Group) -> tuple[Array, ...]:
        found = []
        operation = function
        if mode := group.mode.rounding.get(name, 0):
            operation = directed(instruction.name, function, kind, mode)
        for half in (0, 1):
            value = operation(*[read(group) for read in reads[half]])
            if clamp:
                value = np.where(np.isnan(value), value.dtype.type(0), np.clip(value, 0, 1))
            if kind in FLOAT_RESULTS and group.mode.flush[name][1]:
                value = flushed(value)
            found.append(_pattern(value, kind))
        return (found[0], found[1])

    def store(group: Group, values: tuple[Array, ...]) -> None:
        file = group.a if operand.file == "a" else group.v
        if wide:
            low, high = np.array(values[0]), np.array(values[1])
            group.write(file, operand[1], low)
            group.write(file, operand[1] + 1, high)
        else:
            group.write(file, operand[1], values[0] | values[1] << np.uint32(16))

    return compute, store


def _clamped(instruction: DecodedInstruction, function: Any, kind: str) -> tuple[Any, bool]:
    """The operation under CLAMP, and whether its float result is still to be clamped."""
    if not instruction.modifiers.get("clamp") or kind in FLOAT_RESULTS:
        return function, bool(instruction.modifiers.get("clamp"))
    exact = saturating(instruction.name)
    if exact is None:
        raise Error(f"{instruction.name} with clamp is not covered")
    return exact, False


def _pattern(value: Array, kind: str) -> Array:
    if kind in ("f32", "b32"):
        return value.view(np.uint32)
    if kind == "bf16":
        return bfloat(value)
    return value.view(np.uint16).astype(np.uint32)


def mixed(instruction: DecodedInstruction, target: MachineTarget) -> tuple[Compute, Store]:
    """V_FMA_MIX: sources of f32 or f16, by OP_SEL_HI; NEG_HI is ABS. One rounding."""
    modifiers = instruction.modifiers
    halves, chosen = int(modifiers.get("op_sel_hi", 0)), int(modifiers.get("op_sel", 0))
    negatives, absolutes = (int(modifiers.get(name, 0)) for name in ("neg_lo", "neg_hi"))
    reads: list[Reader] = []
    result, half = MIXED[instruction.name]
    for place, operand in enumerate(instruction.sources[:3]):
        bit = 1 << place
        kind = half if halves & bit else "f32"
        read = modified(reader(operand, kind, bool(chosen & bit)), kind, bool(negatives & bit), bool(absolutes & bit))
        reads.append(lambda group, read=read: read(group).astype(np.float32))  # type: ignore[misc]
    clamp = bool(modifiers.get("clamp"))
    operand = instruction.destinations[0]
    high = "mixhi" in instruction.name or operand.half == 1

    def compute(group: Group) -> tuple[Array, ...]:
        if group.mode.rounding["f16" if result == "f16" else "f32"]:
            raise Error(f"{instruction.name} in another rounding mode than to nearest even is not covered")
        a, b, c = (read(group) for read in reads)
        if result == "f16":
            value = exact_sum_of_product(a, b, c).astype(np.float16)
        elif result == "bf16":
            value = fma_bfloat(a, b, c)
        else:
            value = fma(a, b, c)
        return (np.where(np.isnan(value), value.dtype.type(0), np.clip(value, 0, 1)) if clamp else value,)

    def store(group: Group, values: tuple[Array, ...]) -> None:
        raw = _pattern(values[0], result)
        if result != "f32":
            old = group.v[operand[1], group.rows]
            keep, by = (0xFFFF, 16) if high else (0xFFFF0000, 0)
            raw = old & np.uint32(keep) | raw << np.uint32(by)
        group.write(group.v, operand[1], raw)

    return compute, store


def dot(instruction: DecodedInstruction, target: MachineTarget) -> tuple[Compute, Store]:
    """Dot products of packed elements."""
    function, signed = DOTS[instruction.name]
    modifiers = instruction.modifiers
    flags = int(modifiers.get("neg_lo", 0))
    signs = (signed, signed) if signed is not None else (bool(flags & 1), bool(flags & 2))
    reads = [raw_reader(operand) for operand in instruction.sources[:3]]
    clamp = bool(modifiers.get("clamp"))
    write = writer(instruction.destinations[0], "u32", instruction, True)
    return (
        lambda group: (function(*[read(group) for read in reads], signs, clamp),),
        lambda group, values: write(group, values[0]),
    )
