"""Scales of f32 along K in a GEMM: the sums of each block of k are multiplied by them and added to a second set.

The instruction sums up a block of k (128 of them, say) in its own accumulators; each sum is then added to its total
with one fused multiply-add, times the scale of its row of A times that of its column of B, as DeepSeek-V3 writes it.
A lane loads the scales of a block while the block is multiplied. How many it holds depends on what shares a scale: one
for the whole tile of a workgroup, one for each tile of the instruction, or those of a lane's own rows and columns.

Source: DeepSeek-V3 Technical Report, arXiv 2412.19437, section 3.3.2 (fine-grained quantization, promotion to f32).
"""

from __future__ import annotations

import math

from ..base.errors import Error
from ..base.records import TupleRecord
from ..families.tensor_memory import SCALE_BLOCKS, SCALE_BYTES, SCALE_ROWS
from ..model.block_scales import block_scales_of
from .epilogue import DIALECTS
from .fragments import fragment
from .hip import XDL_WAIT
from .source import indented

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias, TypeVar

    from ..model import Instruction
    from ..model.block_scales import BlockScales
    from .fragments import Fragment
    from .gemm import Plan
    from .gemm_staging import CudaPlan
    from .gemm_tcgen05_plan import TensorMemoryPlan

    AnyPlan: TypeAlias = Plan | CudaPlan | TensorMemoryPlan
    Scaled = TypeVar("Scaled", Plan, CudaPlan, TensorMemoryPlan)

__all__ = [
    "INPUTS", "Sums", "blocks", "checked_depth", "checked_scales", "declarations", "declared", "end_of_stage",
    "end_of_step", "finer_blocks", "first_of_tile", "function", "notes", "passed", "scale_arrays", "scales_asked",
    "step_depth", "stride", "stride_declared", "stride_passed", "suffix",
]  # fmt: skip

INPUTS = ("A_scales", "B_scales")
CODES = ("SA", "SB")  # of MX formats, 8 bits each
PAIRED = 16  # rows that alternate


class Sums(TupleRecord):
    """Where a lane's sums are, of A's side and of B's: D's axes ("row", "column"), the first row and column of the
    workgroup's tile and of the wave's in it, the extents of the tile and of the instruction, how many tiles a wave has
    and the constant that says so. tile: the indices of a tile's sums, as C text; paired: whether rows (columns) of
    16 alternate between registers or tiles, see `ldmatrix.Pairs`."""

    fragment: Fragment
    axes: tuple[str, str]
    firsts: tuple[str, str]
    waves: tuple[str, str]
    extents: tuple[int, int]
    units: tuple[int, int]
    counts: tuple[int, int]
    names: tuple[str, str]
    tile: str
    paired: tuple[bool, bool] = (False, False)


class Held(TupleRecord):
    """The scales of one side that a lane holds: how many tiles have their own, the place of a tile among these and its
    first row (column) as C text, what is added to that for each scale, and which of the scales each slot of D has."""

    letter: str
    tiles: int
    place: str
    first: str
    offsets: tuple[int, ...]
    slots: tuple[int, ...]
    shared: int
    extent: str


def scales_asked(given: str | BlockScales | None, inst: Instruction) -> BlockScales | None:
    """The scales along K that a kernel is asked for.

    Raises:
        Error: the instruction has scales of its own, is NVIDIA's of a sparse A, or sums up in other formats than f32
            and i32.
    """
    if given is None:
        return None
    found = block_scales_of(given)
    sparse = inst.sparse and inst.architecture.family.language == "cuda"
    if inst.scaled or sparse or inst.format("D").name not in ("f32", "i32"):
        why = "has scales of its own" if inst.scaled else "is sparse" if sparse else ""
        why = why or f"sums up in {inst.format('D').name}"
        raise Error(
            "block_scales are for instructions whose sums are f32 or i32, of NVIDIA for those of a dense A; "
            f"{inst.name} {why}"
        )
    return found


def checked_scales(found: Scaled, scales: BlockScales | None) -> Scaled:
    """The plan with scales along K.

    Raises:
        Error: stages that do not divide a block of k, or weights of 4 bits.
    """
    if scales is None:
        return found
    if getattr(found, "weights", False):
        raise Error("block_scales and weights of int4, which have scales of their own, exclude each other")
    found = found._replace(scales=scales)
    checked_depth(found, found.block_k)
    return found


