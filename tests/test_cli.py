"""The command line as a person meets it."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tabulate as tabulate_module
from tabulate import tabulate

from mmacalc.cli import answer, command, commands
from mmacalc.cli.help import EXAMPLES, TOPICS
from mmacalc.command import NEEDS

ROOT = Path(__file__).parents[1]
QUERY = ["-a", "cdna3", "-i", "v_mfma_f32_16x16x16_f16", "-A", "-g", "-I", "3", "-K", "9"]
ANSWER = "Architecture: CDNA3\nInstruction: V_MFMA_F32_16X16X16_F16\nA[3][9] = v0{35}.[31:16]\n"
BLOCKS = ["-a", "cdna1", "-i", "v_mfma_f32_32x32x1f32"]
SPARSE = ["-a", "cdna3", "-i", "v_smfmac_f32_16x16x32_f16"]
WMMA = ["-a", "rdna3", "-i", "v_wmma_f32_16x16x16_f16"]


def bare(*arguments, **options):
    """A fresh interpreter without site packages: what a clone has on a bare machine."""
    return subprocess.run([sys.executable, "-I", *arguments], capture_output=True, text=True, cwd=ROOT, **options)


def test_the_script_in_a_clone_answers_with_nothing_installed():
    done = bare("-S", "matrix_calculator.py", *QUERY)
    assert (done.returncode, done.stdout, done.stderr) == (0, ANSWER, "")


def test_the_module_answers_as_the_script_does():
    done = subprocess.run([sys.executable, "-m", "mmacalc", *QUERY], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ANSWER)


def test_a_plain_query_imports_nothing_heavy():
    program = f"""
import sys
sys.path.insert(0, "src")
from mmacalc.cli import main
main({QUERY!r}); main({[*QUERY[:4], "-A", "-R"]!r}); main({[*QUERY[:4], "-d"]!r})
heavy = {{"numpy", "ml_dtypes", "tabulate", "argparse", "typing", "dataclasses", "re", "json", "inspect"}}
sys.exit(", ".join(sorted(heavy & set(sys.modules))) or 0)
"""
    done = bare("-S", "-c", program)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_query_for_one_element_imports_no_slow_module_of_the_standard_library():
    program = f"""
import sys
sys.path.insert(0, "src")
before = set(sys.modules)
from mmacalc.cli import main
main({QUERY!r})
costly = {{"collections", "functools", "importlib", "math", "operator", "warnings"}} & set(sys.modules) - before
sys.exit(", ".join(sorted(costly)) or 0)
"""
    done = bare("-S", "-c", program)
    assert (done.returncode, done.stderr) == (0, "")


def test_importing_the_package_imports_nothing():
    program = 'import sys; sys.path.insert(0, "src"); import mmacalc; print([m for m in sys.modules if "mmacalc" in m])'
    assert bare("-S", "-c", program).stdout == "['mmacalc']\n"


def test_every_command_describes_itself_without_any_package():
    """A build of the wheel makes the manual pages so, in an environment that has its backend alone."""
    program = "import sys; sys.path.insert(0, 'src'); from mmacalc.cli.manual import pages; print(len(pages()))"
    done = bare("-S", "-c", program)
    assert int(done.stdout) > 30, done.stderr


@pytest.mark.parametrize(
    "argv",
    [
        ["--architecture", "CDNA3", "--instruction", "V_MFMA_F32_16X16X16_F16", "--A-matrix", "--get-register",
         "--I-coordinate", "3", "--K-coordinate", "9"],
        ["--architecture=MI300X", "--instruction=v_mfma_f32_16x16x16f16", "--A_matrix", "--get_register",
         "--I_coordinate=3", "--K_coordinate=9"],
        ["--arch", "gfx942", "--instr", "v_mfma_f32_16x16x16_f16", "-gA", "-I3", "-K9"],
        ["--arch=gfx942", "-i", "v_mfma_f32_16x16x16_f16", "--get", "--A", "--I", "3", "--K-c", "9", "--wave", "64"],
    ],
)  # fmt: skip
def test_every_way_of_spelling_the_options_means_the_same(argv):
    assert answer(argv) == (0, ANSWER, "")


@pytest.mark.parametrize("abbreviation", ["--o", "--op", "--ops"])
def test_abbreviations_of_amds_options_are_not_taken_by_ours(abbreviation):
    """AMD's tool has --opsel and --output-calculation; --op_sel_hi is ours."""
    argv = ["-a", "rdna3", "-i", "v_wmma_f16_16x16x16_f16", "-D", "-g", abbreviation, "4"]
    if abbreviation == "--o":
        assert "could match --output-calculation, --opsel" in answer(argv).err
    else:
        assert answer(argv) == answer([*argv[:6], "--opsel", "4"])


