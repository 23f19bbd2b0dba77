"""Tensor Memory, which tcgen05 works on: where the elements of its matrices are, and which shapes it has.

Each CTA has 128 lanes x 512 columns of 32-bit cells; an address is lane << 16 | column. The digits:

    i, j, k      row, column, inner index            cta     which CTA of a pair (cta_group::2)
    w            the four warps' blocks of 32 lanes  half    bit 4 of the lane in the address: a selector
    q            blocks of rows or columns           c, e    cells along k, and the elements of one cell
    p, s         logical and stored k of a group     f       the column that the sparsity selector chooses
    a, h, b      sixteens, eights and units of a row r       copies
    n, t, g, e   of ld and st: registers, threads of a group of 4, groups, 32-bit cells next to each other

The letters of D's layouts are those of the PTX ISA (layouts A to G). One MMA's A in Tensor Memory is 256 bits a row.

Sources: PTX ISA 9.1, section 9.7.16, and 9.4, section 9.7.18; CUTLASS 7107b055 (mma_traits_sm100.hpp,
copy_traits_sm100.hpp, mma_sm100_umma.hpp), whose layouts were evaluated and compared element by element.
"""

from __future__ import annotations

import re
from math import gcd

from ..base.errors import Error
from ..base.records import TupleRecord
from .base import Axis, Placement, packed, shared_layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..layout import Layout
    from ..model.tensor_memory import TensorMemoryInstruction

__all__ = ["COLUMNS", "LANES", "Form", "a_cells", "d_cells", "metadata_cells", "place", "scale_cells"]

LANES, COLUMNS, CELL = 128, 512, 32

# D by the PTX ISA's letter. Every cell has 32 bits; a 16-bit D fills the low half of each.
D_LAYOUTS = {
    "A": "(cta i) j -> cta (cta), lane (i), column (j)",
    "B": "(cta i) (q j) -> cta (cta), lane (q i), column (j)",
    "C": "(cta w i) j -> cta (cta), lane (w half i), column (j)",
    "D": "i j -> lane (i), column (j)",
    "E": "i (q j) -> lane (q i), column (j)",
    "F": "(w i) j -> lane (w half i), column (j)",
    "G": "i (q j) -> lane (q i), column (j)",
}
# A in Tensor Memory: rows of its own lane, copied into the other half, or in every other 16 lanes.
A_FULL = "(cta i) (c e p) -> cta (cta), lane (i), column (c), item (e *s)"
A_COPIED = "(cta i) (c e p) -> cta (cta), lane (*r i), column (c), item (e *s)"
A_SPREAD = "(w i) (c e p) -> lane (w half i), column (c), item (e *s)"
# Metadata: 4 bits for every group of k. 16- and 32-bit types take one column of a pair, others both.
METADATA_WIDE = "(cta a h b) (k c p) -> cta (cta), lane (*r a k b), column (f), item (h c *s)"
METADATA_NARROW = "(cta i) (w c p) -> cta (cta), lane (*r i), column (w), item (c *s)"
# Scales: one byte each, in 32-bit words along k; rows 32 apart are in neighbouring columns.
SCALES = "(cta q i) (w s) -> cta (cta), lane (*r i), column (w q), item (s)"
SCALES_B = "(q i) (w s) -> cta (*cta), lane (*r i), column (w q), item (s)"
SCALES_B_HALVES = "(h q i) (w s) -> cta (*cta), lane (h *r i), column (w q), item (s)"

# Logical and stored k of a group of a sparse A, by the bits of an element's slot.
GROUPS = {32: (2, 1), 16: (4, 2), 8: (4, 2), 4: (8, 4)}


class Form(TupleRecord):
    """What decides where a tcgen05.mma has its elements, apart from the shape and types.

    kind: as in .kind::f16; sparse: .sp; ws: .ws; cta_group: 1 or 2.
    """

    kind: str
    sparse: bool
    ws: bool
    cta_group: int


