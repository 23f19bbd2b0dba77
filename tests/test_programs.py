"""Programs with host code, compiled by nvcc and hipcc, run without a GPU as they are."""

import json
import platform
import shutil
import sys
from pathlib import Path

import pytest

import mmacalc
from mmacalc import cli
from mmacalc.programs.devices import LAYOUTS, Device
from mmacalc.testing import assert_clean
from recorded import program as recorded_program

DATA = Path(__file__).parent / "data"
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="the programs are those of x86-64 Linux"
)


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The programs of tests/data/programs, by name."""
    folder = tmp_path_factory.mktemp("programs")
    for name in ("cuda", "hip"):
        recorded_program(name, folder)
    return folder


def answered(capfd, *words):
    status = cli.main(["run-program", *map(str, words)])
    given = capfd.readouterr()
    return status, given.out, given.err


@pytest.mark.parametrize(
    ("name", "words", "status", "launches", "said"),
    [
        ("cuda", (), 0, 3, "nothing wrong was found; status 0"),
        ("cuda", ("wait",), 0, 4, "nothing wrong was found; status 0"),
        ("cuda", ("race",), 1, 4, "ld.shared.f32 %f2, [%r10]: reads byte 1020 of dynamic shared memory"),
        ("cuda", ("outside",), 2, 4, "loads 4 bytes just past the end of the program's allocation 1 (4000 bytes)"),
        ("cuda", ("tile",), 0, 4, "nothing wrong was found; status 0"),
        ("hip", (), 0, 3, "nothing wrong was found; status 0"),
        ("hip", ("wait",), 0, 4, "nothing wrong was found; status 0"),
        ("hip", ("race",), 1, 4, "reads byte 1020 of LDS, which wave 3 of the workgroup accesses without a barrier"),
        ("hip", ("outside",), 2, 4, "it loads 4 bytes just past the end of the program's allocation 1 (4000 bytes)"),
        ("hip", ("module", DATA / "llvm" / "scale_gfx942.hsaco"), 0, 4, "nothing wrong was found; status 0"),
    ],
)  # fmt: skip
def test_a_program_checks_its_own_results_and_its_kernels_are_checked(
    programs, capfd, name, words, status, launches, said
):
    found, out, _ = answered(capfd, programs / name, *words)
    assert (found, f": {launches} launches of" in out, said in out) == (status, True, True), out
    assert out.startswith(f"mmacalc ({'sm_90a' if name == 'cuda' else 'gfx942'}): right\n")


def test_what_the_runtime_does_not_carry_out_is_named(programs, capfd):
    status, _, err = answered(capfd, programs / "cuda", "graph")
    assert (status, "the program calls cudaGraphCreate, which is not carried out" in err) == (2, True)
    status, _, err = answered(capfd, programs / "cuda", "far")
    assert (status, "a copy or fill of 4004 bytes at 0x710000000000: the allocation ends 4000 bytes behind" in err) == (
        0, True
    )  # fmt: skip


def test_json_has_the_launches_and_the_program_writes_to_standard_error(programs, capfd):
    status, out, err = answered(capfd, "--json", "--schedule", 3, programs / "cuda", "race")
    found = json.loads(out)
    assert (status, err, found["status"]) == (1, "mmacalc (sm_90a): right\n", 0)
    kernels = [(one["kernel"], bool(one["findings"])) for one in found["launches"]]
    assert kernels == [("scale", False)] * 3 + [("reverse", True)]


def test_every_option_stands_before_the_program_and_is_read(programs, capfd):
    status, out, _ = answered(capfd, "--limit", 5, programs / "hip")
    assert (status, "stopped: the launch is at its limit" in out) == (3, True), out  # what the program found wrong
    status, out, _ = answered(capfd, "-a", "gfx942", "--processors", 7, "--schedule", 2, programs / "hip", "--limit", 5)
    assert (status, "mmacalc (gfx942): right" in out) == (0, True), out
    with pytest.raises(mmacalc.Error, match="processors is how many compute units there are, from 1 up; got 0"):
        mmacalc.run_program([str(programs / "hip")], processors=0)


def test_a_program_that_cannot_be_run_says_why(programs, tmp_path, capfd):
    static = tmp_path / "static"
    shutil.copy(shutil.which("true"), static)
    with static.open("ab") as file:
        file.write(b"cudaLaunchKernel")
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    for words, said in (
        (("./no-such-program",), "there is no program './no-such-program' that can be executed"),
        ((static,), "it has CUDA's runtime in itself, as nvcc links it; link it with nvcc -cudart shared"),
        (("true",), "is not linked with the shared library of a runtime"),
        ((script,), "is not an ELF executable"),
        (("-a", "sm_80", programs / "cuda"), "cuda' has PTX for sm_90a; got arch = 'sm_80'"),
        (("-a", "gfx90a", programs / "hip"), "without code for gfx90a; it has gfx942"),
    ):
        status, _, err = answered(capfd, *words)
        assert (status, said in err) == (2, True), err


def test_a_callback_sees_each_launch_and_python_gets_the_findings(programs):
    seen = []
    report = mmacalc.run_program([str(programs / "hip"), "race"], on_launch=seen.append, quiet=True)
    assert tuple(seen) == report.launches
    (finding,) = report.findings
    assert (finding.kind, report.status, report.stopped) == ("race", 0, ())
    with pytest.raises(AssertionError, match=r"^1 finding:\nrace: "):
        assert_clean(report)
    assert_clean(report, ["reads byte 1020 of LDS: this test wants it"])
    assert_clean(mmacalc.run_program([str(programs / "hip"), "wait"], quiet=True))
    with pytest.raises(AssertionError, match=r"^stopped: scale: .* just past the end"):
        assert_clean(mmacalc.run_program([str(programs / "cuda"), "outside"], quiet=True))


def test_a_device_is_described_as_each_version_of_the_runtimes_lays_it_out():
    for (function, version), (size, fields) in LAYOUTS.items():
        cuda = function.startswith("cuda")
        device = Device("sm_90a" if cuda else "gfx1201", cuda, version or 6, 5, 1 << 30)
        given = device.properties(function)
        assert (len(given), given[: len(device.title)]) == (size, device.title.encode())
        at = {name: int.from_bytes(given[start : start + 4], "little") for name, start in fields.items()}
        assert (at["major"], at["minor"], at["warpSize"], at["multiProcessorCount"]) == (
            *((9, 0) if cuda else (12, 0)), 32, 5
        )  # fmt: skip
        assert at["sharedMemPerBlock"] == (49152 if cuda else 65536)
