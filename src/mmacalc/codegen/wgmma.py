"""A CUDA kernel around one wgmma: B (and A, with `lds`) in shared memory as a matrix descriptor has it.

The four warps of a warpgroup fill the tiles under the swizzle that fits the extent of a row, make the writes visible
to the asynchronous proxy, and multiply. A tile is K-major: k runs along its rows. 16-bit elements may be MN-major, so
they stay as memory has them; of other elements, a matrix that lies the other way round is turned over on the way.

Source: PTX ISA 9.1, section 9.7.15.5; see `mmacalc.families.shared_memory` for where each element lies.
"""

from __future__ import annotations

from ..base.records import TupleRecord
from ..families.shared_memory import SWIZZLES, panel_offsets
from ..memory_access.swizzles import MODES
from .fragments import fragment
from .ptx import DESCRIPTOR, HEADER, SHARED_ADDRESS, SYNCHRONIZE, braced, launch, operand_texts, operands
from .source import (
    arguments_of,
    comment,
    element_type,
    indented,
    kernel_name,
    leading_dimension,
    loads,
    matrix_lines,
    not_neighbours,
    registers,
    signature,
    slots,
    stores,
)  # fmt: skip
from .staging import Staged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..families.shared_memory import Swizzle
    from .fragments import Fragment
    from .source import Request

__all__ = ["WARPGROUP", "SharedTile", "kernel", "multiply", "shared_tile", "widest"]

WARPGROUP = 128
ROWS = 8  # of a tile of the canonical layouts


class SharedTile(TupleRecord):
    """An operand in shared memory: its tile, the name of the swizzle, the descriptor's two byte offsets, and whether
    it is MN-major."""

    tile: Staged
    swizzle: str
    leading: int
    stride: int
    mn_major: bool

    def descriptor(self) -> str:
        """The descriptor as C text."""
        code = SWIZZLES[self.swizzle].code
        return f"descriptor({self.tile.name.lower()}_tile, {self.leading}, {self.stride}, {code})"


def shared_tile(request: Request, name: str, columns: int, k: int) -> SharedTile:
    """Where A or B lies in shared memory.

    Args:
        columns: how many rows of A (columns of B) the tile has; k: its extent along k, in stored elements.

    Raises:
        Error: elements below a byte lie across memory.
    """
    bits = request.instruction.format(name).bits
    along_k = request.order(name) == ("row" if name == "A" else "col")
    if bits < 8 and not along_k:
        raise not_neighbours(request, name, bits)
    if along_k or bits != 16:
        row_bytes = k * bits // 8
        mode = next(mode for mode in SWIZZLES.values() if mode.row_bytes == row_bytes)
        tile = Staged(name, element_type(request, name), bits, columns, row_bytes, not along_k, 0, MODES[mode.name])
        return SharedTile(tile, mode.name, 16, ROWS * row_bytes, False)
    row_bytes = columns * bits // 8
    mode = widest(row_bytes)
    tile = Staged(name, element_type(request, name), bits, k, row_bytes, False, 0, MODES[mode.name], mode.row_bytes)
    return SharedTile(tile, mode.name, *panel_offsets(mode.row_bytes, k), True)


def widest(row_bytes: int) -> Swizzle:
    """The widest canonical layout whose panels divide a row."""
    return max([mode for mode in SWIZZLES.values() if row_bytes % mode.row_bytes == 0], key=lambda mode: mode.row_bytes)


def stored_k(request: Request, name: str) -> int:
    """The extent of an operand along k in stored elements: half of K for a 2:4 sparse A."""
    inst = request.instruction
    return inst.k // 2 if name == "A" and inst.sparse else inst.k


