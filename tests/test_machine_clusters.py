"""Clusters of workgroups of gfx1250: where a workgroup is in its cluster, the cluster's barrier and what it orders, and
loads with a mask of workgroups. Kernels by clang 22, whose reading of the registers is the oracle."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import mmacalc
from hip_kernels import assembled, hip_kernels, hip_listing
from mmacalc import Error
from mmacalc.kernels.amd.tensor_copies import packed_descriptor

HEAD = """
typedef int v4i __attribute__((ext_vector_type(4)));
typedef int v8i __attribute__((ext_vector_type(8)));
#define KERNEL(N) extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(N, N))) void k
#define I ((int)__builtin_amdgcn_workitem_id_x())
#define GROUP(axis) ((int)__builtin_amdgcn_workgroup_id_##axis())
#define FLAT (GROUP(x) + 4 * (GROUP(y) + 4 * GROUP(z)))
#define MEET __builtin_amdgcn_s_cluster_barrier();
"""
PLACES = (
    HEAD
    + """KERNEL(32)(int *out) {
    const unsigned seen[] = {(unsigned)GROUP(x), (unsigned)GROUP(y), (unsigned)GROUP(z),
        __builtin_amdgcn_cluster_workgroup_id_x(),
        __builtin_amdgcn_cluster_workgroup_id_y(), __builtin_amdgcn_cluster_workgroup_id_z(),
        __builtin_amdgcn_cluster_id_x(), __builtin_amdgcn_cluster_id_y(), __builtin_amdgcn_cluster_id_z(),
        __builtin_amdgcn_cluster_workgroup_max_id_x(), __builtin_amdgcn_cluster_workgroup_max_id_y(),
        __builtin_amdgcn_cluster_workgroup_max_id_z(), __builtin_amdgcn_cluster_workgroup_flat_id(),
        __builtin_amdgcn_cluster_workgroup_max_flat_id()};
    if (I < 14) out[FLAT * 14 + I] = seen[I]; }"""
)
# Each workgroup stores a number, meets the others of its cluster, and adds up all of theirs.
SUM = (
    HEAD
    + """KERNEL(64)(int *data, int *out, int together) {
    data[GROUP(x) * 64 + I] = GROUP(x) * 64 + I;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    MEET
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    int sum = 0;
    for (int n = 0; n < together; ++n) sum += data[(GROUP(x) / together * together + n) * 64 + I];
    out[GROUP(x) * 64 + I] = sum; }"""
)
MASKED = (
    HEAD
    + """KERNEL(32)(const int *word, unsigned *after, int some) {
    static __attribute__((shared)) unsigned lds[64];
    const v4i first = {word[0], word[1], word[2], word[3]};
    for (int n = 0; n < 2; ++n) lds[n * 32 + I] = some; asm volatile("s_wait_dscnt 0");
    const v8i second = {word[4], word[5], word[6], word[7], word[8], word[9], word[10], word[11]};
    if (!some || GROUP(x) % 4 == 0) __builtin_amdgcn_tensor_load_to_lds_d2(first, second, 0);
    __builtin_amdgcn_s_wait_tensorcnt(0);
    if (some && GROUP(x) % 4) return;
    for (int n = 0; n < 2; ++n) after[GROUP(x) * 64 + n * 32 + I] = lds[n * 32 + I]; }"""
)


@pytest.fixture(scope="module")
def kernels():
    return {name: hip_kernels(text, "gfx1250")["k"] for name, text in {"places": PLACES, "sum": SUM}.items()}


def changed(source, old, new):
    """A kernel with lines of its assembly taken out or changed."""
    text = hip_listing(source, "gfx1250")
    assert old in text, old
    return text.replace(old, new)


@pytest.mark.parametrize("cluster", [(1,), (2, 1, 1), (4, 4), (1, 2, 2), (2, 2, 4)])
def test_a_workgroup_finds_its_place_in_its_cluster_as_clang_reads_it(kernels, cluster):
    out = np.full((4, 4, 4, 14), -1, np.int32)
    report = mmacalc.launch(kernels["places"], (4, 4, 4), 32, out, cluster=cluster)
    assert report.findings == ()
    size = (*cluster, 1, 1)[:3]
    for place in itertools.product(range(4), repeat=3):
        own = [at % part for at, part in zip(place, size)]
        flat = own[0] + size[0] * (own[1] + size[1] * own[2])
        outer = [at // part for at, part in zip(place, size)]
        wanted = [*place, *own, *outer, *(part - 1 for part in size), flat, size[0] * size[1] * size[2] - 1]
        assert out[place[2], place[1], place[0]].tolist() == wanted, place


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize("together", [1, 2, 4, 8])
def test_the_barrier_of_a_cluster_orders_what_its_workgroups_store(kernels, together, seed):
    data, out = np.full(512, -1, np.int32), np.zeros((8, 64), np.int32)
    report = mmacalc.launch(kernels["sum"], 8, 64, data, out, together, cluster=together, schedule=seed)
    assert report.findings == ()
    groups = np.arange(512).reshape(-1, together, 64).sum(axis=1)
    assert np.array_equal(out, groups.repeat(together, axis=0))


@pytest.mark.parametrize(
    ("old", "new", "kind", "words"),
    [
        ("s_barrier_wait -3", "s_nop 0", "race", "nothing orders the two"),
        ("s_wait_storecnt 0x0", "s_nop 0", "wait", "the barrier in between comes before that is waited for"),
    ],
)  # fmt: skip
def test_a_missing_barrier_or_wait_between_workgroups_of_a_cluster_is_named(old, new, kind, words):
    kernel = assembled(changed(SUM, old, new), "gfx1250")["k"]
    data, out = np.full(512, -1, np.int32), np.zeros((8, 64), np.int32)
    report = mmacalc.launch(kernel, 8, 64, data, out, 4, cluster=4)
    assert any(one.kind == kind and words in one.message for one in report.findings), report.findings


def test_workgroups_of_different_clusters_are_not_ordered(kernels):
    data, out = np.full(512, -1, np.int32), np.zeros((8, 64), np.int32)
    report = mmacalc.launch(kernels["sum"], 8, 64, data, out, 4, cluster=2)
    assert any(one.kind == "race" for one in report.findings)


def test_a_cluster_whose_barrier_one_workgroup_never_signals_is_named():
    text = changed(SUM, "s_barrier_signal -3", "s_nop 0")
    data, out = np.full(512, -1, np.int32), np.zeros((8, 64), np.int32)
    with pytest.raises(Error, match=r"waits for ever at the barrier .* of its cluster never signal it"):
        mmacalc.launch(assembled(text, "gfx1250")["k"], 8, 64, data, out, 4, cluster=4)


def test_a_workgroup_that_signals_the_barrier_of_its_cluster_by_each_wave_is_named():
    text = changed(SUM, "s_barrier_signal_isfirst -1", "s_barrier_signal -1\n\ts_cmp_eq_u32 0, 0")
    data, out = np.full(512, -1, np.int32), np.zeros((8, 64), np.int32)
    report = mmacalc.launch(assembled(text, "gfx1250")["k"], 8, 64, data, out, 4, cluster=4)
    assert any(one.kind == "barrier" and "counts one signal of each" in one.message for one in report.findings)


@pytest.mark.parametrize("mask", [0, 0b1, 0b11, 0b1111])
def test_a_load_with_a_mask_gives_each_workgroup_what_it_loads(mask):
    source = np.arange(64, dtype=np.uint32)
    kernel = hip_kernels(MASKED, "gfx1250")["k"]
    descriptor = np.frombuffer(packed_descriptor(mmacalc.address_of(source), 4, [64], [1], [64], (0, 0)), np.int32)
    descriptor = np.append(descriptor, np.zeros(12 - len(descriptor), np.int32))
    descriptor[4] |= mask
    after = np.zeros((4, 64), np.uint32)
    report = mmacalc.launch(kernel, 4, 32, descriptor, after, 0, cluster=4)
    assert np.array_equal(after, np.broadcast_to(source, (4, 64)))
    assert report.findings == ()
    alike = mask in (0, 0b1111)
    assert alike == (not any("names the workgroups" in one.message for one in report.notes))
    descriptor[4] |= 0b11
    with pytest.raises(Error, match=r"names the workgroups .* which has 1 workgroup"):
        mmacalc.launch(kernel, 4, 32, descriptor, after, 0)


def test_a_mask_that_names_workgroups_which_do_not_load_is_noted():
    source, after = np.arange(64, dtype=np.uint32), np.zeros((4, 64), np.uint32)
    descriptor = np.frombuffer(packed_descriptor(mmacalc.address_of(source), 4, [64], [1], [64], (0, 0)), np.int32)
    descriptor = np.append(descriptor, np.zeros(12 - len(descriptor), np.int32))
    descriptor[4] |= 0b1111
    report = mmacalc.launch(hip_kernels(MASKED, "gfx1250")["k"], 4, 32, descriptor, after, 1, cluster=4)
    assert any("0xf of its cluster, and those that make it are 0x1" in one.message for one in report.notes)


def test_what_is_no_cluster_is_refused(kernels):
    out = np.zeros(4 * 4 * 4 * 14, np.int32)
    for cluster, words in ((3, "not a multiple"), ((4, 4, 4), "at most 16"), (0, "from 1 up")):
        with pytest.raises(Error, match=words):
            mmacalc.launch(kernels["places"], (4, 4, 4), 32, out, cluster=cluster)
    other = hip_kernels(HEAD + "KERNEL(32)(int *out) { out[I] = I; }", "gfx1201")["k"]
    with pytest.raises(Error, match="gfx1201 has no clusters"):
        mmacalc.launch(other, 4, 32, out, cluster=2)
