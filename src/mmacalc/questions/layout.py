"""Explain a layout of Triton, Gluon or CuTe, or say whether two are the same and what it costs to go between them.

    mmacalc layout "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = true}>"
    mmacalc layout "gl.BlockedLayout([1, 4], [8, 8], [4, 1], [1, 0])" --tensor 64x64
    mmacalc layout "((4,8),(2,2)):((16,1),(8,64))" --tensor 8x16
    mmacalc layout "#ttg.blocked<{...}>" "#ttg.linear<{...}>" --tensor 128x64 --type f16        the conversion
    mmacalc layout "S<3,4,3> o 0 o (8,64):(64,1)"

A text is Triton's MLIR (#ttg.blocked, slice, linear, dot_op, nvidia_mma, amd_mfma, amd_wmma, swizzled_shared,
nvmma_shared, padded_shared), perhaps with the lines that define its aliases or within a tensor's type; Gluon's Python;
or CuTe's shape:stride. --tensor is the tensor's, of CuTe that of the index, the fastest axis first. Of two layouts the
first place that differs is named, and whether registers are renamed, lanes exchange values, or all goes through shared
memory, as Triton's convert_layout does.
"""

from __future__ import annotations

from ..base.checks import number as number_of
from ..base.errors import Error
from ..base.records import Record, json_keys
from ..command import Command, Options, Reply, argument, option, refuse_given, show
from ..command.common import JSON
from ..foreign import Conversion, ForeignLayout, convert, read
from ..formats import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..layout import Layout
    from ..layout.linear import LinearLayout

__all__ = ["COMMAND", "about", "answered", "conversion_text", "converted", "text"]

SHOWN = 8
"""Elements, and instructions, that are shown."""
NAMES = {"item": "register"}


@json_keys(
    "notation=layout.notation", "kind=layout.kind", "shape", "element=layout.element", "pattern", "sizes", "bases",
    "spans: how many of each place", "copies: how many places hold each element", "cute", "coalesced", "cosize",
    "operand=layout.operand", "transposed=layout.transposed", "instructions=instruction_names", "tile",
    "padding: pairs of an interval and what is added after each, in elements", "first",
)  # fmt: skip
class LayoutAnswer(Record):
    """A layout on a tensor.

    Attributes:
        layout: as it was read. shape: of the tensor.
    """

    layout: ForeignLayout
    shape: tuple[int, ...]

    @property
    def _linear(self) -> LinearLayout | None:
        try:
            return self.layout.linear(self._given)
        except Error:
            if self.layout.encoding is not None:
                raise
            return None

    @property
    def _given(self) -> tuple[int, ...]:
        return self.shape if self.layout.encoding is not None or len(self.shape) > 1 else ()

    @property
    def _digits(self) -> Layout | None:
        try:
            return self.layout.layout(self._given)
        except Error:
            return None

    @property
    def pattern(self) -> str | None:
        """In this package's notation; null where a swizzle or a gap has none."""
        return self._digits.pattern if self._digits else None

    @property
    def sizes(self) -> dict[str, int]:
        """Of the digits of the pattern."""
        return self._digits.trimmed_sizes if self._digits else {}

    @property
    def bases(self) -> dict[str, tuple[tuple[int, ...], ...]]:
        """Over GF(2), by place; empty where a size is not a power of two, or indices are left out."""
        found = self._linear
        return dict(found.bases) if found else {}

    @property
    def spans(self) -> dict[str, int]:
        """How many of each place."""
        found = self._linear
        return found.spans() if found else {}

    @property
    def copies(self) -> int:
        """How many places hold each element."""
        found = self._linear
        return 1 << len(found.kernel) if found else 1

    @property
    def cute(self) -> str | None:
        """As CuTe writes it."""
        return None if self.layout.cute is None else str(self.layout.cute)

    @property
    def coalesced(self) -> str | None:
        """The same function in as few modes as can be."""
        return None if self.layout.cute is None else str(self.layout.cute.coalesce())

    @property
    def cosize(self) -> int | None:
        """One more than the largest index of a CuTe layout."""
        return None if self.layout.cute is None else self.layout.cute.cosize

    @property
    def instruction_names(self) -> tuple[str, ...]:
        """The matrix instructions that it is of."""
        return tuple([inst.name for inst in self.layout.instructions])

    @property
    def tile(self) -> str | None:
        """The tile of the first of these instructions; null where it is of none, or not of D."""
        found = self.layout.instructions
        if not found or self.layout.operand != "D":
            return None
        try:
            return self.layout.tile(found[0], self.shape).title
        except Error:
            return None

    @property
    def padding(self) -> tuple[tuple[int, int], ...]:
        """Of padded_shared."""
        found: tuple[tuple[int, int], ...] = (
            () if self.layout.encoding is None else self.layout.encoding.get("padding", ())
        )
        return found

    @property
    def first(self) -> tuple[tuple[int, ...], ...]:
        """The first elements of the first thread, or offset."""
        found = self._linear
        if found is None:
            return tuple([(index,) for index in (self.layout.cute.indices if self.layout.cute else ())[:SHOWN]])
        place = next((name for name in ("register", "value", "offset", "place") if found.bases.get(name)), "")
        if not place:
            return (found.apply(),)
        return tuple([found.apply(**{place: at}) for at in range(min(SHOWN, found.spans()[place]))])


