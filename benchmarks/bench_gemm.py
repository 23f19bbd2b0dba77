"""How fast mmacalc.gemm is: whole products through each model, by the C core and on NumPy, beside NumPy's float32
product and MMA-Sim.

    python -m mmacalc.emulator.core && python benchmarks/bench_gemm.py [--size 2048] [--wall] [NAME ...]

Rates are for one processor core: by the processor time of the process, so that a busy machine does not count. Goals, in
billion multiply-accumulates a second with the core: 4 where products are cut, paired, fused or whole numbers, 2 where
they are floored, exact or block-scaled, 1 of RDNA; on NumPy alone 0.4; f64 no slower than MMA-Sim; one instruction of
16x16x16 in at most 60 us. On NumPy alone there are 128 rows. With --wall they are by the clock on the wall, with all
processor cores, and the goals are not looked at. MMA-Sim 2.1.1 is measured in the same process where it is installed,
on one instruction at a time, as it computes. Each number is the best of several runs. NAME is a part of an
instruction's.
"""

import os
import sys
import time
from pathlib import Path

# Threads that wait count as processor time.
os.environ["OPENBLAS_NUM_THREADS"] = str(os.cpu_count()) if "--wall" in sys.argv else "1"

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # for tests.oracles
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import mmacalc
from mmacalc.arithmetic.codecs import code_type, encode
from mmacalc.emulator import core

WALL = "--wall" in sys.argv
SIZE = int(sys.argv[sys.argv.index("--size") + 1]) if "--size" in sys.argv else 512
CHOSEN = [word for word in sys.argv[1:] if not word.startswith("--") and word != str(SIZE)]
ROWS_ON_NUMPY = 128
MMA = "mma.sync.aligned."
INSTRUCTIONS = (
    # architecture, instruction, billion multiply-accumulates a second at least: core, NumPy
    ("sm_70", MMA + "m8n8k4.row.col.f32.f16.f16.f32", 4, 0.4),
    ("sm_80", MMA + "m16n8k16.row.col.f32.f16.f16.f32", 4, 0.4),
    ("sm_80", MMA + "m16n8k16.row.col.f16.f16.f16.f16", 4, 0.4),
    ("sm_90a", MMA + "m16n8k16.row.col.f32.bf16.bf16.f32", 4, 0.4),
    ("sm_90a", "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3", 4, 0.4),
    ("cdna2", "v_mfma_f32_16x16x16f16", 4, 0.4),
    ("cdna3", "v_mfma_f32_32x32x2_f32", 4, 0.4),
    ("cdna3", "v_mfma_i32_16x16x32_i8", 4, 0.4),
    ("cdna3", "v_mfma_f32_16x16x16_f16", 2, 0.4),
    ("cdna3", "v_mfma_f32_16x16x8_xf32", 2, 0.4),
    ("cdna3", "v_mfma_f32_16x16x32_fp8_fp8", 2, 0.4),
    ("cdna1", "v_mfma_f32_16x16x16f16", 2, 0.4),
    ("cdna4", "v_mfma_f32_16x16x32_f16", 2, 0.4),
    ("cdna4", "v_mfma_f32_16x16x32_bf16", 2, 0.4),
    ("cdna4", "v_mfma_f32_16x16x32_fp8_fp8", 2, 0.4),
    ("sm_120a", MMA + "m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0", 2, 0.4),
    ("sm_120a", MMA + "m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", 2, 0.4),
    ("rdna3", "v_wmma_f32_16x16x16_f16", 1, 0.4),
    ("rdna4", "v_wmma_f32_16x16x16_f16", 1, 0.4),
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


def operands(inst, rows=SIZE):
    """Normally distributed codes of whole matrices; of integers rounded and of 20 times the size."""
    rng, found = np.random.default_rng(1), []
    for name, shape in zip("ABC", ((rows, SIZE), (SIZE, SIZE), (rows, SIZE))):
        values, form = rng.standard_normal(shape), inst.format(name)
        found.append(encode(values if form.is_float else np.round(20 * values).clip(-128, 127), form))
    return found


def rate(inst, rows):
    """Billion multiply-accumulates a second of a product with so many rows."""
    given = operands(inst, rows)
    return rows * SIZE**2 / best(lambda: mmacalc.gemm_bits(*given, instruction=inst, threads=None if WALL else 1)) / 1e9


def numpys():
    """The same of NumPy's float32 product."""
    a, b = np.random.default_rng(1).standard_normal((2, SIZE, SIZE)).astype(np.float32)
    return SIZE**3 / best(lambda: a @ b) / 1e9


def main():
    """Print the table; return whether every goal is reached."""
    use_core(True)
    if core.library() is None:
        sys.exit("there is no core; build it first: python -m mmacalc.emulator.core")
    theirs, good = mmasim_rates(), True
    of = "all processor cores" if WALL else "one processor core"
    heading = f"G multiply-accumulates/s of {of}, {SIZE}x{SIZE}x{SIZE}"
    print(f"{heading:64} {'core':>7} {'NumPy':>7} {'MMA-Sim':>8} {'float32 @ / core':>17}")
    for arch, name, *goals in INSTRUCTIONS:
        if CHOSEN and not any(word in f"{arch} {name}" for word in CHOSEN):
            continue
        inst, rates = mmacalc.instruction(arch, name), []
        plain = numpys()
        for wanted, rows in ((True, SIZE), (False, min(SIZE, ROWS_ON_NUMPY))):
            use_core(wanted)
            rates.append(rate(inst, rows))
        other = theirs.get(inst, 0) / 1e9
        reached = WALL or all(each >= max(goal, other) for each, goal in zip(rates, goals))
        good &= reached
        shown = f"{other:8.4f}" if other else f"{'-':>8}"
        label = f"{arch} {name.removeprefix(MMA)}"[:64]
        row = f"{label:64} {rates[0]:7.2f} {rates[1]:7.2f} {shown} {plain / rates[0]:17.1f}"
        print(f"{row}{'' if reached else '  goal missed'}", flush=True)
    return one_instruction() and good


def one_instruction():
    """Time one instruction on matrices; whether it reaches its goal."""
    use_core(True)
    inst, good = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16"), True
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
