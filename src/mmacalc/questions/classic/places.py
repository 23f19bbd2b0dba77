"""One place of an operand: where an element is (-g), and which elements a register of a lane holds (-m)."""

from __future__ import annotations

from ...base.records import Record, TupleRecord, json_keys
from ...spelling import SOURCE_FIELDS, element_text, heading, place_text, run_text, signed, spelling_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...model import Element, Location, Operand
    from .sums import Calculation


@json_keys(
    "negated: whether the instruction negates it; null where it negates one of the two values of a 2:4 group",
    "negated_half: which of these two values it negates then: the first stored (low) or the second (high)",
    "absolute",
)
class Sign(TupleRecord):
    """How the instruction reads an element. Of the two 16-bit values that a sparse A stores of each four k, NEG and
    NEG_HI may negate one: `negated` is then None."""

    negated: bool | None
    negated_half: str | None
    absolute: bool


def sign_of(sign: str) -> Sign:
    """What `Operand.sign` answers, in three words."""
    half = sign if sign in ("low", "high") else None
    return Sign(None if half else "-" in sign, half, "|" in sign)


@json_keys(
    "lane",
    "item: the element's slot within the lane",
    "register: 32-bit registers counted from the operand's first",
    "lsb",
    "width: bits; 64: this register and the next",
    "text",
)
class SpelledPlace(TupleRecord):
    """A location, with its text."""

    lane: int
    item: int
    register: int
    lsb: int
    width: int
    text: str


def spelled(operand: Operand, location: Location, prefix: str = "v") -> SpelledPlace:
    """A location of an operand with its text; `prefix` goes before AMD's registers."""
    lane, item, register, lsb, width = location
    return SpelledPlace(lane, item, register, lsb, width, place_text(operand, location, prefix))


class RowAndK(TupleRecord):
    """The coordinates of an element of A, K or SA."""

    i: int
    k: int


class KAndColumn(TupleRecord):
    """The coordinates of an element of B or SB."""

    k: int
    j: int


class RowAndColumn(TupleRecord):
    """The coordinates of an element of C, D or P."""

    i: int
    j: int


COORDINATES: dict[tuple[str, str], type[RowAndK | KAndColumn | RowAndColumn]] = {
    ("i", "k"): RowAndK, ("k", "j"): KAndColumn, ("i", "j"): RowAndColumn,
}  # fmt: skip


@json_keys("**coordinates", "block", "text")
class ElementName(TupleRecord):
    """An element by its coordinates, with its text."""

    coordinates: RowAndK | KAndColumn | RowAndColumn
    block: int
    text: str


def named(operand: Operand, row: int, col: int, block: int) -> ElementName:
    """An element of an operand."""
    first, second = operand.axes[1:]
    return ElementName(COORDINATES[first, second](row, col), block, element_text(operand, row, col, block))


@json_keys("**operand", "element", "locations=spelled: several where it is replicated", "**signs", "**calculation")
class ElementPlaces(Record):
    """Where one element of an operand is.

    Attributes:
        operand: which, under its modifiers. row, col, block: the element.
        locations: one, or several where it is replicated.
        sign: what the instruction does to its sign as it reads it, as `Operand.sign` gives it.
        calculation: what an element of D is the sum of, if that was asked for.
    """

    operand: Operand
    row: int
    col: int
    block: int
    locations: tuple[Location, ...]
    sign: str
    calculation: Calculation | None = None

    @property
    def element(self) -> ElementName:
        """The element with its name."""
        return named(self.operand, self.row, self.col, self.block)

    @property
    def spelled(self) -> tuple[SpelledPlace, ...]:
        """The locations with their texts."""
        return tuple([spelled(self.operand, location) for location in self.locations])

    @property
    def signs(self) -> Sign:
        """`sign` in three words."""
        return sign_of(self.sign)


class HeldElement(TupleRecord):
    """An element that a register holds, the sign under which the instruction reads it, and as in `ElementPlaces`
    the calculation."""

    element: Element
    sign: str
    calculation: Calculation | None


@json_keys(
    "**name",
    "lsb=element.lsb",
    "width=element.width",
    "**signs",
    "place: its register, lane and bits as text",
    "**calculation",
)
class HeldPlace(TupleRecord):
    """An element in a register of a lane."""

    operand: Operand
    register: int
    lane: int
    element: Element
    sign: str
    calculation: Calculation | None = None

    @property
    def name(self) -> ElementName:
        """The element with its name."""
        return named(self.operand, self.element.row, self.element.col, self.element.block)

    @property
    def signs(self) -> Sign:
        """`sign` in three words."""
        return sign_of(self.sign)

    @property
    def place(self) -> str:
        """The place as text."""
        return spelling_of(self.operand).held_place(self.operand, self.register, self.lane, self.element)


@json_keys("**operand", "register", "lane", "elements=held")
class RegisterContents(Record):
    """What one register of one lane of an operand holds, lowest bits first; empty where it holds nothing."""

    operand: Operand
    register: int
    lane: int
    elements: tuple[HeldElement, ...]

    @property
    def held(self) -> tuple[HeldPlace, ...]:
        """The elements with their places."""
        where = (self.operand, self.register, self.lane)
        return tuple([HeldPlace(*where, *each) for each in self.elements])


