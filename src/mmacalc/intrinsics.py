"""Clang's builtins for AMD's matrix instructions, on per-lane registers.

Every `__builtin_amdgcn_mfma_...`, `_smfmac_...`, `_wmma_...` and `_swmmac_...` is a function here, called as in HIP
but for the leading `__builtin_`. Operands are what each lane holds:

    a scalar of HIP (float a)            an array of shape (lanes,)
    a vector of HIP (float4 c)           an array of shape (elements, lanes), so that c[i] is element i of every lane
    the same number in all lanes         a number (not for A and B)

in the operand's number format, or as integers that carry its bits (`short` for bf16, `int` for four i8). The 4- and
6-bit types of ml_dtypes are packed on the way; `pack` does the same. Scales and sparse indices are integers of any
width whose values fit, as C++ converts them. Inside `mmacalc.launch` a builtin is issued by the wave that runs;
elsewhere the architecture is given by `arch=`.

>>> import numpy as np
>>> from mmacalc import intrinsics
>>> a = b = np.ones(64, np.float32)
>>> d = intrinsics.amdgcn_mfma_f32_16x16x4f32(a, b, 0, 0, 0, 0)
>>> d.shape, float(d[3][17])
((4, 64), 4.0)

The names and the order of arguments are those of `mmacalc.compiler.builtins`. As in LLVM, a scaled builtin of gfx950
whose two scales are both the constant 0 (here: numbers, not arrays) is the instruction without scales; any other
constant is a scale.

Immediate arguments become modifiers (`arguments.fields_of`), what each lane passes becomes register files, and the
instruction is executed on them.
"""

from __future__ import annotations

from functools import cache, lru_cache, partial
from operator import index

import ml_dtypes
import numpy as np

from .base.errors import Error, did_you_mean
from .catalog import architectures, entry
from .compiler.builtins import OPERANDS, fields_of, unscaled
from .compiler.builtins import intrinsics as builtins_of
from .formats import FORMATS, NUMPY_NAMES
from .kernels.launching import DEFAULT_ARCHITECTURE
from .kernels.waves import running_wave

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from .compiler.dialects import Intrinsic
    from .model import Instruction

    Array = NDArray[Any]
    from numpy.typing import NDArray

REGISTERS = {"K": "index", "SA": "scale_a", "SB": "scale_b"}
"""The operands that `Instruction.execute` takes by keyword."""


@lru_cache(maxsize=64)
def _builtins(architecture: str, wave: int) -> dict[str, tuple[Instruction, Intrinsic]]:
    """The builtins of an architecture on a wave size, by name without `__builtin_`."""
    return {
        builtin.builtin.removeprefix("__builtin_"): (inst, builtin)
        for inst in entry(architecture).instructions()
        for builtin in builtins_of(inst, wave)
    }


def names(arch: str, wave: int | None = None) -> tuple[str, ...]:
    """The builtins of an architecture on a wave size (its default if left out), without `__builtin_`.

    >>> names("gfx90a")[0], len(names("gfx1100", 64))
    ('amdgcn_mfma_f32_32x32x1f32', 8)
    """
    record = entry(arch).architecture
    return tuple(_builtins(record.name, record.wave(wave)))


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
        raise Error(
            f"{record.title} has no builtin {name}{of_wave}.{_elsewhere(short) or did_you_mean(short, known)}",
            kind="unknown name",
        )
    return known[short]


def _elsewhere(name: str) -> str:
    """Which architectures have a builtin, for the message of one that has not."""
    owners: dict[str, int] = {}
    for architecture, wave in _places():
        if name in _builtins(architecture, wave):
            record = entry(architecture).architecture
            owners.setdefault((record.targets or (record.name,))[0], wave)
    if not owners:
        return ""
    target, wave = next(iter(owners.items()))
    wave_size = f", wave_size={wave}" if wave != entry(target).architecture.waves[0] else ""
    return f" {' and '.join(owners)} ha{'ve' if len(owners) > 1 else 's'} it: pass arch='{target}'{wave_size}."


