"""Write tests/data/nvidia/cute_tiles.json.gz: what CuTe makes of tiled MMAs and tiled copies.

    pip install nvidia-cutlass-dsl==4.8.1 && python tests/oracles/cute_tiles.py

No GPU is needed: layouts are made while the function is compiled. A row of "mma" is the instruction's shape and types,
the atom layout and the permutation of m, n and k, and the (thread, value) layouts of A, B and C; a row of "copy" is the
thread and value layouts and the (thread, value) layout with the tile that they cover.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import cutlass
from cutlass import cute

DATA = Path(__file__).parent.parent / "data" / "nvidia" / "cute_tiles.json.gz"
ROWS: dict[str, list[object]] = {"mma": [], "copy": []}

WARP = (
    ((1, 1, 1), None, (None, None, None)), ((2, 2, 1), None, (None, None, None)), ((4, 1, 1), None, (None, None, None)),
    ((1, 4, 1), None, (64, 64, 16)), ((2, 2, 1), (2, 1, 0), (32, 32, 16)), ((2, 2, 1), None, (64, 32, 32)),
    ((2, 2, 2), None, (32, 16, 32)), ((2, 4, 1), (4, 1, 0), (64, 64, 16)),
    ((2, 2, 1), None, (None, ((8, 2, 2), (1, 16, 8)), None)), ((1, 2, 1), None, (None, ((8, 2, 4), (1, 32, 8)), None)),
    ((2, 1, 1), None, (((16, 2, 2), (1, 32, 16)), None, 32)), ((4, 2, 1), None, (((2, 32), (32, 1)), 32, None)),
)  # fmt: skip


def part(one):
    return cute.make_layout(one[0], stride=one[1]) if isinstance(one, tuple) else one


def tiled_mma(op, types, shape, stride, permutation):
    @cute.jit
    def made():
        atoms = cute.make_layout(shape, stride=stride) if stride else cute.make_layout(shape)
        given = None if permutation == (None, None, None) else tuple(map(part, permutation))
        tiled = cute.make_tiled_mma(op, atoms, permutation_mnk=given)
        ROWS["mma"].append([
            [*map(int, op.shape_mnk)], types, shape, stride, permutation, str(tiled.tv_layout_A_tiled),
            str(tiled.tv_layout_B_tiled), str(tiled.tv_layout_C_tiled),
        ])  # fmt: skip

    made()


def tiled_mmas():
    half, brain, single = cutlass.Float16, cutlass.BFloat16, cutlass.Float32
    for types, op in (
        (("f16", "f32"), cute.nvgpu.warp.MmaF16BF16Op(half, single, (16, 8, 8))),
        (("f16", "f32"), cute.nvgpu.warp.MmaF16BF16Op(half, single, (16, 8, 16))),
        (("bf16", "f32"), cute.nvgpu.warp.MmaF16BF16Op(brain, single, (16, 8, 16))),
        (("f16", "f16"), cute.nvgpu.warp.MmaF16BF16Op(half, half, (16, 8, 16))),
    ):
        for shape, stride, permutation in WARP:
            try:
                tiled_mma(op, types, shape, stride, permutation)
            except Exception as refused:
                print(shape, stride, permutation, "is refused:", str(refused)[:200])


COPIES = (
    (((32, 4), (4, 1)), ((1, 8), (8, 1))), (((32, 4), (1, 32)), ((4, 1), (1, 4))),
    (((16, 8), (8, 1)), ((2, 4), (4, 1))), (((8, 32), (32, 1)), ((4, 4), (4, 1))),
    (((4, 32), (32, 1)), ((4, 2), (1, 4))),
)  # fmt: skip


def tiled_copy(thread, value):
    @cute.jit
    def made():
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16)
        layouts = cute.make_layout(thread[0], stride=thread[1]), cute.make_layout(value[0], stride=value[1])
        tiled = cute.make_tiled_copy_tv(atom, *layouts)
        ROWS["copy"].append([thread, value, str(tiled.layout_tv_tiled), str(tiled.tiler_mn)])

    made()


def tiled_copies():
    for thread, value in COPIES:
        tiled_copy(thread, value)


if __name__ == "__main__":
    tiled_mmas()
    tiled_copies()
    DATA.write_bytes(gzip.compress(json.dumps(ROWS, separators=(",", ":")).encode(), mtime=0))
    print({name: len(rows) for name, rows in ROWS.items()})
