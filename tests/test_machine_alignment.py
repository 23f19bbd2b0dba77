"""Misaligned accesses of compiled kernels, bytes of LDS that nothing reads, and pointers that lie in structures."""

import subprocess

import numpy as np
import pytest

import mmacalc
from generated_kernels import compiled
from llvm_mc import tool
from mmacalc import Error

TARGETS = ["gfx90a", "gfx942", "gfx1100", "gfx1201", "gfx1250"]
HEAD = """
#define KERNEL extern "C" __attribute__((global)) void
#define LDS __attribute__((shared))
#define ID __builtin_amdgcn_workitem_id_x()
#define ADD(where) __hip_atomic_fetch_add(where, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define MEET __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); \\
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup")
typedef float four __attribute__((ext_vector_type(4)));
"""
ATOMICS = f"""{HEAD}
KERNEL local(unsigned *out, unsigned by) {{
    LDS unsigned place[256];
    place[ID] = 0;
    MEET;
    unsigned *where = (unsigned *)((char *)&place[ID] + by);
    ADD(where);
    MEET;
    out[ID] = place[ID];
}}
KERNEL global(unsigned *out, unsigned by) {{
    unsigned *where = (unsigned *)((char *)&out[ID] + by);
    ADD(where);
}}
"""
WIDE = f"""{HEAD}
KERNEL wide(four *out, unsigned by) {{
    LDS char place[2048];
    for (int at = ID; at < 512; at += 64) ((LDS volatile float *)place)[at] = at;
    MEET;
    four found;
    unsigned where = (unsigned)(unsigned long)(LDS char *)place + 16 * ID + by;
    asm volatile("ds_read_b128 %0, %1\\ns_waitcnt lgkmcnt(0)" : "=v"(found) : "v"(where));
    out[ID] = found;
}}
"""
SCALAR = f"""{HEAD}
KERNEL scalar(unsigned *in, unsigned *out) {{
    unsigned found;
    asm volatile("s_load_dword %0, %1, 6\\ns_waitcnt lgkmcnt(0)" : "=s"(found) : "s"(in));
    out[ID] = found;
}}
"""
UNREAD = f"""{HEAD}
KERNEL unread(float *out) {{
    LDS volatile float kept[64], lost[64];
    kept[ID] = ID;
    lost[ID] = 2 * ID;  // never read
    MEET;
    out[ID] = kept[63 - ID] + (out[64] > 1e30f ? lost[ID] : 0);  // nothing writes out[64]
}}
"""
POINTERS = """
typedef struct { const float *from; float *into[2]; int size; } Task;
KERNEL follow(Task one, Task **many) {
    int t = WHO;
    if (t < one.size) one.into[0][t] = 2 * one.from[t];
    if (t < many[1]->size) many[1]->into[1][t] = 3 * many[1]->from[t];
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_a_misaligned_atomic_operation_stops_the_launch_with_its_lane_and_address(target, tmp_path):
    kernels = mmacalc.load(compiled(ATOMICS, target, tmp_path / "k.hsaco"))
    for name in ("local", "global"):
        out = np.zeros(65, np.uint32)
        assert mmacalc.launch(kernels[name], 1, 64, out, 0).findings == ()
        before = out.copy()
        with pytest.raises(Error, match=r"lane 0, at .*misaligned: an atomic operation of 4 bytes at 0x\w+ of \w+"):
            mmacalc.launch(kernels[name], 1, 64, out, 2)
        assert np.array_equal(out, before)


def test_a_wide_load_of_lds_at_any_byte_has_its_bytes_and_a_note_where_only_rocms_mode_allows_it(tmp_path):
    kernel = mmacalc.load(compiled(WIDE, "gfx942", tmp_path / "k.hsaco"))["wide"]
    for by in (0, 16, 8, 4, 2):
        out = np.zeros((64, 4), np.float32)
        report = mmacalc.launch(kernel, 1, 64, out, by)
        content = np.arange(512, dtype=np.float32).tobytes()
        expected = np.stack([np.frombuffer(content[16 * n + by :][:16], np.float32) for n in range(64)])
        assert np.array_equal(out, expected)
        assert report.findings == ()
        noted = [note for note in report.notes if note.kind == "misaligned"]
        assert [note.text.split()[0] for note in noted] == (["ds_read_b128"] if by % 16 else [])


def test_a_transposing_load_of_gfx1250_that_then_does_not_transpose_is_found(tmp_path):
    text = WIDE.replace("ds_read_b128", "ds_load_tr16_b128").replace("s_waitcnt lgkmcnt(0)", "s_wait_dscnt 0x0")
    kernel = mmacalc.load(compiled(text, "gfx1250", tmp_path / "k.hsaco"))["wide"]
    for by, kinds in ((0, []), (8, ["misaligned"])):
        report = mmacalc.launch(kernel, 1, 64, np.zeros((64, 4), np.float32), by)
        assert [found.kind for found in report.findings] == kinds


def test_a_scalar_load_between_words_is_found_with_the_address_that_the_hardware_takes(tmp_path):
    kernel = mmacalc.load(compiled(SCALAR, "gfx942", tmp_path / "k.hsaco"))["scalar"]
    values, out = np.arange(4, dtype=np.uint32), np.zeros(64, np.uint32)
    (found,) = mmacalc.launch(kernel, 1, 64, values, out).findings
    assert (found.kind, found.text.split()[0]) == ("misaligned", "s_load_dword")
    assert set(out.tolist()) == {1}


@pytest.mark.parametrize("target", TARGETS)
def test_bytes_of_lds_that_nothing_reads_are_one_note_with_the_line_that_writes_them(target, tmp_path):
    path = compiled(UNREAD, target, tmp_path / "k.hsaco", options=("-O1", "-g"))
    report = mmacalc.launch(mmacalc.load(path)["unread"], 3, 64, np.zeros(65, np.float32))
    (note,) = [note for note in report.notes if note.kind == "never read"]
    assert report.findings == ()
    assert "256 bytes of LDS that nothing reads" in note.message
    assert UNREAD.splitlines()[note.location.line - 1].strip().startswith("lost[ID] =")


def cuda(source, path):
    """C for NVPTX as PTX."""
    done = subprocess.run(
        [tool("clang"), "-x", "c", "--target=nvptx64-nvidia-cuda", "-march=sm_80", "-O2", "-w", "-S", "-o", path, "-"],
        input=source, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[:2000]
    return path


@pytest.mark.parametrize("vendor", ["amd", "nvidia"])
def test_structures_that_hold_pointers_and_arrays_of_their_addresses_are_followed_for_both_vendors(vendor, tmp_path):
    if vendor == "amd":
        head = HEAD.replace("four", "unused") + "#define WHO ID\n"
        path = compiled(head + POINTERS, "gfx942", tmp_path / "k.hsaco")
    else:
        head = "#define KERNEL __attribute__((nvptx_kernel)) void\n#define WHO __nvvm_read_ptx_sreg_tid_x()\n"
        path = cuda(head + POINTERS, tmp_path / "k.ptx")
    task = np.dtype([("from", "u8"), ("into", "u8", 2), ("size", "i4"), ("", "i4")])
    x, y = np.arange(64, dtype=np.float32), np.zeros((4, 64), np.float32)
    tasks = np.zeros(2, task)
    for number in range(2):
        tasks[number] = (mmacalc.address_of(x), [mmacalc.address_of(row) for row in y[2 * number :][:2]], 40, 0)
    many = np.array([mmacalc.address_of(tasks[number:]) for number in range(2)], np.uint64)
    report = mmacalc.launch(mmacalc.load(path)["follow"], 1, 64, tasks[0], many)
    assert report.findings == ()
    inside = np.arange(64) < 40
    assert np.array_equal(y, np.stack([np.where(inside, 2 * x, 0), 0 * x, 0 * x, np.where(inside, 3 * x, 0)]))
    tasks["from"] = mmacalc.address_of(x[32:])
    with pytest.raises(Error, match="address_of"):
        mmacalc.launch(mmacalc.load(path)["follow"], 1, 64, tasks[0], many)
