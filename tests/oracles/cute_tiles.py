"""Write tests/data/nvidia/cute_tiles.json.gz: what CuTe makes of tiled MMAs and tiled copies.

    pip install nvidia-cutlass-dsl==4.8.1 && python tests/oracles/cute_tiles.py

No GPU is needed: layouts are made while the function is compiled. A row of "mma" is the instruction's shape and types,
the atom layout and the permutation of m, n and k, and the (thread, value) layouts of A, B and C; one of "other" is the
same of an instruction that architecture and PTX name; one of "asked" is a tiled MMA as C++ writes it, from a public
question, the shape of the tile that it cuts, and what a few threads have of A, B and C; a row of "copy" is the thread
and value layouts and the (thread, value) layout with the tile that they cover.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import cutlass
from cutlass import cute

DATA = Path(__file__).parent.parent / "data" / "nvidia" / "cute_tiles.json.gz"
ROWS: dict[str, list[object]] = {"mma": [], "other": [], "asked": [], "copy": []}

WARP = (
    ((1, 1, 1), None, (None, None, None)), ((2, 2, 1), None, (None, None, None)), ((4, 1, 1), None, (None, None, None)),
    ((1, 4, 1), None, (64, 64, 16)), ((2, 2, 1), (2, 1, 0), (32, 32, 16)), ((2, 2, 1), None, (64, 32, 32)),
    ((2, 2, 2), None, (32, 16, 32)), ((2, 4, 1), (4, 1, 0), (64, 64, 16)),
    ((2, 2, 1), None, (None, ((8, 2, 2), (1, 16, 8)), None)), ((1, 2, 1), None, (None, ((8, 2, 4), (1, 32, 8)), None)),
    ((2, 1, 1), None, (((16, 2, 2), (1, 32, 16)), None, 32)), ((4, 2, 1), None, (((2, 32), (32, 1)), 32, None)),
)  # fmt: skip


def part(one):
    return cute.make_layout(one[0], stride=one[1]) if isinstance(one, tuple) else one


OTHER_TILES = (
    ((1, 1, 1), None, (None, None, None)), ((2, 2, 1), None, (None, None, None)), ((2, 2, 1), (2, 1, 0), (64, 64, 64)),
)  # fmt: skip
WARPGROUPS = (
    ((1, 1, 1), None, (None, None, None)), ((2, 1, 1), None, (None, None, None)), ((2, 1, 1), None, (256, None, None)),
)  # fmt: skip


def tiled_mma(op, types, shape, stride, permutation, kind="mma"):
    @cute.jit
    def made():
        atoms = cute.make_layout(shape, stride=stride) if stride else cute.make_layout(shape)
        given = None if permutation == (None, None, None) else tuple(map(part, permutation))
        tiled = cute.make_tiled_mma(op, atoms, permutation_mnk=given)
        ROWS[kind].append([
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


def other_mmas(target):
    half, brain, single = cutlass.Float16, cutlass.BFloat16, cutlass.Float32
    e4m3, e5m2, e2m1, scale = cutlass.Float8E4M3FN, cutlass.Float8E5M2, cutlass.Float4E2M1FN, cutlass.Float8E8M0FNU
    warp, group, registers = cute.nvgpu.warp, cute.nvgpu.warpgroup, cute.nvgpu.warpgroup.OperandSource.RMEM
    k_major = cute.nvgpu.warpgroup.OperandMajorMode.K
    made = [
        (["sm_80", "mma.m16n8k4.f32.tf32.tf32.f32"], lambda: warp.MmaTF32Op((16, 8, 4)), OTHER_TILES),
        (["sm_80", "mma.m16n8k8.f32.tf32.tf32.f32"], lambda: warp.MmaTF32Op((16, 8, 8)), OTHER_TILES),
        (["sm_120a", "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e2m1.e4m3.f32.ue8m0"],
         lambda: warp.MmaMXF8F6F4Op(e2m1, e4m3, single, scale), OTHER_TILES),
        (["sm_120a", "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0"],
         lambda: warp.MmaMXF8Op(e4m3, single, scale), OTHER_TILES),
        (["sm_120a", "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"],
         lambda: warp.MmaMXF4Op(e2m1, single, scale), OTHER_TILES),
    ]  # fmt: skip
    for n in (8, 64, 256):
        for name, out in (("f16", single), ("f16", half), ("bf16", single)):
            a, d = (brain if name == "bf16" else half), ("f16" if out is half else "f32")
            made.append((
                ["sm_90a", f"wgmma.m64n{n}k16.{d}.{name}.{name}"],
                lambda a=a, out=out, n=n: group.MmaF16BF16Op(a, out, (64, n, 16), registers, k_major, k_major),
                WARPGROUPS,
            ))  # fmt: skip
        made.append((
            ["sm_90a", f"wgmma.m64n{n}k32.f32.e4m3.e5m2"],
            lambda n=n: group.MmaF8Op(e4m3, e5m2, single, (64, n, 32), registers, k_major, k_major), WARPGROUPS,
        ))  # fmt: skip
        made.append((
            ["sm_90a", f"wgmma.m64n{n}k32.s32.s8.u8"],
            lambda n=n: group.MmaI8Op(
                cutlass.Int8, cutlass.Uint8, cutlass.Int32, (64, n, 32), registers, k_major, k_major
            ),
            WARPGROUPS,
        ))  # fmt: skip
    for name, op, tiles in made:
        if name[0] != target:
            continue
        for shape, stride, permutation in tiles:
            try:
                tiled_mma(op(), name, shape, stride, permutation, "other")
            except Exception as refused:
                print(name, shape, stride, permutation, "is refused:", str(refused)[:200])


def asked():
    """The tiles of CUTLASS's issues 1447, 1448, 1705 and 2127 and flash-attention's 1512 and 1630."""
    half, single = cutlass.Float16, cutlass.Float32
    f16 = lambda: cute.nvgpu.warp.MmaF16BF16Op(half, single, (16, 8, 16))  # noqa: E731
    name = "SM80_16x8x16_F32F16F16F32_TN"
    for text, op, shape, permutation, size in (
        ("make_tiled_mma(SM80_16x8x8_F16F16F16F16_TN{}, make_layout(Shape<_2, _2, _1>{}), "
         "make_layout(Shape<_1, _2, _1>{}))",
         lambda: cute.nvgpu.warp.MmaF16BF16Op(half, half, (16, 8, 8)), (2, 2, 1), (32, 32, 8), (32, 32, 8)),
        (f"make_tiled_mma({name}{{}}, Layout<Shape<_3,_4,_2>>{{}}, Tile<_96,_96,_64>{{}})",
         f16, (3, 4, 2), (None, None, None), (96, 96, 64)),
        (f"TiledMMA<MMA_Atom<{name}>, Layout<Shape<_8, _1, _1>>, "
         "Tile<_128, Layout<Shape<_2, _8>>, Layout<Shape<_2, _16>>>>",
         f16, (8, 1, 1), (128, ((2, 8), (1, 2)), ((2, 16), (1, 2))), (128, 16, 32)),
        ("make_tiled_mma(SM80_16x8x8_F32TF32TF32F32_TN{}, Layout< Shape<_4,_1>, Stride<_1,_4> >{}, "
         "Tile< Layout< Shape<_16>, Stride<_1> >, Layout< Shape<_2,_16>, Stride<_1,_8> >, _8 >{});",
         lambda: cute.nvgpu.warp.MmaTF32Op((16, 8, 8)), (4, 1, 1), (16, ((2, 16), (1, 8)), 8), (64, 128, 8)),
        (f"TiledMMA<MMA_Atom<{name}>, Layout<Shape<Int<4>,_1,_1>>, Tile<Int<16 * 4>, _16, _16>>",
         f16, (4, 1, 1), (64, 16, 16), (64, 16, 16)),
        (f"make_tiled_mma({name}{{}}, Layout<Shape<Int<4>,_1,_1>>{{}}, Tile<_128, _64, _128>{{}})",
         f16, (4, 1, 1), (64, 16, 16), (128, 64, 128)),
        (f"make_tiled_mma({name}{{}}, Layout<Shape<_2,_2>>{{}}, Tile<_16,Layout<Shape<_2,_4>,Stride<_4,_1>>,_16>{{}})",
         f16, (2, 2, 1), (16, ((2, 4), (4, 1)), 16), (32, 16, 16)),
        (f"make_tiled_mma({name}{{}}, Layout<_1>{{}}, Tile<_,_,Layout<Shape<_2,_4,_2>,Stride<_1,_4,_2>>>{{}})",
         f16, (1, 1, 1), (None, None, ((2, 4, 2), (1, 4, 2))), (16, 8, 16)),
    ):  # fmt: skip
        partitions(text, op(), shape, permutation, size)


def partitions(text, op, shape, permutation, size):
    @cute.jit
    def made():
        given = tuple(map(part, permutation))
        tiled = cute.make_tiled_mma(op, cute.make_layout(shape), permutation_mnk=given)
        m, n, k = size
        threads = {}
        for thread in (0, 1, 77 % tiled.size, tiled.size - 1):
            one = tiled.get_slice(thread)
            threads[thread] = [
                str(one.partition_A(cute.make_identity_tensor((m, k)))),
                str(one.partition_B(cute.make_identity_tensor((n, k)))),
                str(one.partition_C(cute.make_identity_tensor((m, n)))),
            ]
        ROWS["asked"].append([text, size, threads])

    made()


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


def others():
    """The rows of instructions of other targets; the DSL compiles for one in each process."""
    for target in ("sm_80", "sm_90a", "sm_120a"):
        found = subprocess.run(
            [sys.executable, __file__, target], env={**os.environ, "CUTE_DSL_ARCH": target}, stdout=subprocess.PIPE,
            check=True,
        )  # fmt: skip
        ROWS["other"] += json.loads(found.stdout.splitlines()[-1])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        other_mmas(sys.argv[1])
        print(json.dumps(ROWS["other"]))
        sys.exit()
    tiled_mmas()
    asked()
    others()
    tiled_copies()
    DATA.write_bytes(gzip.compress(json.dumps(ROWS, separators=(",", ":")).encode(), mtime=0))
    print({name: len(rows) for name, rows in ROWS.items()})
