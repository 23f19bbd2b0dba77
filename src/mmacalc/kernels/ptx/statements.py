"""The statements that touch memory, other threads or the flow of control: a builder for each root.

A builder gets the compiler, the statement and its step, and sets what the step runs. Sections are those of the PTX ISA
9.0. `copies`, `matrices`, `bulk` and `tensor_memory` add theirs.
"""

from __future__ import annotations

import numpy as np

from ...errors import Error
from ...ptx.reader import Address, Pair, Register, Statement, Symbol, count_of, is_braced
from ..device.memory import Outside
from .arithmetic import DTYPES
from .machine import gathered, scattered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from .machine import Machine, Threads
    from .program import Compiler, Step

    Array = NDArray[Any]
    Builder = Callable[[Compiler, Statement, Step], Any]

__all__ = ["BUILDERS", "SHARED_BASE", "LOCAL_BASE", "SPECIAL", "space_of_access", "vector_of"]

SHARED_BASE, LOCAL_BASE = 0x7F_0000_0000_0000, 0x7E_0000_0000_0000
"""Where shared and local memory are in the generic address space."""
AXES = ("x", "y", "z")
SPECIAL = frozenset(
    [
        f"%{name}.{axis}"
        for name in ("tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
        for axis in AXES
    ]
    + [
        "%laneid",
        "%warpid",
        "%nwarpid",
        "%smid",
        "%nsmid",
        "%gridid",
        "%clock",
        "%clock64",
        "%clock_hi",
        "%globaltimer",
        "%globaltimer_lo",
        "%globaltimer_hi",
        "%lanemask_eq",
        "%lanemask_le",
        "%lanemask_lt",
        "%lanemask_ge",
        "%lanemask_gt",
        "%cluster_ctarank",
        "%cluster_nctarank",
        "%is_explicit_cluster",
        "%dynamic_smem_size",
        "%total_smem_size",
        "%aggr_smem_size",
        "%current_graph_exec",
        "WARP_SZ",
        "%reserved_smem_offset_begin",
    ]
)
"""Special registers that are known (PTX ISA 10)."""
SPACES = ("global", "shared", "local", "const", "param")
CACHING = frozenset(
    ["ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "weak", "volatile", "relaxed", "acquire", "release", "mmio", "cta",
     "cluster", "gpu", "sys", "unified", "L1::evict_first", "L1::evict_last", "L1::no_allocate", "L1::evict_normal",
     "L1::evict_unchanged", "L2::evict_first", "L2::evict_last", "L2::evict_normal", "L2::cache_hint", "L2::64B",
     "L2::128B", "L2::256B", "level::eviction_priority"]
)  # fmt: skip
"""Modifiers of loads and stores that do not change what is loaded or stored."""


# --- control ---


def _branch(compiler: Compiler, statement: Statement, step: Step) -> None:
    target = compiler.label(statement.operands[0])

    def control(machine: Machine, step: Step, threads: Threads, rest: Array | None, at: int) -> None:
        if target <= at:
            machine.repeat(step, at, target, threads.number)
        else:
            machine.enter(target, threads.number)
        if rest is not None:
            machine.enter(at + 1, rest)

    step.control = control


def _branch_indexed(compiler: Compiler, statement: Statement, step: Step) -> None:
    """brx.idx: the label of a list that a register names (9.7.12.3)."""
    index = compiler.source(statement.operands[0], "u32")
    table = statement.operands[1]
    names = compiler.frame.function.tables.get(table.name) if isinstance(table, Symbol) else None
    if names is None:
        raise Error("brx.idx wants a list of branch targets")
    targets = [compiler.label(Symbol(name)) for name in names]

    def control(machine: Machine, step: Step, threads: Threads, rest: Array | None, at: int) -> None:
        chosen = index(machine, threads)
        if (chosen >= len(targets)).any():
            machine.outside(step, threads, chosen, chosen >= len(targets), f"the {len(targets)} targets of the list")
        for number, target in enumerate(targets):
            machine.enter(target, threads.number[np.broadcast_to(chosen, (len(threads),)) == number])
        if rest is not None:
            machine.enter(at + 1, rest)

    step.control = control


def _exit(compiler: Compiler, statement: Statement, step: Step) -> None:
    def control(machine: Machine, step: Step, threads: Threads, rest: Array | None, at: int) -> None:
        if rest is not None:
            machine.enter(at + 1, rest)
        machine.finish(threads)

    step.control = control


def _return(compiler: Compiler, statement: Statement, step: Step) -> None:
    if not compiler.prefix:
        _exit(compiler, statement, step)
        return
    _branch(compiler, statement._replace(operands=(Symbol("return"),)), step)


def _call(compiler: Compiler, statement: Statement, step: Step) -> None:
    """Functions that the system provides: printing does nothing, a failed assertion ends the launch."""
    operands = [operand for operand in statement.operands if not is_braced(operand)]
    name = operands[0].name if operands and isinstance(operands[0], Symbol) else ""
    if name == "vprintf":
        return
    if name == "__assertfail":

        def fail(machine: Machine, threads: Threads) -> None:
            where = machine.launch.thread_text(machine, int(threads.number[0]))
            raise Error(f"line {statement.line}: an assertion of the kernel failed; {where}")

        step.run = fail
        return
    raise Error(f"the function '{name}' is declared and has no body")


def _trap(compiler: Compiler, statement: Statement, step: Step) -> None:
    def fail(machine: Machine, threads: Threads) -> None:
        where = machine.launch.thread_text(machine, int(threads.number[0]))
        raise Error(f"line {statement.line}: {statement.text}: the kernel stops itself; {where}")

    step.run = fail


def _policy(compiler: Compiler, statement: Statement, step: Step) -> None:
    """createpolicy: a hint for caches, which no result depends on."""
    sink = compiler.sink(statement.operands[0], "b64")
    step.run = lambda machine, threads: sink(machine, threads, np.zeros(len(threads), np.uint64))


def _nothing(compiler: Compiler, statement: Statement, step: Step) -> None:
    """Hints, which have no effect on results."""


# --- barriers (9.7.13.1 to 9.7.13.3) ---


def _barrier(compiler: Compiler, statement: Statement, step: Step) -> None:
    words = [word for word in statement.modifiers if word not in ("cta", "aligned", "all")]
    if words[:1] == ["cluster"]:
        from .clusters import cluster_barrier

        cluster_barrier(compiler, statement, step)
        return
    if statement.modifiers[:1] == ("warp",):
        _warp_sync(compiler, statement, step)
        return
    what = words[0] if words else ""
    if what not in ("sync", "arrive", "red"):
        raise Error(f"{statement.opcode} is not covered")
    operands = list(statement.operands)
    if what == "red":
        _barrier_reduction(compiler, statement, step, words[1:])
        return
    barrier = compiler.source(operands[0], "u32")
    count = compiler.source(operands[1], "u32") if len(operands) > 1 else None
    aligned = statement.root == "bar" or "aligned" in statement.modifiers
    step.control = _barrier_control(barrier, count, what == "sync", aligned, None)


def _barrier_control(barrier: Any, count: Any, waits: bool, aligned: bool, before: Any) -> Any:
    def control(machine: Machine, step: Step, threads: Threads, rest: Array | None, at: int) -> None:
        if aligned and threads.warps() is None and not _all_alive(machine, threads):
            machine.launch.find(
                "barrier", step, "not all threads of the warp execute it; that is undefined", threads.number
            )
        if rest is not None:
            machine.enter(at + 1, rest)
        if before is not None:
            before(machine, threads)
        numbers = np.broadcast_to(barrier(machine, threads), (len(threads),))
        wanted = np.broadcast_to(count(machine, threads), (len(threads),)) if count else np.zeros(len(threads), int)
        for number in np.unique(numbers).tolist():
            here = numbers == number
            if number > 15:
                machine.outside(step, threads, numbers, here, "the barriers 0 to 15")
            for each in np.unique(wanted[here]).tolist():
                machine.arrive(step, threads.where(here & (wanted == each)), at + 1, number, int(each), waits)

    return control


def _all_alive(machine: Machine, threads: Threads) -> bool:
    """Whether every living thread of the warps takes part."""
    warps = np.unique(threads.number // 32)
    alive = machine.alive.reshape(-1)[(warps[:, None] * 32 + np.arange(32)).reshape(-1) % machine.count]
    return int(alive.sum()) == len(threads)


def _barrier_reduction(compiler: Compiler, statement: Statement, step: Step, words: list[str]) -> None:
    """bar.red: a barrier that also counts, ands or ors a predicate of all threads."""
    kind = words[0]
    type_ = words[1]
    target, barrier, *more = statement.operands
    predicate = compiler.source(more[-1], "pred")
    count = compiler.source(more[0], "u32") if len(more) > 1 else None
    sink = compiler.sink(target, type_)
    number = compiler.source(barrier, "u32")

    def before(machine: Machine, threads: Threads) -> None:
        machine.votes[threads.use] = predicate(machine, threads)

    def meeting(machine: Machine, threads: Threads, everyone: Array) -> None:
        votes = machine.votes[everyone]
        found = {"popc": np.uint32(votes.sum()), "and": votes.all(), "or": votes.any()}[kind]
        sink(machine, threads, np.broadcast_to(found, (len(threads),)))

    step.meeting = meeting
    step.control = _barrier_control(number, count, True, statement.root == "bar", before)


def _warp_sync(compiler: Compiler, statement: Statement, step: Step) -> None:
    mask = compiler.source(statement.operands[0], "u32")

    def run(machine: Machine, threads: Threads) -> None:
        for team, members in grouped_by_warp(machine, threads):
            machine.order.join(team, members)

    step.run = run
    _checked_mask(compiler, step, mask)


def grouped_by_warp(machine: Machine, threads: Threads) -> list[tuple[Array, Array]]:
    """The threads of each warp as groups of equal size: (team of each group, members)."""
    warps = threads.warps()
    if warps is not None:
        return [(machine.team_of[warps[:, 0]], machine.member_of[warps])]
    found = []
    for warp in np.unique(threads.number // 32):
        number = threads.number[threads.number // 32 == warp]
        found.append((machine.team_of[number[:1]], machine.member_of[number][None]))
    return found


def _checked_mask(compiler: Compiler, step: Step, mask: Any) -> None:
    """Wait until all lanes of the mask are there: lanes that come one by one meet here."""
    inner = step.run

    def run(machine: Machine, threads: Threads) -> Array | None:
        wanted = np.broadcast_to(mask(machine, threads), (len(threads),)).astype(np.uint32)
        here = present(machine, threads)
        missing = (wanted & ~here & alive_lanes(machine, threads)) != 0
        if missing.any():
            return machine.launch.gather(machine, step, threads, missing, inner)
        return inner(machine, threads)

    step.run = run


def present(machine: Machine, threads: Threads) -> Array:
    """For each thread the mask of lanes of its warp in the group."""
    warps = threads.number // 32
    masks = np.zeros(machine.count // 32 + 1, np.uint32)
    np.bitwise_or.at(masks, warps, np.uint32(1) << threads.lane.astype(np.uint32))
    found: Array = masks[warps]
    return found


def alive_lanes(machine: Machine, threads: Threads) -> Array:
    """For each thread the mask of lanes of its warp that have not ended."""
    padded = np.zeros(-(-machine.count // 32) * 32, bool)
    padded[: machine.count] = machine.alive
    masks = (padded.reshape(-1, 32) * (np.uint32(1) << np.arange(32, dtype=np.uint32))).sum(axis=1, dtype=np.uint32)
    found: Array = masks[threads.number // 32]
    return found


# --- exchange within a warp (9.7.9, 9.7.13) ---


def _shuffle(compiler: Compiler, statement: Statement, step: Step) -> None:
    """shfl.sync (9.7.9.6)."""
    mode = statement.modifiers[-2]
    target, a, b, c, *mask = statement.operands
    first, second = (target.first, target.second) if isinstance(target, Pair) else (target, None)
    sink = compiler.sink(first, "b32")
    valid = compiler.sink(second, "pred") if second is not None else None
    value, by, clamp = (compiler.source(x, "b32") for x in (a, b, c))

    def run(machine: Machine, threads: Threads) -> None:
        lane = threads.lane.astype(np.int64)
        amount, limits = (x(machine, threads).astype(np.int64) for x in (by, clamp))
        amount, bound, segment = amount & 31, limits & 31, limits >> 8 & 31
        most = lane & segment | bound & ~segment
        chosen = {
            "up": lane - amount, "down": lane + amount, "bfly": lane ^ amount,
            "idx": lane & segment | amount & ~segment & 31,
        }[mode]  # fmt: skip
        inside = chosen >= most if mode == "up" else chosen <= most
        chosen = np.where(inside, chosen, lane)
        held = np.zeros(machine.count, np.uint32)
        held[threads.number] = value(machine, threads)
        source = threads.number // 32 * 32 + chosen
        sink(machine, threads, held[np.minimum(source, machine.count - 1)])
        if valid is not None:
            valid(machine, threads, inside)

    step.run = run
    _checked_mask(compiler, step, compiler.source(mask[0], "b32") if mask else lambda m, t: np.uint32(0xFFFFFFFF))


def _by_warp(machine: Machine, threads: Threads, value: Array, start: Any, combine: Any) -> Array:
    """Values combined over the threads of each warp, given back to each of them."""
    warps = threads.number // 32
    found = np.full(machine.count // 32 + 1, start, value.dtype)
    combine.at(found, warps, value)
    result: Array = found[warps]
    return result


def _vote(compiler: Compiler, statement: Statement, step: Step) -> None:
    mode = statement.modifiers[-2]
    target, predicate, *mask = statement.operands
    sink = compiler.sink(target, "b32" if mode == "ballot" else "pred")
    source = compiler.source(predicate, "pred")

    def run(machine: Machine, threads: Threads) -> None:
        value = np.broadcast_to(source(machine, threads), (len(threads),))
        bits = np.where(value, np.uint32(1) << threads.lane.astype(np.uint32), np.uint32(0))
        ballot = _by_warp(machine, threads, bits, 0, np.bitwise_or)
        everyone = present(machine, threads)
        sink(machine, threads, {
            "ballot": ballot, "all": ballot == everyone, "any": ballot != 0,
            "uni": (ballot == everyone) | (ballot == 0),
        }[mode])  # fmt: skip

    step.run = run
    _checked_mask(compiler, step, compiler.source(mask[0], "b32") if mask else lambda m, t: np.uint32(0xFFFFFFFF))


def _match(compiler: Compiler, statement: Statement, step: Step) -> None:
    """match.any, match.all: the lanes with the same value (9.7.13.9)."""
    mode, type_ = statement.modifiers[0], statement.modifiers[-1]
    target, a, mask = statement.operands
    first, second = (target.first, target.second) if isinstance(target, Pair) else (target, None)
    sink = compiler.sink(first, "b32")
    everywhere = compiler.sink(second, "pred") if second is not None else None
    source = compiler.source(a, type_)

    def run(machine: Machine, threads: Threads) -> None:
        value = np.broadcast_to(source(machine, threads), (len(threads),))
        warps, lane = threads.number // 32, threads.lane.astype(np.uint32)
        bits = np.uint32(1) << lane
        _, group = np.unique(
            np.stack([warps.astype(np.uint64), value.astype(np.uint64)], 1), axis=0, return_inverse=True
        )
        masks = np.zeros(int(group.max()) + 1, np.uint32)
        np.bitwise_or.at(masks, group.reshape(-1), bits)
        same = masks[group.reshape(-1)]
        whole = same == present(machine, threads)
        sink(machine, threads, same if mode == "any" else np.where(whole, same, np.uint32(0)))
        if everywhere is not None:
            everywhere(machine, threads, whole)

    step.run = run
    _checked_mask(compiler, step, compiler.source(mask, "b32"))


def _reduce(compiler: Compiler, statement: Statement, step: Step) -> None:
    """redux.sync (9.7.13.10)."""
    words = [word for word in statement.modifiers if word != "sync"]
    kind, type_ = words[0], words[-1]
    absolute, nan = "abs" in words, "NaN" in words
    target, a, mask = statement.operands
    sink, source = compiler.sink(target, type_), compiler.source(a, type_)
    if kind not in ("add", "min", "max", "and", "or", "xor"):
        raise Error(f"{statement.opcode} is not covered")

    def run(machine: Machine, threads: Threads) -> None:
        value = np.broadcast_to(source(machine, threads), (len(threads),))
        if type_ == "f32":
            value = np.abs(value) if absolute else value
            combine = {
                ("min", False): np.fmin,
                ("max", False): np.fmax,
                ("min", True): np.minimum,
                ("max", True): np.maximum,
            }
            start = np.float32(np.nan) if not nan else np.float32(np.inf if kind == "min" else -np.inf)
            found = _by_warp(machine, threads, value, start, combine[kind, nan])
            sink(
                machine,
                threads,
                np.where(np.isnan(found), np.uint32(0x7FFFFFFF), found.view(np.uint32)).view(np.float32),
            )
            return
        limits = np.iinfo(value.dtype)
        combinations: dict[str, tuple[Any, Any]] = {
            "add": (np.add, 0), "min": (np.minimum, limits.max), "max": (np.maximum, limits.min),
            "and": (np.bitwise_and, limits.max if limits.min == 0 else -1), "or": (np.bitwise_or, 0),
            "xor": (np.bitwise_xor, 0),
        }  # fmt: skip
        combine, start = combinations[kind]
        sink(machine, threads, _by_warp(machine, threads, value, start, combine))

    step.run = run
    _checked_mask(compiler, step, compiler.source(mask, "b32"))


def _active_mask(compiler: Compiler, statement: Statement, step: Step) -> None:
    sink = compiler.sink(statement.operands[0], "b32")
    step.run = lambda machine, threads: sink(machine, threads, present(machine, threads))


def _elect(compiler: Compiler, statement: Statement, step: Step) -> None:
    """elect.sync d|p, mask: one lane of the mask, here the lowest (9.7.13.15)."""
    target, mask = statement.operands
    if not isinstance(target, Pair):
        raise Error("elect.sync writes d|p")
    sink, chosen = compiler.sink(target.first, "b32"), compiler.sink(target.second, "pred")

    def run(machine: Machine, threads: Threads) -> None:
        leader = _by_warp(machine, threads, threads.lane.astype(np.uint32), 31, np.minimum)
        sink(machine, threads, leader)
        chosen(machine, threads, leader == threads.lane)

    step.run = run
    _checked_mask(compiler, step, compiler.source(mask, "b32"))


# --- addresses ---


def _convert_address(compiler: Compiler, statement: Statement, step: Step) -> None:
    """cvta, cvta.to (9.7.9.20)."""
    words = list(statement.modifiers)
    to = "to" in words
    space = next((word for word in words if word.partition("::")[0] in SPACES), "")
    base = np.uint64({"shared": SHARED_BASE, "local": LOCAL_BASE}.get(space.partition("::")[0], 0))
    type_ = words[-1]
    sink, source = compiler.sink(statement.operands[0], type_), compiler.source(statement.operands[1], type_)

    def run(machine: Machine, threads: Threads) -> None:
        value = source(machine, threads)
        if space == "param":  # a small address lies within the space of parameters
            value = np.where(value < 1 << 16, value + value.dtype.type(machine.launch.parameter_address), value)
            sink(machine, threads, value)
            return
        base_of = value.dtype.type(base) if value.dtype.itemsize == 8 else value.dtype.type(0)
        sink(machine, threads, value - base_of if to else value + base_of)

    step.run = run


def _is_space(compiler: Compiler, statement: Statement, step: Step) -> None:
    """isspacep (9.7.9.19)."""
    space = statement.modifiers[0].partition("::")[0]
    sink, source = compiler.sink(statement.operands[0], "pred"), compiler.source(statement.operands[1], "u64")

    def run(machine: Machine, threads: Threads) -> None:
        found = space_of_generic(source(machine, threads).astype(np.int64))
        sink(machine, threads, found == {"global": 0, "const": 3, "shared": 1, "local": 2, "param": 4}[space])

    step.run = run


def space_of_generic(address: Array) -> Array:
    """Of generic addresses: 0 global, 1 shared, 2 local."""
    shared = (address >= SHARED_BASE) & (address < SHARED_BASE + (1 << 32))
    local = (address >= LOCAL_BASE) & (address < LOCAL_BASE + (1 << 40))
    found: Array = np.where(shared, 1, np.where(local, 2, 0))
    return found


def space_of_access(compiler: Compiler, statement: Statement, address: Any) -> str:
    """The state space of a memory operand: that of the opcode, or of the variable, or "generic"."""
    for word in statement.modifiers:
        space = word.partition("::")[0]
        if space in SPACES:
            if space == "param" and isinstance(address, Address) and isinstance(address.base, Symbol):
                return compiler.space_of(address.base.name)
            return space
    return "generic"


def vector_of(statement: Statement) -> tuple[int, str]:
    """The number of elements and the type of a load or store."""
    count = next((count_of(word[1:]) for word in statement.modifiers if word in ("v2", "v4", "v8")), 1)
    return count, statement.modifiers[-1]


def _check_words(statement: Statement) -> None:
    for word in statement.modifiers[:-1]:
        base = word.partition("::")[0]
        if word not in CACHING and base not in SPACES and word not in ("v2", "v4", "v8"):
            raise Error(f"{statement.opcode}: the modifier '.{word}' is not covered")


# --- loads and stores (9.7.9.8, 9.7.9.11) ---


def _load(compiler: Compiler, statement: Statement, step: Step) -> None:
    _check_words(statement)
    count, type_ = vector_of(statement)
    targets, operand = statement.operands[:2]
    names = targets if is_braced(targets) else (targets,)
    if len(names) != count:
        raise Error(f"{statement.opcode} wants {count} registers; got {len(names)}")
    space = space_of_access(compiler, statement, operand)
    dtype = DTYPES[type_]
    sinks = [compiler.sink(name, type_) for name in names]
    if space == "param":
        _load_parameter(compiler, operand, step, sinks, dtype)
        return
    address = compiler.address(operand)
    step.critical = frozenset(compiler.accessed[0])
    size = count * dtype.itemsize
    if space in ("shared", "generic"):
        compiler.sizes.add(min(size, 16))
    registers = [_index_of(compiler, name) for name in names]
    acquires = "acquire" in statement.modifiers

    def put(machine: Machine, threads: Threads, data: Array, missing: Array | None) -> None:
        values = np.ascontiguousarray(data).view(dtype)
        for place, sink in enumerate(sinks):
            sink(machine, threads, values[:, place].copy())
        if missing is not None:
            for place, index in enumerate(registers):
                bad = missing[:, place * dtype.itemsize : (place + 1) * dtype.itemsize].any(axis=1)
                if index is not None and bad.any():
                    machine.launch.mark_undefined(machine, step, index, threads.where(bad))

    def run(machine: Machine, threads: Threads) -> None:
        at = address(machine, threads)
        if space == "generic":
            _split(machine, threads, at, lambda part, place, where: put(
                machine, part, *_read(machine, step, part, place, where, size)))  # fmt: skip
            return
        put(machine, threads, *_read(machine, step, threads, at, space, size))
        if acquires:
            machine.launch.acquired(machine, threads, at)

    step.run = run


def _index_of(compiler: Compiler, operand: Any) -> int | None:
    return compiler.frame.register(operand.name) if isinstance(operand, Register) else None


def _split(machine: Machine, threads: Threads, address: Array, one: Any) -> None:
    """An access by generic addresses, as one for each state space."""
    spaces = space_of_generic(address)
    for number, space in enumerate(("global", "shared", "local")):
        mask = spaces == number
        if mask.all():
            one(threads, address - (0, SHARED_BASE, LOCAL_BASE)[number], space)
            return
        if mask.any():
            one(threads.where(mask), address[mask] - (0, SHARED_BASE, LOCAL_BASE)[number], space)


def _read(
    machine: Machine, step: Step, threads: Threads, at: Array, space: str, size: int
) -> tuple[Array, Array | None]:
    """Bytes (thread, size), and which of them nothing has written, if any."""
    if space == "shared":
        places = machine.shared_places(step, threads, at, size)
        data = machine.read_shared(step, threads, places, size)
        written = gathered(machine.written.view(np.uint8), places, size)
        return data, None if written.all() else written == 0
    if space == "local":
        _check_local(machine, step, threads, at, size)
        return machine.local[threads.number[:, None], at[:, None] + np.arange(size)], None
    offsets = _global(machine, step, threads, at, size, False)
    machine.launch.loaded(machine, step, threads, offsets, size)
    return gathered(machine.launch.memory.data, offsets, size), None


def _check_local(machine: Machine, step: Step, threads: Threads, at: Array, size: int) -> None:
    wrong = (at < 0) | (at + size > machine.local.shape[1])
    if wrong.any():
        machine.outside(step, threads, at, wrong, f"local memory, which has {machine.local.shape[1]} bytes")


def _global(machine: Machine, step: Step, threads: Threads, at: Array, size: int, store: bool) -> Array:
    """Offsets in global memory; stops where an access is outside all arrays or misaligned."""
    unit = 16 if size > 32 else size  # bulk copies want 16 bytes (PTX ISA 9.7.9.25.4.1)
    if unit & (unit - 1) == 0 and (at & (unit - 1)).any():
        machine.misaligned(step, threads, at, (at & (unit - 1)) != 0, unit)
    try:
        return machine.launch.memory.offsets(at.astype(np.uint64), size, store)
    except Outside as outside:
        where = machine.launch.thread_text(machine, int(threads.number[outside.place]))
        does = "stores" if store else "loads"
        raise Error(f"line {step.line}: {step.text}: {does} {size} bytes {outside.where}; {where}") from None


def _load_parameter(compiler: Compiler, operand: Any, step: Step, sinks: list[Any], dtype: Any) -> None:
    if not isinstance(operand, Address) or not isinstance(operand.base, Symbol):
        raise Error("parameters are read by their names")
    name = operand.base.name
    if name not in compiler.program.parameters:
        raise Error(f"unknown parameter '{name}'")
    start = compiler.program.parameters[name][0] + operand.base.offset + operand.offset

    def run(machine: Machine, threads: Threads) -> None:
        raw = machine.launch.parameters[start : start + dtype.itemsize * len(sinks)]
        for sink, value in zip(sinks, np.frombuffer(raw, dtype)):
            sink(machine, threads, np.full(len(threads), value, dtype))

    step.run = run


def _store(compiler: Compiler, statement: Statement, step: Step) -> None:
    _check_words(statement)
    count, type_ = vector_of(statement)
    operand, values = statement.operands[:2]
    names = values if is_braced(values) and count > 1 else (values,)
    space = space_of_access(compiler, statement, operand)
    dtype = DTYPES[type_]
    address = compiler.address(operand)
    step.critical = frozenset(compiler.accessed[0])
    sources = [compiler.source(name, type_) for name in names]
    size = count * dtype.itemsize
    if space in ("shared", "generic"):
        compiler.sizes.add(min(size, 16))
    registers = [_index_of(compiler, name) for name in names]
    releases = "release" in statement.modifiers

    def run(machine: Machine, threads: Threads) -> None:
        at = address(machine, threads)
        values = [np.broadcast_to(source(machine, threads), (len(threads),)) for source in sources]
        data = np.stack(values, 1).view(np.uint8).reshape(len(threads), size)
        if releases:
            machine.launch.released(machine, threads, at)
        if space == "generic":
            everyone = threads.number

            def part(some: Threads, place: Array, where: str) -> None:
                mask = np.isin(everyone, some.number) if len(some) != len(everyone) else slice(None)
                _write(machine, step, some, place, where, data[mask])

            _split(machine, threads, at, part)
        else:
            _write(machine, step, threads, at, space, data)
        if machine.undefined:
            _store_undefined(machine, step, threads, at, space, registers, dtype.itemsize)

    step.run = run


def _write(machine: Machine, step: Step, threads: Threads, at: Array, space: str, data: Array) -> None:
    size = data.shape[1]
    if space == "shared":
        places = machine.shared_places(step, threads, at, size)
        machine.write_shared(step, threads, places, data)
    elif space == "local":
        _check_local(machine, step, threads, at, size)
        machine.local[threads.number[:, None], at[:, None] + np.arange(size)] = data
    else:
        offsets = _global(machine, step, threads, at, size, True)
        machine.launch.stored(machine, step, threads, offsets, data)
        scattered(machine.launch.memory.data, offsets, data)


def _store_undefined(
    machine: Machine, step: Step, threads: Threads, at: Array, space: str, registers: list[int | None], each: int
) -> None:
    """Undefined values make bytes of shared memory undefined; in global memory they are a finding."""
    for place, index in enumerate(registers):
        mask = machine.undefined.get(index) if index is not None else None
        if index is None or mask is None:
            continue
        bad = mask[threads.use].astype(bool)
        if not bad.any():
            continue
        some = threads.where(bad)
        if space == "shared":
            first = machine.shared_places(step, some, at[bad], each) + place * each
            machine.written[first[:, None] + np.arange(each)] = False
        elif space in ("global", "generic"):
            machine.launch.undefined_use(machine, step, some, index, "is stored")


# --- atomics (9.7.13.11, 9.7.13.12) ---

_ATOMIC: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "exch": lambda old, value: value,
}  # fmt: skip


def _atomic(compiler: Compiler, statement: Statement, step: Step) -> None:  # noqa: PLR0915
    """atom and red: one thread after the other, in the order of their numbers."""
    words = list(statement.modifiers)
    count, type_ = vector_of(statement)
    returns = statement.root == "atom"
    operands = list(statement.operands)
    target = operands.pop(0) if returns else Symbol("_")
    operand, *given = operands
    kinds = [word for word in words if word in _ATOMIC or word in ("inc", "dec", "cas")]
    known = {*CACHING, *kinds, "v2", "v4", "v8", "noftz", "acq_rel", "ftz", *SPACES, "shared::cta", "shared::cluster"}
    if len(kinds) != 1 or not set(words[:-1]) <= known:
        raise Error(f"{statement.opcode} is not covered")
    space = space_of_access(compiler, statement, operand)
    address = compiler.address(operand)
    step.critical = frozenset(compiler.accessed[0])
    names = target if is_braced(target) and count > 1 else (target,) * count
    if count > 1 and not is_braced(target):
        names = (Symbol("_"),) * count
    sinks = [compiler.sink(name, type_) for name in names]
    parts: list[Any] = [given[0] if count > 1 else (given[0],), *[(one,) for one in given[1:] if kinds[0] == "cas"]]
    sources = [[compiler.source(one, type_) for one in part] for part in parts]
    dtype = DTYPES[type_]
    if space in ("shared", "generic"):
        compiler.sizes.add(min(16, count * dtype.itemsize))
    function = _atomic_function(kinds[0], type_)

    def one(machine: Machine, threads: Threads, at: Array, where: str, values: list[list[Array]]) -> list[Array]:
        size = count * dtype.itemsize
        if where == "shared":
            places = machine.shared_places(step, threads, at, size)
            machine.launch.atomic_shared(machine, step, threads, places, size)
            memory = machine.shared
            machine.written[places[:, None] + np.arange(size)] = True
        elif where == "local":
            raise Error(f"line {step.line}: an atomic operation on local memory")
        else:
            places = _global(machine, step, threads, at, size, True)
            machine.launch.atomic_global(machine, step, threads, places, size)
            memory = machine.launch.memory.data
        return [
            _serial(memory.view(dtype), places // dtype.itemsize + lane, [part[lane] for part in values], function)
            for lane in range(count)
        ]

    def run(machine: Machine, threads: Threads) -> None:
        at = address(machine, threads)
        values = [[np.broadcast_to(source(machine, threads), (len(threads),)) for source in part] for part in sources]
        old = [np.zeros(len(threads), dtype) for _ in range(count)]
        everyone = threads.number

        def part(some: Threads, place: Array, where: str) -> None:
            mask = np.isin(everyone, some.number) if len(some) != len(everyone) else slice(None)
            found = one(machine, some, place, where, [[value[mask] for value in group] for group in values])
            for lane in range(count):
                old[lane][mask] = found[lane]

        if space == "generic":
            _split(machine, threads, at, part)
        else:
            part(threads, at, space)
        for sink, value in zip(sinks, old):
            sink(machine, threads, value)
        machine.events += 1

    step.run = run


def _atomic_function(kind: str, type_: str) -> Callable[..., Any]:
    if kind == "cas":
        return lambda old, compare, value: np.where(old == compare, value, old)
    if kind == "inc":
        return lambda old, value: np.where(old >= value, old.dtype.type(0), old + old.dtype.type(1))
    if kind == "dec":
        return lambda old, value: np.where((old == 0) | (old > value), value, old - old.dtype.type(1))
    plain = _ATOMIC[kind]
    if type_ in ("f16x2", "bf16x2", "bf16"):
        from .arithmetic import operation

        if kind == "exch":
            return plain
        return operation(kind, ("rn", type_) if kind == "add" else (type_,)).function
    return plain


def _serial(memory: Array, places: Array, values: list[Array], function: Callable[..., Any]) -> Array:
    """Apply an operation at places, those that repeat one after the other; returns what was there before each."""
    old = np.empty(len(places), memory.dtype)
    order = np.argsort(places, kind="stable")
    ranked = places[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    rank = np.arange(len(places)) - np.repeat(starts, np.diff(np.r_[starts, len(places)]))
    for turn in range(int(rank.max(initial=-1)) + 1):
        some = order[rank == turn]
        before = memory[places[some]]
        old[some] = before
        memory[places[some]] = function(before, *[value[some] for value in values])
    return old


# --- fences (9.7.13.4) ---


def _fence(compiler: Compiler, statement: Statement, step: Step) -> None:
    words = statement.modifiers
    if words[:1] == ("proxy",):
        step.run = lambda machine, threads: machine.launch.proxy_fence(machine, step, threads, words)
        return
    step.run = lambda machine, threads: machine.launch.memory_fence(machine, threads, words)


BUILDERS: dict[str, Builder] = {
    "bra": _branch, "brx": _branch_indexed, "exit": _exit, "ret": _return, "call": _call, "trap": _trap,
    **dict.fromkeys(("bar", "barrier"), _barrier),
    **dict.fromkeys(("prefetch", "prefetchu", "applypriority", "discard", "nanosleep", "setmaxnreg", "griddepcontrol",
                     "pmevent", "brkpt"), _nothing),
    "createpolicy": _policy,
    "shfl": _shuffle, "vote": _vote, "match": _match, "redux": _reduce, "activemask": _active_mask, "elect": _elect,
    "cvta": _convert_address, "isspacep": _is_space,
    "ld": _load, "ldu": _load, "st": _store, "atom": _atomic, "red": _atomic,
    "fence": _fence, "membar": _fence,
}  # fmt: skip


def _add_builders() -> None:
    from . import bulk, clusters, copies, matrices, tensor_memory, wgmma

    for module in (bulk, clusters, copies, matrices, tensor_memory, wgmma):
        BUILDERS.update(module.BUILDERS)


_add_builders()
