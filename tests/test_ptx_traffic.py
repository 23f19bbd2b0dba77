"""Bank conflicts and sectors that the report of a PTX launch counts, against counts of sets by hand."""

import json

import numpy as np
import pytest

import mmacalc

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
# Thread i reads at byte at[i] of shared or global memory, unless that is negative.
READS = (
    HEAD
    + """
.file 1 "reads.cu"
.visible .entry k(.param .u64 at, .param .u64 x) {
  .reg .b64 %rd<6>; .reg .b32 %r<12>; .reg .b16 %h<4>; .reg .pred %p<3>;
  .shared .align 16 .b8 tile[8192];
  ld.param.u64 %rd1, [at];
  ld.param.u64 %rd2, [x];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd3, %rd1, %rd3;
  ld.global.s32 %r2, [%rd3];
  setp.lt.s32 %p1, %r2, 0;
  @%p1 bra done;
  .loc 1 7 3
  ACCESS;
done:
  ret;
}
"""
)
OF_SHARED = "mov.u32 %r3, tile; add.u32 %r3, %r3, %r2; {} [%r3]"
OF_GLOBAL = "cvt.u64.u32 %rd4, %r2; add.s64 %rd4, %rd2, %rd4; {} [%rd4]"
LOADS = {
    1: "ld.{}.u8 %h1,", 4: "ld.{}.b32 %r4,", 8: "ld.{}.v2.b32 {{%r4, %r5}},",
    16: "ld.{}.v4.b32 {{%r4, %r5, %r6, %r7}},",
}  # fmt: skip


def launched(access, at):
    text = READS.replace("ACCESS", access)
    kernel = mmacalc.load(text)["k"]
    return mmacalc.launch(kernel, 1, len(at), at.astype(np.int32), np.zeros(8192, np.uint8))


def addresses(rng, size, threads):
    """Some patterns: anywhere, in a row, far apart, few, one."""
    lanes = np.arange(threads)
    yield rng.integers(0, 8192 // size, threads) * size
    yield lanes % 32 * size
    yield lanes * size * 3 % 4096
    yield lanes * 128 % 4096
    yield np.where(rng.random(threads) < 0.3, lanes % 32 * size, -1)
    yield np.full(threads, 5 * size)


def banks(lanes, size):
    """Cycles and ideal of a warp's read: half and quarter warps where a thread reads 8 and 16 bytes, merged in pairs
    where neighbours read the same (Nsight Compute on A100)."""
    served = [lanes[first : first + 128 // max(4, size)] for first in range(0, 32, 128 // max(4, size))]
    if size > 4 and any(
        all(a < 0 or lanes[i ^ flip] in (-1, a) for i, a in enumerate(lanes)) for flip in (1, 2)
    ):  # fmt: skip
        served = [np.concatenate(served[at : at + 2]) for at in range(0, len(served), 2)]
    words = [{(a + byte) // 4 for a in part if a >= 0 for byte in range(0, size, 4)} for part in served]
    busiest = [max(sum(word % 32 == bank for word in part) for bank in range(32)) for part in words if part]
    return sum(busiest), len(busiest)


@pytest.mark.parametrize("threads", [96, 40])
@pytest.mark.parametrize("size", LOADS)
def test_bank_conflicts_are_those_of_the_words_in_each_bank(size, threads):
    for at in addresses(np.random.default_rng(size), size, threads):
        report = launched(OF_SHARED.format(LOADS[size].format("shared")), at)
        whole = np.r_[at, np.full(-threads % 32, -1)].reshape(-1, 32)
        want = [banks(lanes, size) for lanes in whole if (lanes >= 0).any()]
        (found,) = report.shared_accesses
        assert (found.cycles, found.ideal, found.requests) == (*np.sum(want, 0), len(want))
        assert (found.access, found.bytes, found.conflicts) == ("read", size, found.cycles - found.ideal)
        assert str(found.location) == "reads.cu:7"


@pytest.mark.parametrize("threads", [96, 40])
@pytest.mark.parametrize("size", LOADS)
def test_sectors_are_those_that_a_warp_touches(size, threads):
    for at in addresses(np.random.default_rng(size), size, threads):
        report = launched(OF_GLOBAL.format(LOADS[size].format("global")), at)
        (found,) = [site for site in report.global_accesses if site.location]
        warps = [at[first : first + 32] for first in range(0, threads, 32)]
        kept = [lanes[lanes >= 0] for lanes in warps if (lanes >= 0).any()]
        assert found.requests == len(kept)
        assert found.sectors == sum(len(set(lanes // 32)) for lanes in kept)
        assert found.ideal == sum(-(-len(set(lanes)) * size // 32) for lanes in kept)


@pytest.mark.parametrize(("stride", "conflicts"), [(64, 12), (128, 28), (80, 0), (144, 0)])
def test_rows_of_ldmatrix_are_read_eight_at_a_time(stride, conflicts):
    access = OF_SHARED.format("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7},")
    report = launched(access, np.arange(32) * stride)
    (found,) = report.shared_accesses
    assert (found.access, found.conflicts, found.ideal) == ("ldmatrix", conflicts, 4)


def test_the_report_names_what_is_slow_and_its_place():
    lanes = np.arange(32)
    report = launched(OF_SHARED.format(LOADS[4].format("shared")), lanes * 128)
    assert "shared memory: 32 cycles, 31 of them bank conflicts" in str(report)
    assert "(reads.cu:7): ld.shared.b32 %r4, [%r3]: 31 conflicts in 1 x read of 4 bytes a thread" in str(report)
    plain = json.loads(json.dumps(report.as_dict()))
    assert plain["shared_accesses"][0]["conflicts"] == 31
    assert plain["shared_accesses"][0]["location"] == "reads.cu:7"
    report = launched(OF_GLOBAL.format(LOADS[4].format("global")), lanes * 128)
    assert "32.0 sectors each where 4.0 would do, in 1 x read of 4 bytes a thread" in str(report)
    assert json.loads(json.dumps(report.as_dict()))["global_accesses"][0]["excess"] == 28
