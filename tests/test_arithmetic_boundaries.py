"""Every parameter of every instruction's arithmetic, on dot products where one more or one less shows.

The record (tests/oracles/boundary_dots.py) was made in rational arithmetic and confirmed by MMA-Sim where it has the
instruction, so a number of the tables that is mistyped is found here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.oracles import boundary_dots
from tests.test_architecture_files import twin_of

import mmacalc
from mmacalc.emulator import dot

RECORD = boundary_dots.read(Path(__file__).parent / "data" / "boundary_dots.txt.gz")
ARCHITECTURES = sorted({arch for arch, _ in RECORD})


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_parameter_of_an_architectures_arithmetic_is_the_recorded_one(arch):
    for (where, name), (case, wanted) in RECORD.items():
        if where == arch:
            found = dot(boundary_dots.named_instruction(arch, name), *case)
            np.testing.assert_array_equal(found.astype(np.float64), wanted, err_msg=name)


WITHOUT = {("amx-dmr", "tdpfp16ps"): "flush_inputs: f16 has no number below 2^-126"}
"""What no input shows, and why."""


def test_every_way_of_computing_has_such_dot_products():
    for inst in boundary_dots.subjects().values():
        stored = inst.k // 2 if inst.sparse else inst.k
        parameters = inst.numerics.parameters
        changes = [name for name, value in parameters.items() if boundary_dots.mutations(name, value, stored)]
        key = inst.arch, boundary_dots.name_of(inst)
        assert not changes or key in RECORD or key in WITHOUT, (inst, changes)


@pytest.mark.parametrize(
    ("arch", "name", "parameter", "other"),
    [
        ("cdna3", "v_mfma_f32_16x16x16_f16", "sum_fraction", 30),
        ("cdna3", "v_mfma_f32_16x16x16_f16", "fraction", 23),
        ("cdna3", "v_mfma_f32_16x16x16_f16", "group", 4),
        ("cdna3", "v_mfma_f32_16x16x32_fp8_fp8", "reach", 24),
        ("cdna2", "v_mfma_f32_16x16x16f16", "flush", False),
        ("cdna2", "v_mfma_f32_16x16x8bf16", "flush", False),
        ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "fraction", 25),
        ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "group", 16),
        ("sm_90a", "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3", "fraction", 14),
    ],
)
def test_a_parameter_one_off_would_be_found(arch, name, parameter, other):
    inst = mmacalc.instruction(arch, name)
    parameters = dict(inst.numerics.parameters)
    assert parameters[parameter] != other
    case, wanted = RECORD[arch, name]
    assert (boundary_dots.computed(inst, case, {**parameters, parameter: other}) != wanted).any()


def test_mxf4_keeps_35_bits_below_the_scales_and_adds_16_products_before_it_cuts():
    """As MMA-Sim 2.1.1 does: a C of -2**34 and a run of +2**34 leave the bits of the other runs that were kept."""
    inst = mmacalc.instruction(
        "sm_120a", "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0"
    )
    a, b = np.zeros((16, 64)), np.zeros((64, 8))
    scale = np.full((16, 4), 127, np.uint8)
    scale[:, 0] = 127 + 34
    b[:] = 0.5
    a[:, 0], b[0] = 1, 1  # 2**34
    a[0, 16], a[0, 32] = 1.5, 0.5  # 0.75 is cut to 0.5, and 0.25 to 0
    a[1, 16] = a[1, 24] = 0.5  # 0.25 + 0.25 before the cut
    d = inst.multiply(a, b, np.full((16, 8), -(2.0**34)), scale_a=scale)
    assert (d[:2, 0].tolist(), d[2:].any()) == ([0.5, 0.5], False)


TWIN = """
import sys
import mmacalc
from mmacalc.diagnosis.inputs import encoded, random
from mmacalc.emulator.execution import execution_of

answers = []
for arch in sys.argv[1:]:
    found = []
    for inst in mmacalc.instructions(arch):
        found += [inst.name, inst.numerics]
        if {"A", "B"} <= set(inst.operands):
            execution = execution_of(inst, None, {}, False, False)
            found.append(inst.multiply_bits(**encoded(execution, random(execution, 7))).tobytes())
    answers.append(found)
assert len(answers[0]) > 60
assert answers[0] == answers[1]
"""


@pytest.mark.parametrize("name", ["cdna4", "rdna4"])
def test_a_copy_of_a_catalog_file_under_another_name_computes_the_same_bits(tmp_path, name):
    (tmp_path / "twin.py").write_text(twin_of(name))
    environment = {**os.environ, "MMACALC_CATALOG": str(tmp_path / "twin.py")}
    done = subprocess.run([sys.executable, "-c", TWIN, name, "twin9"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
