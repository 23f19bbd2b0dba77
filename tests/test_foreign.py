"""Layouts of Triton, Gluon and CuTe: read, turned into linear layouts, compared and converted."""

import itertools
import math
import random

import pytest

import mmacalc
from mmacalc import Error
from mmacalc.cli import answer
from mmacalc.foreign import convert, read, reads
from mmacalc.layout.cute import CuteLayout
from mmacalc.layout.linear import LinearLayout
from recorded import json_file
from recorded import text as recorded_text

TRITON = json_file("triton_encodings.json.gz")
MFMA = "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = %s}>"


def mlir(encoding):
    """An encoding as Triton's MLIR writes it."""

    def value(one):
        if isinstance(one, bool):
            return str(one).lower()
        if hasattr(one, "kind"):
            return mlir(one)
        if hasattr(one, "items"):
            return "{" + ", ".join(f"{name} = {value(held)}" for name, held in one.items()) + "}"
        return str([*map(value, one)]).replace("'", "") if isinstance(one, tuple) else str(one)

    return f"#ttg.{encoding.kind}<{value(encoding.parameters)}>"


def test_every_register_lane_and_warp_of_an_encoding_holds_what_triton_says():
    kinds = set()
    for text, shape, *bases in TRITON:
        found = read(text)
        layout = found.linear(shape)
        places = ("register", "lane", "warp") if len(bases) == 3 else ("offset",)
        ours = [[list(basis) for basis in layout.bases.get(place, ())] for place in places]
        assert ours == bases, (text, shape)
        kinds.add(found.kind)
    assert len(TRITON) == 1441
    assert kinds == {"blocked", "slice", "linear", "dot_op", "nvidia_mma", "amd_mfma", "amd_wmma", "swizzled_shared",
                     "nvmma_shared"}  # fmt: skip


def test_an_encoding_in_mlir_is_that_of_python():
    for text, _, *_ in TRITON[::7]:
        encoding = read(text).encoding
        assert read(mlir(encoding)).encoding == encoding, text


def test_aliases_and_tensor_types_are_read():
    text = f"#mma = {MFMA % 'false'}\n#lhs = #ttg.dot_op<{{opIdx = 0, parent = #mma, kWidth = 4}}>\n"
    found = read(text + "tensor<256x32xbf16, #lhs>")
    assert (found.kind, found.given_shape, found.element) == ("dot_op", (256, 32), "bf16")
    assert [inst.name for inst in found.instructions] == ["v_mfma_f32_32x32x8_bf16"]
    assert read(text).kind == "dot_op"


def turned(layout, of):
    """A layout of Triton's with the places and axes of a tile's operand."""
    return layout.renamed(register="item", warp="wave", **dict(zip(layout.extents, of)))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    ("arch", "name", "encoding"),
    [
        ("cdna3", "v_mfma_f32_32x32x8_f16", "AMDMFMALayout(3, [32, 32, 8], {}, {}, tiles_per_warp={})"),
        ("cdna4", "v_mfma_f32_16x16x32_f16", "AMDMFMALayout(4, [16, 16, 32], {}, {}, tiles_per_warp={})"),
        ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "NVMMADistributedLayout([2, 0], {1}, [16, 8])"),
    ],
)
def test_d_of_a_tile_is_tritons_layout_of_the_dot(arch, name, encoding, transposed):
    if transposed and arch == "sm_80":
        return
    for warps, near in itertools.product(([1, 4], [2, 2], [4, 2]), ([1, 1], [1, 2], [2, 2])):
        if arch == "sm_80" and near != [1, 1]:
            continue
        found = read(encoding.format(transposed, warps, near))
        shape = (256, 256)
        if transposed and near != [1, 1]:
            continue  # Triton counts the transposed tiles of a warp along n first, the waves' own along m
        tile = found.tile(mmacalc.instruction(arch, name), shape)
        ours = tile.operand("D").layout
        axes = ("j", "i") if transposed else ("i", "j")
        theirs = turned(found.linear(shape), axes)
        linear = LinearLayout.of(ours).sliced("block", "item")
        for place in ("item", "lane", "wave"):
            rows = [basis if not transposed else basis[::-1] for basis in linear.bases[place]]
            assert tuple(rows) == theirs.bases[place], (warps, near, place)


