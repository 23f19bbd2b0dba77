"""Manual pages: whole, and such that man(1) formats them without a warning."""

import subprocess

import pytest

from mmacalc.cli import answer, command, commands, manual

PAGES = {name: manual.page(name) for name in ("", *commands())}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_every_option_example_and_section_of_its_command(name):
    page = PAGES[name]
    plain = page.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\fI", "")
    sections = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "SEE ALSO"]
    assert [one for one in sections if f"\n.SH {one}\n" in page] == [
        one for one in sections if one != "OPTIONS" or command(name).options
    ]
    shown = [each for each in command(name).options if not name or not manual.is_modifier(each)]
    for option in shown:
        assert "\n" + (", ".join(option.spellings) or option.placeholder or option.name) in plain
    if not name:
        assert all(f"\nmmacalc-{each}(1)\n" in plain for each in commands())


def test_no_line_of_text_is_taken_for_a_request():
    known = {"TH", "SH", "SS", "TP", "PP", "RS", "RE", "nf", "fi", "br"}
    for page in PAGES.values():
        assert page.isascii()
        assert {line[1:3].strip() for line in page.split("\n") if line[:1] == "."} <= known
        assert not any(line.startswith("'") for line in page.split("\n"))
        assert page.count("\n.nf") == page.count("\n.fi")


@pytest.mark.parametrize("name", ["", "draw", "lint", "completion", "generate"])
def test_groff_formats_a_page_without_a_warning_within_80_columns(name):
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-P-cbou"], input=PAGES[name], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    lines = done.stdout.split("\n")
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("NAME") for line in lines) == 1


def test_help_prints_the_page_of_a_command_or_of_the_program_and_no_other():
    assert answer(["help", "draw", "--man"]).out == PAGES["draw"]
    assert answer(["help", "--man"]).out == PAGES[""]
    refused = answer(["help", "drav", "--man"])
    assert (refused.status, "Did you mean draw" in refused.err) == (2, True)
