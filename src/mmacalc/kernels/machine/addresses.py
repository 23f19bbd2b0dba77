"""Arrays that keep their address from launch to launch, for kernels that find pointers in memory."""

from __future__ import annotations

import threading
import weakref

import numpy as np

from ...checks import shown
from ...errors import Error
from ..memory import check_contiguous
from .storage import ALIGNMENT, FIRST_KEPT, GAP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = ["address_of", "check_type", "kept_arrays", "owner_of"]

_lock = threading.RLock()
_kept: dict[int, tuple[int, weakref.ref[Array]]] = {}
"""By the identity of an array that owns memory: its address. It goes when the array does."""
_next = FIRST_KEPT


def address_of(array: Array) -> int:
    """The address of an array's first element in the memory of compiled kernels, for pointers that lie in memory.

    Give a kernel an array of such addresses (uint64) or a structure that holds them. From then on the array is in the
    memory of every launch, at this address, for as long as it exists; a kernel reads and writes it as it does the
    arrays among its arguments, and an access outside of it stops the launch. Another launch sees what the last one
    that ended well has stored.

    Args:
        array: of numbers or structures, contiguous; a view has the address of its own first element.

    Returns:
        The address in bytes, a multiple of 256 where the array owns its memory.

    Raises:
        Error: it is not a NumPy array, not contiguous, or of text, dates or Python objects.

    >>> import mmacalc, numpy as np
    >>> tiles = [np.zeros((16, 16), np.float16) for _ in range(3)]
    >>> pointers = np.array([mmacalc.address_of(tile) for tile in tiles], np.uint64)  # an argument of a grouped GEMM
    >>> mmacalc.address_of(tiles[0][2:]) - int(pointers[0])
    64
    """
    global _next
    if not isinstance(array, np.ndarray):
        raise Error(f"address_of takes a NumPy array; got {shown(array)}")
    check_type("address_of", array)
    base, first = owner_of("the array of address_of", array)
    with _lock:
        if id(base) not in _kept:
            key = id(base)
            _kept[key] = _next, weakref.ref(base, lambda _: _forget(key))
            _next = -(-(_next + base.nbytes + GAP) // ALIGNMENT) * ALIGNMENT
        return _kept[id(base)][0] + first


def _forget(key: int) -> None:
    with _lock:
        _kept.pop(key, None)


def kept_arrays() -> list[tuple[int, Array]]:
    """The arrays that have an address and still exist, each with it."""
    with _lock:
        found = [(address, reference()) for address, reference in _kept.values()]
    return [(address, base) for address, base in found if base is not None]


def owner_of(name: str, array: Any) -> tuple[Any, int]:
    """The array that owns the memory of a view, and where the view begins in it, in bytes.

    Raises:
        Error: one of the two is not contiguous.
    """
    check_contiguous(array, name)
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    if not (base.flags.c_contiguous or base.flags.f_contiguous):
        raise Error(f"{name} lies in memory that is not contiguous; pass numpy.ascontiguousarray of it")
    return base, int(array.__array_interface__["data"][0] - base.__array_interface__["data"][0])


def check_type(name: str, value: Any) -> None:
    """Refuse what is not numbers in memory: text, dates, Python objects; structures are taken by their bytes.

    Raises:
        Error: it is one of these.
    """
    kinds = {value.dtype[field].base.kind for field in value.dtype.names} if value.dtype.names else {value.dtype.kind}
    if value.dtype.hasobject or not kinds <= set("biufcV"):
        raise Error(f"{name} takes numbers; got {value.dtype}")
