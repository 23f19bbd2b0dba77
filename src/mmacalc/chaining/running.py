"""The steps of a chain on register files: convert, pack, move between lanes, one 32-bit register at a time.

An array of registers is (..., lanes, registers), one of items (..., lanes, items); every fetch from another lane moves
whole registers, as the instructions do, and is counted.
"""

from __future__ import annotations

import numpy as np

from ..arithmetic.codecs import decode, encode, largest
from ..base.errors import Error
from .conversions import SATURATING
from .tiles import slots
from .ways import Exchange, Memory, moved_bits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from ..formats import Format
    from ..model import Operand
    from .answer import Chain
    from .tiles import Tiles
    from .ways import Way

    Array = NDArray[Any]

__all__ = ["run"]


def run(chain: Chain, d: ArrayLike, way: Way | None, fetched: list[int] | None = None) -> NDArray[np.uint32]:
    """Carry out a chain; see `Chain.apply`.

    Args:
        chain: the answer. d: the registers of D of every X. way: one of `chain.ways`; None if nothing moves.
        fetched: gets the number of registers that lanes fetched from others, one number for each step.
    """
    tiles: Tiles = chain.tiles
    codes = _items(_checked(chain, d), tiles.source)
    convert = _converter(chain)
    if way is not None and isinstance(way.steps[0], Memory):
        placed = convert(_through_memory(chain, codes))
    else:
        placed = _picked(codes, chain.sources)
        if way is not None:
            early = moved_bits(tiles) == tiles.target.placement.slot_bits
            placed = convert(placed) if early else placed
            for step in way.steps:
                placed, count = _moved(placed, step, moved_bits(tiles))
                if fetched is not None:
                    fetched.append(count)
            placed = placed if early else convert(placed)
        else:
            placed = convert(placed)
    return _registers(placed * _used_lanes(tiles)[:, None].astype(placed.dtype), tiles)


def _used_lanes(tiles: Tiles) -> Array:
    """1 for the lanes that hold elements of the operand, 0 for the others (4-bit operands of RDNA4 in a wave64)."""
    used = np.zeros(tiles.target.lanes, int)
    copies = [lane for lane, _ in tiles.target.copies()]
    lanes = {first + second for first, _ in tiles.target_f for second, _ in tiles.target_k}
    used[[lane + more for lane in lanes for more in copies]] = 1
    return used


def _checked(chain: Chain, d: ArrayLike) -> Array:
    source: Operand = chain.tiles.source
    file = np.asarray(d)
    if file.dtype != np.uint32:
        raise Error(
            f"D has type {file.dtype}; registers are uint32 (an array of 32-bit floats or integers becomes that by "
            ".view(numpy.uint32))"
        )
    expected = (chain.x_count, source.registers, source.lanes)
    if file.shape[-3:] != expected:
        raise Error(
            f"D has shape {file.shape}; it needs (..., {', '.join(map(str, expected))}): {chain.x_count} of "
            f"{chain.x.name} with {source.registers} registers of {source.lanes} lanes each"
        )
    return file


# --- registers and items ---


def _items(file: Array, source: Operand) -> Array:
    """The codes of all slots of D: (..., instances, registers, lanes) to (..., lanes, items)."""
    lead = file.shape[:-3]
    words: Array = np.moveaxis(file, -1, -3).reshape(*lead, source.lanes, -1)
    return _unpacked(words, int(source.placement.slot_bits))


def _unpacked(words: Array, bits: int) -> Array:
    """The slots of registers, lowest first."""
    found: Array
    if bits == 64:
        found = words[..., 1::2].astype(np.uint64) << np.uint64(32) | words[..., 0::2]
        return found
    found = words[..., None] >> np.arange(0, 32, bits, dtype=np.uint32) & np.uint32((1 << bits) - 1)
    return found.reshape(*words.shape[:-1], -1)


