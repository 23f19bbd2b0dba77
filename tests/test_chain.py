"""Chains: which result feeds which operand, against recorded classes, known kernels, and NumPy."""

import ast
import itertools
import re
from collections import Counter
from functools import cache

import pytest

import mmacalc
from llvm_mc import assembled
from mmacalc.catalog import entry
from mmacalc.chaining.conversions import AMD, of_target
from mmacalc.chaining.matching import KINDS, item_sources, match
from mmacalc.chaining.shuffles import MIRRORS
from mmacalc.chaining.tiles import USES, tiles
from recorded import table
from samples import sampled

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"


def instruction(arch, name):
    """The instruction of a golden row, and the modifiers that its [format] stands for."""
    stem, _, format_name = name.rstrip("]").partition("[")
    inst = mmacalc.instruction(arch, stem)
    chosen = {"e4m3": "fp8"}.get(format_name, format_name)
    return inst, {field: chosen for field, operand in inst.choices.items() if operand in "AB"} if format_name else {}


# --- the recorded classes ---

# The record is older than the SWMMAC layouts of gfx1250 as they are on silicon (docs/isa-errata.md): B of these holds
# runs of 16 and 32 k, not 8 and 16, so the k of D must be relabelled otherwise; what was identical no longer is.
RELAID = re.compile(r"v_swmmac_.*_16x16x(64|128)_")


def relaid(row):
    return row["arch"] == "gfx1250" and RELAID.match(row["Y"])


@cache
def chained(arch, x, y, use, wave, keep_k=False):
    """The chain that a row of the record asks for, once for all that it says of it."""
    (x, _), (y, modifiers) = instruction(arch, x), instruction(arch, y)
    return y, mmacalc.chain(x, y, use, keep_k=keep_k, wave=int(wave), **modifiers)


def asked(row):
    return row["arch"], row["X"], row["Y"], row["use"], row["wave"]


def test_every_recorded_class_tile_and_relabelling_comes_out():
    rows = [row for row in table("chain/chain_golden.tsv.gz") if not relaid(row)]
    assert len(rows) == 272
    needing_other_registers = []
    for row in rows:
        y, found = chained(*asked(row))
        assert (found.kind, found.f, found.k) == (row["class"], int(row["F"]), int(row["K"])), row
        if row["pi"]:
            recorded = [*map(int, row["pi"].split())]
            if item_sources(found.tiles, [*range(found.f)], recorded) is None:
                needing_other_registers.append(y)  # in other lanes, so that it would not be free
            else:
                assert found.relabel == tuple(recorded), row
    assert Counter(y.format("A").name for y in needing_other_registers) == {"b1": 8}


def test_every_recorded_exchange_under_fixed_k_comes_out():
    rows = [row for row in table("chain/chain_golden.tsv.gz") if row["fixedk_mixed"] and not relaid(row)]
    assert len(rows) == 246
    for row in rows:
        _, found = chained(*asked(row), keep_k=True)
        assert set(found.exchanges) == set(ast.literal_eval(row["fixedk_mixed"])), row
        assert set(found.lane_permutation) == set(ast.literal_eval(row["fixedk_lane_perm"])), row


def test_a_relabelling_never_costs_more_exchanges_than_recorded():
    for row in table("chain/chain_golden.tsv.gz"):
        if not row["mixed"] or relaid(row):
            continue
        _, found = chained(*asked(row))
        if found.relabel is not None:
            assert len(found.exchanges) == len(ast.literal_eval(row["mixed"])), row
            assert len(found.lane_permutation) == len(ast.literal_eval(row["lane_perm"])), row


def different_pairs(arch, wave):
    """Every pair of different layouts on one block, with how many pairs of instructions have them."""
    groups = {}
    for inst in mmacalc.instructions(arch):
        if inst.blocks > 1 or "D" not in inst.register_operands or not {"A", "B"} <= {*inst.operands}:
            continue
        if "wmma" in inst.features and inst.architecture.vendor == "nvidia":
            continue  # refused
        if "wgmma" in inst.features and inst.n not in (8, 24, 64):
            continue  # any three N give the same count
        fields = [field for field, operand in inst.choices.items() if operand in "AB"]
        for value in (0, 2, 4) if fields else (0,):
            modifiers = dict.fromkeys(fields, value)
            held = [inst.operand(name, wave, **modifiers) for name in "ABD" if name in inst.register_operands]
            key = tuple((each.name, each.layout, each.placement.slot_bits) for each in held)
            sort = "integer" if not inst.format("D").is_float else inst.format("D").bits == 64
            group = groups.setdefault((key, inst.sparse, sort, "wgmma" in inst.features), [])
            group.append((inst, modifiers))
    for one, other in itertools.product(groups, groups):
        plain = [inst for inst, modifiers in groups[one] if not any(modifiers.values())]
        if plain and one[2:] == other[2:]:
            yield plain[0], *groups[other][0], len(plain) * len(groups[other])


