"""The checker of hardware measurements, on documents as the probe would print them."""

import sys
from pathlib import Path

import pytest

import mmacalc

HARDWARE = Path(__file__).parents[1] / "hardware"
sys.path.insert(0, str(HARDWARE))

import check  # noqa: E402
import inputs  # noqa: E402
import make_forms  # noqa: E402

CASES = {
    "sm_90a": (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "wgmma.mma_async.sync.aligned.m64n24k32.s32.s8.u8",
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
        "stmatrix.sync.aligned.m8n8.x2.shared.b16",
        "movmatrix.sync.aligned.m8n8.trans.b16",
    ),
    "sm_120a": (
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
        "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32",
        "ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b6x16_p32",
    ),
}


@pytest.mark.parametrize("target", CASES)
def test_what_the_tables_say_passes_and_any_other_bit_does_not(target):
    document = check.simulated(target, [mmacalc.instruction(target, name) for name in CASES[target]])
    text, layouts = check.report(document)
    assert layouts
    assert "differ" not in text
    for run in document["runs"]:
        key = "memory" if "memory" in run else "d"
        run[key] = f"{int(run[key][0], 16) ^ 1:x}" + run[key][1:]
    text, layouts = check.report(document)
    assert not layouts
    assert text.count("differ") >= len(CASES[target])


def test_exact_inputs_tell_layouts_apart():
    """Swapping two elements of A, as a wrong layout would, changes exact results."""
    inst = mmacalc.instruction("sm_90a", CASES["sm_90a"][0])
    held = check.inputs(inst, "exact", 0)
    right = inst.execute(held["A"], held["B"], held["C"])
    for lane in range(1, 32):
        swapped = held["A"].copy()
        swapped[:, [0, lane]] = swapped[:, [lane, 0]]
        assert (inst.execute(swapped, held["B"], held["C"]) != right).any()


@pytest.mark.parametrize("target", ["sm_75", "sm_90a", "sm_121a"])
def test_the_probe_has_every_instruction_that_has_fragments(target):
    text = make_forms.main(target)
    for inst in mmacalc.instructions(target):
        wanted = "wmma" not in inst.features and ("wgmma" not in inst.features or inst.n in make_forms.WGMMA_N)
        assert (f'{{"{inst.name}","' in text) == wanted
    assert text.count("run_") == text.count('{"')


def test_every_code_of_an_exact_input_is_one_of_its_format():
    for name, (codes, keep, force) in inputs.CODES.items():
        bits = 4 if ":" in name else mmacalc.formats.named(name).bits
        assert len(codes) == 8
        assert max(*codes, keep, force) < 1 << bits
