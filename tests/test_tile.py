"""Tiles: instructions repeated over waves and by each wave, against CuTe and Triton and by their own properties."""

import math
import pickle
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmacalc
from mmacalc import Error, Layout
from mmacalc.catalog import entry
from mmacalc.cli import answer
from mmacalc.foreign.tiled_mma import tiled_mma
from mmacalc.layout.cute import CuteLayout
from mmacalc.spelling import lanes_of, place_text
from recorded import json_file
from samples import sampled

CUTE = json_file("nvidia/cute_tiles.json.gz")
MFMA = "v_mfma_f32_32x32x8_f16"


def nested(value):
    return tuple(map(nested, value)) if isinstance(value, list) else value


def tile_of(shape, types, atoms, stride, permutation):
    m, n, k = shape
    a, c = types
    if a.startswith("sm_"):  # an architecture and a PTX name
        inst = entry(a).meant(c)
        assert (inst.m, inst.n, inst.k) == (m, n, k)
    else:
        inst = mmacalc.instruction("sm_80", f"mma.sync.aligned.m{m}n{n}k{k}.row.col.{c}.{a}.{a}.{c}")
    layouts = [None if one is None or isinstance(one, int) else CuteLayout(*nested(one)) for one in permutation]
    sizes = [one if isinstance(one, int) else layout and layout.size for one, layout in zip(permutation, layouts)]
    own = [count * extent for count, extent in zip(atoms, shape)]
    repeat = [1 if size is None else size // extent for size, extent in zip(sizes, own)]
    order = "mnk" if stride is None else "".join(axis for _, axis in sorted(zip(stride[:2], "mn"))) + "k"
    kept = {axis: layout for axis, layout in zip("mnk", layouts) if layout is not None}
    return inst.tile(atoms, repeat, wave_order=order, permutation=kept)


@sampled("row", [*CUTE["mma"], *CUTE["other"]], 20, ids=lambda row: "-".join(map(str, row[:5])))
def test_every_thread_and_value_of_a_tiled_mma_holds_what_cute_says(row):
    *described, a, b, c = row
    tile = tile_of(*described)
    compared = 0
    for name, order, text in (("A", ("i", "k"), a), ("B", ("j", "k"), b), ("D", ("i", "j"), c)):
        if name == "D" and described[2][2] > 1:
            continue  # CuTe's table of C has no threads along k
        if name not in tile.operands:
            continue  # B of wgmma is in shared memory
        operand, theirs = tile.operand(name), CuteLayout.parse(text)
        extents = dict(zip(operand.axes, operand.shape))
        threads, values = theirs[0].indices, theirs[1].indices
        assert (len(threads), len(values)) == (operand.lanes, operand.items), (name, text)
        read = CuteLayout.parse(operand.layout.cute((*order, "block")))
        assert sum(read.indices) == sum(theirs.indices)
        for thread in range(0, operand.lanes, 3):
            for value in range(operand.items):
                (found,) = operand.contents(thread=thread, value=value)
                at = {operand.axes[1]: found.row, operand.axes[2]: found.col}
                index = at[order[0]] + extents[order[0]] * at[order[1]]
                assert index == threads[thread] + values[value], (name, thread, value)
                compared += 1
    assert compared > 50


def spelled(shape, types, atoms, stride, permutation):
    """The same as C++ writes it."""
    m, n, k = shape
    a, c = (one.upper() for one in types)

    def part(one):
        if one is None or isinstance(one, int):
            return "_" if one is None else f"_{one}"
        shapes, strides = (str(nested(each)).replace(" ", "").replace(",)", ")") for each in one)
        return f"{shapes}:{strides}"

    strides = f", Stride<{', '.join(f'_{each}' for each in stride)}>" if stride else ""
    layout = f"Layout<Shape<{', '.join(f'_{each}' for each in atoms)}>{strides}>"
    tiler = f"Tile<{', '.join(map(part, permutation))}>"
    atom = f"SM80_{m}x{n}x{k}_{c}{a}{a}{c}_TN"
    return f"make_tiled_mma(cute::{atom}{{}}, {layout}{{}}, {tiler}{{}});"


@pytest.mark.parametrize("row", CUTE["mma"], ids=lambda row: "-".join(map(str, row[:5])))
def test_a_tiled_mma_as_c_plus_plus_writes_it_is_the_same_tile(row):
    assert tiled_mma(spelled(*row[:5])) == tile_of(*row[:5])


def elements(partitioned):
    """The (row, column) of each value of a partitioned tensor as CuTe prints it: (0,2) o ((2,2),1):((1@1,8@0),0)."""
    first, second, shape, steps = re.fullmatch(r"tensor<\((\d+),(\d+)\) o (.*):(.*)>", partitioned).groups()
    found = [(int(first), int(second))]
    for size, step in zip(re.findall(r"\d+", shape), re.split(r"[(),]+", steps.strip("()"))):
        far, _, axis = step.partition("@")
        found = [
            tuple(at + int(far) * digit * (axis == str(own)) for own, at in enumerate(one))
            for digit in range(int(size))
            for one in found
        ]
    return found


@pytest.mark.parametrize(("text", "shape", "threads"), CUTE["asked"], ids=range(len(CUTE["asked"])))
def test_tiles_of_public_questions_give_each_thread_what_cutes_partitions_do(text, shape, threads):
    """CUTLASS's issues 1447, 1448, 1705, 2127, flash-attention's 1512 and 1630: MMA_M, MMA_N and MMA_K are the repeat,
    registers those of C, permutations what C++ writes them with."""
    tile = tiled_mma(text)
    assert tile.shape == tuple(shape)
    for thread, parts in threads.items():
        for name, order, partitioned in zip("ABD", (("i", "k"), ("j", "k"), ("i", "j")), parts):
            operand = tile.operand(name)
            values = elements(partitioned)
            assert len(values) == operand.items
            for value, wanted in enumerate(values):
                (found,) = operand.contents(thread=int(thread), value=value)
                at = dict(zip(operand.axes[1:], (found.row, found.col)))
                assert tuple(at[axis] for axis in order) == wanted, (name, thread, value)


def test_repeat_and_registers_answer_what_was_asked_of_mma_m_and_of_spills():
    by_shape = {tuple(shape): tiled_mma(text) for text, shape, _ in CUTE["asked"]}
    assert by_shape[96, 96, 64].repeat == (2, 3, 2)  # CUTLASS #1448: (MMA_M, MMA_N, MMA_K) of 3x4x2 atoms on 96x96x64
    assert by_shape[96, 96, 64].threads == 32 * 3 * 4 * 2
    scores = by_shape[128, 64, 128]  # flash-attention #1630: head 128, blocks of 128 and 64, 4 warps spills
    out = scores.instruction.tile((4, 1), (2, 16, 4))
    assert out.shape == (128, 128, 64)
    assert [one.operand("D").registers for one in (scores, out)] == [64, 128]


def test_what_people_paste_of_cute_is_explained():
    for text, says in (
        ("auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2,_2,_1>>{}, Tile<_32,_32,_16>{});",
         "Tile: 32x32x16 by 4 waves (2x2x1) of 32 threads, each with 2 instructions (1x2x1)"),
        ("TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_8,_1,_1>>>", "Tile: 128x8x16 by 8 waves"),
        ("make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}, Layout<Shape<_2,_1,_1>>{})",
         "Note: A of an atom whose name ends in _SS is in shared memory"),
    ):  # fmt: skip
        reply = answer(["explain", text])
        assert (reply.status, says in " ".join(reply.out.split())) == (0, True), reply.err
    out = answer(["tile", "-a", "V100", "-i", "SM70_8x8x4_F32F16F16F32_NT", "--waves", "2x2"]).out
    assert "Note: CuTe's SM70 atoms are of a quad pair of 8 threads" in " ".join(out.split())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("make_tiled_mma(op, Layout<Shape<_2,_2>>{})", "with an atom such as SM80_16x8x16_F32F16F16F32_TN"),
        ("make_tiled_mma(SM70_8x8x4_F32F16F16F32_NT{}, Layout<Shape<_2,_2>>{})", "a tile of quad pairs has no answer"),
        ("make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2,_2>>{}, Tile<_48,_16,_16>{})",
         "the tiler has 48 along m, and the atoms cover 32 at a time"),
        ("make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2,_2>,Stride<_4,_1>>{})", "leaves warps out"),
        ("make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_4,_1,_1,_1>>{})", "has up to three modes"),
        ("make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2,_2>>{}, 32)", "a tiler is Tile<"),
        ("make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<_2>{}, Tile<_>{}, 7)", "'7' is one more"),
        ("make_tiled_mma(SM80_16x8x99_F32F16F16F32_TN{})", "SM80_16x8x99"),
    ],
)  # fmt: skip
def test_a_tiled_mma_that_is_none_is_refused_in_words(text, says):
    reply = answer(["explain", text])
    assert reply.status == 2
    assert says in " ".join(reply.err.split())


