"""From shared memory to registers in GEMMs around mma.sync, and the product: ldmatrix, byte permutations, single loads.

Where memory has rows instead of k contiguous, ldmatrix.trans turns elements of 16 bits over, and with byte permutations
those of 8 bits (`ldmatrix.Pairs`); larger ones are loaded one by one.
"""

from __future__ import annotations

from .fragments import fragment, total
from .gemm_staging import registers_of
from .ldmatrix import blocks, load_name, matrices, pairs
from .ptx import braced, operand_texts, operands
from .source import indented

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model import Instruction
    from .fragments import Fragment
    from .gemm_staging import CudaPlan
    from .ldmatrix import Blocks, Matrices, Pairs
    from .staging import Side

__all__ = [
    "PERMUTED", "apart", "by_matrix", "filled", "matrix_loads", "product_functions", "side_load", "side_matrices",
    "side_pairs", "stage_places", "tile_order",
]  # fmt: skip


def tile_order(side: Side) -> str:
    """The order in memory that the tile has."""
    return "row" if side.rows_of_k == (side.name == "A") else "col"


PERMUTED = """\
// Four bytes of two words, those that the digits of `which` name.
static __device__ unsigned int permuted(unsigned int first, unsigned int second, unsigned int which) {
    unsigned int found;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(found) : "r"(first), "r"(second), "r"(which));
    return found;
}
"""


def side_load(inst: Instruction, side: Side) -> tuple[int, bool]:
    """The bits of an element that ldmatrix loads of a side, and whether it turns them over."""
    given = side_matrices(inst, side)
    if side_blocks(inst, side):
        return side.packed or 8, True
    return side.packed or 16, given is None or given.transposed


def loading(bits: int, trans: bool) -> str:
    """The name of the function around an ldmatrix."""
    return f"load_matrices{'_turned' * trans}{f'_of_{bits}' * (bits < 16)}"


def matrix_loads(trans: bool, bits: int = 16) -> Iterator[str]:
    """The function `load_matrices`, or `load_matrices_turned`; of elements of other widths `load_matrices_of_6` and so
    on."""
    name = load_name(bits, trans)
    if bits < 16:
        shape = "Two 16x16 matrices, turned over" if trans else "Four matrices of 8 rows of 16"
        yield f"// {shape}{f'; each element of {bits} bits becomes a byte' * (bits < 8)}; each lane names a row."
    else:
        yield f"// Four 8x8 matrices{' of 16-bit elements, turned over' * trans}; each lane names a row."
    parameters = "unsigned int *word, unsigned int row"
    yield f"static __device__ void {loading(bits, trans)}({parameters}) {{"
    yield f'    asm volatile("{name} {braced(0, 4)}, [%4];"'
    outputs = [f'"=r"(word[{number}])' for number in range(4)]
    yield from indented(operands(outputs, ['"r"(row)'], ' : "memory"'))
    if bits == 4:
        yield "    for (int n = 0; n < 4; ++n) word[n] <<= 2;  // products take bits 5 to 2 of a byte"
    yield "}"
    yield ""


def product_functions(inst: Instruction) -> Iterator[str]:
    """The function `multiply` around PTX."""
    d, a, b = (registers_of(inst, name) for name in "DAB")
    yield "// d += a b"
    yield from _templates(inst)
    more = ", unsigned int metadata" * inst.sparse + ", unsigned int a_scale, unsigned int b_scale" * inst.scaled
    yield f"static __device__ void multiply({d[0]} *d, const {a[0]} *a, const {b[0]} *b{more}) {{"
    texts, first = {}, 0
    for name, (_, _, count) in (("D", d), ("A", a), ("B", b)):
        texts[name] = braced(first, count)
        first += count
    texts["C"] = texts["D"]
    further = _further(inst, texts, first)
    yield f'    asm volatile("{inst.name} "'
    yield from indented(operand_texts(texts, ";"))
    outputs = [f'"+{d[1]}"(d[{number}])' for number in range(d[2])]
    inputs = [
        f'"{kind}"({letter}[{number}])' for letter, (_, kind, many) in (("a", a), ("b", b)) for number in range(many)
    ]
    yield from indented(operands(outputs, [*inputs, *further]))
    yield "}"
    yield ""


