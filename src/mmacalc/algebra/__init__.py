"""Layouts as other notations have them, with their algebra: matrices over GF(2) (Triton's LinearLayout), and shape and
stride (CuTe's Layout). What is a re-grouping of digits becomes a `mmacalc.Layout`, and back."""

from .cute import CuteLayout, Swizzle
from .linear import LinearLayout

__all__ = ["CuteLayout", "LinearLayout", "Swizzle"]
