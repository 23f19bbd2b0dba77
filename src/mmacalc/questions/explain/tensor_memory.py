"""Instructions of Tensor Memory in PTX and SASS, explained: see `explain`.

The order of the operands of PTX is that of PTX ISA 9.1, section 9.7.16. Shape and types of a product are in its
instruction descriptor; those of a move are in its name.

SASS's order is not published; it is derived from ptxas 13.0.88 and nvdisasm 13.1.80, of kernels whose operands are
loaded from addresses of their own (tests/oracles/sass_operands.py): A, B, D, K (which is read if the instruction
descriptor says that A is sparse), the instruction descriptor in the register after that of K, then what there is of a
mask, the scales, the predicate, the power of two. A gdesc[URn] is URn and URn+1; the scales of B are in the register
after those of A.
"""

from __future__ import annotations

import re

from ...base.checks import whole
from ...base.errors import plural
from ...catalog import entry
from ...catalog.grammar.ptx import Entry as PtxEntry
from ...model.tensor_memory import TensorMemoryMove
from .answer import CONDITION, ExplainedLine, ExplainedOperand, purpose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...model import Instruction

__all__ = ["line", "moved_registers", "refused", "sass_product"]

COMPRESSED = ".spcompress."
LAST_REGISTER = 254  # 255 is RZ or URZ
_SASS_REGISTER = re.compile(r"R(\d+)$")
_UNIFORM = re.compile(r"(?:(gdesc|tmem|idesc)\[)?UR(\d+)\]?((?:\.\w+)*)$", re.IGNORECASE)
DESCRIPTOR, IN_TENSOR_MEMORY, INSTRUCTION = "descriptor of {}", "{} in Tensor Memory", "instruction descriptor"
RESULT, UNWRITTEN = "D (and C) in Tensor Memory", "lanes of D that are not written"
ZERO_COLUMNS, DIVIDED = "descriptor of the mask of columns", "D is divided by 2 to the power of"
SHIFTED = "its rows moved down by one (ashift)"
# What .A_KEEP, .B_REUSE ... say, in PTX's words.
COLLECTORS = {("KEEP",): "fill", ("REUSE", "KEEP"): "use", ("REUSE",): "lastuse"}
# Two opcodes do what a .16x32bx2 does, each from an address of its own (ptxas 13.0.88).
_HALF = re.compile(r"t0_t15|t16_t31", re.IGNORECASE)
HALVES = {"t0_t15": "the opcode for threads 0..15", "t16_t31": "the opcode for threads 16..31"}
OPERANDS = {
    "ld": "D address offset", "ld.red": "D reduction address offset", "st": "address A", "cp": "address descriptor",
    "shift": "address", "alloc": "destination columns", "dealloc": "address columns", "commit": "mbarrier mask",
}  # fmt: skip
ROLES = {
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
    problem = refused(shown.partition(" ")[0], inst.arch, words) if language == "PTX" else ""
    return ExplainedLine(number, shown, language, inst, tuple(operands), problem=problem)


def refused(name: str, arch: str, words: Sequence[str]) -> str:
    """Why a target does not take an instruction of PTX with its operands; "" if it does, or if nothing is known.

    >>> a = ["[d]", "a", "b", "idesc", "p"]
    >>> refused("tcgen05.mma.cta_group::1.kind::f16", "sm_100a", [*a, "16"])
    'scale-input-d is 0 to 15, with kind::f16 and kind::tf32, without .ws'
    >>> refused("tcgen05.mma.cta_group::1.kind::f16", "sm_100a", [*a, "15"])
    ''
    """
    given = []
    if name.startswith(("tcgen05.alloc", "tcgen05.dealloc")) and words[1:]:
        given.append(f"nCols={words[1]}")
    if name.startswith("tcgen05.mma") and words[1:]:
        given.append("tmem" if words[1].startswith("[") else "desc")
        given += [f"mask{word.count(',') + 1}" for word in words if word.startswith("{")]
        if words[-1][:1].isdigit():
            given.append(f"scale{words[-1]}")
        elif ".ws" in name and len(words) > 5 + (".sp" in name):
            given.append("zeromask")
    known = entry(arch)
    assert isinstance(known, PtxEntry)
    return known.refusal(name, given)


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
            problem = f"{role} takes {plural(wanted, 'register')}; got {len(names)}"
            names = ()
        operands.append(_operand(inst, ROLES[role], text, names, bool(half)))
    if language == "PTX":
        problem = refused(shown.partition(" ")[0], inst.arch, words) or problem
    what = _moving(inst, operation) or purpose(inst.name)
    part = HALVES.get(half, "")
    return ExplainedLine(number, shown, language, inst, tuple(operands), problem=problem, part=part, purpose=what)


def _product_roles(inst: Instruction, words: list[str]) -> Iterator[str]:
    """What the operands of a tcgen05.mma are, in their order."""
    in_tensor_memory = len(words) > 1 and words[1].startswith("[")
    yield from (RESULT, (IN_TENSOR_MEMORY if in_tensor_memory else DESCRIPTOR).format("A"), DESCRIPTOR.format("B"))
    yield from (IN_TENSOR_MEMORY.format("K"),) if inst.sparse else ()
    yield INSTRUCTION
    yield from [IN_TENSOR_MEMORY.format(scale) for scale in ("SA", "SB") if inst.scaled]
    if any(word.startswith("{") for word in words):
        yield UNWRITTEN
    yield CONDITION
    yield ZERO_COLUMNS if ".ws" in inst.name else DIVIDED


def sass_product(own: Sequence[Instruction], number: int, shown: str, words: list[str]) -> ExplainedLine:
    """The explanation of an opcode such as UTCHMMA.

    Args:
        own: the instructions that become the opcode; of these the operands say which have scales.
        number, shown, words: the line's number, its text, and its operands.
    """
    scaled = any(word.lower().startswith("tmem") for word in words[5:])
    meant = [inst for inst in own if inst.scaled == scaled] or list(own)
    shifted = (SHIFTED,) * (".ASHIFT" in shown.upper())
    operands = tuple([
        operand
        for at, word in enumerate(words)
        for operand in _of_sass(meant[0], at, word, shifted if at == 0 else ())
    ])  # fmt: skip
    return ExplainedLine(number, shown, "SASS", meant[0], operands, others=tuple([inst.name for inst in meant[1:]]))


def _of_sass(inst: Instruction, at: int, text: str, further: tuple[str, ...]) -> Iterator[ExplainedOperand]:
    """What the operand of an opcode at a place is, with further remarks on it; two operands where it is those with the
    scales."""
    found = _UNIFORM.match(text)
    if found is None:
        yield ExplainedOperand(CONDITION if "P" in text.upper() else DIVIDED, text)
        return
    kind, suffixes = (found[1] or "").lower(), tuple(found[3].upper().split(".")[1:])
    first = whole(found[2], "a uniform register of SASS", LAST_REGISTER)
    if kind == "tmem" and at > 4:
        for offset, scale in enumerate(("SA", "SB")):
            yield ExplainedOperand(IN_TENSOR_MEMORY.format(scale), text, (f"UR{first + offset}",))
        return
    own = "ABDK"[at] if at < 4 else ""
    role = {
        "gdesc": DESCRIPTOR.format(own), "tmem": RESULT if own == "D" else IN_TENSOR_MEMORY.format(own),
        "idesc": INSTRUCTION, "": ZERO_COLUMNS if ".ws" in inst.name else UNWRITTEN,
    }[kind]  # fmt: skip
    count = {"gdesc": 2, ZERO_COLUMNS: 2, UNWRITTEN: 8 if "cta_group::2" in inst.name else 4}.get(kind or role, 1)
    remarks = (
        *further,
        *_collector(suffixes),
        *(["where the instruction descriptor says that A is sparse"] if own == "K" else []),
    )
    yield ExplainedOperand(role, text, tuple([f"UR{first + more}" for more in range(count)]), remarks=remarks)


def _collector(suffixes: tuple[str, ...]) -> tuple[str, ...]:
    """What the suffixes of A or B say about the collector buffer, as PTX says it.

    >>> _collector(("A_REUSE", "A_KEEP")), _collector(("B_KEEP", "BUFFER1")), _collector(())
    (('collector::a::use',), ('collector::b1::fill',), ())
    """
    what = COLLECTORS.get(tuple([word[2:] for word in suffixes if word.startswith(("A_", "B_"))]))
    if not what:
        return ()
    name = suffixes[0][0].lower()
    buffer = next((word.removeprefix("BUFFER") for word in suffixes if word.startswith("BUFFER")), "0" * (name == "b"))
    return (f"collector::{name}{buffer}::{what}",)


def _names(inst: TensorMemoryMove, text: str) -> tuple[str, ...]:
    """The registers of a list; of SASS, which names the first, those that the instruction takes."""
    if found := _SASS_REGISTER.match(text):
        first = whole(found[1], "a register of SASS", LAST_REGISTER)
        return tuple([f"R{first + at}" for at in range(moved_registers(inst))])
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
        cells = f"{rows} lanes x {plural(columns, 'column')}"
        return f"reads {cells} of Tensor Memory from the address and compresses them 2:4"
    halves = " (16 bits of each)" if inst.pack else ""
    cells = f"{rows} lanes x {plural(columns, 'column')}{halves}"
    registers = f"{plural(moved_registers(inst), 'register')} of each thread of the warp"
    if operation == "st":
        return f"writes {registers} to {cells} of Tensor Memory from the address"
    return f"reads {cells} of Tensor Memory from the address into {registers}"