def _templates(inst: Instruction) -> Iterator[str]:
    """What is a constant of each product: which lanes' metadata, or which bytes and lanes of scales."""
    if inst.sparse:
        yield "template <int selector>"
    if inst.scaled:
        yield "template <int byte, int a_thread, int b_thread>"


def _further(inst: Instruction, texts: dict[str, str], number: int) -> list[str]:
    """The inputs behind A and B, whose texts are added."""
    if inst.sparse:
        texts["metadata, selector"] = f"%{number}, %{number + 1}"
        return ['"r"(metadata)', '"n"(selector)']
    if inst.scaled:
        a, b = (f"%{number + at}, {{%{number + at + 1}, %{number + at + 2}}}" for at in (0, 3))
        texts["scales of A, {byte, thread}"], texts["scales of B, {byte, thread}"] = a, b
        return ['"r"(a_scale)', '"n"(byte)', '"n"(a_thread)', '"r"(b_scale)', '"n"(byte)', '"n"(b_thread)']
    return []


def side_matrices(inst: Instruction, side: Side) -> Matrices | None:
    """The matrices that fill a side's registers; None where it is loaded element by element."""
    if side.bytes * 8 != max(8, inst.operand(side.name).placement.slot_bits):  # weights
        return None
    return matrices(fragment(inst.operand(side.name)), tile_order(side))


def side_blocks(inst: Instruction, side: Side) -> Blocks | None:
    """How elements of a byte fill a side's registers whose rows are k; None where they do not."""
    return None if side.rows_of_k else blocks(fragment(inst.operand(side.name)))


def side_pairs(inst: Instruction, side: Side) -> Pairs | None:
    """How pairs of elements fill a side's registers; None where they do not."""
    return None if side.rows_of_k or side_blocks(inst, side) else pairs(fragment(inst.operand(side.name)))


def by_matrix(inst: Instruction, side: Side) -> bool:
    """Whether ldmatrix loads a side."""
    return bool(side_matrices(inst, side) or side_blocks(inst, side) or side_pairs(inst, side))


