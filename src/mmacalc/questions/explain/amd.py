"""The matrix instructions of AMD's assembly, also within C++, explained: see `explain`."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache, lru_cache
from itertools import product

from ...asm.assembler import statement as assembled
from ...asm.encoder import faults
from ...asm.forms import form_of, model_modifiers
from ...asm.reader import named_targets, parse, read_listing, vector_registers
from ...asm.registers import RegisterRange
from ...asm.rows import kind_of
from ...asm.targets import agreed, own_assembler, target
from ...asm.written import modifier_default, modifier_value
from ...base.errors import Error, did_you_mean
from ...base.records import TupleRecord
from ...catalog import architectures, entry
from ...hazards.lint import lint
from ...hazards.register_use import is_matrix
from ...model.operand import negated
from .answer import ExplainedLine, ExplainedOperand, Explanation, explained_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ...asm.reader import Statement
    from ...asm.rows import Row
    from ...asm.targets import Target
    from ...compiler.c_text import Call
    from ...memory_access.transpose_loads import TransposeLoad
    from ...model import Instruction, Operand

__all__ = ["accepted", "explained", "explained_operand", "numbered"]

_MATRIX = re.compile(r"v_(?:mfma|smfmac|wmma|swmmac)_(?!ld_scale)")
_PLACEHOLDER = re.compile(r"[%$]")


def explained(text: str, arch: str | None) -> Explanation | None:
    """The explanation of AMD's assembly and clang's builtins; None if the text has no such matrix instruction."""
    statements = [one for one in read_listing(text).statements if is_matrix(one.mnemonic) or owners(one.mnemonic)]
    calls = _calls(text)
    if calls or not statements:  # C++: assembly is in strings
        whole = {one.number for one in statements}
        statements += [one for one in _inline(text) if one.number not in whole]
    if not statements and not calls:
        return None
    where, also = _architecture(named_targets(text), statements, calls, arch)
    lines = _lines(statements, calls, where, also)
    try:
        hazards = None if calls else lint(text, where)
    except Error:
        hazards = None
    if hazards is not None:  # of lines that are wrong, their own explanation says so
        hazards = hazards._replace(findings=tuple(one for one in hazards.findings if one.kind != "invalid"))
    return Explanation(
        entry(where).architecture.name, also, tuple(sorted(lines, key=lambda line: line.number)), hazards
    )


def _calls(text: str) -> list[Call]:
    """The calls of builtins and of intrinsics, whose names all have the target's."""
    if "amdgcn" not in text:
        return []
    from .builtins import builtin_calls

    return builtin_calls(text)


def _lines(
    statements: Iterable[Statement], calls: Iterable[Call], where: str, also: tuple[str, ...] = ()
) -> list[ExplainedLine]:
    """The explanations of statements and of calls."""
    lines = explained_once(
        statements, _alike, lambda one: one.number, _line, where, also, lambda one: (one.text, "AMD assembly")
    )
    if calls:
        from .builtins import builtin_line

        lines += explained_once(
            calls, lambda call: call[1:], lambda call: call.number, builtin_line, where, also,
            lambda call: (call.text, "builtin"),
        )  # fmt: skip
    return lines


def _alike(one: Statement) -> tuple[object, ...]:
    return one.mnemonic, one.operands, *one.modifiers.items(), one.text, one.written


def _inline(text: str) -> Iterator[Statement]:
    """The matrix instructions in strings of C++, each with the number of its line."""
    if not _MATRIX.search(text):
        return
    from ...compiler.c_text import strings, without_comments

    for number, string in strings(without_comments(text)):
        for further, line in enumerate(string.split("\n")):
            for written in re.split(r"\\[nt]|;", line):
                if _MATRIX.match(written.strip()):
                    yield parse(written.strip(), number + further)


