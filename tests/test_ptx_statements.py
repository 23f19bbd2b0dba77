"""CUDA kernels for each group of PTX's statements, compiled by nvcc, against NumPy; none has a finding."""

import contextlib
import itertools
import math
import re

import ml_dtypes
import numpy as np
import pytest

import mmacalc
import recorded
from mmacalc.kernels.ptx.kernel import PtxKernel
from mmacalc.kernels.ptx.launch import Launch
from mmacalc.ptx.reader import read
from samples import sampled

MODULES = {target: read(recorded.text(f"ptx/groups_{target}.ptx.gz")) for target in ("sm_80", "sm_100a")}
COUNT = 128
M32, M64 = (1 << 32) - 1, (1 << 64) - 1
KERNELS = {}


def run(target, name, *args, grid=1, block=COUNT, shared=0):
    report = Launch(PtxKernel(MODULES[target], name), grid, block, args, shared).run()
    assert not report.findings, str(report)
    return report


def kernel(function):
    """A test of the kernel of its name: it gets a function that launches, and a random generator."""
    KERNELS[function.__name__] = function
    return function


@pytest.mark.parametrize("target", MODULES)
@pytest.mark.parametrize("name", sorted({function.name for function in MODULES["sm_80"].entries} - {"traps"}))
def test_kernels_of_every_group_compute_what_numpy_does(target, name):
    KERNELS[name](lambda *args, **more: run(target, name, *args, **more), np.random.default_rng(7))


def signed(value, bits=32):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def truncated(a, b):
    return abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)