def kernel(request: Request) -> str:
    """The source of a kernel in which one warpgroup multiplies one A and B."""
    inst = request.instruction
    parts = {name: fragment(inst.operand(name, request.wave, **request.fields)) for name in "ACD"}
    extents = {"A": inst.m, "B": inst.n}
    tiles = {
        name: shared_tile(request, name, extents[name], stored_k(request, name)) for name in "AB"[not request.lds :]
    }
    request = request._replace(tiles={name: found.tile for name, found in tiles.items()})
    body = [
        "int lane;  // of the warpgroup: 0 to 127",
        'asm("mov.u32 %0, %%tid.x;" : "=r"(lane));',
        *_filling(request, tiles),
        *_inputs(request, parts),
        "auto d = c;  // wgmma accumulates",
        *multiply(request, parts["A"], parts["D"], tiles),
        "",
        *stores(request, parts["D"]),
    ]
    lines = "\n".join(indented(body))
    name = kernel_name(inst)
    arguments = arguments_of(request, ["const unsigned int *metadata"] if inst.sparse else [])
    head = signature(f"void __launch_bounds__({WARPGROUP})", name, arguments)
    functions = "".join(f"{line}\n" for found in tiles.values() for line in found.tile.function())
    hosts = launch(name, "1", WARPGROUP, ", ".join(arguments), "one warpgroup computes one tile")
    return f"{comment(request)}{HEADER}{SHARED_ADDRESS}{DESCRIPTOR}{functions}{head} {{\n{lines}\n}}\n{hosts}"


def _filling(request: Request, tiles: dict[str, SharedTile]) -> Iterator[str]:
    inst = request.instruction
    for name, found in tiles.items():
        yield found.tile.declaration(alignment=1024)
        k = stored_k(request, name)
        yield from leading_dimension(request, name, *((inst.m, k) if name == "A" else (k, inst.n)))
        yield f"// {name} is {'MN' if found.mn_major else 'K'}-major, swizzle {found.swizzle}."
        yield from found.tile.filling("lane", WARPGROUP)
    yield "// The asynchronous proxy, through which wgmma reads, sees what this thread wrote."
    yield 'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");'
    yield SYNCHRONIZE
    yield ""


def _inputs(request: Request, parts: dict[str, Fragment]) -> Iterator[str]:
    for name in "AC":
        if name not in request.tiles:
            found = parts[name]
            yield from matrix_lines(request, name, found)
            kinds = (
                f"{element_type(request, name)} element[{slots(found)}]; unsigned int word[{found.operand.registers}];"
            )
            yield f"union {{ {kinds} u32x4 whole; }} {name.lower()} = {{}};"
            yield from loads(request, name, found)
            yield ""


def multiply(request: Request, a: Fragment, d: Fragment, tiles: dict[str, SharedTile]) -> Iterator[str]:
    """The instruction between its fence and its wait: D is added to, A is in registers unless it has a tile."""
    inst = request.instruction
    outputs = [place.replace('"', '"+', 1) for place in registers("d", d)]
    given = [f'"l"({tiles["A"].descriptor()})'] if "A" in tiles else registers("a", a)
    number = len(outputs) + len(given)
    a_word = "'s descriptor" if "A" in tiles else ""
    texts = {
        "D": braced(0, len(outputs)),
        f"A{a_word}": f"%{len(outputs)}" if "A" in tiles else braced(len(outputs), len(given)),
        "B's descriptor": f"%{number}",
    }
    inputs = [*given, f'"l"({tiles["B"].descriptor()})']
    if inst.sparse:
        texts["metadata, selector"] = f"%{number + 1}, {request.fields.get('selector', 0)}"
        inputs.append('"r"(metadata[lane])')
    texts[_tail_words(request, tiles)] = ", ".join(["accumulate", *_immediates(request, tiles)])
    yield 'asm volatile("{ .reg .pred accumulate;\\n"'
    yield '             "setp.eq.u32 accumulate, 0, 0;\\n"  // true: D = A B + D, else D = A B'
    yield '             "wgmma.fence.sync.aligned;\\n"'
    yield f'             "{inst.name} "'
    yield from operand_texts(texts, ";\\n")
    yield '             "wgmma.commit_group.sync.aligned;\\n"'
    yield '             "wgmma.wait_group.sync.aligned 0; }"'
    yield from operands(outputs, inputs, ' : "memory"')


def _tail_words(request: Request, tiles: dict[str, SharedTile]) -> str:
    """What the last operands are."""
    signs = ", signs of A and B" if _immediates(request, tiles) else ""
    return f"scale-d{signs}" + "".join(
        f", {name} is MN-major" for name in tiles if request.instruction.format("A").bits == 16
    )


def _immediates(request: Request, tiles: dict[str, SharedTile]) -> list[str]:
    """imm-scale-a and imm-scale-b of floating point, then imm-trans of 16-bit operands in shared memory."""
    inst = request.instruction
    if inst.format("D").name == "i32":
        return []
    turns = [str(int(found.mn_major)) for found in tiles.values()] if inst.format("A").bits == 16 else []
    return ["1", "1", *turns]
