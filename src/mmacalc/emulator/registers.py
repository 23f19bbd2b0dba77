"""D = A B + C on register files: gather the matrices by the layouts, compute, scatter the result."""

from __future__ import annotations

import numpy as np

from ..base.errors import Error
from .arrays import as_array, as_values, checked, rounded
from .computing import compute
from .execution import Execution, Places
from .matrices import extras, fitted_execution, prepared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from ..model import Instruction

    Array = NDArray[Any]

WORDS: dict[int, np.dtype[Any]] = {8: np.dtype("<u1"), 16: np.dtype("<u2"), 32: np.dtype("<u4")}


class Executor:
    """An instruction under modifiers, ready to be executed on register files; made by `Instruction.executor`.

    Called with the registers of A, B and C, and of K (`index`), SA and SB (`scale_a`, `scale_b`) and D before (`d`) by
    name, each an array (..., registers, lanes) of uint32 as `Instruction.execute` takes them, it returns what that
    does, bit for bit: D's registers. Leading axes are batches: one call on many waves or warps is far faster than many
    calls. It can be used by several threads at a time.

    Attributes:
        inst: the instruction. shapes: by operand the shape of its register file (registers, lanes).
    """

    execution: Execution
    inst: Instruction

    def __init__(self, execution: Execution) -> None:
        self.execution, self.inst = execution, execution.inst
        self._copied = tuple(
            [name for name in "AB" if execution.in_registers(name) and execution.places(name).copies > 1]
        )

    @property
    def shapes(self) -> dict[str, tuple[int, int]]:
        """By operand in registers the shape of its register file; of Tensor Memory (lanes, columns)."""
        found = {}
        for name in dict.fromkeys((*self.inst.operands, "D")):
            if self.execution.in_registers(name):
                place = self.execution.places(name)
                shape = place.registers, place.lanes
                found[name] = shape[::-1] if self.inst.in_tensor_memory else shape
        return found

    def __repr__(self) -> str:
        *given, (_, result) = sorted(self.shapes.items(), key=lambda item: item[0] == "D")
        return f"<Executor of {self.inst.name}: {', '.join(f'{name} {size}' for name, size in given)} -> D {result}>"

    def __call__(
        self,
        a: ArrayLike,
        b: ArrayLike,
        c: ArrayLike = 0,
        *,
        index: ArrayLike | None = None,
        scale_a: ArrayLike | None = None,
        scale_b: ArrayLike | None = None,
        d: ArrayLike | None = None,
    ) -> NDArray[np.uint32]:
        """D's registers.

        Raises:
            Error: a register file of the wrong shape or type; one that is missing.
        """
        execution, inst = self.execution, self.inst
        given = {"A": a, "B": b, "C": c, "K": index, "SA": scale_a, "SB": scale_b}
        if execution.sparsity and index is None:
            raise Error(f"{inst.name} is sparse: execute() needs index=, the registers of K")
        if missing := [name.lower() for name in "ABC" if given[name] is None]:
            raise Error(f"execute() on {inst.name} got None as {' and '.join(missing)}; it takes the registers")
        codes = {name: _read(execution, name, value) for name, value in given.items() if value is not None}
        for name in ("SA", "SB") if execution.block_size else ():
            codes.setdefault(name, _ones(execution, name))
        result = compute(execution, codes, rearrange=False)
        if self._copied:
            result = self._from_copies(given, codes, result)
        place = execution.places("D")
        old = _file(execution, "D", d) if d is not None else _old(execution, c, place)
        lead = result.shape[: result.ndim - len(execution.shapes["D"])]
        try:
            batch = lead if old.shape[:-2] == lead else np.broadcast_shapes(old.shape[:-2], lead)
        except ValueError:
            raise Error(f"d of {inst.name} has batch shape {old.shape[:-2]}; the product has {lead}") from None
        registers = np.empty((*batch, *old.shape[-2:]), np.uint32)
        registers[...] = old
        scatter(registers, result, place)
        return np.swapaxes(registers, -1, -2) if inst.in_tensor_memory else registers

    def _from_copies(self, given: Mapping[str, ArrayLike | None], codes: dict[str, Array], result: Array) -> Array:
        """D's codes, each element from the copies of A and B that are in the same group of lanes as the element;
        `result` is what the first copies give.

        Sources: AMD's emulator rocjitsu (exec_gfx11_wmma_dot2, "checked against gfx1100 hardware"); a probe on gfx1151,
        whose program exchanges A and B, so that what it calls columns are the instruction's rows (docs/isa-errata.md).
        """
        execution, copied = self.execution, self._copied
        for copy in range(1, max(execution.places(name).copies for name in copied)):
            other = {}
            for name in copied:
                registers = given[name]
                assert registers is not None  # A and B are never left out
                other[name] = _read(execution, name, registers, copy)
            if not all(np.array_equal(other[name], codes[name]) for name in copied):
                own = execution.places("D").lane[..., 0] // (execution.wave // execution.places(copied[0]).copies)
                result = np.where(own == copy, compute(execution, {**codes, **other}, rearrange=False), result)
        return result


