"""A kernel's D beside the emulator's, as text."""

from __future__ import annotations

from textwrap import fill

from ..errors import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..diagnosis.compare import Diagnosis
    from ..diagnosis.search import Explanation
    from ..model import Instruction

__all__ = ["text"]

WIDTH = 100
SHOWN = 10  # differing elements, and tiles, listed in the text
ALTERNATIVES = 3  # further explanations listed in the text


def text(diagnosis: Diagnosis, inst: Instruction) -> str:
    """A diagnosis as a report: the verdict first, then the explanation, then the elements."""
    if not diagnosis.different and not diagnosis.explanations:
        return f"Comparison: all {counted(diagnosis.elements, 'element')} are equal to the bit.\n"
    largest = ", NaN among them" if diagnosis.max_ulps is None else f", by at most {diagnosis.max_ulps:,} ULP"
    lines = [
        f"Comparison: {diagnosis.different} of {diagnosis.elements} elements differ{largest}."
        if diagnosis.different
        else f"Comparison: the {diagnosis.elements} elements are right but misplaced."
    ]
    lines += [fill(sentence, WIDTH) for sentence in (*_verdict(diagnosis), *diagnosis.where)]
    return "\n".join(lines) + "\n" + _elements(diagnosis, inst)


def _verdict(diagnosis: Diagnosis) -> list[str]:
    explanations, nearest = diagnosis.explanations, diagnosis.nearest
    if diagnosis.rounding and diagnosis.different and not explanations:
        if not diagnosis.arithmetic:
            return [
                "Right up to rounding: all differences are that small; no known order of additions gives these bits."
            ]
        return [
            f"Right up to rounding. To the bit: {diagnosis.arithmetic[0].name}.",
            f"  {diagnosis.arithmetic[0].advice[:1].upper()}{diagnosis.arithmetic[0].advice[1:].rstrip('.')}.",
            *(f"  This input cannot tell it from: {other.name}." for other in diagnosis.arithmetic[1:4]),
        ]
    if not explanations:
        sentences = ["No single known mistake explains every difference."]
        if nearest:
            sentences.append(f"Nearest ({nearest.share:.0%} of the wrong elements): {nearest.name}.")
        return sentences
    sentences = []
    for number, one in enumerate(explanations[: ALTERNATIVES + 1]):
        extent = "to the bit" if one.exact else "up to rounding"
        if number == 0 or one.tiles != explanations[number - 1].tiles:
            found = f"Explained {extent}" if one.reproduced else "Located, but not explained"
            sentences.append(f"{found}{_in_tiles(one)}: {one.name}.")
            sentences.append(f"  {'Remedy' if one.reproduced else 'Look for'}: {one.advice}.")
        else:
            sentences.append(f"  This input cannot tell it from: {one.name}.")
    return sentences


def _in_tiles(explanation: Explanation) -> str:
    """Which tiles of a GEMM an explanation concerns."""
    if not explanation.tiles:
        return ""
    shown = " ".join(f"({row}, {column})" for row, column in explanation.tiles[:SHOWN])
    more = len(explanation.tiles) - SHOWN
    return f", in {'tile' if len(explanation.tiles) == 1 else 'tiles'} {shown}{f' and {more} more' if more > 0 else ''}"


def _elements(diagnosis: Diagnosis, inst: Instruction) -> str:
    rows = []
    for difference in diagnosis.differences[:SHOWN]:
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
    if len(diagnosis.differences) > SHOWN:
        lines.append(f"  ... and {len(diagnosis.differences) - SHOWN} more; --json lists all")
    return "".join(f"  {line}\n" for line in lines)
