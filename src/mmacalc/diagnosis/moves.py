"""Ways in which the elements of a matrix get to wrong places: in memory, and between lanes and registers.

A `Move` knows nothing of the numbers: it says for every element of one operand where the element that is there instead
comes from. The same moves are tried on A, B, C and D; for D it is the result that was stored elsewhere.
"""

from __future__ import annotations

from _thread import allocate_lock
from itertools import chain, combinations, islice, permutations
from math import prod

import numpy as np

from ..records import Cache, TupleRecord
from .problem import elements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from numpy.typing import NDArray

    from .problem import Problem

    Array = NDArray[Any]

__all__ = ["Move", "memory_moves", "moves_of", "orders", "register_moves", "turning_moves"]

SPANS = (1, 2, 4, 8, 16, 32, 64)


class Move(TupleRecord):
    """What happened to an operand: a predicate ("is transposed"), the remedy, and the source of every element."""

    text: str
    advice: str
    source: Array


def inverse(source: Array) -> Array:
    """The move that undoes a permutation."""
    back = np.empty(source.size, np.int64)
    back[source.reshape(-1)] = np.arange(source.size)
    return back.reshape(source.shape)


# --- memory -----------------------------------------------------------------------------------------------------------


KEPT = 1 << 14
"""Elements of the largest matrix whose moves are kept for the next problem with the same execution and shapes."""
_kept = Cache(16)


def moves_of(problem: Problem, name: str) -> Iterator[Move]:
    """What `memory_moves` and `register_moves` yield."""
    yield from memory_moves(problem, name)
    yield from register_moves(problem, name)


class _Memo:
    """An iterator's items, made when they are first asked for, and kept."""

    def __init__(self, stream: Iterator[Move]) -> None:
        self.items: list[Move] = []
        self.stream, self.lock = stream, allocate_lock()

    def __iter__(self) -> Iterator[Move]:
        number = 0
        while True:
            with self.lock:
                if number == len(self.items):
                    self.items.extend(islice(self.stream, 1))
            if number == len(self.items):
                return
            yield self.items[number]
            number += 1


def kept(moves: Callable[[Problem, str], Iterator[Move]]) -> Callable[[Problem, str], Iterable[Move]]:
    """A function whose answer for small matrices is kept: it does not depend on the numbers."""

    def found(problem: Problem, name: str) -> Iterable[Move]:
        if prod(problem.shapes[name]) > KEPT:
            return moves(problem, name)
        key = (moves, problem.execution, name, *problem.shapes.values())
        every: _Memo = _kept.get(key, lambda: _Memo(moves(problem, name)))
        return every

    return found


def _whole(problem: Problem, name: str, found: Iterator[tuple[str, str, Array]]) -> Iterator[Move]:
    """Moves of one block's matrix as those of all blocks."""
    shape = problem.shapes[name]
    blocks = elements(shape) - elements(shape[-2:]) if len(shape) == 3 else 0
    for text, advice, source in found:
        yield Move(text, advice, np.where(source < 0, -1, source + blocks))


def turning_moves(problem: Problem, name: str) -> Iterator[Move]:
    """A matrix that is loaded, or stored, with rows for columns, whole or tile by tile."""
    own = elements(problem.shapes[name][-2:])
    verb = "store" if name == "D" else "load"
    yield from _whole(problem, name, chain(_turned(own, verb, name), _tiled(problem, name, own)))


@kept
def memory_moves(problem: Problem, name: str) -> Iterator[Move]:
    """A matrix that is loaded from memory, or stored there, by wrong addresses."""
    yield from turning_moves(problem, name)
    yield from _whole(problem, name, _misplaced(elements(problem.shapes[name][-2:]), name))


def _misplaced(own: Array, name: str) -> Iterator[tuple[str, str, Array]]:
    verb = "store" if name == "D" else "load"
    for text, source in _strided(own):
        yield text, f"check the leading dimension (stride between rows) with which you {verb} {name}", source
    for text, source in _displaced(own):
        yield text, f"check the row and column offsets with which you {verb} {name}", source
    for text, source in _swizzled(own):
        yield text, "undo the swizzle of shared memory (LDS) when reading, or do not apply it when writing", source
    for text, source in _missing(own):
        if name != "D":
            yield text, f"check the bounds within which you {verb} {name}", source


