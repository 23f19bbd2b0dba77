"""No option is taken and not read: with it an answer is another one, or the option is refused.

Commands are called as a user would, each in several of its forms, and every option of the command is added to each of
them, with values that it takes.
"""

import argparse
from pathlib import Path

import numpy as np
import pytest

from mmacalc.cli import answer, commands
from mmacalc.cli import command as command_of
from samples import sampled

KERNEL = str(Path(__file__).parent / "data" / "kernels" / "exchange_gfx942.hsaco")
MFMA = "-a gfx942 -i v_mfma_f32_32x32x8_f16"
MMA = "-a sm_90a -i mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
LINE = "v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15]"
TRITON = "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = true}>"
LAUNCH = f"{KERNEL} reverse --grid 1 --block-dim 256 --args x.npy out:y.npy:f4:256 256"

FORMS = [
    "architectures",
    f"assemble -a gfx942 '{LINE}'",
    "chain -a gfx942 v_mfma_f32_32x32x8_f16 v_mfma_f32_32x32x8_f16",
    "chain -a gfx942 --list v_mfma_f32_32x32x8_f16",
    "compare cdna3 v_mfma_f32_32x32x8_f16 cdna4 v_mfma_f32_32x32x16_f16",
    "compare (8,4):(1,8) (8,4):(4,1)",
    "descriptor wgmma",
    "descriptor atom",
    "descriptor f16 -M 128 -N 64",
    "descriptor f16 0x08400490",
    "descriptor -a h100 -i wgmma.m64n128k16.f32.f16.f16",
    f"diagnose {MFMA} --a a.npy --b b.npy d.npy",
    "diagnose -a gfx942 --type f16 --a a.npy --b b.npy d.npy",
    "disassemble -a gfx942 0000ccd310250204",
    f"disassemble {KERNEL}",
    f"draw {MFMA} -A",
    "estimate -a gfx942 --gemm 512x512x512 --type f16",
    f"explain -a gfx942 '{LINE}'",
    f"explain '{TRITON}'",
    "find gfx942 f16",
    "find MI300X like sm_80 mma.m16n8k16.f32.f16.f16.f32",
    "gemm -a gfx942 --gemm 32x32x32 --type f16",
    "gemm -a gfx942 --a a.npy --b b.npy --type f16",
    "gemm -a gfx942 --type f16 --against a100 --m 16 --n 16 --k 16",
    f"generate {MFMA}",
    f"generate {MFMA} --lds",
    f"generate {MFMA} --gemm 64x64x64",
    f"generate {MMA} --gemm 64x64x64",
    f"generate {MFMA} --attention 1x1x64x64x32",
    "intrinsic -a gfx942 v_mfma_f32_32x32x8_f16",
    "layout (8,4):(1,8)",
    f"lint -a gfx942 '{LINE}'",
    f"memory {MFMA} -A --ld 64",
    f"memory {MMA} -A --ld 64",
    "numerics -a gfx942",
    f"numerics {MFMA}",
    f"numerics {MFMA} {MMA}",
    f"profile {LAUNCH}",
    f"run {MFMA} --random 3",
    f"run-kernel {KERNEL}",
    f"run-kernel {LAUNCH}",
    f"tile {MFMA} --waves 2x2",
    f"tile {MFMA} --waves 2x2 -D -I 3 -J 4",
    "transpose-loads -a gfx950 -i v_mfma_f32_32x32x16_f16 -A",
    f"waits -a gfx942 '{LINE}'",
]

UNCHANGED = {
    ("chain", "--keep-k"): "nothing is relabelled here anyway",
    ("chain", "--cbsz"): "of the instructions that D feeds, none lies otherwise by it",
    ("diagnose", "--values"): "numbers are values anyway, but whole numbers for a format of floats",
    ("run", "--values"): "as above",
    ("run", "--save-inputs"): "it writes a file",
    ("disassemble", "--all"): "all is shown",
    ("disassemble", "--matrix"): "there is no other instruction",
    ("draw", "--labels"): "they are of the picture in a file",
    ("draw", "--no-fold"): "nothing is folded",
    ("explain", "--architecture"): "a layout names its own; of several files it is for those that name none",
    ("find", "--all"): "all are shown",
    ("find", "--intrinsic"): "each has such a name",
    ("gemm", "--alpha"): "the text has no numbers of D",
    ("gemm", "--random"): "as above",
    ("gemm", "--threads"): "the bits are the same",
    ("lint", "--skip-others"): "there is no other line",
    ("profile", "--schedule"): "the order of waves that share nothing changes no count",
    ("run-kernel", "--schedule"): "nor a result",
    ("run-kernel", "--shared"): "the kernel declares its LDS",
    ("tile", "--K-coordinate"): "coordinates that an operand lacks are ignored, as `Operand.locate` documents",
}
"""Options that leave the answer of a form as it is, with the reason."""
VALUES = ("1", "2", "1x2", "2x2x2", "64x64x64", "f16", "row", "x.svg", "0.5")


def values(option):
    """Two texts that an option takes; nothing for a flag."""
    if not (option.placeholder or option.choices):
        return [[]]
    taken = []
    for text in option.choices or VALUES:
        try:
            taken.append([text]) if option.kind is None or option.kind(text) is not None else None
        except (argparse.ArgumentTypeError, ValueError):
            continue
    return taken[:2]


def words_of(form):
    """The words of a command line, of which some are quoted."""
    return [word for at, part in enumerate(form.split("'")) for word in ([part] if at % 2 else part.split())]


@pytest.fixture
def matrices(tmp_path, monkeypatch):
    """A folder with the files that the forms name."""
    monkeypatch.chdir(tmp_path)
    for name, shape in (("a", (32, 8)), ("b", (8, 32)), ("d", (32, 32)), ("x", (256,))):
        np.save(f"{name}.npy", np.ones(shape, np.float32))


@sampled("form", FORMS, 20, first=3)
@pytest.mark.usefixtures("matrices")
def test_every_option_changes_the_answer_or_is_refused(form):
    name, *rest = words_of(form)
    plain = answer([name, *rest])
    assert plain.status in (0, 1), plain.err
    for option in command_of(name).options:
        if not option.spellings or option.name == "json" or not set(option.spellings).isdisjoint(rest):
            continue
        answers = (answer([name, *rest, option.spellings[-1], *given]) for given in values(option))
        changed = any((one.status, one.out, one.err) != tuple(plain) for one in answers)
        assert changed or (name, main_spelling(option)) in UNCHANGED, (form, main_spelling(option))


def main_spelling(option):
    """The first long one, or the only one."""
    return next((each for each in option.spellings if each.startswith("--")), option.spellings[0])


def test_the_forms_are_of_every_command_that_answers():
    # a script, documentation, servers, a page; and what follows a program belongs to that: tests/test_programs.py
    others = {"batch", "completion", "help", "lsp", "mcp", "page", "run-program"}
    assert {form.split()[0] for form in FORMS} == {*commands()} - others
