"""The source of a kernel around one instruction: loads by its layouts, the builtin or inline PTX, the store.

    mmacalc generate -a gfx942 -i v_mfma_f32_32x32x8_f16 -o kernel.hip        HIP, for hipcc and for plain clang
    mmacalc generate -a gfx942 -i v_mfma_f32_32x32x8_f16 --check              compile it, look at what came out
    mmacalc generate -a a100 -i mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32      CUDA, with inline PTX
    mmacalc generate -a h100 -i wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 --lds    A and B in shared memory
    mmacalc generate -a gfx942 -i v_mfma_f32_32x32x8_f16 --gemm 512x512x512    a tiled GEMM for any sizes
    mmacalc generate -a MI355X -i v_mfma_f32_32x32x64_f8f6f4 --blgp fp4 --gemm 4096x4096x4096    A fp8, B fp4
    mmacalc generate -a gfx942 -i v_mfma_f32_32x32x8_f16 --formula D          the index expressions alone

One wave computes one tile: D = A B + C. --check needs clang-22, lld-22 and pyelftools for HIP, nvcc for CUDA; its
status is 1 if the kernel has other matrix instructions than the wanted one, or misses wait states.
"""

from __future__ import annotations

from . import show
from .parser import modifiers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from . import Reply
    from .parser import Parser

MODIFIERS = ("cbsz", "blgp", "matrix_a_fmt", "matrix_b_fmt")


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    parser.add_common("architecture", "instruction", "wave", "json")
    add = parser.add_argument
    add("--lang", default="", metavar="LANGUAGE", help="hip or cuda (default: the vendor's)")
    add("--order-a", default="row", metavar="ORDER", help="row (default) or col: how A lies in memory")
    add("--order-b", default="col", metavar="ORDER", help="row or col (default): how B lies in memory")
    text = "leading dimensions: arguments (default) or constants"
    add("--ld-kind", "--ld", dest="ld", default="arguments", metavar="KIND", help=text)
    add("--lds", action="store_true", help="A and B go through LDS (shared memory), without bank conflicts")
    add("--gemm", metavar="MxNxK", help="a whole tiled GEMM kernel; it takes any sizes, the launch line has these")
    add("--tile", metavar="MxNxK", help="of a workgroup of --gemm (default: by the target and the instruction)")
    add("--stages", type=int, metavar="N", help="how many tiles of A and B LDS holds (with --gemm)")
    add("--formula", metavar="MATRIX", help="only the index expressions of A, B, C or D")
    add("--check", action="store_true", help="compile, and look for the wanted instruction and missing wait states")
    add("-o", "--output", metavar="FILE", help="write the source there")
    parser.add_modifiers()


def _formula_alone(options: Namespace) -> None:
    """Refuse options that the index expressions would leave out.

    Raises:
        Error: one of them was set.
    """
    from ..errors import Error

    for name in ("gemm", "lds", "tile", "stages", "check", "output"):
        if getattr(options, name):
            raise Error(f"--formula prints index expressions, without a kernel: leave out --{name}, or --formula")


def run(options: Namespace) -> Reply:
    """The source, the expressions, or the result of the check."""
    from ..catalog import entry
    from ..codegen.generate import GeneratedKernel, formulas, generate
    from ..render import generated_kernel, index_expressions

    inst = entry(options.architecture).instruction(options.instruction)
    fields = modifiers(options, MODIFIERS)
    if options.formula:
        _formula_alone(options)
        found = formulas(inst.operand(options.formula, wave=options.wavefront, **fields))
        return show(options.json, "formula", found, index_expressions)
    source = generate(
        inst, options.lang, options.order_a, options.order_b, options.ld, wave=options.wavefront, gemm=options.gemm,
        lds=options.lds, tile=options.tile, stages=options.stages, **fields,
    )  # fmt: skip
    if options.output:
        from ..files import write

        write({options.output: source.encode()})
    if options.check:
        from ..codegen.check import check
        from ..render import kernel_check

        checked = check(source, inst, inst.architecture.wave(options.wavefront), single=not options.gemm)
        return show(options.json, "generate-check", checked, kernel_check, status=int(not checked.wanted))
    kernel = GeneratedKernel(inst, source, options.output)
    return show(options.json, "generate", kernel, generated_kernel, notes=generated_kernel.notes(kernel))
