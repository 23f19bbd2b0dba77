"""NVIDIA's instructions: names and their orders, ptxas's verdicts, SASS, and the command line."""

import csv
import gzip
import json
import re
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import mmacalc
from closed_forms import distinct
from formula_reader import evaluate
from mmacalc.catalog import entry
from mmacalc.catalog.grammar import expand
from mmacalc.catalog.grammar.ptx import key
from mmacalc.catalog.grammar.sass import sass_of
from mmacalc.cli import answer
from mmacalc.families import shared_memory
from samples import sampled

DATA = Path(__file__).parent / "data" / "nvidia"
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n40k16.f32.f16.f16"
# What ptxas 13.1.80 takes and 13.0.88, which the record is of, does not.
SINCE_PTX_9_1 = {
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0":
        "sm_120a sm_120f sm_121a sm_121f",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32"
    ".ue8m0": "sm_120a sm_121a",
}  # fmt: skip
SCALED = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
TARGETS = tuple(name for name in mmacalc.architectures() if name.startswith("sm_"))


def table(name):
    with gzip.open(DATA / name, "rt") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def lines(*argv):
    reply = answer(argv)
    assert reply.status == 0, reply.err
    return reply.out.splitlines()


# --- names and verdicts ---


@sampled("step", [16, 4, 1], 1, whole=1)
def test_every_verdict_and_register_count_is_that_of_ptxas(step):
    compared = 0
    for row in table("ptxas_accepts.tsv.gz")[::step]:
        name = row["mnemonic"].split(" [")[0]
        if name.startswith("tcgen05"):
            continue  # issued by one thread, on tensor memory: no warp-level instruction
        taken = None
        for target in (column for column in row if column.startswith("sm_") and row[column] != "-"):
            accepted = row[target] == "1" or target in SINCE_PTX_9_1.get(name, "").split()
            try:
                taken = mmacalc.instruction(target, name)
            except mmacalc.Error:
                assert not accepted, (target, name)
            else:
                assert accepted, (target, name)
            compared += 1
        if taken:
            assert_registers(taken, row["operand_regs"])
    assert compared == 15970 if step == 1 else compared > 12_000 // step


