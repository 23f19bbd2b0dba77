"""`explain` and SASS names: what a pasted line means, against the recorded assembly of ptxas and our own encodings."""

import json
import random
import shlex

import numpy as np
import pytest

import mmacalc
import mmacalc.intrinsics
from asm_texts import all_forms, random_text
from mmacalc.base.errors import plural
from mmacalc.catalog.grammar.sass import opcodes as opcodes_of
from mmacalc.catalog.grammar.sass import sass_of, sources
from mmacalc.cli import answer
from mmacalc.questions.explain.answer import ptx_of_sass
from recorded import table
from samples import sampled

LISTING = """
\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
kernel:
  v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15]   // a comment
  v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], v[0:3] cbsz:2 abid:1
  s_nop 1
  global_store_dwordx4 v[8:9], v[0:3], off
"""
SASS = """
\tcode for sm_90a
        /*0090*/                   HGMMA.64x128x16.F32 R24, gdesc[UR4], R24, gsb0 ;   /* 0x000000080404723c */
        /*00a0*/              @!P0 HMMA.16816.F32 R12, R4.reuse, R8, RZ ;             /* 0x000000080404723c */
        /*00b0*/                   FADD R4, R5, R6 ;
        /*00c0*/                   LDSM.16.M88.4 R4, [R2+UR4] ;
"""
INLINE = r"""
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};\n\t"
      : "=f"(d[0]), "=f"(d[1]) : "r"(a[0]));
"""


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"])
def test_the_name_of_a_sass_opcode_is_an_instruction_that_ptxas_makes_of_it(target):
    made = {}
    for row in table("nvidia/sass_measured.tsv.gz"):
        made.setdefault(row.get(target) or "", set()).add(row["mnemonic"])
    compared = 0
    for opcode, names in made.items():
        if not opcode or opcode[0].isdigit() or " " in opcode or compared == 120:  # a sample of wgmma
            continue
        found = mmacalc.instruction(target, opcode)
        assert found.name in names, opcode
        assert mmacalc.instruction(target, opcode.lower()) is found
        compared += 1
    assert compared > 15


def test_an_opcode_of_several_layouts_and_one_that_does_not_exist_are_refused():
    with pytest.raises(mmacalc.Error, match=r"layouts of their own; give mma.sync.aligned.m8n8k4.row.row"):
        mmacalc.instruction("sm_70", "HMMA.884.F32.F32.STEP0")
    with pytest.raises(mmacalc.Error, match=r"Did you mean HMMA\.16816\.F32"):
        mmacalc.instruction("sm_80", "HMMA.16816.F33")
    with pytest.raises(mmacalc.Error, match="Did you mean HMMA"):
        mmacalc.instruction("sm_80", "HMAM.16816.F32")
    with pytest.raises(mmacalc.Error, match=r"beginning of .* such as HGMMA"):
        mmacalc.instruction("sm_90a", "HGMMA")
    with pytest.raises(mmacalc.Error, match=r"give one of tcgen05.mma.cta_group::1.kind::f16"):
        mmacalc.instruction("B200", "UTCHMMA")
    assert answer(["-a", "cdna3", "-i", "HMMA.16816.F32", "-d"]).status == 2


def test_find_takes_the_beginning_of_an_opcode():
    found = {inst.name for inst in mmacalc.find(arch="sm_80", name="hmma.16816")}
    assert "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32" in found
    assert all("HMMA.16816" in sass_of(mmacalc.instruction("sm_80", name), "sm_80")[0] for name in found)
    assert {inst.kind for inst in mmacalc.find(name="UTCHMMA", arch="sm_100a")} == {"f16", "tf32"}
    assert {inst.n for inst in mmacalc.find(arch="H100", name="HGMMA", n=64)} == {64}
    assert sources(mmacalc.catalog.entry("sm_80"), "QMMA") == ()


