"""The classic queries of tcgen05, whose matrices are in Tensor Memory: see `mmacalc.model.tensor_memory`."""

from __future__ import annotations

from ..answers import tensor_memory as answers
from ..catalog.grammar.tcgen05 import parse
from ..errors import Error
from ..model.tensor_memory import TensorMemoryInstruction, TensorMemoryMove
from ..render import tensor_memory as render
from . import Reply, show
from .options import ACTIONS, MATRICES, MATRIX_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Instruction
    from ..model.tensor_memory import LoadedMatrix, TensorMemoryOperand
    from .options import Options

__all__ = ["run"]

STYLES = ("csv", "markdown", "asciidoc")


def run(instruction: Instruction, options: Options) -> Reply:
    """Answer one classic command line about a tcgen05 instruction.

    Raises:
        Error: the shape is missing, or a query that these instructions do not have.
    """
    actions = [name for name in ACTIONS if getattr(options, name)]
    if not options.detail_instruction and len(actions) != 1:
        raise Error("choose one of -g, -m, -R, -M, -d or --pattern")
    query = "detail-instruction" if options.detail_instruction else actions[0].replace("_", "-")
    style = next((style for style in STYLES if getattr(options, style)), "grid")
    if isinstance(instruction, TensorMemoryMove):
        found = _move(instruction, query, options)
    elif isinstance(instruction, TensorMemoryInstruction):
        found = _matrix(instruction, query, options)
    return show(options.json, query, found, render, style)


def _move(instruction: TensorMemoryMove, query: str, options: Options) -> object:
    if query == "get-register":
        return answers.MovedCell(
            instruction, options.lane, options.column, instruction.locate(options.lane, options.column)
        )
    if query in ("detail-instruction", "pattern"):
        return answers.Move(instruction)
    raise Error(
        f"of {instruction.name}, -g answers (with -l and --column, the lane and column from the address), and --pattern"
    )


def _matrix(instruction: TensorMemoryInstruction, query: str, options: Options) -> object:
    if query == "detail-instruction":
        return answers.detail(instruction)
    matrices = [name for name in MATRICES if getattr(options, name)]
    if len(matrices) != 1:
        raise Error("choose one matrix of -A, -C, -D, -k, --scale-a or --scale-b")
    operand = _operand(instruction, MATRIX_NAMES[matrices[0]], options)
    if query == "get-register":
        i, j, k = options.I_coordinate, options.J_coordinate, options.K_coordinate
        return answers.element_cells(operand, i, j, k, _loaded(operand, options))
    if query == "matrix-entry":
        return answers.cell_contents(operand, options.lane, options.column, options.cta)
    if query == "pattern":
        return answers.Pattern(operand, _loaded(operand, options))
    return answers.element_table(operand) if query == "register-layout" else answers.cell_table(operand, options.cta)


def _operand(instruction: TensorMemoryInstruction, name: str, options: Options) -> TensorMemoryOperand:
    given = {
        "m": options.m, "n": options.n, "k": options.k, "a": options.a_type, "b": options.b_type, "d": options.d_type,
        "half": options.half, "selector": options.selector, "scale_id_a": options.scale_id_a,
        "scale_id_b": options.scale_id_b,
    }  # fmt: skip
    operand: TensorMemoryOperand = instruction.operand(name, **{key: value for key, value in given.items() if value})
    return operand


def _loaded(operand: TensorMemoryOperand, options: Options) -> LoadedMatrix | None:
    if not options.load:
        return None
    load = parse(f"tcgen05.ld.sync.aligned.{options.load.removesuffix('.b32')}.b32")
    return operand.loaded(load.shape, load.count, load.has("pack::16b"))
