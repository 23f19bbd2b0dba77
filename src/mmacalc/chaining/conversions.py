"""From the format of a result to that of an operand: which instructions, and how they round.

A row of the table is (formats of the result, formats of the operand, instructions, rounding). The instructions fill one
register, or those of PACKS. A target uses the first row whose instructions it has (VECTOR_INSTRUCTIONS in its catalog
file). A result in f16 or bf16 that no row takes is widened to f32 first, which is exact.

Sources: AMD's ISA guides and LLVM 22 for the names and what they take; clang 22.1.8's code for the sequences of more
than one kind (its bf16 keeps NaN: the same 11 instructions on gfx90a, gfx942 and gfx1200); PTX ISA 9.1, section
9.7.9.21 (cvt) and 9.7.9.22 (cvt.pack).
"""

from __future__ import annotations

from ..base.errors import Error
from ..base.records import TupleRecord
from ..catalog import entry
from .ways import CountedInstruction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .tiles import Tiles

    Reach = Mapping[str, int]
    from ..model import Architecture

NEAREST, LOW_BITS = "to nearest, ties to even", "the low bits"
SATURATING = f"{NEAREST}, saturating"
FP8, BF8 = ("e4m3", "e4m3fnuz"), ("e5m2", "e5m2fnuz")
PACK = "mov.b32"

# fmt: off
ROWS: tuple[tuple[tuple[str, ...], tuple[str, ...], str, str], ...] = (
    (("f32",), ("f16",), "v_cvt_pk_f16_f32", NEAREST),
    (("f32",), ("f16",), "2 v_cvt_f16_f32, v_pack_b32_f16", NEAREST),
    (("f32",), ("bf16",), "v_cvt_pk_bf16_f32", NEAREST),
    (("f32",), ("bf16",),
     "2 v_bfe_u32, 2 v_add3_u32, 2 v_or_b32, 2 v_cmp_u_f32, 2 v_cndmask_b32, v_perm_b32", NEAREST),
    (("f32",), FP8, "2 v_cvt_pk_fp8_f32", NEAREST),
    (("f32",), BF8, "2 v_cvt_pk_bf8_f32", NEAREST),
    (("f16",), ("e4m3",), "2 v_cvt_pk_fp8_f16", NEAREST),
    (("f16",), ("e5m2",), "2 v_cvt_pk_bf8_f16", NEAREST),
    (("f32",), ("e2m3",), "v_cvt_scalef32_2xpk16_fp6_f32", NEAREST),
    (("f32",), ("e3m2",), "v_cvt_scalef32_2xpk16_bf6_f32", NEAREST),
    (("f32",), ("e2m1",), "4 v_cvt_scalef32_pk_fp4_f32", NEAREST),
    (("f32",), ("e2m3",), "v_cvt_scalef32_pk16_fp6_f32", NEAREST),
    (("f32",), ("e3m2",), "v_cvt_scalef32_pk16_bf6_f32", NEAREST),
    (("f32",), ("e2m1",), "v_cvt_scalef32_pk8_fp4_f32", NEAREST),
    (("i32",), ("iu8", "i8", "u8"), "3 v_perm_b32", LOW_BITS),
    (("i32",), ("iu4", "i4", "u4"), "v_and_b32, 6 v_lshlrev_b32, 6 v_and_or_b32, v_lshl_or_b32", LOW_BITS),

    (("f32",), ("f16",), "cvt.rn.f16x2.f32", NEAREST),
    (("f32",), ("f16",), f"2 cvt.rn.f16.f32, {PACK}", NEAREST),
    (("f32",), ("bf16",), "cvt.rn.bf16x2.f32", NEAREST),
    (("f32",), ("tf32",), "cvt.rna.tf32.f32", "to nearest, ties away from zero"),
    (("f32",), ("e4m3",), f"2 cvt.rn.satfinite.e4m3x2.f32, {PACK}", SATURATING),
    (("f32",), ("e5m2",), f"2 cvt.rn.satfinite.e5m2x2.f32, {PACK}", SATURATING),
    (("f16",), ("e4m3",), f"2 cvt.rn.satfinite.e4m3x2.f16x2, {PACK}", SATURATING),
    (("f16",), ("e5m2",), f"2 cvt.rn.satfinite.e5m2x2.f16x2, {PACK}", SATURATING),
    (("f32",), ("e2m3",), f"2 cvt.rn.satfinite.e2m3x2.f32, {PACK}", SATURATING),
    (("f32",), ("e3m2",), f"2 cvt.rn.satfinite.e3m2x2.f32, {PACK}", SATURATING),
    (("f32",), ("e2m1",), f"4 cvt.rn.satfinite.e2m1x2.f32, {PACK}", SATURATING),
    (("i32",), ("i8",), "2 cvt.pack.sat.s8.s32.b32", "saturating"),
    (("i32",), ("u8",), "2 cvt.pack.sat.u8.s32.b32", "saturating"),
    (("i32",), ("i4",), "4 cvt.pack.sat.s4.s32.b32", "saturating"),
    (("i32",), ("u4",), "4 cvt.pack.sat.u4.s32.b32", "saturating"),
    (("i32",), ("b1",), "and.b32, 31 bfi.b32", "the lowest bit"),
)
# fmt: on
PACKS = {"2xpk16": 6, "pk16": 3}
"""Registers that 32 and 16 elements of six bits fill, by the word of the name that says so."""
IN_BYTES = "2 cvt.rn.satfinite.e2m1x2.f32, prmt.b32, 2 shl.b32, 2 lop3.b32"
"""e2m1 in bytes, in bits 5 to 2 of each: two bytes of two elements each are spread over the four of a register."""
WIDENINGS = {"f16": ("v_cvt_f32_f16", "cvt.f32.f16"), "bf16": ("v_lshlrev_b32", "cvt.f32.bf16")}
SAME = {"tf32": ("f32",), "xf32": ("f32",)}
"""Operands that take the codes of another format as they are: xf32 is f32 whose low bits are not read."""


