"""Whatever is given to `launch`, arguments or objects, it runs, or an Error says why not: no other exception."""

import contextlib
import random
import struct
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import mmacalc
from mmacalc import Error
from samples import sampled

OBJECTS = [
    Path(__file__).parent / "data" / name for name in ("llvm/scale_gfx942.hsaco", "kernels/exchange_gfx942.hsaco")
]
SMALL = 300
"""Instructions of a launch: a damaged kernel may be endless."""


def tried(kernel, grid, block, *args, **options):
    """Launch; the Error, if one was raised."""
    why = ""
    try:
        mmacalc.launch(kernel, grid, block, *args, **{"limit": SMALL, **options})
    except Error as error:
        why = str(error) or "no reason"
    assert why != "no reason"
    return why


def kernels_of(path):
    """The kernels of an object; none of one that is refused."""
    with contextlib.suppress(Error):
        return list(mmacalc.load(path).values())
    return []


def usual(kernel):
    """Arguments of the right kinds."""
    shown = [one for one in kernel.arguments if not one.value_kind.startswith("hidden_")]
    return [bytes(one.size) if one.value_kind == "by_value" else np.zeros(1024, np.float32) for one in shown]


VALUES = [
    None, True, 5, -1, 1 << 31, 1 << 63, 1 << 64, 1 << 30000, 2.5, float("nan"), 1e308, 1j, "x", b"", b"12345678",
    bytearray(4), object(), [], [1, 2], (1,), {}, {1}, range(3), np.float16(2), np.int8(-1),
    np.datetime64("2026-01-01"), np.str_("x"),
    np.array(["a", "b"]), np.array([b"ab"]), np.array([None, 1]), np.zeros(3, "datetime64[s]"), np.zeros(3, "m8[s]"),
    np.zeros(0, np.float32), np.zeros((4, 4)).T[::2], np.zeros(()), np.zeros(2, ml_dtypes.bfloat16), np.float32(1),
    np.zeros(2, [("a", "f4"), ("b", "i4")]), np.zeros(2, [("a", "O")]), np.zeros(2, [("a", "U3")]), np.ma.zeros(3),
    np.zeros(4, complex), memoryview(b"1234"), lambda: 0, type, Error("x"), np.broadcast_to(1.0, (64,)),
]  # fmt: skip


@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: path.stem)
def test_every_kind_of_argument_is_taken_or_refused(path):
    for kernel in kernels_of(path):
        right = usual(kernel)
        assert not tried(kernel, 1, 64, *right, limit=100000)
        for value in VALUES:
            for place in range(len(right)):
                tried(kernel, 1, 64, *right[:place], value, *right[place + 1 :])
            for name in ("shared", "trace_wave", "limit", *([] if callable(value) else ["trace"])):
                tried(kernel, 1, 64, *right, **{name: value, **({"trace": print} if name == "trace_wave" else {})})
            tried(kernel, value, 64, *right)
            tried(kernel, 1, value, *right)


@pytest.mark.parametrize(
    ("grid", "block", "options", "why"),
    [
        (1 << 26, 64, {}, r"67108864 x 64 = 4294967296 threads along x; a dispatch has fewer than 2\^32"),
        ((1, 1 << 26), (1, 64), {}, "along y"),
        (1, 64, {"shared": 1 << 32}, "wants 4294967296 bytes of LDS"),
        (1, 64, {"shared": 1 << 62}, "bytes of LDS"),
        (1, 64, {"shared": -1}, "shared is"),
        (1, 64, {"limit": 0}, "limit is"),
        (1, 2048, {}, "at most"),
    ],
)
def test_sizes_that_no_dispatch_has_are_refused_by_name(grid, block, options, why):
    (kernel,) = kernels_of(OBJECTS[0])
    with pytest.raises(Error, match=why):
        mmacalc.launch(kernel, grid, block, *usual(kernel), **options)


def sections(content):
    """Where the headers of an ELF object's sections are."""
    (start,), (count,) = struct.unpack_from("<Q", content, 40), struct.unpack_from("<H", content, 60)
    return [start + 64 * number for number in range(count)]


def test_sections_at_any_address_are_run_or_refused(tmp_path):
    content, path, refused = OBJECTS[0].read_bytes(), tmp_path / "moved.hsaco", 0
    for header in sections(content):
        for address in (1 << 63, (1 << 64) - 1, 1 << 40, 1 << 32, 0x7FFFF000, 0):
            moved = bytearray(content)
            struct.pack_into("<Q", moved, header + 16, address)
            path.write_bytes(moved)
            found = kernels_of(path)
            refused += not found
            for kernel in found:
                tried(kernel, 1, 64, *usual(kernel))
    assert refused > 10


