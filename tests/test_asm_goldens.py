"""The assembler, the disassembler and the builtins against recorded answers of LLVM and clang 22.1.8, and LLVM 24."""

from __future__ import annotations

import pytest

import mmacalc
import recorded as oracle
from mmacalc.compiler.builtins import intrinsics
from samples import sampled


def rows(name):
    return oracle.table(f"llvm/{name}.tsv.gz")


def wave(row):
    return int(row["wave"].lstrip("w")) if row["wave"] else None


def test_every_recorded_text_assembles_to_llvm_s_bytes_and_comes_back_as_llvm_spells_it():
    recorded = rows("encodings")
    assert len(recorded) > 2000
    for row in recorded:
        code = mmacalc.assemble(row["asm"], row["target"], wave(row), llvm=22)
        assert code.hex() == row["bytes"], row
        assert mmacalc.disassemble(code, row["target"], wave(row), llvm=22) == row["canonical"], row


def test_every_recorded_text_that_llvm_refuses_is_refused_with_a_message_that_names_the_instruction():
    recorded = rows("illegal")
    assert len(recorded) > 2500
    for row in recorded:
        with pytest.raises(mmacalc.Error) as refused:
            mmacalc.assemble(row["asm"], row["target"], wave(row), llvm=22)
        message = str(refused.value)
        assert row["asm"].split()[0] in message or "is beyond the last register" in message, (row, message)


def test_every_recorded_builtin_has_clang_s_name_and_types_and_llvm_s_declaration():
    recorded = rows("builtins")
    assert len(recorded) > 200
    for row in recorded:
        inst = mmacalc.instruction(row["gfx"], row["mnemonic"])
        found = {one.builtin: one for one in intrinsics(inst, wave(row))}
        one = found[row["builtin"]]
        assert one.prototype == f"{row['return_type']} {row['builtin']}({row['arg_types']})"
        assert (one.llvm_intrinsic, one.declaration) == (row["llvm_intrinsic"], row["intrinsic_decl"])


@sampled("step", [5, 1], 1)
def test_llvm_24_s_texts_give_its_bytes_or_are_refused_and_every_byte_sequence_is_read_back(step):
    recorded = rows("encodings_24")
    assert len(recorded) > 4000
    for row in recorded[::step]:
        name, _, size = row["target"].partition("+wavefrontsize")
        where = (name, int(size) if size else None)
        try:
            code = mmacalc.assemble(row["asm"], *where)
        except mmacalc.Error:
            assert row["bytes"] == "refused", row
            continue
        assert code.hex() == row["bytes"], row
        assert mmacalc.assemble(mmacalc.disassemble(code, *where), *where) == code, row


@pytest.mark.parametrize("arch", ["gfx1250", "gfx1251"])
def test_the_disassembler_reads_both_versions_of_llvm_unless_it_is_given_one(arch):
    scaled = "v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[8:23], v[24:39], v[0:7], v40, v41"
    negated = "v_wmma_f32_16x16x32_f16 v[0:7], v[8:15], v[16:23], v[0:7] neg_lo:[1,0,0]"
    new, old = (mmacalc.assemble(scaled, arch, llvm=version) for version in (24, 22))
    assert (new[:8].hex(), old[:8].hex()) == ("000035cc28530202", "000035cc28530204")
    assert new[8:] == old[8:]
    assert mmacalc.disassemble(new, arch) == mmacalc.disassemble(old, arch) == scaled
    assert mmacalc.disassemble(old, arch, llvm=24).startswith(".long")
    assert mmacalc.disassemble(new, arch, llvm=22).startswith(".long")
    assert mmacalc.disassemble(mmacalc.assemble(negated, arch, llvm=22), arch) == negated
    with pytest.raises(mmacalc.Error, match="can only be set for C"):
        mmacalc.assemble(negated, arch)


