"""tcgen05.mma on the emulator: which model each form follows, Tensor Memory in and out, shapes from the matrices.

MMA-Sim's answers for tcgen05 are in tests/test_arithmetic_mmasim.py, its parameters in test_arithmetic_boundaries.py.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tests.oracles.boundary_dots import tensor_memory_subjects

import mmacalc
from mmacalc.catalog import entry
from mmacalc.diagnosis.inputs import encoded, random
from mmacalc.emulator.execution import execution_of
from mmacalc.emulator.matrices import extras, prepared
from mmacalc.families.tensor_memory import allowed_shapes
from samples import sampled
from tensor_memory_forms import TARGETS

MMA = "tcgen05.mma.cta_group::1.kind::"
NAMES = {"K": "index", "SA": "scale_a", "SB": "scale_b"}


def mma(kind, target="sm_100a"):
    return mmacalc.instruction(target, MMA + kind)


# --- which model ---


@pytest.mark.parametrize("target", TARGETS)
def test_every_form_and_target_but_rubin_computes_as_dense_cta_group_1_of_b200(target):
    measured = {}
    for inst in tensor_memory_subjects().values():
        measured[(inst.kind, *inst.types.values())] = inst.numerics
    for name in entry(target).tensor_memory_names:
        inst = mmacalc.instruction(target, name)
        if ".mma" not in name or inst.kind in ("ti16", "i8"):
            continue
        found = inst.numerics
        if target.startswith("sm_107"):
            assert (found.model, found.provenance) == ("exact", "assumed")
            continue
        plain = not (inst.sparse or inst.form.ws or inst.form.cta_group == 2)
        assert found.provenance == ("one source" if plain and target in ("sm_100a", "sm_100f") else "assumed"), name
        if inst.kind.startswith("mxf4"):
            assert found.parameters == {"group": 16, "fraction": 35, "lowest": -139}
        else:
            same = measured[(inst.kind, *inst.types.values())]
            assert (found.model, found.parameters) == (same.model, same.parameters), name


def test_a_further_k_is_assumed_to_be_one_step():
    deep = mmacalc.instruction("B300", "tcgen05.mma.cta_group::2.kind::mxf4nvf4.block_scale.block16").shaped(
        m=256, k=96
    )
    assert deep.numerics.source.startswith("as with the usual K: as on B200")
    a, b, scale = np.full((256, 96), 1.5), np.full((96, 16), 2.0), np.full((256, 6), 0x40, np.uint8)
    assert (deep.multiply(a, b, 1.0, scale_a=scale) == 96 * 3 * 2 + 1).all()


def test_f16_is_wgmma_s_to_the_bit_and_fp8_is_more_exact_than_wgmma_s():
    """Independent rows of the tables, which the measurements on H100 and MMA-Sim's tcgen05 happen to make alike."""
    rng = np.random.default_rng(5)
    for kind, form, wgmma in (
        ("f16", np.float16, "k16.f32.f16.f16"),
        ("f8f6f4", ml_dtypes.float8_e4m3fn, "k32.f32.e4m3.e4m3"),
    ):
        k = 16 if kind == "f16" else 32
        a = (rng.standard_normal((64, k)) * 2.0 ** rng.integers(-6, 6, (64, k))).astype(form)
        b, c = rng.standard_normal((k, 8)).astype(form), rng.standard_normal((64, 8)).astype(np.float32)
        hopper = mmacalc.instruction("H100", f"wgmma.mma_async.sync.aligned.m64n8{wgmma}").multiply(a, b, c)
        blackwell = mma(kind).multiply(a, b, c)
        exact = a.astype(float) @ b.astype(float) + c
        if kind == "f16":
            np.testing.assert_array_equal(blackwell, hopper)
        else:
            assert np.abs(blackwell - exact).max() * 100 < np.abs(hopper - exact).max()


