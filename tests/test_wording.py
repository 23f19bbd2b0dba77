"""How answers are worded: the singular, numbers, registers and halves."""

import re

import numpy as np
import pytest

import mmacalc
from mmacalc.base.errors import plural
from mmacalc.cli import answer
from mmacalc.questions.run import diagnosis_text as text

ONE_OF_MANY = re.compile(
    r"(?<![\d.,:\[/-])\b1 (?!(?:is|has|was|this|pass|class|less|across|as)\b)[a-z]+s\b(?! [a-z]+ of\b)"
)

SPOKEN = [
    ["disassemble", "-a", "gfx942", "00"],
    ["explain", "-a", "sm_100a", "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%r2];"],
    ["explain", "-a", "sm_100a", "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r1], {%r2};"],
    ["gemm", "-a", "gfx942", "--gemm", "16x16x16", "--type", "f16", "--random", "1"],
    ["waits", "-a", "gfx1250", "v_exp_f32 v0, v1", "v_wmma_f32_16x16x32_f16 v[8:15], v[0:7], v[16:23], v[8:15]"],
]


@pytest.mark.parametrize("command", SPOKEN, ids=lambda command: command[0])
def test_one_thing_is_in_the_singular(command):
    reply = answer(command)
    assert reply.out + reply.err
    assert not ONE_OF_MANY.search(reply.out + reply.err)


def test_a_kernel_of_one_workgroup_is_reported_in_the_singular():
    report = mmacalc.launch(lambda wave: None, 1, 64, arch="gfx942")
    assert str(report).startswith("1 workgroup, 1 wave on CDNA3")
    assert [plural(number, "wave") for number in (0, 1, 2)] == ["0 waves", "1 wave", "2 waves"]


def test_differences_with_nan_have_no_largest():
    inst = mmacalc.instruction("gfx942", "v_mfma_f64_4x4x4_4b_f64")  # small, for all its mistakes are tried
    one, zero = np.ones((4, 4, 4)), np.zeros((4, 4, 4))
    wrong = np.array(inst.multiply(one, one, zero))
    wrong[1, 2, 3] = np.nan
    shown = text(mmacalc.diagnose(inst, one, one, zero, d=wrong), inst)
    assert "Comparison: 1 of 64 elements differ, NaN among them." in shown
    assert "at most NaN" not in shown


@pytest.mark.parametrize(
    ("arch", "line", "says"),
    [
        ("gfx950", "v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7]",
         "v0 = D[0][0] (low half), v1 = D[0][0] (high half), ..., v7 = D[12][0] (high half)"),
        ("gfx1250", "v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[8:23], v[24:39], v[40:47], s6, v50 "
         "matrix_a_scale:MATRIX_SCALE_ROW1", "  SA (scales of A): s6\n"),
        ("sm_120a", "QMMA.SF.16832.F32.E4M3.E4M3.E8 R4, R4, R8, R4, R12, R13, UR4", "  SA (scales of A): R12\n"),
        ("sm_90a", "HGMMA.64x8x16.F32 R24, gdesc[UR4], R24, gsb0", "gdesc[UR4] (UR4, UR5)"),
    ],
)  # fmt: skip
def test_registers_are_named_as_what_they_are(arch, line, says):
    shown = answer(["explain", "-a", arch, line]).out
    assert says in shown, shown
    assert not re.search(r"\b(U?R\d+) = U?R\d+", shown)


def test_large_rates_have_no_exponent_and_facts_have_names():
    assert not re.search(
        r"\de\+\d", answer(["estimate", "-a", "gfx950", "--gemm", "8192x8192x8192", "--type", "fp4"]).out
    )
    shown = answer(["architectures", "gfx1251"]).out
    assert "unconfirmed: cycles, VALU co-execution cycles" in shown
    assert "LLVM 22.1.8, LLVM 24.0.0git and LLVM on GitHub" in shown
