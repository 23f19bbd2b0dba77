"""Instructions of Tensor Memory in PTX and SASS, explained: see `explain`.

The order of the operands is that of PTX ISA 9.1, section 9.7.16. Shape and types of a product are in its instruction
descriptor; those of a move are in its name.
"""

from __future__ import annotations

import re

from ..catalog.grammar.purposes import purpose
from ..model.tensor_memory_move import TensorMemoryMove
from .explain import CONDITION, ExplainedLine, ExplainedOperand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model import Instruction

__all__ = ["line", "moved_registers"]

COMPRESSED = ".spcompress."
_SASS_REGISTER = re.compile(r"R(\d+)$")
# Two opcodes do what a .16x32bx2 does, each from an address of its own (ptxas 13.0.88).
_HALF = re.compile(r"t0_t15|t16_t31", re.IGNORECASE)
HALVES = {"t0_t15": "the opcode for threads 0..15", "t16_t31": "the opcode for threads 16..31"}
OPERANDS = {
    "ld": "D address offset", "ld.red": "D reduction address offset", "st": "address A", "cp": "address descriptor",
    "shift": "address", "alloc": "destination columns", "dealloc": "address columns", "commit": "mbarrier mask",
}  # fmt: skip
SPOKEN = {
    "D": "D", "A": "A", "address": "address in Tensor Memory", "offset": "columns between the halves",
    "reduction": "result of the reduction", "descriptor": "descriptor of the matrix in shared memory",
    "destination": "where the address is written", "columns": "number of columns", "mbarrier": "mbarrier",
    "mask": "CTAs of the cluster",
}  # fmt: skip


def line(inst: Instruction, number: int, shown: str, words: list[str], language: str = "PTX") -> ExplainedLine:
    """The explanation of one instruction, whose operands are `words`."""
    if isinstance(inst, TensorMemoryMove):
        return _move(inst, number, shown, words, language)
    operands = [ExplainedOperand(role, text) for role, text in zip(_product_roles(inst, words), words)]
    return ExplainedLine(number, shown, language, inst, tuple(operands))


def _move(inst: TensorMemoryMove, number: int, shown: str, words: list[str], language: str) -> ExplainedLine:
    operation = inst.name.removeprefix("tcgen05.").partition(".")[0]
    roles = OPERANDS.get("ld.red" if ".red." in inst.name else operation, "").split()
    if COMPRESSED in inst.name:  # half of the registers, and metadata; which are which, no public source says
        roles = []
    if operation == "st" and len(words) > 2:
        roles = ["address", "offset", "A"]
    half = next((found[0].lower() for found in [_HALF.search(shown)] if found), "")
    problem, operands = "", []
    for role, text in zip(roles, words):
        names = _names(inst, text) if role in ("D", "A") else ()
        wanted = moved_registers(inst) if names else 0
        if names and len(names) != wanted:
            problem = f"{role} takes {wanted} registers; got {len(names)}"
            names = ()
        operands.append(_operand(inst, SPOKEN[role], text, names, bool(half)))
    what = _moving(inst, operation) or purpose(inst.name)
    part = HALVES.get(half, "")
    return ExplainedLine(number, shown, language, inst, tuple(operands), problem=problem, part=part, purpose=what)


def _product_roles(inst: Instruction, words: list[str]) -> Iterator[str]:
    """What the operands of a tcgen05.mma are, in their order."""
    in_tensor_memory = len(words) > 1 and words[1].startswith("[")
    yield from ("D (and C) in Tensor Memory", "A in Tensor Memory" if in_tensor_memory else "descriptor of A")
    yield "descriptor of B"
    yield from ("K in Tensor Memory",) if inst.sparse else ()
    yield "instruction descriptor"
    yield from ("SA in Tensor Memory", "SB in Tensor Memory") if inst.scaled else ()
    if any(word.startswith("{") for word in words):
        yield "lanes of D that are not written"
    yield CONDITION
    yield "descriptor of the mask of columns" if ".ws" in inst.name else "D is divided by 2 to the power of"


def _names(inst: TensorMemoryMove, text: str) -> tuple[str, ...]:
    """The registers of a list; of SASS, which names the first, those that the instruction takes."""
    if found := _SASS_REGISTER.match(text):
        return tuple([f"R{int(found[1]) + at}" for at in range(moved_registers(inst))])
    names = [name.strip() for name in text.strip("{}").split(",")]
    return tuple(names) if names[0][:1].isalpha() or names[0][:1] in ("%", "$", "_") else ()


def moved_registers(inst: TensorMemoryMove) -> int:
    """The 32-bit registers of each thread that a tcgen05.ld or st moves.

    >>> import mmacalc
    >>> moved_registers(mmacalc.instruction("sm_100a", "tcgen05.ld.sync.aligned.16x256b.x2.b32"))
    8
    """
    return inst.placed_layout.spans["item"] // (2 if inst.pack else 1)


def _operand(inst: TensorMemoryMove, role: str, text: str, names: tuple[str, ...], half: bool) -> ExplainedOperand:
    if not names or half:
        return ExplainedOperand(role, text, names)
    layout, each = inst.placed_layout, 2 if inst.pack else 1
    cells = [
        tuple([cell for half in range(each) for cell in layout.contents((0, each * at + half))])
        for at in range(len(names))
    ]
    return ExplainedOperand(role, text, names, layout=layout, cells=tuple(cells))


def _moving(inst: TensorMemoryMove, operation: str) -> str:
    """What an ld, st or cp moves."""
    if inst.layout is None:
        return ""
    rows, columns = inst.layout.extents
    if operation == "cp":
        copies = f", {inst.layout.copies} times" if inst.layout.copies > 1 else ""
        return f"copies {rows} rows of {32 * columns} bits from shared memory to Tensor Memory{copies}"
    if COMPRESSED in inst.name:
        return f"reads {rows} lanes x {columns} columns of Tensor Memory from the address and compresses them 2:4"
    halves = " (16 bits of each)" if inst.pack else ""
    cells = f"{rows} lanes x {columns} columns{halves}"
    registers = f"{moved_registers(inst)} registers of each thread of the warp"
    if operation == "st":
        return f"writes {registers} to {cells} of Tensor Memory from the address"
    return f"reads {cells} of Tensor Memory from the address into {registers}"
