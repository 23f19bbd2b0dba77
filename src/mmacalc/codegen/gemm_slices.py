"""Batches and groups of a GEMM, and a GEMM whose K is split among workgroups (blocks): kernels around the same tile.

Batches are the third dimension of the grid, parts of K the second. Each part writes its sums to a workspace of
M x N for each part (and batch); a second kernel adds them in the order of the parts, so that the result is the same
every time, and does the epilogue. The plans of both vendors' kernels have what these functions ask for.

Groups are the experts of a mixture: the rows of A and D belong to one group after the other, each has a B of its own,
and where they end is known on the device alone. A launch has as many workgroups as any sizes of groups can need, which
is M / BLOCK_M + groups rows of tiles; each goes through the ends of the groups until it has its own.
"""

from __future__ import annotations

import math

from ..base.errors import Error
from ..families.tensor_memory import SCALE_ROWS
from .epilogue import finishing, output_format, parameters
from .gemm_scales import blocks, declared, passed, scale_arrays, stride_passed, suffix
from .gemm_scales import notes as scale_notes
from .source import indented, memory_type
from .staging import bytes_of, compression

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias, TypeVar

    from .epilogue import Epilogue
    from .gemm import Plan
    from .gemm_scales import ScaleArrays
    from .gemm_staging import CudaPlan
    from .gemm_tcgen05_plan import TensorMemoryPlan
    from .staging import Side

    Sliced = TypeVar("Sliced", Plan, CudaPlan, TensorMemoryPlan)
    Sliceable: TypeAlias = Plan | CudaPlan | TensorMemoryPlan

__all__ = [
    "MOST_PARTS", "checked_slices", "given_in_group", "group_call", "group_function", "group_places", "group_starts",
    "is_sliced", "k_range", "mapped_group", "mapped_launch", "mapped_notes", "mapped_parameters", "mapped_places",
    "matrix_of", "name_ending", "notes", "reduction", "sliced_kernel", "sliced_launch", "tile_places", "tile_plan",
    "tile_rows",
]  # fmt: skip

MOST_PARTS = 128
REDUCING = 256  # work-items of a workgroup that adds the parts
GROUP_OF = """\
// The group that has a row of tiles, which becomes its row of tiles, and the first row of the group; behind the last
// group: their number.
static __device__ int group_of(const int *ends, int groups, int block_m, int *tile_m, int *group_rowMORE) {
    int group = 0;
    *group_row = 0;BEGIN
    for (; group < groups; ++group) {
        const int tiles = (ends[group] - *group_row + block_m - 1) / block_m;
        if (*tile_m < tiles) break;
        *tile_m -= tiles;STEP
        *group_row = ends[group];
    }
    return group;
}
"""
BUILTINS = {"workgroup_id": "ctaid", "workitem_id": "tid"}  # of AMD's, the special registers of PTX


def checked_slices(found: Sliced, split: int | None, batch: int | None, groups: int | None) -> Sliced:
    """The plan with parts of K, batches, or groups.

    Raises:
        Error: numbers out of range, weights, or sums that a workspace should not round;
            groups with these, or of an A that does not lie row by row.
    """
    if split is None and batch is None and groups is None:
        return found
    for name, value, most in (("split_k", split, MOST_PARTS), ("batch", batch, 65535), ("groups", groups, 65535)):
        if value is not None and not 1 <= value <= most:
            raise Error(f"{name} is from 1 to {most}; got {value}")
    inst = found.instruction
    weights = getattr(found, "weights", False)
    if weights:
        raise Error(
            "split_k, batch and groups are of matrices without weights of int4: leave them out with "
            f"{inst.name} and weights"
        )
    if (split or 1) > 1 and inst.format("D").bits < 32:
        raise Error(
            f"the sums of {inst.name} are {inst.format('D').name}, and parts of them would be rounded before they are "
            "added: use its sibling that adds up in f32, with to= in epilogue"
        )
    if groups:
        _check_groups(found, split, batch)
    return found._replace(split=split or 1, batches=batch, groups=groups)