def _packed(items: Array, bits: int) -> Array:
    """Registers of slots, lowest first; a last one that is not full is filled with zeros."""
    if bits == 64:
        return np.stack([items.astype(np.uint32), (items >> np.uint64(32)).astype(np.uint32)], -1).reshape(
            *items.shape[:-1], -1
        )
    if bits == 6:
        return _packed_across(items, bits)
    each = 32 // bits
    count = -(-items.shape[-1] // each) * each
    whole = np.zeros((*items.shape[:-1], count), np.uint32)
    whole[..., : items.shape[-1]] = items
    shifted = whole.reshape(*items.shape[:-1], -1, each) << np.arange(0, 32, bits, dtype=np.uint32)
    words: Array = np.bitwise_or.reduce(shifted, axis=-1)
    return words


def _packed_across(items: Array, bits: int) -> Array:
    words = np.zeros((*items.shape[:-1], items.shape[-1] * bits // 32 + 1), np.uint64)
    for item in range(items.shape[-1]):
        register, low = divmod(item * bits, 32)
        shifted = items[..., item].astype(np.uint64) << np.uint64(low)
        words[..., register] |= shifted & np.uint64(0xFFFFFFFF)
        words[..., register + 1] |= shifted >> np.uint64(32)
    return words[..., :-1].astype(np.uint32)


def _picked(codes: Array, sources: Sequence[int | None]) -> Array:
    """The items renamed: item number n is the result's item sources[n], or 0."""
    held = np.array([source is not None for source in sources])
    picked = codes[..., [source or 0 for source in sources]]
    return np.where(held, picked, np.zeros((), codes.dtype))


def _registers(items: Array, tiles: Tiles) -> NDArray[np.uint32]:
    """The operand's registers: (..., lanes, items) to (..., instances, registers, lanes)."""
    target, each = tiles.target, slots(tiles.target)
    count = tiles.y_tiles[0] * tiles.y_tiles[1]
    fitted = np.zeros((*items.shape[:-1], count * each), items.dtype)
    most = min(items.shape[-1], fitted.shape[-1])
    fitted[..., :most] = items[..., :most]
    placement = target.placement
    shifted = fitted << np.array(placement.offset, fitted.dtype) if placement.offset else fitted
    words = _packed(shifted, int(placement.slot_bits))
    split = words.reshape(*words.shape[:-1], count, target.registers)
    return np.ascontiguousarray(np.moveaxis(split, -3, -1))


# --- conversion ---


def _converter(chain: Chain) -> Callable[[Array], Array]:
    """The function from codes of D's format to codes of the operand's."""
    source, target = chain.tiles.source.format, chain.tiles.target.format
    rounding = chain.conversion.rounding
    if not rounding:
        return lambda codes: codes
    if not target.is_float:
        return lambda codes: _to_integers(codes, source, target, rounding)
    if target.name == "tf32":
        return lambda codes: _to_tf32(codes, source)
    vendor = chain.x.architecture.vendor

    def to_floats(codes: Array) -> Array:
        values = decode(codes.astype(f"u{source.bits // 8}"), source)
        if rounding == SATURATING:
            most = largest(target.name)
            values = np.clip(values, -most, most)
        return encode(values, target, vendor).astype(np.uint32)

    return to_floats


def _to_integers(codes: Array, source: Format, target: Format, rounding: str) -> Array:
    if rounding == "saturating":
        signed = target.kind == "signed"
        low, high = (-(1 << target.bits - 1), (1 << target.bits - 1) - 1) if signed else (0, (1 << target.bits) - 1)
        codes = np.clip(decode(codes, source), low, high).astype(np.uint32)
    found: Array = codes & np.uint32((1 << target.bits) - 1)
    return found


def _to_tf32(codes: Array, source: Format) -> Array:
    """To nearest, ties away from zero: half of the last of ten bits is added, and the bits below are cut."""
    if source.name != "f32":
        return decode(codes.astype(f"u{source.bits // 8}"), source).astype(np.float32).view(np.uint32)
    finite = (codes & np.uint32(0x7F800000)) != np.uint32(0x7F800000)
    found: Array = np.where(finite, codes + np.uint32(0x1000), codes) & np.uint32(0xFFFFE000)
    return found


# --- between lanes ---


def _moved(items: Array, step: Exchange | Any, bits: int) -> tuple[Array, int]:
    """One step on items; and how many registers every lane fetched."""
    if isinstance(step, Exchange):
        return _exchanged(items, step, bits)
    return _transposed(items)


def _exchanged(items: Array, step: Exchange, bits: int) -> tuple[Array, int]:
    """Item bits exchanged with lane bits, then the lanes permuted.

    The items are put in an order in which the exchanged bits number registers, so that whole registers move. In round
    g each lane sends the registers whose bits differ by g from those of its own number, all to one lane.
    """
    lanes, count = items.shape[-2:]
    order = _registers_first([pair[0] for pair in step.pairs], count)
    words = _packed(items[..., order], bits)
    size = max(1, bits // 32)
    groups = 1 << len(step.pairs)
    if words.shape[-1] < groups * size:
        return _exchanged_within(items, step, bits)
    words = words.reshape(*words.shape[:-1], groups, -1)
    lane = np.arange(lanes)
    own = sum(((lane >> bit & 1) << at for at, (_, bit) in enumerate(step.pairs)), np.zeros(lanes, int))
    before = _permuted_from(lanes, step.permutation)
    result, fetched = np.empty_like(words), 0
    for group in range(groups):
        mask = sum(1 << bit for at, (_, bit) in enumerate(step.pairs) if group >> at & 1)
        sent = words[..., lane, own ^ group, :]
        result[..., lane, own[before] ^ group, :] = sent[..., before ^ mask, :]
        fetched += words.shape[-1] * bool(mask or step.permutation)
    restored = np.empty_like(items)
    restored[..., order] = _unpacked(result.reshape(*words.shape[:-2], -1), bits)
    return restored, fetched


def _exchanged_within(items: Array, step: Exchange, bits: int) -> tuple[Array, int]:
    """An exchange within one register: each lane fetches all of its partner's and keeps half of either."""
    ((item_bit, lane_bit),) = step.pairs
    words = _packed(items, bits)
    lane, item = np.arange(items.shape[-2])[:, None], np.arange(items.shape[-1])[None, :]
    theirs = _unpacked(words[..., lane[:, 0] ^ 1 << lane_bit, :], bits)[..., : items.shape[-1]]
    crossed = (lane >> lane_bit & 1) ^ (item >> item_bit & 1)
    swapped = theirs[..., item[0] ^ 1 << item_bit]
    return np.where(crossed == 1, swapped, items), words.shape[-1]


def _registers_first(item_bits: Sequence[int], count: int) -> Array:
    """An order of the items in which the given bits are the most significant, the first of them the lowest of these."""
    total = (count - 1).bit_length()
    rest = [bit for bit in range(total) if bit not in item_bits]
    number = np.arange(count)
    return sum((((number >> at & 1) << bit) for at, bit in enumerate([*rest, *item_bits])), np.zeros(count, int))


def _permuted_from(lanes: int, permutation: Mapping[int, int]) -> Array:
    """For each lane, the one that it fetches from under a permutation of lane bits."""
    lane = np.arange(lanes)
    bits = range((lanes - 1).bit_length())
    return sum(((lane >> permutation.get(bit, bit) & 1) << bit for bit in bits), np.zeros(lanes, int))


def _transposed(items: Array) -> tuple[Array, int]:
    """Every register's 8 x 8 matrix of 16-bit elements transposed (PTX ISA 9.1, movmatrix)."""
    lanes, count = items.shape[-2:]
    rows = items.reshape(*items.shape[:-2], lanes // 32, 8, 4, count // 2, 2)
    matrix = np.moveaxis(rows, -2, -4).reshape(*items.shape[:-2], lanes // 32, count // 2, 8, 8)
    back = np.swapaxes(matrix, -1, -2).reshape(*items.shape[:-2], lanes // 32, count // 2, 8, 4, 2)
    return np.moveaxis(back, -4, -2).reshape(items.shape), count // 2


def _through_memory(chain: Chain, codes: Array) -> Array:
    """Every element written to memory by the lane that has it, and read by those that need it."""
    tiles: Tiles = chain.tiles
    (f_lane, f_item), (k_lane, k_item) = (np.array(places).T for places in (tiles.source_f, tiles.source_k))
    ((_, start),) = tiles.source.copies()
    memory = codes[..., f_lane[:, None] + k_lane, start + f_item[:, None] + k_item]
    f_places, k_places = np.array(tiles.target_f), np.array(tiles.target_k)[np.array(chain.relabel or range(tiles.k))]
    (f_lane, f_item), (k_lane, k_item) = f_places.T, k_places.T
    count = tiles.y_tiles[0] * tiles.y_tiles[1] * slots(tiles.target)
    read = np.zeros((*codes.shape[:-2], tiles.target.lanes, count), codes.dtype)
    for more_lanes, more_items in tiles.target.copies():
        read[..., more_lanes + f_lane[:, None] + k_lane, more_items + f_item[:, None] + k_item] = memory
    return read
