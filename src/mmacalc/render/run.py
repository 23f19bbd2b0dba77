"""What an instruction computed on the emulator, as text and as JSON."""

from __future__ import annotations

from . import diagnosis
from .diagnosis import plain
from .instruction_numerics import numerics_object, numerics_text
from .spelling import family_text, heading
from .tables import write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ..answers.run import Run
    from ..emulator.arrays import Conversion

__all__ = ["json_object", "matrix_text", "notes", "text"]

LARGEST_SHOWN = 4096  # elements of D


def text(run: Run, quiet: bool = False, output: str | None = None) -> str:
    """The arithmetic unless `quiet`, the registers, D unless it was written to the file `output`, the comparison."""
    inst, d = run.instruction, run.d
    parts = [] if quiet else [heading(inst), numerics_text(run.numerics)]
    letter = family_text(inst.architecture.family).NAMES[0].format("")
    parts += [_registers_text(name, file, letter) for name, file in run.registers.items()]
    size = f"D: {'x'.join(map(str, d.shape))} {d.dtype}"
    if output:
        parts.append(f"{size}, written to {output}\n")
    elif run.comparison is None and d.size > LARGEST_SHOWN:
        parts.append(f"{size}; -o writes it to a file\n")
    elif run.comparison is None:
        parts.append(matrix_text("D", d, inst.format("D").bits if run.bits else 0))
    if run.comparison is not None:
        parts.append(diagnosis.text(run.comparison, inst))
    return "".join(parts)


def notes(run: Run) -> tuple[str, ...]:
    """What rounding did to the inputs."""
    return tuple(_conversion_text(one) for one in run.conversions)


def json_object(run: Run) -> dict[str, Any]:
    """The same as plain data."""
    from .json import instruction_object

    comparison, registers = run.comparison, run.registers
    return {
        **instruction_object(run.instruction),
        "numerics": numerics_object(run.numerics),
        "modifiers": dict(run.modifiers),
        "d": plain(run.d.tolist()),
        "d_dtype": str(run.d.dtype),
        "conversions": [one._asdict() for one in run.conversions],
        **({} if comparison is None else {"comparison": diagnosis.json_object(comparison)}),
        **({"registers": {name: file.tolist() for name, file in registers.items()}} if registers else {}),
    }


def _conversion_text(conversion: Conversion) -> str:
    """What rounding did to an input, in a line.

    >>> from mmacalc.emulator.arrays import Conversion
    >>> _conversion_text(Conversion("A", "float64", "f16", 256, 37, 3, 0))
    'A: 37 of 256 values changed when they were rounded from float64 to f16; 3 became infinite'
    """
    operand, given, form, elements, changed, infinite, nan = conversion
    whose = "D to compare" if operand == "D" else operand
    if given in ("|V1", "|V2"):
        given = f"{given}, taken as {'bfloat16' if given == '|V2' else f'encodings of {form}'},"
    if not changed:
        return f"{whose}: its type is {given.rstrip(',')}"
    became = [f"{count} became {what}" for count, what in ((infinite, "infinite"), (nan, "NaN")) if count]
    text = f"{whose}: {changed} of {elements} values changed when they were rounded from {given} to {form}"
    return "; ".join([text, *became])


def matrix_text(name: str, matrix: NDArray[Any], bits: int = 0) -> str:
    """A matrix (..., rows, columns), each leading index under a heading. With `bits`, encodings in hexadecimal."""
    lead = matrix.shape[:-2]
    parts = []
    for number, part in enumerate(matrix.reshape(-1, *matrix.shape[-2:])):
        heading = name if not lead else f"{name}, {'block' if len(lead) == 1 else 'matrix'} {number}"
        cells = [[f"{value:0{bits // 4}x}" if bits else f"{value:.9g}" for value in row] for row in part.tolist()]
        width = max((len(cell) for row in cells for cell in row), default=1)
        lines = (" ".join(cell.rjust(width) for cell in row) for row in cells)
        parts.append(f"{heading}:\n" + "".join(f"  {line}\n" for line in lines))
    return "".join(parts)


def _registers_text(name: str, file: NDArray[Any], letter: str = "v") -> str:
    """A register file (registers, lanes): a row for each lane, a column for each register, hexadecimal."""
    header = ["lane", *(f"{letter}{register}" for register in range(file.shape[0]))]
    rows = [[str(lane), *(f"{word:08x}" for word in column)] for lane, column in enumerate(file.T.tolist())]
    return f"{name}:\n{write(header, rows)}"