def call(name: str, *args: Any, arch: str | None = None, wave_size: int | None = None) -> Array:
    """Execute a builtin; see `mmacalc.intrinsics` for how its arguments are passed.

    Args:
        name: the builtin's name, with or without `__builtin_`. args: its arguments, in clang's order.
        arch, wave_size: where it runs; inside a launch they are the launch's.

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
    passed = dict(zip(names, args))
    twin = unscaled(inst)
    if twin is not None and all(np.ndim(passed[key]) == 0 and passed[key] == 0 for key in ("a_scale", "b_scale")):
        inst, passed = twin, {key: passed[key] for key in ("a", "b", "c", "cbsz", "blgp")}
    fields, clamp = _fields(name, inst, {key: value for key, value in passed.items() if key not in OPERANDS})
    files = {
        OPERANDS[key]: _registers(name, inst, OPERANDS[key], value, lanes, fields)
        for key, value in passed.items()
        if key in OPERANDS
    }
    extra: dict[str, Any] = {REGISTERS[operand]: file for operand, file in files.items() if operand in REGISTERS}
    if wave is not None:
        wave.issue(inst, 1, fields)
    extra |= {"clamp": clamp, "wave": lanes, **fields}
    d = inst.execute(files["A"], files["B"], files["C"], **extra)
    return _elements(d, inst.format("D").dtype)


def _fields(name: str, inst: Instruction, immediates: dict[str, Any]) -> tuple[dict[str, int], bool]:
    """The immediate arguments as the instruction's modifiers, and whether it clamps."""
    try:
        values = {key: index(value) for key, value in immediates.items()}
    except TypeError:
        raise Error(f"{name}: {', '.join(immediates)} are immediates: they should be whole numbers") from None
    clamp = bool(values.pop("clamp", 0))
    return fields_of(inst, values), clamp


