"""Clang's builtins for AMD's matrix instructions, on per-lane registers.

Every `__builtin_amdgcn_mfma_...`, `_smfmac_...`, `_wmma_...` and `_swmmac_...` is a function here, called as in HIP but
for the leading `__builtin_`. Operands are what each lane holds:

    a scalar of HIP (float a)            an array of shape (lanes,)
    a vector of HIP (float4 c)           an array of shape (elements, lanes), so that c[i] is element i of every lane
    the same number in all lanes         a number (not for A and B)

in the operand's number format, or as integers that carry its bits (`short` for bf16, `int` for four i8). Inside
`mmacalc.launch` a builtin is issued by the wave that runs; elsewhere the architecture is given by `arch=`.

>>> import numpy as np
>>> from mmacalc import intrinsics
>>> a = b = np.ones(64, np.float32)
>>> d = intrinsics.amdgcn_mfma_f32_16x16x4f32(a, b, 0, 0, 0, 0)
>>> d.shape, float(d[3][17])
((4, 64), 4.0)

The names and the order of arguments are those of `mmacalc.isa.intrinsics`.
"""

from __future__ import annotations

from functools import cache, partial
from operator import index

import ml_dtypes
import numpy as np

from .catalog import architectures, entry
from .errors import Error, did_you_mean
from .isa.intrinsics import intrinsics as builtins_of
from .machine.launching import DEFAULT_ARCHITECTURE
from .machine.waves import running_wave

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from .isa.intrinsics import Intrinsic
    from .record import Instruction

    Array = NDArray[Any]

OPERANDS = {"a": "A", "b": "B", "c": "C", "index": "K", "a_scale": "SA", "b_scale": "SB"}

FIELDS: dict[str, Callable[[int], dict[str, int]]] = {
    # arguments that are not called as the fields that they set; bits of one field from several are put together
    "a_signed": lambda v: {"neg": 1 * bool(v)},
    "b_signed": lambda v: {"neg": 2 * bool(v)},
    "a_neg": lambda v: {"neg": 1 * bool(v), "neg_hi": 1 * bool(v)},
    "b_neg": lambda v: {"neg": 2 * bool(v), "neg_hi": 2 * bool(v)},
    "c_mod": lambda v: {"neg": 4 * (v & 1), "neg_hi": 4 * (v >> 1 & 1)},  # 1 negates, 2 takes the absolute value
    "high": lambda v: {"opsel": 4 * bool(v)},  # the half of the registers of C and D
    "a_op_sel": lambda v: {"opsel": v & 1, "op_sel_hi": v >> 1 & 1},  # the byte of the scale
    "b_op_sel": lambda v: {"opsel": 2 * (v & 1), "op_sel_hi": 2 * (v >> 1 & 1)},
    "a_fmt": lambda v: {"matrix_a_fmt": v},
    "b_fmt": lambda v: {"matrix_b_fmt": v},
    "a_scale_row": lambda v: {"matrix_a_scale": v},
    "b_scale_row": lambda v: {"matrix_b_scale": v},
    "a_scale_fmt": lambda v: {"matrix_a_scale_fmt": v},
    "b_scale_fmt": lambda v: {"matrix_b_scale_fmt": v},
    "a_reuse": lambda v: {},  # a hint to the operand cache
    "b_reuse": lambda v: {},
}
"""How immediate arguments become modifiers. Source: what llc 22.1.8 selects for the intrinsics."""

_TYPES: dict[str, Any] = {
    "f64": np.float64, "f32": np.float32, "xf32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "e5m2fnuz": ml_dtypes.float8_e5m2fnuz, "i32": np.int32,
}  # fmt: skip


@cache
def _builtins(architecture: str, wave: int) -> dict[str, tuple[Instruction, Intrinsic]]:
    """The builtins of an architecture on a wave size, by their names without `__builtin_`."""
    return {
        builtin.builtin.removeprefix("__builtin_"): (inst, builtin)
        for inst in entry(architecture).instructions()
        for builtin in builtins_of(inst, wave)
    }


def resolve(name: str, arch: str, wave: int | None = None) -> tuple[Instruction, Intrinsic]:
    """The instruction that a builtin becomes on an architecture, and the builtin's description.

    Raises:
        Error: the architecture has no such builtin on that wave size.

    >>> inst, builtin = resolve("__builtin_amdgcn_mfma_f32_16x16x1f32", "gfx942")
    >>> inst.name, builtin.arg_names
    ('v_mfma_f32_16x16x1_4b_f32', ('a', 'b', 'c', 'cbsz', 'abid', 'blgp'))
    """
    record = entry(arch).architecture
    size = record.wave(wave)
    known = _builtins(record.name, size)
    short = name.removeprefix("__builtin_")
    if short not in known:
        of_wave = f" for wave{size}" if len(record.waves) > 1 else ""
        raise Error(f"{record.title} has no builtin {name}{of_wave}.{did_you_mean(short, known)}")
    return known[short]


