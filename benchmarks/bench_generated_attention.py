"""Generated attention beside a Triton kernel as its tutorial on fused attention has it, without a GPU.

    python benchmarks/bench_generated_attention.py                    every target, heads of 128, f16, not causal
    python benchmarks/bench_generated_attention.py gfx942 sm_90a      only these
    python benchmarks/bench_generated_attention.py fp8 gfx950 128x128 of fp8 (AMD), another tile

Needs Triton (its wheel compiles without a GPU, and has nvdisasm), clang-22, nvcc. Of AMD both kernels are profiled on
the emulator with two numbers of keys, and one is subtracted from the other, so the counts are those of the loop: of
what is issued, of LDS, and of the time by the model of `mmacalc profile`. Of NVIDIA SASS of the innermost loop with
exponentials is counted as ptxas left it, without NOPs: all of it, so masks that are jumped over, too. Triton's kernel
has neither masks nor edges. Kernels around mma.sync run on the emulator, too: how busy the matrix units are is by the
model of `mmacalc profile`, which issues statements of PTX.
Instructions beside products are given for 1,000 products of a query and a key, of all warps that have queries.
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
from bench_generated_cuda import every_loop, products_of, usage
from mmacalc.arithmetic.codecs import encode
from mmacalc.codegen.attention import attention_plan
from mmacalc.codegen.attention_choice import attention_instruction
from mmacalc.codegen.attention_cuda_plan import cuda_attention_plan
from mmacalc.codegen.tensor_copies import swizzle_name
from mmacalc.formats import FORMATS
from mmacalc.kernels.ptx.profiling import occupancy
from triton_gemms import differences

HEAD = 128
FP8 = ("gfx942", "gfx950", "gfx1201", "gfx1250")
BLOCKS = 2  # of NVIDIA's kernels on the emulator
WARPS = {"sm_80": 4, "sm_90a": 8, "sm_100a": 8, "sm_120a": 4}  # of Triton's kernel
AMD = {"gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1100": 32, "gfx1201": 32, "gfx1250": 32}
KINDS = (tl.float16, tl.float8e4nv, tl.float8e4b8)
TRITON = {"f16": "fp16", "e4m3": "fp8e4nv", "e4m3fnuz": "fp8e4b8"}  # by our names
# Workgroups of AMD's kernels on the emulator, whose instructions the model follows: so few that it follows all.
GROUPS = {("gfx1100", "f16"): 2, ("gfx1201", "f16"): 2, ("gfx1201", "fp8"): 1}
MOST_GROUPS = 4


@triton.jit
def attention(q, k, v, o, keys, scale, m: tl.constexpr, n: tl.constexpr, width: tl.constexpr, kind: tl.constexpr):
    """O of the first m queries: keys are a multiple of n."""
    rows, at, inner = tl.arange(0, m) + tl.program_id(0) * m, tl.arange(0, n), tl.arange(0, width)
    queries = tl.load(q + rows[:, None] * width + inner[None, :])
    most = tl.full((m,), -float("inf"), tl.float32)
    total, sums = tl.full((m,), 0, tl.float32), tl.zeros((m, width), tl.float32)
    for first in range(0, keys, n):
        columns = first + at
        scores = tl.dot(queries, tl.load(k + columns[None, :] * width + inner[:, None]))
        new = tl.maximum(most, tl.max(scores, 1) * scale)
        powers = tl.math.exp2(scores * scale - new[:, None])
        less = tl.math.exp2(most - new)
        values = tl.load(v + columns[:, None] * width + inner[None, :])
        sums = tl.dot(powers.to(kind), values, sums * less[:, None])
        total = total * less + tl.sum(powers, 1)
        most = new
    tl.store(o + rows[:, None] * width + inner[None, :], (sums / total[:, None]).to(o.dtype.element_ty))


def of_triton(machine: GPUTarget, m: int, n: int, warps: int, form: str = "f16") -> Any:
    """What Triton makes of it."""
    names: Any = attention.arg_names
    kind = TRITON[form]
    of_o = "fp16" if form == "f16" else "bf16"
    signature = dict(zip(names, [f"*{kind}"] * 3 + [f"*{of_o}", "i32", "fp32"])) | dict.fromkeys(names[6:], "constexpr")
    constants = {"m": m, "n": n, "width": HEAD, "kind": {str(each): each for each in KINDS}[kind]}
    aligned = {(at,): [["tt.divisibility", 16]] for at in range(5)}
    source = ASTSource(fn=attention, signature=signature, constexprs=constants, attrs=aligned)
    return triton.compile(source, target=machine, options={"num_warps": warps})


def printed(name: str, tile: tuple[int, int], warps: int, products: float, others: float, more: str) -> None:
    """One line of the table; products and others of a warp, for a tile."""
    each = 1000 * others * warps / (tile[0] * tile[1])
    print(f"{name:18} {tile[0]:4}x{tile[1]:<4} {warps:5} {products:8.1f} {others:8.1f} {each:8.1f}  {more}", flush=True)


# --- AMD: what the emulator issues ---


def issued(profile: Any, keys: int, waves: int, groups: int) -> tuple[float, float, str]:
    """The products and other instructions of a wave for a tile of keys; in words the cycles of LDS and of them those
    that conflicts take, how busy the matrix units are by the model, waves on a SIMD and the registers of a lane."""
    one, two = profile(2 * keys), profile(6 * keys)
    counts = {name: two.counts.kinds[name] - one.counts.kinds.get(name, 0) for name in two.counts.kinds}
    lost, cycles, busy = differences(one, two, 4, groups)
    held, each = two.occupancy, 4 * waves * groups
    spilled = f", {held.scratch_bytes} bytes of scratch memory" * bool(held.scratch_bytes)
    words = (
        f"LDS {lost:.0f} of {cycles:.0f} cycles lost; matrix units busy {busy:.0%}, {held.waves} waves, "
        f"{held.vector_registers} registers{spilled}"
    )
    return counts["matrix"] / each, (sum(counts.values()) - counts["matrix"]) / each, words


def amd(target: str, folder: Path, element: str = "f16", tile: str | None = None) -> None:
    """The lines of an AMD target."""
    inst, formats = attention_instruction(target, (1, 1, 64, 64, HEAD), element)
    found, groups = attention_plan(inst, HEAD, tile=tile, fields=formats), GROUPS.get((target, element), MOST_GROUPS)
    path = folder / "kernel.hip"
    path.write_text(mmacalc.generate(inst, attention=(1, 1, 64, 64, HEAD), tile=tile, **formats))
    command = f"clang-22 -x hip --offload-arch={target} --cuda-device-only -nogpuinc -nogpulib -O2".split()
    options = ["-mllvm", "-amdgpu-enable-vopd=0"] * (target == "gfx1250")  # as the source says
    subprocess.run([*command, *options, "--no-gpu-bundle-output", "-o", "k.hsaco", path], cwd=folder, check=True)
    ours, m = mmacalc.load(folder / "k.hsaco")[found.name], found.block_m
    made = of_triton(GPUTarget("hip", target, AMD[target]), m, found.block_n, 4, found.form)
    (folder / "t.hsaco").write_bytes(made.asm["hsaco"])
    theirs = mmacalc.load(folder / "t.hsaco")[made.metadata.name]

    def arrays(keys: int) -> list[Any]:
        rng, queries, form = np.random.default_rng(0), groups * m, FORMATS[found.form]
        given = [encode(rng.standard_normal((rows, HEAD)), form) for rows in (queries, keys, keys)]
        return [*given, np.zeros((queries, HEAD), np.uint16)]

    def profile_ours(keys: int) -> Any:
        rows, heads = [HEAD] * 4, [0] * 4
        return mmacalc.profile(
            ours, (groups, 1, 1), found.threads, *arrays(keys), None, groups * m, keys, 1, 1, 0.125, *rows, *heads,
            *heads,
        )  # fmt: skip

    def profile_theirs(keys: int) -> Any:
        given = [*arrays(keys), keys, np.float32(0.18)]
        given += [None] * (sum(not one.value_kind.startswith("hidden_") for one in theirs.arguments) - len(given))
        shared = max(0, made.metadata.shared - theirs.descriptor.group_segment_size)
        return mmacalc.profile(theirs, groups, 4 * AMD[target], *given, **({"shared": shared} if shared else {}))

    for name, profile, waves in ((target, profile_ours, found.waves), ("  Triton", profile_theirs, 4)):
        products, others, words = issued(profile, found.block_n, waves, groups)
        printed(name, (m, found.block_n), waves, products, others, words)


# --- NVIDIA: what ptxas left ---


def innermost(cubin: Path, kernel: str) -> tuple[int, int, str]:
    """Products, other instructions and the most frequent of these, of the loop with exponentials."""
    found = [Counter(each) for each in every_loop(cubin, kernel)]
    counts = min([each for each in found if each["MUFU"] >= 16], key=lambda each: each.total())
    products = products_of(list(counts.elements()))
    spills = counts["STL"] + counts["LDL"]
    kinds = ", ".join(f"{times} {opcode}" for opcode, times in counts.most_common(5) if not products_of([opcode]))
    return products, counts.total() - products - counts["NOP"], f"{spills} spills; {kinds}"


def nvidia(target: str, folder: Path) -> None:
    """The lines of an NVIDIA target."""
    inst, _ = attention_instruction(target, (1, 1, 64, 64, HEAD))
    found = cuda_attention_plan(inst, HEAD)
    (folder / "kernel.cu").write_text(mmacalc.generate(inst, attention=(1, 1, 64, 64, HEAD)))
    for what in ("cubin", "ptx"):
        subprocess.run(["nvcc", "-w", f"-{what}", f"-arch={target}", "kernel.cu"], cwd=folder, check=True)
    products, others, words = innermost(folder / "kernel.cubin", found.name)
    m, n = 16 * WARPS[target], 64
    made = of_triton(GPUTarget("cuda", int(re.sub(r"\D", "", target)), 32), m, n, WARPS[target])
    (folder / "triton.cubin").write_bytes(made.asm["cubin"])
    (folder / "triton.ptx").write_text(made.asm["ptx"])
    theirs = innermost(folder / "triton.cubin", made.metadata.name)
    rows, heads = [HEAD] * 4, [0] * 4
    mapped = found.q is not None
    strides = [HEAD, 0, 0] if mapped else [*rows, *heads, *heads]
    uses = [
        used(target, folder / "kernel", found.name, (found.block_m, found.block_n), found.threads,
             found.shared if mapped else 0,
             lambda m, keys: [None, m, keys, 1, 1, np.float32(0.125), *strides], found if mapped else None),
        used(target, folder / "triton", made.metadata.name, (m, n), 32 * made.metadata.num_warps, made.metadata.shared,
             lambda _, keys: [keys, np.float32(0.18)]),
    ]  # fmt: skip
    printed(target, (found.block_m, found.block_n), found.groups * found.lanes // 32, products, others, words + uses[0])
    printed("  Triton", (m, n), WARPS[target], theirs[0], theirs[1], theirs[2] + uses[1])


def used(
    target: str, path: Path, name: str, tile: tuple[int, int], threads: int, shared: int, further: Any,
    plan: Any = None,
) -> str:  # fmt: skip
    """In words, how much of the loop's time the matrix units are busy, the cycles of a tile by the model of `profile`,
    and the cycles of bank conflicts.

    Args:
        path: of the kernel's PTX and cubin. tile: queries and keys. further: what it takes behind Q, K, V and O, of
            queries and keys. plan: of a kernel that takes tensor maps of Q, K and V.
    """
    kernel = mmacalc.load(path.with_suffix(".ptx"))[name]
    registers, _, static = usage(path.with_suffix(".cubin"), name)
    held = occupancy(target, threads, shared or static, 0, registers, None).waves
    m, n = tile
    blocks = 1 if plan else BLOCKS

    def profiled(keys: int) -> Any:
        rng = np.random.default_rng(0)
        queries = blocks * m
        arrays = [rng.standard_normal((rows, HEAD)).astype(np.float16) for rows in (queries, keys, keys, queries)]
        given: list[Any] = [*arrays]
        if plan:
            sides = zip(arrays, (plan.q, plan.k, plan.v), plan.boxes)
            given[:3] = [
                mmacalc.tensor_map(each[None, None], box, swizzle=swizzle_name(side)) for each, side, box in sides
            ]
        given += further(queries, keys)
        given += [None] * (len(kernel.parameters) - len(given))
        found = mmacalc.profile(
            kernel, blocks, threads, *given, registers=registers, **({"shared": shared} if shared else {})
        )
        assert found.model is not None, found.no_model
        return found

    # So few keys that the model follows both blocks.
    few, many = (3, 7) if target in ("sm_90a", "sm_100a") else (1, 3)
    one, two = profiled(few * n), profiled(many * n)
    lost, cycles, busy = differences(one, two, many - few, blocks)
    each = (two.model.cycles - one.model.cycles) / (many - few) / two.model.workgroups
    return (
        f"; matrix units busy {busy:.0%}, {each / (m * n / 1000):.0f} cycles for 1,000, {held} waves, "
        f"conflicts {lost:.0f} of {cycles:.0f} cycles"
    )


def main(words: list[str]) -> None:
    print(f"Triton {triton.__version__}; instructions of a warp for a tile, and for 1,000 products of all warps")
    print(f"{'':18} {'tile':9} warps products   others    1,000")
    fp8, tile = "fp8" in words, next((word for word in words if word[0].isdigit()), None)
    targets = [word for word in words if word != "fp8" and word != tile]
    for target in targets or (FP8 if fp8 else (*WARPS, *AMD)):
        with tempfile.TemporaryDirectory() as name:
            if target in AMD:
                amd(target, Path(name), "fp8" if fp8 else "f16", tile)
            else:
                nvidia(target, Path(name))


if __name__ == "__main__":
    main(sys.argv[1:])
