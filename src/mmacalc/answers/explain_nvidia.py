"""The matrix instructions of PTX and SASS, explained: see `explain`."""

from __future__ import annotations

import re

from ..catalog import entry
from ..catalog.grammar.sass import TENSOR_MEMORY, is_opcode, near_opcode, own_sources, sources
from ..errors import Error
from ..rates import duration, rated_product
from .explain import ExplainedLine, ExplainedOperand, Explanation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..catalog import Entry
    from ..model import Instruction, Product

__all__ = ["explained", "near"]

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_PTX = re.compile(
    r"\b((?:mma\.(?:sync|sp)|wgmma\.mma_async|wmma\.(?:mma|load|store)|ldmatrix\.|stmatrix\.|movmatrix\.|tcgen05\.(?:mma|ld|st|cp)\b)"
    r"[\w.:]*)([^;]*)"
)
_SASS = re.compile(
    r"(?m)^[ \t]*(?:@!?U?P\w+[ \t]+)?([A-Z][A-Z0-9]+(?:\.\w+)*)(?:[ \t]+([^;\n]*))?;?[ \t]*$", re.IGNORECASE
)
_TARGET = re.compile(r"\.target\s+(sm_\w+)|code for (sm_\w+)|EF_CUDA_SM(\d+a?)|arch = (sm_\w+)")
_WORD = re.compile(r"\{[^{}]*\}|[^,{}]+\[[^\]]*\]|[^,{}]+")
_REGISTER = re.compile(r"[-~|]*(R)(\d+|Z)\b", re.IGNORECASE)
# The targets that are tried where a text names none: those of the data centre and of GeForce, the oldest first.
USUAL = ("sm_70", "sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a")


def explained(text: str, arch: str | None) -> Explanation | None:
    """The explanation of PTX or SASS; None if the text has no such matrix instruction."""
    plain = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    # Strings of inline assembly: quotes, and the ends of lines as C++ writes them.
    unquoted = plain.replace("\\n", "  ").replace("\\t", "  ").replace('"', " ")
    ptx = [(_line_of(unquoted, match.start()), match[1].rstrip("."), match[2]) for match in _PTX.finditer(unquoted)]
    sass = [(_line_of(plain, match.start(1)), match[1], match[2] or "") for match in _SASS.finditer(plain)
            if is_opcode(match[1])]  # fmt: skip
    if not ptx and not sass:
        return None
    where, also = _architecture(text, arch, [name for _, name, _ in ptx], [name for _, name, _ in sass])
    known, product = entry(where), rated_product(where)
    differ = product is not None and any(one.fma_per_clock for one in known.architecture.products)
    lines = [_ptx(known, product, *one) for one in ptx] + [_sass(known, product, *one) for one in sass]
    ordered = tuple(sorted(lines, key=lambda line: line.number))
    return Explanation(known.architecture.name, also, ordered, product=product.name if product and differ else "")


def near(text: str) -> str:
    """The opcode that the first word of a text is close to, as a clause."""
    return near_opcode(text.split(" ")[0])


def _line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _architecture(text: str, arch: str | None, ptx: list[str], sass: list[str]) -> tuple[str, tuple[str, ...]]:
    """The target, and others of USUAL that have all of the instructions.

    Raises:
        Error: the architecture is not NVIDIA's.
    """
    named = next((next(filter(None, match)) for match in _TARGET.findall(text)), "")
    if arch is not None or named:
        found = arch if arch is not None else named if named.startswith("sm_") else f"sm_{named}"
        if not entry(found).architecture.family.sass:
            raise Error(f"the text is NVIDIA's {'PTX' if ptx else 'SASS'}; {found} is not a target of NVIDIA")
        return found, ()
    names = {*ptx, *sass}
    having = [name for name in USUAL if all(_has(entry(name), one) for one in names)]
    if having:
        return having[0], tuple(having[1:])
    some = [name for name in USUAL if any(_has(entry(name), one, part=True) for one in names)]
    return (*some, "sm_80")[0], ()


def _has(known: Entry, name: str, part: bool = False) -> bool:
    if is_opcode(name):
        tensor_memory = name.upper().startswith(TENSOR_MEMORY)
        return bool(known.tensor_memory_names) if tensor_memory else bool(sources(known, name, part))
    try:
        known.instruction(name)
    except Error:
        return False
    return True


def _cycles(inst: Instruction, product: Product | None) -> int | None:
    """How long an instruction occupies its matrix unit; None for one that only moves a matrix, and where NVIDIA has not
    published it."""
    return duration(inst, {}, product) if inst.flops else None


# --- PTX ---


