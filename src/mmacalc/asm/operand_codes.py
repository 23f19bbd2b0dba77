"""What the codes of operand fields mean: one table for every kind of field, from code to operand.

Kinds, as the lines of instruction_tables.txt name them, each with a count of registers:

v   a VGPR (eight bits); a   an AccVGPR; b   a VGPR or, where the field ACC is set, an AccVGPR
l, X   as v and x, of the VGPRs 0 to 127
t   half of one of the VGPRs 0 to 127: bit 7 is the half; T, Y   the same as a source of nine bits, Y without scalars
s   a scalar register (seven or eight bits); p   the even SGPR of a pair, halved; q   a tuple's SGPR, divided by four
S   a scalar source: registers, constants, values of the hardware
x   a source of nine bits: those of S, VGPRs from 256 on; y   only the VGPRs; B   the VGPRs, AccVGPRs where ACC is set
w   an SDWA source: a VGPR, or a scalar source from 256 on; d   an SDWA destination: VCC, or a scalar from 128 on

A count such as "1/2" is that of wave32 and that of wave64. Source: as `mmacalc.asm.formats`.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from ..base.records import TupleRecord
from ..formats import named
from .decoded import ConstantOperand, RegisterOperand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from ..formats import Format

    Operand: TypeAlias = RegisterOperand | ConstantOperand

__all__ = [
    "LDS_DIRECT", "OTHER_NAMES", "TRAP", "Literal", "Scalars", "codes", "constant_bits", "constant_code",
    "constant_patterns", "register_text", "registers_of", "scalar_codes", "scalar_registers", "vector_codes",
    "word_sources",
]  # fmt: skip


# --- Inline constants: the numbers that codes of an operand mean, by the format in which they are read ---
#
# Codes 128 to 208 are integers, 240 to 248 floating-point numbers. Source: CDNA4 ISA guide, table 88 (SRC0); RDNA3,
# RDNA4 and CDNA5 ISA guides, "Scalar operands".


ZERO = 128
"""The code of the constant 0."""
INTEGERS = {128 + value if value >= 0 else 192 - value: value for value in range(-16, 65)}
"""The integers that are inline constants, by their codes."""
_FLOAT_CONSTANTS = {240: 0.5, 241: -0.5, 242: 1.0, 243: -1.0, 244: 2.0, 245: -2.0, 246: 4.0, 247: -4.0}
# 1/(2 pi): the codes of each format; bf16's is f32's cut off, not rounded.
_INVERSE_2PI = {"f64": 0x3FC45F306DC9C882, "f32": 0x3E22F983, "f16": 0x3118, "bf16": 0x3E22}
# Of bf16 LLVM prints f32's text, which its own assembler then refuses: the number nearest to it is 0x3e23.
_INVERSE_2PI_TEXTS = {"f64": "0.15915494309189532", "bf16": "0x3e22"}
CONSTANTS = "0 to 64, -1 to -16, 0.5, 1.0, 2.0, 4.0, their negatives, or 1/(2*pi)"


@lru_cache(maxsize=64)
def constant_texts(kind: str) -> dict[int, str]:
    """The inline constants of a format: code to text, which is LLVM's where its assembler takes it.

    >>> constant_texts("f32")[248], constant_texts("bf16")[248], constant_texts("f16")[193]
    ('0.15915494', '0x3e22', '-1')
    """
    texts = {code: str(value) for code, value in INTEGERS.items()}
    texts |= {code: str(value) for code, value in _FLOAT_CONSTANTS.items()}
    return {**texts, 248: _INVERSE_2PI_TEXTS.get(kind, "0.15915494")}


def float_patterns(kind: str) -> dict[int, int]:
    """The bits of the floating point inline constants in a format, by their codes.

    >>> {code: hex(bits) for code, bits in float_patterns("f16").items() if code > 246}
    {247: '0xc400', 248: '0x3118'}
    """
    form = named(kind)
    found = {code: rounded(value, form) for code, value in _FLOAT_CONSTANTS.items()}
    return {**{code: pattern for code, pattern in found.items() if pattern is not None}, 248: _INVERSE_2PI[kind]}


def rounded(value: float, to: Format) -> int | None:
    """The bits of the format's number nearest to `value`; None where it overflows or loses bits to underflow."""
    double: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    if to.bits == 64:
        return double
    sign, exponent, fraction = double >> 63, (double >> 52 & 0x7FF) - 1023 + to.bias, double & (1 << 52) - 1
    if not value:
        return sign << to.bits - 1
    if exponent < 1:  # denormal: only a value that needs no rounding is taken
        whole, shift = fraction + (1 << 52), 52 - to.mantissa + 1 - exponent
        return None if whole & (1 << shift) - 1 else sign << to.bits - 1 | whole >> shift
    shift = 52 - to.mantissa
    half, rest = 1 << shift - 1, fraction & (1 << shift) - 1
    number = (exponent << to.mantissa) + (fraction >> shift)
    number += rest > half or (rest == half and fraction >> shift & 1)
    return None if number >> to.mantissa >= (1 << to.exponent) - 1 else sign << to.bits - 1 | number


