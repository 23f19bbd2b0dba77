"""Which lane, register and bit of a GPU holds which element of a matrix instruction's operands, both ways.

The command line is that of AMD's Matrix Instruction Calculator. Choose an architecture (-a), an instruction (-i),
a matrix (-A -B -C -D -k) and one of the actions -d -g -m -R -M; or list the instructions with -L. For example:

    mmacalc -a MI300X -i v_mfma_f32_16x16x16_f16 -A -g -I 3 -K 9     the lane and register of A[3][9]
    mmacalc -a MI300X -i v_mfma_f32_16x16x16_f16 -D -m -r 2 -l 35    what register 2 of lane 35 is of D
    mmacalc -a MI300X -i v_mfma_f32_16x16x16_f16 -B -R               the registers of all of B
    mmacalc -a MI300X -i v_mfma_f32_16x16x16_f16 -d                  all about the instruction

`mmacalc COMMAND -h` explains each of the commands above.
"""

from __future__ import annotations

from ..catalog import entry
from ..errors import Error
from . import Reply, show
from .options import (
    ACTIONS,
    FLAGS,
    FORMAT_FIELDS,
    MATRICES,
    MATRIX_NAMES,
    MODIFIERS,
    NAMES,
    NUMBERS,
    STYLES,
    TENSOR_MEMORY,
    TENSOR_MEMORY_NAMES,
    name_metavar,
    spellings,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..model import Instruction, Operand
    from .options import Options
    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """Declare the options of AMD's command line, and those it lacks."""
    from .parser import number_or_name, whole_number

    parser.commands_first = True
    # Abbreviations that AMD's tool accepts must stay unambiguous here. Its options are those with a short spelling,
    # and these.
    spelt_out = ("cbsz", "abid", "blgp", "opsel", "neg", "neg_hi", "markdown", "asciidoc", "transpose")
    options = {**NAMES, **FLAGS, **NUMBERS}
    amds = [name for name, option in options.items() if name in spelt_out or (option[0] and name not in TENSOR_MEMORY)]
    parser.abbreviated = frozenset([spelling for name in amds for spelling in spellings(name, None)])
    for name, option in NAMES.items():
        parser.add_argument(*spellings(name, option[0]), metavar=name_metavar(name), help=option[1])
    for name, flag in FLAGS.items():
        parser.add_argument(*spellings(name, flag[0]), action="store_true", help=flag[1])
    for kind, numbers in ((whole_number, NUMBERS), (number_or_name, FORMAT_FIELDS)):
        for name, number in numbers.items():
            parser.add_number(name, kind, number[1], short=number[0], default=0)


def run(options: Options) -> Reply:
    """Answer one classic command line."""
    if options.version:
        return _version(options)
    if not options.architecture:
        from .hints import no_architecture

        raise Error(no_architecture(options.instruction))
    if options.list_instructions:
        return _listing(options)
    if not options.instruction:
        raise Error("no instruction was given; choose one with -i, or list them with -L")
    instruction = entry(options.architecture).instruction(options.instruction)
    if instruction.in_tensor_memory:
        from . import tensor_memory

        return tensor_memory.run(instruction, options)
    if given := [name for name in (*TENSOR_MEMORY, *TENSOR_MEMORY_NAMES) if getattr(options, name)]:
        option = spellings(given[0], None)[0]
        raise Error(
            f"{option} is for tcgen05, whose shape and types are parameters; the name of {instruction.name} fixes both"
        )
    if options.detail_instruction:
        return _detail(instruction, options)
    action = _only(options, ACTIONS, "action", "-g, -m, -R, -M, -d or --pattern")
    matrix = MATRIX_NAMES[_only(options, MATRICES, "matrix", "-A, -B, -C, -D, -k, --scale-a, --scale-b or --addresses")]
    _check_output_calculation(options, action, matrix)
    _check_style(options)
    return _ANSWERS[action](_operand(instruction, matrix, options), options)


def _only(options: Options, choices: Mapping[str, tuple[str | None, str]], what: str, flags: str) -> str:
    chosen = [name for name in choices if getattr(options, name)]
    if len(chosen) == 1:
        return chosen[0]
    if not chosen:
        raise Error(f"no {what} was chosen; choose one of {flags}")
    given = " and ".join(choices[name][0] or spellings(name, None)[0] for name in chosen)
    raise Error(f"{given} were given together; choose one {what} of {flags}")


def _check_style(options: Options) -> None:
    chosen = [style for style in STYLES if getattr(options, style)]
    if len(chosen) > 1:
        raise Error(f"--{' and --'.join(chosen)} were given together; choose one format")


def _check_output_calculation(options: Options, action: str, matrix: str) -> None:
    if not options.output_calculation:
        return
    if matrix != "D":
        raise Error(f"-o shows how D is calculated, so it goes with -D; got {matrix}")
    if action == "pattern":
        raise Error("-o goes with -g or -m: it explains one element of D")


def _operand(instruction: Instruction, matrix: str, options: Options) -> Operand:
    """The operand under the modifiers given, refusing those that do not concern it."""
    if matrix not in instruction.operands:
        has = ", ".join(instruction.operands)
        if matrix == "K" and not instruction.sparse:
            raise Error(f"{instruction.name} is dense and so has no compression indices; its matrices are {has}")
        raise Error(f"{instruction.name} has no {matrix} matrix; its matrices are {has}")
    given = _given(instruction, options)
    fields = {name: value for name, value in given.items() if value}
    operand = instruction.operand(matrix, options.wavefront, **fields)
    for name in fields:
        concerned = concerns(instruction, name)
        # -o shows no index, and OPSEL of a sparse instruction concerns nothing else. Only -g and -m show signs.
        shown = options.output_calculation and not (name == "opsel" and concerned == ("K",))
        shown = shown and not (name in ("neg", "neg_hi") and (options.register_layout or options.matrix_layout))
        if name in instruction.choices and set(instruction.choices) <= set(given):
            continue  # the formats of all operands, as a script gives them with each operand in turn
        if matrix not in concerned and not (matrix == "D" and shown):
            others = " and ".join(concerned) + ("" if concerned == ("K",) else ", and -D with -o")
            raise Error(f"--{name} has no effect on {matrix} of {instruction.name}; it affects {others}")
    return operand


def _fields(instruction: Instruction, options: Options) -> dict[str, int]:
    """The modifiers given, under the instruction's names for them; those that are 0 are left out."""
    return {name: value for name, value in _given(instruction, options).items() if value}


def _given(instruction: Instruction, options: Options) -> dict[str, int]:
    """The modifiers given, also those whose name means 0 (fp8)."""
    given = {name: getattr(options, name) for name in MODIFIERS if getattr(options, name)}
    return instruction.resolved(given)


def concerns(instruction: Instruction, modifier: str) -> tuple[str, ...]:
    """Operands affected by a modifier, and K with NEG and NEG_HI.

    AMD's tool takes NEG with K, which it does not change; a script that asks for all operands in turn may rely on it.
    """
    if modifier in instruction.choices:
        return (instruction.choices[modifier],)
    if modifier in ("cbsz", "abid"):
        return ("A", "K")
    if modifier == "blgp":
        return ("A", "B", "C") if instruction.formats["A"] == "f64" else ("B",)
    if modifier == "selector":
        return ("K",)
    if modifier.startswith(("byte_id", "thread_id")):
        return (f"S{modifier[-1].upper()}",)
    if modifier in ("matrix_a_scale", "matrix_b_scale"):
        return ("SA",) if "_a_" in modifier else ("SB",)
    if modifier in ("opsel", "op_sel_hi"):
        return ("SA", "SB") if instruction.scaled else ("K",) if instruction.sparse else ("C", "D")
    return ("A", "B", "K") if instruction.sparse else ("A", "B", "C")


def _version(options: Options) -> Reply:
    from ..answers.version import version
    from ..render import version as render

    return show(options.json, "version", version(), render)


def _listing(options: Options) -> Reply:
    from ..render import listing

    return show(options.json, "list-instructions", entry(options.architecture), listing)


def _detail(instruction: Instruction, options: Options) -> Reply:
    from ..answers.detail import detail
    from ..render import detail as render

    instruction.architecture.wave(options.wavefront)
    return show(options.json, "detail-instruction", detail(instruction, **_fields(instruction, options)), render)


def _get_register(operand: Operand, options: Options) -> Reply:
    from ..answers.lookup import get_register
    from ..render import get_register as render

    coordinates = {"i": options.I_coordinate, "j": options.J_coordinate, "k": options.K_coordinate}
    _refuse_outside(operand, coordinates)
    answer = get_register(operand, **coordinates, block=options.block, calculated=options.output_calculation)
    return show(options.json, "get-register", answer, render, notes=render.notes(answer))


def _refuse_outside(operand: Operand, coordinates: Mapping[str, int]) -> None:
    """Refuse a coordinate beyond the instruction, even one that the operand lacks, as AMD's tool does."""
    instruction = operand.instruction
    for axis, extent in zip("ijk", (instruction.m, instruction.n, instruction.k)):
        if axis not in operand.axes and coordinates[axis] >= extent:
            raise Error(
                f"{axis} = {coordinates[axis]} is outside {instruction.name}: {axis} is 0 to {extent - 1} "
                f"({operand.name} does not use it)"
            )


def _matrix_entry(operand: Operand, options: Options) -> Reply:
    from ..answers.lookup import matrix_entry
    from ..render import matrix_entry as render

    answer = matrix_entry(operand, options.register, options.lane, calculated=options.output_calculation)
    if not answer.elements:
        _refuse_unread(operand, options.lane)
    return show(options.json, "matrix-entry", answer, render, notes=render.notes(answer))


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


def _register_layout(operand: Operand, options: Options) -> Reply:
    from ..answers.layouts import register_layout
    from ..render import register_layout as render

    layout = register_layout(operand)
    notes = (*render.notes(layout), *_without_calculation(options))
    return show(options.json, "register-layout", layout, render, _style(options), options.transpose, notes=notes)


def _matrix_layout(operand: Operand, options: Options) -> Reply:
    from ..answers.layouts import matrix_layout
    from ..render import matrix_layout as render

    layout = matrix_layout(operand)
    notes = (*render.notes(layout), *_without_calculation(options))
    return show(options.json, "matrix-layout", layout, render, _style(options), options.transpose, notes=notes)


def _without_calculation(options: Options) -> tuple[str, ...]:
    """AMD's tool takes -o with a layout, where it changes nothing."""
    note = "-o explains one element of D, so it goes with -g or -m; the layout is that without it"
    return (note,) if options.output_calculation else ()


def _style(options: Options) -> str:
    return next((style for style in ("csv", "markdown", "asciidoc") if getattr(options, style)), "grid")


def _pattern(operand: Operand, options: Options) -> Reply:
    from ..render import pattern

    return show(options.json, "pattern", operand, pattern)


_ANSWERS = {
    "get_register": _get_register,
    "matrix_entry": _matrix_entry,
    "register_layout": _register_layout,
    "matrix_layout": _matrix_layout,
    "pattern": _pattern,
}