def elements(layout):
    """By place, as a tuple of numbers, the element there."""
    names = [*layout.bases]
    for at in itertools.product(*(range(1 << len(layout.bases[name])) for name in names)):
        yield dict(zip(names, at)), layout.apply(**dict(zip(names, at)))


def by_counting(source, target):
    """The kind of a conversion, and how many elements a thread gets from elsewhere, by looking at every place."""
    held, kinds, moved = {}, set(), 0
    for place, element in elements(source):
        held.setdefault(element, set()).add((place["lane"], place["warp"]))
    threads, seen = set(), set()
    for place, element in elements(target):
        thread = (place["lane"], place["warp"])
        threads.add(thread)
        if thread in held[element]:
            kinds.add("registers")
        else:
            kinds.add("lanes" if place["warp"] in {warp for _, warp in held[element]} else "shared memory")
            moved += (thread, element) not in seen
        seen.add((thread, element))
    worst = next(kind for kind in ("shared memory", "lanes", "registers") if kind in kinds)
    return worst, moved / len(threads)


def test_what_a_conversion_moves_is_what_counting_every_place_says():
    rng = random.Random(3)
    distributed = [row for row in TRITON if len(row) == 5 and len(row[1]) == 2]
    kinds = {}
    while min([kinds.get(kind, 0) for kind in ("registers", "lanes", "shared memory")]) < 2:
        shape = (16, 32)
        found = []
        for text, *_ in rng.sample(distributed, 2):
            found.append(read(text).linear(shape))
        if rng.random() < 0.5:  # one whose lanes, or registers, are in another order
            place = rng.choice(("lane", "register"))
            rows = [*found[0].bases[place]]
            rng.shuffle(rows)
            found[1] = LinearLayout({**found[0].bases, place: rows}, found[0].extents)
        if any(len(one.bases["lane"]) != len(found[0].bases["lane"]) for one in found):
            continue
        if found[0].spans()["warp"] != found[1].spans()["warp"] or len(found[0].vectors()) > 11:
            continue
        answer = convert(*found, 16)
        expected, moved = by_counting(*found)
        if answer.kind == "identical":
            assert expected == "registers"
            assert moved == 0
            continue
        assert (answer.kind, answer.moved) == (expected, pytest.approx(moved)), found
        different = sum(
            element != found[0].apply(**{name: at % found[0].spans()[name] for name, at in place.items()})
            for place, element in elements(found[1])
            if found[0].spans() == found[1].spans()
        )
        assert found[0].spans() != found[1].spans() or answer.differ == different
        kinds[answer.kind] = kinds.get(answer.kind, 0) + 1


def test_the_instructions_of_a_matrix_encoding_have_its_shape():
    for text in (MFMA % "true", "NVMMADistributedLayout([3, 0], [4, 1], [16, 128, 16])",
                 "AMDWMMALayout(2, False, [[0, 1], [1, 0]], [], [16, 16, 16])"):  # fmt: skip
        found = read(text)
        names = [inst.name for inst in found.instructions]
        assert names, text
        assert len(names) == len(set(names))
    assert all("m64n128k16" in name for name in [i.name for i in read(
        "NVMMADistributedLayout([3, 0], [4, 1], [16, 128, 16])").instructions])  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#ttg.blockd<{}>", "'blockd' is not a layout of Triton that is known here. Did you mean blocked"),
        ("#ttg.blocked<{order = [1, 0]}>", "#ttg.blocked has no sizePerThread"),
        ("#ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 4}>", "#mma is not defined in the text"),
        ("#ttg.blocked<{order = [1, 0]", "ends early or cannot be read"),
        ("gl.BlockedLayout([1], warp=3)", "BlockedLayout has no argument 'warp'"),
        ("gl.BlockedLayout(f(3))", "'f' is not one of Gluon's layouts"),
        ("gl.BlockedLayout([1, 3], [8, 4], [4, 1], [1, 0])", "Triton's layouts have powers of two; got 3"),
        ("#ttg.nvidia_mma<{versionMajor = 5, warpsPerCTA = [4, 1], instrShape = [16, 8]}>", "version 5 is not covered"),
        ("#ttg.blocked<{sizePerThread = 3, threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>",
         "the parameters of #ttg.blocked are not of its form"),
        ("what", "is not a layout that can be read"),
    ],
)  # fmt: skip
def test_what_is_not_a_layout_is_refused_in_words(text, message):
    with pytest.raises(Error, match=message):
        read(text).linear()
    reply = answer(["layout", text])
    assert reply.status == 2
    assert "bug in mmacalc" not in reply.err


