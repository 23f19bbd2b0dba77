"""wmma fragments, whose layouts NVIDIA leaves unspecified: what ptxas makes of wmma.load and wmma.store.

Every load and store was compiled by ptxas 13.5.37 (sm_70 and sm_72: 12.9.86) for 14 targets, disassembled, and the
address arithmetic and shuffles of its 32 lanes evaluated: 1,448 fragments, 408,704 places, all of which these texts
give. None was read from a GPU.

    x, h, i    rows sixteens, eights and units apart   y, j    columns        t    the four lanes of a group
    e          elements of a 32-bit register           c       the steps of 4 e along k     r    copies

From sm_75 on, row and col make no difference. A fragment is those of mma.m16n8k8 or m16n8k16 side by side; where M is 8
and N is 32 the product is computed turned over (not with s32 on sm_72 and sm_75). sm_70 and sm_72 lay out f16, and f32
beside it, in quads of lanes, by row and col.
"""

from __future__ import annotations

from . import AXES, NEIGHBOURS, Placement, packed, shared_layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Instruction

__all__ = ["fragment"]

A = "b (x h i) (c t e) -> lane (i t), item (*r x c h e)"
B = "b (c t e) (x j) -> lane (j t), item (*r x c e)"
B_TURNED = "b (c t e) (x h j) -> lane (j t), item (*r x c h e)"
C = "b (x h i) (y t e) -> lane (i t), item (x y h e)"
C_TURNED = "b (t e) (x h j) -> lane (j t), item (x h e)"

# The copies of f16, which fills 16 places of 32 lanes, by the rows of A or the columns of B; K is 16.
COPIES = {32: 1, 16: 2, 8: 4}

# Volta, by the rows of A and C (8, 16, 32) or the columns of B: the digits of the coordinate, and of the lane.
VOLTA_A = {32: ("x h q", "q x h"), 16: ("h q", "q *r h"), 8: ("q", "q *r")}
VOLTA_B = {32: ("x h q", "q x h"), 16: ("h q", "q h *r"), 8: ("q", "q *r")}
VOLTA_C = {
    (16, 16): ("h q", "y", "q y h"), (32, 8): ("x h q", "", "q x h"), (8, 32): ("q", "z y", "q z y"),
}  # fmt: skip


def fragment(instruction: Instruction, operand: str) -> Placement:
    """The placement of a wmma fragment on the instruction's architecture."""
    generation = instruction.architecture.wmma_fragments
    bits = instruction.format_of(operand).bits
    kind = instruction.formats[operand]
    volta = generation == "volta" and (kind == "f16" or (kind == "f32" and instruction.k == 16))
    text, sizes = _volta(instruction, operand, kind) if volta else _fragment(instruction, operand, bits)
    used = {
        name: size
        for name, size in sizes.items()
        if name in text.replace("*", "").replace("(", " ").replace(")", " ").split()
    }
    return packed(shared_layout(text, AXES[operand], tuple({"b": 1, **used}.items())), bits)


def _fragment(instruction: Instruction, operand: str, bits: int) -> tuple[str, dict[str, int]]:
    m, n, k = instruction.m, instruction.n, instruction.k
    turned = (m, n) == (8, 32)
    if operand in "CD":
        if turned and (instruction.architecture.wmma_fragments == "" or instruction.formats[operand] != "i32"):
            return C_TURNED, {"t": 4, "e": 2, "x": 2, "h": 2, "j": 8}
        t, e = 4, 2
        return C, {**_rows(m), "y": n // (t * e), "t": t, "e": e}
    t, e = 4, NEIGHBOURS[bits]
    copies = COPIES[m if operand == "A" else n] if instruction.formats[operand] == "f16" else 1
    sizes = {"r": copies, "c": k // (t * e), "t": t, "e": e}
    if operand == "A":
        return A, {**sizes, **_rows(m)}
    if turned:
        return B_TURNED, {**sizes, "x": 2, "h": 2, "j": 8}
    j = 8
    return B, {**sizes, "x": n // j, "j": j}


def _rows(m: int) -> dict[str, int]:
    """8 rows, or sixteens of them in two halves."""
    h, i = 1 if m == 8 else 2, 8
    return {"x": m // (h * i), "h": h, "i": i}


def _volta(instruction: Instruction, operand: str, kind: str) -> tuple[str, dict[str, int]]:
    m, n = instruction.m, instruction.n
    sizes = dict.fromkeys("xyzhq", 2)
    if operand in "CD":
        rows, columns, lane = VOLTA_C[m, n]
        if kind == "f16":
            return f"b ({rows} i) ({columns} j) -> lane ({lane} i), item (j)", {**sizes, "i": 4, "j": 8}
        return (
            f"b ({rows} u i) ({columns} v w e) -> lane ({lane} w i), item (v u e)",
            {**sizes, **dict.fromkeys("uivwe", 2)},
        )
    across = m if operand == "A" else n
    digits, lane = (VOLTA_A if operand == "A" else VOLTA_B)[across]
    own = "i" if operand == "A" else "j"
    sizes |= {own: 4, "r": COPIES[across]}
    side = instruction.layouts[0] if len(instruction.layouts) == 1 else instruction.layouts["AB".index(operand)]
    along_k = side == ("row" if operand == "A" else "col")  # k runs along memory
    outer, inner = f"({digits} {own})", "k" if along_k else "(c k)"
    places = f"lane ({lane} {own}), item (k)" if along_k else f"lane ({lane} k), item (c {own})"
    coordinates = f"{outer} {inner}" if operand == "A" else f"{inner} {outer}"
    return f"b {coordinates} -> {places}", {**sizes, "c": 4, "k": 16 if along_k else 4}
