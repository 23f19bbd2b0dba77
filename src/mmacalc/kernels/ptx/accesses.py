"""Accesses to memory: addresses, loads, stores, atomic operations, fences (PTX ISA 9.0, 9.7.9 and 9.7.13)."""

from __future__ import annotations

import numpy as np

from ...base.errors import Error
from ...ptx.module import Address, Register, Statement, Symbol, count_of, is_braced
from ..device.memory import Outside
from . import shared_flags
from .grammar import TYPES
from .knowledge import SCOPES, access_of
from .memory_bytes import all_bits, gathered, scattered
from .operation import DTYPES
from .program import POLLING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from .compiler import Compiler
    from .machine import Machine
    from .program import Step
    from .threads import Threads

    Array = NDArray[Any]
    Builder = Callable[[Compiler, Statement, Step], Any]

__all__ = [
    "BUILDERS",
    "SHARED_BASE",
    "LOCAL_BASE",
    "by_space",
    "global_places",
    "read_memory",
    "reduction",
    "space_of_access",
    "vector_of",
]

SHARED_BASE, LOCAL_BASE = 0x7F_0000_0000_0000, 0x7E_0000_0000_0000
"""Where shared and local memory are in the generic address space."""
MAP_BYTES = 128
"""The size of a tensor map (PTX ISA 5.5.8)."""
SPACES = ("global", "shared", "local", "const", "param")


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
    sink, source = compiler.sink(statement.operands[0], "pred"), compiler.source_as_wide(statement.operands[1])

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
    return count, next(word for word in reversed(statement.modifiers) if word in TYPES)


# --- loads and stores (9.7.9.8, 9.7.9.11) ---


def _load(compiler: Compiler, statement: Statement, step: Step) -> None:
    count, type_ = vector_of(statement)
    targets, operand = statement.operands[:2]
    names = targets if is_braced(targets) else (targets,)
    space = space_of_access(compiler, statement, operand)
    dtype = DTYPES[type_]
    sinks = [compiler.sink(name, type_) for name in names]
    if space == "param":
        _load_parameter(compiler, operand, step, sinks, dtype)
        return
    address = compiler.address(operand)
    step.critical = frozenset(compiler.accessed[0])
    size = _size_of(compiler, space, count * dtype.itemsize)
    registers = [index_of(compiler, name) for name in names]
    if space in ("shared", "generic") and access_of(statement.root, statement.modifiers).scope:
        step.polls = compiler.repeats(step, POLLING)
        compiler.program.polls_shared |= step.polls

    def put(machine: Machine, threads: Threads, data: Array, missing: Array | None) -> None:
        values = np.ascontiguousarray(data).view(dtype)
        for place, sink in enumerate(sinks):
            sink(machine, threads, values[:, place].copy())
        if missing is not None:
            for place, index in enumerate(registers):
                bad = missing[:, place * dtype.itemsize : (place + 1) * dtype.itemsize]
                if index is not None and bad.any():
                    machine.launch.mark_undefined(machine, step, index, threads, _bits_of_bytes(bad, dtype))

    def run(machine: Machine, threads: Threads) -> None:
        at = address(machine, threads)
        if space == "generic":
            by_space(machine, threads, at, lambda part, place, where: put(
                machine, part, *read_memory(machine, step, part, place, where, size)))  # fmt: skip
            return
        put(machine, threads, *read_memory(machine, step, threads, at, space, size))

    step.run = run


def _bits_of_bytes(bad: Array, dtype: np.dtype[Any]) -> Array:
    """The bits of values whose bytes (value, byte) are bad; where those of a signed one are, those of its sign."""
    whole = bad[:, -1] if dtype.kind == "i" else np.zeros(len(bad), bool)
    bits = np.ascontiguousarray(bad * np.uint8(255)).view(np.uint8)
    if dtype.itemsize == 16:
        found: Array = bits.any(axis=1).astype(np.complex128)
        return found
    return np.where(whole, ~np.uint64(0), bits.view(f"u{dtype.itemsize}")[:, 0].astype(np.uint64))


def _size_of(compiler: Compiler, space: str, size: int) -> int:
    """The bytes of a thread's access, which are entered as a size of its state space."""
    if space in ("shared", "generic"):
        compiler.sizes.add(min(size, 16))
    if space in ("global", "generic"):
        compiler.global_sizes.add(size)
    return size


def index_of(compiler: Compiler, operand: Any) -> int | None:
    return compiler.frame.register(operand.name) if isinstance(operand, Register) else None


