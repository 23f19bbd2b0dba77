"""wgmma: matrix instructions of a warpgroup, which run until they are waited for (PTX ISA 9.7.15).

An operation reads shared memory by its descriptors and writes its accumulator when a wait_group completes it, the
latest that PTX permits. Until then its registers are hot: any other instruction that touches them is a finding.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...base.errors import Error
from ...ptx.module import is_braced
from .machine import WARPGROUP
from .matrices import Executor, catalogued
from .tensor_map import SWIZZLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ...ptx.module import Statement
    from .compiler import Compiler
    from .machine import Machine, Threads
    from .program import Step

    Array = NDArray[Any]

__all__ = ["BUILDERS", "SWIZZLE_MODES", "Descriptors", "Products", "matrix_granules", "matrix_offsets"]

SWIZZLE_MODES = {"none": (16, 0), "32B": (32, 0x10), "64B": (64, 0x30), "128B": (128, 0x70)}
"""Of each swizzle the bytes of a row, and its mask."""
# Descriptor of wgmma (PTX ISA 9.7.15.5.1, matrix descriptor): bits 62 and 63.
WGMMA_SWIZZLES = ("none", "128B", "64B", "32B")
MODES = tuple([SWIZZLE_MODES[name] for name in WGMMA_SWIZZLES])


@lru_cache(maxsize=512)
def matrix_offsets(descriptor: int, rows: int, depth: int, bits: int, mn_major: bool, mode: tuple[int, int]) -> Array:
    """Where the elements (rows, depth) of a matrix begin in shared memory: byte offsets; below a byte, bits of it are
    left to the caller. `mode` is the swizzle's row of bytes and its mask.

    Source: PTX ISA 9.7.15.5.1 (strides of canonical layouts); CUTLASS, mma_sm90_desc.hpp.
    """
    start = (descriptor & 0x3FFF) << 4
    leading, stride = (descriptor >> 16 & 0x3FFF) << 4, (descriptor >> 32 & 0x3FFF) << 4
    width, mask = mode
    row, k = np.indices((rows, depth))
    along, across = (row, k) if mn_major else (k, row)
    byte = along * bits // 8
    steps = (byte // width, across // 8)
    if mn_major and width == 16:
        steps = steps[::-1]
    offset = start + across % 8 * width + byte % width + steps[0] * leading + steps[1] * stride
    found: Array = offset ^ (offset >> 3 & mask)
    found.setflags(write=False)
    return found


@lru_cache(maxsize=512)
def matrix_granules(
    descriptor: int, rows: int, depth: int, bits: int, mn_major: bool, mode: tuple[int, int], granule: int
) -> Array:
    """The granules of a CTA's shared memory that such a matrix lies in, ascending."""
    first = matrix_offsets(descriptor, rows, depth, bits, mn_major, mode).reshape(-1, 1)
    found: Array = np.unique((first + np.arange(0, max(1, bits // 8), granule)) // granule)
    return found


class Descriptors:
    """What is wrong with matrices in shared memory that no access shows: elements that overlap, the start of a swizzled
    pattern, another swizzle than that of the tensor copy which wrote the bytes."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.swizzles: Array | None = None  # by granule: 1 + that of the tensor copy that wrote it, 0 of other writes
        self.seen: set[tuple[int, str, int]] = set()

    def copied(self, granules: Array, swizzle: int) -> None:
        """A tensor copy with a swizzle (its place in SWIZZLES) writes granules."""
        if self.swizzles is None:
            self.swizzles = np.zeros(len(self.machine.flight), np.uint8)
        self.swizzles[granules] = swizzle + 1

    def written(self, granules: Array) -> None:
        """Threads write granules."""
        if self.swizzles is not None:
            self.swizzles[granules] = 0

    def check(
        self, step: Step, number: Array, name: str, descriptor: int, mode: str, shape: tuple[int, int, int],
        granules: Array,
    ) -> None:  # fmt: skip
        """A product or copy of a thread reads a matrix of shape (rows, depth, bits of an element) by its descriptor,
        whose swizzle is `mode`. Granules: those of all its CTAs, each of which has such a matrix."""
        self._copied_alike(step, number, name, granules, mode)
        if (step.index, name, descriptor) in self.seen:
            return
        self.seen.add((step.index, name, descriptor))
        find = self.machine.launch.find
        start, base = (descriptor & 0x3FFF) << 4, descriptor >> 49 & 7
        if mode == "128B" and start >> 7 & 7 != base:
            message = (
                f"the descriptor of {name} begins at {start:#x}, which is not a multiple of 1024 bytes: the "
                f"128-byte swizzle wants the base offset {start >> 7 & 7} then; it says {base}"
            )
            if base:
                find("descriptor", step, message, number)
            else:  # as kernels have it that are right on the hardware: swizzles go by the address itself
                self.machine.launch.remark(step, f"{message}, which has no known effect")
        width, stride = SWIZZLE_MODES[mode][0], (descriptor >> 32 & 0x3FFF) << 4
        rows, depth, bits = shape
        if stride % width and rows > 8:  # 8 rows have no next part
            find(
                "descriptor", step, f"the descriptor of {name} has a stride of {stride} bytes, which is not a "
                f"multiple of {width}: its {mode} swizzle exchanges the parts of rows that begin at multiples of "
                f"{width} bytes", number,
            )  # fmt: skip
        ctas = len(np.unique(granules * self.machine.granule // self.machine.shared_size))
        if len(granules) * self.machine.granule < ctas * rows * depth * bits // 8:
            find(
                "descriptor", step, f"parts of {name} lie at the same bytes: the leading dimension or the stride of "
                "its descriptor does not fit its layout", number,
            )  # fmt: skip

    def _copied_alike(self, step: Step, number: Array, name: str, granules: Array, mode: str) -> None:
        """A product reads granules by a descriptor with a swizzle: that of the tensor copy that wrote them."""
        if self.swizzles is None:
            return
        found = self.swizzles[granules]
        for other in np.unique(found[found > 0]).tolist():
            if SWIZZLES[other - 1] != mode:
                self.machine.launch.find(
                    "descriptor", step, f"the descriptor of {name} has the swizzle {mode}; the tensor copy that wrote "
                    f"these bytes had {SWIZZLES[other - 1]}: elements are read from other places than they lie in",
                    number,
                )  # fmt: skip
                return


class _Product:
    """wgmma instructions of some warpgroups, issued together."""

    __slots__ = ("done", "group", "groups", "hot", "issue", "named", "number", "reading", "step", "threads")

    def __init__(
        self, number: int, step: Step, threads: Threads, groups: Array, issue: Any, hot: frozenset[int]
    ) -> None:
        self.number, self.step, self.threads, self.groups, self.issue, self.hot = (
            number,
            step,
            threads,
            groups,
            issue,
            hot,
        )
        self.group = np.full(len(groups), -1, np.int64)
        self.done = np.zeros(len(groups), bool)
        self.reading: list[Array] = []
        self.named = False  # whether a finding says that its registers are touched in flight


class Products:
    """The wgmma operations in flight, in order; of each warpgroup the groups that it has committed."""

    next: int

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.pending: list[_Product] = []
        self.committed: Array = np.zeros(int(machine.warpgroup_of[-1]) + 1, np.int64)
        self.hot: dict[int, _Product] = {}
        # By register: the warpgroups that have written it since their last wgmma.fence.
        self.unfenced: dict[int, Array] = {}
        self.fresh: Array = np.zeros(len(self.committed), bool)  # which have fenced since their last wgmma.mma_async
        self.fenced: Array = np.zeros(len(self.committed), bool)  # which have fenced at all, or it was said that not
        self.next = 1 << 29

    def fence(self, threads: Threads) -> None:
        """wgmma.fence: accesses of registers so far are ordered before the wgmma.mma_async that come."""
        groups = np.unique(self.machine.warpgroup_of[threads.number])
        self.fresh[groups] = self.fenced[groups] = True
        for written in self.unfenced.values():
            written[groups] = False

    def touched(self, step: Step, threads: Threads) -> None:
        """Registers of wgmma are written by another instruction. A mov is the same register to ptxas: what it copies
        counts; a constant that it writes between the fence and the wgmma, as nvcc has it, is as good as before."""
        writes = step.watched & step.writes
        if not writes:
            return
        groups = np.unique(self.machine.warpgroup_of[threads.number])
        late = np.ones(len(groups), bool)
        if step.statement.root == "mov":
            copied = [self.unfenced[index][groups] for index in step.reads if index in self.unfenced]
            late = np.any(copied, axis=0) if copied else np.zeros(len(groups), bool)
            if not step.reads:
                late = ~self.fresh[groups]
        for index in writes:
            if index not in self.unfenced:
                if not late.any():
                    continue
                self.unfenced[index] = np.zeros(len(self.committed), bool)
            self.unfenced[index][groups] = late

    def unfenced_at(self, threads: Threads, hot: frozenset[int]) -> str:
        """What lacks a wgmma.fence where a wgmma begins; "" if nothing does."""
        groups = np.unique(self.machine.warpgroup_of[threads.number])
        self.fresh[groups] = False
        first, self.fenced[groups] = not self.fenced[groups].all(), True
        late = sorted(index for index in hot & self.unfenced.keys() if self.unfenced[index][groups].any())
        if late:
            name = self.machine.program.names[late[0]]
            return f"{name} was written by another instruction since the last wgmma.fence: one must come in between"
        return "it is the first wgmma of its warpgroup, and no wgmma.fence comes before it" if first else ""

    def issue(self, step: Step, threads: Threads, issue: Any, hot: frozenset[int], reads: list[Array]) -> None:
        groups = self.machine.warpgroup_of[threads.number[::WARPGROUP]]
        product = _Product(self.next, step, threads, groups, issue, hot)
        self.next += 1
        product.reading = reads
        for granules in reads:
            self.machine.begin_reading(granules, product.number)
        self.pending.append(product)
        self.hot.update(dict.fromkeys(hot, product))

    def commit(self, threads: Threads) -> None:
        groups = np.unique(self.machine.warpgroup_of[threads.number])
        for product in self.pending:
            mine = np.isin(product.groups, groups) & (product.group < 0)
            product.group[mine] = self.committed[product.groups[mine]]
        self.committed[groups] += 1

    def wait(self, threads: Threads, keep: int) -> None:
        """All but the youngest groups are complete: operations are carried out in their order."""
        machine = self.machine
        groups = np.unique(self.machine.warpgroup_of[threads.number])
        for product in self.pending:
            mine = np.isin(product.groups, groups) & ~product.done & (product.group >= 0)
            mine &= product.group < self.committed[product.groups] - keep
            if not mine.any():
                continue
            every = product.threads.number.reshape(-1, WARPGROUP)
            some = type(threads)(machine, every[mine].reshape(-1))
            product.issue(machine, some, mine)
            product.done |= mine
            for at in np.flatnonzero(mine).tolist():
                machine.end_reading(product.reading[at], product.number)
                machine.note_reads(product.reading[at], every[at], product.step)
        self.pending = [product for product in self.pending if not product.done.all()]
        self.hot = {index: product for product in self.pending for index in product.hot}
        machine.events += 1


def _wgmma(compiler: Compiler, statement: Statement, step: Step) -> None:
    what = statement.modifiers[0]
    if what == "fence":
        step.run = lambda machine, threads: machine.products.fence(threads)
    elif what == "commit_group":
        step.run = lambda machine, threads: machine.products.commit(threads)
    elif what == "wait_group":
        keep = compiler.number(statement.operands[0])
        step.run = lambda machine, threads: machine.products.wait(threads, keep)
    elif what == "mma_async":
        _multiply(compiler, statement, step)
    else:
        raise Error(f"{statement.opcode} is not covered")


def _multiply(compiler: Compiler, statement: Statement, step: Step) -> None:  # noqa: C901, PLR0915
    """wgmma.mma_async d, a, b, scale-d, imm-scale-a, imm-scale-b, imm-trans-a, imm-trans-b; sparse with metadata and
    selector before scale-d."""
    inst = catalogued(compiler, statement.opcode)
    d, a, b, *rest = statement.operands
    in_registers = is_braced(a)
    metadata = selector = None
    if inst.sparse:
        metadata, selector = compiler.source(rest.pop(0), "b32"), compiler.number(rest.pop(0))
    scale_d = compiler.source(rest.pop(0), "pred")
    numbers = [compiler.number(one) for one in rest]
    is_float = inst.format("A").is_float
    signs = tuple(numbers[:2]) if is_float and len(numbers) > 1 else (1, 1)
    turns = [bool(one) for one in numbers[2:]] if len(numbers) > 2 else []
    a_turned, b_turned = (False, *turns)[-2:] if in_registers and turns else (*turns, False, False)[:2]
    executor = Executor(inst, {"selector": selector} if selector is not None else {})
    accumulators = d if is_braced(d) else (d,)
    own = set(compiler.accessed[0])
    c = [compiler.source(one, "b32") for one in accumulators]
    sinks = [compiler.sink(one, "b32") for one in accumulators]
    left = [compiler.source(one, "b32") for one in a] if is_braced(a) else None
    hot = frozenset(compiler.accessed[0] - own) | frozenset(compiler.accessed[1])
    compiler.program.watched |= hot
    descriptor_a = compiler.source(a, "b64") if left is None else None
    descriptor_b = compiler.source(b, "b64")
    bits = inst.format("A").bits, inst.format("B").bits
    compiler.sizes.add(max(1, bits[1] // 8))
    rows = (inst.m, inst.k // (2 if inst.sparse else 1), bits[0], a_turned), (inst.n, inst.k, bits[1], b_turned)

    def run(machine: Machine, threads: Threads) -> None:  # noqa: PLR0915
        if (
            len(threads) % WARPGROUP
            or (machine.inner_of[threads.number].reshape(-1, WARPGROUP) % WARPGROUP != np.arange(WARPGROUP)).any()
        ):
            raise Error(f"line {step.line}: {step.text}: not all threads of the warpgroup execute it; "
                        f"{machine.launch.thread_text(machine, int(threads.number[0]))}")  # fmt: skip
        groups = len(threads) // WARPGROUP
        base = threads.cta[::WARPGROUP] * machine.shared_size
        places: dict[str, Array] = {}
        reads: list[Array] = [np.zeros(0, np.int64) for _ in range(groups)]
        for name, getter, shape in (("A", descriptor_a, rows[0]), ("B", descriptor_b, rows[1])):
            if getter is None:
                continue
            given = np.broadcast_to(getter(machine, threads), (len(threads),)).reshape(groups, WARPGROUP)
            if (given != given[:, :1]).any():
                machine.launch.find(
                    "warp", step, f"the descriptor of {name} differs within the warpgroup", threads.number
                )
            found = [matrix_offsets(int(one), *shape, MODES[int(one) >> 62]) for one in given[:, 0]]
            places[name] = np.stack(found) + base[:, None, None]
            if (np.stack(found) + max(1, shape[2] // 8) > machine.shared_size).any():
                machine.outside(
                    step, threads, np.array([int(np.stack(found).max())]), np.array([True]),
                    f"shared memory, which has {machine.shared_size} bytes: so far the descriptor of {name} reaches",
                )  # fmt: skip
            granules = [
                matrix_granules(int(one), *shape, MODES[int(one) >> 62], machine.granule) + start // machine.granule
                for one, start in zip(given[:, 0], base.tolist())
            ]
            leaders = threads.number[::WARPGROUP]
            _check_descriptors(machine, step, leaders, name, given[:, 0], shape[:3], granules)
            machine.check_async_reads(step, leaders, granules)
            reads = [np.concatenate(both) for both in zip(reads, granules)]
        unfenced = machine.products.unfenced_at(threads, hot)
        if unfenced:
            machine.launch.find("fence", step, unfenced, threads.number)
        keep = np.broadcast_to(scale_d(machine, threads), (len(threads),)).reshape(groups, WARPGROUP)[:, 0].copy()
        index = (
            np.broadcast_to(metadata(machine, threads), (len(threads),)).reshape(groups, 1, WARPGROUP)
            if metadata
            else None
        )

        def issue(machine: Machine, some: Threads, mine: Array) -> None:
            files: dict[str, Array] = {}
            codes: dict[str, Array] = {}
            if left is not None:
                files["A"] = np.stack(
                    [np.broadcast_to(one(machine, some), (len(some),)).reshape(-1, WARPGROUP) for one in left], 1
                )
                if signs[0] < 0:
                    files["A"] = files["A"] ^ np.uint32(_sign_mask(bits[0]))
            else:
                codes["A"] = _codes(machine, places["A"][mine], bits[0], rows[0], signs[0])
            codes["B"] = np.swapaxes(_codes(machine, places["B"][mine], bits[1], rows[1], signs[1]), -1, -2)
            files["C"] = np.stack(
                [np.broadcast_to(one(machine, some), (len(some),)).reshape(-1, WARPGROUP) for one in c], 1
            )
            files["C"] = np.where(keep[mine][:, None, None], files["C"], np.uint32(0))
            if index is not None:
                files["K"] = index[mine]
            result = executor(files, codes)
            for place, sink in enumerate(sinks):
                sink(machine, some, np.ascontiguousarray(result[:, place]).reshape(-1))

        machine.products.issue(step, threads, issue, hot, reads)

    step.run = run


def _check_descriptors(
    machine: Machine, step: Step, leaders: Array, name: str, given: Array, shape: tuple[int, int, int],
    granules: list[Array],
) -> None:  # fmt: skip
    """Check the descriptors of some warpgroups, each with its first thread and its granules."""
    for at, code in enumerate(given.tolist()):
        mode = WGMMA_SWIZZLES[code >> 62]
        machine.descriptors.check(step, leaders[at : at + 1], name, code, mode, shape, granules[at])


def _sign_mask(bits: int) -> int:
    one = 1 << bits - 1
    return sum(one << at for at in range(0, 32, bits))


def _codes(machine: Machine, places: Array, bits: int, shape: tuple[int, int, int, bool], sign: int) -> Array:
    """The encodings at places: (group, rows, depth)."""
    size = max(1, bits // 8)
    raw = machine.shared[places[..., None] + np.arange(size)]
    codes = np.ascontiguousarray(raw).view(f"u{size}")[..., 0]
    if bits == 4:
        half = np.arange(shape[1]) & 1
        codes = codes >> (4 * half).astype(np.uint8) & np.uint8(15)
    if bits == 1:
        codes = codes >> (np.arange(shape[1]) & 7).astype(np.uint8) & np.uint8(1)
    if sign < 0:
        codes = codes ^ codes.dtype.type(1 << bits - 1)
    return codes


BUILDERS = {"wgmma": _wgmma}
