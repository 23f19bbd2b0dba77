"""NVIDIA's tensor cores: all terms aligned to the largest exponent, cut toward zero, added exactly.

Every product of two operands of up to 32 bits is exact in float64, and so is a sum that is cut at a common bit, while
fraction + 2 + log2(group) + 1 <= 53. Multiplying by a power of two is exact, so exponents are kept as powers of two.

A product with a zero factor and a zero c have no exponent, and the alignment never goes below 2**lowest: 0 * 0 + c is
c, however small. A sum that is zero, or becomes zero when it is cut or rounded, is plus zero.

Sources: MMA-Sim 2.1.1 (arXiv 2511.10909v2), T-FDPA, ST-FDPA and GST-FDPA, also for the sign of zero, on which mmaemu
0.1.0 agrees (measured on an RTX 4060: fp8 with f32 results); Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor
Cores" (TACO 23(3), 2026, doi 10.1145/3830409; their code of August 2026 drops zero products, and has minus zero where
a negative sum becomes zero); Fasi, Higham, Mikaitis,
Pranesh, "Numerical behavior of NVIDIA tensor cores" (2021), section 3, for subnormals and special values.
"""

from __future__ import annotations

import numpy as np

from ..formats import FORMATS
from .codecs import powers, round_to_format
from .exact import Numbers, numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..formats import Format

    Array = NDArray[np.float64]

__all__ = ["aligned_truncated", "block_scaled_fp4", "fp8_two_halves", "toward_zero"]


def toward_zero(values: Array, fraction: int | None = None) -> Array:
    """Values cut to f32, toward zero; with `fraction`, to that many fraction bits of f32's exponent range."""
    f32 = FORMATS["f32"]
    if fraction is not None:
        quantum = powers(values, f32) * 2.0**-fraction
        cut = np.where(np.isfinite(values), np.trunc(values / quantum) * quantum, values)
    else:
        near = values.astype(np.float32)
        back = np.abs(near) > np.abs(values)
        cut = np.where(back, np.nextafter(near, np.float32(0)), near).astype(np.float64)
    return np.where(np.abs(values) >= 2.0**128, np.copysign(np.inf, values), cut)


def _rounded(values: Array, out: Format, kept: int | None = None) -> Array:
    """Toward zero to f32 (or to `kept` fraction bits of it), to nearest even to f16; a zero is plus zero."""
    return (toward_zero(values, kept) if out.name == "f32" else round_to_format(values, out)) + 0.0


def _sum(a: Numbers, b: Numbers, c: Numbers, fraction: int, lowest: int) -> Array:
    """The sum of products and c, each cut toward zero `fraction` bits below the largest exponent. Exact."""
    products = a.value * b.value
    top = np.maximum((a.power * b.power).max(axis=0), c.power)
    scale = 2.0**fraction / np.maximum(top, 2.0**lowest)
    products *= scale
    np.trunc(products, out=products)
    total: Array = products.sum(axis=0)
    total += np.trunc(c.value * scale)
    total /= scale
    return total


def aligned_truncated(
    a: Numbers, b: Numbers, c: Numbers, out: Format, group: int, fraction: int, lowest: int, kept: int | None = None
) -> Array:
    """`group` products and c are aligned to the largest exponent, at least `lowest`, each cut toward zero `fraction`
    bits below it, and added exactly; f32 results are cut toward zero, f16 results rounded to nearest even. With
    `kept`, f32 results keep that many fraction bits. Longer k is a chain: D of one group is c of the next.

    MMA-Sim 2: T-FDPA, with block scales ST-FDPA (the scales' exponents are added to the products').
    """
    for start in range(0, len(a.value), group):
        part = slice(start, start + group)
        c = numbers(_rounded(_sum(a.at(part), b.at(part), c, fraction, lowest), out, kept), out)
    return c.value


def fp8_two_halves(a: Numbers, b: Numbers, c: Numbers, out: Format, fraction: int, lowest: int) -> Array:
    """mma.sync on fp8 where the GPU has no such instruction (sm_90, 100, 103, 107 and 110): `aligned_truncated` over
    the stored k with k % 4 in (0, 1), from zero, chained into the same over the others; then C is added, rounded to
    nearest even.

    Source: ptxas 13.0 writes F2FP.UNPACK_B of the low halves of the registers, HMMA.16816 from RZ, the same of the high
    halves (.H1) onto the result, and FADD (HADD2) with C. Of mma.sp it writes HMMA.SP.16832 likewise: SHFL moves B so
    that the first takes the logical k with k % 8 < 4, whose stored values have k % 4 < 2.
    """
    k = np.arange(len(a.value))
    total = numbers(np.zeros_like(c.value), out)
    for half in (k % 4 < 2, k % 4 >= 2):
        total = numbers(_rounded(_sum(a.at(half), b.at(half), total, fraction, lowest), out), out)
    return round_to_format(total.value + c.value, out)


def block_scaled_fp4(
    a: Numbers, b: Numbers, c: Numbers, out: Format, scale_a: Numbers, scale_b: Numbers, group: int, fraction: int,
    lowest: int,
) -> Array:  # fmt: skip
    """mxf4 and mxf4nvf4: the exact sum of each run of `group` products, times its two scales, is cut toward zero
    `fraction` bits below the largest exponent (of the scales, and of c; at least `lowest`); all are added with c and
    cut toward zero to f32. A run takes no part in the alignment if all its products or its scale are zero.

    `scale_a`, `scale_b`: first axis k, as a and b. MMA-Sim 2: GST-FDPA.
    """
    products = a.value * b.value
    runs = products.reshape(-1, group, *products.shape[1:])
    scales = scale_a.value[::group] * scale_b.value[::group]
    power = np.where((runs == 0).all(axis=1), 0.0, scale_a.power[::group] * scale_b.power[::group])
    scale = 2.0**fraction / np.maximum(np.maximum(power.max(axis=0), c.power), 2.0**lowest)
    total = np.trunc(runs.sum(axis=1) * scales * scale).sum(axis=0) + np.trunc(c.value * scale)
    return _rounded(total / scale, out)
