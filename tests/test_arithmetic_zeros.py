"""The sign of results that are zero, and the halves in which mma.sync takes fp8, on whole instructions."""

from __future__ import annotations

import numpy as np
import pytest

import mmacalc
from mmacalc.arithmetic.codecs import encode
from mmacalc.catalog.grammar.sass import sass_of
from mmacalc.emulator import core
from samples import sampled

RNG = np.random.default_rng(11)
HALVED = ("sm_90", "sm_90a", "sm_100a", "sm_103a", "sm_107a", "sm_110a")


def aligning(vendor, *models):
    """One instruction for each way of computing of a vendor whose model is one of some."""
    found = {}
    for arch in mmacalc.architectures():
        for inst in mmacalc.instructions(arch) if mmacalc.architecture(arch).vendor == vendor else ():
            small = inst.n <= 64 and not inst.sparse and not inst.in_tensor_memory
            if small and {"A", "B"} <= set(inst.operands):
                numerics = inst.numerics
                if numerics.model in models:
                    key = numerics.model, *numerics.parameters.items(), *inst.formats.values(), "SA" in inst.operands
                    found.setdefault(key, inst)
    return [pytest.param(inst, id=f"{inst.arch}-{inst.name}") for inst in found.values()]


def tiny(inst, name, shape):
    """Codes of zeros and of numbers whose products vanish if they can, of both signs."""
    form = inst.format(name)
    least = 2.0 ** (1 - form.bias - form.mantissa)
    size = 2.0**-80 if form.exponent == 8 else max(least, 2.0**-14)
    return encode(RNG.choice([-1.0, 1.0], shape) * RNG.integers(0, 3, shape) * size, form)


