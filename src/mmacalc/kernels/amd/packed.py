"""Packed, mixed and dot-product instructions (VOP3P), compiled."""

from __future__ import annotations

import numpy as np

from ...asm.decoded import RegisterOperand
from ...errors import Error
from .modifiers import modifiers_of, words
from .operands import DTYPES, bfloat, modified, typed, writer
from .operations.floats import exact_sum_of_product, flushed, fma, fma_bfloat
from .operations.packed import DOTS, MIXED, PACKED
from .operations.rounding import directed
from .operations.saturating import saturating
from .vector import FLOAT_RESULTS, clamped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...arrays import Array
    from ...asm.decoded import DecodedInstruction
    from .modifiers import Compute, Store
    from .operands import Reader
    from .state import Group
    from .target import MachineTarget

__all__ = ["dot", "mixed", "packed_arithmetic"]

LOW, HIGH = ("op_sel", "neg_lo"), ("op_sel_hi", "neg_hi")
"""The modifiers of VOP3P: which half each result takes of a source, and whether it is negated."""


def _half(instruction: DecodedInstruction, place: int, kind: str, half: int, wave: int, pick: int = -1) -> Reader:
    """What the low (0) or high (1) result takes of a source: 16 bits of a register, or one register of a pair.

    VOP2 has neither OP_SEL nor NEG_LO and NEG_HI. pick: the half, where it is not OP_SEL's bit of the place.
    """
    modifiers, operand, word = modifiers_of(instruction), instruction.sources[place], words(instruction, place, wave)
    chosen, negated = (LOW, HIGH)[half]
    bit = modifiers.bit(chosen, place) if chosen in modifiers or not half else True
    if pick >= 0:
        bit = bool(pick)
    if kind in ("f32", "b32"):
        raw, dtype = word(int(bit) if isinstance(operand, RegisterOperand) else 0), DTYPES[kind]
        read: Reader = lambda group: raw(group).view(dtype)  # noqa: E731
    else:
        read = typed(word, operand, kind, bit)
    # NEG of VOP2 with DPP or SDWA is nowhere documented of packed sources; whoever asks for it refuses it.
    negative = modifiers.bit(negated, place) if kind in (*FLOAT_RESULTS, "b32") else False
    return modified(read, kind, negative, False)


def packed_arithmetic(instruction: DecodedInstruction, target: MachineTarget) -> tuple[Compute, Store]:
    """Both halves of a packed instruction.

    Raises:
        Error: CLAMP of an integer instruction that has no exact form; a part of a register under SDWA.
    """
    signature, function = PACKED[instruction.name]
    kinds = signature.partition(" -> ")[0].split()
    kind = signature.rpartition(" ")[2]
    modifiers = modifiers_of(instruction)
    whole = [modifiers.get(name, 6) == 6 for name in ("src0_sel", "src1_sel", "dst_sel")]
    if not all(whole):
        raise Error(f"{instruction.name} of a part of a register (SDWA) is not covered: AMD does not document it")
    if instruction.name == "v_pk_mov_b32":  # OP_SEL[0] chooses for the low result, OP_SEL[1] for the high one
        picks = [int(modifiers.bit("op_sel", place)) for place in (0, 1)]
        modifiers.get("op_sel_hi")  # without an effect
        reads = [[_half(instruction, half, kind, half, target.wave, picks[half])] * 2 for half in (0, 1)]
    else:
        reads = [
            [_half(instruction, place, each, half, target.wave) for place, each in enumerate(kinds)] for half in (0, 1)
        ]
    function, clamp = _clamped(instruction, function, kind)
    name = "f32" if kind in ("bf16", "b32") else kind

    def compute(group: Group) -> tuple[Array, ...]:
        found = []
        operation = function
        if mode := group.mode.rounding.get(name, 0):
            operation = directed(instruction.name, function, kind, mode)
        for half in (0, 1):
            value = operation(*[read(group) for read in reads[half]])
            if clamp:
                value = clamped(group, value)
            if kind in FLOAT_RESULTS and group.mode.flush[name][1]:
                value = flushed(value)
            found.append(_pattern(value, kind))
        return (found[0], found[1])

    return compute, _stored_pair(instruction.destinations[0], kind in ("f32", "b32"))


def _stored_pair(operand: RegisterOperand, wide: bool) -> Store:
    """Writes two registers, or two halves of one."""

    def store(group: Group, values: tuple[Array, ...]) -> None:
        file = group.a if operand.file == "a" else group.v
        if wide:
            low, high = np.array(values[0]), np.array(values[1])
            group.write(file, operand[1], low)
            group.write(file, operand[1] + 1, high)
        else:
            group.write(file, operand[1], values[0] | values[1] << np.uint32(16))

    return store


