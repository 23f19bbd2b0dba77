"""Registers that instructions do not name, those that nothing has set, and accesses by the scalar unit."""

import numpy as np
import pytest

import mmacalc
from generated_kernels import compiled
from mmacalc import Error

HEAD = """extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(THREADS, THREADS)))
void k(int *o, int *p) { int i = __builtin_amdgcn_workitem_id_x(), x = 0; BODY; o[i] = x; }"""


@pytest.fixture
def run(tmp_path):
    """Runs statements on int *o, *p, int i, x; gives o, p and the findings' kinds and texts."""

    def run(target, body, threads=64, p=None):
        path = tmp_path / "k.hsaco"
        compiled(HEAD.replace("THREADS", str(threads)).replace("BODY", body), target, path)
        o, p = np.full(threads, -1, np.int32), np.arange(16, dtype=np.int32) if p is None else p
        report = mmacalc.launch(mmacalc.load(path)["k"], 1, threads, o, p)
        return o, p, [(one.kind, one.message) for one in report.findings], report

    return run


def asm(text, *outputs, more=""):
    """A volatile statement of several lines."""
    lines = " ".join(f'"{line}\\n"' for line in text.splitlines())
    return f"asm volatile({lines} : {', '.join(outputs)} {more});"


X, SX = '"=v"(x)', '"=s"(x)'


@pytest.mark.parametrize("target", ["gfx1200", "gfx1201", "gfx1250"])
def test_ttmp8_has_the_number_of_the_wave_in_its_workgroup(target, run):
    o, _, findings, _ = run(target, asm("s_bfe_u32 %0, ttmp8, 0x50019", SX), 128)
    assert o.reshape(4, 32).tolist() == [[wave] * 32 for wave in range(4)]
    assert findings == []


@pytest.mark.parametrize(("target", "register", "name"), [
    ("gfx1200", "ttmp3", "ttmp3"), ("gfx1200", "ttmp8", "ttmp8"), ("gfx942", "ttmp6", "ttmp6"),
    ("gfx942", "s77", "s77"), ("gfx1100", "m0", "m0"), ("gfx942", "vcc_hi", "vcc_hi"), ("gfx90a", "flat_scratch_lo",
    "flat_scratch"), ("gfx942", "src_scc", "scc"),
])  # fmt: skip
def test_a_scalar_register_that_nothing_sets_is_uninitialised(target, register, name, run):
    _, _, findings, _ = run(target, asm(f"s_mov_b32 %0, {register}", SX))
    assert [kind for kind, _ in findings] == ["uninitialised"]
    assert f"{name}, which no instruction has written" in findings[0][1]


