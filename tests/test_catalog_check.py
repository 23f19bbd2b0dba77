"""A catalog file is held against all that it refers to: the package's own, wrong rows, outside files, random
changes."""

from __future__ import annotations

import copy
import importlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mmacalc
from mmacalc import Error, catalog
from mmacalc.catalog import Catalog, normalised
from mmacalc.catalog.grammar import NAMES, contents
from mmacalc.catalog.grammar.check import check, check_file
from samples import sampled

ROOT = Path(__file__).parents[1]
DNA9 = (ROOT / "CONTRIBUTING.md").read_text().partition("```python\n")[2].partition("```")[0]
OWN = ("cdna1", "cdna2", "cdna3", "cdna4", "cdna5", "ptx", "rdna3", "rdna4", "xe")


def own(name):
    values = vars(importlib.import_module(f"mmacalc.catalog.{name}"))
    return {spelled: values[spelled] for spelled in NAMES if spelled in values}


@pytest.mark.parametrize("name", OWN)
def test_every_file_of_the_package_passes_the_check_of_outside_files(name):
    file = contents(own(name))
    check_file(file)
    records = file.records if name != "ptx" else file.records[::9]  # of each target the same lines are checked
    for record in records:
        others = {normalised(other): other for other in mmacalc.architectures() if other != record["name"]}
        entry = catalog.entry(record["name"])
        entry.check_types(file.instructions, record["name"])
        check(entry, file, others)


# --- wrong rows -------------------------------------------------------------------------------------------------------

LINE = ("v_mfma_f32_16x16x16_f16", 1, 16, 12)
SPARSE = ("v_smfmac_f32_16x16x32_f16", 1, 16, 8)
SCALED = ("v_mfma_scale_f32_16x16x128_f8f6f4", 1, 32, 28)
CHOICE = {"format_fields": {"A": "cbsz", "B": "blgp"}, "scale_fields": {"opsel": 4, "op_sel_hi": 4}}


def line(*fields, **record):
    return {"lines": (fields,), "record": record}


def file(**values):
    return {"file": values}


def record(**fields):
    return {"record": fields}