def test_block_scaled_fp4_keeps_35_bits_below_the_scales_whatever_their_type():
    """As on sm_120a: a C of -2**34 and a run of +2**34 leave the bits of the other runs that were kept."""
    inst = mma("mxf4nvf4.block_scale.block16").shaped(scale="ue8m0")
    a, b = np.zeros((128, 64)), np.zeros((64, 8))
    scale = np.full((128, 4), 127, np.uint8)
    scale[:, 0] = 127 + 34
    b[:] = 0.5
    a[:, 0], b[0] = 1, 1  # 2**34
    a[0, 16], a[0, 32] = 1.5, 0.5  # 0.75 is cut to 0.5, and 0.25 to 0
    a[1, 16] = a[1, 24] = 0.5  # 0.25 + 0.25 before the cut
    d = inst.multiply(a, b, np.full((128, 8), -(2.0**34)), scale_a=scale)
    assert (d[:2, 0].tolist(), d[2:].any()) == ([0.5, 0.5], False)
    with pytest.raises(mmacalc.Error, match=r"with \.block32 are ue8m0; got 'ue4m3'"):
        mma("mxf4nvf4.block_scale.block32").shaped(scale="ue4m3")
    with pytest.raises(mmacalc.Error, match="kind::f16 has no scales"):
        mma("f16").shaped(scale="ue8m0")


def test_integers_wrap_or_saturate():
    a, b, most = np.full((64, 32), 127), np.full((32, 8), 127), 2**31 - 1
    assert (mma("i8").multiply(a, b, most, satfinite=True) == most).all()
    assert (mma("i8").multiply(a, b, most) == 32 * 127 * 127 - 2**31 - 1).all()
    assert (mma("i8").multiply(a * 2, b, a_type="u8", b_type="s8") == 32 * 254 * 127).all()


# --- the shape and the types ---


def test_what_is_not_named_follows_from_the_matrices():
    ones = np.ones((128, 16), ml_dtypes.bfloat16)
    found = mma("f16").multiply(ones * np.float32(3e38), np.ones((16, 24), ml_dtypes.bfloat16) / 16)
    assert (found.shape, np.isfinite(found).all()) == ((128, 24), True)  # f16 would overflow
    assert mma("f16").multiply_bits(ones, ones[:8].T, d_type="f32")[0, 0] == 0x41800000
    e5m2 = np.full((64, 32), 57344, ml_dtypes.float8_e5m2)
    assert mma("f8f6f4").multiply(e5m2, e5m2[:8].T)[0, 0] == 32 * 57344.0**2
    assert mma("f8f6f4").shaped(a="e2m1", b="e4m3").multiply(np.ones((64, 32)), np.full((32, 8), 448))[0, 0] == 32 * 448
    tall = mma("f16").multiply(np.ones((3, 64, 16)), np.ones((16, 8)))
    assert (tall.shape, (tall == 16).all()) == ((3, 64, 8), True)


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ((96, 16), (16, 8), "M is 64 or 128; this is one instruction, mmacalc.gemm multiplies"),
        ((128, 32), (32, 8), "is 16; got"),
        ((128, 16), (16, 12), "N is 8 to 256 in steps of 8"),
        ((256, 16), (16, 16), "kind::f16 with cta_group::2 supports M = 256"),
        ((128, 16), (15, 8), "is 16; got 15"),
        ((128,), (16, 8), "shape"),
    ],
)
def test_matrices_of_no_legal_shape_are_refused_with_the_legal_ones(a, b, reason):
    with pytest.raises(mmacalc.Error, match=reason):
        mma("f16").multiply(np.ones(a), np.ones(b))


def test_kind_ti16_says_that_its_types_are_not_public():
    inst = mma("ti16", "rubin")
    for question in (lambda: inst.numerics, lambda: inst.multiply(np.ones((128, 16)), np.ones((16, 8)))):
        with pytest.raises(mmacalc.Error, match="not in the public documents"):
            question()


def test_a_gemm_is_a_chain_of_instructions_and_takes_any_size():
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((100, 40)), rng.standard_normal((40, 30))
    inst = mma("f16").shaped(a="bf16")
    whole = mmacalc.gemm(a, b, instruction=inst)
    padded_a, padded_b = np.zeros((128, 48)), np.zeros((48, 32))
    padded_a[:100, :40], padded_b[:40, :30] = a, b
    d = np.zeros((128, 32))
    for k in range(0, 48, 16):
        d = inst.multiply(padded_a[:, k : k + 16], padded_b[k : k + 16], d)
    np.testing.assert_array_equal(whole, d[:100, :30])
    assert whole.emulation.provenance == "one source"


# --- Tensor Memory in and out ---


