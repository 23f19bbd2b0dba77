"""assemble, disassemble and intrinsic on the command line."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys

import pytest

import mmacalc
from llvm_mc import object_for, tool
from mmacalc.asm.objects import read, read_hexadecimal
from mmacalc.asm.targets import MACHINES
from mmacalc.cli import answer

TEXT = "v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15] cbsz:1"
CODE = bytes.fromhex("0081ccd310250204")

FIGURE = """\
00 81 cc d3 10 25 02 04
VOP3P-MAI, 8 bytes (CDNA3 and CDNA4 ISA guides, VOP3P-MAI)
+----------------------------+----------------------+--------+-------------+----------+-------------------------+
| 31 30 29 28 27 26 25 24 23 | 22 21 20 19 18 17 16 | 15     | 14 13 12 11 | 10  9  8 |  7  6  5  4  3  2  1  0 |
|  1  1  0  1  0  0  1  1  1 |  1  0  0  1  1  0  0 |  1     |  0  0  0  0 |  0  0  1 |  0  0  0  0  0  0  0  0 |
| ENCODING                   | OP                   | ACC_CD | ABID        | CBSZ     | VDST                    |
+----------------------------+----------------------+--------+-------------+----------+-------------------------+
+----------+-------+----------------------------+----------------------------+----------------------------+
| 63 62 61 | 60 59 | 58 57 56 55 54 53 52 51 50 | 49 48 47 46 45 44 43 42 41 | 40 39 38 37 36 35 34 33 32 |
|  0  0  0 |  0  0 |  1  0  0  0  0  0  0  0  0 |  1  0  0  0  1  0  0  1  0 |  1  0  0  0  1  0  0  0  0 |
| BLGP     | ACC   | SRC2                       | SRC1                       | SRC0                       |
+----------+-------+----------------------------+----------------------------+----------------------------+
"""


def test_assemble_prints_the_bytes_in_memory_order_and_draws_every_field():
    assert answer(["assemble", "-a", "gfx942", TEXT]).out == "00 81 cc d3 10 25 02 04\n"
    drawn = answer(["assemble", "-a", "gfx942", TEXT, "--fields"]).out
    assert drawn.startswith(FIGURE)
    assert "SRC0      [40:32]  272  A: 256 to 511 are registers 0 to 255; A = v[16:17]\n" in drawn
    data = json.loads(answer(["assemble", "-a", "gfx942", TEXT, "--fields", "--json"]).out)
    fields = {field["field"]: field["value"] for field in data["instructions"][0]["fields"]}
    assert (fields["CBSZ"], fields["ACC_CD"], fields["OP"], data["instructions"][0]["text"]) == (1, 1, 0x4C, TEXT)


def test_assemble_reads_a_file_with_symbols(tmp_path):
    (tmp_path / "kernel.s").write_text(f".set c, 1\nloop: // x\n{TEXT[:-1]}c\n.long c + 1\n")
    shown = answer(["assemble", "-a", "gfx942", str(tmp_path / "kernel.s")]).out
    assert shown == "00 81 cc d3 10 25 02 04\n02 00 00 00\n"
    assert "the directive .org is not taken" in answer(["assemble", "-a", "gfx942", ".org 8"]).err


def test_the_drawn_bits_are_those_of_the_code_for_every_format():
    for arch, text in (
        ("gfx1250", "v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[8:23], v[24:31], v[40:47], s1, v2 matrix_b_fmt:4"),
        ("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[20:23], v24, v25 op_sel:[1,0]"),
        ("gfx1100", "v_wmma_f16_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7] op_sel:[0,0,1]"),
        ("gfx950", "v_mfma_ld_scale_b32 v1, s2"),
        ("gfx90a", "v_accvgpr_write_b32 a1, 0.5"),
    ):
        lines = answer(["assemble", "-a", arch, text, "--fields"]).out.split("\n")
        framed = [line.replace("|", " ").split() for line in lines if line.startswith("|")]
        word = 0
        for numbers, bits in zip(framed[::3], framed[1::3]):
            word |= sum(int(bit) << int(number) for number, bit in zip(numbers, bits))
        assert word.to_bytes(len(framed) // 3 * 4, "little") == mmacalc.assemble(text, arch)


def test_disassemble_reads_bytes_words_and_files_of_either(tmp_path):
    words = "D3CC8100 04022510"
    for given in (["0081ccd310250204"], ["00", "81", "cc", "d3", "10", "25", "02", "04"], words.split(), [words]):
        assert answer(["disassemble", "-a", "gfx942", *given]).out == f"{TEXT}\n"
    assert answer(["disassemble", "-a", "gfx942", "0xd3cc8100,0x04022510"]).out == f"{TEXT}\n"
    listing = f"\tv_mfma  // 000000001900: {words}\n\ts_endpgm  // 000000001908: BF810000\n"
    both = f"{TEXT}\ns_endpgm\n"
    for name, content, expected in (
        ("raw.bin", CODE, f"{TEXT}\n"),
        ("words.txt", words.encode(), f"{TEXT}\n"),
        ("one.txt", b"BF810000\n", "s_endpgm\n"),
        ("objdump.txt", listing.encode(), both),
        ("mc.txt", b"\tx ; encoding: [0x00,0x81,0xcc,0xd3,0x10,0x25,0x02,0x04]\n", f"{TEXT}\n"),
    ):
        (tmp_path / name).write_bytes(content)
        assert answer(["disassemble", "-a", "gfx942", str(tmp_path / name)]).out == expected, name
    data = json.loads(answer(["disassemble", "-a", "gfx942", str(tmp_path / "objdump.txt"), "--json"]).out)
    assert data["instructions"] == [{"offset": 0, "text": TEXT}, {"offset": 8, "text": "s_endpgm"}]
    only = answer(["disassemble", "-a", "gfx942", "--matrix", str(tmp_path / "objdump.txt")]).out
    assert only == f"{TEXT}\n.long 0xbf810000\n"
    assert answer(["disassemble", "-a", "gfx1151", "0xBF810000"]).out == ".long 0xbf810000\n"  # a target without tables


KERNEL = """
typedef float f4 __attribute__((ext_vector_type(4)));
typedef _Float16 h8 __attribute__((ext_vector_type(8)));
extern "C" __attribute__((global)) void kernel(f4 *out, h8 *a, h8 *b, int n) {
  f4 sum = 0;
  for (int i = 0; i < n; ++i) sum = __builtin_amdgcn_mfma_f32_16x16x32_f16(a[i], b[2 * i], sum, 0, 0, 0);
  *out = sum;
}
"""


def test_disassemble_of_a_compiled_object_finds_the_matrix_instructions_that_objdump_finds(tmp_path):
    path = tmp_path / "kernel.o"
    command = [
        tool("clang"), "-x", "hip", "--offload-arch=gfx950", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-O2",
        "--no-gpu-bundle-output", "-fno-gpu-rdc", "-c", "-o", path, "-",
    ]  # fmt: skip
    subprocess.run(command, input=KERNEL, text=True, check=True, capture_output=True)
    dumped = subprocess.run([tool("llvm-objdump"), "-d", path], capture_output=True, text=True, check=True).stdout
    expected = [line.split("//")[0].split("<")[0].strip() for line in dumped.splitlines() if "//" in line]
    products = [line for line in expected if "v_mfma" in line]
    ours = answer(["disassemble", "-a", "gfx950", str(path)]).out.splitlines()
    assert products
    named = dict(re.findall(r"^([0-9a-f]{16}) <(.*)>:$", dumped, re.M))
    assert ours[:3] == ['.amdgcn_target "amdgcn-amd-amdhsa--gfx950"', "; section .text", "kernel:  ; kernel"]
    words = re.findall(r"// ([0-9A-F]{12}): ([0-9A-F ]+?)(?: <|$)", dumped, re.M)
    assert [line.split("// ")[1] for line in ours if "//" in line] == [f"{at}: {word}" for at, word in words]
    assert [*named.values()] == ["kernel"]
    lines = [re.sub(r"^(s_c?branch\S*) .*", r"\1", line.split("//")[0].strip()) for line in ours if "//" in line]
    assert lines == [re.sub(r"^(s_c?branch\S*) .*", r"\1", line) for line in expected]
    for branch in re.findall(r"s_c?branch\S* (\S+)", "\n".join(ours)):
        assert f"{branch}:" in ours
    only = answer(["disassemble", "--matrix", str(path)]).out.splitlines()
    assert [line for line in only[1:] if not line.startswith(".long")] == products
    assert answer(["disassemble", str(path)]).out.splitlines() == ours
    (tmp_path / "dump.txt").write_text(dumped)
    assert answer(["disassemble", "-a", "gfx950", str(tmp_path / "dump.txt")]).out.splitlines() == expected


LINE = "v_mfma_f32_16x16x1_4b_f32 v[0:15], v16, v17, v[0:15]"
CODE_OF_LINE = mmacalc.assemble(LINE, "gfx942")


def bundle_of(objects):
    """clang's offload bundle of objects by their targets."""
    entries, start = b"", 4096
    for target, content in objects.items():
        name = f"hipv4-amdgcn-amd-amdhsa--{target}".encode()
        entries += struct.pack("<3Q", start, len(content), len(name)) + name
        start += len(content)
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(objects)) + entries
    return head.ljust(4096, b"\0") + b"".join(objects.values())


