"""mmacalc.generate: a kernel around one instruction, as source code that compiles; and index expressions."""

from __future__ import annotations

from itertools import product

from ..base.checks import arguments_checked, shown
from ..base.errors import Error, abbreviated, did_you_mean
from ..base.records import TupleRecord, json_keys
from . import (
    attention_cuda,
    attention_hip,
    attention_tcgen05,
    attention_wgmma,
    cuda,
    exports,
    gemm_cuda,
    gemm_hip,
    gemm_tcgen05,
    gemm_tma,
    gemm_wgmma,
    hip,
)
from . import gemm as tiled
from .attention import attention_plan, checked_instruction, problem_of, seen_of
from .attention_cuda_plan import cuda_attention_plan
from .epilogue import epilogue_of
from .fragments import chosen_lanes, fragment, group_size
from .gemm_scales import scales_asked
from .gemm_slices import checked_slices
from .marks import plain
from .source import Request, extents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from ..model import Instruction, Operand
    from ..model.block_scales import BlockScales

    Text = TypeVar("Text")

__all__ = ["Formulas", "GeneratedKernel", "formulas", "gemm_sizes", "generate"]

LANGUAGES = {"hip": hip.kernel, "cuda": cuda.kernel}


@json_keys(
    "architecture=instruction.arch",
    "instruction=instruction.name",
    "source",
)
class GeneratedKernel(TupleRecord):
    """A generated kernel: the instruction, the source, and the file it was written to, None if there is none."""

    instruction: Instruction
    source: str
    path: str | None


class Formulas(TupleRecord):
    """Index expressions of an operand, valid in C and (with // for /) in Python; and its layout for Triton and CuTe.

    digits: (name, expression of `lane`) of each digit, named as in generated kernels; row, column, block: sums of the
    digits; items: for each slot what it adds to row, column and block. linear: for each bit of each place the
    coordinates that it adds, as Triton's linear layouts have them; cute: shape:stride of CuTe, from (thread, value) to
    an index that grows along the rows first; not_linear, not_cute: the reason, where there is no such layout; notes:
    sentences without which the expressions are misread.
    """

    operand: Operand
    digits: tuple[tuple[str, str], ...]
    row: str
    column: str
    block: str
    items: tuple[tuple[int, int, int, int], ...]
    linear: Mapping[str, tuple[tuple[int, ...], ...]]
    cute: str
    not_linear: str
    not_cute: str
    notes: tuple[str, ...] = ()


