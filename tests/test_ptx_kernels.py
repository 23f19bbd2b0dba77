"""PTX kernels run right without a finding, a deleted synchronisation is named, and anything else is an Error."""

import contextlib
import re
import shutil
import subprocess
import zlib

import numpy as np
import pytest

import mmacalc
from mmacalc import Error
from mmacalc.ptx.fatbins import ptx_texts
from ptx_cases import CASES, DELETIONS, KERNELS, recorded, without
from samples import rotated, sampled
from test_launch_fuzz import VALUES

HEAD = ".version 8.0 .target sm_80 .address_size 64\n"
ENDLESS = HEAD + ".visible .entry k(.param .u64 p) {\nL: bra L;\n}"


def launched(text, name, **options):
    """A launch of a recorded kernel: its case and its report."""
    how, case = KERNELS[name], CASES[KERNELS[name]["case"]]()
    kernel = mmacalc.load(text)[how["entry"]]
    arguments = case.arguments[: len(kernel.parameters)]
    report = mmacalc.launch(kernel, how["grid"], how["block"], *arguments, shared=how["shared"], **options)
    return case, report


@sampled(("name", "schedule"), rotated(KERNELS, [None, 1]), len(KERNELS))
def test_a_right_kernel_is_right_and_has_no_finding(name, schedule):
    case, report = launched(recorded(f"{name}.ptx"), name, schedule=schedule)
    assert case.right(), case.error()
    assert report.findings == ()
    assert report.executed > 0
    assert report.target == mmacalc.load(recorded(f"{name}.ptx"))[report.kernel].target


@pytest.mark.parametrize("deletion", DELETIONS, ids=lambda one: f"{one['kernel']}-{one['line']}")
def test_a_deleted_synchronisation_is_named(deletion):
    _, report = launched(without(deletion), deletion["kernel"])
    kind = "wait" if "cp.async" in deletion["old"] else "race"
    assert kind in {finding.kind for finding in report.findings}, deletion["why"]
    lines = without(deletion).split("\n")
    for finding in report.findings:
        assert finding.text.split()[0] in lines[finding.line - 1]
        assert f"line {finding.line}" in finding.sentence
        assert finding.sentence in str(report)


def test_text_file_folder_and_fatbin_are_the_same_kernels(tmp_path):
    text = recorded("vector_add.ptx")
    (tmp_path / "cache" / "hash").mkdir(parents=True)
    (tmp_path / "cache" / "hash" / "k.ptx").write_text(text)
    (tmp_path / "cache" / "hash" / "k.cubin").write_bytes(b"\x7fELF")
    (tmp_path / "k.fatbin").write_bytes(b"\x7fELF" + bytes(100) + fatbin(text.encode()))
    for given in (text, tmp_path / "cache" / "hash" / "k.ptx", tmp_path / "cache", tmp_path / "k.fatbin"):
        kernels = mmacalc.load(given)
        assert list(kernels) == ["vector_add"]
        case = CASES["vector_add"]()
        mmacalc.launch(kernels["vector_add"], 4, 256, *case.arguments)
        assert case.right()
    (tmp_path / "cache" / "other.ptx").write_text(text.replace("sm_80", "sm_90"))
    with pytest.raises(Error, match=r"has the kernel vector_add twice.*sm_90.*sm_80; name one by arch"):
        mmacalc.load(tmp_path / "cache")
    assert mmacalc.load(tmp_path / "cache", "sm_90")["vector_add"].target == "sm_90"
    with pytest.raises(Error, match="has PTX for sm_90, sm_80; got arch = 'sm_70'"):
        mmacalc.load(tmp_path / "cache", "sm_70")


def fatbin(ptx, flags=0, whole=0, kind=1):
    """A container as nvcc writes it, with one entry."""
    padded = ptx + bytes(-len(ptx) % 8)
    entry = bytearray(64)
    entry[0:2], entry[4:8], entry[8:16] = kind.to_bytes(2, "little"), (64).to_bytes(4, "little"), length(padded)
    entry[16:20], entry[40:48], entry[56:64] = length(ptx)[:4], flags.to_bytes(8, "little"), whole.to_bytes(8, "little")
    body = bytes(entry) + padded
    return (0xBA55ED50).to_bytes(4, "little") + b"\1\0\x10\0" + length(body) + body


