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
from itertools import pairwise
from math import gcd

from ..base.errors import Error
from ..base.records import TupleRecord
from . import Axis, Placement, packed, shared_layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..layout import Layout
    from ..model.tensor_memory import TensorMemoryInstruction
    from . import Placement

LANES, COLUMNS, CELL = 128, 512, 32
# Of a tile of scales as tcgen05.cp.32x128b.warpx4 takes it: rows of A or columns of B, blocks of k, and bytes.
SCALE_ROWS, SCALE_BLOCKS, SCALE_BYTES = 128, 4, 512

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
# The kinds two products of which share a pair of columns of metadata: the sparsity selector says whose is which.
SELECTED = ("f16", "ti16", "tf32")


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
    bits = instruction.format_of("D" if operand in "CD" else "A").bits
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
        return packed(layout, slot, slots_per_location=s)._replace(doubt=doubt)
    return packed(layout, bits)._replace(slot_bits=slot, offset=2 if (slot, bits) == (8, 4) else 0, doubt=doubt)


def metadata_cells(form: Form, m: int, k: int, bits: int) -> Placement:
    """The metadata of a sparse A: two 2-bit indices for each group of k; see `GROUPS`.

    Raises:
        Error: no source says where it is for this shape.
    """
    rows = m // form.cta_group
    if rows < LANES and not form.ws:
        raise Error(
            f"the place of the metadata of M = {m} with cta_group::{form.cta_group} is only in a figure of the PTX "
            "ISA, which no other source confirms; it is known for 128 rows per CTA, and with .ws"
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
    return packed(layout, 2, slots_per_location=2)._replace(doubt=doubt)


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


# --- Which shapes and types tcgen05.mma has, and why another is refused ---
#
# The shape is in the instruction descriptor, a value at run time: no assembler can check it.
# A row of SHAPES is (kinds, cta_group, M, N, K dense, K sparse); the K of .ws are the same. N is (first, last, step).
#
# Sources: PTX ISA 9.1, table 39, and 9.4, table 48 and section 9.7.18.2; remarks on CUTLASS from mma_traits_sm100.hpp.


_MX = ("mxf8f6f4", "mxf4", "mxf4nvf4")
SMALL = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
_EVERY_8, _EVERY_16, _EVERY_32 = (
    tuple([step * n for n in range(1, count + 1)]) for step, count in ((8, 32), (16, 16), (32, 8))
)
_I8 = (8, 16, 24, *_EVERY_16[1:])

# K of one MMA, by kind: dense, sparse; 256 bits of A a row are stored.
DEPTHS = {
    "f16": (16, 32), "ti16": (16, 32), "tf32": (8, 16), "f8f6f4": (32, 64), "i8": (32, 64), "mxf8f6f4": (32, 64),
    "mxf4": (64, 128), "mxf4nvf4": (64, 128),
}  # fmt: skip
# The types of A and B of a kind, and of D.
TYPES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "f16": (("f16", "bf16"), ("f32", "f16")),
    "tf32": (("tf32",), ("f32",)),
    "f8f6f4": (SMALL, ("f32", "f16")),
    "i8": (("s8", "u8"), ("s32",)),
    "mxf8f6f4": (SMALL, ("f32",)),
    "mxf4": (("e2m1",), ("f32",)),
    "mxf4nvf4": (("e2m1",), ("f32",)),
}


