"""Copies of tiles by tensor descriptors (TENSOR_LOAD_TO_LDS, TENSOR_STORE_FROM_LDS) of gfx1250: every field against a
walk of the tile, what is refused, and the waits and barriers that are missing around them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import mmacalc
from hip_kernels import assembled, hip_kernels, hip_listing
from mmacalc import Error
from mmacalc.kernels.amd.tensor_copies import packed_descriptor

HEAD = """
typedef int v4i __attribute__((ext_vector_type(4)));
typedef int v8i __attribute__((ext_vector_type(8)));
#define KERNEL(N) extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(N, N))) void k
#define SHARED static __attribute__((shared))
#define I ((int)__builtin_amdgcn_workitem_id_x())
#define WAVE __builtin_amdgcn_readfirstlane(I / 32)
#define SYNC __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); \\
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
#define DONE __builtin_amdgcn_s_wait_tensorcnt(0);
#define GROUP(n) (v4i){word[4 * (n)], word[4 * (n) + 1], word[4 * (n) + 2], word[4 * (n) + 3]}
#define EIGHT (v8i){word[4], word[5], word[6], word[7], word[8], word[9], word[10], word[11]}
#define LOAD(word) __builtin_amdgcn_tensor_load_to_lds_d2(GROUP(0), EIGHT, 0);
#define STORE(word) __builtin_amdgcn_tensor_store_from_lds_d2(GROUP(0), EIGHT, 0);
"""
BYTES = 4096  # of LDS
ONE = (
    HEAD
    + """KERNEL(32)(const int *word, const unsigned *before, unsigned *after, int groups, int store) {
    SHARED unsigned lds[1024];
    for (int i = I; i < 1024; i += 32) lds[i] = before[i];
    SYNC
    if (store && groups == 2) { STORE(word) }
    else if (store) __builtin_amdgcn_tensor_store_from_lds(GROUP(0), EIGHT, GROUP(3), GROUP(4), 0);
    else if (groups == 2) { LOAD(word) }
    else __builtin_amdgcn_tensor_load_to_lds(GROUP(0), EIGHT, GROUP(3), GROUP(4), 0);
    DONE SYNC
    for (int i = I; i < 1024; i += 32) after[i] = lds[i]; }"""
)
PLACES = {
    "count": (0, 0, 2), "restore": (0, 2, 1), "wide": (0, 30, 1), "gather": (0, 31, 1), "local": (0, 32, 32),
    "address": (0, 64, 57), "type": (0, 126, 2), "mask": (1, 0, 16), "log": (1, 16, 2), "arrive": (1, 18, 1),
    "barrier": (1, 32, 16),
    "iterate": (1, 19, 1), "pad": (1, 20, 1), "interval": (1, 22, 3), "amount": (1, 25, 7),
    "bound0": (1, 48, 32), "bound1": (1, 80, 32), "bound2": (2, 0, 32), "bound3": (2, 32, 32), "bound4": (3, 48, 32),
    "tile0": (1, 112, 16), "tile1": (1, 128, 16), "tile2": (1, 144, 16), "tile3": (2, 112, 16), "tile4": (3, 80, 16),
    "stride0": (1, 160, 48), "stride1": (1, 208, 48), "stride2": (2, 64, 48), "stride3": (3, 0, 48),
    "local_step": (2, 32, 32), "step": (2, 64, 48), "repeats": (2, 112, 16),
}  # fmt: skip
"""Group, first bit and width of each field: CDNA5 ISA guide, tables 62 to 65."""
USUAL = {"count": 1, "type": 2}


def words(fields, indices=()):
    """The twenty words of a descriptor."""
    groups = [0, 0, 0, 0]
    for name, value in (USUAL | fields).items():
        group, first, width = PLACES[name]
        assert 0 <= value < 1 << width, name
        groups[group] |= value << first
    bits = 32 if fields.get("wide") else 16
    for number, index in enumerate(indices[: 256 // bits]):
        groups[2 + number * bits // 128] |= index << number * bits % 128
    sizes = (128, 256, 128, 128)
    return np.frombuffer(b"".join(one.to_bytes(size // 8, "little") for one, size in zip(groups, sizes)), np.int32)


def walked(fields, indices, lds, memory, start, store):
    """LDS and memory (bytes) after a copy of a tile whose first element is at byte `start` of memory."""
    lds, memory, size = lds.copy(), memory.copy(), 1 << fields.get("log", 0)
    tile = [fields.get(f"tile{n}", 0) for n in range(5)]
    if indices:
        tile[1] = len(indices)
    if fields.get("iterate"):
        tile[3] = 0
    for turn in range(fields.get("repeats", 0) + 1 if fields.get("iterate") else 1):
        place = fields.get("local", 0) + turn * fields.get("local_step", 0) * size
        since = 0
        for outer in itertools.product(*[range(max(1, length)) for length in reversed(tile)]):
            at = list(reversed(outer))
            if indices:
                at[1] = indices[at[1]]
            inside = all(not tile[n] or at[n] < fields.get(f"bound{n}", 0) for n in range(5))
            element = at[0] + sum(at[n + 1] * fields.get(f"stride{n}", 0) for n in range(4))
            first = start + (element + turn * fields.get("step", 0) * bool(fields.get("iterate"))) * size
            if store and inside:
                memory[first : first + size] = lds[place : place + size]
            elif not store:
                lds[place : place + size] = memory[first : first + size] if inside else 0
            place, since = place + size, since + size
            if fields.get("pad") and not store and since == 8 << fields.get("interval", 0):
                place, since = place + 4 * (fields.get("amount", 0) + 1), 0
    return lds, memory


CASES = {
    "a row": ({"log": 1, "tile0": 24, "bound0": 20}, ()),
    "bytes": ({"tile0": 12, "tile1": 5, "bound0": 20, "bound1": 5, "stride0": 20, "local": 65}, ()),
    "halves beyond both ends": ({"log": 1, "tile0": 9, "tile1": 6, "bound0": 7, "bound1": 4, "stride0": 12}, ()),
    "words beyond both ends": ({"log": 2, "tile0": 8, "tile1": 4, "bound0": 6, "bound1": 3, "stride0": 10}, ()),
    "doubles": ({"log": 3, "tile0": 6, "tile1": 4, "bound0": 5, "bound1": 4, "stride0": 7, "local": 256}, ()),
    "nothing in the tensor": ({"log": 2, "tile0": 8, "tile1": 4, "bound0": 6, "bound1": 0, "stride0": 10}, ()),
    "three dimensions": ({"log": 2, "tile0": 4, "tile1": 3, "tile2": 2, "bound0": 5, "bound1": 2, "bound2": 3,
                          "stride0": 8, "stride1": 40}, ()),
    "five dimensions": ({"log": 1, **dict(zip(("tile0", "tile1", "tile2", "tile3", "tile4"), (3, 2, 2, 3, 2))),
                         **dict(zip(("bound0", "bound1", "bound2", "bound3", "bound4"), (3, 3, 1, 2, 2))),
                         **dict(zip(("stride0", "stride1", "stride2", "stride3"), (4, 12, 30, 90)))}, ()),
    "padded rows": ({"log": 1, "tile0": 16, "tile1": 5, "bound0": 14, "bound1": 5, "stride0": 20, "pad": 1,
                     "interval": 2, "amount": 3, "local": 32}, ()),
    "padded within rows": ({"log": 2, "tile0": 6, "tile1": 2, "bound0": 6, "bound1": 4, "stride0": 6, "pad": 1,
                            "interval": 0, "amount": 127}, ()),
    "repeated": ({"log": 2, "tile0": 4, "tile1": 2, "bound0": 4, "bound1": 2, "stride0": 4, "iterate": 1,
                  "repeats": 2, "step": 17, "local_step": 33}, ()),
    "repeated in three dimensions": ({"tile0": 4, "tile1": 2, "tile2": 2, "bound0": 4, "bound1": 2, "bound2": 2,
                                      "stride0": 4, "stride1": 11, "iterate": 1, "repeats": 1, "step": 50,
                                      "local_step": 16}, ()),
    "16-bit indices": ({"log": 2, "tile0": 4, "bound0": 3, "bound1": 12, "stride0": 6, "gather": 1},
                       (11, 0, 3, 9, 7, 1, 10, 2, 5, 4, 6, 8)),
    "16-bit indices beyond": ({"log": 2, "tile0": 4, "bound0": 4, "bound1": 5, "stride0": 6, "gather": 1},
                              (0, 2, 4, 5, 9)),
    "32-bit indices": ({"log": 1, "tile0": 10, "bound0": 10, "bound1": 9, "stride0": 12, "gather": 1, "wide": 1},
                       (8, 2, 3, 0, 1, 7)),
    "padded indices": ({"log": 1, "tile0": 16, "bound0": 16, "bound1": 9, "stride0": 16, "gather": 1, "pad": 1,
                        "interval": 2, "amount": 1}, (8, 2, 3)),
}  # fmt: skip


def copied(fields, indices=(), store=False, groups=4, start=6 * 16):
    """LDS and memory after a copy on the emulator, and the same by `walked`."""
    rng = np.random.default_rng(7)
    memory, before = rng.integers(0, 256, 4096).astype(np.uint8), rng.integers(0, 256, BYTES).astype(np.uint8)
    full = fields | {"address": mmacalc.address_of(memory) + start}
    if indices:
        full["tile1"] = len(indices)
    expected = walked(fields, indices, before, memory, start, store)
    after = np.zeros_like(before)
    report = mmacalc.launch(
        hip_kernels(ONE, "gfx1250")["k"], 1, 32, words(full, indices), before.view(np.uint32), after.view(np.uint32),
        groups, int(store),
    )  # fmt: skip
    assert report.findings == ()
    return (after, memory), expected


@pytest.mark.parametrize("store", [False, True], ids=["load", "store"])
def test_every_field_of_a_descriptor_copies_what_a_walk_of_the_tile_copies(store):
    for name, (fields, indices) in CASES.items():
        plain = not indices and not any(f"tile{n}" in fields for n in (2, 3, 4)) and "iterate" not in fields
        for groups in (2, 4) if plain else (4,):
            found, expected = copied(fields, indices, store, groups)
            assert all((one == other).all() for one, other in zip(found, expected)), (name, groups)
            changed = [(one != other).any() for one, other in zip(found, copied(fields | {"count": 0}, indices)[0])]
            assert any(changed) or "nothing" in name, name


def test_a_descriptor_of_no_elements_copies_nothing():
    for fields in ({"count": 0, "tile0": 4, "bound0": 4}, {"tile0": 0, "tile1": 4, "bound1": 4}):
        (after, memory), _ = copied(fields)
        rng = np.random.default_rng(7)
        assert (memory == rng.integers(0, 256, 4096)).all()
        assert (after == rng.integers(0, 256, BYTES)).all()


ROWS = {"log": 2, "tile0": 4, "tile1": 2, "bound0": 4, "bound1": 4, "stride0": 4}
REFUSED = [
    ({"count": 2}, (), "restores a copy"), ({"restore": 1}, (), "restores a copy"),
    ({"mask": 3}, (), "workgroups 0x3 of its cluster, which has 1 workgroup"),
    ({"arrive": 1, "mask": 1}, (), "shared by workgroups of a cluster"),
    ({"tile1": 0, "tile2": 2}, (), "a dimension of 0 is unused"),
    ({"iterate": 1, "repeats": 256}, (), "more than 256 times"),
    ({"log": 0, "tile0": 5, "pad": 1}, (), "multiples of 4"),
    ({"iterate": 1, "repeats": 1, "pad": 1, "interval": 3}, (), "does not fill its last interval"),
    ({"gather": 1, "wide": 1}, range(9), "has 9 row indices of 32 bits; at most 8 fit"),
    ({"gather": 1}, (4, 1, 2), r"rows beyond its tensor's 4 among indices that decrease"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "indices", "message"), REFUSED, ids=[one[2] for one in REFUSED])
def test_what_no_source_gives_a_meaning_is_refused_by_name(fields, indices, message):
    with pytest.raises(Error, match=message):
        copied(ROWS | fields, tuple(indices))


@pytest.mark.parametrize("kind", [0, 1, 3])
def test_of_a_descriptor_that_is_no_tensors_loaded_bytes_count_as_not_written_and_stores_are_refused(kind):
    """AITER's attention kernels for gfx1250 clear the type of loads whose data they do not use."""
    with pytest.raises(Error, match=rf"is of type {kind}; that of a tensor is 2"):
        copied(ROWS | {"type": kind}, store=True)
    memory, before, after = np.ones(4096, np.uint8), np.zeros(BYTES, np.uint8), np.zeros(BYTES, np.uint8)
    full = ROWS | {"type": kind, "local": 64, "address": mmacalc.address_of(memory)}
    arguments = words(full), before.view(np.uint32), after.view(np.uint32), 4, 0
    report = mmacalc.launch(hip_kernels(ONE, "gfx1250")["k"], 1, 32, *arguments)
    assert [note.kind for note in report.notes if f"of type {kind}" in note.message] == ["not checked"]
    (found,) = report.findings
    assert (found.kind, found.lanes) == ("uninitialised", tuple(range(16, 24)))
    assert np.flatnonzero(after).tolist() == list(range(64, 96))


