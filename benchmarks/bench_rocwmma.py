"""How long the rocWMMA guide's GEMM takes on emulated waves: 256 x 256 x 256 in f16 (goal: under 3 seconds).

    python benchmarks/bench_rocwmma.py

On one core: NumPy's BLAS threads have nothing to do here, and the waves' threads run one at a time.
"""

import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "examples")]


def main():
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    from gemm_rocwmma import gemm_test

    for arch in ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1200"):
        times = []
        for _ in range(3):
            start = time.perf_counter()
            *_, report = gemm_test(256, 256, 256, 2.1, 2.1, arch)
            times.append(time.perf_counter() - start)
        issued = ", ".join(f"{count} x {name}" for name, count in report.instructions.items())
        print(f"{arch}: {min(times):.2f} s ({issued})")


if __name__ == "__main__":
    main()