def assert_registers(inst, counts):
    for operand, count in (part.split("=") for part in counts.split(",")):
        name = inst.operands[0] if operand == "R" else operand  # the registers of a load or store
        if count == "0":  # A by descriptor
            continue
        held = inst.fragment_registers[name] if inst.fragment_registers else inst.operand(name).registers
        assert int(count) == (held // 2 if inst.formats[name] == "f64" else held), (inst, operand)


@pytest.mark.parametrize("target", TARGETS)
def test_every_listed_name_is_found_and_unique(target):
    names = entry(target).names
    assert len(set(map(key, names))) == len(names)
    assert [inst.name for inst in mmacalc.instructions(target)] == list(names)
    for name in names[:: max(1, len(names) // 60)]:
        assert mmacalc.instruction(target, name).name == name


def test_a_later_target_of_a_family_has_what_the_plain_target_has():
    for plain in ("sm_100", "sm_103", "sm_110", "sm_120", "sm_121"):
        assert set(entry(plain).names) < set(entry(f"{plain}f").names) <= set(entry(f"{plain}a").names)
    assert set(entry("sm_90").names) < set(entry("sm_90a").names)


def orders():
    """A name, and its qualifiers in an order in which ptxas takes them: those of one class stay in place."""
    names = [name for target in ("sm_90a", "sm_120a") for name in entry(target).names]
    return st.sampled_from(names).flatmap(lambda name: st.tuples(st.just(name), st.permutations(name.split(".")[1:])))


def ordered_alike(name, parts):
    """Whether each class of which the order counts has the order it has in the name."""
    types = mmacalc.catalog.grammar.ptx.TYPES
    counting = (
        types,
        ("row", "col"),
        ("xor", "and", "popc"),
        ("mma_async", "mma", "load", "store", "a", "b", "c", "d"),
    )
    original = name.split(".")[1:]
    opcode = {"wgmma": 1, "wmma": 1 if original[0] == "mma" else 2}.get(name.split(".")[0], 0)
    return parts[:opcode] == original[:opcode] and all(
        [p for p in parts if p in some] == [p for p in original if p in some] for some in counting
    )


@pytest.mark.parametrize(
    ("target", "spelled"),
    [
        ("sm_80", "mma.sync.aligned.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        ("sm_80", "mma.shared.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        ("sm_120a", "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.block_scale.f32.e4m3.e4m3.f32.ue8m0"),
        ("sm_75", "ldmatrix.sync.aligned.m8n8.x4.x4.shared.b16"),
        ("sm_75", "ldmatrix.sync.aligned.m8n8.x4.trans.trans.shared.b16"),
        ("sm_75", "ldmatrix.sync.aligned.m8n8.x4.shared::cta.shared.b16"),
        ("sm_75", "movmatrix.sync.aligned.m8n8.trans.trans.b16"),
        ("sm_90a", "wgmma.sync.mma_async.aligned.m64n8k16.f32.f16.f16"),
        ("sm_90a", "wgmma.sp.mma_async.sync.aligned.m64n8k32.f32.f16.f16"),
        ("sm_80", "wmma.load.sync.aligned.a.row.m16n16k16.f16"),
        ("sm_80", "wmma.sync.mma.aligned.row.col.m16n16k16.f32.f32"),
    ],
)
def test_what_ptxas_refuses_to_see_twice_or_elsewhere_is_refused(target, spelled):
    with pytest.raises(mmacalc.Error):
        mmacalc.instruction(target, spelled)


@settings(max_examples=300, deadline=None)
@given(orders())
def test_the_order_counts_only_within_types_layouts_and_bit_operations(case):
    name, parts = case
    spelled = ".".join([name.split(".")[0], *parts])
    assert (key(spelled) == key(name)) == ordered_alike(name, parts)


@pytest.mark.parametrize(
    ("target", "spelled", "name"),
    [
        # documented, and as CUTLASS writes it
        ("sm_120a", "mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e3m2.e2m1.f32",
         "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m1.f32"),
        ("sm_80", "mma.sync.aligned.m16n8k16.f32.f16.f16.f32.row.col", MMA),
        ("sm_80", "MMA.sync.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", MMA),
        ("sm_80", "mma.sync.aligned.m8n8k4.row.col.rz.f64.f64.f64.f64",
         "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64.rz"),
        ("sm_90", "ldmatrix.sync.aligned.m8n8.x4.trans.b16", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"),
        ("sm_90", "ldmatrix.sync.aligned.x4.m8n8.shared::cta.b16", "ldmatrix.sync.aligned.m8n8.x4.shared.b16"),
    ],
)  # fmt: skip
def test_what_people_write_is_understood(target, spelled, name):
    assert mmacalc.instruction(target, spelled).name == name


@pytest.mark.parametrize(
    ("target", "name", "reason"),
    [
        ("sm_75", MMA, "sm_75 does not have .* needs sm_80 or later .PTX 7.0"),
        ("sm_90", WGMMA, "needs sm_90a .PTX 8.0"),
        ("sm_100a", "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e2m1.f32", "sm_120f, sm_121a or sm_121f"),
        ("sm_80", MMA.replace(".f32.f16.f16.f32", ".f32.f16.f16.f16"), "takes the types f16.f16.f16.f16, f32.f16"),
        ("sm_80", MMA.replace(".aligned", ""), "lacks .aligned: mma.sync.aligned"),
        ("sm_80", MMA.replace("k16", "k61"), "Did you mean mma.sync.aligned.m16n8k16"),
        ("sm_80", "mma.sync.aligned.m16n8k8.col.col.f32.f16.f16.f32", "Did you mean mma.sync.aligned.m16n8k8.row.col"),
        ("sm_80", "v_mfma_f32_16x16x16_f16", "-a sm_80 -L"),
    ],
)  # fmt: skip
def test_a_refused_name_says_which_target_or_version_has_it_or_what_is_wrong(target, name, reason):
    with pytest.raises(mmacalc.Error, match=reason):
        mmacalc.instruction(target, name)


def test_families_expand_as_a_shell_expands_braces():
    assert list(expand("a{,.b}.{x=c,d}{x}")) == ["a.cc", "a.dd", "a.b.cc", "a.b.dd"]
    assert list(expand("n{8,16..48..16}")) == ["n8", "n16", "n32", "n48"]


@pytest.mark.parametrize(
    ("known", "target"),
    [("volta", "sm_70"), ("T4", "sm_75"), ("A100", "sm_80"), ("RTX 3090", "sm_86"), ("rtx-4090", "sm_89"),
     ("NVIDIA GeForce RTX 4090", "sm_89"), ("Tesla V100", "sm_70"), ("NVIDIA H100", "sm_90a"),
     ("Hopper", "sm_90a"), ("H200", "sm_90a"), ("B200", "sm_100a"), ("sm100a", "sm_100a"), ("SM_90", "sm_90"),
     ("Jetson Thor", "sm_110a"), ("rtx5090", "sm_120a"), ("DGX Spark", "sm_121a"), ("B300", "sm_103a")],
)  # fmt: skip
def test_the_names_of_chips_mean_their_targets(known, target):
    assert entry(known).architecture.name == target


# --- what becomes of them ---


def test_every_sass_opcode_is_the_one_that_ptxas_writes():
    compared = 0
    for row in table("sass_measured.tsv.gz"):
        name = row.pop("mnemonic")
        for target in (target for target, text in row.items() if text):
            assert sass_of(mmacalc.instruction(target, name), target)[0] == row[target], (target, name)
            compared += 1
    assert compared > 6000


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_an_opcode_means_the_first_instruction_of_its_shape_that_becomes_it(target):
    becoming = {}
    for inst in mmacalc.instructions(target):
        text, status = sass_of(inst, target)
        if status.startswith("native") and not text[0].isdigit() and " + " not in text:
            becoming.setdefault(text, []).append(inst)
    for opcode, made in list(becoming.items())[:: 1 + len(becoming) // 200]:
        spelt = [(f".{inst.m}{inst.n}{inst.k}", f".{inst.m}x{inst.n}x{inst.k}") for inst in made]
        shaped = [inst for inst, texts in zip(made, spelt) if not inst.flops or any(text in opcode for text in texts)]
        assert mmacalc.instruction(target, opcode) == (shaped or made)[0], opcode
    assert len(becoming) > 20


def test_metadata_is_put_in_order_where_ptxas_writes_more_instructions_without_ordered_metadata():
    for row in table("ordered_metadata.tsv.gz"):
        name, longer = row["instruction"], int(row["without"]) > int(row["with"])
        status = sass_of(mmacalc.instruction(row["target"], name), row["target"])[1]
        assert status == "emulated" or (status.startswith("native, after") == longer), row
        ordered = name.replace("mma.sp.", "mma.sp::ordered_metadata.")
        assert "in order" not in sass_of(mmacalc.instruction(row["target"], ordered), row["target"])[1]


def test_what_is_said_of_a_matrix_that_is_moved_agrees_with_its_axes():
    """Coordinates are rows i and columns j in memory; M and N are PTX's shape, of which a transposed one is turned."""
    turned = set()
    for inst in [one for one in mmacalc.instructions("sm_120a") if one.moves]:
        held = inst.operand("A" if inst.moves == "stmatrix" else "D")
        detail = answer(["-a", "sm_120a", "-i", inst.name, "-d"]).out
        assert held.axes[-2:] == ("i", "j")
        assert f"{held.name}[i][j]" in detail
        assert "[k]" not in detail
        *_, rows, columns = held.shape
        last = ["-I", str(rows - 1), "-J", str(columns - 1), "-g", f"-{held.name}"]
        assert f"{held.name}[{rows - 1}][{columns - 1}]" in answer(["-a", "sm_120a", "-i", inst.name, *last]).out
        table = answer(["-a", "sm_120a", "-i", inst.name, "-R", f"-{held.name}"]).out
        names = "[N][M]" if (rows, columns) != (inst.m, inst.n) else "[M][N]"
        assert f"{held.name}{names}" in table
        said = f"In memory: transposed, {rows} rows (i) of {columns} elements (j)"
        assert (said in detail) == (names == "[N][M]")
        turned |= {inst.name} if names == "[N][M]" else set()
    assert {name.partition(".x")[0] for name in turned} == {"stmatrix.sync.aligned.m16n8"}
    explained = answer(["explain", "-a", "sm_100a", f"{min(turned)} [%r1], {{%r2}};"]).out
    assert "moves a matrix of 16x8, b8; in memory transposed, 8 rows (i) of 16 elements (j)" in explained


def test_the_two_recordings_of_sass_agree():
    """The older one has cells without an opcode where its kernels came out empty, and cuts names at a small x."""
    measured = {row["mnemonic"]: row for row in table("sass_measured.tsv.gz")}
    for row in table("sass_opcodes.tsv.gz"):
        for target, text in row.items():
            empty = text.startswith(("(no MMA opcode; 8 ", "(no MMA opcode; 16 ")) or text == "LDSM."
            if target != "mnemonic" and text and not empty:
                text = "no tensor-core opcode" if text.startswith("(no MMA") else text
                assert measured[row["mnemonic"]][target] == text, (row["mnemonic"], target)


@pytest.mark.parametrize("swizzle", shared_memory.SWIZZLES)
def test_a_swizzled_tile_uses_each_byte_once_and_a_column_without_conflicts(swizzle):
    row_bytes = shared_memory.SWIZZLES[swizzle].row_bytes
    places = {(r, k): shared_memory.offset(r, k, 8, swizzle) for r in range(8) for k in range(row_bytes)}
    assert sorted(places.values()) == list(range(8 * row_bytes))
    for chunk in range(row_bytes // 16):
        # Shared memory delivers 128 bytes at a time: eight rows of a chunk lie in as many different 16-byte groups.
        banks = {places[row, 16 * chunk] % 128 // 16 for row in range(8)}
        assert len(banks) == 8
    for address in range(0, 1024, 16):
        assert shared_memory.swizzled(shared_memory.swizzled(address, swizzle), swizzle) == address


def test_every_place_of_a_wmma_fragment_is_the_one_that_ptxas_loads_or_stores():
    """Read from the address arithmetic of compiled loads and stores, on 14 targets; see the data's README."""
    operands, compared = {}, 0
    for row in table("wmma_fragments.tsv.gz"):
        fragment = (row["operation"], row["operand"], row["layout"], row["shape"], row["type"])
        key = (row["target"], *fragment)
        if key not in operands:
            name = "wmma.{}.{}.sync.aligned.{}.{}.shared.{}".format(*fragment)
            operands[key] = mmacalc.instruction(row["target"], name).operand(row["operand"].upper())
        operand, (first, second) = operands[key], operands[key].axes[1:]
        for place in row["lane,slot,i,j"].split():
            lane, slot, i, j = map(int, place.split(","))
            held = [(x.lane, x.item) for x in operand.locate(**{first: i, second: j})]
            assert (lane, slot) in held, key
            compared += 1
    assert compared == 13938


def test_the_fragments_of_wmma_mma_are_those_of_its_loads_and_as_large_as_documented():
    for target in ("sm_70", "sm_72", "sm_75", "sm_80"):
        loads = {}
        for inst in mmacalc.instructions(target):
            if "wmma" in inst.features and "move" in inst.features:
                (name,) = inst.operands
                loads[name, inst.layouts[0], inst.m, inst.n, inst.k, inst.formats[name]] = inst.operand(name)
        for inst in mmacalc.instructions(target):
            if "wmma" in inst.features and "move" not in inst.features:
                for name, count in inst.fragment_registers.items():
                    fragment = inst.operand(name)
                    assert fragment.registers == count
                    side = inst.layouts["AB".index(name)] if name in "AB" else "row"
                    loaded = loads.get((name, side, inst.m, inst.n, inst.k, inst.formats[name]))
                    if loaded:
                        assert loaded.layout == fragment.layout
    note = "not read from a GPU"
    assert any(note in text for text in mmacalc.instruction("sm_80", inst.name).notes)


# --- the command line ---


def test_locations_print_as_ptx_authors_think():
    assert lines("-a", "A100", "-i", MMA, "-A", "-g", "-I", "9", "-K", "3") == [
        "Architecture: sm_80 (Ampere)", f"Instruction: {MMA}", "A[9][3] = a3 @ lane 5 (%r1[31:16])",
    ]  # fmt: skip
    assert lines("-a", "A100", "-i", MMA, "-A", "-m", "-r", "1", "-l", "5")[2:] == [
        "a2 @ lane 5 (%r1[15:0]) = A[9][2]", "a3 @ lane 5 (%r1[31:16]) = A[9][3]",
    ]  # fmt: skip
    f64 = "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64"
    assert lines("-a", "H100", "-i", f64, "-A", "-g", "-I", "9", "-K", "5")[2] == "A[9][5] = a3 @ lane 5 (%rd3)"
    assert lines("-a", "H100", "-i", f64, "-A", "-m", "-r", "7", "-l", "5")[2] == "a3 @ lane 5 (%rd3) = A[9][5]"
    assert lines("-a", "A100", "-i", SPARSE, "-A", "-g", "-K", "9")[2] == "A[0][9] = a0-a1 @ lane 2 (%r0)"
    selected = lines("-a", "A100", "-i", SPARSE, "-k", "-g", "-K", "9", "--selector", "1")
    assert selected[2] == "K[0][9] = e @ lane 2 (%r0[11:8])"
    scale = lines("-a", "sm_120a", "-i", SCALED, "--scale-b", "-g", "-J", "3", "-K", "40", "--byte-id-b", "2")
    assert scale[2] == "SB[40][3] = scale-b @ lane 12 (%r0[31:24])"
    load = "ldmatrix.sync.aligned.m8n8.x4.b16"
    assert (
        lines("-a", "H100", "-i", load, "-D", "-m", "-l", "4", "-r", "2")[3] == "d5 @ lane 4 (%r2[31:16]) = D[1][1].B2"
    )
    assert lines("-a", "H100", "-i", load, "--addresses", "-m", "-l", "9")[2] == "p @ lane 9 (%r0) = P[1][0].B1"
    volta = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"
    assert lines("-a", "V100", "-i", volta, "-A", "-g", "-I", "5", "-K", "1", "-b", "2")[2] == (
        "A[5][1].B2 = a1 @ lane 25 (%r0[31:16])"
    )


def test_an_output_is_the_sum_of_all_its_products():
    found = lines("-a", "H100", "-i", WGMMA, "-D", "-g", "-o", "-I", "40", "-J", "3")[2]
    assert found.startswith("D[40][3] = d3 @ lane 65 (%r3) = (a2 @ lane 64 (%r1[15:0]))*B[0][3] + ")
    assert found.endswith(" + (d3 @ lane 65 (%r3))")  # it accumulates in its destination
    assert found.count("*") == 16
    document = json.loads(answer(["-a", "H100", "-i", WGMMA, "-D", "-g", "-o", "--json"]).out)
    b = document["products"][0]["b"]
    assert (b["element"], b["negated"], b["absolute"], b["location"]) == ("B[0][0]", False, False, None)
    reply = answer(["-a", "H100", "-i", "ldmatrix.sync.aligned.m8n8.x1.b16", "-D", "-g", "-o"])
    assert (reply.status, reply.out) == (2, "")
    assert "it has no sums to show" in reply.err


def test_whole_tables_name_elements_and_registers():
    listed = lines("-a", "A100", "-i", MMA, "-B", "-M", "-c")
    assert listed[2] == "lane,b0 %r0[15:0],b1 %r0[31:16],b2 %r1[15:0],b3 %r1[31:16]"
    assert listed[3] == "0,B[0][0],B[1][0],B[8][0],B[9][0]"
    placed = lines("-a", "A100", "-i", MMA, "-B", "-R", "-c")
    assert placed[2].startswith("B[K][N],0,1,2")
    assert placed[3].startswith("0,b0 @ lane 0 (%r0[15:0]),b0 @ lane 4")
    assert lines("-a", "A100", "-i", MMA, "-B", "--pattern")[2] == "B: (c t e) j -> lane (j t), item (c e)"


@pytest.mark.parametrize("target", ["sm_70", "sm_75", "sm_89", "sm_90a", "sm_100a", "sm_121a"])
@sampled("step", [3, 1], 1)
def test_every_instruction_has_a_page_and_the_same_as_json(target, step):
    for number, inst in enumerate(mmacalc.instructions(target)[::step]):
        if "wgmma" in inst.features and inst.n not in (8, 48):
            continue
        page = lines("-a", target, "-i", inst.name, "-d")
        assert page[1] == f"Instruction: {inst.name}"
        assert f"    PTX ISA version: {inst.ptx} " in "\n".join(page)
        if number % 9 == 0:
            document = json.loads(answer(["-a", target, "-i", inst.name, "-d", "--json"]).out)
            assert document["ptx_version"] == inst.ptx
            assert set(document["targets"]) >= {target}


@sampled("step", [4, 1], 1)
def test_every_formula_of_every_page_evaluates_to_the_place_and_back(step):
    operands = []
    for target in ("sm_70", "sm_90a", "sm_121a"):
        for inst in mmacalc.instructions(target):
            if "wgmma" not in inst.features or inst.n in (8, 40):
                operands += [inst.operand(name) for name in inst.register_operands]
    for operand in list(distinct(operands))[::step]:
        evaluate(operand)


def test_the_page_says_what_is_native_what_is_emulated_and_how_it_rounds():
    int4 = "mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32"
    page = "\n".join(lines("-a", "H100", "-i", int4, "-d"))
    assert "SASS on sm_90a: 2xIMMA.8816.S8.S8 (emulated)" in page
    assert "sm_75 to sm_89: IMMA.8832.S4.S4 (native)" in page
    page = "\n".join(lines("-a", "A100", "-i", MMA, "-d"))
    assert "Dense FMA per clock and SM: 1024 (NVIDIA A100" in page
    assert "The 8 products of a step" in page
    assert "two sources agree" in page  # hardware was measured with a K of 8
    assert "hardware-verified" in "\n".join(lines("-a", "A100", "-i", MMA.replace("k16", "k8"), "-d"))
    assert "Dense FMA" not in "\n".join(lines("-a", "B200", "-i", MMA, "-d"))
    page = "\n".join(lines("-a", "H100", "-i", WGMMA, "-d"))
    assert "128B swizzle:  tiles of 8 rows x 128 bytes, Swizzle<3,4,3>, code 1" in page
    assert "B: none; a 64-bit matrix descriptor" in page
    page = "\n".join(lines("-a", "A100", "-i", SPARSE.replace("k32", "k16"), "-d"))
    assert "Layout of K: unconfirmed" in page
    assert "which lane of a quad the selector names" in page


def test_any_two_instructions_are_set_side_by_side():
    pair = ("compare", "gfx942", "v_mfma_f32_16x16x16_f16", "sm_80", MMA)
    page = lines(*pair)
    row = dict(re.split(r"  +", line, maxsplit=1) for line in page if re.match(r"\w.*  ", line))
    assert [line.split()[-1] for line in page[:2]] == ["16x16x16", "16x8x16"]
    assert row["A, each lane"].split("  ")[::2] == ["f16, 2 registers", "f16, 4 registers"]
    assert row["operations"].split() == ["8192", "4096"]
    assert "    cdna3  i (g e) -> lane (g i), item (e)   i=16, g=4, e=4" in page
    document = json.loads(answer([*pair, "--json"]).out)
    assert [side["lanes"] for side in document["instructions"]] == [64, 32]
    assert lines("compare", "H100", WGMMA, "gfx1250", "v_wmma_f32_16x16x32_f16")


def test_find_sees_every_vendor():
    names = [inst.arch for inst in mmacalc.find(m=16, n=16, k=16, a="f16", d="f32")]
    assert "cdna3" in names
    assert "sm_70" in names
    assert lines("find", "-a", "H100", "ldmatrix")[0].split() == [
        "sm_90a", "ldmatrix.sync.aligned.m8n8.x1.shared.b16", "8x8x1", "b16",
    ]  # fmt: skip
