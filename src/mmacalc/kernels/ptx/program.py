"""A compiled kernel: its steps, its registers, where its variables lie, and what is known of its loops and flags."""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np

from ...base.checks import whole
from .knowledge import access_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from ...ptx.module import Function, Module, Statement, Variable
    from .machine import Machine
    from .operation import Operation
    from .threads import Threads

    Array = NDArray[Any]
    Run = Callable[[Machine, Threads], Array | None]
    Control = Callable[["Machine", "Step", Threads, Array | None, int], None]
    Meeting = Callable[[Machine, Threads, Array], None]
    Follow = Callable[[Machine, Threads], dict[int, Array]]

__all__ = ["ASKED", "ASKING", "POLLING", "RESERVED", "Program", "Step"]

RESERVED = 1024
"""Bytes of shared memory that the system keeps, in front of a CTA's own (CUDA C++ Programming Guide, compute capability
8.x and later)."""
POLLED = frozenset(["volatile", "relaxed", "acquire", "mmio"])
"""Modifiers of loads that poll (PTX ISA 8.4: strong operations)."""
ASKING = 24
"""Statements of a loop that asks again."""
ASKED = frozenset(["mov", "setp", "selp", "and", "or", "xor", "not", "add", "sub", "shl", "shr", "min", "max", "mul",
                   "cvt", "bra", "nanosleep", "mbarrier"])  # fmt: skip
"""What such a loop may do besides."""
POLLING = ASKED | {"ld", "fence", "membar"}
"""The same of a loop that polls memory."""


class Step:
    """One statement, compiled.

    run executes it for some threads; what it returns is a mask of those that must try again. control executes a
    statement that decides where threads go on. meeting is called when a barrier is complete, with the
    statement's threads and the numbers of all that waited. reads, writes: registers by number; critical: those
    of `reads` that must be defined (addresses, what is stored to global memory). operation and sources: of arithmetic.
    follow: of a product, which bits of each register that it will write follow from undefined ones.
    polls: whether it is a strong load in a loop that does no more than ask again. target: where a
    branch goes.
    """

    __slots__ = (
        "control",
        "critical",
        "follow",
        "guard",
        "index",
        "meeting",
        "operation",
        "polls",
        "reads",
        "run",
        "sinks",
        "sources",
        "statement",
        "target",
        "watched",
        "writes",
    )
    index: int
    statement: Statement
    polls: bool

    def __init__(self, index: int, statement: Statement) -> None:
        self.index, self.statement = index, statement
        self.guard: tuple[int, bool] | None = None
        self.run: Run = _nothing
        self.control: Control | None = None
        self.target: int | None = None
        self.meeting: Meeting | None = None
        self.follow: Follow | None = None
        self.reads: frozenset[int] = frozenset()
        self.writes: frozenset[int] = frozenset()
        self.critical: frozenset[int] = frozenset()
        self.watched: frozenset[int] = frozenset()
        self.operation: Operation | None = None
        self.sources: tuple[Any, ...] = ()
        self.sinks: tuple[Any, ...] = ()
        self.polls = False

    @property
    def line(self) -> int:
        return self.statement.line

    @property
    def text(self) -> str:
        return self.statement.text


def _nothing(machine: Machine, threads: Threads) -> None:
    """A statement without effect here: prefetches, pragmas of scheduling."""


