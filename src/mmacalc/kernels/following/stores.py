"""Where the sums of products are stored: each D[m][n] has its own, and by which instruction it was written last."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ...arithmetic.codecs import code_type, decode
from ..device.observer import Observer
from .tags import FOREIGN, NONE, sum_digits, with_sum_digit
from .tiles import A
from .verdict import ProductFinding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...base.arrays import Array
    from .asked import Product
    from .machines import Machines
    from .recorder import Recorder
    from .tiles import Tile
    from .verdict import Verdict

__all__ = ["Stores"]


class Stores(Observer):
    """Reads D after each launch, and notes who writes it.

    numbers: of the sum that each D[batch][m][n] holds, and 1; 0 of what nothing stored, `FOREIGN` of other values.
    writer: by element of D's array the number of the step that wrote it last, -1 if that is not known.
    """

    machines: Machines
    product: Product
    numbers: Array
    writer: Array

    def __init__(self, machines: Machines, product: Product) -> None:
        self.machines, self.product, self._start, self._place = machines, product, -1, -1
        self.numbers = np.zeros(0, np.int64)
        self.writer = np.full(product.d.array.size, -1, np.int64)
        self._steps: dict[int, int] = {}
        self._written: Counter[int] = Counter()
        self._overwritten: Counter[int] = Counter()
        self.steps: list[tuple[Any, Any, Any]] = []

    def started(self, machine: Any) -> None:
        """Some workgroups begin: where D lies."""
        self._machine = machine
        self._start, self._place = self.product.d.start(self.machines.memory(machine))

    def memory(self, step: Any, who: Any, addresses: Array, size: int, kind: str) -> None:
        """Note who writes D."""
        if kind != "read" and self._start >= 0:
            self._note(step, who, addresses.astype(np.int64) - self._start, size)

    def stored(self, step: Any, who: Any, offsets: Array, size: int) -> None:
        """An asynchronous copy has written to global memory."""
        if self._start >= 0:
            self._note(step, who, offsets.astype(np.int64) - self._place, size)

    def _note(self, step: Any, who: Any, starts: Array, size: int) -> None:
        each = self.product.d.array.itemsize
        first = starts // each
        inside = (first >= 0) & (first < self.writer.size)
        if not inside.any():
            return
        if id(step) not in self._steps:
            self._steps[id(step)] = len(self.steps)
            self.steps.append((step, self._machine, who))
        number = self._steps[id(step)]
        for at in range(-(-size // each)):
            places = first[inside] + at
            places = places[places < self.writer.size]
            self._written[number] += len(places)
            self._overwritten.update(self.writer[places].tolist())
            self.writer[places] = number

    @property
    def known(self) -> Array:
        """The numbers, of no elements if some hold no sum as it is."""
        found: Array = self.numbers.ravel()
        return found[:0] if (found == FOREIGN).any() else found

    def read(self, digit: int, base: int) -> None:
        """Read D after the launch of a digit."""
        matrix, product = self.product.d, self.product
        codes = matrix.array.view(f"u{matrix.array.itemsize}").astype(code_type(matrix.format))
        found = sum_digits(np.asarray(decode(codes, matrix.format)).astype(np.float64), base)
        found = found.reshape(product.batch, *((product.n, product.m) if matrix.turned else (product.m, product.n)))
        found = found.swapaxes(1, 2) if matrix.turned else found
        self.numbers = with_sum_digit(self.numbers, found, digit, base) if digit else found

    # --- what is wrong ---

    def judged(self, verdict: Verdict, recorder: Recorder) -> tuple[list[ProductFinding], str]:
        """What is stored wrongly, of sums that are right; and what was not followed."""
        numbers = self.numbers.ravel()
        if (numbers == FOREIGN).any() or not (numbers > 0).any():
            count = int((numbers == FOREIGN).sum())
            if not count:
                return [], "nothing is stored in D"
            lost = f"{count} elements of D hold"
            return [], (f"{lost} no sum of a matrix instruction as it is (an epilogue, or parts that are added up): "
                        "whether they are stored in their places was not followed")  # fmt: skip
        wrong = {id(one.tile.chain) for one in verdict.wrong}
        tiles = [tile for chain in verdict.chains for tile in chain.tiles]
        tiles.sort(key=lambda tile: (tile.recorded.order, tile.entry))
        firsts = np.array([tile.first for tile in tiles])
        tile_of = np.searchsorted(firsts, numbers - 1, side="right") - 1
        found: dict[tuple[int, str], list[tuple[int, str]]] = {}
        for at in np.unique(tile_of[numbers > 0]).tolist():
            tile = tiles[at]
            if id(tile.chain) in wrong or 0 in tile.chain.matrices:
                continue
            places = np.flatnonzero((tile_of == at) & (numbers > 0))
            for place, what, message in self._tile(tile, places, numbers[places] - 1 - firsts[at]):
                found.setdefault((self._writer(place), what), []).append((place, message))
        absent = np.flatnonzero(numbers == NONE)
        if len(absent):
            message = f"{len(absent)} elements of D are never stored: {self._named(int(absent[0]))} is the first"
            gone = [number for number, count in self._written.items() if self._overwritten[number] >= count]
            if gone:
                message = f"all that it stores is overwritten, and {message}"
            by = gone[0] if gone else self._writer(int(np.flatnonzero(numbers > 0)[-1]))
            found.setdefault((by, "never"), []).append((int(absent[0]), message))
        return [self._finding(number, some, recorder) for (number, _), some in found.items()], ""

    def _tile(self, tile: Tile, places: Array, at: Array) -> list[tuple[int, str, str]]:
        """What is wrong with the elements of D that hold sums of a tile: place, what, message."""
        chain, product = tile.chain, self.product
        columns = tile.recorded.c.shape[2]
        row, col = at // columns, at % columns
        turned = chain.matrices[0] != A
        if turned:
            row, col, rows, cols = col, row, chain.columns, chain.rows
        else:
            rows, cols = chain.rows, chain.columns
        m, n = rows[row], cols[col]
        real = m // product.m * product.m * product.n + m % product.m * product.n + n % product.n
        off = np.flatnonzero(real != places)
        if len(off):
            first = int(off[0])
            other = self._named(int(real[first])) if m[first] >= 0 and n[first] >= 0 else "no element of D"
            return [(int(places[first]), "place", f"stores the sum of {other} in {self._named(int(places[first]))}; "
                     f"{len(off)} elements of this tile are elsewhere")]  # fmt: skip
        if tile is not chain.last:
            after = self.machines.place_text(self.machines.place(chain.last.recorded.step))
            first = int(places[0])
            return [(first, "early", f"stores {self._named(first)} before the product at {after} is added")]
        return []

    def _split(self, place: int) -> tuple[int, int, int]:
        """Batch, row and column."""
        product = self.product
        return place // (product.m * product.n), place // product.n % product.m, place % product.n

    def _named(self, place: int) -> str:
        batch, row, col = self._split(place)
        return f"D{f'[{batch}]' if self.product.batch > 1 else ''}[{row}][{col}]"

    def _writer(self, place: int) -> int:
        """The number of the step that wrote an element of D last."""
        product = self.product
        if product.d.turned:
            batch, row, col = self._split(place)
            place = (batch * product.n + col) * product.m + row
        return int(self.writer[place])

    def _finding(self, number: int, some: list[tuple[int, str]], recorder: Recorder) -> ProductFinding:
        machines, message = self.machines, some[0][1]
        if number < 0:  # by a bulk copy
            last = recorder.products[-1]
            step, wave = last.step, last.waves[0]
            message = f"behind it the kernel {message}" if not message[0].isdigit() else message
        else:
            step, machine, who = self.steps[number]
            wave = machines.first_wave(machine, who)
        return ProductFinding("product", machines.place_text(machines.place(step)), machines.text(step), message, (),
                              (*wave.workgroup,), wave.number, len(some), machines.location(step))  # fmt: skip
