"""Runs of instructions that the compiled core carries out in one call (steps.c).

A `Run` is as many instructions of a block as follow each other and are known to the core: what only computes
(`core_operations`), loads and stores (`local_access`, `global_moves`), matrix instructions (`products`), and waits and
hints between them. What they do is, bit for bit, what each does by itself, which stays the definition: without the
core, in another mode of rounding or under an observer each instruction is carried out by itself, and so is one that
reads what is undefined or outstanding, behind which the run goes on, and one that the core declines (a NaN results, an
access races).

Counters of outstanding accesses do not depend on what is loaded: they are advanced for a whole run before it is carried
out, up to the first instruction that touches what is outstanding. EXEC may change in a run: the core gives what it is
behind each instruction that writes it.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ...asm.tables import flags_of
from ...emulator import core
from ...emulator.core import address
from ...emulator.fragments import ROOM
from ..device.grid_races import Shadow
from ..device.shared import Labels
from .control import NOTHING
from .core_operations import Operation, computes_floats
from .global_moves import GlobalMove
from .local_access import LocalMove
from .state import EXEC, SCALARS, SCC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    _Results = tuple["Array", "Array", "Array", list[Any]]
    """What the core gives of accesses: a pattern, how many there are and whether they are entered; their places; of
    each wave the lanes; and what they are for the core."""

    from ...base.arrays import Array
    from ..device.grid_races import GridRaces
    from ..device.memory import GlobalMemory
    from ..device.shared import SharedMemory
    from .checks import Unread
    from .counters import Counters, Flight, Landing
    from .program import Step
    from .state import Group, Registers

__all__ = ["CoreWaves", "Run", "planned"]

_KINDS = ("read", "write", "atomic", "compare-and-swap", "unwaited", "unfetched", "unread")
"""Of accesses of LDS, in the order of the enum in waves.h."""
_COMPUTES, _LOADS, _STORES, _MULTIPLIES, _REACHES, _MASKS = range(6)
_EXEC = frozenset([SCALARS + EXEC, SCALARS + EXEC + 1])
_WORDS = 64
"""Words of room for each lane that runs: two numbers of 64 bits for each byte of an access."""


class _Layer(ctypes.Structure):
    """The struct Layer of waves.h."""

    _fields_ = [("waves", ctypes.c_void_p), ("labels", ctypes.c_void_p), ("used", ctypes.c_void_p)]


class _Waves(ctypes.Structure):
    """The struct Waves of waves.h."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("v", "a", "s", "rows")),
        ("count", ctypes.c_int64), ("waves", ctypes.c_int64), ("room", ctypes.c_void_p),
        ("exec", ctypes.c_int64), ("scc", ctypes.c_int64),
        ("lds", ctypes.c_void_p), ("undefined", ctypes.c_void_p), ("limit", ctypes.c_int64), ("stride", ctypes.c_int64),
        ("workgroup", ctypes.c_void_p), ("number", ctypes.c_void_p), ("layers", _Layer * 2 * len(_KINDS)),
        *((name, ctypes.c_void_p) for name in (
            "read", "writer", "values", "declined", "memory", "starts", "ends", "places", "writeable", "entered",
        )),
        ("regions", ctypes.c_int64), ("shadow", Shadow), ("first", ctypes.c_int64), ("landing", ctypes.c_void_p),
    ]  # fmt: skip


class _Item(ctypes.Structure):
    """The struct Item of steps.c."""

    _fields_ = [("kind", ctypes.c_int32), ("count", ctypes.c_int32), ("what", ctypes.c_void_p), ("out", ctypes.c_int64)]


