"""Costs from the catalog: AMD's own tables, published peaks, and estimates against launches."""

import itertools
import json
import re

import numpy as np
import pytest

import mmacalc
from mmacalc import rocwmma
from mmacalc.asm.targets import target
from mmacalc.catalog import architecture, entry, normalised
from mmacalc.cli import answer
from mmacalc.families.tensor_memory import allowed_shapes
from mmacalc.throughput import dense_rate, device, estimate, peak

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
        for name, row in MATRIX.items():
            assert peak(product, name) == row[column]
        for name, row in VECTOR.items():
            speedup = SPEEDUP[name][column]
            assert peak(product, name) == (None if speedup is None else speedup * row[column])


def test_the_lab_notes_table_of_cdna2_instructions_is_the_catalog():
    rows = sorted(tuple(line.split()) for line in CDNA2.strip().splitlines())
    found = sorted(
        (i.formats["A"], i.formats["D"], *map(str, (i.m, i.n, i.k, i.blocks, i.cycles, i.flops_per_unit_and_cycle)))
        for i in mmacalc.instructions("MI250X")
    )
    assert found == rows


# Dense peaks in TFLOPS or TOPS as the vendors publish them: type of A and B, of D (any if empty), peak. AMD's data
# sheets and product pages of these products.
AMD_PEAKS = {
    "MI100": "f16  184.6, bf16  92.3, f32  46.1, i8  184.6",
    "MI210": "f16  181.0, bf16  181.0, f32  45.3, f64  45.3, i8  181.0",
    "MI250": "f16  362.1, f32  90.5, f64  90.5",
    "MI250X": "f16  383.0, f32  95.7, f64  95.7, i8  383.0",
    "MI300A": "f16  980.6, fp8  1961.2, i8  1961.2, xf32  490.3, f32  122.6, f64  122.6",
    "MI300X": "f16  1307.4, fp8  2614.9, i8  2614.9, xf32  653.7, f32  163.4, f64  163.4",
    "MI325X": "f16  1307.4, fp8  2614.9, xf32  653.7, f64  163.4",
    "MI350X": "f16  2306.9, fp8  4613.7, fp6  9227.5, fp4  9227.5, f32  144.2, f64  72.1",
    "MI355X": "f16  2516.6, fp8  5033.2, fp6  10066.3, fp4  10066.3, f32  157.3, f64  78.6",
    "RX 7900 XTX": "f16  122.8", "RX 7900 XT": "f16  103.0", "RX 7900 GRE": "f16  92.0",
    "RX 7800 XT": "f16  74.65", "RX 7700 XT": "f16  70.3", "RX 7600": "f16  43.5", "RX 7600 XT": "f16  45.1",
    "PRO W7900": "f16  122.6", "PRO W7800": "f16  90.5", "PRO W7700": "f16  56.5", "PRO W7600": "f16  39.9",
    "PRO W7500": "f16  24.4", "PRO V710": "f16  55.3",
    "RX 9070 XT": "f16  195, i8  389, fp8  389", "RX 9070": "f16  145, i8  289", "RX 9060 XT": "f16  103, i8  205",
    "AI PRO R9700": "f16  191, i8  383",
}  # fmt: skip
# NVIDIA's architecture papers (Volta, Turing, A100, GA102, Ada, H100, RTX Blackwell, RTX PRO Blackwell) and, for the
# A10, A30, L4, L40, L40S, HGX B200 and DGX B300 (an eighth), data sheets; without sparsity.
NVIDIA_PEAKS = {
    "V100": "f16  125",
    "V100 PCIe": "f16  112",
    "T4": "f16  65, i8  130, i4  260",
    "RTX 2080 Ti": "f16 f16 107.6, f16 f32 53.8, i8  215.2, i4  430.3",
    "Titan RTX": "f16 f32 130.5",
    "A100": "f16  312, bf16  312, tf32  156, f64  19.5, i8  624, i4  1248",
    "A30": "f16  165, tf32  82, i8  330",
    "A40": "f16 f32 149.7, bf16  149.7, tf32  74.8, i8  299.3, i4  598.7",
    "RTX A6000": "f16 f32 154.8",
    "A10": "f16 f32 125, tf32  62.5, i8  250",
    "A2": "f16  18",
    "RTX 3090": "f16 f16 142, f16 f32 71, bf16  71, tf32  35.6, i8  284, i4  568",
    "RTX 3080": "f16 f16 119, f16 f32 59.5, tf32  29.8, i8  238",
    "RTX 3070": "f16 f16 81.3, f16 f32 40.6, tf32  20.3, i8  162.6",
    "L40S": "f16 f32 362, bf16  362, tf32  183, fp8  733, i8  733",
    "L40": "f16  181, tf32  90.5, fp8  362, i8  362",
    "L4": "f16  121, fp8  242, i8  242",
    "RTX 6000 Ada": "f16 f32 364.2, fp8 f32 728.5, tf32  182.1, i4  1457",
    "RTX 4090": "f16 f16 330.3, f16 f32 165.2, bf16  165.2, tf32  82.6, fp8 f16 660.6, fp8 f32 330.3, i8  660.6",
    "RTX 4080": "f16 f16 194.9, f16 f32 97.5, fp8 f32 194.9, i8  389.9",
    "H100": "f16  989.4, bf16  989.4, tf32  494.7, fp8  1978.9, i8  1978.9, f64  66.9",
    "H200": "f16  989.4, fp8  1978.9, f64  66.9",
    "H100 PCIe": "f64  51.2, f16  756, bf16  756, tf32  378, fp8  1513, i8  1513",
    "RTX 5090": "f16 f16 419, f16 f32 209.5, bf16  209.5, tf32  104.8, fp8 f16 838, fp8 f32 419, i8  838, e2m1  1676",
    "RTX 5080": "f16 f16 225.1, f16 f32 112.6, i8  450.2",
    "B200": "f64  37, f16  2250, bf16  2250, fp8  4500, fp6  4500, i8  4500, fp4  9000",
    "B300": "f16  2250, bf16  2250, fp8  4500, fp4  13500",
    "RTX PRO 6000": "f16 f32 503.8, fp8 f32 1007.6, e2m1  2015.2",
}


