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
from .problem import Source, elements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from numpy.typing import NDArray

    from .problem import Problem

    Array = NDArray[Any]
    At = Callable[[Array, Array], Array]

__all__ = ["Move", "memory_moves", "moves_of", "orders", "register_moves", "turning_moves"]

SPANS = (1, 2, 4, 8, 16, 32, 64)


class Move(TupleRecord):
    """What happened to an operand: a predicate ("is transposed"), the remedy, and the source of every element."""

    text: str
    advice: str
    source: Array | Source


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


def turning_moves(problem: Problem, name: str) -> Iterator[Move]:
    """A matrix that is loaded, or stored, with rows for columns, whole or tile by tile."""
    shape, verb = problem.shapes[name], "store" if name == "D" else "load"
    for text, advice, at in chain(_turned(shape, verb, name), _tiled(problem, name)):
        yield Move(text, advice, Source(shape, at))


@kept
def memory_moves(problem: Problem, name: str) -> Iterator[Move]:
    """A matrix that is loaded from memory, or stored there, by wrong addresses."""
    yield from turning_moves(problem, name)
    shape, verb = problem.shapes[name], "store" if name == "D" else "load"
    rows, columns = shape[-2:]
    swizzle = "undo the swizzle of shared memory (LDS) when reading, or do not apply it when writing"
    for advice, found in (
        (f"check the leading dimension (stride between rows) with which you {verb} {name}", _strided(rows, columns)),
        (f"check the row and column offsets with which you {verb} {name}", _displaced(rows, columns)),
        (swizzle, _swizzled(rows, columns)),
        (f"check the bounds within which you {verb} {name}", _missing(rows, columns) if name != "D" else ()),
    ):
        for text, at in found:
            yield Move(text, advice, Source(shape, at))


def _linear(size: int, across: int, down: int, start: int = 0, zero: bool = False) -> At:
    """The element at address start + i * down + j * across; of a whole matrix of that size, wrapped or zero beyond."""

    def at(i: Array, j: Array) -> Array:
        address = start + i * down + j * across
        return np.where((address >= 0) & (address < size), address, -1) if zero else address % size

    return at


def _picked(columns: int, axis: int, order: Array) -> At:
    """Rows or columns in another order; -1 for those that are zero."""

    def at(i: Array, j: Array) -> Array:
        row, column = (order[i], j) if axis == 0 else (i, order[j])
        return np.where((row < 0) | (column < 0), -1, row * columns + column)

    return at


def _turned(shape: tuple[int, ...], verb: str, name: str) -> Iterator[tuple[str, str, At]]:
    rows, columns = shape[-2:]
    advice = f"exchange the strides with which you {verb} {name} (row-major for column-major)"
    size = rows * columns
    if rows == columns:
        yield "is transposed", advice, _linear(size, columns, 1)
        return
    yield "is read column by column although it is stored row by row", advice, _linear(size, rows, 1)

    def back(i: Array, j: Array) -> Array:
        address = i * columns + j
        found: Array = address % rows * columns + address // rows
        return found

    yield "is read row by row although it is stored column by column", advice, back


