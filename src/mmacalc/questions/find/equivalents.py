"""What an instruction becomes on another architecture: the nearest ones, how many for one, and what differs besides.

Everything is computed from the catalog: shapes and registers, the values that formats have, the models of arithmetic,
the loads that fragments need. An input on which the two round differently is found by trying, with the emulator.
"""

from __future__ import annotations

from collections import Counter
from math import lcm, log2
from typing import NamedTuple

from ...arithmetic.numerics import kind
from ...base.checks import arguments_checked, number
from ...base.errors import Error, UnclearNameError, did_you_mean
from ...base.records import Record, TupleRecord, json_keys
from ...catalog import architectures, entry, known_name
from ...chaining import chain
from ...families.tensor_memory import types_of
from ...formats import CHOICES, FORMATS, SHORT_NAMES
from ...model.tensor_memory import TensorMemoryInstruction
from ...throughput import duration
from .arithmetic import Arithmetic, PartChange, aligned, held_text, lanes_of, side_by_side, size_text
from .movement import Movement, Mover, fragment_loads, purposes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ...catalog import Entry
    from ...formats import Format
    from ...model import Architecture, Instruction
    from .difference import RoundingDifference

__all__ = ["Equivalent", "Equivalents", "FormatChange", "PartChange", "equivalents", "named_anywhere", "text"]

OTHERS, MANY = 2, 6  # of each kind and format beside the nearest, and in all


class FormatChange(TupleRecord):
    """An operand's formats on both sides.

    kind: "same"; "wider", where every value of the source is one of the target; "rescaled", where exponent and fraction
    have as many bits but another bias (FNUZ); "other". `lost` says which values there are not.
    """

    operand: str
    source: str
    target: str
    kind: str
    lost: str = ""


@json_keys(
    "architecture=instruction.arch", "instruction=instruction.name", "m=instruction.m", "n=instruction.n",
    "k=instruction.k", "blocks=instruction.blocks", "modifiers: fields that choose its formats", "lanes",
    "tile: M, N and K that both fill", "source_count: of the first instruction for the tile",
    "count=target_count: of this one",
    "registers: of each lane for the tile, by operand; null where it is not in registers", "formats",
)  # fmt: skip
class Equivalent(TupleRecord):
    """An instruction in place of another.

    modifiers: the fields that choose its formats, the nearest to those of the other; empty where its name says them.
    tile: M, N and K that whole numbers of both fill; source_count, target_count: how many of the first and of this do.
    source_registers, registers: of each lane, for the tile, by operand; None where it is not in registers.
    """

    instruction: Instruction
    modifiers: Mapping[str, int]
    tile: tuple[int, int, int]
    source_count: int
    target_count: int
    formats: tuple[FormatChange, ...]
    source_registers: Mapping[str, int | None]
    registers: Mapping[str, int | None]

    @property
    def lanes(self) -> int:
        """How many carry it out together."""
        return lanes_of(self.instruction)

    @property
    def exact(self) -> bool:
        """Whether every value of each operand is one of the same operand here."""
        return all(not change.lost for change in self.formats)


@json_keys(
    "architecture=instruction.arch", "instruction=instruction.name", "m=instruction.m", "n=instruction.n",
    "k=instruction.k", "blocks=instruction.blocks", "modifiers", "target=architecture.name", "lanes", "nearest",
    "others", "feeding: of D into the next product", "**arithmetic", "loads", "movements",
)  # fmt: skip
class Equivalents(Record):
    """What an instruction becomes on another architecture.

    Attributes:
        instruction: which. modifiers: the fields that choose its formats. architecture: the other.
        nearest: what comes nearest. others: further ones, nearest first.
        feeding: what it takes to use D as A or B of the next product. arithmetic: how both round.
        loads: of fragments from shared memory, for the tile. movements: what else moves data there.
    """

    instruction: Instruction
    modifiers: Mapping[str, int]
    architecture: Architecture
    nearest: Equivalent
    others: tuple[Equivalent, ...]
    feeding: tuple[PartChange, ...]
    arithmetic: Arithmetic
    loads: tuple[Movement, ...]
    movements: tuple[Movement, ...]

    @property
    def lanes(self) -> int:
        """How many carry the instruction out together."""
        return lanes_of(self.instruction)

    @property
    def numerics(self) -> tuple[PartChange, ...]:
        """How both round, part by part."""
        return self.arithmetic.parts

    @property
    def difference(self) -> RoundingDifference | None:
        """One dot product on which the two round differently; looked for with the emulator (NumPy)."""
        return self.arithmetic.difference

    @property
    def not_tried(self) -> str:
        """Why no dot product was tried, else ""."""
        return self.arithmetic.not_tried


