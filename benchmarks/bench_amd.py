"""How fast compiled AMD kernels run: wave instructions a second, and what the first launch of a process costs besides.

    python -m mmacalc.emulator.core && python benchmarks/bench_amd.py [--triton] [--profile NAME] [NAME ...]

Rates are for one processor core, by the processor time of the process, so that a busy machine does not count; each is
the best of several launches. Goals: 500,000 wave instructions a second where many waves run, 100,000 where four do,
and 0.3 s for what only the first launch of a process pays: imports, decoding, compiling. The kernels are of HIP,
compiled by clang 22; 256 threads that add to one number, each by a loop around compare-and-swap, take 0.5 s. With
--triton kernels of Triton run, too (it needs the triton package): a product of 512x512x512 in f16 in 0.5 s, flash
attention of two heads of 128x64 in 0.2 s. --profile prints where the time of a kernel goes.
"""

import cProfile
import os
import pstats
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("tests", "src", "tools")]

import mmacalc  # noqa: E402
from hip_kernels import hip_kernels  # noqa: E402

MANY, FEW, FIRST = 500_000, 100_000, 0.3
HEAD = """typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float4_ __attribute__((ext_vector_type(4)));
#define KERNEL extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(64, 256))) void k
#define I __builtin_amdgcn_workitem_id_x()
#define G __builtin_amdgcn_workgroup_id_x()
#define SYNC __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); \\
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
"""
# A loop of arithmetic alone: 64 rounds of a linear congruence and a float sum.
ARITHMETIC = """KERNEL(const float *x, float *y) {
    unsigned r = G * 256 + I; float sum = x[r];
    for (int n = 0; n < 64; n++) { r = r * 1664525 + 1013904223; sum += (r >> 8) * 5.9604645e-8f; r ^= r >> 8; }
    y[G * 256 + I] = sum; }"""
# Sums of the neighbours in LDS, again and again.
STENCIL = """KERNEL(const float *x, float *y) {
    static __attribute__((shared)) float row[256]; int i = I; float v = x[G * 256 + i];
    for (int n = 0; n < 64; n++) { row[i] = v; SYNC v += 0.5f * row[(i + 1) % 256] - 0.25f * row[(i + 7) % 256]; SYNC }
    y[G * 256 + i] = v; }"""
# A tile of 64 x 64 by each workgroup of four waves, A and B through LDS.
GEMM = """KERNEL(const _Float16 *x, float *y) {
    static __attribute__((shared)) _Float16 a[64 * 20], b[64 * 20];
    int i = I, w = i / 64, l = i % 64; float4_ c[4] = {};
    for (int k = 0; k < 256; k += 16) {
        *(half4 *)&a[i / 4 * 20 + i % 4 * 4] = *(half4 *)&x[(i / 4) * 256 + k + i % 4 * 4];
        *(half4 *)&b[i / 4 * 20 + i % 4 * 4] = *(half4 *)&x[(64 + i / 4) * 256 + k + i % 4 * 4];
        SYNC
        half4 p = *(half4 *)&a[(w * 16 + l % 16) * 20 + l / 16 * 4];
        for (int t = 0; t < 4; t++) {
            half4 q = *(half4 *)&b[(t * 16 + l % 16) * 20 + l / 16 * 4];
            c[t] = __builtin_amdgcn_mfma_f32_16x16x16f16(p, q, c[t], 0, 0, 0); }
        SYNC }
    for (int t = 0; t < 4; t++) for (int n = 0; n < 4; n++)
        y[G * 4096 + (w * 16 + l / 16 * 4 + n) * 64 + t * 16 + l % 16] = c[t][n]; }"""
# Loads, adds and stores: races in global memory are looked for in each.
SUMS = """KERNEL(const float *x, float *y) {
    for (int n = 0; n < 16; n++) y[(G * 16 + n) * 256 + I] += x[n * 256 + I]; }"""
# Every thread waits until its compare-and-swap is the one that changes the sum.
CONTEND = """KERNEL(const float *x, int *y) {
    int old = *(volatile int *)y;
    while (!__hip_atomic_compare_exchange_strong(y, &old, old + 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                 __HIP_MEMORY_SCOPE_AGENT)); }"""
SOURCES = {"arithmetic": ARITHMETIC, "stencil": STENCIL, "gemm": GEMM, "sums": SUMS, "contend": CONTEND}
CASES = [(name, target, groups) for name, targets in (("arithmetic", ("gfx942", "gfx1100")), ("stencil", ("gfx942",)),
         ("sums", ("gfx942",)), ("gemm", ("gfx942",))) for target in targets for groups in (1, 64)]  # fmt: skip
