"""Record which targets have the vector instructions that chains use: python ptxas_vector_instructions.py > TABLE

TABLE is tests/data/nvidia/vector_instructions.tsv (gzipped there): a row for each instruction, a column for each
target, 1 where ptxas takes it. ptxas 13.0 must be in PATH; it knows no sm_70, which it has dropped.
"""

import subprocess

from mmacalc import architectures
from mmacalc.catalog import ptx
from mmacalc.chaining.conversions import PTX

OPERANDS = {
    "shfl.sync.bfly.b32": "%r0, %r1, 1, 31, -1", "shfl.sync.idx.b32": "%r0, %r1, %r2, 31, -1",
    "selp.b32": "%r0, %r1, %r2, %p", "prmt.b32": "%r0, %r1, %r2, %r3", "mov.b32": "%r0, {%h0, %h1}",
    "and.b32": "%r0, %r1, %r2", "bfi.b32": "%r0, %r1, %r2, 3, 1", "shl.b32": "%r0, %r1, 2",
    "lop3.b32": "%r0, %r1, %r2, %r3, 0xf8", "cvt.rn.f16.f32": "%h0, %f0", "cvt.f32.f16": "%f0, %h0",
    "cvt.f32.bf16": "%f0, %h0", "movmatrix.sync.aligned.m8n8.trans.b16": "%r0, %r1",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16": "{%r0, %r1, %r2, %r3}, [%r4]",
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16": "{%r0, %r1, %r2, %r3}, [%r4]",
    "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16": "[%r4], {%r0, %r1, %r2, %r3}",
    "cvt.rn.f16x2.f32": "%r0, %f0, %f1", "cvt.rn.bf16x2.f32": "%r0, %f0, %f1", "cvt.rna.tf32.f32": "%r0, %f0",
    "cvt.rn.satfinite.e2m1x2.f32": "%b0, %f0, %f1",
}  # fmt: skip


def operands(name):
    if name in OPERANDS:
        return OPERANDS[name]
    if name.startswith("cvt.pack"):
        return "%r0, %r1, %r2, %r3"
    return "%h0, %r0" if name.endswith("f16x2") else "%h0, %f0, %f1"


def taken(name, target):
    body = f".reg .b32 %r<5>; .reg .f32 %f<2>; .reg .b16 %h<2>; .reg .b8 %b<1>; .reg .pred %p; {name} {operands(name)};"
    text = f".version 9.0\n.target {target}\n.address_size 64\n.entry k() {{ {body} ret; }}\n"
    run = subprocess.run(
        ["ptxas", f"-arch={target}", "-o", "/dev/null", "-"], input=text, text=True, capture_output=True
    )
    return run.returncode == 0


def targets():
    listed = subprocess.run(["ptxas", "--help"], capture_output=True, text=True, check=True).stdout
    return [name for name in architectures() if f"'{name}'" in listed]


if __name__ == "__main__":
    columns = targets()
    print("instruction", *columns, sep="\t")
    for name in [*PTX, *[line[0] for line in ptx.VECTOR_INSTRUCTIONS]]:
        print(name, *[int(taken(name, target)) for target in columns], sep="\t")
