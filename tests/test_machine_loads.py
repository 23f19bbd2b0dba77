"""Loads that transpose, loads into LDS, and the loads that no public source describes, compiled and run."""

import numpy as np
import pytest

import mmacalc
from generated_kernels import compiled

HEADER = """
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
typedef short s4 __attribute__((ext_vector_type(4)));
typedef short s8 __attribute__((ext_vector_type(8)));
typedef int i2 __attribute__((ext_vector_type(2)));
typedef int i3 __attribute__((ext_vector_type(3)));
typedef _Float16 h8 __attribute__((ext_vector_type(8)));
typedef float f4 __attribute__((ext_vector_type(4)));
#define LDS(T) (__attribute__((address_space(3))) T *)
#define GLOBAL(T) (__attribute__((address_space(1))) T *)
static __attribute__((device)) int thread_x() { return __builtin_amdgcn_workitem_id_x(); }
"""
STAGED = """
extern "C" __global__ void turn(const unsigned *x, TYPE *out) {{
    __shared__ __attribute__((aligned(16))) unsigned tile[64 * {words}];
    for (int word = 0; word < {words}; ++word) tile[thread_x() * {words} + word] = x[thread_x() * {words} + word];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    out[thread_x()] = __builtin_amdgcn_{builtin}(LDS(TYPE)(tile + thread_x() * {words}));
}}"""
DIRECT = """
extern "C" __global__ void turn(TYPE *x, TYPE *out) {{
    out[thread_x()] = __builtin_amdgcn_{builtin}(GLOBAL(TYPE)(x + thread_x()));
}}"""
# target, builtin, its type, registers, bits of an element, lanes that transpose a tile, whether the tile is in LDS
LOADS = [
    ("gfx950", "ds_read_tr16_b64_v4i16", "s4", 2, 16, 16, True),
    ("gfx950", "ds_read_tr8_b64_v2i32", "i2", 2, 8, 16, True),
    ("gfx950", "ds_read_tr4_b64_v2i32", "i2", 2, 4, 16, True),
    ("gfx1201", "global_load_tr_b128_v8i16", "s8", 4, 16, 8, False),
    ("gfx1250", "ds_load_tr16_b128_v8i16", "s8", 4, 16, 8, True),
    ("gfx1250", "global_load_tr16_b128_v8i16", "s8", 4, 16, 8, False),
]


def kernel_of(source, target, folder, name):
    return mmacalc.load(compiled(HEADER + source, target, folder / f"{name}.hsaco"))[name]


