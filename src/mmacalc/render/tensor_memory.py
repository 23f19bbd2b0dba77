"""Tensor Memory as text and as JSON. A place is a lane and a column in words, never a register.

D[3][17] = Tensor Memory lane 3, column 17
D[200][17] = Tensor Memory of CTA 1, lane 72, column 17, bits 15:0
"""

from __future__ import annotations

from ..answers import tensor_memory as answers
from ..errors import counted
from ..families.tensor_memory_shapes import steps
from ..model.tensor_memory import TensorMemoryInstruction, TensorMemoryMove
from ..rates import dense_rate
from . import tables
from .spelling import heading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..model import Element, Instruction, Operand
    from ..model.location import LoadedLocation, TensorMemoryLocation

__all__ = ["json_object", "text"]


def _is_pair(operand: Operand) -> bool:
    inst = operand.instruction
    return isinstance(inst, TensorMemoryInstruction) and inst.form.cta_group == 2


def title_words(operand: Operand) -> str:
    """What the title of a picture says after the architecture: the shape, and the types or the load; "" elsewhere."""
    inst = operand.instruction
    if not isinstance(inst, TensorMemoryInstruction):
        return ""
    if operand.load:
        return f", M {inst.m}, N {inst.n}, after tcgen05.ld.{operand.load.name}"
    return f", M {inst.m}, N {inst.n}, K {inst.k}, {_types(inst)}"


def _types(inst: TensorMemoryInstruction) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in inst.types.items())


def lanes_text(operand: Operand, lanes: tuple[int, ...]) -> str:
    """Lanes as a sentence names them: with their CTA or warp, where there are several.

    >>> import mmacalc
    >>> d = mmacalc.instruction("B200", "tcgen05.mma.cta_group::2.kind::f16").operand("D", m=256, n=64)
    >>> lanes_text(d, (3,)), lanes_text(d, (131,)), lanes_text(d.loaded("32x32b", 32), (131,))
    ('CTA 0, lane 3,', 'CTA 1, lane 3,', 'CTA 1, warp 0, lane 3,')
    """
    if not operand.outer:
        return f"lane{'s' * (len(lanes) > 1)} {', '.join(map(str, lanes))},"
    found = []
    for lane in lanes:
        outer, own = divmod(lane, operand.wave)
        warp = f"warp {outer % 4}, " if operand.load else ""
        cta = f"CTA {outer // 4 if warp else outer}, " if operand.outer == "cta" else ""
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
        return [*found, "lanes 128 to 255 are 0 to 127 of CTA 1"] if operand.outer == "cta" else found
    found = ["lanes 128 to 255 are lanes 0 to 127 of CTA 1"] if operand.outer == "cta" else []
    if operand.name in ("SA", "SB"):
        found.append(f"s counts the bytes of the stream of scales, one for every {inst.block_size} of k")
        if layout.extents[0] > operand.shape[1]:
            found.append(f"{operand.axes[1]} = {operand.shape[1]} and above are padding")
    if "half" in layout.selectors:
        found.append(f"half = {operand.placement.fields.get('half', 0)}: bit 4 of the lane in the address")
    return [*found, operand.doubt] if operand.doubt else found


def place_text(operand: Operand, place: TensorMemoryLocation) -> str:
    """A place in words; the CTA is named where there is a pair."""
    pair = f" of CTA {place.cta}" if _is_pair(operand) else ""
    return f"Tensor Memory{pair} lane {place.lane}, column {place.column}{_bits(place.lsb, place.width)}"


def _bits(lsb: int, width: int) -> str:
    return "" if width == 32 else f", bits {lsb + width - 1}:{lsb}"


def loaded_text(place: LoadedLocation) -> str:
    """A place in a thread's registers after a load."""
    bits = "" if place.width == 32 else f"[{place.lsb + place.width - 1}:{place.lsb}]"
    return f"warp {place.warp}, lane {place.lane}, load {place.load}, %r{place.register}{bits}"


def _name(operand: Operand, row: int, col: int) -> str:
    return f"{operand.name}[{row}][{col}]"


