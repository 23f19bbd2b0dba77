"""`explain` and SASS names: what a pasted line means, against the recorded assembly of ptxas and our own encodings."""

import json
import random
import shlex

import pytest

import mmacalc
from asm_texts import all_forms, random_text
from mmacalc.catalog.grammar.sass import becomes, sources
from mmacalc.cli import answer
from recorded import table

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
    assert all("HMMA.16816" in becomes(mmacalc.instruction("sm_80", name), "sm_80")[0] for name in found)
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
        ("/", "cannot read"),
    ],
)
def test_what_cannot_be_explained_is_refused(line, says):
    status, out, err = answer(["explain", *shlex.split(line)])
    assert (status, out) == (2, "")
    assert says in err


def test_a_line_that_is_wrong_is_explained_with_what_is_wrong():
    out = answer(["explain", "v_mfma_f32_32x32x8_f16 v[0:14], v[16:17], v[18:19], v[0:15]"]).out
    assert "D of v_mfma_f32_32x32x8_f16 takes 16 registers" in out
    found = json.loads(answer(["explain", "--json", "-a", "sm_80", "mma.sync.aligned.m16n8k16 {%0};"]).out)
    assert "PTX has no" in found["lines"][0]["problem"]
    assert found["lines"][0]["instruction"] is None


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
