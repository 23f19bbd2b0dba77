"""Wait states against LLVM 22.1.8: its sampled answers, and the nops that llc-22 inserts between generated pairs."""

from __future__ import annotations

import csv
import gzip
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

import mmacalc
from mmacalc.isa.listing import Statement, read_line, spans

GOLDEN = sorted((Path(__file__).parent / "data" / "llvm").glob("hazards_*.tsv.gz"))
MFMA_TARGETS = ("gfx908", "gfx90a", "gfx942", "gfx950")
WMMA_TARGETS = ("gfx1100", "gfx1150", "gfx1200", "gfx1250", "gfx1251")


# --- lines of assembly: every operand in registers of its own unless a test shares some ---


def tuple_of(first: int, count: int, file: str = "v") -> str:
    return f"{file}{first}" if count == 1 else f"{file}[{first}:{first + count - 1}]"


def registers(inst: mmacalc.Instruction, operand: str, wave: int | None = None) -> int:
    return inst.operand(operand, wave=wave).registers


def matrix_line(inst, d=0, a=64, b=96, c=128, index=160, wave=None, file="v", fmt="") -> str:
    """A line with its operands at these registers; c None makes C equal D."""
    source = c if c is not None else d
    # gfx11 and gfx908: A, B in VGPRs whatever D is in.
    operands = [tuple_of(d, registers(inst, "D", wave), file)]
    for name, at in (("A", a), ("B", b)):
        operands.append(tuple_of(at, operand_count(inst, name, fmt, wave)))
    if inst.sparse:
        operands.append(tuple_of(index, registers(inst, "K", wave)))
    else:
        operands.append(tuple_of(source, registers(inst, "C", wave), file))
    if "scale" in inst.name:
        wide = 2 if "scale16" in inst.name else 1
        operands += [tuple_of(170, wide), tuple_of(174, wide)]
    return f"{inst.name} {', '.join(operands)}{fmt}"


def operand_count(inst, name: str, fmt: str, wave: int | None) -> int:
    if inst.formats["A"] != "f8f6f4":
        return registers(inst, name, wave)
    key = {"A": ("cbsz", "matrix_a_fmt"), "B": ("blgp", "matrix_b_fmt")}[name]
    code = next((int(value) for key_, value in re.findall(r"(\w+):(\d)", fmt) if key_ in key), 0)
    per_element = (8, 8, 6, 6, 4)[code]
    return inst.m * inst.k * per_element // 32 // inst.architecture.waves[0]
