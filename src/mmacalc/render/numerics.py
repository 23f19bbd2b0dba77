"""How instructions round, as text, Markdown and JSON."""

from __future__ import annotations

from ..arithmetic.numerics import ALIASES, MMA_SIM_NAMES
from . import tables
from .instruction_numerics import numerics_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..answers.numerics import Arithmetic

__all__ = ["json_object", "text"]

COLUMNS = (
    "A, B", "D", "instructions", "model", "group", "fraction bits", "rounding", "subnormals", "NaN", "provenance",
    "source",
)  # fmt: skip


def text(rows: Sequence[Arithmetic], markdown: bool = False) -> str:
    """A table for each set of architectures that compute alike, and the sources; or a page of Markdown."""
    if markdown:
        return _page(rows)
    return _tables(rows, "{}:\n", "grid") + "Sources:\n" + "".join(f"  {line}\n" for line in _sources(rows))


def _page(rows: Sequence[Arithmetic]) -> str:
    """The same as a page of Markdown with an introduction."""
    names = [
        (model, MMA_SIM_NAMES.get(model, ""), letter) for letter, model in ALIASES.items()
    ] + [("dot2_ones_complement", "", ""), ("dot4_floored", "", "")]  # fmt: skip
    return (
        INTRODUCTION
        + tables.write(("model", "in MMA-Sim 2", "in mmacalc 0.1"), sorted(names), "markdown")
        + _tables(rows, "\n## {}\n\n", "markdown")
        + "\n## Sources\n\n"
        + "".join(f"{line}\n\n" for line in _sources(rows)).rstrip("\n")
        + "\n"
    )


INTRODUCTION = """# How matrix units round

Written by `mmacalc numerics --markdown`, from the tables with which the emulator computes
(src/mmacalc/arithmetic/tables.py); a test compares the two. `mmacalc numerics -a gfx942` prints one architecture,
`mmacalc numerics -a gfx942 -i v_mfma_f32_16x16x16_f16` one instruction in words, with an input on which its rounding
shows.

* *group*: the products that one step adds; the result of a step is the accumulator of the next. K: all of them;
  K/2: half.
* *fraction bits*: how far below the largest exponent a term keeps its bits, and the least exponent that counts. On
  CDNA3 then the bits of the floored sum of products and of the floored total; on RDNA the bits below the leading bit.
* *provenance*: hardware-verified: compared bit for bit with outputs measured on that generation. Two sources agree: two
  published models. One source: one of them, or only a vendor's document. Assumed: how it rounds is unpublished.

"""


def json_object(rows: Sequence[Arithmetic]) -> dict[str, Any]:
    """The rows as plain data."""
    return {
        "rows": [
            {
                "architectures": list(row.architectures),
                "inputs": list(row.inputs),
                "outputs": list(row.outputs),
                "kinds": list(row.kinds),
                "shapes": [list(shape) for shape in row.shapes],
                "roundings": list(row.roundings),
                "instructions": row.instructions,
                "numerics": numerics_object(row.numerics),
            }
            for row in rows
        ]
    }


def _tables(rows: Sequence[Arithmetic], heading: str, style: str) -> str:
    numbers = {source: str(number) for number, source in enumerate(_distinct(rows), 1)}
    groups = dict.fromkeys(row.architectures for row in rows)
    return "".join(
        heading.format(", ".join(group))
        + tables.write(COLUMNS, [_cells(row, numbers) for row in rows if row.architectures == group], style)
        for group in groups
    )


def _cells(row: Arithmetic, numbers: dict[str, str]) -> tuple[str, ...]:
    numerics = row.numerics
    kinds = ", ".join(row.kinds) + (" {}x{}x{}".format(*row.shapes[0]) if len(row.shapes) == 1 else "")
    step = "" if numerics.model == "integer" else numerics.step
    return (
        ", ".join(row.inputs), ", ".join(row.outputs), kinds, numerics.model, step, _fraction(row),
        ", ".join(row.roundings), numerics.subnormals, numerics.nan, numerics.provenance,
        f"[{numbers[numerics.source]}]",
    )  # fmt: skip


def _fraction(row: Arithmetic) -> str:
    """The bits that terms keep: the adder's, those of later stages, and the least exponent."""
    parameters = row.numerics.parameters
    bits = [
        str(parameters[name]) for name in ("fraction", "dot_fraction", "sum_fraction", "reach") if name in parameters
    ]
    least = f"; from 2^{parameters['lowest']}" if "lowest" in parameters else ""
    return ", ".join(bits) + least


def _distinct(rows: Sequence[Arithmetic]) -> dict[str, None]:
    return dict.fromkeys(row.numerics.source for row in rows)


def _sources(rows: Sequence[Arithmetic]) -> list[str]:
    return [f"[{number}] {source}" for number, source in enumerate(_distinct(rows), 1)]