@arguments_checked
def equivalents(instruction: Instruction, arch: str, **modifiers: int | str) -> Equivalents:
    """What an instruction becomes on another architecture.

    Args:
        instruction: one that multiplies matrices. arch: the other architecture, by any of its names.
        modifiers: of the instruction: the fields that choose its formats (cbsz="fp4"); of tcgen05 m, n, a, b, d.

    Of an instruction of the other architecture whose fields choose its formats, those are taken that come nearest.

    Raises:
        Error: it multiplies nothing, or the other architecture has none of this kind (sparse, scaled, integers, bits).

    >>> import mmacalc
    >>> mma = mmacalc.instruction("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
    >>> found = mmacalc.equivalents(mma, "MI300X")
    >>> found.nearest.instruction.name, found.nearest.tile, found.nearest.source_count, found.nearest.target_count
    ('v_mfma_f32_16x16x16_bf16', (16, 16, 16), 2, 1)
    >>> [(one.what, one.source, one.target) for one in found.numerics][0]
    ('terms of one sum', '8 products and C', '8 products, then C')
    >>> fp4 = "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e4m3.f32"
    >>> found = mmacalc.equivalents(mmacalc.instruction("sm_120a", fp4), "gfx950").nearest
    >>> found.instruction.name, dict(found.modifiers)
    ('v_mfma_f32_16x16x128_f8f6f4', {'cbsz': 4, 'blgp': 0})
    """
    if not instruction.flops:
        raise Error(f"{instruction.name} moves a matrix and multiplies none; give the instruction that uses it")
    instruction, rest = instruction.split_parameters(modifiers)
    given = instruction.resolved(rest)
    instruction.check_modifiers(None, given)
    source = Chosen(instruction, {field: given.get(field, 0) for field in instruction.choices} | given)
    other = entry(arch)
    ranked = sorted(_candidates(source, other), key=lambda one: distance(*source, *one))
    if not ranked:
        raise Error(_none(source, other))
    nearest, *others = ranked
    best = _equivalent(source, nearest)
    shown = tuple([_equivalent(source, one) for one in _of_each_kind(others)])
    movements = purposes(instruction.architecture, other.architecture)
    return Equivalents(
        *source, other.architecture, best, shown, _feeding(source, nearest),
        Arithmetic(source.instruction, nearest.instruction, source.fields, nearest.fields),
        tuple(_loads(source, best)), movements,
    )  # fmt: skip


class Chosen(NamedTuple):
    """An instruction, and the fields that choose its formats."""

    instruction: Instruction
    fields: Mapping[str, int]

    @property
    def formats(self) -> tuple[Format, Format, Format]:
        """Of A, B and D."""
        a, b, d = [self.instruction.format(name, self.fields) for name in "ABD"]
        return a, b, d


def _of_each_kind(ranked: list[Chosen]) -> list[Chosen]:
    """The first `OTHERS` of each kind and format of A, of `MANY` at most."""
    shown: list[Chosen] = []
    counted: Counter[tuple[str, str]] = Counter()
    for one in ranked:
        key = kind(one.instruction), one.instruction.formats["A"]
        counted[key] += 1
        if counted[key] <= OTHERS:
            shown.append(one)
    return shown[:MANY]


# --- which there are, and how near ---


def _candidates(source: Chosen, other: Entry) -> Iterator[Chosen]:
    """The instructions of the same kind: dense or sparse, with or without scales, of floats, integers or bits."""
    for inst in other.instructions():
        if inst.flops and (one := _chosen(source, inst)) and _alike(source, one):
            yield one
    for name in other.tensor_memory_names:
        inst = other.instruction(name)
        if isinstance(inst, TensorMemoryInstruction) and inst.formats and inst.sparse == source.instruction.sparse:
            yield from _shaped(source, inst)


