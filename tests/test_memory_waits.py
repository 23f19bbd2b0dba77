"""Missing waits for memory: clang's code has none; a wait that is taken away is missing, as it is on the emulator."""

from __future__ import annotations

import random
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mmacalc
import random_programs
from compiled_kernels import LEVELS
from generated_kernels import compiled
from mmacalc.asm.decoder import decode, text
from mmacalc.hazards.memory_counters import MOST, waits_of
from mmacalc.kernels.amd.counters import Counters
from samples import sampled

KERNELS = Path(__file__).parent / "data/kernels"
TARGETS = ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1200", "gfx1250")
TYPES = random_programs.INTEGERS + random_programs.FLOATS


def waits(listing, target):
    return mmacalc.lint(listing, target).of_kind("wait")


def lines_of(listing, target):
    """The line of each finding, that of the access, and what to put before the line."""
    return [(one.line, one.first_line, *one.nops) for one in waits(listing, target)]


# --- the rules --------------------------------------------------------------------------------------------------------


def test_a_register_is_not_touched_before_its_load_is_waited_for():
    read = "v_add_f32 v3, v0, v0\ns_endpgm"
    load = "global_load_dword v0, v[8:9], off"
    assert lines_of(f"{load}\n{read}", "gfx942") == [(2, 1, "s_waitcnt vmcnt(0)")]
    assert lines_of(f"{load}\ns_waitcnt vmcnt(0)\n{read}", "gfx942") == []
    assert lines_of(f"{load}\nv_mov_b32 v0, 1", "gfx942") == [(2, 1, "s_waitcnt vmcnt(0)")]
    two = f"{load}\nglobal_load_dword v1, v[8:9], off\ns_waitcnt vmcnt(1)\n{read}"
    assert lines_of(two, "gfx942") == []
    assert lines_of(two.replace("vmcnt(1)", "vmcnt(2)"), "gfx942") == [(4, 1, "s_waitcnt vmcnt(1)")]
    assert lines_of(f"{load}\n{load}\ns_waitcnt vmcnt(0)\n{read}", "gfx942") == []  # loads write in order
    assert lines_of("ds_read_b32 v0, v1\nglobal_load_dword v0, v[8:9], off\n", "gfx942") == [
        (2, 1, "s_waitcnt lgkmcnt(0)")
    ]


@pytest.mark.parametrize(
    ("target", "access", "use", "wait"),
    [
        ("gfx942", "s_load_dwordx2 s[0:1], s[4:5], 0x0", "s_add_u32 s2, s1, s3", "s_waitcnt lgkmcnt(0)"),
        ("gfx942", "s_load_dwordx2 vcc, s[4:5], 0x0", "v_cndmask_b32_e32 v0, v1, v2, vcc", "s_waitcnt lgkmcnt(0)"),
        ("gfx942", "flat_load_dword v0, v[2:3]", "v_mov_b32 v1, v0", "s_waitcnt vmcnt(0) lgkmcnt(0)"),
        ("gfx942", "global_atomic_add v0, v[2:3], v4, off sc0", "v_mov_b32 v1, v0", "s_waitcnt vmcnt(0)"),
        ("gfx90a", "global_load_dword a0, v[2:3], off", "v_accvgpr_read_b32 v1, a0", "s_waitcnt vmcnt(0)"),
        ("gfx90a", "ds_read_b128 v[0:3], v9", "v_mfma_f32_32x32x4bf16_1k a[0:31], v[2:3], v[4:5], a[0:31]",
         "s_waitcnt lgkmcnt(0)"),
        ("gfx90a", "exp mrt0 v0, v1, v2, v3", "v_mov_b32 v2, 0", "s_waitcnt expcnt(0)"),
        ("gfx1100", "lds_direct_load v0", "v_mov_b32 v1, v0", "s_waitcnt expcnt(0)"),
        ("gfx1100", "s_sendmsg_rtn_b32 s0, sendmsg(MSG_RTN_GET_DOORBELL)", "s_mov_b32 s1, s0", "s_waitcnt lgkmcnt(0)"),
        ("gfx1100", "global_atomic_add_u32 v0, v[2:3], v4, off glc", "v_mov_b32 v1, v0", "s_waitcnt vmcnt(0)"),
        ("gfx1200", "ds_load_b32 v0, v2", "v_mov_b32 v1, v0", "s_wait_dscnt 0x0"),
        ("gfx1200", "s_load_b64 s[0:1], s[4:5], 0x0", "s_mov_b32 s2, s1", "s_wait_kmcnt 0x0"),
        ("gfx1200", "image_sample v[0:3], [v4, v5], s[0:7], s[8:11] dmask:0xf dim:SQ_RSRC_IMG_2D", "v_mov_b32 v1, v0",
         "s_wait_samplecnt 0x0"),
        ("gfx1250", "global_load_b32 v0, v4, s[8:9]", "v_mov_b32 v4, 0", "s_wait_xcnt 0x0"),
    ],
)  # fmt: skip
def test_every_kind_of_access_has_its_counter(target, access, use, wait):
    assert lines_of(f"{access}\n{use}", target) == [(2, 1, wait)]
    assert lines_of(f"{access}\n{wait}\n{use}", target) == []
    if target.startswith("gfx12"):
        assert lines_of(f"{access}\ns_wait_idle\n{use}", target) == []


