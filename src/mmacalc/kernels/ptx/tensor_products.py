"""Products and copies of tcgen05, which run until the mbarrier of their commit is waited for (PTX ISA 9.0, 9.7.16)."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from ...base.errors import Error
from ...catalog import entry
from ...emulator.computing import compute
from ...emulator.execution import execution_of
from ...emulator.registers import gather, scatter
from ...families.descriptors import INPUT_CODES, MX, OUTPUT_CODES, SCALE_CODES, decode_instruction
from ...families.tensor_memory import COLUMNS, LANES, copy_layout
from ...ptx.module import Address, is_braced
from .matrix_descriptors import SWIZZLE_MODES, matrix_granules, matrix_offsets
from .mbarriers import shared_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from ...ptx.module import Statement
    from .compiler import Compiler
    from .machine import Machine, Threads
    from .program import Step
    from .tensor_memory import TensorMemory

    Array = NDArray[Any]

__all__ = ["commit", "copy", "moved_up", "multiply", "shift"]

# The swizzle of a shared-memory descriptor of tcgen05, bits 61 to 63 (PTX ISA 9.7.16.4.1).
TCGEN05_SWIZZLES = {0: "none", 6: "32B", 4: "64B", 2: "128B"}
PIPED = ("cp", "shift")
"""Operations that a tcgen05.mma of the same thread follows without a wait (PTX ISA 9.7.16.6.2)."""
PADDED = {"b4x16_p64": 4, "b6x16_p32": 6}
"""The bits of elements that tcgen05.cp gives a byte each."""


def commit(compiler: Compiler, statement: Statement, step: Step) -> None:
    """tcgen05.commit: an arrival when the products and copies of the thread so far are complete."""

    operand, *rest = statement.operands
    address = shared_address(compiler, statement, operand)
    mask = compiler.source(rest[0], "u16") if rest else None
    step.critical = frozenset(compiler.accessed[0])

    def run(machine: Machine, threads: Threads) -> None:
        at = address(machine, threads)
        masks = np.broadcast_to(mask(machine, threads), (len(threads),)) if mask else np.zeros(len(threads), int)
        for number, thread in enumerate(threads.number.tolist()):
            one = threads.where(threads.number == thread)
            targets = [int(at[number])] if not masks[number] else [
                rank << 24 | int(at[number]) & 0xFFFFFF for rank in range(16) if int(masks[number]) >> rank & 1
            ]  # fmt: skip
            places = [int(machine.shared_places(step, one, np.array([target]), 8)[0]) for target in targets]
            queue = machine.tensor_memory.queues.pop(thread, [])
            barriers = [machine.asynchronous.barrier(step, one.number, place) for place in places]
            first = next((barrier for barrier in barriers if barrier is not None), None)
            member = machine.member_of[thread : thread + 1]
            released = machine.order.release(int(machine.team_of[thread]), member)

            def deliver(
                queue: Any = queue,
                first: Any = first,
                clocks: Array = released,
                thread: int = thread,
                places: Any = places,
            ) -> None:
                # It says that all earlier products of the thread are complete, those of its earlier commits included.
                known = machine.tensor_memory.commits.setdefault(thread, {})
                agent, clock = (first.agent, first.phase + 1) if first is not None else (None, 0)
                for product in queue:
                    product(agent, clock)
                if agent is not None:
                    known[agent] = clock
                for earlier, phase in known.items():
                    clocks[earlier] = max(clocks[earlier], phase)
                for place in places:
                    machine.asynchronous.arrive(step, np.array([thread]), place, np.ones(1, np.int64), release=clocks)

            machine.asynchronous.fly(
                step, thread, np.zeros(0, np.int64), True, deliver, [(place, 0) for place in places]
            )

    step.run = run


class _Operation:
    """A product or copy in flight: it is carried out when its commit's mbarrier is waited for."""

    def __init__(
        self,
        machine: Machine,
        step: Step,
        thread: int,
        carry_out: Callable[[], None],
        cells: list[Any],
        reads: list[Array],
        sources: tuple[tuple[int, Array], ...] = (),
    ) -> None:
        """cells: (CTA, quarters of the lanes, columns) that it writes; reads: granules of shared memory; sources:
        (CTA, columns) of Tensor Memory that it reads."""
        self.machine, self.step, self.thread, self.carry_out = machine, step, thread, carry_out
        self.cells, self.reads = cells, reads
        self.sources = [(thread, cta, columns, step) for cta, columns in sources]
        self.number = machine.asynchronous.next
        machine.asynchronous.next += 1
        memory = machine.tensor_memory
        for cta, quarters, columns in cells:
            index = (cta, quarters[:, None], columns)
            memory.busy[index] += 1
            memory.step[index] = step.index
        for source in self.sources:
            memory.reading[source[1], :, source[2]] += 1
            memory.readers.append(source)
        if step.statement.modifiers[0] in PIPED:
            memory.piped.setdefault(thread, {})[self.number] = self
        for granules in reads:
            machine.begin_reading(granules, self.number)

    def __call__(self, agent: int | None = None, clock: int = 0) -> None:
        machine, memory = self.machine, self.machine.tensor_memory
        self.carry_out()
        memory.piped.get(self.thread, {}).pop(self.number, None)
        member = int(machine.member_of[self.thread])
        for cta, quarters, columns in self.cells:
            memory.busy[(cta, quarters[:, None], columns)] -= 1
            memory.note(self.step, cta, quarters, columns, agent if agent is not None else member, clock)
        for source in self.sources:
            memory.reading[source[1], :, source[2]] -= 1
            memory.readers = [one for one in memory.readers if one is not source]
        for granules in self.reads:
            machine.end_reading(granules, self.number)


