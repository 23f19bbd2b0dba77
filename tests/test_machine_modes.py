"""Rounding and denormal modes of waves and of kernels, against rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

import mmacalc
from generated_kernels import compiled
from samples import sampled

SOURCE = """
#define __global__ __attribute__((global))
#define OPERATION(number, type, text, constraints...) { type d; asm volatile(text : "=v"(d) : constraints); \\
    ((type *)(out + (thread * 10 + number) * 8))[0] = d; }
extern "C" __global__ void modes(const int *mode, const char *in, char *out) {
    const int thread = __builtin_amdgcn_workitem_id_x(), wave = thread / __builtin_amdgcn_wavefrontsize();
    const int lane = thread % 64 * 72;
    const float *f = (const float *)(in + lane);
    const double *d = (const double *)(in + lane + 16);
    const unsigned *h = (const unsigned *)(in + lane + 40);
    const float fa = f[0], fb = f[1], fc = f[2];
    const double da = d[0], db = d[1], dc = d[2];
    const unsigned ha = h[0], hb = h[1], hc = h[2];
    asm volatile("s_setreg_b32 hwreg(1, 0, 8), %0" :: "s"(__builtin_amdgcn_readfirstlane(mode[wave])));
    OPERATION(0, float, "v_add_f32 %0, %1, %2", "v"(fa), "v"(fb))
    OPERATION(1, float, "v_mul_f32 %0, %1, %2", "v"(fa), "v"(fb))
    OPERATION(2, float, "v_fma_f32 %0, %1, %2, %3", "v"(fa), "v"(fb), "v"(fc))
    OPERATION(3, double, "v_add_f64 %0, %1, %2", "v"(da), "v"(db))
    OPERATION(4, double, "v_mul_f64 %0, %1, %2", "v"(da), "v"(db))
    OPERATION(5, double, "v_fma_f64 %0, %1, %2, %3", "v"(da), "v"(db), "v"(dc))
    OPERATION(6, unsigned, "v_pk_add_f16 %0, %1, %2", "v"(ha), "v"(hb))
    OPERATION(7, unsigned, "v_pk_mul_f16 %0, %1, %2", "v"(ha), "v"(hb))
    OPERATION(8, unsigned, "v_pk_fma_f16 %0, %1, %2, %3", "v"(ha), "v"(hb), "v"(hc))
    OPERATION(9, float, "v_cvt_f32_u32 %0, %1", "v"(ha))
}
"""
INPUTS = np.dtype([("f", "f4", 3), ("_", "u4"), ("d", "f8", 3), ("h", "f2", (3, 2)), ("__", "u4", 5)])
SHAPES = {np.float32: (24, -126), np.float64: (53, -1022), np.float16: (11, -14)}
NEAREST, UP, DOWN, TO_ZERO = range(4)


def given():
    """Numbers that cancel, underflow, overflow and fall between two, of 64 lanes."""
    rng, lanes = np.random.default_rng(0), np.zeros(64, INPUTS)
    for name, dtype in (("f", np.float32), ("d", np.float64), ("h", np.float16)):
        least, most = np.finfo(dtype).tiny, np.finfo(dtype).max
        values = rng.standard_normal(lanes[name].shape).astype(dtype)
        values[8:20] *= least * dtype(rng.choice([0.4, 1, 3]))
        values[20:28, 0] *= np.sqrt(least)
        values[20:28, 1] *= np.sqrt(least)
        values[20:28, 2] *= least
        values[28:36] = most / dtype(1.5) * np.sign(values[28:36])
        values[36:40, 1] = -values[36:40, 0]
        values[40:44] = dtype(-0.0)
        values[44:48, :2], values[44:48, 2] = dtype(3), dtype(-9)
        lanes[name] = values
    return lanes


def flushed(value, dtype, flush):
    return dtype(np.copysign(0, value)) if flush and abs(value) < np.finfo(dtype).tiny else value


def rounded(exact, zero, dtype, mode):
    """A fraction in a format; zero: what a sum that is zero is."""
    if exact == 0:
        return dtype(zero)
    precision, least = SHAPES[dtype]
    size = abs(exact)
    power = size.numerator.bit_length() - size.denominator.bit_length()
    power -= size < Fraction(2) ** power
    quantum = Fraction(2) ** (max(power, least) - precision + 1)
    steps, rest = divmod(size, quantum)
    away = {NEAREST: rest * 2 > quantum or (rest * 2 == quantum and steps % 2), UP: rest and exact > 0,
            DOWN: rest and exact < 0, TO_ZERO: False}[mode]  # fmt: skip
    result, most = (steps + bool(away)) * quantum, np.finfo(dtype).max
    sign = -1 if exact < 0 else 1
    if result > Fraction(float(most)):
        to_most = mode == TO_ZERO or (mode == UP and sign < 0) or (mode == DOWN and sign > 0)
        return dtype(sign) * (most if to_most else dtype(np.inf))
    return dtype(np.copysign(float(result), sign))


def zero_of(signs, mode):
    """The zero of a sum of zeros, or of terms that cancel."""
    if all(signs):
        return -0.0
    return -0.0 if any(signs) and mode == DOWN else 0.0


def wanted(name, values, mode, flush):
    dtype = type(values[0])
    values = [flushed(value, dtype, flush[0]) for value in values]
    a, b, c = (Fraction(float(value)) for value in values)
    minus = [bool(np.signbit(value)) for value in values]
    product = minus[0] != minus[1]
    exact, zero = {
        "add": lambda: (a + b, zero_of(minus[:2], mode)),
        "mul": lambda: (a * b, -0.0 if product else 0.0),
        "fma": lambda: (a * b + c, zero_of([product, minus[2]], mode)),
    }[name]()
    return flushed(rounded(exact, zero, dtype, mode), dtype, flush[1])


def check(lanes, out, bits):
    single, double = bits & 3, bits >> 2 & 3
    flush_single, flush_double = ((not bits >> at & 1, not bits >> at & 2) for at in (4, 6))
    for lane, row in zip(lanes, out):
        for number, name in enumerate(("add", "mul", "fma")):
            halves = [(row[6 + number, :4].view(np.float16)[part], [lane["h"][at, part] for at in range(3)])
                      for part in (0, 1)]  # fmt: skip
            cases = [(row[number, :4].view(np.float32)[0], list(lane["f"]), single, flush_single),
                     (row[3 + number].view(np.float64)[0], list(lane["d"]), double, flush_double),
                     *((*half, double, flush_double) for half in halves)]  # fmt: skip
            for got, values, mode, flush in cases:
                expected = wanted(name, values, mode, flush)
                assert got.tobytes() == expected.tobytes(), (name, values, hex(bits), got, expected)
        word = int(lane["h"][0].view(np.uint32)[0])
        assert row[9, :4].view(np.float32)[0] == rounded(Fraction(word), 0.0, np.float32, single)


@sampled("target", ["gfx908", "gfx942", "gfx1100", "gfx1200", "gfx1250"], 2, first=1)
def test_every_wave_computes_in_its_own_mode(target, tmp_path):
    kernel = mmacalc.load(compiled(SOURCE, target, tmp_path / "modes.hsaco"))["modes"]
    wave, lanes = kernel.wavefront_size, given()
    # All rounding modes of both, and all denormal modes of both.
    modes = np.array([one % 4 | (one * 5 >> 2) % 4 << 2 | (one * 7 >> 1) % 4 << 4 | (one // 4 + one) % 4 << 6
                      for one in range(16)], np.int32)  # fmt: skip
    assert all(len({mode >> at & 3 for mode in modes.tolist()}) == 4 for at in (0, 2, 4, 6))
    out = np.zeros((16, wave, 10, 8), np.uint8)
    assert mmacalc.launch(kernel, 1, 16 * wave, modes, lanes.view(np.uint8), out).findings == ()
    for number, bits in enumerate(modes.tolist()):
        given_here = lanes[np.arange(number * wave, (number + 1) * wave) % 64]
        check(given_here, out[number], bits)


@pytest.mark.parametrize(("option", "keeps"), [("-fgpu-flush-denormals-to-zero", False), ("-O1", True)])
def test_a_kernel_starts_in_the_mode_of_its_descriptor(option, keeps, tmp_path):
    source = """
extern "C" __attribute__((global)) void halve(float *x) { x[__builtin_amdgcn_workitem_id_x()] *= 0.5f; }"""
    options = ["-O2", option]
    kernel = mmacalc.load(compiled(source, "gfx90a", tmp_path / "halve.hsaco", None, options))["halve"]
    assert (kernel.descriptor.denormals_f32 == 3) == keeps
    x = np.full(64, np.finfo(np.float32).tiny, np.float32)
    mmacalc.launch(kernel, 1, 64, x)
    assert (x == (np.finfo(np.float32).tiny / 2 if keeps else 0)).all()
