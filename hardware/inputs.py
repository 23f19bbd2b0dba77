"""The inputs of the probe, which probe.cu and check.py both compute: a hash of where each word goes.

An operand's registers are filled with codes of one width. "exact" takes them from a table of eight small values,
so that every sum is exact and only the layout decides; "rounding" takes random bits in a range where many terms
meet; "any" takes random bits. Metadata always comes from its table, since other values are not allowed.
"""

from collections import namedtuple

MODES = ("exact", "rounding", "any")
TRIALS = 3
ORDER = ("A", "B", "C", "K", "SA", "SB")

# format: eight exact codes, and the masks that keep random bits in range (and, then or)
CODES = {
    "f16": ((0, 0x3C00, 0xBC00, 0x4000, 0xC000, 0x4200, 0x3800, 0), 0xBFFF, 0x2000),
    "bf16": ((0, 0x3F80, 0xBF80, 0x4000, 0xC000, 0x4040, 0x3F00, 0), 0xBFFF, 0x3C00),
    "tf32": ((0, 0x3F800000, 0xBF800000, 0x40000000, 0xC0000000, 0x40400000, 0x3F000000, 0), 0xBFFFFFFF, 0x3C000000),
    "f32": ((0, 0x3F800000, 0xBF800000, 0x40000000, 0xC0000000, 0x40400000, 0x3F000000, 0), 0xBFFFFFFF, 0x3C000000),
    "f64": (
        (0, 0x3FF << 52, 0xBFF << 52, 0x400 << 52, 0xC00 << 52, 0x3FE << 52, 0x401 << 52, 0),
        0xBFFFFFFFFFFFFFFF,
        0x3FC0000000000000,
    ),
    "e4m3": ((0, 0x38, 0xB8, 0x40, 0xC0, 0x44, 0x30, 0), 0xBF, 0x00),
    "e5m2": ((0, 0x3C, 0xBC, 0x40, 0xC0, 0x42, 0x38, 0), 0xBF, 0x20),
    "e3m2": ((0, 0x0C, 0x2C, 0x10, 0x30, 0x12, 0x08, 0), 0x3F, 0),
    "e2m3": ((0, 0x08, 0x28, 0x10, 0x30, 0x14, 0x04, 0), 0x3F, 0),
    "e2m1": ((0, 2, 10, 4, 12, 5, 1, 0), 0xF, 0),
    "i32": ((0, 1, 2, 3, 5, 7, 11, 0xFFFFFFFF), 0xFFFFFFFF, 0),
    "i8": ((0, 1, 2, 3, 0xFF, 0xFE, 5, 0), 0xFF, 0),
    "u8": ((0, 1, 2, 3, 4, 5, 6, 7), 0xFF, 0),
    "i4": ((0, 1, 2, 3, 0xF, 0xE, 5, 0), 0xF, 0),
    "u4": ((0, 1, 2, 3, 4, 5, 6, 7), 0xF, 0),
    "b1": ((0, 1, 0, 1, 0, 1, 0, 1), 1, 0),
    "e8m0": ((0x7F, 0x80, 0x7E, 0x7F, 0x81, 0x7F, 0x80, 0x7E), 0x0F, 0x78),
    "ue4m3": ((0x38, 0x40, 0x30, 0x38, 0x44, 0x38, 0x40, 0x30), 0x3F, 0x20),
    "2:4": ((0x4, 0x8, 0x9, 0xC, 0xD, 0xE, 0x4, 0xE), 0, 0),
    "1:2": ((0x4, 0xE, 0x4, 0xE, 0xE, 0x4, 0xE, 0x4), 0, 0),
}


class Fill(namedtuple("Fill", "registers width offset codes keep force full")):
    """How an operand's registers are filled: their number, the slots' width, where a code lies in its slot, the
    exact codes, the masks of "rounding" (and, then or), and the mask of "any". A mask `full` of 0 means that the
    table is used in every mode."""


def fills(inst, name):
    """The Fill of one operand of an mma or wgmma."""
    if name == "K":
        return Fill(1, 4, 0, CODES["1:2" if inst.format("A").bits == 32 else "2:4"][0], 0, 0, 0)
    codes, keep, force = CODES[inst.format(name).name]
    operand = inst.operand(name)
    width, bits = operand.placement.slot_bits, operand.format.bits
    full = (1 << bits) - 1 if name not in ("SA", "SB") else 0
    return Fill(operand.registers, width, 2 if (width, bits) == (8, 4) else 0, codes, keep, force, full)


def names(inst):
    """The operands that the probe fills in registers."""
    return [name for name in ORDER if name in inst.register_operands]


def mix(x):
    """A 32-bit hash (lowbias32)."""
    x &= 0xFFFFFFFF
    x = (x ^ x >> 16) * 0x7FEB352D & 0xFFFFFFFF
    x = (x ^ x >> 15) * 0x846CA68B & 0xFFFFFFFF
    return x ^ x >> 16


def seed(name):
    """FNV-1a of an instruction's name."""
    value = 0x811C9DC5
    for letter in name.encode():
        value = (value ^ letter) * 0x01000193 & 0xFFFFFFFF
    return value


def word(start, trial, operand, register, lane):
    """The random 32 bits behind one register of one lane."""
    return mix(mix(start + 64 * trial + ORDER.index(operand)) + 256 * lane + register)


def value(fill, mode, bits):
    """The 32-bit word (64-bit for 64-bit slots) that random bits become."""
    result = 0
    for slot in range(max(1, 32 // fill.width)):
        part = bits >> (slot * fill.width)
        if mode == "any" and fill.full:
            code = part & fill.full
        elif mode == "exact" or not fill.keep:
            code = fill.codes[part & 7]
        else:
            code = part & fill.keep | fill.force
        result |= code << (slot * fill.width + fill.offset)
    return result