@arguments_checked
def generate(
    instruction: Instruction,
    language: str = "",
    order_a: str = "row",
    order_b: str = "col",
    ld: str = "arguments",
    wave: int | None = None,
    gemm: str | Sequence[int] | None = None,
    lds: bool = False,
    tile: str | Sequence[int] | None = None,
    stages: int | None = None,
    epilogue: str | None = None,
    attention: str | Sequence[int] | None = None,
    causal: bool = False,
    window: int | None = None,
    split_k: int | None = None,
    batch: int | None = None,
    groups: int | None = None,
    block_scales: str | None = None,
    weights: str = "",
    kv_heads: int | None = None,
    **modifiers: int | str,
) -> str:
    """The source of a kernel in which one wave (warp) computes D = A B + C with one instruction, or of a whole GEMM, or
    of attention.

    The operands are loaded by the instruction's layouts, one vector access for each contiguous run; the layout's
    pattern is a comment above each operand's indices. C and D lie row by row.

    Args:
        instruction: an AMD instruction that a builtin reaches, or an mma, mma.sp, wmma.mma or wgmma of NVIDIA; with
            gemm also a tcgen05.mma, whose shape and types are modifiers (m, n, a, b, d, scale).
        language: "hip" or "cuda", the vendor's if left out; of a GEMM "triton", "gluon", "cute" or "ck_tile", too: the
            same tile as their source (D = A B).
        order_a, order_b: "row" or "col": how A and B lie in memory.
        ld: "arguments": leading dimensions, in elements and multiples of the widest access, are arguments of the
            kernel; "constants": those of one tile.
        gemm: "MxNxK" or (M, N, K): a tiled GEMM through LDS (shared memory) instead, of NVIDIA around mma.sync, mma.sp,
            wgmma and tcgen05.mma; it takes any sizes, those given are in the launch line. But for tcgen05 there are two
            kernels in the source, for aligned matrices and for all others.
        tile: "MxNxK" or (M, N, K) of a workgroup's tile; stages: of A and B that LDS holds; of a GEMM, by the target
            and the instruction if left out.
        epilogue: of a GEMM, what becomes of A B: words such as "alpha,beta,scale=row,bias=column,relu,to=f16":
            D = activation(alpha * scales * A B + beta * C + bias), in f32.
        split_k: of a GEMM, the parts of K that are added by a second kernel; batch: how many products the launch line
            has, whose matrices are strides apart (arguments of the kernel, or dimensions of its tensor maps).
        groups: of a GEMM, how many groups the launch line has, as a mixture of experts has them: rows of A and D belong
            to one group after the other, each has a B; where they end is read on the device.
        attention: "BxHxMxNxD" or (B, H, M, N, D): O = softmax(scale Q K^T) V of B batches and H heads of D elements, of
            M queries and N keys, around an instruction of f16, bf16, e4m3 or (of AMD) e5m2 whose sums are f32 (of wgmma
            and tcgen05.mma n is the keys of a tile); of 8 bits O is of bf16. B, H, M and N are in the launch line; the
            kernel takes any. tile is then "MxN", queries and keys.
        causal: of attention: the query m sees the keys n <= m + N - M.
        window: of causal attention: how many of these, the last ones.
        kv_heads: of attention, the heads of K and V of the launch line, each for as many heads of Q (grouped-query
            attention; 1: multi-query); as many as of Q if left out. The kernel takes any.
        block_scales: of a GEMM, scales of f32 along K: "1x128,128x128" is one for each row of A and 128 k, one for each
            128 columns of B and 128 k, as DeepSeek has them; each 128 k are summed up apart (see `block_scaled_gemm`).
        weights: "int4": of a GEMM around an mma.sync of f16 or bf16, B has 4 bits, as `mmacalc.pack_int4` lays it out,
            and a scale of A's type for each 128 k and column.
        lds: A and B go through LDS (NVIDIA: shared memory, from where ldmatrix loads them; wgmma always reads B there),
            in a layout without bank conflicts.
        wave, modifiers: as for `Instruction.operand`; formats of f8f6f4, for example. A GEMM takes formats, and neg of
            iu8 and iu4: whether A (bit 0) and B (bit 1) are signed, as they are if it is left out.

    Raises:
        Error: an option out of range, an instruction that cannot be reached, elements that no load can reach.

    >>> import mmacalc
    >>> source = mmacalc.generate(mmacalc.instruction("mi300x", "v_mfma_f32_16x16x16_f16"), ld="constants")
    >>> [line.strip() for line in source.splitlines() if "lane %" in line][0]
    'const int a_i = lane % 16;'
    """
    if not hasattr(instruction, "architecture"):
        raise Error(f"generate() takes an instruction, such as mmacalc.instruction(...); got {instruction!r}")
    instruction.architecture.family.require("generate", instruction.architecture.title)
    native = instruction.architecture.family.language
    language = language or native
    _check_words({"language": language, "order_a": order_a, "order_b": order_b, "ld": ld, "weights": weights})
    attention_only = {"causal": causal, "window": window, "kv_heads": kv_heads}
    slices = {"split_k": split_k, "batch": batch, "groups": groups, "block_scales": block_scales}
    asked = Asked(
        instruction, language, (order_a, order_b), ld == "constants", wave, lds, tile, stages, epilogue,
        attention_only, slices, weights, modifiers,
    )  # fmt: skip
    if language in exports.LANGUAGES:
        return _exported(asked, gemm, attention)
    if language != native:
        raise Error(
            f"{instruction.name} is an instruction of {instruction.architecture.title}: the language is {native}"
        )
    if attention is not None:
        return plain(_attention(asked, gemm, attention))
    return plain(_product(asked, gemm))


