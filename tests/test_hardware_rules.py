"""The program that measures which rule of arithmetic a GPU follows, and the reader of its results."""

import gzip
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import mmacalc
from mmacalc.emulator.registers import gather

sys.path.insert(0, str(Path(__file__).parents[1] / "hardware"))

import rules

from samples import sampled

FORMS = {
    "gfx950": ("v_mfma_f32_16x16x16_f16", "v_smfmac_f32_16x16x64_bf16", "v_mfma_scale_f32_16x16x128_f8f6f4"),
    "sm_90a": ("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
               "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e4m3.f32"),
}  # fmt: skip


@sampled(("target", "name"), [(target, name) for target, names in FORMS.items() for name in names], 3)
def test_the_reader_finds_the_rule_and_says_where_it_is_another(target, name):
    inst = mmacalc.instruction(target, name)
    text = "\n".join(rules.read([inst], rules.emulated([inst])))
    assert "fits this rule to the bit" in text
    assert "-0; 0 of another sign" in text
    other = "fma_chain" if inst.format("D").bits == 32 else "aligned_truncated"
    given = {} if other == "fma_chain" else {"group": 4, "fraction": 10, "lowest": -20}
    results = b"".join(
        np.ascontiguousarray(rules.by_rule(inst, other, given, codes)).tobytes() for codes in rules.cases(inst)
    )
    text = "\n".join(rules.read([inst], results))
    assert ("ANOTHER RULE to the bit; rules that fit: fma_chain" if given == {} else "NO RULE FITS") in text


MEASURED = (
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32",
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
)


def measured_program():
    """The instructions, and the source that data/ptx/rules.ptx.gz was made of, by nvcc 13.0.

    `python -m tests.test_hardware_rules` writes it as rules.cu; then
    `nvcc -gencode arch=compute_120a,code=compute_120a -std=c++17 -O1 -ptx rules.cu`.
    """
    source, _, kept, _ = rules.program([mmacalc.instruction("sm_120a", name) for name in MEASURED])
    return kept, source


def test_kernels_read_the_inputs_where_the_program_puts_them():
    """The kernels of the program, on the emulator."""
    instructions, source = measured_program()
    kernels = mmacalc.load(gzip.decompress((Path(__file__).parent / "data/ptx/rules.ptx.gz").read_bytes()).decode())
    calls = re.findall(r"form_\d+::(\w+)<<<1, (\d+)>>>\((.*)\);", source)
    assert len(calls) == len(MEASURED)
    for inst, (name, threads, arguments) in zip(instructions, calls):
        codes = rules.cases(inst)[0]
        memory = {key: np.frombuffer(rules.memory_image(inst, key, code), np.uint8) for key, code in codes.items()}
        expected = rules.by_rule(inst, inst.numerics.model, inst.numerics.parameters, codes)
        memory["D"] = np.zeros(expected.nbytes, np.uint8)
        words = re.findall(r"memory\[(\d)\]|, (\d+)", arguments)
        given = [memory[rules.PLACES[int(at)]] if at else np.int32(number) for at, number in words]
        report = mmacalc.launch(kernels[name], 1, int(threads), *given)
        assert report.findings == ()
        assert (memory["D"].view(expected.dtype) == expected.ravel()).all(), inst.name


@pytest.mark.parametrize("shape", ["m16n8k8", "m16n8k16"])
def test_metadata_of_one_value_of_two_is_written_as_the_instruction_reads_it(shape):
    """The word that the program reads, in the registers of every lane; A, B and C as `multiply_bits` takes them."""
    inst = mmacalc.instruction("sm_90a", f"mma.sp.sync.aligned.{shape}.row.col.f32.tf32.tf32.f32")
    execution = rules.execution_of(inst)
    for kind in ("near", "wide"):
        codes = rules.codes_of(inst, kind, 0)
        assert set(np.unique(codes["K"])) == {0, 1}
        files = {}
        for name, values in codes.items():
            place = execution.places(name)
            words = np.frombuffer(rules.memory_image(inst, name, values), np.uint32)
            files[name] = words.reshape(place.lanes, -1).T.copy() if name == "K" else None
            if name != "K":
                files[name] = np.zeros((place.registers, place.lanes), np.uint32)
                rules.scatter(files[name], values, place)
        d = inst.execute(files["A"], files["B"], files["C"], index=files["K"])
        found = gather(d, execution.places("D"))
        wanted = rules.by_rule(inst, inst.numerics.model, inst.numerics.parameters, codes)
        np.testing.assert_array_equal(found, wanted)
    source, _, kept, left_out = rules.program([inst])
    assert (kept, left_out, inst.name in source) == ([inst], [], True)


def test_results_of_another_version_or_target_are_refused():
    inst = mmacalc.instruction("gfx950", FORMS["gfx950"][0])
    results = rules.emulated([inst])
    with pytest.raises(SystemExit, match="end within"):
        list(rules.read([inst], results[:-1]))
    with pytest.raises(SystemExit, match="too many"):
        list(rules.read([inst], results + b"0"))


if __name__ == "__main__":
    Path("rules.cu").write_text(measured_program()[1])
