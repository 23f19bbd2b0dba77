"""A matrix opcode of SASS, explained: see `explain`.

SASS names the first of an operand's 32-bit registers. What its operands are in their order, NVIDIA has not published;
it is derived from ptxas 13.0.88 and nvdisasm 13.1.80, of kernels whose operands are loaded from addresses of their own:

    mma          D, A, B, C, then of sparse ones K and the selector
    with scales  D, A, B, C, SA, SB, byte and thread ids; where A is sparse a pair of K and SA stands for SA, and the
                 selector is last
    wgmma        D, A or its descriptor with that of B, C, then in this order what there is of: a predicate that says
                 whether C is added, K, the selector, the scoreboard. gdesc[URn] is two descriptors: that of A in URn
                 and URn+1, that of B in the two after it. Without a predicate C is added; !UPT is false.
    HMMA.884     one of the steps of a product, of two registers of D each

The byte and thread ids are in one uniform register: the byte of A in bits 1:0, its thread in bit 2, the byte of B in
bits 4:3, its thread in bits 6:5.
"""

from __future__ import annotations

import re

from ...base.checks import whole
from ...base.errors import Error
from ...catalog.grammar.sass import TENSOR_MEMORY, emulated_part, ptx_sources
from . import tensor_memory
from .answer import CONDITION, ExplainedLine, ExplainedOperand
from .ptx import IDS, cycles, fields_of, other_line, split
from .tensor_memory import LAST_REGISTER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...catalog import Entry
    from ...model import Instruction, Product

__all__ = ["line"]

_REGISTER = re.compile(r"([-~|]*)R(\d+|Z)\b", re.IGNORECASE)
_DESCRIPTORS = re.compile(r"gdesc\[UR(\d+)\]((?:\.\w+)*)", re.IGNORECASE)
_ORDER = re.compile(r"\.(ROW|COL)\b", re.IGNORECASE)
SUFFIXES = {"neg": "negated", "tnsp": "transposed"}  # of gdesc[URn], before A or B
ALL_IDS = "byte and thread ids"
WHERE_IDS = (
    "the byte of SA in bits 1:0, its thread in bit 2, the byte of SB in bits 4:3, its thread in bits 6:5; they choose "
    "which byte of which lanes SA and SB have their scales in"
)


def line(known: Entry, product: Product | None, number: int, opcode: str, rest: str) -> ExplainedLine:
    """The explanation of one opcode, and what follows it."""
    shown = " ".join(f"{opcode} {rest}".split())
    words = split(rest)
    in_tensor_memory = opcode.upper().startswith(TENSOR_MEMORY)
    plain = re.sub(r"(?i)\.ASHIFT\b", "", opcode) if in_tensor_memory else opcode
    own = _ordered(ptx_sources(known, plain), words)
    if in_tensor_memory and own and own[0].formats:
        return tensor_memory.sass_product(own, number, shown, words)
    if not own and (part := emulated_part(known, opcode)):
        return ExplainedLine(number, shown, "SASS", purpose=part)
    if not own:
        try:
            inst = known.instruction(opcode)
        except Error as refused:
            return other_line(number, shown, "SASS", opcode, refused)
        return ExplainedLine(number, shown, "SASS", inst)
    inst = own[0]
    if in_tensor_memory:
        return tensor_memory.line(inst, number, shown, words, "SASS")
    several = {one.operand(role).pattern for one in own[:4] for role in one.register_operands if role == "A"}
    problem = "one of several PTX instructions with layouts of their own" if len(several) > 1 else ""
    others = tuple([one.name for one in own[1:] if "wmma" not in one.features][:3])
    step = opcode.upper().rpartition(".STEP")[2]
    part = f"STEP{step}" if step.isdigit() else ""
    roles = list(_roles(inst, words))
    given = {role: text for role, text, _ in roles}
    fields = fields_of(inst, given)
    if given.get(ALL_IDS, "").upper() == "URZ":
        given |= dict.fromkeys((IDS.format("SA"), IDS.format("SB")), "{0, 0}")
    operands = [_operand(inst, one, fields, whole(step, "a step", 9) if part else None, given) for one in roles]
    return ExplainedLine(
        number, shown, "SASS", inst, tuple(operands), fields, cycles(inst, product), others, problem, part
    )


