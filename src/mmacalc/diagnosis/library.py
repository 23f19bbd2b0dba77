"""The mistakes that people make with matrix instructions: rows of generators, each with its cost in bits.

A generator takes a `Problem` (an instruction with its inputs) and yields edits, the likelier first; `LIBRARY` lists
them and `search` tries them. Adding a mistake is one more rule in a generator, or one more generator and its row; what
it is called stands in `words`. Nothing here looks at the D to compare: see `solve`.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations, permutations

import numpy as np

from ..arithmetic.codecs import decode, encode, largest, on_grid, round_to_format
from ..arithmetic.tables import TABLES
from ..base.errors import Error
from ..catalog import entry
from ..emulator.execution import execution_of, selected
from ..formats import FORMATS
from .edits import Edit, Fit, Permutation, Recoding, Sum, moved, source_of
from .layouts import no_layout, other_layout, wrong_layout
from .problem import Problem, whole
from .solve import before_c, not_reset, stored_otherwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from numpy.typing import NDArray

    from ..formats import Format
    from ..model import Instruction

    Array = NDArray[Any]
    Rule = tuple[str, str, dict[str, Any]]
    Generator = Callable[[Problem], Iterator[Edit]]

__all__ = [
    "LAST", "LIBRARY", "NEARLY_RIGHT", "biased_scales", "chained_otherwise", "memory", "narrow_accumulator",
    "other_arithmetic", "other_conversion", "permuted", "registers", "shortened_k", "transposed", "turned",
    "wrong_accumulator", "wrong_scales",
]  # fmt: skip

SPANS = (1, 2, 4, 8, 16, 32, 64)


def plus(n: int) -> str:
    """A number with its sign, as rules have it after a name."""
    return f"{'+' if n >= 0 else '-'} {abs(n)}"


def signed(step: int, size: int) -> int:
    """A cyclic step by the shorter way."""
    return step if step <= size // 2 else step - size


# --- rules of matrices in memory: what a mistake is called, the rule, what its words name ---------------------------


def turned(problem: Problem, name: str) -> Iterator[Rule]:
    """Rows for columns, of the whole matrix or of each tile; tiles in another order."""
    rows, columns = problem.shapes[name][-2:]
    if rows == columns:
        yield "transposed", "i j -> j i", {}
    else:
        yield "by columns", "address -> j * R + i", {}
        yield "by rows", "address -> address % R * C + address // R", {}
    moves = problem.inst.architecture.family.matrix_moves
    k_axis = {"A": 1, "B": 0}.get(name)
    packed = max(1, 16 // problem.execution.formats[name].bits) if k_axis is not None else 1
    for size in (8, 4, 16, 2, 32):
        for unit in {1, packed} if moves and size == 8 else {1}:
            tall, wide = (unit if k_axis == axis else 1 for axis in (0, 1))
            if not (rows % (size * tall) or columns % (size * wide) or (rows, columns) == (size, size)):
                kind = "ldmatrix" if moves and size == 8 and name != "D" else "tiles transposed"
                digits = f"u={size} v={size} p={tall} q={wide}"
                yield kind, f"i (x u p) j (y v q) -> i (x v p) j (y u q), {digits}", {"size": size}
    for height, width in ((8, 8), (16, 16), (4, 4)):
        down, across = rows // height, columns // width
        if down * height == rows and across * width == columns and min(down, across) >= 2:
            number = f"(j//{width}*{down}+i//{height})"
            rule = f"i j -> {number}//{across}*{height}+i%{height} {number}%{across}*{width}+j%{width}"
            yield "tiles reordered", rule, {"height": height, "width": width}


def strided(problem: Problem, name: str) -> Iterator[Rule]:
    """A wrong stride between rows or between elements; beyond the matrix it starts over, or there are zeros."""
    rows, columns = problem.shapes[name][-2:]
    near = [step for span in SPANS[:6] for step in (span, -span)]
    leading = {columns + step: (f"C {plus(step)}", f"off by {step:+d}") for step in near}
    leading |= {rows: ("R", f"{rows} instead of {columns}"), 2 * columns: ("2 * C", "twice what it should be")}
    leading[columns // 2] = "C // 2", "half of what it should be"
    for value, (ld, how) in leading.items():
        if value > 0 and value != columns:
            yield "leading dimension", f"address -> (i * ({ld}) + j) % size", {"how": how}
            if (rows - 1) * value + columns > rows * columns:
                yield "leading dimension", f"address -> i * ({ld}) + j", {"how": how}
    for step in (1, -1, 2, -2, 8, -8):
        if rows + step > 0 and rows > 1:
            yield "by columns, leading dimension", f"address -> (j * (R {plus(step)}) + i) % size", {"n": step}
    for step in (2, 4, 8):
        yield "stride", f"address -> {step} * address % size", {"n": step}
        yield "stride", f"address -> {step} * address", {"n": step}
        yield "repeated", f"address -> address // {step}", {"n": step}
    yield "one row", "i -> 0", {}
    yield "one column", "j -> 0", {}


def displaced(problem: Problem, name: str) -> Iterator[Rule]:
    """Rows or columns shifted, cyclically or with zeros, or in another order; an address that is off."""
    shape = problem.shapes[name][-2:]
    for axis, side, size, what in zip("ij", "RC", shape, ("row", "column")):
        for step in range(1, min(size, 65)):
            n = signed(step, size)
            yield "displaced", f"{axis} -> ({axis} {plus(n)}) % {side}", {"n": n, "what": what}
        for step in (1, 2, 4, 8, 16):
            for n in (step, -step) if step < size else ():
                yield "displaced, zeros beyond", f"{axis} -> {axis} {plus(n)}", {"n": n, "what": what}
        yield "reversed", f"{axis} -> {side} - 1 - {axis}", {"what": what}
        for order, rule in orders(size, axis):
            yield "reordered", rule, {"what": what, "order": order}
    for step in (1, 2, 4, 8):
        for n in (step, -step):
            yield "address off", f"address -> (address {plus(n)}) % size", {"n": n}


def orders(size: int, axis: str) -> Iterator[tuple[str, str]]:
    """Orders of rows, columns, registers or k that come of wrong index arithmetic."""
    for step in SPANS:
        if size % (2 * step) == 0 and size > step:
            what = "neighbours" if step == 1 else f"groups of {step}"
            yield f"swapped in pairs of {what}", f"{axis} -> {axis} ^ {step}"
        if step > 1 and size % step == 0 and size > step:
            rest = size // step
            yield f"in reverse order within each {step}", f"{axis} -> {axis} ^ {step - 1}"
            yield f"interleaved by {step}", f"{axis} (q r) -> {axis} (r q), q={rest} r={step}"
            if step < rest:
                yield f"interleaved by {rest}", f"{axis} (r q) -> {axis} (q r), q={rest} r={step}"
        for inner in SPANS:
            if step > 1 and inner > 1 and size % (step * inner) == 0 and size > step * inner:
                rule = f"{axis} (b q r) -> {axis} (b r q), q={inner} r={step}"
                yield f"interleaved by {step} within each {step * inner}", rule
    if size & (size - 1) == 0 and size > 2:
        names = [f"b{x}" for x in range(size.bit_length() - 1)]
        digits, sizes = (" ".join(names), " ".join(reversed(names))), " ".join(f"{x}=2" for x in names)
        yield "in bit-reversed order", f"{axis} ({digits[0]}) -> {axis} ({digits[1]}), {sizes}"


def swizzled(problem: Problem, name: str) -> Iterator[Rule]:
    """Columns exchanged by bits of the row, as a swizzle of shared memory does it."""
    rows, columns = problem.shapes[name][-2:]
    for unit in SPANS[:5]:
        for phases in (2, 4, 8, 16):
            for per in (1, 2, 4):
                if columns % (unit * phases) == 0 and rows > per:
                    row = "row" if per == 1 else f"(row / {per})"
                    rule = f"j -> j ^ ({'i' if per == 1 else f'i // {per}'} % {phases} * {unit})"
                    yield "swizzled", rule, {"how": f"column ^ ({row} % {phases}) * {unit}"}


def missing(problem: Problem, name: str) -> Iterator[Rule]:
    """Rows or columns that are zero."""
    if name == "D":
        return
    for axis, size, what in zip("ij", problem.shapes[name][-2:], ("row", "column")):
        for start in range(1, size):
            shown = f"{what}s {start} to {size - 1}" if start < size - 1 else f"{what} {start}"
            yield "missing", f"{axis} -> {axis} if {axis} < {start}", {"which": shown}
        for end in range(1, size):
            shown = f"{what}s 0 to {end - 1}" if end > 1 else f"{what} 0"
            yield "missing", f"{axis} -> {axis} if {axis} >= {end}", {"which": shown}
        for alone in range(size):
            yield "missing", f"{axis} -> {axis} if {axis} != {alone}", {"which": f"{what} {alone}"}
        for part in (2, 4, 8):
            for rest in range(part) if size % part == 0 else ():
                shown = f"{what}s {rest}, {rest + part} ..."
                yield "missing", f"{axis} -> {axis} if {axis} % {part} != {rest}", {"which": shown}


def memory(problem: Problem, name: str) -> Iterator[Rule]:
    """A matrix that is loaded from memory, or stored there, by wrong addresses."""
    for rules in (turned, strided, displaced, swizzled, missing):
        yield from rules(problem, name)


# --- rules of registers -----------------------------------------------------------------------------------------------


def registers(problem: Problem, name: str) -> Iterator[Rule]:
    """An operand's register file with lanes or registers exchanged, repeated or left zero, in every instruction."""
    if not problem.execution.in_registers(name):
        return
    place, _ = problem.registers(name)
    yield from _lanes(place.lanes)
    yield from _orders_of_registers(place.registers)
    if place.bits in (4, 8, 16):
        yield "halves", "bit -> bit ^ 16", {}
    if place.bits == 16:
        yield "low half", "bit -> 0", {}
        yield "high half", "bit -> 16", {}
    elif place.bits in (4, 8):
        yield "bytes reversed", "bit -> bit ^ 24", {}
        yield "bytes exchanged", "bit -> bit ^ 8", {}
    if place.bits == 4:
        yield "nibbles", "bit -> bit ^ 4", {}
        yield "nibbles reversed", "bit -> bit ^ 28", {}