WRONG = [
    # of a line
    (line(LINE[0], 1, 17, 12), "cycles are a multiple of 4, since an instruction takes whole passes; got 17"),
    (line(LINE[0], 1, True, None), "cycles is True; it should be int"),
    (line(LINE[0], 1, (), None), "cycles and narrow_cycles have one for each architecture"),
    (line(LINE[0], 1, "16", None), "cycles is '16'"),
    (line(LINE[0], True, 16, None), "opcode is True"),
    (line(*LINE, 5), "features is 5; it should be str"),
    (line(*LINE, {"wait_cycles": "8"}), "wait_cycles is '8'; it should be tuple"),
    (line(*LINE, {"wait_cycles": (0, None)}), "wait_cycles are .* positive; got"),
    (line(*LINE, {"narrow_cycles": (6, 8)}), "narrow_cycles goes with a field that chooses formats"),
    (line(*LINE, {"since_llvm": 2}), "since_llvm is a version of LLVM, at least 10; got 2"),
    (line(*LINE, {"since_llvm": "24"}), "since_llvm is '24'"),
    (line(*LINE, {"on": ("dna8",)}), "on names 'dna8', which does not exist. Did you mean dna9"),
    (line(*LINE, "blgp blgp"), "a feature is named twice"),
    (line(*SPARSE, "blgp"), "sparse instructions have no blgp"),
    (line(*LINE, {"prefix_opcode": 3}), "prefix_opcode goes with scales"),
    (line(*SCALED, {"scale_format": "f32", "prefix_opcode": 2}, **CHOICE), "scales have 8 bits; got f32"),
    (line(*SCALED, {"prefix_opcode": 2}), "format_fields of the architecture does not name the field"),
    (line(*LINE, {"unconfirmed": (5,)}), "unconfirmed is .5,.; it should be tuple"),
    (line(*LINE, {"unconfirmed": {"A": 5}}), "unconfirmed is .*; it should be tuple"),
    (line(*LINE, {"unconfirmed": ("Q",)}), "unconfirmed names 'Q'.*Known: A, B"),
    (line(*LINE, {"provenance": "rumour"}), "provenance 'rumour' is not one of: hardware-verified"),
    (line(*LINE, {"formats": {"A": "f32", "B": "bf16"}}), "formats say B bf16; the name says A f16"),
    (line(*LINE, {"formats": {"Z": "f16"}}), "formats say Z f16; the name says"),
    (line(*LINE, {"cylces": 3}), "unknown 'cylces'"),
    (line("v_mfma_f32_20x20x4_f16", 1, 16, 12), "does not fit the layout family 'mfma'"),
    (line("v_mfma_f32_16x16x16_f61", 1, 16, 12), "A has the format 'f61'"),
    (line(LINE[0], 1, 16), "a line is .name, opcode, cycles"),
    (line(), "a line is .name, opcode, cycles"),
    # of the file
    (file(ALIASES={"v_mfma_old": "v_mfma_f32_99x99x99_f16"}), "'v_mfma_old' names .* which does not exist"),
    (file(ALIASES=5), "ALIASES should be Mapping"),
    (file(ALIASES={"V_OLD": "v_mfma_f32_16x16x64_f16"}), "alias 'V_OLD' is lower case"),
    (file(VECTOR_INSTRUCTIONS={"ds_bpermute_b32": "all"}), "VECTOR_INSTRUCTIONS should be .*; got"),
    (file(VECTOR_INSTRUCTIONS={"ds_bpermute_b32": 3}), "lanes as a power of two; ds_bpermute_b32 has 3"),
    (file(TRANSPOSE_LOADS=("nonsense",)), "TRANSPOSE_LOADS should be tuple.tuple"),
    (file(TRANSPOSE_LOADS=(("ds_x", 1, 4),)), "a line of TRANSPOSE_LOADS is .name, opcode, bits, registers"),
    (file(TRANSPOSE_LOADS=(("ds_x", 1, 4, 2, "sure", "sure"),)), "provenance names 'sure', which does not exist"),
    (file(COMMON=5), "COMMON should be Mapping"),
    (file(WITHOUT_MATRIX_INSTRUCTIONS=5), "WITHOUT_MATRIX_INSTRUCTIONS should be Mapping"),
    (file(INSTRUCTIONS=()), "INSTRUCTIONS should be tuple"),
    (file(ARCHITECTURES=({"name": "x"}, 5)), "ARCHITECTURES should be tuple"),
    # of the record
    (record(encoding="VOP3P-MIA"), "encoding names 'VOP3P-MIA', which does not exist. Did you mean VOP3P-MAI"),
    (record(unit="XY"), "unit names 'XY', which does not exist"),
    (record(hazards="gfx95"), "hazards names 'gfx95', which does not exist. Did you mean gfx950"),
    (record(assembly="cdna9"), "assembly names 'cdna9'.*Did you mean cdna"),
    (record(arithmetic="cdna9"), "arithmetic names 'cdna9'.*Did you mean cdna"),
    (record(builtins="mmfa"), "builtins names 'mmfa'.*Did you mean mfma"),
    (record(hazards_of={"gfx9999": "nothing"}), "hazards_of names 'nothing'"),
    (record(assembly_of={22: "nothing"}), "assembly_of names 'nothing'"),
    (record(also_assembled={22: ("dna7", "v_")}), "also_assembled names 'dna7'"),
    (record(lds_bytes=-5), "lds_bytes is 0 to"),
    (record(lds_phases=(("sideways", 1),)), "a line of lds_phases is .access, bytes, banks"),
    (record(lds_phases=(("read", 4, 32, "0-x", "one source", ""),)), "lanes are such as '0-3"),
    (record(lds_phases=(("read", 4, 33, "0-3", "one source", ""),)), "number of banks is a power of two; got 33"),
    (record(register_alignment="8"), "register_alignment should be int"),
    (record(register_alignment=3), "register_alignment is a power of two"),
    (record(fma_per_clock="many"), "fma_per_clock should be Mapping"),
    (record(fma_per_clock={"f17": 4}), "fma_per_clock has rates of f16, .*; got 'f17'"),
    (record(layouts_on_hardware={"loose": ("f16",)}), "layouts_on_hardware names 'loose'"),
    (record(layouts_on_hardware={"dense": ("f17",)}), "layouts_on_hardware names 'f17'"),
    (record(assumed=("cylces",)), "assumed names 'cylces', which does not exist. Did you mean cycles"),
    (record(unconfirmed=("Q",)), "unconfirmed names 'Q'"),
    (record(products=(("A", True),)), "product A: units should be int"),
    (record(products=5), "products should be tuple"),
    (record(products=((),)), "a product is .name, units, clock"),
    (record(products=(("A", 1, 1.0, {"target": "gfx1"}),)), "product A: its target is one of"),
    (record(aliases=("gfx942",)), "the name 'gfx942' already belongs to cdna3"),
    (record(aliases=("MI-300X",)), "the name 'MI-300X' already belongs to cdna3"),
    (record(aliases=(5,)), "aliases should be tuple.str"),
    (record(aliases=("",)), "has no letter or digit"),
    (record(name=5), "name should be str; got 5"),
    (record(name="DNA9"), "the name is lower case"),
    (record(title="DNA9\x1b[31m"), "control characters"),
    (record(title=""), "the title is empty"),
    (record(waves=(64, 64)), "waves are different powers of two"),
    (record(waves=(48,)), "waves are different powers of two"),
    (record(waves=()), "waves is a tuple of wave sizes"),
    (record(layout=5), "layout should be str"),
    (record(layout="mmfa"), "unknown layout family 'mmfa'. Did you mean mfma"),
    (record(vendor="nvidia"), "the vendor of layout 'mfma' is amd"),
    (record(colour="red"), "has no field 'colour'"),
    (record(scale_fields={"opsel": 3}), "scale_fields has the number of values of each field, a power of two"),
    (record(format_names={"fp8": "f17"}), "format_names names 'f17'"),
    (record(since_llvm={"gfx9999": 3}), "since_llvm has a version of at least 10"),
    (record(rocwmma=("gfx90",)), "rocwmma names 'gfx90'"),
    (record(notes={"f16": "a\nb"}), "control characters"),
]  # fmt: skip