@pytest.mark.parametrize(
    ("arch", "text"),
    [(arch, f"v_mfma_f32_16x16x4f32 a[0:3], v0, v1, {word}") for arch in ("gfx908", "gfx90a", "gfx942", "gfx950")
     for word in ("src_pops_exiting_wave_id", "pops_exiting_wave_id")]
    + [(arch, f"v_wmma_f32_16x16x32_f16 v[0:7], v[8:15], v[16:23], src_{word}") for arch in ("gfx1250", "gfx1251")
       for word in ("private_base", "private_limit")],
)  # fmt: skip
def test_words_that_only_llvm_22_takes_are_refused_unless_it_is_asked_for(arch, text):
    """LLVM 24: "register not available on this GPU"; gfx908 has no other C than registers and words."""
    code = mmacalc.assemble(text, arch, llvm=22)
    assert mmacalc.disassemble(code, arch).partition(" ")[2] == text.replace(" pops_", " src_pops_").partition(" ")[2]
    with pytest.raises(mmacalc.Error, match="C of "):
        mmacalc.assemble(text, arch)
    assert mmacalc.disassemble(code, arch, llvm=24).startswith(".long")


def test_scale_formats_go_together_as_in_llvm_24():
    """LLVM 24's answers to all 225 combinations: other scales than E8 are FP4's, and alike for two FP4 operands."""
    sizes = {"FP8": 16, "BF8": 16, "FP6": 12, "BF6": 12, "FP4": 8}
    taken = set()
    for a in sizes:
        for b in sizes:
            for scales in range(9):
                one, two = ("E8", "E5M3", "E4M3")[scales // 3], ("E8", "E5M3", "E4M3")[scales % 3]
                text = (
                    f"v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[100:{99 + sizes[a]}], v[200:{199 + sizes[b]}], "
                    f"v[0:7], v8, v9 matrix_a_fmt:MATRIX_FMT_{a} matrix_b_fmt:MATRIX_FMT_{b} "
                    f"matrix_a_scale_fmt:MATRIX_SCALE_FMT_{one} matrix_b_scale_fmt:MATRIX_SCALE_FMT_{two}"
                )
                assert mmacalc.assemble(text, "gfx1250", llvm=22)
                try:
                    mmacalc.assemble(text, "gfx1250")
                except mmacalc.Error:
                    continue
                taken.add((a, b, one, two))
    narrow = {("FP4", "FP4", scale, scale) for scale in ("E5M3", "E4M3")}
    wide = set(sizes) - {"FP4"}
    for scale in ("E5M3", "E4M3"):
        narrow |= {("FP4", b, scale, "E8") for b in wide} | {(a, "FP4", "E8", scale) for a in wide}
    assert taken == {(a, b, "E8", "E8") for a in sizes for b in sizes} | narrow


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mmacalc.assemble("v_wmma", "gfx1310"), "gfx1310 has no matrix instructions: LLVM 24 "),
        (lambda: mmacalc.assemble("v_wmma", "gfx1171", llvm=22), "LLVM 22 does not know gfx1171; LLVM 24 does"),
        (lambda: mmacalc.assemble("v_wmma", "gfx1154", llvm=22), "LLVM 22 does not know gfx1154; LLVM 24 does"),
        (lambda: mmacalc.assemble("v_wmma", "gfx1200", llvm=23), "those of LLVM 24 or 22; got 23"),
    ],
)  # fmt: skip
def test_targets_and_versions_that_are_unknown_are_refused_with_the_reason(call, message):
    with pytest.raises(mmacalc.Error, match=message):
        call()


def test_gfx1170_to_gfx1172_have_rdna4_s_instructions_and_layouts():
    ours = {inst.name: inst for inst in mmacalc.instructions("gfx1172")}
    rdna4 = {inst.name: inst for inst in mmacalc.instructions("rdna4")}
    assert ours.keys() == rdna4.keys()
    for name, inst in ours.items():
        for operand in inst.operands:
            for wave in (32, 64):
                mine, other = inst.operand(operand, wave=wave), rdna4[name].operand(operand, wave=wave)
                assert (mine.pattern, mine.sizes) == (other.pattern, other.sizes)
            assert inst.provenance_of(operand) == "assumed"
