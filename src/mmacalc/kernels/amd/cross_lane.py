"""Instructions that move data between lanes: readlane, permutes, swizzles, swaps."""

from __future__ import annotations

import numpy as np

from .modifiers import modifiers_of
from .operands import raw_reader, scalar_row, writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from .operands import Reader, Writer
    from .state import Group
    from .target import MachineTarget

    Run = Callable[[Group], None]

__all__ = ["CROSS_LANE"]


def swizzle_lanes(offset: int, lanes: int) -> Array:
    """The lane that each lane reads under DS_SWIZZLE_B32.

    Source: RDNA3 and Vega ISA guides, DS_SWIZZLE_B32: quad permutes, bit masks in groups of 32, rotation, and the order
    of a fast Fourier transform.
    """
    lane, mask, mode = np.arange(lanes), offset & 31, offset >> 13
    if mode == 0b111:
        turned = sum((lane >> bit & 1) << 4 - bit for bit in range(5))
        return (lane & ~31) | (lane & mask) | (turned >> mask.bit_count())
    if mode == 0b110:
        by = offset >> 5 & 31
        moved = (lane & 31) + (-by if offset & 0x400 else by)
        return (lane & ~31) | (lane & mask) | (moved & 31 & ~mask)
    if offset & 0x8000:
        return (lane & ~3) + (offset >> 2 * (lane & 3) & 3)
    kept, either, flipped = offset & 31, offset >> 5 & 31, offset >> 10 & 31
    return (lane & ~31) | (((lane & 31 & kept) | either) ^ flipped)


def _whole(group: Group, value: Array) -> Array:
    return np.broadcast_to(value, (group.count, group.lanes))


