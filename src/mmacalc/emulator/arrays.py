"""The value of an operand: an array of any library, as values or as encodings of the operand's format."""

from __future__ import annotations

import sys

import numpy as np

from ..arithmetic.codecs import code_type, decode, encode
from ..base.errors import Error
from ..base.records import TupleRecord
from ..formats import FORMATS, NUMPY_NAMES
from .execution import Execution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from ..formats import Format

    Array = NDArray[Any]

__all__ = ["TYPE_WORDS", "Conversion", "as_array", "as_values", "checked", "conversion", "rounded"]

TYPE_WORDS = {
    "A": "A (M, K)", "B": "B (K, N)", "C": "C (M, N)", "D": "d (M, N)", "K": "index (M, K)",
    "SA": "scale_a", "SB": "scale_b",
}  # fmt: skip
ML_DTYPES = {
    dtype: name for name, dtype in NUMPY_NAMES.items() if not hasattr(np, dtype) and FORMATS[name].kind != "either"
}
"""The formats of ml_dtypes' types, whose arrays hold the encodings."""
NOT_ARRAYS = (ValueError, TypeError, RuntimeError, BufferError)  # what libraries raise for what they cannot convert


def as_array(execution: Execution, name: str, value: ArrayLike) -> Array:
    """What was given for an operand (a list, a torch tensor, anything with `__array__` or `__dlpack__`) for NumPy.

    Arrays on a GPU are copied to the host, where everything is computed; `mmacalc.gemm` copies its result back.

    Raises:
        Error: it is not an array of numbers, or its library cannot copy it to the host.
    """
    whose = f"{TYPE_WORDS[name].split()[0]} of {execution.inst.name}"
    if value is None:
        raise Error(f"{whose} is None; it takes an array{' or a number, and is 0 if left out' if name == 'C' else ''}")
    try:
        array = _numpy(value)
    except NOT_ARRAYS as error:
        raise Error(f"{whose} is not an array of numbers that NumPy can read: {error}") from None
    if type(array) is np.ndarray:  # the usual case: the rest would take a quarter of the time of one instruction
        return array
    if np.any(getattr(array, "mask", False)):
        raise Error(f"{whose} is a masked array with elements left out; give all of them, such as by .filled(0)")
    return array.view(np.ndarray)  # a numpy.matrix indexes and multiplies in its own way


def _numpy(value: Any) -> Array:
    if isinstance(value, np.ndarray):
        return value
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _of_torch(value.detach().cpu(), torch)
    if not hasattr(value, "__dlpack__"):
        return np.asarray(value)
    try:
        return np.asarray(value) if hasattr(value, "__array__") else np.from_dlpack(value)
    except NOT_ARRAYS:  # in a GPU's memory
        return np.from_dlpack(value, device="cpu")


def _of_torch(tensor: Any, torch: Any) -> Array:
    """A tensor's memory as an array; of torch's types that NumPy lacks, as the type of ml_dtypes."""
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in ML_DTYPES:
        array: Array = tensor.numpy()
        return array
    import ml_dtypes

    own = np.dtype(getattr(ml_dtypes, name))
    integers = torch.int16 if own.itemsize == 2 else torch.uint8
    codes: Array = tensor.contiguous().view(integers).numpy()
    return codes.view(own)


def _saved_type(execution: Execution, name: str, array: Array) -> Array:
    """An array that .npy has without its type, |V1 or |V2, with the type that it must have had.

    Of ml_dtypes' types only bfloat16 has two bytes. One byte is an encoding of the operand's own format.
    """
    if array.dtype.kind != "V" or array.dtype.names or array.dtype.itemsize > 2 or array.dtype.name in ML_DTYPES:
        return array
    if array.dtype.itemsize == 2:
        import ml_dtypes

        return array.view(ml_dtypes.bfloat16)
    form = execution.formats[name]
    if form.bits > 8:
        raise Error(
            f"{name} of {execution.inst.name} has type {array.dtype}, which is any 8-bit type of ml_dtypes; {name} is "
            f"{form.name}, so give values, such as by .astype(numpy.float32) before they are saved"
        )
    return decode(checked(execution, name, array), form, execution.signed.get(name, True))


