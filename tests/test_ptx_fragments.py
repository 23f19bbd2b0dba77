"""Matrices between memory and registers: wmma of every shape, type and layout against NumPy's products, ldmatrix and
stmatrix of every shape against a reading of the ISA."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import mmacalc
from mmacalc.emulator.registers import gather, scatter
from mmacalc.kernels.ptx.kernel import PtxKernel
from mmacalc.kernels.ptx.launch import Launch
from mmacalc.kernels.ptx.matrices import Executor
from mmacalc.ptx.reader import read

HEAD = ".version 9.0\n.target {}\n.address_size 64\n"
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s32": 32, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}
FORMS = {
    (target, inst.name)
    for target in ("sm_75", "sm_90a", "sm_120a")
    for inst in mmacalc.instructions(target)
    if inst.name.startswith("wmma.mma") and not ("m16n16" in inst.name and "f64" in inst.name)  # has no wmma.load
}
SAMPLE = sorted(name for name in FORMS if "satfinite" not in name[1])[::23]


def types_of(name: str) -> tuple[str, str, str, str]:
    """The types of A, B, C and D: PTX ISA 9.7.14.4, wmma.mma's syntax."""
    found = [word for word in name.split(".") if word in BITS]
    if len(found) == 2:
        return "f16", "f16", found[1], found[0]
    return found[1], found[2], found[3], found[0]


