"""Tensor Memory as text. A place is a lane and a column in words, never a register.

D[3][17] = Tensor Memory lane 3, column 17
D[200][17] = Tensor Memory of CTA 1, lane 72, column 17, bits 15:0
"""

from __future__ import annotations

from ..base.errors import plural
from ..model.operand import TensorMemoryLocation
from ..model.tensor_memory import TensorMemoryInstruction, TensorMemoryMove
from . import ptx

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Element, Instruction, Operand
    from ..model.operand import LoadedLocation
    from ..questions.classic.layouts import RegisterColumn

__all__ = ["CELLS", "LOADED", "bits_text", "short_place", "statement", "types_text"]


def _is_pair(operand: Operand) -> bool:
    """Whether the operand is in the Tensor Memory of two CTAs."""
    inst = operand.instruction
    return isinstance(inst, TensorMemoryInstruction) and inst.form.cta_group == 2


def parameters(operand: Operand) -> str:
    """The shape, and the types or the load."""
    inst = operand.instruction
    if not isinstance(inst, TensorMemoryInstruction):
        return ""
    if operand.load:
        return f", M {inst.m}, N {inst.n}, after tcgen05.ld.{operand.load.name}"
    return f", M {inst.m}, N {inst.n}, K {inst.k}, {types_text(inst)}"


def types_text(inst: TensorMemoryInstruction) -> str:
    """The types of the operands."""
    return ", ".join(f"{name} {kind}" for name, kind in inst.types.items())


def lanes_text(operand: Operand, lanes: tuple[int, ...]) -> str:
    """Lanes as a sentence names them: with their CTA or warp, where there are several.

    >>> import mmacalc
    >>> d = mmacalc.instruction("B200", "tcgen05.mma.cta_group::2.kind::f16").operand("D", m=256, n=64)
    >>> lanes_text(d, (3,)), lanes_text(d, (131,)), lanes_text(d.loaded("32x32b", 32), (131,))
    ('CTA 0, lane 3,', 'CTA 1, lane 3,', 'CTA 1, warp 0, lane 3,')
    """
    if not operand.wave_place:
        return f"lane{'s' * (len(lanes) > 1)} {', '.join(map(str, lanes))},"
    parts = [name for name, _ in operand.parts.lane if name != "cta" or operand.wave_place == "cta"]
    words = {"cta": "CTA"}
    found = []
    for lane in lanes:
        values = operand.lane_parts(lane)
        found.append(", ".join([f"{words.get(name, name)} {values[name]}" for name in parts]))
    return f"{'; '.join(found)},"


def notes(operand: Operand) -> list[str]:
    """What a reader of a picture must know besides."""
    inst, layout = operand.instruction, operand.layout
    if isinstance(inst, TensorMemoryMove):
        if inst.to_registers:
            return ["L and C: the lane and column from the address; tiles name lanes of the warp"]
        return [
            "R and C: the row and 32-bit column of the box in shared memory; lanes and columns count from the address"
        ]
    if operand.load:
        each, loads = operand.registers // layout.spans["load"], layout.spans["load"]
        found = [f"lane 32 w + t is lane t of warp w; {plural(loads, 'load')} of {plural(each, 'register')}"]
        return [*found, "lanes 128 to 255 are 0 to 127 of CTA 1"] if operand.wave_place == "cta" else found
    found = ["lanes 128 to 255 are lanes 0 to 127 of CTA 1"] if operand.wave_place == "cta" else []
    if operand.name in ("SA", "SB"):
        found.append(f"s counts the bytes of the stream of scales, one for every {inst.block_size} of k")
        if layout.extents[0] > operand.shape[1]:
            found.append(f"{operand.axes[1]} = {operand.shape[1]} and above are padding")
    if "half" in layout.selectors:
        found.append(f"half = {operand.placement.fields.get('half', 0)}: bit 4 of the lane in the address")
    return [*found, operand.doubt] if operand.doubt else found


def place(operand: Operand, at: TensorMemoryLocation, prefix: str = "") -> str:
    """A place in words; the CTA is named where there is a pair."""
    pair = f" of CTA {at.cta}" if _is_pair(operand) else ""
    return f"Tensor Memory{pair} lane {at.lane}, column {at.column}{bits_text(at.lsb, at.width)}"


def short_place(operand: Operand, at: TensorMemoryLocation) -> str:
    """A place as a cell of a table has it."""
    pair = f"CTA {at.cta} " if _is_pair(operand) else ""
    bits = "" if at.width == 32 else f" [{at.lsb + at.width - 1}:{at.lsb}]"
    return f"{pair}lane {at.lane} column {at.column}{bits}"


def held_place(operand: Operand, column: int, lane: int, element: Element) -> str:
    """The cell and the bits in which an element was found; `lane` counts those of the second CTA after the first's."""
    parts = operand.lane_parts(lane)
    return place(operand, TensorMemoryLocation(parts["cta"], parts["lane"], column, element.lsb, element.width))


def column_title(operand: Operand, column: RegisterColumn) -> str:
    """The heading of a column of cells."""
    return f"column {column.register}"


def bits_text(lsb: int, width: int) -> str:
    """The bits of a column, where an element has a part of them."""
    return "" if width == 32 else f", bits {lsb + width - 1}:{lsb}"


def loaded_place(operand: Operand, at: LoadedLocation, prefix: str = "") -> str:
    """A place in a thread's registers after a load."""
    return f"warp {at.warp}, lane {at.lane}, load {at.load}, {ptx.bits_of(at.register, at.lsb, at.width)}"


def statement(inst: Instruction) -> str:
    """What follows the name of a tcgen05.mma in PTX: its operands by the PTX ISA's names.

    >>> import mmacalc
    >>> statement(mmacalc.instruction("B200", "tcgen05.mma.sp.cta_group::1.kind::f16"))
    ' [d-tmem], a-desc, b-desc, [sp-meta-tmem], idesc, enable-input-d;'
    """
    names = ["[d-tmem]", "a-desc", "b-desc", *["[sp-meta-tmem]"] * inst.sparse, "idesc"]
    names += ["[scale-a-tmem]", "[scale-b-tmem]"] if inst.scaled else []
    return f" {', '.join([*names, 'enable-input-d'])};"


LOADED = ptx.SPELLING._replace(place=loaded_place, lanes=lanes_text, parameters=parameters, notes=notes)
"""In registers, after a load or in a move."""

CELLS = LOADED._replace(
    register="column", names=("column {0}", "column {0}"), place=place, held_place=held_place, column_title=column_title
)
"""In Tensor Memory."""
