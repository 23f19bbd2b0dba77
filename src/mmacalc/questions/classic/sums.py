"""What an element of D is the sum of (-o): the terms with their places and the signs that modifiers put on them, and
the sum as AMD's tool writes it."""

from __future__ import annotations

from ...base.errors import Error
from ...base.records import Record, TupleRecord, json_keys
from ...spelling import SOURCE_FIELDS, element_text, place_text, run_text, signed
from . import quirks
from .places import Sign, SpelledPlace, sign_of, spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...model import Instruction, Operand

    Writer = Callable[["Term"], str]


class NotInRegisters(Record):
    """An operand whose elements are not held in registers (B of wgmma)."""

    name: str
    instruction: Instruction


@json_keys("element=name", "**signs", "location=spelled: null of an operand that is not in registers")
class Term(TupleRecord):
    """One factor or addend of an output calculation.

    operand: which matrix; location: where it is read, None of a `NotInRegisters`; element: the (row, column, block)
    that this location holds when no modifier is set; sign: as `Operand.sign` gives it.
    """

    operand: Operand | NotInRegisters
    location: Any  # a Location
    element: tuple[int, int, int]
    sign: str

    @property
    def name(self) -> str:
        """The element as text."""
        return element_of(self)

    @property
    def signs(self) -> Sign:
        """`sign` in three words."""
        return sign_of(self.sign)

    @property
    def spelled(self) -> SpelledPlace | None:
        """The location with its text."""
        if isinstance(self.operand, NotInRegisters):
            return None
        return spelled(self.operand, self.location, f"{SOURCE_FIELDS[self.operand.name]}_v")


class Factors(TupleRecord):
    """One product."""

    a: Term
    b: Term


class Scales(TupleRecord):
    """The scales of a block of k."""

    first_k: int
    last_k: int
    a: Term
    b: Term


@json_keys("products=factors", "addend: of C; null where there is none", "scales=scale_blocks")
class Calculation(TupleRecord):
    """What one element of D is the sum of.

    products: the (A, B) factors in ascending k; addend: the C term, None if sparse; scales: for each block of k, the
    (range of k, scale of A, scale of B) that multiply its products, empty for an instruction without scales.
    """

    products: tuple[tuple[Term, Term], ...]
    addend: Term | None
    scales: tuple[tuple[range, Term, Term], ...]

    @property
    def factors(self) -> tuple[Factors, ...]:
        """`products` with names."""
        return tuple([Factors(a, b) for a, b in self.products])

    @property
    def scale_blocks(self) -> tuple[Scales, ...]:
        """`scales` with names."""
        return tuple([Scales(k.start, k.stop - 1, a, b) for k, a, b in self.scales])


def calculation(operand: Operand, i: int, j: int, block: int) -> Calculation:
    """What an element of D is the sum of. For a replicated operand, the first copy is named.

    Args:
        operand: D under its modifiers; i, j, block: the element.

    Raises:
        Error: the instruction only moves a matrix, or the places of its elements are not known.

    >>> import mmacalc
    >>> scaled = mmacalc.instruction("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4")
    >>> k, a, b = calculation(scaled.operand("D"), 3, 5, 0).scales[1]
    >>> k, a.location.lane, b.location.lane
    (range(32, 64), 19, 21)
    """
    instruction = operand.instruction
    if instruction.flops == 0:
        raise Error(f"{instruction.name} moves a matrix; it has no sums to show")
    a, b = _source(operand, "A"), _source(operand, "B")
    products = tuple([(_term(a, i=i, k=k, block=block), _term(b, k=k, j=j, block=block)) for k in range(instruction.k)])
    addend = _term(_source(operand, "C"), i=i, j=j, block=block) if "C" in instruction.operands else None
    return Calculation(products, addend, _scales(operand, i, j))


def _scales(operand: Operand, i: int, j: int) -> tuple[tuple[range, Term, Term], ...]:
    instruction = operand.instruction
    if not instruction.scaled:
        return ()
    a, b, size = _source(operand, "SA"), _source(operand, "SB"), instruction.block_size
    return tuple((range(k, k + size), _term(a, i=i, k=k), _term(b, k=k, j=j)) for k in range(0, instruction.k, size))


def _source(operand: Operand, name: str) -> Operand | NotInRegisters:
    """Another operand of the same instruction under the same modifiers."""
    instruction = operand.instruction
    if name not in instruction.register_operands:
        return NotInRegisters(name, instruction)
    return instruction.operand(name, operand.wave, **operand.fields)


def _term(operand: Operand | NotInRegisters, **coordinates: int) -> Term:
    if isinstance(operand, NotInRegisters):
        row, col = (("i", "k"), ("k", "j"), ("i", "j"))["ABC".index(operand.name)]
        return Term(operand, None, (coordinates[row], coordinates[col], coordinates["block"]), "")
    location = operand.locate(**coordinates)[0]
    first, second = operand.axes[1:]
    element = (coordinates[first], coordinates[second], coordinates.get("block", 0))
    if not MOVING.isdisjoint(operand.fields):
        # Where a modifier moves data between lanes, the element is the one that lies there without it.
        still = {name: value for name, value in operand.fields.items() if name not in MOVING}
        plain = operand.instruction.operand(operand.name, operand.wave, **still)
        found = list(plain.elements(location.lane, location.item))
        element = element if element in found or not found else found[0]
    return Term(operand, location, element, operand.sign(location.lsb))


# Fields that make an operand be read from other lanes or blocks than its layout has.
MOVING = frozenset({"cbsz", "abid", "blgp"})


def text(calculation: Calculation, write: Writer) -> str:
    """The sum, each term written by `place_of` or by `element_of`."""
    products, addend, scales = calculation
    factors = [f"{signed(write(a), _sign(a))}*{signed(write(b), _sign(b))}" for a, b in products]
    blocks = [
        f"{_scale(a, k, write)}*{_scale(b, k, write)}*({' + '.join(factors[k.start : k.stop])})" for k, a, b in scales
    ]
    total = " + ".join(blocks or factors)
    if addend is None:
        return total
    signs = _sign(addend)
    minus = "-" if "-" in signs else "+"
    return f"{total} {minus} {signed(write(addend), signs.replace('-', ''))}"


def _sign(term: Term) -> str:
    if isinstance(term.operand, NotInRegisters) or not quirks.has_own_signs(term.operand):
        return term.sign
    return quirks.sign(term.operand, term.location.lsb)


def _scale(term: Term, block: range, write: Writer) -> str:
    """A scale's place, or its name with all the k that it scales."""
    if write is place_of:
        return write(term)
    row, col, _ = term.element
    rows, columns = (range(row, row + 1), block) if term.operand.name == "SA" else (block, range(col, col + 1))
    return run_text(term.operand, rows, columns)


def place_of(term: Term) -> str:
    """A term by the place where it is read."""
    if isinstance(term.operand, NotInRegisters):
        return element_of(term)
    place = place_text(term.operand, term.location, f"{SOURCE_FIELDS[term.operand.name]}_v")
    return f"({place})" if " " in place else place


def element_of(term: Term) -> str:
    """A term by its name."""
    row, col, block = term.element
    return element_text(term.operand, row, col, block)
