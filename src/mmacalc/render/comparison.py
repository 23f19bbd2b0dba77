"""A kernel's D beside the emulator's, as text and as JSON."""

from __future__ import annotations

from math import isfinite
from textwrap import fill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..diagnosis.compare import Comparison, Explanation
    from ..model import Instruction

__all__ = ["comparison_object", "comparison_text", "plain"]

WIDTH = 100
SHOWN = 10  # differing elements listed in the text


def plain(value: Any) -> Any:
    """JSON-safe numbers: infinities and NaN as text."""
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, float) and not isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    return value


def comparison_object(comparison: Comparison) -> dict[str, Any]:
    """A comparison as plain data."""
    return {
        "elements": comparison.elements,
        "different": comparison.different,
        "max_ulps": comparison.max_ulps,
        "within_rounding": comparison.rounding,
        "differences": [
            {"element": list(d.element), "given": plain(d.given), "expected": plain(d.expected), "ulps": d.ulps}
            for d in comparison.differences
        ],
        "where": list(comparison.where),
        "explanations": [_explanation(e) for e in comparison.explanations],
        "nearest": comparison.nearest and _explanation(comparison.nearest),
    }


def _explanation(explanation: Explanation) -> Mapping[str, Any]:
    return dict(zip(explanation._fields, explanation))


def comparison_text(comparison: Comparison, inst: Instruction) -> str:
    """A comparison as a report: the verdict first, then the explanation, then the elements."""
    if not comparison.different and not comparison.explanations:
        return f"Comparison: all {comparison.elements} elements are equal to the bit.\n"
    largest = "NaN" if comparison.max_ulps is None else f"{comparison.max_ulps:,} ULP"
    lines = [
        f"Comparison: {comparison.different} of {comparison.elements} elements differ, by at most {largest}."
        if comparison.different
        else f"Comparison: the {comparison.elements} elements are right, but not their places."
    ]
    lines += [fill(sentence, WIDTH) for sentence in (*_verdict(comparison), *comparison.where)]
    return "\n".join(lines) + "\n" + _elements(comparison, inst)


def _verdict(comparison: Comparison) -> list[str]:
    explanations, nearest = comparison.explanations, comparison.nearest
    if comparison.rounding and comparison.different and not explanations:
        return ["All differences are as small as rounding makes them; no known order of additions gives these bits."]
    if not explanations:
        sentences = ["No single known mistake explains all of it."]
        if nearest:
            sentences.append(f"Nearest ({nearest.share:.0%} of the differing elements): {nearest.name}.")
        return sentences
    extent = "to the bit" if explanations[0].exact else "up to rounding"
    sentences = [f"Explained {extent}: {explanations[0].name}.", f"  Remedy: {explanations[0].advice}."]
    for other in explanations[1:4]:
        sentences.append(f"  This input cannot tell it from: {other.name}.")
    return sentences


def _elements(comparison: Comparison, inst: Instruction) -> str:
    rows = []
    for difference in comparison.differences[:SHOWN]:
        *lead, row, column = difference.element
        name = f"D[{row}][{column}]"
        if lead:
            name += f".B{lead[-1]}" if inst.blocks > 1 else f" of {lead[-1]}"
        distance = "" if difference.ulps is None else f"{difference.ulps:,}"
        rows.append((name, f"{difference.given:.9g}", f"{difference.expected:.9g}", distance))
    if not rows:
        return ""
    header = ("element", "given", "expected", "ULP")
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(4)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in (header, *rows)]
    if len(comparison.differences) > SHOWN:
        lines.append(f"  ... and {len(comparison.differences) - SHOWN} more; --json lists all")
    return "".join(f"  {line}\n" for line in lines)
