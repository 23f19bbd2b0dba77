"""Arithmetic of PTX: what an opcode with its modifiers computes, as a function on arrays.

`operation` refuses what is on no line of `grammar` and computes the rest by the instruction's section in the PTX ISA
9.0 (9.7.1 integer, 9.7.3 floating point, 9.7.4 half precision, 9.7.6 comparison, 9.7.8 logic and shift, 9.7.9 data
movement and conversion). Floats are rounded once, exactly; what PTX documents as approximate is given correctly
rounded and marked (`Operation.approximate`). A NaN that single or half precision makes has the bits that
NVIDIA's GPUs give: 0x7FFFFFFF and 0x7FFF (PTX ISA 9.7.3, 9.7.4: "NaN results are canonical").

>>> operation("add", ("rz", "f32")).function(np.float32([1]), np.float32([2.0**-24]))
array([1.], dtype=float32)
>>> operation("mad", ("wide", "s16")).function(np.int16([-3]), np.int16([4]), np.int32([1]))
array([-11], dtype=int32)
"""

from __future__ import annotations

import operator

import numpy as np

from ...arithmetic.exact import fused_multiply_add
from ...base.errors import Error
from ...ptx.module import count_of
from .conversions import convert, move
from .floats import (
    by_halves,
    exact_sum,
    flushed,
    halves_of,
    narrowed,
    on_floats,
    packed,
    rounded_fused,
    rounded_product,
    rounded_sum,
    values_of,
)  # fmt: skip
from .grammar import TYPES, lines_of, takes
from .integers import (
    bit_field,
    bits_reversed,
    clamped,
    divided,
    dot,
    funnel,
    high_half,
    highest_one,
    inserted,
    leading_zeros,
    mask_of,
    nth_one,
    permuted,
    population,
    remainder,
    shifted_left,
    shifted_right,
    three_bits,
)  # fmt: skip
from .operation import DTYPES, Modifiers, Operation
from .video import ROOTS as VIDEO
from .video import video

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Array = Any  # of the types that the signatures name

__all__ = ["least_or_greatest", "operation", "roots", "truncated"]


# --- choosing ---


def _least(a: Array, b: Array) -> Array:
    """The smaller; of a NaN and a number the number; minus zero is below plus zero."""
    kind = f"u{a.dtype.itemsize}"
    equal = (a.view(kind) | b.view(kind)).view(a.dtype)
    return np.where(a == b, equal, np.where((a < b) | np.isnan(b), a, b))


def _greatest(a: Array, b: Array) -> Array:
    kind = f"u{a.dtype.itemsize}"
    equal = (a.view(kind) & b.view(kind)).view(a.dtype)
    return np.where(a == b, equal, np.where((a > b) | np.isnan(b), a, b))


def least_or_greatest(root: str, nan: bool, absolute: bool, xorsign: bool) -> Callable[..., Any]:
    """min or max of floats, two or more (9.7.3.11, 9.7.3.12)."""
    choose = _least if root == "min" else _greatest

    def function(*values: Array) -> Array:
        values = tuple(np.broadcast_arrays(*values))
        taken = [np.abs(value) for value in values] if absolute or xorsign else list(values)
        found = taken[0]
        for other in taken[1:]:
            found = choose(np.ascontiguousarray(found), np.ascontiguousarray(other))
        if nan:
            wrong = np.isnan(values[0])
            for value in values[1:]:
                wrong = wrong | np.isnan(value)
            found = np.where(wrong, found.dtype.type(np.nan), found)
        if xorsign:
            found = np.copysign(
                found, np.where(np.signbit(values[0]) ^ np.signbit(values[1]), -1, 1).astype(found.dtype)
            )
        return found

    return function


def _wider(type_: str) -> str:
    return f"{type_[0]}{2 * count_of(type_[1:])}"


# --- the builders, by root ---


