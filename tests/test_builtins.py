"""Every builtin compiled by clang-22 for its target: its types, its declaration, and the instruction that comes out."""

from __future__ import annotations

import re
import subprocess

import pytest

import mmacalc
from llvm_mc import tool
from mmacalc.compiler.builtins import by_name, intrinsic, intrinsics
from samples import sampled

TARGETS = (
    ("gfx908", None), ("gfx90a", None), ("gfx942", None), ("gfx950", None),
    ("gfx1100", 32), ("gfx1100", 64), ("gfx1150", 32), ("gfx1150", 64), ("gfx1151", 32), ("gfx1151", 64),
    ("gfx1200", 32), ("gfx1200", 64), ("gfx1250", None), ("gfx1251", None),
)  # fmt: skip


def named(kind):
    """A C name of a type such as `float x4`, and its declaration."""
    element, _, count = kind.partition(" x")
    if not count:
        return kind, ""
    name = f"{element.replace(' ', '_')}_x{count}"
    return name, f"typedef {element} {name} __attribute__((ext_vector_type({count})));\n"


def kernel(one):
    """A kernel that calls a builtin on values from memory, immediates being 0."""
    types = [named(kind) for kind in (one.return_type, *one.arg_types)]
    values = ["0" if at in one.immediates else f"*({types[at + 1][0]} *)p[{at}]" for at in range(len(one.arg_types))]
    body = f"*({types[0][0]} *)out = {one.builtin}({', '.join(values)});"
    return "".join(declared for _, declared in types), f"KERNEL {one.builtin[10:]}(void *out, void **p) {{ {body} }}\n"


def source(found):
    declarations, kernels = zip(*map(kernel, found))
    lines = sorted({line for text in declarations for line in text.splitlines(keepends=True)})
    return '#define KERNEL extern "C" __attribute__((global)) void\n' + "".join(lines) + "".join(kernels)


def run(*arguments, text):
    done = subprocess.run(arguments, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]
    return done.stdout


def clang(target, wave, *options):
    size = ["-mwavefrontsize64"] if wave == 64 else []
    return [
        tool("clang"), "-x", "hip", f"--offload-arch={target}", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-w",
        *size, "-o", "-", *options, "-",
    ]  # fmt: skip


@sampled(("target", "wave"), TARGETS, 4)
def test_every_builtin_compiles_on_its_target_to_its_instruction_by_the_intrinsic_that_is_declared(target, wave):
    known = [(inst, one) for inst in mmacalc.instructions(target) for one in intrinsics(inst, wave)]
    code = run(*clang(target, wave, "-O1", "-S", "-emit-llvm"), text=source([one for _, one in known]))
    declared = {line.split("@")[1].split("(")[0]: line for line in code.splitlines() if line.startswith("declare")}
    for _, one in known:
        line = re.sub(r"\bnoundef |\bnocapture ", "", declared[one.llvm_intrinsic].removeprefix("declare "))
        assert line.split(" #")[0] == one.declaration
    size = [f"-mattr=+wavefrontsize{wave}"] if wave else []
    output = run(tool("llc"), "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={target}", *size, "-o", "-", text=code)
    kernels = dict(re.findall(r"^(amdgcn_\w+):(.*?)s_endpgm", output, re.M | re.S))
    for inst, one in known:
        # With scales of 0 the compiler takes the form without them.
        names = {inst.name, inst.name.replace("_scale", "")} if inst.scaled else {inst.name}
        assert names & set(kernels[one.builtin[10:]].split()), (inst, one.builtin)


@pytest.mark.parametrize(
    ("target", "wave"), [one for one in TARGETS if one[0] not in ("gfx1150", "gfx1151", "gfx1251")]
)
def test_every_builtin_has_exactly_the_types_that_clang_declares(target, wave):
    known = [one for inst in mmacalc.instructions(target) for one in intrinsics(inst, wave)]
    dump = ["-fsyntax-only", "-Xclang", "-ast-dump"]
    text = run(*clang(target, wave, *dump), text=source(known))
    shown = dict(re.findall(r"implicit used (__builtin_amdgcn_\w+) '(.*?)'", text))
    for one in known:
        types = re.sub(
            r"__attribute__\(\(__vector_size__\((\d+) \* sizeof\([\w ]+\)\)\)\) ((?:long )?\w+)",
            r"\2 x\1",
            shown[one.builtin],
        ).replace("bool", "_Bool")
        types = re.sub(r" noexcept$", "", types)
        # "..." is a clamp that may be given after the last argument and that we leave out; int64_t, which Builtins.def
        # writes Wi, is long on this target and long long elsewhere.
        expected = f"{one.return_type} ({', '.join(one.arg_types)})".replace("long long", "long")
        assert types.replace(", ...)", ")") == expected, one.builtin


def test_what_has_no_builtin_says_so():
    for name in ("v_mfma_f32_16x16x128_f8f6f4", "v_mfma_f32_32x32x64_f8f6f4"):
        assert intrinsic(mmacalc.instruction("gfx950", name)) is None
    assert intrinsic(mmacalc.instruction("gfx1250", "v_wmma_f32_16x16x128_f8f6f4")) is not None


@sampled("arch", ["cdna1", "cdna2", "cdna3", "cdna4", "rdna3", "rdna4", "cdna5"], 3)
def test_every_builtin_and_intrinsic_leads_back_to_its_instruction(arch):
    for inst in mmacalc.instructions(arch):
        for one in intrinsics(inst):
            assert by_name(arch, one.builtin)[0] is inst
            assert by_name(arch, one.llvm_intrinsic)[0] is inst
    with pytest.raises(mmacalc.Error, match="Did you mean __builtin_amdgcn_mfma_f32_16x16x16f16"):
        by_name("gfx942", "__builtin_amdgcn_mfma_f32_16x16x16_f16")
