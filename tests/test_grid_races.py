"""Races in global memory between waves of AMD kernels: wrong kernels are named, right ones have no finding."""

import re

import numpy as np
import pytest

import mmacalc
from hip_kernels import assembled, hip_kernels, hip_listing
from mmacalc.kernels.device.access_log import LOGGED, AccessLog, Entries
from samples import rotated, sampled

SOURCE = """extern "C" __attribute__((global)) void k(float *x, float *y, int shift) {
    int g = __builtin_amdgcn_workgroup_id_x(), i = __builtin_amdgcn_workitem_id_x(), at = g * 64 + i;
    BODY
}"""
ADD = "__hip_atomic_fetch_add((int *)&y[i], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);"
FLAG = """if (g == 0) { y[i] = 3; __hip_atomic_store((int *)x + i, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT); }
    else if (g == 1) { while (!__hip_atomic_load((int *)x + i, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT));
                       x[64 + i] = y[i]; }"""
RIGHT = {
    "each its own": "y[at] = x[at] + 1;", "in place": "x[at] *= 2;", "all read one": "y[at] = x[i];",
    "same value": "y[at - g * shift] = 1;", "atomic sums": ADD, "atomic sums beside own": ADD + "x[at] = g;",
    "bytes side by side": "((char *)y)[at] = i;", "a flag": FLAG,
}  # fmt: skip
WRONG = {  # what races, and the kind of access that is named
    "tiles overlap": ("y[at - g * shift] = at;", "store"),
    "neighbour read": ("x[at] = y[at]; y[at] = x[(at + 64) % 256];", ""),
    "read before it is written": ("float v = x[(at + 64) % 256]; x[at] = v + at;", "store"),
    "atomic and plain": (ADD + "x[at] = y[(i + 1) % 64];", "load"),
    "halves overlap": ("((_Float16 *)y)[at - g * shift] = at;", "store"),
}  # fmt: skip
TARGETS = ("gfx90a", "gfx942", "gfx1100", "gfx1201")


def launched(body, target, groups=4):
    kernel = hip_kernels(SOURCE.replace("BODY", body), target)["k"]
    x, y = np.zeros(256, np.float32), np.zeros(256, np.float32)
    return mmacalc.launch(kernel, groups, 64, x, y, 16)


@sampled(("name", "target"), rotated(RIGHT, TARGETS), len(RIGHT))
def test_a_right_kernel_has_no_finding(name, target):
    assert launched(RIGHT[name], target).findings == ()


@sampled(("name", "target"), rotated(WRONG, TARGETS[::-1]), len(WRONG))
def test_a_race_between_workgroups_is_named_with_both_instructions_and_not_within_a_wave(name, target):
    body, access = WRONG[name]
    first = launched(body, target).findings[0]
    assert first.kind == "race"
    assert access in first.text
    assert first.other_address is not None
    assert "argument" in first.message
    kernel = hip_kernels(SOURCE.replace("BODY", body), target)["k"]
    x, y = np.zeros(256, np.float32), np.zeros(256, np.float32)
    assert mmacalc.launch(kernel, 1, kernel.wavefront_size, x, y, 16).findings == ()


MEET = """__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");"""


@sampled(("body", "target"), rotated(
    ["x[i] = i; MEET y[i] = x[127 - i];", "float one = x[0]; MEET x[i] = one + i + 1;"], TARGETS
), 4)  # fmt: skip
def test_waves_of_a_workgroup_race_in_global_memory_unless_a_barrier_comes_in_between(body, target):
    for between, expected in ((MEET, 0), ("", 1)):
        kernel = hip_kernels(SOURCE.replace("BODY", body.replace("MEET", between)), target)["k"]
        x, y = np.zeros(256, np.float32), np.zeros(256, np.float32)
        findings = mmacalc.launch(kernel, 1, 128, x, y, 0).findings
        assert [found.kind for found in findings] == ["race"] * expected
        assert all(found.message.endswith("and no barrier comes in between") for found in findings)


