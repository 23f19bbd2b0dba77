"""How two instructions round, part by part, and an input on which they differ; two columns as text."""

from __future__ import annotations

from ...base.errors import Error, plural
from ...base.records import Record, TupleRecord, cached_property, json_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...arithmetic.numerics import Numerics
    from ...model import Instruction
    from .difference import RoundingDifference

__all__ = ["Arithmetic", "PartChange", "aligned", "held_text", "lanes_of", "side_by_side", "size_text"]


class PartChange(TupleRecord):
    """One thing that is said of both instructions, such as how they round."""

    what: str
    source: str
    target: str


@json_keys(
    "numerics=parts",
    "not_compared: why the arithmetic is not, else empty",
    "difference: one dot product on which the two round differently; null where none was found",
    "not_tried: why none was looked for, else empty",
)
class Arithmetic(Record):
    """How two instructions round, with the fields that choose their formats. Everything is computed when it is asked
    for.

    >>> import mmacalc
    >>> mma = mmacalc.instruction("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
    >>> found = Arithmetic(mma, mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_bf16"))
    >>> found.parts[2]
    PartChange(what='rounding to D', source='toward zero', target='nearest even')
    """

    source: Instruction
    target: Instruction
    source_fields: Mapping[str, int] = {}
    target_fields: Mapping[str, int] = {}

    @property
    def parts(self) -> tuple[PartChange, ...]:
        """What one sum adds, its bits, rounding, subnormals, NaN, the model and where it is from, of both."""
        return self._compared[0]

    @property
    def not_compared(self) -> str:
        """Why that is not known, else ""."""
        return self._compared[1]

    @cached_property
    def _compared(self) -> tuple[tuple[PartChange, ...], str]:
        from ...arithmetic.numerics import numerics

        sides = self.source, self.target
        if moving := [inst.name for inst in sides if not inst.flops]:
            return (), f"{moving[0]} moves a matrix and multiplies none"
        try:
            fields = self.source_fields, self.target_fields
            first, second = [dict(_parts(numerics(inst, **own), inst)) for inst, own in zip(sides, fields)]
        except Error as refused:
            return (), str(refused)
        return tuple([PartChange(what, mine, second[what]) for what, mine in first.items()]), ""

    @property
    def difference(self) -> RoundingDifference | None:
        """One dot product on which the two round differently; looked for with the emulator (NumPy)."""
        return self._tried[0]

    @property
    def not_tried(self) -> str:
        """Why no dot product was tried, else ""."""
        return self._tried[1]

    @cached_property
    def _tried(self) -> tuple[RoundingDifference | None, str]:
        from .difference import rounding_difference

        if self.not_compared:
            return None, self.not_compared
        try:
            return rounding_difference(self.source, self.target, self.source_fields, self.target_fields), ""
        except Error as refused:
            return None, str(refused)

    def lines(self) -> Iterator[str]:
        """As text: an input on which the two differ, or why there is none."""
        found = self.difference
        if self.not_compared:
            yield f"The arithmetic is not compared: {self.not_compared}."
        elif found is None:
            yield f"No input was tried: {self.not_tried}." if self.not_tried else NO_DIFFERENCE
        else:
            yield ""
            terms = [f"a[{k}] = {x!r}, b[{k}] = {y!r}" for k, (x, y) in enumerate(zip(found.a, found.b)) if x and y]
            yield f"Where they differ: c = {found.c!r}; {'; '.join(terms)}; all others 0"
            for inst, value in ((self.source, found.source), (self.target, found.target)):
                yield f"  {inst.arch:8}  {value.hex():>22}  {value!r}"


NO_DIFFERENCE = "No dot product was found on which the two differ."
SUMS = {
    "aligned_truncated": "{} products and C", "exact": "{} products and C", "fma_chain": "1 product and C",
    "integer": "all, exactly", "two_chains": "1 product and those of its parity; C last",
    "rounded_to_odd": "each product and sum by itself",
}  # fmt: skip
"""What one sum of a model adds; of the others products alone, to which C is added after."""


def _parts(found: Numerics, inst: Instruction) -> Iterator[tuple[str, str]]:
    given = found.parameters
    group = given.get("group", inst.k // (2 if inst.sparse else 1))
    yield "terms of one sum", SUMS.get(found.model, "{} products, then C").format(group)
    bits = [str(given[name]) for name in ("fraction", "dot_fraction", "sum_fraction") if name in given]
    sums = "of f64" if inst.format("D").name == "f64" else "of f32"
    yield "fraction bits of the sum", ", ".join(bits) or ("all" if found.model in ("exact", "integer") else sums)
    yield "rounding to D", found.rounding
    yield "subnormals", found.subnormals or "none"
    yield "NaN", found.nan or "none"
    yield "model", found.model
    yield "provenance", found.provenance


# --- two columns ---


def lanes_of(inst: Instruction) -> int:
    """The lanes of a wave or a warp, the 128 of a warpgroup, or the one thread that issues tcgen05."""
    if inst.in_tensor_memory:
        return 1  # one thread issues it
    return 128 if "wgmma" in inst.features else inst.architecture.waves[0]


def size_text(inst: Instruction) -> str:
    """Its shape and blocks: 4x4x4 x 16."""
    return f"{inst.m}x{inst.n}x{inst.k}" + (f" x {inst.blocks}" if inst.blocks > 1 else "")


def held_text(registers: int | None) -> str:
    """Where an operand is; None: not in registers."""
    return "not in registers" if registers is None else plural(registers, "register")


def aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """The lines of a table whose columns are two spaces apart."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        yield "  ".join([cell.ljust(width) for cell, width in zip(row, widths)]).rstrip()


CELL = 28  # the widest cell of the table; longer ones have lines of their own


def side_by_side(sides: tuple[Instruction, Instruction], rows: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """The lines of a table of what is said of both, the long ones below it."""
    yield from aligned([row for row in rows if max(map(len, row)) <= CELL])
    for what, *cells in [row for row in rows if max(map(len, row)) > CELL]:
        yield what
        yield from [f"  {inst.arch:8}  {cell}" for inst, cell in zip(sides, cells)]
