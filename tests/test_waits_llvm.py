"""Wait states against LLVM 22.1.8: its sampled answers, and the nops that llc-22 inserts between generated pairs."""

from __future__ import annotations

import csv
import gzip
import random
import re
import subprocess
from itertools import pairwise, product
from pathlib import Path

import pytest

import mmacalc
from hip_kernels import hip_listing
from llvm_mc import tool
from mmacalc.asm.reader import read_line, vector_registers
from samples import sampled

DATA = Path(__file__).parent / "data" / "llvm"
GOLDEN = sorted(DATA.glob("hazards_gfx*.tsv.gz"))
MFMA, WMMA = ("gfx908", "gfx90a", "gfx942", "gfx950"), ("gfx1100", "gfx1151", "gfx1200", "gfx1250", "gfx1251")


# --- lines of assembly: every operand has registers of its own unless a test says where ---


def tup(first: int, count: int, file: str = "v") -> str:
    return f"{file}{first}" if count == 1 else f"{file}[{first}:{first + count - 1}]"


def inner_registers(inst, name, wave, codes):
    """The registers of A or B; of an f8f6f4 instruction, for the formats that `codes` give to the two."""
    if inst.formats["A"] != "f8f6f4":
        return inst.operand(name, wave=wave).registers
    bits = (8, 8, 6, 6, 4)[codes["AB".index(name)]]
    return inst.m * inst.k * bits // 32 // inst.architecture.waves[0]


def line(inst, d=0, a=64, b=96, c=128, k=160, wave=None, codes=(0, 0), **files):
    """An instruction with its operands at these registers, in these files; c None is D."""
    d_file = files.get("d_file", "a" if inst.arch == "cdna1" else "v")
    size = inst.operand("D", wave=wave).registers
    operands = [tup(d, size, d_file)]
    for name, at in (("A", a), ("B", b)):
        operands.append(tup(at, inner_registers(inst, name, wave, codes), files.get("ab_file", "v")))
    if inst.sparse:
        operands.append(tup(k, inst.operand("K", wave=wave).registers))
    else:
        c_size = inst.operand("C", wave=wave).registers
        operands.append(tup(d if c is None else c, c_size, d_file))
    if "scale" in inst.features:
        operands += [tup(170 + 4 * n, 2 if "scale16" in inst.name else 1) for n in range(2)]
    text = f"{inst.name} {', '.join(operands)}"
    if inst.formats["A"] == "f8f6f4":
        names = ("cbsz", "blgp") if inst.architecture.family.blocks else ("matrix_a_fmt", "matrix_b_fmt")
        values = (
            codes if names[0] == "cbsz" else [f"MATRIX_FMT_{('FP8', 'BF8', 'FP6', 'BF6', 'FP4')[n]}" for n in codes]
        )
        text += "".join(f" {name}:{value}" for name, value in zip(names, values))
    return text


# --- the sampled answers: one line of the file is a producer, one column a dependency ---

CONSUMERS = {
    "XDL": ("v_mfma_f32_16x16x16f16",), "XDL32": ("v_mfma_f32_32x32x8f16",), "SGEMM": ("v_mfma_f32_16x16x4f32",),
    "DGEMM16": ("v_mfma_f64_16x16x4f64",), "DGEMM4": ("v_mfma_f64_4x4x4f64",), "SMFMAC": ("v_smfmac_f32_16x16x32_f16",),
    "WMMA": ("v_wmma_f32_16x16x16_f16", "v_wmma_f32_16x16x32_f16"),
    "SWMMAC": ("v_swmmac_f32_16x16x32_f16", "v_swmmac_f32_16x16x64_f16"),
}  # fmt: skip
STORE, LOAD = "global_store_dword v[250:251], {}, off", "global_load_dword {}, v[250:251], off"
OTHERS = {  # column -> the other instruction, and the operand of the producer that it touches
    "VALU_read": ("v_mov_b32 v240, {}", "d"), "VALU_write_WAW": ("v_mov_b32 {}, v240", "d"),
    "VALU_write_C_WAR": ("v_mov_b32 {}, v240", "c"), "VALU_write_A_WAR": ("v_mov_b32 {}, v240", "a"),
    "VALU_write_B_WAR": ("v_mov_b32 {}, v240", "b"), "VALU_write_idx_WAR": ("v_mov_b32 {}, v240", "k"),
    "VMEM_store_read": (STORE, "d"), "VMEM_load_write_WAW": (LOAD, "d"),
    "DS_write_read": ("ds_write_b32 v250, {}", "d"),
    "ACCVGPR_READ": ("v_accvgpr_read_b32 v240, a0", "d"), "ACCVGPR_WRITE_WAW": ("v_accvgpr_write_b32 a0, v240", "d"),
    "ACCVGPR_WRITE_C_WAR": ("v_accvgpr_write_b32 a128, v240", "c"),
    "pre_VALU_write->A": ("v_mov_b32 {}, v240", "a"), "pre_VALU_write->C": ("v_mov_b32 {}, v240", "c"),
    "pre_ACCVGPR_WRITE->C": ("v_accvgpr_write_b32 a128, v240", "c"),
    "pre_CMPX_exec": ("v_cmpx_eq_u32_e32 v240, v241", ""),
}  # fmt: skip
PLACES = {"d": 0, "a": 64, "b": 96, "c": 128, "k": 160, "": 0}


def find(arch, names):
    known = {name for inst in mmacalc.instructions(arch) for name in (inst.name, *inst.aliases)}
    return mmacalc.instruction(arch, next(name for name in names if name in known))


def golden_pair(arch, inst, column, wave):
    """The two lines that a column of the sample is about."""
    if column in OTHERS:
        other, operand = OTHERS[column]
        place = PLACES["d" if operand == "c" and inst.sparse else operand]  # C of a sparse instruction is D
        pair = line(inst, wave=wave), other.format(tup(place, 1))
        return pair[::-1] if column.startswith("pre_") else pair
    who = re.sub(r"_(C_.*|A|B|idx|WAW_dst_only)$", "", column)
    second = inst if who == "same_op" else find(arch, CONSUMERS[who])
    at = {"d": 200, "c": 224}
    if "_C_" in column:
        start = 2 if "overlap" in column else 0
        at = {"d": start, "c": start} if second.sparse or "exact" in column else {"d": 200, "c": start}
    elif column == "same_op_WAW_dst_only":
        at = {"d": 0, "c": 224}
    else:
        at[{"A": "a", "B": "b", "idx": "k"}[column.rpartition("_")[2]]] = 0
    at = {"a": 180, "b": 190, "k": 198, **at}
    return line(inst, wave=wave), line(second, wave=wave, **at)


def golden_rows(path):
    target, wave = re.match(r"hazards_(gfx\w+?)(?:w(32|64))?\.tsv", path.name).groups()
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            name = re.sub(r"_(tied_)?(w32|w64)(_gfx12)?$", "", "v_" + row.pop("builtin"))
            row.pop("mir_opcode")
            yield target, int(wave) if wave else None, mmacalc.instruction(target, name), row


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name[8:-7])
def test_every_sampled_answer_of_llvm_is_ours(path):
    wrong, asked = [], 0
    for target, wave, inst, row in golden_rows(path):
        for column, value in row.items():
            if not value:
                continue
            pair = golden_pair(target, inst, column, wave)
            got = mmacalc.wait_states(*pair, target)
            asked += 1
            if got.llvm != int(value.rstrip("v")) or (value.endswith("v") and got.unit != "v_nop"):
                wrong.append((inst.name, column, value, got.llvm, pair))
    assert not wrong, (len(wrong), wrong[:6])
    assert asked > 30


# --- letting llc insert the nops: a line of assembly becomes a line of MIR ---