def by_space(machine: Machine, threads: Threads, address: Array, one: Any) -> None:
    """An access by generic addresses, as one for each state space."""
    spaces = space_of_generic(address)
    for number, space in enumerate(("global", "shared", "local")):
        mask = spaces == number
        if mask.all():
            one(threads, address - (0, SHARED_BASE, LOCAL_BASE)[number], space)
            return
        if mask.any():
            one(threads.where(mask), address[mask] - (0, SHARED_BASE, LOCAL_BASE)[number], space)


def read_memory(
    machine: Machine, step: Step, threads: Threads, at: Array, space: str, size: int
) -> tuple[Array, Array | None]:
    """Bytes (thread, size), and which of them nothing has written, if any."""
    if space == "shared":
        places = machine.shared_access(step, threads, at, size, "read")
        if shared_flags.is_strong(machine, step):
            shared_flags.read_strong(machine, step, threads, places, size)
            return gathered(machine.shared, places, size), machine.take(places, size)
        return machine.read_shared(step, threads, places, size)
    if space == "local":
        _check_local(machine, step, threads, at, size)
        index = threads.number[:, None], at[:, None] + np.arange(size)
        known = machine.local_written[index]
        return machine.local[index], None if known.all() else ~known
    offsets, pattern = _counted_places(machine, step, threads, at, size, False)
    if space != "const":
        machine.launch.traffic.anywhere(step, threads, at, size, "read", pattern)
    order = machine.launch.order
    order.loaded(machine, step, threads, offsets, size)
    return gathered(machine.launch.memory.data, offsets, size), order.racing(machine, step, threads, offsets, size)


def _check_local(machine: Machine, step: Step, threads: Threads, at: Array, size: int) -> None:
    wrong = (at < 0) | (at + size > machine.local.shape[1])
    if wrong.any():
        machine.outside(step, threads, at, wrong, f"local memory, which has {machine.local.shape[1]} bytes")
    if size & (size - 1) == 0 and (at & (size - 1)).any():
        machine.misaligned(step, threads, at, (at & (size - 1)) != 0, size)


def global_places(machine: Machine, step: Step, threads: Threads, at: Array, size: int, store: bool) -> Array:
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


def _counted_places(
    machine: Machine, step: Step, threads: Threads, at: Array, size: int, store: bool
) -> tuple[Array, int | None]:
    """As `global_places`, and a number for the pattern of the addresses, if the core gives one."""
    found = machine.core.global_places(threads, at, size, store)
    return (global_places(machine, step, threads, at, size, store), None) if found is None else found


def _load_parameter(compiler: Compiler, operand: Any, step: Step, sinks: list[Any], dtype: Any) -> None:
    if isinstance(operand, Address) and isinstance(operand.base, Register):
        _load_parameter_at(compiler, operand, step, sinks, dtype)
        return
    name = operand.base.name
    if name not in compiler.program.parameters:
        raise Error(f"unknown parameter '{name}'")
    start = compiler.program.parameters[name][0] + operand.base.offset + operand.offset

    size = dtype.itemsize * len(sinks)

    def run(machine: Machine, threads: Threads) -> None:
        parameters = machine.launch.parameters
        if not 0 <= start <= len(parameters) - size:
            everywhere = np.full(len(threads), start)
            machine.outside(step, threads, everywhere, everywhere == start, _parameters(parameters))
        raw = parameters[start : start + size]
        for sink, value in zip(sinks, np.frombuffer(raw, dtype)):
            sink(machine, threads, np.full(len(threads), value, dtype))

    step.run = run


def _parameters(parameters: bytes) -> str:
    return f"the parameters, which have {len(parameters)} bytes"


def _load_parameter_at(compiler: Compiler, operand: Address, step: Step, sinks: list[Any], dtype: Any) -> None:
    """ld.param by an address within the space of parameters, as nvcc indexes structures (9.7.9.8)."""
    address, size = compiler.address(operand), dtype.itemsize * len(sinks)
    step.critical = frozenset(compiler.accessed[0])

    def run(machine: Machine, threads: Threads) -> None:
        launch = machine.launch
        at = address(machine, threads)
        at = np.where(at >= launch.parameter_address, at - launch.parameter_address, at)
        wrong = (at < 0) | (at + size > len(launch.parameters))
        if wrong.any():
            machine.outside(step, threads, at, wrong, _parameters(launch.parameters))
        raw = np.frombuffer(launch.parameters, np.uint8)[at[:, None] + np.arange(size)]
        values = np.ascontiguousarray(raw).view(dtype)
        for place, sink in enumerate(sinks):
            sink(machine, threads, values[:, place].copy())

    step.run = run


