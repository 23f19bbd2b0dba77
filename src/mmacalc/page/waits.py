"""Wait states as data for the page: for each pair of kinds of instructions what each dependency needs.

wait_rows  for each kind of pair the dependencies in words: {"matrix": [...], "after": [...], "before": [...]}
waits      for each architecture null (NVIDIA interlocks in hardware), or
    unit     "s_nop" or "v_nop"
    kinds    for each instruction its kind, or [kind, bits, kind where A and B have at most these bits], or null
    matrix   [first kind][second kind] a list of `wait_lists`, or two, the second where both have the same opcode
    after    [kind] a list: a matrix instruction, then another instruction
    before   [kind] a list: another instruction, then a matrix instruction
wait_lists    [an answer for each row, -1 where the row has no meaning]
wait_answers  [states, llvm, guide or null, where the sources have the rules, what stands for the nops or ""]
wait_sources  places in sources
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..asm.reader import read_line
from ..base.errors import Error
from ..catalog import entry
from ..hazards.recognizer import recognizer_for
from ..hazards.register_use import register_use
from . import Distinct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..catalog import Entry
    from ..hazards.recognizer import WaitStates
    from ..hazards.register_use import RegisterUse
    from ..model import Instruction

__all__ = ["ROWS", "wait_data"]

# D, A, B, C, index of the first instruction; {0} is the file of D and C: AccVGPRs on CDNA 1, else VGPRs.
FIRST = {"D": "{0}[0:15]", "A": "v[32:35]", "B": "v[36:39]", "C": "{0}[48:63]", "index": "v40"}
SECOND = {"D": "{0}[64:79]", "A": "v[96:99]", "B": "v[100:103]", "C": "{0}[112:127]", "index": "v104"}
# What the second matrix instruction has otherwise; None: with neither kind of operand it does not go together.
MATRIX: tuple[tuple[str, dict[str, str], dict[str, str] | None], ...] = (
    ("accumulates onto D: its C and D are exactly the registers of D",
     {"C": "{0}[0:15]", "D": "{0}[0:15]"}, {"D": "{0}[0:15]"}),
    ("reads as C registers that overlap D and are not the same", {"C": "{0}[2:17]"}, {"D": "{0}[2:17]"}),
    ("reads D as A or B", {"A": "{0}[0:3]"}, {"A": "{0}[0:3]"}),
    ("writes registers of D, its C is elsewhere", {"D": "{0}[2:17]"}, None),
    ("writes registers of C", {"D": "{0}[48:63]"}, {"D": "{0}[48:63]"}),
    ("writes registers of A or B", {"D": "v[32:47]"}, {"D": "v[32:47]"}),
)  # fmt: skip
OF_C = "writes registers of C"  # has no meaning where C is D, as it is for sparse instructions
# The lines where VGPRs hold D, and where AccVGPRs do ("" where none exists).
AFTER = (
    ("VALU reads D", "v_add_f32 v128, v0, v129", ""),
    ("VALU writes registers of D", "v_mov_b32 v0, v128", ""),
    ("VALU writes registers of C", "v_mov_b32 v48, v128", ""),
    ("VALU writes registers of A or B", "v_mov_b32 v32, v128", "v_mov_b32 v32, v128"),
    ("a store to memory or LDS reads D", "global_store_dwordx4 v[128:129], v[0:3], off", ""),
    ("a load from memory or LDS writes registers of D", "global_load_dwordx4 v[0:3], v[128:129], off", ""),
    ("v_accvgpr_read reads D", "", "v_accvgpr_read_b32 v128, a0"),
    ("v_accvgpr_write writes registers of D", "", "v_accvgpr_write_b32 a0, v128"),
    ("v_accvgpr_write writes registers of C", "", "v_accvgpr_write_b32 a48, v128"),
)
BEFORE = (
    ("VALU writes C", "v_mov_b32 v112, v128", ""),
    ("VALU writes A or B", "v_mov_b32 v96, v128", "v_mov_b32 v96, v128"),
    ("v_accvgpr_write writes C", "", "v_accvgpr_write_b32 a112, v128"),
    ("a transcendental instruction writes A or B", "v_exp_f32 v96, v128", "v_exp_f32 v96, v128"),
)
ROWS = {name: [row[0] for row in rows] for name, rows in (("matrix", MATRIX), ("after", AFTER), ("before", BEFORE))}


def wait_data(instructions: dict[str, list[Instruction]]) -> dict[str, Any]:
    """The tables `wait_rows` and `waits`, for the instructions of each architecture in the page's order."""
    tables = _Tables()
    waits = [_architecture(name, found, tables) for name, found in instructions.items()]
    return {
        "wait_rows": ROWS,
        "waits": waits,
        "wait_lists": tables.lists.things,
        "wait_answers": tables.answers.things,
        "wait_sources": tables.sources.things,
    }


