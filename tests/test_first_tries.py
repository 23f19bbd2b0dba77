"""What newcomers type first, and which words of the answer make it one: each failed once, or said too little."""

import numpy as np
import pytest

import mmacalc
from mmacalc.cli import answer
from mmacalc.cli.hints import is_architecture

BOTH = ["v_mfma_f32_32x32x8_f16"] * 2
NVVM = (
    "call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half> %a0, <2 x half> %a1, "
    "<2 x half> %a2, <2 x half> %a3, <2 x half> %b0, <2 x half> %b1, float %c0, float %c1, float %c2, float %c3)"
)
WRONG = "v_mfma_f32_32x32x8f16 v[1:16], v[21:22], v[22:25], v[3:18]"

TRIES = [
    (["chain", "MI300X", *BOTH], 0, ("in attention D is S' = K Q', Q and K exchanged", "in attention D is S = Q K'")),
    (["estimate", "H100", "--gemm", "4096x4096x4096", "--type", "int4"], 0,
     ("ptxas makes 2xIMMA.16832.S8.S8 of", "So int8 needs as many matrix instructions")),
    (["estimate", "RTX 5090", "--gemm", "4096x4096x4096", "--type", "int4"], 0, ("Emulated: sm_120a",)),
    (["estimate", "MI300X", "--gemm", "64x64x64", "--type", "int4"], 2, ("Weights of 4 bits are converted",)),
    (["estimate", "MI355X", "--gemm", "64x64x64", "--type", "fp8"], 0, ("A B D: 32-bit registers of a lane",)),
    (["numerics", "-a", "MI300X"], 0, ("fraction bits: how far below the largest exponent",)),
    (["explain", NVVM], 0, ("A: {%a0, %a1, %a2, %a3}",)),  # %a2 is no RTX A2
    (["explain", "-a", "gfx90a", WRONG], 0, ("note: D of", "note: A of", "note: B of", "note: C of")),
    (["memory", "H100", "wgmma.m64n128k16.f32.bf16.bf16", "-B"], 0, ("Byte of B[k][j]: x ^", "MN-major")),
    (["descriptor", "H100", "wgmma.m64n128k16.f32.bf16.bf16", "--stride", "1024"], 0, ("dimension byte offset",)),
    (["descriptor", "H100", "wgmma.m64n128k16.f32.bf16.bf16"], 0, ("--stride gives the bytes", "it is 1024")),
    (["draw", "MI300X", BOTH[0], "-D", "--width", "60"], 0, ("takes 110 characters in a line, not 60",)),
    (["-a", "RTX 6090", "-L"], 2, ("unknown architecture 'RTX 6090'. Did you mean",)),
    (["-a", "TPU v5", "-L"], 2, ("NVIDIA sm_100, sm_103", "coverage.html")),
]  # fmt: skip


@pytest.mark.parametrize(("words", "status", "parts"), TRIES, ids=[" ".join(words)[:60] for words, _, _ in TRIES])
def test_a_first_try_is_answered(words, status, parts):
    reply = answer(words)
    assert reply.status == status
    assert [part for part in parts if part not in reply.out + reply.err] == []


def test_a_line_of_a_listing_is_no_architecture():
    assert [is_architecture(word) for word in ("RTX A2", "rx 7900 xtx", NVVM, "v_accvgpr_read a2 v0")] == [
        True, True, False, False,
    ]  # fmt: skip


def test_ocp_codes_that_are_minus_zero_are_explained_to_the_bit():
    """FNUZ has no minus zero and reads its OCP code as NaN: known only from the inputs before they were rounded."""
    import ml_dtypes

    inst = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x32_fp8_fp8")
    rng = np.random.default_rng(1)
    ocp = [rng.standard_normal(shape).astype(ml_dtypes.float8_e4m3fn) for shape in ((16, 32), (32, 16))]
    ocp[0][3, 4] = -0.0
    read = [each.view(np.uint8).view(ml_dtypes.float8_e4m3fnuz).astype(np.float64) for each in ocp]
    found = mmacalc.diagnose(inst, *[each.astype(np.float32) for each in ocp], d=inst.multiply(*read))
    assert found.explanations[0].exact
    assert "which were read as FNUZ fp8" in found.explanations[0].name
