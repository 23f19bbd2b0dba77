"""Completion, as bash, zsh and fish of their own processes do it after a press of the tab key."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mmacalc.cli import answer, commands
from mmacalc.cli.completion import completions

ROOT = Path(__file__).parents[1]

ONE = [
    (["lint", "--format", "gi"], "github"),
    (["lint", "--format=gi"], "--format=github"),
    (["lint", "--format", "=", "gi"], "github"),  # as bash breaks it
    (["draw", "--style", "p"], "print"),
    (["draw", "--color-by", "r"], "register"),
    (["generate", "--lang", "h"], "hip"),
    (["generate", "--epilogue", "alpha,bias=r"], "alpha,bias=row"),
    (["chain", "--use", "Bt"], "Bt"),
    (["memory", "--order", "c"], "col"),
    (["memory", "--swizzle", "12"], "128B"),
    (["memory", "-m", "matrix_a_f"], "matrix_a_fmt="),
    (["draw", "--matrix-a-scale-fmt", "e5"], "e5m3"),
    (["descriptor", "tcg"], "tcgen05"),
    (["gemm", "--against", "H100,RX 7900 XTX"], "H100,RX 7900 XTX"),
    (["architectures", "GB3"], "GB300"),
    (["-a", '"RX 7900 XTX'], "RX 7900 XTX"),
    (["-a", "RX\\ 7900\\ XTX"], "RX 7900 XTX"),
    (["chain", "MI300X", "v_mfma_f64_16"], "v_mfma_f64_16x16x4_f64"),
    (["compare", "MI300X", "v_mfma_f64_16"], "v_mfma_f64_16x16x4_f64"),
    (["intrinsic", "-a", "MI300X", "v_mfma_f64_16"], "v_mfma_f64_16x16x4_f64"),
    (["transpose-loads", "-a", "gfx950", "--load", "ds_read_b96"], "ds_read_b96_tr_b6"),
    (["draw", "-a", "B200", "-D", "--load", "16x128b.x64"], "16x128b.x64"),
    (["completion", "z"], "zsh"),
]


@pytest.mark.parametrize(("words", "one"), ONE, ids=[" ".join(words) for words, _ in ONE])
def test_the_value_of_an_option_is_completed(words, one):
    found = completions(words)
    assert next(iter(found)) == one
    assert len(found) == 1 or "x64" in one


def test_products_are_completed_as_they_are_printed_and_in_small_letters():
    assert {"MI300A", "MI300X"} <= set(completions(["-a", "MI3"]))
    assert {"mi300", "mi300a", "mi300x"} == set(completions(["-a", "mi300"]))
    assert all(about for about in completions(["-a", ""]).values())


def test_what_completion_offers_for_an_option_is_what_its_command_takes():
    """Of an unknown value each of these commands says which there are; none is said of one that is offered."""
    asked = {
        "--style": "draw -a gfx942 -i v_mfma_f32_32x32x8_f16 -D",
        "--color-by": "draw -a gfx942 -i v_mfma_f32_32x32x8_f16 -D",
        "--use": "chain -a gfx942 v_mfma_f32_32x32x8_f16 v_mfma_f32_32x32x8_f16",
        "--order": "memory -a gfx942 -i v_mfma_f32_32x32x8_f16 -A",
        "--lang": "",
        "--order-a": "generate -a gfx942 -i v_mfma_f32_32x32x8_f16",
        "--order-b": "generate -a gfx942 -i v_mfma_f32_32x32x8_f16",
        "--ld-kind": "generate -a gfx942 -i v_mfma_f32_32x32x8_f16",
        "--formula": "generate -a gfx942 -i v_mfma_f32_32x32x8_f16",
        "--epilogue": "generate -a gfx942 -i v_mfma_f32_32x32x8_f16 --gemm 64x64x64",
        "--distribution": "gemm -a gfx942 --against gfx950 --type f16 --m 16 --n 16 --k 16",
        "--k-order": "gemm -a gfx942 --gemm 16x16x16 --type f16",
    }
    seen = set()
    for name, command in commands().items():
        for option in command.options:
            written = option.spellings[0] if option.spellings else ""
            if option.known and written in asked and asked[written].startswith(name):
                seen.add(written)
                for value in option.known:
                    reply = answer([*asked[written].split(), written, value])
                    assert reply.status == 0, (written, value, reply.err)
                assert answer([*asked[written].split(), written, "nonsense"]).status == 2
    assert seen == set(asked) - {"--lang"}


# --- real shells ------------------------------------------------------------------------------------------------------

START = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source <(mmacalc completion bash)"),
    "zsh": (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; source <(mmacalc completion zsh)"),
    "fish": (["fish", "--no-config", "-i"], "mmacalc completion fish | source"),
}

OWN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""Makes its standard input the terminal of the process, as shells want it, and becomes the program of its arguments."""

