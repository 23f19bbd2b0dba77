"""VGPRs above 255 of gfx1250: which registers LLVM says are meant, and a kernel that needs them."""

import random
import re

import numpy as np
import pytest

import mmacalc
from generated_kernels import compiled
from hip_kernels import assembled as assembled_kernels
from hip_kernels import hip_kernels
from llvm_mc import assembled, object_for
from mmacalc.asm.decoded import RegisterOperand
from mmacalc.asm.decoder import decode
from mmacalc.asm.decoder import text as instruction_text
from mmacalc.asm.high_registers import with_high_bits, with_registers_meant
from mmacalc.asm.operand_codes import register_text
from mmacalc.asm.tables import table
from mmacalc.questions.disassemble import object_text
from test_decoder import decodable, listed

BITS = 0x5E  # of source 0, 1, 2 and the destination: 2, 3, 1, 1


def registers(instruction):
    """The vector registers that are named, but those that the text does not have."""
    halves = [instruction, *([instruction.second] if instruction.second else [])]
    return {register_text(one) for half in halves for one in (*half.destinations, *half.sources)
            if isinstance(one, RegisterOperand) and one.file == "v"}  # fmt: skip


def test_high_bits_go_to_the_registers_that_llvm_prints(tmp_path):
    rng, target = random.Random(0), "gfx1250"
    rows = table(target, 32).every()
    halves = [row for row in rows if row.format.name.startswith("vopd")]
    found = [decodable(row, target, rng, halves) for row in rows if rng.random() < 0.3 or "fmamk" in row.name]
    codes = [code[: one.size] for one, code in filter(None, found) if registers(one)]
    codes += [mmacalc.assemble(text, target, llvm=22) for text in (
        "v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[8:23], v[24:39], v[40:47], v48, v50",
        "v_wmma_f32_16x16x32_f16 v[0:7], v[8:15], v[16:23], v[24:31]",
        "v_swmmac_f32_16x16x64_f16 v[24:31], v[0:7], v[8:23], v32",
    )]  # fmt: skip
    words = "".join(
        f"s_set_vgpr_msb {BITS}\n.long {','.join(map(str, memoryview(code).cast('I')))}\n" for code in codes
    )
    path = tmp_path / "high.o"
    path.write_bytes(object_for(target, words))
    shown, at = listed(path, target), 0
    assert len(codes) > 1000
    for code in codes:
        text = shown[at + 4][0]  # after s_set_vgpr_msb
        at += 4 + len(code)
        plain = next(decode(code, target))
        raised = registers(with_high_bits(plain, BITS))
        # Every register that has a comment is the one in the comment; the others are as they are written.
        written = re.sub(r"(v\d+\b(\.[lh])?|v\[\d+:\d+\]) ?/\*.*?\*/", "", text)
        meant = {*re.findall(r"/\*(v\S*?)\*/", text), *re.findall(r"\bv(?:\d+\b(?:\.[lh])?|\[\d+:\d+\])", written)}
        assert raised == meant, (text, raised)


TILE = """
typedef float f8 __attribute__((ext_vector_type(8)));
typedef _Float16 h16 __attribute__((ext_vector_type(16)));
extern "C" __attribute__((global, amdgpu_flat_work_group_size(32, 32), amdgpu_waves_per_eu(1, 1)))
void tile(const h16 *A, const h16 *B, f8 *D, int steps) {
    const int lane = __builtin_amdgcn_workitem_id_x();
    f8 sums[6][6];
    for (int i = 0; i < 6; ++i) for (int j = 0; j < 6; ++j) sums[i][j] = f8{0, 0, 0, 0, 0, 0, 0, 0};
    for (int step = 0; step < steps; ++step) {
        h16 a[6], b[6];
        for (int i = 0; i < 6; ++i) a[i] = A[(step * 6 + i) * 32 + lane], b[i] = B[(step * 6 + i) * 32 + lane];
#pragma unroll
        for (int i = 0; i < 6; ++i)
#pragma unroll
            for (int j = 0; j < 6; ++j)
                sums[i][j] = __builtin_amdgcn_wmma_f32_16x16x32_f16(0, a[i], 0, b[j], (short)0, sums[i][j], 0, 0);
    }
    for (int i = 0; i < 6; ++i) for (int j = 0; j < 6; ++j) D[(i * 6 + j) * 32 + lane] = sums[i][j];
}"""


