"""The catalog: what it holds, how it is looked up, and that an architecture is one file."""

import copy
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mmacalc
from mmacalc import Error
from mmacalc.catalog import MAKERS, makers
from mmacalc.catalog.grammar.chips import Meaning, meaning
from mmacalc.formats import CHOICES, FORMATS
from mmacalc.model.architecture import VENDORS
from samples import sampled

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


# The architecture that CONTRIBUTING shows.
CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"
IMAGINARY = CONTRIBUTING.read_text().partition("```python\n")[2].partition("```")[0]


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
    assert all(found.startswith("Reply(status=0") for found in answers), answers
    assert "A[3][63] = v7{51}.[31:16]" in answers[2]  # two chunks of 8 (128 bits): k = 32 * c + 8 * g + e
    assert "(c g e) j -> lane (g j), item (c e)" in answers[7]


NAME = "v_mfma_f32_16x16x16_f16"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (("v_x", 1, 16, 12), "v_x' does not follow the grammar .* it should begin with v_ and one of mfma, smfmac"),
        (("v_mfma_f32_16x16_f16", 1, 16, 12), "'16x16' should be M x N x K, such as 16x16x16"),
        (("v_mfma_f32_16x16x0_f16", 1, 16, 12), "four positive numbers"),
        (("v_mfma_f32_16x16x16_f17", 1, 16, 12), "A has the format 'f17'"),
        (("v_mfma_f32_16x16x16_f16_f16_f16", 1, 16, 12), "end with the format of A and B, or with one of each"),
        (("v_mfma_f32_16x16x3f16", 1, 16, 12), "64 lanes do not hold 16 x 3 elements of f16 evenly"),
        ((NAME, 1, 16), "a line is .name, opcode, cycles, VALU cycles"),
        ((NAME, 1, (16, 16, 16, 1), ("f16",) * 4, 16, 12, ""), "a line is .name, opcode, cycles, VALU cycles"),
        ((NAME, 1, 16, 12, "cbzs"), "unknown feature 'cbzs'. Did you mean cbsz"),
        ((NAME, 1, 16, 12, {"narow_cycles": (6, 8)}), "unknown 'narow_cycles'. Did you mean narrow_cycles"),
        ((NAME, 1, 16, 12, {"provenance": "rumour"}), "provenance 'rumour' is not one of"),
        ((NAME, 1, 16, 12, {"formats": {"D": "f17"}}), "Did you mean f16"),
        ((NAME, 1, 16, 12, {"narrow_cycles": (6, 32)}), "fewer cycles than 16"),
        ((NAME, 1, -16, None), "the cycles are -16; they should be a positive number"),
        ((NAME, 1, 16, 99), "the VALU co-execution cycles are 99; they should be between 0 and the cycles"),
        ((NAME, 1, None, 12), "the VALU co-execution cycles are 12"),
        ((NAME, 0x1FF, 16, 12), "the opcode is 511; it should be a number below 128"),
        ((NAME, "0x4d", 16, 12), "opcode is '0x4d'; it should be int"),
        ((NAME, 0x7E, 16, 12), "opcode 0x7e already belongs to v_mfma_f32_8x8x4_8b_f16"),
        (("v_mfma_scale_f32_16x16x48_f8f6f4", 1, 16, 12), "block_size that divides k = 48; got 32"),
    ],
)
def test_a_catalog_line_that_is_wrong_is_refused_and_says_why(line, says):
    with pytest.raises(Error, match=says):
        imaginary(line).instructions()


