"""NVIDIA's matrix operands: a handful of texts, and the size rules of mma, wgmma, ldmatrix and their kin.

    i0, i1   rows in different lanes, and in further registers    t   the four lanes of a group, along k (D: j)
    e        neighbours in one 32-bit register                    c   the steps of 4 e after one another
    w        the warps of a warpgroup (wgmma)                     q, p, s   groups, logical and stored k of a group
    x, y     rows r and r + 8 of the metadata: in lanes, in bits  f   the lanes that the sparsity selector chooses
    kb, p    scaled blocks of k, and the k of a block             tid the lane that the thread id chooses
    b        the block: of m8n8k4 with f16 the MMA number, of ldmatrix and stmatrix the matrix; otherwise 1

A 32-bit register of A holds e = 32 / bits neighbours along k, the same in B; registers run over the rows 8 apart
first, then over k. Only m8n8k4 with f16, four multiplications in one warp, has six lines of its own.

Source: PTX ISA 9.1, sections 9.7.14.5 (mma), 9.7.14.6 (mma.sp), 9.7.15 (wgmma); CUTLASS 7107b055 MMA_Traits for
every lane and element of the dense operands.
"""

from __future__ import annotations

from . import AXES, NEIGHBOURS, Family, Placement, packed, shared_layout
from .wmma_fragments import fragment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..layout import Layout
    from ..model import Instruction

__all__ = ["TENSOR_CORE"]

A = "b (w i1 i0) (c t e) -> warp (w), lane (b i0 t), item (c i1 e)"
B = "b (c t e) j -> lane (b j t), item (c e)"
RESULT = "b (w i1 i0) (c t e) -> warp (w), lane (b i0 t), item (c i1 e)"
A_SPARSE = "b (w i1 i0) (c t q p) -> warp (w), lane (b i0 t), item (c i1 q *s)"
METADATA = "b (w x y i0) (c1 c p) -> warp (w), lane (b i0 f c1 x), item (y c *s)"
SCALE_A = "b (i1 i0) (kb p) -> lane (b i0 tid i1), item (byte kb)"
SCALE_B = "b (kb p) j -> lane (b j tid), item (byte kb)"

VOLTA = {
    ("A", "row"): "b (h i) k -> lane (h b i), item (k)",
    ("A", "col"): "b (h i) k -> lane (h b k), item (i)",
    ("B", "row"): "b k (h j) -> lane (h b k), item (j)",
    ("B", "col"): "b k (h j) -> lane (h b j), item (k)",
    ("D", "f16"): "b (h i) j -> lane (h b i), item (j)",
    ("D", "f32"): "b (h i1 i0) (j2 j1 j0) -> lane (h b j1 i0), item (j2 i1 j0)",
}

MATRIX = "b (h s) (t e) -> lane (s t), item (b h e)"
MATRIX_TRANSPOSED = "b (t e) (h s) -> lane (s t), item (b h e)"
ADDRESSES = "b s () -> lane (b s), item ()"

# Logical and stored k of a group: 4-bit types keep four of eight, in pairs; tf32 one of two; the rest two of four.
GROUPS = {4: (8, 4), 8: (4, 2), 16: (4, 2), 32: (2, 1)}


class _TensorCore(Family):
    def analogy(self, instruction: Instruction) -> str:
        """Sparse instructions and wmma, none of which was measured, and those whose record names another."""
        if instruction.sparse:
            return "the dense model over the selected products; dense"
        return "as mma.sync" if "wmma" in instruction.features else instruction.modelled_as

    def operands(self, instruction: Instruction) -> tuple[str, ...]:
        """Those that the name of the PTX instruction implies."""
        return instruction.explicit_operands

    def place(self, instruction: Instruction, operand: str, wave: int, fields: Mapping[str, int]) -> Placement:
        """The placement of one operand of an mma, mma.sp, wgmma, ldmatrix, stmatrix or movmatrix."""
        if "wmma" in instruction.features:
            return fragment(instruction, operand)
        if "move" in instruction.features:
            return _moved(instruction, operand)
        if operand in ("SA", "SB"):
            return _scale(instruction, operand, fields)
        if instruction.blocks == 4:
            return _volta(instruction, operand)
        if operand == "K":
            return _metadata(instruction, fields)
        return _result(instruction, operand) if operand in "CD" else _input(instruction, operand)

    def fields(self, instruction: Instruction) -> dict[str, tuple[int, ...]]:
        """Immediate operands: mma.sp's sparsity selector, the byte and thread ids of the scales."""
        values: dict[str, tuple[int, ...]] = {}
        if instruction.sparse:
            values["selector"] = tuple(range(metadata_sizes(instruction)["f"]))
        if instruction.scaled:
            for side, lanes in (("a", 2), ("b", 4)):
                values[f"byte_id_{side}"] = tuple(range(0, 4, instruction.scale_vec))
                values[f"thread_id_{side}"] = tuple(range(lanes))
        return values


def _layout(text: str, axes: tuple[str, ...], sizes: Mapping[str, int]) -> Layout:
    if sizes.get("w") == 1:
        text = text.replace("warp (w), ", "").replace("(w ", "(")
    return shared_layout(text, axes, tuple({"b": 1, **sizes}.items()))