def length(content):
    return len(content).to_bytes(8, "little")


def test_compressed_ptx_is_read_or_refused_with_the_way_out(tmp_path):
    # A block of LZ4: "ab" as literals, then 8 bytes from 2 back, then "!" as a last literal.
    assert ptx_texts(fatbin(b"\x24ab\x02\x00\x10!", 0x2000, 11), "x") == ["abababababab"[:10] + "!"]
    with pytest.raises(Error, match="machine code alone, without PTX"):
        ptx_texts(fatbin(b"code", kind=2), "x")
    with pytest.raises(Error, match=r"zstd.*--no-compress|damaged"):
        ptx_texts(fatbin(b"\x28\xb5\x2f\xfd", 0x8000, 11), "x")
    whole = fatbin(recorded("vector_add.ptx").encode())
    for size in range(0, len(whole), 37):
        for content in (whole[:size], zlib.compress(whole)[:size] + whole[:size]):
            (tmp_path / "part").write_bytes(content)
            with pytest.raises(Error):
                mmacalc.load(tmp_path / "part")


@sampled("options", ["--no-compress", ""], 1)
def test_what_nvcc_writes_is_read(options, tmp_path):
    nvcc = shutil.which("nvcc")
    assert nvcc, "nvcc is missing: its fatbins are not checked"
    (tmp_path / "k.cu").write_text(recorded("vector_add.cu"))
    command = [nvcc, "-fatbin", "-gencode", "arch=compute_80,code=[sm_80,compute_80]", *options.split(), "k.cu"]
    subprocess.run(command, cwd=tmp_path, check=True)
    if options:
        assert list(mmacalc.load(tmp_path / "k.fatbin")) == ["vector_add"]
    else:
        with contextlib.suppress(Error):  # of a Python without zstd
            assert list(mmacalc.load(tmp_path / "k.fatbin")) == ["vector_add"]
    subprocess.run([nvcc, "-cubin", "-arch=sm_80", "k.cu"], cwd=tmp_path, check=True)
    with pytest.raises(Error, match="is a cubin: machine code without PTX"):
        mmacalc.load(tmp_path / "k.cubin")


def test_an_endless_kernel_ends_at_its_limit_and_says_where_it_was():
    kernel = mmacalc.load(ENDLESS)["k"]
    with pytest.raises(
        Error, match=r"at its limit, stopped after \d+ warp instructions: 64 threads at line 3 \(bra L\)"
    ):
        mmacalc.launch(kernel, 2, 32, np.zeros(4), limit=500)


def test_all_kernels_of_a_file_given_for_one_are_refused_with_the_name_to_take():
    kernels = mmacalc.load(".version 8.0 .target sm_80 .address_size 64 .visible .entry k(.param .u64 p) { ret; }")
    with pytest.raises(Error, match=re.escape("it takes one of them, such as kernels['k']")):
        mmacalc.launch(kernels, 1, 32, np.zeros(4))


def test_what_is_not_covered_stops_a_launch_before_anything_runs():
    text = (
        HEAD + ".visible .entry k(.param .u64 p) {\n.reg .b32 %r<3>;\nmov.u32 %r1, 0;\ntex.nothing %r1, %r2;\nret;\n}"
    )
    kernel = mmacalc.load(text)["k"]
    with pytest.raises(Error, match=r"line 5: tex.nothing %r1, %r2.*not covered"):
        mmacalc.launch(kernel, 1, 32, None)
    assert [(line, statement) for line, statement, _ in kernel.uncovered()] == [(5, "tex.nothing %r1, %r2")]


def refusal(function, *arguments, **options):
    """Why a call is refused, "" if it is not; only an Error may come."""
    why = ""
    try:
        function(*arguments, **options)
    except Error as error:
        why = str(error) or "no reason"
    assert why != "no reason"
    return why


def tried(kernel, grid, block, *arguments, **options):
    return refusal(mmacalc.launch, kernel, grid, block, *arguments, **{"limit": 2000, **options})


