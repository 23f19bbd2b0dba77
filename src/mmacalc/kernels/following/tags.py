"""Values that say which element they are: A and B are filled with them, and a launch carries them to its products.

Loads, stores, moves, permutations and exact conversions keep a value, so what a product multiplies says where it comes
from. A format has few values: a launch carries one digit of each element's number, and as many launches are made as
the numbers have digits.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ...arithmetic.codecs import code_type, decode, encode
from ...formats import FORMATS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...base.arrays import Array
    from ...formats import Format
    from .asked import Matrix, Product

__all__ = [
    "FOREIGN", "NONE", "Tags", "digits_of", "narrowest", "sum_digits", "tagged_sums", "with_digit", "with_sum_digit",
]  # fmt: skip

NONE, FOREIGN = 0, -1
"""The number of a zero, and that of a value which no element has."""


@lru_cache(maxsize=32)
def _values(name: str) -> Array:
    """The positive values of a format that conversions keep: normal ones, of 4 and 6 bits all; of formats of 32 and 64
    bits those that f16 or 15 bits have. Of 8 bits and more those whose codes have an even number of ones: arithmetic
    soon gives others, so it is noticed."""
    form = FORMATS[name]
    if form.bits > 16:
        form = FORMATS["f16"] if form.is_float else form
    codes = np.arange(1 << min(form.bits, 15), dtype=code_type(form))
    found = np.asarray(decode(codes, form), np.float64)
    least = 0.0 if form.bits < 8 or not form.is_float else 2.0 ** (1 - form.bias)
    keeps = np.isfinite(found) & (found > 0) & (found >= least)
    if form.bits >= 8:
        keeps &= (np.unpackbits(codes.astype("<u4").view(np.uint8)).reshape(len(codes), -1).sum(1) & 1) == 0
    return np.unique(found[keeps])


class Tags:
    """The numbers of the elements of A and B of a product, and the values that carry their digits.

    A's are 1, 2, ... by batch, row and column, B's follow. base: how many values a digit has. digits: of a number.
    """

    base: int
    digits: int
    product: Product

    def __init__(self, product: Product) -> None:
        self.product = product
        self._values = np.intersect1d(_values(product.a.format.name), _values(product.b.format.name))
        self.base = len(self._values) + 1
        self.of_a: int = product.batch * product.m * product.k
        self.of_b: int = product.batch * product.k * product.n
        self.digits = digits_of(self.of_a + self.of_b + 1, self.base)
        self._known: dict[str, Array] = {}

    def fill(self, digit: int) -> None:
        """Write a digit of each element's number into A and B."""
        product = self.product
        for matrix, first, shape in ((product.a, 1, (product.batch, product.m, product.k)),
                                     (product.b, 1 + self.of_a, (product.batch, product.k, product.n))):  # fmt: skip
            numbers = np.arange(first, first + math.prod(shape)).reshape(shape)
            if matrix.turned:
                numbers = numbers.swapaxes(1, 2)
            part = numbers // self.base**digit % self.base
            _write(matrix, np.concatenate(([0.0], self._values))[part])

    def digit_of(self, codes: Array, form: Format) -> Array:
        """The digits that the codes of an operand carry, of either sign: 0 of zero, `FOREIGN` of other values."""
        if form.bits > 16:
            return self._looked_up(np.abs(np.asarray(decode(codes, form), np.float64)))
        if form.name not in self._known:
            every = np.arange(1 << form.bits, dtype=code_type(form))
            self._known[form.name] = self._looked_up(np.abs(np.asarray(decode(every, form), np.float64)))
        found: Array = self._known[form.name][codes]
        return found

    def _looked_up(self, values: Array) -> Array:
        with np.errstate(invalid="ignore"):
            at = np.minimum(np.searchsorted(self._values, values), len(self._values) - 1)
            found = np.where(self._values[at] == values, at + 1, FOREIGN)
            return np.where(values == 0, NONE, found).astype(np.int32)


def _write(matrix: Matrix, values: Array) -> None:
    """Write values, batch by rows by columns as they lie in memory, into a matrix's array."""
    form, array = matrix.format, matrix.array
    codes = encode(values if form.is_float else values.astype(np.int64), form)
    if matrix.packed > 1:
        each = codes.reshape(-1, matrix.packed).astype(np.uint8)
        codes = np.bitwise_or.reduce(each << (form.bits * np.arange(matrix.packed)).astype(np.uint8), axis=1)
    array[...] = codes.astype(f"u{array.itemsize}").view(array.dtype).reshape(array.shape)


def digits_of(count: int, base: int) -> int:
    """How many digits as many numbers have.

    >>> digits_of(1, 10), digits_of(10, 10), digits_of(11, 10)
    (1, 1, 2)
    """
    digits = 1
    while base**digits < count:
        digits += 1
    return digits


def narrowest(form: Format) -> int:
    """The first of the whole numbers that carry a digit of a sum's number in a format, and how many there are of them:
    2^mantissa, 2^23 at most.

    >>> narrowest(FORMATS["f16"]), narrowest(FORMATS["f32"]), narrowest(FORMATS["i32"])
    (1024, 8388608, 8388608)
    """
    return 1 << (min(form.mantissa, 23) if form.is_float else min(form.bits - 2, 23))


def tagged_sums(numbers: Array, digit: int, base: int, form: Format) -> Array:
    """The codes of D that carry a digit of each sum's number."""
    values = base + numbers // base**digit % base
    return encode(values.astype(np.float64) if form.is_float else values, form)


def sum_digits(values: Array, base: int) -> Array:
    """The digits that values carry: 0 of zero, and one more than the digit; `FOREIGN` of other values."""
    with np.errstate(invalid="ignore"):
        whole = (values >= base) & (values < 2 * base) & (values == np.floor(values))
        return np.where(values == 0, NONE, np.where(whole, values - base + 1, FOREIGN)).astype(np.int64)


def with_digit(numbers: Array, digits: Array, digit: int, base: int) -> Array:
    """Numbers of elements with one more of their digits; `FOREIGN` where either is."""
    lost = (numbers == FOREIGN) | (digits == FOREIGN)
    return np.where(lost, FOREIGN, numbers + digits.astype(np.int64) * base**digit)


def with_sum_digit(numbers: Array, digits: Array, digit: int, base: int) -> Array:
    """As `with_digit`, of sums, whose digits are by `sum_digits`."""
    lost = (numbers == FOREIGN) | (digits == FOREIGN) | ((numbers == NONE) != (digits == NONE))
    return np.where(lost, FOREIGN, np.where(digits == NONE, NONE, numbers + (digits - 1) * base**digit))