def test_layouts_that_differ_in_the_order_of_an_axis_alone_are_said_to_and_others_are_not():
    rng = random.Random(5)
    distributed = [row for row in TRITON if len(row) == 5 and len(row[1]) == 2]
    for _ in range(20):
        source = read(rng.choice(distributed)[0]).linear((16, 32))
        goes = [rng.sample([1, 2, 4, 8], 4), [1, 2, 4, 8, 16]]
        goes[1][rng.randrange(1, 5)] ^= 1 if rng.random() < 0.5 else 0  # an order by exclusive or
        axes = [*source.extents]
        turned = {axis: [tuple(to * (axis == one) for one in axes) for to in goes[at]] for at, axis in enumerate(axes)}
        moved = source.compose(LinearLayout(turned, source.extents))
        wanted = {
            axis: tuple(order)
            for axis, order in zip(axes, goes)
            if list(order) != [1 << bit for bit in range(len(order))]
        }
        assert convert(source, moved).orders == wanted
        for axis, text in convert(source, moved).permutations.items():
            assert CuteLayout.parse(text).indices[1] == wanted[axis][0]
    same_row, other = read(MFMA % "false").linear((64, 64)), read(MFMA % "true").linear((64, 64))
    assert convert(same_row, other).orders == {}
    assert convert(same_row, same_row).orders == {}


def test_the_k_order_that_a_copy_atom_needs_is_found_and_is_the_permutation_of_a_tile():
    """CUTLASS #1440: the copy gives a thread four neighbouring k, two instructions along k want two and two."""
    instructions, copy = "((16,4),(2,2)):((1,32),(16,128))", "((16,4),(2,2)):((1,64),(16,32))"
    reply = answer(["layout", instructions, copy, "--tensor", "16x16"])
    assert "if j is permuted by (2,4,2):(1,4,2)" in reply.out
    xf32 = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x8_xf32")  # its A is that of the question
    a = xf32.tile((1, 1), (1, 1, 2), permutation={"k": "(2,4,2):(1,4,2)"}).operand("A")
    indices = CuteLayout.parse(copy)
    for thread in (0, 1, 17, 63):
        for value in range(4):
            (held,) = a.contents(thread=thread, value=value)
            assert held.row + 16 * held.col == indices((thread, value))


def test_layouts_are_explained_compared_and_chained():
    one, other = MFMA % "false", MFMA % "true"
    assert reads(one)
    for argv, wanted in (
        (["explain", one], "D of v_mfma_f32_32x32x8_f16"),
        (["compare", one, other], "They differ in"),
        (["compare", one, one], "The two layouts are the same"),
        (["chain", one, other], "Conversion: lanes of a warp exchange values"),
        (["layout", "((4,8),(2,2)):((16,1),(8,64))", "--tensor", "8x16"], "thread (i j1), value (j2 j0)"),
        (["layout", "(4,2):(1,8)"], "size 8, cosize 12"),
    ):
        reply = answer(argv)
        assert (reply.status, reply.err) == (0, ""), argv
        assert wanted in reply.out
    with pytest.raises(Error, match="the sizes of Triton's tensors are powers of two; got 3x4"):
        read(one).linear((3, 4))
    assert math.prod(read(one).shape) == 64 * 64


def test_a_dump_of_triton_says_which_instruction_each_dot_becomes_and_what_is_not_read(tmp_path):
    path = tmp_path / "matmul.ttgir"
    path.write_text(recorded_text("triton/matmul_gfx942.ttgir.gz"))
    reply = answer(["explain", str(path)])
    assert (reply.status, reply.err) == (0, "")
    assert "71: tt.dot  (mm.py:10)" in reply.out
    assert "8 x v_mfma_f32_32x32x8_f16 in each warp (cdna3), which computes the transpose" in reply.out
    assert "cannot be read here" not in reply.out
    converted = path.read_text().replace(
        "      %acc_46 = tt.dot",
        "%z = ttg.convert_layout %v : tensor<128x64xf16, #mma> -> tensor<128x64xf16, #blocked2>\n %a = tt.dot",
    )
    path.write_text(converted)
    assert "shared memory: 16384 bytes" in answer(["explain", str(path)]).out
    assert answer(["explain", "tt.func @f() { }"]).status == 2


