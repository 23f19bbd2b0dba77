"""Bulk copies and tensor copies, and tensor maps that kernels make (PTX ISA 9.0, 9.7.9.25 to 9.7.9.28)."""

from __future__ import annotations

import numpy as np

from ...base.errors import Error
from ...ptx.module import count_of
from .accesses import global_places, reduction
from .asynchronous import Store
from .global_copies import covered
from .grammar import TYPES
from .operation import DTYPES
from .tensor_map import PADDED_SWIZZLES
from .tensor_maps import BYTES, TensorMap, read_map, replace_field
from .threads import Repeated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ...ptx.module import Statement
    from .compiler import Compiler
    from .global_copies import GlobalLoad
    from .machine import Machine
    from .program import Step
    from .threads import Threads

    Array = NDArray[Any]

__all__ = ["BUILDERS", "build", "reduce_later", "write_later"]

NONE = np.zeros(0, np.int64)
REDUCTIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")


def build(compiler: Compiler, statement: Statement, step: Step) -> None:
    """cp.async.bulk and cp.reduce.async.bulk, with and without tensor maps."""
    words = statement.modifiers
    if "commit_group" in words:
        step.run = lambda machine, threads: machine.asynchronous.commit(threads)
        return
    if "wait_group" in words:
        keep = compiler.number(statement.operands[0])
        sources = "read" in words
        step.run = lambda machine, threads: machine.asynchronous.wait(threads, keep, sources)
        return
    if "prefetch" in words:
        return
    spaces = [word.partition("::")[0] for word in words if word.partition("::")[0] in ("shared", "global")]
    if len(spaces) != 2:
        raise Error(f"{statement.opcode} is not covered")
    if "tensor" in words:
        _tensor(compiler, statement, step, spaces[0] == "shared")
    else:
        _plain(compiler, statement, step, spaces)


def _extra(statement: Statement) -> tuple[bool, bool]:
    words = statement.modifiers
    return any(word == "multicast::cluster" for word in words), any("cache_hint" in word for word in words)


def _plain(compiler: Compiler, statement: Statement, step: Step, spaces: list[str]) -> None:
    """Contiguous bytes: multiples of 16, at multiples of 16."""
    multicast, _ = _extra(statement)
    words = statement.modifiers
    if "cp_mask" in words:
        raise Error(f"{statement.opcode} is not covered: a mask of bytes (.cp_mask)")
    kind, type_ = next((word for word in words if word in REDUCTIONS), ""), words[-1]
    if kind:
        type_ = next(word for word in reversed(words) if word in TYPES)
        compiler.sizes.add(DTYPES[type_].itemsize)
    destination, source, amount, *rest = statement.operands
    to = compiler.address(destination)
    origin = compiler.address(source)
    size = compiler.source(amount, "u32")
    signals = any("complete_tx" in word for word in statement.modifiers)
    bar = compiler.address(rest.pop(0)) if signals else None
    mask = compiler.source(rest.pop(0), "u16") if multicast else None
    step.critical = frozenset(compiler.accessed[0])
    compiler.sizes.add(16)

    def run(machine: Machine, threads: Threads) -> None:
        sizes = np.broadcast_to(size(machine, threads), (len(threads),))
        masks = np.broadcast_to(mask(machine, threads), (len(threads),)) if mask else np.zeros(len(threads), int)
        arguments = [
            to(machine, threads),
            origin(machine, threads),
            bar(machine, threads) if bar else np.zeros(len(threads), int),
        ]
        for at, thread in enumerate(threads.number.tolist()):
            one = threads.where(threads.number == thread)
            given = [int(argument[at]) for argument in arguments]
            _copy_bytes(machine, step, one, spaces, given, int(sizes[at]), int(masks[at]), (kind, type_))

    step.run = run