def _arithmetic(root: str, words: tuple[str, ...]) -> Operation:
    """add, sub, mul, fma, mad of integers and floats."""
    modifiers = Modifiers(root, words)
    types = modifiers.types(sum(word in TYPES for word in words))
    mixed, type_ = types if len(types) == 2 else None, types[-1]
    if type_[0] in "us":
        return _integer_arithmetic(root, type_, modifiers)
    mode = modifiers.one_of(("rn", "rz", "rm", "rp"), "rn")
    ftz, sat = modifiers.flag("ftz"), modifiers.flag("sat")
    relu = modifiers.flag("relu")
    modifiers.done()
    kinds: dict[str, Callable[..., Any]] = {
        "add": lambda a, b: rounded_sum(mode, a, b), "sub": lambda a, b: rounded_sum(mode, a, -b),
        "mul": lambda a, b: rounded_product(mode, a, b),
        "fma": lambda a, b, c: rounded_fused(mode, a, b, c), "mad": lambda a, b, c: rounded_fused(mode, a, b, c),
    }  # fmt: skip
    base = kinds[root]
    count = 3 if root in ("fma", "mad") else 2
    if mixed:  # PTX ISA 9.7.5: the narrow operands are widened, and the sum is of f32

        def widened(*values: Array) -> Array:
            *narrow, last = values
            wide = [values_of(value, mixed[1]).astype(np.float32) for value in narrow]
            return on_floats(base, "f32", ftz, sat)(*wide, last)

        return Operation(("f32",), (mixed[1],) * (count - 1) + ("f32",), widened)
    if type_ in ("bf16", "bf16x2"):
        base = _exact_for_bfloat(root)
    if root in ("add", "sub", "mul") and mode == "rn" and type_ in ("f32", "f64", "f16", "f16x2", "f32x2"):
        base = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[root]
    return Operation((type_,), (type_,) * count, on_floats(base, type_, ftz, sat, relu))


def _exact_for_bfloat(root: str) -> Callable[..., Any]:
    """A sum or product of bf16 values as float32 rounded to odd, which rounds to bf16 once."""

    def function(*values: Array) -> Array:
        wide = [value.astype(np.float64) for value in values]
        if root in ("fma", "mad"):
            total = exact_sum(wide[0] * wide[1], wide[2])
        elif root == "mul":
            total = wide[0] * wide[1]
        else:
            total = exact_sum(wide[0], wide[1] if root == "add" else -wide[1])
        return narrowed(total, np.float32, "odd")

    return function


def _integer_arithmetic(root: str, type_: str, modifiers: Modifiers) -> Operation:
    how = modifiers.one_of(("lo", "hi", "wide"))
    sat, out = modifiers.flag("sat"), modifiers.flag("cc")
    modifiers.done()
    dtype = DTYPES[type_]
    if type_ in ("u16x2", "s16x2"):
        half = np.dtype("u2")
        if root not in ("add", "sub"):
            raise modifiers.unknown()
        plain: Callable[..., Any] = operator.add if root == "add" else operator.sub

        def halves(a: Array, b: Array) -> Array:
            parts = [[(x >> np.uint32(16 * place)).astype(half) for place in (0, 1)] for x in (a, b)]
            return packed(plain(parts[0][0], parts[1][0]), plain(parts[0][1], parts[1][1]))

        return Operation((type_,), (type_, type_), halves)
    if out:
        return _carrying(root, type_, how, False)
    if root in ("add", "sub"):
        plain = operator.add if root == "add" else operator.sub
        if sat:
            return Operation(
                (type_,), (type_, type_),
                lambda a, b: clamped(plain(a.astype(np.int64), b.astype(np.int64)), dtype),
            )  # fmt: skip
        return Operation((type_,), (type_, type_), plain)
    wide = _wider(type_) if how == "wide" else type_
    product = _products(how, wide)
    if root == "mul":
        return Operation((wide,), (type_, type_), product)
    if sat:
        return Operation((type_,), (type_,) * 3, lambda a, b, c: clamped(product(a, b).astype(np.int64) + c, dtype))
    return Operation((wide,), (type_, type_, wide), lambda a, b, c: product(a, b) + c)


def _products(how: str, wide: str) -> Callable[..., Any]:
    if how == "hi":
        return high_half
    if how == "wide":
        dtype = DTYPES[wide]
        return lambda a, b: a.astype(dtype) * b.astype(dtype)
    return operator.mul