def allowed_shapes(form: Form) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The values that M and N may have.

    >>> from mmacalc.families.tensor_memory import Form
    >>> allowed_shapes(Form("f16", True, True, 1))
    ((32, 64, 128), (64, 128))
    """
    if form.ws:
        return (32, 64, 128), (64, 128) if form.sparse else (64, 128, 256)
    if form.kind in _MX:
        if form.cta_group == 1:
            return (128,), _EVERY_8
        return (256,) if form.sparse else (128, 256), _EVERY_16
    if form.kind == "i8":
        return ((64, 128), _I8) if form.cta_group == 1 else ((128, 256), _EVERY_32)
    return ((64, 128), _EVERY_8) if form.cta_group == 1 else ((128, 256), _EVERY_16)


def depths(form: Form, having: Mapping[int, tuple[str, ...]], target: str, m: int) -> tuple[int, ...]:
    """The K that one MMA may have on a target, the usual first.

    Args:
        having: the targets that have each K. That of 96 is for M = 256 of a pair of CTAs (PTX ISA 9.1, table 39).
    """
    return tuple([
        k for k, targets in having.items() if target in targets and (k != 96 or (form.cta_group, m) == (2, 256))
    ])  # fmt: skip


def check_shape(
    form: Form, having: Mapping[int, tuple[str, ...]], target: str, m: int, n: int, k: int | None
) -> int:  # fmt: skip
    """The K of this shape.

    Raises:
        Error: there is no such shape; the message says which there are.
    """
    rows, columns = allowed_shapes(form)
    name = describe(form)
    if m not in rows:
        raise Error(f"M = {m} is not supported by {name}: M is {_or(rows)}{_other_group(form, m)}")
    if n not in columns:
        raise Error(f"N = {n} is not supported by {name}: N is {steps(columns)}")
    found = depths(form, having, target, m)
    if k is not None and k not in found:
        where = ", with cta_group::2 and M = 256" if k == 96 else ""
        why = f", which requires {' or '.join(having[k])}{where}" if k in having else ""
        raise Error(f"K of {name} on {target} with M = {m} is {_or(found)}; got {k}{why}")
    return found[0] if k is None else k


def describe(form: Form) -> str:
    """A form in words.

    >>> from mmacalc.families.tensor_memory import Form
    >>> describe(Form("i8", True, False, 2))
    'kind::i8 .sp with cta_group::2'
    """
    qualifiers = f"{' .ws' if form.ws else ''}{' .sp' if form.sparse else ''}"
    return f"kind::{form.kind}{qualifiers} with cta_group::{form.cta_group}"


def _other_group(form: Form, m: int) -> str:
    """The group of CTAs that would have this M."""
    for other in (form._replace(cta_group=3 - form.cta_group, ws=False), form._replace(ws=True, cta_group=1)):
        if (not other.ws or form.kind not in _MX) and m in allowed_shapes(other)[0]:
            return f"; {describe(other)} supports M = {m}"
    return ""


def _or(values: tuple[int, ...]) -> str:
    return " or ".join(map(str, values))


def transposes(kind: str, cta_group: int) -> str:
    """Which of A and B may be MN-major in shared memory, in words.

    >>> transposes("f16", 1)
    'A and B'
    """
    if kind in ("mxf4", "mxf4nvf4"):
        return "none: A and B are K-major"
    if kind == "tf32":
        return "A and B, with the 128B swizzle of 32-byte atoms only"
    if kind == "f16":
        return "A and B"
    return f"A and B; N of a transposed B is in steps of {16 * cta_group}"


def steps(values: tuple[int, ...]) -> str:
    """Values in words: a run of equal steps as a range."""
    steps = {following - value for value, following in pairwise(values)}
    if len(values) < 4:
        return _or(values)
    if len(steps) == 1:
        return f"{values[0]} to {values[-1]} in steps of {steps.pop()}"
    return f"{', '.join(map(str, values[:4]))} to {values[-1]} in steps of {values[-1] - values[-2]}"


def remark(form: Form, m: int, n: int) -> str:
    """Where CUTLASS is stricter than the PTX ISA about this shape; "" if it is not."""
    if form.ws:
        return ""
    if form.kind in ("f16", "tf32", "f8f6f4") and form.cta_group == 1 and m == 128 and n % 16:
        return "CUTLASS takes M = 128 with N a multiple of 16 only; the PTX ISA with multiples of 8"
    if form.kind == "i8" and n == 24:
        return "CUTLASS takes N = 8 and multiples of 16 only; the PTX ISA has 24"
    if form.kind == "mxf8f6f4" and form.cta_group == 2 and m == 128:
        return "CUTLASS has M = 256 only with cta_group::2; the PTX ISA has 128 as well"
    return ""


def default_types(kind: str) -> tuple[str, str, str]:
    """The types of A, B and D that a kind means when none are named."""
    inputs, outputs = types_of(kind)
    return inputs[0], inputs[0], outputs[0]


def types_of(kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The types that A and B, and that D, may have.

    Raises:
        Error: they are not published (kind::ti16).
    """
    if kind not in TYPES:
        raise Error(f"the types of kind::{kind} are not in the public documents, so its layouts are not known")
    return TYPES[kind]