class Asked(TupleRecord):
    """The options of `generate`, by what they are of: attention alone, or a whole GEMM (its slices among them)."""

    instruction: Instruction
    language: str
    orders: tuple[str, str]
    constants: bool
    wave: int | None
    lds: bool
    tile: str | Sequence[int] | None
    stages: int | None
    epilogue: str | None
    attention_only: dict[str, Any]
    slices: dict[str, Any]
    weights: str
    modifiers: dict[str, Any]


def _exported(asked: Asked, gemm: str | Sequence[int] | None, attention: str | Sequence[int] | None) -> str:
    """The source of a GEMM in another language than the vendor's."""
    if gemm is None:
        raise Error(f"{asked.language} is of a whole GEMM: give gemm, too, such as 4096x4096x4096")
    others = {"attention": attention, **asked.attention_only, "lds": asked.lds, "epilogue": asked.epilogue}
    others |= {**asked.slices, "weights": asked.weights, "ld": asked.constants, **dict.fromkeys(asked.modifiers, True)}
    size = asked.instruction.architecture.wave(asked.wave)
    found = exports.tile_plan(asked.instruction, size, asked.orders, asked.tile, asked.stages)
    return exports.exported(asked.language, found, gemm_sizes(gemm), others)


def _product(asked: Asked, gemm: str | Sequence[int] | None) -> str:
    """The source of a kernel around one instruction, or of a whole GEMM, with marks."""
    size = asked.instruction.architecture.wave(asked.wave)
    inst, modifiers = asked.instruction.split_parameters(asked.modifiers)
    fields = inst.resolved(modifiers)
    inst.check_modifiers(size, fields)
    if alone := [name for name, given in asked.attention_only.items() if given not in (None, False)]:
        raise Error(f"{alone[0]} is of attention: give attention, too")
    if gemm is not None:
        _check_gemm(asked, inst, modifiers)
        modifiers = {**modifiers, "weights": True} if asked.weights else modifiers
        *counts, block_scales = asked.slices.values()
        scales = scales_asked(block_scales, inst)
        shape = Shape(asked.orders, asked.tile, asked.stages, asked.epilogue, tuple(counts), scales)
        return _whole(inst, size, gemm_sizes(gemm), shape, modifiers)
    whole = (asked.tile, asked.stages, asked.epilogue, *asked.slices.values())
    if asked.weights or any(given is not None for given in whole):
        raise Error(
            f"tile, stages, epilogue, {', '.join(asked.slices)} and weights are of a whole GEMM (tile also of "
            "attention): give gemm, too"
        )
    request = Request(inst, size, fields, *asked.orders, asked.constants, asked.language, asked.lds)
    return LANGUAGES[asked.language](request)


class Shape(TupleRecord):
    """The options of a GEMM: the orders of A and B, ..., (split_k, batch, groups), and scales along K."""

    orders: tuple[str, str]
    tile: str | Sequence[int] | None
    stages: int | None
    epilogue: str | None
    slices: tuple[int | None, int | None, int | None]
    scales: BlockScales | None