def _carrying(root: str, type_: str, how: str, takes: bool) -> Operation:
    """add.cc, addc, sub.cc, subc, mad.cc, madc: the carry of the thread in and out (PTX ISA 9.7.2)."""
    dtype = np.dtype(f"u{DTYPES[type_].itemsize}")
    base = root[:3]

    def total(*values: Array) -> tuple[Array, Array]:
        *terms, carry = values if takes else (*values, np.zeros((), bool))
        terms = [np.asarray(term).view(dtype) for term in terms]
        if base == "mad":
            first = (high_half(terms[0].view(DTYPES[type_]), terms[1].view(DTYPES[type_])).view(dtype) if how == "hi"
                     else terms[0] * terms[1])  # fmt: skip
            terms = [first, terms[2]]
        a, b = terms
        if base == "sub":
            found = a - b
            borrow = a < b
            again = found - carry.astype(dtype)
            return again.view(DTYPES[type_]), borrow | ((found == 0) & carry)
        found = a + b
        over = found < a
        again = found + carry.astype(dtype)
        return again.view(DTYPES[type_]), over | ((again == 0) & carry)

    count = 3 if base == "mad" else 2
    return Operation(
        (type_, "pred"), (type_,) * count + (("pred",) if takes else ()), total, carry="both" if takes else "out"
    )


def _with_carry(root: str, words: tuple[str, ...]) -> Operation:
    modifiers = Modifiers(root, words)
    (type_,) = modifiers.types()
    how, out = modifiers.one_of(("lo", "hi")), modifiers.flag("cc")
    modifiers.done()
    made = _carrying(root, type_, how, True)
    return made if out else made._replace(
        results=(type_,), function=lambda *values: made.function(*values)[0], carry="in"
    )  # fmt: skip


def _quotient(root: str, words: tuple[str, ...]) -> Operation:
    modifiers = Modifiers(root, words)
    (type_,) = modifiers.types()
    if type_[0] in "us":
        modifiers.done()
        return Operation((type_,), (type_, type_), divided if root == "div" else remainder)
    mode = modifiers.one_of(("rn", "rz", "rm", "rp"), "rn")
    approximate = bool(modifiers.one_of(("approx", "full")))
    ftz = modifiers.flag("ftz")
    modifiers.done()

    def divide(a: Array, b: Array) -> Array:
        if mode == "rn" or approximate:
            return a / b
        return _directed_quotient(a, b, mode)

    return Operation((type_,), (type_, type_), on_floats(divide, type_, ftz, False), approximate)


def _directed_quotient(a: Array, b: Array, mode: str) -> Array:
    """a / b of float32 or float64, rounded toward zero, minus or plus infinity: by the sign of the remainder."""
    near = a / b
    scale = np.where(np.abs(a.astype(np.float64)) < 2.0**-400, 2.0**200, 1.0)  # what is left must not underflow
    rest = fused_multiply_add(-near.astype(np.float64) * scale, b.astype(np.float64), a.astype(np.float64) * scale)
    sign = np.sign(rest) * np.sign(b)  # of exact - near
    over = np.isinf(near) & np.isfinite(a) & (b != 0)
    sign = np.where(over, -np.sign(near), sign)
    down = (sign < 0) & ((mode == "rm") | ((mode == "rz") & (near > 0)))
    up = (sign > 0) & ((mode == "rp") | ((mode == "rz") & (near < 0)))
    fine = np.isfinite(near) | over
    infinity = near.dtype.type(np.inf)
    near = np.where(fine & down, np.nextafter(near, -infinity), near)
    return np.where(fine & up, np.nextafter(near, infinity), near)


_UNARY: dict[str, Callable[[Array], Array]] = {
    "rcp": lambda x: 1.0 / x, "sqrt": np.sqrt, "rsqrt": lambda x: 1.0 / np.sqrt(x), "ex2": np.exp2, "lg2": np.log2,
    "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
}  # fmt: skip


def _function(root: str, words: tuple[str, ...]) -> Operation:
    modifiers = Modifiers(root, words)
    (type_,) = modifiers.types()
    mode = modifiers.one_of(("rn", "rz", "rm", "rp"), "rn")
    approximate, ftz = modifiers.flag("approx"), modifiers.flag("ftz")
    modifiers.done()
    if mode != "rn":
        directed = (lambda x: _directed_quotient(np.ones_like(x), x, mode)) if root == "rcp" else (
            lambda x: _directed_root(x, mode))  # fmt: skip
        return Operation((type_,), (type_,), on_floats(directed, type_, ftz, False))
    wide = _UNARY[root]

    def function(x: Array) -> Array:
        return wide(x) if x.dtype == np.float64 else wide(x.astype(np.float64)).astype(x.dtype)

    if type_ == "f64" and approximate and ftz:
        return Operation((type_,), (type_,), lambda x: _upper_word(function, x), True)
    return Operation((type_,), (type_,), on_floats(function, type_, ftz, False), approximate)


