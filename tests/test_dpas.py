"""Intel's DPAS: layouts against the closed forms of IGC's documentation, encodings and verdicts against iga64."""

import itertools
import os
import random
import re
import subprocess
import sys

import numpy as np
import pytest

import mmacalc
from iga64 import assembled, disassembled
from mmacalc import Error
from mmacalc.asm.dpas_encodings import ACCUMULATORS, GENERATIONS, SOURCE_TYPES
from mmacalc.catalog import entry
from mmacalc.cli import answer
from mmacalc.compiler.opencl import function
from mmacalc.families.dpas import TYPES, work_items
from recorded import table
from samples import sampled

XE = ("xe-hp", "xe-hpg", "xe-hpc", "xe2", "xe3p")
PLATFORMS = {"XeHP": "xe-hp", "XeHPG": "xe-hpg", "XeHPC": "xe-hpc"}
BF = "dpas.8x8.f.f.bf.bf"


def printed(text):
    """A line as iga64 prints it, whose names for u8 and s8 are ub and b."""
    return re.sub(r":s8\b", ":b", re.sub(r":u8\b", ":ub", text))


# --- iga64 ---


def test_every_line_of_the_sample_has_iga64s_bytes_or_its_refusal():
    rows = table("intel/dpas.tsv.gz")
    assert len(rows) == 950
    for row in rows:
        try:
            found = mmacalc.assemble(row["asm"], row["platform"]).hex()
        except Error:
            found = "refused"
        assert found == row["bytes"], row
        if found != "refused":
            assert mmacalc.disassemble(bytes.fromhex(found), row["platform"]) == printed(row["asm"])


def random_line(rng, platform):
    """A line of assembly with every part at random, about half of them with operands that do not go together."""
    generation = GENERATIONS[mmacalc.architecture(platform).assembly]
    size = mmacalc.architecture(platform).waves[0]
    integers = rng.random() < 0.5
    of_kind = [word for word in SOURCE_TYPES if (word[0] in "us") == integers]
    accumulators = [word for word in ACCUMULATORS if (word in ("d", "ud")) == integers]
    if rng.random() < 0.2:
        of_kind, accumulators = [*SOURCE_TYPES, "hf8", "ub", "b"], [*ACCUMULATORS, "tf32", "bf8"]
    dst, src0, src1, src2 = (rng.choice(words) for words in (accumulators, accumulators, of_kind, of_kind))
    token, distance = f"${rng.randrange(generation.tokens)}", f"@{rng.randint(1, 7)}"
    options = [
        rng.choice([[], [], ["Atomic"]]),
        rng.choice([[], [token + rng.choice(["", ".dst", ".src"])], [token, distance]]),
    ]
    options = [*options[0], *options[1]] or rng.choice([[], [rng.choice("AFI") + distance], [distance]])
    mask = rng.choice(range(0, 32, generation.offset))
    c = rng.choice(["null", f"r{rng.randrange(256)}"])
    whole = {"4": 2, "2": 4}.get(src2[1:], 1) if src2[0] in "us" else 1  # iga64 rounds down what begins within a byte
    first = rng.choice([0, 0, rng.randrange(70) * whole])
    return (
        f"{rng.choice(['', '(W) '])}{rng.choice(['dpas', 'dpas', 'dpasw'])}.8x{rng.randint(1, 8)} ({size}|M{mask}) "
        f"r{rng.randrange(256)}:{dst} {c}:{src0} r{rng.randrange(256)}:{src1} r{rng.randrange(256)}.{first}:{src2}"
        f"{' {' + ','.join(options) + '}' if options else ''}"
    )


