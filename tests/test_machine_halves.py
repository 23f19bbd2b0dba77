"""16-bit operands of instructions are those halves that OP_SEL or the register's name says."""

import math

import numpy as np
import pytest

import mmacalc
from generated_kernels import compiled
from hip_kernels import hip_kernels
from mmacalc.asm.tables import table
from mmacalc.kernels.amd.target import MachineTarget

HALVES = {"u16", "i16", "f16", "bf16", "h16", "byte"}
OWN = {"scc", "exec", "old", "old64", "simm", "uimm"}


def test_what_op_sel_chooses_a_half_of_is_read_as_16_bits():
    """The decoder's tables, which are LLVM's, say of gfx11 of which operands a bit of OP_SEL names the half."""
    machine, chosen = MachineTarget("gfx1100", 32), set()
    for row in table("gfx1100", 32).every():
        if machine.has(row.name) and row.name.startswith("v_"):
            kinds = [kind for kind in machine.row(row.name)[0] if kind not in OWN]
            operands = [one for one in row.signature[1].split() if one[0] != ">"]
            for kind, operand in zip(kinds, operands):
                if "@" in operand:
                    chosen.add(row.name)
                    assert kind in HALVES, (row.name, operand)
    assert len(chosen) > 100


CODE = """
typedef unsigned u;
extern "C" __attribute__((global)) void halves(const u *x, const u *y, const u *z, u *out) {
    const u at = __builtin_amdgcn_workitem_id_x();
    asm volatile("v_mov_b32 v10, %4\\n v_mov_b32 v11, %5\\n v_mov_b32 v12, %6\\n"
                 LINES
                 "v_mov_b32 %0, v13\\n v_mov_b32 %1, v14\\n v_mov_b32 %2, v15\\n v_mov_b32 %3, v16\\n"
                 : "=v"(out[4 * at]), "=v"(out[4 * at + 1]), "=v"(out[4 * at + 2]), "=v"(out[4 * at + 3])
                 : "v"(x[at]), "v"(y[at]), "v"(z[at]) : "v10", "v11", "v12", "v13", "v14", "v15", "v16", "vcc");
}"""
ALIGN = "v_align{}_b32 {}, v10, v11, {}"
CLASS = "v_cmp_class_f16_e64 vcc_lo, {}\nv_cndmask_b32_e64 {}, 0, 1, vcc_lo"
NAMED = [ALIGN.format("bit", "v13", "v12.h"), ALIGN.format("byte", "v14", "v12.h"),
         CLASS.format("v10.h, v12.l", "v15"), CLASS.format("v10.l, v12.h", "v16")]  # fmt: skip
CHOSEN = [ALIGN.format("bit", "v13", "v12 op_sel:[0,0,1,0]"), ALIGN.format("byte", "v14", "v12 op_sel:[0,0,1,0]"),
          "v_lshrrev_b32 v11, 16, v10", CLASS.format("v11, v12", "v15"),
          "v_lshrrev_b32 v11, 16, v12",
          CLASS.format("v10, v11", "v16").replace("\n", "\ns_wait_alu 0xfffd\n")]  # fmt: skip


@pytest.mark.parametrize(("target", "lines"), [("gfx1100", NAMED), ("gfx1201", CHOSEN)])
def test_shifts_and_classes_take_the_half_that_is_named(target, lines, tmp_path):
    text = "\n".join(f'"{line}\\n"' for line in "\n".join(lines).split("\n"))
    path = compiled(CODE.replace("LINES", text), target, tmp_path / "halves.hsaco", None, ["-O2"])
    x, y, z = np.random.default_rng(0).integers(0, 1 << 32, (3, 32), dtype=np.uint32)
    out = np.zeros((32, 4), np.uint32)
    assert mmacalc.launch(mmacalc.load(path)["halves"], 1, 32, x, y, z, out).findings == ()
    for lane in range(32):
        both, by = int(x[lane]) << 32 | int(y[lane]), int(z[lane]) >> 16
        expected = [both >> (by & 31) & 0xFFFFFFFF, both >> 8 * (by & 3) & 0xFFFFFFFF]
        numbers = x[lane : lane + 1].view(np.float16)
        for number, mask in ((numbers[1], int(z[lane])), (numbers[0], by)):
            expected.append(mask >> the_class(number) & 1)
        assert out[lane].tolist() == expected


def the_class(number):
    """NaN (signalling, quiet), -infinity, -normal, -subnormal, -0, +0, +subnormal, +normal, +infinity."""
    if np.isnan(number):
        return int(number.view(np.uint16) >> 9 & 1)
    size = abs(float(number))
    kind = 3 if size == math.inf else 2 if size >= 2.0**-14 else 1 if size else 0
    return 5 - kind if np.signbit(number) else 6 + kind


PACKED = """extern "C" __attribute__((global)) void k(const float *a, unsigned *z) {
    int i = __builtin_amdgcn_workitem_id_x();
    asm volatile("v_cvt_pk_i16_f32 %0, %2, %3\\n v_cvt_pk_u16_f32 %1, %2, -%3"
                 : "=&v"(z[i]), "=v"(z[64 + i]) : "v"(a[i]), "v"(a[63 - i])); }"""


@pytest.mark.parametrize("target", ["gfx1100", "gfx1250"])
def test_two_floats_become_two_integers_of_16_bits_toward_zero_within_their_range(target):
    a, z = 30000 * np.random.default_rng(0).standard_normal(64).astype("f4"), np.zeros((2, 64), np.uint32)
    a[:4] = np.nan, -1.9, 1.9, 65535.7
    assert mmacalc.launch(hip_kernels(PACKED, target)["k"], 1, 64, a, z).findings == ()
    for found, kind, sign in ((z[0], np.int16, 1), (z[1], np.uint16, -1)):
        limits = np.iinfo(kind)
        for half, value in enumerate((a, sign * a[::-1])):
            wanted = np.clip(np.trunc(np.nan_to_num(value.astype("f8"))), limits.min, limits.max)
            assert (found.view(kind)[half::2] == wanted).all()
