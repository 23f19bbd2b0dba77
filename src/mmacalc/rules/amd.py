"""AMD's matrix operands: six texts, and the size rules of four families.

The texts hold for MFMA and SMFMAC of CDNA1 to CDNA4, WMMA and SWMMAC of RDNA3, RDNA4 and CDNA5. What differs
between the generations is how large each digit is, and that follows from the shape and the element width:

    i   rows (of B: columns) that lie in different lanes       g   groups of lanes that split k
    e   the elements of one 128-bit load (RDNA4: 64-bit)       c   such chunks one after another in a lane
    v   rows beyond i, in further registers                    r   copies (RDNA3 keeps A and B in every 16 lanes)
    w   the upper half of a wave64 on RDNA4
    h   rows of D in neighbouring registers                    m   groups of lanes that split the rows of D
    bl, bh   blocks of D in lanes, and in registers            p, q, s   four logical k, groups, stored values
    p, kb   of scales: the k that share one, and such blocks in a lane

Source: measured against AMD's Matrix Instruction Calculator 1.3.2 for all 121 of its instructions.
"""

from __future__ import annotations

from functools import cache

from ..errors import Error
from ..layout import Layout
from ..modifiers import BLGP, index_set
from .placement import Placement, packed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .placement import Shape

A = "b (v i) (c g w e) -> lane (*r w g b i), item (v c e)"
B = "b (c g w e) j -> lane (*r w g b j), item (c e)"
A_SPARSE = "b (v i) (c g w q p) -> lane (*r w g b i), item (v c q *s)"
INDEX = "b (v i) (c g w q p) -> lane (*r w g b i), item (set v c q *s)"
INDEX_BY_CHUNK = "b (v i) (c g w q p) -> lane (*r w c b i), item (set v g q *s)"
RESULT = "(bh bl) (v m w h) j -> lane (w m bl j), item (bh v h opsel)"
SCALE_A = "b i (kb g p) -> lane (half g i), item (byte kb)"
SCALE_B = "b (kb g p) j -> lane (half g j), item (byte kb)"
A_BROADCAST = "(b bp) i (c g w e) -> lane (w g b abid i), item (c e)"

# Bits of the consecutive k that a lane holds before the next group of lanes has its turn: of A, C, D and a dense B, and
# of a sparse B. On CDNA5 the index of a lane's c-th chunk of A is in the c-th half of the wave, g choosing its bits.
# Source of the last row: AMD's hip-fpsan (amdgcn_swmmac_gfx1250.hpp), which was "pinned empirically" on gfx1250.
CHUNK_BITS = {"mfma": (128, 128), "wmma-wave": (64, 128), "wmma-wave32": (128, 256)}
INDEX_TEXTS = {"wmma-wave32": INDEX_BY_CHUNK}

AXES = {
    "A": ("block", "i", "k"), "B": ("block", "k", "j"), "K": ("block", "i", "k"),
    "SA": ("block", "i", "k"), "SB": ("block", "k", "j"),
}  # fmt: skip
RESULT_AXES = ("block", "i", "j")


@cache
def _layout(text: str, axes: tuple[str, ...], sizes: tuple[tuple[str, int], ...]) -> Layout:
    return Layout(text, axes, dict(sizes))


def place(shape: Shape, operand: str, wave: int, fields: Mapping[str, int]) -> Placement:
    """The placement of one operand of an MFMA, SMFMAC, WMMA or SWMMAC instruction, or of its scales.

    Raises:
        Error: the digits that the family gives this shape do not multiply to its sizes, or overflow the wave.
    """
    rule = {"SA": _scale, "SB": _scale, "C": _result, "D": _result}.get(operand, _input)
    try:
        placement = rule(shape, operand, wave, fields)
        layout, whole = placement.layout, {"block": shape.blocks, "i": shape.m, "j": shape.n, "k": shape.k}
        fits = layout.extents == tuple([whole[axis] for axis in layout.axes]) and layout.spans["lane"] <= wave
    except (Error, ZeroDivisionError):
        fits = False
    if not fits:
        raise Error(
            f"catalog line of {shape.name}: {operand} of {shape.m} x {shape.n} x {shape.k} in {shape.blocks} blocks "
            f"does not fit the layout family '{shape.architecture.layout}'"
        )
    return placement


def _input(shape: Shape, operand: str, wave: int, fields: Mapping[str, int]) -> Placement:
    bits = shape.format("A" if operand == "K" else operand, fields).bits
    sizes = input_sizes(shape, operand, wave, bits)
    if operand == "B":
        del sizes["v"]
        sizes["j"] = sizes.pop("i")
        placement = packed(_layout(B, AXES["B"], tuple(sizes.items())), bits)
        blgp = fields.get("blgp", 0) if "blgp" in shape.features else 0
        return placement._replace(lanes=BLGP[blgp]) if blgp and bits != 64 else placement
    if shape.sparse:
        return _sparse(shape, operand, sizes, bits, fields)
    if "cbsz" in shape.features and (cbsz := fields.get("cbsz", 0)):
        broadcast = {**sizes, "b": sizes["b"] >> cbsz, "bp": 1 << cbsz, "abid": 1 << cbsz}
        layout = _layout(A_BROADCAST, AXES["A"], tuple(broadcast.items()))
        return packed(layout, bits, {"abid": fields.get("abid", 0)})
    return packed(_layout(A, AXES["A"], tuple(sizes.items())), bits)