def _directed_root(x: Array, mode: str) -> Array:
    """The square root rounded toward zero, minus or plus infinity: by the sign of what is left."""
    near = np.sqrt(x)
    wide = near.astype(np.float64)
    scale = np.where(x.astype(np.float64) < 2.0**-900, 2.0**100, 1.0)  # what is left must not underflow
    rest = fused_multiply_add(-wide * scale, wide * scale, x.astype(np.float64) * scale * scale)
    fine = np.isfinite(near)
    infinity = near.dtype.type(np.inf)
    near = np.where(fine & (rest < 0) & (mode in ("rm", "rz")), np.nextafter(near, -infinity), near)
    return np.where(fine & (rest > 0) & (mode == "rp"), np.nextafter(near, infinity), near)


def _upper_word(function: Callable[[Array], Array], x: Array) -> Array:
    """rcp and rsqrt.approx.ftz.f64 use and give the upper word alone (9.7.3.14, 9.7.3.18); of a NaN 0x7FFFFFFF."""
    mask = np.uint64(0xFFFFFFFF_00000000)
    with np.errstate(all="ignore"):
        found = flushed(function(flushed((x.view(np.uint64) & mask).view(np.float64))))
    return np.where(np.isnan(found), np.uint64(0x7FFFFFFF) << np.uint64(32), found.view(np.uint64) & mask).view(
        np.float64
    )


def _extreme(root: str, words: tuple[str, ...]) -> Operation:
    modifiers = Modifiers(root, words)
    (type_,) = modifiers.types()
    if type_[0] in "us":
        relu = modifiers.flag("relu")
        modifiers.done()
        plain = np.minimum if root == "min" else np.maximum
        if type_ in ("u16x2", "s16x2"):
            half = np.dtype("i2" if type_[0] == "s" else "u2")

            def halves(a: Array, b: Array) -> Array:
                parts = [[(x >> np.uint32(16 * at)).astype("u2").view(half) for at in (0, 1)] for x in (a, b)]
                found = [plain(parts[0][at], parts[1][at]) for at in (0, 1)]
                return packed(*([np.maximum(x, half.type(0)) for x in found] if relu else found))

            return Operation((type_,), (type_, type_), halves)
        if relu:
            return Operation((type_,), (type_, type_), lambda a, b: np.maximum(plain(a, b), a.dtype.type(0)))
        return Operation((type_,), (type_, type_), plain)
    ftz, nan = modifiers.flag("ftz"), modifiers.flag("NaN")
    xorsign, absolute = modifiers.flag("xorsign"), modifiers.flag("abs")
    modifiers.done()
    return Operation(
        (type_,), (type_, type_), on_floats(least_or_greatest(root, nan, absolute, xorsign), type_, ftz, False)
    )


_SIGNS: dict[str, Callable[[Array], Array]] = {"neg": np.negative, "abs": np.abs}


def _sign(root: str, words: tuple[str, ...]) -> Operation:
    """neg, abs, copysign: bits of the sign."""
    modifiers = Modifiers(root, words)
    (type_,) = modifiers.types()
    ftz = modifiers.flag("ftz")
    modifiers.done()
    if type_[0] == "s":
        return Operation((type_,), (type_,), np.negative if root == "neg" else np.abs)
    if type_ in ("bf16", "bf16x2", "f16x2"):
        dtype = DTYPES[type_]
        mask = dtype.type(0x8000 if dtype.itemsize == 2 else 0x80008000)
        if ftz:
            return Operation((type_,), (type_,), by_halves(lambda a: flushed(_SIGNS[root](a)), "f16"))
        return Operation((type_,), (type_,), (lambda a: a ^ mask) if root == "neg" else (lambda a: a & ~mask))
    plain = _SIGNS[root]
    return Operation((type_,), (type_,), (lambda a: flushed(plain(a))) if ftz else plain)