def files(
    inst: Instruction, a: ArrayLike, b: ArrayLike, c: ArrayLike = 0, bits: bool = False, **rest: Any
) -> tuple[dict[str, Array], Array]:
    """The register files of every operand before an instruction, and of D after it.

    Args:
        a, b, c, rest: the inputs, as for `multiply`; as for `multiply_bits` if `bits`. No batches.

    Returns:
        A dictionary from operand names to uint32 arrays (registers, lanes), bits that hold nothing zero; and D's.

    >>> import mmacalc, numpy
    >>> before, after = files(mmacalc.instruction("cdna3", "v_mfma_f32_4x4x4_16b_f16"), *numpy.ones((2, 16, 4, 4)))
    >>> sorted(before), hex(before["A"][1, 0]), hex(after[0, 0])
    (['A', 'B', 'C'], '0x3c003c00', '0x40800000')
    """
    if inst.in_tensor_memory:
        raise Error(f"{inst.name} has its matrices in Tensor Memory, not in registers: -M prints their cells")
    case = reference_case(inst, a, b, c, bits, rest)
    execution = case.execution
    before: dict[str, Array] = {}
    for name, codes in case.codes.items():
        if codes.shape != execution.shapes[name]:
            raise Error(f"registers are shown for one instruction, without batches; {name} has shape {codes.shape}")
        if name == "K" and execution.sparsity:
            codes = execution.sparsity.in_metadata(codes)
        held = "D" if name not in inst.operands else name
        if execution.in_registers(held):
            place = execution.places(held, natural=name in "AB")
            before[held] = np.zeros((place.registers, place.lanes), np.uint32)
            scatter(before[held], codes, place)
    place = execution.places("D")
    after = np.array(before.get("D", _old(execution, before.get("C", 0), place)))
    scatter(after, case.expected, place)
    return before, after


def _ones(execution: Execution, name: str) -> Array:
    from ..arithmetic.codecs import encode

    return np.broadcast_to(encode(np.array(1.0), execution.formats[name]), execution.shapes[name])


def _old(execution: Execution, c: ArrayLike, place: Places) -> Array:
    """What D's registers held: C's, as far as C's file is of the same size."""
    old = _turned(execution, as_array(execution, "C", c))
    if old.ndim >= 2 and old.shape[-2:] == (place.registers, place.lanes):
        return old.astype(np.uint32, copy=False)
    return np.zeros((place.registers, place.lanes), np.uint32)


def _read(execution: Execution, name: str, value: ArrayLike, copy: int = 0) -> Array:
    """The matrix of encodings that an operand's registers hold; of a replicated one the given copy."""
    if name not in ("C", *execution.inst.operands):
        raise Error(f"{execution.inst.name} has no operand {name}; it has {', '.join(execution.inst.operands)}")
    if not execution.in_registers(name) and name in execution.inst.outside_registers:
        return checked(execution, name, value)
    if name == "A" and execution.inst.in_tensor_memory and _is_matrix(execution, value):
        return checked(execution, name, value)
    if name == "C" and as_array(execution, name, value).ndim == 0:
        return np.broadcast_to(checked(execution, name, value), execution.shapes[name])
    place = execution.places("D" if name not in execution.inst.operands else name)
    found = gather(_file(execution, name, value), place, copy)
    return execution.sparsity.from_metadata(found) if name == "K" and execution.sparsity else found


def _is_matrix(execution: Execution, value: ArrayLike) -> bool:
    """Whether A of tcgen05 is a matrix in shared memory, by its type and shape; of tf32 both can be the same."""
    array = as_array(execution, "A", value)
    form = execution.formats["A"]
    return array.dtype.itemsize * 8 != 32 or (form.bits == 32 and array.shape[-2:] == execution.shapes["A"])


def _turned(execution: Execution, file: Array) -> Array:
    """A file of Tensor Memory, (lanes, columns), as (columns, lanes); a register file as it is."""
    return np.swapaxes(file, -1, -2) if execution.inst.in_tensor_memory and file.ndim > 1 else file


def _file(execution: Execution, name: str, value: ArrayLike) -> Array:
    """A register file, its type and shape checked."""
    file = _turned(execution, as_array(execution, name, value))
    if file.dtype == np.int32:  # torch computes with few unsigned types
        file = file.view(np.uint32)
    place = execution.places("D" if name not in execution.inst.operands else name)
    if file.dtype != np.uint32:
        raise Error(
            f"{name} of {execution.inst.name} has type {file.dtype}; registers are uint32 "
            "(an array of 32-bit floats or integers becomes that by .view(numpy.uint32))"
        )
    if file.shape[-2:] != (place.registers, place.lanes):
        if execution.inst.in_tensor_memory:
            raise Error(
                f"{name} of {execution.inst.name} has shape {_turned(execution, file).shape}; in Tensor Memory it is "
                f"(..., {place.lanes}, {place.registers}): {place.lanes} lanes of {place.registers} columns"
            )
        raise Error(
            f"{name} of {execution.inst.name} has shape {file.shape}; it needs "
            f"(..., {place.registers}, {place.lanes}): {place.registers} registers of {place.lanes} lanes"
        )
    return file


