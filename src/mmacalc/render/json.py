"""The same answers as JSON, with stable keys.

Every answer is one object with `schema_version` and `query`. One about an instruction also has `architecture`,
`instruction` and `provenance`; a list of instructions has these in each of its `instructions`. The schema version
rises when a key changes its meaning or goes away, not when one is added.

Signs: `negated` and `absolute` say how the instruction reads an element. Of the two 16-bit values that a sparse A
stores of each four k, NEG and NEG_HI may negate one: `negated` is then null, and `negated_half` is "low" (the value
stored first) or "high"; else `negated_half` is null.
"""

from __future__ import annotations

import json

from ..answers.output_terms import NotInRegisters, calculation, holdings, scales
from ..answers.output_terms import sign as sign_at
from ..formats import named
from . import formulas
from .spelling import SOURCE_FIELDS, bits_text, element_text, is_ptx, place_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from ..answers.output_terms import Term
    from ..compiler.builtins import Intrinsic
    from ..model import Element, Instruction, Location, Operand

SCHEMA_VERSION = 1


def document(query: str, **content: Any) -> str:
    """One JSON object as text."""
    return json.dumps({"schema_version": SCHEMA_VERSION, "query": query, **content}) + "\n"


def summary(instruction: Instruction) -> dict[str, Any]:
    """What identifies an instruction, and its shape, formats and cost."""
    return {
        "architecture": instruction.arch,
        "instruction": instruction.name,
        "aliases": list(instruction.aliases),
        "m": instruction.m,
        "n": instruction.n,
        "k": instruction.k,
        "blocks": instruction.blocks,
        "formats": dict(instruction.formats),
        "sparse": instruction.sparse,
        "opcode": instruction.opcode,
        "cycles": instruction.cycles,
        "operations": instruction.flops,
        "provenance": instruction.provenance,
        "unconfirmed": list(instruction.unconfirmed),
    }


def listing(instructions: Iterable[Instruction]) -> str:
    """-L and find: the instructions, in catalog order."""
    return document("list-instructions", instructions=[summary(instruction) for instruction in instructions])


def detail(instruction: Instruction, fields: Mapping[str, int] = {}) -> str:
    """-d: everything about an instruction, the formulas by wave size, operand and direction.

    Args:
        instruction: which.
        fields: the values of fields that choose formats; the cycles and operands are those of that choice.
    """
    waves = {}
    for wave in sorted(instruction.architecture.waves):
        operands = {name: instruction.operand(name, wave, **fields) for name in instruction.register_operands}
        waves[str(wave)] = {name: _described(operand) for name, operand in operands.items()}
    cycles = instruction.cycles_for(**fields)
    return document(
        "detail-instruction",
        **{**summary(instruction), "cycles": cycles},
        chosen=dict(fields),
        format_choices=[_choice(instruction, *choice) for choice in instruction.choices.items()],
        cycles_provenance=instruction.provenance_of("cycles"),
        valu_cycles_provenance=instruction.provenance_of("valu_cycles"),
        notes=list(instruction.notes),
        encoding=instruction.architecture.encoding or None,
        valu_cycles=instruction.valu_cycles_for(**fields),
        register_alignment_bytes=instruction.architecture.register_alignment
        if instruction.architecture.encoding
        else None,
        accumulator_registers=instruction.architecture.accumulators,
        operations_per_unit_and_cycle=None if cycles is None else instruction.throughput(**fields),
        unit=instruction.architecture.unit,
        prefix_opcode=instruction.prefix_opcode,
        modifiers=_modifiers(instruction),
        numerics=_numerics(instruction, fields),
        waves=waves,
        **(_ptx_facts(instruction) if is_ptx(instruction) else _amd_facts(instruction)),
    )


def _modifiers(instruction: Instruction) -> dict[str, list[int]]:
    """The values that each modifier can take, on some wave size and with some value of the others."""
    found: dict[str, set[int]] = {}
    for wave in instruction.architecture.waves:
        for cbsz in instruction.modifier_limits(wave).get("cbsz", (0,)):
            for name, values in instruction.modifier_limits(wave, cbsz).items():
                found.setdefault(name, set()).update(values)
    return {name: sorted(values) for name, values in found.items()}


def _amd_facts(instruction: Instruction) -> dict[str, Any]:
    """The compiler's intrinsics by wave size."""
    from ..compiler.builtins import intrinsics

    waves = sorted(instruction.architecture.waves)
    return {
        "intrinsics": {str(wave): [intrinsic_data(one) for one in intrinsics(instruction, wave)] for wave in waves},
    }


def intrinsic_data(intrinsic: Intrinsic) -> dict[str, Any]:
    """A compiler's builtin as plain data."""
    return {**intrinsic._asdict(), "prototype": intrinsic.prototype}


def _ptx_facts(instruction: Instruction) -> dict[str, Any]:
    from . import ptx_detail

    return ptx_detail.facts(instruction)


def _choice(instruction: Instruction, field: str, operand: str) -> dict[str, Any]:
    """A field that chooses a format: its values, each with the format, registers and layout it gives."""
    values = []
    for value in instruction.modifier_limits()[field]:
        chosen = instruction.operand(operand, **{field: value})
        about = {"value": value, "format": chosen.format.name, "format_title": chosen.format.title}
        values.append({**about, "bits": chosen.format.bits, "registers": chosen.registers, "pattern": chosen.pattern})
    return {"field": field, "operand": operand, "values": values}


