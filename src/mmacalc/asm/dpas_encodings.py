"""The encodings of DPAS and DPASW: 16 bytes, on Xe-HP and Xe-HPG in one table, on Xe-HPC in another.

Found by assembling: every field was varied by iga64 1.1.0 (Debian's libigc-tools 1.0.12504.6), which has XeHP, XeHPG
and XeHPC. Xe-HPC has two more bits for the dependence, so that a token can be one of 32 and go with a distance; its
sub-registers count words instead of bytes, since a register is twice as long.
"""

from __future__ import annotations

from ..base.records import TupleRecord
from .fields import Encoding, Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ACCUMULATORS", "DEPTH", "DEPTH_CODE", "GENERATIONS", "OPCODES", "SOURCE_TYPES", "Generation"]

OPCODES = {"dpas": 0x59, "dpasw": 0x5A}
DEPTH, DEPTH_CODE = "8", 3  # the only systolic depth since Xe-HP (IGC's DPAS.md); iga64 also encodes 4 and 2
# Field values of the types: of dst four bits, of src0 the lower three of them.
ACCUMULATORS = {"f": 0b1010, "hf": 0b1001, "bf": 0b1101, "d": 0b0110, "ud": 0b0010}
# Of src1 and src2 a type and a width: 8 bits, 4 bits, 2 bits. bf8 is told from u8 by dst.
SOURCE_TYPES = {
    "bf": (0b101, 0), "hf": (0b001, 0), "tf32": (0b110, 0), "bf8": (0b000, 0),
    "u8": (0b000, 0), "s8": (0b100, 0), "u4": (0b000, 1), "s4": (0b100, 1), "u2": (0b000, 2), "s2": (0b100, 2),
}  # fmt: skip

_SWSB = "what to wait for: a distance in instructions (@), a token ($)"
_OPERANDS = (
    ("ATOMIC", "32", "{Atomic}: the next instruction is of the same macro"),
    ("RESERVED", "35:33", "must be 0"),
    ("DST_TYPE", "39:36", "the type of D"),
    ("SRC0_TYPE", "42:40", "the type of C"),
    ("RCOUNT", "45:43", "repeat count - 1"),
    ("RESERVED1", "47:46", "must be 0"),
    ("SDEPTH", "49:48", "systolic depth: 1 is 2, 2 is 4, 3 is 8"),
    ("DST_FILE", "50", "D is in general registers", 1),
    ("DST_SUBREG", "55:51", "must be 0: D begins with a register"),
    ("DST", "63:56", "D: the first register"),
    ("RESERVED2", "65:64", "must be 0"),
    ("SRC0_FILE", "66", "C is in general registers; 0: null, C is zero"),
    ("SRC0_SUBREG", "71:67", "must be 0: C begins with a register"),
    ("SRC0", "79:72", "C: the first register"),
    ("SRC2_TYPE", "82:80", "the type of A"),
    ("RESERVED3", "83", "must be 0"),
    ("SRC2_BITS", "85:84", "A has 1: 4 bits, 2: 2 bits; 0: as its type"),
    ("SRC1_BITS", "87:86", "B has 1: 4 bits, 2: 2 bits; 0: as its type"),
    ("SRC1_TYPE", "90:88", "the type of B"),
    ("RESERVED4", "97:91", "must be 0"),
    ("SRC1_FILE", "98", "B is in general registers", 1),
    ("SRC1_SUBREG", "103:99", "must be 0: B begins with a register"),
    ("SRC1", "111:104", "B: the first register"),
    ("RESERVED5", "113:112", "must be 0"),
    ("SRC2_FILE", "114", "A is in general registers", 1),
)  # fmt: skip

_XE_HP = (
    ("OPCODE", "6:0", "dpas or dpasw"),
    ("DEBUG", "7", "breakpoint"),
    ("SWSB", "15:8", _SWSB),
    ("EXEC_SIZE", "18:16", "log2 of the execution size"),
    ("CHANNEL_OFFSET", "21:19", "first channel of the mask / 4"),
    ("PREDICATE", "30:22", "must be 0: DPAS has no predicate"),
    ("NO_MASK", "31", "(W): all channels, not only those of the mask"),
    *_OPERANDS,
    ("SRC2_SUBREG", "119:115", "A: the first byte in its register"),
    ("SRC2", "127:120", "A: the first register"),
)
_XE_HPC = (
    ("OPCODE", "6:0", "dpas or dpasw"),
    ("DEBUG", "7", "breakpoint"),
    ("SWSB", "17:8", _SWSB),
    ("EXEC_SIZE", "20:18", "log2 of the execution size"),
    ("PREDICATE", "30:26,23:21", "must be 0: DPAS has no predicate"),
    ("CHANNEL_OFFSET", "25:24", "first channel of the mask / 8"),
    ("NO_MASK", "31", "(W): all channels, not only those of the mask"),
    *_OPERANDS,
    ("SRC2_SUBREG", "119:115", "A: the first word of 16 bits in its register"),
    ("SRC2", "127:120", "A: the first register"),
)  # fmt: skip


class Generation(TupleRecord):
    """What differs between the generations.

    encoding: the fields. mnemonics, sources: those that iga64 takes. offset: the channels that CHANNEL_OFFSET counts.
    subregister: the bytes that SRC2_SUBREG counts, of register_bytes. tokens: how many there are. pipes: the base of
    the dependence on a distance, by the letter of the pipe. both: the base of a token of each kind with a distance,
    and the lowest bit of that distance.
    """

    encoding: Encoding
    mnemonics: tuple[str, ...]
    sources: tuple[str, ...]
    offset: int
    subregister: int
    register_bytes: int
    tokens: int
    pipes: Mapping[str, int]
    waits: Mapping[str, int]
    both: Mapping[str, int]
    shift: int


def _encoding(name: str, rows: tuple[tuple[object, ...], ...]) -> Encoding:
    return Encoding(name, "iga64 1.1.0, field by field", [Field(*row) for row in rows])  # type: ignore[arg-type]


_COMMON_PIPES = {"": 0, "A": 0x08, "F": 0x10, "I": 0x18}
GENERATIONS = {
    "xe-hp": Generation(
        _encoding("Xe-HP DPAS", _XE_HP), ("dpas", "dpasw"), ("bf", "hf"), 4, 1, 32, 16, {**_COMMON_PIPES, "L": 0x50},
        {"": 0x40, ".dst": 0x20, ".src": 0x30}, {"": 0x80}, 4,
    ),
    "xe-hpc": Generation(
        _encoding("Xe-HPC DPAS", _XE_HPC), ("dpas",), ("bf", "hf", "tf32", "bf8"), 8, 2, 64, 32,
        {**_COMMON_PIPES, "L": 0x20, "M": 0x28},
        {"": 0xC0, ".dst": 0x80, ".src": 0xA0}, {"": 0x100, ".src": 0x200, ".dst": 0x300}, 5,
    ),
}  # fmt: skip