# --- The operands of each kind ---


_NEW = tuple.__new__  # of registers and constants, of which hundreds are made at once


class Literal(TupleRecord):
    """What the code of a literal means: `size` bytes that follow the instruction."""

    size: int


_LITERAL, _LITERAL_64 = Literal(4), Literal(8)

_PAIRS = {"vcc", "exec", "flat_scratch", "xnack_mask"}
_CDNA = {102: ("flat_scratch", 0), 103: ("flat_scratch", 1), 104: ("xnack_mask", 0), 105: ("xnack_mask", 1)}
_ALL = {
    106: ("vcc", 0), 107: ("vcc", 1), 126: ("exec", 0), 127: ("exec", 1),
    230: ("flat_scratch_base", 0), 231: ("flat_scratch_base", 1),
    235: ("shared_base", 0), 236: ("shared_limit", 0), 237: ("private_base", 0), 238: ("private_limit", 0),
    239: ("pops_exiting_wave_id", 0), 251: ("vccz", 0), 252: ("execz", 0), 253: ("scc", 0), 254: ("lds_direct", 0),
}  # fmt: skip
TRAP = range(108, 124)
"""The codes of ttmp0 to ttmp15."""
LDS_DIRECT = 254
"""The code of a value that was loaded from LDS."""


class Scalars:
    """The registers of a generation: how many SGPRs, and the codes of the other scalar ones.

    wide_literals: CDNA5 has literals of 64 bits, and 1024 VGPRs, so that a tuple may begin below v256 and end above it.
    """

    m0: int
    named: dict[int, tuple[str, int]]
    null: int
    sgprs: int
    vector_alignment: int
    wide_literals: bool

    __slots__ = ("m0", "named", "null", "sgprs", "vector_alignment", "wide_literals")

    def __init__(self, sgprs: int, m0: int, null: int, vector_alignment: int, wide_literals: bool = False) -> None:
        self.sgprs, self.m0, self.null, self.vector_alignment = sgprs, m0, null, vector_alignment
        self.wide_literals = wide_literals
        self.named = {**(_CDNA if sgprs == 102 else {}), **_ALL}

    def register(self, code: int, count: int) -> RegisterOperand | None:
        """The scalar register of a code below 256; None if there is none of that size."""
        align = min(count, 4) if count != 3 else 4
        if code < self.sgprs or code in TRAP:
            file, codes = ("s", range(self.sgprs)) if code < self.sgprs else ("ttmp", TRAP)
            first, limit = code - codes.start, len(codes)
            first -= first % align
            return _NEW(RegisterOperand, (file, first, count, 0, 32 * count)) if first + count <= limit else None
        if code == self.null:
            return _NEW(RegisterOperand, ("null", 0, count, 0, 32 * count))
        if code == self.m0:
            return _NEW(RegisterOperand, ("m0", 0, 1, 0, 32)) if count == 1 else None
        if code not in self.named or count > 2:
            return None
        file, index = self.named[code]
        if count == 2 and (index or file == "lds_direct"):
            return None
        return _NEW(RegisterOperand, (file, index, count, 0, 32 * count))


@lru_cache(maxsize=64)
def scalar_registers(sgprs: int, m0: int, null: int, vector_alignment: int, wide_literals: bool = False) -> Scalars:
    """`Scalars`, one for all targets that have the same."""
    return Scalars(sgprs, m0, null, vector_alignment, wide_literals)


# family of formats -> how many SGPRs, the codes of m0 and null (which changed places with RDNA3), at which multiples
# tuples of vector registers begin, and whether there are literals of 64 bits and 1024 VGPRs.
_REGISTERS = {
    "cdna1": (102, 124, 125, 1, False), "cdna2": (102, 124, 125, 2, False), "cdna3": (102, 124, 125, 2, False),
    "rdna3": (106, 125, 124, 1, False), "rdna4": (106, 125, 124, 1, False), "cdna5": (106, 125, 124, 2, True),
}  # fmt: skip


def registers_of(family: str, alignment: int | None = None) -> Scalars:
    """The registers of a family; alignment: where its targets differ in that."""
    sgprs, m0, null, usual, wide = _REGISTERS[family]
    return scalar_registers(sgprs, m0, null, usual if alignment is None else alignment, wide)


