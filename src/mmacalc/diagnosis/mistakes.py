"""The mistakes that people make with matrix instructions, each as a function that makes it.

A mistake takes a `Case` (an instruction with its inputs) and yields candidates: what D becomes when the mistake is
execution, with a name and advice. They are tried in the order of MISTAKES, the likelier first; `diagnose` compares.
Adding one is writing one more function.
"""

from __future__ import annotations

from itertools import permutations, product

import numpy as np

from ..arithmetic.codecs import encode
from ..catalog import entry
from ..emulator.execution import execution_of
from ..emulator.rerun import Case
from ..errors import Error
from ..layout import Layout
from ..records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    from ..model import Operand

    Array = NDArray[Any]

__all__ = ["MISTAKES", "Candidate"]


class Candidate(TupleRecord):
    """What D becomes under one mistake: what was done, what to do about it, D's codes."""

    name: str
    advice: str
    codes: Array


# --- the whole tile ---------------------------------------------------------------------------------------------------


def transposed(case: Case) -> Iterator[Candidate]:
    """D stored column by column, or A and B exchanged."""
    d, c = case.expected, case.codes["C"]
    rows, columns = d.shape[-2:]
    if case.turned:
        advice = "compare with D[i][j] in row i, or store the result the other way round"
        yield Candidate(f"D is given as {columns} x {rows}, transposed; otherwise it is right", advice, d)
    if rows == columns:
        yield Candidate(
            "the tile is transposed: D[j][i] was stored as D[i][j]",
            "swap row and column where D is stored (the lanes of D run along j, not along i)", np.swapaxes(d, -1, -2),
        )  # fmt: skip
    elif not case.turned:
        flat = np.swapaxes(d, -1, -2).reshape(d.shape)
        yield Candidate("D was stored column by column and read row by row", "swap the strides of D", flat)
    if _exchangeable(case):
        a, b = (np.swapaxes(case.codes[name], -1, -2) for name in "AB")
        yield Candidate(
            "A and B are swapped: D is (B^T A^T) + C, so the product is transposed but C is not",
            "exchange the first two source operands", case.run(A=b, B=a),
        )  # fmt: skip
        swapped = case.run(A=b, B=a, C=np.swapaxes(np.broadcast_to(c, case.execution.shapes["C"]), -1, -2))
        yield Candidate("A and B are swapped and C is transposed", "exchange the first two source operands", swapped)
        if case.execution.inst.m == case.execution.inst.k:
            product = case.run(A=case.codes["B"], B=case.codes["A"])
            yield Candidate("A and B are swapped: D is B A + C", "exchange the matrices that are loaded", product)


def _exchangeable(case: Case) -> bool:
    execution = case.execution
    return execution.inst.m == execution.inst.n and not execution.sparsity and not execution.block_size and (
        execution.formats["A"] == execution.formats["B"]
    )  # fmt: skip


def misread_inputs(case: Case) -> Iterator[Candidate]:
    """A, B or C read in the wrong memory order."""
    for name in "ABC":
        array = case.codes[name]
        rows, columns = array.shape[-2:]
        if rows == columns:
            turned, how = np.swapaxes(array, -1, -2), "transposed"
        else:
            turned = np.swapaxes(array.reshape(*array.shape[:-2], columns, rows), -1, -2)
            how = "read column by column although it is stored row by row (or the other way round)"
        advice = f"exchange the strides with which {name} is loaded"
        yield Candidate(f"{name} is {how}", advice, case.run(**{name: turned}))


# --- the accumulator --------------------------------------------------------------------------------------------------


def wrong_accumulator(case: Case) -> Iterator[Candidate]:
    """C left out, added twice, negated; the product left out or negated."""
    c = case.codes["C"]
    format_ = case.execution.formats["C"]
    zero = np.zeros_like(c)
    yield Candidate(
        "C is not added", "initialise the accumulator with C before the first instruction", case.run(C=zero)
    )
    if format_ == case.execution.formats["D"]:
        yield Candidate("D is C: the product is missing", "check that the instruction ran for all lanes", c + zero)
        again = case.run(C=case.expected)
        yield Candidate("the product is added twice", "reset the accumulator, or run the loop once less", again)
    if format_.is_float:
        sign = c.dtype.type(1 << (format_.bits - 1))
        yield Candidate("C is subtracted instead of added", "check NEG[2], or the sign of C", case.run(C=c ^ sign))
        if case.execution.formats["A"].is_float and case.execution.formats["A"].specials != "fnuz":
            a = case.codes["A"]
            negative = a ^ a.dtype.type(1 << (case.execution.formats["A"].bits - 1))
            yield Candidate("the product is subtracted: D is C - A B", "check NEG of A and B", case.run(A=negative))