@pytest.mark.parametrize(("target", "line", "number"), [
    ("gfx942", "s_getreg_b32 %0, hwreg(HW_REG_XCC_ID)", 0), ("gfx1250", "s_getreg_b32 %0, hwreg(HW_REG_IB_STS2, 6, 4)",
    0), ("gfx942", "s_getreg_b32 %0, hwreg(HW_REG_MODE, 4, 4)", 15),
    ("gfx942", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3\ns_nop 1\ns_getreg_b32 %0, hwreg(HW_REG_MODE, 0, 2)", 3),
    ("gfx1200", "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), 0\ns_mov_b32 %0, 7", 7),
    ("gfx1250", "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 24, 1), 1\ns_mov_b32 %0, 8", 8),
    ("gfx1201", "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 27, 1), 1\ns_mov_b32 %0, 9", 9),
])  # fmt: skip
def test_hardware_registers_with_a_known_value(target, line, number, run):
    o, _, findings, report = run(target, asm(line, SX))
    assert (set(o.tolist()), findings) == ({number}, [])
    assert any("XCC_ID is 0" in text for text in report.warnings) == ("XCC" in line)


@pytest.mark.parametrize(("target", "line", "message"), [
    ("gfx942", "s_getreg_b32 %0, hwreg(HW_REG_STATUS)", "HW_REG_STATUS, bits 0 to 31, is not covered"),
    ("gfx1250", "s_getreg_b32 %0, hwreg(HW_REG_IB_STS2)", "HW_REG_IB_STS2, bits 0 to 31, is not covered"),
    ("gfx942", "s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 0, 4), 1\ns_mov_b32 %0, 0", "HW_REG_TRAPSTS is not covered"),
    ("gfx942", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 7), 127\ns_mov_b32 %0, 0", "changes bits of HW_REG_MODE"),
    ("gfx1250", "v_wmma_ld_scale_paired_b32 v40, v41\ns_mov_b32 %0, 0", "take these scales, .* is not public"),
    ("gfx1200", "s_barrier_signal -2\ns_mov_b32 %0, 0", "of a barrier of the trap handler"),
])  # fmt: skip
def test_what_is_set_and_not_modelled_is_refused_by_name(target, line, message, run):
    with pytest.raises(Error, match=message):
        run(target, asm(line, SX))


def test_index_mode_moves_writelane_and_readlane(run):
    body = asm(
        "v_mov_b32 v40, 0\nv_mov_b32 v42, %1\ns_mov_b32 s20, 2\ns_nop 4\ns_set_gpr_idx_on s20, gpr_idx(SRC0,DST)\n"
        "v_readlane_b32 s21, v40, 5\nv_writelane_b32 v40, 7, 3\ns_set_gpr_idx_off\ns_nop 4\nv_add_u32 %0, v42, s21",
        X, more=': "v"(i) : "v40", "v42", "s20", "s21"',
    )  # fmt: skip
    o, _, findings, _ = run("gfx942", body)
    assert o.tolist() == [5 + (7 if lane == 3 else lane) for lane in range(64)]
    assert findings == []


def test_setvskip_skips_vector_instructions_until_it_is_cleared(run):
    body = asm(
        "v_mov_b32 %0, 1\ns_mov_b32 s20, 4\ns_setvskip s20, 2\nv_mov_b32 %0, 2\nv_readfirstlane_b32 s20, %0\n"
        "s_setvskip s20, 0\nv_add_u32 %0, %0, s20",
        '"=&v"(x)', more=': : "s20"',
    )  # fmt: skip
    o, _, findings, _ = run("gfx942", body)
    assert (set(o.tolist()), findings) == ({5}, [])


@pytest.mark.parametrize(("target", "omod", "number"), [
    ("gfx942", "", 3.0), ("gfx942", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0\n", 3.0),
    ("gfx942", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 6), 0x20\n", 3.0),
    ("gfx942", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 9, 1), 0\ns_nop 1\n"
     "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0\n", 6.0),
    ("gfx1200", "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 4, 2), 0\n", 6.0),
])  # fmt: skip
def test_output_modifiers_are_ignored_with_subnormal_results_and_in_ieee_mode(target, omod, number, run):
    o, _, _, _ = run(target, asm(omod + "v_add_f32_e64 %0, 1.0, 2.0 mul:2", X))
    assert set(o.view(np.float32).tolist()) == {number}


STORE = """s_store_dword %1, %2, 0x8
s_buffer_store_dword %1, s[20:23], 0xc
s_buffer_store_dword %1, s[20:23], 0x10
s_atomic_add s24, %2, 0x0 glc
s_waitcnt lgkmcnt(0)
s_add_u32 %0, s24, 0"""
RESOURCE = "s_mov_b64 s[20:21], {}\ns_mov_b32 s22, 16\ns_mov_b32 s23, 0x20000\n"


def test_scalar_stores_and_atomic_operations_keep_within_the_resource(run):
    body = asm(RESOURCE.format("%2") + "s_mov_b32 s24, 5\ns_nop 4\n" + STORE, SX,
               more=': "s"(7), "s"(p) : "s20", "s21", "s22", "s23", "s24"')  # fmt: skip
    o, p, findings, _ = run("gfx90a", body, p=np.array([100, 1, 2, 3, 4], np.int32))
    assert (p.tolist(), set(o.tolist()), findings) == ([105, 1, 7, 7, 4], {100}, [])


@pytest.mark.parametrize(("offset", "words"), [(0, [1, 2]), (12, [4, 0]), (16, [0, 0])])
def test_scalar_loads_beyond_the_records_give_zero(offset, words, run):
    for word, expected in enumerate(words):
        body = asm(RESOURCE.format("%1") + f"s_nop 4\ns_buffer_load_dwordx2 s[24:25], s[20:23], {offset}\n"
                   f"s_waitcnt lgkmcnt(0)\ns_mov_b32 %0, s{24 + word}", SX,
                   more=': "s"(p) : "s20", "s21", "s22", "s23", "s24", "s25"')  # fmt: skip
        o, _, findings, _ = run("gfx942", body, p=np.arange(1, 17, dtype=np.int32))
        assert (set(o.tolist()), findings) == ({expected}, [])


def test_the_base_of_a_resource_has_57_bits_on_gfx1250(run):
    """Bits 57 to 63 of the first pair are the lowest of the records: 32 bytes here."""
    body = asm("s_mov_b64 s[20:21], %1\ns_and_b32 s21, s21, 0x1ffffff\ns_mov_b32 s22, 0\ns_mov_b32 s23, 0\n"
               "s_or_b32 s21, s21, 0x40000000\ns_buffer_load_b32 s24, s[20:23], 28\n"
               "s_buffer_load_b32 s25, s[20:23], 32\ns_wait_kmcnt 0\ns_lshl_b32 s24, s24, 8\ns_or_b32 %0, s24, s25",
               SX, more=': "s"(p) : "s20", "s21", "s22", "s23", "s24", "s25"')  # fmt: skip
    o, _, findings, _ = run("gfx1250", body, p=np.arange(1, 17, dtype=np.int32))
    assert (set(o.tolist()), findings) == ({8 << 8}, [])


def test_scaled_conversions_of_gfx1250_multiply_by_the_lowest_byte_of_the_scale(run):
    body = ("unsigned a, b, c, d; " + asm("v_cvt_scale_pk8_f16_fp8 v[40:43], %1, %2\nv_mov_b32 %0, v43", X,
            more=': "v"(0x3828384038383838ull), "v"(0x80) : "v40", "v41", "v42", "v43"'))  # fmt: skip
    o, _, findings, _ = run("gfx1250", body, 32)
    assert set(o.tolist()) == {0x40003800}  # 1.0 and 0.25 (0x28), times two
    assert findings == []
    with pytest.raises(Error, match=r"scale_sel|op_sel|OP_SEL"):
        run("gfx1250", body.replace("%1, %2", "%1, %2 scale_sel:1"), 32)


@pytest.mark.parametrize(("form", "data", "one"), [("fp8", "0x3838383838383838ull", 8), ("fp4", "0x22222222u", 4)])
def test_scaled_conversions_of_gfx1250_take_the_scales_of_lanes_0_to_15(form, data, one, run):
    """Lanes n and n + 16 have the scale of lane n; of 4 bits the second half takes its second byte."""
    body = "unsigned a, b, c, d; " + asm(f"v_cvt_scale_pk8_f16_{form} v[40:43], %1, %2\nv_and_b32 %0, 0xffff, v43", X,
            more=f': "v"({data}), "v"(0x7b7f - i * 0x101 * (i < 4)) : "v40", "v41", "v42", "v43"')  # fmt: skip
    o, _, findings, _ = run("gfx1250", body, 32)
    low = [0x3C00 - 0x400 * lane if lane < 4 else 0x3C00 for lane in range(16)]
    assert o.tolist() == low + [each - (one == 4) * 0x1000 for each in low]
    assert findings == []


def test_a_sum_of_a_shift_is_undefined_from_the_lowest_undefined_bit_on(run):
    """V_LSHL_ADD carries: bits below what is undefined are defined, and only those."""
    taken = "v_lshl_add_u32 v40, v41, 8, {}\nv_and_b32 %0, {}, v40"
    for mask, kinds in (("0xff", []), ("0x100", ["uninitialised"]), ("0x80000000", ["uninitialised"])):
        body = asm("v_and_b32 v41, 1, v41\n" + taken.format("%1", mask), X, more=': "v"(i) : "v40", "v41"')
        assert [kind for kind, _ in run("gfx942", body)[2]] == kinds


@pytest.mark.parametrize(("written", "kinds"), [(64, []), (32, ["uninitialised"])])
def test_asynchronous_stores_from_lds_read_what_their_lanes_name(written, kinds, run):
    body = (
        "__attribute__((shared)) static int l[64]; int at = (int)(__UINTPTR_TYPE__)(__attribute__((address_space(3)))"
    )
    body += (
        " int *)&l[63 - i]; "
        + f"if (i < {written}) l[i] = i * 3;"
        + asm("s_wait_dscnt 0")
        + "__builtin_amdgcn_s_barrier(); "
    )
    body += asm("global_store_async_from_lds_b32 %0, %1, off\ns_wait_asynccnt 0", more=': "v"(p + i), "v"(at)')
    _, p, findings, _ = run("gfx1250", body, p=np.zeros(64, np.int32))
    assert [kind for kind, _ in findings] == kinds
    assert p.tolist() == [3 * at if at < written else -1 for at in range(63, -1, -1)]


DOT = """typedef _Float16 h2 __attribute__((ext_vector_type(2)));
extern "C" __attribute__((global)) void dots(const h2 *a, const h2 *b, const float *c, float *out, int n) {
    const int i = __builtin_amdgcn_workitem_id_x();
    const h2 swapped = {a[i][1], a[i][0]}, half = {a[i][0], -a[i][1]};
    out[i] = __builtin_amdgcn_fdot2(-a[i], b[i], c[i], false);
    out[i + n] = __builtin_amdgcn_fdot2(a[i], b[i], -c[i], false);
    out[i + 2 * n] = __builtin_amdgcn_fdot2(swapped, -b[i], -c[i], false);
    out[i + 3 * n] = __builtin_amdgcn_fdot2(half, b[i], c[i], true);
}"""


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_dot_products_by_clang_have_the_signs_and_halves_of_their_source(target, tmp_path):
    path, n = compiled(DOT, target, tmp_path / "dots.hsaco", None, ["-O2"]), 64
    rng = np.random.default_rng(0)
    a, b = rng.integers(-8, 9, (2, n, 2)).astype(np.float16)
    c, out = rng.integers(-8, 9, n).astype(np.float32), np.zeros((4, n), np.float32)
    assert mmacalc.launch(mmacalc.load(path)["dots"], 1, n, a, b, c, out, n).findings == ()
    x, y = a.astype(np.float32), b.astype(np.float32)
    wanted = [-(x * y).sum(1) + c, (x * y).sum(1) - c, -(x[:, ::-1] * y).sum(1) - c,
              np.clip((x * y * [1, -1]).sum(1) + c, 0, 1)]  # fmt: skip
    assert np.array_equal(out, np.array(wanted, np.float32))