def imaginary(*lines, **changes):
    """The entry of DNA9 with further lines, and with changes to its record."""
    from mmacalc.catalog import Entry
    from mmacalc.catalog.grammar import contents

    values = {}
    exec(IMAGINARY, values)
    file = contents({**values, "INSTRUCTIONS": (*values["INSTRUCTIONS"], *lines)})
    Entry.check_types(file.instructions, "dna9")  # as files outside the package are
    return Entry({**values["ARCHITECTURES"][0], **changes}, file)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"layout": "mmfa"}, "unknown layout family 'mmfa'. Did you mean mfma"),
        ({"vendor": "via"}, "the vendor of layout 'mfma' is amd; got 'via'"),
        ({"accumulators": "maybe"}, "accumulators is required, allowed or none; got 'maybe'"),
        ({"waves": (0,)}, "waves is a tuple of wave sizes"),
        ({"registers": 4}, "Architecture 'dna9' has no field 'registers'"),
        (
            {"registeralignment": 8},
            "Architecture 'dna9' has no field 'registeralignment'. Did you mean register_alignment",
        ),
        ({"products": (("A", 0),)}, "product A: units is 0; it should be a positive number"),
        ({"products": (("A", 1, "2"),)}, "product A: clock_ghz is '2'; it should be a positive number"),
    ],
)
def test_an_architecture_record_that_is_wrong_is_refused_and_says_why(changes, says):
    with pytest.raises(Error, match=says):
        imaginary(**changes)


def test_records_are_immutable_and_survive_copies():
    inst = mmacalc.instruction("cdna3", "v_mfma_f32_32x32x8_f16")
    for record, field in ((inst, "m"), (inst.architecture, "name"), (inst.operand("A"), "wave")):
        with pytest.raises(AttributeError, match=f"immutable: '{field}'"):
            setattr(record, field, 5)
        with pytest.raises(AttributeError, match=f"immutable: '{field}'"):
            delattr(record, field)
    with pytest.raises(TypeError):
        inst.formats["A"] = "f32"
    with pytest.raises(TypeError):
        inst.operand("A", cbsz=0).fields["cbsz"] = 1
    assert eval(repr(inst)) == inst == copy.deepcopy(inst) == pickle.loads(pickle.dumps(inst))
    assert eval(repr(inst.architecture)) == inst.architecture == pickle.loads(pickle.dumps(inst.architecture))
    first, *others = (inst.operand("A"), inst.operand("A", cbsz=0), pickle.loads(pickle.dumps(inst.operand("A"))))
    assert all(other == first for other in others)
    assert len({first, *others}) == 1
    assert first not in (inst.operand("B"), mmacalc.instruction("cdna4", inst.name).operand("A"))
    assert inst != mmacalc.instruction("cdna4", inst.name)


@pytest.mark.parametrize("name", ["v_mfma_f32_20x20x4_f16", "v_mfma_f32_16x16x6_f16", "v_mfma_f32_32x32x4_4b_f16",
                                  "v_mfma_f32_4x4x4_8b_f16", "v_mfma_f32_2x128x4_f16"])  # fmt: skip
def test_a_shape_that_does_not_fit_the_family_is_refused_when_an_operand_is_made(name):
    inst = imaginary((name, 1, 16, 12)).instruction(name)
    with pytest.raises(Error, match="does not fit the layout family 'mfma'"):
        [inst.operand(operand) for operand in inst.operands]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.py", "x = (", "cannot be read: '.' was never closed"),
        ("b.py", "INSTRUCTIONS = ()", "has no ARCHITECTURES"),
        ("c.py", "INSTRUCTION = ()", "line 1 should assign a literal to one of ARCHITECTURES, INSTRUCTIONS"),
        ("d.py", IMAGINARY.replace('"vendor": "amd",', ""), "architecture 'dna9' lacks: vendor"),
        ("e.py", IMAGINARY.replace("(64,)", "tuple([64])"), "ARCHITECTURES in line 7 is not a literal"),
        ("f.py", "raise SystemExit(0)\n" + IMAGINARY, "line 1 should assign a literal"),
        (
            "g.py",
            IMAGINARY.replace("INSTRUCTIONS = (", "INSTRUCTIONS = (5,"),
            r"INSTRUCTIONS should be tuple\[tuple",
        ),
        ("h.py", IMAGINARY.replace('"dna9"', '"cdna3"'), "the name 'cdna3' already belongs to cdna3"),
        ("i.py", IMAGINARY.replace("0x7E", "0x7F"), "opcode 0x7f already belongs to v_mfma_f32_16x16x64_f16"),
        ("missing/j.py", None, "cannot be read: No such file or directory"),
    ],
)
def test_a_wrong_catalog_file_is_an_error_that_says_what_is_wrong(tmp_path, name, text, says):
    catalog = tmp_path / name
    if text is not None:
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