def _chosen(source: Chosen, inst: Instruction) -> Chosen:
    """An instruction with the formats that come nearest, where fields choose them."""
    wanted = dict(zip("AB", source.formats))
    fields = {}
    for field, operand in inst.choices.items():
        offered = CHOICES[inst.formats[operand]]
        far = [_far(operand, wanted[operand], FORMATS[name]) if operand in wanted else 0 for name in offered]
        fields[field] = far.index(min(far))
    return Chosen(inst, fields)


def _alike(source: Chosen, one: Chosen) -> bool:
    return bool(
        one.instruction.sparse == source.instruction.sparse
        and one.instruction.scaled == source.instruction.scaled
        and all(
            _sort(mine) == _sort(theirs) and mine.bits <= 2 * theirs.bits
            for mine, theirs in zip(source.formats, one.formats)
        )
    )


def _shaped(source: Chosen, inst: TensorMemoryInstruction) -> Iterator[Chosen]:
    """An instruction of Tensor Memory with the types and N of the source, where it can have them; M is its least."""
    a, b, d = [one.name for one in source.formats]
    inputs, outputs = types_of(inst.kind)
    names = {FORMATS_OF_PTX.get(word, word): word for word in (*inputs, *outputs)}
    if not {a, b} <= {FORMATS_OF_PTX.get(word, word) for word in inputs} or names.get(d) not in outputs:
        return
    for n in (source.instruction.n, 16, 32):
        try:
            yield Chosen(inst.shaped(m=inst.m, n=n, a=names[a], b=names[b], d=names[d]), {})
        except Error:
            continue
        return


FORMATS_OF_PTX = {"s8": "i8", "s32": "i32"}


def _sort(form: Format) -> str:
    """float, integer, or bits."""
    return "integer" if form.kind in ("signed", "unsigned", "either") else form.kind


def distance(
    source: Instruction, source_fields: Mapping[str, int], inst: Instruction, fields: Mapping[str, int]
) -> tuple[float, float]:
    """How far one instruction is from another: by its formats, then by its shape and what else its name chooses.

    Args:
        source_fields, fields: that choose formats.

    >>> import mmacalc
    >>> mma = mmacalc.instruction("sm_80", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
    >>> names = ("v_mfma_f32_16x16x8_xf32", "v_mfma_f32_16x16x4_f32")
    >>> [distance(mma, {}, mmacalc.instruction("gfx942", name), {})[0] for name in names]
    [0, 2.0]
    """
    pairs = zip("ABD", Chosen(source, source_fields).formats, Chosen(inst, fields).formats)
    values = sum([_far(*pair) for pair in pairs])
    shape = sum([abs(log2(theirs / mine)) for mine, theirs in zip(_shape(source), _shape(inst))])
    words = sum([getattr(source, name) != getattr(inst, name) for name in ("bit_operation", "rounding", "block_size")])
    words += 2 * (inst.formats["C"] != inst.formats["D"] and source.formats["C"] == source.formats["D"])
    words += 0.5 * ((".satfinite" in source.name) != (".satfinite" in inst.name))
    orders = [source.layouts, ("row", "col"), ()]
    order = 0.125 * (orders.index(inst.layouts) if inst.layouts in orders else len(orders))
    opaque = 2 * (_has_fragments(inst) and not _has_fragments(source))
    other_name = 0.0625 * (inst.name != source.name)
    return values, other_name + shape + 4 * (inst.blocks != source.blocks) + 8 * words + order + opaque


def _far(operand: str, source: Format, target: Format) -> float:
    """How far a format is from another: 0 for equal fields, more where values are lost, and for other sizes."""
    if _equal(source, target):
        return 0
    far = {"same": 0.0, "rescaled": 0.5, "wider": 1.0, "other": 8.0}
    return far[_change(operand, source, target).kind] + abs(source.bits - target.bits) / 64


def _has_fragments(inst: Instruction) -> bool:
    """Whether it is NVIDIA's wmma, whose fragments programs do not look into."""
    return inst.name.startswith("wmma.")


