"""Machine code: encodings as tables of bit fields, assembler, disassembler, intrinsics; wait states, lint.

Imported lazily: `mmacalc.isa.assemble` and `mmacalc.isa.disassemble` are also `mmacalc.assemble` and
`mmacalc.disassemble`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .assembler import assemble as assemble
    from .disassembler import disassemble as disassemble
    from .intrinsics import intrinsic as intrinsic

_HOMES = {"assemble": "assembler", "disassemble": "disassembler", "intrinsic": "intrinsics"}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module 'mmacalc.isa' has no attribute '{name}'")