class CoreWaves:
    """The waves of a batch, their registers and memory, as the core sees them. declined: by wave that runs, whether the
    last product is still to do."""

    declined: Array

    def __init__(self, registers: Registers) -> None:
        self._lds: SharedMemory | None = None
        self._struct = struct = _Waves(
            address(registers.v), address(registers.a), address(registers.s), None, 0, registers.waves,
            exec=EXEC, scc=SCC, first=-1,
        )  # fmt: skip
        lanes = registers.waves * registers.lanes
        self.declined = np.zeros(registers.waves, np.uint8)
        room, values = np.empty(_WORDS * lanes, np.uint32), np.empty(ROOM, np.float32)
        struct.room, struct.values, struct.declined = address(room), address(values), address(self.declined)
        self._shadow: GridRaces | None = None
        self._rows: Array = np.zeros(0, np.int64)
        self._kept: list[Array] = [room, values]
        self._version = -1
        self._landing: Array = np.zeros(0, np.uint8)
        self._lands: list[Flight] = []

    def reach(self, memory: GlobalMemory, shadow: GridRaces | None) -> None:
        """Enter global memory. shadow: who accessed what; None if that is not checked."""
        struct, regions, self._shadow = self._struct, memory.regions, shadow
        tables: dict[str, Array] = {
            "starts": np.array([one.start for one in regions], np.uint64),
            "ends": np.array([one.end for one in regions], np.uint64),
            "places": np.array([one.place for one in regions], np.int64),
            "writeable": np.array([one.writeable for one in regions], np.uint8), "memory": memory.data,
        }  # fmt: skip
        if shadow is not None:
            tables["entered"], struct.shadow = shadow.entered, shadow.shadow()
        for name, table in tables.items():
            setattr(struct, name, address(table))
        self._kept += tables.values()
        struct.regions = len(regions)

    def enter_region(self) -> bool:
        """Enter the reads of the region that a declined store is the first one to: whether there is such a region."""
        region, self._struct.first = self._struct.first, -1
        if region < 0 or self._shadow is None:
            return False
        self._shadow.enter_listed(region)
        return True

    def share(self, lds: SharedMemory, unread: Unread, workgroup_of: Array, wave_in_group: Array) -> None:
        """Enter the memory that the waves of a workgroup share."""
        struct, self._lds = self._struct, lds
        numbers, groups = (wave_in_group + 1).astype(np.uint8), np.ascontiguousarray(workgroup_of, np.int64)
        struct.workgroup, struct.number = address(groups), address(numbers)
        struct.lds, struct.undefined = address(lds.data), address(lds.undefined)
        struct.limit, struct.stride = lds.size, lds.stride
        struct.read, struct.writer = unread.places()
        self._kept += [numbers, groups]
        for kind in ("read", "write"):
            lds.races.layers_of(kind)

    def land(self, flights: list[Flight]) -> None:
        """Enter which copies between memory and LDS are outstanding: the core declines accesses of their bytes."""
        if flights == self._lands or self._lds is None:
            return
        if not len(self._landing):
            self._landing = np.zeros(len(self._lds.data), np.uint8)
        for value, some in ((0, [one for one in self._lands if one not in flights]), (1, flights)):
            for landing in [landing for one in some for landing in one.landings]:
                self._landing[landing.offsets[:, None] + np.arange(landing.size)] = value
        self._lands = flights
        self._struct.landing = address(self._landing) if flights else None

    def defer(self, move: Any, active: Array, places: Array) -> None:
        """Keep the loads of LDS that the core has just carried out, to be entered when something asks. active: of each
        wave the lanes."""
        assert self._lds is not None
        rows = self._rows

        def enter() -> None:
            entered = core.function("enter_loads", (ctypes.c_void_p,) * 4)
            assert entered is not None
            entered(self._struct_of(rows), ctypes.addressof(move), address(active), address(places))

        if len(places):
            self._lds.races.defer(enter, len(places))

    def left(self, group: Group) -> Array:
        """In which waves of a group the last product is still to do."""
        found: Array = self.declined[: group.count] != 0
        return found

    def of(self, group: Group) -> int:
        """The address of the struct, for the waves of a group."""
        return self._struct_of(group.numbers())

    def _struct_of(self, rows: Array) -> int:
        """The address of the struct, for some waves."""
        struct = self._struct
        if rows is not self._rows and not (len(rows) == len(self._rows) and (rows == self._rows).all()):
            self._rows = np.ascontiguousarray(rows, np.int64)
            struct.rows, struct.count = address(self._rows), len(rows)
        if self._lds is not None and self._lds.races.version != self._version:
            self._version = self._lds.races.version
            for kind, layers in zip(_KINDS, struct.layers):
                for known, layer in zip(self._lds.races.layers_of(kind, make=False), layers):
                    layer.waves, layer.labels, layer.used = (
                        address(known.waves), address(known.labels), address(known.used)
                    )  # fmt: skip
        return ctypes.addressof(struct)


def _core() -> Callable[..., int] | None:
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    return core.function("steps", (pointer, pointer, *[number] * 3, *[pointer] * 4), number)


