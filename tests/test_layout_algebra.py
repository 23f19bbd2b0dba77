"""Layouts compared, inverted, composed, and written as Triton and CuTe write them."""

import ast
import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmacalc
from mmacalc import Error, Layout
from recorded import json_file
from samples import sampled
from test_layout import all_places, different_operands, elements, layouts
from test_triton_layouts import RECORD as TRITON
from test_triton_layouts import recorded_instruction

# A layout with an axis that ends before its digits do has neither an inverse nor bases.
WHOLE = layouts(partial=False)
PYCUTE = json_file("pycute_layouts.json.gz")


def whole_operands():
    return [operand for operand in different_operands() if not operand.layout.partial]


def mapping(layout):
    """Everything that a layout answers, for every element and every value of its selectors."""
    fields = [
        dict(zip(layout.selectors, values))
        for values in itertools.product(*(range(layout.sizes[name]) for name in layout.selectors))
    ]
    return (
        layout.axes,
        tuple(layout.places),
        {
            (at, tuple((name, value) for name, value in field.items() if layout.sizes[name] > 1)): layout.locate(
                dict(zip(layout.axes, at)), field
            )
            for at in elements(layout)
            for field in fields
        },
    )


@st.composite
def small_layouts(draw):
    """Layouts of 8 elements, so few that two of them are often the same."""
    sizes = {"a": 2, "b": draw(st.sampled_from([1, 2])), "c": 2}
    left = draw(st.permutations("abc"))
    cut = draw(st.integers(0, 3))
    right = draw(st.permutations(["a", "b", "c", draw(st.sampled_from(["*r", "s", ""]))]))
    coordinates = f"({' '.join(left[:cut])}) ({' '.join(left[cut:])})"
    text = f"{coordinates} -> lane ({' '.join(right[:2])}), item ({' '.join(right[2:])})"
    return Layout(text, ("x", "y"), {**sizes, "r": draw(st.sampled_from([1, 2])), "s": draw(st.sampled_from([1, 2]))})


@given(small_layouts(), small_layouts())
def test_layouts_are_equal_exactly_if_they_map_alike(one, other):
    assert (one == other) == (mapping(one) == mapping(other))
    assert one != other or hash(one) == hash(other)


def test_a_layout_equals_itself_with_its_digits_split_and_renamed_but_not_with_other_axes():
    one = Layout("i (g e) -> lane (g i), item (e)", ("i", "k"), {"i": 16, "g": 4, "e": 4})
    other = Layout("(x y) (u v) -> lane (u x y), item (v)", ("i", "k"), {"x": 4, "y": 4, "u": 4, "v": 4})
    assert one == other
    assert len({one, other}) == 1
    assert one != Layout(one.pattern, ("i", "j"), one.sizes)
    assert one != "a text"


@given(layouts())
def test_the_repr_of_a_layout_evaluates_to_it(case):
    layout, _ = case
    assert eval(repr(layout), {"Layout": Layout}) == layout


@sampled("step", [4, 1], 1)
def test_the_repr_of_every_operand_s_layout_evaluates_to_it(step):
    for operand in different_operands()[::step]:
        assert eval(repr(operand.layout), {"Layout": Layout}) == operand.layout


@given(WHOLE)
def test_the_inverse_locates_what_the_layout_contains(case):
    layout, _ = case
    inverse = layout.inverse()
    assert inverse.axes == tuple(layout.places)
    for place in itertools.islice(all_places(layout), 200):
        chosen = {
            name: place[number] // stride[name] % layout.sizes[name]
            for number, stride in enumerate(layout._strides)
            for name in layout.selectors
            if name in stride
        }
        assert inverse.locate(dict(zip(inverse.axes, place))) == layout.contents(place, chosen)
    if not layout.selectors:
        assert inverse.inverse() == layout


