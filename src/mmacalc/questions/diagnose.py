"""Why is my kernel's D wrong? Compare it with the emulator's, and name the mistake that gives exactly what it gave.

    mmacalc diagnose -a gfx942 -i v_mfma_f32_16x16x16_f16 --a a.npy --b b.npy --c c.npy --d d.npy
    mmacalc diagnose -a gfx942 -i v_mfma_f32_16x16x16_f16 --random 1 --d d.npy
    mmacalc diagnose -a H100 -i mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --a a.npy --b b.npy --d d.npy --json

A, B, C and D are .npy, .npz (as FILE.npz:NAME) or CSV; larger ones, A (M, K) and B (K, N), are a whole GEMM, of which
the wrong tiles are told apart. --random SEED stands for the inputs of `mmacalc run --random SEED --save-inputs PREFIX`.
The exit status is 1 where D differs. `mmacalc run --compare` and `mmacalc gemm --compare` give the same diagnosis.
"""

from __future__ import annotations

from ..base.errors import Error
from ..catalog import entry
from ..command import Command, Reply, flag, number, option, show
from ..command.common import ARCHITECTURE, INSTRUCTION, JSON, MODIFIERS, WAVE
from ..command.options import files, modifiers
from . import run as kernel_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..command import Options


def run(options: Options) -> Reply:
    """Compare D, and say what is wrong with it."""
    if options.d is None:
        raise Error("no --d: the D that the kernel gave, as a file")
    options.identity, options.one_hot = False, None
    inst, fields = entry(options.architecture).meant(options.instruction), modifiers(options)
    execution, inputs = kernel_run.made_inputs(inst, options, fields)
    flags = {"clamp": options.clamp, "satfinite": options.satfinite, "wave": options.wavefront or None}
    given = kernel_run.loaded(options, execution, "d", "D")
    answer = kernel_run.computed(inst, inputs, fields, flags=flags, bits=options.bits, given=given)
    writer = kernel_run.writer(not options.arithmetic, None)
    return show(options.json, "run", answer, writer, status=1 if answer.differs else 0, notes=kernel_run.notes(answer))


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
