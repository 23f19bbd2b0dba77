"""Loads and stores of global memory that the compiled core carries out: those about which there is nothing to say.

The core (memory.c) declines an access of which a lane is in another region or in none, partly within the resource of a
buffer, or that meets another wave's; nothing has changed then, and `memory.global_access` carries it out and says what
there is to say. What is kept of an
access is the same on both ways.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ...asm.decoded import ConstantOperand, RegisterOperand
from .clusters import CLUSTER_LOADS
from .core_operations import vector_code
from .memory import index_scale, narrow_code, offset_of
from .operands import scalar_row
from .target import SCRATCH_RESOURCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from .memory import Access
    from .operands import Operand
    from .state import Group
    from .target import MachineTarget

__all__ = ["GlobalMove"]

SCOPES = ("glc", "sc0", "sc1", "scope")
"""Modifiers that make a load strong, which is looked at by itself (see `memory_model`)."""
_NONE = -1


class _Global(ctypes.Structure):
    """The struct Global of memory.c."""

    _fields_ = [
        *((name, ctypes.c_int32) for name in (
            "base", "vector", "wide", "scale", "registers", "size", "stores", "narrow", "label", "bits",
        )),
        ("offset", ctypes.c_uint64),
        *((name, ctypes.c_int32) for name in ("resource", "index", "bytes", "longer")),
        ("scratch", ctypes.c_uint64),
    ]  # fmt: skip


class GlobalMove:
    """The access of a global, flat or buffer instruction, for the core."""

    access: Access
    instruction: DecodedInstruction

    __slots__ = ("_struct", "access", "instruction")

    def __init__(self, instruction: DecodedInstruction, access: Access, struct: _Global) -> None:
        self.instruction, self.access, self._struct = instruction, access, struct

    @staticmethod
    def of(instruction: DecodedInstruction, access: Access, target: MachineTarget) -> GlobalMove | None:
        """The access of an instruction, if the core can carry it out."""
        plain = access.unit in ("global", "flat", "buffer") and access.action in ("load", "store") and access.size <= 16
        if instruction.name.startswith(CLUSTER_LOADS):  # its mask is looked at
            return None
        if not plain or access.to_lds or access.transposes or access.asynchronous or instruction.modifiers.get("lds"):
            return None
        stores = access.action == "store"
        if not stores and any(instruction.modifiers.get(name) for name in SCOPES):
            return None
        sources, buffer = list(instruction.sources), access.unit == "buffer"
        if stores:
            data: Operand | None = sources.pop(0 if buffer else 1)
        else:
            data = next(iter(instruction.destinations), None)
        if not (isinstance(data, RegisterOperand) and data.file in ("v", "a")):
            return None
        made = _Global(base=_NONE, vector=_NONE, resource=_NONE, index=_NONE, scale=1, size=access.size, stores=stores)
        made.label, made.offset = instruction.address, offset_of(instruction) & (1 << 64) - 1
        made.registers, made.narrow = vector_code(data), narrow_code(access, data)
        if not (_through_resource(made, sources, instruction, target) if buffer else _at(made, sources, instruction)):
            return None
        if not buffer and made.base != _NONE:
            made.scale = index_scale(instruction, access)
        return GlobalMove(instruction, access, made)

    def described(self, bits: int) -> _Global:
        """The access for the core. bits: what it is to the rules (`Grade.bits`)."""
        found = _Global.from_buffer_copy(self._struct)
        found.bits = bits
        return found

    def enter(self, group: Group, pattern: int, places: Array, codes: Array, live: Array) -> None:
        """What the checks keep of an access that is fine.

        Args:
            pattern: twice its region and one more if it is to be listed, else 0. places: of the lanes that access
                memory. codes: of each wave (`code_of`); live: the mask of its lanes that do.
        """
        access, batch = self.access, group.batch
        batch.tally.moved.add(len(places) * access.size, store=access.action != "load", local=False)
        if pattern & 1 and len(places):
            if len(places) < group.count * group.lanes:
                codes = np.repeat(
                    codes, np.unpackbits(live.view(np.uint8).reshape(-1, 8), axis=1).sum(axis=1, dtype=np.int64)
                )
            batch.grid_races.listed(self.instruction, access, (pattern >> 1, places), codes)


def _at(made: _Global, sources: list[Operand], instruction: DecodedInstruction) -> bool:
    """Enter the address of a global or flat instruction; whether the core can read it."""
    vector, scalar = sources[0], sources[-1] if len(sources) > 1 else None
    if not isinstance(vector, RegisterOperand) or vector.file not in ("v", "off"):
        return False
    if isinstance(scalar, RegisterOperand) and scalar.file not in ("off", "v", "a", "null") and scalar.count == 2:
        made.base = scalar_row(scalar)
    elif vector.file == "off":
        return False
    if vector.file == "v":
        made.vector, made.wide = vector_code(vector), made.base == _NONE
    return True


def _through_resource(
    made: _Global, sources: list[Operand], instruction: DecodedInstruction, target: MachineTarget
) -> bool:
    """Enter the address of a buffer instruction (`memory_steps.buffer_places`); whether the core can read it."""
    vector, resource, scalar = sources[:3]
    index_on, offset_on = bool(instruction.modifiers.get("idxen")), bool(instruction.modifiers.get("offen"))
    if not isinstance(resource, RegisterOperand) or resource.file not in ("s", "ttmp"):
        return False
    made.resource, made.longer, made.scratch = scalar_row(resource), target.long_records, SCRATCH_RESOURCE
    made.bytes = target.generation == "gfx9" and not index_on
    if isinstance(scalar, ConstantOperand):
        made.offset = offset_of(instruction) + scalar.bits
    elif scalar.file not in ("null", "off"):
        made.base = scalar_row(scalar)
    if not (index_on or offset_on):
        return True
    if not isinstance(vector, RegisterOperand) or vector.file != "v":
        return False
    made.index = vector_code(vector) if index_on else _NONE
    made.vector = vector_code(vector, int(index_on)) if offset_on else _NONE
    return True
