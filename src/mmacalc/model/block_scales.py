"""Scales of f32 that vary along K, one for each block of A and of B, which kernels multiply into their partial sums.

DeepSeek-V3 has them for each row and 128 k of A and for each 128 columns and 128 k of B: the text is "1x128,128x128".
"""

from __future__ import annotations

from ..base.checks import shown, whole
from ..base.errors import Error
from ..base.records import TupleRecord

__all__ = ["BlockScales", "block_scales_of"]

MOST = 1 << 16  # rows, columns or k that share a scale


class BlockScales(TupleRecord):
    """The blocks that share a scale: `rows` of A and `columns` of B, each with `depth` k.

    Scales of A are a matrix (M / rows, K / depth), those of B (N / columns, K / depth), rounded up, row by row.
    """

    rows: int
    columns: int
    depth: int

    def __str__(self) -> str:
        """The text that says it.

        >>> str(BlockScales(1, 128, 128))
        '1x128,128x128'
        """
        return f"{self.rows}x{self.depth},{self.columns}x{self.depth}"


def block_scales_of(given: str | BlockScales) -> BlockScales:
    """The blocks that a text says: rows of A x k, columns of B x k.

    Raises:
        Error: another text, sizes out of range, or two numbers of k.

    >>> block_scales_of("1x128,128x128")
    BlockScales(rows=1, columns=128, depth=128)
    """
    if isinstance(given, BlockScales):
        return given
    try:
        (rows, k), (columns, other) = ([whole(each, "a size") for each in part.split("x")] for part in given.split(","))
    except (AttributeError, TypeError, ValueError):
        raise Error(
            "block_scales is what shares a scale: rows of A x k, columns of B x k, such as '1x128,128x128'; got "
            f"{shown(given)}"
        ) from None
    if k != other:
        raise Error(f"A and B have scales for as many k, such as '1x{k},128x{k}'; got {shown(given)}")
    if not 1 <= min(rows, columns, k) <= max(rows, columns, k) <= MOST:
        raise Error(f"the sizes of block_scales are from 1 to {MOST}; got {shown(given)}")
    return BlockScales(rows, columns, k)