def test_every_matrix_instruction_of_amd_is_explained_as_it_is_assembled():
    rng = random.Random(18)
    explained = 0
    for target, wave, form in all_forms():
        own = form.instruction and form.instruction.architecture is mmacalc.architecture(target)
        if not own or (wave == 64 and form.instruction.architecture.waves[0] == 32):
            continue
        text = random_text(form, rng)
        try:
            mmacalc.assemble(text, target)
        except mmacalc.Error:  # the forms are LLVM 22's; LLVM 24 refuses some of their modifiers
            continue
        [line] = mmacalc.explain(text, target).lines
        assert line.instruction is form.instruction
        beyond = form.instruction.name in line.problem and "; got" in line.problem  # LLVM encodes any CBSZ
        assert beyond or not line.problem, (text, line.problem)
        for one in line.operands:
            if one.operand is not None:
                assert len(one.registers) == one.operand.registers
        explained += 1
    assert explained > 200


def flipped(words, remarks, bits):
    """Registers with the signs that remarks put on their elements."""
    mask = {64: 1 << 63, 32: 1 << 31, 16: 0x8000_8000, 8: 0x8080_8080, 4: 0x8888_8888}[bits]
    mask &= {"low halves negated": 0xFFFF, "high halves negated": 0xFFFF_0000}.get(next(iter(remarks), ""), mask)
    pairs = words.reshape(-1, 2 if bits == 64 else 1, words.shape[1]).copy()
    if "absolute value" in remarks:
        pairs[:, -1] &= np.uint32(~(mask >> bits // 2 * (bits == 64)) & 0xFFFF_FFFF)
    if {"negated", "low halves negated", "high halves negated"} & {*remarks}:
        pairs[:, -1] ^= np.uint32(mask >> 32 * (bits == 64))
    return pairs.reshape(words.shape)


def test_signs_of_amd_operands_are_those_by_which_the_emulator_computes():
    """Each instruction under random modifiers, against the same with the signs put on its registers beforehand."""
    rng, numbers, compared = random.Random(7), np.random.default_rng(7), {"float": 0, "integer": 0}
    for target, wave, form in [each for each in all_forms() for _ in range(3)]:
        inst = form.instruction
        own = inst and inst.architecture is mmacalc.architecture(target) and wave == inst.architecture.waves[0]
        if not own or not {"neg", "blgp", "neg_c"} & {*inst.features} or inst.choices or inst.scaled:
            continue
        [line] = mmacalc.explain(random_text(form, rng), target).lines
        operands = {one.role: one for one in line.operands}
        signs = {"neg", "neg_hi"} | ({"blgp"} if inst.formats["A"] == "f64" else set())
        kept = {name: value for name, value in line.fields.items() if name not in signs}
        if inst.integer:
            if inst.format("A").kind == "either":
                signed = sum(("signed" in operands[role].remarks) << at for at, role in enumerate("AB"))
                assert line.fields.get("neg", 0) & 3 == signed
                assert all({"signed", "unsigned"} & {*operands[role].remarks} for role in "AB")
                compared["integer"] += 1
            continue
        codes = {}
        for role in ("A", "B", "C" if "C" in inst.operands else "D"):
            layout = inst.operand(role, wave)
            values = numbers.integers(-3, 4, (layout.registers * 32 // layout.format.bits, layout.lanes))
            codes[role] = mmacalc.intrinsics.pack(values.astype(layout.format.dtype))
        third = codes.get("C", codes.get("D"))
        shape = (inst.operand("K", wave).registers, wave) if inst.sparse else ()
        index = {"index": np.full(shape, 0x44444444, np.uint32)} if inst.sparse else {}
        direct = inst.execute(codes["A"], codes["B"], third, wave=wave, **index, **line.fields)
        a, b = [flipped(codes[role], operands[role].remarks, inst.format(role).bits) for role in "AB"]
        remarks = [word for word in operands["C"].remarks if "half" not in word] if "C" in operands else []
        c = flipped(third, remarks, inst.format("D").bits)
        known = inst.execute(a, b, c, wave=wave, **index, **kept)
        if "opsel" in inst.features:  # the other halves of D keep what was in the registers of C
            half = np.uint32(0xFFFF_0000 if kept.get("opsel") else 0xFFFF)
            direct, known = direct & half, known & half
        assert np.array_equal(direct, known), line.text
        compared["float"] += 1
    assert compared["float"] > 30
    assert compared["integer"] > 8


def test_builtins_and_inline_assembly_of_one_source_are_explained_in_their_order():
    source = """
    acc = __builtin_amdgcn_mfma_f32_32x32x8f16(a, b[f(i, 1)],  // v_mfma_f32_32x32x4_2b_f16 is for bf16
                                               acc, 0, 0, 0);
    asm volatile("s_nop 1\\n\\tv_mfma_f32_16x16x16_f16 %0, %1, %2, %0\\n" : "+v"(c) : "v"(a), "v"(b));
    /* d = __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0); */
    """
    first, second = mmacalc.explain(source, "gfx942").lines
    assert (first.number, first.instruction.name) == (2, "v_mfma_f32_32x32x8_f16")
    assert [(one.role, one.text) for one in first.operands[1:]] == [("A", "a"), ("B", "b[f(i, 1)]"), ("C", "acc")]
    assert (second.number, second.instruction.name) == (4, "v_mfma_f32_16x16x16_f16")
    assert [(one.role, one.text, len(one.registers)) for one in second.operands] == [
        ("D", "%0", 4), ("A", "%1", 2), ("B", "%2", 2), ("C", "%0", 4)
    ]  # fmt: skip
    assert second.operands[1].held == mmacalc.explain(
        "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]", "gfx942").lines[0].operands[1].held  # fmt: skip


def test_every_builtin_is_explained_as_the_instruction_that_llc_makes_of_it():
    """Names, types of arguments and mnemonics are those of clang and llc 22."""
    compared = 0
    for row in table("llvm/builtins.tsv.gz"):
        inst, types = mmacalc.instruction(row["gfx"], row["mnemonic"]), row["arg_types"].split(", ")
        constants = {"_Bool imm": "1", "int imm": "0", "short imm": "0"}
        arguments = [constants.get(kind, f"x{at}") for at, kind in enumerate(types)]
        for name in (row["builtin"], f"@{row['llvm_intrinsic']}"):
            [line] = mmacalc.explain(f"d = {name}({', '.join(arguments)});", row["gfx"]).lines
            assert (line.instruction, line.problem) == (inst, "")
            values = [text for text in arguments if text.startswith("x")]
            assert [one.text for one in line.operands] == ["the result", *values]
            compared += 1
    assert compared > 150


def test_modifiers_choose_the_part_that_is_shown():
    for line, role, remark, register in (
        ("v_wmma_f16_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7] op_sel:[0,0,1]", "D", "high half: bits 31:16",
         "v0"),
        ("v_wmma_f16_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]", "D", "low half: bits 15:0", "v0"),
        ("v_swmmac_f32_16x16x32_f16 v[0:7], v[8:11], v[12:19], v20 index_key:1", "K", "set 1: bits 31:16", "v20"),
        ("v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[6:9], v10 cbsz:0 abid:2", "K", "set 2: bits 23:16", "v10"),
        ("v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3], v20, v21 op_sel:[1,0,0] "
         "op_sel_hi:[1,0,0]", "SA", "byte 3: bits 31:24", "v20"),
        ("v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[8:23], v[24:39], v[0:7], v40, v41 "
         "matrix_a_scale:MATRIX_SCALE_ROW1", "SA", "lanes 16..31", "v40"),
    ):  # fmt: skip
        [found] = mmacalc.explain(line).lines
        [operand] = [one for one in found.operands if one.role == role]
        assert (remark in operand.remarks, operand.registers[0]) == (True, register), (line, operand.remarks)
        numbers = [int(word) for word in remark.replace(":", " ").replace("..", " ").split() if word.isdigit()]
        if "bits" in remark:
            low, high = numbers[-1], numbers[-2]
            assert all(low <= one.lsb and one.lsb + one.width - 1 <= high for held in operand.held for one in held)
        else:
            assert operand.lane == numbers[0]


def test_a_listing_is_explained_line_by_line_with_its_hazards():
    found = mmacalc.explain(LISTING)
    assert (found.architecture, found.also) == ("cdna3", ())
    assert [(line.number, line.instruction.name, line.cycles) for line in found.lines] == [
        (4, "v_mfma_f32_32x32x8_f16", 32),
        (5, "v_mfma_f32_4x4x4_16b_f16", 8),
    ]
    assert dict(found.lines[1].fields) == {"cbsz": 2, "abid": 1}
    assert found.lines[1].operands[1].lane == 4  # the block that ABID chooses
    assert found.hazards == mmacalc.lint(LISTING)
    assert found.hazards.findings


def test_registers_of_ptx_and_sass_hold_what_locate_says():
    for text, names in ((INLINE, "%{}"), ("HMMA.16816.F32.BF16 R0, R4, R8, R10", "R{}")):
        [line] = mmacalc.explain(text, "sm_80").lines
        assert line.instruction.name == "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
        first = 0
        for one in line.operands:
            assert one.registers == tuple(names.format(first + at) for at in range(one.operand.registers))
            for at, held in enumerate(one.held):
                for element in held:
                    place = dict(zip(one.operand.axes[1:], (element.row, element.col)))
                    assert one.operand.locate(**place)[0][:1] + one.operand.locate(**place)[0][2:3] == (0, at)
            first += one.operand.registers


def test_a_disassembly_of_cuobjdump_names_its_target():
    found = mmacalc.explain(SASS)
    assert found.architecture == "sm_90a"
    assert [line.number for line in found.lines] == [3, 4, 6]
    assert found.lines[0].instruction.name == "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"
    assert found.lines[0].cycles == 64  # 2 * 64 * 128 * 16 operations, 4096 per clock and SM
    assert found.lines[1].operands[3].text == "0"
    assert [one.role for one in found.lines[2].operands] == ["D", "address"]


@pytest.mark.parametrize(
    ("arch", "cycles", "product"),
    [("A100", 8, ""), ("RTX 4090", 32, "RTX 4090"), ("L40S", 16, "L40S"), ("sm_89", 16, "L40S"),
     ("RTX 4070 Ti SUPER", None, "RTX 4070 Ti SUPER")],
)  # fmt: skip
def test_cycles_are_those_of_the_product_where_products_differ(arch, cycles, product):
    """2048 multiply-adds on four units, at 1024, 256 (GeForce with f32 accumulators) and 512 per clock and SM."""
    found = mmacalc.explain("HMMA.16816.F32 R4, R8, R12, R4", arch)
    assert (found.lines[0].cycles, found.product) == (cycles, product)
    candidates = mmacalc.estimate(arch, 64, 64, 64, "f16", out="f32").candidates
    name = found.lines[0].instruction.name
    assert [one.duration for one in candidates if one.instruction.name == name] == [cycles]


def test_without_an_architecture_it_is_one_in_which_the_registers_fit():
    line = "v_wmma_f32_16x16x16_f16 v[0:7], {}, {}, v[0:7]"
    assert mmacalc.explain(line.format("v[8:15]", "v[16:23]")).architecture == "rdna3"
    assert mmacalc.explain(line.format("v[8:11]", "v[12:15]")).architecture == "rdna4"
    assert mmacalc.explain("HGMMA.64x128x16.F32 R24, gdesc[UR4], R24").architecture == "sm_90a"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("'hello world'", "no matrix instruction of AMD's assembly, PTX, SASS or iga64's assembly in 'hello world'"),
        ("HMAM.16816.F32 R1", "Did you mean HMMA"),
        ("v_mfma_f32_32x32x8_f61", "Did you mean v_mfma_f32_32x32x8_f16"),
        ("-a sm_80 v_mfma_f32_32x32x8_f16", "not an architecture of AMD"),
        ("-a gfx942 HMMA.16816.F32", "not a target of NVIDIA"),
        ("-a gfx950 '.amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\nv_mfma_f32_32x32x8_f16'", "is for gfx942, not for"),
        ("'wmma::mma_sync(c, a, b, c);'", '`mmacalc find "wmma::mma_sync"` lists'),
    ],
)
def test_what_cannot_be_explained_is_refused(line, says):
    status, out, err = answer(["explain", *shlex.split(line)])
    assert (status, out) == (2, "")
    assert says in err


def test_a_folder_without_listings_or_with_very_many_files_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a.c").touch()
    (tmp_path / "b.c").touch()
    assert "has no file that ends in .s, " in answer(["explain", str(tmp_path)]).err
    monkeypatch.setattr("mmacalc.command.files.MOST_FILES", 1)
    assert "has more than 1 files; give a folder of listings" in answer(["explain", str(tmp_path)]).err


def test_a_line_that_is_wrong_is_explained_with_what_is_wrong():
    out = answer(["explain", "v_mfma_f32_32x32x8_f16 v[0:14], v[16:17], v[18:19], v[0:15]"]).out
    assert "D of v_mfma_f32_32x32x8_f16 takes 16 registers" in out
    found = json.loads(answer(["explain", "--json", "-a", "sm_80", "mma.sync.aligned.m16n8k16.row.col {%0};"]).out)
    assert "PTX has no" in found["lines"][0]["problem"]
    assert found["lines"][0]["instruction"] is None


ROLES = {
    "K": "k", "SA": "sa", "SB": "sb", "A": "a", "B": "b", "C": "c", "descriptor of A": "descA",
    "descriptor of B": "descB",
}  # fmt: skip


@sampled("row", table("nvidia/sass_operands.tsv.gz"), 60, ids=lambda row: row["ptx"].split(" ")[0])
def test_operands_of_sass_are_those_that_ptxas_loaded_there(row):
    """Each register was loaded from an address of its own, and D stored to one: see tests/oracles/sass_operands.py."""
    loaded = dict(pair.split("=") for pair in row["loaded"].split())
    stored = {register: name for name, register in (pair.split("=") for pair in row["stored"].split())}
    [asked] = mmacalc.explain(row["ptx"], row["target"]).lines
    lines = mmacalc.explain(row["sass"].replace(" | ", "\n"), row["target"]).lines
    assert not asked.problem
    written = []
    for line in lines:
        assert (line.instruction.m, line.instruction.formats) == (asked.instruction.m, asked.instruction.formats)
        assert (line.cycles, line.problem) == (asked.cycles, "")
        known = set()
        for one in line.operands:
            step = 2 if one.operand is not None and one.operand.format.bits == 64 else 1
            if one.role == "D":
                names = [stored[register] for register in one.registers[::step]]
                assert names == [f"d{(one.first + at) // step}" for at in range(0, len(one.registers), step)]
                written += one.registers[::step]
                continue
            for at, register in enumerate(one.registers):
                letter = "d" if "wgmma" in row["ptx"] and one.role == "C" else ROLES[one.role]
                name = f"{letter}{(one.first + at) // step}.{at % 2}" if step == 2 else f"{letter}{one.first + at}"
                name = f"{letter}.{at}" if "descriptor" in one.role else name
                assert line.part or loaded[register] == name  # a later step may overwrite what an earlier one read
                known.add(name.partition(".")[0])
        assert line.part or known >= {name for name in loaded.values() if name[0] in "ks"}
        if ids := next((text for register, text in loaded.items() if text.startswith("0x") and register[0] == "U"), ""):
            fields = asked.fields
            packed = [fields.get(f"{what}_id_{side}", 0) for side in "ab" for what in ("byte", "thread")]
            assert int(ids, 16) == packed[0] | packed[1] << 2 | packed[2] << 3 | packed[3] << 5
    assert sorted(written) == sorted(stored)


PRODUCT_ROLES = {
    "descriptor of A": "descA.0 descA.1", "A in Tensor Memory": "a", "descriptor of B": "descB.0 descB.1",
    "D (and C) in Tensor Memory": "d", "K in Tensor Memory": "k", "instruction descriptor": "idesc",
    "SA in Tensor Memory": "sa", "SB in Tensor Memory": "sb", "descriptor of the mask of columns": "zero.0 zero.1",
    "lanes of D that are not written": "mask0 mask1 mask2 mask3 mask4 mask5 mask6 mask7",
}  # fmt: skip


def test_an_opcode_of_tcgen05_without_operands_is_explained_without_them():
    for opcode in ("UTCHMMA", "UTCHMMA.ASHIFT", "UTCQMMA.2CTA"):
        [line] = mmacalc.explain(opcode, "B200").lines
        assert (line.operands, line.problem) == ((), "")
        assert line.instruction.name.startswith("tcgen05.mma.cta_group::")


def test_operands_of_utcmma_are_those_that_ptxas_loaded_there():
    """Each uniform register was loaded from an address of its own: see tests/oracles/sass_operands.py."""
    for row in table("tensor_memory/sass_mma_operands.tsv.gz"):
        loaded = dict(pair.split("=") for pair in row["loaded"].split())
        name, _, words = row["ptx"].partition(" ")
        [line] = mmacalc.explain(row["sass"], row["target"]).lines
        [asked] = mmacalc.explain(row["ptx"], row["target"]).lines
        assert line.problem == asked.problem == ""
        assert name.partition(".collector")[0].replace(".ashift", "") in (line.instruction.name, *line.others)
        roles = {one.role: one for one in line.operands}
        assert set(roles) - {"K in Tensor Memory"} == {one.role for one in asked.operands} - {"K in Tensor Memory"}, row
        for role, one in roles.items():
            held = [loaded[register] for register in one.registers]
            if role == "K in Tensor Memory" and ".sp." not in name:
                assert held == ["URZ"]
            elif role in PRODUCT_ROLES:
                assert held == PRODUCT_ROLES[role].split()[: len(held)], row
                assert role[:5] != "lanes" or len(held) == words.count("mask")
        assert (".ashift" in name) == any("ashift" in remark for remark in line.operands[0].remarks)
        said = [remark for one in line.operands for remark in one.remarks if remark.startswith("collector")]
        collector = name.partition(".collector")[2]
        assert said == ([f"collector{collector}"] if collector and "discard" not in collector else [])


@sampled("row", table("nvidia/sass_operands.tsv.gz"), 60, first=1, ids=lambda row: row["ptx"].split(" ")[0])
def test_sass_computes_what_the_ptx_that_became_it_says(row):
    asked = json.loads(answer(["explain", "--json", "-a", row["target"], row["ptx"]]).out)["lines"][0]
    formula = answer(["explain", "-a", row["target"], row["ptx"]]).out.split("\n")[3].partition("; ")[0]
    lines = row["sass"].split(" | ")
    for text in lines:
        line = json.loads(answer(["explain", "--json", "-a", row["target"], text]).out)["lines"][0]
        remarks = [{one["role"]: one["remarks"] for one in which["operands"]} for which in (asked, line)]
        for role in ("A", "B", "C", "descriptor of A", "descriptor of B"):
            assert remarks[0].get(role, []) == remarks[1].get(role, [])
        assert line["modifiers"].get("selector", 0) == asked["modifiers"].get("selector", 0)
        out = answer(["explain", "-a", row["target"], text]).out.split("\n")
        shown = next(one for one in out if "D = " in one).partition("; ")[0]
        shown = shown.replace("UP0", "p").replace(f"{line['part']} of ", "")
        assert (shown.replace("+ C", "+ D").replace("(C", "(D") if "wgmma" in row["ptx"] else shown) == formula
    assert len(lines) == (len({line.partition(" ")[0] for line in lines}) if "884.F" in row["sass"] else 1)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        # cbsz:4 takes four registers; the formats and bytes that the line has are shown nevertheless
        ("v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3], v20, v21 op_sel_hi:[0,1,0] cbsz:4",
         ["e2m1 e4m3 -> f32", "SB (scales of B): v21, byte 2", "takes 4 registers under cbsz:4"]),
        ("v_wmma_i32_16x16x16_iu8 v[0:7], v[8:11], v[12:14], v[0:7] neg_lo:[1, 0, 0] clamp",
         ["i8 u8 -> i32", "CLAMP = 1", "B of v_wmma_i32_16x16x16_iu8 takes 4"]),
        ("v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3] cbsz:1", ["CBSZ = 1 (no known effect)"]),
        ("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {a,b,c,d}, x, y, p, 1, 1, 0, 0;",
         ["it takes 6 operands", "D = A B + D (D only where p)"]),
        ("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%0,%1,%2,%3}, %8, 5;",
         ["SELECTOR of mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 is 0 to 3; got 5"]),
    ],
)  # fmt: skip
def test_a_line_that_assemblers_refuse_is_explained_as_far_as_it_goes(line, says):
    out = answer(["explain", line]).out
    assert [words for words in says if words not in out] == []


