"""Statements that are .aligned, in warps of which a lane has ended or goes another way."""

from __future__ import annotations

import re

import pytest

import mmacalc

WARP = {
    "sm_90a": (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6},"
        " {%f1,%f2,%f3,%f4}",
        "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1,%r2}, {%r3,%r4}, {%r5,%r6},"
        " {%r1,%r2}, %r7, 0",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2]",
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r1}",
        "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2",
        "wmma.load.c.sync.aligned.row.m16n16k16.shared.f16 {%r1,%r2,%r3,%r4}, [%r5]",
        "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8},"
        " {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, {%r1,%r2,%r3,%r4}",
        "wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%r5], {%r1,%r2,%r3,%r4}",
        "setmaxnreg.dec.sync.aligned.u32 40",
        "wgmma.fence.sync.aligned",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, 1, 1, 1, 0, 0",
        "wgmma.commit_group.sync.aligned",
        "wgmma.wait_group.sync.aligned 0",
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [%rd2], 128",
    ),
    "sm_100a": (
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32",
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32",
        "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned",
        "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1,%r2}, [%r3]",
        "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r3], {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}",
        "tcgen05.wait::ld.sync.aligned",
        "tcgen05.wait::st.sync.aligned",
    ),
    "sm_103a": ("tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {%r1,%r2}, %r4, [%r3]",),
}
BARRIERS = {  # and how the lane that is elsewhere comes to the same barrier
    "barrier.sync.aligned 0": "barrier.sync 0",
    "bar.sync 0": "barrier.sync 0",
    "barrier.cluster.arrive.aligned": "barrier.cluster.arrive",
}
MISSING = {
    "ended": "@%p1 exit;\n{0};\nret;",
    "elsewhere": "@%p1 bra other;\n{0};\nother: bar.warp.sync -1;\nret;",
    "predicate": "@!%p1 {0};\nret;",
}


def kernel(target: str, body: str) -> mmacalc.kernels.ptx.kernel.PtxKernel:
    return mmacalc.load(
        f".version 8.8\n.target {target}\n.address_size 64\n.visible .entry aligned() {{\n.reg .pred %p<2>; "
        ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .shared .align 128 .b8 buffer[4096];\n"
        f"mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 5;\nmov.u32 %r1, buffer;\n{body}\n}}\n"
    )["aligned"]


@pytest.mark.parametrize("how", MISSING)
@pytest.mark.parametrize(("target", "statement"), [(target, one) for target, some in WARP.items() for one in some])
def test_an_aligned_statement_is_named_where_a_lane_never_comes(target: str, statement: str, how: str) -> None:
    try:
        said = [one.sentence for one in mmacalc.launch(kernel(target, MISSING[how].format(statement)), 1, 32).findings]
    except mmacalc.Error as error:
        said = [str(error)]
    named = re.compile(rf"{re.escape(statement.split()[0])}.*not all lanes of the warp execute it")
    assert any(map(named.search, said)), said


def test_lanes_that_come_one_by_one_to_an_aligned_statement_meet_there() -> None:
    late = (
        "@!%p1 bra meet;\nmbarrier.init.shared::cta.b64 [%r1], 1;\nmbarrier.arrive.shared::cta.b64 _, [%r1];\n"
        "wait: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r1], 0;\n@!%p0 bra wait;\n"
        "meet: movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;\nret;"
    )
    for schedule in (None, 1, 2, 3):
        assert mmacalc.launch(kernel("sm_90a", late), 1, 64, schedule=schedule).findings == ()


@pytest.mark.parametrize("statement", BARRIERS)
def test_an_aligned_barrier_without_a_lane_is_a_finding_unless_that_has_ended(statement: str) -> None:
    elsewhere = f"@%p1 bra other;\n{statement};\nbra.uni end;\nother: {BARRIERS[statement]};\nend: ret;"
    for body, wrong in ((MISSING["ended"].format(statement), False), (elsewhere, True)):
        found = mmacalc.launch(kernel("sm_90a", body), 1, 64).findings
        named = [one for one in found if "not all threads of the warp execute it" in one.message]
        assert [(one.kind, one.text) for one in named] == [("barrier", statement)] * wrong


