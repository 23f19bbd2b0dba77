"""Kernels without one of their synchronisation statements: what some schedule makes wrong is named by the launch."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mmacalc
import recorded

TOOL: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[1] / "tools" / "ptx_deletions.py"))

HEAD = ".version 8.7\n.target sm_90a\n.address_size 64\n"
# Each thread copies two of its own words to shared memory in turn, and adds the word of the thread after the next 32.
COPIES = (
    HEAD
    + """
.visible .entry copies(.param .u64 x, .param .u64 z) {
  .reg .b64 %rd<6>; .reg .b32 %r<12>; .reg .pred %p<3>;
  .shared .align 16 .b8 buffer[1024];
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [z];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  mov.u32 %r2, buffer;
  mad.lo.u32 %r3, %r1, 4, %r2;
  add.u32 %r4, %r1, 32;
  and.b32 %r4, %r4, 127;
  mad.lo.u32 %r5, %r4, 4, %r2;
  mov.u32 %r6, 0;
  mov.u32 %r7, 0;
next:
  cp.async.ca.shared.global [%r3], [%rd4], 4;
  cp.async.commit_group;
  cp.async.wait_group 0;
  bar.sync 0;
  ld.shared.u32 %r8, [%r5];
  add.u32 %r6, %r6, %r8;
  bar.sync 0;
  add.s64 %rd4, %rd4, 512;
  add.u32 %r7, %r7, 1;
  setp.lt.u32 %p1, %r7, 2;
  @%p1 bra next;
  st.global.u32 [%rd5], %r6;
  ret;
}
"""
)
# One thread copies 512 bytes with cp.async.bulk for each of two rounds; all read, and arrive when they have.
PIPELINE = (
    HEAD
    + """
.visible .entry pipeline(.param .u64 x, .param .u64 z) {
  .reg .b64 %rd<6>; .reg .b32 %r<14>; .reg .pred %p<6>;
  .shared .align 128 .b8 buffer[512];
  .shared .align 8 .b8 full[8];
  .shared .align 8 .b8 empty[8];
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [z];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd5, %rd2, %rd3;
  mov.u32 %r2, buffer;
  mov.u32 %r3, full;
  mov.u32 %r4, empty;
  mad.lo.u32 %r5, %r1, 4, %r2;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r3], 1;
  @%p1 mbarrier.init.shared::cta.b64 [%r4], 128;
  bar.sync 0;
  mov.u32 %r6, 0;
  mov.u32 %r7, 0;
next:
  @!%p1 bra wait;
  xor.b32 %r9, %r7, 1;
