"""What was given to `mmacalc.diagnose`, as a `Problem`: one instruction, or a whole GEMM that chains it."""

from __future__ import annotations

import numpy as np

from ..arithmetic.codecs import encode
from ..checks import shown
from ..emulator.arrays import as_array, as_values, checked, rounded
from ..emulator.execution import Execution, execution_of
from ..emulator.matrices import extras, prepared
from ..errors import Error
from .problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from ..model import Instruction

    Array = NDArray[Any]

__all__ = ["problem_of"]


def problem_of(
    inst: Instruction, a: ArrayLike, b: ArrayLike, c: ArrayLike, bits: bool, rest: Mapping[str, Any]
) -> Problem:
    """The `Problem` of the arguments of `mmacalc.diagnose`.

    Raises:
        Error: an operand that does not fit.
    """
    options = dict(rest)
    further = [options.pop(name, None) for name in ("index", "scale_a", "scale_b")]
    flags = [bool(options.pop(name, False)) for name in ("clamp", "satfinite")]
    scalars = (_scalar("alpha", options.pop("alpha", 1.0)), _scalar("beta", options.pop("beta", 1.0)))
    execution = execution_of(inst, options.pop("wave", None), options, *flags)
    read = as_array if bits else as_values
    given = {name: read(execution, name, value) for name, value in (("A", a), ("B", b), ("C", c))}
    codes = {name: (checked if bits else rounded)(execution, name, value) for name, value in given.items()}
    codes |= extras(execution, *further)
    codes = _whole(execution, codes) if _is_gemm(execution, codes) else prepared(execution, codes)
    return Problem(execution, codes, {} if bits else given, scalars)


def _scalar(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise Error(f"diagnose(): {name} = {shown(value)} should be a number") from None
    if not np.isfinite(number):
        raise Error(f"diagnose(): {name} = {number} should be finite")
    return number


def _is_gemm(execution: Execution, codes: Mapping[str, Array]) -> bool:
    """Whether A and B are larger matrices, to be cut into tiles for the instruction."""
    a, b, inst = codes["A"], codes["B"], execution.inst
    if inst.blocks > 1 or a.ndim < 2 or b.ndim < 2:
        return False
    dense = a.shape[-1] == b.shape[-2] and not ("K" in codes and execution.sparsity)
    stored = a.shape[-1] * inst.k == b.shape[-2] * execution.shapes["A"][-1]
    own = (inst.m, inst.k, inst.n)
    return (dense or ("K" in codes and stored)) and (a.shape[-2], b.shape[-2], b.shape[-1]) != own


def _whole(execution: Execution, codes: dict[str, Array]) -> dict[str, Array]:
    """The checked inputs of a whole GEMM: a dense A compressed, scales of 1 filled in, C of the right shape."""
    inst = execution.inst
    (rows, _), (k, columns) = codes["A"].shape[-2:], codes["B"].shape[-2:]
    if k % inst.k and (execution.sparsity or execution.block_size):
        raise Error(f"a whole product by {inst.name} needs a K that is a multiple of {inst.k}; got {k}")
    if k > inst.k and execution.formats["C"] != execution.formats["D"]:
        raise Error(f"{inst.name} cannot be chained along K: C is {execution.formats['C'].name}, D is not")
    if execution.sparsity and "K" not in codes:
        dense = codes["A"].reshape(*codes["A"].shape[:-1], -1, inst.k)
        part = {"A": np.moveaxis(dense, -2, 0), "B": np.zeros(execution.shapes["B"], codes["B"].dtype)}
        pad = (-rows) % inst.m
        part["A"] = np.pad(part["A"], [(0, 0)] * (part["A"].ndim - 2) + [(0, pad), (0, 0)])
        part["A"] = part["A"].reshape(*part["A"].shape[:-2], -1, inst.m, inst.k)
        made = prepared(execution, {**part, "C": np.zeros((), codes["C"].dtype)})
        for name in ("A", "K"):
            cut = made[name].reshape(*made[name].shape[:-3], -1, made[name].shape[-1])[..., :rows, :]
            codes[name] = np.moveaxis(cut, 0, -2).reshape(*cut.shape[1:-1], -1)
    needed = {"C": (rows, columns)}
    for name in ("SA", "SB") if execution.block_size else ():
        needed[name] = (rows, k // execution.block_size) if name == "SA" else (k // execution.block_size, columns)
        codes.setdefault(name, np.broadcast_to(encode(np.array(1.0), execution.formats[name]), needed[name]))
    if execution.sparsity:
        needed["K"] = (rows, k // inst.k * execution.shapes["K"][-1])
    if codes["C"].ndim == 0:
        codes["C"] = np.broadcast_to(codes["C"], needed["C"])
    for name, shape in needed.items():
        if codes[name].shape[-2:] != shape:
            raise Error(
                f"{name} of the whole product has shape {codes[name].shape}; it needs (..., {shape[0]}, {shape[1]})"
            )
    return codes
