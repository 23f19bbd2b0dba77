"""Run one instruction on the emulator: D = A B + C to the bit, on .npy or CSV matrices.

    mmacalc run -a gfx942 -i v_mfma_f32_16x16x16_f16 --a a.npy --b b.npy --c c.npy -o d.npy
    mmacalc run -a gfx942 -i v_mfma_f32_16x16x16_f16 --random 1 --compare d_from_my_kernel.npy
    mmacalc run -a gfx942 -i v_mfma_f32_16x16x16_f16 --one-hot 3,9 --registers

Matrices are (M, K), (K, N) and (M, N), with the blocks first where the instruction has several (in CSV below one
another). Files are .npy, .npz (as FILE.npz:NAME) or CSV; how many of their values change when they are rounded to the
operand's format is printed on standard error. --compare says which elements of a kernel's D differ and, where one
known mistake explains all of them, which; the exit status is then 1.
"""

from __future__ import annotations

from textwrap import fill

from ..arithmetic.numerics import numerics
from ..base.checks import number
from ..base.errors import Error, plural
from ..base.files import write
from ..base.records import Record, json_keys
from ..catalog import entry
from ..command import Command, Reply, flag, option, show, tables
from ..command import number as number_option
from ..command.common import ARCHITECTURE, INSTRUCTION, JSON, MODIFIERS, WAVE
from ..command.options import file_option, modifiers
from ..command.options import files as file_options
from ..spelling import family_spelling, heading
from .numerics import numerics_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from numpy.typing import NDArray

    from ..arithmetic.numerics import Numerics
    from ..command import Options
    from ..diagnosis.compare import Diagnosis
    from ..diagnosis.search import Explanation
    from ..emulator.arrays import Conversion
    from ..emulator.execution import Execution
    from ..model import Instruction

    Array = NDArray[Any]


@json_keys(
    "**instruction",
    "numerics",
    "modifiers",
    "d",
    "d_dtype",
    "conversions: what rounding did to the inputs",
    "[comparison]",
    "[registers]: the register files, with --registers",
)
class Run(Record):
    """What an instruction computed.

    Attributes:
        instruction: which. modifiers: as they were given. numerics: how it rounds.
        bits: whether matrices are encodings. d: the result, (..., M, N).
        conversions: of each input that rounding to its format changed, what it did.
        comparison: of a kernel's D with this one, if one was given.
        registers: the register files (registers, lanes) by name, before and after, if they were asked for.
    """

    instruction: Instruction
    modifiers: Mapping[str, int | str]
    numerics: Numerics
    bits: bool
    d: Array
    conversions: tuple[Conversion, ...]
    comparison: Diagnosis | None
    registers: Mapping[str, Array]

    @property
    def d_dtype(self) -> str:
        """The type of D's array."""
        return str(self.d.dtype)

    @property
    def differs(self) -> bool:
        """Whether the kernel's D is not this one."""
        found = self.comparison
        return found is not None and bool(found.different or found.explanations)


def computed(
    instruction: Instruction,
    inputs: Mapping[str, Array],
    modifiers: Mapping[str, int | str] = {},
    *,
    flags: Mapping[str, Any] = {},
    bits: bool = False,
    given: Array | None = None,
    registers: bool = False,
) -> Run:
    """Run an instruction.

    Args:
        instruction: which. inputs: a, b, c, index, scale_a and scale_b as for `Instruction.multiply`.
        modifiers: its fields. flags: wave, clamp and satfinite as for `multiply`.
        bits: whether matrices are encodings. given: a kernel's D to compare. registers: whether to give register files.

    Raises:
        Error: an operand or a modifier that does not fit; see `multiply`.

    >>> import mmacalc, numpy
    >>> mfma = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
    >>> found = computed(mfma, {"a": numpy.full((16, 16), 0.1), "b": numpy.eye(16)})
    >>> float(found.d[0, 0]), [(one.operand, one.changed) for one in found.conversions]
    (0.0999755859375, [('A', 256)])
    """
    from ..diagnosis.compare import diagnose, product
    from ..emulator.execution import execution_of

    rest: dict[str, Any] = {**flags, **modifiers}
    if given is not None:
        d = product(instruction, bits=bits, **inputs, **rest)  # also of a whole GEMM
    else:
        d = (instruction.multiply_bits if bits else instruction.multiply)(**{**inputs, **rest})
    comparison = None if given is None else diagnose(instruction, d=given, bits=bits, **inputs, **rest)
    conversions: tuple[Conversion, ...] = ()
    if not bits:
        options = (flags.get("wave"), modifiers, flags.get("clamp", False), flags.get("satfinite", False))
        conversions = _conversions(execution_of(instruction, *options), {**inputs, "given": given})
    shown = _register_files(instruction, inputs, bits, rest) if registers else {}
    return Run(
        instruction, dict(modifiers), numerics(instruction, **modifiers), bits, d, conversions, comparison, shown
    )