full_again:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], %r9;
  @!%p2 bra full_again;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 512;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 512, [%r3];
  add.s64 %rd1, %rd1, 512;
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r3], %r7;
  @!%p3 bra wait;
  ld.shared.u32 %r8, [%r5];
  add.u32 %r6, %r6, %r8;
  mbarrier.arrive.shared::cta.b64 _, [%r4];
  add.u32 %r7, %r7, 1;
  setp.lt.u32 %p4, %r7, 2;
  @%p4 bra next;
  st.global.u32 [%rd5], %r6;
  ret;
}
"""
)


@pytest.mark.parametrize(("text", "turned"), [(COPIES, 32), (PIPELINE, 0)], ids=["cp.async", "cp.async.bulk"])
def test_a_right_kernel_has_no_finding_in_any_order_and_each_harmful_deletion_is_named(text: str, turned: int) -> None:
    x = np.arange(256, dtype=np.int32) ** 2

    def make() -> tuple[list[Any], list[np.ndarray]]:
        z = np.zeros(128, np.int32)
        return [x.copy(), z], [z]

    launching = TOOL["Launching"](text, 1, 128, 0, make)
    want = np.roll(x.reshape(2, 128).sum(0), -turned)
    assert (TOOL["outcome"](launching, text, None)[1][0] == want).all()
    wrong, deletions = TOOL["study"](launching)
    assert not wrong
    assert len(deletions) >= 4
    assert sum(one.harmful for one in deletions) >= 3
    assert not [one for one in deletions if one.harmful and not one.named]


PRODUCER = recorded.text("ptx/producer_sm_90a.ptx.gz")  # of producer.cu, by nvcc 13.0


def producer(steps: int) -> Any:
    """A producer warp that loads tiles by TMA and a warpgroup that multiplies them, through mbarriers of two stages."""
    rng, size = np.random.default_rng(0), 64 * steps
    a, b = (rng.standard_normal((64, size)).astype(np.float16) for _ in "AB")

    def make() -> tuple[list[Any], list[np.ndarray]]:
        d = np.zeros((64, 64), np.float32)
        return [*[mmacalc.tensor_map(x, (64, 64), swizzle="128B") for x in (a, b)], d, np.int32(size)], [d]

    return TOOL["Launching"](PRODUCER, 1, 160, 0, make), a.astype(float) @ b.astype(float).T


@pytest.mark.parametrize("schedule", [None, 0, 1, 2])
def test_a_producer_warp_with_tma_mbarriers_and_wgmma_is_right_in_every_order(schedule: int | None) -> None:
    launching, want = producer(5)
    named, (d,) = TOOL["outcome"](launching, PRODUCER, schedule)
    assert named == ()
    assert np.abs(d - want).max() < 1e-5 * np.abs(want).max()


def test_warpgroups_are_those_of_each_cta_where_its_threads_are_no_multiple_of_128() -> None:
    launching, want = producer(3)
    for schedule in (None, 1):
        named, (d,) = TOOL["outcome"](launching._replace(grid=2), PRODUCER, schedule)  # both write the same values
        assert named == ()
        assert np.abs(d - want).max() < 1e-5 * np.abs(want).max()


@pytest.mark.parametrize(("bit", "message"), [(32, "a stride of 1040 bytes"), (63, "has the swizzle 32B")])
def test_a_matrix_descriptor_that_does_not_fit_its_tensor_copy_is_named(bit: int, message: str) -> None:
    launching, _ = producer(2)
    change = np.int64(1 << 32) if bit == 32 else np.int64(-1 << 63)
    text = re.sub(r"\b46116862933053603\d\d\b", lambda found: str(np.int64(found[0]) ^ change), PRODUCER)
    assert text != PRODUCER
    arguments, _ = launching.make()
    kernel = next(iter(mmacalc.load(text).values()))
    found = mmacalc.launch(kernel, 1, 160, *arguments).findings
    assert any(one.kind == "descriptor" and message in one.message for one in found)


@pytest.mark.parametrize(
    ("statement", "kinds"),
    [
        ("mbarrier.init.shared::cta.b64 [%r32], 1;", {"mbarrier"}),
        ("bar.sync \t0;", {"mbarrier"}),
        ("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r95], %r132;", {"deadlock"}),
        ("wgmma.fence.sync.aligned;", {"fence"}),
        ("wgmma.commit_group.sync.aligned;", {"race"}),
        ("wgmma.wait_group.sync.aligned 0;", {"race"}),
        ("mbarrier.arrive.shared::cta.b64 _, [%r41];", {"deadlock"}),
    ],
)
def test_what_is_deleted_of_the_producer_kernel_is_named(statement: str, kinds: set[str]) -> None:
    launching, _ = producer(5)
    lines = PRODUCER.split("\n")
    text = TOOL["without"](lines, next(at for at, line in enumerate(lines) if line.strip() == statement))
    named, _ = TOOL["outcome"](launching, text, None)
    assert kinds <= set(named)


@pytest.mark.exhaustive
def test_each_harmful_deletion_of_the_producer_kernel_is_named() -> None:
    wrong, deletions = TOOL["study"](producer(4)[0])
    assert not wrong
    assert sum(one.harmful for one in deletions) >= 15
    assert not [one for one in deletions if one.harmful and not one.named]
