"""The loads that transpose a matrix into an operand: what each lane receives (CDNA4, RDNA4, gfx1250).

    mmacalc transpose-loads -a gfx950                                  the loads, and the operands that each fills
    mmacalc transpose-loads -a gfx950 -i v_mfma_f32_32x32x16_f16 -A    the loads that fill A, and which k each takes
    mmacalc transpose-loads -a gfx950 --load ds_read_b64_tr_b8            lane by lane, a tile of one load
    mmacalc transpose-loads -a gfx1250 -i v_wmma_f32_16x16x32_f16 -B --load global_load_tr16_b128

-A is for an A that memory holds column by column, -B for a B that it holds row by row. `lds-transpose` is this
command's older name.
"""

from __future__ import annotations

from ..base.checks import arguments_checked
from ..base.errors import Error, did_you_mean
from ..base.records import Record, TupleRecord, json_keys
from ..catalog import architectures, entry, instructions
from ..command import Command, Reply, flag, option, show, tables
from ..command.common import JSON, MODIFIERS
from ..command.options import modifiers
from ..memory_access.transpose_loads import LoadStep, TransposeLoad, loads_for, runs
from ..memory_access.transpose_loads import transpose_loads as every_load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..command import Options
    from ..layout import Layout
    from ..memory_access.transpose_loads import LoadStep
    from ..model import Architecture, Operand


class LoadLayout(TupleRecord):
    """Which lane has which element of a tile, and how sure that is."""

    pattern: str
    sizes: Mapping[str, int]
    provenance: str


@json_keys(
    "load=load.name",
    "opcode=load.opcode",
    "element_bits=load.bits",
    "registers=load.registers",
    "elements=load.elements",
    "lanes=load.lanes: that transpose a tile together; 0 where that is not published",
    "caveats=load.caveats",
    "memory=load.memory: LDS or global",
    "aliases=load.aliases: other mnemonics of its encoding",
    "[received]",
    "[fetched]",
)
class LoadFacts(Record):
    """One load that transposes."""

    load: TransposeLoad

    @property
    def received(self) -> LoadLayout | None:
        """Which lane receives which element of the tile."""
        return self._layout("lane_receives", self.load.received_by)

    @property
    def fetched(self) -> LoadLayout | None:
        """At which lane's address each element lies."""
        return self._layout("lane_fetches", self.load.fetched_by)

    def _layout(self, which: str, provenance: str) -> LoadLayout | None:
        if not self.load.lanes:
            return None
        layout: Layout = getattr(self.load, which)
        return LoadLayout(layout.pattern, layout.trimmed_sizes, provenance)


@json_keys("architecture=load.architecture.name", "**facts")
class LoadTile(Record):
    """The tile of one load."""

    load: TransposeLoad

    @property
    def facts(self) -> LoadFacts:
        """The load."""
        return LoadFacts(self.load)


class FilledGroup(TupleRecord):
    """What the tile of a group of lanes holds."""

    first_lane: int
    first_row_or_column: int
    first_k: int
    last_k: int
    k: tuple[int, ...]


class FilledStep(TupleRecord):
    """One of the loads that fill an operand."""

    load: str
    first_register: int
    registers: int
    groups: tuple[FilledGroup, ...]


@json_keys(
    "architecture=operand.instruction.arch",
    "instruction=operand.instruction.name",
    "matrix=operand.name",
    "modifiers=operand.fields",
    "pattern=operand.pattern",
    "sizes=operand.sizes",
    "loads",
    "tile",
)
class OperandLoads(Record):
    """The loads that fill one operand, in the order of its registers."""

    operand: Operand
    steps: tuple[LoadStep, ...]

    @property
    def loads(self) -> tuple[FilledStep, ...]:
        """What each of them fills."""
        return tuple([
            FilledStep(step.load.name, step.first_register, step.load.registers, tuple([
                FilledGroup(lane, first, ks[0], ks[-1], ks) for lane, first, ks in step.groups
            ]))
            for step in self.steps
        ])  # fmt: skip

    @property
    def tile(self) -> LoadFacts:
        """The load."""
        return LoadFacts(self.steps[0].load)


@json_keys("**facts", "fills: the operands, in words")
class ListedLoad(Record):
    """A load, and the operands that it fills."""

    facts: LoadFacts
    fills: tuple[str, ...]