def get_register(
    operand: Operand, *, i: int = 0, j: int = 0, k: int = 0, block: int = 0, calculated: bool = False
) -> ElementPlaces:
    """Where an element is. Coordinates that the operand lacks are ignored.

    Args:
        operand: an instruction's operand; i, j, k, block: the element.
        calculated: of D, also what the element is the sum of.

    Raises:
        Error: a coordinate is outside the operand.

    >>> import mmacalc
    >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
    >>> get_register(a, i=3, k=9).locations
    (Location(lane=35, item=1, register=0, lsb=16, width=16),)
    """
    coordinates = {"i": i, "j": j, "k": k}
    locations = operand.locate(**coordinates, block=block)
    row, col = [coordinates[axis] for axis in operand.axes[1:]]
    terms = _calculation(operand, i, j, block) if calculated else None
    return ElementPlaces(operand, row, col, block, locations, operand.sign(locations[0].lsb), terms)


def _calculation(operand: Operand, i: int, j: int, block: int) -> Calculation:
    from .sums import calculation

    return calculation(operand, i, j, block)


def matrix_entry(operand: Operand, register: int = 0, lane: int = 0, *, calculated: bool = False) -> RegisterContents:
    """What a register of a lane holds.

    Args:
        operand: an instruction's operand; register: counted from its first; lane: of the wave.
        calculated: of D, also what each element is the sum of.

    Raises:
        Error: the operand has no such register, or the wave no such lane.

    >>> import mmacalc
    >>> a = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").operand("A")
    >>> [held.element.col for held in matrix_entry(a, register=0, lane=35).elements]
    [8, 9]
    """
    elements = [
        HeldElement(
            element,
            operand.sign(element.lsb),
            _calculation(operand, element.row, element.col, element.block) if calculated else None,
        )
        for element in operand.contents(register, lane)
    ]
    return RegisterContents(operand, register, lane, tuple(elements))


def text(answer: ElementPlaces) -> str:
    """A line for each place, or with a calculation one line with the first place and the sum."""
    operand, locations = answer.operand, answer.locations
    name = element_text(operand, answer.row, answer.col, answer.block)
    head = heading(operand.instruction, operand)
    if answer.calculation is None:
        lines = "".join([f"{name} = {place_text(operand, location)}\n" for location in locations])
        more: str = spelling_of(operand).also(operand, answer.row, answer.col)
        return head + lines + more

    place = place_text(operand, locations[0], f"{SOURCE_FIELDS['D']}_v")
    from . import sums

    return f"{head}{name} = {place} = {sums.text(answer.calculation, sums.place_of)}\n"


def notes(answer: ElementPlaces) -> tuple[str, ...]:
    """What a reader of the text should know besides."""
    if answer.calculation is None:
        return ()
    from . import quirks

    return quirks.sign_notes(answer.operand)


def contents_text(answer: RegisterContents) -> str:
    """A line for each element that AMD's tool lists."""
    from . import quirks, sums

    operand = answer.operand
    places, lines = spelling_of(operand), []
    for held, name in held_texts(operand, quirks.listed(answer)):
        line = f"{places.held_place(operand, answer.register, answer.lane, held.element)} = {name}"
        if held.calculation is not None:
            line += f" = {sums.text(held.calculation, sums.element_of)}"
        lines.append(line + "\n")
    return heading(operand.instruction, operand) + ("".join(lines) or _unused(operand, answer.lane))


def held_texts(operand: Operand, elements: Iterable[HeldElement]) -> list[tuple[HeldElement, str]]:
    """Each element that a register holds, with its text; a scale is named once, with the run of k that it scales.

    >>> import mmacalc
    >>> from mmacalc.questions.classic.places import matrix_entry
    >>> scale = mmacalc.instruction("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4").operand("SA")
    >>> [text for _, text in held_texts(scale, matrix_entry(scale, register=0, lane=19).elements)]
    ['SA[3][32..63]']
    """
    if operand.name not in ("SA", "SB"):
        return [(held, signed(_name(operand, held.element), _sign(operand, held))) for held in elements]
    runs: dict[int, list[HeldElement]] = {}
    for held in elements:
        runs.setdefault(held.element.lsb, []).append(held)
    return [(run[0], _run(operand, run[0].element, run[-1].element)) for run in runs.values()]


def _name(operand: Operand, element: Element) -> str:
    return element_text(operand, element.row, element.col, element.block)


def _sign(operand: Operand, held: HeldElement) -> str:
    from . import quirks

    return quirks.sign(operand, held.element.lsb) if quirks.has_own_signs(operand) else held.sign


def _run(operand: Operand, first: Element, last: Element) -> str:
    return run_text(operand, range(first.row, last.row + 1), range(first.col, last.col + 1))


def _unused(operand: Operand, lane: int) -> str:
    """The sentence for a lane, or a part of its register, that holds nothing."""
    if operand.fields.get("cbsz"):
        return f"Due to instruction modifiers CBSZ and ABID, lane {lane} is not used for this instruction.\n"
    return f"Lane {lane} is not used for matrix {operand.name} of this instruction.\n"


def contents_notes(answer: RegisterContents) -> tuple[str, ...]:
    """What a reader of the text should know besides."""
    from . import quirks

    operand = answer.operand
    shown = operand.name == "A" or any(held.calculation is not None for held in answer.elements)
    signs = quirks.sign_notes(operand) if shown else ()
    return (*signs, *quirks.left_out(answer))
