"""Accumulators as operands of memory: every instruction that takes them does with them what it does with VGPRs."""

import numpy as np

import mmacalc
from generated_kernels import compiled
from mmacalc.asm.tables import instruction_names
from mmacalc.kernels.amd.memory import access_of
from mmacalc.kernels.amd.memory_steps import transposing_access
from mmacalc.kernels.amd.target import MachineTarget
from samples import sampled

# What follows the name: D is what is loaded or returned, X what is stored; the addresses are in VGPRs.
OPERANDS = {
    "ds": ("D, %0", "%0, X", "D, %0, X", "D, X offset:0x8055", "%0, X, Y", "D, %0, X, Y"),
    "global": ("D, %1, off", "%1, X, off", "D, %1, X, off glc", "D, %1, X, off sc0"),
    "flat": ("D, %1", "%1, X", "D, %1, X glc", "D, %1, X sc0"),
    "buffer": ("X, %0, %2, 0 offen", "X, %0, %2, 0 offen glc", "X, %0, %2, 0 offen sc0"),
}
ACROSS = ("ds_swizzle_b32", "ds_bpermute_b32", "ds_permute_b32")
TOGETHER = 32  # pairs in one code object
PLACES = {"D": 44, "X": 40, "Y": 48}  # registers
HEAD = """#define __global__ __attribute__((global))
typedef unsigned u4 __attribute__((ext_vector_type(4)));
"""
KERNEL = """
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(64, 64))) void NAME(unsigned *x, unsigned *out) {
    static __attribute__((shared)) __attribute__((aligned(16))) unsigned tile[2048];
    const int lane = __builtin_amdgcn_workitem_id_x();
    for (int n = lane; n < 2048; n += 64) tile[n] = x[n % 1024] + n;
    const unsigned at = 16 * lane; u4 resource = {(unsigned)(long long)x, (unsigned)((long long)x >> 32) & 0xffff,
        4096, 0x20000};
    asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)\\nTEXT\\ns_waitcnt vmcnt(0) lgkmcnt(0)\\ns_nop 7"
                 : : "v"(at), "v"((char *)x + at), "s"(resource) : CLOBBERS, "memory");
    unsigned found; READ
    for (int n = lane; n < 2048; n += 64) out[1024 + n] = tile[n];
}
"""


def spelled(name, operands, size, file):
    """An instruction with its data in a file of registers. size: the bytes of one element."""
    words = max(1, size // 4)
    twice = name.startswith(("ds_read2", "ds_write2")) and "D" in operands, "cmpst" not in name and "cmpswap" in name
    for letter, count in (("D", words << twice[0]), ("X", words << twice[1]), ("Y", words)):
        first = PLACES[letter]
        operands = operands.replace(letter, f"{file}[{first}:{first + count - 1}]" if count > 1 else f"{file}{first}")
    return f"{name} {operands}"


def instructions(target, step):
    """(with VGPRs, with accumulators) of every access that takes either: of each step-th name, and of those that
    transpose."""
    machine = MachineTarget(target, 64)
    names = sorted(instruction_names())
    for name in {*names[::step], *(name for name in names if "_tr_" in name)}:
        try:
            access = transposing_access(name, machine) or access_of(name)
        except mmacalc.Error:
            continue
        if access is None and name not in ACROSS:
            continue
        unit, size = ("ds", 4) if access is None else (access.unit, access.size)
        for operands in OPERANDS.get(unit, ()):
            pair = [spelled(name, operands, size, file) for file in "va"]
            try:
                for text in pair:
                    mmacalc.assemble(text.replace("%0", "v1").replace("%1", "v[2:3]").replace("%2", "s[4:7]"), target)
            except mmacalc.Error:
                continue
            yield pair


def kernel(name, text, file):
    registers = [f"{file}{number}" for number in range(40, 52)]
    write = "v_mov_b32 {}, {}" if file == "v" else "v_accvgpr_write_b32 {}, {}"
    set_up = "".join(write.format(one, f"{3 + number}") + "\\n" for number, one in enumerate(registers))
    read = "v_mov_b32 %0, {}" if file == "v" else "v_accvgpr_read_b32 %0, {}"
    reads = "".join(
        f'asm volatile("{read.format(one)}" : "=v"(found)); out[{64 * number} + lane] = found; '
        for number, one in enumerate(registers)
    )
    clobbers = ", ".join(f'"{one}"' for one in registers)
    source = KERNEL.replace("NAME", name).replace("TEXT", f"{set_up}s_nop 7\\n{text}").replace("READ", reads)
    return source.replace("CLOBBERS", clobbers)


@sampled("step", [60, 1], 1, whole=0)
@sampled("target", ["gfx950", "gfx90a", "gfx942"], 1)
def test_accesses_take_accumulators_as_they_take_vgprs(target, step, tmp_path):
    pairs = list(instructions(target, step))
    assert len(pairs) > 350 // step
    for first in range(0, len(pairs), TOGETHER):
        compare(pairs[first : first + TOGETHER], target, tmp_path / f"{first}.hsaco")


def compare(pairs, target, path):
    """Run each instruction with VGPRs and with accumulators."""
    source = HEAD + "".join(
        kernel(f"{file}{number}", text, file) for number, pair in enumerate(pairs) for file, text in zip("va", pair)
    )
    kernels = mmacalc.load(compiled(source, target, path))
    for number, (text, _) in enumerate(pairs):
        results = []
        for file in "va":
            x, out = (np.arange(1024) * 2654435761 + 1 & 0xFFFF3FFF).astype(np.uint32), np.zeros(3072, np.uint32)
            mmacalc.launch(kernels[f"{file}{number}"], 1, 64, x, out)
            results.append((x, out))
        assert all(np.array_equal(one, other) for one, other in zip(*results)), text