def written(path, values):
    path.write_text("\n".join(f"{name} = {value!r}" for name, value in values.items()))
    return path


def refusal(path, values):
    """What a catalog with one such file says when all of it is read."""
    with pytest.raises(Error) as refused:
        Catalog([str(written(path, values))]).names()
    return str(refused.value)


@pytest.mark.parametrize(("change", "says"), WRONG, ids=[says[:40] for _, says in WRONG])
def test_a_wrong_row_is_refused_with_a_sentence_that_says_what_would_be_right(tmp_path, change, says):
    values = {}
    exec(DNA9, values)
    values = {name: value for name, value in values.items() if name in NAMES}
    values["INSTRUCTIONS"] += change.get("lines", ())
    values["ARCHITECTURES"] = ({**values["ARCHITECTURES"][0], **change.get("record", {})},)
    said = refusal(tmp_path / "dna9.py", {**values, **change.get("file", {})})
    assert said.startswith(f"MMACALC_CATALOG names '{tmp_path}/dna9.py': ")
    assert re.search(says, said), said
    assert said.isprintable()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ARCHITECTURES = (" + "1," * 3_000_000 + ")", "more than 262144 bytes"),
        ("ARCHITECTURES = " + "(" * 5000, "cannot be read"),
        ("ARCHITECTURES = " + "9" * 5000, "cannot be read|is not a literal"),
        ("ARCHITECTURES = ()\nARCHITECTURES = ()", "a second time"),
        ("ARCHITECTURS = ()", "Did you mean ARCHITECTURES"),
        ("a.b = 5", "line 1 should assign a literal"),
        ("\0", "cannot be read"),
    ],
)
def test_a_file_that_is_no_catalog_is_refused_in_bounded_memory(tmp_path, text, says):
    (tmp_path / "x.py").write_text(text)
    with pytest.raises(Error, match=says):
        Catalog([str(tmp_path / "x.py")]).names()


