"""The diagnosis on kernels that make one mistake each, on right kernels, on noise, and on whole GEMMs."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mmacalc
from kernels_by_hand import AMPERE, CDNA3, CDNA4_FP8, RDNA4, Kernel, bf16, memory
from mistaken_kernels import MISTAKES
from mistakes_at_once import AT_ONCE
from mmacalc.cli import answer
from mmacalc.diagnosis.problem import problem_of
from samples import sampled

NAMED = 0.95


EVERY_NINTH = sampled("step", [9, 4, 1], 1, whole=1)


@EVERY_NINTH
@pytest.mark.parametrize(("mistakes", "least"), [(MISTAKES, 100), (AT_ONCE, 40)], ids=["one", "two"])
def test_at_least_95_percent_of_the_mistakes_are_named_first_and_the_rest_is_not_named_wrongly(mistakes, least, step):
    """Every row with a seed of its own; a name counts if the emulator's D under it is the kernel's D."""
    missed, tried = [], [*enumerate(mistakes, 100)][::step]
    for seed, (what, arch, name, kernel, said) in tried:
        made = Kernel(arch, name, seed)
        with np.errstate(all="ignore"):
            d = kernel(made)
        found = mmacalc.diagnose(made.inst, d=d, **made.inputs)
        first = found.explanations[0].name if found.explanations else "nothing"
        if not re.search(said, first):
            missed.append(f"{what}: {first}")
    assert len(mistakes) >= least
    assert len(missed) <= (1 - NAMED) * len(tried), "\n".join(missed)


RIGHT = {
    "by the instruction": lambda k: k.d,
    "in float64, rounded once": lambda k: k.approximately(),
    "in float32, in the order of k": lambda k: sum_in_order(k, range(k.a.shape[1])),
    "in float32, k backwards": lambda k: sum_in_order(k, range(k.a.shape[1])[::-1]),
    "one bit more in places": lambda k: np.where(
        k.rng.random(k.d.shape) < 0.3, np.nextafter(k.d, np.float32(9e9)), k.d
    ),
}
NOISE = {
    "other numbers": lambda k: k.rng.standard_normal(k.d.shape),
    "a little noise": lambda k: k.d + 1e-3 * k.rng.standard_normal(k.d.shape),
    "some noise": lambda k: k.d * (1 + 0.1 * k.rng.standard_normal(k.d.shape)),
    "another product": lambda k: Kernel(k.inst.arch, k.inst.name, k.seed + 1).d,
    "a few wrong elements": lambda k: k.d + (k.rng.random(k.d.shape) < 0.05),
    "numbers of bf16": lambda k: bf16(k.rng.standard_normal(k.d.shape).astype(np.float32)),
    "relu of other numbers": lambda k: np.maximum(k.rng.standard_normal(k.d.shape), 0),
    "whole numbers": lambda k: k.rng.integers(-3, 4, k.d.shape).astype(float),
    "A a little off": lambda k: k.approximately(a=k.a + 0.01 * k.rng.standard_normal(k.a.shape)),
}


def sum_in_order(k, order):
    total = k.c.astype(np.float32)
    for i in order:
        total = total + k.a[:, i, None].astype(np.float32) * k.b[i].astype(np.float32)
    return total


EACH = [CDNA3, CDNA4_FP8, RDNA4, AMPERE]


@EVERY_NINTH
@pytest.mark.parametrize(("arch", "name"), EACH)
@pytest.mark.parametrize(("group", "right"), [(RIGHT, True), (NOISE, False)], ids=["right", "noise"])
def test_right_results_and_noise_have_no_mistake(arch, name, group, right, step):
    """In a sample every instruction has others, and between them every kind."""
    first = EACH.index((arch, name)) % step
    for seed, (what, kernel) in [*enumerate(group.items(), 30)][first::step]:
        made = Kernel(arch, name, seed)
        found = mmacalc.diagnose(made.inst, d=kernel(made), **made.inputs)
        assert not found.explanations, (what, found.explanations)
        assert found.right == right, what


MORE = [
    ("gfx950", "v_mfma_f32_32x32x16_bf16"),
    ("gfx1100", "v_wmma_f32_16x16x16_bf16"),
    ("sm_90", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
    ("sm_120a", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
]


@sampled(("arch", "name"), [*EACH, *MORE], 0, whole=0)
def test_of_more_than_two_hundred_controls_none_is_accused(arch, name):
    """Two of each kind for each of eight instructions."""
    kinds = [(what, kernel, group is RIGHT) for group in (RIGHT, NOISE) for what, kernel in group.items()]
    for seed, (what, kernel, right) in enumerate([*kinds, *kinds], 7100):
        made = Kernel(arch, name, seed)
        found = mmacalc.diagnose(made.inst, d=kernel(made), **made.inputs)
        assert not found.explanations, (what, found.explanations)
        assert found.right == right, what


# --- whole GEMMs ------------------------------------------------------------------------------------------------------


class Gemm:
    """A product of 64 x 48 by 48 x 80, by v_mfma_f32_16x16x16_f16: 4 x 5 tiles, three steps along K."""

    def __init__(self, seed):
        self.inst = mmacalc.instruction(*CDNA3)
        self.rng = np.random.default_rng(seed)
        shapes = {"a": (64, 48), "b": (48, 80), "c": (64, 80)}
        self.inputs = {x: self.rng.standard_normal(s).astype(np.float16) for x, s in shapes.items()}
        self.a, self.b, self.c = self.inputs.values()

    def run(self, a=None, b=None, c=None, order=(0, 1, 2)):
        a, b, c = (own if x is None else x for x, own in zip((a, b, c), self.inputs.values()))
        d = np.array(c, np.float32)
        for i, j in np.ndindex(4, 5):
            here = np.s_[16 * i : 16 * i + 16, 16 * j : 16 * j + 16]
            for k in order:
                rows, columns = (np.s_[16 * x : 16 * x + 16] for x in (i, j))
                step = np.s_[16 * k : 16 * k + 16]
                d[here] = self.inst.multiply(a[rows, step], b[step, columns], d[here])
        return d

    def changed(self, tiles, change):
        d = self.run()
        for i, j in tiles:
            here = np.s_[16 * i : 16 * i + 16, 16 * j : 16 * j + 16]
            d[here] = change(d[here])
        return d

    def never_reset(self):
        products = self.run(c=0 * self.c)
        d, total = np.empty_like(products), np.zeros((16, 16), np.float32)
        for i, j in np.ndindex(4, 5):
            here = np.s_[16 * i : 16 * i + 16, 16 * j : 16 * j + 16]
            total = total + products[here]
            d[here] = total + self.c[here]
        return d


GEMMS = [
    (
        "the last step along K is missing",
        lambda g: g.run(order=(0, 1)),
        "step 2 of the 3 steps along K is left out",
        (),
    ),
    (
        "a stale tile of a double buffer",
        lambda g: g.run(np.hstack([g.a[:, :16], g.a[:, :16], g.a[:, 32:]]), np.vstack([g.b[:16], g.b[:16], g.b[32:]])),
        "data of the step before",
        (),
    ),
    ("one tile transposed", lambda g: g.changed([(1, 2)], lambda t: t.T), "16 x 16 tile transposed", ((1, 2),)),
    ("tiles not stored", lambda g: g.changed([(1, 2), (3, 4)], np.zeros_like), r"zero in tiles \(1, 2\) \(3, 4\)", ()),
    ("tiles exchanged", lambda g: g.run()[np.r_[16:32, 0:16, 32:64]], "row", None),
    ("accumulator not reset", lambda g: g.never_reset(), "not reset between tiles", ()),
    ("C missing", lambda g: g.run(c=0 * g.c), "C is not added", ()),
    ("relu", lambda g: np.maximum(g.run(), 0), "relu", ()),
    ("rounded to bf16", lambda g: bf16(g.run()), "rounded to bf16", ()),
    ("ldb one too many", lambda g: g.run(b=memory(g.b, 81, g.b.shape)), r"B .*leading dimension off by \+1", ()),
    ("B stored column by column", lambda g: g.run(b=g.b.T.reshape(g.b.shape)), "B is read .*column by column", ()),
    (
        "registers of D in the wrong order in every tile",
        lambda g: g.changed(np.ndindex(4, 5), lambda t: t[np.arange(16) ^ 1]),
        "D .*(rows|registers)",
        (),
    ),
    (
        "the second row of tiles reads the first rows of A",
        lambda g: g.run(a=np.vstack([g.a[:16], g.a[:16], g.a[32:]])),
        "A|rows of A",
        None,
    ),
]


@sampled(("what", "kernel", "said", "tiles"), GEMMS, 7, ids=[row[0] for row in GEMMS])
def test_a_whole_gemm_is_diagnosed_and_its_tiles_are_told_apart(what, kernel, said, tiles):
    gemm = Gemm(7)
    found = mmacalc.diagnose(gemm.inst, d=kernel(gemm), **gemm.inputs)
    assert re.search(said, found.explanations[0].name), found.explanations[0].name
    assert tiles is None or found.explanations[0].tiles == tiles


def test_an_accumulator_that_is_not_reset_is_named_in_every_order_of_the_tiles():
    gemm = Gemm(7)
    products = gemm.run(c=0 * gemm.c).reshape(4, 16, 5, 16).swapaxes(1, 2)
    orders = {
        "row by row": np.cumsum(products.reshape(20, 16, 16), 0).reshape(products.shape),
        "column by column": np.cumsum(products.swapaxes(0, 1).reshape(20, 16, 16), 0)
        .reshape(5, 4, 16, 16)
        .swapaxes(0, 1),
        "along each row": np.cumsum(products, 1),
        "along each column": np.cumsum(products, 0),
    }
    for order, tiles in orders.items():
        d = tiles.swapaxes(1, 2).reshape(64, 80) + gemm.c
        first = mmacalc.diagnose(gemm.inst, d=d, **gemm.inputs).explanations[0]
        assert first.name.endswith(f"not reset between tiles (one tile after the other, {order})"), first.name


def test_different_mistakes_in_different_tiles_are_each_named():
    gemm = Gemm(8)
    d = gemm.changed([(0, j) for j in range(5)], lambda t: t.T)
    d[32:48, 32:48] = 0
    found = mmacalc.diagnose(gemm.inst, d=d, **gemm.inputs)
    by_tiles = {one.tiles: one.name for one in reversed(found.explanations)}
    assert "transposed" in by_tiles[tuple((0, j) for j in range(5))]
    assert "zero in tile (2, 2)" in by_tiles[((2, 2),)]


def test_a_right_gemm_is_right_in_any_order_and_the_order_of_k_is_named():
    gemm = Gemm(9)
    assert mmacalc.diagnose(gemm.inst, d=gemm.run(), **gemm.inputs).different == 0
    found = mmacalc.diagnose(gemm.inst, d=gemm.run(order=(2, 1, 0)), **gemm.inputs)
    assert found.right
    assert found.arithmetic[0].name == "the steps along K are added in descending order"
    other = (gemm.a.astype(float) @ gemm.b.astype(float) + gemm.c).astype(np.float32)
    assert mmacalc.diagnose(gemm.inst, d=other, **gemm.inputs).right


@pytest.mark.parametrize(("arch", "name"), [CDNA3, CDNA4_FP8, RDNA4, AMPERE])
def test_a_whole_product_at_once_has_the_bits_of_its_instructions_one_after_the_other(arch, name):
    inst, rng = mmacalc.instruction(arch, name), np.random.default_rng(4)
    for m, n, k in ((40, 30, 100), (64, 32, 128)):
        a, b, c = (rng.standard_normal(shape) for shape in ((m, k), (k, n), (m, n)))
        problem = problem_of(inst, a, b, c, False, {})
        steps = problem.run(chains=[range(problem.tiles[2])])
        np.testing.assert_array_equal(problem.run(), steps)
        doubled = 2 * problem.codes["A"]
        np.testing.assert_array_equal(problem.run(A=doubled), problem.run(chains=[range(problem.tiles[2])], A=doubled))


def test_split_k_and_alpha_and_beta_and_sizes_that_are_no_multiples():
    inst, rng = mmacalc.instruction(*CDNA3), np.random.default_rng(3)
    a, b, c = (rng.standard_normal(s).astype(np.float16) for s in ((40, 64), (64, 24), (40, 24)))
    halves = [mmacalc.diagnosis.compare.product(inst, a[:, k], b[k], x) for k, x in ((np.s_[:32], c), (np.s_[32:], 0))]
    found = mmacalc.diagnose(inst, a, b, c, d=halves[0] + halves[1])
    assert found.right
    assert "in 2 sums of consecutive steps (split-K)" in [
        one.name.removeprefix("the steps along K are added ") for one in found.arithmetic
    ]
    d = np.float32(0.5) * mmacalc.diagnosis.compare.product(inst, a, b) - np.float32(2) * c.astype(np.float32)
    assert mmacalc.diagnose(inst, a, b, c, d=d, alpha=0.5, beta=-2).different == 0
    assert "D is 0.5 A B + -2 C" in mmacalc.diagnose(inst, a, b, c, d=d).explanations[0].name


def test_a_rocwmma_launch_is_compared_and_its_mistake_is_found():
    from mmacalc import rocwmma
    from mmacalc.rocwmma import float16_t, float32_t

    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal((32, 32)).astype(np.float16) for _ in "ab")

    def kernel(wave, a, b, d, order):
        f = [rocwmma.fragment(kind, 16, 16, 16, float16_t, order) for kind in (rocwmma.matrix_a, rocwmma.matrix_b)]
        acc = rocwmma.fragment(rocwmma.accumulator, 16, 16, 16, float32_t)
        rocwmma.fill_fragment(acc, 0.0)
        row, column = 16 * wave.blockIdx.x, 16 * wave.blockIdx.y
        for k in (0, 16):
            rocwmma.load_matrix_sync(f[0], a + (row * 32 + k), 32)
            at = k * 32 + column if order is rocwmma.row_major else column * 32 + k
            rocwmma.load_matrix_sync(f[1], b + at, 32)
            rocwmma.mma_sync(acc, f[0], f[1], acc)
        rocwmma.store_matrix_sync(d + (row * 32 + column), acc, 32, rocwmma.mem_row_major)

    inst = mmacalc.instruction(*CDNA3)
    d = np.zeros((32, 32), np.float32)
    report = mmacalc.launch(kernel, (2, 2), 64, a, b, d, rocwmma.row_major, arch="gfx942")
    assert mmacalc.diagnose(inst, a, b, d=d).different == 0
    assert report.diagnose(a, b, d=d).different == 0
    d[:16, 16:] = d[:16, 16:].T
    assert report.diagnose(a, b, d=d).explanations[0].tiles == ((0, 1),)
    d[:16, 16:] = d[:16, 16:].T
    nothing = mmacalc.launch(lambda wave: None, 1, 64, arch="gfx942")
    with pytest.raises(mmacalc.Error, match=r"one matrix instruction.*it issued none"):
        nothing.diagnose(a, b, d=d)
    assert "transposed" in mmacalc.diagnose(inst, a, b.T, d=d).explanations[0].name


def test_run_compare_takes_a_whole_gemm(tmp_path):
    gemm = Gemm(4)
    paths = {name: str(tmp_path / f"{name}.npy") for name in "abcd"}
    for name, array in gemm.inputs.items():
        np.save(paths[name], array)
    np.save(paths["d"], gemm.changed([(1, 2)], lambda t: t.T))
    words = [word for name in "abc" for word in (f"--{name}", paths[name])]
    reply = answer(["run", "-a", CDNA3[0], "-i", CDNA3[1], *words, "--compare", paths["d"], "-q"])
    assert reply.status == 1
    assert "Explained to the bit, in tile (1, 2): D has each 16 x 16 tile transposed." in reply.out


def test_what_does_not_fit_is_refused_with_what_would():
    inst = mmacalc.instruction(*CDNA3)
    with pytest.raises(mmacalc.Error, match=r"needs the kernel's D, by name"):
        mmacalc.diagnose(inst, np.zeros((16, 16)), np.zeros((16, 16)), np.zeros((16, 16)))
    with pytest.raises(mmacalc.Error, match=r"the D to compare has shape \(3, 3\)"):
        mmacalc.diagnose(inst, np.zeros((16, 16)), np.zeros((16, 16)), d=np.zeros((3, 3)))
    with pytest.raises(mmacalc.Error, match=r"needs \(..., 32, 48\)"):
        mmacalc.diagnose(inst, np.zeros((32, 64)), np.zeros((64, 48)), np.zeros((3, 3)), d=np.zeros((32, 48)))


# --- one step along K of several ---

STEPS = 8
ONE_STEP = {
    "A is displaced by -4 rows": lambda a, b, k, step: (np.roll(a[:, step], 4, axis=0), b[step]),
    "B has its rows in reverse order": lambda a, b, k, step: (a[:, step], b[step][::-1]),
    "A is that of 1 step later": lambda a, b, k, step: (a[:, step.start + k : step.stop + k], b[step]),
    "B is displaced by +1 row": lambda a, b, k, step: (a[:, step], b[step.start + 1 : step.stop + 1]),
}
STEPPED_BY = (
    ("gfx942", "v_mfma_f32_16x16x16_f16"), ("gfx950", "v_mfma_f32_16x16x32_bf16"),
    ("gfx1100", "v_wmma_f32_16x16x16_f16"), ("gfx1250", "v_wmma_f32_16x16x32_f16"),
    ("gfx942", "v_mfma_i32_16x16x32_i8"), ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
)  # fmt: skip
STEPPED = [(*by, kind, step) for by in STEPPED_BY for kind in ONE_STEP for step in (0, 3, STEPS - 2)]


@sampled(("arch", "name", "kind", "step"), STEPPED, 1, first=2, whole=12)
def test_a_mistake_in_one_step_along_k_is_named_with_the_step(arch, name, kind, step):
    inst, rng = mmacalc.instruction(arch, name), np.random.default_rng(step)
    k = inst.k
    a, b = (rng.integers(-100, 100, shape) for shape in ((inst.m, k * STEPS), (k * STEPS, inst.n)))
    if "_i32_" not in name:
        a, b = a / 37, b / 41
    d = 0
    for number in range(STEPS):
        part = slice(number * k, (number + 1) * k)
        pair = ONE_STEP[kind](a, b, k, part) if number == step else (a[:, part], b[part])
        d = inst.multiply(*pair, d)
    found = mmacalc.diagnose(inst, a, b, d=d).explanations
    assert found, kind
    assert found[0].name == f"in step {step} of the {STEPS} steps along K alone, {kind}"
    assert found[0].exact


def test_registers_that_reach_into_the_next_step_are_named_with_the_step():
    inst, rng = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16"), np.random.default_rng(1)
    a, b, step = rng.standard_normal((16, 128)), rng.standard_normal((128, 16)), 2
    wrong = a.copy()
    for i, lane, register, half in np.ndindex(16, 4, 2, 2):  # k is 4 lane + 2 register + half
        taken = 16 * step + 16 * (register + 1 > 1) + 4 * lane + 2 * ((register + 1) % 2) + half
        wrong[i, 16 * step + 4 * lane + 2 * register + half] = a[i, taken]
    (found,) = mmacalc.diagnose(inst, a, b, d=mmacalc.gemm(wrong, b, arch="gfx942", instruction=inst.name)).explanations
    assert found.name.startswith(f"in step {step} of the 8 steps along K alone, A is read from registers +1 away")
