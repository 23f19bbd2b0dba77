"""Operands that wgmma and tcgen05.mma read from shared memory, against tensor copies and the emulator's descriptors."""

import itertools
import json

import numpy as np
import pytest

import mmacalc
from mmacalc.cli import answer
from mmacalc.kernels.ptx.matrix_descriptors import matrix_offsets
from samples import sampled

WGMMA = "wgmma.mma_async.sync.aligned.m64n64k{}.{}"
KINDS = [(WGMMA.format(k, types), "H100") for k, types in (
    (16, "f32.bf16.bf16"), (8, "f32.tf32.tf32"), (32, "f32.e4m3.e5m2"), (32, "s32.s8.s8"),
)] + [(f"tcgen05.mma.cta_group::{ctas}.kind::{kind}", "B200")
      for ctas in (1, 2) for kind in ("f16", "tf32", "f8f6f4", "i8")]  # fmt: skip


def instruction(arch, name):
    found = mmacalc.instruction(arch, name)
    return found.shaped(m=128 * found.form.cta_group, n=128 * found.form.cta_group) if arch == "B200" else found


def copied(rows, row_bytes, swizzle):
    """Where a tensor copy of `rows` rows of a panel puts each byte: row after row, the 16-byte pieces of a row
    exchanged by the row's number within what repeats (PTX ISA, tensor swizzling modes)."""
    width = {"none": 16, "32B": 32, "64B": 64, "128B": 128}[swizzle]
    place = np.zeros((rows, row_bytes), int)
    for row in range(rows):
        turn = {"none": 0, "32B": row // 4 % 2, "64B": row // 2 % 4, "128B": row % 8}[swizzle]
        for byte in range(row_bytes):
            panel, within = divmod(byte, width)
            piece, rest = divmod(within, 16)
            place[row, byte] = panel * rows * width + row * width + (piece ^ turn) * 16 + rest
    return place


@pytest.mark.parametrize(("name", "arch"), KINDS)
@pytest.mark.parametrize("swizzle", ["32B", "64B", "128B"])
def test_a_tensor_copy_with_the_swizzle_puts_each_element_where_the_answer_says(name, arch, swizzle):
    inst, compared = instruction(arch, name), 0
    for matrix in "AB":
        for order in ("row", "col"):
            try:
                found = mmacalc.shared_operand(inst, matrix, order, swizzle)
            except mmacalc.Error:
                continue
            size = inst.format(matrix).bits // 8
            across, along = (found.rows, found.depth) if found.major == "k" else (found.depth, found.rows)
            expected = copied(across, along * size, swizzle)[:, ::size]
            assert (np.array(found.table) == (expected if found.major == "k" else expected.T)).all()
            assert found.size == across * along * size
            compared += 1
    widths = {inst.format(matrix).bits for matrix in "AB"}
    assert compared == (4 if widths == {16} or (arch == "B200" and 32 not in widths) else 2)


@sampled(("name", "arch"), KINDS, 6)
def test_the_emulator_reads_the_same_bytes_by_the_descriptor(name, arch):
    inst, unit = instruction(arch, name), "wgmma" if arch == "H100" else "tcgen05"
    for matrix in "AB":
        for swizzle in ("none", "32B", "64B", "128B", "128B base32B"):
            for order, offsets in (("row", {}), ("col", {}), ("row", {"leading": 32768, "stride": 2048})):
                try:
                    found = mmacalc.shared_operand(inst, matrix, order, swizzle, **offsets)
                except mmacalc.Error:
                    continue
                word = mmacalc.shared_memory_descriptor(0, found.leading, found.stride, swizzle, unit).word
                bits = inst.format(matrix).bits
                read = matrix_offsets(word, found.rows, found.instruction_depth, bits, found.major == "mn", swizzle)
                assert (np.array(found.table)[:, : found.instruction_depth] == read).all(), (matrix, swizzle, order)


def test_the_formula_that_is_shown_is_the_table():
    cases = (("A", "row", None), ("B", "col", "none"), ("B", "row", None), ("A", "col", "64B"))
    for (name, arch), (matrix, order, swizzle) in itertools.product(KINDS[::3], cases):
        try:
            found = mmacalc.shared_operand(instruction(arch, name), matrix, order, swizzle)
        except mmacalc.Error:
            continue
        place, _, x = found.formula.replace("/", "//").partition(", x = ")
        place, x = compile(place, "place", "eval"), compile(x or "0", "x", "eval")
        for mn, k in itertools.product(range(0, found.rows, 7), range(0, found.depth, 5)):
            names = {("i" if matrix == "A" else "j"): mn, "k": k}
            assert eval(place, {}, {**names, "x": eval(x, {}, names)}) == found.byte(mn, k)


def test_the_command_says_where_each_element_is_in_text_and_json():
    argv = ["memory", "-a", "H100", "-i", "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16", "--order", "col"]
    text = answer([*argv, "-B"]).out
    assert "Byte of B[k][j]: x ^ (x >> 3 & 0x70), x = j / 8 * 1024 + j % 8 * 128 + k * 2" in text
    assert "An instruction reads 16 k; the next begins 32 bytes on" in text
    assert "TMA writes it so: a box of 64 rows of 64 k, swizzle 128B" in text
    told = json.loads(answer([*argv, "-B", "--json"]).out)
    assert (told["query"], told["stride"], told["bytes"][9][8]) == ("shared-operand", 1024, 1024 + 128 + (1 ^ 1) * 16)
    shared = answer([*argv, "-A", "--by-descriptor", "--swizzle", "32B"]).out
    assert "A (bf16) in shared memory, MN-major, swizzle 32B: 64 rows, 16 k" in shared
    argv = ["memory", "-a", "B200", "-i", "tcgen05.mma.cta_group::1.kind::tf32", "-B", "-M", "128", "-N", "64"]
    assert "swizzle 128B base32B: 64 columns" in answer([*argv, "--swizzle", "128B-base32B"]).out


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["-a", "H100", "-i", WGMMA.format(32, "f32.e4m3.e4m3"), "-B"], "give --order col"),
        (["-a", "H100", "-i", WGMMA.format(16, "f32.f16.f16"), "-B", "--ld", "64"], "--ld is not for an operand"),
        (["-a", "H100", "-i", WGMMA.format(16, "f32.f16.f16"), "-B", "--stride", "24"], "a multiple of 16"),
        (["-a", "H100", "-i", WGMMA.format(16, "f32.f16.f16"), "-B", "--stride", "16"], "share a byte"),
        (["-a", "H100", "-i", WGMMA.format(16, "f32.f16.f16"), "-A", "--stride", "16"], "--stride is for an A or B"),
        (["-a", "H100", "-i", WGMMA.format(16, "f32.f16.f16").replace("n64", "n24"), "-B", "--swizzle", "64B"],
         "none fit"),
        (["-a", "B200", "-i", "tcgen05.mma.cta_group::1.kind::tf32", "-B", "--swizzle", "128B"], "128B base32B"),
    ],
)  # fmt: skip
def test_what_cannot_lie_so_is_refused_with_what_would_be_right(argv, says):
    done = answer(["memory", *argv])
    assert (done.status, done.out) == (2, "")
    assert says in done.err, done.err


