"""What kernels of Triton and Gluon have in common: the head, the order of blocks, arguments, the launch line."""

from __future__ import annotations

from ...base.errors import Error
from ...catalog import entry
from ..gemm_staging import FIRST_ASYNC, GROUP, target_number
from .plan import SharedTile, TilePlan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "ELEMENTS",
    "SUMS",
    "block_order",
    "check_deepest",
    "check_formats",
    "footer",
    "header",
    "kernel_head",
    "zero",
]

ELEMENTS = {
    "f64": "float64", "f32": "float32", "tf32": "float32", "f16": "float16", "bf16": "bfloat16", "i8": "int8",
    "iu8": "int8", "s8": "int8", "e4m3": "float8e4nv", "e5m2": "float8e5", "e4m3fnuz": "float8e4b8",
    "e5m2fnuz": "float8e5b16",
}  # fmt: skip
"""Triton's names of the formats of elements in memory."""
MOST_COLUMNS = 256  # of a wgmma
SUMS = {"f64": "float64", "f32": "float32", "i32": "int32", "s32": "int32"}
"""Triton's names of the formats of sums."""
IMPORTS = {
    "triton": ("import triton", "import triton.language as tl"),
    "gluon": (
        "from triton.experimental import gluon", "from triton.experimental.gluon import language as gl",
    ),
}  # fmt: skip


def _name(plan: TilePlan) -> str:
    """The name of the kernel."""
    return "gemm_" + plan.instruction.name.replace(".", "_").removeprefix("v_")


def check_formats(plan: TilePlan, language: str) -> None:
    """Refuse formats of which no kernel is written.

    Raises:
        Error: of A, B or D.
    """
    inst = plan.instruction
    for name in "AB":
        if (form := inst.format(name).name) not in ELEMENTS:
            raise Error(f"{name} of {inst.name} is {form}; kernels of {language} are written for {', '.join(ELEMENTS)}")
    if inst.architecture.family.language == "cuda" and target_number(inst) < FIRST_ASYNC:
        raise Error(f"Triton 3.9 compiles for sm_80 and newer; {inst.name} is of {inst.architecture.title}: use cuda")
    if any(size & (size - 1) for size in plan.block):
        raise Error(f"Triton's tiles have powers of two; that of {inst.name} is {'x'.join(map(str, plan.block))}")
    if inst.architecture.family.language == "cuda":
        _check_nvidia(plan, language)
    if plan.sums not in SUMS or inst.format("C") != inst.format("D"):
        raise Error(f"{inst.name} adds in {plan.sums}; kernels of {language} are written for sums of {', '.join(SUMS)}")


def _check_nvidia(plan: TilePlan, language: str) -> None:
    """Refuse a form of mma.sync or wgmma that Triton 3.9 does not have.

    Raises:
        Error: another shape than m16n8, f64, a kind, or sums that saturate where Triton's do not, and the reverse.
    """
    inst = plan.instruction
    wgmma, saturates = "wgmma" in inst.features, "satfinite" in inst.features
    other_shape = not wgmma and (inst.m, inst.n) != (16, 8)
    if other_shape or inst.kind or plan.sums == "f64":
        raise Error(
            f"{inst.name} cannot be asked for in {language}, whose mma.sync is m16n8, without kinds, not of f64: use "
            "lang cuda"
        )
    if wgmma and plan.sums == "i32" and inst.n == MOST_COLUMNS:
        raise Error(f"Triton 3.9 has no wgmma of integers with {MOST_COLUMNS} columns: {inst.name} needs lang cuda")
    if plan.sums == "i32" and saturates == wgmma:
        words = ("wgmma", "does not saturate") if wgmma else ("mma.sync", "saturates (satfinite)")
        raise Error(f"{inst.name} cannot be asked for in {language}: its {words[0]} of integers {words[1]}")
    if not wgmma:
        check_deepest(plan, language)


