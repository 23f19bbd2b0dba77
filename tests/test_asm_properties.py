"""What must hold of encodings and texts whatever LLVM says."""

from __future__ import annotations

import random
import re
from math import inf, nextafter

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmacalc
from asm_texts import TARGETS, all_forms, random_text
from mmacalc.asm import encodings
from mmacalc.asm.fields import Encoding, Field
from mmacalc.asm.forms import forms
from mmacalc.asm.operand_codes import constant_code, constant_texts, float_patterns, rounded
from mmacalc.asm.targets import target
from mmacalc.formats import named
from mmacalc.questions.assemble import meaning

TABLES = [table for table in vars(encodings).values() if isinstance(table, Encoding)]
FORMS = all_forms()


@given(st.sampled_from(TABLES), st.integers(0, 2**128 - 1))
def test_decoding_and_encoding_are_inverse_for_every_format(table, number):
    word = number & (1 << 8 * table.size) - 1
    assert table.encode(table.decode(word)) == word


def test_a_meaning_names_only_bits_of_its_own_field():
    named_bits = 0
    for table in TABLES:
        for field in table.fields.values():
            bits = [int(bit) for bit in re.findall(r"\(bit (\d+)\)", field.meaning)]
            assert all(1 << bit & field.mask for bit in bits), (table.name, field)
            named_bits += len(bits)
    assert named_bits > 8


def test_a_field_means_what_it_does_in_its_own_instruction():
    """CDNA3 and CDNA4 ISA guides, VOP3P-MAI: ABID is the switch of f8f6f4's scales, chooses the index of a sparse
    product, and a block of A else."""
    seen = {"broadcast": 0, "indices": 0, "scales": 0}
    for one in (form for where in ("gfx908", "gfx90a", "gfx942", "gfx950") for form in forms(target(where)).values()):
        if not one.instruction or "ABID" not in one.format.fields:
            continue
        kind = "indices" if one.instruction.sparse else "scales" if one.instruction.choices else "broadcast"
        shown = meaning(one, one.format.fields["ABID"], 0)
        assert [word for word in seen if word in shown] == [kind], (one, shown)
        seen[kind] += 1
        assert {*one.meanings} <= {*one.format.fields}
    assert all(seen.values())


def test_a_table_in_which_a_bit_belongs_to_no_field_or_to_two_is_refused():
    with pytest.raises(mmacalc.Error, match="takes bits that another field has"):
        Encoding("X", "", (Field("A", "7:0", ""), Field("B", "9:7", "")))
    with pytest.raises(mmacalc.Error, match=r"no field has bits \[8\]"):
        Encoding("X", "", (Field("A", "7:0", ""), Field("B", "15:9", "")))


@settings(max_examples=400)
@given(st.sampled_from(FORMS), st.integers(0, 2**32))
def test_every_text_comes_back_from_its_bytes_and_the_bytes_from_that_text(where, seed):
    name, wave, form = where
    text = random_text(form, random.Random(seed))
    code = mmacalc.assemble(text, name, wave, llvm=22)
    spelled = mmacalc.disassemble(code, name, wave, llvm=22)
    assert spelled.split()[0] == form.name
    assert mmacalc.assemble(spelled, name, wave, llvm=22) == code
    assert mmacalc.disassemble(mmacalc.assemble(spelled, name, wave, llvm=22), name, wave, llvm=22) == spelled