@pytest.mark.parametrize(
    ("vec", "per_phase", "most", "order"), [(4, 1, 16, "1, 0"), (4, 1, 8, "0, 1"), (8, 2, 4, "1, 0")]
)
def test_a_rotating_swizzle_puts_each_element_where_triton_computes_it(vec, per_phase, most, order):
    text = f"#ttg.amd_rotating_shared<{{vec = {vec}, perPhase = {per_phase}, maxPhase = {most}, order = [{order}]}}>"
    rows, columns = 128, 64
    shape = (rows, columns) if order == "1, 0" else (columns, rows)
    linear = read(text).linear(shape)
    bases = linear.bases["offset"]
    seen = set()
    for offset in range(rows * columns):
        at = [0, 0]
        for bit, basis in enumerate(bases):
            if offset >> bit & 1:
                at = [at[0] ^ basis[0], at[1] ^ basis[1]]
        row, column = at if order == "1, 0" else reversed(at)
        # sharedToLinearLayoutAMDRotating: the phase of a row, and of its block of maxPhase phases.
        phase = row // per_phase % most ^ row // most // per_phase % most
        assert offset == row * columns + (column ^ vec * phase % columns)
        seen.add((row, column))
    assert len(seen) == rows * columns


SWIZZLED = "SwizzledSharedLayout(vec=1, per_phase=1, max_phase=1, order=[1, 0], cga_layout=[])"
ROWS = [(0, 1), (0, 2), (0, 4)]


@pytest.mark.parametrize(
    ("counts", "inner", "shape", "offsets", "partitions"),
    [
        ((2, 1, 0), SWIZZLED, (16, 8), [*ROWS, (1, 0), (2, 0), (4, 0)], [(8, 0)]),
        ((2, 2, 0), SWIZZLED, (16, 8), [*ROWS, (1, 0), (2, 0), (8, 0)], [(4, 0)]),
        ((2, 1, 1), SWIZZLED, (16, 8), [(0, 1), (0, 2), (1, 0), (2, 0), (4, 0), (8, 0)], [(0, 4)]),
        ((2, 2, 1), SWIZZLED, (16, 8), [(0, 1), (1, 0), (2, 0), (4, 0), (8, 0), (0, 4)], [(0, 2)]),
        ((4, 2, 0), SWIZZLED, (16, 8), [*ROWS, (1, 0), (8, 0)], [(2, 0), (4, 0)]),
        ((2, 2, 0), "SwizzledSharedLayout(4, 1, 4, [1, 0])", (32, 16),
         [*ROWS, (0, 8), (1, 4), (2, 8), (4, 0), (16, 0)], [(8, 0)]),
    ],
)  # fmt: skip
def test_partitions_of_gfx1250_are_tritons(counts, inner, shape, offsets, partitions):
    """The offsets are what Triton 3.9's to_linear_layout gives; which partition is what is left of the axis."""
    layout = read(f"PartitionedSharedLayout({', '.join(map(str, counts))}, {inner})").linear(shape)
    assert [*layout.bases["offset"]] == offsets
    assert [*layout.bases["partition"]] == partitions
    assert (layout.rank, layout.injective) == (sum(size.bit_length() - 1 for size in shape), True)
    mlir = (
        f"#ttg.partitioned_shared<{{numPartitions = {counts[0]}, numGroups = {counts[1]}, partitionDim = {counts[2]}, "
        "partitionLayout = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>}>"
    )
    if inner is SWIZZLED:
        assert read(mlir).linear(shape).bases == layout.bases


def test_partitions_that_do_not_divide_are_refused():
    for counts in ("1, 2, 0", "2, 64, 0", "3, 1, 0"):
        with pytest.raises(Error, match="numGroups is a power of two that divides the axis"):
            read(f"PartitionedSharedLayout({counts}, {SWIZZLED})").linear((16, 8))
