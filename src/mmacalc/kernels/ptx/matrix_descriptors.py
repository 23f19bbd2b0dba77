"""Matrices in shared memory that wgmma and tcgen05 read by descriptors: where their elements lie, and what is wrong
with a descriptor."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...families.shared_memory import COPY_PATTERNS, PATTERNS, element_byte

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .machine import Machine
    from .program import Step

    Array = NDArray[Any]

__all__ = ["LEADING_IS_ABSOLUTE", "Descriptors", "matrix_granules", "matrix_offsets"]

_NAMES = tuple(COPY_PATTERNS)
LEADING_IS_ABSOLUTE = 1 << 52
"""Of a descriptor of tcgen05: the leading dimension is the address of the next part along k."""


@lru_cache(maxsize=512)
def matrix_offsets(
    descriptor: int, rows: int, depth: int, bits: int, mn_major: bool, mode: str, padded: bool = False
) -> Array:
    """Where the elements (rows, depth) of a matrix begin in shared memory: byte offsets; below a byte, bits of it are
    left to the caller. `mode` is the swizzle; padded: as for `element_byte`.

    Source: PTX ISA 9.7.15.5.1 (strides of canonical layouts); CUTLASS, mma_sm90_desc.hpp. Where the leading dimension
    is an address, rows of 48 bytes along k go on there behind the 128 bytes of their swizzle: so the GEMM for sm_103a
    of CuTe's examples reads a ring of stages, and gives its reference's product.
    """
    start = (descriptor & 0x3FFF) << 4
    leading, stride = (descriptor >> 16 & 0x3FFF) << 4, (descriptor >> 32 & 0x3FFF) << 4
    swizzle = PATTERNS[mode]
    row, k = np.indices((rows, depth))
    along, across = (row, k) if mn_major else (k, row)
    byte = element_byte(along, bits, padded)
    offset = start + swizzle.linear(across, byte, mn_major, leading, stride)
    if descriptor & LEADING_IS_ABSOLUTE:
        width = swizzle.row_bytes
        beyond = start % width + byte - width
        offset = np.where(beyond < 0, offset, leading + beyond + across % 8 * width + across // 8 * stride)
    found: Array = swizzle(offset)
    found.setflags(write=False)
    return found


@lru_cache(maxsize=512)
def matrix_granules(  # noqa: PLR0913
    descriptor: int, rows: int, depth: int, bits: int, mn_major: bool, mode: str, padded: bool, granule: int
) -> Array:
    """The granules of a CTA's shared memory that such a matrix lies in, ascending."""
    first = matrix_offsets(descriptor, rows, depth, bits, mn_major, mode, padded).reshape(-1, 1)
    found: Array = np.unique((first + np.arange(0, max(1, bits // 8), granule)) // granule)
    return found


class Descriptors:
    """What is wrong with matrices in shared memory that no access shows: elements that overlap, the start of a swizzled
    pattern, another swizzle than that of the tensor copy which wrote the bytes."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.swizzles: Array | None = None  # by granule: 1 + that of the tensor copy that wrote it, 0 of other writes
        self.seen: set[tuple[int, str, int]] = set()

    def copied(self, granules: Array, swizzle: str) -> None:
        """A tensor copy with a swizzle writes granules."""
        if self.swizzles is None:
            self.swizzles = np.zeros(len(self.machine.flight), np.uint8)
        self.swizzles[granules] = _NAMES.index(swizzle) + 1

    def written(self, granules: Array) -> None:
        """Threads write granules."""
        if self.swizzles is not None:
            self.swizzles[granules] = 0

    def check(
        self, step: Step, number: Array, name: str, descriptor: int, mode: str, shape: tuple[int, int, int],
        granules: Array,
    ) -> None:  # fmt: skip
        """A product or copy of a thread reads a matrix of shape (rows, depth, bits of an element) by its descriptor,
        whose swizzle is `mode`. Granules: those of all its CTAs, each of which has such a matrix."""
        self._copied_alike(step, number, name, granules, mode)
        if (step.index, name, descriptor) in self.seen:
            return
        self.seen.add((step.index, name, descriptor))
        find = self.machine.launch.find
        start, base = (descriptor & 0x3FFF) << 4, descriptor >> 49 & 7
        if mode == "128B" and start >> 7 & 7 != base:
            message = (
                f"the descriptor of {name} begins at {start:#x}, which is not a multiple of 1024 bytes: the "
                f"128-byte swizzle wants the base offset {start >> 7 & 7} then; it says {base}"
            )
            if base:
                find("descriptor", step, message, number)
            else:  # as kernels have it that are right on the hardware: swizzles go by the address itself
                self.machine.launch.remark(step, f"{message}, which has no known effect")
        width, stride = PATTERNS[mode].row_bytes, (descriptor >> 32 & 0x3FFF) << 4
        rows, depth, bits = shape
        if stride % width and rows > 8:  # 8 rows have no next part
            find(
                "descriptor", step, f"the descriptor of {name} has a stride of {stride} bytes, which is not a "
                f"multiple of {width}: its {mode} swizzle exchanges the parts of rows that begin at multiples of "
                f"{width} bytes", number,
            )  # fmt: skip
        ctas = len(np.unique(granules * self.machine.granule // self.machine.shared_size))
        if len(granules) * self.machine.granule < ctas * rows * depth * bits // 8:
            find(
                "descriptor", step, f"parts of {name} lie at the same bytes: the leading dimension or the stride of "
                "its descriptor does not fit its layout", number,
            )  # fmt: skip

    def _copied_alike(self, step: Step, number: Array, name: str, granules: Array, mode: str) -> None:
        """A product reads granules by a descriptor with a swizzle: that of the tensor copy that wrote them."""
        if self.swizzles is None:
            return
        found = self.swizzles[granules]
        for other in np.unique(found[found > 0]).tolist():
            if _NAMES[other - 1] != mode:
                self.machine.launch.find(
                    "descriptor", step, f"the descriptor of {name} has the swizzle {mode}; the tensor copy that wrote "
                    f"these bytes had {_NAMES[other - 1]}: elements are read from other places than they lie in",
                    number,
                )  # fmt: skip
                return
