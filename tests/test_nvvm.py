"""LLVM's and clang's names of NVIDIA's instructions, against all of LLVM 22.1.8, and compiled by clang and llc."""

import gzip
import re
import subprocess
from pathlib import Path

import pytest

import mmacalc
from llvm_mc import tool
from mmacalc.catalog import architectures, entry
from mmacalc.cli import answer
from mmacalc.compiler.builtins import all_by_name, intrinsics

NAMES = {*gzip.decompress((Path(__file__).parent / "data/llvm/nvvm_names.txt.gz").read_bytes()).decode().split()}
MANAGEMENT = ("alloc", "dealloc", "commit", "fence", "relinq", "wait")  # of tcgen05 and wgmma: no matrix instructions
LAYOUTS = [("row", "row"), ("row", "col"), ("col", "row"), ("col", "col")]  # clang's argument 0, 1, 2, 3


def nvidia():
    """Every instruction of every target, once."""
    found = {}
    for arch in architectures():
        if entry(arch).architecture.family.sass:
            known = entry(arch)
            for name in (*known.names, *known.tensor_memory_names):
                if name not in found:
                    found[name] = known.instruction(name)
    return found


def test_every_name_exists_in_llvm_and_every_name_of_llvm_is_of_an_instruction():
    made = {}
    for name, inst in nvidia().items():
        for one in intrinsics(inst):
            made |= {known: name for known in (one.llvm_intrinsic, one.builtin) if known}
    assert {name: made[name] for name in made if name not in NAMES} == {}
    rest = [name for name in NAMES - {*made} if name.split(".")[3:4] and not name.split(".")[3].startswith(MANAGEMENT)]
    # PTX ISA 9.1 has no .satfinite for wmma with f16.
    assert [
        name for name in rest if not re.fullmatch(r"llvm\.nvvm\.wmma\..*\.f(16|32)\.f(16|32)\.satfinite", name)
    ] == []
    assert [name for name in NAMES if name.startswith("__") and name not in made] == []


def test_what_llvm_has_not_is_said_to_be_reached_by_inline_assembly():
    without = {name for name, inst in nvidia().items() if not intrinsics(inst)}
    kinds = {name.split(".")[0] for name in without}
    assert kinds == {"mma", "wmma", "wgmma", "movmatrix", "ldmatrix", "tcgen05"}  # tcgen05: kind::ti16 of sm_107a
    assert all(name in without for name in nvidia() if name.startswith(("wgmma", "movmatrix")))
    out = answer(["intrinsic", "-a", "H100", "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"]).out
    assert "LLVM 22 has no intrinsic" in out
    assert "inline assembly" in out


def run(*arguments, text):
    done = subprocess.run(arguments, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]
    return done.stdout


def test_every_product_that_has_a_builtin_is_what_clang_and_llc_make_of_it():
    lines, expected = [], {}
    for inst in mmacalc.instructions("sm_80"):
        for one in intrinsics(inst):
            if one.builtin and "_mma" in one.builtin.removeprefix("__mma"):
                at, last = len(expected), "" if "bmma" in one.builtin else f", {int('satfinite' in inst.name)}"
                expected[f"f{at}"] = (inst.name, one.llvm_intrinsic)
                layout = LAYOUTS.index(inst.layouts)
                lines.append(f"void f{at}(void **p) {{ {one.builtin}(p[0], p[1], p[2], p[3], {layout}{last}); }}")
    options = ["--target=nvptx64-nvidia-cuda", "-O1", "-S", "-emit-llvm", "-w", "-o", "-", "-"]
    features = ["-Xclang", "-target-cpu", "-Xclang", "sm_80", "-Xclang", "-target-feature", "-Xclang", "+ptx71"]
    code = run(tool("clang"), "-x", "c", *features, *options, text="\n".join(lines))
    called = dict(re.findall(r"^define .*?@(f\d+)\(.*?@(llvm\.nvvm\.wmma\.\S*\.mma\.[\w.]+)\(", code, re.M | re.S))
    assert called == {name: intrinsic for name, (_, intrinsic) in expected.items()}
    ptx = run(tool("llc"), "-mcpu=sm_80", "-mattr=+ptx71", "-o", "-", text=code)
    made = dict(re.findall(r"\.func f(\d+)\(.*?(wmma\.mma[\w.]+)", ptx, re.S))
    assert len(expected) > 100
    for name, (mnemonic, _) in expected.items():
        assert sorted(made[name[1:]].split(".")) == sorted(mnemonic.split(".")), mnemonic


@pytest.mark.parametrize("arch", ["V100", "T4", "A100", "H100", "B200", "RTX 5090"])
def test_every_name_leads_back_to_its_instruction(arch):
    for inst in mmacalc.instructions(arch)[::7]:
        for one in intrinsics(inst):
            for name in filter(None, (one.builtin, one.llvm_intrinsic, f"@{one.llvm_intrinsic}.p3(ptr %p)")):
                assert inst in [found for found, _, _ in all_by_name(arch, name)]
    with pytest.raises(mmacalc.Error, match="Did you mean __hmma_m16n16k16_mma_f32f32"):
        all_by_name(arch, "__hmma_m16n16k16_mma_f32f33")


def test_find_takes_the_names():
    found = mmacalc.find(arch="A100", intrinsic="__imma_m8n8k32_mma_s4")
    assert {inst.formats["A"] for inst in found} == {"i4"}
    assert mmacalc.find(arch="A100", name="llvm.nvvm.mma.m16n8k16.row.col.bf16") == (
        mmacalc.instruction("A100", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
    )
