"""Wait states against LLVM 22.1.8: its sampled answers, and the nops that llc-22 inserts between generated pairs."""

from __future__ import annotations

import csv
import gzip
import random
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

import mmacalc
from mmacalc.isa.listing import read_line, spans

GOLDEN = sorted((Path(__file__).parent / "data" / "llvm").glob("hazards_*.tsv.gz"))
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
        names = ("cbsz", "blgp") if inst.architecture.layout == "mfma" else ("matrix_a_fmt", "matrix_b_fmt")
        values = codes if names[0] == "cbsz" else [f"MATRIX_FMT_{('FP8', 'BF8', 'FP6', 'BF6', 'FP4')[n]}" for n in codes]
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
    "VMEM_store_read": (STORE, "d"), "VMEM_load_write_WAW": (LOAD, "d"), "DS_write_read": ("ds_write_b32 v250, {}", "d"),
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