def test_a_kernel_with_more_than_256_vgprs_gives_the_product(tmp_path):
    kernel = mmacalc.load(compiled(TILE, "gfx1250", tmp_path / "tile.hsaco", None, ["-O3"]))["tile"]
    assert kernel.vgpr_count > 256
    rng, steps = np.random.default_rng(0), 2
    a, b = rng.integers(-4, 5, (2, steps, 6, 16, 32)).astype(np.float16)  # step, tile, row, k
    # Lane (g i), element (c e) of k = (c g e): 2 x 2 x 8.
    packed = [np.ascontiguousarray(one.reshape(steps, 6, 16, 2, 2, 8).transpose(0, 1, 4, 2, 3, 5)) for one in (a, b)]
    out = np.zeros((6, 6, 2, 16, 8), np.float32)  # tiles, lane (g j), row (g v)
    assert mmacalc.launch(kernel, 1, 32, *packed, out, steps).findings == ()
    wanted = np.einsum("smik,snjk->mnij", a.astype(np.float32), b.astype(np.float32))
    assert np.array_equal(out.transpose(0, 1, 2, 4, 3).reshape(6, 6, 16, 16), wanted)


EXPERT = ("-mllvm", "-amdgpu-expert-scheduling-mode")


def test_the_registers_that_all_paths_mean_are_those_that_llvm_names(tmp_path):
    """In a loop too: its blocks start with what their predecessors leave."""
    options = ["-O3", *EXPERT]
    listing = compiled(TILE, "gfx1250", tmp_path / "tile.s", None, [*options, "-S"]).read_text()
    kernel = mmacalc.load(compiled(TILE, "gfx1250", tmp_path / "tile.hsaco", None, options))["tile"]
    lines = [line.split(";")[0].split("//")[0].strip() for line in listing.split("\n")]
    named = [line for line in lines if re.match(r"(v_wmma|v_dual|global_|v_mov)", line)]
    meant = [registers(one) for one in with_registers_meant(list(decode(kernel.code, "gfx1250", kernel.address)))
             if re.match(r"(v_wmma|v_dual|global_|v_mov)", one.name)]  # fmt: skip
    assert len(meant) == len(named) > 100
    for line, found in zip(named, meant):
        text = re.sub(r"v(\d+|\[\d+:\d+\]) /\*(\S*?)\*/", r"\2", line)
        assert found == {*re.findall(r"\bv(?:\d+\b|\[\d+:\d+\])", text)}, line
    assert any(int(one.strip("v[]").split(":")[0]) > 255 for found in meant for one in found)


