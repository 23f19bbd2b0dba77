"""DPAS, the matrix instruction of Intel's Xe: three operands that lie row by row, and one that is packed by columns.

A general register (GRF) is a row of 32-bit channels: 8 on Xe-HP and Xe-HPG, 16 on Xe-HPC and Xe2. A lane here is such
a channel, and a register is a GRF, so `register=3, lane=5` is the sixth dword of r3.

    A, C, D   row by row in the order of the bytes, rows and registers without gaps: l rows share a register, h counts
              registers, d dwords of a row, e elements of a dword. The last register may be half full.
    B         every column is packed into the dwords of its own channel: d counts registers, e elements of a dword.

So B, C and D of 32 bits lie as SIMD lanes hold them. A is read by all channels: its layout in the work items of a
sub-group is a convention of the languages above (`work_items`), 16 or 32 bits of each row in every work item.

DPASW reads A from both of two fused EUs: the first half of its registers from the first, the rest from the second.

Sources: IGC's documentation/visa/instructions/DPAS.md and DPASW.md, and visa/G4_IR.cpp (G4_InstDpas::computeRightBound:
"dst and src0 are always packed", "src2 is uniform"), commit 98fff716; the Khronos extensions
cl_intel_subgroup_matrix_multiply_accumulate (also _tf32) and cl_intel_subgroup_split_matrix_multiply_accumulate for the
work items. Nothing here was measured on hardware.
"""

from __future__ import annotations

from . import AXES, NEIGHBOURS, Family, Placement, packed, shared_layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..layout import Layout
    from ..model import Instruction

__all__ = ["DPAS", "SOURCES", "TYPES", "vector_type", "work_items"]

ROWS = "(w h l) (d e) -> eu (w), lane (l d), item (h e)"
COLUMNS = "(d e) j -> lane (j), item (d e)"
# Of work items: an element of the vector has the share of a row, or of tf32 in 16 work items two rows side by side.
ITEMS = "(h l) (d e) -> lane (l d), item (h e)"

# Scales of BDPAS: a byte for p consecutive k. Of two blocks of k the second begins 32 bytes behind the first; `subreg`
# is where in the register the scales begin, in units of those of one block (visa/G4_IR.cpp, footprint of G4_InstDpas).
SCALES_A = "b (id ie) (kb p) -> lane (kb subreg id), item (ie)"
SCALES_B = "b (kb p) (jd je) -> lane (kb subreg jd), item (je)"

SOURCES = {"D": "Dst", "C": "Src0", "B": "Src1", "A": "Src2", "SB": "Src3", "SA": "Src4"}

# IGC's names of types, with the formats' names here. `ub` and `b` are how iga64 prints u8 and s8.
TYPES = {
    "f": "f32", "hf": "f16", "bf": "bf16", "tf32": "tf32", "bf8": "e5m2", "hf8": "e4m3", "e2m1": "e2m1", "d": "i32",
    "ud": "u32",
    "u8": "u8", "s8": "i8", "u4": "u4", "s4": "i4", "u2": "u2", "s2": "i2", "ub": "u8", "b": "i8",
}  # fmt: skip


