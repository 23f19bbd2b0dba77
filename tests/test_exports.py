"""The tile of a GEMM in other languages: compiled by their compilers, run on the emulator, the layouts compared.

What the compilers made is recorded (tests/oracles/exports.py); with Triton installed, `pytest -m triton` compiles the
sources of Triton and Gluon again, with CUTLASS in $CUTLASS those of CuTe, and with Composable Kernel in $CK and ROCm's
folder in $ROCM those of ck_tile.
"""

import os
import re

import numpy as np
import pytest

import mmacalc
from exported_kernels import CASES, PRODUCTS, Case, product, recorded
from mmacalc.cli import answer
from mmacalc.codegen.exports import gluon, tile_plan
from mmacalc.foreign import read
from samples import sampled

RECORD = recorded()
FOLDERS = [case.folder for case in CASES]
BY_FOLDER = dict(zip(FOLDERS, CASES))
SIZES = ((144, 208, 80), (80, 48, 176))


def plan_of(case):
    return tile_plan(case.instruction, case.instruction.architecture.wave(None), case.orders, None, None)


def launched(case, content, shape, tmp_path, sizes):
    """A product by the recorded object: the report, and D beside what it must be."""
    path = tmp_path / ("kernel.ptx" if content.lstrip().startswith(b"//") else "kernel.hsaco")
    path.write_bytes(content)
    kernels = mmacalc.load(path)
    kernel = kernels[shape["entry"]] if shape["entry"] else next(iter(kernels.values()))
    made = product(case, *sizes)
    plan = plan_of(case)
    grid = -(-sizes[0] // plan.block[0]) * -(-sizes[1] // plan.block[1])
    given, shared = made.arguments, shape["shared"]
    if path.suffix == ".hsaco":
        given += [None] * (sum(not one.value_kind.startswith("hidden_") for one in kernel.arguments) - len(given))
        shared = max(0, shared - kernel.descriptor.group_segment_size)
    report = mmacalc.launch(kernel, grid, shape["threads"], *given, shared=shared)
    return report, made


def test_the_record_is_of_the_sources_that_are_written_today():
    assert sorted(RECORD) == sorted(FOLDERS)
    for case in CASES:
        assert RECORD[case.folder][0] == case.source, case.folder


@sampled("folder", FOLDERS, 6, first=1, whole=10)
def test_kernels_of_other_compilers_are_right_for_any_size_without_a_finding(folder, tmp_path):
    case, (_, content, shape) = BY_FOLDER[folder], RECORD[folder]
    for sizes in SIZES:
        report, made = launched(case, content, shape, tmp_path, sizes)
        assert report.findings == (), report.findings
        assert not made.d[:, sizes[1] :].any()
        error = 2**-20 if case.arch == "gfx1100" else 0  # RDNA3 rounds sums that are exact elsewhere
        np.testing.assert_allclose(made.d[:, : sizes[1]], made.want, rtol=error, atol=64 * error)


def test_each_compiler_made_of_the_source_the_instruction_that_was_asked_for(tmp_path):
    for case in CASES:
        _, content, _ = RECORD[case.folder]
        text = content.decode(errors="replace")
        if not content.lstrip().startswith(b"//"):
            path = tmp_path / "kernel.hsaco"
            path.write_bytes(content)
            text = answer(["disassemble", str(path)]).out
        found = PRODUCTS.findall(text)
        plan, inst = plan_of(case), case.instruction
        m, n, k = (size // each for size, each in zip(plan.block, (inst.m, inst.n, inst.k)))
        waves = 1 if "wgmma" in inst.features else plan.warps
        assert {*found} <= {inst.name, *inst.aliases}, case.folder
        assert len(found) % (m * n * k // waves) == 0 < len(found), case.folder


def elements(layout, places):
    """By (register, lane, warp) the coordinates of a linear layout."""
    found = {}
    for where in np.ndindex(*[1 << len(layout.bases.get(place, ())) for place in places]):
        total = (0,) * len(layout.extents)
        for place, number in zip(places, where):
            for bit, basis in enumerate(layout.bases.get(place, ())):
                if number >> bit & 1:
                    total = tuple(a ^ b for a, b in zip(total, basis))
        found[where] = total
    return found


@pytest.mark.parametrize("case", [case for case in CASES if case.language == "gluon"], ids=lambda case: case.folder)
def test_gluons_layouts_hold_what_the_instruction_holds_by_its_own_layout(case):
    plan, inst = plan_of(case), case.instruction
    texts = gluon.encodings(plan)
    for name, text in texts.items():
        shape = {"D": plan.block[:2], "A": plan.a.shape, "B": plan.b.shape}[name]
        layout = read(text.replace("SUMS", texts["D"])).linear(shape)
        own = name if name == "D" or not plan.swapped else "BA"[name == "B"]
        operand = inst.operand(own, plan.wave)
        for (register, lane), where in elements(layout, ("register", "lane")).items():
            if register >= operand.items:
                break
            at = dict(zip(operand.axes[1:], reversed(where) if plan.swapped else where))
            if name != "D" and plan.kpack > 1:  # relabelled along k: the row (column) is the lane's
                every = operand.contents(register=0, lane=lane)
                axis = 0 if own == "A" else 1
                assert {(one.row, one.col)[axis] for one in every} == {at[operand.axes[1 + axis]]}
            else:
                assert lane in {one.lane for one in operand.locate(**at)}, (name, register, lane)


def test_the_layouts_that_triton_chooses_are_those_of_the_plan():
    for case in CASES:
        if case.language == "triton":
            plan, (text,) = plan_of(case), RECORD[case.folder][2]["layouts"]
            waves = re.search(r"warpsPerCTA = \[(\d+), (\d+)\]", text)
            if waves is None:  # bases of the warps, along N first
                assert f"warp = {[[0, 1], [1, 0]]}" in text
                assert plan.waves == (2, 2)
            else:
                assert tuple(map(int, waves.groups())) == plan.waves


REFUSED = {
    ("ck_tile", "gfx1100", "v_wmma_f32_16x16x16_f16"): "no warp tile",
    ("ck_tile", "gfx90a", "v_mfma_f32_32x32x4bf16"): "no warp tile",
    ("ck_tile", "gfx950", "v_mfma_i32_16x16x64_i8"): "no warp tile",
    ("ck_tile", "gfx942", "v_mfma_f32_16x16x32_fp8_bf8"): "no warp tile",
    ("ck_tile", "sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"): "no warp tile",
    ("cute", "gfx942", "v_mfma_f32_32x32x8_f16"): "CuTe has atoms for NVIDIA's instructions",
    ("cute", "sm_80", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"): "sums of f32 and i32",
    ("gluon", "gfx942", "v_mfma_f32_16x16x8_xf32"): "is xf32",
    ("gluon", "gfx942", "v_mfma_f32_32x32x2_f32"): "whether it is of f32 or xf32",
    ("gluon", "gfx90a", "v_mfma_f32_32x32x4bf16"): "does not compile",
    ("gluon", "gfx950", "v_mfma_scale_f32_32x32x64_f8f6f4"): "scaled",
    ("gluon", "gfx1250", "v_wmma_f16_16x16x32_f16"): "adds in f16",
    ("gluon", "sm_80", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"): "Triton chooses the k",
    ("gluon", "sm_80", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"): "saturates (satfinite)",
    ("gluon", "sm_90a", "wgmma.mma_async.sync.aligned.m64n96k16.f32.f16.f16"): "powers of two",
    ("gluon", "sm_120a", "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32"): "without kinds",
    ("triton", "sm_90a", "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8"): "256 columns",
    ("gluon", "sm_75", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"): "sm_80 and newer",
    ("triton", "gfx950", "v_mfma_f32_32x32x8_f16"): "v_mfma_f32_32x32x16_f16",
    ("triton", "gfx950", "v_mfma_f32_32x32x16_fp8_fp8"): "f8f6f4",
    ("triton", "gfx942", "v_mfma_f32_16x16x32_fp8_bf8"): "transpose",
    ("triton", "gfx1100", "v_wmma_f32_16x16x16_f16"): "as 2x4",
    ("triton", "sm_90a", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"): "none of mma.sync",
}


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: "-".join(case[:2]))
def test_what_a_language_cannot_say_is_refused_by_name(case):
    language, arch, name = case
    with pytest.raises(mmacalc.Error, match=re.escape(REFUSED[case])):
        mmacalc.generate(mmacalc.instruction(arch, name), language, gemm="512x512x512")


def test_ck_tile_is_written_for_matrices_that_lie_along_k():
    inst = mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16")
    for orders in (("row", "row"), ("col", "col"), ("col", "row")):
        with pytest.raises(mmacalc.Error, match="A row by row and B column by column"):
            mmacalc.generate(inst, "ck_tile", *orders, gemm="512x512x512")


def test_options_that_other_languages_lack_are_refused_by_name():
    inst = mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16")
    with pytest.raises(mmacalc.Error, match="give gemm, too"):
        mmacalc.generate(inst, "gluon")
    for option in ({"epilogue": "relu"}, {"split_k": 2}, {"lds": True}, {"ld": "constants"}):
        with pytest.raises(mmacalc.Error, match=f"leave out {next(iter(option))}"):
            mmacalc.generate(inst, "gluon", gemm="512x512x512", **option)
    asked = ["generate", "-a", "gfx942", "-i", inst.name, "--gemm", "512x512x512", "--lang", "gluon"]
    assert "leave out --check" in answer([*asked, "--check"]).err
    assert answer(asked).out == Case("gluon", "gfx942", inst.name).source


@pytest.mark.triton
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("folder", FOLDERS)
def test_compiled_today_they_are_as_recorded(folder, tmp_path):
    from oracles import exports

    case = BY_FOLDER[folder]
    if case.language == "cute":
        content, shape = exports.by_nvcc(case, case.source, tmp_path, os.environ["CUTLASS"])
    elif case.language == "ck_tile":
        content, shape = exports.by_clang(case, case.source, tmp_path, os.environ["CK"], os.environ["ROCM"])
    else:
        content, shape = exports.compiled_by_triton(case, case.source, tmp_path)
    assert shape["layouts"] == RECORD[folder][2]["layouts"]
    report, made = launched(case, content, shape, tmp_path, SIZES[0])
    assert report.findings == ()
    np.testing.assert_allclose(made.d[:, : SIZES[0][1]], made.want, rtol=2**-20, atol=2**-14)
