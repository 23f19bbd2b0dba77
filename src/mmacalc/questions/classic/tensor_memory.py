"""The classic queries of tcgen05, whose matrices are in Tensor Memory: see `mmacalc.model.tensor_memory`."""

from __future__ import annotations

from ...base.errors import Error, plural
from ...base.records import Record, TupleRecord, json_keys
from ...command import Reply, show, tables
from ...command.options import ACTIONS, MATRICES, MATRIX_NAMES, STYLES, TENSOR_MEMORY, TENSOR_MEMORY_NAMES, spellings
from ...spelling import heading, place_text, register_text, run_text, spelling_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ...command import Options
    from ...layout import Layout
    from ...model import Element, Instruction, Location, Operand
    from ...model.operand import LoadedLocation, TensorMemoryLocation
    from ...model.tensor_memory import TensorMemoryInstruction, TensorMemoryMove


class RowAndColumn(TupleRecord):
    """The coordinates of an element of D."""

    i: int
    j: int


class RowAndK(TupleRecord):
    """The coordinates of an element of A, K or SA."""

    i: int
    k: int


class KAndColumn(TupleRecord):
    """The coordinates of an element of SB."""

    k: int
    j: int


COORDINATES: dict[tuple[str, str], type[RowAndColumn | RowAndK | KAndColumn]] = {
    ("i", "j"): RowAndColumn,
    ("i", "k"): RowAndK,
    ("k", "j"): KAndColumn,
}


def _coordinates(operand: Operand, row: int, col: int) -> RowAndColumn | RowAndK | KAndColumn:
    _, first, second = operand.axes
    return COORDINATES[first, second](row, col)


@json_keys(
    "architecture=operand.instruction.arch", "instruction=operand.instruction.name", "matrix=operand.name",
    "m=operand.instruction.m", "n=operand.instruction.n", "k=operand.instruction.k", "types", "space: where it is",
    "provenance=operand.provenance", "doubt=operand.doubt?: why the layout is unconfirmed",
)  # fmt: skip
class InTensorMemory(TupleRecord):
    """What identifies an operand in Tensor Memory."""

    operand: Operand

    @property
    def types(self) -> Mapping[str, str]:
        """The types of the operands."""
        from ...model.tensor_memory import TensorMemoryInstruction

        inst = self.operand.instruction
        assert isinstance(inst, TensorMemoryInstruction)
        return inst.types

    @property
    def space(self) -> str:
        """Where it is."""
        return "tensor memory"


@json_keys("**coordinates", "lsb", "width")
class HeldInCell(TupleRecord):
    """An element in a cell."""

    coordinates: RowAndColumn | RowAndK | KAndColumn
    lsb: int
    width: int


def _held(operand: Operand, elements: tuple[Element, ...]) -> tuple[HeldInCell, ...]:
    return tuple([HeldInCell(_coordinates(operand, e.row, e.col), e.lsb, e.width) for e in elements])


@json_keys("**about", "element", "locations", "loaded: after the load that was named")
class ElementCells(Record):
    """Where an element is: its cells, and after a load its threads and registers (None if no load was named)."""

    operand: Operand
    row: int
    col: int
    locations: tuple[TensorMemoryLocation, ...]
    loaded: tuple[LoadedLocation, ...] | None

    @property
    def about(self) -> InTensorMemory:
        """What identifies the operand."""
        return InTensorMemory(self.operand)

    @property
    def element(self) -> RowAndColumn | RowAndK | KAndColumn:
        """Its coordinates."""
        return _coordinates(self.operand, self.row, self.col)


@json_keys("**about", "cta", "lane", "column", "elements=held")
class CellContents(Record):
    """What one cell holds."""

    operand: Operand
    cta: int
    lane: int
    column: int
    elements: tuple[Element, ...]

    @property
    def about(self) -> InTensorMemory:
        """What identifies the operand."""
        return InTensorMemory(self.operand)

    @property
    def held(self) -> tuple[HeldInCell, ...]:
        """The elements by their coordinates."""
        return _held(self.operand, self.elements)


