"""The catalog: what it holds, how it is looked up, and that an architecture is one file."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import mmacalc
from mmacalc import Error

COUNTS = {"cdna1": 20, "cdna2": 27, "cdna3": 46, "rdna3": 6, "rdna4": 22}
ALIASES = {
    "cdna1": "cdna gfx908 arcturus mi100",
    "cdna2": "gfx90a aldebaran mi200 mi210 mi250 mi250x",
    "cdna3": "gfx940 gfx941 gfx942 aqua_vanjaram mi300 mi300a mi300x mi325x",
    "rdna3": "gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153",
    "rdna4": "gfx1200 gfx1201",
}


def test_every_architecture_of_amds_tool_has_its_instructions():
    assert {arch: len(mmacalc.instructions(arch)) for arch in COUNTS} == COUNTS


def test_every_alias_in_any_case_names_its_architecture():
    for arch, aliases in ALIASES.items():
        assert set(aliases.split()) <= set(mmacalc.architectures()[arch])
        for alias in aliases.split():
            assert mmacalc.instructions(alias.upper())[0].arch == arch


def test_no_name_means_two_architectures_or_two_instructions():
    names = [name for known, aliases in mmacalc.architectures().items() for name in (known, *aliases)]
    assert len(names) == len(set(names))
    for arch in mmacalc.architectures():
        spellings = [name for inst in mmacalc.instructions(arch) for name in (inst.name, *inst.aliases)]
        assert len(spellings) == len(set(spellings))


def test_an_instruction_is_found_by_alias_and_in_any_case():
    assert mmacalc.instruction("gfx942", "V_MFMA_F32_32x32x8f16").name == "v_mfma_f32_32x32x8_f16"


@pytest.mark.parametrize(
    ("arch", "name", "says"),
    [
        ("cdna33", "v_mfma_f32_16x16x16_f16", "Did you mean cdna3"),
        ("MI300Z", "v_mfma_f32_16x16x16_f16", "Did you mean mi300"),
        ("cdna3", "v_mfma_f32_16x16x16_f61", "Did you mean v_mfma_f32_16x16x16_f16"),
        ("cdna3", "hello", "`-a cdna3 -L` lists them all"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_closest(arch, name, says):
    with pytest.raises(Error, match=says):
        mmacalc.instruction(arch, name)


IMAGINARY = """
ARCHITECTURES = (
    {
        "name": "dna9", "title": "DNA9", "vendor": "amd", "layout": "mfma", "waves": (64,),
        "aliases": ("gfx9999",), "encoding": "VOP3P-MAI", "register_alignment": 8, "accumulators": "allowed",
        "unit": "CU",
    },
)
INSTRUCTIONS = (
    ("v_mfma_f32_16x16x64_f16", 0x7F, (16, 16, 64, 1), ("f16", "f16", "f32", "f32"), 16, 12, ""),
    ("v_mfma_f32_8x8x4_8b_f16", 0x7E, (8, 8, 4, 8), ("f16", "f16", "f32", "f32"), 16, None, "cbsz blgp"),
)
"""


def test_an_architecture_is_one_file_and_no_code(tmp_path):
    catalog = tmp_path / "dna9.py"
    catalog.write_text(IMAGINARY)
    base = ["-a", "gfx9999", "-i", "v_mfma_f32_16x16x64_f16"]
    lines = [
        ["-a", "DNA9", "-L"],
        [*base, "-d"],
        [*base, "-A", "-g", "-I", "3", "-K", "63"],
        [*base, "-B", "-m", "-r", "7", "-l", "63"],
        [*base, "-D", "-g", "-o", "-I", "1", "-J", "2"],
        [*base, "-A", "-R"],
        [*base, "-C", "-M", "--json"],
        [*base, "-B", "--pattern"],
        ["-a", "dna9", "-i", "v_mfma_f32_8x8x4_8b_f16", "-A", "-R", "--cbsz", "1", "--abid", "1"],
        ["find", "--k", "64", "-a", "dna9"],
    ]
    environment = {**os.environ, "MMACALC_CATALOG": str(catalog)}
    program = "import sys\nfrom mmacalc.cli import answer\nfor line in eval(sys.argv[1]): print(answer(line))"
    done = subprocess.run(
        [sys.executable, "-c", program, repr(lines)], env=environment, capture_output=True, text=True, check=True
    )
    answers = done.stdout.splitlines()
    assert len(answers) == len(lines)
    assert all(found.startswith("Answer(status=0") for found in answers), answers
    assert "A[3][63] = v7{51}.[31:16]" in answers[2]  # two chunks of 8 (128 bits): k = 32 * c + 8 * g + e
    assert "(c g e) j -> lane (g j), item (c e)" in answers[7]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('("v_x", 1, (16, 16, 0, 1), ("f16", "f16", "f32", "f32"))', "four positive numbers"),
        ('("v_x", 1, (16, 16, 4, 1), ("f17", "f16", "f32", "f32"))', "Did you mean f16"),
        ('("v_x", 1, (16, 16, 4, 1), ("f16",) * 4, 1, 1, "", {"provenance": "rumour"})', "not one of"),
        ('("v_x", 1, (16, 16, 4), ("f16",) * 4)', "not enough values|four positive numbers"),
        ('("v_x", 1)', "missing .* 'shape' and 'formats'"),
        ('("v_x", 1, (16, 16, 16, 1), ("f16",) * 4, 1, 1, "cbzs")', "unknown feature 'cbzs'. Did you mean cbsz"),
    ],
)
def test_a_wrong_catalog_line_is_refused_when_the_instruction_is_made(tmp_path, monkeypatch, line, says):
    from mmacalc.catalog import Entry

    record = eval(IMAGINARY.split("ARCHITECTURES = ")[1].split("INSTRUCTIONS")[0])[0]
    with pytest.raises(Error, match=says):
        Entry(record, (eval(line),), {}).instructions()


@pytest.mark.parametrize("shape", [(20, 20, 4, 1), (16, 16, 6, 1), (32, 32, 4, 4), (4, 4, 4, 8), (2, 128, 4, 1)])
def test_a_shape_that_does_not_fit_the_family_is_refused_when_an_operand_is_made(shape):
    from mmacalc.catalog import Entry

    record = eval(IMAGINARY.split("ARCHITECTURES = ")[1].split("INSTRUCTIONS")[0])[0]
    (inst,) = Entry(record, (("v_x", 1, shape, ("f16", "f16", "f32", "f32")),), {}).instructions()
    with pytest.raises(Error, match="does not fit the layout family 'mfma'"):
        [inst.operand(name) for name in inst.operands]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.py", "x = (", "cannot be read: '\\(' was never closed"),
        ("b.py", "INSTRUCTIONS = ()", "has no ARCHITECTURES"),
        ("c.txt", IMAGINARY, "not a readable Python file"),
        ("d.py", IMAGINARY.replace('"unit": "CU",', ""), "record of architecture 'dna9' lacks: unit"),
    ],
)
def test_a_wrong_catalog_file_is_an_error_that_says_what_is_wrong(tmp_path, name, text, says):
    catalog = tmp_path / name
    catalog.write_text(text)
    environment = {**os.environ, "MMACALC_CATALOG": str(catalog)}
    done = subprocess.run(
        [sys.executable, "-m", "mmacalc", "-a", "dna9", "-L"], env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(says, done.stderr), done.stderr
    assert done.stderr.count("\n") <= 2


def test_find_looks_across_architectures():
    found = mmacalc.find(m=32, n=32, k=8, a="f16")
    assert {inst.arch for inst in found} >= {"cdna1", "cdna2", "cdna3"}
    assert all((inst.m, inst.k, inst.formats["A"]) == (32, 8, "f16") for inst in found)
    assert {inst.formats["A"] for inst in mmacalc.find(a="fp8")} >= {"e4m3", "e4m3fnuz"}
    assert [inst.name for inst in mmacalc.find(arch="cdna3", opcode=0x4C)] == ["v_mfma_f32_32x32x8_f16"]


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda a: a.locate(i=1.0), "i = 1.0 should be a whole number"),
        (lambda a: a.locate(i="1"), "i = '1' should be a whole number"),
        (lambda a: a.locate(i=4), "i = 4 is outside A of v_mfma_f32_4x4x4_16b_f16: i is 0 to 3"),
        (lambda a: a.locate(x=0), "no coordinate 'x'"),
        (lambda a: a.contents(None, 0), "register = None should be a whole number"),
        (lambda a: a.contents(0, -1), "lane = -1 is outside the wave"),
        (lambda a: a.instruction.operand("A", cbsz=-1), "CBSZ of .* is 0 to 4; got -1"),
        (lambda a: a.instruction.operand("A", cbsz=0.5), "cbsz = 0.5 should be a whole number"),
        (lambda a: a.instruction.operand("A", cbsz="1"), "cbsz = '1' should be a number"),
        (lambda a: a.instruction.operand("A", cbsz=1, abid=2), "ABID of .* with CBSZ 1 is 0 or 1; got 2"),
        (lambda a: a.instruction.operand("A", blpg=1), "Did you mean blgp"),
        (lambda a: a.instruction.operand("A", wave="64"), "wave = '64' should be a whole number"),
        (lambda a: a.instruction.operand("E"), "no operand 'E'; it has A, B, C, D"),
    ],
)
def test_every_bad_argument_is_an_error_that_says_what_would_be_right(ask, says):
    operand = mmacalc.instruction("cdna3", "v_mfma_f32_4x4x4_16b_f16").operand("A")
    with pytest.raises(Error, match=says):
        ask(operand)


def test_the_integers_of_numpy_are_as_good_as_those_of_python():
    operand = mmacalc.instruction("cdna3", "v_mfma_f32_4x4x4_16b_f16").operand("A")
    one = np.int64(1)
    assert operand.locate(i=one, k=np.uint8(1)) == operand.locate(i=1, k=1)
    assert operand.contents(one, one) == operand.contents(1, 1)


def test_sparse_layouts_that_amd_tested_on_silicon_are_called_hardware_verified():
    """hip-fpsan has the floating-point ones, and of RDNA4 there are AMD's integer tests too."""
    for arch, tested in (("cdna3", 12), ("cdna4", 24), ("rdna4", 11)):
        sparse = [inst for inst in mmacalc.instructions(arch) if inst.sparse]
        verified = [inst for inst in sparse if not inst.integer or arch == "rdna4"]
        assert len(verified) == tested
        for inst in sparse:
            words = {inst.operand(name).provenance for name in inst.operands}
            assert words == {"hardware-verified" if inst in verified else "two sources agree"}
            assert inst.provenance_of("cycles") == "two sources agree"