@settings(max_examples=200)
@given(st.sampled_from(TARGETS), st.binary(max_size=64))
def test_any_bytes_come_back_from_what_they_disassemble_to(where, data):
    code = data[: len(data) // 4 * 4]
    text = mmacalc.disassemble(code, *where, matrix=True)
    lines = text.split("\n") if text else []
    assert sum(4 if line.startswith(".long") else 8 for line in lines) <= len(code) + 8
    if code and all(line.startswith(".long") for line in lines):
        assert mmacalc.assemble(text, *where) == code


def test_every_instruction_of_the_catalog_has_a_form_on_every_target():
    lent = {inst.name for inst in mmacalc.instructions("rdna4") if inst.sparse}  # LLVM 24 takes them on gfx1250
    for name, wave in TARGETS:
        catalog = {inst.name for inst in mmacalc.instructions(name)}
        helpers = forms(target(name, wave)).keys() - catalog - lent
        assert catalog <= forms(target(name, wave)).keys()
        assert all("accvgpr" in helper or "ld_scale" in helper for helper in helpers)


@pytest.mark.parametrize("kind", ["f64", "f32", "f16", "bf16"])
def test_every_inline_constant_is_read_from_its_own_text(kind):
    for code, text in constant_texts(kind).items():
        value = float(text) if "." in text else int(text, 0)
        assert constant_code(value, kind) == code


@pytest.mark.parametrize(
    ("text", "arch", "message"),
    [
        (
            "v_mfma_f32_32x32x16_f16 v[0:15], v[17:18], v[20:23], v[0:15]",
            "gfx950",
            "A of v_mfma_f32_32x32x16_f16 takes 4 registers, even-aligned: v[16:19]; got v[17:18]",
        ),
        (
            "v_mfma_f32_16x16x4_f32 a[0:3], v1, v2, v[0:3]",
            "MI300X",
            "C and D of v_mfma_f32_16x16x4_f32 are both VGPRs or both AccVGPRs; got D a[0:3] and C v[0:3]",
        ),
        ("v_mfma_f32_16x16x4_f32 a[0:3], v1, v2", "gfx942", "takes 4 operands (D, A, B, C); C is missing"),
        ("v_mfma_f32_16x16x4_f32 a[0:3], v1, v2, 0 abid:1 cbsz:1", "gfx942", "written cbsz, abid, blgp"),
        ("v_mfma_f32_16x16x4_f32 a[0:3], v1, v2, 0 cbsz:8", "gfx942", "cbsz of v_mfma_f32_16x16x4_f32 is 0 to 7; got"),
        ("v_mfma_f32_16x16x4_f23 a[0:3], v1, v2, 0", "gfx942", "Did you mean v_mfma_f32_16x16x4_f32"),
        (
            "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[8:15], v[16:23], v[0:3] cbsz:2",
            "gfx950",
            "A of v_mfma_f32_16x16x128_f8f6f4 takes 6 registers under cbsz:2: v[8:13]; got v[8:15]",
        ),
        (
            "v_mfma_f32_32x32x8_f16 v[0:15], v[20:21], v[22:23], v[8:23]",
            "gfx942",
            "C of v_mfma_f32_32x32x8_f16 is D itself or shares no register with it; got D v[0:15] and C v[8:23]",
        ),
        ("v_nop\nv_nop", "gfx1151", "line 1: RDNA3 (gfx1151) has no matrix"),
        ("", "gfx942", "there is nothing to assemble"),
        ("v_mfma_f32_16x16x4_f32 a[0:3], v1, v2, 1/0", "gfx942", "division by zero"),
        ("v_mfma_f32_16x16x4_f32 a[0:3], v1, v2, 1<<64", "gfx942", "cannot shift by 64"),
        ("v_mfma_f32_16x16x4_f32 a[0:3], v1, v2, 18446744073709551616", "gfx942", "does not fit in 64 bits"),
        (f".long {'9' * 5000}", "gfx942", "99999999999999999999... does not fit in 64 bits"),
        (f".long {'(' * 300}1{')' * 300}", "gfx942", "more than 50 signs and parentheses"),
        (f".long {'-' * 300}1", "gfx942", "more than 50 signs and parentheses"),
        ("v_mfma_f32_16x16x4_f32 a[0:3], v1, v2, 0x1p999999999999", "gfx942", "got 0x1p999999999999"),
        ("v_mfma_f32_16x16x4_f32 a[0:3], v1, v2, 00.5", "gfx942", "cannot read '00.5'"),
        ("mma.sync", "sm_90", "sm_90 (Hopper) has no public machine code"),
    ],
)  # fmt: skip
def test_what_is_refused_says_which_operand_what_was_given_and_what_is_needed(text, arch, message):
    with pytest.raises(mmacalc.Error) as refused:
        mmacalc.assemble(text, arch)
    assert message in str(refused.value)


def test_comments_labels_commas_expressions_and_long_are_read_as_an_assembler_does():
    text = """
    loop:  // the only loop
        v_mfma_f32_16x16x4_f32 acc[0:3] v[1] v2, [a0, a1, a2, a3] cbsz: 0x1 /* A of
        two blocks */ ; done
        .long 0xbf800000, 1+1
    """
    code = mmacalc.assemble(text, "gfx942")
    assert mmacalc.disassemble(code, "gfx942").split("\n") == [
        "v_mfma_f32_16x16x4_f32 a[0:3], v1, v2, a[0:3] cbsz:1", "s_nop 0", "v_cndmask_b32_e32 v0, s2, v0, vcc",
    ]  # fmt: skip


def test_the_second_word_of_another_instruction_is_not_taken_for_a_matrix_instruction():
    # global_load_dword a211, v[2:3], off: its second word alone would begin v_smfmac_f32_32x32x32_fp8_fp8.
    load = (0xDC508000).to_bytes(4, "little") + (0xD3FF0002).to_bytes(4, "little")
    code = load + mmacalc.assemble("v_mfma_f32_16x16x4_f32 a[0:3], v1, v2, 0", "gfx942")
    assert mmacalc.disassemble(code, "gfx942").split("\n")[0] == "global_load_dword a211, v[2:3], off"
    assert mmacalc.disassemble(code, "gfx942", matrix=True).split("\n") == [
        ".long 0xdc508000", ".long 0xd3ff0002", "v_mfma_f32_16x16x4_f32 a[0:3], v1, v2, 0",
    ]  # fmt: skip


def test_a_target_that_is_named_is_kept():
    assert [target(name).name for name in ("gfx1151", "GFX1201", "rdna3", "MI300X", "gfx1251")] == [
        "gfx1151", "gfx1201", "gfx1100", "gfx942", "gfx1251",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["f16", "bf16", "f32"])
def test_numbers_between_two_of_a_format_are_rounded_to_the_nearer_or_even_one(name):
    """Neighbours in an IEEE format have neighbouring codes, so that the answer is known without rounding anything."""
    form, rng = named(name), random.Random(5)
    sign, first, infinity = 1 << form.bits - 1, 1 << form.mantissa, (1 << form.exponent) - 1 << form.mantissa
    kinds = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}
    codes = np.array([first, infinity - 2, *(rng.randrange(first, infinity - 1) for _ in range(1000))])
    words = np.stack([codes, codes + 1]).astype(f"u{form.bits // 8}")
    for code, low, high in zip(codes.tolist(), *words.view(kinds[name]).astype(float).tolist()):
        tie = (low + high) / 2
        nearest = {low: code, nextafter(tie, 0): code, tie: code + code % 2, nextafter(tie, inf): code + 1}
        assert {value: rounded(value, form) for value in nearest} == nearest
        assert {value: rounded(-value, form) for value in nearest} == {v: sign | near for v, near in nearest.items()}
    largest = 2.0 ** (form.bias + 1) - 2.0 ** (form.bias - form.mantissa)
    limit = largest + 2.0 ** (form.bias - form.mantissa - 1)
    above = [rounded(value, form) for value in (nextafter(limit, 0), limit, inf)]
    assert above == [infinity - 1, None, None]
    assert [rounded(value, form) for value in (0.0, -0.0)] == [0, sign]
    least, subnormal = 2.0 ** (1 - form.bias - form.mantissa), [*range(1, 200), first - 1]  # these only if exact
    assert [rounded(count * least, form) for count in subnormal] == subnormal
    assert [rounded((count + 0.5) * least, form) for count in range(8)] == [None] * 8


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
def test_whole_numbers_are_the_bits_of_constants_in_twos_complement_and_no_other_way(kind):
    size = 1 << named(kind).bits
    for code, pattern in float_patterns(kind).items():
        assert constant_code(pattern, kind) == code
        assert constant_code(pattern - size, kind) == (code if pattern >= size // 2 else None)
        assert constant_code(pattern + size, kind) is None
    for value in (-16, -1, 0, 64):
        assert constant_code(value, kind) == (128 + value if value >= 0 else 192 - value)
        assert constant_code(value + size, kind) == (192 - value if value < 0 else None)
    assert [constant_code(value, kind) for value in (-17, 65, 3.0)] == [None] * 3


def test_numbers_have_their_own_bits_in_f64():
    for value in (0.0, -0.0, 1.5, -(2.0**-1074), 1 / 3, inf):
        assert rounded(value, named("f64")) == int(np.array(value).view(np.uint64))


def test_wmma_of_f64_negates_each_operand_and_takes_the_absolute_value_of_c():
    """LLVM 24 has it; of A and B it drops neg_hi, as of f32, whose elements fill a register too."""
    for value in range(8):
        given = "[{},{},{}]".format(*(value >> bit & 1 for bit in range(3)))
        text = f"v_wmma_f64_16x16x4_f64 v[16:31], v[0:3], v[4:7], v[16:31] neg_lo:{given} neg_hi:{given}"
        word = int.from_bytes(mmacalc.assemble(text, "gfx1251"), "little")
        assert (word >> 61, word >> 8 & 7) == (value, value & 4)
