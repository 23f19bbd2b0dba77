"""XCNT of gfx1250: which registers may be overwritten while an access may have to be issued again."""

import re

import numpy as np
import pytest

import mmacalc
from generated_kernels import compiled
from samples import sampled
from test_machine import assembled

SOURCE = """
extern "C" __attribute__((global)) void k(unsigned *out, const unsigned *x) {
    __attribute__((shared)) unsigned tile[32];
    const int thread = __builtin_amdgcn_workitem_id_x();
    tile[thread] = 0;
    asm volatile("s_wait_dscnt 0x0\\n s_wait_xcnt 0x0\\n s_mov_b64 s[42:43], %1\\n s_mov_b64 s[44:45], %1\\n"
                 "s_mov_b64 s[46:47], %2\\n v_mov_b32 v10, %0\\n v_mov_b32 v11, %0\\n v_mov_b32 v14, %3\\n"
                 "; BODY\\n s_wait_loadcnt 0x0\\n s_wait_storecnt 0x0\\n s_wait_kmcnt 0x0\\n s_wait_dscnt 0x0\\n"
                 "s_wait_xcnt 0x0"
                 :: "v"(thread * 4), "s"(x), "s"(out), "v"((__attribute__((address_space(3))) unsigned *)tile)
                 : "v10", "v11", "v12", "v13", "v14", "s40", "s41", "s42", "s43", "s44", "s45", "s46", "s47", "memory");
}"""
LOAD, NEXT, STORE = (
    "global_load_b32 v12, v10, s[44:45]", "global_load_b32 v13, v11, s[44:45]", "global_store_b32 v10, v11, s[46:47]",
)  # fmt: skip
SCALAR, ADDRESS, WAIT = "s_load_b32 s40, s[42:43], 0x0", "v_mov_b32 v10, 0", "s_wait_xcnt 0x0"
CASES = [
    ([LOAD, ADDRESS], "v10"),
    ([LOAD, WAIT, ADDRESS], ""),
    ([LOAD, "s_wait_loadcnt 0x0", ADDRESS], ""),
    ([LOAD, "ds_load_b32 v10, v14"], "v10"),
    ([LOAD, "s_mov_b32 exec_lo, -1"], "exec"),
    ([LOAD, WAIT, "s_mov_b32 exec_lo, -1"], ""),
    ([LOAD, NEXT, "s_wait_xcnt 0x1", ADDRESS], ""),
    ([LOAD, NEXT, "s_wait_xcnt 0x1", "v_mov_b32 v11, 0"], "v11"),
    ([LOAD, NEXT, "s_wait_loadcnt 0x1", ADDRESS], ""),
    ([STORE, "v_mov_b32 v11, 0"], "v11"),  # its data
    ([STORE, WAIT, "v_mov_b32 v11, 0"], ""),
    ([STORE, "s_wait_storecnt 0x0", "v_mov_b32 v11, 0"], ""),
    ([STORE, NEXT, "s_wait_loadcnt 0x0", ADDRESS], ""),  # translated in order
    ([LOAD, "global_load_b32 v10, v11, s[44:45]"], ""),  # as here
    ([LOAD, STORE, "global_load_b32 v10, v14, s[44:45]", "v_mov_b32 v11, 0"], ""),  # the store before it as well
    ([LOAD, "s_barrier_signal -1", "s_barrier_wait -1", ADDRESS], ""),
    ([LOAD, "s_branch 1f", "1:", ADDRESS], ""),
    ([LOAD, "s_set_vgpr_msb 0x0", ADDRESS], ""),
    ([LOAD, "s_getreg_b32 s40, hwreg(HW_REG_WAVE_MODE, 0, 4)", ADDRESS], ""),
    ([LOAD, "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 0, 1), 0", ADDRESS], ""),
    ([SCALAR, "s_mov_b32 s42, 0"], "s42"),
    ([SCALAR, "s_wait_kmcnt 0x0", "s_mov_b32 s42, 0"], ""),
    ([SCALAR, "s_load_b32 s41, s[44:45], 0x0", "s_wait_xcnt 0x1", "s_mov_b32 s42, 0"], "s42"),  # in no order
    ([SCALAR, "s_load_b32 s42, s[44:45], 0x0"], "s42"),
    (["global_load_b32 v12, v10, s[42:43]", "s_load_b32 s40, s[44:45], 0x0", "s_mov_b32 s42, 0"], ""),
]


@pytest.fixture(scope="module")
def listing(tmp_path_factory):
    return compiled(SOURCE, "gfx1250", tmp_path_factory.mktemp("xcnt") / "k.s", None, ["-O2", "-S"]).read_text()


@sampled(("body", "overwritten"), CASES, 8)
def test_what_an_access_reads_is_not_overwritten_before_its_address_is_translated(body, overwritten, listing, tmp_path):
    kernel = assembled(listing.replace("; BODY", "\n".join(body)), "gfx1250", tmp_path)["k"]
    found = mmacalc.launch(kernel, 1, 32, np.zeros(32, np.uint32), np.zeros(32, np.uint32)).findings
    assert [one.kind for one in found] == ["wait"] * bool(overwritten), found
    assert not found or re.match(rf"overwrites {overwritten}\b.* no wait for xcnt before it", found[0].message)