def _copysign(root: str, words: tuple[str, ...]) -> Operation:
    modifiers = Modifiers(root, words)
    (type_,) = modifiers.types()
    modifiers.done()
    return Operation((type_,), (type_, type_), lambda a, b: np.copysign(b, a))


def _logic(root: str, words: tuple[str, ...]) -> Operation:
    modifiers = Modifiers(root, words)
    (type_,) = modifiers.types()
    modifiers.done()
    if root == "not":
        return Operation((type_,), (type_,), np.logical_not if type_ == "pred" else np.invert, bitwise=True)
    if root == "cnot":
        return Operation((type_,), (type_,), lambda a: (a == 0).astype(a.dtype))
    plain = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[root]
    return Operation((type_,), (type_, type_), plain, bitwise=True)


def _shift(root: str, words: tuple[str, ...]) -> Operation:
    modifiers = Modifiers(root, words)
    (type_,) = modifiers.types()
    modifiers.done()
    return Operation((type_,), (type_, "u32"), shifted_left if root == "shl" else shifted_right)


def _bits(root: str, words: tuple[str, ...]) -> Operation:
    """Counting and moving bits."""
    modifiers = Modifiers(root, words)
    if root == "shf":
        direction, wrap = modifiers.one_of(("l", "r")), modifiers.one_of(("wrap", "clamp")) == "wrap"
        modifiers.types()
        modifiers.done()
        return Operation(("b32",), ("b32", "b32", "u32"), funnel(direction, wrap))
    if root == "prmt":
        modifiers.types()
        mode = modifiers.one_of(("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"))
        modifiers.done()
        return Operation(("b32",), ("b32", "b32", "b32"), permuted(mode))
    (type_,) = modifiers.types()
    if root == "fns":
        modifiers.done()
        return Operation(("b32",), ("b32", "b32", "b32"), nth_one)
    if root == "bfind":
        shift = modifiers.flag("shiftamt")
        modifiers.done()
        return Operation(("u32",), (type_,), highest_one(shift))
    if root == "bmsk":
        clamp = modifiers.one_of(("clamp", "wrap")) == "clamp"
        modifiers.done()
        return Operation(("b32",), ("u32", "u32"), mask_of(clamp))
    if root == "szext":
        clamp = modifiers.one_of(("clamp", "wrap")) == "clamp"
        modifiers.done()

        def extend(a: Array, n: Array) -> Array:
            width = np.minimum(n, np.uint32(32)) if clamp else n & np.uint32(31)
            return bit_field(a, np.uint32(0) + np.zeros_like(width), width)

        return Operation((type_,), (type_, "u32"), extend)
    modifiers.done()
    if root == "bfe":
        return Operation((type_,), (type_, "u32", "u32"), bit_field)
    if root == "bfi":
        return Operation((type_,), (type_, type_, "u32", "u32"), inserted)
    if root == "brev":
        return Operation((type_,), (type_,), bits_reversed)
    return Operation(("u32",), (type_,), {"popc": population, "clz": leading_zeros}[root])


def _logic_of_three(root: str, words: tuple[str, ...]) -> Operation:
    """lop3.b32 d, a, b, c, table; lop3.or.b32 d|p, a, b, c, table, q."""
    combine = next((word for word in words if word in _COMBINE), "")
    if not combine:
        return Operation(("b32",), ("b32", "b32", "b32", "u32"), three_bits)

    def with_predicate(*values: Array) -> tuple[Array, Array]:
        found = three_bits(*values[:4])
        return found, _COMBINE[combine](found != 0, values[4])

    return Operation(("b32", "pred"), ("b32", "b32", "b32", "u32", "pred"), with_predicate)


def _twenty_four(root: str, words: tuple[str, ...]) -> Operation:
    """mul24, mad24."""
    modifiers = Modifiers(root, words)
    (type_,) = modifiers.types()
    high, sat = modifiers.one_of(("lo", "hi")) == "hi", modifiers.flag("sat")
    modifiers.done()
    shift = np.int64(16 if high else 0)

    def product(a: Array, b: Array) -> Array:
        parts = [x.astype(np.int64) & np.int64(0xFFFFFF) for x in (a, b)]
        if type_[0] == "s":
            parts = [x - ((x & np.int64(0x800000)) << np.int64(1)) for x in parts]
        return parts[0] * parts[1] >> shift

    dtype = DTYPES[type_]
    if root == "mul24":
        return Operation((type_,), (type_, type_), lambda a, b: product(a, b).astype(dtype))
    if sat:
        return Operation((type_,), (type_,) * 3, lambda a, b, c: clamped(product(a, b) + c, dtype))
    return Operation((type_,), (type_,) * 3, lambda a, b, c: (product(a, b) + c).astype(dtype))


