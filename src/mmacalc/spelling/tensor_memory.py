"""Tensor Memory as text. A place is a lane and a column in words, never a register.

D[3][17] = Tensor Memory lane 3, column 17
D[200][17] = Tensor Memory of CTA 1, lane 72, column 17, bits 15:0
"""

from __future__ import annotations

from ..base.errors import counted
from ..model.tensor_memory import TensorMemoryInstruction, TensorMemoryMove

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Instruction, Operand
    from ..model.location import LoadedLocation, TensorMemoryLocation

__all__ = [
    "bits_text",
    "is_pair",
    "lanes_text",
    "loaded_text",
    "notes",
    "place_text",
    "statement",
    "title_words",
    "types_text",
]


def is_pair(operand: Operand) -> bool:
    """Whether the operand is in the Tensor Memory of two CTAs."""
    inst = operand.instruction
    return isinstance(inst, TensorMemoryInstruction) and inst.form.cta_group == 2


def title_words(operand: Operand) -> str:
    """What the title of a picture says after the architecture: the shape, and the types or the load; "" elsewhere."""
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
    found = []
    for lane in lanes:
        outer, own = divmod(lane, operand.wave)
        warp = f"warp {outer % 4}, " if operand.load else ""
        cta = f"CTA {outer // 4 if warp else outer}, " if operand.wave_place == "cta" else ""
        found.append(f"{cta}{warp}lane {own}")
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
        found = [f"lane 32 w + t is lane t of warp w; {counted(loads, 'load')} of {counted(each, 'register')}"]
        return [*found, "lanes 128 to 255 are 0 to 127 of CTA 1"] if operand.wave_place == "cta" else found
    found = ["lanes 128 to 255 are lanes 0 to 127 of CTA 1"] if operand.wave_place == "cta" else []
    if operand.name in ("SA", "SB"):
        found.append(f"s counts the bytes of the stream of scales, one for every {inst.block_size} of k")
        if layout.extents[0] > operand.shape[1]:
            found.append(f"{operand.axes[1]} = {operand.shape[1]} and above are padding")
    if "half" in layout.selectors:
        found.append(f"half = {operand.placement.fields.get('half', 0)}: bit 4 of the lane in the address")
    return [*found, operand.doubt] if operand.doubt else found


def place_text(operand: Operand, place: TensorMemoryLocation) -> str:
    """A place in words; the CTA is named where there is a pair."""
    pair = f" of CTA {place.cta}" if is_pair(operand) else ""
    return f"Tensor Memory{pair} lane {place.lane}, column {place.column}{bits_text(place.lsb, place.width)}"


def bits_text(lsb: int, width: int) -> str:
    """The bits of a column, where an element has a part of them."""
    return "" if width == 32 else f", bits {lsb + width - 1}:{lsb}"


def loaded_text(place: LoadedLocation) -> str:
    """A place in a thread's registers after a load."""
    bits = "" if place.width == 32 else f"[{place.lsb + place.width - 1}:{place.lsb}]"
    return f"warp {place.warp}, lane {place.lane}, load {place.load}, %r{place.register}{bits}"


def statement(inst: Instruction) -> str:
    """What follows the name of a tcgen05.mma in PTX: its operands by the PTX ISA's names.

    >>> import mmacalc
    >>> statement(mmacalc.instruction("B200", "tcgen05.mma.sp.cta_group::1.kind::f16"))
    ' [d-tmem], a-desc, b-desc, [sp-meta-tmem], idesc, enable-input-d;'
    """
    names = ["[d-tmem]", "a-desc", "b-desc", *["[sp-meta-tmem]"] * inst.sparse, "idesc"]
    names += ["[scale-a-tmem]", "[scale-b-tmem]"] if inst.scaled else []
    return f" {', '.join([*names, 'enable-input-d'])};"
