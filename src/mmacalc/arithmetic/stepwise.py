"""Models that round each operation by itself, exact sums, and integers."""

from __future__ import annotations

import numpy as np

from ..base.errors import Error
from ..formats import FORMATS
from .codecs import round_to_format
from .exact import Numbers, fused_multiply_add, rounding_sum, to_odd, two_sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ..formats import Format

    Array = NDArray[np.float64]

__all__ = ["exact", "fma_chain", "integer", "pairwise_f32", "rounded_to_odd", "two_chains"]

NORMAL = 2.0**-126
"""The least normal number of f32, and of bf16."""


def pairwise_f32(a: Numbers, b: Numbers, c: Numbers, out: Format, group: int, flush: bool) -> Array:
    """CDNA2 f16 and bf16: products rounded to f32, a balanced binary tree of f32 additions over `group` of them,
    one more addition to c. With `flush`, inputs below the least normal number, minus zero among them, are plus zero,
    and products and sums below 2**-126 are zeros of their sign.

    Without it, and for pairs of f16, whose products f32 holds, it is SME's FMOPA: the exact sum of two products,
    rounded, and c (Arm DDI 0602, FPDotAdd; QEMU, f16_dotadd).

    Source: MMA-Sim 2.1.1, FTZ_MUL_ADD, also for the signs; Khattak and Mikaitis; CDNA2 ISA, "Denorm control" of V_MFMA.
    """
    if flush:
        a, b, c = (Numbers(flushed(x.value, x.power), x.power) for x in (a, b, c))

    def settle(values: NDArray[np.float32]) -> NDArray[np.float32]:
        if flush and (small := np.abs(values) < np.float32(2.0**-126)).any():
            values[small] *= 0
        return values

    total = c.value.astype(np.float32)
    # f32 holds every f16 and bf16, and multiplying in f32 is rounding the exact product.
    x, y = a.value.astype(np.float32), b.value.astype(np.float32)
    for start in range(0, len(x), group):
        tree = settle(x[start : start + group] * y[start : start + group])
        while len(tree) > 1:
            tree = settle(tree[0::2] + tree[1::2])
        total = settle(total + tree[0])
    return total.astype(np.float64)


def flushed(values: Array, powers: Array) -> Array:
    """Values of which those below the least normal number, zeros among them, are plus zero; `powers` as in Numbers."""
    return np.where((np.abs(values) < powers) | (values == 0), 0.0, values)


def fma_chain(a: Numbers, b: Numbers, c: Numbers, out: Format, rounding: str = "rn") -> Array:
    """A chain of fused multiply-adds in the order of k, starting from c, each rounded once.

    `rounding` (f64): rn to nearest even, rz toward zero, rm down, rp up. Source: MMA-Sim 2.1.1, FMA.
    """
    total = np.broadcast_to(c.value, np.broadcast_shapes(c.value.shape, a.value.shape[1:], b.value.shape[1:]))
    for x, y in zip(a.value, b.value):
        if out.name == "f64":
            total = fused_multiply_add(x, y, total, rounding)
        else:
            total = round_to_format(to_odd(*two_sum(x * y, total)), out)
    return np.array(total)


def two_chains(a: Numbers, b: Numbers, c: Numbers, out: Format, flush_inputs: bool) -> Array:
    """AMX: a chain of fused multiply-adds over the even k and one over the odd k, each from plus zero; their sum; that
    sum and c. Each is rounded to nearest even in f32, and a result below 2**-126 is a zero of its sign, as is a c below
    it, and with `flush_inputs` a factor.

    Source: Intel's SDM, volume 2, the operations of TDPBF16PS and TDPFP16PS (temp1.fp32[2n] and [2n+1]; "DAZ=FTZ=1, RNE
    rounding"); Bochs (bochs/cpu/avx/amx.cc) does the same. That a result is below 2**-126 is decided after it was
    rounded as if exponents had no end, as everywhere on x86: SDM, volume 1, section 4.9.1.5.
    """
    x, y = (_signed_zeros(factors.value) if flush_inputs else factors.value for factors in (a, b))
    chains = []
    for start in (0, 1):
        total = np.zeros(np.broadcast_shapes(c.value.shape, x.shape[1:], y.shape[1:]))
        for p, q in zip(x[start::2], y[start::2]):
            total = _rounded_without_tiny(to_odd(*two_sum(p * q, total)))
        chains.append(total)
    both = _rounded_without_tiny(to_odd(*two_sum(*chains)))
    return _rounded_without_tiny(to_odd(*two_sum(_signed_zeros(c.value), both)))


def _signed_zeros(values: Array) -> Array:
    """Values of which those below 2**-126 are zeros of their sign."""
    return np.where(np.abs(values) < NORMAL, np.copysign(0.0, values), values)


