"""Barriers in LDS of gfx1250: what they order is no race, and what is missing around them is one."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mmacalc
from hip_kernels import hip_kernels
from mmacalc.kernels.device.ordered_races import OrderedRaces
from mmacalc.kernels.device.races import RaceShadow
from test_machine_tensor_copies import HEAD, tile

TOP = (
    HEAD
    + """#define CELL(n) ((__attribute__((address_space(3))) volatile unsigned *)&lds[500 + (n)])
#define ARRIVE(n, count) __builtin_amdgcn_ds_atomic_barrier_arrive_rtn_b64( \\
    (__attribute__((address_space(3))) long *)&lds[500 + (n)], count)
#define UNTIL(n, parity) while ((*CELL(n) >> 29 & 1) != (parity)) __builtin_amdgcn_s_sleep(1);
#define WORD(i) ((__attribute__((address_space(3))) volatile unsigned *)lds)[i]
#define ASYNC(place) __builtin_amdgcn_global_load_async_to_lds_b32( \\
    (__attribute__((address_space(1))) int *)x + I % 32, (__attribute__((address_space(3))) int *)lds + (place), 0, 0);
#define LANDED(n) __builtin_amdgcn_ds_atomic_async_barrier_arrive_b64( \\
    (__attribute__((address_space(3))) long *)&lds[500 + (n)]);
KERNEL(64)(const int *word, const int *x, unsigned *out) {
    SHARED long lds[512];
    for (int i = I; i < 512; i += 64) lds[i] = 0;
    SYNC
    if (I == 0) { lds[500] = FIRST; lds[501] = 31l << 32 | 31; }
    SYNC
    for (int k = 0; k < 4; k++) {
        int even = k & 1;
        if (WAVE == 0) { PRODUCER } else { CONSUMER } } }
"""
)
CONSUMER = "UNTIL(0, !even) out[32 * k + I - 32] = WORD(512 + I - 32) + k; ARRIVE(1, 1);"
FREE = "if (k) UNTIL(1, even) "
LANES, COPY = "(31l << 32 | 31)", "0"
KERNELS = {  # the arrivals of a phase of the first barrier, and what the two waves do
    "stores": (LANES, FREE + "WORD(512 + I) = x[I]; ARRIVE(0, 1);", CONSUMER),
    "a tile": (COPY, FREE + "LOAD(word)", CONSUMER),
    "copies": (LANES, FREE + "ASYNC(512 + I) LANDED(0)", CONSUMER),
    "copies waited for": (LANES, FREE + "ASYNC(512 + I) __builtin_amdgcn_s_wait_asynccnt(0); ARRIVE(0, 1);", CONSUMER),
    "its own tile": (COPY, FREE + "LOAD(word) UNTIL(0, !even) WORD(512 + I) += 1;",
                     "UNTIL(0, !even) ARRIVE(1, 1);"),
}  # fmt: skip
WRONG = {  # what is changed, and the kind of finding
    "the consumer does not wait": ("stores", 2, "UNTIL(0, !even)", "", "race"),
    "the consumer does not wait for a tile": ("a tile", 2, "UNTIL(0, !even)", "", "race"),
    "the consumer does not wait for copies": ("copies", 2, "UNTIL(0, !even)", "", "race"),
    "the consumer waits for the other phase": ("a tile", 2, "!even", "even", "race"),
    "the producer does not wait": ("stores", 1, FREE, "", "for ever"),
    "the consumer frees the tile too early": (
        "a tile", 2, CONSUMER, "UNTIL(0, !even) ARRIVE(1, 1); out[32 * k + I - 32] = WORD(512 + I - 32);", "race"),
    "the producer arrives too early": ("stores", 1, "WORD(512 + I) = x[I]; ARRIVE(0, 1);",
                                       "ARRIVE(0, 1); WORD(512 + I) = x[I];", "race"),
    "copies are not waited for": ("copies waited for", 1, "__builtin_amdgcn_s_wait_asynccnt(0);", "", "wait"),
    "copies follow the arrival": ("copies", 1, "ASYNC(512 + I) LANDED(0)", "LANDED(0) ASYNC(512 + I)", "race"),
    "an arrival for tiles does not wait for copies": (
        "copies", 1, "LANDED(0)", "ARRIVE(0, 1);", "wait"),
}  # fmt: skip


def launched(parts, schedule=None):
    first, producer, consumer = parts
    source = TOP.replace("FIRST", first).replace("PRODUCER", producer).replace("CONSUMER", consumer)
    kernel = hip_kernels(source, "gfx1250")["k"]
    x, out = np.arange(32, dtype=np.int32), np.zeros(128, np.int32)
    word = tile(x[None], 1, 0, 2048)
    if first == COPY:
        word[4] |= 1 << 18
        word[5] |= 4000 >> 3
    return mmacalc.launch(kernel, 1, 64, word, x, out, limit=60000, schedule=schedule), out.reshape(4, 32)


@pytest.mark.parametrize("name", KERNELS)
def test_what_barriers_in_lds_order_is_no_race(name):
    for schedule in (None, 1, 2):
        report, out = launched(KERNELS[name], schedule)
        assert report.findings == ()
        assert not any(note.kind == "not checked" for note in report.notes)
        if name != "its own tile":
            assert (out == np.arange(32) + np.arange(4)[:, None]).all()


def first_wrong(parts, schedule):
    """What is wrong first: with a kernel whose waves do not find together afterwards the message says it."""
    try:
        report, _ = launched(parts, schedule)
    except mmacalc.Error as error:
        found = re.search(r"wait for ever, (?:.*Found wrong before that: (race|wait): )?", str(error))
        return "refused" if found is None else found[1] or "for ever"
    return report.findings[0].kind


@pytest.mark.parametrize("name", WRONG)
def test_what_is_missing_around_barriers_in_lds_is_named(name):
    which, part, old, new, kind = WRONG[name]
    parts = list(KERNELS[which])
    assert old in parts[part]
    parts[part] = parts[part].replace(old, new)
    assert [first_wrong(parts, schedule) for schedule in (None, 1)] == [kind] * 2


@pytest.mark.parametrize("seed", range(3))
def test_without_barriers_in_lds_the_order_finds_the_races_that_the_shadow_finds(seed):
    """The same accesses and barriers of the workgroup, and none in LDS: what the shadow takes for a race is one, and
    the other way round."""
    chance = np.random.default_rng(seed)
    shadow, ordered = RaceShadow(256), OrderedRaces(256, 128, 4)
    for _ in range(200):
        if chance.random() < 0.2:
            for one in (shadow, ordered):
                one.barrier([0, 1], 128)
            continue
        kind = str(chance.choice(["read", "write", "atomic", "compare-and-swap"], p=[0.4, 0.2, 0.2, 0.2]))
        size = int(chance.choice([1, 2, 4, 8]))
        offsets = np.sort(chance.choice(256 // size, 5, replace=False)) * size
        waves = chance.integers(1, 5, 5)
        found = [one.note(kind, offsets, size, waves, 3) for one in (shadow, ordered)]
        assert (found[0] is None) == (found[1] is None), (kind, found)
        if found[0] is not None:
            for one in (shadow, ordered):
                one.barrier([0, 1], 128)
