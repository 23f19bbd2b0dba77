"""Two instructions side by side, of any architectures."""

from __future__ import annotations

from . import tables
from .spelling import is_ptx

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..model import Instruction

_ORDER = ("A", "B", "C", "D", "K", "SA", "SB", "P")


def data(inst: Instruction) -> dict[str, Any]:
    """What is compared of one instruction: shape, work, and each operand's format, registers and layout."""
    operands = {}
    for name in sorted(inst.operands, key=_ORDER.index):
        about: dict[str, Any] = {"format": inst.format(name).name, "bits": inst.format(name).bits}
        if name in inst.register_operands:
            operand = inst.operand(name)
            about |= {
                "registers": operand.registers,
                "elements_per_lane": operand.layout.spans["item"],
                "pattern": operand.pattern,
                "sizes": operand.sizes,
            }
        else:
            about |= {
                "registers": inst.fragment_registers.get(name, 0),
                "elsewhere": inst.elsewhere[name],
            }
        operands[name] = about
    return {
        "architecture": inst.arch,
        "instruction": inst.name,
        "m": inst.m,
        "n": inst.n,
        "k": inst.k,
        "blocks": inst.blocks,
        "lanes": lanes(inst),
        "operations": inst.flops,
        "operations_per_lane": inst.flops // lanes(inst),
        "cycles": inst.cycles,
        "sparse": inst.sparse,
        "operands": operands,
    }


def lanes(inst: Instruction) -> int:
    """How many lanes carry out one instruction together: a wave, a warp, or the 128 of a warpgroup."""
    return 128 if "wgmma" in inst.features else inst.architecture.waves[0]


def text(first: Instruction, second: Instruction) -> str:
    """A table of both, and the patterns below it, where they have room."""
    sides = data(first), data(second)
    rows = [
        ("architecture", first.architecture.title, second.architecture.title),
        ("shape", *(_shape(side) for side in sides)),
        ("lanes", *(str(side["lanes"]) for side in sides)),
        ("operations", *(str(side["operations"]) for side in sides)),
        ("operations per lane", *(str(side["operations_per_lane"]) for side in sides)),
        ("cycles", *(str(side["cycles"] or "not published") for side in sides)),
    ]
    shared = [name for name in _ORDER if any(name in side["operands"] for side in sides)]
    rows += [(f"{name} format", *(_cell(side, name, "format") for side in sides)) for name in shared]
    rows += [(f"{name} registers", *(_cell(side, name, "registers") for side in sides)) for name in shared]
    header = ["", *(inst.name if is_ptx(inst) else inst.name.upper() for inst in (first, second))]
    return tables.write(header, rows, "grid") + _patterns(sides, shared)


def _shape(side: dict[str, Any]) -> str:
    blocks = f" x {side['blocks']}" if side["blocks"] > 1 else ""
    return f"{side['m']}x{side['n']}x{side['k']}{blocks}"


def _cell(side: dict[str, Any], name: str, key: str) -> str:
    operand = side["operands"].get(name)
    return "-" if operand is None else str(operand[key])


def _patterns(sides: tuple[dict[str, Any], ...], shared: list[str]) -> str:
    width = max(len(side["architecture"]) for side in sides)
    lines = []
    for name in shared:
        lines.append(f"{name}\n")
        for side in sides:
            operand = side["operands"].get(name)
            if operand is None:
                continue
            sizes = ", ".join(f"{digit}={size}" for digit, size in operand.get("sizes", {}).items())
            shown = f"{operand['pattern']}   {sizes}" if "pattern" in operand else operand["elsewhere"]
            lines.append(f"    {side['architecture']:{width}}  {shown}\n")
    return "".join(lines)