class _Ahead:
    """What is known of a run's accesses before they are carried out: by the address of the instruction, as outstanding;
    of global ones the codes of each wave (access, wave)."""

    codes: Array
    flights: dict[int, Flight]

    __slots__ = ("codes", "flights")

    def __init__(self, codes: Array) -> None:
        self.codes, self.flights = codes, {}

    def land(self, instruction: int, landings: list[Landing]) -> None:
        """Enter what the access of an instruction writes into LDS or reads of it."""
        if landings and instruction in self.flights:
            self.flights[instruction].landings += tuple(landings)


class _Plan:
    """Which registers some steps need to be defined: those that a result depends on, and that no step before has
    written. Some only in the active lanes (loose), others in all of them (strict): those from which an instruction
    reads other lanes, and those that are read behind a write of EXEC. full: whether all lanes are active at first."""

    __slots__ = ("_loose", "_steps", "_strict")

    def __init__(self, steps: Sequence[Step], full: bool) -> None:
        self._steps: list[tuple[frozenset[int], frozenset[int]]] = []
        whole: set[int] = set()  # written in all lanes
        fresh: set[int] = set()  # written since EXEC is what it is
        first = True  # whether EXEC is what it was
        for step in steps:
            loads = step.access is not None and step.access.action == "load" and not step.writes_lds
            uses = (step.addresses if loads else step.uses) - whole
            crosses = step.kind == "lane" or not first
            loose = frozenset() if crosses else uses - fresh
            strict = (uses if step.kind == "lane" else uses - fresh) if crosses else frozenset()
            self._steps.append((loose, strict))
            scalars = {number for number in step.writes if number >= SCALARS}
            whole |= step.writes if full and first else scalars
            fresh |= step.writes
            if _masks(step):
                fresh, first = set(), False
        self._loose = frozenset[int]().union(*[loose for loose, _ in self._steps])
        self._strict = frozenset[int]().union(*[strict for _, strict in self._steps])

    def reach(self, group: Group, first: int, last: int) -> int:
        """Up to which step all of them are defined. first: the number of the plan's first step."""
        clean = group.registers.clean
        loose, strict = self._loose - clean, self._strict - clean
        if loose:
            loose = frozenset(group.tainted(loose)[1])
        if not (loose or strict):
            return last
        for number, (own, all_lanes) in enumerate(self._steps[: last - first], first):
            if not (own.isdisjoint(loose) and all_lanes.isdisjoint(strict)):
                return number
        return last


