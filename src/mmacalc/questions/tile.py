"""Say which wave, lane and register of a tile holds which element: an instruction repeated over waves and by each wave.

    mmacalc tile -a gfx942 -i v_mfma_f32_32x32x8_f16 --waves 2x2 --repeat 2x4             the layouts of its operands
    mmacalc tile -a gfx942 -i v_mfma_f32_32x32x8_f16 --waves 2x2 --repeat 2x4 -D -I 40 -J 70       where D[40][70] is
    mmacalc tile -a sm_80 -i mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --waves 2x2 -D --thread 77 --value 2
    mmacalc tile -a gfx942 -i v_mfma_f32_32x32x8_f16 --waves 2x2 -A -R                    every element of A

Waves and repetitions are counted along m, n and, if given, k. As in CuTe the waves follow one another along m first,
and so do a wave's instructions; --wave-order nm and --repeat-order nm are Triton's. With one matrix and no element,
thread or table all is said of that matrix: its pattern, its formulas, and as CuTe and Triton write it.
"""

from __future__ import annotations

from ..base.errors import Error, plural
from ..base.records import Record, json_keys
from ..catalog import entry
from ..command import Command, Options, Reply, flag, number, show
from ..command.common import ARCHITECTURE, INSTRUCTION, JSON, MODIFIERS, TILE, WAVE, tile_of
from ..command.options import FLAGS, MATRICES, MATRIX_NAMES, NUMBERS, matrices, modifiers, number_options, whole_number
from ..foreign.tiled_mma import atom_note
from ..model import Operand
from ..model.tile import Tile
from ..spelling import element_text, heading, place_text
from .classic.formulas import backward, forward
from .classic.layouts import matrix_layout, matrix_text, register_layout
from .classic.layouts import text as layout_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..model import Element
    from ..model.operand import TileLocation


@json_keys("matrix=operand.name", "shape", "format=operand.format.name", "registers=operand.registers",
           "pattern=operand.pattern", "sizes=operand.sizes", "provenance=operand.provenance")  # fmt: skip
class TileOperand(Record):
    """One operand of a tile."""

    operand: Operand

    @property
    def shape(self) -> tuple[int, ...]:
        """Its rows and columns, with the blocks first where there are several."""
        return self.operand.shape if self.operand.shape[0] > 1 else self.operand.shape[1:]


@json_keys(
    "architecture=tile.instruction.arch", "instruction=tile.instruction.name", "**tile",
    "lanes=tile.lanes: of each wave", "instructions=tile.instructions: of each wave",
    "partial_sums: waves that each have a part of the sum of one D", "operands",
    "elsewhere: operands that are not in registers, and where they are", "note: on the name that was given",
)  # fmt: skip
class TileAnswer(Record):
    """A tile and its operands. note: what the name that was given means besides; "" for nothing."""

    tile: Tile
    operands: tuple[TileOperand, ...]
    note: str = ""

    @property
    def partial_sums(self) -> int:
        """How many waves, or instructions one after another, add up one element of D."""
        return self.tile.waves[2]

    @property
    def elsewhere(self) -> Mapping[str, str]:
        """Operands that are not in registers."""
        return self.tile.instruction.outside_registers


@json_keys("**operand", "element", "locations: several where copies are")
class TilePlaces(Record):
    """Where one element is."""

    operand: Operand
    element: str
    locations: tuple[TileLocation | Any, ...]


