"""The elements that a register of a lane holds (-m), as text and as JSON."""

from __future__ import annotations

from . import amd_tool_quirks
from .spelling import element_text, heading, run_text, signed, vendor_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ..answers.lookup import HeldElement, RegisterContents
    from ..model import Element, Operand

__all__ = ["held_texts", "json_object", "notes", "text"]


def text(answer: RegisterContents) -> str:
    """A line for each element that AMD's tool lists."""
    operand = answer.operand
    places, lines = vendor_text(operand), []
    for held, name in held_texts(operand, amd_tool_quirks.listed(answer)):
        line = f"{places.held_place(operand, answer.register, answer.lane, held.element)} = {name}"
        if held.calculation is not None:
            from . import output_sum

            line += f" = {output_sum.text(held.calculation, output_sum.element_of)}"
        lines.append(line + "\n")
    return heading(operand.instruction, operand) + ("".join(lines) or _unused(operand, answer.lane))


def held_texts(operand: Operand, elements: Iterable[HeldElement]) -> list[tuple[HeldElement, str]]:
    """Each element that a register holds, with its text; a scale is named once, with the run of k that it scales.

    >>> import mmacalc
    >>> from mmacalc.answers.lookup import matrix_entry
    >>> scale = mmacalc.instruction("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4").operand("SA")
    >>> [text for _, text in held_texts(scale, matrix_entry(scale, register=0, lane=19).elements)]
    ['SA[3][32..63]']
    """
    if operand.name not in ("SA", "SB"):
        return [(held, signed(_name(operand, held.element), _sign(operand, held))) for held in elements]
    runs: dict[int, list[HeldElement]] = {}
    for held in elements:
        runs.setdefault(held.element.lsb, []).append(held)
    return [(run[0], _run(operand, run[0].element, run[-1].element)) for run in runs.values()]


def _name(operand: Operand, element: Element) -> str:
    return element_text(operand, element.row, element.col, element.block)


def _sign(operand: Operand, held: HeldElement) -> str:
    return amd_tool_quirks.sign(operand, held.element.lsb) if amd_tool_quirks.has_own_signs(operand) else held.sign


def _run(operand: Operand, first: Element, last: Element) -> str:
    return run_text(operand, range(first.row, last.row + 1), range(first.col, last.col + 1))


def _unused(operand: Operand, lane: int) -> str:
    """The sentence for a lane, or a part of its register, that holds nothing."""
    if operand.fields.get("cbsz"):
        return f"Due to instruction modifiers CBSZ and ABID, lane {lane} is not used for this instruction.\n"
    return f"Lane {lane} is not used for matrix {operand.name} of this instruction.\n"


def notes(answer: RegisterContents) -> tuple[str, ...]:
    """What a reader of the text should know besides."""
    operand = answer.operand
    shown = operand.name == "A" or any(held.calculation is not None for held in answer.elements)
    signs = amd_tool_quirks.sign_notes(operand) if shown else ()
    return (*signs, *amd_tool_quirks.left_out(answer))


def json_object(answer: RegisterContents) -> dict[str, Any]:
    """The same as plain data, with every element."""
    from . import json, output_sum

    operand, register, lane = answer.operand, answer.register, answer.lane
    return {
        **json.operand_object(operand),
        "register": register,
        "lane": lane,
        "elements": [
            json.held_object(operand, register, lane, held.element, held.sign)
            | output_sum.json_object(held.calculation)
            for held in answer.elements
        ],
    }
