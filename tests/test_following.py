"""A product followed through kernels: right ones have no finding, and of those in which one instruction was changed the
instruction is named that was changed, whether or not the change breaks a rule."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest

import mmacalc
from compiling import clang
from generated_kernels import assembled
from mmacalc import cli
from mmacalc.formats import FORMATS
from ptx_cases import CASES, recorded
from recorded import text as recorded_text
from samples import sampled
from test_ptx_pitfalls import swizzled

if TYPE_CHECKING:
    from pathlib import Path

HIP = ("-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-O3", "-w")
M, N, K = 96, 80, 64
"""No multiples of a tile of 64 or 128: products go on beyond the edges."""
TARGETS = [
    ("gfx90a", "v_mfma_f64_16x16x4_f64", "f64"), ("gfx90a", "v_mfma_f32_32x32x8_bf16_1k", "bf16"),
    ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", "e4m3fnuz"), ("gfx942", "v_mfma_i32_32x32x16_i8", "i8"),
    ("gfx942", "v_mfma_f32_16x16x8_xf32", "f32"), ("gfx942", "v_mfma_f32_32x32x8_f16", "f16"),
    ("gfx950", "v_mfma_f32_16x16x32_bf16", "bf16"), ("gfx1100", "v_wmma_f32_16x16x16_f16", "f16"),
    ("gfx1201", "v_wmma_f32_16x16x16_bf16", "bf16"), ("gfx1250", "v_wmma_f32_16x16x32_f16", "f16"),
]  # fmt: skip
ORDERS = [("row", "col"), ("row", "row"), ("col", "row"), ("col", "col")]


def source(target: str, name: str, orders: tuple[str, str], **more: Any) -> str:
    """A generated GEMM."""
    return mmacalc.generate(mmacalc.instruction(target, name), "", *orders, gemm=(M, N, K), **more)


def launch_of(text: str) -> tuple[int, int]:
    """Grid and block of its launch line."""
    found = re.search(r"dim3\((\d+)\), dim3\((\d+)\)", text)
    assert found is not None
    return int(found[1]), int(found[2])


def matrices(form: str, orders: tuple[str, str], to: Any = None) -> tuple[list[np.ndarray], np.ndarray, str]:
    """A, B and D as they lie in memory, what D should be, and the product in words."""
    rng, kind = np.random.default_rng(4), FORMATS[form].dtype
    a, b = (rng.integers(-3, 4, shape).astype(kind) for shape in ((M, K), (K, N)))
    d = np.zeros((M, N), to or {"i8": np.int32, "f64": np.float64}.get(form, np.float32))
    held = [np.ascontiguousarray(one.T) if order == "col" else one for one, order in zip((a, b), orders)]
    sides = [f"{at}{'.T' if order == 'col' else ''}" for at, order in zip("12", orders)]
    return [*held, d], a.astype(np.float64) @ b.astype(np.float64), f"3 = {sides[0]} @ {sides[1]}"


def followed(kernel: Any, text: str, form: str, orders: tuple[str, str], to: Any = None) -> tuple[Any, bool]:
    """What following finds, and whether the result is right."""
    (a, b, d), want, product = matrices(form, orders, to)
    before = a.copy(), b.copy()
    sizes = [np.int32(one) for one in (M, N, K, a.shape[1], b.shape[1], N)]
    found = mmacalc.follow_product(kernel, *launch_of(text), a, b, d, *sizes, product=product)
    assert (a == before[0]).all()
    assert (b == before[1]).all()
    return found, bool(np.allclose(d.astype(np.float64), want, atol=0.01))


@sampled(("row", "orders"), [(row, orders) for orders in ORDERS for row in TARGETS], 10, whole=12)
def test_a_right_kernel_has_no_finding_whatever_it_multiplies_beyond_the_edges(row: Any, orders: Any) -> None:
    target, name, form = row
    text = source(target, name, orders)
    options = ("-mno-wavefrontsize64",) if target.startswith("gfx1") else ()
    made = clang(*HIP, "--no-gpu-bundle-output", *options, f"--offload-arch={target}", text=text)
    for kernel in mmacalc.load(made).values():
        found, right = followed(kernel, text, form, orders)
        assert right
        assert (found.findings, found.note) == ((), ""), str(found)
        assert found.report.findings == ()


def test_sums_that_an_epilogue_changes_are_not_followed_to_their_places_and_that_is_said() -> None:
    text = source("gfx942", "v_mfma_f32_32x32x8_f16", ("row", "row"), epilogue="relu,to=f16")
    made = clang(*HIP, "--no-gpu-bundle-output", "--offload-arch=gfx942", text=text)
    found, _ = followed(next(iter(mmacalc.load(made).values())), text, "f16", ("row", "row"), np.float16)
    assert found.findings == ()
    plain = source("gfx942", "v_mfma_f32_32x32x8_f16", ("row", "row"), epilogue="alpha")
    assert "alpha" in plain
    made = clang(*HIP, "--no-gpu-bundle-output", "--offload-arch=gfx942", text=plain)
    kernel = next(iter(mmacalc.load(made).values()))
    (a, b, d), _, product = matrices("f16", ("row", "row"))
    sizes = [np.int32(one) for one in (M, N, K, K, N, N)]
    found = mmacalc.follow_product(kernel, *launch_of(plain), a, b, d, *sizes, np.float32(0.3), product=product)
    assert found.findings == ()
    assert "hold no sum of a matrix instruction as it is (an epilogue" in found.note


# --- one instruction changed, AMD ---


@cache
def listing() -> tuple[str, tuple[str, ...]]:
    """A GEMM for gfx942, and its assembly."""
    text = source("gfx942", "v_mfma_f32_32x32x8_f16", ("row", "col"))
    made = clang(*HIP, "-S", "--no-gpu-bundle-output", "--offload-arch=gfx942", text=text)
    return text, tuple(made.read_text().splitlines())


def shifted(line: str, by: int) -> str:
    """An access at another offset."""
    found = re.search(r"offset:(\d+)", line)
    if found is None:
        return f"{line} offset:{by}"
    return line.replace(found[0], f"offset:{int(found[1]) ^ by}")


def changes(lines: tuple[str, ...]) -> list[tuple[int, str]]:
    """Lines of the kernel with another offset, another register of a product, its operands exchanged."""
    found = []
    start = next(at for at, line in enumerate(lines) if line.startswith("gemm_mfma_f32_32x32x8_f16:"))
    for at in range(start, next(at for at in range(start, len(lines)) if "s_endpgm" in lines[at])):
        line = lines[at].partition(";")[0].rstrip()
        if "\tds_" in line:
            found.append((at, shifted(line, 16)))
        elif "\tbuffer_" in line and "offen" in line:
            found.append((at, shifted(line, 32)))
        elif "\tv_mfma" in line:
            d, a, b, c = re.findall(r"v\[\d+:\d+\]", line)
            first = int(re.findall(r"\d+", a)[0])
            found.append((at, f"\tv_mfma_f32_32x32x8_f16 {d}, v[{first ^ 2}:{(first ^ 2) + 1}], {b}, {c}"))
            found.append((at, f"\tv_mfma_f32_32x32x8_f16 {d}, {b}, {a}, {c}"))
    return found


@sampled("number", range(64), 6, whole=18)
def test_a_change_of_a_compiled_amd_kernel_is_named_at_the_instruction_that_was_changed(
    number: int, tmp_path: Path
) -> None:
    text, lines = listing()
    every = changes(lines)
    at, new = every[number * len(every) // 64]
    changed = [*lines[:at], new, *lines[at + 1 :]]
    kernel = assembled("\n".join(changed), "gfx942", tmp_path)["gemm_mfma_f32_32x32x8_f16"]
    wanted = re.sub(r"\s+", " ", new.strip())
    try:
        found, right = followed(kernel, text, "f16", ("row", "col"))
    except mmacalc.Error as error:  # it is stopped there
        if wanted in str(error):
            return
        raise
    if right:
        assert found.findings == (), new
        return
    named = [re.sub(r"\s+", " ", one.text) for one in found.findings]
    assert wanted in named, (new, str(found))


# --- one statement changed, PTX ---


def mma_gemm(text: str) -> tuple[Any, bool]:
    """The recorded GEMM with cp.async, ldmatrix and mma."""
    case = CASES["mma_gemm"]()
    found = mmacalc.follow_product(mmacalc.load(text)["mma_gemm"], (2, 1), 128, *case.arguments, product="3 = 1 @ 2.T")
    return found, case.right()


def statements(text: str) -> list[tuple[int, str]]:
    """Statements of the kernel with another offset, or other registers of a product."""
    found = []
    for at, line in enumerate(text.split("\n")):
        if re.search(r"\tldmatrix|\tcp\.async\.cg", line):
            found.append((at, re.sub(r"\[(%r\d+)\]", r"[\1+32]", line, count=1)))
        elif "\tst.global.f32" in line:
            offset = re.search(r"\+(\d+)\]", line)
            old, new = (offset[0], f"+{int(offset[1]) ^ 16}]") if offset else ("]", "+16]")
            found.append((at, line.replace(old, new)))
        elif "\tmma.sync" in line:
            a = re.findall(r"\{[^}]*\}", line)[1]
            found.append((at, line.replace(a, "{" + ",".join(a[1:-1].split(",")[::-1]) + "}")))
    return found


@sampled("number", range(48), 6, whole=18)
def test_a_change_of_a_cuda_kernel_is_named_at_the_statement_that_was_changed(number: int) -> None:
    text = recorded("mma_gemm.ptx")
    every = statements(text)
    at, new = every[number * len(every) // 48]
    lines = text.split("\n")
    try:
        found, right = mma_gemm("\n".join([*lines[:at], new, *lines[at + 1 :]]))
    except mmacalc.Error as error:  # it is stopped there
        if str(error).startswith(f"line {at + 1}: "):
            return
        raise
    if right:
        assert found.findings == (), new
        return
    assert f"line {at + 1}" in [one.place for one in found.findings], (at + 1, new, str(found))


@pytest.mark.parametrize("changed", [False, True])
def test_tensor_copies_wgmma_and_tcgen05_are_followed(changed: bool) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((64, 192)).astype(np.float16) for _ in "AB")
    d = np.zeros((64, 64), np.float32)
    text, maps = (
        recorded_text("ptx/producer_sm_90a.ptx.gz"),
        [mmacalc.tensor_map(x, (64, 64), swizzle="128B") for x in (a, b)],
    )
    if changed:  # B's copies begin at its second row
        text, count = re.subn(r"(\[%rd\d+, \{%r\d+, )%r\d+(\}\])", r"\g<1>1\2", text)
        assert count
    found = mmacalc.follow_product(
        next(iter(mmacalc.load(text).values())), 1, 160, *maps, d, np.int32(192), product="3 = 1 @ 2.T"
    )
    assert bool(found.findings) == changed, str(found)

    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((256, 192), (64, 192)))
    d = np.zeros((256, 64), np.float32)
    kernel = mmacalc.load(recorded_text("ptx/blackwell_sm_100a.ptx.gz"))["gemm<0>"]
    found = mmacalc.follow_product(kernel, 1, 256, swizzled(a, 128), swizzled(b), d, np.int32(2), np.int32(3),
                                   product="3 = 1 @ 2.T", shared=49152)  # fmt: skip
    assert (found.findings, found.note) == ((), ""), str(found)


# --- what is refused, and the command ---


@pytest.mark.parametrize(("product", "message"), [
    ("d = a @ b", "has no argument 'd'; it has mma_gemm_param_0"), ("3 = 1 + 2", "product is such as"),
    ("3 = 1 @ 2", "A is 64 x 96, B 128 x 96 and D 64 x 128"), ("3 = 1 @ 4", "4 is int32; it has to be an array"),
    ("3 = 1 @ 1.T", "A is 64 x 96, B 96 x 64 and D 64 x 128"), ("3 = 1:f32 @ 2.T", "elements of 32 bits do not lie"),
    ("3 = 1:f17 @ 2.T", "f17"),
])  # fmt: skip
def test_a_product_that_cannot_be_read_is_refused_with_what_would_be_right(product: str, message: str) -> None:
    case = CASES["mma_gemm"]()
    kernel = mmacalc.load(recorded("mma_gemm.ptx"))["mma_gemm"]
    with pytest.raises(mmacalc.Error, match=re.escape(message)):
        mmacalc.follow_product(kernel, (2, 1), 128, *case.arguments, product=product)


def test_matrices_that_reach_the_products_through_arithmetic_are_refused() -> None:
    text = recorded("mma_gemm.ptx")

    def doubled(found: re.Match[str]) -> str:
        registers = re.findall(r"%r\d+", found[0].partition("}")[0])
        return found[0] + "".join([f"\n\tadd.f16x2 {one}, {one}, {one};" for one in registers])

    changed = re.sub(r"\tldmatrix\S+ \{.*", doubled, text)
    assert changed.count("add.f16x2") == 32
    with pytest.raises(
        mmacalc.Error, match="most matrix instructions multiply values that are not elements of A and B"
    ):
        mma_gemm(changed)


def test_the_arrays_are_as_a_launch_leaves_them_also_when_a_launch_is_stopped() -> None:
    case = CASES["mma_gemm"]()
    before = [np.array(one) for one in case.arguments]
    text = re.sub(r"(st\.global\.f32 \t\[%rd\d+)\]", r"\1+40000000]", recorded("mma_gemm.ptx"), count=1)
    with pytest.raises(mmacalc.Error, match="in no memory that the kernel was given"):
        mmacalc.follow_product(mmacalc.load(text)["mma_gemm"], (2, 1), 128, *case.arguments, product="3 = 1 @ 2.T")
    assert all(np.array_equal(one, other) for one, other in zip(case.arguments, before))
    for array in case.arguments[:2]:
        array.flags.writeable = False
    found = mmacalc.follow_product(mmacalc.load(recorded("mma_gemm.ptx"))["mma_gemm"], (2, 1), 128, *case.arguments,
                                   product="3 = 1 @ 2.T")  # fmt: skip
    assert case.right()
    assert found.findings == ()


def test_the_command_says_what_is_wrong_and_leaves_with_1(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    a, b, _, *_ = CASES["mma_gemm"]().arguments
    np.save("a.npy", a)
    np.save("b.npy", b.view(np.uint16))
    text = recorded("mma_gemm.ptx")
    (tmp_path / "right.ptx").write_text(text)
    (tmp_path / "wrong.ptx").write_text(text.replace("[%rd149+32]", "[%rd149+48]"))
    arguments = ["a.npy", "b.npy", "out:d.npy:f4:64x128", "64", "128", "96"]
    line = ["run-kernel", "{}", "--grid", "2", "--block-dim", "128", "--args", *arguments, "--product"]
    replies = [
        cli.answer([*(word.format(name) for word in line), "3 = 1 @ 2:f16.T"]) for name in ("right.ptx", "wrong.ptx")
    ]
    assert [reply.status for reply in replies] == [0, 1]
    assert "products of 3 = 1 @ 2:f16.T followed: all are right" in replies[0].out
    assert "stores the sum of" in replies[1].out or "all that it stores is overwritten" in replies[1].out
    assert np.load("d.npy").shape == (64, 128)
    refused = cli.answer([*(word.format("right.ptx") for word in line), "3 = 1 @ 2.T"])
    assert refused.status == 2
    assert "has the type uint16; which format is it? Write 2:bf16" in refused.err


def test_formats_of_few_values_take_more_launches_and_formats_of_arrays_are_those_of_ml_dtypes() -> None:
    text = source("gfx942", "v_mfma_f32_32x32x16_fp8_fp8", ("row", "col"))
    made = clang(*HIP, "--no-gpu-bundle-output", "--offload-arch=gfx942", text=text)
    found, _ = followed(next(iter(mmacalc.load(made).values())), text, "e4m3fnuz", ("row", "col"))
    assert found.launches > 1
    assert np.dtype(ml_dtypes.float8_e4m3fnuz) == FORMATS["e4m3fnuz"].dtype


SINGLE = """
.version 8.0 .target sm_80 .address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 d) {
  .reg .b64 %a<9>; .reg .b32 %r<9>; .reg .f32 %f<5>;
  ld.param.u64 %a1, [a]; ld.param.u64 %a2, [b]; ld.param.u64 %a3, [d];
  mov.u32 %r1, %tid.x; mul.wide.u32 %a4, %r1, 4; add.u64 %a1, %a1, %a4; add.u64 %a2, %a2, %a4;
  ld.global.b32 %r2, [%a1]; ld.global.b32 %r3, [%a1+128]; ld.global.b32 %r4, [%a2]; mov.f32 %f1, 0f00000000;
  mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r2, %r3}, {%r4}, {%f1, %f1, %f1, %f1};
  mul.wide.u32 %a5, %r1, 8; add.u64 %a3, %a3, %a5;
  st.global.v2.f32 [%a3], {%f1, %f2};
  st.global.v2.f32 [%a3+256], {%f3, %f4};
  ret; }"""


@pytest.mark.parametrize(("old", "new", "line", "message"), [
    ("{%r2, %r3}", "{%r3, %r2}", 10, "stores the sum of D[8][0] in D[0][0]"),
    ("[%a1+128]", "[%a1+64]", 11, "stores the sum of D[4][0] in D[8][0]"),
    ("[%a3+256]", "[%a3+128]", 11, "stores the sum of D[8][0] in D[4][0]"),
    ("[%a2]", "[%a1]", 8, "both operands hold elements of A"),
    ("add.u64 %a1, %a1, %a4", "add.u64 %a1, %a1, 4", 8, "multiplies k = 2 to 3 of A by k = 0 to 1"),
])  # fmt: skip
def test_a_product_of_one_instruction_shows_its_mistake_too(old: str, new: str, line: int, message: str) -> None:
    a, b, d = np.ones((16, 8), np.float16), np.ones((8, 8), np.float16), np.zeros((16, 8), np.float32)
    text = SINGLE.replace(old, new)
    assert text != SINGLE
    found = mmacalc.follow_product(mmacalc.load(text)["k"], 1, 32, a, b, d, product="d = a @ b.T").findings
    assert any(one.place == f"line {line}" and message in one.message for one in found), "\n".join(map(str, found))
