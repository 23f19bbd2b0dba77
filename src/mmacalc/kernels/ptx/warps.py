"""Exchange within a warp: shuffles, votes, matches, reductions, elections (PTX ISA 9.0, 9.7.9 and 9.7.13)."""

from __future__ import annotations

import numpy as np

from ...base.errors import Error
from ...ptx.module import Pair, Register, Statement

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

__all__ = ["BUILDERS", "alive_lanes", "grouped_by_warp", "in_whole_warps", "outsiders", "present", "wants_whole_warps",
           "with_all_of"]  # fmt: skip


ALL_LANES = 0xFFFFFFFF


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


def wants_whole_warps(statement: Statement) -> bool:
    """Whether all lanes of a warp must execute a statement together: it is .aligned, and no barrier; there threads that
    have ended do not count (`CtaBarriers.check_aligned`)."""
    return "aligned" in statement.modifiers and statement.root not in ("bar", "barrier")


def in_whole_warps(step: Step) -> None:
    """Execute a step of a statement that wants whole warps when all lanes of a warp have come; it stops where lanes
    have ended. Lanes that come one by one meet here, as compilers let them where their paths do."""
    execute = step.run

    def run(machine: Machine, threads: Threads) -> Array | None:
        later: Array | None
        if threads.warps() is not None:
            later = execute(machine, threads)
            return later
        lacking = ~present(machine, threads)
        never = (lacking != 0) & (lacking & alive_lanes(machine, threads) == 0)
        if never.any():
            threads.where(never).whole_warps(step)
        missing: Array = lacking != 0
        rest = threads.where(~missing)
        later = execute(machine, rest) if len(rest) else None
        if later is not None:
            missing[~missing] = later
        return missing

    step.run = run


def with_all_of(compiler: Compiler, step: Step, mask: Any) -> None:
    """Wait until all lanes of the mask are there with the same mask: lanes that come one by one meet here. Groups of
    lanes of one warp with masks of their own are executed each by itself."""
    execute = step.run

    def inner(machine: Machine, threads: Threads) -> Array | None:
        if machine.asynchronous.barriers:
            machine.asynchronous.met(threads)
        return execute(machine, threads)

    def run(machine: Machine, threads: Threads) -> Array | None:
        wanted = np.broadcast_to(mask(machine, threads), (len(threads),)).astype(np.uint32)
        masks = wanted[:1] if (wanted == wanted[0]).all() else np.unique(wanted)
        missing = np.zeros(len(threads), bool)
        for one in masks.tolist():
            some, mine = (threads, slice(None)) if len(masks) == 1 else (threads.where(wanted == one), wanted == one)
            outsiders(machine, step, some, one)
            absent = np.uint32(one) & ~present(machine, some) & alive_lanes(machine, some) != 0
            missing[mine] = absent
            if not absent.all() and (len(masks) > 1 or absent.any()):
                inner(machine, some.where(~absent))
        if len(masks) == 1 and not missing.any():
            return inner(machine, threads)
        return missing if missing.any() else None

    step.run = run


def outsiders(machine: Machine, step: Step, threads: Threads, mask: int) -> None:
    """Threads execute a statement of some lanes of their warp without being among them, which is undefined (9.7.9.6,
    9.7.13: "if the executing thread is not in the membermask")."""
    if mask == ALL_LANES:
        return
    wrong = np.uint32(mask) >> threads.lane.astype(np.uint32) & np.uint32(1) == 0
    if wrong.any():
        machine.launch.find("warp", step, f"is executed by threads that its mask {mask:#010x} does not name: that is "
                            "undefined", threads.number[wrong])  # fmt: skip


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


def _shuffle(compiler: Compiler, statement: Statement, step: Step) -> None:
    """shfl.sync (9.7.9.6)."""
    mode = statement.modifiers[-2]
    target, a, b, c, *mask = statement.operands
    first, second = (target.first, target.second) if isinstance(target, Pair) else (target, None)
    sink = compiler.sink(first, "b32")
    valid = compiler.sink(second, "pred") if second is not None else None
    value, by, clamp = (compiler.source(x, "b32") for x in (a, b, c))
    index = compiler.frame.register(first.name) if isinstance(first, Register) else None

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
        absent = present(machine, threads) >> chosen.astype(np.uint32) & np.uint32(1) == 0
        if index is not None and absent.any():
            machine.launch.mark_undefined(machine, step, index, threads.where(absent))
        if valid is not None:
            valid(machine, threads, inside)

    step.run = run
    with_all_of(compiler, step, compiler.source(mask[0], "b32") if mask else lambda m, t: np.uint32(0xFFFFFFFF))


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
    with_all_of(compiler, step, compiler.source(mask[0], "b32") if mask else lambda m, t: np.uint32(0xFFFFFFFF))


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
    with_all_of(compiler, step, compiler.source(mask, "b32"))


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
    with_all_of(compiler, step, compiler.source(mask, "b32"))


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
    with_all_of(compiler, step, compiler.source(mask, "b32"))


BUILDERS: dict[str, Builder] = {
    "shfl": _shuffle, "vote": _vote, "match": _match, "redux": _reduce, "activemask": _active_mask, "elect": _elect,
}  # fmt: skip
