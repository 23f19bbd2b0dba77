"""How one instruction rounds, as text and as JSON."""

from __future__ import annotations

from textwrap import fill

from .spelling import heading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..answers.numerics import InstructionNumerics
    from ..arithmetic.numerics import Numerics
    from ..diagnosis.witness import RoundingExample

__all__ = ["json_object", "numerics_lines", "numerics_object", "numerics_text", "text"]

WIDTH = 100
OWN = {"exact": "The model is the exact sum, so only the chain differs.", "fused": "The model is such a chain."}


def text(answer: InstructionNumerics) -> str:
    """The model, its provenance, and the input that shows it."""
    example = answer.example
    return heading(answer.instruction) + numerics_text(answer.numerics) + (_example(example) if example else "")


def json_object(answer: InstructionNumerics) -> dict[str, Any]:
    """The same as plain data."""
    from .json import instruction_object

    example = answer.example
    return {
        **instruction_object(answer.instruction),
        "modifiers": dict(answer.modifiers),
        "numerics": numerics_object(answer.numerics),
        "example": example and dict(zip(example._fields, example)),
    }


def numerics_object(numerics: Numerics) -> dict[str, Any]:
    """A model as plain data."""
    return {
        "model": numerics.model, "parameters": dict(numerics.parameters), "provenance": numerics.provenance,
        "source": numerics.source, "explanation": numerics.explanation, "rounding": numerics.rounding,
        "subnormals": numerics.subnormals, "nan": numerics.nan, "step": numerics.step,
    }  # fmt: skip


def numerics_lines(numerics: Numerics) -> tuple[str, str, str]:
    """A model as the lines of a detail page."""
    return ("Arithmetic:", f"    {numerics.explanation}", f"    Provenance: {numerics.provenance} ({numerics.source})")


def numerics_text(numerics: Numerics) -> str:
    """A model in a paragraph, how sure it is in a line below."""
    from ..arithmetic.numerics import MMA_SIM_NAMES

    given = [", ".join(f"{name} {value}" for name, value in numerics.parameters.items())]
    if known := MMA_SIM_NAMES.get(numerics.model):
        given.insert(0, f"MMA-Sim: {known}")
    text = "; ".join(part for part in given if part)
    head = f"Arithmetic: {numerics.model}{f' ({text})' if text else ''}. "
    return (
        fill(head + numerics.explanation, WIDTH, subsequent_indent="  ")
        + "\n"
        + fill(f"Provenance: {numerics.provenance} ({numerics.source}).", WIDTH, subsequent_indent="  ")
        + "\n"
    )


def _example(found: RoundingExample) -> str:
    """The dot product, its terms that are not zero, and the three sums."""
    terms = [f"a[{k}] = {_number(x)}, b[{k}] = {_number(y)}" for k, (x, y) in enumerate(zip(found.a, found.b)) if x * y]
    lines = ["Where it shows: c = " + _number(found.c) + ", " + "; ".join(terms) + ", all others 0"]
    for name, value in (
        ("this instruction", found.instruction), ("exact sum, rounded once", found.exact),
        ("chain of fused multiply-adds", found.fused),
    ):  # fmt: skip
        lines.append(f"  {name:28}  {float.hex(value):>24}  {value:.17g}")
    lines += [f"  {text}" for name, text in OWN.items() if getattr(found, name) == found.instruction]
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    """A number, as a power of two where it is a far one.

    >>> _number(-1.5), _number(2.0**-24), _number(-3 * 2.0**-25)
    ('-1.5', '2^-24', '-1.5*2^-24')
    """
    from math import frexp

    if value == 0 or 2.0**-6 <= abs(value) <= 4096:
        return f"{value:.17g}"
    fraction, exponent = frexp(abs(value))
    sign = "-" if value < 0 else ""
    return f"{sign}2^{exponent - 1}" if fraction == 0.5 else f"{sign}{2 * fraction:.17g}*2^{exponent - 1}"
