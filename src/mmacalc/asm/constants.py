"""Inline constants: the numbers that codes of an operand mean, by the format in which they are read.

Codes 128 to 208 are integers, 240 to 248 floating-point numbers. Source: CDNA4 ISA guide, table 88 (SRC0); RDNA3, RDNA4
and CDNA5 ISA guides, "Scalar operands".
"""

from __future__ import annotations

import struct
from functools import lru_cache

from ..formats import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..formats import Format

__all__ = ["CONSTANTS", "INTEGERS", "ZERO", "constant_texts", "float_patterns", "rounded"]

ZERO = 128
"""The code of the constant 0."""
INTEGERS = {128 + value if value >= 0 else 192 - value: value for value in range(-16, 65)}
"""The integers that are inline constants, by their codes."""
_FLOATS = {240: 0.5, 241: -0.5, 242: 1.0, 243: -1.0, 244: 2.0, 245: -2.0, 246: 4.0, 247: -4.0}
# 1/(2 pi): the codes of each format; bf16's is f32's cut off, not rounded.
_INVERSE_2PI = {"f64": 0x3FC45F306DC9C882, "f32": 0x3E22F983, "f16": 0x3118, "bf16": 0x3E22}
# Of bf16 LLVM prints f32's text, which its own assembler then refuses: the number nearest to it is 0x3e23.
_INVERSE_2PI_TEXTS = {"f64": "0.15915494309189532", "bf16": "0x3e22"}
CONSTANTS = "0 to 64, -1 to -16, 0.5, 1.0, 2.0, 4.0, their negatives, or 1/(2*pi)"


@lru_cache(maxsize=64)
def constant_texts(kind: str) -> dict[int, str]:
    """The inline constants of a format: code to text, which is LLVM's where its assembler takes it.

    >>> constant_texts("f32")[248], constant_texts("bf16")[248], constant_texts("f16")[193]
    ('0.15915494', '0x3e22', '-1')
    """
    texts = {code: str(value) for code, value in INTEGERS.items()}
    texts |= {code: str(value) for code, value in _FLOATS.items()}
    return {**texts, 248: _INVERSE_2PI_TEXTS.get(kind, "0.15915494")}


def float_patterns(kind: str) -> dict[int, int]:
    """The bits of the floating point inline constants in a format, by their codes.

    >>> {code: hex(bits) for code, bits in float_patterns("f16").items() if code > 246}
    {247: '0xc400', 248: '0x3118'}
    """
    found = {code: rounded(value, named(kind)) for code, value in _FLOATS.items()}
    return {**{code: pattern for code, pattern in found.items() if pattern is not None}, 248: _INVERSE_2PI[kind]}


def rounded(value: float, to: Format) -> int | None:
    """The bits of the format's number nearest to `value`; None where it overflows or loses bits to underflow."""
    double: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    if to.bits == 64:
        return double
    sign, exponent, fraction = double >> 63, (double >> 52 & 0x7FF) - 1023 + to.bias, double & (1 << 52) - 1
    if not value:
        return sign << to.bits - 1
    if exponent < 1:  # denormal: only a value that needs no rounding is taken
        whole, shift = fraction + (1 << 52), 52 - to.mantissa + 1 - exponent
        return None if whole & (1 << shift) - 1 else sign << to.bits - 1 | whole >> shift
    shift = 52 - to.mantissa
    half, rest = 1 << shift - 1, fraction & (1 << shift) - 1
    number = (exponent << to.mantissa) + (fraction >> shift)
    number += rest > half or (rest == half and fraction >> shift & 1)
    return None if number >> to.mantissa >= (1 << to.exponent) - 1 else sign << to.bits - 1 | number
