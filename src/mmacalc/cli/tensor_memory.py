"""The classic queries of tcgen05, whose matrices are in Tensor Memory: see `mmacalc.model.tensor_memory`."""

from __future__ import annotations

from ..answers import tensor_memory as answers
from ..catalog.grammar.tcgen05 import parse
from ..errors import Error
from ..model.tensor_memory import TensorMemoryInstruction, TensorMemoryMove
from ..render import tensor_memory as render
from . import Reply, show
from .options import ACTIONS, MATRICES, MATRIX_NAMES, STYLES, TENSOR_MEMORY, TENSOR_MEMORY_NAMES, spellings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..model import Instruction, Operand
    from .options import Options

__all__ = ["after_load", "parameters", "run"]

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
    if options.output_calculation:
        raise Error("-o is not for tcgen05: its B is in shared memory, and its sums are not known")
    actions = [name for name in ACTIONS if getattr(options, name)]
    if not options.detail_instruction and len(actions) != 1:
        raise Error("choose one of -g, -m, -R, -M, -d or --pattern")
    action = "detail_instruction" if options.detail_instruction else actions[0]
    if isinstance(instruction, TensorMemoryMove):
        return _move(instruction, action, options)
    assert isinstance(instruction, TensorMemoryInstruction)
    if action == "detail_instruction":
        return show(options.json, "tensor-memory-instruction", answers.detail(instruction), render)
    return _matrix(instruction, action, options)


def _move(instruction: TensorMemoryMove, action: str, options: Options) -> Reply:
    places = ("lane", "column")
    others = [name for name in (*TENSOR_MEMORY, *TENSOR_MEMORY_NAMES) if getattr(options, name) and name not in places]
    if others:
        raise Error(f"{spellings(others[0], None)[0]} is for tcgen05.mma; {instruction.name} has no shape to choose")
    if action == "get_register":
        lane, column = options.lane, options.column
        answer = answers.MovedCell(instruction, lane, column, instruction.locate(lane, column))
        return show(options.json, "tensor-memory-moved", answer, render)
    if action in ("detail_instruction", "pattern"):
        return show(options.json, "tensor-memory-move", answers.Move(instruction), render)
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
        cells = answers.element_cells(operand, i, j, k, loaded)
        return show(options.json, "tensor-memory-element", cells, render)
    if loaded is not None and action != "pattern":
        raise Error("--load goes with -g and --pattern")
    if action == "matrix_entry":
        contents = answers.cell_contents(operand, options.lane, options.column, options.cta)
        return show(options.json, "tensor-memory-cell", contents, render)
    if action == "pattern":
        return show(options.json, "tensor-memory-pattern", answers.Pattern(operand, loaded), render)
    if action == "register_layout":
        return show(options.json, "tensor-memory-elements", answers.element_table(operand), render, style)
    return show(options.json, "tensor-memory-cells", answers.cell_table(operand, options.cta), render, style)


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
    load = parse(f"tcgen05.ld.sync.aligned.{text.removesuffix('.b32')}.b32")
    return operand.loaded(load.shape, load.count, load.has("pack::16b"))
