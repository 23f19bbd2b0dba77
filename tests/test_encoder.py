"""The assembler of whole code: LLVM's bytes of every row, compiled objects there and back, and what clang -S writes."""

from __future__ import annotations

import io
import itertools
import random
import re
import runpy
import subprocess
import zipfile
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

import mmacalc
from compiled_kernels import LEVELS, TARGETS, compiled
from llvm_mc import halves, object_for, rows_of_llvm, tool
from mmacalc.asm.decoder import text
from mmacalc.asm.encoder import encode
from mmacalc.asm.objects import read
from mmacalc.asm.operations import operations
from mmacalc.asm.tables import FAMILY_OF
from mmacalc.asm.targets import target as target_of
from mmacalc.questions import disassemble
from samples import sampled
from test_decoder import decodable

# What LLVM 22.1.8's assembler refuses of its own disassembler's texts, and ours turns into the bytes that they came of.
TAKEN_TOO = {
    r"invalid th value|expected an identifier|scope and th combination": "TH_ATOMIC_0x6, th:0x7, and NT with SCOPE_SYS",
    r"scale_offset is not supported|must set modifier r128=0": "bits that the hardware ignores there",
    r"src1 immediate operand invalid|src0 must be null": "constants of VOP3 with DPP; null of s_barrier_leave",
    r"invalid operand for instruction|not a valid operand|lds_direct cannot be used": "exec and m0 of scalar loads ...",
    r"op_sel operand conflicts": "op_sel of halves",
    r"lds_direct (may|cannot) be used|constant bus|different VGPR banks|literal operands are not": "pairs ...",
}  # fmt: skip
# LLVM 22.1.8 encodes a named register of a barrier as its own number of it (src_shared_limit as s35's code), leaves gds
# of swizzles out, makes literals of the constants of v_cvt_pk_bf8_f16 and of bf16's 0.15915494, takes the longer
# encoding of some pairs on gfx1250, and reads no sext() of a constant, which it prints.
OTHERWISE = r"""(?x) s_(barrier_|wakeup_barrier|get_barrier_)\w*\ (s\d+,\ )?(src_|null) | .*_sdwa\ .*sext\(\d |
    ds_swizzle_b32\ (.*gds|a\d) |
    v_dual_\w+\ .*\ ::\ | v_cvt_pk_(bf8|fp8)_f16 | .*bf16.*0\.15915494"""


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
    rows, wave = rows_of_llvm(target, FAMILY_OF[target][2]), FAMILY_OF[target][2]
    others = [row for row in rows if row.format.name.startswith("vopd")]
    lines = []
    for seed in seeds:
        rng = random.Random(f"{target} {seed}")
        lines += [text(pair[0]) for row in rows if (pair := decodable(row, target, rng, others))]
    assert len(lines) > 2500 * len(seeds)
    wrong, equal = {}, 0
    for line, theirs in zip(lines, assembled(lines, target)):
        try:
            ours = encode(line, target_of(target, wave, 22)).code
        except mmacalc.Error as error:
            ours = str(error)
        if isinstance(theirs, str) and (isinstance(ours, str) or any(re.search(one, theirs) for one in TAKEN_TOO)):
            continue
        equal += ours == theirs
        if ours != theirs and not re.match(OTHERWISE, line):
            wrong[line] = theirs, ours
    assert wrong == {}
    assert equal > 0.8 * len(lines)


@sampled("target", TARGETS, 1, first=4, whole=3)
def test_an_instance_of_every_row_has_llvms_bytes_or_is_refused_as_by_llvm(target):
    compared(target, [0])


@sampled("target", TARGETS, 0, whole=1)
def test_five_instances_of_every_row_have_llvms_bytes(target):
    compared(target, range(1, 6))


