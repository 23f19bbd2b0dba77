"""A matrix instruction of PTX, explained: see `explain`.

The order of the operands is that of PTX ISA 9.1, sections 9.7.14 (mma) and 9.7.15 (wgmma).
"""

from __future__ import annotations

import re

from ...base.checks import literal
from ...base.errors import Error
from ...throughput import duration
from . import tensor_memory
from .answer import CONDITION, ExplainedLine, ExplainedOperand, purpose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...catalog import Entry
    from ...model import Instruction, Product

__all__ = ["IDS", "cycles", "fields_of", "instruction_line", "line", "other_line", "register_count", "split"]

_PART = re.compile(r"[][{},]|[^][{},]+")
IDS = "byte and thread id of {}"
BEYOND = 1 << 64  # stands for a text that is not a number: no field takes it
TRANSPOSABLE = ("f16", "bf16")
SIGNED = {"-1": "negated", "1": "transposed"}  # what an immediate of a scale, and one of a transposition, does


def cycles(inst: Instruction, product: Product | None) -> int | None:
    """How long an instruction occupies its matrix unit; None for one that only moves a matrix, and where NVIDIA has not
    published it."""
    return duration(inst, {}, product) if inst.flops else None


def other_line(number: int, shown: str, language: str, name: str, refused: Error) -> ExplainedLine:
    """The explanation of other instructions: what they are for, or why they are not known."""
    if what := purpose(name):
        return ExplainedLine(number, shown, language, purpose=what)
    return ExplainedLine(number, shown, language, problem=str(refused))


def split(text: str) -> list[str]:
    """The operands of an instruction: what stands between commas that are in no braces or brackets.

    >>> split("{%0, %1},  [%2, 4], %p")
    ['{%0, %1}', '[%2, 4]', '%p']
    """
    parts: list[list[str]] = [[]]
    depth = 0
    for part in _PART.findall(text):
        depth = depth + 1 if part in "[{" else max(0, depth - 1) if part in "]}" else depth
        if part == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(part)
    words = [" ".join("".join(each).split()) for each in parts]
    return [word for word in words if word]


def line(known: Entry, product: Product | None, number: int, name: str, rest: str) -> ExplainedLine:
    """The explanation of one instruction: its name, and what follows."""
    shown = " ".join(f"{name} {rest}".split())
    words = split(rest.partition(":")[0])
    try:
        inst = known.instruction(name)
    except Error as refused:
        if name.startswith("tcgen05.") and (why := tensor_memory.refused(name, known.architecture.name, words)):
            return ExplainedLine(number, shown, "PTX", problem=why, purpose=purpose(name))
        return other_line(number, shown, "PTX", name, refused)
    return instruction_line(inst, product, number, shown, words)


def instruction_line(
    inst: Instruction, product: Product | None, number: int, shown: str, words: list[str], language: str = "PTX"
) -> ExplainedLine:
    """The explanation of an instruction with its operands in the order of PTX."""
    if inst.in_tensor_memory:
        return tensor_memory.line(inst, number, shown, words, language)
    taken = tuple(_roles(inst, words))
    roles = list(zip(taken, words))
    given = dict(roles)
    problem, fields = "", fields_of(inst, given)
    if words and inst.flops and len(words) != len(taken):
        problem = f"it takes {len(taken)} operands: {', '.join(taken)}; got {len(words)}"
    try:
        inst.check_modifiers(None, fields)
    except Error as refused:
        problem, fields = str(refused), {}
    operands = []
    for role, text in roles:
        operand = _operand(inst, role, text, fields, _remarks(role, given))
        names = _names(text) if role in inst.register_operands else ()
        if names and operand.operand is None:
            problem = problem or f"{role} takes {register_count(inst, role)} registers; got {len(names)}"
        operands.append(operand)
    return ExplainedLine(number, shown, language, inst, tuple(operands), fields, cycles(inst, product), problem=problem)


def _roles(inst: Instruction, words: list[str]) -> Iterator[str]:
    """What the operands of a PTX instruction are, in their order."""
    kind = inst.name.partition(".")[0]
    if "move" in inst.features:
        own = [name for name in inst.register_operands if name != "P"]
        stores = kind == "stmatrix" or inst.name.startswith("wmma.store")
        yield from ("D", "A") if kind == "movmatrix" else ("address", *own) if stores else (*own, "address")
        return
    if "wgmma" in inst.features:
        in_registers = len(words) > 1 and words[1].startswith("{")
        yield from ("D", "A" if in_registers else "descriptor of A", "descriptor of B")
        yield from ("K", "selector") if inst.sparse else ()
        yield CONDITION
        yield from () if inst.integer else ("scale of A", "scale of B")
        if inst.formats["A"] in TRANSPOSABLE:  # A in registers cannot be transposed
            yield from ("transpose of B",) if in_registers else ("transpose of A", "transpose of B")
        return
    yield from ("D", "A", "B", "C")
    yield from ("K", "selector") if inst.sparse else ()
    yield from ("SA", IDS.format("SA"), "SB", IDS.format("SB")) if inst.scaled else ()


def fields_of(inst: Instruction, given: Mapping[str, str]) -> dict[str, int]:
    """The fields that immediate operands are: the sparsity selector, the byte and thread ids of the scales.

    Args:
        inst: the instruction. given: the text of each operand, by its role.
    """
    fields = {}
    for role, names in (
        ("selector", ("selector",)),
        (IDS.format("SA"), ("byte_id_a", "thread_id_a")),
        (IDS.format("SB"), ("byte_id_b", "thread_id_b")),
    ):
        for name, text in zip(names, given.get(role, "").strip("{}").split(",")):
            value = literal(text.strip())
            if value is None and text.strip()[:1].isdigit():
                value = BEYOND
            fields[name] = value or 0  # 0 where it is a register
    return {name: value for name, value in fields.items() if value}


def _remarks(role: str, given: Mapping[str, str]) -> tuple[str, ...]:
    """What the immediates of wgmma do to A and B."""
    matrix = role[-1:]
    if role not in (matrix, f"descriptor of {matrix}"):
        return ()
    texts = (given.get(f"scale of {matrix}"), given.get(f"transpose of {matrix}"))
    return tuple([remark for (number, remark), text in zip(SIGNED.items(), texts) if text == number])


def _names(text: str) -> tuple[str, ...]:
    """The registers of a list in braces, or of one register."""
    if text.startswith("{"):
        return tuple([name.strip() for name in text.strip("{}").split(",")])
    return (text,) if text[:1].isalpha() or text[:1] in ("%", "$", "_") else ()


def _operand(
    inst: Instruction, role: str, text: str, fields: Mapping[str, int], remarks: tuple[str, ...]
) -> ExplainedOperand:
    """An operand with its layout where the number of its registers fits."""
    names = _names(text)
    if role not in inst.register_operands or not names:
        return ExplainedOperand(role, text, remarks=remarks)
    layout = inst.operand(role, **fields)
    fits = len(names) == register_count(inst, role)
    return ExplainedOperand(role, text, names if fits else (), layout if fits else None, remarks=remarks)


def register_count(inst: Instruction, role: str) -> int:
    """How many registers of PTX an operand has: those of 64-bit elements have 64 bits."""
    return inst.operand(role).registers // (2 if inst.format(role).bits == 64 else 1)