def checked_depth(found: AnyPlan, stage: int) -> None:
    """Refuse blocks of k that are neither whole stages nor parts of one that have whole steps: instructions, on AMD as
    many as a lane reads at once.

    Args:
        stage: the k of one.
    """
    if found.scales is None or found.scales.depth % stage == 0:
        return
    inst, (rows, columns, depth) = found.instruction, found.scales
    step = step_depth(found)
    if stage % depth == 0 and depth % step == 0:
        return
    up = -(-depth // stage) * stage
    finer = f", or for a part of it that is a multiple of {step}" * (step < stage)
    raise Error(
        f"a stage of {inst.name} has {stage} k, and block_scales are for a multiple of it{finer}; got {depth}: use "
        f"{rows}x{up},{columns}x{up}, or an instruction with scales of its own (MX: of 32 k)"
    )


def step_depth(found: AnyPlan) -> int:
    """The k of a step of a stage: one instruction's, or of those whose k a lane reads at once."""
    kpack: int = getattr(found, "kpack", 1)
    return found.instruction.k * kpack


def suffix(found: AnyPlan) -> str:
    """What the names of kernels with these scales have."""
    return f"_scaled_{str(found.scales).replace(',', '_')}" if found.scales else ""


def notes(found: AnyPlan) -> Iterator[str]:
    """What the head of the source says."""
    if found.scales is None:
        return
    rows, columns, depth = found.scales
    yield f"// A_scales, B_scales: one of f32 for each {rows} x {depth} of A (M x K), each {columns} x {depth} of B"
    counts = [extent if each == 1 else f"{extent} / {each}" for extent, each in zip("MNK", found.scales)]
    yield f"// (N x K), {counts[0]} and {counts[1]} rows of {counts[2]}, rounded up. Of each"
    yield f"// {depth} k the sums are added in f32 as fma(sum, A's scale * B's scale, total)."


def first_of_tile(tile: str, extent: int, paired: bool) -> str:
    """The first row (column) of a tile, as C text.

    >>> first_of_tile("i", 16, True), first_of_tile("j", 8, True)
    ('16 * i', 'j / 2 * 16 + j % 2')
    """
    return f"{tile} / 2 * {PAIRED} + {tile} % 2" if paired and extent < PAIRED else f"{extent} * {tile}"


def _held(found: Plan | CudaPlan, sums: Sums, side: int) -> Held:
    assert found.scales is not None
    shared, axis, letter = found.scales[side], sums.axes[side], "ab"[side]
    items = sorted(sums.fragment.items)
    if shared % sums.extents[side] == 0:
        return Held(letter, 1, "0", sums.firsts[side], (0,), (0,) * len(items), shared, "MN"[side])
    first = f"{sums.firsts[side]} + {sums.waves[side]}" if sums.waves[side] else sums.firsts[side]
    unit, paired = sums.units[side], sums.paired[side]
    first += f" + {first_of_tile('tile', unit, paired)}" if sums.counts[side] > 1 else ""
    index = "ij"[side] if sums.counts[side] > 1 else "0"
    if shared % (max(unit, PAIRED) if paired else unit) == 0:
        return Held(letter, sums.counts[side], index, first, (0,), (0,) * len(items), shared, "MN"[side])
    lane = sums.fragment.first(axis, "d")
    places = [getattr(item, axis) for item in items]
    offsets = tuple(sorted(set(places)))
    slots = tuple([offsets.index(place) for place in places])
    return Held(letter, sums.counts[side], index, f"{first} + {lane}", offsets, slots, shared, "MN"[side])


def declarations(found: Plan | CudaPlan, sums: Sums, k_range: tuple[str, str] = ("0", "K")) -> Iterator[str]:
    """The totals, the scales of a block of k that a lane holds, and the functions that load and use them.

    Args:
        k_range: the first k of the tile, and the one behind its last, as C text.
    """
    if found.scales is None:
        return
    hip, target = found.instruction.architecture.family.language == "hip", found.instruction.architecture.targets[0]
    inline = " __attribute__((always_inline))" if hip else ""
    sides, slots = [_held(found, sums, side) for side in (0, 1)], len(sums.fragment.items)
    yield "// The totals, and the scales of a block of k that this lane multiplies its sums by."
    kind = "totals" if hip else f"union {{ float each[{slots}]; }}"
    tiles = "".join(f"[{name}]" for name, index in zip(sums.names, ("i", "j")) if f"[{index}]" in sums.tile)
    yield f"{kind} total{tiles} = {{}};"
    for side in sides:
        yield f"float {side.letter}_scale[{side.tiles}][{len(side.offsets)}];"
        for name, values in (("offsets", side.offsets), ("slots", side.slots)):
            if len(side.offsets) > 1:
                yield f"const unsigned char {side.letter}_{name}[] = {{{', '.join(map(str, values))}}};"
    yield f"const auto fetch_scales = [&](int block){inline} {{"
    yield f"    if (block * {found.scales.depth} >= {k_range[1]}) return;"
    for side in sides:
        yield from indented(_loads(side, hip and not target.startswith("gfx9")))
    yield "};"
    yield from _adding(sums, sides, slots, hip, inline)
    yield f"fetch_scales({k_range[0]}{f' / {found.scales.depth}' if k_range[0] != '0' else ''});"


def _loads(side: Held, few: bool) -> Iterator[str]:
    """The loads of a side's scales; of rows beyond the matrix, those of the last.

    Args:
        few: whether a wave has too few registers for the addresses of all.
    """
    letter, several = side.letter, len(side.offsets) > 1
    yield "#pragma unroll"
    yield f"for (int tile = 0; tile < {side.tiles}; ++tile)" + " {" * (not several)
    if several:
        yield "#pragma unroll"
        yield f"    for (int n = 0; n < {len(side.offsets)}; ++n) {{"
    indent, n = "        " if several else "    ", "n" if several else "0"
    kept = "" if few and several else "const "
    yield f"{indent}{kept}int at = {side.first}" + f" + {letter}_offsets[n]" * several + ";"
    if few and several:
        yield f'{indent}asm volatile("" : "+v"(at));  // or the addresses of all are kept in registers'
    inside = f"(at < {side.extent} ? at : {side.extent} - 1)"
    row = f"({inside} / {side.shared})" if side.shared > 1 else inside
    yield f"{indent}{letter}_scale[tile][{n}] = {letter.upper()}_scales[(long long){row} * scale_stride + block];"
    yield f"{indent[4:]}}}"


def _adding(sums: Sums, sides: list[Held], slots: int, hip: bool, inline: str) -> Iterator[str]:
    """The function that adds the sums of a block to the totals, and begins the next block."""
    yield "// Adds what a block of k has summed up, and loads the scales of the next."
    yield f"const auto add_block = [&](int next){inline} {{"
    indent = "    "
    if hip and sums.fragment.operand.instruction.architecture.targets[0].startswith("gfx9"):
        yield "    // Around branches clang 22.1.8 does not always wait for the products."
        yield "    __builtin_amdgcn_sched_barrier(0);"
        yield f"    asm volatile({XDL_WAIT});"
        yield "    __builtin_amdgcn_sched_barrier(0);"
    for name, index in zip(sums.names, ("i", "j")):
        if f"[{index}]" in sums.tile:
            yield "#pragma unroll"
            yield f"{indent}for (int {index} = 0; {index} < {name}; ++{index})"
            indent += "    "
    yield "#pragma unroll"
    yield f"{indent}for (int n = 0; n < {slots}; ++n) {{"
    a, b = (
        f"{side.letter}_scale[{side.place}][{f'{side.letter}_slots[n]' if len(side.offsets) > 1 else '0'}]"
        for side in sides
    )
    each = "[n]" if hip else ".each[n]"
    part, whole = f"sum{sums.tile}{each}", f"total{sums.tile}{each}"
    yield f"{indent}    {whole} = multiply_add((float){part}, {a} * {b}, {whole});"
    yield f"{indent}    {part} = 0;"
    yield f"{indent}}}"
    yield "    fetch_scales(next);"
    yield "};"


def function(found: AnyPlan) -> Iterator[str]:
    """The fused multiply-add of the language; of HIP the type of a tile's totals, too."""
    if found.scales is None:
        return
    language = found.instruction.architecture.family.language
    yield DIALECTS[language].functions["multiply_add"]
    if language == "hip":
        slots = len(fragment(found.instruction.operand("D", found.wave)).items)
        yield f"typedef float totals __attribute__((ext_vector_type({slots})));"
        yield ""


def end_of_stage(found: Plan | CudaPlan, stage: int = 0) -> Iterator[str]:
    """The lines behind the products of the stage at k.

    Args:
        stage: its k, if the plan does not say so.
    """
    if found.scales is None or finer_blocks(found, stage) > 1:
        return
    depth = found.scales.depth
    condition = "" if depth == (stage or found.block_k) else f"if ((k + BLOCK_K) % {depth} == 0 || k + BLOCK_K >= K) "
    yield f"{condition}add_block(k / {depth} + 1);"


def finer_blocks(found: AnyPlan, stage: int = 0) -> int:
    """The blocks of k that a stage has; 1 also where a block has several stages.

    Args:
        stage: its k, if the plan does not say so.
    """
    return max(1, (stage or found.block_k) // found.scales.depth) if found.scales else 1


def end_of_step(found: Plan) -> Iterator[str]:
    """The lines behind the products of a step, where a stage has several blocks of k; `k` is that of the stage.

    Behind K there are no scales: of one that is infinite the zeros there would make a NaN.
    """
    if found.scales is None or finer_blocks(found) == 1:
        return
    depth, step = found.scales.depth, step_depth(found)
    last = f"(step + 1) * {step}"
    whole = "" if step == depth else f"{last} % {depth} == 0 && "
    yield f"if ({whole}k + {last} - {depth} < K) add_block((k + {last}) / {depth});"


class ScaleArrays(TupleRecord):
    """The arrays of scales that a kernel takes, or of metadata: the parameters' type, their names, how many k, rows of
    A and columns of B share a cell of them, and how many elements of the array a cell has; parts of K are multiples of
    `unit`. stride: the parameter of a tile that says how many cells a row of them has."""

    pointer: str
    names: tuple[str, ...]
    depth: int
    rows: int
    columns: int
    cell: int
    unit: int
    stride: str = "scale_stride"

    @property
    def tiled(self) -> bool:
        """Whether those of a group of rows begin with a tile of their own."""
        return self.rows > 1


def scale_arrays(found: AnyPlan) -> tuple[ScaleArrays, ...]:
    """Those of f32 along K; those of MX formats, which AMD's kernels take as bytes and those around mma.sync as words
    in tiles (`mmacalc.pack_scales`); metadata in registers (`mmacalc.pack_sparse`); none of a GEMM without them, and of
    one that takes tensor maps of them."""
    arrays = []
    inst, cuda = found.instruction, found.instruction.architecture.family.language == "cuda"
    if found.scales:
        rows, columns, depth = found.scales
        arrays.append(ScaleArrays("const float *", INPUTS, depth, rows, columns, 1, depth))
    if inst.sparse and not inst.in_tensor_memory:
        arrays.append(_metadata(found))
    if not inst.scaled or inst.sparse or inst.in_tensor_memory:
        return tuple(arrays)
    deep = SCALE_BLOCKS * inst.block_size  # k whose scales of a row are a word
    if not cuda:
        return (ScaleArrays("const unsigned char *__restrict__ ", CODES, inst.block_size, 1, 1, 1, deep),)
    return (ScaleArrays("const unsigned int *", INPUTS, deep, SCALE_ROWS, SCALE_ROWS, SCALE_BYTES // 4, deep),)


def _metadata(found: AnyPlan) -> ScaleArrays:
    """Those of a sparse A: of AMD the k of several instructions may be in an order of their own."""
    inst, name = found.instruction, ("metadata",)
    if inst.architecture.family.language == "cuda":
        deep = inst.index_sets() * inst.k
        return ScaleArrays("const unsigned int *", name, deep, inst.m, inst.m, inst.operand("K").lanes, deep)
    deep = inst.index_sets(found.wave) * inst.k
    unit = math.lcm(deep, step_depth(found))
    cell = unit // deep * inst.operand("K", found.wave).registers * found.wave
    return ScaleArrays("const int *__restrict__ ", name, unit, inst.m, inst.m, cell, unit, "index_stride")


def declared(found: AnyPlan) -> str:
    """The parameters of kernels, behind D."""
    given = "".join(f"{arrays.pointer}{name}, " for arrays in scale_arrays(found) for name in arrays.names)
    return given if found.scales or not given else given.rstrip() + "\n    "


def passed(found: AnyPlan) -> str:
    """The arguments of a tile for these parameters."""
    return "".join(f"{name}, " for arrays in scale_arrays(found) for name in arrays.names)


def stride_declared(found: AnyPlan) -> str:
    """The last parameters of a tile: how many scales a row of A has, and of B, or words of metadata a lane."""
    return "".join(f", int {arrays.stride}" for arrays in scale_arrays(found))


def stride_passed(found: AnyPlan) -> str:
    """The arguments for them, of all of K."""
    return "".join(f", {blocks(arrays.depth, 'K')}" for arrays in scale_arrays(found))


def stride(found: AnyPlan) -> str:
    """How many scales a row of A has, as C text."""
    return blocks(scale_arrays(found)[0].depth, "K")


def blocks(each: int, extent: str) -> str:
    """How many blocks there are along an extent, as C text."""
    return extent if each == 1 else f"({extent} + {each - 1}) / {each}"
