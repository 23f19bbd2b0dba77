"""Calls through registers: virtual functions and tables of functions, by nvcc 13.0 from tests/data/ptx/calls.cu."""

from __future__ import annotations

import numpy as np
import pytest

import mmacalc
import recorded

TEXT = recorded.text("ptx/calls_sm_80.ptx.gz")
KERNELS = mmacalc.load(TEXT)
COUNT = 64
FUNCTIONS = (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b)


@pytest.mark.parametrize("schedule", [None, 1, 2])
def test_each_thread_calls_the_function_of_its_object(schedule) -> None:
    out = np.zeros(COUNT, np.uint32)
    report = mmacalc.launch(KERNELS["virtual_calls"], 1, COUNT, out, schedule=schedule)
    assert not report.findings
    for t, found in enumerate(out.tolist()):
        square = t * t * 3 * 16 + 4
        cube = (6 * (t + 1) ** 2 * 3 + 15) * 16 + 12
        assert found == (cube if t & 1 and not t & 2 else square)


@pytest.mark.parametrize("schedule", [None, 1, 2])
def test_each_thread_calls_the_function_of_its_place_in_a_table(schedule) -> None:
    which, out = np.random.default_rng(1).integers(0, 9, COUNT).astype(np.uint32), np.zeros(COUNT, np.uint32)
    report = mmacalc.launch(KERNELS["table_of_functions"], 1, COUNT, which, out, schedule=schedule)
    assert not report.findings
    for t, (x, found) in enumerate(zip(which.tolist(), out.tolist())):
        value = FUNCTIONS[x % 3](t, 7)
        assert found == (value * x if x > 5 else value) % (1 << 32)


def test_an_address_of_no_function_stops_the_launch_with_its_thread() -> None:
    text = TEXT.replace("_ZTV4Cube[4] = {0, 0, _ZNK4Cube4areaEj", "_ZTV4Cube[4] = {0, 0, 12345")
    assert text != TEXT
    with pytest.raises(mmacalc.Error, match=r"address 0x3039 is outside the functions of that prototype.*thread 1"):
        mmacalc.launch(mmacalc.load(text)["virtual_calls"], 1, COUNT, np.zeros(COUNT, np.uint32))


def test_targets_that_a_call_lists_are_those_it_may_reach() -> None:
    body = """.version 9.0
.target sm_80
.address_size 64
.func (.param .b32 r) one(.param .b32 x) {
 .reg .b32 %r; ld.param.b32 %r, [x]; add.u32 %r, %r, 1; st.param.b32 [r], %r; ret; }
.func (.param .b32 r) two(.param .b32 x) {
 .reg .b32 %r; ld.param.b32 %r, [x]; add.u32 %r, %r, 2; st.param.b32 [r], %r; ret; }
.visible .entry k(.param .u64 out) {
 .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p<3>;
 mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 15; setp.ne.u32 %p2, %r1, 3; ld.param.u64 %d2, [out];
 mov.u64 %d1, one; @%p1 mov.u64 %d1, two;
 targets: .calltargets one, two;
 { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; st.param.b32 [b], 0;
   @%p2 call (b), %d1, (a), targets; ld.param.b32 %r2, [b]; }
 mul.wide.u32 %d3, %r1, 4; add.u64 %d3, %d2, %d3; st.global.u32 [%d3], %r2; ret; }"""
    out = np.zeros(32, np.uint32)
    assert not mmacalc.launch(mmacalc.load(body)["k"], 1, 32, out).findings
    assert out.tolist() == [0 if t == 3 else t + (2 if t > 15 else 1) for t in range(32)]
    with pytest.raises(mmacalc.Error, match="outside the functions of that prototype"):
        mmacalc.launch(mmacalc.load(body.replace(".calltargets one, two", ".calltargets one"))["k"], 1, 32, out)


def test_a_branch_through_a_list_takes_each_thread_to_its_label() -> None:
    body = """.version 9.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out) {
 .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .f32 %f;
 ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; and.b32 %r3, %r1, 1;
 list: .branchtargets A, B;
 brx.idx %r3, list;
A: mov.u32 %r2, 5; bra C;
B: mov.u32 %r2, 6;
C: mul.wide.u32 %d2, %r1, 4; add.u64 %d2, %d1, %d2; st.global.u32 [%d2], %r2; ret; }"""
    out = np.zeros(32, np.uint32)
    assert not mmacalc.launch(mmacalc.load(body)["k"], 1, 32, out).findings
    assert out.tolist() == [5, 6] * 16
    ((_, _, why),) = mmacalc.load(body.replace("brx.idx %r3", "brx.idx %f"))["k"].uncovered()
    assert "operand 1 is %f, a register of .f32" in why