def test_a_further_catalog_cannot_take_over_names_of_the_package(tmp_path):
    (tmp_path / "more.py").write_text(IMAGINARY.replace('"mi9000"', '"gfx942"'))
    program = "import mmacalc; print(mmacalc.architecture('gfx942').name); mmacalc.find(arch='dna9')"
    environment = {**os.environ, "MMACALC_CATALOG": str(tmp_path / "more.py")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["cdna3"]
    assert "the name 'gfx942' already belongs to cdna3" in done.stderr


# What drivers, compilers and shops print, the architecture that it means, and the product where the catalog lists it.
PRINTED = [
    ("AMD Instinct MI300X OAM", "cdna3", "MI300X"), ("AMD Radeon RX 7900 XTX", "rdna3", "RX 7900 XTX"),
    ("Aqua Vanjaram [Instinct MI300X]", "cdna3", "MI300X"), ("AMD Radeon RX 7600M XT", "rdna3", None),
    ("AMD Ryzen AI MAX+ 395 w/ Radeon 8060S", "rdna3", None), ("Strix Halo", "rdna3", "Radeon 8060S (Strix Halo)"),
    ("AMD Radeon AI PRO R9700", "rdna4", "AI PRO R9700"), ("AMD Radeon PRO W7900", "rdna3", "PRO W7900"),
    ("gfx942:sramecc+:xnack-", "cdna3", "MI300X"), ("amdgcn-amd-amdhsa--gfx1201", "rdna4", "RX 9070 XT"),
    ("gfx9-4-generic", "cdna3", "MI300X"), ("gfx11-generic", "rdna3", "RX 7900 XTX"),
    ("gfx12-generic", "rdna4", "RX 9070 XT"), ("NVIDIA H100 80GB HBM3", "sm_90a", "H100"),
    ("NVIDIA H100 PCIe", "sm_90a", "H100 PCIe"), ("NVIDIA H100 NVL", "sm_90a", None),
    ("NVIDIA A100-SXM4-80GB", "sm_80", "A100"), ("Tesla V100-PCIE-16GB", "sm_70", "V100 PCIe"),
    ("NVIDIA GeForce RTX 4090", "sm_89", "RTX 4090"), ("NVIDIA GeForce RTX 4090 Laptop GPU", "sm_89", None),
    ("NVIDIA GeForce RTX 5070 Ti", "sm_120a", None), ("RTX 3050", "sm_86", None), ("RTX 2050", "sm_86", "RTX 2050"),
    ("NVIDIA RTX 4000 Ada Generation", "sm_89", None), ("Quadro RTX 6000", "sm_75", None),
    ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "sm_120a", "RTX PRO 6000"),
    ("NVIDIA B200", "sm_100a", "B200"), ("GRID T4-4Q", "sm_75", None), ("NVIDIA A30 MIG 1g.6gb", "sm_80", None),
    ("NVIDIA GH200 480GB", "sm_90a", "GH200"), ("sm_90", "sm_90", None), ("compute_90a", "sm_90a", "H100"),
    ("9.0a+PTX", "sm_90a", "H100"), ("90-real", "sm_90", None), ("ada", "sm_89", "L40S"),
]  # fmt: skip


