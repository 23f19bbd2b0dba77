"""Run one instruction on the emulator: D = A B + C to the bit, on .npy or CSV matrices.

    mmacalc run -a gfx942 -i v_mfma_f32_16x16x16_f16 --a a.npy --b b.npy --c c.npy -o d.npy
    mmacalc run -a gfx942 -i v_mfma_f32_16x16x16_f16 --random 1 --compare d_from_my_kernel.npy
    mmacalc run -a gfx942 -i v_mfma_f32_16x16x16_f16 --one-hot 3,9 --registers

Matrices are (M, K), (K, N) and (M, N), with the blocks first where the instruction has several (in CSV below one
another). Files are .npy, .npz (as FILE.npz:NAME) or CSV; how many of their values change when they are rounded to the
operand's format is printed on standard error. --compare says which elements of a kernel's D differ and, where one
known mistake explains all of them, which; the exit status is then 1.
"""

from __future__ import annotations

from ..catalog import entry
from ..errors import Error
from ..files import write
from ..numerals import number
from . import Reply, show
from .options import file_option
from .parser import modifiers, whole_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from ..emulator.execution import Execution
    from ..model import Instruction
    from .parser import Parser

    Array = NDArray[Any]

FILES = {
    "a": "A", "b": "B", "c": "C (default: zeros)", "index": "the index of a sparse A (default: A has its zeros)",
    "scale_a": "the scale codes of A (default: scales of 1)", "scale_b": "the scale codes of B",
}  # fmt: skip
OPERANDS = {"a": "A", "b": "B", "c": "C", "index": "K", "scale_a": "SA", "scale_b": "SB"}


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    add = parser.add_argument
    parser.add_common("architecture", "instruction", "wave", "json")
    parser.add_files(FILES)
    add("--random", type=whole_number, metavar="SEED", help="random values for the matrices without a file")
    add("--identity", action="store_true", help="A is the identity; B counts 0, 1, 2 ... unless it has a file")
    add("--one-hot", metavar="I,K", help="A is zero but for A[I][K] = 1; B counts 0, 1, 2 ... unless it has a file")
    meaning = parser.add_mutually_exclusive_group()
    meaning.add_argument("--bits", action="store_true", help="matrices are encodings (unsigned integers), also D's")
    meaning.add_argument("--values", action="store_true", help="unsigned integers are values, also of a float operand")
    add("-o", "--output", metavar="FILE", help="write D there, .npy or .csv")
    add(
        "--save-inputs",
        metavar="PREFIX",
        help="write the inputs to PREFIXa.npy, PREFIXb.npy ... for the kernel to read",
    )
    add("--compare", metavar="FILE", help="compare this D (from a kernel) with the emulator's")
    add("-q", "--quiet", action="store_true", help="D or the comparison only, not how the instruction computes")
    add("--registers", action="store_true", help="show the register files before and after")
    parser.add_modifiers()
    add("--clamp", action="store_true", help="saturate integer results (AMD)")
    add("--satfinite", action="store_true", help="saturate integer results (NVIDIA)")


def run(options: Namespace) -> Reply:
    """Compute D, show it, compare it; write files last, when nothing can go wrong any more."""
    from ..answers.run import run as compute
    from ..render import run as render

    inst = entry(options.architecture).instruction(options.instruction)
    fields = modifiers(options)
    execution, inputs = _inputs(inst, options, fields)
    answer = compute(
        inst,
        inputs,
        fields,
        flags={"clamp": options.clamp, "satfinite": options.satfinite, "wave": options.wavefront or None},
        bits=options.bits,
        given=None if options.compare is None else _load(options, execution, "compare", "D"),
        registers=options.registers,
    )
    write(_written(options, inputs, answer.d), _read(options))
    how, status = (options.quiet, options.output), 1 if answer.differs else 0
    return show(options.json, "run", answer, render, *how, status=status, notes=render.notes(answer))


def _inputs(inst: Instruction, options: Namespace, fields: dict[str, int | str]) -> tuple[Execution, dict[str, Array]]:
    """The instruction ready to run, and its inputs, loaded from files or generated."""
    from ..emulator.execution import execution_of

    execution = execution_of(inst, options.wavefront or None, fields, options.clamp, options.satfinite)
    given = [name for name in OPERANDS if getattr(options, name) is not None]
    inputs = {name: _load(options, execution, name, OPERANDS[name]) for name in given}
    ways = [options.random is not None, options.identity, options.one_hot is not None]
    if sum(ways) > 1:
        raise Error("--random, --identity and --one-hot were given together; choose one")
    if any(ways):
        from ..diagnosis.inputs import encoded, identity, one_hot, random

        if options.random is not None:
            generated = random(execution, options.random)
        elif options.identity:
            generated = identity(execution)
        else:
            generated = one_hot(execution, *_pair(options.one_hot))
        inputs = {**(encoded(execution, generated) if options.bits else generated), **inputs}
    if missing := [name for name in "ab" if name not in inputs]:
        raise Error(f"no {' and no '.join(f'--{name}' for name in missing)}; give files, or --random SEED")
    return execution, inputs


def _pair(text: str) -> tuple[int, int]:
    pair = [number(part.strip()) for part in text.split(",")]
    if len(pair) != 2 or None in pair:
        raise Error(f"--one-hot takes the row and the k of the one, such as 3,9; got '{text[:40]}'")
    row, k = (value or 0 for value in pair)
    return row, k


def _load(options: Namespace, execution: Execution, name: str, operand: str) -> Array:
    """The matrix that an option names, refused where it may be meant as values or as encodings."""
    from .arrays import load

    option, path = file_option(name)[0], getattr(options, name)
    codes = options.bits or operand in ("K", "SA", "SB")
    array = load(option, path, execution.shapes.get(operand, ()), codes)
    form = execution.formats.get(operand)
    if codes or options.values or form is None or not form.is_float or array.dtype.kind != "u":
        return array
    if array.dtype.itemsize <= 2 or 8 * array.dtype.itemsize == form.bits:
        raise Error(
            f"{option} {path} has type {array.dtype}, and {operand} is {form.name}: give --bits if these are encodings "
            "(of all matrices), --values if they are the numbers themselves"
        )
    return array


def _written(options: Namespace, inputs: Mapping[str, Array], d: Array) -> dict[str, bytes]:
    """The files to write."""
    from .arrays import content

    files = {}
    if options.save_inputs is not None:
        if not options.save_inputs:
            raise Error("--save-inputs was given an empty prefix; it takes the beginning of file names")
        names = {f"{options.save_inputs}{name}.npy": array for name, array in inputs.items()}
        files = {path: content("--save-inputs", path, array) for path, array in names.items()}
    if options.output is not None:
        if options.output in files:
            raise Error(f"-o and --save-inputs would both write '{options.output}'")
        files[options.output] = content("-o", options.output, d)
    return files


def _read(options: Namespace) -> list[str]:
    """The files that were read."""
    from .arrays import file_of

    return [file_of(path) for name in (*OPERANDS, "compare") if (path := getattr(options, name))]