def test_a_scatter_into_one_row_twice_is_refused_since_no_source_says_which_remains():
    with pytest.raises(Error, match=r"stores to row 2 twice"):
        copied(ROWS | {"gather": 1}, (1, 2, 2), store=True)
    found, expected = copied(ROWS | {"gather": 1}, (1, 2, 2))
    assert all((one == other).all() for one, other in zip(found, expected))


def test_descriptors_are_packed_as_they_are_read():
    packed = packed_descriptor(0x123456789AB, 2, [5, 6, 70], [420, 70, 1], [1, 2, 64], (128, 16))
    fields = {"address": 0x123456789AB, "log": 1, "bound0": 70, "bound1": 6, "bound2": 5, "tile0": 64, "tile1": 2,
              "tile2": 1, "stride0": 70, "stride1": 420, "pad": 1, "interval": 4, "amount": 3}  # fmt: skip
    assert packed == words(fields).tobytes()
    assert (
        packed_descriptor(64, 4, [9], [1], [8], (0, 0))
        == words({"address": 64, "log": 2, "bound0": 9, "tile0": 8}).tobytes()[:48]
    )


# --- waits, barriers and bounds ---


def tile(array, rows, start=0, local=0):
    """The descriptor of some rows of a matrix, into or out of consecutive bytes of LDS."""
    packed = packed_descriptor(
        mmacalc.address_of(array) + start, array.itemsize, list(array.shape), [array.shape[1], 1],
        [rows, array.shape[1]], (0, 0),
    )  # fmt: skip
    found = np.frombuffer(packed, np.int32).copy()
    found[1] = local
    return found


