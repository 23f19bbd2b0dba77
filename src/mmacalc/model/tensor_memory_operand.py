"""One matrix of a tcgen05.mma in Tensor Memory: where its elements are.

Where they are is computed by `mmacalc.families.tensor_memory`; a location is a CTA, a lane, a column and bits.
"""

from __future__ import annotations

from math import gcd

from ..checks import require_int
from ..errors import Error
from ..families import tensor_memory as family
from ..families.tensor_memory_moves import epilogue
from ..families.tensor_memory_shapes import (
    remark,
)
from ..formats import named
from ..later import higher_layer
from ..records import Frozen, TupleRecord, frozen
from .loaded_matrix import LoadedMatrix
from .location import Element

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..drawing import Drawing
    from ..layout import Layout
    from .tensor_memory import TensorMemoryInstruction

__all__ = ["TensorMemoryLocation", "TensorMemoryOperand", "spoken"]


def spoken(layout: Layout) -> str:
    """A pattern without the place of the CTA where there is one CTA."""
    return layout.pattern.replace("cta (), ", "")


class TensorMemoryLocation(TupleRecord):
    """Where an element is in Tensor Memory: the CTA of the pair (0 or 1), the lane (0 to 127) and column from the
    operand's first, its lowest bit in the 32-bit cell, and its width in bits."""

    cta: int
    lane: int
    column: int
    lsb: int
    width: int


