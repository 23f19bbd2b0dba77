"""Kernels in the manner of Triton's tutorials, compiled by Triton for AMD's and NVIDIA's GPUs and run on the emulator.

    python tools/triton_kernels.py                       every kernel for nine targets
    python tools/triton_kernels.py gfx1250 attention     only these targets and kernels

Needs Triton (its wheel has both backends; no GPU) and mmacalc. Each kernel is compiled for each target, launched on
NumPy arrays and compared with NumPy in float64. The status is 1 if a result is wrong, a launch is refused, or something
is found wrong with a kernel: the compiler's output is taken as right. `nox -s triton` runs it with Triton's newest
wheel, which has no tutorials in it: these kernels are our own. Those named u_* are also recorded, in
tests/data/triton/units.zip.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import mmacalc

CUDA = {"sm_80": 80, "sm_90a": 90, "sm_100a": 100}
"""NVIDIA's targets, as Triton numbers them."""
TARGETS = {"gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1100": 32, "gfx1201": 32, "gfx1250": 32}
"""The lanes of a wave, by target."""
TYPES = {
    "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "int8": "i8", "int32": "i32",
    "uint8": "u8", "uint64": "u64", "float8_e4m3fn": "fp8e4nv",
}  # fmt: skip
BLOCK = 64  # rows and columns of a tile


# --- kernels ----------------------------------------------------------------------------------------------------------


@triton.jit
def _places(rows: tl.constexpr, columns: tl.constexpr):
    return tl.arange(0, rows)[:, None] * columns + tl.arange(0, columns)[None, :]


