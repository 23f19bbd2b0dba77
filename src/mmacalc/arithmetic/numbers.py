"""What an adder that aligns by exponents reads: values, and 2**exponent of each."""

from __future__ import annotations

import numpy as np

from ..base.records import TupleRecord
from .codecs import alignment_powers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ..formats import Format

    Array = NDArray[np.float64]

__all__ = ["Numbers", "numbers"]


class Numbers(TupleRecord):
    """Values with 2**exponent of each, both float64; the power of a zero is 0 (it aligns nothing)."""

    value: Array
    power: Array

    def at(self, index: Any) -> Numbers:
        """The same selection of both."""
        return Numbers(self.value[index], self.power[index])


def numbers(values: NDArray[Any], format: Format) -> Numbers:
    """Values of a format with their exponents."""
    values = np.asarray(values, np.float64)
    return Numbers(values, alignment_powers(values, format))