def _store(compiler: Compiler, statement: Statement, step: Step) -> None:
    if "async" in statement.modifiers or "bulk" in statement.modifiers:
        from . import async_stores

        (async_stores.initialise if "bulk" in statement.modifiers else async_stores.store)(compiler, statement, step)
        return
    count, type_ = vector_of(statement)
    operand, values = statement.operands[:2]
    names = values if is_braced(values) else (values,)
    space = space_of_access(compiler, statement, operand)
    dtype = DTYPES[type_]
    address = compiler.address(operand)
    step.critical = frozenset(compiler.accessed[0])
    sources = [compiler.source(name, type_) for name in names]
    size = _size_of(compiler, space, count * dtype.itemsize)
    registers = [index_of(compiler, name) for name in names]

    def run(machine: Machine, threads: Threads) -> None:
        at = address(machine, threads)
        values = [np.broadcast_to(source(machine, threads), (len(threads),)) for source in sources]
        joined = np.ascontiguousarray(values[0]) if count == 1 else np.stack(values, 1)
        data = joined.view(np.uint8).reshape(len(threads), size)
        if space != "generic":
            part(machine, threads, at, space, data)
            return
        everyone = threads.number

        def one(some: Threads, place: Array, where: str) -> None:
            mask = np.isin(everyone, some.number) if len(some) != len(everyone) else slice(None)
            part(machine, some, place, where, data[mask])

        by_space(machine, threads, at, one)

    def part(machine: Machine, threads: Threads, at: Array, where: str, data: Array) -> None:
        write_memory(machine, step, threads, at, where, data)
        if machine.undefined:
            store_undefined(machine, step, threads, at, where, registers, dtype.itemsize)

    step.run = run


def write_memory(machine: Machine, step: Step, threads: Threads, at: Array, space: str, data: Array) -> None:
    size = data.shape[1]
    if space == "shared":
        places = machine.shared_access(step, threads, at, size, "write")
        if shared_flags.is_strong(machine, step):
            shared_flags.write_strong(machine, step, threads, places, size)
            machine.put_shared(step, threads, places, data)
            return
        if machine.launch.order.flags:
            shared_flags.replaced(machine, places)
        machine.write_shared(step, threads, places, data)
    elif space == "local":
        _check_local(machine, step, threads, at, size)
        index = threads.number[:, None], at[:, None] + np.arange(size)
        machine.local[index], machine.local_written[index] = data, True
    else:
        offsets, pattern = _counted_places(machine, step, threads, at, size, True)
        machine.launch.traffic.anywhere(step, threads, at, size, "write", pattern)
        machine.launch.order.stored(machine, step, threads, offsets, data)
        scattered(machine.launch.memory.data, offsets, data)
        machine.check_lanes(step, threads, offsets, data, machine.launch.memory.data, machine.launch.order.place)


def store_undefined(
    machine: Machine, step: Step, threads: Threads, at: Array, space: str, registers: list[int | None], each: int
) -> None:
    """Undefined values make bytes of shared and local memory undefined; in global memory they are a finding. A word of
    which local memory has some bytes only is taken for the padding of a structure that is copied."""
    for place, index in enumerate(registers):
        mask = machine.undefined.get(index) if index is not None else None
        if index is None or mask is None:
            continue
        bits = mask[threads.use]
        if each < bits.itemsize and bits.dtype.kind == "u":  # st.b8 and st.b16 store the low bits of wider registers
            bits = (bits & bits.dtype.type((1 << 8 * each) - 1)).astype(f"u{each}")
        if not (bad := bits.astype(bool)).any():
            continue
        some = threads.where(bad)
        if space in ("shared", "local"):
            wide = bits[bad].astype(bool) * ~np.uint64(0) if bits.dtype.kind in "bc" else bits[bad].astype(np.uint64)
            octets = wide[:, None].view(np.uint8)
            lost = np.resize(octets, (each, len(wide))).T if each > 8 else octets[:, :each]
            if space == "shared":
                first = machine.shared_places(step, some, at[bad], each) + place * each
                machine.written[first[:, None] + np.arange(each)] &= lost == 0
            else:
                first = at[bad] + place * each
                machine.local_written[some.number[:, None], first[:, None] + np.arange(each)] &= lost == 0
        elif space == "global":
            origin = machine.origin.get(index)
            if origin is not None and origin.statement.root == "ld" and "global" not in origin.statement.modifiers:
                some = threads.where(bits == all_bits(bits.dtype))
            if len(some):
                how = "is stored" if step.statement.root == "st" else "is an operand"
                machine.launch.undefined_use(machine, step, some, index, how)