def _conversions(execution: Execution, inputs: Mapping[str, Array | None]) -> tuple[Conversion, ...]:
    """What rounding does to the values given, where it changes any."""
    from ..emulator.arrays import conversion

    operands = {"a": "A", "b": "B", "c": "C", "given": "D"}
    found = [
        conversion(execution, operand, array)
        for name, operand in operands.items()
        if (array := inputs.get(name)) is not None
    ]
    return tuple(one for one in found if one.changed or one.given.startswith("|V"))


def _register_files(
    instruction: Instruction, inputs: Mapping[str, Array], bits: bool, rest: Mapping[str, Any]
) -> dict[str, Array]:
    from ..emulator.registers import files

    before, after = files(instruction, bits=bits, **inputs, **rest)
    shown = {f"{name} before" if name in ("C", "D") else name: file for name, file in before.items()}
    return {**shown, "D after": after}


LARGEST_SHOWN = 4096  # elements of D


def text(run: Run, quiet: bool = False, output: str | None = None) -> str:
    """The arithmetic unless `quiet`, the registers, D unless it was written to the file `output`; of a comparison the
    verdict first."""
    inst, d = run.instruction, run.d
    arithmetic = "" if quiet else numerics_text(run.numerics)
    letter = family_spelling(inst.architecture.family).names[0].format("")
    registers = [_registers_text(name, file, letter) for name, file in run.registers.items()]
    size = f"D: {'x'.join(map(str, d.shape))} {d.dtype}"
    parts = [] if quiet else [heading(inst)]
    if run.comparison is not None:  # the verdict first, what it follows from last
        written = [f"{size}, written to {output}\n"] if output else []
        return "".join([*parts, diagnosis_text(run.comparison, inst), *written, *registers, arithmetic])
    parts += [arithmetic, *registers]
    if output:
        parts.append(f"{size}, written to {output}\n")
    elif d.size > LARGEST_SHOWN:
        parts.append(f"{size}; -o writes it to a file\n")
    else:
        parts.append(matrix_text("D", d, inst.format("D").bits if run.bits else 0))
    return "".join(parts)


def writer(quiet: bool, output: str | None) -> Callable[[Run], str]:
    """What writes an answer of which the reader wants a part."""
    return lambda answer: text(answer, quiet, output)


OCP = {"e4m3fnuz": "e4m3fn", "e5m2fnuz": "e5m2"}
"""The OCP format of as many bits, whose exponents have a bias less by one."""


def notes(run: Run) -> tuple[str, ...]:
    """What rounding did to the inputs."""
    return tuple(_conversion_text(one) for one in run.conversions)