@pytest.mark.parametrize(("printed", "arch", "product"), PRINTED, ids=[row[0] for row in PRINTED])
def test_what_drivers_compilers_and_shops_print_is_an_architecture(printed, arch, product):
    assert mmacalc.architecture(printed).name == arch
    found = mmacalc.catalog.product(printed)
    assert (found.name if found else None) == product


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("RTX 6000", r"ambiguous: .*rtx 6000 ada \(sm_89\).*rtx pro 6000 \(sm_120a\).*quadro rtx 6000 \(sm_75\)"),
        ("jetson", "ambiguous: jetson agx xavier"),
        ("gfx1030", "no matrix instructions: WMMA begins with RDNA3"),
        ("GeForce GTX 1660 SUPER", "no tensor cores"),
        ("Tesla P100-PCIE-16GB", "tensor cores begin with Volta"),
        ("AMD Ryzen 7 7700", "unknown architecture"),
        ("AMD Radeon Graphics", "unknown architecture"),
        ("hello a2", r"unknown architecture 'hello a2'\. Did you mean a2\?"),
        ("some m1", r"unknown architecture 'some m1'\. Did you mean m1\?"),
        ("1234", "unknown architecture"),
        ("v", "unknown architecture"),
        ("", "unknown architecture"),
    ],
)
def test_a_name_of_several_architectures_or_of_none_is_refused(name, says):
    with pytest.raises(Error, match=says):
        mmacalc.architecture(name)


@sampled("word", MAKERS, 3, whole=8)
def test_a_product_is_never_taken_for_another_vendors(word):
    """A vendor's word before and behind every known name: what is found is that vendor's, or nothing is."""
    owner = {
        known: mmacalc.architecture(arch).vendor
        for arch, aliases in mmacalc.architectures().items() for known in (arch, *aliases)
    }  # fmt: skip
    assert len(owner) > 150
    for known, vendor in owner.items():
        for text in (f"{word} {known}", f"{known.upper()} ({word.title()})"):
            if vendor == MAKERS[word] and word in (*VENDORS, "radeon", "geforce"):
                assert mmacalc.architecture(f"{word} {known}") == mmacalc.architecture(known)
                continue
            try:
                found = mmacalc.architecture(text).vendor
            except Error:
                continue
            assert found == vendor, text
            assert makers(text) == {"apple" if vendor == "arm" else vendor}, text  # Apple's M4 has Arm's SME


def test_a_refused_vendor_is_told_whose_the_product_is():
    with pytest.raises(Error, match=r"'Intel Arc A2'\. a2 is NVIDIA's \(sm_86\); leave the other vendor's name out"):
        mmacalc.architecture("Intel Arc A2")


@pytest.mark.parametrize(("name", "message"), [
    ("Intel Panther Lake", "Intel Panther Lake is not covered: IGC's sources name no difference of Xe3's dpas"),
    ("MI440X", "MI440X is not covered: no public source says whether it is gfx1250 or gfx1251"),
    ("Meteor Lake", "Meteor Lake has no matrix instructions: Xe-LPG has no DPAS"),
])  # fmt: skip
def test_products_that_are_known_and_not_covered_are_refused_with_what_is_known(name, message):
    with pytest.raises(Error, match=message):
        mmacalc.architecture(name)


def test_apple_s_sme_is_not_its_gpu():
    assert [mmacalc.architecture(name).name for name in ("Apple M4 SME", "M4 SME", "Apple M4", "Apple M4 Max")] == [
        "sme-512", "sme-512", "apple7", "apple7",
    ]  # fmt: skip


def test_a_compute_capability_is_its_target_in_every_spelling_of_nvcc_cmake_and_torch():
    targets = [name for name in mmacalc.architectures() if name.startswith("sm_")]
    known = {name: name for name in targets}
    assert len(targets) > 25
    for target in targets:
        number, suffix = re.fullmatch(r"sm_(\d+)([af]?)", target).groups()
        dotted = f"{number[:-1]}.{number[-1]}{suffix}"
        whole = f"{number}{suffix}"
        spelt = [*(f"{word}{whole}" for word in ("compute_", "SM", "lto_", "")), f"cc{dotted}", dotted, f"{dotted}+PTX"]
        for text in (*spelt, f"{whole}-real", f"{whole}-virtual"):
            assert meaning(text, known) == Meaning(target, False), text
        for text in (f"{dotted}0", f"{number[:-1]}.0{number[-1]}", f"{whole}aa", f"{number}00"):
            assert meaning(text, known) is None, text
    assert [meaning(text, known) for text in ("9", "7", "1000", "9.0.0", "90af", "9.00", "1.20", "1.00a")] == [None] * 8


