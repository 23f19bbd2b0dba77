"""A correct kernel has no finding, and what is only remarkable is a note; the mistake beside it is still found."""

import re
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import numpy as np
import pytest

import mmacalc
from generated_kernels import compiled
from mmacalc import Error
from mmacalc.kernels.amd import program
from samples import sampled

HEAD = r"""
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define L(n) (((volatile __attribute__((address_space(3))) int *)l)[n])
#define SYNC __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(THREADS, THREADS))) void k(int *o) {
    int i = __builtin_amdgcn_workitem_id_x(), x = 0;
"""


def launched(target, body, tmp_path, threads=64, size=None):
    """The report of a kernel of some statements, and o: o[i] = x is its last."""
    source = HEAD.replace("THREADS", str(threads)) + body + "\n    o[i] = x;\n}"
    kernel = mmacalc.load(compiled(source, target, tmp_path / "k.hsaco"))["k"]
    out = np.full(size or threads, -1, np.int32)
    return mmacalc.launch(kernel, 1, threads, out), out


def kinds(found):
    return [one.kind for one in found]


# --- two waves that write to one byte ---------------------------------------------------------------------------------

WRITES = "__shared__ static int l[32]; L(i % 32) = VALUE; SYNC x = L(i % 32);"


@pytest.mark.parametrize("target", ["gfx942", "gfx1100", "gfx1200"])
def test_waves_that_write_the_same_value_are_a_note_and_other_values_a_race(target, tmp_path):
    for value, wrong in (("5", False), ("i % 32", False), ("i", True), ("i == 70 ? 6 : 5", True)):
        report, _ = launched(target, WRITES.replace("VALUE", value), tmp_path, 128)
        found, other = (report.findings, report.notes) if wrong else (report.notes, report.findings)
        assert kinds(found) == ["race" if wrong else "same value"], (value, report)
        assert wrong or not other
        (one,) = found
        assert re.search(r"wave \d of the workgroup (accesses|writes the same value) without a barrier", one.message)
        assert one.other_text == one.text  # one instruction of two waves


def test_a_race_names_both_instructions_and_the_other_wave(tmp_path):
    body = """__shared__ static int l[256]; L(i) = i; SYNC x = L(255 - i);
        L(i) = 7;"""
    (found,) = launched("gfx942", body, tmp_path, 256)[0].findings
    assert (found.kind, found.text.split()[0], found.other_text.split()[0]) == ("race", "ds_write_b32", "ds_read_b32")
    assert re.match(r"writes byte 0 of LDS, which wave 3 of the workgroup accesses", found.message)


# --- writes to LDS that fly across barriers ---------------------------------------------------------------------------

FLIES = """__shared__ static int l[128];
    asm volatile("s_mov_b32 m0, %1\\n s_nop 0\\n global_load_lds_dword %0, off\\n" LINES
        :: "v"(o + i), "s"(__builtin_amdgcn_readfirstlane(i / 64 * 256)) : "memory"); x = L(READ);"""


@pytest.mark.parametrize(
    ("lines", "read", "wrong"),
    [
        (["s_barrier", "s_waitcnt vmcnt(0)", "s_barrier"], "127 - i", False),  # flies across the first barrier
        (["s_waitcnt vmcnt(0)", "s_barrier"], "127 - i", False),
        (["s_barrier", "s_waitcnt vmcnt(0)"], "127 - i", True),  # the reader waits, and not the wave that loads
        (["s_barrier"], "127 - i", True),
        (["s_barrier", "s_waitcnt vmcnt(0)"], "i", False),  # read by the wave that loaded and waited
        (["s_barrier"], "i", True),
    ],
)
def test_a_load_into_lds_may_fly_across_a_barrier_until_another_wave_reads_it(lines, read, wrong, tmp_path):
    text = " ".join(f'"{line}\\n"' for line in lines)
    report, _ = launched("gfx942", FLIES.replace("LINES", text).replace("READ", read), tmp_path, 128)
    assert kinds(report.findings) == ["wait"] * wrong, report.findings
    for one in report.findings:
        assert (one.text.split()[0], one.other_text.split()[0]) == ("ds_read_b32", "global_load_lds_dword")
        assert "no wait for vmcnt before it" in one.message


# --- barriers ---------------------------------------------------------------------------------------------------------

MEET = 'if (i < 64) asm volatile("BARRIER"); else asm volatile("BARRIER\\n s_nop 0OTHER"); x = i;'