def test_waits_that_registers_above_255_lack_are_in_a_note(tmp_path):
    listing = compiled(TILE, "gfx1250", tmp_path / "tile.s", None, ["-O3", *EXPERT, "-S"]).read_text()
    lines = listing.split("\n")
    waits = [at for at, line in enumerate(lines) if "va_vdst" in line]
    x, out = np.zeros((2, 6, 32, 16), np.float16), np.zeros((36, 32, 8), np.float32)

    def noted(text):
        report = mmacalc.launch(assembled_kernels(text, "gfx1250")["tile"], 1, 32, x, x, out, 2)
        assert report.findings == ()
        return [one.message for one in report.notes if one.kind in ("wait", "not checked")]

    assert noted(listing) == []
    found = [noted("\n".join([*lines[:at], *lines[at + 1 :]])) for at in waits[:: max(1, len(waits) // 3)]]
    assert all("va_vdst" in message for (message,) in found), found
    assert any(int(number) > 255 for (message,) in found for number in re.findall(r"\bv(\d+)", message.split(":")[0]))


def test_objects_are_shown_and_linted_with_the_registers_that_they_mean(tmp_path):
    """As llvm-objdump shows them, which does not look beyond branches."""
    path = compiled(TILE, "gfx1250", tmp_path / "tile.hsaco", None, ["-O3", *EXPERT])
    shown = [line.split("//")[0].strip() for line in object_text(path.read_bytes(), "tile", None).splitlines()]
    other = [line for line, _ in listed(path, "gfx1250").values()]
    vectors = [[line for line in lines if re.match("v_|global_", line)] for lines in (shown, other)]
    assert vectors[0] == vectors[1]
    assert sum("/*v" in line for line in vectors[0]) > 50
    report = mmacalc.lint("\n".join(shown), "gfx1250")
    assert report.findings == ()
    assert not any("s_set_vgpr_msb" in one for one in report.unchecked)


def test_clamp_makes_0_of_nan_whatever_registers_are_chosen(tmp_path):
    source = """
extern "C" __attribute__((global)) void clamp(float *out) {
    float found;
    asm volatile("s_set_vgpr_msb 0\\n v_max_num_f32_e64 %0, %1, %1 clamp" : "=v"(found) : "v"(__builtin_nanf("")));
    out[0] = found;
}"""
    kernel = mmacalc.load(compiled(source, "gfx1250", tmp_path / "clamp.hsaco"))["clamp"]
    out = np.ones(1, np.float32)
    assert mmacalc.launch(kernel, 1, 1, out).findings == ()
    assert out[0] == 0


def test_s_setreg_of_mode_chooses_registers_above_255_whatever_bits_it_names(tmp_path):
    """Bits 12 to 19 of its constant: the destination, sources 0, 1 and 2; S_SET_VGPR_MSB has the destination last."""
    source = """
extern "C" __attribute__((global)) void set(unsigned *out) {
    unsigned low, high, mode;
    asm volatile("v_mov_b32 v3, 1\\n s_set_vgpr_msb 0x40\\n v_mov_b32 v3, 5\\n"
                 "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 24, 1), 1\\n v_mov_b32 v3, 9\\n"
                 "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 24, 1), 0x4001\\n v_mov_b32 v4, v3\\n"
                 "s_set_vgpr_msb 0x41\\n s_getreg_b32 s3, hwreg(HW_REG_WAVE_MODE, 12, 8)\\n s_set_vgpr_msb 0\\n"
                 "v_mov_b32 %0, v3\\n v_mov_b32 %1, v4\\n v_mov_b32 %2, s3"
                 : "=&v"(low), "=&v"(high), "=&v"(mode) :: "v3", "v4", "s3");
    out[0] = low, out[1] = high, out[2] = mode;
}"""
    listing = compiled(source, "gfx1250", tmp_path / "set.s", None, ["-S"]).read_text()
    few = assembled_kernels(listing, "gfx1250")["set"]
    with pytest.raises(mmacalc.Error, match=r"S_SET_VGPR_MSB is 64, so it means v259; the kernel has [0-9]+ vector"):
        mmacalc.launch(few, 1, 1, np.zeros(3, np.uint32))
    listing = re.sub(r"(amdhsa_next_free_vgpr|\.vgpr_count:) +\S+", r"\1 288", listing)
    kernel = assembled_kernels(listing, "gfx1250")["set"]
    out = np.zeros(3, np.uint32)
    assert mmacalc.launch(kernel, 1, 1, out).findings == ()
    assert out.tolist() == [9, 5, 5]
    meant = [one for one in with_registers_meant(list(decode(kernel.code, "gfx1250", kernel.address)))
             if one.name == "v_mov_b32"]  # fmt: skip
    named = [instruction_text(one) for one in meant]
    assert [text for text in named if "v259" in text] == ["v_mov_b32_e32 v259, 5", "v_mov_b32_e32 v4, v259"]


@pytest.mark.parametrize(("target", "high"), [("gfx942", 0), ("gfx1100", 1), ("gfx1200", 1)])
def test_a_constant_of_pk_fmac_is_in_both_halves_from_rdna3_on(target, high, tmp_path):
    source = """
typedef _Float16 h2 __attribute__((ext_vector_type(2)));
extern "C" __attribute__((global)) void add(const h2 *x, const h2 *y, h2 *out) {
    const int at = __builtin_amdgcn_workitem_id_x();
    // v_pk_fmac_f16 v0, 1.0, v1
    asm volatile("v_mov_b32 v0, %1\\n v_mov_b32 v1, %2\\n .long 0x780002f2\\n v_mov_b32 %0, v0"
                 : "=v"(out[at]) : "v"(x[at]), "v"(y[at]) : "v0", "v1");
}"""
    kernel = mmacalc.load(compiled(source, target, tmp_path / "add.hsaco"))["add"]
    x, y = np.random.default_rng(0).integers(-9, 10, (2, 64, 2)).astype(np.float16)
    out = np.zeros_like(x)
    assert mmacalc.launch(kernel, 1, 64, x, y, out).findings == ()
    assert np.array_equal(out, x + y * np.array([1, high], np.float16))


ROTATING = """
typedef float f16v __attribute__((ext_vector_type(16)));
extern "C" __attribute__((global, amdgpu_flat_work_group_size(64, 64)))
void rotating(const float *x, const f16v *start, f16v *out, int rounds) {
    int lane = __builtin_amdgcn_workitem_id_x();
    f16v sums[15];
#pragma unroll
    for (int i = 0; i < 15; ++i) sums[i] = start[i * 64 + lane];
    for (int round = 0; round < rounds; ++round) {
        float a = x[round * 64 + lane], b = x[round * 64 + (lane ^ 5)];
        f16v first = sums[0];
#pragma unroll
        for (int i = 0; i < 15; ++i)
            sums[i] = __builtin_amdgcn_mfma_f32_32x32x2f32(a, b + i, i < 14 ? sums[i + 1] : first, 0, 0, 0);
    }
#pragma unroll
    for (int i = 0; i < 15; ++i) out[i * 64 + lane] = sums[i];
}"""


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
def test_a_kernel_that_fills_the_accvgprs_decodes_and_gives_the_product(target, tmp_path):
    """It moves sums from AccVGPR to AccVGPR, and loads and stores some of them there."""
    path = compiled(ROTATING, target, tmp_path / "rotating.hsaco", options=["-O3"])
    shown, kernel = listed(path, target), mmacalc.load(path)["rotating"]
    (section,) = [section for section in kernel.sections if section.executable]
    ours = {one.address: (instruction_text(one), one.size) for one in decode(section.data, target, section.address)}
    assert {at: ours.get(at) for at in shown} == shown
    names = " ".join(line for line, _ in shown.values())
    assert names.count("v_accvgpr_mov_b32") > 10
    assert re.search(r"global_load_dwordx4 a\[", names)
    assert re.search(r"global_store_dwordx4 v\S+, a\[", names)
    rng, lane = np.random.default_rng(0), np.arange(64)
    x = rng.integers(-3, 4, (3, 64)).astype(np.float32)
    start = rng.integers(-9, 9, (15, 64, 16)).astype(np.float32)
    out = np.zeros_like(start)
    assert mmacalc.launch(kernel, 1, 64, x, start, out, len(x)).findings == ()
    rows = np.arange(16) // 4 * 8 + np.arange(16) % 4 + (lane // 32 * 4)[:, None]  # CDNA3 ISA guide, 32x32 results
    sums = start.copy()
    for a in x:
        first = sums[0].copy()
        for i in range(15):
            product = a.reshape(2, 32).T @ (a[lane ^ 5] + i).reshape(2, 32)
            sums[i] = (sums[i + 1] if i < 14 else first) + product[rows, (lane % 32)[:, None]]
    np.testing.assert_array_equal(out, sums)


def test_a_listing_of_registers_above_255_is_assembled_as_it_is_written_and_explained_as_it_is_meant(tmp_path):
    """clang prints v[196:203] /*v[452:459]*/ where s_set_vgpr_msb has the higher bits."""
    listing = compiled(TILE, "gfx1250", tmp_path / "tile.s", None, ["-O3", "-S"]).read_text()
    lines = [line for line in listing.split("\n") if "v_wmma" in line]
    assert sum("/*v" in line for line in lines) > 5
    told = mmacalc.explain(listing, "gfx1250")
    assert len(told.lines) == len(lines) >= 36
    for line, one in zip(lines, told.lines):
        assert not one.problem
        meant = re.sub(r"v\[[\d:]+\] /\*(.*?)\*/", r"\1", line.strip()).partition(" ")[2].split(", ")
        assert [each.text for each in one.operands] == meant
    for line, (_, code) in zip(lines, assembled(lines, "gfx1250")):
        assert mmacalc.assemble(line, "gfx1250") == code
    with pytest.raises(mmacalc.Error, match=r"v\[452:459\] is beyond the last register"):
        mmacalc.assemble("v_wmma_f32_16x16x32_f16 v[0:7], v[452:459], v[8:15], v[0:7]", "gfx1250")


SWAPS = r"""extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(64, 64))) void k(int *out) {
    const int i = __builtin_amdgcn_workitem_id_x();
    int own = i, first = i, second = 100 + i;
    asm volatile("s_nop 1\n\t%s %%0, %%0\n\ts_nop 1" : "+v"(own));
    asm volatile("s_nop 1\n\t%s %%0, %%1\n\ts_nop 1" : "+v"(first), "+v"(second));
    out[i] = own; out[64 + i] = first; out[128 + i] = second; }"""


@pytest.mark.parametrize(("target", "distance"), [("gfx950", 16), ("gfx950", 32), ("gfx1250", 16)])
def test_rows_change_places_between_two_registers_and_within_one(target, distance):
    """By the ISA guide's pseudocode, one lane after another, which says what a register does with itself, too."""
    name = f"v_permlane{distance}_swap_b32"
    out = np.zeros((3, 64), np.int32)
    report = mmacalc.launch(hip_kernels(SWAPS % (name, name), target)["k"], 1, 64, out)
    own, first, second = np.arange(64), np.arange(64), 100 + np.arange(64)
    for a, b in ((own, own), (first, second)):
        for lane in range(64):
            if not lane & distance:
                a[lane + distance], b[lane] = b[lane], a[lane + distance]
    assert np.array_equal(out, [own, first, second])
    assert report.findings == ()