class Program:
    """A compiled kernel.

    registers: the type of each; watched: those of wgmma; fed: those that mov copies into these; names: what each is
    called; steps; parameters: the kernel's, with their offsets in the parameter bytes; shared_static: bytes of its own
    shared variables with what is reserved; dynamic: where the dynamic part begins; local_size: bytes of local memory of
    a thread; granule, global_granule: bytes that shared and global memory are watched by; polls_shared: whether a loop
    polls shared memory.
    """

    function: Function
    module: Module
    name: str
    target: str
    dynamic: int
    granule: int
    global_granule: int
    polls_shared: bool
    local_size: int
    shared_static: int
    parameter_bytes: int

    def __init__(self, module: Module, function: Function) -> None:
        self.module, self.function, self.target, self.name = module, function, module.target, function.name
        self.registers: list[np.dtype[Any]] = []
        self.names: list[str] = []
        self.steps: list[Step] = []
        self.parameters: dict[str, tuple[int, Variable]] = {}
        self.parameter_bytes = 0
        self.shared: dict[str, int] = {}
        self.watched: set[int] = set()
        self.fed: set[int] = set()
        self.tensor_memory = False
        self.polls_shared = False
        self._polls: dict[tuple[int, int], bool] = {}
        self.shared_static, self.dynamic, self.local_size, self.granule = RESERVED, RESERVED, 0, 4
        self.global_granule = 16
        for variable in function.parameters:
            start = -(-self.parameter_bytes // variable.align) * variable.align
            self.parameters[variable.name] = (start, variable)
            self.parameter_bytes = start + variable.size

    @cached_property
    def first_shared(self) -> int:
        """Where the shared memory begins that the kernel may touch: what the system keeps is cooperative groups'."""
        return 0 if any("%reserved_smem" in step.text for step in self.steps) else RESERVED

    @cached_property
    def ranks(self) -> list[int]:
        """By step its place in the order in which threads go on that are at different ones: the order of the text, but
        an arm of a branch that stands behind the step where the arms meet comes before it. So threads that took the
        short way wait there, as on hardware, which reconverges them."""
        arms: dict[int, range] = {}
        for step in self.steps:
            if step.target is None or step.guard is None:
                continue
            for first, meet in ((step.index + 1, step.target), (step.target, step.index + 1)):
                last = next(each for each in self.steps[first:] if each.control is not None)
                if first > meet == last.target and last.guard is None:
                    arms.setdefault(meet, range(first, last.index + 1))
        elsewhere = {at for arm in arms.values() for at in arm}
        ranks: dict[int, int] = {}

        def place(at: int) -> None:
            if at not in ranks:
                for other in arms.pop(at, ()):
                    place(other)
                ranks[at] = len(ranks)

        for at in range(len(self.steps)):
            if at not in elsewhere:
                place(at)
        for at in elsewhere:
            place(at)
        return [ranks[at] for at in range(len(self.steps))]

    def polls(self, first: int, last: int) -> bool:
        """Whether the loop of these steps reads memory that other threads may change meanwhile."""
        known = self._polls.get((first, last))
        if known is None:
            body = [step.statement for step in self.steps[first : last + 1]]
            known = self._polls[first, last] = any(
                one.root in ("atom", "nanosleep") or (one.root == "ld" and not POLLED.isdisjoint(one.modifiers))
                for one in body
            )
        return known

    def early_reads(self) -> dict[Step, list[Step]]:
        """By tcgen05.ld the statements that read its registers and stand before the next tcgen05.wait::ld."""
        loading: dict[int, Step] = {}
        found: dict[Step, list[Step]] = {}
        for step in self.steps:
            what = step.statement.modifiers[:1] if step.statement.root == "tcgen05" else ()
            if what == ("wait::ld",):
                loading.clear()
            for load in {loading[index] for index in step.reads & loading.keys()}:
                found.setdefault(load, []).append(step)
            for index in step.writes:
                loading.pop(index, None)
                if what == ("ld",):
                    loading[index] = step
        return found

    def shared_byte(self, byte: int) -> str:
        """A byte of a CTA's shared memory in words: that of a variable, or of the dynamic part."""
        start, name = self.shared_part(byte)
        return f"byte {byte - start} of {name}"

    def shared_part(self, byte: int) -> tuple[int, str]:
        """Where what holds a byte of a CTA's shared memory begins, and its name."""
        if byte >= self.dynamic:
            return self.dynamic, "dynamic shared memory"
        start, name = max([(start, name) for name, start in self.shared.items() if start <= byte], default=(0, ""))
        return start, f"{plain_variable(name)} in shared memory" if name else "shared memory"

    @cached_property
    def used(self) -> frozenset[int]:
        """The registers that some statement reads."""
        return frozenset().union(*[step.reads for step in self.steps])

    @property
    def communicates(self) -> bool:
        """Whether something in it releases, and something acquires: without these nothing orders CTAs."""
        accesses = [access_of(step.statement.root, step.statement.modifiers) for step in self.steps
                    if step.statement.root in ("ld", "st", "atom", "red")]  # fmt: skip
        fences = [step for step in self.steps if step.statement.root in ("fence", "membar")
                  and step.statement.modifiers[:1] not in (("proxy",), ("mbarrier_init",))]  # fmt: skip
        releases = bool(fences) or any(one.releases for one in accesses)
        return releases and (bool(fences) or any(one.acquires for one in accesses))

    def attribute(self, name: str) -> tuple[int, ...] | None:
        """The numbers of a directive, None where the kernel lacks it."""
        return self.function.attributes.get(name)


def plain_variable(name: str) -> str:
    """The plain name of a variable: a local one of C++ is mangled with its function (_ZZ4gemmvE4tile, tile).

    >>> plain_variable("_ZZ7productILi0EEvPKtS1_PfE5tiles"), plain_variable("tile")
    ('tiles', 'tile')
    """
    found = re.match(r"_ZZ.*E(\d+)(\w+)$", name)
    if found is None:
        return name
    end = found.end(1) + whole(found[1], "a length", 9999)
    return name[found.end(1) : end] or name
