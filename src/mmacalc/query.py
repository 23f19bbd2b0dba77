"""Questions over whole instructions and catalogs: plain data out, no printing."""

from __future__ import annotations

from .catalog import every_instruction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .record import Instruction


def find() -> tuple[Instruction, ...]:
    """Instructions that fit."""
    return tuple(every_instruction())
