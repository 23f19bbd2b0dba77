"""The arithmetic models again, one dot product at a time, in exact rational arithmetic and without NumPy.

Written from the published descriptions (arXiv 2511.10909, arXiv 2512.07004), to be read beside them, not beside
`mmacalc.arithmetic.models`. Values are Python floats, of which only their exact fraction is used.
"""

from __future__ import annotations

from fractions import Fraction as Q
from math import copysign, floor, inf, isfinite, isinf, isnan, nan, trunc

# Significand bits (with the leading one) and smallest exponent of the result formats.
FORMATS = {"f64": (53, -1022, 1023), "f32": (24, -126, 127), "f16": (11, -14, 15), "bf16": (8, -126, 127)}


def log2_floor(q: Q) -> int:
    q = abs(q)
    e = q.numerator.bit_length() - q.denominator.bit_length()
    return e if Q(2) ** e <= q else e - 1


def exponent(x: float, emin: int) -> int:
    return emin if x == 0 else max(log2_floor(Q(x)), emin)


def rounded(q: Q, out: str, mode: str = "nearest", bits: int | None = None, zero: float = 0.0) -> float:
    """q in a format: to nearest even, toward zero, up or down; an exact zero is `zero`."""
    p, emin, emax = FORMATS[out]
    p = p if bits is None else bits + 1
    if q == 0:
        return zero
    step = Q(2) ** (max(log2_floor(q), emin) - p + 1)
    scaled = q / step
    whole = {
        "nearest": lambda: round(scaled), "zero": lambda: trunc(scaled), "down": lambda: floor(scaled),
        "up": lambda: -floor(-scaled),
    }[mode]()  # fmt: skip
    result, sign = whole * step, -1.0 if q < 0 else 1.0
    if abs(result) >= Q(2) ** (emax + 1):
        # To nearest this is an infinity; toward zero, f32 of the matrix units overflows from 2**128 on.
        directed_away = (mode == "up" and q > 0) or (mode == "down" and q < 0)
        if mode == "nearest" or directed_away or (mode == "zero" and out == "f32"):
            return sign * inf
        return sign * float((2 - Q(2) ** (1 - p)) * Q(2) ** emax)
    return copysign(float(abs(result)), q) if result else copysign(0.0, q)


def special(a, b, c, overflow=False):
    """The result when an infinity or NaN takes part, else None. `overflow`: products of 2**128 are infinities."""
    terms = []
    for x, y in zip(a, b):
        p = x * y
        if not (isinf(x) or isinf(y) or isnan(p)):
            big = overflow and abs(Q(x) * Q(y)) >= Q(2) ** 128
            p = copysign(inf, x) * copysign(1, y) if big else 0.0
        terms.append(p)
    terms.append(c if isinf(c) or isnan(c) else 0.0)
    if any(isnan(t) for t in terms) or (inf in terms and -inf in terms):
        return nan
    return next((t for t in terms if isinf(t)), None)


def chained(step, a, b, c, group):
    for k in range(0, len(a), group):
        c = step(a[k : k + group], b[k : k + group], c, first=k == 0)
    return c


def align(x, e):
    """The exponent that a term is aligned by: a zero has none."""
    return [e] if x != 0 else []


def aligned_truncated(a, b, c, emin, out, cmin, group, fraction, lowest, kept=None):
    def step(a, b, c, first):
        if (found := special(a, b, c)) is not None:
            return found
        es = [e for x, y in zip(a, b) for e in align(x * y, exponent(x, emin[0]) + exponent(y, emin[1]))]
        top = max(*es, *align(c, exponent(c, cmin if first else FORMATS[out][1])), lowest, lowest)
        unit = Q(2) ** (top - fraction)
        total = sum(trunc(Q(x) * Q(y) / unit) for x, y in zip(a, b)) + trunc(Q(c) / unit)
        return rounded(total * unit, out, "nearest" if out == "f16" else "zero", kept if out == "f32" else None) + 0.0

    return chained(step, a, b, c, group)


def products_cut(a, b, emin, fraction):
    es = [e for x, y in zip(a, b) for e in align(x * y, exponent(x, emin[0]) + exponent(y, emin[1]))]
    top = max(es, default=-999)
    unit = Q(2) ** (top - fraction)
    return sum(trunc(Q(x) * Q(y) / unit) for x, y in zip(a, b)) * unit, top


