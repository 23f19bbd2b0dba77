"""The matrix instructions of AMD's assembly, explained: see `explain`."""

from __future__ import annotations

import re

from ..asm.assembler import statement as assembled
from ..asm.reader import named_targets, read_listing, vector_registers
from ..asm.targets import agreed, own_assembler, target
from ..asm.tokens import TokenStream
from ..catalog import architectures, entry
from ..errors import Error, did_you_mean
from ..hazards.lint import lint
from ..hazards.register_use import is_matrix
from .explain import ExplainedLine, ExplainedOperand, Explanation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..asm.reader import Statement
    from ..model import Instruction

__all__ = ["explained"]

# An instruction within a string of inline assembly.
_INLINE = re.compile(r"\bv_(?:mfma|smfmac|wmma|swmmac)_[^\"\n]*")
_PLACEHOLDER = re.compile(r"[%$]")
# Modifiers that concern layouts and formats, and the field of the encoding that has their value.
FIELDS = {
    "cbsz": "CBSZ", "abid": "ABID", "blgp": "BLGP", "matrix_a_fmt": "A_FMT", "matrix_b_fmt": "B_FMT",
    "matrix_a_scale_fmt": "SCALE_A_FMT", "matrix_b_scale_fmt": "SCALE_B_FMT", "matrix_a_scale": "SCALE_A_ROW",
    "matrix_b_scale": "SCALE_B_ROW",
}  # fmt: skip


def explained(text: str, arch: str | None) -> Explanation | None:
    """The explanation of AMD's assembly; None if the text has no such matrix instruction."""
    listing = read_listing(text)
    statements = [one for one in listing.statements if is_matrix(one.mnemonic)]
    if not statements:  # in strings of C++, perhaps
        found = [_INLINE.search(line) for line in text.split("\n")]
        listing = read_listing("\n".join([match[0] if match else "" for match in found]))
        statements = [one for one in listing.statements if is_matrix(one.mnemonic)]
    if not statements:
        return None
    where, also = _architecture(named_targets(text), statements, arch)
    lines = tuple([_line(one, where) for one in statements])
    try:
        hazards = lint(text, where)
    except Error:  # a line that is not known or not whole; its own explanation says so
        hazards = None
    return Explanation(entry(where).architecture.name, also, lines, hazards)


def _architecture(
    targets: tuple[str, ...], statements: list[Statement], arch: str | None
) -> tuple[str, tuple[str, ...]]:
    """The architecture, and others that are possible.

    Raises:
        Error: the text names another one than `arch`, or none has any of the instructions.
    """
    if arch is not None or targets:
        named = agreed(arch, targets, "the listing")
        if not _assembles(named):
            raise Error(f"the text is AMD's assembly; {named} is not an architecture of AMD")
        return named, ()
    names = {one.mnemonic for one in statements}
    having = {name: sum(entry(name).canonical(each) is not None for each in names) for name in architectures()}
    most = max(having.values())
    if not most:
        first = statements[0].mnemonic
        near = {known: known for name in architectures() if _assembles(name) for known in entry(name).names}
        raise Error(f"no architecture has an instruction '{first}'.{did_you_mean(first, near)}")
    candidates = [name for name, count in having.items() if count == most]
    wrong = {name: sum(bool(_line(one, name).problem) for one in statements) for name in candidates}
    # Targets whose layouts are assumed come last.
    candidates.sort(key=lambda name: (wrong[name], "A" in entry(name).architecture.assumed))
    best = candidates[0]
    return best, tuple([name for name in candidates[1:] if wrong[name] == wrong[best]])


def _assembles(name: str) -> bool:
    """Whether it is an architecture whose assembly is AMD's."""
    return "assembly" not in entry(name).architecture.family.refused and own_assembler(name) is None


def _line(one: Statement, where: str) -> ExplainedLine:
    number, text = one.number, one.text
    try:
        inst = entry(where).instruction(one.mnemonic)
    except Error as refused:
        return ExplainedLine(number, text, "AMD assembly", problem=str(refused))
    problem, fields, wave = _read(one, inst, where)
    operands = tuple(_operands(one, inst, fields, wave))
    cycles = inst.cycles_for(**{name: value for name, value in fields.items() if name in inst.choices})
    return ExplainedLine(number, text, "AMD assembly", inst, operands, fields, cycles, problem=problem)


def _read(one: Statement, inst: Instruction, where: str) -> tuple[str, dict[str, int], int]:
    """What an assembler finds wrong, the modifiers, and the wave size whose registers fit."""
    problem, inline = "", _PLACEHOLDER.search(one.text) is not None
    for wave in inst.architecture.waves:
        try:
            made = assembled(TokenStream(one.text, {}), target(where, wave))
        except Error as refused:
            problem = problem or str(refused).partition(". That is wave")[0]
            continue
        limits = inst.modifier_limits(wave)
        given = {name: made.values.get(field, 0) for name, field in FIELDS.items() if name in limits}
        fields = {name: value for name, value in given.items() if value}
        try:
            inst.check_modifiers(wave, fields)
        except Error as refused:  # LLVM encodes values that no instruction has
            return str(refused), {}, wave
        return "", fields, wave
    return (problem if one.operands and not inline else ""), {}, inst.architecture.waves[0]


def _operands(one: Statement, inst: Instruction, fields: dict[str, int], wave: int) -> list[ExplainedOperand]:
    roles = ("D", "A", "B", "K" if inst.sparse else "C", "SA", "SB")
    found = []
    for role, text in zip(roles, one.operands):
        ranges = vector_registers(text)
        registers = tuple([f"{span.file}{span.first + at}" for span in ranges for at in range(span.count)])
        layout = inst.operand(role, wave, **fields) if role in inst.operands else None
        fits = layout is not None and len(registers) == layout.registers
        found.append(ExplainedOperand(role, text, registers if fits else (), layout if fits else None))
    return found
