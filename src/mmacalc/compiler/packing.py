"""Elements of lanes packed into 32-bit registers, as instructions read them."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from ..errors import Error
from ..formats import FORMATS, NUMPY_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["BITS", "UNSIGNED", "pack"]

UNSIGNED = {np.dtype(ml_dtypes.int4): np.dtype(ml_dtypes.uint4)}
"""The unsigned type that carries the codes of a signed one as well."""
BITS = {FORMATS[name].dtype: FORMATS[name].bits for name in NUMPY_NAMES if FORMATS[name].bits < 8}
"""The types that ml_dtypes keeps in a byte each, with the bits that a register keeps."""
BITS |= {unsigned: BITS[signed] for signed, unsigned in UNSIGNED.items()}
ML_DTYPES = {*BITS, *(FORMATS[name].dtype for name in NUMPY_NAMES)}


def pack(elements: ArrayLike, bits: int | None = None) -> NDArray[np.uint32]:
    """The elements of each lane as 32-bit registers: element e is in bits [bits * e, bits * (e + 1)), the first
    register's being 0 to 31. So do the instructions keep them, also 6-bit ones, which reach across registers.

    Args:
        elements: (elements, ...), usually (elements, lanes): of a type of NumPy or ml_dtypes, or integers that carry
            the codes in their low bits.
        bits: the width of an element; that of the type if left out (6 for float6_e2m3fn).

    Returns:
        uint32 (registers, ...).

    Raises:
        Error: the elements do not fill whole registers, or a width is not 1 to 64.

    >>> import ml_dtypes
    >>> ones = np.ones((32, 64), ml_dtypes.float6_e2m3fn)
    >>> pack(ones).shape, hex(pack(ones)[0, 0])
    ((6, 64), '0x8208208')
    >>> pack([1, 2, 3, 4], bits=8)
    array([67305985], dtype=uint32)
    """
    array = np.asarray(elements)
    own = BITS.get(array.dtype, 8 * array.dtype.itemsize)
    width = own if bits is None else bits
    if array.dtype.kind not in "iuf" and array.dtype not in ML_DTYPES:
        raise Error(f"pack: the elements are {array.dtype}; they are of a number type of NumPy or ml_dtypes")
    carried = width == own or array.dtype.kind in "iu"
    if not array.ndim or not carried or not 1 <= width <= own or len(array) * width % 32:
        raise Error(f"pack: {array.shape} elements of {width} bits; the first axis fills whole registers of 32 bits")
    if width == own and width >= 8:
        lanes_first = np.ascontiguousarray(np.moveaxis(array, 0, -1))
        return np.ascontiguousarray(np.moveaxis(lanes_first.view("<u4"), -1, 0)).astype(np.uint32, copy=False)
    codes = array.view(f"u{array.dtype.itemsize}").astype(np.uint64)
    planes = codes[:, None] >> np.arange(width, dtype=np.uint64).reshape(-1, *(1,) * (array.ndim - 1))
    stream = (planes & np.uint64(1)).astype(np.uint8).reshape(-1, 32, *array.shape[1:])
    weights = (np.uint32(1) << np.arange(32, dtype=np.uint32)).reshape(-1, *(1,) * (array.ndim - 1))
    found: NDArray[np.uint32] = (stream * weights).sum(axis=1, dtype=np.uint32)
    return found
