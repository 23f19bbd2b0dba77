"""One instruction under one set of modifiers, ready to compute: everything that does not depend on the data.

An `Execution` is prepared once and cached: formats, matrix shapes, the arithmetic model, which elements change sign,
and where the elements lie in registers.
"""

from __future__ import annotations

from copy import copy
from functools import lru_cache

import numpy as np

from ..arithmetic.numerics import Numerics, model_name, numerics
from ..base.errors import Error, did_you_mean
from ..base.records import Cache, TupleRecord
from ..model.operand import negated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from ..formats import Format
    from ..model import Instruction, Operand

    Array = NDArray[Any]


_GIVEN = {"a", "b", "c", "out", "scale_a", "scale_b", "saturate", "operation"}
"""The arguments of models that the instruction and the data give."""


def _require_model(execution: Execution, name: str, parameters: Mapping[str, Any]) -> None:
    """Check that a model with these arguments can compute an instruction.

    Raises:
        Error: as `Execution.with_numerics`.
    """
    from inspect import Parameter, signature

    from ..arithmetic.models import MODELS

    if name not in MODELS:
        raise Error(f"there is no model '{name}'; there are {', '.join(MODELS)}.{did_you_mean(name, MODELS)}")
    takes = {key: one.default is Parameter.empty for key, one in signature(MODELS[name]).parameters.items()
             if key not in _GIVEN}  # fmt: skip
    needed = {key for key, must in takes.items() if must}
    if not needed <= parameters.keys() <= takes.keys():
        optional = ", ".join(sorted(takes.keys() - needed))
        raise Error(
            f"the model {name} takes {', '.join(sorted(needed)) or 'no parameter that it needs'}"
            f"{f' and may take {optional}' if optional else ''}; given are {', '.join(sorted(parameters)) or 'none'}"
        )
    own = [execution.formats[operand] for operand in "ABCD"]
    if any(form.is_float == (name == "integer") for form in own):
        what = "integers" if name == "integer" else "floats"
    elif name != "fma_chain" and any(form.bits == 64 for form in own):
        what = "formats of at most 32 bits, whose products float64 holds"
    elif name == "block_scaled_fp4" and not execution.block_size:
        what = "operands with block scales"
    else:
        return
    names = ", ".join(form.name for form in own)
    raise Error(f"the model {name} is for {what}; {execution.inst.name} has {names}")