SIMPLE = {  # mnemonic -> MIR; {0} is the first operand's registers
    "v_mov_b32": "{0} = V_MOV_B32_e32 {1}, implicit $exec",
    "v_exp_f32": "{0} = V_EXP_F32_e32 {1}, implicit $mode, implicit $exec",
    "v_readfirstlane_b32": "$sgpr0 = V_READFIRSTLANE_B32 {1}, implicit $exec",
    "v_fma_f64": "{0} = V_FMA_F64_e64 0, {1}, 0, {2}, 0, {3}, 0, 0, implicit $mode, implicit $exec",
    "v_dot4_i32_i8": "{0} = V_DOT4_I32_I8 8, {1}, 8, {2}, 8, {3}, 0, 0, 0, implicit $exec",
    "v_dot8_i32_i4": "{0} = V_DOT8_I32_I4 8, {1}, 8, {2}, 8, {3}, 0, 0, 0, implicit $exec",
    "v_accvgpr_read_b32": "{0} = V_ACCVGPR_READ_B32_e64 {1}, implicit $exec",
    "v_accvgpr_write_b32": "{0} = V_ACCVGPR_WRITE_B32_e64 {1}, implicit $exec",
    "v_cmpx_eq_u32_e32": "V_CMPX_EQ_U32_e32 {0}, {1}, implicit-def $exec, implicit-def $vcc, implicit $exec",
    "global_store_dword": "GLOBAL_STORE_DWORD {0}, {1}, 0, 0, implicit $exec",
    "global_load_dword": "{0} = GLOBAL_LOAD_DWORD {1}, 0, 0, implicit $exec",
    "flat_store_dword": "FLAT_STORE_DWORD {0}, {1}, 0, 0, implicit $exec, implicit $flat_scr",
    "buffer_store_dword": "BUFFER_STORE_DWORD_OFFSET {0}, $sgpr0_sgpr1_sgpr2_sgpr3, 0, 0, 0, 0, implicit $exec",
    "ds_write_b32": "DS_WRITE_B32_gfx9 {0}, {1}, 0, 0, implicit $exec",
    "v_permlane16_swap_b32": "{0}, {1} = V_PERMLANE16_SWAP_B32_e32 {0}, {1}, implicit $exec",
    "v_permlane32_swap_b32": "{0}, {1} = V_PERMLANE32_SWAP_B32_e32 {0}, {1}, implicit $exec",
    "ds_read_b32": "{0} = DS_READ_B32_gfx9 {1}, 0, 0, implicit $exec",
    "ds_read_u8_d16": "{0} = DS_READ_U8_D16 {1}, 0, 0, {0}, implicit $exec",
    "global_load_short_d16_hi": "{0} = GLOBAL_LOAD_SHORT_D16_HI {1}, 0, 0, {0}, implicit $exec",
    "buffer_load_ubyte_d16": "{0} = BUFFER_LOAD_UBYTE_D16_OFFSET $sgpr0_sgpr1_sgpr2_sgpr3, 0, 0, 0, 0, {0}, "
    "implicit $exec",
    "v_dot2c_f32_f16": "{0} = V_DOT2C_F32_F16_e32 {1}, {2}, {0}, implicit $mode, implicit $exec",
    "v_cvt_pk_fp8_f32": "{0} = V_CVT_PK_FP8_F32_e64 0, {1}, 0, {2}, {0}, 0, implicit $mode, implicit $exec",
    "v_cvt_sr_fp8_f32": "{0} = V_CVT_SR_FP8_F32_e64 0, {1}, 0, {2}, 0, {0}, 0, implicit $mode, implicit $exec",
    "exp": "EXP 12, {1}, {1}, {1}, {1}, -1, 0, 15, implicit $exec",
    "s_mov_b32": "$sgpr8 = S_MOV_B32 0",
    "s_mov_b64": "$exec = S_MOV_B64 -1",
    "s_and_saveexec_b64": "$sgpr0_sgpr1 = S_AND_SAVEEXEC_B64 $sgpr2_sgpr3, implicit-def $exec, implicit-def $scc, "
    "implicit $exec",
    "s_waitcnt_depctr": "S_WAITCNT_DEPCTR {0}",
    "v_nop": "V_NOP_e32 implicit $exec",
    "v_rcp_f32": "{0} = V_RCP_F32_e32 {1}, implicit $mode, implicit $exec",
    "v_rcp_f64": "{0} = V_RCP_F64_e32 {1}, implicit $mode, implicit $exec",
    "v_add_f32": "{0} = V_ADD_F32_e32 {1}, {2}, implicit $mode, implicit $exec",
    "v_fmac_f32": "{0} = V_FMAC_F32_e32 {1}, {2}, {0}, implicit $mode, implicit $exec",
    "v_exp_f16": "{0} = V_EXP_F16_t16_e64 0, {1}, 0, 0, 0, implicit $mode, implicit $exec",
    "v_mov_b32_dpp": "{0} = V_MOV_B32_dpp undef {0}, {1}, 273, 15, 15, 0, implicit $exec",
    "v_permlanex16_b32": "{0} = V_PERMLANEX16_B32_e64 0, {1}, 0, $sgpr0, 0, $sgpr1, {0}, 0, implicit $exec",
    "v_dual_mov_b32": "{0}, {2} = V_DUAL_MOV_B32_e32_X_MOV_B32_e32_gfx11 {1}, {3}, implicit $exec, implicit $exec",
    "lds_direct_load": "{0} = LDS_DIRECT_LOAD {wait_vdst}, implicit $m0, implicit $exec",
    "lds_param_load": "{0} = LDS_PARAM_LOAD 0, 0, {wait_vdst}, implicit $m0, implicit $exec",
    "ds_direct_load": "{0} = DS_DIRECT_LOAD {wait_va_vdst}, 1, implicit $m0, implicit $exec",
}  # fmt: skip


HALVES = {"": "", "l": "_lo16", "h": "_hi16"}


def mir(text: str, target: str) -> str:
    statement = read_line(text)
    operands = (*statement.operands, *(statement.second.operands if statement.second else ()))
    names = ["_".join(f"{'$vgpr' if r.file == 'v' else '$agpr'}{r.first + n}{HALVES[r.half]}"
                      for r in vector_registers(operand) for n in range(r.count)) or operand
             for operand in operands]  # fmt: skip
    names = [name.replace("_$", "_").replace("$", "$", 1) for name in names]
    if statement.mnemonic in SIMPLE:
        return SIMPLE[statement.mnemonic].format(*names, **statement.modifiers)
    inst = mmacalc.instruction(target, statement.mnemonic)
    return (mir_mfma if inst.architecture.family.blocks else mir_wmma)(inst, statement, names)


def pseudo(inst, statement) -> str:
    """LLVM's name of the instruction: that of the architecture that had it first."""
    older = {name for arch in ("cdna2", "cdna3") for i in mmacalc.instructions(arch) for name in (i.name, *i.aliases)}
    names = [name for name in inst.aliases if name in older] or [inst.name]
    name = min(names, key=lambda name: (not name.endswith("_1k"), len(name))).upper()
    return name + "".join(f"_f{(8, 8, 6, 6, 4)[code]}" for code in formats(statement))


def formats(statement) -> list[int]:
    """The numbers of an f8f6f4 instruction's two formats, which LLVM's scheduling model reads; else nothing."""
    values = re.findall(r"(?:MATRIX_FMT_|cbsz:|blgp:)(\w+)", statement.text)
    return [int(v) if v.isdigit() else ("FP8", "BF8", "FP6", "BF6", "FP4").index(v) for v in values]


