"""Clusters, ends of CTAs and Tensor Memory: what is not waited for, freed or started is named; right kernels have no
finding."""

from __future__ import annotations

import numpy as np
import pytest

from mmacalc.kernels.ptx.kernel import PtxKernel
from mmacalc.kernels.ptx.launch import Launch
from mmacalc.kernels.ptx.report import PtxReport
from mmacalc.ptx.reader import read

HEAD = """.version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out)
.reqnctapercluster 2, 1, 1
{
  .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<6>;
  .shared .align 8 .b64 bar;
  .shared .align 4 .b32 value;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %cluster_ctarank;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, value;
"""
MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"


def launched(body: str, grid: int = 2, block: int = 32, schedule: int | None = None) -> tuple[PtxReport, np.ndarray]:
    module, out = read(HEAD + body + "\nret;\n}"), np.zeros(64, np.int32)
    return Launch(PtxKernel(module, "k"), grid, block, [out], schedule=schedule).run(), out


def kinds(report: PtxReport) -> list[str]:
    return [finding.kind for finding in report.findings]


READ_PEER = """
  xor.b32 %r4, %r1, 1;
  st.shared.u32 [value], %r1;
  BEFORE
  mapa.shared::cluster.u32 %r5, %r3, %r4;
  ld.shared::cluster.u32 %r6, [%r5];
  AFTER
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd2, %rd2, %rd1;
  st.global.u32 [%rd2], %r6;
"""


@pytest.mark.parametrize("schedule", [None, 1])
@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (MEET, MEET, ""),
        (MEET, "", "does not wait for that before it ends: a barrier of the cluster must come after"),
        ("", MEET, "may not have started: a barrier of the cluster must come before"),
    ],
)
def test_the_memory_of_another_cta_is_touched_between_two_barriers(
    before: str, after: str, message: str, schedule: int | None
) -> None:
    body = READ_PEER.replace("BEFORE", before).replace("AFTER", after)
    report, out = launched(body, schedule=schedule)
    assert out[:2].tolist() == [1, 0] or message
    assert any(message in finding.message for finding in report.findings) if message else not report.findings


def test_the_leader_of_a_pair_is_found_by_one_bit_of_an_address() -> None:
    report, out = launched(
        "st.shared.u32 [value], %r1;" + MEET + "and.b32 %r5, %r3, 0xFEFFFFFF; ld.shared::cluster.u32 %r6, [%r5];"
        "getctarank.shared::cluster.u32 %r7, %r3; mad.lo.s32 %r6, %r7, 10, %r6;"
        + MEET + "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd2, %rd1; st.global.u32 [%rd2], %r6;"
    )  # fmt: skip
    assert not report.findings
    assert out[:2].tolist() == [0, 10]


ALLOCATE = """
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [value], 32;
  bar.sync 0;
  ld.shared.u32 %r4, [value];
"""
FREE = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 32;\n"
LOAD = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r4], {%r2}; tcgen05.wait::st.sync.aligned;\n" + (
    "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r5}, [%r4];\n"
)
WAIT = "tcgen05.wait::ld.sync.aligned;\n"


def test_columns_that_are_not_freed_are_named() -> None:
    report, _ = launched(ALLOCATE)
    assert kinds(report) == ["tensor memory"]
    assert "never freed" in report.findings[0].message
    assert report.findings[0].times == 2
    assert not launched(ALLOCATE + FREE)[0].findings


FILL = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r4], {%r2}; tcgen05.wait::st.sync.aligned;\n"


@pytest.mark.parametrize(
    ("order", "expected"),
    [("bar.sync 0;", []), ("", ["race"])],
    ids=["a barrier", "none"],
)
def test_columns_are_freed_after_all_warps_have_read_them(order: str, expected: list[str]) -> None:
    """Two warps allocate, store and load their lanes; the first frees the columns."""
    report, _ = launched(
        "shr.u32 %r7, %r2, 5; setp.eq.u32 %p1, %r7, 0; @!%p1 bra SECOND;\n"
        + "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [value], 32;\nSECOND: bar.sync 0;\n"
        "ld.shared.u32 %r4, [value]; shl.b32 %r8, %r7, 21; add.u32 %r9, %r4, %r8; mov.u32 %r4, %r9;\n"
        + FILL + "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r5}, [%r4];\n" + WAIT + order
        + "\n@!%p1 bra DONE; ld.shared.u32 %r4, [value];\n" + FREE + "DONE: ", block=64,
    )  # fmt: skip
    assert sorted({*kinds(report)}) == expected
    assert all("warp 1 may still read" in one.message or "another thread" in one.message for one in report.findings)


