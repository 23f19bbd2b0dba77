"""The mistakes that people make with matrix instructions, each as a function that makes it.

A mistake takes a `Problem` (an instruction with its inputs) and yields candidates: what D becomes when the mistake is
made, with a name and advice, the likelier first. `LIBRARY` lists them with their cost in bits; `search` tries them.
Adding one is writing one more function and its row.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..catalog import entry
from ..emulator.execution import execution_of
from ..errors import Error
from .afterwards import before_c, codes_of, stored_otherwise
from .candidates import Candidate, Moved, Rerun, Stored, changed, moved
from .conversions import other_conversion
from .layouts import no_layout, other_layout, wrong_layout
from .moves import Move, memory_moves, orders, register_moves
from .problem import Problem, whole
from .scales import biased_scales, wrong_index, wrong_scales

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = ["LAST", "LIBRARY", "MISTAKES", "NEARLY_RIGHT", "chained_otherwise"]


# --- the whole tile ---------------------------------------------------------------------------------------------------


def transposed(problem: Problem) -> Iterator[Candidate]:
    """D stored column by column, or A and B exchanged."""
    rows, columns = problem.shapes["D"][-2:]
    flat = np.arange(np.prod(problem.shapes["D"])).reshape(problem.shapes["D"])
    if rows == columns:
        yield Candidate(
            "the tile is transposed: D[j][i] was stored as D[i][j]",
            "swap row and column where D is stored (the lanes of D run along j, not along i)",
            Moved(problem, np.swapaxes(flat, -1, -2)),
        )
    else:
        source = np.swapaxes(flat, -1, -2).reshape(flat.shape)
        text = "D was stored column by column and read row by row"
        yield Candidate(text, "swap the strides of D", Moved(problem, source))
    if _exchangeable(problem):
        a, b = (np.swapaxes(problem.codes[name], -1, -2) for name in "AB")
        advice = "exchange the first two source operands"
        yield Candidate(
            "A and B are swapped: D is (B^T A^T) + C, so the product is transposed but C is not", advice,
            changed(problem, A=b, B=a),
        )  # fmt: skip
        c = np.swapaxes(problem.codes["C"], -1, -2)
        yield Candidate("A and B are swapped and C is transposed", advice, changed(problem, A=b, B=a, C=c))
        if problem.shapes["A"] == problem.shapes["B"]:
            product = changed(problem, A=problem.codes["B"], B=problem.codes["A"])
            yield Candidate("A and B are swapped: D is B A + C", "exchange the matrices that are loaded", product)


def _exchangeable(problem: Problem) -> bool:
    execution, shapes = problem.execution, problem.shapes
    return shapes["D"][-1] == shapes["D"][-2] and not execution.sparsity and not execution.block_size and (
        execution.formats["A"] == execution.formats["B"]
    )  # fmt: skip


# --- the accumulator --------------------------------------------------------------------------------------------------


def wrong_accumulator(problem: Problem) -> Iterator[Candidate]:
    """C left out, negated; the product left out or negated; the loop run once more."""
    c, form = problem.codes["C"], problem.execution.formats["C"]
    advice = "initialise the accumulator with C before the first instruction"
    yield Candidate("C is not added", advice, changed(problem, C=np.zeros_like(c)))
    if form == problem.execution.formats["D"]:
        again = changed(problem, C=problem.expected)
        yield Candidate("the product is added twice", "reset the accumulator, or run the loop once less", again)
        zero = changed(problem, A=np.zeros_like(problem.codes["A"]))
        yield Candidate("D is C: the product is missing", "check that the instruction ran for all lanes", zero)
    if form.is_float:
        sign = c.dtype.type(1 << (form.bits - 1))
        yield Candidate(
            "C is subtracted instead of added", "check NEG[2], or the sign of C", changed(problem, C=c ^ sign)
        )
        a, of_a = problem.codes["A"], problem.execution.formats["A"]
        if of_a.is_float and of_a.specials != "fnuz":
            negative = a ^ a.dtype.type(1 << (of_a.bits - 1))
            text = "the product is subtracted: D is C - A B"
            yield Candidate(text, "check NEG of A and B", changed(problem, A=negative))
    advice = "C is added for each element of D: load it with both row and column"
    first_row, first_column = c[..., :1, :], c[..., :, :1]
    for text, array in (("row 0", first_row), ("column 0", first_column)):
        if c.size:
            where = f"{text} of C is added to every {text.split()[0]}"
            yield Candidate(where, advice, changed(problem, C=np.broadcast_to(array, c.shape)))


def not_reset(problem: Problem) -> Iterator[Candidate]:
    """The accumulator of one tile of a GEMM is that of the tile before."""
    (down, across, _), shape = problem.tiles, problem.shapes["D"]
    rows, columns = problem.execution.shapes["D"][-2:]
    if down * across == 1 or not problem.linear or shape != (down * rows, across * columns):
        return
    c = problem.beta * problem.effective("C")
    products = (problem.right - c).reshape(-1, down, rows, across, columns)
    line = (0, 1, 3, 2, 4)  # the tiles' row and column first
    cut = products.transpose(line)
    in_turn = np.cumsum(cut.reshape(-1, down * across, rows, columns), axis=1).reshape(cut.shape)
    turned = np.swapaxes(cut, 1, 2)
    by_column = np.cumsum(turned.reshape(-1, down * across, rows, columns), axis=1).reshape(turned.shape)
    for text, sums, count in (
        ("row by row", in_turn, down * across),
        ("column by column", np.swapaxes(by_column, 1, 2), down * across),
        ("along each row", np.cumsum(cut, axis=2), across),
        ("along each column", np.cumsum(cut, axis=1), down),
    ):
        values = sums.transpose(line).reshape(c.shape)
        stored = Stored(problem, codes_of(problem, values + c), float(count))
        name = f"the accumulator is not reset between tiles (one tile after the other, {text})"
        yield Candidate(name, "fill the accumulator with zeros before the loop over k", stored)


# --- k ----------------------------------------------------------------------------------------------------------------


def shortened_k(problem: Problem) -> Iterator[Candidate]:
    """Part of k left out, or added twice."""
    size, step = problem.shapes["A"][-1], problem.execution.shapes["A"][-1]
    steps, k = problem.tiles[2], np.arange(size)
    a = problem.codes["A"]
    kept: dict[str, Array] = {}
    for number in range(steps) if steps > 1 else ():
        kept[f"step {number} of the {steps} steps along K is left out"] = k // step != number
        kept[f"only the first {number} of the {steps} steps along K are added"] = k // step < number
        kept[f"the first {number} of the {steps} steps along K are left out"] = k // step >= number
    for count in (2, 4, 8):
        if size % count == 0 and size > count:
            for part in range(count):
                which = ("first", "second")[part] if count == 2 else f"{part + 1} of {count}"
                what = "half" if count == 2 else "part"
                kept[f"only the {which} {what} of k is added"] = k * count // size == part
                if count > 2:
                    kept[f"{which} parts of k is left out"] = k * count // size != part
    for text, mask in kept.items():
        if 0 < mask.sum() < size:
            kept_a = np.where(mask, a, a.dtype.type(0))
            yield Candidate(text, "check the bounds of the loop over k", changed(problem, A=kept_a))
    for count in (2, 3, 4) if steps > 2 else ():
        for first in range(count):
            mask = k // step % count == first
            text = f"only every {count}{'nd' if count == 2 else 'rd' if count == 3 else 'th'} step along K is added"
            kept_a = np.where(mask, a, a.dtype.type(0))
            yield Candidate(
                f"{text}, from step {first}", "check the increment of the loop over k", changed(problem, A=kept_a)
            )
    yield from _lengthened(problem)
    if steps > 1:
        for number in range(steps):
            yield Candidate(
                f"step {number} along K was computed with the data of the step before",
                "wait for the load (or the barrier) before the data are used: double buffering is one step behind",
                _stale(problem, number),
            )


def _lengthened(problem: Problem) -> Iterator[Candidate]:
    """The loop over k runs once too often: a step is added twice, or what lies in memory after the rows."""
    steps, unit = problem.tiles[2], problem.execution.shapes
    if steps == 1 or len(problem.shapes["D"]) == 3 or problem.execution.sparsity or problem.execution.block_size:
        return
    order, advice = list(range(steps)), "check the bounds of the loop over k: it runs once too often"
    for number in (steps - 1, 0, *range(1, steps - 1)):
        yield Candidate(f"step {number} along K is added twice", advice, Rerun(problem, chains=[[*order, number]]))
    if problem.shapes["A"][-1] % unit["A"][-1] == 0:
        after_a = np.roll(problem.codes["A"], -1, -2)[..., : unit["A"][-1]].copy()
        after_b = np.roll(problem.codes["B"], -1, -1)[..., : unit["B"][-2], :].copy()
        after_a[..., -1, :], after_b[..., -1] = 0, 0
        codes = {**problem.codes, "A": np.concatenate([problem.codes["A"], after_a], -1)}
        codes["B"] = np.concatenate([problem.codes["B"], after_b], -2)
        longer = Problem(problem.execution, codes, {}, (problem.alpha, problem.beta))
        text = "one step too many along K is added: A continues in the next row, B in the next column"
        yield Candidate(text, advice, Rerun(longer))


def _stale(problem: Problem, number: int) -> Rerun:
    sources = {}
    for name, axis in (("A", -1), ("B", -2)):
        shape, step = problem.shapes[name], problem.execution.shapes[name][axis]
        index = np.arange(shape[axis])
        before = np.where((index // step == number) & (index >= step), index - step, index)
        flat = np.arange(np.prod(shape)).reshape(shape)
        sources[name] = np.take(flat, before, axis)
    return Rerun(problem, sources)


def reordered_k(problem: Problem) -> Iterator[Candidate]:
    """The k of A and of B not in the same order: whose it is shows in the rounding only, if at all."""
    if problem.execution.sparsity or problem.execution.block_size:
        return
    size = problem.shapes["A"][-1]
    orders_of_k = [(np.arange(size)[::-1], "in reverse order")]
    if size % 2 == 0:
        orders_of_k.append((np.roll(np.arange(size), size // 2), "with its halves swapped"))
    for order, text in (*orders_of_k, *orders(size)):
        for name, axis in (("A", -1), ("B", -2)):
            flat = np.arange(np.prod(problem.shapes[name])).reshape(problem.shapes[name])
            told = f"k is not in the same order in A and B: {name} has it {text}"
            candidate = moved(problem, name, np.take(flat, order, axis))
            yield Candidate(told, "load A and B with the same order of k", candidate)


def chained_otherwise(problem: Problem) -> Iterator[Candidate]:
    """The steps along K of a GEMM added in another order: not wrong, but other bits."""
    steps = problem.tiles[2]
    if steps == 1 or problem.execution.numerics.model == "integer":
        return
    index = list(range(steps))
    chosen = {"in descending order": [index[::-1]], "even steps first, then odd ones": [index[0::2] + index[1::2]]}
    for parts in (2, 4, 8):
        if steps % parts == 0:
            size = steps // parts
            chunks = [index[i * size : (i + 1) * size] for i in range(parts)]
            chosen[f"in {parts} sums of consecutive steps (split-K)"] = chunks
            chosen[f"in {parts} sums of every {parts}th step (sliced K)"] = [index[i::parts] for i in range(parts)]
    for text, chains in chosen.items():
        advice = "the additions are in another order than one after the other from k = 0; that rounds otherwise"
        yield Candidate(f"the steps along K are added {text}", advice, Rerun(problem, chains=chains))


# --- blocks and the other fields of the instruction -----------------------------------------------------------------


def wrong_block(problem: Problem) -> Iterator[Candidate]:
    """Blocks exchanged, shifted, or all fed from one."""
    blocks = problem.inst.blocks
    if blocks == 1:
        return
    index = np.arange(blocks)
    chosen = {"are in reverse order": index[::-1]}
    chosen |= {f"are shifted by {step}": (index + step) % blocks for step in range(1, blocks)}
    chosen |= {f"all are block {block}": np.full(blocks, block) for block in range(blocks)}
    for text, order in chosen.items():
        for name in "DABC":
            shape = problem.shapes[name]
            source = np.arange(np.prod(shape)).reshape(shape)[order]
            advice = f"check which lanes and registers hold the blocks of {name}"
            yield Candidate(f"the blocks of {name} {text}", advice, moved(problem, name, source))


def other_modifiers(problem: Problem) -> Iterator[Candidate]:
    """The same instruction with CBSZ, ABID, BLGP, NEG ... of other values."""
    execution = problem.execution
    limits = execution.inst.modifier_limits(execution.wave)
    chosen = [{**execution.fields, name: value} for name, values in limits.items() for value in values]
    chosen += [
        {**execution.fields, "cbsz": cbsz, "abid": abid}
        for cbsz in limits.get("cbsz", ())
        for abid in range(1 << cbsz)
        if not execution.sparsity
    ]
    saturate = execution.saturate and not execution.inst.architecture.family.satfinite
    for fields in chosen:
        try:
            other = execution_of(execution.inst, execution.wave, fields, saturate, False)
        except Error:
            continue  # an ABID that this CBSZ does not have
        if {x: other.formats[x].bits for x in "ABCD"} != {x: execution.formats[x].bits for x in "ABCD"}:
            continue
        if not any(getattr(other, x) != getattr(execution, x) for x in ("formats", "signed", "absolute")) and (
            all(np.array_equal(other.flips[x], execution.flips[x]) for x in "ABC")
            and all(np.array_equal(other.rearranged[x], execution.rearranged[x]) for x in "AB")  # type: ignore[arg-type]
        ):
            continue
        text = ", ".join(f"{name.upper()} = {value}" for name, value in fields.items() if value) or "no modifier"
        advice = f"set the modifiers of {execution.inst.name} as intended"
        yield Candidate(f"the instruction ran with {text}", advice, Rerun(problem, execution=other))


def other_instruction(problem: Problem) -> Iterator[Candidate]:
    """Another instruction of the same shape and width: bf16 for f16, bf8 for fp8, signed for unsigned."""
    execution = problem.execution
    shape = (execution.inst.m, execution.inst.n, execution.inst.k, execution.inst.blocks, execution.inst.sparse)
    for other in entry(execution.inst.arch).instructions():
        if (other.m, other.n, other.k, other.blocks, other.sparse) != shape or other.name == execution.inst.name:
            continue
        if "A" not in other.operands or other.operands != execution.inst.operands or other.kind:
            continue
        again = execution_of(other, execution.wave, {}, False, False)
        same_widths = all(again.formats[name].bits == execution.formats[name].bits for name in "ABCD")
        if same_widths and again.shapes == execution.shapes:  # scale16 has twice the scales
            yield Candidate(
                f"{other.name} ran instead", f"issue {execution.inst.name}", Rerun(problem, execution=again)
            )


# --- places -----------------------------------------------------------------------------------------------------------


def _moves_of(problem: Problem, name: str, move: Move) -> Candidate:
    return Candidate(f"{name} {move.text}", move.advice, moved(problem, name, move.source))


def wrong_addresses(problem: Problem, names: str = "BADC") -> Iterator[Candidate]:
    """A, B or C loaded, or D stored, by wrong addresses."""
    for name in names:
        for move in memory_moves(problem, name):
            yield _moves_of(problem, name, move)


def wrong_addresses_alike(problem: Problem) -> Iterator[Candidate]:
    """A and B loaded by the same wrong addresses."""
    of_a = {move.text: move for move in memory_moves(problem, "A")}
    for move in memory_moves(problem, "B"):
        if (other := of_a.get(move.text)) is not None:
            sources = {"A": other.source, "B": move.source}
            advice = "check the addresses with which you load A and B"
            yield Candidate(f"A and B alike: each {move.text}", advice, Rerun(problem, sources))


def wrong_registers(problem: Problem, names: str = "ABDC") -> Iterator[Candidate]:
    """Lanes or registers of an operand exchanged, repeated, zero."""
    for name in names:
        own = np.arange(np.prod(problem.shapes[name])).reshape(problem.shapes[name])
        for move in register_moves(problem, name):
            if name != "D" or not np.array_equal(source := whole(move.source), np.where(source < 0, -1, own)):
                yield _moves_of(problem, name, move)


def wrong_registers_alike(problem: Problem) -> Iterator[Candidate]:
    """Lanes or registers of A and B alike exchanged, repeated, zero."""
    both = {move.text: move for move in register_moves(problem, "A")}
    for move in register_moves(problem, "B"):
        if move.text in both:
            sources = {"A": both[move.text].source, "B": move.source}
            text = f"A and B alike: each {move.text}"
            yield Candidate(text, "check the lane index with which you load A and B", Rerun(problem, sources))


LIBRARY: tuple[tuple[float, Callable[[Problem], Iterator[Candidate]]], ...] = (
    (0.0, transposed), (1.0, wrong_accumulator), (1.5, biased_scales), (2.0, not_reset), (3.0, other_modifiers),
    (3.5, other_conversion), (4.0, stored_otherwise), (4.5, wrong_index), (4.5, wrong_scales), (5.0, before_c),
    (5.0, wrong_block), (5.5, shortened_k), (6.0, reordered_k), (6.5, no_layout),
    (7.0, partial(wrong_addresses, names="B")), (7.1, partial(wrong_addresses, names="A")),
    (7.2, partial(wrong_addresses, names="D")), (7.3, partial(wrong_addresses, names="C")), (8.0, wrong_layout),
    (8.1, partial(wrong_registers, names="A")), (8.2, partial(wrong_registers, names="B")),
    (8.3, partial(wrong_registers, names="D")), (8.4, partial(wrong_registers, names="C")),
    (10.0, wrong_registers_alike), (10.0, wrong_addresses_alike), (10.0, other_instruction),
)  # fmt: skip
"""Every known kind of mistake with its cost in bits: how unlikely it is, by judgement; a permutation of whole matrices
before one of lanes, one operand before two."""

MISTAKES = tuple(of for _, of in LIBRARY)

LAST = (other_layout,)
"""What is tried where nothing else explains D, since it asks the whole catalog."""

NEARLY_RIGHT = (wrong_accumulator, other_conversion)
"""What may change D by no more than rounding does: small numbers lost."""
