"""Threads of PTX kernels that wait for others by reading memory: others go on, and who waits for ever is named."""

from __future__ import annotations

import numpy as np
import pytest

import mmacalc
from mmacalc.kernels.ptx.kernel import PtxKernel
from mmacalc.kernels.ptx.launch import Launch
from mmacalc.ptx.reader import read

HEAD = ".version 8.7\n.target sm_90a\n.address_size 64\n"
LOCK = (
    HEAD
    + """
.visible .entry lock(.param .u64 a) {
  .reg .b64 %rd<3>; .reg .b32 %r<6>; .reg .pred %p<3>;
  ld.param.u64 %rd1, [a];
  mov.u32 %r1, %tid.x;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra end;
spin:
  atom.global.acquire.gpu.cas.b32 %r2, [%rd1], 0, 1;
  setp.ne.s32 %p2, %r2, 0;
  @%p2 bra spin;
  ld.global.u32 %r3, [%rd1+4];
  add.s32 %r3, %r3, 1;
  st.global.u32 [%rd1+4], %r3;
  RELEASE
end:
  ret;
}
"""
)
FLAG = (
    HEAD
    + """
.visible .entry flag(.param .u64 a) {
  .reg .b64 %rd<3>; .reg .b32 %r<6>; .reg .pred %p<3>;
  ld.param.u64 %rd1, [a];
  mov.u32 %r1, %ctaid.x;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra second;
spin:
  ld.global.acquire.gpu.u32 %r2, [%rd1];
  setp.eq.s32 %p2, %r2, 0;
  @%p2 bra spin;
  ld.global.u32 %r3, [%rd1+8];
  st.global.u32 [%rd1+4], %r3;
  ret;
second:
  st.global.u32 [%rd1+8], 41;
  st.global.release.gpu.u32 [%rd1], 1;
  ret;
}
"""
)


def launch(text: str, grid: int, block: int, *arguments: object) -> Launch:
    module = read(text)
    made = Launch(PtxKernel(module, module.entries[0].name), grid, block, list(arguments))
    made.run()
    return made


def test_a_spin_lock_is_handed_from_one_cta_to_the_next() -> None:
    a = np.zeros(2, np.int32)
    text = LOCK.replace("RELEASE", "atom.global.release.gpu.exch.b32 %r2, [%rd1], 0;")
    assert not launch(text, 8, 64, a).findings
    assert a.tolist() == [0, 8]


def test_a_lock_that_is_never_released_is_a_deadlock_of_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmacalc.kernels.ptx.machine.ROUNDS", 20)
    found = launch(LOCK.replace("RELEASE", ""), 3, 32, np.zeros(2, np.int32)).findings.values()
    assert [(one.kind, one.text) for one in found] == [("deadlock", "@%p2 bra spin")]


def test_a_cta_that_polls_a_flag_lets_a_later_one_set_it() -> None:
    a = np.zeros(3, np.int32)
    assert not launch(FLAG, 2, 1, a).findings
    assert a.tolist() == [1, 41, 41]


def test_a_parameter_has_an_address_in_its_space_and_a_generic_one() -> None:
    """`mov.b32` of a parameter's name and `cvta.param`, as Triton hands tensor maps on."""
    text = (
        HEAD
        + """
.visible .entry k(.param .u64 a, .param .align 64 .b8 m[64]) {
  .reg .b64 %rd<6>; .reg .b32 %r<3>;
  ld.param.u64 %rd1, [a];
  mov.b32 %r1, m;
  cvt.u64.u32 %rd2, %r1;
  cvta.param.u64 %rd3, %rd2;
  mov.b64 %rd4, m;
  cvta.param.u64 %rd5, %rd4;
  ld.u32 %r2, [%rd3+4];
  st.global.u32 [%rd1], %r2;
  ld.u32 %r2, [%rd5+8];
  st.global.u32 [%rd1+4], %r2;
  ret;
}
"""
    )
    a = np.zeros(2, np.int32)
    launch(text, 1, 1, a, np.arange(16, dtype=np.int32).tobytes())
    assert a.tolist() == [1, 2]


