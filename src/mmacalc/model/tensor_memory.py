"""The matrices of tcgen05.mma in Tensor Memory: instructions whose shape is a parameter, and their operands.

The shape and the types are in the instruction descriptor, a value at run time, so `operand` takes them. Where
elements are is computed by `mmacalc.families.tensor_memory`; a location is a CTA, a lane, a column and bits.
"""

from __future__ import annotations

from math import gcd

from ..checks import require_int
from ..errors import Error, did_you_mean
from ..families import tensor_memory as family
from ..families.tensor_memory_moves import epilogue
from ..families.tensor_memory_shapes import check_shape, check_types, default_types, remark
from ..formats import named
from ..records import TupleRecord
from .instruction import Instruction
from .location import Element, Location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from ..layout import Layout

__all__ = [
    "LoadedLocation", "LoadedMatrix", "TensorMemoryInstruction", "TensorMemoryLocation", "TensorMemoryMove",
    "TensorMemoryOperand", "spoken",
]  # fmt: skip

PARAMETERS = ("m", "n", "k", "a", "b", "d", "half", "selector", "scale_id_a", "scale_id_b")
WHERE_B = "is in shared memory, where a 64-bit matrix descriptor says; `mmacalc descriptor` draws it"


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


class LoadedLocation(TupleRecord):
    """Where an element is after tcgen05.ld: CTA, warp of the warpgroup, lane (thread) of the warp, the number of the
    load, its register, and the bits."""

    cta: int
    warp: int
    lane: int
    load: int
    register: int
    lsb: int
    width: int