@pytest.mark.parametrize("name", ["os", "json", "no/such.py", "/"])
def test_a_name_that_is_no_file_is_refused_as_one_that_cannot_be_read(name):
    with pytest.raises(Error, match=f"MMACALC_CATALOG names '{name}': it cannot be read: "):
        Catalog([name]).names()


def test_a_refused_file_leaves_nothing_behind_and_is_refused_again_for_the_same_reason(tmp_path):
    values = {}
    exec(DNA9, values)
    second = {**values["ARCHITECTURES"][0], "name": "dna10", "aliases": (), "hazards": "gfx95"}
    values = {"ARCHITECTURES": (values["ARCHITECTURES"][0], second), "INSTRUCTIONS": values["INSTRUCTIONS"]}
    every = Catalog([str(written(tmp_path / "two.py", values))])
    said = []
    for _ in range(2):
        with pytest.raises(Error) as refused:
            every.names()
        said.append(str(refused.value))
    assert said[0] == said[1]
    assert "hazards names 'gfx95'" in said[0]
    assert every.entry("gfx942").architecture.name == "cdna3"


# --- outside files of every vendor ------------------------------------------------------------------------------------


def contributed(name):
    """CONTRIBUTING's file that describes an architecture."""
    blocks = (ROOT / "CONTRIBUTING.md").read_text().split("```python\n")[1:]
    (text,) = [block.partition("```")[0] for block in blocks if f'"name": "{name}"' in block]
    values = {}
    exec(text, values)
    return {spelled: values[spelled] for spelled in NAMES if spelled in values}


SM_130, XE4, RDNA5 = map(contributed, ("sm_130", "xe4", "rdna5"))
SCALED_LINE = ("v_wmma_scale_f32_16x16x128_f8f6f4", 0x33, 32, None, {"prefix_opcode": 0x35})


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (SM_130, ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
                  "tcgen05.mma.cta_group::2.kind::mxf4.block_scale.block32")),
        (XE4, ("dpas.8x8.f.f.bf.bf", "dpas.8x8.f.f.fp4.fp4")), (RDNA5, ("v_wmma_f32_16x16x16_f16",)),
    ],
    ids=["nvidia", "intel", "amd"],
)  # fmt: skip
def test_an_outside_file_of_any_vendor_is_answered_for_by_every_command(values, names, tmp_path):
    arch = values["ARCHITECTURES"][0]["name"]
    lines = [
        ["-a", arch, "-L"], ["find", "-a", arch], ["find", "--m", "16"], ["numerics", "-a", arch],
        ["estimate", "-a", arch, "--gemm", "64x64x64", "--type", "f16"], ["transpose-loads", "-a", arch],
        ["architectures"], ["assemble", "-a", arch, "x"], ["disassemble", "-a", arch, "00000000"],
        ["disassemble", "-a", "gfx942", "000080bf"], ["lint", "-a", arch, "x"], ["-a", "cdna3", "-L"],
    ]  # fmt: skip
    right = [lines[0]]
    for name in names:
        base = ["-a", arch, "-i", name]
        shaped = [*base, "--m", "256", "--n", "64"] if name.startswith("tcgen05") else base
        right += [[*base, "-d"], [*shaped, "-A", "-M"], [*shaped, "-D", "-g"], ["draw", *shaped, "-A"]]
        lines += right[-4:]
        lines += [
            [*base, "-d", "--json"], ["numerics", *base], ["memory", *base, "-A"], ["generate", *base],
            ["run", *base, "--random", "1"], ["intrinsic", "-a", arch, name], ["chain", "-a", arch, name, name],
            ["explain", "-a", arch, name],
            ["compare", "-a", arch, "-a", "gfx942", name, "v_mfma_f32_16x16x16_f16"],
        ]  # fmt: skip
    program = (
        "import sys, json; from mmacalc.cli import answer; print(json.dumps([*map(answer, json.loads(sys.argv[1]))]))"
    )
    environment = {**os.environ, "MMACALC_CATALOG": str(written(tmp_path / "outside.py", values))}
    done = subprocess.run([sys.executable, "-c", program, json.dumps(lines)], env=environment, capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers = dict(zip(map(tuple, lines), json.loads(done.stdout)))
    for words, (status, _, error) in answers.items():
        assert status in (0, 1, 2), (words, error)
        assert "internal error" not in error, (words, error)
    for words in right:
        assert answers[(*words,)][0] == 0, answers[(*words,)]
    for described, _, formulas, _ in zip(*[iter(right[1:])] * 4):
        assert "assumed" in answers[(*formulas,)][1] + answers[(*described,)][1]


def test_what_is_asserted_of_a_chip_that_nobody_has_seen_is_called_assumed(tmp_path):
    outside = Catalog(
        [str(written(tmp_path / f"{number}.py", values)) for number, values in enumerate((SM_130, XE4, RDNA5))]
    )
    for arch in ("feynman", "xe4", "rdna5"):
        known = outside.entry(arch)
        for inst in [*known.instructions(), *map(known.instruction, known.tensor_memory_names)]:
            stated = "one source" if inst.name == "v_wmma_f32_16x16x32_f16" else "assumed"
            assert inst.row_provenance == stated
            for name in inst.register_operands:
                assert inst.operand(name).provenance == stated, (inst, name)
    mma = outside.entry("sm_130").instruction("tcgen05.mma.cta_group::2.kind::mxf4.block_scale.block32")
    assert (mma.depths_with(256), mma.sass, mma.operand("D", m=256, n=64).provenance) == ((64, 128, 256), "", "assumed")
    from mmacalc.catalog.grammar.sass import sass_of

    assert sass_of(outside.entry("sm_130").instructions()[0], "sm_130") == ("", "")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kinds": ("f16", "f61")}, "kinds of tcgen05 names 'f61', which does not exist. Did you mean f16"),
        ({"kinds": "f16"}, "should be a tuple of names"), ({"kinds": ()}, "has no kinds"),
        ({"features": ("shfit",)}, "Did you mean shift"), ({"depths": {"i8": (64,)}}, "depths of tcgen05 names 'i8'"),
        ({"depths": {"f16": (17,)}}, "multiples of 16"), ({"block16": ".2X"}, "a suffix of SASS opcodes"),
        ({"width": 3}, "tcgen05 names 'width'"),
    ],
)  # fmt: skip
def test_a_wrong_description_of_tensor_memory_is_refused(tmp_path, change, says):
    values = copy.deepcopy(SM_130)
    values["ARCHITECTURES"][0]["tcgen05"].pop("depths")
    values["ARCHITECTURES"][0]["tcgen05"] |= change
    assert says in refusal(tmp_path / "sm_130.py", values)


