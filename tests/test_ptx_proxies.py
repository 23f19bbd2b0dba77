"""Global memory by two proxies: what threads write by the generic proxy, copies read and overwrite by the async proxy.

Between both a proxy fence must lie, on the path of causality (PTX ISA 8.6, Proxies; 8.9.5, Causality order; 9.7.13.5,
fence.proxy.async). Where on the path it stands makes no difference: in the thread that writes, in another of its CTA,
or behind the acquire.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mmacalc
from mmacalc.kernels.ptx import launch as launches

THREADS, BYTES = 320, 1280
GROUP = "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;"
COMPLETE = "mbarrier::complete_tx::bytes"
COPIES = {
    "bulk load": f"cp.async.bulk.shared::cluster.global.{COMPLETE} [%r3], [%rd2], {BYTES}, [full];",
    "tensor load": f"cp.async.bulk.tensor.2d.shared::cluster.global.{COMPLETE} [%r3], [%rd1, {{0, 0}}], [full];",
    "bulk store": f"cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r3], {BYTES};\n{GROUP}",
    "tensor store": f"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {{0, 0}}], [%r3];\n{GROUP}",
    "bulk add": f"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd2], [%r3], {BYTES};\n{GROUP}",
    "tensor add": f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%rd1, {{0, 0}}], [%r3];\n{GROUP}",
}
BEFORE = {
    "write": "st.global.u32 [%rd5], %r1;",
    "same": "st.global.u32 [%rd5], %r5;",  # as the copy stores
    "add": "red.global.add.u32 [%rd5], %r1;",
    "read": "ld.global.u32 %r6, [%rd5];\nst.shared.u32 [%r4], %r6;\nfence.proxy.async.shared::cta;",
}
KERNEL = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 w, .param .u64 flag)
{
    .reg .pred %p<5>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<6>;
    .shared .align 128 .b8 tile[1280];
    .shared .align 8 .b64 full;
    mov.b64 %rd1, map;
    cvta.param.u64 %rd1, %rd1;
    ld.param.u64 %rd2, [w];
    ld.param.u64 %rd3, [flag];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    setp.eq.u32 %p1, %r1, 0;
    setp.eq.u32 %p2, %r2, 0;
    mov.u32 %r3, tile;
    mad.lo.u32 %r4, %r1, 4, %r3;
    mul.wide.u32 %rd4, %r1, 4;
    add.u64 %rd5, %rd4, %rd2;
    add.u32 %r5, %r1, 7;
    @%p1 mbarrier.init.shared::cta.b64 [full], 1;
    @%p1 fence.mbarrier_init.release.cluster;
    st.shared.u32 [%r4], %r5;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @!%p2 bra READER;
    BEFORE
    WRITER
    bar.sync 0;
    ONE_CTA
    @!%p1 bra DONE;
    RELEASER
    st.release.gpu.global.u32 [%rd3], 1;
    bra DONE;
READER:
    @!%p1 bra MET;
POLL:
    ld.acquire.gpu.global.u32 %r7, [%rd3];
    setp.eq.u32 %p3, %r7, 0;
    @%p3 bra POLL;
    ACQUIRER
MET:
    bar.sync 0;
COPY:
    @!%p1 bra DONE;
    COPIER
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], TX;
    THE_COPY
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p4, [full], 0;
    @!%p4 bra WAIT;
    ld.shared.u32 %r8, [tile];
    st.shared.u32 [tile], %r8;
DONE:
    ret;
}
"""


def findings(copy: str, before: str = "write", ctas: int = 1, **fences: str) -> list[tuple[str, str, str]]:
    """Of a launch: kind, statement, the other statement. One CTA meets at its barrier, a second one by a flag."""
    text = KERNEL.replace("THE_COPY", COPIES[copy]).replace("TX", str(BYTES if "load" in copy else 0))
    places = {"WRITER": "", "RELEASER": "", "ACQUIRER": "", "COPIER": "", **fences}
    for place, fence in {**places, "BEFORE": BEFORE[before], "ONE_CTA": "bra COPY;" if ctas == 1 else ""}.items():
        text = text.replace(f"    {place}\n", f"    {fence}\n")
    w, flag = np.zeros((2, THREADS // 2), np.uint32), np.zeros(1, np.uint32)
    report = mmacalc.launch(mmacalc.load(text)["k"], ctas, THREADS, mmacalc.tensor_map(w, w.shape), w, flag)
    return [(one.kind, one.text, one.other_text) for one in report.findings]


@pytest.mark.parametrize("resident", [1, 2])
@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_needs_a_proxy_fence_after_a_generic_write(copy: str, resident: int, monkeypatch: Any) -> None:
    if resident == 1:  # the CTA that wrote has ended when the other one begins
        monkeypatch.setattr(launches, "RESIDENT_BYTES", 1)
    fence = "fence.proxy.async.global;"
    for before in ("write", "add"):
        wanted = [("proxy", COPIES[copy].partition(";")[0], BEFORE[before].partition(";")[0])]
        for ctas, places in ((1, ("WRITER", "COPIER")), (2, ("WRITER", "RELEASER", "ACQUIRER", "COPIER"))):
            assert findings(copy, before, ctas) == wanted
            assert findings(copy, before, ctas, WRITER="fence.proxy.async.shared::cta;") == wanted
            for place in places:
                assert findings(copy, before, ctas, **{place: fence}) == [], (before, ctas, place)


@pytest.mark.parametrize("copy", ["bulk store", "tensor store"])
def test_what_has_only_been_read_and_what_stays_as_it_is_may_be_stored_to_without_a_fence(copy: str) -> None:
    assert findings(copy, "read", 1) == findings(copy, "read", 2) == []
    assert findings(copy, "same", 1) == findings(copy, "same", 2) == []
