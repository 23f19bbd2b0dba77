"""How fast PTX kernels run: warp instructions a second on 64 CTAs, and what a process pays besides at its first launch.

    python -m mmacalc.emulator.core && python benchmarks/bench_ptx.py [--triton] [--profile] [NAME ...]

Rates are for one processor core, by the processor time of the process, so that a busy machine does not count; each is
the best of several launches. Goals: 500,000 warp instructions a second without matrices, 100,000 with, and 0.3 s for
what only the first launch of a process pays: imports, reading, compiling. Two kernels run without the check of races,
too. With --triton kernels of Triton run, too (it needs the triton package), for sm_80, sm_90a and sm_100a: a product
of 512x512x512 in f16 in 0.5 s, flash attention of two heads of 128x64 in 0.2 s. --profile prints where the time of a
kernel goes.
"""

import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("tests", "src", "tools")]

import mmacalc  # noqa: E402
from bench_amd import FIRST, best, first_launch, profiled  # noqa: E402
from mmacalc.kernels.ptx.global_order import GlobalOrder  # noqa: E402
from mmacalc.kernels.ptx.machine import Machine  # noqa: E402
from mmacalc.kernels.ptx.reading import AsyncReads  # noqa: E402
from ptx_cases import recorded  # noqa: E402

WITHOUT, WITH = 500_000, 100_000
TARGETS = ("sm_80", "sm_90a", "sm_100a")
UNCHECKED = ("transpose", "mma_gemm")
"""What runs without the check of races, too."""
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


def launched(text, entry, grid, block, arguments, shared):
    """The report of one launch."""
    kernel = mmacalc.load(text)[entry]
    return mmacalc.launch(kernel, grid, block, *arguments[: len(kernel.parameters)], shared=shared)


def line(name, report, seconds, goal):
    """Print a rate; whether it is below its goal, a rate or (under 10) seconds."""
    warps = report.executed // 32
    slow = seconds > goal if goal < 10 else warps / seconds < goal
    wanted = f"{goal} s" if goal < 10 else f"{goal:,}"
    print(f"{name:26} {warps:9,} warp instructions {1000 * seconds:8.1f} ms {warps / seconds:12,.0f} a second"
          f" (goal {wanted}{', MISSED' if slow else ''})", flush=True)  # fmt: skip
    return slow


def without_checks(run, seconds):
    """The same launch without the check of races in shared and global memory."""
    silent = [(Machine, name) for name in ("check_read", "check_write", "check_destination")]
    silent += [(AsyncReads, name) for name in ("check", "check_each", "check_alike")]
    silent += [(GlobalOrder, name) for name in ("loaded", "stored")]
    with ExitStack() as stack:
        for owner, name in silent:
            stack.enter_context(mock.patch.object(owner, name, return_value=None))
        stack.enter_context(mock.patch.object(Machine, "write_shared", Machine.put_shared))
        _, bare = best(run)
    print(f"{'':26} {1000 * bare:.1f} ms without the check of races, which adds {seconds / bare - 1:.0%}")


def first_use():
    """What the first launch of a process costs more."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ptx"
        path.write_text(recorded("mma_gemm.ptx"))
        return first_launch(
            f"k = mmacalc.load({str(path)!r})['mma_gemm']; a = np.ones((64, 96), np.float16)\n"
            "d, sizes = np.zeros((64, 64), np.float32), [np.int32(n) for n in (64, 64, 96)]",
            "mmacalc.launch(k, 1, 128, a, a, d, *sizes)",
        )


def of_triton(wanted, profile):
    """Kernels of Triton: how many are below their goals."""
    import triton_kernels as kernels

    slow = 0
    for name, case, goal in (("triton matmul", kernels.matmul_case(512, 512, 512), 0.5),
                             ("triton attention", kernels.attention_case(True), 0.2)):  # fmt: skip
        for target in TARGETS:
            if wanted and name not in wanted and f"{name} {target}" not in wanted:
                continue
            made = kernels.compiled(case, target)
            run = lambda: kernels.run_on_nvidia(case, made)  # noqa: B023, E731
            slow += line(f"{name} {target}", *best(run), goal)
            if profile:
                profiled(run)
    return slow


def main(words):
    """Measure all, or what is named, and print it; the status."""
    wanted = [word for word in words if not word.startswith("-")]
    slow, profile = 0, "--profile" in words
    for name, text, entry, grid, block, arguments, shared, goal in cases():
        if wanted and name not in wanted:
            continue
        run = lambda: launched(text, entry, grid, block, arguments, shared)  # noqa: B023, E731
        report, seconds = best(run)
        assert report.findings == (), str(report)
        slow += line(name, report, seconds, goal)
        if name in UNCHECKED:
            without_checks(run, seconds)
        if profile:
            profiled(run)
    if not wanted or "first" in wanted:
        seconds = first_use()
        slow += seconds > FIRST
        print(f"first launch of a process: {seconds:.2f} s more (goal {FIRST}{', MISSED' if seconds > FIRST else ''})")
    if "--triton" in words:
        slow += of_triton(wanted, profile)
    print("all goals are met" if not slow else f"{slow} below the goal")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
