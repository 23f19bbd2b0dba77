"""The classic actions on one operand: get-register, matrix-entry, both layouts, and the pattern."""

from __future__ import annotations

from ..answers.output_terms import NotInRegisters, calculation, holdings, scales
from ..errors import Error
from ..render.spelling import SOURCE_FIELDS, bits_text, element_text, heading, held_texts, place_text, run_text, signed
from . import Answer, parity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..answers.output_terms import Term
    from ..model import Operand
    from .classic import Options


def get_register(operand: Operand, options: Options) -> str | Answer:
    """-g: the registers and lanes of one element."""
    coordinates = {"i": options.I_coordinate, "j": options.J_coordinate, "k": options.K_coordinate}
    _refuse_outside(operand, coordinates)
    locations = operand.locate(**coordinates, block=options.block)
    i, j, block = options.I_coordinate, options.J_coordinate, options.block
    row, col = (coordinates[axis] for axis in operand.axes[1:])
    if options.json:
        from ..render import json as json_text

        return json_text.get_register(operand, (row, col, block), options.output_calculation)
    name = element_text(operand, row, col, block)
    if not options.output_calculation:
        return heading(operand.instruction, operand) + "".join(
            f"{name} = {place_text(operand, x)}\n" for x in locations
        )
    place = place_text(operand, locations[0], f"{SOURCE_FIELDS['D']}_v")
    text = f"{heading(operand.instruction, operand)}{name} = {place} = {_sum(operand, i, j, block, _place)}\n"
    return _noted(text, parity.sign_difference(operand))


def _refuse_outside(operand: Operand, coordinates: dict[str, int]) -> None:
    """Refuse a coordinate beyond the instruction, even one that the operand lacks, as AMD's tool does."""
    instruction = operand.instruction
    for axis, extent in zip("ijk", (instruction.m, instruction.n, instruction.k)):
        if axis not in operand.axes and coordinates[axis] >= extent:
            raise Error(
                f"{axis} = {coordinates[axis]} is outside {instruction.name}: {axis} is 0 to {extent - 1} "
                f"({operand.name} does not use it)"
            )


def matrix_entry(operand: Operand, options: Options) -> str | Answer:
    """-m: the elements in one register of one lane."""
    register, lane = options.register, options.lane
    found = list(holdings(operand, register, lane))
    listed, left_out = parity.as_listed(operand, found)
    if not found:
        _refuse_unread(operand, lane)
    if options.json:
        from ..render import json as json_text

        return json_text.matrix_entry(operand, register, lane, options.output_calculation)
    lines = []
    for element, text in held_texts(operand, listed):
        line = f"{bits_text(operand, register, lane, element)} = {text}"
        if options.output_calculation:
            line += f" = {_sum(operand, element.row, element.col, element.block, _element)}"
        lines.append(line + "\n")
    text = heading(operand.instruction, operand) + ("".join(lines) or unused(operand, lane))
    signs = parity.sign_difference(operand) if operand.name == "A" or options.output_calculation else ""
    return _noted(text, signs, left_out)


def _noted(text: str, *notes: str) -> str | Answer:
    """An answer with sentences about it on standard error; those that are empty are left out."""
    errors = "".join(f"mmacalc: {note}\n" for note in notes if note)
    return Answer(0, text, errors) if errors else text


def _refuse_unread(operand: Operand, lane: int) -> None:
    """Refuse a lane that the BLGP pattern never reads, or that lies beyond the operand, as AMD's tool does.

    The second is the case of RDNA4's 4-bit operands in wave64, which 32 lanes hold.
    """
    if operand.placement.lanes:
        read = sorted({operand.placement.lanes(source) for source in range(operand.wave)})
        blgp = operand.fields["blgp"]
        raise Error(f"with BLGP {blgp}, lane {lane} is never read: B comes from lanes {read[0]} to {read[-1]}")
    used = operand.layout.spans["lane"]
    if used < operand.wave <= operand.lanes and lane % operand.wave >= used:
        name = operand.instruction.name
        raise Error(f"{operand.name} of {name} uses lanes 0 to {used - 1} of the wave only; lane {lane} holds nothing")