TWO = (
    HEAD
    + """KERNEL(64)(const int *words, int *out, int *back) {
    SHARED int lds[256];
    const int *word = words + 12 * WAVE;
    LOAD(word) DONE SYNC
    int value = lds[I ^ 32];
    SYNC
    lds[I] = value + 1;
    SYNC
    word = words + 24 + 12 * WAVE;
    STORE(word) DONE SYNC
    lds[I ^ 32] = value;
    SYNC
    out[I] = lds[I] + value; }"""
)


def two_waves(kernel):
    """A tile of each of two waves loaded, exchanged and stored: the results and the report."""
    x, back, out = np.arange(64, dtype=np.int32).reshape(2, 32), np.zeros((2, 32), np.int32), np.zeros(64, np.int32)
    parts = [tile(array, 1, 128 * wave, 128 * wave) for array in (x, back) for wave in (0, 1)]
    report = mmacalc.launch(kernel, 1, 64, np.concatenate(parts), out, back)
    return (out, back), report


def test_a_missing_wait_or_barrier_around_copies_of_tiles_is_named():
    lines = hip_listing(TWO, "gfx1250").split("\n")
    (out, back), report = two_waves(hip_kernels(TWO, "gfx1250")["k"])
    exchanged = np.arange(64) ^ 32
    assert report.findings == ()
    assert (back.ravel() == exchanged + 1).all()
    assert (out == exchanged + (exchanged ^ 32)).all()
    waits = [at for at, line in enumerate(lines) if "s_wait_tensorcnt" in line]
    assert len(waits) == 2
    expected = (
        ("ds_load_b32", "reads byte", "the write to LDS is waited for: no wait for tensorcnt", "tensor_load_to_lds"),
        ("ds_store_b32", "writes byte", "the copy from LDS is waited for: no wait for tensorcnt", "tensor_store_from"),
    )
    for at, (name, verb, why, other) in zip(waits, expected):
        _, report = two_waves(assembled("\n".join([*lines[:at], *lines[at + 1 :]]), "gfx1250")["k"])
        first = report.findings[0]
        assert (first.kind, first.text.split()[0]) == ("wait", name)
        assert verb in first.message
        assert why in first.message
        assert first.other_text.startswith(other)
        later = next(n for n in range(at, len(lines)) if "s_barrier_signal" in lines[n])
        end = next(n for n in range(later, len(lines)) if "s_barrier_wait" in lines[n])
        without = [line for n, line in enumerate(lines) if n not in (later, end)]
        _, report = two_waves(assembled("\n".join(without), "gfx1250")["k"])
        assert "race" in {one.kind for one in report.findings}


