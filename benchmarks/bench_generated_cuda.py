"""Generated GEMMs of NVIDIA beside Triton's kernels of the same tile: SASS of the loop, without a GPU.

    python benchmarks/bench_generated_cuda.py                 every target, B column by column and row by row
    python benchmarks/bench_generated_cuda.py sm_80 sm_120a   only these

Needs Triton (its wheel compiles without a GPU, and has nvdisasm), and nvcc. Counted is the innermost loop that has all
products of a stage, as ptxas left it: products, and other instructions for each. Of kernels with a warp for each task
that is the loop of those that multiply. NOPs, which ptxas 13.0 sets behind HMMA for sm_120, are counted apart.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import mmacalc
from bench_generated_gemm import matmul

HMMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
TARGETS: dict[str, tuple[str, int, dict[str, int]]] = {  # the instruction, k of a stage, its shape
    "sm_80": (HMMA, 32, {}),
    "sm_90a": ("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16", 64, {}),
    "sm_100a": ("tcgen05.mma.cta_group::1.kind::f16", 64, {"m": 128, "n": 128}),
    "sm_120a": (HMMA, 32, {}),
}
NVDISASM = Path(triton.__file__).parent / "backends/nvidia/bin/nvdisasm"
PRODUCT = re.compile(r"(UTC)?[A-Z]+MMA$")


def every_loop(cubin: Path, kernel: str) -> list[list[str]]:
    """The opcodes of each loop of a kernel."""
    listing = subprocess.run([NVDISASM, "-c", cubin], capture_output=True, text=True, check=True).stdout
    body = re.split(r"\n\s*\.section", listing[listing.index(f".text.{kernel}:") :])[0]
    opcodes: list[str] = []
    labels: dict[str, int] = {}
    found = []
    for line in body.splitlines():
        if label := re.match(r"\s*(\.L_\S+):", line):
            labels[label[1]] = len(opcodes)
        if not (given := re.match(r"\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?(\S+)(.*?);", line)):
            continue
        opcodes.append(given[1].split(".")[0])
        back = re.search(r"`\((\.L_\S+?)\)", given[2])
        if opcodes[-1] == "BRA" and back and back[1] in labels:
            found.append(opcodes[labels[back[1]] :])
    return found


def loops(cubin: Path, kernel: str) -> list[list[str]]:
    """The opcodes of each loop of a kernel that has products."""
    return [each for each in every_loop(cubin, kernel) if products_of(each)]


def generated(target: str, order: str, folder: Path) -> tuple[Path, str]:
    """The cubin and the name of the kernel for aligned matrices."""
    name, _, shape = TARGETS[target]
    source = mmacalc.generate(mmacalc.instruction(target, name), gemm="4096x4096x4096", order_b=order, **shape)
    path = folder / "kernel.cu"
    path.write_text(source)
    subprocess.run(["nvcc", "-w", "-cubin", f"-arch={target}", path, "-o", folder / "ours.cubin"], check=True)
    found = re.search(r"(gemm_\w+)<<<", source)
    assert found
    return folder / "ours.cubin", found[1]


def of_triton(target: str, order: str, folder: Path) -> tuple[Path, str]:
    """The cubin and the name of Triton's kernel: 128 x 128, four warps, three stages."""
    names: Any = matmul.arg_names
    signature = dict(zip(names, ["*fp16", "*fp16", "*fp32", *["i32"] * 6])) | dict.fromkeys(names[9:], "constexpr")
    constants = {"block": 128, "depth": TARGETS[target][1], "b_rows": order == "row"}
    aligned = {(at,): [["tt.divisibility", 16]] for at in range(9)}
    source = ASTSource(fn=matmul, signature=signature, constexprs=constants, attrs=aligned)
    machine = GPUTarget("cuda", int(re.sub(r"\D", "", target)), 32)
    made = triton.compile(source, target=machine, options={"num_warps": 4, "num_stages": 3})
    (folder / "triton.cubin").write_bytes(made.asm["cubin"])
    return folder / "triton.cubin", made.metadata.name


def products_of(opcodes: list[str]) -> int:
    """How many of them multiply."""
    return sum(bool(PRODUCT.match(opcode)) for opcode in opcodes)


def row(name: str, cubin: Path, kernel: str) -> None:
    """One line of the table."""
    found = loops(cubin, kernel)
    if not found:
        print(f"{name:26} no loop of products")
        return
    most = max(products_of(each) for each in found)  # of the loops of all stages and of all tiles the inner one
    counts = Counter(min([each for each in found if products_of(each) == most], key=len))
    products = most
    others = counts.total() - products - counts["NOP"]
    kinds = ", ".join(f"{count} {opcode}" for opcode, count in counts.most_common(6) if opcode != "NOP")
    print(f"{name:26} {products:8} {others:6} {others / products:6.2f} {counts['NOP']:5}  {kinds}")


def main(words: list[str]) -> None:
    print(f"Triton {triton.__version__}; SASS of a trip of the loop")
    print(f"{'':26} products others  ratio  NOPs")
    for target in words or TARGETS:
        for order in ("col", "row"):
            with tempfile.TemporaryDirectory() as name:
                row(f"{target} generated, B {order}", *generated(target, order, Path(name)))
                row(f"{target} Triton, B {order}", *of_triton(target, order, Path(name)))


if __name__ == "__main__":
    main(sys.argv[1:])