def _heading(operand: Operand) -> str:
    inst = operand.instruction
    assert isinstance(inst, TensorMemoryInstruction)
    lines = [f"Shape: M {inst.m}, N {inst.n}, K {inst.k}; {_types(inst)}"]
    if operand.doubt:
        lines.append(f"Provenance: the layout of {operand.name} is unconfirmed: {operand.doubt}")
    if inst.remark:
        lines.append(f"Note: {inst.remark}")
    return heading(inst, None if operand.doubt else operand) + "".join([f"{line}\n" for line in lines])


def text(answer: object, style: str = "grid") -> str:
    """An answer as text; `style` is that of tables."""
    written: str = _TEXTS[type(answer)](answer, style)
    return written


def json_object(answer: object) -> dict[str, Any]:
    """The same as plain data."""
    written: dict[str, Any] = _OBJECTS[type(answer)](answer)
    return written


# --- where an element is, and what a cell holds ---


def _element_text(answer: answers.ElementCells, style: str) -> str:
    name = _name(answer.operand, answer.row, answer.col)
    lines = [f"{name} = {place_text(answer.operand, place)}\n" for place in answer.locations]
    lines += [f"{name} after the load = {loaded_text(place)}\n" for place in answer.loaded or ()]
    return _heading(answer.operand) + "".join(lines)


def _contents_text(answer: answers.CellContents, style: str) -> str:
    operand = answer.operand
    pair = f" of CTA {answer.cta}" if _is_pair(operand) else ""
    where = f"Tensor Memory{pair} lane {answer.lane}, column {answer.column}"
    lines = [f"{where}{bits} = {name}\n" for bits, name in _named(operand, answer.elements)]
    return _heading(operand) + ("".join(lines) or f"{where} holds nothing of {operand.name}\n")


def _named(operand: Operand, elements: tuple[Element, ...]) -> Iterator[tuple[str, str]]:
    """The bits and the name of each place of a cell; elements that share one are a run of k."""
    groups: dict[tuple[int, int], list[Element]] = {}
    for element in elements:
        groups.setdefault((element.lsb, element.row), []).append(element)
    for (lsb, row), run in groups.items():
        columns = str(run[0].col) if len(run) == 1 else f"{run[0].col}..{run[-1].col}"
        yield _bits(lsb, run[0].width), f"{operand.name}[{row}][{columns}]"


# --- tables ---


def _short(operand: Operand, place: TensorMemoryLocation) -> str:
    pair = f"CTA {place.cta} " if _is_pair(operand) else ""
    bits = "" if place.width == 32 else f" [{place.lsb + place.width - 1}:{place.lsb}]"
    return f"{pair}lane {place.lane} column {place.column}{bits}"


def _element_table(answer: answers.ElementTable, style: str) -> str:
    operand = answer.operand
    extents = {"i": "M", "j": "N", "k": "K"}
    corner = operand.name + "".join(f"[{extents[axis]}]" for axis in operand.axes[1:])
    header = [corner, *map(str, range(operand.shape[2]))]
    rows = [
        (str(row), *["\n".join([_short(operand, place) for place in places]) for places in line])
        for row, line in enumerate(answer.places)
    ]
    return _heading(operand) + tables.write(header, rows, style)


def _cell_table(answer: answers.CellTable, style: str) -> str:
    operand = answer.operand
    header = ["lane", *[f"column {column}" for column in range(operand.registers)]]
    rows = [
        (str(lane), *["\n".join([name for _, name in _named(operand, held)]) for held in line])
        for lane, line in enumerate(answer.cells)
    ]
    return f"{_heading(operand)}Tensor Memory of CTA {answer.cta}\n{tables.write(header, rows, style)}"


# --- patterns and instructions ---