UNUSED = {  # x[i & 31] is loaded by all lanes, in two or four waves; what makes the race one that matters
    "nobody uses it": ("float v = x[i & 31]; asm volatile(\"\" : \"+v\"(v)); if (i < 32) x[i] = v + 1;", False),
    "nobody uses one load": ("int v = *(int *)x; asm volatile(\"\" : \"+s\"(v)); if (!i) *(int *)x = v + 1;", False),
    "it is stored elsewhere": ("float v = x[i & 31]; if (i < 32) x[i] = v + 1; y[at] = v;", True),
    "a branch depends on it": ("float v = x[i & 31]; if (i < 32) x[i] = v + 1; if (v > 0) y[at] = 1;", True),
    "it goes through LDS": ("""__attribute__((shared)) static float l[128]; float v = x[i & 31];
        if (i < 32) x[i] = v + 1; l[i] = v; MEET y[at] = l[127 - i];""", True),
    "it was loaded earlier": ("""float v = x[i & 31]; asm volatile("" : "+v"(v) :: "memory"); float w = x[i & 31];
        asm volatile("" : "+v"(w)); if (i < 32) x[i] = w + 1; y[at] = v;""", True),
}  # fmt: skip


@sampled(("name", "target"), rotated(UNUSED, TARGETS), 2 * len(UNUSED))
def test_a_read_that_races_and_gives_what_nothing_uses_is_a_note(name, target):
    body, matters = UNUSED[name]
    kernel = hip_kernels(SOURCE.replace("BODY", body.replace("MEET", MEET)), target)["k"]
    x, y = np.zeros(256, np.float32), np.zeros(256, np.float32)
    report = mmacalc.launch(kernel, 1, 128, x, y, 0)
    kinds = [found.kind for found in report.findings], [note.kind for note in report.notes if "used" in note.kind]
    kinds = [*dict.fromkeys(kinds[0])], [*dict.fromkeys(kinds[1])]
    assert kinds == ((["race"], []) if matters else ([], ["not used"]))
    assert matters or report.notes[0].message.endswith("What the load gives is not used")


