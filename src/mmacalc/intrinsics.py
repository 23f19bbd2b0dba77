"""Clang's builtins for AMD's matrix instructions, on per-lane registers.

Every `__builtin_amdgcn_mfma_...`, `_smfmac_...`, `_wmma_...` and `_swmmac_...` of CDNA1 to CDNA4, RDNA3 and RDNA4 is a
function here, called as in HIP but for the leading `__builtin_`. Operands are what each lane holds:

    a scalar of HIP (float a)            an array of shape (lanes,)
    a vector of HIP (float4 c)           an array of shape (elements, lanes), so that c[i] is element i of every lane
    the same number in all lanes         a number, for C only

in the operand's number format, or as integers that carry its bits (`short` for bf16, `int` for four i8). Inside
`mmacalc.launch` a builtin is issued by the wave that runs; elsewhere the architecture is given by `arch=`.

>>> import numpy as np
>>> from mmacalc import intrinsics
>>> a = b = np.ones(64, np.float32)
>>> d = intrinsics.amdgcn_mfma_f32_16x16x4f32(a, b, 0, 0, 0, 0)
>>> d.shape, float(d[3][17])
((4, 64), 4.0)

Source: clang's BuiltinsAMDGPU (LLVM 22.1.8), for names and the order of arguments.
"""

from __future__ import annotations

from functools import cache, partial
from operator import index

import ml_dtypes
import numpy as np

from .catalog import entry
from .emulator.table import kind
from .errors import Error, did_you_mean
from .machine.launching import DEFAULT_ARCHITECTURE
from .machine.waves import running_wave

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from .record import Instruction

    Array = NDArray[Any]

ARGUMENTS = {
    # kind of instruction, and what its mnemonic or formats say: the builtin's arguments after one another
    ("mfma", "scaled"): ("a", "b", "c", "cbsz", "blgp", "opsel_a", "scale_a", "opsel_b", "scale_b"),
    ("mfma", ""): ("a", "b", "c", "cbsz", "abid", "blgp"),
    ("smfmac", ""): ("a", "b", "c", "index", "cbsz", "abid"),
    ("wmma", "integer"): ("a_signed", "a", "b_signed", "b", "c", "clamp"),
    ("wmma", "opsel"): ("a", "b", "c", "opsel"),
    ("wmma", ""): ("a", "b", "c"),
    ("swmmac", "integer"): ("a_signed", "a", "b_signed", "b", "c", "index", "clamp"),
    ("swmmac", ""): ("a", "b", "c", "index"),
}
OPERANDS = {"a": "A", "b": "B", "c": "C", "index": "K", "scale_a": "SA", "scale_b": "SB"}
ARCHITECTURES = ("cdna1", "cdna2", "cdna3", "cdna4", "rdna3", "rdna4")
PREFIXES = ("__builtin_amdgcn_", "amdgcn_")

_TYPES: dict[str, Any] = {
    "f64": np.float64, "f32": np.float32, "xf32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "e5m2fnuz": ml_dtypes.float8_e5m2fnuz, "i32": np.int32,
}  # fmt: skip


def _spelling(name: str) -> str:
    """A name without what differs between mnemonics and builtins: underscores and the number of blocks."""
    words = [word for word in name.lower().split("_") if word not in ("v", "2b", "4b", "16b")]
    return "".join(words)


@cache
def _builtins(architecture: str, wave: int) -> dict[str, Instruction]:
    """The instructions of an architecture by the spelling of the builtins that reach them."""
    found = {}
    for inst in entry(architecture).instructions():
        for name in (inst.name, *inst.aliases):
            found[_spelling(name)] = inst
            if kind(inst) in ("wmma", "swmmac"):
                suffix = "gfx12" if architecture == "rdna4" and kind(inst) == "wmma" else ""
                found[f"{_spelling(name)}w{wave}{suffix}"] = inst
                if "opsel" in inst.features and not inst.sparse:
                    found[f"{_spelling(name)}tiedw{wave}"] = inst
    return found


