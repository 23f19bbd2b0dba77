"""Costs from the catalog: AMD's own tables, published peaks, and estimates against launches."""

import json

import numpy as np
import pytest

import mmacalc
from mmacalc import rocwmma
from mmacalc.catalog import architecture
from mmacalc.cli import answer
from mmacalc.cost import estimate, peak, units

# AMD lab notes, "AMD matrix cores": operations per clock and CU of MI100 and MI250X, matrix cores and vector units.
MATRIX = {"f64": (None, 256), "f32": (256, 256), "f16": (1024, 1024), "bf16": (512, 1024), "i8": (1024, 1024)}
VECTOR = {"f64": (64, 128), "f32": (128, 128)}
SPEEDUP = {"f64": (None, 2), "f32": (2, 2)}

# The same page: A/B format, C/D format, then M N K blocks cycles and operations per cycle and CU.
CDNA2 = """
f32  f32  32 32  2  1 64  256
f32  f32  32 32  1  2 64  256
f32  f32  16 16  4  1 32  256
f32  f32  16 16  1  4 32  256
f32  f32   4  4  1 16  8  256
f16  f32  32 32  8  1 64 1024
f16  f32  32 32  4  2 64 1024
f16  f32  16 16 16  1 32 1024
f16  f32  16 16  4  4 32 1024
f16  f32   4  4  4 16  8 1024
i8   i32  32 32  8  1 64 1024
i8   i32  32 32  4  2 64 1024
i8   i32  16 16 16  1 32 1024
i8   i32  16 16  4  4 32 1024
i8   i32   4  4  4 16  8 1024
bf16 f32  32 32  8  1 64 1024
bf16 f32  32 32  4  2 64 1024
bf16 f32  16 16 16  1 32 1024
bf16 f32  16 16  4  4 32 1024
bf16 f32   4  4  4 16  8 1024
bf16 f32  32 32  4  1 64  512
bf16 f32  32 32  2  2 64  512
bf16 f32  16 16  8  1 32  512
bf16 f32  16 16  2  4 32  512
bf16 f32   4  4  2 16  8  512
f64  f64  16 16  4  1 32  256
f64  f64   4  4  4  4 16  128
"""


def test_the_lab_notes_tables_of_mi100_and_mi250x_come_out_of_the_catalog():
    for column, product in enumerate(("MI100", "MI250X")):
        vector = architecture(product).vector_flops
        for name, row in MATRIX.items():
            assert peak(product, name) == row[column]
        for name, row in VECTOR.items():
            assert vector[name] == row[column]
            speedup = SPEEDUP[name][column]
            assert peak(product, name) == (None if speedup is None else speedup * vector[name])


def test_the_lab_notes_table_of_cdna2_instructions_is_the_catalog():
    rows = sorted(tuple(line.split()) for line in CDNA2.strip().splitlines())
    found = sorted(
        (i.formats["A"], i.formats["D"], *map(str, (i.m, i.n, i.k, i.blocks, i.cycles, i.flops_per_unit_and_cycle)))
        for i in mmacalc.instructions("MI250X")
    )
    assert found == rows


@pytest.mark.parametrize(
    ("product", "name", "tera"),
    [
        ("MI100", "f16", 184.6), ("MI250X", "f16", 383), ("MI250X", "f64", 95.7), ("MI300X", "f16", 1307.4),
        ("MI300X", "fp8", 2614.9), ("MI300X", "xf32", 653.7), ("MI300X", "f64", 163.4), ("MI355X", "fp8", 5033.2),
        ("MI355X", "fp4", 10066.3), ("MI355X", "f64", 78.6), ("gfx1100", "f16", 122.8), ("gfx1200", "i8", 389),
    ],
)  # fmt: skip
def test_published_peaks_come_out_of_cycles_units_and_clocks(product, name, tera):
    """AMD's data sheets of the MI100, MI250X, MI300X, MI355X, RX 7900 XTX and RX 9070 XT."""
    record = architecture(product)
    found = peak(product, name) * units(record) * record.clock_ghz / 1000
    assert found == pytest.approx(tera, rel=2e-3)


