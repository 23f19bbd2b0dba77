"""Compiled kernels on the emulator: against the host's bits, against `multiply_bits`, and with faults put in."""

import ctypes
import pickle
import re
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import generated_kernels
import mmacalc
import random_programs
from generated_kernels import assembled, compiled
from llvm_mc import tool
from mmacalc import Error
from mmacalc.asm.decoder import decode
from mmacalc.kernels.amd.matrix import fields_of
from samples import sampled

KERNELS = Path(__file__).parent / "data/kernels"
TARGETS = ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1200", "gfx1250")
WAVES = [*((target, 64) for target in TARGETS[:4]), ("gfx1100", 32), ("gfx1100", 64), ("gfx1200", 32), ("gfx1200", 64),
         ("gfx1250", 32)]  # fmt: skip
THREADS = 128  # of a workgroup in random_programs


# --- the host as the oracle -------------------------------------------------------------------------------------------


def program(seeds, depth=3):
    kinds = (random_programs.INTEGERS, random_programs.FLOATS, random_programs.INTEGERS + random_programs.FLOATS)
    parts = [random_programs.kernel(f"k{seed}", seed, kinds[seed % 3], depth) for seed in seeds]
    return random_programs.HEADER + "".join(parts)


def host(source, folder):
    """The kernels compiled for the host. NumPy's f16 conversions are the processor's, as are clang's."""
    library = folder / f"{random_programs.names(source)[0]}.so"  # a name of its own: loaded libraries are known by it
    done = subprocess.run(
        [tool("clang"), "-x", "c++", "-DHOST", "-O1", "-fwrapv", "-ffp-contract=off", "-Xclang",
         "-ffloat16-excess-precision=none", "-w", "-shared", "-fPIC", "-o", library, "-",
         "-Wl,-Bsymbolic", "-lm", "-lgcc_s"],  # its own __truncsfbf2, not that of tests/oracles/host_runtime.cpp
        input=source, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[:2000]
    return ctypes.CDLL(str(library))


def inputs(seed):
    """64 words for each of 192 threads: arbitrary bits, ordinary f32, pairs of ordinary f16, zeros."""
    rng = np.random.default_rng(seed)
    shape = (192, 64)
    floats = (rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 6, shape)).astype(np.float32).view(np.uint32)
    halves = rng.standard_normal(shape).astype(np.float16).view(np.uint16).astype(np.uint32)
    which = rng.random(shape)
    any_bits = rng.integers(0, 1 << 32, shape, dtype=np.uint32)
    pairs, nothing = halves | halves << 16, np.zeros(shape, np.uint32)
    return np.select([which < 0.05, which < 0.2, which < 0.6], [nothing, pairs, floats], any_bits)


def same_bits(seeds, targets, folder, options=("-O2",), depth=3):
    source = program(seeds, depth)
    check(source, host(source, folder), targets, folder, options)