def mir_mfma(inst, statement, names) -> str:
    end = ", implicit $mode, implicit $exec"
    name = pseudo(inst, statement)
    if inst.sparse:
        return f"{names[0]} = {name}_e64 {names[1]}, {names[2]}, {names[3]}, 0, 0, {names[0]}{end}"
    name += "_e64" if names[0].startswith("$agpr") else "_vgprcd_e64"
    modes = ", ".join(map(str, formats(statement) or (0, 0, 0)))
    scales = f", {names[4]}, {names[5]}, 0, 0" if "scale" in inst.features else ""
    return f"{names[0]} = {name} {', '.join(names[1:4])}, {modes}{scales}{end}"


def mir_wmma(inst, statement, names) -> str:
    wave = 64 if names[0].count("vgpr") < inst.operand("D", wave=32).registers else 32
    inner = inst.formats["A"]
    integer, floats = inner.startswith("iu"), inner in ("f16", "bf16", "f32")
    modifier = "8, " if integer or floats else ""
    new, old = inst.arch in ("cdna5", "gfx1251"), inst.arch == "rdna3"
    if inst.sparse:
        zeros = (3 if modifier else 1) + 2 * new - inst.name.endswith("64_iu4")  # which has no index_key
        c = f"{names[0]}, {names[3]}"
        form = "twoaddr"
    else:
        zeros = 2 + 2 * (new and not inst.name.endswith("_f4")) + (old and integer)
        zeros = 4 if old and inst.formats["D"] in ("f16", "bf16") else zeros
        zeros = {True: 8, False: zeros}["scale" in inst.features] + 2 * ("scale" in inst.features and inner == "f8f6f4")
        c = f"{'' if integer and not old else '8, '}{names[3]}"
        form = "twoaddr" if names[0] == names[3] or inst.formats["C"] != inst.formats["D"] else "threeaddr"
    c += f", {names[4]}, {names[5]}" if "scale" in inst.features else ""
    name = pseudo(inst, statement) + (f"_{form}_w{wave}" if old else f"_w{wave}_{form}")
    tail = [*formats(statement), *[0] * zeros][:zeros]
    operands = f"{modifier}{names[1]}, {modifier}{names[2]}, {c}, {', '.join(map(str, tail))}"
    return f"early-clobber {names[0]} = {name} {operands}, implicit $exec"


def llc(target: str, listings: list[list[str]]) -> list[list[list[str]]]:
    """What llc-22 inserts before each instruction: for every listing, for every line, the nops."""
    answers = []
    for lines in recognized(target, listings):
        nops, before = [], []
        for text in lines:
            if re.match(r"(S_NOP|V_NOP)", text):
                before.append(text)
            else:
                nops.append(before)
                before = []
        answers.append(nops[:-1])
    return answers


def recognized(target: str, listings: list[list[str]], wave: int | None = None) -> list[list[str]]:
    """Each listing as machine IR after llc-22's hazard recognizer, line by line."""
    functions = []
    for number, lines in enumerate(listings):
        body = "".join(f"    {mir(line, target)}\n" for line in lines)
        functions.append(f"---\nname: f{number}\nbody: |\n  bb.0:\n{body}    S_ENDPGM 0\n...\n")
    return [body[1:] for body in after_recognizer(target, functions, wave)]


