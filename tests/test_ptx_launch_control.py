"""Clusters that take over others before these are launched, discarded memory, and the n-th one of a mask."""

from __future__ import annotations

import numpy as np
import pytest

import mmacalc

WORK = """.version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 by) .reqnctapercluster {cluster} {{
 .reg .b32 %r<20>; .reg .b64 %d<9>; .reg .b128 %q; .reg .pred %p<4>;
 .shared .align 16 .b8 answer[16]; .shared .align 8 .b64 bar;
 ld.param.u64 %d0, [out]; ld.param.u64 %d1, [by];
 mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r10, %cluster_ctarank; mov.u32 %r2, 0; mov.u32 %r9, %ctaid.x;
 setp.ne.u32 %p0, %r0, 0; @%p0 bra I;
 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
I: barrier.cluster.arrive; barrier.cluster.wait;
L: @%p0 bra W;
 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
 {ask}
W: mad.lo.u32 %r3, %r1, 32, %r0; mul.wide.u32 %d2, %r3, 4; add.u64 %d3, %d0, %d2; add.u64 %d4, %d1, %d2;
 ld.global.u32 %r4, [%d3]; add.u32 %r4, %r4, %r3; st.global.u32 [%d3], %r4; st.global.u32 [%d4], %r9;
T: mbarrier.try_wait.parity.shared.b64 %p1, [bar], %r2; @!%p1 bra T;
 ld.shared.b128 %q, [answer];
 clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q;
 @!%p2 bra E;
 clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {{%r1, %r5, %r6, _}}, %q;
 add.u32 %r1, %r1, %r10;
 xor.b32 %r2, %r2, 1; fence.proxy.async;
 barrier.cluster.arrive; barrier.cluster.wait;
 bra L;
E: barrier.cluster.arrive; barrier.cluster.wait;
 ret; }}
"""
ALONE = "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [answer], [bar];"
TOGETHER = """setp.ne.u32 %p3, %r10, 0;
 @!%p3 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 \
[answer], [bar];"""


@pytest.mark.parametrize("schedule", [None, 1, 2])
@pytest.mark.parametrize(("cluster", "ask"), [(1, ALONE), (2, TOGETHER)])
def test_every_cluster_is_worked_on_once_by_who_took_it_over(cluster: int, ask: str, schedule) -> None:
    out, by = np.zeros((12, 32), np.uint32), np.full((12, 32), 99, np.uint32)
    kernel = mmacalc.load(WORK.format(cluster=cluster, ask=ask))["k"]
    report = mmacalc.launch(kernel, 12, 32, out, by, schedule=schedule)
    assert not report.findings, str(report)
    assert (out == np.arange(384).reshape(12, 32)).all()
    owner = by[:, 0]
    assert set(owner.tolist()) == set(range(6))  # half of them are launched, the rest is taken over
    assert (owner % cluster == np.arange(12) % cluster).all()


def test_an_answer_that_is_not_waited_for_is_named() -> None:
    text = WORK.format(cluster=1, ask=ALONE)
    text = "\n".join(line for line in text.splitlines() if "try_wait" not in line)
    out, by = np.zeros((2, 32), np.uint32), np.zeros((2, 32), np.uint32)
    kinds = {found.kind for found in mmacalc.launch(mmacalc.load(text)["k"], 2, 32, out, by).findings}
    assert "wait" in kinds


def one_thread(body: str, *arguments):
    names = ", ".join(f".param .u64 a{place}" for place in range(len(arguments)))
    loads = " ".join(f"ld.param.u64 %d{place}, [a{place}];" for place in range(len(arguments)))
    kernel = mmacalc.load(f""".version 9.0
.target sm_90
.address_size 64
.visible .entry k({names}) {{ .reg .b32 %r<9>; .reg .b64 %d<9>; {loads} {body} ret; }}""")["k"]
    return mmacalc.launch(kernel, 1, 1, *arguments)


def test_discarded_bytes_do_not_keep_what_they_were() -> None:
    data = np.arange(64, dtype=np.uint32)
    assert not one_thread("discard.global.L2 [%d0], 128;", data).findings
    assert (data[:32] != np.arange(32)).all()
    assert (data[32:] == np.arange(32, 64)).all()
    with pytest.raises(mmacalc.Error, match="is not a multiple of 128"):
        one_thread("add.u64 %d0, %d0, 64; discard.global.L2 [%d0], 128;", data)


def nth(mask: int, base: int, offset: int) -> int:
    places = range(base, base + 1) if not offset else range(base, 32) if offset > 0 else range(base, -1, -1)
    ones = [place for place in places if place < 32 and mask >> place & 1]
    return ones[max(abs(offset), 1) - 1] if len(ones) >= max(abs(offset), 1) else 0xFFFFFFFF


def test_the_nth_one_is_found_upwards_and_downwards() -> None:
    random = np.random.default_rng(3)
    cases = [
        (int(random.integers(1 << 32)), int(random.integers(32)), int(random.integers(-20, 21))) for _ in range(64)
    ]
    body = "".join(
        f"mov.u32 %r1, {mask}; mov.u32 %r2, {base}; mov.s32 %r3, {offset}; fns.b32 %r0, %r1, %r2, %r3; "
        f"st.global.u32 [%d0+{4 * place}], %r0;"
        for place, (mask, base, offset) in enumerate(cases)
    )
    out = np.zeros(64, np.uint32)
    one_thread(body, out)
    assert out.tolist() == [nth(*case) for case in cases]