def _architecture(
    targets: tuple[str, ...], statements: list[Statement], calls: list[Call], arch: str | None
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
    names, builtins = {one.mnemonic for one in statements}, {call.name for call in calls}
    having = {
        name: sum(entry(name).canonical(each) is not None or name in owners(each) for each in names)
        for name in architectures()
    }
    if builtins:
        from .builtins import has_builtin

        having = {name: count + sum(has_builtin(name, each) for each in builtins) for name, count in having.items()}
    most = max(having.values())
    if not most:
        first = statements[0].mnemonic if statements else calls[0].name
        near = {known: known for name in architectures() if _assembles(name) for known in _names(name, calls)}
        raise Error(f"no architecture has an instruction '{first}'.{did_you_mean(first, near)}", kind="unknown name")
    candidates = [name for name, count in having.items() if count == most]
    distinct = {_alike(one): one for one in statements}.values(), {call[1:]: call for call in calls}.values()
    fits = {name: _fit(_lines(*distinct, name), name) for name in candidates}
    best = min(reversed(candidates), key=lambda name: fits[name])
    return best, tuple([name for name in candidates if name != best and fits[name][0] == fits[best][0]])


def _fit(lines: list[ExplainedLine], where: str) -> tuple[int, int, bool, bool]:
    """How well lines fit an architecture, the least being the best: how many are wrong, how many operands have their
    number of registers; targets whose layouts are assumed come last, and those that no generation is called by."""
    placed = sum(operand.operand is not None for line in lines for operand in line.operands)
    assumed = "A" in entry(where).architecture.assumed
    return sum(bool(line.problem) for line in lines), -placed, assumed, where.startswith("gfx")


def _names(name: str, calls: list[Call]) -> Iterable[str]:
    """The mnemonics of an architecture; where builtins are called, their names."""
    if not calls:
        return entry(name).names
    from .builtins import builtin_names

    return builtin_names(name)


def _assembles(name: str) -> bool:
    """Whether it is an architecture whose assembly is AMD's."""
    return "assembly" not in entry(name).architecture.family.unsupported_topics and own_assembler(name) is None


def _line(one: Statement, where: str) -> ExplainedLine:
    number, text = one.number, one.text
    if owners(one.mnemonic):
        return transpose_load_line(one, where)
    try:
        inst = entry(where).instruction(one.mnemonic)
    except Error as refused:
        return ExplainedLine(number, text, "AMD assembly", problem=str(refused))
    found = _read(one, inst, where)
    operands = tuple(_operands(one, inst, found))
    cycles = inst.cycles_for(**{name: value for name, value in found.fields.items() if name in inst.choices})
    return ExplainedLine(
        number, text, "AMD assembly", inst, operands, found.fields, cycles,
        problem=found.problem, flags=found.flags, unused=found.unused,
    )  # fmt: skip


class _Reading(TupleRecord):
    """What an assembler makes of a line: what is wrong with it; its modifiers, as `ExplainedLine` has them; and the
    wave size whose registers fit."""

    problem: str
    fields: dict[str, int]
    flags: dict[str, int]
    unused: dict[str, int]
    wave: int


def _read(one: Statement, inst: Instruction, where: str) -> _Reading:
    """Assemble a line in each wave size, a placeholder of inline assembly as registers of each number; the modifiers of
    a line that no assembler takes are read as they are written."""
    problem = ""
    for wave in inst.architecture.waves:
        for text in _without_placeholders(one, where, wave):
            try:
                made = assembled(text, target(where, wave))
            except Error as refused:
                problem = problem or _faults(text, target(where, wave), refused)
                continue
            assert made.form is not None
            return _reading("", inst, wave, made.form, made.values)
    wave = inst.architecture.waves[0]
    form = form_of(one.mnemonic, target(where, wave))
    if form is None:
        return _Reading(problem, {}, {}, {}, wave)
    values = {each.field.name: modifier_default(form, each) for each in form.modifiers}
    for each in form.modifiers:
        if each.name in one.modifiers:
            with suppress(Error):
                values[each.field.name] = modifier_value(form, each, one.modifiers[each.name])
    return _reading(problem if one.operands else "", inst, wave, form, values)


def _faults(text: str, where: Target, refused: Error) -> str:
    """Everything for which a line is refused, each in a line of its own."""
    with suppress(Error):
        if every := faults(text, where, {}):
            return "\n".join(every)
    return str(refused).partition(". That is wave")[0]


def _reading(problem: str, inst: Instruction, wave: int, form: Row, values: Mapping[str, int]) -> _Reading:
    """The modifiers that fields of the encoding are."""
    own = model_modifiers(form, wave)
    given = {name: value for name, modifier in own.items() if (value := values[modifier.field.name])}
    fields, wrong = accepted(inst, wave, given)
    others = [each for each in form.modifiers if each not in own.values()]
    changed = {
        each.name: value for each in others if (value := values[each.field.name]) != modifier_default(form, each)
    }
    flags = {each.name: 1 for each in others if kind_of(each.name) == "flag" and each.name in changed}
    unused = {name: value for name, value in changed.items() if name not in flags}
    return _Reading(problem or wrong, fields, flags, unused, wave)


def _without_placeholders(one: Statement, where: str, wave: int) -> Iterator[str]:
    """The line; where operands are placeholders of inline assembly, with registers in their stead, of each number that
    the formats of fields may need."""
    form = form_of(one.mnemonic, target(where, wave))
    if form is None or not any(_PLACEHOLDER.match(text) for text in one.operands):
        yield one.written or one.text
        return
    after = [name if value == "" else f"{name}:{value}" for name, value in one.modifiers.items()]
    slots = form.slots[: len(one.operands)]
    sizes = [sorted({*slot.counts}) for slot in slots]
    for counts in product(*sizes):
        texts = []
        for at, (slot, count, text) in enumerate(zip(slots, counts, one.operands)):
            first = 0 if slot.name in ("C", "D") else 32 * at
            texts.append(str(RegisterRange(slot.files[0], first, count)) if _PLACEHOLDER.match(text) else text)
        yield f"{one.mnemonic} {', '.join(texts)} {' '.join(after)}"


def _operands(one: Statement, inst: Instruction, found: _Reading) -> Iterator[ExplainedOperand]:
    for role, text in zip(written_operands(inst), one.operands):
        layout = inst.operand(role, found.wave, **found.fields) if role in inst.operands else None
        placeholder = _PLACEHOLDER.match(text)
        registers = numbered(layout) if layout is not None and placeholder else register_names(text)
        yield explained_operand(role, text, registers, layout)


# --- Operands under modifiers: signs, halves of registers, sets and bytes ---


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
    halves = layout.format.bits == 16 and name != "C" and layout.placement.slots_per_location == 1
    high = layout.sign(16) if halves else low
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


# --- Loads that transpose ---

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