def test_loads_and_stores_of_fragments_have_the_address_where_it_stands():
    load = "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%rd6], %r12;"
    store = "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd4], {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, %r12;"
    roles = [[one.role for one in line.operands] for line in mmacalc.explain(f"{load}\n{store}", "sm_80").lines]
    assert roles == [["A", "address"], ["address", "D"]]


def test_explain_reads_standard_input_and_files(tmp_path):
    (tmp_path / "kernel.s").write_text(LISTING)
    out = answer(["explain", str(tmp_path / "kernel.s")]).out
    assert "1 hazard found" in out
    assert "lane 4: v4 = A[0][0].B0" in out


def test_a_tensor_memory_load_has_the_registers_that_ptxas_takes_and_the_cells_that_locate_names():
    columns = ("target", "instruction", "operands", "sass_opcodes")
    rows = {tuple([row[column] for column in columns]) for row in table("tensor_memory/sass_tcgen05.tsv.gz")}
    names = sorted(row for row in rows if row[2].endswith(" regs") and "+" not in row[2])
    compared = 0
    for target, name, operands, opcodes in names[::4]:
        count, store = int(operands.removesuffix(" regs")), name.startswith("tcgen05.st")
        registers = f"{{{', '.join(f'%r{at}' for at in range(count))}}}"
        words = ["[%t]", registers] if store else [registers, *["%red"] * (".red." in name), "[%t]"]
        [line] = mmacalc.explain(f"{name} {', '.join(words)};", target).lines
        assert not line.problem
        [held] = [one for one in line.operands if one.role in ("D", "A")]
        assert len(held.registers) == count
        for at, cells in enumerate(held.cells):
            for lane, column in cells:
                places = [(place.lane, place.register) for place in line.instruction.locate(lane, column)]
                assert (0, at) in places
        [wrong] = mmacalc.explain(f"{name} {', '.join(words)};".replace("{%r0", "{%r0, %r0"), target).lines
        assert wrong.problem == f"{held.role} takes {plural(count, 'register')}; got {count + 1}"
        for opcode in opcodes.split("; ") if ".red." not in name else ():  # those are not listed
            operands = "tmem[UR4], R4" if store else "R4, tmem[UR4]"
            [sass] = mmacalc.explain(f"{opcode.split(' + ')[0]} {operands}", target).lines
            [moved] = [one for one in sass.operands if one.role == held.role]
            assert (sass.instruction, len(moved.registers)) == (line.instruction, count)
            assert moved.cells == (() if "_t" in opcode else held.cells)
            compared += 1
    assert compared > 60