@sampled("count", [500, 1500], 1)
@pytest.mark.parametrize("platform", PLATFORMS)
def test_random_lines_are_assembled_and_disassembled_as_iga64_does(platform, count, tmp_path):
    rng = random.Random(platform)
    lines = [random_line(rng, platform) for _ in range(count)]
    expected, taken = assembled(platform, lines, tmp_path), []
    for line, wanted in zip(lines, expected):
        try:
            found = mmacalc.assemble(line, platform).hex()
        except Error:
            found = None
        assert found == wanted, line
        taken += [found] * (found is not None)
    assert len(taken) > count // 5
    code = bytes.fromhex("".join(taken))
    assert mmacalc.disassemble(code, platform).split("\n") == disassembled(platform, code, tmp_path)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_dependence_is_encoded_as_iga64_encodes_it(platform, tmp_path):
    """Distances in each pipe, tokens to write or read, and both at once. A token too many is refused; of
    iga64's code it changes other bits."""
    tokens, kinds = 32 if platform == "XeHPC" else 16, ("", ".dst", ".src")
    size = mmacalc.architecture(platform).waves[0]
    options = [f"{pipe}@{distance}" for pipe in ("", *"AFILM") for distance in (1, 2, 4, 7)]
    options += [f"${token}{kind}" for token in range(tokens) for kind in kinds]
    options += [f"$3{kind},{pipe}@2" for kind in kinds for pipe in ("", "F")]
    options += [f"${token}{kind},@{distance}" for token in (0, 5, tokens - 1) for kind in kinds for distance in (1, 6)]
    line, found = f"dpas.8x8 ({size}|M0) r10:f null:f r20:bf r30.0:bf", []
    lines = [f"{line} {{{each}}}" for each in options]
    with pytest.raises(Error, match="is not an option of DPAS"):
        mmacalc.assemble(f"{line} {{${tokens}}}", platform)
    for each in lines:
        try:
            found.append(mmacalc.assemble(each, platform).hex())
        except Error:
            found.append(None)
    assert dict(zip(options, found)) == dict(zip(options, assembled(platform, lines, tmp_path)))
    code = bytes.fromhex("".join(filter(None, found)))
    assert mmacalc.disassemble(code, platform).split("\n") == disassembled(platform, code, tmp_path)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_begins_at_the_elements_of_a_register_that_iga64_takes(platform, tmp_path):
    size, lines = mmacalc.architecture(platform).waves[0], []
    for acc, word in (("f", "bf"), ("d", "u8"), ("d", "s4"), ("d", "u2")):
        every = {"bf": 1, "u8": 1, "s4": 2, "u2": 4}[word]  # what begins within a byte it rounds down
        line = f"dpas.8x8 ({size}|M0) r10:{acc} null:{acc} r20:{word} r30"
        lines += [f"{line}.{first}:{word}" for first in range(0, 300, every)]
    for line, expected in zip(lines, assembled(platform, lines, tmp_path)):
        try:
            found = mmacalc.assemble(line, platform).hex()
        except Error:
            found = None
        assert found == expected, line