@pytest.mark.parametrize("target", ["gfx942", "gfx1100", "gfx1200"])
def test_waves_that_meet_at_different_barriers_are_a_note_and_another_number_of_them_is_wrong(target, tmp_path):
    barrier = "s_barrier_signal -1\\n s_barrier_wait -1" if target == "gfx1200" else "s_barrier"
    body = MEET.replace("BARRIER", barrier)
    report, out = launched(target, body.replace("OTHER", ""), tmp_path, 128)
    assert (kinds(report.notes), report.findings) == (["barrier"], ())
    assert np.array_equal(out, np.arange(128))
    report, _ = launched(target, body.replace("OTHER", "\\n " + barrier), tmp_path, 128)
    (found,) = report.findings
    assert (found.kind, "this wave 2 times, wave 0 1 times" in found.message) == ("barrier", True)


def test_waves_that_have_signalled_a_barrier_and_do_not_wait_yet_are_at_no_other_barrier(tmp_path):
    body = """if (i < 64) asm volatile("s_barrier_signal -1");
        else asm volatile("s_barrier_signal -1\\n s_barrier_wait -1"); x = i;"""
    report, out = launched("gfx1200", body, tmp_path, 128)
    assert (kinds(report.notes), report.findings) == ([], ())
    assert np.array_equal(out, np.arange(128))


# --- counters are finite ----------------------------------------------------------------------------------------------


@sampled(("target", "holds"), [("gfx942", 15), ("gfx90a", 15), ("gfx1100", 63), ("gfx1200", 63)], 2)
def test_an_access_has_ended_when_its_counter_is_full_of_younger_ones_of_its_order(target, holds, tmp_path):
    read, wait = "ds_read_b32" if target.startswith("gfx9") else "ds_load_b32", "s_waitcnt lgkmcnt(0)"
    wait = "s_wait_dscnt 0" if target == "gfx1200" else wait
    for younger in (holds - 1, holds, holds + 1):
        loads = "".join(f'"{read} v{41 + n}, %1 offset:{4 * n}\\n"' for n in range(younger))
        clobbered = ", ".join(f'"v{40 + n}"' for n in range(younger + 1))
        body = f"""__shared__ static int l[128]; L(i) = i; L(64 + i) = i; SYNC
            asm volatile("{read} v40, %1\\n" {loads} "v_mov_b32 %0, v40\\n {wait}\\n"
                : "=&v"(x) : "v"(0) : {clobbered});"""
        report, _ = launched(target, body, tmp_path, 64 if target.startswith("gfx9") else 32)
        assert kinds(report.findings) == ["wait"] * (younger < holds), (younger, report.findings)


def test_scalar_loads_end_in_any_order_however_many_there_are(tmp_path):
    loads = "".join(f'"s_load_dword s{40 + n}, %1, {4 * n}\\n"' for n in range(20))
    clobbered = ", ".join(f'"s{40 + n}"' for n in range(20))
    body = f'asm volatile({loads} "s_mov_b32 %0, s40\\n s_waitcnt lgkmcnt(0)" : "=s"(x) : "s"(o) : {clobbered});'
    report, _ = launched("gfx942", body, tmp_path)
    assert kinds(report.findings) == ["wait"]


# --- undefined values -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("target", "line", "wrong"), [
    # the old value of the destination counts only where a lane of the source is not read
    ("gfx1100", "v_permlanex16_b32 v40, %1, s4, s5 op_sel:[1,0]", False),
    ("gfx1100", "v_permlanex16_b32 v40, v41, s4, s5 op_sel:[1,0]", True),
    ("gfx1200", "v_permlane16_b32 v40, %1, s4, s5", False),
    ("gfx950", "v_mov_b32 v40, %1\\n s_nop 1\\n v_permlane32_swap_b32 v40, v41", True),
    ("gfx942", "ds_bpermute_b32 v40, %1, %1\\n s_waitcnt lgkmcnt(0)", False),
    ("gfx942", "ds_bpermute_b32 v40, %1, v41\\n s_waitcnt lgkmcnt(0)", True),
    # a half of a packed result follows from the halves that are chosen for it
    ("gfx942", "v_mov_b32 v40, %1\\n v_mov_b32 v41, %1\\n v_pk_fma_f32 v[40:41], v[42:43], v[40:41], v[40:41]", True),
    ("gfx942", "v_mov_b32 v42, %1\\n v_pk_mul_f32 v[40:41], v[42:43], v[42:43] op_sel_hi:[0,0]", False),
    ("gfx942", "v_mov_b32 v42, %1\\n v_pk_mul_f32 v[44:45], v[42:43], v[42:43]\\n v_mov_b32 v40, v44", False),
    ("gfx942", "v_mov_b32 v42, %1\\n v_pk_mul_f32 v[44:45], v[42:43], v[42:43]\\n v_mov_b32 v40, v45", True),
    ("gfx942", "v_and_b32 v42, 0xffff, %1\\n v_pk_add_u16 v40, v42, v42", False),
])  # fmt: skip
def test_what_an_instruction_does_not_read_may_be_undefined(target, line, wrong, tmp_path):
    registers = ", ".join(f'"v{n}"' for n in range(40, 48))
    body = f'asm volatile("s_mov_b32 s4, 0x76543210\\n s_mov_b32 s5, 0xfedcba98\\n {line}\\n v_mov_b32 %0, v40" ' \
           f': "=v"(x) : "v"(i) : "s4", "s5", {registers});'  # fmt: skip
    report, _ = launched(target, body, tmp_path, 64 if target.startswith("gfx9") else 32)
    assert kinds(report.findings) == ["uninitialised"] * wrong, report.findings