def rates(product, type_, out):
    """Operations per second of the dense instructions whose rate is known."""
    found = estimate(product, 768, 768, 768, type_, out=out or None)
    per_cycle = [found.peak * one.share / one.useful for one in found.candidates if one.share is not None]
    return [rate * found.device.units * found.device.clock_ghz * 1e9 for rate in per_cycle]


@pytest.mark.parametrize(("product", "peaks"), [*AMD_PEAKS.items(), *NVIDIA_PEAKS.items()])
def test_published_peaks_come_out_of_cycles_or_rates_units_and_clocks(product, peaks):
    for type_, out, tera in (text.strip().split(" ") for text in peaks.split(",")):
        assert max(rates(product, type_, out)) / 1e12 == pytest.approx(float(tera), rel=0.014), (type_, out)


@pytest.mark.parametrize(
    ("name", "architecture", "product"),
    [
        ("RX 7900 XTX", "rdna3", "RX 7900 XTX"), ("7900xtx", "rdna3", "RX 7900 XTX"), ("rdna3", "rdna3", "RX 7900 XTX"),
        ("AMD Radeon PRO W7900", "rdna3", "PRO W7900"), ("w7800", "rdna3", "PRO W7800"),
        ("gfx1100", "rdna3", "RX 7900 XTX"), ("gfx1102", "rdna3", "RX 7600"), ("gfx1153", "rdna3", None),
        ("strix halo", "rdna3", "Radeon 8060S (Strix Halo)"), ("gfx1150", "rdna3", "Radeon 890M (Strix Point)"),
        ("Krackan", "rdna3", "Radeon 860M (Krackan Point)"), ("R9700", "rdna4", "AI PRO R9700"),
        ("gfx1200", "rdna4", "RX 9060 XT"), ("RX 9070", "rdna4", "RX 9070"), ("MI308X", "cdna3", "MI308X"),
        ("AMD Instinct MI300A", "cdna3", "MI300A"), ("cdna3", "cdna3", "MI300X"), ("gfx9-4-generic", "cdna3", "MI300X"),
        ("gfx12-generic", "rdna4", "RX 9070 XT"), ("gfx1250", "cdna5", "MI455X"), ("MI430X", "gfx1251", "MI430X"),
        ("NVIDIA GeForce RTX 4090", "sm_89", "RTX 4090"), ("4090", "sm_89", "RTX 4090"), ("H800", "sm_90a", "H100"),
        ("sm_90", "sm_90", None), ("RTX PRO 6000", "sm_120a", "RTX PRO 6000"), ("L40S", "sm_89", "L40S"),
    ],
)  # fmt: skip
def test_products_are_found_under_the_names_that_people_and_drivers_use(name, architecture, product):
    assert mmacalc.architecture(name).name == architecture
    found = mmacalc.catalog.product(name)
    assert (found.name if found else None) == product


