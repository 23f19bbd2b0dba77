"""Which bits of a result are undefined, where single bits of the sources are.

Compilers build a vector element by element: they select, shift and mask what is partly undefined, and read the whole
when all of it is written; loops with several exits keep masks of lanes that begin undefined. So instructions that move
bits are followed bit by bit. Each is carried out several times with other values in the undefined bits; the bits of the
result that change are undefined. Other arithmetic has an undefined result in the lanes where one bit of a source is
undefined; of a mask of lanes it is the lane's own bit that counts. Numbers that differ in a defined bit are not equal.
Each half of a packed result follows from the halves of the sources that OP_SEL and OP_SEL_HI choose for it, and each
result of a dual instruction from the sources of its own half.
"""

from __future__ import annotations

import re

import numpy as np

from ..device.undefined import ALL_BITS, dependent_bits, unpacked
from .operands import numbers_of, raw_reader
from .operations.packed import PACKED
from .state import ACCUMULATORS, EXEC, SCALARS, SCC, register_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from ..device.findings import Reporter
    from .memory import Access, ActiveLanes
    from .operands import Data
    from .program import Program, Step
    from .state import Group, Registers

    Half = tuple[tuple[int, int], tuple[tuple[int, int], ...]]

__all__ = ["Undefined", "Uninitialised", "is_equality", "lane_words", "moves_bits", "packed_halves", "read_bits"]

_EXEC = frozenset([SCALARS + EXEC, SCALARS + EXEC + 1])
_MOVES = (
    "mov_b", "cndmask_b", "cselect_b", "cmov", "and_b", "andn", "and_n", "or_b", "orn", "or_n", "nand_b", "nor_b",
    "xor_b", "xnor_b", "not_b", "wqm_b", "and_saveexec", "or_saveexec", "xor_saveexec", "nand_saveexec", "nor_saveexec",
    "xnor_saveexec", "bfi_b", "bfe_", "bfm_", "brev_", "bfrev_", "bitset", "bitcmp", "lshl", "lshr", "ashr", "sext_i32",
    "perm_b", "alignbit", "alignbyte", "pack_", "and_or", "or3", "xor3", "bitop3", "bitop2", "accvgpr", "readlane",
    "readfirstlane", "writelane",
)  # fmt: skip
_PREFIXES = tuple(f"{unit}{move}" for unit in ("v_", "s_", "v_dual_") for move in _MOVES)
# Conversions of packed elements, each by itself, to formats that have a code for NaN.
_ELEMENTS = re.compile(r"v_cvt_scale(?:f32)?_pk\d*_(fp8|bf8|f16|bf16|f32)_")
_WIDTHS = {"fp8": 8, "bf8": 8, "f16": 16, "bf16": 16, "f32": 32}
_EQUALITY = re.compile("[sv]_cmp_(eq|lg|ne)_[ui](32|64)")
_HALVES = ("_f16", "_u16", "_i16", "_b16")
_WHOLE = ("pk_", "mix", "dot", "pack")


def moves_bits(name: str) -> bool:
    """Whether an instruction moves, masks or combines bits, each by itself, shifts and adds, or converts elements."""
    if "ashr_pk" in name:
        return False
    return bool(_ELEMENTS.match(name)) or name.startswith(_PREFIXES)


def read_bits(name: str, modifiers: Any) -> int:
    """The bits of each source register that an instruction reads: of 16-bit operations before RDNA3 the low ones."""
    if "cvt_f32_ubyte" in name and not modifiers:
        return 0xFF << 8 * "0123".index(name[-1])
    if name.endswith(_HALVES) and not any(one in name for one in _WHOLE) and not modifiers:
        return 0xFFFF
    return 0xFFFFFFFF