def test_a_tiled_copy_has_cutes_layout_from_thread_and_value_to_the_tile():
    for thread, value, text, tiler in CUTE["copy"]:
        made, sizes = CuteLayout(*nested(thread)).tiled_copy(CuteLayout(*nested(value)))
        assert made.indices == CuteLayout.parse(text).indices, (thread, value)
        assert f"({', '.join(f'{size}:1' for size in sizes)})" == tiler


@st.composite
def tiles(draw):
    arch, name = draw(st.sampled_from([
        ("gfx942", MFMA), ("gfx942", "v_mfma_f32_4x4x4_16b_f16"), ("gfx942", "v_smfmac_f32_16x16x32_f16"),
        ("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4"), ("gfx1100", "v_wmma_f32_16x16x16_f16"),
        ("gfx1200", "v_wmma_i32_16x16x16_iu4"), ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        ("sm_80", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"),
        ("sm_90a", "wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16"), ("gfx90a", "v_mfma_f64_16x16x4f64"),
    ]))  # fmt: skip
    counts = st.tuples(*[st.sampled_from([1, 2, 3])] * 3)
    waves, adjacent = draw(counts), draw(counts)
    repeat = tuple(near * more for near, more in zip(adjacent, draw(st.tuples(*[st.sampled_from([1, 2])] * 3))))
    orders = st.sampled_from(["mnk", "nmk", "kmn", "mn"])
    return mmacalc.instruction(arch, name).tile(
        waves, repeat, adjacent=adjacent, repeat_order=draw(orders), wave_order=draw(orders)
    )


@settings(max_examples=60, deadline=None)
@given(tiles(), st.data())
def test_what_locate_finds_contents_holds_and_each_part_is_an_instruction_of_its_own(tile, data):
    name = data.draw(st.sampled_from(tile.operands))
    operand, atom = tile.operand(name), tile.instruction.operand(name)
    assert pickle.loads(pickle.dumps(operand)) == operand
    blocks, *extents = operand.shape
    inner = dict(zip(atom.axes, atom.shape))
    at = {axis: data.draw(st.integers(0, extent - 1)) for axis, extent in zip(operand.axes[1:], extents)}
    block = data.draw(st.integers(0, blocks - 1))
    own = {axis: value % inner[axis] for axis, value in at.items()}
    theirs = {(place.lane, place.lsb, place.width) for place in atom.locate(**own, block=block)}
    places = operand.locate(**at, block=block)
    unlike = [axis for axis, letter in (("m", "i"), ("n", "j"), ("k", "k")) if letter not in at]
    copies = math.prod(tile.waves["mnk".index(axis)] for axis in unlike)
    assert len(places) == copies * len(atom.locate(**own, block=block))
    for place in places:
        assert (place.lane, place.lsb, place.width) in theirs
        held = operand.contents(wave=place.wave, lane=place.lane, register=place.register)
        wanted = tuple(at.values())
        assert any((one.row, one.col, one.block) == (*wanted, block) for one in held)
        thread = place.wave * tile.lanes + place.lane
        values = operand.contents(thread=thread, value=place.item)
        assert any((one.row, one.col, one.block) == (*wanted, block) for one in values)
    assert operand.registers == atom.registers * math.prod(
        tile.repeat["mnk".index({"i": "m", "j": "n"}.get(a, a))] for a in at
    )


def test_the_tables_of_a_tile_are_its_places():
    tile = mmacalc.instruction("gfx942", MFMA).tile((2, 2), (1, 2))
    for name in "ABD":
        operand = tile.operand(name)
        table = operand.table()
        assert table.dtype.names == ("wave", "lane", "item", "register", "lsb", "width")[: len(table.dtype.names)]
        first, second = operand.axes[1:]
        place = operand.locate(**{first: 5, second: 7})
        row = table[5, 7]
        rows = [row] if row.ndim == 0 else list(row)
        assert {tuple(map(int, one)) for one in rows} == {found[: len(one)] for found in place for one in rows[:1]}


def test_an_arrangement_may_be_any_layout_of_waves_and_instructions():
    given = Layout("(r w) n k -> wave (w n), instruction (k r)", ("m", "n", "k"), {"r": 2, "w": 2, "n": 2, "k": 2})
    tile = mmacalc.instruction("gfx942", MFMA).tile(arrangement=given)
    assert (tile.shape, tile.waves, tile.repeat) == ((128, 64, 16), (2, 2, 1), (2, 1, 2))
    assert tile.operand("D").locate(i=32 + 5, j=33)[0].wave == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"waves": (0, 1)}, "waves is 1 to 65536 along each axis; got 0"),
        ({"waves": (1, 2, 3, 4)}, "waves is up to three whole numbers"),
        ({"waves": "2x2"}, "waves is up to three whole numbers"),
        ({"repeat": (3,), "adjacent": (2,)}, "adjacent divides repeat; got 2 of 3 along m"),
        ({"wave_order": "mm"}, "wave_order is m, n and k, the fastest first"),
        ({"permutation": {"n": "(4,2):(1,8)"}}, "the permutation of n cannot be used"),
        ({"permutation": {"n": "64:1"}}, "has 64 elements, which do not divide the tile's 32"),
        ({"permutation": {"x": "64:1"}}, "permutation has a layout for each of m, n or k"),
    ],
)
def test_a_tile_that_cannot_be_is_refused_in_words(arguments, message):
    with pytest.raises(Error, match=message):
        mmacalc.instruction("gfx942", MFMA).tile(**arguments)