def check_deepest(plan: TilePlan, language: str) -> None:
    """Refuse an instruction beside which there is one of more k: that is the one which Triton chooses.

    Raises:
        Error: there is one.
    """
    inst, title = plan.instruction, plan.instruction.architecture.title
    deeper = [
        one
        for one in entry(inst.arch).instructions()
        if (one.m, one.n, one.blocks, one.formats) == (inst.m, inst.n, inst.blocks, inst.formats)
        and (one.sparse, one.scaled, one.features) == (inst.sparse, inst.scaled, inst.features)
        and inst.k < one.k <= plan.block[2]
    ]
    if deeper:
        chosen = max(deeper, key=lambda one: one.k).name
        raise Error(
            f"{inst.name} cannot be asked for in {language}: Triton chooses the k of an instruction, on {title} that "
            f"of {chosen}"
        )


def zero(plan: TilePlan, side: SharedTile) -> str:
    """What is read outside of a matrix."""
    return "0.0" if plan.instruction.format(side.name).is_float else "0"


def header(plan: TilePlan, language: str, multiples: str = "") -> Iterator[str]:
    """The docstring, the imports, the sizes of a block.

    Args:
        multiples: what sizes have to be multiples of.
    """
    inst = plan.instruction
    yield f'"""D = A B with {inst.name} on {inst.architecture.title}, for {language.capitalize()} (Triton 3.9).'
    yield ""
    yield plan.memory
    if multiples:
        yield multiples
    yield f"{plan.title[0].upper()}{plan.title[1:]}."
    yield '"""'
    yield ""
    yield from IMPORTS[language]
    yield ""
    for name, size in zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), plan.block):
        yield f"{name} = {'gl' if language == 'gluon' else 'tl'}.constexpr({size})"
    yield ""


def block_order(language: str, module: str) -> Iterator[str]:
    """Which tile of D a block computes."""
    yield ""
    yield f"@{language}.jit"
    yield "def place_block(tiles_m, tiles_n):"
    yield '    """The tile of a block: neighbours share few rows and columns, for the caches."""'
    yield f"    block = {module}.program_id(0)"
    yield f"    group, rest = block // ({GROUP} * tiles_n), block % ({GROUP} * tiles_n)"
    yield f"    height = {module}.minimum(tiles_m - group * {GROUP}, {GROUP})"
    yield f"    return group * {GROUP} + rest % height, rest // height"
    yield ""
    yield ""


def kernel_head(plan: TilePlan, language: str) -> Iterator[str]:
    """The decorator, the arguments, and what their elements are."""
    module = "gl" if language == "gluon" else "tl"
    yield f"@{language}.jit"
    yield f"def {_name(plan)}(a, b, d, M, N, K, lda, ldb, ldd):"
    formats = {"a": ELEMENTS[plan.instruction.format("A").name], "b": ELEMENTS[plan.instruction.format("B").name]}
    for name, element in {**formats, "d": SUMS[plan.sums]}.items():
        yield f'    {module}.static_assert({name}.dtype.element_ty == {module}.{element}, "{name} is of {element}")'


def footer(plan: TilePlan, sizes: tuple[int, int, int], options: Mapping[str, int] = {}) -> Iterator[str]:
    """The options of a launch, its grid, and the launch line."""
    m, n, k = sizes
    lda, ldb = (k if plan.a.k_first else m), (k if plan.b.k_first else n)
    yield ""
    yield ""
    given = ", ".join([f'"{name}": {value}' for name, value in {"num_warps": plan.warps, **options}.items()])
    yield f"OPTIONS = {{{given}}}"
    yield ""
    yield ""
    yield "def grid(M, N):"
    yield '    """The blocks of a launch."""'
    yield "    return (-(-M // BLOCK_M.value) * -(-N // BLOCK_N.value),)"
    yield ""
    yield ""
    yield f"# {_name(plan)}[grid({m}, {n})]("
    yield f"#     A, B, D, {m}, {n}, {k}, {lda}, {ldb}, {n}, **OPTIONS)"