def _lanes(lanes: int) -> Iterator[Rule]:
    for step in range(1, lanes):
        n = signed(step, lanes)
        yield "lanes off", f"lane -> (lane {plus(n)}) % L", {"n": n}
    for mask in range(1, lanes):
        yield "lanes exchanged", f"lane -> lane ^ {mask}", {"n": mask}
    for step in (2, 4, 8, 16, 32):
        if step < lanes:
            rest = lanes // step
            yield "lanes transposed", f"lane (r q) -> lane (q r), q={rest} r={step}", {"n": step, "rest": rest}
            yield "lanes in groups", f"lane -> lane % {step}", {"n": step, "last": step - 1}
            yield "neighbouring lanes", f"lane -> lane - lane % {step}", {"n": step}
    yield "lane 0", "lane -> 0", {}
    for size in (1, 2, 4, 8, 16, 32):
        for group in range(lanes // size if size < lanes else 0):
            first = group * size
            shown = f"lanes {first} to {first + size - 1}" if size > 1 else f"lane {first}"
            part = f"lane // {size}" if size > 1 else "lane"
            yield "zero", f"lane -> lane if {part} != {group}", {"which": shown}
            if size >= 8:
                which = f"all lanes but {first} to {first + size - 1}"
                yield "zero", f"lane -> lane if lane // {size} == {group}", {"which": which}


def _orders_of_registers(count: int) -> Iterator[Rule]:
    if count == 1:
        return
    if count <= 4:
        for order in permutations(range(count)):
            yield "register order", f"register -> {list(order)}", {"order": " ".join(map(str, order))}
    else:
        yield from _orders_of_many(count)
    yield "register 0", "register -> 0", {}
    for size in (2, 4, 8):
        if count > size:
            yield "registers again", f"register -> register % {size}", {"last": size - 1}
    for register in range(count):
        yield "zero", f"register -> register if register != {register}", {"which": f"register {register}"}
    for start in range(1, count):
        which = f"registers {start} to {count - 1}"
        yield "zero", f"register -> register if register < {start}", {"which": which}
        yield "zero", f"register -> register if register >= {start}", {"which": f"registers 0 to {start - 1}"}


def _orders_of_many(count: int) -> Iterator[Rule]:
    """The likely orders of more registers than can be tried in every order."""
    yield "reversed", "register -> N - 1 - register", {"what": "register"}
    for step in range(1, count):
        yield "registers off", f"register -> (register + {step}) % N", {"n": step}
    for mask in (1, 2, 3, 4, 8, 16, 32):
        if count % (2 * mask) == 0 or (mask == 3 and count % 4 == 0):
            yield "registers exchanged in pairs", f"register -> register ^ {mask}", {"n": mask}
    for order, rule in orders(count, "register"):
        yield "reordered", rule, {"what": "register", "order": order}
    for x, y in combinations(range(min(count, 16)), 2):
        rule = f"register -> register + {y - x} * (register == {x}) - {y - x} * (register == {y})"
        yield "two registers exchanged", rule, {"x": x, "y": y}


# --- places -----------------------------------------------------------------------------------------------------------


def permuted(problem: Problem, names: Iterable[str], rules: Callable[[Problem, str], Iterator[Rule]]) -> Iterator[Edit]:
    """An operand, or D, by each of the rules."""
    for name in names:
        for kind, rule, given in rules(problem, name):
            if (name, kind) != ("D", "zero"):  # what is not stored is looked for in the D to compare
                yield moved(problem, name, rule, kind, **given)


def permuted_alike(problem: Problem, rules: Callable[[Problem, str], Iterator[Rule]]) -> Iterator[Edit]:
    """A and B by the same rule."""
    of_a = {rule for _, rule, _ in rules(problem, "A")}
    for kind, rule, given in rules(problem, "B"):
        if rule in of_a:
            yield moved(problem, "AB", rule, kind, "AB", **given)


def transposed(problem: Problem) -> Iterator[Edit]:
    """D stored column by column, or A and B exchanged."""
    rows, columns = problem.shapes["D"][-2:]
    if rows == columns:
        yield moved(problem, "D", "i j -> j i", "D transposed")
    else:
        yield moved(problem, "D", "address -> address % R * C + address // R", "D by columns")
    yield from exchanged(problem)


def exchanged(problem: Problem) -> Iterator[Edit]:
    """A in the place of B and B in the place of A."""
    execution, shapes = problem.execution, problem.shapes
    if shapes["D"][-1] != shapes["D"][-2] or execution.sparsity or execution.block_size or (
        execution.formats["A"] != execution.formats["B"]
    ):  # fmt: skip
        return
    a, b, c = (np.swapaxes(problem.codes[name], -1, -2) for name in "ABC")
    yield Edit("AB", Recoding("A B -> B^T A^T", {"A": b, "B": a}), "A and B swapped, transposed")
    yield Edit("AB", Recoding("A B C -> B^T A^T C^T", {"A": b, "B": a, "C": c}), "A and B swapped, C transposed")
    if shapes["A"] == shapes["B"]:
        codes = {"A": problem.codes["B"], "B": problem.codes["A"]}
        yield Edit("AB", Recoding("A B -> B A", codes), "A and B swapped")


def wrong_block(problem: Problem) -> Iterator[Edit]:
    """Blocks exchanged, shifted, or all fed from one."""
    blocks = problem.inst.blocks
    if blocks == 1:
        return
    rules = {f"block -> {blocks - 1} - block": "are in reverse order"}
    rules |= {f"block -> (block + {step}) % {blocks}": f"are shifted by {step}" for step in range(1, blocks)}
    rules |= {f"block -> {block}": f"all are block {block}" for block in range(blocks)}
    for rule, how in rules.items():
        for name in "DABC":
            yield moved(problem, name, rule, "blocks", how=how)


# --- the accumulator --------------------------------------------------------------------------------------------------


def wrong_accumulator(problem: Problem) -> Iterator[Edit]:
    """C left out, negated, one row for all; the product left out or negated; the loop run once more."""
    c, a = problem.codes["C"], problem.codes["A"]
    form, of_a = problem.execution.formats["C"], problem.execution.formats["A"]

    yield _recoded("C is not added", "C", {"C": np.zeros_like(c)})
    if form == problem.execution.formats["D"]:
        yield _recoded("the product is added twice", "C", {"C": problem.expected})
        yield _recoded("the product is missing", "A", {"A": np.zeros_like(a)})
    if form.is_float:
        yield _recoded("C is subtracted", "C", {"C": c ^ c.dtype.type(1 << (form.bits - 1))})
        if of_a.is_float and of_a.specials != "fnuz":
            yield _recoded("the product is subtracted", "A", {"A": a ^ a.dtype.type(1 << (of_a.bits - 1))})
    if c.size:
        yield moved(problem, "C", "i -> 0", "C of one line", what="row")
        yield moved(problem, "C", "j -> 0", "C of one line", what="column")


# --- k ----------------------------------------------------------------------------------------------------------------


def shortened_k(problem: Problem) -> Iterator[Edit]:
    """Part of k left out, or added twice."""
    size, step = problem.shapes["A"][-1], problem.execution.shapes["A"][-1]
    steps, kept = problem.tiles[2], dict[str, str]()
    for number in range(steps) if steps > 1 else ():
        kept[f"k // {step} != {number}"] = f"step {number} of the {steps} steps along K is left out"
        kept[f"k < {number * step}"] = f"only the first {number} of the {steps} steps along K are added"
        kept[f"k >= {number * step}"] = f"the first {number} of the {steps} steps along K are left out"
    for count in (2, 4, 8):
        for part in range(count) if size % count == 0 and size > count else ():
            which = ("first", "second")[part] if count == 2 else f"{part + 1} of {count}"
            kept[f"k * {count} // {size} == {part}"] = (
                f"only the {which} {'half' if count == 2 else 'part'} of k is added"
            )
            if count > 2:
                kept[f"k * {count} // {size} != {part}"] = f"{which} parts of k is left out"
    for condition, which in kept.items():
        if condition not in ("k < 0", "k >= 0"):
            yield moved(problem, "sum", f"k -> k if {condition}", "part of k", "A", which=which)
    for count in (2, 3, 4) if steps > 2 else ():
        for first in range(count):
            rule = f"k -> k if k // {step} % {count} == {first}"
            nth = f"{count}{'nd' if count == 2 else 'rd' if count == 3 else 'th'}"
            yield moved(problem, "sum", rule, "some steps", "A", which=nth, first=first)
    yield from _lengthened(problem)
    for number in range(1, steps):
        before = f"k -> k - {step} * (k // {step} == {number})"
        rows = f"k -> k - {problem.execution.shapes['B'][-2]} * (k // {problem.execution.shapes['B'][-2]} == {number})"
        sources = {"A": source_of(problem, "A", before), "B": source_of(problem, "B", rows)}
        yield Edit("sum", Permutation(before, sources), "stale step", {"n": number})


def _lengthened(problem: Problem) -> Iterator[Edit]:
    """The loop over k runs once too often: a step is added twice, or what lies in memory after the rows."""
    steps, unit = problem.tiles[2], problem.execution.shapes
    if steps == 1 or len(problem.shapes["D"]) == 3 or problem.execution.sparsity or problem.execution.block_size:
        return
    order = list(range(steps))
    for number in (steps - 1, 0, *range(1, steps - 1)):
        yield Edit("sum", Sum("a step twice", chains=[[*order, number]]), "step twice", {"n": number})
    if problem.shapes["A"][-1] % unit["A"][-1] == 0:
        after_a = np.roll(problem.codes["A"], -1, -2)[..., : unit["A"][-1]].copy()
        after_b = np.roll(problem.codes["B"], -1, -1)[..., : unit["B"][-2], :].copy()
        after_a[..., -1, :], after_b[..., -1] = 0, 0
        codes = {**problem.codes, "A": np.concatenate([problem.codes["A"], after_a], -1)}
        codes["B"] = np.concatenate([problem.codes["B"], after_b], -2)
        longer = Problem(problem.execution, codes, {}, (problem.alpha, problem.beta))
        yield Edit("sum", Sum("a step more", problem=longer), "step too many")


def reordered_k(problem: Problem) -> Iterator[Edit]:
    """The k of A and of B not in the same order: whose it is shows in the rounding only, if at all."""
    if problem.execution.sparsity or problem.execution.block_size:
        return
    size = problem.shapes["A"][-1]
    rules = [("in reverse order", f"k -> {size - 1} - k")]
    if size % 2 == 0:
        rules.append(("with its halves swapped", f"k -> (k + {size // 2}) % {size}"))
    for how, rule in (*rules, *orders(size, "k")):
        for name in "AB":
            yield moved(problem, name, rule, "order of k", how=how)


def chained_otherwise(problem: Problem) -> Iterator[Edit]:
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
    for how, chains in chosen.items():
        yield Edit("sum", Sum(how, chains=chains), "order of steps", {"how": how})


def _sisters(inst: Instruction) -> Iterator[Instruction]:
    """The other instructions of the same shape and operands."""
    shape = (inst.m, inst.n, inst.k, inst.blocks, inst.sparse)
    for other in entry(inst.arch).instructions():
        same = (other.m, other.n, other.k, other.blocks, other.sparse) == shape and other.operands == inst.operands
        if same and "A" in other.operands and other.name != inst.name:
            yield other


def narrow_accumulator(problem: Problem) -> Iterator[Edit]:
    """The sum kept in a narrower format: by the instruction whose D is so, or rounded to it after each step."""
    execution, own = problem.execution, problem.execution.formats["D"]
    if own.name != "f32" or not problem.linear:
        return
    for other in _sisters(execution.inst):
        if other.kind != execution.inst.kind:
            continue
        again = execution_of(other, execution.wave, {}, False, False)
        if all(again.formats[x] == execution.formats[x] for x in "AB") and again.formats["D"].bits < own.bits and (
            again.formats["C"] == again.formats["D"] and again.shapes == execution.shapes
        ):  # fmt: skip
            said = {"other": again.formats["D"], "form": own, "each": "each addition of the instruction"}
            yield Edit("sum", Sum(f"D of {other.name}", again), "narrow accumulator", said)
    for name in ("f16", "bf16") if problem.tiles[2] > 1 else ():
        said = {"other": name, "form": own, "each": "each step along K"}
        yield Edit("sum", Sum(f"rounded to {name} each step", kept=FORMATS[name]), "narrow accumulator", said)


def other_arithmetic(problem: Problem) -> Iterator[Edit]:
    """The same products added in another way: another GPU's, a reference program's. Not wrong, but other bits."""
    execution = problem.execution
    if execution.numerics.model == "integer" or execution.sparsity or execution.block_size:
        return
    explained = {"explanation": execution.numerics.explanation}
    seen = {(execution.numerics.model, tuple(sorted(execution.numerics.parameters.items())))}
    for how, model, parameters in _models(problem):
        key = (model, tuple(sorted(parameters.items())))
        if key not in seen:
            seen.add(key)
            plain = execution_of(execution.inst, execution.wave, execution.fields, False, False)
            yield Edit("sum", Sum(how, plain.with_numerics(model, parameters)), "other sum", {"how": how, **explained})
    if execution.formats["D"].name == "f32" and (problem.alpha, problem.beta) == (1, 1):
        for how, codes in _separate_roundings(problem).items():
            yield Edit("sum", Fit(how, codes), "separate roundings", {"how": how, **explained})
    d, form = problem.expected, execution.formats["D"]
    small = np.abs(problem.decoded_d(d)) < 2.0 ** (1 - form.bias)
    flushed = np.where(small, d & d.dtype.type(1 << (form.bits - 1)), d)
    yield Edit("D", Recoding("subnormal -> 0", {"D": flushed}), "subnormal results")


def _models(problem: Problem) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every model of `TABLES` that fits the formats, by the generations that have it."""
    k, (a, d) = problem.execution.inst.k, (problem.execution.formats[name].name for name in "AD")
    yield "by fused multiply-adds in the order of k", "fma_chain", {}
    if a == "f64":
        return
    yield "exactly and rounded once to nearest even", "exact", {"group": k}
    found: dict[tuple[Any, ...], list[str]] = {}
    for table, rows in TABLES.items():
        for row in rows:
            if a not in row.inputs or d not in (row.outputs or (d,)) or "group" not in row.parameters:
                continue
            group = min(row.parameters["group"] or k, k)
            if k % group == 0 and (row.model, group % 2) != ("two_stage_floored_even_odd", 1):
                key = (row.model, tuple({**row.parameters, "group": group}.items()))
                found.setdefault(key, []).append(table)
    for (model, items), names in found.items():
        yield f"as on {', '.join(dict.fromkeys(names))} ({model})", model, dict(items)


def _separate_roundings(problem: Problem) -> dict[str, Array]:
    """Products and sums each rounded to f32, as a program without fused multiply-adds does it."""
    a, b, c = (problem.effective(x).astype(np.float32) for x in "ABC")
    vendor, out = problem.inst.architecture.vendor, problem.execution.formats["D"]
    with np.errstate(all="ignore"):
        first, last = c, np.zeros_like(c)
        for k in range(a.shape[-1]):
            term = a[..., :, k, None] * b[..., None, k, :]
            first, last = first + term, last + term
    sums = {"C first": first, "C last": last + c}
    return {how: on_grid(round_to_format(values.astype(np.float64), out), out, vendor) for how, values in sums.items()}


# --- the fields of the instruction ------------------------------------------------------------------------------------


def other_modifiers(problem: Problem) -> Iterator[Edit]:
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
        how = ", ".join(f"{name.upper()} = {value}" for name, value in fields.items() if value) or "no modifier"
        yield Edit("sum", Sum(how, other), "other modifiers", {"how": how})


def other_instruction(problem: Problem) -> Iterator[Edit]:
    """Another instruction of the same shape and width: bf16 for f16, bf8 for fp8, signed for unsigned."""
    execution = problem.execution
    for other in _sisters(execution.inst):
        if other.kind:
            continue
        again = execution_of(other, execution.wave, {}, False, False)
        same_widths = all(again.formats[name].bits == execution.formats[name].bits for name in "ABCD")
        if same_widths and again.shapes == execution.shapes:  # scale16 has twice the scales
            yield Edit("sum", Sum(other.name, again), "other instruction", {"other": other.name})


# --- formats ----------------------------------------------------------------------------------------------------------

ALIKE: dict[str, tuple[str, ...]] = {
    "f16": ("bf16",), "bf16": ("f16",), "e4m3": ("e4m3fnuz", "e5m2"), "e5m2": ("e5m2fnuz", "e4m3"),
    "e4m3fnuz": ("e4m3", "e5m2fnuz"), "e5m2fnuz": ("e5m2", "e4m3fnuz"), "e2m3": ("e3m2",), "e3m2": ("e2m3",),
}  # fmt: skip
"""The formats of the same width whose encodings are taken for another's."""

NARROWER = ("f16", "bf16", "e4m3", "e5m2")
"""The formats by way of which inputs come that were rounded twice."""


BOTH = ("AB", "A", "B")


def other_conversion(problem: Problem) -> Iterator[Edit]:
    """A, B or both converted otherwise than the instruction needs: read as another format, cut, flushed."""
    form, codes = problem.execution.formats["A"], problem.codes
    if form.bits == 8 and not form.is_float:
        for names in BOTH:  # a zero point of 128: the top bit is the other
            yield _recoded("zero point", names, {x: codes[x] ^ codes[x].dtype.type(128) for x in names})
    if not form.is_float or form.bits > 32:
        return
    for other in ALIKE.get(form.name, ()):
        for names in BOTH:
            yield from _misread(problem, names, FORMATS[other])
    if problem.given and problem.tiles == (1, 1, 1):
        for names in BOTH:
            yield _recoded("cut", names, {name: _cut(problem, name) for name in names}, form=form)
    for names in (*BOTH, "C"):
        own = problem.execution.formats[names[0]]
        for narrow in NARROWER:
            if through := _through(problem, names, FORMATS[narrow]):
                yield _recoded("through", names, through, form=own, other=narrow)
    for names in BOTH:
        masks = {x: codes[x].dtype.type((1 << (problem.execution.formats[x].bits - 1)) - 1) for x in names}
        yield _recoded("signs lost", names, {x: codes[x] & masks[x] for x in names})
    yield _recoded("flushed", "AB", {name: _flushed(problem, name) for name in "AB"})


def _recoded(kind: str, operands: str, codes: dict[str, Array], **given: Any) -> Edit:
    rule = " ".join([kind, *(getattr(each, "name", each) for each in given.values())])
    return Edit(operands, Recoding(rule, codes), kind, given)


def _through(problem: Problem, names: str, narrow: Format) -> dict[str, Array]:
    """The operands' codes where their numbers were rounded to a narrower format before; none if it is not narrower."""
    made = {}
    for x in names:
        own = problem.execution.formats[x]
        if own.is_float and narrow.mantissa < own.mantissa:
            with np.errstate(all="ignore"):
                made[x] = encode(round_to_format(problem.values[x], narrow), own)
    return made if len(made) == len(names) else {}


def _misread(problem: Problem, operands: str, other: Format) -> Iterator[Edit]:
    """The operand's numbers were encoded in another format than the instruction reads, or the other way round.

    Codes of FNUZ mean half of what they mean in OCP (OCP OFP8 specification; CDNA3 ISA guide, 'FP8 and BF8').
    """
    execution = problem.execution
    if any(execution.formats[x].bits != other.bits for x in operands):
        return
    own, half = execution.formats[operands[0]], ""
    made = {x: encode(_as_given(problem, x), other) for x in operands}
    read = {x: encode(decode(problem.codes[x], other).astype(np.float64), execution.formats[x]) for x in operands}
    if "fnuz" in (own.specials, other.specials) and own.exponent == other.exponent:
        half = ": half the value" if own.specials == "fnuz" else ": twice the value"
    given = {"form": own, "other": other.name, "half": half}
    yield Edit(operands, Recoding(f"{other.name} as {own.name}", made), "holds other codes", given)
    yield Edit(operands, Recoding(f"{own.name} as {other.name}", read), "read as others", given)


def _as_given(problem: Problem, name: str) -> Array:
    """The numbers of an input before they were rounded: FNUZ has no minus zero, whose OCP code it reads as NaN."""
    values = np.asarray(problem.given[name], np.float64) if name in (problem.given or {}) else problem.values[name]
    same = values.size == problem.values[name].size  # else a dense A was compressed
    return values.reshape(problem.values[name].shape) if same else problem.values[name]


def _cut(problem: Problem, name: str) -> Array:
    """The codes of an input cut toward zero, one below those that were rounded away from zero."""
    values, form = np.asarray(problem.given[name], np.float64), problem.execution.formats[name]
    codes = encode(values, form)
    if codes.size != problem.codes[name].size:
        return problem.codes[name]  # a dense A that was compressed
    away = np.abs(decode(codes, form)) > np.abs(values)
    below: Array = codes - away.astype(codes.dtype)
    return below.reshape(problem.codes[name].shape)


def _flushed(problem: Problem, name: str) -> Array:
    codes, form = problem.codes[name], problem.execution.formats[name]
    return np.where(np.abs(problem.values[name]) < 2.0 ** (1 - form.bias), codes.dtype.type(0), codes)


# --- the index of a sparse A ------------------------------------------------------------------------------------------


def wrong_index(problem: Problem) -> Iterator[Edit]:
    """The index of a sparse A not read, zero, exchanged, of other rows or lanes; its values not compressed."""
    sparsity = problem.execution.sparsity
    if not sparsity:
        return
    index, entries = problem.codes["K"], sparsity.entries
    groups = index.reshape(*index.shape[:-1], -1, entries)
    changes: dict[str, Array] = {}
    if entries == 2:
        for first, text in ((0, "0 and 1"), (2, "2 and 3")):
            same = np.broadcast_to(np.array([first, first + 1], index.dtype), groups.shape)
            changes[f"the index is not read: positions {text} are taken"] = same
        changes["the two positions of each group are swapped"] = groups[..., ::-1]
        changes["the index is inverted: the positions that are zero are taken"] = _others(groups)
    changes["the index is zero: position 0 is taken for every stored value"] = np.zeros_like(groups)
    for text, changed in changes.items():
        yield Edit("K", Recoding(text, {"K": changed.reshape(index.shape)}), "positions", {"text": text})
    positions = sparsity.period // sparsity.unit
    for step in range(1, positions) if sparsity.unit == 1 else ():
        shifted = ((index + step) % positions).astype(index.dtype)
        yield Edit("K", Recoding(f"position + {step}", {"K": shifted}), "positions shifted", {"n": step})
    size = problem.shapes["K"][-1]
    for step in range(1, groups.shape[-2]):
        kind = "index halves" if 2 * step == groups.shape[-2] else "index groups off"
        yield moved(problem, "K", f"k -> (k + {step * entries}) % {size}", kind, n=step)
    yield from _not_compressed(problem)
    yield from permuted(problem, "K", registers)  # an index is made in registers
    yield from permuted(problem, "K", memory)


def _not_compressed(problem: Problem) -> Iterator[Edit]:
    """The values of the dense A in the place of the stored ones: a kernel compressed the index only."""
    sparsity, index, a = problem.execution.sparsity, problem.codes["K"], problem.codes["A"]
    if not sparsity or problem.tiles[2] > 1:
        return
    dense = np.zeros((*a.shape[:-1], problem.shapes["B"][-2]), a.dtype)
    np.put_along_axis(dense, selected(index.astype(np.intp), sparsity), a, axis=-1)
    count = dense.shape[-1] // a.shape[-1]
    for which, values in (
        ("the first elements of each dense row are", dense[..., : a.shape[-1]]),
        ("the last elements of each dense row are", dense[..., -a.shape[-1] :]),
        (f"every {count}th element of each dense row is", dense[..., ::count]),
    ):
        yield Edit("A", Recoding(which, {"A": values}), "not compressed", {"which": which})


def _others(groups: Array) -> Array:
    """The two positions of four that are not in a group, in order."""
    free = np.ones((*groups.shape[:-1], 4), bool)
    np.put_along_axis(free, groups.astype(np.intp), False, axis=-1)
    order = np.argsort(~free, axis=-1, kind="stable")[..., :2]
    return order.astype(groups.dtype)


# --- block scales -----------------------------------------------------------------------------------------------------

SCALES = {"SA": ("SA",), "SB": ("SB",), "SASB": ("SA", "SB")}


def biased_scales(problem: Problem) -> Iterator[Edit]:
    """All codes of scales one too high or low, or applied twice."""
    if not problem.execution.block_size:
        return
    for n in (1, -1):
        for target, names in SCALES.items():
            other = {x: np.clip(problem.codes[x].astype(np.int64) + n, 0, 254) for x in names}
            codes = {x: array.astype(problem.codes[x].dtype) for x, array in other.items()}
            yield Edit(target, Recoding(f"code {plus(n)}", codes), "scale codes off", {"n": n})
    for target, names in SCALES.items():
        squares = {}
        for x in names:
            form = problem.execution.formats[x]
            squares[x] = encode(round_to_format(np.minimum(problem.values[x] ** 2, largest(form.name)), form), form)
        yield Edit(target, Recoding("squared", squares), "scales twice")


def wrong_scales(problem: Problem) -> Iterator[Edit]:
    """Scales not applied, exchanged, one for all, of other rows or blocks of k."""
    execution, codes = problem.execution, problem.codes
    if not execution.block_size:
        return
    ones = {x: np.broadcast_to(encode(np.array(1.0), execution.formats[x]), codes[x].shape) for x in SCALES["SASB"]}
    yield _recoded("no scales", "SASB", ones)
    for x in SCALES["SASB"]:
        yield _recoded("no scale", x, {x: ones[x]})
    m, n = problem.shapes["D"][-2:]
    if m == n and execution.formats["SA"] == execution.formats["SB"]:
        sa, sb = (np.swapaxes(codes[x], -1, -2) for x in SCALES["SASB"])
        yield Edit("SASB", Recoding("SA SB -> SB^T SA^T", {"SA": sb, "SB": sa}), "scales swapped")
    for x in SCALES["SASB"]:
        for kind, rule, given in _blocks_of_scales(problem.shapes[x][-1 if x == "SA" else -2]):
            yield moved(problem, x, rule, kind, **given)
    yield moved(problem, "SASB", "k -> 0", "both scales of one block", SCALES["SASB"])
    for x in SCALES["SASB"]:
        for rules in (memory, registers):  # they are loaded as matrices
            for edit in permuted(problem, (x,), rules):
                if isinstance(edit.map, Permutation) and not (whole(edit.map.sources[x]) < 0).any():
                    yield edit


def _blocks_of_scales(size: int) -> Iterator[Rule]:
    for step in range(1, size):
        yield "scale blocks off", f"k -> (k + {step}) % {size}", {"n": signed(step, size)}
    for block in range(size):
        yield "scale of one block", f"k -> {block}", {"n": block}
    yield "one scale", "address -> 0", {}
    for count in (2, 4):
        if size % count == 0 and size > count:
            yield "scale of the first block", f"k -> k - k % {count}", {"n": count}


# --- the library ------------------------------------------------------------------------------------------------------

LIBRARY: tuple[tuple[float, Generator], ...] = (
    (0.0, transposed), (1.0, wrong_accumulator), (1.5, biased_scales), (2.0, not_reset), (3.0, other_modifiers),
    (3.5, other_conversion), (4.0, narrow_accumulator), (4.0, stored_otherwise), (4.5, wrong_index),
    (4.5, wrong_scales), (5.0, before_c), (5.0, wrong_block), (5.5, shortened_k), (6.0, reordered_k), (6.5, no_layout),
    *((7.0 + n / 10, partial(permuted, names=name, rules=memory)) for n, name in enumerate("BADC")),
    (8.0, wrong_layout),
    *((8.1 + n / 10, partial(permuted, names=name, rules=registers)) for n, name in enumerate("ABDC")),
    (10.0, partial(permuted_alike, rules=registers)), (10.0, partial(permuted_alike, rules=memory)),
    (10.0, other_instruction),
)  # fmt: skip
"""Every known kind of mistake with its cost in bits: how unlikely it is, by judgement; a permutation of whole matrices
before one of lanes, one operand before two."""

LAST = (other_layout,)
"""What is tried where nothing else explains D, since it asks the whole catalog."""

NEARLY_RIGHT = (wrong_accumulator, other_conversion)
"""What may change D by no more than rounding does: small numbers lost."""