def test_instructions_around_products_are_named_for_what_they_are():
    meant = {}
    for row in table("tensor_memory/sass_tcgen05.tsv.gz"):
        operation = row["instruction"].removeprefix("tcgen05.").split(".")[0]
        if operation in ("alloc", "dealloc", "commit", "shift"):
            meant.setdefault(operation, set()).update(row["sass_opcodes"].split("; "))
            [line] = mmacalc.explain(f"{row['instruction']} [%r], %s;", row["target"]).lines
            assert line.purpose
            assert not line.problem
    for operation, opcodes in meant.items():
        assert {ptx_of_sass(opcode) for opcode in opcodes if opcode.startswith("UTC")} == {f"tcgen05.{operation}"}
    for text, says in (
        ("wgmma.fence.sync.aligned;", "orders accesses"),
        ("wgmma.commit_group.sync.aligned;", "one group"),
        ("wgmma.wait_group.sync.aligned 0;", "waits until at most"),
        ("/*0140*/  WARPGROUP.DEPBAR.LE gsb0, 0x0 ;", "as wgmma.wait_group"),
        ("ds_read_b64_tr_b16 v[0:1], v2", "`mmacalc transpose-loads -a cdna4 --load ds_read_b64_tr_b16`"),
        ("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3}, [%4];", "moves 4 matrices of 8x8"),
        (
            "mma.m16n8k16.row.col.f32.f16.f16.f32 {%0};",
            "It lacks .sync and .aligned: mma.sync.aligned.m16n8k16",
        ),
    ):
        out = answer(["explain", text]).out
        assert says in out
        assert "Did you mean" not in out


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_every_opcode_that_ptxas_makes_is_explained_also_where_it_stands_in_emulations_only(target):
    """All that ptxas 13.0.88 makes (sass_measured.tsv.gz) is an opcode of a layout, or a part of an emulation."""
    parts, made = set(), {row[target] for row in table("nvidia/sass_measured.tsv.gz") if row[target]}
    for text in made:
        for opcode in opcodes_of(text):
            [line] = mmacalc.explain(f"{opcode} R16, R37", target).lines
            assert line.instruction or line.purpose, (target, opcode, line.problem)
            parts |= {opcode} if line.purpose else set()
    assert parts == ({"MOVM.U4TO8.M832"} if target in ("sm_100a", "sm_120a") else set())