def counted(arch, wave):
    """How many different questions have each kind of answer; and how many of all instructions."""
    different, every = Counter(), Counter()
    for x, y, modifiers, pairs in different_pairs(arch, wave):
        for use in USES.values():
            if use.operand in y.register_operands and not (use.operand == "A" and y.sparse):
                found = match(tiles(x, y, use, wave, modifiers), keep_k=False)
                kind = mmacalc.chain(x, y, use.name, wave=wave, **modifiers).kind if found else "lane-moves"
                different[kind] += 1
                every[kind] += pairs
    return different, every


COUNTS = [(row["arch"], int(row["wave"])) for row in table("chain/chain_counts.tsv.gz")]


@sampled("case", COUNTS, 6)
def test_all_classes_of_all_pairs_are_as_many_as_recorded(case):
    (row,) = [row for row in table("chain/chain_counts.tsv.gz") if (row["arch"], int(row["wave"])) == case]
    different, every = counted(*case)
    if (
        case[0] == "gfx1250"
    ):  # 24 questions into SWMMAC were identical before they lay as on silicon, and are relabelled
        different += Counter({"identical": 24, "k-relabel": -24})
        every += Counter({"identical": 205, "k-relabel": -205})
    assert {kind: different[kind] for kind in KINDS} == {kind: int(row[kind]) for kind in KINDS}
    assert {kind: every[kind] for kind in KINDS} == {kind: int(row[f"all_{kind}"]) for kind in KINDS}


@pytest.mark.exhaustive
def test_as_many_relabellings_into_sparse_operands_mix_their_groups_as_recorded():
    """179 of 381; 24 of gfx1250's were identical before SWMMAC lay as on silicon, and keep their groups."""
    mixing = Counter()
    for arch, wave in COUNTS:
        for x, y, modifiers, _ in different_pairs(arch, wave):
            for use in ("B", "Bt") if y.sparse and "B" in y.register_operands else ():
                found = mmacalc.chain(x, y, use, wave=wave, **modifiers)
                if found.kind == "k-relabel":
                    mixing["sparse groups" in [condition.name for condition in found.conditions]] += 1
    assert mixing == {True: 179, False: 381 + 24 - 179}


def test_on_amd_b_and_at_are_free_exactly_if_as_many_columns_lie_in_lanes():
    for arch, wave in (("gfx90a", 64), ("gfx942", 64), ("gfx1200", 32)):
        for x, y, modifiers, _ in different_pairs(arch, wave):
            for use in USES.values():
                if use.operand == "A" and y.sparse:
                    continue
                target = y.operand(use.operand, wave, **modifiers)
                held = len({lane for lane, _ in x.operand("D", wave).steps("j")})
                wanted = len({lane for lane, _ in target.steps(use.axis)})
                free = match(tiles(x, y, use, wave, modifiers), keep_k=False) is not None
                assert free == (use.name in ("B", "At") and held == wanted), (x, y, use)


def test_on_nvidia_a_and_bt_are_always_free_and_at_and_b_never():
    for x, y, modifiers, _ in different_pairs("sm_80", 32):
        for use in USES.values():
            if use.operand == "B" or not y.sparse:
                free = match(tiles(x, y, use, 32, modifiers), keep_k=False) is not None
                assert free == (use.name in ("A", "Bt")), (x, y, use)


def test_a_relabelling_sends_items_alike_in_all_lanes():
    """To keep as many k in place as possible does not: of 4-bit operands, other lanes would need other registers."""
    x = mmacalc.instruction("gfx950", "v_mfma_f32_16x16x16_f16")
    y = mmacalc.instruction("gfx950", "v_mfma_f32_16x16x128_f8f6f4")
    found = mmacalc.chain(x, y, "B", cbsz="fp4", blgp="fp4")
    places = {}
    for k, lands in enumerate(found.relabel):
        lane, item = found.tiles.target_k[lands]
        assert found.tiles.source_k[k][0] == lane
        assert places.setdefault(item, found.tiles.source_k[k][1]) == found.tiles.source_k[k][1]


