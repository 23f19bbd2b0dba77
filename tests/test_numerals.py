"""Every number that a user writes is read in one place, and one of any length, script or form is read or refused."""

import json
import re
import shlex
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest

from mmacalc.cli import answer, commands
from samples import sampled

ROOT = Path(__file__).parents[1]
SAMPLE = """
import re

def read(text: str, found: re.Match[str], words: list[str], number: float, either: int | str) -> list[float]:
    wrong: list[float] = [int(text), int(number)]
    wrong += [float(found[1])]
    wrong += map(int, words)
    wrong += [int(text, 0)]
    wrong += map(float, found.groups())
    return [*wrong, int(number), int(either)]
"""
# One command line or more for each reader of numbers in text; with the examples in every -h, the places where a number
# can stand.
READ = r"""
-a gfx942 -i v_mfma_f64_4x4x4 -d
-a H100 -i wgmma.m64n24k8 -d
-a gfx942 -i v_mfma_f32_16x16x16_f16 -A -g -I 3 -K 5 -w 64
find m16n8k16
find -a A100 16x8x16 bf16
find "wmma::fragment<matrix_a, 16, 16, 16, half, row_major>"
compare gfx942 v_mfma_i32_16x16x32 gfx90a v_mfma_i32_16x16x16
chain -a gfx942 v_mfma_f32_16x16x4_f32 v_mfma_f32_16x16x4_f32
explain "HMMA.16816.F32 R4, R8, R12, R4"
explain "IMMA.16832.S8.S8 R4.RELU, R8.ROW, R12.COL, R4"
explain "HGMMA.64x128x16.F32 R24, gdesc[UR8], R24, !UPT"
explain "UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8], tmem[UR10], idesc[UR11], !UPT"
explain "LDTM.x32 R4, tmem[UR8]"
explain "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, p, 1, 1, 0, 0;"
explain "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2}, {%r1,%r2}, {%r3,%r4}, {%f1,%f2}, %r9, 0x0;"
explain "tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r0}, [%r1], 16;"
explain -a gfx942 "c = __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c, 01, 0, 0x0);"
explain -a gfx942 "v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15] cbsz:1 abid:01"
explain "dpas.8x8 (16|M0) r40:f r30:f r20:bf r10.0:bf"
assemble -a pvc "(W) dpas.8x8 (16|M0) r40:f r30:f r20:bf r10.0:bf {Atomic, $3, @1}"
assemble -a gfx942 "v_mfma_f32_4x4x4_16b_f16 a[0:3], v[2:3], v[4:5], a[0:3] cbsz:1 abid:01 blgp:0x2"
assemble -a gfx942 ".set x, 3+010\n.long x, 0b11, 077\nv_mfma_f32_4x4x4_16b_f16 a[0:3], v[2:3], v[4:5], 0.5"
lint -a gfx942 "s_nop 7 // 0000000000001C00: BF800007"
waits -a gfx942 "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[2:3], v[4:5], v[0:3]" "v_mov_b32 v5, v3"
disassemble -a gfx942 "0xd3cc8100 0x04022510"
memory -a gfx942 -i v_mfma_f32_16x16x16_f16 -A --ld 64 --pad 8 --swizzle vec,perPhase,maxPhase=4,1,4
memory -a gfx942 -i v_mfma_f32_16x16x16_f16 -A --ld 64 --swizzle 3,4,3 --kpack 2
descriptor i8 0x08400490
descriptor wgmma --leading 16 --stride 1024
draw -a gfx942 -i v_mfma_f32_16x16x16_f16 -D --mark "D[2][5].B0" --width 120
estimate -a gfx942 --gemm 4096x4096x4096 --type f16 --clock 2.1
generate -a gfx942 -i v_mfma_f32_16x16x16_f16 --gemm 64x64x64
gemm -a gfx942 --gemm 16x16x32 --type f16 --k-order 1,0 --random 7
run -a gfx942 -i v_mfma_f32_16x16x16_f16 --one-hot 3,9
run -a gfx942 -i v_mfma_f32_16x16x16_f16 --a numbers.csv --b numbers.csv
transpose-loads --load ds_read_b64_tr_b16
architectures "MI300X 192GB"
-a "RTX 3060 12 GB" -L
intrinsic -a gfx942 llvm.amdgcn.mfma.f32.32x32x8f16
"""
FORMS = ("0" * 5000 + "1", "0x" + "f" * 5000, "\u0663", "1_0", "-1", "1e400", "08")


