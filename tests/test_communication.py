"""Workgroups that communicate through global memory: right kernels are right and without a finding in several orders of
their waves, what is missing in others is named at its instruction, and who waits for ever is said."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mmacalc
from communicating_kernels import GROUPS, HEAD, KERNELS, THREADS, right
from hip_kernels import assembled, hip_kernels, hip_listing
from samples import rotated, sampled

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250")


def launched(kernel, name, schedule=None, groups=GROUPS):
    x = np.random.default_rng(0).integers(-8, 9, GROUPS * THREADS).astype(np.float32)
    y, flags = np.zeros(4096, np.float32), np.zeros(64, np.int32)
    report = mmacalc.launch(kernel, groups, THREADS, x, y, flags, groups, limit=1_000_000, schedule=schedule)
    expected = right(name, x).ravel()
    return np.array_equal(y[: len(expected)], expected), report


@sampled(("name", "target"), rotated(KERNELS, TARGETS), len(KERNELS), whole=2 * len(KERNELS))
def test_a_right_kernel_is_right_and_has_no_finding_in_any_order(name, target):
    kernel = hip_kernels(HEAD + KERNELS[name], target)["k"]
    for schedule in (None, 1, 2):
        fine, report = launched(kernel, name, schedule)
        assert fine
        assert report.findings == ()
        assert not any(note.kind == "not checked" and "global" in note.message for note in report.notes)


# What is taken out of the kernel "message": a pattern of it for each target (what `kept` matches stays), and which
# match (None: all); the kind of the finding, the instruction that it is of or that it names as the other one, and a
# part of its message.
NINE, TEN = ("gfx90a", "gfx942", "gfx950"), ("gfx1100", "gfx1201", "gfx1250")
INVALIDATE = {
    "gfx90a": "buffer_wbinvl1_vol", "gfx942": "buffer_inv sc1", "gfx950": "buffer_inv sc1", "gfx1100": "buffer_gl1_inv",
    "gfx1201": "global_inv scope:SCOPE_DEV", "gfx1250": "global_inv scope:SCOPE_DEV",
}  # fmt: skip
DONE = {
    **dict.fromkeys(NINE, r"s_waitcnt vmcnt\(0\)"), "gfx1100": "s_waitcnt_vscnt null, 0x0",
    "gfx1201": "s_wait_storecnt 0x0", "gfx1250": "s_wait_storecnt 0x0",
}  # fmt: skip
WRITE_BACK = {"gfx942": "buffer_wbl2 sc1", "gfx950": "buffer_wbl2 sc1", "gfx1250": "global_wb scope:SCOPE_DEV"}
REFRESH = {"gfx1100": r"(?P<kept>s_barrier\n\t)buffer_gl0_inv", "gfx1201": "global_inv scope:SCOPE_SE"}
SCOPE = {"gfx90a": "glc", "gfx942": "sc1", "gfx950": "sc1", "gfx1100": "glc", "gfx1201": "scope:SCOPE_DEV",
         "gfx1250": "scope:SCOPE_DEV"}  # fmt: skip
INVALIDATED = {"gfx1201": r"s_wait_loadcnt 0x0(?=\n.*\n?.*\n\ts_barrier_signal)"}
LOAD = {target: rf"(?P<kept>global_load.*){bits}" for target, bits in SCOPE.items()}
STORE = {target: rf"(?P<kept>global_store.*){SCOPE[target]}" for target in ("gfx942", "gfx950", "gfx1201", "gfx1250")}
BARRIER = dict.fromkeys(TARGETS, r"s_barrier(_signal -1)?(?=\n)")
EARLY, UNSEEN, UNORDERED = "writes the flag that", "between the flag", "nothing orders the two"
FAULTS = {
    "wait of the release": (DONE, -1, "wait", "global_store", EARLY),
    "write-back": (WRITE_BACK, None, "wait", "global_store", EARLY),
    "acquire": (INVALIDATE, None, "race", "global_load", UNSEEN),
    "wait of the acquire": (INVALIDATED, 0, "race", "global_load", UNSEEN),
    "refresh behind the barrier": (REFRESH, None, "race", "global_load", "comes behind the barrier"),
    "scope of the load": (LOAD, None, "race", "global_load", UNORDERED),
    "scope of the store": (STORE, None, "race", "global_store", UNORDERED),
    "barrier of the producer": (BARRIER, -1, "race", "global_load", UNORDERED),
    "barrier of the consumer": (BARRIER, 0, "race", "global_load", UNORDERED),
}  # fmt: skip


def without(listing, pattern, number):
    """A listing without the matches of a pattern, or without one of them; of a barrier without its wait, too."""
    found = list(re.finditer(pattern, listing))
    for match in reversed(found if number is None else [found[number]]):
        tail = listing[match.end() :]
        if "signal" in match[0]:
            tail = tail.replace("s_barrier_wait -1", "", 1)
        listing = listing[: match.start()] + match.groupdict().get("kept", "") + tail
    return listing


CASES = [(fault, target) for fault, (patterns, *_) in FAULTS.items() for target in patterns]


@sampled(("fault", "target"), CASES, 14, first=1)
def test_what_is_missing_between_workgroups_is_named_at_its_instruction(fault, target):
    patterns, number, kind, instruction, message = FAULTS[fault]
    listing = hip_listing(HEAD + KERNELS["message"], target)
    text = without(listing, patterns[target], number)
    assert text != listing
    _, report = launched(assembled(text, target)["k"], "message")
    first = report.findings[0]
    assert first.kind == kind
    assert instruction in first.text or (kind == "race" and instruction in first.other_text)
    assert message in first.message


EARLY_RESET = """KERNEL(float *x, float *y, int *f, int n) {
    if (I == 0) { int mine = ADD(f, 1); y[mine] = x[mine]; if (G == 0) *f = 0; } }"""


@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
def test_a_counter_is_reset_by_a_plain_store_only_behind_all_who_count(target):
    _, report = launched(hip_kernels(HEAD + EARLY_RESET, target)["k"], "lock")
    assert any(one.kind == "race" and "byte 0 of argument 3" in one.message for one in report.findings)


STUCK = """KERNEL(float *x, float *y, int *f, int n) {
    if (I == 0 && G == WHO) while (LOAD(f) == 0) PAUSE
    if (G == 1) y[I] = 1; }"""


def test_who_waits_for_what_nobody_does_is_named():
    kernel = hip_kernels(HEAD + STUCK.replace("WHO", "0"), "gfx942")["k"]
    message = r"wait for ever, .* nothing changes any more.*1 wave at .*workgroup \(0, 0, 0\)"
    with pytest.raises(mmacalc.Error, match=message):
        launched(kernel, "lock")


def test_a_loop_that_ends_by_itself_is_no_deadlock():
    body = "KERNEL(float *x, float *y, int *f, int n) { int i = 0; while (LOAD(f) == 0 && i < 300) i++; y[I] = i; }"
    y = np.zeros(64, np.float32)
    mmacalc.launch(hip_kernels(HEAD + body, "gfx942")["k"], 2, 64, y, y, np.zeros(1, np.int32), 2)
    assert (y == 300).all()
