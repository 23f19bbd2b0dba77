"""What the compiled core carries out of PTX kernels is what NumPy makes of it: places, bytes, fragments, products."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import mistaken_ptx
import mmacalc
import recorded
import test_ptx_pitfalls
from mmacalc.catalog import entry
from mmacalc.emulator import core, fast
from mmacalc.emulator.execution import execution_of
from mmacalc.emulator.fragments import computable, tables
from mmacalc.formats import FORMATS
from mmacalc.kernels.device.memory import GlobalMemory
from mmacalc.kernels.ptx import mbarriers_alike, shared_core
from mmacalc.kernels.ptx.barriers import CtaBarriers
from mmacalc.kernels.ptx.launch import Launch
from mmacalc.kernels.ptx.matrices import Executor, Fragments, by_register, by_warp
from mmacalc.kernels.ptx.memory_bytes import gathered
from mmacalc.kernels.ptx.order import span
from mmacalc.kernels.ptx.program import Step
from mmacalc.kernels.ptx.reading import Reading
from mmacalc.kernels.ptx.shared_core import SharedCore
from mmacalc.kernels.ptx.tensor_memory import TensorMemory
from mmacalc.kernels.ptx.threads import Threads
from mmacalc.kernels.ptx.traffic import AccessCounter
from mmacalc.ptx.module import Statement
from ptx_findings import with_arrays
from samples import sampled
from test_ptx_deletions import TOOL
from test_ptx_shared_core import BYTES, TEAMS, THREADS, machine_of, outcome

CTAS, BLOCK, SHARED = 3, 64, 2048


@pytest.fixture
def numpy_alone(monkeypatch):
    """A call without the core."""

    def call(function, *arguments):
        with monkeypatch.context() as patch:
            patch.setattr(core, "function", lambda *_: None)
            return function(*arguments)

    assert core.library() is not None, "compile the core: python -m mmacalc.emulator.core"
    return call


# --- products ---

SPECIAL = {
    "f16": (0x7C00, 0xFC00, 0x7E00, 0x8000, 0, 1, 0x03FF, 0x7BFF),
    "bf16": (0x7F80, 0xFFC0, 0x8000, 0, 1, 0x7F7F),
}
PRODUCTS = (
    ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
    ("sm_80", "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32"),
    ("sm_80", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
    ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"),
    ("sm_80", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"),
    ("sm_80", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"),
    ("sm_89", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32"),
    ("sm_90a", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
    ("sm_75", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"),
)


@pytest.mark.parametrize(("target", "name"), PRODUCTS)
def test_products_on_registers_are_those_of_gathered_matrices(target, name):
    inst = entry(target).instruction(name)
    executor = Executor(inst)
    product, warps = Fragments(executor), 37
    draw = np.random.default_rng(len(name))
    files = {}
    for operand in "ABC":
        place, form = executor.places[operand], inst.format(operand)
        words = draw.integers(0, 1 << 32, (place.registers, warps * 32), np.uint32)
        if form.bits == 16:
            values = draw.standard_normal((*words.shape, 2)).astype(np.float32)
            halves = values.astype(np.float16).view(np.uint16) if form.name == "f16" else (
                values.view(np.uint32) >> np.uint32(16)).astype(np.uint16)  # fmt: skip
            halves[:, : 8 * 32] = draw.choice(SPECIAL[form.name], (*words[:, : 8 * 32].shape, 2))
            words = np.ascontiguousarray(halves).view(np.uint32)[..., 0]
        elif form.bits == 32 and form.is_float:
            words[:, 32 * 8 :] = draw.standard_normal((len(words), 32 * (warps - 8))).astype(np.float32).view(np.uint32)
        files[operand] = words
    wanted = by_register(executor({operand: by_warp(one) for operand, one in files.items()}))
    assert (product(files) == wanted).all()
    assert (tables(executor.execution) is not None) == (inst.format("D").name == "f32")


def test_the_values_of_formats_that_are_computed_are_those_of_their_tables():
    found = {name for name, form in FORMATS.items() if form.bits in (8, 16) and form.is_float and computable(form, "")}
    assert found == {"f16", "bf16", "e5m2"}


@pytest.mark.parametrize("target", ["sm_70", "sm_80", "sm_90a", "sm_100a"])
def test_products_of_few_columns_are_those_of_numpy(target, numpy_alone):
    """Rows share the lanes of a vector: any number of rows and columns, depths beyond what is taken at once."""
    shape = {"sm_70": "m8n8k4", "sm_80": "m16n8k16"}.get(target, "m16n8k16")
    execution = execution_of(
        entry(target).instruction(f"mma.sync.aligned.{shape}.row.col.f32.f16.f16.f32"), None, {}, False, False
    )
    kernel, draw, flagged = fast.kernel(execution), np.random.default_rng(5), 0
    sizes = ((1, 1, 1, 1), (3, 4, 8, 2), (2, 7, 5, 9), (2, 16, 16, 5), (5, 9, 13, 1), (1, 33, 24, 2))
    for entries, m, n, steps in sizes:
        shapes = {"A": (entries, m, execution.inst.k * steps), "B": (entries, execution.inst.k * steps, n)}
        codes = {name: draw.standard_normal(one).astype(np.float16).view(np.uint16) for name, one in shapes.items()}
        codes["C"] = draw.standard_normal((entries, m, n)).astype(np.float32).view(np.uint32)
        codes["A"][0, m // 2, 0] = 0x7C00  # an infinity
        found = fast.products(execution, kernel, codes)
        assert (found == numpy_alone(fast.products, execution, kernel, codes)).all()
        flagged += (found[0, m // 2] & 0x7F800000 == 0x7F800000).sum()
    assert flagged


# --- places ---


def small_machine(first_shared=0):
    number = np.arange(CTAS * BLOCK)
    memory = GlobalMemory()
    memory.add("x", np.zeros(3000, np.uint8), True)
    memory.add("y", np.zeros(512, np.uint8), False)
    memory.finish()
    memory.data[:] = np.arange(len(memory.data)) % 251
    launch = SimpleNamespace(cluster_size=1, shared_bytes=SHARED - 100, memory=memory)
    made = SimpleNamespace(
        launch=launch, program=SimpleNamespace(first_shared=first_shared), shared_size=SHARED, count=len(number),
        block_size=BLOCK, cta_of=number // BLOCK, lane_of=number % 32, inner_of=number % BLOCK,
    )  # fmt: skip
    made.core = SharedCore.__new__(SharedCore)
    pointer = shared_core._POINTER
    made.core._places = core.function("places", (pointer,) * 4 + (shared_core._NUMBER, pointer, pointer),
                                      shared_core._NUMBER)  # fmt: skip
    made.core._pattern = shared_core.ctypes.c_uint64()
    made.core.machine = made
    return made


def drawn_addresses(draw, count, room, size):
    """Addresses of threads: in a row, by a swizzle, at random; now and then one that is not fine."""
    base = int(draw.integers(0, max(1, room // size - count))) * size
    at = base + np.arange(count) * size
    kind = draw.integers(4)
    if kind == 1:
        at = base + ((np.arange(count) ^ draw.integers(32)) % count) * size
    elif kind == 2:
        at = draw.integers(0, room // size, count) * size
    elif kind == 3:
        at[draw.integers(count)] = draw.choice([-size, room, base + 1, room - size + 1])
    return at.astype(np.int64)


def test_places_and_patterns_are_those_of_numpy():
    draw, seen = np.random.default_rng(3), set()
    fast_counter, counter = (AccessCounter(mmacalc.architecture("sm_80")) for _ in range(2))
    step = Step(0, Statement(1, None, "ld", (), (), None, "ld"))
    for turn in range(400):
        machine = small_machine(first_shared=int(draw.choice([0, 64])))
        warps = np.sort(draw.choice(CTAS * BLOCK // 32, draw.integers(1, CTAS * BLOCK // 32 + 1), replace=False))
        threads = Threads(machine, (warps[:, None] * 32 + np.arange(32)).reshape(-1))
        size = int(draw.choice([1, 2, 4, 8, 16]))
        at = drawn_addresses(draw, len(threads), SHARED - 200, size)
        shared = turn % 2
        if not shared:
            region = machine.launch.memory.regions[int(draw.integers(2))]
            at = drawn_addresses(draw, len(threads), region.end - region.start, size) + region.start
        given = machine.core.shared_places(threads, at, size) if shared else machine.core.global_places(
            threads, at, size, bool(draw.integers(2)) and region.writeable)  # fmt: skip
        if shared:
            fine = (at >= machine.program.first_shared) & (at + size <= SHARED - 100) & (at % size == 0)
            want = threads.cta * SHARED + at
        else:
            fine = (at >= region.start) & (at + size <= region.end) & (at % size == 0)
            want = at - region.start + region.place
        assert (given is not None) == fine.all()
        seen.add((shared, given is not None))
        if given is None:
            continue
        places, pattern = given
        assert (places == want).all()
        counted = places if shared else at
        for one, number in ((fast_counter, pattern), (counter, None)):
            count = one.shared if shared else one.anywhere
            count(step, threads, counted, size, "read", number)
        if not shared:
            assert machine.launch.memory.region == machine.launch.memory.regions.index(region)
    assert fast_counter.sites == counter.sites
    assert seen == {(kind, fine) for kind in (0, 1) for fine in (False, True)}
    assert len(fast_counter._totals) > 20


def test_a_store_to_memory_that_is_not_to_be_written_is_left_to_numpy():
    machine = small_machine()
    region = machine.launch.memory.regions[1]
    threads = Threads(machine, np.arange(32))
    at = region.start + np.arange(32) * 4
    assert machine.core.global_places(threads, at, 4, False) is not None
    assert machine.core.global_places(threads, at, 4, True) is None


# --- bytes ---


def test_bytes_at_places_are_those_of_numpy(numpy_alone):
    draw = np.random.default_rng(4)
    memory = draw.integers(0, 256, 4096, np.uint8)
    occupied, seen = draw.random(4096 // 8) < 0.01, set()
    for _ in range(300):
        size = int(draw.choice([1, 2, 4, 8, 16, 12]))
        places = draw.integers(0, 4096 // size, draw.integers(1, 40)) * size
        assert (gathered(memory, places, size) == numpy_alone(gathered, memory, places, size)).all()
        octets = places[:, None] + np.arange(size)
        seen.add(bool(occupied[octets >> 3].any()))
        assert shared_core.none_occupied(occupied, places, size) == (not occupied[octets >> 3].any())
    assert seen == {False, True}
    for outside in ([-1], [4096], [4090]):
        assert shared_core.bytes_at(memory, np.array([0, *outside]), 8) is None


@pytest.mark.parametrize("words", ["x4", "x2", "x1", "x4.trans"])
def test_fragments_of_matrices_in_memory_are_those_of_numpy(words):
    from mmacalc.kernels.ptx.matrices import _halves, _table

    count, _, turned = words.partition(".")
    inst = entry("sm_80").instruction(f"ldmatrix.sync.aligned.m8n8.{count}{'.trans' if turned else ''}.shared.b16")
    register, lane, lsb = _table(inst, "D")
    registers = int(count[1:])
    halves, lines, warps = _halves(register, lane, lsb, registers), 8 * registers, 5
    draw = np.random.default_rng(registers)
    memory = draw.integers(0, 256, 4096, np.uint8)
    places = draw.integers(0, 256, warps * lines) * 16
    rows = memory[places[:, None] + np.arange(16)].reshape(warps, -1).view(np.uint16)
    wanted = np.ascontiguousarray(rows[:, halves]).view(np.uint32).reshape(warps, registers, 32)
    found = shared_core.loaded_matrix(memory, places, warps, halves, registers)
    assert (found.reshape(registers, warps, 32) == np.swapaxes(wanted, 0, 1)).all()
    assert shared_core.loaded_matrix(memory, places + 4096, warps, halves, registers) is None


# --- reads of the async proxy ---


@pytest.mark.parametrize("granule", [1, 2, 4])
def test_reads_of_several_threads_are_those_of_each(granule):
    draw, seen = np.random.default_rng(granule), set()
    for seed in range(80):
        machine, _ = machine_of(seed, granule)
        if seed % 4 == 0:  # what all threads know of, with a fence that all know of behind it
            machine.shadow.write_clock[:] = 1
            machine.proxy_fences["shared"].fence(*np.divmod(np.arange(TEAMS * THREADS), THREADS),
                                                 np.ones(TEAMS * THREADS, np.int32) * 2)  # fmt: skip
        threads = np.sort(draw.choice(TEAMS * THREADS, 3, replace=False))
        alone = np.sort(draw.choice(BYTES // granule, 6, replace=False))
        starts = threads // THREADS * (BYTES // granule)
        wanted = all(machine.core.may_read(int(thread), alone + start) for thread, start in zip(threads, starts))
        assert machine.core.may_read_alike(threads, starts, alone) == wanted
        seen.add(wanted)
        reading, before = Reading(alone, starts, np.arange(3)), machine.readers.copy()
        machine.core.begin_reading(reading, 1)
        places = (starts[:, None] + alone).reshape(-1)
        np.add.at(before, places, 1)
        assert (machine.readers == before).all()
        assert reading.holds(int(places[7]))
        assert not reading.where(np.array([False, True, True])).holds(int(places[0])) or threads[0] // THREADS == (
            threads[1] // THREADS)  # fmt: skip
        machine.core.log_reads(reading)
        assert machine.shadow.shared[places].all()
    assert seen == {False, True}


def test_a_span_is_a_slice_of_numbers_that_follow_each_other():
    assert span(np.array([3, 4, 5])) == slice(3, 6)
    assert span(np.array([], int)) == slice(0, 0)
    assert span(np.array([3, 5])).tolist() == [3, 5]


# --- whole launches ---


def report_of(launching, text, schedule):
    arguments, results = launching.make()
    try:
        kernel = mmacalc.load(text)[launching.entry] if launching.entry else next(iter(mmacalc.load(text).values()))
        report = mmacalc.launch(kernel, launching.grid, launching.block, *arguments, shared=launching.shared,
                                schedule=schedule)  # fmt: skip
    except mmacalc.Error as error:
        return str(error), results
    return outcome(report), results


LAUNCHES = dict(TOOL["of_recorded"]())


@sampled("name", list(LAUNCHES), 6)
def test_a_launch_reports_the_same_without_the_core(name, numpy_alone):
    """A kernel as it is, and without some of its synchronisation: results, findings, notes and bank conflicts."""
    launching = LAUNCHES[name]
    texts = [launching.text, *[text for _, text in TOOL["sites"](launching, 3)]]
    for text, schedule in [*[(text, None) for text in texts], (launching.text, 1)]:
        found, wanted = report_of(launching, text, schedule), numpy_alone(report_of, launching, text, schedule)
        assert found[0] == wanted[0]
        assert [one.tobytes() for one in found[1]] == [one.tobytes() for one in wanted[1]]


def blackwell():
    """tests/data/ptx/blackwell.cu: tensor copies, tcgen05.mma and .commit, Tensor Memory."""
    case, entry = test_ptx_pitfalls.CASES["gemm"], "_Z4gemmILi0EEv3MapS0_Pfii"

    def make():
        arguments, result, _ = with_arrays(case)
        return arguments, [result]

    return TOOL["Launching"](recorded.text("ptx/blackwell_sm_100a.ptx.gz"), *case[:3], make, entry)


@sampled("name", ["gemm", "producer", "ring<0>", "swizzled<0>"], 2)
def test_ctas_that_wait_alike_are_reported_as_one_by_one(name, monkeypatch):
    """Three CTAs of the same work, with and without some of its synchronisation; threads know mbarriers by bar.sync, as
    of Triton's kernels."""
    launching = (blackwell() if name == "gemm" else LAUNCHES[name])._replace(grid=3)
    launching = launching._replace(text=re.sub(r"\tfence\.mbarrier_init.*;\n", "", launching.text))
    used, uses = [], mbarriers_alike.uses
    for text in (launching.text, *[text for _, text in TOOL["sites"](launching, 4)]):
        with monkeypatch.context() as patch:
            patch.setattr(mbarriers_alike, "uses", lambda *given: used.append(uses(*given)) or used[-1])
            found = report_of(launching, text, None)
        with monkeypatch.context() as patch:
            patch.setattr(mbarriers_alike, "uses", lambda *_: None)
            patch.setattr(CtaBarriers, "_alike", lambda *_: False)
            patch.setattr(TensorMemory, "fine", lambda _, step, threads, index: np.zeros(len(threads), bool))
            wanted = report_of(launching, text, None)
        assert found[0] == wanted[0]
        assert [one.tobytes() for one in found[1]] == [one.tobytes() for one in wanted[1]]
    assert any(used), "no mbarriers were used alike"