@json_keys("**conversion", "first=difference: null where none differs",
           "permutations=conversion.permutations: the orders as CuTe writes them, where it can",
           "source", "target", "same")  # fmt: skip
class ConvertedLayouts(Record):
    """Two layouts of one tensor, and what it takes to go from the first to the second."""

    source: LayoutAnswer
    target: LayoutAnswer
    conversion: Conversion

    @property
    def same(self) -> bool:
        """Whether every place has the same element in both."""
        return self.conversion.kind == "identical"

    @property
    def difference(self) -> DifferentPlace | None:
        """The first place with another element."""
        return DifferentPlace(*self.conversion.first) if self.conversion.first else None


class DifferentPlace(Record):
    """A place, the element that the first layout has there, and that of the second."""

    place: dict[str, int]
    source: tuple[int, ...]
    target: tuple[int, ...]


def about(layout: ForeignLayout, shape: tuple[int, ...] = ()) -> LayoutAnswer:
    """A layout on a tensor; of its own smallest one if no shape is given.

    >>> from mmacalc.foreign import read
    >>> about(read("gl.BlockedLayout([1, 4], [8, 8], [4, 1], [1, 0])")).pattern
    '(i1 i0) (j1 j0) -> register (j0), lane (i0 j1), warp (i1)'
    """
    if layout.cute is not None and len(shape) == 1 and shape[0] != layout.cute.size:
        raise Error(f"the layout {layout.cute} has {layout.cute.size} elements; got a tensor of {shape[0]}")
    answer = LayoutAnswer(layout, tuple(shape) or layout.shape)
    answer.spans  # noqa: B018  a shape that does not fit is refused now
    return answer


def converted(source: LayoutAnswer, target: LayoutAnswer, bits: int = 32) -> ConvertedLayouts:
    """What it takes to go from one layout to another.

    Raises:
        Error: they are not layouts of one tensor.
    """
    found = []
    for one in (source, target):
        found.append(one.layout.linear(one._given))
    if found[0].extents.keys() != found[1].extents.keys() and len(found[0].extents) == len(found[1].extents):
        found[1] = found[1].renamed(**dict(zip(found[1].extents, found[0].extents)))
    return ConvertedLayouts(source, target, convert(found[0], found[1], bits))


def text(answer: LayoutAnswer) -> str:
    """What the layout is, line by line."""
    return "\n".join(_lines(answer)) + "\n"


def _lines(answer: LayoutAnswer) -> Iterator[str]:
    layout, shape = answer.layout, "x".join(map(str, answer.shape))
    element = f" {layout.element}" if layout.element else ""
    if layout.cute is not None:
        yield f"CuTe: {answer.cute}"
        yield f"  size {layout.cute.size}, cosize {answer.cosize}, coalesced {answer.coalesced}"
    else:
        yield f"{layout.notation}: {layout.kind} on {shape}{element}"
    if answer.pattern:
        yield f"  {answer.pattern}"
        yield f"  {', '.join([f'{digit}={size}' for digit, size in answer.sizes.items()])}"
    elif answer.bases:
        yield "  no re-grouping of digits says it: coordinates are combined by exclusive or"
    for place, rows in answer.bases.items():
        if rows:
            yield f"  {NAMES.get(place, place):9} {' '.join([_element(row) for row in rows])}"
    for interval, pad in answer.padding:
        yield f"  padding   {pad} elements after each {interval}: offset + {pad} * floor(offset / {interval})"
    counts = [f"{span} {NAMES.get(place, place)}s" for place, span in answer.spans.items() if span > 1]
    if counts:
        copies = f"; each element is held {answer.copies} times" if answer.copies > 1 else ""
        yield f"  {', '.join(counts)}{copies}"
    yield f"  first: {' '.join(map(_element, answer.first))}"
    yield from _instructions(answer)


def _instructions(answer: LayoutAnswer) -> Iterator[str]:
    names, layout = answer.instruction_names, answer.layout
    if not layout.operand:
        return
    role = f"{layout.operand} of"
    if layout.transposed:
        turned = {"A": "B", "B": "A", "D": "D"}[layout.operand]
        role = f"{layout.operand}, transposed: {turned} of"
    if not names:
        yield f"  {role} an instruction that this catalog does not have"
        return
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    yield f"  {role} {', '.join(names[:SHOWN])}{more} ({layout.instructions[0].arch})"
    if answer.tile:
        yield f"  as a tile: {answer.tile}{' of the transpose' if layout.transposed else ''}"