BAD = [
    (["--json"], "no architecture"),
    (["help", "fromats"], "Did you mean formats"),
    (["-a", "cdna3"], "no instruction"),
    (["-a", "cdna8", "-L"], "Did you mean"),
    (QUERY[:4], "no action"),
    ([*QUERY[:4], "-g"], "no matrix"),
    ([*QUERY, "-m"], "-g and -m were given together"),
    ([*QUERY, "-B"], "-A and -B were given together"),
    ([*QUERY[:7], "99"], "i = 99 is outside A"),
    ([*QUERY[:7], "-1"], "not a whole number"),
    ([*QUERY[:7], "1.5"], "not a whole number"),
    ([*QUERY[:7], "9" * 5000], "from 0 up|outside"),
    ([*QUERY, "-b", "1"], "block = 1"),
    ([*QUERY[:4], "-A", "-m", "-r", "2"], "registers 0 to 1"),
    ([*QUERY[:4], "-A", "-m", "-l", "64"], "lanes are 0 to 63"),
    ([*QUERY, "-w", "32"], "no wave size 32"),
    ([*QUERY, "--cbsz", "1"], "has no CBSZ"),
    ([*QUERY, "--frobnicate"], "unrecognized"),
    ([*QUERY, "-I"], "expected one argument"),
    (["generate", "-a", "h100", "--attention"], "BxHxMxNxD, as in `--attention 2x16x4096x4096x128`"),
    (["generate", "-a", "h100", "--gemm"], "It takes MxNxK, as in `--gemm 4096x4096x4096`"),
    (["generate", "-a", "h100", "--gemm", "9x9"], "gemm is MxNxK, such as 4096x4096x4096; got '9x9'"),
    (["generate", "-a", "h100", "--attention", "9x9"], "such as 2x16x4096x4096x128"),
    (["memory", "-a", "h100", "--pad"], "It takes BYTES: padding behind each row"),
    (["generate", "-a", "h100", "--type", "f16"], "--attention and --gemm alone choose one"),
    (["generate", "-a", "h100", "--gemm", "9x9x9", "-m", "a=f16"], "modifiers are of an instruction: give -i, too"),
    ([*QUERY, "--csv", "--json"], "--csv and --json"),
    ([*QUERY, "-o"], "it goes with -D"),
    ([*QUERY[:4], "-D", "--pattern", "-o"], "goes with -g or -m"),
    ([*QUERY[:4], "-k", "-g"], "is dense"),
    ([*SPARSE, "-C", "-g"], "has no C matrix"),
    ([*SPARSE, "-k", "-g", "--abid", "4"], "ABID of .* 0 to 3"),
    ([*SPARSE, "-k", "-g", "--cbsz", "4"], "CBSZ of .* 0 to 3"),
    ([*SPARSE, "-B", "-g", "--blgp", "1"], "has no BLGP"),
    ([*BLOCKS, "-A", "-g", "--cbsz", "2"], "CBSZ of .* 0 or 1"),
    ([*BLOCKS, "-A", "-g", "--abid", "1"], "ABID of .* 0"),
    ([*BLOCKS, "-B", "-g", "--cbsz", "1"], "has no effect on B"),
    ([*BLOCKS, "-A", "-g", "--blgp", "1"], "has no effect on A"),
    ([*BLOCKS, "-B", "-g", "--blgp", "8"], "BLGP of .* 0 to 7"),
    ([*BLOCKS, "-B", "-m", "-l", "40", "--blgp", "1"], "lane 40 is never read"),
    ([*BLOCKS, "-A", "-g", "--opsel", "4"], "has no OPSEL"),
    ([*BLOCKS, "-A", "-g", "--neg", "1"], "has no NEG"),
    ([*WMMA, "-D", "-g", "--opsel", "4"], "has no OPSEL"),
    ([*WMMA, "-D", "-g", "--neg", "1"], "has no effect on D"),
    ([*WMMA, "-A", "-g", "--neg", "8"], "NEG of .* 0 to 7"),
    (["-a", "rdna3", "-i", "v_wmma_f16_16x16x16_f16", "-D", "-g", "--opsel", "1"], "OPSEL of .* 0 or 4"),
    (["-a", "rdna3", "-i", "v_wmma_i32_16x16x16_iu8", "-A", "-g", "--neg", "4"], "NEG of .* 0 to 3"),
    (["-a", "rdna4", "-i", "v_swmmac_i32_16x16x64_iu4", "-k", "-g", "--opsel", "1"], "in wave32 is 0; got 1"),
    (["-a", "rdna4", "-i", "v_swmmac_i32_16x16x32_iu8", "-D", "-g", "-o", "--opsel", "1"], "it affects K$"),
    (["find", "--shape", "16x16"], "--shape takes"),
    (["find", "--a", "fp17"], "unknown number format"),
    (["find", "--k", "12345"], "no instruction matches"),
    (["find", "--k", "12345", "--json"], "no instruction matches"),
    (["find", "--m", "32", "--shape", "16x16x16"], "--shape 16x16x16 and --m 32 contradict each other"),
    (["find", "--sparse", "--dense"], "not allowed with argument --sparse"),
    (["find", "--shape", f"1x1x{'9' * 5000}"], "--shape takes"),
    (["find", "--spares"], "Did you mean --sparse"),
    (["fnid", "mfma"], "unknown command 'fnid'. Did you mean find"),
    (["-a", "\x1b[31m\n", "-L"], r"unknown architecture '\\x1b\[31m\\n'"),
    (["batch", "/no/such/file"], "cannot read"),
    (["completion", "csh"], "invalid choice"),
]


