"""The source of a kernel around one instruction: loads by its layouts, the builtin or inline PTX, the store.

    mmacalc generate -a gfx942 -i v_mfma_f32_32x32x8_f16 -o kernel.hip        HIP, for hipcc and for plain clang
    mmacalc generate -a gfx942 -i v_mfma_f32_32x32x8_f16 --check              compile it, look at what came out
    mmacalc generate -a a100 -i mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32      CUDA, with inline PTX
    mmacalc generate -a h100 -i wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 --lds    A and B in shared memory
    mmacalc generate -a MI300X --type bf16 --gemm 4096x4096x4096    a tiled GEMM around the best instruction
    mmacalc generate -a gfx942 -i v_mfma_f32_32x32x8_f16 --gemm 512x512x512 --epilogue alpha,bias=column,gelu,to=bf16
    mmacalc generate -a MI355X -i v_mfma_f32_32x32x64_f8f6f4 --blgp fp4 --gemm 4096x4096x4096    A fp8, B fp4
    mmacalc generate -a B200 -i tcgen05.mma.cta_group::2.kind::f16 -m m=256 -m n=256 -m a=bf16 --gemm 4096x4096x4096
    mmacalc generate -a MI300X --attention 2x16x4096x4096x128 --causal    heads of 128, around the best instruction
    mmacalc generate -a gfx942 -i v_mfma_f32_32x32x8_f16 --gemm 4096x4096x4096 --lang gluon    the same tile in Gluon
    mmacalc generate -a gfx942 -i v_mfma_f32_32x32x8_f16 --formula D          the index expressions alone

One wave computes one tile: D = A B + C. --check needs clang-22, lld-22 and pyelftools for HIP, nvcc for CUDA; its
status is 1 if the kernel has other matrix instructions than the wanted one, or misses wait states.
"""

from __future__ import annotations

from ..base.errors import plural
from ..base.records import Record, TupleRecord, json_keys
from ..command import Command, Reply, flag, option, show
from ..command.common import ARCHITECTURE, JSON, WAVE
from ..command.common import MODIFIERS as MODIFIER_OPTIONS
from ..command.options import modifiers
from ..model.architecture import DOUBTFUL
from ..model.tensor_memory import SHAPE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ..codegen.check import Checked
    from ..codegen.generate import Formulas, GeneratedKernel
    from ..command import Options
    from ..model import Instruction


def text(kernel: GeneratedKernel) -> str:
    """The source, or where it was written."""
    return f"written to {kernel.path}\n" if kernel.path else kernel.source


def notes(kernel: GeneratedKernel) -> list[str]:
    """The operands whose layout, by which the kernel loads them, no second source confirms."""
    inst = kernel.instruction
    doubts = {name: inst.provenance_of(name) for name in inst.register_operands}
    return [f"the layout of {name} is {doubt}" for name, doubt in doubts.items() if doubt in DOUBTFUL]


def check_text(checked: Checked) -> str:
    """One line for a kernel that contains what was wanted, else what it contains."""
    name, found = checked.instruction.name, checked.matrix_instructions
    if checked.has_instructions:
        head = f"{plural(checked.instructions, 'instruction')}, {'one' if checked.single else len(found)} {name}"
    else:
        head = f"wanted {'one' if checked.single else 'only'} {name}; got {', '.join(found) or 'none'}"
    lines = [f"{checked.target}: {head}"]
    if checked.target.startswith("sm_"):
        lines[0] += f"; {_sass_words(checked)}"
    elif checked.wanted:
        lines[0] += ", no wait state missing"
    lines += [
        f"  {plural(finding.missing, 'wait state')} missing before: {finding.text}" for finding in checked.findings
    ]
    if checked.scratch:
        of = "local memory for each thread" if checked.target.startswith("sm_") else "scratch for each work-item"
        lines.append(f"  {checked.scratch} bytes of {of}: registers are spilled; a smaller --tile needs fewer")
    return "\n".join(lines) + "\n"


def _sass_words(checked: Checked) -> str:
    """What the machine code has."""
    if checked.sass is None:
        return "SASS not looked at: nvdisasm is not installed (pip install nvidia-cuda-nvdisasm)"
    counts = {name: checked.sass.count(name) for name in checked.sass}
    found = " + ".join(f"{count}x{name}" if count > 1 else name for name, count in counts.items())
    words = f"SASS: {found or 'no tensor-core opcode'}"
    return words if checked.has_sass else f"{words}, where {checked.becomes} was expected"


# Triton's names of our places, in its order; Gluon's arguments.
TRITON = {"item": "register", "lane": "lane", "warp": "warp", "block": "block"}
GLUON = {"item": "reg_bases", "lane": "lane_bases", "warp": "warp_bases", "block": "block_bases"}


