"""Inputs that were converted otherwise: read as another format, cut instead of rounded, flushed."""

from __future__ import annotations

import numpy as np

from ..arithmetic.codecs import decode, encode, round_to_format
from ..formats import FORMATS
from .candidates import Candidate, changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    from ..formats import Format
    from .problem import Problem

    Array = NDArray[Any]

__all__ = ["other_conversion"]

ALIKE: dict[str, tuple[str, ...]] = {
    "f16": ("bf16",), "bf16": ("f16",), "e4m3": ("e4m3fnuz", "e5m2"), "e5m2": ("e5m2fnuz", "e4m3"),
    "e4m3fnuz": ("e4m3", "e5m2fnuz"), "e5m2fnuz": ("e5m2", "e4m3fnuz"), "e2m3": ("e3m2",), "e3m2": ("e2m3",),
}  # fmt: skip
"""The formats of the same width whose encodings are taken for another's."""

NARROWER = ("f16", "bf16", "e4m3", "e5m2")
"""The formats by way of which inputs come that were rounded twice."""

SPOKEN = {
    "e4m3": "OCP fp8 (e4m3fn)", "e5m2": "OCP bf8 (e5m2)", "e4m3fnuz": "FNUZ fp8 (e4m3fnuz)",
    "e5m2fnuz": "FNUZ bf8 (e5m2fnuz)",
}  # fmt: skip


def other_conversion(problem: Problem) -> Iterator[Candidate]:
    """A, B or both converted otherwise than the instruction needs."""
    form = problem.execution.formats["A"]
    names = ("AB", "A", "B")
    if form.bits == 8 and not form.is_float:
        yield from _offset(problem, names)
    if not form.is_float or form.bits > 32:
        return
    for other in ALIKE.get(form.name, ()):
        for operands in names:
            yield from _misread(problem, operands, FORMATS[other])
    if problem.given and problem.tiles == (1, 1, 1):
        for operands in names:
            cut = {name: _cut(problem, name) for name in operands}
            verb = "were" if len(operands) > 1 else "was"
            text = f"{' and '.join(operands)} {verb} cut to {form.name}, not rounded to nearest"
            yield Candidate(
                text, "convert with rounding to nearest even, or expect these values", changed(problem, **cut)
            )
    for operands in (*names, "C"):
        yield from _through(problem, operands)
    yield from _without_signs(problem, names)
    flushed = {name: _flushed(problem, name) for name in "AB"}
    advice = "the hardware keeps subnormals here; the kernel or the reference flushes them"
    yield Candidate("subnormal inputs were flushed to zero", advice, changed(problem, **flushed))


def _offset(problem: Problem, names: tuple[str, ...]) -> Iterator[Candidate]:
    """8-bit integers with an offset of 128 (a zero point): the top bit is the other."""
    for operands in names:
        flipped = {x: problem.codes[x] ^ problem.codes[x].dtype.type(128) for x in operands}
        whose = " and ".join(operands)
        text = f"the integers of {whose} are off by 128, modulo 256 (a zero point; unsigned for signed)"
        yield Candidate(text, f"subtract the zero point of {whose} before the product", changed(problem, **flipped))


def _without_signs(problem: Problem, names: tuple[str, ...]) -> Iterator[Candidate]:
    """The absolute values of an operand: its top bits masked away, or read from another's codes."""
    for operands in names:
        masks = {x: problem.codes[x].dtype.type((1 << (problem.execution.formats[x].bits - 1)) - 1) for x in operands}
        whose = " and ".join(operands)
        text = f"the signs of {whose} are lost: absolute values are multiplied"
        advice = (
            f"check the top bit of each element of {whose}: a mask one bit too narrow, ABS or |x| before the product"
        )
        yield Candidate(text, advice, changed(problem, **{x: problem.codes[x] & masks[x] for x in operands}))


def _through(problem: Problem, operands: str) -> Iterator[Candidate]:
    """The operand's numbers were rounded to a narrower format before."""
    whose, verb = " and ".join(operands), "were" if len(operands) > 1 else "was"
    for name in NARROWER:
        narrow, made = FORMATS[name], {}
        for x in operands:
            own = problem.execution.formats[x]
            if own.is_float and narrow.mantissa < own.mantissa:
                with np.errstate(all="ignore"):
                    made[x] = encode(round_to_format(problem.values[x], narrow), own)
        if len(made) == len(operands):
            text = f"{whose} {verb} rounded to {SPOKEN.get(name, name)} before"
            yield Candidate(text, f"keep {whose} in {own.name} from the start", changed(problem, **made))


def _misread(problem: Problem, operands: str, other: Format) -> Iterator[Candidate]:
    """The operand's numbers were encoded in another format than the instruction reads, or the other way round.

    Codes of FNUZ mean half of what they mean in OCP (OCP OFP8 specification; CDNA3 ISA guide, 'FP8 and BF8').
    """
    execution = problem.execution
    if any(execution.formats[x].bits != other.bits for x in operands):
        return
    own, whose = execution.formats[operands[0]], " and ".join(operands)
    spoken, named = SPOKEN.get(own.name, own.name), SPOKEN.get(other.name, other.name)
    holds = "holds" if len(operands) == 1 else "hold"
    made, read = {}, {}
    for x in operands:
        made[x] = encode(problem.values[x], other)
        read[x] = encode(decode(problem.codes[x], other).astype(np.float64), execution.formats[x])
    half = ""
    if "fnuz" in (own.specials, other.specials) and own.exponent == other.exponent:
        half = ": half the value" if own.specials == "fnuz" else ": twice the value"
    advice = f"convert {whose} to {spoken}, which {problem.inst.name} reads"
    yield Candidate(
        f"{whose} {holds} {named} codes, which were read as {spoken}{half}", advice, changed(problem, **made)
    )
    advice = f"run an instruction (on a GPU) that reads {spoken}"
    text = f"the {spoken} codes of {whose} were read as {named}"
    yield Candidate(text, advice, changed(problem, **read))


def _cut(problem: Problem, name: str) -> Array:
    """The codes of an input cut toward zero, one below those that were rounded away from zero."""
    values, form = np.asarray(problem.given[name], np.float64), problem.execution.formats[name]
    codes = encode(values, form)
    if codes.size != problem.codes[name].size:
        return problem.codes[name]  # a dense A that was compressed
    away = np.abs(decode(codes, form)) > np.abs(values)
    below: Array = codes - away.astype(codes.dtype)
    return below.reshape(problem.codes[name].shape)


def _flushed(problem: Problem, name: str) -> Array:
    codes, form = problem.codes[name], problem.execution.formats[name]
    return np.where(np.abs(problem.values[name]) < 2.0 ** (1 - form.bias), codes.dtype.type(0), codes)
