"""The names that rocWMMA's fragments are made of: data types, matrix contexts, layouts.

Source: rocWMMA API guide, sections "rocWMMA Datatypes" and "rocWMMA Enumeration"; rocWMMA 1.6 for the 8-bit floats.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache

import ml_dtypes
import numpy as np

from ..errors import Error, did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["DataType", "Name", "data_type", "dtype_of"]


class Name(str):
    """A name that stands for itself, such as `matrix_a` or `row_major`."""

    __slots__ = ()
    __repr__ = str.__str__


matrix_a, matrix_b, accumulator = Name("matrix_a"), Name("matrix_b"), Name("accumulator")
row_major, col_major = Name("row_major"), Name("col_major")
mem_row_major, mem_col_major = Name("mem_row_major"), Name("mem_col_major")

CONTEXTS = (matrix_a, matrix_b, accumulator)
LAYOUTS = (row_major, col_major)
RUNTIME_LAYOUTS = {mem_row_major: row_major, mem_col_major: col_major}


class DataType(namedtuple("DataType", "name cpp")):
    """A data type of rocWMMA. name: as the support table says it; cpp: as C++ says it. `__half` is a type of its
    own, as in C++: it does not mix with float16_t."""

    __slots__ = ()
    name: str
    cpp: str

    def __repr__(self) -> str:
        return self.cpp


int8_t = DataType("i8", "int8_t")
int32_t = DataType("i32", "int32_t")
float8_t = DataType("fp8", "float8_t")
bfloat8_t = DataType("bf8", "bfloat8_t")
float16_t = DataType("f16", "float16_t")
hfloat16_t = DataType("half", "hfloat16_t")
bfloat16_t = DataType("bf16", "bfloat16_t")
float32_t = DataType("f32", "float32_t")
xfloat32_t = DataType("xf32", "xfloat32_t")
float64_t = DataType("f64", "float64_t")

TYPES = {
    kind.name: kind
    for kind in (
        int8_t, int32_t, float8_t, bfloat8_t, float16_t, hfloat16_t, bfloat16_t, float32_t, xfloat32_t, float64_t,
    )
}  # fmt: skip

_DTYPES = {
    "i8": np.dtype(np.int8), "i32": np.dtype(np.int32), "f16": np.dtype(np.float16), "half": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype(np.float32), "xf32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}  # fmt: skip
# fp8 and bf8 are the FNUZ formats on gfx942 and the OCP formats elsewhere.
_FP8: dict[tuple[str, bool], np.dtype[Any]] = {
    ("fp8", True): np.dtype(ml_dtypes.float8_e4m3fnuz), ("bf8", True): np.dtype(ml_dtypes.float8_e5m2fnuz),
    ("fp8", False): np.dtype(ml_dtypes.float8_e4m3fn), ("bf8", False): np.dtype(ml_dtypes.float8_e5m2),
}  # fmt: skip

_OTHER_NAMES = {
    "__half": "half", "float16": "f16", "fp16": "f16", "bfloat16": "bf16", "float32": "f32", "fp32": "f32",
    "float": "f32", "float64": "f64", "fp64": "f64", "double": "f64", "int8": "i8", "int32": "i32", "f8": "fp8",
    "float8_e4m3fn": "fp8", "float8_e4m3fnuz": "fp8", "float8_e5m2": "bf8", "float8_e5m2fnuz": "bf8",
}  # fmt: skip


def dtype_of(kind: DataType, architecture: str) -> np.dtype[Any]:
    """The NumPy (or ml_dtypes) type of a data type's elements in memory, on an architecture (by canonical name).

    >>> dtype_of(float8_t, "cdna3"), dtype_of(xfloat32_t, "cdna3")
    (dtype(float8_e4m3fnuz), dtype('float32'))
    """
    return _DTYPES.get(kind.name) or _FP8[kind.name, architecture == "cdna3"]


@cache
def _by_name(name: str) -> DataType | None:
    lower = name.lower()
    for kind in TYPES.values():
        if lower in (kind.name, kind.cpp):
            return kind
    return TYPES.get(_OTHER_NAMES.get(lower, ""))


def data_type(given: Any, architecture: str) -> DataType:
    """The data type that is meant: one of this module's, its name, or a NumPy type.

    Raises:
        Error: there is none.

    >>> data_type("__half", "cdna3"), data_type(np.float32, "cdna3")
    (hfloat16_t, float32_t)
    """
    if isinstance(given, DataType):
        return given
    try:
        name = given if isinstance(given, str) else np.dtype(given).name
    except TypeError:
        name = str(given)
    found = _by_name(name)
    fnuz = "fnuz" in name.lower()
    if found is None or (("e4m3" in name or "e5m2" in name) and fnuz != (architecture == "cdna3")):
        known = ", ".join(kind.cpp for kind in TYPES.values())
        raise Error(f"'{name}' is not a data type here.{did_you_mean(name, TYPES)} Known: {known}")
    return found