class IndexExpression(TupleRecord):
    """The axis of a coordinate, and the sum of digits that it is."""

    axis: str
    expression: str


class Item(TupleRecord):
    """What a slot adds to the coordinates of an element."""

    slot: int
    block: int
    row: int
    column: int


@json_keys(
    "architecture=formulas.operand.instruction.arch",
    "instruction=formulas.operand.instruction.name",
    "matrix=formulas.operand.name",
    "wave=formulas.operand.wave",
    "pattern=formulas.operand.pattern",
    "digits: each as an expression of lane",
    "row",
    "column",
    "block=formulas.block",
    "items: what each slot adds to the coordinates",
    "linear: the bases of Triton's linear layout; null where it has none",
    "cute=formulas.cute?: shape:stride of CuTe; null where it has none",
    "provenance=formulas.operand.provenance",
    "notes=formulas.notes",
)
class IndexExpressions(Record):
    """The index expressions of an operand, and its layout for Triton and CuTe."""

    formulas: Formulas

    @property
    def digits(self) -> dict[str, str]:
        """The digits by name."""
        return dict(self.formulas.digits)

    @property
    def row(self) -> IndexExpression:
        """The first coordinate."""
        return IndexExpression(self.formulas.operand.axes[1], self.formulas.row)

    @property
    def column(self) -> IndexExpression:
        """The second coordinate."""
        return IndexExpression(self.formulas.operand.axes[2], self.formulas.column)

    @property
    def items(self) -> tuple[Item, ...]:
        """What each slot adds."""
        return tuple([Item(*each) for each in self.formulas.items])

    @property
    def linear(self) -> dict[str, list[list[int]]] | None:
        """The bases by Triton's names of places."""
        found = self.formulas
        return None if found.not_linear else {name: _bases(found, place) for place, name in TRITON.items()}


def formula_text(answer: IndexExpressions) -> str:
    """The expressions in C and Python, and the layout in Triton and CuTe."""
    found = answer.formulas
    head = f"{found.operand.name} of {found.operand.instruction.name}: {found.operand.pattern}"
    doubt = found.operand.provenance in DOUBTFUL
    notes = [f"the layout of {found.operand.name} is {found.operand.provenance}"] * doubt + [*found.notes]
    sections = [
        head,
        *[f"note: {note}" for note in notes],
        *_expressions(found),
        *_items(found),
        *_triton(found),
        *_cute(found),
    ]
    return "\n".join(sections) + "\n"


def _coordinates(found: Formulas) -> dict[str, str]:
    axes = found.operand.axes[1:]
    sums = {axes[0]: found.row, axes[1]: found.column}
    return {**sums, "block": found.block} if found.operand.shape[0] > 1 else sums


def _expressions(found: Formulas) -> Iterator[str]:
    sums = _coordinates(found)
    yield from ("", "C, lane by lane:")
    yield from (f"    const int {name} = {expression};" for name, expression in found.digits)
    yield from (f"    const int {axis} = {expression};  // + the item's" for axis, expression in sums.items())
    yield from ("", "Python, for all lanes (lane = numpy.arange(wave)):")
    yield from (f"    {name} = {expression.replace(' / ', ' // ')}" for name, expression in found.digits)
    yield from (f"    {axis} = {expression}" for axis, expression in sums.items())


def _items(found: Formulas) -> Iterator[str]:
    names = list(_coordinates(found))
    yield from ("", f"items: (slot, {', '.join(names)}) that each adds")
    for first in range(0, len(found.items), 8):
        yield "    " + "  ".join(_item(item, "block" in names) for item in found.items[first : first + 8])


def _item(item: tuple[int, int, int, int], blocks: bool) -> str:
    slot, block, row, column = item
    return f"({slot}, {row}, {column}{f', {block}' if blocks else ''})"


def _axes(found: Formulas) -> list[int]:
    """Which axes a tensor of Triton has: a block only where there are several."""
    return [axis for axis, extent in enumerate(found.operand.shape) if axis or extent > 1]


def _bases(found: Formulas, place: str) -> list[list[int]]:
    return [[basis[axis] for axis in _axes(found)] for basis in found.linear.get(place, ())]