@triton.jit
def vector_add(x, y, z, count, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    inside = at < count
    tl.store(z + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax(x, z, columns, block: tl.constexpr):
    at = tl.arange(0, block)
    row = tl.load(x + tl.program_id(0) * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(row - tl.max(row, 0))
    tl.store(z + tl.program_id(0) * columns + at, powers / tl.sum(powers, 0), mask=at < columns)


@triton.jit
def _tile_product(a, b, m, n, k, row, column, block: tl.constexpr, depth: tl.constexpr):
    """The sums of a tile of A (m, k) times B (k, n)."""
    rows, columns, inner = row * block + tl.arange(0, block), column * block + tl.arange(0, block), tl.arange(0, depth)
    sums = tl.zeros((block, block), dtype=tl.float32)
    for start in range(0, k, depth):
        left = (rows[:, None] < m) & (start + inner[None, :] < k)
        right = (start + inner[:, None] < k) & (columns[None, :] < n)
        x = tl.load(a + rows[:, None] * k + start + inner[None, :], mask=left, other=0.0)
        y = tl.load(b + (start + inner[:, None]) * n + columns[None, :], mask=right, other=0.0)
        sums = tl.dot(x, y, sums)
    return sums, rows, columns


@triton.jit
def matmul(a, b, c, m, n, k, block: tl.constexpr, depth: tl.constexpr):
    across = tl.cdiv(n, block)
    row, column = tl.program_id(0) // across, tl.program_id(0) % across
    sums, rows, columns = _tile_product(a, b, m, n, k, row, column, block, depth)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], sums.to(tl.float16), mask=inside)


@triton.jit
def grouped_gemm(a, b, c, sizes, groups, block: tl.constexpr, depth: tl.constexpr):
    tile = tl.program_id(0)
    begin = 0
    for group in range(groups):
        m, n, k = tl.load(sizes + 3 * group), tl.load(sizes + 3 * group + 1), tl.load(sizes + 3 * group + 2)
        across = tl.cdiv(n, block)
        tiles = tl.cdiv(m, block) * across
        while (tile >= begin) & (tile < begin + tiles):
            x = tl.load(a + group).to(tl.pointer_type(tl.float16))
            y = tl.load(b + group).to(tl.pointer_type(tl.float16))
            z = tl.load(c + group).to(tl.pointer_type(tl.float16))
            row, column = (tile - begin) // across, (tile - begin) % across
            sums, rows, columns = _tile_product(x, y, m, n, k, row, column, block, depth)
            inside = (rows[:, None] < m) & (columns[None, :] < n)
            tl.store(z + rows[:, None] * n + columns[None, :], sums.to(tl.float16), mask=inside)
            tile += tl.num_programs(0)
        begin += tiles


@triton.jit
def dropout(x, z, count, share, seed, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    kept = tl.rand(seed, at) > share
    tl.store(z + at, tl.where(kept, tl.load(x + at, mask=at < count) / (1 - share), 0.0), mask=at < count)


@triton.jit
def layer_norm(x, z, weight, bias, columns, block: tl.constexpr):
    at = tl.arange(0, block)
    inside = at < columns
    row = tl.load(x + tl.program_id(0) * columns + at, mask=inside, other=0.0)
    mean = tl.sum(row, 0) / columns
    apart = tl.where(inside, row - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(apart * apart, 0) / columns + 1e-5)
    found = apart * scale * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
    tl.store(z + tl.program_id(0) * columns + at, found, mask=inside)


@triton.jit
def attention(q, k, v, z, length, scale, block: tl.constexpr, width: tl.constexpr, causal: tl.constexpr):
    first = tl.program_id(0) * block
    at, inner, start = tl.arange(0, block), tl.arange(0, width), tl.program_id(1) * length * width
    rows = first + at
    queries = tl.load(q + start + rows[:, None] * width + inner[None, :])
    most = tl.full((block,), -float("inf"), tl.float32)
    total = tl.zeros((block,), tl.float32)
    sums = tl.zeros((block, width), tl.float32)
    for other in range(0, first + block if causal else length, block):
        columns = other + at
        keys = tl.load(k + start + columns[None, :] * width + inner[:, None])
        scores = tl.dot(queries, keys) * scale
        if causal:
            scores = tl.where(rows[:, None] >= columns[None, :], scores, -float("inf"))
        new = tl.maximum(most, tl.max(scores, 1))
        powers, less = tl.exp(scores - new[:, None]), tl.exp(most - new)
        values = tl.load(v + start + columns[:, None] * width + inner[None, :])
        sums = tl.dot(powers.to(tl.float16), values, sums * less[:, None])
        total = total * less + tl.sum(powers, 1)
        most = new
    tl.store(z + start + rows[:, None] * width + inner[None, :], (sums / total[:, None]).to(tl.float16))


@triton.jit
def u_cumsum(x, z, m: tl.constexpr, n: tl.constexpr):
    tl.store(z + _places(m, n), tl.cumsum(tl.load(x + _places(m, n)), 1))


@triton.jit
def u_atomic_add(x, z, n: tl.constexpr):
    tl.atomic_add(z, tl.sum(tl.load(x + tl.program_id(0) * n + tl.arange(0, n)), 0))


@triton.jit
def u_dot_fp64(x, z, n: tl.constexpr):
    tile = tl.load(x + _places(n, n))
    tl.store(z + _places(n, n), tl.dot(tile, tile, out_dtype=tl.float64))


@triton.jit
def u_fp8cast(x, z, n: tl.constexpr):
    at = tl.arange(0, n)
    tl.store(z + at, tl.load(x + at).to(tl.float8e4nv).to(tl.float16))


@triton.jit
def u_gather(x, z, n: tl.constexpr):
    at = tl.arange(0, n)
    tl.store(z + at, tl.gather(tl.load(x + at), n - 1 - at, 0))


@triton.jit
def _joined(mean, squares, count, other_mean, other_squares, other_count):
    apart, whole = other_mean - mean, count + other_count
    share = tl.where(whole == 0.0, 0.0, other_count / whole)
    return mean + apart * share, squares + other_squares + apart * apart * count * share, whole


@triton.jit
def u_welford(x, z, m: tl.constexpr, n: tl.constexpr):
    tile = tl.load(x + _places(m, n))
    _, squares, count = tl.reduce((tile, tl.zeros_like(tile), tl.full([m, n], 1.0, tl.float32)), 1, _joined)
    tl.store(z + tl.arange(0, m), squares / count)


@triton.jit
def u_dot_scaled_e4m3_e4m3(a, b, scale_a, scale_b, z, m: tl.constexpr, n: tl.constexpr, k: tl.constexpr):
    x, y = tl.load(a + _places(m, k)), tl.load(b + _places(n, k))
    left, right = tl.load(scale_a + _places(m, k // 32)), tl.load(scale_b + _places(n, k // 32))
    tl.store(z + _places(m, n), tl.dot_scaled(x, left, "e4m3", y.T, right, "e4m3"))


@triton.jit
def matmul_kind(a, b, c, k, block: tl.constexpr, depth: tl.constexpr):
    """C = A @ B, all in multiples of the blocks, sums of C's type."""
    rows, columns, inner = tl.arange(0, block), tl.arange(0, block), tl.arange(0, depth)
    rows += tl.program_id(0) * block
    columns += tl.program_id(1) * block
    n = tl.num_programs(1) * block
    sums = tl.zeros((block, block), c.dtype.element_ty)
    for start in range(0, k, depth):
        x = tl.load(a + rows[:, None] * k + start + inner[None, :])
        y = tl.load(b + (start + inner[:, None]) * n + columns[None, :])
        sums = tl.dot(x, y, sums, out_dtype=c.dtype.element_ty)
    tl.store(c + rows[:, None] * n + columns[None, :], sums)


@triton.jit
def matmul_tma(a, b, c, m, n, k, block: tl.constexpr, depth: tl.constexpr):
    """C = A @ B by tensor maps that the kernel makes."""
    first = tl.make_tensor_descriptor(a, [m, k], [k, 1], [block, depth])
    second = tl.make_tensor_descriptor(b, [k, n], [n, 1], [depth, block])
    third = tl.make_tensor_descriptor(c, [m, n], [n, 1], [block, block])
    row, column = tl.program_id(0) * block, tl.program_id(1) * block
    sums = tl.zeros((block, block), tl.float32)
    for start in range(0, k, depth):
        sums = tl.dot(first.load([row, start]), second.load([start, column]), sums)
    third.store([row, column], sums.to(tl.float16))


@triton.jit
def matmul_described(a, b, c, k, block: tl.constexpr, depth: tl.constexpr):
    """C = A @ B by tensor maps that are arguments."""
    row, column = tl.program_id(0) * block, tl.program_id(1) * block
    sums = tl.zeros((block, block), tl.float32)
    for start in range(0, k, depth):
        sums = tl.dot(a.load([row, start]), b.load([start, column]), sums)
    c.store([row, column], sums.to(tl.float16))


@triton.jit
def matmul_persistent(a, b, c, m, n, k, block: tl.constexpr, depth: tl.constexpr, special: tl.constexpr):
    """C = A @ B, several tiles for each program; with `special` loads, products and stores have warps of their own."""
    down, across = tl.cdiv(m, block), tl.cdiv(n, block)
    for tile in tl.range(
        tl.program_id(0), down * across, tl.num_programs(0), flatten=not special, warp_specialize=special
    ):
        row, column = tile // across * block, tile % across * block
        sums = tl.zeros((block, block), tl.float32)
        for start in range(0, k, depth):
            sums = tl.dot(a.load([row, start]), b.load([start, column]), sums)
        c.store([row, column], sums.to(tl.float16))


@triton.jit
def layer_norm_backward(dx, dy, dw, x, w, mean, scale, lock, columns, groups: tl.constexpr, block: tl.constexpr):
    """The gradient of x, and sums of the weights' gradients by groups of rows behind locks (Triton's tutorial 5)."""
    row, at = tl.program_id(0), tl.arange(0, block)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=0)
    given = tl.load(dy + row * columns + at, mask=inside, other=0)
    weight = tl.load(w + at, mask=inside)
    factor = tl.load(scale + row)
    normed = tl.where(inside, (values - tl.load(mean + row)) * factor, 0)
    weighed = tl.where(inside, weight * given, 0)
    first, second = tl.sum(normed * weighed, 0) / columns, tl.sum(weighed, 0) / columns
    tl.store(dx + row * columns + at, (weighed - (normed * first + second)) * factor, mask=inside)
    group = row % groups
    part = given * normed
    while tl.atomic_cas(lock + group, 0, 1) == 1:
        pass
    count = tl.load(lock + groups + group)
    if count == 0:
        tl.atomic_xchg(lock + groups + group, 1)
    else:
        part += tl.load(dw + group * columns + at, mask=inside)
    tl.store(dw + group * columns + at, part, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock + group, 0)


@triton.jit
def u_sort(x, z, m: tl.constexpr, n: tl.constexpr):
    tl.store(z + _places(m, n), tl.sort(tl.load(x + _places(m, n)), 1))


@triton.jit
def u_histogram(x, z, n: tl.constexpr, bins: tl.constexpr):
    tl.store(z + tl.arange(0, bins), tl.histogram(tl.load(x + tl.arange(0, n)), bins))


@triton.jit
def _chained(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def u_recurrence(x, y, z, n: tl.constexpr):
    """h[i] = x[i] h[i - 1] + y[i], by a scan."""
    at = tl.arange(0, n)
    _, found = tl.associative_scan((tl.load(x + at), tl.load(y + at)), 0, _chained)
    tl.store(z + at, found)


# --- cases ------------------------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """A launch of a kernel.

    args: by parameter, arrays or numbers. constants: the constexprs. grid: programs. want: the results, by parameter
    or as (array, wanted) pairs. tolerance: of the largest element. kept: arrays that the arguments point to.
    """

    kernel: Any
    args: dict[str, Any]
    constants: dict[str, Any]
    grid: tuple[int, ...]
    want: list[tuple[np.ndarray, np.ndarray]]
    tolerance: float
    kept: tuple[Any, ...] = ()


def normal(*shape: int, kind: Any = np.float32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32).astype(kind)


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64)


def zeros(*shape: int, kind: Any = np.float32) -> np.ndarray:
    return np.zeros(shape, kind)


def vector_add_case() -> Case:
    x, y, z = normal(1000), normal(1000, seed=1), zeros(1000)
    return Case(vector_add, dict(x=x, y=y, z=z, count=1000), dict(block=256), (4,), [(z, x + y)], 0)


def _softmax_of(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    found: np.ndarray = powers / powers.sum(-1, keepdims=True)
    return found


def softmax_case() -> Case:
    x, z = normal(5, 300), zeros(5, 300)
    return Case(softmax, dict(x=x, z=z, columns=300), dict(block=512), (5,), [(z, _softmax_of(wide(x)))], 1e-6)


def matmul_case(m: int, n: int, k: int) -> Case:
    a, b, c = normal(m, k, kind=np.float16), normal(k, n, kind=np.float16, seed=1), zeros(m, n, kind=np.float16)
    grid = (-(-m // BLOCK) * -(-n // BLOCK),)
    args = dict(a=a, b=b, c=c, m=m, n=n, k=k)
    return Case(matmul, args, dict(block=BLOCK, depth=32), grid, [(c, wide(a) @ wide(b))], 1e-3)


def grouped_gemm_case() -> Case:
    sizes = np.array([[64, 64, 32], [128, 64, 64], [40, 70, 50]], np.int32)
    a = [normal(m, k, kind=np.float16, seed=at) for at, (m, _, k) in enumerate(sizes)]
    b = [normal(k, n, kind=np.float16, seed=9 + at) for at, (_, n, k) in enumerate(sizes)]
    c = [zeros(m, n, kind=np.float16) for m, n, _ in sizes]
    pointers = [np.array([mmacalc.address_of(one) for one in arrays], np.uint64) for arrays in (a, b, c)]
    args = dict(zip("abc", pointers), sizes=sizes, groups=len(sizes))
    want = [(z, wide(x) @ wide(y)) for x, y, z in zip(a, b, c)]
    return Case(grouped_gemm, args, dict(block=BLOCK, depth=32), (2,), want, 1e-3, (a, b, c))


def layer_norm_case() -> Case:
    x, z, weight, bias = normal(4, 200), zeros(4, 200), normal(200), normal(200, seed=1)
    apart = wide(x) - wide(x).mean(1, keepdims=True)
    want = apart / np.sqrt((apart**2).mean(1, keepdims=True) + 1e-5) * weight + bias
    args = dict(x=x, z=z, weight=weight, bias=bias, columns=200)
    return Case(layer_norm, args, dict(block=256), (4,), [(z, want)], 1e-5)


def attention_case(causal: bool) -> Case:
    heads, length, width = 2, 128, 64
    q, k, v = (normal(heads, length, width, kind=np.float16, seed=at) for at in range(3))
    z = zeros(heads, length, width, kind=np.float16)
    scores = wide(q) @ wide(k).transpose(0, 2, 1) / 8
    if causal:
        scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    args = dict(q=q, k=k, v=v, z=z, length=length, scale=0.125)
    constants = dict(block=BLOCK, width=width, causal=causal)
    return Case(attention, args, constants, (length // BLOCK, heads), [(z, _softmax_of(scores) @ wide(v))], 2e-3)


def dropout_case() -> Case:
    """The generator is Philox's: that two launches agree and half of the elements are left is what is known here."""
    x, z = np.ones(1024, np.float32), zeros(1024)
    args = dict(x=x, z=z, count=1024, share=0.5, seed=7)
    return Case(dropout, args, dict(block=256), (4,), [(z, np.ones(1024))], 1.0)


def unit(kernel: Any, x: np.ndarray, want: np.ndarray, tolerance: float, grid: int = 1, **constants: int) -> Case:
    kind = x.dtype if want.dtype != np.float32 or x.dtype.itemsize == 2 else np.float32
    z = zeros(*want.shape, kind=kind)
    return Case(kernel, dict(x=x, z=z), constants, (grid,), [(z, want)], tolerance)


def scaled_case() -> Case:
    rng = np.random.default_rng(7)
    a, b = (normal(64, 128, kind=ml_dtypes.float8_e4m3fn, seed=at) for at in (0, 1))
    left, right = (rng.integers(120, 134, (64, 4)).astype(np.uint8) for _ in "AB")
    x, y = (wide(m) * np.repeat(2.0 ** (s.astype(int) - 127), 32, 1) for m, s in ((a, left), (b, right)))
    z = zeros(64, 64)
    args = dict(a=a.view(np.uint8), b=b.view(np.uint8), scale_a=left, scale_b=right, z=z)
    return Case(u_dot_scaled_e4m3_e4m3, args, dict(m=64, n=64, k=128), (1,), [(z, x @ y.T)], 1e-5)


class Described(NamedTuple):
    """An argument that is a tensor map of an array with a box."""

    array: np.ndarray
    box: tuple[int, ...]


def kind_case(kind: Any, sums: Any = np.float32) -> Case:
    """A product of matrices of a type; integers are exact."""
    whole = np.dtype(kind).kind == "i"
    rng = np.random.default_rng(3)
    a, b = (
        rng.integers(-128, 128, shape).astype(kind) if whole else normal(*shape, kind=kind)
        for shape in ((64, 128), (128, 64))
    )
    c = zeros(64, 64, kind=sums)
    loose = {"float32": 2e-3, "float8_e4m3fn": 1e-3}.get(np.dtype(kind).name, 1e-5)  # tf32, and fp8 on sm_90
    return Case(
        matmul_kind,
        dict(a=a, b=b, c=c, k=128),
        dict(block=64, depth=64),
        (1, 1),
        [(c, wide(a) @ wide(b))],
        0 if whole else loose,
    )


def _halves(m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return normal(m, k, kind=np.float16), normal(k, n, kind=np.float16, seed=1), zeros(m, n, kind=np.float16)


def tma_case() -> Case:
    a, b, c = _halves(128, 128, 192)
    args = dict(a=a, b=b, c=c, m=128, n=128, k=192)
    return Case(matmul_tma, args, dict(block=64, depth=64), (2, 2), [(c, wide(a) @ wide(b))], 1e-3)


def _described(a: np.ndarray, b: np.ndarray, c: np.ndarray, block: int, depth: int) -> dict[str, Any]:
    return dict(a=Described(a, (block, depth)), b=Described(b, (depth, block)), c=Described(c, (block, block)))


def described_case() -> Case:
    a, b, c = _halves(128, 128, 192)
    args = dict(_described(a, b, c, 64, 64), k=192)
    return Case(matmul_described, args, dict(block=64, depth=64), (2, 2), [(c, wide(a) @ wide(b))], 1e-3)


def persistent_case(special: bool) -> Case:
    a, b, c = _halves(256, 256, 128)
    args = dict(_described(a, b, c, 128, 64), m=256, n=256, k=128)
    return Case(
        matmul_persistent, args, dict(block=128, depth=64, special=special), (2,), [(c, wide(a) @ wide(b))], 1e-3
    )


def layer_norm_backward_case() -> Case:
    rows, columns, groups = 6, 200, 2
    x, dy, w = normal(rows, columns), normal(rows, columns, seed=1), normal(columns, seed=2)
    mean, scale = x.mean(1), (1 / np.sqrt(wide(x).var(1) + 1e-5)).astype(np.float32)
    dx, dw, lock = zeros(rows, columns), zeros(groups, columns), zeros(2 * groups, kind=np.int32)
    normed = (wide(x) - wide(mean)[:, None]) * wide(scale)[:, None]
    weighed = wide(w) * wide(dy)
    want = (weighed - normed * (normed * weighed).mean(1)[:, None] - weighed.mean(1)[:, None]) * wide(scale)[:, None]
    sums = np.stack([(normed * wide(dy))[group::groups].sum(0) for group in range(groups)])
    args = dict(dx=dx, dy=dy, dw=dw, x=x, w=w, mean=mean, scale=scale, lock=lock, columns=columns)
    return Case(layer_norm_backward, args, dict(groups=groups, block=256), (rows,), [(dx, want), (dw, sums)], 1e-5)


def recurrence_case() -> Case:
    x, y, z = normal(256), normal(256, seed=1), zeros(256)
    want, last = np.zeros(256), 0.0
    for at in range(256):
        last = want[at] = wide(x)[at] * last + wide(y)[at]
    return Case(u_recurrence, dict(x=x, y=y, z=z), dict(n=256), (1,), [(z, want)], 1e-5)


def histogram_case() -> Case:
    x, z = np.random.default_rng(5).integers(0, 16, 512).astype(np.int32), zeros(16, kind=np.int32)
    return Case(u_histogram, dict(x=x, z=z), dict(n=512, bins=16), (1,), [(z, np.bincount(x, minlength=16))], 0)


def _unit_cases() -> dict[str, Callable[[], Case]]:
    tile, row, half = normal(32, 64), normal(128), normal(512, kind=np.float16)
    square, rows = normal(32, 32, kind=np.float64), normal(16, 256)
    cast = wide(half.astype(np.float32).astype(ml_dtypes.float8_e4m3fn))
    many = normal(1024)
    return {
        "u_cumsum": lambda: unit(u_cumsum, tile, np.cumsum(wide(tile), 1), 1e-5, m=32, n=64),
        "u_atomic_add": lambda: unit(u_atomic_add, many, np.array([wide(many).sum()]), 1e-5, 4, n=256),
        "u_dot_fp64": lambda: unit(u_dot_fp64, square, square @ square, 1e-12, n=32),
        "u_fp8cast": lambda: unit(u_fp8cast, half, cast, 0, n=512),
        "u_gather": lambda: unit(u_gather, row, row[::-1], 0, n=128),
        "u_welford": lambda: unit(u_welford, rows, wide(rows).var(1), 1e-5, m=16, n=256),
        "u_dot_scaled_e4m3_e4m3": scaled_case,
        "u_sort": lambda: unit(u_sort, tile, np.sort(tile, 1), 0, m=32, n=64),
        "u_histogram": histogram_case,
        "u_recurrence": recurrence_case,
    }


CASES: dict[str, Callable[[], Case]] = {
    "vector_add": vector_add_case,
    "softmax": softmax_case,
    "matmul": lambda: matmul_case(128, 128, 128),
    "matmul_masked": lambda: matmul_case(100, 70, 90),
    "grouped_gemm": grouped_gemm_case,
    "dropout": dropout_case,
    "layer_norm": layer_norm_case,
    "attention": lambda: attention_case(False),
    "attention_causal": lambda: attention_case(True),
    "matmul_bf16": lambda: kind_case(ml_dtypes.bfloat16),
    "matmul_tf32": lambda: kind_case(np.float32),
    "matmul_int8": lambda: kind_case(np.int8, np.int32),
    "layer_norm_backward": layer_norm_backward_case,
    "matmul_fp8": lambda: kind_case(ml_dtypes.float8_e4m3fn),
    "matmul_tma": tma_case,
    "matmul_described": described_case,
    "matmul_persistent": lambda: persistent_case(False),
    "matmul_special": lambda: persistent_case(True),
    **_unit_cases(),
}
LEAST = {
    "matmul_fp8": 90, "matmul_tma": 90, "matmul_described": 90, "matmul_persistent": 90, "matmul_special": 100,
    "u_fp8cast": 90, "u_dot_scaled_e4m3_e4m3": 90,
}  # fmt: skip
"""The first of NVIDIA's targets for which Triton compiles a kernel, where that is not the first of all."""


# --- compiling and running --------------------------------------------------------------------------------------------


def compiled(case: Case, target: str) -> Any:
    """What Triton makes of a case for a target."""
    names = case.kernel.arg_names
    signature = {name: _type(case.args[name]) if name in case.args else "constexpr" for name in names}
    aligned = {(at,): [["tt.divisibility", 16]] for at, name in enumerate(names) if signature[name][0] == "*"}
    source = ASTSource(fn=case.kernel, signature=signature, constexprs=case.constants, attrs=aligned)
    cuda = target in CUDA
    machine = GPUTarget("cuda", CUDA[target], 32) if cuda else GPUTarget("hip", target, TARGETS[target])
    return triton.compile(source, target=machine, options={"num_warps": 4})


def _type(value: Any) -> str:
    """An argument's type as Triton's signatures have it."""
    if isinstance(value, Described):
        return f"tensordesc<{TYPES[str(value.array.dtype)]}[{', '.join(map(str, value.box))}]>"
    if isinstance(value, np.ndarray):
        return f"*{TYPES[str(value.dtype)]}"
    return "fp32" if isinstance(value, float) else "i32"


def run_on_amd(case: Case, target: str, made: Any, folder: Path) -> Any:
    """The report of a launch of an object of code."""
    path = folder / "kernel.hsaco"
    path.write_bytes(made.asm["hsaco"])
    return launched_on_amd(case, target, mmacalc.load(path)[made.metadata.name], made.metadata.shared)


def launched_on_amd(case: Case, target: str, kernel: Any, shared: int, **options: Any) -> Any:
    """The report of a launch of a loaded kernel. shared: the bytes of LDS that Triton says it needs."""
    given = [case.args[name] for name in case.kernel.arg_names if name in case.args]
    expected = sum(not one.value_kind.startswith("hidden_") for one in kernel.arguments)
    given += [None] * (expected - len(given))  # scratch that these kernels do not use
    shared = max(0, shared - kernel.descriptor.group_segment_size)
    return mmacalc.launch(kernel, case.grid, 4 * TARGETS[target], *given, shared=shared, **options)


def arguments_of(case: Case, made: Any) -> list[Any]:
    """The arguments of PTX. A tensor map comes with its shape and strides; scratch is for maps made there."""
    maps = list(made.metadata.tensordesc_meta or [])
    given: list[Any] = []
    for name in case.kernel.arg_names:
        value = case.args.get(name)
        if isinstance(value, Described):
            meta, array = maps.pop(0), value.array
            swizzle = ("none", "32B", "64B", "128B")[meta["swizzle"]]
            given += [mmacalc.tensor_map(array, meta["block_size"], swizzle=swizzle), *array.shape]
            given += [stride // array.itemsize for stride in array.strides]
        elif name in case.args:
            given.append(value)
    if made.metadata.global_scratch_size:
        given.append(np.zeros(made.metadata.global_scratch_size * int(np.prod(case.grid)), np.uint8))
    return given


def run_on_nvidia(case: Case, made: Any) -> Any:
    """The report of a launch of PTX."""
    (kernel,) = mmacalc.load(made.asm["ptx"]).values()
    return mmacalc.launch(kernel, case.grid, kernel.block, *arguments_of(case, made), shared=made.metadata.shared)


def problem(case: Case, target: str, folder: Path) -> str:
    """What is wrong with a case on a target, or ""."""
    made = compiled(case, target)
    try:
        report = run_on_nvidia(case, made) if target in CUDA else run_on_amd(case, target, made, folder)
    except mmacalc.Error as error:
        return f"refused: {error}"
    for found, want in case.want:
        error = np.abs(wide(found) - want).max()
        if not error <= case.tolerance * np.abs(want).max():
            return f"wrong by {error:.1e}"
    return "; ".join(one.sentence for one in report.findings)


def cases_of(target: str, names: list[str]) -> list[str]:
    """Of some cases those that a target can have: AMD's have no tensor maps (gfx1250 has descriptors that the kernel
    makes), and CUDA's no table of pointers here."""
    if target in CUDA:
        return [name for name in names if LEAST.get(name, 0) <= CUDA[target] and name != "grouped_gemm"]
    made_there = target == "gfx1250"
    return [name for name in names if name not in LEAST or name[:2] == "u_" or (made_there and name == "matmul_tma")]


def main(words: list[str]) -> int:
    """Run the cases that are named, or all; the status."""
    every = [*TARGETS, *CUDA]
    targets = [word for word in words if word in every] or every
    names = [word for word in words if word in CASES] or list(CASES)
    if unknown := [word for word in words if word not in every and word not in CASES]:
        print(f"{unknown[0]} is neither of {', '.join(every)} nor of {', '.join(CASES)}", file=sys.stderr)
        return 2
    failed = 0
    print(f"Triton {triton.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        for target in targets:
            for name in cases_of(target, names):
                start = time.process_time()
                wrong = problem(CASES[name](), target, Path(folder))
                failed += bool(wrong)
                print(f"{target:8} {name:24} {time.process_time() - start:5.1f} s  {wrong or 'right'}", flush=True)
    print(f"{failed} failed" if failed else "all are right, and nothing was found wrong with them")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