def _numerics(instruction: Instruction, fields: Mapping[str, int]) -> dict[str, Any] | None:
    """The arithmetic model, of an instruction that computes."""
    from ..arithmetic import numerics
    from .arithmetic import numerics_data

    return None if "move" in instruction.features else numerics_data(numerics(instruction, **fields))


def _described(operand: Operand) -> dict[str, Any]:
    return {
        "field": None if is_ptx(operand.instruction) else SOURCE_FIELDS.get(operand.name),
        "format": operand.format.name,
        "format_title": named(operand.format.name).title,
        "registers": operand.registers,
        "provenance": operand.provenance,
        "pattern": operand.pattern,
        "sizes": operand.sizes,
        "einops": operand.einops,
        "element_to_register": formulas.forward(operand),
        "register_to_element": formulas.backward(operand),
    }


def _about(operand: Operand) -> dict[str, Any]:
    return {
        "architecture": operand.instruction.arch,
        "instruction": operand.instruction.name,
        "matrix": operand.name,
        "wave": operand.wave,
        "modifiers": dict(operand.fields),
        "provenance": operand.provenance,
    }


def _place(operand: Operand, location: Location, prefix: str = "v") -> dict[str, Any]:
    return {**location._asdict(), "text": place_text(operand, location, prefix)}


def _signs(sign: str) -> dict[str, Any]:
    """What `query.sign` answers, as keys."""
    half = sign if sign in ("low", "high") else None
    return {"negated": None if half else "-" in sign, "negated_half": half, "absolute": "|" in sign}


def _entry(operand: Operand, row: int, col: int, block: int) -> dict[str, Any]:
    first, second = operand.axes[1:]
    return {first: row, second: col, "block": block, "text": element_text(operand, row, col, block)}


def get_register(operand: Operand, wanted: tuple[int, int, int], with_calculation: bool) -> str:
    """-g: the locations of one element; with -o also the terms that D is the sum of."""
    coordinates = dict(zip((*operand.axes[1:], "block"), wanted))
    locations = operand.locate(**coordinates)
    return document(
        "get-register",
        **_about(operand),
        element=_entry(operand, *wanted),
        locations=[_place(operand, location) for location in locations],
        **_signs(sign_at(operand, locations[0].lsb)),
        **(_calculated(operand, *wanted) if with_calculation else {}),
    )


def matrix_entry(operand: Operand, register: int, lane: int, with_calculation: bool) -> str:
    """-m: every element in one register of one lane."""
    return document(
        "matrix-entry",
        **_about(operand),
        register=register,
        lane=lane,
        elements=[
            _held(operand, register, lane, element, sign)
            | (_calculated(operand, element.row, element.col, element.block) if with_calculation else {})
            for element, sign in holdings(operand, register, lane)
        ],
    )


def _held(operand: Operand, register: int, lane: int, element: Element, sign: str) -> dict[str, Any]:
    return {
        **_entry(operand, element.row, element.col, element.block),
        "lsb": element.lsb,
        "width": element.width,
        **_signs(sign),
        "place": bits_text(operand, register, lane, element),
    }


def _calculated(operand: Operand, i: int, j: int, block: int) -> dict[str, Any]:
    products, addend = calculation(operand.instruction, i, j, block, operand.wave, operand.fields)
    return {
        "products": [{"a": _term(a), "b": _term(b)} for a, b in products],
        "addend": None if addend is None else _term(addend),
        "scales": [
            {"first_k": k.start, "last_k": k.stop - 1, "a": _term(a), "b": _term(b)}
            for k, a, b in scales(operand.instruction, i, j, operand.wave, operand.fields)
        ],
    }


def _term(term: Term) -> dict[str, Any]:
    prefix = f"{SOURCE_FIELDS[term.operand.name]}_v"
    return {
        "element": element_text(term.operand, *term.element),
        **_signs(term.sign),
        "location": None if isinstance(term.operand, NotInRegisters) else _place(term.operand, term.location, prefix),
    }


def register_layout(operand: Operand) -> str:
    """-R: the locations of every element, as nested lists [block][row][column][copy]."""
    blocks, rows, columns = operand.shape
    first, second = operand.axes[1:]
    signs = {lsb: _signs(sign_at(operand, lsb)) for lsb in range(32)}
    return document(
        "register-layout",
        **_about(operand),
        axes=list(operand.axes),
        locations=[
            [
                [
                    [
                        {**location._asdict(), **signs[location.lsb]}
                        for location in operand.locate(**{first: row, second: col, "block": block})
                    ]
                    for col in range(columns)
                ]
                for row in range(rows)
            ]
            for block in range(blocks)
        ],
    )


def matrix_layout(operand: Operand) -> str:
    """-M: the elements of every register and lane, as nested lists [register][lane][element]."""
    return document(
        "matrix-layout",
        **_about(operand),
        axes=list(operand.axes),
        elements=[
            [
                [_held(operand, register, lane, *found) for found in holdings(operand, register, lane)]
                for lane in range(operand.lanes)
            ]
            for register in range(operand.registers)
        ],
    )


def pattern(operand: Operand) -> str:
    """--pattern: the layout as a pattern, its sizes, and the same for einops."""
    return document("pattern", **_about(operand), pattern=operand.pattern, sizes=operand.sizes, einops=operand.einops)
