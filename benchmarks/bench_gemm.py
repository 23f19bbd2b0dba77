"""How fast mmacalc.gemm is: 512x512x512 through each model, by the C core and on NumPy, beside MMA-Sim.

    python -m mmacalc.emulator.core && python benchmarks/bench_gemm.py [--wall]

Rates are for one processor core: by the processor time of the process, so that a busy machine does not count. Goals,
in billion multiply-accumulates a second: 1 with the core, 0.2 on NumPy (RDNA: 0.5 and 0.15; f32 and f64 chains: no
slower than MMA-Sim); one instruction of 16x16x16 in at most 60 us. With --wall they are by the clock on the wall, with
all processor cores, and the goals twice as high, which is for a quiet machine with two. MMA-Sim 2.1.1 is measured in
the same process where it is installed, on one instruction at a time, as it computes. Each number is the best of several
runs.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # for tests.oracles
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import mmacalc
from mmacalc.arithmetic.codecs import code_type, encode
from mmacalc.emulator import core

SIZE = 512
WALL = "--wall" in sys.argv
MMA = "mma.sync.aligned."
INSTRUCTIONS = (
    # architecture, instruction, billion multiply-accumulates a second at least: core, NumPy
    ("sm_70", MMA + "m8n8k4.row.col.f32.f16.f16.f32", 1, 0.2),
    ("sm_80", MMA + "m16n8k16.row.col.f32.f16.f16.f32", 1, 0.2),
    ("sm_90a", MMA + "m16n8k16.row.col.f32.bf16.bf16.f32", 1, 0.2),
    ("sm_90a", "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3", 1, 0.2),
    ("cdna1", "v_mfma_f32_16x16x16f16", 1, 0.2),
    ("cdna2", "v_mfma_f32_16x16x16f16", 1, 0.2),
    ("cdna3", "v_mfma_f32_16x16x16_f16", 1, 0.2),
    ("cdna3", "v_mfma_f32_16x16x8_xf32", 1, 0.2),
    ("cdna3", "v_mfma_f32_16x16x32_fp8_fp8", 1, 0.2),
    ("cdna4", "v_mfma_f32_16x16x32_f16", 1, 0.2),
    ("rdna3", "v_wmma_f32_16x16x16_f16", 0.5, 0.15),
    ("rdna4", "v_wmma_f32_16x16x16_f16", 0.5, 0.15),
    ("sm_120a", MMA + "m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0", 1, 0.2),
    ("sm_120a", MMA + "m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", 1, 0.2),
    ("cdna3", "v_mfma_f32_32x32x2_f32", 0, 0),
    ("cdna3", "v_mfma_f64_16x16x4_f64", 0, 0),
)


CLOCK = time.perf_counter if WALL else time.process_time


def best(function, seconds=0.5):
    """The shortest time of several, of at least two runs."""
    times = []
    while len(times) < 2 or sum(times) < seconds:
        start = CLOCK()
        function()
        times.append(CLOCK() - start)
    return min(times)


def use_core(wanted):
    """Compute with the core, or on NumPy only."""
    os.environ["MMACALC_CORE"] = "" if wanted else "off"
    core.library.cache_clear()
    core.function.cache_clear()


def mmasim_rates():
    """MMA-Sim's multiply-accumulates a second, by instruction; empty if it is not installed."""
    try:
        from tests.oracles import mmasim_answers

        forms = {mmasim_answers.instruction(*form): form for form in mmasim_answers.forms()}
    except ImportError:
        return {}
    rates = {}
    for arch, name, *_ in INSTRUCTIONS:
        inst = mmacalc.instruction(arch, name)
        if inst in forms:
            given = mmasim_answers.inputs(inst, "normal")
            seconds = best(lambda form=forms[inst], given=given: mmasim_answers.answer(*form, given))
            rates[inst] = inst.m * inst.n * inst.k / seconds
    return rates


def operands(inst):
    """Normally distributed codes of whole matrices."""
    rng = np.random.default_rng(1)
    return [encode(rng.standard_normal((SIZE, SIZE)), inst.format(name)) for name in "ABC"]


def main():
    """Print the table; return whether every goal is reached."""
    use_core(True)
    if core.library() is None:
        sys.exit("there is no core; build it first: python -m mmacalc.emulator.core")
    theirs, good = mmasim_rates(), True
    of = "all processor cores" if WALL else "one processor core"
    print(f"{f'G multiply-accumulates/s of {of}, 512x512x512':64} {'core':>7} {'NumPy':>7} {'MMA-Sim':>8}")
    for arch, name, *goals in INSTRUCTIONS:
        inst, rates = mmacalc.instruction(arch, name), []
        given = operands(inst)
        for wanted in (True, False):
            use_core(wanted)
            rates.append(SIZE**3 / best(lambda: mmacalc.gemm_bits(*given, instruction=inst)) / 1e9)  # noqa: B023
        other = theirs.get(inst, 0) / 1e9
        reached = all(rate >= max(goal * (1 + WALL), other) for rate, goal in zip(rates, goals))
        good &= reached
        shown = f"{other:8.4f}" if other else f"{'-':>8}"
        label = f"{arch} {name.removeprefix(MMA)}"[:64]
        print(f"{label:64} {rates[0]:7.2f} {rates[1]:7.2f} {shown}{'' if reached else '  goal missed'}")
    use_core(True)
    inst = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16")
    a, b, c = (np.zeros((16, 16), code_type(inst.format(name))) for name in "ABC")
    values = np.random.default_rng(1).standard_normal((3, 16, 16))
    for name, once in (("multiply_bits", lambda: inst.multiply_bits(a, b, c)),
                       ("multiply", lambda: inst.multiply(*values))):  # fmt: skip
        one = min(best(once, 0.2) for _ in range(5)) * 1e6
        good &= one <= 60
        print(f"one v_mfma_f32_16x16x16_f16, {name}: {one:.0f} us{'' if one <= 60 else '  goal missed (60)'}")
    return good


if __name__ == "__main__":
    sys.exit(not main())
