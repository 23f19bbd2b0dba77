"""`mmacalc numerics`: one instruction, one architecture, all of them; and docs/numerics.md."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mmacalc
from mmacalc.answers.numerics import overview
from mmacalc.arithmetic.tables import TABLES
from mmacalc.catalog import entry
from mmacalc.cli import answer

DOCS = Path(__file__).parents[1] / "docs" / "numerics.md"


def reply(*words):
    found = answer(["numerics", *words])
    assert not found.err, found.err
    return found.out


def test_the_page_in_docs_is_what_the_command_prints():
    assert DOCS.read_text(encoding="utf-8") == reply("--markdown")


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


def test_text_json_and_page_say_the_same():
    text, data = reply("-a", "MI300X"), json.loads(reply("-a", "cdna3", "--json"))
    page = reply("-a", "gfx942", "--markdown")
    for row in data["rows"]:
        model, nan = row["numerics"]["model"], row["numerics"]["nan"]
        for shown in (text, page):
            assert model in shown
            assert nan in shown
            assert row["numerics"]["source"] in shown
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
