"""Products and copies of tcgen05, which run until the mbarrier of their commit is waited for (PTX ISA 9.0, 9.7.16)."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from ...base.errors import Error
from ...catalog import entry
from ...emulator.computing import compute
from ...emulator.execution import execution_of
from ...emulator.fragments import Placed, multiplied, tables
from ...emulator.registers import gather, scatter
from ...families.descriptors import (
    INPUT_CODES,
    MX,
    OUTPUT_CODES,
    SCALE_CODES,
    SWIZZLES,
    coded_depths,
    decode_instruction,
)
from ...families.tensor_memory import COLUMNS, LANES, copy_layout, slot_bits
from ...ptx.module import Address, is_braced
from .matrix_descriptors import LEADING_IS_ABSOLUTE, matrix_granules, matrix_offsets
from .order import span
from .reading import Reading
from .tensor_commits import BAND, BANDS, Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ...emulator.execution import Places
    from ...ptx.module import Statement
    from .compiler import Compiler
    from .machine import Machine
    from .program import Step
    from .tensor_memory import TensorMemory
    from .threads import Threads

    Array = NDArray[Any]

__all__ = ["copy", "moved_up", "multiply", "shift"]

CODES = {code: name for name, code in SWIZZLES["tcgen05"].items()}
"""The swizzles of a shared-memory descriptor, by their codes in bits 61 to 63 (PTX ISA 9.7.16.4.1)."""
TURNED_TF32 = "128B base32B"
"""The swizzle of tf32 along M or N, and of nothing else (PTX ISA 9.7.16.10.1 and table 54; table 55: along M or N)."""
MOST_PLACED = 64
"""Layouts of matrices in shared memory whose tables for the core are kept."""
PADDED = {"b4x16_p64": 4, "b6x16_p32": 6}
"""The bits of elements that tcgen05.cp gives a byte each."""


def copy(compiler: Compiler, statement: Statement, step: Step) -> None:
    """tcgen05.cp: a box of shared memory into Tensor Memory."""
    words = [word for word in statement.modifiers[1:] if not word.startswith("cta_group")]
    narrow = next((PADDED[word] for word in words if word in PADDED), 0)
    # ptxas takes the multicast before the shape, too, and Triton 3.9 writes it so.
    ordered = sorted(words, key=lambda word: word.startswith("warpx"))
    shape = ".".join([word for word in ordered if word not in PADDED and word != "b8x16"])
    layout = copy_layout(shape)
    pair = "cta_group::2" in statement.modifiers
    address, descriptor = compiler.address(statement.operands[0]), compiler.source(statement.operands[1], "b64")
    step.critical = frozenset(compiler.accessed[0])
    rows, columns = (len(layout.axis_tables()[axis]["lane"]) for axis in ("row", "column"))
    targets = [(r, c, place[0], place[1]) for r in range(rows) for c in range(columns)
               for place in layout.locate({"row": r, "column": c})]  # fmt: skip
    row, word, lane, column = np.array(targets).T
    compiler.sizes.add(4)

    def run(machine: Machine, threads: Threads) -> None:
        at = address(machine, threads)
        given = np.broadcast_to(descriptor(machine, threads), (len(threads),))
        for number, thread in enumerate(threads.number.tolist()):
            own = int(machine.cta_of[thread])
            code = int(given[number])
            mode = _mode(step, code)
            if mode == TURNED_TF32:
                raise Error(f"line {step.line}: {step.text}: the swizzle {mode} of the source is not covered: PTX has "
                            "it of matrices along M or N")  # fmt: skip
            layout = (code, rows, columns, 32, False, mode, False)
            offsets, alone = matrix_offsets(*layout), _filled(layout, narrow, machine.granule)
            _inside(machine, step, thread, offsets, 4)
            first, base = int(at[number]) >> 16 & 0xFFFF, int(at[number]) & 0xFFFF
            for cta in (own & ~1, own | 1) if pair else (own,):
                places = cta * machine.shared_size + offsets
                granules = cta * machine.shared_size // machine.granule + alone
                machine.async_reads.check(step, thread, granules)
                machine.descriptors.check(
                    step, np.array([thread]), "the source", code, mode, (rows, columns, 4 * narrow or 32), granules
                )
                used = _columns(step, base, int(column.max()) + 1)[np.unique(column)]
                if first + lane.max() >= LANES:
                    raise Error(f"line {step.line}: {step.text}: it writes {int(lane.max()) + 1} lanes of {LANES}; the "
                                f"address says lane {first}")  # fmt: skip
                machine.tensor_memory.allocated(step, thread, cta, used)
                bands = np.unique((first + lane) // BAND)

                machine.tensor_memory.check_reads(step, thread, cta, bands, used, "writes")

                carry_out = partial(_copied, machine, (cta, first + lane, base + column), places, (row, word), narrow)
                one, where = np.array([thread]), np.array([[cta]])
                operation = Operation(machine, step, one, where, carry_out, (bands, used),
                                      [Reading(granules, np.zeros(1, np.int64), np.zeros(1, np.int64))])  # fmt: skip
                operation.whole = len(np.unique(lane)) == len(bands) * BAND

    step.run = run


def _filled(layout: tuple[Any, ...], narrow: int, granule: int) -> Array:
    """The granules that tcgen05.cp reads: of `narrow` bits only those of the elements, without the padding."""
    if not narrow:
        return matrix_granules(*layout, granule)
    words = matrix_offsets(*layout).reshape(-1, 4)[:, : narrow // 2, None]  # of the four words of 16 bytes
    found: Array = np.unique((words + np.arange(0, 4, granule)) // granule)
    return found


def _copied(machine: Machine, index: Any, places: Array, chosen: Any, narrow: int, _: Array) -> None:
    """Carry out tcgen05.cp: the chosen of the words at places of shared memory go to cells, by their index."""
    data = np.ascontiguousarray(machine.shared[places[..., None] + np.arange(4)]).view(np.uint32)[..., 0]
    data = _widened(data, narrow) if narrow else data
    machine.tensor_memory.cells[index] = data[chosen]
    machine.tensor_memory.written[index] = True


def _columns(step: Step, first: int, count: int) -> Array:
    """The columns that an operation touches; Tensor Memory has 512."""
    if first + count > COLUMNS:
        raise Error(f"line {step.line}: {step.text}: touches columns {first} to {first + count - 1} of Tensor Memory, "
                    f"which has {COLUMNS}")  # fmt: skip
    return np.arange(first, first + count)


def _widened(data: Array, bits: int) -> Array:
    """Rows of words, each 16 bytes of which hold 16 elements of 4 or 6 bits and padding behind them, with a byte for
    each element: 6 bits lie lowest in it, 4 bits above two zeros, as kind::f8f6f4 wants them (9.7.16.9.3,
    decompression; CUTLASS, cute/arch/copy_sm100.hpp)."""
    octets = np.ascontiguousarray(data).view(np.uint8).reshape(-1, 16)
    flags = np.unpackbits(octets, axis=1, bitorder="little")[:, : 16 * bits].reshape(-1, 16, bits)
    codes = (flags << np.arange(bits, dtype=np.uint8)).sum(axis=2, dtype=np.uint8)
    codes = codes << np.uint8(2) if bits == 4 else codes
    return np.ascontiguousarray(codes).view(np.uint32).reshape(data.shape)


def shift(compiler: Compiler, statement: Statement, step: Step) -> None:
    """tcgen05.shift.down: the rows of eight columns move one up, but the last of each warp's 32 lanes."""
    address = compiler.address(statement.operands[0])
    step.critical = frozenset(compiler.accessed[0])
    pair = "cta_group::2" in statement.modifiers

    def run(machine: Machine, threads: Threads) -> None:
        memory = machine.tensor_memory
        for thread, at in zip(threads.number.tolist(), address(machine, threads).tolist()):
            lane, column = at >> 16 & 0xFFFF, at & 0xFFFF
            if lane % 32 or lane >= LANES:
                raise Error(f"line {step.line}: {step.text}: the lane is 0, 32, 64 or 96 (9.7.16.8.3); it is {lane}")
            own, columns = int(machine.cta_of[thread]), _columns(step, column, 8)
            bands = np.arange(lane // BAND, BANDS)
            for cta in (own & ~1, own | 1) if pair else (own,):
                _may_multiply(memory, step, thread, cta, bands, columns)

                def carry_out(_: Array, cta: int = cta, columns: Array = columns, lane: int = lane) -> None:
                    for cells in (memory.cells, memory.written):
                        part = cells[cta, lane:, columns[0] : columns[-1] + 1]
                        part[:] = moved_up(part)

                operation = Operation(
                    machine, step, np.array([thread]), np.array([[cta]]), carry_out, (bands, columns), []
                )
                operation.adds = True  # what it moves stays

    step.run = run


def moved_up(cells: Array) -> Array:
    """Lanes of Tensor Memory by those below them, but the last of each 32: tcgen05.shift.down, and .ashift of A.

    One source (an independent engine, with which CUTLASS's comment agrees) says that blocks of 32 lanes move apart from
    each other; the name of the machine instruction, 31x256b, fits that.
    """
    blocks = cells.reshape(-1, 32, cells.shape[-1])
    return np.concatenate([blocks[:, 1:], blocks[:, -1:]], 1).reshape(cells.shape)


def _mode(step: Step, descriptor: int) -> str:
    """The swizzle of a descriptor."""
    mode = CODES.get(descriptor >> 61)
    if mode is None:
        raise Error(f"line {step.line}: {step.text}: the descriptor has the swizzle {descriptor >> 61}; it is "
                    f"{', '.join(f'{code} ({name})' for code, name in CODES.items())}")  # fmt: skip
    return mode


def multiply(compiler: Compiler, statement: Statement, step: Step) -> None:
    """tcgen05.mma of every kind: operands in the order of PTX ISA 9.7.16.10.9."""
    words = [word for word in statement.modifiers if not word.startswith("collector") and word != "ashift"]
    inst: Any = entry(compiler.program.target).instruction(".".join(("tcgen05", *words)))
    kind = inst.form.kind
    d, a, b, *rest = statement.operands
    getters: dict[str, Any] = {"K": compiler.address(rest.pop(0))} if inst.sparse else {}
    getters["descriptor"] = compiler.source(rest.pop(0), "b32")
    getters |= {name: compiler.address(rest.pop(0)) for name in ("SA", "SB") if inst.scaled}
    lane_masks: Any = rest.pop(0) if rest and is_braced(rest[0]) else ()
    masks = [compiler.source(one, "b32") for one in lane_masks]
    if masks and len(masks) != (8 if "cta_group::2" in words else 4):
        raise Error(f"{statement.opcode} has a mask of 128 lanes for each CTA; got {len(masks)} registers")
    getters["accumulates"] = compiler.source(rest.pop(0), "pred")
    zeros = compiler.source(rest[0], "b64") if rest and "ws" in words else None
    scale = compiler.number(rest[0]) if rest and not zeros else 0
    if scale and (kind not in ("f16", "tf32") or not 0 <= scale <= 15):
        raise Error(f"{statement.opcode}: scale-input-d is 0 to 15, of kind::f16 and kind::tf32; got {scale}")
    getters["A"] = compiler.address(a) if isinstance(a, Address) else compiler.source(a, "b64")
    getters |= {"D": compiler.address(d), "B": compiler.source(b, "b64")}
    step.critical = frozenset(compiler.accessed[0])
    pair, shifts = "cta_group::2" in words, "ashift" in statement.modifiers
    compiler.sizes.add(1 if kind not in ("f16", "tf32") else 2)
    form_of = cache(partial(_Form, step, inst, kind, isinstance(a, Address)))

    def run(machine: Machine, threads: Threads) -> None:
        count = len(threads)

        def each(getter: Any) -> Array:
            return np.broadcast_to(getter(machine, threads), (count,))

        given = {name: each(getter) for name, getter in getters.items()}
        lanes = [each(one) for one in masks]
        if zeros is not None and each(zeros).any():
            raise Error(f"line {step.line}: {step.text}: a zero-column mask that is not 0 is not covered")
        operands = list(zip(*[one.tolist() for one in (*given.values(), *lanes)]))
        for alike in _issued_at_once(machine.cta_of[threads.number] >> pair, operands):
            words = operands[alike[0]]
            values = dict(zip(given, words))
            form = form_of(values["descriptor"], values["D"] >> 20 & 1)
            product = _Product(machine, step, threads.number[alike], form, values, pair)
            product.scale, product.shifts, product.mask = scale, shifts, list(words[len(given) :])
            product.issue()

    step.run = run


def _issued_at_once(ctas: Array, operands: list[tuple[int, ...]]) -> list[list[int]]:
    """Threads that have the same operands, by their indices: each with others only where all are in CTAs of their own,
    or pairs of them."""
    if len(np.unique(ctas)) < len(ctas):
        return [[at] for at in range(len(ctas))]
    groups: dict[tuple[int, ...], list[int]] = {}
    for at, words in enumerate(operands):
        groups.setdefault(words, []).append(at)
    return list(groups.values())


class _Form:
    """What an instruction descriptor makes of a statement, for one half of the lanes: the instruction with shape and
    types, the descriptor's fields, where the operands in Tensor Memory lie, the lanes and registers of those that are
    read only, D's lanes and bands of the lanes, and the lane of each row of D where rows lie in lanes."""

    def __init__(self, step: Step, inst: Any, kind: str, a_in_cells: bool, word: int, half: int) -> None:
        self.kind, self.a_in_cells = kind, a_in_cells
        self.inst, self.fields = shaped, fields = _shaped(step, inst, kind, word)
        parameters: dict[str, int] = {"half": half}
        if inst.scaled:
            parameters |= {"scale_id_a": fields.get("scale_id_a", 0), "scale_id_b": fields.get("scale_id_b", 0)}
        if inst.sparse:
            parameters["selector"] = fields.get("selector", 0)
        self.more = (*(("SA", "SB") if inst.scaled else ()), *(("K",) if inst.sparse else ()))
        names = ("D", *(("A",) if a_in_cells else ()), *self.more)
        try:
            self.execution = execution_of(shaped, None, parameters, bool(fields.get("saturate", 0)), False)
            self.places = {name: self.execution.places(name) for name in names}
        except Error as error:
            raise Error(f"line {step.line}: {step.text}: {error}") from None
        self.lanes = np.unique(self.places["D"].lane)
        self.cells = {name: np.unique([place.lane.reshape(-1), place.register.reshape(-1)], axis=1)
                      for name, place in self.places.items() if name != "D"}  # fmt: skip
        self.bands = np.unique(self.lanes % LANES // BAND)
        self.rows = _rows(self.places["D"])
        self.placed: dict[tuple[int, int, int], Placed | None] = {}  # by the descriptors and D's first column


def _rows(place: Places) -> Array | None:
    """The lane of each row of D, if each is in one lane, a 32-bit element in each column; else None."""
    if place.bits != 32 or place.copies > 1 or place.lane.ndim != 3 or place.lane.shape[1] != place.registers:
        return None
    lane, register = place.lane[..., 0], place.register[..., 0]
    return lane[:, 0] if (lane == lane[:, :1]).all() and (register == np.arange(place.registers)).all() else None


def _shaped(step: Step, inst: Any, kind: str, word: int) -> tuple[Any, dict[str, int]]:
    """The instruction with the shape and types of its descriptor, and the descriptor's fields."""
    fields = {field.name: field.code for field in decode_instruction(word, kind).fields}
    m, n = fields["m"] * (128 if kind in MX else 16), fields["n"] * 8

    def named(codes: Any, code: int) -> str:
        found = next((name for name, number in codes.items() if number == code), None)
        if found is None:
            raise Error(
                f"line {step.line}: {step.text}: the instruction descriptor {word:#x} has a type that "
                f"kind::{kind} lacks"
            )
        return str(found)

    options: dict[str, Any] = {"m": m, "n": n}
    if fields["k"]:
        options["k"] = coded_depths(kind, fields["sparse"])[1]
        if options["k"] is None:
            raise Error(
                f"line {step.line}: {step.text}: the instruction descriptor {word:#x} has the bit of K set, which is "
                f"reserved for kind::{kind}" + (" with sparse A" if fields["sparse"] else "")
            )
    for name in ("a", "b"):
        if f"{name}_type" in fields:
            options[name] = named(INPUT_CODES[kind], fields[f"{name}_type"])
    if "d_type" in fields:
        options["d"] = named(OUTPUT_CODES, fields["d_type"])
    if "scale_type" in fields and inst.scaled:
        options["scale"] = named(SCALE_CODES, fields["scale_type"])
    try:
        return inst.shaped(**options), fields
    except Error as error:
        raise Error(f"line {step.line}: {step.text}: {error}") from None


class _Product:
    """A tcgen05.mma of some threads, each in a CTA or pair of its own. values: the operands by name, addresses and
    descriptors, which are the same for all; scale: its scale-input-d; shifts: whether the rows of A move up; mask: the
    words of the lanes that stay as they are, or none."""

    scale: int
    shifts: bool
    mask: list[int]

    def __init__(
        self, machine: Machine, step: Step, threads: Array, form: _Form, values: dict[str, int], pair: bool
    ) -> None:
        self.machine, self.step, self.threads, self.form, self.values = machine, step, threads, form, values
        own = machine.cta_of[threads]
        self.ctas: Array = np.stack([own & ~1, own | 1], 1) if pair else own[:, None]  # (thread, CTA)
        self.starts = {name: values[name] & 0xFFFF for name in form.places}
        self.columns = _columns(step, self.starts["D"], form.places["D"].registers)
        self.matrices: dict[str, Array] = {}

    def issue(self) -> None:
        """Check what it may read and write, and enter it as in flight."""
        step, form, memory = self.step, self.form, self.machine.tensor_memory
        reads = [self._shared(name) for name in "AB" if name not in self.starts]
        read_only = {name: _columns(step, start, form.places[name].registers)
                     for name, start in self.starts.items() if name != "D"}  # fmt: skip
        quiet = memory.quiet(self.threads, self.ctas, form.bands, self.columns)
        for thread, ctas, free in zip(self.threads.tolist(), self.ctas.tolist(), quiet.tolist()):
            for cta in ctas:
                if not free:
                    _may_multiply(memory, step, thread, cta, form.bands, self.columns)
                for columns in read_only.values():
                    _may_read(memory, step, thread, cta, columns)
        operation = Operation(self.machine, step, self.threads, self.ctas, self.carry_out, (form.bands, self.columns),
                              reads, tuple(read_only.values()))  # fmt: skip
        operation.adds, operation.whole = bool(self.values["accumulates"]), not self.mask

    def _shared(self, name: str) -> Reading:
        """Locate and check a matrix in shared memory; gives what is read."""
        machine, step, form, code = self.machine, self.step, self.form, self.values[name]
        rows, depth = form.inst.n, form.inst.k
        if name == "A":
            rows, depth = form.inst.m, depth // (2 if form.inst.sparse else 1)
        mode, bits = _mode(step, code), form.inst.format(name).bits
        slot = slot_bits(form.kind, bits)
        shape = (rows // self.ctas.shape[1], depth, bits)
        turned = bool(form.fields.get(f"transpose_{name.lower()}", 0))
        layout = (code, *shape, turned, mode, slot != bits)
        _check_major(step, name, form, turned, mode)
        _check_leading(step, name, code, depth * slot // 8, mode if not turned else f"{mode} along M or N")
        offsets, alone = matrix_offsets(*layout), matrix_granules(*layout, machine.granule)
        _inside(machine, step, int(self.threads[0]), offsets, max(1, bits // 8))
        self.matrices[name] = offsets
        starts = self.ctas * (machine.shared_size // machine.granule)
        many = starts.shape[1]
        reading = Reading(alone, starts.reshape(-1), np.repeat(np.arange(len(starts)), many))
        machine.async_reads.check_alike(step, self.threads, [reading])
        for at, thread in enumerate(self.threads.tolist()):
            if not at or machine.descriptors.swizzles is not None:
                granules = (starts[at][:, None] + alone).reshape(-1)
                machine.descriptors.check(step, np.array([thread]), name, code, mode, shape, granules)
        return reading

    def carry_out(self, at: Array) -> None:
        """Compute D of some of the threads, by their indices."""
        for observer in self.machine.launch.observers:
            starts = self.ctas[at] * self.machine.shared_size
            places = {name: (starts[..., None, None] + one).reshape(len(at), -1, one.shape[1])
                      for name, one in self.matrices.items()}  # fmt: skip
            observer.multiplying(self.step, self.machine.threads(self.threads[at]), places)
        left = self._by_core(at)
        if left is None:
            self._on_numpy(at, True)
        elif left.any():
            self._on_numpy(at[left], False)

    def _by_core(self, at: Array) -> Array | None:
        """As `carry_out`, where both matrices lie in shared memory and the rows of D in lanes: which are left, None
        where that is not so."""
        form, memory, machine = self.form, self.machine.tensor_memory, self.machine
        ctas, lanes = self.ctas[at], form.rows
        negated = any(form.fields.get(f"negate_{name}", 0) for name in "ab")
        if lanes is None or ctas.shape[1] > 1 or self.matrices.keys() != {*"AB"} or self.scale or self.mask or negated:
            return None
        codes = self.values["A"], self.values["B"], self.starts["D"]
        if codes not in form.placed:
            if len(form.placed) > MOST_PLACED:
                form.placed.clear()
            form.placed[codes] = self._placed(lanes)
        placed = form.placed[codes]
        if placed is None:
            return None
        self._accumulates(at)
        base, cells = ctas[:, 0], ctas[:, 0] * (LANES * COLUMNS * 4)
        starts = dict.fromkeys("AB", base * machine.shared_size) | dict.fromkeys("CD", cells)
        arrays = dict.fromkeys("AB", machine.shared) | dict.fromkeys("CD", memory.cells)
        left = multiplied(placed, arrays, starts, np.full(len(ctas), not self.values["accumulates"]))
        part = span(lanes)
        memory.written[base[~left] if isinstance(part, slice) else base[~left][:, None], part, self._slice("D")] = True
        return left

    def _placed(self, lanes: Array) -> Placed | None:
        """The tables of the product for the core, None where it cannot carry it out."""
        form = self.form
        bits = {name: form.inst.format(name).bits for name in "AB"}
        found = tables(form.execution, "")
        if found is None or any(slot_bits(form.kind, size) != size for size in bits.values()):
            return None
        columns = self.starts["D"] + np.arange(form.inst.n)
        memory = {name: self.matrices[name] // (bits[name] // 8) for name in "AB"}
        memory["B"] = memory["B"].T
        return Placed(found, 0, memory | dict.fromkeys("CD", lanes[:, None] * COLUMNS + columns))

    def _accumulates(self, at: Array) -> None:
        """Say of which threads the accumulator was never written, if D adds to it."""
        if self.values["accumulates"]:
            written = self.machine.tensor_memory.written[:, :, self._slice("D")]
            if written[self.ctas[at], self.form.lanes[0] % LANES, 0].all():
                return
            some = np.array([all(written[cta].any() for cta in ctas) for ctas in self.ctas[at].tolist()], bool)
            self._undefined("accumulates on Tensor Memory that nothing has written", at[~some])

    def _on_numpy(self, at: Array, check: bool) -> None:
        """As `carry_out`, of any operands. check: whether what D adds to is still to be looked at."""
        ctas, inst = self.ctas[at], self.form.inst
        codes = {name: self._elements(name, ctas) for name in self.matrices}
        if "B" in codes:
            codes["B"] = codes["B"].swapaxes(-1, -2)
        codes |= {name: self._read_only(name, ctas, at) for name in self.starts if name != "D"}
        rows = self._rows_of_d(ctas)
        file = np.ascontiguousarray(self._cells("D", ctas)) if rows is None else np.zeros(0, np.uint32)
        old = gather(file, self.form.places["D"]) if rows is None else self.machine.tensor_memory.cells[rows]
        codes["C"] = np.zeros_like(old)
        if self.values["accumulates"]:
            codes["C"] = _scaled(self.step, old, inst.format("D").name, self.scale)
            if check:
                self._accumulates(at)
        found = compute(self.form.execution, codes, rearrange=False)
        if rows is None:
            scatter(file, found, self.form.places["D"])
            self._write(np.swapaxes(file, -1, -2), ctas)
        else:
            kept = self._touched()[self.form.rows]
            index = rows[0][:, kept], rows[1][kept], rows[2]
            self.machine.tensor_memory.cells[index] = found[:, kept]
            self.machine.tensor_memory.written[index] = True

    def _slice(self, name: str) -> slice:
        """The columns of an operand in Tensor Memory."""
        return slice(self.starts[name], self.starts[name] + self.form.places[name].registers)

    def _rows_of_d(self, ctas: Array) -> tuple[Array, Array, slice] | None:
        """Where (CTA, row, column) of D lies in Tensor Memory, if its rows lie in lanes."""
        lanes = self.form.rows
        return None if lanes is None else (ctas[:, lanes // LANES], lanes % LANES, self._slice("D"))

    def _cells(self, name: str, ctas: Array) -> Array:
        """The register files of an operand in Tensor Memory, one of each thread."""
        place = self.form.places[name]
        part = self.machine.tensor_memory.cells[:, :, self._slice(name)][ctas]
        whole = part.reshape(len(ctas), -1, part.shape[-1])
        if self.shifts and name == "A":
            whole = np.stack([moved_up(one) for one in whole])
        return np.swapaxes(whole[:, : place.lanes], -1, -2)

    def _read_only(self, name: str, ctas: Array, at: Array) -> Array:
        """The encodings of an operand in Tensor Memory, which something must have written."""
        lane, register = self.form.cells[name]
        written = self.machine.tensor_memory.written[ctas[:, lane // LANES], lane % LANES, self.starts[name] + register]
        self._undefined(f"reads {name} in Tensor Memory that nothing has written", at[~written.all(axis=1)])
        found = gather(self._cells(name, ctas), self.form.places[name])
        sparsity = self.form.execution.sparsity
        return sparsity.from_metadata(found) if name == "K" and sparsity else found

    def _elements(self, name: str, ctas: Array) -> Array:
        """The encodings of a matrix in shared memory, (row, depth), with the sign that the descriptor gives them."""
        bits = self.form.inst.format(name).bits
        turned = bool(self.form.fields.get(f"transpose_{name.lower()}", 0))
        codes = _elements(self.machine, ctas, self.matrices[name], (slot_bits(self.form.kind, bits), bits), turned)
        negated = self.form.fields.get(f"negate_{name.lower()}", 0)
        return codes ^ codes.dtype.type(1 << bits - 1) if negated else codes

    def _undefined(self, what: str, at: Array) -> None:
        for thread in self.threads[at].tolist():
            self.machine.launch.find("uninitialised", self.step, what, np.array([thread]))

    def _touched(self) -> Array:
        """Of each lane whether D is written there: the mask leaves some."""
        touched = np.zeros(self.form.places["D"].lanes, bool)
        touched[self.form.lanes] = True
        if self.mask:
            off = np.array([word >> bit & 1 for word in self.mask for bit in range(32)], bool)
            touched &= ~np.resize(off, len(touched))
        return touched

    def _write(self, whole: Array, ctas: Array) -> None:
        """Write D's lanes, (thread, lane, column)."""
        memory, touched = self.machine.tensor_memory, self._touched()
        for at in range(ctas.shape[1]):
            rows = np.flatnonzero(touched[at * LANES : (at + 1) * LANES])
            index = ctas[:, at, None], rows, self._slice("D")
            memory.cells[index] = whole[:, at * LANES + rows]
            memory.written[index] = True


def _inside(machine: Machine, step: Step, thread: int, offsets: Array, size: int) -> None:
    """Stop where the elements of a matrix lie beyond the CTA's shared memory."""
    last = int(offsets.max())
    if last + size > machine.shared_size:
        what = f"shared memory, which has {machine.shared_size} bytes: so far its descriptor reaches"
        machine.outside(step, machine.threads(np.array([thread])), np.array([last]), np.array([True]), what)


def _check_major(step: Step, name: str, form: _Form, turned: bool, mode: str) -> None:
    """Refuse a matrix along M or N, and a swizzle, that PTX does not have (9.7.16.10.1, table 54, table 55). Padded
    elements along M or N are CUTLASS's (blackwell_functionality.md); table 54 has them along K alone."""
    type_ = form.inst.format(name)
    if turned and slot_bits(form.kind, type_.bits) < 8:
        raise Error(
            f"line {step.line}: {step.text}: {name} has elements of {type_.bits} bits along M or N: kind::{form.kind} "
            "has them along K"
        )
    if (turned and form.kind == "tf32") != (mode == TURNED_TF32):
        raise Error(
            f"line {step.line}: {step.text}: {name} has {type_.title} along {'M or N' if turned else 'K'} with the "
            f"swizzle {mode}: PTX has {TURNED_TF32} for tf32 along M or N, and for nothing else"
        )


def _check_leading(step: Step, name: str, code: int, depth: int, mode: str) -> None:
    """What sm_103a has for rows of 48 bytes: a leading dimension that is an address, with a swizzle of 128 bytes."""
    absolute, beyond = bool(code & LEADING_IS_ABSOLUTE), ((code & 7) << 4) + depth > 128
    if absolute and (depth, mode) != (48, "128B"):
        raise Error(
            f"line {step.line}: {step.text}: the leading dimension of {name}'s descriptor is an address, which is for "
            f"K = 96 of 4-bit elements with a 128-byte swizzle along K; K has {depth} bytes, the swizzle is {mode}"
        )
    if beyond and not absolute and (depth, mode) == (48, "128B"):
        raise Error(
            f"line {step.line}: {step.text}: the 48 bytes of {name}'s rows begin at byte {(code & 7) << 4} of the 128 "
            "of their swizzle, and go on beyond them: that is covered where the leading dimension is an address"
        )


def _scaled(step: Step, codes: Array, type_: str, scale: int) -> Array:
    """The accumulator times 2^-scale, as it enters the product (9.7.16.10.9, scale-input-d). Where that has bits below
    those of its format, how many of them are kept is not documented."""
    if not scale:
        return codes
    kind = np.dtype("f2" if type_ == "f16" else "f4")
    raw = np.dtype(f"u{kind.itemsize}")
    old = codes.astype(raw).view(kind)
    found = np.ldexp(old, -scale).astype(kind)
    if (np.ldexp(found.astype(np.float64), scale) != old)[np.isfinite(old)].any():
        raise Error(f"line {step.line}: {step.text}: the accumulator times 2^-{scale} is no .{type_}: what of it "
                    "enters the product is not documented, and not covered")  # fmt: skip
    return found.view(raw).astype(codes.dtype)


def _may_multiply(memory: TensorMemory, step: Step, thread: int, cta: int, bands: Array, columns: Array) -> None:
    """As `check`, but products of one thread on one accumulator follow each other."""
    memory.check_reads(step, thread, cta, bands, columns, "writes")
    index = (cta, bands[:, None], columns)
    own = bool(memory.queues.get(thread)) or bool((memory.busy[index] == _piped(memory, thread, cta)[index[1:]]).all())
    if memory.busy[index].any() and (
        own or memory.machine.program.steps[int(memory.step[index].max())].statement.modifiers[:1] == ("mma",)
    ):
        return
    memory.check(step, thread, cta, bands, columns, False, own=True)


def _piped(memory: TensorMemory, thread: int, cta: int) -> Array:
    """How many copies and shifts of a thread that are in flight, committed or not, write the cells of a CTA: by band
    and column."""
    piped = np.zeros((BANDS, COLUMNS), np.int32)
    for operation in memory.piped.get(thread, {}).values():
        if cta in operation.ctas:
            bands, written = operation.cells
            piped[bands[:, None], written] += 1
    return piped


def _may_read(memory: TensorMemory, step: Step, thread: int, cta: int, columns: Array) -> None:
    """As `check`, of an operand of a product; what copies and shifts of the same thread write is there in time."""
    piped = _piped(memory, thread, cta)
    left = columns[~((memory.busy[cta] == piped).all(axis=0) & piped.any(axis=0))[columns]]
    if len(left):
        memory.check(step, thread, cta, np.arange(BANDS), left, True)


def _elements(machine: Machine, ctas: Array, offsets: Array, sizes: tuple[int, int], turned: bool) -> Array:
    """The encodings at offsets (row, depth) of the shared memory of CTAs (thread, CTA): (thread, row, depth), with the
    rows of a thread's second CTA behind those of its first. sizes: the bits of a slot and of an element. Elements of
    less than a byte follow each other along k, or along the rows where the matrix is turned."""
    slot, bits = sizes
    size = max(1, bits // 8)
    memory = machine.shared.view(f"u{size}")
    places = ((ctas * machine.shared_size)[..., None, None] // size + offsets // size).reshape(
        len(ctas), -1, offsets.shape[1]
    )
    codes: Array = memory[places]
    if bits >= 8:
        return codes
    along = np.tile(np.arange(len(offsets)), ctas.shape[1])[:, None] if turned else np.arange(offsets.shape[1])
    first = along * bits % 8
    if slot != bits:  # a 6-bit element may go on in the next of its 16 bytes
        codes = codes | memory[places + (first + bits > 8)].astype(np.uint16) << np.uint16(8)
    found: Array = (codes >> first.astype(codes.dtype)).astype(np.uint8) & np.uint8((1 << bits) - 1)
    return found