def test_registers_of_a_load_that_are_read_before_its_wait_are_a_note_and_no_finding() -> None:
    use = "add.s32 %r6, %r5, 1; add.s32 %r7, %r5, %r6;\n"
    early, right = (launched(ALLOCATE + LOAD + order + FREE)[0] for order in (use + WAIT, WAIT + use))
    assert not early.findings
    assert not right.findings
    assert not right.notes
    assert len(early.notes) == 1
    assert "2 statements" in early.notes[0]
    assert "before tcgen05.wait::ld" in str(early)


def test_lanes_that_write_different_values_to_one_place_are_a_note_and_warps_a_race() -> None:
    report, _ = launched("st.shared.u32 [value], %r2;")
    assert not report.findings
    assert "lanes of a warp write different values to one place" in report.notes[0]
    assert kinds(launched("st.shared.u32 [value], %r2;", block=64)[0]) == ["race"]


def test_a_phase_that_was_overtaken_is_named_in_the_deadlock() -> None:
    wait = "mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], {}; @!%p1 bra L{};\n"
    body = (
        "setp.eq.u32 %p2, %r2, 0; @%p2 mbarrier.init.shared::cta.b64 [bar], 1; bar.sync 0;\n"
        "@!%p2 bra END;\n"
        + "".join(
            "mbarrier.arrive.shared::cta.b64 _, [bar];\n" + ("" if turn else "L0: " + wait.format(0, 0))
            for turn in range(3)
        )
        + "L1: " + wait.format(1, 1)
        + "END:"
    )  # fmt: skip
    report, _ = launched(body)
    assert kinds(report) == ["deadlock"]
    assert "last waited for phase 0" in report.findings[0].message
    assert "phases 1 and 2 are over" in report.findings[0].message


@pytest.mark.parametrize(("fence", "expected"), [("fence.mbarrier_init.release.cluster;", []), ("", ["mbarrier"])])
def test_an_mbarrier_is_seen_in_the_cluster_after_its_fence_and_a_relaxed_arrival(
    fence: str, expected: list[str]
) -> None:
    report, _ = launched(
        "setp.eq.u32 %p2, %r2, 0; @%p2 mbarrier.init.shared::cta.b64 [bar], 1;\n"
        + fence + "barrier.cluster.arrive.relaxed; barrier.cluster.wait;\n"
        "xor.b32 %r4, %r1, 1; mov.u32 %r3, bar; mapa.shared::cluster.u32 %r5, %r3, %r4;\n"
        "setp.eq.u32 %p3, %r2, 1; @%p3 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];\n" + MEET
    )  # fmt: skip
    assert kinds(report) == expected


RELAXED = "barrier.cluster.arrive.relaxed; barrier.cluster.wait;"
"""It orders no memory, but who has come to it has executed what stands before."""


@pytest.mark.parametrize(("order", "expected"), [("bar.sync 0;", []), (RELAXED, []), ("", ["mbarrier"])])
def test_an_mbarrier_is_invalidated_when_nobody_uses_it_any_more(order: str, expected: list[str]) -> None:
    report, _ = launched(
        "setp.eq.u32 %p2, %r2, 0; @%p2 mbarrier.init.shared::cta.b64 [bar], 64; bar.sync 0;\n"
        "mbarrier.arrive.shared::cta.b64 _, [bar];\n"
        "AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0; @!%p1 bra AGAIN;\n"
        + order + "@%p2 mbarrier.inval.shared::cta.b64 [bar];", block=64,
    )  # fmt: skip
    assert kinds(report) == expected
    assert all("may still use" in one.message for one in report.findings)


CLUSTER_GLOBAL = """
  mad.lo.u32 %r6, %r1, 4, 0;
  cvt.u64.u32 %rd2, %r6;
  add.u64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ORDER
  xor.b32 %r4, %r1, 1;
  mad.lo.u32 %r6, %r4, 4, 0;
  cvt.u64.u32 %rd2, %r6;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.u32 %r5, [%rd3];
  add.u32 %r5, %r5, 1;
  st.global.u32 [%rd1+128], %r5;
"""


@pytest.mark.parametrize(
    ("order", "racing"),
    [
        (MEET, False),
        ("bar.sync 0;", True),
        ("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;", True),
        ("fence.acq_rel.cluster; barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;", False),
    ],
    ids=["barrier.cluster", "bar.sync", "relaxed", "a fence and relaxed"],
)
def test_a_barrier_of_the_cluster_orders_global_memory(order: str, racing: bool) -> None:
    report, _ = launched(CLUSTER_GLOBAL.replace("ORDER", order), block=1)
    found = [one for one in report.findings if one.text.startswith("ld.global")]
    assert bool(found) == racing