@pytest.fixture
def disassembled(tmp_path):
    """The answer of `disassemble` for the content of a file."""

    def of(content, *options):
        path = tmp_path / "code"
        path.write_bytes(content)
        return answer(["disassemble", *options, str(path)])

    return of


def test_an_object_is_decoded_for_its_own_target_and_refused_for_another(disassembled):
    code = object_for("gfx942", f"{LINE}\n")
    words = " ".join(code[::-1].hex().upper() for code in (CODE_OF_LINE[:4], CODE_OF_LINE[4:]))
    shown = f"; section .text\n\t{LINE:<59} // 000000000000: {words}\n"
    assert disassembled(code).out == f'.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n{shown}'
    assert disassembled(code, "-a", "mi300x").out.endswith(shown)
    assert "for gfx942, not for gfx90a" in disassembled(code, "-a", "gfx90a").err
    assert "for gfx1030, not for gfx942" in disassembled(object_for("gfx1030"), "-a", "gfx942").err
    unknown, host = bytearray(code), bytearray(code)
    unknown[48] = 0xFE
    assert "is not known here (machine 0xfe)" in disassembled(unknown, "-a", "gfx942").err
    host[18:20] = b"\x3e\0"
    assert "of another processor" in disassembled(host, "-a", "gfx942").err
    assert "hexadecimal text, a listing or assembly" in disassembled(b"hello\n", "-a", "gfx942").err
    assert "It names none; give one, such as -a gfx942" in disassembled(b"BF810000\n").err


