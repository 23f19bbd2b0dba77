"""Lanes that exchange undefined values, and arrivals at barriers that say too little or come too often."""

from __future__ import annotations

import numpy as np
import pytest

import mmacalc

HEAD = ".version 8.7\n.target sm_90a\n.address_size 64\n"
REGISTERS = ".reg .b64 %rd<9>; .reg .b32 %r<30>; .reg .pred %p<9>;"
# As cooperative groups' coalesced_threads() add: the first lane that is active adds for all, and tells them where.
COALESCED = f"""{HEAD}
.visible .entry taken(.param .u64 x, .param .u64 z, .param .u64 count) {{
  {REGISTERS}
  ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [z]; ld.param.u64 %rd3, [count];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd4, %r1, 4;
  add.s64 %rd4, %rd1, %rd4;
  ld.global.u32 %r2, [%rd4];
  rem.u32 %r3, %r2, 3;
  setp.ne.u32 %p1, %r3, 0;
  @%p1 bra end;
  activemask.b32 %r4;
  mov.u32 %r5, %lanemask_lt;
  and.b32 %r5, %r5, %r4;
  popc.b32 %r6, %r5;
  setp.ne.u32 %p2, %r6, 0;
  @%p2 bra told;
  popc.b32 %r7, %r4;
  atom.global.add.u32 %r8, [%rd3], %r7;
told:
  brev.b32 %r9, %r4;
  bfind.shiftamt.u32 %r9, %r9;
  shfl.sync.idx.b32 %r10, %r8, %r9, 31, %r4;
  add.u32 %r10, %r10, %r6;
  mul.wide.u32 %rd5, %r10, 4;
  add.s64 %rd5, %rd2, %rd5;
  st.global.u32 [%rd5], %r2;
end:
  ret;
}}
"""


def test_a_shuffle_of_a_register_that_only_its_source_lane_has_written_is_defined() -> None:
    kernel, x = mmacalc.load(COALESCED)["taken"], np.random.default_rng(1).integers(0, 99, 64).astype(np.uint32)
    z, count, want = np.zeros(64, np.uint32), np.zeros(1, np.uint32), x[x % 3 == 0]
    assert mmacalc.launch(kernel, 1, 64, x, z, count).findings == ()
    assert count[0] == len(want)
    assert sorted(z[: len(want)]) == sorted(want)
    wrong = mmacalc.load(COALESCED.replace("bfind.shiftamt.u32 %r9, %r9;", "bfind.u32 %r9, %r4;"))["taken"]  # the last
    found = mmacalc.launch(wrong, 1, 64, x, z, count).findings
    assert ("uninitialised", "st.global.u32 [%rd5], %r2") in [(one.kind, one.text) for one in found]


EXCHANGES = {
    "vote.sync.ballot.b32 %r3, %p1, -1;": "",
    "match.any.sync.b32 %r3, %r2, -1;": "mov.u32 %r2, 5;",
    "redux.sync.add.u32 %r3, %r2, -1;": "mov.u32 %r2, 5;",
    "shfl.sync.down.b32 %r3, %r2, 1, 31, -1;": "mov.u32 %r2, 5;",
    "selp.u32 %r3, 1, 2, %p1;": "",
}


@pytest.mark.parametrize(("exchange", "defines"), EXCHANGES.items())
def test_what_lanes_take_from_one_that_has_written_nothing_is_undefined_in_them(exchange: str, defines: str) -> None:
    text = f"""{HEAD}
.visible .entry one(.param .u64 z) {{
  {REGISTERS}
  ld.param.u64 %rd1, [z];
  mov.u32 %r1, %tid.x;
  setp.eq.u32 %p2, %r1, 20;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd1, %rd1, %rd2;
  @%p2 bra joined;
  {defines or "setp.ne.u32 %p1, %r1, 3;"}
joined:
  {exchange}
  st.global.u32 [%rd1], %r3;
  ret;
}}
"""
    (found,) = mmacalc.launch(mmacalc.load(text)["one"], 1, 32, np.zeros(32, np.uint32)).findings
    assert found.kind == "uninitialised"
    lanes = {"shfl": (19, 31), "selp": (20,)}.get(exchange[:4], tuple(range(32)))
    assert set(found.threads) <= set(lanes) | {20}
    assert found.threads
    whole = text.replace("@%p2 bra joined;", "")
    assert mmacalc.launch(mmacalc.load(whole)["one"], 1, 32, np.zeros(32, np.uint32)).findings == ()


