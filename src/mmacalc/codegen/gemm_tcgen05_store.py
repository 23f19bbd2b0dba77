"""From Tensor Memory to D: what the warps of a tcgen05 kernel do that store, and the loop over tiles.

A thread has a lane of Tensor Memory: a row of D, or a part of one. With scales along K the sums of each block of k come
by turns, as those of tiles do: the thread adds them to totals in its registers, times both scales, while the next block
is multiplied. The scale of its row is one load; B's is one as well where the tile has one, and else those of all
columns go through shared memory, since every thread needs them.

Sources: PTX ISA 9.1, sections 9.7.16.6 (order), 9.7.16.8 (ld); DeepSeek-V3 as `gemm_scales` cites it.
"""

from __future__ import annotations

from math import gcd

from ..base.errors import Error
from .epilogue import output_format
from .gemm_scales import blocks, stride
from .gemm_slices import given_in_group, group_call, group_places, k_range
from .gemm_staging import ended, output_of
from .source import indented
from .tensor_copies import VECTOR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .gemm_tcgen05_plan import TensorMemoryPlan

__all__ = [
    "STORING", "WORDS", "all_tiles", "block_loop", "checked_totals", "loaded", "scale_columns", "storing", "tile_loop",
]  # fmt: skip

STORING = 4  # warps
WORDS = 32  # of Tensor Memory that a thread loads at once
MOST_TOTALS = 128  # registers of a thread
SUMS = {"f32": "part.each[{}]", "i32": "(int)part.word[{}]"}  # by format; others are 16 bits


def loaded(found: TensorMemoryPlan) -> int:
    """The columns that a thread loads at once: a power of two."""
    return gcd(found.lane_columns, WORDS)


def checked_totals(found: TensorMemoryPlan) -> TensorMemoryPlan:
    """The plan, if a thread has registers for the totals of scales along K.

    Raises:
        Error: it does not; the message says which N it has them for.
    """
    if found.scales and found.lane_columns > MOST_TOTALS:
        inst = found.instruction
        most = inst.n * MOST_TOTALS // found.lane_columns
        raise Error(
            f"with block_scales a thread keeps a total of each of its columns, for which {inst.name} with N = {inst.n} "
            f"has too many: use N = {most} (-m n={most})"
        )
    return found


def scale_columns(found: TensorMemoryPlan) -> int:
    """The columns of B whose scales go through shared memory; 0 where a tile has one scale, or none."""
    return found.instruction.n if found.scales and found.scales.columns % found.instruction.n else 0


def all_tiles(found: TensorMemoryPlan) -> Iterator[str]:
    """How many tiles D has; with groups, those of each."""
    if found.groups:
        yield "int tiles_m = 0, tiles_n = (N + BLOCK_N - 1) / BLOCK_N;"
        yield "for (int group = 0, group_row = 0; group < groups; group_row = ends[group++])"
        yield "    tiles_m += (ends[group] - group_row + BLOCK_M - 1) / BLOCK_M;"
    else:
        yield "const int tiles_m = (M + BLOCK_M - 1) / BLOCK_M, tiles_n = (N + BLOCK_N - 1) / BLOCK_N;"
    yield "const int tiles = tiles_m * tiles_n;"


def tile_loop(found: TensorMemoryPlan, state: str) -> Iterator[str]:
    """The loop over the tiles of a block, with the place of each, and its group.

    Args:
        state: variables of the loop, with their first values.
    """
    yield f"for (int tile = block, {state}; tile < tiles; tile += blocks) {{"
    yield f"    int tile_m, tile_n{group_places(found)};"
    yield "    place_block(tile, tiles_m, tiles_n, &tile_m, &tile_n);"
    if found.groups:
        yield f"    const int group = {group_call(found)};"


def block_loop(found: TensorMemoryPlan, more: str = "") -> Iterator[str]:
    """The head of the loop over the blocks of k that share scales.

    Args:
        more: what is done behind each, as C text.
    """
    assert found.scales is not None
    first, end = k_range(found)
    yield f"for (int block_k = {first}; block_k < {end}; block_k += {found.scales.depth}{more}) {{"