def call(name: str, *args: Any, arch: str | None = None, wave_size: int | None = None) -> Array:
    """Carry out a builtin; see the top of this module.

    Returns:
        What each lane holds of D: (elements, lanes), or (lanes,) where that is a single element.

    Raises:
        Error: no such builtin, or arguments of the wrong number, shape or type.
    """
    wave = running_wave()
    if wave is not None:
        arch, wave_size = wave.architecture.name, wave.size
    inst, builtin = resolve(name, arch or DEFAULT_ARCHITECTURE, wave_size)
    lanes, names = inst.architecture.wave(wave_size), builtin.arg_names
    if len(args) != len(names):
        raise Error(f"{name} takes {len(names)} arguments, {', '.join(names)}; it was given {len(args)}")
    given = dict(zip(names, args))
    fields, clamp = _fields(name, inst, {key: value for key, value in given.items() if key not in OPERANDS})
    operands = {key: OPERANDS[key] for key in given if key in OPERANDS}
    files = {key: _registers(name, inst, operand, given[key], lanes, fields) for key, operand in operands.items()}
    extra = {
        {"K": "index", "SA": "scale_a", "SB": "scale_b"}[operands[key]]: files[key] for key in files if key not in "abc"
    }
    if wave is not None:
        wave.issue(inst, 1, fields)
    d = inst.execute(files["a"], files["b"], files["c"], **extra, clamp=clamp, wave=lanes, **fields)
    return _elements(d, np.dtype(_TYPES[inst.format("D").name]))


def _fields(name: str, inst: Instruction, given: dict[str, Any]) -> tuple[dict[str, int], bool]:
    """The immediate arguments as the instruction's modifiers, and whether it clamps."""
    try:
        values = {key: index(value) for key, value in given.items()}
    except TypeError:
        raise Error(f"{name}: {', '.join(given)} are whole numbers that the instruction holds") from None
    clamp = bool(values.pop("clamp", 0))
    fields: dict[str, int] = {}
    for key, value in values.items():
        for field, bits in FIELDS.get(key, lambda v, key=key: {key: v})(value).items():
            fields[field] = fields.get(field, 0) | bits
    if inst.format("A", fields).bits > 16:
        fields["neg_hi"] = fields.get("neg_hi", 0) & 4  # one NEG bit is the whole of a 32-bit element
    return {field: value for field, value in fields.items() if value}, clamp


def _registers(
    name: str, inst: Instruction, operand: str, value: ArrayLike, lanes: int, fields: dict[str, int]
) -> Array | int:
    """What lanes hold, as a register file."""
    array = np.asarray(value)
    known = {field: fields[field] for field in inst.choices if field in fields}
    place = inst.operand(operand if operand in inst.operands else "D", lanes, **known)
    dtype = np.dtype(_TYPES.get(place.format.name, np.uint32))
    if array.ndim == 0 and operand in ("C", "K", "SA", "SB"):
        array = np.full((place.registers * 4 // dtype.itemsize, lanes), array).astype(dtype)
    whole = array[None, :] if array.ndim == 1 else array
    if whole.ndim != 2 or whole.shape[1] != lanes:
        raise Error(f"{name}: {operand} has shape {array.shape}; the last axis is that of the {lanes} lanes")
    if whole.dtype.kind not in "iu" and whole.dtype != dtype:
        raise Error(f"{name}: {operand} holds {whole.dtype}; it takes {dtype}, or integers with the bits")
    held = whole.shape[0] * whole.dtype.itemsize
    # clang declares the index of CDNA5's 8-bit SWMMAC as int, and leaves the second register that the instruction
    # reads undefined (seen in what clang 22.1.8 writes); here it must be given, 64 bits in each lane.
    # The builtins of f8f6f4 take eight registers whatever the format: narrower ones use the first.
    if held != 4 * place.registers and not (operand in inst.choices.values() and held == 32):
        raise Error(
            f"{name}: {operand} has {whole.shape[0]} elements of {whole.dtype} in each lane, {held} bytes; it takes "
            f"{4 * place.registers}: {4 * place.registers // dtype.itemsize} of {dtype}"
        )
    words: Array = np.ascontiguousarray(np.ascontiguousarray(whole.T).view(np.uint32).T)
    return words[: place.registers]


def _elements(registers: Array, dtype: np.dtype[Any]) -> Array:
    found: Array = np.ascontiguousarray(registers.T).view(dtype).T
    return found[0] if len(found) == 1 else np.ascontiguousarray(found)


def __getattr__(name: str) -> Callable[..., Array]:
    short = name.removeprefix("__builtin_")
    if not short.startswith("amdgcn_") or not any(short in _builtins(*place) for place in _places()):
        raise AttributeError(
            f"module 'mmacalc.intrinsics' has no attribute '{name}': no architecture has such a builtin"
        )
    return partial(call, short)


@cache
def _places() -> tuple[tuple[str, int], ...]:
    """Every architecture that has builtins, with each of its wave sizes; the default's first."""
    records = [entry(name).architecture for name in (DEFAULT_ARCHITECTURE, *architectures())]
    return tuple((record.name, wave) for record in records if record.vendor == "amd" for wave in record.waves)