def undefined_bits(step: Step, group: Group) -> dict[int, Array]:
    """For each register that an instruction writes, its bits that depend on undefined ones: (waves, lanes or 1).

    The instruction is not carried out; all registers are as they were.
    """
    unknown = (step.uses | step.writes) - group.registers.clean
    kept = {number: np.array(_of(group, number)) for number in step.uses | step.writes}
    masks = {number: _mask(group, number) for number in unknown}
    elements = _ELEMENTS.match(step.instruction.name)

    def run(fills: Mapping[int, Array]) -> dict[int, Array]:
        for number, fill in fills.items():
            _set(group, number, kept[number] & ~masks[number] | fill)
        step.run(group)
        found = {number: np.array(_of(group, number)) for number in step.writes}
        for number, value in kept.items():
            _set(group, number, value)
        if not step.writes.isdisjoint(_EXEC):
            group.refresh()
        return found

    places = {number: _place(step, number) for number in unknown}
    changed, first = dependent_bits(masks, places, run, step.instruction.address, elements is not None)
    if elements is not None:
        width = _WIDTHS[elements[1]]
        changed = {number: _whole(value, width) for number, value in changed.items()}
    elif "_add_" in step.instruction.name:
        _carry(changed)
    elif SCALARS + SCC in changed:
        _follow_nonzero(changed, first)
    return changed


def packed_halves(instruction: DecodedInstruction) -> tuple[Half, Half] | None:
    """The halves of a packed result: what each is written to and what it reads, as (register, bits); None of others."""
    if instruction.name not in PACKED or instruction.encoding in ("dpp16", "sdwa"):
        return None
    wide = PACKED[instruction.name][0].endswith("32")
    chosen = int(instruction.modifiers.get("op_sel", 0)), int(instruction.modifiers.get("op_sel_hi", -1))
    found: list[Half] = []
    for half in (0, 1):
        sources = list(enumerate(instruction.sources))
        picks = chosen[half]
        if instruction.name == "v_pk_mov_b32":
            sources, picks = sources[half : half + 1], chosen[0]
        reads = [_half(numbers_of(one), picks >> place & 1, wide) for place, one in sources if numbers_of(one)]
        found.append((_half(numbers_of(instruction.destinations[0]), half, wide), tuple(reads)))
    return found[0], found[1]


def _half(numbers: tuple[int, ...], half: int, wide: bool) -> tuple[int, int]:
    if wide:
        return numbers[min(half, len(numbers) - 1)], 0xFFFFFFFF
    return numbers[0], 0xFFFF << 16 * half


def half_bits(halves: tuple[Half, Half], group: Group) -> dict[int, Array]:
    """As `undefined_bits`, of a packed instruction: a half is undefined where one of those that it follows from is."""
    found: dict[int, Array] = {}
    for (number, bits), reads in halves:
        wrong: Array = np.zeros((group.count, group.lanes), np.bool_)
        for source, mask in reads:
            wrong |= group.undefined(source) & np.uint32(mask) != 0
        found[number] = found.get(number, np.uint32(0)) | np.where(wrong, np.uint32(bits), np.uint32(0))
    return found


def _whole(bits: Array, width: int) -> Array:
    """Whole elements, of a width, where a bit is set."""
    field = np.uint32((1 << width) - 1)
    found = np.zeros_like(bits)
    for at in range(0, 32, width):
        found |= np.where(bits >> np.uint32(at) & field, field << np.uint32(at), np.uint32(0))
    return found


def _carry(changed: dict[int, Array]) -> None:
    """Of a sum (V_LSHL_ADD) every bit above the lowest undefined one is undefined too, for it may be carried there.

    The lowest one itself has changed: some two of the turns differ in one source alone, and there in no lower bit.
    """
    open_: Any = np.uint32(0)
    for number in sorted(changed.keys() - {SCALARS + SCC}):  # the low register of a pair first
        lowest = changed[number] & (~changed[number] + np.uint32(1))
        open_ = np.where(open_ != 0, ALL_BITS, np.where(lowest != 0, ~(lowest - np.uint32(1)), np.uint32(0)))
        changed[number] = open_
    if SCALARS + SCC in changed:
        changed[SCALARS + SCC] = (open_ != 0).astype(np.uint32)


