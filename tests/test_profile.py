"""Profiles of kernels: counts against traces and texts, occupancy against LLVM, the model against sums by hand."""

import json
import re
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmacalc
from hip_kernels import hip_kernels
from llvm_mc import tool
from mmacalc import cli
from mmacalc.codegen import gemm_tma
from mmacalc.codegen.tensor_copies import box, swizzle_name
from mmacalc.kernels.amd.profiling import occupancy
from mmacalc.kernels.device.issue import Meeting, Pipe, Work, modelled
from mmacalc.kernels.device.profile import Jumps, spans_of
from mmacalc.throughput import duration
from oracles.emulated_kernel import ptx_of
from ptx_cases import CASES, KERNELS, recorded
from samples import rotated, sampled

TILED = """
extern "C" __attribute__((global)) void tiled(const float *x, float *y, int rounds) {
    static __attribute__((shared)) float tile[64 * STRIDE];
    int i = __builtin_amdgcn_workitem_id_x(), g = __builtin_amdgcn_workgroup_id_x();
    float sum = 0;
    #pragma clang loop unroll(disable)
    for (int k = 0; k < rounds; k++) {
        tile[i * STRIDE] = x[(g * 64 + i) * 2 + k];
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
        sum += tile[(63 - i) * STRIDE];
        __builtin_amdgcn_s_barrier();
    }
    y[g * 64 + i] = sum;
}
"""


def tiled(target, stride):
    return hip_kernels(TILED.replace("STRIDE", str(stride)), target, "-gline-tables-only")["tiled"]


def profiled(target, stride, rounds=5, groups=3):
    x, y = np.arange(1024, dtype=np.float32), np.zeros(groups * 64, np.float32)
    return mmacalc.profile(tiled(target, stride), groups, 64, x, y, rounds), (x, y)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250"])
def test_each_instruction_is_counted_as_often_as_the_waves_trace_it(target):
    found, (x, y) = profiled(target, 1)
    expected = np.array([sum(x[(g * 64 + 63 - i) * 2 + k] for k in range(5)) for g in range(3) for i in range(64)])
    np.testing.assert_array_equal(y, expected)
    times: dict[int, int] = {}
    for wave in range(found.waves):

        def note(step):
            times[step.address] = times.get(step.address, 0) + 1

        mmacalc.launch(tiled(target, 1), 3, 64, x, y, 5, trace=note, trace_wave=wave)
    assert {one.place: one.executed for one in found.instructions if one.executed} == times
    assert found.counts.executed == sum(times.values()) == sum(found.counts.kinds.values())
    assert (found.counts.loaded, found.counts.stored) == (4 * 64 * 5 * 3, 4 * 64 * 3)
    assert found.counts.shared_bytes == 2 * 4 * 64 * 5 * 3
    (loop,) = found.loops
    assert (loop.iterations, loop.counts.loaded) == (5, found.counts.loaded)
    assert {line.location.line for line in found.lines} <= set(range(20))
    text = next(one for one in found.lines if one.counts.loaded == found.counts.loaded)
    assert text.location.line == 8


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_the_model_names_bank_conflicts_where_there_are_some_and_the_latency_of_memory_where_there_are_none(target):
    bad, good = (profiled(target, stride, 50, 1)[0] for stride in (32, 33))
    assert bad.counts.conflicts > 20 * bad.counts.kinds["shared"]
    assert good.counts.conflicts == 0
    assert "the latency of memory" in (good.model.bound, bad.model.bound)
    faster = {one.without: bad.model.cycles / one.cycles for one in bad.model.what_if}
    assert faster["bank conflicts"] > 1.1
    assert bad.model.cycles > good.model.cycles
    assert "bank conflicts" not in {one.without for one in good.model.what_if}
    slow = mmacalc.profile(tiled(target, 33), 1, 64, *profiled(target, 33)[1], 50, latency=5000)
    assert slow.model.bound == "the latency of memory"
    assert slow.model.cycles > 4 * good.model.cycles


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=30), min_size=1, max_size=6), st.integers(1, 3))
def test_the_model_takes_at_least_what_each_pipe_and_each_wave_takes_and_at_most_their_sum(sequences, groups):
    work = [
        Work("vector", 4, (("vector", 4, 4),)),
        Work("memory", 4, (("first cache", 16, 8),), 300, "global memory", ("vmcnt",)),
        Work("wait", 4, waits=(("vmcnt", 0),)),
        Work("matrix", 4, (("matrix", 32, 32),), result="the matrix units"),
    ]
    model = modelled(work, sequences, [Pipe("vector", 1), Pipe("first cache", 4), Pipe("matrix", 1)], groups, 4, ())
    issued = [sum(work[at].issue for at in sequence) for sequence in sequences]
    cache_cycles = 16 * groups * sum(sequence.count(1) for sequence in sequences)
    assert model.cycles >= max(max(issued), cache_cycles)
    alone = [
        sum(work[at].issue + sum(c for _, c, _ in work[at].pipes) + work[at].latency for at in one) for one in sequences
    ]
    assert model.cycles <= groups * sum(alone)
    assert all(0 <= unit.busy <= 1 for unit in model.units)