def arguments(inst: Instruction) -> tuple[str, ...]:
    """The arguments of an instruction's builtin, in order.

    >>> import mmacalc
    >>> arguments(mmacalc.instruction("gfx1100", "v_wmma_i32_16x16x16_iu8"))
    ('a_signed', 'a', 'b_signed', 'b', 'c', 'clamp')
    """
    sort = kind(inst)
    if inst.scaled:
        return ARGUMENTS[sort, "scaled"]
    if sort in ("wmma", "swmmac") and inst.integer:
        return ARGUMENTS[sort, "integer"]
    return ARGUMENTS[sort, "opsel" if sort == "wmma" and "opsel" in inst.features else ""]


def resolve(name: str, arch: str, wave: int | None = None) -> Instruction:
    """The instruction that a builtin becomes on an architecture.

    Args:
        name: with or without `__builtin_`, `amdgcn_`, the wave size and gfx12 at the end.

    Raises:
        Error: the architecture has no such builtin.

    >>> resolve("__builtin_amdgcn_mfma_f32_16x16x1f32", "gfx942").name
    'v_mfma_f32_16x16x1_4b_f32'
    """
    record = entry(arch).architecture
    if record.name not in ARCHITECTURES:
        raise Error(f"{record.title} has no builtins here; those of {', '.join(ARCHITECTURES)} are")
    short = name
    for prefix in PREFIXES:
        short = short.removeprefix(prefix)
    known = _builtins(record.name, record.wave(wave))
    spelling = _spelling(short)
    if spelling not in known:
        hint = did_you_mean(f"v_{short}", [inst.name for inst in known.values()])
        raise Error(f"{record.title} has no builtin {name} for wave{record.wave(wave)}.{hint}")
    return known[spelling]


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
    inst = resolve(name, arch or DEFAULT_ARCHITECTURE, wave_size)
    lanes = inst.architecture.wave(wave_size)
    names = arguments(inst)
    if len(args) != len(names):
        raise Error(f"{name} takes {len(names)} arguments, {', '.join(names)}; it was given {len(args)}")
    given = dict(zip(names, args))
    fields = _fields(name, {key: value for key, value in given.items() if key not in OPERANDS})
    clamp = bool(fields.pop("clamp", 0))
    files = {
        key: _registers(name, inst, OPERANDS[key], value, lanes, fields)
        for key, value in given.items()
        if key in OPERANDS
    }
    if wave is not None:
        wave.issue(inst, 1, {field: value for field, value in fields.items() if value})
    d = inst.execute(files.pop("a"), files.pop("b"), files.pop("c"), **files, clamp=clamp, wave=lanes, **fields)
    return _elements(d, np.dtype(_TYPES[inst.format("D").name]))


def _fields(name: str, given: dict[str, Any]) -> dict[str, int]:
    """The immediate arguments as the instruction's modifiers."""
    try:
        fields = {key: index(value) for key, value in given.items()}
    except TypeError:
        raise Error(f"{name}: {', '.join(given)} are whole numbers that the instruction holds") from None
    signed = [fields.pop(key, 0) for key in ("a_signed", "b_signed")]
    if any(signed):
        fields["neg"] = bool(signed[0]) | bool(signed[1]) << 1
    if "opsel" in fields:
        fields["opsel"] = 4 * bool(fields["opsel"])  # the half of C and D
    if "opsel_a" in fields:
        a, b = fields.pop("opsel_a"), fields.pop("opsel_b")
        fields |= {"opsel": a & 1 | (b & 1) << 1, "op_sel_hi": a >> 1 & 1 | (b >> 1 & 1) << 1}
    return fields


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
    if not short.startswith("amdgcn_"):
        raise AttributeError(f"module 'mmacalc.intrinsics' has no attribute '{name}'")
    made = partial(call, short)
    if not any(_exists(short, architecture) for architecture in ARCHITECTURES):
        raise AttributeError(f"no architecture has the builtin {name}")
    return made


def _exists(name: str, architecture: str) -> bool:
    waves = entry(architecture).architecture.waves
    return any(_spelling(name.removeprefix("amdgcn_")) in _builtins(architecture, wave) for wave in waves)