def test_every_product_is_found_by_its_name_and_its_chip_is_one_of_its_architecture():
    for name in mmacalc.architectures():
        record = mmacalc.architecture(name)
        for product in record.products:
            assert mmacalc.architecture(product.name).name == name
            assert mmacalc.catalog.product(product.name.upper()) == product
            assert {normalised(alias) for alias in (product.name, *product.aliases)} <= set(
                map(normalised, record.aliases)
            )
            assert not product.target or product.target in record.aliases
            if record.vendor == "amd":
                assert target(product.name).name == (product.target or record.targets[0])


@pytest.mark.parametrize(
    ("name", "shape", "instruction", "tile", "cycles", "clock"),
    [
        # rounds of tiles, times a tile's instructions on each of 4 matrix units, times steps of k, times cycles of one
        ("MI300X", (64, 64, 64), "v_mfma_f32_16x16x16_f16", (64, 64), 1 * 4 * 4 * 16, 2.1),
        ("MI300X", (4096, 4096, 4096), "v_mfma_f32_16x16x16_f16", (64, 128), 7 * 8 * 256 * 16, 2.1),
        ("MI300X", (4096, 4096, 4096), "v_mfma_f32_32x32x8_f16", (64, 128), 7 * 2 * 512 * 32, 2.1),
        ("MI355X", (4096, 4096, 4096), "v_mfma_f32_32x32x16_f16", (256, 256), 1 * 16 * 256 * 32, 2.4),
        (
            "A100",
            (4096, 4096, 64),
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
            (64, 128),
            19 * 16 * 4 * 8,
            1.41,
        ),
        ("H100", (1024, 512, 64), "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16", (64, 256), 1 * 4 * 128, 1.83),
        ("B200", (4096, 4096, 4096), "tcgen05.mma.cta_group::2.kind::f16", (256, 128), 7 * 256 * 64, 1.856),
    ],
)
def test_the_time_of_the_matrix_units_is_that_of_the_rounds_of_tiles(name, shape, instruction, tile, cycles, clock):
    found = estimate(name, *shape, "f16")
    one = next(candidate for candidate in found.candidates if candidate.instruction.name == instruction)
    assert tuple(one.tile[:2]) == tile
    assert one.matrix_seconds == pytest.approx(cycles / (clock * 1e9), rel=1e-12)
    assert one.tile.busy == one.tile.count / (one.tile.rounds * one.tile.at_once) <= 1


