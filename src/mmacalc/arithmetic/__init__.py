"""How matrix units compute: codes and values of every format, exact sums, the arithmetic models and which instruction
follows which.

`numerics` answers for an instruction and needs no NumPy; `codecs`, `exact` and `models` do the arithmetic on arrays.
"""

from __future__ import annotations

from .numerics import Numerics, numerics

__all__ = ["Numerics", "numerics"]