def test_a_part_of_an_emulation_is_named_with_what_it_is_a_part_of():
    says = (
        "a part of what ptxas makes of 8 instructions that sm_120a has no opcode for, such as mma.sync.aligned.m8n8k128"
    )
    assert says in answer(["explain", "-a", "sm_120a", "MOVM.U4TO8.M832 R16, R37"]).out
    assert says in answer(["-a", "sm_120a", "-i", "MOVM.U4TO8.M832", "-d"]).err
    assert mmacalc.explain("MOVM.U4TO8.M832 R16, R37").architecture == "sm_120a"
    assert "no instruction of sm_90a" in answer(["explain", "-a", "sm_90a", "MOVM.U4TO8.M832 R16, R37"]).out


def test_a_misspelt_name_is_looked_for_where_such_instructions_are():
    assert mmacalc.explain("wgmma.mma_async.m64n64k16.f32.f16.f16").architecture == "sm_90a"
    assert mmacalc.explain("mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%0};").architecture == "sm_80"


def test_find_takes_a_builtin_as_a_name():
    for name in ("__builtin_amdgcn_mfma_f32_32x32x8f16", "llvm.amdgcn.mfma.f32.32x32x8f16"):
        found = mmacalc.find(arch="MI300X", name=name)
        assert found == mmacalc.find(arch="MI300X", intrinsic=name)
        assert [inst.name for inst in found] == ["v_mfma_f32_32x32x8_f16"]