class Execution:
    """An instruction, a wave size and modifiers. Immutable; built by `execution_of`."""

    inst: Instruction
    wave: int
    fields: dict[str, int]
    saturate: bool
    signed: dict[str, bool]
    block_size: int
    shapes: dict[str, tuple[int, ...]]
    rearranged: dict[str, Array | None]
    flips: dict[str, Array | int]
    absolute: bool

    def __init__(self, inst: Instruction, wave: int, fields: Mapping[str, int], saturate: bool) -> None:
        inst.check_modifiers(wave, fields)
        self.inst, self.wave, self.fields, self.saturate = inst, wave, dict(fields), saturate
        self.formats: dict[str, Format] = {name: inst.format(name, fields) for name in (*"ABCD", *inst.operands)}
        self.numerics: Numerics = numerics(inst, **fields)
        self.sparsity: Sparsity | None = sparsity(inst) if inst.sparse else None
        self._places: dict[tuple[str, bool], Places] = {}
        self.signed = {"A": self._signed("A"), "B": self._signed("B")}
        self.block_size = inst.block_size
        self.shapes = self._shapes()
        self.rearranged = {name: self._rearranged(name) for name in "AB"}
        self.flips = {name: self._flip(name) for name in "ABC"}
        self.absolute = bool(fields.get("neg_hi", 0) >> 2 & 1) and self.formats["C"].is_float

    def operand(self, name: str, natural: bool = False) -> Operand:
        """An operand under the modifiers; `natural` leaves out those that move data between lanes."""
        moves = ("cbsz", "abid", "blgp") if natural and not self.inst.choices else ()
        fields = {field: value for field, value in self.fields.items() if field not in moves}
        return self.inst.operand(name, wave=self.wave, **fields)

    def with_numerics(self, model: str, parameters: Mapping[str, Any]) -> Execution:
        """The same execution by another model of `mmacalc.arithmetic.models`, with its keyword arguments.

        Raises:
            Error: there is no such model, it takes other arguments, or it has no meaning for these formats.
        """
        name = model_name(model)
        _require_model(self, name, parameters)
        other = copy(self)
        other.numerics = self.numerics._replace(model=name, parameters=parameters)
        return other

    def in_registers(self, name: str) -> bool:
        """Whether an operand lies in registers or Tensor Memory, in places that are known (not in shared memory, as B
        of wgmma and tcgen05, nor wmma's fragments)."""
        return name in self.inst.register_operands or (self.inst.in_tensor_memory and name != "B")

    # --- shapes ---

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        inst = self.inst
        lead = (inst.blocks,) if inst.blocks > 1 else ()
        shapes = {"A": (inst.m, inst.k), "B": (inst.k, inst.n), "C": (inst.m, inst.n), "D": (inst.m, inst.n)}
        if self.sparsity:
            groups = inst.k // self.sparsity.period
            shapes["A"] = (inst.m, groups * self.sparsity.kept)
            shapes["K"] = (inst.m, groups * self.sparsity.entries)
        if self.block_size:
            shapes["SA"] = (inst.m, inst.k // self.block_size)
            shapes["SB"] = (inst.k // self.block_size, inst.n)
        return {name: lead + shape for name, shape in shapes.items()}

    # --- modifiers ---

    def _signed(self, name: str) -> bool:
        """NEG[0] and NEG[1] make A and B of an integer WMMA signed (AMD's README, "NEG")."""
        return self.formats[name].kind == "signed" or negated(self.fields.get("neg", 0), name)

    def _flip(self, name: str) -> Array | int:
        """What to exclusive-or into the codes of A, B or C to negate them: a number, or one for each element.

        NEG names the low 16 bits of every register of A and B, NEG_HI the high ones; NEG[2] is C. Of an FP64 MFMA,
        BLGP[0..2] negates A, B and C (CDNA3 ISA guide, VOP3P-MAI).
        """
        bits, fields = self.formats[name].bits, self.fields
        if not self.formats[name].is_float:
            return 0
        sign = 1 << (bits - 1)
        if bits == 64 and "blgp" in self.inst.features:
            return sign * negated(fields.get("blgp", 0), name)
        low, high = negated(fields.get("neg", 0), name), negated(fields.get("neg_hi", 0), name)
        if name == "C" or bits > 16 or not (low or high):
            return sign * low
        upper = self.places(name).lsb[..., 0] >= 16
        return np.where(upper, sign * high, sign * low).astype(f"u{max(8, bits) // 8}")

    def _rearranged(self, name: str) -> Array | None:
        """Which element of the matrix each element is taken from (CBSZ, ABID and BLGP), as flat indices, or None."""
        if not self.fields.keys() & {"cbsz", "blgp"} or self.inst.sparse or self.inst.choices:
            return None
        read, held = self.operand(name).table(), self.operand(name, natural=True).table()
        if np.array_equal(read, held):
            return None
        key = [table["lane"].astype(np.int64) << 16 | table["item"] for table in (read, held)]
        order = np.argsort(key[1], axis=None)
        found: Array = order[np.searchsorted(key[1].ravel()[order], key[0])]
        return found

    # --- registers ---

    def places(self, name: str, natural: bool = False) -> Places:
        """Where the elements of an operand's matrix lie in registers. A sparse A and K are stored elements.

        `natural` is where they lie without the modifiers that move data between lanes.
        """
        key = (name, natural)
        if key not in self._places:
            self._places[key] = located(self.operand(name, natural))
        return self._places[key]


@lru_cache(maxsize=256)
def _call(inst: Instruction, wave: int, fields: tuple[tuple[str, int], ...], saturate: bool) -> Execution:
    return Execution(inst, wave, dict(fields), saturate)


def execution_of(
    inst: Instruction, wave: int | None, modifiers: Mapping[str, int | str], clamp: bool, satfinite: bool
) -> Execution:
    """The execution of an instruction under modifiers.

    Raises:
        Error: a modifier that the instruction lacks, or a value that it does not take.
    """
    if wave is None and not (modifiers or clamp or satfinite):
        return _plain(inst)
    return _modified(inst, wave, modifiers, clamp, satfinite)


@lru_cache(maxsize=256)
def _plain(inst: Instruction) -> Execution:
    return _modified(inst, None, {}, False, False)


def _modified(
    inst: Instruction, wave: int | None, modifiers: Mapping[str, int | str], clamp: bool, satfinite: bool
) -> Execution:
    if "A" not in inst.operands or "B" not in inst.operands:
        raise Error(f"{inst.name} moves a matrix and computes nothing; multiply and execute are for products")
    inst, rest = inst.split_parameters(modifiers)
    if inst.in_tensor_memory and inst.formats:  # of the largest shape where none was named
        inst = inst.split_parameters({"m": inst.m, "n": inst.n})[0]
    size = inst.architecture.wave(wave)
    fields = {name: int(value) for name, value in inst.resolved(rest).items() if value}
    if clamp and inst.format("A").kind != "either":
        raise Error(f"{inst.name} has no CLAMP: it is for the integer WMMA and SWMMAC instructions")
    if satfinite and (not inst.architecture.family.satfinite or inst.format("A").kind not in ("signed", "unsigned")):
        raise Error(f"{inst.name} has no .satfinite: it is for mma and wgmma on 8-bit and 4-bit integers")
    always = "satfinite" in inst.features
    return _call(inst, size, tuple(sorted(fields.items())), bool(clamp or satfinite or always))


# --- Where the elements of a matrix lie in a register file, as arrays for NumPy to index with ---


class Places(TupleRecord):
    """Where the elements of a matrix lie: arrays of the matrix's shape, with the copies of each element last.

    bits: the width of an element; registers, lanes: the size of the operand's register file. units: where each element
    lies in the file as an array of elements of its width, None where elements do not lie at multiples of it.
    """

    register: Array
    lane: Array
    lsb: Array
    bits: int
    registers: int
    lanes: int
    units: Array | None

    @property
    def copies(self) -> int:
        """How many copies of each element there are."""
        return int(self.lane.shape[-1])


def placed(register: Array, lane: Array, lsb: Array, bits: int, registers: int, lanes: int) -> Places:
    """The places of elements in a register file of that size."""
    units = None
    if bits in (8, 16, 32) and not (lsb % bits).any():
        units = (register * lanes + lane) * (32 // bits) + lsb // bits
    return Places(register, lane, lsb, bits, registers, lanes, units)


_kept = Cache(256)  # of 0.1 megabytes on average; all architectures together have 584


def located(operand: Operand) -> Places:
    """The places of an operand's elements: of a sparse A and of K those of the stored elements, of scales one for
    each block of k. Operands that lie alike share one answer."""
    placement = operand.placement
    layout = placement.layout
    groups = layout.sizes.get("p"), layout.sizes.get("s")  # of a sparse A and of K, which equal layouts may split apart
    key = (
        layout, groups, *sorted(placement.fields.items()), placement.slot_bits, placement.offset, placement.bits,
        placement.lanes, placement.axes, operand.name, operand.format.bits, operand.wave, operand.instruction.sparse,
    )  # fmt: skip
    places: Places = _kept.get(key, lambda: _located(operand))
    return places


def _located(operand: Operand) -> Places:
    name, sizes = operand.name, operand.layout.sizes
    placement, (lane, item) = operand.placement, operand.slots()
    if operand.shape[0] == 1:
        lane, item = lane[0], item[0]
    lane = lane.astype(np.intp)
    first = item.astype(np.intp) * placement.slots_per_location * placement.slot_bits + placement.offset
    if name in ("SA", "SB"):
        size = operand.instruction.block_size
        step = np.s_[:, ::size] if operand.axes[-1] == "k" else np.s_[::size]
        first, lane = first[step], lane[step]
        if (name, operand.axes[-1]) == ("SB", "k"):  # in Tensor Memory (j, k)
            first, lane = np.swapaxes(first, 0, 1), np.swapaxes(lane, 0, 1)
    elif operand.instruction.sparse and name in ("A", "K"):
        first, lane = (array[..., :: sizes["p"], :] for array in (first, lane))
        steps = np.arange(sizes["s"])[:, None] * placement.slot_bits
        first = (first[..., None, :] + steps).reshape(*first.shape[:-2], -1, first.shape[-1])
        lane = np.repeat(lane, sizes["s"], axis=-2)
    bits = operand.format.bits
    if placement.bits != bits and placement.slot_bits != bits:
        # A group of bytes whose Location covers them whole: e2m1 is in bits 5 to 2, 6-bit types in bits 5 to 0.
        first = first + (2 if bits == 4 else 0)
    return placed(first // 32, lane, first % 32, bits, operand.registers, operand.lanes)


# --- 2:4 structured sparsity: which k the stored values of A stand for, and compressing a dense A ---
#
# A group of `period` logical k holds `kept` stored values. Their positions are `index` entries of two bits, each of
# which places a run of `unit` stored values: 2:4 is (4, 2, 1), NVIDIA's 1:2 of tf32 (2, 1, 1), and its pairwise 4:8
# of the 4-bit types (8, 4, 2).


class Sparsity(TupleRecord):
    """The shape of a group (see the module)."""

    period: int
    kept: int
    unit: int

    @property
    def entries(self) -> int:
        """How many index entries a group has."""
        return self.kept // self.unit

    def in_metadata(self, index: NDArray[Any]) -> NDArray[Any]:
        """Index entries (..., entries) as metadata has them: of tf32 two positions of 16 bits for each, 0b0100 for the
        first value and 0b1110 for the second (PTX ISA, mma.sp)."""
        if self.period > 2:
            return index
        return np.stack([2 * index, 2 * index + 1], axis=-1).reshape(*index.shape[:-1], -1)

    def from_metadata(self, held: NDArray[Any]) -> NDArray[Any]:
        """The index entries that metadata has: the inverse of `in_metadata`."""
        return held if self.period > 2 else held[..., ::2] >> 1


def sparsity(inst: Instruction) -> Sparsity:
    """The group shape of a sparse instruction, from the digits of A's layout."""
    sizes = inst.operand("A").layout.sizes
    period, kept = sizes["p"], sizes["s"]
    return Sparsity(period, kept, max(1, period // 4))


def selected(index: NDArray[Any], shape: Sparsity) -> NDArray[np.intp]:
    """The logical k of every stored value: index (..., entries) -> (..., stored)."""
    entry = np.arange(index.shape[-1])
    first = entry // shape.entries * shape.period + index.astype(np.intp) * shape.unit
    return (first[..., None] + np.arange(shape.unit)).reshape(*index.shape[:-1], -1)


def compress(dense: NDArray[Any], zero: NDArray[np.bool_], shape: Sparsity, name: str) -> tuple[Any, Any]:
    """A dense A (..., M, K) as its stored values (..., M, K / 2) and their index.

    Args:
        zero: where the dense values are zero.

    Raises:
        Error: a group has more values that are not zero than can be stored; says which.
    """
    positions = shape.period // shape.unit
    used = ~zero.reshape(*zero.shape[:-1], -1, positions, shape.unit).all(axis=-1)
    full = used.sum(axis=-1) > shape.entries
    if full.any():
        *_, row, group = (int(x) for x in np.argwhere(full)[0])
        first = group * shape.period
        what = f"{shape.entries} pairs" if shape.unit > 1 else f"{shape.kept} value{'s' * (shape.kept > 1)}"
        raise Error(
            f"A of {name} is not {shape.kept}:{shape.period} sparse: row {row} has more than {what} that are not zero "
            f"in k = {first} to {first + shape.period - 1}; give the stored values, with index=, or a matrix with the "
            "zeros in place"
        )
    # Used positions first, each in order; what is left over fills up with unused ones from the start.
    order = np.argsort(~used, axis=-1, kind="stable")[..., : shape.entries]
    index = np.sort(order, axis=-1).reshape(*used.shape[:-2], -1).astype(np.uint8)
    return np.take_along_axis(dense, selected(index, shape), axis=-1), index