# --- known kernels ---


def test_flash_attention_2_takes_the_accumulators_as_a_by_a_reshape():
    # Dao-AILab/flash-attention 0251105a, csrc/flash_attn/src/utils.h:200, convert_layout_acc_Aregs: for m16n8k16 the
    # registers of two neighbouring tiles of N, one after another
    x = mmacalc.instruction("sm_80", MMA)
    found = mmacalc.chain(x, x, "A")
    assert (found.kind, found.x_count, found.y_count) == ("identical", 2, 1)
    assert [filled.sources for filled in found.registers] == [
        ((tile, 2 * half, 0), (tile, 2 * half + 1, 0)) for tile in (0, 1) for half in (0, 1)
    ]


def test_flash_attention_3_permutes_v_or_shuffles_its_fp8_accumulators():
    # Dao-AILab/flash-attention, hopper/utils.h:454 permute_Aregs_fp8 (for two registers two shuffles, two selects and
    # two byte permutes), and mainloop_fwd_sm90_tma_gmma_ws.hpp:198, which permutes the columns of V instead
    x = mmacalc.instruction("sm_90a", "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3")
    free = mmacalc.chain(x, x, "A")
    assert free.kind == "k-relabel"
    assert free.relabel[:16] == (0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15)
    assert {follower.where for follower in free.followers} == {"source", "partner"}
    fixed = mmacalc.chain(x, x, "A", keep_k=True)
    registers = fixed.y_count * x.operand("A").registers
    assert dict(fixed.ways[0].instructions) == {"shfl.sync.idx.b32": registers, "prmt.b32": 2 * registers}


@pytest.mark.parametrize("name", ["v_mfma_f32_16x16x16_f16", "v_mfma_f32_32x32x8_f16"])
@pytest.mark.parametrize("use", ["B", "At"])
def test_triton_takes_an_mfma_result_as_dot_operand_without_lds(name, use):
    # triton-lang/triton, lib/Analysis/Utility.cpp isMfmaToDotShortcut, test/Conversion/amd/mfma-shortcut.mlir: k width
    # 4, the result transposed
    x = mmacalc.instruction("gfx942", name)
    assert mmacalc.chain(x, x, use).kind == "identical"


@pytest.mark.parametrize(
    ("name", "permuted"),
    [("v_mfma_f32_32x32x16_fp8_fp8", ()), ("v_mfma_f32_16x16x32_fp8_fp8", ((4, 5), (5, 4)))],
)
def test_triton_shuffles_fp8_results_of_gfx942_between_lanes_32_apart(name, permuted):
    # triton-lang/triton, lib/Analysis/Utility.cpp matchMFMAAndDotOperandShuffleCase
    x = mmacalc.instruction("gfx942", name)
    for use in ("B", "At"):
        found = mmacalc.chain(x, x, use, keep_k=True)
        assert (found.exchanges, found.lane_permutation) == (((2, 5),), permuted)


def test_triton_swaps_the_halves_of_the_wave_on_gfx950():
    # triton-lang/triton, pull requests 6744 and 7825; its assembly for eight packed registers has
    # v_permlane32_swap_b32 on v0, v2; v1, v3; v4, v6; v5, v7
    x = mmacalc.instruction("gfx950", "v_mfma_f32_32x32x16_f16")
    found = mmacalc.chain(x, x, "B", keep_k=True)
    assert found.ways[0].instructions == (("v_permlane32_swap_b32", 4),)
    ((item, lane),) = found.exchanges
    distance = 1 << (item - 1)  # two items in a register
    assert lane == 5
    assert [(low, low + distance) for low in range(8) if not low & distance] == [(0, 2), (1, 3), (4, 6), (5, 7)]


def test_triton_swaps_twice_for_16x16_on_gfx950():
    # triton-lang/triton, pull requests 7825 and 7861: "3-cycle (r2 l5 l4), two sequential swaps"
    x = mmacalc.instruction("gfx950", "v_mfma_f32_16x16x32_f16")
    found = mmacalc.chain(x, x, "B", keep_k=True)
    assert (found.exchanges, found.lane_permutation) == (((2, 5),), ((4, 5), (5, 4)))
    half = x.operand("B").registers // 2
    swaps = {"v_permlane32_swap_b32": half, "v_permlane16_swap_b32": half}
    assert swaps in [dict(way.instructions) for way in found.ways]