def _ordered(own: list[Instruction], words: list[str]) -> list[Instruction]:
    """Of the instructions that become an opcode, those with the row and col that its A and B have."""
    orders = tuple([found[1].lower() for word in words[1:3] if (found := _ORDER.search(word))])
    return [one for one in own if one.layouts == orders] or own


def _roles(inst: Instruction, words: list[str]) -> Iterator[tuple[str, str, int]]:
    """Of each operand its role, its text, and how many registers after the one that is named it begins."""
    kind = inst.name.partition(".")[0]
    roles: tuple[str, ...] = ("D", "A", "B", "C")
    if "move" in inst.features:
        roles = {"ldmatrix": ("D", "address"), "stmatrix": ("address", "A")}.get(kind, ("D", "A"))
    elif "wgmma" in inst.features:
        yield from _warpgroup_roles(inst, words)
        return
    elif inst.scaled:
        pair = ("K and SA",) if inst.sparse else ("SA",)
        roles = (*roles, *pair, "SB", ALL_IDS, "selector")
    elif inst.sparse:
        roles = (*roles, "K", "selector")
    for role, text in zip(roles, words):
        for at, name in enumerate(role.split(" and ") if role == "K and SA" else (role,)):
            yield name, text, at


def _warpgroup_roles(inst: Instruction, words: list[str]) -> Iterator[tuple[str, str, int]]:
    in_registers = len(words) > 1 and bool(_REGISTER.match(words[1]))
    before = ["D", *(["A"] if in_registers else []), "gdesc", "C"]
    for role, text in zip(before, words):
        if role != "gdesc":
            yield role, text, 0
            continue
        yield from () if in_registers else (("descriptor of A", text, 0),)
        yield "descriptor of B", text, 2
    for text in words[len(before) :]:
        if re.match(r"!?UP\w", text, re.IGNORECASE):
            yield CONDITION, text, 0
        elif _REGISTER.match(text):
            yield "K", text, 0
        else:
            yield "scoreboard" if text.lower().startswith("gsb") else "selector", text, 0


def _operand(
    inst: Instruction, one: tuple[str, str, int], fields: Mapping[str, int], step: int | None, given: Mapping[str, str]
) -> ExplainedOperand:
    """An operand with its layout. RZ is zero."""
    role, text, at = one
    remarks = _remarks(role, text)
    if found := _DESCRIPTORS.match(text):
        first = whole(found[1], "a uniform register of SASS", LAST_REGISTER)
        names = tuple([f"UR{first + at + word}" for word in (0, 1)])
        return ExplainedOperand(role, text, names, remarks=remarks)
    register = _REGISTER.match(text)
    if role == ALL_IDS:
        return ExplainedOperand(role, text, remarks=(WHERE_IDS,))
    if register is None or register[2] in "zZ" or role not in inst.register_operands:
        return ExplainedOperand(role, "0" if register and register[2] in "zZ" else text, remarks=remarks)
    first, layout = whole(register[2], "a register of SASS", LAST_REGISTER) + at, inst.operand(role, **fields)
    start, count = _part(inst, role, step)
    names = tuple([f"R{first + register}" for register in range(count)])
    chosen = role not in ("SA", "SB") or IDS.format(role) in given  # the ids are in a register
    return ExplainedOperand(role, text, names, layout if chosen else None, start, remarks)


def _part(inst: Instruction, role: str, step: int | None) -> tuple[int, int]:
    """The first register of an operand that a line has, and how many: of D and C of one step two each.

    Step n of an HMMA.884 writes registers 2n and 2n + 1 of D. Of C it reads as many, so that two steps share those of
    an f16 C where D is f32 (ptxas 13.0.88 for sm_75 and 12.4.99 for sm_70, all twelve forms of each).
    """
    registers = inst.operand(role).registers
    if step is None or role not in "CD":
        return 0, registers
    steps = inst.operand("D").registers // 2
    return step * registers // steps & ~1, 2


def _remarks(role: str, text: str) -> tuple[str, ...]:
    """The signs before a register, and the suffixes of descriptors."""
    found = _DESCRIPTORS.match(text)
    if not found:
        return ("negated",) if role in ("A", "B", "C") and text.startswith("-") else ()
    suffixes = found[2].lower().split(".")
    return tuple([remark for word, remark in SUFFIXES.items() if f"{word}{role[-1].lower()}" in suffixes])
