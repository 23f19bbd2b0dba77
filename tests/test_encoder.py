"""The assembler of whole code: LLVM's bytes of every row, compiled objects there and back, and what clang -S writes."""

from __future__ import annotations

import random
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

import mmacalc
from compiled_kernels import LEVELS, TARGETS, compiled
from llvm_mc import halves, object_for, tool
from mmacalc.asm.decoder import text
from mmacalc.asm.encoder import encode
from mmacalc.asm.objects import read
from mmacalc.asm.tables import FAMILY_OF, table
from mmacalc.questions import disassemble
from test_decoder import decodable

# What LLVM 22.1.8's assembler refuses of its own disassembler's texts, and ours turns into the bytes that they came of.
TAKEN_TOO = {
    r"invalid th value|expected an identifier|scope and th combination": "TH_ATOMIC_0x6, th:0x7, and NT with SCOPE_SYS",
    r"scale_offset is not supported|must set modifier r128=0": "bits that the hardware ignores there",
    r"src1 immediate operand invalid|src0 must be null": "constants of VOP3 with DPP; null of s_barrier_leave",
    r"invalid operand for instruction|not a valid operand|lds_direct cannot be used": "exec and m0 of scalar loads ...",
    r"op_sel operand conflicts|invalid op_sel operand": "op_sel of dot products and of halves",
    r"lds_direct (may|cannot) be used|constant bus|different VGPR banks|literal operands are not": "pairs ...",
}  # fmt: skip
# LLVM 22.1.8 encodes src_shared_limit of a barrier as s35's code, leaves gds of swizzles out, makes literals of the
# constants of v_cvt_pk_bf8_f16 and of bf16's 0.15915494, and takes the longer encoding of some pairs on gfx1250.
OTHERWISE = r"""(?x) s_barrier_\w+\ src_ | ds_swizzle_b32\ (.*gds|a\d) | v_dual_\w+\ .*\ ::\ |
    v_cvt_pk_(bf8|fp8)_f16 | .*bf16.*0\.15915494"""


def assembled(lines, target):
    """For every line the bytes, or LLVM's message. A number before each says which are missing."""
    features = [f"--mattr={each}" for each in halves(target)]
    command = [tool("llvm-mc"), "-triple=amdgcn", f"-mcpu={target}", *features, "-show-encoding"]
    source = "".join(f".long {number}\n{line}\n" for number, line in enumerate(lines))
    run = subprocess.run(command, input=source, capture_output=True, text=True)
    messages = {
        int(line) // 2 - 1: message
        for line, message in reversed(re.findall(r"^<stdin>:(\d+):\d+: error: (.*)$", run.stderr, re.M))
    }
    pattern = r"^\t\.long\t(\d+)\n\t.*; encoding: \[(.*?)\]"
    codes = {int(number): bytes(int(one, 16) for one in code.split(","))
             for number, code in re.findall(pattern, run.stdout, re.M)}  # fmt: skip
    return [messages.get(number) or codes[number] for number in range(len(lines))]


def compared(target, seeds):
    rows, wave = table(target, FAMILY_OF[target][2]).every(), FAMILY_OF[target][2]
    others = [row for row in rows if row.format.name.startswith("vopd")]
    lines = []
    for seed in seeds:
        rng = random.Random(f"{target} {seed}")
        lines += [text(pair[0]) for row in rows if (pair := decodable(row, target, rng, others))]
    assert len(lines) > 2500 * len(seeds)
    wrong, equal = {}, 0
    for line, theirs in zip(lines, assembled(lines, target)):
        try:
            ours = encode(line, target, wave).code
        except mmacalc.Error as error:
            ours = str(error)
        if isinstance(theirs, str) and (isinstance(ours, str) or any(re.search(one, theirs) for one in TAKEN_TOO)):
            continue
        equal += ours == theirs
        if ours != theirs and not re.match(OTHERWISE, line):
            wrong[line] = theirs, ours
    assert wrong == {}
    assert equal > 0.8 * len(lines)


@pytest.mark.parametrize("target", TARGETS)
def test_an_instance_of_every_row_has_llvms_bytes_or_is_refused_as_by_llvm(target):
    compared(target, [0])


@pytest.mark.whole
@pytest.mark.parametrize("target", TARGETS)
def test_five_instances_of_every_row_have_llvms_bytes(target):
    compared(target, range(1, 6))


def there_and_back(content, name, llvm):
    """The code of an object's executable sections is what its disassembly assembles to, target and all."""
    file = read(content, name)
    shown = disassemble.text(disassemble.disassembly(file, name, None, every=None))
    assert mmacalc.assemble(shown, llvm=llvm) == b"".join(section.code for section in file.sections)
    return shown


@pytest.mark.parametrize(("target", "level"), LEVELS.items())
def test_the_disassembly_of_compiled_kernels_assembles_to_them(target, level):
    shown = there_and_back(compiled(target, level), target, 22)
    assert len(re.findall(r"\ts_c?branch\S* \.L", shown)) > 20
    assert ".long" not in shown.replace("\t.long 0x00000000", "")


