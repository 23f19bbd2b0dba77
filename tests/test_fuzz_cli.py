"""No command line, however wrong, ends in anything but an answer or a clear refusal.

The contract: status 0 is an answer on standard output; 1, of the commands of FINDING, a finding there; 2 a refusal:
standard output empty, one line on standard error, no file written. Anything else, a fault of ours (3) among it, fails.
Every command's options are read from its parser, so that a new command is tried without a word here.

The examples are the same in every run. `FUZZ=20 python -m pytest tests/test_fuzz_cli.py` tries twenty times as many,
others each time.
"""

import contextlib
import io
import json
import os
import random
import subprocess

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import asm_texts
import llvm_mc
import mmacalc
from mmacalc.asm.forms import forms
from mmacalc.asm.targets import target
from mmacalc.cli import answer, command_parser, commands
from mmacalc.questions import classic
from samples import sampled

TIMES = int(os.environ.get("FUZZ", "1"))
FINDING = {"lint", "run", "gemm", "batch"}  # the commands that have status 1
COMMANDS = tuple(commands())
BATCHABLE = sorted(set(COMMANDS) - {"batch"})
CLASSIC = [*sorted(classic._MEANINGS), "-h", "-v", "--", "-x", "--no-such", "-gA", "--lane=3", "-I-1"]
VALUES = [
    "0", "1", "2", "3", "4", "7", "15", "16", "31", "32", "63", "64", "-1", "1.5", "", " ", "0x1f", "\uff19", "\u00b2",
    "1" * 30, "9" * 5000, "fp6", "f16", "bf16", "fp8", "i8", "16x16x16", "1x1x" + "9" * 4301, "3,9", "cbsz=1", "neg=3",
    "a=", "=", "é" * 900, "\x1b[31m\n\0", "\udcff", "\ud800", "x" * 20000, "a." * 2000, "None", "-", "--json", "nan",
]  # fmt: skip
ARCHITECTURES = [name for known, aliases in mmacalc.architectures().items() for name in (known, *aliases[:1])]
NAMES = {
    arch: [inst.name for inst in mmacalc.instructions(arch)]
    for arch in ("cdna1", "cdna3", "cdna4", "cdna5", "rdna3", "rdna4", "sm_75", "sm_80", "sm_90a", "sm_120a")
}
INSTRUCTIONS = [(arch, name) for arch, names in NAMES.items() for name in names[:: 1 + len(names) // 40]]
FILES = [
    "a.npy", "b.npy", "bf16.npy", "u8.npy", "text.csv", "two.npz", "two.npz:b", "cut.npy", "listing.s", "object.o",
    "none", ".", "", "-", "\0", "\ud800", "d.npy", "d.csv", "d.txt", "no/such/d.npy",
]  # fmt: skip
LINES = [
    "s_nop 15", "s_nop 0x7", "s_waitcnt vmcnt(0)", "v_mov_b32 v0, v1", "v_add_f32 v4, v0, v5", "loop:", "s_branch loop",
    "s_cbranch_scc0 loop", "s_endpgm", ".set x, 3", ".set x, x*x", ".set x, ²0", ".set x, 1<<30000000000", "s_branch ²",
    "v_mov_b32 v[²:3], v1", "v_mov_b32 v" + "9" * 5000 + ", v0", "v_mov_b32 v[0:1<<20000], v0", "v[1if]", "v[0:x]",
    ".long 0x1234", ".long " + "(" * 300 + "1" + ")" * 300, ".long " + "-" * 500 + "1", ".text", "; a comment",
    "/* one", "1: v_nop", ".if 1", ".macro m", "\ufeff", "\udcff", "v_mfma", "v_mfma_i32_16x16x4i8 v[54:69], v90, v1, "
    + "9" * 30, "ds_read_b128 v[0:3], v4", "global_store_dwordx4 v[8:9], v[0:3], off", "v_mov_b32 v0, 0x1p999999999",
    '.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"', "  1c00: v_mov_b32_e32 v0, v1  // 000000001C00: 7E000301",
]  # fmt: skip
USUAL = ("architecture", "instruction", "random")
SEED = st.integers(0, 1 << 30)
GOES_ON = ("batch", "lint", "assemble", "disassemble")
"""Commands of which one file or line that is refused stops no other."""
SERVERS = ("lsp", "mcp")
"""Commands that answer messages, of which an empty standard input has none."""


def tried(examples):
    """So many examples, always the same ones unless FUZZ asks for more."""
    return settings(
        max_examples=examples * TIMES, derandomize=TIMES == 1, deadline=None, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip


# --- the contract -----------------------------------------------------------------------------------------------------


def check(argv):
    """The contract, for one command line in the current directory."""
    before = files()
    reply = answer(argv)
    shown = [word[:200] for word in argv], reply.status, reply.out[:300], reply.err[:600]
    assert reply.status in ((0, 1, 2) if argv[:1] and argv[0] in FINDING else (0, 2)), shown
    as_data = "--json" in argv and not reply.err
    if reply.status == 2:
        assert reply.out == "" or argv[0] in GOES_ON or as_data, shown
        assert files() == before, shown
    else:
        assert (
            reply.out
            or argv[:2] in (["completion", "words"], ["completion", "described"])
            or argv[0] in SERVERS
            or "github" in argv
            or "--skip-others" in argv  # which may leave out all of it
        ), shown
    if reply.status == 2 and as_data:
        assert "error" in json.loads(reply.out.splitlines()[-1]) or argv[0] in GOES_ON, shown
    elif reply.status == 2 and argv[:1] != ["batch"] and not (argv[0] in GOES_ON and reply.out):
        assert reply.err.startswith("mmacalc: "), shown
        assert reply.err.count("\n") == 1, shown
        assert reply.err[:-1].isprintable(), shown
        assert len(reply.err) < 3000, shown
    if "--json" in argv and reply.out.startswith("{"):
        for document in reply.out.splitlines() if argv[0] in GOES_ON else [reply.out]:
            json.loads(document)
    return reply


def files():
    return {entry.name: (entry.stat().st_mtime_ns, entry.stat().st_size) for entry in os.scandir()}


class Stdin:
    """A standard input that holds bytes."""

    def __init__(self, data):
        self.buffer = io.BytesIO(data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A directory with one file of every kind, which is the current one."""
    made = tmp_path_factory.mktemp("fuzz")
    with current_directory(made):
        np.save("a.npy", np.arange(256.0).reshape(16, 16))
        np.save("b.npy", np.eye(16, dtype=np.float16))
        np.save("bf16.npy", np.ones((16, 16), ml_dtypes.bfloat16))
        np.save("u8.npy", np.ones((16, 32), np.uint8))
        np.savez("two.npz", a=np.ones((16, 16)), b=np.ones((32, 16)))
        (made / "cut.npy").write_bytes((made / "a.npy").read_bytes()[:200])
        (made / "text.csv").write_text("\n".join(["1," * 15 + "1e30"] * 16))
        (made / "listing.s").write_text("v_mfma_f32_4x4x1_16b_f32 v[0:3], v4, v5, v[0:3]\nv_add_f32 v6, v0, v1\n")
        assemble = [llvm_mc.tool("llvm-mc"), "-triple=amdgcn", "-mcpu=gfx942", "-filetype=obj", "-o", "object.o"]
        subprocess.run([*assemble, "listing.s"], check=True)
        yield made


@contextlib.contextmanager
def current_directory(path):
    before = os.getcwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


# --- command lines ----------------------------------------------------------------------------------------------------


def value_for(action, arch, name):
    """Mostly what an option takes, by its name and metavar; at times anything else."""
    pools = {
        "architecture": [arch], "first_architecture": [arch], "second_architecture": [arch],
        "instruction": [name], "first_instruction": [name], "second_instruction": [name], "name": [name],
        "code": [*FILES, "00 81 cc d3 10 25 02 04"], "words": ["-a", "mfma"], "file": FILES,
        "text": LINES, "first": LINES, "second": LINES,
    }  # fmt: skip
    by_metavar = {
        "#": [str(number) for number in range(20)], "FILE": FILES, "PREFIX": ["in_", "no/such/", "./"], "I,K": ["3,9"],
        "MxNxK": ["16x16x16", "48x40x24"], "FORMAT": ["f16", "bf16", "fp8", "i8", "f32", "b16", "b1", "f8f6f4"],
        "NAME=VALUE": ["cbsz=1", "cbsz=fp4", "neg=1"],
    }  # fmt: skip
    right = st.sampled_from(pools.get(action.dest, by_metavar.get(action.metavar, VALUES)))
    if action.choices:
        right = st.sampled_from(sorted(action.choices))
    return st.integers(0, 9).flatmap(lambda chance: right if chance < 9 else st.sampled_from(VALUES))


@st.composite
def command_lines(draw, command):
    """A command line of one command: what it requires, some of its options, at times noise."""
    arch, name = draw(st.sampled_from(INSTRUCTIONS))
    argv = [] if command == "classic" else [command]
    actions = command_parser("" if command == "classic" else command)._actions[1:]
    usual = [at for at, action in enumerate(actions) if action.required or action.dest in USUAL]
    further = st.lists(st.integers(0, len(actions) - 1), max_size=4)
    chosen = {*usual, *draw(further)} if draw(st.integers(0, 9)) < 9 else {*draw(further)}
    for action in (actions[at] for at in sorted(chosen)):
        argv += [draw(st.sampled_from(action.option_strings))] if action.option_strings else []
        if action.nargs != 0:
            argv.append(draw(value_for(action, arch, name)))
    if command == "classic" and draw(st.integers(0, 3)):
        argv += [
            draw(st.sampled_from(["-A", "-B", "-C", "-D", "-k"])),
            draw(st.sampled_from(["-g", "-m", "--pattern"])),
        ]
    if draw(st.integers(0, 3)) == 3:
        argv += draw(st.lists(st.sampled_from([*CLASSIC, *VALUES]), max_size=3))
    return argv


@tried(600)
@given(command_lines("classic"))
def test_every_classic_command_line_is_answered_or_refused(folder, argv):
    check(argv)


@sampled("examples", [16, 40, 100], 1, whole=1)
@pytest.mark.parametrize("command", BATCHABLE)
def test_every_command_answers_or_refuses(folder, monkeypatch, command, examples):
    monkeypatch.setattr("mmacalc.questions.page._data_text", lambda: "")  # ten seconds, the same every time

    @tried(examples // 2 if command in ("run", "numerics", "find") else examples)
    @given(command_lines(command))
    def every(argv):
        monkeypatch.setattr("sys.stdin", Stdin(b"s_nop 0\n"))
        monkeypatch.setattr("webbrowser.open", lambda url: True)
        check(argv)

    every()


@tried(100)
@given(st.lists(st.sampled_from([*CLASSIC, *VALUES, *COMMANDS]).filter(lambda word: word != "batch"), max_size=4))
def test_words_without_sense_are_answered_or_refused(folder, monkeypatch, argv):
    monkeypatch.setattr("mmacalc.questions.page._data_text", lambda: "")
    monkeypatch.setattr("sys.stdin", Stdin(b""))
    check(argv)


# --- what commands read -----------------------------------------------------------------------------------------------


def listing(seed):
    """A listing of matrix instructions and of everything that stands among them, some of it broken."""
    rng = random.Random(seed)
    name, wave = rng.choice(asm_texts.TARGETS)
    known = list(forms(target(name, wave)).values())
    lines = []
    for _ in range(rng.randrange(1, 12)):
        line = asm_texts.random_text(rng.choice(known), rng, 0.05) if rng.random() < 0.6 else rng.choice(LINES)
        if rng.random() < 0.1:
            at = rng.randrange(len(line) + 1)
            line = line[:at] + rng.choice(["\0", "\x1b[2J", "[", "(", "²", "é", "/*", ":", "\r", "9" * 30]) + line[at:]
        lines.append(line)
    return name, "\n".join(lines)


def random_statement(seed, name):
    """One matrix instruction of a target, mostly a legal one."""
    rng = random.Random(seed)
    return asm_texts.random_text(rng.choice(list(forms(target(name, None)).values())), rng, 0.01)


@tried(150)
@given(SEED)
def test_every_listing_is_answered_or_refused(folder, monkeypatch, seed):
    name, text = listing(seed)
    data, whole = text.encode("utf-8", "surrogateescape"), random_statement(seed, name)
    pair = [*text.split("\n"), "v_nop"][:2]
    for argv in (["lint", "-a", name, "-"], ["assemble", "-a", name, whole], ["waits", "-a", name, "--", *pair]):
        monkeypatch.setattr("sys.stdin", Stdin(data))
        check(argv)


def damaged(data, seed):
    """Bytes with some of them changed, cut off, or repeated."""
    rng, data = random.Random(seed), bytearray(data)
    for _ in range(rng.randrange(4)):
        data[rng.randrange(len(data))] = rng.choice([0, 1, 0x7F, 0xFF, rng.randrange(256)])
    if rng.random() < 0.2:
        del data[rng.randrange(len(data)) :]
    return bytes(data)


@tried(400)
@given(SEED)
def test_every_object_is_answered_or_refused(folder, seed):
    (folder / "damaged.o").write_bytes(damaged((folder / "object.o").read_bytes(), seed))
    check(["disassemble", "-a", "gfx942", "damaged.o"])


@tried(200)
@given(SEED)
def test_every_saved_array_is_read_or_refused(folder, seed):
    source = ["a.npy", "bf16.npy", "two.npz", "text.csv"][seed % 4]
    (folder / "damaged").write_bytes(damaged((folder / source).read_bytes(), seed))
    check(["run", "-a", "gfx942", "-i", "v_mfma_f32_16x16x16_f16", "--a", "damaged", "--b", "b.npy", "-q"])


FURTHER = ["-a cdna3 -L", "find -a cdna3 é", "'", "lint -a gfx942 -", "batch", "# nothing"]


@tried(40)
@given(st.lists(st.sampled_from([*LINES, *VALUES, *FURTHER]), max_size=20))
def test_every_batch_answers_each_of_its_lines(folder, monkeypatch, lines):
    data = "\n".join(["# the beginning", *lines]).encode("utf-8", "surrogatepass")
    monkeypatch.setattr("sys.stdin", Stdin(data))
    found = [json.loads(line) for line in answer(["batch"]).out.splitlines()]
    asked = [
        line for line in data.decode("utf-8", "surrogateescape").split("\n") if line.strip() and line.strip()[0] != "#"
    ]
    assert len(found) == len(asked)
    assert {each["status"] for each in found} <= {0, 1, 2}