def test_an_undefined_value_is_reported_once_and_an_origin_ends_with_its_value(tmp_path):
    body = (
        'asm volatile("v_mov_b32 v41, v40\\n v_mov_b32 %0, v41" : "=v"(x) :: "v40", "v41"); o[64 + i] = o[128 + i] = x;'
    )
    (found,) = launched("gfx942", body, tmp_path, size=192)[0].findings
    assert "it stores v40, which no instruction has written" in found.message


# --- addresses outside of LDS -----------------------------------------------------------------------------------------

OUTSIDE = """__shared__ static int l[64]; L(i) = i; SYNC unsigned at = i % 2 ? WHERE : 4 * i;
    asm volatile("STORE %1, %2\\n WAIT\\n LOAD %0, %1\\n WAIT" : "=&v"(x) : "v"(at), "v"(i + 100) : "memory");
    SYNC o[64 + i] = L(i);"""
WORDS = {"gfx942": ("ds_write_b32", "ds_read_b32", "s_waitcnt lgkmcnt(0)"),
         "gfx1100": ("ds_store_b32", "ds_load_b32", "s_waitcnt lgkmcnt(0)"),
         "gfx1250": ("ds_store_b32", "ds_load_b32", "s_wait_dscnt 0")}  # fmt: skip


@sampled("target", WORDS, 1)
def test_stores_far_outside_of_lds_are_dropped_and_loads_are_zero_and_those_within_reach_stop_the_launch(
    target, tmp_path
):
    body = OUTSIDE
    for name, word in zip(("STORE", "LOAD", "WAIT"), WORDS[target]):
        body = body.replace(name, word)
    threads = 64 if target == "gfx942" else 32
    lane = np.arange(threads)
    for where in ("0x7fffffff", "0x80000000u + 4 * i"):
        report, out = launched(target, body.replace("WHERE", where), tmp_path, threads, 64 + threads)
        assert (report.findings, kinds(report.notes)) == ((), ["outside LDS"] * 2), report
        assert np.array_equal(out[:threads], np.where(lane % 2, 0, lane + 100))
        assert np.array_equal(out[64:], np.where(lane % 2, lane, lane + 100))
    for where in ("256", "1020 + 4 * i", "-4 * i", "253"):
        with pytest.raises(Error, match=r"lane 1, at .* it stores 4 bytes at byte \d+ of LDS, which has 256"):
            launched(target, body.replace("WHERE", where), tmp_path, threads, 64 + threads)


# --- one code, several launches ---------------------------------------------------------------------------------------


def test_threads_that_launch_one_code_count_their_own_instructions_and_a_kernel_loaded_again_is_not_decoded_again(
    tmp_path,
):
    source = HEAD.replace("THREADS", "64") + "for (int n = 0; n < o[i + 64]; n++) x = x * 3 + i;\n o[i] = x; }"
    path = compiled(source, "gfx942", tmp_path / "k.hsaco")

    def counted(turns):
        out = np.full(128, turns, np.int32)
        report = mmacalc.launch(mmacalc.load(path)["k"], 1, 64, out)
        return report.executed, report.mnemonics, out[:64].tolist()

    turns = [5, 40, 300, 7] * 4
    alone = {number: counted(number) for number in {*turns}}
    assert len({executed for executed, _, _ in alone.values()}) == len(alone)
    decoded = mock.patch.object(program, "decode", side_effect=AssertionError)
    with decoded, ThreadPoolExecutor(4) as threads:
        assert list(threads.map(counted, turns)) == [alone[number] for number in turns]
