"""The recorded PTX kernels of tests/data/ptx: their text, their arguments by seed, and what NumPy expects."""

import json
import zipfile
from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np

RECORDED = Path(__file__).parent / "data" / "ptx" / "kernels.zip"


class Case:
    """Arguments in the order of the parameters; which of them is the result, what it should be, how near."""

    def __init__(self, arguments, out, want, tolerance):
        self.arguments, self.out, self.want, self.tolerance = arguments, out, want, tolerance

    def error(self):
        """The largest difference, as a part of the largest value."""
        got, want = np.asarray(self.out, np.float64), np.asarray(self.want, np.float64)
        assert got.shape == want.shape
        return np.abs(got - want).max() / np.abs(want).max()

    def right(self):
        return bool(self.error() <= self.tolerance)


def normal(shape, dtype=np.float32, seed=30):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32).astype(dtype)


def unary(x, want, tolerance, out=None):
    result = np.zeros_like(x) if out is None else out
    return Case([x, result], result, want(x.astype(np.float64)), tolerance)


def vector_add():
    (a, b), c = normal((2, 1000)), np.zeros(1000, np.float32)
    return Case([a, b, c, np.int32(1000)], c, a + b, 0)


def softmax_rows():
    x, y = normal((4, 300)), np.zeros((4, 300), np.float32)
    powers = np.exp(x.astype(float) - x.max(1, keepdims=True))
    return Case([x, y, np.int32(300)], y, powers / powers.sum(1, keepdims=True), 1e-5)


def transpose():
    x, y = normal((70, 50)), np.zeros((50, 70), np.float32)
    return Case([x, y, np.int32(70), np.int32(50)], y, x.T, 0)


def mma_gemm():
    a, b, d = normal((64, 96), np.float16), normal((128, 96), np.float16, 9), np.zeros((64, 128), np.float32)
    sizes = [np.int32(size) for size in (64, 128, 96)]
    return Case([a, b, d, *sizes], d, a.astype(float) @ b.astype(float).T, 1e-5)


def scaled():
    """D = A B^T with a power of two for each 32 elements along k."""
    rng, result = np.random.default_rng(7), np.zeros((64, 64), np.float32)
    codes = [rng.standard_normal((64, 128)).astype(ml_dtypes.float8_e4m3fn) for _ in range(2)]
    scales = [rng.integers(120, 134, (64, 4)).astype(np.uint8) for _ in range(2)]
    a, b = (
        code.astype(float) * np.repeat(2.0 ** (scale.astype(int) - 127), 32, 1) for code, scale in zip(codes, scales)
    )
    return Case([*[code.view(np.uint8) for code in codes], *scales, result], result, a @ b.T, 1e-5)


def fp8cast():
    return unary(
        normal(512, np.float16),
        lambda x: x.astype(np.float32).astype(ml_dtypes.float8_e4m3fn).astype(np.float16), 0,
    )  # fmt: skip


CASES = {
    **{function.__name__: function for function in (vector_add, softmax_rows, transpose, mma_gemm)},
    "u_cumsum": lambda: unary(normal((32, 64)), lambda x: np.cumsum(x, 1), 1e-5),
    "u_atomic_add": lambda: unary(normal(1024), lambda x: np.array([x.sum()]), 1e-5, np.zeros(1, np.float32)),
    "u_dot_fp64": lambda: unary(normal((32, 32), np.float64), lambda x: x @ x, 1e-12),
    "u_fp8cast": fp8cast,
    "u_gather": lambda: unary(normal(128), lambda x: x[::-1], 0),
    "u_welford": lambda: unary(normal((16, 256)), lambda x: x.var(1), 1e-5, np.zeros(16, np.float32)),
    "u_dot_scaled_e4m3_e4m3": scaled,
}


@cache
def recorded(name):
    """A recorded file's text."""
    with zipfile.ZipFile(RECORDED) as archive:
        return archive.read(name).decode()


LISTED = json.loads(recorded("cases.json"))
KERNELS, DELETIONS = LISTED["kernels"], LISTED["deletions"]


def without(deletion):
    """A kernel's text without one synchronisation."""
    lines = recorded(f"{deletion['kernel']}.ptx").split("\n")
    assert deletion["old"].strip() in lines[deletion["line"] - 1]
    lines[deletion["line"] - 1] = deletion.get("new") or ""
    return "\n".join(lines)