WRITERS = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 z) {
  .reg .b64 %rd<3>; .reg .b32 %r<6>;
  .shared .align 4 .b8 word[4];
  ld.param.u64 %rd1, [z];
  mov.u32 %r1, %tid.x;
  shr.u32 %r2, %r1, SHIFT;
  mov.u32 %r3, word;
  st.shared.u32 [%r3], %r2;
  bar.sync 0;
  ld.shared.u32 %r4, [%r3];
  st.global.u32 [%rd1], %r4;
  ret;
}
"""


@pytest.mark.parametrize("schedule", [None, 0, 1, 2])
@pytest.mark.parametrize(("shift", "racy"), [(7, False), (6, True)])
def test_warps_may_write_the_same_value_to_the_same_bytes_and_not_different_ones(shift, racy, schedule):
    kernel = mmacalc.load(WRITERS.replace("SHIFT", str(shift)))["k"]
    report = mmacalc.launch(kernel, 1, 128, np.zeros(1, np.uint32), schedule=schedule)
    assert ("race" in {found.kind for found in report.findings if "shared" in found.message}) == racy


HALVES = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 z) {
  .reg .b64 %rd<4>; .reg .b32 %r<9>; .reg .b16 %h<4>;
  ld.param.u64 %rd1, [z];
  mov.u32 %r1, %tid.x;
  cvt.u16.u32 %h1, %r1;
  mov.b32 %r2, {%h1, %h2};
  shl.b32 %r3, %r2, SHIFT;
  and.b32 %r4, %r3, MASK;
  add.u32 %r5, %r4, 1;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r5;
  ret;
}
"""


@pytest.mark.parametrize("schedule", [None, 0, 1, 2])
@pytest.mark.parametrize(
    ("shift", "mask", "undefined"), [(0, 0xFFFF, False), (8, 0xFFFF00, False), (8, 0x1FFFF00, True)]
)
def test_undefined_bits_are_followed_one_by_one_in_every_order(shift, mask, undefined, schedule):
    kernel = mmacalc.load(HALVES.replace("SHIFT", str(shift)).replace("MASK", str(mask)))["k"]
    report = mmacalc.launch(kernel, 1, 128, np.zeros(128, np.uint32), schedule=schedule)
    assert [found.kind for found in report.findings] == ["uninitialised"] * undefined


ARMS = (
    HEAD
    + """
.visible .entry arms(.param .u64 a) {
  .reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .pred %p<4>;
  ld.param.u64 %rd1, [a];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, 0;
  mov.u32 %r3, 0;
head:
  activemask.b32 %r4;
  popc.b32 %r4, %r4;
  add.u32 %r3, %r3, %r4;
  setp.lt.u32 %p1, %r1, 5;
  @%p1 bra cold;
back:
  activemask.b32 %r4;
  popc.b32 %r4, %r4;
  add.u32 %r3, %r3, %r4;
  add.u32 %r2, %r2, 1;
  setp.ge.u32 %p2, %r2, 4;
  @%p2 bra done;
  setp.ge.u32 %p3, %r1, 20;
  @%p3 bra head;
  add.u32 %r5, %r5, 1;
  bra.uni head;
done:
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r3;
  ret;
cold:
  add.u32 %r5, %r5, 1;
  bra.uni back;
}
"""
)


@pytest.mark.parametrize("schedule", [None, 0, 1, 2])
def test_lanes_of_a_warp_meet_where_an_arm_ends_that_stands_elsewhere(schedule, tmp_path):
    (tmp_path / "arms.ptx").write_text(ARMS)
    out = np.zeros(32, np.uint32)
    mmacalc.launch(mmacalc.load(tmp_path / "arms.ptx")["arms"], 1, 32, out, schedule=schedule)
    assert (out == 2 * 4 * 32).all()  # both counts, in each of 4 steps, are of the whole warp