class Conversion(TupleRecord):
    """How results become operands.

    source, target: the formats; instructions: (mnemonic, count) for each `registers` registers of the operand; none
    where the codes are taken as they are. rounding: in words; empty if nothing is rounded.
    """

    source: str
    target: str
    instructions: tuple[tuple[str, int], ...]
    registers: int
    rounding: str

    @property
    def counted(self) -> tuple[CountedInstruction, ...]:
        """`instructions` with names for both."""
        return tuple([CountedInstruction(*each) for each in self.instructions])


def conversion(tiles: Tiles, reach: Reach) -> Conversion:
    """The conversion that a chain needs, by the instructions that its target has."""
    source, target = tiles.source.format.name, tiles.target.format.name
    if source == target:
        return Conversion(source, target, (), 1, "")
    each = max(1, 32 // int(tiles.target.placement.slot_bits))
    if found := _row(source, target, each, reach):
        return found
    if source in SAME.get(target, ()):
        return Conversion(source, target, (), 1, "")
    for widening in WIDENINGS.get(source, ()):
        if widening in reach:
            rest = _row("f32", target, each, reach)
            if rest is None and target in ("f32", *SAME):
                return Conversion(source, target, ((widening, 1),), 1, "exact")
            if rest is not None:
                elements = rest.registers * 32 // int(tiles.target.placement.slot_bits)
                return rest._replace(source=source, instructions=((widening, elements), *rest.instructions))
    lacking = f"{tiles.source.instruction.architecture.title} has no instruction for it"
    return Conversion(source, target, (), 1, f"{NEAREST} ({lacking})")


def _row(source: str, target: str, each: int, reach: Reach) -> Conversion | None:
    for sources, targets, text, rounding in ROWS:
        if source in sources and target in targets:
            names = IN_BYTES if target == "e2m1" and each == 4 else text
            parts = [part.rpartition(" ") for part in names.split(", ")]
            instructions = tuple([(name, int(count or 1)) for count, _, name in parts])
            if all(name in reach for name, _ in instructions):
                filled = next((count for word, count in PACKS.items() if word in text), 1)
                return Conversion(source, target, instructions, filled, rounding)
    return None


# --- The instructions beside the matrix unit that a chain can use: moves between lanes, selects and conversions ---
#
# The targets of a vendor share most of them; those that not all have are in the catalog files (VECTOR_INSTRUCTIONS).
# Each has the number of lanes within which it moves data; 1 where it stays in its lane.
#
# Sources: LLVM 22.1.8 for AMD, ptxas 13.0.88 for NVIDIA; a test asks both of them for every name and target.


AMD = {
    "v_mov_b32_dpp": 16, "v_cndmask_b32_dpp": 16, "ds_swizzle_b32": 32, "v_perm_b32": 1, "v_cndmask_b32": 1,
    "v_cvt_f16_f32": 1, "v_cvt_f32_f16": 1, "v_pack_b32_f16": 1, "v_bfe_u32": 1, "v_add3_u32": 1, "v_or_b32": 1,
    "v_cmp_u_f32": 1, "v_and_b32": 1, "v_lshlrev_b32": 1, "v_and_or_b32": 1, "v_lshl_or_b32": 1,
}  # fmt: skip
PTX = {
    "shfl.sync.bfly.b32": 32, "shfl.sync.idx.b32": 32, "prmt.b32": 1, "selp.b32": 1, "mov.b32": 1, "and.b32": 1,
    "bfi.b32": 1, "shl.b32": 1, "lop3.b32": 1, "cvt.rn.f16.f32": 1, "cvt.f32.f16": 1,
}  # fmt: skip
SHARED: Mapping[str, Mapping[str, int]] = {"amd": AMD, "ptx": PTX}


def of_target(architecture: Architecture) -> Mapping[str, int]:
    """Every such instruction of an architecture, with the lanes within which it moves data.

    Raises:
        Error: the architecture's catalog file lists none.

    >>> import mmacalc
    >>> of_target(mmacalc.architecture("gfx950"))["v_permlane32_swap_b32"]
    64
    """
    listed = entry(architecture.name).vector_instructions
    if not listed and not architecture.family.grammar:
        raise Error(f"the catalog's file of {architecture.title} has no VECTOR_INSTRUCTIONS, which move data")
    return {**SHARED[architecture.family.vector_instructions], **listed}