def _rounded_without_tiny(values: Array) -> Array:
    """Values in f32; zeros of their sign where they are below 2**-126 even after rounding with an endless exponent."""
    scale = 2.0**64
    tiny = np.abs(values) < NORMAL
    tiny &= np.abs(round_to_format(np.where(tiny, values, 0.0) * scale, FORMATS["f32"])) < NORMAL * scale
    return np.where(tiny, np.copysign(0.0, values), round_to_format(values, FORMATS["f32"]))


def rounded_to_odd(a: Numbers, b: Numbers, c: Numbers, out: Format, group: int) -> Array:
    """SME's BFMOPA with FPCR.EBF 0: of each pair two products, their sum, and c and that sum, each to odd in f32.

    What is below 2**-126 before it is rounded is a zero of its sign, operands too; 2**128 and more is infinite.

    Source: Arm DDI 0602, BFDotAdd with BFMulH, BFAdd and BFRound; QEMU (target/arm/tcg: is_ebf, bfdotadd) the same.
    """
    total = _signed_zeros(c.value)
    x, y = _signed_zeros(a.value), _signed_zeros(b.value)
    for start in range(0, len(x), group):
        products = _cut_to_odd(x[start : start + group] * y[start : start + group])
        pair = products[0]
        for product in products[1:]:
            pair = _cut_to_odd(to_odd(*two_sum(pair, product)))
        total = _cut_to_odd(to_odd(*two_sum(total, pair)))
    return np.array(total)


LOST = (1 << 29) - 1
"""The bits of a float64 that f32 has not."""


def _cut_to_odd(values: Array) -> Array:
    """Values in f32 rounded to odd: cut toward zero, with the last bit set if something was cut."""
    bits = np.ascontiguousarray(values).view(np.int64)
    sticky = np.where(bits & LOST, LOST + 1, 0)
    cut = ((bits & ~LOST) | sticky).view(np.float64)
    cut = np.where(np.abs(values) >= 2.0**128, np.copysign(np.inf, values), cut)
    return np.where(np.isnan(values), np.nan, _signed_zeros(np.where(np.abs(values) < NORMAL, values, cut)))


def exact(a: Numbers, b: Numbers, c: Numbers, out: Format, group: int | None = None) -> Array:
    """The exact sum of products and c, rounded once to nearest even. With `group`, that many products at a time.

    For operands of up to 26 significant bits, whose products float64 holds: all but f64, which is refused. A sum that
    is exactly zero is plus zero even if all its terms are minus zero (MMA-Sim 2.1.1 and fpy2 0.3.0); a negative one
    that is rounded to zero is minus zero. MMA-Sim 2: E-FDPA.
    """
    if out.bits == 64:
        raise Error("the exact sum is of formats whose products float64 holds; f64 results are those of fma_chain")
    total = c.value
    step = group or len(a.value)
    for start in range(0, len(a.value), step):
        products = a.value[start : start + step] * b.value[start : start + step]
        total = round_to_format(rounding_sum(products, total), out)
    return total


def integer(a: Array, b: Array, c: NDArray[np.int64], saturate: bool, operation: str = "multiply") -> Any:
    """Integers: exact, then wrapped modulo 2**32 or saturated to int32.

    a (..., M, K), b (..., K, N), c (..., M, N). `operation` for single bits: "and" or "xor", then a population
    count. Source: the vendors' ISA documents (CDNA4 ISA 7.1; RDNA3 ISA, WMMA, CLAMP; PTX ISA, mma, .satfinite).
    """
    total = _whole_product(a, b)
    if operation == "xor":
        ones = a.sum(axis=-1)[..., :, None] + b.sum(axis=-2)[..., None, :]
        total = ones.astype(np.int64) - 2 * total
    total = total + c
    if saturate:
        return np.clip(total, -(2**31), 2**31 - 1)
    return ((total + 2**31) & 0xFFFFFFFF) - 2**31


def _whole_product(a: Array, b: Array) -> NDArray[np.int64]:
    """a (..., M, K) times b (..., K, N), exactly: in float32, in parts of K whose sums stay below 2**24.

    A product of matrices in floats is many times as fast as NumPy's of integers.
    """
    largest = [max(int(x.max(initial=0)), -int(x.min(initial=0)), 1) for x in (a, b)]
    part = max(1, (1 << 24) // (largest[0] * largest[1]))
    x, y = a.astype(np.float32), b.astype(np.float32)
    total = np.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), np.int64)
    for k in range(0, a.shape[-1], part):
        total += (x[..., k : k + part] @ y[..., k : k + part, :]).astype(np.int64)
    return total