def test_what_has_no_tile_says_why():
    with pytest.raises(Error, match="moves a matrix and multiplies nothing"):
        mmacalc.instruction("sm_80", "ldmatrix.sync.aligned.m8n8.x4.shared.b16").tile()
    with pytest.raises(Error, match="has a shape of its own choice"):
        mmacalc.instruction("B200", "tcgen05.mma.cta_group::1.kind::f16").tile()
    tile = mmacalc.instruction("gfx942", MFMA).tile((2, 2))
    with pytest.raises(Error, match="thread = 256 is outside the tile: its threads are 0 to 255"):
        tile.operand("D").contents(thread=256, value=0)
    with pytest.raises(Error, match="wave = 4 is outside D of v_mfma"):
        tile.operand("D").contents(wave=4)
    with pytest.raises(Error, match=r"i = 64 is outside D of .* in a tile of 64x64x8, waves 2x2x1"):
        tile.operand("D").locate(i=64)


def test_the_thread_of_fused_units_is_the_one_that_contents_takes():
    """A of dpasw lies in two EUs, so a wave of it has more lanes than one of D."""
    a = mmacalc.instruction("xe-hpg", "dpasw.8x2.ud.ud.s2.s8").tile((1, 1, 3), (3, 1, 1)).operand("A")
    (place,) = a.locate(i=1, k=40)
    thread = place.wave * 16 + place.lane
    assert [(one.row, one.col) for one in a.contents(thread=thread, value=place.item)] == [(1, 40)]
    assert place_text(a, place).endswith(f"thread {thread}")
    assert lanes_of(a, (thread,)) == f"thread {thread} (wave {place.wave}, lane {place.lane})"
