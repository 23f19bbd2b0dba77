"""Layouts as other programs write them: Triton's encodings in MLIR and in Gluon's Python, CuTe's shape and stride.

`read` asks each module of `notations` in turn; a notation more is a file more. What is read becomes a linear layout
(`encodings`), and `conversion` says whether two are the same and what it costs to go from one to the other.
"""

from .conversion import Conversion, convert
from .reading import ForeignLayout, read, reads

__all__ = ["Conversion", "ForeignLayout", "convert", "read", "reads"]
