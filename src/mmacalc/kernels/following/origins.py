"""Through which instructions the operands of products came: loads, stores to shared memory and loads from there.

Followed are whole registers of a wave and words of shared memory, not lanes: a register has the union of what its lanes
came by.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from ..device.observer import Observer
from .sets import NumberedSets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from ...base.arrays import Array
    from .asked import Matrix, Product
    from .machines import Machines

    Way = tuple[int, ...]

__all__ = ["Origins"]

WORD = 4
MOST_WAYS = 48
"""Ways that are told apart in one register."""


class _Ways(NumberedSets):
    """Sets of ways, of at most `MOST_WAYS`."""

    def number(self, members: frozenset[Way]) -> int:
        return super().number(members if len(members) <= MOST_WAYS else frozenset(sorted(members)[:MOST_WAYS]))


class Origins(Observer):
    """By register and by word of shared memory the ways on which its content came: places of instructions, the last
    first, as the number of a set of such ways.

    steps: by place. loads: the places of those that read global memory. loaded: by matrix the place of the one that
    read each element of its array last, -1 of none. computed: by the place of an access the instructions that had
    computed its address when it was first executed.
    """

    machines: Machines
    product: Product
    ways: _Ways
    computed: dict[int, tuple[Any, ...]]

    def __init__(self, machines: Machines, product: Product) -> None:
        self.machines, self.product = machines, product
        self.ways = _Ways(frozenset())
        self._behind: dict[tuple[int, int], int] = {}
        self.steps: dict[int, Any] = {}
        self.loads: set[int] = set()
        self.loaded: dict[str, Array] = {
            name: np.full(one.array.size, -1, np.int64) for name, one in (("A", product.a), ("B", product.b))
        }
        self._starts: dict[str, int] = {}
        self._machine: Any = None
        self._registers: dict[int, Array] = {}
        self._shared: Array = np.zeros(0, np.int32)
        self._read: Array | None = None
        self._from_memory = False
        self._writers: dict[int, Any] = {}
        self.computed: dict[int, tuple[Any, ...]] = {}

    # --- sets of ways ---

    @property
    def every_way(self) -> list[Way]:
        """All ways on which something came to a register or to shared memory."""
        return [way for ways in self.ways.every for way in ways]

    def _through(self, place: int, before: int) -> int:
        """What came by some ways goes on through an instruction."""
        key = place, before
        if key not in self._behind:
            ways = self.ways[before] or {()}
            self._behind[key] = self.ways.number(frozenset([(place, *way) for way in ways if place not in way]))
        return self._behind[key]

    def _unions_of(self, arrays: Sequence[Array], count: int) -> Array:
        return reduce(self.ways.joined, arrays, np.zeros(count, np.int32))

    # --- the launch ---

    def started(self, machine: Any) -> None:
        """Some workgroups begin."""
        self._machine, self._registers = machine, {}
        self._shared = np.zeros(-(-self.machines.shared_bytes(machine) // WORD) + 4, np.int32)
        memory = self.machines.memory(machine)
        for name, matrix in (("A", self.product.a), ("B", self.product.b)):
            self._starts[name] = matrix.start(memory)[0]

    def before(self, step: Any, who: Any) -> None:
        """An instruction is about to be executed: of an access, what computed its address."""
        self._read, self._from_memory = None, False
        registers = self.machines.address_registers(step)
        if registers:
            place = self._entered(step)
            if place not in self.computed:
                found = {id(self._writers[one]): self._writers[one] for one in registers if one in self._writers}
                self.computed[place] = tuple(found.values())

    def memory(self, step: Any, who: Any, addresses: Array, size: int, kind: str) -> None:
        """Global memory is read: which elements of A and B."""
        if kind != "read":
            return
        self._from_memory, place = True, self._entered(step)
        for name, start in self._starts.items():
            loaded, each = self.loaded[name], self._matrix(name).array.itemsize
            first = (addresses.astype(np.int64) - start) // each
            for at in range(max(1, size // each) if start >= 0 else 0):
                inside = first + at
                loaded[inside[(inside >= 0) & (inside < loaded.size)]] = place

    def shared(self, step: Any, who: Any, places: Array, size: int, kind: str) -> None:
        """Shared memory is accessed."""
        units = self.machines.access_units(self._machine, who, len(places))
        if units is None:
            return
        words = places[:, None].astype(np.int64) // WORD + np.arange(-(-size // WORD))
        place = self._entered(step)
        if kind in ("read", "ldmatrix"):
            found = self._read if self._read is not None else self._none()
            for unit, number in {*zip(np.repeat(units, words.shape[1]).tolist(), self._shared[words].ravel().tolist())}:
                found[unit] = self.ways.union(int(found[unit]), number)
            for unit in np.unique(units).tolist():
                found[unit] = self._through(place, int(found[unit]))
            self._read = found
        elif kind in ("write", "stmatrix", "copy"):
            if self._from_memory or kind == "copy":
                self.loads.add(place)
                self._shared[words] = self._through(place, 0)
                return
            data = self._sources(self.machines.stored_registers(step))
            through = {number: self._through(place, number) for number in np.unique(data).tolist()}
            self._shared[words] = np.array([through[number] for number in data[units].tolist()], np.int32)[:, None]

    def after(self, step: Any, who: Any) -> None:
        """An instruction was executed: what its results came by."""
        written = self.machines.written_registers(step)
        if not written:
            return
        self._writers.update(dict.fromkeys(written, step))
        units = self.machines.units(self._machine, who)
        if self._read is not None:
            found = self._read
        elif self._from_memory:
            place = self._entered(step)
            self.loads.add(place)
            found = np.full(self.machines.unit_count(self._machine), self._through(place, 0), np.int32)
        elif self.machines.is_product(step):
            found = self._none()
        else:
            found = self._sources(self.machines.read_registers(step))
        for number in written:
            if number not in self._registers:
                self._registers[number] = self._none()
            self._registers[number][units] = found[units]

    def _none(self) -> Array:
        return np.zeros(self.machines.unit_count(self._machine), np.int32)

    def _sources(self, registers: Iterable[int]) -> Array:
        held = [self._registers[number] for number in registers if number in self._registers]
        return self._unions_of(held, self.machines.unit_count(self._machine))

    def _entered(self, step: Any) -> int:
        place = self.machines.place(step)
        self.steps.setdefault(place, step)
        return place

    def _matrix(self, name: str) -> Matrix:
        return self.product.a if name == "A" else self.product.b

    def copied(self, step: Any, places: Array, size: int) -> None:
        """Shared memory was written by an asynchronous copy."""
        place = self._entered(step)
        self.loads.add(place)
        words = places[:, None].astype(np.int64) // WORD + np.arange(-(-size // WORD))
        self._shared[words] = self._through(place, 0)

    def held(self, step: Any, who: Any, places: Mapping[str, Array]) -> dict[str, Array]:
        """By operand what the registers of a product that is about to be carried out came by, (wave, register); of one
        in shared memory what its elements did, (wave, row * columns + column) of A, with rows and columns exchanged of
        B."""
        units = self.machines.units(self._machine, who)
        found = {name: self._shared[where // WORD].reshape(len(where), -1) for name, where in places.items()}
        for name in "AB":
            registers = self.machines.operand_registers(step, name)
            if registers:
                none = self._none()
                found[name] = np.stack([self._registers.get(number, none)[units] for number in registers], axis=1)
        return found