def cells(operand, codes, execution):
    """The cells of a matrix, filled element by element with `locate`: what execute() reads, by another way."""
    inst, (_, first, second) = operand.instruction, operand.axes
    file = np.zeros((operand.lanes, operand.registers), np.uint32)
    step = inst.block_size if operand.name in ("SA", "SB") else 1
    if inst.sparse and operand.name in "AK":
        step = operand.layout.sizes["p"]
    table = codes.T if operand.name == "SB" else codes
    for row in range(operand.shape[1]):
        for number, col in enumerate(range(0, operand.shape[2], step)):
            word = int(table[row, number]) if not (inst.sparse and operand.name in "AK") else 0
            if inst.sparse and operand.name == "A":
                kept, slot = execution.sparsity.kept, operand.placement.slot_bits
                low = 2 if (slot, execution.formats["A"].bits) == (8, 4) else 0
                word = sum(int(table[row, number * kept + at]) << (slot * at + low) for at in range(kept))
            if operand.name == "K":  # two 2-bit indices; of tf32 0b0100 or 0b1110 (PTX ISA, sparsity of tcgen05)
                entries = execution.sparsity.entries
                pair = [int(index) for index in table[row, number * entries : (number + 1) * entries]]
                word = pair[0] | pair[1] << 2 if entries == 2 else (0b0100, 0b1110)[pair[0]]
            for place in operand.locate(**{first: row, second: col}):
                file[128 * place.cta + place.lane, place.column] |= np.uint32(word << place.lsb & 0xFFFFFFFF)
    return file


def shapes():
    """(instruction, M) of a few kinds with everything that changes where elements are."""
    for name in entry("sm_100a").tensor_memory_names:
        if ".mma" in name and any(
            kind in name for kind in ("::f16", "sp.cta_group::1.kind::tf32", "::f8f6f4", "nvf4.block_scale.block16")
        ):
            inst = mmacalc.instruction("sm_100a", name)
            types = {"a": "e2m1", "d": "f16"} if inst.kind == "f8f6f4" else {}
            rows, columns = allowed_shapes(inst.form)
            yield from (inst.shaped(m=m, n=columns[0], **types) for m in rows)


@sampled("step", [3, 1], 1)
def test_tensor_memory_goes_in_and_comes_out_as_multiply_has_it(step):
    compared = 0
    for number, inst in [*enumerate(shapes())][::step]:
        execution = execution_of(inst, None, {}, False, False)
        values = encoded(execution, random(execution, number))
        given = {name: values[name.lower()] for name in "ABC"}
        given |= extras(execution, None, values.get("scale_a"), values.get("scale_b"))
        given = prepared(execution, given)
        more = {NAMES[name]: given[name] for name in NAMES if name in given}
        wanted = inst.multiply_bits(given["A"], given["B"], given["C"], **more)
        if inst.sparse and not inst.form.ws and inst.m // inst.form.cta_group < 128:
            continue  # only a figure says where its metadata is
        files = {name: cells(inst.operand(name), given[name], execution) for name in given if name != "B"}
        more = {NAMES[name]: files[name] for name in NAMES if name in files}
        a = files["A"] if number % 2 else given["A"]  # from Tensor Memory or from shared memory
        found = inst.execute(a, given["B"], files["C"], **more)
        np.testing.assert_array_equal(found, cells(inst.operand("D"), wanted, execution), err_msg=inst.name)
        compared += 1
    assert compared > 25 // step


def test_fields_of_addresses_choose_the_cells():
    inst = mma("f16").shaped(m=64, n=8)
    a, b = np.full((64, 16), 0x3C00, np.uint16), np.full((16, 8), 0x3C00, np.uint16)
    low, high = inst.execute(a, b), inst.execute(a, b, half=1)
    assert (low[16:32].any(), low[:16].all(), high[:16].any(), high[16:32].all()) == (False, True, False, True)
    kept = inst.execute(a, b, np.full((128, 8), 7, np.uint32), half=1)
    assert (kept[:16] == 7).all()
    with pytest.raises(mmacalc.Error, match=r"\(128, 16\); in Tensor Memory it is \(..., 128, 8\): 128 lanes of 8"):
        inst.execute(a, b, np.zeros((128, 16), np.uint32))
    with pytest.raises(mmacalc.Error, match="unknown modifier 'hlaf'"):
        inst.execute(a, b, hlaf=1)
