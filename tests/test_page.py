"""The page as a person uses it: by pointer, keyboard, link and screen reader, in light and dark, wide and narrow."""

import base64
import random
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import mmacalc
from browser import Opened
from mmacalc.catalog import architectures
from mmacalc.cli import answer
from mmacalc.drawing.matrix import matrix, slot_text
from mmacalc.spelling import element_text, lanes_of
from samples import sampled

ROOT = Path(__file__).parents[1]
D = "#cdna3/v_mfma_f32_32x32x8_f16/D"
AXE = ROOT / "page/node_modules/axe-core/axe.min.js"


@pytest.fixture
def at(browser, page_file):
    """Open the page at a link; the requests and messages of every one are looked at when the test ends."""
    opened = []

    def open_at(link="", **options):
        opened.append(Opened(browser, page_file, link, **options))
        return opened[-1]

    yield open_at
    for each in opened:
        each.__exit__(None)


def sentence(operand, block, row, column):
    """What the page must say of an element."""
    axes = dict(zip(operand.axes, (block, row, column)))
    lanes = lanes_of(operand, tuple(lane for lane, _ in operand.places(**axes)))
    place = operand.location_of_item(*operand.places(**axes)[0])
    return f"{element_text(operand, row, column, block)} is in {lanes} {slot_text(operand, place)}"


def shown(opened):
    """The answer, without NVIDIA's name for the element."""
    opened.settle()
    text = opened.page.inner_text("#answer")
    return re.sub(r" [abcd]\d+(-[abcd]\d+)?$", "", text)


def point_at(opened, block, row, column):
    """Move the mouse onto an element's cell."""
    x, y = opened.page.evaluate(
        """(element) => {
          const { matrixView } = mmacalc.app.explore, box = matrixView.boxOf(element);
          if (!box) return [-1, -1];
          matrixView.reveal(element);
          const outer = matrixView.element.getBoundingClientRect();
          return [outer.x + box.x + box.width / 2 - matrixView.element.scrollLeft,
                  outer.y + box.y + box.height / 2 - matrixView.element.scrollTop];
        }""",
        [block, row, column],
    )
    if x < 0:
        return False
    opened.page.mouse.move(x, y)
    return True


# --- what is in the file ---


def test_the_page_keeps_its_size(page_file):
    content = page_file.read_bytes()
    assert len(content) <= 300_000


def test_a_link_shows_its_answer_as_text(at):
    opened = at(D + "?at=22,5")
    assert shown(opened) == "D[22][5] is in lane 37 v10"
    assert "A from lane 22, 54, B from lane 5, 37" in opened.page.inner_text("#because")
    assert "v_mfma_f32_32x32x8_f16" in opened.page.title()


def test_the_command_writes_what_to_show_first_into_the_page(tmp_path, browser):
    path = tmp_path / "page.html"
    argv = ["page", "-o", str(path), "-a", "MI355X", "-i", "v_mfma_f32_16x16x128_f8f6f4", "-A", "--cbsz", "fp4"]
    assert answer(argv).status == 0
    with Opened(browser, path) as opened:
        assert opened.page.evaluate("mmacalc.app.state.operand + mmacalc.app.state.fields.cbsz") == "A4"
        assert "e2m1" in opened.page.inner_text("[role=tab][aria-selected=true]")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["-i", "v_mfma_f32_16x16x16_f16"], "needs an architecture"),
        (["-a", "cdna3", "-i", "v_mfma_f32_16x16x16_f61"], "Did you mean"),
        (["-a", "cdna3", "-i", "v_mfma_f32_16x16x16_f16", "-k"], "no operand 'K'"),
        (["-a", "cdna3", "-i", "v_mfma_f32_16x16x16_f16", "-A", "-B"], "given together"),
        (["-o", "/no/such/folder/x.html"], "cannot be written"),
    ],
)
def test_what_the_command_cannot_do_is_said_in_words(argv, says):
    status, out, err = answer(["page", *argv])
    assert (status, out) == (2, "")
    assert re.search(says, err)


