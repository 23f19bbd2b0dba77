"""What the matrix instructions of a text do, as text and as JSON."""

from __future__ import annotations

from functools import lru_cache

from ..answers.explain import CONDITION, ExplainedOperand
from ..errors import printable
from ..model.architecture import DOUBTFUL
from . import json, lint
from .spelling import element_text, turned_over

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ..answers.explain import ExplainedLine, Explanation
    from ..formats import Format
    from ..layout import Layout
    from ..model import Element, Operand

__all__ = ["json_object", "text"]

SHOWN = 2  # registers whose elements are shown, besides the last
MOST = 4  # elements of a register that are all shown
ROLES = {"K": "K (sparse index)", "SA": "SA (scales of A)", "SB": "SB (scales of B)"}
DESCRIBED = "its shape and types are in the instruction descriptor: see `mmacalc help descriptor`"
NEVER, ALWAYS = ("0", "!UPT", "false"), ("1", "UPT", "true")
IN_SHARED_MEMORY = {"A": "transposed: M-major in shared memory", "B": "transposed: N-major in shared memory"}


def text(answer: Explanation, name: str) -> str:
    """A paragraph for each instruction, then the hazards, which name the text `name`."""
    from ..catalog import entry

    title = entry(answer.architecture).architecture.title
    newest = " (the newest that has all of this)" if answer.also else ""
    also = f"{newest}; also on {', '.join(answer.also)}. -a chooses" if answer.also else ""
    cycles = f"; cycles are those of {answer.product}" if answer.product else ""
    lines = [f"Architecture: {title}{also}{cycles}\n"]
    lines += _paragraphs(answer.lines)
    if answer.hazards is not None and len(answer.lines) + answer.hazards.instructions > 2:
        lines.append(lint.text(answer.hazards, name))
    return "\n".join(lines)


def _paragraphs(lines: Sequence[ExplainedLine]) -> Iterator[str]:
    """A paragraph for each line; of one that an earlier line equals, which that is."""
    first: dict[tuple[object, ...], int] = {}
    for line in lines:
        number = first.setdefault((line.text, line.language, line.problem, line.instruction), line.number)
        head = f"{f'{line.number}: ' if len(lines) > 1 else ''}{printable(line.text)}\n"
        yield head + ("".join(_line(line)) if number == line.number else f"  as line {number}\n")


def _line(line: ExplainedLine) -> Iterator[str]:
    inst = line.instruction
    if inst is None:
        yield f"  {line.problem or line.purpose}\n"
        return
    if line.language == "SASS":
        others = f" (or {', '.join(line.others)})" if line.others else ""
        yield f"  PTX: {inst.name}{others}\n"
    if inst.in_tensor_memory:
        described = "" if inst.features[-1] == "move" else DESCRIBED
        part = f"{line.part}, of two: " if line.part else ""
        yield f"  {part}{line.purpose or described}\n"
    else:
        yield f"  {_work(line)}\n"
    for operand in line.operands:
        yield from _operand(operand, line.operands[0])
    if line.laid_out_elsewhere:
        yield f"  other layouts on {', '.join(line.laid_out_elsewhere)}\n"
    if line.problem:
        yield f"  note: {line.problem}\n"


def _work(line: ExplainedLine) -> str:
    """What it computes: shape, formats, cycles."""
    inst = line.instruction
    assert inst is not None
    shape = f"{inst.m}x{inst.n}x{inst.k}" + (f", {inst.blocks} blocks" if inst.blocks > 1 else "")
    if "move" in inst.features:
        size = f"{inst.blocks} matrices" if inst.blocks > 1 else "a matrix"
        formats = dict.fromkeys(name for name in inst.formats.values() if name != "address")
        turned = turned_over(inst)
        in_memory = f"; in memory {turned}" if turned else ""
        return f"moves {size} of {inst.m}x{inst.n}, {', '.join(formats)}{in_memory}"
    a, b, d = [_format(line, inst.format(name, line.fields), name) for name in ("A", "B", "D")]
    sparse = ", A sparse" if inst.sparse else ""
    scaled = f", a scale for each {inst.block_size} k" if inst.block_size else ""
    cycles = f"{line.cycles} cycles" if line.cycles else "cycles not published"
    if line.part:
        cycles += " for all steps together"
    if elsewhere := [f"{name}: {count}" for name, count in line.cycles_elsewhere.items() if count]:
        cycles += f" ({', '.join(elsewhere)})"
    modifiers = {**line.fields, **line.flags}
    fields = "".join([f", {name.upper()} = {value}" for name, value in modifiers.items()])
    fields += "".join([f", {name.upper()} = {value} (no known effect)" for name, value in line.unused.items()])
    part = f"{line.part} of " if line.part else ""
    return f"{part}{_formula(line)}{sparse}, {shape}, {a} {b} -> {d}{scaled}; {cycles}{fields}"


