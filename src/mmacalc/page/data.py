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

tensor_memory: see `mmacalc.page.tensor_memory`; encodings, words, slots and text: see
`mmacalc.page.words`; rules, banks and accesses: `page_banks`; wait_rows and waits: `page_waits`.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from ..base.errors import Error
from ..catalog import architectures, entry
from ..codegen.template import carried, template
from ..formats import CHOICES, FORMATS
from ..memory_access.banks import rule
from ..memory_access.units import access_name
from ..model.operand import Operand
from ..model.tensor_memory import TensorMemoryInstruction
from . import Distinct
from . import tensor_memory as tensor_memory
from .waits import wait_data
from .words import encodable, encoding_data, refusals, word_data

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..families import Placement
    from ..layout import Layout
    from ..model import Architecture, Instruction, Operand

SIGNS = ("", "-", "|", "-|", "low", "high")
# What an architecture says about all its instructions: where that is alike, so are those of one catalog line.
ABOUT_INSTRUCTIONS = (
    "vendor", "layout", "waves", "format_fields", "scale_fields", "assumed", "unconfirmed", "layouts_on_hardware",
    "notes", "wmma_fragments")  # fmt: skip


def page_data() -> dict[str, Any]:
    """The whole catalog, as nested lists and dictionaries that JSON can hold."""
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
            sure = self._number("provenances", "unconfirmed" if doubt else inst.row_provenance)
            operands.append(self._number("operands", [name, self._number("choices", number), -1, sure]))
        elsewhere = [self._number("elsewhere", ["B", inst.outside_registers["B"]])]
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
        elsewhere = [self._number("elsewhere", [name, why]) for name, why in inst.outside_registers.items()]
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
            self._layout(layout), placement.slot_bits, placement.offset, placement.bits, placement.slots_per_location,
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


# --- What modifiers change about an operand, found by trying every value of every one of them ---
#
# No rule says here that CBSZ broadcasts A or that BLGP moves the lanes of B: an operand is made under each value, and
# what differs, differs.


class OperandTrials:
    """One operand of an instruction under all modifiers; every combination is made once."""

    limits: dict[int, dict[str, tuple[int, ...]]]

    def __init__(self, inst: Instruction, name: str, wave: int) -> None:
        self._inst, self._name, self._wave = inst, name, wave
        plain = inst.modifier_limits(wave)
        # The values and the meaning of ABID depend on CBSZ; nothing else depends on another modifier's value.
        self.limits = {cbsz: inst.modifier_limits(wave, cbsz) if cbsz else plain for cbsz in plain.get("cbsz", (0,))}
        self._made: dict[tuple[tuple[str, int], ...], Operand | None] = {}

    def operand(self, **fields: int) -> Operand | None:
        """The operand under modifiers; None if their values do not go together."""
        key = tuple(sorted((field, value) for field, value in fields.items() if value))
        if key not in self._made:
            self._made[key] = self._operand(dict(key))
        return self._made[key]

    def _operand(self, fields: dict[str, int]) -> Operand | None:
        """As `Instruction.operand` makes it, but the values are known to be the instruction's own."""
        limits = self.limits[fields.get("cbsz", 0)]
        if any(value not in limits[field] for field, value in fields.items()):
            return None
        try:
            return Operand(self._inst, self._name, self._wave, fields)
        except Error:
            return None

    def choice(self, of: Callable[[Operand], Any], impossible: Any) -> Any:
        """Something about the operand under every combination of the modifiers that change it.

        Returns:
            What it always is; or [modifiers, values of each, what each combination gives (`impossible` where the
            values do not go together)], the last modifier's values fastest.
        """
        fields = self._changing(of)
        if not fields:
            return self._of(of, impossible)
        found = [self._of(of, impossible, **dict(zip(fields, values))) for values in product(*fields.values())]
        return [list(fields), [list(values) for values in fields.values()], found]

    def _of(self, of: Callable[[Operand], Any], impossible: Any, **fields: int) -> Any:
        operand = self.operand(**fields)
        return impossible if operand is None else of(operand)

    def _changing(self, of: Callable[[Operand], Any]) -> dict[str, tuple[int, ...]]:
        """The modifiers that change it, with all values that they may have under some CBSZ."""
        plain = self.limits[0]
        if not plain:
            return {}
        changing = set()
        results: dict[int, dict[tuple[str, int], Any]] = {}
        for cbsz, limits in self.limits.items():
            tried = [(field, value) for field, values in limits.items() if field != "cbsz" for value in values]
            found = {(field, value): self._of(of, None, cbsz=cbsz, **{field: value}) for field, value in tried}
            usual = found[("", 0)] = self._of(of, None, cbsz=cbsz)
            changing |= {field for (field, _), each in found.items() if each != usual}
            results[cbsz] = found
        if any(found[key] != results[0][key] for found in results.values() for key in found.keys() & results[0].keys()):
            changing.add("cbsz")
        every = {field: max((limits[field] for limits in self.limits.values()), key=len) for field in plain}
        # ABID has the values of CBSZ 0, unless CBSZ is among the modifiers that count.
        return {field: every[field] if "cbsz" in changing else plain[field] for field in plain if field in changing}


# --- The banks of LDS (shared memory) as data for the page: which lanes each phase of an access serves ---
#
# rules      [banks, [lanes of each phase], whether phases merge, ports, provenance, source]
# banks      for each architecture {"read": [rule for each of WIDTHS], "write": [...]}, or null where none is published
# accesses   for each architecture the names of loads and stores: {"lds": {"load": [for each of WIDTHS] ...} ...}


WIDTHS = (1, 2, 4, 8, 16)  # bytes of one lane's access


def bank_data(architectures: list[Architecture]) -> dict[str, Any]:
    """The tables `rules`, `banks`, `names` and `accesses`."""
    rules, names = Distinct(), Distinct()
    banks: list[Any] = []
    for architecture in architectures:
        try:
            found = {access: [_rule(architecture, width, access) for width in WIDTHS] for access in ("read", "write")}
        except Error:
            banks.append(None)
            continue
        banks.append({access: [rules.number(row) for row in rows] for access, rows in found.items()})
    accesses = [names.number(_names(architecture)) for architecture in architectures]
    return {"rules": rules.things, "banks": banks, "names": names.things, "accesses": accesses}


def _rule(architecture: Architecture, width: int, access: str) -> list[Any]:
    found = rule(architecture, width, access)
    phases = [list(lanes) for lanes in found.phases]
    return [found.banks, phases, int(found.merges), found.ports, found.provenance, found.source]


def _names(architecture: Architecture) -> dict[str, dict[str, list[str]]]:
    loaded, stored = _operand(architecture, "A"), _operand(architecture, "D")
    return {
        memory: {
            "load": [access_name(loaded, memory, width) for width in WIDTHS] if loaded else [],
            "store": [access_name(stored, memory, width) for width in WIDTHS] if stored else [],
        }
        for memory in ("lds", "global")
    }


def _operand(architecture: Architecture, name: str) -> Operand | None:
    """The operand of that name of any instruction: what loads it is called does not depend on the instruction.

    None where the family does not say how its loads and stores are called.
    """
    if not architecture.family.mnemonics:
        return None
    for inst in entry(architecture.name).instructions():
        if name in inst.register_operands:
            return inst.operand(name)
    return None
