"""Source lines of findings and traces, and the plain names of kernels: against llvm-symbolizer and llvm-cxxfilt 22."""

from __future__ import annotations

import random
import subprocess

import numpy as np
import pytest

import mmacalc
from llvm_mc import tool
from mmacalc.asm.code_objects import Kernels
from mmacalc.asm.demangled import demangled

SOURCE = """namespace demo {
template <int N, typename T>
__attribute__((global)) __attribute__((amdgpu_flat_work_group_size(128, 128))) void reverse(T *out, const T *in) {
    static __attribute__((shared)) int tile[128];
    int i = __builtin_amdgcn_workitem_id_x();
    tile[i] = in[i];
    out[i] = tile[127 - i] + N;
}
template __attribute__((global)) void reverse<3, int>(int *, const int *);
}
"""


@pytest.fixture(scope="module", params=[("-g", "-gdwarf-5"), ("-gline-tables-only", "-gdwarf-4")], ids=str)
def built(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lines")
    (folder / "race.hip").write_text(SOURCE)
    options = ["-x", "hip", "--offload-arch=gfx942", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-O2",
               "--no-gpu-bundle-output", *request.param]  # fmt: skip
    command = [tool("clang"), *options, "-o", folder / "race.hsaco", folder / "race.hip"]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "race.hsaco"


def launched(path, **options):
    (kernel,) = mmacalc.load(path).values()
    given = np.arange(128, dtype=np.int32)
    return kernel, mmacalc.launch(kernel, 1, 128, np.zeros(128, np.int32), given, **options)


def test_every_instruction_has_the_line_that_llvm_symbolizer_names(built):
    (kernel,) = mmacalc.load(built).values()
    places = range(kernel.address, kernel.address + len(kernel.code), 4)
    command = [tool("llvm-symbolizer"), f"--obj={built}", "--no-inlines", "--functions=none"]
    asked = "".join(f"{place:#x}\n" for place in places)
    printed = subprocess.run(command, input=asked, capture_output=True, text=True, check=True).stdout.split()
    # A line of 0 is code that belongs to no line of the source.
    expected = [None if one.split(":")[-2] == "0" else ":".join(one.split(":")[:-1]) for one in printed]
    found = [kernel.source_lines.at(place) for place in places]
    assert [one and f"{one.file}:{one.line}" for one in found] == expected
    assert len({one.line for one in found if one}) >= 3


def test_a_race_names_both_lines_and_their_text_where_the_file_is_there(built):
    _, report = launched(built)
    (race,) = report.findings
    assert (str(race.location), str(race.other_location)) == ("race.hip:7", "race.hip:6")
    assert "at race.hip:7: out[i] = tile[127 - i] + N;" in race.sentence
    assert "at race.hip:6: tile[i] = in[i];" in race.sentence
    assert report.as_dict()["findings"][0]["location"] == "race.hip:7"


def test_a_trace_and_a_refusal_name_the_line(built):
    steps = []
    launched(built, trace=steps.append)
    assert {step.location.line for step in steps if step.location} >= {6, 7}
    (kernel,) = mmacalc.load(built).values()
    with pytest.raises(mmacalc.Error, match=r"race\.hip:6\)"):
        mmacalc.launch(kernel, 1, 128, np.zeros(128, np.int32), np.zeros(4, np.int32))


NAMES = [
    "_ZN4demo7reverseILi3EiEEvPT0_PKS1_", "_Z4gemmPfPKfi", "_Z15hgemm_rocwmma_djjjjPKDF16_S0_PKfPfjjjjff",
    "_Z3fooIiEvT_", "_Z3fooILb1EfEvPT0_", "_ZN2ck6kernelINS_4GemmILi16ELi32EfEELj4EEEvT_PKNS1_3ArgE", "_ZL3bari",
    "_ZN12_GLOBAL__N_11kEPf", "_Z1fDv4_f", "_Z1fPU3AS1f", "_ZN3aXbE", "_Z1fSt4pairIifE", "_Z1gPKvPv", "_Z3k1xv",
    "_ZN1a1b1cINS_1dIiEEEEvPT_S4_", "_Z1fI4KindLS0_2EEvv", "_Z1fILin1EEvv", "_Z1fILc65EEvv",
    "_Z2opIN3abc3DefIJLi1ELi2EEEEEvT_", "_Z1fRKN1a1BE", "_ZN1a1bEPNS_1cES1_", "_Z1fILm5EEvPVi",
    "_Z6kernelI7MyClassIS0_IiEEEvT_", "_ZN7rocwmma4gemmIDF16_fEEvPKT_PT0_",
]  # fmt: skip
NOT_READ = [
    "_Z1fPFviE", "_Z1fIJifdEEvDpT_", "_Z1fRA4_i", "_ZplRK1aS1_", "_Z3fooIiEvT_.kd", "_Z", "_Z4ab", "_Z1fS_", "gemm",
]  # fmt: skip


def filtered(names):
    run = subprocess.run([tool("llvm-cxxfilt")], input="\n".join(names), capture_output=True, text=True, check=True)
    return run.stdout.splitlines()


def test_names_are_demangled_as_by_llvm_cxxfilt_or_stay():
    assert [demangled(name).text for name in NAMES] == filtered(NAMES)
    assert [demangled(name) for name in NOT_READ] == [None] * len(NOT_READ)


def test_no_damaged_name_is_demangled_otherwise_than_by_llvm_cxxfilt():
    rng, damaged = random.Random(7), []
    for _ in range(6000):
        name = list(rng.choice(NAMES))
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(2, len(name))
            name[at : at + rng.randint(0, 2)] = rng.choices("NSTIEKPRLJ_0123ifvDUV", k=rng.randint(0, 2))
        damaged.append("".join(name))
    wrong = {}
    for name, theirs in zip(damaged, filtered(damaged)):
        ours = demangled(name)
        if ours is not None and ours.text != theirs:
            wrong[name] = ours.text, theirs
    assert wrong == {}


def test_a_kernel_of_cpp_has_its_plain_name(built):
    kernels = mmacalc.load(built)
    (mangled,) = kernels
    for name in ("reverse", "demo::reverse", "demo::reverse<3, int>", "reverse<3, int>", mangled):
        assert kernels[name] is kernels[mangled]
    assert kernels[mangled].cpp_name == "demo::reverse<3, int>"
    with pytest.raises(mmacalc.Error, match="unknown kernel 'revers'"):
        kernels["revers"]
    several = Kernels(dict.fromkeys(("_Z1fIiEvT_", "_Z1fIfEvT_")))
    with pytest.raises(mmacalc.Error, match=r"several kernels are called 'f'; .* _Z1fIiEvT_ \(f<int>\), _Z1fIfEvT_"):
        several["f"]