def test_the_disassembly_of_tritons_kernels_assembles_to_them():
    """By LLVM 24, which Triton 3.9 has."""
    with zipfile.ZipFile(Path(__file__).parent / "data" / "triton" / "units.zip") as units:
        names = [name for name in units.namelist() if name.endswith(".hsaco")]
        for name in names:
            there_and_back(units.read(name), name, 24)
    assert len(names) > 30


SOURCE = """
kernel void sums(global float *out, global const float *in, global const int *at, int count) {
  local float shared[64];
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += in[at[i] + __builtin_amdgcn_workitem_id_x()] * 3.25f;
  shared[__builtin_amdgcn_workitem_id_x()] = sum;
  __builtin_amdgcn_s_barrier();
  out[__builtin_amdgcn_workgroup_id_x()] = shared[__builtin_amdgcn_workitem_id_x() ^ 5] / sum;
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_what_clang_writes_with_s_assembles_to_its_object(target):
    """Directives, labels, kernel descriptors and metadata; the target is the one that the text names."""
    options = ["-x", "cl", "-cl-std=CL2.0", "-Xclang", "-finclude-default-header", "-nogpulib", "-O2", "-S", "-o", "-"]
    command = [tool("clang"), "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", *options, "-"]
    source = subprocess.run(command, input=SOURCE, capture_output=True, text=True, check=True).stdout
    (section,) = read(object_for(target, source), target).sections
    assert mmacalc.assemble(source, llvm=22) == section.code
    assert "s_cbranch" in source
    assert ".amdhsa_kernel" in source


def code(text, arch="gfx942"):
    return mmacalc.assemble(text, arch).hex(" ", 4)


def test_labels_literals_and_directives_are_read_as_an_assembler_does():
    assert code("s_branch end\ns_nop 1\nend:\ns_endpgm") == "010082bf 010080bf 000081bf"
    assert code("top: s_nop 0\ns_cbranch_scc1 top") == "000080bf feff85bf"
    assert code("a: s_nop 0\ns_add_u32 s0, s0, b-a\nb: s_nop 0") == "000080bf 00ff0080 0c000000 000080bf"
    assert code(".set n, 3\ns_nop n + 1\n.p2align 4\ns_endpgm") == "040080bf 000080bf 000080bf 000080bf 000081bf"
    data = '.byte 1, 2\n.short 0x403\n.section .rodata\n.long 7\n.text\n.fill 1, 4, 0xbf800000\n.ascii "abcd"'
    assert code(data) == "01020304 000080bf 61626364"
    assert code("v_add_f32 v0, s1, v2") == "01040002"  # _e32 where that is enough
    assert code("v_add_f32 v0, v1, s2") == "000001d1 01050000"  # else _e64
    assert code("v_mov_b32 v0, 1.5") == "ff02007e 0000c03f"


@pytest.mark.parametrize(("text", "message"), [
    ("v_add_f33 v0, v1, v2", "has no instruction 'v_add_f33'. Did you mean v_add_f32"),
    ("s_nop 70000", "70000 does not fit in 16 bits"),
    ("v_add_f32 v0, v1", "takes 3 operands; got 2"),
    ("v_add_f32_e32 v0, v1, s2", "does not take 's2' there"),
    ("v_add_f32 v0, v1, v2 glc", "has no modifier 'glc'"),
    ("v_fma_f32 v0, s1, s2, s3", "reads 1 scalar register or literals at most; got 3"),
    ("v_add_f32_e64 v0, v1, 0x12345", "takes inline constants there, no literal"),
    ("global_load_dword v0, v[2:3], off offset:9000", "offset is -4096 to 4095; got 9000"),
    ("s_branch nowhere", "expected a number, got 'nowhere'"),
    ("s_add_u32 s0, s0, f@rel32@lo+4", "what a linker would fill in is not taken"),
    ("s_waitcnt vmcnt(64)", "vmcnt is 0 to 63; got 64"),
    ("v_mov_b32_dpp v0, v1 row_share:1 row_mask:0xf bank_mask:0xf", "needs a DPP control, such as quad_perm"),
    (".macro f", "the directive .macro is not taken"),
    ("s_nop 0\n.section .rodata\ns_nop 0", "line 3: 's_nop 0' is an instruction in .rodata, a section of data"),
    ("s_setreg_b32 hwreg(HW_REG_MODE, 0, 4)hwreg(HW_REG_MODE), s0", "a name twice"),
    ("v_dual_mov_b32 v0, v1 ::", "a pair has two halves"),
    ("a: s_nop 0\na: s_nop 0", "line 2: the label a is defined twice"),
])  # fmt: skip
def test_what_is_wrong_is_refused_with_its_reason(text, message):
    with pytest.raises(mmacalc.Error, match=re.escape(message).replace(r"\.\ Did", r"\.? Did")):
        mmacalc.assemble(text, "gfx942")
