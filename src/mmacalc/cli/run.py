"""Run one instruction on the emulator: D = A B + C to the bit, on .npy or CSV matrices.

    mmacalc run -a gfx942 -i v_mfma_f32_16x16x16_f16 --a a.npy --b b.npy --c c.npy -o d.npy
    mmacalc run -a gfx942 -i v_mfma_f32_16x16x16_f16 --random 1 --compare d_from_my_kernel.npy
    mmacalc run -a gfx942 -i v_mfma_f32_16x16x16_f16 --one-hot 3,9 --registers

Matrices are (M, K), (K, N) and (M, N), with the blocks first where the instruction has several (in CSV below one
another). --compare says which elements of a kernel's D differ and, where one known mistake explains all of them,
which; the exit status is then 1.
"""

from __future__ import annotations

from ..catalog import entry
from ..errors import Error
from ..present.arithmetic import (
    comparison_data,
    comparison_text,
    matrix_text,
    numerics_data,
    numerics_text,
    plain,
    registers_text,
)
from ..present.text import heading, is_ptx
from .parser import field_value, whole_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from numpy.typing import NDArray

    from ..model import Instruction
    from .parser import Parser

    Array = NDArray[Any]

FILES = {
    "a": "A", "b": "B", "c": "C (default: zeros)", "index": "the index of a sparse A (default: A has its zeros)",
    "scale_a": "the scale codes of A (default: scales of 1)", "scale_b": "the scale codes of B",
}  # fmt: skip
OPERANDS = {"a": "A", "b": "B", "c": "C", "index": "K", "scale_a": "SA", "scale_b": "SB"}
LARGEST_SHOWN = 4096


def add_arguments(parser: Parser) -> None:
    """The instruction, its inputs and modifiers, and what to show."""
    add = parser.add_argument
    parser.add_common("architecture", "instruction", "wave", "json")
    for name, text in FILES.items():
        add(f"--{name.replace('_', '-')}", metavar="FILE", help=f".npy or .csv file with {text}")
    add("--random", type=whole_number, metavar="SEED", help="random matrices for those that no file gives")
    add("--identity", action="store_true", help="A is the identity; B counts 0, 1, 2 ... unless a file gives it")
    add("--one-hot", metavar="I,K", help="A is zero but for A[I][K] = 1; B counts 0, 1, 2 ... unless a file gives it")
    add("--bits", action="store_true", help="matrices are encodings (unsigned integers), also D's")
    add("-o", "--output", metavar="FILE", help="write D there, .npy or .csv")
    add(
        "--save-inputs",
        metavar="PREFIX",
        help="write the inputs to PREFIXa.npy, PREFIXb.npy ... for the kernel to read",
    )
    add("--compare", metavar="FILE", help="compare this D (from a kernel) with the emulator's")
    add("--registers", action="store_true", help="show the register files before and after")
    add("-m", "--modifier", metavar="NAME=VALUE", action="append", default=[], help="cbsz=1, neg=3, byte_id_a=2 ...")
    for name in ("cbsz", "abid", "blgp", "opsel", "neg", "neg_hi"):
        add(f"--{name.replace('_', '-')}", metavar="#", help=f"the same as -m {name}=#")
    add("--clamp", action="store_true", help="saturate integer results (AMD)")
    add("--satfinite", action="store_true", help="saturate integer results (NVIDIA)")


def run(options: Namespace) -> tuple[str, int]:
    """Compute D, write it, show it, compare it."""
    import numpy as np

    inst = entry(options.architecture).instruction(options.instruction)
    modifiers = _modifiers(options)
    inputs = _inputs(inst, options, modifiers)
    flags: dict[str, Any] = {"clamp": options.clamp, "satfinite": options.satfinite, "wave": options.wavefront or None}
    if options.save_inputs:
        for name, array in inputs.items():
            _save(f"{options.save_inputs}{name}.npy", np.asarray(array))
    compute = inst.multiply_bits if options.bits else inst.multiply
    d = compute(**{**inputs, **flags, **modifiers})
    if options.output:
        _save(options.output, d)
    comparison = None
    if options.compare:
        from ..diagnosis.compare import compare

        given = _load(options.compare, d.shape, options.bits, "compare")
        comparison = compare(inst, given, bits=options.bits, **inputs, **flags, **modifiers)
    files = _register_files(inst, inputs, options.bits, {**flags, **modifiers}) if options.registers else {}
    status = 1 if comparison and (comparison.different or comparison.explanations) else 0
    numerics = _numerics(inst, modifiers)
    if options.json:
        from ..present import json_text

        answer: dict[str, Any] = {**json_text.summary(inst), "numerics": numerics_data(numerics)}
        answer |= {"modifiers": modifiers, "d": plain(d.tolist()), "d_dtype": str(d.dtype)}
        if comparison:
            answer["comparison"] = comparison_data(comparison)
        if files:
            answer["registers"] = {name: np.asarray(file).tolist() for name, file in files.items()}
        return json_text.document("run", **answer), status
    return _text(inst, numerics, options, d, comparison, files), status


