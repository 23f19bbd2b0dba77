"""Locations as AMD's tool spells them: `v1{17}.[15:0]`, `v[1:0]{5}`; the lane stands in braces."""

from __future__ import annotations

from . import Spelling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model import Element, Instruction, Location, Operand
    from ..questions.classic.layouts import RegisterColumn

__all__ = ["SOURCE_FIELDS", "SPELLING", "by_halves", "halves"]

# The field of the encoding that names each operand's registers; sparse instructions hold K in Src2.
# Scales are the sources of the prefix, the first half of a 16-byte encoding.
SOURCE_FIELDS = {
    "A": "Src0", "B": "Src1", "C": "Src2", "K": "Src2", "D": "Vdst", "SA": "ScaleSrc0", "SB": "ScaleSrc1",
}  # fmt: skip


def instruction_name(instruction: Instruction) -> str:
    """A mnemonic in capitals, as AMD's tool prints it."""
    return instruction.name.upper()


def halves(operand: Operand, location: Location, prefix: str = "v") -> tuple[tuple[str, str], ...]:
    """The text of a location before and after the lane; two pairs where it straddles registers.

    >>> import mmacalc
    >>> a = mmacalc.instruction("gfx950", "v_mfma_f32_16x16x128_f8f6f4").operand("A", cbsz="fp6")
    >>> halves(a, a.locate(i=3, k=5)[0])
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


def place(operand: Operand, location: Location, prefix: str = "v") -> str:
    """The text of a location."""
    return " ".join([f"{before}{location.lane}{after}" for before, after in halves(operand, location, prefix)])


def lane_texts(operand: Operand, location: Location, mark: Callable[[str], str]) -> list[str]:
    """The texts of an item's place in every lane, each line of them marked."""
    return by_halves(halves(operand, location), operand.lanes, mark)


def by_halves(pairs: tuple[tuple[str, str], ...], lanes: int, mark: Callable[[str], str]) -> list[str]:
    """As `lane_texts`, from what stands before and after the lane."""
    template = "\n".join([mark("\0".join(pair)) for pair in pairs])  # a NUL stands for the lane
    return [template.replace("\0", str(lane)) for lane in range(lanes)]


def held_place(operand: Operand, register: int, lane: int, element: Element) -> str:
    """The register, lane and bits that `Operand.contents` found an element in."""
    if element.width == 64:
        first = register & ~1
        return f"v[{first + 1}:{first}]{{{lane}}}"
    bits = "" if element.width == 32 else f".[{element.lsb + element.width - 1}:{element.lsb}]"
    return f"v{register}{{{lane}}}{bits}"


def column_title(operand: Operand, column: RegisterColumn) -> str:
    """The heading of a column in a table of registers."""
    register, lsb, width = column.register, column.lsb, column.width
    if width == 64:
        return f"v[{register + 1}:{register}]"
    return f"v{register}" if width == 32 else f"v{register}.[{lsb + width - 1}:{lsb}]"


SPELLING = Spelling(
    register="VGPR", lane="lane", names=("v{0}", "v[{0}:{1}]"), counted=False,
    not_encoded="It is not published how this instruction is encoded.", source_fields=SOURCE_FIELDS,
    instruction_name=instruction_name, place=place, lane_texts=lane_texts, held_place=held_place,
    column_title=column_title,
)  # fmt: skip
