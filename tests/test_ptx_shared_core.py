"""Accesses of shared memory by PTX in the compiled core are looked at, noted and made as on NumPy."""

from types import SimpleNamespace

import numpy as np
import pytest

from mmacalc.emulator import core
from mmacalc.kernels.device.unread import Unread
from mmacalc.kernels.ptx.machine import Machine
from mmacalc.kernels.ptx.memory_bytes import gathered, scattered
from mmacalc.kernels.ptx.order import FRESH, Order, Shadow
from mmacalc.kernels.ptx.proxies import ProxyFences
from mmacalc.kernels.ptx.reading import AsyncReads
from mmacalc.kernels.ptx.shared_core import SharedCore
from mmacalc.kernels.ptx.unread import SharedUnread
from ptx_cases import DELETIONS, recorded, without
from test_ptx_kernels import launched

TEAMS, THREADS, AGENTS, BYTES, STEPS = 3, 64, 5, 1024, 20
STATE = ("writer", "write_clock", "write_step", "how", "reader", "shared", "atomic", "wrote")


def machine_of(seed, granule):
    """Shared memory with a history that is drawn: accesses at clocks which some threads know, operations in flight."""
    draw = np.random.default_rng([seed, granule])
    order = Order(TEAMS, THREADS, AGENTS)
    places = TEAMS * BYTES // granule
    shape = (TEAMS, THREADS, THREADS + AGENTS)
    order.clock[:] = draw.integers(4, 8, order.clock.shape)
    order.common[:] = draw.integers(2, 6, order.common.shape)
    if seed % 2:
        order.known = draw.integers(2, 8, shape).astype(np.int32)
    shadow = Shadow(places, order)
    rare = draw.random(places)
    shadow.writer[:] = np.where(rare < 0.5, draw.integers(0, THREADS + AGENTS, places), -1)
    shadow.reader[:] = np.where(draw.random(places) < 0.5, draw.integers(0, THREADS, places), -1)
    for clocks in (shadow.write_clock, shadow.read_clock):
        clocks[:] = np.where(draw.random(places) < 0.02, 7, draw.integers(0, 4, places))
    shadow.how[:], shadow.write_step[:] = draw.integers(0, 4, places), draw.integers(0, STEPS, places)
    fences = ProxyFences(order)
    if seed % 3:
        everyone = np.arange(TEAMS * THREADS)
        for low in (0, 4):
            fences.fence(everyone // THREADS, everyone % THREADS, draw.integers(low, low + 5, len(everyone)))
    flight = (draw.random(places) < 0.002).astype(np.int32)
    number = np.arange(TEAMS * THREADS)
    made = SimpleNamespace(
        order=order, shadow=shadow, proxy_fences={"shared": fences}, granule=granule, flight=flight,
        readers=(draw.random(places) < 0.002).astype(np.int16), shared=draw.integers(0, 256, TEAMS * BYTES, np.uint8),
        written=draw.random(TEAMS * BYTES) < 0.999, team_of=number // THREADS, member_of=number % THREADS,
    )  # fmt: skip
    written = SimpleNamespace(unread=Unread(STEPS, BYTES // granule), writers=np.arange(STEPS, dtype=np.uint16))
    made.launch = SimpleNamespace(written=written)
    made.unread = shadow.unread = SharedUnread(written, made)
    made.core = SharedCore(made)
    return made, draw


def drawn_access(draw, size):
    number = np.sort(draw.choice(TEAMS * THREADS, draw.integers(1, 12), replace=False))
    places = number // THREADS * BYTES + draw.integers(0, BYTES // size, len(number)) * size
    return SimpleNamespace(number=number, team=number // THREADS, member=number % THREADS), places


@pytest.mark.parametrize("granule", [1, 2, 4])
def test_a_write_is_what_it_is_on_numpy(granule):
    assert core.library() is not None, "compile the core: python -m mmacalc.emulator.core"
    seen = set()
    for seed in range(60):
        machine, draw = machine_of(seed, granule)
        other, _ = machine_of(seed, granule)
        for step in range(STEPS):
            size = int(draw.choice([4, 8, 16]))
            threads, places = drawn_access(draw, size)
            data = draw.integers(0, 2, (len(places), size)).astype(np.uint8)
            at = (places[:, None] // granule + np.arange(size // granule)).reshape(-1)
            width = size // granule
            fine = not other.flight[at].any() and not other.readers[at].any() and other.shadow.conflict(
                at, np.repeat(threads.team, width), np.repeat(threads.member, width)) is None  # fmt: skip
            assert machine.core.may_write(threads, places, size) == fine
            lost = machine.core.write(threads, places, data, step)
            assert (lost is not None) == fine
            if fine:
                other.shadow.write(at, np.repeat(threads.team, width), np.repeat(threads.member, width), step)
                scattered(other.shared, places, data)
                scattered(other.written.view(np.uint8), places, np.ones_like(data))
                assert lost == (gathered(other.shared, places, size) != data).any()
            seen.add((fine, lost))
            assert (machine.shared == other.shared).all()
            assert (machine.written == other.written).all()
            for name in STATE:
                assert (getattr(machine.shadow, name) == getattr(other.shadow, name)).all(), name
            flags, wanted = machine.launch.written.unread, other.launch.written.unread
            if len(np.unique(at)) == len(at):  # else what lanes write to one place is lost to each other
                assert (flags.flags == wanted.flags).all()
                assert (flags.lost == wanted.lost).all()
            wanted.flags[:], wanted.lost[:] = flags.flags, flags.lost
    assert seen == {(False, None), (True, False), (True, True)}


@pytest.mark.parametrize("granule", [1, 2, 4])
def test_reads_of_the_async_proxy_are_fine_where_numpy_says_so(granule):
    seen = set()
    for seed in range(60):
        machine, draw = machine_of(seed, granule)
        for _ in range(40):
            thread = int(draw.integers(0, TEAMS * THREADS))
            first = thread // THREADS * BYTES // granule + int(draw.integers(0, BYTES // granule - 8))
            granules = np.arange(first, first + int(draw.integers(1, 8)))
            as_they_were = machine.shadow.how.copy(), machine.launch.written.unread.flags.copy()
            found = machine.core.may_read(thread, granules)
            assert not found or not (machine.shadow.how[granules] & FRESH).any()
            after = machine.launch.written.unread.flags.copy()
            machine.shadow.how[:], machine.launch.written.unread.flags[:] = as_they_were
            machine.unread.read(machine.shadow, granules)
            assert not found or (machine.launch.written.unread.flags == after).all()
            wanted = AsyncReads(machine).fine(granules, np.full(len(granules), thread))
            machine.proxy_fences["shared"].rows[:] = -1  # no thread has fenced for another one
            alone = AsyncReads(machine).fine(granules, np.full(len(granules), thread))
            assert found == alone <= wanted
            seen.add(found)
    assert seen == {False, True}


@pytest.mark.parametrize("granule", [1, 2, 4])
def test_bytes_that_are_read_are_those_of_numpy(granule, monkeypatch):
    seen = set()
    for seed in range(60):
        machine, draw = machine_of(seed, granule)
        other, _ = machine_of(seed, granule)
        for _ in range(20):
            size = int(draw.choice([4, 8, 16]))
            _, places = drawn_access(draw, size)
            machine.granules = other.granules = lambda places, size: Machine.granules(machine, places, size)  # noqa: B023
            found = Machine.take(machine, places, size)
            with monkeypatch.context() as numpy_alone:
                numpy_alone.setattr(other.core, "_take", None)
                wanted = Machine.take(other, places, size)
            assert (found is None) == (wanted is None)
            assert found is None or (found == wanted).all()
            assert (machine.shadow.how == other.shadow.how).all()
            assert (machine.launch.written.unread.flags == other.launch.written.unread.flags).all()
            seen.add(found is None)
    assert seen == {False, True}


def test_reads_that_are_logged_are_looked_at_until_all_threads_know_of_them():
    machine, _ = machine_of(0, 4)
    machine.flight[:], machine.readers[:], machine.shadow.writer[:], machine.shadow.reader[:] = 0, 0, -1, -1
    threads = SimpleNamespace(number=np.array([3]), team=np.array([0]), member=np.array([3]))
    places, team = np.array([64]), np.array([0])
    for clock, fine in ((machine.order.common[0, 7] + 1, False), (machine.order.common[0, 7], True)):
        machine.order.clock[0, 7] = clock
        for thread in (8, 7):  # of reads by several threads all but the last are logged
            machine.shadow.read(places // 4, team, np.array([thread]), 5)
        machine.order.common[0, 8] = machine.order.clock[0, 8]
        assert machine.core.may_write(threads, places, 4) == fine
        machine.shadow.log.clear()
        machine.shadow.reader[:], machine.shadow.shared[:] = -1, False


def outcome(report):
    """All of a report; also its notes."""
    return report.as_dict(), report.notes


@pytest.mark.parametrize("name", ["mma_gemm", "transpose", "softmax_rows"])
def test_a_launch_reports_the_same_with_and_without_the_core(name, monkeypatch):
    deleted = [without(one) for one in DELETIONS if one["kernel"] == name]
    for text in (recorded(f"{name}.ptx"), *deleted[:2]):
        case, report = launched(text, name)
        with monkeypatch.context() as numpy_alone:
            numpy_alone.setattr(core, "function", lambda *_: None)
            wanted, other = launched(text, name)
        assert np.array_equal(case.out, wanted.out, equal_nan=True)
        assert outcome(report) == outcome(other)
        assert bool(report.findings) == (text in deleted)


def test_what_threads_know_of_each_other_is_as_by_clocks_of_each_thread():
    """Barriers of all teams, of some, of groups, and releases that others acquire: the shared rows of `Order` and of
    `ProxyFences` are those of a thread that keeps a clock of everybody for itself."""
    shared = set()
    for seed in range(40):
        draw = np.random.default_rng(seed)
        order = Order(2, 4, 2)
        fences = ProxyFences(order)
        everyone = np.arange(8)
        known, fenced = np.zeros((2, 4, 6), np.int32), np.zeros((2, 4, 6), np.int32)
        for action in draw.choice(
            ["meet", "meet", "one meets", "join", "acquire", "all acquire", "fence", "all fence"], 20
        ):
            team, members = int(draw.integers(2)), np.sort(draw.choice(4, 2, replace=False))
            who = [(one, range(4)) for one in ((0, 1) if action == "meet" else (team,))]
            if action == "join":
                who = [(team, members.tolist())]
            if action in ("meet", "one meets", "join"):
                for one, group in who:
                    group = list(group)
                    row = known[one, group].max(axis=0)
                    row[group] = np.maximum(row[group], order.clock[one, group])
                    known[one, group] = np.maximum(known[one, group], row)
                if action == "join":
                    order.join(np.array([team]), members[None])
                else:
                    order.meet(np.array([one for one, _ in who]))
            elif action in ("acquire", "all acquire"):
                some = members[1:] if action == "acquire" else np.arange(4)
                clocks = known[team, members[0]].copy()
                clocks[members[0]] = order.clock[team, members[0]]
                assert (order.release(team, members[:1]) == clocks).all()
                clocks[4] += draw.integers(2)  # of an mbarrier
                known[team, some] = np.maximum(known[team, some], clocks)
                order.acquire(team, some, clocks)
            else:
                some = everyone if action == "all fence" else np.array([team * 4 + members[0]])
                before = order.tick(some // 4, some % 4)
                fences.fence(some // 4, some % 4, before)
                fenced[some // 4, some % 4] = known[some // 4, some % 4]
                assert (fences.rows[some // 4, some % 4] == fenced[some // 4, some % 4]).all()
            shared.add((action, order.known is None))
            place = np.indices((2, 4, 6)).reshape(3, -1)
            found = order.knows(*place).reshape(2, 4, 6)
            own = np.arange(4)
            want = known.copy()
            want[:, own, own] = order.clock[:, own]
            assert (found == want).all(), (seed, action)
    assert {("meet", True), ("all acquire", True), ("all acquire", False), ("one meets", False)} <= shared