@sampled("count", [80, 250, 500], 1, whole=1)
@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: path.stem)
def test_a_damaged_object_runs_or_is_refused(path, count, tmp_path):
    rng, content, damaged = random.Random(5), path.read_bytes(), tmp_path / "damaged.hsaco"
    loadable = [header for header in sections(content) if struct.unpack_from("<Q", content, header + 8)[0] & 2]
    places = []
    for header in loadable:  # what is loaded, and the note, is where damage gets far
        start, size = struct.unpack_from("<2Q", content, header + 24)
        places += range(start, min(start + size, len(content)))
    for _ in range(count):
        wrong = bytearray(content)
        for _ in range(rng.randrange(1, 5)):
            wrong[rng.choice(places)] = rng.choice((0, 1, 0x7F, 0x80, 0xC0, 0xFF, rng.randrange(256)))
        damaged.write_bytes(wrong)
        for kernel in kernels_of(damaged):
            tried(kernel, 1, 64, *usual(kernel))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (";", r"the waves wait for ever, .*: nothing changes any more\. They are stopped after \d{3} instructions: "),
        ("++count;", "the launch is at its limit, stopped after 30000 instructions: "),
    ],
)
def test_a_kernel_that_never_ends_is_stopped_with_the_place_of_its_waves(body, why, tmp_path):
    """Where nothing changes any more it is stopped at once, otherwise at its limit."""
    from generated_kernels import compiled

    source = f"""extern "C" __attribute__((global)) void forever(volatile int *out) {{
        int count = 0;
        if (__builtin_amdgcn_readfirstlane(__builtin_amdgcn_workitem_id_x()) < 64) while (out[0] == 0) {{ {body} }}
        __builtin_amdgcn_s_barrier(); out[1] = 5 + count; }}"""
    kernel = mmacalc.load(compiled(source, "gfx942", tmp_path / "forever.hsaco"))["forever"]
    out = np.zeros(2, np.int32)
    first = r"1 wave at 0x\w+ \(.*\), first workgroup \(0, 0, 0\), wave 0; "
    second = r"1 wave waiting at 0x\w+ \(s_barrier\), first workgroup \(0, 0, 0\), wave 1"
    with pytest.raises(Error, match=why + first + second):
        mmacalc.launch(kernel, 1, 128, out, limit=30000)
    assert not out.any()
    out[0] = 1
    report = mmacalc.launch(kernel, 1, 128, out, limit=1000)
    assert (out[1], report.findings) == (5, ())
    with pytest.raises(Error, match="limit"):
        mmacalc.launch(kernel, 1, 128, out, limit=report.executed - 2)
    mmacalc.launch(kernel, 1, 128, out, limit=report.executed)


# --- pointers that lie in memory ---

GROUPED = """extern "C" __attribute__((global)) void grouped(float **from, float **into, int *sizes) {
    int t = __builtin_amdgcn_workitem_id_x(), group = __builtin_amdgcn_workgroup_id_x();
    if (t < sizes[group]) into[group][t] = 2 * from[group][t]; }"""


@pytest.fixture(scope="module", params=["gfx942", "gfx1100", "gfx1250"])
def grouped(request, tmp_path_factory):
    from generated_kernels import compiled

    return mmacalc.load(compiled(GROUPED, request.param, tmp_path_factory.mktemp("g") / "g.hsaco"))["grouped"]


def pointers(arrays):
    return np.array([mmacalc.address_of(array) for array in arrays], np.uint64)


def test_a_kernel_follows_addresses_that_lie_in_memory_and_stays_in_their_arrays(grouped):
    whole = np.arange(96, dtype=np.float32)
    given = [np.arange(10, dtype=np.float32), whole[32:64], whole[64:]]  # two of them are parts of one array
    out, sizes = [np.zeros(32, np.float32) for _ in given], np.array([10, 32, 32], np.int32)
    report = mmacalc.launch(grouped, 3, 64, pointers(given), pointers(out), sizes)
    assert report.findings == ()
    for x, y in zip(given, out):
        assert np.array_equal(y[: len(x)], 2 * x)
        assert not y[len(x) :].any()
    before = [np.array(array) for array in out]
    sizes[0] = 11
    with pytest.raises(Error, match=r"just past the end of the array of address_of \(float32 of shape \(10,\)\)"):
        mmacalc.launch(grouped, 3, 64, pointers(given), pointers(out), sizes)
    assert all(np.array_equal(a, b) for a, b in zip(before, out))


def test_an_address_is_the_arrays_own_also_as_an_argument_and_ends_with_it(grouped):
    x, out = np.ones(8, np.float32), [np.zeros(8, np.float32)]
    assert mmacalc.address_of(x) == mmacalc.address_of(x)
    assert mmacalc.address_of(x[3:]) - mmacalc.address_of(x) == 12
    gone = pointers([np.ones(8, np.float32)])  # nothing else keeps it
    with pytest.raises(Error, match=r"in no memory that the kernel was given|bytes (after|before)"):
        mmacalc.launch(grouped, 1, 64, gone, pointers(out), np.array([8], np.int32))
    for wrong in (5, [1.0], np.zeros((4, 4)).T[::2], np.array(["a"]), np.array([None])):
        with pytest.raises(Error, match=r"address_of|contiguous"):
            mmacalc.address_of(wrong)
    own = np.zeros(2, np.uint64)  # an array that points to itself
    own[:] = mmacalc.address_of(own)
    mmacalc.launch(grouped, 1, 64, own, own, np.array([1], np.int32))