def _rows(instruction: Instruction) -> dict[str, int]:
    w, i0 = 4 if "wgmma" in instruction.features else 1, 8
    return {"w": w, "i1": instruction.m // (i0 * w), "i0": i0}


def slot(instruction: Instruction, operand: str) -> int:
    """The bits of an element's slot: 8 for the types that kind::f8f6f4 and mxf8f6f4 keep in bytes."""
    bits = instruction.format_of(operand).bits
    return max(bits, 8) if instruction.kind.endswith("f8f6f4") else bits


def _input(instruction: Instruction, operand: str) -> Placement:
    bits, width = instruction.format_of(operand).bits, slot(instruction, operand)
    t, e = 4, NEIGHBOURS[width]
    if operand == "B":
        sizes = {"c": instruction.k // (t * e), "t": t, "e": e, "j": 8}
        return _contained(_layout(B, AXES["B"], sizes), width, bits)
    if not instruction.sparse:
        sizes = {**_rows(instruction), "c": instruction.k // (t * e), "t": t, "e": e}
        return _contained(_layout(A, AXES["A"], sizes), width, bits)
    p, s = GROUPS[width]
    sizes = {**_rows(instruction), "c": instruction.k * s // (t * e * p), "t": t, "q": e // s, "p": p, "s": s}
    # A group's Location covers its slots whole, since bytes that are not full have gaps between them.
    return packed(_layout(A_SPARSE, AXES["A"], sizes), width, slots_per_location=s)


def _contained(layout: Layout, width: int, bits: int) -> Placement:
    """e2m1 lies in bits 5 to 2 of its byte, e3m2 and e2m3 in bits 5 to 0 (PTX ISA 9.1, section 9.7.14.5.14)."""
    return packed(layout, bits)._replace(slot_bits=width, offset=2 if (width, bits) == (8, 4) else 0)


def _result(instruction: Instruction, operand: str) -> Placement:
    t, e = 4, 2
    sizes = {**_rows(instruction), "c": instruction.n // (t * e), "t": t, "e": e}
    return packed(_layout(RESULT, AXES[operand], sizes), instruction.format_of(operand).bits)


def metadata_sizes(instruction: Instruction) -> dict[str, int]:
    """The digit sizes of the metadata. A lane's 32 bits hold eight chunks of 4 bits: of one row, or of two."""
    width = slot(instruction, "A")
    p = GROUPS[width][0]
    chunks, y = instruction.k // p, 2 if width in (16, 32) else 1
    c = min(chunks, 8 // y)
    x, c1 = 2 // y, chunks // c
    warps = 4 if "wgmma" in instruction.features else 1
    return {"w": warps, "x": x, "y": y, "i0": 8, "c1": c1, "c": c, "p": p, "s": 2, "f": 4 // (x * c1)}


def _metadata(instruction: Instruction, fields: Mapping[str, int]) -> Placement:
    layout = _layout(METADATA, AXES["K"], metadata_sizes(instruction))
    return packed(layout, 2, {"f": fields.get("selector", 0)}, slots_per_location=2)


def _scale(instruction: Instruction, operand: str, fields: Mapping[str, int]) -> Placement:
    blocks = instruction.scale_vec
    sizes = {"kb": blocks, "p": instruction.k // blocks, "byte": 4 // blocks}
    side = operand[1].lower()
    chosen = {"tid": fields.get(f"thread_id_{side}", 0), "byte": fields.get(f"byte_id_{side}", 0) // blocks}
    if operand == "SA":
        return packed(_layout(SCALE_A, AXES["SA"], {**sizes, "i1": 2, "i0": 8, "tid": 2}), 8, chosen)
    return packed(_layout(SCALE_B, AXES["SB"], {**sizes, "j": 8, "tid": 4}), 8, chosen)


def _volta(instruction: Instruction, operand: str) -> Placement:
    if operand in "AB":
        line = operand, instruction.layouts["AB".index(operand)]
    else:
        line = "D", instruction.formats[operand]
    half = {"b": 4, "h": 2}
    sizes = {"i": 4, "j": 4, "k": 4, "i1": 2, "i0": 2, "j2": 2, "j1": 2, "j0": 2}
    if line == ("D", "f16"):
        sizes["j"] = 8
    return packed(_layout(VOLTA[line], AXES[operand], {**half, **sizes}), instruction.format_of(operand).bits)


def _moved(instruction: Instruction, operand: str) -> Placement:
    """ldmatrix and stmatrix: rows i and columns j are those in memory. movmatrix: the rows are those of its source."""
    transposed = "trans" in instruction.features
    rows, columns = (instruction.n, instruction.m) if transposed else (instruction.m, instruction.n)
    if operand == "P":
        return packed(
            _layout(ADDRESSES, AXES["D"], {"b": instruction.blocks, "s": rows}), instruction.format_of(operand).bits
        )
    if instruction.moves == "movmatrix" and operand == "A":
        transposed = False
    across, along = (columns, rows) if transposed else (rows, columns)
    s, t = 8, 4
    sizes = {"b": instruction.blocks, "h": across // s, "s": s, "t": t, "e": along // t}
    layout = _layout(MATRIX_TRANSPOSED if transposed else MATRIX, AXES["D"], sizes)
    bits = instruction.format_of(operand).bits
    return packed(layout, bits)._replace(slot_bits=max(bits, 8))


FEATURES = ("sparse", "ordered", "scale", "satfinite", "wgmma", "wmma", "move", "trans", "tensor-memory", "tcgen05")
TENSOR_CORE = _TensorCore(
    "tensor-core", FEATURES, vendor="nvidia", grammar="ptx", spelling="ptx", mnemonics="ptx", language="cuda",
    vector_instructions="ptx", functions="nvvm", matrix_moves=True, equal_operands=True, sass=True,
    has_published_rates=True, satfinite=True, small_overflow="largest", float32="tf32",
    nan_codes={"f32": "0x7FFFFFFF", "f16": "0x7FFF"},
    unsupported_topics={
        "assembly": "{title} has no public machine code; assembly is for AMD's architectures",
        "waits": (
            "wait states are counted only on AMD's architectures; {title} interlocks in hardware. "
            "Give an AMD architecture, such as gfx942"
        ),
        "launch": "launch runs waves of AMD architectures; {title} is not one",
    },
)  # fmt: skip
