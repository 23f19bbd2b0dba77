"""Why is my kernel's D wrong? Compare it with the emulator's, and name the mistake that gives exactly what it gave.

    mmacalc diagnose -a MI300X --type fp8 --a a.npy --b b.npy d.npy
    mmacalc diagnose -a gfx942 -i v_mfma_f32_16x16x16_f16 --a a.npy --b b.npy --c c.npy d.npy
    mmacalc diagnose -a gfx942 -i v_mfma_f32_16x16x16_f16 --random 1 d.npy
    mmacalc diagnose -a H100 -i mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --a a.npy --b b.npy d.npy --json

A, B, C and D are .npy, .npz (as FILE.npz:NAME) or CSV; larger ones, A (M, K) and B (K, N), are a whole GEMM, of which
the wrong tiles are told apart. Without -i it is compared with the instruction that takes the matrix units the least
time for --type. --random SEED stands for the inputs of `mmacalc run --random SEED --save-inputs PREFIX`.
The exit status is 1 where D differs. `mmacalc run --compare` and `mmacalc gemm --compare` give the same diagnosis.
"""

from __future__ import annotations

from ..base.errors import Error
from ..catalog import entry
from ..command import Command, Reply, argument, flag, number, option, refuse_given, show
from ..command.common import ARCHITECTURE, JSON, MODIFIERS, WAVE
from ..command.options import either, files, modifiers
from . import run as kernel_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..command import Options
    from ..model import Instruction


def run(options: Options) -> Reply:
    """Compare D, and say what is wrong with it."""
    options.d = either("D", options.given, options.d)
    if options.d is None:
        raise Error("no D: give the file of what the kernel gave, such as d.npy")
    options.identity, options.one_hot = False, None
    inst, chosen = _instruction(options)
    fields = modifiers(options)
    execution, inputs = kernel_run.made_inputs(inst, options, fields)
    flags = {"clamp": options.clamp, "satfinite": options.satfinite, "wave": options.wavefront or None}
    given = kernel_run.loaded(options, execution, "d", "D")
    answer = kernel_run.computed(inst, inputs, fields, flags=flags, bits=options.bits, given=given)
    writer = kernel_run.writer(not options.arithmetic, None)
    notes = (*chosen, *kernel_run.notes(answer))
    return show(options.json, "run", answer, writer, status=1 if answer.differs else 0, notes=notes)


def _instruction(options: Options) -> tuple[Instruction, tuple[str, ...]]:
    """That of -i, or the best for a whole GEMM, and then which that is."""
    if options.instruction is not None:
        refuse_given(COMMAND, options, ("type",), "is for a GEMM without -i; the instruction has its formats")
        return entry(options.architecture).meant(options.instruction), ()
    if missing := [name for name in ("--a", "--b") if getattr(options, name[2:]) is None]:
        raise Error(f"no -i, and no {missing[0]}: give the instruction, or A and B of a whole GEMM and --type")
    from .gemm import for_kernel, matrices_of

    return for_kernel(options, matrices_of(options))


COMMAND = Command(
    "diagnose", "say why a kernel's D is wrong, of one instruction or of a whole GEMM", "compute", __doc__,
    (
        argument("given", "the kernel's D: .npy, .npz:NAME or .csv", nargs="?", placeholder="FILE"),
        ARCHITECTURE,
        option("-i", "--instruction", placeholder="NAME", help="instruction name (default: the best for --type)"),
        option("--type", placeholder="FORMAT", help="without -i: the format of A and B: f16, bf16, fp8 ..."),
        WAVE, JSON,
        *files(kernel_run.FILES),
        option(
            "--d", "--compare", placeholder="FILE", older=("--compare",), help="the kernel's D, if not by itself"
        ),
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
