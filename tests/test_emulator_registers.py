"""`execute` is `multiply_bits` through the layouts, for every instruction and modifier of the catalog.

The registers are filled and read here from `Operand.table` alone, by code of this file.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import mmacalc
from samples import sampled

SCALE_ONE = {"e8m0": 127, "ue4m3": 0x38, "ue5m3": 0x78}


@cache
def bit_addresses(operand):
    """The lane and first bit of every stored element, copies last, from the operand's table."""
    table, inst = operand.table(), operand.instruction
    axes = len(operand.shape) - (operand.axes[0] == "block" and operand.shape[0] == 1)
    table = table if table.ndim > axes else table[..., None]
    bit, lane = table["register"].astype(int) * 32 + table["lsb"], table["lane"]
    sizes = operand.layout.sizes
    if operand.name in ("SA", "SB"):
        rows, columns = (1, sizes["p"]) if operand.name == "SA" else (sizes["p"], 1)
        return lane[::rows, ::columns], bit[::rows, ::columns]
    if inst.sparse and operand.name in "AK":
        period, width, slots = sizes["p"], operand.placement.slot_bits, sizes["s"]
        bit = np.stack([bit[..., ::period, :] + s * width for s in range(slots)], axis=-2)
        lane = np.stack([lane[..., ::period, :]] * slots, axis=-2)
        bit, lane = (x.reshape(*x.shape[:-3], -1, x.shape[-1]) for x in (bit, lane))
    if operand.name == "A" and inst.sparse and operand.format.bits == 4 and operand.placement.slot_bits == 8:
        bit = bit + 2  # e2m1 in bits 5 to 2 of its byte
    return lane, bit


def cells(operand, file):
    """A register file as (lanes, cells): of an element's width where that is whole bytes, else of single bits."""
    bytes_ = np.ascontiguousarray(file.T).view(np.uint8)
    bits = operand.format.bits
    if bits % 8 == 0 and (bit_addresses(operand)[1] % bits == 0).all():
        return bytes_.view(f"u{bits // 8}"), bits
    return np.unpackbits(bytes_, axis=-1, bitorder="little"), 1


