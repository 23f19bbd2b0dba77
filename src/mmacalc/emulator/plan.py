"""What a product of whole matrices is made of: the instruction, the shapes, the steps of K, the chains."""

from __future__ import annotations

import os
from itertools import pairwise
from math import prod

import numpy as np

from ..arithmetic.codecs import code_type, decode, encode, largest, round_to_format
from ..base.errors import Error, did_you_mean
from ..base.records import Cache, frozen
from ..catalog import entry
from ..formats import FORMATS, formats_named
from ..throughput import chained
from . import fast
from .arrays import checked
from .cuts import Cuts, cuts_of
from .execution import Execution, execution_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Protocol

    from numpy.typing import ArrayLike, NDArray

    from ..formats import Format
    from ..model import Instruction

    Array = NDArray[Any]
    Progress = Callable[[int, int], object]

    class Arithmetic(Protocol):
        """What a product is computed with: codes and values in NumPy's arrays, or in torch's tensors on a GPU.

        Values are float32, of f64 results float64, of integers int32.
        """

        def zeros(self, codes: Any) -> Any:
            """Zeros in the shape of C."""

        def chain(self, codes: dict[str, Any]) -> Any:
            """D's codes of one chain along K, (entries, M, N)."""

        def wide(self, codes: Any) -> Any:
            """The values of D's codes."""

        def narrow(self, values: Any) -> Any:
            """The codes of values, rounded to nearest even."""

        def plus(self, x: Any, y: Any) -> Any:
            """Each sum rounded to nearest even."""

        def times(self, number: float, values: Any) -> Any:
            """Each product with a number of the values' type, rounded to nearest even."""

        def rounded(self, values: Any, form: Format) -> Any:
            """Values rounded to nearest even to a narrower format."""


__all__ = ["Plan", "best_instruction", "cores", "shape_text"]

ROWS, COLUMNS = 512, 1024
"""The part of D that is worked on at a time; what is decoded for it takes some 20 MiB."""
TYPES = {
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "float8_e4m3fn": "fp8",
    "float8_e5m2": "bf8", "float8_e4m3fnuz": "fp8", "float8_e5m2fnuz": "bf8", "float6_e2m3fn": "fp6",
    "float6_e3m2fn": "bf6", "float4_e2m1fn": "fp4", "int8": "i8", "uint8": "u8", "int4": "i4", "uint4": "u4",
}  # fmt: skip
"""The format that an array's type stands for where no instruction is given."""
SIGNED = {"i8", "i4"}
"""Formats of signed integers, which RDNA's instructions take where NEG says so."""


class OnHost:
    """NumPy's arrays, by the fast kernels, or by the models where an instruction has none."""

    execution: Execution
    threads: int
    form: Format

    def __init__(self, execution: Execution, threads: int) -> None:
        self.execution, self.threads = execution, threads
        self.form = execution.formats["D"]

    def zeros(self, codes: Array) -> Array:
        """Zeros in the shape of C."""
        return np.zeros_like(codes)

    def chain(self, codes: dict[str, Array]) -> Array:
        """D's codes of one chain along K."""
        kernel = fast.kernel(self.execution)
        if kernel is not None:
            return fast.products(self.execution, kernel, codes, self.threads)
        from .computing import by_model

        return by_model(self.execution, codes)

    def wide(self, codes: Array) -> Array:
        """The values of D's codes."""
        values = decode(codes, self.form)
        return values if self.form.bits == 64 else values.astype(np.float32 if self.form.is_float else np.int32)

    def narrow(self, values: Array) -> Array:
        """The codes of values."""
        if not self.form.is_float:
            return values.view(np.uint32)
        return encode(values.astype(np.float64), self.form, self.execution.inst.architecture.vendor)

    def plus(self, x: Array, y: Array) -> Array:
        """The sums."""
        with np.errstate(all="ignore"):
            total: Array = x + y
        return total

    def times(self, number: float, values: Array) -> Array:
        """The products."""
        with np.errstate(all="ignore"):
            product: Array = values.dtype.type(number) * values
        return product

    def rounded(self, values: Array, form: Format) -> Array:
        """Values of a narrower format."""
        return round_to_format(values.astype(np.float64), form).astype(values.dtype)