TYPED = [
    ("lin", ["lint"]),
    ("lint --form", ["lint", "--format"]),
    ("lint --format gi", ["lint", "--format", "github"]),
    ("lint --format=gi", ["lint", "--format=github"]),
    ('-a "RX 7900 XTX', ["-a", "RX 7900 XTX"]),
    ("-a RX\\ 7900\\ G", ["-a", "RX 7900 GRE"]),
    ("-a B200 -i tcgen05.mma.sp.cta_group::1.kind::mxf8",
     ["-a", "B200", "-i", "tcgen05.mma.sp.cta_group::1.kind::mxf8f6f4.block_scale.block32"]),
    ("-a CDNA3 -i v_mfma_f64_16", ["-a", "CDNA3", "-i", "v_mfma_f64_16x16x4_f64"]),
    ("lint some-listi", ["lint", "some-listing.s"]),
]  # fmt: skip


def said(descriptor, until, seconds=60):
    """What a terminal prints until a text comes."""
    found, end = "", time.monotonic() + seconds
    while until not in found:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, end - time.monotonic()))
        assert ready, f"{until} did not come: {found!r}"
        found += os.read(descriptor, 65536).decode("utf-8", "replace")
    return found


@pytest.fixture(scope="module", params=START)
def shell(request, tmp_path_factory):
    """A shell on a terminal, with the completion; `mmacalc` prints its arguments, except of `completion`."""
    folder = tmp_path_factory.mktemp(request.param)
    program = folder / "mmacalc"
    program.write_text(
        f'#!/bin/sh\nif [ "$1" = completion ]; then exec {sys.executable} -m mmacalc "$@"; fi\n'
        'printf "<"; printf "[%s]" "$@"; echo "END>"\n'
    )
    program.chmod(0o755)
    (folder / "some-listing.s").write_text("")
    environment = {
        "PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "200", "PS1": "", "INPUTRC": "/dev/null",
    }  # fmt: skip
    words, begin = START[request.param]
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", OWN_TERMINAL, *words], stdin=slave, stdout=slave, stderr=slave, env=environment,
        cwd=folder, start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    os.write(master, f"{begin}\n".encode())
    os.write(master, b"mmacalc ready\n")
    said(master, "<[ready]END>")
    yield request.param, master
    process.kill()
    process.wait()
    os.close(master)


@pytest.mark.parametrize(("typed", "given"), TYPED, ids=[typed for typed, _ in TYPED])
def test_a_shell_completes_a_line_after_a_press_of_tab(shell, typed, given):
    """What the program gets when the line is finished: the arguments, in which quotation marks are closed."""
    _, terminal = shell
    os.write(terminal, f"mmacalc {typed}\t".encode())
    time.sleep(0.8)
    os.write(terminal, b"\n")
    found = re.findall(r"<((?:\[[^\]]*\])+)END>", said(terminal, "END>"))
    assert found[-1] == "".join(f"[{word}]" for word in given)


def test_fish_says_what_commands_and_options_do():
    script = answer(["completion", "fish"]).out
    program = f"function mmacalc; {sys.executable} -m mmacalc $argv; end; {script}; complete -C 'mmacalc dra'"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(["fish", "--no-config", "-c", program], capture_output=True, text=True, env=environment)
    assert done.stdout.split("\n")[0].split("\t") == ["draw", commands()["draw"].summary]