class _Dpas(Family):
    def operands(self, instruction: Instruction) -> tuple[str, ...]:
        """A (src2), B (src1), C (src0) and D; the scales of A (src4) and B (src3)."""
        return ("A", "B", "C", "D", "SA", "SB") if instruction.scaled else ("A", "B", "C", "D")

    def place(self, instruction: Instruction, operand: str, wave: int, fields: Mapping[str, int]) -> Placement:
        """The placement of one operand."""
        bits = instruction.format_of(operand).bits
        elements = NEIGHBOURS[bits]
        if operand in ("SA", "SB"):
            return packed(_scales(instruction, operand), bits)
        if operand == "B":
            sizes = {"d": instruction.k // elements, "e": elements, "j": wave}
            return packed(shared_layout(f"b {COLUMNS}", AXES["B"], tuple({"b": 1, **sizes}.items())), bits)
        dwords = (instruction.k if operand == "A" else instruction.n) // elements
        eus = 2 if operand == "A" and "fused" in instruction.features else 1
        return packed(_rows(instruction.m, dwords, elements, wave, eus, AXES[operand]), bits)


def _scales(instruction: Instruction, operand: str) -> Layout:
    """The scales of a row of A or of a column of B, as bytes of one register."""
    axis, text, rows = ("i", SCALES_A, instruction.m) if operand == "SA" else ("j", SCALES_B, instruction.n)
    size, blocks = instruction.block_size, instruction.k // instruction.block_size
    dwords = rows // 4
    sizes = {"b": 1, "kb": blocks, "p": size, f"{axis}d": dwords, f"{axis}e": 4,
             "subreg": instruction.n // (blocks * dwords)}  # fmt: skip
    return shared_layout(text, AXES[operand], tuple(sizes.items()))


def _rows(rows: int, dwords: int, elements: int, channels: int, eus: int, axes: tuple[str, ...]) -> Layout:
    beside = min(rows, channels // dwords)
    registers = -(-rows // beside)
    eus = min(eus, registers)
    sizes = {"b": 1, "w": eus, "h": -(-registers // eus), "l": beside, "d": dwords, "e": elements}
    text = f"b {ROWS}" if eus > 1 else f"b {ROWS}".replace("eu (w), ", "").replace("(w ", "(")
    whole = sizes["h"] * beside * eus
    return shared_layout(text, axes, tuple(sizes.items()), (("i", rows),) if whole != rows else ())


def work_items(instruction: Instruction, operand: str) -> tuple[Layout, int] | None:
    """An operand as the work items of a sub-group hold it in OpenCL, and the bits of one element of their vectors.

    None where they cannot: rows of A that leave a work item less than 8 bits, and DPASW's A, which two sub-groups hold.

    >>> import mmacalc
    >>> a = mmacalc.instruction("xe-hpc", "dpas.8x8.f.f.bf.bf")
    >>> work_items(a, "A")[0].pattern, work_items(a, "A")[1]
    ('i k -> lane (k), item (i)', 16)
    """
    bits, axes = instruction.format_of(operand).bits, AXES[operand][1:]
    if operand in ("SA", "SB"):
        return _scale_items(instruction, operand)
    if operand == "B":
        e = NEIGHBOURS[bits]
        sizes = {"d": instruction.k // e, "e": e, "j": instruction.n}
        return shared_layout(COLUMNS, axes, tuple(sizes.items())), 32
    columns = instruction.k if operand == "A" else instruction.n
    share = columns * bits // instruction.n
    width = max(share, bits)
    if width % 8 or ("fused" in instruction.features and operand == "A"):
        return None
    beside, elements = min(instruction.m, width // share), width // bits
    steps = -(-instruction.m // beside)
    sizes = {"h": steps, "l": beside, "d": columns // elements, "e": elements}
    extents = (("i", instruction.m),) if steps * beside != instruction.m else ()
    return shared_layout(ITEMS, axes, tuple(sizes.items()), extents), width


def vector_type(instruction: Instruction, operand: str, width: int, count: int) -> str:
    """OpenCL's type of an operand in a work item, as the extensions' functions take it.

    Args:
        width: bits of an element of the vector. count: its elements.

    >>> import mmacalc
    >>> product = mmacalc.instruction("xe-hpc", "dpas.8x8.f.f.hf.hf")
    >>> vector_type(product, "A", 16, 8), vector_type(product, "B", 32, 8), vector_type(product, "D", 32, 8)
    ('short8', 'int8', 'float8')
    """
    form = instruction.format_of(operand)
    if form.name in ("f32", "tf32"):
        kind = "float"
    elif form.name == "f16" and operand in ("C", "D"):
        kind = "half"
    else:
        unsigned = form.kind == "unsigned" or operand in ("SA", "SB")
        kind = "u" * unsigned + {32: "int", 16: "short", 8: "char"}[width]
    return f"{kind}{count}" if count > 1 else kind


def _scale_items(instruction: Instruction, operand: str) -> tuple[Layout, int]:
    """The scales as work items hold them: uchar, of two blocks of k uchar2; those of A's rows are there twice."""
    size, blocks = instruction.block_size, instruction.k // instruction.block_size
    sizes = {"kb": blocks, "p": size, "r": instruction.n // instruction.m, "i": instruction.m, "j": instruction.n}
    text = "i (kb p) -> lane (*r i), item (kb)" if operand == "SA" else "(kb p) j -> lane (j), item (kb)"
    kept = ("kb", "p", "r", "i") if operand == "SA" else ("kb", "p", "j")
    return shared_layout(text, AXES[operand][1:], tuple([(name, sizes[name]) for name in kept])), 8


NO_CYCLES = "Intel publishes neither the cycles of DPAS nor when a dependent instruction can follow"
DPAS = _Dpas(
    "dpas", ("fused", "scale"), vendor="intel", grammar="dpas", spelling="dpas", assembler="dpas",
    functions="opencl",
    unsupported_topics={
        "arithmetic": "how {title} rounds is undocumented, so it is not computed here",
        "waits": f"{NO_CYCLES}: {{title}} tracks dependences by tokens ($0 to $31), which IGC sets",
        "launch": "launch runs waves of AMD architectures; {title} is not one",
        "generate": "kernels are generated in HIP and CUDA; {title} has neither",
        "estimate": f"{NO_CYCLES}; no time can be estimated for {{title}}",
        "chain": "a chain needs instructions that move data between lanes, which are not described for {title}",
        "memory": "how {title} serves accesses to its shared local memory is not published",
    },
)  # fmt: skip
