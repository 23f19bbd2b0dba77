"""Layouts in other notations and their algebra, against pycute, tensor-layouts and the definitions."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmacalc import Error, instructions
from mmacalc.layout.cute import CuteLayout, Swizzle
from mmacalc.layout.linear import LinearLayout

ANSWERS = json.loads(gzip.decompress((Path(__file__).parent / "data/cute_algebra.json.gz").read_bytes()))


def found(name, one, more):
    """What we answer: indices, or a number; None where the arguments are refused."""
    second = CuteLayout.parse(more) if isinstance(more, str) else more
    method = getattr(CuteLayout.parse(one), name)
    try:
        answer = method() if second is None else method(second)
    except Error:
        return None
    return answer if isinstance(answer, int) else list(answer.indices)


def holds(name, one, more, answer):
    """Whether an answer is one by the definition, where several are or where a library's is not."""
    layout = CuteLayout.parse(one)
    if name == "right_inverse":
        return all(layout(where) == at for at, where in enumerate(answer))
    assert name == "left_inverse"
    inverse = layout.left_inverse()
    return all(layout(inverse(index)) == index for index in layout.indices)


def test_random_layouts_are_divided_multiplied_and_inverted_as_pycute_and_tensor_layouts_do():
    same = agreed_by_definition = refused = 0
    for name, one, more, answers in ANSWERS:
        ours = found(name, one, more)
        for library, theirs in answers.items():
            if ours is None:
                refused += 1
            elif ours == theirs:
                same += 1
            elif theirs is not None and name in ("right_inverse", "left_inverse"):
                assert holds(name, one, more, ours), (name, one)
                agreed_by_definition += 1
            elif theirs is not None:
                # tensor-layouts puts a block's copies behind its cosize; CuTe's own blocked_product does not
                assert (name, library) == ("blocked_product", "tensor-layouts"), (name, one, more, library)
    assert same > 2500, same
    assert refused < 420, refused
    assert agreed_by_definition > 30, agreed_by_definition


def flat_layouts(most=4):
    sizes = st.lists(st.sampled_from([1, 2, 3, 4, 8]), min_size=1, max_size=most)
    return st.builds(
        lambda shape, steps: CuteLayout(tuple(shape), tuple(steps[: len(shape)])),
        sizes, st.lists(st.sampled_from([0, 1, 2, 3, 4, 8, 16]), min_size=most, max_size=most),
    )  # fmt: skip


@given(flat_layouts(), flat_layouts(3))
def test_a_composition_is_one_layout_after_the_other(first, then):
    try:
        both = first.compose(then)
    except Error:
        return
    reach = first.size
    for at, middle in enumerate(then.indices):
        if middle < reach:
            assert both(at) == first(middle)


@given(flat_layouts())
def test_coalescing_changes_no_index_and_a_text_is_read_back(layout):
    assert layout.coalesce().indices == layout.indices
    assert CuteLayout.parse(str(layout)) == layout
    assert eval(repr(layout), {"CuteLayout": CuteLayout}) == layout


def test_a_swizzle_permutes_each_run_that_its_bits_span_and_undoes_itself():
    for bits, base, shift in ((1, 4, 3), (2, 4, 3), (3, 4, 3), (3, 3, 3), (2, 0, -2), (3, 0, 5)):
        swizzle = Swizzle(bits, base, shift)
        run = 1 << (bits + base + abs(shift))
        assert sorted(map(swizzle, range(run))) == list(range(run))
        assert all(swizzle(swizzle(at)) == at for at in range(run))


def test_every_spelling_of_a_layout_is_the_same_layout():
    expected = CuteLayout(((4, 8), 2), ((16, 1), 8))
    for text in (
        "((4,8),2):((16,1),8)", "((_4,_8),_2):((_16,_1),_8)",
        "Layout<Shape<Shape<_4,_8>,_2>,Stride<Stride<_16,_1>,_8>>",
        "make_layout(make_shape(make_shape(Int<4>{}, Int<8>{}), Int<2>{}), make_stride(make_stride(16, 1), 8))",
        "cute.make_layout(((4, 8), 2), stride=((16, 1), 8))", "Layout(((4, 8), 2), ((16, 1), 8))",
    ):  # fmt: skip
        assert CuteLayout.parse(text) == expected, text