def _follow_nonzero(changed: dict[int, Array], result: dict[int, Array]) -> None:
    """SCC tells whether the result is other than zero: it is defined where a defined bit is one."""
    tested = changed.keys() & _EXEC or changed.keys() - {SCALARS + SCC}
    if tested:
        open_ = np.any([changed[number] != 0 for number in tested], axis=0)
        decided = np.any([result[number] & ~changed[number] != 0 for number in tested], axis=0)
        changed[SCALARS + SCC] = (open_ & ~decided).astype(np.uint32)


def _place(step: Step, number: int) -> int:
    """Which source of an instruction a register belongs to; those that it only writes are one more."""
    return next((place for place, numbers in enumerate(step.places) if number in numbers), len(step.places))


def is_equality(instruction: DecodedInstruction) -> bool:
    """Whether an instruction compares two integers of 32 or 64 bits, equal or not."""
    moved = instruction.modifiers.keys() & {"src0_sel", "dpp_ctrl", "dpp8"}
    return bool(_EQUALITY.fullmatch(instruction.name)) and not moved


def surely_unequal(instruction: DecodedInstruction, group: Group) -> Array:
    """Where two integers differ in a bit that is defined in both: (count, lanes or 1)."""
    found: Array = np.zeros((1, 1), np.bool_)
    first, second = instruction.sources
    for part in range(2 if instruction.name.endswith("64") else 1):
        differing = raw_reader(first, part)(group) ^ raw_reader(second, part)(group)
        for operand in (first, second):
            if numbers := numbers_of(operand):
                differing = differing & ~_mask(group, numbers[part])
        found = found | (differing != 0)
    return found


def lane_words(operands: Iterable[object]) -> dict[int, int]:
    """The scalar registers among the operands of a vector instruction that are masks of lanes, and which word each is.

    Those are the results of comparisons, the carries, and the sources that are selected by or carried in.
    """
    found = {}
    for operand in operands:
        numbers = numbers_of(operand)
        if numbers and numbers[0] >= SCALARS:
            found.update({number: word for word, number in enumerate(numbers)})
    return found


def _of(group: Group, number: int) -> Array:
    if number >= SCALARS:
        found: Array = group.s[number - SCALARS, group.rows][:, None]
        return found
    file, row = (group.a, number - ACCUMULATORS) if number >= ACCUMULATORS else (group.v, number)
    whole: Array = file[row, group.rows]
    return whole


def _set(group: Group, number: int, value: Array) -> None:
    if number >= SCALARS:
        group.s[number - SCALARS, group.rows] = value[:, 0]
    elif number >= ACCUMULATORS:
        group.a[number - ACCUMULATORS, group.rows] = value
    else:
        group.v[number, group.rows] = value


def _mask(group: Group, number: int) -> Array:
    """The undefined bits of a register."""
    where = group.registers.undefined.get(number)
    shape = group.count, 1 if number >= SCALARS else group.lanes
    found: Array = np.full(shape, 0xFFFFFFFF, np.uint32) if where is None else where[group.rows]
    return found


# --- the check ---

USES = {"memory": "its address depends on", "matrix": "the product depends on", "control": "the branch depends on"}
"""What an instruction of a kind makes of an undefined value; others pass it on."""
_EXEC_USE = "EXEC is set from"


class Undefined:
    """What one instruction leaves undefined.

    lanes: where its results are; low: where the low register of a wide sum is; bits: by register. loaded: where what a
    load has read is; words: of a load from scratch, by register.
    """

    __slots__ = ("bits", "lanes", "loaded", "low", "step", "words")
    step: Step

    def __init__(self, step: Step) -> None:
        self.step = step
        self.lanes: Array | None = None
        self.low: Array | None = None
        self.bits: dict[int, Array] | None = None
        self.loaded: Array | None = None
        self.words: dict[int, Array] = {}


