"""Generated attention on the emulator: softmax of float64 within what the formats allow, without a finding."""

import contextlib
import itertools
import random
import re

import pytest

import mmacalc
from generated_attention import Attention
from generated_gemms import conflicts, lost, spills
from mmacalc import Error
from mmacalc.arithmetic.codecs import largest
from mmacalc.codegen.attention import attention_plan, growth_of
from mmacalc.codegen.attention_choice import attention_instruction
from mmacalc.codegen.check import check
from samples import rotated, sampled
from test_ptx_deletions import TOOL

MMA = "mma.sync.aligned.m16n8k16.row.col.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64"
FP8 = "mma.sync.aligned.m16n8k32.row.col"
TCGEN05, TCGEN05_FP8 = (f"tcgen05.mma.cta_group::1.kind::{kind}" for kind in ("f16", "f8f6f4"))
HIP = [
    ("gfx942", "v_mfma_f32_32x32x8_f16", 64, None),
    ("gfx908", "v_mfma_f32_16x16x16f16", 64, None),
    ("gfx950", "v_mfma_f32_16x16x32_bf16", 128, None),
    ("gfx90a", "v_mfma_f32_32x32x8bf16_1k", 128, None),
    ("gfx1201", "v_wmma_f32_16x16x16_bf16", 128, None),
    ("gfx90a", "v_mfma_f32_16x16x16f16", 64, None),
    ("gfx942", "v_mfma_f32_16x16x16_bf16", 96, None),
    ("gfx1100", "v_wmma_f32_16x16x16_f16", 64, None),
    ("gfx1100", "v_wmma_f32_16x16x16_bf16", 128, None),
    ("gfx950", "v_mfma_f32_32x32x16_f16", 64, None),
    ("gfx1250", "v_wmma_f32_16x16x32_f16", 64, None),
    ("gfx1250", "v_wmma_f32_16x16x32_bf16", 128, None),
    ("gfx1100", "v_wmma_f32_16x16x16_f16", 64, 64),
    ("gfx1201", "v_wmma_f32_16x16x16_f16", 64, 64),
    ("gfx90a", "v_mfma_f32_32x32x4bf16", 64, None),
]
SMALL_HIP = [
    ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", 128, {}),
    ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", 96, {}),
    ("gfx1201", "v_wmma_f32_16x16x16_fp8_fp8", 128, {"head_v": 64}),
    ("gfx1250", "v_wmma_f32_16x16x64_fp8_fp8", 64, {"head_v": 128}),
    ("gfx942", "v_mfma_f32_16x16x32_bf8_fp8", 128, {"tile": "64x64"}),
    ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", 64, {"cbsz": "bf8", "blgp": "bf8"}),
    ("gfx1200", "v_wmma_f32_16x16x16_bf8_bf8", 64, {"wave": 64}),
    ("gfx950", "v_mfma_f32_16x16x128_f8f6f4", 128, {"blgp": "bf8", "head_v": 256}),
    ("gfx1250", "v_wmma_f32_16x16x128_f8f6f4", 128, {"matrix_a_fmt": "bf8", "head_v": 64}),
    ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", 256, {"head_v": 32}),
    ("gfx1201", "v_wmma_f32_16x16x16_fp8_bf8", 256, {}),
    ("gfx950", "v_mfma_f32_32x32x16_fp8_fp8", 32, {}),
    ("gfx1250", "v_wmma_f32_16x16x64_bf8_fp8", 128, {}),
]
SYNCHRONISES = re.compile(
    r"\s*(@%p\d+ )?(bar\.(sync|arrive)|fence\.proxy|cp\.async\.wait|wgmma\.(commit|wait)|mbarrier\.(arrive|init)|"
    r"tcgen05\.(commit|wait|fence)|mbarrier\.try_wait)"
)
IDLE = re.compile(r"fence\.proxy|bar\.sync|mbarrier\.arrive\.shared|tcgen05\.(commit|fence)")
CUDA = [
    ("sm_80", f"{MMA}.f16.f16.f32", 64, {}),
    ("sm_90a", f"{WGMMA}n64k16.f32.f16.f16", 64, {}),
    ("sm_110a", TCGEN05, 256, {"n": 64, "a": "bf16"}),
    ("sm_90a", f"{MMA}.bf16.bf16.f32", 128, {"head_v": 64}),
    ("sm_90a", f"{WGMMA}n128k16.f32.bf16.bf16", 128, {}),
    ("sm_103a", TCGEN05, 64, {}),
    ("sm_120a", f"{MMA}.f16.f16.f32", 128, {}),
    ("sm_90a", f"{WGMMA}n32k16.f32.f16.f16", 96, {"tile": "64x32"}),
    ("sm_100a", TCGEN05, 80, {"n": 64}),
    ("sm_80", "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", 32, {}),
    ("sm_90a", f"{WGMMA}n64k16.f32.bf16.bf16", 256, {}),
    ("sm_100a", TCGEN05, 128, {"n": 128, "a": "bf16"}),
    ("sm_89", f"{MMA}.bf16.bf16.f32", 64, {}),
    ("sm_90a", f"{WGMMA}n192k16.f32.f16.f16", 16, {}),
    ("sm_100a", f"{MMA}.f16.f16.f32", 64, {}),
    ("sm_100a", TCGEN05, 192, {"n": 64, "head_v": 128}),
    ("sm_90a", f"{WGMMA}n96k16.f32.bf16.bf16", 192, {"head_v": 128}),
    ("sm_80", f"{MMA}.f16.f16.f32", 80, {"head_v": 16}),
    ("sm_120a", f"{MMA}.bf16.bf16.f32", 224, {}),
    ("sm_80", f"{MMA}.f16.f16.f32", 96, {}),
    ("sm_86", f"{MMA}.f16.f16.f32", 256, {"head_v": 192}),
    ("sm_89", f"{MMA}.f16.f16.f32", 48, {"tile": "64x48"}),
    ("sm_89", f"{FP8}.f32.e4m3.e4m3.f32", 64, {}),
    ("sm_100a", TCGEN05_FP8, 64, {"n": 64}),
    ("sm_90a", f"{WGMMA}n64k32.f32.e4m3.e4m3", 64, {}),
    ("sm_120a", f"{FP8}.f32.e4m3.e4m3.f32", 128, {"head_v": 32}),
    ("sm_100a", TCGEN05_FP8, 128, {"n": 128}),
    ("sm_90a", f"{WGMMA}n96k32.f32.e4m3.e4m3", 192, {"head_v": 128}),
    ("sm_90a", f"{WGMMA}n32k32.f32.e4m3.e4m3", 32, {"tile": "64x32"}),
    ("sm_120a", f"{FP8}.kind::f8f6f4.f32.e4m3.e4m3.f32", 96, {}),
]
WINDOWS = [
    ("gfx942", "v_mfma_f32_32x32x8_f16", 64, {}), ("gfx1100", "v_wmma_f32_16x16x16_f16", 64, {"head_v": 96}),
    ("sm_80", f"{MMA}.f16.f16.f32", 64, {}), ("sm_90a", f"{WGMMA}n32k16.f32.f16.f16", 64, {}),
    ("sm_100a", TCGEN05, 64, {"n": 32}), ("sm_120a", f"{FP8}.f32.e4m3.e4m3.f32", 64, {}),
    ("gfx1250", "v_wmma_f32_16x16x32_bf16", 128, {"head_v": 64}), ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", 64, {}),
]  # fmt: skip
SMALL = [
    ("sm_90a", f"{WGMMA}n32k16.f32.f16.f16", 32, {}), ("sm_100a", TCGEN05, 32, {"n": 32}),
    ("sm_90a", f"{WGMMA}n32k32.f32.e4m3.e4m3", 32, {}),
]  # fmt: skip


