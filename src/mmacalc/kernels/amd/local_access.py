"""Loads and stores of LDS that the compiled core carries out: those about which there is nothing to say.

The core (shared.c) declines an access of which a lane is outside, misaligned, in a race or reads what nothing has
written; nothing has changed then, and `memory.lds_access` carries it out and says what there is to say. What is kept of
an access is the same on both ways.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ...asm.decoded import RegisterOperand
from ...base.records import Cache
from ...emulator import core
from ...emulator.core import address
from ..device.races import AGAINST
from ..device.traffic import KNOWN, enter
from .checks import LocalAccess
from .counters import Landing
from .memory import ActiveLanes
from .operands import numbers_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from .batch import Batch
    from .memory import Access
    from .operands import Data
    from .state import Group, Registers

__all__ = ["LocalMove"]

_ROOM = 12


class _Local(ctypes.Structure):
    """The struct Local of shared.c."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("address", "registers", "data", "undefined")),
        ("against", ctypes.c_void_p * _ROOM),
        *((name, ctypes.c_void_p) for name in (
            "first", "second", "first_label", "second_label", "workgroup", "number", "places", "before",
            "read", "writer",
        )),
        *((name, ctypes.c_int64) for name in (
            "size", "native", "offset", "limit", "stride", "layers", "label", "stores", "narrow", "instruction",
        )),
        ("pattern", ctypes.c_uint64), ("active", ctypes.c_int64),
    ]  # fmt: skip


def _core() -> Callable[[int, int, int], int] | None:
    return core.function("local", core.WAVES, ctypes.c_int64)


class LocalMove:
    """One access of a DS instruction, for the core. number: of the first register that is loaded or stored, counted
    from the operand's first."""

    access: Access
    instruction: DecodedInstruction
    kind: str
    needs: frozenset[int]
    offset: int
    number: int
    operand: RegisterOperand
    source: RegisterOperand

    __slots__ = ("access", "instruction", "kind", "needs", "number", "offset", "operand", "source")

    def __init__(
        self, instruction: DecodedInstruction, access: Access, offset: int, operand: RegisterOperand, number: int
    ) -> None:
        self.instruction, self.access, self.offset = instruction, access, offset
        source = instruction.sources[0]
        assert isinstance(source, RegisterOperand)
        self.operand, self.number, self.source = operand, number, source
        self.kind = "write" if access.action == "store" else "read"
        stored = numbers_of(operand) if access.action == "store" else ()
        self.needs = frozenset([*numbers_of(source), *stored])

    @staticmethod
    def of(instruction: DecodedInstruction, access: Access, offset: int, data: Data, number: int) -> LocalMove | None:
        """The access of an instruction, if the core can carry it out. data: what a store stores."""
        operand = data if access.action == "store" else next(iter(instruction.destinations), None)
        source = instruction.sources[0]
        if _core() is None or access.action not in ("load", "store") or access.size > 16:
            return None
        if not (isinstance(source, RegisterOperand) and source.file == "v"):
            return None
        if not (isinstance(operand, RegisterOperand) and operand.file in ("v", "a")):
            return None
        first = (operand.file, operand[1])
        if access.pair and first[0] == "v" and first[1] <= source[1] < first[1] + operand[2]:
            return None  # both are read before either register is written
        return LocalMove(instruction, access, offset, operand, number)

    def carry_out(self, group: Group) -> bool:
        """Execute it in a group of waves; False if it has to be looked at."""
        batch, carried_out = group.batch, _core()
        if carried_out is None or batch.observers or not batch.registers.clean.issuperset(self.needs):
            return False
        if any(flight.lands for flight in batch.counters.flights):
            return False
        bound = batch.prepared.get(self)
        if bound is None or bound.version != batch.lds.races.version:
            bound = batch.prepared[self] = self._bound(batch)
        local, places = bound.local, np.empty(group.count * group.lanes, np.int64)
        local.places = address(places)
        if not carried_out(batch.running_waves(group), ctypes.addressof(local), group.lanes):
            return False
        self._enter(group, bound, places[: local.active])
        return True

    def _bound(self, batch: Batch) -> _Bound:
        """The access in a batch; what does not depend on the instruction is shared."""
        registers, races, key = batch.registers, batch.lds.races, (self.kind, self.access.size)
        shared = batch.prepared.get(key)
        if shared is None or shared.version != races.version:
            shared = batch.prepared[key] = _Shared(batch, *key)
        local = _Local.from_buffer_copy(shared.local)
        local.address = _register(registers, self.source, 0)
        local.registers = _register(registers, self.operand, self.number)
        local.offset, local.narrow, local.label = self.offset, self._narrow(), batch.lds.label(self.instruction.address)
        local.instruction = self.instruction.address
        return _Bound(local, shared.version)

    def _narrow(self) -> int:
        access, half = self.access, self.access.half
        if half is None and self.operand.bits == 16:
            half = self.operand.half
        if access.size >= 4:
            return 0
        if access.action == "store":
            return 9 if half else 1
        return 1 | 2 * access.signed | {None: 0, 0: 4, 1: 8}[half]

    def _enter(self, group: Group, bound: _Bound, places: Array) -> None:
        """What the checks keep of an access that is fine."""
        access, batch, pattern = self.access, group.batch, bound.local.pattern
        stores = access.action == "store"
        batch.tally.moved.add(len(places) * access.size, store=stores, local=True)
        key = pattern, access.size, self.kind
        costs = lambda: batch.moves.costs(self.instruction, key, lambda: self._event(group, places))  # noqa: E731
        enter(bound.patterns.get(pattern, costs))
        if stores:
            batch.counters.landings.append(Landing.of_group(places, access.size, group, batch.waves.wave_in_group))

    def _event(self, group: Group, places: Array) -> LocalAccess:
        """The access as the checks take it."""
        batch = group.batch
        lanes = ActiveLanes(group, np.zeros((1, 1), np.int64), self.access.size)
        rows, _ = lanes.lanes()
        lanes.addresses = places - batch.waves.workgroup_of[rows] * batch.lds.stride
        return LocalAccess(group, lanes, self.instruction, self.access, self.kind, places, rows, None, False)


