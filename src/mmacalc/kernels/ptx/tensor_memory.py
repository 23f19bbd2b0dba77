"""Tensor Memory and tcgen05 (PTX ISA 9.7.16): allocation, loads and stores, copies, products.

Products run in the order in which a thread issues them, when the mbarrier that its tcgen05.commit names is waited
for, the latest that PTX permits; stores arrive at tcgen05.wait::st. Who reads cells must know of the write: through
the mbarrier, or through a barrier after the wait. Layouts and arithmetic are the catalog's. Registers of tcgen05.ld
that are read before tcgen05.wait::ld, and tcgen05.fence where it lacks (`tensor_fences`), are notes: compilers do so
without known effect.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...base.errors import Error
from ...families.tensor_memory import COLUMNS, LANES, load_layout, registers
from ...ptx.module import count_of, is_braced
from .accesses import SHARED_BASE
from .arithmetic import least_or_greatest
from .floats import finished
from .operation import DTYPES
from .order import span
from .tensor_commits import BAND, BANDS, cells_of, commit, complete_queues
from .tensor_fences import AFTER, BEFORE, ThreadFences
from .tensor_products import copy, multiply, shift
from .tensor_unread import TensorUnread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ...ptx.module import Statement
    from .compiler import Compiler
    from .machine import Machine
    from .program import Step
    from .threads import Threads

    Array = NDArray[Any]

__all__ = ["BUILDERS", "TensorMemory"]


class _Reads:
    """Columns that a warp has loaded by a statement: its threads, and their clocks at the end of the load (tcgen05.wait
    ::ld); None while that is in flight."""

    __slots__ = ("clocks", "columns", "number", "step")

    clocks: Array | None

    def __init__(self, step: Step, number: Array, columns: Array, clocks: Array | None) -> None:
        self.step, self.number, self.columns, self.clocks = step, number, columns, clocks


class TensorMemory:
    """The cells of every CTA, what is allocated, who wrote them, and the operations in flight."""

    allocations: int

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.cells: Array = np.zeros((machine.ctas, LANES, COLUMNS), np.uint32)
        self.written: Array = np.zeros((machine.ctas, LANES, COLUMNS), bool)
        self.owner: Array = np.zeros((machine.ctas, COLUMNS), np.int32)
        self.relinquished: Array = np.zeros(machine.ctas, bool)
        # By CTA, band of 16 lanes, and column: who wrote last, at which clock, by which statement; operations in
        # flight. A product of 64 rows has half of each 32 lanes; another may have the other half of the same columns.
        shape = (machine.ctas, BANDS, COLUMNS)
        self.writer: Array = np.full(shape, -1, np.int32)
        self.clock: Array = np.zeros(shape, np.int32)
        self.step: Array = np.zeros(shape, np.int32)
        self.busy: Array = np.zeros(shape, np.int32)
        self.reading: Array = np.zeros(shape, np.int32)  # of operations in flight that read: A, scales, metadata
        self.readers: list[tuple[int, int, Array, Step]] = []  # of these: thread, CTA, columns, statement
        self.queues: dict[int, list[Any]] = {}  # issuing thread -> products that are not committed
        self.piped: dict[int, dict[int, Any]] = {}  # issuing thread -> its copies and shifts in flight, by number
        # Issuing thread -> agents of the mbarriers that its commits named, and the last phase that they completed.
        self.commits: dict[int, dict[int, int]] = {}
        # Warp -> stores that are not waited for, and its place among their warps.
        self.stores: dict[int, list[tuple[_Stores, int]]] = {}
        # By CTA and band of lanes, the loads since the last write: by warp and statement, their columns and the clocks
        # of the warp's threads.
        self.reads: dict[tuple[int, int], dict[tuple[int, int], _Reads]] = {}
        self.loading: dict[int, list[_Reads]] = {}  # warp -> loads that are not waited for
        # Compilers take a load as complete where its registers are used, without tcgen05.wait::ld.
        self.used_early: set[int] = {step.index for step in machine.program.early_reads()}
        self.fences: ThreadFences = ThreadFences(machine.order)
        self.unread: TensorUnread = TensorUnread(machine.launch.cells, self.cells)
        self.allocations = 0
        self.made: dict[int, tuple[Step, Array]] = {}  # allocation -> its statement and threads

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
            self.made[self.allocations] = step, threads.number[mine]
            self.owner[cta, free[0] : free[0] + columns] = self.allocations
            self.written[cta, :, free[0] : free[0] + columns] = False
            first = threads.where(mine & (threads.lane == 0))
            place = places[mine & (threads.lane == 0)]
            machine.write_shared(step, first, place, np.array([[free[0]]], np.uint32).view(np.uint8))
            machine.events += 1
        return waiting if waiting.any() else None

    def has_read(self, step: Step, number: Array, cta: int, bands: Array, columns: Array) -> None:
        """A warp loads columns of bands of the lanes."""
        reads = _Reads(step, number, columns, None)
        for band in bands.tolist():
            self.reads.setdefault((cta, band), {})[int(number[0]), step.index] = reads
        self.loading.setdefault(int(number[0]) // 32, []).append(reads)
        if step.index in self.used_early:
            self.loaded(int(number[0]) // 32)

    def loaded(self, warp: int) -> None:
        """tcgen05.wait::ld of a warp."""
        order, machine = self.machine.order, self.machine
        for reads in self.loading.pop(warp, []):
            reads.clocks = order.clock[machine.team_of[reads.number], machine.member_of[reads.number]].copy()

    def check_reads(self, step: Step, thread: int, cta: int, bands: Array, columns: Array, does: str) -> None:
        """Whether the loads of columns that a thread overwrites or frees precede that, and operations that read them:
        those of one thread follow each other, but stores (9.7.16.6.2, pipelined instructions)."""
        machine = self.machine
        if self.reading[cells_of(cta, bands, columns)].any():
            alone = step.statement.modifiers[0] in ("mma", "cp", "shift")
            other = next((reader for who, where, used, reader in self.readers if where == cta
                          and _meet(used, columns) and not (alone and who == thread)), None)  # fmt: skip
            if other is not None:
                machine.launch.find(
                    "race", step, f"{does} Tensor Memory that an operation in flight reads: tcgen05.commit and its "
                    "mbarrier must come before", np.array([thread]), other,
                )  # fmt: skip
        for reads in self._overwritten(cta, bands, columns):
            own = np.full(len(reads.number), machine.member_of[thread])
            teams, members = np.full(len(own), machine.team_of[thread]), machine.member_of[reads.number]
            if reads.clocks is None:
                ordered = members == own
            else:
                ordered = machine.order.ordered(teams, own, members, reads.clocks)
            if reads.clocks is not None and ordered.any() and does != "frees" and not (members == own).any():
                before = np.full(int(ordered.sum()), reads.step.index)
                self._check_fences(step, thread, members[ordered], reads.clocks[ordered], before)
            if not ordered.any():
                machine.launch.find(
                    "race", step, f"{does} Tensor Memory that warp {int(machine.inner_of[reads.number[0]]) // 32} "
                    f"may still read: {'tcgen05.wait::ld, and then ' if reads.clocks is None else ''}a barrier, or "
                    "an mbarrier that it arrives at, must come in between",
                    np.array([thread]), reads.step,
                )  # fmt: skip

    def _overwritten(self, cta: int, bands: Array, columns: Array) -> list[_Reads]:
        """The loads of columns of bands of the lanes, each once, which are then forgotten there."""
        found: dict[int, _Reads] = {}
        for band in bands.tolist():
            known = self.reads.get((cta, band), {})
            for key in [key for key, reads in known.items() if _meet(reads.columns, columns)]:
                reads = known.pop(key)
                found[id(reads)] = reads
        return list(found.values())

    def free(self, step: Step, threads: Threads, address: Array, columns: int) -> None:
        machine = self.machine
        for cta in np.unique(threads.cta).tolist():
            start = int(address[threads.cta == cta][0]) & 0xFFFF
            thread = int(threads.number[threads.cta == cta][0])
            freed, bands = np.arange(start, min(start + columns, COLUMNS)), np.arange(BANDS)
            if (self.owner[cta, freed] != 0).all():
                self.check(step, thread, cta, bands, freed, False, does="frees")
                self.check_reads(step, thread, cta, bands, freed, "frees")
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

    def allocated(self, step: Step, thread: int, cta: int, columns: Array) -> bool:
        """Whether columns are allocated; if not, that is a finding."""
        inside = columns < COLUMNS
        if inside.all() and (self.owner[cta, columns] != 0).all():
            return True
        self.machine.launch.find("tensor memory", step, "touches columns that are not allocated", np.array([thread]))
        return False

    def quiet(self, threads: Array, ctas: Array, bands: Array, columns: Array) -> Array:
        """Of threads, each with CTAs (thread, CTA) of its own, whether it is plain that a product of theirs may write
        cells: no other operation or load touches them, and their last write is of the thread's own operations, in
        flight or complete. Where it is not, `check_reads` and `check` are to be asked."""
        part = slice(int(columns[0]), int(columns[-1]) + 1)
        index = ctas[..., None], bands, part

        def of_one(array: Array) -> tuple[Array, Array]:
            found = array[index].reshape(len(threads), -1)
            return found[:, 0], (found == found[:, :1]).all(axis=1)

        (writer, same), (clock, at_once) = of_one(self.writer), of_one(self.clock)
        busy: Any = self.busy[index].any(axis=(2, 3))
        fine: Array = (busy == busy[:, :1]).all(axis=1)
        fine &= ~self.reading[index].any(axis=(1, 2, 3)) & (self.owner[:, part][ctas] != 0).all(axis=(1, 2))
        for at, thread in enumerate(threads.tolist()):
            known = self.commits.get(thread, {}).get(int(writer[at]), -1) >= clock[at]
            own = bool(self.queues.get(thread)) if busy[at, 0] else bool(same[at] and at_once[at] and known)
            loads = [self.reads.get((cta, band)) for cta in ctas[at].tolist() for band in bands.tolist()]
            fine[at] &= own and not any(loads)
        return fine

    def fine(self, step: Step, threads: Array, index: tuple[Array, Array, Any]) -> Array:
        """Of threads, each of which touches cells (CTA, bands, columns), with the same columns for all, whether it is
        plain that they may: what `check` says of them is said. Where it is not, `check` is to be asked."""
        ctas, part = index[0][:, 0], index[2]
        if not isinstance(part, slice) or part.stop > COLUMNS:
            return np.zeros(len(threads), bool)
        writers, clocks, steps = (one[index].reshape(len(threads), -1) for one in (self.writer, self.clock, self.step))
        found: Array = (self.owner[ctas, part] != 0).all(axis=1) & ~self.busy[index].any(axis=(1, 2))
        for one in (writers, clocks, steps):
            found &= (one == one[:, :1]).all(axis=1)
        writer, clock, before = writers[:, 0], clocks[:, 0], steps[:, 0]
        team, member = self.machine.team_of[threads], self.machine.member_of[threads]
        apart = (writer >= 0) & (writer != member)
        found &= ~apart | self.machine.order.ordered(team, member, np.maximum(writer, 0), clock)
        for at in np.flatnonzero(found & apart).tolist():
            one = slice(at, at + 1)
            self._check_fences(step, int(threads[at]), writer[one], clock[one], before[one])
        return found

    def not_loaded(self, index: tuple[Array, Array, Any]) -> bool:
        """Whether no load, and no operation in flight, has read cells (CTA, bands, columns) since their last write."""
        ctas, bands, _ = index
        places = zip(np.repeat(ctas[:, 0], bands.shape[1]).tolist(), bands.reshape(-1).tolist())
        return not self.reading[index].any() and not any(self.reads.get(place) for place in places)

    def check(  # noqa: PLR0913
        self, step: Step, thread: int, cta: int, bands: Array, columns: Array, reads: bool, own: bool = False,
        does: str = "",
    ) -> None:  # fmt: skip
        """Whether a thread may touch cells: they are allocated, at rest, and their last write is known to it.
        `own`: what the thread's own products wrote is, too, because they follow each other."""
        machine = self.machine
        number = np.array([thread])
        if not self.allocated(step, thread, cta, columns):
            return
        index = cells_of(cta, bands, columns)
        busy = self.busy[index]
        if busy.any():
            other = machine.program.steps[int(self.step[index].max())]
            machine.launch.find(
                "wait",
                step,
                f"{does or 'touches'} Tensor Memory that an operation in flight writes: tcgen05.commit and its "
                "mbarrier, or tcgen05.wait::st, must come before",
                number,
                other,
            )
            return
        writer, clock = self.writer[index].reshape(-1), self.clock[index].reshape(-1)
        team = np.full(len(writer), machine.team_of[thread])
        member = np.full(len(writer), machine.member_of[thread])
        apart = (writer >= 0) & (writer != member)
        if own:
            for agent, phase in self.commits.get(thread, {}).items():
                apart &= (writer != agent) | (clock > phase)
        wrong = apart & ~machine.order.ordered(team, member, np.maximum(writer, 0), clock)
        apart &= ~wrong
        if apart.any() and not does:
            self._check_fences(step, thread, writer[apart], clock[apart], self.step[index].reshape(-1)[apart])
        if wrong.any():
            other = machine.program.steps[int(self.step[index].reshape(-1)[wrong][0])]
            does = does or ("reads" if reads else "writes")
            machine.launch.find("race", step, f"{does} Tensor Memory that another thread or operation wrote without "
                                "synchronisation in between", number, other)  # fmt: skip

    def _check_fences(self, step: Step, thread: int, agent: Array, clock: Array, before: Array) -> None:
        """Whether tcgen05.fence stands on both sides of what orders a thread behind other agents' operations: these
        were done at clocks, by statements with the indices `before`. Of several lanes of a warp one is enough."""
        machine = self.machine
        after, unannounced = self.fences.lacking(
            int(machine.team_of[thread]), int(machine.member_of[thread]), agent, clock
        )
        for index in np.unique(before).tolist():
            mine = before == index
            if after[mine].all():
                machine.launch.remark(step, AFTER)
            if unannounced[mine].all():
                machine.launch.remark(machine.program.steps[index], BEFORE)

    def finish(self) -> None:
        """Complete what is in flight at the end of the launch; columns that are not freed are findings."""
        complete_queues([(queue, (thread, None, 0)) for thread, queue in self.queues.items()])
        self.queues = {}
        self.settle(list(self.stores))
        self.unread.finish()
        for allocation in np.unique(self.owner[self.owner > 0]).tolist():
            step, number = self.made[allocation]
            self.machine.launch.find("tensor memory", step, "allocates columns that are never freed: tcgen05.dealloc "
                                     "must come before the CTA ends", number)  # fmt: skip

    def settle(self, warps: list[int]) -> None:
        """tcgen05.wait::st of warps: stores of one statement arrive together."""
        queues = [self.stores.pop(warp, []) for warp in warps]
        while queues := [queue for queue in queues if queue]:
            heads: dict[int, tuple[_Stores, list[int]]] = {}
            for store, at in [queue.pop(0) for queue in queues]:
                heads.setdefault(id(store), (store, []))[1].append(at)
            for store, places in heads.values():
                store.arrive(np.array(places))