class Plan:
    """One product that is about to be computed: the instruction, the shapes, the steps of K.

    Attributes:
        execution: the instruction under its modifiers; m, n, k: the sizes, K filled up; batch: the leading axes.
        cuts: how K is cut into chains. sums: the format in which their results are kept; None is f32 (of f64 results
            f64). result: the format of D, that of the instruction or what it is converted to.
        codes: A (batch, M, K), B (batch, K, N), C (batch, M, N) and scales, as codes.
    """

    m: int
    given_k: int
    n: int
    execution: Execution
    steps: int
    k: int
    cuts: Cuts
    split_k: int
    sums: Format | None
    result: Format
    threads: int
    alpha: float
    beta: float

    def __init__(
        self, a: ArrayLike, b: ArrayLike, arch: str | None, instruction: str | Instruction | None,
        modifiers: Mapping[str, int | str], k_order: Any, split_k: Any, threads: int | None, promote: int = 0,
        accumulate: str | None = None, d_type: str | None = None,
    ) -> None:  # fmt: skip
        shapes = [_shape(name, value) for name, value in (("A", a), ("B", b))]
        if shapes[0][-1] != shapes[1][-2]:
            raise Error(
                f"A is {shape_text(shapes[0])} and B {shape_text(shapes[1])}; B needs as many rows as A has columns (K)"
            )
        self.m, self.given_k, self.n = shapes[0][-2], shapes[0][-1], shapes[1][-1]
        inst, chosen = _instruction(arch, instruction, a, (self.m, self.n, self.given_k))
        self.execution = _execution(inst, {**chosen, **modifiers})
        self.steps = -(-self.given_k // inst.k)
        self.k = self.steps * inst.k
        shape = self.m, self.n, self.given_k
        self.cuts = cuts_of(inst, self.execution.formats["A"].bits, shape, k_order, split_k, promote)
        self.split_k = len(self.cuts.at) - 1
        self.sums = _sums(self.execution, accumulate, isinstance(split_k, str) or self.split_k > 1 or promote != 0)
        self.result = _result(self.execution, d_type)
        self.threads = _threads(threads)
        self.alpha, self.beta = 1.0, 1.0
        self._arithmetic = OnHost(self.execution, self.threads)
        self.codes: dict[str, Array] = {}
        self.batch: tuple[int, ...] = ()

    def epilogue(self, alpha: float, beta: float) -> None:
        """Take alpha and beta.

        Raises:
            Error: integer results with others than 1, and 0 or 1.
        """
        if not self.execution.formats["D"].is_float and (alpha != 1 or beta not in (0, 1)):
            raise Error(
                f"{self.execution.inst.name} has integer results; alpha is 1 and beta 0 or 1, not {alpha}, {beta}"
            )
        self.alpha, self.beta = alpha, beta

    def take(self, codes: Mapping[str, Array], scale_a: ArrayLike | None, scale_b: ArrayLike | None) -> None:
        """Take the operands as codes, check their shapes, and fill K up.

        Raises:
            Error: an operand whose shape does not fit.
        """
        given, size = dict(codes), self.execution.block_size
        shapes = {name: array.shape for name, array in codes.items()}
        shapes |= {
            name: np.shape(scale) for name, scale in (("SA", scale_a), ("SB", scale_b)) if scale is not None
        }  # fmt: skip
        self.batch = self.require_shapes(shapes)
        for name, value in (("SA", scale_a), ("SB", scale_b)) if size else ():
            if value is None:
                one = encode(np.array(1.0), self.execution.formats[name])
                given[name] = np.broadcast_to(one, self.wanted[name])
            else:
                given[name] = checked(self.execution, name, value)
        if not given["C"].ndim:
            given["C"] = np.broadcast_to(given["C"], self.wanted["C"])
        self.codes = {name: self._ready(name, array) for name, array in given.items()}

    @property
    def wanted(self) -> dict[str, tuple[int, int]]:
        """The last two axes of each operand, as they are given."""
        shapes = {"A": (self.m, self.given_k), "B": (self.given_k, self.n), "C": (self.m, self.n)}
        if size := self.execution.block_size:
            blocks = -(-self.given_k // size)
            shapes |= {"SA": (self.m, blocks), "SB": (blocks, self.n)}
        return shapes

    def require_shapes(self, shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
        """The leading axes of the result of operands of these shapes; C may be a number, ().

        Raises:
            Error: an operand whose shape does not fit, or scales of an instruction that has none.
        """
        wanted = self.wanted
        if not self.execution.block_size and {"SA", "SB"} & shapes.keys():
            raise Error(f"{self.execution.inst.name} has no block scales, so it takes no scale_a and scale_b")
        for name, shape in shapes.items():
            if (name != "C" or shape) and tuple(shape[-2:]) != wanted[name]:
                needed = shape_text(("...", *wanted[name]))
                raise Error(f"{_NAMES.get(name, name)} is {shape_text(shape)}; it needs {needed}")
        try:
            return np.broadcast_shapes(*(shape[:-2] for shape in shapes.values()))
        except ValueError:
            text = ", ".join(f"{_NAMES.get(name, name)} {shape_text(shape)}" for name, shape in shapes.items())
            raise Error(f"the batches do not broadcast: {text}") from None

    def result_type(self, codes: bool) -> Any:
        """The type of D's codes, or of its values."""
        form = self.result
        if codes:
            return code_type(form)
        return np.dtype(np.int32 if not form.is_float else np.float64 if form.bits == 64 else np.float32)

    def _ready(self, name: str, array: Array) -> Array:
        """(batch, rows, columns), K filled up with zeros (scales with ones) and in the order of the steps."""
        axis = {"A": -1, "SA": -1, "B": -2, "SB": -2}.get(name)
        if axis is not None:
            length = self.k if name in "AB" else self.k // self.execution.block_size
            if missing := length - array.shape[axis]:
                filler = 0 if name in "AB" else int(encode(np.array(1.0), self.execution.formats[name]))
                width = [(0, 0)] * array.ndim
                width[axis] = (0, missing)
                array = np.pad(array, width, constant_values=filler)
            at = self.reordered(length)
            if at is not None:
                array = np.take(array, at, axis=axis)
        return np.broadcast_to(array, (*self.batch, *array.shape[-2:])).reshape(prod(self.batch), *array.shape[-2:])

    def reordered(self, length: int) -> Array | None:
        """Where an operand of a length along K is read, step by step in their order; None if that is ascending."""
        if self.cuts.order is None or self.steps < 2:
            return None
        each = length // self.steps
        at: Array = (np.asarray(self.cuts.order)[:, None] * each + np.arange(each)).ravel()
        return at

    def run(self, progress: Progress | None = None) -> Array:
        """D's codes (*batch, M, N)."""
        result = np.empty((prod(self.batch), self.m, self.n), code_type(self.result))
        parts = list(self._parts())
        for done, (entries, rows, columns, cuts) in enumerate(parts):
            if progress:
                progress(done, len(parts))
            part = {name: array[entries] for name, array in self.codes.items()}
            for name in {"A", "C", "SA"} & part.keys():
                part[name] = part[name][:, rows]
            for name in {"B", "C", "SB"} & part.keys():
                part[name] = part[name][:, :, columns]
            result[entries, rows, columns] = self.product(part, self._arithmetic, cuts)
        if progress:
            progress(len(parts), len(parts))
        return result.reshape(*self.batch, self.m, self.n)

    def _parts(self) -> Iterator[tuple[slice, slice, slice, list[int]]]:
        """Entries of the batch, rows and columns that are computed at a time, and how their K is cut."""
        if self.cuts.tiles:
            if self.batch:
                raise Error("split_k = 'stream-k:...' numbers the tiles of one product; A and B have batches")
            for rows, columns, cuts in self.cuts.tiles.tiles(self.m, self.n, self.steps):
                yield slice(0, 1), rows, columns, cuts
            return
        together = max(1, ROWS * COLUMNS // max(1, max(self.m, self.k) * max(self.n, self.k)))
        for first in range(0, prod(self.batch), together):
            for row in range(0, self.m, ROWS):
                for column in range(0, self.n, COLUMNS):
                    at = slice(row, row + ROWS), slice(column, column + COLUMNS)
                    yield slice(first, first + together), *at, self.cuts.at

    def product(self, codes: Mapping[str, Any], arithmetic: Arithmetic, cuts: Sequence[int]) -> Any:
        """D's codes of a part: the chains, their sum, the epilogue, in the order that the whole has.

        Args:
            codes: (entries, rows, columns) of each operand. arithmetic: computes on the arrays that these are.
            cuts: the steps at which chains begin, from 0 to the number of steps.
        """
        plain = self.alpha == 1 and self.beta == 1
        start = codes["C"] if plain else arithmetic.zeros(codes["C"])
        total = self._chains({**codes, "C": start}, arithmetic, cuts)
        if plain and self.result == self.execution.formats["D"]:
            return total
        values = arithmetic.wide(total)
        if not plain:
            values = self._scaled(values, codes["C"], arithmetic)
        return arithmetic.narrow(values) if self.result == self.execution.formats["D"] else self.converted(values)

    def _chains(self, codes: Mapping[str, Any], arithmetic: Arithmetic, cuts: Sequence[int]) -> Any:
        """The codes of all chains' sum, the first of which starts from C."""
        start = codes["C"]
        if len(cuts) == 2:
            return self._chain(dict(codes), arithmetic)
        sums = None
        for first, last in pairwise(cuts):
            k = slice(first * self.execution.inst.k, last * self.execution.inst.k)
            begin = start if first == 0 else arithmetic.zeros(start)
            part = {"A": codes["A"][:, :, k], "B": codes["B"][:, k], "C": begin}
            if size := self.execution.block_size:
                blocks = slice(k.start // size, k.stop // size)
                part |= {"SA": codes["SA"][:, :, blocks], "SB": codes["SB"][:, blocks]}
            values = self._kept(arithmetic.wide(self._chain(part, arithmetic)), arithmetic)
            sums = values if sums is None else self._kept(arithmetic.plus(sums, values), arithmetic)
        return arithmetic.narrow(sums)

    def _kept(self, values: Any, arithmetic: Arithmetic) -> Any:
        """Sums of chains as they are kept between them."""
        return values if self.sums is None else arithmetic.rounded(values, self.sums)

    def _chain(self, codes: dict[str, Any], arithmetic: Arithmetic) -> Any:
        return arithmetic.chain(codes) if self.k else codes["C"]

    def _scaled(self, values: Any, c: Any, arithmetic: Arithmetic) -> Any:
        """alpha times values plus beta times C."""
        if self.alpha != 1:
            values = arithmetic.times(self.alpha, values)
        if self.beta:
            values = arithmetic.plus(values, arithmetic.times(self.beta, arithmetic.wide(c)))
        return values

    def converted(self, values: Array) -> Array:
        """The codes of values in the format that D is converted to, as the GPU's conversions round and overflow."""
        record = self.execution.inst.architecture
        wide = values.astype(np.float64)
        if self.result.bits == 8 and record.family.small_overflow == "largest":
            most = largest(self.result.name)
            wide = np.clip(wide, -most, most)  # a NaN stays one
        return encode(wide, self.result, record.vendor)

    def values(self, codes: Array) -> Array:
        """D's values as `gemm` returns them."""
        if self.result == self.execution.formats["D"]:
            values: Array = self._arithmetic.wide(codes)
            return values
        return decode(codes, self.result).astype(np.float32)


_NAMES = {"SA": "scale_a", "SB": "scale_b"}


def shape_text(shape: Sequence[object]) -> str:
    """A shape as a message has it."""
    return f"({', '.join(map(str, shape))})"


def _shape(name: str, value: ArrayLike) -> tuple[int, ...]:
    shape = tuple(value.shape) if hasattr(value, "shape") else np.shape(value)
    if len(shape) < 2:
        raise Error(f"{name} has shape {shape_text(shape)}; it needs (..., {'M, K' if name == 'A' else 'K, N'})")
    if any(size != size for size in shape):  # Dask has NaN for a size that it does not know
        raise Error(f"{name} has chunks of unknown size; {name} = {name}.compute_chunk_sizes() finds them")
    return tuple(map(int, shape))


def _instruction(
    arch: str | None, instruction: str | Instruction | None, a: ArrayLike, shape: tuple[int, int, int]
) -> tuple[Instruction, Mapping[str, int]]:
    """The instruction, and the modifiers that choose its formats.

    Raises:
        Error: no architecture, no type that stands for a format, or no instruction that fits.
    """
    if instruction is not None and not isinstance(instruction, str):
        return instruction, {}
    if arch is None:
        raise Error('gemm needs arch="gfx942" or another architecture, or an Instruction')
    if instruction is not None:
        return entry(arch).instruction(instruction), {}
    name = str(getattr(a, "dtype", "no array")).rpartition(".")[2]  # of torch.float16
    form = {**TYPES, "float32": entry(arch).architecture.family.float32}.get(name)
    if form is None:
        known = ", ".join(TYPES)
        raise Error(f"A has type {name}, for which there is no format; give instruction=, or an array of {known}")
    return best_instruction(arch, form, shape)


def best_instruction(arch: str, form: str, shape: tuple[int, int, int]) -> tuple[Instruction, Mapping[str, int]]:
    """The instruction whose chains take the matrix units the least time for a product of matrices of a format (M, N, K)
    (`throughput.chained`), of those that can be chained and accumulate in the widest format (f32 rather than f16), and
    the modifiers that choose the format.

    Raises:
        Error: there is none.
    """
    found: tuple[Instruction, Mapping[str, int]] = _best.get((arch, form, shape), lambda: _found(arch, form, shape))
    return found


_best = Cache(1 << 10)  # by architecture, format and shape, so that a loop over small products asks the catalog once


def _found(arch: str, form: str, shape: tuple[int, int, int]) -> tuple[Instruction, Mapping[str, int]]:
    record = entry(arch).architecture
    record.family.require("arithmetic", record.title)
    m, n, k = (max(1, size) for size in shape)
    found: dict[int, tuple[Instruction, Mapping[str, int]]] = {}
    for candidate in chained(arch, m, n, k, form):
        inst, fields = candidate.instruction, candidate.modifiers
        accumulator = inst.format_of("C", fields)
        if accumulator == inst.format_of("D", fields):
            either = inst.format_of("A", fields).kind == "either"
            signed = {"neg": 3} if either and formats_named(form) <= SIGNED else {}
            found.setdefault(accumulator.bits, (inst, {**fields, **signed}))
    if not found:
        raise Error(f"{arch} has no instruction on {form} whose C and D have the same format")
    inst, fields = found[max(found)]
    return inst, frozen(fields)


def _execution(inst: Instruction, modifiers: Mapping[str, int | str]) -> Execution:
    """The instruction under its modifiers.

    Raises:
        Error: it cannot be chained, or a modifier does more than choose a format.
    """
    execution = execution_of(inst, None, modifiers, False, False)
    signs = {"neg"} if execution.formats["A"].kind == "either" else set()
    if extra := execution.fields.keys() - inst.choices.keys() - signs:
        raise Error(f"gemm takes modifiers that choose formats; {', '.join(sorted(extra))} moves or negates elements")
    if execution.sparsity:
        raise Error(f"{inst.name} is sparse; gemm chains dense instructions")
    if execution.formats["C"] != execution.formats["D"]:
        raise Error(
            f"{inst.name} has a C of {execution.formats['C'].name} and a D of {execution.formats['D'].name}; in a "
            "chain D is the next C, so they must be the same"
        )
    return execution


def _sums(execution: Execution, accumulate: str | None, cut: bool) -> Format | None:
    """The format in which the results of chains are kept; None is that of their additions.

    Raises:
        Error: it is none of f32, f16 and bf16, there is but one chain, or results are f64 or integers.
    """
    if accumulate is None:
        return None
    if accumulate not in ("f32", "f16", "bf16"):
        hint = did_you_mean(str(accumulate), ("f32", "f16", "bf16"))
        raise Error(f"accumulate = '{accumulate}' is f32, f16 or bf16, the format of sums between chains.{hint}")
    form = execution.formats["D"]
    if not form.is_float or form.bits == 64:
        raise Error(
            f"accumulate = '{accumulate}': {execution.inst.name} has results of {form.name}, whose sums are too"
        )
    if not cut:
        raise Error(
            f"accumulate = '{accumulate}' is how sums are kept between chains, and K is one chain; cut it by promote "
            "or split_k, or choose an instruction whose D is narrower"
        )
    return None if accumulate == "f32" else FORMATS[accumulate]


_SMALL = ("e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz")
"""The formats of 8 bits that D is converted to, where the architecture's instructions have them."""


def _result(execution: Execution, d_type: str | None) -> Format:
    """The format of D.

    Raises:
        Error: there is no conversion to it, or it is not known what one does.
    """
    own, inst = execution.formats["D"], execution.inst
    if d_type is None or formats_named(d_type) == {own.name}:
        return own
    if not own.is_float or own.bits == 64:
        raise Error(f"d_type = '{d_type}': {inst.name} has results of {own.name}, which are not converted")
    known = ["f16", "bf16"] if own.bits == 32 else []
    if inst.architecture.family.small_overflow:
        taken = {other.format("A").name for other in entry(inst.arch).instructions() if "A" in other.operands}
        known += [name for name in _SMALL if name in taken]
    chosen = formats_named(d_type) & set(known)
    if len(chosen) != 1:
        raise Error(
            f"d_type = '{d_type}': {inst.arch} converts {own.name} to {', '.join(known) or 'no narrower format'}, as "
            "far as its conversions are known here"
        )
    return FORMATS[chosen.pop()]


def cores() -> int:
    """How many cores the process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


def _threads(threads: int | None) -> int:
    if threads is None:
        return cores()
    if threads < 1:
        raise Error(f"threads = {threads} should be at least 1")
    return threads
