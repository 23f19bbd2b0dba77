"""Chains carried out, what a relabelled k asks, and the command line."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest

import mmacalc
from chain_products import products, questions
from mmacalc import Error
from mmacalc.chaining.running import run
from mmacalc.cli import answer
from samples import sampled

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"


# --- relabelling: what it asks ---


def test_sparse_groups_that_a_relabelling_mixes_are_named():
    x = mmacalc.instruction("sm_80", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
    y = mmacalc.instruction("sm_80", "mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
    z = mmacalc.instruction("sm_80", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
    assert "sparse groups" in [condition.name for condition in mmacalc.chain(z, y, "Bt").conditions]
    kept = mmacalc.instruction("gfx942", "v_smfmac_f32_32x32x16_f16")
    wide = mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16")
    assert "sparse groups" not in [condition.name for condition in mmacalc.chain(wide, kept, "B").conditions]
    assert [condition.name for condition in mmacalc.chain(x, x, "A").conditions] == ["sum order"]


def test_scale_blocks_stay_together_only_for_8_bits_of_32x32x64():
    x = mmacalc.instruction("gfx950", "v_mfma_f32_32x32x16_f16")
    y = mmacalc.instruction("gfx950", "v_mfma_scale_f32_32x32x64_f8f6f4")
    narrow = mmacalc.instruction("gfx950", "v_mfma_f32_16x16x32_f16")
    wide = mmacalc.instruction("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4")
    mixed = {}
    for first, second in ((x, y), (narrow, wide)):
        for chosen in ("fp8", "fp6", "fp4"):
            found = mmacalc.chain(first, second, "B", cbsz=chosen, blgp=chosen)
            mixed[first.name, chosen] = "scale blocks" in [condition.name for condition in found.conditions]
    assert [key for key, mixes in mixed.items() if not mixes] == [(x.name, "fp8")]


def test_scale_blocks_of_gfx1250_stay_together_for_8_bits_and_32_k():
    x = mmacalc.instruction("gfx1250", "v_wmma_f32_16x16x32_f16")
    kept = set()
    for size in ("", "16"):
        y = mmacalc.instruction("gfx1250", f"v_wmma_scale{size}_f32_16x16x128_f8f6f4")
        for chosen in ("fp8", "fp6", "fp4"):
            found = mmacalc.chain(x, y, "B", matrix_a_fmt=chosen, matrix_b_fmt=chosen)
            if "scale blocks" not in [condition.name for condition in found.conditions]:
                kept.add((y.block_size, chosen))
    assert kept == {(32, "fp8")}


@pytest.mark.parametrize(
    ("arch", "name", "changes"),
    [
        ("sm_80", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", True),
        ("gfx942", "v_mfma_f32_16x16x32_fp8_fp8", True),
        ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", False),
        ("gfx950", "v_mfma_f32_32x32x16_f16", False),
        ("sm_89", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", False),
    ],
)
def test_the_bits_of_a_sum_change_exactly_where_the_condition_says(arch, name, changes):
    inst = mmacalc.instruction(arch, name)
    found = mmacalc.chain(inst, inst, "A" if arch.startswith("sm") else "B")
    assert ("sum order" in [condition.name for condition in found.conditions]) == changes
    rng = np.random.default_rng(5)
    shapes = (40, inst.m, found.k), (40, found.k, inst.n)
    a, b = (rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 6, shape) for shape in shapes)
    order = list(found.order)

    def summed(a, b):
        d = 0
        for first in range(0, found.k, inst.k):
            d = inst.multiply(a[..., first : first + inst.k], b[..., first : first + inst.k, :], d)
        return d

    assert (summed(a, b) != summed(a[..., order], b[..., order, :])).any() == changes


# --- the plan runs ---


def check_products(arch, wave, chosen):
    rng = np.random.default_rng(2026)
    for number, (x, y, use, modifiers) in enumerate(questions(arch, wave)):
        for keep_k in (False, True) if chosen(number) else ():
            found = mmacalc.chain(x, y, use, keep_k=keep_k, wave=wave, **modifiers)
            got, expected = products(found, rng, wave, modifiers)
            assert np.array_equal(got, expected), (found, wave, keep_k, modifiers)


def every_wave():
    records = [mmacalc.architecture(name) for name in mmacalc.architectures()]
    return [(one.name, wave) for one in records if "chain" not in one.family.unsupported_topics for wave in one.waves]


@sampled("step", [197, 97], 1)
def test_x_then_the_chain_then_y_is_numpy_s_product_for_a_sample_of_pairs(step):
    for at, (arch, wave) in enumerate(every_wave()):
        check_products(arch, wave, lambda number, at=at: number % step == at * 37 % step)


@sampled(("arch", "wave"), every_wave(), 0, whole=2)
def test_x_then_the_chain_then_y_is_numpy_s_product_for_every_pair(arch, wave):
    check_products(arch, wave, lambda number: True)


@pytest.mark.parametrize(
    ("arch", "x", "y", "use", "wave"),
    [
        ("gfx950", "v_mfma_f32_32x32x16_f16", "v_mfma_f32_16x16x32_f16", "B", 64),
        ("gfx950", "v_mfma_f32_16x16x32_f16", "v_mfma_f32_16x16x32_f16", "B", 64),
        ("gfx942", "v_mfma_f32_32x32x8_f16", "v_mfma_f32_32x32x8_f16", "A", 64),
        ("gfx90a", "v_mfma_f64_16x16x4f64", "v_mfma_f64_16x16x4f64", "A", 64),
        ("gfx1100", "v_wmma_f16_16x16x16_f16", "v_wmma_f16_16x16x16_f16", "At", 64),
        ("gfx1100", "v_wmma_i32_16x16x16_iu8", "v_wmma_i32_16x16x16_iu4", "B", 32),
        ("gfx1200", "v_wmma_i32_16x16x16_iu8", "v_wmma_i32_16x16x16_iu4", "B", 64),
        ("gfx1250", "v_wmma_f32_16x16x32_f16", "v_wmma_f32_16x16x64_fp8_fp8", "B", 32),
        ("sm_80", MMA, MMA, "At", 32),
        ("sm_90a", WGMMA, "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3", "A", 32),
    ],
)  # fmt: skip
@pytest.mark.parametrize("keep_k", [True, False])
def test_every_way_gives_the_same_registers_with_the_fetches_it_promises(arch, x, y, use, wave, keep_k):
    found = mmacalc.chain(mmacalc.instruction(arch, x), mmacalc.instruction(arch, y), use, keep_k=keep_k, wave=wave)
    operand = found.tiles.source
    rng = np.random.default_rng(3)
    d = rng.integers(0, 3, (2, found.x_count, operand.registers, operand.lanes)).astype(np.float32)
    d = d.view(np.uint32) if operand.format.name == "f32" else d.astype(np.uint32)
    results = [found.apply(d, way.name) for way in found.ways] or [found.apply(d)]
    for result in results:
        assert np.array_equal(result, results[0])
    for way in found.ways:
        fetched = []
        run(found, d, way, fetched)
        if way.name in ("ds_bpermute_b32", "ds_swizzle_b32", "shfl.sync.idx.b32", "shfl.sync.bfly.b32"):
            assert sum(fetched) == dict(way.instructions)[way.name], way


def test_sizes_that_are_no_powers_of_two_chain_too():
    x = mmacalc.instruction("sm_90a", "wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16")
    free, moved = mmacalc.chain(x, x)
    assert (free.use, free.kind, free.x_count, free.y_count) == ("A", "identical", 2, 3)
    assert (moved.use, [way.name for way in moved.ways]) == ("At", ["shared memory"])
    for found in (free, moved):
        got, expected = products(found, np.random.default_rng(1), 32, {})
        assert np.array_equal(got, expected)


def test_apply_names_what_is_wrong_with_its_registers():
    x = mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16")
    found = mmacalc.chain(x, x, "A")
    with pytest.raises(
        Error, match=r"D has shape \(16, 64\); it needs \(..., 1, 16, 64\): 1 of v_mfma_f32_32x32x8_f16"
    ):
        found.apply(np.zeros((16, 64), np.uint32))
    with pytest.raises(Error, match="D has type float64; registers are uint32"):
        found.apply(np.zeros((1, 16, 64)))
    with pytest.raises(Error, match="no way called 'shfl'; its ways are LDS, ds_bpermute_b32"):
        found.apply(np.zeros((1, 16, 64), np.uint32), "shfl")


# --- errors, the command line, JSON ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-a gfx942 v_mfma_f32_32x32x8_f16 v_mfma_i32_32x32x16_i8",
         "D of v_mfma_f32_32x32x8_f16 is f32, and v_mfma_i32_32x32x16_i8 multiplies i8; chain converts integers to "
         "integers and floats to floats. D of v_mfma_f32_32x32x8_f16 can feed 28 instructions, such as"),
        ("-a gfx942 v_mfma_f32_32x32x8_f16 v_mfma_f64_16x16x4_f64", "f64 results chain with f64 operands only"),
        ("-a gfx942 v_mfma_f32_32x32x8_f16 v_mfma_f32_32x32x4_2b_f16",
         "v_mfma_f32_32x32x8_f16 has 1 block and v_mfma_f32_32x32x4_2b_f16 2 blocks; both should have as many"),
        ("-a gfx942 v_mfma_f32_32x32x8_f16 v_smfmac_f32_32x32x16_f16 --use A",
         "A of v_smfmac_f32_32x32x16_f16 is compressed 2:4, and a result is dense; it can be B or Bt"),
        (f"-a sm_90a {WGMMA} {MMA}", f"lies in 128 lanes and A of {MMA} in 32; a chain needs the same lanes"),
        (f"-a sm_90a {WGMMA} {WGMMA} --use B", "is in shared memory"),
        ("-a gfx942 v_mfma_f32_32x32x8_f16 v_mfma_f32_32x32x8_f16 --use C", "use is 'C'; it should be A, At"),
        ("-a gfx942 v_mfma_f32_32x32x8_f16 v_mfma_f32_32x32x8_f16 -w 32", "CDNA3 has no wave size 32"),
        ("-a gfx942 v_mfma_f32_32x32x8_f16 v_mfma_f32_32x32x8_f16 --opsel 1", "has a modifier 'opsel'"),
        ("-a gfx942 v_mfma_f32_32x32x4_2b_f16 v_mfma_f32_32x32x4_2b_f16 --blgp 1 --use B", "a chain needs it to be 0"),
        ("-a gfx950 v_smfmac_f32_32x32x16_f16 v_smfmac_f32_32x32x16_f16 --cbsz 9 --use B", "CBSZ of v_smfmac"),
        ("-a gfx942 v_mfma_f32_32x32x8_f16", "chain takes two instructions"),
        ("-a gfx942 --list v_mfma_f32_32x32x8_f16 v_mfma_f32_32x32x8_f16", "--list takes one instruction"),
        (f"-a sm_80 {MMA} ldmatrix.sync.aligned.m8n8.x4.shared.b16", "moves a matrix and multiplies nothing"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_what_would(arguments, message):
    reply = answer(["chain", *arguments.split()])
    assert (reply.status, reply.out) == (2, "")
    assert message in reply.err


def test_two_architectures_are_refused_and_so_are_names():
    x, y = (mmacalc.instruction(arch, "v_mfma_f32_32x32x8_f16") for arch in ("gfx942", "gfx950"))
    with pytest.raises(Error, match="is an instruction of CDNA3, v_mfma_f32_32x32x8_f16 of CDNA4; a chain runs on one"):
        mmacalc.chain(x, y)
    with pytest.raises(Error, match=r"y = 'v_mfma_f32_32x32x8_f16' should be an object of mmacalc\.Instruction"):
        mmacalc.chain(x, "v_mfma_f32_32x32x8_f16")


def test_the_page_of_a_chain_reads_so():
    reply = answer(["chain", "-a", "gfx950", *["v_mfma_f32_32x32x16_f16"] * 2, "--use", "B", "--keep-k"])
    assert reply.out == (
        "CDNA4: D of v_mfma_f32_32x32x16_f16 into v_mfma_f32_32x32x16_f16\n"
        "\n"
        "B: lane-moves (elements move between lanes)\n"
        "  B[k][f] = D[k][f]: Y adds up the rows of D; in attention D is S' = K Q', Q and K exchanged\n"
        "    tile       f 32, k 32: 1 of X, 2 of Y\n"
        "    D          (v m h) j -> lane (m j), item (v h)\n"
        "    B          (g e) j -> lane (g j), item (e)\n"
        "    convert    f32 to f16, to nearest, ties to even: v_cvt_pk_f16_f32 for each register, 8 times\n"
        "    registers  y0.b0 <- d0 d1; y0.b1 <- d2 d3; y0.b2 <- d4 d5; y0.b3 <- d6 d7; y1.b0 <- d8 d9; "
        "y1.b1 <- d10 d11;\n"
        "               y1.b2 <- d12 d13; y1.b3 <- d14 d15\n"
        "    move       exchange item bit 2 with lane bit 5\n"
        "    ways       v_permlane32_swap_b32  4 v_permlane32_swap_b32\n"
        "               ds_bpermute_b32        4 ds_bpermute_b32, 12 v_cndmask_b32\n"
        "               LDS                    4 ds_write_b64, 2 ds_read_b128 "
        "(2560 bytes, rows of 64 + 16 along k: 40 cycles, 16 conflicts)\n"
        "    provenance layouts: two sources agree\n"
    )


def test_json_holds_what_the_answer_holds():
    arguments = ["-a", "gfx942", "v_mfma_f32_16x16x4_f32", "v_mfma_f32_16x16x16_f16"]
    reply = json.loads(answer(["chain", *arguments, "--json"]).out)
    x, y = (mmacalc.instruction("gfx942", name) for name in arguments[2:])
    found = mmacalc.chain(x, y)
    assert [(each["use"], each["kind"]) for each in reply["chains"]] == [(each.use, each.kind) for each in found]
    for each, chain in zip(reply["chains"], found):
        assert each["relabel"] == (list(chain.relabel) if chain.relabel else None)
        assert [way["total"] for way in each["ways"]] == [way.total for way in chain.ways]
        assert len(each["registers"]) == len(chain.registers)


def test_a_modifier_goes_to_the_instruction_that_takes_its_value():
    """CBSZ 4 is fp4 of an f8f6f4 MFMA, and no index set of SMFMAC."""
    x = mmacalc.instruction("gfx950", "v_smfmac_f32_32x32x16_f16")
    y = mmacalc.instruction("gfx950", "v_mfma_f32_32x32x64_f8f6f4")
    assert mmacalc.chain(x, y, "B", cbsz=4, blgp="fp4").conversion.target == "e2m1"


def test_the_list_is_every_free_chain():
    x = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
    listed = {(each.y.name, each.use) for each in mmacalc.feeds(x)}
    free = set()
    for y in mmacalc.instructions("gfx942"):
        try:
            free |= {(y.name, each.use) for each in mmacalc.chain(x, y) if each.free}
        except Error:
            continue
    assert listed == free
    lines = answer(["chain", "-a", "gfx942", "--list", x.name]).out.splitlines()
    assert len(lines) == 1 + len(listed)
    rows = json.loads(answer(["chain", "-a", "gfx942", "--list", x.name, "--json"]).out)["chains"]
    assert {(row["y"], row["use"]) for row in rows} == listed


def test_a_question_imports_no_numpy_and_takes_little_time():
    command = "import sys; from mmacalc.cli import main; main(sys.argv[1:]); assert 'numpy' not in sys.modules"
    name = "v_mfma_f32_16x16x128_f8f6f4"
    arguments = ["chain", "-a", "gfx950", name, name, "--cbsz", "fp4", "--blgp", "fp4"]
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", command, *arguments], check=True, stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - start)
    assert min(taken) < 2  # 0.1 s where nothing else runs; this catches a search that explodes


@pytest.mark.parametrize(
    ("arch", "x", "y", "fields", "instructions", "registers"),
    [
        ("gfx1250", "v_wmma_f16_16x16x32_f16", "v_wmma_f32_16x16x32_bf16", {},
         "2 v_cvt_f32_f16, 1 v_cvt_pk_bf16_f32", 1),
        ("gfx1100", "v_wmma_bf16_16x16x16_bf16", "v_wmma_f32_16x16x16_f16", {},
         "2 v_lshlrev_b32, 2 v_cvt_f16_f32, 1 v_pack_b32_f16", 1),
        ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
         "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", {}, "2 cvt.f32.f16, 1 cvt.rn.bf16x2.f32", 1),
        ("gfx1250", "v_wmma_f16_16x16x32_f16", "v_wmma_f32_16x16x64_fp8_fp8", {}, "2 v_cvt_pk_fp8_f16", 1),
        ("gfx1250", "v_wmma_f16_16x16x32_f16", "v_wmma_f32_16x16x64_bf8_bf8", {}, "2 v_cvt_pk_bf8_f16", 1),
        *(("sm_89", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
           f"mma.sync.aligned.m16n8k32.row.col.f32.{form}.{form}.f32", {},
           f"2 cvt.rn.satfinite.{form}x2.f16x2, 1 mov.b32", 1) for form in ("e4m3", "e5m2")),
        ("gfx950", "v_mfma_f32_32x32x16_f16", "v_mfma_f32_16x16x128_f8f6f4", {"blgp": "fp6"},
         "1 v_cvt_scalef32_2xpk16_fp6_f32", 6),
        ("gfx1250", "v_wmma_f32_16x16x32_f16", "v_wmma_f32_16x16x128_f8f6f4", {"matrix_b_fmt": "bf6"},
         "1 v_cvt_scalef32_pk16_bf6_f32", 3),
    ],
)  # fmt: skip
def test_results_are_widened_and_packed_by_the_instructions_that_take_so_many(
    arch, x, y, fields, instructions, registers
):
    """The ISA guides and the PTX ISA: a conversion of 16 elements of six bits fills 3 registers, one of 32 fills 6."""
    found = mmacalc.chain(*(mmacalc.instruction(arch, name) for name in (x, y)), "B", **fields).conversion
    assert ", ".join(f"{count} {name}" for name, count in found.instructions) == instructions
    assert found.registers == registers
