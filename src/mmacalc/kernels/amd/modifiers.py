"""What the modifiers of an instruction make of its operands: the one layer by which executors read and write.

A source is read in this order: its 32-bit words, those of other lanes (DPP) or a part of one (SDWA), the half that
OP_SEL names, its type, ABS, NEG. A result passes OMOD, CLAMP, the flush of the mode, and is written in the lanes that
DPP lets be written, to the part that SDWA or OP_SEL names. Sources: RDNA3 ISA guide, section 7.2 ("Instruction
operands", "Output modifiers") and 7.7 (DPP); CDNA3 ISA guide, sections 6.1.5 and 12.13 (SDWA).

`Modifiers` notes which of them an executor has asked for: one that is set and was not asked for would be ignored
in silence, so `Modifiers.refuse_unread` refuses it by name.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...base.errors import Error
from .operands import FLOATS, modified, raw_reader, typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from .operands import Reader, Words
    from .state import Group

    Compute = Callable[[Group], tuple[Array, ...]]
    Store = Callable[[Group, tuple[Array, ...]], None]

__all__ = [
    "Modifiers",
    "dpp8_lanes",
    "dpp_lanes",
    "masked",
    "modifiers_of",
    "sdwa_part",
    "signs",
    "source",
    "words",
    "written_lanes",
]

HINTS = frozenset(["glc", "slc", "dlc", "scc", "sc0", "sc1", "nt", "th", "scope", "nv", "format"])
"""Modifiers that say how a cache is used, or (glc, sc0, th of atomic operations) what the destination says too; FORMAT
of untyped buffer accesses has one value."""


class Modifiers(dict[str, "int | str"]):
    """The modifiers of an instruction; `unread` are those that have not been asked for."""

    def __init__(self, given: Mapping[str, int | str]) -> None:
        super().__init__(given)
        self._read: dict[str, int] = {}

    def __getitem__(self, name: str) -> int | str:
        self._read[name] = -1
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """The whole modifier: all its bits count as read."""
        self._read[name] = -1
        return super().get(name, default)

    def bit(self, name: str, place: int) -> bool:
        """One bit of a mask, that of a source or (bit 3 of OP_SEL) of the destination."""
        self._read[name] = self._read.get(name, 0) | 1 << place
        return bool(int(super().get(name, 0)) >> place & 1)

    def unread(self) -> list[str]:
        """The modifiers with a set bit that have not been asked for; not hints, nor what means the default."""
        ignored = HINTS | {"simm16"} if "target" in self else HINTS  # of a branch, which has its goal
        return [name for name, value in self.items()
                if name not in ignored and int(value) & ~self._read.get(name, 0)]  # fmt: skip

    def refuse_unread(self, name: str) -> None:
        """Refuse an instruction of which a modifier was not read.

        Raises:
            Error: there is one.
        """
        if left := self.unread():
            shown = ", ".join(
                f"{one}={int(dict.__getitem__(self, one)):#x}".replace("=0x1", "") for one in sorted(left)
            )
            raise Error(
                f"{name} with {shown} is not covered: what that does to it is not documented or not written yet"
            )


def modifiers_of(instruction: DecodedInstruction) -> Modifiers:
    """The modifiers of an instruction, noting what is read of them if it is being compiled."""
    found = instruction.modifiers
    return found if isinstance(found, Modifiers) else Modifiers(found)


# --- sources ---


def words(instruction: DecodedInstruction, place: int, wave: int) -> Words:
    """The 32-bit words of a source: those of other lanes under DPP, a part of one, widened, under SDWA."""
    operand, modifiers = instruction.sources[place], modifiers_of(instruction)
    if place == 0 and ("dpp_ctrl" in modifiers or "dpp8" in modifiers):
        return lambda part=0: _dpp(raw_reader(operand, part), modifiers, wave)
    select = modifiers.get(f"src{place}_sel")
    sign = modifiers.bit("sext", place) if select is not None else False
    if select is not None and int(select) != 6:
        return lambda part=0: _sdwa(raw_reader(operand), int(select), sign)
    return partial(raw_reader, operand)


def signs(instruction: DecodedInstruction, place: int) -> tuple[bool, bool]:
    """NEG and ABS of a source."""
    modifiers = modifiers_of(instruction)
    return modifiers.bit("neg", place), modifiers.bit("abs", place)


def source(instruction: DecodedInstruction, place: int, kind: str, wave: int) -> Reader:
    """A source as a type (see `operands`), with everything that the modifiers say of it."""
    operand, modifiers = instruction.sources[place], modifiers_of(instruction)
    word = words(instruction, place, wave) if kind != "mask" else partial(raw_reader, operand)
    if kind == "byte":
        return word() if f"src{place}_sel" in modifiers else _byte(word(), int(modifiers.get("op_sel", 0)))
    narrow = kind in ("u16", "i16", "f16", "bf16")
    high = narrow and modifiers.bit("op_sel", place)
    read = typed(word, operand, kind, high)
    if kind in (*FLOATS, "bf16", "b32", "b64"):
        return modified(read, kind, *signs(instruction, place))
    return read


def _byte(raw: Reader, op_sel: int) -> Reader:
    """BYTE_SEL of RDNA4 and gfx1250, whose high bit is the first of OP_SEL (LLVM 22, `byte_sel`)."""
    by = np.uint32(8 * (op_sel << 1 & 2 | op_sel >> 1 & 1))
    return lambda group: raw(group) >> by


def sdwa_part(select: int) -> tuple[int, int]:
    """The lowest bit and the number of bits of a byte (0 to 3) or half (4, 5) that SDWA selects."""
    return (8 * select, 8) if select < 4 else (16 * (select - 4), 16)


def _sdwa(raw: Reader, select: int, sign: bool) -> Reader:
    by, bits = sdwa_part(select)
    up = 32 - bits

    def read(group: Group) -> Array:
        field = raw(group) << np.uint32(up - by)
        return (field.view(np.int32) >> np.int32(up)).view(np.uint32) if sign else field >> np.uint32(up)

    return read


def _dpp_lanes(modifiers: Modifiers, wave: int) -> tuple[Array, Array, bool]:
    """The lane that each lane reads, whether there is such a lane, and whether it reads 0 where there is none."""
    if "dpp8" in modifiers:
        return dpp8_lanes(int(modifiers["dpp8"]), wave), np.ones(wave, bool), True
    lanes, there = dpp_lanes(int(modifiers["dpp_ctrl"]), wave)
    return np.clip(lanes, 0, wave - 1), there, bool(modifiers.get("bound_ctrl"))


def _dpp(raw: Reader, modifiers: Modifiers, wave: int) -> Reader:
    """A source of other lanes; 0 of those that do not exist, or are inactive without FI."""
    lanes, there, zero = _dpp_lanes(modifiers, wave)
    fetch_inactive = bool(modifiers.get("fi"))

    def read(group: Group) -> Array:
        value = np.broadcast_to(raw(group), (group.count, wave))[:, lanes]
        right = there[None, :] if group.mask is None or fetch_inactive else there & group.mask[:, lanes]
        return np.where(right, value, np.uint32(0)) if zero or not right.all() else value

    return read


# --- results ---


def masked(instruction: DecodedInstruction, store: Store, wave: int) -> Store:
    """A store in the lanes that DPP lets be written: by the masks, and those whose source exists unless BOUND_CTRL."""
    modifiers = modifiers_of(instruction)
    if "dpp_ctrl" not in modifiers:
        return store
    lanes, there, zero = _dpp_lanes(modifiers, wave)
    allowed = written_lanes(int(modifiers.get("row_mask", 15)), int(modifiers.get("bank_mask", 15)), wave)
    inactive = bool(modifiers.get("fi"))
    if not zero:
        allowed = allowed & there
    if allowed.all() and (zero or inactive):
        return store

    def write(group: Group, values: tuple[Array, ...]) -> None:
        before = group.mask
        mask = allowed & group.active
        if not zero and not inactive and before is not None:
            mask = mask & before[:, lanes]
        group.mask = mask
        try:
            store(group, values)
        finally:
            group.mask = before

    return write


# --- which lane each lane reads under DPP ---


def dpp_lanes(control: int, lanes: int) -> tuple[Array, Array]:
    """The lane that each lane reads under DPP16's control, and whether there is such a lane.

    Source: RDNA3 ISA guide, "DPP16"; CDNA3 ISA guide, "DPP_CTRL Enumerations".

    >>> dpp_lanes(0x111, 64)[0][:3].tolist(), dpp_lanes(0x111, 64)[1][:3].tolist()  # row_shr:1
    ([-1, 0, 1], [False, True, True])
    """
    lane = np.arange(lanes)
    row, place, amount = lane & ~15, lane & 15, control & 15
    kind = control >> 4
    if control < 0x100:
        return (lane & ~3) + (control >> 2 * (lane & 3) & 3), np.ones(lanes, bool)
    if kind in (0x10, 0x11):
        wanted = place + amount if kind == 0x10 else place - amount
        return row + wanted, (wanted >= 0) & (wanted < 16)
    found = {
        0x12: row + (place - amount) % 16,
        0x13: _wave_shifted(control, lane, lanes),
        0x14: row + 15 - place if amount == 0 else (lane & ~7) + 7 - (lane & 7),
        0x15: row + amount,
        0x16: row + (place ^ amount),
    }[kind]
    if kind == 0x14 and amount in (2, 3):  # row_bcast:15 and row_bcast:31
        found = row - 1 if amount == 2 else np.where(lane >= 32, 31, -1)
    return found, (found >= 0) & (found < lanes)


def _wave_shifted(control: int, lane: Array, lanes: int) -> Array:
    """wave_shl:1, wave_rol:1, wave_shr:1 and wave_ror:1."""
    moved = lane + (1 if control < 0x138 else -1)
    return moved % lanes if control in (0x134, 0x13C) else moved


def dpp8_lanes(selector: int, lanes: int) -> Array:
    """The lane that each lane reads under DPP8."""
    lane = np.arange(lanes)
    found: Array = (lane & ~7) + (selector >> 3 * (lane & 7) & 7)
    return found


def written_lanes(row_mask: int, bank_mask: int, lanes: int) -> Array:
    """The lanes that DPP's row and bank masks let be written."""
    lane = np.arange(lanes)
    found: Array = (row_mask >> (lane >> 4 & 3) & 1 & bank_mask >> (lane >> 2 & 3)).astype(bool)
    return found
