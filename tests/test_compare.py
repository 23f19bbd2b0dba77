"""Two instructions side by side: every pair of kinds is compared, and what is said of waits is what waits says."""

import json

import pytest

import mmacalc
from mmacalc.catalog import entry
from mmacalc.cli import answer
from mmacalc.hazards.followers import followers

AMD = [name for name in mmacalc.architectures() if entry(name).architecture.vendor == "amd"]
MATRICES_ALONE = ("gfx1170", "gfx1251")  # of whose other instructions no table was made
KINDS = [
    ("MI300X", "v_mfma_f32_32x32x8_f16"), ("gfx1250", "v_wmma_scale_f32_16x16x128_f8f6f4"),
    ("MI300X", "v_smfmac_f32_16x16x32_bf16"), ("A100", "mma.m16n8k16.f32.f16.f16.f32"), ("A100", "ldmatrix.x4.trans"),
    ("H100", "wgmma.m64n128k16.f32.f16.f16"), ("B200", "tcgen05.mma.cta_group::1.kind::f16"),
    ("xe2", "dpas.8x8.f.f.bf.bf"), ("m4", "simdgroup_multiply_accumulate.8x8x8.f32.f16.f16.f32"),
    ("amx-spr", "tdpbf16ps"),
]  # fmt: skip


@pytest.mark.parametrize("arch", AMD)
def test_what_must_wait_for_an_instruction_is_assembled(arch):
    products = [inst for inst in entry(arch).instructions() if inst.flops]
    for inst in products:
        for one in followers(inst):
            assert (one.states > 0) == bool(one.rule), (inst.name, one)
            if arch not in MATRICES_ALONE or one.line.startswith(inst.name):
                assert mmacalc.assemble(one.line, arch)
    assert products


@pytest.mark.parametrize("kind", KINDS, ids=[name for _, name in KINDS])
def test_instructions_of_all_kinds_are_compared(kind):
    for other in KINDS:
        words = ["compare", *kind, *other]
        shown = answer(words)
        assert (shown.status, shown.err) == (0, ""), (words, shown.err)
        assert "layouts" in shown.out
        assert "builtins" in shown.out


def test_waits_rounding_and_builtins_are_in_the_answer():
    found = json.loads(answer(["compare", *KINDS[0], *KINDS[3], "--json"]).out)
    mfma, mma = found["instructions"]
    first = "v_mfma_f32_32x32x8_f16 v[0:15], v[64:65], v[96:97], v[0:15]"
    assert [one["states"] for one in mfma["waits"]] == [
        mmacalc.wait_states(first, one["line"], "gfx942").states for one in mfma["waits"]
    ]
    assert "interlocks in hardware" in mma["no_waits"]
    assert [one["llvm_intrinsic"] for one in mma["builtins"]] == ["llvm.nvvm.mma.m16n8k16.row.col.f32.f32"]
    rounding = {one["what"]: (one["source"], one["target"]) for one in found["numerics"]}["rounding to D"]
    assert rounding == ("nearest even", "toward zero")
    assert found["difference"]["source"] != found["difference"]["target"]
    wgmma = answer(["compare", *KINDS[5], *KINDS[5]]).out
    assert "behind wgmma.commit_group and wgmma.wait_group" in wgmma


def test_where_one_has_no_dense_instruction_the_nearest_is_compared():
    reply = answer(["compare", "MI300X", "MI355X", "16x16x32", "bf16"])
    assert "CDNA3 has no dense instruction for 16x16x32 bf16; the nearest is compared, 2 for 1" in reply.err
    assert "v_mfma_f32_16x16x16_bf16" in reply.out
    assert "smfmac" not in reply.out
    refused = answer(["compare", "MI300X", "MI355X", "16x16x999", "bf16"])
    assert (refused.status, "has no instruction for" in refused.err) == (2, True)