@json_keys("**operand", "place", "elements", "texts")
class TileContents(Record):
    """What is at one place."""

    operand: Operand
    place: str
    elements: tuple[Element, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """The names of the elements."""
        return tuple([element_text(self.operand, one.row, one.col, one.block) for one in self.elements])


@json_keys(
    "**operand", "pattern=operand.pattern", "sizes=operand.sizes", "einops=operand.einops", "forward", "backward",
    "cute: as CuTe writes it, from (thread, value) to an index of the matrix; null where it cannot",
    "linear: as Triton's linear layout writes it, by place; null where it cannot",
)  # fmt: skip
class TileFormulas(Record):
    """All about one operand of a tile."""

    operand: Operand

    @property
    def forward(self) -> dict[str, str]:
        """The register and the thread of an element."""
        return forward(self.operand)

    @property
    def backward(self) -> dict[str, str]:
        """The coordinates of a place; lane is the thread of all waves."""
        return backward(self.operand)

    @property
    def cute(self) -> str | None:
        """As CuTe writes it: of B as (N, K)."""
        axes = self.operand.layout.axes
        order = ("j", "k") if self.operand.axes[1:] == ("k", "j") else axes[-2:]
        try:
            return self.operand.layout.cute((*order, *axes[:-2]))
        except Error:
            return None

    @property
    def linear(self) -> dict[str, tuple[tuple[int, ...], ...]] | None:
        """As Triton writes it."""
        try:
            return self.operand.layout.linear()
        except Error:
            return None


def described(tile: Tile, name: str = "", **modifiers: int | str) -> TileAnswer:
    """A tile with its operands.

    Args:
        tile: which. name: what was given for its instruction, perhaps CuTe's.

    >>> import mmacalc
    >>> answer = described(mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16").tile((2, 2), (2, 4)))
    >>> [(one.operand.name, one.shape, one.operand.registers) for one in answer.operands]
    [('A', (128, 8), 4), ('B', (8, 256), 8), ('C', (128, 256), 128), ('D', (128, 256), 128)]
    """
    operands = tuple([TileOperand(tile.operand(each, **modifiers)) for each in tile.operands])
    return TileAnswer(tile, operands, atom_note(name))


def text(answer: TileAnswer) -> str:
    """The tile, and a paragraph for each operand."""
    tile = answer.tile
    lines = [heading(tile.instruction).rstrip("\n")]
    shape = "x".join(map(str, tile.shape))
    each = "x".join(map(str, tile.repeat))
    lines.append(
        f"Tile: {shape} by {plural(tile.arrangement.spans['wave'], 'wave')} ({'x'.join(map(str, tile.waves))}) of "
        f"{tile.lanes} threads, each with {plural(tile.instructions, 'instruction')} ({each})"
    )
    if max(tile.arrangement.spans.values()) > 1:
        lines.append(f"    {tile.arrangement.pattern}")
    if answer.partial_sums > 1:
        lines.append(f"    each D is the sum of what {answer.partial_sums} waves along k have in the same registers")
    for one in answer.operands:
        operand = one.operand
        extent = "x".join(map(str, one.shape))
        lines.append(
            f"{operand.name}: {extent} {operand.format.name}, {plural(operand.registers, 'register')} a thread"
        )
        lines.append(f"    {operand.pattern}")
        lines.append(f"    {', '.join([f'{digit}={size}' for digit, size in operand.sizes.items()])}")
    lines += [f"{name}: {where}" for name, where in answer.elsewhere.items()]
    if answer.note:
        lines.append(f"Note: {answer.note}")
    return "\n".join(lines) + "\n"


def places_text(answer: TilePlaces) -> str:
    """A line for each place of the element."""
    operand = answer.operand
    lines = [f"{answer.element} = {place_text(operand, place)}\n" for place in answer.locations]
    return heading(operand.instruction, operand) + "".join(lines)


def contents_text(answer: TileContents) -> str:
    """What is there, on one line."""
    operand = answer.operand
    held = ", ".join([
        f"{name}" + (f" in bits {one.lsb + one.width - 1}:{one.lsb}" if one.width < 32 else "")
        for name, one in zip(answer.texts, answer.elements)
    ])  # fmt: skip
    return f"{heading(operand.instruction, operand)}{answer.place}: {held or 'nothing'}\n"


def formulas_text(answer: TileFormulas) -> str:
    """All about one operand."""
    operand = answer.operand
    lines = [heading(operand.instruction, operand).rstrip("\n"), f"{operand.name}: {operand.pattern}"]
    lines.append(f"    sizes:   {', '.join([f'{digit}={size}' for digit, size in operand.sizes.items()])}")
    lines.append(f"    einops:  {operand.einops}")
    lines += [f"    {name:8} = {formula}" for name, formula in {**answer.forward, **answer.backward}.items()]
    lines.append("    Lane and lane are the thread of all waves")
    lines.append(f"    CuTe:    {answer.cute or 'no shape:stride says it'}")
    if answer.linear:
        named = {"item": "register"}
        rows = [f"{named.get(place, place)} {list(map(list, rows))}" for place, rows in answer.linear.items() if rows]
        lines.append(f"    Triton:  {', '.join(rows)}  (by {', '.join(operand.layout.axes)})")
    return "\n".join(lines) + "\n"


COORDINATES = {name: NUMBERS[name] for name in ("I_coordinate", "J_coordinate", "K_coordinate", "block")}
PLACES = ("thread", "value", "in_wave", "lane", "register")


def run(options: Options) -> Reply:
    """Answer about the tile, an element, a place, or a whole matrix."""
    instruction = entry(options.architecture).meant(options.instruction)
    tile = tile_of(options, instruction)
    given = modifiers(options)
    chosen = [MATRIX_NAMES[name] for name in MATRICES if getattr(options, name)]
    elements = {name[0].lower() if name != "block" else name: getattr(options, name) for name in COORDINATES
                if getattr(options, name) is not None}  # fmt: skip
    places = {name: getattr(options, name) for name in PLACES if getattr(options, name) is not None}
    tables = [name for name in ("register_layout", "matrix_layout") if getattr(options, name)]
    if len(chosen) > 1:
        raise Error(f"{' and '.join(chosen)} were given together; choose one matrix, or none for all of them")
    if not chosen:
        if elements or places or tables:
            raise Error("choose the matrix with -A, -B, -C, -D, -k, --scale-a or --scale-b")
        return show(options.json, "tile", described(tile, options.instruction, **given), text)
    if (bool(elements) + bool(places) + len(tables)) > 1:
        raise Error("ask for one thing: an element (-I -J -K), a place (--thread --value), -R or --matrix-layout")
    return _about(tile.operand(chosen[0], **given), elements, places, tables, options)


def _about(
    operand: Operand, elements: dict[str, int], places: dict[str, int], tables: list[str], options: Options
) -> Reply:
    if elements:
        return show(options.json, "tile-element", element(operand, **elements), places_text)
    if places:
        named = {("wave" if name == "in_wave" else name): value for name, value in places.items()}
        where = ", ".join([f"{name} {value}" for name, value in named.items()])
        answer = TileContents(operand, where, operand.contents(**named))
        return show(options.json, "tile-place", answer, contents_text)
    if tables == ["register_layout"]:
        return show(options.json, "register-layout", register_layout(operand), layout_text)
    if tables:
        return show(options.json, "matrix-layout", matrix_layout(operand), matrix_text)
    return show(options.json, "tile-operand", TileFormulas(operand), formulas_text)


def element(operand: Operand, **coordinates: int) -> TilePlaces:
    """Where an element of a tile is.

    >>> import mmacalc
    >>> d = mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16").tile((2, 2)).operand("D")
    >>> element(d, i=40, j=3).locations
    (TileLocation(wave=1, lane=3, item=4, register=4, lsb=0, width=32),)
    """
    row, col = [coordinates.get(axis, 0) for axis in operand.axes[1:]]
    name = element_text(operand, row, col, coordinates.get("block", 0))
    return TilePlaces(operand, name, operand.locate(**coordinates))


COMMAND = Command(
    "tile", "say where the elements of a tile are: one instruction over several waves, several times", "look", __doc__,
    (
        ARCHITECTURE, INSTRUCTION, WAVE, *TILE, JSON,
        *matrices("ask about"),
        *number_options(COORDINATES, whole_number),
        number("--thread", help="of a place: the thread, counted through all waves"),
        number("--value", help="of a place: the value of the thread, counted through all its instructions (an item)"),
        number("--in-wave", help="of a place: the number of the wave, with -l and -r"),
        number("-l", "--lane", help="of a place: the lane of the wave"),
        number("-r", "--register", help="of a place: the register, counted from the operand's first"),
        flag("-R", "--register-layout", help=FLAGS["register_layout"][1]),
        flag("--matrix-layout", help=FLAGS["matrix_layout"][1]),
        *MODIFIERS,
    ),
    run,
    {
        "tile": text, "tile-element": places_text, "tile-place": contents_text, "tile-operand": formulas_text,
        "register-layout": layout_text, "matrix-layout": matrix_text,
    },
)  # fmt: skip