def gather(file: Array, place: Places, copy: int = 0) -> Array:
    """The elements at given places (one copy of each) of register files (..., registers, lanes)."""
    if place.units is not None:
        elements = np.ascontiguousarray(file).view(WORDS[place.bits]).reshape(*file.shape[:-2], -1)
        return elements.take(place.units[..., copy], axis=-1)
    register, lane, lsb = (array[..., copy] for array in (place.register, place.lane, place.lsb))
    words = file.reshape(*file.shape[:-2], -1)
    low: Array = words[..., register * place.lanes + lane]
    if place.bits == 32:
        return low
    target = np.dtype(f"u{max(8, place.bits) // 8}")
    if place.bits == 64:
        high = words[..., (register + 1) * place.lanes + lane]
        pair: Array = high.astype(np.uint64) << np.uint64(32) | low
        return pair
    found: Array = low >> lsb.astype(np.uint32)
    if (over := lsb + place.bits > 32).any():
        following = words[..., np.where(over, register + 1, register) * place.lanes + lane]
        shift = np.where(over, 32 - lsb, 0).astype(np.uint32)
        found = np.where(over, found | following << shift, found)
    found &= np.uint32((1 << place.bits) - 1)
    return found.astype(target)


def scatter(file: Array, codes: Array, place: Places) -> None:
    """Write elements to all their places in register files (..., registers, lanes), in place; other bits stay."""
    if place.units is not None and file.flags.c_contiguous:
        elements = file.view(WORDS[place.bits]).reshape(*file.shape[:-2], -1)
        elements[..., place.units] = codes[..., None].astype(WORDS[place.bits], copy=False)
        return
    words = file.reshape(*file.shape[:-2], -1)
    codes = np.broadcast_to(codes[..., None], (*codes.shape, place.lsb.shape[-1]))
    lead = codes.ndim - place.lsb.ndim
    flat = codes.reshape(*codes.shape[:lead], -1)
    at, lsb = (place.register * place.lanes + place.lane).ravel(), place.lsb.ravel()
    if place.bits >= 32:
        words[..., at] = flat.astype(np.uint32)
        if place.bits == 64:
            words[..., at + place.lanes] = (flat >> np.uint64(32)).astype(np.uint32)
    else:
        for low in np.unique(lsb):  # elements at the same bits are in different registers
            here = lsb == low
            _write(words, at[here], flat[..., here].astype(np.uint64) << np.uint64(low), place, int(low))
    if not np.shares_memory(words, file):
        file[...] = words.reshape(file.shape)


def _write(words: Array, at: Array, shifted: Array, place: Places, low: int) -> None:
    mask = ((1 << place.bits) - 1) << low
    for step, part in ((0, 0), (place.lanes, 32)):
        kept = (mask >> part) & 0xFFFFFFFF
        if kept:
            old = words[..., at + step] & np.uint32(0xFFFFFFFF ^ kept)
            words[..., at + step] = old | (shifted >> np.uint64(part)).astype(np.uint32)


# --- One computation that can be repeated with changes: what a diagnosis works on ---


class Case:
    """An instruction with its inputs as checked codes, to be run again with some of them replaced.

    Attributes:
        execution, codes: the instruction with its modifiers and its inputs, by operand.
        expected: the right D, as codes.
        values: the inputs as they were given, where they were values.
        turned: whether the D to compare with came as (N, M).
    """

    execution: Execution
    codes: dict[str, Array]
    values: Mapping[str, Array]
    turned: bool
    expected: Array

    def __init__(self, execution: Execution, codes: dict[str, Array], values: Mapping[str, Array]) -> None:
        self.execution, self.codes, self.values, self.turned = execution, codes, values, False
        self.expected = self.run()

    def run(self, **replaced: Array) -> Array:
        """D's codes, with some inputs replaced."""
        return compute(self.execution, {**self.codes, **replaced}, rearrange=True)


def reference_case(
    inst: Instruction, a: ArrayLike, b: ArrayLike, c: ArrayLike, bits: bool, rest: Mapping[str, Any]
) -> Case:
    """The `Case` of the arguments of `multiply`, or of `multiply_bits` if `bits`."""
    options = dict(rest)
    further = [options.pop(name, None) for name in ("index", "scale_a", "scale_b")]
    flags = [bool(options.pop(name, False)) for name in ("clamp", "satfinite")]
    wave = options.pop("wave", None)
    execution = fitted_execution(inst, (a, b), wave, options, *flags)
    read = as_array if bits else as_values
    given = {name: read(execution, name, value) for name, value in (("A", a), ("B", b), ("C", c))}
    codes = {name: (checked if bits else rounded)(execution, name, value) for name, value in given.items()}
    codes |= extras(execution, *further)
    return Case(execution, prepared(execution, codes), {} if bits else given)
