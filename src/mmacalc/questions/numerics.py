"""Explain how an instruction rounds: its arithmetic model in words, how sure that is, and an input that shows it.

    mmacalc numerics -a gfx942 -i v_mfma_f32_16x16x16_f16
    mmacalc numerics -a gfx942                             a table of all its instructions; -a again: of two
    mmacalc numerics                                       the rounding of every architecture
    mmacalc numerics -a gfx942 -i v_mfma_f32_16x16x16_f16 -a h100 -i wgmma.m64n128k16.f32.f16.f16
                                                           two side by side, and an input on which they differ

The input is one dot product on which the instruction differs from the exact sum rounded once, and from a chain of
fused multiply-adds; it was found by trying, and the emulator computed all three answers.
"""

from __future__ import annotations

from itertools import product
from textwrap import fill

from ..arithmetic.numerics import MMA_SIM_NAMES, kind, refusal
from ..arithmetic.numerics import numerics as model_of
from ..arithmetic.tables import KHATTAK, MMA_SIM, ROCJITSU
from ..base.checks import arguments_checked
from ..base.errors import Error
from ..base.records import Record, TupleRecord, cached_property, json_keys
from ..catalog import architectures, entry
from ..command import Command, Reply, flag, show, tables
from ..command.common import ARCHITECTURES, INSTRUCTIONS, JSON, MODIFIERS, WAVE
from ..command.options import modifiers
from ..spelling import heading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from ..arithmetic.numerics import Numerics
    from ..catalog import Entry
    from ..command import Options
    from ..diagnosis.witness import RoundingExample
    from ..model import Instruction
    from .find import arithmetic as find_arithmetic


@json_keys("**instruction", "modifiers", "numerics", "example")
class InstructionNumerics(Record):
    """How one instruction rounds.

    Attributes:
        instruction: which. wave: the wave size. modifiers: as they were given. numerics: its arithmetic model, how sure
            that is, and the same in words.
    """

    instruction: Instruction
    wave: int
    modifiers: Mapping[str, int | str]
    numerics: Numerics

    @cached_property
    def example(self) -> RoundingExample | None:
        """A dot product on which the instruction differs from the exact sum rounded once, and from a chain of fused
        multiply-adds; None where there is none, as for integers. It is looked for with the emulator (NumPy)."""
        from ..diagnosis.witness import rounding_example
        from ..emulator.execution import execution_of

        return rounding_example(execution_of(self.instruction, self.wave, self.modifiers, False, False))


@arguments_checked
def numerics(instruction: Instruction, wave: int | None = None, **modifiers: int | str) -> InstructionNumerics:
    """How an instruction rounds.

    Args:
        instruction: which. wave: the wave size; the architecture's default if left out.
        modifiers: those that choose formats, such as cbsz="fp4"; others make no difference.

    Raises:
        Error: a modifier that the instruction lacks, or a value that it does not take; it only moves a matrix.

    >>> import mmacalc
    >>> found = mmacalc.numerics(mmacalc.instruction("gfx90a", "v_mfma_f32_32x32x8f16"))
    >>> found.numerics.model, found.numerics.provenance, found.example.instruction != found.example.exact
    ('pairwise_f32', 'two sources agree', True)
    """
    size, (shaped, fields) = instruction.architecture.wave(wave), instruction.split_parameters(modifiers)
    shaped.check_modifiers(size, shaped.resolved(fields))
    return InstructionNumerics(instruction, size, modifiers, model_of(shaped, **fields))


@json_keys(
    "architectures",
    "inputs",
    "outputs",
    "kinds",
    "shapes",
    "roundings",
    "instructions",
    "numerics",
)
class Arithmetic(TupleRecord):
    """Instructions that compute alike.

    architectures: the canonical names of those that have them; inputs, outputs: the formats of A and B, and of D;
    kinds: mma, mma.sp, wgmma, mfma ...; shapes: (M, N, K), none of tcgen05; numerics: how the first of them computes;
    roundings: theirs, one or, where the name chooses, several; instructions: how many there are on the first
    architecture.
    """

    architectures: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    kinds: tuple[str, ...]
    shapes: tuple[tuple[int, int, int], ...]
    numerics: Numerics
    roundings: tuple[str, ...]
    instructions: int


