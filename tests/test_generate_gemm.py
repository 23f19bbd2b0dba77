"""Generated GEMMs of AMD on the emulator: right for random sizes in every order, no finding, no bank conflict."""

import contextlib
import itertools
import math
import random
import re

import numpy as np
import pytest

import mmacalc
from generated_gemms import Gemm, conflicts, lost, spills
from mmacalc import Error
from mmacalc.codegen import gemm
from mmacalc.codegen.check import check
from mmacalc.codegen.gemm_choice import generated_gemm
from mmacalc.codegen.staging import whole_accesses
from mmacalc.kernels.amd.profiling import occupancy
from samples import rotated, sampled

ORDERS = list(itertools.product(("row", "col"), repeat=2))
CASES = [
    ("gfx908", "v_mfma_f32_32x32x2f32", None, {}),
    ("gfx90a", "v_mfma_f32_32x32x8bf16_1k", None, {}),
    ("gfx90a", "v_mfma_f64_16x16x4f64", None, {}),
    ("gfx942", "v_mfma_f32_32x32x8_f16", None, {}),
    ("gfx942", "v_mfma_f32_16x16x32_fp8_bf8", None, {}),
    ("gfx942", "v_mfma_f32_32x32x4_xf32", None, {"tile": "64x128x16"}),
    ("gfx950", "v_mfma_f32_32x32x16_bf16", None, {}),
    ("gfx950", "v_mfma_i32_32x32x32_i8", None, {}),
    ("gfx1100", "v_wmma_f32_16x16x16_f16", None, {}),
    ("gfx1100", "v_wmma_f16_16x16x16_f16", 64, {}),
    ("gfx1201", "v_wmma_f32_16x16x16_f16", None, {}),
    ("gfx1201", "v_wmma_i32_16x16x16_iu8", None, {"tile": "64x64x64"}),
    ("gfx1250", "v_wmma_f32_16x16x32_bf16", None, {}),
    ("gfx1250", "v_wmma_f32_16x16x64_fp8_fp8", None, {"stages": 1}),
    ("gfx1250", "v_wmma_f32_16x16x128_fp8_fp8", None, {}),
]
FORMATS = [
    ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", {"cbsz": "fp8", "blgp": "fp4"}),
    ("gfx950", "v_mfma_f32_16x16x128_f8f6f4", {"cbsz": "fp4", "blgp": "fp4", "tile": "64x128x256"}),
    ("gfx1250", "v_wmma_f32_16x16x128_f8f6f4", {"matrix_a_fmt": "fp4", "matrix_b_fmt": "bf8"}),
    ("gfx950", "v_mfma_scale_f32_32x32x64_f8f6f4", {"cbsz": "fp4", "blgp": "fp4"}),
    ("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4", {"cbsz": "bf8", "blgp": "fp4"}),
    ("gfx1250", "v_wmma_scale_f32_16x16x128_f8f6f4", {"matrix_a_fmt": "fp8", "matrix_b_fmt": "fp4"}),
    ("gfx1250", "v_wmma_scale_f32_32x16x128_f4", {"tile": "128x64x256"}),
    ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", {"cbsz": "bf6", "blgp": "fp8"}),
    ("gfx950", "v_mfma_scale_f32_32x32x64_f8f6f4", {"cbsz": "fp4", "blgp": "fp6"}),
    ("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4", {"cbsz": "fp6", "blgp": "bf6"}),
    ("gfx1250", "v_wmma_f32_16x16x128_f8f6f4", {"matrix_a_fmt": "fp8", "matrix_b_fmt": "fp6"}),
    ("gfx1250", "v_wmma_scale_f32_16x16x128_f8f6f4", {"matrix_a_fmt": "bf6", "matrix_b_fmt": "fp4"}),
    ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", {"cbsz": "fp6", "blgp": "fp6", "tile": "64x128x256"}),
]