def _format(line: ExplainedLine, form: Format, name: str) -> str:
    """The format of an operand; of integers whose sign a modifier chooses, with that sign."""
    remarks = _remarks(line, name)
    if form.kind != "either" or not {"signed", "unsigned"} & remarks:
        return form.name
    return f"{'i' if 'signed' in remarks else 'u'}{form.bits}"


def _remarks(line: ExplainedLine, name: str) -> set[str]:
    roles = (name, f"descriptor of {name}")
    return {remark for operand in line.operands if operand.role in roles for remark in operand.remarks}


def _formula(line: ExplainedLine) -> str:
    """The product with the signs of its operands; a stroke marks one of which only half of the elements are negated."""
    inst = line.instruction
    assert inst is not None
    factors = []
    for name in "AB":
        remarks = _remarks(line, name)
        half = "'" if remarks & {"low halves negated", "high halves negated"} else ""
        factors.append(f"(-{name})" if "negated" in remarks else name + half)
    signs = _remarks(line, "C")
    listed = not line.operands or any(operand.role == "C" for operand in line.operands)
    added = "C" if "C" in inst.operands and listed else "D"  # C of wgmma is D in PTX
    added = f"|{added}|" if "absolute value" in signs else added
    sign = "-" if "negated" in signs else "+"
    condition = next((operand.text for operand in line.operands if operand.role == CONDITION), "1")
    if condition in NEVER or any(operand.role == "C" and operand.text == "0" for operand in line.operands):
        return f"D = {' '.join(factors)}"
    when = "" if condition in ALWAYS else f" ({added} only where {printable(condition)})"
    return f"D = {' '.join(factors)} {sign} {added}{when}"


def _operand(operand: ExplainedOperand, result: ExplainedOperand) -> Iterator[str]:
    role = ROLES.get(operand.role, operand.role)
    if operand.layout is not None:
        yield from _cells(operand, operand.layout)
        return
    layout, remarks = operand.operand, "".join([f", {remark}" for remark in _spoken(operand)])
    if layout is not None and layout.provenance in DOUBTFUL:
        remarks += f" (the layout is {layout.provenance})"
    if layout is None or operand.lane is None:
        yield f"  {role}: {_named(operand)}{remarks}\n"
        return
    if operand.role == "C" and operand.registers == result.registers and operand.first == result.first:
        same = "the same as D" if result.text == operand.text else "laid out as D"
        yield f"  {role}: {printable(operand.text)}  {same}{remarks}\n"
        return
    sizes = ", ".join([f"{digit}={size}" for digit, size in layout.sizes.items()])
    yield f"  {role}: {printable(operand.text)}{remarks}  {layout.pattern}   {sizes}\n"
    texts = _first_and_last(layout, operand.first, len(operand.registers))
    names = [operand.registers[at] for at, _ in texts]
    held = [f"{name} = {elements}" for name, (_, elements) in zip(names, texts)]
    if len(operand.registers) > len(held):
        held.insert(SHOWN, "...")
    yield f"      lane {operand.lane}: {', '.join(held)}\n"


@lru_cache(1024)
def _first_and_last(layout: Operand, first: int, count: int) -> tuple[tuple[int, str], ...]:
    """The registers that are shown, and what the first lane has in them."""
    operand = ExplainedOperand("", "", ("",) * count, layout, first)
    pairs = layout.format.bits == 64 and count != layout.registers // 2  # PTX has one name for both
    half = (" (low half)", " (high half)") if pairs else ("", "")
    shown = range(count) if count <= SHOWN + 1 else (*range(SHOWN), count - 1)
    held = operand.held
    return tuple([(at, f"{_shortened(layout, held[at])}{half[(first + at) % 2]}") for at in shown])


def _named(operand: ExplainedOperand) -> str:
    """The text of an operand with the registers that it stands for."""
    registers, text = ", ".join(operand.registers), printable(operand.text)
    if operand.registers[:1] == (operand.text,):
        return registers
    if not registers:
        return text
    return f"{registers} (of the pair {text})" if text.isalnum() else f"{text} ({registers})"


