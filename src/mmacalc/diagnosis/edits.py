"""What may have been done to a product: an edit of one operand, of D, or of the sum.

One worked example. That D was stored by columns is the edit `Edit("D", Permutation("i j -> j i", ...), ...)`: at row i
and column j there is what belongs at row j and column i. An edit has one of four maps:

    Permutation   elements in other places, by a rule in the notation of the layouts
    Recoding      other codes of an operand or of D: read as another format, rounded, a scale one too high, zero
    Fit           D = f(right D), with numbers that are read from the D to compare: a factor, a bias, an activation
    Sum           the additions: another instruction, other steps along K, another order, another precision

How is a rule read? Left of the arrow stands a place, right of it where that comes from what is there; what is not
named stays, and what lies outside, or where the condition after `if` does not hold, is zero:

    i j -> j i                     transposed
    k -> 15 - k                    k backwards: along the columns of A, the rows of B
    address -> i * 17 + j          a leading dimension of 17
    lane -> lane ^ 8               lanes exchanged, in every instruction
    register -> [1, 0, 3, 2]       registers in another order
    k (q r) -> k (r q), q=4 r=4    digits exchanged, as in a layout
    i -> i if i < 12               the last rows are zero

R, C and size are the rows, columns and elements of the matrix, L and N the lanes and registers of the operand. The
sequence of edits is that of the data: inputs first, then the sum, then D. `Suspect` is an edit made to a problem.
"""

from __future__ import annotations

import ast
import operator
import re
from copy import copy

import numpy as np

from ..arithmetic.codecs import largest, round_to_format
from ..base.checks import number
from ..base.records import Cache, TupleRecord
from ..formats import FORMATS
from .problem import Problem, Source, elements, part_of, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from ..emulator.execution import Execution
    from ..formats import Format

    Array = NDArray[Any]
    Part = Array | slice
    Names = Mapping[str, Any]
    Places = Callable[[Names], list[Any]]

__all__ = ["Edit", "Fit", "Permutation", "Recoding", "Sum", "Suspect", "coarse", "moved", "near", "source_of"]

WHOLE = slice(None)


class Permutation(TupleRecord):
    """Elements in other places. rule: in the notation of this module; sources: by operand, where each comes from."""

    rule: str
    sources: Mapping[str, Array | Source]


class Recoding(TupleRecord):
    """Other codes of some operands. codes: by operand."""

    rule: str
    codes: Mapping[str, Array]


class Fit(TupleRecord):
    """Another D. codes: its codes; spread: how much of the rounding error of the right D comes through (1: all of it),
    and besides it `apart`, how far the values themselves may lie from what a kernel computes."""

    rule: str
    codes: Array
    spread: float = 1.0
    apart: Array | float = 0.0


class Sum(TupleRecord):
    """Other additions. execution: the instruction that is issued instead; chains: the steps along K; problem: another
    product that is computed instead; kept: the format to which the sum is rounded after each step."""

    rule: str
    execution: Execution | None = None
    chains: Sequence[Sequence[int]] | None = None
    problem: Problem | None = None
    kept: Format | None = None


class Edit(TupleRecord):
    """One suspected mistake.

    target: the operands that it concerns, such as "A", "AB" (alike), "SA", "D", or "sum"; map: what happens to them;
    kind, given: of `words.WORDS`, which say it; bits: the cost of fitted numbers; reproduced: whether it gives the
    wrong values, which otherwise are taken from the D to compare.
    """

    target: str
    map: Permutation | Recoding | Fit | Sum
    kind: str
    given: Mapping[str, Any] = {}
    bits: float = 0.0
    reproduced: bool = True


# --- rules ------------------------------------------------------------------------------------------------------------

OPERATORS: dict[type[ast.AST], Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.BitXor: operator.xor, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip
GROUP = re.compile(r"(\w+) \(([\w ]+)\)")
IN_REGISTERS = ("lane", "register", "bit")
_rules = Cache(1 << 13)


def _value(node: ast.AST, names: Names) -> Any:
    """The value of an expression of a rule."""
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp):
        return -_value(node.operand, names)
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](_value(node.left, names), _value(node.right, names))
    assert isinstance(node, ast.Compare)
    return OPERATORS[type(node.ops[0])](_value(node.left, names), _value(node.comparators[0], names))