def tried(target, name, orders, folder, wave=None, seed=0, **options):
    """A kernel with sizes that are random and with sizes that are aligned."""
    made = Gemm(target, name, orders, folder, wave, **options)
    found, chance = made.plan, random.Random(f"{target} {name} {orders} {seed}")
    even = max(8 // math.gcd(8, side.bits) for side in (found.a, found.b))  # elements in whole bytes
    m, n = (chance.randrange(1, size + 9) for size in (found.block_m, found.block_n))
    k = chance.randrange(1, 2 * found.block_k + 9) * even
    if found.instruction.scaled:
        k = -(-k // found.scales_k) * found.scales_k
    m, n = m * even, n * even
    padding = tuple(chance.randrange(4) * each for each in (even, even, 1))
    step = max(32, *[whole_accesses(side.bits) for side in (found.a, found.b)])
    whole = (m // 32 * 32 + 32, n // 32 * 32 + 32, k // step * step + step)
    if found.instruction.scaled:
        whole = *whole[:2], -(-whole[2] // found.scales_k) * found.scales_k
    for sizes, more in (((m, n, k), padding), (whole, (step, step, 32))):
        report, wrong, aligned = made.launch(sizes, more, seed)
        assert wrong == 0, (sizes, more, aligned)
        assert report.findings == ()
    if "tile" not in options:  # one that is asked for may be too large
        assert set(spills(made.path)) == {0}, "registers are spilled to scratch memory"
    return made, report, aligned


@sampled(("target", "name", "wave", "options"), CASES, 4, whole=5)
def test_a_gemm_is_right_for_random_sizes_without_a_finding_or_a_conflict(target, name, wave, options, tmp_path):
    orders = random.Random(f"{target} {name}").choice(ORDERS)
    _, report, aligned = tried(target, name, orders, tmp_path, wave, **options)
    assert aligned
    assert conflicts(report) == 0


@pytest.mark.parametrize(("target", "name"), [
    ("gfx942", "v_mfma_f32_32x32x8_f16"), ("gfx1201", "v_wmma_f32_16x16x16_bf16"),
])  # fmt: skip
def test_a_tile_of_one_row_loads_nothing_behind_its_end(target, name, tmp_path):
    """Behind the last stage of K less than a row is left, and buffers have no negative size."""
    report, wrong, aligned = Gemm(target, name, ("row", "col"), tmp_path).launch((129, 129, 50))
    assert (report.findings, wrong, aligned) == ((), 0, False)


@sampled(("target", "name", "options"), FORMATS, 2)
def test_formats_of_a_gemm_are_mixed_and_scaled(target, name, options, tmp_path):
    _, report, aligned = tried(target, name, ("row", "col"), tmp_path, **options)
    assert aligned
    assert conflicts(report) == 0


@sampled(("target", "name", "orders", "options"), [
    ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", ("col", "row"), {"cbsz": "fp4", "blgp": "fp4"}),
    ("gfx1201", "v_wmma_i32_16x16x32_iu4", ("row", "row"), {}),
    ("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4", ("row", "row"), {"cbsz": "fp4", "blgp": "fp4"}),
    ("gfx1250", "v_wmma_scale_f32_16x16x128_f8f6f4", ("row", "row"), {"matrix_a_fmt": "fp8", "matrix_b_fmt": "fp4"}),
    ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", ("col", "row"), {"cbsz": "fp8", "blgp": "fp4"}),
    ("gfx1100", "v_wmma_i32_16x16x16_iu4", ("col", "row"), {}),
    ("gfx1250", "v_wmma_f32_32x16x128_f4", ("col", "col"), {}),
], 2)  # fmt: skip
def test_elements_of_4_bits_are_transposed_by_loads_or_in_registers(target, name, orders, options, tmp_path):
    _, report, aligned = tried(target, name, orders, tmp_path, **options)
    assert aligned
    assert conflicts(report) == 0


@pytest.mark.parametrize(("order", "says"), [
    ("order_a", "A of .* has elements of 6 bits that are not neighbours along k: use order_a='row'"),
    ("order_b", "B of .* has elements of 6 bits that are not neighbours along k: use order_b='col'"),
])  # fmt: skip
def test_elements_of_6_bits_have_k_contiguous_in_memory(order, says):
    inst, other = mmacalc.instruction("gfx950", "v_mfma_f32_32x32x64_f8f6f4"), {"order_a": "col", "order_b": "row"}
    with pytest.raises(Error, match=says):
        mmacalc.generate(inst, gemm="64x64x64", cbsz="fp6", blgp="fp6", **{order: other[order]})


@sampled(("target", "name", "options"), [
    ("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4", {"cbsz": "fp4", "blgp": "fp4", "tile": "32x96x256"}),
    ("gfx950", "v_mfma_scale_f32_32x32x64_f8f6f4", {"cbsz": "fp8", "blgp": "fp8", "tile": "64x64x128"}),
    ("gfx1250", "v_wmma_scale_f32_16x16x128_f8f6f4", {"matrix_a_fmt": "fp8", "tile": "32x96x128"}),
    ("gfx950", "v_mfma_scale_f32_32x32x64_f8f6f4", {"cbsz": "fp8", "blgp": "fp8", "tile": "64x128x192"}),
    ("gfx1250", "v_wmma_scale_f32_32x16x128_f4", {"tile": "64x32x512"}),
], 1)  # fmt: skip
def test_scales_of_a_row_that_are_nan_reach_no_other_row(target, name, options, tmp_path):
    """Behind a row's last scale lies the next row's first: of K whose scales fill words of 32 bits, and of others."""
    made = Gemm(target, name, ("row", "col"), tmp_path, **options)
    for blocks in (20, 4, *[7, 18] * (target == "gfx950")):
        for m, n in ((40, 36), (17, 33)):
            report, wrong, _ = made.launch((m, n, 32 * blocks), nan=3)
            assert (report.findings, wrong) == ((), 0)


EVERY = [("gfx908", 64), ("gfx90a", 64), ("gfx942", 64), ("gfx950", 64), ("gfx1100", 32), ("gfx1100", 64),
         ("gfx1201", 32), ("gfx1201", 64), ("gfx1250", 32)]  # fmt: skip


@sampled(("where", "orders"), rotated(EVERY, ORDERS), 2, whole=4)
def test_no_kernel_of_either_alignment_has_registers_in_scratch_memory(where, orders, tmp_path):
    """Of two instructions, and where there is one of 8 bits: its other kernel loads 16 elements for 16 bytes."""
    target, wave = where
    planned = []
    for inst in mmacalc.instructions(target):
        with contextlib.suppress(Error):
            planned.append((gemm.plan(inst, wave, *orders).a.bits <= 8, inst))
    chance = random.Random(f"{target} {wave} {orders}")
    for narrow in {narrow for narrow, _ in planned}:
        inst = chance.choice([inst for each, inst in planned if each == narrow])
        assert set(spills(Gemm(target, inst.name, orders, tmp_path, wave).path)) == {0}, inst.name


@sampled(("where", "orders"), rotated(EVERY, ORDERS), 0, whole=1)
def test_every_gemm_in_every_order(where, orders, tmp_path):
    (target, wave), made = where, 0
    for inst in mmacalc.instructions(target):
        try:
            gemm.plan(inst, wave, *orders)
        except Error:
            continue
        tried(target, inst.name, orders, tmp_path, wave)
        made += 1
    assert made > 4


@pytest.mark.parametrize(("target", "name", "orders", "tile"), [
    ("gfx950", "v_mfma_f32_32x32x16_f16", ("row", "col"), (256, 256, 64)),
    ("gfx950", "v_mfma_f32_32x32x16_bf16", ("col", "row"), (256, 256, 64)),
    ("gfx950", "v_mfma_f32_32x32x2_f32", ("row", "col"), (128, 128, 32)),
    ("gfx1250", "v_wmma_f32_16x16x32_f16", ("row", "row"), (256, 128, 64)),
    ("gfx1250", "v_wmma_f32_16x16x4_f32", ("row", "col"), (128, 128, 16)),
    ("gfx1250", "v_wmma_f32_16x16x128_fp8_fp8", ("col", "row"), (256, 128, 128)),
    ("gfx942", "v_mfma_f32_32x32x8_f16", ("row", "col"), (128, 128, 32)),
])  # fmt: skip
def test_a_tile_is_as_large_as_registers_and_lds_allow(target, name, orders, tile):
    found = gemm.plan(mmacalc.instruction(target, name), None, *orders)
    assert (found.block_m, found.block_n, found.block_k) == tile


@sampled(("target", "name", "orders", "depths", "least"), [
    ("gfx950", "v_mfma_f32_32x32x16_f16", ("row", "col"), (4, 10), 0.8),
    ("gfx90a", "v_mfma_f32_32x32x8f16", ("row", "col"), (4, 16), 0.9),
    ("gfx950", "v_mfma_f32_32x32x16_f16", ("col", "row"), (4, 10), 0.8),
    ("gfx1250", "v_wmma_f32_16x16x32_f16", ("row", "col"), (4, 10), 0.75),
], 2)  # fmt: skip
def test_loads_between_products_and_ahead_keep_the_matrix_units_busy(target, name, orders, depths, least, tmp_path):
    """By the model of `profile`; of loads at the start of a stage it says 0.71, 0.80 and 0.71."""
    made = Gemm(target, name, orders, tmp_path)
    groups = 1 if target == "gfx950" else 4
    m, n, busy = made.plan.block_m * groups, made.plan.block_n, []
    for k in (count * made.plan.block_k for count in depths):
        a, b = (np.zeros((size, k) if order == along else (k, size), np.float16)
                for size, order, along in ((m, orders[0], "row"), (n, orders[1], "col")))  # fmt: skip
        sizes = (m, n, k, a.shape[1], b.shape[1], n)
        d = np.zeros((m, n), np.float32)
        model = mmacalc.profile(made.kernels[made.plan.name], groups, made.plan.threads, a, b, d, *sizes).model
        busy.append((model.cycles * next(unit.busy for unit in model.units if unit.name == "matrix"), model.cycles))
    matrix, cycles = np.subtract(busy[1], busy[0])
    assert matrix / cycles > least


def formats_of(inst):
    """The modifiers for every pair of formats of 8, 6 and 4 bits; none of an instruction with formats of its own."""
    names = [name for name in ("cbsz", "blgp", "matrix_a_fmt", "matrix_b_fmt") if name in inst.modifier_limits()]
    if "f8f6f4" not in inst.name:
        return [{}]
    return [dict(zip(names, pair)) for pair in itertools.product(("fp8", "fp6", "fp4"), repeat=2)]


@sampled(("where", "orders"), rotated(EVERY, ORDERS), 4, whole=2)
def test_no_gemm_in_any_order_has_a_bank_conflict_that_memory_knows_of(where, orders):
    """Of every dense instruction, in its default tile."""
    (target, wave), found = where, []
    for inst in mmacalc.instructions(target):
        for fields in formats_of(inst):
            with contextlib.suppress(Error):
                found.append(gemm.plan(inst, wave, *orders, **fields))
    assert len(found) > 4
    for one in found:
        for side, turn in ((one.a, one.a_turn), (one.b, one.b_turn)):
            assert lost(one.operand(side.name), side, one.kpack, turn) == 0, (one.name, side)
            every = {side.tile.address(byte) for byte in range(0, side.tile.filled, 16)}
            assert len(every) == side.tile.filled // 16, "two bytes of a tile at one place"
            assert max(every) < side.tile.bytes
            if turn is None and not one.copied:  # the loads of a stage ask which byte lies at a place
                assert all(side.tile.address(side.tile.address(byte)) == byte for byte in every)


WAVES = {"gfx90a": 4, "gfx942": 4, "gfx950": 2, "gfx1100": 8, "gfx1201": 6, "gfx1250": 4}
CHOSEN = [
    (target, element)
    for target, elements in {
        "gfx90a": "f16 bf16 i8 f32 f64", "gfx942": "f16 bf16 fp8 bf8 i8 f32 xf32 f64",
        "gfx950": "f16 bf16 fp8 bf8 i8 f32 f64 fp6 bf6 fp4 mxfp8 mxfp6 mxfp4", "gfx1100": "f16 bf16 i8 i4",
        "gfx1201": "f16 bf16 fp8 bf8 i8 i4", "gfx1250": "f16 bf16 fp8 bf8 i8 f32 fp6 fp4 mxfp8 mxfp6 mxfp4",
    }.items() for element in elements.split()
]  # fmt: skip


@sampled(("case", "orders"), rotated(CHOSEN, ORDERS), 3, whole=6)
def test_the_gemm_of_a_type_has_no_conflict_no_scratch_memory_and_its_waves(case, orders, tmp_path):
    """Around the instruction that `--type` chooses."""
    target, element = case
    if re.search("[fp]6", element.replace("f64", "")):
        orders = ("row", "col")  # which elements of 6 bits take alone
    chosen = generated_gemm(target, element, "512x512x512", order_a=orders[0], order_b=orders[1])
    made, report, aligned = tried(target, chosen.instruction.name, orders, tmp_path, **chosen.modifiers)
    assert aligned
    assert conflicts(report) == 0
    kernel, waves = made.kernels[made.plan.name], made.plan.threads // made.plan.wave
    held = occupancy(kernel, chosen.instruction.architecture, waves, 0)
    assert held.waves >= (2 if element == "f64" else WAVES[target])


@sampled(("name", "orders", "stages"), [
    ("v_wmma_f32_16x16x32_f16", ("row", "col"), 3), ("v_wmma_f32_16x16x128_fp8_fp8", ("col", "row"), 3),
    ("v_wmma_f32_16x16x32_f16", ("col", "row"), 2), ("v_wmma_f32_16x16x4_f32", ("row", "col"), 2),
], 1)  # fmt: skip
def test_a_tensor_copy_of_each_side_fills_a_stage_of_gfx1250(name, orders, stages, tmp_path):
    """Also of a K with fewer stages than LDS holds, and whatever is behind the matrices in memory."""
    made = Gemm("gfx1250", name, orders, tmp_path, stages=stages)
    assert made.plan.copied
    assert made.plan.buffers == stages
    m, n, depth = made.plan.block_m, made.plan.block_n, made.plan.block_k
    for k in (32, depth, 3 * depth + 32, 4 * depth):
        report, wrong, aligned = made.launch((m + 32, n - 32, k), (32, 32, 32))
        assert (report.findings, wrong, aligned, conflicts(report)) == ((), 0, True, 0)
        copies = sum(count for text, count in report.mnemonics.items() if text == "tensor_load_to_lds")
        rounds = -(-k // depth) + stages - 1  # of two workgroups, each of which copies A and B
        assert copies == 2 * 2 * rounds
        assert not [text for text in report.mnemonics if text.startswith("buffer_load")]


def test_loads_to_lds_move_each_line_once_also_at_an_edge(tmp_path):
    made = Gemm("gfx950", "v_mfma_f32_32x32x16_f16", ("row", "col"), tmp_path)
    assert made.plan.direct
    a, b, d = np.zeros((100, 136), np.float16), np.zeros((128, 136), np.float16), np.zeros((100, 128), np.float32)
    sizes = 100, 128, 136
    found = mmacalc.profile(made.kernels[made.plan.name], 1, made.plan.threads, a, b, d, *sizes, 136, 136, 128)
    loads = [one for one in found.instructions if one.text.endswith(" lds") and one.executed]
    assert found.findings == ()
    assert len(loads) >= 8
    # Rows of 272 bytes begin anywhere in a line: one row is in two lines at most.
    assert all(one.moved <= 2 * 8 * one.executed for one in loads)
    # 64 lanes write 16 bytes each, 8 lanes in a cycle; and LDS is taken for what it is written and read.
    assert all(one.shared_cycles == 8 * one.executed for one in loads)
    taken = next(unit.busy for unit in found.model.units if unit.name == "LDS") * found.model.cycles
    assert taken == pytest.approx(sum(one.shared_cycles for one in found.instructions))
    assert taken > sum(one.shared_cycles for one in loads) > 0


def test_the_model_of_a_profile_has_what_tensor_copies_write_to_lds(tmp_path):
    """512 bytes in a cycle, as 32 lanes of 16 bytes: one wave copies A, and one B."""
    made = Gemm("gfx1250", "v_wmma_f32_16x16x32_f16", ("row", "col"), tmp_path)
    m, n, k = 256, 128, 128
    a, b, d = np.zeros((m, k), np.float16), np.zeros((n, k), np.float16), np.zeros((m, n), np.float32)
    found = mmacalc.profile(made.kernels[made.plan.name], 1, made.plan.threads, a, b, d, m, n, k, k, k, n)
    copies = [one for one in found.instructions if one.text.startswith("tensor_load_to_lds") and one.executed]
    stages = {2 * each * 64 for each in (m, n)}
    assert {one.shared_bytes / one.executed for one in copies} <= {0, *stages}
    assert all(one.shared_cycles == one.shared_bytes / 512 for one in copies)
    taken = next(unit.busy for unit in found.model.units if unit.name == "LDS") * found.model.cycles
    assert taken >= sum(one.shared_cycles for one in copies) / 2 >= (m + n) * 2 * k / 512 / 2


@pytest.mark.parametrize(("target", "name"), [
    ("gfx90a", "v_mfma_i32_32x32x8i8"), ("gfx942", "v_mfma_f32_32x32x8_f16"), ("gfx1201", "v_wmma_f32_16x16x16_f16"),
    ("gfx1100", "v_wmma_i32_16x16x16_iu8"),
])  # fmt: skip
def test_what_registers_transpose_is_loaded_in_pieces_of_half_a_line_or_more(target, name):
    found = gemm.plan(mmacalc.instruction(target, name), None, "col", "row")
    for turn in (found.a_turn, found.b_turn):
        assert turn.lanes * turn.width >= 64


def test_loads_that_transpose_read_a_relabelled_k_too():
    """Of every matrix of 8 and 16 bits that is not compressed, though a lane holds less than 16 bytes of it."""
    found = 0
    for inst in mmacalc.instructions("gfx950"):
        with contextlib.suppress(Error):
            one = gemm.plan(inst, None, "row", "row")
            if one.b.bits in (8, 16):
                assert one.b_turn is None
                assert not one.b.turned
                found += one.kpack > 1
    assert found > 20


def test_the_check_of_a_gemm_finds_the_instruction_alone():
    inst = mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16")
    found = gemm.plan(inst)
    checked = check(mmacalc.generate(inst, gemm="256x256x256"), inst, found.wave, single=False)
    assert checked.wanted
    assert len(checked.matrix_instructions) % (found.tiles_m * found.tiles_n * found.kpack) == 0


def test_blocks_cover_every_tile_of_d_once():
    """The order of blocks, as the source computes it, for every shape of a grid."""
    for tiles_m, tiles_n, dies in itertools.product(range(1, 20), range(1, 20), (1, 8)):
        every = tiles_m * tiles_n
        seen = set()
        for block in range(every):
            die = block % dies
            at = die * (every // dies) + min(die, every % dies) + block // dies
            group, rest = divmod(at, 8 * tiles_n)
            height = min(tiles_m - group * 8, 8)
            seen.add((group * 8 + rest % height, rest // height))
        assert seen == set(itertools.product(range(tiles_m), range(tiles_n)))
