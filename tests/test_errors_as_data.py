"""With --json a refusal is an object on standard output: its kind, its sentence, what may be meant, and where."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import mmacalc
from mmacalc.base.errors import KINDS
from mmacalc.cli import answer, command, commands
from mmacalc.questions import find

SCHEMA = json.loads((Path(mmacalc.__file__).parent / "schema.json").read_text(encoding="utf-8"))
ONE = "-a gfx942 -i v_mfma_f32_16x16x16_f16"
LINES = {
    "unknown name": [
        "-a MI300Y -L", "-a gfx942 -i v_mfma_f32_16x16x16_f61 -d", "-a A100 -i mma.m16 -d", "descriptor f61",
        "find --a f61", "help modifers", "-a B200 -i tcgen05.mmb -d", f"run {ONE} --random 1 -m cbzs=1",
        "chain -a gfx942 v_mfma_f32_16x16x16_f61 v_mfma_f32_16x16x16_f16",
        "transpose-loads -a gfx950 --load ds_read_b64_tr",
    ],
    "usage": ["nonsense", "version", "find --bogus 1", f"memory {ONE} -A --odrer col", f"draw {ONE} -A --color alwyas"],
    "file": [
        "lint missing.s", "explain missing.s", "assemble missing.s", "run-kernel missing.hsaco",
        f"run {ONE} --a missing.npy --b missing.npy", "gemm -a gfx942 --a missing.npy --b missing.npy",
        f"run {ONE} --random 1 -o /missing/d.npy", f"generate {ONE} -o /missing/k.hip",
    ],
    "nothing": ["lint -a gfx942 nothing", "waits -a gfx942 nothing"],
    "input": [f"{ONE} -A -g -I 16", f"run {ONE}", f"memory {ONE}", "assemble -a gfx942 v_nonsense"],
}  # fmt: skip


def error_of(line):
    """The error of a refused command line with --json, which fits the schema; nothing else is printed."""
    status, out, err = answer([*line.split(), "--json"])
    assert (status, err, out.count("\n")) == (2, "", 1), line
    found = json.loads(out)
    assert list(Draft202012Validator(SCHEMA).iter_errors(found)) == []
    assert set(found) == {"schema_version", "error"}
    return found["error"]


@pytest.mark.parametrize(("kind", "line"), [(kind, line) for kind, lines in LINES.items() for line in lines])
def test_a_refusal_has_a_kind_and_the_sentence_that_people_read(kind, line):
    error = error_of(line)
    assert error["kind"] == kind
    if "--json" not in error["message"]:
        assert answer(line.split()) == (2, "", f"mmacalc: {error['message']}\n")


@pytest.mark.parametrize("name", ["", *commands()])
def test_every_command_refuses_what_it_does_not_know_as_an_object(name):
    assert error_of(f"{name} --no-such-option 1".strip())["kind"] in ("usage", "input")
    spellings = {spelling for option in command(name).options for spelling in option.spellings}
    required = (
        " -i v_mfma_f32_16x16x16_f16" if "-i" in spellings else " --gemm 1x1x1 --type f16" if name == "estimate" else ""
    )
    positional = " s_endpgm" if any(not each.spellings and each.nargs != "?" for each in command(name).options) else ""
    if {"-a", "--json"} <= spellings and name not in ("compare", "run-kernel", "run-program", "profile"):
        error = error_of(f"{name} -a MI300Y{required}{positional}{'' if name else ' -d'}".strip())
        assert error["kind"] in ("unknown name", "input"), name
        assert "mi300" in error["suggestions"] or "MI300Y" not in error["message"]


def test_what_is_meant_stands_in_the_suggestions():
    assert "v_mfma_f32_16x16x16_f16" in error_of("-a gfx942 -i v_mfma_f32_16x16x16_f61 -d")["suggestions"]
    assert error_of("-a gfx942 -i __builtin_amdgcn_mfma_f32_16x16x16f16x -d")["suggestions"]
    assert error_of("help modifers")["suggestions"] == ["modifiers"]


def test_the_place_is_the_file_and_the_line(tmp_path):
    wrong = tmp_path / "wrong.s"
    wrong.write_text("s_nop 0\nv_mfma_f32_16x16x16_f16 v[0:3]\n")
    assert error_of(f"assemble -a gfx942 {wrong}")["place"] == {"file": str(wrong), "line": 2, "column": 0}
    assert error_of("lint missing.s")["place"] == {"file": "missing.s", "line": 0, "column": 0}
    assert error_of(f"-a gfx942 -i {find.PRODUCT} -d")["place"] is None
    lines = [json.loads(line) for line in answer(["explain", "--json", str(wrong), "missing.s"]).out.splitlines()]
    assert lines[-1]["error"]["place"]["file"] == "missing.s"


def test_a_bug_is_an_object_with_status_3(monkeypatch):
    monkeypatch.setattr(find, "find", lambda **_: {}["B"])
    status, out, err = answer(["find", "mfma", "--json"])
    assert (status, err, json.loads(out)["error"]["kind"]) == (3, "", "bug")
    assert {"bug", "memory", "package", *LINES} == set(KINDS)


def test_a_package_that_is_missing_is_named(monkeypatch):
    def missing(**_):
        raise ModuleNotFoundError("No module named 'resvg_py'", name="resvg_py")

    monkeypatch.setattr(find, "find", missing)
    assert error_of("find mfma")["kind"] == "package"


def test_a_line_of_a_batch_holds_the_error_as_its_answer(tmp_path):
    (tmp_path / "lines").write_text("-a MI300Y -L --json\n")
    found = json.loads(answer(["batch", str(tmp_path / "lines")]).out)
    assert (found["status"], found["stdout"], found["answer"]["error"]["kind"]) == (2, "", "unknown name")