def _sparse(shape: Shape, operand: str, sizes: dict[str, int], bits: int, fields: Mapping[str, int]) -> Placement:
    """2:4 sparse A, or its index: four logical k, of which two are stored, share one place."""
    sizes = {**sizes, "q": sizes["e"] // 2, "p": 4, "s": 2}
    del sizes["e"]
    if operand == "A":
        return packed(_layout(A_SPARSE, AXES["A"], tuple(sizes.items())), bits, merge=2)
    stored = sizes["v"] * sizes["c"] * sizes["q"] * 2
    sizes["set"] = max(1, 32 // (2 * stored))
    chosen = fields.get("opsel", 0)
    if shape.architecture.layout == "mfma":
        chosen = index_set(fields.get("cbsz", 0), fields.get("abid", 0))
    text = INDEX_TEXTS.get(shape.architecture.layout, INDEX)
    return packed(_layout(text, AXES["K"], tuple(sizes.items())), 2, {"set": chosen % sizes["set"]}, merge=2)


def _scale(shape: Shape, operand: str, wave: int, fields: Mapping[str, int]) -> Placement:
    """The scales of A or B: one for each `block_size` consecutive k of a row (of B: column).

    MFMA spreads them over the groups of lanes, and op_sel chooses the byte of the register; WMMA keeps those of a
    row in consecutive bytes, and op_sel chooses the half of the wave that holds them.
    """
    which = int(operand == "SB")
    rows = shape.n if which else shape.m
    sizes = {"b": 1, "p": shape.facts["block_size"], "g": 1, "half": 1, "byte": 1}
    if shape.architecture.layout == "mfma":
        sizes |= {"g": wave // rows, "kb": 1, "byte": 4}
        byte = (fields.get("op_sel_hi", 0) >> which & 1) << 1 | (fields.get("opsel", 0) >> which & 1)
        chosen = {"byte": byte}
    else:
        sizes |= {"kb": shape.k // shape.facts["block_size"], "half": wave // rows}
        chosen = {"half": fields.get(f"matrix_{'ab'[which]}_scale", 0) % sizes["half"]}
    sizes["j" if which else "i"] = rows
    layout = _layout(SCALE_B if which else SCALE_A, AXES[operand], tuple(sizes.items()))
    return packed(layout, shape.format(operand, fields).bits, chosen)


def _result(shape: Shape, operand: str, wave: int, fields: Mapping[str, int]) -> Placement:
    bits = shape.format(operand, fields).bits
    layout = _layout(RESULT, RESULT_AXES, tuple(result_sizes(shape, wave, bits).items()))
    return packed(layout, bits, {"opsel": fields.get("opsel", 0) >> 2 & 1})


def input_sizes(shape: Shape, operand: str, wave: int, bits: int) -> dict[str, int]:
    """The digit sizes of A, B or K.

    `stored` is the k that is kept: half of K for a sparse A. A chunk is what one load brings; the 6-bit formats
    alone are loaded 32 elements at a time, whatever their width.
    """
    family = shape.architecture.layout
    rows = shape.n if operand == "B" else shape.m
    stored = shape.k // 2 if shape.sparse and operand != "B" else shape.k
    lanes_of_rows = min(rows, 16) if family != "mfma" else rows
    sizes = {"b": shape.blocks, "v": rows // lanes_of_rows, "i": lanes_of_rows, "w": 1, "r": 1, "c": 1}
    if family == "wmma-replicated":
        return {**sizes, "r": wave // 16, "g": 1, "e": stored}
    chunk = 32 if bits == 6 else CHUNK_BITS[family][shape.sparse and operand == "B"] // bits
    groups = 64 // (lanes_of_rows * shape.blocks) if family == "mfma" else 2
    run = min(stored // groups, chunk)
    sizes.update(g=groups, e=run, c=stored // (groups * run))
    if wave == 64 and family == "wmma-wave" and stored // 2 * bits > 32:
        # A wave64 moves the top digit of the item to the top of the lane, unless one register holds it all.
        sizes.update({"g": 4, "c": 1} if sizes["c"] == 2 else {"w": 2, "e": run // 2})
    return sizes


def result_sizes(shape: Shape, wave: int, bits: int) -> dict[str, int]:
    """The digit sizes of C and D."""
    family = shape.architecture.layout
    sizes = {"bh": 1, "bl": 1, "v": 1, "w": 1, "opsel": 1, "j": shape.n}
    if family == "mfma":
        run = 1 if bits == 64 else 4
        groups = min(shape.m // run, 64 // shape.n)
        low = 64 // (shape.n * groups)
        return {**sizes, "h": run, "m": groups, "bl": low, "bh": shape.blocks // low, "v": shape.m // (run * groups)}
    if family == "wmma-replicated":
        groups = wave // 16
        return {**sizes, "h": 1, "m": groups, "v": shape.m // groups, "opsel": 32 // bits}
    sizes.update(h=8, m=2, v=shape.m // 16)
    return {**sizes, "w": 2, "h": 4} if wave == 64 else sizes
