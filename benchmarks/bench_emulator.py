"""How fast the emulator is: multiply-accumulates a second, beside a plain Python loop over the same numbers.

    python benchmarks/bench_emulator.py

Goals: one CDNA3 32x32x8 f16 in under 0.5 ms; in batches at least 25 million multiply-accumulates a second on the
models T, R, R8 and P, and 2 million on X and on FP64. (The public reference model, MMA-Sim, does 0.1 to 0.25.)
Each line is the best of several runs, so that a busy machine does not count against the program.
"""

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import mmacalc

INSTRUCTIONS = (
    # architecture, instruction, million multiply-accumulates a second at least
    ("sm_70", "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", 25),
    ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 25),
    ("sm_89", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 25),
    ("sm_90a", "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", 25),
    ("cdna3", "v_mfma_f32_32x32x8_f16", 25),
    ("cdna3", "v_mfma_f32_16x16x16_bf16", 25),
    ("cdna3", "v_mfma_f32_4x4x4_16b_f16", 25),
    ("cdna3", "v_mfma_f32_16x16x32_fp8_fp8", 25),
    ("cdna2", "v_mfma_f32_32x32x8f16", 25),
    ("cdna2", "v_mfma_f32_16x16x8bf16", 25),
    ("cdna4", "v_mfma_f32_16x16x32_f16", 2),
    ("rdna4", "v_wmma_f16_16x16x16_f16", 2),
    ("cdna3", "v_smfmac_f32_32x32x16_bf16", 2),
    ("cdna4", "v_mfma_scale_f32_16x16x128_f8f6f4", 2),
    ("cdna3", "v_mfma_f64_16x16x4_f64", 2),
    ("sm_90a", "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64.rz", 2),
    ("cdna3", "v_mfma_f32_32x32x2_f32", 2),
    ("cdna3", "v_mfma_i32_32x32x16_i8", 25),
)
BATCH = 2_000_000  # multiply-accumulates in a batch


def best(function, repeat=5):
    """The shortest time of several."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def inputs(inst, count):
    """Random encodings for a batch."""
    from mmacalc.diagnosis.inputs import encoded, random
    from mmacalc.emulator.execution import execution_of

    execution = execution_of(inst, None, {}, False, False)
    found = encoded(execution, random(execution, 1))
    return {name: np.broadcast_to(array, (count, *array.shape)).copy() for name, array in found.items()}


def python_loop(inst, given):
    """The same sums in plain Python floats, one multiply-accumulate at a time; the time of one instruction."""
    from mmacalc.arithmetic.codecs import decode

    a, b, c = (decode(given[name.lower()][0], inst.format(name)) for name in "ABC")
    blocks = [(a, b, c)] if inst.blocks == 1 else list(zip(a, b, c))
    rows = [(x.tolist(), y.T.tolist(), z.tolist()) for x, y, z in blocks]

    def run():
        for a_rows, b_columns, start in rows:
            for row, first in zip(a_rows, start):
                for column, total in zip(b_columns, first):
                    for x, y in zip(row, column):
                        total += x * y

    return best(run, 3)


def main():
    inst = mmacalc.instruction("cdna3", "v_mfma_f32_32x32x8_f16")
    one = {name: array[0] for name, array in inputs(inst, 1).items()}
    registers = [np.zeros((inst.operand(name).registers, 64), np.uint32) for name in "ABC"]
    inst.execute(*registers)
    once, executed = best(lambda: inst.multiply_bits(**one), 50), best(lambda: inst.execute(*registers), 50)
    print(f"one CDNA3 32x32x8 f16: multiply_bits {once * 1e3:.2f} ms, execute {executed * 1e3:.2f} ms (goal 0.5)")
    missed = once > 0.5e-3
    print(f"{'instruction':67} model  Mmac/s  goal  Python loop")
    for arch, name, goal in INSTRUCTIONS:
        inst = mmacalc.instruction(arch, name)
        size = inst.m * inst.n * inst.k * inst.blocks
        given = inputs(inst, max(1, BATCH // size))
        count = len(given["a"])
        rate = count * size / best(lambda inst=inst, given=given: inst.multiply_bits(**given), 4) / 1e6
        loop = size / python_loop(inst, given) / 1e6
        missed |= rate < goal
        mark = "" if rate >= goal else "  MISSED"
        print(f"{arch + ' ' + name:67} {inst.numerics.model:5} {rate:7.1f} {goal:5} {loop:8.1f}{mark}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