def floored(q, at):
    return floor(q / Q(2) ** at) * Q(2) ** at


def with_c(total, top, c_part, out, sum_fraction):
    """The sum of products and c, floored once more and rounded."""
    exact = total + c_part
    if exact:
        exact = floored(exact, max(log2_floor(exact), -126) - sum_fraction)
    return rounded(exact, out)


def two_stage_floored(a, b, c, emin, out, cmin, group, fraction, dot_fraction, sum_fraction):
    def step(a, b, c, first):
        if (found := special(a, b, c, overflow=True)) is not None:
            return found
        total, e1 = products_cut(a, b, emin, fraction)
        top = max(e1, exponent(c, -126))
        return with_c(floored(total, top - dot_fraction), top, floored(Q(c), top - fraction), out, sum_fraction)

    return chained(step, a, b, c, group)


def two_stage_floored_even_odd(a, b, c, emin, out, cmin, group, fraction, dot_fraction, sum_fraction, reach):
    def step(a, b, c, first):
        if (found := special(a, b, c, overflow=True)) is not None:
            return found
        (s0, e0), (s1, e1) = (products_cut(a[i::2], b[i::2], emin, fraction) for i in (0, 1))
        ep = max(e0, e1)
        total = floored(s0, ep - fraction) + floored(s1, ep - fraction)
        top = max(ep, exponent(c, -126))
        c_part = Q(0) if exponent(c, -126) < top - reach else floored(Q(c), top - fraction)
        return with_c(floored(total, top - dot_fraction), top, c_part, out, sum_fraction)

    return chained(step, a, b, c, group)


# --- RDNA3 and RDNA4, written from the comments of rocjitsu's gfx11_dot2.h and gfx12_dot.h --------------------------


def rdna_special(a, b, c, small):
    """The result when an infinity or NaN takes part, else None. `small`: factors below it count as zero."""
    if any(isnan(x) for x in (*a, *b)):
        return nan
    products = [(x, y) for x, y in zip(a, b) if isinf(x) or isinf(y)]
    signs = {copysign(1, x) * copysign(1, y) for x, y in products}
    if len(signs) == 2 or any(abs(x) < small or abs(y) < small for x, y in products):
        return nan
    if isnan(c):
        return c
    signs |= {copysign(1, c)} if isinf(c) else set()
    return nan if len(signs) == 2 else signs.pop() * inf if signs else None


def leading(q, least=None):
    exponents = ([log2_floor(q)] if q else []) + ([] if least is None else [least])
    return max(exponents, default=-999)


def narrow(exact, out, flush):
    """To f16 at once; to f32, where flush makes zero of what is subnormal when rounded to 24 bits; to bf16 from f32."""
    if out == "f16":
        return rounded(exact, "f16") + 0.0
    if flush and exact:
        step = Q(2) ** (log2_floor(exact) - 23)
        exact = round(exact / step) * step
        exact = exact if abs(exact) >= Q(2) ** -126 else Q(0)
    wide = rounded(exact, "f32") + 0.0
    if out == "f32" or isinf(wide) or wide == 0:
        return wide
    return copysign(float(abs(floored(abs(Q(wide)), max(log2_floor(Q(wide)), -126) - 7))), wide)


def dot2_ones_complement(a, b, c, emin, out, cmin, group, fraction, reach, lowest=None):
    small = Q(2) ** -126 if emin == (-126, -126) else Q(2) ** -999
    flush = out != "f16"

    def step(a, b, c, first):
        if (found := rdna_special(a, b, c, small)) is not None:
            return found
        if flush and abs(c) < 2.0**-126:
            c = copysign(0.0, c)
        a, b = ([x if abs(x) >= small else copysign(0.0, x) for x in v] for v in (a, b))
        products = [Q(x) * Q(y) for x, y in zip(a, b)]
        es = [e for x, y in zip(a, b) for e in align(x * y, exponent(x, emin[0]) + exponent(y, emin[1]))]
        if not any(products) and c == 0:
            return 0.0
        grid = max(max(es, default=-999) - fraction, max(leading(Q(c), lowest), *map(leading, products)) - reach)
        unit = Q(2) ** grid
        total = trunc(abs(Q(c)) / unit)
        for x, y, p in zip(a, b, products):
            units = trunc(abs(p) / unit)
            total += units if copysign(1, x) * copysign(1, y) == copysign(1, c) else ~units
        return narrow(total * unit * int(copysign(1, c)), out, flush=True)

    return chained(step, a, b, c, group)