class Run:
    """Instructions of a block that follow each other and that the core carries out.

    steps: they. floats: whether one computes floats. executed: by how many waves, since the last `settle`.
    """

    __slots__ = (
        "_accesses", "_bound", "_divisions", "_global", "_labels", "_local", "_masks", "_multiplies", "_operations",
        "_owners", "_plans", "_starts", "_stores", "_whole", "_writes", "executed", "floats", "steps",
    )  # fmt: skip
    executed: int
    floats: bool
    steps: tuple[Step, ...]

    def __init__(self, steps: Sequence[Step], labels: Labels | None = None) -> None:
        self.steps, self.executed, self._labels = tuple(steps), 0, labels or Labels()
        flat = [one for step in steps for one in step.operations or ()]
        self._operations = (Operation * len(flat))(*flat)
        # Of each operation, access or product its step, and which of the step's it is; of each step the first of them.
        self._owners = [(number, part) for number, step in enumerate(steps) for part in range(_parts_of(step))]
        self._starts = np.cumsum([0, *map(_parts_of, steps)]).tolist()
        self._accesses = [
            (at, self.steps[number].moves[part]) for at, (number, part) in enumerate(self._owners)
            if self.steps[number].moves
        ]  # fmt: skip
        self._local = [any(isinstance(move, LocalMove) for move in step.moves) for step in steps]
        self._stores = any(isinstance(move, LocalMove) and move.kind == "write" for _, move in self._accesses)
        self._global = {
            move.instruction.address: [(number, move)] for number, (_, move) in enumerate(self._accesses)
            if isinstance(move, GlobalMove)
        }  # fmt: skip
        self._bound: dict[tuple[int, bool], tuple[Any, ...]] = {}
        self._divisions: dict[int, list[tuple[int, int, frozenset[int], frozenset[int], Step | None]]] = {}
        self._plans: dict[tuple[int, bool], _Plan] = {}
        self._writes: dict[tuple[int, int], frozenset[int]] = {}
        self._masks = [number for number, step in enumerate(steps) if _masks(step)]
        self._whole = [number for number, step in enumerate(steps) if step.product is not None and step.product.whole]
        self.floats = computes_floats(flat)
        self._multiplies = any(step.product is not None for step in steps)

    def _division(self, start: int) -> list[tuple[int, int, frozenset[int], frozenset[int], Step | None]]:
        """The steps from one on in parts, each up to a step that counters follow, or to the end: the numbers of its
        first step and of the one behind it, the registers that it touches and those that it writes, and the last step
        if counters follow it."""
        if start in self._divisions:
            return self._divisions[start]
        found: list[tuple[int, int, frozenset[int], frozenset[int], Step | None]] = []
        first, touched, writes = start, frozenset[int](), frozenset[int]()
        for number, step in enumerate(self.steps[start:], start):
            touched, writes = touched | step.touched, writes | step.writes
            if step.count or step.waits is not None:
                found.append((first, number + 1, touched, writes, step))
                first, touched, writes = number + 1, frozenset(), frozenset()
        if first < len(self.steps):
            found.append((first, len(self.steps), touched, writes, None))
        self._divisions[start] = found
        return found

    def _plan(self, first: int, full: bool) -> _Plan:
        """What the steps from one on need. full: whether all lanes are active there."""
        if (first, full) not in self._plans:
            self._plans[first, full] = _Plan(self.steps[first:], full)
        return self._plans[first, full]

    def _items(self, group: Group) -> tuple[Any, list[Any], list[Any]]:
        """The items for the core, and what they point to: accesses, and products."""
        items: list[tuple[Any, ...]] = []
        kept: list[Any] = []
        moves: list[Any] = []
        done = accesses = 0
        masks = len(self._accesses)
        size = ctypes.sizeof(Operation)
        for step in self.steps:
            for move in step.moves:
                if isinstance(move, LocalMove):
                    moves.append(move.described(self._labels.label(step.instruction.address)))
                    kind = _STORES if move.kind == "write" else _LOADS
                else:
                    moves.append(move.described(group.batch.grid_races.bits(move.instruction, move.access)))
                    kind = _REACHES
                items.append((kind, 1, ctypes.addressof(moves[-1]), accesses))
                accesses += 1
            if step.product is not None and step.product.product is not None:
                kept.append(step.product.product.described(group.registers.waves, group.lanes))
                items.append((_MULTIPLIES, 1, ctypes.addressof(kept[-1]), 0))
            if step.operations:
                count = len(step.operations)
                if items and items[-1][0] == _COMPUTES:
                    kind, before, what, _ = items.pop()
                    items.append((kind, before + count, what, 0))
                else:
                    items.append((_COMPUTES, count, ctypes.addressof(self._operations) + done * size, 0))
                done += count
            if _masks(step):
                items.append((_MASKS, 1, None, masks))
                masks += 1
        return (_Item * len(items))(*[_Item(*one) for one in items]), moves, kept

    def _ready(self, group: Group, first: int) -> int:
        """Up to which step the run can be carried out from one on: nothing before needs a look by itself."""
        mode, registers, batch, last = group.mode, group.registers, group.batch, len(self.steps)
        if mode.skips or mode.high_bits or registers.indexes or (self.floats and not mode.usual):
            return first
        masked = -1 if group.mask is not None else next((one for one in self._masks if one >= first), last)
        last = next((one for one in self._whole if one >= first and one > masked), last)
        lands = [flight for flight in batch.counters.flights if flight.lands] if batch.counters.copies else []
        batch.core.land(lands)
        if lands:  # what a wait ends is no longer looked at
            local = next((number for number in range(first, last) if self._local[number]), last)
            last = next((number for number in range(local, last) if self.steps[number].waits is not None), last)
        return self._plan(first, group.mask is None).reach(group, first, last)

    def carry_out(self, group: Group, first: int = 0) -> int:
        """Execute steps from one on in a group of waves, as far as nothing is outstanding that they touch and none has
        to be looked at by itself; gives the first that is left."""
        last = self._ready(group, first)
        if last == first:
            return first
        ahead = _Ahead(np.zeros((len(self._accesses), group.count), np.int64))
        stop = self._advance(group, ahead, first, last)
        if stop > first:
            batch = group.batch
            batch.running = self.steps[stop - 1]
            batch.steps += stop - first
            batch.tally.executed += (stop - first) * group.count
            if stop - first == len(self.steps):
                self.executed += group.count
            else:
                for step in self.steps[first:stop]:
                    step.executed += group.count
            self._execute(group, first, stop, ahead)
        return stop

    def _advance(self, group: Group, ahead: _Ahead, first: int, last: int) -> int:
        """Advance the counters of outstanding accesses and the clocks of global ones, for steps from one to before
        another: up to which they may be carried out then."""
        batch = group.batch
        counters, translations = batch.counters, batch.counters.translations
        for begin, end, touched, writes, step in self._division(first):
            if counters.busy and not touched.isdisjoint(counters.busy) and not self._follows(counters, begin, end):
                return begin
            if translations is not None and translations.pending and not translations.read.isdisjoint(writes):
                return begin
            if step is None or end > last:
                return last
            if step.waits is not None:
                batch.wait(group, step.waits)
            else:
                if translations is not None:
                    translations.before(step, group)
                for number, move in self._global.get(step.instruction.address, ()):
                    ahead.codes[number] = batch.grid_races.advanced(group, move.instruction, move.access)
                flight = batch.issue(step, group)
                if flight is not None:
                    ahead.flights[step.instruction.address] = flight
            if end == last:
                return last
        return last

    def _follows(self, counters: Counters, begin: int, end: int) -> bool:
        """Whether what steps touch is outstanding only of loads of the kind of their last one, which writes it behind
        them (see `Counters.touched`)."""
        last, before = self.steps[end - 1], self.steps[begin : end - 1]
        if not last.count or last.count in counters.disorderly:
            return False
        busy = counters.busy.keys()
        if not last.reads.isdisjoint(busy) or any(not step.touched.isdisjoint(busy) for step in before):
            return False
        return all(flight.kind == last.count for number in last.writes & busy for flight in counters.busy[number])

    def _execute(self, group: Group, first: int, stop: int, ahead: _Ahead) -> None:
        """Carry out steps from one to before another; each that the core declines by itself."""
        carried_out = _core()
        assert carried_out is not None
        key = group.registers.waves, group.batch.grid_races.checks is None
        if key not in self._bound:
            self._bound[key] = self._items(group)
        items, moves, _ = self._bound[key]
        at, end = self._starts[first], self._starts[stop]
        if at == end:
            return
        for step in self.steps[first:stop] if self._multiplies else ():
            if step.product is not None:
                group.batch.products.issued(group, step.instruction, step.product.key)
        places = np.empty(len(self._accesses) * group.count * group.lanes, np.int64)
        out = np.empty((len(self._accesses), 3), np.int64)
        live = np.empty((len(self._accesses) + len(self._masks), group.count), np.uint64)
        settled = first  # the first step whose results are not entered
        while True:
            if self._stores:
                group.batch.lds.races.enter_deferred()
            running, begin = group.batch.core.of(group), at
            at = carried_out(running, ctypes.addressof(items), begin, end, group.lanes,
                             address(ahead.codes), address(live), address(out), address(places))  # fmt: skip
            declined = self._owners[at][0] if at < end else stop
            self._settle(group, (begin, at), (settled, declined), (out, places, live, moves), ahead)
            if at == end:
                return
            settled, before, at = declined, at, self._alone(group, at, ahead)
            if self.steps[declined].moves and at > before:
                settled += 1
                if not self.steps[declined].writes <= group.registers.clean:
                    for step in self.steps[settled:stop]:
                        self._checked(step, group, ahead)
                    return

    def _settle(
        self, group: Group, done: tuple[int, int], steps: tuple[int, int], found: _Results, ahead: _Ahead,
    ) -> None:  # fmt: skip
        """Enter what operations, of which some may be of a step that is not whole, have done, and that steps have
        written what they write: by turns between those that write EXEC."""
        (begin, end), (first, last) = done, steps
        for turn, number in enumerate(self._masks):
            if first <= number < last:
                at = self._starts[number + 1]
                self._enter(group, (begin, at), found, ahead)
                self._written(group, first, number + 1)
                begin, first = at, number + 1
                words = found[2][len(self._accesses) + turn].view(np.uint32).reshape(-1, 2)[:, : group.lanes // 32]
                group.set_mask(words.T)
        self._enter(group, (begin, end), found, ahead)
        self._written(group, first, last)

    def _enter(self, group: Group, done: tuple[int, int], found: _Results, ahead: _Ahead) -> None:
        """What is kept of the accesses among the operations from one to before another."""
        (first, last), (out, places, live, moves), size = done, found, group.count * group.lanes
        known = out.tolist()
        for number, (at, move) in enumerate(self._accesses):
            if not first <= at < last:
                continue
            pattern, active, entered = known[number]
            own = places[number * size : number * size + active]
            if isinstance(move, GlobalMove):
                move.enter(group, pattern, own, ahead.codes[number], live[number])
            else:
                ahead.land(move.instruction.address, [move.enter(group, pattern, own)])
                if not entered:
                    group.batch.core.defer(moves[number], live[number], own)

    def _written(self, group: Group, first: int, last: int) -> None:
        """Enter that some steps have written what they write."""
        if (first, last) not in self._writes:
            self._writes[first, last] = frozenset[int]().union(*[step.writes for step in self.steps[first:last]])
        registers, writes = group.registers, self._writes[first, last]
        if not writes <= registers.clean:
            group.settle(writes - registers.clean, None)
        if registers.origins:
            for number in writes & registers.clean & registers.origins.keys():
                del registers.origins[number]

    def _alone(self, group: Group, at: int, ahead: _Ahead) -> int:
        """Carry out by itself what the core has declined; gives where it goes on."""
        number, part = self._owners[at]
        step = self.steps[number]
        if step.moves:
            if isinstance(step.moves[part], GlobalMove) and group.batch.core.enter_region():
                return at
            self._checked(step, group, ahead, part)
            return at + len(step.moves) - part
        if step.product is not None:
            step.product.finish(group, group.batch.core.left(group))
        else:
            step.part(part)(group)
        return at + 1

    def _checked(self, step: Step, group: Group, ahead: _Ahead, part: int = 0) -> None:
        """Carry out a step, or the rest of its accesses, whose counters are advanced already."""
        batch, address_ = group.batch, step.instruction.address
        if step.waits is not None:
            return
        batch.running, mask = step, group.mask
        run = step.run if step.product is None else step.product.compute
        batch.uninitialised.before(step, group)
        if address_ in self._global:
            codes = ahead.codes[self._global[address_][0][0]]
            with batch.grid_races.using(group, codes):
                batch.guarded(step, group, run)
        else:
            batch.guarded(step, group, (lambda group: step.rest(group, part)) if step.moves else run)
        ahead.land(address_, batch.counters.landings)
        batch.counters.landings = []
        batch.uninitialised.after(step, group, mask)

    def settle(self) -> None:
        """Enter how often its instructions were executed."""
        for step in self.steps:
            step.executed += self.executed
        self.executed = 0


def _parts_of(step: Step) -> int:
    """How many operations, accesses and products a step is; one more where it writes EXEC."""
    return len(step.operations or ()) + len(step.moves) + (step.product is not None) + _masks(step)


def _masks(step: Step) -> bool:
    """Whether the core writes EXEC in a step: then it gives it behind that."""
    return bool(step.operations) and not _EXEC.isdisjoint(step.writes)


def _known(step: Step, separate: tuple[type, ...]) -> bool:
    """Whether the core, or the counters, can carry out a step."""
    if any(isinstance(move, separate) for move in step.moves):
        return False
    nothing = step.instruction.name in NOTHING and "waits_xcnt" not in flags_of(step.instruction.name)
    return bool(_parts_of(step)) or step.waits is not None or (nothing and not step.relative)


def planned(steps: Sequence[Step], labels: Labels, separate: tuple[type, ...]) -> tuple[Step | Run, ...]:
    """The steps of a block; those that follow each other and that the core carries out, as runs.

    Args:
        separate: which kinds of accesses are looked at one by one (`LocalMove`, `GlobalMove`).
    """
    if _core() is None:
        return tuple(steps)
    found: list[Step | Run] = []
    own: list[Step] = []
    for step in steps:
        if _known(step, separate):
            own.append(step)
            continue
        if own:
            found.append(Run(own, labels))
        own = []
        found.append(step)
    if own:
        found.append(Run(own, labels))
    return tuple(found)
