"""The emulator against outputs that AMD measured on a Radeon Pro W7900 (gfx1100) and an AI Pro R9700 (gfx1201)."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mmacalc
import recorded
from mmacalc.arithmetic.codecs import decode_powers, encode, on_grid
from mmacalc.arithmetic.models import MODELS, Numbers
from mmacalc.arithmetic.tables import TABLES
from mmacalc.asm.decoded import ConstantOperand
from mmacalc.asm.decoder import decode
from mmacalc.emulator.execution import execution_of
from mmacalc.emulator.registers import files, gather
from mmacalc.formats import FORMATS
from mmacalc.kernels.amd.matrix import fields_of


def words(text):
    return [int(word, 16) for word in text.split()]


def dots(name):
    """(format, cases) of a file of V_DOT2_F32 steps: the pairs of A and of B, C, D, a row each."""
    f16, bf16 = recorded.text(f"amd_numerics/{name}.txt.gz").removeprefix("f16\n").split("bf16\n")
    return [
        (form, np.array([words(line) for line in lines.splitlines()], np.uint32))
        for form, lines in (("f16", f16), ("bf16", bf16))
    ]


@pytest.mark.parametrize(("name", "table"), [("gfx1100_dot2", "rdna3"), ("gfx1201_dot2", "rdna4")])
def test_every_measured_dot_product_of_two_is_reproduced_to_the_bit_of_its_nan(name, table):
    for form, cases in dots(name):
        row = next(row for row in TABLES[table] if form in row.inputs and "f32" in row.outputs)
        a, b = ((np.stack([cases[:, i] & 0xFFFF, cases[:, i] >> 16])).astype(np.uint16) for i in (0, 1))
        operands = [Numbers(*decode_powers(codes, FORMATS[form])) for codes in (a, b)]
        c = Numbers(*decode_powers(cases[:, 2].copy(), FORMATS["f32"]))
        with np.errstate(all="ignore"):
            d = MODELS[row.model](*operands, c, FORMATS["f32"], **{**row.parameters, "group": 2})
        np.testing.assert_array_equal(on_grid(d, FORMATS["f32"], keep_nan=True), cases[:, 3])
        assert len(cases) in (50, 53, 71)


def captured(a, wave):
    """The registers of A or B as the capture filled them, all rows alike: each lane has consecutive k."""
    lane, register = np.arange(wave), np.arange(128 // wave)[:, None]
    k = lane // 16 * (256 // wave) + 2 * register
    return (a[k] | a[k + 1] << 16).astype(np.uint32)


WMMA = [line.split() for line in recorded.text("amd_numerics/gfx1201_wmma.txt.gz").splitlines()]


@pytest.mark.parametrize("wave", [32, 64])
def test_every_measured_wmma_of_gfx1201_is_reproduced_from_its_registers(wave):
    """In wave32 the capture gave lanes 0-15 its k 0-7, and lanes 16-31 its k 8-15; AMD's ISA calls what lies there
    k 0-3 and 8-11, 4-7 and 12-15. In the ISA's k the hardware takes four after four, in both wave sizes."""
    assert len(WMMA) == 24
    for form, c, d32, d64, *inputs in WMMA:
        inst = mmacalc.instruction("rdna4", f"v_wmma_f32_16x16x16_{form}")
        a, b = (np.array(words(text.replace(",", " ")), np.uint32) for text in inputs)
        files = captured(a, wave), captured(b, wave)
        d = inst.execute(*files, np.full((256 // wave, wave), int(c, 16), np.uint32), wave=wave)
        assert (d == int(d32 if wave == 32 else d64, 16)).all(), (form, c)


@pytest.mark.parametrize("form", ["f16", "bf16"])
@pytest.mark.parametrize("wave", [32, 64])
def test_small_whole_numbers_on_gfx1100_are_as_measured_and_not_as_in_arithmetic(form, wave):
    inst = mmacalc.instruction("rdna3", f"v_wmma_f32_16x16x16_{form}")
    n = np.arange(256).reshape(16, 16)
    d = inst.multiply_bits(
        *(encode((n * step % 17 - 8).astype(float), FORMATS[form]) for step in (7, 11)),
        encode((n * 13 % 129 - 64).astype(float), FORMATS["f32"]), wave=wave,
    )  # fmt: skip
    measured = np.array(
        [words(line) for line in recorded.text("amd_numerics/gfx1100_wmma_integers.txt.gz").splitlines()]
    )
    np.testing.assert_array_equal(d, measured)


@pytest.mark.parametrize("wave", [32, 64])
def test_on_rdna3_a_lane_of_d_reads_the_copies_of_a_and_b_in_its_own_group_of_lanes(wave):
    inst = mmacalc.instruction("rdna3", "v_wmma_f32_16x16x16_f16")
    rng = np.random.default_rng(5)
    groups = wave // 16
    matrices = rng.integers(-3, 4, (2, groups, 16, 16)).astype(float)
    filled = {"A": [], "B": []}
    for group, pair in enumerate(zip(*matrices)):
        before, _ = files(inst, *pair, wave=wave)
        for name in "AB":
            filled[name].append(before[name][:, 16 * group : 16 * group + 16])
    d = inst.execute(*(np.concatenate(filled[name], axis=1) for name in "AB"), wave=wave)
    found = gather(d, execution_of(inst, wave, {}, False, False).places("D")).view(np.float32)
    for row in range(16):
        a, b = matrices[:, row % groups]
        np.testing.assert_array_equal(found[row], inst.multiply(a, b, wave=wave)[row])


# --- packed results: f16 and bf16 ---


def packed():
    """(format, A, B, C, D of gfx1100, D of gfx1201, of three D of gfx1201 in wave64) of each measured matrix."""
    for part in re.split(r"^(?=b?f16$)", recorded.text("amd_numerics/packed_wmma.txt.gz"), flags=re.MULTILINE)[1:]:
        form, *lines = part.splitlines()
        yield form, *np.array([words(line) for line in lines], np.uint16).reshape(-1, 16, 16)


@pytest.mark.parametrize(
    ("arch", "column", "wave", "count"),
    [("rdna3", 4, 32, 14), ("rdna3", 4, 64, 2), ("rdna4", 5, 32, 14), ("rdna4", 6, 64, 3)],
)
def test_every_measured_packed_result_is_reproduced_with_its_subnormals_and_nan(arch, column, wave, count):
    """In wave32 gfx1201 takes the capture's k 0-7 and 8-15 from lanes 0-15 and 16-31, as above."""
    order = np.r_[0:4, 8:12, 4:8, 12:16] if (arch, wave) == ("rdna4", 32) else np.arange(16)
    cases = list(packed())
    assert [case[0] for case in cases] == ["f16"] * 7 + ["bf16"] * 7
    cases = [case for case in cases if len(case) > column][:count]
    assert len(cases) == count
    for form, *matrices in cases:
        a, b, c = matrices[:3]
        inst = mmacalc.instruction(arch, f"v_wmma_{form}_16x16x16_{form}")
        d = inst.multiply_bits(a[:, order], b[order], c, wave=wave)
        np.testing.assert_array_equal(d, matrices[column - 1])


IGNORED = {"gfx1100": (0x8000, 0, 0), "gfx1201": (0xB800, 0x4000, 0x18000000)}
"""Bits that LLVM takes with one value only, and that had no effect: of the first word those that are 0 (CLAMP, OP_SEL)
and that are 1, of the second those that are 1 (OP_SEL_HI)."""


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize(("target", "column", "expected"), [("gfx1100", 5, 4), ("gfx1201", 6, 284)])
def test_every_captured_encoding_is_decoded_and_does_to_d_what_it_did(target, column, expected, wave):
    """440 words of WMMA with f16 and bf16 results: each NEG and NEG_HI, OP_SEL, OP_SEL_HI, CLAMP and inline constant as
    C, on registers of which all lanes are alike. OP_SEL chooses the half of D on gfx1100, whose other half stays."""
    lines, refused = recorded.text("amd_numerics/packed_operands.txt.gz").splitlines(), 0
    for line in lines:
        given = words(line)
        code = np.array(given[:2], "<u4")
        try:
            one = next(decode(code.tobytes(), target, 0, wave))
        except mmacalc.Error:
            refused += 1
            clear, first, second = IGNORED[target]
            code = np.array([given[0] & ~clear | first, given[1] | second], "<u4")
            one = next(decode(code.tobytes(), target, 0, wave))
        inst = mmacalc.instruction(target, one.name)
        assert inst.formats["D"] == ("f16", "bf16")[given[0] >> 16 & 1]
        fields = fields_of(one, inst, wave)
        filled = {"A": given[2], "B": given[3], "C": given[4], "D": 0x56781234}
        if isinstance(one.sources[2], ConstantOperand):
            filled["C"] = one.sources[2].bits
        a, b, c, d = (
            np.full((inst.operand(name, wave=wave).registers, wave), word, np.uint32) for name, word in filled.items()
        )
        assert (inst.execute(a, b, c, d=d, wave=wave, **fields) == given[column]).all(), line
    assert (len(lines), refused) == (440, expected)