def test_composable_kernel_exchanges_row_bits_2_and_3_of_the_source():
    # ROCm/composable_kernel 8e22e1ae, include/ck_tile/ops/gemm/warp/warp_gemm_attribute_mfma.hpp:360, SwizzleB; the
    # same in gcnasm's matrix_core_gfx950, swap_swb
    for arch, name in (("gfx942", "v_mfma_f32_32x32x16_fp8_fp8"), ("gfx950", "v_mfma_f32_32x32x16_f16")):
        found = mmacalc.chain(*[mmacalc.instruction(arch, name)] * 2, "B")
        expected = tuple(k & ~12 | (k & 4) << 1 | (k & 8) >> 1 for k in range(32))
        assert found.relabel == found.order == expected
        assert found.followers[0][:3] == ("source", name, "A")
        assert found.relabel_pattern == "(v1 v0 m h) -> (v1 m v0 h)"


@pytest.mark.parametrize(
    ("name", "way"),
    [("B", "movmatrix.sync.aligned.m8n8.trans.b16"), ("At", "movmatrix.sync.aligned.m8n8.trans.b16")],
)
def test_movmatrix_transposes_16_bit_results_one_register_at_a_time(name, way):
    x = mmacalc.instruction("sm_80", MMA)
    found = mmacalc.chain(x, x, name)
    assert found.ways[0].instructions == ((way, len(found.registers)),)
    assert found.relabel is None


def test_rdna3_gathers_its_copies():
    x = mmacalc.instruction("gfx1100", "v_wmma_f32_16x16x16_f16")
    found = mmacalc.chain(x, x, "B", wave=32)
    assert found.gathered == (4,)
    assert dict(found.ways[0].instructions) == {"v_permlanex16_b32": 4, "v_perm_b32": 8}


# --- targets ---


def test_two_dpp_controls_reach_every_lane_of_a_row_by_exclusive_or():
    controls = {0, 1, 2, 3, *MIRRORS}  # quad_perm; row_half_mirror, row_ror:8, row_mirror
    row = range(16)
    assert [[lane ^ mask for lane in row] for mask in MIRRORS] == [
        [*reversed(range(8)), *reversed(range(8, 16))], [(lane + 8) % 16 for lane in row], [*reversed(row)],
    ]  # fmt: skip
    assert {one ^ other for one in controls for other in controls} == set(row)


def test_the_lane_instructions_of_every_amd_target_are_those_that_llvm_assembles():
    operands = {
        "v_mov_b32_dpp": "v0, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
        "v_mov_b32_dpp row_xmask": "v0, v1 row_xmask:4 row_mask:0xf bank_mask:0xf",
        "v_permlane16_b32": "v0, v1, s0, s1", "v_permlanex16_b32": "v0, v1, s0, s1", "v_permlane64_b32": "v0, v1",
        "v_permlane16_swap_b32": "v0, v1", "v_permlane32_swap_b32": "v0, v1", "ds_bpermute_b32": "v0, v1, v2",
        "ds_swizzle_b32": "v0, v1 offset:swizzle(SWAP,16)", "ds_write_b32": "v0, v1", "ds_store_b32": "v0, v1",
        "v_cmp_u_f32": "vcc, v0, v1", "v_bfe_u32": "v0, v1, 16, 1", "v_cvt_f16_f32": "v0, v1",
        "v_cvt_f32_f16": "v0, v1", "v_cvt_pk_fp8_f16": "v0, v1", "v_cvt_pk_bf8_f16": "v0, v1",
        "v_and_b32": "v0, v1, v2", "v_or_b32": "v0, v1, v2",
        "v_lshlrev_b32": "v0, v1, v2", "v_pack_b32_f16": "v0, v1, v2", "v_cndmask_b32": "v0, v1, v2, vcc",
        "v_cndmask_b32_dpp": "v0, v1, v2, vcc row_shl:4 row_mask:0xf bank_mask:0xf",
        "v_cvt_scalef32_2xpk16_fp6_f32": "v[0:5], v[6:21], v[22:37], v38",
        "v_cvt_scalef32_2xpk16_bf6_f32": "v[0:5], v[6:21], v[22:37], v38",
        "v_cvt_scalef32_pk8_fp4_f32": "v0, v[2:9], v10", "v_cvt_scalef32_pk_fp4_f32": "v0, v1, v2, v3",
        "v_cvt_scalef32_pk16_fp6_f32": "v[0:2], v[6:21], v22", "v_cvt_scalef32_pk16_bf6_f32": "v[0:2], v[6:21], v22",
    }  # fmt: skip
    pairs = ("v_cvt_pk_f16_f32", "v_cvt_pk_bf16_f32", "v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32")
    operands |= dict.fromkeys(pairs, "v0, v1, v2")
    operands |= dict.fromkeys(("v_perm_b32", "v_add3_u32", "v_and_or_b32", "v_lshl_or_b32"), "v0, v1, v2, v3")
    amd = [arch for arch in mmacalc.architectures() if mmacalc.architecture(arch).vendor == "amd"]
    assert {*AMD}.union(*(entry(arch).vector_instructions for arch in amd)) == {*operands}
    for arch in amd:
        has = of_target(mmacalc.architecture(arch))
        for target in mmacalc.architecture(arch).targets:
            if target in mmacalc.architecture(arch).since_llvm:
                continue  # the assembler here is LLVM 22's
            wide = 64 in mmacalc.architecture(arch).waves
            vcc = "vcc" if wide else "vcc_lo"
            lines = [f"{name.split(' ')[0]} {text.replace('vcc', vcc)}" for name, text in operands.items()]
            taken = {
                name: isinstance(result, tuple) and (name[:3] != "ds_" or name[:5] in result[0])
                for name, result in zip(operands, assembled(lines, target, 64 if wide else 32))
            }
            assert taken == {name: name in has for name in operands}, target


