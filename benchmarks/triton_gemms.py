"""What the benchmarks of generated GEMMs compare: cells of a table, Triton's kernel of each, and the table.

A cell is a target, a format, how A and B lie in memory, and a tile. Triton's kernel has masks for any size, as the
generated ones have; where matrices of NVIDIA come by tensor descriptors it is another one, without masks.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import mmacalc
from mmacalc.arithmetic.codecs import encode

ORDERS = list(itertools.product(("row", "col"), repeat=2))
SCALE_K = 32  # k that share a scale


class Form(NamedTuple):
    """A format. pointer: Triton's name of what A and B point to; bits: of an element; scaled: tl.dot_scaled's name."""

    pointer: str
    bits: int
    sums: str = "fp32"
    precision: str = "ieee"
    scaled: str = ""


FORMS = {
    "f16": Form("fp16", 16), "bf16": Form("bf16", 16), "i8": Form("i8", 8, "i32"), "fp8": Form("fp8e4nv", 8),
    "fp8 fnuz": Form("fp8e4b8", 8), "tf32": Form("fp32", 32, precision="tf32"), "f32": Form("fp32", 32),
    "mxfp8": Form("u8", 8, scaled="e4m3"), "mxfp4": Form("u8", 4, scaled="e2m1"),
    "fp6": Form("u8", 6), "mxfp6": Form("u8", 6, scaled="e2m3"),  # which no dot of Triton 3.9 takes
}  # fmt: skip


class Cell(NamedTuple):
    """One comparison. orders: of A and B; tile: of a workgroup."""

    target: str
    form: str
    orders: tuple[str, str]
    tile: tuple[int, int, int]

    @property
    def name(self) -> str:
        return f"{self.target} {self.form}, A {self.orders[0]}, B {self.orders[1]}, {'x'.join(map(str, self.tile))}"


class Row(NamedTuple):
    """What was measured of a kernel, of a stage of the loop and one wave; None where it was not.

    products: matrix instructions; others: all else; lost, cycles: of LDS; registers, scratch: of a lane; waves: that
    share a SIMD; used: of the loop's cycles those in which the matrix units are busy, by the model of `profile`.
    """

    products: float
    others: float
    lost: float | None = None
    cycles: float | None = None
    registers: int | None = None
    scratch: int | None = None
    waves: int | None = None
    used: float | None = None
    kinds: dict[str, float] = {}

    @property
    def ratio(self) -> float:
        return self.others / self.products


@triton.jit
def matmul(
    a, b, d, m, n, k, lda, ldb, ldd, block_m: tl.constexpr, block_n: tl.constexpr, depth: tl.constexpr,
    a_rows: tl.constexpr, b_rows: tl.constexpr, sum_type: tl.constexpr, precision: tl.constexpr,
):  # fmt: skip
    """D = A B with masks; each matrix row by row, or column by column."""
    rows, columns, inner = tl.arange(0, block_m), tl.arange(0, block_n), tl.arange(0, depth)
    rows += tl.program_id(0) * block_m
    columns += tl.program_id(1) * block_n
    sums = tl.zeros((block_m, block_n), dtype=sum_type)
    for start in range(0, k, depth):
        left = (rows[:, None] < m) & (start + inner[None, :] < k)
        right = (start + inner[:, None] < k) & (columns[None, :] < n)
        if a_rows:
            x = tl.load(a + rows[:, None] * lda + start + inner[None, :], mask=left, other=0.0)
        else:
            x = tl.load(a + rows[:, None] + (start + inner[None, :]) * lda, mask=left, other=0.0)
        if b_rows:
            y = tl.load(b + (start + inner[:, None]) * ldb + columns[None, :], mask=right, other=0.0)
        else:
            y = tl.load(b + start + inner[:, None] + columns[None, :] * ldb, mask=right, other=0.0)
        sums = tl.dot(x, y, sums, input_precision=precision, out_dtype=sum_type)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(d + rows[:, None] * ldd + columns[None, :], sums, mask=inside)


@triton.jit
def scaled_matmul(
    a, b, d, a_scales, b_scales, m, n, k, lda, ldb, ldd, block_m: tl.constexpr, block_n: tl.constexpr,
    depth: tl.constexpr, a_rows: tl.constexpr, b_rows: tl.constexpr, form: tl.constexpr, pairs: tl.constexpr,
):  # fmt: skip
    """The same with E8M0 scales of 32 k, row by row for the rows of A and the columns of B; 4 bits in pairs along k."""
    rows, columns, inner = tl.arange(0, block_m), tl.arange(0, block_n), tl.arange(0, depth // pairs)
    blocks = tl.arange(0, depth // 32)
    rows += tl.program_id(0) * block_m
    columns += tl.program_id(1) * block_n
    sums = tl.zeros((block_m, block_n), dtype=tl.float32)
    units, scales = k // pairs, k // 32
    for start in range(0, units, depth // pairs):
        left = (rows[:, None] < m) & (start + inner[None, :] < units)
        right = (start + inner[:, None] < units) & (columns[None, :] < n)
        if a_rows:
            x = tl.load(a + rows[:, None] * lda + start + inner[None, :], mask=left, other=0)
        else:
            x = tl.load(a + rows[:, None] + (start + inner[None, :]) * lda, mask=left, other=0)
        if b_rows:
            y = tl.load(b + (start + inner[:, None]) * ldb + columns[None, :], mask=right, other=0)
        else:
            y = tl.load(b + start + inner[:, None] + columns[None, :] * ldb, mask=right, other=0)
        first = start * pairs // 32
        inside = first + blocks[None, :] < scales
        at = first + blocks[None, :]
        sx = tl.load(a_scales + rows[:, None] * scales + at, mask=inside & (rows[:, None] < m), other=0)
        sy = tl.load(b_scales + columns[:, None] * scales + at, mask=inside & (columns[:, None] < n), other=0)
        sums = tl.dot_scaled(x, sx, form, y, sy, form, sums)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(d + rows[:, None] * ldd + columns[None, :], sums, mask=inside)


@triton.jit
def by_descriptors(
    a, b, d, m, n, k, lda, ldb, ldd, block_m: tl.constexpr, block_n: tl.constexpr, depth: tl.constexpr,
    a_rows: tl.constexpr, b_rows: tl.constexpr, sum_type: tl.constexpr, precision: tl.constexpr,
):  # fmt: skip
    """D = A B by TMA: tensor descriptors of A and B."""
    first_m, first_n = tl.program_id(0) * block_m, tl.program_id(1) * block_n
    if a_rows:
        of_a = tl.make_tensor_descriptor(a, shape=[m, k], strides=[lda, 1], block_shape=[block_m, depth])
    else:
        of_a = tl.make_tensor_descriptor(a, shape=[k, m], strides=[lda, 1], block_shape=[depth, block_m])
    if b_rows:
        of_b = tl.make_tensor_descriptor(b, shape=[k, n], strides=[ldb, 1], block_shape=[depth, block_n])
    else:
        of_b = tl.make_tensor_descriptor(b, shape=[n, k], strides=[ldb, 1], block_shape=[block_n, depth])
    sums = tl.zeros((block_m, block_n), dtype=sum_type)
    for start in range(0, k, depth):
        if a_rows:
            x = of_a.load([first_m, start])
        else:
            x = of_a.load([start, first_m]).T
        if b_rows:
            y = of_b.load([start, first_n])
        else:
            y = of_b.load([first_n, start]).T
        sums = tl.dot(x, y, sums, input_precision=precision, out_dtype=sum_type)
    rows, columns = first_m + tl.arange(0, block_m), first_n + tl.arange(0, block_n)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(d + rows[:, None] * ldd + columns[None, :], sums, mask=inside)


def of_triton(cell: Cell, wave: int, descriptors: bool = False, **options: int) -> Any:
    """Triton's kernel of a cell, compiled: four waves and what else it does by itself."""
    form = FORMS[cell.form]
    function: Any = scaled_matmul if form.scaled else by_descriptors if descriptors else matmul
    names = function.arg_names
    pointers = [f"*{form.pointer}"] * 2 + [f"*{form.sums}"] + ["*u8"] * 2 * bool(form.scaled)
    m, n, depth = cell.tile
    constants: dict[str, Any] = {"block_m": m, "block_n": n, "depth": depth}
    constants |= {"a_rows": cell.orders[0] == "row", "b_rows": cell.orders[1] == "row"}
    if form.scaled:
        constants |= {"form": form.scaled, "pairs": 8 // form.bits}
    else:
        constants |= {"sum_type": tl.int32 if form.sums == "i32" else tl.float32, "precision": form.precision}
    signature = dict(zip(names, [*pointers, *["i32"] * 6])) | dict.fromkeys(constants, "constexpr")
    aligned = {(at,): [["tt.divisibility", 16]] for at in range(len(pointers) + 6)}
    source = ASTSource(fn=function, signature=signature, constexprs=constants, attrs=aligned)
    vendor = "hip" if cell.target.startswith("gfx") else "cuda"
    number = cell.target if vendor == "hip" else int(re.sub(r"\D", "", cell.target))
    return triton.compile(source, target=GPUTarget(vendor, number, wave), options={"num_warps": 4, **options})


class Problem(NamedTuple):
    """Matrices of small numbers, as memory has them: A, B, their scales if they have any, and what A B is."""

    a: Any
    b: Any
    scales: tuple[Any, ...]
    product: Any


def problem(cell: Cell, k: int, formats: tuple[Any, Any], vendor: str, rows: tuple[int, int] | None = None) -> Problem:
    """One tile of D, of k."""
    rng = np.random.default_rng(0)
    m, n = rows or cell.tile[:2]
    a, b = rng.integers(-3, 4, (m, k)).astype(float), rng.integers(-3, 4, (k, n)).astype(float)
    if FORMS[cell.form].bits == 4:
        a, b = np.clip(a, -2, 2), np.clip(b, -2, 2)
    given = []
    for matrix, order, form in zip((a, b), cell.orders, formats):
        codes = np.ascontiguousarray(encode(matrix if order == "row" else matrix.T, form, vendor))
        codes = codes.astype(np.uint8) if form.bits <= 8 else codes
        given.append(together(codes, form.bits) if form.bits < 8 else codes)
    if not FORMS[cell.form].scaled:
        return Problem(*given, (), a @ b)
    scales = [rng.integers(126, 129, (size, k // SCALE_K)).astype(np.uint8) for size in (m, n)]
    x, y = (matrix * np.repeat(2.0 ** (s.astype(float) - 127), SCALE_K, 1) for matrix, s in zip((a, b.T), scales))
    return Problem(*given, tuple(scales), x @ y.T)


def together(codes: Any, bits: int) -> Any:
    """Rows of narrow encodings, one behind the other from the lowest bit of the first byte on."""
    every = codes[..., None] >> np.arange(bits, dtype=np.uint8) & 1
    return np.packbits(every.reshape(len(codes), -1), axis=1, bitorder="little")


# --- the table --------------------------------------------------------------------------------------------------------


def short(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def faults(ours: Row, theirs: Row) -> list[str]:
    """In what a generated kernel is worse than Triton's."""
    found = []
    if ours.ratio > theirs.ratio + 0.005 and ours.others / ours.products > 0:
        found.append("others")
    if ours.lost:
        found.append("conflicts")
    if ours.scratch:
        found.append("spills")
    if ours.waves is not None and theirs.waves is not None and ours.waves < theirs.waves:
        found.append("occupancy")
    if ours.used is not None and theirs.used is not None and ours.used < theirs.used - 0.005:
        found.append("use")
    return found


def line(name: str, row: Row) -> str:
    lost = "" if row.cycles is None else f"{row.lost:.0f}/{row.cycles:.0f}"
    kinds = " ".join(f"{kind} {count:g}" for kind, count in row.kinds.items())
    return (
        f"{name:56} {row.products:5g} {row.others:6.1f} {row.ratio:6.2f} {lost:>9} {short(row.registers, 0):>4} "
        f"{short(row.scratch, 0):>4} {short(row.waves, 0):>3} {short(row.used):>5}  {kinds}"
    )


HEAD = f"{'':56} {'prod':>5} {'others':>6} {'ratio':>6} {'lost':>9} {'regs':>4} {'scr':>4} {'occ':>3} {'use':>5}"


class Kept:
    """Triton's rows, kept in a file from run to run: its kernels do not change with ours."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.rows: dict[str, Any] = json.loads(path.read_text()) if path and path.exists() else {}

    def row(self, name: str, measure: Any) -> Row:
        if name not in self.rows:
            self.rows[name] = list(measure())
            if self.path:
                self.path.write_text(json.dumps(self.rows))
        return Row(*self.rows[name])


def compared(cells: Iterable[tuple[Cell, Any, Any]], kept: Kept) -> Iterator[tuple[Cell, Row, Row | None]]:
    """Print a pair of lines for each cell, and what is worse than Triton's.

    Args:
        cells: of each what measures the generated kernel, and what measures Triton's.
    """
    for cell, ours, theirs in cells:
        try:
            own = ours()
        except mmacalc.Error as error:
            print(f"{cell.name:56} refused: {error}", flush=True)
            continue
        print(line(cell.name, own), flush=True)
        try:
            other = kept.row(f"{triton.__version__} {cell.name}", theirs)
        except Exception as error:  # Triton's compiler raises anything
            print(f"    Triton: {type(error).__name__} {str(error).strip()[:100]}", flush=True)
            yield cell, own, None
            continue
        worse = faults(own, other)
        print(line("    Triton" + f"; worse: {', '.join(worse)}" * bool(worse), other), flush=True)
        yield cell, own, other


def summary(rows: list[tuple[Cell, Row, Row | None]]) -> str:
    """The table of docs/generate.md: of each target and format and of each order the other instructions for one matrix
    instruction, generated / Triton's; and waves of a SIMD, of the order that has the fewest."""
    heads = [f"A {a}, B {b}" for a, b in ORDERS]
    lines = [f"| target, format | {' | '.join(heads)} | waves |", f"|{'---|' * (len(heads) + 2)}"]
    found: dict[tuple[str, str], dict[tuple[str, str], tuple[Row, Row | None]]] = {}
    for cell, ours, theirs in rows:
        found.setdefault((cell.target, cell.form), {})[cell.orders] = ours, theirs
    for (target, form), every in found.items():
        texts = []
        for orders in ORDERS:
            ours, theirs = every.get(orders, (None, None))
            given = [f"{each.ratio:.2f}" if each else "-" for each in (ours, theirs)]
            texts.append(" / ".join(given) if ours else "")
        waves = [
            min((row.waves for pair in every.values() if (row := pair[which]) and row.waves), default=0)
            for which in (0, 1)
        ]
        lines.append(f"| {target}, {form} | {' | '.join(texts)} | {' / '.join(str(one or '-') for one in waves)} |")
    return "\n".join(lines)


def differences(first: Any, second: Any, steps: int, tiles: int) -> tuple[float, float, float]:
    """Of two profiles of which the second has `steps` more stages: cycles of bank conflicts and of all accesses for a
    stage of a tile, and the part of the time in which the matrix units are busy."""
    assert first.model.workgroups == second.model.workgroups, "the model followed fewer workgroups of the longer K"
    lost, cycles = (
        (getattr(second.counts, what) - getattr(first.counts, what)) / steps / tiles
        for what in ("conflicts", "shared_cycles")
    )
    busy = [
        {unit.name: unit.busy * one.model.cycles for unit in one.model.units}.get("matrix", 0)
        for one in (first, second)
    ]
    return lost, cycles, (busy[1] - busy[0]) / (second.model.cycles - first.model.cycles)


def run(
    about: str | None,
    instructions: Mapping[str, Mapping[str, str]],
    tile_of: Callable[[Cell, str | None], tuple[int, int, int]],
    ours: Callable[[Cell], Row],
    theirs: Callable[[Cell], Row],
    tiles: bool = False,
) -> None:
    """The command of a benchmark.

    Args:
        about: its help. instructions: by target and format. tile_of: the tile of the kernel of a cell, which is asked
            for as a text. ours, theirs: what measures a cell. tiles: whether another tile may be asked for.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="*", help=" ".join(instructions))
    parser.add_argument("--form", nargs="*", help=" ".join(FORMS))
    if tiles:
        parser.add_argument("--tile", help="MxNxK; by the target if left out")
    parser.add_argument("--order", nargs="*", help="A,B such as row,col; all four if left out")
    parser.add_argument("--kept", type=Path, help="a file that keeps Triton's side")
    parser.add_argument("--markdown", action="store_true", help="the table of docs/generate.md at the end")
    given = parser.parse_args()
    cells = []
    for target in given.target or instructions:
        for form, orders in itertools.product(instructions[target], ORDERS):
            if (given.form and form not in given.form) or (given.order and ",".join(orders) not in given.order):
                continue
            cell = Cell(target, form, orders, (0, 0, 0))
            try:
                cells.append(cell._replace(tile=tile_of(cell, given.tile if tiles else None)))
            except mmacalc.Error as error:
                print(f"{target} {form} {orders}: refused: {error}")
    print(HEAD)
    rows = list(compared([(one, partial(ours, one), partial(theirs, one)) for one in cells], Kept(given.kept)))
    if given.markdown:
        print(summary(rows))
