"""`mmacalc numerics`: one instruction, one architecture, all of them; and docs/numerics.md."""

from __future__ import annotations

import json
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import mmacalc
from exact_models import rounded
from mmacalc.arithmetic.codecs import decode, encode
from mmacalc.arithmetic.tables import TABLES
from mmacalc.catalog import entry
from mmacalc.cli import answer
from mmacalc.questions.numerics import numerics, overview

DOCS = Path(__file__).parents[1] / "docs" / "numerics.md"


def reply(*words):
    found = answer(["numerics", *words])
    assert not found.err, found.err
    return found.out


def test_the_page_in_docs_is_what_the_command_prints():
    assert DOCS.read_text(encoding="utf-8") == reply("--markdown")


def test_the_sources_of_the_page_are_those_of_the_models_once_its_short_names_and_numbers_are_written_out():
    lines = DOCS.read_text(encoding="utf-8").partition("## Sources\n")[2]
    short = dict(re.findall(r"^- ([^\[:]+): (.+)$", lines, re.MULTILINE))
    found = dict(re.findall(r"^- \[(\d+)\] (.+)$", lines, re.MULTILINE))
    for number, full in enumerate(dict.fromkeys(row.numerics.source for row in overview()), 1):
        text = found[str(number)]
        while reference := re.search(r"\[(\d+)\]", text):
            text = text.replace(reference[0], found[reference[1]])
        for name, book in short.items():
            text, full = text.replace(name, "#"), full.replace(book, "#").replace(name, "#")
        assert text == full, number


def test_the_page_has_every_row_of_the_overview_on_each_architecture_that_has_it():
    page, sections = DOCS.read_text(encoding="utf-8"), {}
    for section in re.split(r"^## ", page.partition("## Sources")[0], flags=re.MULTILINE)[1:]:
        title, *lines = section.splitlines()
        header, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line]
        for row in rows:
            targets = row[-1] if header[-1] == "targets" and row[-1] != "all" else title
            for name in targets.split(", "):
                sections[name] = sections.get(name, 0) + 1
    assert sections == Counter(name for row in overview() for name in row.architectures)


def test_every_architecture_names_a_table_and_every_table_belongs_to_one():
    named = {entry(arch).architecture.arithmetic for arch in mmacalc.architectures()}
    assert named == set(TABLES)


@pytest.mark.parametrize("arch", ["cdna3", "rdna4", "sm_90a"])
def test_a_table_has_every_instruction_once_with_its_own_model(arch):
    rows = overview(arch)
    computing = [inst for inst in mmacalc.instructions(arch) if {"A", "B"} <= set(inst.operands)]
    assert sum(row.instructions for row in rows) == len(computing)
    for inst in computing:
        fitting = [
            row for row in rows
            if row.numerics.source == inst.numerics.source and row.numerics.step == inst.numerics.step
            and {inst.formats["A"], inst.formats["B"]} <= set(row.inputs) and inst.formats["D"] in row.outputs
            and (inst.m, inst.n, inst.k) in row.shapes and row.numerics.model == inst.numerics.model
        ]  # fmt: skip
        assert len(fitting) == 1, inst.name


def test_every_example_is_made_of_numbers_of_the_formats_and_its_exact_sum_is_that():
    seen, shown = set(), 0
    for arch in ("gfx950", "gfx1201", "sm_120a", "gfx942"):
        for inst in mmacalc.instructions(arch):
            fields = {"cbsz": "fp4", "blgp": "fp6"} if inst.choices and not inst.scaled else {}
            if inst.flops == 0 or inst.integer or "A" not in inst.register_operands:
                continue
            kind = (inst.numerics.model, *[inst.formats[name] for name in "ABD"])
            if kind in seen:
                continue
            seen.add(kind)
            example = numerics(inst, **fields).example
            if example is None:
                continue
            forms = [inst.format(name, fields) for name in ("A", "B", "C" if "C" in inst.formats else "D")]
            for values, form in zip((example.a, example.b, (example.c,)), forms):
                assert (decode(encode(np.array(values), form), form) == values).all(), (inst, fields)
            exact = Fraction(example.c) + sum(Fraction(x) * Fraction(y) for x, y in zip(example.a, example.b))
            assert example.exact == rounded(exact, inst.formats["D"]), (inst, fields)
            shown += 1
    assert shown > 20


def test_text_json_and_page_say_the_same():
    text, data = reply("-a", "MI300X"), json.loads(reply("-a", "cdna3", "--json"))
    page = reply("-a", "gfx942", "--markdown")
    for row in data["rows"]:
        model, nan = row["numerics"]["model"], row["numerics"]["nan"]
        for shown in (text, page):
            assert model in shown
            assert nan in shown
        assert row["numerics"]["source"] in text
    assert data["rows"][0]["architectures"] == ["cdna3"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["-i", "v_mfma_f32_16x16x16_f16"], "needs -a"),
        (["-a", "gfx942", "-m", "neg=1"], "for one instruction"),
        (["-a", "gfx942", "-i", "v_mfma_f32_16x16x16_f16", "--markdown"], "leave -i out"),
        (["-a", "gfx0000"], "unknown architecture"),
    ],
)
def test_what_does_not_go_together_is_refused(words, reason):
    found = answer(["numerics", *words])
    assert found.status
    assert reason in found.err


def test_two_instructions_are_explained_side_by_side_and_compared_as_compare_does():
    pair = ("-a", "gfx942", "-i", "v_mfma_f32_16x16x16_f16", "-a", "h100", "-i", "wgmma.m64n128k16.f32.f16.f16")
    found = json.loads(reply(*pair, "--json"))
    compared = json.loads(answer(["compare", *pair, "--json"]).out)
    assert found["difference"]
    assert all(found[key] == compared[key] for key in ("numerics", "difference"))
    for side, one in zip(found["instructions"], (pair[:4], pair[4:])):
        alone = json.loads(reply(*one, "--json"))
        assert all(alone[key] == value for key, value in side.items())
    text = reply(*pair)
    assert [text.count(words) for words in ("Architecture:", "Arithmetic:", "Where they differ:")] == [2, 2, 1]


def test_the_table_is_made_of_several_architectures():
    both = reply("-a", "h100", "-a", "MI300X")
    assert [name in both for name in ("sm_90a:", "cdna3:")] == [True, True]