def test_scalar_loads_end_in_any_order_and_lds_accesses_among_them_in_theirs():
    scalar, local = "s_load_dword s0, s[4:5], 0x0", "ds_read_b32 v{0}, v9"
    text = f"{scalar}\n{scalar.replace('s0', 's1')}\ns_waitcnt lgkmcnt(1)\ns_mov_b32 s2, s0"
    assert lines_of(text, "gfx942") == [(4, 1, "s_waitcnt lgkmcnt(0)")]
    mixed = "\n".join([local.format(0), scalar, local.format(1), "s_waitcnt lgkmcnt(1)", "v_mov_b32 v2, v0"])
    assert lines_of(mixed, "gfx942") == []
    assert lines_of(f"{mixed}\ns_mov_b32 s2, s0", "gfx942") == [(6, 2, "s_waitcnt lgkmcnt(0)")]


def test_an_access_has_ended_when_its_counter_was_full():
    """LGKMCNT of gfx9 holds 15, that of gfx11 63; scalar loads, which end in any order, fill it without effect."""
    loads = [f"ds_read_b32 v{number}, v100" for number in range(16)]
    text = "\n".join([*loads, "v_mov_b32 v99, v0"])
    assert lines_of(text, "gfx942") == []
    assert lines_of("\n".join([*loads[:-1], "v_mov_b32 v99, v0"]), "gfx942") == [(16, 1, "s_waitcnt lgkmcnt(14)")]
    assert len(lines_of(text, "gfx1100")) == 1
    scalars = [f"s_load_dword s{number}, s[40:41], 0x0" for number in range(20)]
    assert len(lines_of("\n".join([loads[0], *scalars, "v_mov_b32 v99, v0"]), "gfx942")) == 1


def test_the_worst_of_all_paths_counts():
    text = """
    s_cbranch_scc1 other
    global_load_dword v0, v[8:9], off
    global_load_dword v1, v[8:9], off
    s_branch join
    other: global_load_dword v0, v[8:9], off
    join: s_waitcnt vmcnt(1)
    v_mov_b32 v2, v0
    loop: v_mov_b32 v3, v4
    ds_read_b32 v4, v5
    s_cbranch_scc0 loop
    s_endpgm"""
    assert lines_of(text, "gfx942") == [(8, 6, "s_waitcnt vmcnt(0)"), (9, 10, "s_waitcnt lgkmcnt(0)")]
    assert lines_of("ds_read_b32 v4, v5\ns_swappc_b64 s[30:31], s[4:5]\nv_mov_b32 v0, v4", "gfx942") == []


