"""The names that rocWMMA's fragments are made of: data types, matrix contexts, layouts.

Source: rocWMMA API guide, sections "rocWMMA Datatypes" and "rocWMMA Enumeration"; rocWMMA 1.6 for the 8-bit floats.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..base.errors import Error, did_you_mean
from ..base.records import TupleRecord
from ..formats import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..formats import Format
    from ..model import Architecture

__all__ = ["DataType", "Sentinel", "data_type", "dtype_of", "format_of"]


class Sentinel(str):
    """A sentinel, such as `matrix_a` or `row_major`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


matrix_a: Sentinel = Sentinel("matrix_a")
matrix_b: Sentinel = Sentinel("matrix_b")
accumulator: Sentinel = Sentinel("accumulator")
row_major: Sentinel = Sentinel("row_major")
col_major: Sentinel = Sentinel("col_major")
mem_row_major: Sentinel = Sentinel("mem_row_major")
mem_col_major: Sentinel = Sentinel("mem_col_major")

CONTEXTS = (matrix_a, matrix_b, accumulator)
LAYOUTS = (row_major, col_major)
RUNTIME_LAYOUTS = {mem_row_major: row_major, mem_col_major: col_major}


class DataType(TupleRecord):
    """A data type of rocWMMA. name: in the support table; cpp: in C++. `__half` is a type of its
    own, as in C++: it does not mix with float16_t."""

    name: str
    cpp: str

    def __repr__(self) -> str:
        return self.cpp


int8_t: DataType = DataType("i8", "int8_t")
int32_t: DataType = DataType("i32", "int32_t")
# float8_t and bfloat8_t are the architecture's own 8-bit floats. (In rocWMMA 1.6 they are the OCP formats, which gfx942
# cannot multiply; the FNUZ formats have names of their own.)
float8_t: DataType = DataType("fp8", "float8_t")
bfloat8_t: DataType = DataType("bf8", "bfloat8_t")
float16_t: DataType = DataType("f16", "float16_t")
hfloat16_t: DataType = DataType("half", "hfloat16_t")
bfloat16_t: DataType = DataType("bf16", "bfloat16_t")
float32_t: DataType = DataType("f32", "float32_t")
float8_fnuz_t: DataType = DataType("fp8", "float8_fnuz_t")
bfloat8_fnuz_t: DataType = DataType("bf8", "bfloat8_fnuz_t")
xfloat32_t: DataType = DataType("xf32", "xfloat32_t")
float64_t: DataType = DataType("f64", "float64_t")

FNUZ = {kind.cpp: kind for kind in (float8_fnuz_t, bfloat8_fnuz_t)}
TYPES = {
    kind.name: kind
    for kind in (
        int8_t, int32_t, float8_t, bfloat8_t, float16_t, hfloat16_t, bfloat16_t, float32_t, xfloat32_t, float64_t,
    )
}  # fmt: skip

_OTHER_NAMES = {
    "__half": "half", "float16": "f16", "fp16": "f16", "bfloat16": "bf16", "float32": "f32", "fp32": "f32",
    "float": "f32", "float64": "f64", "fp64": "f64", "double": "f64", "int8": "i8", "int32": "i32", "f8": "fp8",
    "float8_e4m3fn": "fp8", "float8_e4m3fnuz": "fp8", "float8_e5m2": "bf8", "float8_e5m2fnuz": "bf8",
}  # fmt: skip


def format_of(kind: str, architecture: Architecture) -> Format:
    """The number format of a data type on an architecture: fp8 and bf8 are the FNUZ formats on gfx942."""
    return named(architecture.format_names.get(kind, kind))


def dtype_of(kind: DataType, architecture: Architecture) -> np.dtype[Any]:
    """The NumPy (or ml_dtypes) type of a data type's elements in memory, on an architecture.

    >>> from mmacalc.catalog import architecture
    >>> dtype_of(float8_t, architecture("cdna3")), dtype_of(xfloat32_t, architecture("cdna3"))
    (dtype(float8_e4m3fnuz), dtype('float32'))
    """
    return format_of(kind.name, architecture).dtype


@lru_cache(maxsize=256)
def _by_name(name: str) -> DataType | None:
    lower = name.lower()
    for kind in TYPES.values():
        if lower in (kind.name, kind.cpp):
            return kind
    return TYPES.get(_OTHER_NAMES.get(lower, ""))


def data_type(given: Any, architecture: Architecture) -> DataType:
    """The data type meant by `given`: one of this module's, its name, or a NumPy type.

    Raises:
        Error: no such data type, or an 8-bit float that the architecture does not have.

    >>> from mmacalc.catalog import architecture
    >>> data_type("__half", architecture("cdna3")), data_type(np.float32, architecture("cdna3"))
    (hfloat16_t, float32_t)
    """
    if isinstance(given, DataType):
        return _checked(given, architecture)
    try:
        name = given if isinstance(given, str) else np.dtype(given).name
    except TypeError:
        name = str(given)
    found = FNUZ.get(name) or _by_name(name)
    if found is None or (name.lower().startswith("float8_e") and name.lower() != dtype_of(found, architecture).name):
        known = ", ".join(kind.cpp for kind in TYPES.values())
        raise Error(f"'{name}' is not a data type here.{did_you_mean(name, TYPES)} Known: {known}")
    return _checked(found, architecture)


def _checked(kind: DataType, architecture: Architecture) -> DataType:
    if kind.cpp in FNUZ and format_of(kind.name, architecture).specials != "fnuz":
        raise Error(f"{kind.cpp} is not a data type of {architecture.title}, whose 8-bit floats are the OCP formats")
    return kind