HANDED = f"""{HEAD}
.visible .entry handed(.param .u64 z) {{
  {REGISTERS} .shared .align 4 .b8 tile[512];
  ld.param.u64 %rd1, [z];
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 63;
  shl.b32 %r3, %r2, 2;
  mov.u32 %r4, tile;
  add.u32 %r4, %r4, %r3;
  setp.ge.u32 %p1, %r1, 64;
  @%p1 bra READS;
  st.shared.u32 [%r4], %r1;
  bar.arrive 1, 128;
  st.shared.u32 [%r4+256], %r1;
  bar.arrive 2, 128;
  ret;
READS:
  bar.sync 1, 128;
  xor.b32 %r3, %r3, 252;
  mov.u32 %r4, tile;
  add.u32 %r4, %r4, %r3;
  ld.shared.u32 %r5, [%r4];
  bar.sync 2, 128;
  ld.shared.u32 %r6, [%r4+256];
  add.u32 %r5, %r5, %r6;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd1, %rd1, %rd2;
  st.global.u32 [%rd1], %r5;
  ret;
}}
"""


def test_an_arrival_makes_known_what_comes_before_it_and_nothing_that_comes_after() -> None:
    z = np.zeros(64, np.uint32)
    assert mmacalc.launch(mmacalc.load(HANDED)["handed"], 1, 128, z).findings == ()
    assert (z == 2 * np.arange(64)[::-1]).all()
    (found,) = mmacalc.launch(mmacalc.load(HANDED.replace("bar.sync 2, 128;", ""))["handed"], 1, 128, z).findings
    assert (found.kind, found.text, found.other_text) == (
        "race", "ld.shared.u32 %r6, [%r4+256]", "st.shared.u32 [%r4+256], %r1"
    )  # fmt: skip


ROUNDS = f"""{HEAD}
.visible .entry rounds(.param .u64 z) {{
  {REGISTERS} .shared .align 8 .b64 bar; .shared .align 4 .u32 last;
  ld.param.u64 %rd1, [z];
  mov.u32 %r1, %tid.x;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared.b64 [bar], 64;
  @%p1 st.shared.u32 [last], 0;
  bar.sync 0;
  mbarrier.arrive.shared.b64 _, [bar];
FIRST:
  mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
  @!%p2 bra FIRST;
  mbarrier.arrive.shared.b64 _, [bar];
SECOND:
  mbarrier.try_wait.parity.shared.b64 %p2, [bar], 1;
  @!%p2 bra SECOND;
  mov.u32 %r2, -1;
  match.any.sync.b32 %r3, %r2, -1;
  mov.u32 %r4, %laneid;
  setp.ne.u32 %p3, %r4, 0;
  @%p3 bra END;
  fence.sc.cta;
  atom.shared.add.u32 %r5, [last], 1;
  fence.sc.cta;
  setp.eq.u32 %p4, %r5, 1;
  @%p4 mbarrier.inval.shared.b64 [bar];
END:
  ret;
}}
"""
WAITED = """FIRST:
  mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
  @!%p2 bra FIRST;
"""
ONCE = "mbarrier.arrive.shared.b64 _, [bar];"


@pytest.mark.parametrize(("old", "new", "text", "message"), [
    (WAITED, "", ONCE, "waited for nothing since its arrival in phase 0"),
    (ONCE + "\n" + WAITED, 2 * ONCE + "\n" + WAITED, ONCE, "waited for nothing since its arrival in phase 0"),
    ("fence.sc.cta;\n  atom", "atom", "mbarrier.inval.shared.b64 [bar];", "may still use"),
    ("match.any.sync.b32 %r3, %r2, -1;", "", "mbarrier.inval.shared.b64 [bar];", "may still use"),
])  # fmt: skip
def test_arrivals_and_the_end_of_an_mbarrier_are_told_by_lanes_that_meet(
    old: str, new: str, text: str, message: str
) -> None:
    def findings(text: str) -> tuple[mmacalc.PtxFinding, ...]:
        return mmacalc.launch(mmacalc.load(text)["rounds"], 1, 64, np.zeros(1, np.uint32)).findings

    assert findings(ROUNDS) == ()
    assert old in ROUNDS
    found = findings(ROUNDS.replace(old, new, 1))[0]
    assert found.kind == "mbarrier"
    assert found.text.endswith(text.rstrip(";"))
    assert message in found.message


def test_the_error_of_a_stopped_kernel_says_what_was_found_before() -> None:
    text = HANDED.replace("bar.sync 2, 128;", "").replace("[%rd1], %r5", "[%rd1+4096], %r5")
    with pytest.raises(
        mmacalc.Error, match=r"after the last byte .*Found wrong before that: race: line \d+: ld\.shared"
    ):
        mmacalc.launch(mmacalc.load(text)["handed"], 1, 128, np.zeros(64, np.uint32))
