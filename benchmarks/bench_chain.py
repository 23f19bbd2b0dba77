"""What `mmacalc chain` says a move costs, beside Triton's convert_layout between the same two layouts, without a GPU.

    python benchmarks/bench_chain.py                   the table of docs/cookbook/attention.md
    python benchmarks/bench_chain.py gfx942 gfx1250    only these targets

Needs Triton 3.9 (its wheel compiles without a GPU). D of an instruction, rounded to f16, becomes A or B of the next in
one wave. Of `chain` it is the way with the fewest instructions. Triton's side is a Gluon kernel with convert_layout,
less the same kernel without it, both run on the emulator: what they issue, and the bytes of LDS or shared memory. Where
`chain` relabels k, Triton, which cannot, moves.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

import mmacalc
import mmacalc.triton

MFMA, WMMA, MMA = gl.amd.AMDMFMALayout, gl.amd.AMDWMMALayout, gl.NVMMADistributedLayout
WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
CHAINS = [
    ("gfx942", "v_mfma_f32_32x32x8_f16", MFMA(3, [32, 32, 8], False, [1, 1]), 4),
    ("gfx942", "v_mfma_f32_16x16x16_f16", MFMA(3, [16, 16, 16], False, [1, 1]), 4),
    ("gfx950", "v_mfma_f32_32x32x16_f16", MFMA(4, [32, 32, 16], False, [1, 1]), 8),
    ("gfx950", "v_mfma_f32_16x16x32_f16", MFMA(4, [16, 16, 32], False, [1, 1]), 8),
    ("gfx1100", "v_wmma_f32_16x16x16_f16", WMMA(1, False, []), 16),
    ("gfx1201", "v_wmma_f32_16x16x16_f16", WMMA(2, False, []), 8),
    ("gfx1250", "v_wmma_f32_16x16x32_f16", WMMA(3, False, [], [], [16, 16, 32]), 8),
    ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", MMA([2, 0], [1, 1], [16, 8]), 2),
    ("sm_90a", WGMMA, MMA([3, 0], [4, 1], [16, 64, 16]), 2),
]
"""Target, instruction, Triton's layout of D, and the neighbours along k that a lane of the operand has."""


@gluon.jit
def kernel(
    x, z, y, w, m: gl.constexpr, n: gl.constexpr, d: gl.constexpr, to: gl.constexpr, moves: gl.constexpr
):  # fmt: skip
    """Loads D and something in the operand's layout; stores D, and the sum of both in the operand's layout."""
    rows, columns = gl.arange(0, m, layout=gl.SliceLayout(1, d)), gl.arange(0, n, layout=gl.SliceLayout(0, d))
    of_d = rows[:, None] * n + columns[None, :]
    result = gl.load(x + of_d).to(gl.float16)
    rows, columns = gl.arange(0, m, layout=gl.SliceLayout(1, to)), gl.arange(0, n, layout=gl.SliceLayout(0, to))
    of_operand = rows[:, None] * n + columns[None, :]
    held = gl.load(z + of_operand)
    if moves:
        found = gl.convert_layout(result, to) + held
    else:
        found = held + held
    gl.store(y + of_operand, found)
    gl.store(w + of_d, result)


def issued(target: str, warps: int, shape: tuple[int, int], d: Any, to: Any, moves: bool) -> tuple[Counter[str], int]:
    """What a warp of a kernel issues, and its bytes of LDS or shared memory; its result is right."""
    x = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape)
    z, y, w = (np.ones(shape, np.float16) for _ in range(3))
    given = (x, z, y, w, *shape, d, to, moves)
    made = mmacalc.triton.compiled(kernel, target, dict(zip(kernel.arg_names, given)), {"num_warps": warps})
    report = mmacalc.triton.launch(made, 1, x, z, y, w)
    assert np.array_equal(y, x.astype(np.float16) + 1 if moves else np.full(shape, 2)), "the kernel is wrong"
    counts = report.mnemonics if hasattr(report, "mnemonics") else report.opcodes
    each = warps * (1 if target.startswith("gfx") else 32)  # opcodes of PTX are counted for each thread
    return Counter({name: times // each for name, times in counts.items()}), made.metadata.shared


def in_words(counts: Counter[str]) -> str:
    """The instructions that move, and how many others there are."""
    moves = {name: times for name, times in counts.items() if any(part in name for part in MOVES)}
    others = sum(counts.values()) - sum(moves.values())
    texts = [f"{times} {name}" for name, times in sorted(moves.items(), key=lambda one: -one[1])]
    return ", ".join([*texts, f"{others} others"])


MOVES = ("ds_", "perm", "dpp", "swizzle", "cndmask", "shared", "shfl", "prmt", "movmatrix", "selp", "matrix")
"""Within the names of instructions that move; the others are addresses, waits, and what the compiler does otherwise."""


def compared(target: str, name: str, d: Any, width: int, use: str) -> str:
    """A row of the table."""
    inst = mmacalc.instruction(target, name)
    link = mmacalc.chain(inst, inst, use)
    shape = (link.f, link.k) if use == "A" else (link.k, link.f)
    to = gl.DotOperandLayout(0 if use == "A" else 1, d, width)
    (more, shared), (less, _) = (
        issued(target, 4 if name == WGMMA else 1, shape, d, to, moves) for moves in (True, False)
    )
    more.subtract(less)
    theirs = Counter({name: times for name, times in more.items() if times})
    ours = {"k-relabel": "nothing, k relabelled", "identical": "nothing"}.get(link.kind, link.kind)
    if link.ways:
        way = min(link.ways, key=lambda one: sum(dict(one.instructions).values()))
        ours = ", ".join([f"{times} {each}" for each, times in dict(way.instructions).items()])
        ours += f" ({way.bytes} bytes)" * bool(way.bytes)
    words = in_words(theirs) + f" ({shared} bytes)" * bool(shared)
    return f"| {target} | `{name}` | {use} | {ours} | {words} |"


def main(words: list[str]) -> None:
    print("| | D of | as | `chain` | Triton |\n|---|---|---|---|---|")
    for target, name, d, width in CHAINS:
        uses = "A" if name == WGMMA else "AB"  # B of wgmma is in shared memory
        for use in uses if not words or target in words else "":
            print(compared(target, name, d, width, use), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