def packed(values: Any, kind: str) -> Any:
    """A matrix in memory, row after row."""
    values = np.ascontiguousarray(values)
    if kind == "bf16":
        return (values.astype("f4").view("u4") >> 16).astype("u2")
    if BITS[kind] < 8:
        bits = (values.astype(np.int64)[..., None] >> np.arange(BITS[kind]) & 1).astype(np.uint8)
        return np.packbits(bits.reshape(len(values), -1), axis=1, bitorder="little")
    return values.astype({"tf32": "f4"}.get(kind, kind.replace("s", "i")[0] + str(BITS[kind] // 8)))


def kernel_of(target: str, name: str, counts: dict[str, int], steps: dict[str, int], space: str) -> str:
    words = name.split(".")
    shape = next(word for word in words if re.fullmatch(r"m\d+n\d+k\d+", word))
    layouts = [word for word in words if word in ("row", "col")]
    a, b, c, d = types_of(name)
    kinds = {"a": (a, layouts[0]), "b": (b, layouts[1]), "c": (c, "row"), "d": (d, "col")}
    lines, braces = [], {}
    for place, operand in enumerate("abcd"):
        wide = kinds[operand][0] == "f64"
        lines.append(f".reg .b{64 if wide else 32} %{operand}<{counts[operand]}>; .reg .b64 %p{operand};")
        lines.append(f"ld.param.u64 %p{operand}, [p{place}];")
        braces[operand] = "{" + ", ".join(f"%{operand}{at}" for at in range(counts[operand])) + "}"
    for operand in "abc":
        kind, layout = kinds[operand]
        step = f", {steps[operand]}" if steps[operand] else ""
        lines.append(f"wmma.load.{operand}.sync.aligned.{layout}.{shape}{space}.{kind} {braces[operand]}, "
                     f"[%p{operand}]{step};")  # fmt: skip
    lines.append(f"{name} {', '.join(braces[one] for one in 'dabc')};")
    lines.append(f"wmma.store.d.sync.aligned.col.{shape}{space}.{d} [%pd], {braces['d']}, {steps['d']};")
    parameters = ", ".join(f".param .u64 p{place}" for place in range(4))
    return HEAD.format(target) + f".visible .entry k({parameters}) {{\n" + "\n".join(lines) + "\nret;\n}"


def padded(matrix: Any, more: int) -> Any:
    return np.concatenate([matrix, np.zeros((len(matrix), more), matrix.dtype)], 1)


def check_product(target: str, name: str, number: int) -> None:
    inst, random = mmacalc.instruction(target, name), np.random.default_rng(number)
    a, b, c, d = types_of(name)
    low, high = (0, 2) if a == "b1" else (0, 8) if a[0] == "u" else (-8, 8) if a[0] == "s" else (-2, 3)
    A = random.integers(low, high, (inst.m, inst.k))  # noqa: N806
    B = random.integers(low, high, (inst.k, inst.n))  # noqa: N806
    C = random.integers(-4, 5, (inst.m, inst.n))  # noqa: N806
    words = name.split(".")
    layouts = [word for word in words if word in ("row", "col")]
    memory = {
        "a": packed(A if layouts[0] == "row" else A.T, a), "b": packed(B if layouts[1] == "row" else B.T, b),
        "c": packed(C, c), "d": packed(np.zeros((inst.n, inst.m)), d),
    }  # fmt: skip
    kinds, more = dict(zip("abcd", (a, b, c, d))), 32 if number % 2 else 0
    steps = {one: memory[one].shape[1] * (memory[one].itemsize * 8 // BITS[kinds[one]]) for one in "abcd"}
    if more:
        memory = {one: padded(memory[one], more // memory[one].itemsize) for one in "abcd"}
        steps = {one: steps[one] + more * 8 // BITS[kinds[one]] for one in "abcd"}
    wide = {one: kinds[one] == "f64" for one in "abcd"}
    counts = {one: inst.operand(one.upper()).registers // (2 if wide[one] else 1) for one in "abcd"}
    if not more and number % 3 == 0:
        steps = {**steps, "a": 0, "b": 0, "c": 0}  # left out
    text = kernel_of(target, name, counts, steps, (".global", "")[number % 2])
    report = Launch(PtxKernel(read(text), "k"), 1, 32, [memory[one] for one in "abcd"]).run()
    if "xor" in words or "and" in words:
        combined = A[:, :, None] ^ B[None] if "xor" in words else A[:, :, None] & B[None]
        wanted = combined.sum(axis=1) + C
    else:
        wanted = A @ B + C
    assert not report.findings, str(report)
    np.testing.assert_array_equal(memory["d"][:, : inst.m], packed(wanted.T, d), err_msg=name)


@pytest.mark.parametrize(("target", "name"), SAMPLE)
def test_wmma_multiplies_what_it_loads_and_stores_the_product(target: str, name: str) -> None:
    check_product(target, name, SAMPLE.index((target, name)))


@pytest.mark.whole
def test_every_form_of_wmma_is_covered() -> None:
    for number, (target, name) in enumerate(sorted(FORMS)):
        check_product(target, name, number)


MOVES = [
    inst.name
    for inst in mmacalc.instructions("sm_120a")
    if inst.name.startswith(("ldmatrix", "stmatrix")) and not inst.name.endswith("s8.s4")
]


def where(name: str, row: int, column: int) -> tuple[int, int, int]:
    """Lane, register and first bit of an element of the first matrix (PTX ISA 9.0, 9.7.14.5.15 and 16)."""
    if "m8n8" in name:
        i, j = (column, row) if ".trans" in name else (row, column)
        return 4 * i + j // 2, 0, 16 * (j % 2)
    if "m8n16" in name:
        return 4 * row + column // 4, 0, 8 * (column % 4)
    # .m16n16 and .m16n8 are transposed: a register has four elements of a column of memory.
    if "m16n16" in name:
        return 4 * (column % 8) + row // 4, column // 8, 8 * (row % 4)
    return 4 * (column % 8) + row % 8 // 2, 0, 16 * (column // 8) + 8 * (row % 2)


@pytest.mark.parametrize("name", MOVES)
def test_matrices_are_moved_as_the_isa_says(name: str) -> None:
    inst = mmacalc.instruction("sm_120a", name)
    stores = name.startswith("stmatrix")
    rows, columns = (int(x) for x in re.search(r"m(\d+)n(\d+)", name).groups())  # type: ignore[union-attr]
    if stores and rows == 16:
        rows, columns = columns, rows  # rows of memory
    bits = 6 if "b6x16" in name else 4 if "b4x16" in name else 8 if ".b8" in name else 16
    count = inst.operand(inst.register_operands[0]).registers
    blocks = inst.blocks
    registers = ", ".join(f"%w{at}" for at in range(count))
    move = f"{name} " + (f"[%r2], {{{registers}}};" if stores else f"{{{registers}}}, [%r2];")
    moved = (
        "".join(f"ld.global.b32 %w{at}, [%rd4+{4 * at}];" for at in range(count)) + move + "bar.warp.sync 0xffffffff;"
        "ld.shared.v4.b32 {%w4, %w5, %w6, %w7}, [%r2]; st.global.v4.b32 [%rd3], {%w4, %w5, %w6, %w7};"
        if stores else
        "ld.global.v4.b32 {%w4, %w5, %w6, %w7}, [%rd3]; st.shared.v4.b32 [%r2], {%w4, %w5, %w6, %w7};"
        "bar.warp.sync 0xffffffff;" + move + "".join(f"st.global.b32 [%rd4+{4 * at}], %w{at};" for at in range(count))
    )  # fmt: skip
    text = HEAD.format("sm_120a") + (
        ".visible .entry k(.param .u64 p, .param .u64 q) {\n.reg .b64 %rd<5>; .reg .b32 %r<4>; .reg .b32 %w<8>;\n"
        ".shared .align 16 .b8 rows[512];\nld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; mov.u32 %r1, %laneid;\n"
        "mov.u32 %r2, rows; mad.lo.u32 %r2, %r1, 16, %r2; mul.wide.u32 %rd3, %r1, 16; add.u64 %rd4, %rd3, %rd2;\n"
        f"add.u64 %rd3, %rd3, %rd1;\nst.shared.v4.b32 [%r2], {{%r1, %r1, %r1, %r1}};\n{moved}\nret; }}"
    )
    random = np.random.default_rng(3)
    memory, files = random.integers(0, 256, (32, 16), np.uint8), random.integers(0, 1 << 32, (32, 4), np.uint32)
    given, before = memory.copy(), files.copy()
    report = Launch(PtxKernel(read(text), "k"), 1, 32, [memory, files]).run()
    assert not report.findings, str(report)
    each = count // blocks
    for block in range(blocks):
        for row in range(rows):
            line = int.from_bytes((memory if stores else given)[block * rows + row].tobytes(), "little")
            for column in range(columns):
                lane, register, lsb = where(name, row, column)
                field = int((before if stores else files)[lane, block * each + register]) >> lsb
                assert field & (1 << bits) - 1 == line >> bits * column & (1 << bits) - 1, (row, column)


EDGE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry edge(.param .u64 out)
{
    .reg .b32 %r<12>;
    .reg .f32 %f<5>;
    .reg .b64 %rd<4>;
    .shared .align 16 .b8 tile[512];

    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, tile;
    mov.u32 %r3, 0x3c003c00;
    mad.lo.u32 %r4, %r1, 8, %r2;
    st.shared.v2.b32 [%r4], {%r3, %r3};
    bar.sync 0;
    and.b32 %r5, %r1, 15;
    shr.u32 %r6, %r1, 4;
    mad.lo.u32 %r4, %r5, 32, %r2;
    mad.lo.u32 %r4, %r6, 16, %r4;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r7, %r8, %r9, %r10}, [%r4];
    mov.f32 %f1, 0f00000000;
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r7, %r8, %r9, %r10}, {%r3, %r3},
        {%f1, %f1, %f1, %f1};
    mul.wide.u32 %rd2, %r1, 8;
    add.u64 %rd1, %rd1, %rd2;
    st.global.v2.f32 [%rd1], {STORED};
    ret;
}
"""


@pytest.mark.parametrize(("stored", "kinds"), [("%f1, %f2", []), ("%f3, %f4", ["uninitialised"])])
def test_rows_of_a_fragment_that_nothing_has_written_matter_where_what_follows_from_them_is_stored(stored, kinds):
    out = np.zeros((8, 8), np.float32)
    report = mmacalc.launch(mmacalc.load(EDGE.replace("STORED", stored))["edge"], 1, 32, out)
    assert [found.kind for found in report.findings] == kinds
    lines = EDGE.splitlines()
    for found in report.findings:
        assert "st.global" in lines[found.line - 1]
        assert "ldmatrix" in lines[found.other_line - 1]
    assert kinds or (out == 16).all()


PRODUCTS = [
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "mma.sync.aligned.m16n8k64.row.col.s32.u4.s4.s32",
    "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
]  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
def test_what_follows_from_undefined_operands_of_a_product_is_what_changes_with_them(name):
    """By execution: with one register of an operand replaced, those elements of D change and no others."""
    executor, rng = Executor(mmacalc.instruction("sm_80", name)), np.random.default_rng(0)
    files = {}
    for operand, place in executor.places.items():
        kind = executor.inst.format(operand)
        one = kind.bias << kind.mantissa if kind.is_float else 1
        codes = rng.choice(
            np.array([0, 0, one, one | 1 << kind.bits - 1], np.uint64), executor.execution.shapes[operand]
        )
        files[operand] = np.zeros((1, place.registers, place.lanes), np.uint32)
        scatter(files[operand], codes[None].astype(f"u{max(8, place.bits) // 8}"), place)
        if operand == "K":
            files[operand][:] = 0x44444444  # the first two of four
    del files["D"]
    for operand in "ABC":
        for _ in range(4):
            size = max(1, executor.places[operand].bits // 32)
            first, lane = rng.integers(executor.places[operand].registers // size) * size, rng.integers(32)
            which = slice(first, first + size)
            masks = {each: np.zeros_like(file) for each, file in files.items()}
            masks[operand][0, which, lane] = 0xFFFFFFFF
            changed = np.zeros_like(executor(files))
            for turn in range(12):
                other = {each: file.copy() for each, file in files.items()}
                # NaN of every float first: it reaches the results that 0 multiplies, too.
                other[operand][0, which, lane] = 0xFFFFFFFF if turn == 0 else rng.integers(1 << 32)
                changed |= executor(other) ^ executor(files)
            found = executor.undefined(masks, files)
            elements = gather(changed, executor.places["D"]) != 0
            told = gather(found, executor.places["D"]) != 0
            # Of a sparse product all rows of B count, also those that the metadata leave out.
            exact = not (executor.inst.sparse and operand == "B")
            assert np.array_equal(told, elements | told if not exact else elements), (operand, first, lane)