def _numerics(inst: Instruction, modifiers: dict[str, int | str]) -> Any:
    from ..arithmetic import numerics

    return numerics(inst, **modifiers)


def _text(inst: Instruction, numerics: Any, options: Namespace, d: Array, comparison: Any, files: Any) -> str:
    text = heading(inst) + numerics_text(numerics)
    for name, file in files.items():
        text += registers_text(name, file, "%r" if is_ptx(inst) else "v")
    if options.output:
        text += f"D: {'x'.join(map(str, d.shape))} {d.dtype}, written to {options.output}\n"
    elif comparison is None and d.size > LARGEST_SHOWN:
        text += f"D: {'x'.join(map(str, d.shape))} {d.dtype}; -o writes it to a file\n"
    elif comparison is None:
        text += matrix_text("D", d, inst.format("D").bits if options.bits else 0)
    return text + (comparison_text(comparison, inst) if comparison else "")


# --- what goes in -------------------------------------------------------------------------------------------------


def _modifiers(options: Namespace) -> dict[str, int | str]:
    given = [f"{name}={value}" for name in ("cbsz", "abid", "blgp", "opsel", "neg", "neg_hi")
             if (value := getattr(options, name)) is not None]  # fmt: skip
    return dict(map(field_value, (*given, *options.modifier)))


def _inputs(inst: Instruction, options: Namespace, modifiers: dict[str, int | str]) -> dict[str, Array]:
    """A, B, C and whatever else: from files, or made up."""
    from ..emulator.execution import execution_of

    execution = execution_of(inst, options.wavefront or None, modifiers, options.clamp, options.satfinite)
    inputs = {}
    for name, operand in OPERANDS.items():
        if path := getattr(options, name):
            codes = options.bits or operand in ("K", "SA", "SB")
            inputs[name] = _load(path, execution.shapes.get(operand, ()), codes, name)
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
    return inputs


def _pair(text: str) -> tuple[int, int]:
    parts = text.split(",")
    if len(parts) != 2 or not all(part.strip().isdecimal() and len(part) < 10 for part in parts):
        raise Error(f"--one-hot takes the row and the k of the one, such as 3,9; got '{text[:40]}'")
    return int(parts[0]), int(parts[1])


def _load(path: str, shape: tuple[int, ...], bits: bool, name: str) -> Array:
    """A matrix from a file. A CSV file has one row a line; blocks stand below one another."""
    import numpy as np

    try:
        if path.endswith(".npy"):
            return np.asarray(np.load(path, allow_pickle=False))
        with open(path, encoding="utf-8") as file:
            rows = [line.replace(",", " ").split() for line in file if line.strip()]
        array = np.array([[int(cell, 0) if bits else float(cell) for cell in row] for row in rows])
    except (OSError, ValueError, EOFError) as error:
        raise Error(f"--{name.replace('_', '-')} {path} cannot be read as .npy or CSV: {error}") from None
    return array.reshape(shape) if len(shape) == 3 and array.size == np.prod(shape) else array


def _save(path: str, d: Array) -> None:
    import numpy as np

    try:
        if path.endswith(".npy"):
            np.save(path, d)
            return
        with open(path, "w", encoding="utf-8") as file:
            for row in d.reshape(-1, d.shape[-1]).tolist():
                file.write(",".join(repr(value) for value in row) + "\n")
    except OSError as error:
        raise Error(f"{path} cannot be written: {error}") from None


def _register_files(inst: Instruction, inputs: dict[str, Array], bits: bool, rest: dict[str, Any]) -> dict[str, Array]:
    from ..emulator.registers import files

    before, after = files(inst, bits=bits, **inputs, **rest)
    shown = {f"{name} before" if name in ("C", "D") else name: file for name, file in before.items()}
    return {**shown, "D after": after}