def _difference(root: str, words: tuple[str, ...]) -> Operation:
    modifiers = Modifiers(root, words)
    (type_,) = modifiers.types()
    modifiers.done()
    return Operation((type_,), (type_,) * 3, lambda a, b, c: np.where(a < b, b - a, a - b) + c)


def _dots(root: str, words: tuple[str, ...]) -> Operation:
    modifiers = Modifiers(root, words)
    first, second = modifiers.types(2)
    high = modifiers.one_of(("lo", "hi")) == "hi"
    modifiers.done()
    kind = "s32" if "s" in first[0] + second[0] else "u32"
    return Operation((kind,), ("u32", "u32", kind), dot(count_of(root[2]), first, second, high))


# --- comparisons ---

_COMPARE = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
_COMBINE = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _comparison(word: str, type_: str, ftz: bool) -> Callable[..., Any]:
    is_float = type_[0] == "f" or type_ == "bf16"
    unordered = is_float and len(word) > 2 and word not in ("num", "nan")
    plain: Any = _COMPARE.get(word[:2] if unordered else word)

    def function(a: Array, b: Array) -> Array:
        if type_ == "bf16":
            a, b = values_of(a, "bf16"), values_of(b, "bf16")
        if ftz:
            a, b = flushed(a), flushed(b)
        with np.errstate(invalid="ignore"):
            if not is_float:
                return plain(a, b)
            wrong = np.isnan(a) | np.isnan(b)
            if plain is None:
                return wrong if word == "nan" else ~wrong
            found = plain(a, b)
            return found | wrong if unordered else found & ~wrong

    return function


def _compare(root: str, words: tuple[str, ...]) -> Operation:
    """setp and set, with a predicate to combine; of packed halves a predicate for each."""
    modifiers = Modifiers(root, words)
    kinds = modifiers.types(2 if root == "set" else 1)
    type_ = kinds[-1]
    combine, ftz = modifiers.one_of(tuple(_COMBINE)), modifiers.flag("ftz")
    word = modifiers.words.pop(0)
    modifiers.done()
    single = {"f16x2": "f16", "bf16x2": "bf16"}.get(type_, type_)
    compare = _comparison(word, single, ftz)
    sources = (type_, type_, *(("pred",) if combine else ()))

    def combined(found: Array, rest: tuple[Array, ...]) -> Array:
        return _COMBINE[combine](found, rest[0]) if combine else found

    def found(a: Array, b: Array) -> list[Array]:
        """The comparison, or those of both halves."""
        if single == type_:
            return [compare(a, b)]
        parts = [halves_of(x, single) for x in np.broadcast_arrays(a, b)]
        return [compare(np.ascontiguousarray(parts[0][at]), np.ascontiguousarray(parts[1][at])) for at in (0, 1)]

    if root == "set":
        return Operation(
            (kinds[0],), sources, _setting(kinds[0], lambda a, b, *c: [combined(x, c) for x in found(a, b)])
        )

    def both(a: Array, b: Array, *rest: Array) -> tuple[Array, Array]:
        """p and q: of halves one for each, else the comparison and its opposite, each combined."""
        parts = found(a, b)
        first, second = parts if len(parts) == 2 else (parts[0], ~parts[0])
        return combined(first, rest), combined(second, rest)

    return Operation(("pred", "pred"), sources, both)


def _setting(result: str, compare: Callable[..., list[Array]]) -> Callable[..., Array]:
    """set: 1.0, or all ones, of a float, an integer, or each half (CUDA's __heq2 and __heq2_mask)."""
    codes = {
        "f32": 0x3F800000,
        "f16": 0x3C00,
        "f16x2": 0x3C00,
        "bf16": 0x3F80,
        "bf16x2": 0x3F80,
        "u16": 0xFFFF,
        "s16": 0xFFFF,
    }

    def function(a: Array, b: Array, *c: Array) -> Array:
        parts = compare(a, b, *c)
        if len(parts) == 2:
            one = np.uint16(codes.get(result, 0xFFFF))
            return packed(*[np.where(part, one, np.uint16(0)) for part in parts]).view(DTYPES[result])
        dtype = DTYPES[result]
        raw = np.dtype(f"u{dtype.itemsize}").type
        return np.where(parts[0], raw(codes.get(result, 0xFFFFFFFF)), raw(0)).view(dtype)

    return function