@pytest.mark.parametrize("platform", PLATFORMS)
def test_iga64_takes_every_pair_of_types_that_the_catalog_has(platform, tmp_path):
    """And refuses tf32 and bf8 before Xe-HPC, and dpasw on it."""
    arch = PLATFORMS[platform]
    size, lines = mmacalc.architecture(arch).waves[0], []
    for inst in mmacalc.instructions(arch):
        mnemonic, shape, *types = inst.name.split(".")
        operands = " ".join(f"r{number}:{word}" for number, word in zip((40, 30, 20, 10), types))
        lines.append(f"{mnemonic}.{shape} ({size}|M0) {operands}")
    assert None not in assembled(platform, lines, tmp_path)
    others = ["dpas.8x1 (8|M0) r40:f r30:f r20:tf32 r10:tf32", "dpas.8x1 (8|M0) r40:f r30:f r20:bf8 r10:bf8"]
    if arch == "xe-hpc":
        others = ["dpasw.8x1 (16|M0) r40:f r30:f r20:bf r10:bf"]
    assert assembled(platform, others, tmp_path) == [None] * len(others)
    for line in others:
        with pytest.raises(Error, match=r"on Xe-HP|has no dpasw"):
            mmacalc.assemble(line, arch)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("dpas.8x8 (8|M0) r40:f r30:f r20:bf r10.0:bf", "the execution size of dpas on Xe-HPC is 16; got 8"),
        ("dpas.4x8 (16|M0) r40:f r30:f r20:bf r10.0:bf", "the depth is 8, the repeat count is 1 to 8"),
        ("dpas.8x9 (16|M0) r40:f r30:f r20:bf r10.0:bf", "the depth is 8, the repeat count is 1 to 8"),
        ("(f0.0) dpas.8x8 (16|M0) r40:f r30:f r20:bf r10.0:bf", "DPAS has no predicate"),
        ("dpas.8x8 (16|M0) r40:f r30:f r20:bf", "there are four operands, dst, src0, src1 and src2"),
        ("dpas.8x8 (16|M0) null:f r30:f r20:bf r10:bf", "only src0 can be null"),
        ("dpas.8x8 (16|M0) r40.2:f r30:f r20:bf r10:bf", r"dst \(D\) begins with a register, such as r40"),
        ("dpas.8x8 (16|M0) r40:f r30:f r20:s8 r10.1:s8", "all four operands are floats or all are integers"),
        ("dpas.8x8 (16|M0) r40:d r30:d r20:s8 r10.1:s8", "begins at an element of s8 from 0 to 63, every 2"),
        ("dpas.8x8 (16|M0) r400:d r30:d r20:s8 r10:s8", "one of r0 to r255; got r400"),
        ("dpas.8x8 (16|M4) r40:d r30:d r20:s8 r10:s8", "a multiple of 8 up to M24; got M4"),
        ("dpas.8x8 (16|M0) r40:d r30:d r20:s8 r10:s8 {Fwd}", "'Fwd' is not an option of DPAS on Xe-HPC"),
        ("dpas.8x8 (16|M0) r40:d r30:d r20:s8 r10:s8 {F@1,$3}", "a distance goes with"),
        ("dpaz.8x8 (16|M0) r40:d r30:d r20:s8 r10:s8", "not a dpas or dpasw. Did you mean dpas"),
    ],
)
def test_a_wrong_line_is_refused_with_what_would_be_right(line, says):
    with pytest.raises(Error, match=says):
        mmacalc.assemble(line, "xe-hpc")


def test_other_code_is_data_and_compacted_instructions_have_eight_bytes():
    dpas = mmacalc.assemble("dpas.8x1 (16|M0) r40:f r30:f r20:bf r10.0:bf", "pvc")
    compacted = (1 << 29 | 0x40).to_bytes(8, "little")
    lines = mmacalc.disassemble(compacted + dpas + bytes(16), "pvc").split("\n")
    assert lines == [
        ".long 0x20000040",
        ".long 0x00000000",
        "dpas.8x1 (16|M0) r40:f r30:f r20:bf r10.0:bf",
        *[".long 0x00000000"] * 4,
    ]
    for bit in range(128):  # what no field describes is not read over
        code = (int.from_bytes(dpas, "little") ^ 1 << bit).to_bytes(16, "little")
        (first, *_) = mmacalc.disassemble(code, "pvc").split("\n")
        assert first.startswith(".long") or mmacalc.assemble(first, "pvc") == code


# --- layouts ---


@pytest.fixture(scope="module")
def operands():
    """An operand of every layout, width and execution size of the generations; scales apart."""
    found = {}
    for arch in XE:
        for inst in mmacalc.instructions(arch):
            for name in "ABCD":
                operand = inst.operand(name)
                key = (
                    operand.layout.text,
                    *operand.layout.sizes.items(),
                    operand.format.bits,
                    inst.n,
                    name == "B",
                    inst.m,
                )
                found.setdefault(key, operand)
    return list(found.values())


def first_bit(operand):
    """Of every element, the first bit counted from that of the first register, in each of two fused EUs."""
    places = operand.table()
    lanes, size = places["lane"].astype(int), 32 * operand.wave
    return lanes // operand.wave, places["register"].astype(int) * size + lanes % operand.wave * 32 + places["lsb"]