def test_each_of_several_loads_that_do_the_same_is_named_with_its_own_age():
    text = """
    s_cbranch_scc1 other
    global_load_dword v0, v[8:9], off
    s_branch join
    other: global_load_dword v0, v[8:9], off
    global_load_dword v1, v[8:9], off
    join: v_mov_b32 v2, v0
    global_load_dword v0, v[8:9], off
    s_waitcnt vmcnt(0)
    v_mov_b32 v2, v0
    s_endpgm"""
    assert lines_of(text, "gfx942") == [(7, 3, "s_waitcnt vmcnt(0)"), (7, 5, "s_waitcnt vmcnt(1)")]
    separate = text.replace("other: global_load_dword v0", "other: global_load_dword v3")
    assert lines_of(separate, "gfx942") == [(7, 3, "s_waitcnt vmcnt(0)")]


def test_a_listing_with_too_many_paths_is_not_called_clean():
    chance = random.Random(1)
    lines = []
    for block in range(150):
        lines += [f"L{block}:", *[f"s_load_dword s{chance.randrange(90)}, s[100:101], 0x0" for _ in range(8)]]
        lines.append(f"s_cbranch_scc1 L{chance.randrange(150)}")
    start = time.process_time()
    report = mmacalc.lint("\n".join(lines), "gfx942")
    assert time.process_time() - start < 5
    assert report.of_kind("wait") or any("waits for memory" in clause for clause in report.unchecked)


def test_the_emulator_ends_lds_accesses_among_scalar_loads_in_their_order_too():
    counters, group = Counters(1, "gfx9"), SimpleNamespace(rows=np.array([0]), count=1)
    for number, kind in enumerate(("lds", "scalar", "lds")):
        counters.issue(group, 4 * number, kind, frozenset({number}))
    counters.wait(group, waits_of("s_waitcnt", 0xC17F, "gfx9"))  # lgkmcnt(1)
    assert counters.busy.keys() == {1, 2}
    counters.wait(group, waits_of("s_waitcnt", 0xC07F, "gfx9"))
    assert not counters.busy


# --- LLVM and the emulator --------------------------------------------------------------------------------------------


@sampled("target", TARGETS, 3, first=1)
def test_code_of_clang_has_no_missing_wait(target, tmp_path):
    programs = random_programs.HEADER + "".join(random_programs.kernel(f"k{seed}", seed, TYPES, 3) for seed in range(2))
    for number, source in enumerate([programs, (KERNELS / "attention.hip").read_text()]):
        path = compiled(source, target, tmp_path / f"{number}.s", None, [f"-O{LEVELS[target]}", "-S"])
        assert waits(path.read_text(), target) == (), number


def mutants(kernel, data):
    """The object with one wait after another taken away or, of each of its counters, raised by one."""
    generation = next(name for name in MOST if kernel.target.startswith(name))
    start = data.index(kernel.code)
    for one in decode(kernel.code, kernel.target, kernel.address, kernel.wavefront_size):
        if not one.name.startswith("s_wait") or one.name in ("s_wait_alu", "s_waitcnt_depctr"):
            continue
        at = start + one.address - kernel.address
        word = int.from_bytes(data[at : at + 4], "little")
        fields = {"gfx9": ((0, 15), (8, 15)), "gfx11": ((4, 63), (10, 63)), "gfx12": ((0, 63),)}[generation]
        if one.name != "s_waitcnt":
            fields = ((0, 63), (8, 63)) if one.name.endswith("cnt_dscnt") else ((0, 63),)
        raised = [word + (1 << low) for low, most in fields if word >> low & most < most]
        for changed in (0xBF800000, *raised):
            yield data[:at] + changed.to_bytes(4, "little") + data[at + 4 :]


def listing(kernel):
    decoded = decode(kernel.code, kernel.target, kernel.address, kernel.wavefront_size)
    return "\n".join(f"{text(one)} // {one.address:012X}: {'00000000 ' * (one.size // 4)}" for one in decoded)


def attention(kernel):
    rng = np.random.default_rng(0)
    q, k = (rng.standard_normal(shape).astype(np.float16) for shape in ((8, 16), (64, 16)))
    v, out = rng.standard_normal((64, 16)).astype(np.float32), np.zeros((8, 16), np.float32)
    return mmacalc.launch(kernel, 4, 2 * kernel.wavefront_size, q, k, v, out, 64)