def test_of_all_tiles_the_one_is_taken_that_needs_the_fewest_cycles():
    """Every tile of 64, 128 and 256, counted by hand: MI300X, 304 CUs, LDS of 128 bytes a clock, sums of 256 KB."""
    m, n, k = 3000, 5000, 512
    (one,) = [one for one in estimate("MI300X", m, n, k, "f16").candidates if one.instruction.k == 8]
    every = {}
    for rows, columns in itertools.product((64, 128, 256), repeat=2):
        rounds = -(-(-(-m // rows) * -(-n // columns)) // 304)
        matrix = rows * columns // (32 * 32) // 4 * (k // 8) * 32
        lds = 2 * k * (2 * rows + 2 * columns) // 128  # two waves read the same rows of A, and columns of B
        every[rows, columns] = rounds * max(matrix, lds)
    assert every[one.tile.m, one.tile.n] == min(every.values())
    assert one.longest == min(every.values())


def test_a_product_with_few_columns_is_bound_by_memory():
    """MI300X: 33.9 MB at 5.3 TB/s take 6.4 us, the matrix units 2: the published bandwidth, AMD's data sheet."""
    found = estimate("MI300X", 4096, 16, 4096, "f16")
    best = found.candidates[0]
    assert (best.bound, best.seconds) == ("memory", best.memory_seconds)
    assert best.seconds == pytest.approx(found.bytes / 5.3e12) == pytest.approx(6.45e-6, rel=0.01)
    assert best.matrix_seconds < best.seconds / 3
    twice = estimate("MI300X", 4096, 16, 4096, "f16", memory_gb_s=10600).candidates[0]
    assert twice.memory_seconds == pytest.approx(best.memory_seconds / 2)
    assert estimate("MI308X", 64, 64, 64, "f16").device.memory_gb_s is None
    for wrong in (0.0, -1.0, 1e6, float("nan")):
        with pytest.raises(mmacalc.Error, match="memory_gb_s is above 0"):
            estimate("MI300X", 64, 64, 64, "f16", memory_gb_s=wrong)
    page = answer(["estimate", "-a", "MI308X", "--gemm", "64x64x64", "--type", "f16"]).out
    assert "--memory says it" in page
    assert (
        "LDS on CDNA5 is not confirmed"
        in answer(["estimate", "-a", "gfx1250", "--gemm", "64x64x64", "--type", "f16"]).out
    )


def test_bandwidths_of_memory_are_those_of_data_sheets():
    """Terabytes a second, as the vendors print them."""
    published = {
        "MI250X": 3.2768, "MI300X": 5.3, "MI325X": 6, "MI355X": 8, "RX 7900 XTX": 0.96, "RX 9070 XT": 0.64,
        "V100": 0.9, "A100": 1.555, "H100": 3.35, "H200": 4.8, "B200": 8, "RTX 4090": 1.008, "RTX 5090": 1.792,
    }  # fmt: skip
    for name, tera in published.items():
        assert mmacalc.catalog.product(name).memory_gb_s == pytest.approx(1000 * tera, rel=1e-3)
    for name in mmacalc.architectures():
        record = mmacalc.architecture(name)
        assert bool(record.memory_source) or not any(product.memory_gb_s for product in record.products)


def test_what_is_to_know_of_a_bandwidth_is_said():
    """No page with H20's was found; an A100 has another with 80 GB."""
    for name, words in (
        ("H20", "(4000 GB/s, assumed)"), ("A100", "papers, of 40 GB; with 80 GB --memory 2039)"),
        ("A40", "(696 GB/s, NVIDIA's data sheets and architecture papers)"),
    ):  # fmt: skip
        assert words in answer(["estimate", "-a", name, "--gemm", "64x64x64", "--type", "f16"]).out


def test_emulated_instructions_are_named_as_such():
    found = estimate("H100", 256, 256, 256, "i4").candidates
    assert {one.emulated_by for one in found if "m16n8k64" in one.instruction.name} == {"2xIMMA.16832.S8.S8"}
    assert not any(one.emulated_by for one in estimate("A100", 256, 256, 256, "i4").candidates)
    page = answer(["estimate", "-a", "H100", "--gemm", "256x256x256", "--type", "i4"]).out
    assert "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 (emulated)" in page


@pytest.mark.parametrize(
    ("name", "shape", "type_", "parameters", "cycles"),
    [
        # Tiles in turn on the SMs or pairs of them, times steps of k, times M N K of one over the rate.
        ("B200", (4096, 4096, 4096), "f16", {"m": 256, "n": 128, "k": 16}, 7 * 256 * 64),  # 512 tiles, 74 pairs
        ("B200", (128, 256, 64), "fp8", {"m": 128, "n": 128, "k": 32}, 1 * 2 * 64),  # 2 tiles, 148 SMs
        ("B300", (512, 512, 960), "fp4", {"m": 256, "n": 256, "k": 96}, 1 * 10 * 128),  # 4 tiles
    ],
)
def test_the_best_shape_of_tcgen05_is_the_one_that_takes_the_least_time(name, shape, type_, parameters, cycles):
    found = estimate(name, *shape, type_)
    best = found.candidates[0]
    inst = best.instruction
    assert {size: getattr(inst, size) for size in "mnk"} == parameters
    assert best.matrix_seconds * found.device.clock_ghz * 1e9 == pytest.approx(cycles)
    assert sum(best.registers.values()) == 0


def test_wgmma_and_tcgen05_have_their_rate_where_shared_memory_keeps_up():
    """A clock of shared memory is 128 bytes (CUDA C++ Programming Guide). wgmma reads 64 + N rows of 32 bytes in N / 2
    clocks, tcgen05.mma 128 + N in N / 2, and in each SM of a pair 128 + N / 2: enough from N = 64, 128 and 86 on."""
    for inst in mmacalc.instructions("sm_90a"):
        if inst.name.startswith("wgmma") and not inst.sparse and inst.formats["A"] != "b1":
            assert (dense_rate(inst) is not None) == (inst.n >= 64), inst
    for name in entry("sm_100a").tensor_memory_names:
        inst = mmacalc.instruction("sm_100a", name)
        if ".mma" not in name or inst.sparse:
            continue
        ctas = inst.form.cta_group
        for m, n in itertools.product(*allowed_shapes(inst.form)):
            rated = m == 128 * ctas and not inst.form.ws and n >= {1: 128, 2: 86}[ctas]
            assert (dense_rate(inst.shaped(m=m, n=n)) is not None) == rated, (inst, m, n)


def test_tcgen05_has_no_rate_where_nvidia_publishes_none():
    """Half of the lanes, .ws, an N whose operands shared memory cannot deliver in time, K = 64 of FP4 on B300."""
    mma = mmacalc.instruction("B200", "tcgen05.mma.cta_group::1.kind::f16")
    assert [dense_rate(mma.shaped(m=m, n=n)) for m, n in ((128, 256), (128, 128), (128, 120), (64, 256))] == [
        4096, 4096, None, None,
    ]  # fmt: skip
    assert dense_rate(mmacalc.instruction("B200", "tcgen05.mma.ws.cta_group::1.kind::f16").shaped(m=128, n=256)) is None
    fp4 = mmacalc.instruction("B300", "tcgen05.mma.cta_group::2.kind::mxf4.block_scale.block32")
    assert [dense_rate(fp4.shaped(m=256, n=256, k=k)) for k in (64, 96)] == [None, 24576]
    assert dense_rate(mmacalc.instruction("B200", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")) is None


@pytest.mark.parametrize("name", ["gfx942", "MI300A", "RX 7600", "RX 9060", "A100", "H100", "B200", "RTX 5090"])
def test_the_candidates_are_sorted_by_time_and_every_time_is_positive(name):
    for size in (1, 100, 512, 4096):
        seconds = [one.seconds for one in estimate(name, size, size, size, "f16").candidates]
        known = [time for time in seconds if time is not None]
        near = [time for time in known if time <= 1.0201 * min(known)]  # among which the shape decides
        assert known[: len(near)] == near
        assert known[len(near) :] == sorted(known[len(near) :])
        assert min(known) > 0
        assert seconds[: len(known)] == known


def test_units_and_clock_stand_in_for_the_products():
    own, other = (
        estimate("MI308X", 512, 512, 512, "f16"),
        estimate("MI308X", 512, 512, 512, "f16", units=304, clock_ghz=2.1),
    )
    assert own.device[1:] == (mmacalc.catalog.product("MI308X"), 80, None, None)
    assert own.candidates[0].seconds is None
    x = estimate("MI300X", 512, 512, 512, "f16")
    assert [one.matrix_seconds for one in other.candidates] == [one.matrix_seconds for one in x.candidates]
    assert (
        estimate("RX 7600", 64, 64, 64, "f16", units=27).device.units == 14
    )  # pairs of compute units, the last half used
    for wrong in ({"units": 0}, {"clock_ghz": 0.0}, {"clock_ghz": float("nan")}, {"clock_ghz": 1e4}):
        with pytest.raises(mmacalc.Error):
            estimate("MI300X", 512, 512, 512, "f16", **wrong)


def test_there_is_at_least_one_unit_and_a_clock_is_more_than_0_and_less_than_1000_ghz():
    for units, clock in ((1, 0.001), (2, 0.5), (3, 999.9)):
        assert device("MI300X", units, clock)[2:] == (units, clock, 5300)
        assert device("RX 7600", units).units == (units + 1) // 2  # two compute units in a workgroup processor
    for wrong in ({"units": 0}, {"units": -1}, {"clock_ghz": 0}, {"clock_ghz": 1000}, {"clock_ghz": -0.5}):
        with pytest.raises(mmacalc.Error, match=r"units is at least 1|below 1000"):
            device("MI300X", **wrong)
    # Four matrix units in each: AMD's and NVIDIA's product pages ("matrix cores", "tensor cores").
    for name, count in (("MI300X", 1216), ("MI250X", 880), ("RX 7900 XTX", 192), ("H100", 528), ("RTX 4090", 512)):
        assert device(name).matrix_units == count


def test_what_nvidia_has_not_published_has_no_cycles_and_the_page_says_so():
    for name, type_, says in (
        ("Thor", "f16", "NVIDIA publishes no rate"), ("H20", "f16", "NVIDIA publishes no rate"),
("RTX 5090", "fp6", "NVIDIA publishes no rate"),
        ("sm_90", "f16", "no product with sm_90"),
    ):  # fmt: skip
        assert {one.cycles for one in estimate(name, 64, 64, 64, type_).candidates} == {None}
        assert says in answer(["estimate", "-a", name, "--gemm", "64x64x64", "--type", type_]).out
    rows = estimate("H100", 256, 256, 256, "f16").candidates
    assert {one.instruction.name for one in rows if one.cycles} == {
        one.instruction.name for one in rows if "wgmma" in one.instruction.name and one.instruction.n >= 64
    }


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
            found = estimate(arch, 96, 96, 96, inst.formats["A"], out=inst.formats["D"])
            assert inst in [candidate.instruction for candidate in found.candidates]
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
    assert "device: MI300X: 304 CUs at 2.1 GHz\n" in out
    assert "at least 201326592 bytes to move: 38 us (5300 GB/s, AMD's data sheets)" in out
    assert (
        "| v_mfma_f32_32x32x8_f16    | 32            | 100.0 %  | 100.0 % | 64x128 | 7        | 96.2 % | 109 us |"
        in out
    )
    found = json.loads(answer([*argv, "--json"]).out)
    assert found["query"] == "estimate"
    assert found["operations"] == 2 * 4096**3
    assert [c["instruction"] for c in found["candidates"]] == [
        "v_mfma_f32_32x32x8_f16", "v_mfma_f32_16x16x16_f16", "v_mfma_f32_32x32x4_2b_f16", "v_mfma_f32_16x16x4_4b_f16",
        "v_mfma_f32_4x4x4_16b_f16",
    ]  # fmt: skip
    assert found["candidates"][0]["tile"] == {
        "m": 64, "n": 128, "count": 2048, "at_once": 304, "rounds": 7, "busy": pytest.approx(2048 / 2128),
    }  # fmt: skip
    assert found["candidates"][0]["bound"] == "matrix units"
    assert found["candidates"][0]["registers"] == {"A": 2, "B": 2, "C": 16, "D": 16}
    assert (found["product"], found["units"], found["clock_ghz"]) == ("MI300X", 304, 2.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gfx942", "4096x4096", "f16"), "--gemm takes M, N and K"),
        (("gfx942", "0x16x16", "f16"), "M, N and K of a GEMM are at least 1"),
        (("gfx942", "16x16x16", "f17"), "unknown number format 'f17'"),
        (
            ("gfx908", "16x16x16", "f64"),
            "CDNA1 multiplies no f64 matrices; its dense instructions take f32, f16, i8, bf16",
        ),
        (("sm_80", "16x16x16", "b16"), "sm_80 (Ampere) multiplies no b16 matrices; its dense instructions take f16"),
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


def test_the_architectures_command_names_every_architecture_and_product():
    listed = answer(["architectures"]).out.partition("\n\n")[0]
    listed = re.sub(r"\n +", " ", listed).splitlines()
    assert [line.split()[0] for line in listed] == list(mmacalc.architectures())
    for line in listed:
        assert all(product.name in line for product in architecture(line.split()[0]).products)
    page = answer(["architectures", "W7900"]).out
    assert "RDNA3 (-a rdna3)" in page
    assert re.search(r"RX 7600 +32 CUs +2.655 GHz +gfx1102 +also navi33\n", page)
    found = json.loads(answer(["architectures", "MI308X", "--json"]).out)["architectures"]
    assert [one["architecture"] for one in found] == ["cdna3"]
    assert found[0]["products"][3] == {
        "name": "MI308X", "aliases": [], "target": None, "compute_units": 80, "clock_ghz": None,
    }  # fmt: skip
    assert len(json.loads(answer(["architectures", "--json"]).out)["architectures"]) == len(mmacalc.architectures())


@pytest.mark.parametrize(("name", "width", "first"), [("H100", 8192, "m64n128k16"), ("RTX 4090", 8192, "m16n8k16")])
def test_the_first_shape_is_one_that_kernels_have(name, width, first):
    """n216 would take 0.9 % less time than n128, and no swizzle divides its rows; wmma and mma take as long."""
    best = estimate(name, width, width, width, "f16").candidates[0].instruction.name
    assert first in best
    assert not best.startswith("wmma.")


def test_a_width_that_is_all_of_n_stays_first():
    assert "n216" in estimate("H100", 64, 216, 4096, "f16", units=1).candidates[0].instruction.name


def test_a_choice_of_formats_that_an_architecture_lacks_is_refused_in_words():
    reply = answer(["estimate", "-a", "cdna1", "--gemm", "16x16x16", "--type", "f8f6f4"])
    assert reply.status == 2
    assert "CDNA1 multiplies no f8f6f4 matrices" in reply.err


def test_columns_of_which_nothing_is_known_are_left_out():
    text = answer(["estimate", "-a", "H100", "--gemm", "64x64x64", "--type", "int4"]).out
    assert "| instruction " in text
    assert "| useful " in text
    assert "| time " not in text
    assert "?" not in text
    assert "No cycles and times: NVIDIA publishes no rate for these instructions and formats" in text
    assert "| time " in answer(["estimate", "-a", "H100", "--gemm", "64x64x64", "--type", "f16"]).out
