"""Pictures of layouts: true to the layout, nothing cut, nothing outside, readable by everyone."""

import os
import random
import re
import struct
import subprocess
import sys
from collections import defaultdict
from xml.etree import ElementTree

import pytest

import mmacalc
from mmacalc.catalog import every_instruction
from mmacalc.cli import answer
from mmacalc.drawing import draw_instruction, draw_operand
from mmacalc.drawing.matrix import matrix
from mmacalc.drawing.picture import SPACE
from mmacalc.drawing.plan import plan, segments, strips
from mmacalc.drawing.scene import Box, Label
from mmacalc.drawing.terminal import CONTINUED
from samples import sampled

MFMA = mmacalc.instruction("cdna3", "v_mfma_f32_32x32x8_f16")
QUERY = ["draw", "-a", "gfx942", "-i", "v_mfma_f32_32x32x8_f16"]
F8F6F4 = mmacalc.instruction("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4")


@pytest.fixture(scope="module")
def layouts():
    """One operand of each distinct layout, wave size and slot, and some under modifiers."""
    seen = {}
    for inst in every_instruction():
        for wave in inst.architecture.waves:
            for name in inst.register_operands:
                operand = inst.operand(name, wave)
                placement = operand.placement
                key = (operand.pattern, *operand.sizes.items(), placement.slot_bits, placement.bits, wave)
                seen.setdefault(key, operand)
    blocks = mmacalc.instruction("cdna3", "v_mfma_f32_4x4x4_16b_f16")
    two = mmacalc.instruction("cdna3", "v_mfma_f32_32x32x4_2b_f16")
    sparse = mmacalc.instruction("cdna3", "v_smfmac_f32_16x16x32_f16")
    metadata = mmacalc.instruction("sm_80", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32")
    return [
        *seen.values(),
        *(F8F6F4.operand("A", cbsz=name) for name in ("fp6", "fp4")),
        *(blocks.operand("A", cbsz=cbsz, abid=abid) for cbsz, abid in ((1, 1), (2, 3), (4, 9))),
        *(two.operand("B", blgp=blgp) for blgp in range(1, 8)),
        *(sparse.operand("K", abid=abid) for abid in (1, 3)),
        metadata.operand("K", selector=1),
        mmacalc.instruction("rdna3", "v_wmma_f16_16x16x16_f16").operand("D", opsel=4),
    ]


@pytest.fixture(scope="module")
def some(layouts):
    return layouts[::27] + layouts[-16::3]


def sample(operand, count=40):
    chosen = random.Random(operand.pattern)
    return [tuple(chosen.randrange(extent) for extent in operand.shape) for _ in range(count)]


@sampled("step", [3, 1], 1)
def test_the_strips_at_the_edges_are_the_whole_layout(layouts, step):
    """Lane, register and bits of every element are the sums that a reader of the strips makes."""
    for operand in layouts[::step]:
        shown = matrix(operand)
        by_axis = [_parts(strips(shown, axis)) for axis in (shown.rows, shown.columns)]
        places = {
            axis: [
                shown.operand.location_of_item(0, slot // shown.slots_per_location) for _, slot in shown.blocks.steps
            ]
            for axis in "b"
        }
        for block, row, column in sample(operand):
            lane, register, bits, fixed_bits = shown.blocks.steps[block][0] + shown.base[0], 0, 0, None
            absolute = False
            for parts, value in zip(by_axis, (row, column)):
                for kind, text in ((kind, texts[value]) for kind, texts in parts.items()):
                    if kind == "lane":
                        lane += int(text) - (0 if text.startswith("+") else shown.base[0])
                    elif kind == "register":
                        register += int(re.search(r"\d+", text).group())
                        absolute |= not text.startswith("+")
                    elif kind == "bits" and text.startswith("+"):
                        bits += int(text)
                    elif kind == "bits":
                        fixed_bits = text
            if not absolute:
                register += places["b"][block].register
            place = shown.location(block, row, column)
            assert (shown.read[lane] if shown.read else lane) == place.lane
            if any(axis.moves_slot for axis in (shown.rows, shown.columns)) and not shown.base[1]:
                register = 2 * register if place.width == 64 and "%" in str(by_axis) else register
                assert register == place.register, (operand, block, row, column)
            if fixed_bits is not None:
                assert int(fixed_bits.rstrip("+").partition(":")[2]) == place.lsb
            elif any("bits" in parts for parts in by_axis):
                assert bits + operand.placement.offset == place.lsb


def _parts(found):
    return {
        strip.kind: [part.text for part in strip.parts for _ in range(part.first, part.last + 1)]
        for strip in found
        if strip.kind != "index"
    }


def test_every_number_in_a_picture_is_the_lane_of_the_elements_under_it(some):
    for operand in some:
        shown = matrix(operand)
        made = plan(shown, SPACE)
        scene = draw_operand(operand).scene
        bold = [label for label in scene.layers[2] if isinstance(label, Label) and label.face == "bold"]
        left, top = 14.0, scene_top(scene)
        found = 0
        for block in range(operand.shape[0]):
            x, y = made.origin(block)
            for label in bold:
                column = made.columns.at(label.x - left - x) if label.text[0].isdigit() else None
                row = made.rows.at(label.y - 0.35 * label.size - top - y)
                if column is None or row is None:
                    continue
                found += 1
                axes = dict(zip(operand.axes, (block, row, column)))
                lanes = [place.lane for place in operand.locate(**axes)]
                assert label.text in (", ".join(map(str, lanes)), f"{lanes[0]}+"), (operand, label)
        if made.columns.tiles[0].size > 30 and made.rows.tiles[0].size > 12:
            assert found == operand.shape[0] * len(made.columns.tiles) * len(made.rows.tiles), operand


def scene_top(scene):
    """Where the operand's picture starts, below the title and the pattern."""
    return 24.0 + 19 + 12


def label_box(label):
    width = {"": 0.62, "bold": 0.68, "mono": 0.6}[label.face] * label.size * len(label.text)
    left = label.x - {"start": 0, "middle": width / 2, "end": width}[label.anchor]
    return left, label.y - 0.74 * label.size, left + width, label.y + 0.02 * label.size


def problems(scene):
    """Shapes outside the picture, and labels that overlap."""
    boxes = [(*label_box(shape), shape) for layer in scene.layers for shape in layer if isinstance(shape, Label)]
    for left, top, right, bottom, shape in boxes:
        if left < 0 or top < 0 or right > scene.width or bottom > scene.height:
            yield "outside", shape
    for shape in (shape for layer in scene.layers for shape in layer if isinstance(shape, Box)):
        inside = 0 <= shape.x <= shape.x + shape.width <= scene.width
        if not inside or not 0 <= shape.y <= shape.y + shape.height <= scene.height or shape.width <= 0:
            yield "outside", shape
    near = defaultdict(list)
    for box in boxes:
        for at in (
            (x, y) for x in range(int(box[0] // 50), int(box[2] // 50) + 1) for y in (box[1] // 20, box[3] // 20)
        ):
            for other in near[at]:
                across = min(box[2], other[2]) - max(box[0], other[0])
                if other is not box and across > 0.2 and min(box[3], other[3]) - max(box[1], other[1]) > 0.2:
                    yield "overlap", box[4], other[4]
            near[at].append(box)


@pytest.mark.parametrize("look", [{}, {"labels": True}, {"style": "print", "color_by": "register", "fold": False}])
def test_nothing_is_outside_the_picture_and_no_labels_overlap(look, some):
    for operand in some:
        if not look.get("labels") or operand.shape[-1] * operand.shape[-2] < 2000:
            assert not list(problems(draw_operand(operand, **look).scene)), operand


def test_the_strip_of_a_digit_overlaps_nothing(some):
    for operand in some[::3]:
        for digit in matrix(operand).keys[2:]:
            assert not list(problems(draw_operand(operand, color_by=digit).scene)), (operand, digit)


def test_corners_and_registers_overlap_nowhere_either():
    for arch, name in (
        ("cdna3", "v_mfma_f32_32x32x8_f16"), ("cdna3", "v_mfma_f32_4x4x4_16b_f16"),
        ("cdna3", "v_mfma_f64_4x4x4_4b_f64"), ("rdna3", "v_wmma_f32_16x16x16_f16"),
        ("rdna4", "v_swmmac_f32_16x16x32_f16"),
        ("gfx950", "v_mfma_scale_f32_32x32x64_f8f6f4"), ("sm_70", "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"),
        ("sm_80", "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc"),
        ("sm_90a", "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"),
        ("sm_80", "ldmatrix.sync.aligned.m8n8.x4.shared.b16"),
    ):  # fmt: skip
        inst = mmacalc.instruction(arch, name)
        assert not list(problems(inst.draw().scene)), name
        last = inst.register_operands[-1]
        assert not list(problems(inst.operand(last).draw(registers=True).scene)), name


def test_svg_is_ascii_and_well_formed_and_says_what_it_shows():
    for drawing in (MFMA.draw(mark="D[22][5]"), MFMA.operand("A").draw(registers=True), F8F6F4.operand("A").draw()):
        text = drawing.svg
        root = ElementTree.fromstring(text)
        assert text.isascii()
        assert "<style" not in text
        assert "dominant-baseline" not in text
        names = root.attrib["aria-labelledby"].split()
        assert [root[0].attrib["id"], root[1].attrib["id"]] == names
        assert drawing.scene.title == root[0].text
        assert "-> lane" in root[1].text
        assert root.attrib["viewBox"] == f"0 0 {root.attrib['width']} {root.attrib['height']}"
    first, second = MFMA.operand("A").draw().svg, MFMA.operand("A").draw(style="dark").svg
    assert re.search('id="(.*?)"', first).group() != re.search('id="(.*?)"', second).group()


def test_pictures_stay_small():
    assert len(MFMA.draw().svg) < 75_000
    assert len(MFMA.operand("D").draw().svg) < 60_000
    wgmma = mmacalc.instruction("sm_90a", "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16").operand("D")
    assert len(wgmma.draw().svg) < 110_000


def test_png_has_two_pixels_for_each_of_the_svg(tmp_path):
    drawing = MFMA.operand("A").draw()
    drawing.save(tmp_path / "a.png")
    data = (tmp_path / "a.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (2 * drawing.scene.width, 2 * drawing.scene.height)


def test_png_without_resvg_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(mmacalc.Error, match="pip install resvg-py"):
        MFMA.draw().png  # noqa: B018


# --- in the terminal ---


@sampled("width", [40, 80, 120, 200], 1, first=1)
def test_no_label_in_the_terminal_is_cut(width, some):
    """The words of each line are, in their order, among the lanes of the row's tiles, or the labels of the strip."""
    for operand in (operand for operand in some if operand.shape[0] == 1):
        shown = matrix(operand)
        above = {strip.kind: [part.text for part in strip.parts] for strip in strips(shown, shown.columns)}
        kinds = {f"{shown.rows.name}\\{shown.columns.name}": "index"}
        kinds |= {strip.head: strip.kind for strip in strips(shown, shown.columns) if strip.kind != "index"}
        sections = draw_operand(operand).text(width=width).split("\n\n")
        rows = 0
        for line in sections[1].splitlines():
            words = line.replace(CONTINUED, " ").replace("...", " ").split()
            head = next((head for head in kinds if f"{head} " in line), None)
            if head:
                labels = line.partition(f"{head} ")[2].replace("...", " ").split()
                assert _in_order(labels, above[kinds[head]]), (operand, line)
                continue
            row = rows * shown.rows.merged
            beside = [part.text for strip in strips(shown, shown.rows) for part in strip.parts if part.first == row]
            columns = range(0, operand.shape[2], shown.columns.run)
            lanes = [[str(lane) for lane in shown.found_in(0, row, column)] for column in columns]
            tiles = [text for found in lanes for text in (",".join(found), f"{found[0]}+")]
            assert _in_order(words, [*reversed(beside), *tiles]), (operand, line)
            rows += 1
        assert rows == operand.shape[1] // shown.rows.merged


def _in_order(words, whole):
    rest = iter(whole)
    return all(word in rest for word in words)


def test_the_terminal_shows_the_specified_picture():
    name = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    text = mmacalc.instruction("sm_80", name).operand("A").draw().text(width=80)
    assert text.splitlines()[:9] == [
        f"A of {name}, sm_80 (Ampere)",
        "(i1 i0) (c t e) -> lane (i0 t), item (c i1 e)   i1=2 i0=8 c=2 t=4 e=2",
        "",
        "         register  +0                      +2",
        "             lane  +0    +1    +2    +3    +0    +1    +2    +3",
        "register lane i\\k  0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15",
        "      +0   +0   0  0  ·  1  ·  2  ·  3  ·  0  ·  1  ·  2  ·  3  ·",
        "           +4   1  4  ·  5  ·  6  ·  7  ·  4  ·  5  ·  6  ·  7  ·",
        "           +8   2  8  ·  9  ·  10 ·  11 ·  8  ·  9  ·  10 ·  11 ·",
    ]


def test_colour_adds_escape_sequences_and_changes_nothing_else():
    for operand in (MFMA.operand("D"), F8F6F4.operand("SA")):
        for registers in (False, True):
            drawing = operand.draw(registers=registers, mark=f"{operand.name}[3][5]")
            plain, coloured = drawing.text(), drawing.text(colour=True)
            bare = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
            assert [line.rstrip().replace(" ", "") for line in bare.splitlines()] == [
                line.replace(CONTINUED, "").replace(" ", "") for line in plain.splitlines()
            ]
            assert "\x1b[48;2;" in coloured


def test_registers_name_what_each_slot_holds():
    operand = F8F6F4.operand("A", cbsz="fp6")
    text = operand.draw(registers=True).text(width=2000)
    row = next(line for line in text.splitlines() if line.startswith("  19 "))
    assert row.split()[1:] == [f"3,{k}" for k in range(32, 64)]
    negated = mmacalc.instruction("rdna3", "v_wmma_f32_16x16x16_f16").operand("A", neg=1)
    assert "   0 -0,0  0,1" in negated.draw(registers=True).text()


# --- the command line ---


def test_draw_writes_the_file_that_its_name_asks_for(tmp_path):
    for end, starts in (("svg", "<svg"), ("html", "<figure"), ("txt", "v_mfma")):
        path = tmp_path / f"picture.{end}"
        assert answer([*QUERY, "-o", str(path)]) == (0, "", "")
        assert path.read_text().startswith(starts) or end == "txt"
    assert answer([*QUERY, "-A"]).out == MFMA.operand("A").draw().text(width=120)


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["-o", "x.gif"], r"\.svg, \.png, \.html or \.txt"),
        (["-o", "/no/such/folder/x.svg"], "cannot be written"),
        (["-A", "-B"], "A and B were given together"),
        (["--registers"], "--registers goes with one matrix"),
        (["-A", "--mark", "B[0][0]"], "shows A, not B"),
        (["-A", "--mark", "A[0][8]"], "k = 8 is outside A; k is 0 to 7"),
        (["-A", "--mark", "A[0]"], r"such as A\[3\]\[9\]"),
        (["-A", "--style", "drak"], "Did you mean dark"),
        (["-A", "--color-by", "m"], "It can be by: lane, register, i, g, e"),
        (["--color-by", "zz"], "It can be by"),
        (["-k"], "no operand 'K'"),
        (["-A", "--cbsz", "1"], "has no CBSZ"),
    ],
)
def test_what_cannot_be_drawn_is_answered_in_words(argv, says):
    status, out, err = answer([*QUERY, *argv])
    assert (status, out) == (2, "")
    assert re.search(says, err), err


def test_what_is_in_no_register_is_not_drawn():
    inst = mmacalc.instruction("sm_100a", "tcgen05.mma.cta_group::1.kind::f16")
    with pytest.raises(mmacalc.Error, match="name m and n"):  # tests/test_draw_tensor_memory.py
        draw_instruction(inst)
    with pytest.raises(mmacalc.Error, match="moves no elements"):
        draw_instruction(mmacalc.instruction("sm_100a", "tcgen05.shift.cta_group::1.down"))
    assert set(inst._repr_mimebundle_()) == {"text/plain"}


def test_a_terminal_that_lacks_the_dot_gets_a_full_stop():
    done = subprocess.run(
        [sys.executable, "-m", "mmacalc", *QUERY, "-A"], capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert b" . " in done.stdout


def test_importing_mmacalc_draws_nothing():
    program = "import sys, mmacalc; mmacalc.instruction('cdna3', 'v_mfma_f32_16x16x16_f16').operand('A'); "
    program += "print([m for m in sys.modules if 'mmacalc.drawing' in m])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_repetitions_are_left_out_within_each_wave_of_a_tile():
    inst = mmacalc.instruction("sm_90a", "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16")
    columns = matrix(inst.tile(waves=(1, 2, 1)).operand("D")).columns
    assert segments(columns, (), True) == ((0, 7), (248, 263), (504, 511))
    assert segments(columns, (100,), True) == ((0, 7), (96, 103), (248, 263), (504, 511))