def test_a_generic_object_says_which_gpus_it_runs_on(disassembled):
    code = object_for("gfx9-4-generic", f"{LINE}\n")
    assert "generic target gfx9-4-generic, which runs on gfx942, gfx950" in disassembled(code).err
    assert "generic target gfx9-4-generic, which runs on gfx942, gfx950" in disassembled(code, "-a", "gfx90a").err
    assert LINE in disassembled(code, "-a", "gfx942").out


LLVM_18_OR_24 = {
    "gfx940": 0x40, "gfx941": 0x4B, "gfx1154": 0x57, "gfx1170": 0x5D, "gfx1171": 0x5E, "gfx1172": 0x5C, "gfx1310": 0x50,
}  # fmt: skip


def test_every_machine_number_is_llvms():
    known = subprocess.run(
        [tool("llvm-mc"), "-triple=amdgcn", "-mcpu=help"], input="", capture_output=True, text=True
    ).stderr
    for number, target in MACHINES.items():
        if f"  {target} " in known:  # LLVM 22 has given up gfx940 and gfx941
            assert object_for(target)[48] == number, target
        else:  # AMDGPUUsage of LLVM 18 and of LLVM 24; tests/test_asm_triton.py asks LLVM 24 itself for the latter
            assert LLVM_18_OR_24[target] == number