def _turned(own: Array, verb: str, name: str) -> Iterator[tuple[str, str, Array]]:
    rows, columns = own.shape
    advice = f"exchange the strides with which you {verb} {name} (row-major for column-major)"
    if rows == columns:
        yield "is transposed", advice, own.T
    else:
        text = "is read column by column although it is stored row by row"
        yield text, advice, elements((columns, rows)).T
        yield "is read row by row although it is stored column by column", advice, inverse(elements((columns, rows)).T)


def _tiled(problem: Problem, name: str, own: Array) -> Iterator[tuple[str, str, Array]]:
    """Each small tile transposed, as by ldmatrix with .trans too many or too few; the tiles in another order."""
    moves = problem.inst.architecture.family.matrix_moves
    k_axis = {"A": 1, "B": 0}.get(name)
    packed = max(1, 16 // problem.execution.formats[name].bits) if k_axis is not None else 1
    i, j = np.indices(own.shape)
    for size in (8, 4, 16, 2, 32):
        for unit in {1, packed} if moves and size == 8 else {1}:
            height, width = (size * unit if k_axis == axis else size for axis in (0, 1))
            if own.shape[0] % height or own.shape[1] % width or own.shape == (size, size):
                continue
            # Transposing exchanges the coordinates of units of 16 bits; the place within a unit stays.
            u, v = (x % size if k_axis != axis else x % (size * unit) // unit for axis, x in ((0, i), (1, j)))
            row = i - i % height + (v * unit + i % unit if k_axis == 0 else v)
            column = j - j % width + (u * unit + j % unit if k_axis == 1 else u)
            text, advice = f"has each {size} x {size} tile transposed", f"transpose no tiles of {name}"
            if moves and size == 8 and name != "D":
                text += " (ldmatrix with .trans too many or too few)"
                advice = f"load {name} by ldmatrix with .trans if it has none, without .trans if it has it"
            yield text, advice, own[row, column]
    for height, width in ((8, 8), (16, 16), (4, 4)):
        down, across = own.shape[0] // height, own.shape[1] // width
        if down * height != own.shape[0] or across * width != own.shape[1] or min(down, across) < 2:
            continue
        number = (j // width) * down + i // height
        source = own[number // across * height + i % height, number % across * width + j % width]
        text = f"has its {height} x {width} tiles in column-major order instead of row-major"
        yield text, "exchange the second and third tile (matrix) of a fragment", source


def _strided(own: Array) -> Iterator[tuple[str, Array]]:
    rows, columns = own.shape
    i, j = np.indices(own.shape)
    leading = {columns + step: f"off by {step:+d}" for size in SPANS[:6] for step in (size, -size)}
    leading |= {rows: f"{rows} instead of {columns}", 2 * columns: "twice what it should be"}
    leading[columns // 2] = "half of what it should be"
    for ld, text in leading.items():
        if ld > 0 and ld != columns:
            flat = i * ld + j
            yield f"is read with a leading dimension {text}", flat % own.size
            if flat.max() >= own.size:
                yield f"is read with a leading dimension {text}", np.where(flat < own.size, flat, -1)
    for step in (1, -1, 2, -2, 8, -8):
        if rows + step > 0 and rows > 1:
            yield (
                f"is read column by column with a leading dimension off by {step:+d}",
                (j * (rows + step) + i) % own.size,
            )
    for step in (2, 4, 8):
        text = f"is read with a stride of {step} between elements"
        yield text, own * step % own.size
        yield text, np.where(own * step < own.size, own * step, -1)
        yield f"is read with each element {step} times, one after the other", own // step
    yield "has one row only: every row is row 0 (leading dimension 0)", np.broadcast_to(own[:1], own.shape)
    yield "has one column only: every column is column 0", np.broadcast_to(own[:, :1], own.shape)


def _displaced(own: Array) -> Iterator[tuple[str, Array]]:
    rows, columns = own.shape
    i, j = np.indices(own.shape)
    for axis, size, what in ((0, rows, "row"), (1, columns, "column")):
        for step in range(1, min(size, 65)):
            near = step if step <= size // 2 else step - size
            yield f"is displaced by {near:+d} {what}{'s' * (abs(near) > 1)}", np.roll(own, -step, axis)
        for step in (1, 2, 4, 8, 16):
            for sign in (1, -1) if step < size else ():
                x = (i, j)[axis] + sign * step
                inside = (x >= 0) & (x < size)
                moved = own + sign * step * (columns, 1)[axis]
                text = f"is displaced by {sign * step:+d} {what}{'s' * (step > 1)}, and filled up with zeros"
                yield text, np.where(inside, moved, -1)
        yield f"has its {what}s in reverse order", np.flip(own, axis)
        for order, text in orders(size):
            yield f"has its {what}s {text}", np.take(own, order, axis)
    for step in (1, 2, 4, 8):
        for sign in (1, -1):
            yield f"is read from an address {sign * step:+d} elements off", (own + sign * step) % own.size


def orders(size: int) -> Iterator[tuple[Array, str]]:
    """Orders of rows, columns or k that come of wrong index arithmetic."""
    index = np.arange(size)
    for step in SPANS:
        if size % (2 * step) == 0 and size > step:
            what = "neighbours" if step == 1 else f"groups of {step}"
            yield index ^ step, f"swapped in pairs of {what}"
        if step > 1 and size % step == 0 and size > step:
            yield index ^ (step - 1), f"in reverse order within each {step}"
            yield index // step + index % step * (size // step), f"interleaved by {step}"
            if step < size // step:
                yield inverse(index // step + index % step * (size // step)), f"interleaved by {size // step}"
        for inner in SPANS:
            if step > 1 and inner > 1 and size % (step * inner) == 0 and size > step * inner:
                x = index % (step * inner)
                moved = index - x + x // step + x % step * inner
                yield moved, f"interleaved by {step} within each {step * inner}"
    if size & (size - 1) == 0 and size > 2:
        bits = size.bit_length() - 1
        yield np.array([int(f"{x:0{bits}b}"[::-1], 2) for x in index]), "in bit-reversed order"


def _swizzled(own: Array) -> Iterator[tuple[str, Array]]:
    rows, columns = own.shape
    i, j = np.indices(own.shape)
    for unit in SPANS[:5]:
        for phases in (2, 4, 8, 16):
            for per in (1, 2, 4):
                if columns % (unit * phases) == 0 and rows > per:
                    moved = own[i, j ^ (i // per % phases * unit)]
                    text = f"is swizzled: column ^ ((row / {per}) % {phases}) * {unit} instead of column"
                    yield text.replace("(row / 1)", "row"), moved


def _missing(own: Array) -> Iterator[tuple[str, Array]]:
    for axis, size, what in ((0, own.shape[0], "row"), (1, own.shape[1], "column")):
        index = np.indices(own.shape)[axis]
        for start in range(1, size):
            shown = f"{what}s {start} to {size - 1}" if start < size - 1 else f"{what} {start}"
            yield f"is zero in {shown}", np.where(index < start, own, -1)
        for end in range(1, size):
            shown = f"{what}s 0 to {end - 1}" if end > 1 else f"{what} 0"
            yield f"is zero in {shown}", np.where(index >= end, own, -1)
        for alone in range(size):
            yield f"is zero in {what} {alone}", np.where(index != alone, own, -1)
        for part in (2, 4, 8):
            if size % part == 0:
                for rest in range(part):
                    yield f"is zero in {what}s {rest}, {rest + part} ...", np.where(index % part != rest, own, -1)


# --- lanes and registers ----------------------------------------------------------------------------------------------


@kept
def register_moves(problem: Problem, name: str) -> Iterator[Move]:
    """An operand's register file with lanes or registers exchanged, repeated or left zero, in every instruction."""
    execution = problem.execution
    if not execution.in_registers(name):
        return
    place = execution.places(name, natural=name in "AB")
    lane, register, lsb = (array[..., 0] for array in (place.lane, place.register, place.lsb))
    lookup = np.full((place.lanes, place.registers * 32), -1)
    index = np.broadcast_to(elements(lane.shape)[..., None], place.lane.shape)
    lookup[place.lane, place.register * 32 + place.lsb] = index

    def taken(lanes: Array, registers: Array, bit: Array, zero: Array | None = None) -> Array:
        source = lookup[lanes, registers * 32 + bit]
        return source if zero is None else np.where(zero, -1, source)

    advice = f"the layout: `mmacalc -a {problem.inst.arch} -i {problem.inst.name} -{_option(name)} -R`"
    for text, order, zero in _lane_orders(place.lanes):
        yield Move(text, advice, problem.everywhere(name, taken(order[lane], register, lsb, zero[lane])))
    for text, order, zero in _register_orders(place.registers):
        yield Move(text, advice, problem.everywhere(name, taken(lane, order[register], lsb, zero[register])))
    for text, flip in _bit_orders(place.bits):
        yield Move(text, "check how elements are packed into 32 bits, the first in the low bits",
                   problem.everywhere(name, taken(lane, register, flip(lsb))))  # fmt: skip


def _option(name: str) -> str:
    return {"SA": "-scale-a", "SB": "-scale-b", "K": "k"}.get(name, name)


def _lane_orders(lanes: int) -> Iterator[tuple[str, Array, Array]]:
    """What lane each lane's registers come from, and which lanes are zero."""
    index = np.arange(lanes)
    none = np.zeros(lanes, bool)
    for step in range(1, lanes):
        near = step if step <= lanes // 2 else step - lanes
        yield (
            f"is one lane off ({near:+d})" if abs(near) == 1 else f"is {near:+d} lanes off",
            (index + step) % lanes,
            none,
        )
    for mask in range(1, lanes):
        spoken = f"comes from lane ^ {mask}"
        yield f"{spoken}: lanes exchanged", index ^ mask, none
    for step in (2, 4, 8, 16, 32):
        if step < lanes:
            order = index // step + index % step * (lanes // step)
            yield (
                f"has its lanes transposed: lane {step} * (lane % {lanes // step}) + lane / {lanes // step}",
                inverse(order),
                none,
            )
            yield f"is the same in every group of {step} lanes (that of lanes 0 to {step - 1})", index % step, none
            yield f"is the same in every {step} neighbouring lanes", index - index % step, none
    yield "is lane 0's in every lane", 0 * index, none
    for size in (1, 2, 4, 8, 16, 32):
        for start in range(0, lanes, size) if size < lanes else ():
            shown = f"lanes {start} to {start + size - 1}" if size > 1 else f"lane {start}"
            yield f"is zero in {shown}", index, (index >= start) & (index < start + size)
            if size >= 8:
                yield (
                    f"is zero in all lanes but {start} to {start + size - 1}",
                    index,
                    (index < start) | (index >= start + size),
                )


def _register_orders(count: int) -> Iterator[tuple[str, Array, Array]]:
    """What register each register comes from, and which are zero."""
    index = np.arange(count)
    none = np.zeros(count, bool)
    if count == 1:
        return
    if count <= 4:
        for order in permutations(range(count)):
            yield f"has its registers in the order {' '.join(map(str, order))}", np.array(order), none
    else:
        for text, moved in _orders_of_many(count):
            yield text, moved, none
    yield "has register 0 in every register", 0 * index, none
    for size in (2, 4, 8):
        if count > size:
            yield f"has registers 0 to {size - 1} again and again", index % size, none
    for register in range(count):
        yield f"is zero in register {register}", index, index == register
    for start in range(1, count):
        yield f"is zero in registers {start} to {count - 1}", index, index >= start
        yield f"is zero in registers 0 to {start - 1}", index, index < start


def _orders_of_many(count: int) -> Iterator[tuple[str, Array]]:
    """The likely orders of more registers than can be tried in every order."""
    index = np.arange(count)
    yield "has its registers in reverse order", index[::-1]
    for step in range(1, count):
        yield f"is {step} registers off", (index + step) % count
    for mask in (1, 2, 3, 4, 8, 16, 32):
        if count % (2 * mask) == 0 or (mask == 3 and count % 4 == 0):
            yield f"comes from register ^ {mask}: registers exchanged in pairs", index ^ mask
    for ordered, text in orders(count):
        yield f"has its registers {text}", ordered
    for x, y in combinations(range(min(count, 16)), 2):
        pair = index.copy()
        pair[[x, y]] = y, x
        yield f"has registers {x} and {y} exchanged", pair


def _bit_orders(bits: int) -> Iterator[tuple[str, Any]]:
    if bits not in (4, 8, 16):
        return
    if bits == 16:
        yield "has the 16-bit halves of each register exchanged", lambda lsb: lsb ^ 16
        yield "has the low half of each register in both halves", lambda lsb: 0 * lsb
        yield "has the high half of each register in both halves", lambda lsb: 0 * lsb + 16
        return
    yield "has the 16-bit halves of each register exchanged", lambda lsb: lsb ^ 16
    yield "has the bytes of each register in reverse order", lambda lsb: lsb ^ 24
    yield "has the bytes of each 16 bits exchanged", lambda lsb: lsb ^ 8
    if bits == 4:
        yield "has the nibbles of each byte exchanged", lambda lsb: lsb ^ 4
        yield "has the nibbles of each register in reverse order", lambda lsb: lsb ^ 28
