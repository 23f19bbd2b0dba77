"""ptxas 13.5: which names each of 30 targets takes, Rubin's among them, and with how many registers."""

import csv
import gzip
import re
from functools import cache
from pathlib import Path

import pytest

import mmacalc
from mmacalc.catalog import entry, ptx
from mmacalc.catalog.grammar import contents
from mmacalc.catalog.grammar.ptx import TYPES, Entry, key
from mmacalc.catalog.grammar.sass import sass_of
from samples import sampled

DATA = Path(__file__).parent / "data" / "nvidia"
# The recording's columns of sm_103a, 107a and 110a are 0 for some wmma forms that ptxas 13.5.37 takes there as on
# sm_100a (tried again form by form): the recording is wrong, not the catalog.
NOT_RECORDED = ("sm_103a", "sm_107a", "sm_110a")


def verdicts(name):
    """(PTX name, register counts, [(compiler, target, taken)])"""
    with gzip.open(DATA / name, "rt") as stream:
        rows = csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        columns = [column.split("_", 1) for column in next(rows)[2].split(": ")[1].split()]
        for mnemonic, registers, marks in rows:
            yield mnemonic, registers, [(*column, mark == "1") for column, mark in zip(columns, marks)]


@cache
def known(target):
    return {key(name): name for name in entry(target).names}


def has(compiler, target, name):
    """Whether the catalog says that this compiler takes the name: CUDA 12.9 has PTX 8.8, 13.5 has 9.5."""
    found = known(target).get(key(name))
    if found is None:
        return False
    newest = {"12.9": (8, 8), "13.5": (9, 5)}[compiler]
    return tuple(map(int, mmacalc.instruction(target, found).ptx.split("."))) <= newest


def registers_of(name, target):
    inst = mmacalc.instruction(target, name)
    return {name: inst.operand(name).registers for name in inst.register_operands if name != "P"}


@sampled("step", [5, 1], 1)
@pytest.mark.parametrize("recording", ["ptxas_13_5_mma.tsv.gz", "ptxas_13_5_wmma_wgmma.tsv.gz"])
def test_every_verdict_is_that_of_ptxas_13_5(recording, step):
    compared = 0
    for name, registers, targets in [*verdicts(recording)][::step]:
        first = next((target for compiler, target, _ in targets if has(compiler, target, name)), None)
        moved = first and registers.startswith("regs=")
        if moved and int(registers[5:]) not in registers_of(name, first).values():
            assert not any(taken for *_, taken in targets), (name, registers)  # tried with a wrong number of registers
            continue
        plain = {target: taken for _, target, taken in targets}
        for compiler, target, taken in targets:
            if name.startswith("wmma") and target in NOT_RECORDED:
                taken = plain["sm_100a"]
            assert has(compiler, target, name) == taken, (compiler, target, name)
            compared += 1
    assert compared > 10_000 // step


def test_what_a_later_ptx_has_is_neither_listed_nor_found_but_named():
    """ptxas 13.5 has PTX 9.5 (its --version and the release notes of CUDA 13.5)."""
    (name,) = [family[0] for family in ptx.INSTRUCTIONS if family[0].startswith("movmatrix")]
    for version, there in (("9.4", True), ("9.5", True), ("9.6", False), ("10.0", False), ("8.9", True)):
        lines = ((name, version, "75+"),)
        file = contents({"ARCHITECTURES": ptx.ARCHITECTURES, "COMMON": ptx.COMMON, "INSTRUCTIONS": lines})
        record = {**ptx.COMMON, **next(one for one in ptx.ARCHITECTURES if one["name"] == "sm_90")}
        found = Entry(record, file)
        assert bool(found.names) == there
        if not there:
            with pytest.raises(mmacalc.Error, match=f"needs PTX {version}, .*; ptxas 13.5 has PTX 9.5"):
                found.instruction(name)


def test_four_bit_integers_are_loaded_as_eight_bits_from_hopper_on():
    load = mmacalc.instruction("rubin", "ldmatrix.sync.aligned.m8n16.x4.shared.s8.s4")
    assert load.operand("D").registers == 4
    assert load.operand("D").locate(i=1, j=5, block=2)[0] == (5, 9, 2, 8, 8)
    assert mmacalc.instruction("sm_90a", "ldmatrix.sync.aligned.m8n16.x1.shared.s8.s4").ptx == "9.4"
    with pytest.raises(mmacalc.Error, match="it needs sm_90a, sm_100a"):
        mmacalc.instruction("sm_90", load.name)


def test_every_sass_opcode_is_the_one_that_ptxas_13_5_writes():
    with gzip.open(DATA / "sass_13_5_mma.tsv.gz", "rt") as stream:
        rows = [row for row in csv.DictReader(stream, delimiter="\t") if ".s8.s4" not in row["instruction"]]
    for row in rows:  # nvdisasm 13.5 does not know the opcode of ldmatrix .s8.s4
        opcodes = sass_of(mmacalc.instruction(row["target"], row["instruction"]), row["target"])[0].split(" + ")
        counted = [re.sub(r"^(\d+)x(.*)", r"\2x\1", opcode) for opcode in opcodes]
        expected = re.sub(r"^\(no MMA opcode; .*", "no tensor-core opcode", row["sass"])
        assert " + ".join(counted) == expected, row
    assert len(rows) > 900


@pytest.mark.parametrize(
    ("target", "opcode"),
    [("sm_90a", "wgmma.mma_async"), ("sm_80", "wmma.mma"), ("sm_80", "wmma.load.a"), ("sm_80", "wmma.load.c"),
     ("sm_80", "wmma.store.d"), ("sm_120a", "mma"), ("sm_100a", "ldmatrix"), ("sm_100a", "stmatrix"),
     ("sm_80", "movmatrix")],
)  # fmt: skip
def test_the_qualifiers_after_an_opcode_may_be_turned_round_and_its_words_may_not(target, opcode):
    """Tried against ptxas 13.0.88; the types and the two layouts keep their order among themselves."""
    names = [name for name in entry(target).names if name.startswith(f"{opcode}.")]
    for name in names[:: 1 + len(names) // 12]:
        words = name.removeprefix(f"{opcode}.").split(".")
        kept = [word for word in words if word in ("row", "col")] + [word for word in words if word in TYPES]
        free = [word for word in words if word not in ("row", "col", *TYPES)]
        if not {"and", "xor", "popc"} & {*words}:
            turned = ".".join([opcode, *kept, *reversed(free)])
            assert mmacalc.instruction(target, turned).name == name, turned
        if "." in opcode:
            first, *rest = opcode.split(".")
            with pytest.raises(mmacalc.Error):
                mmacalc.instruction(target, ".".join([first, words[0], *rest, *words[1:]]))