ARRIVALS = (
    HEAD
    + """#define WORDS __attribute__((address_space(3))) volatile unsigned
KERNEL(64)(const int *word, unsigned *out, long state, long count) {
    SHARED long lds[512];
    for (int i = I; i < 512; i += 64) lds[i] = 0;
    WORDS *done = (WORDS *)&lds[500];
    WORDS *free = (WORDS *)&lds[501];
    SYNC
    if (I == 0) lds[501] = state;
    SYNC
    for (int k = 0; k < 4; k++) {
        int phase = k & 1;
        if (WAVE == 0) {
            if (k) while ((*free >> 29 & 1) != phase) __builtin_amdgcn_s_sleep(1);
            LOAD(word)
        } else {
            while ((*done >> 29 & 1) == phase) __builtin_amdgcn_s_sleep(1);
            out[32 * k + I - 32] = ((WORDS *)lds)[512 + I - 32] + k;
            __builtin_amdgcn_ds_atomic_barrier_arrive_rtn_b64((__attribute__((address_space(3))) long *)&lds[501],
                                                              count);
        }
    } }"""
)


def arriving(state, count, limit=40000):
    """Four tiles of 32 words that wave 0 loads and wave 1 takes, which tell each other by barriers in LDS."""
    kernel = hip_kernels(ARRIVALS, "gfx1250")["k"]
    x, out = np.arange(32, dtype=np.int32)[None], np.zeros(128, np.int32)
    word = tile(x, 1, 0, 2048)
    word[4] |= 1 << 18
    word[5] |= 4000 >> 3
    report = mmacalc.launch(kernel, 1, 64, word, out, state, count, limit=limit)
    return out, report