def _whole(
    inst: Instruction, wave: int, sizes: tuple[int, int, int], asked: Shape, modifiers: Mapping[str, Any]
) -> str:
    """The source of a GEMM, with marks."""
    orders, tile, stages, _, slices, scales = asked
    epilogue = epilogue_of(asked.epilogue, inst, scales is not None)
    if inst.architecture.family.language == "hip":
        hip_plan = tiled.plan(inst, wave, *orders, tile, stages, scales, **modifiers)
        return gemm_hip.source(checked_slices(hip_plan._replace(epilogue=epilogue), *slices), sizes)
    if tile is not None:
        shape = "; the shape of tcgen05.mma is its tile: give m and n" if inst.in_tensor_memory else ""
        raise Error(f"tile is of AMD's kernels: those of NVIDIA have one tile for each instruction{shape}")
    if inst.in_tensor_memory:
        by_tcgen05 = gemm_tcgen05.plan(inst, *orders, stages, scales)._replace(epilogue=epilogue)
        return gemm_tcgen05.source(checked_slices(by_tcgen05, *slices), sizes)
    if "wgmma" in inst.features:
        by_tma = gemm_tma.plan(inst, *orders, stages, scales)
        if by_tma is not None:
            by_tma = by_tma.with_epilogue(epilogue)
            return gemm_tma.source(by_tma._replace(other=checked_slices(by_tma.other, *slices)), sizes)
        by_wgmma = gemm_wgmma.plan(inst, *orders, stages, scales)._replace(epilogue=epilogue)
        return gemm_wgmma.source(checked_slices(by_wgmma, *slices), sizes)
    by_mma = gemm_cuda.plan(inst, *orders, stages, bool(modifiers), scales)._replace(epilogue=epilogue)
    return gemm_cuda.source(checked_slices(by_mma, *slices), sizes)


WORDS = {
    "language": (*LANGUAGES, *exports.LANGUAGES), "order_a": ("row", "col"), "order_b": ("row", "col"),
    "ld": ("arguments", "constants"),
}  # fmt: skip


def _check_words(given: Mapping[str, str]) -> None:
    """Refuse options that are none of the words that they may be."""
    for name, known in WORDS.items():
        value = given[name]
        if value not in known:
            raise Error(f"{name} is {' or '.join(known)}; got '{value}'.{did_you_mean(value, known)}")
    if given["weights"] not in ("", "int4"):
        raise Error(f"weights is 'int4', or left out; got {shown(given['weights'])}")


def _check_gemm(asked: Asked, inst: Instruction, modifiers: Mapping[str, Any]) -> None:
    """Refuse what a GEMM does not take."""
    if asked.lds:
        raise Error("a GEMM goes through LDS (shared memory) by itself: leave out lds (--lds)")
    if asked.constants:
        raise Error("a GEMM takes its leading dimensions as arguments, for any sizes: leave out ld (--ld)")
    if modifiers and asked.language == "cuda":
        raise Error(f"a GEMM of NVIDIA takes no modifiers: leave out {', '.join(modifiers)}")
    if asked.weights and (asked.language != "cuda" or {"wgmma", "tcgen05"}.intersection(inst.features)):
        raise Error(f"weights of int4 are for mma.sync of f16 or bf16; not {inst.name}")


def _attention(asked: Asked, gemm: str | Sequence[int] | None, attention: str | Sequence[int]) -> str:
    """The source of an attention kernel, which none of the options of a GEMM concerns, with marks."""
    inst, modifiers = asked.instruction.split_parameters(asked.modifiers)
    wave, tile = asked.wave, asked.tile
    causal, window, kv_heads = asked.attention_only.values()
    problem, seen = problem_of(attention, kv_heads), seen_of(causal, window)
    others = {"gemm": gemm, "lds": asked.lds, "stages": asked.stages, "epilogue": asked.epilogue}
    others |= {"ld": asked.constants, **asked.slices, "weights": asked.weights or None}
    fields = inst.resolved(modifiers)
    others |= {"order_a": asked.orders[0] != "row", "order_b": asked.orders[1] != "col"}
    others |= {name: True for name in fields if name not in inst.choices}
    if given := [name for name, value in others.items() if value not in (None, False)]:
        formats = f", and formats ({' and '.join(inst.choices)})" if inst.choices else ""
        raise Error(f"attention takes causal, window, kv_heads, tile and wave{formats}: leave out {', '.join(given)}")
    checked_instruction(inst, fields)
    if inst.architecture.family.language == "cuda":
        inst.architecture.wave(wave)
        found = cuda_attention_plan(inst, problem.head, seen, tile, problem.head_v)
        if inst.in_tensor_memory:
            return attention_tcgen05.source(found, problem)
        if found.q:
            return attention_wgmma.source(found, problem)
        return attention_cuda.source(found, problem)
    made = attention_plan(inst, problem.head, seen, wave, tile, problem.head_v, fields)
    return attention_hip.source(made, problem)


