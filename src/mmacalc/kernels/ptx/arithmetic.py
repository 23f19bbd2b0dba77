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

from ...arithmetic.codecs import decode, encode, largest
from ...arithmetic.exact import fused_multiply_add, to_odd, two_sum
from ...errors import Error
from ...formats import FORMATS
from ...ptx.reader import count_of
from ...records import TupleRecord
from .grammar import TYPES, lines_of, takes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Array = Any  # of the types that the signatures name

__all__ = ["DTYPES", "Operation", "operation", "roots", "truncated", "values_of", "bits_of_values"]

DTYPES = {
    **{f"{kind}{bits}": np.dtype(f"u{bits // 8}") for kind in "ub" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
    "f16": np.dtype("f2"), "f32": np.dtype("f4"), "f64": np.dtype("f8"), "pred": np.dtype(bool),
    "f16x2": np.dtype("u4"), "bf16x2": np.dtype("u4"), "bf16": np.dtype("u2"), "f32x2": np.dtype("u8"),
    "tf32": np.dtype("u4"), "u16x2": np.dtype("u4"), "s16x2": np.dtype("u4"),
}  # fmt: skip
"""How the values of a type are held; those that NumPy lacks by their bits."""
CANONICAL = {np.dtype("f4"): np.uint32(0x7FFFFFFF), np.dtype("f2"): np.uint16(0x7FFF)}
ROUNDINGS = ("rn", "rz", "rm", "rp", "rna", "rs")
TO_INTEGER = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


class Operation(TupleRecord):
    """What an opcode computes: the types of its results and sources, and the function on arrays of them.

    approximate: the hardware's result may differ within a documented error. carry: "" or what it does with the carry
    of its thread: "in", "out", "both"; the carry is then the last source and the last result. bitwise: each bit of
    the result is a bit of one source or a function of single bits, so that undefined bits can be followed one by one.
    """

    results: tuple[str, ...]
    sources: tuple[str, ...]
    function: Callable[..., Any]
    approximate: bool = False
    carry: str = ""
    bitwise: bool = False


class _Modifiers:
    """The modifiers of an opcode, taken one after the other; what is left over is refused by name."""

    def __init__(self, root: str, words: tuple[str, ...]) -> None:
        self.root, self.words = root, list(words)

    def flag(self, word: str) -> bool:
        if word in self.words:
            self.words.remove(word)
            return True
        return False

    def one_of(self, words: tuple[str, ...], default: str = "") -> str:
        for word in self.words:
            if word in words:
                self.words.remove(word)
                return word
        return default

    def types(self, count: int = 1) -> list[str]:
        """The words that are types, which may stand before other modifiers."""
        found = [word for word in self.words if word in TYPES]
        if len(found) != count:
            raise self.unknown()
        self.words = [word for word in self.words if word not in TYPES]
        return found

    def unknown(self) -> Error:
        left = ".".join(self.words)
        return Error(f"{self.root} with the modifiers '.{left}' is not covered")

    def done(self) -> None:
        if self.words:
            raise self.unknown()


SMALL = {"e4m3x2": 8, "e5m2x2": 8, "e2m1x2": 4, "e2m3x2": 8, "e3m2x2": 8, "ue8m0x2": 8}
"""Pairs of small floats, and the bits that each takes."""

# --- types that NumPy lacks ---


def values_of(bits: Array, type_: str) -> Array:
    """Values of bf16 (as float32) from their codes; of the two halves of a packed type the last axis is made."""
    if type_ == "bf16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    if type_ == "tf32":
        return bits.view(np.float32)
    return bits


def _bfloat(value: Array, mode: str = "rn") -> Array:
    """The codes of bf16 nearest to float32 or float64 values; a NaN is 0x7FFF."""
    wide = value.astype(np.float64)
    narrow = _narrowed(wide, np.float32, "odd")
    raw = narrow.view(np.uint32)
    if mode == "rn":
        raw = raw + np.uint32(0x7FFF) + (raw >> np.uint32(16) & np.uint32(1))
    elif mode in ("rp", "rm"):
        away = np.signbit(narrow) == (mode == "rm")
        raw = np.where(away, raw + np.uint32(0xFFFF), raw)
    found = (raw >> np.uint32(16)).astype(np.uint16)
    return np.where(np.isnan(wide), np.uint16(0x7FFF), found)


def bits_of_values(value: Array, type_: str) -> Array:
    """The codes of bf16 from float32 values, rounded to nearest even."""
    return _bfloat(value) if type_ == "bf16" else value


# --- rounding ---


def _narrowed(exact: Array, dtype: Any, mode: str) -> Array:
    """A float64, exact or rounded to odd, as float32 or float16, rounded to nearest even, zero, minus or plus infinity,
    or to odd."""
    dtype = np.dtype(dtype).type
    with np.errstate(all="ignore"):
        near = exact.astype(dtype)
        if mode == "rn":
            return near
        back = near.astype(np.float64)
        finite = np.isfinite(exact)
        towards_minus = (mode == "rm") | ((exact > 0) & (mode in ("rz", "odd")))
        towards_plus = (mode == "rp") | ((exact < 0) & (mode in ("rz", "odd")))
        infinity = dtype(np.inf)
        found = np.where(finite & towards_minus & (back > exact), np.nextafter(near, -infinity), near)
        found = np.where(finite & towards_plus & (back < exact), np.nextafter(near, infinity), found)
        if mode == "odd":
            kind = np.dtype(f"u{found.dtype.itemsize}")
            inexact = finite & (found.astype(np.float64) != exact)
            found = np.where(inexact, (found.view(kind) | kind.type(1)).view(found.dtype), found)
        return found


def _exact_sum(a: Array, b: Array) -> Array:
    high, low = two_sum(a, b)
    if not low.any():
        return high
    return to_odd(high, np.where(np.isfinite(high), low, 0.0))


def _signed_zero(total: Array, mode: str, *terms: Array) -> Array:
    """The sum zero of terms of both signs is minus zero where it is rounded down."""
    if mode != "rm":
        return total
    plus = np.bool_(True)
    for term in terms:
        plus = plus & ~np.signbit(term)
    return np.where((total == 0) & ~plus, -np.abs(total), total)


def _sum(mode: str, a: Array, b: Array) -> Array:
    return _fused(mode, np.ones_like(a), a, b)


def _product(mode: str, a: Array, b: Array) -> Array:
    if a.dtype == np.float64:
        zero = np.copysign(0.0, a) * np.copysign(1.0, b)
        return a * b if mode == "rn" else fused_multiply_add(a, b, zero, mode)
    if mode == "rn":
        return a * b
    return _narrowed(a.astype(np.float64) * b.astype(np.float64), a.dtype, mode)


def _fused(mode: str, a: Array, b: Array, c: Array) -> Array:
    a, b, c = np.broadcast_arrays(a, b, c)
    if a.dtype == np.float64:
        return fused_multiply_add(a, b, c, mode)
    wide = [x.astype(np.float64) for x in (a, b, c)]
    total = _exact_sum(wide[0] * wide[1], wide[2])
    return _signed_zero(_narrowed(total, a.dtype, mode), mode, wide[0] * wide[1], wide[2])


def _flushed(value: Array) -> Array:
    least = {2: 2.0**-14, 4: 2.0**-126, 8: 2.0**-1022}[value.dtype.itemsize]
    return np.where(np.abs(value) < least, np.copysign(value.dtype.type(0), value), value)


def _finished(value: Array, ftz: bool, sat: bool, relu: bool = False) -> Array:
    """The canonical NaN, .ftz, .sat and .relu of a result."""
    if ftz:
        value = _flushed(value)
    if relu:
        value = np.where(np.isnan(value), value, np.maximum(value, value.dtype.type(0)))
        value = np.where(value == 0, value.dtype.type(0), value)
    if sat:
        value = np.where(np.isnan(value), value.dtype.type(0), np.clip(value, 0, 1)).astype(value.dtype)
        value = np.where(value == 0, value.dtype.type(0), value)
    canonical = CANONICAL.get(value.dtype)
    if canonical is not None:
        wrong = np.isnan(value)
        if wrong.any():
            kind = f"u{value.dtype.itemsize}"
            value = np.where(wrong, np.asarray(canonical, kind), value.view(kind)).view(value.dtype)
    return value


def _floats(function: Callable[..., Any], type_: str, ftz: bool, sat: bool, relu: bool = False) -> Callable[..., Any]:
    """A function on floats with .ftz, .sat and .relu, for a scalar type or the halves of a packed one."""
    single = {"f16x2": "f16", "bf16x2": "bf16"}.get(type_, type_)

    def one(*values: Array) -> Array:
        with np.errstate(all="ignore"):
            if single == "bf16":
                wide = [values_of(value, "bf16") for value in values]
                found = _finished(function(*wide), ftz, sat, relu)
                return _bfloat(found)
            if ftz:
                values = tuple([_flushed(value) for value in values])
            return _finished(np.asarray(function(*values)), ftz, sat, relu)

    if type_ in ("f16x2", "bf16x2"):
        return _by_halves(one, single)
    if type_ == "f32x2":
        return _by_words(one)
    return one


def _halves(value: Array, single: str) -> tuple[Array, Array]:
    low, high = (value & np.uint32(0xFFFF)).astype(np.uint16), (value >> np.uint32(16)).astype(np.uint16)
    return (low.view(np.float16), high.view(np.float16)) if single == "f16" else (low, high)


def _packed(low: Array, high: Array) -> Array:
    low, high = (np.asarray(x).view(np.uint16).astype(np.uint32) for x in (low, high))
    return high << np.uint32(16) | low


def _by_halves(function: Callable[..., Any], single: str) -> Callable[..., Any]:
    def both(*values: Array) -> Array:
        parts = [_halves(value, single) for value in values]
        return _packed(*(function(*[part[place] for part in parts]) for place in (0, 1)))

    return both


def _by_words(function: Callable[..., Any]) -> Callable[..., Any]:
    def both(*values: Array) -> Array:
        low = function(*[(value & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32) for value in values])
        high = function(*[(value >> np.uint64(32)).astype(np.uint32).view(np.float32) for value in values])
        low, high = (x.view(np.uint32).astype(np.uint64) for x in (low, high))
        return high << np.uint64(32) | low

    return both


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


def _chosen(root: str, nan: bool, absolute: bool, xorsign: bool) -> Callable[..., Any]:
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


# --- integers ---


def _wider(type_: str) -> str:
    return f"{type_[0]}{2 * count_of(type_[1:])}"


def _high(a: Array, b: Array) -> Array:
    """The high half of a product."""
    bits = 8 * a.dtype.itemsize
    if bits < 64:
        wide = np.dtype(f"{a.dtype.kind}{2 * a.dtype.itemsize}")
        return (a.astype(wide) * b.astype(wide) >> wide.type(bits)).astype(a.dtype)
    x, y = a.view(np.uint64), b.view(np.uint64)
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    x0, x1, y0, y1 = x & mask, x >> half, y & mask, y >> half
    middle = (x0 * y0 >> half) + (x1 * y0 & mask) + (x0 * y1 & mask)
    high = x1 * y1 + (x1 * y0 >> half) + (x0 * y1 >> half) + (middle >> half)
    if a.dtype.kind == "i":
        zero = np.uint64(0)
        high = high - np.where(a < 0, y, zero) - np.where(b < 0, x, zero)
    return high.view(a.dtype)


def _divided(a: Array, b: Array) -> Array:
    """The quotient toward zero; of a division by zero all ones (unspecified in PTX; what NVIDIA's GPUs give)."""
    zero = b == 0
    safe = np.where(zero, b.dtype.type(1), b)
    if a.dtype.kind == "u":
        found = a // safe
    else:
        least = np.iinfo(a.dtype).min
        overflow = (a == least) & (safe == -1)
        safe = np.where(overflow, a.dtype.type(1), safe)
        quotient = a // safe
        inexact = (quotient * safe != a) & ((a < 0) ^ (safe < 0))
        found = np.where(overflow, a, quotient + inexact.astype(a.dtype))
    return np.where(zero, ~a.dtype.type(0), found)


def _remainder(a: Array, b: Array) -> Array:
    zero = b == 0
    return np.where(zero, a, a - _divided(a, b) * b)


def _clamped(value: Array, dtype: np.dtype[Any]) -> Array:
    limits = np.iinfo(dtype)
    return np.clip(value, limits.min, limits.max).astype(dtype)


def _shift_amount(amount: Array, bits: int) -> tuple[Array, Array]:
    """The amount kept below the width, and whether it was at least that."""
    return np.minimum(amount, np.uint32(bits - 1)), amount >= bits


def _left(a: Array, amount: Array) -> Array:
    within, beyond = _shift_amount(amount, 8 * a.dtype.itemsize)
    return np.where(beyond, a.dtype.type(0), a << within.astype(a.dtype))


def _right(a: Array, amount: Array) -> Array:
    within, beyond = _shift_amount(amount, 8 * a.dtype.itemsize)
    shifted = a >> within.astype(a.dtype)
    return shifted if a.dtype.kind == "i" else np.where(beyond, a.dtype.type(0), shifted)


def _funnel(direction: str, wrap: bool) -> Callable[..., Any]:
    def function(a: Array, b: Array, c: Array) -> Array:
        by = (c & np.uint32(31) if wrap else np.minimum(c, np.uint32(32))).astype(np.uint64)
        both = b.astype(np.uint64) << np.uint64(32) | a
        shifted = (both << by) >> np.uint64(32) if direction == "l" else both >> by
        return shifted.astype(np.uint32)

    return function


def _field(a: Array, start: Array, length: Array) -> Array:
    """bfe (PTX ISA 9.7.1.19): positions and lengths of 0 to 255; beyond the word its sign."""
    bits = 8 * a.dtype.itemsize
    start, length = ((x & np.uint32(0xFF)).astype(np.int64) for x in (start, length))
    raw = a.view(f"u{a.dtype.itemsize}").astype(np.uint64)
    top = np.minimum(start + length - 1, bits - 1)
    sign = (raw >> np.maximum(top, 0).astype(np.uint64) & np.uint64(1)).astype(bool)
    sign = sign & (length > 0) & (a.dtype.kind == "i")
    kept = np.clip(np.minimum(length, bits - start), 0, 64)
    mask = np.where(kept >= 64, ~np.uint64(0), (np.uint64(1) << np.minimum(kept, 63).astype(np.uint64)) - np.uint64(1))
    moved = np.where(start >= bits, np.uint64(0), raw >> np.minimum(start, 63).astype(np.uint64))
    found = np.where(sign, moved & mask | ~mask, moved & mask)
    return found.astype(f"u{a.dtype.itemsize}").view(a.dtype)


def _inserted(a: Array, b: Array, start: Array, length: Array) -> Array:
    bits = 8 * a.dtype.itemsize
    start, length = ((x & np.uint32(0xFF)).astype(np.int64) for x in (start, length))
    kept = np.clip(np.minimum(length, bits - start), 0, 64)
    low = np.where(kept >= 64, ~np.uint64(0), (np.uint64(1) << np.minimum(kept, 63).astype(np.uint64)) - np.uint64(1))
    at = np.minimum(start, 63).astype(np.uint64)
    mask = np.where(start >= bits, np.uint64(0), low << at)
    return (b.astype(np.uint64) & ~mask | (a.astype(np.uint64) << at) & mask).astype(a.dtype)


def _leading(a: Array) -> Array:
    """The number of zeros above the highest one."""
    bits = 8 * a.dtype.itemsize
    value, count = a.astype(np.uint64), np.zeros(a.shape, np.uint32)
    for step in (32, 16, 8, 4, 2, 1):
        high = value >> np.uint64(step)
        moved = high != 0
        value = np.where(moved, high, value)
        count = count + np.where(moved, np.uint32(step), np.uint32(0))
    return np.where(a == 0, np.uint32(bits), np.uint32(bits - 1) - count)


def _ones(a: Array) -> Array:
    value = a.astype(np.uint64)
    found = np.zeros(a.shape, np.uint32)
    for byte in range(a.dtype.itemsize):
        found = found + _POPULATION[(value >> np.uint64(8 * byte) & np.uint64(0xFF)).astype(np.intp)]
    return found


_POPULATION = np.array([bin(code).count("1") for code in range(256)], np.uint32)
_REVERSED = np.array([sum((code >> bit & 1) << (7 - bit) for bit in range(8)) for code in range(256)], np.uint64)


def _reversed(a: Array) -> Array:
    value, found = a.astype(np.uint64), np.uint64(0)
    for byte in range(a.dtype.itemsize):
        part = _REVERSED[(value >> np.uint64(8 * byte) & np.uint64(0xFF)).astype(np.intp)]
        found = found | part << np.uint64(8 * (a.dtype.itemsize - 1 - byte))
    return np.asarray(found).astype(a.dtype)


def _find(shift: bool) -> Callable[[Array], Array]:
    """bfind: the place of the highest one (of a negative number, zero), or how far to shift it to the top."""

    def function(a: Array) -> Array:
        bits = 8 * a.dtype.itemsize
        raw = a.view(f"u{a.dtype.itemsize}")
        if a.dtype.kind == "i":
            raw = np.where(a < 0, ~raw, raw)
        zeros = _leading(raw)
        place = zeros if shift else np.uint32(bits - 1) - zeros
        return np.where(raw == 0, np.uint32(0xFFFFFFFF), place)

    return function


def _permuted(mode: str) -> Callable[..., Any]:
    """prmt (PTX ISA 9.7.9.7)."""

    def function(a: Array, b: Array, c: Array) -> Array:
        both = b.astype(np.uint64) << np.uint64(32) | a
        found: Any = np.uint32(0)
        for place in range(4):
            if mode:
                low = (c & np.uint32(3)).astype(np.int64)
                chosen = {
                    "f4e": low + place, "b4e": (low - place) % 8, "rc8": low,
                    "ecl": np.maximum(low, place), "ecr": np.minimum(low, place),
                    "rc16": (low & 1) * 2 + place % 2,
                }[mode]  # fmt: skip
                code = chosen.astype(np.uint64)
            else:
                code = (c >> np.uint32(4 * place) & np.uint32(15)).astype(np.uint64)
            byte = (both >> np.uint64(8) * (code & np.uint64(7)) & np.uint64(0xFF)).astype(np.uint32)
            sign = np.where(byte & np.uint32(0x80), np.uint32(0xFF), np.uint32(0))
            byte = np.where((code & np.uint64(8)) != 0, sign, byte)
            found = np.asarray(found | byte << np.uint32(8 * place))
        return found

    return function


def _three_bits(a: Array, b: Array, c: Array, table: Array) -> Array:
    """lop3: the bit of an eight-bit table that the bits of a, b and c name."""
    code = int(np.asarray(table).flat[0])
    found: Any = np.uint32(0)
    for row in range(8):
        if code >> row & 1:
            found = found | (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return np.broadcast_to(found, np.broadcast_shapes(a.shape, b.shape, c.shape))


def _dot(elements: int, first: str, second: str, high: bool) -> Callable[..., Any]:
    """dp4a, dp2a."""

    def parts(value: Array, kind: str, bits: int, count: int, start: int) -> list[Array]:
        dtype = np.dtype(f"{'i' if kind[0] == 's' else 'u'}{bits // 8}")
        raw = value.view(np.uint32)
        return [
            (raw >> np.uint32(bits * (start + at))).astype(f"u{bits // 8}").view(dtype).astype(np.int64)
            for at in range(count)
        ]

    def function(a: Array, b: Array, c: Array) -> Array:
        left = parts(a, first, 8 if elements == 4 else 16, elements, 0)
        right = parts(b, second, 8, elements, 2 * high if elements == 2 else 0)
        total = c.astype(np.int64) + sum(x * y for x, y in zip(left, right))
        return total.astype(np.uint32).view(c.dtype)

    return function


# --- the builders, by root ---


def _arithmetic(root: str, words: tuple[str, ...]) -> Operation:
    """add, sub, mul, fma, mad of integers and floats."""
    modifiers = _Modifiers(root, words)
    types = modifiers.types(sum(word in TYPES for word in words))
    mixed, type_ = types if len(types) == 2 else None, types[-1]
    if type_[0] in "us":
        return _integer_arithmetic(root, type_, modifiers)
    mode = modifiers.one_of(("rn", "rz", "rm", "rp"), "rn")
    ftz, sat = modifiers.flag("ftz"), modifiers.flag("sat")
    relu = modifiers.flag("relu")
    modifiers.done()
    kinds: dict[str, Callable[..., Any]] = {
        "add": lambda a, b: _sum(mode, a, b), "sub": lambda a, b: _sum(mode, a, -b),
        "mul": lambda a, b: _product(mode, a, b),
        "fma": lambda a, b, c: _fused(mode, a, b, c), "mad": lambda a, b, c: _fused(mode, a, b, c),
    }  # fmt: skip
    base = kinds[root]
    count = 3 if root in ("fma", "mad") else 2
    if mixed:  # PTX ISA 9.7.5: the narrow operands are widened, and the sum is of f32

        def widened(*values: Array) -> Array:
            *narrow, last = values
            wide = [values_of(value, mixed[1]).astype(np.float32) for value in narrow]
            return _floats(base, "f32", ftz, sat)(*wide, last)

        return Operation(("f32",), (mixed[1],) * (count - 1) + ("f32",), widened)
    if type_ in ("bf16", "bf16x2"):
        base = _exact_for_bfloat(root)
    if root in ("add", "sub", "mul") and mode == "rn" and type_ in ("f32", "f64", "f16", "f16x2", "f32x2"):
        base = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[root]
    return Operation((type_,), (type_,) * count, _floats(base, type_, ftz, sat, relu))


def _exact_for_bfloat(root: str) -> Callable[..., Any]:
    """A sum or product of bf16 values as float32 rounded to odd, which rounds to bf16 once."""

    def function(*values: Array) -> Array:
        wide = [value.astype(np.float64) for value in values]
        if root in ("fma", "mad"):
            total = _exact_sum(wide[0] * wide[1], wide[2])
        elif root == "mul":
            total = wide[0] * wide[1]
        else:
            total = _exact_sum(wide[0], wide[1] if root == "add" else -wide[1])
        return _narrowed(total, np.float32, "odd")

    return function


def _integer_arithmetic(root: str, type_: str, modifiers: _Modifiers) -> Operation:
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
            return _packed(plain(parts[0][0], parts[1][0]), plain(parts[0][1], parts[1][1]))

        return Operation((type_,), (type_, type_), halves)
    if out:
        return _carrying(root, type_, how, False)
    if root in ("add", "sub"):
        plain = operator.add if root == "add" else operator.sub
        if sat:
            return Operation(
                (type_,), (type_, type_),
                lambda a, b: _clamped(plain(a.astype(np.int64), b.astype(np.int64)), dtype),
            )  # fmt: skip
        return Operation((type_,), (type_, type_), plain)
    wide = _wider(type_) if how == "wide" else type_
    product = _products(how, wide)
    if root == "mul":
        return Operation((wide,), (type_, type_), product)
    if sat:
        return Operation((type_,), (type_,) * 3, lambda a, b, c: _clamped(product(a, b).astype(np.int64) + c, dtype))
    return Operation((wide,), (type_, type_, wide), lambda a, b, c: product(a, b) + c)


def _products(how: str, wide: str) -> Callable[..., Any]:
    if how == "hi":
        return _high
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
            first = (_high(terms[0].view(DTYPES[type_]), terms[1].view(DTYPES[type_])).view(dtype) if how == "hi"
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
    modifiers = _Modifiers(root, words)
    (type_,) = modifiers.types()
    how, out = modifiers.one_of(("lo", "hi")), modifiers.flag("cc")
    modifiers.done()
    made = _carrying(root, type_, how, True)
    return made if out else made._replace(
        results=(type_,), function=lambda *values: made.function(*values)[0], carry="in"
    )  # fmt: skip


def _quotient(root: str, words: tuple[str, ...]) -> Operation:
    modifiers = _Modifiers(root, words)
    (type_,) = modifiers.types()
    if type_[0] in "us":
        modifiers.done()
        return Operation((type_,), (type_, type_), _divided if root == "div" else _remainder)
    mode = modifiers.one_of(("rn", "rz", "rm", "rp"), "rn")
    approximate = bool(modifiers.one_of(("approx", "full")))
    ftz = modifiers.flag("ftz")
    modifiers.done()

    def divide(a: Array, b: Array) -> Array:
        if mode == "rn" or approximate:
            return a / b
        return _directed_quotient(a, b, mode)

    return Operation((type_,), (type_, type_), _floats(divide, type_, ftz, False), approximate)


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
    modifiers = _Modifiers(root, words)
    (type_,) = modifiers.types()
    mode = modifiers.one_of(("rn", "rz", "rm", "rp"), "rn")
    approximate, ftz = modifiers.flag("approx"), modifiers.flag("ftz")
    modifiers.done()
    if mode != "rn":
        directed = (lambda x: _directed_quotient(np.ones_like(x), x, mode)) if root == "rcp" else (
            lambda x: _directed_root(x, mode))  # fmt: skip
        return Operation((type_,), (type_,), _floats(directed, type_, ftz, False))
    wide = _UNARY[root]

    def function(x: Array) -> Array:
        return wide(x) if x.dtype == np.float64 else wide(x.astype(np.float64)).astype(x.dtype)

    if type_ == "f64" and approximate and ftz:
        return Operation((type_,), (type_,), lambda x: _upper_word(function, x), True)
    return Operation((type_,), (type_,), _floats(function, type_, ftz, False), approximate)


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
        found = _flushed(function(_flushed((x.view(np.uint64) & mask).view(np.float64))))
    return np.where(np.isnan(found), np.uint64(0x7FFFFFFF) << np.uint64(32), found.view(np.uint64) & mask).view(
        np.float64
    )


def _extreme(root: str, words: tuple[str, ...]) -> Operation:
    modifiers = _Modifiers(root, words)
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
                return _packed(*([np.maximum(x, half.type(0)) for x in found] if relu else found))

            return Operation((type_,), (type_, type_), halves)
        if relu:
            return Operation((type_,), (type_, type_), lambda a, b: np.maximum(plain(a, b), a.dtype.type(0)))
        return Operation((type_,), (type_, type_), plain)
    ftz, nan = modifiers.flag("ftz"), modifiers.flag("NaN")
    xorsign, absolute = modifiers.flag("xorsign"), modifiers.flag("abs")
    modifiers.done()
    return Operation((type_,), (type_, type_), _floats(_chosen(root, nan, absolute, xorsign), type_, ftz, False))


_SIGNS: dict[str, Callable[[Array], Array]] = {"neg": np.negative, "abs": np.abs}


def _sign(root: str, words: tuple[str, ...]) -> Operation:
    """neg, abs, copysign: bits of the sign."""
    modifiers = _Modifiers(root, words)
    (type_,) = modifiers.types()
    ftz = modifiers.flag("ftz")
    modifiers.done()
    if type_[0] == "s":
        return Operation((type_,), (type_,), np.negative if root == "neg" else np.abs)
    if type_ in ("bf16", "bf16x2", "f16x2"):
        dtype = DTYPES[type_]
        mask = dtype.type(0x8000 if dtype.itemsize == 2 else 0x80008000)
        if ftz:
            return Operation((type_,), (type_,), _by_halves(lambda a: _flushed(_SIGNS[root](a)), "f16"))
        return Operation((type_,), (type_,), (lambda a: a ^ mask) if root == "neg" else (lambda a: a & ~mask))
    plain = _SIGNS[root]
    return Operation((type_,), (type_,), (lambda a: _flushed(plain(a))) if ftz else plain)


def _copysign(root: str, words: tuple[str, ...]) -> Operation:
    modifiers = _Modifiers(root, words)
    (type_,) = modifiers.types()
    modifiers.done()
    return Operation((type_,), (type_, type_), lambda a, b: np.copysign(b, a))


def _logic(root: str, words: tuple[str, ...]) -> Operation:
    modifiers = _Modifiers(root, words)
    (type_,) = modifiers.types()
    modifiers.done()
    if root == "not":
        return Operation((type_,), (type_,), np.logical_not if type_ == "pred" else np.invert, bitwise=True)
    if root == "cnot":
        return Operation((type_,), (type_,), lambda a: (a == 0).astype(a.dtype))
    plain = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[root]
    return Operation((type_,), (type_, type_), plain, bitwise=True)


def _shift(root: str, words: tuple[str, ...]) -> Operation:
    modifiers = _Modifiers(root, words)
    (type_,) = modifiers.types()
    modifiers.done()
    return Operation((type_,), (type_, "u32"), _left if root == "shl" else _right)


def _bits(root: str, words: tuple[str, ...]) -> Operation:
    """Counting and moving bits."""
    modifiers = _Modifiers(root, words)
    if root == "shf":
        direction, wrap = modifiers.one_of(("l", "r")), modifiers.one_of(("wrap", "clamp")) == "wrap"
        modifiers.types()
        modifiers.done()
        return Operation(("b32",), ("b32", "b32", "u32"), _funnel(direction, wrap))
    if root == "prmt":
        modifiers.types()
        mode = modifiers.one_of(("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"))
        modifiers.done()
        return Operation(("b32",), ("b32", "b32", "u32"), _permuted(mode))
    (type_,) = modifiers.types()
    if root == "bfind":
        shift = modifiers.flag("shiftamt")
        modifiers.done()
        return Operation(("u32",), (type_,), _find(shift))
    if root == "bmsk":
        clamp = modifiers.one_of(("clamp", "wrap")) == "clamp"
        modifiers.done()
        return Operation(("b32",), ("u32", "u32"), _mask(clamp))
    if root == "szext":
        clamp = modifiers.one_of(("clamp", "wrap")) == "clamp"
        modifiers.done()

        def extend(a: Array, n: Array) -> Array:
            width = np.minimum(n, np.uint32(32)) if clamp else n & np.uint32(31)
            return _field(a, np.uint32(0) + np.zeros_like(width), width)

        return Operation((type_,), (type_, "u32"), extend)
    modifiers.done()
    if root == "bfe":
        return Operation((type_,), (type_, "u32", "u32"), _field)
    if root == "bfi":
        return Operation((type_,), (type_, type_, "u32", "u32"), _inserted)
    if root == "brev":
        return Operation((type_,), (type_,), _reversed)
    return Operation(("u32",), (type_,), {"popc": _ones, "clz": _leading}[root])


def _logic_of_three(root: str, words: tuple[str, ...]) -> Operation:
    """lop3.b32 d, a, b, c, table; lop3.or.b32 d|p, a, b, c, table, q."""
    combine = next((word for word in words if word in _COMBINE), "")
    if not combine:
        return Operation(("b32",), ("b32", "b32", "b32", "u32"), _three_bits)

    def with_predicate(*values: Array) -> tuple[Array, Array]:
        found = _three_bits(*values[:4])
        return found, _COMBINE[combine](found != 0, values[4])

    return Operation(("b32", "pred"), ("b32", "b32", "b32", "u32", "pred"), with_predicate)


def _mask(clamp: bool) -> Callable[..., Any]:
    def function(a: Array, b: Array) -> Array:
        start, length = ((x if clamp else x & np.uint32(31)).astype(np.uint64) for x in (a, b))
        length, start = np.minimum(length, np.uint64(32)), np.minimum(start, np.uint64(32))
        return ((((np.uint64(1) << length) - np.uint64(1)) << start) & np.uint64(0xFFFFFFFF)).astype(np.uint32)

    return function


def _twenty_four(root: str, words: tuple[str, ...]) -> Operation:
    """mul24, mad24."""
    modifiers = _Modifiers(root, words)
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
        return Operation((type_,), (type_,) * 3, lambda a, b, c: _clamped(product(a, b) + c, dtype))
    return Operation((type_,), (type_,) * 3, lambda a, b, c: (product(a, b) + c).astype(dtype))


def _difference(root: str, words: tuple[str, ...]) -> Operation:
    modifiers = _Modifiers(root, words)
    (type_,) = modifiers.types()
    modifiers.done()
    return Operation((type_,), (type_,) * 3, lambda a, b, c: np.where(a < b, b - a, a - b) + c)


def _dots(root: str, words: tuple[str, ...]) -> Operation:
    modifiers = _Modifiers(root, words)
    first, second = modifiers.types(2)
    high = modifiers.one_of(("lo", "hi")) == "hi"
    modifiers.done()
    kind = "s32" if "s" in first[0] + second[0] else "u32"
    return Operation((kind,), ("b32", "b32", kind), _dot(count_of(root[2]), first, second, high))


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
            a, b = _flushed(a), _flushed(b)
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
    modifiers = _Modifiers(root, words)
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
        parts = [_halves(x, single) for x in np.broadcast_arrays(a, b)]
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
            return _packed(*[np.where(part, one, np.uint16(0)) for part in parts]).view(DTYPES[result])
        dtype = DTYPES[result]
        raw = np.dtype(f"u{dtype.itemsize}").type
        return np.where(parts[0], raw(codes.get(result, 0xFFFFFFFF)), raw(0)).view(dtype)

    return function


def _select(root: str, words: tuple[str, ...]) -> Operation:
    modifiers = _Modifiers(root, words)
    if root == "selp":
        (type_,) = modifiers.types()
        modifiers.done()
        return Operation((type_,), (type_, type_, "pred"), lambda a, b, p: np.where(p, a, b))
    type_, by = modifiers.types(2)  # slct
    ftz = modifiers.flag("ftz")
    modifiers.done()

    def choose(a: Array, b: Array, c: Array) -> Array:
        return np.where((_flushed(c) if ftz else c) >= 0, a, b)

    return Operation((type_,), (type_, type_, by), choose)


def _test(root: str, words: tuple[str, ...]) -> Operation:
    modifiers = _Modifiers(root, words)
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


# --- conversions ---


def _move(root: str, words: tuple[str, ...]) -> Operation:
    modifiers = _Modifiers(root, words)
    (type_,) = modifiers.types()
    modifiers.done()
    return Operation((type_,), (type_,), lambda a: a, bitwise=True)


def _convert(root: str, words: tuple[str, ...]) -> Operation:
    """cvt (PTX ISA 9.7.9.21)."""
    modifiers = _Modifiers(root, words)
    if modifiers.flag("pack"):
        return _convert_pack(modifiers)
    target, source = modifiers.types(2)
    mode = modifiers.one_of(ROUNDINGS)
    integer = modifiers.one_of(tuple(TO_INTEGER))
    ftz, sat, relu = modifiers.flag("ftz"), modifiers.flag("sat"), modifiers.flag("relu")
    finite = modifiers.flag("satfinite")
    modifiers.done()
    if mode == "rs":
        return _stochastic(words, target, relu, finite)
    if target in SMALL:
        return _to_packed(target, source, mode, relu, finite)
    if source in SMALL:
        return _unpacked(target, source, relu)
    if target in ("f16x2", "bf16x2"):
        return _pair(target, source, mode, relu, finite)
    if target == "tf32":
        return Operation(("tf32",), ("f32",), _to_tf32(mode, relu, finite))
    is_float = [kind[0] == "f" or kind == "bf16" for kind in (target, source)]
    if is_float == [False, False]:
        return Operation((target,), (source,), _between_integers(target, source, sat), bitwise=not sat)
    if is_float == [False, True]:
        return Operation((target,), (source,), _to_integer(target, source, integer or "rzi", ftz))
    if is_float == [True, False]:
        return Operation((target,), (source,), _from_integer(target, mode or "rn", sat))
    return Operation((target,), (source,), _between_floats(target, source, mode, integer, ftz, sat, relu, finite))


def _between_integers(target: str, source: str, sat: bool) -> Callable[..., Any]:
    dtype = DTYPES[target]
    if not sat:
        return lambda a: a.astype(dtype)
    limits = np.iinfo(dtype)

    def function(a: Array) -> Array:
        own = np.iinfo(a.dtype)
        low, high = max(limits.min, own.min), min(limits.max, own.max)
        return np.clip(a, a.dtype.type(low), a.dtype.type(high)).astype(dtype)

    return function


def _to_integer(target: str, source: str, integer: str, ftz: bool) -> Callable[..., Any]:
    """Clamped to the range. A NaN is 0; where source or target has 64 bits it is the upper bit alone."""
    dtype = DTYPES[target]
    limits = np.iinfo(dtype)
    missing = dtype.type(0)
    if source == "f64" or dtype.itemsize == 8:
        missing = np.array(1 << 8 * dtype.itemsize - 1, f"u{dtype.itemsize}").view(dtype)[()]

    def function(a: Array) -> Array:
        a = values_of(a, source)
        if ftz:
            a = _flushed(a)
        with np.errstate(all="ignore"):
            whole = TO_INTEGER[integer](a.astype(np.float64))
            low, high = whole < float(limits.min), whole >= float(limits.max)
            plain = np.where(low | high | np.isnan(whole), 0.0, whole).astype(dtype)
        found = np.where(high, dtype.type(limits.max), np.where(low, dtype.type(limits.min), plain))
        return np.where(np.isnan(whole), missing, found)

    return function


def _from_integer(target: str, mode: str, sat: bool) -> Callable[..., Any]:
    def function(a: Array) -> Array:
        if target == "f64" and mode == "rn":
            found = a.astype(np.float64)
        else:
            wide = a.astype(np.float64)
            if a.dtype.itemsize == 8:  # exact as the sum of two halves, rounded to odd
                low = (a & a.dtype.type(0xFFFFFFFF)).astype(np.float64)
                high = (a >> a.dtype.type(32)).astype(np.float64) * 2.0**32
                wide = _exact_sum(high, low)
                if target == "f64":
                    wide = fused_multiply_add(high, np.ones_like(high), low, mode)
            if target == "bf16":
                return _bfloat(wide, mode)
            found = wide if target == "f64" else _narrowed(wide, DTYPES[target], mode)
        return _finished(found, False, sat)

    return function


def _between_floats(  # noqa: PLR0913
    target: str, source: str, mode: str, integer: str, ftz: bool, sat: bool, relu: bool, finite: bool
) -> Callable[..., Any]:
    def function(a: Array) -> Array:
        with np.errstate(all="ignore"):
            value = values_of(a, source)
            if ftz and source in ("f32",):
                value = _flushed(value)
            if integer:
                value = TO_INTEGER[integer](value)
            wide = value.astype(np.float64)
            if relu:
                wide = np.where(wide > 0, wide, np.where(np.isnan(wide), wide, 0.0))
            if finite:
                most = largest("bf16" if target == "bf16" else target)
                wide = np.where(np.isnan(wide), wide, np.clip(wide, -most, most))
            if target == "bf16":
                return _bfloat(np.clip(wide, 0, 1) if sat else wide, mode or "rn")
            if target == "f64":
                return _finished(wide, ftz, sat)
            found = _narrowed(wide, DTYPES[target], mode or "rn")
            return _finished(found, ftz and target == "f32", sat)

    return function


def _pair(target: str, source: str, mode: str, relu: bool, finite: bool) -> Operation:
    """cvt.f16x2.f32 d, a, b: a in the high half."""
    single = target[:-2]
    one = _between_floats(single, source, mode, "", False, False, relu, finite)
    return Operation((target,), (source, source), lambda a, b: _packed(one(b), one(a)))


def _stochastic(words: tuple[str, ...], target: str, relu: bool, finite: bool) -> Operation:
    """cvt.rs.bf16x2.f32 d, a, b, rbits: the upper 16 bits of rbits are added below those that a keeps, the lower for b.

    To f16 and to smaller floats the ISA leaves open where they are added to a subnormal: these are refused.
    """
    if target != "bf16x2":
        raise Error(f"cvt.{'.'.join(words)}: stochastic rounding is covered to bf16x2 alone")

    def one(a: Array, bits: Array) -> Array:
        raw = np.where((a < 0) & relu, np.float32(0), a).view(np.uint32)
        raw = np.where(raw == np.uint32(0x80000000), np.uint32(0), raw) if relu else raw
        found = np.where(np.isinf(a), raw, raw + bits) >> np.uint32(16)
        if finite:
            found = np.where(
                (found & np.uint32(0x7FFF)) >= np.uint32(0x7F80), found & np.uint32(0x8000) | np.uint32(0x7F7F), found
            )
        return np.where(np.isnan(a), np.uint32(0x7FFF), found).astype(np.uint16)

    def function(a: Array, b: Array, bits: Array) -> Array:
        return _packed(one(b, bits & np.uint32(0xFFFF)), one(a, bits >> np.uint32(16)))

    return Operation((target,), ("f32", "f32", "b32"), function)


def _to_tf32(mode: str, relu: bool, finite: bool) -> Callable[..., Any]:
    """rna: to nearest, ties away from zero; rn to even; rz toward zero."""

    def function(a: Array) -> Array:
        value = np.where(a > 0, a, np.where(np.isnan(a), a, np.float32(0))) if relu else a
        raw = value.astype(np.float32).view(np.uint32)
        if mode in ("rna", ""):
            rounded = raw + np.uint32(0x1000)
        elif mode == "rn":
            rounded = raw + np.uint32(0xFFF) + (raw >> np.uint32(13) & np.uint32(1))
        else:
            rounded = raw
        found = rounded & np.uint32(0xFFFFE000)
        if finite:
            over = (found & np.uint32(0x7FFFFFFF)) >= np.uint32(0x7F800000)
            found = np.where(over, raw & np.uint32(0x80000000) | np.uint32(0x7F7FE000), found)
        return np.where(np.isnan(value), np.uint32(0x7FFFFFFF), found)

    return function


def _to_packed(target: str, source: str, mode: str, relu: bool, finite: bool) -> Operation:
    """cvt.rn.satfinite.e4m3x2.f32 d, a, b: a in the upper element."""
    name, bits = target[:-2], SMALL[target]
    kind = FORMATS["e8m0" if name == "ue8m0" else name]
    most = largest(kind.name)

    def codes(a: Array) -> Array:
        with np.errstate(invalid="ignore"):  # signalling NaNs
            wide = values_of(a, source).astype(np.float64)
        if name == "ue8m0":
            return _scale_codes(wide, mode, finite)
        if relu:
            wide = np.where(wide > 0, wide, np.where(np.isnan(wide), wide, 0.0))
        safe = np.where(np.isnan(wide), 0.0, np.clip(wide, -most, most))
        found = encode(safe, kind, "nvidia").astype(np.uint16)
        missing = {"e4m3": 0x7F, "e5m2": 0x7F}.get(name, encode(np.array(most), kind, "nvidia"))
        return np.where(np.isnan(wide), np.uint16(missing), found)

    result = "b8" if bits == 4 else "b16"

    def pack(a: Array, b: Array) -> Array:
        both = codes(a) << np.uint16(bits) | codes(b)
        return both.astype(DTYPES[result])

    if source in ("f16x2", "bf16x2"):
        single = source[:-2]

        def halves(a: Array) -> Array:
            low, high = _halves(a, single)
            both = _single_codes(codes, high, single) << np.uint16(bits) | _single_codes(codes, low, single)
            return both.astype(DTYPES[result])

        return Operation((result,), (source,), halves)
    return Operation((result,), (source, source), pack)


def _single_codes(codes: Callable[[Array], Array], half: Array, single: str) -> Array:
    return codes(values_of(half, single) if single == "bf16" else half)


def _scale_codes(wide: Array, mode: str, finite: bool) -> Array:
    """UE8M0 of the absolute value: the power of two toward zero or plus infinity, at least 2**-127; a NaN is 0xFF, as
    is an infinity without .satfinite (cuda_fp8.hpp, __nv_cvt_bfloat16raw_to_e8m0)."""
    size = np.abs(wide)
    mantissa, exponent = np.frexp(np.where(np.isfinite(size) & (size > 0), size, 1.0))
    power = exponent - 1 + ((mantissa > 0.5) & (mode == "rp"))
    code = np.where(size == 0, 0, np.clip(power + 127, 0, 254 if finite else 255))
    code = np.where(np.isinf(size), 254 if finite else 255, code)
    return np.where(np.isnan(size), 255, code).astype(np.uint16)


def _unpacked(target: str, source: str, relu: bool) -> Operation:
    """cvt.rn.f16x2.e4m3x2: both elements, exactly."""
    name = source[:-2]
    kind = FORMATS["e8m0" if name == "ue8m0" else name]
    bits = SMALL[source]
    taken = "b8" if bits == 4 else "b16"
    mask = (1 << kind.bits) - 1

    def function(a: Array) -> Array:
        raw = a.astype(np.uint16)
        halves = []
        for at in (0, 1):
            value = decode(raw >> np.uint16(bits * at) & np.uint16(mask), kind).astype(np.float64)
            if relu:
                value = np.where(value > 0, value, np.where(np.isnan(value), value, 0.0))
            if target == "bf16x2":
                halves.append(_bfloat(value))
            else:
                halves.append(_finished(value.astype(np.float16), False, False))
        return _packed(*halves)

    return Operation((target,), (taken,), function)


def _convert_pack(modifiers: _Modifiers) -> Operation:
    """cvt.pack.sat.type.type{.b32}: two integers into halves or bytes above those of c."""
    three = modifiers.flag("b32")
    target, source = modifiers.types(2)
    modifiers.flag("sat")
    modifiers.done()
    bits = count_of(target[1:])
    low, high = (0, (1 << bits) - 1) if target[0] == "u" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    mask = np.uint32((1 << bits) - 1)

    def kept(a: Array) -> Array:
        return np.clip(a.astype(np.int64), low, high).astype(np.uint32) & mask

    def function(a: Array, b: Array, *rest: Array) -> Array:
        both = kept(a) << np.uint32(bits) | kept(b)
        return (rest[0] << np.uint32(2 * bits) | both) if rest else both

    return Operation(("b32",), (source, source, *(("b32",) if three else ())), function)


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
    **dict.fromkeys(("bfe", "bfi", "brev", "popc", "clz", "bfind", "shf", "prmt", "bmsk", "szext"), _bits),
    "lop3": _logic_of_three,
    **dict.fromkeys(("mul24", "mad24"), _twenty_four),
    "sad": _difference,
    **dict.fromkeys(("dp4a", "dp2a"), _dots),
    **dict.fromkeys(("setp", "set"), _compare),
    **dict.fromkeys(("selp", "slct"), _select),
    "testp": _test,
    "mov": _move,
    "cvt": _convert,
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