def _cells(operand: ExplainedOperand, layout: Layout) -> Iterator[str]:
    """The registers of a tcgen05.ld or st, and which lanes and columns of Tensor Memory they move."""
    sizes = ", ".join([f"{digit}={size}" for digit, size in layout.trimmed_sizes.items()])
    yield f"  {operand.role}: {printable(operand.text)}  {layout.pattern}   {sizes}\n"
    held = [f"{name} = {' and '.join(map(_cell, cells))}" for name, cells in zip(operand.registers, operand.cells)]
    yield f"      thread 0: {_ends(held)}\n"


def _ends(held: Sequence[str]) -> str:
    """What the first registers hold, and the last."""
    return ", ".join(held if len(held) <= SHOWN + 1 else [*held[:SHOWN], "...", held[-1]])


def _cell(cell: Sequence[int]) -> str:
    """A cell of Tensor Memory, counted from the address."""
    return "lane {}, column {}".format(*cell) if len(cell) == 2 else str(cell)


def _spoken(operand: ExplainedOperand) -> list[str]:
    """The remarks on an operand as they are printed."""
    return [IN_SHARED_MEMORY[operand.role[-1]] if word == "transposed" else word for word in operand.remarks]


def _shortened(layout: Operand, held: Sequence[Element]) -> str:
    """The elements of a register: all, or the ends of a run along a row or a column.

    >>> import mmacalc
    >>> a = mmacalc.instruction("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").operand("A")
    >>> _shortened(a, a.contents(1, 0))
    'A[8][0..1]'
    """
    rows, cols = sorted({one.row for one in held}), sorted({one.col for one in held})
    blocks = sorted({one.block for one in held})
    one_block = len(blocks) == 1 and len(held) == len(rows) * len(cols) > 1
    if one_block and 1 in (len(rows), len(cols)) and _run(rows) and _run(cols):
        row, col = [f"{places[0]}..{places[-1]}" if len(places) > 1 else f"{places[0]}" for places in (rows, cols)]
        return element_text(layout, 0, 0, blocks[0]).replace("[0][0]", f"[{row}][{col}]")
    texts = [element_text(layout, one.row, one.col, one.block) for one in held]
    return " ".join(texts if len(texts) <= MOST else [texts[0], texts[1], "...", texts[-1]]) or "nothing"


def _run(places: Sequence[int]) -> bool:
    return places[-1] - places[0] == len(places) - 1


def _elements(operand: ExplainedOperand) -> list[list[str]]:
    """The elements of each register."""
    layout = operand.operand
    if operand.cells:
        return [list(map(_cell, cells)) for cells in operand.cells]
    if layout is None:
        return []
    return [[element_text(layout, one.row, one.col, one.block) for one in held] for held in operand.held]


def json_object(answer: Explanation, name: str | None = None) -> dict[str, Any]:
    """The same as plain data; name: the file's, where there are several."""
    return {
        **({} if name is None else {"file": name}),
        "architecture": answer.architecture,
        "also": list(answer.also),
        "product": answer.product or None,
        "lines": [_line_object(line) for line in answer.lines],
        "hazards": None if answer.hazards is None else lint.json_object(answer.hazards)["findings"],
    }


def _line_object(line: ExplainedLine) -> dict[str, Any]:
    inst = line.instruction
    whole = inst is not None and not inst.in_tensor_memory
    return {
        "line": line.number,
        "text": line.text,
        "language": line.language,
        "name": inst.name if inst else None,
        "instruction": json.instruction_object(inst) if inst and whole else None,
        "modifiers": {**line.fields, **line.flags, **line.unused},
        "cycles": line.cycles,
        "cycles_elsewhere": dict(line.cycles_elsewhere),
        "laid_out_elsewhere": list(line.laid_out_elsewhere),
        "part": line.part or None,
        "other_instructions": list(line.others),
        "problem": line.problem or None,
        "purpose": line.purpose or None,
        "operands": [
            {
                "role": operand.role,
                "text": operand.text,
                "registers": list(operand.registers),
                "first_register": operand.first,
                "remarks": list(operand.remarks),
                "pattern": placed.pattern if (placed := operand.operand or operand.layout) else None,
                "provenance": operand.operand.provenance if operand.operand else None,
                "lane": 0 if operand.cells else operand.lane,
                "elements": _elements(operand),
            }
            for operand in line.operands
        ],
    }