ASSEMBLY = """
    .amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.set base, 4
loop:  // twice
    V_MFMA_F32_32X32X8F16 acc[0:15] v[base:base+1], v[6:7], 0 cbsz:0x1 ; one
    s_cbranch_scc0 loop
    s_endpgm
"""


def test_assembly_is_spelt_as_llvm_does(disassembled):
    shown = [
        '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"', "loop:",
        "v_mfma_f32_32x32x8_f16 a[0:15], v[4:5], v[6:7], 0 cbsz:1", "s_cbranch_scc0 loop", "s_endpgm",
    ]  # fmt: skip
    assert disassembled(ASSEMBLY.encode()).out.splitlines() == shown
    assert answer(["disassemble", "-a", "gfx942", "v_mfma_f32_32x32x8f16 a[0:15] v[4:5] v[6:7] 0"]).out == (
        "v_mfma_f32_32x32x8_f16 a[0:15], v[4:5], v[6:7], 0\n"
    )
    assert "is for gfx942, not for gfx950" in disassembled(ASSEMBLY.encode(), "-a", "gfx950").err
    wrong = disassembled(b"s_nop 0\nv_mfma_f32_32x32x8f61 v0, v1, v2, v3\n", "-a", "gfx942").err
    assert "line 2: CDNA3 (gfx942) has no matrix instruction 'v_mfma_f32_32x32x8f61'. Did you mean" in wrong


def test_every_executable_section_is_decoded_under_its_name(disassembled):
    one, two = f"{LINE} cbsz:1", f"{LINE} cbsz:2"
    text = f'{LINE}\n.section .text.a,"ax",@progbits\n{one}\n.section .text.b,"ax",@progbits\n{two}\n.data\n.long 1\n'
    code = object_for("gfx942", text)
    shown = f"; section .text\n{LINE}\n; section .text.a\n{one}\n; section .text.b\n{two}\n"
    assert disassembled(code, "--matrix").out == shown
    whole = disassembled(code).out
    assert [line.partition("//")[0].strip() for line in whole.splitlines()[1:]] == shown.splitlines()
    data = json.loads(disassembled(code, "--json").out)
    assert [(row["section"], row["offset"]) for row in data["instructions"]] == [
        (".text", 0), (".text.a", 0), (".text.b", 0),
    ]  # fmt: skip
    assert mmacalc.assemble(shown, "gfx942") == b"".join(mmacalc.assemble(each, "gfx942") for each in (LINE, one, two))
    assert "none of its sections is executable and has content" in disassembled(object_for("gfx942", "\n")).err


def test_lint_and_explain_read_an_object_as_its_disassembly(tmp_path):
    """The places are addresses; what is found is what the printed text has."""
    first, second = "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], v[0:3]", "v_mov_b32_e32 v9, v0"
    text = f".globl f\n.type f,@function\nf:\ns_nop 0\n.Lloop:\n{first}\n{second}\ns_cbranch_scc0 .Lloop\ns_endpgm\n"
    path, listing = tmp_path / "kernel.o", tmp_path / "kernel.s"
    path.write_bytes(object_for("gfx942", text))
    shown = answer(["disassemble", str(path)]).out
    assert "\nf:\n\ts_nop 0 " in shown
    assert "\n.L4:\n\tv_mfma" in shown
    assert "\ts_cbranch_scc0 .L4 " in shown
    listing.write_text(shown)
    found, same = answer(["lint", str(path)]), answer(["lint", str(listing)])
    assert f"{path}:0xc: {second}\n  5 wait states too early after 0x4: {first}\n" in found.out
    assert f"{listing}:7:2: {second}\n  5 wait states too early after line 6: {first}\n" in same.out
    assert found.status == same.status == 1
    assert "16 blocks" in answer(["explain", str(path)]).out
    assert "not for gfx90a" in answer(["lint", "-a", "gfx90a", str(path)]).err
    path.write_bytes(object_for("gfx1030"))
    assert "gfx1030 has no matrix instructions" in answer(["lint", str(path)]).err