class _Tables:
    """What the architectures share: each list, answer and place in a source, with its number."""

    def __init__(self) -> None:
        self.lists, self.answers, self.sources = Distinct(), Distinct(), Distinct()

    def list(self, answers: Iterable[WaitStates | None]) -> int:
        """The number of a list of answers."""
        found = tuple(-1 if answer is None else self._answer(answer) for answer in answers)
        return self.lists.number(found)

    def _answer(self, answer: WaitStates) -> int:
        places = [each.place for each in answer.sources if each.rule]
        numbers = tuple(self.sources.number(place) for place in places)
        return self.answers.number((answer.states, answer.llvm, answer.guide, numbers, answer.expiry.instruction))


def _architecture(name: str, instructions: list[Instruction], tables: _Tables) -> dict[str, Any] | None:
    if not entry(name).architecture.hazards:
        return None
    found = _Waits(entry(name))
    kinds = [found.kinds_of(inst) for inst in instructions]
    every = range(len(found.instructions))

    def lists(x: int, y: int) -> int | list[int]:
        other, same = (tables.list(found.matrix(x, y, same)) for same in (False, True))
        return other if same == other else [other, same]

    return {
        "unit": found.recognizer.unit,
        "kinds": kinds,
        "matrix": [[lists(x, y) for y in every] for x in every],
        "after": [tables.list(found.other(x, row, True) for row in AFTER) for x in every],
        "before": [tables.list(found.other(y, row, False) for row in BEFORE) for y in every],
    }


class _Waits:
    """The kinds of matrix instructions of an architecture, and the answers of its sources."""

    def __init__(self, of: Entry) -> None:
        self.entry = of
        self.recognizer = recognizer_for(of.architecture)
        self.file = "a" if of.architecture.accumulators == "required" else "v"
        self.known: dict[tuple[object, ...], int] = {}
        self.instructions: list[tuple[Instruction, str]] = []

    def kinds_of(self, inst: Instruction) -> Any:
        """The kind of an instruction, or with the kind that it has with narrow formats; None: no source has it."""
        try:
            wide = self.kind(inst, "")
        except Error:
            return None
        _, narrow = inst.wait_cycles or (0, inst.narrow_cycles)
        return [wide, narrow[0], self.kind(inst, _narrow(inst))] if narrow else wide

    def kind(self, inst: Instruction, fields: str) -> int:
        """The number of the kind: instructions of one kind differ in no rule but that of the same opcode."""
        use = self.use(inst, fields, FIRST)
        key = use.kinds, use.passes, inst.sparse
        if key not in self.known:
            self.known[key] = len(self.instructions)
            self.instructions.append((inst, fields))
        return self.known[key]

    def use(self, inst: Instruction, fields: str, registers: dict[str, str]) -> RegisterUse:
        """An instruction with these registers."""
        operands = ["D", "A", "B", "index" if inst.sparse else "C"]
        names = ", ".join([registers[name].format(self.file) for name in operands])
        return self.line(f"{inst.name} {names} {fields}")

    def line(self, text: str) -> RegisterUse:
        """A line of assembly."""
        return register_use(read_line(text), self.entry, strict=True)

    def matrix(self, x: int, y: int, same: bool) -> list[WaitStates | None]:
        """The answer for each row of two matrix instructions."""
        first, (second, fields) = self.use(*self.instructions[x], FIRST), self.instructions[y]
        in_place = self.instructions[x][0].sparse
        found: list[WaitStates | None] = []
        for words, dense, sparse in MATRIX:
            change = sparse if second.sparse else dense
            if change is None or (in_place and words.endswith(OF_C)):
                found.append(None)
                continue
            use = self.use(second, fields, SECOND | change)
            name = first.name if same else f"{first.name} but another"
            found.append(self.recognizer.answer(first, use._replace(name=name)))
        return found

    def other(self, kind: int, row: tuple[str, str, str], after: bool) -> WaitStates | None:
        """The answer for a matrix instruction and another one."""
        text = row[2] if self.file == "a" else row[1]
        inst, fields = self.instructions[kind]
        if not text or (after and inst.sparse and row[0].endswith(OF_C)):
            return None
        other = self.line(text)
        registers = FIRST if after else SECOND | ({"D": SECOND["C"]} if inst.sparse else {})
        one = self.use(inst, fields, registers)
        return self.recognizer.answer(one, other) if after else self.recognizer.answer(other, one)


def _narrow(inst: Instruction) -> str:
    """Fields that choose the narrowest formats of A and B."""
    return " ".join([f"{field}:4" for field, operand in inst.choices.items() if operand in "AB"])