def overview(*names: str) -> tuple[Arithmetic, ...]:
    """How the instructions of architectures compute, format by format; of all architectures without a name.

    Architectures that agree in everything stand together.

    Raises:
        Error: there is no such architecture, or its arithmetic is not known.

    >>> for one in overview("cdna1"):
    ...     print(*one.inputs, "->", *one.outputs, one.numerics.model, one.numerics.step)
    f32 -> f32 fma_chain 1
    f16 -> f32 exact 4
    i8 -> i32 integer K
    bf16 -> f32 exact 2
    """
    alike: dict[str, tuple[tuple[Arithmetic, ...], list[str]]] = {}
    for name in dict.fromkeys(entry(name).architecture.name for name in names or architectures()):
        found = entry(name)
        if not names and "arithmetic" in found.architecture.family.unsupported_topics:
            continue
        found.architecture.family.require("arithmetic", found.architecture.title)
        computed = [inst for inst in found.instructions() if not ({"A", "B"} <= set(inst.operands) and refusal(inst))]
        rows = _of((*computed, *_in_tensor_memory(found)))
        alike.setdefault(repr(rows), (rows, []))[1].append(name)
    return tuple(one._replace(architectures=tuple(group)) for rows, group in alike.values() for one in rows)


def _in_tensor_memory(found: Entry) -> Iterator[Instruction]:
    """The instructions of Tensor Memory with each of their types whose documents are public (not kind::ti16)."""
    if not found.tensor_memory_names:
        return
    from ..families.tensor_memory import types_of
    from ..model.tensor_memory import TensorMemoryInstruction

    for name in found.tensor_memory_names:
        inst = found.instruction(name)
        if not isinstance(inst, TensorMemoryInstruction) or not inst.formats:
            continue
        for a, d in product(*types_of(inst.kind)):
            if (a, d) != ("bf16", "f16"):
                yield inst.shaped(a=a, b=a, d=d)


def _of(instructions: Iterable[Instruction]) -> tuple[Arithmetic, ...]:
    """One row for all instructions that compute alike, in catalog order; no architectures yet."""
    rows: dict[tuple[object, ...], tuple[Numerics, list[dict[Any, None]]]] = {}
    for inst in instructions:
        if not {"A", "B"} <= set(inst.operands):
            continue
        found = model_of(inst)
        key = (
            found.model, found.step, found.subnormals, found.nan, found.provenance, found.source,
            inst.formats["D"],
            *sorted((name, value) for name, value in found.parameters.items() if name not in ("group", "rounding")),
        )  # fmt: skip
        sort = kind(inst) + ".sp" * (".sp" in inst.name)
        seen = (inst.formats["D"], sort, (inst.m, inst.n, inst.k), found.rounding, inst.name)
        _, (inputs, *others) = rows.setdefault(key, (found, [{} for _ in range(6)]))
        inputs |= dict.fromkeys((inst.formats["A"], inst.formats["B"]))
        for values, value in zip(others, seen):
            values[value] = None
        if inst.in_tensor_memory:  # its shape is a parameter
            others[2].clear()
    return tuple(
        Arithmetic((), tuple(inputs), tuple(outputs), tuple(kinds), tuple(shapes), found, tuple(roundings), len(names))
        for found, (inputs, outputs, kinds, shapes, roundings, names) in rows.values()
    )


@json_keys("instructions", "**arithmetic")
class TwoNumerics(Record):
    """How two instructions round.

    Attributes:
        instructions: both. arithmetic: in which parts they differ, and an input on which they do.
    """

    instructions: tuple[InstructionNumerics, InstructionNumerics]

    @cached_property
    def arithmetic(self) -> find_arithmetic.Arithmetic:
        """In which parts they differ, and an input on which they do."""
        from .find.arithmetic import Arithmetic

        first, second = self.instructions
        return Arithmetic(first.instruction, second.instruction)