@json_keys("architecture=architecture.name", "loads=listed")
class LoadListing(Record):
    """The loads of an architecture, each with the operands that it fills: (load, their loads)."""

    architecture: Architecture
    loads: tuple[tuple[TransposeLoad, tuple[OperandLoads, ...]], ...]

    @property
    def listed(self) -> tuple[ListedLoad, ...]:
        """Each with the operands in words."""
        return tuple([ListedLoad(LoadFacts(load), tuple(map(filled_text, filled))) for load, filled in self.loads])


@arguments_checked
def transpose_loads(operand: Operand, name: str | None = None) -> OperandLoads:
    """The loads that fill an operand where its other coordinate is the contiguous one in memory.

    Args:
        operand: A or B. name: the load, by any of its mnemonics; the first that fits if left out.

    Raises:
        Error: no load fits the operand, and why.

    >>> import mmacalc
    >>> a = mmacalc.instruction("gfx950", "v_mfma_f32_32x32x16_f16").operand("A")
    >>> [(step.load.name, step.first_register) for step in mmacalc.transpose_loads(a).steps]
    [('ds_read_b64_tr_b16', 0), ('ds_read_b64_tr_b16', 2)]
    """
    arch = operand.instruction.arch
    _loads(arch)
    return OperandLoads(operand, loads_for(operand, load_named(arch, name).name if name else None))


def load_listing(arch: str) -> LoadListing:
    """The loads of an architecture that transpose, and what each fills, every format that a field can choose once.

    Raises:
        Error: the architecture has no such loads.

    >>> [(load.name, len(filled)) for load, filled in load_listing("gfx950").loads][0]
    ('ds_read_b64_tr_b4', 8)
    """
    loads = _loads(arch)
    return LoadListing(loads[0].architecture, tuple((load, tuple(_filled(arch, load.name))) for load in loads))


def load_named(arch: str, name: str) -> TransposeLoad:
    """One load by its mnemonic (case-insensitive).

    Raises:
        Error: the architecture has no such load.
    """
    loads = _loads(arch)
    for load in loads:
        if name.lower() in (load.name, *load.aliases):
            return load
    names = [load.name for load in loads]
    raise Error(f"unknown load '{name}'.{did_you_mean(name, names)} Known: {', '.join(names)}", kind="unknown name")


def _loads(arch: str) -> tuple[TransposeLoad, ...]:
    loads = every_load(arch)
    if not loads:
        record = entry(arch).architecture
        other = f". `mmacalc find -a {record.name} ldmatrix` lists NVIDIA's" if record.family.sass else ""
        raise Error(f"{record.title} has no loads that transpose; {_those_with()} have{other}")
    return loads


def _those_with() -> str:
    """The architectures that have such loads."""
    *some, last = [name for name in architectures() if every_load(name)]
    return f"{', '.join(some)} and {last}"


def _filled(arch: str, load: str) -> Iterator[OperandLoads]:
    """The operands that a load fills."""
    for instruction in instructions(arch):
        fields = {operand: field for field, operand in instruction.choices.items()}
        for name in "AB":
            values = instruction.modifier_limits()[fields[name]] if name in fields else (None,)
            for value in values:
                operand = instruction.operand(name, **({} if value is None else {fields[name]: value}))
                try:
                    yield OperandLoads(operand, loads_for(operand, load))
                except Error:
                    continue


def operand_text(answer: OperandLoads) -> str:
    """The loads of an operand, and the tile of one."""
    operand, steps = answer.operand, answer.steps
    instruction = operand.instruction
    stored = "column by column" if operand.name == "A" else "row by row"
    lines = [
        f"Architecture: {instruction.architecture.title}",
        f"Instruction: {instruction.name.upper()}",
        f"{operand.name} ({operand.format.title}), {stored} in {_memory(steps[0].load)}: {_count(len(steps))}",
        *(line for step in steps for line in _step_lines(operand.name, step)),
        f"Layout: {operand.pattern}",
        *_tile_lines(steps[0].load),
    ]
    return "\n".join(lines) + "\n"


def _step_lines(operand: str, step: LoadStep) -> list[str]:
    last = step.first_register + step.load.registers - 1
    name = "i" if operand == "A" else "j"
    lines = [f"    {step.load.name} fills v[{last}:{step.first_register}]"]
    lanes = step.load.lanes
    for lane, first, ks in step.groups:
        shown = ", ".join(f"{run[0]}..{run[-1]}" for run in runs(ks))
        lines.append(f"        lanes {lane}..{lane + lanes - 1}: {name} = {first}..{first + lanes - 1}, k = {shown}")
    return lines


def _memory(load: TransposeLoad) -> str:
    return "LDS" if load.memory == "LDS" else f"{load.memory} memory"


