"""Generated GEMMs of NVIDIA beside Triton's kernels of the same tile: SASS of the loop, without a GPU.

    python benchmarks/bench_generated_cuda.py                      every target and format, in every order of A and B
    python benchmarks/bench_generated_cuda.py sm_80 --form f16     only these
    python benchmarks/bench_generated_cuda.py --markdown           the table of docs/generate.md at the end
    python benchmarks/bench_generated_cuda.py --kept triton.json   Triton's side is measured once

Needs Triton (its wheel compiles without a GPU, and has nvdisasm and cuobjdump), and nvcc. Counted is the innermost
loop of products, as ptxas left it: products, and other instructions for each. Of kernels with a warp for each task that
is the loop of those that multiply, to which those of warps that turn matrices over are added, with all that one of
their threads does to copy. NOPs, which ptxas 13.0 sets behind HMMA for sm_120, are not counted. On sm_90a and sm_100a
Triton has two kernels, one of pointers and one of tensor descriptors (TMA); the row has the one with fewer
instructions. Kernels around mma.sync run on the emulator, too: `lost` are cycles of bank conflicts, of all that shared
memory takes, and `use` is by the model of `mmacalc profile`, which issues statements of PTX.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import triton

import mmacalc
from mmacalc.codegen import gemm_cuda, gemm_tcgen05, gemm_tma
from mmacalc.kernels.ptx.profiling import occupancy
from triton_gemms import FORMS, Cell, Row, differences, of_triton, problem, run

MMA, WGMMA, TCGEN05 = "mma.sync.aligned", "wgmma.mma_async.sync.aligned.m64n128", "tcgen05.mma.cta_group::1.kind::"
SYNC = {
    "f16": f"{MMA}.m16n8k16.row.col.f32.f16.f16.f32", "bf16": f"{MMA}.m16n8k16.row.col.f32.bf16.bf16.f32",
    "i8": f"{MMA}.m16n8k32.row.col.s32.s8.s8.s32", "tf32": f"{MMA}.m16n8k8.row.col.f32.tf32.tf32.f32",
}  # fmt: skip
INSTRUCTIONS: dict[str, dict[str, str]] = {
    "sm_80": SYNC,
    "sm_90a": {
        "f16": f"{WGMMA}k16.f32.f16.f16", "bf16": f"{WGMMA}k16.f32.bf16.bf16", "fp8": f"{WGMMA}k32.f32.e4m3.e4m3",
        "i8": f"{WGMMA}k32.s32.s8.s8", "tf32": f"{WGMMA}k8.f32.tf32.tf32",
    },
    "sm_100a": {
        "f16": f"{TCGEN05}f16", "bf16": f"{TCGEN05}f16", "fp8": f"{TCGEN05}f8f6f4", "tf32": f"{TCGEN05}tf32",
        "i8": f"{TCGEN05}i8", "mxfp8": f"{TCGEN05}mxf8f6f4.block_scale.block32",
        "mxfp4": f"{TCGEN05}mxf4.block_scale.block32",
    },
    "sm_120a": SYNC | {
        "fp8": f"{MMA}.m16n8k32.row.col.f32.e4m3.e4m3.f32",
        "mxfp8": f"{MMA}.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0",
        "fp6": f"{MMA}.m16n8k32.row.col.kind::f8f6f4.f32.e2m3.e2m3.f32",
        "mxfp6": f"{MMA}.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m3.e2m3.f32.ue8m0",
        "mxfp4": f"{MMA}.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
    },
}  # fmt: skip
BIN = Path(triton.__file__).parent / "backends/nvidia/bin"
PRODUCT = re.compile(r"(UTC)?[A-Z]+MMA$")
WARPGROUP = 128
FIRST, STEPS, TILES = 4, 4, 2  # stages of the shorter K, how many more the other has; tiles of D


def every_loop(cubin: Path, kernel: str) -> list[list[str]]:
    """The opcodes from the target to the end of each backward branch of a kernel."""
    listing = subprocess.run([BIN / "nvdisasm", "-c", cubin], capture_output=True, text=True, check=True).stdout
    body = re.split(r"\n\s*\.section", listing[listing.index(f".text.{kernel}:") :])[0]
    opcodes: list[str] = []
    labels: dict[str, int] = {}
    spans = []
    for line in body.splitlines():
        if label := re.match(r"\s*(\.L_\S+):", line):
            labels[label[1]] = len(opcodes)
        if not (given := re.match(r"\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?(\S+)(.*?);", line)):
            continue
        opcodes.append(given[1].split(".")[0])
        back = re.search(r"`\((\.L_\S+?)\)", given[2])
        if opcodes[-1] == "BRA" and back and back[1] in labels:
            spans.append((labels[back[1]], len(opcodes)))
    return [opcodes[slice(*span)] for span in spans]


def loops(cubin: Path, kernel: str) -> list[list[str]]:
    """Those that have products."""
    return [each for each in every_loop(cubin, kernel) if products_of(each)]


def instruction(cell: Cell) -> tuple[Any, dict[str, Any]]:
    """The instruction and its parameters."""
    inst = mmacalc.instruction(cell.target, INSTRUCTIONS[cell.target][cell.form])
    shape: dict[str, Any] = {"m": 128, "n": 128} if inst.in_tensor_memory else {}
    if inst.in_tensor_memory and cell.form == "bf16":
        shape |= {"a": "bf16", "b": "bf16"}
    return inst, shape


def planned(cell: Cell) -> Any:
    inst, shape = instruction(cell)
    if inst.in_tensor_memory:
        return gemm_tcgen05.plan(inst.shaped(**shape), *cell.orders)
    if "wgmma" in inst.features:
        return gemm_tma.plan(inst, *cell.orders) or gemm_tma.gemm_wgmma.plan(inst, *cell.orders)
    return gemm_cuda.plan(inst, *cell.orders)


def usage(cubin: Path, kernel: str) -> tuple[int, int, int]:
    """Registers, stack and shared memory of a kernel."""
    text = subprocess.run([BIN / "cuobjdump", "-res-usage", cubin], capture_output=True, text=True, check=True).stdout
    found = re.search(rf"Function {kernel}:\s+REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)", text)
    assert found, text
    return int(found[1]), int(found[2]) + int(found[4]), int(found[3])


def generated(cell: Cell) -> Row:
    """The measured row of the kernel for aligned matrices."""
    inst, shape = instruction(cell)
    found = planned(cell)
    a, b = cell.orders
    source = mmacalc.generate(inst, gemm="4096x4096x4096", order_a=a, order_b=b, **shape)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cu"
        path.write_text(source)
        for kind in ("cubin", "ptx"):
            command = ["nvcc", "-w", f"-{kind}", f"-arch={cell.target}", path, "-o", path.with_suffix(f".{kind}")]
            subprocess.run(command, check=True)
        kernel = mmacalc.load(path.with_suffix(".ptx"))[found.name] if MMA in inst.name else None
        return measured(path.with_suffix(".cubin"), kernel, cell, found, (found.threads, getattr(found, "shared", 0)))


def triton_row(cell: Cell) -> Row:
    """The measured row of Triton's kernel, of its two the one with fewer instructions."""
    found, rows = planned(cell), []
    inst = found.instruction
    for descriptors in (False, True)[: 1 + (MMA not in inst.name and not FORMS[cell.form].scaled)]:
        made = of_triton(cell, 32, descriptors, num_stages=3)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "triton.cubin"
            path.write_bytes(made.asm["cubin"])
            path.with_suffix(".ptx").write_text(made.asm["ptx"])
            kernel = mmacalc.load(path.with_suffix(".ptx"))[made.metadata.name] if MMA in inst.name else None
            threads = 32 * made.metadata.num_warps
            rows.append(measured(path, kernel, cell, found, (threads, made.metadata.shared), made.metadata.name))
    return min(rows, key=lambda row: row.ratio)


