"""Elements and locations as AMD's tool spells them: `A[1][2].B4`, `v1{17}.[15:0]`, `v[1:0]{5}`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..answers.output_terms import NotInRegisters
    from ..model import Element, Instruction, Location, Operand

# The field of the encoding that names each operand's registers; sparse instructions hold K in Src2.
# Scales are the sources of the prefix, the first half of a 16-byte encoding.
SOURCE_FIELDS = {
    "A": "Src0", "B": "Src1", "C": "Src2", "K": "Src2", "D": "Vdst", "SA": "ScaleSrc0", "SB": "ScaleSrc1",
}  # fmt: skip


def heading(instruction: Instruction, operand: Operand | None = None) -> str:
    """The two lines above every answer, and a third where nobody has confirmed the operand's layout."""
    # PTX names are case-sensitive; AMD's tool prints mnemonics in capitals.
    name = instruction.name if is_ptx(instruction) else instruction.name.upper()
    text = f"Architecture: {instruction.architecture.title}\nInstruction: {name}\n"
    if operand is not None and operand.provenance in ("unconfirmed", "assumed"):
        text += f"Provenance: the layout of {operand.name} is {operand.provenance}\n"
    return text


def is_ptx(instruction: Instruction) -> bool:
    """Whether locations are spelt as in PTX (`mmacalc.render.ptx_text`)."""
    return instruction.architecture.vendor == "nvidia"


def place_halves(operand: Operand, location: Location, prefix: str = "v") -> tuple[tuple[str, str], ...]:
    """The text of an operand's location before and after the lane, as its vendor's users write it."""
    if is_ptx(operand.instruction):
        from . import ptx_text

        return ptx_text.halves(operand, location)
    return register_texts(location, prefix)


def place_text(operand: Operand, location: Location, prefix: str = "v") -> str:
    """An operand's location as text; `prefix` goes before AMD's registers.

    >>> import mmacalc
    >>> name = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    >>> a = mmacalc.instruction("sm_80", name).operand("A")
    >>> place_text(a, a.locate(i=9, k=3)[0])
    'a3 @ lane 5 (%r1[31:16])'
    """
    halves = place_halves(operand, location, prefix)
    return " ".join(f"{before}{location.lane}{after}" for before, after in halves)


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


def bits_text(operand: Operand, register: int, lane: int, element: Element) -> str:
    """The register, lane and bits that `Operand.contents` found an element in."""
    if is_ptx(operand.instruction):
        from . import ptx_text

        return ptx_text.held_place(operand, register, lane, element)
    if element.width == 64:
        first = register & ~1
        return f"v[{first + 1}:{first}]{{{lane}}}"
    bits = "" if element.width == 32 else f".[{element.lsb + element.width - 1}:{element.lsb}]"
    return f"v{register}{{{lane}}}{bits}"


def element_text(operand: Operand | NotInRegisters, row: int, col: int, block: int) -> str:
    """An element as text; the block is named where the instruction has several.

    >>> import mmacalc
    >>> element_text(mmacalc.instruction("cdna2", "v_mfma_f32_4x4x4f16").operand("A"), 1, 2, 4)
    'A[1][2].B4'
    """
    suffix = f".B{block}" if operand.instruction.blocks > 1 else ""
    return f"{operand.name}[{row}][{col}]{suffix}"


def held_texts(operand: Operand, found: Iterable[tuple[Element, str]]) -> list[tuple[Element, str]]:
    """Each element that a register holds, with its text; a scale is named once, with the run of k that it scales.

    >>> import mmacalc
    >>> from mmacalc.answers.output_terms import holdings
    >>> scale = mmacalc.instruction("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4").operand("SA")
    >>> [text for element, text in held_texts(scale, holdings(scale, register=0, lane=19))]
    ['SA[3][32..63]']
    """
    if operand.name not in ("SA", "SB"):
        return [(e, signed(element_text(operand, e.row, e.col, e.block), sign)) for e, sign in found]
    runs: dict[int, list[Element]] = {}
    for element, _ in found:
        runs.setdefault(element.lsb, []).append(element)
    return [
        (run[0], run_text(operand, range(run[0].row, run[-1].row + 1), range(run[0].col, run[-1].col + 1)))
        for run in runs.values()
    ]


def run_text(operand: Operand | NotInRegisters, rows: range, columns: range) -> str:
    """A run of elements as text, such as `SA[3][32..63]`."""
    texts = [f"{run[0]}" if len(run) == 1 else f"{run[0]}..{run[-1]}" for run in (rows, columns)]
    return f"{operand.name}[{texts[0]}][{texts[1]}]"


def signed(text: str, sign: str) -> str:
    """Put the signs that `query.sign` found around an element: "-", "|" for an absolute value, or both."""
    if "|" in sign:
        text = f"|{text}|"
    return f"-{text}" if "-" in sign else text