class _Bound:
    """An access of LDS in a batch: for the core; what each pattern of addresses adds to which counts."""

    __slots__ = ("local", "patterns", "version")
    local: _Local
    patterns: Cache
    version: int

    def __init__(self, local: _Local, version: int) -> None:
        self.local, self.version = local, version
        self.patterns = Cache(KNOWN)


class _Shared:
    """An access of LDS in a batch, without its instruction, and the arrays that it points to."""

    def __init__(self, batch: Batch, kind: str, size: int) -> None:
        registers, lds, local = batch.registers, batch.lds, _Local()
        own = lds.races.layers_of(kind)
        self.version = lds.races.version
        against = [layer for other in AGAINST[kind] for layer in lds.races.layers_of(other, make=False)]
        numbers = (batch.waves.wave_in_group + 1).astype(np.uint8)
        groups = np.ascontiguousarray(batch.waves.workgroup_of, np.int64)
        before = np.empty(registers.waves * registers.lanes * 5, np.uint32)
        local.data, local.undefined = address(lds.data), address(lds.undefined)
        for place, layer in enumerate(against):
            local.against[place] = address(layer.waves)
        local.first, local.second = (address(layer.waves) for layer in own)
        local.first_label, local.second_label = (address(layer.labels) for layer in own)
        local.workgroup, local.number, local.before = address(groups), address(numbers), address(before)
        local.size, local.native = size, 1 << (size - 1).bit_length()
        local.limit, local.stride, local.layers, local.stores = lds.size, lds.stride, len(against), kind == "write"
        local.read, local.writer = batch.unread.places()
        self.local, self._kept = local, (numbers, groups, before)


def _register(registers: Registers, operand: RegisterOperand, number: int) -> int:
    file = registers.file(operand)
    return address(file) + file.strides[0] * (operand[1] + number)
