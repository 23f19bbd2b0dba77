"""Conversions with a scale: V_CVT_SCALEF32_* of gfx950 and gfx1250, V_CVT_SCALE_PK* of gfx1250.

The scale is a power of two, the exponent of a float; narrower results are divided by it, wider ones multiplied, and
rounded once, to nearest even. Sources: CDNA4 ISA guide, the descriptions of V_CVT_SCALEF32_*; which element is where:
gem5's model of MI355X and CK (elements of 2XPK16 alternate between its two sources). How stochastic rounding adds its
seed is documented nowhere, so those forms are refused.

V_CVT_SR_FP8_F32 and V_CVT_SR_BF8_F32: a float32 to 8 bits, rounded by the high bits of a seed.

As many high bits of the seed as the significand loses are added to it, and the rest is cut off. Sources: CDNA3 and
RDNA4 ISA guides (bits 31 to 12 of the seed for FP8, 31 to 11 for BF8). Below the smallest normal number the significand
is first aligned, and what that cuts off does not count: captures of RDNA4 hardware by the emulator goc
(`narrow_fp8`). No public source says it of other architectures, so there such numbers are refused.
"""

from __future__ import annotations

import re

import numpy as np

from ...asm.decoded import ConstantOperand
from ...base.errors import Error
from .modifiers import modifiers_of, signs, source
from .operands import raw_reader
from .operations.conversions import FLOAT8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from ...formats import Format
    from .modifiers import Compute, Store
    from .operands import Operand, Reader
    from .state import Group
    from .target import MachineTarget

__all__ = ["is_scaled", "is_stochastic", "scaled", "stochastic"]

_NAME = re.compile(r"v_cvt_scalef32_(sr_)?(?:(2x)?pk(\d*)_)?(fp8|bf8|fp6|bf6|fp4|f32|f16|bf16)_(\w+)$")
_BYTES = re.compile(r"v_cvt_scale_pk(\d+)_(f32|f16|bf16)_(\w+)$")
_FORMATS = {"fp8": "e4m3", "bf8": "e5m2", "fp6": "e2m3", "bf6": "e3m2", "fp4": "e2m1"}


def is_scaled(name: str) -> bool:
    """Whether a mnemonic is one of these."""
    return name.startswith(("v_cvt_scalef32_", "v_cvt_scale_pk"))


def scaled(instruction: DecodedInstruction, target: MachineTarget) -> tuple[Compute, Store]:
    """What a conversion computes, and how it is written.

    Raises:
        Error: stochastic rounding, a sign or absolute value of packed 16-bit elements.
    """
    from ...formats import named

    if (bytes_ := _BYTES.match(instruction.name)) is not None:
        return _widened(instruction, int(bytes_[1]), named(_FORMATS[bytes_[3]]), named(bytes_[2]))
    match = _NAME.match(instruction.name)
    if match is None or match[1]:
        raise Error(f"{instruction.name} is not covered: how its seed rounds is not documented")
    pairs, written, into, outof = match[2], match[3], match[4], match[5]
    source, result = (named(_FORMATS.get(name, name)) for name in (outof, into))
    count = 32 if pairs else int(written or 2) if "pk" in instruction.name else 1
    *data, scale = instruction.sources[: -1 if _keeps(instruction) else None]
    elements = _elements(instruction, data, source, count, bool(pairs))
    power = raw_reader(scale)
    wider = result.bits > source.bits

    def compute(group: Group) -> tuple[Array, ...]:
        exponent = (power(group) >> np.uint32(23) & np.uint32(0xFF)).astype(np.float64)
        factor = np.where(exponent == 255, np.nan, np.exp2((exponent - 127) * (1 if wider else -1)))
        return tuple([_encoded(read(group) * factor, result, group, instruction) for read in elements])

    return compute, _stored(instruction, result, count)