def _equal(source: Format, target: Format) -> bool:
    """Whether two formats have the same fields: of tf32 and xf32 the low bits are not read."""
    fields = ("kind", "exponent", "mantissa", "bias", "specials")
    return all(getattr(source, name) == getattr(target, name) for name in fields)


def _shape(inst: Instruction) -> tuple[int, int, int]:
    return inst.m, inst.n, inst.k


def _none(source: Chosen, other: Entry) -> str:
    inst = source.instruction
    title, sorts = other.architecture.title, [_sort(one) for one in source.formats]
    kinds = ["sparse"] * inst.sparse + [f"with scales for {inst.block_size} elements"] * inst.scaled
    what = ", ".join([*kinds, f"{'bits' if sorts[0] == 'bits' else sorts[0] + 's'} -> {sorts[2]}s"])
    have = dict.fromkeys([f"{a.name} -> {d.name}" for one in other.instructions() if one.flops
                          for a, _, d in [_chosen(source, one).formats]])  # fmt: skip
    listed = ", ".join(list(have)[:12])
    return f"{title} has nothing like {inst.name} ({what}); it multiplies {listed or 'in Tensor Memory only'}"


# --- formats: which values are lost ---


def _change(operand: str, source: Format, target: Format) -> FormatChange:
    names = operand, source.name, target.name
    if source.name == target.name or _equal(source, target):
        return FormatChange(*names, "same")
    lost = "; ".join(_lost(source, target))
    fields = [(form.bits, form.exponent, form.mantissa) for form in (source, target)]
    if source.is_float and fields[0] == fields[1]:
        return FormatChange(*names, "rescaled", lost)
    return FormatChange(*names, "other" if lost else "wider", lost)


def _lost(source: Format, target: Format) -> Iterator[str]:
    """Which values of a format another has not.

    >>> "; ".join(_lost(FORMATS["e4m3"], FORMATS["e4m3fnuz"]))
    'up to 240, for 448'
    >>> [list(_lost(FORMATS[a], FORMATS[b])) for a, b in (("bf16", "f32"), ("u8", "iu8"), ("u8", "i8"))]
    [[], [], ['up to 127, for 255']]
    """
    if source.is_float and target.is_float:
        if _largest(target) < _largest(source):
            yield f"up to {_largest(target):.6g}, for {_largest(source):.6g}"
        if target.mantissa < source.mantissa:
            yield f"{target.mantissa} fraction bits, for {source.mantissa}"
        if _smallest(target) > _smallest(source):
            yield f"down to 2^{_smallest(target)}, for 2^{_smallest(source)}"
        return
    if source.kind == "bits" or target.kind == "bits":
        return
    if source.kind == "either" != target.kind:
        yield "signed and unsigned are two instructions"
        return
    low, high = _range(source)
    least, most = _range(target)
    if most < high:
        yield f"up to {most}, for {high}"
    if least > low:
        yield f"down to {least}, for {low}"


def _largest(form: Format) -> float:
    top = (1 << form.exponent) - 1 - form.bias - (form.specials == "ieee")
    last = 2.0**-form.mantissa * (2 if form.specials == "fn" else 1)
    return float((2 - last) * 2.0**top)


def _smallest(form: Format) -> int:
    """The exponent of the least value that is not zero."""
    return 1 - form.bias - form.mantissa


def _range(form: Format) -> tuple[int, int]:
    signed, unsigned = (-(1 << form.bits - 1), (1 << form.bits - 1) - 1), (0, (1 << form.bits) - 1)
    return {"signed": signed, "unsigned": unsigned}.get(form.kind, (signed[0], unsigned[1]))


# --- counts and registers ---