def test_a_section_beyond_the_end_of_the_file_is_damage(disassembled):
    code = bytearray(object_for("gfx942", f"{LINE}\n"))
    headers = struct.unpack_from("<Q", code, 40)[0]
    count = struct.unpack_from("<H", code, 60)[0]
    [text] = [at for at in range(headers, headers + 64 * count, 64) if struct.unpack_from("<Q", code, at + 8)[0] & 4]
    struct.pack_into("<Q", code, text + 32, len(code))
    assert "damaged ELF object: its section .text should end at byte" in disassembled(code).err


def test_a_bundle_gives_the_object_asked_for_and_chooses_none_in_silence(disassembled):
    objects = {f"{target}:xnack-": object_for(target, f"{LINE}\n") for target in ("gfx942", "gfx950")}
    for target in ("gfx942", "gfx950"):
        assert LINE in disassembled(bundle_of(objects), "-a", target).out
    assert "it has gfx942:xnack-, gfx950:xnack-" in disassembled(bundle_of(objects), "-a", "gfx90a").err
    assert "several objects to choose from" in disassembled(bundle_of(objects)).err
    objects["gfx942:xnack+"] = object_for("gfx942", f"{LINE} cbsz:1\n")
    refused = disassembled(bundle_of(objects), "-a", "mi300x").err
    assert "several objects to choose from; give one as -a: gfx942:xnack-, gfx950:xnack-, gfx942:xnack+" in refused
    assert f"{LINE} cbsz:1" in disassembled(bundle_of(objects), "-a", "gfx942:xnack+").out
    assert "damaged offload bundle" in disassembled(bundle_of(objects)[:60], "-a", "gfx942").err
    assert "ends before its objects do" in disassembled(bundle_of(objects)[:-1], "-a", "gfx950").err


@pytest.mark.parametrize(("wave", "registers", "other"), [(32, "v[0:3]", "wave64"), (64, "v[0:7]", "wave32")])
def test_registers_of_the_other_wave_size_are_called_so(wave, registers, other):
    with pytest.raises(mmacalc.Error, match=rf"That is wave{wave}; in {other}"):
        mmacalc.assemble(f"v_wmma_f32_16x16x16_f16 {registers}, v[8:9], v[12:13], {registers}", "gfx1200", wave)


def test_disassemble_says_that_it_takes_bytes():
    with pytest.raises(mmacalc.Error, match=r"should be bytes, such as bytes\.fromhex"):
        mmacalc.disassemble("0081ccd310250204", "gfx942")  # type: ignore[arg-type]


def test_an_elf_object_without_pyelftools_is_a_clear_error(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "elftools.elf.elffile", None)
    (tmp_path / "kernel.o").write_bytes(b"\x7fELF" + bytes(60))
    reply = answer(["disassemble", "-a", "gfx950", str(tmp_path / "kernel.o")])
    assert reply.status == 2
    assert "needs pyelftools" in reply.err


@pytest.mark.parametrize("content", [b"\x7fELF" + bytes(60), b"\x7fELF\x02\x01\x01" + bytes(80), b"\x7fELF"])
def test_a_damaged_elf_object_is_a_clear_error(content):
    with pytest.raises(mmacalc.Error, match="ELF object"):
        read(content, "kernel.o")


