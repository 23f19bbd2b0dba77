"""Tensor Memory and tcgen05 (PTX ISA 9.7.16): allocation, loads and stores, copies, products.

Products run in the order in which a thread issues them, when the mbarrier that its tcgen05.commit names is waited
for, the latest that PTX permits; stores arrive at tcgen05.wait::st. Who reads cells must know of the write: through
the mbarrier, or through a barrier after the wait. Layouts and arithmetic are the catalog's. What is not followed:
tcgen05.fence, and registers of tcgen05.ld before tcgen05.wait::ld, which compilers read early without known effect.
"""

from __future__ import annotations

import numpy as np

from ...catalog import instruction
from ...emulator.computing import compute
from ...emulator.execution import execution_of
from ...emulator.registers import gather, scatter
from ...errors import Error
from ...families.descriptors import INPUT_CODES, MX, OUTPUT_CODES, SCALE_CODES, decode_instruction
from ...families.tensor_memory_moves import copy_layout, load_layout, registers
from ...ptx.reader import Address, Number, count_of, is_braced
from .wgmma import matrix_offsets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from ...ptx.reader import Statement
    from .machine import Machine, Threads
    from .program import Compiler, Step

    Array = NDArray[Any]

__all__ = ["BUILDERS", "TensorMemory"]

LANES, COLUMNS = 128, 512
# The swizzle of a shared-memory descriptor of tcgen05, bits 61 to 63 (PTX ISA 9.7.16.4.1): bytes of a row, and the
# mask.
MODES = {0: (16, 0), 6: (32, 0x10), 4: (64, 0x30), 2: (128, 0x70)}