@pytest.mark.parametrize("seed", range(2))
def test_the_log_of_accesses_finds_what_a_list_looked_through_one_by_one_has(seed):
    rng, log, places = np.random.default_rng(seed), AccessLog(40, agent=8), np.zeros(40, bool)
    kept = []
    for turn in range(LOGGED + 150):
        at, codes = np.sort(rng.integers(seed * 10, 40, 6)), rng.integers(1, 4, 6) << 8 | turn % 200
        log.add(Entries(at, codes, np.full(6, turn % 7, np.uint8), codes))
        kept, places[at] = [*kept, (turn % 7, [*dict.fromkeys(zip(at.tolist(), codes.tolist()))])], True
        if len(kept) > LOGGED:
            kept = [one for one in kept if places[[place for place, _ in one[1]]].any()][-LOGGED // 2 :]
        if turn % 5 == 0:
            gone = rng.integers(0, 40, 3)
            log.forget(gone)
            places[gone] = False
        if turn % 3:
            continue
        own = dict(zip(rng.permutation(40)[:7].tolist(), (rng.integers(1, 5, 7) << 8).tolist()))
        at, codes = np.array([*own]), np.array([*own.values()])
        wanted = [
            [([*own].index(place), place, code, bits) for place, code in pairs
             if place in own and places[place] and code >> 8 != own[place] >> 8] for bits, pairs in kept
        ]  # fmt: skip
        parts = [
            [*dict.fromkeys(zip(which.tolist(), found.at.tolist(), found.codes.tolist(), found.bits.tolist()))]
            for which, found in [log.others(at, codes), *log.others_by_instruction(at, codes)]
        ]
        assert [sorted(one) for one in parts[1:]] == [sorted(one) for one in wanted if one]
        assert set(parts[0]) == {each for one in wanted for each in one}


TICKET = """
#define SYNC __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); \\
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(64, 64)))
void k(float *y, unsigned *count) {
    static __attribute__((shared)) unsigned last;
    int i = __builtin_amdgcn_workitem_id_x(), g = __builtin_amdgcn_workgroup_id_x();
    y[g * 64 + i] = i + g;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent"); SYNC
    if (i == 0) last = __scoped_atomic_fetch_add(count, 1u, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE);
    SYNC
    if (last == 3) {
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
        y[256 + i] = y[i] + y[64 + i] + y[128 + i] + y[192 + i]; } }
"""


@pytest.mark.parametrize("target", ["gfx1201", "gfx1250"])
def test_a_ticket_whose_atomic_operation_has_not_the_scope_of_the_device_orders_nothing(target):
    right = hip_listing(TICKET, target)
    wrong = re.sub(r"(\tglobal_atomic_add_u32 .*?) scope:SCOPE_DEV", r"\1", right)
    assert wrong != right
    for text, kinds in ((right, set()), (wrong, {"race"})):
        report = mmacalc.launch(assembled(text, target)["k"], 4, 64, np.zeros(512, np.float32), np.zeros(1, np.uint32))
        assert {one.kind for one in report.findings} == kinds, report.findings


# Two atomic operations on one counter, by all workgroups (`at` 0) or by each on its own, of one scope or of two.
SCOPED = """extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(128, 128)))
void k(int *y, int at) {
    int *count = y + __builtin_amdgcn_workgroup_id_x() * at;
    __scoped_atomic_fetch_add(count, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_FIRST);
    asm volatile("s_nop 0");
    if (__builtin_amdgcn_workitem_id_x() < 70)
        __scoped_atomic_fetch_max(count, 2, __ATOMIC_RELAXED, __MEMORY_SCOPE_NEXT); }
"""
REACHES = {"WVFRNT": 0, "WRKGRP": 1, "CLUSTR": 2, "DEVICE": 3, "SYSTEM": 3}


@sampled(("first", "second", "target"), [
    (first, second, target) for first in REACHES for second in REACHES
    for target in ("gfx942", "gfx1100", "gfx1201", "gfx1201 -mcumode", "gfx1250")
], 12)  # fmt: skip
def test_atomic_operations_race_where_a_scope_does_not_include_the_other_workgroup(first, second, target):
    """The compiler's code of each scope is the oracle of how far it reaches: of targets that carry atomic operations
    out in L2 it is one, and between a wave and its workgroup CU mode and gfx1250 make no difference."""
    name, *options = target.split()
    source = SCOPED.replace("FIRST", first).replace("NEXT", second)
    kernel = hip_kernels(source, name, *options)["k"]
    least = min(REACHES[first], REACHES[second])
    if name in ("gfx942", "gfx1100"):
        least = 3
    elif name == "gfx1201":
        least = {0: 0 if not options else 1, 2: 3}.get(least, least)
    else:
        least = max(least, 1)
    for at, needed, cluster in ((0, 3, 1), (0, 2, 4), (16, 1, 1)):
        if cluster > 1 and name != "gfx1250":
            continue
        more = {"cluster": (cluster,)} if cluster > 1 else {}
        findings = mmacalc.launch(kernel, 4, 128, np.zeros(64, np.int32), at, **more).findings
        assert {one.kind for one in findings} == ({"race"} if least < needed else set()), (at, findings)
        assert all("the scope of one of the two does not reach the other's" in one.message for one in findings)


def test_stores_of_device_scope_do_not_race_in_one_instruction_either():
    source = "__hip_atomic_store((int *)&y[i], g, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);"
    assert launched(source, "gfx1201").findings == ()
    one = source.replace("AGENT", "WORKGROUP")
    assert launched(one, "gfx1201").findings[0].kind == "race"
    assert launched("y[i & 1] = i & 1 ? g : 1;", "gfx1201").findings[0].kind == "race"
