"""Launches: coordinates, memory, barriers, reports, and every way to stop one."""

import copy
import io
import os
import re
import subprocess
import time

import numpy as np
import pytest

import mmacalc
from llvm_mc import tool
from mmacalc import rocwmma
from mmacalc.kernels.device import launch


def test_a_kernel_is_called_once_for_every_wave_with_hips_coordinates():
    seen = []

    def kernel(wave):
        seen.append((tuple(wave.blockIdx), wave.index, tuple(wave.first_threadIdx), wave.size))
        assert tuple(wave.gridDim) == (2, 3, 1)
        assert tuple(wave.blockDim) == (32, 4, 2)
        x, y, z = wave.threadIdx
        assert np.array_equal(x + 32 * y + 128 * z, wave.index * wave.size + wave.lane)

    report = mmacalc.launch(kernel, (2, 3), (32, 4, 2))
    threads = [(0, 0, 0), (0, 2, 0), (0, 0, 1), (0, 2, 1)]
    expected = [((x, y, 0), w, threads[w], 64) for y in range(3) for x in range(2) for w in range(4)]
    assert seen == expected
    assert (report.workgroups, report.waves) == (6, 24)


def test_arrays_that_share_memory_share_it_in_the_kernel_and_views_are_pointers_into_it():
    whole = np.arange(64, dtype=np.float32).reshape(8, 8)
    corner = whole.reshape(-1)[36:]

    def kernel(wave, whole, corner):
        (whole + 36)[0] = -1.0  # element [4][4], which `corner` begins with
        assert corner[0] == -1.0
        assert (corner + 9)[0] == whole[45]

    mmacalc.launch(kernel, 1, 64, whole, corner)
    assert whole[4, 4] == -1.0


def test_arrays_whose_elements_are_not_in_order_in_memory_are_refused_with_what_to_pass():
    a, d = np.arange(64.0).reshape(8, 8), np.zeros((8, 8))

    def kernel(wave, a, d):
        d[np.arange(64)] = a[np.arange(64)]

    for wrong in (a.T, a[::2], a[:, 0], a[::-1], np.asfortranarray(a)):
        with pytest.raises(mmacalc.Error, match=r"a is not C-contiguous .* pass numpy.ascontiguousarray of it"):
            mmacalc.launch(kernel, 1, 64, wrong, d)
        with pytest.raises(mmacalc.Error, match="d is not C-contiguous"):
            mmacalc.launch(kernel, 1, 64, a=a, d=wrong)
    for right, wanted in ((np.ascontiguousarray(a.T), a.T), (np.asfortranarray(a).T, a.T), (a[:], a)):
        mmacalc.launch(kernel, 1, 64, right, d)
        assert np.array_equal(d, wanted)


@pytest.mark.parametrize("index", [(0, 1), (np.arange(64), 0)])
def test_an_index_of_rows_and_columns_is_refused_with_the_wave_and_the_line(index):
    def kernel(wave, d):
        d[index] = 1.0

    where, says = r"wave 0, test_rocwmma_launch.py line \d+: ", r"store: d is indexed by 2 values, as a matrix is; "
    with pytest.raises(mmacalc.Error, match=where + says + r".* d\[row \* ld \+ column\]"):
        mmacalc.launch(kernel, 1, 64, np.zeros((8, 8)))


def test_column_major_arrays_are_read_as_they_lie_in_memory():
    a = np.asfortranarray(np.arange(256, dtype=np.float16).reshape(16, 16))
    d = np.zeros((16, 16), np.float16)

    def kernel(wave, a, d):
        frag = rocwmma.fragment(rocwmma.accumulator, 16, 16, 16, "f16")
        rocwmma.load_matrix_sync(frag, a, 16, rocwmma.mem_col_major)
        rocwmma.store_matrix_sync(d, frag, 16, rocwmma.mem_row_major)

    mmacalc.launch(kernel, 1, 64, a.T, d)
    assert np.array_equal(a, d)


