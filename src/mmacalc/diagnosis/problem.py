"""What a diagnosis works on: a product of one instruction, or a whole GEMM that chains it, to be computed with changes.

A `Problem` holds the matrices as codes, (batch, rows, columns) or (batch, block, rows, columns). It computes D in two
ways: to the bit, by the emulator (`run`), and in float64 (`approximate`), which is fast enough to try thousands of
changes. A change of an operand is a source: for each element the flat index of the element that is there instead,
-1 for zero; an array, or a `Source`, which is computed for those rows and columns that are asked for.

`problem_of` makes one of the arguments of `mmacalc.diagnose`.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ..arithmetic.codecs import decode, encode, round_to_format
from ..base.checks import shown
from ..base.errors import Error
from ..base.records import Cache
from ..emulator import fast
from ..emulator.arrays import as_array, as_values, checked, rounded
from ..emulator.computing import compute
from ..emulator.execution import Execution, execution_of, selected
from ..emulator.matrices import extras, prepared
from ..emulator.plan import cores

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from ..emulator.execution import Places
    from ..formats import Format
    from ..model import Instruction

    Array = NDArray[Any]
    from collections.abc import Iterable

    from numpy.typing import NDArray

SLACK = {"f64": 2.0**-48, "f32": 2.0**-20, "f16": 2.0**-9, "bf16": 2.0**-6}
"""How far two sums of the same products may lie apart by rounding, relative to the sum of magnitudes."""

SMALL = 1024
"""Elements of a part of a source that is kept."""


class Source:
    """Where the elements of a matrix come from, as a function of row and column.

    shape: of the matrix, (rows, columns) or (block, rows, columns), every block alike; at: the flat index within the
    rows and columns of the element that is at i, j (arrays that can be broadcast), -1 for zero. The last small part
    that was asked for is kept: a search asks for the same one each time that the edit is the second of a pair.
    """

    __slots__ = ("_last", "at", "shape")
    shape: tuple[int, ...]
    at: Callable[[Array, Array], Array]
    _last: tuple[tuple[object, object], Array] | None

    def __init__(self, shape: tuple[int, ...], at: Callable[[Array, Array], Array]) -> None:
        self.shape, self.at, self._last = shape, at, None

    def part(self, rows: Array | slice = slice(None), columns: Array | slice = slice(None)) -> Array:
        """The flat indices of some rows and columns, of all blocks."""
        key = (_key(rows), _key(columns))
        last = self._last
        if last and last[0] == key:
            return last[1]
        found = self._part(rows, columns)
        if found.size <= SMALL:
            self._last = (key, found)
        return found

    def _part(self, rows: Array | slice, columns: Array | slice) -> Array:
        i, j = np.arange(self.shape[-2])[rows], np.arange(self.shape[-1])[columns]
        found, shape = self.at(i[:, None], j[None]), (len(i), len(j))
        if found.shape != shape:
            found = np.broadcast_to(found, shape)
        if len(self.shape) == 2:
            return found
        blocks = np.arange(self.shape[0])[:, None, None] * (self.shape[1] * self.shape[2])
        return np.where(found < 0, -1, found + blocks)


def _key(part: Array | slice) -> object:
    """What tells rows or columns from others, for results that are kept."""
    return (part.start, part.stop) if isinstance(part, slice) else part.tobytes()


def part_of(source: Array | Source, rows: Array | slice, columns: Array | slice) -> Array:
    """Some rows and columns of a source."""
    if isinstance(source, Source):
        return source.part(rows, columns)
    found: Array = source[..., rows, :][..., columns]
    return found


def whole(source: Array | Source) -> Array:
    """A source for every element."""
    return source.part() if isinstance(source, Source) else source


class Problem:
    """A product with its inputs, to be computed again with some of them replaced.

    Attributes:
        execution: the instruction with its modifiers.
        codes, values: the inputs by operand, as codes and as float64 numbers.
        given: the inputs as they were given, where they were values (before they were rounded).
        shapes: of each operand, without batches; tiles: how many instructions there are along M, N and K.
        slack: how far sums may differ by rounding, relative to the magnitudes; 0 for integers.
        alpha, beta: what the sum of products and C are multiplied by.
        expected, right: the right D, as codes and as numbers. magnitude: the sum of the magnitudes of all products
            and of C.
    """

    execution: Execution
    given: Mapping[str, Array]
    tiles: tuple[int, int, int]
    alpha: float
    beta: float
    batch: tuple[int, ...]
    codes: dict[str, Array]
    shapes: dict[str, tuple[int, ...]]
    values: dict[str, NDArray[np.float64]]
    slack: float
    expected: Array
    right: NDArray[np.float64]
    magnitude: Array

    def __init__(
        self, execution: Execution, codes: dict[str, Array], given: Mapping[str, Array], scalars: tuple[float, float]
    ) -> None:
        self.execution, self.given, self.tiles = execution, given, (1, 1, 1)
        self.alpha, self.beta = scalars
        tail = len(execution.shapes["D"])
        lead = np.broadcast_shapes(*(array.shape[: array.ndim - tail] for array in codes.values()))
        self.batch = lead
        self.codes = {
            name: np.broadcast_to(array, lead + array.shape[array.ndim - tail :]).reshape(-1, *array.shape[-tail:])
            for name, array in codes.items()
        }
        self.shapes = {name: array.shape[1:] for name, array in self.codes.items()}
        self.shapes["D"] = (*self.shapes["A"][:-1], self.shapes["B"][-1])
        unit = execution.shapes
        if len(self.shapes["D"]) == 2:
            pairs = (("A", 0), ("B", 1), ("B", 0))
            m, n, k = (-(-self.shapes[x][axis] // unit[x][axis]) for x, axis in pairs)
            self.tiles = (m, n, k)
        self.values = {name: self.decoded(name, array) for name, array in self.codes.items()}
        self._signs = {name: self._sign(name) for name in "ABC"}
        self._moved = {name: whole(self.everywhere(name, source)) for name in "AB"
                       if (source := execution.rearranged[name]) is not None}  # fmt: skip
        self._kept: dict[Any, Array] = {}
        self._tables, self._sources = Cache(8), Cache(1 << 12)
        self.slack = self._slack()
        self.expected = self.run()
        self.right = self.decoded_d(self.expected)
        with np.errstate(all="ignore"):
            self.magnitude = self.approximate(absolute=True)

    @property
    def inst(self) -> Instruction:
        return self.execution.inst

    def decoded(self, name: str, codes: Array, execution: Execution | None = None) -> NDArray[np.float64]:
        """An operand's codes as numbers."""
        run = execution or self.execution
        return decode(codes, run.formats[name], run.signed.get(name, True)).astype(np.float64)

    def decoded_d(self, codes: Array) -> NDArray[np.float64]:
        """D's codes as numbers."""
        return decode(codes, self.execution.formats["D"]).astype(np.float64)

    def _slack(self) -> float:
        """How far sums may differ by rounding, relative to the magnitudes; 0 for integers."""
        form = self.execution.formats["D"]
        if not form.is_float:
            return 0.0
        kept = self.execution.numerics.parameters.get("kept")
        base = 2.0 ** (2 - kept) if kept else SLACK[form.name]
        return base * max(1.0, self.tiles[2] / 4)

    # --- to the bit ---------------------------------------------------------------------------------------------------

    def replaced(self, name: str, moves: Array | Source) -> Array:
        """An operand's codes with its elements moved as a source says."""
        source = whole(moves)
        array = self.codes[name] if name != "D" else self.expected
        flat = array.reshape(len(array), -1)
        moved: Array = flat[:, np.maximum(source, 0).reshape(-1)].reshape(array.shape)
        return np.where(source < 0, array.dtype.type(0), moved)

    def run(
        self, execution: Execution | None = None, chains: Sequence[Sequence[int]] | None = None,
        kept: Format | None = None, **codes: Array,
    ) -> Array:  # fmt: skip
        """D's codes, with some inputs replaced.

        Args:
            execution: the instruction that is issued instead; if its C and D are of another format, so are all sums.
            chains: the steps along K in the order in which they are added; several chains are summed at the end.
            kept: a format to which the sum is rounded after each step.
        """
        issued = execution or self.execution
        if chains is None and kept is None and (whole := self._at_once(issued, codes)) is not None:
            return whole
        parts = {name: self._tiled(name, codes.get(name, array)) for name, array in self.codes.items()}
        wide = self.alpha != 1 or self.beta != 1
        c, own, narrow = parts.pop("C"), self.execution.formats["D"], issued.formats["D"]
        if narrow.bits != own.bits:
            c = self._recoded(c, self.execution.formats["C"], narrow)
        total: Array | None = None
        for chain in chains or [range(self.tiles[2])]:
            d = np.zeros_like(c) if wide or total is not None else c
            for step in chain:
                d = compute(issued, {"C": d, **{name: part[step] for name, part in parts.items()}}, rearrange=True)
                d = d if kept is None else self._recoded(d, narrow, narrow, kept)
            total = d if total is None else self._sum(total, d)
        assert total is not None
        if narrow.bits != own.bits:
            total = self._recoded(total, narrow, own)
        if wide:
            total = self._scaled(total, c)
        return self._joined(total)

    def _at_once(self, issued: Execution, codes: Mapping[str, Array]) -> Array | None:
        """D's codes where `gemm` has a kernel for the chain along K, which gives the same bits; else None."""
        if self.tiles == (1, 1, 1) or issued.saturate or issued.absolute or issued.sparsity or issued.block_size:
            return None
        plain = not any(np.any(issued.flips[x]) for x in "ABC") and all(issued.rearranged[x] is None for x in "AB")
        kernel = fast.kernel(issued) if plain and issued.formats["D"] == self.execution.formats["D"] else None
        if kernel is None or (self.alpha, self.beta) != (1, 1):
            return None
        parts = {name: codes.get(name, array) for name, array in self.codes.items()}
        unit = issued.shapes["A"][-1]
        missing = -parts["A"].shape[-1] % unit
        if missing:
            parts["A"] = np.pad(parts["A"], ((0, 0), (0, 0), (0, missing)))
            parts["B"] = np.pad(parts["B"], ((0, 0), (0, missing), (0, 0)))
        return fast.products(issued, kernel, parts, cores())

    def _recoded(self, codes: Array, read: Format, written: Format, by: Format | None = None) -> Array:
        """Codes of one format as those of another, rounded to nearest, first to the format `by`."""
        with np.errstate(all="ignore"):
            values = round_to_format(decode(codes, read).astype(np.float64), by or written)
            return encode(values, written, self.inst.architecture.vendor)

    def _sum(self, x: Array, y: Array) -> Array:
        form = self.execution.formats["D"]
        return encode(self.decoded_d(x) + self.decoded_d(y), form, self.inst.architecture.vendor)

    def _scaled(self, d: Array, c: Array) -> Array:
        """alpha D + beta C, each product and the sum rounded to D's format, as a kernel's epilogue does it."""
        form = self.execution.formats["D"]
        step: Any = np.float64 if form.bits == 64 else np.float32
        with np.errstate(all="ignore"):
            x, y = self.decoded_d(d).astype(step), self.decoded("C", c).astype(step)
            values: Array = x * step(self.alpha) + y * step(self.beta)
        return encode(values, form, self.inst.architecture.vendor)

    def _tiled(self, name: str, array: Array) -> Array:
        """A matrix cut for the instruction: (step, batch, tile row, tile column, rows, columns); C without steps."""
        if len(self.shapes["D"]) == 3:
            return array if name in "CD" else array[None]
        rows, columns = self.execution.shapes[name]
        down, across = -(-array.shape[1] // rows), -(-array.shape[2] // columns)
        pads = ((0, 0), (0, down * rows - array.shape[1]), (0, across * columns - array.shape[2]))
        if any(after for _, after in pads):
            array = np.pad(array, pads)
        cut = array.reshape(-1, down, rows, across, columns).transpose(0, 1, 3, 2, 4)
        if name in "CD":
            return cut
        if name in ("B", "SB"):
            return cut.transpose(1, 0, 2, 3, 4)[:, :, None]
        return cut.transpose(2, 0, 1, 3, 4)[:, :, :, None]

    def _joined(self, d: Array) -> Array:
        """D's tiles as one matrix."""
        if len(self.shapes["D"]) == 3:
            return d
        whole = d.transpose(0, 1, 3, 2, 4)
        whole = whole.reshape(len(whole), whole.shape[1] * whole.shape[2], -1)
        return whole[:, : self.shapes["D"][0], : self.shapes["D"][1]]

    def tile_alone(self, tile: int = 0) -> Problem:
        """The part of a GEMM that gives one tile of D; the problem itself if there is only one."""
        if self.tiles[:2] == (1, 1):
            return self
        rows, columns = self.lines(tile)
        parts = {
            name: array[:, :, columns] if name in ("B", "SB") else array[:, rows] for name, array in self.codes.items()
        }
        parts["C"] = parts["C"][:, :, columns]
        return self.of_same_kind(parts)

    def lines(self, tile: int) -> tuple[slice, slice]:
        """The rows and the columns of a tile of a GEMM, which are counted row by row."""
        (rows, columns), (row, column) = self.execution.shapes["D"], divmod(tile, self.tiles[1])
        return slice(row * rows, (row + 1) * rows), slice(column * columns, (column + 1) * columns)

    def of_same_kind(self, codes: dict[str, Array]) -> Problem:
        """A product by the same instruction of other inputs, of any shapes."""
        return Problem(self.execution, codes, {}, (self.alpha, self.beta))

    def with_codes(self, codes: dict[str, Array]) -> Problem:
        """The same product of other inputs of the same shapes, whose elements can be moved alike."""
        made = self.of_same_kind(codes)
        made._tables, made._sources = self._tables, self._sources
        return made

    def source(self, name: str, rule: str, made: Callable[[], Array | Source]) -> Array | Source:
        """Where the elements of an operand come from by a rule, made once."""
        found: Array | Source = self._sources.get((name, rule), made)
        return found

    def registers(self, name: str) -> tuple[Places, Array]:
        """Where an operand's elements lie, and the flat index of the element at each lane and bit, -1 for none."""

        def made() -> tuple[Places, Array]:
            place = self.execution.places(name, natural=name in "AB")
            lookup = np.full((place.lanes, place.registers * 32), -1)
            index = np.broadcast_to(elements(place.lane.shape[:-1])[..., None], place.lane.shape)
            lookup[place.lane, place.register * 32 + place.lsb] = index
            return place, lookup

        found: tuple[Places, Array] = self._tables.get(name, made)
        return found

    def everywhere(self, name: str, source: Array) -> Array | Source:
        """A source for one instruction's matrix as one for the whole matrix: the same in every tile."""
        shape = self.shapes[name]
        if len(shape) == 3 or shape == source.shape:
            return source
        rows, columns = source.shape

        def at(i: Array, j: Array) -> Array:
            picked = source[i % rows, j % columns]
            row, column = i // rows * rows + picked // columns, j // columns * columns + picked % columns
            outside = (picked < 0) | (row >= shape[0]) | (column >= shape[1])
            return np.where(outside, -1, row * shape[1] + column)

        return Source(shape, at)

    # --- in float64 -----------------------------------------------------------------------------------------------

    def _sign(self, name: str) -> Array | float:
        flip = self.execution.flips[name]
        if isinstance(flip, int):
            return -1.0 if flip else 1.0
        signs = np.where(flip != 0, -1.0, 1.0)
        shape = self.shapes[name]
        if shape == signs.shape:
            return signs
        counts = [-(-size // own) for size, own in zip(shape, signs.shape)]
        return np.tile(signs, counts)[tuple(map(slice, shape))]

    def effective(
        self,
        name: str,
        change: tuple[Array | Source | None, Array | None] | None = None,
        part: Array | slice = slice(None),
    ) -> NDArray[np.float64]:
        """What the products are made of: a matrix after a change, CBSZ, ABID, BLGP and NEG; `part` are rows of A and C
        or columns of B. A change is a pair of a source (or None) and of values (or None for its own)."""
        source, values = change or (None, None)
        array = self.values[name] if values is None else values
        axis = -1 if name in ("B", "SB") else -2
        index = (..., part) if axis == -1 else (..., part, slice(None))
        picked = self._moved.get(name)
        if picked is None and source is None:
            found = array[index]
        else:
            if picked is not None:
                at = picked[index] if source is None else whole(source).reshape(-1)[picked[index]]
            else:
                assert source is not None
                at = part_of(source, *((slice(None), part) if axis == -1 else (part, slice(None))))
            found = array.reshape(len(array), -1)[:, np.maximum(at, 0)]
            found = np.where(at < 0, 0.0, found)
        sign = self._signs.get(name, 1.0)
        signed: NDArray[np.float64] = found * (sign if isinstance(sign, float) else sign[index])
        return np.abs(signed) if name == "C" and self.execution.absolute else signed

    def factors(self, name: str, changes: Mapping[str, Any], part: Array | slice) -> Array:
        """A (rows) or B (columns) dense, with their scales; changes: sources or values by operand."""
        if not changes.keys() & ({"A", "K", "SA"} if name == "A" else {"B", "SB"}):
            key = (name, _key(part))
            if key not in self._kept:
                self._kept[key] = self._factors(name, {}, part)
            return self._kept[key]
        return self._factors(name, changes, part)

    def _factors(self, name: str, changes: Mapping[str, Any], part: Array | slice) -> Array:
        found = self.effective(name, changes.get(name), part)
        scale = f"S{name}"
        if name == "A" and self.execution.sparsity:
            index = self.effective("K", changes.get("K"), part).astype(np.intp)
            k = selected(index, self.execution.sparsity)
            dense = np.zeros((*found.shape[:-1], self.shapes["B"][-2]))
            np.add.at(dense, (*np.indices(found.shape)[:-1], k), found)
            found = dense
        if self.execution.block_size:
            scales = self.effective(scale, changes.get(scale), part)
            found = found * np.repeat(scales, self.execution.block_size, axis=-1 if name == "A" else -2)
        return found

    def _added(self, change: Any, rows: Array | slice, columns: Array | slice) -> Array:
        """Some rows and columns of C after a change; of C as it is, kept for the next time."""
        if change is not None:
            return self.effective("C", change, rows)[..., columns]
        key = ("C", _key(rows), _key(columns))
        if key not in self._kept:
            self._kept[key] = self.effective("C", None, rows)[..., columns]
        return self._kept[key]

    def approximate(
        self, changes: Mapping[str, Any] | None = None, rows: Array | slice = slice(None),
        columns: Array | slice = slice(None), absolute: bool = False,
    ) -> NDArray[np.float64]:  # fmt: skip
        """D in float64, not rounded: all of it, or some rows and columns.

        Args:
            changes: by operand, a pair of a source (or None) and of values (or None for its own).
            absolute: the sum of the magnitudes instead.
        """
        changes = changes or {}
        c = self._added(changes.get("C"), rows, columns)
        x, y = self.factors("A", changes, rows), self.factors("B", changes, columns)
        if absolute:
            size: NDArray[np.float64] = abs(self.alpha) * (np.abs(x) @ np.abs(y)) + np.abs(self.beta * c)
            return size
        total: NDArray[np.float64] = self.alpha * (x @ y) + self.beta * c
        return total

    def estimates(
        self, name: str, sources: Sequence[Array | Source], rows: Array, columns: Array
    ) -> NDArray[np.float64]:
        """Some rows and columns of D in float64 for each of many moves of one operand: (move, batch, ...)."""
        part = columns if name == "B" else rows
        index: tuple[Any, ...] = (..., part) if name == "B" else (..., part, slice(None))
        if name in "CD":
            index = (..., rows[:, None], columns)
        of_rows, of_columns = (slice(None) if name == other else part for other, part in (("B", rows), ("A", columns)))
        at = np.stack([part_of(source, of_rows, of_columns) for source in sources])
        array = self.right if name == "D" else self.values[name]
        taken = array.reshape(len(array), -1)[:, np.maximum(at, 0)]
        found: NDArray[np.float64] = np.moveaxis(np.where(at < 0, 0.0, taken), 1, 0)
        if name == "D":
            return found
        sign = self._signs[name]
        found = found * (sign if isinstance(sign, float) else sign[index])
        if name in "AB" and self.execution.block_size:
            scales = self.effective(f"S{name}", None, part)
            found = found * np.repeat(scales, self.execution.block_size, axis=-1 if name == "A" else -2)
        if name == "C":
            zero = self.alpha * (self.factors("A", {}, rows) @ self.factors("B", {}, columns))
            return zero + self.beta * (np.abs(found) if self.execution.absolute else found)
        pair = (found, self.factors("B", {}, columns)) if name == "A" else (self.factors("A", {}, rows), found)
        total: NDArray[np.float64] = self.alpha * np.matmul(*pair)
        return total + self.beta * self._added(None, rows, columns)

    def movable(self, name: str) -> bool:
        """Whether `estimates` knows an operand: not a sparse A, nor one that CBSZ or BLGP rearranges."""
        return self.linear and name in "ABCD" and name not in self._moved and not (
            name == "A" and self.execution.sparsity
        )  # fmt: skip

    @property
    def linear(self) -> bool:
        """Whether D is A B + C in numbers (not so for the single-bit products)."""
        return self.execution.formats["A"].bits > 1


def tile_of(problem: Problem, shape: tuple[int, ...]) -> Array:
    """The number of the tile that each element of D is in: (rows, columns), counted row by row."""
    rows, columns = problem.execution.shapes["D"][-2:]
    i, j = np.indices(shape[-2:])
    numbers: Array = i // rows * problem.tiles[1] + j // columns
    return np.broadcast_to(numbers, shape)


def elements(shape: tuple[int, ...]) -> Array:
    """The flat index of every element."""
    return np.arange(prod(shape)).reshape(shape)


def problem_of(
    inst: Instruction, a: ArrayLike, b: ArrayLike, c: ArrayLike, bits: bool, rest: Mapping[str, Any]
) -> Problem:
    """The `Problem` of the arguments of `mmacalc.diagnose`.

    Raises:
        Error: an operand that does not fit.
    """
    options = dict(rest)
    further = [options.pop(name, None) for name in ("index", "scale_a", "scale_b")]
    flags = [bool(options.pop(name, False)) for name in ("clamp", "satfinite")]
    scalars = (_scalar("alpha", options.pop("alpha", 1.0)), _scalar("beta", options.pop("beta", 1.0)))
    execution = execution_of(inst, options.pop("wave", None), options, *flags)
    read = as_array if bits else as_values
    given = {name: read(execution, name, value) for name, value in (("A", a), ("B", b), ("C", c))}
    codes = {name: (checked if bits else rounded)(execution, name, value) for name, value in given.items()}
    codes |= extras(execution, *further)
    codes = _whole(execution, codes) if _is_gemm(execution, codes) else prepared(execution, codes)
    return Problem(execution, codes, {} if bits else given, scalars)


def _scalar(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise Error(f"diagnose(): {name} = {shown(value)} should be a number") from None
    if not np.isfinite(number):
        raise Error(f"diagnose(): {name} = {number} should be finite")
    return number


def _is_gemm(execution: Execution, codes: Mapping[str, Array]) -> bool:
    """Whether A and B are larger matrices, to be cut into tiles for the instruction."""
    a, b, inst = codes["A"], codes["B"], execution.inst
    if inst.blocks > 1 or a.ndim < 2 or b.ndim < 2:
        return False
    dense = a.shape[-1] == b.shape[-2] and not ("K" in codes and execution.sparsity)
    stored = a.shape[-1] * inst.k == b.shape[-2] * execution.shapes["A"][-1]
    own = (inst.m, inst.k, inst.n)
    return (dense or ("K" in codes and stored)) and (a.shape[-2], b.shape[-2], b.shape[-1]) != own


def _whole(execution: Execution, codes: dict[str, Array]) -> dict[str, Array]:
    """The checked inputs of a whole GEMM: a dense A compressed, scales of 1 filled in, C of the right shape."""
    inst = execution.inst
    (rows, _), (k, columns) = codes["A"].shape[-2:], codes["B"].shape[-2:]
    if k % inst.k and (execution.sparsity or execution.block_size):
        raise Error(f"a whole product by {inst.name} needs a K that is a multiple of {inst.k}; got {k}")
    if k > inst.k and execution.formats["C"] != execution.formats["D"]:
        raise Error(f"{inst.name} cannot be chained along K: C is {execution.formats['C'].name}, D is not")
    if execution.sparsity and "K" not in codes:
        dense = codes["A"].reshape(*codes["A"].shape[:-1], -1, inst.k)
        part = {"A": np.moveaxis(dense, -2, 0), "B": np.zeros(execution.shapes["B"], codes["B"].dtype)}
        pad = (-rows) % inst.m
        part["A"] = np.pad(part["A"], [(0, 0)] * (part["A"].ndim - 2) + [(0, pad), (0, 0)])
        part["A"] = part["A"].reshape(*part["A"].shape[:-2], -1, inst.m, inst.k)
        made = prepared(execution, {**part, "C": np.zeros((), codes["C"].dtype)})
        for name in ("A", "K"):
            cut = made[name].reshape(*made[name].shape[:-3], -1, made[name].shape[-1])[..., :rows, :]
            codes[name] = np.moveaxis(cut, 0, -2).reshape(*cut.shape[1:-1], -1)
    needed = {"C": (rows, columns)}
    for name in ("SA", "SB") if execution.block_size else ():
        needed[name] = (rows, k // execution.block_size) if name == "SA" else (k // execution.block_size, columns)
        codes.setdefault(name, np.broadcast_to(encode(np.array(1.0), execution.formats[name]), needed[name]))
    if execution.sparsity:
        needed["K"] = (rows, k // inst.k * execution.shapes["K"][-1])
    if codes["C"].ndim == 0:
        codes["C"] = np.broadcast_to(codes["C"], needed["C"])
    for name, shape in needed.items():
        if codes[name].shape[-2:] != shape:
            raise Error(
                f"{name} of the whole product has shape {codes[name].shape}; it needs (..., {shape[0]}, {shape[1]})"
            )
    return codes


# --- The rows, columns, lanes, registers and tiles of a matrix: what a set of elements is said to consist of ---


def units(problem: Problem, name: str) -> dict[str, Array]:
    """The tile, block, row, column or k, lane and register of every element of an operand."""
    shape = problem.shapes[name]
    index = np.indices(shape)
    axes = {"A": ("row", "k"), "B": ("k", "column")}.get(name, ("row", "column"))
    table: dict[str, Array] = {}
    own = problem.execution.shapes[name]
    if len(shape) == 3:
        table["block"] = index[0]
    elif problem.tiles != (1, 1, 1):
        across = -(-shape[1] // own[1])
        table["tile"] = index[0] // own[0] * across + index[1] // own[1]
    table |= dict(zip(axes, index[-2:]))
    if name in "ABCD" and problem.execution.in_registers(name if name in problem.inst.operands else "D"):
        place = problem.execution.places(name if name in problem.inst.operands else "D", natural=name in "AB")
        source = whole(problem.everywhere(name, elements(own)))
        inside = np.indices(shape)
        at = source if len(shape) == 3 else inside[0] % own[0] * own[1] + inside[1] % own[1]
        table["lane"] = place.lane[..., 0].reshape(-1)[at]
        table["register"] = place.register[..., 0].reshape(-1)[at]
    return table


def many(what: str) -> str:
    """The plural of a kind of unit."""
    return what if what == "k" else f"{what}s"


def runs(numbers: Iterable[Any]) -> str:
    """Whole numbers in order, runs shortened.

    >>> runs([4, 5, 6, 7, 0, 1])
    '4-7 0 1'
    """
    found: list[list[int]] = []
    for number in map(int, numbers):
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return " ".join(f"{part[0]}-{part[-1]}" if len(part) > 2 else " ".join(map(str, part)) for part in found)


def parts(problem: Problem, name: str, mask: Array) -> tuple[list[str], list[str]]:
    """The units that a set of elements (of one matrix) consists of exactly, and those within which it lies."""
    exact: list[str] = []
    within: list[str] = []
    for what, numbers in units(problem, name).items():
        present, everywhere = np.unique(numbers[mask]), np.unique(numbers)
        if 0 < len(present) < len(everywhere):
            text = f"{many(what) if len(present) > 1 else what} {unit_numbers(problem, what, present)}"
            (exact if mask[np.isin(numbers, present)].all() else within).append(text)
    return exact, within


def unit_numbers(problem: Problem, what: str, numbers: Iterable[Any]) -> str:
    """The numbers of units; tiles as (row, column)."""
    if what != "tile":
        return runs(numbers)
    return " ".join(f"({number // problem.tiles[1]}, {number % problem.tiles[1]})" for number in map(int, numbers))


def whole_units(problem: Problem, name: str, mask: Array) -> str | None:
    """The units that a set of elements consists of exactly, in words; None if there are none."""
    exact, within = parts(problem, name, mask)
    if exact:
        return exact[0]
    both = [text for text in within if text.startswith(("lane", "register"))]
    if len(both) == 2:
        table = units(problem, name)
        lanes, registers = (np.isin(table[what], np.unique(table[what][mask])) for what in ("lane", "register"))
        if np.array_equal(lanes & registers, mask) and mask.sum() > 1:
            return f"{both[1]} of {both[0]}"
    return None
