"""mmacalc: matrix instructions of AMD and NVIDIA GPUs, element by element and bit by bit.

Everything is imported when it is first used, so `import mmacalc` costs nothing.

>>> import mmacalc
>>> inst = mmacalc.instruction("MI300X", "v_mfma_f32_16x16x16_f16")
>>> inst.operand("A").locate(i=3, k=9)
(Location(lane=35, item=1, register=0, lsb=16, width=16),)
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .catalog import architectures as architectures
    from .catalog import instruction as instruction
    from .catalog import instructions as instructions
    from .errors import Error as Error
    from .isa.assembler import assemble as assemble
    from .isa.disassembler import disassemble as disassemble
    from .isa.hazards import WaitStates as WaitStates
    from .isa.hazards import wait_states as wait_states
    from .layout import Layout as Layout
    from .machine import launch as launch
    from .query import find as find
    from .record import Architecture as Architecture
    from .record import Element as Element
    from .record import Instruction as Instruction
    from .record import Location as Location
    from .record import Operand as Operand

__version__ = "0.1.0"

_HOMES = {
    "Architecture": "record", "Element": "record", "Error": "errors", "Instruction": "record",
    "Layout": "layout", "Location": "record", "Operand": "record", "architectures": "catalog",
    "WaitStates": "isa.hazards", "assemble": "isa.assembler", "disassemble": "isa.disassembler", "find": "query",
    "instruction": "catalog", "instructions": "catalog", "launch": "machine", "wait_states": "isa.hazards",
}  # fmt: skip
_ROOMS = (
    "arithmetic", "catalog", "cli", "cost", "diagnosis", "emulator", "errors", "formats", "intrinsics", "isa",
    "layout", "loads", "machine", "present", "query", "rocwmma",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'mmacalc' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_ROOMS})