def _triton(found: Formulas) -> Iterator[str]:
    axes = [found.operand.axes[axis] for axis in _axes(found)]
    yield from ("", f"Triton, for a tensor of ({', '.join(axes)}); an item is a register:")
    if found.not_linear:
        yield f"    none: {found.not_linear}"
        return
    bases = ", ".join(f"{name} = {_bases(found, place)}" for place, name in TRITON.items())
    yield f"    #ttg.linear<{{{bases}}}>"
    if any(not any(basis) for place in found.linear.values() for basis in place):
        yield "    (a basis of zeros adds nothing: a copy, or the half of a register that OPSEL does not choose)"
    arguments = ", ".join(f"{name}={_bases(found, place)}" for place, name in GLUON.items())
    shape = [found.operand.shape[axis] for axis in _axes(found)]
    yield from ("", "Gluon (gl = triton.experimental.gluon.language):")
    yield f"    gl.DistributedLinearLayout({arguments}, shape={shape})"


def _cute(found: Formulas) -> Iterator[str]:
    axes = [found.operand.axes[axis] for axis in _axes(found) if axis]
    yield from ("", f"CuTe, (thread, value) -> index of the element where {axes[0]} is the fastest, then {axes[1]}:")
    yield f"    {found.cute}" if found.cute else f"    none: {found.not_cute}"


MODIFIERS = ("cbsz", "blgp", "matrix_a_fmt", "matrix_b_fmt", *SHAPE)


def _formula_alone(options: Options) -> None:
    """Refuse options that the index expressions would leave out.

    Raises:
        Error: one of them was set.
    """
    from ..base.errors import Error

    for name in (
        "gemm",
        "attention",
        "causal",
        "window",
        "kv_heads",
        "lds",
        "tile",
        "stages",
        "epilogue",
        "weights",
        "split_k",
        "batch",
        "groups",
        "block_scales",
        "check",
        "output",
    ):
        if getattr(options, name):
            raise Error(
                "--formula prints index expressions, without a kernel: leave out "
                f"--{name.replace('_', '-')}, or --formula"
            )


def _chosen(options: Options, fields: Mapping[str, object], given: dict[str, Any]) -> tuple[Instruction, str]:
    """The instruction for the GPU and the type of attention or of a GEMM, and the source around it.

    Args:
        given: the options of `generate`.

    Raises:
        Error: there is none, neither attention nor a GEMM is asked for, or what only a named instruction has.
    """
    from ..base.errors import Error

    if options.formula or not (options.attention or options.gemm):
        raise Error(
            "an instruction is needed, -i NAME (`mmacalc find` lists them); --attention and --gemm alone choose one"
        )
    if fields:
        raise Error(f"modifiers are of an instruction: give -i, too, or leave out {', '.join(fields)}")
    element = options.type or "f16"
    if options.attention:
        from ..codegen.attention_choice import attention_instruction
        from ..codegen.generate import generate

        inst, formats = attention_instruction(options.architecture, options.attention, element)
        return inst, generate(inst, **{**given, **formats})
    from ..codegen.gemm_choice import generated_gemm

    chosen = generated_gemm(options.architecture, element, **given)
    return chosen.instruction, chosen.source


def _named(options: Options) -> Instruction:
    """The instruction that -i names.

    Raises:
        Error: --type is given, too.
    """
    from ..base.errors import Error
    from ..catalog import entry

    if options.type:
        raise Error("--type chooses an instruction for --attention or --gemm, and -i names one: leave out one of them")
    return entry(options.architecture).meant(options.instruction)


def run(options: Options) -> Reply:
    """The source, the expressions, or the result of the check."""
    from ..codegen.generate import GeneratedKernel, formulas, generate

    fields = modifiers(options, MODIFIERS)
    inst = None if options.instruction is None else _named(options)
    if inst and options.formula:
        _formula_alone(options)
        found = formulas(inst.operand(options.formula, wave=options.wavefront, **fields))
        return show(options.json, "formula", IndexExpressions(found), formula_text)
    given = {
        "language": options.lang, "order_a": options.order_a, "order_b": options.order_b, "ld": options.ld,
        "wave": options.wavefront, "gemm": options.gemm, "lds": options.lds, "tile": options.tile,
        "stages": options.stages, "epilogue": options.epilogue, "attention": options.attention,
        "causal": options.causal, "window": options.window, "kv_heads": options.kv_heads, "split_k": options.split_k,
        "batch": options.batch, "groups": options.groups, "block_scales": options.block_scales,
        "weights": options.weights,
    }  # fmt: skip
    if inst:
        source = generate(inst, **given, **fields)
    else:
        inst, source = _chosen(options, fields, given)
    if options.output:
        from ..base.files import write

        write({options.output: source.encode()})
    if options.check:
        from ..codegen.check import check
        from ..codegen.exports import LANGUAGES

        if options.lang in LANGUAGES:
            from ..base.errors import Error

            raise Error(f"--check compiles HIP and CUDA; {options.lang} has a compiler of its own: leave out --check")

        checked = check(
            source, inst, inst.architecture.wave(options.wavefront), single=not (options.gemm or options.attention)
        )
        return show(options.json, "generate-check", checked, check_text, status=int(not checked.wanted))
    kernel = GeneratedKernel(inst, source, options.output)
    return show(options.json, "generate", kernel, text, notes=notes(kernel))