def _copy_bytes(  # noqa: PLR0913
    machine: Machine, step: Step, one: Threads, spaces: list[str], given: list[int], size: int, mask: int,
    reducing: tuple[str, str],
) -> None:  # fmt: skip
    to, origin, bar = given
    if size % 16 or to % 16 or origin % 16:
        raise Error(
            f"line {step.line}: {step.text}: a bulk copy has addresses and a size that are multiples of 16; got "
            f"{to:#x}, {origin:#x} and {size} bytes; {machine.launch.thread_text(machine, int(one.number[0]))}"
        )
    memory, copies = machine.launch.memory, machine.launch.order.copies
    granule = machine.launch.order.granule
    if spaces[0] == "shared":
        at = None
        if spaces[1] == "global":
            offset = int(global_places(machine, step, one, np.array([origin]), size, False)[0])
            at = np.arange(-(-offset // granule), (offset + size) // granule)
            take = lambda: memory.data[offset : offset + size].copy()  # noqa: E731
        else:
            place = _shared_span(machine, step, one, origin, size)
            async_read(machine, step, one, np.arange(place, place + size))
            take = lambda: machine.shared[place : place + size].copy()  # noqa: E731
        for target, barrier in _targets(machine, step, one, to, bar, mask, size):
            places = np.arange(target, target + size)
            if reducing[0]:
                reduce_later(machine, step, one, places, take, barrier, *reducing)
                continue
            load = None if at is None else copies.loads(machine, step, one, at)
            write_later(machine, step, one, places, take, barrier, size, load)
        return
    offset = int(global_places(machine, step, one, np.array([to]), size, True)[0])
    place = _shared_span(machine, step, one, origin, size)
    places = np.arange(place, place + size)
    granules = async_read(machine, step, one, places)
    at, index = covered(np.array([offset]), size, granule)
    kind, type_ = reducing
    store = copies.stores(machine, step, one, at, index, machine.shared[places], bool(kind))

    def put(data: Array) -> None:
        copies.stored(machine, store, data)
        span = memory.data[offset : offset + size]
        span[:] = _reduced(span, data, kind, type_) if kind else data
        for observer in machine.launch.observers:
            observer.stored(step, one, np.array([offset]), size)

    flight = Store(lambda: machine.shared[places], put, store)
    machine.asynchronous.fly(step, int(one.number[0]), granules, True, flight, [])


def _shared_span(machine: Machine, step: Step, one: Threads, start: int, size: int) -> int:
    """Where a span of a CTA's shared memory begins: a multiple of 16 bytes, of which the first and the last must lie
    within."""
    first: Array = machine.shared_places(step, one, np.array([start]), 16)
    if size > 16:
        machine.shared_places(step, one, np.array([start + size - 16]), 16)
    return int(first[0])


def _targets(
    machine: Machine, step: Step, one: Threads, to: int, bar: int, mask: int, size: int = 16
) -> list[tuple[int, int]]:
    """(place of `size` bytes of data, place of the mbarrier) in each CTA of the mask, or in the one that is addressed.
    With .cta_group::2 the mbarrier is that of the first or second CTA of each pair, as the operand says
    (9.7.9.25.5.2)."""
    if not mask:
        place = _shared_span(machine, step, one, to, size)
        return [(place, int(machine.shared_places(step, one, np.array([bar]), 8)[0]))]
    found = []
    for rank in range(machine.launch.cluster_size):
        if mask >> rank & 1:
            window = rank << 24
            place = _shared_span(machine, step, one, window | to & 0xFFFFFF, size)
            if "cta_group::2" in step.statement.modifiers:
                window = (rank & ~1) << 24 | bar & 1 << 24
            found.append((place, int(machine.shared_places(step, one, np.array([window | bar & 0xFFFFFF]), 8)[0])))
    return found


def write_later(  # noqa: PLR0913
    machine: Machine, step: Step, one: Threads, places: Array, take: Any, barrier: int, size: int,
    load: GlobalLoad | None, padding: Array = NONE,
) -> None:  # fmt: skip
    """Bytes of shared memory are written by a copy that completes by an mbarrier. padding: others, which hold nothing
    afterwards (5.5.1.1, "the padded region that gets added is un-initialized")."""
    thread = int(one.number[0])
    granules = np.unique(np.concatenate([places, padding]) // machine.granule)
    repeated = Repeated(machine, thread, len(granules))
    machine.check_destination(step, repeated, granules * machine.granule, machine.granule)
    team = int(machine.team_of[thread])

    def deliver() -> None:
        found = machine.asynchronous.barriers.get(barrier)
        agent = found.agent if found is not None else int(machine.member_of[thread])
        phase = found.phase + 1 if found is not None else 0
        clock = np.full(len(granules), phase, np.int32)
        if load is not None:
            machine.launch.order.copies.loaded(machine, load, agent, phase)
        count = len(granules)
        machine.shadow.write(granules, np.full(count, team), np.full(count, agent), step.index, False, clock)
        machine.shared[places] = take()
        machine.written[places] = True
        machine.written[padding], machine.shadow.how[padding // machine.granule] = False, 0
        for observer in machine.launch.observers:
            observer.copied(step, places, 1)

    if machine.asynchronous.barrier(step, np.array([thread]), barrier) is None:
        deliver()
        return
    machine.asynchronous.signalled(barrier)
    machine.asynchronous.fly(step, thread, granules, False, deliver, [(barrier, size)])


def reduce_later(  # noqa: PLR0913
    machine: Machine, step: Step, one: Threads, places: Array, take: Any, barrier: int, kind: str, type_: str
) -> None:
    """Values in shared memory are reduced by an operation that completes by an mbarrier. Reductions do not collide with
    each other: each is atomic (9.7.13.13, 9.7.9.25.4.2)."""
    thread, asynchronous = int(one.number[0]), machine.asynchronous
    granules = np.unique(places // machine.granule)
    mine = np.isin(machine.flight[granules], [*asynchronous.reducing]) | machine.shadow.atomic[granules]
    plain = granules[~mine]
    if len(plain):
        machine.check_destination(step, Repeated(machine, thread, len(plain)), plain * machine.granule, machine.granule)
    team = int(machine.team_of[thread])

    def deliver() -> None:
        found = asynchronous.barriers.get(barrier)
        machine.unread.read(machine.shadow, granules)
        agent = found.agent if found is not None else int(machine.member_of[thread])
        clock = np.full(len(granules), found.phase + 1 if found is not None else 0, np.int32)
        count = len(granules)
        machine.shadow.write(granules, np.full(count, team), np.full(count, agent), step.index, True, clock)
        machine.shadow.atomic[granules] = True
        machine.shared[places] = _reduced(machine.shared[places], take(), kind, type_)
        asynchronous.reduced(granules)

    if not machine.written[places].all():
        byte = machine.byte_of(int(places[~machine.written[places]][0]))
        machine.launch.find("uninitialised", step, f"reduces {byte}, which nothing has written", one.number)
    if asynchronous.barrier(step, one.number, barrier) is None:
        deliver()
        return
    asynchronous.signalled(barrier)
    flight = asynchronous.fly(step, thread, granules, False, deliver, [(barrier, len(places))])
    asynchronous.reducing[flight.number] = granules


def async_read(machine: Machine, step: Step, one: Threads, places: Array) -> Array:
    """The async proxy reads bytes of shared memory: order, proxy fence, copies in flight. Returns the granules."""
    granules = np.unique(places // machine.granule)
    machine.async_reads.check(step, int(one.number[0]), granules)
    return granules


# --- tensor copies ---


def _tensor(compiler: Compiler, statement: Statement, step: Step, loads: bool) -> None:  # noqa: PLR0915
    words = statement.modifiers
    multicast, _ = _extra(statement)
    if any(word.startswith("im2col::w") for word in words):
        raise Error(f"{statement.opcode} is not covered: im2col along one row (.im2col::w)")
    operands = list(statement.operands)
    mapped: Any = operands[1] if loads else operands[0]
    rank = count_of(next(word for word in words if word[1:] == "d")[0])
    count = 5 if any(word.endswith(("gather4", "scatter4")) for word in words) else rank
    coordinates = [compiler.source(one, "s32") for one in mapped.more[0]]
    if len(coordinates) != count:
        raise Error(f"{statement.opcode} has {count} coordinates; got {len(coordinates)}")
    map_address = compiler.address(mapped._replace(more=()))
    other = compiler.address(operands[0] if loads else operands[1])
    bar = compiler.address(operands[2]) if loads else None
    rest: list[Any] = operands[3:]
    shifting: Any = rest.pop(0) if "im2col" in words else ()
    shifts = [compiler.source(one, "u16") for one in shifting]
    if shifting and len(shifts) != rank - 2:
        raise Error(f"{statement.opcode} has {rank - 2} offsets of im2col; got {len(shifts)}")
    mask = compiler.source(rest[0], "u16") if multicast else None
    step.critical = frozenset(compiler.accessed[0])
    compiler.sizes.add(16)
    kind = next((word for word in words if word in REDUCTIONS), "")
    columns = any(word.startswith("im2col") for word in words)

    def run(machine: Machine, threads: Threads) -> None:
        maps = map_address(machine, threads)
        shared = other(machine, threads)
        bars = bar(machine, threads) if bar else shared
        masks = np.broadcast_to(mask(machine, threads), (len(threads),)) if mask else np.zeros(len(threads), int)
        at, by = (np.array([np.broadcast_to(one(machine, threads), (len(threads),)) for one in group]).T.reshape(
            len(threads), -1) for group in (coordinates, shifts))  # fmt: skip
        for number, thread in enumerate(threads.number.tolist()):
            one = threads.where(threads.number == thread)
            tensor = read_map(machine, step, one, int(maps[number]))
            if tensor.rank != rank or bool(tensor.corners) != columns:
                mode = "im2col" if tensor.corners else "tile"
                raise Error(
                    f"line {step.line}: {step.text}: the tensor map has {tensor.rank} dimensions in {mode} mode"
                )
            if count != rank and tensor.box[1] != 1:
                raise Error(f"line {step.line}: {step.text}: the tensor map's box is one row; it has {tensor.box[1]}")
            offsets, inside = tensor.offsets(machine, step, one, at[number], not loads, by[number].tolist())
            if loads:
                targets = _targets(machine, step, one, int(shared[number]), int(bars[number]), int(masks[number]))
                _load_tile(machine, step, one, tensor, (offsets, inside), targets)
            else:
                _store_tile(machine, step, one, tensor, (offsets, inside), int(shared[number]), kind)

    step.run = run


def _tile_places(machine: Machine, step: Step, one: Threads, tensor: TensorMap, start: int, count: int) -> Array:
    """The bytes of a tile's units (unit, byte) from a place of shared memory on. Stops where they lie beyond the
    memory of its CTA."""
    base = start // machine.shared_size * machine.shared_size
    places, size = tensor.shared_places(start - base, count), tensor.unit.shared
    last, end = int(places.max()) + size - 1, machine.launch.shared_bytes
    if last >= end:
        what = f"shared memory, which ends at {end:#x}: so far the tile reaches, whose box is {tensor.box[::-1]}"
        machine.outside(step, one, np.array([last]), np.array([True]), what)
    found: Array = base + places[:, None] + np.arange(size)
    return found


def _load_tile(
    machine: Machine, step: Step, one: Threads, tensor: TensorMap, found: tuple[Array, Array],
    targets: list[tuple[int, int]],
) -> None:  # fmt: skip
    memory, (offsets, inside) = machine.launch.memory, found
    unit, order = tensor.unit, machine.launch.order
    size = len(offsets) * unit.size  # an mbarrier counts the bytes without padding: CUTLASS, TmaTransactionBytes
    byte = np.arange(unit.size)
    granules, _ = covered(offsets[inside], unit.size, order.granule)
    if tensor.swizzle == "128B base64B" and tensor.element in PADDED_SWIZZLES:
        raise Error(f"line {step.line}: {step.text}: the swizzle {tensor.swizzle} of .{tensor.element} is for stores "
                    "alone (cuTensorMapEncodeTiled)")  # fmt: skip

    for place, barrier in targets:
        if place % 128:
            raise Error(f"line {step.line}: {step.text}: the tile must begin at a multiple of 128 bytes; it begins at "
                        f"{place % machine.shared_size:#x}")  # fmt: skip
        flat = _tile_places(machine, step, one, tensor, place, len(offsets))
        filled, padding = flat[:, : unit.size].reshape(-1), flat[:, unit.size :].reshape(-1)

        def take() -> Array:
            return tensor.loaded(memory.data[offsets[:, None] + byte], inside).reshape(-1)

        load = order.copies.loads(machine, step, one, granules)
        machine.descriptors.copied(np.unique(flat // machine.granule), tensor.swizzle)
        write_later(machine, step, one, filled, take, barrier, size, load, padding)


def _store_tile(
    machine: Machine, step: Step, one: Threads, tensor: TensorMap, found: tuple[Array, Array], origin: int, kind: str
) -> None:
    memory, (offsets, inside), size = machine.launch.memory, found, tensor.unit.size
    if kind and tensor.unit.elements > 1:
        raise Error(f"line {step.line}: {step.text}: there are no reductions of .{tensor.element} by tensor copies")
    if kind and tensor.element in ("f32.ftz", "tf32", "tf32.ftz"):
        raise Error(f"line {step.line}: {step.text}: reductions of .{tensor.element} by tensor copies are not covered: "
                    "what they round or flush is not documented")  # fmt: skip
    if tensor.swizzle == "128B base32B flip8B":
        raise Error(f"line {step.line}: {step.text}: the swizzle {tensor.swizzle} is for loads alone (PTX ISA, "
                    "restrictions on tensor copies)")  # fmt: skip
    if tensor.element == "b4x16_p64":
        raise Error(f"line {step.line}: {step.text}: tensor copies load .b4x16_p64 and do not store it")
    place = int(machine.shared_places(step, one, np.array([origin]), 16)[0])
    byte = np.arange(size)
    flat = _tile_places(machine, step, one, tensor, place, len(offsets))
    granules = async_read(machine, step, one, flat.reshape(-1))
    copies, place_of = machine.launch.order.copies, np.flatnonzero(inside)
    at, within = covered(offsets[inside], size, machine.launch.order.granule)
    within = place_of[within // size] * size + within % size

    def content() -> Array:
        data: Array = machine.shared[flat]
        return _six_bits(data) if tensor.element in PADDED_SWIZZLES else data

    store = copies.stores(machine, step, one, at, within, content().reshape(-1), bool(kind))

    def put(data: Array) -> None:
        copies.stored(machine, store, data.reshape(-1))
        index = offsets[inside][:, None] + byte
        new = data.reshape(-1, size)[inside]
        memory.data[index] = _reduced(memory.data[index], new, kind, tensor.element) if kind else new
        for observer in machine.launch.observers:
            observer.stored(step, one, offsets[inside], size)

    flight = Store(content, put, store)
    machine.asynchronous.fly(step, int(one.number[0]), granules, True, flight, [])


def _six_bits(data: Array) -> Array:
    """Sixteen bytes as the twelve that their low six bits make: what a store of .b6p2x16 packs (5.5.1.1)."""
    bits = np.unpackbits(data[..., None], axis=-1, count=6, bitorder="little")
    return np.packbits(bits.reshape(len(data), -1), axis=-1, bitorder="little")


def _reduced(old: Array, new: Array, kind: str, type_: str) -> Array:
    """What a reduction leaves of values: bytes (element, byte)."""
    dtype = DTYPES[type_]
    a, b = (np.ascontiguousarray(x).view(dtype).reshape(-1) for x in (old, new))
    return np.ascontiguousarray(reduction(kind, type_)(a, b)).view(np.uint8).reshape(old.shape)


# --- tensor maps that kernels make ---


def _tensormap(compiler: Compiler, statement: Statement, step: Step) -> None:
    words = statement.modifiers
    if words[0] == "cp_fenceproxy":
        to, origin = compiler.address(statement.operands[0]), compiler.address(statement.operands[1])
        step.critical = frozenset(compiler.accessed[0])
        if compiler.number(statement.operands[2]) != BYTES:
            raise Error(f"{statement.opcode} copies {BYTES} bytes, a tensor map (9.7.9.28)")

        def copy(machine: Machine, threads: Threads) -> None:
            places = machine.shared_places(step, threads, origin(machine, threads), BYTES)
            offsets = global_places(machine, step, threads, to(machine, threads), BYTES, True)
            data, _ = machine.read_shared(step, threads, places, BYTES)
            machine.map_fences.fenced.add(step.index)
            machine.launch.order.stored(machine, step, threads, offsets, data)
            machine.launch.memory.data[offsets[:, None] + np.arange(BYTES)] = data

        step.run = copy
        return
    if words[0] != "replace" or "tile" not in words:
        raise Error(f"{statement.opcode} is not covered")
    field, type_ = words[2], words[-1]
    shared = any(word.startswith("shared") for word in words)
    operand, *rest = statement.operands
    place_of = compiler.address(operand)
    dimension = compiler.number(rest.pop(0)) if len(rest) > 1 else 0
    value = compiler.source(rest[0], type_)
    step.critical = frozenset(compiler.accessed[0])

    def run(machine: Machine, threads: Threads) -> None:
        at = place_of(machine, threads)
        values = np.broadcast_to(value(machine, threads), (len(threads),))
        places = (
            machine.shared_places(step, threads, at, BYTES)
            if shared
            else global_places(machine, step, threads, at, BYTES, True)
        )
        index = places[:, None] + np.arange(BYTES)
        data = machine.read_shared(step, threads, places, BYTES)[0] if shared else machine.launch.memory.data[index]
        for raw, given in zip(data, values.tolist()):
            try:
                replace_field(raw, field, dimension, given)
            except Error as error:
                raise Error(f"line {step.line}: {step.text}: {error}") from None
        if shared:
            machine.write_shared(step, threads, places, data)
        else:
            machine.launch.order.stored(machine, step, threads, places, data)
            machine.launch.memory.data[index] = data

    step.run = run


BUILDERS = {"tensormap": _tensormap}
