"""The matrices of tcgen05.mma in Tensor Memory: instructions whose shape is a parameter, and their operands.

The shape and the types are in the instruction descriptor, a value at run time, so `operand` takes them. Where
elements are is computed by `mmacalc.families.tensor_memory`; a location is a CTA, a lane, a column and bits.
"""

from __future__ import annotations

from math import gcd

from ..checks import arguments_checked, require_int
from ..errors import Error, did_you_mean
from ..families import tensor_memory as family
from ..families.tensor_memory_moves import epilogue
from ..families.tensor_memory_shapes import (
    DEPTHS,
    check_scale_type,
    check_shape,
    check_types,
    default_types,
    remark,
    types_of,
)
from ..formats import named, ptx_name
from ..later import higher_layer
from ..records import TupleRecord, cached_property
from .instruction import MOST_OPERANDS, Instruction
from .loaded_matrix import LoadedMatrix
from .location import Element

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..drawing import Drawing
    from ..formats import Format
    from ..layout import Layout

__all__ = ["TensorMemoryInstruction", "TensorMemoryLocation", "TensorMemoryOperand", "spoken"]

SHAPE = ("m", "n", "k", "a", "b", "d", "scale")
PARAMETERS = (*SHAPE, "half", "selector", "scale_id_a", "scale_id_b")
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


def _types(kind: str, given: Mapping[str, Any]) -> dict[str, str]:
    """The types of A, B and D: those that were named, else the usual ones. A and B of kind::f16 are alike."""
    usual = dict(zip("ABD", default_types(kind)))
    found = {name: ptx_name(str(given.get(name.lower(), word))) for name, word in usual.items()}
    return {**found, "B": found["A"]} if kind == "f16" and "b" not in given else found