@pytest.mark.parametrize(
    ("values", "lines", "says"),
    [
        (RDNA5, (SCALED_LINE,), "format_fields of the architecture does not name the field"),
        (XE4, (("dpas.8x8.f.f.fp2.fp2", "xe4"),), "has the type 'fp2', which is not one of f, hf"),
        (XE4, (("dpas.8x8.f.f.bf.bf", "xe5"),), "this file has xe4"),
        (XE4, (("dpas.8x8.f.f", "xe4"),), "should be dpas, dpasw or bdpas, depth x repeat count"),
        (XE4, (("dpas.8x{1..8}.f.f.bf.bf", "xe4"),), "should be a range first..last..step"),
        (SM_130, (("mma.sync.aligned.m16n8k16.row.col.f32.f61.f16.f32", "7.0", "80+"),), "unknown qualifier .f61"),
        (SM_130, (("mma.sync.aligned.row.col.f32.f16.f16.f32", "7.0", "80+"),), "no shape such as m16n8k16"),
        (SM_130, (("mma.sync.aligned.m16n8k16.row.col.f32.f16", "7.0", "80+"),), "has 2 types; mma has 4 to 5"),
        (SM_130, (("mma.sync.aligned.m16n8k{1..99999..1}.row.col.f32.f16.f16.f32", "7.0", "80+"),), "a number of"),
        (SM_130, (("bmma.m16n8k16", "7.0", "80+"),), "begins with none of mma"),
        (SM_130, (("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "7", "80+"),), "a line of INSTRUCTIONS is"),
        (SM_130, (("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "7.0", "90a"),), "should be such as 80"),
        (SM_130, (("mma.sync.aligned.m16n8k3.row.col.f32.f16.f16.f32", "7.0", "80+"),), "m16n8k3"),
    ],
)  # fmt: skip
def test_an_outside_line_that_its_grammar_does_not_know_is_refused_when_the_file_is_read(tmp_path, values, lines, says):
    said = refusal(tmp_path / "outside.py", {**values, "INSTRUCTIONS": (*values["INSTRUCTIONS"], *lines)})
    assert re.search(says, said), said


def test_a_package_in_a_zip_file_knows_its_architectures(tmp_path):
    archive = shutil.make_archive(str(tmp_path / "mmacalc"), "zip", ROOT / "src", "mmacalc")
    program = (
        "import mmacalc; a = mmacalc.instruction('MI300X', 'v_mfma_f32_32x32x8_f16').operand('A')\n"
        "print(a.pattern, mmacalc.__file__)"
    )
    environment = {**os.environ, "PYTHONPATH": archive}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("i (g e) -> lane (g i), item (e) "), done.stderr
    assert archive in done.stdout


# --- random changes ---------------------------------------------------------------------------------------------------

STRANGE = (5, -1, 0, True, None, 1.5, "", "x", "\x1b", "A" * 300, (), ((),),
           (5,), {}, {"x": 5}, {5: "x"}, [1], b"x", 1 << 70,
           float("nan"), "gfx942", ("gfx942",), ("A", 1, 2.0), "80+", "{1..9..0}")  # fmt: skip


def changed(value, rng, depth=0):
    """A value with one random change in one of its parts."""
    if (depth and rng.random() < 0.25) or not isinstance(value, (tuple, dict)) or not value:
        return copy.copy(rng.choice(STRANGE))
    if isinstance(value, dict):
        name = rng.choice(list(value))
        more = {key: held for key, held in value.items() if key != name or rng.random() < 0.9}
        return {**more, name: changed(value[name], rng, depth + 1)}
    at = rng.randrange(len(value))
    if rng.random() < 0.1:
        return value[:at] + value[at + 1 :]
    return (*value[:at], changed(value[at], rng, depth + 1), *value[at + 1 :])


@sampled("times", [8, 25], 1)
@pytest.mark.parametrize("name", [name for name in OWN if name != "ptx"])
def test_a_random_change_of_any_field_is_refused_or_answered(name, times, tmp_path):
    """What is taken lists, describes and places its instructions; what is not is an Error of one printable line."""
    rng, original, taken, refusals = random.Random(name), own(name), 0, []
    keep = {"also_assembled"}
    original["ARCHITECTURES"] = tuple(
        {**{k: v for k, v in one.items() if k not in keep}, "name": f"z{one['name']}", "aliases": (), "products": ()}
        for one in original["ARCHITECTURES"]
    )
    if "COMMON" in original:
        original["COMMON"] = {k: v for k, v in original["COMMON"].items() if k not in keep}
    names = {f"{one['name'][1:]}": one["name"] for one in original["ARCHITECTURES"]}
    renamed = {key: _renamed(value, names) for key, value in original.items()}
    for _ in range(times):
        values = dict(renamed)
        part = rng.choice(list(values))
        values[part] = changed(values[part], rng)
        try:
            every = Catalog([str(written(tmp_path / "x.py", values))])
            found = [each for each in every.names() if each not in mmacalc.architectures()]
        except Error as refused:
            said = str(refused)
            refusals.append(said)
            continue
        taken += 1
        for arch in found:
            for inst in every.entry(arch).instructions()[:40]:
                assert inst.operands
                assert [inst.operand(operand).einops for operand in inst.register_operands]
                assert inst.modifier_limits() is not None
                assert mmacalc.compare(inst, inst)
    assert taken + len(refusals) == times
    assert all(said.isprintable() and said.startswith("MMACALC_CATALOG names ") for said in refusals)


def _renamed(value, names):
    """Names of a file's own architectures in its lines."""
    if isinstance(value, tuple):
        return tuple(_renamed(each, names) for each in value)
    if isinstance(value, dict):
        return {key: _renamed(each, names) for key, each in value.items()}
    if isinstance(value, str) and value and all(word in names for word in value.split()):
        return " ".join(names[word] for word in value.split())
    return value