def test_an_estimate_counts_what_a_launch_issues():
    m, n, k = 40, 48, 60  # padded to 48, 48, 64

    def kernel(wave, a, b, d):
        fragA, fragB, acc = (
            rocwmma.fragment(context, 16, 16, 16, kind, rocwmma.row_major)
            for context, kind in ((rocwmma.matrix_a, "f16"), (rocwmma.matrix_b, "f16"), (rocwmma.accumulator, "f32"))
        )
        row, col = 16 * wave.blockIdx.x, 16 * wave.blockIdx.y
        rocwmma.load_matrix_sync(acc, d + (row * 48 + col), 48)
        for i in range(0, 64, 16):
            rocwmma.load_matrix_sync(fragA, a + (row * 64 + i), 64)
            rocwmma.load_matrix_sync(fragB, b + (i * 48 + col), 48)
            rocwmma.mma_sync(acc, fragA, fragB, acc)
        rocwmma.store_matrix_sync(d + (row * 48 + col), acc, 48)

    a, b, d = np.zeros((48, 64), np.float16), np.zeros((64, 48), np.float16), np.zeros((48, 48), np.float32)
    report = mmacalc.launch(kernel, (3, 3), 64, a, b, d, arch="gfx90a")
    (found,) = (c for c in estimate("gfx90a", m, n, k, "f16").candidates if c.instruction.name in report.instructions)
    assert (found.count, found.cycles, found.flops) == (sum(report.instructions.values()), report.cycles, report.flops)
    assert found.bytes == report.traffic.loaded + report.traffic.stored
    assert found.useful == found.share == 2 * m * n * k / report.flops


def test_every_dense_instruction_is_in_the_estimate_of_its_formats_best_first():
    for arch in ("cdna1", "cdna2", "cdna3", "cdna4", "rdna3", "rdna4"):
        for inst in mmacalc.instructions(arch):
            if inst.sparse or inst.choices or inst.formats["A"] != inst.formats["B"]:
                continue
            found = estimate(arch, 96, 96, 96, inst.formats["A"], inst.formats["D"])
            assert inst in [candidate.instruction for candidate in found.candidates]
            cycles = [candidate.cycles for candidate in found.candidates]
            assert cycles == sorted(cycles)
            assert found.peak == max(
                c.instruction.throughput(**c.modifiers) for c in estimate(arch, 9, 9, 9, inst.formats["A"]).candidates
            )
            for candidate in found.candidates:
                assert candidate.flops >= found.flops
                assert 0 < candidate.useful <= 1
                assert 0 < candidate.share <= candidate.useful


def test_the_command_line_answers_with_a_table_and_with_json():
    argv = ["estimate", "-a", "gfx942", "--gemm", "4096x4096x4096", "--type", "f16"]
    status, out, err = answer(argv)
    assert (status, err) == (0, "")
    assert "|  8388608 | v_mfma_f32_32x32x8_f16    | 268435456 | 100.0 %  | 100.0 % |" in out
    found = json.loads(answer([*argv, "--json"]).out)
    assert found["query"] == "estimate"
    assert found["operations"] == 2 * 4096**3
    assert [c["instruction"] for c in found["candidates"]] == [
        "v_mfma_f32_32x32x8_f16", "v_mfma_f32_16x16x16_f16", "v_mfma_f32_32x32x4_2b_f16", "v_mfma_f32_16x16x4_4b_f16",
        "v_mfma_f32_4x4x4_16b_f16",
    ]  # fmt: skip
    assert found["candidates"][0]["registers"] == {"A": 2, "B": 2, "C": 16, "D": 16}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gfx942", "4096x4096", "f16"), "--gemm takes M, N and K"),
        (("gfx942", "0x16x16", "f16"), "a size below 1"),
        (("gfx942", "16x16x16", "f17"), "unknown number format 'f17'"),
        (
            ("gfx908", "16x16x16", "f64"),
            "CDNA1 multiplies no f64 matrices; its dense instructions take f32, f16, i8, bf16",
        ),
    ],
)
def test_what_cannot_be_estimated_is_refused_in_one_line(arguments, message):
    arch, gemm, kind = arguments
    status, out, err = answer(["estimate", "-a", arch, "--gemm", gemm, "--type", kind])
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("arch", ["sm_70", "sm_80", "sm_90a"])
def test_instructions_without_a_published_layout_are_counted_with_their_registers(arch):
    found = estimate(arch, 256, 256, 256, "f16").candidates
    [wmma] = [one for one in found if one.instruction.name == "wmma.mma.sync.aligned.row.row.m16n16k16.f16.f16"]
    assert (wmma.count, wmma.registers) == (4096, {"A": 8, "B": 8, "C": 4, "D": 4})
