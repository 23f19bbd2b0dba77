"""CTAs that exchange data through global memory: right kernels have no finding, wrong ones name both lines.

The kernels are tests/data/ptx/sharing.cu: those of CUDA's samples, CUTLASS and cooperative groups, and each without one
ordering.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import mmacalc
import recorded
from mmacalc.kernels.ptx.kernel import PtxKernel
from mmacalc.kernels.ptx.knowledge import Snapshot, access_of
from mmacalc.kernels.ptx.launch import Launch
from mmacalc.ptx.reader import read
from samples import rotated, sampled

MODULE = cache(lambda: read(recorded.text("ptx/sharing_sm_80.ptx.gz")))
GRID, BLOCK = 6, 64
X = (np.arange(GRID * BLOCK) % 97).astype(np.int32)


def zeros(count: int = 1, dtype: Any = np.int32) -> Any:
    return np.zeros(count, dtype)


def rolled() -> Any:
    found = X.copy()
    for _ in range(3):
        found = found + np.roll(found, -1)
    return found


WHOLE = GRID * BLOCK
ROWS = X.reshape(GRID, BLOCK).sum(axis=0)
LAST_BLOCK = lambda: [X, zeros(GRID), zeros(), zeros()], 3, X.sum()
SEMAPHORE = lambda: [X, zeros(BLOCK), zeros()], 1, ROWS
BARRIER = lambda: [X.copy(), zeros(WHOLE), zeros(), 3], 1, rolled()
# name: arguments, the one with the result, the result
RIGHT: dict[str, tuple[Any, int, Any]] = {
    "right_last_block": LAST_BLOCK,
    "right_all_fence": (lambda: [X.astype("f4"), zeros(WHOLE, "f4"), zeros(), zeros(BLOCK, "f4")], 3, ROWS),
    "right_semaphore": SEMAPHORE,
    "right_stream_k": (lambda: [X, zeros(WHOLE), zeros(), zeros(BLOCK)], 3, ROWS),
    "right_grid_barrier": BARRIER,
    "right_grid_sync": (lambda: [X.copy(), zeros(WHOLE), 3], 1, rolled()),
    "right_relaxed": (lambda: [X, WHOLE, zeros(), zeros(16), zeros()], 3, np.bincount(X & 15, minlength=16)),
    "right_swap": (lambda: [X[:WHOLE].astype("f8"), zeros(1, "f8")], 1, X.sum()),
    "right_lock": (lambda: [zeros(), zeros()], 0, (3**GRID - 1) // 2),
    "right_one_value": (lambda: [zeros(BLOCK), zeros(BLOCK)], 1, np.full(BLOCK, 7)),
    "right_block_order": (lambda: [zeros(WHOLE), zeros(WHOLE)], 1, np.tile(np.arange(BLOCK) ^ 33, GRID)),
}
# name: arguments, CTAs, what the two statements of a finding are
WRONG: dict[str, tuple[Any, int, tuple[str, str]]] = {
    "wrong_last_block_no_release": (LAST_BLOCK[0], GRID, ("ld.global", "st.global")),
    "wrong_last_block_no_acquire": (LAST_BLOCK[0], GRID, ("ld.global", "st.global")),
    "wrong_last_block_scope": (LAST_BLOCK[0], GRID, ("ld.global", "st.global")),
    "wrong_semaphore_relaxed": (SEMAPHORE[0], GRID, ("ld.global", "st.global")),
    "wrong_grid_barrier": (BARRIER[0], GRID, ("ld.global", "st.global")),
    "wrong_lock": (RIGHT["right_lock"][0], GRID, ("ld.global", "st.global")),
    "wrong_plain": (lambda: [zeros(WHOLE), zeros(WHOLE)], GRID, ("ld.global", "st.global")),
    "wrong_in_place": (lambda: [zeros(WHOLE + 1)], GRID, ("st.global", "ld.global")),
    "wrong_order_in_block": (lambda: [zeros(BLOCK), zeros(BLOCK)], 1, ("ld.global", "st.global")),
    "wrong_one_place": (lambda: [zeros(BLOCK)], GRID, ("st.global", "")),
}


def launched(name: str, arguments: list[Any], grid: int, schedule: int | None) -> Launch:
    launch = Launch(PtxKernel(MODULE(), name), grid, BLOCK, arguments, schedule=schedule)
    launch.run()
    return launch


def test_every_kernel_of_the_source_is_tried() -> None:
    assert {function.name for function in MODULE().entries} == {*RIGHT, *WRONG}


@sampled(("name", "schedule"), rotated(RIGHT, [None, 3]), len(RIGHT))
def test_an_exchange_that_is_ordered_is_right_and_has_no_finding(name: str, schedule: int | None) -> None:
    make, result, wanted = RIGHT[name]
    arguments = make()
    launch = launched(name, arguments, GRID, schedule)
    assert not launch.findings, str(next(iter(launch.findings.values())).sentence)
    np.testing.assert_array_equal(arguments[result], np.broadcast_to(wanted, arguments[result].shape))


@pytest.mark.parametrize("schedule", [None, 3])
@pytest.mark.parametrize("name", WRONG)
def test_an_exchange_without_an_order_names_both_statements(name: str, schedule: int | None) -> None:
    make, grid, (text, other) = WRONG[name]
    found = list(launched(name, make(), grid, schedule).findings.values())
    assert {finding.kind for finding in found} == {"race"}
    assert any(finding.text.startswith(text) and finding.other_text.startswith(other) for finding in found)
    assert all("argument" in finding.message for finding in found)


def test_ctas_that_do_not_run_together_race_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Launch, "_resident", lambda self: 1)
    assert launched("wrong_plain", WRONG["wrong_plain"][0](), GRID, None).findings
    assert not launched("right_last_block", LAST_BLOCK[0](), GRID, None).findings


def test_scopes_reach_as_the_isa_says() -> None:
    assert access_of("ld", ("global", "volatile", "u32")).scope == access_of("atom", ("add", "u32")).scope == 3
    assert access_of("st", ("release", "cluster", "global", "u32")).scope == 2
    assert access_of("ld", ("global", "nc", "u32")).scope == 0
    assert not access_of("red", ("acq_rel", "gpu", "global", "add", "u32")).acquires


def test_snapshots_join_and_include_what_they_join() -> None:
    one, two = Snapshot({1: np.array([3, 0])}), Snapshot({1: np.array([2, 5]), 4: np.array([1, 1])})
    both = one.joined(two)
    assert both.includes(one)
    assert both.includes(two)
    assert not one.includes(two)
    assert both.rows[1].tolist() == [3, 5]
    asked = np.array([1, 1, 4, 2]), np.array([0, 1, 1, 0]), np.array([3, 6, 1, 0])
    assert both.knows(*asked).tolist() == [True, False, True, False]


RACING = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y) {
    .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .shared .align 4 .b32 s[64];
    ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];
    mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; mul.wide.u32 %rd3, %r2, 4; add.s64 %rd4, %rd1, %rd3;
    setp.lt.u32 %p1, %r1, 32; mul.wide.u32 %rd5, %r1, 4; add.s64 %rd6, %rd2, %rd5; shl.b32 %r6, %r1, 2;
    mov.u32 %r7, s; add.s32 %r6, %r6, %r7;
    ld.global.b32 %r3, [%rd4];
    MORE
    add.s32 %r4, %r3, 1;
    @%p1 st.global.b32 [%rd4], %r4;
    USE
    ret;
}"""
RACES = {  # another load before, what uses it, and whether a finding is right
    "nothing": ("", "", False),
    "a store": ("", "st.global.b32 [%rd6], %r3;", True),
    "a branch": ("", "setp.eq.s32 %p2, %r3, 5; @%p2 st.global.b32 [%rd6], 1;", True),
    "an atomic operation": ("", "red.global.add.u32 [%rd6], %r3;", True),
    "shared memory": ("", "st.shared.b32 [%r6], %r3; ld.shared.b32 %r5, [%r6]; st.global.b32 [%rd6], %r5;", True),
    "an earlier load": ("mov.b32 %r5, %r3; ld.global.b32 %r3, [%rd4];", "st.global.b32 [%rd6], %r5;", True),
}