# --- k ----------------------------------------------------------------------------------------------------------------


def reordered_k(case: Case) -> Iterator[Candidate]:
    """The k of A and of B not in the same order, or part of it left out."""
    if case.execution.sparsity:
        return
    size = case.execution.inst.k
    k = np.arange(size)
    orders: dict[str, Array] = {"the halves of k are swapped": (k + size // 2) % size, "k runs backwards": size - 1 - k}
    for step in (1, 3, 7):
        if size % (step + 1) == 0:
            orders[f"every {step + 1} neighbours along k are in reverse order"] = k ^ step
    orders["k is interleaved: even k first, then odd k"] = np.concatenate([k[0::2], k[1::2]])
    orders["the halves of k are interleaved"] = k.reshape(2, -1).T.ravel() if size % 2 == 0 else k
    for text, order in orders.items():
        for name in "AB":
            moved = case.codes[name][..., order] if name == "A" else case.codes[name][..., order, :]
            yield Candidate(
                f"{text} in {name}", f"load {name} and {'BA'['AB'.index(name)]} with the same order of k",
                case.run(**{name: moved}),
            )  # fmt: skip
    for text, kept in (("first", k < size // 2), ("second", k >= size // 2)):
        if size > 1:
            part = np.where(kept, case.codes["A"], case.codes["A"].dtype.type(0))
            yield Candidate(f"only the {text} half of k is added", "check the loop over k", case.run(A=part))


# --- blocks and the other fields of the instruction -----------------------------------------------------------------


def wrong_block(case: Case) -> Iterator[Candidate]:
    """Blocks exchanged, shifted, or all fed from one."""
    blocks = case.execution.inst.blocks
    if blocks == 1:
        return
    index = np.arange(blocks)
    orders = {"are in reverse order": index[::-1]}
    orders |= {f"are shifted by {step}": (index + step) % blocks for step in range(1, blocks)}
    orders |= {f"all are block {block}": np.full(blocks, block) for block in range(blocks)}
    for text, order in orders.items():
        for name in "ABC":
            moved = np.take(case.codes[name], order, axis=-3)
            advice = f"check which lanes and registers hold the blocks of {name}"
            yield Candidate(f"the blocks of {name} {text}", advice, case.run(**{name: moved}))
        moved = np.take(case.expected, order, axis=-3)
        yield Candidate(f"the blocks of D {text}", "check which registers hold the blocks of D", moved)


def other_modifiers(case: Case) -> Iterator[Candidate]:
    """The same instruction with CBSZ, ABID, BLGP, NEG ... of other values."""
    execution = case.execution
    limits = execution.inst.modifier_limits(execution.wave)
    chosen = [{**execution.fields, name: value} for name, values in limits.items() for value in values]
    chosen += [
        {**execution.fields, "cbsz": cbsz, "abid": abid}
        for cbsz in limits.get("cbsz", ())
        for abid in range(1 << cbsz)
        if not execution.sparsity
    ]
    for fields in chosen:
        try:
            other = execution_of(
                execution.inst,
                execution.wave,
                fields,
                execution.saturate and not execution.inst.architecture.family.ptx,
                False,
            )
        except Error:
            continue  # an ABID that this CBSZ does not have
        if other.formats != execution.formats:
            continue
        text = ", ".join(f"{name.upper()} = {value}" for name, value in fields.items() if value) or "no modifier"
        advice = f"set the modifiers of {execution.inst.name} as intended"
        yield Candidate(f"the instruction ran with {text}", advice, case.run_as(other))


def other_instruction(case: Case) -> Iterator[Candidate]:
    """Another instruction of the same shape and width: bf16 for f16, bf8 for fp8, signed for unsigned."""
    execution = case.execution
    shape = (execution.inst.m, execution.inst.n, execution.inst.k, execution.inst.blocks, execution.inst.sparse)
    for other in entry(execution.inst.arch).instructions():
        if (other.m, other.n, other.k, other.blocks, other.sparse) != shape or other.name == execution.inst.name:
            continue
        if "A" not in other.operands or other.operands != execution.inst.operands or other.kind:
            continue
        again = execution_of(other, execution.wave, {}, False, False)
        same_widths = all(again.formats[name].bits == execution.formats[name].bits for name in "ABCD")
        if same_widths and again.shapes == execution.shapes:  # scale16 has twice the scales
            yield Candidate(f"{other.name} ran instead", f"issue {execution.inst.name}", case.run_as(again))


# --- registers: a layout that is nearly right -----------------------------------------------------------------


def wrong_layout(case: Case) -> Iterator[Candidate]:
    """An operand filled or read by a layout whose digits are in another order, or by none at all."""
    for name in "DAB":
        if (name == "A" and case.execution.sparsity) or not case.execution.in_registers(name):
            continue
        operand = case.execution.operand(name, natural=True)
        right = _keys(operand.layout)
        if right.size != len(np.unique(right)):
            continue
        for text, keys in _wrong_keys(operand):
            permuted = np.array_equal(np.sort(keys, axis=None), np.sort(right, axis=None))
            if permuted and not np.array_equal(keys, right):
                verb = "read" if name == "D" else "filled"
                advice = _example(operand, right, keys)
                yield Candidate(f"{name} is {verb} {text}", advice, _misplaced(case, name, right, keys))


def _example(operand: Operand, right: NDArray[np.int64], wrong: NDArray[np.int64]) -> str:
    """The right layout, and one element that the wrong one puts elsewhere."""
    sizes = " ".join(f"{digit}={size}" for digit, size in operand.sizes.items())
    *block, row, column = (int(x) for x in np.argwhere(right != wrong)[0])
    element = f"{operand.name}[{row}][{column}]" + (f" of block {block[0]}" if any(block) else "")
    index = (*block, row, column)
    items = operand.layout.spans["item"]
    places = [f"lane {int(keys[index]) // items}, item {int(keys[index]) % items}" for keys in (right, wrong)]
    verb = "taken from" if operand.name == "D" else "put in"
    return f"the layout is {operand.pattern} with {sizes}: {element} is in {places[0]}, but was {verb} {places[1]}"


def _keys(layout: Layout) -> NDArray[np.int64]:
    """One number for the place of every element (of its first copy)."""
    total: NDArray[np.int64] = np.zeros((), np.int64)
    spans = list(layout.spans.values())
    for tables in layout.axis_tables().values():
        step = np.zeros(len(next(iter(tables.values()))), np.int64)
        for table, span in zip(tables.values(), spans):
            step = step * span + np.asarray(table)
        total = np.add.outer(total, step)
    return total


def _wrong_keys(operand: Operand) -> Iterator[tuple[str, NDArray[np.int64]]]:
    layout = operand.layout
    shape = layout.extents
    lanes, items = layout.spans["lane"] * layout.spans.get("warp", 1), layout.spans["item"]
    if int(np.prod(shape)) == lanes * items:
        # Consecutive elements of the matrix in consecutive registers of a lane, or in consecutive lanes.
        number = np.arange(lanes * items)
        by_lane = (number % lanes) * items + number // lanes
        turned = np.swapaxes(np.arange(number.size).reshape(*shape[:-2], shape[-1], shape[-2]), -1, -2)
        for order, index in (("row by row", number.reshape(shape)), ("column by column", turned)):
            yield f"lane by lane, the matrix {order}: rows and lanes are exchanged", number[index]
            yield f"register by register, the matrix {order}: registers and lanes are exchanged", by_lane[index]
    for text in _texts(layout):
        wrong = Layout(text, layout.axes, layout.sizes)
        if wrong.spans == layout.spans:
            yield f"as {wrong.pattern}", _keys(wrong)


def _texts(layout: Layout) -> Iterator[str]:
    """The layout's text with the digits of one group in another order, or a digit of lane and one of item exchanged."""
    left = [list(group) for group in layout.coordinates]
    right = {place: list(digits) for place, digits in layout.places.items()}

    def written() -> str:
        groups = " ".join(f"({' '.join(group)})" for group in left)
        places = ", ".join(f"{place} ({' '.join(digits)})" for place, digits in right.items())
        return f"{groups} -> {places}"

    for group in (*left, *right.values()):
        real = [i for i, digit in enumerate(group) if digit[0] != "*" and layout.sizes[digit] > 1]
        original = list(group)
        for order in permutations(real):
            if order != tuple(real) and len(real) <= 4:
                for place, source in zip(real, order):
                    group[place] = original[source]
                yield written()
        group[:] = original
    for (i, x), (j, y) in product(enumerate(right["lane"]), enumerate(right["item"])):
        if x[0] != "*" != y[0] and layout.sizes[x] == layout.sizes[y] > 1:
            right["lane"][i], right["item"][j] = y, x
            yield written()
            right["lane"][i], right["item"][j] = x, y


def _misplaced(case: Case, name: str, right: NDArray[np.int64], wrong: NDArray[np.int64]) -> Array:
    """D when one operand lies in registers as `wrong` says and is taken as `right` says (of D: the other way round)."""
    held, taken = (right, wrong) if name == "D" else (wrong, right)
    order = np.argsort(held, axis=None)
    source = order[np.searchsorted(held.ravel()[order], taken)]
    array = case.expected if name == "D" else case.codes[name]
    shape = case.execution.shapes[name]
    source = source.reshape(shape)
    moved = array.reshape(*array.shape[: array.ndim - len(shape)], -1)[..., source]
    return moved if name == "D" else case.run(**{name: moved})


# --- sparsity and scales ------------------------------------------------------------------------------------------


def wrong_index(case: Case) -> Iterator[Candidate]:
    """The compression indices wrong, or the scales."""
    if case.execution.sparsity:
        index, entries = case.codes["K"], case.execution.sparsity.entries
        advice = "each group's two positions are in the order of the stored values, the first in the low bits"
        if entries == 2:
            swapped = index.reshape(*index.shape[:-1], -1, 2)[..., ::-1].reshape(index.shape)
            yield Candidate("the two positions of each group are swapped", advice, case.run(K=swapped))
            first = np.broadcast_to(np.array([0, 1], index.dtype), (*index.shape[:-1], index.shape[-1] // 2, 2))
            taken = case.run(K=first.reshape(index.shape))
            yield Candidate("the index is not read: positions 0 and 1 are taken", advice, taken)
        groups = index.shape[-1] // entries
        half = np.roll(index.reshape(*index.shape[:-1], groups, entries), groups // 2, axis=-2).reshape(index.shape)
        advice = "check which set of indices the instruction reads (ABID, OPSEL or the sparsity selector)"
        yield Candidate("the halves of the index are swapped", advice, case.run(K=half))
    if case.execution.block_size:
        ones = {
            x: np.broadcast_to(encode(np.array(1.0), case.execution.formats[x]), case.codes[x].shape)
            for x in ("SA", "SB")
        }
        yield Candidate("the scales are not applied", "turn scaling on (ABID[0] = 1 on CDNA4)", case.run(**ones))
        for x in ("SA", "SB"):
            yield Candidate(
                f"scale_{x[1].lower()} is not applied", "check its register and byte", case.run(**{x: ones[x]})
            )
            axis = -1 if x == "SA" else -2
            for step in range(1, case.codes[x].shape[axis]):
                moved = np.roll(case.codes[x], step, axis=axis)
                text = f"scale_{x[1].lower()} is shifted by {step} blocks of k"
                yield Candidate(text, "check which lane holds which block's scale", case.run(**{x: moved}))
        if (
            case.execution.inst.m == case.execution.inst.n
            and case.execution.formats["SA"] == case.execution.formats["SB"]
        ):
            sa, sb = (np.swapaxes(case.codes[x], -1, -2) for x in ("SA", "SB"))
            yield Candidate("the scales of A and B are swapped", "exchange the scale operands", case.run(SA=sb, SB=sa))


MISTAKES = (
    transposed, wrong_accumulator, misread_inputs, other_modifiers, wrong_block, reordered_k, wrong_layout, wrong_index,
    other_instruction,
)  # fmt: skip
"""Every known mistake, the likelier first."""
