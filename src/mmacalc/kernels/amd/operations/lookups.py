"""The bits of 2/pi for large arguments of sines, and the faces of a cube: a row for each, as in `floats`.

Source: CDNA3 and RDNA3 ISA guides, V_TRIG_PREOP_F64, V_CUBE*_F32; LLVM 22 folds the first for constants.
"""

from __future__ import annotations

from functools import cache

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Array = Any  # of the types that the signatures name
    Function = Callable[..., Array]
    Rows = dict[str, tuple[str, Function]]

__all__ = ["LOOKUPS"]

_BITS = 1201
"""How many bits of 2/pi there are."""


@cache
def _two_over_pi() -> int:
    """2/pi times two to the power of 1201, cut off. Pi is Machin's: 16 arctan(1/5) - 4 arctan(1/239)."""
    one = 1 << _BITS + 64

    def arctangent(inverse: int) -> int:
        power, total, odd = one // inverse, 0, 1
        while power:
            total += power // odd if odd % 4 == 1 else -(power // odd)
            power, odd = power // inverse**2, odd + 2
        return total

    pi = 16 * arctangent(5) - 4 * arctangent(239)
    return 2 * one * (1 << _BITS) // pi


def _segment(value: Array, number: Array) -> Array:
    """53 bits of 2/pi: segment `number`, further right for values beyond 2**54."""
    exponent = (np.ascontiguousarray(value).view(np.uint64) >> np.uint64(52) & np.uint64(0x7FF)).astype(np.int64)
    shift = (number & np.uint32(31)).astype(np.int64) * 53 + np.maximum(exponent - 1077, 0)
    shift, exponent = np.broadcast_arrays(shift, exponent)
    places, which = np.unique(shift, return_inverse=True)
    bits = [(_two_over_pi() << int(place) & (1 << _BITS) - 1) >> _BITS - 53 for place in places]
    chosen = np.array(bits, np.float64)[which.reshape(shift.shape)]
    found = np.ldexp(chosen, np.where(exponent >= 1968, 75, -53) - shift)
    return np.where(np.isnan(value), value, found)


def _by_face(
    on_x: Callable[..., Array], on_y: Callable[..., Array], on_z: Callable[..., Array]
) -> Callable[..., Array]:
    """A function of the axis whose coordinate is the largest; of equal ones z before y before x."""

    def operation(x: Array, y: Array, z: Array) -> Array:
        x, y, z = np.broadcast_arrays(x, y, z)
        far_z = (np.abs(z) >= np.abs(x)) & (np.abs(z) >= np.abs(y))
        found = np.where(far_z, on_z(x, y, z), np.where(np.abs(y) >= np.abs(x), on_y(x, y, z), on_x(x, y, z)))
        return found.astype(np.float32)

    return operation


_THREE = "f32 f32 f32 -> f32"
LOOKUPS: Rows = {
    "v_trig_preop_f64": ("f64 u32 -> f64", _segment),
    "v_cubeid_f32": (_THREE, _by_face(
        lambda x, y, z: np.where(x < 0, 1, 0), lambda x, y, z: np.where(y < 0, 3, 2),
        lambda x, y, z: np.where(z < 0, 5, 4),
    )),
    "v_cubema_f32": (_THREE, _by_face(lambda x, y, z: 2 * x, lambda x, y, z: 2 * y, lambda x, y, z: 2 * z)),
    "v_cubesc_f32": (_THREE, _by_face(
        lambda x, y, z: np.where(x < 0, z, -z), lambda x, y, z: x, lambda x, y, z: np.where(z < 0, -x, x),
    )),
    "v_cubetc_f32": (_THREE, _by_face(
        lambda x, y, z: -y, lambda x, y, z: np.where(y < 0, -z, z), lambda x, y, z: -y,
    )),
}  # fmt: skip