@pytest.mark.parametrize("count", [64, 96, 128])
@pytest.mark.parametrize("form", ["bar.sync 1, {}", "barrier.sync 1, {}", "barrier.red.or.pred %p0, 1, {}, %p1",
                                  "bar.arrive 1, {}", "barrier.arrive 1, {}"])  # fmt: skip
def test_more_threads_than_a_barrier_wants_are_named(form: str, count: int) -> None:
    """With 64 of 128 threads each half would end a phase: which halves meet is left to chance."""
    statement = form.format(count)
    body = f"{statement};\nret;"
    if "arrive" in form:  # the first warp waits, the three others arrive
        body = "setp.lt.u32 %p0, %r2, 32;\n@%p0 bra wait;\n" + f"{statement};\nret;\nwait: bar.sync 1, {count};\nret;"
    found = mmacalc.launch(kernel("sm_90a", "mov.u32 %r2, %tid.x;\n" + body), 1, 128).findings
    named = [
        one
        for one in found
        if one.kind == "barrier" and f"threads come to barrier 1, which wants {count}" in one.message
    ]
    # Where others complete it, the warp that waits does so for ever.
    alone = ["deadlock"] if "arrive" in form and count != 128 else []
    more = count != 128 and not ("arrive" in form and count == 96)
    assert len(named) == more
    assert [one.kind for one in found] == ["barrier"] * more + alone


@pytest.mark.parametrize("accumulates", [0, 1])
@pytest.mark.parametrize("fence", ["", "wgmma.fence.sync.aligned;"])
def test_a_wgmma_that_no_fence_comes_before_is_named(fence: str, accumulates: int) -> None:
    """The fence is wanted before the first wgmma of a warpgroup, whatever wrote its registers (9.7.15.7.1)."""
    statement = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd1,"
    statement += f" {accumulates}, 1, 1, 0, 0"
    zero = "".join(f"mov.f32 %f{at}, 0f00000000;" for at in range(1, 5))
    body = f"""mov.u32 %r2, %tid.x; mad.lo.u32 %r2, %r2, 16, %r1; st.shared.v4.b32 [%r2], {{%r3, %r3, %r3, %r3}};
 fence.proxy.async.shared::cta; bar.sync 0; {zero if accumulates else ""}
 shr.u32 %r1, %r1, 4; cvt.u64.u32 %rd1, %r1; or.b64 %rd1, %rd1, {64 << 16 | 8 << 32};
 {fence}
 {statement};
 {statement};
 wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; ret;"""
    found = mmacalc.launch(kernel("sm_90a", "mov.b32 %r3, 0;" + body), 1, 128).findings
    assert {one.kind for one in found} == ({"fence"} if not fence else set())
    assert fence or found[0].line == 13


@pytest.mark.parametrize("form", ["bar.red", "barrier.cta.red", "bar.cta.red"])
@pytest.mark.parametrize(("reduction", "defined", "decided"), [
    ("popc", "", False), ("and", "", False), ("or", "", False), ("popc", "1", False), ("and", "1", False),
    ("or", "1", True), ("and", "0", True), ("or", "0", False),
])  # fmt: skip
def test_a_reduction_of_predicates_that_nothing_has_written_is_followed(
    form: str, reduction: str, defined: str, decided: bool
) -> None:
    """Some warps have a predicate: where that does not decide the result, what depends on it is named."""
    target = "%r4" if reduction == "popc" else "%p2"
    some = f"mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 64; @%p1 setp.eq.u32 %p3, 1, {defined};" if defined else ""
    after = "setp.ne.u32 %p2, %r4, 3;" if reduction == "popc" else ""
    body = f"""{some}
 {form}.{reduction}.{"u32" if reduction == "popc" else "pred"} {target}, 0, %p3;
 {after}
 @%p2 bra end;
end: ret;"""
    text = body.replace("%p", "%q")  # of a kernel whose predicates are four
    found = mmacalc.launch(kernel("sm_90a", ".reg .pred %q<4>; " + text), 1, 128).findings
    assert {one.kind for one in found} == (set() if decided else {"uninitialised"}), found