def _clamped(instruction: DecodedInstruction, function: Any, kind: str) -> tuple[Any, bool]:
    """The operation under CLAMP, and whether its float result is still to be clamped."""
    clamp = bool(modifiers_of(instruction).get("clamp"))
    if not clamp or kind in FLOAT_RESULTS:
        return function, clamp
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
    modifiers = modifiers_of(instruction)
    reads: list[Reader] = []
    result, half = MIXED[instruction.name]
    for place, operand in enumerate(instruction.sources[:3]):
        kind = half if modifiers.bit("op_sel_hi", place) else "f32"
        high = modifiers.bit("op_sel", place)  # without an effect on f32
        read = typed(words(instruction, place, target.wave), operand, kind, high)
        read = modified(read, kind, modifiers.bit("neg_lo", place), modifiers.bit("neg_hi", place))
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
        if clamp:
            value = clamped(group, value)
        return (flushed(value) if group.mode.flush["f32" if result == "bf16" else result][1] else value,)

    def store(group: Group, values: tuple[Array, ...]) -> None:
        raw = _pattern(values[0], result)
        if result != "f32":
            old = group.v[operand[1], group.rows]
            keep, by = (0xFFFF, 16) if high else (0xFFFF0000, 0)
            raw = old & np.uint32(keep) | raw << np.uint32(by)
        group.write(group.v, operand[1], raw)

    return compute, store


def dot(instruction: DecodedInstruction, target: MachineTarget) -> tuple[Compute, Store]:
    """Dot products of packed elements: of f16 and bf16 each element with OP_SEL and NEG, of integers the whole words.

    Raises:
        Error: OP_SEL of an instruction that has none (LLVM pull request 100485: of 8- and 4-bit elements; LLVM 22,
            hasDOTOpSelHazard: "Cannot use op_sel with v_dot instructions" from gfx940 and gfx11 on).
    """
    kind, function, signed = DOTS[instruction.name]
    modifiers, wave = modifiers_of(instruction), target.wave
    selects = "dot2" in instruction.name and not target.dots_without_op_sel
    if not selects and (modifiers.get("op_sel") or modifiers.get("op_sel_hi", -1) & 3 not in (0, 3)):
        raise Error(f"{instruction.name} with op_sel is not covered: hardware has none there")
    for name in ("op_sel", "op_sel_hi"):  # of the third source, which has 32 bits: without an effect
        modifiers.bit(name, 2)
    clamp = bool(modifiers.get("clamp"))
    write = writer(instruction.destinations[0], "u32")
    if kind == "int":
        flags = [modifiers.bit("neg_lo", place) if signed is None else signed for place in (0, 1)]
        parts = [_integer_source(instruction, place, selects, wave) for place in (0, 1)]
        third = words(instruction, 2, wave)(0)
        compute: Compute = lambda group: (  # noqa: E731
            function(parts[0](group), parts[1](group), third(group), (flags[0], flags[1]), clamp),
        )
    else:
        compute = _float_dot(instruction, kind, function, selects, wave)
    return compute, lambda group, values: write(group, values[0])


def _integer_source(instruction: DecodedInstruction, place: int, selects: bool, wave: int) -> Reader:
    """A source of packed integers; of pairs of 16 bits OP_SEL chooses the halves."""
    raw = words(instruction, place, wave)(0)
    modifiers = modifiers_of(instruction)
    if not selects or "op_sel_hi" not in modifiers:
        return raw
    by = [np.uint32(16 * modifiers.bit(name, place)) for name in ("op_sel", "op_sel_hi")]
    low = np.uint32(0xFFFF)
    return lambda group: raw(group) >> by[0] & low | (raw(group) >> by[1] & low) << np.uint32(16)


def _float_dot(instruction: DecodedInstruction, kind: str, function: Any, selects: bool, wave: int) -> Compute:
    """V_DOT2: both halves of two sources, each with its sign, and a third source."""
    modifiers = modifiers_of(instruction)
    vop3p = "op_sel_hi" in modifiers
    picks = ((-1, -1) if selects else (0, 1)) if vop3p else (0, 1)
    halves = [[_half(instruction, place, kind, half, wave, picks[half]) for half in (0, 1)] for place in (0, 1)]
    word = words(instruction, 2, wave)
    # LLVM 22 writes the sign of the third source, an f32, into both; NEG_HI alone is documented nowhere.
    negative = vop3p and modifiers.bit("neg_lo", 2)
    if negative:
        modifiers.bit("neg_hi", 2)
    third = modified(typed(word, instruction.sources[2], "f32"), "f32", negative, False)
    clamp = bool(modifiers.get("clamp"))

    def compute(group: Group) -> tuple[Array, ...]:
        a, b = ([read(group).astype(np.float32) for read in pair] for pair in halves)
        value = function(a, b, third(group))
        return ((clamped(group, value) if clamp else value).view(np.uint32),)

    return compute