def test_a_barrier_of_the_model_holds_the_waves_of_its_workgroup_only():
    work = [Work("vector", 10, (("vector", 10, 10),)), Work("barrier", 1, barrier="meet")]
    one = modelled(work, [[0] * 9 + [1, 0], [1, 0]], [Pipe("vector", 1)], 1, 4, ())
    assert one.cycles == 90 + 1 + 10
    assert one.stalls == {"other waves at a barrier": 90}
    ended = modelled(work, [[0], [1, 0]], [Pipe("vector", 1)], 1, 4, ())  # a wave at its end does not count
    assert ended.cycles == 10 + 1


def test_a_phase_of_an_mbarrier_ends_in_the_model_with_its_arrivals_and_its_bytes():
    full = ("mbarrier", 0)
    begin = Work("shared", 1, meetings=(Meeting(full, "begin", wanted=2),))
    expect = Work("shared", 1, meetings=(Meeting(full, "arrive", 1, bytes=512),))
    copy = Work("memory", 1, (("copies", 4, 4),), 500, meetings=(Meeting(full, "arrive", bytes=-512, later="end"),))
    arrive = Work("shared", 1, meetings=(Meeting(full, "arrive", 1),))
    waits = [Work("wait", 1, meetings=(Meeting(full, "wait", parity=parity),)) for parity in (0, 1)]
    work, pipes = [begin, expect, copy, arrive, Work("vector", 10), *waits], [Pipe("vector", 1), Pipe("copies", 4)]
    copied = modelled(work, [[0, 1, 2], [3, 5, 4]], pipes, 1, 4, ())
    assert copied.cycles == 2 + 4 + 500 + 1 + 10  # the copy is issued after two, takes its pipe for four
    assert copied.stalls == {"an mbarrier": 505}
    late = modelled(work, [[0, 1, 2], [4] * 60 + [3], [4, 5]], pipes, 1, 4, ())  # the other arrival comes last
    assert late.cycles == 602
    again = modelled(work, [[0, 1, 2, 5, 1, 2, 6], [3, 5, 3, 6]], pipes, 1, 4, ())
    assert again.cycles == 2 * 506 + 1
    assert modelled(work, [[0, 5, 4]], pipes, 1, 4, ()).cycles == 12  # what never comes was not followed
    assert modelled(work, [[6, 4]], pipes, 1, 4, ()).cycles == 11  # and what nothing has begun holds nobody


def test_a_barrier_of_some_threads_waits_in_the_model_for_as_many():
    meet, arrive = (Work("barrier", 1, meetings=(Meeting(("bar", 1), does, 32, 64),)) for does in ("meet", "arrive"))
    work = [meet, arrive, Work("vector", 10)]
    found = modelled(work, [[2, 2, 0, 2], [0, 2], [2] * 9], [Pipe("vector", 1)], 1, 4, ())
    assert found.cycles == 90
    assert found.stalls == {"other waves at a barrier": 20}
    assert modelled(work, [[1, 2], [2, 0, 2]], [], 1, 4, ()).cycles == 21


def test_the_model_follows_a_gemm_by_tma_whose_products_take_as_long_as_nvidia_says(tmp_path):
    name = "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"
    inst = mmacalc.instruction("sm_90a", name)
    plan, source = gemm_tma.plan(inst, "row", "col"), mmacalc.generate(inst, gemm="512x512x512")
    kernel = mmacalc.load(ptx_of(source, "sm_90a", tmp_path))[plan.name]

    def profiled(k, **options):
        a, b = np.zeros((256, k), np.float16), np.zeros((128, k), np.float16)
        maps = [
            mmacalc.tensor_map(each, box(side), swizzle=swizzle_name(side)) for each, side in ((a, plan.a), (b, plan.b))
        ]
        d = np.zeros((256, 128), np.float32)
        return mmacalc.profile(kernel, 1, plan.threads, *maps, d, 256, 128, k, 128, shared=plan.shared, **options)

    found = profiled(640)
    products = [one for one in found.instructions if one.text.startswith(name)]
    busy = {unit.name: unit.busy * found.model.cycles for unit in found.model.units}
    assert busy["matrix"] == pytest.approx(sum(one.executed for one in products) / 4 * duration(inst, {}, None))
    assert busy["tensor copies"] == pytest.approx(10 * (plan.a.tile.bytes + plan.b.tile.bytes) / 128)
    waits = [one for one in found.instructions if "an mbarrier" in one.stalls]
    assert {one.text.split(".")[1] for one in waits} == {"try_wait"}
    assert found.model.bound == "the matrix units"
    slow = profiled(640, latency=5000)
    assert slow.model.cycles > found.model.cycles + 2 * (5000 - 263)  # ten stages, of which four come at once
    assert slow.model.bound == "the latency of memory"


