"""The registers of a batch of waves, and the group of them that is running.

Vector registers are uint32 arrays (register, wave, lane), scalar ones (register, wave). All waves of a batch that are
at the same instruction run together, as a `Group`; its methods are what operations read and write by.
"""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType

import numpy as np

from ...asm.high_registers import MODE_HIGH
from ..device.undefined import RegisterShadow, unpacked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...asm.decoded import RegisterOperand
    from ...base.arrays import Array
    from ..device.undefined import Rows
    from .batch import Batch
    from .undefined import Undefined

__all__ = [
    "CLAMPS_NAN",
    "FP16_OVERFLOW",
    "GPR_INDEX",
    "Group",
    "ROWS",
    "Registers",
    "VGPR_HIGH",
    "VSKIP",
    "mode_register",
    "packed",
    "register_name",
]

# Where the registers of each file begin among the scalar registers of a wave.
ROWS = {
    "s": 0, "vcc": 106, "ttmp": 108, "m0": 124, "exec": 126, "flat_scratch": 128, "xnack_mask": 130, "scc": 132,
    "flat_scratch_base": 134, "shared_base": 136, "shared_limit": 138, "private_base": 140, "private_limit": 142,
    "pops_exiting_wave_id": 144, "vccz": 146, "execz": 147,
}  # fmt: skip
VCC, M0, EXEC, SCC = ROWS["vcc"], ROWS["m0"], ROWS["exec"], ROWS["scc"]
SCALAR_ROWS = 148
# Numbers of registers of any file, for sets of them: vector registers are 0 to 1023.
ACCUMULATORS, SCALARS = 1024, 2048


GPR_INDEX = 1 << 27
"""The bit of MODE that lets M0 choose registers (gfx9)."""
DX10_CLAMP, IEEE = 1 << 8, 1 << 9
"""Of MODE, before gfx12: CLAMP makes 0 of NaN (gfx12 always does); IEEE, in which OMOD is ignored."""
VSKIP = 1 << 28
"""The bit of MODE that skips vector instructions (gfx9)."""
CLAMPS_NAN = 1 << 40
"""Above the 32 bits of MODE: whether CLAMP makes 0 of NaN without DX10_CLAMP."""
VGPR_HIGH = 32
"""Above the 32 bits of MODE: those of S_SET_VGPR_MSB (gfx1250), in its order."""
FP16_OVERFLOW = 1 << 23
"""FP16_OVFL of MODE: conversions to 8-bit floats that overflow give the largest number."""


class Mode:
    """How floats are computed: rounding of f32, and of f16 and f64 (0: nearest even, 1: up, 2: down, 3: to zero),
    subnormal f32, and f16 and f64, as zero (on reading, on writing), whether CLAMP makes 0 of NaN, IEEE, and whether
    vector instructions are skipped. Of the kernel descriptor, or set by s_setreg, s_round_mode, s_denorm_mode. usual:
    whether all rounding is to nearest even, and subnormal numbers are kept."""

    __slots__ = ("bits", "clamps_nan", "clamps_overflow", "flush", "high_bits", "ieee", "rounding", "skips", "usual")
    bits: int
    high_bits: int
    clamps_nan: bool
    clamps_overflow: bool
    ieee: bool
    skips: bool
    usual: bool
    flush: dict[str, tuple[bool, bool]]
    rounding: dict[str, int]

    def __init__(self, bits: int) -> None:
        self.bits, self.clamps_overflow, self.high_bits = bits, bool(bits & FP16_OVERFLOW), bits >> VGPR_HIGH & 0xFF
        self.clamps_nan, self.ieee = bool(bits & (DX10_CLAMP | CLAMPS_NAN)), bool(bits & IEEE)
        self.skips = bool(bits & VSKIP)
        single, double = bits >> 4 & 3, bits >> 6 & 3
        self.rounding = {"f32": bits & 3, "f16": bits >> 2 & 3, "f64": bits >> 2 & 3}
        # 0: both are zero, 1: inputs are kept, 2: outputs are kept, 3: both are.
        flags = [(not field & 1, not field & 2) for field in (single, double)]
        self.flush = {"f32": flags[0], "f16": flags[1], "f64": flags[1]}
        self.usual = bits & 0xFF == 0xF0