def with_scalars(target):
    """Every VOP3 and VOP3P instruction with scalar registers as two of its sources, the same and others, and with a
    scalar register and a literal."""
    for one in operations(target):
        for form in one.forms if "valu" in one.flags else ():
            wide = [int(use.kind[1:2] if use.kind[1:2].isdigit() else 1) for use in form.operands]
            sources = [at for at, use in enumerate(form.operands) if not use.destination]
            if not form.format.startswith(("vop3", "vop3p")) or "dpp" in form.format or any(
                use.number or use.kind[:1] not in "vxs" for use in form.operands
            ):  # fmt: skip
                continue
            for first, second in itertools.combinations(sources, 2):
                for others in ("s", "s same", "literal"):
                    texts = [registers("v", 40 + 8 * at, count) for at, count in enumerate(wide)]
                    texts[first] = registers("s", 8, wide[first])
                    texts[second] = registers("s", 8 if others == "s same" else 16, wide[second])
                    texts[second] = "0x1234" if others == "literal" else texts[second]
                    if others == "literal" and "_mix" in one.name:
                        continue  # LLVM takes a literal there from gfx11 on, we do not
                    yield f"{one.name}{form.suffix} {', '.join(texts)}"


def registers(file, first, count):
    return f"{file}{first}" if count == 1 else f"{file}[{first}:{first + count - 1}]"


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1200", "gfx1250"])
def test_as_many_scalar_registers_are_taken_as_llvm_takes(target):
    lines = list(dict.fromkeys(with_scalars(target)))
    if target == "gfx1250":  # a half of the operation each, by the bits of op_sel and op_sel_hi
        for name, count in (("add", 2), ("mul", 2), ("fma", 3)):
            sources = itertools.product(("v[2:3]", "s[4:5]"), repeat=count)
            halves_of = [",".join(bits) for bits in itertools.product("01", repeat=count)]
            lines += [
                f"v_pk_{name}_f32 v[0:1], {', '.join(texts)} op_sel:[{low}] op_sel_hi:[{high}]"
                for texts, low, high in itertools.product(sources, halves_of, halves_of)
            ]
    where, taken, wrong = target_of(target, FAMILY_OF[target][2], 22), 0, {}
    for line, theirs in zip(lines, assembled(lines, target)):
        try:
            ours = encode(line, where).code
        except mmacalc.Error as error:
            ours = str(error)
        taken += isinstance(theirs, bytes)
        if ours != theirs and not (isinstance(ours, str) and isinstance(theirs, str)):
            wrong[line] = theirs, ours
    assert wrong == {}
    assert min(taken, len(lines) - taken) > 100


def test_every_pattern_of_a_swizzle_has_llvms_masks():
    """Several masks give one pattern, and LLVM prints some of them by another name (BROADCAST, SWAP)."""
    patterns = map("".join, itertools.product("01pi", repeat=5))
    lines = [f'ds_swizzle_b32 v1, v2 offset:swizzle(BITMASK_PERM,"{pattern}")' for pattern in patterns]
    for line, theirs in zip(lines, assembled(lines, "gfx1100")):
        assert encode(line, target_of("gfx1100", 32, 22)).code == theirs, line


@pytest.mark.parametrize("target", ["gfx942", "gfx1100", "gfx1200", "gfx1250"])
def test_scalar_loads_add_an_offset_to_a_register(target):
    """On RDNA3 LLVM has other opcodes with an offset of 0 than with any other."""
    size = "dwordx4" if target == "gfx942" else "b128"
    lines = [
        f"s_{name}_{size} s[8:11], {base}, {register}{offset}"
        for name, base in (("load", "s[40:41]"), ("buffer_load", "s[40:43]"))
        for register in ("s0", "m0") for offset in ("", " offset:0x4", " offset:0x7ffff")
    ]  # fmt: skip
    for line, theirs in zip(lines, assembled(lines, target)):
        assert encode(line, target_of(target, FAMILY_OF[target][2], 22)).code == theirs, line
        assert mmacalc.disassemble(theirs, target).strip() == line