def two_text(answer: TwoNumerics) -> str:
    """The models, a table of their parts, and an input on which the two differ."""
    from .find.arithmetic import side_by_side

    found = answer.arithmetic
    first, second = (one.instruction for one in answer.instructions)
    parts = [("", first.arch, second.arch), *found.parts]
    texts = [heading(one.instruction) + numerics_text(one.numerics) for one in answer.instructions]
    return "\n".join([*texts, *side_by_side((first, second), parts), *found.lines()]) + "\n"


class Overview(Record):
    """Instructions that compute alike, in rows."""

    rows: tuple[Arithmetic, ...]


COLUMNS = (
    "A, B", "D", "instructions", "model", "group", "fraction bits", "rounding", "subnormals", "NaN", "provenance",
    "source",
)  # fmt: skip


def overview_text(answer: Overview, markdown: bool = False) -> str:
    """A table for each set of architectures that compute alike, and the sources; or a page of Markdown."""
    rows = answer.rows
    if markdown:
        return _page(rows)
    return LEGEND + _tables(rows) + "Sources:\n" + "".join(f"  {line}\n" for line in _sources(rows))


def _page(rows: Sequence[Arithmetic]) -> str:
    """The same as a page of Markdown with an introduction: a section for each generation."""
    numbers = {source: number for number, source in enumerate(_distinct(rows), 1)}
    books = [f"- {name}: {text}" for name, text in BOOKS.items() if any(text in source for source in numbers)]
    sources = [f"- [{number}] {_abridged(_referring(source, numbers))}" for source, number in numbers.items()]
    return (
        INTRODUCTION
        + tables.write(("model", "in MMA-Sim 2"), sorted(MMA_SIM_NAMES.items()), "markdown")
        + _sections(rows)
        + "\n## Sources\n\n"
        + "".join(f"{line}\n" for line in [*books, *sources])
    )


BOOKS = {"MMA-Sim": MMA_SIM, "Khattak and Mikaitis": KHATTAK, "rocjitsu": ROCJITSU}  # what the page calls them


def _abridged(source: str) -> str:
    """A source with the names of BOOKS."""
    for name, text in BOOKS.items():
        source = source.replace(text, name)
    return source


def _sections(rows: Sequence[Arithmetic]) -> str:
    """A table for each generation, in which instructions that compute alike on several of its targets have one row."""
    numbers = {source: str(number) for number, source in enumerate(_distinct(rows), 1)}
    sections: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for row in rows:
        first = entry(row.architectures[0]).architecture
        merged = sections.setdefault(first.arithmetic or first.name, {})
        merged.setdefault(_cells(row, numbers), []).extend(row.architectures)
    return "".join(
        f"\n## {', '.join(_together(*merged.values()))}\n\n{_section(merged)}" for merged in sections.values()
    )


def _together(*groups: list[str]) -> list[str]:
    """The architectures of the groups, in the catalog's order."""
    return [name for name in architectures() if any(name in group for group in groups)]


def _section(merged: Mapping[tuple[str, ...], list[str]]) -> str:
    """The table of a generation; which targets a row is of stands behind it where that is not all of them."""
    names = _together(*merged.values())
    lines = [
        (*cells, "all" if len(group) == len(names) else ", ".join(_together(group))) for cells, group in merged.items()
    ]
    columns = slice(None if any(line[-1] != "all" for line in lines) else -1)
    return tables.write((*COLUMNS, "targets")[columns], [line[columns] for line in lines], "markdown")


LEGEND = """\
group: the products that one step adds (K: all). fraction bits: how far below the largest exponent a term keeps its
  bits; on CDNA3 then the bits of the floored sum of products, and of the floored total.
  `mmacalc numerics -a ... -i ...` says it in words, with an input that shows it.
"""