class TensorMemoryOperand(Frozen):
    """One matrix of a tcgen05.mma in Tensor Memory, for one shape and types. Immutable."""

    instruction: TensorMemoryInstruction
    name: str
    m: int
    n: int
    k: int
    types: Mapping[str, str]
    cells: family.Cells
    layout: Layout
    scale_id: int
    fields: Mapping[str, int]
    _parameters: Mapping[str, Any]

    def __init__(self, instruction: TensorMemoryInstruction, name: str, parameters: Mapping[str, Any]) -> None:
        self._set(
            instruction=instruction, name=name, m=instruction.m, n=instruction.n, k=instruction.k,
            types=frozen(instruction.types), _parameters=frozen(dict(parameters)),
        )  # fmt: skip
        cells = self._cells()
        self._set(cells=cells, layout=cells.layout)
        scale_id = self._choice(parameters, f"scale_id_{name[-1].lower()}", range(0, 4, self._scale_step()))
        concerned = {"half": "half" if name in ("A", "C", "D") else "", "selector": "f" if name == "K" else ""}
        fields = {
            digit: self._choice(parameters, field, range(self.layout.sizes.get(digit, 1)))
            for field, digit in concerned.items() if digit
        }  # fmt: skip
        self._set(scale_id=scale_id, fields=frozen(fields))

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorMemoryOperand, (self.instruction, self.name, dict(self._parameters))

    def _choice(self, parameters: Mapping[str, Any], name: str, allowed: range) -> int:
        value = require_int(name, parameters.get(name, 0))
        if value not in allowed:
            values = " or ".join(map(str, allowed))
            raise Error(f"{name} of {self.name} of {self.instruction.name} is {values}; got {value}")
        return value

    def _bits(self, operand: str) -> int:
        return named(self.types[operand]).bits

    def _cells(self) -> family.Cells:
        form = self.instruction.form
        if self.name in "CD":
            return family.d_cells(form, self.m, self.n, self._bits("D"))
        if self.name == "A":
            return family.a_cells(form, self.m, self.k, self._bits("A"))
        if self.name == "K":
            return family.metadata_cells(form, self.m, self.k, self._bits("A"))
        rows = self.m if self.name == "SA" else self.n
        return family.scale_cells(form, self.name, rows, self.m, 4 - self._scale_step() + self.scales)

    @property
    def element_bits(self) -> int:
        """The width of an element."""
        return self.instruction.format(self.name).bits

    @property
    def scales(self) -> int:
        """How many scales a row has along this K; 0 of an operand that has none."""
        if self.name not in ("SA", "SB"):
            return 0
        return self.k // self.instruction.block_size

    def _scale_step(self) -> int:
        """The bytes between the places in a word where the scales of one K may begin."""
        return gcd(4, self.scales or 4)

    @property
    def axes(self) -> tuple[str, str]:
        """The names of the coordinates: two of i, j, k."""
        return {"SB": ("j", "k"), "C": ("i", "j"), "D": ("i", "j")}.get(self.name, ("i", "k"))

    @property
    def shape(self) -> tuple[int, int]:
        """The extent of each axis."""
        sizes = {"i": self.m, "j": self.n, "k": self.k}
        return sizes[self.axes[0]], sizes[self.axes[1]]

    @property
    def pattern(self) -> str:
        """The layout in this package's notation; s of scales counts the bytes of the stream of scales."""
        return spoken(self.layout)

    @property
    def sizes(self) -> dict[str, int]:
        """The number of values of each digit that `pattern` names."""
        return self.layout.trimmed_sizes

    @property
    def columns(self) -> int:
        """How many columns of Tensor Memory it takes."""
        return self.layout.spans["column"]

    @property
    def doubt(self) -> str:
        """What about this layout no second source confirms; "" if nothing."""
        return self.cells.doubt

    @property
    def provenance(self) -> str:
        """How sure the layout is: "two sources agree", or "unconfirmed" where there is a `doubt`."""
        return "unconfirmed" if self.doubt else "two sources agree"

    @property
    def remark(self) -> str:
        """Where CUTLASS is stricter than the PTX ISA about this shape; "" if it is not."""
        return remark(self.instruction.form, self.m, self.n)

    def __repr__(self) -> str:
        return f"<{self.name} of {self.instruction.name}, m={self.m}, n={self.n}: {self.pattern}>"

    def locate(self, **coordinates: int) -> tuple[TensorMemoryLocation, ...]:
        """Where an element is: a tuple of `TensorMemoryLocation`, more than one when it is replicated.

        Args:
            coordinates: i, j and k; those left out are 0. k of a sparse A is the logical one.

        Raises:
            Error: a coordinate is outside the operand, or is not called i, j or k.
        """
        if unknown := [name for name in coordinates if name not in ("i", "j", "k")]:
            raise Error(f"an element has no coordinate '{unknown[0]}'; its coordinates are i, j and k")
        values = []
        for axis, extent in zip(self.axes, self.shape):
            value = require_int(axis, coordinates.get(axis, 0))
            if not 0 <= value < extent:
                raise Error(f"{axis} = {value} is outside {self!r}: {axis} is 0 to {extent - 1}")
            values.append(value)
        if self.scales:
            values[1] = self.scale_id + values[1] * self.scales // self.k
        places = self.layout.locate(dict(zip(self.layout.axes, values)), self.fields)
        return tuple(dict.fromkeys(self._location(dict(zip(self.layout.places, place))) for place in places))

    def _location(self, place: dict[str, int]) -> TensorMemoryLocation:
        cells = self.cells
        first = place.get("item", 0) // cells.merge * cells.merge
        width = cells.bits * cells.merge
        return TensorMemoryLocation(
            place["cta"], place["lane"], place["column"], first * cells.slot_bits + cells.offset, width
        )

    def contents(self, lane: int, column: int, cta: int = 0) -> tuple[Element, ...]:
        """What a cell holds: a tuple of `Element`, lowest bits first, block always 0; of scales, every k that one
        multiplies. Empty where nothing is.

        Raises:
            Error: Tensor Memory has no such lane or column.
        """
        limits = (("lane", lane, family.LANES), ("column", column, family.COLUMNS), ("cta", cta, 2))
        for name, value, extent in limits:
            if not 0 <= require_int(name, value) < extent:
                raise Error(f"{name} = {value} is outside Tensor Memory: it is 0 to {extent - 1}")
        found = []
        for item in range(self.layout.spans.get("item", 1)):
            place = {"cta": cta, "lane": lane, "column": column, "item": item}
            for element in self.layout.contents([place[name] for name in self.layout.places], self.fields):
                location = self._location(place)
                for row, col in self._elements(element):
                    found.append(Element(row, col, 0, location.lsb, location.width))
        return tuple(dict.fromkeys(found))

    def _elements(self, element: tuple[int, ...]) -> list[tuple[int, int]]:
        """The rows and columns of a place's coordinates: of a scale all its k, none where a row is padding."""
        row, along = element
        if row >= self.shape[0]:
            return []
        if not self.scales:
            return [(row, along)]
        run = self.k // self.scales
        number = along - self.scale_id
        return [(row, k) for k in range(number * run, (number + 1) * run)] if 0 <= number < self.scales else []

    def loaded(self, shape: str = "32x32b", count: int = 32, pack: bool = False) -> LoadedMatrix:
        """D after tcgen05.ld of all its columns by the four warps of a warpgroup.

        Args:
            shape, count, pack: of the load, .x`count`; pack, for a 16-bit D, puts two columns in a register.

        Raises:
            Error: it is not D, D is not of 16 bits under pack, or its columns are not a multiple of the load's.

        >>> import mmacalc
        >>> mma = mmacalc.instruction("B200", "tcgen05.mma.cta_group::1.kind::f16")
        >>> mma.operand("D", m=128, n=256).loaded("32x32b", 32).locate(i=35, j=100)
        (LoadedLocation(cta=0, warp=1, lane=3, load=3, register=4, lsb=0, width=32),)
        """
        if self.name not in "CD":
            raise Error(f"tcgen05.ld reads D for an epilogue; got {self.name}")
        if pack and self.cells.bits != 16:
            raise Error(f".pack::16b is for a D of 16 bits; it is {self.types['D']} here")
        name = f"{shape}.x{count}{'.pack::16b' if pack else ''}"
        return LoadedMatrix(self, epilogue(self.layout, shape, count, pack), pack, name)

    def draw(self, **look: Any) -> Drawing:
        """A picture of the operand in Tensor Memory: which datapath lane and column holds which element.

        Args:
            look: as for `Operand.draw`; `registers` draws lanes down and columns across.

        Raises:
            Error: an option has no such value, or a marked element is outside.

        >>> import mmacalc
        >>> d = mmacalc.instruction("B200", "tcgen05.mma.cta_group::1.kind::f16").operand("D", m=128, n=64)
        >>> d.draw(mark="D[35][40]").text().splitlines()[-1]
        'D[35][40] is in lane 35, column 40'
        """
        drawing: Drawing = higher_layer("draw_operand")(self, **look)
        return drawing