class TensorMemory:
    """The cells of every CTA, what is allocated, who wrote them, and the operations in flight."""

    allocations: int

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.cells: Array = np.zeros((machine.ctas, LANES, COLUMNS), np.uint32)
        self.written: Array = np.zeros((machine.ctas, LANES, COLUMNS), bool)
        self.owner: Array = np.zeros((machine.ctas, COLUMNS), np.int32)
        self.relinquished: Array = np.zeros(machine.ctas, bool)
        # By CTA, quarter of the lanes, and column: who wrote last, at which clock, by which statement; operations in
        # flight.
        shape = (machine.ctas, 4, COLUMNS)
        self.writer: Array = np.full(shape, -1, np.int32)
        self.clock: Array = np.zeros(shape, np.int32)
        self.step: Array = np.zeros(shape, np.int32)
        self.busy: Array = np.zeros(shape, np.int32)
        self.queues: dict[int, list[Any]] = {}  # issuing thread -> products that are not committed
        # Issuing thread -> agents of the mbarriers that its commits named, and the last phase that they completed.
        self.commits: dict[int, dict[int, int]] = {}
        self.stores: dict[int, list[Any]] = {}  # warp -> stores that are not waited for
        self.allocations = 0

    def allocate(self, step: Step, threads: Threads, places: Array, columns: int) -> Array | None:
        """Columns for each warp's CTA; the warps for which there are none try again."""
        machine = self.machine
        if columns not in (32, 64, 128, 256, 512):
            raise Error(f"line {step.line}: {step.text}: 32, 64, 128, 256 or 512 columns are allocated; got {columns}")
        waiting = np.zeros(len(threads), bool)
        for cta in np.unique(threads.cta).tolist():
            mine = threads.cta == cta
            if self.relinquished[cta]:
                machine.launch.find(
                    "tensor memory", step, "allocates after tcgen05.relinquish_alloc_permit", threads.number[mine]
                )
            free = [start for start in range(0, COLUMNS, columns) if not self.owner[cta, start : start + columns].any()]
            if not free:
                waiting |= mine
                continue
            self.allocations += 1
            self.owner[cta, free[0] : free[0] + columns] = self.allocations
            self.written[cta, :, free[0] : free[0] + columns] = False
            first = threads.where(mine & (threads.lane == 0))
            place = places[mine & (threads.lane == 0)]
            machine.write_shared(step, first, place, np.array([[free[0]]], np.uint32).view(np.uint8))
            machine.events += 1
        return waiting if waiting.any() else None

    def free(self, step: Step, threads: Threads, address: Array, columns: int) -> None:
        machine = self.machine
        for cta in np.unique(threads.cta).tolist():
            start = int(address[threads.cta == cta][0]) & 0xFFFF
            owners = np.unique(self.owner[cta, start : start + columns])
            if len(owners) != 1 or not owners[0] or (self.owner[cta] == owners[0]).sum() != columns:
                machine.launch.find(
                    "tensor memory",
                    step,
                    f"frees {columns} columns from {start}, which were not allocated so",
                    threads.number[threads.cta == cta],
                )
            self.owner[cta, start : start + columns] = 0
            machine.events += 1

    def check(
        self, step: Step, thread: int, cta: int, quarters: Array, columns: Array, reads: bool, own: bool = False
    ) -> None:
        """Whether a thread may touch cells: they are allocated, at rest, and their last write is known to it.
        `own`: what the thread's own products wrote is, too, because they follow each other."""
        machine = self.machine
        number = np.array([thread])
        inside = columns < COLUMNS
        if not inside.all() or (self.owner[cta, columns[inside]] == 0).any():
            machine.launch.find("tensor memory", step, "touches columns that are not allocated", number)
            return
        index = np.ix_(np.array([cta]), quarters, columns)
        busy = self.busy[index]
        if busy.any():
            other = machine.program.steps[int(self.step[index].max())]
            machine.launch.find(
                "wait",
                step,
                "touches Tensor Memory that an operation in flight writes: tcgen05.commit and its "
                "mbarrier, or tcgen05.wait::st, must come before",
                number,
                other,
            )
            return
        writer, clock = self.writer[index].reshape(-1), self.clock[index].reshape(-1)
        team = np.full(len(writer), machine.team_of[thread])
        member = np.full(len(writer), machine.member_of[thread])
        wrong = (writer >= 0) & (writer != member)
        wrong &= ~machine.order.ordered(team, member, np.maximum(writer, 0), clock)
        if own:
            for agent, phase in self.commits.get(thread, {}).items():
                wrong &= (writer != agent) | (clock > phase)
        if wrong.any():
            other = machine.program.steps[int(self.step[index].reshape(-1)[wrong][0])]
            does = "reads" if reads else "writes"
            machine.launch.find("race", step, f"{does} Tensor Memory that another thread or operation wrote without "
                                "synchronisation in between", number, other)  # fmt: skip

    def note(self, step: Step, cta: int, quarters: Array, columns: Array, writer: int, clock: int) -> None:
        index = np.ix_(np.array([cta]), quarters, columns)
        self.writer[index], self.clock[index], self.step[index] = writer, clock, step.index

    def finish(self) -> None:
        """Complete what is in flight at the end of the launch; columns that are not freed are findings."""
        for queue in self.queues.values():
            for product in queue:
                product()
        self.queues = {}
        for warp in list(self.stores):
            self.settle(warp)

    def settle(self, warp: int) -> None:
        """tcgen05.wait::st of a warp."""
        for store in self.stores.pop(warp, []):
            store()


# --- builders ---


def _build(compiler: Compiler, statement: Statement, step: Step) -> None:
    what = statement.modifiers[0].partition("::")[0]
    builder = {
        "alloc": _alloc, "dealloc": _dealloc, "relinquish_alloc_permit": _relinquish, "ld": _load, "st": _store,
        "wait": _wait, "fence": _fence, "commit": _commit, "mma": _multiply, "cp": _copy,
    }.get(what)  # fmt: skip
    if builder is None:
        raise Error(f"{statement.opcode} is not covered")
    compiler.program.tensor_memory = True
    builder(compiler, statement, step)


def _alloc(compiler: Compiler, statement: Statement, step: Step) -> None:
    address, columns = compiler.address(statement.operands[0]), compiler.source(statement.operands[1], "u32")
    step.critical = frozenset(compiler.accessed[0])
    compiler.sizes.add(4)

    def run(machine: Machine, threads: Threads) -> Array | None:
        from .statements import SHARED_BASE

        at = address(machine, threads)
        places = machine.shared_places(step, threads, np.where(at >= SHARED_BASE, at - SHARED_BASE, at), 4)
        count = int(np.broadcast_to(columns(machine, threads), (len(threads),))[0])
        return machine.tensor_memory.allocate(step, threads, places, count)

    step.run = run


