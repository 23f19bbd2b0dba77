"""Atomic operations, compiled and run: every order of the threads gives what NumPy's reductions give."""

from functools import reduce
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import mmacalc
from generated_kernels import compiled
from hip_kernels import hip_kernels
from samples import sampled, sized

SOURCE = (Path(__file__).parent / "data/kernels/atomics.hip").read_text()
TARGETS = ("gfx942", "gfx908", "gfx90a", "gfx1250", "gfx950", "gfx1100", "gfx1200")
PLACES = np.dtype([("u", "u4", 16), ("i", "i4", 16), ("w", "u8", 16), ("d", "f8", 16), ("f", "f4", 16)])
RETURNED = np.dtype([("ticket", "u4"), ("swapped", "u4"), ("wide", "u8"), ("sum", "f4"), ("_", "u4")])


@pytest.fixture(scope="module", params=sized(TARGETS, 1, whole=1))
def kernels(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("atomics") / "atomics.hsaco"
    return mmacalc.load(compiled(SOURCE, request.param, path, None, ["-O2", "-munsafe-fp-atomics"]))


def started():
    place = np.zeros(1, PLACES)
    rng = np.random.default_rng(1)
    for name in ("u", "w"):
        place[name] = rng.integers(0, 1 << 32, 16)
    place["u"][0, :3] = 7, 11, 13
    place["u"][0, 9:12] = 50, 20, 5
    place["i"] = 1
    place["w"][0, 4] = 3
    place["d"], place["f"] = 3.0, 5.0
    return place


def finished(place, x):
    """What is left after all threads, in Python's integers, and floats that are exact."""
    done = place.copy()
    signed, wide = x.view(np.int32).astype(np.int64), [int(one) for one in x]
    u, i, w, d, f = (done[name][0] for name in "uiwdf")
    u[0] += np.uint32(256)
    u[1], u[2] = ((int(u[1]) + sum(wide)) % 2**32, (int(u[2]) - sum(wide)) % 2**32)
    u[3], u[4] = min(u[3], x.min()), max(u[4], x.max())
    u[5] = np.bitwise_and.reduce(x | 0xFF) & u[5]
    u[6] = np.bitwise_or.reduce(x & 0xFF00) | u[6]
    u[7] = np.bitwise_xor.reduce(x) ^ u[7]
    u[9], u[10] = (50 + 256) % 100, (20 - 256) % 100
    u[11] = 5 * pow(3, 256, 2**32) % 2**32
    i[0], i[1] = min(1, signed.min()), max(1, signed.max())
    w[0] = (int(w[0]) + sum(one << 20 for one in wide)) % 2**64
    w[1] = max(int(w[1]), max(wide) << 31)
    w[2] = min([int(w[2].view(np.int64)), *(-one for one in wide)]) % 2**64
    w[3] = reduce(lambda total, one: total ^ one << 7, wide, int(w[3]))
    w[4] = 3 * pow(5, 256, 2**64) % 2**64
    floats = signed.astype(np.float32)
    f[0] += (x & 255).sum()
    f[1], f[2] = min(5, floats.min()), max(5, floats.max())
    d[0] += (x & 65535).sum()
    d[1], d[2] = min(3, signed.min()), max(3, signed.max())
    return done


def test_atomics_of_global_memory_lds_and_flat_addresses_are_those_of_any_order(kernels):
    x = np.random.default_rng(0).integers(0, 1 << 32, 256, dtype=np.uint32)
    places = [started(), started()]
    copies, back = np.zeros(2, PLACES), np.zeros((4, 256), RETURNED)
    arguments = [one.view(np.uint8) for one in (*places, copies, back)]
    assert mmacalc.launch(kernels["everywhere"], 1, 256, *arguments, x, 0).findings == ()
    wanted = finished(started(), x)
    for number, got in enumerate((*places, copies[:1], copies[1:])):
        for name in PLACES.names:
            for at in range(16):
                if (name, at) != ("u", 8):
                    assert got[name][0, at] == wanted[name][0, at], (number, name, at)
    for number, swapped in enumerate(
        (copies["u"][0, 8], copies["u"][1, 8], places[1]["u"][0, 8], places[0]["u"][0, 8])
    ):
        assert sorted(back["ticket"][number]) == list(range(7, 263))
        # Every number that was put there came out again but the last, and the first one.
        first = started()["u"][0, 8]
        assert sorted([*back["swapped"][number], swapped]) == sorted([first, *range(1, 257)])
        order = np.argsort(back["ticket"][number])
        total = started()["f"][0, 0] + np.cumsum(x[order] & 255) - (x[order] & 255)
        assert np.array_equal(back["sum"][number][order], total)
        wide = [(int(started()["w"][0, 0]) + before) % 2**64
                for before in np.cumsum([0, *(int(one) << 20 for one in x[order][:-1])], dtype=object)]  # fmt: skip
        assert back["wide"][number][order].tolist() == wide


def test_packed_sums_round_each_half(kernels):
    rng = np.random.default_rng(0)
    for name, dtype in (("packed", np.float16), ("packed_short", ml_dtypes.bfloat16)):
        if name not in kernels:
            continue
        x, out = rng.integers(-7, 8, (64, 2)).astype(dtype), np.array([[3, -5]], dtype)
        copy = np.zeros_like(out)
        wanted = out.astype(float) + x.astype(float).sum(0)
        assert np.abs(wanted).max() < 128  # exact in both formats
        report = mmacalc.launch(kernels[name], 1, 64, out, x, *([copy] if name != "packed" else []))
        assert report.findings == ()
        assert np.array_equal(out.astype(float), wanted)
        assert name == "packed" or np.array_equal(copy.astype(float), wanted)


UNUSED = """
#define LANE __builtin_amdgcn_workitem_id_x()
#define KERNEL(name, place) extern "C" __attribute__((global)) void name(unsigned *out) { place
#define EACH \\
    __hip_atomic_exchange(h + LANE, 5u, __ATOMIC_RELAXED, SCOPE); \\
    unsigned wanted = LANE & 1 ? 5u : 6u; \\
    __hip_atomic_compare_exchange_strong(h + LANE, &wanted, 7u, __ATOMIC_RELAXED, __ATOMIC_RELAXED, SCOPE); \\
    __builtin_amdgcn_atomic_inc32(h + 64, 9, __ATOMIC_RELAXED, "agent"); \\
    __builtin_amdgcn_atomic_dec32(h + 65, 9, __ATOMIC_RELAXED, "agent");
#define SCOPE __HIP_MEMORY_SCOPE_AGENT
KERNEL(global_memory, unsigned *h = out;) EACH }
KERNEL(lds, __attribute__((shared)) static unsigned h[66];)
    h[LANE] = 0; if (LANE < 2) h[64 + LANE] = 0;
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    EACH
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    out[LANE] = h[LANE]; if (LANE < 2) out[64 + LANE] = h[64 + LANE];
}
"""


@pytest.mark.parametrize("target", ["gfx908", "gfx942", "gfx1100", "gfx1201"])
def test_atomics_whose_result_nobody_asks_for_leave_the_same(target, tmp_path):
    kernels = mmacalc.load(compiled(UNUSED, target, tmp_path / "unused.hsaco", None, ["-O2"]))
    for name in ("global_memory", "lds"):
        out = np.zeros(66, np.uint32)
        assert mmacalc.launch(kernels[name], 1, 64, out).findings == ()
        assert out.tolist() == [5, 7] * 32 + [64 % 10, -64 % 10]


BUFFERS = {
    "gfx90a": "buffer_atomic_add %0, %1, %2, 0 offen glc",
    "gfx942": "buffer_atomic_add %0, %1, %2, 0 offen sc0",
    "gfx1100": "buffer_atomic_add_u32 %0, %1, %2, 0 offen glc",
    "gfx1201": "buffer_atomic_add_u32 %0, %1, %2, null offen th:TH_ATOMIC_RETURN",
}


@pytest.mark.parametrize("target", BUFFERS)
def test_atomics_through_a_buffer_return_what_was_there_and_zero_beyond_its_records(target, tmp_path):
    source = """typedef unsigned u4 __attribute__((ext_vector_type(4)));
extern "C" __attribute__((global)) void k(unsigned *x, unsigned *out) {
    unsigned lane = __builtin_amdgcn_workitem_id_x(), value = lane + 1, at = 4 * lane;
    u4 resource = {(unsigned)(long long)x, (unsigned)((long long)x >> 32) & 0xffff, 80, 0x31004000};
    asm volatile("TEXT\\n" WAIT : "+v"(value) : "v"(at), "s"(resource) : "memory");
    out[lane] = value; }"""
    wait = '"s_wait_loadcnt 0"' if target == "gfx1201" else '"s_waitcnt vmcnt(0)"'
    path = compiled(source.replace("TEXT", BUFFERS[target]).replace("WAIT", wait), target, tmp_path / "k.hsaco")
    x, out, lane = np.arange(32, dtype=np.uint32) * 1000, np.full(32, 7, np.uint32), np.arange(32)
    report = mmacalc.launch(mmacalc.load(path)["k"], 1, 32, x, out)
    assert report.findings == ()
    assert out.tolist() == np.where(lane < 20, 1000 * lane, 0).tolist()
    assert x.tolist() == np.where(lane < 20, 1001 * lane + 1, 1000 * lane).tolist()


SHORT = """extern "C" __attribute__((global)) void k(unsigned short *y, const unsigned char *b, float *z, int n) {
    int i = __builtin_amdgcn_workitem_id_x();
    unsigned short old = i;
    if (i < n) __hip_atomic_compare_exchange_strong(y + i, &old, (unsigned short)(i + 7), __ATOMIC_RELAXED,
        __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    z[i] = b[4];
}"""


@sampled("target", TARGETS, 2)
def test_an_aligned_word_that_llvm_accesses_for_16_bits_may_reach_beyond_the_last_of_them(target):
    """Atomic operations of 16 bits are ones on the word around them, and scalar loads of 8 bits load it whole."""
    kernel = hip_kernels(SHORT, target)["k"]
    y, b, z = np.arange(25, dtype=np.uint16), np.arange(5, dtype=np.uint8), np.zeros(64, np.float32)
    assert mmacalc.launch(kernel, 1, 64, y, b, z, 25).findings == ()
    assert (y == np.arange(25) + 7).all()
    assert (z == 4).all()
    with pytest.raises(mmacalc.Error, match=r"outside|past the end|after the last byte"):
        mmacalc.launch(kernel, 1, 64, y, b, z, 27)  # the next word
