"""Operands of AMD's matrix instructions under modifiers, explained: signs, halves of registers, sets and bytes."""

from __future__ import annotations

from functools import lru_cache

from ..asm.reader import vector_registers
from ..errors import Error
from ..model.modifiers import negated
from .explain import ExplainedOperand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..model import Instruction, Operand

__all__ = ["accepted", "explained_operand", "numbered", "register_names", "written_operands"]

PARTS = {"K": "set", "SA": "byte", "SB": "byte"}  # what a part of a register is called
HALVES = ("low half", "high half")


def written_operands(inst: Instruction) -> tuple[str, ...]:
    """The operands in the order of assembly."""
    return ("D", "A", "B", "K" if inst.sparse else "C", "SA", "SB")


def accepted(inst: Instruction, wave: int, given: Mapping[str, int]) -> tuple[dict[str, int], str]:
    """Of modifiers those that the instruction takes, and why it does not take the others: LLVM encodes values that no
    instruction has."""
    fields: dict[str, int] = {}
    wrong = ""
    for name, value in given.items():
        try:
            inst.check_modifiers(wave, {**fields, name: value})
        except Error as refused:
            wrong = wrong or str(refused)
        else:
            fields[name] = value
    return fields, wrong


def numbered(layout: Operand) -> tuple[str, ...]:
    """The registers of an operand that has one name in C++."""
    return tuple([f"register {number}" for number in range(layout.registers)])


def register_names(text: str) -> tuple[str, ...]:
    """The vector registers that an operand of assembly names, each by itself."""
    return tuple([f"{span.file}{span.first + at}" for span in vector_registers(text) for at in range(span.count)])


def explained_operand(role: str, text: str, registers: tuple[str, ...], layout: Operand | None) -> ExplainedOperand:
    """An operand with its layout where it has as many registers, and what modifiers do to it."""
    if layout is None:
        return ExplainedOperand(role, text)
    remarks = _remarks(layout, bool(registers))  # neither an SGPR nor a constant has lanes
    if len(registers) != layout.registers:
        return ExplainedOperand(role, text, remarks=remarks)
    return ExplainedOperand(role, text, registers, layout, remarks=remarks)


@lru_cache(1024)
def _remarks(layout: Operand, lanes: bool) -> tuple[str, ...]:
    """What modifiers do to an operand; lanes: whether its lanes are of interest."""
    return (*_signs(layout), *[each for each in _part(layout) if lanes or not each.startswith("lanes")])


def _signs(layout: Operand) -> Iterator[str]:
    """What NEG, NEG_HI (and BLGP of FP64) do: of integers, NEG says which are signed."""
    name, inst = layout.name, layout.instruction
    if name not in inst.operands or name not in "ABC":
        return
    if layout.format.kind == "either":
        yield "signed" if negated(layout.fields.get("neg", 0), name) else "unsigned"
        return
    low = layout.sign(0)
    high = layout.sign(16) if layout.format.bits == 16 and name != "C" and layout.placement.merge == 1 else low
    if "|" in low:
        yield "absolute value"
    if "-" in low and "-" in high:
        yield "negated"
    elif "-" in low or low == "low":
        yield "low halves negated"
    elif "-" in high or low == "high":
        yield "high halves negated"


def _part(layout: Operand) -> Iterator[str]:
    """Which bits of its registers an operand has, and of scales which lanes, where it does not have all."""
    chosen = layout.name in PARTS
    lanes = [lane for lane in range(layout.lanes if chosen else 1) if layout.contents(0, lane)]
    if not lanes:
        return
    held = layout.contents(0, lanes[0])
    first, last = min(one.lsb for one in held) & ~7, max(one.lsb + one.width for one in held) + 7 & ~7
    width = last - first
    if 0 < width < 32 and first % width == 0:
        number = first // width
        name = f"{PARTS[layout.name]} {number}" if layout.name in PARTS else HALVES[number] if width == 16 else "part"
        yield f"{name}: bits {last - 1}:{first}"
    if chosen and lanes == list(range(lanes[0], lanes[-1] + 1)) and len(lanes) < layout.lanes:
        yield f"lanes {lanes[0]}..{lanes[-1]}"