def measured(cubin: Path, kernel: Any, cell: Cell, found: Any, launch: tuple[int, int], name: str = "") -> Row:
    """A row of the table.

    Args:
        launch: threads, and dynamic shared memory. name: of Triton's kernel.
    """
    # Waits that come back from behind the kernel's end span more than their loop: that has the most products for each.
    body = max(loops(cubin, name or found.name), key=lambda each: products_of(each) / len(each))
    counts, most = Counter(body), products_of(body)
    others = counts.total() - most - counts["NOP"]
    if getattr(found, "turned", None) and not name:
        others += round(turned_over(every_loop(cubin, found.name), found) * most)
    registers, scratch, static = usage(cubin, name or found.name)
    shared = launch[1] + (0 if name else static)
    held = occupancy(cell.target, launch[0], shared, 0, registers, None)
    kinds: dict[str, float] = {opcode: count for opcode, count in counts.most_common(9) if not PRODUCT.match(opcode)}
    row = Row(most, others, registers=registers, scratch=scratch, waves=held.waves, kinds=kinds)
    if kernel is None or FORMS[cell.form].scaled:
        return row
    first, second = (
        profiled(kernel, cell, found, count * cell.tile[2], launch, registers, bool(name))
        for count in (FIRST, FIRST + STEPS)
    )
    if first.model is None:  # how fast these products are is not published
        return row
    lost, cycles, use = differences(first, second, STEPS, TILES)
    return row._replace(lost=lost, cycles=cycles, used=use)


