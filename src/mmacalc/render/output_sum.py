"""What an element of D is the sum of (-o), as AMD's tool writes it, and as JSON."""

from __future__ import annotations

from ..answers.output_terms import NotInRegisters
from . import amd_tool_quirks
from .amd_text import SOURCE_FIELDS
from .spelling import element_text, place_text, run_text, signed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..answers.output_terms import Calculation, Term

    Writer = Callable[[Term], str]

__all__ = ["element_of", "json_object", "place_of", "text"]


def text(calculation: Calculation, write: Writer) -> str:
    """The sum, each term written by `place_of` or by `element_of`."""
    products, addend, scales = calculation
    factors = [f"{signed(write(a), _sign(a))}*{signed(write(b), _sign(b))}" for a, b in products]
    blocks = [
        f"{_scale(a, k, write)}*{_scale(b, k, write)}*({' + '.join(factors[k.start : k.stop])})" for k, a, b in scales
    ]
    total = " + ".join(blocks or factors)
    if addend is None:
        return total
    signs = _sign(addend)
    minus = "-" if "-" in signs else "+"
    return f"{total} {minus} {signed(write(addend), signs.replace('-', ''))}"


def _sign(term: Term) -> str:
    if isinstance(term.operand, NotInRegisters) or not amd_tool_quirks.has_own_signs(term.operand):
        return term.sign
    return amd_tool_quirks.sign(term.operand, term.location.lsb)


def _scale(term: Term, block: range, write: Writer) -> str:
    """A scale's place, or its name with all the k that it scales."""
    if write is place_of:
        return write(term)
    row, col, _ = term.element
    rows, columns = (range(row, row + 1), block) if term.operand.name == "SA" else (block, range(col, col + 1))
    return run_text(term.operand, rows, columns)


def place_of(term: Term) -> str:
    """A term by the place where it is read."""
    if isinstance(term.operand, NotInRegisters):
        return element_of(term)
    place = place_text(term.operand, term.location, f"{SOURCE_FIELDS[term.operand.name]}_v")
    return f"({place})" if " " in place else place


def element_of(term: Term) -> str:
    """A term by its name."""
    row, col, block = term.element
    return element_text(term.operand, row, col, block)


def json_object(calculation: Calculation | None) -> dict[str, Any]:
    """The same as plain data; nothing where it was not asked for."""
    if calculation is None:
        return {}
    products, addend, scales = calculation
    return {
        "products": [{"a": _term(a), "b": _term(b)} for a, b in products],
        "addend": None if addend is None else _term(addend),
        "scales": [
            {"first_k": k.start, "last_k": k.stop - 1, "a": _term(a), "b": _term(b)} for k, a, b in scales
        ],
    }  # fmt: skip


def _term(term: Term) -> dict[str, Any]:
    from .json import place_object, sign_object

    operand, prefix = term.operand, f"{SOURCE_FIELDS[term.operand.name]}_v"
    place = None if isinstance(operand, NotInRegisters) else place_object(operand, term.location, prefix)
    return {"element": element_of(term), **sign_object(term.sign), "location": place}
