"""The type of arrays in annotations: for type checkers, no module imports it when it runs."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

__all__ = ["Array"]

Array = NDArray[Any]
