"""tcgen05.mma as data for the page: where its operands are for every shape and type of its instruction descriptor.

What the descriptor and the address say are fields like others: m, n, the types (by their numbers), half, selector and
the bytes at which scales begin. The first of a field's values is shown first. See `mmacalc.page.data`.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from ..base.errors import Error
from ..catalog import entry
from ..families.tensor_memory import LANES, allowed_shapes, types_of
from ..model.tensor_memory import TensorMemoryInstruction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..model import Architecture, Operand

    Values = tuple[tuple[int, ...], tuple[str, ...]]

__all__ = ["REFUSED", "choice", "fields", "instructions", "tensor_memory_data"]

FIRST_N = 64
# The views that have no answer.
REFUSED = {
    "chain": "D of tcgen05 is in Tensor Memory, from where tcgen05.ld brings it to registers",
    "memory": "tcgen05 reads its operands from shared and Tensor Memory by descriptors",
    "waits": "wait states are counted only on AMD's architectures",
    "generate": "no kernel is generated around tcgen05",
}
# The fields that decide where an operand is.
CONCERNED: dict[str, tuple[str, ...]] = {
    "A": ("m", "a", "half"), "C": ("m", "n", "d", "half"), "D": ("m", "n", "d", "half"), "K": ("m", "a", "selector"),
    "SA": ("m", "scale_id_a"), "SB": ("m", "n", "scale_id_b"),
}  # fmt: skip
TYPES = ("a", "d")


def instructions(record: Architecture) -> Iterator[TensorMemoryInstruction]:
    """The tcgen05.mma of an architecture whose types are public."""
    known = entry(record.name)
    for name in known.tensor_memory_names:
        inst = known.instruction(name)
        if isinstance(inst, TensorMemoryInstruction) and inst.formats:
            yield inst


def tensor_memory_data() -> list[Any]:
    """What the page needs besides: the lanes of a CTA, how columns are written, the views without an answer.

    >>> tensor_memory_data()[:2]
    [128, ['column', 'column {0}', 'column {0}', False, 'PTX has no public machine code', '']]
    """
    words = ["column", "column {0}", "column {0}", False, "PTX has no public machine code", ""]
    return [LANES, words, REFUSED]


def fields(inst: TensorMemoryInstruction) -> dict[str, Values]:
    """The fields of an instruction: their values, and the names of those that are types."""
    known = _known(inst)
    used = {field for operand in inst.drawn_operands for field in _moving(inst, operand, known)}
    return {field: values for field, values in known.items() if field in used}


def _known(inst: TensorMemoryInstruction) -> dict[str, Values]:
    rows, columns = allowed_shapes(inst.form)
    inputs, outputs = types_of(inst.kind)
    scales = ((0, 1, 2, 3), ())
    return {
        "m": (rows[::-1], ()), "n": ((FIRST_N, *(size for size in columns if size != FIRST_N)), ()),
        "a": (tuple(range(len(inputs))), inputs), "d": (tuple(range(len(outputs))), outputs), "half": ((0, 1), ()),
        "selector": ((0, 1), ()), "scale_id_a": scales, "scale_id_b": scales,
    }  # fmt: skip


def _moving(inst: TensorMemoryInstruction, operand: str, known: dict[str, Values]) -> tuple[str, ...]:
    """The fields of an operand that have several values, and more than one of them for some shape."""
    return tuple(
        field for field in CONCERNED[operand]
        if len(known[field][0]) > 1 and (field in (*TYPES, "m", "n") or _tried(inst, operand, {field: 1}))
    )  # fmt: skip


def _tried(inst: TensorMemoryInstruction, operand: str, given: dict[str, int]) -> bool:
    """Whether an operand takes a field for some M."""
    return any(placed(inst, operand, {"m": m, **given}) is not None for m in allowed_shapes(inst.form)[0])


def placed(inst: TensorMemoryInstruction, operand: str, values: dict[str, int]) -> tuple[Operand, str] | None:
    """An operand and its format for values of the fields; None if they do not go together or the place is unknown."""
    parameters: dict[str, Any] = {"m": allowed_shapes(inst.form)[0][-1], "n": FIRST_N, **values}
    for name, words in zip(TYPES, types_of(inst.kind)):
        if name in parameters:
            parameters[name] = words[parameters[name]]
    try:
        found = inst.operand(operand, **parameters)
        return found, found.format.name
    except Error:
        return None


def choice(inst: TensorMemoryInstruction, operand: str, number: Callable[[Operand, str], int]) -> tuple[Any, bool]:
    """The choice of an operand's placement by its fields, -1 where it has none, and whether any of them is in doubt.

    Args:
        number: of a placement and the format of what is there.
    """
    known = _known(inst)
    names = _moving(inst, operand, known)
    found, doubt = [], False
    for combination in product(*(known[name][0] for name in names)):
        one = placed(inst, operand, dict(zip(names, combination)))
        found.append(-1 if one is None else number(*one))
        doubt = doubt or (one is not None and one[0].provenance == "unconfirmed")
    return [list(names), [list(known[name][0]) for name in names], found] if names else found[0], doubt
