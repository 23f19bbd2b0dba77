"""Terminal widths: nothing that is printed for people is wider than the screen, and nothing of it is lost."""

import io
import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmacalc.cli import answer, commands, main
from mmacalc.command import tables
from mmacalc.command.fitting import COMMANDS, fitted

FILES = {
    "kernel.s": '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n'
    "  v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15]\n  v_add_f32 v0, v0, v1\n",
    "d.csv": "\n".join([",".join(["0"] * 16)] * 16),
}
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"
LINEAR = "#ttg.linear<{register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 4]]}>"
ASKED = f"""
architectures
assemble -a gfx942 'v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15] cbsz:1' --fields
chain -a MI300X v_mfma_f32_32x32x8_f16 v_mfma_f32_32x32x8_f16
compare MI300X MI355X 16x16x32 bf16
compare H100 {MMA} MI300X v_mfma_f32_16x16x16_f16
descriptor wgmma --swizzle 128B --leading 16 --stride 1024
descriptor f16 -M 128 -N 64
diagnose -a gfx942 -i v_mfma_f32_16x16x16_f16 --random 1 --d d.csv
estimate -a MI300X --gemm 4096x4096x4096 --type fp8
estimate -a H100 --gemm 4096x4096x4096 --type int4
explain kernel.s
explain {WGMMA}
explain '{LINEAR}'
find -a MI300X bf16
gemm -a H100 --against L40S,MI300X --type fp8 --m 16 --n 16 --k 64
intrinsic -a MI300X -i v_mfma_f32_32x32x8_f16
layout '{LINEAR}'
lint kernel.s
memory -a MI300X -i v_mfma_f32_32x32x8_f16 -A --ld 64 --search
memory -a H100 -i {MMA} -A --ld 64
numerics -a MI300X
numerics -a H100 -i {WGMMA}
run -a MI300X -i v_mfma_f32_16x16x16_f16 --random 1
tile -a MI300X -i v_mfma_f32_32x32x8_f16 --waves 2x2 -A
transpose-loads -a MI355X -i v_mfma_f32_32x32x16_f16 -A
waits -a MI300X 'v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15]' 'v_add_f32 v0, v0, v1'
-a A100 -i {MMA} -d
-a H100 -i {WGMMA} -d
""".strip().split("\n")
PRINTED_ELSEWHERE = {"profile", "run-kernel"}  # of compiled kernels, whose texts have the same parts


def shown(words, monkeypatch, width):
    """What a command line prints in a width; None: nothing says one."""
    if width:
        monkeypatch.setenv("COLUMNS", str(width))
    else:
        monkeypatch.delenv("COLUMNS", raising=False)
    stream = io.StringIO()
    monkeypatch.setattr("sys.stdout", stream)
    assert main(words) in (0, 1), words
    return stream.getvalue()


@pytest.mark.parametrize("line", ASKED)
def test_in_80_columns_nothing_overflows_and_no_word_is_lost(line, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    found = shown(shlex.split(line), monkeypatch, 80)
    assert max(map(len, found.split("\n"))) <= 80
    whole = shown(shlex.split(line), monkeypatch, 1000)
    words = set(re.sub(r"[-+|=]{3,}|[\s|]+", " ", whole).split())
    assert not {word for word in words if len(word) < 20 and word not in found}


def test_every_command_for_people_is_among_those_tried():
    tried = {line.partition(" ")[0] for line in ASKED}
    assert tried >= COMMANDS - PRINTED_ELSEWHERE
    assert set(commands()) >= COMMANDS


def test_a_pipe_gets_the_whole_width_and_code_is_never_broken(monkeypatch):
    estimate = shlex.split("estimate -a MI300X --gemm 4096x4096x4096 --type fp8")
    assert shown(estimate, monkeypatch, None) == answer(estimate).out
    for line in (
        "generate -a MI300X -i v_mfma_f32_32x32x8_f16", "-a MI300X -i v_mfma_f32_32x32x8_f16 -A -R",
        "numerics -a MI300X --json", "numerics -a MI300X --markdown",
    ):  # fmt: skip
        words = shlex.split(line)
        assert shown(words, monkeypatch, 80) == answer(words).out


def test_a_wide_table_of_markdown_becomes_a_grid_and_keeps_its_indents():
    header = ["what", *[f"of kernel {number}" for number in range(9)]]
    rows = [["instructions", *["912"] * 9], ["  vector", *["3 %"] * 9]]
    found = fitted(tables.write(header, rows, "markdown"), 80)
    assert max(map(len, found.split("\n"))) <= 80
    assert "|   vector     | 3 %" in found
    assert found.count("912") == 9
    narrow = tables.write(header[:3], [row[:3] for row in rows], "markdown")
    assert fitted(narrow, 80) == narrow


CELL = st.text("ab_1. ", max_size=30).map(str.strip)


@given(st.integers(2, 6).flatmap(lambda n: st.lists(st.lists(CELL, min_size=n, max_size=n), min_size=2, max_size=5)))
def test_a_table_of_any_cells_fits_and_keeps_their_letters(rows):
    text = tables.write([f"h{number}" for number in range(len(rows[0]))], rows)
    for width in (40, 80):
        found = fitted(text, width)
        assert max(map(len, found.split("\n"))) <= max(width, 40)
        for letter in "ab_1.":
            assert found.count(letter) >= text.count(letter)
