"""Pictures of operands in Tensor Memory, of D after a load, and of loads and copies."""

import xml.etree.ElementTree as ElementTree

import pytest

import mmacalc
from mmacalc.catalog import entry
from mmacalc.cli import answer
from mmacalc.drawing.matrix import matrix
from mmacalc.families.tensor_memory import LOADS, allowed_shapes

F16 = "tcgen05.mma.cta_group::1.kind::f16"


def operands():
    """Every operand of every form and M, with the smallest N."""
    for name in entry("sm_100a").tensor_memory_names:
        if ".mma" not in name:
            continue
        inst = mmacalc.instruction("sm_100a", name)
        for m in allowed_shapes(inst.form)[0]:
            for operand in inst.drawn_operands:
                if operand == "K" and not inst.form.ws and m // inst.form.cta_group < 128:
                    continue  # only a figure says where it is
                yield inst.operand(operand, m=m, n=allowed_shapes(inst.form)[1][0])


def test_every_picture_shows_every_element_where_locate_has_it():
    compared = 0
    for operand in operands():
        shown = matrix(operand)
        _, rows, columns = operand.shape
        step = operand.instruction.block_size if operand.name in ("SA", "SB") else 1
        for row in sorted({0, 1, rows // 2 + 1, rows - 1}):
            for column in range(0, columns, max(step, columns // 5 // step * step)):
                places = operand.locate(**dict(zip(operand.axes[1:], (row, column))))
                at = (0, row, column // step)
                assert shown.found_in(*at) == tuple(sorted({128 * p.cta + p.lane for p in places})), operand
                found = shown.location(*at)
                assert {(found.register, found.lsb, found.width)} == {(p.column, p.lsb, p.width) for p in places}
                assert at in shown.elements(128 * places[0].cta + places[0].lane, found.item)
                compared += 1
    assert compared > 3000


@pytest.mark.parametrize("shape", LOADS)
@pytest.mark.parametrize(("name", "m"), [(F16, 64), (F16, 128), ("tcgen05.mma.cta_group::2.kind::f16", 256)])
def test_the_picture_of_a_loaded_d_has_the_threads_and_registers_of_the_load(shape, name, m):
    d = mmacalc.instruction("B200", name).operand("D", m=m, n=32).loaded(shape, 2)
    shown, each = matrix(d), d.layout.spans["item"]
    for i in range(0, m, 5):
        for j in range(0, 32, 3):
            (place,) = d.locate(i=i, j=j)
            assert shown.found_in(0, i, j) == (128 * place.cta + 32 * place.warp + place.lane,)
            assert shown.location(0, i, j).register == place.load * each + place.register


def test_a_packed_d_shows_two_columns_in_a_register():
    d = mmacalc.instruction("B200", F16).operand("D", m=128, n=32, d="f16").loaded("32x32b", 16, True)
    shown = matrix(d).location(0, 3, 5)
    assert (shown.register, shown.lsb, shown.width) == (2, 16, 16)


def test_tensor_memory_is_drawn_in_lanes_and_columns_and_never_in_registers():
    inst = mmacalc.instruction("B200", "tcgen05.mma.sp.cta_group::2.kind::f8f6f4")
    parameters = {"m": 256, "n": 32}
    drawings = [inst.operand(name, **parameters).draw() for name in ("A", "D", "K")] + [inst.draw(**parameters)]
    for drawing in drawings:
        for text in (drawing.svg, drawing.html, drawing.text(), drawing.text(colour=True)):
            assert "column" in text
            assert not [word for word in ("register", "VGPR", "%r", "v0") if word in text]
        ElementTree.fromstring(drawing.svg)
    assert "lanes 128 to 255 are lanes 0 to 127 of CTA 1" in drawings[1].text()
    assert "B of this instruction is in shared memory" in drawings[3].svg


def drawn(*arguments):
    reply = answer(["draw", "-a", "B200", *arguments])
    assert reply.status == 0, reply.err
    return reply.out


def test_the_command_line_draws_shapes_types_and_loads(tmp_path):
    pair = ("-i", "tcgen05.mma.cta_group::2.kind::f16", "--m", "128", "--n", "32", "-D")
    assert drawn(*pair, "--mark", "D[100][20]").splitlines()[-2:] == [
        "D[100][20] is in CTA 1, lane 100, column 4", "lanes 128 to 255 are lanes 0 to 127 of CTA 1",
    ]  # fmt: skip
    half = drawn(
        "-i", F16, "--m", "64", "--n", "32", "-D", "--half", "1", "--mark", "D[35][10]", "--color-by", "column"
    )
    assert "D[35][10] is in lane 83, column 10" in half
    after = drawn("-i", F16, "--m", "64", "--n", "32", "-D", "--load", "16x256b.x2", "--mark", "D[35][10]")
    assert "D[35][10] is in warp 2, lane 13, %r4" in after
    pair_after = drawn(*pair, "--load", "32x32b.x16", "--mark", "D[100][20]")
    assert "D[100][20] is in CTA 1, warp 3, lane 4, %r4" in pair_after
    scales = ("-i", "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16", "--m", "128", "--n", "64")
    assert "SB[40][2] is in lanes 8, 40, 72, 104, column 1[23:16]" in drawn(*scales, "--scale-b", "--mark", "SB[40][2]")
    assert "j = 64 and above are padding" in drawn(*scales, "--scale-b")
    drawn("-i", F16, "--m", "128", "--n", "16", "-A", "--a-type", "bf16", "--registers", "-o", str(tmp_path / "a.svg"))
    assert "column 7" in (tmp_path / "a.svg").read_text()


def test_loads_and_copies_are_drawn_alone():
    assert "T[9][5] is in lane 6, %r3" in drawn("-i", "tcgen05.ld.sync.aligned.16x256b.x2.b32", "--mark", "T[9][5]")
    copy = drawn("-i", "tcgen05.cp.cta_group::1.32x128b.warpx4", "--mark", "T[3][1]")
    assert "T[3][1] is in lanes 3, 35, 67, 99, column 1" in copy
    for name in entry("sm_100a").tensor_memory_names[60::40]:
        inst = mmacalc.instruction("sm_100a", name)
        if getattr(inst, "layout", None) is not None:
            assert matrix(inst.operand("T")).lanes in (32, 128)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["-i", F16, "-D"], "name m and n, such as m=128, n=256"),
        (["-i", F16, "--m", "96", "--n", "8", "-D"], "M is 64 or 128"),
        (["-i", F16, "--m", "128", "--n", "8", "-B"], "is in shared memory"),
        (["-i", F16, "--m", "128", "--n", "8", "-A", "--load", "32x32b.x8"], "reads D for an epilogue"),
        (["-i", F16, "--m", "128", "--n", "8", "-D", "--color-by", "register"], "It can be by: lane, column, i, j"),
        (["-i", F16, "--m", "128", "--n", "8", "--load", "32x32b.x8"], "--load goes with one matrix"),
        (["-i", "tcgen05.shift.cta_group::1.down"], "moves no elements; tcgen05.ld, st and cp do"),
        (["-i", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "--m", "16"], "fixes its shape"),
        (
            ["-i", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "-D", "--load", "32x32b.x1"],
            "is for D of tcgen05",
        ),
    ],
)
def test_what_cannot_be_drawn_says_why(arguments, reason):
    reply = answer(["draw", "-a", "B200", *arguments])
    assert (reply.status, reason in reply.err) == (2, True), reply.err