def profiled(kernel: Any, cell: Cell, found: Any, k: int, launch: tuple[int, int], registers: int, theirs: bool) -> Any:
    """The profile of a launch of some tiles, whose product is right."""
    inst = found.instruction
    m, n = cell.tile[0] * TILES, cell.tile[1]
    given = problem(cell, k, (inst.format("A"), inst.format("B")), "nvidia", (m, n))
    d = np.zeros((m, n), np.int32 if FORMS[cell.form].sums == "i32" else np.float32)
    leads = [each.shape[1] * 8 // min(8, FORMS[cell.form].bits) for each in (given.a, given.b)]
    matrices = [given.a, given.b, d, m, n, k, *leads, n]
    matrices += [None] * (len(kernel.parameters) - len(matrices))
    more: dict[str, Any] = {"shared": launch[1]} if theirs else {}
    result = mmacalc.profile(kernel, TILES, launch[0], *matrices, registers=registers, **more)
    assert np.abs(d - given.product).max() < 0.5, "the product is wrong"
    assert theirs or not result.findings, result.findings
    return result


def turned_over(spans: list[list[str]], found: Any) -> float:
    """The instructions of the warps that turn a side over, for each product of a warp that multiplies: a loop of them
    may have several stages, of which each has a load for 512 bytes."""
    body = max(spans, key=lambda each: each.count("LDSM") * (not products_of(each)))
    loads = sum(each.tile.bytes for each in found.turned) // 512  # of a stage
    consumers, turners = found.threads - WARPGROUP, WARPGROUP
    count = (len(body) - body.count("NOP")) * (loads / (body.count("LDSM") * (turners // 32)))
    return count * turners / consumers / (found.tiles * found.steps)


def products_of(opcodes: list[str]) -> int:
    """How many of them multiply."""
    return sum(bool(PRODUCT.match(opcode)) for opcode in opcodes)


def tile_of(cell: Cell, _: str | None) -> tuple[int, int, int]:
    """The tile of the generated kernel."""
    found = planned(cell)
    return 128, 128, found.a.depth * (found.shares(found.a) if MMA in found.instruction.name else 1)


if __name__ == "__main__":
    run(__doc__, INSTRUCTIONS, tile_of, generated, triton_row)