def stage_places(found: CudaPlan, side: Side, part: Fragment) -> Iterator[str]:
    """The places of a lane's first matrix in a stage, for all steps; where rows are k, for all tiles."""
    inst, letter = found.instruction, side.name.lower()
    given, paired, square = side_matrices(inst, side), side_pairs(inst, side), side_blocks(inst, side)
    warp, extent, tiles = ("warp_m", inst.m, "TILES_M") if side.name == "A" else ("warp_n", inst.n, "TILES_N")
    if square:
        yield f"int {letter}_at[{tiles}];"
        yield f"for (int tile = 0; tile < {tiles}; tile += {square.tiles})"
        yield f"    {letter}_at[tile] = {letter}_place(lane, {warp} + {extent} * tile);"
        return
    if paired:
        yield f"const int {letter}_row = {paired.row};"
        yield f"int {letter}_at[{tiles}];"
        yield f"for (int tile = 0; tile < {tiles}; tile += {paired.each})"
        yield f"    {letter}_at[tile] = {letter}_place({letter}_row, {warp} + {extent} * tile{paired.column});"
        return
    if given is None:
        if not side.rows_of_k:
            yield from _element_offsets(side, part, warp, extent)
        return
    count = registers_of(inst, side.name)[2]
    each = 4 // count  # tiles that one ldmatrix fills
    more = f" + {extent} * (lane / {8 * count})" if each > 1 else ""
    if side.rows_of_k:
        yield f"int {letter}_at[{found.steps}];"
        yield f"for (int step = 0; step < {found.steps}; ++step)"
        byte = total([(side.tile.row_bytes // found.steps, "step"), (1, given.byte())])
        yield f"    {letter}_at[step] = {letter}_place({warp}{more} + {given.row()}, {byte});"
        return
    yield f"int {letter}_at[{tiles}];"
    yield f"for (int tile = 0; tile < {tiles}; tile += {each})"
    byte = f"({warp} + {extent} * tile{more}) * {side.bytes}" + (f" + {given.byte()}" if given.byte() != "0" else "")
    yield f"    {letter}_at[tile] = {letter}_place({given.row()}, {byte});"


def _period(side: Side, extent: int) -> tuple[int, int]:
    """How many tiles of a side whose rows are k the swizzle puts at places of their own, and their bytes in a row: the
    tiles behind them lie as many bytes on."""
    span = 1 << (side.swizzle.bits + side.swizzle.base) if side.swizzle.bits else 1
    return max(1, span // (extent * side.bytes)), max(span, extent * side.bytes)


def _element_offsets(side: Side, part: Fragment, warp: str, extent: int) -> Iterator[str]:
    """The places of a lane's elements in the first row of k, where rows are k: one for each of its rows of A."""
    letter = side.name.lower()
    k, first = _element_place(side, part)
    places, (tiles, _) = _across(side, part), _period(side, extent)
    yield f"int {letter}_at[{tiles}][{len(places)}];  // of tiles that the swizzle tells apart"
    yield f"for (int tile = 0; tile < {tiles}; ++tile) {{"
    for number, place in enumerate(places):
        byte = total([(extent * side.bytes, "tile"), (side.bytes, f"({warp} + {first})")], place * side.bytes)
        yield f"    {letter}_at[tile][{number}] = {letter}_place({k}, {byte});"
    yield "}"


def _across(side: Side, part: Fragment) -> list[int]:
    """The rows of A (columns of B) of a lane's elements, from its first."""
    return sorted({item.row if side.name == "A" else item.column for item in part.items})


def filled(found: CudaPlan, side: Side, part: Fragment, tiles: str) -> Iterator[str]:
    """The registers of one operand for one step: by ldmatrix, four registers at once, or element by element."""
    inst, letter = found.instruction, side.name.lower()
    kind, _, count = registers_of(inst, side.name)
    yield f"{kind} {letter}_part[{tiles}][{count}];"
    warp, extent = ("warp_m", inst.m) if side.name == "A" else ("warp_n", inst.n)
    given, paired = side_matrices(inst, side), side_pairs(inst, side)
    yield "#pragma unroll"
    row_bytes = side.tile.row_bytes
    if square := side_blocks(inst, side):
        yield from _fill_by_blocks(found, side, square, tiles)
        return
    if paired:
        yield from _fill_by_pairs(found, side, paired, tiles)
        return
    if given is None and not side.rows_of_k:
        yield from _fill_from_rows_of_k(found, side, part, tiles)
        return
    if given is None:
        row, byte = _element_place(side, part)
        yield f"for (int tile = 0; tile < {tiles}; ++tile) {{"
        for item in part.items:
            more, along = (item.row, item.column) if side.name == "A" else (item.column, item.row)
            line = total([(1, warp), (extent, "tile"), (1, row)], more)
            column = total([(row_bytes // found.steps, "step"), (1, byte)], along * side.bytes)
            yield f"    {letter}_part[tile][{item.slot}] ="
            yield f"        *(const {side.element} *)({side.tile.place(line, column)});"
        yield "}"
        return
    if side.rows_of_k:
        at = f"{letter}_at[step] + tile * {extent * row_bytes}"
    else:
        at = f"{letter}_at[tile] + step * {side.depth // found.steps * row_bytes}"
    yield f"for (int tile = 0; tile < {tiles}; tile += {4 // count})"
    yield f"    {loading(*side_load(inst, side))}({letter}_part[tile], {letter}_tile + {at});"


def _fill_from_rows_of_k(found: CudaPlan, side: Side, part: Fragment, tiles: str) -> Iterator[str]:
    """The registers of a side element by element, where rows are k."""
    letter, row_bytes, kind = side.name.lower(), side.tile.row_bytes, registers_of(found.instruction, side.name)[0]
    deep, places = side.depth // found.steps, _across(side, part)
    several, width = _period(side, found.instruction.m if side.name == "A" else found.instruction.n)
    assert _swizzle_ignores(side, deep)
    yield f"for (int tile = 0; tile < {tiles}; ++tile) {{"
    for item in part.items:
        across, k = (item.row, item.column) if side.name == "A" else (item.column, item.row)
        assert _swizzle_ignores(side, k)
        place = f"{letter}_at[tile % {several}][{places.index(across)}]"
        at = total([(1, place), (width, f"(tile / {several})"), (deep * row_bytes, "step")], k * row_bytes)
        yield f"    {letter}_part[tile][{item.slot}] = *(const {kind} *)({letter}_tile + {at});"
    yield "}"


def _swizzle_ignores(side: Side, rows: int) -> bool:
    """Whether the swizzle puts bytes that many rows on, from a lane's first, at the same place of their rows."""
    bits, base, shift = side.tile.swizzle
    return not bits or rows * side.tile.row_bytes % (1 << (bits + base + shift)) == 0


def apart(inst: Instruction, side: Side) -> bool:
    """Whether ldmatrix.m16n16 puts the registers of a tile apart, from where ptxas 13.0 copies them for every product.
    So one permutation does for all, of which ptxas does not know that it changes nothing; a shift does as well."""
    square = side_blocks(inst, side)
    return square is not None and square.tiles > 1 and side.packed != 4


def _fill_by_blocks(found: CudaPlan, side: Side, square: Blocks, tiles: str) -> Iterator[str]:
    """The registers of a side by ldmatrix.m16n16.trans."""
    letter, row_bytes = side.name.lower(), side.tile.row_bytes
    load = loading(*side_load(found.instruction, side))
    yield f"for (int tile = 0; tile < {tiles}; tile += {square.tiles}) {{"
    yield "    unsigned int word[4];"
    for number, registers in enumerate(square.registers):
        terms = [(1, f"{letter}_at[tile]"), (side.depth // found.steps * row_bytes, "step")]
        yield f"    {load}(word, {letter}_tile + {total(terms, number * 32 * row_bytes)});"
        for at, (tile, register) in enumerate(registers):
            word = f"permuted(word[{at}], word[{at}], same)" if apart(found.instruction, side) else f"word[{at}]"
            yield f"    {letter}_part[tile{f' + {tile}' if tile else ''}][{register}] = {word};"
    yield "}"


def _fill_by_pairs(found: CudaPlan, side: Side, paired: Pairs, tiles: str) -> Iterator[str]:
    """The registers of a side by ldmatrix.trans and byte permutations."""
    letter, row_bytes = side.name.lower(), side.tile.row_bytes
    yield f"for (int tile = 0; tile < {tiles}; tile += {paired.each}) {{"
    yield "    unsigned int pairs[4];"
    for load, moves in enumerate(paired.moves()):
        terms = [(1, f"{letter}_at[tile]"), (side.depth // found.steps * row_bytes, "step")]
        yield f"    load_matrices_turned(pairs, {letter}_tile + {total(terms, load * 32 * row_bytes)});"
        for number, (tile, register, word) in enumerate(moves):
            place = f"[tile{f' + {tile}' if tile else ''}][{register}]"
            which = "odd" if number % 2 else "even"
            yield f"    {letter}_part{place} = permuted(pairs[{word}], pairs[{word + 1}], {which});"
    yield "}"


def _element_place(side: Side, part: Fragment) -> tuple[str, str]:
    """The row of a lane's first element in the tile, and the byte in that row; where rows are k, the element in it."""
    letter = side.name.lower()
    across, along = ("row", "column") if side.name == "A" else ("column", "row")
    if not side.rows_of_k:
        return part.first(along, letter), part.first(across, letter)
    byte = total([(getattr(digit, along) * side.bytes, f"{letter}_{digit.name}") for digit in part.digits])
    return part.first(across, letter), byte