def as_values(execution: Execution, name: str, value: ArrayLike) -> Array:
    """Values of an operand, in a type that NumPy computes with."""
    values = _saved_type(execution, name, as_array(execution, name, value))
    if values.dtype.kind not in "fiub" and values.dtype.name not in ML_DTYPES:
        raise Error(f"{name} of {execution.inst.name} has type {values.dtype}; it takes numbers: floats or integers")
    if values.dtype.kind in "fiu":
        return values
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return values.astype(np.float64)


def rounded(execution: Execution, name: str, value: ArrayLike) -> Array:
    """Values as codes of an operand's format."""
    values = as_values(execution, name, value)
    try:
        signed = execution.signed.get(name, True)
        return encode(values, execution.formats[name], execution.inst.architecture.vendor, signed)
    except Error as error:
        raise Error(f"{name} of {execution.inst.name}: {error}") from None


def _suggested_type(wanted: Format, name: str) -> str:
    """What else to give where encodings are wanted, as the end of a sentence."""
    if name in ("SA", "SB"):
        return f"; the scale 1.0 is {encode(np.ones(1), wanted)[0]}, and 2.0 is {encode(np.full(1, 2.0), wanted)[0]}"
    return " (multiply() takes values)" if name in ("A", "B", "C") else ""


def checked(execution: Execution, name: str, value: ArrayLike) -> Array:
    """Codes of an operand: unsigned integers that fit its width, or an ml_dtypes array of its format."""
    codes = as_array(execution, name, value)
    wanted, word = execution.formats[name], TYPE_WORDS[name].split()[0]
    target = code_type(wanted)
    if codes.dtype == target and 8 * target.itemsize == wanted.bits:
        return codes
    if ML_DTYPES.get(codes.dtype.name) == wanted.name or _untyped(codes, wanted):
        codes = codes.view(f"u{codes.dtype.itemsize}")
    if codes.dtype.kind not in "ui":
        raise Error(
            f"{word} of {execution.inst.name} has type {codes.dtype}; it takes {wanted.name} encodings, unsigned "
            f"integers of {wanted.bits} bits{_suggested_type(wanted, name)}"
        )
    whole = codes.dtype.kind == "u" and codes.dtype.itemsize * 8 <= wanted.bits
    if not whole and codes.size:
        low, high = int(codes.min()), int(codes.max())
        if low < 0 or high >> wanted.bits:
            raise Error(
                f"{word} of {execution.inst.name} holds {low if low < 0 else high}; {wanted.name} encodings are 0 to "
                f"{(1 << wanted.bits) - 1}"
            )
    return codes.astype(target, copy=False)


def _untyped(codes: Array, wanted: Format) -> bool:
    """Whether an array is one that .npy has as |V1 or |V2, of an operand's width."""
    return codes.dtype.kind == "V" and not codes.dtype.names and codes.dtype.itemsize == code_type(wanted).itemsize


class Conversion(TupleRecord):
    """What rounding did to the values of an operand.

    given: the array's type; format: the operand's; elements: how many; changed: how many have another value now;
    infinite, nan: how many of these became infinities, and NaN.
    """

    operand: str
    given: str
    format: str
    elements: int
    changed: int
    infinite: int
    nan: int


def conversion(execution: Execution, name: str, value: ArrayLike) -> Conversion:
    """What becomes of the values of an operand when they are rounded to its format.

    >>> import mmacalc
    >>> from mmacalc.emulator.execution import execution_of
    >>> mfma = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
    >>> conversion(execution_of(mfma, None, {}, False, False), "A", np.array([1.0, 0.1, 1e30, np.nan]))
    Conversion(operand='A', given='float64', format='f16', elements=4, changed=2, infinite=1, nan=0)
    """
    given = as_array(execution, name, value)
    values, form = as_values(execution, name, given), execution.formats[name]
    after = decode(rounded(execution, name, given), form, execution.signed.get(name, True))
    with np.errstate(invalid="ignore", over="ignore"):
        before = values.astype(np.float64)
        # Of 64-bit integers float64 has only some.
        changed = (after != before) | ((before != values) if values.dtype.kind in "iu" else False)
    changed &= ~(np.isnan(after) & np.isnan(before))
    infinite, nan = np.isinf(after) & changed, np.isnan(after) & changed
    counts = (int(np.count_nonzero(part)) for part in (changed, infinite, nan))
    return Conversion(name, str(given.dtype), form.name, given.size, *counts)