def test_the_recorded_table_of_cross_lane_instructions_agrees():
    for row in table("chain/crosslane_avail.tsv.gz"):
        for arch in ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1200", "gfx1250"):
            has = of_target(mmacalc.architecture(arch))
            name = row["instruction"]
            name = "v_mov_b32_dpp row_xmask" if "row_xmask" in name else name
            if name in {*AMD}.union(*(entry(a).vector_instructions for a in mmacalc.architectures())) - {
                "v_cndmask_b32_dpp"
            }:
                assert (row[arch] == "yes") == (name in has), row


def test_the_vector_instructions_of_every_nvidia_target_are_those_that_ptxas_takes():
    """The record is by tests/oracles/ptxas_vector_instructions.py."""
    rows = table("nvidia/vector_instructions.tsv.gz")
    for row in rows:
        name = row.pop("instruction")
        for target, taken in row.items():
            assert (name in of_target(mmacalc.architecture(target))) == (taken == "1"), (name, target)
    assert {row for arch in row for row in of_target(mmacalc.architecture(arch))} <= {
        each["instruction"] for each in table("nvidia/vector_instructions.tsv.gz")
    }


def test_rows_in_lds_cost_what_their_addresses_do():
    """gfx942, D of 32x32x8 to A: stores of 2 bytes counted here by bank, loads by `memory` with the same padding."""
    inst = mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16")
    (way,) = [way for way in mmacalc.chain(inst, inst, use="A").ways if way.name == "LDS"]
    rows = way.lds
    assert (rows.along, rows.row_bytes, rows.rows, rows.conflicts) == ("k", 64, 32, 0)
    stride, d = rows.row_bytes + rows.pad_bytes, inst.operand("D")
    assert way.bytes == 32 * stride
    stores = 0
    for register in range(16):
        for first in (0, 32):  # the lanes of a phase
            banks = {}
            for lane in range(first, first + 32):
                (element,) = d.contents(register=register, lane=lane)
                dword = (element.row * stride + element.col * 2) // 4
                banks.setdefault(dword % 32, set()).add(dword)
            stores += max(map(len, banks.values()))
    loads = 4 * mmacalc.memory(inst.operand("A"), ld=stride // 2).lds.cycles
    assert rows.cycles == stores + loads == 48


def test_without_padding_the_same_rows_would_conflict():
    """Rows of 64 bytes: half of the banks serve all lanes of a store down a column."""
    inst = mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16")
    (way,) = [way for way in mmacalc.chain(inst, inst, use="A").ways if way.name == "LDS"]
    assert way.lds.pad_bytes == 8
    assert mmacalc.memory(inst.operand("A"), ld=32).lds.conflicts > 0
    wmma = mmacalc.instruction("gfx1100", "v_wmma_f32_16x16x16_f16")
    assert {way.lds for way in mmacalc.chain(wmma, wmma, use="A").ways} == {None}  # lanes hold copies