@json_keys("**about", "axes", "locations=places: [row][column][copy]")
class ElementTable(Record):
    """The places of every element: by row and column, the locations."""

    operand: Operand
    places: tuple[tuple[tuple[TensorMemoryLocation, ...], ...], ...]

    @property
    def about(self) -> InTensorMemory:
        """What identifies the operand."""
        return InTensorMemory(self.operand)

    @property
    def axes(self) -> tuple[str, ...]:
        """What the rows and columns are."""
        return self.operand.axes[1:]


@json_keys("**about", "cta", "cells=held: [lane][column][element]")
class CellTable(Record):
    """The elements of every cell of one CTA: by lane and column."""

    operand: Operand
    cta: int
    cells: tuple[tuple[tuple[Element, ...], ...], ...]

    @property
    def about(self) -> InTensorMemory:
        """What identifies the operand."""
        return InTensorMemory(self.operand)

    @property
    def held(self) -> list[list[tuple[HeldInCell, ...]]]:
        """The elements by their coordinates."""
        return [[_held(self.operand, cell) for cell in row] for row in self.cells]


class Reading(Record):
    """How one shape of tcgen05.ld reads D: the load's .xN, the loads of each warp, the registers of a thread for all
    of D, how many lanes of a load hold elements, and how many neighbours along j a thread has in one load."""

    shape: str
    count: int
    loads: int
    registers: int
    lanes_used: str
    run: int
    pattern: str


@json_keys("pattern", "sizes")
class SpelledLayout(Record):
    """A layout as a pattern, with the sizes of its digits."""

    pattern: str
    sizes: Mapping[str, int]


@json_keys(
    "**about",
    "pattern=operand.pattern",
    "sizes=operand.sizes",
    "loaded=after: after the load that was named",
    "readings: of D, the shapes of tcgen05.ld that read it",
)
class TensorMemoryPattern(Record):
    """An operand's layout, after a load as well, and for D the shapes of tcgen05.ld that read it."""

    operand: Operand
    loaded: Operand | None
    readings: tuple[Reading, ...]

    @property
    def about(self) -> InTensorMemory:
        """What identifies the operand."""
        return InTensorMemory(self.operand)

    @property
    def after(self) -> SpelledLayout | None:
        """The layout after the load."""
        found = self.loaded
        return None if found is None else SpelledLayout(found.pattern, found.sizes)


@json_keys(
    "architecture=instruction.arch",
    "instruction=instruction.name",
    "targets=instruction.targets",
    "m",
    "n",
    "k",
    "inputs",
    "outputs",
    "transposes?",
    "sparse=instruction.sparse",
    "block_size=instruction.block_size?",
    "sass=instruction.sass?",
)
class TensorMemoryDetail(Record):
    """A tcgen05.mma: M, N and K that it may have, its types (none where they are not published), what it transposes."""

    instruction: TensorMemoryInstruction
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    transposes: str


@json_keys("architecture=instruction.arch", "instruction=instruction.name", "targets=instruction.targets", "layout")
class Move(Record):
    """A tcgen05.ld, st, cp or the like."""

    instruction: TensorMemoryMove

    @property
    def layout(self) -> SpelledLayout | None:
        """Of what it moves."""
        found = self.instruction.layout
        return None if found is None else SpelledLayout(found.pattern, found.trimmed_sizes)


@json_keys("architecture=instruction.arch", "instruction=instruction.name", "lane", "column", "locations")
class MovedCell(Record):
    """The threads and registers of a cell in a tcgen05.ld or st."""

    instruction: TensorMemoryMove
    lane: int
    column: int
    locations: tuple[Location, ...]


