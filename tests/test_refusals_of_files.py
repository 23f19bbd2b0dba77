"""Files and streams that are not what they seem: each is refused in words of ours, at no cost."""

import io
import os
import re
import sys
import time
import tracemalloc
import zipfile

import numpy as np
import pytest

from mmacalc.base.errors import how_to_install
from mmacalc.cli import answer, replies

GEMM = ["gemm", "-a", "gfx942", "--type", "f16"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("right.npy", np.eye(16, dtype=np.float16))
    return tmp_path


def header(text):
    """An .npy file with this header and no data."""
    padded = text.encode() + b" " * (117 - len(text)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded


@pytest.mark.parametrize("size", [1 << 28, 1 << 60])
def test_a_member_of_an_npz_that_expands_to_a_gigabyte_is_refused_before_it_is_read(size):
    with (
        zipfile.ZipFile("bomb.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("a.npy", "w") as a,
    ):
        a.write(header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({size // 16}, 16)}}"))
        for _ in range(256):
            a.write(bytes(1 << 20))
    tracemalloc.start()
    start = time.process_time()
    reply = answer([*GEMM, "--a", "bomb.npz", "--b", "right.npy"])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (reply.status, reply.out) == (2, "")
    assert re.search(r"expand to 268435\d+; save", reply.err)
    assert most < 30e6
    assert time.process_time() - start < 2


@pytest.mark.parametrize("option", ["--a", "--b", "--c"])
@pytest.mark.parametrize("shape", [(), (0,), (16,), (1,)])
def test_an_array_without_rows_and_columns_is_no_matrix_of_a_gemm(option, shape):
    np.save("wrong.npy", np.ones(shape))
    files = {"--a": "right.npy", "--b": "right.npy", option: "wrong.npy"}
    words = [word for pair in files.items() for word in pair]
    for kind in (["--type", "f16"], ["-i", "v_mfma_f32_16x16x16_f16"]):
        reply = answer(["gemm", "-a", "gfx942", *kind, *words])
        assert reply.status == 2
        assert "a matrix has rows and columns" in reply.err


@pytest.mark.parametrize(
    "content",
    [
        b"\x93NUMPY", b"\x93NUMPY\x01\x00", b"\x93NUMPY\x09\x09aaaa", header("{}"), header("f()"), header("["),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -1)}"),
        header("{'descr': 'S0', 'fortran_order': False, 'shape': (4, 4)}"),
        header("{'descr': 'zz', 'fortran_order': False, 'shape': (4, 4)}"),
        header("{'descr': __import__('os'), 'fortran_order': False, 'shape': (4, 4)}"),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999999999, 16)}"),
        header("{'descr': '|O', 'fortran_order': False, 'shape': (4, 4)}"),
    ],
)  # fmt: skip
def test_a_damaged_npy_file_is_refused_without_numpys_internals(content, folder):
    (folder / "bad.npy").write_bytes(content)
    reply = answer([*GEMM, "--a", "bad.npy", "--b", "right.npy"])
    assert (reply.status, reply.out) == (2, "")
    assert not re.search(r"ast\.|object at 0x|dimension|EOF|buffer|descr is|magic", reply.err), reply.err


@pytest.mark.parametrize("array", [
    np.array([["a", "b"]]), np.array([[b"a", b"b"]]), np.array([["2026-01-01"]], "M8[D]"), np.zeros((2, 2), "i4,i4"),
    np.array([[np.timedelta64(1)]]),
])  # fmt: skip
@pytest.mark.parametrize("command", [GEMM, ["run", "-a", "gfx942", "-i", "v_mfma_f32_16x16x16_f16"]])
def test_arrays_of_text_dates_or_records_are_refused(array, command):
    np.save("odd.npy", array)
    reply = answer([*command, "--b", "right.npy", "--a", "odd.npy"])
    assert reply.status == 2
    assert re.search("it holds (text|dates|records); save it with a type of numbers", reply.err)


def test_an_output_that_no_file_can_be_is_refused_and_nothing_is_replaced():
    words = ["draw", "-a", "gfx942", "-i", "v_mfma_f32_16x16x16_f16", "-D", "-o"]
    reply = answer([*words, "a\0.svg"])
    assert (reply.status, "its name is not a valid file name" in reply.err) == (2, True)
    os.symlink("loop.svg", "loop.svg")
    reply = answer([*words, "loop.svg"])
    assert (reply.status, "levels of symbolic links" in reply.err) == (2, True)
    assert os.path.islink("loop.svg")
    os.symlink("there.svg", "link.svg")  # to what does not exist yet
    assert answer([*words, "link.svg"]).status == 0
    assert os.path.islink("link.svg")
    assert os.path.isfile("there.svg")


def test_standard_input_of_text_alone_is_read(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("-a cdna3 -L\nlint -a gfx942 -\n"))
    first, second = answer(["batch"]).out.splitlines()
    assert '"status": 0' in first
    assert "standard input is already used for the lines of `mmacalc batch`" in second
    monkeypatch.setattr("sys.stdin", io.StringIO("s_nop 0\n"))
    assert answer(["lint", "-a", "gfx942", "-"]).status == 0


def test_a_batch_that_is_left_half_way_takes_standard_input_from_nobody(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("-a cdna3 -L\n-a cdna3 -L\n"))
    abandoned = iter(replies(["batch"]))
    next(abandoned)
    monkeypatch.setattr("sys.stdin", io.StringIO("s_nop 0\n"))
    assert answer(["lint", "-a", "gfx942", "-"]).status == 0


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("/home/me/.local/share/pipx/venvs/mmacalc", "pipx inject mmacalc x"),
        ("/home/me/.local/share/uv/tools/mmacalc", "uv tool install --with x ."),
        ("/home/me/.cache/uv/archive-v0/abc", "uvx --with x"),
        ("/home/me/clone/.venv", "-m pip install x"),
    ],
)
def test_the_command_that_installs_a_package_is_one_of_where_mmacalc_runs(prefix, command, monkeypatch):
    monkeypatch.setattr(sys, "prefix", prefix)
    assert command in how_to_install("x")
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    reply = answer(["draw", "-a", "gfx942", "-i", "v_mfma_f32_16x16x16_f16", "-D", "-o", "d.png"])
    assert command.replace(" x", " resvg-py") in reply.err


def test_pip_is_not_named_where_the_system_or_the_python_has_none(monkeypatch):
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert how_to_install("x").startswith("python3 -m venv .venv && .venv/bin/pip install x")
