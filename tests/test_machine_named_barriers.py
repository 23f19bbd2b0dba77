"""Named barriers of gfx1250, the first signal of a cluster's barrier, and the loads that a cluster's workgroups share:
kernels by clang 22, whose builtins set M0. What they mean is LLVM's (AMDGPU Execution Synchronization)."""

from __future__ import annotations

import numpy as np
import pytest

import mmacalc
from hip_kernels import assembled, hip_kernels, hip_listing
from mmacalc import Error

HEAD = """
typedef int v4i __attribute__((ext_vector_type(4)));
typedef __attribute__((address_space(1))) int Word;
typedef __attribute__((address_space(3))) int Local;
typedef __attribute__((address_space(1))) v4i Words;
#define KERNEL(N) extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(N, N))) void k
#define I ((int)__builtin_amdgcn_workitem_id_x())
#define GROUP ((int)__builtin_amdgcn_workgroup_id_x())
#define ALL __builtin_amdgcn_s_barrier_signal(-1); __builtin_amdgcn_s_barrier_wait(-1);
static __attribute__((shared)) int lds[256];
static __attribute__((shared)) __amdgpu_named_workgroup_barrier_t bar[2];
"""
# Waves 2n and 2n + 1 exchange what they have, `rounds` times; wave 0 first spins, so that the pairs are apart.
PAIRS = (
    HEAD
    + """KERNEL(128)(int *out, int rounds) {
    const int pair = __builtin_amdgcn_readfirstlane(I / 64);
    __builtin_amdgcn_s_barrier_init(&bar[0], 2);
    __builtin_amdgcn_s_barrier_init(&bar[1], 2);
    ALL
    __builtin_amdgcn_s_barrier_join(&bar[pair]);
    int value = I;
    for (int n = 0; n < rounds * (pair + 1); ++n) {
        lds[n % 2 * 128 + I] = value;
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __builtin_amdgcn_s_barrier_signal_var(&bar[pair], 2);
        __builtin_amdgcn_s_barrier_wait(1);
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
        value = lds[n % 2 * 128 + (I ^ 32)] + 1;
    }
    out[I] = value; }"""
)
# Wave 0 signals what waves 1 to 3 wait for, of which the last leaves.
LEAVES = (
    HEAD
    + """KERNEL(128)(int *out) {
    if (I / 32 == 0) { __builtin_amdgcn_s_barrier_init(&bar[0], 4); }
    ALL
    __builtin_amdgcn_s_barrier_join(&bar[0]);
    if (I / 32 == 0) lds[0] = 7;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    ALL
    if (I / 32 == 3) { __builtin_amdgcn_s_barrier_leave(0); out[I] = 1; return; }
    __builtin_amdgcn_s_barrier_signal_var(&bar[0], 0);
    __builtin_amdgcn_s_barrier_wait(1);
    out[I] = lds[0]; }"""
)
FIRST = (
    HEAD
    + """KERNEL(32)(int *out) {
    const bool first = __builtin_amdgcn_s_barrier_signal_isfirst(-3);
    __builtin_amdgcn_s_barrier_wait(-3);
    const bool second = __builtin_amdgcn_s_barrier_signal_isfirst(-3);
    __builtin_amdgcn_s_barrier_wait(-3);
    out[GROUP * 32 + I] = first + 2 * second; }"""
)
SHARED = (
    HEAD
    + """KERNEL(64)(int *out, Word *in, int mask) {
    const int one = __builtin_amdgcn_cluster_load_b32(in + I, 0, mask);
    const v4i four = __builtin_amdgcn_cluster_load_b128((Words *)in + I, 0, mask);
    __builtin_amdgcn_cluster_load_async_to_lds_b32(in + 64 + I, (Local *)lds + I, 0, 0, mask);
    __builtin_amdgcn_s_wait_asynccnt(0);
    out[GROUP * 64 + I] = one + four[3] + lds[I]; }"""
)


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_pairs_of_waves_meet_at_a_barrier_of_their_own(seed):
    kernel, out = hip_kernels(PAIRS, "gfx1250")["k"], np.zeros(128, np.int32)
    report = mmacalc.launch(kernel, 1, 128, out, 5, schedule=seed)
    lanes = np.arange(128)
    rounds = np.where(lanes < 64, 5, 10)
    assert np.array_equal(out, (lanes ^ 32 * (rounds % 2)) + rounds)
    assert report.findings == ()
    assert not any("LDS" in one.message for one in report.notes if one.kind == "not checked")
    across = hip_kernels(PAIRS.replace("(I ^ 32)", "(I ^ 64)"), "gfx1250")["k"]  # of the other pair
    assert "race" in {one.kind for one in mmacalc.launch(across, 1, 128, out, 5, schedule=seed).findings}


