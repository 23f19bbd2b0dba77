"""The catalog as data for the page: every operand's placement under every value of every modifier, as tables.

The page knows no rule of any architecture. What it shows follows from what is here: patterns with their digit sizes
(`Layout`), numbers that turn slots into registers and bits (`Placement`), and tables from modifiers to both. Each
distinct thing is listed once and referred to by its number, so that thousands of instructions are a few hundred
kilobytes; `page/src/catalog.ts` reads it.

    texts         patterns
    layouts       [text, sizes in the order in which the text first names the digits, letters of the last two axes,
                  and where these end before their digits do, 0 for one that does not, or for both]
    lanes         for each lane the lane that is read instead (BLGP)
    placements    [layout, slot bits, offset, bits, merged slots, format, [values of the selectors], lanes or -1]
    choices       a placement, or [[field ...], [[value ...] ...], [placement for each combination, the last field
                  fastest; -1 if the values do not go together]]
    signs         the same with, for each combination, the signs of the low and the high half of a register
    operands      [name, choice, signs or -1, provenance]
    elsewhere     [name, why it is in no register]
    sets          [operands, elsewhere]
    modifiers     [[field, values, names of the values] ...]; those of `abid` are a list for each value of cbsz
    kinds         [[m, n, k, blocks], contents, [set for each wave], [modifiers for each wave], cycles, notes,
                  provenance of the cycles, [word for each wave] or -1, [call for each wave] or -1]; cycles are a
                  number, null, or a choice
    lines         lines of the templates of kernels (see `mmacalc.codegen.template`)
    kernels       [line ...]
    types         [C type, its declaration, "" where none is needed]
    calls         [kernel, builtin, [types of A, B, C and D, for the builtin]]
    carried       for each language of kernels how they carry the elements of each format
    contents      [operands, their formats, words], words are sparse, scaled, integer and move
    instructions  [name, kind, aliases, members]
    floats        the formats that are floats
    members       the architectures that have an instruction, by number

tensor_memory: see `mmacalc.answers.page_tensor_memory`; encodings, words, slots and text: see
`mmacalc.answers.page_words`; rules, banks and accesses: `page_banks`; wait_rows and waits: `page_waits`.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from ..catalog import architectures, entry
from ..codegen.template import carried, template
from ..errors import Error
from ..formats import CHOICES, FORMATS
from ..model.tensor_memory import TensorMemoryInstruction
from . import page_tensor_memory as tensor_memory
from .modifier_choices import OperandTrials
from .page_banks import bank_data
from .page_distinct import Distinct
from .page_waits import wait_data
from .page_words import encodable, encoding_data, refusals, word_data

if TYPE_CHECKING:
    from ..families.base import Placement
    from ..layout import Layout
    from ..model import Architecture, Instruction, Operand

__all__ = ["SIGNS", "page_data"]

SIGNS = ("", "-", "|", "-|", "low", "high")
# What an architecture says about all its instructions: where that is alike, so are those of one catalog line.
ABOUT_INSTRUCTIONS = (
    "vendor", "layout", "waves", "format_fields", "scale_fields", "assumed", "unconfirmed", "layouts_on_hardware",
    "notes", "wmma_fragments")  # fmt: skip


def page_data() -> dict[str, Any]:
    """The whole catalog, as nested lists and dictionaries that JSON can hold.

    >>> data = page_data()
    >>> data["texts"][0]
    'b i () -> lane (b i), item ()'
    """
    tables = _Tables()
    records = [entry(name).architecture for name in architectures()]
    rows: dict[tuple[str, int, tuple[str, ...]], list[int]] = {}
    for number, record in enumerate(records):
        alike = (
            record.name if not record.family.grammar else repr([getattr(record, name) for name in ABOUT_INSTRUCTIONS])
        )
        for inst in (*entry(record.name).instructions(), *tensor_memory.instructions(record)):
            rows.setdefault((inst.name, tables.kind(inst, alike), inst.aliases), []).append(number)
    ordered: dict[str, list[Instruction]] = {record.name: [] for record in records}
    members = Distinct()
    instructions: list[list[Any]] = []
    for (name, kind, aliases), numbers in rows.items():
        instructions.append([name, kind, list(aliases), members.number(tuple(numbers))])
        for inst in (entry(records[number].name).instruction(name) for number in numbers):
            if not inst.in_tensor_memory:
                ordered[inst.arch].append(inst)
    return {
        **tables.data(),
        "instructions": instructions,
        "architectures": [_architecture(record) for record in records],
        "floats": [name for name, found in FORMATS.items() if found.is_float],
        "members": members.things,
        "carried": {language.upper(): carried(language) for language in ("hip", "cuda")},
        "tensor_memory": tensor_memory.tensor_memory_data(),
        **bank_data(records),
        **wait_data(ordered),
    }


def _architecture(record: Architecture) -> list[Any]:
    return [record.name, record.title, record.vendor, list(record.waves), list(record.aliases), record.unit]


class _Tables:
    """The tables in the making."""

    NAMES = (
        "texts", "layouts", "lanes", "placements", "choices", "signs", "operands", "elsewhere", "sets", "modifiers",
        "kinds", "contents", "encodings", "words", "slots", "text", "formats", "provenances", "notes",
        "lines", "kernels", "types", "calls",
    )  # fmt: skip

    def __init__(self) -> None:
        self._tables = {name: Distinct() for name in self.NAMES}
        self._layouts: dict[int, tuple[int, Layout]] = {}
        self._kinds: dict[tuple[str, str], int] = {}

    def data(self) -> dict[str, Any]:
        """The tables so far."""
        return {name: table.things for name, table in self._tables.items()}

    def _number(self, table: str, thing: Any) -> int:
        return self._tables[table].number(thing)

    def kind(self, inst: Instruction, architecture: str) -> int:
        """All of an instruction but its name, which architectures of the same description share."""
        alike = [(name, getattr(inst, name)) for name in inst._fields if name not in ("architecture", "targets")]
        key = (architecture, repr(alike))
        if key not in self._kinds:
            self._kinds[key] = self._number("kinds", self._kind(inst))
        return self._kinds[key]

    def _tensor_memory_kind(self, inst: TensorMemoryInstruction) -> list[Any]:
        fields = tensor_memory.fields(inst)
        modifiers = [[field, list(values), list(names)] for field, (values, names) in fields.items()]
        words = [word for word in ("sparse", "scaled", "integer") if getattr(inst, word)]
        operands = []
        for name in inst.drawn_operands:
            number, doubt = tensor_memory.choice(inst, name, self._cells)
            sure = self._number("provenances", "unconfirmed" if doubt else inst.stated_provenance)
            operands.append(self._number("operands", [name, self._number("choices", number), -1, sure]))
        elsewhere = [self._number("elsewhere", ["B", inst.elsewhere["B"]])]
        return [
            [inst.m, inst.n, inst.k, 1], self._contents(inst, [*words, "tensor memory"]),
            [self._number("sets", [operands, elsewhere])], [self._number("modifiers", modifiers)], None, [],
            self._number("provenances", "unconfirmed"), [-1], [-1],
        ]  # fmt: skip

    def _cells(self, operand: Operand, format: str) -> int:
        return self._placed(operand, operand.flat, operand.placement, format)

    def _kind(self, inst: Instruction) -> list[Any]:
        if isinstance(inst, TensorMemoryInstruction):
            return self._tensor_memory_kind(inst)
        waves = inst.architecture.waves
        words = [word for word in ("sparse", "scaled", "integer") if getattr(inst, word)]
        return [
            [inst.m, inst.n, inst.k, inst.blocks],
            self._contents(inst, words + ["move"] * (inst.flops == 0)),
            [self._set(inst, wave) for wave in waves],
            [self._number("modifiers", _modifiers(inst, wave)) for wave in waves],
            _cycles(inst),
            [self._number("notes", note) for note in inst.notes],
            self._number("provenances", inst.provenance_of("cycles")),
            [self._word(inst, wave) for wave in waves],
            [self._call(inst, wave) for wave in waves],
        ]

    def _contents(self, inst: Instruction, words: list[str]) -> int:
        names = [name for name in inst.operands if name in inst.formats]
        formats = [self._number("formats", inst.format(name).name) for name in names]
        return self._number("contents", [" ".join(names), formats, words])

    def _call(self, inst: Instruction, wave: int) -> int:
        try:
            source, builtin, values = template(inst, wave)
        except Error:
            return -1
        lines = [self._number("lines", line) for line in source.split("\n")]
        types = [self._number("types", value) for value in values]
        return self._number("calls", [self._number("kernels", lines), builtin, types])

    def _word(self, inst: Instruction, wave: int) -> int:
        found = word_data(inst, wave)
        if found is None:
            return -1
        encoding, (code, slots, modifiers) = found
        row = [self._number("encodings", encoding_data(encoding)), code]
        fields, values, reasons = refusals(inst, wave)
        notes = [self._number("notes", reason) if reason else -1 for reason in reasons]
        refusal = [fields, values, notes] if any(reasons) else -1
        return self._number("words", [*row, self._number("slots", slots), self._number("text", modifiers), refusal])

    def _set(self, inst: Instruction, wave: int) -> int:
        operands = [self._number("operands", self._operand(inst, name, wave)) for name in inst.register_operands]
        elsewhere = [self._number("elsewhere", [name, why]) for name, why in inst.elsewhere.items()]
        return self._number("sets", [operands, elsewhere])

    def _operand(self, inst: Instruction, name: str, wave: int) -> list[Any]:
        trials = OperandTrials(inst, name, wave)
        signs = trials.choice(_signs, "")
        return [
            name,
            self._number("choices", trials.choice(self._placement, -1)),
            -1 if isinstance(signs, str) else self._number("signs", signs),
            self._number("provenances", inst.provenance_of(name)),
        ]

    def _placement(self, operand: Operand) -> int:
        return self._placed(operand, operand.layout, operand.placement, operand.format.name)

    def _placed(self, operand: Operand, layout: Layout, placement: Placement, format: str) -> int:
        chosen = [placement.fields.get(name, 0) for name in layout.selectors if layout.sizes[name] > 1]
        read = placement.lanes
        lanes = -1 if read is None else self._number("lanes", [read(lane) for lane in range(operand.lanes)])
        return self._number("placements", [
            self._layout(layout), placement.slot_bits, placement.offset, placement.bits, placement.merge,
            self._number("formats", format), chosen, lanes,
        ])  # fmt: skip

    def _layout(self, layout: Layout) -> int:
        if id(layout) not in self._layouts:
            pattern = layout.pattern
            letters = "".join(axis[0] for axis in layout.axes[-2:])
            sizes = [*layout.trimmed_sizes.values()]
            ends = [layout.partial.get(axis, 0) for axis in layout.axes[-2:]]
            row = [self._number("texts", pattern), sizes, letters, ends if any(ends) else 0]
            number = self._number("layouts", row)
            self._layouts[id(layout)] = number, layout  # the layout too, so that its id stays its own
        return self._layouts[id(layout)][0]


def _signs(operand: Operand) -> str:
    """The sign of what is read at bit 0 and at bit 16, as digits that count in SIGNS."""
    return "".join(str(SIGNS.index(operand.sign(lsb))) for lsb in (0, 16))


def _modifiers(inst: Instruction, wave: int) -> list[list[Any]]:
    """The modifiers that can be encoded: [field, values, names of the values]; ABID has values for each CBSZ."""
    found: list[list[Any]] = []
    limits = encodable(inst, wave)
    for field, values in limits.items():
        names = CHOICES[inst.formats[inst.choices[field]]] if field in inst.choices else ()
        listed: list[Any] = list(values)
        if field == "abid":
            listed = [list(inst.modifier_limits(wave, cbsz)["abid"]) for cbsz in limits["cbsz"]]
        if listed not in ([0], [[0]]):
            found.append([field, listed, list(names)])
    return found


def _cycles(inst: Instruction) -> Any:
    """The cycles, or where formats decide them a choice of numbers."""
    if inst.narrow_cycles is None:
        return inst.cycles
    limits = inst.modifier_limits()
    fields = [field for field, operand in inst.choices.items() if operand in "AB"]
    values = [limits[field] for field in fields]
    found = [inst.cycles_for(**dict(zip(fields, combination))) for combination in product(*values)]
    return [fields, [list(each) for each in values], found]