def _widened(instruction: DecodedInstruction, count: int, outof: Format, into: Format) -> tuple[Compute, Store]:
    """V_CVT_SCALE_PK8 and PK16 of gfx1250: elements times a power of two, whose E8M0 code is a byte of the scale.

    With SCALE_SEL 0 lanes n and n + 16 take it from the scale of lane n: of elements of 8 bits both the lowest byte, of
    4 and 6 bits lanes 0 to 15 that and the others the byte above it (MLIR's amdgpu.scaled_ext_packed_matrix; Triton,
    pull request 9841 and what it says of opSel at upcast8xMxfp8fp4_HW; HIP's header of FP4 has both bytes alike). Other
    values are refused: which bit of it is what, MLIR and Triton have otherwise of 8 bits.
    """
    elements = [_field(instruction.sources[0], outof.bits * number, outof) for number in range(count)]
    scale = raw_reader(instruction.sources[1])

    def compute(group: Group) -> tuple[Array, ...]:
        word = np.broadcast_to(scale(group), (group.count, group.lanes))[:, :16]
        code = np.concatenate([word, word >> np.uint32(8 * (outof.bits < 8))], axis=1) & np.uint32(0xFF)
        factor = np.where(code == 255, np.nan, np.exp2(code.astype(np.float64) - 127))
        return tuple([_encoded(read(group) * factor, into, group, instruction) for read in elements])

    return compute, _stored(instruction, into, count)


def _keeps(instruction: DecodedInstruction) -> bool:
    """Whether the last source is the destination, of which a part stays."""
    return bool(instruction.form is not None and getattr(instruction.form, "reads", ()))


