"""How lanes of a tiled GEMM of AMD read their parts of A and B from LDS, and hand them to the instruction."""

from __future__ import annotations

from .fragments import total
from .gemm_hip_scales import halves, index_of
from .gemm_lds import pieces
from .hip import ARGUMENTS, FIELDS, WAITS, reached, signs
from .staging import WORDS, bytes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..compiler.dialects import Intrinsic
    from .gemm import Plan
    from .gemm_lds import Piece
    from .staging import Side

__all__ = ["JOINED", "LOADED", "argument", "call", "gathering", "parts", "reading", "row_products"]

LOADED = {"i16": "short", "i32": "int"}  # the C type of what a load returns that transposes, by the end of its builtin
HALF = 8  # bytes
JOINED = "u32x4_of_8"  # the type of two such accesses


def argument(found: Plan, side: str) -> str:
    """The builtin's argument that takes A or B."""
    return found.operand(side).name.lower()


def parts(found: Plan, side: Side, steps: int = 1) -> str:
    """The declaration of a lane's parts of A (B)."""
    letter, tiles = side.name.lower(), "TILES_M" if side.name == "A" else "TILES_N"
    words = sum(piece.width for piece in pieces(found.operand(side.name), side, found.kpack)) // 4
    count = f"[{steps}]" if steps > 1 else ""
    members = f"unsigned int word[{words}];"
    if not _gathered(found, side):
        members = f"{letter}_value part[{found.kpack}]; {members}"
    return f"union {{ {members} }} {letter}{count}[{tiles}]"


def _gathered(found: Plan, side: Side) -> bool:
    """Whether the parts of several instructions lie closer in registers than the builtin's vectors: elements narrower
    than 8 bits fill the first words of them."""
    return found.kpack > 1 and side.bits < 8 and bool(found.instruction.choices)


def _part(found: Plan, side: Side, held: str, tile: str) -> str:
    """What a product takes of a lane's part of A (B), as C text."""
    letter, part = side.name.lower(), "part" if found.kpack > 1 else "0"
    if not _gathered(found, side):
        return f"{letter}{held}[{tile}].part[{part}]"
    return f"{letter}_of({letter}{held}[{tile}].word + {found.operand(side.name).registers} * {part})"


def gathering(found: Plan, side: Side) -> Iterator[str]:
    """The function that makes the builtin's vector of some words, where there is one."""
    if not _gathered(found, side):
        return
    letter, count = side.name.lower(), found.operand(side.name).registers
    yield f"// {side.name} of one product: {count} words, behind which the instruction reads none."
    yield f"static __device__ {letter}_value {letter}_of(const unsigned int *word) {{"
    yield f"    {letter}_value found = {{}};"
    yield f"    for (int n = 0; n < {count}; ++n) found[n] = word[n];"
    yield "    return found;"
    yield "}"
    yield ""


def call(
    found: Plan,
    builtin: Intrinsic,
    held: str = "",
    places: tuple[str, str] = ("i", "j"),
    rows: tuple[int, int] = (0, 0),
) -> str:
    """The arguments of a product.

    Args:
        places: the numbers of the tiles of A and B; rows: which half of a wave has their scales.
    """
    i, j = places
    values = {argument(found, side.name): _part(found, side, held, at) for side, at in ((found.a, i), (found.b, j))}
    given = {**ARGUMENTS, **signs(found.instruction, found.fields), **values, "c": f"sum[{i}][{j}]"}
    given |= {"a_scale": "0", "b_scale": "0", "index": index_of(found, i)}
    if found.instruction.scaled:
        for side, index, row in zip("AB", "ij", rows):
            place = f"{index} / 2" if halves(found, side) > 1 else index
            step = f"step * {found.kpack} + part" if found.kpack > 1 else "step"
            given[f"{argument(found, side)}_scale"] = f"{side.lower()}_scale[{step}][{place}]"
            given[f"{argument(found, side)}_scale_row"] = str(row)
    texts = []
    for name in builtin.arg_names:
        field = FIELDS.get(name, name)
        texts.append(given.get(name) or str(found.fields.get(field, 0)))
    return ", ".join(texts)


AT_ONCE = 4  # products of an assembly statement