def _conversion_text(conversion: Conversion) -> str:
    """What rounding did to an input, in a line.

    >>> from mmacalc.emulator.arrays import Conversion
    >>> _conversion_text(Conversion("A", "float64", "f16", 256, 37, 3, 0))
    'A: 37 of 256 values changed when they were rounded from float64 to f16; 3 became infinite'
    >>> _conversion_text(Conversion("A", "|V1", "e4m3fnuz", 256, 0, 0, 0))
    'A: its type is |V1, taken as encodings of e4m3fnuz; as codes of e4m3fn they would mean twice that'
    """
    operand, given, form, elements, changed, infinite, nan = conversion
    whose = "D to compare" if operand == "D" else operand
    if given in ("|V1", "|V2"):
        given = f"{given}, taken as {'bfloat16' if given == '|V2' else f'encodings of {form}'},"
    if not changed:
        twice = f"; as codes of {OCP[form]} they would mean twice that" if form in OCP and given[:3] == "|V1" else ""
        return f"{whose}: its type is {given.rstrip(',')}{twice}"
    became = [f"{count} became {what}" for count, what in ((infinite, "infinite"), (nan, "NaN")) if count]
    text = f"{whose}: {changed} of {elements} values changed when they were rounded from {given} to {form}"
    return "; ".join([text, *became])


def matrix_text(name: str, matrix: NDArray[Any], bits: int = 0) -> str:
    """A matrix (..., rows, columns), each leading index under a heading. With `bits`, encodings in hexadecimal."""
    lead = matrix.shape[:-2]
    parts = []
    for at, part in enumerate(matrix.reshape(-1, *matrix.shape[-2:])):
        heading = name if not lead else f"{name}, {'block' if len(lead) == 1 else 'matrix'} {at}"
        cells = [[f"{value:0{bits // 4}x}" if bits else f"{value:.9g}" for value in row] for row in part.tolist()]
        width = max((len(cell) for row in cells for cell in row), default=1)
        lines = (" ".join(cell.rjust(width) for cell in row) for row in cells)
        parts.append(f"{heading}:\n" + "".join(f"  {line}\n" for line in lines))
    return "".join(parts)


def _registers_text(name: str, file: NDArray[Any], letter: str = "v") -> str:
    """A register file (registers, lanes): a row for each lane, a column for each register, hexadecimal."""
    header = ["lane", *(f"{letter}{register}" for register in range(file.shape[0]))]
    rows = [[str(lane), *(f"{word:08x}" for word in column)] for lane, column in enumerate(file.T.tolist())]
    return f"{name}:\n{tables.write(header, rows)}"


FILES = {
    "a": "A", "b": "B", "c": "C (default: zeros)", "index": "the index of a sparse A (default: A has its zeros)",
    "scale_a": "the scale codes of A (default: scales of 1)", "scale_b": "the scale codes of B",
}  # fmt: skip
OPERANDS = {"a": "A", "b": "B", "c": "C", "index": "K", "scale_a": "SA", "scale_b": "SB"}


def run(options: Options) -> Reply:
    """Compute D, show it, compare it; write files last, when nothing can go wrong any more."""
    inst = entry(options.architecture).meant(options.instruction)
    fields = modifiers(options)
    execution, inputs = made_inputs(inst, options, fields)
    answer = computed(
        inst,
        inputs,
        fields,
        flags={"clamp": options.clamp, "satfinite": options.satfinite, "wave": options.wavefront or None},
        bits=options.bits,
        given=None if options.compare is None else loaded(options, execution, "compare", "D"),
        registers=options.registers,
    )
    write(_written(options, inputs, answer.d), _read(options))
    how, status = writer(options.quiet, options.output), 1 if answer.differs else 0
    return show(options.json, "run", answer, how, status=status, notes=notes(answer))


def made_inputs(
    inst: Instruction, options: Options, fields: dict[str, int | str]
) -> tuple[Execution, dict[str, Array]]:
    """The instruction ready to run, and its inputs, loaded from files or generated."""
    from ..emulator.execution import execution_of

    execution = execution_of(inst, options.wavefront or None, fields, options.clamp, options.satfinite)
    given = [name for name in OPERANDS if getattr(options, name) is not None]
    inputs = {name: loaded(options, execution, name, OPERANDS[name]) for name in given}
    ways = [options.random is not None, options.identity, options.one_hot is not None]
    if sum(ways) > 1:
        raise Error("--random, --identity and --one-hot were given together; choose one")
    if any(ways):
        from ..diagnosis.inputs import encoded, identity, one_hot, random

        if options.random is not None:
            generated = random(execution, options.random)
        elif options.identity:
            generated = identity(execution)
        else:
            generated = one_hot(execution, *_pair(options.one_hot))
        inputs = {**(encoded(execution, generated) if options.bits else generated), **inputs}
    if missing := [name for name in "ab" if name not in inputs]:
        raise Error(f"no {' and no '.join(f'--{name}' for name in missing)}; give files, or --random SEED")
    return execution, inputs