def _select(root: str, words: tuple[str, ...]) -> Operation:
    modifiers = Modifiers(root, words)
    if root == "selp":
        (type_,) = modifiers.types()
        modifiers.done()
        return Operation((type_,), (type_, type_, "pred"), lambda a, b, p: np.where(p, a, b))
    type_, by = modifiers.types(2)  # slct
    ftz = modifiers.flag("ftz")
    modifiers.done()

    def choose(a: Array, b: Array, c: Array) -> Array:
        return np.where((flushed(c) if ftz else c) >= 0, a, b)

    return Operation((type_,), (type_, type_, by), choose)


def _test(root: str, words: tuple[str, ...]) -> Operation:
    modifiers = Modifiers(root, words)
    (type_,) = modifiers.types()
    word = modifiers.one_of(("finite", "infinite", "number", "notanumber", "normal", "subnormal"))
    modifiers.done()
    least = {"f32": 2.0**-126, "f64": 2.0**-1022}[type_]
    functions: dict[str, Callable[..., Any]] = {
        "finite": np.isfinite, "infinite": np.isinf, "number": lambda a: ~np.isnan(a), "notanumber": np.isnan,
        "normal": lambda a: np.isfinite(a) & ((np.abs(a) >= least) | (a == 0)),  # zeros are: PTX ISA 9.7.3.1
        "subnormal": lambda a: (np.abs(a) < least) & (a != 0),
    }  # fmt: skip
    return Operation(("pred",), (type_,), functions[word])


_BUILDERS: dict[str, Callable[[str, tuple[str, ...]], Operation]] = {
    **dict.fromkeys(("add", "sub", "mul", "fma", "mad"), _arithmetic),
    **dict.fromkeys(("addc", "subc", "madc"), _with_carry),
    **dict.fromkeys(("div", "rem"), _quotient),
    **dict.fromkeys(_UNARY, _function),
    **dict.fromkeys(("min", "max"), _extreme),
    **dict.fromkeys(("neg", "abs"), _sign),
    "copysign": _copysign,
    **dict.fromkeys(("and", "or", "xor", "not", "cnot"), _logic),
    **dict.fromkeys(("shl", "shr"), _shift),
    **dict.fromkeys(("bfe", "bfi", "brev", "popc", "clz", "bfind", "fns", "shf", "prmt", "bmsk", "szext"), _bits),
    "lop3": _logic_of_three,
    **dict.fromkeys(("mul24", "mad24"), _twenty_four),
    "sad": _difference,
    **dict.fromkeys(("dp4a", "dp2a"), _dots),
    **dict.fromkeys(("setp", "set"), _compare),
    **dict.fromkeys(("selp", "slct"), _select),
    "testp": _test,
    **dict.fromkeys(VIDEO, video),
    "mov": move,
    "cvt": convert,
}


def roots() -> tuple[str, ...]:
    """The roots of the opcodes that compute without touching memory or other threads."""
    return tuple(_BUILDERS)


def operation(root: str, modifiers: tuple[str, ...]) -> Operation:
    """What an opcode computes.

    Raises:
        Error: the opcode, or one of its modifiers, is not covered.
    """
    builder = _BUILDERS.get(root)
    if builder is None:
        raise Error(f"the instruction {root} is not covered")
    if not takes(root, modifiers):
        raise Error(
            f"{'.'.join((root, *modifiers))} is not covered; {root} takes {'; '.join(lines_of(root, modifiers))}"
        )
    return builder(root, modifiers)


def truncated(value: Array, type_: str) -> Array:
    """A register's bits as a value of a type that is at most as wide."""
    dtype = DTYPES[type_]
    if value.dtype.itemsize != dtype.itemsize:
        value = value.astype(f"u{dtype.itemsize}")
    return value.view(dtype)