def _count(loads: int) -> str:
    return f"{loads} load{'s' * (loads > 1)}"


def tile_text(tile: LoadTile) -> str:
    """The tile of a load, lane by lane."""
    load = tile.load
    received, fetched = load.lane_receives, load.lane_fetches
    header = ["lane", f"fetches ({load.fetched_by})", *_slots(load)]
    rows = []
    for lane in range(load.lanes):
        ((k, first),) = fetched.contents((lane, 0))
        cells = [f"T[{row}][{i}]" for slot in range(load.elements) for row, i in received.contents((lane, slot))]
        rows.append((str(lane), f"T[{k}][{first}..{first + load.elements - 1}]", *cells))
    return (
        f"Architecture: {load.architecture.title}\nLoad: {load.name}\n"
        f"A row of {load.lanes} lanes transposes a tile T[k][i] of {load.elements} k and {load.lanes} rows i of A "
        f"(columns of B).\n{tables.write(header, rows)}" + "\n".join(_tile_lines(load)) + "\n"
    )


def _tile_lines(load: TransposeLoad) -> tuple[str, ...]:
    """What a lane of a row receives, and what is at its address, of a tile whose first row i and first k are 0."""
    received, fetched = (
        f"{layout.pattern}, {', '.join(f'{name}={size}' for name, size in layout.trimmed_sizes.items())}"
        for layout in (load.lane_receives, load.lane_fetches)
    )
    return (
        f"A lane of a row of {load.lanes} receives: {received} ({load.received_by})",
        f"At its address lies: {fetched} ({load.fetched_by})",
        f"Caveat: {load.caveats}",
    )


def _slots(load: TransposeLoad) -> list[str]:
    names = []
    for slot in range(load.elements):
        register, lsb = divmod(slot * load.bits, 32)
        last = lsb + load.bits - 1
        names.append(
            f"v{register}.[{last}:{lsb}]" if last < 32 else f"v{register}.[31:{lsb}] v{register + 1}.[{last - 32}:0]"
        )
    return names


def listing_text(listing: LoadListing) -> str:
    """The loads of an architecture, and what they fill."""
    lines = [f"Architecture: {listing.architecture.title}"]
    for load, filled in listing.loads:
        lines.append(
            f"{' or '.join((load.name, *load.aliases))} (opcode {load.opcode:#x}): {load.registers} registers, "
            f"{load.elements} elements of {load.bits} bits in each lane; {'fills' if load.lanes else 'open'}"
        )
        lines += [f"    {filled_text(one)}" for one in filled]
        lines.append(f"    Caveat: {load.caveats}")
    return "\n".join(lines) + "\n"


def filled_text(answer: OperandLoads) -> str:
    """An operand that a load fills."""
    operand, count = answer.operand, len(answer.steps)
    chosen = f", {operand.format.name}" if operand.name in operand.instruction.choices.values() else ""
    return f"{operand.name} of {operand.instruction.name}{chosen}: {_count(count)}"


def run(options: Options) -> Reply:
    """The loads of an architecture, those of an operand, or the tile of one load."""
    arch = options.architecture
    if options.instruction:
        if not options.matrix:
            raise Error("choose the matrix with -A or -B")
        operand = entry(arch).meant(options.instruction).operand(options.matrix, **modifiers(options))
        return show(options.json, "lds-transpose", transpose_loads(operand, options.load), operand_text)
    if options.load:
        return show(options.json, "lds-transpose-tile", LoadTile(load_named(arch, options.load)), tile_text)
    return show(options.json, "lds-transpose-loads", load_listing(arch), listing_text)


COMMAND = Command(
    "transpose-loads", "show the loads that transpose: what each lane receives, and the operands they fill", "load",
    __doc__,
    (
        option(
            "-a", "--architecture", placeholder="NAME", default="cdna4", help="the architecture (default: cdna4)"
        ),
        option("-i", "--instruction", placeholder="NAME", help="the instruction"),
        flag("-A", "--A-matrix", name="matrix", constant="A", default=None, help="its A, column by column in memory"),
        flag("-B", "--B-matrix", name="matrix", constant="B", default=None, help="its B, row by row in memory"),
        *MODIFIERS,
        option("--load", "-l", placeholder="NAME", older=("-l",), help="the load; with -i, the one to use"),
        JSON,
    ),
    run,
    {"lds-transpose": operand_text, "lds-transpose-tile": tile_text, "lds-transpose-loads": listing_text},
    older=("lds-transpose",),
)  # fmt: skip
