"""An arithmetic model in words: a paragraph, or the lines of a page."""

from __future__ import annotations

from textwrap import fill

from ..arithmetic.numerics import MMA_SIM_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..arithmetic.numerics import Numerics

__all__ = ["numerics_lines", "numerics_text"]

WIDTH = 100


def numerics_lines(numerics: Numerics) -> tuple[str, str, str]:
    """A model as the lines of a detail page."""
    return ("Arithmetic:", f"    {numerics.explanation}", f"    Provenance: {numerics.provenance} ({numerics.source})")


def numerics_text(numerics: Numerics) -> str:
    """A model in a paragraph, how sure it is in a line below."""
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