def test_words_of_a_text_choose_the_name_that_has_most_of_them():
    known = {"RX 7600": "rdna3", "RX 7600 XT": "rdna3", "PRO W7900": "rdna3", "PRO W7800": "rdna3", "RTX 40#0": "sm_89",
             "RTX 4090": "sm_89", "RTX 5*": "sm_120a", "H100": "sm_90a", "GH-100": "sm_90a"}  # fmt: skip
    for text, name, other in (
        ("RX 7600", "RX 7600", False), ("Radeon RX 7600 XT", "RX 7600 XT", False), ("RX 7600M", None, None),
        ("PRO", "PRO W7900", True), ("RX", None, None), ("PRO W7800 W7900", "PRO W7900", True),
        ("RTX 4090", "RTX 4090", False), ("RTX 4070", "RTX 40#0", True), ("RTX 4000", None, None),
        ("RTX 40700", None, None), ("RTX 50", "RTX 5*", True), ("RTX 59", "RTX 5*", True), ("RTX 5x", None, None),
        ("RTX 4090", "RTX 4090", False), ("RTX 4010", "RTX 40#0", True), ("RTX 4080", "RTX 40#0", True),
        ("H100 80GB HBM3", "H100", False),
        ("H100 8GB", "H100", False),
        ("H100 XGB", "H100", True), ("H100 GB", "H100", True), ("H100 NVL", "H100", True), ("gh 100", "GH-100", False),
    ):  # fmt: skip
        assert meaning(text, known) == (None if name is None else Meaning(name, other)), text
    with pytest.raises(
        Error, match=r"^'RTX' is ambiguous: rtx 40#0 \(sm_89\) or rtx 5\* \(sm_120a\); give one of them$"
    ):
        meaning("RTX", {name.lower(): owner for name, owner in known.items()})


def test_the_page_of_a_generation_names_its_other_architectures():
    found = mmacalc.cli.answer(["architectures", "blackwell"]).out
    assert "sm_100a (Blackwell)" in found
    assert "further architectures: sm_103a (B300), sm_110a (Jetson AGX Thor), sm_120a (RTX PRO 6000), sm_121a" in found
    assert "further" not in mmacalc.cli.answer(["architectures", "B200"]).out


def test_every_name_in_the_catalog_means_itself_when_it_is_printed_in_a_sentence():
    for arch, aliases in mmacalc.architectures().items():
        for name in aliases:
            if len(name) > 3:
                assert mmacalc.architecture(f"device 0: {name} (ok)").name == arch, name


def test_a_value_out_of_range_is_answered_with_every_value_that_a_modifier_takes():
    """The text is read back: "0 to 7", "0 or 4", "0 (fp8), 1 (bf8)"."""
    seen = {}
    for arch in mmacalc.architectures():
        for inst in mmacalc.instructions(arch) if mmacalc.architecture(arch).vendor == "amd" else ():
            for cbsz in (0, 1):
                for name, values in inst.modifier_limits(cbsz=cbsz).items():
                    seen.setdefault((name, values, inst.choices.get(name)), (inst, {"cbsz": cbsz} if cbsz else {}))
    for (name, values, chosen), (inst, others) in seen.items():
        with pytest.raises(mmacalc.Error) as refused:
            inst.check_modifiers(None, {**others, name: 99})
        spoken = re.search(r" is (.*); got 99$", str(refused.value))[1]
        numbers = [int(each) for each in re.findall(r"\d+(?! to|p)", re.sub(r"\(.*?\)", "", spoken))]
        if ends := re.fullmatch(r"(\d+) to (\d+)", spoken):
            numbers = [*range(int(ends[1]), int(ends[2]) + 1)]
            assert len(numbers) > 2
        assert tuple(numbers) == values, (inst, name, spoken)
        if chosen:
            formats = CHOICES[inst.formats[chosen]]
            assert [FORMATS[form].title.split(" (")[0].lower() for form in formats] == re.findall(r"\((.*?)\)", spoken)
    assert len(seen) > 15