EPILOGUE_WORDS = (
    "alpha", "beta", "scale=row", "scale=column", "bias=row", "bias=column", "relu", "gelu", "silu",
    "to=f32", "to=f16", "to=bf16", "to=fp8", "to=bf8",
)  # fmt: skip
"""What completion offers for --epilogue."""

COMMAND = Command(
    "generate", "write a kernel around one instruction: HIP with its builtin, CUDA with inline PTX", "generate",
    __doc__,
    (
        ARCHITECTURE,
        option(
            "-i", "--instruction", placeholder="NAME",
            help="instruction name (default of --attention and --gemm: the best)",
        ),
        option(
            "--type", placeholder="FORMAT", known=("f16", "bf16", "fp8", "bf8", "i8"),
            help="of --attention and --gemm without -i: f16 (default), bf16, fp8, bf8; of --gemm also mxfp4, i8 ...",
        ),
        WAVE, JSON,
        option(
            "--lang", placeholder="LANGUAGE", default="",
            help="hip or cuda (default: the vendor's); of --gemm also triton, gluon, cute or ck_tile",
            known=("hip", "cuda", "triton", "gluon", "cute", "ck_tile"),
        ),
        option(
            "--order-a", placeholder="ORDER", default="row", help="row (default) or col: how A lies in memory",
            known=("row", "col"),
        ),
        option(
            "--order-b", placeholder="ORDER", default="col", help="row or col (default): how B lies in memory",
            known=("row", "col"),
        ),
        option(
            "--ld-kind", "--ld", name="ld", placeholder="KIND", default="arguments", older=("--ld",),
            help="leading dimensions: arguments (default) or constants", known=("arguments", "constants"),
        ),
        flag("--lds", help="A and B go through LDS (shared memory), without bank conflicts"),
        option(
            "--gemm", placeholder="MxNxK",
            help="a whole tiled GEMM kernel; it takes any sizes, the launch line has these",
        ),
        option(
            "--split-k", placeholder="#", kind=int,
            help="parts of K of --gemm, each a workgroup's, added by a second kernel",
        ),
        option(
            "--batch", placeholder="N", kind=int,
            help="products of --gemm in the launch line, whose matrices are strides apart",
        ),
        option(
            "--groups", placeholder="N", kind=int,
            help="groups of rows of --gemm (experts), each with a B; where they end is read on the device",
        ),
        option(
            "--block-scales", placeholder="RxK,CxK",
            help="scales of f32 along K of --gemm: 1x128,128x128 has one for each row of A, each 128 columns of B, and "
            "128 k",
        ),
        option(
            "--attention", placeholder="BxHxMxNxD",
            help="softmax(scale Q K^T) V: batches, heads, queries, keys of the launch line, and the size of a head "
            "(BxHxMxNxDxE: V has heads of E)",
        ),
        flag("--causal", help="of --attention: a query sees no later key; the last query's last key is the last"),
        option(
            "--window", placeholder="N", kind=int,
            help="of --attention --causal: a query sees that many keys, up to its own (sliding window)",
        ),
        option(
            "--kv-heads", placeholder="N", kind=int,
            help="of --attention: heads of K and V in the launch line, each for as many heads of Q (GQA; 1: MQA)",
        ),
        option(
            "--tile", placeholder="MxNxK",
            help="of a workgroup of --gemm (of --attention MxN; default: by the target and the instruction)",
        ),
        option(
            "--stages", placeholder="N", kind=int, help="how many tiles of A and B LDS holds (with --gemm)"
        ),
        option(
            "--weights", placeholder="TYPE", default="", known=("int4",),
            help="int4: B of --gemm around an mma.sync of f16 or bf16 has 4 bits, as mmacalc.pack_int4 lays it out",
        ),
        option(
            "--epilogue", placeholder="WORDS",
            help="what becomes of A B (with --gemm), between commas: alpha, beta, scale=row, scale=column; bias=row or "
            "bias=column; relu, gelu or silu; to=f32, f16, bf16, fp8 or bf8",
            known=EPILOGUE_WORDS,
        ),
        option(
            "--formula", placeholder="MATRIX", help="only the index expressions of A, B, C or D", known=tuple("ABCD")
        ),
        flag("--check", help="compile, and look for the wanted instruction and missing wait states"),
        option("-o", "--output", placeholder="FILE", help="write the source there"),
        *MODIFIER_OPTIONS,
    ),
    run, {"generate": text, "generate-check": check_text, "formula": formula_text},
)  # fmt: skip