def dot4_floored(a, b, c, emin, out, cmin, group, pair, fraction, reach, lowest):
    def step(a, b, c, first):
        if (found := rdna_special(a, b, c, Q(2) ** -999)) is not None:
            return found
        products = [Q(x) * Q(y) for x, y in zip(a, b)]
        es = [exponent(x, emin[0]) + exponent(y, emin[1]) if p else -999 for x, y, p in zip(a, b, products)]
        grid = max(max(es) - fraction, leading(Q(c), lowest) - reach)
        total = Q(0) if grid > lowest and abs(Q(c)) < Q(2) ** grid else floored(Q(c), grid)
        for i in range(0, len(a), pair):
            own = max(es[i : i + pair]) - fraction
            total += floored(sum(floored(p, own) for p in products[i : i + pair]), grid)
        return narrow(total, out, flush=False)

    return chained(step, a, b, c, group)


def add(x, y, out="f32"):
    """IEEE addition, to nearest."""
    plain = x + y
    if isnan(plain) or isinf(x) or isinf(y):
        return plain
    return rounded(Q(x) + Q(y), out, zero=x + y if x == 0 and y == 0 else 0.0)


def times(x, y, out="f32"):
    if isnan(x * y) or isinf(x) or isinf(y):
        return x * y
    return rounded(Q(x) * Q(y), out, zero=copysign(1, x) * copysign(1, y) * 0.0)


def pairwise_f32(a, b, c, emin, out, cmin, group, flush):
    def settle(x, smallest=-126):
        return copysign(0.0, x) if flush and abs(x) < 2.0**smallest else x

    def read(x, smallest):
        return 0.0 if flush and abs(x) < 2.0**smallest else x

    def step(a, b, c, first):
        c = read(c, -126) if first else c
        tree = [settle(times(read(x, emin[0]), read(y, emin[1]))) for x, y in zip(a, b)]
        while len(tree) > 1:
            tree = [settle(add(x, y)) for x, y in zip(tree[0::2], tree[1::2])]
        return settle(add(c, tree[0]))

    return chained(step, a, b, c, group)


def fma(x, y, z, out, mode="nearest"):
    if isnan(x) or isnan(y) or isnan(z) or (0.0 in (abs(x), abs(y)) and inf in (abs(x), abs(y))):
        return nan
    sign = copysign(1, x) * copysign(1, y)
    if inf in (abs(x), abs(y)):
        return nan if isinf(z) and z != sign * inf else sign * inf
    if isinf(z):
        return z
    exact = Q(x) * Q(y) + Q(z)
    zero = -0.0 if mode == "down" else 0.0
    if exact == 0 and Q(x) * Q(y) == 0 and sign == copysign(1, z):
        zero = sign * 0.0
    return rounded(exact, out, mode, zero=zero)


def fma_chain(a, b, c, emin, out, cmin, rounding="rn"):
    mode = {"rn": "nearest", "rz": "zero", "rm": "down", "rp": "up"}[rounding]
    for x, y in zip(a, b):
        c = fma(x, y, c, out, mode)
    return c


def exact(a, b, c, emin, out, cmin, group):
    def step(a, b, c, first):
        if (found := special(a, b, c)) is not None:
            return found
        return rounded(sum(Q(x) * Q(y) for x, y in zip(a, b)) + Q(c), out)

    return chained(step, a, b, c, group)


def fp8_two_halves(a, b, c, emin, out, cmin, fraction, lowest):
    low = [k for k in range(len(a)) if k % 4 in (0, 1)]
    high = [k for k in range(len(a)) if k % 4 in (2, 3)]
    h = 0.0
    for half in (low, high):
        h = aligned_truncated(
            [a[k] for k in half], [b[k] for k in half], h, emin, out, FORMATS[out][1], len(half), fraction, lowest
        )
    return add(h, c, out)


