"""Relaxed arrivals and waits: fences around them order memory, and nothing else does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import mmacalc

KERNEL = """.version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out) .explicitcluster .reqnctapercluster 1 {{
 .reg .b32 %r<9>; .reg .b64 %d<3>; .reg .pred %p<4>; .shared .b32 x; .shared .align 8 .b64 bar;
 ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 32;
 @%p1 mbarrier.init.shared.b64 [bar], 1;
 bar.sync 0;
 @!%p1 bra B; st.shared.b32 [x], 7; {release}
 {arrive}
B: @!%p2 bra C;
W: {wait} @!%p3 bra W;
 {acquire}
 ld.shared.b32 %r2, [x]; st.global.b32 [%d1], %r2;
C: {end}ret; }}
"""
RELEASES = {"": False, "fence.acquire.cluster;": False, "fence.release.cluster;": True, "fence.acq_rel.cta;": True,
            "fence.sc.cta;": True, "fence.release.sync_restrict::shared::cta.cluster;": True,
            "tcgen05.fence::before_thread_sync;": True, "tcgen05.fence::after_thread_sync;": False}  # fmt: skip
ACQUIRES = {"": False, "fence.release.cluster;": False, "fence.acquire.cluster;": True, "fence.acq_rel.cta;": True,
            "fence.sc.cta;": True, "fence.acquire.sync_restrict::shared::cluster.cluster;": True,
            "tcgen05.fence::after_thread_sync;": True, "tcgen05.fence::before_thread_sync;": False}  # fmt: skip
WEAK = ("mbarrier.arrive.relaxed.cluster.shared.b64 _, [bar];",
        "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p3, [bar], 0;")  # fmt: skip
STRONG = "mbarrier.arrive.shared.b64 _, [bar];", "mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;"


def kinds(**parts: str) -> list[str]:
    out = np.zeros(1, np.uint32)
    report = mmacalc.launch(mmacalc.load(KERNEL.format(**{"end": "", **parts}))["k"], 1, 64, out)
    assert out[0] == 7
    return [found.kind for found in report.findings]


def test_a_relaxed_arrival_releases_what_a_fence_has_and_a_relaxed_wait_learns_it_at_a_fence() -> None:
    for (release, makes), (acquire, learns) in itertools.product(RELEASES.items(), ACQUIRES.items()):
        for arrive, wait in itertools.product((WEAK[0], STRONG[0]), (WEAK[1], STRONG[1])):
            ordered = (makes or arrive == STRONG[0]) and (learns or wait == STRONG[1])
            found = kinds(release=release, acquire=acquire, arrive=arrive, wait=wait)
            assert found == ["race"] * (not ordered), (release, arrive, wait, acquire)


@pytest.mark.parametrize("fence", RELEASES)
def test_a_fence_after_the_store_is_wanted_not_one_before_it(fence: str) -> None:
    late = {"arrive": f"{WEAK[0]} {fence}", "wait": WEAK[1], "acquire": "fence.acq_rel.cta;"}
    assert kinds(release="", **late) == ["race"]