def _check_groups(found: Sliceable, split: int | None, batch: int | None) -> None:
    """Refuse what groups do not go with."""
    if split is not None or batch is not None:
        raise Error("groups have a B each, and go neither with batch nor with split_k: leave these out")
    if not found.a.along_k:
        raise Error("groups are rows of A one behind the other: use order_a='row'")
    if found.instruction.sparse and found.instruction.m > SCALE_ROWS:
        raise Error(
            "the metadata of a group's rows come in tiles of 128 rows, of which a pair of blocks takes two: groups of "
            f"a compressed A are generated with cta_group::1; not {found.instruction.name}"
        )
    if found.scales and found.scales.rows > 1:
        raise Error(f"groups end at any row of A: its block_scales are for single rows, 1x{found.scales.depth}")


def is_sliced(found: Sliceable) -> bool:
    """Whether the kernels have parts of K, batches, or groups."""
    return found.split > 1 or bool(found.batches or found.groups)


def tile_rows(m: int, block_m: int, groups: int | None) -> int:
    """The rows of tiles that a launch has: with groups, as many as any sizes of them can need.

    >>> tile_rows(1000, 128, None), tile_rows(1000, 128, 8)
    (8, 15)
    """
    return -(-m // block_m) if groups is None else m // block_m + groups


def tile_plan(found: Sliced) -> Sliced:
    """The plan of a tile: of a part of K it stores sums, and the epilogue is of those of all parts."""
    return found._replace(epilogue=_tile_epilogue(found))


def _tile_epilogue(found: Sliceable) -> Epilogue:
    return found.epilogue.of_parts if found.split > 1 else found.epilogue


def name_ending(found: Sliceable) -> str:
    """The end of a kernel's name: its epilogue, where the kernel does it itself, and its slices."""
    split = f"_split{found.split}" if found.split > 1 else found.epilogue.suffix
    return suffix(found) + split + "_batched" * bool(found.batches) + "_grouped" * bool(found.groups)


def _language(found: Sliceable) -> str:
    language: str = found.instruction.architecture.family.language
    return language


def _number(found: Sliceable, kind: str, name: str, register: str, axis: str, indent: str = "    ") -> Iterator[str]:
    """The lines that define a number of the workgroup or of the work-item (`BUILTINS`) along an axis."""
    if _language(found) == "hip":
        yield f"{indent}const {kind} {name} = __builtin_amdgcn_{register}_{axis}();"
        return
    yield f"{indent}int {name};"
    yield f'{indent}asm("mov.u32 %0, %%{BUILTINS[register]}.{axis};" : "=r"({name}));'


def _named(found: Sliceable, name: str) -> str:
    """The line of a kernel's name behind its attributes, which have the type of the result in CUDA's sources."""
    return f"void {name}(" if _language(found) == "hip" else f"{name}("


def notes(found: Sliceable) -> Iterator[str]:
    """What the head of the source says."""
    yield from scale_notes(found)
    if found.batches:
        yield "// Batches are a_batch, b_batch, d_batch elements apart, aligned where lda, ldb, ldd have to be;"
        yield "// the third dimension of the grid is their number."
    if found.groups:
        yield from _group_notes("The B of a group begins b_group elements behind the one before, aligned as ldb is.")
    yield from _packed_notes(found)
    if found.split > 1:
        batches = "batches x " * bool(found.batches)
        yield f"// K is split into {found.split} parts, the second dimension of the grid. Each writes its sums to a"
        yield f"// workspace of {batches}{found.split} x M x N, of which"
        yield f"// {found.reduce_name} makes D, always in the same order."


def _group_notes(of_b: str) -> Iterator[str]:
    yield "// Rows of A and D belong to one group after the other: those of a group end at ends[group]; a group may"
    yield f"// have none. {of_b}"
    yield "// What is of columns (a bias, scales) is groups x N. M is at least the last end; a grid of"
    yield "// (M / BLOCK_M + groups) * (N / BLOCK_N, rounded up) is enough for groups of any sizes."


def _elements(found: Sliceable, side: Side, name: str) -> str:
    """A number of elements as elements of the C type, where narrow ones share bytes."""
    cuda = _language(found) == "cuda"
    bits = side.packed or min(8, found.instruction.operand("A").placement.slot_bits if cuda else side.bits)
    return bytes_of(name if bits == 8 or name.isidentifier() else f"({name})", bits)


def _leads(found: Sliceable) -> str:
    """The leading dimensions of A and B as a tile takes them: of AMD in elements, in CUDA in those of the C type."""
    names = (f"ld{side.name.lower()}" for side in (found.a, found.b))
    if _language(found) == "hip":
        return ", ".join(names)
    return ", ".join(_elements(found, side, name) for side, name in zip((found.a, found.b), names))


def _batched(found: Sliceable, side: Side) -> str:
    return f" + {_elements(found, side, f'batch * {side.name.lower()}_batch')}" if found.batches else ""


def k_range(found: Sliceable) -> tuple[str, str]:
    """The first k of a workgroup and the one behind its last, in kernels that take tensor maps."""
    return ("k_begin", "k_end") if found.split > 1 else ("0", "K")


def mapped_notes(found: Sliceable) -> Iterator[str]:
    """What the head of a source says whose kernel takes tensor maps."""
    if found.batches:
        yield "// The maps of A and B have batches as their third dimension, boxes one of them; those of D are d_batch"
        yield "// elements apart, aligned as ldd is. The third dimension of the grid is their number."
        yield from _packed_notes(found)
    yield from notes(found._replace(batches=None, groups=None))
    if found.groups:
        yield from _group_notes("The map of B has groups as its third dimension, boxes one of them.")
        yield from _packed_notes(found)


def _packed_notes(found: Sliceable) -> Iterator[str]:
    """Where the scales of batches and groups lie that mmacalc.pack_scales lays out."""
    what = " and ".join(["Scales"] * found.instruction.scaled + ["metadata"] * found.instruction.sparse).capitalize()
    if _has_scale_row(found) and found.groups:
        yield f"// {what} of A are packed group by group, one behind the other: those of a group begin with a tile of"
        yield f"// {_scale_rows(found)} rows of its own.{' So do those of B.' * found.instruction.scaled}"
    elif _has_scale_row(found) and found.batches:
        yield f"// {what} are packed product by product and lie one behind the other."


def matrix_of(found: Sliceable, side: str) -> str:
    """The number of A or B in its tensor map, as C text; "" where a map has one matrix."""
    if found.batches:
        return "batch"
    return "group" if found.groups and side == "B" else ""


def mapped_parameters(found: Sliceable, inputs: str = "") -> str:
    """The parameters behind the tensor maps.

    Args:
        inputs: those behind D.
    """
    more = parameters(found.instruction, found.epilogue).declared
    if found.split > 1:
        return f"{_output(found)} *workspace, {inputs}int M, int N, int K"
    c = ("c",) if found.epilogue.beta else ()
    ends = "const int *ends, int groups, " * bool(found.groups)
    return f"{_output(found)} *D, {inputs}{ends}int M, int N, int K, int ldd{more}{_declared(found, ('d', *c))}"


def mapped_places(found: Sliceable) -> Iterator[str]:
    """Which k and which D are a workgroup's, in kernels that take tensor maps."""
    if found.split == 1 and not found.batches:
        return
    if found.batches:
        yield from _number(found, "int", "batch", "workgroup_id", "z", "")
        for arrays in scale_arrays(found):
            yield from (f"{name} += {start};" for name, start in zip(arrays.names, _batch_of_scales(arrays)))
    if found.split == 1:
        yield "D += batch * d_batch;"
        yield from ["C += batch * c_batch;"] * found.epilogue.beta
        return
    yield from _part_lines(found)
    yield "const int k_begin = first, k_end = K - first < depth ? K : first + depth, ldd = N;"
    place = f"({'batch * SPLIT + ' * bool(found.batches)}part) * (long long)M * N"
    yield f"{_output(found)} *const D = workspace + {place};"


def _part_lines(found: Sliceable) -> Iterator[str]:
    """The first k of a part, and how many it has."""
    yield from _number(found, "int", "part", "workgroup_id", "y", "")
    yield f"enum {{ SPLIT = {found.split} }};"
    unit = _part_unit(found)
    yield f"const int stages = (K + {unit} - 1) / {unit};"
    yield f"const int depth = (stages + SPLIT - 1) / SPLIT * {unit};  // of a part"
    yield "const int first = part * (long long)depth < K ? part * depth : K;"


def _part_unit(found: Sliceable) -> int | str:
    """What parts of K are multiples of: stages, blocks of scales, those at whose ends rows of MX scales are whole
    words, or registers of metadata."""
    unit = math.lcm(found.block_k, *[arrays.unit for arrays in scale_arrays(found)])
    return "BLOCK_K" if unit == found.block_k and not found.scales else unit


def mapped_launch(
    found: Sliceable, sizes: tuple[int, int, int], blocks: int, threads: int, shared: int
) -> Iterator[str]:
    """The lines that launch kernels that take tensor maps.

    Args:
        blocks: of a part of K and of a batch. shared: the bytes of dynamic shared memory.
    """
    m, n, k = sizes
    more = parameters(found.instruction, found.epilogue).passed
    apart = "".join(f", {m * n}" for _ in ("d", *["c"] * found.epilogue.beta)) if found.batches else ""
    names = "".join(f", {name}_batch" for name in ("d", *["c"] * found.epilogue.beta)) if found.batches else ""
    scales = passed(found)
    given = f"{scales}ends, {found.groups}, " if found.groups else scales
    scales += "ends, groups, " * bool(found.groups)
    inst = found.instruction
    maps = "A_map, B_map, " + "A_scale_map, B_scale_map, " * inst.scaled
    maps += "metadata_map, " * (inst.sparse and inst.in_tensor_memory)
    yield f"// cudaFuncSetAttribute({found.name}, cudaFuncAttributeMaxDynamicSharedMemorySize, {shared});"
    grid = f"dim3({blocks}, {found.split}, {found.batches or 1})"
    yield f"// {found.name}<<<{grid}, {threads}, {shared}, stream>>>("
    if found.split > 1:
        yield f"//     {maps}sums, {scales}{m}, {n}, {k});  // the maps, the workspace, {scales}M, N, K"
        yield from _reduce_launch(found, m, n, more, apart)
        return
    yield f"//     {maps}D, {given}{m}, {n}, {k}, {n}{more}{apart});"
    yield f"//     the maps, D, {scales}M, N, K, ldd{more}{names}"


def _declared(found: Sliceable, names: tuple[str, ...]) -> str:
    """The parameters of batches behind all others."""
    return ",\n    " + ", ".join(f"long long {name}_batch" for name in names) if found.batches else ""


def mapped_group(found: Sliceable) -> Iterator[str]:
    """The group of a workgroup's tile in kernels that take tensor maps: all that is of rows or columns is then its."""
    yield f"const int group = {group_call(found)};"
    yield "if (group == groups) return;  // there are fewer tiles than any sizes of groups can need"
    given = f"D, {passed(found)}" + parameters(found.instruction, found.epilogue).passed
    names = [name.strip() for name in given.split(",")]
    yield from (f"{name} += {start};" for name, start in group_starts(found).items() if name in names)
    yield "M = ends[group] - group_row;"


def sliced_kernel(found: Sliceable, name: str, aligned: str) -> Iterator[str]:
    """The parameters and the body of a kernel behind its attributes."""
    elements = ("a_element", "b_element") if _language(found) == "hip" else (found.a.element, found.b.element)
    # In CUDA loads of __restrict__ matrices pass barriers, and ptxas spills when it has too many in flight.
    alone = "__restrict__ " * (_language(found) == "hip")
    given = ", ".join([f"const {kind} *{alone}{side}" for kind, side in zip(elements, "AB")])
    output = _output(found)
    if found.groups:
        yield from _grouped_kernel(found, name, aligned, f"{given}, {output} *D")
        return
    a, b = (_batched(found, side) for side in (found.a, found.b))
    if found.split == 1:
        c = ("c",) if found.epilogue.beta else ()
        d = f"{output} *D" if found.epilogue.beta else f"{output} *__restrict__ D"  # C may be D
        given += f", {d},\n    {declared(found)}int M, int N, int K, int lda, int ldb, int ldd"
        yield _named(found, name)
        more = parameters(found.instruction, found.epilogue).declared
        yield f"    {given}{more}{_declared(found, ('a', 'b', 'd', *c))}) {{"
        yield from _batch(found)
        more = parameters(found.instruction, found.epilogue).passed.replace(" C,", " C + batch * c_batch,")
        yield f"    tile<{aligned}>(A{a}, B{b}, D + batch * d_batch,"
        yield from _scales(found)
        yield f"        M, N, K, {_leads(found)}, ldd{more}{stride_passed(found)});"
        yield "}"
        return
    yield _named(found, name)
    yield f"    {given}, {output} *__restrict__ sums,"
    yield f"    {declared(found)}int M, int N, int K, int lda, int ldb{_declared(found, ('a', 'b'))}) {{"
    yield from _batch(found)
    yield from indented(_part_lines(found))
    starts = []
    for side in (found.a, found.b):
        each = compression(found.instruction, side.name)
        kept = f" / {each}" * (each > 1)
        start = f"(long long)first{kept}" + ("" if side.along_k else f" * ld{side.name.lower()}")
        starts.append(f"{side.name}{_batched(found, side)} + {_elements(found, side, start)}")
    yield f"    tile<{aligned}>({starts[0]}, {starts[1]},"
    place = f"sums + ({'batch * SPLIT + ' * bool(found.batches)}part) * (long long)M * N"
    yield f"        {place},"
    yield from _scales(found)
    yield f"        M, N, K - first < depth ? K - first : depth, {_leads(found)}, N{stride_passed(found)});"
    yield "}"


def _batch_of_scales(arrays: ScaleArrays) -> tuple[str, str]:
    """The first scales of a batch, of A and of B."""
    depth = blocks(arrays.depth, "K")
    rows, columns = (_cells(f"(long long)batch * ({extent}) * ({depth})", arrays) for extent in (
        blocks(arrays.rows, "M"), blocks(arrays.columns, "N"))
    )  # fmt: skip
    return rows, columns


def _cells(count: str, arrays: ScaleArrays) -> str:
    """As many cells of scales as elements of their array."""
    return count if arrays.cell == 1 else f"{count} * {arrays.cell}"


def _scales(found: Sliceable) -> Iterator[str]:
    """The scales of a batch and of a part of K, as arguments: those of batches lie one behind the other."""
    for arrays in scale_arrays(found):
        part = [_cells(f"first / {arrays.depth}", arrays)] * (found.split > 1)
        for name, start in zip(arrays.names, _batch_of_scales(arrays)):
            yield f"        {' + '.join([name, *[start] * bool(found.batches), *part])},"


def tile_places(found: Sliceable) -> str:
    """The last parameters of a tile that does not find its place by itself."""
    return ", int tile_m, int tile_n" if found.groups else ""


def _grouped_kernel(found: Sliceable, name: str, aligned: str, matrices: str) -> Iterator[str]:
    """A kernel in which a workgroup looks for the group of its tile."""
    more = parameters(found.instruction, found.epilogue)
    yield _named(found, name)
    yield f"    {matrices},"
    yield f"    {declared(found)}const int *ends, int groups,"
    yield f"    int M, int N, int K, int lda, int ldb, int ldd{more.declared}, long long b_group) {{"
    yield from _number(found, "int", "block", "workgroup_id", "x")
    yield f"    int tile_m, tile_n{group_places(found)};"
    yield "    place_block(block, M / BLOCK_M + groups, (N + BLOCK_N - 1) / BLOCK_N, &tile_m, &tile_n);"
    yield f"    const int group = {group_call(found)};"
    yield "    if (group == groups) return;  // there are fewer tiles than any sizes of groups can need"
    starts = group_starts(found)
    a, b = (
        _elements(found, side, at)
        for at, side in (("(long long)group_row * lda", found.a), ("group * b_group", found.b))
    )
    yield f"    tile<{aligned}>(A + {a}, B + {b}, D + {starts['D']},"
    for arrays in scale_arrays(found):
        yield from (f"        {name} + {starts[name]}," for name in arrays.names)
    given = given_in_group(found)
    yield f"        ends[group] - group_row, N, K, {_leads(found)}, ldd{given}{stride_passed(found)},"
    yield "        tile_m, tile_n);"
    yield "}"


def group_function(found: Sliceable) -> Iterator[str]:
    """The function that looks for the group of a tile."""
    if found.groups:
        yield _group_of(_scale_rows(found) if _has_scale_row(found) else 0)


def _group_of(rows: int) -> str:
    """The function, with the row of the group in A's scales or metadata where these lie in tiles of that many rows."""
    changes = {
        "MORE": ", int *scale_row",
        "BEGIN": "\n    *scale_row = 0;  // in tiles: a group begins with one of its own",
        "STEP": f"\n        *scale_row += (ends[group] - *group_row + {rows - 1}) / {rows};",
    }
    found = GROUP_OF
    for name, text in changes.items():
        found = found.replace(name, text * bool(rows))
    return found


def _has_scale_row(found: Sliceable) -> bool:
    """Whether A's scales or metadata lie in tiles of rows, as `mmacalc.pack_scales` and `pack_sparse` have them."""
    return found.instruction.sparse or (found.instruction.scaled and _language(found) == "cuda")


def _scale_rows(found: Sliceable) -> int:
    """The rows of A of such a tile."""
    return found.instruction.m if found.instruction.sparse else SCALE_ROWS


def group_places(found: Sliceable) -> str:
    """The names behind others in a declaration of what `group_call` finds."""
    return (", group_row" + ", scale_row" * _has_scale_row(found)) * bool(found.groups)


def group_call(found: Sliceable) -> str:
    """The call that finds the group of a tile, and its first row."""
    return f"group_of(ends, groups, BLOCK_M, &tile_m, &group_row{', &scale_row' * _has_scale_row(found)})"


def group_starts(found: Sliceable) -> dict[str, str]:
    """Where the part of the group `group` begins, whose first row is `group_row`, in each array of a kernel."""
    row, column = "(long long)group_row", "(long long)group * N"
    starts = {"D": f"{row} * ldd", "C": f"{row} * ldc", "row_scale": "group_row", "column_scale": column}
    starts["bias"] = "group_row" if found.epilogue.bias == "row" else column
    for arrays in scale_arrays(found):
        depth, columns = blocks(arrays.depth, "K"), blocks(arrays.columns, "N")
        first = "(long long)scale_row" if arrays.tiled else row
        counts = f"{first} * ({depth})", f"(long long)group * ({columns}) * ({depth})"
        starts |= dict(zip(arrays.names, (_cells(count, arrays) for count in counts)))
    return starts


def given_in_group(found: Sliceable) -> str:
    """The arguments of an epilogue, of a group its rows and its part of what is of columns."""
    given, starts = parameters(found.instruction, found.epilogue).passed, group_starts(found)
    if not found.groups:
        return given
    names = [name for name in given.split(", ") if name]
    return "".join(f", {name} + {starts[name]}" if name in starts else f", {name}" for name in names)


def _batch(found: Sliceable) -> Iterator[str]:
    if found.batches:
        yield from _number(found, "long long", "batch", "workgroup_id", "z")


def _output(found: Sliceable) -> str:
    """The type of what a tile stores: D's elements, or sums; HIP's sources have a name for it."""
    if _language(found) == "hip":
        return "output"
    inst = found.instruction
    return memory_type(output_format(inst, _tile_epilogue(found)).name, "cuda")


def reduction(found: Sliceable) -> Iterator[str]:
    """The kernel that adds the parts of K; nothing where K is whole."""
    if found.split == 1:
        return
    inst, more = found.instruction, parameters(found.instruction, found.epilogue)
    yield from finishing(inst, found.epilogue)
    language, output = _language(found), _output(found)
    made = memory_type(output_format(inst, found.epilogue).name, language)
    c = ("c",) if found.epilogue.beta else ()
    yield f"// D from the sums of the parts, one element for each {'work-item' if language == 'hip' else 'thread'}."
    bounds = f"amdgpu_flat_work_group_size({REDUCING}, {REDUCING})"
    attributes = f"__attribute__(({bounds}))" if language == "hip" else f"void __launch_bounds__({REDUCING})"
    yield f'extern "C" __global__ {attributes}'
    yield _named(found, found.reduce_name)
    declared = more.declared + _declared(found, ("d", *c))
    yield f"    const {output} *__restrict__ sums, {made} *D, int M, int N, int ldd{declared}) {{"
    yield from _batch(found)
    yield from _number(found, "int", "block", "workgroup_id", "x")
    yield from _number(found, "int", "thread", "workitem_id", "x")
    yield f"    const long long all = (long long)M * N, at = (long long)block * {REDUCING} + thread;"
    yield "    if (at >= all) return;"
    yield "    const int row = at / N, column = at % N;"
    yield f"    {output} sum = 0;"
    yield f"    for (int part = 0; part < {found.split}; ++part)"
    place = f"({f'(long long)batch * {found.split} + ' * bool(found.batches)}part) * all + at"
    yield f"        sum += sums[{place}];"
    place = f"D[{'batch * d_batch + ' * bool(found.batches)}(long long)row * ldd + column]"
    passed = more.passed.replace(" C,", " C + batch * c_batch,") if found.batches else more.passed
    yield f"    {place} ="
    yield f"        {f'finished(sum, row, column, M, N{passed})' if found.epilogue.words else 'sum'};"
    yield "}"
    yield ""


def sliced_launch(
    found: Sliceable, sizes: tuple[int, int, int], name: str, leads: tuple[int, int], shared: int = 0
) -> Iterator[str]:
    """The lines that launch the kernels.

    Args:
        name: of the kernel of products; shared: the bytes of its dynamic shared memory.
    """
    m, n, k = sizes
    lda, ldb = leads
    if found.groups:
        more = parameters(found.instruction, found.epilogue).passed
        yield _launched(found, name, f"dim3({found.blocks(m, n)})", found.threads, shared)
        given = f"A, B, D, {passed(found)}ends"
        yield f"//     {given}, {found.groups}, {m}, {n}, {k}, {lda}, {ldb}, {n}{more}, {n * k});"
        yield f"//     {given}, groups, M, N, K, lda, ldb, ldd{more}, b_group"
        return
    batches, more = found.batches or 1, parameters(found.instruction, found.epilogue).passed
    grid = f"dim3({found.blocks(m, n)}, {found.split}, {batches})"
    kept = k // compression(found.instruction, "A")
    apart = {"a": m * kept, "b": n * k, "d": m * n} if found.batches else {}
    c = {"c": m * n} if found.batches and found.epilogue.beta else {}

    def strides(names: str) -> str:
        return "".join(f", {({**apart, **c})[each]}" for each in names if each in {**apart, **c})

    scales = passed(found)
    yield _launched(found, name, grid, found.threads, shared)
    if found.split == 1:
        yield f"//     A, B, D, {scales}{m}, {n}, {k}, {lda}, {ldb}, {n}{more}{strides('abdc')});"
        return
    given = f"A, B, sums, {scales}"
    yield f"//     {given}{m}, {n}, {k}, {lda}, {ldb}{strides('ab')});  // {given}M, N, K, lda, ldb"
    yield from _reduce_launch(found, m, n, more, strides("dc"))


def _reduce_launch(found: Sliceable, m: int, n: int, more: str, apart: str) -> Iterator[str]:
    grid = f"dim3({-(-m * n // REDUCING)}, 1, {found.batches or 1})"
    yield _launched(found, found.reduce_name, grid, REDUCING)
    yield f"//     sums, D, {m}, {n}, {n}{more}{apart});  // sums, D, M, N, ldd"


def _launched(found: Sliceable, name: str, grid: str, threads: int, shared: int = 0) -> str:
    if _language(found) == "hip":
        return f"// hipLaunchKernelGGL({name}, {grid}, dim3({threads}), 0, stream,"
    return f"// {name}<<<{grid}, {threads}, {shared}, stream>>>("
