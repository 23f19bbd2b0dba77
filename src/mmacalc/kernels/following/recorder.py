"""What a launch multiplies: of each matrix product the elements of A and B, and the sums that it adds to."""

from __future__ import annotations

import numpy as np

from ...arithmetic.codecs import decode
from ...base.errors import Error
from ..device.observer import Observer
from .tags import digits_of, narrowest, sum_digits, tagged_sums, with_digit, with_sum_digit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ...base.arrays import Array
    from ...emulator.execution import Execution
    from ...model import Instruction
    from .machines import Machines, Wave
    from .origins import Origins
    from .tags import Tags

__all__ = ["Narrower", "Recorder", "Recorded"]

MOST = 1 << 26
"""Elements of operands that are kept."""


class Narrower(Exception):  # noqa: N818
    """Sums are held in a format of fewer values: the launch is made again, with smaller digits."""


class Recorded:
    """The products that one instruction carried out for some waves at once.

    step: the instruction as its machine has it. inst, execution. waves: who, each with all its blocks. held: by operand
    what its registers came by (see `Origins`); shared: the operands in shared memory. a, b, c: numbers (entry, row,
    column): of elements (see `Tags`), of sums (their number and 1); 0 of zero, `FOREIGN` of other values. first: the
    number of the first sum in D.
    """

    __slots__ = ("a", "b", "c", "execution", "first", "held", "inst", "order", "shared", "step", "waves")
    a: Array
    b: Array
    c: Array
    execution: Execution
    first: int
    held: dict[str, Array]
    shared: frozenset[str]
    inst: Instruction
    order: int
    step: Any
    waves: tuple[Wave, ...]

    def __init__(self, order: int, step: Any, waves: tuple[Wave, ...], execution: Execution, first: int) -> None:
        self.order, self.step, self.waves, self.execution, self.first = order, step, waves, execution, first
        self.inst = execution.inst

    def in_shared(self, name: str) -> bool:
        """Whether an operand lies in shared memory."""
        return name in self.shared


class Recorder(Observer):
    """Stands in for what computes products: takes the digits that the operands carry, and gives D the digits of the
    numbers of its sums.

    base: how many values a digit of a sum has. sums: how many sums there are so far.
    """

    tags: Tags
    machines: Machines
    origins: Origins
    digit: int
    base: int
    products: list[Recorded]
    sums: int

    def __init__(self, tags: Tags, machines: Machines, origins: Origins, base: int) -> None:
        self.tags, self.machines, self.origins, self.base = tags, machines, origins, base
        self.products, self.sums, self.digit = [], 0, 0
        self._step: Any = None
        self._who: Any = None
        self._machine: Any = None
        self._places: Mapping[str, Array] = {}
        self._next = self._kept = 0

    # --- the launch ---

    def begin(self, digit: int) -> None:
        """A launch begins that carries some digit."""
        self.digit, self._next = digit, 0
        self.sums = 0

    def end(self) -> None:
        """A launch has ended.

        Raises:
            Error: it multiplied less than the one before.
        """
        if self._next != len(self.products):
            raise self._differs()

    def started(self, machine: Any) -> None:
        """Some workgroups begin."""
        self._machine = machine

    def before(self, step: Any, who: Any) -> None:
        """An instruction, perhaps a product."""
        self._step, self._who, self._places = step, who, {}

    def multiplying(self, step: Any, who: Any, places: Mapping[str, Array]) -> None:
        """A product that was issued before."""
        self._step, self._who, self._places = step, who, places

    @property
    def sum_digits(self) -> int:
        """How many digits the numbers of the sums have."""
        return digits_of(self.sums, self.base)

    # --- products ---

    def __call__(self, execution: Execution, codes: Mapping[str, Array]) -> Array:
        """Record a product, and give D its sums' digits."""
        inst, out = execution.inst, execution.formats["D"]
        if execution.sparsity or inst.bit_operation:
            raise Error(f"{inst.name}: products of sparse matrices and of single bits are not followed")
        if narrowest(out) < self.base:
            self.base = narrowest(out)
            raise Narrower
        found = {name: self.tags.digit_of(codes[name], execution.formats[name]) for name in "AB"}
        found["C"] = self._sums(execution, codes["C"])
        entries, rows, columns = found["C"].shape
        if self.digit == 0:
            self._enter(execution, found)
        else:
            self._add(execution, found)
        first = self.sums
        self.sums += entries * rows * columns
        return tagged_sums(np.arange(first, self.sums).reshape(found["C"].shape), self.digit, self.base, out)

    def _sums(self, execution: Execution, codes: Array) -> Array:
        values = np.asarray(decode(codes, execution.formats["C"]))
        return sum_digits(values.astype(np.float64), self.base)

    def _enter(self, execution: Execution, found: Mapping[str, Array]) -> None:
        count = len(found["A"]) // execution.inst.blocks
        waves = self.machines.waves(self._machine, self._who, count)
        one = Recorded(len(self.products), self._step, waves, execution, self.sums)
        one.held = self.origins.held(self._step, self._who, self._places)
        one.shared = frozenset(self._places)
        one.a, one.b, one.c = (found[name].astype(np.int64) for name in "ABC")
        self._kept += one.a.size + one.b.size + one.c.size
        if self._kept > MOST:
            raise Error(
                f"the launch multiplies more than is kept ({MOST:,} elements of operands): follow a smaller problem, "
                "of a tile or two and a few steps along K"
            )
        self.products.append(one)

    def _add(self, execution: Execution, found: Mapping[str, Array]) -> None:
        if self._next >= len(self.products):
            raise self._differs()
        one = self.products[self._next]
        self._next += 1
        if one.execution is not execution or one.first != self.sums or one.c.shape != found["C"].shape:
            raise self._differs()
        one.a, one.b = (
            with_digit(old, found[name], self.digit, self.tags.base) for old, name in ((one.a, "A"), (one.b, "B"))
        )
        one.c = with_sum_digit(one.c, found["C"], self.digit, self.base)

    def _differs(self) -> Error:
        return Error(
            "what the kernel multiplies depends on the values of A and B (it skips parts, or chooses by them): "
            "it cannot be followed"
        )