# --- atomics (9.7.13.11, 9.7.13.12) ---

_ATOMIC: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "exch": lambda old, value: value,
}  # fmt: skip


def _atomic(compiler: Compiler, statement: Statement, step: Step) -> None:
    if "async" in statement.modifiers:
        from .async_stores import store

        store(compiler, statement, step)
        return
    step.run = _Atomic(compiler, statement, step).run


class _Atomic:
    """atom and red: one thread after the other, in the order of their numbers. Of a vector each element by itself."""

    def __init__(self, compiler: Compiler, statement: Statement, step: Step) -> None:
        self.step = step
        self.count, type_ = vector_of(statement)
        operands = list(statement.operands)
        target = operands.pop(0) if statement.root == "atom" else Symbol("_")
        operand, *given = operands
        self.kind = next(word for word in statement.modifiers if word in _ATOMIC or word in ("inc", "dec", "cas"))
        self.space = space_of_access(compiler, statement, operand)
        self.address = compiler.address(operand)
        step.critical = frozenset(compiler.accessed[0])
        if self.count == 1:
            names: tuple[Any, ...] = (target,)
        else:
            names = target if is_braced(target) else (Symbol("_"),) * self.count
        self.sinks = [compiler.sink(name, type_) for name in names]
        parts: list[Any] = [given[0] if self.count > 1 else given[:1]]
        parts += [given[1:2]] if self.kind == "cas" else []
        self.sources = [[compiler.source(one, type_) for one in part] for part in parts]
        self.registers = [[index_of(compiler, one) for one in part] for part in parts]
        self.dtype = DTYPES[type_]
        self.size = self.count * self.dtype.itemsize
        if self.space in ("shared", "generic"):
            compiler.sizes.add(min(16, self.size))
        compiler.global_sizes.add(self.size)
        self.function = reduction(self.kind, type_)

    def run(self, machine: Machine, threads: Threads) -> None:
        """Carry it out in some threads; each gets what was there before."""
        at = self.address(machine, threads)
        values = [
            [np.broadcast_to(source(machine, threads), (len(threads),)) for source in part] for part in self.sources
        ]
        old = [np.zeros(len(threads), self.dtype) for _ in range(self.count)]
        everyone = threads.number

        def part(some: Threads, place: Array, where: str) -> None:
            mask = np.isin(everyone, some.number) if len(some) != len(everyone) else slice(None)
            found = self._exchanged(machine, some, place, where, [[value[mask] for value in group] for group in values])
            for lane in range(self.count):
                old[lane][mask] = found[lane]
            for group in self.registers if machine.undefined else ():
                store_undefined(machine, self.step, some, place, where, group, self.dtype.itemsize)

        if self.space == "generic":
            by_space(machine, threads, at, part)
        else:
            part(threads, at, self.space)
        for sink, value in zip(self.sinks, old):
            sink(machine, threads, value)
        machine.events += 1

    def _exchanged(
        self, machine: Machine, threads: Threads, at: Array, where: str, values: list[list[Array]]
    ) -> list[Array]:
        """Of each element what was there before; what the operation leaves is there now."""
        step, size = self.step, self.size
        if where == "local":
            raise Error(f"line {step.line}: an atomic operation on local memory")
        if where == "shared":
            places = machine.shared_places(step, threads, at, size)
            machine.unread.read(machine.shadow, machine.granules(places, size).reshape(-1))
            machine.launch.atomic_shared(machine, step, threads, places, size)
            memory = machine.shared
            whole = places[:, None] + np.arange(size)
            if self.kind != "exch" and not machine.written[whole].all():
                machine.launch.undefined_bytes(machine, step, threads, places, size)
            machine.written[whole] = True
        else:
            places = global_places(machine, step, threads, at, size, True)
            machine.launch.traffic.anywhere(step, threads, at, size, "atomic")
            memory = machine.launch.memory.data
        cells, first = memory.view(self.dtype), places // self.dtype.itemsize
        old = [_serial(cells, first + lane, [part[lane] for part in values], self.function)
               for lane in range(self.count)]  # fmt: skip
        wrote = _equal(old[0], values[0][0]) if self.kind == "cas" else None
        if where == "global":
            machine.launch.order.swapped(machine, step, threads, places, size, wrote)
        else:
            shared_flags.handed_on(machine, step, threads, places, wrote)
        return old