def test_every_element_is_where_igcs_documentation_puts_it(operands):
    """DPAS.md: A, C and D row by row through the bytes of the registers; a column of B in the dwords of its channel."""
    for operand in operands:
        bits, (_, rows, columns) = operand.format.bits, operand.shape
        row, column = np.indices((rows, columns))
        eu, place = first_bit(operand)
        if operand.name == "B":
            dword, inside = row * bits // 32, row * bits % 32
            expected = dword * 32 * operand.wave + 32 * column + inside
        else:
            expected = (row * columns + column) * bits
            if operand.wave_place:  # DPASW.md: NGrf_EU0 = (NGrf + 1) / 2 registers are those of the first EU
                size = 32 * operand.wave
                registers = -(-rows * columns * bits // size)
                first = (registers + 1) // 2
                expected_eu, register = np.divmod(expected // size, first)
                assert np.array_equal(eu, expected_eu), operand
                expected = register * size + expected % size
        assert np.array_equal(place, expected), operand


def test_what_is_located_is_contained_and_nothing_else_is(operands):
    for operand in operands:
        held = {
            (element.row, element.col): (register, lane, element.lsb)
            for register in range(operand.registers)
            for lane in range(operand.lanes)
            for element in operand.contents(register, lane)
        }
        places = operand.table()
        assert len(held) == places.size, operand
        for (row, column), place in list(held.items())[:: max(1, len(held) // 50)]:
            at = places[row, column]
            assert place == (at["register"], at["lane"], at["lsb"]), operand


# DPASW.md, "Src2 data provided by EU0 and EU1": registers of each by repeat count, for rows of 32, 16 and 8 bytes.
SHARED = {
    32: {8: (4, 4), 7: (4, 3), 6: (3, 3), 5: (3, 2), 4: (2, 2), 3: (2, 1), 2: (1, 1), 1: (1, 0)},
    16: {8: (2, 2), 7: (2, 2), 6: (2, 1), 5: (2, 1), 4: (1, 1), 3: (1, 1), 2: (1, 0), 1: (1, 0)},
    8: {8: (1, 1), 7: (1, 1), 6: (1, 1), 5: (1, 1), 4: (1, 0), 3: (1, 0), 2: (1, 0), 1: (1, 0)},
}


def test_dpasw_takes_as_many_registers_of_each_eu_as_its_table_says():
    for types, row_bytes in (("s8.s8", 32), ("s8.s4", 16), ("s2.s2", 16), ("u8.u2", 8), ("s4.s4", 32)):
        for count, registers in SHARED[row_bytes].items():
            a = mmacalc.instruction("xe-hpg", f"dpasw.8x{count}.d.d.{types}").operand("A")
            places = a.table()
            used = [{*places["register"][places["lane"] // 8 == eu].tolist()} for eu in (0, 1)]
            assert tuple(map(len, used)) == registers, (types, count)


def test_vectors_of_work_items_are_the_bytes_of_the_registers():
    """A vector of a sub-group lies in registers element by element, each of them in all work items."""
    seen = 0
    for arch in XE:
        for inst in mmacalc.instructions(arch):
            if inst.name.split(".")[2] == "ud":
                continue
            for name in "ABCD":
                if (found := work_items(inst, name)) is None:
                    continue
                layout, width = found
                operand = inst.operand(name)
                inside = width // operand.format.bits
                _, place = first_bit(operand)
                _, rows, columns = operand.shape
                for row, column in ((0, 0), (rows - 1, columns - 1), (rows // 2, columns // 3), (0, columns - 1)):
                    ((lane, item),) = layout.locate(dict(zip(layout.axes, (row, column))))
                    bit = (item // inside * inst.n + lane) * width + item % inside * operand.format.bits
                    assert bit == place[row, column], (inst, name)
                    seen += 1
    assert seen > 20_000


def test_opencls_vectors_have_the_lengths_of_the_khronos_extension():
    """cl_intel_subgroup_matrix_multiply_accumulate: A of M = 8 is int8, in 16 work items short8; of tf32 float4."""
    lengths = {
        ("xe-hpg", BF, "A"): (32, 8), ("xe-hpc", BF, "A"): (16, 8), ("xe-hpc", BF, "B"): (32, 8),
        ("xe-hpc", "dpas.8x8.f.f.tf32.tf32", "A"): (32, 4), ("xe-hpc", "dpas.8x2.f.f.tf32.tf32", "A"): (32, 1),
        ("xe-hpc", "dpas.8x8.bf.bf.bf.bf", "D"): (16, 8), ("xe-hpg", "dpas.8x4.d.d.s8.s4", "A"): (16, 4),
        ("xe-hpg", "dpas.8x8.d.d.s2.s8", "B"): (32, 2), ("xe-hpc", "dpas.8x8.d.d.s4.s4", "A"): (16, 8),
    }  # fmt: skip
    for (arch, name, operand), expected in lengths.items():
        inst = mmacalc.instruction(arch, name)
        layout, width = work_items(inst, operand)
        assert (width, layout.spans["item"] * inst.format(operand).bits // width) == expected, (arch, name, operand)


def test_opencls_functions_are_those_of_igc_and_there_are_no_others():
    rows = {
        (row["size"], row["function"], row["d"], row["c"], row["a"], row["b"])
        for row in table("intel/opencl_functions.tsv.gz")
    }
    found = set()
    for arch in ("xe-hpg", "xe-hpc"):
        for inst in mmacalc.instructions(arch):
            for one in mmacalc.intrinsic(inst).intrinsics:
                a, b, c = one.arg_types
                found.add((str(inst.n), one.builtin.removeprefix("intel_sub_group_"), one.return_type, c, a, b))
    later = {row for row in rows if "e5m2" in row[1] and row[2].startswith("short")}  # DPAS.md has bf8 with f only
    assert found == rows - later
    (inst,) = {each.name for each in mmacalc.find(arch="pvc", intrinsic="tf32_tf32_matrix_mad_k8", m=8)}
    assert inst == "dpas.8x8.f.f.tf32.tf32"


def test_k_is_the_depth_times_the_elements_of_a_channel():
    ks = {"bf.bf": 16, "hf.hf": 16, "tf32.tf32": 8, "bf8.bf8": 32, "u8.u8": 32, "u8.s2": 32, "s4.u8": 32, "u4.u4": 64,
          "s2.u4": 64, "u2.u2": 64}  # fmt: skip
    for types, k in ks.items():
        accumulator = "d" if types[0] in "us" else "f"
        inst = mmacalc.instruction("xe-hpc", f"dpas.8x5.{accumulator}.{accumulator}.{types}")
        assert (inst.m, inst.n, inst.k, inst.flops) == (5, 16, k, 2 * 5 * 16 * k)
    assert mmacalc.instruction("xe-hpg", BF).n == 8


# --- names ---


def test_an_instruction_is_found_by_a_line_of_assembly_and_by_visas_name():
    for text in (
        "dpas.8x8 (16|M0) r40:f r30:f r20:bf r10.0:bf",
        "DPAS.bf.bf.8.8",
        "(W) dpas.8x8 (16) r1:f null:f r2:bf r3:bf {$1}",
    ):
        assert mmacalc.instruction("pvc", text).name == BF
    assert mmacalc.instruction("dg2", "dpasw.8x4 (8|M0) r40:d r30:ud r20:ub r10.0:b").name == "dpasw.8x4.d.ud.u8.s8"
    assert "dpas.8x8.d.ud.u8.s8" not in {inst.name for inst in mmacalc.instructions("pvc")}  # found, not listed


@pytest.mark.parametrize(
    ("arch", "name", "says"),
    [
        ("pvc", "dpas.8x8", "the types of dst, src0, src1 and src2 follow"),
        ("pvc", "dpas.8x9.f.f.bf.bf", "a repeat count of 1 to 8"),
        ("pvc", "dpasw.8x8.f.f.bf.bf", "it has dpas. Did you mean dpas"),
        ("pvc", "dpas.8x8.f.f.bf.hf", "src1 and src2 are bf.bf, hf.hf, tf32.tf32, bf8.bf8, or integers"),
        ("dg2", "dpas.8x8.f.f.tf32.tf32", "src1 and src2 are bf.bf, hf.hf, or integers"),
        ("pvc", "dpas.8x8.d.f.u8.u8", "it has dst and src0 of d.d, ud.ud, d.ud, ud.d"),
        ("pvc", "dpas.8x8.f.f.fp8.fp8", "'fp8' is not one of the types"),
        ("pvc", "dpas.8x8 (8|M0) r40:f r30:f r20:bf r10.0:bf", "has the execution size 16; got 8"),
        ("pvc", "v_mfma_f32_16x16x16_f16", "it has dpas"),
        ("mtl", BF, "Xe-LPG has no DPAS"),
        ("bmg", "dpas.8x8.f.f.bf8.bf8", "src1 and src2 are"),
    ],
)
def test_a_wrong_name_is_answered_with_what_there_is(arch, name, says):
    with pytest.raises(Error, match=re.escape(says)):
        mmacalc.instruction(arch, name)


def test_each_generation_has_the_types_of_its_documents():
    def pairs(arch, mnemonic="dpas"):
        names = [inst.name.split(".") for inst in mmacalc.instructions(arch)]
        return {f"{b}.{a}" for name, _, _, _, b, a in names if name == mnemonic}

    integers = {
        f"{b}.{a}"
        for b in TYPES
        for a in TYPES
        if {b[0], a[0]} <= {"u", "s"} and "ub" not in (a, b) and "ud" not in (a, b)
    }
    assert len(integers) == 36
    assert pairs("xe-hp") == pairs("xe-hpg") == {"bf.bf", "hf.hf", *integers} == pairs("xe-hpg", "dpasw")
    assert pairs("xe2") == {"bf.bf", "hf.hf", "tf32.tf32", *integers}
    assert pairs("xe-hpc") == pairs("xe2") | {"bf8.bf8"}
    assert pairs("xe-hpc", "dpasw") == pairs("xe2", "dpasw") == set()


def test_what_only_one_of_intels_sources_has_is_unconfirmed_of_listed_and_unlisted_names():
    """The order of fused EUs, which DPASW.md leaves open; 16-bit accumulators before Xe-HPC and FP8 on Xe-HPC, which
    iga64 takes and IGC does not have."""
    seen = 0
    for arch, mnemonic in itertools.product(XE, ("dpas", "dpasw")):
        for d, c in itertools.product(("f", "bf", "hf", "d", "ud"), repeat=2):
            for b, a in (("bf", "bf"), ("hf", "hf"), ("tf32", "tf32"), ("bf8", "bf8"), ("u8", "s4"), ("s2", "u8")):
                for repeats in (1, 8):
                    name = f"{mnemonic}.8x{repeats}.{d}.{c}.{b}.{a}"
                    if entry(arch).canonical(name) is None:
                        continue
                    inst = mmacalc.instruction(arch, name)
                    doubtful = set("A" if mnemonic == "dpasw" else "")
                    if arch in ("xe-hp", "xe-hpg") and {c, d} & {"bf", "hf"}:
                        doubtful |= {"C", "D"}
                    sure = "two sources agree"
                    if b == "bf8":
                        doubtful, sure = {"A", "B"}, "one source"
                    if arch == "xe3p":
                        doubtful, sure = set(), "one source"
                    assert inst.row_provenance == sure
                    for operand in "ABCD":
                        assert inst.provenance_of(operand) == ("unconfirmed" if operand in doubtful else sure), name
                    seen += 1
    assert seen == 2 * (4 * 16 + 18 + 17 + 13)


def test_a_generation_is_a_file(tmp_path):
    """With a family of names a line; nothing else knows it."""
    file = tmp_path / "xe9.py"
    record = {"name": "xe9", "title": "Xe9", "vendor": "intel", "layout": "dpas", "waves": (16,), "assembly": "xe-hpc"}
    record["provenance"] = "two sources agree"  # what a file outside the package does not say so of is assumed
    lines = (("dpas.8x{1..8..1}.f.f.{b=bf,hf}.{b}", "xe9"),)
    file.write_text(
        f"ARCHITECTURES = ({record!r},)\nINSTRUCTIONS = {lines!r}\nUNLISTED = (('dpas.8x8.d.ud.u8.u8', 'xe9'),)\n"
    )
    answers = []
    for arch in ("xe9", "xe-hpc"):
        words = [sys.executable, "-m", "mmacalc", "-a", arch, "-i", "dpas.8x5.f.f.hf.hf", "-d"]
        done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "MMACALC_CATALOG": str(file)})
        assert done.returncode == 0, done.stderr
        answers.append(done.stdout.replace("Xe-HPC", "Xe9"))
    assert answers[0] == answers[1]


# --- what is answered, and what is refused with a reason ---


def test_the_command_line_answers_in_igcs_spelling():
    line = ["-a", "xe-hpc", "-i", BF]
    assert (
        "A[3][9] = r1.25:bf\nIn OpenCL: work item 9 of the sub-group, element 3 of its short8"
        in answer([*line, "-A", "-g", "-I", "3", "-K", "9"]).out
    )
    assert "r1.25:bf = A[3][9]" in answer([*line, "-A", "-m", "-r", "1", "-l", "12"]).out
    assert "| r3.14:bf " in answer([*line, "-B", "-R"]).out.replace("r3.15", "r3.14")
    assert "r0 [31:16]" in answer([*line, "-B", "-M"]).out
    assert "src2 r0.0:bf*src1 r0.0:bf" in answer([*line, "-D", "-g", "-o"]).out.replace("(", "").replace(")", "")
    found = answer([*line, "-d"]).out
    for text in ("dpas.8x8 (16|M0) rD:f rC:f rB:bf rA.0:bf", "dpas.bf.bf.8.8 (16)", "K: 16", "how results are rounded"):
        assert text in found
    fused = answer(["-a", "dg2", "-i", "dpasw.8x8.d.d.s8.s8", "-A", "-g", "-I", "6", "-K", "5"]).out
    assert "A[6][5] = EU1 r2.5:b" in fused
    assert "the layout of A is unconfirmed" in fused
    assert "i ends at 3" in answer(["-a", "pvc", "-i", "dpas.8x3.f.f.bf.bf", "-A", "--pattern"]).out


def test_explain_names_the_registers_of_a_line():
    found = mmacalc.explain("L0:\n  (W) dpas.8x3 (16|M0) r40:f null:f r20:bf r10.0:bf {Atomic,$3} // comment")
    assert (found.architecture, found.also) == ("xe2", ("xe-hpc", "xe3p"))  # the newest that was seen
    (line,) = found.lines
    assert (line.number, line.language, line.instruction.name) == (2, "iga64", "dpas.8x3.f.f.bf.bf")
    d, c, b, a = line.operands
    assert [each.role for each in line.operands] == ["D", "C", "B", "A"]
    assert (d.registers, c.text, b.registers[-1], a.registers) == (
        ("r40", "r41", "r42"),
        "null:f (zero)",
        "r27",
        ("r10", "r11"),
    )
    assert mmacalc.explain("dpasw.8x4 (8|M0) r4:d r3:d r2:u8 r1.8:s8").lines[0].operands[3].registers == ()
    assert "src1 and src2 are bf.bf" in mmacalc.explain("dpas.8x4 (8|M0) r4:f r3:f r2:bf r1:hf").lines[0].problem
    with pytest.raises(Error, match="gfx942 is not an architecture of Intel"):
        mmacalc.explain("dpas.8x4 (8|M0) r4:f r3:f r2:bf r1:hf", "gfx942")


def test_what_intel_does_not_document_is_refused_with_the_reason():
    inst, x = mmacalc.instruction("pvc", BF), np.ones((8, 16), np.float32)
    calls = [
        (lambda: inst.multiply(x, np.ones((16, 16), np.float32), x), "rounds is undocumented"),
        (lambda: mmacalc.numerics(inst), "rounds is undocumented"),
        (lambda: mmacalc.gemm(x, x.T, arch="pvc"), "rounds is undocumented"),
        (lambda: mmacalc.estimate("pvc", 64, 64, 64, "bf16"), "Intel publishes neither the cycles of DPAS"),
        (lambda: mmacalc.wait_states("dpas", "dpas", "pvc"), "tracks dependences by tokens"),
        (lambda: mmacalc.lint("dpas.8x8 (16|M0) r40:f r30:f r20:bf r10:bf", "pvc"), "tracks dependences by tokens"),
        (lambda: mmacalc.chain(inst, inst), "data between lanes"),
        (lambda: mmacalc.memory(inst.operand("A")), "shared local memory is not published"),
        (lambda: mmacalc.generate(inst), "kernels are generated in HIP and CUDA"),
        (
            lambda: mmacalc.assemble("dpas.8x8 (16|M0) r40:f r30:f r20:bf r10:bf", "xe2"),
            "how Xe2 encodes DPAS is not known",
        ),
        (lambda: mmacalc.assemble("dpas.8x8 (16|M0) r40:f r30:f r20:bf r10:bf", "pvc", llvm=24), "those of iga64"),
    ]
    for call, says in calls:
        with pytest.raises(Error, match=says):
            call()


# --- Xe3P ---


@pytest.mark.parametrize("name", [name for name in entry("xe3p").names if name.startswith("bdpas")])
def test_the_scales_of_bdpas_lie_where_igcs_footprint_has_them(name):
    """visa/G4_IR.cpp: src3 has 16 bytes, src4 8; with a K of 64 two groups of these, the second at byte 32."""
    inst = mmacalc.instruction("xe3p", name)
    assert (inst.m, inst.n, inst.block_size) == (8, 16, min(inst.k, 32))
    for operand, axis, rows in (("SA", "i", 8), ("SB", "j", 16)):
        held = inst.operand(operand)
        for row, k in itertools.product(range(rows), range(0, inst.k, 16)):
            (place,) = held.locate(**{axis: row, "k": k})
            assert (place.register, 4 * place.lane + place.lsb // 8, place.width) == (0, 32 * (k // 32) + row, 8)


def test_work_items_hold_the_scales_of_bdpas_as_tritons_linear_layouts_do():
    """BlockScaledDPASLaneBasesScaleA and B: 16 lanes, rows of A twice; a register more where K is 64."""
    inst = mmacalc.instruction("xe3p", "bdpas.8x8.f.f.e2m1.e2m1")
    (a, bits), (b, _) = work_items(inst, "SA"), work_items(inst, "SB")
    assert bits == 8
    for lane, block in itertools.product(range(16), range(2)):
        assert (lane, block) in a.locate({"i": lane % 8, "k": 32 * block + 5})
        assert b.locate({"k": 32 * block + 5, "j": lane}) == ((lane, block),)


def test_bdpas_is_read_as_iga64_and_visa_write_it_and_refused_elsewhere():
    line = "bdpas.8x8 (16|M0) r40:f r30:f r20:bf8 r10.0:hf8 r5.0:ub r6.0:ub"
    inst = mmacalc.instruction("cri", line)
    assert inst.name == "bdpas.8x8.f.f.bf8.hf8"
    assert mmacalc.instruction("Crescent Island", "bdpas.bf8.hf8.8.8") == inst
    assert "SB (scales of B): r5.0:ub" in answer(["explain", line]).out
    assert (
        "one source has this instruction, and nothing of it was seen to run"
        in answer(["-a", "cri", "-i", line, "-d"]).out
    )
    for given, message in (
        ("bdpas.8x4.f.f.bf.bf", "a repeat count of 8"),
        ("bdpas.8x8.f.f.s8.s8", "src1 and src2 are"),
    ):
        with pytest.raises(Error, match=message):
            mmacalc.instruction("cri", given)
    with pytest.raises(Error, match="has no instruction"):
        mmacalc.instruction("xe2", "bdpas.8x8.f.f.bf.bf")


@sampled("name", [f"{arch} {inst.name}" for arch in ("xe-hpg", "xe-hpc", "xe3p") for inst in mmacalc.instructions(arch)
                  if function(inst) is not None], 40)  # fmt: skip
def test_the_page_has_the_types_that_the_function_takes(name):
    arch, name = name.split()
    takes = function(mmacalc.instruction(arch, name))
    page = answer(["-a", arch, "-i", name, "-d"]).out.partition("Work items of a sub-group")[2]
    shown = dict(re.findall(r"^    +(A|B|C|D|SA|SB): (\w+),", page, re.MULTILINE))
    names = {"a": "A", "b": "B", "acc": "C", "scale_a": "SA", "scale_b": "SB"}
    wanted = {names[argument]: kind for argument, kind in zip(takes.arg_names, takes.arg_types)}
    assert {operand: kind for operand, kind in shown.items() if operand != "D"} == {
        operand: kind for operand, kind in wanted.items() if operand in shown
    }
    assert {"B", "C"} <= shown.keys()
    assert shown["D"] == takes.return_type
