"""The layout engine on its own, and every operand of the catalog as a layout."""

import itertools
from functools import cache

import numpy as np
import pytest
from einops import rearrange, reduce, repeat
from hypothesis import given
from hypothesis import strategies as st

import mmacalc
from mmacalc import Error, Layout
from samples import sampled

AXES = ("x", "y", "z")


@st.composite
def layouts(draw, partial=True):
    """A random layout: every digit ordinary, replicated, a selector or shared; if partial, an axis may end before its
    digits do."""
    count = draw(st.integers(1, 6))
    names = [f"d{number}" for number in range(count)]
    sizes = {name: draw(st.integers(1, 4)) for name in names}
    kinds = {name: draw(st.sampled_from(["both", "both", "both", "*", "selector", "shared"])) for name in names}
    axes = AXES[: draw(st.integers(1, 3))]
    left = {axis: [] for axis in axes}
    for name in draw(st.permutations(names)):
        if kinds[name] in ("both", "shared"):
            left[draw(st.sampled_from(axes))].append(name)
    right = {"lane": [], "item": []}
    for name in draw(st.permutations(names)):
        if kinds[name] != "shared":
            right[draw(st.sampled_from(["lane", "item"]))].append("*" * (kinds[name] == "*") + name)
    groups = " ".join(f"({' '.join(group)})" for group in left.values())
    places = ", ".join(f"{place} ({' '.join(group)})" for place, group in right.items())
    whole = {axis: int(np.prod([sizes[name] for name in names])) for axis, names in left.items()}
    ends = {axis: draw(st.integers(1, size)) for axis, size in whole.items() if partial and draw(st.booleans())}
    extents = {axis: end for axis, end in ends.items() if all(kinds[name] != "shared" for name in left[axis])}
    layout = Layout(f"{groups} -> {places}", axes, sizes, extents)
    fields = {name: draw(st.integers(0, sizes[name] - 1)) for name in layout.selectors}
    return layout, fields


def elements(layout):
    return itertools.product(*map(range, layout.extents))


def all_places(layout):
    return itertools.product(*map(range, layout.spans.values()))


@given(layouts())
def test_what_is_located_is_what_is_contained(case):
    layout, fields = case
    located = {(at, place) for at in elements(layout) for place in layout.locate(dict(zip(layout.axes, at)), fields)}
    contained = {(at, place) for place in all_places(layout) for at in layout.contents(place, fields)}
    assert located == contained


@given(layouts())
def test_every_element_is_in_as_many_places_as_the_layout_says(case):
    layout, fields = case
    for at in elements(layout):
        places = layout.locate(dict(zip(layout.axes, at)), fields)
        assert len(set(places)) == len(places) == layout.copies
        assert list(places) == sorted(places)


@given(layouts())
def test_a_layout_survives_being_printed_and_read_again(case):
    layout, fields = case
    again = Layout(layout.pattern, layout.axes, layout.trimmed_sizes, layout.partial)
    assert again.pattern == layout.pattern
    for at in itertools.islice(elements(layout), 50):
        coordinates = dict(zip(layout.axes, at))
        renamed = dict(zip(again.selectors, (fields[name] for name in layout.selectors if layout.sizes[name] > 1)))
        assert again.locate(coordinates, renamed) == layout.locate(coordinates, fields)


def test_a_layout_with_an_axis_that_ends_early_has_no_inverse_and_says_why():
    layout = Layout("(u v) k -> lane (v k), item (u)", ("i", "k"), {"u": 2, "v": 4, "k": 2}, {"i": 6})
    assert layout.extents == (6, 2)
    assert layout.contents((7, 1)) == ()
    for change in (layout.inverse, layout.linear, layout.cute):
        with pytest.raises(Error, match="i ends at 6, so some places hold nothing"):
            change()
    with pytest.raises(Error, match=r"i of .* ends at 1 to 8"):
        Layout(layout.text, layout.axes, layout.sizes, {"i": 9})
    lanes = Layout("lane item -> bit (item lane)", ("lane", "item"), {"lane": 8, "item": 2})
    assert layout.compose(lanes).locate({"i": 5, "k": 1}) == ((11,),)
    with pytest.raises(Error, match="i = 6 is outside"):
        layout.locate({"i": 6})


def register_file_by_einops(layout):
    """The smallest element number at every place, computed by einops from the printed pattern alone."""
    numbers = np.arange(np.prod(layout.extents)).reshape(layout.extents)
    if layout.axes[0] == "block" and layout.extents[0] == 1:
        numbers = numbers[0]
    left, right = layout.einops.split(" -> ")
    digits = [set(side.replace("(", " ").replace(")", " ").split()) for side in (left, right)]
    sizes = layout.trimmed_sizes
    kept = left
    if digits[0] - digits[1]:
        kept = " ".join(sorted(digits[0] & digits[1]))
        numbers = reduce(numbers, f"{left} -> {kept}", "min", **{n: sizes[n] for n in digits[0] if n in sizes})
    if digits[1] - digits[0]:
        return repeat(numbers, f"{kept} -> {right}", **{n: sizes[n] for n in digits[1] if n in sizes})
    return rearrange(numbers, f"{kept} -> {right}", **{n: sizes[n] for n in digits[1] if n in sizes})