def _elements(
    instruction: DecodedInstruction, data: list[Operand], form: Format, count: int, alternate: bool
) -> list[Reader]:
    """The elements of the sources, as float64."""
    modifiers = modifiers_of(instruction)
    if form.bits == 32:
        if len(data) == 1:
            places = [(data[0], part, 0) for part in range(count)]
        elif alternate:
            places = [(data[number % 2], number // 2, number % 2) for number in range(count)]
        else:
            places = [(data[number], 0, number) for number in range(count)]
        return [_single(operand, part, *signs(instruction, which)) for operand, part, which in places]
    # OP_SEL chooses where narrow elements begin: a byte, or of pairs of bytes a half.
    narrow = count <= 2 and form.bits < 16
    chosen = modifiers.bit("op_sel", 0) + 2 * modifiers.bit("op_sel", 1) if narrow else 0
    first = {8: 8 * chosen * (2 if count > 1 else 1), 4: 8 * chosen}.get(form.bits, 0) if count <= 2 else 0
    return [_field(data[0], first + form.bits * number, form) for number in range(count)]


def _single(operand: Operand, part: int, negative: bool, absolute: bool) -> Reader:
    raw = raw_reader(operand, part)

    def read(group: Group) -> Array:
        value = raw(group).view(np.float32).astype(np.float64)
        value = np.abs(value) if absolute else value
        return -value if negative else value

    return read


def _field(operand: Operand, first: int, form: Format) -> Reader:
    """The element that begins at a bit of a source; one of six bits may be in two registers."""
    from ...arithmetic.codecs import code_type, decode

    part, by = first // 32, first % 32
    low = raw_reader(operand, part)
    over = by + form.bits > 32
    high = raw_reader(operand, part + 1) if over else low
    mask, dtype = np.uint32((1 << form.bits) - 1), code_type(form)
    if isinstance(operand, ConstantOperand):
        over = False

    def read(group: Group) -> Array:
        code = low(group) >> np.uint32(by)
        if over:
            code = code | high(group) << np.uint32(32 - by)
        return decode((code & mask).astype(dtype), form)

    return read


def _encoded(value: Array, form: Format, group: Group, instruction: DecodedInstruction) -> Array:
    """The codes of values. Without FP16_OVFL, what is too large for FP8 is NaN, and for BF8 infinite."""
    from ...arithmetic.codecs import encode, largest

    missing = np.isnan(value)
    if form.bits == 8 and group.mode.clamps_overflow:
        most = largest(form.name)
        value = np.where(np.isfinite(value), np.clip(value, -most, most), value)
    if form.specials == "none" and missing.any():
        whole = np.broadcast_to(missing, (group.count, group.lanes))
        if (whole & group.active).any():
            raise Error(f"{instruction.name} of a NaN: AMD documents no result")
        value = np.where(missing, 0.0, value)
    return encode(value, form).astype(np.uint32)


def _stored(instruction: DecodedInstruction, form: Format, count: int) -> Store:
    """Packs the elements into the destination; where they fill less than a register, its rest stays."""
    operand = instruction.destinations[0]
    modifiers, bits = modifiers_of(instruction), form.bits * count
    first = 0
    if _keeps(instruction) and bits <= 16:
        first = 16 * modifiers.bit("op_sel", 3) + (8 * modifiers.bit("op_sel", 2) if bits == 8 else 0)

    def store(group: Group, values: tuple[Array, ...]) -> None:
        words: list[Any] = [np.uint32(0)] * max(1, bits // 32)
        for number, value in enumerate(values):
            part, by = divmod(first + form.bits * number, 32)
            words[part] = words[part] | value << np.uint32(by)
            if by + form.bits > 32:
                words[part + 1] = words[part + 1] | value >> np.uint32(32 - by)
        if bits < 32 and _keeps(instruction):
            old = group.v[operand[1], group.rows]
            words[0] = old & np.uint32(~(((1 << bits) - 1) << first) & 0xFFFFFFFF) | words[0]
        for number, word in enumerate(words):
            group.write(group.v, operand[1] + number, np.asarray(word))

    return store


# --- V_CVT_SR_FP8_F32 and V_CVT_SR_BF8_F32 ---


def is_stochastic(name: str) -> bool:
    """Whether a mnemonic is one of these."""
    return name in ("v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32")


def stochastic(instruction: DecodedInstruction, target: MachineTarget) -> tuple[Compute, Store]:
    """What a conversion computes, and how it is written: a byte that OP_SEL names.

    CLAMP of gfx1250 means another format; it is refused, as every modifier that is not read.
    """
    from ...arithmetic.codecs import encode, largest
    from ...formats import named

    modifiers = modifiers_of(instruction)
    short = instruction.name.removeprefix("v_cvt_sr_")[:3]
    form = named(target.architecture.format_names.get(short, FLOAT8[short]))
    lowest, most = 2.0 ** (1 - form.bias), largest(form.name)
    read, read_seed = (source(instruction, place, kind, target.wave) for place, kind in enumerate(("f32", "u32")))
    by = np.uint32(16 * modifiers.bit("op_sel", 3) + 8 * modifiers.bit("op_sel", 2))
    register = instruction.destinations[0][1]
    aligns = target.generation == "gfx12" and not target.long_records

    def compute(group: Group) -> tuple[Array, ...]:
        value, seed = np.broadcast_arrays(read(group), read_seed(group))
        small = (np.abs(value) < lowest) & (value != 0)
        if not aligns and (small if group.mask is None else small & group.mask).any():
            raise Error(f"{instruction.name} of a number below {lowest}, the smallest normal one, is not documented")
        rounded = _rounded(value, seed, form.mantissa, lowest)
        if group.mode.clamps_overflow:
            rounded = np.where(np.isfinite(value), np.clip(rounded, -most, most), rounded)
        return (encode(rounded, form).astype(np.uint32),)

    def store(group: Group, values: tuple[Array, ...]) -> None:
        kept = group.v[register, group.rows] & ~(np.uint32(0xFF) << by)
        group.write(group.v, register, kept | values[0] << by)

    return compute, store


def _rounded(value: Array, seed: Array, mantissa: int, lowest: float) -> Array:
    """The number of a format that a seed chooses, as float64; infinity and NaN as they are."""
    finite = np.where(np.isfinite(value), value, np.float32(0)).astype(np.float64)
    exponent = np.frexp(np.maximum(np.abs(finite), lowest))[1] - 1
    significand = np.trunc(np.ldexp(np.abs(finite), 23 - exponent)).astype(np.int64)
    lost = 23 - mantissa
    kept = significand + (seed.astype(np.int64) >> (32 - lost)) >> lost
    found = np.copysign(np.ldexp(kept.astype(np.float64), exponent - mantissa), value.astype(np.float64))
    return np.where(np.isfinite(value), found, value.astype(np.float64))
