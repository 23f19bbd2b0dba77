"""Kernels of `generate` in other languages: the cases, their matrices, and what their compilers made of them.

tests/data/exports.zip has for each case the source, what the compiler made of it (a code object or PTX) and, in
cases.json, what a launch needs. `python tests/oracles/exports.py` makes it again.
"""

import json
import re
import zipfile
from pathlib import Path
from typing import NamedTuple

import ml_dtypes
import numpy as np

import mmacalc

RECORD = Path(__file__).parent / "data/exports.zip"
TYPES = {
    "f64": np.float64, "f32": np.float32, "tf32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "i8": np.int8, "iu8": np.int8, "i32": np.int32, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
    "e4m3fnuz": ml_dtypes.float8_e4m3fnuz, "e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
}  # fmt: skip
PRODUCTS = re.compile(r"\b(?:v_mfma_\w+|v_wmma_\w+|mma\.sync[\w.:]+|wgmma\.mma_async[\w.:]+)")


class Case(NamedTuple):
    language: str
    arch: str
    name: str
    orders: tuple = ("row", "col")

    @property
    def instruction(self):
        return mmacalc.instruction(self.arch, self.name)

    @property
    def folder(self):
        return "-".join([self.language, self.arch, re.sub(r"\W", "_", self.name), *self.orders])

    @property
    def source(self):
        return mmacalc.generate(self.instruction, self.language, *self.orders, gemm="512x512x512")


MMA, WGMMA = "mma.sync.aligned.", "wgmma.mma_async.sync.aligned."
CASES = [
    Case("gluon", "gfx90a", "v_mfma_f32_16x16x16bf16_1k"),
    Case("gluon", "gfx942", "v_mfma_f32_32x32x8_f16"),
    Case("gluon", "gfx942", "v_mfma_f32_16x16x16_f16", ("col", "row")),
    Case("gluon", "gfx942", "v_mfma_f32_16x16x32_fp8_bf8"),
    Case("gluon", "gfx942", "v_mfma_f64_16x16x4_f64"),
    Case("gluon", "gfx950", "v_mfma_f32_32x32x16_bf16", ("row", "row")),
    Case("gluon", "gfx950", "v_mfma_i32_16x16x64_i8"),
    Case("gluon", "gfx1100", "v_wmma_f32_16x16x16_f16"),
    Case("gluon", "gfx1201", "v_wmma_f32_16x16x16_bf16"),
    Case("gluon", "gfx1250", "v_wmma_f32_16x16x32_f16"),
    Case("gluon", "sm_80", MMA + "m16n8k16.row.col.f32.f16.f16.f32"),
    Case("gluon", "sm_80", MMA + "m16n8k32.row.col.satfinite.s32.s8.s8.s32"),
    Case("gluon", "sm_90a", WGMMA + "m64n128k16.f32.f16.f16", ("row", "row")),
    Case("gluon", "sm_90a", WGMMA + "m64n256k32.f32.e4m3.e5m2"),
    Case("gluon", "sm_120a", MMA + "m16n8k16.row.col.f32.bf16.bf16.f32", ("row", "row")),
    Case("triton", "gfx90a", "v_mfma_f32_32x32x8f16"),
    Case("triton", "gfx942", "v_mfma_f32_16x16x16_bf16", ("row", "row")),
    Case("triton", "gfx950", "v_mfma_f32_32x32x16_f16"),
    Case("triton", "gfx1201", "v_wmma_f32_16x16x16_f16"),
    Case("triton", "gfx1250", "v_wmma_f32_16x16x32_bf16"),
    Case("triton", "sm_80", MMA + "m16n8k8.row.col.f32.tf32.tf32.f32"),
    Case("triton", "sm_90a", WGMMA + "m64n128k16.f32.bf16.bf16"),
    Case("ck_tile", "gfx942", "v_mfma_f32_32x32x8_f16"),
    Case("ck_tile", "gfx90a", "v_mfma_f32_16x16x16bf16_1k"),
    Case("ck_tile", "gfx942", "v_mfma_f32_16x16x32_fp8_fp8"),
    Case("ck_tile", "gfx942", "v_mfma_i32_32x32x16_i8"),
    Case("ck_tile", "gfx950", "v_mfma_f32_16x16x32_bf16"),
    Case("cute", "sm_80", MMA + "m16n8k16.row.col.f32.f16.f16.f32"),
    Case("cute", "sm_80", MMA + "m16n8k16.row.col.f32.bf16.bf16.f32", ("col", "row")),
    Case("cute", "sm_80", MMA + "m16n8k8.row.col.f32.tf32.tf32.f32"),
    Case("cute", "sm_80", MMA + "m16n8k32.row.col.s32.s8.s8.s32"),
    Case("cute", "sm_89", MMA + "m16n8k32.row.col.f32.e4m3.e5m2.f32"),
    Case("cute", "sm_90a", WGMMA + "m64n128k16.f32.f16.f16"),
    Case("cute", "sm_90a", WGMMA + "m64n64k16.f32.bf16.bf16", ("col", "row")),
    Case("cute", "sm_90a", WGMMA + "m64n256k32.f32.e4m3.e4m3"),
]


class Product(NamedTuple):
    """Matrices of small whole numbers, whose product is exact; D is of the sums' type, its last columns outside."""

    a: np.ndarray
    b: np.ndarray
    d: np.ndarray
    sizes: tuple
    want: np.ndarray

    @property
    def arguments(self):
        """Of the kernel: a, b, d, M, N, K, lda, ldb, ldd."""
        lead = [each.shape[1] for each in (self.a, self.b, self.d)]
        return [_carried(self.a), _carried(self.b), self.d, *self.sizes, *lead]


def _carried(array):
    """What NumPy itself has no type for, as its bits."""
    plain = {1: np.uint8, 2: np.uint16}.get(array.dtype.itemsize)
    return array.view(plain) if array.dtype.kind == "V" and plain else array


def product(case, m, n, k, seed=0):
    """Random matrices for a case; leading dimensions are larger than the rows."""
    inst, rng = case.instruction, np.random.default_rng(seed)
    a, b = (
        rng.integers(-3, 4, shape).astype(TYPES[inst.format(name).name])
        for name, shape in (("A", (m, k) if case.orders[0] == "row" else (k, m)),
                            ("B", (n, k) if case.orders[1] == "col" else (k, n)))
    )  # fmt: skip
    a, b = (np.pad(each, ((0, 0), (0, 16))) for each in (a, b))
    left = a[:, :-16] if case.orders[0] == "row" else a[:, :-16].T
    right = b[:, :-16].T if case.orders[1] == "col" else b[:, :-16]
    d = np.zeros((m, n + 16), TYPES[inst.format("D").name])
    return Product(a, b, d, (m, n, k), left.astype(np.float64) @ right.astype(np.float64))


def recorded():
    """By case what is recorded of it: the source, the object, and what a launch needs."""
    with zipfile.ZipFile(RECORD) as archive:
        shapes = json.loads(archive.read("cases.json"))
        return {
            folder: (archive.read(f"{folder}/source").decode(), archive.read(f"{folder}/object"), shape)
            for folder, shape in shapes.items()
        }