def _read_first_lane(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    """The value of the lowest active lane, of lane 0 if none is."""
    read, row = raw_reader(instruction.sources[0]), scalar_row(instruction.destinations[0])

    def run(group: Group) -> None:
        first = np.zeros(group.count, np.int64) if group.mask is None else group.mask.argmax(axis=1)
        group.write_scalar(row, _whole(group, read(group))[np.arange(group.count), first])

    return run


def _lane_number(group: Group, read: Callable[[Group], Array]) -> Array:
    number: Array = np.broadcast_to(read(group)[:, 0], (group.count,)).astype(np.int64) & group.lanes - 1
    return number


def _read_lane(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    read, which = raw_reader(instruction.sources[0]), raw_reader(instruction.sources[1])
    row = scalar_row(instruction.destinations[0])

    def run(group: Group) -> None:
        group.write_scalar(row, _whole(group, read(group))[np.arange(group.count), _lane_number(group, which)])

    return run


def _write_lane(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    """One lane, active or not."""
    read, which = raw_reader(instruction.sources[0]), raw_reader(instruction.sources[1])
    register = instruction.destinations[0][1]

    def run(group: Group) -> None:
        value = np.broadcast_to(read(group)[:, 0], (group.count,))
        group.v[register, group.numbers(), _lane_number(group, which)] = value

    return run


def _gathered(group: Group, value: Array, lanes: Array, inactive: bool) -> Array:
    """Each lane's value of another lane; zero of inactive ones unless `inactive`."""
    whole = _whole(group, value)
    found = np.take_along_axis(whole, lanes, axis=1)
    if group.mask is None or inactive:
        return found
    return np.where(np.take_along_axis(group.mask, lanes, axis=1), found, np.uint32(0))


def _backward_permute(inactive: bool) -> Callable[[DecodedInstruction, MachineTarget], Run]:
    """DS_BPERMUTE: each lane reads the lane that its address names; from gfx10 within its half of 32 lanes."""

    def compile_(instruction: DecodedInstruction, target: MachineTarget) -> Run:
        wanted, data, write = _addressed(instruction, target)
        return lambda group: write(group, _gathered(group, data(group), wanted(group), inactive))

    return compile_


def _addressed(instruction: DecodedInstruction, target: MachineTarget) -> tuple[Reader, Reader, Writer]:
    """The lanes that the addresses of a permute name, its data, and where its result goes."""
    address, data = (raw_reader(source) for source in instruction.sources[:2])
    offset = int(instruction.modifiers.get("offset", 0))
    span = target.wave if target.generation == "gfx9" else 32
    half = np.arange(target.wave) // span * span

    def wanted(group: Group) -> Array:
        return (_whole(group, address(group)).astype(np.int64) + offset >> 2) % span + half

    return wanted, data, writer(instruction.destinations[0], "u32")


def _forward_permute(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    """DS_PERMUTE: each lane sends its data to a lane; of several the highest lane's remains; zero where none sends."""
    wanted, data, write = _addressed(instruction, target)

    def run(group: Group) -> None:
        waves, lanes = np.nonzero(group.active)
        result = np.zeros((group.count, group.lanes), np.uint32)
        result[waves, wanted(group)[waves, lanes]] = _whole(group, data(group))[waves, lanes]
        write(group, result)

    return run


def _swizzle(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    data = raw_reader(instruction.sources[0])
    modifiers = instruction.modifiers
    offset = int(modifiers.get("offset", int(modifiers.get("offset1", 0)) << 8 | int(modifiers.get("offset0", 0))))
    lanes = swizzle_lanes(offset & 0xFFFF, target.wave)[None, :]
    write = writer(instruction.destinations[0], "u32")
    return lambda group: write(
        group, _gathered(group, data(group), np.broadcast_to(lanes, (group.count, group.lanes)), False)
    )


def _row_permute(other: bool, per_lane: bool) -> Callable[[DecodedInstruction, MachineTarget], Run]:
    """V_PERMLANE16: 16 selectors of four bits choose within the row of 16 lanes, of V_PERMLANEX16 in the other row."""

    def compile_(instruction: DecodedInstruction, target: MachineTarget) -> Run:
        data, low, *rest = (raw_reader(source) for source in instruction.sources)
        modifiers = modifiers_of(instruction)
        inactive, zero = modifiers.bit("op_sel", 0), modifiers.bit("op_sel", 1)
        lane = np.arange(target.wave)
        row = lane & ~15 ^ (16 if other else 0)
        shift = ((lane & 7) * 4).astype(np.uint32)
        write = writer(instruction.destinations[0], "u32")
        register = instruction.destinations[0][1]

        def run(group: Group) -> None:
            if per_lane:
                chosen = _whole(group, low(group)).astype(np.int64) & 15
            else:
                chosen = (np.where((lane & 8) > 0, rest[0](group), low(group)) >> shift & np.uint32(15)).astype(
                    np.int64
                )
            lanes = np.broadcast_to(row + chosen, (group.count, group.lanes))
            found = np.take_along_axis(_whole(group, data(group)), lanes, axis=1)
            if not inactive and group.mask is not None:
                there = np.take_along_axis(group.mask, lanes, axis=1)
                found = np.where(there, found, np.uint32(0) if zero else group.v[register, group.rows])
            write(group, found)

        return run

    return compile_


def _fixed(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    """V_PERMLANE64: the two halves of the wave change places."""
    data = raw_reader(instruction.sources[0])
    lanes = (np.arange(target.wave) + 32) % target.wave
    write = writer(instruction.destinations[0], "u32")
    return lambda group: write(group, _whole(group, data(group))[:, lanes])


def _swap_rows(distance: int) -> Callable[[DecodedInstruction, MachineTarget], Run]:
    """V_PERMLANE16_SWAP and V_PERMLANE32_SWAP: odd rows of the first change places with even rows of the second.

    Source: CDNA4 ISA guide, section 12.8; LLVM has the destination first. Of a register with itself the rows of each
    pair change places, as AITER's kernels have it, where they reduce over the rows.
    """

    def compile_(instruction: DecodedInstruction, target: MachineTarget) -> Run:
        first = instruction.destinations[0]
        second = (*instruction.destinations[1:], *instruction.sources)[0]
        for operand in (*instruction.destinations[1:], *instruction.sources):
            if operand != first:
                second = operand
        lane = np.arange(target.wave)
        upper = (lane & distance) > 0
        a, b = first[1], second[1]

        def run(group: Group) -> None:
            x, y = np.array(group.v[a, group.rows]), np.array(group.v[b, group.rows])
            if a == b:
                group.write(group.v, a, x[:, lane ^ distance])
                return
            group.write(group.v, a, np.where(upper, y[:, lane ^ distance], x))
            group.write(group.v, b, np.where(upper, y, x[:, lane ^ distance]))

        return run

    return compile_


def _swap(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    """V_SWAP_B32."""
    first = instruction.destinations[0]
    operands = (*instruction.destinations[1:], *instruction.sources)
    second = next((operand for operand in operands if operand != first), first)
    a, b = first[1], second[1]

    def run(group: Group) -> None:
        x, y = np.array(group.v[a, group.rows]), np.array(group.v[b, group.rows])
        group.write(group.v, a, y)
        group.write(group.v, b, x)

    return run


CROSS_LANE: dict[str, Callable[[DecodedInstruction, MachineTarget], Run]] = {
    "v_readfirstlane_b32": _read_first_lane,
    "v_readlane_b32": _read_lane,
    "v_writelane_b32": _write_lane,
    "ds_bpermute_b32": _backward_permute(False),
    "ds_bpermute_fi_b32": _backward_permute(True),
    "ds_permute_b32": _forward_permute,
    "ds_swizzle_b32": _swizzle,
    "v_permlane16_b32": _row_permute(False, False),
    "v_permlanex16_b32": _row_permute(True, False),
    "v_permlane16_var_b32": _row_permute(False, True),
    "v_permlanex16_var_b32": _row_permute(True, True),
    "v_permlane64_b32": _fixed,
    "v_permlane16_swap_b32": _swap_rows(16),
    "v_permlane32_swap_b32": _swap_rows(32),
    "v_swap_b32": _swap,
}