def _dealloc(compiler: Compiler, statement: Statement, step: Step) -> None:
    address, columns = compiler.source(statement.operands[0], "b32"), compiler.source(statement.operands[1], "u32")
    step.critical = frozenset(compiler.accessed[0])

    def run(machine: Machine, threads: Threads) -> None:
        count = int(np.broadcast_to(columns(machine, threads), (len(threads),))[0])
        at = np.broadcast_to(address(machine, threads), (len(threads),))
        machine.tensor_memory.free(step, threads, at, count)

    step.run = run


def _relinquish(compiler: Compiler, statement: Statement, step: Step) -> None:
    def run(machine: Machine, threads: Threads) -> None:
        machine.tensor_memory.relinquished[np.unique(threads.cta)] = True

    step.run = run


def _fence(compiler: Compiler, statement: Statement, step: Step) -> None:
    """tcgen05.fence: its rule has no effect that is known; see the module."""


def _wait(compiler: Compiler, statement: Statement, step: Step) -> None:
    if statement.modifiers[0] == "wait::st":

        def run(machine: Machine, threads: Threads) -> None:
            for warp in np.unique(threads.number // 32).tolist():
                machine.tensor_memory.settle(warp)

        step.run = run


def _shape(statement: Statement) -> tuple[str, int, bool]:
    """Shape, .xN and whether halves are packed."""
    words = statement.modifiers
    shape = next((word for word in words if word[:1].isdigit()), "")
    count = next((count_of(word[1:]) for word in words if word[:1] == "x" and word[1:].isdigit()), 0)
    known = {"ld", "st", "sync", "aligned", shape, f"x{count}", "b32", "pack::16b", "unpack::16b"}
    if not set(words) <= known:
        raise Error(f"{statement.opcode} is not covered")
    return shape, count, any("pack" in word for word in words)


def _cells_of(shape: str, count: int, packed: bool, split: int) -> tuple[Array, Array, Array, Array]:
    """For each (thread, item) of a warp: register, first bit, lane and column of its cell from the address."""
    layout = load_layout(shape, count, packed)
    tables = layout.axis_tables()
    found = []
    lanes, columns = tables["lane"]["lane"], tables["column"]["lane"]
    items = tables["lane"]["item"], tables["column"]["item"]
    for row in range(len(lanes)):
        for column in range(len(columns)):
            found.append((lanes[row] + columns[column], items[0][row] + items[1][column], row, column))
    table = np.array(found)
    thread, item, lane, column = table.T
    register, lsb = (item // 2, 16 * (item % 2)) if packed else (item, 0 * item)
    if shape == "16x32bx2":
        half = len(columns) // 2
        column = np.where(column >= half, column - half + split, column)
    return np.stack([thread, register]), lsb, lane, column


def _moved(compiler: Compiler, statement: Statement, step: Step, regs: Any, operand: Any, rest: tuple[Any, ...]) -> Any:
    shape, count, packed = _shape(statement)
    names = regs if is_braced(regs) else (regs,)
    if len(names) != registers(shape, count):
        raise Error(f"{statement.opcode} takes {registers(shape, count)} registers; got {len(names)}")
    split = compiler.number(rest[0]) if rest else 0
    places, lsb, lane, column = _cells_of(shape, count, packed, split)
    return names, compiler.address(operand), places, lsb, lane, column


def _warp_cells(machine: Machine, step: Step, threads: Threads, at: Array, lane: Array, column: Array) -> list[Any]:
    """(threads of the warp, CTA, lanes, columns) of each warp; a warp reaches 32 lanes of its own."""
    warps = threads.warps()
    if warps is None:
        raise Error(f"line {step.line}: {step.text}: not all lanes of the warp execute it; "
                    f"{machine.launch.thread_text(machine, int(threads.number[0]))}")  # fmt: skip
    found = []
    base = at.reshape(-1, 32)[:, 0]
    for number, address in zip(warps, base.tolist()):
        quarter = int(machine.inner_of[number[0]]) // 32 % 4
        first = address >> 16 & 0xFFFF
        if first // 32 != quarter:
            machine.launch.find(
                "tensor memory",
                step,
                f"warp {int(machine.inner_of[number[0]]) // 32} reaches the lanes "
                f"{32 * quarter} to {32 * quarter + 31}; the address says lane {first}",
                number,
            )
        found.append((number, int(machine.cta_of[number[0]]), first + lane, (address & 0xFFFF) + column, quarter))
    return found


def _load(compiler: Compiler, statement: Statement, step: Step) -> None:
    names, address, places, lsb, lane, column = _moved(
        compiler, statement, step, statement.operands[0], statement.operands[1], statement.operands[2:]
    )
    step.critical = frozenset(compiler.accessed[0])
    sinks = [compiler.sink(name, "b32") for name in names]

    def run(machine: Machine, threads: Threads) -> None:
        memory = machine.tensor_memory
        at = address(machine, threads)
        files = []
        for number, cta, lanes, columns, quarter in _warp_cells(machine, step, threads, at, lane, column):
            used = np.unique(columns)
            memory.check(step, int(number[0]), cta, np.array([quarter]), used, True)
            kept = np.minimum(columns, COLUMNS - 1), np.minimum(lanes, LANES - 1)
            if not memory.written[cta, kept[1], kept[0]].all():
                machine.launch.find("uninitialised", step, "reads Tensor Memory that nothing has written", number)
            file = np.zeros((32, len(names)), np.uint32)
            np.bitwise_or.at(file, tuple(places), _shifted(memory.cells[cta, kept[1], kept[0]], lsb))
            files.append(file)
        whole = np.concatenate(files)
        for register, sink in enumerate(sinks):
            sink(machine, threads, whole[:, register].copy())

    step.run = run


def _shifted(cells: Array, lsb: Array) -> Array:
    if not lsb.any():
        return cells
    return (cells & np.uint32(0xFFFF)) << lsb.astype(np.uint32)


def _store(compiler: Compiler, statement: Statement, step: Step) -> None:
    operand, *rest = statement.operands
    regs = rest.pop()
    names, address, places, lsb, lane, column = _moved(compiler, statement, step, regs, operand, tuple(rest))
    step.critical = frozenset(compiler.accessed[0])
    getters = [compiler.source(name, "b32") for name in names]

    def run(machine: Machine, threads: Threads) -> None:
        memory = machine.tensor_memory
        at = address(machine, threads)
        values = np.stack([np.broadcast_to(one(machine, threads), (len(threads),)) for one in getters], 1).reshape(
            -1, 32, len(names)
        )
        for at_warp, (number, cta, lanes, columns, quarter) in enumerate(
            _warp_cells(machine, step, threads, at, lane, column)
        ):
            used, quarters = np.unique(columns), np.array([quarter])
            memory.check(step, int(number[0]), cta, quarters, used, False)
            found = values[at_warp][tuple(places)]
            if lsb.any() or len(np.unique(lsb)) > 1:
                found = found >> lsb.astype(np.uint32) & np.uint32(0xFFFF)
            index = np.ix_(np.array([cta]), quarters, used[used < COLUMNS])
            memory.busy[index] += 1
            memory.step[index] = step.index
            memory.stores.setdefault(int(number[0]) // 32, []).append(
                _late_store(
                    machine,
                    step,
                    cta,
                    np.minimum(lanes, LANES - 1),
                    np.minimum(columns, COLUMNS - 1),
                    found,
                    index,
                    quarters,
                    used[used < COLUMNS],
                    int(number[0]),
                )
            )

    step.run = run


def _late_store(  # noqa: PLR0913
    machine: Machine, step: Step, cta: int, lanes: Array, columns: Array, values: Array, index: Any, quarters: Array,
    used: Array, thread: int,
) -> Callable[[], None]:  # fmt: skip
    def arrive() -> None:
        memory = machine.tensor_memory
        memory.cells[cta, lanes, columns] = values
        memory.written[cta, lanes, columns] = True
        memory.busy[index] -= 1
        member = int(machine.member_of[thread])
        memory.note(step, cta, quarters, used, member, int(machine.order.clock[machine.team_of[thread], member]))

    return arrive


# --- products and copies ---


def _commit(compiler: Compiler, statement: Statement, step: Step) -> None:
    from .bulk import _shared_address

    operand, *rest = statement.operands
    address = _shared_address(compiler, statement, operand)
    mask = compiler.source(rest[0], "u16") if rest else None
    step.critical = frozenset(compiler.accessed[0])

    def run(machine: Machine, threads: Threads) -> None:
        at = address(machine, threads)
        masks = np.broadcast_to(mask(machine, threads), (len(threads),)) if mask else np.zeros(len(threads), int)
        for number, thread in enumerate(threads.number.tolist()):
            one = threads.where(threads.number == thread)
            targets = [int(at[number])] if not masks[number] else [
                (rank + 1) << 24 | int(at[number]) & 0xFFFFFF for rank in range(16) if int(masks[number]) >> rank & 1
            ]  # fmt: skip
            places = [int(machine.shared_places(step, one, np.array([target]), 8)[0]) for target in targets]
            queue = machine.tensor_memory.queues.pop(thread, [])
            barriers = [machine.asynchronous.barrier(step, thread, place) for place in places]
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
                for earlier, phase in known.items():
                    clocks[earlier] = max(clocks[earlier], phase)
                if agent is not None:
                    known[agent] = clock
                for place in places:
                    machine.asynchronous.arrive(step, thread, place, 1, release=clocks)

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
    ) -> None:
        self.machine, self.step, self.thread, self.carry_out, self.cells, self.reads = (
            machine,
            step,
            thread,
            carry_out,
            cells,
            reads,
        )
        self.number = machine.asynchronous.next
        machine.asynchronous.next += 1
        memory = machine.tensor_memory
        for cta, quarters, columns in cells:
            index = np.ix_(np.array([cta]), quarters, columns)
            memory.busy[index] += 1
            memory.step[index] = step.index
        for granules in reads:
            machine.begin_reading(granules, self.number)

    def __call__(self, agent: int | None = None, clock: int = 0) -> None:
        machine, memory = self.machine, self.machine.tensor_memory
        self.carry_out()
        member = int(machine.member_of[self.thread])
        for cta, quarters, columns in self.cells:
            memory.busy[np.ix_(np.array([cta]), quarters, columns)] -= 1
            memory.note(self.step, cta, quarters, columns, agent if agent is not None else member, clock)
        for granules in self.reads:
            machine.end_reading(granules, self.number)


def _copy(compiler: Compiler, statement: Statement, step: Step) -> None:
    """tcgen05.cp: a box of shared memory into Tensor Memory."""
    words = [word for word in statement.modifiers[1:] if not word.startswith("cta_group")]
    shape = ".".join(words)
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
            offsets = matrix_offsets(code, rows, columns, 32, False, _mode(step, code))
            first, base = int(at[number]) >> 16 & 0xFFFF, int(at[number]) & 0xFFFF
            for cta in (own & ~1, own | 1) if pair else (own,):
                places = cta * machine.shared_size + offsets
                granules = np.unique(places.reshape(-1) // machine.granule)
                machine.check_async_read(step, thread, granules)
                used = np.unique(base + column)
                quarters = np.unique((first + lane) // 32)

                def carry_out(cta: int = cta, places: Array = places, first: int = first, base: int = base) -> None:
                    data = np.ascontiguousarray(machine.shared[places[..., None] + np.arange(4)]).view(np.uint32)[
                        ..., 0
                    ]
                    memory = machine.tensor_memory
                    memory.cells[cta, first + lane, base + column] = data[row, word]
                    memory.written[cta, first + lane, base + column] = True

                machine.tensor_memory.queues.setdefault(thread, []).append(
                    _Operation(machine, step, thread, carry_out, [(cta, quarters, used)], [granules])
                )

    step.run = run


def _mode(step: Step, descriptor: int) -> tuple[int, int]:
    mode = MODES.get(descriptor >> 61)
    if mode is None:
        raise Error(f"line {step.line}: {step.text}: the swizzle {descriptor >> 61} of the descriptor is not covered")
    return mode


_FIXED = {"cta_group::1", "cta_group::2"}


def _multiply(compiler: Compiler, statement: Statement, step: Step) -> None:
    """tcgen05.mma of every kind: operands in the order of PTX ISA 9.7.16.10.9."""
    words = [word for word in statement.modifiers if not word.startswith("collector") and word != "ashift"]
    if "ashift" in statement.modifiers or "ws" in words:
        raise Error(f"{statement.opcode} is not covered")
    inst: Any = instruction(compiler.program.target, ".".join(("tcgen05", *words)))
    kind = inst.form.kind
    d, a, b, *rest = statement.operands
    metadata = compiler.address(rest.pop(0)) if inst.sparse else None
    idesc = compiler.source(rest.pop(0), "b32")
    scales = [compiler.address(rest.pop(0)) for _ in range(2)] if inst.scaled else []
    lane_masks: Any = rest.pop(0) if rest and is_braced(rest[0]) else ()
    masks = [compiler.source(one, "b32") for one in lane_masks]
    accumulates = compiler.source(rest.pop(0), "pred")
    if rest and not (isinstance(rest[0], Number) and rest[0].value == 0):
        raise Error(f"{statement.opcode}: scale-input-d is not covered")
    target = compiler.address(d)
    left = compiler.address(a) if isinstance(a, Address) else compiler.source(a, "b64")
    in_tensor_memory = isinstance(a, Address)
    right = compiler.source(b, "b64")
    step.critical = frozenset(compiler.accessed[0])
    pair = "cta_group::2" in words
    compiler.sizes.add(1 if kind not in ("f16", "tf32") else 2)

    def run(machine: Machine, threads: Threads) -> None:
        count = len(threads)

        def each(getter: Any) -> Array:
            return np.broadcast_to(getter(machine, threads), (count,))

        given = [each(one) for one in (target, left, right, idesc, accumulates)]
        more = [each(one) for one in (*scales, *([metadata] if metadata else []))]
        lanes = [each(one) for one in masks]
        for number, thread in enumerate(threads.number.tolist()):
            values = [int(one[number]) for one in (*given, *more)]
            mask = [int(one[number]) for one in lanes]
            _product(machine, step, thread, inst, kind, pair, in_tensor_memory, values, mask)

    step.run = run


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


def _product(  # noqa: C901, PLR0913, PLR0915
    machine: Machine, step: Step, thread: int, inst: Any, kind: str, pair: bool, a_in_cells: bool, values: list[int],
    mask: list[int],
) -> None:  # fmt: skip
    d, left, right, word, accumulates, *more = values
    shaped, fields = _shaped(step, inst, kind, word)
    own = int(machine.cta_of[thread])
    ctas = [own & ~1, own | 1] if pair else [own]
    parameters: dict[str, int] = {"half": d >> 20 & 1}
    if inst.scaled:
        parameters |= {"scale_id_a": fields.get("scale_id_a", 0), "scale_id_b": fields.get("scale_id_b", 0)}
    if inst.sparse:
        parameters["selector"] = fields.get("selector", 0)
    execution = execution_of(shaped, None, parameters, bool(fields.get("saturate", 0)), False)
    places = {
        name: execution.places(name)
        for name in (
            "D",
            *(("A",) if a_in_cells else ()),
            *(("SA", "SB") if inst.scaled else ()),
            *(("K",) if inst.sparse else ()),
        )
    }
    starts = {"D": d & 0xFFFF}
    if a_in_cells:
        starts["A"] = left & 0xFFFF
    for name, address in zip([*(("SA", "SB") if inst.scaled else ()), *(("K",) if inst.sparse else ())], more):
        starts[name] = address & 0xFFFF
    reads: list[Array] = []
    matrices: dict[str, Array] = {}
    halves = len(ctas)
    depth = shaped.k // (2 if inst.sparse else 1)
    for name, code, rows, k, turned in (
        ("A", left, shaped.m, depth, fields.get("transpose_a", 0)),
        ("B", right, shaped.n, shaped.k, fields.get("transpose_b", 0)),
    ):
        if name == "A" and a_in_cells:
            continue
        bits = _shared_bits(kind, shaped, name)
        offsets = matrix_offsets(code, rows // halves, k, bits, bool(turned), _mode(step, code))
        found = np.concatenate([cta * machine.shared_size + offsets for cta in ctas])
        matrices[name] = found
        granules = np.unique(
            np.concatenate([found.reshape(-1), found.reshape(-1) + max(1, bits // 8) - 1]) // machine.granule
        )
        machine.check_async_read(step, thread, granules)
        reads.append(granules)
    columns = np.arange(starts["D"], min(COLUMNS, starts["D"] + places["D"].registers))
    quarters = np.unique(places["D"].lane % LANES // 32)
    memory = machine.tensor_memory
    for cta in ctas:
        _may_multiply(memory, step, thread, cta, quarters, columns)
        for name in starts:
            if name != "D":
                used = np.arange(starts[name], min(COLUMNS, starts[name] + places[name].registers))
                memory.check(step, thread, cta, np.arange(4), used, True)
    signs = {"A": fields.get("negate_a", 0), "B": fields.get("negate_b", 0)}

    def carry_out() -> None:
        def cells(name: str) -> Array:
            start = starts[name]
            whole = np.concatenate([memory.cells[cta] for cta in ctas])
            return np.swapaxes(whole[: places[name].lanes, start : start + places[name].registers], 0, 1)

        codes: dict[str, Array] = {}
        for name, found in matrices.items():
            bits = _shared_bits(kind, shaped, name)
            codes[name] = _elements(machine, found, bits, shaped.format(name).bits, kind)
            if signs[name]:
                codes[name] = codes[name] ^ codes[name].dtype.type(1 << shaped.format(name).bits - 1)
        if "B" in codes:
            codes["B"] = codes["B"].T
        for name in starts:
            if name != "D":
                codes[name] = gather(cells(name), places[name])
        file = cells("D")
        old = gather(file, places["D"])
        codes["C"] = old if accumulates else np.zeros_like(old)
        if accumulates and not all(memory.written[cta][:, columns].any() for cta in ctas):
            machine.launch.find(
                "uninitialised", step, "accumulates on Tensor Memory that nothing has written", np.array([thread])
            )
        result = compute(execution, codes, rearrange=False)
        fresh = np.ascontiguousarray(file)
        scatter(fresh, result, places["D"])
        whole = np.swapaxes(fresh, 0, 1)
        touched = np.zeros(places["D"].lanes, bool)
        touched[np.unique(places["D"].lane)] = True
        if mask:
            off = np.array([word >> bit & 1 for word in mask for bit in range(32)], bool)
            touched &= ~np.resize(off, len(touched))
        for at, cta in enumerate(ctas):
            rows = np.flatnonzero(touched[at * LANES : (at + 1) * LANES])
            memory.cells[cta][np.ix_(rows, columns)] = whole[at * LANES + rows][:, : len(columns)]
            memory.written[cta][np.ix_(rows, columns)] = True

    queue = memory.queues.setdefault(thread, [])
    queue.append(_Operation(machine, step, thread, carry_out, [(cta, quarters, columns) for cta in ctas], reads))
    machine.launch.count_matrix(step, 1)


def _may_multiply(memory: TensorMemory, step: Step, thread: int, cta: int, quarters: Array, columns: Array) -> None:
    """As `check`, but products of one thread on one accumulator follow each other."""
    index = np.ix_(np.array([cta]), quarters, columns)
    own = any(product.thread == thread for product in memory.queues.get(thread, []))
    if memory.busy[index].any() and (
        own or memory.machine.program.steps[int(memory.step[index].max())].statement.modifiers[:1] == ("mma",)
    ):
        return
    memory.check(step, thread, cta, quarters, columns, False, own=True)


def _shared_bits(kind: str, shaped: Any, name: str) -> int:
    """The bits of an element in shared memory: those of kind::f8f6f4 and mxf8f6f4 are in bytes."""
    return 8 if kind in ("f8f6f4", "mxf8f6f4") else int(shaped.format(name).bits)


def _elements(machine: Machine, places: Array, slot: int, bits: int, kind: str) -> Array:
    """The encodings at places (row, depth) of shared memory."""
    size = max(1, slot // 8)
    codes = np.ascontiguousarray(machine.shared[places[..., None] + np.arange(size)]).view(f"u{size}")[..., 0]
    if slot == 4:
        half = np.arange(places.shape[1]) & 1
        return codes >> (4 * half).astype(np.uint8) & np.uint8(15)
    if bits < slot:
        codes = (codes >> np.uint8(2 if bits == 4 else 0)) & np.uint8((1 << bits) - 1)
    return codes


BUILDERS = {"tcgen05": _build}
