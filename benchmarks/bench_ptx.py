"""How fast PTX kernels run: warp instructions a second on 64 CTAs, without and with matrix instructions.

    python -m mmacalc.emulator.core && python benchmarks/bench_ptx.py [--triton] [--profile NAME]

Rates are for one processor core, by the processor time of the process, so that a busy machine does not count; each is
the best of several launches. Goals: 500,000 warp instructions a second without matrices, 100,000 with. With --triton a
product of 512x512x512 in f16 by Triton for sm_80, sm_90a and sm_100a runs, too (it needs the triton package), in at
most 5 s each. --profile prints where the time of a kernel goes.
"""

import cProfile
import pstats
import sys
import time
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("tests", "src", "tools")]

import mmacalc  # noqa: E402
from ptx_cases import recorded  # noqa: E402

WITHOUT, WITH = 500_000, 100_000
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
# A loop of arithmetic alone: 64 rounds of a linear congruence and a float sum.
ARITHMETIC = (
    HEAD
    + """
.visible .entry arithmetic(.param .u64 out) {
  .reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .pred %p;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  mul.wide.u32 %rd2, %r4, 4;
  add.s64 %rd3, %rd1, %rd2;
  mov.f32 %f1, 0f00000000;
  mov.u32 %r5, 0;
next:
  mad.lo.u32 %r4, %r4, 1664525, 1013904223;
  shr.u32 %r6, %r4, 8;
  cvt.rn.f32.u32 %f2, %r6;
  fma.rn.f32 %f1, %f2, 0f33800000, %f1;
  xor.b32 %r4, %r4, %r6;
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p, %r5, 64;
  @%p bra next;
  st.global.f32 [%rd3], %f1;
  ret;
}
"""
)


def rows(count, columns):
    return np.random.default_rng(1).standard_normal((count, columns)).astype(np.float32)


def cases():
    """By name: kernel text, entry, grid, block, arguments, shared bytes, goal."""
    n = np.int32(64 * 256)
    x = rows(1, int(n))[0]
    yield "vector_add", recorded("vector_add.ptx"), "vector_add", 64, 256, [x, x, np.zeros_like(x), n], 0, WITHOUT
    yield "arithmetic", ARITHMETIC, "arithmetic", 64, 128, [np.zeros(64 * 128, np.float32)], 0, WITHOUT
    x = rows(64, 300)
    arguments = [x, np.zeros_like(x), np.int32(300)]
    yield "softmax_rows", recorded("softmax_rows.ptx"), "softmax_rows", 64, 128, arguments, 0, WITHOUT
    x = rows(256, 256)
    sizes = [np.int32(256)] * 2
    yield "transpose", recorded("transpose.ptx"), "transpose", (8, 8), (32, 8), [x, x.T.copy(), *sizes], 0, WITHOUT
    x = rows(1, 64 * 256)[0]
    yield (
        "triton atomic", recorded("triton_u_atomic_add_sm_80.ptx"), "k_atomic", 64, 128, [x, np.zeros(1, np.float32)],
        16, WITHOUT,
    )  # fmt: skip
    a, b = rows(512, 96).astype(np.float16), rows(512, 96).astype(np.float16)
    sizes = [np.int32(size) for size in (512, 512, 96)]
    arguments = [a, b, np.zeros((512, 512), np.float32), *sizes]
    yield "mma_gemm", recorded("mma_gemm.ptx"), "mma_gemm", (8, 8), 128, arguments, 0, WITH


def measured(text, entry, grid, block, arguments, shared, seconds=1.0):
    """The report and the shortest time of several launches."""
    kernel = mmacalc.load(text)[entry]
    arguments = arguments[: len(kernel.parameters)]
    times = []
    while len(times) < 3 or sum(times) < seconds:
        start = time.process_time()
        report = mmacalc.launch(kernel, grid, block, *arguments, shared=shared)
        times.append(time.process_time() - start)
    return report, min(times)


def of_triton(target):
    """Whether a product of 512x512x512 by Triton for a target is fast enough."""
    import triton_kernels as kernels

    case = kernels.matmul_case(512, 512, 512)
    made = kernels.compiled(case, target)
    start = time.process_time()
    report = kernels.run_on_nvidia(case, made)
    seconds = time.process_time() - start
    rate = report.executed / 32 / seconds
    print(f"Triton 512x512x512 f16, {target:8} {seconds:6.2f} s (goal 5)  {rate:12,.0f} warp instructions a second")
    return seconds <= 5


def main(words):
    """Measure all, and print them; the status."""
    slow = 0
    wanted = words[words.index("--profile") + 1] if "--profile" in words else None
    for name, text, entry, grid, block, arguments, shared, goal in cases():
        if wanted and name != wanted:
            continue
        report, seconds = measured(text, entry, grid, block, arguments, shared)
        assert report.findings == (), str(report)
        rate = report.executed / 32 / seconds
        slow += rate < goal
        print(f"{name:16} {report.executed // 32:9,} warp instructions {1000 * seconds:8.1f} ms {rate:12,.0f} a second"
              f" (goal {goal:,})")  # fmt: skip
        if wanted:
            profile = cProfile.Profile()
            profile.runcall(measured, text, entry, grid, block, arguments, shared)
            pstats.Stats(profile).sort_stats("tottime").print_stats(25)
    if "--triton" in words:
        slow += sum(not of_triton(target) for target in ("sm_80", "sm_90a", "sm_100a"))
    print("all goals are met" if not slow else f"{slow} below the goal")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
