"""A line of instruction_tables.txt."""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """A line for one instruction: its format, the parts that a signature joins with bars, name and opcode."""

    format: str
    signature: str
    name: str
    opcode: int