def test_copies_and_lanes_arrive_at_barriers_in_lds_and_waves_that_sleep_let_others_go_on():
    out, report = arriving(31 << 32 | 31, 1)
    assert report.findings == ()
    assert (out.reshape(4, 32) == np.arange(32) + np.arange(4)[:, None]).all()
    assert not any(note.kind == "not checked" for note in report.notes)
    with pytest.raises(Error, match="2 arrivals at a barrier in LDS where 1 are pending"):
        arriving(0, 2)
    with pytest.raises(Error, match="wait for ever"):
        arriving(63 << 32 | 63, 1)  # twice as many as arrive


OWN = (
    HEAD
    + """KERNEL(32)(const int *word, int *out, int first) {
    SHARED int lds[256];
    lds[I] = I;
    SYNC
    if (first) { STORE(word) WAIT lds[I] = -1; }
    else { LOAD(word) WAIT }
    out[I] = lds[I];
    DONE }"""
)


def test_a_wave_that_touches_its_own_tile_too_early_is_named():
    for first, message in ((0, "reads byte 0 of LDS while the load that writes it"),
                           (1, "writes byte 0 of LDS while the store that copies it")):  # fmt: skip
        for wait, kinds in (("DONE", []), ("", ["wait"]), ("__builtin_amdgcn_s_wait_tensorcnt(1);", ["wait"])):
            x, out = np.zeros((1, 32), np.int32), np.zeros(32, np.int32)
            kernel = hip_kernels(OWN.replace("WAIT", wait), "gfx1250")["k"]
            report = mmacalc.launch(kernel, 1, 32, tile(x, 1), out, first)
            assert [one.kind for one in report.findings] == kinds, (first, wait)
            assert all(message in one.message and "tensorcnt" in one.message for one in report.findings)


def test_what_a_tile_has_outside_of_memory_and_lds_stops_the_launch_and_undefined_bytes_are_found():
    x, out = np.zeros((2, 32), np.int32), np.zeros(32, np.int32)
    kernel = hip_kernels(OWN.replace("WAIT", "DONE"), "gfx1250")["k"]
    beyond, far = tile(x, 2, 64), tile(x, 2, 0, 1024 - 128)
    with pytest.raises(Error, match=r"tensor_load_to_lds.*loads 4 bytes just past the end of the array"):
        mmacalc.launch(kernel, 1, 32, beyond, out, 0)
    with pytest.raises(Error, match=r"tensor_load_to_lds.*loads 4 bytes at byte 1024 of LDS, which has 1024"):
        mmacalc.launch(kernel, 1, 32, far, out, 0)
    report = mmacalc.launch(kernel, 1, 32, tile(x, 2), out, 1)
    assert [(one.kind, one.lanes) for one in report.findings] == [("uninitialised", ())]