def gemm_sizes(gemm: str | Sequence[int]) -> tuple[int, int, int]:
    """M, N and K of a GEMM.

    Raises:
        Error: they are not three numbers from 1 on.
    """
    m, n, k = extents(gemm, 3, "gemm is MxNxK, such as 4096x4096x4096")
    if min(m, n, k) < 1 or max(m, n, k) >= 1 << 31:
        raise Error(f"the sizes of a GEMM are from 1 to {(1 << 31) - 1}; got {shown(gemm)}")
    return m, n, k


def formulas(operand: Operand) -> Formulas:
    """The index expressions of an operand.

    >>> import mmacalc
    >>> found = formulas(mmacalc.instruction("mi300x", "v_mfma_f32_32x32x8_f16").operand("D"))
    >>> found.row, found.column, found.items[5]
    ('4 * d_m', 'd_j', (5, 0, 9, 0))
    >>> found.cute
    '((32,2),(4,4)):((32,4),(1,8))'
    """
    found = fragment(operand)
    letter = operand.name.lower()
    digits = tuple([(f"{letter}_{digit.name}", digit.value) for digit in found.digits])
    row, column, block = (found.first(axis, letter) for axis in ("row", "column", "block"))
    items = tuple([(item.slot, item.block, item.row, item.column) for item in found.items])
    no_bases: dict[str, tuple[tuple[int, ...], ...]] = {}
    linear, not_linear = _or_reason(operand.layout.linear, no_bases)
    cute, not_cute = _or_reason(operand.layout.cute, "")
    notes = tuple(_notes(operand))
    return Formulas(operand, digits, row, column, block, items, linear, cute, not_linear, not_cute, notes)


def _notes(operand: Operand) -> Iterator[str]:
    sizes, shared = operand.layout.sizes, group_size(operand)
    if shared > 1:
        yield f"k counts the stored values: {sizes['s']} of each {shared} k"
    elif "p" in sizes and len(operand.axes) > 2:
        yield f"an item belongs to {sizes['p']} neighbouring k, of which the first is given"
    chosen = list(chosen_lanes(operand))
    for digit, value in chosen:
        yield f"only the lanes with {digit.value} == {value} hold elements: the selector chooses them"
    if not chosen and (empty := _empty_lanes(operand)):
        run = (
            f"{empty[0]} to {empty[-1]}" if len(empty) == 1 + empty[-1] - empty[0] else abbreviated(map(str, empty), 8)
        )
        yield f"lanes {run} hold nothing"
    for axis, extent in operand.layout.partial.items():
        yield f"{axis} ends at {extent}: items at and beyond it hold nothing"


def _empty_lanes(operand: Operand) -> list[int]:
    """The lanes in which no element lies, for which the expressions mean nothing."""
    read = operand.placement.lanes or int
    offsets = [{lane for lane, _ in operand.steps(axis)} for axis in operand.axes]
    held = {read(sum(each)) for each in product(*offsets, {lane for lane, _ in operand.copies()})}
    return sorted({*range(operand.lanes)} - held)


def _or_reason(written: Callable[[], Text], none: Text) -> tuple[Text, str]:
    """A layout in another notation, or why that notation does not have it."""
    try:
        return written(), ""
    except Error as error:
        return none, str(error)