@pytest.mark.parametrize("kind", ["f8f6f4", "mxf8f6f4.block_scale"])
@pytest.mark.parametrize(("format", "bits"), [("e2m1", 4), ("e2m3", 6), ("e3m2", 6)])
def test_sixteen_small_elements_of_f8f6f4_lie_packed_in_16_bytes(kind, format, bits):
    """PTX ISA 9.7.16.10.4.4: contiguously packed, with padding behind 16 of them."""
    inst = mmacalc.instruction("B200", f"tcgen05.mma.cta_group::1.kind::{kind}").shaped(m=128, n=64, a=format)
    for swizzle in ("32B", "64B", "128B"):
        found = mmacalc.shared_operand(inst, "A", "row", swizzle)
        element = np.arange(found.depth)
        byte = element // 16 * 16 + element % 16 * bits // 8
        assert (np.array(found.table) == copied(found.rows, found.depth, swizzle)[:, byte]).all()
        assert (found.size, found.depth) == (128 * found.row_bytes, found.row_bytes)
        word = mmacalc.shared_memory_descriptor(0, found.leading, found.stride, swizzle).word
        assert (matrix_offsets(word, 128, found.depth, bits, False, swizzle, True) == found.table).all()
        turned, row = mmacalc.shared_operand(inst, "A", "col", swizzle), np.arange(128)
        byte = row // 16 * 16 + row % 16 * bits // 8
        assert (copied(turned.depth, 128, swizzle)[:, byte] == np.array(turned.table).T).all()
    four = mmacalc.instruction("B200", "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block32").shaped(m=128, n=64)
    with pytest.raises(mmacalc.Error, match="reads no elements of 4 bits MN-major"):
        mmacalc.shared_operand(four, "A", "col")


def test_an_atom_that_keeps_32_bytes_together_has_four_rows():
    """PTX ISA, table 55: 8x4 pieces of 16 bytes. CUTLASS's descriptor of one step (make_umma_desc) has 512 bytes from
    four k to the next, and DeepGEMM's as well."""
    inst = instruction("B200", "tcgen05.mma.cta_group::1.kind::tf32")
    found = mmacalc.shared_operand(inst, "B", "row")
    assert (found.swizzle, found.stride, found.leading, found.alignment) == ("128B base32B", 512, 1024, 512)
    for mn, k in itertools.product(range(found.rows), range(found.depth)):
        line = (mn // 32 * 8 + k) * 128
        assert found.byte(mn, k) == line + (mn % 32 // 8 ^ k % 4) * 32 + mn % 8 * 4
