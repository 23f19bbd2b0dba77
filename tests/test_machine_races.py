"""Races in LDS, and what is loaded into it, in compiled kernels: each mistake is found, and nothing else."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import mmacalc
from generated_kernels import compiled
from hip_kernels import assembled as hip_assembled
from hip_kernels import hip_listing
from mmacalc.kernels.amd.counters import Landing
from mmacalc.kernels.device.races import UNWAITED, RaceShadow
from samples import sampled
from test_machine import assembled

SOURCE = (Path(__file__).parent / "data/kernels/races.hip").read_text()
TARGETS = ("gfx942", "gfx1100")


@pytest.fixture(scope="module", params=TARGETS)
def kernels(request, tmp_path_factory):
    return mmacalc.load(compiled(SOURCE, request.param, tmp_path_factory.mktemp("races") / "races.hsaco"))


def found(kernel, *args, block=256):
    return [(one.kind, one.text.split()[0], one.message) for one in mmacalc.launch(kernel, 1, block, *args).findings]


# --- the rule ---------------------------------------------------------------------------------------------------------


def races(first, second):
    """The rule, of two accesses (kind, wave): different waves, and one writes; atomic operations go together."""
    kinds = {first[0], second[0]}
    harmless = kinds == {"read"} or ("write" not in kinds and ("read" not in kinds or "compare-and-swap" in kinds))
    return first[1] != second[1] and not harmless


def test_two_accesses_race_by_their_kinds_waves_and_bytes():
    kinds = ("read", "write", "atomic", "compare-and-swap")
    for a, b, size, move in itertools.product(kinds, kinds, (1, 2, 4, 8, 12, 16), (-2, 0, 1, 64)):
        for waves in ([1, 2, 3], [3, 2, 1]):  # the wave that the other one meets is the first or the last
            for other in (1, 2, 3, 4):
                shadow = RaceShadow(256)
                if a == "write":
                    for wave in waves:
                        shadow.note(a, np.array([32]), size, np.array([wave], np.uint8))
                else:
                    shadow.note(a, np.full(3, 32), size, np.array(waves, np.uint8))
                met = shadow.note(b, np.array([32 + move]), size, np.array([other], np.uint8))
                wanted = -size < move < size and any(races((a, wave), (b, other)) for wave in waves)
                assert (met is not None) == wanted, (a, b, size, move, waves, other)
                shadow.barrier()
                assert shadow.note(b, np.array([32 + move]), size, np.array([other], np.uint8)) is None


def test_accesses_of_any_size_and_place_race_as_sets_of_waves_say():
    rng, kinds = np.random.default_rng(0), ("read", "write", "atomic", "compare-and-swap")
    for _ in range(800):
        shadow, known = RaceShadow(64), [set() for _ in range(64)]  # of each byte (kind, wave)
        for _ in range(rng.integers(1, 6)):
            kind, size, count = kinds[rng.integers(4)], int(rng.choice([1, 2, 4, 8, 12, 16])), rng.integers(1, 5)
            step = rng.choice([1, 4])
            at = rng.integers(0, 65 - size, count) // step * step
            waves = rng.integers(1, 4, count).astype(np.uint8)
            touched = [
                (byte, (kind, int(wave))) for start, wave in zip(at, waves) for byte in range(start, start + size)
            ]
            wanted = any(races(one, other) for byte, one in touched for other in known[byte])
            for byte, one in touched:
                wanted = wanted or any(races(one, other) for other in known[byte] if kind == "write")
                known[byte].add(one)
            met = shadow.note(kind, at, size, waves)
            assert (met is not None) == wanted
            if met is not None:
                start = at[met.access]
                assert any((met.kind, met.wave) in known[byte] for byte in range(start, start + size))


def test_bytes_beside_those_that_two_waves_read_belong_to_the_wave_that_read_them():
    shadow = RaceShadow(16)
    shadow.note("read", np.array([0]), 2, np.array([1], np.uint8))
    shadow.note("read", np.array([0]), 4, np.array([2], np.uint8))
    assert shadow.note("write", np.array([2]), 2, np.array([2], np.uint8)) is None
    assert shadow.note("write", np.array([0]), 1, np.array([2], np.uint8)) == (0, 1, "read", 0, False)


def test_waves_that_write_one_byte_in_one_instruction_race():
    shadow = RaceShadow(64)
    waves = np.array([1, 2, 3], np.uint8)
    assert shadow.note("write", np.array([0, 4, 8]), 4, waves) is None
    assert shadow.note("write", np.array([16, 20, 19]), 4, waves) is not None


# --- compiled kernels -------------------------------------------------------------------------------------------------


def test_a_forgotten_barrier_beside_atomic_operations_is_a_race(kernels):
    x = np.random.default_rng(0).integers(0, 1000, 256).astype(np.int32)
    counts = np.bincount(x & 15, minlength=16)
    for forgotten, name in ((0, "none"), (1, "ds_add_u32"), (2, "ds_(read|load)_b32")):
        out = np.zeros(16, np.int32)
        have = found(kernels[f"histogram{forgotten}"], out, x)
        report = mmacalc.launch(kernels[f"histogram{forgotten}"], 1, 256, np.zeros(16, np.int32), x)
        assert (report.lds_atomics, len(report.lds)) == (report.waves, 2)  # their cycles are not guessed
        assert f"LDS: {report.waves} atomic operations, not among the cycles" in str(report)
        assert np.array_equal(out, counts)  # the waves run in an order that happens to be right
        assert [kind for kind, _, _ in have] == ["race"] * (forgotten > 0), have
        assert all(re.fullmatch(name, one) for _, one, _ in have)


@pytest.mark.parametrize("writer", range(4))
def test_any_wave_that_overwrites_what_others_read_races_with_them(kernels, writer):
    ((kind, name, message),) = found(kernels["overwrite"], np.zeros(256, np.float32), np.ones(256, np.float32), writer)
    assert kind == "race"
    assert name in ("ds_write_b32", "ds_store_b32")
    assert int(re.match(r"writes byte 0 of LDS, which wave (\d+) of the workgroup", message)[1]) != writer


def test_what_an_atomic_operation_returns_of_uninitialised_lds_is_undefined(kernels):
    x, out = np.arange(256, dtype=np.int32), np.zeros(256, np.int32)
    ((kind, name, message),) = found(kernels["returned"], out, x, 0)
    assert (kind, "global_store" in name, "bytes of LDS" in message) == ("uninitialised", True, True)
    assert found(kernels["returned"], out, x, 1) == []  # exchanged first


def test_an_undefined_operand_of_an_atomic_operation_leaves_lds_undefined(tmp_path):
    text = compiled(SOURCE, "gfx942", tmp_path / "races.s", None, ["-O2", "-S"]).read_text()
    changed = re.sub(r"(?s)(\nhistogram0:.*?\tds_add_u32 v\d+, )v\d+", r"\1v77", text, count=1)
    assert changed != text
    kernel = assembled(changed, "gfx942", tmp_path)["histogram0"]
    ((kind, name, message),) = found(kernel, np.zeros(16, np.int32), np.zeros(256, np.int32))
    assert (kind, name, "bytes of LDS" in message) == ("uninitialised", "global_store_dword", True)


# --- loads from memory into LDS ---------------------------------------------------------------------------------------

LOADS = [("gfx942", 4, 0, False), ("gfx942", 4, 64, True), ("gfx90a", 4, 16, False), ("gfx950", 12, 0, False),
         ("gfx950", 16, 32, False), ("gfx950", 12, 48, True), ("gfx950", 16, 0, True)]  # fmt: skip


@sampled(("target", "size", "offset", "buffer"), LOADS, 3)
def test_loads_into_lds_put_a_lane_after_the_other_and_their_waits_and_barriers_are_looked_for(
    target, size, offset, buffer, tmp_path
):
    source = (Path(__file__).parent / "data/kernels/lds_loads.hip").read_text()
    defined = f"#define SIZE {size}\n#define OFFSET {offset}\n" + "#define BUFFER\n" * buffer
    text = compiled(defined + source, target, tmp_path / "loads.s", None, ["-O2", "-S"]).read_text()
    part = r"(?s)(\ncopy:.*?)"
    wait, barrier = rf"{part}\ts_waitcnt vmcnt\(0\)[^\n]*\n(\ts_barrier)", rf"{part}\ts_barrier\n"
    given = np.random.default_rng(0).integers(0, 1 << 32, 256 * size // 4 + offset // 4, dtype=np.uint32)
    for changed, wanted in ((text, None), (re.sub(wait, r"\1\2", text, count=1), "wait"),
                            (re.sub(barrier, r"\1", text, count=1), "race")):  # fmt: skip
        assert wanted is None or changed != text
        out = np.zeros(256 * size // 4, np.uint32)
        report = mmacalc.launch(assembled(changed, target, tmp_path)["copy"], 1, 256, out, given)
        assert np.array_equal(out, given[offset // 4 :]) or wanted
        assert {one.kind for one in report.findings} == {wanted} - {None}, report.findings
        if wanted == "race":
            assert all(int(re.search(r"byte (\d+) of LDS", one.message)[1]) < given.nbytes for one in report.findings)


def test_a_wave_that_reads_what_it_loads_into_lds_before_it_waits_is_named(tmp_path):
    source = "#define SIZE 4\n#define OFFSET 0\n" + (Path(__file__).parent / "data/kernels/lds_loads.hip").read_text()
    text = compiled(source, "gfx942", tmp_path / "loads.s", None, ["-O2", "-S"]).read_text()
    given = np.arange(64, dtype=np.uint32)
    for changed, count in ((text, 0), (re.sub(r"(?s)(\nalone:.*?)\ts_waitcnt vmcnt\(0\)[^\n]*\n", r"\1", text), 1)):
        out = np.zeros(64, np.uint32)
        found = mmacalc.launch(assembled(changed, "gfx942", tmp_path)["alone"], 1, 64, out, given).findings
        assert np.array_equal(out, given)
        assert [(one.kind, one.other_text.split()[0]) for one in found] == [("wait", "global_load_lds_dword")] * count
        assert all("byte 252 of LDS while the load that writes it may be outstanding" in one.message for one in found)


def test_a_load_into_lds_lands_where_its_own_wave_may_not_read():
    landing = Landing(np.array([32, 0, 16]), 12, np.array([1, 0, 0]), np.array([2, 1, 1]), UNWAITED)
    for at, size, wave, met in ((0, 4, 0, 1), (11, 1, 0, 1), (12, 4, 0, 0), (10, 8, 0, 1), (20, 4, 0, 1), (32, 4, 0, 0),
                                (30, 4, 1, 1), (0, 64, 1, 1), (44, 4, 1, 0)):  # fmt: skip
        assert landing.meets(np.array([at]), size, np.array([wave])).tolist() == [bool(met)], (at, size, wave)


# --- loads that are outstanding at a barrier ---

OVERWRITTEN = r"""
#define SYNC __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3)))
extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(256, 256)))
void k(const unsigned *x, unsigned *y) {
    static __attribute__((shared)) unsigned tile[256]; int i = __builtin_amdgcn_workitem_id_x(); tile[i] = x[i]; SYNC
    unsigned v = tile[i ^ FROM];
    READ WRITE SYNC
    y[i] = v + tile[i ^ 128]; }"""
WRITERS = {
    "store": "tile[i] = x[256 + i];",
    "add": "__atomic_fetch_add(&tile[i], x[256 + i], __ATOMIC_RELAXED);",
    "copy": "__builtin_amdgcn_global_load_lds((GLOBAL void *)(x + 256 + i), (LOCAL void *)(tile + i / 64 * 64), 4, 0, "
            "0); __builtin_amdgcn_s_waitcnt(0x0f70);",
    "async": "__builtin_amdgcn_global_load_async_to_lds_b32((GLOBAL int *)(x + 256 + i), (LOCAL int *)(tile + i), 0, "
             "0); __builtin_amdgcn_s_wait_asynccnt(0);",
}  # fmt: skip
WRITTEN = [
    ("gfx90a", "store"), ("gfx942", "copy"), ("gfx1100", "add"), ("gfx1250", "async"), ("gfx90a", "copy"),
    ("gfx942", "add"), ("gfx950", "copy"), ("gfx1100", "store"), ("gfx1201", "store"), ("gfx1250", "store"),
]  # fmt: skip


def _run_overwritten(text, target):
    y = np.zeros(256, np.uint32)
    report = mmacalc.launch(hip_assembled(text, target)["k"], 1, 256, np.arange(512, dtype=np.uint32), y)
    return report.findings, [one for one in report.notes if one.kind == "wait"]


@sampled(("target", "writer"), WRITTEN, 2, first=4)
def test_bytes_overwritten_behind_a_barrier_before_a_load_of_them_is_waited_for_are_named(target, writer):
    source = OVERWRITTEN.replace("WRITE", WRITERS[writer]).replace("FROM", "64").replace("READ", "SYNC")
    right = hip_listing(source, target)
    assert _run_overwritten(right, target) == ((), [])
    lines = right.split("\n")
    at = next(at for at, line in enumerate(lines) if re.match(r"\tds_(read|load)_b32", line))
    wait = next(place for place in range(at, len(lines)) if re.match(r"\ts_wait(cnt.*lgkm|_.*dscnt)", lines[place]))
    findings, notes = _run_overwritten("\n".join([*lines[:wait], *lines[wait + 1 :]]), target)
    (found,) = (*findings, *notes)
    assert bool(findings) == (writer in ("copy", "async"))
    assert found.kind == "wait"
    assert found.other_text.startswith(("ds_read_b32", "ds_load_b32"))
    does = (
        r"writes byte 0 of LDS, which wave \d of the workgroup reads, and its barrier comes before the load from LDS "
    )
    assert re.search(does + r"is waited for: no wait for (lgkmcnt|dscnt) before it", found.message)


@pytest.mark.parametrize("writer", ["store", "copy"])
def test_a_copy_overtakes_a_load_of_its_own_wave_and_a_store_does_not(writer):
    source = OVERWRITTEN.replace("WRITE", WRITERS[writer]).replace("FROM", "1").replace("READ", "")
    lines = hip_listing(source, "gfx942").split("\n")
    first = next(at for at, line in enumerate(lines) if "\tds_read_b32" in line)
    last = next(at for at in range(first, len(lines)) if re.match(r"\t(global_load_lds_dword|ds_write_b32)", lines[at]))
    kept = [line for at, line in enumerate(lines) if not (first < at < last and "lgkmcnt" in line)]
    found, notes = _run_overwritten("\n".join(kept), "gfx942")
    assert notes == []
    assert len(found) == (writer == "copy"), found
    for one in found:
        assert "byte 0 of LDS while the load that reads it may be outstanding: no wait for lgkmcnt" in one.message