def disturbed(line, rng):
    """A text without commas, with blanks, with a word moved, with a modifier more, or with a comma too many."""
    kind = rng.randrange(5)
    more = ("clamp", "noclamp", "offset:4", "gds", "glc", "sc0", "op_sel:[1]", "op_sel:[0,0]", "mul:2", "bound_ctrl:0",
            "row_mask:0xf", "th:TH_LOAD_NT", "lds", "nosc1")  # fmt: skip
    if kind == 0:
        return re.sub(r",(?![^\[(]*[\])])", "", line)
    if kind == 1:
        return line.replace(", ", " ,  ").replace(":", " : ").replace("[", "[ ")
    if kind == 2:
        head, comma, tail = line.rpartition(", ")
        last, *modifiers = tail.split()
        rng.shuffle(modifiers)
        return " ".join([f"{head}{comma}{last}", *modifiers])
    return f"{line} {rng.choice(more)}" if kind == 3 else f"{line.replace(' ', ',,', rng.randrange(2))},"


@pytest.mark.parametrize("target", ["gfx942", "gfx1100", "gfx1250"])
def test_commas_blanks_and_the_order_of_modifiers_are_as_llvm_has_them(target):
    rng, wave = random.Random(target), FAMILY_OF[target][2]
    rows = [row for row in rows_of_llvm(target, wave) if not row.format.name.startswith("vopd")]
    lines = [text(pair[0]) for row in rng.sample(rows, 400) if (pair := decodable(row, target, rng, []))]
    lines = [line for line, theirs in zip(lines, assembled(lines, target)) if isinstance(theirs, bytes)]
    lines = [disturbed(line, rng) for line in lines]
    wrong, counts = {}, {True: 0, False: 0}
    for line, theirs in zip(lines, assembled(lines, target)):
        try:
            ours = encode(line, target_of(target, wave, 22)).code
        except mmacalc.Error as error:
            ours = str(error)
        counts[isinstance(ours, str)] += 1
        if ours != theirs and not (isinstance(ours, str) and isinstance(theirs, str)):
            wrong[line] = theirs, ours
    assert wrong == {}
    assert min(counts.values()) > 40


def there_and_back(content, name, llvm):
    """The code of an object's executable sections is what its disassembly assembles to, target and all."""
    file = read(content, name)
    shown = disassemble.text(disassemble.disassembly(file, name, None, every=None))
    assert mmacalc.assemble(shown, llvm=llvm) == b"".join(section.code for section in file.sections)
    return shown


@sampled(("target", "level"), LEVELS.items(), 3)
def test_the_disassembly_of_compiled_kernels_assembles_to_them(target, level):
    shown = there_and_back(compiled(target, level), target, 22)
    assert len(re.findall(r"\ts_c?branch\S* \.L", shown)) > 20
    assert ".long" not in shown.replace("\t.long 0x00000000", "")


@sampled("step", [4, 1], 1)
def test_the_disassembly_of_tritons_kernels_assembles_to_them(step):
    """By LLVM 24, which Triton 3.9 has."""
    with zipfile.ZipFile(Path(__file__).parent / "data" / "triton" / "units.zip") as units:
        names = [name for name in units.namelist() if name.endswith(".hsaco")]
        for name in names[::step]:
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


@sampled("target", TARGETS, 4)
def test_what_clang_writes_with_s_assembles_to_its_object(target):
    """Directives, labels, kernel descriptors and metadata; the target is the one that the text names."""
    options = ["-x", "cl", "-cl-std=CL2.0", "-Xclang", "-finclude-default-header", "-nogpulib", "-O2", "-S", "-o", "-"]
    command = [tool("clang"), "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", *options, "-"]
    source = subprocess.run(command, input=SOURCE, capture_output=True, text=True, check=True).stdout
    (section,) = read(object_for(target, source), target).sections
    assert mmacalc.assemble(source, llvm=22) == section.code
    assert "s_cbranch" in source
    assert ".amdhsa_kernel" in source