def _regrouped(left: str, right: str) -> tuple[tuple[str, ...], Places]:
    """Digits exchanged, as in a layout: of each coordinate, the first digit is the most significant."""
    right, _, text = right.partition(", ")
    sizes = {name: number(size) or 0 for name, size in (one.split("=") for one in text.split())}
    sides = [[(axis, digits.split()) for axis, digits in GROUP.findall(side)] for side in (left, right)]

    def places(names: Names) -> list[Any]:
        digit = {}
        for axis, digits in sides[0]:
            value = names[axis]
            for name in reversed(digits[1:]):
                value, digit[name] = value // sizes[name], value % sizes[name]
            digit[digits[0]] = value
        found = []
        for _, digits in sides[1]:
            total = digit[digits[0]]
            for name in digits[1:]:
                total = total * sizes[name] + digit[name]
            found.append(total)
        return found

    return tuple(axis for axis, _ in sides[0]), places


def _parsed(rule: str) -> tuple[tuple[str, ...], Places, Callable[[Names], Any]]:
    """The places that a rule is about, where they come from, and its condition."""
    body, _, condition = rule.partition(" if ")
    left, right = body.split(" -> ")
    test = ast.parse(condition or "1 == 1", mode="eval").body
    holds = lambda names: _value(test, names)  # noqa: E731
    if "(" in left:
        return (*_regrouped(left, right), holds)
    if right.startswith("["):
        order = np.array([number(each.strip()) for each in right[1:-1].split(",")])
        return (left,), lambda names: [order[names[left]]], holds
    axes = tuple(left.split())
    nodes = [ast.parse(each, mode="eval").body for each in (right.split() if len(axes) > 1 else [right])]
    return axes, lambda names: [_value(node, names) for node in nodes], holds


def source_of(problem: Problem, name: str, rule: str) -> Array | Source:
    """Where the elements of an operand come from by a rule.

    >>> import mmacalc, numpy
    >>> from .problem import problem_of
    >>> inst = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16")
    >>> problem = problem_of(inst, numpy.eye(16), numpy.eye(16), 0, False, {})
    >>> [whole(source_of(problem, "A", rule))[1, :4].tolist() for rule in ("i j -> j i", "k -> k + 13", "lane -> 0")]
    [[1, 17, 33, 49], [29, 30, 31, -1], [0, 1, 2, 3]]
    """
    return problem.source(name, rule, lambda: _made(problem, name, rule))


