"""wgmma: matrix instructions of a warpgroup, which run until they are waited for (PTX ISA 9.7.15).

An operation reads shared memory by its descriptors and writes its accumulator when a wait_group completes it, the
latest that PTX permits. Until then its registers are hot: any other instruction that touches them is a finding.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...base.errors import Error
from ...emulator.fragments import Placed, multiplied, tables
from ...families.descriptors import SWIZZLES
from ...ptx.module import is_braced
from .machine import WARPGROUP
from .matrices import Executor, by_warp, catalogued, put_register_rows, register_rows
from .matrix_descriptors import matrix_granules, matrix_offsets
from .reading import Reading

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

__all__ = ["BUILDERS", "Products"]

CODES = {code: name for name, code in SWIZZLES["wgmma"].items()}
"""The swizzles of a descriptor, by their codes in bits 62 and 63 (PTX ISA 9.7.15.5.1, matrix descriptor)."""


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
        self.reading: list[Reading] = []
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

    def issue(self, step: Step, threads: Threads, issue: Any, hot: frozenset[int], reads: list[Reading]) -> None:
        groups = self.machine.warpgroup_of[threads.number[::WARPGROUP]]
        product = _Product(self.next, step, threads, groups, issue, hot)
        self.next += 1
        product.reading = reads
        self.machine.async_reads.begin_alike(self.machine.step, reads, product.number)
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
            done = [one.where(mine) for one in product.reading]
            product.reading = machine.async_reads.end_alike(product.reading, product.number, mine)
            machine.async_reads.note_alike(done, every, product.step)
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


def _multiply(compiler: Compiler, statement: Statement, step: Step) -> None:
    step.run = _Multiply(compiler, statement, step).run


class _Multiply:
    """wgmma.mma_async d, a, b, scale-d, imm-scale-a, imm-scale-b, imm-trans-a, imm-trans-b; sparse with metadata and
    selector before scale-d."""

    def __init__(self, compiler: Compiler, statement: Statement, step: Step) -> None:
        self.step, inst = step, catalogued(compiler, statement.opcode)
        d, a, b, *rest = statement.operands
        self.metadata, selector = None, {}
        if inst.sparse:
            self.metadata = compiler.source(rest.pop(0), "b32")
            selector = {"selector": compiler.number(rest.pop(0))}
        self.executor = Executor(inst, selector)
        self.accumulates = compiler.source(rest.pop(0), "pred")
        numbers = [compiler.number(one) for one in rest]
        signed = inst.format("A").is_float and len(numbers) > 1
        self.signs = dict(zip("AB", numbers if signed else (1, 1)))
        turned = [bool(one) for one in numbers[2:]] or [False, False]
        own = set(compiler.accessed[0])
        accumulators = d if is_braced(d) else (d,)
        self.c = [compiler.source(one, "b32") for one in accumulators]
        self.d = [compiler.sink(one, "b32") for one in accumulators]
        self.a = [compiler.source(one, "b32") for one in a] if is_braced(a) else None
        self.hot = frozenset(compiler.accessed[0] - own) | frozenset(compiler.accessed[1])
        compiler.program.watched |= self.hot
        self.descriptors = {"B": compiler.source(b, "b64")}
        if self.a is None:
            self.descriptors = {"A": compiler.source(a, "b64"), **self.descriptors}
        compiler.sizes.add(max(1, inst.format("B").bits // 8))
        self._placed: dict[tuple[int, ...], Placed] = {}
        self.shapes = {
            "A": (inst.m, inst.k // (2 if inst.sparse else 1), inst.format("A").bits, self.a is None and turned[0]),
            "B": (inst.n, inst.k, inst.format("B").bits, turned[-1]),
        }

    def run(self, machine: Machine, threads: Threads) -> None:
        """Issue it: the descriptors are read and checked now, the registers when it is carried out."""
        step = self.step
        if (
            len(threads) % WARPGROUP
            or (machine.inner_of[threads.number].reshape(-1, WARPGROUP) % WARPGROUP != np.arange(WARPGROUP)).any()
        ):
            raise Error(f"line {step.line}: {step.text}: not all threads of the warpgroup execute it; "
                        f"{machine.launch.thread_text(machine, int(threads.number[0]))}")  # fmt: skip
        places: dict[str, _Located] = {}
        reads: list[Reading] = []
        for name in self.descriptors:
            places[name], granules = self._matrix(machine, threads, name)
            reads += granules
        if unfenced := machine.products.unfenced_at(threads, self.hot):
            machine.launch.find("fence", step, unfenced, threads.number)
        keep = _by_group(self.accumulates, machine, threads)[:, 0].copy()
        metadata = _by_group(self.metadata, machine, threads)[:, None] if self.metadata else None
        carry_out = partial(self._carry_out, places, keep, metadata)
        machine.products.issue(step, threads, carry_out, self.hot, reads)

    def _matrix(self, machine: Machine, threads: Threads, name: str) -> tuple[_Located, list[Reading]]:
        """Where a matrix in shared memory lies, and the granules of the warpgroups."""
        step, shape = self.step, self.shapes[name]
        given = _by_group(self.descriptors[name], machine, threads)
        if (given != given[:, :1]).any():
            machine.launch.find("warp", step, f"the descriptor of {name} differs within the warpgroup", threads.number)
        codes = given[:, 0].tolist()
        modes = [CODES[code >> 62] for code in codes]
        layouts = [(code, *shape, mode, False) for code, mode in zip(codes, modes)]
        offsets = np.stack([matrix_offsets(*layout) for layout in (layouts if len(set(codes)) > 1 else layouts[:1])])
        if (offsets + max(1, shape[2] // 8) > machine.shared_size).any():
            machine.outside(
                step, threads, np.array([int(offsets.max())]), np.array([True]),
                f"shared memory, which has {machine.shared_size} bytes: so far the descriptor of {name} reaches",
            )  # fmt: skip
        starts = threads.cta[::WARPGROUP] * (machine.shared_size // machine.granule)
        leaders = threads.number[::WARPGROUP]
        found = []
        for layout in dict.fromkeys(layouts):
            at = np.flatnonzero([one == layout for one in layouts]) if len(offsets) > 1 else np.arange(len(layouts))
            found.append(Reading(matrix_granules(*layout, machine.granule), starts[at], at))
        self._check_descriptors(machine, name, leaders, codes, modes, found)
        machine.async_reads.check_alike(step, leaders, found)
        return _Located(offsets, np.array(codes[: len(offsets)], np.uint64)), found

    def _check_descriptors(
        self, machine: Machine, name: str, leaders: Array, codes: list[int], modes: list[str], found: list[Reading]
    ) -> None:
        """What is wrong with the descriptors of warpgroups, in their order; of groups that have the same one the first
        says it, unless tensor copies wrote the bytes, each of which counts."""
        rows, depth, bits, _ = self.shapes[name]
        whose = {at: (one, start) for one in found for at, start in zip(one.at.tolist(), one.starts.tolist())}
        for at in range(len(codes)) if machine.descriptors.swizzles is not None else sorted(
            int(one.at[0]) for one in found
        ):  # fmt: skip
            one, start = whose[at]
            machine.descriptors.check(self.step, leaders[at : at + 1], name, codes[at], modes[at], (rows, depth, bits),
                                      one.alone + start)  # fmt: skip

    def _carry_out(
        self,
        places: dict[str, _Located],
        keep: Array,
        metadata: Array | None,
        machine: Machine,
        some: Threads,
        mine: Array,
    ) -> None:
        """Compute D of some warpgroups of those that issued it (mine)."""
        base, kept = some.cta[::WARPGROUP] * machine.shared_size, keep[mine]
        places = {name: where.of(mine) for name, where in places.items()}
        for observer in machine.launch.observers:
            whole = {name: where.offsets + base[:, None, None] for name, where in places.items()}
            observer.multiplying(self.step, some, whole)
        rows = {"C": register_rows(machine, some, self.c, False)}
        if self.a is not None:
            rows["A"] = register_rows(machine, some, self.a, False)
            if self.signs["A"] < 0:
                rows["A"] ^= np.uint32(_sign_mask(self.shapes["A"][2]))
        d = np.empty((len(self.d), len(some)), np.uint32)
        left = self._by_core(machine, places, base, rows, d, ~kept)
        if left.any():
            files = {name: by_warp(one, WARPGROUP)[left] for name, one in rows.items()}
            files["C"] = np.where(kept[left][:, None, None], files["C"], np.uint32(0))
            codes = {name: _codes(machine, where.of(left).offsets + base[left][:, None, None], self.shapes[name],
                                  self.signs[name]) for name, where in places.items()}  # fmt: skip
            codes["B"] = np.swapaxes(codes["B"], -1, -2)
            if metadata is not None:
                files["K"] = metadata[mine][left]
            d.reshape(len(d), -1, WARPGROUP)[:, left] = np.swapaxes(self.executor(files, codes), 0, 1)
        put_register_rows(machine, some, self.d, d, False)

    def _by_core(
        self,
        machine: Machine,
        places: dict[str, _Located],
        base: Array,
        rows: dict[str, Array],
        d: Array,
        zero: Array,
    ) -> Array:
        """Compute D of warpgroups whose matrices lie alike in shared memory, from bytes `base` on; which are left."""
        everyone = np.ones(len(base), bool)
        found = tables(self.executor.execution, "ACD" if "A" in rows else "CD")
        if found is None or any(len(where.offsets) > 1 or self.signs[name] < 0
                                for name, where in places.items()):  # fmt: skip
            return everyone
        key = len(d[0]), *[where.code for where in places.values()]
        placed = self._placed.get(key)
        if placed is None:
            units = {name: where.offsets[0] // (self.shapes[name][2] // 8) for name, where in places.items()}
            units["B"] = units["B"].T
            if len(self._placed) > MOST_PLACED:
                self._placed.clear()
            placed = self._placed[key] = Placed(found, len(d[0]), units)
        starts = dict.fromkeys("ABCD", np.arange(len(base)) * 4 * WARPGROUP) | dict.fromkeys(places, base)
        return multiplied(placed, {**dict.fromkeys(places, machine.shared), **rows, "D": d}, starts, zero)


class _Located:
    """Where the elements of matrices in shared memory lie: byte offsets (group, row, depth) and descriptors, of one
    group where all have the same descriptor."""

    __slots__ = ("codes", "offsets")

    def __init__(self, offsets: Array, codes: Array) -> None:
        self.offsets, self.codes = offsets, codes

    @property
    def code(self) -> int:
        """The descriptor of the first group."""
        return int(self.codes[0])

    def of(self, mask: Array) -> _Located:
        """Those of some groups."""
        return self if len(self.offsets) == 1 else _Located(self.offsets[mask], self.codes[mask])


def _by_group(getter: Any, machine: Machine, threads: Threads) -> Array:
    """A value of each thread: (warpgroup, thread)."""
    return np.broadcast_to(getter(machine, threads), (len(threads),)).reshape(-1, WARPGROUP)


def _sign_mask(bits: int) -> int:
    one = 1 << bits - 1
    return sum(one << at for at in range(0, 32, bits))


def _codes(machine: Machine, places: Array, shape: tuple[int, int, int, bool], sign: int) -> Array:
    """The encodings at places: (group, rows, depth)."""
    bits = shape[2]
    size = max(1, bits // 8)
    codes: Array = machine.shared.view(f"u{size}")[places // size]
    if bits == 4:
        half = np.arange(shape[1]) & 1
        codes = codes >> (4 * half).astype(np.uint8) & np.uint8(15)
    if bits == 1:
        codes = codes >> (np.arange(shape[1]) & 7).astype(np.uint8) & np.uint8(1)
    if sign < 0:
        codes = codes ^ codes.dtype.type(1 << bits - 1)
    return codes


MOST_PLACED = 64
"""Layouts of matrices in shared memory whose tables for the core are kept."""

BUILDERS = {"wgmma": _wgmma}
