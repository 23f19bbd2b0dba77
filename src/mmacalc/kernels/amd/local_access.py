"""Loads and stores of LDS that the compiled core carries out: those about which there is nothing to say.

The core (shared.c) declines an access of which a lane is outside, misaligned, in a race or reads what nothing has
written; nothing has changed then, and `memory.lds_access` carries it out and says what there is to say. What is kept of
an access is the same on both ways.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ...asm.decoded import RegisterOperand
from ...emulator.core import address
from ..device.races import UNREAD, UNWAITED
from ..device.traffic import KNOWN, enter
from .checks import LocalAccess
from .core_operations import vector_code
from .counters import Landing
from .memory import ActiveLanes, narrow_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from .memory import Access
    from .operands import Data
    from .state import Group

__all__ = ["LocalMove"]


class _Local(ctypes.Structure):
    """The struct Local of shared.c."""

    _fields_ = [
        *((name, ctypes.c_int32) for name in ("address", "registers", "kind", "size", "native", "narrow")),
        ("offset", ctypes.c_uint32), ("label", ctypes.c_int32), ("instruction", ctypes.c_int32),
        ("bits", ctypes.c_int32), ("elements", ctypes.c_int32), ("from_", ctypes.c_void_p),
    ]  # fmt: skip


class LocalMove:
    """One access of a DS instruction, for the core. number: of the first register that is loaded or stored, counted
    from the operand's first. transposes: of a load that transposes the bits of an element, and of each lane and slot of
    its registers which bit of what all lanes fetch is the first of it (lane, slot)."""

    access: Access
    instruction: DecodedInstruction
    kind: str
    offset: int
    number: int
    operand: RegisterOperand
    source: RegisterOperand
    transposes: tuple[int, Array] | None

    __slots__ = ("access", "instruction", "kind", "number", "offset", "operand", "source", "transposes")

    def __init__(
        self, instruction: DecodedInstruction, access: Access, offset: int, operand: RegisterOperand, number: int
    ) -> None:
        self.transposes = None
        self.instruction, self.access, self.offset = instruction, access, offset
        source = instruction.sources[0]
        assert isinstance(source, RegisterOperand)
        self.operand, self.number, self.source = operand, number, source
        self.kind = "write" if access.action == "store" else "read"

    @staticmethod
    def of(instruction: DecodedInstruction, access: Access, offset: int, data: Data, number: int) -> LocalMove | None:
        """The access of an instruction, if the core can carry it out. data: what a store stores."""
        operand = data if access.action == "store" else next(iter(instruction.destinations), None)
        source = instruction.sources[0]
        if access.action not in ("load", "store") or access.size > 16:
            return None
        if not (isinstance(source, RegisterOperand) and source.file == "v"):
            return None
        if not (isinstance(operand, RegisterOperand) and operand.file in ("v", "a")):
            return None
        first = (operand.file, operand[1])
        if access.pair and first[0] == "v" and first[1] <= source[1] < first[1] + operand[2]:
            return None  # both are read before either register is written
        return LocalMove(instruction, access, offset, operand, number)

    def described(self, label: int) -> _Local:
        """The access for the core. label: of the instruction in `SharedMemory`."""
        size = self.access.size
        found = _Local(
            vector_code(self.source), vector_code(self.operand, self.number), self.kind == "write", size,
            1 << (size - 1).bit_length(), narrow_code(self.access, self.operand), self.offset, label,
            self.instruction.address,
        )  # fmt: skip
        if self.transposes is not None:
            found.bits, (_, found.elements) = self.transposes[0], self.transposes[1].shape
            found.from_ = address(self.transposes[1])
        return found

    def enter(self, group: Group, pattern: int, places: Array) -> Landing:
        """What the checks keep of an access that is fine: what it writes or reads. pattern: a number for its
        addresses."""
        access, batch = self.access, group.batch
        stores = access.action == "store"
        batch.tally.moved.add(len(places) * access.size, store=stores, local=True)
        known: dict[int, Any] = batch.prepared.setdefault(self, {})
        added = known.get(pattern)
        if added is None:
            if len(known) >= KNOWN:
                known.clear()
            key = pattern, access.size, self.kind
            added = known[pattern] = batch.moves.costs(self.instruction, key, lambda: self._event(group, places))
        enter(added)
        return Landing.of_group(places, access.size, group, batch.waves.wave_in_group, UNWAITED if stores else UNREAD)

    def _event(self, group: Group, places: Array) -> LocalAccess:
        """The access as the checks take it."""
        batch = group.batch
        lanes = ActiveLanes(group, np.zeros((1, 1), np.int64), self.access.size)
        rows, _ = lanes.lanes()
        lanes.addresses = places - batch.waves.workgroup_of[rows] * batch.lds.stride
        return LocalAccess(group, lanes, self.instruction, self.access, self.kind, places, rows, None, False)
