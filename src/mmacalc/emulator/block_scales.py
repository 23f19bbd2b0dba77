"""Products with scales of f32 along K, as kernels compute them that keep two sums of each element."""

from __future__ import annotations

import numpy as np

from ..arithmetic.exact import to_odd, two_sum
from ..base.checks import arguments_checked
from ..base.errors import Error
from ..model.block_scales import block_scales_of
from .gemm import gemm
from .plan import shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from ..model import Instruction

    Array = NDArray[Any]

__all__ = ["block_scaled_gemm"]


@arguments_checked
def block_scaled_gemm(
    a: ArrayLike,
    b: ArrayLike,
    scale_a: ArrayLike,
    scale_b: ArrayLike,
    arch: str | None = None,
    instruction: str | Instruction | None = None,
    block_scales: str = "1x128,128x128",
    **modifiers: int | str,
) -> Array:
    """D of a product whose scales vary along K, as `generate(..., block_scales=...)` and DeepSeek's kernels compute it.

    Each block of k is summed up by the instruction from zero; then total = fma(sum, scale_a * scale_b, total), each
    operation rounded to nearest even in f32, block after block.

    Args:
        a, b: A (M, K) and B (K, N), as of `gemm`.
        scale_a, scale_b: float32, (M / rows, K / depth) and (N / columns, K / depth), rounded up.
        arch, instruction, modifiers: as of `gemm`; the instruction's sums are f32 or i32.
        block_scales: what shares a scale: rows of A x k, columns of B x k.

    Returns:
        float32, (M, N).

    Raises:
        Error: shapes that do not fit; as `gemm`.

    Source: DeepSeek-V3 Technical Report, arXiv 2412.19437, section 3.3.2.

    >>> import numpy
    >>> a, b = numpy.ones((2, 256), numpy.float16), numpy.ones((256, 3), numpy.float16)
    >>> scale_a, scale_b = numpy.float32([[1, 2], [3, 4]]), numpy.float32([[0.5, 0.25]])
    >>> block_scaled_gemm(a, b, scale_a, scale_b, "MI300X").tolist()
    [[128.0, 128.0, 128.0], [320.0, 320.0, 320.0]]
    """
    scales = block_scales_of(block_scales)
    left, right = (np.asarray(each) for each in (a, b))
    if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[0]:
        raise Error(f"A is (M, K) and B (K, N); got {shape_text(left.shape)} and {shape_text(right.shape)}")
    (m, k), n = left.shape, right.shape[1]
    rows = _of_rows("scale_a", scale_a, m, scales.rows, -(-k // scales.depth))
    columns = _of_rows("scale_b", scale_b, n, scales.columns, -(-k // scales.depth))
    total = np.zeros((m, n), np.float32)
    for block, first in enumerate(range(0, k, scales.depth)):
        part = slice(first, first + scales.depth)
        sums = gemm(left[:, part], right[part], 0, arch, instruction, **modifiers)  # type: ignore[arg-type]
        scale = rows[:, block, None] * columns[:, block]
        total = _fused(np.asarray(sums).astype(np.float32), scale, total)
    return total


def _of_rows(name: str, given: ArrayLike, extent: int, shared: int, blocks: int) -> Array:
    """The scales of each row of A (column of B)."""
    found, wanted = np.asarray(given), (-(-extent // shared), blocks)
    if found.shape != wanted or found.dtype != np.float32:
        raise Error(
            f"{name} is float32 of shape {shape_text(wanted)}; got {found.dtype} of shape {shape_text(found.shape)}"
        )
    return np.repeat(found, shared, axis=0)[:extent]


def _fused(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of float32, rounded once: the product is exact in float64, the sum rounded to odd."""
    with np.errstate(all="ignore"):
        high, low = two_sum(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))
        return to_odd(high, np.where(np.isfinite(high), low, 0.0)).astype(np.float32)