def _pair(text: str) -> tuple[int, int]:
    pair = [number(part.strip()) for part in text.split(",")]
    if len(pair) != 2 or None in pair:
        raise Error(f"--one-hot takes the row and the k of the one, such as 3,9; got '{text[:40]}'")
    row, k = (value or 0 for value in pair)
    return row, k


def loaded(options: Options, execution: Execution, name: str, operand: str) -> Array:
    """The matrix that an option names, refused where it may be meant as values or as encodings."""
    from ..command.arrays import load

    option, path = file_option(name), getattr(options, name)
    codes = options.bits or operand in ("K", "SA", "SB")
    array = load(option, path, execution.shapes.get(operand, ()), codes)
    form = execution.formats.get(operand)
    if codes or options.values or form is None or not form.is_float or array.dtype.kind != "u":
        return array
    if array.dtype.itemsize <= 2 or 8 * array.dtype.itemsize == form.bits:
        raise Error(
            f"{option} {path} has type {array.dtype}, and {operand} is {form.name}: give --bits if these are encodings "
            "(of all matrices), --values if they are the numbers themselves"
        )
    return array


def _written(options: Options, inputs: Mapping[str, Array], d: Array) -> dict[str, bytes]:
    """The files to write."""
    from ..command.arrays import content

    files = {}
    if options.save_inputs is not None:
        if not options.save_inputs:
            raise Error("--save-inputs was given an empty prefix; it takes the beginning of file names")
        names = {f"{options.save_inputs}{name}.npy": array for name, array in inputs.items()}
        files = {path: content("--save-inputs", path, array) for path, array in names.items()}
    if options.output is not None:
        if options.output in files:
            raise Error(f"-o and --save-inputs would both write '{options.output}'")
        files[options.output] = content("-o", options.output, d)
    return files


def _read(options: Options) -> list[str]:
    """The files that were read."""
    from ..command.arrays import file_of

    return [file_of(path) for name in (*OPERANDS, "compare") if (path := getattr(options, name))]


# --- A kernel's D beside the emulator's, as text ---


WIDTH = 100
SHOWN = 10  # differing elements, and tiles, listed in the text
ALTERNATIVES = 3  # further explanations listed in the text


def diagnosis_text(diagnosis: Diagnosis, inst: Instruction | None = None) -> str:
    """A diagnosis as a report: the verdict first, then the explanation, then the elements; inst: which was run."""
    if not diagnosis.different and not diagnosis.explanations:
        return f"Comparison: all {plural(diagnosis.elements, 'element')} are equal to the bit.\n"
    largest = ", NaN among them" if diagnosis.max_ulps is None else f", by at most {diagnosis.max_ulps:,} ULP"
    lines = [
        f"Comparison: {diagnosis.different} of {diagnosis.elements} elements differ{largest}."
        if diagnosis.different
        else f"Comparison: the {diagnosis.elements} elements are right but misplaced."
    ]
    lines += [_filled(sentence) for sentence in (*_verdict(diagnosis), *diagnosis.where)]
    return "\n".join(lines) + "\n" + _elements(diagnosis, inst)


def _filled(sentence: str) -> str:
    """A sentence in lines, of which all but the first are two further in."""
    return fill(sentence, WIDTH, subsequent_indent=" " * (len(sentence) - len(sentence.lstrip(" ")) + 2))


