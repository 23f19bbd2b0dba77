"""Undefined values in compiled kernels: what LLVM leaves open in loops and selections, and what nobody wrote."""

import ctypes
import math
import subprocess
from functools import cache

import numpy as np
import pytest

import mmacalc
from generated_kernels import compiled
from llvm_mc import tool
from random_loops import programs
from samples import sampled

LOOPS = """
#define GLOBAL extern "C" __attribute__((global)) void
#define LANE (int)__builtin_amdgcn_workitem_id_x()
#define FUNCTION __attribute__((noinline, device)) int
GLOBAL search(int *out, const int *a, int count) {
    int found = -1;
    for (int i = 0; i < count; i++) {
        if (a[i] < 0) continue;
        if (a[i] == LANE) { found = i; break; }
        if (a[i] > 1000) { found = -2; break; }
    }
    out[LANE] = found;
}
GLOBAL collatz(int *out, const int *a, int count) {
    int n = LANE + 1, steps = 0;
    while (n != 1) {
        n = n & 1 ? 3 * n + 1 : n >> 1;
        if (++steps > 100) break;
        if (n > 1000) { steps = -1; break; }
    }
    out[LANE] = steps;
}
FUNCTION divisor(int a, int b) { return b ? divisor(b, a % b) : a; }
GLOBAL common(int *out, const int *a, int count) { out[LANE] = divisor(6 * LANE + 4, LANE + 3); }
FUNCTION fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
GLOBAL fib(int *out, const int *a, int count) { out[LANE] = fibonacci(LANE & 7); }
FUNCTION ackermann(int m, int n) {
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
GLOBAL ack(int *out, const int *a, int count) { out[LANE] = ackermann(LANE & 1, LANE & 3); }
GLOBAL largest(int *out, const int *a, int count) {
    int best = -1000, at;
    for (int i = 0; i < count; i++) {
        const int value = a[i] * (LANE - 7);
        if (value > best) { best = value; at = i; }
    }
    out[LANE] = at;
}
"""


def search(lane, a):
    for i, one in enumerate(a):
        if one == lane or one > 1000:
            return i if one == lane else -2
    return -1


def collatz(lane, a):
    n, steps = lane + 1, 0
    while n != 1:
        n, steps = (3 * n + 1 if n & 1 else n >> 1), steps + 1
        if steps > 100 or n > 1000:
            return steps if n <= 1000 or steps > 100 else -1
    return steps


@cache
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def ack(m, n):
    return n + 1 if m == 0 else ack(m - 1, 1) if n == 0 else ack(m - 1, ack(m, n - 1))


EXPECTED = {
    "search": search,
    "collatz": collatz,
    "common": lambda lane, a: math.gcd(6 * lane + 4, lane + 3),
    "fib": lambda lane, a: fib(lane & 7),
    "ack": lambda lane, a: ack(lane & 1, lane & 3),
    "largest": lambda lane, a: int(np.argmax(a * (lane - 7))),
}


@sampled(
    ("target", "level"),
    [("gfx908", "-O2"), ("gfx942", "-O1"), ("gfx942", "-O3"), ("gfx1100", "-O2"), ("gfx1201", "-O3")],
    2,
)
def test_loops_that_lanes_leave_at_different_turns_have_no_finding(target, level, tmp_path):
    kernels = mmacalc.load(compiled(LOOPS, target, tmp_path / "loops.hsaco", None, [level]))
    a = np.random.default_rng(0).integers(-5, 70, 48).astype(np.int32)
    a[40] = 2000
    for name, expected in EXPECTED.items():
        out = np.zeros(64, np.int32)
        report = mmacalc.launch(kernels[name], 1, 64, out, a, len(a))
        assert report.findings == (), name
        assert out.tolist() == [expected(lane, a) for lane in range(64)], name