def _layout(text: str, axes: tuple[str, ...], sizes: Mapping[str, int]) -> Layout:
    if sizes["cta"] == 1:
        text = re.sub(r"cta \(\*?cta\), |(?<=\()cta (?=\w)", "", text)
    return shared_layout(text, axes, tuple(sizes.items()))


def place(instruction: TensorMemoryInstruction, operand: str, fields: Mapping[str, int]) -> Placement:
    """The placement of one operand of a tcgen05.mma.

    Args:
        fields: half, selector, scale_id_a and scale_id_b; those that do not concern the operand are ignored.

    Raises:
        Error: a field has a value that this operand does not have, or no source says where the operand is.
    """
    form, m, n, k = instruction.form, instruction.m, instruction.n, instruction.k
    if operand in ("SA", "SB"):
        scales = k // instruction.block_size
        step = gcd(4, scales)
        first = _choice(instruction, operand, fields, f"scale_id_{operand[1].lower()}", range(0, 4, step))
        rows = m if operand == "SA" else n
        axes = Axis("i" if operand == "SA" else "j", rows), Axis("k", k, first, k // scales)
        return scale_cells(form, operand, rows, m, 4 - step + scales)._replace(axes=axes)
    bits = instruction.format("D" if operand in "CD" else "A").bits
    if operand == "K":
        found = metadata_cells(form, m, k, bits)
        digit, field = "f", "selector"
    else:
        found = d_cells(form, m, n, bits) if operand in "CD" else a_cells(form, m, k, bits)
        digit, field = "half", "half"
    chosen = _choice(instruction, operand, fields, field, range(found.layout.sizes.get(digit, 1)))
    return found._replace(fields={digit: chosen})


def _choice(
    instruction: TensorMemoryInstruction, operand: str, fields: Mapping[str, int], name: str, allowed: range
) -> int:
    value = fields.get(name, 0)
    if value not in allowed:
        values = " or ".join(map(str, allowed))
        raise Error(f"{name} of {operand} of {instruction.name} is {values}; got {value}")
    return value


def d_letter(form: Form, m: int) -> str:
    """The PTX ISA's letter of D's layout."""
    if form.ws:
        return {128: "D", 64: "E", 32: "G"}[m]
    if form.cta_group == 1:
        return "D" if m == 128 else "F"
    return "A" if m == 256 else "C" if form.sparse else "B"


def d_cells(form: Form, m: int, n: int, bits: int) -> Placement:
    """D, and so C, which is D before the multiplication.

    >>> d_cells(Form("f16", False, False, 1), 128, 256, 32).layout.pattern
    'i j -> lane (i), column (j)'
    """
    letter = d_letter(form, m)
    folds = {"E": 2, "G": 4, "B": 2}.get(letter, 1)
    rows = {"A": 128, "B": 64, "C": 16, "D": 128, "E": 64, "F": 16, "G": 32}[letter]
    sizes = {"cta": form.cta_group, "w": 4, "half": 2, "i": rows, "q": folds, "j": n // folds}
    doubt = "layout C is known from the PTX ISA's figure only" if letter == "C" else ""
    layout = _layout(D_LAYOUTS[letter], ("i", "j"), sizes)
    return packed(layout, bits)._replace(slot_bits=CELL, doubt=doubt)


def slot_bits(kind: str, bits: int) -> int:
    """The slot of an element of A: bytes for the 8-, 6- and 4-bit types of f8f6f4 and mxf8f6f4."""
    return 8 if kind.endswith("f8f6f4") else bits


def a_cells(form: Form, m: int, k: int, bits: int) -> Placement:
    """A in Tensor Memory. A location of a sparse A covers the stored values of its group of k.

    e2m1 is in bits 5 to 2 of its byte, e3m2 and e2m3 in bits 5 to 0, as tcgen05.cp decompresses them.
    """
    slot = slot_bits(form.kind, bits)
    p, s = GROUPS[slot] if form.sparse else (1, 1)
    e = CELL // slot // s
    sizes = {"cta": form.cta_group, "c": k // (e * p), "e": e, "p": p, "s": s, "i": m // form.cta_group}
    text, doubt = A_FULL, ""
    if form.ws and m < LANES:
        text, sizes["r"] = A_COPIED, LANES // m
        doubt = "the copies of A with .ws and M below 128 have one source"
    elif form.cta_group == 2 and m == 128:
        text, sizes["r"] = A_COPIED, 2
    elif m == 64:
        text, sizes["i"] = A_SPREAD, 16
        doubt = "two sources and the PTX ISA spread A like D; a third (TVM) takes lanes 0 to 63"
    layout = _layout(text, ("i", "k"), {**sizes, "w": 4, "half": 2})
    if s > 1:  # the location is that of the slots of the whole group
        return packed(layout, slot, merge=s)._replace(doubt=doubt)
    return packed(layout, bits)._replace(slot_bits=slot, offset=2 if (slot, bits) == (8, 4) else 0, doubt=doubt)


def metadata_cells(form: Form, m: int, k: int, bits: int) -> Placement:
    """The metadata of a sparse A: two 2-bit indices for each group of k; see `GROUPS`.

    Raises:
        Error: no source says where it is for this shape.
    """
    rows = m // form.cta_group
    if rows < LANES and not form.ws:
        raise Error(
            f"where the metadata of M = {m} with cta_group::{form.cta_group} is, only a figure of the PTX ISA says, "
            "which no other source confirms; it is known for 128 rows per CTA, and with .ws"
        )
    p = GROUPS[slot_bits(form.kind, bits)][0]
    chunks = k // p
    sizes = {"cta": form.cta_group, "r": LANES // rows, "p": p, "s": 2}
    doubt = "" if form.cta_group == 1 else "known for one CTA; of a pair, each CTA has that of its rows (assumed)"
    if bits not in (16, 32):
        c = 8
        layout = _layout(METADATA_NARROW, ("i", "k"), {**sizes, "i": rows, "w": chunks // c, "c": c})
    else:
        h, b, in_lanes = 2, 8, 2
        sizes |= {"a": rows // (h * b), "h": h, "b": b, "k": in_lanes, "c": chunks // in_lanes, "f": 2}
        layout = _layout(METADATA_WIDE, ("i", "k"), sizes)
        if form.ws and rows < LANES:
            doubt = "with .ws and M below 128, CUTLASS has this atom but does not use it"
    return packed(layout, 2, merge=2)._replace(doubt=doubt)


def scale_cells(form: Form, operand: str, rows: int, m: int, scales: int) -> Placement:
    """The scales SA or SB of `rows` rows (of SB: columns of B) and of a stream of that many scales along k.

    The words of 4 scales follow each other every ceil(rows / 128) * 4 columns, of 64 rows every 2 (assumed).
    """
    s, i, doubt = 4, 32, ""
    words = -(-scales // s)
    if operand == "SA":
        each = rows // form.cta_group
        doubt = "for 64 rows per CTA it follows the rule for 128 (assumed)" if each < LANES else ""
        sizes = {"cta": form.cta_group, "q": each // i, "i": i, "r": LANES // i, "w": words, "s": s}
        return packed(_layout(SCALES, ("i", "s"), sizes), 8)._replace(doubt=doubt)
    text, halves = SCALES_B, 1
    if form.cta_group == 2 and m == 128:
        text, halves = SCALES_B_HALVES, 2
        if rows % LANES:
            doubt = "CUTLASS rounds N up to 128 and halves it, as here; another engine takes N / 2"
    blocks, r = -(-rows // LANES) * LANES // i // halves, LANES // i // halves
    sizes = {"cta": form.cta_group, "h": halves, "q": blocks, "i": i, "r": r, "w": words, "s": s}
    return packed(_layout(text, ("j", "s"), sizes), 8)._replace(doubt=doubt)