def test_arrays_of_the_surroundings_can_be_given_to_loads_and_stores_directly():
    a, d = np.ones((32, 32), np.float32), np.zeros((32, 32), np.float32)

    def kernel(wave):
        frag = rocwmma.fragment(rocwmma.accumulator, 16, 16, 16, np.float32, rocwmma.row_major)
        rocwmma.load_matrix_sync(frag, a[16:, 16:], 32)
        rocwmma.store_matrix_sync(d[16:, 16:], frag, 32)

    mmacalc.launch(kernel, 1, 64)
    assert d.sum() == d[16:, 16:].sum() == 256


def test_waves_meet_at_barriers_and_see_what_the_others_left_in_lds():
    def kernel(wave, found):
        ring = wave.shared("ring", 4, np.int32)
        for turn in range(5):
            ring[wave.index] = 10 * turn + wave.index
            rocwmma.synchronize_workgroup()
            found[(wave.blockIdx.x * 5 + turn) * 4 + wave.index] = ring[(wave.index + 1) % 4]
            rocwmma.synchronize_workgroup()

    found = np.zeros((3, 5, 4), np.int32)
    mmacalc.launch(kernel, 3, 256, found)
    assert np.array_equal(found, np.broadcast_to(np.arange(5)[:, None] * 10 + [1, 2, 3, 0], (3, 5, 4)))


def test_an_accumulator_used_by_several_products_keeps_each_result():
    def kernel(wave, d):
        a, b = (rocwmma.fragment(x, 16, 16, 16, "f16") for x in (rocwmma.matrix_a, rocwmma.matrix_b))
        frags = [rocwmma.fragment(rocwmma.accumulator, 16, 16, 16, "f32", rocwmma.row_major) for _ in range(3)]
        for frag, value in ((a, 1), (b, 1), (frags[0], 0)):
            rocwmma.fill_fragment(frag, value)
        for _ in range(100):  # longer than what is left to wait
            rocwmma.mma_sync(frags[0], a, b, frags[0])
        rocwmma.mma_sync(frags[1], a, b, frags[0])
        rocwmma.fill_fragment(a, 2)  # the product before has taken a as it was
        rocwmma.mma_sync(frags[2], a, b, frags[0])
        rocwmma.fill_fragment(frags[0], -1)
        for number, frag in enumerate(frags):
            rocwmma.store_matrix_sync(d + 256 * number, frag, 16)

    d = np.zeros((3, 256), np.float32)
    mmacalc.launch(kernel, 1, 64, d)
    assert [set(row) for row in d] == [{-1.0}, {1616.0}, {1632.0}]


