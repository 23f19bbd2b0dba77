"""`execute` is `multiply_bits` through the layouts, for every instruction and modifier of the catalog.

The registers are filled and read here from `Operand.table` alone, by code of this file.
"""

from __future__ import annotations

import numpy as np
import pytest

import mmacalc

SCALE_ONE = {"e8m0": 127, "ue4m3": 0x38, "ue5m3": 0x78}


def bit_addresses(inst, operand):
    """The lane and first bit of every stored element, copies last, from the operand's table."""
    table = operand.table()
    if table.ndim == len([size for size in operand.shape if size > 1 or operand.axes.index("block") != 0]) or True:
        wanted = len(operand.shape) - (operand.axes[0] == "block" and operand.shape[0] == 1)
        table = table if table.ndim > wanted else table[..., None]
    bit, lane = table["register"].astype(int) * 32 + table["lsb"], table["lane"]
    sizes = operand.layout.sizes
    if operand.name in ("SA", "SB"):
        step = sizes["p"]
        rows, columns = (1, step) if operand.name == "SA" else (step, 1)
        return lane[::rows, ::columns], bit[::rows, ::columns]
    if inst.sparse and operand.name in "AK":
        period, width = sizes["p"], operand.placement.slot_bits
        slots = sizes["s"]
        bit = np.stack([bit[..., ::period, :] + s * width for s in range(slots)], axis=-2)
        lane = np.stack([lane[..., ::period, :]] * slots, axis=-2)
        bit, lane = (x.reshape(*x.shape[:-3], -1, x.shape[-1]) for x in (bit, lane))
    if operand.name == "A" and inst.sparse and operand.format.bits == 4 and operand.placement.slot_bits == 8:
        bit = bit + 2
    return lane, bit


def put(inst, operand, codes, background):
    """A register file with the codes in their places and `background` elsewhere."""
    bits = np.unpackbits(background.view(np.uint8).reshape(operand.registers, -1, 4), axis=-1, bitorder="little")
    bits = bits.transpose(1, 0, 2).reshape(operand.lanes, -1)
    lane, bit = bit_addresses(inst, operand)
    for position in range(operand.format.bits):
        bits[lane, bit + position] = (codes >> codes.dtype.type(position) & codes.dtype.type(1))[..., None]
    packed = np.packbits(bits.reshape(operand.lanes, operand.registers, 32), axis=-1, bitorder="little")
    return np.ascontiguousarray(packed).view(np.uint32)[..., 0].T.copy()


def get(inst, operand, file):
    """The codes that a register file holds, and the file with those bits cleared."""
    raw = np.ascontiguousarray(file.T).view(np.uint8)
    bits = np.unpackbits(raw, axis=-1, bitorder="little")
    lane, bit = bit_addresses(inst, operand)
    codes = np.zeros(lane.shape[:-1], np.uint64)
    for position in range(operand.format.bits):
        codes |= bits[lane[..., 0], bit[..., 0] + position].astype(np.uint64) << np.uint64(position)
        bits[lane, bit + position] = 0
    return codes, np.packbits(bits, axis=-1, bitorder="little")


def settings(inst, wave):
    """Modifiers to try: each value of each one, CBSZ with every ABID, and a few combinations."""
    limits = inst.modifier_limits(wave)
    found = [{}]
    found += [{name: value} for name, values in limits.items() for value in values if value and name != "abid"]
    if "cbsz" in limits and "abid" in limits:
        for cbsz in limits["cbsz"]:
            found += [{"cbsz": cbsz, "abid": abid} for abid in inst.modifier_limits(wave, cbsz)["abid"]]
    rng = np.random.default_rng(len(inst.name))
    others = {name: values for name, values in limits.items() if name != "abid"}
    found += [{name: int(rng.choice(values)) for name, values in others.items()} for _ in range(3 if others else 0)]
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
        files[given[name]] = put(inst, operand, array, background[name])
    before = {name: file.copy() for name, file in files.items()}
    target = inst.operand("D", wave=wave, **fields)
    old = rng.integers(0, 1 << 32, (target.registers, target.lanes), dtype=np.uint32)
    result = inst.execute(**files, d=old, wave=wave, **fields)
    found, rest = get(inst, target, result)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(rest, get(inst, target, old)[1])
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
            few = "wgmma" not in inst.features or inst.n in (8, 24, 256)
            if few and "move" not in inst.features:
                found.setdefault(inst.name, inst)
    return list(found.values())


@pytest.mark.parametrize(("inst", "wave"), amd())
def test_execute_is_multiply_through_the_layouts_for_every_amd_instruction_and_modifier(inst, wave):
    rng = np.random.default_rng(1)
    for fields in settings(inst, wave):
        check(inst, wave, fields, rng)


def test_execute_is_multiply_through_the_layouts_for_every_nvidia_instruction_and_selector():
    rng = np.random.default_rng(2)
    instructions = nvidia()
    assert len(instructions) > 500
    for inst in instructions:
        for fields in settings(inst, 32):
            check(inst, 32, fields, rng)