def element_cells(operand: Operand, i: int, j: int, k: int, loaded: Operand | None = None) -> ElementCells:
    """Where an element is.

    Raises:
        Error: it is outside the operand.
    """
    coordinates = {"i": i, "j": j, "k": k}
    row, col = (coordinates[axis] for axis in operand.axes[1:])
    found: tuple[Any, ...] = operand.locate(**coordinates)
    after: tuple[Any, ...] | None = None if loaded is None else loaded.locate(i=i, j=j)
    return ElementCells(operand, row, col, found, after)


def cell_contents(operand: Operand, lane: int, column: int, cta: int = 0) -> CellContents:
    """What a cell holds.

    Raises:
        Error: Tensor Memory has no such cell.
    """
    return CellContents(operand, cta, lane, column, operand.contents(lane=lane, column=column, cta=cta))


def element_table(operand: Operand) -> ElementTable:
    """The places of every element."""
    _, first, second = operand.axes
    _, rows, columns = operand.shape
    places: list[list[Any]] = [
        [operand.locate(**{first: row, second: col}) for col in range(columns)] for row in range(rows)
    ]
    return ElementTable(operand, tuple([tuple(row) for row in places]))


def cell_table(operand: Operand, cta: int = 0) -> CellTable:
    """The elements of every cell that the operand takes.

    Raises:
        Error: there is no such CTA.
    """
    from ...families.tensor_memory import LANES

    columns = range(operand.registers)
    cells = [[operand.contents(lane=lane, column=column, cta=cta) for column in columns] for lane in range(LANES)]
    return CellTable(operand, cta, tuple(map(tuple, cells)))


def detail(instruction: TensorMemoryInstruction) -> TensorMemoryDetail:
    """The shapes and types of an instruction."""
    from ...families.tensor_memory import TYPES, allowed_shapes, transposes

    form = instruction.form
    m, n = allowed_shapes(form)
    k = dict.fromkeys(depth for rows in m for depth in instruction.depths_with(rows))
    inputs, outputs = TYPES.get(form.kind, ((), ()))
    transposed = transposes(form.kind, form.cta_group) if inputs else ""
    return TensorMemoryDetail(instruction, m, n, tuple(k), inputs, outputs, transposed)


def readings(operand: Operand) -> tuple[Reading, ...]:
    """The shapes of tcgen05.ld that read D, each with the largest .xN that D's columns are a multiple of.

    >>> import mmacalc
    >>> d = mmacalc.instruction("B200", "tcgen05.mma.cta_group::1.kind::f16").operand("D", m=64, n=128)
    >>> [(reading.shape, reading.lanes_used, reading.run) for reading in readings(d)][0]
    ('32x32b', '16 of 32', 128)
    """
    from ...families.tensor_memory import LOADS, epilogue

    found = []
    half_rows = "half" in operand.layout.selectors
    for shape, (*_, sizes, each) in LOADS.items():
        per_one = 2 if shape == "16x32bx2" else each * 32 // (32 if shape == "32x32b" else 16)
        counts = [
            1 << power for power in range(8) if operand.registers % (per_one << power) == 0 and each << power <= 128
        ]
        if not counts:
            continue
        count = counts[-1]
        layout = epilogue(operand.layout, shape, count)
        wide = "i" in sizes and sizes["i"] == 32
        loads = layout.spans["load"] // (2 if half_rows and not wide else 1)
        lanes = "16 of 32" if half_rows and wide else "all"
        found.append(Reading(shape, count, loads, loads * count * each, lanes, _run(layout), layout.pattern))
    return tuple(found)


def _run(layout: Layout) -> int:
    """How many neighbours along j are in neighbouring registers of one thread."""
    tables = layout.axis_tables()["j"]
    run = 1
    while (
        run < len(tables["item"])
        and tables["item"][run] == run
        and not any(tables[place][run] for place in ("lane", "warp", "load"))
    ):
        run += 1
    return run