@lru_cache(maxsize=1024)
def constant_patterns(kind: str) -> tuple[int, dict[int, int]]:
    """The width of the constants of an operand's type, and the pattern of every inline constant by its code.

    >>> width, patterns = constant_patterns("f16")
    >>> width, hex(patterns[242]), hex(patterns[193])
    (16, '0x3c00', '0xffff')
    """
    width, form = _TYPES[kind]
    mask = (1 << width) - 1
    patterns = {code: value & mask for code, value in INTEGERS.items()}
    if kind in ("c16", "cb16"):
        patterns = {code: 0x10001 * (value & 0xFFFF) for code, value in INTEGERS.items()}
    halves = 0x10001 if kind in ("both16", "c16", "cb16") else 1
    return width, {**patterns, **{code: halves * pattern for code, pattern in float_patterns(form).items()}}


# The type of an operand -> the width of its constants, the format of its floating point inline constants. Packed 32-bit
# types have one 32-bit constant for the lower half; LLVM 22.1.8, getInlineImmVal. v2b16 is a pair of f16 that LLVM
# encodes as a literal unless it is a small integer (OPERAND_REG_IMM_NOINLINE_V2FP16); of both16 the constant is in both
# halves (v_pk_fmac_f16 from RDNA3 on: LLVM issue 94116, seen on Navi 31). c16 and cb16 are those of a C of matrix
# instructions: whole numbers too are in both halves (AMD's captures on gfx1100 and gfx1201, ROCm/rocm-systems,
# packed_operand_cases.h).
_TYPES = {
    "i16": (16, "f16"), "f16": (16, "f16"), "bf16": (16, "bf16"),
    "i32": (32, "f32"), "f32": (32, "f32"), "i64": (64, "f64"), "f64": (64, "f64"),
    "c16": (32, "f16"), "cb16": (32, "bf16"),
    "v2b16": (32, "f32"), "both16": (32, "f16"), "v2i16": (32, "f32"), "v2f16": (32, "f16"), "v2bf16": (32, "bf16"),
    "v2i32": (32, "f32"), "v2f32": (32, "f32"),
}  # fmt: skip


_WHOLE_ONLY = ("v2b16", "i16")  # types whose floating point constants LLVM encodes as literals


@lru_cache(maxsize=64)
def _codes_of_patterns(kind: str) -> dict[int, int]:
    patterns = constant_patterns(kind)[1]
    return {pattern: code for code, pattern in reversed(patterns.items()) if code < 240 or kind not in _WHOLE_ONLY}


def constant_code(value: int | float, kind: str) -> int | None:
    """The code of a number as an inline constant of a type; None if it is not one.

    An integer may also be the bits of a floating point constant, as in LLVM's assembler.

    >>> constant_code(1.0, "f32"), constant_code(1, "f32"), constant_code(0x3F800000, "f32"), constant_code(3.0, "f32")
    (242, 129, 242, None)
    """
    pattern = constant_bits(value, kind)
    spelt = "f16" if kind == "i16" and isinstance(value, float) else kind  # 1.0 has a code there, and 0x3c00 has none
    return None if pattern is None else _codes_of_patterns(spelt).get(pattern)


def constant_bits(value: int | float, kind: str) -> int | None:
    """The bits of a number as a constant of a type; None where it does not fit."""
    width = constant_patterns(kind)[0]
    if isinstance(value, float):
        return rounded(value, named(_FLOATS.get(kind, "f32")))
    return value & (1 << width) - 1 if -(1 << width - 1) <= value < 1 << width else None


# The format of a floating point number that is written for an operand of a type.
_FLOATS = {"i16": "f16", "f16": "f16", "bf16": "bf16", "i64": "f64", "f64": "f64", "v2f16": "f16", "both16": "f16",
           "v2bf16": "bf16", "v2b16": "f16"}  # fmt: skip


@lru_cache(maxsize=1024)
def codes(kind: str, count: int, constant: str, scalars: Scalars) -> tuple[Operand | Literal | None, ...]:
    """The operand of every code of a field, of nine bits at most; None where there is none.

    Args:
        kind, count: see the module; ACC has been looked at. constant: the type of constants, "" if there are none,
            with a "!" where the operand takes a literal.
    """
    nothing: tuple[Operand | Literal | None, ...] = (None,) * 256
    if kind in "vlayAXx":
        vgprs = vector_codes("a" if kind in "aA" else "v", count, scalars)
        vgprs = vgprs[:128] + nothing[:128] if kind in "lX" else vgprs
        if kind in "vla":
            return (*vgprs, *nothing)
        return (*(_sources(count, constant, scalars) if kind in "xX" else nothing), *vgprs)
    if kind in "tTY":
        halves = tuple(RegisterOperand("v", code & 127, 1, code >> 7, 16) for code in range(256))
        lower = _sources(count, constant, scalars) if kind == "T" else nothing
        return (*halves, *nothing) if kind == "t" else (*lower, *halves)
    if kind in "wS":
        sources = _sources(count, constant, scalars)
        if kind == "w":
            return (*vector_codes("v", count, scalars), *sources)
        return (*sources[:LDS_DIRECT], _unless_lds(sources[LDS_DIRECT]), sources[LDS_DIRECT + 1], *nothing)
    registers = scalar_codes(count, scalars)
    found = {
        "p": registers[::2], "q": registers[::4], "s": registers[:128], "d": (registers[106],) * 128 + registers[:128],
    }[kind]  # fmt: skip
    return (*found, *[None] * (512 - len(found)))