def _made(problem: Problem, name: str, rule: str) -> Array | Source:
    axes, places, holds = _rules.get(rule, lambda: _parsed(rule))
    shape = problem.shapes[name]
    if axes[0] in IN_REGISTERS:
        return _of_registers(problem, name, axes[0], places, holds)
    if axes[0] == "block":
        order = np.broadcast_to(np.asarray(places({"block": np.arange(shape[0])})[0]), shape[:1])
        moved: Array = elements(shape)[order]
        return moved
    rows, columns = shape[-2:]
    along = {"k": "i" if name in ("B", "SB") else "j"}

    def at(i: Array, j: Array) -> Array:
        names = {"i": i, "j": j, "address": i * columns + j, "R": rows, "C": columns, "size": rows * columns}
        names["k"] = names[along["k"]]
        found = dict(zip(axes, places(names)))
        if "address" in found:
            index = found["address"]
            inside = (index >= 0) & (index < rows * columns)
        else:
            row, column = ({"i": i, "j": j} | {along.get(x, x): value for x, value in found.items()}).values()
            index, inside = row * columns + column, (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        return np.where(inside & holds(names), index, -1)

    return Source(shape, at)


def _of_registers(
    problem: Problem, name: str, axis: str, places: Places, holds: Callable[[Names], Any]
) -> Array | Source:
    """The same for lanes, registers or bits, in every instruction of a product alike."""
    place, lookup = problem.registers(name)
    own = {"lane": place.lane[..., 0], "register": place.register[..., 0], "bit": place.lsb[..., 0]}
    limit = {"lane": place.lanes, "register": place.registers, "bit": 32}[axis]
    shape, (rows, columns) = problem.shapes[name], own["lane"].shape[-2:]

    def taken(names: dict[str, Array]) -> Array:
        known = {**names, "L": place.lanes, "N": place.registers, "width": place.bits}
        moved = np.broadcast_to(places(known)[0], names[axis].shape)
        inside = (moved >= 0) & (moved < limit) & holds(known)
        new = {**names, axis: np.where(inside, moved, 0)}
        return np.where(inside, lookup[new["lane"], new["register"] * 32 + new["bit"]], -1)

    if len(shape) == 3:
        return taken(own)

    def at(i: Array, j: Array) -> Array:
        picked = taken({what: array[i % rows, j % columns] for what, array in own.items()})
        row, column = i // rows * rows + picked // columns, j // columns * columns + picked % columns
        outside = (picked < 0) | (row >= shape[0]) | (column >= shape[1])
        return np.where(outside, -1, row * shape[1] + column)

    return Source(shape, at)


def moved(problem: Problem, target: str, rule: str, kind: str, operands: Sequence[str] = (), **given: Any) -> Edit:
    """The edit that moves the elements of the target, or of all the operands, by a rule."""
    sources = {name: source_of(problem, name, rule) for name in operands or (target,)}
    return Edit(target, Permutation(rule, sources), kind, given)


# --- an edit made to a problem ----------------------------------------------------------------------------------------


class Suspect:
    """An edit that is tried on a problem, after others if `before` says so: D under it in float64 and to the bit."""

    __slots__ = ("before", "edit", "problem")
    problem: Problem
    edit: Edit
    before: tuple[Edit, ...]

    def __init__(self, problem: Problem, edit: Edit, before: tuple[Edit, ...] = ()) -> None:
        own = edit.map.problem if isinstance(edit.map, Sum) else None
        self.problem, self.edit, self.before = own or problem, edit, before

    @property
    def edits(self) -> tuple[Edit, ...]:
        """All of them, in the order in which they are made."""
        return (*self.before, self.edit)

    @property
    def rule(self) -> str:
        """What is changed, and how.

        >>> Suspect(None, Edit("D", Permutation("i j -> j i", {}), "D transposed")).rule
        'D: i j -> j i'
        """
        return "; ".join(f"{edit.target}: {edit.map.rule}" for edit in self.edits)

    @property
    def sources(self) -> Mapping[str, Array | Source]:
        """Where the elements of the operands come from that are moved."""
        return self.edit.map.sources if isinstance(self.edit.map, Permutation) else {}

    @property
    def stored(self) -> Fit | None:
        """D, where the edit says it outright."""
        done = self.edit.map
        if isinstance(done, Recoding) and "D" in done.codes:
            return Fit(done.rule, done.codes["D"])
        return done if isinstance(done, Fit) else None

    @property
    def operand(self) -> str | None:
        """The operand that is moved, if nothing else is changed."""
        return next(iter(self.sources)) if len(self.sources) == 1 else None

    @property
    def of_inputs(self) -> bool:
        """Whether the edit changes inputs only."""
        done = self.edit.map
        changed = done.sources if isinstance(done, Permutation) else done.codes if isinstance(done, Recoding) else "D"
        return "D" not in changed

    @property
    def effect(self) -> Any:
        """What tells it from others: two mistakes with the same effect are the same, however they are called."""
        done = self.edit.map
        if fit := self.stored:
            return "D", fit.codes.tobytes()
        if isinstance(done, Sum):
            return id(self.problem), done.execution, str(done.chains), done.kept
        shapes = {name: codes.shape for name, codes in self.problem.codes.items()}
        if isinstance(done, Recoding):
            parts = [(name, np.broadcast_to(done.codes[name], shapes[name]).tobytes()) for name in sorted(done.codes)]
            return (id(self.problem), "codes", *parts)
        assert isinstance(done, Permutation)
        parts = [
            (name, np.broadcast_to(whole(done.sources[name]), self.problem.shapes[name]).tobytes())
            for name in sorted(done.sources)
        ]
        return (id(self.problem), *parts)

    def changes(self) -> dict[str, tuple[Array | Source | None, Array | None]]:
        """The changed operands, as `Problem.approximate` takes them."""
        problem, done = self.problem, self.edit.map
        if isinstance(done, Permutation):
            return {name: (source, None) for name, source in done.sources.items()}
        if isinstance(done, Recoding):
            shapes = {name: problem.codes[name].shape for name in done.codes}
            full = {name: np.broadcast_to(codes, shapes[name]) for name, codes in done.codes.items()}
            return {name: (None, problem.decoded(name, codes)) for name, codes in full.items()}
        if isinstance(done, Sum) and done.chains is not None:  # how often each step is added
            times = np.bincount([step for chain in done.chains for step in chain], minlength=problem.tiles[2])
            a, step = problem.values["A"], problem.execution.shapes["A"][-1]
            if (times != 1).any():
                return {"A": (None, a * times[np.arange(a.shape[-1]) // step])}
        return {}

    @property
    def emulated(self) -> bool:
        """Whether float64 says nothing of the sum, so that it has to be computed to the bit."""
        done = self.edit.map
        return not self.problem.linear or (isinstance(done, Sum) and (done.execution or done.kept) is not None)

    def estimate(self, rows: Part = WHOLE, columns: Part = WHOLE) -> Array:
        """D in float64, some of its rows and columns."""
        problem = self.problem
        if fit := self.stored:
            return problem.decoded_d(fit.codes[..., rows, :][..., columns])
        if "D" in self.sources:
            return self._taken(problem.right, rows, columns)
        if self.emulated:
            return problem.decoded_d(self.result()[..., rows, :][..., columns])
        return problem.approximate(self.changes(), rows, columns)

    def magnitude(self, rows: Part = WHOLE, columns: Part = WHOLE) -> Array:
        """What the rounding of D depends on, for some of its rows and columns."""
        problem = self.problem
        own = problem.magnitude[..., rows, :][..., columns]
        if fit := self.stored:
            apart = np.broadcast_to(fit.apart, problem.magnitude.shape)[..., rows, :][..., columns]
            return own * fit.spread + apart / (problem.slack or 1.0)
        if "D" in self.sources:
            return self._taken(problem.magnitude, rows, columns)
        if self.emulated:
            return own
        return problem.approximate(self.changes(), rows, columns, absolute=True)

    def _taken(self, array: Array, rows: Part, columns: Part) -> Array:
        at = part_of(self.sources["D"], rows, columns)
        return np.where(at < 0, 0.0, array.reshape(len(array), -1)[:, np.maximum(at, 0)])

    def result(self) -> Array:
        """D's codes, by the emulator."""
        if fit := self.stored:
            return fit.codes
        if "D" in self.sources:
            return self.problem.replaced("D", self.sources["D"])
        how = self.edit.map if isinstance(self.edit.map, Sum) else Sum("")
        return self.problem.run(how.execution, how.chains, how.kept, **self.inputs())

    def inputs(self) -> dict[str, Array]:
        """The codes of the operands that the edit changes."""
        if isinstance(self.edit.map, Recoding):
            codes = self.edit.map.codes.items()
            return {name: np.broadcast_to(array, self.problem.codes[name].shape) for name, array in codes}
        return {name: self.problem.replaced(name, source) for name, source in self.sources.items()}

    def made(self) -> Problem:
        """The problem whose right D is what the edit gives, so that another one can follow."""
        problem = self.problem
        if self.of_inputs:
            return problem.with_codes({**problem.codes, **self.inputs()})
        first = copy(problem)
        first.expected = self.result()
        first.right, first.magnitude = problem.decoded_d(first.expected), self.magnitude()
        return first


# --- numbers that agree -----------------------------------------------------------------------------------------------


def near(problem: Problem, given: Array, values: Array, magnitude: Array, coarse: float = 0.0) -> NDArray[np.bool_]:
    """Which values agree up to rounding.

    Args:
        coarse: how far a rounding of D to a narrower format may have moved them besides, relative to the values.
    """
    form = problem.execution.formats["D"]
    if not form.is_float:
        if problem.execution.saturate:
            values = np.clip(values, -(2.0**31), 2.0**31 - 1)
        difference = (given - values) % 2.0**32
        found: NDArray[np.bool_] = difference == 0
        return found
    with np.errstate(invalid="ignore"):
        close = np.abs(given - values) <= problem.slack * magnitude + coarse * np.abs(values)
        beyond = (
            np.isinf(given) & (np.abs(values) > largest(form.name) * (1 - 2.0**-form.mantissa)) & (given * values > 0)
        )
    same: NDArray[np.bool_] = close | beyond | (given == values) | (np.isnan(given) & np.isnan(values))
    return same


def coarse(problem: Problem, given: Array) -> tuple[float, str]:
    """If D has only values of a narrower format: its relative precision (half a unit), and its name."""
    form = problem.execution.formats["D"]
    finite = given[np.isfinite(given) & (given != 0)]
    if not form.is_float or form.name not in ("f32", "f64") or finite.size < 8:
        return 0.0, ""
    expected = problem.right
    for name in ("bf16", "f16"):
        narrow = FORMATS[name]
        if (round_to_format(finite, narrow) == finite).all() and (round_to_format(expected, narrow) != expected).any():
            return 2.0 ** -(narrow.mantissa + 1) * 1.01, name
    return 0.0, ""