def _verdict(diagnosis: Diagnosis) -> list[str]:
    explanations, nearest = diagnosis.explanations, diagnosis.nearest
    if diagnosis.rounding and diagnosis.different and not explanations:
        if not diagnosis.arithmetic:
            return [
                "Right up to rounding: all differences are that small; no known order of additions gives these bits."
            ]
        return [
            f"Right up to rounding. To the bit: {diagnosis.arithmetic[0].name}.",
            f"  {diagnosis.arithmetic[0].advice[:1].upper()}{diagnosis.arithmetic[0].advice[1:].rstrip('.')}.",
            *(f"  Also consistent with this input: {other.name}." for other in diagnosis.arithmetic[1:4]),
        ]
    if not explanations:
        sentences = ["No single known mistake explains every difference."]
        if nearest:
            sentences.append(f"Nearest ({nearest.share:.0%} of the wrong elements): {nearest.name}.")
        return sentences
    sentences = []
    for rank, one in enumerate(explanations[: ALTERNATIVES + 1]):
        extent = "to the bit" if one.exact else "up to rounding"
        if rank == 0 or one.tiles != explanations[rank - 1].tiles:
            found = f"Explained {extent}" if one.reproduced else "Located, but not explained"
            sentences.append(f"{found}{_in_tiles(one)}: {one.name}.")
            sentences.append(f"  {'Remedy' if one.reproduced else 'Look for'}: {one.advice}.")
        else:
            sentences.append(f"  Also consistent with this input: {one.name}.")
    return sentences


def _in_tiles(explanation: Explanation) -> str:
    """Which tiles of a GEMM an explanation concerns."""
    if not explanation.tiles:
        return ""
    shown = " ".join(f"({row}, {column})" for row, column in explanation.tiles[:SHOWN])
    more = len(explanation.tiles) - SHOWN
    return f", in {'tile' if len(explanation.tiles) == 1 else 'tiles'} {shown}{f' and {more} more' if more > 0 else ''}"


def _elements(diagnosis: Diagnosis, inst: Instruction | None) -> str:
    rows = []
    for difference in diagnosis.differences[:SHOWN]:
        *lead, row, column = difference.element
        name = f"D[{row}][{column}]"
        if lead:
            name += f".B{lead[-1]}" if inst is not None and inst.blocks > 1 else f" of {lead[-1]}"
        distance = "" if difference.ulps is None else f"{difference.ulps:,}"
        rows.append((name, f"{difference.given:.9g}", f"{difference.expected:.9g}", distance))
    if not rows:
        return ""
    header = ("element", "given", "expected", "ULP")
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(4)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in (header, *rows)]
    if len(diagnosis.differences) > SHOWN:
        lines.append(f"  ... and {len(diagnosis.differences) - SHOWN} more; --json lists all")
    return "".join(f"  {line}\n" for line in lines)


COMMAND = Command(
    "run", "run one instruction on the emulator, to the bit, and compare with a kernel's result", "compute", __doc__,
    (
        ARCHITECTURE, INSTRUCTION, WAVE, JSON,
        *file_options(FILES),
        number_option("--random", placeholder="SEED", help="random values for the matrices without a file"),
        flag("--identity", help="A is the identity; B counts 0, 1, 2 ... unless it has a file"),
        option(
            "--one-hot", placeholder="I,K",
            help="A is zero but for A[I][K] = 1; B counts 0, 1, 2 ... unless it has a file",
        ),
        flag("--bits", alone="meaning", help="matrices are encodings (unsigned integers), also D's"),
        flag("--values", alone="meaning", help="unsigned integers are values, also of a float operand"),
        option("-o", "--output", placeholder="FILE", help="write D there, .npy or .csv"),
        option(
            "--save-inputs", placeholder="PREFIX",
            help="write the inputs to PREFIXa.npy, PREFIXb.npy ... for the kernel to read",
        ),
        option("--compare", placeholder="FILE", help="compare this D (from a kernel) with the emulator's"),
        flag("-q", "--quiet", help="D or the comparison only, not how the instruction computes"),
        flag("--registers", help="show the register files before and after"),
        *MODIFIERS,
        flag("--clamp", help="saturate integer results (AMD)"),
        flag("--satfinite", help="saturate integer results (NVIDIA)"),
    ),
    run, {"run": text}, older=("multiply",),
)  # fmt: skip
