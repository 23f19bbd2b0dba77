"""Loads and stores of global memory that the compiled core carries out: those about which there is nothing to say.

The core (memory.c) declines an access of which a lane is in another region or in none, or that meets another wave's;
nothing has changed then, and `memory.global_access` carries it out and says what there is to say. What is kept of an
access is the same on both ways.
"""

from __future__ import annotations

import ctypes

from ...asm.decoded import RegisterOperand
from .core_operations import vector_code
from .memory import index_scale, narrow_code, offset_of
from .operands import scalar_row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from .memory import Access
    from .state import Group

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
    ]  # fmt: skip


class GlobalMove:
    """The access of a global or flat instruction, for the core."""

    access: Access
    instruction: DecodedInstruction

    __slots__ = ("_struct", "access", "instruction")

    def __init__(self, instruction: DecodedInstruction, access: Access, struct: _Global) -> None:
        self.instruction, self.access, self._struct = instruction, access, struct

    @staticmethod
    def of(instruction: DecodedInstruction, access: Access) -> GlobalMove | None:
        """The access of an instruction, if the core can carry it out."""
        sources = instruction.sources
        plain = access.unit in ("global", "flat") and access.action in ("load", "store") and access.size <= 16
        if not plain or access.to_lds or access.transposes or access.asynchronous:
            return None
        stores = access.action == "store"
        if not stores and any(instruction.modifiers.get(name) for name in SCOPES):
            return None
        data = sources[1] if stores else next(iter(instruction.destinations), None)
        if not (isinstance(data, RegisterOperand) and data.file in ("v", "a")):
            return None
        vector, scalar = sources[0], sources[-1] if len(sources) > 1 else None
        if not isinstance(vector, RegisterOperand) or vector.file not in ("v", "off"):
            return None
        made = _Global(base=_NONE, vector=_NONE, scale=1, size=access.size, stores=stores)
        if isinstance(scalar, RegisterOperand) and scalar.file not in ("off", "v", "a", "null") and scalar.count == 2:
            made.base, made.scale = scalar_row(scalar), index_scale(instruction, access)
        elif vector.file == "off":
            return None
        if vector.file == "v":
            made.vector, made.wide = vector_code(vector), made.base == _NONE
        made.registers, made.narrow = vector_code(data), narrow_code(access, data)
        made.label, made.offset = instruction.address, offset_of(instruction) & (1 << 64) - 1
        return GlobalMove(instruction, access, made)

    def described(self, bits: int) -> _Global:
        """The access for the core. bits: what it is to the rules (`Grade.bits`)."""
        found = _Global.from_buffer_copy(self._struct)
        found.bits = bits
        return found

    def enter(self, group: Group, pattern: int, places: Array, codes: Array) -> None:
        """What the checks keep of an access that is fine.

        Args:
            pattern: twice its region, and one more if it is to be listed. codes: of each wave (`code_of`).
        """
        access, batch = self.access, group.batch
        batch.tally.moved.add(len(places) * access.size, store=access.action != "load", local=False)
        if pattern & 1:
            batch.grid_races.listed(group, self.instruction, access, (pattern >> 1, places), codes)