def storing(found: TensorMemoryPlan) -> Iterator[str]:
    """What the warps do that store."""
    bits, output, stored = output_format(found.instruction, found.epilogue).bits, output_of(found), _stored(found)
    row, _ = _place(found)
    yield "if (warp < STORING) {"
    yield "    // A thread has a lane of Tensor Memory: a row of D, or a part of it."
    yield f"    // D: {found.instruction.operand('D').pattern}"
    yield "    const int place = warp * 32 + lane, lanes = warp * 32 << 16;"
    if found.scales:
        yield f"    const int scale_stride = {stride(found)};"
    if columns := scale_columns(found):
        yield f"    __shared__ float column_scales[2][{columns}];  // of a block of k, and of the next"
    yield f"    struct __attribute__((aligned({stored * bits // 8}))) neighbours {{"
    yield f"        {output} element[{stored}];"
    yield "    };"
    yield f"    const unsigned long long row_bytes = (unsigned long long)ldd * {bits // 8};"
    yield "    const bool wide = ((unsigned long long)D | row_bytes) % sizeof(neighbours) == 0;"
    yield from indented(tile_loop(found, "turn = 0"))
    if not found.scales:
        yield from indented(_awaited(), 2)
    yield f"        const int row = tile_m * BLOCK_M + {row};"
    if found.groups:
        yield "        const int rows = ends[group] - group_row;"
    at = "(group_row + row)" if found.groups else "row"
    yield f"        {output} *const to = D + (long long){at} * ldd;"
    lines = [*_totals(found), *_columns(found, "total[{}]")] if found.scales else [*_sums(found)]
    yield from indented(lines, 2)
    yield "    }"
    yield "}"


def _rows(found: TensorMemoryPlan) -> str:
    """The rows of D that there are, as C text."""
    return "rows" if found.groups else "M"


