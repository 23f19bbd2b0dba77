"""Every form of tcgen05.mma: where its operands lie, as closed forms; which shapes, K and remarks it has.

The closed forms are those of the PTX ISA's figures (9.1, section 9.7.16), which CUTLASS 7107b055 confirms but for the
points that the package calls open.
"""

import csv
import itertools
from pathlib import Path

import pytest

import mmacalc
from mmacalc.catalog import entry
from mmacalc.families.tensor_memory import (
    COPIES,
    SMALL,
    Form,
    allowed_shapes,
    check_scale_type,
    check_shape,
    copy_layout,
    describe,
    registers,
    remark,
    transposes,
)
from mmacalc.formats import named
from samples import sampled
from tensor_memory_forms import TARGETS, depths

DATA = Path(__file__).parent / "data" / "tensor_memory"
BYTES = ("f8f6f4", "mxf8f6f4")  # kinds whose elements of 8, 6 and 4 bits have a byte each


def every_form():
    """Each form once, with one name of an instruction that has it."""
    found = {}
    for name in entry("sm_100a").tensor_memory_names:
        if ".mma" in name and "ti16" not in name:
            inst = mmacalc.instruction("sm_100a", name)
            found.setdefault((inst.form, inst.scale_vec), inst)
    return list(found.values())


def spread(row, half):
    """64 rows in every other 16 lanes; the address chooses which."""
    return row // 16 * 32 + 16 * half + row % 16


def in_columns(bit):
    return bit // 32, bit % 32