@pytest.mark.parametrize(("argv", "says"), BAD, ids=lambda part: " ".join(part)[-40:] if isinstance(part, list) else "")
def test_bad_input_is_answered_in_one_place_with_status_2(argv, says):
    status, out, err = answer(argv)
    if "--json" in argv:  # then the sentence stands in an object on standard output
        out, err = err, f"{json.loads(out)['error']['message']}\n"
    assert (status, out) == (2, "")
    assert 1 <= err.count("\n") <= 2
    assert "Traceback" not in err

    assert re.search(says, err), err


def test_zero_is_the_default_of_every_modifier_and_never_refused():
    zeros = [word for name in ("cbsz", "abid", "blgp", "opsel", "neg", "neg_hi") for word in (f"--{name}", "0")]
    assert answer([*QUERY, *zeros]) == (0, ANSWER, "")


def test_a_reader_that_closes_the_pipe_early_is_no_error():
    done = subprocess.run(
        f"{sys.executable} -m mmacalc -a cdna1 -i v_mfma_f32_32x32x1f32 -D -R | head -1; echo ${{PIPESTATUS[0]}}",
        shell=True, capture_output=True, text=True, executable="/bin/bash",
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("Architecture: CDNA1\n0\n", "")


@pytest.mark.parametrize(
    ("line", "status", "out", "err"),
    [
        ("-a cdna3 -L >/dev/full", 2, "", "mmacalc: the answer could not be written: No space left on device\n"),
        ("-a cdna3 -L >&-", 2, "", "mmacalc: the answer could not be written: standard output is closed\n"),
        ("-a cdna9 -L 2>&-", 2, "", ""),
        ("-a cdna9 -L 2>/dev/full", 2, "", ""),
        ("batch <&-", 2, "", "mmacalc: standard input is closed; give a file\n"),
        ("lint -a gfx942 - <&-", 2, "", "mmacalc: standard input is closed; give a file\n"),
    ],
)
def test_a_stream_that_is_closed_or_full_is_no_traceback(line, status, out, err):
    done = subprocess.run(f"{sys.executable} -m mmacalc {line}", shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (status, out, err)


def test_a_batch_line_that_asks_for_help_in_json_is_answered_with_the_help(tmp_path):
    lines = tmp_path / "lines"
    lines.write_text("-h --json\n--json -v\n")
    status, out, _ = answer(["batch", str(lines)])
    assert status == 0
    shown, version = map(json.loads, out.splitlines())
    assert shown["stdout"].startswith("usage: ")
    assert version["answer"]["mmacalc"]


def test_a_bug_report_has_what_mmacalc_runs_on():
    found = json.loads(answer(["--version", "--json"]).out)
    assert found["python"].startswith(".".join(map(str, sys.version_info[:3])))
    assert found["packages"]["numpy"]
    assert {"gfx942", "sm_90a"} <= set(found["targets"])


def test_block_scaled_formats_find_the_instructions_with_such_scales():
    assert "scale" in answer(["find", "-a", "gfx950", "--a", "mxfp4"]).out
    assert answer(["find", "-a", "gfx942", "--a", "mxfp8"]).status == 2
    assert "4X.f32.e2m1.e2m1.f32.ue4m3" in answer(["find", "-a", "sm_120a", "--a", "nvfp4"]).out


def test_help_and_version_speak_for_this_program():
    assert answer(["-v"]).out.startswith("mmacalc ")
    assert "--get-register" in answer(["-h"]).out
    assert "--intrinsic" in answer(["find", "-h"]).out


def test_every_example_of_the_short_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernel.s").write_text("v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15]\n")
    (tmp_path / "kernel.ptx").write_text(".version 8.0\n.target sm_80\n.address_size 64\n.entry k() { ret; }\n")
    np.save("d.npy", np.zeros((32, 32), np.float32))
    for example in EXAMPLES:
        program, *words = shlex.split(example.command)
        status, out, err = answer(words)
        assert program == "mmacalc"
        assert status == ("d.npy" in example.command), (example.command, err)
        assert out
        assert example.command in answer([]).out


def test_every_command_stands_under_one_need_and_first_in_the_help():
    assert {found.need for found in commands().values()} == set(NEEDS)
    shown = answer(["-h"]).out
    assert shown.index("  find:") < shown.index("--get-register")


@pytest.mark.parametrize("width", [60, 90, 200])
def test_help_is_as_wide_as_the_terminal(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    for argv in [
        [],
        ["-h"],
        ["help"],
        *[[name, "-h"] for name in commands()],
        *[["help", name] for name in (*TOPICS, *commands())],
    ]:
        status, out, _ = answer(argv)
        assert status == 0
        paragraphs = [line for line in out.splitlines() if line[:2].strip()]
        assert paragraphs
        assert max(map(len, paragraphs)) <= width, argv
    assert len(answer(["-h"]).out.splitlines()) < {60: 320, 90: 200, 200: 150}[width]


@pytest.mark.parametrize("action", [["-g"], ["-m"], ["-R"], ["-M"], ["--pattern"], ["-d"], ["-D", "-g", "-o"]])
def test_json_has_stable_keys_and_a_schema_version(action):
    matrix = [] if "-D" in action or "-d" in action else ["-A"]
    found = json.loads(answer([*QUERY[:4], *matrix, *action, "--json"]).out)
    assert found["schema_version"] == 2
    assert found["architecture"] == "cdna3"
    assert found["instruction"] == "v_mfma_f32_16x16x16_f16"
    assert found["provenance"]


def test_json_says_what_the_text_says():
    found = json.loads(answer([*QUERY, "--json"]).out)
    assert found["locations"] == [
        {"lane": 35, "item": 1, "register": 0, "lsb": 16, "width": 16, "text": "v0{35}.[31:16]"}
    ]
    layout = json.loads(answer([*QUERY[:4], "-A", "-R", "--json"]).out)
    assert layout["locations"][0][3][9][0]["lane"] == 35
    matrix = json.loads(answer([*QUERY[:4], "-A", "-M", "--json"]).out)
    assert matrix["elements"][0][35][1]["text"] == "A[3][9]"


@pytest.mark.parametrize(
    ("arch", "name", "modifiers"),
    [
        ("cdna3", "v_mfma_f32_4x4x4_16b_f16", {"cbsz": 5, "abid": 16, "blgp": 8}),
        ("cdna3", "v_smfmac_f32_16x16x32_f16", {"cbsz": 4, "abid": 16}),  # more than 3 where CBSZ has it ignored
        ("rdna4", "v_swmmac_i32_16x16x64_iu4", {"opsel": 2, "neg": 4, "neg_hi": 1}),  # in wave32 one set of indices
        ("rdna4", "v_swmmac_f32_16x16x32_f16", {"opsel": 4, "neg": 8, "neg_hi": 8}),
    ],
)
def test_the_json_page_has_every_value_that_a_modifier_can_take(arch, name, modifiers):
    found = json.loads(answer(["-a", arch, "-i", name, "-d", "--json"]).out)["modifiers"]
    assert found == {field: list(range(count)) for field, count in modifiers.items()}


def test_json_lists_what_the_text_leaves_out_as_amds_tool_does():
    argv = ["-a", "cdna2", "-i", "v_mfma_f32_4x4x4f16", "-A", "-m", "-l", "40", "--cbsz", "1"]
    text, whole = answer(argv), json.loads(answer([*argv, "--json"]).out)
    assert len(text.out.splitlines()) == 2 + 2
    assert "2 further elements" in text.err
    assert len(whole["elements"]) == 4


def test_the_pattern_is_printed_with_its_sizes():
    assert answer([*QUERY[:4], "-A", "--pattern"]).out.endswith(
        "A: i (g e) -> lane (g i), item (e)\n    sizes: i=16, g=4, e=4\n    einops: i (g e) -> (g i) (e)\n"
    )
    argv = ["-a", "gfx950", "-i", "v_mfma_scale_f32_16x16x128_f8f6f4", "--scale-a", "--pattern"]
    assert answer(argv).out.endswith("einops: i (g p) -> (g i) (byte)   (reduce over p, then repeat along byte)\n")


def test_batch_answers_every_line_with_a_line_of_json(tmp_path):
    lines = tmp_path / "lines"
    lines.write_text(f"# a comment\n{' '.join(QUERY)}\n\nmmacalc -a cdna3 -L --json\n-a nonsense -L\n'unclosed\n")
    status, out, _ = answer(["batch", str(lines)])
    first, second, third, fourth = map(json.loads, out.splitlines())
    assert status == 2
    assert (first["argv"], first["status"], first["stdout"]) == (QUERY, 0, ANSWER)
    assert second["answer"]["query"] == "list-instructions"
    assert (third["status"], third["stdout"]) == (2, "")
    assert fourth["status"] == 2


def test_find_prints_a_line_for_each_instruction():
    found = answer(["find", "--shape", "32x32x8", "--a", "f16", "-a", "cdna3"]).out
    assert found == "cdna3  v_mfma_f32_32x32x8_f16  32x32x8  f16 f16 -> f32\n"


@pytest.mark.parametrize(
    ("shell", "folder"),
    [
        ("bash", "share/bash-completion/completions/mmacalc"),
        ("zsh", "share/zsh/site-functions/_mmacalc"),
        ("fish", "share/fish/vendor_completions.d/mmacalc.fish"),
    ],
)
def test_every_shell_gets_a_completion_script_and_a_wheel_installs_it(shell, folder):
    script = answer(["completion", shell]).out
    assert re.search("mmacalc completion (words|described) -- ", script)
    installed = re.findall(rf'"(src/.*)" = "{folder}"', (ROOT / "pyproject.toml").read_text())
    assert [(ROOT / path).read_text() for path in installed] == [script]


@pytest.mark.parametrize(
    ("words", "one"),
    [
        (["comp"], "compare"), (["find", "--a-type", "e4"], "e4m3fnuz"), (["draw", "--color", "a"], "always"),
        (["help", "mod"], "modifiers"), (["architectures", "mi35"], "mi355x"), (["memory", "--cb"], "--cbsz"),
        (["draw", "-a", "gfx942", "-i", "v_mfma_f64_16"], "v_mfma_f64_16x16x4_f64"),
        (["lds-transpose", "--lo"], "--load"), (["-a", "cdna3", "-i", "v_mfma_f64_16"], "v_mfma_f64_16x16x4_f64"),
    ],
)  # fmt: skip
def test_commands_options_and_values_are_completed(words, one):
    found = answer(["completion", "words", "--", *words]).out.split()
    assert one in found
    assert all(word.lower().startswith(words[-1]) for word in found)


def test_bash_completes_architectures_instructions_and_options(tmp_path):
    (tmp_path / "mmacalc").write_text(f'#!/bin/sh\nexec {sys.executable} -m mmacalc "$@"\n')
    (tmp_path / "mmacalc").chmod(0o755)
    script = (
        answer(["completion", "bash"]).out
        + 'try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mmacalc; echo "${COMPREPLY[*]}"; }\n'
        + 'type() { COMP_WORDS=(mmacalc -a B200 -i "$@"); COMP_CWORD=$((3 + $#)); _mmacalc; echo "${COMPREPLY[*]}"; }\n'
        + "try mmacalc -a MI300\ntry mmacalc -a cdna3 -i v_mfma_f64_16\ntry mmacalc --list-i\ntry mmacalc comp\n"
        # Bash breaks words at colons and replaces what is after the last of them.
        + "type tcgen05.mma.sp.cta_group :: 1.kind :: mxf8\ntype tcgen05.shift.cta_group ::\n"
        + "type tcgen05.mma.sp.cta_group::1.kind::mxf8\n"
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment)
    assert done.stdout.splitlines()[1:3] == ["v_mfma_f64_16x16x4_f64", "--list-instructions"]
    assert done.stdout.splitlines()[0].split() == ["MI300A", "MI300X"]
    assert done.stdout.splitlines()[3].split()[0].startswith("comp")
    assert done.stdout.splitlines()[4:] == [
        "mxf8f6f4.block_scale.block32", "1.down 2.down",
        "tcgen05.mma.sp.cta_group::1.kind::mxf8f6f4.block_scale.block32",
    ]  # fmt: skip


@pytest.fixture(autouse=True)
def tabulate_by_characters(monkeypatch):
    """With wcwidth installed (IPython brings it), tabulate counts cells of several lines otherwise."""
    monkeypatch.setattr(tabulate_module, "WIDE_CHARS_MODE", False)


@pytest.mark.parametrize("style", ["grid", "github", "asciidoc"])
def test_tables_are_tabulates_to_the_byte(style):
    from mmacalc.command import tables

    header = ["A[M][K]", "0", "a long heading"]
    rows = [["0", "v0{0}", "v1{0}"], ["1", "v0{1}.[15:0]", "v12{63}.[31:16]"], ["10", "", "x"]]
    ours = tables.write(header, rows, "markdown" if style == "github" else style, ruled=True)
    numbered = [[int(row[0]), *row[1:]] for row in rows]
    assert ours == tabulate(numbered, header, tablefmt=style) + "\n"


@pytest.mark.parametrize("style", ["grid", "asciidoc"])
@pytest.mark.parametrize("first", [["0", "1"], ["v0", "v10"]], ids=["numbers", "text"])
def test_cells_of_several_lines_are_tabulates(style, first):
    from mmacalc.command import tables

    rows = [[first[0], "v0{0}\nv0{16}", "x"], [first[1], "v0{1}\nv0{17}", "y"]]
    expected = tabulate(rows, ["lane", "0", "1"], tablefmt=style) + "\n"
    assert tables.write(["lane", "0", "1"], rows, style) == expected


@pytest.mark.parametrize("name", commands())
def test_the_help_of_a_command_fits_one_screen_and_names_modifiers_in_one_line(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown, whole = answer([name, "-h"]), answer([name, "--help"])
    assert (shown.status, shown.err) == (0, "")
    lines = shown.out.splitlines()
    assert len(lines) <= 42
    assert max(map(len, lines)) <= 80
    assert f"`mmacalc help {name}` has all of it" in lines[-1]
    takes = "--cbsz" in {spelling for option in command(name).options for spelling in option.spellings}
    assert (shown.out.count("mmacalc help modifiers") == 1) == takes
    assert ("--matrix-a-fmt" in whole.out) is False
    assert max(map(len, whole.out.splitlines())) <= 80