def test_threads_are_those_of_every_lane_and_count_as_one_number_where_all_agree():
    """Lines as HIP has them: an index of every lane's own, and waves told apart by threadIdx.x / warpSize."""

    def kernel(wave, c, of_wave):
        threadIdx = wave.threadIdx
        c[wave.blockIdx.x * wave.blockDim.x + threadIdx.x] = threadIdx.x
        warp = threadIdx.x // wave.size
        if warp < 2:
            of_wave[warp] = [10, 11, 12][warp]
        assert list(range(warp, 2)) == list(range(wave.first_threadIdx.x // wave.size, 2))
        assert f"{int(warp)}" == str(wave.index)
        assert float(warp) == wave.index

    c, of_wave = np.zeros(384, np.int32), np.zeros(3, np.int32)
    mmacalc.launch(kernel, 2, 192, c, of_wave)
    assert np.array_equal(c, np.arange(384) % 192)
    assert of_wave.tolist() == [10, 11, 0]


def test_a_pointer_of_every_lanes_own_reads_and_writes_numbers_and_vectors():
    def kernel(wave, a, b, d):
        row = a + wave.threadIdx.x * 8  # const T* row = A + threadIdx.x * k
        assert np.array_equal(row[0:8], a[8 * wave.lane + np.arange(8)[:, None]])
        assert np.array_equal((row + 3)[wave.lane % 2], a[8 * wave.lane + 3 + wave.lane % 2])
        assert (4 - 2 + row)[1].shape == (row - wave.lane * 8 + 3)[0].shape == (wave.size,)
        assert np.array_equal((wave.lane + b)[0], b[wave.lane])
        assert b[2:6].tolist() == [2, 3, 4, 5]
        assert (b + 64)[-1] == 63  # one past the end, as `end[-1]`
        assert "+ [" in repr(row)
        d[0:4] = np.arange(4)
        own = d + wave.lane * 4
        own[0:4] = row[4:8]

    a, b, d = np.arange(512.0), np.arange(64), np.zeros(256)
    report = mmacalc.launch(kernel, 1, 64, a, b, d)
    assert np.array_equal(d.reshape(64, 4), a.reshape(64, 8)[:, 4:])
    assert report.traffic.stored == 8 * (4 + 256)


def test_fragments_are_copied_as_in_cpp():
    kept = []

    def kernel(wave, d):
        x = fragments()[2]
        rocwmma.fill_fragment(x, 1)
        for number, make in enumerate((copy.copy, copy.deepcopy, rocwmma.Fragment.copy)):
            y = make(x)
            rocwmma.fill_fragment(y, 2)
            y.x[0] = 3 + number
            assert y.x[0][0] == y[0][0] == 3 + number
            assert (x.x[0] == 1).all()
            rocwmma.store_matrix_sync(d + 256 * number, y, 16)
        kept.append([part.shape for part in x.x] + [part.shape for part in x])
        a, b, _ = fragments()
        for frag in (a, b):
            rocwmma.fill_fragment(frag, 1)
        rocwmma.mma_sync(x, a, b, x)
        y = x.copy()  # of a product that is still to come
        rocwmma.mma_sync(x, a, b, x)
        assert ((y.x[0] == 17) & (x.x[0] == 33)).all()
        z = fragments()[2]
        z.x[1] = 5
        z = z.copy()
        assert (z.x[1] == 5).all()
        z.x[0]  # not filled, in the copy as in the original

    d = np.zeros((3, 16, 16), np.float32)
    with pytest.raises(mmacalc.Error, match="64 of 256 elements"):
        mmacalc.launch(kernel, 1, 64, d)
    assert kept == [[(64,)] * 8]

    def stores(wave, d):
        x = fragments()[2]
        rocwmma.fill_fragment(x, 1)
        y = x.copy()
        rocwmma.fill_fragment(y, 2)
        rocwmma.store_matrix_sync(d, x, 16)
        rocwmma.store_matrix_sync(d + 256, y, 16)

    mmacalc.launch(stores, 1, 64, d)
    assert [set(block.ravel()) for block in d[:2]] == [{1.0}, {2.0}]


def test_waves_that_have_ended_count_as_arrived_at_a_barrier():
    """As in rocWMMA's simple_dlrm with its own sizes on wave32, where half of the waves leave early."""

    def kernel(wave, a, d, rows):
        row = 16 * (wave.threadIdx.x // wave.size)
        if row >= rows:
            return
        lds = wave.shared("tile", 16 * 16 * 2, np.float16)
        lds[row * 16 + wave.lane] = a[row * 16 + wave.lane]
        rocwmma.synchronize_workgroup()
        d[row * 16 + wave.lane] = lds[(row * 16 + wave.lane + 256) % 512]
        rocwmma.synchronize_workgroup()

    a, d = np.arange(512).astype(np.float16), np.zeros(512, np.float16)
    report = mmacalc.launch(kernel, 2, 128, a, d, 32, arch="gfx1100")
    assert np.array_equal(d[:32], a[256:288])
    assert np.array_equal(d[256:288], a[:32])
    assert len(report.warnings) == 2
    assert re.fullmatch(
        r"waves 2, 3 had ended when the others met at barrier 1 \(waves 0, 1 at test_rocwmma_launch.py line \d+\); "
        "so in 2 workgroups",
        report.warnings[0],
    )
    assert f"warning: {report.warnings[1]}" in str(report)
    assert report.as_dict()["warnings"] == list(report.warnings)
    assert not mmacalc.launch(kernel, 2, 64, a, d, 32, arch="gfx1100").warnings


def test_waves_that_meet_at_different_barriers_go_on_as_on_the_hardware_and_the_report_says_so():
    """S_BARRIER counts waves. Kernels whose waves work by turns use that; in others it is a mistake."""

    def kernel(wave):
        if wave.index:
            rocwmma.synchronize_workgroup()
        else:
            wave.synchronize()

    (text,) = mmacalc.launch(kernel, 1, 192).warnings
    assert re.fullmatch(
        r"wave 0 at \S+ line \d+ and waves 1, 2 at \S+ line \d+ met at the same barrier, number 1", text
    )


def test_a_workgroup_has_as_much_lds_as_llvm_gives_it():
    code = """
    @lds = internal addrspace(3) global [{size} x i8] poison
    define amdgpu_kernel void @kernel(i32 %i) {{
      %p = getelementptr [{size} x i8], ptr addrspace(3) @lds, i32 0, i32 %i
      store volatile i8 1, ptr addrspace(3) %p
      ret void
    }}
    """
    for arch in mmacalc.architectures():
        record = mmacalc.architecture(arch)
        known = [target for target in record.targets if target not in record.since_llvm]  # llc here is LLVM 22's
        if record.vendor == "amd" and known:
            for size, taken in ((record.lds_bytes, True), (record.lds_bytes + 1, False)):
                command = [tool("llc"), "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={known[-1]}", "-o", os.devnull]
                done = subprocess.run(command, input=code.format(size=size), capture_output=True, text=True)
                assert (done.returncode == 0) is taken, (arch, size, done.stderr)


# --- what stops a launch ----------------------------------------------------------------------------------------


def fragments():
    return [
        rocwmma.fragment(context, 16, 16, 16, kind, rocwmma.row_major)
        for context, kind in ((rocwmma.matrix_a, "f16"), (rocwmma.matrix_b, "f16"), (rocwmma.accumulator, "f32"))
    ]


def store_beyond(wave, x, d):
    acc = fragments()[2]
    rocwmma.fill_fragment(acc, 1)
    rocwmma.store_matrix_sync(d, acc, 16)
    rocwmma.store_matrix_sync(d + 256 + wave.blockIdx.x, acc, 16)


def load_before(wave, x, d):
    store_first(d)
    rocwmma.load_matrix_sync(fragments()[0], x - 1, 16)


@pytest.mark.parametrize("value", ["x", (1, 2, 3), [[1], [2]]])
def test_a_fragment_is_filled_with_one_number_or_not_at_all(value):
    def kernel(wave):
        rocwmma.fill_fragment(fragments()[2], value)

    with pytest.raises(mmacalc.Error, match=r"fill_fragment: .* is filled with one number"):
        mmacalc.launch(kernel, 1, 64)


def store_first(d):
    d[0] = 5.0


def lane_load(wave, x, d):
    store_first(d)
    x[wave.lane * 5]


def never_filled(wave, x, d):
    store_first(d)
    a, b, acc = fragments()
    rocwmma.fill_fragment(a, 1)
    rocwmma.fill_fragment(acc, 1)
    rocwmma.mma_sync(acc, a, b, acc)


def element_not_filled(wave, x, d):
    acc = fragments()[2]
    acc.x[0] = 1
    acc.x[0] + acc.x[1]


def element_outside(wave, x, d):
    acc = fragments()[2]
    rocwmma.fill_fragment(acc, 1)
    acc.x[4]


def wrong_context(wave, x, d):
    a, b, acc = fragments()
    for frag in (a, b, acc):
        rocwmma.fill_fragment(frag, 1)
    rocwmma.mma_sync(acc, b, a, acc)


def wrong_block(wave, x, d):
    a, b, acc = fragments()
    c = rocwmma.fragment(rocwmma.accumulator, 16, 16, 32, "f32")
    rocwmma.mma_sync(acc, a, b, c)


def wrong_type(wave, x, d):
    a, _, acc = fragments()
    rocwmma.mma_sync(acc, a, rocwmma.fragment(rocwmma.matrix_b, 16, 16, 16, "half"), acc)


def wrong_pointer(wave, x, d):
    rocwmma.load_matrix_sync(fragments()[0], d, 16)


def no_layout(wave, x, d):
    rocwmma.load_matrix_sync(rocwmma.fragment(rocwmma.matrix_a, 16, 16, 16, "f16"), x, 16)


def two_layouts(wave, x, d):
    rocwmma.load_matrix_sync(fragments()[2], d, 16, rocwmma.mem_row_major)


def run_time_layout_of_an_input(wave, x, d):
    rocwmma.load_matrix_sync(rocwmma.fragment(rocwmma.matrix_a, 16, 16, 16, "f16"), x, 16, rocwmma.mem_row_major)


def lanes_that_disagree(wave, x, d):
    if wave.threadIdx.x < 40:
        store_first(d)


def pointers_that_disagree(wave, x, d):
    rocwmma.load_matrix_sync(fragments()[0], x + wave.threadIdx.x, 16)


def pointer_moved_by_half(wave, x, d):
    x + wave.threadIdx.x / 2


def endless_slice(wave, x, d):
    x[2:]


def slice_of_halves(wave, x, d):
    (x + wave.lane)[0:1.5]


def index_of_another_shape(wave, x, d):
    (x + wave.lane)[np.arange(3)]


def store_of_another_shape(wave, x, d):
    d[wave.lane] = np.zeros(3)


def too_much_lds(wave, x, d):
    wave.shared("big", 40 << 10, np.float16)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (store_beyond, r"workgroup \(0, 0, 0\), wave 0, test_rocwmma_launch.py line \d+: store_matrix_sync: "
         r"d\[511\] of lane 63 is out of bounds: d has 300 elements of float32, 0 to 299; the address is 0x7fc of "
         "0x4b0 bytes"),
        (load_before, r"wave 0, .*: load_matrix_sync: x\[-1\] of lane 0 is out of bounds.*the address is -0x2"),
        (lane_load, r"wave 0, .*: load: x\[315\] of lane 63 is out of bounds: x has 256"),
        (never_filled, r"wave 0, .*: mma_sync: fragment<matrix_b, .*> is used before it is filled"),
        (element_not_filled, r"x\[i\]: fragment<accumulator.*64 of 256 elements"),
        (element_outside, r"x\[4\] is outside fragment<accumulator.*: its elements are x\[0\] to x\[3\]"),
        (wrong_context, r"mma_sync: a is fragment<matrix_b, .*; it takes a fragment of matrix_a"),
        (wrong_block, r"mma_sync: the blocks differ"),
        (wrong_type, r"mma_sync: the types of a and b differ"),
        (wrong_pointer, r"load_matrix_sync: d holds float32, but fragment<matrix_a"),
        (no_layout, r"load_matrix_sync: fragment<matrix_a.*has no layout"),
        (two_layouts, r"a run-time layout is for accumulators without a layout of their own"),
        (run_time_layout_of_an_input, r"a run-time layout is for accumulators"),
        (lanes_that_disagree, r"wave 0, test_rocwmma_launch.py line \d+: a condition is not the same in all lanes "
         r"of the wave; what holds for the whole wave follows from wave.first_threadIdx"),
        (pointers_that_disagree, r"load_matrix_sync: x differs between the lanes of the wave"),
        (pointer_moved_by_half, r"x \+ float64 of shape \(64,\): a pointer moves by a whole number of elements"),
        (endless_slice, r"load: a slice of x needs an end, and whole numbers, as in x\[0:8\]"),
        (slice_of_halves, r"load: a slice of x needs an end, and whole numbers"),
        (index_of_another_shape, r"load: x has a pointer for each of 64 lanes; the index has shape \(3,\)"),
        (store_of_another_shape, r"store: d takes float32 of shape \(64,\), or one number; got shape \(3,\)"),
        (too_much_lds, r"shared\('big'\): 40960 elements of float16 on top of 0 bytes.* 65536 bytes of LDS"),
    ],
)  # fmt: skip
def test_what_a_kernel_does_wrong_stops_the_launch_and_leaves_the_arrays_alone(kernel, message):
    x, d = np.ones(256, np.float16), np.full(300, np.nan, np.float32)
    with pytest.raises(mmacalc.Error, match=message):
        mmacalc.launch(kernel, 2, 192, x, d)
    assert np.isnan(d).all()


def test_what_is_no_error_of_ours_comes_out_as_it_is():
    def kernel(wave, d):
        d[0] = 1.0
        if wave.index == 1:
            raise ZeroDivisionError("mine")
        rocwmma.synchronize_workgroup()

    d = np.zeros(1)
    with pytest.raises(ZeroDivisionError, match="mine"):
        mmacalc.launch(kernel, 1, 128, d)
    assert d[0] == 0


def test_a_read_only_array_is_not_written():
    d = np.zeros(4)
    d.flags.writeable = False

    def kernel(wave, d):
        d[0] = 1.0

    with pytest.raises(mmacalc.Error, match="store: d is read-only"):
        mmacalc.launch(kernel, 1, 64, d)


@pytest.mark.parametrize(
    ("grid", "block", "options", "message"),
    [
        (1, 65, {}, "65 threads; it takes whole waves of 64 on CDNA3"),
        (1, 48, {"arch": "gfx1100"}, "whole waves of 32"),
        (1, (64, 17), {}, "at most 1024 threads"),
        (0, 64, {}, "grid is 0; it takes one to three whole numbers"),
        (1, (1.5, 64), {}, r"block is \(1.5, 64\)"),
        (1, 64, {"arch": "sm_90"}, "not one"),
        (1, 64, {"wave_size": 32}, "has no wave size 32"),
    ],
)
def test_a_launch_that_no_gpu_would_take_is_refused(grid, block, options, message):
    with pytest.raises(mmacalc.Error, match=message):
        mmacalc.launch(lambda wave: None, grid, block, **options)


@pytest.mark.parametrize("arch", ["gfx940", "gfx1150", "gfx1250", "mi100x"])
def test_an_architecture_that_rocwmma_lacks_is_refused(arch):
    with pytest.raises(mmacalc.Error, match=r"Unsupported architecture|unknown architecture"):
        mmacalc.launch(lambda wave: fragments(), 1, 64, arch=arch)


def test_fragments_exist_only_in_kernels():
    for call in (lambda: rocwmma.fragment(rocwmma.matrix_a, 16, 16, 16, "f16"), rocwmma.synchronize_workgroup):
        with pytest.raises(mmacalc.Error, match=r"is for kernels: call it inside a function that mmacalc.launch runs"):
            call()


def test_the_wave_size_is_that_of_the_wave_that_asks():
    found = []
    for arch in ("gfx90a", "gfx1200"):
        mmacalc.launch(lambda wave: found.append(rocwmma.AMDGCN_WAVE_SIZE), 1, 64, arch=arch)
    assert found == [64, 32, 32]
    assert rocwmma.AMDGCN_WAVE_SIZE == 64


# --- reports and progress ---------------------------------------------------------------------------------------


def test_the_report_counts_instructions_cycles_operations_and_bytes():
    def kernel(wave, x):
        a, b, acc = (
            rocwmma.fragment(context, 16, 16, 64, kind, rocwmma.row_major)
            for context, kind in ((rocwmma.matrix_a, "i8"), (rocwmma.matrix_b, "i8"), (rocwmma.accumulator, "i32"))
        )
        rocwmma.load_matrix_sync(a, x, 64)
        rocwmma.load_matrix_sync(b, x, 16)
        rocwmma.fill_fragment(acc, 0)
        rocwmma.mma_sync(acc, a, b, acc)

    x = np.zeros(1024, np.int8)
    report = mmacalc.launch(kernel, 3, 128, x, arch="mi300a")
    assert report.instructions == {"v_mfma_i32_16x16x32_i8": 12}
    assert (report.cycles, report.flops, report.peak_share) == (12 * 16, 12 * 2 * 16 * 16 * 32, 1.0)
    assert report.traffic == (6 * 2048, 0, 0, 0)
    assert report.as_dict()["flops_per_unit_and_cycle"] == 4096
    assert "12 x v_mfma_i32_16x16x32_i8" in str(report)


def test_progress_is_shown_on_a_terminal_once_a_launch_takes_long(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(launch, "DELAY", 0.02)
    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr("sys.stderr", stream)
        mmacalc.launch(lambda wave: time.sleep(0.002), 32, 256)
        assert (" of 32 workgroups" in stream.getvalue()) == shown


# --- races in LDS -----------------------------------------------------------------------------------------------------


def reverse(wave, x, y, first=True, second=True):
    tile, i = wave.shared("tile", 256, np.float32), wave.threadIdx.x
    for part in range(2):
        tile[i] = x[i + 256 * part]
        if first:
            rocwmma.synchronize_workgroup()
        y[i + 256 * part] = tile[255 - i]
        if second:
            rocwmma.synchronize_workgroup()


def test_a_forgotten_synchronize_workgroup_is_found_with_both_lines_and_waves():
    x, y = np.arange(512.0, dtype=np.float32), np.zeros(512, np.float32)
    first_line = reverse.__code__.co_firstlineno
    lines = {f"test_rocwmma_launch.py:{first_line + down}" for down in (3, 6)}  # the write and the read
    for first, second in ((True, True), (True, False), (False, True), (False, False)):
        report = mmacalc.launch(reverse, 2, 256, x, y, first, second)
        found = report.findings
        assert bool(found) == (not (first and second))
        assert all({one.place, one.other_place} == lines for one in found)
        for one in found:
            assert (one.kind, one.workgroup, one.wave + one.other_wave) == ("race", (0, 0, 0), 3)  # in the mirror
            assert one.sentence in str(report)
        assert bool(report.warnings) == (not first)
        assert [one["message"] for one in report.as_dict()["findings"]] == [one.message for one in report.findings]
    assert report.warnings == (
        f"{max(lines)} reads elements of tile in LDS that nothing has written; so in 2 workgroups",
    )


def test_waves_that_read_the_same_elements_do_not_race_until_one_writes_them():
    def kernel(wave, y):
        tile = wave.shared("tile", 64, np.float32)
        if wave.index == 0:
            tile[wave.lane] = 1.0
        rocwmma.synchronize_workgroup()
        y[wave.threadIdx.x] = tile[wave.lane]
        if wave.index == 3:
            tile[np.arange(3)] = 2.0

    y = np.zeros(256, np.float32)
    (found,) = mmacalc.launch(kernel, 1, 256, y).findings
    assert y.all()
    assert "writes tile[0] in LDS, which wave 0 of the workgroup reads" in found.message
    assert found.other_wave == 0


def test_python_kernels_race_where_two_waves_touch_an_element_between_two_barriers_and_one_writes():
    rng, raced = np.random.default_rng(0), 0
    for _ in range(60):
        steps = int(rng.integers(1, 6))
        own = [64 * wave + np.arange(64) for wave in range(4)]
        anywhere = [[rng.integers(0, 256, 8) for _ in range(4)] for _ in range(steps)]
        plan = [[(rng.random() < 0.5, anywhere[step][wave] if rng.random() < 0.1 else own[wave]) for wave in range(4)]
                for step in range(steps)]  # fmt: skip
        barriers = [*(rng.random(steps - 1) < 0.6), True]

        def kernel(wave, plan, barriers):
            tile = wave.shared("tile", 256, np.float32)
            tile[wave.threadIdx.x] = 0
            for step, barrier in zip(plan, [True, *barriers]):
                rocwmma.synchronize_workgroup() if barrier else None
                stores, places = step[wave.index]
                if stores:
                    tile[places] = wave.index + 1.0
                else:
                    tile[places]

        wanted, since = False, []
        for step, barrier in zip(plan, barriers):
            since += [(wave, stores, set(places.tolist())) for wave, (stores, places) in enumerate(step)]
            wanted |= any(a[0] != b[0] and (a[1] or b[1]) and a[2] & b[2] for a in since for b in since)
            since = [] if barrier else since
        report = mmacalc.launch(kernel, 1, 256, plan, barriers)
        assert bool(report.findings) == wanted
        assert report.warnings == ()
        raced += wanted
    assert 10 < raced < 50