@pytest.mark.parametrize(("target", "builtin", "kind", "words", "bits", "together", "staged"), LOADS)
def test_loads_that_transpose_give_each_lane_its_column(target, builtin, kind, words, bits, together, staged, tmp_path):
    source = (STAGED if staged else DIRECT).format(builtin=builtin, words=words).replace("TYPE", kind)
    wave, per = 64 if target == "gfx950" else 32, 32 * words // bits
    given = np.random.default_rng(0).integers(0, 1 << 32, (wave, words), dtype=np.uint32)
    out = np.zeros_like(given)
    assert mmacalc.launch(kernel_of(source, target, tmp_path, "turn"), 1, wave, given, out).findings == ()

    def elements(table):
        whole = [int.from_bytes(row.tobytes(), "little") for row in table]
        return [[one >> bits * item & (1 << bits) - 1 for item in range(per)] for one in whole]

    memory, found = elements(given), elements(out)
    for lane in range(wave):
        first, place = lane // together * together, lane % together
        spread = together // per  # lanes that fetch one k, `per` columns each
        wanted = [memory[first + k * spread + place // per][place % per] for k in range(per)]
        assert found[lane] == wanted, lane


def test_a_column_major_matrix_comes_through_a_transposing_load_into_an_mfma(tmp_path):
    source = """
extern "C" __global__ void product(const _Float16 *A, const _Float16 *B, float *D) {   // A[k][i], B[j][k]
    __shared__ __attribute__((aligned(16))) _Float16 tile[32 * 16];
    const int lane = thread_x(), group = lane / 16, place = lane % 16;
    for (int n = 0; n < 8; ++n) tile[lane * 8 + n] = A[lane * 8 + n];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    s4 half[2];
    for (int x = 0; x < 2; ++x)
        half[x] = __builtin_amdgcn_ds_read_tr16_b64_v4i16(
            LDS(s4)(tile + (8 * group + 4 * x + place / 4) * 16 + place % 4 * 4));
    const s8 both = {half[0][0], half[0][1], half[0][2], half[0][3], half[1][0], half[1][1], half[1][2], half[1][3]};
    const h8 b = *(const h8 *)(B + place * 32 + group * 8);
    const f4 d = __builtin_amdgcn_mfma_f32_16x16x32_f16(__builtin_bit_cast(h8, both), b, f4{0, 0, 0, 0}, 0, 0, 0);
    for (int n = 0; n < 4; ++n) D[(4 * group + n) * 16 + place] = d[n];
}"""
    rng = np.random.default_rng(0)
    a, b = rng.integers(-4, 5, (32, 16)).astype(np.float16), rng.integers(-4, 5, (16, 32)).astype(np.float16)
    d = np.zeros((16, 16), np.float32)
    assert mmacalc.launch(kernel_of(source, "gfx950", tmp_path, "product"), 1, 64, a, b, d).findings == ()
    assert np.array_equal(d, a.T.astype(np.float32) @ b.T.astype(np.float32))


@pytest.mark.parametrize("load", ["ds", "global"])
def test_gfx1250_transposes_8_bits_as_programs_that_ran_on_it_expect(load, tmp_path):
    """The addresses are those of a public test of MI455X, which feeds this product by both loads."""
    pointer = "LDS(i2)(staged + at)" if load == "ds" else "GLOBAL(i2)(from + at)"
    source = """
extern "C" __global__ void product(signed char *A, signed char *B, int *D) {   // A[k][i], B[k][j]
    __shared__ __attribute__((aligned(16))) signed char tiles[2][64 * 16];
    const int lane = thread_x();
    for (int n = 0; n < 32; ++n) tiles[0][lane * 32 + n] = A[lane * 32 + n], tiles[1][lane * 32 + n] = B[lane * 32 + n];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    i8 operands[2];
    for (int side = 0; side < 2; ++side) {
        signed char *from = side ? B : A, *staged = tiles[side];
        for (int x = 0; x < 4; ++x) {
            const int at = (x * 16 + 4 * (lane / 8) + lane % 4) * 16 + 8 * (lane % 8 / 4);
            const i2 got = __builtin_amdgcn_LOAD_load_tr8_b64_v2i32(POINTER);
            operands[side][2 * x] = got[0], operands[side][2 * x + 1] = got[1];
        }
    }
    const i8 d = __builtin_amdgcn_wmma_i32_16x16x64_iu8(true, operands[0], true, operands[1], i8{}, false, false);
    for (int n = 0; n < 8; ++n) D[(n + lane / 16 * 8) * 16 + lane % 16] = d[n];
}"""
    source = "typedef int i8 __attribute__((ext_vector_type(8)));" + source
    kernel = kernel_of(source.replace("POINTER", pointer).replace("LOAD_", f"{load}_"), "gfx1250", tmp_path, "product")
    rng = np.random.default_rng(0)
    a, b = rng.integers(-128, 128, (2, 64, 16)).astype(np.int8)
    d = np.zeros((16, 16), np.int32)
    assert mmacalc.launch(kernel, 1, 32, a, b, d).findings == ()
    assert np.array_equal(d, a.T.astype(np.int32) @ b.astype(np.int32))


def test_transposing_loads_without_a_source_are_refused(tmp_path):
    for target, builtin, kind, words in (("gfx1250", "ds_load_tr4_b64_v2i32", "i2", 2),
                                         ("gfx950", "ds_read_tr6_b96_v3i32", "i3", 3)):  # fmt: skip
        source = STAGED.format(builtin=builtin, words=words).replace("TYPE", kind)
        kernel = kernel_of(source, target, tmp_path, "turn")
        with pytest.raises(mmacalc.Error, match=r"is not covered: .*(no public source|unconfirmed)"):
            mmacalc.launch(kernel, 1, 32, np.zeros(256, np.uint32), np.zeros(256, np.uint32))


TO_LDS = """
extern "C" __global__ void stage(const float *x, float *out, int count) {
    __shared__ __attribute__((aligned(16))) float tile[256 * SIZE / 4];
    const int wave = thread_x() / 64, lane = thread_x() % 64, each = SIZE / 4;
    const auto from = __builtin_amdgcn_make_buffer_rsrc((void *)x, 0, count * 4, 0x00020000);
    auto *mine = (__attribute__((address_space(3))) float *)(tile + wave * 64 * each);
    LOAD;
    WAIT;
    __builtin_amdgcn_s_barrier();
    for (int n = 0; n < each; ++n)
        out[thread_x() * each + n] = 2 * tile[(thread_x() * each + n + FURTHER) % (256 * each)];
}"""
BUFFER = "__builtin_amdgcn_raw_ptr_buffer_load_lds(from, mine, SIZE, thread_x() * SIZE, 0, 0, 0)"
WHOLE = "__builtin_amdgcn_global_load_lds(GLOBAL(float)(x + thread_x() * each), mine, SIZE, 0, 0)"
WAIT = '__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); asm volatile("s_waitcnt vmcnt(0)" ::: "memory")'


def staged(target, load, size, count, folder, wait=WAIT, further="1"):
    source = TO_LDS.replace("LOAD", load).replace("WAIT", wait).replace("SIZE", str(size)).replace("FURTHER", further)
    x = np.arange(1, 1 + 256 * size // 4, dtype=np.float32)
    out = np.zeros_like(x)
    report = mmacalc.launch(kernel_of(source, target, folder, "stage"), 1, 256, x[:count].copy(), out, count)
    return report, out, 2 * np.roll(np.where(np.arange(len(x)) < count, x, 0), -1)


@pytest.mark.parametrize(
    ("target", "load", "size", "count"),
    [("gfx90a", BUFFER, 4, 200), ("gfx942", BUFFER, 4, 256), ("gfx942", WHOLE, 4, 256), ("gfx950", BUFFER, 16, 1000),
     ("gfx950", WHOLE, 12, 768)],
)  # fmt: skip
def test_loads_into_lds_put_lanes_one_after_another_and_zeros_beyond_a_buffer(target, load, size, count, tmp_path):
    report, out, wanted = staged(target, load, size, count, tmp_path)
    assert np.array_equal(out, wanted)
    assert report.findings == ()


@pytest.mark.parametrize(
    ("further", "says"),
    [("1", "while the load that writes it may be outstanding: no wait for vmcnt"),  # most lanes read their own wave's
     ("64", "before the write to LDS is waited for: no wait for vmcnt")],
)  # fmt: skip
def test_a_barrier_before_a_load_into_lds_is_waited_for_is_named(further, says, tmp_path):
    report, _, _ = staged("gfx942", WHOLE, 4, 256, tmp_path, "", further)
    (found,) = [one for one in report.findings if one.kind == "wait"]
    assert says in found.message
    assert "global_load_lds_dword" in found.other_text


@pytest.mark.parametrize(("target", "stride"), [("gfx90a", 0), ("gfx942", 4), ("gfx1100", 0), ("gfx1250", 0)])
def test_each_word_of_a_buffer_access_is_within_the_records_or_not(target, stride, tmp_path):
    """On gfx9 a stride does not matter without an index: AITER's kernels set one, and records in bytes."""
    source = """
typedef unsigned u4 __attribute__((ext_vector_type(4)));
extern "C" __global__ void copy(const unsigned *x, unsigned *out, int bytes, int start) {
    const int flags = __builtin_amdgcn_wavefrontsize() == 64 ? 0x00020000 : 0x31014000, at = thread_x() * 16;
    const auto from = __builtin_amdgcn_make_buffer_rsrc((void *)x, STRIDE, bytes, flags);
    const auto to = __builtin_amdgcn_make_buffer_rsrc(out, STRIDE, bytes - 4, flags);
    __builtin_amdgcn_raw_buffer_store_b128(__builtin_amdgcn_raw_buffer_load_b128(from, at, start, 0), to, at, 0, 0);
}""".replace("STRIDE", str(stride))
    kernel = kernel_of(source, target, tmp_path, "copy")
    x, out = np.arange(1, 65, dtype=np.uint32), np.zeros(64, np.uint32)
    assert mmacalc.launch(kernel, 1, 16, x[:59].copy(), out, 59 * 4, 8).findings == ()
    wanted = np.append(x[2:59], np.zeros(7, np.uint32))  # from the ninth byte; 58 words of out are within
    assert np.array_equal(out, np.where(np.arange(64) < 58, wanted, 0))


ASYNCHRONOUS = """
extern "C" __global__ void stage(const int *x, int *out) {
    __shared__ __attribute__((aligned(16))) int tile[SIZE / 4 * 68];
    const int lane = thread_x(), each = SIZE / 4;
    auto *here = LDS(TYPE)(tile + (lane ^ 5) * each);
    __builtin_amdgcn_global_load_async_to_lds_bBITS(GLOBAL(TYPE)(x + lane * each), here, 16, 0);
    WAIT
    __builtin_amdgcn_s_barrier();
    for (int n = 0; n < each; ++n) out[lane * each + n] = tile[4 + lane * each + n];
}"""


@pytest.mark.parametrize(("size", "kind"), [(4, "int"), (8, "i2"), (16, "i4")])
def test_asynchronous_loads_have_an_address_in_lds_for_each_lane(size, kind, tmp_path):
    head = "typedef int i4 __attribute__((ext_vector_type(4)));" + ASYNCHRONOUS.replace("SIZE", str(size))
    source = head.replace("BITS", str(8 * size)).replace("TYPE", kind)
    x, out = np.arange(1, 1 + 64 * size // 4 + 4, dtype=np.int32), np.zeros(64 * size // 4, np.int32)
    for wait, kinds in (("__builtin_amdgcn_s_wait_asynccnt(0);", set()), ("", {"wait"})):
        kernel = kernel_of(source.replace("WAIT", wait), "gfx1250", tmp_path, "stage")
        report = mmacalc.launch(kernel, 1, 64, x, out)
        # The offset of 16 bytes counts in memory and in LDS.
        wanted = x[4:].reshape(64, -1)[np.arange(64) ^ 5].ravel()
        assert np.array_equal(out, wanted)
        assert {one.kind for one in report.findings} == kinds
        assert all("asynccnt" in one.message for one in report.findings)


def test_a_load_into_lds_from_outside_every_buffer_is_named_as_it_is_written(tmp_path):
    """Synchronous and asynchronous loads into LDS, whose operands are not those of loads into registers."""
    for target, line, shown in (
        ("gfx1250", "global_load_async_to_lds_b128 %0, %1, off", r"v\d+, v\[\d+:\d+\], off"),
        ("gfx942", "global_load_lds_dword %1, off", r"v\[\d+:\d+\], off"),
    ):
        source = f"""extern "C" __attribute__((global)) void far(int *x) {{
            asm volatile("s_mov_b32 m0, 0\\n s_nop 0\\n {line}" :: "v"(0), "v"(x + 100000000)); }}"""
        kernel = mmacalc.load(compiled(source, target, tmp_path / "far.hsaco", None, ["-O2"]))["far"]
        with pytest.raises(mmacalc.Error, match=rf"{line.split()[0]} {shown}\): it loads \d+ bytes"):
            mmacalc.launch(kernel, 1, 64, np.zeros(64, np.int32))
