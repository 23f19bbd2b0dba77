"""Executes clang's builtins on per-lane registers: the functions of `mmacalc.intrinsics`.

A builtin's immediate arguments become modifiers (`arguments.fields_of`), what each lane passes becomes register files,
and the instruction is executed on them.
"""

from __future__ import annotations

from functools import cache, lru_cache, partial
from operator import index

import numpy as np

from ..catalog import architectures, entry
from ..errors import Error, did_you_mean
from ..kernels.launching import DEFAULT_ARCHITECTURE
from ..kernels.waves import running_wave
from .arguments import OPERANDS, fields_of
from .builtins import intrinsics as builtins_of
from .builtins import unscaled
from .packing import BITS, UNSIGNED, pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from ..model import Instruction
    from .builtins import Intrinsic

    Array = NDArray[Any]

__all__ = ["call", "named", "names", "pack", "resolve"]

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