def reduction(kind: str, type_: str) -> Callable[..., Any]:
    """What an atomic operation leaves of what was there, and of its operands."""
    if kind == "cas":
        return lambda old, compare, value: np.where(_equal(old, compare), value, old)
    if kind == "inc":
        return lambda old, value: np.where(old >= value, old.dtype.type(0), old + old.dtype.type(1))
    if kind == "dec":
        return lambda old, value: np.where((old == 0) | (old > value), value, old - old.dtype.type(1))
    plain = _ATOMIC[kind]
    if type_ in ("f16x2", "bf16x2", "bf16") or (type_ == "f16" and kind in ("min", "max")):
        from .arithmetic import operation

        if kind == "exch":
            return plain
        return operation(kind, ("rn", type_) if kind == "add" else (type_,)).function
    return plain


def _equal(a: Array, b: Array) -> Array:
    """Whether values have the same bits."""
    if a.dtype.kind != "c":
        same: Array = a == b
        return same
    words = [np.ascontiguousarray(x).view(np.uint64).reshape(-1, 2) for x in (a, b)]
    both: Array = (words[0] == words[1]).all(axis=1)
    return both


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


def _discard(compiler: Compiler, statement: Statement, step: Step) -> None:
    """discard.L2: 128 bytes are indeterminate until they are written again; here all their bits are turned over."""
    size = 128
    if compiler.number(statement.operands[1]) != size:
        raise Error(f"{statement.opcode} discards {size} bytes (9.7.9.18)")
    address = compiler.address(statement.operands[0])
    step.critical = frozenset(compiler.accessed[0])
    compiler.global_sizes.add(16)

    def run(machine: Machine, threads: Threads) -> None:
        at = address(machine, threads)
        if (at % size).any():
            machine.misaligned(step, threads, at, at % size != 0, size)
        places = global_places(machine, step, threads, at, size, True)
        data = ~machine.launch.memory.data[places[:, None] + np.arange(size)]
        write_memory(machine, step, threads, at, "global", data)

    step.run = run


# --- fences (9.7.13.5) ---


def _fence(compiler: Compiler, statement: Statement, step: Step) -> None:
    words = statement.modifiers
    if words[:2] == ("proxy", "tensormap::generic"):
        _fence_maps(compiler, statement, step)
        return
    if words[:1] == ("proxy",):
        step.run = lambda machine, threads: machine.launch.proxy_fence(machine, step, threads, words)
        return
    if words[:1] == ("mbarrier_init",):
        step.run = lambda machine, threads: machine.asynchronous.show(threads)
        return
    # membar.cta, .gl and .sys are fence.sc of .cta, .gpu and .sys (9.7.13.5).
    scope = next((SCOPES[word] for word in words if word in SCOPES), SCOPES["gpu"])
    acquires, releases = words[:1] != ("release",), words[:1] != ("acquire",)

    def run(machine: Machine, threads: Threads) -> None:
        machine.asynchronous.relaxed.fence(threads, acquires, releases)
        machine.knowledge.fence(threads, scope, acquires, releases)

    step.run = run


def _fence_maps(compiler: Compiler, statement: Statement, step: Step) -> None:
    """fence.proxy.tensormap::generic, .release or .acquire [map], 128 (9.7.13.5)."""
    words = statement.modifiers
    address = compiler.address(statement.operands[0]) if statement.operands else None
    if len(statement.operands) not in (0, 2) or (address and compiler.number(statement.operands[1]) != MAP_BYTES):
        raise Error(f"{statement.opcode} has the operands [map], {MAP_BYTES}")
    step.critical = frozenset(compiler.accessed[0])

    def run(machine: Machine, threads: Threads) -> None:
        places = None
        if address is not None:
            at = address(machine, threads)
            if (absent := at == 0).any():  # so do the warps of CUTLASS's grouped GEMMs that store nothing
                machine.launch.remark(step, "acquires a tensor map at address 0: that has no effect")
                threads, at = threads.where(~absent), at[~absent]
                if not len(threads):
                    return
            places = global_places(machine, step, threads, at, MAP_BYTES, False)
        machine.map_fences.fence(threads, words, places)

    step.run = run


BUILDERS: dict[str, Builder] = {
    "cvta": _convert_address, "isspacep": _is_space,
    "ld": _load, "ldu": _load, "st": _store, "atom": _atomic, "red": _atomic,
    "fence": _fence, "membar": _fence, "discard": _discard,
}  # fmt: skip
