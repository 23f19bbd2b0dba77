"""Generated GEMMs of AMD beside Triton's kernels of the same tile, profiled on the emulator, without a GPU.

    python benchmarks/bench_generated_gemm.py                           every target, format, order of A and B
    python benchmarks/bench_generated_gemm.py gfx942 gfx1250 --form f16 only these
    python benchmarks/bench_generated_gemm.py --tile 256x128x32         another tile
    python benchmarks/bench_generated_gemm.py --markdown                the table of docs/generate.md at the end
    python benchmarks/bench_generated_gemm.py --kept triton.json        Triton's side is measured once

Needs Triton (its wheel compiles without a GPU), clang-22, ml_dtypes, pyelftools. Both kernels are profiled with two K,
and one is subtracted from the other, so the counts are those of the loop: for each stage and wave. Each product is
compared with NumPy's. `lost` are cycles of bank conflicts in LDS, of all that LDS takes; `regs`, `scr` the registers
and the bytes of scratch memory of a lane; `occ` the waves that share a SIMD; `use` the part of the loop's time in which
the matrix units are busy, by the model of `mmacalc profile`.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import mmacalc
from mmacalc.arithmetic.codecs import decode
from mmacalc.codegen.gemm import Plan, plan
from triton_gemms import FORMS, Cell, Row, differences, of_triton, problem, run

F8F6F4 = {"fp8": "fp8", "mxfp8": "fp8", "mxfp4": "fp4", "fp6": "fp6", "mxfp6": "fp6"}
MX_FORMS = ("mxfp8", "mxfp6", "mxfp4")
INSTRUCTIONS = {
    "gfx90a": {
        "f16": "v_mfma_f32_32x32x8f16", "bf16": "v_mfma_f32_32x32x8bf16_1k", "i8": "v_mfma_i32_32x32x8i8",
        "f32": "v_mfma_f32_32x32x2f32",
    },
    "gfx942": {
        "f16": "v_mfma_f32_32x32x8_f16", "bf16": "v_mfma_f32_32x32x8_bf16", "i8": "v_mfma_i32_32x32x16_i8",
        "fp8 fnuz": "v_mfma_f32_32x32x16_fp8_fp8", "tf32": "v_mfma_f32_32x32x4_xf32", "f32": "v_mfma_f32_32x32x2_f32",
    },
    "gfx950": {
        "f16": "v_mfma_f32_32x32x16_f16", "bf16": "v_mfma_f32_32x32x16_bf16", "i8": "v_mfma_i32_32x32x32_i8",
        "fp8": "v_mfma_f32_32x32x64_f8f6f4", "f32": "v_mfma_f32_32x32x2_f32",
        "fp6": "v_mfma_f32_32x32x64_f8f6f4", **dict.fromkeys(MX_FORMS, "v_mfma_scale_f32_32x32x64_f8f6f4"),
    },
    "gfx1100": {
        "f16": "v_wmma_f32_16x16x16_f16", "bf16": "v_wmma_f32_16x16x16_bf16", "i8": "v_wmma_i32_16x16x16_iu8",
    },
    "gfx1201": {
        "f16": "v_wmma_f32_16x16x16_f16", "bf16": "v_wmma_f32_16x16x16_bf16", "i8": "v_wmma_i32_16x16x16_iu8",
        "fp8": "v_wmma_f32_16x16x16_fp8_fp8",
    },
    "gfx1250": {
        "f16": "v_wmma_f32_16x16x32_f16", "bf16": "v_wmma_f32_16x16x32_bf16", "i8": "v_wmma_i32_16x16x64_iu8",
        "fp8": "v_wmma_f32_16x16x128_fp8_fp8", "fp6": "v_wmma_f32_16x16x128_f8f6f4",
        **dict.fromkeys(MX_FORMS, "v_wmma_scale_f32_16x16x128_f8f6f4"),
    },
}  # fmt: skip
FIRST, STEPS = 4, 12  # stages of the shorter K, and how many more the other has
TILES = 4  # of D, one above the other: a compute unit of the model holds as many workgroups if they fit
COMPILER = ["clang-22", "-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-O2", "--no-gpu-bundle-output"]
KINDS = ("vector", "scalar", "shared", "memory", "wait", "barrier", "branch", "other")
MNEMONICS = {
    "matrix": r"v_(s?mfmac?|s?wmma)", "LDS": r"ds_", "memory": r"(global|buffer|flat|tensor|scratch)_",
    "wait": r"s_wait", "barrier": r"s_barrier", "VALU": r"v_", "SALU": r"s_",
}  # fmt: skip


def kind(mnemonic: str) -> str:
    """What an instruction is, by its name."""
    return next(name for name, pattern in MNEMONICS.items() if re.match(pattern, mnemonic))


def modifiers(cell: Cell) -> dict[str, Any]:
    """Those of the instruction: formats."""
    inst = mmacalc.instruction(cell.target, INSTRUCTIONS[cell.target][cell.form])
    names = [name for name in ("cbsz", "blgp", "matrix_a_fmt", "matrix_b_fmt") if name in inst.modifier_limits()]
    return dict.fromkeys(names, F8F6F4[cell.form]) if "f8f6f4" in inst.name else {}


def planned(cell: Cell, tile: str | None = None) -> Plan:
    inst = mmacalc.instruction(cell.target, INSTRUCTIONS[cell.target][cell.form])
    return plan(inst, None, *cell.orders, tile=tile, **modifiers(cell))


def generated(cell: Cell) -> Row:
    """The measured row of the generated kernel."""
    found = planned(cell, "x".join(map(str, cell.tile)))
    options = {"order_a": cell.orders[0], "order_b": cell.orders[1], "tile": cell.tile, **modifiers(cell)}
    source = mmacalc.generate(found.instruction, gemm="4096x4096x4096", **options)
    more = ["-mllvm", "-amdgpu-enable-vopd=0"] if cell.target == "gfx1250" else []  # as the source says
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.hip"
        path.write_text(source)
        command = [*COMPILER, *more, f"--offload-arch={cell.target}", "-o", path.with_suffix(".hsaco"), path]
        subprocess.run(command, check=True)
        kernel = mmacalc.load(path.with_suffix(".hsaco"))[found.name]
        return measured(kernel, cell, found, found.threads, 0)


def triton_row(cell: Cell) -> Row:
    """The measured row of Triton's kernel; on gfx1250 of two, one of which has tensor descriptors, the one whose
    matrix units are busier."""
    found = planned(cell, "x".join(map(str, cell.tile)))
    warps = min(8, max(4, cell.tile[0] * cell.tile[1] // 64**2))  # 64x64 of D each, but not more than generated ones
    rows, tensors = [], cell.target == "gfx1250" and not FORMS[cell.form].scaled
    for descriptors in (False, True)[: 1 + tensors]:
        made = of_triton(cell, found.wave, descriptors, num_warps=warps)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "triton.hsaco"
            path.write_bytes(made.asm["hsaco"])
            kernel = mmacalc.load(path)[made.metadata.name]
            shared = max(0, made.metadata.shared - kernel.descriptor.group_segment_size)
            rows.append(measured(kernel, cell, found, warps * found.wave, shared))
    return max(rows, key=lambda row: row.used or 0)


def profiled(kernel: Any, cell: Cell, found: Plan, k: int, threads: int, shared: int) -> Any:
    """The profile of a launch of one tile, whose product is right."""
    operands = [found.operand(side) for side in "AB"]
    m, n = cell.tile[0] * TILES, cell.tile[1]
    given = problem(cell, k, (operands[0].format, operands[1].format), "amd", (m, n))
    form = found.instruction.format("D")
    d = np.zeros((m, n), np.int32 if FORMS[cell.form].sums == "i32" else np.float32)
    scales, bits = list(given.scales), FORMS[cell.form].bits
    leads = [each.shape[1] * 8 // bits if bits < 8 and kernel.name == found.name else each.shape[1]
             for each in (given.a, given.b)]  # fmt: skip
    matrices = [given.a, given.b, d, *scales, m, n, k, *leads, n]
    matrices += [None] * (sum(not one.value_kind.startswith("hidden_") for one in kernel.arguments) - len(matrices))
    more: dict[str, Any] = {"shared": shared} if shared else {}
    result = mmacalc.profile(kernel, TILES, threads, *matrices, **more)
    values = decode(d.view(np.uint32), form) if d.dtype == np.float32 else d
    # RDNA3 rounds sums that others give exactly.
    assert np.abs(values - given.product).max() < 0.5, "the product is wrong"
    if kernel.name == found.name:
        assert not result.findings, result.findings
    return result


def measured(kernel: Any, cell: Cell, found: Plan, threads: int, shared: int) -> Row:
    """A row of the table: the difference of two profiles."""
    waves = threads // found.wave * TILES
    first, second = (
        profiled(kernel, cell, found, count * cell.tile[2], threads, shared) for count in (FIRST, FIRST + STEPS)
    )
    kinds = {
        kind: (second.counts.kinds.get(kind, 0) - first.counts.kinds.get(kind, 0)) / STEPS / waves
        for kind in {*first.counts.kinds, *second.counts.kinds}
    }
    lost, cycles, use = differences(first, second, STEPS, TILES)
    others = sum(count for kind, count in kinds.items() if kind != "matrix")
    held = second.occupancy
    return Row(
        kinds["matrix"], others, lost, cycles, held.vector_registers, held.scratch_bytes, held.waves, use,
        {kind: kinds[kind] for kind in KINDS if kinds.get(kind)},
    )  # fmt: skip


def tile_of(cell: Cell, tile: str | None) -> tuple[int, int, int]:
    """The tile of the generated kernel."""
    found = planned(cell, tile)
    return found.block_m, found.block_n, found.block_k


if __name__ == "__main__":
    run(__doc__, INSTRUCTIONS, tile_of, generated, triton_row, tiles=True)