def _equivalent(source: Chosen, other: Chosen) -> Equivalent:
    sides = source.instruction, other.instruction
    m, n, k = (lcm(mine, theirs) for mine, theirs in zip(*map(_shape, sides)))
    tile, blocks = (m, n, k), lcm(*[one.blocks for one in sides])
    counts = [blocks // one.blocks * (m // one.m) * (n // one.n) * (k // one.k) for one in sides]
    changes = tuple([_change(name, mine, theirs)
                     for name, mine, theirs in zip("ABD", source.formats, other.formats)])  # fmt: skip
    registers = [_registers(one, tile, blocks) for one in (source, other)]
    return Equivalent(*other, tile, counts[0], counts[1], changes, *registers)


FRAGMENTS = {"A": ("m", "k"), "B": ("k", "n"), "D": ("m", "n")}


def _registers(chosen: Chosen, tile: tuple[int, int, int], blocks: int) -> dict[str, int | None]:
    """The registers of each lane that hold a tile's operands; accumulators once, for any K."""
    inst, fields = chosen
    own = dict(zip("mnk", tile))
    return {
        name: inst.operand(name, **fields).registers * _times(inst, name, own) * blocks // inst.blocks
        if name in inst.register_operands else inst.fragment_registers.get(name)
        for name in FRAGMENTS
    }  # fmt: skip


def _times(inst: Instruction, operand: str, tile: Mapping[str, int]) -> int:
    first, second = FRAGMENTS[operand]
    sizes = dict(zip("mnk", _shape(inst)))
    return (tile[first] // sizes[first]) * (tile[second] // sizes[second])


# --- loads ---


ORDERS = {
    "A": (("row", "k contiguous"), ("col", "m contiguous")),
    "B": (("col", "k contiguous"), ("row", "n contiguous")),
}


def _loads(source: Chosen, best: Equivalent) -> Iterator[Movement]:
    """The loads of A's and B's fragments, for the tile, in both orders."""
    tile = dict(zip("mnk", best.tile))
    for operand, orders in ORDERS.items():
        for order, words in orders:
            ld = max(64, tile["k"] if words[0] == "k" else tile[words[0]])
            each = [fragment_loads(inst, operand, order, _times(inst, operand, tile), ld, fields)
                    for inst, fields in (source, (best.instruction, best.modifiers))]  # fmt: skip
            yield Movement(f"{operand}, {words}", *each)


# --- D as an operand of the next product ---


WAYS = {
    "identical": "as it lies",
    "renamed": "its registers renamed",
    "k-relabel": "with k relabelled",
    "lane-moves": "moved between lanes",
}


def _feeding(source: Chosen, target: Chosen) -> tuple[PartChange, ...]:
    return tuple(
        [PartChange(f"D as {use} of the next", *[_fed(*one, use) for one in (source, target)]) for use in "AB"]
    )


def _fed(inst: Instruction, fields: Mapping[str, Any], use: str) -> str:
    if not {"D", use} <= set(inst.register_operands):
        return "not in registers"
    try:
        found = chain(inst, inst, use=use, **fields).kind
    except Error:
        return "not described" if "chain" in inst.architecture.family.unsupported_topics else "no"
    return WAYS.get(found, found)


# --- the instruction by its name alone ---


def named_anywhere(text: str) -> Instruction:
    """The instruction of a name, of the architecture named before it, else of the first in the catalog that has it.

    Raises:
        Error: no architecture has it.

    >>> named_anywhere("H100 mma.m16n8k16.f32.f16.f16.f32").arch, named_anywhere("v_mfma_f32_16x16x16_f16").arch
    ('sm_90a', 'cdna3')
    """
    words = text.split()
    for count in range(len(words) - 1, 0, -1):
        try:
            found, other = known_name(" ".join(words[:count]))
        except Error:
            continue
        if not other:
            return entry(found).meant(" ".join(words[count:]))
    listed = [entry(name) for name in sorted(architectures(), key=_age)]
    for known in listed:
        if known.canonical(text) is not None:
            return known.instruction(text)
    unclear: UnclearNameError | None = None
    for known in listed:
        try:
            return known.meant(text)
        except UnclearNameError as refused:
            unclear = unclear or refused
        except Error:
            continue
    if unclear:
        raise unclear
    every = {name for known in listed for name in (*known.names, *known.tensor_memory_names)}
    raise Error(f"no architecture has an instruction '{text[:80]}'.{did_you_mean(text, every)}", kind="unknown name")


def _age(arch: str) -> tuple[bool, str, int, str]:
    """The place of an architecture among those of its vendor, the oldest first."""
    letters = arch.rstrip("0123456789af") or arch
    return letters == "gfx", letters, number(arch.removeprefix(letters).rstrip("af")) or 0, arch


# --- as text ---


def text(answer: Equivalents) -> str:
    """The nearest instruction, how many for how many, what differs, and the others."""
    return "\n".join(_lines(answer)) + "\n"


def _lines(answer: Equivalents) -> Iterator[str]:
    source, best = answer.instruction, answer.nearest
    sides = (source, answer.modifiers), (best.instruction, best.modifiers)
    yield from aligned([(inst.arch, inst.name, size_text(inst), fields_text(inst, fields)) for inst, fields in sides])
    yield ""
    tile = "x".join(map(str, best.tile))
    yield f"A tile of {tile} takes {best.source_count} of the first, or {best.target_count} of the second."
    yield ""
    yield from _table(answer)
    for change in best.formats:
        if change.kind == "rescaled":
            times = 2.0 ** (FORMATS[change.source].bias - FORMATS[change.target].bias)
            yield f"{change.operand}: a code of {change.source} is {times:g} times its value in {change.target}"
        if change.lost:
            yield f"{change.operand}: {change.target} lacks values of {change.source}: {change.lost}"
    yield from answer.arithmetic.lines()
    yield from _moving("Loads of the tile's fragments from shared memory (LDS):", answer, answer.loads)
    yield from _moving("Beside the matrix unit:", answer, answer.movements)
    if answer.others:
        yield ""
        yield "Others:"
        rows = [
            (
                one.instruction.name,
                size_text(one.instruction),
                f"{one.target_count} for {one.source_count}",
                " ".join(filter(None, [_formats_text(one), fields_text(one.instruction, one.modifiers)])),
            )
            for one in answer.others
        ]
        yield from ("  " + line for line in aligned(rows))


def fields_text(inst: Instruction, fields: Mapping[str, int]) -> str:
    """The fields that choose formats, as -m takes them; "" where there are none.

    >>> import mmacalc
    >>> fields_text(mmacalc.instruction("gfx950", "v_mfma_f32_16x16x128_f8f6f4"), {"cbsz": 4, "blgp": 0})
    'cbsz=fp4 blgp=fp8'
    """
    names = {field: inst.format(operand, fields).name for field, operand in inst.choices.items() if operand in "AB"}
    return " ".join([f"{field}={SHORT_NAMES.get(name, name)}" for field, name in names.items()])


def _formats_text(one: Equivalent) -> str:
    changed = [f"{change.operand} {change.target}" for change in one.formats if change.kind != "same"]
    return ", ".join(changed)


def _table(answer: Equivalents) -> Iterator[str]:
    """Lanes, formats and registers of both, side by side."""
    best, source = answer.nearest, answer.instruction
    rows = [("", source.arch, best.instruction.arch), ("lanes", str(answer.lanes), str(best.lanes))]
    for change in best.formats:
        held = [f"{form}, {held_text(registers[change.operand])}" for form, registers in
                ((change.source, best.source_registers), (change.target, best.registers))]  # fmt: skip
        rows.append((f"{change.operand}, each lane", held[0], held[1]))
    rows.append(
        (
            "cycles of the tile",
            _cycles(source, answer.modifiers, best.source_count),
            _cycles(best.instruction, best.modifiers, best.target_count),
        )
    )
    rows += answer.feeding
    rows += answer.numerics
    yield from side_by_side((source, best.instruction), rows)


def _cycles(inst: Instruction, fields: Mapping[str, int], count: int) -> str:
    cycles = duration(inst, fields, None)
    return f"{count} x {cycles}" if cycles else "not published"


def _moving(title: str, answer: Equivalents, rows: tuple[Movement, ...]) -> Iterator[str]:
    yield ""
    yield title
    width = max(len(answer.instruction.arch), len(answer.architecture.name))
    sides = ((answer.instruction.arch, "source"), (answer.architecture.name, "target"))
    alike = [(arch, side) for arch, side in sides if len(rows) > 1 and len({getattr(row, side) for row in rows}) == 1]
    for arch, side in alike:
        yield from [f"  {arch:{width}}  {mover.text}" for mover in getattr(rows[0], side)]
    for row in rows if len(alike) < len(sides) else ():
        yield f"  {row.what}"
        for arch, side in [one for one in sides if one not in alike]:
            movers = getattr(row, side) or (Mover("none: through registers"),)
            yield from [f"    {arch:{width}}  {mover.text}" for mover in movers]