@sampled("every", [False, True], 1)
def test_architectures_of_mmacalc_catalog_are_in_the_page(every, tmp_path, browser):
    """In a sample of a page of two architectures, since all of them take ten seconds."""
    import os
    import subprocess
    import sys

    text = (ROOT / "CONTRIBUTING.md").read_text()
    (tmp_path / "dna9.py").write_text(re.search(r"```python\n(\"\"\"DNA9.*?)```", text, re.S)[1])
    path = tmp_path / "page.html"
    environment = {**os.environ, "MMACALC_CATALOG": str(tmp_path / "dna9.py")}
    two = "import mmacalc.page.data; mmacalc.page.data.architectures = lambda: ['cdna4', 'dna9']"
    program = f"from mmacalc.cli import main\n{'' if every else two}\nraise SystemExit(main())"
    argv = [sys.executable, "-c", program, "page", "-o", str(path), "-a", "dna9"]
    done = subprocess.run(argv, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    with Opened(browser, path) as opened:
        assert opened.page.evaluate("mmacalc.app.instruction.architecture.title") == "DNA9"
        assert opened.page.inner_text("[role=tab][aria-selected=true]").startswith("C, D")


# --- pointer ---


def test_fifteen_random_elements_answer_to_the_pointer(at):
    chosen, opened, tried = random.Random(7), at(), 0
    every = [(arch, inst) for arch in architectures() for inst in mmacalc.instructions(arch) if inst.register_operands]
    while tried < 15:
        _, inst = chosen.choice(every)
        operand = inst.operand(chosen.choice(inst.register_operands))
        element = [chosen.randrange(extent) for extent in operand.shape]
        link = f"#{inst.arch}/{inst.name}/{operand.name}?at={','.join(map(str, element[operand.shape[0] == 1 :]))}"
        opened.page.evaluate("(link) => { location.hash = link; }", link)
        opened.page.wait_for_function("(name) => mmacalc.app.state.name === name", arg=inst.name)
        opened.settle()
        opened.page.mouse.move(5, 5)
        assert shown(opened) == sentence(operand, *element), link
        other = [chosen.randrange(extent) for extent in operand.shape]
        if not point_at(opened, *other):
            continue
        box = opened.page.evaluate("(e) => mmacalc.app.explore.matrixView.boxOf(e)", other)
        if min(box["width"], box["height"]) < 2 * max(matrix(operand).rows.merged, matrix(operand).columns.merged):
            continue
        assert shown(opened) == sentence(operand, *other), (link, other)
        tried += 1


def test_a_click_keeps_the_element_and_leaving_returns_to_it(at):
    opened, operand = at(D), mmacalc.instruction("cdna3", "v_mfma_f32_32x32x8_f16").operand("D")
    assert "Point at an element" in shown(opened)
    point_at(opened, 0, 9, 4)
    opened.page.mouse.down()
    opened.page.mouse.up()
    point_at(opened, 0, 30, 30)
    assert shown(opened) == sentence(operand, 0, 30, 30)
    opened.page.mouse.move(5, 5)
    assert shown(opened) == sentence(operand, 0, 9, 4)
    assert opened.page.evaluate("location.hash") == D + "?at=9,4"


def test_registers_and_bit_boxes_are_linked_with_the_matrix(at):
    opened = at("#cdna4/v_mfma_f32_16x16x128_f8f6f4/A?cbsz=2&at=3,37")
    assert shown(opened) == "A[3][37] is in lane 19 v0[31:30] + v1[3:0]"
    lane = opened.page.inner_text(".side.right")
    assert "lane 19 holds" in lane.lower()
    marked = opened.page.eval_on_selector_all(".box.marked", "(boxes) => boxes.map((box) => box.title)")
    assert marked == ["A 3,37", "A 3,37"]  # it lies in two registers
    opened.page.hover('.box[title="A 3,40"]')
    assert shown(opened) == "A[3][40] is in lane 19 v1[21:16]" or shown(opened).startswith("A[3][40] is in lane 19")
    overview = opened.page.locator(".overview").bounding_box()
    opened.page.mouse.click(overview["x"] + overview["width"] - 3, overview["y"] + overview["height"] - 6)
    assert shown(opened).startswith("A[15][127] is in lane 63 v5")


def test_a_digit_of_the_pattern_colours_by_it(at):
    opened = at(D)
    opened.page.click(".pattern button >> text=m")
    assert opened.page.evaluate("location.hash") == D + "?by=digit:m"
    opened.page.click(".pattern button >> text=m")
    assert opened.page.evaluate("location.hash") == D


def test_modifiers_change_the_picture_and_abid_follows_cbsz(at):
    opened = at("#cdna3/v_mfma_f32_4x4x4_16b_f16/A?at=5,2,1")
    inst = mmacalc.instruction("cdna3", "v_mfma_f32_4x4x4_16b_f16")
    opened.page.select_option('select[aria-label="cbsz"]', "2")
    opened.page.select_option('select[aria-label="abid"]', "3")
    assert shown(opened) == sentence(inst.operand("A", cbsz=2, abid=3), 5, 2, 1)
    assert "cbsz:2 abid:3" in opened.page.inner_text(".statement")
    opened.page.select_option('select[aria-label="cbsz"]', "1")
    assert shown(opened) == sentence(inst.operand("A", cbsz=1), 5, 2, 1)
    assert opened.page.evaluate("location.hash").endswith("/A?cbsz=1&at=5,2,1")


def test_operands_that_are_in_no_register_say_where_they_are(at):
    wgmma = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"
    assert "shared memory" in shown(at(f"#sm_90a/{wgmma}/B"))


@pytest.mark.parametrize("waves", [(), (2, 2)], ids=["instruction", "tile"])
def test_saving_gives_the_picture_of_mmacalc_draw(at, tmp_path, waves):
    opened = at(f"#cdna3/v_mfma_f32_16x16x16_f16/A?{'waves=2x2&repeat=2x3&' * bool(waves)}at=3,9")
    with opened.page.expect_download() as download:
        opened.page.click("text=Save SVG")
    download.value.save_as(tmp_path / "a.svg")
    inst = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16")
    operand = (inst.tile(waves, (2, 3)) if waves else inst).operand("A")
    assert (tmp_path / "a.svg").read_text() == operand.draw(mark="A[3][9]").svg
    ElementTree.parse(tmp_path / "a.svg")


def test_a_tile_is_made_by_its_fields_and_answers_as_the_command_does(at):
    opened, inst = at(D), mmacalc.instruction("cdna3", "v_mfma_f32_32x32x8_f16")
    for name, text in (("waves", "2x2"), ("repeat", "2 x 1"), ("adjacent", "2")):
        opened.page.fill(f'input[aria-label="{name} of the tile"]', text)
        opened.page.keyboard.press("Enter")
    opened.page.get_by_role("group", name="wave order").get_by_text("n first").click()
    assert opened.page.evaluate("location.hash") == D + "?waves=2x2&repeat=2x1&adjacent=2x1&wave-order=nmk"
    tile = inst.tile((2, 2), (2, 1), adjacent=(2, 1), wave_order="nmk")
    d = tile.operand("D")
    assert opened.page.inner_text("[role=tab][aria-selected=true]") == "C, D 128\u00d764 f32"
    assert d.pattern.replace("->", "→") in opened.page.inner_text(".pattern")
    assert "128\u00d764\u00d78: 4 waves of 64 threads, each with 2 instructions" in opened.page.inner_text(".side.left")
    assert "v[0:15], v[16:17]" in opened.page.inner_text(".statement"), "the registers are those of one instruction"
    for place in ((0, 90, 40), (0, 3, 63)):
        point_at(opened, *place)
        assert shown(opened) == sentence(d, *place)
    (held,) = d.contents(thread=77, value=5)
    opened.page.mouse.move(5, 5)
    opened.page.fill(".goto", "thread 77, value 5")
    opened.page.keyboard.press("Enter")
    assert shown(opened) == sentence(d, 0, held.row, held.col)
    assert "Thread 77 (wave 1, lane 13) holds".lower() in opened.page.inner_text(".side.right").lower()
    because = opened.page.inner_text("#because")
    assert "wave 1" in because, "a wave multiplies what it holds"
    assert "wave 3" not in because
    opened.page.fill('input[aria-label="permutation of the tile"]', "n=(8,2,4):(1,32,8)")
    opened.page.keyboard.press("Enter")
    assert "&permutation=n=(8,2,4):(1,32,8)" in opened.page.evaluate("location.hash")
    permuted = inst.tile((2, 2), (2, 1), adjacent=(2, 1), wave_order="nmk", permutation={"n": "(8,2,4):(1,32,8)"})
    point_at(opened, 0, 90, 40)
    assert shown(opened) == sentence(permuted.operand("D"), 0, 90, 40)
    opened.page.fill('input[aria-label="permutation of the tile"]', "")
    opened.page.keyboard.press("Enter")
    assert "permutation" not in opened.page.evaluate("location.hash")
    opened.page.fill('input[aria-label="waves of the tile"]', "2by2")
    opened.page.keyboard.press("Tab")
    assert opened.page.evaluate("mmacalc.app.state.tile.waves") == [2, 2, 1]
    assert "A tile is shown in Explore" in at(D + "?waves=2x2&chain=").page.inner_text(".problems")
    opened.page.click("text=One instruction")
    assert opened.page.inner_text("[role=tab][aria-selected=true]") == "C, D 32\u00d732 f32"


# --- keyboard ---


def test_the_keyboard_reaches_every_element(at):
    opened, page = at("#cdna3/v_mfma_f32_4x4x4_16b_f16/D"), None
    page = opened.page
    operand = mmacalc.instruction("cdna3", "v_mfma_f32_4x4x4_16b_f16").operand("D")
    page.focus(".matrix")
    for key, place in (
        ("ArrowDown", (0, 0, 0)), ("ArrowDown", (0, 1, 0)), ("ArrowRight", (0, 1, 1)), ("PageDown", (1, 1, 1)),
        ("End", (1, 1, 3)), ("Shift+ArrowDown", (1, 3, 3)), ("Home", (1, 3, 0)), ("PageUp", (0, 3, 0)),
        ("ArrowUp", (0, 2, 0)), ("ArrowLeft", (0, 2, 0)),
    ):  # fmt: skip
        page.keyboard.press(key)
        assert shown(opened) == sentence(operand, *place), key
    assert page.inner_text("[aria-live=polite]").startswith("D[2][0].B0 is in lane 0 v2")
    page.keyboard.press("[")
    assert page.evaluate("mmacalc.app.state.operand") == "B"
    page.keyboard.press("]")
    page.keyboard.press("g")
    page.keyboard.type("A[3][2].B7")
    page.keyboard.press("Enter")
    a = mmacalc.instruction("cdna3", "v_mfma_f32_4x4x4_16b_f16").operand("A")
    assert shown(opened) == sentence(a, 7, 3, 2)
    page.keyboard.press("g")
    page.keyboard.type("v1[31:16]{9}")
    page.keyboard.press("Enter")
    assert shown(opened).endswith("is in lane 9 v1[31:16]")
    page.keyboard.press("?")
    assert page.is_visible("dialog[aria-label=help]")
    page.keyboard.press("Escape")
    assert not page.is_visible("dialog[aria-label=help]")


def test_searching_finds_by_words_in_any_order(at):
    opened = at(D)
    opened.page.keyboard.press("/")
    opened.page.keyboard.type("f16 32x32")
    found = opened.page.eval_on_selector_all("[role=option] .mono", "(options) => options.map((o) => o.textContent)")
    assert "v_mfma_f32_32x32x8_f16" in found
    assert "v_mfma_f32_16x16x16_f16" not in found
    opened.page.keyboard.type(" sparse")
    opened.page.keyboard.press("Enter")
    assert opened.page.evaluate("mmacalc.app.state.name") == "v_smfmac_f32_32x32x16_f16"
    opened.page.keyboard.press("/")
    opened.page.keyboard.type("qqq")
    assert "none fits" in opened.page.inner_text("[role=listbox]")
    opened.page.keyboard.press("Escape")
    assert opened.page.evaluate("mmacalc.app.state.name") == "v_smfmac_f32_32x32x16_f16"


# --- links ---


def test_four_hundred_random_states_survive_their_link(at):
    chosen, links = random.Random(3), []
    for _ in range(400):
        inst = chosen.choice(mmacalc.instructions(chosen.choice(list(architectures()))))
        wave = chosen.choice(inst.architecture.waves)
        query = [f"w={wave}"] if wave != inst.architecture.waves[0] else []
        fields = {}
        for field, values in inst.modifier_limits(wave, 0).items():
            if chosen.random() < 0.5 and (value := chosen.choice(values[: 4 if field.startswith("neg") else None])):
                fields[field] = value
        name = chosen.choice(inst.operands)
        if name in inst.register_operands and chosen.random() < 0.7:
            operand = inst.operand(name, wave, **fields)
            element = [chosen.randrange(extent) for extent in operand.shape][operand.shape[0] == 1 :]
            at_text = [f"at={','.join(map(str, element))}"]
            marked = [[chosen.randrange(extent) for extent in operand.shape][operand.shape[0] == 1 :] for _ in range(2)]
            at_text += ["mark=" + ";".join(",".join(map(str, each)) for each in marked)] * (chosen.random() < 0.4)
        else:
            at_text = []
        query += [*(f"{field}={value}" for field, value in fields.items()), *at_text]
        multiplies = {"A", "B"} <= set(inst.operands) and not inst.in_tensor_memory
        if multiplies and "tile" not in inst.architecture.family.unsupported_topics and not at_text:
            query += chosen.choice(([], ["waves=2x1"], ["waves=1x2", "wave-order=nmk"], ["repeat=1x2", "adjacent=1x2"]))
        query += chosen.choice(([], ["by=register"], ["zoom=read"], ["by=register", "zoom=read"]))
        links.append(f"{inst.arch}/{inst.name}/{name}{'?' if query else ''}{'&'.join(query)}")
    lost = at().page.evaluate(
        """(links) => links.filter((link) => {
          const { state, problems } = mmacalc.read("#" + link, mmacalc.catalog);
          return mmacalc.link(state, mmacalc.catalog) !== link && !problems.length;
        })""",
        links,
    )
    assert lost == []


@sampled(
    ("link", "says"),
    [
        ("#cdna8/x", "no architecture"),
        ("#cdna3/v_mfma_f32_32x32x8_f99/D", "no instruction"),
        ("#cdna3/v_mfma_f32_32x32x8_f16/K", "no operand K"),
        (D + "?at=32,0", "no element at 32, 0"),
        (D + "?at=x", "should be row,column"),
        (D + "?mark=1,2;3", "should be row,column"),
        (D + "?mark=1,2;3,32", "no element at 3, 32"),
        ("#cdna3/v_mfma_f32_4x4x4_16b_f16/A?cbsz=9", "cbsz of v_mfma_f32_4x4x4_16b_f16 is 0 to 4, not 9"),
        ("#rdna3/v_wmma_f32_16x16x16_f16/A?w=16", "no wave16"),
        ("#%E0%A4%A", "no architecture"),
        (D + "?waves=2y2", "should be counts along m, n and perhaps k"),
        (D + "?waves=2x2&wave-order=mm", "should be m, n and k, the fastest first"),
        (D + "?repeat=3&adjacent=2", "adjacent divides repeat; got 2 of 3 along m"),
        (D + "?waves=16x16", "tiles of up to 1024 threads; this one has 16384"),
        (D + "?waves=2x2&repeat=8x32", "tiles of up to 262,144 elements of an operand; C has more"),
        (D + "?waves=2x2&permutation=n", "should be CuTe's layout of m, n or k"),
        (D + "?waves=2x2&permutation=n=(4,2):(1,8)", "the permutation (4,2):(1,8) of n is none"),
        ("#sm_80/ldmatrix.sync.aligned.m8n8.x4.shared.b16/D?waves=2x2", "moves a matrix and multiplies nothing"),
        ("#B200/tcgen05.mma.cta_group::1.kind::f16/D?waves=2x2", "has a shape of its own choice"),
        ("#amx/tdpbf16ps/D?waves=2x2", "has no waves that could share a tile"),
    ],
    9,
)
def test_a_link_that_is_wrong_is_named_and_something_is_shown(at, link, says):
    opened = at(link)
    assert says in opened.page.inner_text(".problems")
    assert opened.page.inner_text("[role=tab][aria-selected=true]")


def test_the_clipboard_gets_the_link_and_the_answer(at):
    opened = at(D + "?at=22,5", permissions=["clipboard-read", "clipboard-write"])
    opened.page.click("text=Copy link")
    assert opened.page.evaluate("navigator.clipboard.readText()").endswith(D + "?at=22,5")
    opened.page.keyboard.press("c")
    assert opened.page.evaluate("navigator.clipboard.readText()") == "D[22][5] is in lane 37 v10"


def test_an_embedded_page_is_the_picture_only(at):
    opened = at(D + "?embed=1")
    assert not opened.page.is_visible("header")
    assert opened.page.is_visible(".matrix")


def test_the_theme_is_the_systems_until_it_is_chosen(at):
    opened = at(D, color_scheme="dark")
    theme = "document.documentElement.dataset.theme"
    assert opened.page.evaluate(theme) == "dark"
    opened.page.click('[aria-label="light or dark"]')
    assert opened.page.evaluate(theme) == "light"


def test_marks_stay_in_the_link_and_in_the_saved_picture(at):
    opened = at(D + "?at=22,5&mark=7,9")
    opened.page.keyboard.press("Tab")
    opened.page.focus(".matrix")
    opened.page.keyboard.press("m")
    assert opened.page.evaluate("location.hash") == D + "?at=22,5&mark=7,9;22,5"
    assert "D[7][9] is in lane 41 v3" in opened.page.evaluate("mmacalc.app.picture()")
    opened.page.keyboard.press("m")
    assert opened.page.evaluate("location.hash") == D + "?at=22,5&mark=7,9"
    opened.page.keyboard.press("]")
    assert "mark" not in opened.page.evaluate("location.hash")


def test_the_kernel_is_read_and_copied(at):
    opened = at("#cdna3/v_mfma_f32_32x32x8_f16/D", bypass_csp=True, permissions=["clipboard-read", "clipboard-write"])
    page, inst = opened.page, mmacalc.instruction("cdna3", "v_mfma_f32_32x32x8_f16")
    page.get_by_role("button", name="Kernel in HIP").click()
    assert page.inner_text("dialog.kernel code") == mmacalc.generate(inst)
    page.select_option("select[aria-label='order of A in memory']", "col")
    page.get_by_role("button", name="Copy", exact=True).last.click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == mmacalc.generate(inst, order_a="col")
    page.evaluate(AXE.read_text())
    assert page.evaluate("axe.run().then((result) => result.violations.map(({ id }) => id))") == []


def test_comparing_counts_what_lies_elsewhere(at):
    opened = at("#cdna4/v_mfma_f32_16x16x32_f16/A?at=0,0&compare=cdna3/v_mfma_f32_16x16x16_f16/A")
    one = mmacalc.instruction("cdna4", "v_mfma_f32_16x16x32_f16").operand("A")
    other = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
    same = sum(one.locate(i=i, k=k) == other.locate(i=i, k=k) for i in range(16) for k in range(16))
    summary = opened.page.inner_text(".summary")
    assert f"{256 - same} of 256 common elements lie elsewhere" in summary
    assert f"{same} in the same place" in summary
    assert "lane 0 v0[15:0]" in opened.page.inner_text("#compared")


# --- everyone ---


@sampled(
    ("link", "options"),
    [
        (D + "?at=22,5", {}),
        (D + "?at=22,5", {"color_scheme": "dark"}),
        ("#cdna4/v_mfma_scale_f32_16x16x128_f8f6f4/SA?zoom=read", {}),
        ("#cdna4/v_mfma_f32_16x16x32_f16/A?compare=cdna3/v_mfma_f32_16x16x16_f16/A", {}),
        ("#sm_90a/wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16/B", {"color_scheme": "dark"}),
        (D + "?at=22,5", {"size": (400, 800)}),
        (D + "?chain=cdna3/v_mfma_f32_32x32x8_f16/A", {}),
        ("#cdna4/v_mfma_f32_16x16x32_f16/A?memory=&ld=64", {"color_scheme": "dark"}),
        (D + "?waits=", {}),
        (D + "?waves=2x2&repeat=2x1&at=40,35", {}),
    ],
    4,
    ids=["light", "dark", "labels", "compare", "elsewhere dark", "400 pixels", "chain", "memory dark", "waits", "tile"],
)
def test_axe_finds_no_barrier(at, link, options):
    """WCAG 2 A and AA, and axe-core's best practices."""
    opened = at(link, bypass_csp=True, **options)
    opened.page.evaluate(AXE.read_text())
    found = opened.page.evaluate("axe.run().then((result) => result.violations)")
    assert [(each["id"], [node["html"][:120] for node in each["nodes"]][:3]) for each in found] == []


def test_on_a_phone_the_picture_is_on_the_first_screen(at):
    opened = at(D + "?at=22,5", size=(400, 800))
    box = opened.page.locator(".matrix").bounding_box()
    assert box["y"] < 500
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 400


@sampled("size", [(1400, 900), (1280, 720), (800, 900), (400, 800)], 2)
def test_no_text_of_the_page_is_cut(at, size):
    """Every element that hides what overflows has room for its text, but for the field that is typed in."""
    for link in (D + "?at=22,5", "#cdna4/v_mfma_scale_f32_16x16x128_f8f6f4/A?cbsz=2&at=3,37"):
        opened = at(link, size=size)
        opened.settle()
        cut = opened.page.evaluate("""() => [...document.querySelectorAll("body *")].filter((element) => {
          const style = getComputedStyle(element);
          const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
          return text && element.checkVisibility() && style.overflowX !== "visible" && style.overflowX !== "auto"
            && !element.closest(".hidden") && element.scrollWidth > element.clientWidth + 1;
        }).map((element) => element.outerHTML.slice(0, 120))""")
        assert cut == []


def test_the_data_can_hold_any_name(page_file):
    data = re.search(r'<script id="data"[^>]*>([^<]*)</script>', page_file.read_text()).group(1)
    assert len(base64.b64decode(data, validate=True)) > 50_000


SIDEWAYS = """() => [...document.querySelectorAll("*")]
  .filter((element) => element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0
    && (element === document.documentElement || ["auto", "scroll"].includes(getComputedStyle(element).overflowX)))
  .map((element) => `${element.tagName} ${element.className}`)"""


@sampled("step", [7, 1], 1, whole=0)
@pytest.mark.parametrize("view", ["explore", "tile", "compare", "chain", "waits", "memory"])
def test_on_a_phone_nothing_scrolls_sideways(browser, page_file, view, step):
    chosen = random.Random(view)
    with Opened(browser, page_file, D, size=(360, 740), is_mobile=True, has_touch=True) as opened:
        for arch in [*architectures()][len(view) % step :: step]:
            state = {"arch": arch, "name": chosen.choice(mmacalc.instructions(arch)).name, "view": view, "at": None}
            if view == "tile":
                counts = {"waves": [2, 2, 1], "repeat": [2, 1, 1], "adjacent": [1, 1, 1]}
                state |= {"view": "explore", "tile": {**counts, "waveOrder": "nmk", "repeatOrder": "mnk"}}
            if view == "tile" and arch == "sm_90a":  # its D has 512 columns
                state["name"] = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"
            opened.page.evaluate("(state) => mmacalc.app.update(state)", state)
            assert not opened.page.evaluate(SIDEWAYS), state