def mode_register(bits: int, high: bool) -> int:
    """What the MODE register reads. high: whether it has the highest bits of VGPRs (gfx1250): the destination's before
    those of sources 0, 1 and 2; S_SET_VGPR_MSB has them last (LLVM 22, AMDGPULowerVGPREncoding.cpp).

    >>> hex(mode_register(0x80 << VGPR_HIGH | 0xF0, True)), hex(mode_register(0x41 << VGPR_HIGH | 0xF0, True))
    ('0x20f0', '0x50f0')
    """
    raised = bits >> VGPR_HIGH & 0xFF
    return bits & 0xFFFFFFFF | (raised << 2 & 0xFF | raised >> 6) << MODE_HIGH if high else bits & 0xFFFFFFFF


@lru_cache(maxsize=64)
def mode_of(bits: int) -> Mode:
    """The mode that the MODE register means."""
    return Mode(bits)


def scalar_name(row: int) -> str:
    """The name of a scalar register of a wave.

    >>> scalar_name(7), scalar_name(107), scalar_name(116), scalar_name(132)
    ('s7', 'vcc_hi', 'ttmp8', 'scc')
    """
    file = next(name for name in sorted(ROWS, key=lambda name: -ROWS[name]) if ROWS[name] <= row)
    place = row - ROWS[file]
    return f"{file}{place}" if file in ("s", "ttmp") else file + "_hi" * place


def register_name(number: int) -> str:
    """The name of a register of any file.

    >>> register_name(3), register_name(ACCUMULATORS + 3), register_name(SCALARS + VCC)
    ('v3', 'a3', 'vcc')
    """
    if number >= SCALARS:
        return scalar_name(number - SCALARS)
    return f"v{number}" if number < ACCUMULATORS else f"a{number - ACCUMULATORS}"


def packed(mask: Array) -> Array:
    """The words (words, waves) of a mask (waves, lanes)."""
    return np.packbits(mask, axis=1, bitorder="little").view(np.uint32).T


class Registers(RegisterShadow):
    """The registers of a batch of waves, and which of them are written.

    modes: MODE of each wave; one_mode: whether it is the same in all; indexes: whether one of them has GPR_INDEX.
    """

    indexes: bool
    one_mode: bool

    def __init__(self, waves: int, lanes: int, vectors: int, accumulators: int, mode: int) -> None:
        super().__init__(waves, lanes, SCALARS)
        self.v: Array = np.zeros((vectors, waves, lanes), np.uint32)
        self.a: Array = np.zeros((accumulators, waves, lanes), np.uint32)
        self.s: Array = np.zeros((SCALAR_ROWS, waves), np.uint32)
        self.pc: Array = np.zeros(waves, np.int64)
        self.modes: Array = np.full(waves, mode, np.int64)
        self.one_mode, self.indexes = True, False

    def file(self, operand: RegisterOperand) -> Array:
        """The file of a vector operand (register, wave, lane): a, the accumulators, or v."""
        return self.a if operand.file == "a" else self.v


