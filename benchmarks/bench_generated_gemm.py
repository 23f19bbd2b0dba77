"""Generated GEMMs of AMD beside Triton's kernels of the same tile: instructions for each stage and wave, without a GPU.

    python benchmarks/bench_generated_gemm.py                     every target, B column by column and row by row
    python benchmarks/bench_generated_gemm.py gfx942 gfx1250      only these

Needs Triton (its wheel compiles without a GPU), clang-22, ml_dtypes, pyelftools. Both kernels run on the emulator with
two K, and what they issue is subtracted, so the counts are those of the loop: for each stage and wave. Each product
is compared with NumPy's. `lost` are cycles of bank conflicts in LDS, of all that LDS takes; occupancy is what clang and
Triton's LLVM give for the registers and LDS of the kernel.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import mmacalc
from mmacalc.codegen.gemm import Plan, plan

TARGETS = {
    "gfx90a": "v_mfma_f32_32x32x8f16", "gfx942": "v_mfma_f32_32x32x8_f16", "gfx950": "v_mfma_f32_32x32x16_f16",
    "gfx1100": "v_wmma_f32_16x16x16_f16", "gfx1201": "v_wmma_f32_16x16x16_f16", "gfx1250": "v_wmma_f32_16x16x32_f16",
}  # fmt: skip
KINDS = {
    "matrix": r"v_(s?mfmac?|s?wmma)", "LDS": r"ds_", "memory": r"(global|buffer|flat|tensor|scratch)_",
    "wait": r"s_wait", "barrier": r"s_barrier", "VALU": r"v_", "SALU": r"s_",
}  # fmt: skip


@triton.jit
def matmul(a, b, d, m, n, k, lda, ldb, ldd, block: tl.constexpr, depth: tl.constexpr, b_rows: tl.constexpr):
    """D = A B with masks, A row by row; B row by row if b_rows, else column by column."""
    rows, columns, inner = tl.arange(0, block), tl.arange(0, block), tl.arange(0, depth)
    rows += tl.program_id(0) * block
    columns += tl.program_id(1) * block
    sums = tl.zeros((block, block), dtype=tl.float32)
    for start in range(0, k, depth):
        left = (rows[:, None] < m) & (start + inner[None, :] < k)
        right = (start + inner[:, None] < k) & (columns[None, :] < n)
        x = tl.load(a + rows[:, None] * lda + start + inner[None, :], mask=left, other=0.0)
        if b_rows:
            y = tl.load(b + (start + inner[:, None]) * ldb + columns[None, :], mask=right, other=0.0)
        else:
            y = tl.load(b + start + inner[:, None] + columns[None, :] * ldb, mask=right, other=0.0)
        sums = tl.dot(x, y, sums)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(d + rows[:, None] * ldd + columns[None, :], sums, mask=inside)


def kind(mnemonic: str) -> str:
    return next(name for name, pattern in KINDS.items() if re.match(pattern, mnemonic))


def generated(target: str, order: str, folder: Path) -> tuple[Plan, Any, int, str]:
    """The plan, the kernel, shared memory beyond its own, and the listing."""
    inst = mmacalc.instruction(target, TARGETS[target])
    path = folder / "kernel.hip"
    path.write_text(mmacalc.generate(inst, gemm="4096x4096x4096", order_b=order))
    command = [
        "clang-22",
        "-x",
        "hip",
        f"--offload-arch={target}",
        "--cuda-device-only",
        "-nogpuinc",
        "-nogpulib",
        "-O2",
    ]
    subprocess.run([*command, "--no-gpu-bundle-output", "-o", "kernel.hsaco", path], cwd=folder, check=True)
    subprocess.run([*command, "-O2", "-S", "-o", "kernel.s", path], cwd=folder, check=True)
    found = plan(inst, None, "row", order)
    return found, mmacalc.load(folder / "kernel.hsaco")[found.name], 0, (folder / "kernel.s").read_text()


def of_triton(target: str, found: Plan, order: str, folder: Path) -> tuple[Any, int, str]:
    """The kernel, its shared memory and its listing."""
    names = matmul.arg_names
    kinds = ["*fp16", "*fp16", "*fp32", *["i32"] * 6]
    signature = dict(zip(names, kinds)) | dict.fromkeys(names[9:], "constexpr")
    constants = {"block": found.block_m, "depth": found.block_k, "b_rows": order == "row"}
    aligned = {(at,): [["tt.divisibility", 16]] for at in range(9)}
    source = ASTSource(fn=matmul, signature=signature, constexprs=constants, attrs=aligned)
    machine = GPUTarget("hip", target, found.wave)
    made = triton.compile(source, target=machine, options={"num_warps": 4})
    (folder / "triton.hsaco").write_bytes(made.asm["hsaco"])
    kernel = mmacalc.load(folder / "triton.hsaco")[made.metadata.name]
    return kernel, max(0, made.metadata.shared - kernel.descriptor.group_segment_size), made.asm["amdgcn"]


def launched(kernel: Any, found: Plan, order: str, k: int, threads: int, shared: int) -> Any:
    """The report of a launch of one tile, whose product is right."""
    rng = np.random.default_rng(0)
    m, n = found.block_m, found.block_n
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((m, k), (k, n)))
    held, d = (b if order == "row" else np.ascontiguousarray(b.T)), np.zeros((m, n), np.float32)
    given = [a, held, d, m, n, k, k, held.shape[1], n]
    given += [None] * (sum(not one.value_kind.startswith("hidden_") for one in kernel.arguments) - len(given))
    report = mmacalc.launch(kernel, 1, threads, *given, **({"shared": shared} if shared else {}))
    wanted = a.astype(np.float32) @ b.astype(np.float32)
    assert np.abs(d - wanted).max() < 0.5, "the product is wrong"  # RDNA3 rounds sums that others give exactly
    return report


def row(name: str, kernel: Any, found: Plan, order: str, threads: int, shared: int, listing: str) -> None:
    """One line of the table."""
    steps, waves = 4, threads // found.wave
    first, second = (
        launched(kernel, found, order, count * found.block_k, threads, shared) for count in (steps, 2 * steps)
    )
    counts: Counter[str] = Counter()
    for report, sign in ((first, -1), (second, 1)):
        for mnemonic, times in report.mnemonics.items():
            counts[kind(mnemonic)] += sign * times
    each = {name: counts[name] / steps / waves for name in KINDS}
    lost, cycles = (
        sum(getattr(site, what) for site in second.lds) - sum(getattr(site, what) for site in first.lds)
        for what in ("conflicts", "cycles")
    )
    others = sum(each.values()) - each["matrix"]
    share = each["matrix"] / sum(each.values())
    occupancy, registers = re.search(r"Occupancy: (\d+)", listing), re.search(r"\.vgpr_count: +(\d+)", listing)
    print(
        f"{name:30} {waves:5} {each['matrix']:6.1f} {others:6.1f} {others / each['matrix']:6.2f} {share:6.0%} "
        + " ".join(f"{each[one]:7.1f}" for one in KINDS if one != "matrix")
        + f" {lost / steps:6.0f}/{cycles / steps:<6.0f} {registers[1] if registers else '?':>5}"
        f" {occupancy[1] if occupancy else '?':>5}"
    )


def main(words: list[str]) -> None:
    print(f"Triton {triton.__version__}; per stage and wave")
    heads = " ".join(f"{name:>7}" for name in KINDS if name != "matrix")
    print(f"{'':30} waves matrix others ratio  share {heads}   lost/cycles  VGPRs occupancy")
    for target in words or TARGETS:
        for order in ("col", "row"):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                found, kernel, shared, listing = generated(target, order, folder)
                row(f"{target} generated, B {order}", kernel, found, order, found.threads, shared, listing)
                kernel, shared, listing = of_triton(target, found, order, folder)
                row(f"{target} Triton, B {order}", kernel, found, order, 4 * found.wave, shared, listing)


if __name__ == "__main__":
    main(sys.argv[1:])
