"""An architecture's file is all that the program knows of it: a byte-for-byte copy under another name answers alike,
and CONTRIBUTING's imaginary architecture is answered for everywhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import mmacalc
from llvm_mc import object_for
from samples import sampled

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

COMMANDS = """
import json, sys
import mmacalc
from mmacalc.cli import answer

arch = sys.argv[1]
insts = mmacalc.instructions(arch)
lines = [["-a", arch, "-L"], ["find", "-a", arch, "--m", "16"], ["numerics", "-a", arch],
         ["estimate", "-a", arch, "--gemm", "512x256x256", "--type", "f16"], ["transpose-loads", "-a", arch]]
lines += [["-a", arch, "-i", inst.name, "-d"] for inst in insts]
for inst in {(i.sparse, i.block_size, i.blocks > 1, i.formats["A"]): i for i in insts}.values():
    base = ["-a", arch, "-i", inst.name]
    lines += [[*base, f"-{name}", "-g", "-K", "3"] for name in "AB"]
    lines += [[*base, "-A", "-M"], [*base, "-D", "-R"], [*base, "-D", "-g", "-o"], [*base, "-A", "--pattern"]]
    lines += [["numerics", *base], ["intrinsic", "-a", arch, inst.name], ["chain", "-a", arch, inst.name, inst.name],
              ["memory", *base, "-A", "--ld", "128"], ["draw", *base, "-A"], ["generate", *base],
              ["run", *base, "--random", "1"]]
for line in lines:
    for more in ([], ["--json"]):
        print(line[1:], *answer([*line, *more]), sep="\\n")
for inst in insts:
    for wave in mmacalc.architecture(arch).waves:
        print([inst.operand(name, wave).layout.pattern for name in inst.register_operands])
"""

KERNELS = """
import sys
import numpy as np
import mmacalc
from mmacalc import intrinsics, rocwmma

def kernel(wave, kind, block_k, a, b, d):
    wave.shared("most", wave.architecture.lds_bytes, np.uint8)
    shape = (16, 16, block_k)
    frag = [rocwmma.fragment(c, *shape, t, rocwmma.row_major)
            for c, t in zip(("matrix_a", "matrix_b", "accumulator"), (kind, kind, "f32"))]
    rocwmma.load_matrix_sync(frag[0], a, block_k)
    rocwmma.load_matrix_sync(frag[1], b, 16)
    rocwmma.fill_fragment(frag[2], 1)
    rocwmma.mma_sync(frag[2], frag[0], frag[1], frag[2])
    rocwmma.store_matrix_sync(d, frag[2], 16)

arch = sys.argv[1]
record = mmacalc.architecture(arch)
supported = rocwmma.supported(arch)
print(supported, rocwmma.wave_size(arch), record.lds_bytes)
for row in {row.input: row for row in supported if row.compute == "f32" and row.block_m == 16}.values():
    rng, k = np.random.default_rng(3), 2 * row.minimal_k
    types = mmacalc.rocwmma.types
    dtype = types.dtype_of(types.data_type(row.input, record), record)
    a, b = rng.normal(size=(16, k)).astype(dtype), rng.normal(size=(k, 16)).astype(dtype)
    d = np.zeros((16, 16), np.float32)
    report = mmacalc.launch(kernel, 1, record.waves[0], row.input, k, a, b, d, arch=arch)
    print(row.input, d.tobytes(), dict(report.instructions), report.cycles, report.peak_share)
print([intrinsics.resolve(name, arch, wave)[1] for wave in record.waves for name in intrinsics.names(arch, wave)])
"""


def run(program, *arguments, catalog, data=b""):
    path = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "MMACALC_CATALOG": str(catalog), "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], env=environment, capture_output=True, input=data, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


MARK = "~"  # behind each name that a twin would take from the original


def twin_of(name):
    """The text of an architecture's file as one of outside, "twin9", that takes no name of the original."""
    text = (ROOT / "src/mmacalc/catalog" / f"{name}.py").read_text()
    named = '"name": "twin9", "provenance": "two sources agree"'
    twin = text.replace(f'"name": "{name}"', named).replace(f'"on": ("{name}",)', '"on": ("twin9",)')
    others = [each for each in mmacalc.architectures() if f'"name": "{each}"' in twin]
    for number, other in enumerate(others):  # of the same file
        twin = twin.replace(f'"name": "{other}"', f'"name": "other{number}"')
    twin = re.sub(r'(?<="aliases": \()[^)]*', lambda found: re.sub(r'"([^"]+)"', rf'"\1{MARK}"', found[0]), twin)
    return re.sub(r'\("([A-Z][^"]*)", (?=[0-9N])', rf'("\1{MARK}", ', twin)  # products


PROGRAMS = {"machine code": ANSWERS, "commands": COMMANDS, "kernels": KERNELS}
TWINS = [(name, built, what) for name, built in (("cdna4", "gfx950"), ("rdna4", "gfx1200")) for what in PROGRAMS]


@sampled(("name", "built", "what"), TWINS, 2, first=2)
def test_a_copy_under_another_name_answers_as_the_original(name, built, what, tmp_path):
    program = PROGRAMS[what]
    (tmp_path / "twin.py").write_text(twin_of(name))
    code = object_for(built) if program == ANSWERS else b""
    original = run(program, name, catalog=tmp_path / "twin.py", data=code)
    assert len(original) > 5_000
    twins = run(program, "twin9", catalog=tmp_path / "twin.py", data=code)
    assert (
        twins.replace("twin9", name).replace(MARK, "" if program != KERNELS else MARK).splitlines()
        == original.splitlines()
    )


def test_the_imaginary_architecture_is_answered_for_by_every_command(tmp_path):
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
    base = ["-a", "dna9", "-i", "v_mfma_f32_16x16x64_f16"]
    others = [
        [*base, "-d"], [*base, "-A", "-M"], ["numerics", *base], ["run", *base, "--random", "1"], ["draw", *base, "-A"],
        ["generate", *base],
    ]  # fmt: skip
    for other, (status, out, err) in zip(
        others, json.loads(run(program, json.dumps(others), catalog=tmp_path / "dna9.py"))
    ):
        assert status == 0, err
        assert "16" in out, other
    chain = json.dumps([["chain", "-a", "dna9", base[-1], base[-1]]])
    assert "has no VECTOR_INSTRUCTIONS" in run(program, chain, catalog=tmp_path / "dna9.py")
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