def copy(compiler: Compiler, statement: Statement, step: Step) -> None:
    """tcgen05.cp: a box of shared memory into Tensor Memory."""
    words = [word for word in statement.modifiers[1:] if not word.startswith("cta_group")]
    narrow = next((PADDED[word] for word in words if word in PADDED), 0)
    shape = ".".join([word for word in words if word not in PADDED and word != "b8x16"])
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
            layout = (code, rows, columns, 32, False, SWIZZLE_MODES[mode])
            offsets, alone = matrix_offsets(*layout), matrix_granules(*layout, machine.granule)
            _inside(machine, step, thread, offsets, 4)
            first, base = int(at[number]) >> 16 & 0xFFFF, int(at[number]) & 0xFFFF
            for cta in (own & ~1, own | 1) if pair else (own,):
                places = cta * machine.shared_size + offsets
                granules = cta * machine.shared_size // machine.granule + alone
                machine.check_async_read(step, thread, granules)
                machine.descriptors.check(
                    step, np.array([thread]), "the source", code, mode, (rows, columns, 32), granules
                )
                used = _columns(step, base, int(column.max()) + 1)[np.unique(column)]
                if first + lane.max() >= LANES:
                    raise Error(f"line {step.line}: {step.text}: it writes {int(lane.max()) + 1} lanes of {LANES}; the "
                                f"address says lane {first}")  # fmt: skip
                machine.tensor_memory.allocated(step, thread, cta, used)
                quarters = np.unique((first + lane) // 32)

                machine.tensor_memory.check_reads(step, thread, cta, quarters, used, "writes")

                def carry_out(cta: int = cta, places: Array = places, first: int = first, base: int = base) -> None:
                    data = np.ascontiguousarray(machine.shared[places[..., None] + np.arange(4)]).view(np.uint32)[
                        ..., 0
                    ]
                    data = _widened(data, narrow) if narrow else data
                    memory = machine.tensor_memory
                    memory.cells[cta, first + lane, base + column] = data[row, word]
                    memory.written[cta, first + lane, base + column] = True

                machine.tensor_memory.queues.setdefault(thread, []).append(
                    _Operation(machine, step, thread, carry_out, [(cta, quarters, used)], [granules])
                )

    step.run = run


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
            quarters = np.arange(lane // 32, 4)
            for cta in (own & ~1, own | 1) if pair else (own,):
                _may_multiply(memory, step, thread, cta, quarters, columns)

                def carry_out(cta: int = cta, columns: Array = columns, lane: int = lane) -> None:
                    for cells in (memory.cells, memory.written):
                        part = cells[cta, lane:, columns[0] : columns[-1] + 1]
                        part[:] = moved_up(part)

                memory.queues.setdefault(thread, []).append(
                    _Operation(machine, step, thread, carry_out, [(cta, quarters, columns)], [])
                )

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
    mode = TCGEN05_SWIZZLES.get(descriptor >> 61)
    if mode is None:
        raise Error(f"line {step.line}: {step.text}: the swizzle {descriptor >> 61} of the descriptor is not covered")
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
        for number, thread in enumerate(threads.number.tolist()):
            values = {name: int(one[number]) for name, one in given.items()}
            form = form_of(values["descriptor"], values["D"] >> 20 & 1)
            product = _Product(machine, step, thread, form, values, pair)
            product.scale, product.shifts, product.mask = scale, shifts, [int(one[number]) for one in lanes]
            product.issue()

    step.run = run


class _Form:
    """What an instruction descriptor makes of a statement, for one half of the lanes: the instruction with shape and
    types, the descriptor's fields, where the operands in Tensor Memory lie, the lanes and
    registers of those that are read only, and D's lanes and quarters of the lanes."""

    def __init__(self, step: Step, inst: Any, kind: str, a_in_cells: bool, word: int, half: int) -> None:
        self.kind, self.a_in_cells = kind, a_in_cells
        self.inst, self.fields = shaped, fields = _shaped(step, inst, kind, word)
        parameters: dict[str, int] = {"half": half}
        if inst.scaled:
            parameters |= {"scale_id_a": fields.get("scale_id_a", 0), "scale_id_b": fields.get("scale_id_b", 0)}
        if inst.sparse:
            parameters["selector"] = fields.get("selector", 0)
        self.execution = execution_of(shaped, None, parameters, bool(fields.get("saturate", 0)), False)
        self.more = (*(("SA", "SB") if inst.scaled else ()), *(("K",) if inst.sparse else ()))
        names = ("D", *(("A",) if a_in_cells else ()), *self.more)
        self.places = {name: self.execution.places(name) for name in names}
        self.lanes = np.unique(self.places["D"].lane)
        self.cells = {name: np.unique([place.lane.reshape(-1), place.register.reshape(-1)], axis=1)
                      for name, place in self.places.items() if name != "D"}  # fmt: skip
        self.quarters = np.unique(self.lanes % LANES // 32)


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
    """A tcgen05.mma of one thread. values: the operands by name, addresses and descriptors; scale: its scale-input-d;
    shifts: whether the rows of A move up; mask: the words of the lanes that stay as they are, or none."""

    scale: int
    shifts: bool
    mask: list[int]

    def __init__(
        self, machine: Machine, step: Step, thread: int, form: _Form, values: dict[str, int], pair: bool
    ) -> None:
        self.machine, self.step, self.thread, self.form, self.values = machine, step, thread, form, values
        own = int(machine.cta_of[thread])
        self.ctas = [own & ~1, own | 1] if pair else [own]
        self.starts = {name: values[name] & 0xFFFF for name in form.places}
        self.columns = _columns(step, self.starts["D"], form.places["D"].registers)
        self.matrices: dict[str, Array] = {}

    def issue(self) -> None:
        """Check what it may read and write, and enter it as in flight."""
        step, thread, form, memory = self.step, self.thread, self.form, self.machine.tensor_memory
        reads = [self._shared(name) for name in "AB" if name not in self.starts]
        read_only = {name: _columns(step, start, form.places[name].registers)
                     for name, start in self.starts.items() if name != "D"}  # fmt: skip
        sources = tuple([(cta, columns) for cta in self.ctas for columns in read_only.values()])
        for cta in self.ctas:
            _may_multiply(memory, step, thread, cta, form.quarters, self.columns)
            for columns in read_only.values():
                _may_read(memory, step, thread, cta, columns)
        written = [(cta, form.quarters, self.columns) for cta in self.ctas]
        operation = _Operation(self.machine, step, thread, self.carry_out, written, reads, sources)
        memory.queues.setdefault(thread, []).append(operation)

    def _shared(self, name: str) -> Array:
        """Locate and check a matrix in shared memory; gives its granules."""
        machine, step, form, code = self.machine, self.step, self.form, self.values[name]
        rows, depth = form.inst.n, form.inst.k
        if name == "A":
            rows, depth = form.inst.m, depth // (2 if form.inst.sparse else 1)
        mode, bits = _mode(step, code), _shared_bits(form.kind, form.inst, name)
        shape = (rows // len(self.ctas), depth, bits)
        turned = bool(form.fields.get(f"transpose_{name.lower()}", 0))
        layout = (code, *shape, turned, SWIZZLE_MODES[mode])
        offsets, alone = matrix_offsets(*layout), matrix_granules(*layout, machine.granule)
        _inside(machine, step, self.thread, offsets, max(1, bits // 8))
        self.matrices[name] = np.concatenate([cta * machine.shared_size + offsets for cta in self.ctas])
        granules = np.concatenate([cta * machine.shared_size // machine.granule + alone for cta in self.ctas])
        machine.check_async_read(step, self.thread, granules)
        machine.descriptors.check(step, np.array([self.thread]), name, code, mode, shape, granules)
        return granules

    def carry_out(self) -> None:
        """Compute D."""
        memory, place = self.machine.tensor_memory, self.form.places["D"]
        codes = {name: self._elements(name) for name in self.matrices}
        if "B" in codes:
            codes["B"] = codes["B"].T
        codes |= {name: self._read_only(name) for name in self.starts if name != "D"}
        file = self._cells("D")
        old = gather(file, place)
        codes["C"] = np.zeros_like(old)
        if self.values["accumulates"]:
            codes["C"] = _scaled(self.step, old, self.form.inst.format("D").name, self.scale)
            if not all(memory.written[cta][:, self.columns].any() for cta in self.ctas):
                self._undefined("accumulates on Tensor Memory that nothing has written")
        fresh = np.ascontiguousarray(file)
        scatter(fresh, compute(self.form.execution, codes, rearrange=False), place)
        self._write(np.swapaxes(fresh, 0, 1))

    def _cells(self, name: str) -> Array:
        """The register file of an operand in Tensor Memory."""
        start, place = self.starts[name], self.form.places[name]
        whole = np.concatenate([self.machine.tensor_memory.cells[cta] for cta in self.ctas])
        whole = moved_up(whole) if self.shifts and name == "A" else whole
        return np.swapaxes(whole[: place.lanes, start : start + place.registers], 0, 1)

    def _read_only(self, name: str) -> Array:
        """The encodings of an operand in Tensor Memory, which something must have written."""
        lane, register = self.form.cells[name]
        written = np.concatenate([self.machine.tensor_memory.written[cta] for cta in self.ctas])
        if not written[lane, self.starts[name] + register].all():
            self._undefined(f"reads {name} in Tensor Memory that nothing has written")
        return gather(self._cells(name), self.form.places[name])

    def _elements(self, name: str) -> Array:
        """The encodings of a matrix in shared memory, (row, depth), with the sign that the descriptor gives them."""
        inst, kind = self.form.inst, self.form.kind
        bits = inst.format(name).bits
        codes = _elements(self.machine, self.matrices[name], _shared_bits(kind, inst, name), bits)
        negated = self.form.fields.get(f"negate_{name.lower()}", 0)
        return codes ^ codes.dtype.type(1 << bits - 1) if negated else codes

    def _undefined(self, what: str) -> None:
        self.machine.launch.find("uninitialised", self.step, what, np.array([self.thread]))

    def _write(self, whole: Array) -> None:
        """Write D's lanes, but those that the mask leaves."""
        memory = self.machine.tensor_memory
        touched = np.zeros(self.form.places["D"].lanes, bool)
        touched[self.form.lanes] = True
        if self.mask:
            off = np.array([word >> bit & 1 for word in self.mask for bit in range(32)], bool)
            touched &= ~np.resize(off, len(touched))
        for at, cta in enumerate(self.ctas):
            rows = np.flatnonzero(touched[at * LANES : (at + 1) * LANES])
            memory.cells[cta][rows[:, None], self.columns] = whole[at * LANES + rows][:, : len(self.columns)]
            memory.written[cta][rows[:, None], self.columns] = True


def _inside(machine: Machine, step: Step, thread: int, offsets: Array, size: int) -> None:
    """Stop where the elements of a matrix lie beyond the CTA's shared memory."""
    last = int(offsets.max())
    if last + size > machine.shared_size:
        what = f"shared memory, which has {machine.shared_size} bytes: so far its descriptor reaches"
        machine.outside(step, machine.threads(np.array([thread])), np.array([last]), np.array([True]), what)


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


def _may_multiply(memory: TensorMemory, step: Step, thread: int, cta: int, quarters: Array, columns: Array) -> None:
    """As `check`, but products of one thread on one accumulator follow each other."""
    memory.check_reads(step, thread, cta, quarters, columns, "writes")
    index = (cta, quarters[:, None], columns)
    own = any(product.thread == thread for product in memory.queues.get(thread, []))
    if memory.busy[index].any() and (
        own or memory.machine.program.steps[int(memory.step[index].max())].statement.modifiers[:1] == ("mma",)
    ):
        return
    memory.check(step, thread, cta, quarters, columns, False, own=True)


def _may_read(memory: TensorMemory, step: Step, thread: int, cta: int, columns: Array) -> None:
    """As `check`, of an operand of a product; what copies and shifts of the same thread write is there in time."""
    piped = np.zeros((4, COLUMNS), np.int32)
    for operation in memory.piped.get(thread, {}).values():
        for other, quarters, written in operation.cells:
            if other == cta:
                piped[quarters[:, None], written] += 1
    left = columns[~((memory.busy[cta] == piped).all(axis=0) & piped.any(axis=0))[columns]]
    if len(left):
        memory.check(step, thread, cta, np.arange(4), left, True)


def _shared_bits(kind: str, shaped: Any, name: str) -> int:
    """The bits of an element in shared memory: those of kind::f8f6f4 and mxf8f6f4 are in bytes."""
    return 8 if kind in ("f8f6f4", "mxf8f6f4") else int(shaped.format(name).bits)


def _elements(machine: Machine, places: Array, slot: int, bits: int) -> Array:
    """The encodings at places (row, depth) of shared memory."""
    size = max(1, slot // 8)
    codes = np.ascontiguousarray(machine.shared[places[..., None] + np.arange(size)]).view(f"u{size}")[..., 0]
    if slot == 4:
        half = np.arange(places.shape[1]) & 1
        return codes >> (4 * half).astype(np.uint8) & np.uint8(15)
    if bits < slot:
        codes = (codes >> np.uint8(2 if bits == 4 else 0)) & np.uint8((1 << bits) - 1)
    return codes
