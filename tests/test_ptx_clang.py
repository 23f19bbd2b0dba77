"""Random C programs, compiled by clang for NVPTX and run by the emulator, against the same programs on the host."""

import ctypes
import random
import subprocess

import numpy as np

from llvm_mc import tool
from mmacalc.kernels.ptx.kernel import PtxKernel
from mmacalc.kernels.ptx.launch import Launch
from mmacalc.ptx.reader import read
from samples import sampled

HEAD = """
typedef unsigned u32; typedef unsigned long long u64; typedef int s32; typedef long long s64;
typedef unsigned short u16; typedef signed char s8;
#ifdef __NVPTX__
#define KERNEL __attribute__((nvptx_kernel))
#define WHO __nvvm_read_ptx_sreg_tid_x()
#else
#define KERNEL
static int who; void choose(int n) { who = n; }
#define WHO who
#endif
"""
THREADS = 32
NAMES = ("a", "b", "c", "d")
TYPES = {"a": "u32", "b": "s32", "c": "u64", "d": "s64"}


def expression(dice, depth):
    """A C expression without undefined behaviour."""
    if depth == 0 or dice.random() < 0.15:
        return dice.choice((*NAMES, str(dice.randrange(1000)), f"{dice.randrange(1 << 32)}u"))
    x, y = expression(dice, depth - 1), expression(dice, depth - 1)
    return dice.choice((
        f"((u64)({x}) + (u64)({y}))", f"((u32)({x}) - (u32)({y}))", f"((u64)({x}) * (u64)({y}))",
        f"((u32)({x}) * (u32)({y}))", f"((u32)({x}) / ((u32)({y}) | 1))", f"((u64)({x}) % ((u64)({y}) | 1))",
        f"((s32)({x}) / (s32)(((u32)({y}) & 1023) + 2))", f"((s64)({x}) % (s64)(((u32)({y}) & 65535) + 3))",
        f"(({x}) ^ ({y}))", f"(({x}) & ~({y}))", f"((u32)({x}) << (({y}) & 31))", f"((u64)({x}) >> (({y}) & 63))",
        f"((s64)({x}) >> (({y}) & 31))", f"(({x}) < ({y}) ? ({y}) : (u32)({x}))", f"((s8)({x}) + (u16)({y}))",
        f"((s32)({x}) > (s32)({y}))", f"(u32)__builtin_popcountll({x})", f"(u32)__builtin_clz((u32)({x}) | 1)",
        f"__builtin_bitreverse32((u32)({x}))", f"__builtin_rotateleft32((u32)({x}), (u32)({y}))",
        f"(u32)(((unsigned __int128)(u64)({x}) * (u64)({y})) >> 64)", f"(s32)(float)(s32)(((u32)({x})) & 0xFFFFFF)",
        f"(u64)((double)(s32)({x}) * 0.5 + 4294967296.0)", f"(u32)((float)(u16)({x}) / (float)((u16)({y}) | 1))",
    ))  # fmt: skip


def block(dice, depth, lines=4):
    found = []
    for _ in range(lines):
        kind = dice.random()
        name = dice.choice(NAMES)
        if kind < 0.55 or depth == 0:
            found.append(f"{name} = ({TYPES[name]})({expression(dice, 3)});")
        elif kind < 0.75:
            test, then, other = expression(dice, 2), block(dice, depth - 1, 2), block(dice, depth - 1, 1)
            found.append(f"if (({test}) & 1) {{ {then} }} else {{ {other} }}")
        else:
            counter = f"i{dice.randrange(1 << 30)}"
            leave = dice.choice(("break", "continue"))
            first, second = block(dice, depth - 1, 2), block(dice, depth - 1, 1)
            head = f"for (u32 {counter} = 0; {counter} < ((u32)({name}) & 7); {counter}++)"
            found.append(f"{head} {{ {first} if (({expression(dice, 1)}) & 2) {leave}; {second} }}")
    return " ".join(found)


def program(seed):
    dice = random.Random(seed)
    return HEAD + (
        "KERNEL void k(const u32 *in, u64 *out) {\n"
        "int t = WHO; u32 a = in[2 * t]; s32 b = (s32)in[2 * t + 1]; u64 c = (u64)a << 17 | (u32)b; s64 d = t;\n"
        f"{block(dice, 2)}\nout[4 * t] = a; out[4 * t + 1] = (u32)b; out[4 * t + 2] = c; out[4 * t + 3] = (u64)d; }}\n"
    )


@sampled("seed", range(18), 9)
def test_programs_compute_what_the_host_does(seed, tmp_path):
    source, level = tmp_path / "program.c", ("-O0", "-O1", "-O2")[seed % 3]
    source.write_text(program(seed))
    clang = tool("clang")
    common = [clang, "-w", "-x", "c", str(source), "-ffp-contract=off", "-fwrapv", level]
    device = ["--target=nvptx64-nvidia-cuda", "-march=sm_80", "-nocudalib", "-S"]
    subprocess.run([*common, *device, "-o", tmp_path / "k.ptx"], check=True)
    subprocess.run([*common, "-shared", "-fPIC", "-o", tmp_path / "k.so"], check=True)
    given = np.random.default_rng(seed).integers(0, 1 << 32, (THREADS, 2), np.uint32)
    given[:4] = [[0, 0], [1, 0xFFFFFFFF], [0x80000000, 0x7FFFFFFF], [7, 13]]
    found, wanted = np.zeros((2, THREADS, 4), np.uint64)
    report = Launch(PtxKernel(read((tmp_path / "k.ptx").read_text()), "k"), 1, THREADS, (given, found)).run()
    host = ctypes.CDLL(str(tmp_path / "k.so"))
    for thread in range(THREADS):
        host.choose(thread)
        host.k(given.ctypes.data_as(ctypes.c_void_p), wanted.ctypes.data_as(ctypes.c_void_p))
    assert (found == wanted).all()
    assert not report.findings, str(report)