MISSING = """
#define LANE (int)__builtin_amdgcn_workitem_id_x()
#define KERNEL(name, code) extern "C" __attribute__((global)) void name(int *out, int lane) { \\
    int r = 0; BEGIN code out[LANE] = r; }
#define BEGIN int missing; asm volatile("v_mov_b32 %0, v60" : "=v"(missing) :: "v60");
KERNEL(compared, if (LANE != lane) missing = 1; if (missing > 3) r = out[LANE + 64];)
KERNEL(any, if (LANE != lane) missing = 1; if (__builtin_amdgcn_ballot_w64(missing > 3)) r = out[64];)
KERNEL(carried, if (LANE != lane) missing = 1; r = (unsigned)missing + (unsigned)LANE < 5u;)
KERNEL(first, if (LANE != lane) missing = 1; r = __builtin_amdgcn_readfirstlane(missing);)
KERNEL(read, if (LANE != lane) missing = 1; r = __builtin_amdgcn_readlane(missing, 9);)
KERNEL(chosen, r = LANE == lane ? missing : 1;)
KERNEL(masked, if (LANE == lane) missing &= 6; r = LANE == lane ? missing & 4 : 0;)
KERNEL(added, if (LANE != lane) missing = 1;
       __hip_atomic_fetch_add(out + 64 + LANE, missing, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);)
KERNEL(expected, if (LANE != lane) missing = 1;
       __hip_atomic_compare_exchange_strong(out + 64 + LANE, &missing, 5, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                            __HIP_MEMORY_SCOPE_AGENT);)
KERNEL(hidden, if (LANE == lane) missing &= 6; r = LANE == lane ? missing & 9 : 0;)
#undef BEGIN
#define BEGIN unsigned missing, half; asm volatile("s_mov_b32 %0, s60" : "=s"(missing) :: "s60"); \\
    half = missing & 0xffff0000u | (unsigned)lane & 0xffffu;
KERNEL(word, r = __builtin_amdgcn_readfirstlane(half >> 16);)
KERNEL(low, r = __builtin_amdgcn_readfirstlane(half & 0xffff);)
KERNEL(branch, if (half & 0x100000) r = out[64];)
KERNEL(sure, if (half & 0x100001) r = out[64];)
"""


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_what_depends_on_a_value_that_nothing_wrote_is_found_and_nothing_else(target, tmp_path):
    kernels = mmacalc.load(compiled(MISSING, target, tmp_path / "missing.hsaco", None, ["-O1"]))
    always, never, zero, even, nine = {0, 4, 9}, set(), {0}, {0, 4}, {9}
    found_for = {
        "compared": always, "any": always, "carried": always, "first": zero, "read": nine, "chosen": always,
        "masked": always, "added": always, "expected": always,
        "hidden": never, "word": always, "low": never, "branch": always, "sure": even,
    }  # fmt: skip
    for name, lanes in found_for.items():
        for lane in sorted(always):
            report = mmacalc.launch(kernels[name], 1, 64, np.zeros(128, np.int32), lane)
            kinds = {one.kind for one in report.findings}
            assert kinds == ({"uninitialised"} if lane in lanes else set()), (name, lane, report)
            if name in ("compared", "carried", "chosen", "masked", "added", "expected"):
                assert report.findings[0].lanes == (lane,), (name, lane, report)


def check_random_loops(target, level, seed, count, folder):
    host, device = programs(seed, count)
    library = folder / f"host{seed}.so"  # a name of its own: libraries are loaded once by name
    command = [tool("clang"), "-x", "c++", "-O0", "-fwrapv", "-shared", "-fPIC", "-w", "-o", library, "-"]
    subprocess.run(command, input=host, text=True, check=True)
    kernels = mmacalc.load(compiled(device, target, folder / "device.hsaco", None, [level, "-fwrapv"]))
    p, functions = np.random.default_rng(seed).integers(-40, 40, 64).astype(np.int32), ctypes.CDLL(str(library))
    for number in range(count):
        expected, out = np.zeros((2, 64), np.int32)
        pointers = [ctypes.c_void_p(one.ctypes.data) for one in (expected, p)]
        functions[f"kernel{number}"](*pointers, 6)
        report = mmacalc.launch(kernels[f"kernel{number}"], 1, 64, out, p, 6)
        assert report.findings == (), (seed, number)
        assert np.array_equal(out, expected), (seed, number)


@sampled(
    ("target", "level", "seed", "count"),
    [("gfx908", "-O1", 3, 8), ("gfx942", "-O2", 3, 8), ("gfx1201", "-O3", 3, 8)],
    1,
    first=1,
)
def test_random_loops_give_what_they_give_on_the_host_without_a_finding(target, level, seed, count, tmp_path):
    check_random_loops(target, level, seed, count, tmp_path)


@sampled("target", ["gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250"], 0, whole=0)
def test_many_random_loops_give_what_they_give_on_the_host_without_a_finding(target, tmp_path):
    for seed in range(12):
        check_random_loops(target, f"-O{seed % 4}", seed, 12, tmp_path)


DUAL = """extern "C" __attribute__((global)) void k(int *out, float *other) {
    int i = __builtin_amdgcn_workitem_id_x(), at = 4 * i;
    asm volatile("v_mov_b32 v9, 4\\n v_dual_add_f32 v11, v60, v9 :: v_dual_lshlrev_b32 v10, 2, %0\\n"
                 "global_store_b32 v10, v9, %1\\n STORE" :: "v"(i), "s"(out), "s"(other)
                 : "v9", "v10", "v11", "v60", "memory"); }"""


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
def test_each_result_of_a_dual_instruction_is_undefined_only_by_its_own_sources(target, tmp_path):
    for store, expected in (("", []), ("global_store_b32 v10, v11, %2", ["it stores v60, which no instruction"])):
        code = compiled(DUAL.replace("STORE", store), target, tmp_path / "k.hsaco", None, ["-O2"])
        out, other = np.zeros(32, np.int32), np.zeros(32, np.float32)
        found = mmacalc.launch(mmacalc.load(code)["k"], 1, 32, out, other).findings
        assert [one.message.split(" has")[0] for one in found] == expected
        assert out.tolist() == [4] * 32
