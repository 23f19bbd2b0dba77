"""The classic command line: AMD's Matrix Instruction Calculator 1.3.2, and what it lacks.

Its options are read here by a small reader, for argparse takes longer to import than a query takes to answer; its
answers are in the modules beside this one, and where its texts deviate from what is right, in `quirks`.
"""

from __future__ import annotations

import sys

from ...base.checks import whole
from ...base.errors import Error
from ...catalog import entry
from ...command import Reply, show
from ...command.options import (
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
    assembly_spellings,
    spellings,
)  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import SimpleNamespace

    from ...command import Options
    from ...model import Instruction, Operand
else:
    SimpleNamespace = type(sys.implementation)  # without the module types


_MEANINGS = {
    spelling: (name, what)
    for what, options in (("flag", FLAGS), ("number", NUMBERS), ("format", FORMAT_FIELDS), ("name", NAMES))
    for name, (short, _) in options.items()
    for spelling in (*spellings(name, short), *assembly_spellings(name))
}
_DEFAULTS = dict.fromkeys(NAMES) | dict.fromkeys(FLAGS, False) | dict.fromkeys((*NUMBERS, *FORMAT_FIELDS), 0)


def with_shape(argv: Sequence[str]) -> list[str]:
    """A command line with -M before a number written as --m: AMD's -M takes no value, so nothing else is meant.

    >>> with_shape(["-M", "128", "-N", "256"]), with_shape(["-A", "-M"])
    (['--m', '128', '-N', '256'], ['-A', '-M'])
    """
    following = [*argv[1:], ""]
    return ["--m" if word == "-M" and after.isdecimal() else word for word, after in zip(argv, following)]


def scan(argv: Sequence[str]) -> SimpleNamespace | None:
    """Read a command line whose options are unabbreviated and separate from their values.

    argparse takes longer to import than a query takes to answer, so it is called only where this returns None: for
    abbreviations, `--lane=3`, `-gA`, help, and errors. `command.COMMAND`, whose options are made of the same tables, is
    the authority.
    """
    values: dict[str, object] = {**_DEFAULTS}
    words = iter(argv)
    for word in words:
        name, what = _MEANINGS.get(word, ("", ""))
        value = "" if what == "flag" else next(words, "-")
        digits = value.isascii() and value.isdecimal() and len(value) < 10
        if not what or value.startswith("-") or (what == "number" and not digits):
            return None
        number = digits and what in ("number", "format")
        values[name] = True if what == "flag" else whole(value, f"--{name}") if number else value
    return SimpleNamespace(**values)


def run(options: Options) -> Reply:
    """Answer one classic command line."""
    if options.version:
        return _version(options)
    if not options.architecture:
        raise Error(_no_architecture(options.instruction))
    if options.list_instructions:
        return _listing(options)
    if not options.instruction:
        raise Error("no instruction was given; choose one with -i, or list them with -L")
    instruction = entry(options.architecture).meant(options.instruction)
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


def _no_architecture(instruction: str | None) -> str:
    """The message for a query without -a: which architectures have the instruction, if there is one."""
    from ...catalog import architectures

    having = [name for name in architectures() if instruction and entry(name).canonical(instruction)]
    if not having:
        return "no architecture was given; choose one with -a, such as `-a cdna3` or `-a MI300X`"
    return f"no architecture was given; {instruction} is on {', '.join(having)}: choose one with -a"


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
    from .about import version, version_text

    return show(options.json, "version", version(), version_text)


def _listing(options: Options) -> Reply:
    from .about import Listing, listing_text

    return show(options.json, "list-instructions", Listing(entry(options.architecture)), listing_text)


def _detail(instruction: Instruction, options: Options) -> Reply:
    from .detail import detail, text

    instruction.architecture.wave(options.wavefront)
    return show(options.json, "detail-instruction", detail(instruction, **_fields(instruction, options)), text)


def _get_register(operand: Operand, options: Options) -> Reply:
    from .places import get_register, notes, text

    coordinates = {"i": options.I_coordinate, "j": options.J_coordinate, "k": options.K_coordinate}
    _refuse_outside(operand, coordinates)
    answer = get_register(operand, **coordinates, block=options.block, calculated=options.output_calculation)
    return show(options.json, "get-register", answer, text, notes=notes(answer))


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
    from .places import contents_notes, contents_text, matrix_entry

    answer = matrix_entry(operand, options.register, options.lane, calculated=options.output_calculation)
    if not answer.elements:
        _refuse_unread(operand, options.lane)
    return show(options.json, "matrix-entry", answer, contents_text, notes=contents_notes(answer))


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
    from .layouts import notes, register_layout, text

    layout, style = register_layout(operand), _style(options)
    said = (*notes(layout), *_without_calculation(options))
    return show(
        options.json, "register-layout", layout, lambda layout: text(layout, style, options.transpose), notes=said
    )


def _matrix_layout(operand: Operand, options: Options) -> Reply:
    from .layouts import matrix_layout, matrix_notes, matrix_text

    layout, style = matrix_layout(operand), _style(options)
    said = (*matrix_notes(layout), *_without_calculation(options))
    return show(
        options.json, "matrix-layout", layout, lambda layout: matrix_text(layout, style, options.transpose), notes=said
    )


def _without_calculation(options: Options) -> tuple[str, ...]:
    """AMD's tool takes -o with a layout, where it changes nothing."""
    note = "-o explains one element of D, so it goes with -g or -m; the layout is that without it"
    return (note,) if options.output_calculation else ()


def _style(options: Options) -> str:
    return next((style for style in ("csv", "markdown", "asciidoc") if getattr(options, style)), "grid")


def _pattern(operand: Operand, options: Options) -> Reply:
    from .about import Pattern, pattern_text

    return show(options.json, "pattern", Pattern(operand), pattern_text)


_ANSWERS = {
    "get_register": _get_register,
    "matrix_entry": _matrix_entry,
    "register_layout": _register_layout,
    "matrix_layout": _matrix_layout,
    "pattern": _pattern,
}