@pytest.mark.parametrize(
    ("argv", "part"),
    [
        (["disassemble", "-a", "gfx942", "no/such/file"], "is not a file, hexadecimal text or assembly"),
        (["disassemble", "-a", "gfx942", "00ff"], "a multiple of 4"),
        (["disassemble", "-a", "gfx942", ""], "it is empty"),
        (["disassemble", "-a", "gfx999", "00000000"], "unknown architecture 'gfx999'"),
        (["disassemble", "-a", "gfx942", "-w", "32", "00000000"], "has no wave size 32"),
        (["assemble", "-a", "gfx942", "v_mfma_f32_16x16x4_f32"], "D is missing"),
        (["intrinsic", "-a", "gfx942", "v_mfma_f32_16x16x4_f33"], "Did you mean"),
        (["intrinsic", "-a", "gfx942", "__builtin_amdgcn_nothing"], "has no matrix builtin"),
    ],
)
def test_what_cannot_be_answered_is_one_clear_line_and_status_2(argv, part):
    reply = answer(argv)
    assert (reply.status, reply.out) == (2, "")
    assert part in reply.err
    assert reply.err.count("\n") == 1


def test_hexadecimal_of_either_order_is_the_same_code():
    assert read_hexadecimal("0081ccd310250204") == read_hexadecimal("0xd3cc8100 0x04022510") == CODE


def test_intrinsic_shows_the_prototype_with_its_immediates_and_the_declaration():
    text = answer(["intrinsic", "-a", "gfx942", "v_mfma_f32_16x16x16f16"]).out
    assert "  float x4 __builtin_amdgcn_mfma_f32_16x16x16f16(_Float16 x4, _Float16 x4, float x4, int imm" in text
    assert "    cbsz         int, an immediate\n" in text
    declaration = "<4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half>, <4 x half>, <4 x float>, i32 immarg"
    assert declaration in text
    by_builtin = answer(["intrinsic", "-a", "gfx942", "__builtin_amdgcn_mfma_f32_16x16x16f16"]).out
    assert by_builtin == text
    data = json.loads(answer(["intrinsic", "-a", "gfx1100", "-w", "64", "v_wmma_f16_16x16x16_f16", "--json"]).out)
    assert [one["builtin"] for one in data["intrinsics"]] == [
        "__builtin_amdgcn_wmma_f16_16x16x16_f16_w64", "__builtin_amdgcn_wmma_f16_16x16x16_f16_tied_w64",
    ]  # fmt: skip
    assert "no builtin of its own" in answer(["intrinsic", "-a", "gfx950", "v_mfma_f32_32x32x64_f8f6f4"]).out


def test_several_files_are_assembled_and_disassembled_and_one_that_is_refused_stops_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {"a.s": "v_add_f32 v0, v0, v1\n", "b.s": "v_nonsense v0\n", "c.s": "v_add_f32 v0, v0, v2\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).with_suffix(".hex").write_text("00 03 00 02" if name != "b.s" else "00 03 00")
    for command, names in (("assemble", ["a.s", "b.s", "c.s"]), ("disassemble", ["a.hex", "b.hex", "c.hex"])):
        found = answer([command, "-a", "gfx942", *names])
        assert found.status == 2
        assert [name in found.out for name in names] == [True, False, True]
        assert f"mmacalc: {names[1]}: " in found.err
        documents = [json.loads(line) for line in answer([command, "-a", "gfx942", "--json", *names]).out.splitlines()]
        assert [
            document.get("file", document.get("error", {}).get("place", {}).get("file")) for document in documents
        ] == names
        alone = json.loads(answer([command, "-a", "gfx942", "--json", names[0]]).out)
        assert "file" not in alone
    assert "assembled already" in refusal_of_an_object(tmp_path)


def refusal_of_an_object(folder):
    (folder / "k.hsaco").write_bytes(b"\x7fELF" + bytes(60))
    return answer(["assemble", "-a", "gfx942", "k.hsaco"]).err