@sampled("target", ["gfx90a", "gfx942", "gfx1100", "gfx1200", "gfx1250"], 2)
@pytest.mark.parametrize("source", ["atomics", "exchange", "lanes", "races"])
def test_what_clang_writes_for_hip_with_o3_assembles_to_its_object(source, target):
    path = Path(__file__).parent / "data" / "kernels" / f"{source}.hip"
    options = ["-x", "hip", f"--offload-arch={target}", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-O3", "-w"]
    written = subprocess.run(
        [tool("clang"), *options, "-S", "-o", "-", path], capture_output=True, text=True, check=True
    )
    file = read(object_for(target, written.stdout), target)
    assert mmacalc.assemble(written.stdout, llvm=22) == b"".join(section.code for section in file.sections)


CALLS = """
extern __attribute__((device)) float other(float); extern __attribute__((device)) float table[64];
__attribute__((device, noinline)) float local_one(float x) { return x * table[3] + 1; }
extern "C" __attribute__((global)) void k(float *p) { *p = other(local_one(*p)); }
"""


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_linker_fills_in_is_what_llvms_object_has_as_relocations(target):
    options = ["-x", "hip", f"--offload-arch={target}", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-O3", "-w",
               "-S", "-o", "-", "-"]  # fmt: skip
    text = subprocess.run([tool("clang"), *options], input=CALLS, capture_output=True, text=True, check=True).stdout
    content = object_for(target, text)
    relocations = []
    given = mmacalc.assemble(text, llvm=22, relocations=relocations)
    assert given == b"".join(section.code for section in read(content, target).sections)
    expected = {}
    for section in ELFFile(io.BytesIO(content)).iter_sections():
        if section["sh_type"] == "SHT_RELA" and section.name == ".rela.text":
            symbols = ELFFile(io.BytesIO(content)).get_section(section["sh_link"])
            for one in section.iter_relocations():
                symbol = symbols.get_symbol(one["r_info_sym"]).name
                symbol = symbol or "_Z9local_onef"  # of a local one LLVM names the section, where it comes first
                expected[one["r_offset"]] = symbol, one["r_addend"], one["r_info_type"]
    numbers = {"ABS32_LO": 1, "ABS32_HI": 2, "ABS64": 3, "REL64": 5, "GOTPCREL": 7, "GOTPCREL32_LO": 8,
               "GOTPCREL32_HI": 9, "REL32_LO": 10, "REL32_HI": 11}  # fmt: skip
    found = {one.offset: (one.symbol, one.addend, numbers[one.kind.removeprefix("R_AMDGPU_")]) for one in relocations}
    assert found == expected
    assert len(found) >= 3


MACROS = (
    "1: s_nop 0\n s_branch 1b\n s_branch 1f\n s_nop 1\n1: s_branch 1b\n s_cbranch_scc0 2f\n2:\n2: s_branch 2b",
    ".macro add d, a=v1, b:req\n v_add_f32 \\d, \\a, \\b\n.endm\n add v0, b=v2\n add v3 v4 v5\n add v6, , v7",
    ".set n,3\n.rept n\n.if n > 2\ns_nop n\n.elseif n == 2\ns_nop 7\n.else\ns_endpgm\n.endif\n.set n, n-1\n.endr",
    ".irp r, 1,2,3\nv_mov_b32 v\\r, 0\n.endr\n.irpc c, 456\ns_mov_b32 s\\c, s1\n.endr",
    ".macro r n\n.if \\n\ns_nop \\n\n r \\n-1\n.endif\n.endm\nr 3",
    ".macro o a, rest:vararg\n"
    ".ifnb \\rest\ns_nop \\a\no \\rest\n.else\ns_nop 9\n.exitm\ns_endpgm\n.endif\n.endm\no 1, 2, 3",
    ".macro loop n\nL\\@: s_nop \\n\ns_branch L\\@\n.endm\nloop 1\nloop 2\n"
    ".purgem loop\n.macro loop\ns_nop 5\n.endm\nloop",
    ".macro part x\n.ifc \\x,hi\ns_mov_b32 s1, s\\()3\n.endif\n.ifdef known\ns_nop 1\n.else\ns_nop 2\n.endif\n.endm\n"
    "part hi\n.set known, 1\npart lo\n.ifndef known\ns_endpgm\n.endif",
    ".macro outer n\n.macro inner m\ns_nop \\m\n.endm\n.rept \\n\ninner \\n\n.endr\n.endm\nouter 2",
    "a: s_nop 0\nb:\n.set c, 4\n.if c * 2 - 8\ns_endpgm\n.endif\ns_add_u32 s0, s0, b-a+c\n.fill (c>>1), 4, 0xbf800000",
)  # fmt: skip


@pytest.mark.parametrize("source", MACROS)
def test_macros_conditions_repetitions_and_numeric_labels_are_expanded_as_by_llvm(source):
    (section,) = read(object_for("gfx942", source + "\n"), "gfx942").sections
    assert mmacalc.assemble(source, "gfx942", llvm=22) == section.code


def test_older_spellings_are_those_that_llvm_takes():
    """The file is what tools/decoder_tables/aliases.py makes; each alias there has the bytes of the newer spelling."""
    place = Path(__file__).parents[1] / "tools" / "decoder_tables" / "aliases.py"
    found = runpy.run_path(str(place))["listing"](tool("llvm-mc"))
    assert found == (Path(mmacalc.__file__).parent / "asm" / "mnemonic_aliases.txt").read_text()
    assert code("v_max_f32 v7, v7, v9", "gfx1200") == code("v_max_num_f32 v7, v7, v9", "gfx1200")
    assert code("v_max_f32_e64 v7, v7, v9", "gfx1200") == code("v_max_num_f32_e64 v7, v7, v9", "gfx1200")


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
    ("v_add_f32_e32 v0, v1, s2", "Source 1 of v_add_f32_e32 takes 1 VGPR: v0; got s2"),
    ("v_add_f32 v0, v1, v2 glc", "has no modifier 'glc'"),
    ("v_fma_f32 v0, s1, s2, s3", "reads 1 scalar register or literals at most; got 3"),
    ("v_add_f32_e64 v0, v1, 0x12345", "Source 1 of v_add_f32_e64 takes 1 VGPR or SGPR, or an inline constant (0 to 64"),
    ("global_load_dword v0, v[2:3], off offset:9000", "offset of global_load_dword is -4096 to 4095; got 9000"),
    ("s_branch nowhere", "expected a number, got 'nowhere'"),
    ("s_add_u32 s0, s0, f@rel32@lo+4", "R_AMDGPU_REL32_LO f+4: that is what a linker fills in; a list given as reloc"),
    ("s_add_u32 s0, s0, f@rel33", "f@rel33 is unknown; what a linker fills in is abs32@lo, abs32@hi"),
    ("s_nop f@rel32@lo", "f@rel32@lo"),
    ("s_nop 0\n.rept x\n.endr", "line 2: "),
    ("s_nop 0\n.rept 2\ns_nop 0", "line 2: .rept has no .endr"),
    (".if 1\ns_nop 0\n", "has no .endif"),
    ("s_nop 0\n.else", "line 2: .else has no .if before it"),
    (".macro f a:req\ns_nop \\a\n.endm\nf", "line 4: the macro f needs its argument a"),
    (".macro f a\ns_nop \\a\n.endm\nf 1, 2", "line 4: the macro f takes 1 arguments; got '2' besides"),
    (".macro f\nf\n.endm\nf", "line 4: the macro f: macros are within one another more than 20 deep"),
    ("s_nop 0\ns_branch 1f\n1b: s_nop 0", "line 2: 1f: no label 1 stands after it in .text"),
    ("s_waitcnt vmcnt(64)", "vmcnt is 0 to 63; got 64"),
    ("v_mov_b32_dpp v0, v1 row_share:1 row_mask:0xf bank_mask:0xf", "needs a DPP control, such as quad_perm"),
    (".macro f", ".macro has no .endm"),
    ("s_nop 0\n.section .rodata\ns_nop 0", "line 3: 's_nop 0' is an instruction in .rodata, a section of data"),
    ("s_setreg_b32 hwreg(HW_REG_MODE, 0, 4)hwreg(HW_REG_MODE), s0", "a name twice"),
    ("v_dual_mov_b32 v0, v1 ::", "a pair has two halves"),
    ("a: s_nop 0\na: s_nop 0", "line 2: the label a is defined twice"),
])  # fmt: skip
def test_what_is_wrong_is_refused_with_its_reason(text, message):
    with pytest.raises(mmacalc.Error, match=re.escape(message).replace(r"\.\ Did", r"\.? Did")):
        mmacalc.assemble(text, "gfx942")