def after_recognizer(
    target: str, functions: list[str], wave: int | None = None, part: str = "post-RA-hazard-rec"
) -> list[list[str]]:
    """The lines of each function's body after a pass of llc-22, the hazard recognizer."""
    command = [
        tool("llc"),
        "-mtriple=amdgcn",
        f"-mcpu={target}",
        *([f"-mattr=+wavefrontsize{wave}"] if wave else []),
        f"-run-pass={part}",
        "-o",
        "-",
        "-x",
        "mir",
        "-",
    ]
    done = subprocess.run(command, input="".join(functions), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[:2000]
    bodies = [part.split("\n...")[0].splitlines()[1:] for part in done.stdout.split("\nbody:")[1:]]
    assert len(bodies) == len(functions)
    return [[text.strip() for text in body if text.strip()] for body in bodies]


def states(nops: list[str]) -> int:
    return sum(int(nop.split()[1]) + 1 if nop.startswith("S_NOP") else 1 for nop in nops)


def compare(target: str, pairs: list[tuple[str, str]]) -> None:
    wrong = []
    for pair, inserted in zip(pairs, llc(target, [list(pair) for pair in pairs])):
        ours = mmacalc.wait_states(*pair, target)
        if ours.llvm != states(inserted[1]) or (inserted[1] and ours.unit != inserted[1][0][:5].lower()):
            wrong.append((pair, inserted[1], ours.llvm, ours.rule))
    assert not wrong, (len(wrong), len(pairs), [(*w[:3], w[3][:60]) for w in wrong[:40]])


def codes_of(inst):
    return list(product((0, 2, 4), repeat=2)) if inst.formats["A"] == "f8f6f4" else [(0, 0)]


def known(target):
    """The instructions that llc can be asked about; LLVM 22 does not know gfx1251's f64 one."""
    return [inst for inst in mmacalc.instructions(target) if not inst.unconfirmed_parts or inst.formats["A"] != "f64"]


def others(target, file):
    """Instructions that are no matrix instruction, touching one register of D (0), A (64), B (96), C (128) or K."""
    for at in (0, 3, 128) if target == "gfx908" else ():
        yield f"v_accvgpr_read_b32 v240, a{at}"
        yield f"v_accvgpr_write_b32 a{at}, v240"
    for at in (0, 1, 64, 96, 128, 129, 160):
        yield f"v_mov_b32 v240, {file}{at}" if file == "v" else f"v_accvgpr_read_b32 v240, a{at}"
        yield f"v_mov_b32 {file}{at}, v240" if file == "v" else f"v_accvgpr_write_b32 a{at}, v240"
        yield f"global_store_dword v[250:251], {file}{at}, off"
        yield f"global_load_dword {file}{at}, v[250:251], off"
        yield f"ds_write_b32 v250, {file}{at}"
        yield f"ds_read_b32 {file}{at}, v250"


@sampled("target", [*MFMA, *WMMA], 4)
def test_llc_inserts_what_we_say_around_every_matrix_instruction(target):
    pairs, chance = [], random.Random(target)
    for inst in known(target):
        files = ("a",) if target == "gfx908" else ("v", "a") if target in MFMA and not inst.sparse else ("v",)
        for file, codes in product(files, codes_of(inst)):
            text = line(inst, d_file=file, codes=codes)
            reach = chance.sample([*others(target, "v" if target == "gfx908" else file)], 8)
            pairs += [(text, other) for other in reach] + [(other, text) for other in reach[:4]]
    if target in MFMA:
        pairs += [("v_cmpx_eq_u32_e32 v240, v241", line(inst)) for inst in known(target)]
    compare(target, pairs)


def kind_and_length(inst, codes, target):
    from mmacalc.hazards.register_use import entry_of, register_use

    use = register_use(read_line(line(inst, codes=codes)), entry_of(target))
    return use.kinds, use.passes


def representatives(target):
    """One matrix instruction of every kind, length and size of D."""
    found = {}
    for inst in known(target):
        for codes in codes_of(inst):
            size = inst.operand("D").registers
            key = (*kind_and_length(inst, codes, target), size, inst.sparse, "scale" in inst.features)
            found.setdefault(key, (inst, codes))
    return list(found.values())


@sampled("target", [*MFMA, *WMMA], 4, first=1)
def test_llc_inserts_what_we_say_between_all_kinds_of_matrix_instructions(target):
    """A pair for each kind and length of the first, kind of the second, and operand of it that meets D of the first."""
    pairs = {}
    places = ({"d": 0, "c": None}, {"d": 2, "c": None}, {"c": 0}, {"c": 2}, {"d": 0}, {"a": 0}, {"b": 2}, {"k": 0}, {})
    all_pairs = [*product(representatives(target), repeat=2)]
    random.Random(target).shuffle(all_pairs)
    for (one, codes), (two, more) in all_pairs:
        ab_file = "a" if target == "gfx908" else "v"
        kinds = kind_and_length(one, codes, target), kind_and_length(two, more, target)[0], two.sparse
        for at in places:
            where = {"d": 192, "c": 224, "a": 64, "b": 96, "k": 160, **at}
            size = two.operand("D").registers
            if where["c"] is not None and where["d"] != where["c"] and abs(where["d"] - where["c"]) < size:
                continue
            if two.formats["C"] != two.formats["D"] and where["c"] is None:
                continue
            pair = line(one, codes=codes), line(two, codes=more, ab_file=ab_file, **where)
            pairs.setdefault((kinds, *at.items()), pair)
    compare(target, [*pairs.values()])


SPECIAL = {  # the other kinds of instruction that rules name
    "gfx90a": (
        "v_fma_f64 v[240:241], v[242:243], v[244:245], v[246:247]", "v_dot4_i32_i8 v0, v64, v65, v0",
        "v_dot8_i32_i4 v64, v0, v65, v0", "v_dot4_i32_i8 v64, v0, v65, v66", "v_mov_b32 v0, v64",
        "v_mov_b32 v64, v0", "v_exp_f32 v0, v64", "v_readfirstlane_b32 s8, v0", "exp mrt0 v0, v0, v0, v0",
        "ds_read_b32 v0, v64", "flat_store_dword v[240:241], v0", "buffer_store_dword v0, off, s[0:3], 0",
    ),
    "gfx1250": (
        "v_exp_f32 v64, v0", "v_exp_f32 v0, v64", "v_exp_f32 v250, v0", "v_mov_b32 v64, v0", "v_mov_b32 v0, v64",
        "v_mov_b32 v161, v0", "v_readfirstlane_b32 s0, v0", "global_store_dword v[240:241], v0, off",
    ),
    "gfx908": (
        "v_mov_b32 v240, v64", "v_mov_b32 v64, v240", "v_accvgpr_read_b32 v64, a0", "v_accvgpr_write_b32 a0, v64",
        "global_store_dword v[240:241], v64, off", "ds_write_b32 v240, v64", "exp mrt0 v64, v64, v64, v64",
        "v_cmpx_eq_u32_e32 v240, v241", "ds_read_u8_d16 v64, v240", "global_load_short_d16_hi v64, v[240:241], off",
        "buffer_load_ubyte_d16 v64, off, s[0:3], 0", "v_dot2c_f32_f16 v64, v240, v241",
    ),
}  # fmt: skip
SPECIAL["gfx942"] = (
    *SPECIAL["gfx90a"], "v_cvt_pk_fp8_f32 v0, v64, v65", "v_cvt_sr_fp8_f32 v0, v64, v65", "ds_read_u8_d16 v0, v64",
    "v_dot2c_f32_f16 v0, v64, v65",
)  # fmt: skip
SPECIAL["gfx950"] = (
    *SPECIAL["gfx90a"], "v_permlane16_swap_b32 v0, v64", "v_permlane32_swap_b32 v64, v0",
    "v_cmpx_eq_u32_e32 v240, v241",
)  # fmt: skip
SPECIAL["gfx1200"] = SPECIAL["gfx1250"]


@pytest.mark.parametrize("target", SPECIAL)
def test_llc_inserts_what_we_say_between_instructions_of_other_kinds(target):
    matrix = [line(inst, codes=codes) for inst, codes in representatives(target)]
    pairs = [*product(matrix, SPECIAL[target]), *product(SPECIAL[target], matrix)]
    compare(target, pairs + [pair for pair in product(SPECIAL[target], repeat=2) if ours_to_judge(*pair)])


def ours_to_judge(first, second):
    """Not LLVM's hazards without a matrix or dot instruction or AccVGPR: those of SGPRs and transcendental results."""
    ours = first.startswith(("v_dot", "v_accvgpr")) or second.startswith(("v_dot", "v_accvgpr", "v_fma", "v_perm"))
    return ours and not first.startswith("v_exp")


# --- whole listings: the nops that lint asks for are those that llc inserts ---


def random_listing(target, chance):
    """A dozen instructions, among them one matrix instruction a few times, with results in different registers.

    Of several earlier writers of one register LLVM looks at the nearest alone, and on gfx908 takes the length of the
    longest matrix instruction around; lint asks for what each pair needs. So both are kept out.
    """
    inst, codes = chance.choice(
        [each for each in representatives(target) if each[0].formats["C"] == each[0].formats["D"]]
    )
    file = "a" if target == "gfx908" else "v"
    lines = []
    for d in chance.sample((0, 32, 64), 3):
        c, a = chance.choice((200, 0, 32, 64, None)), chance.choice((150, 0 if file == "v" else 150))
        lines.append(line(inst, d=d, c=c, a=a, b=170, k=240, codes=codes))
    for _ in range(9):
        at = chance.choice((0, 1, 32, 33, 64, 150, 170, 200, 201, 240))
        plain = (
            "v_mov_b32 v250, v{}",
            "v_mov_b32 v{}, v250",
            "global_store_dword v[252:253], v{}, off",
            "s_mov_b32 s8, 0",
        )
        other = ("v_accvgpr_read_b32 v250, a{}", "v_accvgpr_write_b32 a{}, v250") if file == "a" else ()
        lines.append(chance.choice((*plain, *other)).format(at))
    chance.shuffle(lines)
    return lines


# Hazards that there are only with a third instruction between.
_STORE, _MOVE, _OTHER = "global_store_dword v[252:253], v0, off", "v_mov_b32 v0, v250", "v_mov_b32 v9, v8"
BETWEEN = {
    "gfx908": [
        [_MOVE, acc, *more, _STORE]
        for acc in ("v_accvgpr_read_b32 v7, a3", "v_accvgpr_write_b32 a3, v9")
        for more in ((), (_OTHER,))
    ] + [[_MOVE, _OTHER, "v_accvgpr_read_b32 v7, a3", _STORE], [_MOVE, _STORE]],
    "gfx90a": [[_MOVE, "v_mfma_f64_4x4x4f64 v[64:65], v[66:67], v[68:69], v[64:65]", *more, _STORE]
               for more in ((), (_OTHER,))],
}  # fmt: skip


@sampled("target", ["gfx908", "gfx90a", "gfx942", "gfx1100", "gfx1250"], 2, first=1)
def test_lint_asks_for_the_nops_that_llc_inserts_into_a_listing(target):
    from mmacalc.hazards.lint import lint

    chance = random.Random(target)
    listings = [random_listing(target, chance) for _ in range(100)] + BETWEEN.get(target, [])
    wrong, later = [], 0
    for lines, inserted in zip(listings, llc(target, listings)):
        findings = lint("\n".join(lines), target).of_kind("wait states")
        if any("on GitHub" in one.wait.rule for one in findings):
            later += 1  # LLVM 22 lacks it
            continue
        ours = {one.line: sum(states_of(nop) for nop in one.nops) for one in findings if one.nops}
        theirs = {number: states(nops) for number, nops in enumerate(inserted, 1) if nops}
        if ours != theirs:
            wrong.append((lines, ours, theirs))
    assert later < 30
    assert not wrong, (len(wrong), wrong[:2])


def states_of(nop):
    return int(nop.split()[1]) + 1 if nop.startswith("s_nop") else 1


# --- what clang emits for kernels with loops and branches needs no mending, until its nops are taken out ---

KERNEL = """
typedef float f16 __attribute__((ext_vector_type(16))); typedef float f8 __attribute__((ext_vector_type(8)));
typedef float f4 __attribute__((ext_vector_type(4))); typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef _Float16 h16 __attribute__((ext_vector_type(16)));
#define KERNEL __attribute__((global)) void
#if defined(__gfx1250__) || defined(__gfx1100__)
#ifdef __gfx1250__
#define MMA(a, b, c) __builtin_amdgcn_wmma_f32_16x16x32_f16(0, a, 0, b, 0, c, 0, 0)
#else
#define MMA(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c)
#endif
KERNEL kernel(const h16* a, const h16* b, f8* out, int n) {
  int t = __builtin_amdgcn_workitem_id_x();
  f8 c = {0};
  for (int i = 0; i < n; i++) {
    h16 x = a[t + i];
    c = MMA(x, b[t], c);
    for (int j = 0; j < 8; j++) x[j] = (_Float16)c[j];
    c = MMA(x, b[t], c);
  }
  out[t] = c;
}
#else
KERNEL kernel(const h4* a, const h4* b, float* out, int n) {
  int t = __builtin_amdgcn_workitem_id_x();
  f16 c = {0};
  f4 d = {0};
  for (int i = 0; i < n; i++) {
    h4 x = a[t + i * 64], y = b[t + i * 64];
    x[0] = (_Float16)((float)x[0] * 2.0f + c[3]);
    c = __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, c, 0, 0, 0);
    if (c[0] > 3.0f) d = __builtin_amdgcn_mfma_f32_4x4x4f16(x, y, d, 0, 0, 0);
    d = __builtin_amdgcn_mfma_f32_16x16x4f32(d[0], c[1], d, 0, 0, 0);
  }
  for (int j = 0; j < 16; j++) out[t * 16 + j] = c[j];
  for (int j = 0; j < 4; j++) out[4096 + t * 4 + j] = d[j];
}
#endif
"""


@pytest.mark.parametrize("target", [*MFMA, "gfx1100", "gfx1250"])
def test_what_clang_emits_is_clean_and_without_its_nops_is_not_until_mended(target):
    from mmacalc.hazards.lint import lint

    listing = hip_listing(KERNEL, target)
    assert lint(listing, target).findings == ()
    lines = ["" if re.match(r"\s*[sv]_nop", text) else text for text in listing.splitlines()]
    found = lint("\n".join(lines), target).findings
    assert found or target == "gfx1100"  # whose D never is the next A or B without a conversion between
    for one in found:
        lines[one.line - 1] = "\n".join([*one.nops, lines[one.line - 1]])
    assert lint("\n".join(lines), target).findings == ()


# --- LLVM 24, of gfx1250 and gfx1251 (tests/oracles/llvm24_wait_states.py) ---


def later_answers():
    """target, first, second, and the v_nops that LLVM 24 inserts."""
    with gzip.open(DATA / "hazards_24.tsv.gz", "rt") as file:
        return [(*row[:3], int(row[3])) for row in csv.reader(file, delimiter="\t")]


def test_gfx1251_waits_as_llvm_24_does():
    """Or longer where LLVM contradicts itself or is known to be wrong: docs/isa-errata.md."""
    compared = 0
    for target, first, second, nops in later_answers():
        if target != "gfx1251":
            continue
        found = mmacalc.wait_states(first, second, target)
        half_fp4 = "a_fmt:MATRIX_FMT_FP4" in first and "b_fmt:MATRIX_FMT_FP4" not in first
        late_c = second == "v_mov_b32 v128, v240"
        if half_fp4 or late_c:
            assert found.states >= nops
        else:
            assert found.sources[1].states == found.states == nops, (first, second, found.rule)
            compared += 1
    assert compared > 1000


def test_gfx1250_waits_at_least_as_long_as_llvm_24_does_on_the_newer_stepping():
    more = set()
    for target, first, second, nops in later_answers():
        if target == "gfx1250":
            found = mmacalc.wait_states(first, second, target)
            assert found.states >= nops, (first, second)
            if nops > found.llvm:
                more.add(second.split()[0])
    assert more == {"v_exp_f32"}


def test_expert_scheduling_of_gfx1250_waits_as_llvm_24_does():
    """C alone is waited for though LLVM does not (issue 222932)."""
    mode, compared = "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), 2\n", 0
    for target, first, second, nops in later_answers():
        if target == "gfx1250" and second != "v_mov_b32 v128, v240":
            found = mmacalc.waits(f"{mode}{first}\n{second}\n", target).waits
            assert max((one.wait.states for one in found), default=0) == nops, (first, second)
            assert bool(mmacalc.lint(f"{mode}{first}\n{second}\n", target).of_kind("wait states")) == bool(nops)
            compared += 1
    assert compared > 1000


@pytest.mark.parametrize(("target", "states"), [("gfx1250", 4), ("gfx1251", 8)])
def test_c_of_a_wmma_is_not_overwritten_while_it_is_read(target, states):
    """LLVM's issue 222932; a C that is D was covered before."""
    first = "v_wmma_bf16f32_16x16x32_bf16 v[0:3], v[64:71], v[96:103], v[128:135]"
    found = mmacalc.wait_states(first, "v_mov_b32 v130, v240", target)
    assert (found.states, found.llvm, "issue 222932" in found.rule) == (states, 0, True)
    assert mmacalc.wait_states(first, "v_mov_b32 v136, v240", target).states == 0
    for second in ("v_mov_b32 v2, v240", "v_mov_b32 v136, v240"):  # a report that says nothing is no source
        assert not any("GitHub" in each.place for each in mmacalc.wait_states(first, second, target).sources)
    listing = f"{first}\nv_mov_b32 v130, v240\n"
    assert [each.wait.states for each in mmacalc.lint(listing, target).findings] == [states]


def test_c_of_a_wmma_of_gfx1250_is_read_as_late_as_its_a():
    """LLVM's issue 222932, for both lengths of its table; scaled and sparse instructions wait for A in the same way."""
    seen = set()
    for name, a in (
        ("v_wmma_f32_16x16x32_f16", 8), ("v_wmma_f16_16x16x32_f16", 8), ("v_wmma_f32_16x16x64_fp8_fp8", 8),
        ("v_wmma_f32_16x16x128_fp8_fp8", 16), ("v_wmma_f16_16x16x128_bf8_fp8", 16), ("v_wmma_i32_16x16x64_iu8", 8),
    ):  # fmt: skip
        d = 4 if name.startswith("v_wmma_f16") else 8
        text = f"{name} v[0:{d - 1}], v[64:{63 + a}], v[96:{95 + a}], v[128:{127 + d}]"
        of_a, of_c = (mmacalc.wait_states(text, f"v_mov_b32 v{first}, v240", "gfx1250").states for first in (65, 129))
        assert of_a == of_c > 0, name
        seen.add(of_c)
    assert seen == {4, 8}


@pytest.mark.parametrize(("c", "written", "reported"), [("v[0:7]", 0, False), ("v[4:11]", 4, False),
                                                        ("v[4:11]", 8, True), ("v[128:135]", 128, True)])  # fmt: skip
def test_a_c_that_is_d_waits_by_llvm_22s_own_rule(c, written, reported):
    """LLVM 22 waits for a write to D; issue 222932 is about the registers of C that D does not have."""
    first = f"v_wmma_f32_16x16x32_f16 v[0:7], v[64:71], v[96:103], {c}"
    found = mmacalc.wait_states(first, f"v_mov_b32 v{written}, v240", "gfx1250")
    assert (found.states, found.llvm, "issue 222932" in found.rule) == (4, 0 if reported else 4, reported)
    (inserted,) = llc("gfx1250", [[first, f"v_mov_b32 v{written}, v240"]])
    assert states(inserted[1]) == found.llvm


# --- hazards without a matrix instruction: DPP, lanes, VCC, EXEC, SGPRs ---

EXEC = "implicit $exec"
FLOAT = f"implicit $mode, {EXEC}"
FOUR, RESOURCE = "$vgpr0_vgpr1_vgpr2_vgpr3", "$sgpr8_sgpr9_sgpr10_sgpr11"
SCALAR = {  # assembly -> MIR
    "v_mov_b32 v1, v2": f"$vgpr1 = V_MOV_B32_e32 $vgpr2, {EXEC}",
    "v_exp_f32 v1, v2": f"$vgpr1 = V_EXP_F32_e32 $vgpr2, {FLOAT}",
    "v_mov_b32 v3, v1": f"$vgpr3 = V_MOV_B32_e32 $vgpr1, {EXEC}",
    "v_exp_f32 v3, v1": f"$vgpr3 = V_EXP_F32_e32 $vgpr1, {FLOAT}",
    "v_mov_b32_dpp v3, v1 quad_perm:[1,0,0,0] row_mask:0xf bank_mask:0xf":
        f"$vgpr3 = V_MOV_B32_dpp $vgpr3, $vgpr1, 1, 15, 15, 0, {EXEC}",
    "v_mov_b32_dpp v1, v3 quad_perm:[1,0,0,0] row_mask:0xf bank_mask:0xf":
        f"$vgpr1 = V_MOV_B32_dpp $vgpr1, $vgpr3, 1, 15, 15, 0, {EXEC}",
    "v_cmpx_eq_u32_e32 vcc, v1, v2":
        f"V_CMPX_EQ_U32_e32 $vgpr1, $vgpr2, implicit-def $exec, implicit-def $vcc, {EXEC}",
    "v_cmp_eq_u32_e32 vcc, v1, v2": f"V_CMP_EQ_U32_e32 $vgpr1, $vgpr2, implicit-def $vcc, {EXEC}",
    "v_cmp_eq_u32_e64 s[4:5], v1, v2": f"$sgpr4_sgpr5 = V_CMP_EQ_U32_e64 $vgpr1, $vgpr2, {EXEC}",
    "v_readlane_b32 s4, v1, 0": "$sgpr4 = V_READLANE_B32 $vgpr1, 0",
    "v_readfirstlane_b32 s4, v1": f"$sgpr4 = V_READFIRSTLANE_B32 $vgpr1, {EXEC}",
    "v_readlane_b32 s5, v1, s4": "$sgpr5 = V_READLANE_B32 $vgpr1, $sgpr4",
    "v_readlane_b32 s5, v9, vcc_lo": "$sgpr5 = V_READLANE_B32 $vgpr9, $vcc_lo",
    "v_readfirstlane_b32 s8, v1": f"$sgpr8 = V_READFIRSTLANE_B32 $vgpr1, {EXEC}",
    "v_writelane_b32 v5, 1, s4": "$vgpr5 = V_WRITELANE_B32 1, $sgpr4, $vgpr5",
    "v_writelane_b32 v5, s4, 1": "$vgpr5 = V_WRITELANE_B32 $sgpr4, 1, $vgpr5",
    "v_writelane_b32 v1, 1, 2": "$vgpr1 = V_WRITELANE_B32 1, 2, $vgpr1",
    "s_mov_b32 s4, 1": "$sgpr4 = S_MOV_B32 1",
    "s_mov_b64 vcc, 0": "$vcc = S_MOV_B64 0",
    "s_mov_b32 s5, s4": "$sgpr5 = S_MOV_B32 $sgpr4",
    "v_mov_b32 v9, s4": f"$vgpr9 = V_MOV_B32_e32 $sgpr4, {EXEC}",
    "v_cndmask_b32_e64 v9, v8, v7, s[4:5]":
        f"$vgpr9 = V_CNDMASK_B32_e64 0, $vgpr8, 0, $vgpr7, $sgpr4_sgpr5, {EXEC}",
    "v_cndmask_b32_e32 v9, v8, v7, vcc": f"$vgpr9 = V_CNDMASK_B32_e32 $vgpr8, $vgpr7, implicit $vcc, {EXEC}",
    "v_div_fmas_f32 v9, v8, v7, v6":
        f"$vgpr9 = V_DIV_FMAS_F32_e64 0, $vgpr8, 0, $vgpr7, 0, $vgpr6, 0, 0, implicit $vcc, {FLOAT}",
    "global_load_dword v9, v8, s[4:5]": f"$vgpr9 = GLOBAL_LOAD_DWORD_SADDR $sgpr4_sgpr5, $vgpr8, 0, 0, {EXEC}",
    "global_load_dword v1, v[8:9], off": f"$vgpr1 = GLOBAL_LOAD_DWORD $vgpr8_vgpr9, 0, 0, {EXEC}",
    "buffer_load_dword v9, off, s[4:7], 0":
        f"$vgpr9 = BUFFER_LOAD_DWORD_OFFSET $sgpr4_sgpr5_sgpr6_sgpr7, 0, 0, 0, 0, {EXEC}",
    "buffer_load_dword v9, off, s[8:11], s4":
        f"$vgpr9 = BUFFER_LOAD_DWORD_OFFSET $sgpr8_sgpr9_sgpr10_sgpr11, $sgpr4, 0, 0, 0, {EXEC}",
    "ds_read_b32 v9, v1": f"$vgpr9 = DS_READ_B32_gfx9 $vgpr1, 0, 0, {EXEC}",
    "global_store_dwordx4 v[10:11], v[0:3], off":
        f"GLOBAL_STORE_DWORDX4 $vgpr10_vgpr11, {FOUR}, 0, 0, {EXEC}",
    "global_store_dwordx2 v[10:11], v[0:1], off":
        f"GLOBAL_STORE_DWORDX2 $vgpr10_vgpr11, $vgpr0_vgpr1, 0, 0, {EXEC}",
    "flat_store_dwordx3 v[10:11], v[0:2]":
        f"FLAT_STORE_DWORDX3 $vgpr10_vgpr11, $vgpr0_vgpr1_vgpr2, 0, 0, {EXEC}, implicit $flat_scr",
    "scratch_store_dwordx4 v10, v[0:3], off":
        f"SCRATCH_STORE_DWORDX4 {FOUR}, $vgpr10, 0, 0, {EXEC}, implicit $flat_scr",
    "global_atomic_cmpswap_x2 v[10:11], v[0:3], off":
        f"GLOBAL_ATOMIC_CMPSWAP_X2 $vgpr10_vgpr11, {FOUR}, 0, 0, {EXEC}",
    "buffer_store_dwordx4 v[0:3], off, s[8:11], 0":
        f"BUFFER_STORE_DWORDX4_OFFSET {FOUR}, {RESOURCE}, 0, 0, 0, 0, {EXEC}",
    "buffer_store_dwordx4 v[0:3], off, s[8:11], s12":
        f"BUFFER_STORE_DWORDX4_OFFSET {FOUR}, {RESOURCE}, $sgpr12, 0, 0, 0, {EXEC}",
    "buffer_atomic_cmpswap_x2 v[0:3], off, s[8:11], 0":
        f"BUFFER_ATOMIC_CMPSWAP_X2_OFFSET {FOUR}, {RESOURCE}, 0, 0, 0, {EXEC}",
    "tbuffer_store_format_xyzw v[0:3], off, s[8:11], 0":
        f"TBUFFER_STORE_FORMAT_XYZW_OFFSET_exact {FOUR}, {RESOURCE}, 0, 0, 1, 0, 0, {EXEC}",
    "ds_write_b128 v10, v[0:3]": f"DS_WRITE_B128_gfx9 $vgpr10, {FOUR}, 0, 0, {EXEC}",
    "v_mov_b32_sdwa v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD":
        f"$vgpr1 = V_MOV_B32_sdwa 0, $vgpr2, 0, 5, 2, 6, {EXEC}, implicit $vgpr1(tied-def 0)",
    "v_mov_b32_sdwa v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD":
        f"$vgpr1 = V_MOV_B32_sdwa 0, $vgpr2, 0, 6, 0, 6, {EXEC}",
    "v_mov_b32_sdwa v9, v1 dst_sel:BYTE_0 dst_unused:UNUSED_PAD src0_sel:DWORD":
        f"$vgpr9 = V_MOV_B32_sdwa 0, $vgpr1, 0, 0, 0, 6, {EXEC}",
    "v_fma_f16 v1, v2, v3, v4 op_sel:[0,0,0,1]":
        f"$vgpr1 = V_FMA_F16_gfx9_e64 8, $vgpr2, 0, $vgpr3, 0, $vgpr4, 0, 0, 0, {FLOAT}",
    "v_fma_f16 v1, v2, v3, v4 op_sel:[1,1,1,0]":
        f"$vgpr1 = V_FMA_F16_gfx9_e64 4, $vgpr2, 4, $vgpr3, 4, $vgpr4, 0, 0, 0, {FLOAT}",
    "v_pk_fma_f16 v1, v2, v3, v4": f"$vgpr1 = V_PK_FMA_F16 8, $vgpr2, 8, $vgpr3, 8, $vgpr4, 0, 0, 0, 0, 0, {FLOAT}",
    "v_pk_fma_f16 v1, v2, v3, v4 op_sel_hi:[0,1,1]":
        f"$vgpr1 = V_PK_FMA_F16 0, $vgpr2, 8, $vgpr3, 8, $vgpr4, 0, 0, 0, 0, 0, {FLOAT}",
    "v_fma_mix_f32 v1, v2, v3, v4 op_sel_hi:[1,1,0]":
        f"$vgpr1 = V_FMA_MIX_F32 8, $vgpr2, 8, $vgpr3, 0, $vgpr4, 0, 0, 0, {FLOAT}",
    "v_fma_mixhi_f16 v1, v2, v3, v4 op_sel:[1,0,0]":
        f"$vgpr1 = V_FMA_MIXHI_F16 4, $vgpr2, 0, $vgpr3, 0, $vgpr4, 0, $vgpr1, 0, 0, {FLOAT}",
    "s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s4":
        "S_SETREG_B32 $sgpr4, 6145, implicit-def $mode, implicit $mode",
    "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 3":
        "S_SETREG_IMM32_B32 3, 6401, implicit-def $mode, implicit $mode",
    "s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS), 3":
        "S_SETREG_IMM32_B32 3, -2045, implicit-def $mode, implicit $mode",
    "s_getreg_b32 s4, hwreg(HW_REG_MODE)": "$sgpr4 = S_GETREG_B32 63489, implicit $mode",
    "s_getreg_b32 s4, hwreg(3)": "$sgpr4 = S_GETREG_B32 63491, implicit $mode",
    "s_rfe_b64 s[4:5]": "S_RFE_B64 $sgpr4_sgpr5",
    "s_mov_b32 m0, 1": "$m0 = S_MOV_B32 1",
    "s_mov_b32 s4, m0": "$sgpr4 = S_MOV_B32 $m0",
    "s_sendmsg sendmsg(MSG_INTERRUPT)": f"S_SENDMSG 1, {EXEC}, implicit $m0",
    "s_ttracedata": "S_TTRACEDATA implicit $m0",
    "s_movrels_b32 s4, s5": "$sgpr4 = S_MOVRELS_B32 $sgpr5, implicit $m0",
    "s_movreld_b64 s[4:5], s[6:7]": "S_MOVRELD_B64 $sgpr4_sgpr5, $sgpr6_sgpr7, implicit $m0",
    "s_set_gpr_idx_on s4, gpr_idx(SRC0)":
        "S_SET_GPR_IDX_ON $sgpr4, 1, implicit-def $mode, implicit-def $m0, implicit $m0, implicit $mode",
    "ds_read_addtid_b32 v9": f"$vgpr9 = DS_READ_ADDTID_B32 0, 0, implicit $m0, {EXEC}",
    "ds_write_addtid_b32 v1": f"DS_WRITE_ADDTID_B32 $vgpr1, 0, 0, implicit $m0, {EXEC}",
    "ds_append v9": f"$vgpr9 = DS_APPEND 0, 0, implicit $m0, {EXEC}",
    "buffer_load_dword off, s[8:11], 0 lds":
        f"BUFFER_LOAD_DWORD_LDS_OFFSET {RESOURCE}, 0, 0, 0, 0, {EXEC}, implicit $m0",
}  # fmt: skip
NEWER = {  # of gfx942 and gfx950
    "global_load_lds_dword v[8:9], off": f"GLOBAL_LOAD_LDS_DWORD $vgpr8_vgpr9, 0, 0, implicit $m0, {EXEC}",
    "v_cvt_pk_fp8_f32 v1, v2, v3 op_sel:[0,0,1]":
        f"$vgpr1 = V_CVT_PK_FP8_F32_e64 8, $vgpr2, 0, $vgpr3, $vgpr1, 0, {FLOAT}",
    "v_cvt_pk_fp8_f32 v1, v2, v3": f"$vgpr1 = V_CVT_PK_FP8_F32_e64 0, $vgpr2, 0, $vgpr3, $vgpr1, 0, {FLOAT}",
    "v_cvt_sr_fp8_f32 v1, v2, v3 op_sel:[0,0,1,0]":
        f"$vgpr1 = V_CVT_SR_FP8_F32_e64 0, $vgpr2, 0, $vgpr3, 4, $vgpr1, 0, {FLOAT}",
    "v_cvt_sr_fp8_f32 v1, v2, v3 op_sel:[0,0,0,1]":
        f"$vgpr1 = V_CVT_SR_FP8_F32_e64 8, $vgpr2, 0, $vgpr3, 0, $vgpr1, 0, {FLOAT}",
    "v_cvt_sr_fp8_f32 v1, v2, v3": f"$vgpr1 = V_CVT_SR_FP8_F32_e64 0, $vgpr2, 0, $vgpr3, 0, $vgpr1, 0, {FLOAT}",
}  # fmt: skip
NEWEST = {  # of gfx950
    "v_cvt_scalef32_pk_fp4_f32 v1, v2, v3, v4":
        f"$vgpr1 = V_CVT_SCALEF32_PK_FP4_F32_e64 0, $vgpr2, 0, $vgpr3, 0, $vgpr4, $vgpr1, 0, {FLOAT}",
    "v_cvt_scalef32_pk_fp4_f16 v1, v2, v3":
        f"$vgpr1 = V_CVT_SCALEF32_PK_FP4_F16_e64 0, $vgpr2, 0, $vgpr3, 0, $vgpr1, 0, {FLOAT}",
    "v_cvt_scalef32_sr_pk_fp4_f32 v1, v[2:3], v4, v6":
        f"$vgpr1 = V_CVT_SCALEF32_SR_PK_FP4_F32_e64 0, $vgpr2_vgpr3, 0, $vgpr4, 0, $vgpr6, $vgpr1, 0, {FLOAT}",
    "v_cvt_scalef32_pk_fp8_f32 v1, v2, v3, v4 op_sel:[0,0,0,1]":
        f"$vgpr1 = V_CVT_SCALEF32_PK_FP8_F32_e64 8, $vgpr2, 0, $vgpr3, 0, $vgpr4, $vgpr1, 0, {FLOAT}",
    "v_cvt_scalef32_sr_fp8_f32 v1, v2, v3, v4 op_sel:[0,0,1,0]":
        f"$vgpr1 = V_CVT_SCALEF32_SR_FP8_F32_e64 0, $vgpr2, 0, $vgpr3, 4, $vgpr4, $vgpr1, 0, {FLOAT}",
}  # fmt: skip
OLDEST = {  # of gfx908
    "ds_append v9 gds": f"$vgpr9 = DS_APPEND 0, 1, implicit $m0, {EXEC}",
    "ds_add_u32 v10, v1 gds": f"DS_ADD_U32_gfx9 $vgpr10, $vgpr1, 0, 1, {EXEC}",
    "v_mov_b32 v9, src_lds_direct": f"$vgpr9 = V_MOV_B32_e32 $lds_direct, {EXEC}, implicit $m0",
}  # fmt: skip


OF_TARGET = {
    "gfx908": {**SCALAR, **OLDEST}, "gfx90a": SCALAR, "gfx942": {**SCALAR, **NEWER},
    "gfx950": {**SCALAR, **NEWER, **NEWEST},
}  # fmt: skip


def is_clause(pair):
    """Whether these are accesses between which LLVM breaks a clause for XNACK's sake, which is no wait for a result."""
    return all(text.startswith(("global", "buffer", "flat", "scratch", "tbuffer")) for text in pair)


def differs(pair, target):
    """Whether we ask for another number than LLVM there, or note it alone, since AMD's own kernels leave it out."""
    wait = mmacalc.wait_states(*pair, target)
    return wait.states != wait.llvm or bool(wait.expiry.disputed)


@sampled("target", OF_TARGET, 1, first=1)
def test_llc_inserts_what_we_say_between_instructions_without_a_matrix(target):
    known = OF_TARGET[target]
    pairs = [pair for pair in product(known, repeat=2) if not is_clause(pair) and not pair[0].startswith("s_rfe")]
    functions = [
        f"---\nname: f{number}\nbody: |\n  bb.0:\n    {known[first]}\n    {known[second]}\n    S_ENDPGM 0\n...\n"
        for number, (first, second) in enumerate(pairs)
    ]
    wrong, waiting = [], 0
    for (first, second), body in zip(pairs, after_recognizer(target, functions)):
        theirs = states([text for text in body if text.startswith("S_NOP")])
        found = mmacalc.wait_states(first, second, target)
        waiting += theirs > 0
        # What UNUSED_PRESERVE reads is an implicit operand, at which LLVM does not look after v_exp.
        if found.llvm != theirs and not (first.startswith("v_exp") and "PRESERVE" in second):
            wrong.append((first, second, theirs, found.llvm))
    assert not wrong, (len(wrong), wrong[:12])
    assert waiting > 100


@sampled("target", OF_TARGET, 2)
def test_lint_asks_for_the_nops_that_llc_inserts_into_listings_without_a_matrix(target):
    known = {text: line for text, line in OF_TARGET[target].items() if not text.startswith(("s_rfe", "v_exp"))}
    chance, listings = random.Random(target), []
    while len(listings) < 60:
        texts = chance.choices(list(known), k=12)
        if not any(is_clause(pair) or differs(pair, target) for pair in pairwise(texts)):
            listings.append(texts)
    functions = []
    for number, texts in enumerate(listings):
        body = "".join(f"    {known[text]}\n" for text in texts)
        functions.append(f"---\nname: f{number}\nbody: |\n  bb.0:\n{body}    S_ENDPGM 0\n...\n")
    wrong = []
    for texts, body in zip(listings, after_recognizer(target, functions)):
        findings = mmacalc.lint("\n".join(texts), target).of_kind("wait states")
        ours = {one.line: sum(states_of(nop) for nop in one.nops) for one in findings if one.nops}
        theirs, number = {}, 1
        for text in body[1:-1]:
            if text.startswith("S_NOP"):
                theirs[number] = theirs.get(number, 0) + states([text])
            else:
                number += 1
        if ours != theirs:
            wrong.append((texts, ours, theirs))
    assert not wrong, (len(wrong), wrong[:2])


# --- vccz, which before gfx10 a write of half of VCC does not update ---

WRITES = {
    "s_mov_b32 vcc_lo, s0": "$vcc_lo = S_MOV_B32 $sgpr0",
    "s_and_b32 vcc_hi, s0, s1": "$vcc_hi = S_AND_B32 $sgpr0, $sgpr1, implicit-def $scc",
    "v_readfirstlane_b32 vcc_lo, v0": "$vcc_lo = V_READFIRSTLANE_B32 $vgpr0, implicit $exec",
    "s_mov_b64 vcc, s[0:1]": "$vcc = S_MOV_B64 $sgpr0_sgpr1",
    "v_cmp_eq_u32_e32 vcc, v0, v1": "V_CMP_EQ_U32_e32 $vgpr0, $vgpr1, implicit-def $vcc, implicit $exec",
    "v_cmp_eq_u32_e64 s[2:3], v0, v1": "$sgpr2_sgpr3 = V_CMP_EQ_U32_e64 $vgpr0, $vgpr1, implicit $exec",
    "s_mov_b32 s2, vcc_lo": "$sgpr2 = S_MOV_B32 $vcc_lo",
}


@pytest.mark.parametrize("target", ["gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100"])
def test_lint_asks_for_a_write_of_vcc_where_llc_inserts_one(target):
    """LLVM 22.1.8, SIInsertWaitcnts, which takes vccz for stale where a block begins; here each begins with a write."""
    chance = random.Random(5)
    bodies = [["s_mov_b64 vcc, s[0:1]", *chance.choices([*WRITES], k=chance.randrange(1, 5))] for _ in range(60)]
    functions = []
    for number, lines in enumerate(bodies):
        body = "".join(f"    {WRITES[line]}\n" for line in lines)
        body += f"    S_CBRANCH_VCC{'N' * (number % 2)}Z %bb.2, implicit $vcc\n  bb.1:\n    S_NOP 0\n"
        functions.append(f"---\nname: f{number}\nbody: |\n  bb.0:\n{body}  bb.2:\n    S_ENDPGM 0\n...\n")
    wave = 64 if target == "gfx1100" else None
    inserted = [
        "$vcc = S_MOV_B64 $vcc" in made for made in after_recognizer(target, functions, wave, "si-insert-waitcnts")
    ]
    assert any(inserted) == (wave is None)
    for number, (lines, wanted) in enumerate(zip(bodies, inserted)):
        branch = f"s_cbranch_vcc{'n' * (number % 2)}z L"
        report = mmacalc.lint("\n".join([*lines, branch, "L: s_endpgm"]), target)
        found = [(one.text, one.nops) for one in report.of_kind("vccz")]
        assert found == [(branch, ("s_mov_b64 vcc, vcc",))] * wanted, lines


# --- amounts of shifts of 64 bits on gfx90a ---


@pytest.mark.parametrize("target", ["gfx90a", "gfx942"])
def test_lint_names_a_shift_whose_amount_llc_copies_to_another_register(target):
    """LLVM 22.1.8, GCNHazardRecognizer::fixShift64HighRegBug."""
    names = {"v_lshlrev_b64": "V_LSHLREV_B64_e64", "v_lshrrev_b64": "V_LSHRREV_B64_e64",
             "v_ashrrev_i64": "V_ASHRREV_I64_e64"}  # fmt: skip
    cases = [(name, amount, other) for name in names for amount, other in ((7, 0), (7, 8), (7, 9), (6, 0), (15, 14),
             (15, 16), (0, 7), (247, 0), (255, 0))]  # fmt: skip
    functions, texts = [], []
    for number, (name, amount, other) in enumerate(cases):
        lines = f"    $vgpr{other} = V_MOV_B32_e32 0, implicit $exec\n    $vgpr2_vgpr3 = {names[name]} $vgpr{amount}, "
        lines += "$vgpr4_vgpr5, implicit $exec\n    S_ENDPGM 0\n"
        functions.append(f"---\nname: f{number}\nbody: |\n  bb.0:\n{lines}...\n")
        texts.append(f"f{number}:\nv_mov_b32 v{other}, 0\n{name} v[2:3], v{amount}, v[4:5]\ns_endpgm")
    copied = [sum("V_MOV_B32_e32" in line for line in made) > 1 for made in after_recognizer(target, functions)]
    assert any(copied) == (target == "gfx90a")
    found = mmacalc.lint("\n".join(texts), target).of_kind("shift amount")
    assert [4 * number + 3 for number, wanted in enumerate(copied) if wanted] == [one.line for one in found]