def test_no_other_module_reads_a_number_from_text(tmp_path):
    """The plugin makes it an error of mypy's, which ./test runs on everything; here on each way to do it."""
    assert 'plugins = ["tools/typed_numbers.py"]' in (ROOT / "pyproject.toml").read_text()
    handed = [path for path in (ROOT / "src").rglob("*.py") if re.search(r"type=(int|float)[,)]", path.read_text())]
    assert [path.name for path in handed] in ([], ["operand.py"])  # to argparse, but in a call of NumPy
    (tmp_path / "sample.py").write_text(SAMPLE)
    (tmp_path / "mypy.toml").write_text(f"[tool.mypy]\nplugins = ['{ROOT / 'tools/typed_numbers.py'}']\n")
    options = ["--config-file", "mypy.toml", "sample.py"]
    mypy = [sys.executable, "-m", "mypy", "--python-version", "3.13"]
    found = subprocess.run([*mypy, *options], cwd=tmp_path, capture_output=True, text=True)
    assert found.stdout.count("[number-of-text]") == 5, found.stdout + found.stderr


def command_lines():
    """Whole command lines: those above, and the examples of every -h that reads no file."""
    for line in READ.strip().splitlines():
        yield [word.replace("\\n", "\n") for word in shlex.split(line)]
    others = {"page", "numerics", "completion", "find", "explain", "lsp", "mcp", "run-program"}
    for name in sorted(set(commands()) - others):
        for line in re.sub(r" \\\n +", " ", answer([name, "--help"]).out).splitlines():
            command = re.split(r"  +", line.strip())[0]
            if line.startswith("    mmacalc ") and not re.search(
                r"[<>|]|\.\.\.|\.\w{1,5}\b(?<!\d)|--check|--acc|--format", command
            ):
                yield shlex.split(command)[1:]


LINES = list(command_lines())


def tried(words, form):
    """A command line twice for each number in it: with 5,000 digits instead, and in the form."""
    for at, word in enumerate(words):
        for digits in re.finditer(r"(?:0x)?[0-9]+", word):
            for number in ("9" * 5000, form):
                yield [*words[:at], word[: digits.start()] + number + word[digits.end() :], *words[at + 1 :]]


@sampled("step", [6, 3, 1], 1, whole=1)
def test_a_number_of_any_length_or_form_is_read_or_refused_wherever_one_can_stand(step, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savetxt("numbers.csv", np.eye(16), delimiter=",", fmt="%g")
    count = 0
    for words, form in [*zip(LINES, cycle(FORMS))][::step]:
        assert answer(words).status in (0, 1), words
        for changed in tried(words, form):
            start = time.process_time()
            reply = answer(changed)
            took = time.process_time() - start
            shown = [word[:80] for word in changed]
            assert reply.status in (0, 1, 2), (shown, reply.err[:400])
            if reply.status == 2:
                said = json.loads(reply.out)["error"]["message"] if "--json" in changed else reply.err
                assert bool(reply.out) == ("--json" in changed), shown
                assert 0 < len(said) < 3000, shown
            assert took < 5, (shown, took)
            count += 1
    assert count > 600 // step


@pytest.mark.parametrize("cell", ["9" * 5000, "1_0", "\u0663", "0x10", "1e", "--1"])
def test_a_cell_of_a_csv_file_is_a_number_in_ascii(cell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [["0"] * 16 for _ in range(16)]
    rows[3][4] = cell
    Path("a.csv").write_text("\n".join(map(",".join, rows)))
    reply = answer(["run", "-a", "gfx942", "-i", "v_mfma_f32_16x16x16_f16", "--a", "a.csv", "--b", "a.csv"])
    assert reply.status == (0 if cell.isascii() and cell.isdecimal() else 2), reply.err