@kernel
def integers(launch, random):
    a, b = random.integers(-(2**31), 2**31, (2, COUNT)).astype(np.int32)
    a[:4], b[:4] = (5, -7, 0, 2**31 - 1), (0, 3, -1, 31)
    out = np.zeros(COUNT, np.int64)
    launch(a, b, out)
    for x, y, found in zip(a.tolist(), b.tolist(), out.tolist()):
        u, v = x & M32, y & M32
        quotient = truncated(x, y or 1)
        s = signed(quotient + x - truncated(x, y | 1) * (y | 1))
        s ^= (u // (v | 1)) << 7
        s += u * v >> 5
        s += ((x * y >> 32) ^ (u * v >> 32)) & M32
        low = (u & -u).bit_length()
        s += signed_sum(u.bit_count() + 32 - u.bit_length() + low, int(f"{u:032b}"[::-1], 2))
        octets = [(v << 32 | u) >> 8 * place & 255 for place in range(8)]
        permuted = octets[0] | octets[4] << 8 | octets[1] << 16 | octets[5] << 24
        funnel = ((v << 32 | u) << (x & 31) >> 32) & M32
        s += (permuted + funnel + abs(x - y) + u) & M32
        s ^= min(x, y) * max(u, v) + abs(x)
        s += ((x >> (y & 31)) + (u >> (v & 31)) + (u << (v & 15))) & M32
        halves = ((u + v) & 0xFFFF) | ((u >> 16) + (v >> 16) & 0xFFFF) << 16
        dot = x + sum(signed(u >> 8 * k & 255, 8) * signed(v >> 8 * k & 255, 8) for k in range(4))
        s += (halves + dot) & M32
        assert (found - s) & M64 == 0, (x, y)


def signed_sum(a, b):
    """int + unsigned is unsigned in C; __brev is unsigned."""
    return (a + b) & M32


@kernel
def wide(launch, random):
    a, b = random.integers(0, 2**63, (2, COUNT), np.uint64) * np.uint64(2) + np.uint64(1)
    out = np.zeros((COUNT, 3), np.uint64)
    launch(a, b, out)
    for x, y, found in zip(a.tolist(), b.tolist(), out.tolist()):
        p = (x * y + ((y << 64) | x) - (x << 17)) & ((1 << 128) - 1)
        assert found == [p & M64, p >> 64, (x // (y | 1) + x % (y | 1)) & M64]


@kernel
def floats(launch, random):
    a, b = (random.standard_normal((2, COUNT)) * 8).astype(np.float32)
    a[:3], b[:3] = (np.nan, 0.0, -0.0), (1.0, -2.5, 3.5)
    out, double = np.zeros((COUNT, 4), np.float32), np.zeros(COUNT)
    launch(a, b, out, double)
    f = np.float32
    with np.errstate(all="ignore"):
        exact = a.astype(float) + b.astype(float)
        down = exact.astype(f)
        down = np.where(np.abs(down.astype(float)) > np.abs(exact), np.nextafter(down, f(0)), down)
        product = a.astype(float) * b.astype(float)
        up = product.astype(f)
        up = np.where(up.astype(float) < product, np.nextafter(up, f(np.inf)), up)
        assert same(out[:, 0], down + up)
        root = np.sqrt(np.abs(a).astype(float))
        low = root.astype(f)
        low = np.where(low.astype(float) ** 2 > np.abs(a).astype(float), np.nextafter(low, f(-np.inf)), low)
        assert same(out[:, 1], a / b - low)
        fused = (product + np.fmin(a, b).astype(float)).astype(f)
        assert close(out[:, 2], (((fused + np.trunc(a)) + np.rint(b)) + np.floor(a)) + np.ceil(b))
        sat = np.where(np.isnan(a), f(0), np.clip(a, 0, 1))
        assert same(out[:, 3], ((sat + np.copysign(a, b)) + np.where(np.isnan(a), f(1), f(2))) + f(1) / b)
        d, e = a.astype(float), b.astype(float)
        whole = np.where(np.isnan(d), 2.0**63 * -1, np.trunc(d * 1000.0))
        wanted = d / e + np.sqrt(np.abs(d)) + (d + e) + (d * e + d) + whole
        assert close(double, wanted, 1e-12)


def same(found, wanted):
    return ((found == wanted) | (np.isnan(found) & np.isnan(wanted))).all()


def close(found, wanted, tolerance=2e-6):
    return (np.isnan(wanted) == np.isnan(found)).all() and np.allclose(found, wanted, rtol=tolerance, equal_nan=True)


def rounded(value, kind):
    return value.astype(kind).astype(np.float64)


@kernel
def halves(launch, random):
    a, b = random.standard_normal((2, COUNT, 2)).astype(np.float16)
    out = np.zeros((COUNT, 2), np.float16)
    launch(a, b, out)
    x, y = a.astype(float), b.astype(float)
    r = rounded(x * y + rounded(x + y, np.float16), np.float16)
    r = rounded(r + np.minimum(x, y), np.float16)
    r = rounded(r + (x > y), np.float16)
    lone = rounded(x[:, :1] * y[:, 1:], np.float16)
    assert (out == rounded(r + lone, np.float16)).all()


@kernel
def bfloats(launch, random):
    kind = ml_dtypes.bfloat16
    a, b = random.standard_normal((2, COUNT, 2)).astype(kind)
    out = np.zeros((COUNT, 2), np.uint16)
    launch(a.view(np.uint16), b.view(np.uint16), out)
    x, y = a.astype(float), b.astype(float)
    r = rounded(x * y + x, kind)
    r = rounded(r + np.maximum(x, y), kind)
    assert (out.view(kind).astype(float) == rounded(r * y, kind)).all()


@kernel
def small(launch, random):
    a = (random.standard_normal((COUNT, 2)) * 200).astype(np.float32)
    codes, back = np.zeros((COUNT, 2), np.uint16), np.zeros((COUNT, 2, 2), np.float16)
    launch(a, codes, back)
    for place, (kind, most) in enumerate(((ml_dtypes.float8_e4m3fn, 448), (ml_dtypes.float8_e5m2, 57344))):
        wanted = np.clip(a, -most, most).astype(kind)
        assert (codes[:, place].copy().view(np.uint8).reshape(COUNT, 2) == wanted.view(np.uint8)).all()
        assert (back[:, place].astype(float) == wanted.astype(float)).all()


@kernel
def collatz(launch, random):
    a = random.integers(0, 1000, COUNT).astype(np.int32)
    out = np.zeros(COUNT, np.int32)
    launch(a, out)
    for i, n in enumerate(a.tolist()):
        steps = 0
        while n > 1 and steps <= 200:
            n, steps = (3 * n + 1 if n & 1 else n >> 1), steps + 1
        steps += sum(j for j in range(min(i & 7, 5)) if not j & 1)
        assert out[i] == steps


@kernel
def calls(launch, random):
    a = random.integers(-8, 8, COUNT).astype(np.float32)
    out = np.zeros(COUNT, np.float32)
    launch(a, out)
    weights, pairs = (1.0, -2.0, 0.25, 8.0), ((1, 2.5), (7, -0.125))

    def polynomial(x, n):
        s = 0.0
        for k in range(n):
            s = s * x + weights[k & 3]
        return s

    for i, x in enumerate(a.tolist()):
        s = polynomial(x, i & 7) + (polynomial(x + 1, 3) if i & 1 else 0)
        assert out[i] == np.float32(s + (i + 1 + math.trunc(x * 2) + signed(i * 3, 16)) + sum(pairs[i & 1]))


@kernel
def switched(launch, random):
    a = random.integers(-2, 9, COUNT).astype(np.int32)
    out = np.zeros(COUNT, np.int32)
    launch(a, out)
    table = [
        lambda i: i * 3,
        lambda i: i ^ 5,
        lambda i: i + 18,
        lambda i: 11,
        lambda i: -i,
        lambda i: i << 2,
        lambda i: ~i,
    ]
    assert out.tolist() == [table[n](i) if 0 <= n <= 6 else 99 for i, n in enumerate(a.tolist())]


@kernel
def local_array(launch, random):
    a = random.integers(-99, 99, 64).astype(np.int32)
    out = np.zeros(COUNT, np.int32)
    launch(a, out)
    for i in range(COUNT):
        mine = [int(a[(i + j) & 63]) * j for j in range(16)]
        for j in range(16):
            k = (mine[j] ^ i) & 15
            mine[j], mine[k] = mine[k], mine[j]
        s = 0
        for value in mine:
            s = s * 31 + value
        assert out[i] == signed(s)


@kernel
def dynamic(launch, random):
    a = random.integers(-99, 99, (3, 64)).astype(np.int32)
    out = np.zeros(3, np.int32)
    launch(a, out, grid=3, block=64, shared=256)
    assert (out == a.sum(1) + 5).all()


@kernel
def variables(launch, random):
    out = np.zeros(COUNT, np.int32)
    launch(out)
    table, weights = (3, 1, 4, 1, 5, 9, 2, 6), (4, -8, 1, 32)
    assert out.tolist() == [4 + (table[0], table[7])[i & 1] + 1 + table[i & 7] + weights[i & 3] for i in range(COUNT)]


@kernel
def atomics(launch, random):
    i32, u32, u64 = (
        np.array([5, 5, 5, 5, 5], np.int32),
        np.array([M32, 0, 0, 3, 0, 2, 9, 0], np.uint32),
        np.zeros(2, np.uint64),
    )
    f32, f64, f16 = np.zeros(1, np.float32), np.zeros(1), np.zeros(2, np.float16)
    launch(i32, u32, u64, f32, f64, f16)
    total = sum(range(COUNT))
    xor, chain, down = 5, 2, 3
    for i in range(COUNT):
        xor ^= i
        chain = chain * 3 + 1 & M32
        down = 6 if down == 0 or down > 6 else down - 1
    assert i32.tolist() == [5 + total, 1 - COUNT, COUNT - 1, xor, 5 - total]
    assert u32.tolist() == [0, M32, COUNT % 11, down, 77, chain, 9 + COUNT, 0]
    assert u64.tolist() == [(COUNT - 1) << 33, COUNT << 32]
    assert (f32[0], f64[0], f16.tolist()) == (COUNT / 2, COUNT / 4, [COUNT, 2 * COUNT])


@kernel
def warps(launch, random):
    a = random.integers(0, 100, COUNT).astype(np.int32)
    out = np.zeros(COUNT, np.int32)
    launch(a, out)
    for i in range(COUNT):
        warp, lane = a[i // 32 * 32 : i // 32 * 32 + 32].tolist(), i % 32
        r = warp[lane ^ 5] + 2 * warp[lane - 3 if lane >= 3 else lane]
        r += 3 * warp[lane + 7 if lane % 16 + 7 < 16 else lane] + 4 * warp[lane & ~7 | lane * 3 % 8]
        r += sum((x & 1) << k for k, x in enumerate(warp)) + any(x > 90 for x in warp) * 5 + 7
        r ^= sum(1 << k for k, x in enumerate(warp) if x & 3 == warp[lane] & 3)
        r += M32 + 1
        r += (sum(warp) + min(warp)) ^ max(warp)
        r ^= np.bitwise_xor.reduce(warp) + np.bitwise_or.reduce(warp) + np.bitwise_and.reduce(warp)
        r += warp[lane ^ 2] if lane & 1 else 0
        assert out[i] == signed(int(r) + 1), i


@kernel
def barriers(launch, random):
    a = random.integers(0, 30, (2, COUNT)).astype(np.int32)
    out = np.zeros((2, COUNT), np.int32)
    launch(a, out, grid=2)
    assert (out == ((a & 1).sum(1) * 100 + (a == 17).any(1) * 10 + 1)[:, None]).all()


@kernel
def specials(launch, random):
    out = np.zeros((2, 32, 4), np.uint32)
    launch(out, block=(64, 1))
    lane = np.arange(32)
    assert (out[:, :, 0] == lane + 100 * np.arange(2)[:, None]).all()
    assert (out[:, :, 1] == 1 << lane).all()
    assert (out[:, :, 2] == (1 << lane) - 1 + 64).all()
    assert (out[:, :, 3] == 2).all()


@kernel
def byte_moves(launch, random):
    a = random.integers(0, 256, (COUNT, 4)).astype(np.uint8)
    b = random.integers(-99, 99, (COUNT, 2)).astype(np.int16)
    out, c = np.zeros_like(a), np.zeros_like(b)
    launch(a, out, b, c)
    assert (out[:, :3] == a[:, :0:-1]).all()
    assert (out[:, 3] == a[:, 0] + np.uint8(1)).all()
    assert (c == np.stack([b[:, 1], -b[:, 0]], 1)).all()


@kernel
def by_value(launch, random):
    pair = np.array([(4, 2.75, -9, 0)], np.dtype([("a", "i4"), ("b", "f4"), ("c", "i2"), ("pad", "i2")]))
    vector = np.array([3, 0, 0, 5], np.int32)
    out = np.zeros(COUNT, np.int32)
    launch(pair.tobytes(), vector.tobytes(), out)
    assert (out == 4 + 2 - 9 + 15).all()


@kernel
def prints(launch, random):
    out = np.zeros(COUNT, np.int32)
    launch(out)
    assert (out == 5).all()


def test_an_assertion_and_a_trap_stop_the_launch_with_their_thread():
    with pytest.raises(mmacalc.Error, match=r"an assertion of the kernel failed; .*thread"):
        run("sm_80", "prints", np.zeros(1, np.int32), block=1)
    out = np.zeros(COUNT, np.int32)
    out[70] = 9
    with pytest.raises(mmacalc.Error, match=r"the kernel stops itself"):
        run("sm_100a", "traps", out)


RIGHT = (
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%r0]", "ld.shared.v4.f32 {%f1,%f2,%f3,%f4}, [%r0]",
    "st.shared.v2.u32 [%r0], {%r1,%r2}", "mov.b64 {%r1,%r2}, %d1", "mov.b64 %d1, {%r1,%r2}",
    "shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1", "add.s32 %r1, %r2, %r3", "bar.sync 0",
    "atom.shared.add.u32 %r1, [%r0], %r2", "selp.b32 %r1, %r2, %r3, %p1", "cvt.rn.f16x2.f32 %r1, %f1, %f2",
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r4}, {%f0,%f1,%f2,%f3}",
)  # fmt: skip
OPERANDS = (
    "%r1",
    "%f1",
    "%d1",
    "%p1",
    "5",
    "1.5",
    "s",
    "[%r0]",
    "{%r1,%r2}",
    "{%f1}",
    "{}",
    "_",
    "!%p1",
    "{{%r1},%r2}",
)


def with_statement(statement):
    return mmacalc.load(f""".version 8.0
.target sm_80
.address_size 64
.visible .entry k()
{{
 .reg .b32 %r<9>;
 .reg .f32 %f<9>;
 .reg .b64 %d<3>;
 .reg .pred %p<3>;
 .shared .align 16 .b8 s[1024];
 mov.u32 %r0, s;
 {statement};
 ret;
}}
""")["k"]


@sampled("statement", RIGHT, 6)
def test_operands_of_other_kinds_and_numbers_run_or_are_refused(statement):
    opcode, rest = statement.split(" ", 1)
    parts = re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s]+", rest)
    mmacalc.launch(with_statement(statement), 1, 32)
    for place, other in itertools.product(range(len(parts)), OPERANDS):
        for changed in ([other], [parts[place], other], []):
            text = f"{opcode} {', '.join([*parts[:place], *changed, *parts[place + 1 :]])}"
            with contextlib.suppress(mmacalc.Error):
                mmacalc.launch(with_statement(text), 1, 32)


@pytest.mark.parametrize(
    "statement",
    ["ld.shared.u32 %r1, [%r0], %r2", "st.shared.u32 [%r0], %r1, %r2", "ld.shared.v2.u32 {%r1,%r2,%r3}, [%r0]",
     "st.shared.v4.u32 [%r0], {%r1,%r2}", "mov.b64 {}, %d1",
     "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r0], %r2",
     "setp.lt.s32 %p1, %r1, {}"],
)  # fmt: skip
def test_an_operand_that_nothing_would_read_is_refused_by_name(statement):
    ((_, text, why),) = with_statement(statement).uncovered()
    assert text == statement
    assert "operand" in why or "has the operands" in why


@pytest.mark.parametrize("offset", [8, -8, 4096])
def test_a_parameter_beyond_the_last_one_or_before_the_first_stops_the_launch(offset):
    kernel = mmacalc.load(f""".version 8.0 .target sm_80 .address_size 64
.visible .entry k(.param .u64 p) {{ .reg .b64 %d<2>; ld.param.u64 %d1, [p+{offset}]; ret; }}""")["k"]
    with pytest.raises(mmacalc.Error, match="is outside the parameters, which have 8 bytes"):
        mmacalc.launch(kernel, 1, 32, np.zeros(1, np.uint32))


@pytest.mark.parametrize("block", [1, 20, 33, 48, 95])
def test_a_warp_that_is_not_full_has_only_lanes_of_its_own_cta(block):
    kernel = mmacalc.load(f""".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{{
 .reg .b32 %r<9>; .reg .b64 %d<5>; .reg .pred %p<2>;
 ld.param.u64 %d1, [p];
 mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, {block}, %r0;
 setp.ne.u32 %p1, %r2, 0;
 shfl.sync.idx.b32 %r3, %r2, 0, 31, -1;
 vote.sync.ballot.b32 %r4, %p1, -1;
 redux.sync.max.u32 %r5, %r2, -1;
 mul.wide.u32 %d2, %r2, 12; add.s64 %d3, %d1, %d2;
 st.global.u32 [%d3], %r3; st.global.u32 [%d3+4], %r4; st.global.u32 [%d3+8], %r5;
 ret;
}}""")["k"]
    out = np.zeros((3 * block, 3), np.uint32)
    assert mmacalc.launch(kernel, 3, block, out).findings == ()
    number = np.arange(3 * block)
    first = number // block * block + number % block // 32 * 32
    last = np.minimum(first + 31, number // block * block + block - 1)
    lanes = [sum(1 << one - a for one in range(a, b + 1) if one) for a, b in zip(first.tolist(), last.tolist())]
    assert np.array_equal(out, np.stack([first, np.array(lanes), last], 1))