def _pattern_text(answer: answers.Pattern, style: str) -> str:
    operand = answer.operand
    lines = [f"{operand.name}: {operand.pattern}", f"    sizes: {_sizes(operand.sizes)}"]
    if operand.name in "CD":
        lines.append("Read by the four warps of a warpgroup (one warp reads the 32 lanes of its own):")
        for reading in answers.readings(operand):
            loads = counted(reading.loads, "load")
            lines.append(
                f"    tcgen05.ld.{reading.shape}.x{reading.count}: {loads}, {counted(reading.registers, 'register')}, "
                f"runs of {reading.run} along j in a thread, lanes used: {reading.lanes_used}"
            )
            lines.append(f"        {reading.pattern}")
    if answer.loaded:
        lines += [
            f"After the load: {answer.loaded.pattern}",
            f"    sizes: {_sizes(answer.loaded.sizes)}",
        ]
    return _heading(operand) + "".join([f"{line}\n" for line in lines])


def _sizes(sizes: dict[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in sizes.items())


def _detail_text(answer: answers.Detail, style: str) -> str:
    inst = answer.instruction
    lines = [
        f"Targets: {', '.join(inst.targets)}",
        "Shapes (in the instruction descriptor, so no assembler checks them):",
    ]
    lines += [f"    {name}: {steps(values)}" for name, values in (("M", answer.m), ("N", answer.n), ("K", answer.k))]
    lines.append("Types:")
    lines.append(f"    A, B: {', '.join(answer.inputs) or 'not published'}")
    lines.append(f"    C, D: {', '.join(answer.outputs) or 'not published'}")
    if inst.scaled:
        lines.append(f"    SA, SB: a scale for every {inst.block_size} of k")
    if answer.transposes:
        lines.append(f"May be MN-major in shared memory: {answer.transposes}")
    lines.append("Operands: A in shared or Tensor Memory; B in shared memory; C, D and the rest in Tensor Memory")
    lines.append(f"SASS: {inst.sass} (the types are in idesc[URx])")
    if rate := dense_rate(inst):
        lines.append(f"Dense FMA per clock and SM: {rate} ({inst.architecture.fma_source})")
    return heading(inst) + "".join([f"    {line}\n" for line in lines])


def statement(inst: Instruction) -> str:
    """What follows the name of a tcgen05.mma in PTX: its operands by the PTX ISA's names.

    >>> import mmacalc
    >>> statement(mmacalc.instruction("B200", "tcgen05.mma.sp.cta_group::1.kind::f16"))
    ' [d-tmem], a-desc, b-desc, [sp-meta-tmem], idesc, enable-input-d;'
    """
    names = ["[d-tmem]", "a-desc", "b-desc", *["[sp-meta-tmem]"] * inst.sparse, "idesc"]
    names += ["[scale-a-tmem]", "[scale-b-tmem]"] if inst.scaled else []
    return f" {', '.join([*names, 'enable-input-d'])};"


def _move_text(answer: answers.Move, style: str) -> str:
    inst = answer.instruction
    lines = [f"Targets: {', '.join(inst.targets)}"]
    if inst.layout is not None:
        axes = " and ".join(inst.layout.axes)
        lines += [f"From {axes}: {inst.layout.pattern}", f"    sizes: {_sizes(inst.layout.trimmed_sizes)}"]
        lines.append(
            "    lane and column count from the address"
            if "item" in inst.layout.places
            else "    row and column of the box in shared memory; lane and column count from the address"
        )
    lines.append(f"SASS: {inst.sass}" if inst.sass else "SASS: none of its own")
    return heading(inst) + "".join([f"    {line}\n" for line in lines])


def _moved_text(answer: answers.MovedCell, style: str) -> str:
    lines = [
        f"Tensor Memory lane {answer.lane}, column {answer.column} = lane {place.lane}, %r{place.register}"
        f"{'' if place.width == 32 else f'[{place.lsb + 15}:{place.lsb}]'}\n"
        for place in answer.locations
    ]
    return heading(answer.instruction) + "".join(lines)


# --- JSON ---


def _operand_object(operand: Operand) -> dict[str, Any]:
    inst = operand.instruction
    assert isinstance(inst, TensorMemoryInstruction)
    return {
        "architecture": inst.arch, "instruction": inst.name, "matrix": operand.name,
        "m": inst.m, "n": inst.n, "k": inst.k, "types": inst.types, "space": "tensor memory",
        "provenance": operand.provenance, "doubt": operand.doubt or None,
    }  # fmt: skip


def _element_object(answer: answers.ElementCells) -> dict[str, Any]:
    _, first, second = answer.operand.axes
    loaded = None if answer.loaded is None else [place._asdict() for place in answer.loaded]
    return {
        **_operand_object(answer.operand),
        "element": {first: answer.row, second: answer.col},
        "locations": [place._asdict() for place in answer.locations],
        "loaded": loaded,
    }


def _elements(operand: Operand, elements: tuple[Element, ...]) -> list[dict[str, int]]:
    _, first, second = operand.axes
    return [{first: e.row, second: e.col, "lsb": e.lsb, "width": e.width} for e in elements]


def _contents_object(answer: answers.CellContents) -> dict[str, Any]:
    place = {"cta": answer.cta, "lane": answer.lane, "column": answer.column}
    return {**_operand_object(answer.operand), **place, "elements": _elements(answer.operand, answer.elements)}


def _element_table_object(answer: answers.ElementTable) -> dict[str, Any]:
    places = [[[place._asdict() for place in cell] for cell in row] for row in answer.places]
    return {**_operand_object(answer.operand), "axes": list(answer.operand.axes[1:]), "locations": places}


def _cell_table_object(answer: answers.CellTable) -> dict[str, Any]:
    cells = [[_elements(answer.operand, cell) for cell in row] for row in answer.cells]
    return {**_operand_object(answer.operand), "cta": answer.cta, "cells": cells}


def _pattern_object(answer: answers.Pattern) -> dict[str, Any]:
    operand, loaded = answer.operand, answer.loaded
    after = None if loaded is None else {"pattern": loaded.pattern, "sizes": loaded.sizes}
    reads = []
    for reading in answers.readings(operand) if operand.name in "CD" else ():
        reads.append({field: getattr(reading, field) for field in reading._fields})
    return {
        **_operand_object(operand),
        "pattern": operand.pattern,
        "sizes": operand.sizes,
        "loaded": after,
        "readings": reads,
    }


def _detail_object(answer: answers.Detail) -> dict[str, Any]:
    inst = answer.instruction
    return {
        "architecture": inst.arch, "instruction": inst.name, "targets": list(inst.targets), "m": list(answer.m),
        "n": list(answer.n), "k": list(answer.k), "inputs": list(answer.inputs), "outputs": list(answer.outputs),
        "transposes": answer.transposes or None, "sparse": inst.sparse, "block_size": inst.block_size or None,
        "sass": inst.sass or None,
    }  # fmt: skip


def _move_object(answer: answers.Move) -> dict[str, Any]:
    inst = answer.instruction
    layout = None if inst.layout is None else {"pattern": inst.layout.pattern, "sizes": inst.layout.trimmed_sizes}
    return {"architecture": inst.arch, "instruction": inst.name, "targets": list(inst.targets), "layout": layout}


def _moved_object(answer: answers.MovedCell) -> dict[str, Any]:
    return {
        "architecture": answer.instruction.arch, "instruction": answer.instruction.name, "lane": answer.lane,
        "column": answer.column, "locations": [place._asdict() for place in answer.locations],
    }  # fmt: skip


_TEXTS: dict[type, Any] = {
    answers.ElementCells: _element_text, answers.CellContents: _contents_text, answers.ElementTable: _element_table,
    answers.CellTable: _cell_table, answers.Pattern: _pattern_text, answers.Detail: _detail_text,
    answers.Move: _move_text, answers.MovedCell: _moved_text,
}  # fmt: skip
_OBJECTS: dict[type, Any] = {
    answers.ElementCells: _element_object, answers.CellContents: _contents_object,
    answers.ElementTable: _element_table_object, answers.CellTable: _cell_table_object,
    answers.Pattern: _pattern_object, answers.Detail: _detail_object, answers.Move: _move_object,
    answers.MovedCell: _moved_object,
}  # fmt: skip
