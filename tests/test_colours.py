"""Colours of the terminal: for verdicts and findings, where terminal and user want them; nothing else changes."""

import io
import re

import pytest

from mmacalc.cli import answer, main
from mmacalc.command.colours import coloured, wanted

ESCAPE = re.compile(r"\x1b\[[\d;]*m")
LINT = ["lint", "-a", "gfx942", "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], v[0:3]\nv_add_f32 v6, v0, v1"]
RUN = ["run", "-a", "gfx942", "-i", "v_mfma_f32_16x16x16_f16", "--random", "1", "--compare"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(argv, monkeypatch, stream=None, **environment):
    """What a command line prints on a stream, by default a terminal."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout", stream or Terminal())
    import sys

    main(argv)
    return sys.stdout.getvalue()


def test_verdicts_and_findings_have_a_colour_and_the_text_is_the_same(monkeypatch, tmp_path):
    zeros = tmp_path / "d.csv"
    zeros.write_text("\n".join([",".join(["0"] * 16)] * 16))
    for argv in (LINT, [*RUN, str(zeros)], ["find", "-h"], ["chain", "-h"]):
        found = shown(argv, monkeypatch)
        assert ESCAPE.search(found), argv
        assert ESCAPE.sub("", found) == answer(argv).out


@pytest.mark.parametrize(
    ("environment", "terminal", "colours"),
    [
        ({}, True, True), ({}, False, False), ({"NO_COLOR": "1"}, True, False), ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True), ({"FORCE_COLOR": "0"}, False, False), ({"TERM": "dumb"}, True, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
    ],
)  # fmt: skip
def test_the_environment_says_whether_there_are_colours(environment, terminal, colours, monkeypatch):
    stream = Terminal() if terminal else io.StringIO()
    assert bool(ESCAPE.search(shown(LINT, monkeypatch, stream, **environment))) == colours


def test_what_programs_read_has_no_colour(monkeypatch):
    for argv in ([*LINT, "--json"], [*LINT, "--format", "github"], ["-a", "cdna3", "-L"], ["help", "agents"],
                 ["generate", "-a", "gfx942", "-i", "v_mfma_f32_16x16x16_f16"], ["completion", "bash"]):  # fmt: skip
        assert not ESCAPE.search(shown(argv, monkeypatch, FORCE_COLOR="1")), argv


def test_a_closed_stream_wants_none():
    assert not wanted(None)
    assert coloured("") == ""


def test_the_verdict_of_a_comparison_is_first_and_the_arithmetic_last(tmp_path):
    zeros = tmp_path / "d.csv"
    zeros.write_text("\n".join([",".join(["0"] * 16)] * 16))
    lines = answer([*RUN, str(zeros)]).out.splitlines()
    assert lines[2].startswith("Comparison: ")
    assert next(n for n, line in enumerate(lines) if line.startswith("Arithmetic")) > 4