@lru_cache(maxsize=256)
def vector_codes(file: str, count: int, scalars: Scalars) -> tuple[Operand | Literal | None, ...]:
    """The tuples of vector registers of a file by the number of the first; None where none may begin."""
    step = 1 if count == 1 else scalars.vector_alignment
    last = 255 if scalars.wide_literals else 256 - count
    bits = 32 * count
    return tuple([
        None if first % step or first > last else _NEW(RegisterOperand, (file, first, count, 0, bits))
        for first in range(256)
    ])  # fmt: skip


@lru_cache(maxsize=1024)
def word_sources(
    file: str, count: int, constant: str, words: frozenset[int], scalars: Scalars
) -> tuple[Operand | Literal | None, ...]:
    """The operand of every code of a source of nine bits that takes vector registers of one file, inline constants, and
    of the scalar sources some: their codes. A tuple of more registers may be a scalar source of 32 or 64 bits."""
    found: list[Operand | Literal | None] = [None] * 256
    for code in words:
        found[code] = scalar_codes(min(count, 2), scalars)[code] or scalar_codes(1, scalars)[code]
    for code, pattern in (constant_patterns(constant)[1] if constant else {}).items():
        found[code] = _NEW(ConstantOperand, (pattern, False, max(constant_patterns(constant)[0], 32)))
    return (*found, *vector_codes(file, count, scalars))


@lru_cache(maxsize=256)
def scalar_codes(count: int, scalars: Scalars) -> tuple[RegisterOperand | None, ...]:
    """The scalar register of every code below 256, where there are `count` registers; None where there is none."""
    return tuple([scalars.register(code, count) for code in range(256)])


def _sources(count: int, constant: str, scalars: Scalars) -> tuple[Operand | Literal | None, ...]:
    found: list[Operand | Literal | None] = [*scalar_codes(count, scalars)]
    if constant:
        width, patterns = constant_patterns(constant.rstrip("!"))
        for code, pattern in patterns.items():
            found[code] = _NEW(ConstantOperand, (pattern, False, width))
        if constant.endswith("!"):
            found[255] = _LITERAL
    if scalars.wide_literals:  # the code of lds_direct, which gfx1250 lacks
        found[LDS_DIRECT] = _LITERAL_64 if constant in ("i64!", "f64!") else None
    return tuple(found)


def _unless_lds(operand: Operand | Literal | None) -> Operand | Literal | None:
    """Scalar instructions have no lds_direct; its code may be that of a 64-bit literal."""
    return operand if isinstance(operand, Literal) else None


# Values of the hardware that LLVM's assembler takes without "src_" too.
OTHER_NAMES = {
    f"src_{name}": name for name in (
        "shared_base", "shared_limit", "private_base", "private_limit", "pops_exiting_wave_id", "vccz", "execz", "scc",
        "lds_direct",
    )
}  # fmt: skip


@lru_cache(maxsize=65536)
def register_text(register: RegisterOperand) -> str:
    """A register as LLVM prints it.

    >>> register_text(RegisterOperand("v", 4, 2, 0, 64)), register_text(RegisterOperand("vcc", 0, 1))
    ('v[4:5]', 'vcc_lo')
    >>> register_text(RegisterOperand("v", 4, 1, 1, 16)), register_text(RegisterOperand("shared_base", 0, 2, 0, 64))
    ('v4.h', 'src_shared_base')
    """
    file, index, count, half, bits = register
    if file in ("v", "a", "s", "ttmp"):
        if count > 1:
            return f"{file}[{index}:{index + count - 1}]"
        return f"{file}{index}{'.lh'[0] + 'lh'[half] if bits == 16 else ''}"
    if file in _PAIRS:
        return file if count == 2 else f"{file}_{'hi' if index else 'lo'}"
    if file in ("m0", "null", "off"):
        return file
    if file == "flat_scratch_base":
        return f"src_{file}_{'hi' if index else 'lo'}"
    return f"src_{file}"