@pytest.mark.parametrize(
    ("line", "words"),
    [("s_barrier_signal m0", "accesses without a barrier"), ("s_wait_dscnt 0x0", "its barrier comes before")],
)
def test_a_named_barrier_that_is_missing_or_comes_too_early_is_found(line, words):
    text = hip_listing(PAIRS, "gfx1250")
    assert line in text, text
    at = text.index("s_barrier_join")
    changed = text[:at] + text[at:].replace(line, "s_nop 0")
    if "barrier" in line:
        changed = changed.replace("s_barrier_wait 1", "s_nop 0")
    report = mmacalc.launch(assembled(changed, "gfx1250")["k"], 1, 128, np.zeros(128, np.int32), 5)
    assert any(words in one.message for one in report.findings), report.findings


def test_a_wave_that_leaves_is_a_member_less_and_a_barrier_needs_members():
    out = np.zeros(128, np.int32)
    report = mmacalc.launch(hip_kernels(LEAVES, "gfx1250")["k"], 1, 128, out)
    assert report.findings == ()
    assert out.tolist() == [7] * 96 + [1] * 32
    text = hip_listing(LEAVES, "gfx1250").replace("s_barrier_leave", "s_nop 0")
    with pytest.raises(Error, match=r"waits for ever at the barrier .* has 4 members and 3 signals"):
        mmacalc.launch(assembled(text, "gfx1250")["k"], 1, 128, out)
    text = hip_listing(LEAVES, "gfx1250").replace("s_barrier_init m0", "s_nop 0")
    with pytest.raises(Error, match=r"has no (number of members|member that could leave)"):
        mmacalc.launch(assembled(text, "gfx1250")["k"], 1, 128, out)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"s_barrier_join m0": "s_nop 0"}, "has joined none"),
        ({"s_barrier_join m0": "s_barrier_join 17"}, "barrier 17 is not covered"),
        ({"s_barrier_join m0": "s_wakeup_barrier 1"}, "s_wakeup_barrier"),
        ({"s_barrier_join m0": "s_get_barrier_state s20, 1"}, "s_get_barrier_state"),
        ({"s_barrier_wait 1": "s_barrier_wait -2"}, "barrier of the trap handler"),
    ],
)
def test_what_is_undefined_or_unknown_of_named_barriers_is_refused(changes, words):
    text = hip_listing(PAIRS, "gfx1250")
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    with pytest.raises(Error, match=words):
        mmacalc.launch(assembled(text, "gfx1250")["k"], 1, 128, np.zeros(128, np.int32), 5)


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_one_workgroup_of_a_cluster_is_the_first_to_signal_its_barrier(seed):
    out = np.zeros((8, 32), np.int32)
    kernel = hip_kernels(FIRST, "gfx1250")["k"]
    report = mmacalc.launch(kernel, 8, 32, out, cluster=4, schedule=seed)
    assert report.findings == ()
    firsts = out.reshape(2, 4, 32)
    assert (firsts == firsts[..., :1]).all()
    for bit in (1, 2):
        assert ((firsts[..., 0] & bit) != 0).sum(axis=1).tolist() == [1, 1]
    with pytest.raises(Error, match="without a cluster"):
        mmacalc.launch(kernel, 8, 32, out)


@pytest.mark.parametrize("mask", [0, 0b1111, 0b11])
def test_a_cluster_load_gives_each_workgroup_what_it_loads(mask):
    kernel, source = hip_kernels(SHARED, "gfx1250")["k"], np.arange(256, dtype=np.int32)
    out = np.zeros((4, 64), np.int32)
    report = mmacalc.launch(kernel, 4, 64, out, source, mask, cluster=4)
    assert np.array_equal(out, np.broadcast_to(np.arange(64) + 4 * np.arange(64) + 3 + 64 + np.arange(64), (4, 64)))
    assert report.findings == ()
    assert any("names the workgroups" in one.message for one in report.notes) == (mask == 0b11)