def product_of(kernel, case, value):
    """The launch of a product, with a value in A that the core's kernels flag, if any, and its result."""
    arguments, result, _ = with_arrays(case)
    arrays = [getattr(one, "array", one) for one in arguments]
    halves = next(one for one in arrays if isinstance(one, np.ndarray) and one.itemsize == 2)
    if value is not None:
        halves.reshape(-1)[5] = np.float16(value).view(halves.dtype)
    launch = Launch(kernel, case[0], case[1], arguments, case[2])
    report = launch.run()
    return outcome(report), result.tobytes(), np.isfinite(result.astype(np.float64)).all()


@pytest.mark.parametrize("value", [None, np.inf])
@pytest.mark.parametrize("name", ["product<0>", "swizzled<0>", "gemm<0>"])
def test_wgmma_and_tcgen05_compute_what_they_do_without_the_core(name, value, numpy_alone):
    module = test_ptx_pitfalls if name == "gemm<0>" else mistaken_ptx
    kernel, case = module.kernels()[name], module.CASES[name.partition("<")[0]]
    found = product_of(kernel, case, value)
    assert found == numpy_alone(product_of, kernel, case, value)
    assert found[2] == (value is None)


APART = """.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {
 .reg .b32 %r<9>; .reg .f32 %f<5>; .reg .b64 %d<9>; .reg .pred %p<3>; .shared .align 128 .b8 data[4096];
 ld.param.u64 %d0, [in]; ld.param.u64 %d1, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, data;
 mul.wide.u32 %d2, %r0, 16; add.u64 %d0, %d0, %d2; add.u64 %d1, %d1, %d2; mad.lo.u32 %r2, %r0, 16, %r1;
 ld.global.v4.b32 {%r3, %r4, %r5, %r6}, [%d0]; st.shared.v4.b32 [%r2], {%r3, %r4, %r5, %r6};
 fence.proxy.async; bar.sync 0; shr.u32 %r7, %r0, 7; setp.ne.u32 %p0, %r7, 0; mad.lo.u32 %r8, %r7, 256, %r1;
 add.u32 %r8, %r8, 2048; cvt.u64.u32 %d3, %r1; shr.u64 %d3, %d3, 4; or.b64 %d3, %d3, 0x800400000;
 cvt.u64.u32 %d4, %r8; shr.u64 %d4, %d4, 4; or.b64 %d4, %d4, 0x800080000;
 wgmma.fence.sync.aligned; setp.eq.u32 %p1, %r0, 999;
 wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d3, %d4, %p1, 1, 1, 0, 0;
 wgmma.commit_group.sync.aligned;
 @%p0 bra SECOND; wgmma.wait_group.sync.aligned 0; bra BOTH;
SECOND: wgmma.wait_group.sync.aligned 0;
BOTH: st.global.v4.f32 [%d1], {%f0, %f1, %f2, %f3}; ret; }
"""


def test_warpgroups_that_issue_a_wgmma_together_and_wait_apart_multiply_by_their_own_matrices():
    """The second one's B was taken from the descriptor of the first."""
    draw = np.random.default_rng(0)
    a, b = draw.integers(-4, 5, (64, 16)), draw.integers(-4, 5, (2, 8, 16))
    given, out = np.zeros(2048, np.float16), np.zeros((2, 4, 8, 4, 4), np.float32)  # group, warp, row, column / 2, item
    for start, matrix in ((0, a), (1024, b[0]), (1152, b[1])):
        given[start : start + matrix.size] = np.concatenate([matrix[:, :8], matrix[:, 8:]]).reshape(-1)
    report = mmacalc.launch(mmacalc.load(APART)["k"], 1, 256, given, out)
    assert report.findings == ()
    found = out.reshape(2, 4, 8, 4, 2, 2).transpose(0, 1, 4, 2, 3, 5).reshape(2, 64, 8)
    assert (found == a @ b.transpose(0, 2, 1)).all()