def tried(made, *sizes, **options):
    report, off, l_off = made.launch(*sizes, **options)
    assert off <= 1, "O"
    assert l_off <= 1, "L"
    assert report.findings == ()
    return report


@sampled(("target", "name", "head", "wave"), HIP, 3, whole=4)
def test_attention_is_right_for_lengths_that_are_no_multiples_of_the_tile(target, name, head, wave, tmp_path):
    made = Attention(target, name, head, True, tmp_path, wave)
    report = tried(made, 1, 2, 2, 37, 81, rows_first=True)
    assert wave == 64 or conflicts(report) == 0  # P of wave64 on RDNA goes through LDS
    assert spills(made.path) == [0], "registers are spilled to scratch memory"


@sampled(("target", "name", "head", "options"), SMALL_HIP, 4, whole=8)
def test_attention_of_8_bits_on_amd_is_right_in_two_schedules_without_a_conflict(target, name, head, options, tmp_path):
    chance = random.Random(f"{target} {name} {head}")
    for causal, schedule in ((True, None), (False, 1)):
        made = Attention(target, name, head, causal, tmp_path, **options)
        queries = chance.randrange(made.plan.block_m // 2, made.plan.block_m + 20)
        keys = chance.randrange(made.plan.block_n, 4 * made.plan.block_n)
        heads, group = chance.choice(((1, 1), (2, 2), (2, 1)))
        assert conflicts(tried(made, 1, heads, group, queries, keys, rows_first=causal, schedule=schedule)) == 0
        assert spills(made.path) == [0]


@pytest.mark.parametrize(("target", "form"), [
    (target, form) for target in ("gfx942", "gfx950", "gfx1201", "gfx1250") for form in ("fp8", "bf8")
])  # fmt: skip
def test_largest_exponentials_that_o_does_not_follow_are_within_8_bits(target, form, tmp_path):
    """Products grow from key to key, so that exponentials grow to the largest of which O is not multiplied."""
    inst, formats = attention_instruction(target, (1, 1, 64, 64, 64), form)
    offset, most = growth_of(inst.format("B", formats).name)
    assert 2.0 ** (offset + most) <= largest(inst.format("B", formats).name) < 2.0 ** (offset + most + 1)
    made = Attention(target, inst.name, 64, False, tmp_path, **formats)
    tried(made, 1, 1, 1, 40, 3 * made.plan.block_n, size=3)


@sampled("target", ["gfx950", "gfx90a", "gfx942", "gfx908", "gfx1100", "gfx1201", "gfx1250"], 1)
def test_k_and_v_of_every_attention_kernel_have_no_bank_conflict_that_memory_knows_of(target):
    found = []
    for inst in mmacalc.instructions(target):
        for wave, head in itertools.product(inst.architecture.waves, (32, 64, 96, 128, 256)):
            with contextlib.suppress(Error):
                found.append(attention_plan(inst, head, wave=wave))
    assert len(found) > 3
    for one in found:
        operand = one.instruction.operand("A", one.wave)
        for side, turn in ((one.k, None), (one.v, one.v_turn)):
            assert lost(operand, side, one.kpack, turn) == 0, (one.name, side)


@sampled(("target", "name", "head", "options"), CUDA, 4, whole=6)
def test_attention_of_nvidia_is_right_without_a_bank_conflict(target, name, head, options, tmp_path):
    chance = random.Random(f"{target} {name} {head}")
    for causal in (True, False):
        made = Attention(target, name, head, causal, tmp_path, **options)
        queries = chance.randrange(made.plan.block_m // 2, made.plan.block_m + 20)
        keys = chance.randrange(made.plan.block_n, 4 * made.plan.block_n)
        heads = chance.choice((1, 2))
        assert conflicts(tried(made, 1, heads, heads, queries, keys, rows_first=causal)) == 0


@pytest.mark.parametrize(("target", "name", "options"), [
    ("sm_90a", f"{WGMMA}n64k16.f32.f16.f16", {}), ("sm_100a", TCGEN05, {"n": 64, "a": "bf16"}),
])  # fmt: skip
def test_attention_by_descriptors_takes_one_query_one_key_and_queries_that_see_no_key(target, name, options, tmp_path):
    made = Attention(target, name, 64 if "wgmma" in name else 128, True, tmp_path, **options)
    for sizes in ((1, 1, 1, 1, 1), (1, 1, 1, 140, 11), (2, 2, 2, 3, 130)):
        tried(made, *sizes)


@sampled(("target", "name", "head", "options"), WINDOWS, 2)
def test_a_query_sees_the_last_keys_of_its_window(target, name, head, options, tmp_path):
    made = Attention(target, name, head, True, tmp_path, window=37, **options)
    for sizes in ((1, 2, 2, 70, 150), (1, 1, 1, 150, 60)):
        tried(made, *sizes)


def said_of(made, text):
    """What is found in a launch of a changed kernel, and what is noted about tcgen05's fences and waits."""
    made.kernel = mmacalc.load(text)[made.plan.name]
    try:
        report, *_ = made.launch(1, 1, 1, 70, 90, size=20)  # so that O has to be corrected
    except Error as error:  # a barrier that nobody completes
        return [str(error)]
    return [*map(str, report.findings), *[note for note in report.notes if "tcgen05." in note]]


@sampled(("target", "name", "head", "options", "part"), [
    (*kernel, part)
    for kernel in SMALL
    for part in range(7)
], 2, whole=6)  # fmt: skip
def test_attention_without_one_of_its_fences_or_waits_is_named(target, name, head, options, part, tmp_path):
    """But what is idle here: fences of what another one orders, turns, and places that no later tile takes."""
    made = Attention(target, name, head, True, tmp_path, **options)
    lines = made.path.split("\n")
    sites = [at for at, line in enumerate(lines) if SYNCHRONISES.match(line)]
    assert len(sites) >= 20
    assert said_of(made, made.path) == []
    unnamed = [lines[at] for at in sites[part::7] if not said_of(made, TOOL["without"](lines, at))]
    assert [line for line in unnamed if not IDLE.search(line)] == []
    assert len(unnamed) <= 2


@sampled(("case", "causal"), rotated(HIP, [False, True]), 0, whole=4)
def test_every_attention(case, causal, tmp_path):
    target, name, head, wave = case
    made = Attention(target, name, head, causal, tmp_path, wave)
    for sizes in ((2, 1, 1, 128, 128), (1, 2, 1, 131, 70), (1, 1, 1, 1, 1), (1, 1, 1, 3, 200)):
        tried(made, *sizes)


@pytest.mark.parametrize(("target", "kv_heads"), [("gfx942", 2), ("sm_80", 1), ("sm_90a", 4), ("sm_100a", 2)])
def test_the_launch_line_has_the_strides_of_grouped_heads(target, kv_heads):
    sizes = (3, 8, 100, 200, 64, 128)
    batches, heads, queries, keys, head, head_v = sizes
    inst, _ = attention_instruction(target, sizes)
    source = mmacalc.generate(inst, attention=sizes, kv_heads=kv_heads)
    shapes = [(heads, queries, head), (kv_heads, keys, head), (kv_heads, keys, head_v), (heads, queries, head_v)]
    strides = [[width, rows * width, count * rows * width] for count, rows, width in shapes]
    line = source[source.rindex("nullptr") :].replace("//", "").split(")")[0].split(",")[1:]
    assert [int(word) for word in line[:4]] == [queries, keys, heads, heads // kv_heads]
    passed = strides[3:] if "K_map" in source else strides
    assert [int(word) for word in line[5:]] == [stride for kind in zip(*passed) for stride in kind]
    if "K_map" in source:
        for letter, shape in zip("QKV", shapes):
            count, rows, width = shape
            assert f"// {letter}_map: dimensions {width} x {rows} x {count} x {batches}; box" in source


def test_queries_that_see_no_key_get_zeros(tmp_path):
    made = Attention("gfx942", "v_mfma_f32_16x16x16_f16", 64, True, tmp_path)
    tried(made, 1, 1, 1, 30, 11)


def test_a_tile_can_be_asked_for(tmp_path):
    made = Attention("gfx950", "v_mfma_f32_32x32x16_bf16", 64, False, tmp_path, tile="64x128")
    assert (made.plan.block_m, made.plan.block_n, made.plan.waves) == (64, 128, 2)
    tried(made, 1, 1, 1, 65, 131)


def test_p_is_handed_over_as_chain_says():
    """No byte of P goes through LDS but where chain has nothing cheaper."""
    for target, name, wave, way in [
        ("gfx942", "v_mfma_f32_32x32x8_f16", 64, "registers"), ("gfx950", "v_mfma_f32_32x32x16_f16", 64, "registers"),
        ("gfx1201", "v_wmma_f32_16x16x16_f16", 32, "registers"), ("gfx1100", "v_wmma_f32_16x16x16_f16", 64, "LDS"),
        ("gfx1100", "v_wmma_f32_16x16x16_f16", 32, "exchange"),
        ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", 64, "registers"),
        ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", 64, "registers"),
        ("gfx1250", "v_wmma_f32_16x16x64_fp8_fp8", 32, "registers"),
    ]:  # fmt: skip
        inst = mmacalc.instruction(target, name)
        link = mmacalc.chain(inst, inst, "B", wave=wave)
        source = mmacalc.generate(inst, attention="1x1x64x64x64", wave=wave)
        assert link.free == (way == "registers")
        assert ("p_tile" in source) == (way == "LDS")
        assert ("and gets the other" in source) == (way == "exchange")


@pytest.mark.parametrize(("target", "name", "given", "says"), [
    ("gfx942", "v_mfma_f32_32x32x8_f16", {"attention": "1x1x3x3x40"}, "a multiple of 32 up to 256, such as 64; got 40"),
    ("gfx942", "v_mfma_f32_32x32x8_f16", {"attention": "3x3x64"}, "attention is BxHxMxNxD"),
    ("gfx942", "v_mfma_f32_32x32x8_f16", {"attention": "1x1x3x3x64", "tile": "96x48"}, "keys; got 96x48"),
    ("gfx942", "v_mfma_f32_32x32x8_f16", {"attention": "1x1x3x3x64", "tile": "9"}, "MxN, queries and keys"),
    ("gfx942", "v_mfma_f32_32x32x8_f16", {"attention": "1x1x3x3x64", "lds": True}, "leave out lds"),
    ("gfx942", "v_mfma_f32_32x32x8_f16", {"causal": True}, "causal is of attention"),
    ("gfx942", "v_mfma_f32_32x32x8_f16", {"kv_heads": 2}, "kv_heads is of attention"),
    ("gfx942", "v_mfma_f32_32x32x8_f16", {"attention": "1x6x3x3x64", "kv_heads": 4}, "divides the 6 heads of Q"),
    ("sm_90a", f"{WGMMA}n64k16.f32.f16.f16", {"attention": "1x6x3x3x64", "kv_heads": 0}, "share each; got 0"),
    ("gfx942", "v_mfma_i32_32x32x16_i8", {"attention": "1x1x3x3x64"}, "e4m3fnuz and e5m2fnuz; A of"),
    ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", {"attention": "1x1x3x3x64", "cbsz": "fp4"}, "e4m3 and e5m2; A of"),
    ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", {"attention": "1x1x3x3x96"}, "a multiple of 64 up to 256, such as 64"),
    ("gfx950", "v_mfma_scale_f32_32x32x64_f8f6f4", {"attention": "1x1x3x3x64"}, "without block scales"),
    ("gfx942", "v_mfma_f32_32x32x8_f16", {"attention": "1x1x3x3x64", "cbsz": 1}, "tile and wave: leave out cbsz"),
    ("gfx1250", "v_wmma_f16_16x16x64_fp8_fp8", {"attention": "1x1x3x3x64"}, "its sibling that adds up in f32"),
    ("gfx1170", "v_wmma_f32_16x16x16_fp8_fp8", {"attention": "1x1x3x3x64"}, "is not published"),
    ("gfx1100", "v_wmma_f16_16x16x16_f16", {"attention": "1x1x3x3x64"}, "its sibling that adds up in f32"),
    ("sm_90a", f"{WGMMA}n24k16.f32.f16.f16", {"attention": "1x1x3x3x64"}, "k of the second product, a multiple of 16"),
    ("sm_90a", f"{WGMMA}n256k16.f32.f16.f16", {"attention": "1x1x3x3x64"}, "is up to 192 for attention; got 256"),
    ("sm_90a", f"{WGMMA}n64k16.f32.f16.f16", {"attention": "1x1x3x3x72"}, "a multiple of 16 up to 256, such as 64"),
    ("sm_90a", f"{WGMMA}n64k16.f32.f16.f16", {"attention": "1x1x3x3x64", "tile": "96x64"}, "is 64x64 or 128x64 for"),
    ("sm_90a", f"{WGMMA}n64k16.f16.f16.f16", {"attention": "1x1x3x3x64"}, "its sibling that adds up in f32"),
    ("sm_90a", f"{WGMMA}n192k16.f32.f16.f16", {"attention": "1x1x3x3x192"}, "with a smaller N"),
    ("sm_90a", f"{WGMMA}n64k32.f32.e5m2.e4m3", {"attention": "1x1x3x3x64"}, "for f16, bf16 and e4m3; A of"),
    ("sm_90a", f"{WGMMA}n80k32.f32.e4m3.e4m3", {"attention": "1x1x3x3x64"}, "second product, a multiple of 32; got 80"),
    ("sm_90a", f"{WGMMA}n96k16.f32.f16.f16", {"attention": "1x1x3x3x256"}, "use an instruction with a smaller N"),
    ("sm_90a", f"{WGMMA}n64k16.f32.f16.f16", {"attention": "1x1x3x3x64", "window": 8}, "give causal, too"),
    ("sm_90a", f"{WGMMA}n64k16.f32.f16.f16", {"window": 8}, "window is of attention: give attention, too"),
    ("sm_90a", f"{WGMMA}n64k16.f32.f16.f16", {"attention": "1x1x3x3x64", "causal": True, "window": 0}, "from 1 to"),
    ("sm_90a", f"{WGMMA}n64k16.f32.f16.f16", {"attention": "1x1x3x3x64x24"}, "a multiple of 16 up to 256, such as 64"),
    ("sm_100a", TCGEN05_FP8, {"attention": "1x1x3x3x64", "a": "e5m2"}, "kind::f8f6f4 is e5m2"),
    ("sm_100a", TCGEN05_FP8, {"attention": "1x1x3x3x80"}, "a multiple of 32 up to 256, such as 64; got 80"),
    ("sm_89", f"{FP8}.f32.e4m3.e5m2.f32", {"attention": "1x1x3x3x64"}, "is e4m3 and B e5m2"),
    ("sm_100a", TCGEN05, {"attention": "1x1x3x3x64", "n": 192}, "is up to 128 for attention; got 192"),
    ("sm_100a", TCGEN05, {"attention": "1x1x3x3x64", "m": 64}, "M = 128; got M = 64"),
    ("sm_100a", TCGEN05.replace("::1", "::2"), {"attention": "1x1x3x3x64"}, f"use {TCGEN05}"),
    ("sm_100a", TCGEN05.replace("mma", "mma.ws"), {"attention": "1x1x3x3x64"}, f"use {TCGEN05}"),
    ("sm_100a", TCGEN05, {"attention": "1x1x3x3x64", "stages": 3}, "leave out stages"),
    ("sm_75", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", {"attention": "1x1x3x3x64"}, "sm_80 and later have"),
    ("sm_80", f"{MMA}.f16.f16.f32", {"attention": "1x1x3x3x72"}, "a multiple of 16 up to 256, such as 64; got 72"),
    ("sm_80", f"{MMA}.f16.f16.f32", {"attention": "1x1x3x3x240"}, "has heads of up to 224"),
    ("sm_80", f"{MMA}.f16.f16.f32", {"attention": "1x1x3x3x128", "tile": "64x80"}, "up to 64 with heads of 128"),
    ("sm_80", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", {"attention": "1x1x3x3x64x48"}, "a multiple of 32"),
    ("sm_80", f"{MMA}.f16.f16.f32", {"attention": "1x1x3x3x64", "tile": "128x64"}, "has 64 queries and a multiple"),
    ("sm_80", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", {"attention": "1x1x3x3x64"}, "not mma.sp"),
])  # fmt: skip
def test_an_attention_that_cannot_be_is_refused(target, name, given, says):
    with pytest.raises(Error, match=re.escape(says)):
        mmacalc.generate(mmacalc.instruction(target, name), **given)


@pytest.mark.parametrize(("target", "head", "name", "n"), [
    ("sm_80", 128, f"{MMA}.bf16.bf16.f32", 8), ("sm_90a", 128, f"{WGMMA}n128k16.f32.bf16.bf16", 128),
    ("sm_90a", 256, f"{WGMMA}n80k16.f32.bf16.bf16", 80), ("sm_100a", 128, TCGEN05, 128), ("sm_103a", 256, TCGEN05, 96),
    ("sm_120a", 64, f"{MMA}.bf16.bf16.f32", 8), ("gfx942", 64, "v_mfma_f32_32x32x8_bf16", 32),
    ("gfx950", 128, "v_mfma_f32_32x32x16_bf16", 32), ("gfx1100", 128, "v_wmma_f32_16x16x16_bf16", 16),
    ("gfx1250", 64, "v_wmma_f32_16x16x32_bf16", 16), ("gfx90a", 96, "v_mfma_f32_32x32x8bf16_1k", 32),
])  # fmt: skip
def test_the_instruction_of_an_attention_is_chosen_by_target_and_head(target, head, name, n):
    found, _ = attention_instruction(target, (1, 1, 64, 64, head), "bf16")
    assert (found.name, found.n) == (name, n)
    assert name in mmacalc.generate(found, attention=(1, 1, 64, 64, head))


@pytest.mark.parametrize(("target", "name", "head"), [
    ("sm_89", f"{FP8}.f32.e4m3.e4m3.f32", 128), ("sm_90a", f"{WGMMA}n128k32.f32.e4m3.e4m3", 128),
    ("sm_100a", TCGEN05_FP8, 128), ("sm_120a", f"{FP8}.f32.e4m3.e4m3.f32", 128),
    ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", 96), ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", 128),
    ("gfx950", "v_mfma_f32_32x32x16_fp8_fp8", 96), ("gfx1201", "v_wmma_f32_16x16x16_fp8_fp8", 96),
    ("gfx1250", "v_wmma_f32_16x16x64_fp8_fp8", 128),
])  # fmt: skip
def test_attention_of_fp8_is_generated_around_the_targets_own_instruction(target, name, head):
    found, formats = attention_instruction(target, (1, 1, 64, 64, head), "fp8")
    assert (found.name, formats) == (name, {})


@pytest.mark.parametrize(("target", "name", "formats"), [
    ("gfx942", "v_mfma_f32_32x32x16_bf8_bf8", {}), ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", {"cbsz": 1, "blgp": 1}),
    ("gfx1250", "v_wmma_f32_16x16x64_bf8_bf8", {}),
])  # fmt: skip
def test_attention_of_bf8_is_generated_for_amd(target, name, formats):
    assert attention_instruction(target, (1, 1, 64, 64, 128), "bf8") == (mmacalc.instruction(target, name), formats)
    with pytest.raises(Error, match="is generated for f16, bf16, fp8; got 'bf8'"):
        attention_instruction("H100", (1, 1, 64, 64, 128), "bf8")


@pytest.mark.parametrize(("target", "says"), [
    ("sm_75", "around no instruction of sm_75"), ("xe2", "Xe2 has neither"), ("gfx950", "80 is generated around no"),
])  # fmt: skip
def test_attention_for_which_there_is_no_instruction_is_refused(target, says):
    with pytest.raises(Error, match=says):
        attention_instruction(target, "1x1x64x64x80")


def test_the_check_of_attention_finds_both_products():
    inst = mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16")
    checked = check(mmacalc.generate(inst, attention="1x1x64x64x64"), inst, 64, single=False)
    assert checked.wanted
    assert len(checked.matrix_instructions) == 2 * 8 + 8 * 2  # S: 2 x 8 of 32 keys and 8 elements; O: 8 x 2


@pytest.mark.parametrize(("target", "element", "head", "causal"), [
    ("gfx950", "fp8", 64, True), ("gfx1250", "f16", 32, False), ("gfx1250", "fp8", 64, True),
])  # fmt: skip
def test_attention_waits_where_clang_leaves_wait_states_out(target, element, head, causal):
    inst, formats = attention_instruction(target, (1, 1, 64, 64, head), element)
    source = mmacalc.generate(inst, attention=(1, 1, 64, 64, head), causal=causal, **formats)
    checked = check(source, inst, inst.architecture.wave(None), single=False)
    assert checked.wanted
    assert checked.scratch == 0