def _element(coordinates: tuple[int, ...]) -> str:
    return f"({','.join(map(str, coordinates))})"


def conversion_text(answer: ConvertedLayouts) -> str:
    """Both layouts, where they differ, and what it costs."""
    found = answer.conversion
    lines = [*_lines(answer.source), "", *_lines(answer.target), ""]
    if answer.same:
        return "\n".join([*lines, "The two layouts are the same: nothing moves.", ""])
    if answer.difference:
        place = ", ".join([f"{NAMES.get(name, name)} {value}" for name, value in answer.difference.place.items()])
        lines.append(
            f"They differ in {found.differ} of {found.places} places, first in {place}: "
            f"{_element(answer.difference.source)} in the first, {_element(answer.difference.target)} in the second"
        )
    lines += _orders(found)
    return "\n".join([*lines, *_cost(found), ""])


def _orders(found: Conversion) -> Iterator[str]:
    if not found.orders:
        return
    yield f"They are one but for the order of {' and '.join(found.orders)}: the first becomes the second"
    for axis, bits in found.orders.items():
        steps = ", ".join([f"{1 << at} to {goes}" for at, goes in enumerate(bits)])
        permutation = found.permutations.get(axis)
        yield f"  if {axis} is permuted by {permutation}" if permutation else f"  if {axis} goes from {steps} (by XOR)"
    yield "  Along k, where A and B are permuted alike, that needs no conversion."


def _cost(found: Conversion) -> Iterator[str]:
    if found.kind in ("identical", "registers"):
        yield "Conversion: registers are renamed within each thread; nothing moves"
    elif found.kind == "lanes":
        yield f"Conversion: lanes of a warp exchange values; {_number(found.moved)} of a thread's"
        yield f"  {found.loads} elements come from another lane"
    else:
        yield f"Conversion: through shared memory, {found.shared_bytes} bytes and a barrier; a thread"
        yield f"  stores {found.stores} elements, loads {found.loads}, and {_number(found.moved)} were others'"
        yield f"  accesses of {found.vector} elements, {found.vector * found.bits // 8} bytes, suit both layouts"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def shape_of(given: str | None) -> tuple[int, ...]:
    """The sizes of --tensor.

    Raises:
        Error: it is not sizes with x between them.

    >>> shape_of("128x64")
    (128, 64)
    """
    if given is None:
        return ()
    sizes = [number_of(part) for part in given.lower().split("x")]
    found = tuple([size for size in sizes if size])
    if len(found) < len(sizes):
        raise Error(f"--tensor takes the sizes of the tensor, such as 128x64; got '{given}'")
    return found


def answered(texts: list[str], shape: str | None, element: str | None, as_json: bool) -> Reply:
    """One layout explained, or the conversion between two."""
    if not 1 <= len(texts) <= 2:
        raise Error(f"give one layout, or two to convert between; got {len(texts)}")
    layouts = [read(each) for each in texts]
    given = shape_of(shape) or next((one.given_shape for one in layouts if one.given_shape), ())
    if len(layouts) == 2 and not given:
        sizes = [one.shape for one in layouts]
        if len(sizes[0]) == len(sizes[1]) and not (layouts[0].cute or layouts[1].cute):
            given = tuple(map(max, *sizes))
    answers = [about(one, given) for one in layouts]
    if len(answers) == 1:
        return show(as_json, "layout", answers[0], text)
    kind = element or next((one.element for one in layouts if one.element), "")
    bits = named(_FORMATS.get(kind, kind)).bits if kind else 32
    return show(as_json, "layout-conversion", converted(answers[0], answers[1], bits), conversion_text)


_FORMATS = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2", "f8E4M3FNUZ": "e4m3", "f8E5M2FNUZ": "e5m2", "i32": "i32"}
"""MLIR's names of element types that are not those of formats here."""


def run(options: Options) -> Reply:
    """The answer of the command."""
    if len(options.text) == 1:
        refuse_given(COMMAND, options, ("type",), "is for the conversion between two layouts; give a second one")
    return answered(options.text, options.tensor, options.type, options.json)


TENSOR = option("--tensor", placeholder="MxN", help="the tensor's sizes (default: the smallest that all warps share)")
ELEMENT = option(
    "--type", placeholder="FORMAT", help="of layouts: the format of an element, for the bytes of a conversion (f32)"
)

COMMAND = Command(
    "layout", "explain a layout of Triton, Gluon or CuTe; of two say how they differ and what a conversion costs",
    "chain", __doc__,
    (
        argument("text", "a layout, or two", nargs="+", placeholder="LAYOUT"),
        TENSOR, ELEMENT,
        JSON,
    ),
    run, {"layout": text, "layout-conversion": conversion_text},
)  # fmt: skip