def _tiled(problem: Problem, name: str) -> Iterator[tuple[str, str, At]]:
    """Each small tile transposed, as by ldmatrix with .trans too many or too few; the tiles in another order."""
    moves = problem.inst.architecture.family.matrix_moves
    k_axis = {"A": 1, "B": 0}.get(name)
    packed = max(1, 16 // problem.execution.formats[name].bits) if k_axis is not None else 1
    rows, columns = shape = problem.shapes[name][-2:]
    for size in (8, 4, 16, 2, 32):
        for unit in {1, packed} if moves and size == 8 else {1}:
            height, width = (size * unit if k_axis == axis else size for axis in (0, 1))
            if rows % height or columns % width or shape == (size, size):
                continue
            text, advice = f"has each {size} x {size} tile transposed", f"transpose no tiles of {name}"
            if moves and size == 8 and name != "D":
                text += " (ldmatrix with .trans too many or too few)"
                advice = f"load {name} by ldmatrix with .trans if it has none, without .trans if it has it"
            yield text, advice, _transposed_tiles(columns, size, unit, k_axis)
    for height, width in ((8, 8), (16, 16), (4, 4)):
        down, across = rows // height, columns // width
        if down * height == rows and across * width == columns and min(down, across) >= 2:
            text = f"has its {height} x {width} tiles in column-major order instead of row-major"
            advice = "exchange the second and third tile (matrix) of a fragment"
            yield text, advice, _reordered_tiles(columns, (height, width), (down, across))


def _transposed_tiles(columns: int, size: int, unit: int, k_axis: int | None) -> At:
    """The coordinates of units (along k, of 16 bits) exchanged within each tile; the place within a unit stays."""
    tall, wide = (unit if k_axis == axis else 1 for axis in (0, 1))

    def at(i: Array, j: Array) -> Array:
        u, v = i % (size * tall) // tall, j % (size * wide) // wide
        row = i - i % (size * tall) + v * tall + i % tall
        column = j - j % (size * wide) + u * wide + j % wide
        found: Array = row * columns + column
        return found

    return at


def _reordered_tiles(columns: int, tile: tuple[int, int], counts: tuple[int, int]) -> At:
    (height, width), (down, across) = tile, counts

    def at(i: Array, j: Array) -> Array:
        number = j // width * down + i // height
        row, column = number // across * height + i % height, number % across * width + j % width
        found: Array = row * columns + column
        return found

    return at


def _strided(rows: int, columns: int) -> Iterator[tuple[str, At]]:
    size = rows * columns
    leading = {columns + step: f"off by {step:+d}" for span in SPANS[:6] for step in (span, -span)}
    leading |= {rows: f"{rows} instead of {columns}", 2 * columns: "twice what it should be"}
    leading[columns // 2] = "half of what it should be"
    for ld, text in leading.items():
        if ld > 0 and ld != columns:
            yield f"is read with a leading dimension {text}", _linear(size, 1, ld)
            if (rows - 1) * ld + columns > size:
                yield f"is read with a leading dimension {text}", _linear(size, 1, ld, zero=True)
    for step in (1, -1, 2, -2, 8, -8):
        if rows + step > 0 and rows > 1:
            text = f"is read column by column with a leading dimension off by {step:+d}"
            yield text, _linear(size, rows + step, 1)
    for step in (2, 4, 8):
        text = f"is read with a stride of {step} between elements"
        yield text, _linear(size, step, step * columns)
        yield text, _linear(size, step, step * columns, zero=True)
        yield f"is read with each element {step} times, one after the other", _repeated(columns, step)
    yield "has one row only: every row is row 0 (leading dimension 0)", _linear(size, 1, 0)
    yield "has one column only: every column is column 0", _linear(size, 0, columns)


def _repeated(columns: int, times: int) -> At:
    return lambda i, j: (i * columns + j) // times


def _displaced(rows: int, columns: int) -> Iterator[tuple[str, At]]:
    for axis, size, what in ((0, rows, "row"), (1, columns, "column")):
        index = np.arange(size)
        for step in range(1, min(size, 65)):
            near = step if step <= size // 2 else step - size
            text = f"is displaced by {near:+d} {what}{'s' * (abs(near) > 1)}"
            yield text, _picked(columns, axis, (index + step) % size)
        for step in (1, 2, 4, 8, 16):
            for moved in (step, -step) if step < size else ():
                inside = (index + moved >= 0) & (index + moved < size)
                text = f"is displaced by {moved:+d} {what}{'s' * (step > 1)}, and filled up with zeros"
                yield text, _picked(columns, axis, np.where(inside, index + moved, -1))
        yield f"has its {what}s in reverse order", _picked(columns, axis, index[::-1])
        for order, text in orders(size):
            yield f"has its {what}s {text}", _picked(columns, axis, order)
    for step in (1, 2, 4, 8):
        for sign in (1, -1):
            text = f"is read from an address {sign * step:+d} elements off"
            yield text, _linear(rows * columns, 1, columns, sign * step)


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


def _swizzled(rows: int, columns: int) -> Iterator[tuple[str, At]]:
    for unit in SPANS[:5]:
        for phases in (2, 4, 8, 16):
            for per in (1, 2, 4):
                if columns % (unit * phases) == 0 and rows > per:
                    text = f"is swizzled: column ^ ((row / {per}) % {phases}) * {unit} instead of column"
                    yield text.replace("(row / 1)", "row"), _xor(columns, unit, phases, per)


def _xor(columns: int, unit: int, phases: int, per: int) -> At:
    return lambda i, j: i * columns + (j ^ (i // per % phases * unit))


def _missing(rows: int, columns: int) -> Iterator[tuple[str, At]]:
    for axis, size, what in ((0, rows, "row"), (1, columns, "column")):
        index = np.arange(size)
        kept = {}
        for start in range(1, size):
            shown = f"{what}s {start} to {size - 1}" if start < size - 1 else f"{what} {start}"
            kept[f"is zero in {shown}"] = index < start
        for end in range(1, size):
            shown = f"{what}s 0 to {end - 1}" if end > 1 else f"{what} 0"
            kept[f"is zero in {shown}"] = index >= end
        for alone in range(size):
            kept[f"is zero in {what} {alone}"] = index != alone
        for part in (2, 4, 8):
            if size % part == 0:
                for rest in range(part):
                    kept[f"is zero in {what}s {rest}, {rest + part} ..."] = index % part != rest
        for text, mask in kept.items():
            yield text, _picked(columns, axis, np.where(mask, index, -1))


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
