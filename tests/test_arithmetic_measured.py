"""The emulator against outputs measured on NVIDIA GPUs (Khattak and Mikaitis), through the instructions' own API."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mmacalc
from mmacalc.formats import FORMATS

FOLDER = Path(__file__).parent / "data" / "nvidia_numerics"
TARGETS = {
    "V100": "sm_70", "A100": "sm_80", "A2": "sm_86", "Ada": "sm_89", "L40S": "sm_89", "H100": "sm_90a",
    "H200": "sm_90a", "B200": "sm_100a",
}  # fmt: skip
INPUTS = {"fp16": "f16", "bf16": "bf16", "tf32": "tf32", "E4M3": "e4m3", "E5M2": "e5m2"}


def measured():
    files = sorted(FOLDER.glob("*.npz"))
    assert len(files) == 12
    for path in files:
        with np.load(path) as data:
            for output in sorted(set(data.files) & {"d_fp32", "d_fp16"}):
                yield pytest.param(path, output, id=f"{path.stem}-{output}")


def instruction(gpu, inputs, output, k):
    """The instruction that the outputs come from. Of Hopper's fp8, the f32 results are wgmma's, from C = 0."""
    arch, d = TARGETS[gpu], {"d_fp32": "f32", "d_fp16": "f16"}[output]
    if gpu in ("H100", "H200") and inputs in ("e4m3", "e5m2") and d == "f32":
        return mmacalc.instruction(arch, f"wgmma.mma_async.sync.aligned.m64n8k{k}.f32.{inputs}.{inputs}")
    shape = "m8n8k4" if gpu == "V100" else f"m16n8k{k}"
    return mmacalc.instruction(arch, f"mma.sync.aligned.{shape}.row.col.{d}.{inputs}.{inputs}.{d}")


@pytest.mark.parametrize(("path", "output"), list(measured()))
def test_every_measured_output_is_reproduced_to_the_bit(path, output):
    gpu, inputs = path.stem.split("_")
    with np.load(path) as data:
        a, b, c, d = (data[name].view(np.float32) for name in ("a", "b", "c", output))
    count, k = a.shape
    inst = instruction(gpu, INPUTS[inputs], output, k)
    assert inst.numerics.provenance == ("two sources agree" if gpu == "B200" else "hardware-verified")
    # One dot product an instruction, in row 5 and column 3 of its last block.
    lead = (count, inst.blocks) if inst.blocks > 1 else (count,)
    rows, columns = np.zeros((*lead, inst.m, k), np.float32), np.zeros((*lead, k, inst.n), np.float32)
    start = np.zeros((*lead, inst.m, inst.n), np.float32)
    here = (slice(None), -1) if inst.blocks > 1 else (slice(None),)
    rows[(*here, 5)], columns[(*here, slice(None), 3)] = a, b
    if "wgmma" not in inst.features:
        start[(*here, 5, 3)] = c
    found = inst.multiply(rows, columns, start)[(*here, 5, 3)]
    assert np.isfinite(d).all()
    np.testing.assert_array_equal(found.view(np.uint32), d.view(np.uint32))
    start = 0 if "wgmma" in inst.features else c
    np.testing.assert_array_equal(mmacalc.emulator.dot(inst, a, b, start).view(np.uint32), d.view(np.uint32))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.npz")), ids=lambda path: path.stem)
def test_measured_inputs_are_numbers_of_their_format(path):
    """So that nothing above hides behind a rounding of the inputs."""
    from mmacalc.arithmetic.codecs import decode, encode

    form = FORMATS[INPUTS[path.stem.split("_")[1]]]
    with np.load(path) as data:
        for name in "ab":
            values = data[name].view(np.float32).astype(np.float64)
            np.testing.assert_array_equal(decode(encode(values, form), form), values)