@cache
def different_operands():
    """One operand of every layout in the catalog. Made when a test asks: those of the engine alone start at once."""
    found = {}
    for arch in mmacalc.architectures():
        for instruction in mmacalc.instructions(arch):
            if "wgmma" in instruction.features and instruction.n not in (8, 24, 96):
                continue  # test_nvidia_layouts compares every N with its closed form
            for wave in instruction.architecture.waves:
                for name in instruction.register_operands:
                    operand = instruction.operand(name, wave)
                    found.setdefault((operand.layout, operand.placement.slot_bits, wave), operand)
    return list(found.values())


EVERY_EIGHTH = sampled("first", range(8), 1, whole=2)


@EVERY_EIGHTH
def test_einops_places_every_element_of_every_operand_as_we_do(first):
    for operand in different_operands()[first::8]:
        layout = operand.layout
        if operand.wave_place or layout.partial:  # neither of which einops can write
            continue
        by_einops = register_file_by_einops(layout)
        for place in all_places(layout):
            chosen = {
                name: place[number] // stride[name] % layout.sizes[name]
                for number, stride in enumerate(layout._strides)
                for name in layout.selectors
                if name in stride
            }
            held = layout.contents(place, chosen)[0]
            assert by_einops[place] == np.ravel_multi_index(held, layout.extents), operand


@EVERY_EIGHTH
def test_every_register_bit_of_every_operand_is_used_at_most_once(first):
    for operand in different_operands()[first::8]:
        used = set()
        for lane in range(operand.lanes):
            for register in range(operand.registers):
                bits = set()
                for element in operand.contents(register, lane):
                    bits.add((element.lsb, element.width))
                taken = [bit for lsb, width in bits for bit in range(lsb, lsb + width)]
                assert len(taken) == len(set(taken)), operand
                used |= {(lane, register, bit) for bit in taken}
        assert used, operand


@EVERY_EIGHTH
def test_locations_and_contents_of_every_operand_are_inverse(first):
    for operand in different_operands()[first::8]:
        blocks, rows, columns = operand.shape if len(operand.shape) == 3 else (1, *operand.shape)
        row_axis, column_axis = operand.axes[-2:]
        held = {
            (register, lane, element.lsb, element[:3])
            for register in range(operand.registers)
            for lane in range(operand.lanes)
            for element in operand.contents(register, lane)
        }
        for block, row, column in itertools.product(range(blocks), range(rows), range(columns)):
            for place in operand.locate(**{row_axis: row, column_axis: column, "block": block}):
                assert (place.register, place.lane, place.lsb, (row, column, block)) in held, operand


def test_tables_hold_what_locate_answers():
    for operand in different_operands():
        table = operand.table()
        blocks, rows, columns = operand.shape if len(operand.shape) == 3 else (1, *operand.shape)
        table = table.reshape(blocks, rows, columns, -1)
        for index in {(0, 0, 0), (blocks - 1, rows - 1, columns - 1), (blocks // 2, rows // 3, columns // 2)}:
            coordinates = dict(zip(("block", *operand.axes[-2:]), index))
            located = operand.locate(**coordinates)
            found = [
                tuple(int(entry[field]) for field in ("lane", "item", "register", "lsb")) for entry in table[index]
            ]
            assert found == [place[:4] for place in located], operand


@pytest.mark.parametrize(
    ("text", "axes", "sizes", "message"),
    [
        ("i k", ("i", "k"), {}, "has no arrow"),
        ("i k -> lane (i), item (k)", ("i",), {"i": 2, "k": 2}, "2 coordinates, but 1 axes"),
        ("i k -> lane (i), item (k)", ("i", "k"), {"i": 2}, "no size for: k"),
        ("i i -> lane (i), item ()", ("i", "k"), {"i": 2}, "i twice on one side"),
        ("i (k -> lane (i), item (k)", ("i", "k"), {"i": 2, "k": 2}, "unclosed parenthesis"),
        ("i k -> lane i k, item ()", ("i", "k"), {"i": 2, "k": 2}, "each place once, with one group"),
        ("i k -> lane (i), lane (k)", ("i", "k"), {"i": 2, "k": 2}, "each place once"),
        ("i k -> (i), item (k)", ("i", "k"), {"i": 2, "k": 2}, "each place once"),
        ("i k ->", ("i", "k"), {"i": 2, "k": 2}, "each place once"),
        ("i (j (k)) -> lane (i), item (k)", ("i", "k"), {"i": 2, "k": 2}, "where the name of a digit should be"),
        ("i 4 -> lane (i), item (4)", ("i", "k"), {"i": 2, "4": 2}, "has '4' where the name"),
        ("i k -> lane (i *k), item (k)", ("i", "k"), {"i": 2, "k": 2}, "k twice on one side"),
        ("i k -> lane (i *k), item ()", ("i", "k"), {"i": 2, "k": 2}, "k on the left; a replicated digit"),
        ("i k -> lane (i), item (k)", ("i", "k"), {"i": 0, "k": 2}, "without a value: i; a size is 1 or more"),
    ],
)
def test_a_pattern_that_cannot_be_read_is_quoted_with_what_is_wrong(text, axes, sizes, message):
    with pytest.raises(Error, match=message) as caught:
        Layout(text, axes, sizes)
    assert text in str(caught.value)