def row_products(found: Plan, builtin: Intrinsic, i: str = "i") -> Iterator[str]:
    """The products of a row of tiles, those of gfx1250 whose builtin truncates the index in assembly."""
    if not reached(found.instruction, found.wave).truncated:
        yield "for (int j = 0; j < TILES_N; ++j)"
        yield f"    sum[{i}][j] = {builtin.builtin}("
        yield f"        {call(found, builtin, places=(i, 'j'))});"
        return
    inst = found.instruction
    either = signs(inst, found.fields)
    signed = f" neg_lo:[{','.join(either.values())},0]" if either else ""
    yield "// clang 22.1.8 declares this builtin's index as 32 bits of the 64 that the instruction reads; around"
    yield "// assembly it adds no wait states."
    for first in range(0, found.tiles_n, AT_ONCE):
        every = range(first, min(first + AT_ONCE, found.tiles_n))
        count = len(every)
        lines = [f"{inst.name} %{n}, %{count}, %{count + 2 + n}, %{count + 1}{signed}" for n in range(count)]
        yield 'asm("' + '\\n"\n    "'.join([*lines, "\\n".join(["v_nop"] * WAITS)]) + '"'
        yield "    : " + ", ".join(f'"+v"(sum[{i}][{j}])' for j in every)
        parts_of_b = "".join(f', "v"({_part(found, found.b, "", str(j))})' for j in every)
        yield f'    : "v"({_part(found, found.a, "", i)}), "v"({index_of(found, i)}){parts_of_b});'


def reading(found: Plan, side: Side, place: str, held: str = "") -> list[str]:
    """A lane's part of A (B) for one step, of all its tiles."""
    tiles = "TILES_M" if side.name == "A" else "TILES_N"
    return [f"for (int tile = 0; tile < {tiles}; ++tile) {{", *_tile_reading(found, side, place, held), "}"]


def _tile_reading(found: Plan, side: Side, place: str, held: str) -> Iterator[str]:
    letter = side.name.lower()
    reads = _joined(side, pieces(found.operand(side.name), side, found.kpack))
    wave = "wave_m" if side.name == "A" else "wave_n"
    for piece, kind in reads:
        at = _address(found, side, piece, wave, side.depth // found.steps)
        target = f"&{letter}{held}[tile].word[{piece.word}]"
        if piece.load:
            vector, count = LOADED[piece.load[-3:]], piece.load[-4]
            yield "    {  // these lanes' elements, transposed"
            yield f"        typedef {vector} loaded __attribute__((ext_vector_type({count})));"
            yield "        typedef __attribute__((address_space(3))) loaded place;"
            yield f"        *(loaded *){target} ="
            yield f"            __builtin_amdgcn_{piece.load}((place *)({letter}_tile{place} + {at}));"
            yield "    }"
        else:
            yield f"    *({kind} *){target} = *(const {kind} *)({letter}_tile{place} + {at});"


def _joined(side: Side, reads: Sequence[Piece]) -> Iterator[tuple[Piece, str]]:
    """The accesses and their C types: two of 8 bytes are one where they are neighbours and fill four registers of which
    such a load can fill the first.

    clang 22 joins them by itself, but also those that fill no neighbouring registers, which it copies.
    """
    moved = side.swizzle.bits or side.spread.bits or side.gaps[1]
    second: Piece | None = None
    for piece, after in zip(reads, [*reads[1:], None]):
        if piece is second:
            continue
        joins = not (moved or piece.load) and piece.width == HALF and piece.word % 4 == 0
        if (
            after
            and joins
            and after.width == HALF
            and after.table == tuple((row, byte + HALF) for row, byte in piece.table)
        ):
            second = after
            yield piece, JOINED
        else:
            yield piece, WORDS[piece.width]


def _address(found: Plan, side: Side, piece: Piece, wave: str, k: int) -> str:
    """The place in LDS of what a lane reads, as C text."""
    letter, name, extent = side.name.lower(), side.name, found.tile(side.name)
    if side.gaps[1]:
        return _address_between_gaps(side, piece, wave, k, extent)
    if side.rows_of_k:
        row, step = total([(1, wave), (extent, "tile"), (1, piece.row)]), k * side.bits // 8
        byte = total([(step, "step"), (1, piece.byte)] if piece.byte != "0" else [(step, "step")])
    else:
        row = total([(k, "step"), (1, piece.row)])
        byte = f"{bytes_of(f'({wave} + {extent} * tile)', side.bits)} + {piece.byte}"
    return f"{letter}_place(({row}) * {name}_ROW + {byte})"


def _address_between_gaps(side: Side, piece: Piece, wave: str, k: int, extent: int) -> str:
    """The place in LDS of what a lane reads: its own, which is computed once, and what tile and step add to it.

    So the latter is a constant of the access, which `plan` has made sure of.
    """
    letter, name = side.name.lower(), side.name
    (every, pad), row = side.gaps, side.tile.row_bytes
    if side.rows_of_k:
        first = f"({total([(1, wave), (1, piece.row)])}) * {name}_ROW + {piece.byte}"
        more = [(extent * row, "tile"), (k * side.bits // 8, "step")]
    else:
        first = f"({piece.row}) * {name}_ROW + {bytes_of(wave, side.bits)} + {piece.byte}"
        more = [(k * row, "step"), (extent * side.bits // 8, "tile")]
    added = total([(size + size // every * pad, index) for size, index in more])  # by tile and step
    return f"{letter}_place({first}) + {added}"
