"""An architecture's file is all that machine code, builtins and wait states know of it: a twin answers alike, and so
does CONTRIBUTING's imaginary architecture."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from llvm_mc import object_for

ROOT = Path(__file__).parents[1]
IMAGINARY = (ROOT / "CONTRIBUTING.md").read_text().partition("```python\n")[2].partition("```")[0]

ANSWERS = """
import random, re, sys
import mmacalc
from asm_texts import random_text
from mmacalc.asm.forms import forms
from mmacalc.asm.objects import read
from mmacalc.asm.targets import target
from mmacalc.compiler.builtins import intrinsics

MOVE = "v_mov_b32 v3, v4"
arch, rng, code = sys.argv[1], random.Random(5), sys.stdin.buffer.read()
for wave in mmacalc.architecture(arch).waves:
    texts = [random_text(form, rng) for form in forms(target(arch, wave)).values()]
    codes = [mmacalc.assemble(text, arch, wave) for text in texts]
    print([code.hex() for code in codes])
    print([mmacalc.disassemble(code, arch, wave) for code in codes])
    for inst in mmacalc.instructions(arch):
        print([tuple(one) for one in intrinsics(inst, wave)])
    if wave == mmacalc.architecture(arch).waves[0]:
        texts = [re.sub("(cbsz|blgp):[567]", "", text) for text in texts]  # LLVM assembles reserved formats
        for text in texts[:40]:
            print(mmacalc.wait_states(text, MOVE, arch), mmacalc.wait_states(MOVE, text, arch))
        print(mmacalc.lint("\\n".join(texts), arch))
print(read(code, "x", arch).sections, mmacalc.disassemble(read(code, "x", arch).sections[0].code, arch))
"""


def run(program, *arguments, catalog, data=b""):
    path = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "MMACALC_CATALOG": str(catalog), "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], env=environment, capture_output=True, input=data, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.mark.parametrize(("name", "built"), [("cdna4", "gfx950"), ("rdna4", "gfx1200")])
def test_a_twin_under_another_name_answers_as_the_original(name, built, tmp_path):
    text = (ROOT / "src/mmacalc/catalog" / f"{name}.py").read_text()
    (tmp_path / "twin.py").write_text(
        text.replace(f'"name": "{name}"', '"name": "twin"').replace('"name": "gfx1170"', '"name": "twin2"')
    )
    code = object_for(built)
    original = run(ANSWERS, name, catalog=tmp_path / "twin.py", data=code)
    assert len(original) > 20_000
    twins = run(ANSWERS, "twin", catalog=tmp_path / "twin.py", data=code)
    assert twins.replace("architecture='twin'", f"architecture='{name}'") == original


def test_the_imaginary_architecture_is_assembled_disassembled_and_waited_on(tmp_path):
    (tmp_path / "dna9.py").write_text(IMAGINARY)
    line = "v_mfma_f32_16x16x64_f16 v[0:3], v[8:15], v[16:23], v[0:3]"
    program = (
        "import sys, json; from mmacalc.cli import answer; print(json.dumps([*map(answer, json.loads(sys.argv[1]))]))"
    )
    (tmp_path / "kernel.s").write_text(f'.amdgcn_target "amdgcn-amd-amdhsa--gfx9999"\n{line}\nv_mov_b32 v9, v1\n')
    assembled = run(
        "import mmacalc, sys; print(mmacalc.assemble(sys.argv[1], 'dna9').hex())", line, catalog=tmp_path / "dna9.py"
    ).strip()
    lines = [
        ["disassemble", "-a", "gfx9999", assembled],
        ["waits", "-a", "dna9", line, "v_mov_b32 v9, v1"],
        ["lint", str(tmp_path / "kernel.s")],
        ["intrinsic", "-a", "dna9", "v_mfma_f32_16x16x64_f16"],
    ]
    decoded, waits, lint, builtin = json.loads(run(program, json.dumps(lines), catalog=tmp_path / "dna9.py"))
    assert decoded == [0, f"{line}\n", ""]
    assert waits[1].startswith("8 wait states (s_nop 7)\n")  # 4 passes
    assert lint[0] == 1
    assert "put s_nop 7 before it" in lint[1]
    assert "__builtin_amdgcn_mfma_f32_16x16x64_f16" in builtin[1]


def test_two_instructions_with_one_encoding_are_refused(tmp_path):
    (tmp_path / "dna9.py").write_text(IMAGINARY.replace("0x7E", "0x58"))  # v_accvgpr_read_b32's
    program = "from mmacalc.cli import answer; print(answer(['disassemble', '-a', 'dna9', '00000000']).err)"
    says = run(program, catalog=tmp_path / "dna9.py")
    assert says.startswith("mmacalc: v_accvgpr_read_b32 and v_mfma_f32_8x8x4_8b_f16 of dna9 have one encoding")


def test_what_an_architecture_does_not_name_is_said(tmp_path):
    record = IMAGINARY.replace('"assembly": "cdna",', "").replace('"hazards": "gfx950",', "")
    assert record != IMAGINARY
    (tmp_path / "dna9.py").write_text(record)
    assembly, hazards = run(
        "from mmacalc.cli import answer\n"
        "for line in (['assemble', '-a', 'dna9', 'x'], ['waits', '-a', 'dna9', 's_nop 0', 's_nop 0']):\n"
        "    print(answer(line).err.strip())",
        catalog=tmp_path / "dna9.py",
    ).splitlines()
    assert assembly == 'mmacalc: the catalog\'s record of DNA9 names no generation of encodings ("assembly")'
    assert hazards.startswith(
        'mmacalc: no wait-state rules for DNA9: its catalog record names none ("hazards"; available: gfx908'
    )