def primes(size):
    """The prime factors of a product of 2, 3 and 4."""
    found = next(([prime] for prime in (2, 3) if size % prime == 0), [])
    return found + primes(size // found[0]) if found else []


@st.composite
def chains(draw):
    """A layout without selectors, and one that can follow it: its axes are the places of the first."""
    layout, _ = draw(WHOLE.filter(lambda case: not case[0].selectors))
    sizes, groups, digits = {}, [], []
    for place, span in layout.spans.items():
        cut = draw(st.permutations(primes(span)))
        names = [f"{place}{number}" for number in range(len(cut))]
        sizes |= dict(zip(names, cut))
        groups.append(names)
        digits += names
    kinds = {name: draw(st.sampled_from(["row", "row", "column", "shared"])) for name in digits}
    order = [*draw(st.permutations(digits)), *draw(st.sampled_from([[], ["*copy"], ["choice"]]))]
    sizes |= {"copy": 2, "choice": 2}
    places = {
        place: [name for name in order if kinds.get(name, "row") == place or (place == "row" and name not in kinds)]
        for place in ("row", "column")
    }
    right = ", ".join(f"{place} ({' '.join(names)})" for place, names in places.items())
    left = " ".join(f"({' '.join(group)})" for group in groups)
    return layout, Layout(f"{left} -> {right}", tuple(layout.places), sizes)


def weights(layout, groups):
    """For each group the weights of its digits, and that of the next digit that would follow."""
    for group in groups:
        sizes = [layout.sizes[name.lstrip("*")] for name in reversed(group)]
        yield {math.prod(sizes[:count]) for count in range(len(sizes) + 1)}


def cut_alike(ours, theirs):
    """Whether there are digits of which both cuts are made: each weight divides the next larger one."""
    every = sorted(ours | theirs)
    return all(more % less == 0 for less, more in itertools.pairwise(every))


@given(chains())
def test_a_composition_goes_where_the_second_takes_the_places_of_the_first(pair):
    first, then = pair
    if not all(map(cut_alike, weights(first, first.places.values()), weights(then, then.coordinates))):
        with pytest.raises(Error, match="cannot be cut alike"):
            first.compose(then)
        return
    both = first.compose(then)
    assert (both.axes, tuple(both.places)) == (first.axes, tuple(then.places))
    for fields in ({}, {"choice": 1}) if then.selectors else ({},):
        for at in elements(first):
            coordinates = dict(zip(first.axes, at))
            expected = {
                place
                for middle in first.locate(coordinates)
                for place in then.locate(dict(zip(then.axes, middle)), fields)
            }
            assert set(both.locate(coordinates, fields)) == expected


def test_every_operand_composed_with_its_inverse_stays_where_it_is():
    for operand in whole_operands():
        layout = operand.layout
        there_and_back = layout.compose(layout.inverse())
        if not layout.shared and not layout.replicated:
            identity = Layout(
                f"{' '.join(layout.axes)} -> {', '.join(f'{axis} ({axis})' for axis in layout.axes)}",
                layout.axes,
                dict(zip(layout.axes, layout.extents)),
            )
            assert there_and_back == identity, operand


def test_a_chain_of_operands_says_which_lane_sends_what_where():
    d = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16").operand("D").layout
    b = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16").operand("B").layout
    stays = d.inverse().compose(b.renamed(k="i"))
    assert stays == Layout("lane item -> lane (lane), item (item)", ("lane", "item"), {"lane": 64, "item": 4})


@pytest.mark.parametrize(
    ("first", "then", "message"),
    [
        (("lane (i)", {"i": 4}), ("j", {"j": 4}), "places have lane 4 values, the axes of the other j 4"),
        (("j (i)", {"i": 4}), ("j", {"j": 8}), "j 4 values, the axes of the other j 8"),
        (("j (b a)", {"a": 2, "b": 3}), ("(c d)", {"c": 2, "d": 3}), "j has digits of 3 x 2 in the first and of 2 x 3"),
    ],
)
def test_layouts_that_do_not_fit_one_another_are_refused_with_both_sizes(first, then, message):
    one = Layout(f"({' '.join(first[1])}) -> {first[0]}", ("i",), first[1])
    other = Layout(f"{then[0]} -> lane ({' '.join(then[1])})", ("j",), then[1])
    with pytest.raises(Error, match=message):
        one.compose(other)


def test_bases_are_those_of_tritons_linear_layouts():
    compared = 0
    for entry in TRITON["linear"]:
        if entry["operand"] in ("SA", "SB"):
            continue
        operand = recorded_instruction(entry["arch"], entry["shape"]).operand(entry["operand"])
        bases = operand.layout.linear()
        assert [list(basis[1:]) for basis in bases["lane"]] == entry["lanes"], operand
        assert [list(basis[1:]) for basis in bases["item"]] == entry["registers"], operand
        compared += 1
    assert compared == 36


@given(WHOLE)
def test_the_xor_of_the_bases_is_the_element(case):
    layout, _ = case
    shared = any(layout.sizes[name] > 1 for name in layout.shared)
    if shared or any(size & (size - 1) for size in layout.sizes.values()):
        with pytest.raises(Error, match="is not a linear layout"):
            layout.linear()
        return
    bases, inverse = layout.linear(), layout.inverse()
    for place in itertools.islice(all_places(layout), 100):
        found = [0] * len(layout.axes)
        for index, basis in zip(place, bases.values()):
            for bit, added in enumerate(basis):
                if index >> bit & 1:
                    found = [one ^ more for one, more in zip(found, added)]
        assert (tuple(found),) == inverse.locate(dict(zip(inverse.axes, place)))


def by_definition(text):
    """The table [thread][value] of a CuTe layout, from CuTe's definition: the first mode is the fastest, an index is
    the inner product of its digits and the strides (CUTLASS, media/docs/cpp/cute/01_layout.md)."""

    def values(shape, stride):
        if isinstance(shape, int):
            return [stride * digit for digit in range(shape)]
        found = [0]
        for mode in zip(shape, stride):
            found = [low + high for high in values(*mode) for low in found]
        return found

    shape, stride = map(ast.literal_eval, text.split(":"))
    thread, value = (values(*mode) for mode in zip(shape, stride))
    return [[first + second for second in value] for first in thread]


def test_a_cute_text_means_what_pycute_evaluates_it_to():
    for text, expected in PYCUTE.items():
        assert by_definition(text) == expected, text


def test_the_cute_text_of_every_operand_finds_the_elements_of_every_thread_and_value():
    for operand in whole_operands():
        layout = operand.layout
        if operand.name not in "ABCD" or any(layout.sizes[name] > 1 for name in layout.shared):
            continue
        order = ("j", "k") if operand.name == "B" else operand.axes[1:]
        extents = dict(zip(layout.axes, layout.extents))
        table = by_definition(layout.cute(order))
        inverse = layout.inverse()
        for place in all_places(layout):
            thread = place[-2] + (layout.spans["lane"] * place[0] if len(place) == 3 else 0)
            ((block, *at),) = inverse.locate(dict(zip(inverse.axes, place)))
            where = dict(zip(layout.axes, (block, *at)))
            fast, slow = order
            index = where[fast] + extents[fast] * (where[slow] + extents[slow] * where["block"])
            assert table[thread][place[-1]] == index, operand


@pytest.mark.parametrize(
    ("arch", "name", "operand", "text"),
    [
        # CUTLASS 7107b055, cute/atom/mma_traits_sm80.hpp, SM80_16x8x16_F32F16F16F32_TN
        ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "A", "((4,8),(2,2,2)):((32,1),(16,8,128))"),
        ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "B", "((4,8),(2,2)):((16,1),(8,64))"),
        ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "D", "((4,8),(2,2)):((32,1),(16,8))"),
        # the same, mma_traits_sm90_gmma.hpp, ALayout_64x16 and CLayout_64x16
        ("sm_90a", "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16", "A",
         "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))"),
        ("sm_90a", "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16", "D",
         "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))"),
    ],
)  # fmt: skip
def test_cutlass_writes_its_atoms_so(arch, name, operand, text):
    layout = mmacalc.instruction(arch, name).operand(operand).layout
    assert layout.cute(("j", "k") if operand == "B" else ()) == text


def test_what_has_no_cute_text_is_refused_with_the_reason():
    sparse = mmacalc.instruction("gfx942", "v_smfmac_f32_16x16x32_f16").operand("A").layout
    with pytest.raises(Error, match="is not a CuTe layout: p is shared, so a place has several elements"):
        sparse.cute()
    with pytest.raises(Error, match="the order is i; it should name the axes block, i, k once each"):
        mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16").operand("A").layout.cute(("i",))