class TensorMemoryInstruction(Instruction):
    """A tcgen05.mma. m, n and formats are the largest shape and the usual types; `operand` takes others.

    >>> import mmacalc
    >>> mma = mmacalc.instruction("sm_100a", "tcgen05.mma.cta_group::1.kind::f16")
    >>> mma.operand("D", m=128, n=256, d="f32").locate(i=3, j=17)
    (TensorMemoryLocation(cta=0, lane=3, column=17, lsb=0, width=32),)
    """

    form: family.Form = family.Form("", False, False, 0)
    sass: str = ""

    in_tensor_memory = True

    def operand(self, name: str, wave: int | None = None, **parameters: Any) -> Any:
        """One operand in Tensor Memory, a `TensorMemoryOperand`.

        Args:
            name: A (in Tensor Memory), C or D, K (metadata), SA or SB. wave: a warp has 32 lanes.
            parameters: m, n and, where there are several, k; a, b, d: the types of A, B and D; half: bit 4 of the
                lane in the address, where 64 rows lie in every other 16 lanes; selector: the sparsity selector;
                scale_id_a, scale_id_b: the byte at which the scales of this K begin.

        Raises:
            Error: m or n is missing, or there is no such operand, shape, type or parameter.
        """
        upper = name.upper()
        if upper not in self.operands:
            raise Error(f"{self.name} has no operand '{name}'; it has {', '.join(self.operands)}")
        if upper == "B":
            raise Error(f"B of {self.name} {WHERE_B}")
        if unknown := [given for given in parameters if given not in PARAMETERS]:
            hint = did_you_mean(unknown[0], PARAMETERS)
            raise Error(f"tcgen05.mma has no parameter '{unknown[0]}'.{hint} Known: {', '.join(PARAMETERS)}")
        if missing := [size for size in ("m", "n") if parameters.get(size) is None]:
            raise Error(
                f"the shape of {self.name} is in the instruction descriptor: name {' and '.join(missing)}, "
                f"such as m={self.m}, n={self.n} (on the command line --m {self.m} --n {self.n})"
            )
        return TensorMemoryOperand(self, upper, {key: value for key, value in parameters.items() if value is not None})

    def _refuse_arithmetic(self) -> NoReturn:
        """mmacalc has no model of this arithmetic that was compared with tcgen05."""
        raise Error(f"how {self.name} rounds is not known here: no published measurement of tcgen05 was compared")

    @property
    def numerics(self) -> NoReturn:
        self._refuse_arithmetic()

    def multiply(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse_arithmetic()

    def multiply_bits(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse_arithmetic()

    def execute(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse_arithmetic()


class TensorMemoryOperand:
    """One matrix of a tcgen05.mma in Tensor Memory, for one shape and types. Immutable."""

    instruction: TensorMemoryInstruction
    name: str
    m: int
    n: int
    k: int
    types: dict[str, str]
    cells: family.Cells
    layout: Layout
    scale_id: int
    fields: dict[str, int]

    def __init__(self, instruction: TensorMemoryInstruction, name: str, parameters: dict[str, Any]) -> None:
        self.instruction, self.name = instruction, name
        form, target = instruction.form, instruction.arch
        self.m, self.n = (require_int(size, parameters[size]) for size in ("m", "n"))
        depth = None if "k" not in parameters else require_int("k", parameters["k"])
        self.k = check_shape(form, target, self.m, self.n, depth)
        usual = default_types(form.kind)
        self.types = {operand: str(parameters.get(operand.lower(), usual["ABD".index(operand)])) for operand in "ABD"}
        if "a" in parameters and "b" not in parameters and form.kind == "f16":
            self.types["B"] = self.types["A"]
        check_types(form.kind, *self.types.values())
        self.cells = self._cells()
        self.layout = self.cells.layout
        self.scale_id = self._choice(parameters, f"scale_id_{name[-1].lower()}", range(0, 4, self._scale_step()))
        halves, selectors = (range(self.layout.sizes.get(digit, 1)) for digit in ("half", "f"))
        self.fields = {
            "half": self._choice(parameters, "half", halves), "f": self._choice(parameters, "selector", selectors)
        }  # fmt: skip

    def _choice(self, parameters: dict[str, Any], name: str, allowed: range) -> int:
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
    def scales(self) -> int:
        """How many scales a row has along this K; 0 of an operand that has none."""
        if self.name not in ("SA", "SB"):
            return 0
        return self.instruction.scale_vec * self.k // self.instruction.k

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
        return LoadedMatrix(self, epilogue(self.layout, shape, count, pack), pack)


class LoadedMatrix(TupleRecord):
    """D in the registers of a warpgroup: its operand, the layout (cta, warp, lane, load, item), whether packed."""

    operand: TensorMemoryOperand
    layout: Layout
    pack: bool

    def locate(self, i: int = 0, j: int = 0) -> tuple[LoadedLocation, ...]:
        """Which thread and register holds an element.

        Raises:
            Error: it is outside D.
        """
        found = []
        for cta, warp, lane, load, item in self.layout.locate({"i": i, "j": j}, self.operand.fields):
            register, lsb = (item // 2, item % 2 * 16) if self.pack else (item, 0)
            found.append(LoadedLocation(cta, warp, lane, load, register, lsb, self.operand.cells.bits))
        return tuple(found)

    def contents(self, warp: int, lane: int, load: int, register: int, cta: int = 0) -> tuple[tuple[int, int], ...]:
        """The (i, j) in a register of a thread after a load, lowest bits first."""
        items = (2 * register, 2 * register + 1) if self.pack else (register,)
        places = [(cta, warp, lane, load, item) for item in items]
        return tuple([(i, j) for place in places for i, j in self.layout.contents(place, self.operand.fields)])


class TensorMemoryMove(Instruction):
    """A tcgen05.ld, st, cp or another instruction of Tensor Memory that multiplies nothing.

    `layout` is that of `mmacalc.families.tensor_memory_moves`: from the lane and column (of cp: row and column) to the
    thread and register, or lane and column; None where nothing is moved between such places.
    """

    layout: Layout | None = None
    pack: bool = False
    sass: str = ""

    in_tensor_memory = True

    def locate(self, lane: int = 0, column: int = 0) -> tuple[Location, ...]:
        """Which thread and register of the warp a cell's value is in, from the address of a tcgen05.ld or st.

        Raises:
            Error: the instruction is not an ld or st, or does not reach that cell.

        >>> import mmacalc
        >>> load = mmacalc.instruction("sm_100a", "tcgen05.ld.sync.aligned.16x256b.x2.b32")
        >>> load.locate(lane=9, column=5)
        (Location(lane=6, item=3, register=3, lsb=0, width=32),)
        """
        if self.layout is None or "item" not in self.layout.places:
            raise Error(f"{self.name} moves nothing between Tensor Memory and registers; tcgen05.ld and st do")
        found = []
        for thread, item in self.layout.locate({"lane": lane, "column": column}):
            register, lsb, width = (item // 2, item % 2 * 16, 16) if self.pack else (item, 0, 32)
            found.append(Location(thread, item, register, lsb, width))
        return tuple(found)
