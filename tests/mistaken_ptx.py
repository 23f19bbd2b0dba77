"""The kernels of tests/data/ptx/mistakes.cu for Hopper, right ones and mistaken ones: what each is launched with.

mistakes_sm_90a.ptx.gz is what nvcc 13.0 makes of them (-lineinfo). tests/test_ptx_mistakes.py says what is found,
tools/ptx_deletions.py deletes the synchronisation of the right ones.
"""

from __future__ import annotations

from functools import cache

import numpy as np

import recorded
from mmacalc.kernels.ptx.kernel import PtxKernel
from ptx_findings import Case, compiled, product, rows, swizzled

TEXT = recorded.text("ptx/mistakes_sm_90a.ptx.gz")
CASES: dict[str, Case] = {
    "tma_store": (1, 128, 0, "f2x128 F2x128", lambda x, z: ([rows(z), x], z, 2 * x)),
    "tma_load": (1, 128, 0, "f2x128 F2x128", lambda x, z: ([rows(x), z], z, x)),
    "ring": (1, 160, 0, "f7x128 F128", lambda x, z: ([rows(x), z, 7], z, x.sum(0))),
    "product": (
        1, 128, 0, "h64x16 h64x16 F64x64",
        lambda a, b, d: ([a.view(np.uint16), b.view(np.uint16), d], d, 2 * product(a, b)),
    ),
    "swizzled": (
        1, 128, 17408, "h64x64 h64x64 F64x64",
        lambda a, b, d: ([swizzled(a), swizzled(b), d], d, product(a, b)),
    ),
    "stages": (1, 128, 0, "w8x128 W128", lambda x, z: ([x, z, 8], z, np.roll(x.sum(0), -33))),
    "named": (1, 128, 0, "w64 W64", lambda x, z: ([x, z], z, np.roll(x, -7))),
    "lanes": (1, 64, 0, "w64 W64", lambda x, z: ([x, z], z, 2 * x[np.arange(64) ^ 1])),
    "peers": (2, 64, 0, "w128 W128", lambda x, z: ([x, z], z, x[np.arange(128) ^ 65])),
    "multicast": (2, 128, 0, "f1x128 F2x128", lambda x, z: ([rows(x), z], z, np.tile(x, (2, 1)))),
    "registers": (1, 384, 0, "W384", lambda z: ([z], z, np.arange(384))),
    "handed_on": (
        2, 128, 0, "F2x128 W1 F128",
        lambda work, count, z: ([rows(work), work, count, z], z, 2 * np.arange(128) + 1),
    ),
    "made_map": (1, 128, 0, "f2x128 F2x128 B128 F128", lambda x, other, made, z: ([rows(other), made, x, z], z, x[1])),
}  # fmt: skip
RIGHT = [*[f"{name}<0>" for name in CASES], "handed_on<10>", "handed_on<13>"]


@cache
def kernels() -> dict[str, PtxKernel]:
    return compiled(TEXT)
