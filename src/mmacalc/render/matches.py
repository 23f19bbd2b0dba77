"""The instructions that a search found, as text and as JSON."""

from __future__ import annotations

from collections import Counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..model import Instruction

__all__ = ["count", "json_object", "text"]


SHOWN = 6  # architectures that are counted by name
MANY = 40
"""From this number of matches on, how many they are is said."""


def text(matches: Sequence[Instruction]) -> str:
    """One match per line: architecture, name, shape, formats."""
    rows = [_columns(inst) for inst in matches]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths)) for row in rows)
    return "".join(line.rstrip() + "\n" for line in lines)


def count(matches: Sequence[Instruction]) -> str:
    """Of many matches of several architectures how many each has; else ""."""
    counts = Counter(inst.arch for inst in matches)
    if len(matches) < MANY or len(counts) < 2:
        return ""
    listed = ", ".join([f"{arch} {count}" for arch, count in counts.most_common(SHOWN)])
    more = f" and {len(counts) - SHOWN} more" if len(counts) > SHOWN else ""
    return f"{len(matches)} instructions: {listed}{more}; -a, --shape or a format chooses"


def _columns(inst: Instruction) -> tuple[str, str, str, str]:
    blocks = f" x {inst.blocks}" if inst.blocks > 1 else ""
    own = inst.formats
    formats = f"{own['A']} {own['B']} -> {own['D']}" if {"A", "B", "D"} <= set(own) else next(iter(own.values()), "")
    return inst.arch, inst.name, f"{_shape(inst)}{blocks}", formats


def _shape(inst: Instruction) -> str:
    """M, N and K; of tcgen05 the letters of those that are parameters and were not asked for, of its moves nothing."""
    if not inst.in_tensor_memory:
        return f"{inst.m}x{inst.n}x{inst.k}"
    given = getattr(inst, "given", None)
    return "" if given is None else f"{given.get('m', 'M')}x{given.get('n', 'N')}x{inst.k}"


def json_object(matches: Sequence[Instruction]) -> dict[str, Any]:
    """Every match with its shape, formats and cost."""
    from . import json

    return {"instructions": [json.instruction_object(instruction) for instruction in matches]}