def _ptx(known: Entry, product: Product | None, number: int, name: str, rest: str) -> ExplainedLine:
    shown = " ".join(f"{name} {rest}".split())
    try:
        inst = known.instruction(name)
    except Error as refused:
        return ExplainedLine(number, shown, "PTX", problem=str(refused))
    if inst.in_tensor_memory:
        return ExplainedLine(number, shown, "PTX", inst)
    words = [" ".join(word.split()) for word in _WORD.findall(rest.partition(":")[0]) if word.strip()]
    problem, operands = "", []
    for role, text in zip(_ptx_roles(inst, words), words):
        names = tuple([name.strip() for name in text.strip("{}").split(",")]) if text.startswith("{") else ()
        if role in inst.register_operands and not names and text.startswith("%"):
            names = (text,)
        operand = _operand(inst, role, text, names)
        if names and operand.operand is None and role in inst.register_operands:
            problem = problem or f"{role} takes {_count(inst, role)} registers; got {len(names)}"
        operands.append(operand)
    return ExplainedLine(number, shown, "PTX", inst, tuple(operands), {}, _cycles(inst, product), problem=problem)


def _ptx_roles(inst: Instruction, words: list[str]) -> Iterator[str]:
    """What the operands of a PTX instruction are, in their order (PTX ISA 9.1, sections 9.7.14 and 9.7.15)."""
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
        yield from ("whether C is added", "scale of A", "scale of B", "transpose of A", "transpose of B")
        return
    yield from ("D", "A", "B", "C")
    yield from ("K", "selector") if inst.sparse else ()
    yield from ("SA", "byte and thread id of SA", "SB", "byte and thread id of SB") if inst.scaled else ()


def _operand(inst: Instruction, role: str, text: str, names: tuple[str, ...]) -> ExplainedOperand:
    """An operand with its layout where the number of its registers fits."""
    if role not in inst.register_operands or not names:
        return ExplainedOperand(role, text)
    layout = inst.operand(role)
    fits = len(names) == _count(inst, role)
    return ExplainedOperand(role, text, names if fits else (), layout if fits else None)


def _count(inst: Instruction, role: str) -> int:
    """How many registers of PTX an operand has: those of 64-bit elements have 64 bits."""
    return inst.operand(role).registers // (2 if inst.format(role).bits == 64 else 1)


# --- SASS ---


def _sass(known: Entry, product: Product | None, number: int, opcode: str, rest: str) -> ExplainedLine:
    shown = " ".join(f"{opcode} {rest}".split())
    own = [] if opcode.upper().startswith(TENSOR_MEMORY) else own_sources(known, opcode)
    if not own:
        try:
            inst = known.instruction(opcode)
        except Error as refused:
            return ExplainedLine(number, shown, "SASS", problem=str(refused))
        return ExplainedLine(number, shown, "SASS", inst)
    inst = own[0]
    words = [word.strip() for word in _WORD.findall(rest) if word.strip()]
    operands = [_sass_operand(inst, role, text) for role, text in zip(_sass_roles(inst, words), words)]
    several = {one.operand(role).pattern for one in own[:4] for role in one.register_operands if role == "A"}
    problem = "one of several PTX instructions with layouts of their own" if len(several) > 1 else ""
    others = tuple([one.name for one in own[1:] if "wmma" not in one.features][:3])
    cycles = _cycles(inst, product)
    return ExplainedLine(number, shown, "SASS", inst, tuple(operands), {}, cycles, others, problem)


def _sass_roles(inst: Instruction, words: list[str]) -> Iterator[str]:
    kind = inst.name.partition(".")[0]
    if "move" in inst.features:
        yield from {"ldmatrix": ("D", "address"), "stmatrix": ("address", "A")}.get(kind, ("D", "A"))
    elif "wgmma" in inst.features:
        in_registers = len(words) > 1 and bool(_REGISTER.match(words[1]))
        yield from ("D", *(("A", "descriptor of B") if in_registers else ("descriptors of A and B",)), "C")
    else:
        yield from ("D", "A", "B", "C")
        yield from ("K", "selector") if inst.sparse else ()


def _sass_operand(inst: Instruction, role: str, text: str) -> ExplainedOperand:
    """An operand: SASS names the first of its 32-bit registers; RZ is zero."""
    register = _REGISTER.match(text)
    if register is None or register[2] in "zZ" or role not in inst.register_operands:
        return ExplainedOperand(role, "0" if register and register[2] in "zZ" else text)
    layout = inst.operand(role)
    names = tuple([f"R{int(register[2]) + at}" for at in range(layout.registers)])
    return ExplainedOperand(role, text, names, layout)
