"""Loads that transpose: DS_READ_B64_TR_*, DS_LOAD_TR16_B128, GLOBAL_LOAD_TR*_B128, compiled.

Which lane receives which element is in the catalog: see `mmacalc.memory_access.transpose_loads` for the sources.
"""

from __future__ import annotations

import numpy as np

from ...errors import Error
from ...memory_access.transpose_loads import transpose_loads
from .access_names import Access, offset_of
from .active_lanes import ActiveLanes
from .global_steps import global_addresses, loaded_words
from .local_steps import lds_access
from .operands import raw_reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...arrays import Array
    from ...asm.decoded import DecodedInstruction
    from ...memory_access.transpose_loads import TransposeLoad
    from .state import Group
    from .target import MachineTarget

__all__ = ["transposing_access", "transposing_step"]


def _load(name: str, target: MachineTarget) -> TransposeLoad | None:
    for load in transpose_loads(target.name):
        if name in (load.name, *load.aliases):
            return load
    return None


def transposing_access(name: str, target: MachineTarget) -> Access | None:
    """The access of a transposing load; None of other instructions.

    Raises:
        Error: its layout, or that of this wave size, is not published.
    """
    load = _load(name, target) if "_tr" in name else None
    if load is None:
        return None
    if "unconfirmed" in (load.received_by, load.fetched_by):
        raise Error(f"{name} is not covered: {load.caveats}")
    if target.generation == "gfx12" and target.wave == 64:
        raise Error(f"{name} in wave64 is not covered: it was measured in wave32 only")
    return Access("ds" if load.memory == "LDS" else "global", "load", 4 * load.registers)


def transposing_step(instruction: DecodedInstruction, access: Access, target: MachineTarget) -> Callable[[Group], None]:
    """The function of a transposing load."""
    load = _load(instruction.name, target)
    assert load is not None
    lanes_from, items_from = _sources(load, target.wave)
    first = instruction.destinations[0][1]
    local = access.unit == "ds"
    base, offset = raw_reader(instruction.sources[0]), offset_of(instruction)
    addresses = None if local else global_addresses(instruction, access)

    def run(group: Group) -> None:
        if group.mask is not None:
            text = "runs while lanes are inactive, whose part of the tile is then undefined"
            group.batch.reporter.find("exec", group.numbers(), instruction, text, ~group.mask)
        if addresses is None:
            lanes = ActiveLanes(group, base(group).astype(np.int64) + offset & 0xFFFFFFFF, access.size)
            words = lds_access(group, lanes, instruction, access, None, delayed=True)
        else:
            lanes = ActiveLanes(group, addresses(group), access.size)
            words = loaded_words(group, lanes, instruction, access)
        if words is None:
            return
        table = np.stack([lanes.spread(word) for word in words], axis=-1)
        bits = np.unpackbits(table.view(np.uint8), axis=-1, bitorder="little")
        elements = bits.reshape(*table.shape[:2], load.elements, load.bits)[:, lanes_from, items_from]
        packed = np.packbits(elements.reshape(*table.shape[:2], -1), axis=-1, bitorder="little").view(np.uint32)
        for number in range(load.registers):
            group.write(group.v, first + number, packed[..., number])

    return run


def _sources(load: TransposeLoad, wave: int) -> tuple[Array, Array]:
    """Of each lane and each slot of its registers, the lane whose address fetches the element, and where there."""
    lanes = np.zeros((wave, load.elements), np.int64)
    items = np.zeros((wave, load.elements), np.int64)
    for lane in range(wave):
        start, place = lane // load.lanes * load.lanes, lane % load.lanes
        for slot in range(load.elements):
            (element,) = load.lane_receives.contents((place, slot))
            ((lane_from, item),) = load.lane_fetches.locate(dict(zip(("k", "i"), element)))
            lanes[lane, slot], items[lane, slot] = start + lane_from, item
    return lanes, items