def d(form, m, n, i, j, bits, half):
    if form.ws:
        width = n // (128 // m)
        return {(0, j // width * m + i, j % width, 0, bits)}
    if form.cta_group == 1:
        return {(0, i if m == 128 else spread(i, half), j, 0, bits)}
    cta, row = divmod(i, m // 2)
    if m == 256:
        return {(cta, row, j, 0, bits)}
    if form.sparse:
        return {(cta, spread(row, half), j, 0, bits)}
    return {(cta, j // (n // 2) * 64 + row, j % (n // 2), 0, bits)}


def a(form, m, i, k, bits, half):
    cta, row = divmod(i, m // form.cta_group)
    if form.ws or (form.cta_group, m) == (2, 128):
        lanes = range(row, 128, m // form.cta_group)
    else:
        lanes = [spread(row, half) if m == 64 else row]
    slot = 8 if form.kind in BYTES else bits
    if form.sparse:
        group = {32: 2, 16: 4, 8: 4, 4: 8}[slot]
        column, lsb = in_columns(k // group * group // 2 * slot)
        return {(cta, lane, column, lsb, group // 2 * slot) for lane in lanes}
    column, lsb = in_columns(k * slot)
    return {(cta, lane, column, lsb + (2 if bits < slot == 8 and bits == 4 else 0), bits) for lane in lanes}


def metadata(form, m, depth, i, k, bits, selector):
    """Four bits for every group of k: of 8 and 4 bits eight groups in a column; of wider elements half of them, with
    the row eight further on."""
    cta, row = divmod(i, m // form.cta_group)
    group = {32: 2, 16: 4}.get(bits, 8 if bits == 4 and form.kind not in BYTES else 4)
    chunk = k // group
    if bits < 16:
        column, lsb = in_columns(4 * chunk)
    else:
        half = depth // group // 2
        column, lsb = selector, 4 * (row // 8 % 2 * half + chunk % half)
        row = row // 16 * 16 + chunk // half * 8 + row % 8
    return {(cta, lane, column, lsb, 4) for lane in range(row, 128, m // form.cta_group)}


def scales_of_a(form, m, i, scale):
    cta, row = divmod(i, m // form.cta_group)
    column = scale // 4 * (m // form.cta_group // 32) + row // 32
    return {(cta, lane, column, 8 * (scale % 4), 8) for lane in range(row % 32, 128, 32)}


def scales_of_b(form, m, n, j, scale):
    whole = -(-n // 128) * 128
    ctas = range(form.cta_group)
    if (form.cta_group, m) == (2, 128):  # half of the columns in either half of the lanes
        half, rest = divmod(j, whole // 2)
        lanes = [64 * half + rest % 32, 64 * half + rest % 32 + 32]
        column = scale // 4 * (whole // 64) + rest // 32
    else:
        lanes, column = range(j % 32, 128, 32), scale // 4 * (whole // 32) + j // 32
    return {(cta, lane, column, 8 * (scale % 4), 8) for cta in ctas for lane in lanes}


def expected(operand, form, first, second, fields):
    """The locations of an element by the closed forms."""
    inst, name = operand.instruction, operand.name
    m, n = inst.m, inst.n
    if name in "CD":
        return d(form, m, n, first, second, named(inst.types["D"]).bits, fields.get("half", 0))
    bits = named(inst.types["A"]).bits
    if name == "A":
        return a(form, m, first, second, bits, fields.get("half", 0))
    if name == "K":
        return metadata(form, m, inst.k, first, second, bits, fields.get("selector", 0))
    scale = fields.get(f"scale_id_{name[1].lower()}", 0) + second * (inst.k // inst.block_size) // inst.k
    return scales_of_a(form, m, first, scale) if name == "SA" else scales_of_b(form, m, n, first, scale)


def choices(name, form, m, scales):
    """The fields that choose among places, and the types that make a difference."""
    kinds = {"f16": ["f16"], "tf32": ["tf32"], "i8": ["s8"]}.get(form.kind, ["e2m1"])
    if form.kind in BYTES:
        kinds = ["e4m3", "e3m2", "e2m1"]
    if name in ("A", "K"):
        fields = [{}]
        if name == "A" and m == 64 and not form.ws:
            fields = [{}, {"half": 1}]
        if name == "K" and form.kind in ("f16", "tf32"):
            fields = [{}, {"selector": 1}]
        return [
            (field, {"a": kind, "b": kind if form.kind == "f16" else kinds[0]}) for field in fields for kind in kinds
        ]
    if name in "CD":
        spreads = (form.cta_group, m) == (1, 64) or ((form.cta_group, m) == (2, 128) and form.sparse)
        types = ["f32", "f16"] if form.kind in ("f16", "f8f6f4") else [None]
        halves = [{}, {"half": 1}] if spreads and not form.ws else [{}]
        return [(field, {"d": kind} if kind else {}) for field in halves for kind in types]
    return [({f"scale_id_{name[1].lower()}": byte}, {}) for byte in range(0, 4, scales)]


@sampled("places", [6, 24], 1)
@pytest.mark.parametrize("kind", ["f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"])
def test_every_operand_lies_where_the_figures_of_the_ptx_isa_have_it(kind, places):
    compared = 0
    for inst in [one for one in every_form() if one.form.kind == kind]:
        form = inst.form
        sizes, columns = allowed_shapes(form)
        for m in sizes:
            for name in inst.drawn_operands:
                if name == "K" and m // form.cta_group < 128 and not form.ws:
                    continue  # which only a figure shows
                widths = (
                    {columns[0], columns[len(columns) // 2], columns[-1]} if name in ("C", "D", "SB") else {columns[-1]}
                )
                for n in widths:
                    for fields, types in choices(name, form, m, inst.scale_vec):
                        operand = inst.operand(name, m=m, n=n, **types, **fields)
                        for step in range(places):
                            first, second = (29 * step + 3) % operand.shape[1], (37 * step + 5) % operand.shape[2]
                            at = dict(zip(operand.axes[1:], (first, second)))
                            found = [tuple(place) for place in operand.locate(**at)]
                            assert len(found) == len(set(found))
                            assert set(found) == expected(operand, form, first, second, fields), (operand, at, fields)
                            compared += 1
    assert compared > 16 * places


def test_operands_take_as_many_columns_as_their_elements():
    """256 bits of a row of A; a column for each element of D, halves or quarters beside each other where the
    figures fold it; of scales, a column for each word and 32 rows, a word being four scales."""
    for inst in every_form():
        form = inst.form
        sizes, columns = allowed_shapes(form)
        for m in sizes:
            for n in {columns[0], columns[-1]}:
                rows = m // form.cta_group
                halves = (form.cta_group, m) == (2, 128)
                assert inst.operand("A", m=m, n=n).registers == 8
                folds = 128 // m if form.ws else 2 if halves and not form.sparse else 1
                assert inst.operand("D", m=m, n=n).registers == n // folds
                if inst.scaled:
                    assert inst.operand("SA", m=m, n=n).registers == rows // 32
                    assert inst.operand("SB", m=m, n=n).registers == -(-n // 128) * (2 if halves else 4)
    mxf4 = mmacalc.instruction("sm_103a", "tcgen05.mma.cta_group::2.kind::mxf4nvf4.block_scale.block16")
    assert [mxf4.operand(name, m=256, n=256, k=96).registers for name in ("SA", "SB", "A")] == [8, 16, 12]


def test_tensor_memory_has_128_lanes_512_columns_and_two_ctas():
    """PTX ISA 9.1, section 9.7.16.1."""
    operand = mmacalc.instruction("sm_100a", "tcgen05.mma.cta_group::2.kind::f16").operand("D", m=256, n=256)
    assert operand.contents(lane=127, column=255, cta=1)[0][:2] == (255, 255)
    assert operand.contents(lane=0, column=511) == ()
    for place in ((128, 0, 0), (0, 512, 0), (0, 0, 2), (-1, 0, 0)):
        with pytest.raises(mmacalc.Error, match="is outside Tensor Memory"):
            operand.contents(**dict(zip(("lane", "column", "cta"), place)))


def test_what_only_one_source_says_of_a_layout_is_unconfirmed():
    """Layout C, A of 64 rows, copies of A and metadata with .ws, metadata of a pair, scales of 64 rows, and of N that
    is no multiple of 128 in two halves."""
    for inst in every_form():
        form = inst.form
        sizes, columns = allowed_shapes(form)
        for m in sizes:
            for n in {columns[0], columns[-1]}:
                rows, pair = m // form.cta_group, form.cta_group == 2
                wide = form.kind in ("f16", "tf32")
                open_points = {
                    "D": pair and m == 128 and form.sparse,
                    "A": m == 64 or (form.ws and m < 128),
                    "K": pair or (form.ws and m < 128 and wide),
                    "SA": rows == 64,
                    "SB": pair and m == 128 and n % 128 != 0,
                }
                for name in inst.drawn_operands:
                    if name == "C" or (name == "K" and rows < 128 and not form.ws):
                        continue
                    operand = inst.operand(name, m=m, n=n)
                    assert bool(operand.doubt) == open_points[name], (operand, m, n)


def rows():
    with (DATA / "shapes.tsv").open() as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def test_each_target_has_the_k_of_the_ptx_isa_s_table():
    """PTX ISA 9.1, table 39, and 9.4, table 48. A row for sm_107f is for sm_107a as well."""
    for inst in [*every_form(), None]:
        forms = [inst.form] if inst else [Form("ti16", sparse, False, group) for sparse in (0, 1) for group in (1, 2)]
        for form in forms:
            for m in (64, 128, 256):
                for target in TARGETS:
                    known = set()
                    for row in rows():
                        kinds = ("mxf4", "mxf4nvf4") if row["kind"] == "mxf4*" else (row["kind"],)
                        same = (row["ws"], row["sparse"]) == (str(int(form.ws)), str(int(form.sparse)))
                        if form.kind not in kinds or not same or str(form.cta_group) not in row["cta_group"]:
                            continue
                        if row["K"] == "96" and (m != 256 or target not in ("sm_103a", "sm_107a")):
                            continue
                        if "sm_107f" in row["note"] and target not in ("sm_107a", "sm_107f"):
                            continue
                        known.add(int(row["K"]))
                    if form.kind != "ti16":
                        assert depths(form, target, m) is None or {*depths(form, target, m)} == known, (form, target, m)
                    elif target in ("sm_107a", "sm_107f"):
                        assert depths(form, target, m) == (32 if form.sparse else 16,)


def test_what_cutlass_asserts_of_a_shape_is_remarked():
    stricter = {
        "CUTLASS asserts N%16 for M=128 of f16/tf32/f8f6f4": lambda m, n: m == 128 and n % 16,
        "CUTLASS: 8 or a multiple of 16 (24 refused)": lambda m, n: n == 24,
        "CUTLASS mxf8f6f4: M 256 only": lambda m, n: m == 128,
    }
    for row in rows():
        if row["M"].startswith("as "):
            continue
        form = Form(row["kind"], row["sparse"] == "1", row["ws"] == "1", int(row["cta_group"]))
        refused = stricter.get(row["note"], lambda m, n: False)
        for m in allowed_shapes(form)[0]:
            for n in allowed_shapes(form)[1]:
                assert bool(remark(form, m, n)) == bool(refused(m, n)), (form, m, n)


def test_a_refused_m_names_a_form_that_has_it_if_there_is_one():
    """Of the same kind and sparsity, with the other group of CTAs or with .ws."""
    forms = [inst.form for inst in every_form()]
    for form in forms:
        others = {describe(o): o for o in forms if (o.kind, o.sparse) == (form.kind, form.sparse) and o != form}
        for m in (16, 32, 64, 128, 256):
            if m in allowed_shapes(form)[0]:
                continue
            having = {text for text, other in others.items() if m in allowed_shapes(other)[0]}
            with pytest.raises(mmacalc.Error) as refused:
                check_shape(form, {}, "sm_100a", m, 64, None)
            named_form = str(refused.value).partition("; ")[2].removesuffix(f" supports M = {m}")
            assert named_form in having if having else not named_form, (form, m)


@pytest.mark.parametrize("pair", [1, 2])
def test_what_may_be_transposed_is_said_for_every_kind(pair):
    """PTX ISA 9.1, table 52: N of a transposed B of 8 bits is in steps of 16, of 32 in a pair of CTAs."""
    said = {
        "f16": "A and B", "tf32": "A and B, with the 128B swizzle of 32-byte atoms only",
        **dict.fromkeys(("mxf4", "mxf4nvf4"), "none: A and B are K-major"),
        **dict.fromkeys(("f8f6f4", "i8", "mxf8f6f4"), f"A and B; N of a transposed B is in steps of {16 * pair}"),
    }  # fmt: skip
    assert {kind: transposes(kind, pair) for kind in said} == said


def test_scales_of_16_elements_have_two_types_and_those_of_32_one():
    """PTX ISA 9.1, tcgen05.mma: UE8M0, and of mxf4nvf4 with .block16 UE4M3 as well, which is its usual one."""
    for kind, scales, known in (
        ("mxf8f6f4", 1, ("ue8m0",)), ("mxf4", 2, ("ue8m0",)), ("mxf4nvf4", 2, ("ue8m0",)),
        ("mxf4nvf4", 4, ("ue4m3", "ue8m0")),
    ):  # fmt: skip
        assert check_scale_type(kind, scales, None) == known[0]
        for name in ("ue4m3", "ue8m0"):
            if name in known:
                assert check_scale_type(kind, scales, name) == name
            else:
                with pytest.raises(
                    mmacalc.Error, match=r"with \.block32 are ue8m0" if "nv" in kind else f"{kind} are ue8m0"
                ):
                    check_scale_type(kind, scales, name)
    with pytest.raises(mmacalc.Error, match=r"kind::mxf4nvf4 with \.block16 are ue4m3 or ue8m0; got 'ue5m3'"):
        check_scale_type("mxf4nvf4", 4, "ue5m3")
    assert SMALL == ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")


# PTX ISA 9.1, tcgen05.cp: the rows of the box, the bits of each, and the warps' lanes that get a row.
COPIED = {
    "128x256b": lambda row: {row}, "128x128b": lambda row: {row},
    "64x128b.warpx2::02_13": lambda row: {row, row + 64},
    "64x128b.warpx2::01_23": lambda row: {row % 32 + 64 * (row // 32), row % 32 + 64 * (row // 32) + 32},
    "32x128b.warpx4": lambda row: {row, row + 32, row + 64, row + 96},
    "4x256b": lambda row: {32 * row},
}  # fmt: skip


@pytest.mark.parametrize("shape", COPIES)
def test_a_copy_puts_each_row_where_its_shape_and_warps_say(shape):
    layout = copy_layout(shape)
    count, bits = (int(part) for part in shape.partition("b")[0].split("x"))
    assert layout.extents == (count, bits // 32)
    for row in range(count):
        for column in range(bits // 32):
            found = set(layout.locate({"row": row, "column": column}))
            assert found == {(lane, column) for lane in COPIED[shape](row)}, (row, column)


# --- the numbers in names and operands, as ptxas 13.5.37 takes them ---


def taken(name, target="sm_107a", *operands):
    return entry(target).refusal(f"tcgen05.{name}", operands) == ""


def test_counts_of_loads_are_those_whose_registers_a_thread_can_have():
    """ptxas 13.5: .x1 to .x128 of one register each; of .16x128b and .16x256b to 128 registers; .red from .x2 on."""
    each = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}
    for shape, size in each.items():
        assert not taken(f"ld.sync.aligned.{shape}.b32")
        for count in range(258):
            fits = count in (1, 2, 4, 8, 16, 32, 64, 128) and count * size <= 128
            assert taken(f"ld.sync.aligned.{shape}.x{count}.b32") == fits, (shape, count)
            assert taken(f"st.sync.aligned.{shape}.x{count}.b32") == fits
            reduced = fits and count > 1 and shape in ("32x32b", "16x32bx2")
            assert taken(f"ld.red.sync.aligned.{shape}.x{count}.min.f32") == reduced
            sparsified = fits and count > 3 and shape == "32x32b"
            assert taken(f"ld.spcompress.sync.aligned.{shape}.x{count}.max.sp::2:4.f32.b2") == sparsified
            if not fits and size * count > 128 and count in (64, 128):
                with pytest.raises(mmacalc.Error, match=rf"x1 to \.x{128 // size}"):
                    registers(shape, count)
            elif fits:
                assert registers(shape, count) == size * count


def test_columns_are_powers_of_two_from_32_to_512_and_1024_for_the_one_cta_that_has_all():
    for count in (0, 1, 16, 31, 32, 33, 48, 64, 96, 128, 256, 511, 512, 513, 1024, 2048):
        usual = count in (32, 64, 128, 256, 512)
        for pair in (1, 2):
            alloc, dealloc = f"alloc.cta_group::{pair}.sync.aligned", f"dealloc.cta_group::{pair}.sync.aligned"
            assert taken(f"{alloc}.shared::cta.b32", "sm_100a", f"ncols={count}") == usual
            assert taken(f"{dealloc}.b32", "sm_100a", f"ncols={count}") == usual
            assert taken(f"{dealloc}.exclusive.b32", "sm_100a", f"ncols={count}") == (usual or count == 1024)
    for pair in range(4):
        assert taken(f"commit.cta_group::{pair}.mbarrier::arrive::one.b64") == (pair in (1, 2))


def test_scale_input_d_is_0_to_15_and_masks_have_four_words_for_each_cta():
    for kind in ("f16", "tf32", "f8f6f4", "i8"):
        for scale in (*range(18), 31, 32):
            for target in TARGETS:
                fits = scale < 16 and kind in ("f16", "tf32") and not target.startswith("sm_110")
                assert taken(f"mma.cta_group::1.kind::{kind}", target, f"scale{scale}") == fits, (kind, scale, target)
    for words in range(1, 17):
        for pair in (1, 2):
            assert taken(f"mma.cta_group::{pair}.kind::f16", "sm_100a", f"mask{words}") == (words == 4 * pair)


def test_collectors_are_a_and_on_rubin_b_and_with_ws_four_of_b():
    for number in range(6):
        assert taken(f"mma.ws.cta_group::1.kind::f16.collector::b{number}::fill") == (number < 4)
        assert not taken(f"mma.cta_group::1.kind::f16.collector::b{number}::fill")
    for target in TARGETS:
        rubin = target.startswith("sm_107")
        assert taken("mma.cta_group::1.kind::f16.collector::b::fill", target) == rubin
        assert taken("mma.cta_group::1.kind::f16.collector::a::fill.collector::b::use", target) == rubin
        assert taken("mma.cta_group::1.kind::f16.collector::a::fill", target)
    assert not taken("mma.cta_group::1.kind::f16.collector::a::fill.collector::a::use")
    assert not taken("mma.ws.cta_group::1.kind::f16.collector::b0::fill.collector::b1::fill")


def test_a_row_has_as_many_scales_as_its_k_has_blocks():
    """PTX ISA 9.1, tcgen05.mma: blocks of 32 elements, and of 16 with .block16 and .scale_vec::4X."""
    words = {
        "mxf8f6f4": ("", "block32", "scale_vec::1X"), "mxf4": ("", "block32", "scale_vec::2X"),
        "mxf4nvf4": ("block32", "scale_vec::2X", "block16", "scale_vec::4X"),
    }  # fmt: skip
    for kind, sparse in itertools.product(words, ("", ".sp")):
        for word in ("", "block16", "block32", "scale_vec::1X", "scale_vec::2X", "scale_vec::4X"):
            name = f"mma{sparse}.cta_group::1.kind::{kind}.block_scale{word and '.'}{word}"
            assert taken(name, "sm_100a") == (word in words[kind]), name
            if word not in words[kind]:
                continue
            inst = mmacalc.instruction("sm_100a", f"tcgen05.{name}")
            block = 16 if word in ("block16", "scale_vec::4X") else 32
            dense = {"mxf8f6f4": 32, "mxf4": 64, "mxf4nvf4": 64}[kind]
            # Blocks of a sparse A count its stored elements.
            assert (inst.k, inst.scale_vec) == (dense * 2 if sparse else dense, dense // block), name
            assert inst.block_size == (block * 2 if sparse else block)
            assert inst.formats["SA"] == inst.formats["SB"] == ("ue4m3" if block == 16 else "e8m0")
            for target in TARGETS:  # sparse 4-bit kinds and scale_vec are of the targets with an a
                everywhere = not word.startswith("scale_vec") and not (sparse and kind != "mxf8f6f4")
                assert taken(name, target) == (everywhere or target.endswith("a")), (name, target)


def test_moves_have_no_shape_and_multiply_nothing():
    moves = [name for name in entry("sm_107a").tensor_memory_names if ".mma" not in name]
    for name in moves[:: 1 + len(moves) // 60]:
        inst = mmacalc.instruction("sm_107a", name)
        assert (inst.m, inst.n, inst.k, inst.blocks, inst.flops) == (1, 1, 1, 1, 0), name
