"""V_CVT_SR_FP8_F32 and V_CVT_SR_BF8_F32: a float32 to 8 bits, rounded by the high bits of a seed.

As many high bits of the seed as the significand loses are added to it, and the rest is cut off. Sources: CDNA3 and
RDNA4 ISA guides (bits 31 to 12 of the seed for FP8, 31 to 11 for BF8). Below the smallest normal number the significand
is first aligned, and what that cuts off does not count: captures of RDNA4 hardware by the emulator goc
(`narrow_fp8`). No public source says it of other architectures, so there such numbers are refused.
"""

from __future__ import annotations

import numpy as np

from ...errors import Error
from .modifiers import modifiers_of, source
from .operations.conversions import FLOAT8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...arrays import Array
    from ...asm.decoded import DecodedInstruction
    from .state import Group
    from .target import MachineTarget
    from .vector import Compute, Store

__all__ = ["is_stochastic", "stochastic"]


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
