"""The statements of control flow and barriers: a builder for each root, and those of all other modules.

A builder gets the compiler, the statement and its step, and sets what the step runs. Sections are those of the PTX ISA
9.0. Other modules add theirs.
"""

from __future__ import annotations

import numpy as np

from ...base.errors import Error
from ...ptx.module import Register, Statement, Symbol, is_braced
from .grammar import HINTS
from .machine import WARP
from .register_pool import set_registers
from .signatures import kind_of
from .warps import grouped_by_warp, with_all_of

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

__all__ = ["AXES", "BUILDERS", "SPECIAL"]

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
        *[f"%envreg{number}" for number in range(32)],
        "WARP_SZ",
        *[f"%reserved_smem_offset_{name}" for name in ("begin", "end", "cap", "0", "1")],
    ]
)
"""Special registers that are known (PTX ISA 10)."""


# --- control ---


def _branch(compiler: Compiler, statement: Statement, step: Step) -> None:
    target = step.target = compiler.label(statement.operands[0])

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
    compiler.check((kind_of("u32"), kind_of("u32@")), statement)
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
    """Calls through a register; functions that the system provides: printf, and what a failed assertion calls, which
    ends the launch."""
    if step in compiler.targets:
        _call_register(compiler, statement, step)
        return
    operands = [operand for operand in statement.operands if not is_braced(operand)]
    name = operands[0].name if operands and isinstance(operands[0], Symbol) else ""
    if name == "vprintf":
        from .printing import print_values

        print_values(compiler, step, tuple(statement.operands[-1]))
        return
    if name == "__assertfail":

        def fail(machine: Machine, threads: Threads) -> None:
            where = machine.launch.thread_text(machine, int(threads.number[0]))
            raise Error(f"line {statement.line}: an assertion of the kernel failed; {where}")

        step.run = fail
        return
    raise Error(f"the function '{name}' is declared and has no body")


def _call_register(compiler: Compiler, statement: Statement, step: Step) -> None:
    """Each thread goes to the body of the function whose address its register holds."""
    from .compiler import function_address

    (callee,) = [operand for operand in statement.operands if isinstance(operand, Register)]
    address, after = compiler.source(callee, "u64"), compiler.label(Symbol("after"))
    bodies = [(function_address(compiler.module, name), compiler.label(Symbol(name)))
              for name in compiler.targets[step]]  # fmt: skip

    def control(machine: Machine, step: Step, threads: Threads, rest: Array | None, at: int) -> None:
        chosen = np.broadcast_to(address(machine, threads), (len(threads),))
        unknown = ~np.isin(chosen, [place for place, _ in bodies])
        if unknown.any():
            machine.outside(step, threads, chosen, unknown, "the functions of that prototype whose address is taken")
        for place, body in bodies:
            machine.enter(body, threads.number[chosen == place])
        if rest is not None:
            machine.enter(after, rest)

    step.control = control


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
    step.control = _barrier_control(barrier, count, what == "sync", None)


def _barrier_control(barrier: Any, count: Any, waits: bool, before: Any) -> Any:
    def control(machine: Machine, step: Step, threads: Threads, rest: Array | None, at: int) -> None:
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
                if each % WARP:
                    machine.launch.find("barrier", step, f"the number of threads is a multiple of {WARP}; got {each}",
                                        threads.number[here])  # fmt: skip
                machine.barriers.arrive(step, threads.where(here & (wanted == each)), at + 1, number, int(each), waits)

    return control


def _barrier_reduction(compiler: Compiler, statement: Statement, step: Step, words: list[str]) -> None:
    """bar.red: a barrier that also counts, ands or ors a predicate of all threads."""
    kind = words[0]
    type_ = words[1]
    target, barrier, *more = statement.operands
    known = set(compiler.accessed[0])
    predicate = compiler.source(more[-1], "pred")
    reads = compiler.accessed[0] - known
    register = compiler.frame.register(target.name) if isinstance(target, Register) else None
    count = compiler.source(more[0], "u32") if len(more) > 1 else None
    sink = compiler.sink(target, type_)
    number = compiler.source(barrier, "u32")

    def before(machine: Machine, threads: Threads) -> None:
        machine.votes[threads.use] = predicate(machine, threads)
        machine.vague[threads.use] = False
        for index in reads & machine.undefined.keys():
            machine.vague[threads.use] |= machine.undefined[index][threads.use]

    def meeting(machine: Machine, threads: Threads, everyone: Array) -> None:
        votes, vague = machine.votes[everyone], machine.vague[everyone]
        found = {"popc": np.uint32(votes.sum()), "and": votes.all(), "or": votes.any()}[kind]
        sink(machine, threads, np.broadcast_to(found, (len(threads),)))
        decided = not vague.any() or (kind != "popc" and (votes[~vague] == (kind == "or")).any())
        if register is not None and not decided:
            machine.launch.mark_undefined(machine, step, register, threads)

    step.meeting = meeting
    step.control = _barrier_control(number, count, True, before)


def _warp_sync(compiler: Compiler, statement: Statement, step: Step) -> None:
    mask = compiler.source(statement.operands[0], "u32")

    def run(machine: Machine, threads: Threads) -> None:
        for team, members in grouped_by_warp(machine, threads):
            machine.order.join(team, members)

    step.run = run
    with_all_of(compiler, step, mask)


BUILDERS: dict[str, Builder] = {
    "bra": _branch, "brx": _branch_indexed, "exit": _exit, "ret": _return, "call": _call, "trap": _trap,
    **dict.fromkeys(("bar", "barrier"), _barrier),
    **dict.fromkeys(HINTS, _nothing), "setmaxnreg": set_registers,
    "createpolicy": _policy,
}  # fmt: skip


def _add_builders() -> None:
    from . import accesses, bulk, clusters, copies, launch_control, matrices, mbarriers, tensor_memory, warps, wgmma

    for module in (accesses, bulk, clusters, copies, launch_control, matrices, mbarriers, tensor_memory, warps, wgmma):
        BUILDERS.update(module.BUILDERS)


_add_builders()