@sampled(("target", "registers"), rotated(
    ["gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1102", "gfx1151", "gfx1200", "gfx1250"], [24, 101, 200]
), 9)  # fmt: skip
def test_registers_limit_the_waves_of_a_simd_as_llvm_says(target, registers, tmp_path):
    source = f"""target triple = "amdgcn-amd-amdhsa"
    define amdgpu_kernel void @f(ptr addrspace(1) %p) #0 {{
      call void asm sideeffect "; $0", "~{{v{registers - 1}}}"()
      ret void }}
    attributes #0 = {{ "amdgpu-flat-work-group-size"="64,64" }}"""
    (tmp_path / "f.ll").write_text(source)
    command = [tool("llc"), f"-mcpu={target}", tmp_path / "f.ll", "-o"]
    listing = subprocess.run([*command, "-"], check=True, capture_output=True, text=True).stdout
    subprocess.run([*command, tmp_path / "f.o", "-filetype=obj"], check=True)
    subprocess.run([tool("ld.lld"), "-shared", tmp_path / "f.o", "-o", tmp_path / "f.hsaco"], check=True)
    kernel = mmacalc.load(str(tmp_path / "f.hsaco"))["f"]
    found = occupancy(kernel, mmacalc.architecture(target), 64 // kernel.wavefront_size, 0)
    assert found.waves == int(re.search(r"; Occupancy: (\d+)", listing)[1])


@sampled("name", ["mma_gemm", "softmax_rows", "transpose", *sorted(set(KERNELS) - {"mma_gemm"})[::8]], 3)
def test_a_profile_of_ptx_is_that_of_the_launch_in_warps(name):
    how = KERNELS[name]
    kernel = mmacalc.load(recorded(f"{name}.ptx"))[how["entry"]]
    case, again = (CASES[how["case"]]() for _ in range(2))
    sizes = how["grid"], how["block"]
    found = mmacalc.profile(kernel, *sizes, *case.arguments[: len(kernel.parameters)], shared=how["shared"])
    report = mmacalc.launch(kernel, *sizes, *again.arguments[: len(kernel.parameters)], shared=how["shared"])
    assert case.right()
    assert found.findings == ()
    assert found.counts.conflicts == sum(site.conflicts for site in report.shared_accesses)
    assert found.counts.moved == sum(site.sectors for site in report.global_accesses)
    assert found.counts.executed <= report.executed <= 32 * found.counts.executed
    assert (found.model is None) == bool(found.no_model)
    assert found.waves == report.warps
    assert {line.location.line for line in found.lines} >= {
        site.location.line for site in report.global_accesses if site.location
    }


def test_jumps_give_the_entries_of_a_loop_that_is_entered_in_its_middle():
    jumps = Jumps(2)
    for place in (0, 3, 4, 2, 3, 4, 2, 3, 5):  # 0 jumps behind the head at 2; 4 goes back to 2; 3 leaves to 5
        jumps.note(slice(None), place, place + 1)
    assert jumps.entries(2, 4, 4) == 2
    assert spans_of(jumps.back) == ((2, 4),)


def test_without_a_grid_the_listing_is_profiled_and_wrong_options_are_refused():
    kernel = tiled("gfx942", 1)
    found = mmacalc.profile(kernel)
    assert (found.launched, found.model) == (False, None)
    assert "no grid" in found.why
    assert found.counts.executed == len(found.instructions)
    assert [loop.counts.kinds["barrier"] for loop in found.loops] == [2]
    with pytest.raises(mmacalc.Error, match="a compiled kernel"):
        mmacalc.profile("kernel.hsaco")
    with pytest.raises(mmacalc.Error, match="latency is from 0 to"):
        mmacalc.profile(kernel, 1, 64, latency=-1)
    with pytest.raises(mmacalc.Error, match="PTX kernels"):
        mmacalc.profile(kernel, 1, 64, registers=64)


def test_the_command_shows_one_kernel_compares_two_and_falls_back_to_the_listing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = recorded("softmax_rows.ptx")
    for name in ("a.ptx", "b.ptx"):
        (tmp_path / name).write_text(text)
    np.save("x.npy", CASES["softmax_rows"]().arguments[0])
    how = ["--grid", "4", "--block", "128", "--args", "x.npy", "out:y.npy:f4:4x300", "300"]
    assert cli.main(["profile", "a.ptx", *how, "-o", "a.svg"]) == 0
    shown = capsys.readouterr().out
    assert "A model of issue, not a measurement" in shown
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    assert not (tmp_path / "y.npy").exists()
    assert cli.main(["profile", "a.ptx", "softmax_rows", "b.ptx", *how]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if "wave instructions" in line)
    assert row.split("|")[4].strip() == "1.00"
    assert cli.main(["profile", "a.ptx", "--json"]) == 0
    listing = json.loads(capsys.readouterr().out)
    assert (listing["launched"], listing["model"]) == (False, None)
    outside = ["--grid", "4", "--block", "128", "--args", "x.npy", "out:y.npy:f4:1", "300"]
    assert cli.main(["profile", "a.ptx", *outside]) == 2
    for words, message in (
        (["a.ptx", "c.ptx"], "'c.ptx' is neither a file nor a kernel"),
        (["a.ptx", "b.ptx", "a.ptx"], "one kernel, or two"),
        (["a.ptx", *how, "-o", "a.png"], "written as .svg"),
    ):
        assert cli.main(["profile", *words]) == 2
        assert message in capsys.readouterr().err