def _registers(
    name: str, inst: Instruction, operand: str, value: ArrayLike, lanes: int, fields: dict[str, int]
) -> Array:
    """What lanes hold, as a register file."""
    array = np.asarray(value)
    known = {field: fields[field] for field in inst.choices if field in fields}
    place = inst.operand(operand if operand in inst.operands else "D", lanes, **known)
    if operand in ("K", "SA", "SB"):
        return _whole_numbers(name, operand, array, place.registers, lanes)
    dtype = place.format.dtype
    if array.ndim == 0 and operand == "C":
        if array.dtype.kind not in ("iu" if dtype.kind == "i" else "iuf"):
            raise Error(f"{name}: C is {value!r}; it takes a number, or {dtype} for each lane")
        with np.errstate(all="ignore"):
            array = np.full((place.registers * 4 // dtype.itemsize, lanes), array).astype(dtype)
    whole = array[None, :] if array.ndim == 1 else array
    if whole.ndim != 2 or whole.shape[1] != lanes:
        raise Error(f"{name}: {operand} has shape {array.shape}; the last axis is that of the {lanes} lanes")
    if whole.dtype.kind not in "iu" and whole.dtype != dtype and whole.dtype != UNSIGNED.get(dtype):
        raise Error(f"{name}: {operand} holds {whole.dtype}; it takes {dtype}, or integers with the bits")
    bits = BITS.get(whole.dtype, 8 * whole.dtype.itemsize)
    size = whole.shape[0] * bits // 8
    # The builtins of f8f6f4 take eight registers for every format; narrower ones use the first of them.
    if size != 4 * place.registers and not (operand in inst.choices.values() and size == 32):
        raise Error(
            f"{name}: {operand} has {whole.shape[0]} elements of {whole.dtype} in each lane, {size} bytes; it takes "
            f"{4 * place.registers}: {32 * place.registers // place.format.bits} of {dtype}"
        )
    return pack(whole)[: place.registers]


def _whole_numbers(name: str, operand: str, array: Array, registers: int, lanes: int) -> Array:
    """Scales or sparse indices as registers: integers of any width whose values fit, or their bits in several."""
    what = {"K": "the index", "SA": "the scale of A", "SB": "the scale of B"}[operand]
    if array.dtype.kind not in "iu":
        codes = "" if operand == "K" else " (of E8M0, the scale 2^x has the code x + 127)"
        raise Error(f"{name}: {what} is {array.dtype}; it takes integers{codes}")
    if array.ndim > 2 or (array.ndim and array.shape[-1] != lanes):
        raise Error(f"{name}: {what} has shape {array.shape}; it takes a number for each of the {lanes} lanes")
    size, bits = array.shape[0] * array.dtype.itemsize if array.ndim == 2 else 0, 32 * registers
    if size == 4 * registers:
        return pack(array)
    # clang declares the index of CDNA5's 8-bit SWMMAC as int, and leaves the second register that the instruction
    # reads undefined (seen in what clang 22.1.8 writes); here it must be given, 64 bits in each lane.
    narrow = operand == "K" and registers == 2 and array.ndim and array.dtype.itemsize < 8
    if (array.ndim == 2 and len(array) != 1) or narrow:
        raise Error(f"{name}: {what} has {array.dtype} of shape {array.shape}; it takes {bits} bits in each lane")
    low, high = int(array.min()), int(array.max())
    if low < -(1 << (bits - 1)) or high >= 1 << bits:
        raise Error(f"{name}: {what} holds {low if low < 0 else high}, which does not fit in {bits} bits")
    words = np.broadcast_to(array.reshape(-1).astype(np.uint64), lanes)  # two's complement
    return np.stack([(words >> np.uint64(32 * part)).astype(np.uint32) for part in range(registers)])


def _elements(registers: Array, dtype: np.dtype[Any]) -> Array:
    found: Array = np.ascontiguousarray(registers.T).view(dtype).T
    return found[0] if len(found) == 1 else np.ascontiguousarray(found)


def named(name: str) -> Callable[..., Array] | None:
    """The function of a builtin, with or without `__builtin_`; None if no architecture has it."""
    short = name.removeprefix("__builtin_")
    if not short.startswith("amdgcn_") or not any(short in _builtins(*place) for place in _places()):
        return None
    return partial(call, short)


@cache
def _places() -> tuple[tuple[str, int], ...]:
    """Every architecture that has builtins, with each of its wave sizes; the default's first."""
    records = [entry(name).architecture for name in (DEFAULT_ARCHITECTURE, *architectures())]
    return tuple((record.name, wave) for record in records if record.builtins for wave in record.waves)


# --- Elements of lanes packed into 32-bit registers, as instructions read them ---


UNSIGNED = {np.dtype(ml_dtypes.int4): np.dtype(ml_dtypes.uint4)}
"""The unsigned type that carries the codes of a signed one as well."""
BITS = {FORMATS[name].dtype: FORMATS[name].bits for name in NUMPY_NAMES if FORMATS[name].bits < 8}
"""The types that ml_dtypes keeps in a byte each, with the bits that a register keeps."""
BITS |= {unsigned: BITS[signed] for signed, unsigned in UNSIGNED.items()}
ML_DTYPES = {*BITS, *(FORMATS[name].dtype for name in NUMPY_NAMES)}


def pack(elements: ArrayLike, bits: int | None = None) -> NDArray[np.uint32]:
    """The elements of each lane as 32-bit registers: element e is in bits [bits * e, bits * (e + 1)), the first
    register's being 0 to 31. So do the instructions keep them, also 6-bit ones, which reach across registers.

    Args:
        elements: (elements, ...), usually (elements, lanes): of a type of NumPy or ml_dtypes, or integers that carry
            the codes in their low bits.
        bits: the width of an element; that of the type if left out (6 for float6_e2m3fn).

    Returns:
        uint32 (registers, ...).

    Raises:
        Error: the elements do not fill whole registers, or a width is not 1 to 64.

    >>> import ml_dtypes
    >>> ones = np.ones((32, 64), ml_dtypes.float6_e2m3fn)
    >>> pack(ones).shape, hex(pack(ones)[0, 0])
    ((6, 64), '0x8208208')
    >>> pack([1, 2, 3, 4], bits=8)
    array([67305985], dtype=uint32)
    """
    array = np.asarray(elements)
    own = BITS.get(array.dtype, 8 * array.dtype.itemsize)
    width = own if bits is None else bits
    if array.dtype.kind not in "iuf" and array.dtype not in ML_DTYPES:
        raise Error(f"pack: the elements are {array.dtype}; they are of a number type of NumPy or ml_dtypes")
    carried = width == own or array.dtype.kind in "iu"
    if not array.ndim or not carried or not 1 <= width <= own or len(array) * width % 32:
        raise Error(f"pack: {array.shape} elements of {width} bits; the first axis fills whole registers of 32 bits")
    if width == own and width >= 8:
        lanes_first = np.ascontiguousarray(np.moveaxis(array, 0, -1))
        return np.ascontiguousarray(np.moveaxis(lanes_first.view("<u4"), -1, 0)).astype(np.uint32, copy=False)
    codes = array.view(f"u{array.dtype.itemsize}").astype(np.uint64)
    planes = codes[:, None] >> np.arange(width, dtype=np.uint64).reshape(-1, *(1,) * (array.ndim - 1))
    stream = (planes & np.uint64(1)).astype(np.uint8).reshape(-1, 32, *array.shape[1:])
    weights = (np.uint32(1) << np.arange(32, dtype=np.uint32)).reshape(-1, *(1,) * (array.ndim - 1))
    found: NDArray[np.uint32] = (stream * weights).sum(axis=1, dtype=np.uint32)
    return found


def __getattr__(name: str) -> Callable[..., NDArray[Any]]:
    builtin = named(name)
    if builtin is None:
        raise AttributeError(
            f"module 'mmacalc.intrinsics' has no attribute '{name}': no architecture has such a builtin"
        )
    return builtin