def test_every_kind_of_argument_is_taken_or_refused():
    kernel = mmacalc.load(recorded("vector_add.ptx"))["vector_add"]
    right = CASES["vector_add"]().arguments
    assert not tried(kernel, 4, 256, *right)
    for value in VALUES:
        for place in range(len(right)):
            tried(kernel, 1, 64, *right[:place], value, *right[place + 1 :])
        for name in ("shared", "limit", "cluster", "schedule", "arch"):
            tried(kernel, 1, 64, *right, **{name: value})
        tried(kernel, value, 64, *right)
        tried(kernel, 1, value, *right)
    assert "takes 4 arguments" in tried(kernel, 1, 64, *right, 5)
    assert "takes 4 arguments" in tried(kernel, 1, 64)
    wanted = "takes shared, limit, schedule, cluster, arguments by name; got trace"
    assert wanted in tried(kernel, 1, 64, *right, trace=print)


def test_every_kind_of_tensor_map_is_taken_or_refused():
    array = np.zeros((64, 64), np.float16)
    for value in VALUES:
        for given in ((value, (64, 64)), (array, value), (array, (64, value))):
            refusal(mmacalc.tensor_map, *given)
        for name in ("swizzle", "element", "steps", "fill"):
            refusal(mmacalc.tensor_map, array, (64, 64), **{name: value})
    assert mmacalc.tensor_map(array, (8, 64), swizzle="128B").box == (64, 8)


@sampled("name", ["softmax_rows", "mma_gemm", "triton_u_dot_scaled_e4m3_e4m3_sm_90a"], 1)
def test_a_damaged_text_runs_or_is_refused(name):
    rng = np.random.default_rng(3)
    text, refused = recorded(f"{name}.ptx"), 0
    words = text.split(" ")
    for _ in range(25):
        wrong = list(words)
        for place in rng.integers(0, len(words), 2):
            wrong[place] = wrong[int(rng.integers(0, len(words)))]
        refused += bool(refusal(launched, " ".join(wrong), name, limit=300))
    assert refused > 3


def test_the_command_line_runs_lists_and_refuses(tmp_path, monkeypatch):
    from mmacalc.cli import answer

    monkeypatch.chdir(tmp_path)
    case = CASES["softmax_rows"]()
    np.save("x.npy", case.arguments[0])
    (tmp_path / "right.ptx").write_text(recorded("softmax_rows.ptx"))
    deletion = next(one for one in DELETIONS if one["kernel"] == "softmax_rows")
    (tmp_path / "wrong.ptx").write_text(without(deletion))
    line = ["softmax_rows", "--grid", "4", "--block", "128", "--args", "x.npy", "out:y.npy:f4:4x300", "300"]
    right, wrong = (answer(["run-kernel", f"{name}.ptx", *line]) for name in ("right", "wrong"))
    assert (right.status, wrong.status) == (0, 1)
    assert right.out.endswith("nothing wrong was found\nwritten to y.npy\n")
    assert "race: line " in wrong.out
    assert np.allclose(np.load("y.npy"), case.want, rtol=0, atol=1e-6)
    assert answer(["run-kernel", "right.ptx"]).out.splitlines()[0] == "softmax_rows: sm_80"
    assert answer(["run-kernel", "right.ptx", "--covered"]).out == "softmax_rows: covered\n"
    (tmp_path / "other.ptx").write_text(recorded("softmax_rows.ptx").replace("ex2.approx.ftz", "ex3.approx.ftz"))
    covered = answer(["run-kernel", "other.ptx", "--covered"])
    assert covered.status == 1
    assert "ex3.approx.ftz.f32 is not covered" in covered.out
    for argv, why in (
        (["right.ptx", "softmax", *line[1:]], "unknown kernel 'softmax'"),
        (["right.ptx", *line[:-1]], "takes 3 arguments"),
        (["right.ptx", *line, "--limit", "5"], "at its limit"),
        (["right.ptx", *line, "--trace"], "--trace is for AMD kernels"),
        (["right.ptx", *line, "--cluster", "3"], "is not a multiple of the cluster"),
        (["other.ptx", *line], "ex3.approx.ftz.f32 is not covered"),
    ):
        refused = answer(["run-kernel", *argv])
        assert refused.status == 2, argv
        assert why in refused.err