def check_types(kind: str, a: str, b: str, d: str) -> None:
    """Refuse types that a kind does not have.

    Raises:
        Error: says which it has.
    """
    inputs, outputs = types_of(kind)
    for name, given, known in (("A", a, inputs), ("B", b, inputs), ("D", d, outputs)):
        if given not in known:
            raise Error(f"{name} of kind::{kind} is {' or '.join(known)}; got '{given}'")
    if kind == "f16" and a != b:
        raise Error(f"A and B of kind::f16 have the same type; got {a} and {b}")
    if kind == "f16" and a == "bf16" and d == "f16":
        raise Error("D of kind::f16 is f32 when A and B are bf16; got f16")


def check_scale_type(kind: str, scales: int, given: str | None) -> str:
    """The type of scales; the usual one if none is named.

    Args:
        scales: of a row and of the usual K: 4 where a scale is for 16 elements.

    Raises:
        Error: these scales have no such type; says which they have.

    >>> check_scale_type("mxf4nvf4", 4, None), check_scale_type("mxf4", 2, None)
    ('ue4m3', 'ue8m0')
    """
    known = ("ue4m3", "ue8m0") if scales == 4 else ("ue8m0",)
    if given is not None and given not in known:
        block = "" if kind != "mxf4nvf4" else " with .block16" if scales == 4 else " with .block32"
        raise Error(f"scales of kind::{kind}{block} are {' or '.join(known)}; got '{given}'")
    return given or known[0]


# --- tcgen05.ld, st, cp and shift: which thread and register, or which row, gets which cell of Tensor Memory ---
#
# ld and st: the coordinates are the lane and column from the address (of one warp: its 32 lanes, or 16 of them), the
# places thread and item, the register; `.pack::16b` puts the low halves of two neighbouring columns in one register.
# cp: the coordinates are the row and 32-bit column of the box in shared memory, the places lane and column.
# D after a load is D's layout composed with the loads of all four warps: `epilogue`.
#
# Sources: PTX ISA 9.1, sections 9.7.16.8 and 9.7.16.9; CUTLASS 7107b055, copy_traits_sm100.hpp. The PTX ISA's figure of
# .16x32bx2 differs; it is wrong according to CUTLASS and to one emulator's author.


# The digits of lane and column, those of thread and register, sizes, and the registers of .x1.
# The lowest digit of the column is that of the register, or of its low halves with .pack.
LOADS = {
    "32x32b": ("i", "n", "i", "n", {"i": 32}, 1),
    "16x64b": ("h g", "n c", "g c h", "n", {"h": 2, "g": 8, "c": 2}, 1),
    "16x128b": ("h g", "n t", "g t", "n h", {"h": 2, "g": 8, "t": 4}, 2),
    "16x256b": ("h g", "n t e", "g t", "n h e", {"h": 2, "g": 8, "t": 4, "e": 2}, 4),
    "16x32bx2": ("i", "s n", "s i", "n", {"i": 16, "s": 2}, 1),
}
MOST_REGISTERS = 128
COPIES = {
    "128x256b": ("i c -> lane (i), column (c)", {"i": 128, "c": 8}),
    "128x128b": ("i c -> lane (i), column (c)", {"i": 128, "c": 4}),
    "64x128b.warpx2::02_13": ("i c -> lane (*r i), column (c)", {"r": 2, "i": 64, "c": 4}),
    "64x128b.warpx2::01_23": ("(h i) c -> lane (h *r i), column (c)", {"h": 2, "r": 2, "i": 32, "c": 4}),
    "32x128b.warpx4": ("i c -> lane (*r i), column (c)", {"r": 4, "i": 32, "c": 4}),
    "4x256b": ("w c -> lane (w zero), column (c)", {"w": 4, "zero": 32, "c": 8}),
}


def registers(shape: str, count: int) -> int:
    """The 32-bit registers that each thread has for a shape and .xN.

    Raises:
        Error: there is no such shape, or not with this count.

    >>> registers("16x256b", 32)
    128
    """
    if shape not in LOADS:
        raise Error(f"tcgen05.ld has no shape '{shape}'; its shapes are {', '.join(LOADS)}")
    most = MOST_REGISTERS // LOADS[shape][-1]
    if count not in (1, 2, 4, 8, 16, 32, 64, 128) or count > most:
        raise Error(f".{shape} takes .x1 to .x{most} in powers of two; got .x{count}")
    return count * LOADS[shape][-1]


