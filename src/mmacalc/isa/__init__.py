"""Machine code: encodings as tables of bit fields, assembler, disassembler, intrinsics."""

from __future__ import annotations

from .assembler import assemble
from .disassembler import disassemble

__all__ = ["assemble", "disassemble"]