def arithmetic(kernel):
    given, got = np.random.default_rng(1).integers(0, 1 << 32, (128, 64), np.uint32), np.zeros((128, 16), np.uint32)
    return mmacalc.launch(kernel, 1, 128, 128, given, got)


def compared(target, folder, source, run, most):
    """Of some mutants of a kernel, which itself has no missing wait: in how many the emulator has findings of
    registers, and its findings in those in which lint has none."""
    path = compiled(source, target, folder / f"{target}.hsaco")
    data = path.read_bytes()
    whole = mmacalc.load(path)[run.__name__]
    assert waits(listing(whole), target) == ()
    every = list(mutants(whole, data))
    reported, missed = 0, []
    for changed in random.Random(target).sample(every, min(most, len(every))):
        path.write_bytes(changed)
        kernel = mmacalc.load(path)[run.__name__]
        found = [one for one in run(kernel).findings if one.kind == "wait" and "LDS" not in one.message]
        reported += bool(found)
        if found and not waits(listing(kernel), target):
            missed.append(found[0])
    return reported, missed


@sampled("target", TARGETS, 2)
def test_a_wait_that_is_missing_on_the_emulator_is_missing_in_lint(target, tmp_path):
    """All mutants of these kernels were tried: lint reports all of the 586 that the emulator does."""
    source = (KERNELS / "attention.hip").read_text() + random_programs.HEADER
    source += random_programs.kernel("arithmetic", 5, TYPES, 3)
    for run, most in ((attention, 5), (arithmetic, 4)):
        reported, missed = compared(target, tmp_path, source, run, most)
        assert reported >= most // 2
        assert missed == []


COPY = "tensor_load_to_lds s[0:3], s[4:11]"
LOAD = "global_load_async_to_lds_b32 v1, v[2:3], off"
READ = "s_barrier_signal -1\ns_barrier_wait -1\nds_load_b32 v4, v5\ns_wait_dscnt 0x0"
POLL = ".L:\nds_load_b32 v4, v5\ns_wait_dscnt 0x0\nv_cmp_eq_u32 vcc_lo, v4, v6\ns_cbranch_vccz .L"


@pytest.mark.parametrize(("lines", "expected"), [
    (f"{COPY}\n{READ}", [(4, 1, "s_wait_tensorcnt 0x0")]),
    (f"{COPY}\ns_wait_tensorcnt 0x0\n{READ}", []),
    (f"{LOAD}\ns_wait_tensorcnt 0x0\n{READ}", [(5, 1, "s_wait_asynccnt 0x0")]),
    (f"{LOAD}\ns_wait_idle\n{READ}", []),
    (f"{COPY}\ns_cbranch_scc0 .L\n{READ}\n.L:\ns_wait_tensorcnt 0x0", []),  # it may be another buffer that is read
    (f".L:\n{COPY}\ns_cbranch_scc0 .L\n{READ}", [(6, 2, "s_wait_tensorcnt 0x0")]),
    (f"{READ}\n{COPY}", []),
    (f"{COPY}\ns_swap_pc_i64 s[30:31], s[28:29]\n{READ}", []),
    (f"tensor_store_from_lds s[0:3], s[4:11]\n{READ}", []),
    (f"{COPY}\n{POLL}\n{READ}", []),  # the descriptor may name a barrier in LDS, which the loop polls
    (f"{LOAD}\nds_atomic_async_barrier_arrive_b64 v5\n{READ}", []),
    (f"{COPY}\nds_atomic_async_barrier_arrive_b64 v5\n{READ}", [(5, 1, "s_wait_tensorcnt 0x0")]),
])  # fmt: skip
def test_a_copy_into_lds_that_nothing_waits_for_is_named_where_lds_is_read_first(lines, expected):
    found = mmacalc.lint(f"{lines}\ns_endpgm", "gfx1250").findings
    assert [(one.line, one.first_line, *one.nops) for one in found] == expected
