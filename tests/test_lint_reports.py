"""lint in continuous integration: many files, the forms of its findings, baselines, hooks."""

import gzip
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

import mmacalc
from mmacalc.cli import answer
from mmacalc.questions.lint.annotations import _data, _property

ROOT = Path(__file__).parents[1]
SARIF = Draft7Validator(
    json.loads(gzip.decompress((ROOT / "tests/data/sarif/sarif-schema-2.1.0.json.gz").read_bytes()))
)
BAD = """.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
k:  v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], v[0:3]
\tv_add_f32 v6, v0, v1
\tv_mfma_f32_4x4x4_16b_f16 v[0:3], v[5:6], v[6:7], v[0:3] ; odd
\tglobal_load_dword v9, v[10:11], off
loop: v_add_f32 v9, v9, v9
"""
GOOD = '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\ns_nop 0\n'
OBJECT = ROOT / "tests/data/kernels/exchange_gfx942.hsaco"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "asm/deep").mkdir(parents=True)
    (tmp_path / "asm/bad.s").write_text(BAD)
    (tmp_path / "asm/deep/good.s").write_text(GOOD)
    (tmp_path / "asm/x86.s").write_text("mov eax, 1\n")
    (tmp_path / "asm/read.me").write_text("v_nonsense")
    (tmp_path / "kernel.hsaco").write_bytes(OBJECT.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    return tmp_path


def lint(line):
    return answer(["lint", *shlex.split(line)])


def sarif(line):
    reply = lint(f"--format sarif {line}")
    found = json.loads(reply.out)
    assert [error.message for error in SARIF.iter_errors(found)] == []
    return reply.status, found["runs"][0]


def test_a_finding_has_the_line_and_the_column_of_its_instruction():
    for finding in mmacalc.lint(BAD).findings:
        line = BAD.split("\n")[finding.line - 1]
        assert line[finding.column - 1 :].startswith(finding.text)
        assert line[: finding.column - 1].strip() in ("", "k:", "loop:")


def test_files_folders_patterns_and_objects_are_taken_together_and_standard_input(folder):
    status, out, err = lint("asm 'asm/**/good.s' kernel.hsaco")
    assert status == 1
    assert re.findall(r"^(\S+):\d+:\d+: v_", out, re.M) == ["asm/bad.s"] * 3
    assert out.count("asm/deep/good.s: no hazards found") == 2
    assert "kernel.hsaco: " in out
    assert err == "mmacalc: 1 file without AMD instructions left out\n"
    done = subprocess.run(
        [sys.executable, "-m", "mmacalc", "lint", "-", "asm/deep/good.s"], input=BAD, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert (done.returncode, done.stdout.startswith("<stdin>:3:2: v_add")) == (1, True)


def test_what_cannot_be_read_is_said_and_the_rest_is_checked(folder):
    (folder / "broken.s").write_bytes(b"\0\1")
    status, out, err = lint("missing.s broken.s asm/x86.s asm/bad.s")
    assert status == 2
    assert out.startswith("asm/bad.s:3:2: ")
    for line, name in zip(err.splitlines(), ("missing.s", "broken.s", "asm/x86.s"), strict=True):
        assert line.count(name) == 1
    assert lint("--skip-others asm/x86.s") == (0, "", "mmacalc: 1 file without AMD instructions left out\n")
    assert lint("asm/x86.s").status == 2
    assert "no file fits" in lint("'asm/*.amdgcn'").err
    (folder / "none").mkdir()
    assert "has no file that ends in" in lint("none").err


def test_sarif_fits_the_schema_of_oasis_and_has_every_finding(folder):
    status, run = sarif("asm missing.s kernel.hsaco")
    findings = mmacalc.lint(BAD).findings
    assert status == 2
    assert run["invocations"][0]["executionSuccessful"] is False
    assert len(run["results"]) == len(findings)
    for result, finding in zip(run["results"], findings):
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "asm/bad.s"
        assert (place["region"]["startLine"], place["region"]["startColumn"]) == (finding.line, finding.column)
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    assert lint("--format sarif asm/deep").status == 0


def test_sarif_of_an_object_has_addresses(folder, monkeypatch):
    listing = answer(["disassemble", "kernel.hsaco"]).out
    lines = listing.splitlines()
    at = next(n for n, line in enumerate(lines) if "s_waitcnt" in line)
    lines[at] = re.sub(r"s_waitcnt [^/]*", "s_nop 0 ", lines[at])
    monkeypatch.setattr("mmacalc.questions.lint.object_text", lambda *_: "\n".join(lines))
    _, run = sarif("kernel.hsaco")
    assert run["results"]
    assert all("absoluteAddress" in result["locations"][0]["physicalLocation"]["address"] for result in run["results"])


def test_the_fix_that_sarif_offers_removes_the_finding(folder):
    """Inserted one after another until none with a fix is left."""
    source = folder / "asm/bad.s"
    for _ in range(9):
        _, run = sarif("asm/bad.s")
        fixes = [result["fixes"][0] for result in run["results"] if "fixes" in result]
        if not fixes:
            break
        change = fixes[0]["artifactChanges"][0]["replacements"][0]
        lines = source.read_text().split("\n")
        lines[change["deletedRegion"]["startLine"] - 1 : 0] = change["insertedContent"]["text"].rstrip("\n").split("\n")
        source.write_text("\n".join(lines))
    assert [result["ruleId"] for result in run["results"]] == ["invalid-instruction"]


def test_annotations_of_github_are_one_line_each_with_their_place(folder):
    status, out, _ = lint("--format github asm")
    lines = out.splitlines()
    assert (status, len(lines)) == (1, len(mmacalc.lint(BAD).findings))
    assert all(re.match(r"::error file=asm/bad\.s,title=mmacalc [a-z-]+,line=\d+,col=\d+,endColumn=\d+::\S", line)
               for line in lines)  # fmt: skip


@given(st.text())
def test_what_annotations_escape_is_read_back(text):
    """As actions/runner reads a command (ActionCommand.cs): each escape back, %25 last."""
    escaped = _property(text)
    assert not set(":,\r\n") & set(escaped)
    for mark, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        escaped = escaped.replace(mark, character)
    assert escaped == text
    assert "\n" not in _data(text)


def test_json_is_a_format_like_others(folder):
    assert lint("--format json asm/bad.s") == lint("--json asm/bad.s")
    assert "both choose a form" in lint("--json --format sarif asm").out
    found = [json.loads(line) for line in lint("--format json asm missing.s").out.splitlines()]
    assert found[0]["findings"][0]["column"] == 2
    assert found[-1]["error"]["place"]["file"] == "missing.s"


def test_a_baseline_is_written_once_and_hides_what_it_has_wherever_lines_move(folder):
    count = len(mmacalc.lint(BAD).findings)
    status, out, err = lint("--baseline known.json asm")
    assert (status, err.splitlines()[-1]) == (0, f"mmacalc: {count} findings written to the baseline known.json")
    (folder / "asm/bad.s").write_text(BAD.replace("k:", "; moved\nk:"))
    assert lint("--baseline known.json asm")[:2] == (0, out)
    (folder / "asm/bad.s").write_text(BAD + "\tv_nonsense v7\n\tv_nonsense v7\n")
    status, out, _ = lint("--baseline known.json asm")
    assert (status, out.count("v_nonsense v7\n")) == (1, 2)
    status, run = sarif("--baseline known.json asm")
    assert (status, len(run["results"])) == (1, 2)
    (folder / "asm/bad.s").write_text(GOOD)
    status, out, err = lint("--baseline known.json asm")
    assert (status, f"{count} findings of the baseline gone" in err) == (0, True)
    assert lint("--baseline known.json --update-baseline asm").status == 0
    assert json.loads((folder / "known.json").read_text())["findings"] == []


def test_a_baseline_that_is_missing_in_ci_or_is_none_is_refused(folder, monkeypatch):
    monkeypatch.setenv("CI", "true")
    reply = lint("--baseline known.json asm")
    assert (reply.status, "is missing" in reply.err, (folder / "known.json").exists()) == (2, True, False)
    for text in (
        "",
        "[]",
        '{"mmacalc-baseline": 2, "findings": []}',
        '{"mmacalc-baseline": 1, "findings": [1]}',
        "\xff",
    ):
        (folder / "known.json").write_text(text, encoding="latin-1")
        reply = lint("--baseline known.json asm")
        assert (reply.status, reply.out, "baseline" in reply.err) == (2, "", True)
    assert "give --baseline FILE as well" in lint("--update-baseline asm").err


def test_the_hook_and_the_action_call_options_that_there_are(folder):
    for file in (".pre-commit-hooks.yaml", "action.yml"):
        text = (ROOT / file).read_text()
        options = set(re.findall(r"(?<![\w-])--[a-z-]+", text)) - {"--quiet"}
        assert options
        assert options <= {*re.findall(r"--[a-z-]+", answer(["lint", "--help"]).out)}
    entry = re.search(r"entry: mmacalc (.*)", (ROOT / ".pre-commit-hooks.yaml").read_text())[1]
    assert answer([*entry.split(), "asm/x86.s", "asm/deep/good.s"]).status == 0
    assert answer([*entry.split(), "asm/bad.s"]).status == 1


def test_the_action_runs_as_a_shell_script(folder):
    """The last step of the composite action, with the inputs as its environment."""
    script = (ROOT / "action.yml").read_text().partition("run: |\n        options=")[2]
    script = "options=" + re.sub(r"(?m)^        ", "", script)
    environment = {
        **os.environ, "PATHS": "asm *.hsaco", "ARCHITECTURE": "", "BASELINE": "", "SARIF": "r.sarif",
        "GITHUB_OUTPUT": "out", "PYTHONPATH": str(ROOT / "src"),
    }  # fmt: skip
    script = f'mmacalc() {{ {shlex.quote(sys.executable)} -m mmacalc "$@"; }}\n{script}'
    done = subprocess.run(["bash", "-e", "-c", script], env=environment, capture_output=True, text=True)
    assert (done.returncode, Path("out").read_text()) == (1, "status=1\n"), done.stderr
    assert done.stdout.startswith("::error file=asm/bad.s")
    SARIF.validate(json.loads(Path("r.sarif").read_text()))


# What a tool of Compiler Explorer takes for a place in the source (lib/utils.ts, SOURCE_RE), after the path of the
# file is called <source>.
PLACE = re.compile(r"^\s*<source>[(:](\d+)(:?,?(\d+):?)?[):]*\s*(.*)")


def test_compiler_explorer_finds_the_lines_in_what_its_tools_print(folder):
    """The tool is run as Compiler Explorer does: the options, then the path of the source, in its folder."""
    text = (ROOT / "contrib/compiler-explorer/mmacalc.properties").read_text()
    for tool in re.findall(r"^tools=(.*)", text, re.M)[0].split(":"):
        options = re.search(rf"^tools\.{tool}\.options=(.*)", text, re.M)[1].split()
        reply = answer([*options, str(folder / "asm/bad.s")])
        shown = reply.out.replace(str(folder / "asm/bad.s"), "<source>")
        if tool == "mmacalc-lint":
            places = [PLACE.match(line) for line in shown.splitlines() if line.startswith("<source>")]
            assert [int(place[1]) for place in places] == [3, 4, 6]
        assert reply.status < 2
        assert reply.out


def test_what_is_not_checked_is_a_list_where_it_is_longer_than_a_line(tmp_path):
    short = "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], v[0:3]"
    assert answer(["lint", "-a", "gfx942", short]).out.endswith("; not checked: bytes of LDS that waves share\n")
    lines = ("s_mov_b32 m0, 0", "buffer_load_dword v1, s[0:3], 0 offen lds", "v_pk_fma_f16 v2, v3, v4, v5",
             "v_pk_mul_f16 v6, v2, v2")  # fmt: skip
    (tmp_path / "long.s").write_text("\n".join(lines))
    first, *clauses = answer(["lint", "-a", "gfx942", str(tmp_path / "long.s")]).out.splitlines()
    assert first.endswith("; not checked:")
    assert sum(one.startswith("  - ") for one in clauses) == 3
    assert all(one.startswith(("  - ", "    ")) and len(one) <= 80 for one in clauses)