INTRODUCTION = """# All arithmetic models

Written by `mmacalc numerics --markdown`, from the tables with which the emulator computes
(src/mmacalc/arithmetic/tables.py); a test compares the two. `mmacalc numerics -a gfx942` prints one architecture,
`mmacalc numerics -a gfx942 -i v_mfma_f32_16x16x16_f16` one instruction in words, with an input on which its rounding
shows.

* *group*: the products that one step adds; the result of a step is the accumulator of the next. K: all of them;
  K/2: half.
* *fraction bits*: how far below the largest exponent a term keeps its bits, and the least exponent that counts. On
  CDNA3 then the bits of the floored sum of products and of the floored total; on RDNA the bits below the leading bit.
* *provenance*: hardware-verified: compared bit for bit with outputs measured on that generation. Two sources agree: two
  published models. One source: one of them, or only a vendor's document. Assumed: how it rounds is unpublished, or
  published of another generation only.
* *targets*: which of the section's architectures compute so, where not all do.

"""


def _tables(rows: Sequence[Arithmetic]) -> str:
    """A grid for each set of architectures that compute alike."""
    numbers = {source: str(number) for number, source in enumerate(_distinct(rows), 1)}
    groups = dict.fromkeys(row.architectures for row in rows)
    return "".join(
        f"{', '.join(group)}:\n"
        + tables.write(COLUMNS, [_cells(row, numbers) for row in rows if row.architectures == group])
        for group in groups
    )


def _cells(row: Arithmetic, numbers: dict[str, str]) -> tuple[str, ...]:
    numerics = row.numerics
    kinds = ", ".join(row.kinds) + (" {}x{}x{}".format(*row.shapes[0]) if len(row.shapes) == 1 else "")
    step = "" if numerics.model == "integer" else numerics.step
    return (
        ", ".join(row.inputs), ", ".join(row.outputs), kinds, numerics.model, step, _fraction(row),
        ", ".join(row.roundings), numerics.subnormals, numerics.nan, numerics.provenance,
        f"[{numbers[numerics.source]}]",
    )  # fmt: skip


def _fraction(row: Arithmetic) -> str:
    """The bits that terms keep: the adder's, those of later stages, and the least exponent."""
    parameters = row.numerics.parameters
    bits = [
        str(parameters[name]) for name in ("fraction", "dot_fraction", "sum_fraction", "reach") if name in parameters
    ]
    least = f"; from 2^{parameters['lowest']}" if "lowest" in parameters else ""
    return ", ".join(bits) + least


def _distinct(rows: Sequence[Arithmetic]) -> dict[str, None]:
    return dict.fromkeys(row.numerics.source for row in rows)


def _sources(rows: Sequence[Arithmetic]) -> list[str]:
    return [f"[{number}] {source}" for number, source in enumerate(_distinct(rows), 1)]


def _referring(source: str, numbers: Mapping[str, int]) -> str:
    """A source, with a number for the longest other source that it begins or ends with, if that is a long one.

    >>> long = 100 * "-"
    >>> _referring(f"as mma.sync: {long}", {long: 1}), _referring(f"{long}; a second", {long: 1})
    ('as mma.sync: [1]', '[1]; a second')
    """
    others = (one for one in numbers if one != source and len(one) >= 100)
    for other in sorted(others, key=len, reverse=True):
        if source.endswith(": " + other):
            return source.removesuffix(other) + f"[{numbers[other]}]"
        if source.startswith(other + "; "):
            return f"[{numbers[other]}]" + source.removeprefix(other)
    return source


OWN = {"exact": "The model is the exact sum, so only the chain differs.", "fused": "The model is such a chain."}


def text(answer: InstructionNumerics) -> str:
    """The model, its provenance, and the input that shows it."""
    example = answer.example
    return heading(answer.instruction) + numerics_text(answer.numerics) + (_example(example) if example else "")