class Uninitialised:
    """Follows undefined values through registers and memory, and finds their uses.

    Between `before` and `after` an instruction, `Group.leaves` has what it leaves undefined.
    """

    program: Program
    registers: Registers
    reporter: Reporter

    def __init__(self, registers: Registers, program: Program, reporter: Reporter) -> None:
        self.registers, self.program, self.reporter = registers, program, reporter

    def before(self, step: Step, group: Group) -> None:
        """Find uses that must not depend on undefined values, and what the instruction will leave undefined."""
        defined = step.uses <= self.registers.clean
        group.leaves = None if defined and step.kind != "memory" else Undefined(step)
        if defined or group.leaves is None:
            return
        taint, which = group.tainted(step.addresses if step.kind == "memory" else step.uses, step.bits, step.lane_masks)
        if taint is not None and (decided := self._decided(step, group)) is not None:
            taint = taint & ~decided
            taint = taint if taint.any() else None
        if taint is not None and step.duals:
            group.leaves.bits = self._dual_bits(step, group)
            return
        reads_others = step.bitwise and step.kind in ("lane", "cross")  # inactive lanes, too
        if reads_others or (taint is not None and (step.bitwise or step.halves is not None)):
            group.leaves.bits = self._bits(step, group, which)
            return
        if taint is None:
            return
        if use := USES.get(step.kind, _EXEC_USE if SCALARS + EXEC in step.writes else ""):
            self._use(step.instruction, group, taint, which, use)
            return
        self._pass_origins(step, which, step.writes)
        group.leaves.lanes, group.leaves.low = taint, group.tainted(step.low_reads)[0] if step.low else None

    def after(self, step: Step, group: Group, mask: Array | None) -> None:
        """Enter what an instruction has written. mask: EXEC before it."""
        found, registers = group.leaves, self.registers
        if found is not None and step.kind == "memory":
            self._settle(step.writes - found.words.keys(), group, mask, found.loaded)
            for number, bits in found.words.items():
                self._settle(frozenset({number}), group, mask, bits)
        elif found is not None and found.bits is not None:
            for number, bits in found.bits.items():  # V_WRITELANE writes a lane that EXEC does not name
                self._settle(
                    frozenset({number}), group, None if step.kind == "lane" else mask, bits if bits.any() else None
                )
        elif found is not None and found.lanes is not None:
            masks = step.lane_results
            self._settle(step.writes - step.low - masks.keys(), group, mask, found.lanes)
            self._settle(step.low, group, mask, found.low)
            for number, word in masks.items():
                self._settle(frozenset({number}), group, mask, group.mask_word(found.lanes, mask, word))
        elif not step.writes <= registers.clean:
            self._settle(step.writes, group, mask, None)
        group.leaves = None
        if registers.origins:
            for number in step.writes & registers.clean & registers.origins.keys():
                del registers.origins[number]

    # --- what memory instructions say ---

    def loaded(self, group: Group, lanes: ActiveLanes, undefined: Array | None, what: str) -> None:
        """A load has read bytes that nothing has written."""
        if undefined is None or group.leaves is None:
            return
        found, spread = group.leaves, lanes.spread(undefined)
        found.loaded = spread if found.loaded is None else found.loaded | spread
        for number in found.step.writes:
            self.registers.origins[number] = (found.step.instruction.address, what)

    def loaded_scalars(self, group: Group, undefined: Array | None, what: str) -> None:
        """As `loaded`, of a scalar load: in which waves."""
        if undefined is None or group.leaves is None:
            return
        group.leaves.loaded = undefined[:, None]
        for number in group.leaves.step.writes:
            self.registers.origins[number] = (group.leaves.step.instruction.address, what)

    def loaded_bits(
        self, group: Group, lanes: ActiveLanes, words: list[Array], instruction: DecodedInstruction
    ) -> None:
        """A load from scratch has read words with these undefined bits."""
        if group.leaves is not None and any(word.any() for word in words):
            self.loaded(group, lanes, np.any([word != 0 for word in words], axis=0), "scratch")
            numbers = numbers_of(instruction.destinations[0])
            group.leaves.words = dict(zip(numbers, [lanes.spread(word) for word in words]))

    def stored_bits(self, data: Data) -> tuple[int, ...] | None:
        """The registers to be stored, if one of them has undefined bits."""
        numbers = numbers_of(data)
        return None if self.registers.clean.issuperset(numbers) else numbers

    def stored(self, group: Group, data: Data) -> Array | None:
        """Where data to be stored is undefined."""
        numbers = frozenset(numbers_of(data))
        if numbers <= self.registers.clean:
            return None
        taint, _ = group.tainted(numbers)
        return None if taint is None else np.broadcast_to(taint, (group.count, group.lanes))

    def check_stored(self, group: Group, instruction: DecodedInstruction, data: Data, access: Access) -> None:
        """Find it wrong to store an undefined value to global memory, or to change it there by one."""
        numbers = frozenset(numbers_of(data))
        if numbers <= self.registers.clean:
            return
        stored = (1 << 8 * min(access.size, 4)) - 1 << (16 if access.half else 0)
        taint, which = group.tainted(numbers, stored)
        if taint is not None:
            self._use(instruction, group, taint, which, "it stores" if access.action == "store" else "its operand is")

    # --- the rules ---

    @staticmethod
    def _settle(numbers: frozenset[int], group: Group, mask: Array | None, taint: Array | None) -> None:
        """Note what was written, under the EXEC that it was written under."""
        after, group.mask = group.mask, mask
        group.settle(numbers, taint)
        group.mask = after

    @staticmethod
    def _decided(step: Step, group: Group) -> Array | None:
        """Where defined bits of a source are enough for the result; None of most instructions."""
        if step.equality:
            return surely_unequal(step.instruction, group)
        if step.kind == "control" and "vcc" in step.instruction.name:
            return group.decided(step.uses)
        return None

    def _bits(self, step: Step, group: Group, which: tuple[int, ...]) -> dict[int, Array] | None:
        """The undefined bits of the results of an instruction that moves bits, or of a packed one."""
        bits = undefined_bits(step, group) if step.halves is None else half_bits(step.halves, group)
        if SCALARS + EXEC in bits:
            words = [bits[number][:, 0] for number in sorted(bits) if number - SCALARS in (EXEC, EXEC + 1)]
            wrong = unpacked(np.array(words), group.lanes)
            if wrong.any():
                self._use(step.instruction, group, wrong, which, _EXEC_USE)
                return None
        self._pass_origins(step, which, frozenset(number for number, found in bits.items() if found.any()))
        return bits

    def _dual_bits(self, step: Step, group: Group) -> dict[int, Array]:
        """The undefined bits of the results of a dual instruction."""
        found: dict[int, Array] = {}
        for half in step.duals:
            taint, which = group.tainted(half.uses, half.bits, half.lane_masks)
            if taint is None:
                bits: dict[int, Array] = {}
            elif half.bitwise:
                bits = undefined_bits(half, group)
            else:
                bits = dict.fromkeys(half.writes, np.where(taint, ALL_BITS, np.uint32(0)))
            self._pass_origins(half, which, frozenset(number for number, one in bits.items() if one.any()))
            found.update({number: np.zeros((1, 1), np.uint32) for number in half.writes} | bits)
        return found

    def _pass_origins(self, step: Step, which: tuple[int, ...], writes: frozenset[int]) -> None:
        origins = self.registers.origins
        for number in which:
            origin = origins.setdefault(number, (step.instruction.address, register_name(number)))
            origins.update(dict.fromkeys(writes, origin))

    def _use(
        self, instruction: DecodedInstruction, group: Group, taint: Array, which: tuple[int, ...], use: str
    ) -> None:
        number, tally = which[0], self.reporter.tally
        address, register = self.registers.origins.get(number, (instruction.address, register_name(number)))
        first = self.program.instructions[address]
        source = f"{use} {register}, which no instruction has written"
        if register.startswith(("LDS", "scratch")):
            source = f"{use} bytes of {register} that nothing has written"
        if address != instruction.address:
            source += f" (read at {address:#x} by {tally.describe(first)})"
        whole = np.broadcast_to(taint, (group.count, group.lanes if taint.shape[1] > 1 else 1))
        if tally.undefined.setdefault((address, register), instruction.address) == instruction.address:
            self.reporter.find("uninitialised", group.numbers(), instruction, source, whole)  # copies are not again
        for each in which:  # once is enough
            self._settle(frozenset({each}), group, None, None)
