"""A wrong result is traced to the instruction with which, a little changed, it is right: of both machines."""

from __future__ import annotations

import numpy as np
import pytest

import mmacalc
from hip_kernels import assembled, hip_kernels, hip_listing
from mmacalc.asm.decoder import listing
from mmacalc.kernels.following.machines import AmdMachines
from mmacalc.kernels.launching import launch_observed
from mmacalc.kernels.repairing.slices import Slices
from samples import sampled

HIP = """extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(64, 64)))
void k(const int *x, int *y, int n) {
    static __attribute__((shared)) int tile[130];
    int i = __builtin_amdgcn_workitem_id_x(), v = x[i];
    tile[i + 1] = v; tile[i + 65] = v * 3;
    v += __builtin_amdgcn_update_dpp(0, v, 0x112, 15, 15, 1);
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    int u = __builtin_amdgcn_ds_bpermute((i ^ 5) * 4, v);
    y[i] = i < n ? u - tile[i + 65] : v; }"""
SEEDS = (
    ("row_shr:2", "row_shr:3"), ("offset:260", "offset:264"), ("v_sub_u32_e32", "v_subrev_u32_e32"),
    ("v_cmp_gt_i32_e32", "v_cmp_ge_i32_e32"), ("v_xor_b32_e32 v3, 20,", "v_xor_b32_e32 v3, 24,"),
)  # fmt: skip


@sampled(("right", "wrong"), SEEDS, 2)
def test_an_instruction_of_amd_that_breaks_no_rule_is_named_with_what_makes_the_result_right(right, wrong):
    listing = hip_listing(HIP, "gfx942")
    x, y = np.random.default_rng(0).integers(0, 1000, 64, np.int32), np.zeros(64, np.int32)
    (kernel,) = assembled(listing, "gfx942").values()
    mmacalc.launch(kernel, 1, 64, x, y, 40)
    assert right in listing, listing
    (changed,) = assembled(listing.replace(right, wrong, 1), "gfx942").values()
    left = np.zeros(64, np.int32)
    found = mmacalc.find_repairs(changed, 1, 64, x, left, 40, expected={2: y}, progress=False)
    assert found.report.findings == ()
    assert found.wrong.startswith("argument 2: ")
    line = next(one for one in listing.split("\n") if right in one)
    assert line.split(";")[0].split() in [one.better.split() for one in found.repairs]
    # A store that is off by an element is right, too, where the load goes with it.
    assert len({one.place for one in found.repairs}) == 1 + ("260" in right)
    assert (left != y).any()  # as the wrong kernel leaves it


PTX = """.version 8.0 .target sm_80 .address_size 64
.visible .entry k(.param .u64 x, .param .u64 y) {
.reg .b64 %a<5>; .reg .b32 %r<9>; .reg .pred %p<2>; .shared .align 4 .b8 tile[128];
ld.param.u64 %a1, [x]; ld.param.u64 %a2, [y]; mov.u32 %r1, %tid.x; mul.wide.u32 %a3, %r1, 4;
add.u64 %a1, %a1, %a3; add.u64 %a2, %a2, %a3; ld.global.b32 %r2, [%a1];
mov.u32 %r3, tile; mad.lo.u32 %r3, %r1, 4, %r3; st.shared.b32 [%r3], %r2; bar.warp.sync -1;
shfl.sync.bfly.b32 %r4, %r2, 5, 31, -1;
setp.lt.u32 %p1, %r1, 31;
@%p1 ld.shared.b32 %r2, [%r3+4];
sub.s32 %r5, %r2, %r4;
st.global.b32 [%a2], %r5; ret; }"""


@pytest.mark.parametrize(("right", "wrong", "kind"), [
    ("bfly.b32 %r4, %r2, 5", "bfly.b32 %r4, %r2, 6", "number"), ("setp.lt", "setp.le", "opcode"),
    ("[%r3+4]", "[%r3]", "number"), ("%r5, %r2, %r4", "%r5, %r4, %r2", "order of operands"),
    ("%r4, %r2, 5", "%r4, %r1, 5", "register"),
])  # fmt: skip
def test_a_statement_of_ptx_that_breaks_no_rule_is_named_at_its_line(right, wrong, kind):
    x = np.random.default_rng(0).integers(0, 1000, 32, np.int32)
    y = np.append(x[1:], x[31]) - x[np.arange(32) ^ 5]
    line = next(number for number, text in enumerate(PTX.split("\n"), 1) if right in text)
    found = mmacalc.find_repairs(
        mmacalc.load(PTX.replace(right, wrong))["k"], 1, 32, x, np.zeros(32, np.int32), expected={"y": y}
    )
    assert (f"line {line}", kind) in [(one.place, one.kind) for one in found.repairs]
    whole = mmacalc.find_repairs(mmacalc.load(PTX)["k"], 1, 32, x, np.zeros(32, np.int32), expected={"y": y})
    assert (whole.wrong, whole.tried, whole.words()) == ("", 0, "the result is as expected")


UNROLLED = """extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(64, 64)))
void k(const int *x, int *y, int *z) {
    static __attribute__((shared)) int tile[256];
    int i = __builtin_amdgcn_workitem_id_x(), sum = 0;
    for (int n = 0; n < 4; ++n) tile[64 * n + i] = x[64 * n + i];
    __attribute__((address_space(3))) volatile int *from = (__attribute__((address_space(3))) volatile int *)tile;
    for (int n = 0; n < 2; ++n) sum = sum * 3 + from[64 * n + WRONG + i];
    y[i] = sum;
    z[i] = x[i] ^ 5; }"""


def test_a_mistake_in_a_loop_that_is_unrolled_is_one_change_and_what_right_results_need_alone_is_left_alone():
    x = np.random.default_rng(1).integers(0, 1000, 256, np.int32)
    right, left = np.zeros((2, 64), np.int32), np.zeros((2, 64), np.int32)
    mmacalc.launch(hip_kernels(UNROLLED.replace("WRONG", "64"), "gfx942")["k"], 1, 64, x, *right)
    kernel = hip_kernels(UNROLLED.replace("WRONG", "128"), "gfx942", "-gline-tables-only")["k"]
    found = mmacalc.find_repairs(kernel, 1, 64, x, *left, expected={2: right[0], 3: right[1]}, progress=False)
    (one,) = [one for one in found.repairs if one.kind == "number, the same in 2 instructions"]
    assert one.location.line == 7
    slices = Slices(AmdMachines(kernel))
    launch_observed(kernel, 1, 64, (x, *left), {}, (slices,), False)
    levels = slices.levels([(mine, mine != other) for mine, other in zip(left, right)])
    texts = {kernel.address + 4 * word: text for word, text in listing(kernel.code, kernel.target, 64)}
    assert {level for at, level in levels.items() if texts[at].startswith("ds_read")} == {0}
    assert sorted(at in levels for at, text in texts.items() if text.startswith("global_store")) == [False, True]


def test_what_a_search_for_repairs_does_not_take_is_refused():
    x, kernel = np.zeros(32, np.int32), mmacalc.load(PTX)["k"]
    for expected, given, words in (
        ({3: x}, {}, "expected names argument 3; the kernel has x, y"), ({"y": x[:4]}, {}, "has 32 elements; 4 are"),
        ({}, {}, "expected has no array"), ([x], {}, "expected is a dictionary"),
        ({"y": x}, {"most": 0}, "most is how many launches"), ({"y": x}, {"arguments": bytes(16)}, "one by one"),
    ):  # fmt: skip
        with pytest.raises(mmacalc.Error, match=words):
            mmacalc.find_repairs(kernel, 1, 32, x, x, expected=expected, **given)