def _meet(some: Array, others: Array) -> bool:
    """Whether columns, both ascending, have one in common."""
    if not len(some) or not len(others) or some[-1] < others[0] or others[-1] < some[0]:
        return False
    return (isinstance(span(some), slice) and isinstance(span(others), slice)) or bool(np.isin(some, others).any())


# --- builders ---


def _build(compiler: Compiler, statement: Statement, step: Step) -> None:
    what = statement.modifiers[0].partition("::")[0]
    builder = {
        "alloc": _alloc, "dealloc": _dealloc, "relinquish_alloc_permit": _relinquish, "ld": _load, "st": _store,
        "wait": _wait, "fence": _fence, "commit": commit, "mma": multiply, "cp": copy,
        "shift": shift,
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
    """tcgen05.fence: see `tensor_fences`."""
    words = statement.modifiers
    if words not in (("fence::before_thread_sync",), ("fence::after_thread_sync",)):
        raise Error(f"{statement.opcode} is not covered")
    before = words[0] == "fence::before_thread_sync"

    def run(machine: Machine, threads: Threads) -> None:
        fences = machine.tensor_memory.fences
        (fences.release if before else fences.acquire)(threads.team, threads.member)
        machine.asynchronous.relaxed.fence(threads, not before, before)

    step.run = run


def _wait(compiler: Compiler, statement: Statement, step: Step) -> None:
    if statement.modifiers[0] == "wait::st":

        def run(machine: Machine, threads: Threads) -> None:
            machine.tensor_memory.settle(np.unique(threads.number // 32).tolist())

    else:

        def run(machine: Machine, threads: Threads) -> None:
            for warp in np.unique(threads.number // 32).tolist():
                machine.tensor_memory.loaded(warp)

    step.run = run


def _shape(statement: Statement) -> tuple[str, int, bool]:
    """Shape, .xN and whether halves are packed."""
    words = statement.modifiers
    shape = next((word for word in words if word[:1].isdigit()), "")
    count = next((count_of(word[1:]) for word in words if word[:1] == "x" and word[1:].isdigit()), 0)
    known = {"ld", "st", "sync", "aligned", shape, f"x{count}", "b32", "pack::16b", "unpack::16b"}
    if words[1:2] == ("red",):  # with the reduction of each thread's values
        known |= {"red", "min", "max", "abs", "NaN", "f32", "u32", "s32"}
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
    """(threads of the warp, CTA, lanes, columns, bands of lanes) of each warp; a warp reaches 32 lanes of its own."""
    warps = threads.whole_warps(step)
    found = []
    low, high = int(lane.min()), int(lane.max())
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
        bands = np.arange(min(first + low, LANES - 1) // BAND, min(first + high, LANES - 1) // BAND + 1)
        found.append((number, int(machine.cta_of[number[0]]), first + lane, (address & 0xFFFF) + column, bands))
    return found


def _load(compiler: Compiler, statement: Statement, step: Step) -> None:
    regs, *operands = statement.operands
    reduced = operands.pop(0) if statement.modifiers[1] == "red" else None
    names, address, places, lsb, lane, column = _moved(
        compiler, statement, step, regs, operands[0], tuple(operands[1:])
    )
    step.critical = frozenset(compiler.accessed[0])
    sinks = [compiler.sink(name, "b32") for name in names]
    reduce = _reduction(compiler, statement, reduced) if reduced is not None else None
    packed = bool(lsb.any())

    def run(machine: Machine, threads: Threads) -> None:
        memory = machine.tensor_memory
        at = address(machine, threads)
        warps = _warp_cells(machine, step, threads, at, lane, column)
        ctas = np.array([cta for _, cta, *_ in warps])[:, None]
        index = (ctas, np.minimum(np.stack([lanes for _, _, lanes, *_ in warps]), LANES - 1),
                 np.minimum(np.stack([columns for *_, columns, _ in warps]), COLUMNS - 1))  # fmt: skip
        written = memory.written[index].all(axis=1).tolist()
        plain = _plain(memory, step, warps)[0].tolist()
        for (number, cta, _, columns, bands), whole, fine in zip(warps, written, plain):
            used = _distinct(columns)
            if not fine:
                memory.check(step, int(number[0]), cta, bands, used, True)
            memory.has_read(step, number, cta, bands, used)
            memory.unread.read(cells_of(cta, bands, used[used < COLUMNS]))
            if not whole:
                machine.launch.find("uninitialised", step, "reads Tensor Memory that nothing has written", number)
        file = np.zeros((len(names), len(warps), 32), np.uint32)
        lane_of, register = places
        cells = memory.cells[index]
        if packed:  # two cells in a register
            halves: Any = (register, slice(None), lane_of)
            np.bitwise_or.at(file, halves, _shifted(cells, lsb).T)
        else:
            file[register, :, lane_of] = cells.T
        for register_of, sink in zip(file.reshape(len(names), -1), sinks):
            sink(machine, threads, register_of)
        if reduce is not None:
            reduce(machine, threads, file.reshape(len(names), -1).T)

    step.run = run


def _plain(memory: TensorMemory, step: Step, warps: list[Any]) -> tuple[Array, tuple[Array, Array, Any]]:
    """Of warps, by `_warp_cells`, what `TensorMemory.fine` says, and the cells (CTA, bands, columns) that they touch;
    where they touch different columns or numbers of bands, of none that it is plain."""
    used, bands = [_distinct(columns) for *_, columns, _ in warps], [band for *_, band in warps]
    many = min(map(len, bands))
    index = np.array([cta for _, cta, *_ in warps])[:, None], np.stack([one[:many] for one in bands]), span(used[0])
    if any(one is not used[0] for one in used) or many < max(map(len, bands)):
        return np.zeros(len(warps), bool), index
    return memory.fine(step, np.array([int(number[0]) for number, *_ in warps]), index), index


def _distinct(columns: Array) -> Array:
    """The columns that an access touches, ascending; most warps touch the same."""
    found: Array = _distinct_of(columns.tobytes())
    return found


@lru_cache(maxsize=64)
def _distinct_of(columns: bytes) -> Array:
    found: Array = np.unique(np.frombuffer(columns, np.int64))
    found.setflags(write=False)
    return found


def _reduction(compiler: Compiler, statement: Statement, operand: Any) -> Any:
    """tcgen05.ld.red: the least or greatest of the values that a thread loads (9.7.16.8.1)."""
    words = statement.modifiers
    kind = "min" if "min" in words else "max"
    type_ = next(word for word in words if word in ("f32", "u32", "s32"))
    sink, dtype = compiler.sink(operand, type_), DTYPES[type_]
    absolute, nan = "abs" in words, "NaN" in words

    def put(machine: Machine, threads: Threads, file: Array) -> None:
        values = [np.ascontiguousarray(file[:, place]).view(dtype) for place in range(file.shape[1])]
        if type_ == "f32":
            found = finished(least_or_greatest(kind, nan, absolute, False)(*values), False, False)
        else:
            found = (np.minimum if kind == "min" else np.maximum).reduce(values)
        sink(machine, threads, found)

    return put


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
        )[(slice(None), *places)]
        if lsb.any() or len(np.unique(lsb)) > 1:
            values = values >> lsb.astype(np.uint32) & np.uint32(0xFFFF)
        warps = _warp_cells(machine, step, threads, at, lane, column)
        fine = np.zeros(len(warps), bool)
        if len({(cta, int(bands[0])) for _, cta, *_, bands in warps}) == len(warps):
            fine, index = _plain(memory, step, warps)
            if fine.all() and memory.not_loaded(index):
                _Stores(machine, step, warps, index, values).issue()
                return
        for one, given, plain in zip(warps, values, fine.tolist()):
            number, cta, _, columns, bands = one
            used = _distinct(columns)
            if not plain:  # else what is to be said of it is said
                memory.check(step, int(number[0]), cta, bands, used, False)
            used = used[used < COLUMNS]
            memory.check_reads(step, int(number[0]), cta, bands, used, "writes")
            _Stores(machine, step, [one], (np.array([[cta]]), bands[None], span(used)), given[None]).issue()

    step.run = run


class _Stores:
    """A tcgen05.st of warps, by `_warp_cells`, that touches cells (CTA, bands, columns) and arrives when they wait.
    values: what each writes at each of its lanes and columns."""

    def __init__(
        self, machine: Machine, step: Step, warps: list[Any], index: tuple[Array, Array, Any], values: Array
    ) -> None:  # fmt: skip
        self.machine, self.step, self.values = machine, step, values
        self.threads: Array = np.array([int(number[0]) for number, *_ in warps])
        self.lanes: Array = np.minimum(np.stack([lanes for _, _, lanes, *_ in warps]), LANES - 1)
        self.columns: Array = np.minimum(np.stack([columns for *_, columns, _ in warps]), COLUMNS - 1)
        self.ctas, self.bands, self.part = index

    def _touched(self, at: Any) -> tuple[Array, Array, Any]:
        ctas, bands = self.ctas[at], self.bands[at]
        alike = isinstance(self.part, slice)
        return (ctas, bands, self.part) if alike else (ctas[..., None], bands[..., None], self.part)

    def issue(self) -> None:
        """The stores are in flight."""
        memory, index = self.machine.tensor_memory, self._touched(slice(None))
        memory.busy[index] += 1
        memory.step[index] = self.step.index
        for at, thread in enumerate(self.threads.tolist()):
            memory.stores.setdefault(thread // 32, []).append((self, at))

    def arrive(self, at: Array) -> None:
        """Those of some warps, by their places, are there."""
        machine, memory, index = self.machine, self.machine.tensor_memory, self._touched(at)
        cells = self.ctas[at], self.lanes[at], self.columns[at]
        memory.unread.replaced(index)
        memory.unread.wrote(index, self.step)
        memory.cells[cells] = self.values[at]
        memory.written[cells] = True
        memory.busy[index] -= 1
        team, member = machine.team_of[self.threads[at]], machine.member_of[self.threads[at]]
        memory.writer[index], memory.clock[index] = (
            member[:, None, None],
            machine.order.clock[team, member][:, None, None],
        )
        memory.step[index] = self.step.index


BUILDERS = {"tcgen05": _build}