def check(source, on_host, targets, folder, options=("-O2",)):
    given = inputs(1)
    count = len(given)
    for target in targets:
        flags = [*options, "-fwrapv", "-ffp-contract=off"]
        kernels = mmacalc.load(compiled(source, target, folder / f"{target}.hsaco", None, flags))
        for name in random_programs.names(source):
            want, got = np.zeros((2, count, 16), np.uint32)
            getattr(on_host, name)(count, given.ctypes.data_as(ctypes.c_void_p), want.ctypes.data_as(ctypes.c_void_p))
            report = mmacalc.launch(kernels[name], -(-count // THREADS), THREADS, count, given, got)
            assert np.array_equal(got, want), (target, name, np.argwhere(got != want)[:3].tolist())
            assert report.findings == (), (target, name)


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """Twelve random programs, and the host's library of them."""
    source = program(range(12))
    return source, host(source, tmp_path_factory.mktemp("host"))


@sampled("target", TARGETS, 1, first=1, whole=2)
def test_random_programs_give_the_bits_that_they_give_on_the_host(target, sample, tmp_path):
    check(*sample, [target], tmp_path)


def test_packed_types_and_bfloat16_give_the_bits_that_they_give_on_the_host(tmp_path):
    source = random_programs.HEADER + (KERNELS / "vectors.cpp").read_text()
    check(source, host(source, tmp_path), TARGETS, tmp_path)


def test_unoptimised_code_with_calls_and_a_stack_gives_the_same_bits(tmp_path):
    same_bits([500], ["gfx90a", "gfx1250"], tmp_path, ("-O0",), 1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", TARGETS)
def test_two_hundred_random_programs_give_the_bits_that_they_give_on_the_host(target, tmp_path):
    for first in range(10000, 10200, 25):
        same_bits(range(first, first + 25), [target], tmp_path)
    if target != "gfx1100":  # LLVM 22 moves half of a register where __builtin_bswap64 needs all of it
        same_bits(range(20000, 20010), [target], tmp_path, ("-O0",))


# --- matrix instructions ----------------------------------------------------------------------------------------------


def run_generated(target, wave, step, folder):
    insts, source = generated_kernels.sources(target, wave, step)
    kernels = mmacalc.load(compiled(source, target, folder / "kernels.hsaco", wave))
    for number, inst in enumerate(insts):
        kernel = next(kernels[name] for name in kernels if name.startswith(f"n{number}_"))
        arrays, wanted = generated_kernels.case(inst, wave, number)
        report = mmacalc.launch(kernel, 1, wave, *arrays)
        assert np.array_equal(arrays[3], wanted), inst.name
        assert report.instructions == {inst.name: 1}
        assert report.findings == (), inst.name


@pytest.mark.parametrize(("target", "wave"), WAVES)
def test_generated_kernels_give_what_multiply_bits_gives(target, wave, tmp_path):
    run_generated(target, wave, 5, tmp_path)


@sampled(("target", "wave"), WAVES, 0, whole=4)
def test_every_generated_kernel_gives_what_multiply_bits_gives(target, wave, tmp_path):
    run_generated(target, wave, 1, tmp_path)


def negated_c(inst, wave, target, minus, magnitude):
    """D = C of one element of C = -2, as the decoded instruction with these signs gives it; A and B are 0."""
    counts = {name: inst.operand(name, wave).registers for name in "DABC"}
    registers = [f"v[{first}:{first + count - 1}]" for first, count in zip((0, 40, 80, 120), counts.values())]
    line = f"{inst.name} {', '.join(registers)} neg_lo:[0,0,{minus}] neg_hi:[0,0,{magnitude}]"
    (decoded,) = decode(mmacalc.assemble(line, target, wave=wave), target, wave=wave)
    shapes = ((inst.m, inst.k), (inst.k, inst.n), (inst.m, inst.n))
    a, b, c = (np.full(shape, value) for shape, value in zip(shapes, (0.0, 0.0, -2.0)))
    return float(inst.multiply(a, b, c, wave=wave, **fields_of(decoded, inst, wave))[3, 5])


@pytest.mark.parametrize(("target", "wave"), [pair for pair in WAVES if pair[0] >= "gfx1100" and len(pair[0]) == 7])
def test_signs_of_c_in_an_instruction_word_reach_the_arithmetic(target, wave):
    floats = [inst for inst in mmacalc.instructions(target)
              if inst.format("A").is_float and not (inst.sparse or inst.scaled)]  # fmt: skip
    for inst in floats:
        found = [negated_c(inst, wave, target, minus, magnitude) for minus in (0, 1) for magnitude in (0, 1)]
        assert found == [-2, 2, 2, -2], inst.name
    assert {inst.format("A").bits for inst in floats} >= ({16} if target == "gfx1100" else {8, 16})


def test_the_kernels_of_the_lab_notes_run(tmp_path):
    kernels = mmacalc.load(compiled((KERNELS / "lab_notes.hip").read_text(), "gfx90a", tmp_path / "notes.hsaco"))
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 10, shape).astype(np.float32) for shape in ((16, 4), (4, 16)))
    d = np.zeros((16, 16), np.float32)
    mmacalc.launch(kernels["sgemm_16x16x4"], 1, (16, 4), a, b, d)
    assert np.array_equal(d, a @ b)
    blocks = np.zeros((4, 16, 16), np.float32)
    a, b = rng.integers(-9, 10, (2, 4, 16)).astype(np.float32)
    mmacalc.launch(kernels["sgemm_16x16x1"], 1, (16, 4), a, b, blocks)
    assert np.array_equal(blocks, a[:, :, None] * b[:, None, :])


@pytest.mark.parametrize("target", TARGETS)
def test_an_attention_kernel_runs_and_names_what_hardware_approximates(target, tmp_path):
    kernel = mmacalc.load(compiled((KERNELS / "attention.hip").read_text(), target, tmp_path / "a.hsaco"))["attention"]
    rng = np.random.default_rng(0)
    q, k = (rng.standard_normal(shape).astype(np.float16) for shape in ((8, 16), (64, 16)))
    v, out = rng.standard_normal((64, 16)).astype(np.float32), np.zeros((8, 16), np.float32)
    report = mmacalc.launch(kernel, 4, 2 * kernel.wavefront_size, q, k, v, out, 64)
    scores = q.astype(float) @ k.astype(float).T
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    assert np.abs(out - weights / weights.sum(axis=1, keepdims=True) @ v).max() < 1e-6
    assert {one.name: one.ulp for one in report.approximations}["v_exp_f32"] == "1"
    assert report.findings == ()


def other_lanes(target, wave, x):
    """What lanes.hip gives, lane by lane, from the descriptions in the ISA guides."""
    n, gfx9 = wave, target.startswith("gfx9")
    span = n if gfx9 else 32  # which lanes a permute reaches
    row = [lane // 16 * 16 for lane in range(n)]
    rows = [
        [x[lane // 4 * 4 + 3 - lane % 4] for lane in range(n)],
        [x[lane + 3] if lane % 16 < 13 else -1 for lane in range(n)],
        [x[lane - 2] if lane % 16 >= 2 else 0 for lane in range(n)],
        [x[row[lane] + (lane - 5) % 16] for lane in range(n)],
        [x[row[lane] + 15 - lane % 16] for lane in range(n)],
        [x[lane // 8 * 8 + 7 - lane % 8] if lane // 16 in (0, 2) else -1 for lane in range(n)],
        [x[lane // span * span + (lane * 7 + 3) % span] for lane in range(n)],
        [x[lane ^ 5] for lane in range(n)],
        [x[lane ^ 1] for lane in range(n)],
        [x[9]] * n,
        [x[0]] * n,
        [
            sum(0x33333333 >> bit & 1 for bit in range(min(lane, 32)))
            + sum(0x0F0F0F0F >> bit & 1 for bit in range(max(lane - 32, 0)))
            for lane in range(n)
        ],
        [x[1] if lane % 3 == 1 else -2 for lane in range(n)],
    ]
    half = [lane // span * span + lane // 2 % span for lane in range(n)]  # lanes that are not active give 0
    rows.append([-2 if lane % 2 == 0 else x[half[lane]] if half[lane] % 2 else 0 for lane in range(n)])
    if gfx9:
        rows.append([x[row[lane] - 1] if lane // 16 in (1, 3) else -1 for lane in range(n)])
        rows.append([x[31] if lane >= 32 else -1 for lane in range(n)])
    else:
        same = [lane % 16 if lane % 16 < 8 else 15 - (lane - 8) % 16 for lane in range(n)]
        rows.append([x[row[lane] + same[lane]] for lane in range(n)])
        rows.append([x[(row[lane] ^ 16) + lane % 16] for lane in range(n)])
    return rows


@pytest.mark.parametrize(("target", "wave"), [one for one in WAVES if one[0] not in ("gfx90a", "gfx950")])
def test_every_way_to_read_another_lane_reads_the_right_one(target, wave, tmp_path):
    source = (KERNELS / "lanes.hip").read_text()
    kernel = mmacalc.load(compiled(source, target, tmp_path / "lanes.hsaco", wave, ["-O1"]))["lanes"]
    given, out = np.arange(100, 100 + wave, dtype=np.int32), np.zeros((16, wave), np.int32)
    assert mmacalc.launch(kernel, 1, wave, given, out).findings == ()
    for way, wanted in enumerate(other_lanes(target, wave, given.tolist())):
        assert out[way].tolist() == wanted, way


@pytest.mark.parametrize("target", ["gfx942", "gfx950", "gfx1200", "gfx1250"])
def test_conversions_of_8_bit_floats_are_those_of_ml_dtypes(target, tmp_path):
    kernel = mmacalc.load(compiled((KERNELS / "conversions.hip").read_text(), target, tmp_path / "c.hsaco"))["convert"]
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(512) * 10.0 ** rng.integers(-4, 3, 512)).astype(np.float32)
    words, out = rng.integers(0, 1 << 32, 256, dtype=np.uint32), np.zeros((256, 8), np.uint32)
    assert mmacalc.launch(kernel, 1, 256, x, words, out).findings == ()
    kinds = ("float8_e4m3fnuz", "float8_e5m2fnuz") if target == "gfx942" else ("float8_e4m3fn", "float8_e5m2")
    fp8, bf8 = (getattr(ml_dtypes, kind) for kind in kinds)
    for column, kind, base in ((0, fp8, 0), (1, bf8, 0x1234)):
        low, high = (x[part::2].astype(kind).view(np.uint8).astype(np.uint32) for part in (0, 1))
        assert np.array_equal(out[:, column], (low | high << 8) << 16 * column | base)
    octets = words.view(np.uint8).reshape(-1, 4)
    for column, kind, octet in ((2, fp8, 0), (3, fp8, 1), (4, bf8, 2), (5, fp8, 3), (6, bf8, 1)):
        wide = octets[:, octet].copy().view(kind).astype(np.float32)
        assert np.array_equal(out[:, column].copy().view(np.float32), wide, equal_nan=True), column
    near = x.astype(np.float16)
    beyond = np.abs(near.astype(float)) > np.abs(x.astype(float))
    halves = np.where(beyond, np.nextafter(near, np.float16(0)), near).view(np.uint16).astype(np.uint32)
    assert np.array_equal(out[:, 7], halves[::2] | halves[1::2] << 16)


# --- faults -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def listings(tmp_path_factory):
    """exchange.hip as assembly, by target."""
    folder = tmp_path_factory.mktemp("listings")
    source = (KERNELS / "exchange.hip").read_text()
    return {
        target: compiled(source, target, folder / f"{target}.s", None, ["-O2", "-S"]).read_text()
        for target in ("gfx942", "gfx1100", "gfx1200")
    }


def reversed_by(text, target, folder, count=512):
    kernel = assembled(text, target, folder)["reverse"]
    given, found = np.arange(count, dtype=np.float32), np.zeros(count, np.float32)
    report = mmacalc.launch(kernel, 2, 256, given, found, count)
    return report, np.array_equal(found, 2 * given.reshape(2, 256)[:, ::-1].ravel())


FAULTS = [
    ("gfx942", r"\ts_waitcnt vmcnt\(0\)\n", "", "wait", "no wait for vmcnt", "global_load_dword"),
    ("gfx1100", r"\ts_waitcnt vmcnt\(0\)\n", "", "wait", "no wait for vmcnt", "global_load_b32"),
    ("gfx1200", r"\ts_wait_loadcnt 0x0\n", "", "wait", "no wait for loadcnt", "global_load_b32"),
    ("gfx942", r"\ts_waitcnt lgkmcnt\(0\)\n(\ts_barrier\n)", r"\1", "wait", "before the write to LDS", "ds_write"),
    ("gfx942", r"\ts_barrier\n", "", "race", "without a barrier in between", "ds_write_b32"),
    ("gfx1200", r"\ts_barrier_(signal -1|wait -1)\n", "", "race", "without a barrier in between", "ds_store_b32"),
    ("gfx942", r"(\tv_add_f32_e32) (v\d+), (v\d+), \3", r"\1 \2, \3, v77", "uninitialised", "it stores|depends on", ""),
    ("gfx942", r"\tds_write_b32 [^\n]*\n", "", "uninitialised", "LDS", ""),
]  # fmt: skip


@pytest.mark.parametrize(("target", "pattern", "instead", "kind", "words", "other"), FAULTS)
def test_a_fault_in_the_assembly_is_named(target, pattern, instead, kind, words, other, listings, tmp_path):
    text = listings[target]
    report, right = reversed_by(text, target, tmp_path)
    assert (report.findings, right) == ((), True)
    changed = re.sub(pattern, instead, text)
    assert changed != text
    report, _ = reversed_by(changed, target, tmp_path)
    found = [one for one in report.findings if one.kind == kind]
    assert found, report
    assert re.search(words, found[0].message), found[0].message
    assert other in found[0].other_text


def test_an_access_out_of_bounds_stops_the_launch_and_leaves_the_arrays(listings, tmp_path):
    kernel = assembled(listings["gfx942"], "gfx942", tmp_path)["reverse"]
    given, found = np.ones(511, np.float32), np.zeros(512, np.float32)
    where = r"workgroup \(1, 0, 0\), wave 3, lane 63, at 0x[0-9a-f]+ \(global_load_dword .*\): it loads 4 bytes "
    with pytest.raises(Error, match=where + r"just past the end of argument 1 \(2044 bytes\)"):
        mmacalc.launch(kernel, 2, 256, given, found, 512)
    assert not found.any()


def test_waves_at_different_barriers_are_named(tmp_path):
    source = """
#define __global__ __attribute__((global))
extern "C" __global__ void meet(int *out) {
    if (__builtin_amdgcn_readfirstlane(__builtin_amdgcn_workitem_id_x()) < 64) {
        __builtin_amdgcn_s_barrier();
        out[0] = 1;
    } else {
        out[1] = 2;
        __builtin_amdgcn_s_barrier();
    }
}"""
    kernel = mmacalc.load(compiled(source, "gfx942", tmp_path / "meet.hsaco"))["meet"]
    report = mmacalc.launch(kernel, 1, 128, np.zeros(2, np.int32))
    (noted,) = report.notes
    assert (noted.kind, noted.text, noted.other_text) == ("barrier", "s_barrier", "s_barrier")
    assert not report.findings  # the hardware counts waves


def test_missing_wait_states_are_named_with_both_instructions(tmp_path):
    text = compiled(
        (KERNELS / "lab_notes.hip").read_text(), "gfx90a", tmp_path / "n.s", None, ["-O2", "-S"]
    ).read_text()
    a = np.ones((16, 4), np.float32)
    for changed, count in ((text, 0), (re.sub(r"(\tv_mfma.*\n)\ts_nop \d+\n", r"\1", text), 1)):
        kernel = assembled(changed, "gfx90a", tmp_path)["sgemm_16x16x4"]
        found = mmacalc.launch(kernel, 1, (16, 4), a, a, np.zeros((16, 16), np.float32)).findings
        assert [one.kind for one in found][:1] == ["wait states"] * count
        assert all("v_mfma_f32_16x16x4f32" in one.other_text for one in found)


def test_an_instruction_that_is_not_covered_stops_the_launch_by_name_and_address(listings, tmp_path):
    text = listings["gfx942"].replace("\ts_endpgm", "\ts_rfe_b64 s[0:1]\n\ts_endpgm", 1)
    with pytest.raises(Error, match=r"s_rfe_b64 at 0x[0-9a-f]+ is not covered"):
        reversed_by(text, "gfx942", tmp_path)


# --- arguments, trace, command ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((np.zeros(4),), "takes 3 arguments"),
        ((1, np.zeros(4), 4), "is a pointer: it takes a NumPy array"),
        ((np.zeros(4), np.zeros(4), 1 << 40), "has 4 bytes; 1099511627776 does not fit"),
        ((np.zeros(4), np.zeros(4), np.zeros(4)), "a value of 4 bytes; got an array"),
        ((np.zeros(4), np.zeros(4), "n"), "it takes a number"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(args, says, listings, tmp_path):
    kernel = assembled(listings["gfx942"], "gfx942", tmp_path)["reverse"]
    with pytest.raises(Error, match=says):
        mmacalc.launch(kernel, 1, 64, *args)


def test_arrays_whose_elements_are_not_in_order_in_memory_are_refused_with_what_to_pass(listings, tmp_path):
    kernel = assembled(listings["gfx942"], "gfx942", tmp_path)["reverse"]
    x = np.zeros((64, 64), np.float32)
    for wrong in (x.T, x[::2], x[:, 0], x[::-1]):
        for pair in ((x, wrong), (wrong, x)):
            with pytest.raises(Error, match=r"argument [12] is not C-contiguous .* pass numpy.ascontiguousarray of it"):
                mmacalc.launch(kernel, 1, 64, *pair, 64)


def test_variables_keep_their_values_from_launch_to_launch_and_a_stopped_one_leaves_them(tmp_path):
    source = """
__attribute__((device)) int table[64] = {5, 6};
extern "C" __attribute__((global)) void fill(const int *x) {
    int thread = __builtin_amdgcn_workitem_id_x();
    table[thread] = x[thread];
}
extern "C" __attribute__((global)) void read(int *out) {
    int thread = __builtin_amdgcn_workitem_id_x();
    out[thread] = table[63 - thread];
}"""
    path = tmp_path / "variables.hsaco"
    kernels = mmacalc.load(compiled(source, "gfx942", path))
    x, out = np.arange(100, 164, dtype=np.int32), np.zeros(64, np.int32)

    def table(kernels):
        assert mmacalc.launch(kernels["read"], 1, 64, out).findings == ()
        return out[::-1].tolist()

    first = [5, 6] + [0] * 62
    assert table(kernels) == first
    with pytest.raises(Error, match="loads 4 bytes"):
        mmacalc.launch(kernels["fill"], 1, 64, x[:40].copy())
    assert table(kernels) == first
    mmacalc.launch(kernels["fill"], 1, 64, x)
    assert table(kernels) == table(pickle.loads(pickle.dumps(dict(kernels)))) == x.tolist()
    assert table(mmacalc.load(path)) == first


def test_a_trace_has_every_instruction_of_one_wave(listings, tmp_path):
    kernel = assembled(listings["gfx942"], "gfx942", tmp_path)["reverse"]
    steps = []
    given, found = np.arange(512, dtype=np.float32), np.zeros(512, np.float32)
    report = mmacalc.launch(kernel, 2, 256, given, found, 512, trace=steps.append, trace_wave=5)
    assert 8 * len(steps) == report.executed
    assert steps[-1].text == "s_endpgm"
    (loaded,) = [dict(step.registers) for step in steps if step.text.startswith("global_load_dword")]
    (values,) = loaded.values()
    assert np.array_equal(np.array(values, np.uint32).view(np.float32), given[256 + 64 : 256 + 128])


def test_the_command_writes_outputs_and_its_status_tells_of_findings(listings, tmp_path, monkeypatch):
    from mmacalc.cli import answer

    monkeypatch.chdir(tmp_path)
    assembled(listings["gfx942"], "gfx942", tmp_path)
    np.save("in.npy", np.arange(256, dtype=np.float32).reshape(16, 16).T.copy().T)  # kept column by column
    line = ["run-kernel", "fault.hsaco", "reverse", "--grid", "1", "--block", "256", "--args", "in.npy"]
    reply = answer([*line, "out:d.npy:f4:256", "256"])
    assert (reply.status, reply.err) == (0, "")
    assert reply.out.endswith("nothing wrong was found\nwritten to d.npy\n")
    assert np.array_equal(np.load("d.npy"), 2 * np.arange(256, dtype=np.float32)[::-1])
    np.save("d.npy", np.asfortranarray(np.zeros((16, 16), np.float32)))
    assert answer([*line, "out:d.npy", "256"]).status == 0
    assert np.array_equal(np.load("d.npy").ravel(), 2 * np.arange(256, dtype=np.float32)[::-1])
    assert "reverse: gfx942, wave64" in answer(["run-kernel", "fault.hsaco"]).out
    assert answer([*line, "out:d.npy", "256", "--trace"]).out.count("global_store_dword") == 1
    assembled(re.sub(r"\ts_barrier\n", "", listings["gfx942"]), "gfx942", tmp_path)
    reply = answer([*line, "out:d.npy", "256"])
    assert reply.status == 1
    assert "race: 0x" in reply.out
    assert answer([*line, "out:d.npy:f4:255", "256"]).status == 2
