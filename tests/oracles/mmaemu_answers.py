"""What mmaemu (Xun Ding, PyPI `mmaemu`) computes for chains of fp8 products on Ada and Hopper.

    pip install mmaemu==0.1.0 torch          (a CPU build will do)
    python tests/oracles/mmaemu_answers.py tests/data/mmaemu_answers.npz

Its models were fitted to recorded outputs of an RTX 4060 (mma.sync) and an H100 PCIe (wgmma, through cuBLAS), so this
is a source of its own beside MMA-Sim. Inputs are those of `mmasim_answers.codes`; the record holds answers only.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.oracles.mmasim_answers import Stream, codes

from mmacalc.arithmetic.codecs import decode
from mmacalc.formats import FORMATS

M, N, K = 16, 8, 512
PRESETS = {
    "ada": ("sm_89", "mma.sync.aligned.m16n8k32.row.col.f32.{}.{}.f32"),
    "hopper": ("sm_90a", "wgmma.mma_async.sync.aligned.m64n8k32.f32.{}.{}"),
}
KINDS = ("normal", "wide exponents", "cancellation", "zeros", "subnormal")
CASES = tuple(product(PRESETS, ("e4m3", "e5m2"), ("e4m3", "e5m2"), KINDS))
"""(preset, format of A, of B, kind of input) of every answer."""


def inputs(preset: str, first: str, second: str, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes of A (M, K), B (K, N) and C (M, N)."""
    stream = Stream(f"mmaemu {preset} {first} {second} {kind}")
    a, b = codes(stream, first, kind, M, K), codes(stream, second, kind, K, N)
    c = codes(stream, "f32", "normal", M, N)
    if kind == "cancellation":
        a[:, K // 2 :] = a[:, : K // 2] ^ np.uint64(0x80)
        b[K // 2 :] = b[: K // 2]
    if kind == "zeros":
        a = np.where(stream.below(3, *a.shape) == 0, np.uint64(0x80), a)
        c = np.zeros_like(c)
    return a.astype(np.uint8), b.astype(np.uint8), c.astype(np.uint32)


def answer(preset: str, first: str, second: str, kind: str) -> np.ndarray:
    """D's codes by mmaemu."""
    import torch
    from mmaemu.model import chain

    a, b, c = inputs(preset, first, second, kind)
    left, right = decode(a, FORMATS[first]), decode(b, FORMATS[second]).T
    rows = torch.tensor(left)[:, None, :].expand(M, N, K).contiguous()
    columns = torch.tensor(right)[None, :, :].expand(M, N, K).contiguous()
    start = torch.tensor(c.view(np.float32).copy())
    d = chain.dot(rows, columns, start, preset=preset, fmt=(first, second))
    return d.numpy().view(np.uint32)


if __name__ == "__main__":
    np.savez_compressed(sys.argv[1], answers=np.array([answer(*case) for case in CASES]))