class TensorMemoryInstruction(Instruction):
    """A tcgen05.mma. Until a shape and types are given, m, n and formats are the largest shape and the usual types.

    `given` has the parameters of the instruction descriptor that were named: see `shaped`.

    >>> import mmacalc
    >>> mma = mmacalc.instruction("sm_100a", "tcgen05.mma.cta_group::1.kind::f16")
    >>> mma.operand("D", m=128, n=256, d="f32").locate(i=3, j=17)
    (TensorMemoryLocation(cta=0, lane=3, column=17, lsb=0, width=32),)
    """

    form: family.Form = family.Form("", False, False, 0)
    sass: str = ""
    given: Mapping[str, Any] = {}

    in_tensor_memory = True

    @property
    def types(self) -> dict[str, str]:
        """The types of A, B and D as PTX spells them, s8 rather than i8.

        Raises:
            Error: they are not published (kind::ti16).
        """
        return _types(self.form.kind, self.given)

    @cached_property
    def _kept(self) -> dict[tuple[Any, ...], TensorMemoryInstruction]:
        return {}

    @arguments_checked
    def shaped(
        self,
        m: int | None = None,
        n: int | None = None,
        k: int | None = None,
        a: str | None = None,
        b: str | None = None,
        d: str | None = None,
        scale: str | None = None,
    ) -> TensorMemoryInstruction:
        """The instruction with what its instruction descriptor says.

        Args:
            m, n, k: the shape; what is left out stays as it is.
            a, b, d: the types of A, B and D, such as "bf16". scale: the type of the scales, "ue8m0" or "ue4m3".

        Raises:
            Error: there is no such shape or type; the message says which there are.

        >>> import mmacalc
        >>> mma = mmacalc.instruction("B200", "tcgen05.mma.cta_group::1.kind::f8f6f4").shaped(m=64, n=32, b="e2m1")
        >>> mma.m, mma.n, mma.k, mma.format("B").name
        (64, 32, 32, 'e2m1')
        """
        parameters = {"m": m, "n": n, "k": k, "a": a, "b": b, "d": d, "scale": scale}
        key = tuple(parameters.values())
        if key not in self._kept:
            named_now = {name: value for name, value in parameters.items() if value is not None}
            if len(self._kept) >= MOST_OPERANDS:  # so that an endless batch takes no endless memory
                self._kept.clear()
            self._kept[key] = self._with({**self.given, **named_now}) if named_now else self
        return self._kept[key]

    def _with(self, given: Mapping[str, Any]) -> TensorMemoryInstruction:
        m, n = given.get("m", self.m), given.get("n", self.n)
        k = check_shape(self.form, self.arch, m, n, given.get("k"))
        types = _types(self.form.kind, given)
        check_types(self.form.kind, *types.values())
        formats = {**types, "C": types["D"]}
        if self.scaled:
            scale = check_scale_type(self.form.kind, self.scale_vec, given.get("scale"))
            formats |= {"SA": scale, "SB": scale}
        elif "scale" in given:
            raise Error(f"kind::{self.form.kind} has no scales, so no type of scales")
        names = {name: named(word).name for name, word in formats.items()}
        changed = {"m": m, "n": n, "k": k, "formats": names, "given": given}
        return type(self)(**{name: getattr(self, name) for name in self._fields} | changed)

    @property
    def drawn_operands(self) -> tuple[str, ...]:
        """Those in Tensor Memory."""
        return tuple([name for name in self.operands if name != "B"])

    @property
    def modelled_as(self) -> str:  # type: ignore[override]  # it depends on the form here
        """What its arithmetic is assumed to be like: MMA-Sim has dense cta_group::1 with the usual K only."""
        form = self.form
        alike = "as with cta_group::1 and without .ws" if form.ws or form.cta_group == 2 else ""
        return alike if self.k == DEPTHS[form.kind][form.sparse] else "as with the usual K"

    def format(self, operand: str, fields: Mapping[str, int | str] = {}) -> Format:
        """As `Instruction.format`.

        Raises:
            Error: the types are not published (kind::ti16), or there is no such operand.
        """
        types_of(self.form.kind)
        return super().format(operand, fields)

    def modifier_limits(self, wave: int | None = None, cbsz: int = 0) -> dict[str, tuple[int, ...]]:
        """The fields of addresses and of the descriptor that choose places; see `operand`. No others."""
        scales = {"scale_id_a": (0, 1, 2, 3), "scale_id_b": (0, 1, 2, 3)} if self.scaled else {}
        return {"half": (0, 1), **({"selector": (0, 1)} if self.sparse else {}), **scales}

    def with_parameters(self, modifiers: Mapping[str, Any]) -> tuple[Instruction, dict[str, Any]]:
        """The instruction with the shape and types among modifiers, and the modifiers that remain.

        Types are also called a_type, b_type, d_type and scale_type, as on the command line.
        """
        words = {name: name.removesuffix("_type") for name in modifiers}
        parameters = {words[name]: value for name, value in modifiers.items() if words[name] in SHAPE}
        rest = {name: value for name, value in modifiers.items() if words[name] not in SHAPE}
        return self.shaped(**parameters), rest

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
        known = {**self.given, **parameters}
        if missing := [size for size in ("m", "n") if known.get(size) is None]:
            raise Error(
                f"the shape of {self.name} is in the instruction descriptor: name {' and '.join(missing)}, "
                f"such as m={self.m}, n={self.n} (on the command line --m {self.m} --n {self.n})"
            )
        shape = {word: value for word, value in parameters.items() if word in SHAPE}
        fields = {word: value for word, value in parameters.items() if word not in SHAPE and value is not None}
        return TensorMemoryOperand(self.shaped(**shape), upper, fields)


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
        self.m, self.n, self.k, self.types = instruction.m, instruction.n, instruction.k, instruction.types
        self.cells = self._cells()
        self.layout = self.cells.layout
        self.scale_id = self._choice(parameters, f"scale_id_{name[-1].lower()}", range(0, 4, self._scale_step()))
        concerned = {"half": "half" if name in ("A", "C", "D") else "", "selector": "f" if name == "K" else ""}
        self.fields = {
            digit: self._choice(parameters, field, range(self.layout.sizes.get(digit, 1)))
            for field, digit in concerned.items() if digit
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