def unused(operand: Operand, lane: int) -> str:
    """The sentence for a lane, or a part of its register, that holds nothing."""
    if operand.fields.get("cbsz"):
        return f"Due to instruction modifiers CBSZ and ABID, lane {lane} is not used for this instruction.\n"
    return f"Lane {lane} is not used for matrix {operand.name} of this instruction.\n"


def register_layout(operand: Operand, options: Options) -> str | Answer:
    """-R: the registers of the whole matrix."""
    if options.json:
        from ..render import json as json_text

        return json_text.register_layout(operand)
    from ..render import layouts as matrices

    table = matrices.register_layout(operand, _style(options), options.transpose, parity.sign)
    return _layout_answer(operand, table, options)


def matrix_layout(operand: Operand, options: Options) -> str | Answer:
    """-M: the matrix elements of all registers and lanes."""
    if options.json:
        from ..render import json as json_text

        return json_text.matrix_layout(operand)
    from ..render import layouts as matrices

    table = matrices.matrix_layout(operand, _style(options), options.transpose, parity.sign)
    return _layout_answer(operand, table, options)


def _layout_answer(operand: Operand, table: str, options: Options) -> str | Answer:
    signs = parity.sign_difference(operand) if operand.name == "A" else ""
    without = "-o explains one element of D, so it goes with -g or -m; the layout is that without it"
    return _noted(heading(operand.instruction, operand) + table, signs, without if options.output_calculation else "")


def pattern(operand: Operand, options: Options) -> str:
    """--pattern: the layout in einops-like notation, with the digit sizes and plain einops beside it."""
    if options.json:
        from ..render import json as json_text

        return json_text.pattern(operand)
    sizes = ", ".join(f"{name}={size}" for name, size in operand.sizes.items())
    return (
        f"{heading(operand.instruction, operand)}{operand.name}: {operand.pattern}\n"
        f"    sizes: {sizes}\n    einops: {operand.einops}\n"
    )


def _style(options: Options) -> str:
    return next((style for style in ("csv", "markdown", "asciidoc") if getattr(options, style)), "grid")


def _sum(operand: Operand, i: int, j: int, block: int, write: Writer) -> str:
    products, addend = calculation(operand.instruction, i, j, block, operand.wave, operand.fields)
    factors = [f"{signed(write(a), _sign(a))}*{signed(write(b), _sign(b))}" for a, b in products]
    blocks = [
        f"{_scale(a, k, write)}*{_scale(b, k, write)}*({' + '.join(factors[k.start : k.stop])})"
        for k, a, b in scales(operand.instruction, i, j, operand.wave, operand.fields)
    ]
    text = " + ".join(blocks or factors)
    if addend is None:
        return text
    signs = _sign(addend)
    minus = "-" if "-" in signs else "+"
    return f"{text} {minus} {signed(write(addend), signs.replace('-', ''))}"


def _sign(term: Term) -> str:
    if isinstance(term.operand, NotInRegisters) or not parity.has_own_signs(term.operand):
        return term.sign
    return parity.sign(term.operand, term.location.lsb)


def _scale(term: Term, block: range, write: Writer) -> str:
    """A scale's place, or its name with all the k that it scales."""
    if write is _place:
        return write(term)
    row, col, _ = term.element
    rows, columns = (range(row, row + 1), block) if term.operand.name == "SA" else (block, range(col, col + 1))
    return run_text(term.operand, rows, columns)


def _place(term: Term) -> str:
    if isinstance(term.operand, NotInRegisters):
        return _element(term)
    text = place_text(term.operand, term.location, f"{SOURCE_FIELDS[term.operand.name]}_v")
    return f"({text})" if " " in text else text


def _element(term: Term) -> str:
    row, col, block = term.element
    return element_text(term.operand, row, col, block)


if TYPE_CHECKING:
    from collections.abc import Callable

    Writer = Callable[[Term], str]

ANSWERS = {
    "get_register": get_register,
    "matrix_entry": matrix_entry,
    "register_layout": register_layout,
    "matrix_layout": matrix_layout,
    "pattern": pattern,
}