def load_layout(shape: str, count: int, pack: bool = False) -> Layout:
    """Which thread of the warp and which register gets the cell at a lane and column from the address.

    With `pack`, item is a 16-bit half: register item // 2, from the low half of the cell. The second half of the
    columns of 16x32bx2 begins immHalfSplitoff columns after the address; here they follow each other.

    Raises:
        Error: there is no such shape, or not with this count.

    >>> load_layout("16x256b", 2).pattern
    '(h g) (n t e) -> lane (g t), item (n h e)'
    >>> load_layout("32x32b", 4, pack=True).pattern
    'i (n p) -> lane (i), item (n p)'
    """
    registers(shape, count)
    lane, column, thread, item, sizes, _ = LOADS[shape]
    text = f"({lane}) ({column} p) -> lane ({thread}), item ({item} p)"
    return shared_layout(text, ("lane", "column"), (*sizes.items(), ("n", count), ("p", 2 if pack else 1)))


def copy_layout(shape: str) -> Layout:
    """Where tcgen05.cp writes row and 32-bit column of its box, from the address.

    Raises:
        Error: there is no such shape.

    >>> copy_layout("32x128b.warpx4").locate({"row": 5, "column": 1})
    ((5, 1), (37, 1), (69, 1), (101, 1))
    """
    if shape not in COPIES:
        raise Error(f"tcgen05.cp has no shape '{shape}'; its shapes are {', '.join(COPIES)}")
    text, sizes = COPIES[shape]
    return shared_layout(text, ("row", "column"), tuple(sizes.items()))


def epilogue(d: Layout, shape: str, count: int, pack: bool = False) -> Layout:
    """Which warp, thread, load and register holds each element of D once all of D's columns were loaded.

    Args:
        d: D's layout in Tensor Memory. shape, count, pack: of tcgen05.ld. The loads of a warp are numbered by
            column, then by the half of its 32 lanes for the shapes of 16 lanes.

    Raises:
        Error: D's columns are not a multiple of those that one load reads.

    >>> d = shared_layout("i j -> lane (i), column (j)", ("i", "j"), (("i", 128), ("j", 64)))
    >>> epilogue(d, "32x32b", 32).pattern
    '(i1 i0) (j1 j0) -> warp (i1), lane (i0), load (j1), item (j0)'
    """
    one = load_layout(shape, count, pack)
    rows, columns = one.extents
    if d.spans["column"] % columns:
        raise Error(
            f"D has {d.spans['column']} columns, and .{shape}.x{count} reads {columns} at a time: choose .xN so that "
            "it divides them"
        )
    lane, column, thread, item, sizes, _ = LOADS[shape]
    pair = "cta" in d.places
    text = (
        f"{'cta ' * pair}(warp half {lane}) (load {column} p) -> "
        f"{'cta (cta), ' * pair}warp (warp), lane ({thread}), load (load half), item ({item} p)"
    )
    every = {
        **sizes, "n": count, "p": 2 if pack else 1, "cta": 2, "warp": 4, "half": {32: 1, 16: 2}[rows],
        "load": d.spans["column"] // columns,
    }  # fmt: skip
    sizes = {name: size for name, size in every.items() if pair or name != "cta"}
    return d.compose(shared_layout(text, tuple(d.places), tuple(sizes.items())))


class Load(TupleRecord):
    """A tcgen05.ld by which all columns of D are read: its shape, N of .xN, and whether it packs 16-bit halves."""

    shape: str
    times: int
    pack: bool

    @property
    def name(self) -> str:
        """As PTX spells it, such as 32x32b.x32."""
        return f"{self.shape}.x{self.times}{'.pack::16b' if self.pack else ''}"


def after(d: Placement, load: Load) -> Placement:
    """The placement of D in the registers of a warpgroup after loads of all its columns.

    Raises:
        Error: D is not of 16 bits and is to be packed, or its columns are not a multiple of the load's.
    """
    if load.pack and d.bits != 16:
        raise Error(f".pack::16b is for a D of 16 bits; it has {d.bits} here")
    return d._replace(layout=epilogue(d.layout, *load), slot_bits=16 if load.pack else 32)
