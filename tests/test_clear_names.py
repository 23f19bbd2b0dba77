"""Names that leave no doubt which instruction is meant: parts of a name, atoms, builtins, others' spellings."""

import re

import pytest

import mmacalc
from mmacalc import Error
from mmacalc.catalog import entry
from mmacalc.catalog.grammar.clear_names import candidates
from mmacalc.catalog.grammar.nvvm import functions
from mmacalc.cli import answer

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
MFMA = "v_mfma_f32_32x32x8_f16"


@pytest.mark.parametrize(
    ("arch", "given", "name"),
    [
        ("sm_80", "mma.m16n8k16.f32.f16.f16.f32", MMA),
        ("sm_80", "SM80_16x8x16_F32F16F16F32_TN", MMA),
        ("sm_80", "cute::SM80_16x8x16_F32F16F16F32_TN{}", MMA),
        ("sm_80", "ldmatrix.x4.trans", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"),
        ("sm_75", "SM75_U32x4_LDSM_N", "ldmatrix.sync.aligned.m8n8.x4.shared.b16"),
        ("sm_75", "SM75_U16x8_LDSM_T", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"),
        ("sm_90", "SM90_U32x4_STSM_N", "stmatrix.sync.aligned.m8n8.x4.shared.b16"),
        ("sm_80", "SM80_16x8x256_S32U1U1S32_TN_XORPOPC",
         "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc"),
        ("sm_80", "SM80_8x8x4_F64F64F64F64_TN", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"),
        ("sm_90a", "SM90::GMMA::MMA_64x128x16_F32F16F16_SS",
         "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"),
        ("sm_120a", "SM120_16x8x32_TN<float_e4m3_t, float_e2m1_t, float>",
         "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e2m1.f32"),
        ("sm_120a", "cute::SM120::BLOCKSCALED::SM120_16x8x64_TN_VS<cutlass::float_e2m1_t, float_e2m1_t, float, "
         "cutlass::float_ue4m3_t, 16>",
         "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"),
        ("sm_120a", "SM120_16x8x32_TN_VS<float_e2m3_t, float_e4m3_t, float, float_ue8m0_t, 32>",
         "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e2m3.e4m3.f32.ue8m0"),
        ("B200", "SM100_MMA_F16BF16_2x1SM_SS<half_t, half_t, float, 256, 128, UMMA::Major::K, UMMA::Major::K>",
         "tcgen05.mma.cta_group::2.kind::f16"),
        ("B200", "SM100_MMA_S8_TS", "tcgen05.mma.cta_group::1.kind::i8"),
        ("B200", "SM100_MMA_MXF4_SS<float_e2m1_t, float_e2m1_t, float, float_ue8m0_t, 128, 128, 32>",
         "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block32"),
        ("PVC", "XE_8x16x16_F32BF16BF16F32_TT", "dpas.8x8.f.f.bf.bf"),
        ("B580", "XE_DPAS_TT<4, float, half_t>", "dpas.8x4.f.f.hf.hf"),
        ("B580", "XE_4x16x32_S32U8U8S32_TT{}", "dpas.8x4.d.d.u8.u8"),
        ("gfx942", "mfma_f32_32x32x8_f16", MFMA),
        ("gfx942", "__builtin_amdgcn_mfma_f32_32x32x8f16", MFMA),
        ("gfx942", "llvm.amdgcn.mfma.f32.32x32x8f16", MFMA),
        ("gfx942", "MfmaInstr::mfma_f32_32x32x8f16", MFMA),
        ("gfx942", "WarpGemmMfmaF16F16F32M32N32K8TransposedCDistribution", MFMA),
        ("gfx1200", "wmma_f32_16x16x16_f16_w32_gfx12", "v_wmma_f32_16x16x16_f16"),
        ("gfx942", "fx.rocdl.MFMA(32, 32, 8, fx.Float16)", MFMA),
        ("gfx942", "!fly_rocdl.atom.cdna3.mfma<32x32x8, (f16, f16) -> f32>", MFMA),
    ],
)  # fmt: skip
def test_a_name_that_leaves_no_doubt_is_taken_and_the_full_one_is_printed(arch, given, name):
    assert mmacalc.instruction(arch, given).name == name
    if not name.startswith(("ldmatrix", "stmatrix", "tcgen05")):
        reply = answer(["-a", arch, "-i", given, "-D", "--pattern"])
        assert reply.status == 0, reply.err
        assert f"instruction: {name}".lower() in reply.out.lower()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("SM80_16x8x16_F32F16F16F32_TN", "A: 16x16 f16, 4 registers a thread"),
        ("mma.m16n8k16.f32.f16.f16.f32", f"Instruction: {MMA}"),
        ("WarpGemmMfmaF16F16F32M32N32K8", "D: 32x32 f32, 16 registers a thread"),
        ("fx.rocdl.MFMA(16, 16, 16, fx.BFloat16)", "Instruction: V_MFMA_F32_16X16X16BF16_1K"),
        ("MI16x16x4x1", "Instruction: V_MFMA_F32_16X16X4F32"),
        ("SM75_U32x4_LDSM_N", "moves 4 matrices of 8x8, b16"),
        ("SM100_MMA_F16BF16_SS", "tcgen05.mma.cta_group::1.kind::f16"),
        ("fx.make_layout((4, 4, 2), (1, 8, 4))", "CuTe: (4,4,2):(1,8,4)"),
    ],
)
def test_a_name_alone_is_explained_as_one_instruction_wherever_it_is_from(given, says):
    reply = answer(["explain", given])
    assert reply.status == 0, reply.err
    assert says in reply.out


def test_a_name_that_may_be_several_and_one_that_is_none_are_refused_by_explain():
    assert "may be 2 instructions of cdna1" in answer(["explain", "MI32x32x8x1"]).err
    assert "there is no matrix instruction" in answer(["explain", "hello"]).err


def test_every_name_of_amd_is_found_without_its_underscores_and_its_beginning():
    for arch in ("cdna1", "cdna2", "cdna3", "cdna4", "cdna5", "rdna3", "rdna4"):
        names = entry(arch).names
        squashed = [re.sub("_", "", name.removeprefix("v_")) for name in names]
        for name, bare in zip(names, squashed):
            if squashed.count(bare) == 1:
                assert mmacalc.instruction(arch, bare).name == name
                assert mmacalc.instruction(arch, f"__builtin_amdgcn_{name.removeprefix('v_')}_w32").name == name


def test_every_dense_mma_is_found_by_its_shape_and_types_or_by_candidates_that_have_it():
    for inst in mmacalc.instructions("sm_80"):
        if not inst.name.startswith("mma.sync"):
            continue
        parts = inst.name.split(".")
        short = ".".join([parts[0], *parts[3:4], *parts[6:]])
        found = candidates(entry("sm_80"), short)
        assert inst.name in found
        # f16 m8n8k4 takes A and B in each order, and satfinite is a choice of its own.
        assert len(found) == 1 or parts[3] == "m8n8k4" or "satfinite" in parts, (short, found)


def test_what_may_be_several_is_refused_with_the_candidates():
    with pytest.raises(Error, match=r"'mma\.f32\.f16\.f16\.f32' may be \d+ instructions of sm_80: .* Did you mean"):
        mmacalc.instruction("sm_80", "mma.f32.f16.f16.f32")
    with pytest.raises(Error, match="'MI32x32x8x1' may be 2 instructions of cdna3"):
        mmacalc.instruction("gfx942", "MI32x32x8x1")


@pytest.mark.parametrize(
    "given", ["mma.m16n8k17.f32", "SM80_16x8x17_F32F16F16F32_TN", "v_mfma_f32_1x1x1_f16", "", "x" * 500]
)
def test_what_means_nothing_keeps_its_message(given):
    with pytest.raises(Error, match=r"has no|no instruction"):
        mmacalc.instruction("gfx942" if given.startswith("v_") else "sm_80", given)


def test_a_program_has_full_names():
    with pytest.raises(Error):
        entry("sm_80").instruction("mma.m16n8k16.f32.f16.f16.f32")


@pytest.mark.parametrize(
    ("arch", "given", "name"),
    [
        ("sm_80", "llvm.nvvm.mma.m16n8k16.row.col.bf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
        ("sm_80", "@llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3(ptr addrspace(3) %p)",
         "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"),
        ("sm_100a", "llvm.nvvm.tcgen05.shift.down.cg1", "tcgen05.shift.cta_group::1.down"),
    ],
)  # fmt: skip
def test_an_intrinsic_of_nvidia_is_the_instruction_that_it_becomes(arch, given, name):
    assert entry(arch).meant(given).name == name


def test_every_intrinsic_of_a_target_is_taken_or_refused_with_the_instructions_that_its_arguments_choose_from():
    known = entry("sm_80")
    becoming = {}
    for name in known.names:
        for _, intrinsic in functions(name):
            becoming.setdefault(intrinsic, []).append(name)
    assert len(becoming) > 300
    for intrinsic, names in list(becoming.items())[::7]:
        assert candidates(known, intrinsic) == names


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("llvm.nvvm.wgmma.mma_async", "LLVM 22 has no intrinsic for wgmma, which is inline assembly there"),
        ("llvm.nvvm.mma.m16n8k16.row.col.bf17", "Did you mean llvm.nvvm.mma.m16n8k16.row.col.bf16"),
        ("llvm.nvvm.mma.m16n8k16.row.col", "`mmacalc find -a sm_90a llvm.nvvm.mma.m16n8k16.row.col` lists those"),
        ("__dmma_m8n8k4_mma_f64", "may be 4 instructions of sm_90a"),
    ],
)
def test_an_intrinsic_that_becomes_no_instruction_or_several_is_refused_in_words(given, words):
    with pytest.raises(Error, match=re.escape(words)):
        mmacalc.instruction("sm_90a", given)


@pytest.mark.parametrize(
    ("arch", "given", "meant"),
    [
        ("sm_80", "mma.m16n8k16.f32.f16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        ("sm_90a", "mma.m8n8k4.f64", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"),
        ("sm_80", "ldmatrix.x4", "ldmatrix.sync.aligned.m8n8.x4.shared.b16"),
    ],
)
def test_what_a_qualifier_says_a_name_without_it_does_not_mean(arch, given, meant):
    """sp, a rounding and trans are written where they are meant; types may be left out where they leave one."""
    assert mmacalc.instruction(arch, given).name == meant