class Group:
    """The waves that run together: rows of the batch, all at one instruction, with one MODE.

    rows: which waves of the batch. count: how many. mask: EXEC (count, lanes), None where every lane is active. leaves:
    what the instruction that runs leaves undefined.
    """

    a: Array
    batch: Batch
    count: int
    lanes: int
    mode: Mode
    registers: Registers
    s: Array
    v: Array

    __slots__ = ("_numbers", "a", "batch", "count", "lanes", "leaves", "mask", "mode", "registers", "rows", "s", "v")
    mask: Array | None
    leaves: Undefined | None

    def __init__(self, registers: Registers, batch: Batch, rows: Array) -> None:
        self.registers, self.batch, self.lanes = registers, batch, registers.lanes
        self.v, self.a, self.s = registers.v, registers.a, registers.s
        self.mode = mode_of(int(registers.modes[rows[0]]))
        self.count, self.leaves, self._numbers = len(rows), None, rows
        first = int(rows[0])
        contiguous = int(rows[-1]) - first + 1 == self.count
        self.rows: Rows = slice(first, first + self.count) if contiguous else rows
        self.refresh()

    def refresh(self) -> None:
        """Read EXEC again."""
        self.set_mask(self.s[EXEC : EXEC + self.lanes // 32, self.rows])

    def set_mask(self, words: Array) -> None:
        """The mask of EXEC's words: (words, count)."""
        self.mask = None if (words == 0xFFFFFFFF).all() else unpacked(words, self.lanes)

    @property
    def active(self) -> Array:
        """EXEC (count, lanes)."""
        return np.ones((self.count, self.lanes), np.bool_) if self.mask is None else self.mask

    def set_mode(self, bits: int | Array) -> None:
        """Write MODE; if not all waves have the same, the group may run no other instruction."""
        registers = self.registers
        registers.modes[self.rows] = bits
        registers.one_mode = bool((registers.modes == registers.modes[0]).all())
        registers.indexes = bool((registers.modes & GPR_INDEX).any())
        self.mode = mode_of(int(registers.modes[self.rows][0]))

    def numbers(self) -> Array:
        """The waves' numbers in the batch; not to be changed."""
        return self._numbers

    def write(self, file: Array, register: int, value: Array) -> None:
        """Write a vector register in the active lanes."""
        if self.mask is None:
            file[register, self.rows] = value
        elif isinstance(self.rows, slice):
            np.copyto(file[register, self.rows], value, where=self.mask)
        else:
            file[register, self.rows] = np.where(self.mask, value, file[register, self.rows])

    def write_scalar(self, row: int, value: Array) -> None:
        """Write a scalar register: a number, or one for each wave (count,) or (count, 1)."""
        self.s[row, self.rows] = value[:, 0] if value.ndim == 2 else value
        if row in (EXEC, EXEC + 1):
            self.refresh()

    # --- registers that have not been written ---

    def tainted(
        self, numbers: frozenset[int], bits: int = 0xFFFFFFFF, lane_masks: Mapping[int, int] = MappingProxyType({})
    ) -> tuple[Array | None, tuple[int, ...]]:
        """Where one of some registers is undefined in an active lane: (count, lanes) or (count, 1); None if nowhere.

        And which registers those are. bits: those of each register that are looked at. lane_masks: the words of masks
        of lanes, each with its number: a bit of such a register counts for its lane.
        """
        return self.registers.tainted(numbers, self.rows, self.count, self.mask, bits, lane_masks)

    def decided(self, numbers: frozenset[int]) -> Array:
        """In which waves a defined bit of some scalar registers is one: (count, 1)."""
        found = np.zeros((self.count, 1), np.bool_)
        for number in numbers:
            value = self.s[number - SCALARS, self.rows][:, None]
            if number not in self.registers.clean:
                where = self.registers.undefined.get(number)
                value = value & (np.uint32(0) if where is None else ~where[self.rows])
            found |= value != 0
        return found

    def undefined(self, number: int) -> Array:
        """The undefined bits of a register: (count, lanes) or (count, 1)."""
        return self.registers.undefined_of(number, self.rows, self.count)

    def mask_word(self, lanes: Array, mask: Array | None, word: int) -> Array:
        """A word (count, 1) of the mask of some lanes (count, lanes or 1) under an EXEC."""
        whole = np.broadcast_to(lanes, (self.count, self.lanes))
        found: Array = packed(whole if mask is None else whole & mask)[word][:, None]
        return found

    def settle(self, numbers: frozenset[int], taint: Array | None) -> None:
        """Note that registers were written, with undefined values where `taint` is true, or undefined bits (uint32)."""
        self.registers.settle(numbers, taint, self.rows, self.mask)
