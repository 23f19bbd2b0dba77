"""What the emulator says, as text and as plain data for JSON: models, matrices, registers, comparisons."""

from __future__ import annotations

from math import isfinite
from textwrap import fill

from .tables import write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from ..arithmetic.numerics import Numerics
    from ..diagnosis.compare import Comparison, Explanation
    from ..emulator.arrays import Conversion
    from ..model import Instruction

WIDTH = 100
SHOWN = 10  # differing elements listed in the text


def plain(value: Any) -> Any:
    """Numbers as JSON can say them: infinities and NaN as text."""
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, float) and not isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    return value


def numerics_data(numerics: Numerics) -> dict[str, Any]:
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


def conversion_text(conversion: Conversion) -> str:
    """What rounding did to an input, in a line.

    >>> from mmacalc.emulator.arrays import Conversion
    >>> conversion_text(Conversion("A", "float64", "f16", 256, 37, 3, 0))
    'A: 37 of 256 values changed when they were rounded from float64 to f16; 3 became infinite'
    """
    operand, given, form, elements, changed, infinite, nan = conversion
    whose = "D to compare" if operand == "D" else operand
    if given in ("|V1", "|V2"):
        given = f"{given}, taken as {'bfloat16' if given == '|V2' else f'encodings of {form}'},"
    if not changed:
        return f"{whose}: its type is {given.rstrip(',')}"
    became = [f"{count} became {what}" for count, what in ((infinite, "infinite"), (nan, "NaN")) if count]
    text = f"{whose}: {changed} of {elements} values changed when they were rounded from {given} to {form}"
    return "; ".join([text, *became])


def matrix_text(name: str, matrix: NDArray[Any], bits: int = 0) -> str:
    """A matrix (..., rows, columns), each leading index under a heading. With `bits`, encodings in hexadecimal."""
    lead = matrix.shape[:-2]
    parts = []
    for number, part in enumerate(matrix.reshape(-1, *matrix.shape[-2:])):
        heading = name if not lead else f"{name}, {'block' if len(lead) == 1 else 'matrix'} {number}"
        cells = [[f"{value:0{bits // 4}x}" if bits else f"{value:.9g}" for value in row] for row in part.tolist()]
        width = max((len(cell) for row in cells for cell in row), default=1)
        lines = (" ".join(cell.rjust(width) for cell in row) for row in cells)
        parts.append(f"{heading}:\n" + "".join(f"  {line}\n" for line in lines))
    return "".join(parts)


def registers_text(name: str, file: NDArray[Any], letter: str = "v") -> str:
    """A register file (registers, lanes): a row for each lane, a column for each register, hexadecimal."""
    header = ["lane", *(f"{letter}{register}" for register in range(file.shape[0]))]
    rows = [[str(lane), *(f"{word:08x}" for word in column)] for lane, column in enumerate(file.T.tolist())]
    return f"{name}:\n{write(header, rows)}"


def comparison_data(comparison: Comparison) -> dict[str, Any]:
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
        "explanations": [_explanation_data(e) for e in comparison.explanations],
        "nearest": comparison.nearest and _explanation_data(comparison.nearest),
    }


def _explanation_data(explanation: Explanation) -> Mapping[str, Any]:
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