@pytest.mark.parametrize("name", RACES)
def test_a_load_that_races_and_gives_what_nothing_uses_is_a_note(name: str, tmp_path: Any) -> None:
    more, use, matters = RACES[name]
    (tmp_path / "k.ptx").write_text(RACING.replace("MORE", more).replace("USE", use))
    x, y = np.zeros(64, np.int32), np.zeros(64, np.int32)
    report = mmacalc.launch(mmacalc.load(tmp_path / "k.ptx")["k"], 1, 64, x, y)
    assert [found.kind for found in report.findings] == ["race"] * matters
    assert matters or any("What the load gives is not used" in note for note in report.notes)
    assert x[:32].tolist() == [1] * 32


def test_addresses_of_local_memory_may_have_32_bits(tmp_path: Any) -> None:
    """ptxas 13 takes them, and Triton 3.9 makes them (LLVM's nvptx-short-ptr)."""
    text = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x) {
    .local .align 8 .b8 depot[16]; .reg .b32 %SPL, %r<3>; .reg .b64 %rd<4>;
    mov.b32 %SPL, depot; add.u32 %r1, %SPL, 8; ld.param.u64 %rd1, [x];
    st.local.b64 [%r1], 7; ld.local.b64 %rd2, [%SPL+8]; st.global.b64 [%rd1], %rd2;
    ret;
}"""
    (tmp_path / "k.ptx").write_text(text)
    x = np.zeros(1, np.int64)
    assert mmacalc.launch(mmacalc.load(tmp_path / "k.ptx")["k"], 1, 1, x).findings == ()
    assert x[0] == 7


LAST = """.version 8.0 .target sm_80 .address_size 64
.visible .entry k(.param .u64 part, .param .u64 out, .param .u64 ticket) {
.reg .b64 %d<6>; .reg .b32 %r<9>; .reg .pred %p<3>; .shared .b32 last;
ld.param.u64 %d1, [part]; ld.param.u64 %d2, [out]; ld.param.u64 %d3, [ticket];
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 128, %r1; setp.eq.u32 %p1, %r1, 0;
mul.wide.u32 %d4, %r3, 4; add.u64 %d4, %d1, %d4; st.global.u32 [%d4], %r3; membar.gl; bar.sync 0;
@%p1 atom.global.add.u32 %r4, [%d3], 1; @%p1 st.shared.u32 [last], %r4; bar.sync 0;
ld.shared.u32 %r4, [last]; setp.ne.u32 %p2, %r4, 1; @%p2 ret; membar.gl;
mul.wide.u32 %d4, %r1, 4; add.u64 %d5, %d1, %d4; ld.global.u32 %r5, [%d5]; ld.global.u32 %r6, [%d5+512];
add.u32 %r5, %r5, %r6; add.u64 %d4, %d2, %d4; st.global.u32 [%d4], %r5; @%p1 st.global.u32 [%d3], 0; ret; }"""


@pytest.mark.parametrize("schedule", [None, 3, 5, 6])
def test_a_fence_acquires_what_its_cta_has_read_although_another_warp_has_reset_the_ticket(
    schedule: int | None,
) -> None:
    part, out, ticket = np.zeros(256, np.uint32), np.zeros(128, np.uint32), np.zeros(1, np.uint32)
    report = mmacalc.launch(mmacalc.load(LAST)["k"], 2, 128, part, out, ticket, schedule=schedule)
    assert report.findings == ()
    assert (out == 2 * np.arange(128) + 128).all()