@sampled("inst", aligning("nvidia", "aligned_truncated", "block_scaled_fp4", "fp8_two_halves"), 40)
@pytest.mark.parametrize("compiled", [True, False])
def test_a_sum_that_becomes_zero_is_plus_zero_on_nvidia(inst, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(core, "function", lambda name: None)
    lead = (inst.blocks,) if inst.blocks > 1 else ()
    a, b = tiny(inst, "A", (*lead, inst.m, inst.k)), tiny(inst, "B", (*lead, inst.k, inst.n))
    c = encode(RNG.choice([-0.0, 0.0], (*lead, inst.m, inst.n)), inst.format("C"))
    a[..., :2, :] = encode(RNG.choice([-0.0, 0.0], (*lead, 2, inst.k)), inst.format("A"))
    scales = {}
    if "SA" in inst.operands:
        size = inst.block_size
        scales = {"scale_a": np.ones((inst.m, inst.k // size), np.uint8),
                  "scale_b": np.ones((inst.k // size, inst.n), np.uint8)}  # fmt: skip
    d = inst.multiply_bits(a, b, c, **scales)
    sign = d.dtype.type(1 << (inst.format("D").bits - 1))
    assert (d == 0).sum() >= 2 * inst.n
    assert not (d == sign).any()


@pytest.mark.parametrize("compiled", [True, False])
def test_the_two_inputs_by_which_version_1_0_0_was_found_wrong(compiled, monkeypatch):
    """A negative product that rounds to zero; and 448 - 448 before 2**-18, which one sum of 32 products would cut."""
    if not compiled:
        monkeypatch.setattr(core, "function", lambda name: None)
    inst = mmacalc.instruction("sm_90", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16")
    a, b = np.zeros((16, 16)), np.zeros((16, 8))
    a[:, 0], b[0] = -(2.0**-13), 2.0**-13
    assert not np.signbit(inst.multiply(a, b)).any()
    inst = mmacalc.instruction("sm_90", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
    a, b = np.zeros((16, 32)), np.zeros((32, 8))
    a[:, 0] = b[0] = b[1] = 448
    a[:, 1], a[:, 2], b[2] = -448, 2.0**-9, 2.0**-9
    assert (inst.multiply(a, b) == 2.0**-18).all()


@pytest.mark.parametrize("arch", HALVED)
@pytest.mark.parametrize("name", ["mma.sync.aligned.m16n8k32", "mma.sync.aligned.m16n8k16",
                                  "mma.sp::ordered_metadata.sync.aligned.m16n8k64"])  # fmt: skip
def test_fp8_goes_through_hmma_in_two_halves_then_c_is_added(arch, name):
    """1 at k = 0, -1 at k = q and 2**-30 at k = r: 2**-30 is left only where 0 and q are in a half before that of r.

    Which k are in the first half is what nvcc 13.0 compiles for sm_90a and sm_100a: F2FP.UNPACK_B of the low halves of
    A's registers; of mma.sp, whose A is compressed, B's logical k % 8 < 4 (SHFL).
    """
    inst = mmacalc.instruction(arch, f"{name}.row.col.f32.e5m2.e5m2.f32")
    every = np.arange(inst.k // 2 if inst.sparse else inst.k)
    first = every % 4 < 2
    index = {"index": np.tile([0, 1], (inst.m, len(every) // 2))} if inst.sparse else {}
    logical = every // 2 * 4 + every % 2 if inst.sparse else every  # the k of B that A's stored k meets
    if inst.sparse:
        assert (first == (logical % 8 < 4)).all()
    for q in every[1:]:
        a, b = np.zeros((len(every), len(every))), np.zeros((inst.k, inst.n))
        a[every, every], a[:, 0], a[:, q], b[logical] = 2.0**-15, 1, -1, 2.0**-15
        b[logical[0]] = b[logical[q]] = 1
        d = np.concatenate([inst.multiply(part, b, **index)[:, 0] for part in a.reshape(-1, 16, len(every))])
        keep = (every != 0) & (every != q)
        np.testing.assert_array_equal(d[keep], np.where(first[q] & ~first, 2.0**-30, 0)[keep])
    # C last: as large as it is, it cuts nothing; and 1 + 2**-24 is rounded to nearest even, 1 + 3 * 2**-24 up
    a, b, c = np.zeros((16, len(every))), np.zeros((inst.k, inst.n)), np.ones((16, inst.n))
    a[:, :3], b[logical[:3]] = 2.0**-12, 2.0**-12
    b[logical[0]] *= np.arange(inst.n) > 3
    a[:, 2] = 2.0**-13 * (np.arange(16) > 7)
    d = inst.multiply(a, b, c, **index)
    exact = 1 + np.where(np.arange(inst.n) > 3, 2.0**-23, 2.0**-24) + 2.0**-25 * (np.arange(16) > 7)[:, None]
    np.testing.assert_array_equal(d, exact.astype(np.float32))


def test_what_becomes_two_hmma_is_computed_in_two_halves_and_nothing_else_is():
    """The opcodes, which are held against ptxas elsewhere, of every product of fp8 of every target."""
    found = {True: 0, False: 0}
    for arch in mmacalc.architectures():
        for inst in mmacalc.instructions(arch) if mmacalc.architecture(arch).vendor == "nvidia" else ():
            if {inst.formats.get("A"), inst.formats.get("B")} <= {"e4m3", "e5m2"}:
                twice = "HMMA" in sass_of(inst, arch)[0]
                assert (inst.numerics.model == "fp8_two_halves") == twice, (arch, inst.name)
                found[twice] += 1
    assert found[True] > 200
    assert found[False] > 200


@pytest.mark.parametrize("inst", aligning("amd", "exact", "pairwise_f32"))
@pytest.mark.parametrize("compiled", [True, False])
def test_a_sum_of_nothing_but_minus_zeros_is_plus_zero_on_cdna(inst, compiled, monkeypatch):
    """MMA-Sim 2.1.1 and fpy2 on exact sums; MMA-Sim on CDNA2, where inputs below the normal numbers are plus zero."""
    if not compiled:
        monkeypatch.setattr(core, "function", lambda name: None)
    lead = (inst.blocks,) if inst.blocks > 1 else ()
    least = 0.0 if inst.numerics.model == "exact" else 2.0**-140
    forms = [inst.format(name) for name in "ABC"]
    shapes = ((inst.m, inst.k), (inst.k, inst.n), (inst.m, inst.n))
    a, b, c = (encode(np.full((*lead, *shape), sign * size), form) for shape, form, sign, size in
               zip(shapes, forms, (-1, 1, -1), (least, 1.0, least)))  # fmt: skip
    scales = {name: np.full((inst.m, inst.k // inst.block_size) if name == "scale_a" else
                            (inst.k // inst.block_size, inst.n), 127, np.uint8)
              for name in ("scale_a", "scale_b") if "SA" in inst.operands}  # fmt: skip
    assert not inst.multiply_bits(a, b, c, **scales).any()