def _example(found: RoundingExample) -> str:
    """The dot product, its terms that are not zero, and the three sums."""
    terms = [f"a[{k}] = {_number(x)}, b[{k}] = {_number(y)}" for k, (x, y) in enumerate(zip(found.a, found.b)) if x * y]
    lines = ["Where it shows: c = " + _number(found.c) + ", " + "; ".join(terms) + ", all others 0"]
    for name, value in (
        ("this instruction", found.instruction), ("exact sum, rounded once", found.exact),
        ("chain of fused multiply-adds", found.fused),
    ):  # fmt: skip
        lines.append(f"  {name:28}  {float.hex(value):>24}  {value:.17g}")
    lines += [f"  {text}" for name, text in OWN.items() if getattr(found, name) == found.instruction]
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    """A number, as a power of two where it is a far one.

    >>> _number(-1.5), _number(2.0**-24), _number(-3 * 2.0**-25)
    ('-1.5', '2^-24', '-1.5*2^-24')
    """
    from math import frexp

    if value == 0 or 2.0**-6 <= abs(value) <= 4096:
        return f"{value:.17g}"
    fraction, exponent = frexp(abs(value))
    sign = "-" if value < 0 else ""
    return f"{sign}2^{exponent - 1}" if fraction == 0.5 else f"{sign}{2 * fraction:.17g}*2^{exponent - 1}"


def run(options: Options) -> Reply:
    """The model of an instruction, its provenance and the input; of two also how they differ; or a table of many."""
    names, instructions = options.architecture, options.instruction
    fields = modifiers(options)
    if len(instructions) != 1 and (fields or options.wavefront):
        raise Error("modifiers and --wavefront are for one instruction; give one -i" + " as well" * (not instructions))
    if not instructions:
        rows = Overview(overview(*names))
        return show(options.json, "numerics-overview", rows, lambda rows: overview_text(rows, options.markdown))
    if not names:
        raise Error(f"-i {instructions[0][:60]} needs -a, the architecture of the instruction")
    if options.markdown:
        raise Error("--markdown prints a table of instructions; leave -i out")
    if len(instructions) > 2 or len(names) not in (1, len(instructions)):
        got = f"-a {' '.join(names)} and -i {' '.join(instructions)}"[:200]
        raise Error(f"numerics explains one instruction or two, with one -a or one for each; got {got}")
    if len(instructions) == 1:
        inst = entry(names[0]).meant(instructions[0])
        return show(options.json, "numerics", numerics(inst, options.wavefront, **fields), text)
    first, second = [numerics(entry(arch).meant(name)) for arch, name in zip(names * 2, instructions)]
    return show(options.json, "two-numerics", TwoNumerics((first, second)), two_text)


# --- An arithmetic model in words: a paragraph, or the lines of a page ---


WIDTH = 100


def numerics_lines(numerics: Numerics) -> tuple[str, str, str]:
    """A model as the lines of a detail page."""
    return ("Arithmetic:", f"    {numerics.explanation}", f"    Provenance: {numerics.provenance} ({numerics.source})")


def numerics_text(numerics: Numerics) -> str:
    """A model in a paragraph, how sure it is in a line below."""
    given = [", ".join(f"{name} {value}" for name, value in numerics.parameters.items())]
    if known := MMA_SIM_NAMES.get(numerics.model):
        given.insert(0, f"MMA-Sim: {known}")
    text = "; ".join(part for part in given if part)
    head = f"Arithmetic: {numerics.model}{f' ({text})' if text else ''}. "
    return (
        fill(head + numerics.explanation, WIDTH, subsequent_indent="  ")
        + "\n"
        + fill(f"Provenance: {numerics.provenance} ({numerics.source}).", WIDTH, subsequent_indent="  ")
        + "\n"
    )


COMMAND = Command(
    "numerics", "explain how an instruction rounds, with an input that shows it", "look", __doc__,
    (
        ARCHITECTURES, INSTRUCTIONS, WAVE, JSON,
        flag("--markdown", help="print the table as a page of Markdown"),
        *MODIFIERS,
    ),
    run, {"numerics": text, "two-numerics": two_text, "numerics-overview": overview_text},
)  # fmt: skip
