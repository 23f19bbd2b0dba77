"""Operands of AMD's matrix instructions under modifiers, explained: signs, halves of registers, sets and bytes; and
loads that transpose a matrix into an operand."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from ...asm.reader import vector_registers
from ...base.errors import Error
from ...catalog import architectures, entry
from ...model.operand import negated
from .answer import ExplainedLine, ExplainedOperand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...asm.reader import Statement
    from ...memory_access.transpose_loads import TransposeLoad
    from ...model import Instruction, Operand

__all__ = [
    "accepted", "explained_operand", "numbered", "owners", "register_names", "transpose_load_line", "written_operands",
]  # fmt: skip

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


# --- loads that transpose ---------------------------------------------------------------------------------------------

_LOAD = re.compile(r"_tr\d*_b")
MEMORY = {"LDS": "LDS", "global": "global memory"}


@cache
def _loads() -> Mapping[str, Mapping[str, TransposeLoad]]:
    """The loads of every architecture, by mnemonic and architecture."""
    from ...memory_access.transpose_loads import transpose_loads

    found: dict[str, dict[str, TransposeLoad]] = {}
    for arch in architectures():
        for load in transpose_loads(arch):
            for name in (load.name, *load.aliases):
                found.setdefault(name, {})[arch] = load
    return found


def owners(mnemonic: str) -> Mapping[str, TransposeLoad]:
    """The architectures that have a load that transposes, with what it is there; none if it is no such load.

    >>> sorted(owners("ds_read_b64_tr_b16")), len(owners("ds_read_b64"))
    (['cdna4'], 0)
    """
    return _loads().get(mnemonic, {}) if _LOAD.search(mnemonic) else {}


def transpose_load_line(one: Statement, where: str) -> ExplainedLine:
    """The explanation of one load."""
    arch = entry(where).architecture.name
    load = owners(one.mnemonic).get(arch)
    if load is None:
        having = " and ".join(owners(one.mnemonic))
        why = f"{entry(where).architecture.title} has no {one.mnemonic}; {having} ha{'ve' if ' ' in having else 's'} it"
        return ExplainedLine(one.number, one.text, "AMD assembly", problem=why)
    purpose = (
        f"loads and transposes {load.bits}-bit elements of a tile in {MEMORY[load.memory]}, {load.elements} for each "
        f"lane: `mmacalc transpose-loads -a {where} --load {load.name}` shows them lane by lane, with -i and -A or -B "
        "the operands that it fills"
    )
    roles = zip(("D", "address"), one.operands)
    operands = tuple([ExplainedOperand(role, text, register_names(text)) for role, text in roles])
    return ExplainedLine(one.number, one.text, "AMD assembly", operands=operands, purpose=purpose)