def test_a_value_out_of_range_is_answered_with_what_decides_the_range():
    for arch, name, given, said in (
        ("rdna4", "v_swmmac_f32_16x16x32_f16", {"opsel": 9}, r"OPSEL of \w+ in wave32 is "),
        ("cdna5", "v_swmmac_f32_16x16x64_f16", {"opsel": 9}, r"OPSEL of \w+ is "),
        ("cdna3", "v_mfma_f32_32x32x4_2b_f16", {"cbsz": 1, "abid": 9}, r"ABID of \w+ with CBSZ 1 is "),
        ("cdna3", "v_mfma_f32_32x32x4_2b_f16", {"abid": 9}, r"ABID of \w+ with CBSZ 0 is "),
    ):
        with pytest.raises(Error, match=said):
            mmacalc.instruction(arch, name).check_modifiers(None, given)


def test_abid_of_a_sparse_mfma_chooses_among_the_index_sets_of_a_register_or_is_ignored():
    """CDNA3 and CDNA4 ISA guides, "Sparse Index Select": a set has two bits for each stored value of the lane; ABID
    chooses where CBSZ[1:0] is 0 and more than one set fits."""
    sparse = [inst for arch in ("cdna3", "cdna4") for inst in mmacalc.instructions(arch) if inst.sparse]
    for inst in sparse:
        sets = 32 // (inst.m * inst.k // 64)
        assert inst.modifier_limits()["cbsz"] == (0, 1, 2, 3)
        abid = [len(inst.modifier_limits(cbsz=cbsz)["abid"]) for cbsz in range(4)]
        assert abid == [sets if sets > 1 else 16, 16, 16, 16]
    assert len(sparse) > 40


def test_modifiers_have_the_names_of_the_fields_and_those_of_assembly_too():
    wmma = mmacalc.instruction("rdna4", "v_swmmac_f32_16x16x32_f16")
    assert wmma.resolved({"neg_lo": 1, "neg_hi": 2, "index_key": 1}) == {"neg": 1, "neg_hi": 2, "opsel": 1}
    packed = mmacalc.instruction("rdna3", "v_wmma_f16_16x16x16_f16")
    assert packed.resolved({"op_sel": 4, "opsel_hi": 7}) == {"opsel": 4, "op_sel_hi": 7}
    chosen = mmacalc.instruction("cdna4", "v_mfma_f32_16x16x128_f8f6f4")
    assert chosen.resolved({"matrix_a_fmt": "fp6", "matrix_b_fmt": 4}) == {"cbsz": 2, "blgp": 4}
    chosen = mmacalc.instruction("cdna5", "v_wmma_f32_16x16x128_f8f6f4")
    assert chosen.resolved({"cbsz": "fp6", "blgp": 4}) == {"matrix_a_fmt": 2, "matrix_b_fmt": 4}
    with pytest.raises(Error, match=r"neg of .* is given twice: 1 and 2"):
        wmma.resolved({"neg": 1, "neg_lo": 2})


def test_cbsz_of_a_dense_mfma_broadcasts_to_as_many_blocks_as_there_are_and_abid_chooses_one_of_each_group():
    """CDNA3 ISA guide, "Broadcasting values": 2^CBSZ blocks share one of theirs, ABID."""
    for arch in ("cdna1", "cdna2", "cdna3", "cdna4"):
        for inst in mmacalc.instructions(arch):
            if "cbsz" in inst.features and not inst.sparse:
                groups = [size for size in (1, 2, 4, 8, 16, 32, 64) if size <= inst.blocks]
                assert inst.modifier_limits()["cbsz"] == tuple(range(len(groups)))
                for cbsz, blocks in enumerate(groups):
                    assert inst.modifier_limits(cbsz=cbsz)["abid"] == tuple(range(blocks))