def _heading(operand: Operand) -> str:
    from ...model.tensor_memory import TensorMemoryInstruction
    from ...spelling.tensor_memory import types_text

    inst = operand.instruction
    assert isinstance(inst, TensorMemoryInstruction)
    lines = [f"Shape: M {inst.m}, N {inst.n}, K {inst.k}; {types_text(inst)}"]
    if operand.doubt:
        lines.append(f"Provenance: the layout of {operand.name} is unconfirmed: {operand.doubt}")
    if inst.remark:
        lines.append(f"Note: {inst.remark}")
    return heading(inst, None if operand.doubt else operand) + "".join([f"{line}\n" for line in lines])


# --- where an element is, and what a cell holds ---


def element_text(answer: ElementCells) -> str:
    """The cells of an element, and its places after a load."""
    from ...spelling.tensor_memory import LOADED

    name = f"{answer.operand.name}[{answer.row}][{answer.col}]"
    lines = [f"{name} = {place_text(answer.operand, place)}\n" for place in answer.locations]
    lines += [f"{name} after the load = {LOADED.place(answer.operand, place, '')}\n" for place in answer.loaded or ()]
    return _heading(answer.operand) + "".join(lines)


def contents_text(answer: CellContents) -> str:
    """The elements of a cell."""
    operand, column = answer.operand, answer.column
    lane, spelling = answer.lane + operand.wave * answer.cta, spelling_of(operand)
    lines = [
        f"{spelling.held_place(operand, column, lane, first)} = {name}\n"
        for first, name in _named(operand, answer.elements)
    ]
    cell: Any = operand.location
    where = place_text(operand, cell(answer.cta, answer.lane, column, 0, 32))
    return _heading(operand) + ("".join(lines) or f"{where} holds nothing of {operand.name}\n")


def _named(operand: Operand, elements: tuple[Element, ...]) -> Iterator[tuple[Element, str]]:
    """What each place of a cell holds, with its name; elements that share one are a run of k."""
    groups: dict[tuple[int, int], list[Element]] = {}
    for element in elements:
        groups.setdefault((element.lsb, element.row), []).append(element)
    for (_, row), run in groups.items():
        yield run[0], run_text(operand, range(row, row + 1), range(run[0].col, run[-1].col + 1))


# --- tables ---


def element_table_text(answer: ElementTable, style: str = "grid") -> str:
    """The places of every element."""
    from ...spelling.tensor_memory import short_place

    operand = answer.operand
    extents = {"i": "M", "j": "N", "k": "K"}
    corner = operand.name + "".join(f"[{extents[axis]}]" for axis in operand.axes[1:])
    header = [corner, *map(str, range(operand.shape[2]))]
    rows = [
        (str(row), *["\n".join([short_place(operand, place) for place in places]) for places in line])
        for row, line in enumerate(answer.places)
    ]
    return _heading(operand) + tables.write(header, rows, style, ruled=True)


def cell_table_text(answer: CellTable, style: str = "grid") -> str:
    """The elements of every cell."""
    operand = answer.operand
    header = ["lane", *[register_text(operand, column, 32) for column in range(operand.registers)]]
    rows = [
        (str(lane), *["\n".join([name for _, name in _named(operand, held)]) for held in line])
        for lane, line in enumerate(answer.cells)
    ]
    return f"{_heading(operand)}Tensor Memory of CTA {answer.cta}\n{tables.write(header, rows, style, ruled=True)}"


# --- patterns and instructions ---


def pattern_text(answer: TensorMemoryPattern) -> str:
    """The layout, and how D is read."""
    operand = answer.operand
    lines = [f"{operand.name}: {operand.pattern}", f"    sizes: {_sizes(operand.sizes)}"]
    if operand.name in "CD":
        lines.append("Read by the four warps of a warpgroup (one warp reads the 32 lanes of its own):")
        for reading in answer.readings:
            loads = plural(reading.loads, "load")
            lines.append(
                f"    tcgen05.ld.{reading.shape}.x{reading.count}: {loads}, {plural(reading.registers, 'register')}, "
                f"runs of {reading.run} along j in a thread, lanes used: {reading.lanes_used}"
            )
            lines.append(f"        {reading.pattern}")
    if answer.loaded:
        lines += [
            f"After the load: {answer.loaded.pattern}",
            f"    sizes: {_sizes(answer.loaded.sizes)}",
        ]
    return _heading(operand) + "".join([f"{line}\n" for line in lines])


