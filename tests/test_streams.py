"""Files, streams and faults: nothing is lost, nothing is written by halves, and no traceback is shown."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

import mmacalc
from mmacalc.base.files import write
from mmacalc.cli import answer, main, replies
from mmacalc.command import files
from mmacalc.questions import find

ROOT = Path(__file__).parents[1]
MMACALC = [sys.executable, "-m", "mmacalc"]
QUERY = "-a cdna3 -i v_mfma_f32_16x16x16_f16 -A -g -I {} -K 9"
ANSWER = "Architecture: CDNA3\nInstruction: V_MFMA_F32_16X16X16_F16\nA[3][9] = v0{35}.[31:16]\n"
KEYS = ["argv", "status", "answer", "stdout", "stderr"]


# --- locales ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["ascii:strict", "utf-8:strict", "latin-1:strict"])
def test_no_locale_makes_a_name_or_a_text_a_traceback(encoding, tmp_path):
    (tmp_path / "é.s").write_text("s_nop 0 ; é\n")
    (tmp_path / "bad").write_bytes(b"\xef\xbb\xbflint -a gfx942 bad\xff.s\nlint -a gfx942 \xc3\xa9.s\n")
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C", "PYTHONUTF8": "0"}
    for argv in (["lint", "-a", "gfx942", "é.s"], ["lint", "-a", "gfx942", b"bad\xff.s"], ["batch", "bad"]):
        done = subprocess.run([*MMACALC, *argv], capture_output=True, cwd=tmp_path, env=environment)
        assert b"Traceback" not in done.stderr
        assert done.returncode == (0 if "é.s" in argv else 2)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["status"] for each in found] == [2, 0]
    assert r"'bad\xff.s'" in found[0]["stderr"]


# --- faults -----------------------------------------------------------------------------------------------------------

FAULTS = [
    (KeyError("B"), 3, r"internal error at questions/find/__init__.py:\d+: KeyError: 'B': .* please report it"),
    (RecursionError("maximum recursion depth exceeded"), 2, "nested too deep"),
    (MemoryError(), 2, "needs more memory than there is"),
    (ModuleNotFoundError("No module named 'numpy'", name="numpy"), 2, "needs the Python package numpy.*pip install"),
]


@pytest.mark.parametrize(("fault", "status", "says"), FAULTS, ids=lambda part: type(part).__name__)
def test_a_fault_of_ours_is_one_line_and_no_other_answer_is_lost(fault, status, says, monkeypatch, tmp_path):
    def failing(**_):
        raise fault

    monkeypatch.setattr(find, "find", failing)
    reply = answer(["find", "mfma"])
    assert (reply.status, reply.out, reply.err.count("\n")) == (status, "", 1)
    assert re.search(says, reply.err)
    (tmp_path / "lines").write_text(f"{QUERY.format(3)}\nfind mfma\n{QUERY.format(3)}\n")
    found = [json.loads(line) for line in answer(["batch", str(tmp_path / "lines")]).out.splitlines()]
    assert [each["status"] for each in found] == [0, status, 0]
    assert found[2]["stdout"] == ANSWER


def test_ctrl_c_ends_a_command_with_status_130(monkeypatch, capsys):
    def interrupted(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(find, "find", interrupted)
    assert main(["find", "mfma"]) == 130
    assert capsys.readouterr() == ("", "")


# --- batch ------------------------------------------------------------------------------------------------------------


def test_batch_answers_each_line_as_it_comes_and_ctrl_c_ends_it():
    def heed():  # what a script starts in the background ignores Ctrl-C, and so would the tests and this process
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen([*MMACALC, "batch"], stdin=-1, stdout=-1, stderr=-1, text=True, preexec_fn=heed) as batch:
        for _ in range(2):
            batch.stdin.write(QUERY.format(3) + "\n")
            batch.stdin.flush()
            assert json.loads(batch.stdout.readline())["stdout"] == ANSWER
        batch.send_signal(signal.SIGINT)
        assert batch.wait() == 130
        assert (batch.stdout.read(), batch.stderr.read()) == ("", "")


def test_every_line_of_a_batch_is_answered_with_the_same_keys(tmp_path):
    lines = tmp_path / "lines"
    nul = 'lint -a gfx942 "a\0b"'
    odd = f"\ufeff# a comment\r\n\n{QUERY.format(3)} --json\r\n-v --json\n'unclosed\nbatch x\nlint -a gfx942 -\n{nul}\n"
    lines.write_text(odd + "x" * (files.LONGEST_LINE + 10) + f"\n{QUERY.format(3)}", newline="")
    status, out, err = answer(["batch", str(lines)])
    found = [json.loads(line) for line in out.splitlines()]
    assert (status, err, len(found)) == (2, "", 8)
    assert all(list(each) == KEYS for each in found)
    assert [each["status"] for each in found] == [0, 0, 2, 2, 2, 2, 2, 0]
    assert found[0]["answer"]["locations"][0]["lane"] == 35
    assert found[1]["answer"]["query"] == "version"
    assert found[2]["answer"] is None
    assert "already used for the lines of `mmacalc batch`" in found[4]["stderr"]
    assert "longer than 1048576 bytes" in found[6]["stderr"]
    assert found[7]["stdout"] == ANSWER


@pytest.mark.exhaustive  # every cache has a size: see test_shared_state
def test_a_batch_takes_no_more_memory_for_more_lines(tmp_path):
    pairs = 1500
    names = [inst.name for inst in mmacalc.instructions("rdna4")]
    each = [
        f"-a rdna4 -i {names[n % 20]} -A -g --neg {n // 20 % 4} --neg_hi {n // 80 % 4}\n-a x{n} -L\n"
        for n in range(pairs)
    ]
    lines = tmp_path / "lines"
    lines.write_text("".join(each))
    tracemalloc.start()
    try:
        held = [
            tracemalloc.get_traced_memory()[0]
            for n, _ in enumerate(replies(["batch", str(lines)]))
            if n in (pairs, 2 * pairs - 1)
        ]
    finally:
        tracemalloc.stop()
    assert held[1] - held[0] < 100_000


# --- writing ----------------------------------------------------------------------------------------------------------


def test_files_are_written_whole_or_not_at_all(tmp_path):
    one, other = tmp_path / "one", tmp_path / "none" / "other"
    one.write_text("before")
    with pytest.raises(mmacalc.Error, match="cannot be written: No such file or directory"):
        write({str(one): b"after", str(other): b""})
    assert one.read_text() == "before"
    assert os.listdir(tmp_path) == ["one"]
    one.chmod(0o600)
    (tmp_path / "link").symlink_to(one)
    write({str(tmp_path / "link"): b"after"})
    assert (one.read_text(), one.stat().st_mode & 0o777, (tmp_path / "link").is_symlink()) == ("after", 0o600, True)
    for name in ("", "\0", "\ud800", str(tmp_path)):
        with pytest.raises(mmacalc.Error, match="cannot be written"):
            write({name: b""})


def test_an_output_never_replaces_an_input(tmp_path):
    given = tmp_path / "a.npy"
    given.write_text("input")
    (tmp_path / "same").symlink_to(given)
    with pytest.raises(mmacalc.Error, match=r"would replace .* which is an input"):
        write({str(tmp_path / "same"): b"output"}, [str(given)])
    assert given.read_text() == "input"


def test_a_full_disk_is_noticed(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, limits[1]))
    try:
        with pytest.raises(mmacalc.Error, match="cannot be written: File too large"):
            write({str(tmp_path / "d.npy"): bytes(1152)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    with pytest.raises(mmacalc.Error, match="cannot be written: No space left"):
        write({"/dev/full": b"x"})
    assert os.listdir(tmp_path) == []


# --- without NumPy ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", ["run -a gfx942 -i {} --random 1", "numerics -a gfx942 -i {}"])
def test_what_needs_numpy_says_so_in_a_line_where_it_is_missing(line):
    bare = [sys.executable, "-I", "-S", "matrix_calculator.py"]  # no site packages
    argv = line.format("v_mfma_f32_16x16x16_f16").split()
    done = subprocess.run([*bare, *argv], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(
        "mmacalc: this needs the Python package numpy, which is not installed: .*pip install numpy.*",
        " ".join(done.stderr.split()),
    )