def put(operand, codes, background):
    """A register file with the codes in their places and `background` elsewhere."""
    found, width = cells(operand, background)
    lane, bit = bit_addresses(operand)
    if width > 1:
        found[lane, bit // width] = codes[..., None]
        return np.ascontiguousarray(found.view(np.uint32).T)
    for position in range(operand.format.bits):
        found[lane, bit + position] = (codes >> codes.dtype.type(position) & codes.dtype.type(1))[..., None]
    return np.ascontiguousarray(np.packbits(found, axis=-1, bitorder="little").view(np.uint32).T)


def get(operand, file):
    """The codes that a register file holds, and the file with those bits cleared."""
    found, width = cells(operand, file)
    lane, bit = bit_addresses(operand)
    codes = np.zeros(lane.shape[:-1], np.uint64)
    for position in range(1 if width > 1 else operand.format.bits):
        part = found[lane[..., 0], bit[..., 0] // width + position]
        codes |= part.astype(np.uint64) << np.uint64(position)
        found[lane, bit // width + position] = 0
    return codes, found


def settings(inst, wave):
    """Modifiers to try: each value of each one, CBSZ with every ABID, and a few combinations."""
    limits = inst.modifier_limits(wave)
    found = [{}]
    found += [{name: value} for name, values in limits.items() for value in values if value and name != "abid"]
    if "cbsz" in limits and "abid" in limits:
        for cbsz in limits["cbsz"]:
            abids = inst.modifier_limits(wave, cbsz)["abid"]
            if inst.sparse and (inst.index_sets(wave) == 1 or cbsz & 3):
                abids = abids[:: len(abids) - 1]  # all 16 are ignored
            found += [{"cbsz": cbsz, "abid": abid} for abid in abids]
    rng = np.random.default_rng(len(inst.name))
    others = {name: values for name, values in limits.items() if name != "abid"}
    found += [{name: int(rng.choice(values)) for name, values in others.items()} for _ in range(2 if others else 0)]
    return found


def random_codes(rng, inst, name, shape, fields):
    form = inst.format(name, fields)
    codes = rng.integers(0, 1 << form.bits, shape, dtype=np.uint64, endpoint=False)
    if name in ("SA", "SB"):
        codes = SCALE_ONE[form.name] + rng.integers(-3, 4, shape)
    return codes.astype(f"u{max(8, form.bits) // 8}")


def matrices(rng, inst, fields):
    """Random codes for every operand, in `multiply_bits`'s shapes."""
    lead = (inst.blocks,) if inst.blocks > 1 else ()
    sizes = inst.operand("A", **inst_formats(inst, fields)).layout.sizes
    shapes = {"A": (inst.m, inst.k), "B": (inst.k, inst.n), "C": (inst.m, inst.n)}
    if inst.sparse:
        groups = inst.k // sizes["p"]
        shapes["A"] = (inst.m, groups * sizes["s"])
    codes = {name: random_codes(rng, inst, name, lead + shape, fields) for name, shape in shapes.items()}
    if inst.sparse:
        pairs = np.array([(i, j) for i in range(4) for j in range(i + 1, 4)], np.uint8)
        codes["K"] = pairs[rng.integers(0, 6, (inst.m, groups))].reshape(inst.m, -1)
        if sizes["p"] == 2:
            codes["K"] = rng.integers(0, 2, (inst.m, groups), dtype=np.uint8)
    for name in ("SA", "SB") if "SA" in inst.operands else ():
        blocks = inst.k // inst.operand(name).layout.sizes["p"]
        shape = (inst.m, blocks) if name == "SA" else (blocks, inst.n)
        codes[name] = random_codes(rng, inst, name, shape, fields)
    return codes


def inst_formats(inst, fields):
    return {name: value for name, value in fields.items() if name in inst.choices}


def natural(inst, fields):
    """The fields that say where data lies, without those that move it between lanes when it is read."""
    return {f: v for f, v in fields.items() if f not in ("cbsz", "abid", "blgp") or inst.choices or inst.sparse}


def check(inst, wave, fields, rng):
    codes = matrices(rng, inst, fields)
    given = {"A": "a", "B": "b", "C": "c", "K": "index", "SA": "scale_a", "SB": "scale_b"}
    expected = inst.multiply_bits(**{given[name]: array for name, array in codes.items()}, wave=wave, **fields)
    files, background = {}, {}
    for name, array in codes.items():
        if name == "B" and "wgmma" in inst.features:
            files["b"] = array
            continue
        operand = inst.operand("D" if name not in inst.operands else name, wave=wave, **natural(inst, fields))
        shape = (operand.registers, operand.lanes)
        background[name] = rng.integers(0, 1 << 32, shape, dtype=np.uint32)
        if name == "K" and operand.layout.sizes["p"] == 2:
            array = np.array([[0, 1], [2, 3]], np.uint8)[array].reshape(inst.m, -1)  # 0b0100 and 0b1110
        files[given[name]] = put(operand, array, background[name])
    before = {name: file.copy() for name, file in files.items()}
    target = inst.operand("D", wave=wave, **fields)
    old = rng.integers(0, 1 << 32, (target.registers, target.lanes), dtype=np.uint32)
    result = inst.execute(**files, d=old, wave=wave, **fields)
    found, rest = get(target, result)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(rest, get(target, old)[1])
    for name, file in files.items():
        np.testing.assert_array_equal(file, before[name])


def amd():
    return [
        pytest.param(inst, wave, id=f"{arch}-{inst.name}-{wave}")
        for arch in ("cdna1", "cdna2", "cdna3", "cdna4", "gfx1251", "rdna3", "rdna4")
        for inst in mmacalc.instructions(arch)
        for wave in inst.architecture.waves
    ]


def nvidia():
    """Every instruction that computes, on the first target that has it; of wgmma, some N."""
    found = {}
    for arch in ("sm_70", "sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"):
        for inst in mmacalc.instructions(arch):
            few = "wgmma" not in inst.features or inst.n in (8, 24) or (inst.n == 256 and inst.k == 16)
            if few and "A" in inst.register_operands and inst.flops:
                found.setdefault(inst.name, inst)
    return list(found.values())


@sampled(("inst", "wave"), amd(), 25, whole=60)
def test_execute_is_multiply_through_the_layouts_for_every_amd_instruction_and_modifier(inst, wave):
    rng = np.random.default_rng(1)
    for fields in settings(inst, wave):
        check(inst, wave, fields, rng)


@sampled("step", [10, 3, 1], 1, whole=1)
def test_execute_is_multiply_through_the_layouts_for_every_nvidia_instruction_and_selector(step):
    """All selectors for one instruction of each layout; one of them, at random, for those that lie the same."""
    rng, seen = np.random.default_rng(2), set()
    instructions = nvidia()
    assert len(instructions) > 480
    for inst in instructions[::step]:
        widths = (inst.format("A").bits, inst.format("B").bits)
        alike = (inst.m, inst.k, widths, inst.features, inst.kind, inst.scale_vec)
        chosen = settings(inst, 32)
        for fields in [chosen[rng.integers(len(chosen))]] if alike in seen else chosen:
            check(inst, 32, fields, rng)
        seen.add(alike)


def test_wmma_multiplies_matrices_of_every_type():
    for inst in mmacalc.instructions("sm_80"):
        if "wmma" in inst.features and "move" not in inst.features:
            d = inst.multiply_bits(*(np.zeros(shape, np.uint8) for shape in ((inst.m, inst.k), (inst.k, inst.n))))
            assert d.shape == (inst.m, inst.n)


def test_instructions_that_only_move_a_matrix_are_refused():
    for inst in mmacalc.instructions("sm_90a"):
        if "move" in inst.features:
            with pytest.raises(mmacalc.Error, match="computes nothing"):
                inst.multiply(0, 0)


EVERY_FAMILY = ("gfx908", "gfx942", "gfx950", "gfx1100", "gfx1200", "gfx1250", "sm_70", "sm_80", "sm_90a", "sm_120a")


@sampled("arch", EVERY_FAMILY, 5)
def test_an_executor_on_many_waves_is_execute_on_each(arch):
    rng, tried = np.random.default_rng(4), set()
    for inst in mmacalc.instructions(arch):
        if not {"A", "B"} <= set(inst.operands) or inst.in_tensor_memory:
            continue
        kinds = inst.features, inst.format("A").name, inst.format("D").name, inst.m
        if kinds in tried:
            continue
        tried.add(kinds)
        fields = settings(inst, None)[-1]
        run = inst.executor(**fields)
        names = {"A": "a", "B": "b", "C": "c", "K": "index", "SA": "scale_a", "SB": "scale_b"}
        shapes = {"C": run.shapes["D"], **run.shapes}
        files = {
            word: rng.integers(0, 1 << 32, (3, *shapes[name]), np.uint32)
            for name, word in names.items()
            if name in shapes and (name in inst.operands or name == "C")
        }
        if "b" not in files:  # wgmma's is in shared memory
            files["b"] = rng.integers(0, 256, (3, inst.k, inst.n), np.uint8).astype(
                f"u{inst.format('B').bits // 8 or 1}"
            )
            files["b"] &= files["b"].dtype.type((1 << inst.format("B").bits) - 1)
        d = rng.integers(0, 1 << 32, (3, *shapes["D"]), np.uint32)
        strided = {word: np.repeat(file, 2, 0)[::2] for word, file in files.items()}
        found = run(**strided, d=d)
        for at in range(3):
            one = inst.execute(**{word: file[at] for word, file in files.items()}, d=d[at], **fields)
            assert np.array_equal(found[at], one), (inst.name, fields)
    assert len(tried) >= 3


def test_an_executor_is_prepared_for_its_modifiers_and_refuses_what_does_not_fit():
    inst = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
    with pytest.raises(mmacalc.Error, match="has no CBSZ"):
        inst.executor(cbsz=9)
    run = inst.executor()
    assert run.shapes == {"A": (2, 64), "B": (2, 64), "C": (4, 64), "D": (4, 64)}
    with pytest.raises(mmacalc.Error, match=r"needs \(..., 2, 64\)"):
        run(np.zeros((64, 2), np.uint32), np.zeros((2, 64), np.uint32))
    with pytest.raises(mmacalc.Error, match="registers are uint32"):
        run(np.zeros((2, 64)), np.zeros((2, 64), np.uint32))