def block_scaled_fp4(a, b, c, emin, out, cmin, group, fraction, lowest, scales_a, scales_b):
    """`scales_*`: one scale for each run of 16 products, as (value, smallest exponent of its format)."""
    if any(isnan(s) for s, _ in (*scales_a, *scales_b)):
        return nan
    if (found := special([], [], c)) is not None:
        return found
    runs, es, ms = [], [], []
    for run, ((x, xmin), (y, ymin)) in enumerate(zip(scales_a, scales_b)):
        here = slice(run * group, (run + 1) * group)
        ex, ey = exponent(x, xmin), exponent(y, ymin)
        products = [Q(p) * Q(q) for p, q in zip(a[here], b[here])]
        runs.append(sum(products))
        es.append(ex + ey if any(products) and x and y else -999)
        ms.append(Q(x) / Q(2) ** ex * Q(y) / Q(2) ** ey)
    top = max(*es, *align(c, exponent(c, -126)), lowest)
    total = sum(trunc(t * m * Q(2) ** (fraction + e - top)) for t, m, e in zip(runs, ms, es))
    total += trunc(Q(c) * Q(2) ** (fraction - top))
    return rounded(total * Q(2) ** (top - fraction), out, "zero") + 0.0


# --- processors: f32 with roundings to nearest or to odd, without subnormals ---

LEAST = Q(1, 1 << 126)


def f32(value, sign, mode, tiny):
    """An exact value as f32. tiny: "before" or "after" rounding it is a zero, or None: subnormals are kept."""
    if value == 0:
        return copysign(0.0, -1 if sign else 1)
    negative, magnitude = value < 0, abs(value)

    def digits(grid):
        """The multiple of the grid that the value is rounded to."""
        whole, rest = divmod(magnitude, grid)
        if mode == "odd":
            return (whole | 1 if rest else whole) * grid
        half = grid / 2
        return (whole + (rest > half or (rest == half and whole & 1))) * grid

    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    while Q(2) ** exponent > magnitude:
        exponent -= 1
    while Q(2) ** (exponent + 1) <= magnitude:
        exponent += 1
    unbounded = digits(Q(2) ** (exponent - 23))
    if (tiny == "before" and magnitude < LEAST) or (tiny == "after" and unbounded < LEAST):
        return copysign(0.0, -1 if negative else 1)
    found = digits(Q(2) ** (max(exponent, -126) - 23))
    if found >= Q(2) ** 128:
        return -inf if negative else inf
    return copysign(float(found), -1 if negative else 1)


def f32_sum(a, b, mode, tiny):
    """a + b of floats in f32."""
    if not (isfinite(a) and isfinite(b)):
        return a + b
    sign = copysign(1, a) < 0 and copysign(1, b) < 0
    return f32(Q(a) + Q(b), sign, mode, tiny)


def f32_fma(a, b, c, mode, tiny):
    """a b + c in f32, rounded once."""
    if not all(map(isfinite, (a, b, c))):
        product = nan if 0 in (a, b) and inf in (abs(a), abs(b)) else a * b
        return product + c if not isfinite(product) else c
    sign = (copysign(1, a) * copysign(1, b) < 0) and copysign(1, c) < 0
    return f32(Q(a) * Q(b) + Q(c), sign, mode, tiny)


def daz(value):
    return copysign(0.0, value) if abs(value) < 2.0**-126 else value


def two_chains(a, b, c, emin, out, cmin, flush_inputs):
    """Intel's SDM, TDPBF16PS and TDPFP16PS."""
    if flush_inputs:
        a, b = [daz(x) for x in a], [daz(x) for x in b]
    temp = [0.0, 0.0]
    for k, (x, y) in enumerate(zip(a, b)):
        temp[k % 2] = f32_fma(x, y, temp[k % 2], "nearest", "after")
    return f32_sum(daz(c), f32_sum(*temp, "nearest", "after"), "nearest", "after")


def rounded_to_odd(a, b, c, emin, out, cmin, group):
    """Arm DDI 0602, BFDotAdd with FPCR.EBF 0."""
    total = daz(c)
    for k in range(0, len(a), group):
        products = [
            f32_fma(daz(x), daz(y), copysign(0.0, daz(x) * daz(y)), "odd", "before")
            for x, y in zip(a[k : k + group], b[k : k + group])
        ]
        total = f32_sum(total, f32_sum(*products, "odd", "before"), "odd", "before")
    return total
