"""The kernels of tests/data/ptx/mistakes.cu for Hopper, right ones and mistaken ones: what each is launched with.

mistakes_sm_90a.ptx.gz is what nvcc 13.0 makes of them (-lineinfo). tests/test_ptx_mistakes.py says what is found,
tools/ptx_deletions.py deletes the synchronisation of the right ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import mmacalc
import recorded
from mmacalc.kernels.ptx.kernel import PtxKernel
from mmacalc.ptx.reader import read

TEXT = recorded.text("ptx/mistakes_sm_90a.ptx.gz")
MODULE = read(TEXT)
KERNELS = {kernel.cpp_name: kernel for kernel in [PtxKernel(MODULE, function.name) for function in MODULE.entries]}
SOURCE = (recorded.DATA / "ptx" / "mistakes.cu").read_text().split("\n")


def rows(x: np.ndarray) -> Any:
    return mmacalc.tensor_map(x, (1, 128))


def swizzled(x: np.ndarray) -> Any:
    return mmacalc.tensor_map(x, (64, 64), swizzle="128B")


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    found: np.ndarray = a.astype(float) @ b.astype(float).T
    return found


# name: CTAs, threads, dynamic shared memory, by arrays the arguments, the result and what it
# should be
CASES: dict[str, tuple[int, int, int, Any]] = {
    "tma_store": (1, 128, 0, lambda x, z: ([rows(z), x], z, 2 * x)),
    "tma_load": (1, 128, 0, lambda x, z: ([rows(x), z], z, x)),
    "ring": (1, 160, 0, lambda x, z: ([rows(x), z, 7], z, x.sum(0))),
    "product": (1, 128, 0, lambda a, b, d: ([a.view(np.uint16), b.view(np.uint16), d], d, 2 * product(a, b))),
    "swizzled": (1, 128, 17408, lambda a, b, d: ([swizzled(a), swizzled(b), d], d, product(a, b))),
    "stages": (1, 128, 0, lambda x, z: ([x, z, 8], z, np.roll(x.sum(0), -33))),
    "named": (1, 128, 0, lambda x, z: ([x, z], z, np.roll(x, -7))),
    "lanes": (1, 64, 0, lambda x, z: ([x, z], z, 2 * x[np.arange(64) ^ 1])),
    "peers": (2, 64, 0, lambda x, z: ([x, z], z, x[np.arange(128) ^ 65])),
    "multicast": (2, 128, 0, lambda x, z: ([rows(x), z], z, np.tile(x, (2, 1)))),
    "registers": (1, 384, 0, lambda z: ([z], z, np.arange(384))),
    "handed_on": (2, 128, 0, lambda work, count, z: ([rows(work), work, count, z], z, 2 * np.arange(128) + 1)),
    "made_map": (1, 128, 0, lambda x, other, made, z: ([rows(other), made, x, z], z, x[1])),
}
# What the last function is given: shapes, by a letter for the type (random f, h, w; zeros of F, W and bytes B).
ARRAYS = {
    "tma_store": "f2x128 F2x128", "tma_load": "f2x128 F2x128", "ring": "f7x128 F128",
    "product": "h64x16 h64x16 F64x64", "swizzled": "h64x64 h64x64 F64x64", "stages": "w8x128 W128", "named": "w64 W64",
    "lanes": "w64 W64", "peers": "w128 W128", "multicast": "f1x128 F2x128", "registers": "W384",
    "handed_on": "F2x128 W1 F128", "made_map": "f2x128 F2x128 B128 F128",
}  # fmt: skip


def arrays(name: str) -> list[np.ndarray]:
    """New arrays of a case."""
    rng, found = np.random.default_rng(3), []
    for text in ARRAYS[name].split():
        shape, kind = (
            tuple(map(int, text[1:].split("x"))),
            {"f": "f4", "h": "f2", "w": "u4", "b": "u1"}[text[0].lower()],
        )
        values = rng.integers(0, 99, shape) if text[0] == "w" else rng.standard_normal(shape)
        found.append(values.astype(kind) if text[0].islower() else np.zeros(shape, kind))
    return found


RIGHT = [*[f"{name}<0>" for name in CASES], "handed_on<10>", "handed_on<13>"]