def _stored(found: TensorMemoryPlan) -> int:
    """The neighbours in a row of D that one store writes."""
    return min(loaded(found), VECTOR * 8 // output_format(found.instruction, found.epilogue).bits)


def _sums(found: TensorMemoryPlan) -> Iterator[str]:
    """The sums of a tile, which have been waited for, stored as they come."""
    element = SUMS.get(found.instruction.format("D").name, "(unsigned short)part.word[{}]")
    yield from _columns(found, element, [*_load(found)])
    yield from _released(found)
    yield "++turn;"


def _awaited() -> Iterator[str]:
    yield "const int sum = turn % SUMS;"
    yield "wait(summed_at + 8 * sum, turn / SUMS % 2);"
    yield 'asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");'


def _released(found: TensorMemoryPlan) -> Iterator[str]:
    """The columns of a sum may be written again."""
    yield 'asm volatile("tcgen05.fence::before_thread_sync;\\n"'
    yield '             "bar.warp.sync 0xffffffff;" ::: "memory");'
    stored_at = "stored_at + 8 * sum"
    arrival = f"arrive_in_pair(in_block({stored_at}, 0))" if found.group == 2 else f"arrive({stored_at})"
    yield f"if (lane == 0) {arrival};"


def _load(found: TensorMemoryPlan) -> Iterator[str]:
    """The columns from `first` on."""
    count = loaded(found)
    some = "if (k_begin < k_end) " * (found.split > 1 and not found.scales)  # parts behind K have no sums
    yield f"    union {{ unsigned int word[{count}]; float each[{count}]; }} part{' = {}' * bool(some)};"
    yield f"    {some}load_columns(part.word, sums + sum * SUM_COLUMNS + lanes + first);"


def _totals(found: TensorMemoryPlan) -> Iterator[str]:
    """The totals of a tile, block of k after block of k."""
    assert found.scales is not None
    count, (_, columns, depth) = loaded(found), found.scales
    own = bool(scale_columns(found))  # whether columns of a tile have scales of their own
    place = _place(found)[1].removeprefix(" + ")
    yield f"float total[{found.lane_columns}] = {{}};"
    row, column = _scale_rows(found)
    yield f"const float *const a_from = A_scales + (long long){row} * scale_stride;"
    yield f"const float *const b_from = B_scales + (long long){column} * scale_stride;"
    yield from block_loop(found, ", ++turn")
    b = "" if own else f", b_scale = b_from[block_k / {depth}]"
    yield f"    const float a_scale = a_from[block_k / {depth}]{b};"
    if own:
        yield "    float *const b_scale = column_scales[turn % 2];  // that of the block before may still be read"
        yield "    for (int n = place; n < BLOCK_N; n += STORING * 32) {"
        yield "        const int column = tile_n * BLOCK_N + n;"
        inside = _divided("(column < N ? column : N - 1)", columns)
        yield f"        b_scale[n] = b_from[(long long){inside} * scale_stride + block_k / {depth}];"
        yield "    }"
        yield f'    asm volatile("bar.sync 1, {STORING * 32};" ::: "memory");'
    yield from indented(_awaited())
    yield "#pragma unroll"
    yield f"    for (int first = 0; first < {found.lane_columns}; first += {count}) {{"
    yield from indented(_load(found))
    yield "#pragma unroll"
    yield f"        for (int n = 0; n < {count}; ++n) {{"
    scale = f"b_scale[{place}{' + ' * bool(place)}first + n]" if own else "b_scale"
    part = SUMS[found.instruction.format("D").name].format("n")
    yield "            float &all = total[first + n];"
    yield f"            all = multiply_add((float){part}, a_scale * {scale}, all);"
    yield "        }"
    yield "    }"
    yield from indented(_released(found))
    yield "}"


def _scale_rows(found: TensorMemoryPlan) -> tuple[str, str]:
    """The rows of the matrices of scales that a thread begins with, as C text: its own of A's (of rows beyond D that of
    the last), of B's that of the tile, or the first where columns have their own."""
    assert found.scales is not None
    rows, columns, _ = found.scales
    extent = _rows(found)
    row = _divided(f"(row < {extent} ? row : {extent} - 1)", rows)
    column = "0" if scale_columns(found) else _divided("(tile_n * BLOCK_N)", columns)
    if found.groups:
        row = f"(group_row + {row})"
        before = f"group * ({blocks(columns, 'N')})"
        column = f"({before})" if column == "0" else f"({before} + {column})"
    return row, column


def _divided(index: str, each: int) -> str:
    return f"({index} / {each})" if each > 1 else index


def _columns(found: TensorMemoryPlan, element: str, before: list[str] | None = None) -> Iterator[str]:
    """The columns of a thread: finished and stored.

    Args:
        element: the sum in a column, as C text with its number left out. before: the lines that load the columns.
    """
    count, stored = loaded(found), _stored(found)
    column = _place(found)[1]
    place = "n + e" if before else "first + n + e"
    if not before:
        yield "#pragma unroll"
    yield f"for (int first = 0; first < {found.lane_columns}; first += {count}) {{"
    yield from before or ()
    yield f"    if (row >= {_rows(found)}) continue;"
    yield "#pragma unroll"
    yield f"    for (int n = 0; n < {count}; n += {stored}) {{"
    yield f"        const int column = tile_n * BLOCK_N{column} + first + n;"
    yield "        neighbours made;"
    yield "#pragma unroll"
    made = ended(found, element.format(place), "column + e", (_rows(found), given_in_group(found)))
    yield f"        for (int e = 0; e < {stored}; ++e) made.element[e] = {made};"
    yield f"        if (wide && column + {stored} <= N) {{"
    yield "            *(neighbours *)(to + column) = made;"
    yield "        } else {"
    yield "#pragma unroll"
    yield f"            for (int e = 0; e < {stored}; ++e)"
    yield "                if (column + e < N) to[column + e] = made.element[e];"
    yield "        }"
    yield "    }"
    yield "}"


def _place(found: TensorMemoryPlan) -> tuple[str, str]:
    """C text of D's layout: the row in the tile of a lane `place`, and the first column that it has."""
    layout = found.instruction.operand("D").layout
    rows, columns = (layout.strides(group) for group in layout.coordinates[-2:])
    texts: dict[str, list[str]] = {"row": [], "column": []}
    for place, variable in (("cta", "rank"), ("lane", "place")):
        names = layout.places.get(place, ())
        sizes = layout.strides(names)
        for name in names:
            size = layout.sizes[name]
            if size == 1:
                continue
            divided = f"{variable} / {sizes[name]}" if sizes[name] > 1 else variable
            digit = f"{divided} % {size}" if name != names[0] else divided
            if name == "half":  # its threads have the other half of the columns
                texts["column"].append(f"{digit} * {found.lane_columns}")
            for axis, weights in (("row", rows), ("column", columns)):
                if name in weights:
                    texts[axis].append(f"{digit} * {weights[name]}" if weights[name] > 1 else f"{digit}")
    row, column = (" + ".join(parts) for parts in texts.values())
    return row, f" + {column}" if column else ""