@pytest.mark.parametrize(
    "text", ["", "(4,8", "(4,8):(1)", "4:1:2", "(4,,8)", "(0,2):(1,1)", "S<3,4,3>", "(a,b)", "(4)(8)", "(" * 40]
)
def test_a_text_that_is_no_layout_is_refused_in_words(text):
    with pytest.raises(Error):
        CuteLayout.parse(text)


def test_every_operand_over_powers_of_two_is_a_linear_layout_and_comes_back():
    seen = set()
    for arch in ("cdna3", "rdna3", "rdna4", "sm_80", "sm_90a"):
        for inst in instructions(arch):
            for name in inst.register_operands:
                layout = inst.operand(name).layout
                key = (layout.text, tuple(layout.sizes.items()))
                odd = any(size & (size - 1) for size in layout.sizes.values())
                shared = any(layout.sizes[digit] > 1 for digit in layout.shared)
                if key in seen or odd or shared or layout.partial:
                    continue
                seen.add(key)
                linear = LinearLayout.of(layout)
                copies = layout.copies * layout.span(layout.selectors)
                assert len(linear.kernel) == copies.bit_length() - 1
                assert linear.surjective
                assert LinearLayout.of(linear.layout()) == linear
                element = {axis: extent // 2 for axis, extent in zip(layout.axes, layout.extents)}
                places = {tuple(place.values()) for place in linear.locate(**element)}
                assert set(layout.locate(element)) <= places
                assert len(places) == copies
                inverse = linear.right_inverse()
                there = inverse.compose(linear)
                assert all(
                    there.apply(**{axis: 1 << bit}) == tuple(1 << bit if other == axis else 0 for other in layout.axes)
                    for axis, extent in zip(layout.axes, layout.extents)
                    for bit in range(extent.bit_length() - 1)
                )
    assert len(seen) > 40


def test_a_matrix_over_gf_2_has_its_rank_and_kernel():
    layout = LinearLayout({"lane": [(1, 0), (1, 2), (0, 2)], "warp": [(2, 1)]}, {"i": 4, "k": 4})
    assert layout.matrix == ((0, 0, 0, 1), (0, 1, 1, 0), (1, 1, 0, 0), (0, 0, 0, 1))
    assert layout.rank == 3
    assert not layout.surjective
    assert not layout.injective
    assert layout.kernel == ({"lane": 7, "warp": 0},)
    assert all(layout.apply(**place) == (0, 0) for place in layout.kernel)
    assert layout.locate(i=1, k=1) == ()
    assert layout.locate(i=2, k=2) == ()
    assert layout.locate(i=2, k=1) == ({"lane": 0, "warp": 1}, {"lane": 7, "warp": 1})


def test_cute_layouts_that_regroup_digits_become_layouts():
    inst = next(one for one in instructions("sm_80") if "m16n8k16.row.col.f32.f16.f16.f32" in one.name)
    for name, order in (("A", ("i", "k")), ("B", ("j", "k")), ("D", ("i", "j"))):
        operand = inst.operand(name)
        sizes = dict(zip(operand.axes, operand.shape))
        read = CuteLayout.parse(operand.layout.cute(order))
        layout = read.layout(order, "lane,item", [sizes[axis] for axis in order])
        for element in ((0, 0), (1, 3), (7, 5)):
            at = dict(zip(order, element))
            assert layout.locate(at) == tuple((place.lane, place.item) for place in operand.locate(**at))
    with pytest.raises(Error, match="indices are left out at stride 4"):
        CuteLayout((4, 2), (1, 8)).layout()
    with pytest.raises(Error, match="has a swizzle"):
        CuteLayout.parse("S<3,4,3> o 0 o (8,64):(64,1)").layout()