def _sizes(sizes: dict[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in sizes.items())


def detail_text(answer: TensorMemoryDetail) -> str:
    """The shapes and types that it may have."""
    from ...families.tensor_memory import steps
    from ...throughput import dense_rate

    inst = answer.instruction
    lines = [
        f"Targets: {', '.join(inst.targets)}",
        "Shapes (in the instruction descriptor, so no assembler checks them):",
    ]
    lines += [f"    {name}: {steps(values)}" for name, values in (("M", answer.m), ("N", answer.n), ("K", answer.k))]
    lines.append("Types:")
    lines.append(f"    A, B: {', '.join(answer.inputs) or 'not published'}")
    lines.append(f"    C, D: {', '.join(answer.outputs) or 'not published'}")
    if inst.scaled:
        lines.append(f"    SA, SB: a scale for every {inst.block_size} of k")
    if answer.transposes:
        lines.append(f"May be MN-major in shared memory: {answer.transposes}")
    lines.append("Operands: A in shared or Tensor Memory; B in shared memory; C, D and the rest in Tensor Memory")
    lines.append(f"SASS: {inst.sass} (the types are in idesc[URx])")
    if rate := dense_rate(inst):
        lines.append(f"Dense FMA per clock and SM: {rate} ({inst.architecture.fma_source})")
    return heading(inst) + "".join([f"    {line}\n" for line in lines])


def move_text(answer: Move) -> str:
    """The layout of what it moves."""
    inst = answer.instruction
    lines = [f"Targets: {', '.join(inst.targets)}"]
    if inst.layout is not None:
        axes = " and ".join(inst.layout.axes)
        lines += [f"From {axes}: {inst.layout.pattern}", f"    sizes: {_sizes(inst.layout.trimmed_sizes)}"]
        lines.append(
            "    lane and column count from the address"
            if "item" in inst.layout.places
            else "    row and column of the box in shared memory; lane and column count from the address"
        )
    lines.append(f"SASS: {inst.sass}" if inst.sass else "SASS: none of its own")
    return heading(inst) + "".join([f"    {line}\n" for line in lines])


def moved_text(answer: MovedCell) -> str:
    """Where a cell goes."""
    lines = [
        f"Tensor Memory lane {answer.lane}, column {answer.column} = lane {place.lane}, %r{place.register}"
        f"{'' if place.width == 32 else f'[{place.lsb + 15}:{place.lsb}]'}\n"
        for place in answer.locations
    ]
    return heading(answer.instruction) + "".join(lines)


# What the options are called, and what the operand takes.
PARAMETERS = {
    "m": "m", "n": "n", "k": "k", "a_type": "a", "b_type": "b", "d_type": "d", "half": "half",
    "scale_id_a": "scale_id_a", "scale_id_b": "scale_id_b",
}  # fmt: skip


def run(instruction: Instruction, options: Options) -> Reply:
    """Answer one classic command line about a tcgen05 instruction.

    Raises:
        Error: the shape is missing, or a query that these instructions do not have.
    """
    from ...model.tensor_memory import TensorMemoryInstruction, TensorMemoryMove

    if options.output_calculation:
        raise Error("-o is not for tcgen05: its B is in shared memory, and the order of its sums is not documented")
    actions = [name for name in ACTIONS if getattr(options, name)]
    if not options.detail_instruction and len(actions) != 1:
        raise Error("choose one of -g, -m, -R, -M, -d or --pattern")
    action = "detail_instruction" if options.detail_instruction else actions[0]
    if isinstance(instruction, TensorMemoryMove):
        return _move(instruction, action, options)
    assert isinstance(instruction, TensorMemoryInstruction)
    if action == "detail_instruction":
        return show(options.json, "tensor-memory-instruction", detail(instruction), detail_text)
    return _matrix(instruction, action, options)


def _move(instruction: TensorMemoryMove, action: str, options: Options) -> Reply:
    places = ("lane", "column")
    others = [name for name in (*TENSOR_MEMORY, *TENSOR_MEMORY_NAMES) if getattr(options, name) and name not in places]
    if others:
        raise Error(f"{spellings(others[0], None)[0]} is for tcgen05.mma; {instruction.name} has no shape to choose")
    if action == "get_register":
        lane, column = options.lane, options.column
        answer = MovedCell(instruction, lane, column, instruction.locate(lane, column))
        return show(options.json, "tensor-memory-moved", answer, moved_text)
    if action in ("detail_instruction", "pattern"):
        return show(options.json, "tensor-memory-move", Move(instruction), move_text)
    raise Error(
        f"of {instruction.name}, -g answers (with -l and --column, the lane and column from the address), and --pattern"
    )


def _matrix(instruction: TensorMemoryInstruction, action: str, options: Options) -> Reply:
    matrices = [name for name in MATRICES if getattr(options, name)]
    if len(matrices) != 1:
        raise Error("choose one matrix of -A, -C, -D, -k, --scale-a or --scale-b")
    operand = _operand(instruction, MATRIX_NAMES[matrices[0]], options)
    loaded = _loaded(operand, options)
    chosen = [style for style in STYLES if getattr(options, style)]
    if len(chosen) > 1:
        raise Error(f"--{' and --'.join(chosen)} were given together; choose one format")
    style = next((style for style in chosen if style != "json"), "grid")
    if action == "get_register":
        i, j, k = options.I_coordinate, options.J_coordinate, options.K_coordinate
        cells = element_cells(operand, i, j, k, loaded)
        return show(options.json, "tensor-memory-element", cells, element_text)
    if loaded is not None and action != "pattern":
        raise Error("--load goes with -g and --pattern")
    if action == "matrix_entry":
        contents = cell_contents(operand, options.lane, options.column, options.cta)
        return show(options.json, "tensor-memory-cell", contents, contents_text)
    if action == "pattern":
        pattern = TensorMemoryPattern(operand, loaded, readings(operand) if operand.name in "CD" else ())
        return show(options.json, "tensor-memory-pattern", pattern, pattern_text)
    if action == "register_layout":
        elements = element_table(operand)
        return show(
            options.json, "tensor-memory-elements", elements, lambda elements: element_table_text(elements, style)
        )
    cells_of_cta = cell_table(operand, options.cta)
    return show(options.json, "tensor-memory-cells", cells_of_cta, lambda table: cell_table_text(table, style))


def _operand(instruction: TensorMemoryInstruction, name: str, options: Options) -> Operand:
    given = parameters(options)
    if options.selector:
        given["selector"] = options.selector
    return instruction.operand(name, **given)


def parameters(options: Options) -> dict[str, Any]:
    """The shape, types and places that options give, under the names that `instruction.operand` takes."""
    return {meant: value for name, meant in PARAMETERS.items() if (value := getattr(options, name))}


def _loaded(operand: Operand, options: Options) -> Operand | None:
    return after_load(operand, options.load) if options.load else None


def after_load(operand: Operand, text: str) -> Operand:
    """D after the loads that a command line names, such as 32x32b.x32.

    Raises:
        Error: there is no such load, or no D in Tensor Memory to load.
    """
    from ...catalog.grammar.tcgen05 import parse

    load = parse(f"tcgen05.ld.sync.aligned.{text.removesuffix('.b32')}.b32")
    return operand.loaded(load.shape, load.count, load.has("pack::16b"))
