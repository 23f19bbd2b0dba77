"""Elements and locations as AMD's tool spells them: `A[1][2].B4`, `v1{17}.[15:0]`, `v[1:0]{5}`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..record import Element, Instruction, Location, Operand

# The field of the encoding that names each operand's registers; sparse instructions hold K in Src2.
SOURCE_FIELDS = {"A": "Src0", "B": "Src1", "C": "Src2", "K": "Src2", "D": "Vdst"}


def heading(instruction: Instruction) -> str:
    """The two lines above every answer."""
    return f"Architecture: {instruction.architecture.title}\nInstruction: {instruction.name.upper()}\n"


def register_texts(location: Location, prefix: str = "v") -> tuple[tuple[str, str], ...]:
    """The text of a location in halves, before and after the lane; two pairs where it straddles registers.

    >>> from mmacalc import Location
    >>> register_texts(Location(lane=3, item=5, register=0, lsb=30, width=6))
    (('v0{', '}.[31:30]'), ('v1{', '}.[3:0]'))
    """
    _, _, register, lsb, width = location
    if width == 64:
        return ((f"{prefix}[{register + 1}:{register}]{{", "}"),)
    if width == 32:
        return ((f"{prefix}{register}{{", "}"),)
    last = lsb + width - 1
    if last < 32:
        return ((f"{prefix}{register}{{", f"}}.[{last}:{lsb}]"),)
    return (f"{prefix}{register}{{", f"}}.[31:{lsb}]"), (f"{prefix}{register + 1}{{", f"}}.[{last - 32}:0]")


def location_text(location: Location, prefix: str = "v") -> str:
    """A location as text.

    >>> from mmacalc import Location
    >>> location_text(Location(lane=17, item=2, register=1, lsb=0, width=16))
    'v1{17}.[15:0]'
    """
    return " ".join(f"{before}{location.lane}{after}" for before, after in register_texts(location, prefix))


def bits_text(operand: Operand, register: int, lane: int, element: Element) -> str:
    """The register, lane and bits that `Operand.contents` found an element in."""
    if element.width == 64:
        first = register & ~1
        return f"v[{first + 1}:{first}]{{{lane}}}"
    bits = "" if element.width == 32 else f".[{element.lsb + element.width - 1}:{element.lsb}]"
    return f"v{register}{{{lane}}}{bits}"


def element_text(operand: Operand, row: int, col: int, block: int) -> str:
    """An element as text; the block is named where the instruction has several.

    >>> import mmacalc
    >>> element_text(mmacalc.instruction("cdna2", "v_mfma_f32_4x4x4f16").operand("A"), 1, 2, 4)
    'A[1][2].B4'
    """
    suffix = f".B{block}" if operand.instruction.blocks > 1 else ""
    return f"{operand.name}[{row}][{col}]{suffix}"


def signed(text: str, sign: str) -> str:
    """Put the signs that `query.sign` found around an element: "-", "|" for an absolute value, or both."""
    if "|" in sign:
        text = f"|{text}|"
    return f"-{text}" if "-" in sign else text