CASES.append(("contend", "gfx942", 1))
GOALS = {"contend": 0.5}


def launched(name, target, groups):
    """The report of one launch."""
    kernel = hip_kernels(HEAD + SOURCES[name], target)["k"]
    x = np.random.default_rng(1).standard_normal(1 << 16)
    y = np.zeros(groups * (4096 if name in ("gemm", "sums") else 256), np.float32)
    return mmacalc.launch(kernel, groups, 256, x.astype(np.float16 if name == "gemm" else np.float32), y)


def best(function, seconds=1.5):
    """The last result and the shortest time of several calls."""
    times = []
    while len(times) < 3 or sum(times) < seconds:
        start = time.process_time()
        result = function()
        times.append(time.process_time() - start)
    return result, min(times)


def profiled(function):
    """Print where the time of a call goes."""
    profile = cProfile.Profile()
    profile.runcall(function)
    pstats.Stats(profile).sort_stats("tottime").print_stats(45)


def line(name, report, seconds, goal):
    """Print a rate; whether it is below its goal, a rate or (under 10) seconds."""
    rate = report.executed / seconds
    slow = seconds > goal if goal < 10 else rate < goal
    wanted = f"{goal} s" if goal < 10 else f"{goal:,}"
    print(f"{name:32} {report.executed:9,} wave instructions {1000 * seconds:8.1f} ms {rate:12,.0f} a second"
          f" (goal {wanted}{', MISSED' if slow else ''})", flush=True)  # fmt: skip
    return slow


def first_use():
    """What the first launch of a process costs more."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.hsaco"
        source = Path(folder) / "kernel.hip"
        source.write_text(HEAD + GEMM)
        options = ["-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-w", "--no-gpu-bundle-output", "-O2"]
        subprocess.run(["clang-22", *options, "--offload-arch=gfx942", "-o", path, source], check=True)
        return first_launch(
            f"k = mmacalc.load({str(path)!r})['k']; x, y = np.ones(1 << 16, np.float16), np.zeros(4096, np.float32)",
            "mmacalc.launch(k, 1, 256, x, y)",
        )


def first_launch(load, launch):
    """The processor time of a process that loads a kernel and launches it once, over that of the launch when all is
    warm. load, launch: a statement and an expression of Python.

    The bytecode of mmacalc is kept: it is compiled when the first of these processes imports it, as in an installed
    package when it is installed.
    """
    script = (
        f"import time, numpy as np; start = time.process_time(); import mmacalc\n{load}\n"
        f"run = lambda: {launch}; run(); first = time.process_time() - start\n"
        "start = time.process_time(); run(); print(first - (time.process_time() - start))"
    )
    known = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    found = [subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, env=known)
             for _ in range(5)]  # fmt: skip
    return min(float(one.stdout) for one in found)


def of_triton(wanted, profile):
    """Kernels of Triton: how many are below their goals."""
    import triton_kernels as kernels

    slow = 0
    cases = [("triton matmul", lambda: kernels.matmul_case(512, 512, 512), 0.5),
             ("triton attention", lambda: kernels.attention_case(True), 0.2)]  # fmt: skip
    for name, case, goal in cases:
        for target in kernels.TARGETS:
            if wanted and name not in wanted and f"{name} {target}" not in wanted:
                continue
            with TemporaryDirectory() as folder:
                chosen = case()
                made = kernels.compiled(chosen, target)
                run = lambda: kernels.run_on_amd(chosen, target, made, Path(folder))  # noqa: B023, E731
                report, seconds = best(run)
                slow += line(f"{name} {target}", report, seconds, goal)
                if profile:
                    profiled(run)
    return slow


def main(words):
    """Measure all, or what is named, and print it; the status."""
    wanted = [word for word in words if not word.startswith("-")]
    slow, profile = 0, "--profile" in words
    for name, target, groups in CASES:
        if wanted and name not in wanted and f"{name} {target}" not in wanted:
            continue
        run = lambda: launched(name, target, groups)  # noqa: B023, E731
        report, seconds = best(run)
        assert report.findings == (), str(report)
        slow += line(f"{name} {target}, {4 * groups * (2 if target == 'gfx1100' else 1)} waves", report, seconds,
                     GOALS.get(name, FEW if groups == 1 else MANY))  # fmt: skip
        if profile:
            profiled(run)
    if not wanted or "first" in wanted:
        seconds = first_use()
        slow += seconds > FIRST
        print(f"first launch of a process: {seconds:.2f} s more (goal {FIRST})")
    if "--triton" in words:
        slow += of_triton(wanted, profile)
    print("all goals are met" if not slow else f"{slow} below the goal")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
