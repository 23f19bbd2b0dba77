"""Instructions of saturating sums, single bits, sums of differences, 8-bit floats and sines, against NumPy and LLVM."""

import ml_dtypes
import numpy as np
import pytest

import mmacalc
from generated_kernels import compiled

HEADER = """
#define LANE __builtin_amdgcn_workitem_id_x()
#define KERNEL extern "C" __attribute__((global)) void
typedef short s2 __attribute__((ext_vector_type(2)));
typedef unsigned short u2 __attribute__((ext_vector_type(2)));
#define PAIR(T, name) KERNEL name(const T *a, const T *b, T *sum, T *rest) { \\
    sum[LANE] = __builtin_elementwise_add_sat(a[LANE], b[LANE]); \\
    rest[LANE] = __builtin_elementwise_sub_sat(a[LANE], b[LANE]); }
"""
SATURATING = (
    HEADER
    + """
PAIR(int, i32) PAIR(unsigned, u32) PAIR(short, i16) PAIR(unsigned short, u16) PAIR(s2, pairs_i16) PAIR(u2, pairs_u16)
"""
)
LIMITED = {"i32": "i4", "u32": "u4", "i16": "i2", "u16": "u2", "pairs_i16": "i2", "pairs_u16": "u2"}


@pytest.mark.parametrize("target", ["gfx908", "gfx942", "gfx1100", "gfx1201"])
def test_saturating_sums_are_the_nearest_that_the_type_has(target, tmp_path):
    kernels = mmacalc.load(compiled(SATURATING, target, tmp_path / "saturating.hsaco", None, ["-O2"]))
    for name, kind in LIMITED.items():
        limits, width = np.iinfo(kind), 2 if "pairs" in name else 1
        edges = [limits.min, limits.min + 1, -1 % limits.max, 0, 1, limits.max // 2, limits.max - 1, limits.max]
        a, b = (np.array(part, np.int64).repeat(width) for part in zip(*[(x, y) for x in edges for y in edges]))
        found = [np.zeros(64 * width, kind) for _ in range(2)]
        text = mmacalc.launch(kernels[name], 1, 64, a.astype(kind), b.astype(kind), *found)
        assert text.findings == ()
        for result, exact in zip(found, (a + b, a - b)):
            assert np.array_equal(result, np.clip(exact, limits.min, limits.max)), name


DIFFERENCES = (
    HEADER
    + """
KERNEL differences(const unsigned *a, const unsigned *b, const unsigned *c, unsigned (*out)[8]) {
    const unsigned x = a[LANE], y = b[LANE], z = c[LANE], i = LANE;
    out[i][0] = __builtin_amdgcn_sad_u8(x, y, z);
    out[i][1] = __builtin_amdgcn_sad_hi_u8(x, y, z);
    out[i][2] = __builtin_amdgcn_sad_u16(x, y, z);
    out[i][3] = __builtin_amdgcn_msad_u8(x, y, z);
    out[i][4] = __builtin_amdgcn_lerp(x, y, z);
    out[i][5] = (x > y ? x - y : y - x) + z;
}
KERNEL wide(const unsigned long *a, const unsigned *b, const unsigned long *c, unsigned long (*out)[2]) {
    out[LANE][0] = __builtin_amdgcn_qsad_pk_u16_u8(a[LANE], b[LANE], c[LANE]);
    out[LANE][1] = __builtin_amdgcn_mqsad_pk_u16_u8(a[LANE], b[LANE], c[LANE]);
}
KERNEL bits(unsigned long *out, unsigned long mask, int at) {
    unsigned long with, without, moved = 5, replicated, quads;
    asm volatile("s_mov_b64 %0, %2\\n s_bitset1_b64 %0, %3\\n s_mov_b64 %1, %2\\n s_bitset0_b64 %1, %3"
                 : "=&s"(with), "=&s"(without) : "s"(mask), "s"(at));
    asm volatile("s_cmp_lg_u32 %2, 7\\n s_cmov_b64 %0, %1" : "+s"(moved) : "s"(mask), "s"(at) : "scc");
    asm volatile("s_bitreplicate_b64_b32 %0, %1" : "=s"(replicated) : "s"((int)mask));
    asm volatile("s_quadmask_b64 %0, %1" : "=s"(quads) : "s"(mask) : "scc");
    out[0] = with; out[1] = without; out[2] = moved; out[3] = replicated; out[4] = quads;
}
"""
)


def octets(words, count=4):
    return words.view(np.uint8).reshape(-1, count).astype(np.int64)


@pytest.mark.parametrize("target", ["gfx908", "gfx942", "gfx1100", "gfx1201"])
def test_sums_of_differences_and_single_bits_are_those_of_numpy(target, tmp_path):
    kernels = mmacalc.load(compiled(DIFFERENCES, target, tmp_path / "differences.hsaco", None, ["-O2"]))
    rng = np.random.default_rng(0)
    a, b, c = rng.integers(0, 1 << 32, (3, 64), dtype=np.uint32)
    b &= rng.choice(np.array([0xFFFFFFFF, 0xFF00FF, 0xFFFF], np.uint32), 64)
    out = np.zeros((64, 8), np.uint32)
    assert mmacalc.launch(kernels["differences"], 1, 64, a, b, c, out).findings == ()
    apart, wide = np.abs(octets(a) - octets(b)), c.astype(np.int64)
    halves = np.abs(*(np.subtract(*[one.view(np.uint16).reshape(-1, 2).astype(np.int64) for one in (a, b)]),))
    kept = (apart * (octets(b) != 0)).sum(1)
    mean = ((octets(a) + octets(b) + (octets(c) & 1)) // 2).astype(np.uint8).view(np.uint32)[:, 0]
    words = [wide + apart.sum(1), wide + (apart.sum(1) << 16), wide + halves.sum(1), wide + kept, mean,
             wide + np.abs(a.astype(np.int64) - b)]  # fmt: skip
    for place, expected in enumerate(words):
        assert np.array_equal(out[:, place], expected.astype(np.int64) % 2**32), place

    a, c = rng.integers(0, 1 << 64, (2, 64), dtype=np.uint64)
    out = np.zeros((64, 2), np.uint64)
    assert mmacalc.launch(kernels["wide"], 1, 64, a, b, c, out).findings == ()
    windows = [np.abs(octets(a, 8)[:, at : at + 4] - octets(b)) for at in range(4)]
    for place, counted in enumerate((1, octets(b) != 0)):
        sums = np.stack([(window * counted).sum(1) for window in windows], 1)
        assert np.array_equal(
            out[:, place].copy().view(np.uint16).reshape(64, 4), (c.view(np.uint16).reshape(64, 4) + sums) % 65536
        )

    for mask, at in ((0x123456789ABCDEF0, 37), (0xFFFFFFFFFFFFFFFF, 7), (0, 63)):
        found = np.zeros(5, np.uint64)
        assert mmacalc.launch(kernels["bits"], 1, 1, found, mask, at).findings == ()
        twice = sum(3 << 2 * place for place in range(32) if mask >> place & 1)
        quads = sum(1 << place for place in range(16) if mask >> 4 * place & 15)
        assert found.tolist() == [mask | 1 << at, mask & ~(1 << at), 5 if at == 7 else mask, twice, quads]


STOCHASTIC = (
    HEADER
    + """
KERNEL narrowed(const float *x, const unsigned *seeds, unsigned *out) {
    int both = __builtin_amdgcn_cvt_sr_fp8_f32(x[LANE], seeds[LANE], 0, 0);
    out[LANE] = __builtin_amdgcn_cvt_sr_bf8_f32(x[LANE], seeds[LANE], both, 2);
}
"""
)
FP8 = {"gfx942": ("float8_e4m3fnuz", "float8_e5m2fnuz"), "gfx950": ("float8_e4m3fn", "float8_e5m2"),
       "gfx1201": ("float8_e4m3fn", "float8_e5m2")}  # fmt: skip


@pytest.mark.parametrize("target", FP8)
def test_stochastic_rounding_goes_up_as_often_as_the_seed_says(target, tmp_path):
    kernel = mmacalc.load(compiled(STOCHASTIC, target, tmp_path / "narrowed.hsaco", None, ["-O2"]))["narrowed"]
    x = np.float32(1.0) + np.arange(64, dtype=np.float32) / 512  # 2 or 4 neighbours at most, in both formats
    for sign, power in ((1, 0), (-1, 5), (1, -3)):
        values = np.float32(sign) * np.ldexp(x, power)
        counts = np.zeros((2, 64))
        for turn in range(64):
            seeds, out = np.full(64, turn << 26, np.uint32), np.zeros(64, np.uint32)
            assert mmacalc.launch(kernel, 1, 64, values, seeds, out).findings == ()
            for place, (name, step) in enumerate(zip(FP8[target], (1 / 8, 1 / 4))):
                wide = (out >> 16 * place & 255).astype(np.uint8).view(np.dtype(getattr(ml_dtypes, name)))
                size = np.ldexp(np.abs(wide.astype(np.float32)), -power)
                low = np.floor(x / step) * step
                assert ((wide.astype(np.float32) * sign > 0) & ((size == low) | (size == low + step))).all()
                counts[place] += size > low
        for place, step in enumerate((1 / 8, 1 / 4)):
            assert np.array_equal(counts[place], np.floor((x / step - np.floor(x / step)) * 64)), name
    # The lowest bit that counts is bit 12 for FP8 and bit 11 for BF8.
    seeds = np.array([0xFFFFFFFF, 0xFFFFF000, 0xFFFFEFFF, 0xFFFFF800, 0xFFFFF7FF] + 59 * [0], np.uint32)
    assert mmacalc.launch(kernel, 1, 64, np.full(64, 1 + 2.0**-23, np.float32), seeds, out).findings == ()
    one = [int(np.ones(1, getattr(ml_dtypes, name)).view(np.uint8)[0]) for name in FP8[target]]
    assert (out[:5] & 255).tolist() == [one[0] + up for up in (1, 1, 0, 1, 1)]
    assert (out[:5] >> 16).tolist() == [one[1] + up for up in (1, 0, 0, 1, 0)]
    tiny = np.full(64, 2.0**-15 * 1.5, np.float32)
    zeros = np.zeros(64, np.uint32)
    if target == "gfx1201":
        assert mmacalc.launch(kernel, 1, 64, tiny, zeros, out).findings == ()
        assert not out[0] & 0xFF
    else:
        with pytest.raises(mmacalc.Error, match="smallest normal one, is not documented"):
            mmacalc.launch(kernel, 1, 64, tiny, zeros, out)


LOOKUPS = (
    HEADER
    + """
#define PI_BITS(n, x, s) \\
    out[n] = __builtin_amdgcn_trig_preop(values[n], segments[n]); \\
    folded[n] = __builtin_amdgcn_trig_preop(x, s);
KERNEL bits_of_pi(const double *values, const int *segments, double *out, double *folded) {
CALLS }
KERNEL faces(const float *x, const float *y, const float *z, float (*out)[4]) {
    out[LANE][0] = __builtin_amdgcn_cubeid(x[LANE], y[LANE], z[LANE]);
    out[LANE][1] = __builtin_amdgcn_cubema(x[LANE], y[LANE], z[LANE]);
    out[LANE][2] = __builtin_amdgcn_cubesc(x[LANE], y[LANE], z[LANE]);
    out[LANE][3] = __builtin_amdgcn_cubetc(x[LANE], y[LANE], z[LANE]);
}
KERNEL counted(int *out, const int *table, unsigned n) { out[LANE] = table[n & 31]; }
"""
)


@pytest.mark.parametrize("target", ["gfx942", "gfx1100", "gfx1250"])
def test_bits_of_two_over_pi_are_those_that_llvm_folds_and_faces_are_projections(target, tmp_path):
    sizes = (1.0, 1e18, -3e40, 1e200, 1e280, 1.7e308)
    cases = [(value, segment) for value in sizes for segment in (0, 1, 2, 7, 20, 21)]
    calls = "\n".join(f"PI_BITS({at}, {value!r}, {segment})" for at, (value, segment) in enumerate(cases))
    path = compiled(LOOKUPS.replace("CALLS", calls), target, tmp_path / "lookups.hsaco", None, ["-O2"])
    kernels = mmacalc.load(path)
    values, segments = np.array([one[0] for one in cases]), np.array([one[1] for one in cases], np.int32)
    out, folded = np.zeros((2, len(cases)))
    assert mmacalc.launch(kernels["bits_of_pi"], 1, 1, values, segments, out, folded).findings == ()
    assert out.tobytes() == folded.tobytes()
    assert abs(out[0] - 2 / np.pi) < 2**-52

    x, y, z = np.random.default_rng(0).choice(np.array([-3, -2, -1, 1, 2, 3], np.float32), (3, 64))
    out = np.zeros((64, 4), np.float32)
    assert mmacalc.launch(kernels["faces"], 1, 64, x, y, z, out).findings == ()
    # The face, twice the major coordinate, and the two others in the directions of the faces of a cube map.
    directions = {0: (-z, -y), 1: (z, -y), 2: (x, z), 3: (x, -z), 4: (x, -y), 5: (-x, -y)}
    for lane in range(64):
        face = int(out[lane, 0])
        point = (x, y, z)[face // 2][lane]
        assert abs(point) == max(abs(one[lane]) for one in (x, y, z))
        assert (point < 0) == face % 2
        assert out[lane, 1:].tolist() == [2 * point, *(one[lane] for one in directions[face])]

    table, out = np.arange(32, dtype=np.int32) * 3, np.zeros(64, np.int32)
    assert mmacalc.launch(kernels["counted"], 1, 64, out, table, 37).findings == ()  # gfx1250 scales the index
    assert (out == 15).all()
