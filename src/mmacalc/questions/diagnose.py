"""Why is my kernel's D wrong? Compare it with the emulator's, and name the mistake that gives exactly what it gave.

    mmacalc diagnose -a gfx942 -i v_mfma_f32_16x16x16_f16 --a a.npy --b b.npy --c c.npy --d d.npy
    mmacalc diagnose -a gfx942 -i v_mfma_f32_16x16x16_f16 --random 1 --d d.npy
    mmacalc diagnose -a H100 -i mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --a a.npy --b b.npy --d d.npy --json

A, B, C and D are .npy, .npz (as FILE.npz:NAME) or CSV; larger ones, A (M, K) and B (K, N), are a whole GEMM, of which
the wrong tiles are told apart. --random SEED stands for the inputs of `mmacalc run --random SEED --save-inputs PREFIX`.
The exit status is 1 where D differs. `mmacalc run --compare` and `mmacalc gemm --compare` give the same diagnosis.
"""

from __future__ import annotations

from textwrap import fill

from ..base.errors import Error, counted
from ..catalog import entry
from ..command import Command, Reply, flag, number, option, show
from ..command.common import ARCHITECTURE, INSTRUCTION, JSON, MODIFIERS, WAVE
from ..command.options import files, modifiers
from . import run as kernel_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..command import Options
    from ..diagnosis.compare import Diagnosis
    from ..diagnosis.search import Explanation
    from ..model import Instruction


def run(options: Options) -> Reply:
    """Compare D, and say what is wrong with it."""
    if options.d is None:
        raise Error("no --d: the D that the kernel gave, as a file")
    options.identity, options.one_hot = False, None
    inst, fields = entry(options.architecture).instruction(options.instruction), modifiers(options)
    execution, inputs = kernel_run.made_inputs(inst, options, fields)
    flags = {"clamp": options.clamp, "satfinite": options.satfinite, "wave": options.wavefront or None}
    given = kernel_run.loaded(options, execution, "d", "D")
    answer = kernel_run.computed(inst, inputs, fields, flags=flags, bits=options.bits, given=given)
    writer = kernel_run.writer(not options.arithmetic, None)
    return show(options.json, "run", answer, writer, status=1 if answer.differs else 0, notes=kernel_run.notes(answer))


# --- A kernel's D beside the emulator's, as text ---


WIDTH = 100
SHOWN = 10  # differing elements, and tiles, listed in the text
ALTERNATIVES = 3  # further explanations listed in the text


def text(diagnosis: Diagnosis, inst: Instruction) -> str:
    """A diagnosis as a report: the verdict first, then the explanation, then the elements."""
    if not diagnosis.different and not diagnosis.explanations:
        return f"Comparison: all {counted(diagnosis.elements, 'element')} are equal to the bit.\n"
    largest = ", NaN among them" if diagnosis.max_ulps is None else f", by at most {diagnosis.max_ulps:,} ULP"
    lines = [
        f"Comparison: {diagnosis.different} of {diagnosis.elements} elements differ{largest}."
        if diagnosis.different
        else f"Comparison: the {diagnosis.elements} elements are right but misplaced."
    ]
    lines += [fill(sentence, WIDTH) for sentence in (*_verdict(diagnosis), *diagnosis.where)]
    return "\n".join(lines) + "\n" + _elements(diagnosis, inst)


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
            *(f"  This input cannot tell it from: {other.name}." for other in diagnosis.arithmetic[1:4]),
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
            sentences.append(f"  This input cannot tell it from: {one.name}.")
    return sentences


def _in_tiles(explanation: Explanation) -> str:
    """Which tiles of a GEMM an explanation concerns."""
    if not explanation.tiles:
        return ""
    shown = " ".join(f"({row}, {column})" for row, column in explanation.tiles[:SHOWN])
    more = len(explanation.tiles) - SHOWN
    return f", in {'tile' if len(explanation.tiles) == 1 else 'tiles'} {shown}{f' and {more} more' if more > 0 else ''}"


def _elements(diagnosis: Diagnosis, inst: Instruction) -> str:
    rows = []
    for difference in diagnosis.differences[:SHOWN]:
        *lead, row, column = difference.element
        name = f"D[{row}][{column}]"
        if lead:
            name += f".B{lead[-1]}" if inst.blocks > 1 else f" of {lead[-1]}"
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
    "diagnose", "say why a kernel's D is wrong, of one instruction or of a whole GEMM", "compute", __doc__,
    (
        ARCHITECTURE, INSTRUCTION, WAVE, JSON,
        *files(kernel_run.FILES),
        option("--d", placeholder="FILE", help="the kernel's D"),
        number("--random", placeholder="SEED", help="random values for the matrices without a file, as of run"),
        flag("--bits", alone="meaning", help="matrices are encodings (unsigned integers), also D's"),
        flag("--values", alone="meaning", help="unsigned integers are values, also of a float operand"),
        flag("--arithmetic", help="say how the instruction computes, too"),
        *MODIFIERS,
        flag("--clamp", help="saturate integer results (AMD)"),
        flag("--satfinite", help="saturate integer results (NVIDIA)"),
    ),
    run, {"run": kernel_run.text},
)  # fmt: skip
