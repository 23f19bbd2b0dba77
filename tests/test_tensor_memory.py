"""tcgen05: names, shapes, layouts in Tensor Memory, loads and copies, and the command line."""

import csv
import gzip
import json
import re
from functools import cache
from pathlib import Path

import pytest

import mmacalc
from mmacalc.catalog import entry
from mmacalc.catalog.grammar.tcgen05 import parse, sass_of
from mmacalc.cli import answer
from mmacalc.families import tensor_memory as family
from mmacalc.families.tensor_memory import COPIES, LOADS, Form, allowed_shapes, copy_layout, load_layout, registers
from tensor_memory_forms import TARGETS, depths

DATA = Path(__file__).parent / "data" / "tensor_memory"
F16 = "tcgen05.mma.cta_group::1.kind::f16"
BITS = {"f16": 16, "tf32": 32, "e4m3": 8, "s8": 8, "b8": 8, "e2m1": 4, "f32": 32}
KIND = {"f16": "f16", "tf32": "tf32", "e4m3": "f8f6f4", "s8": "i8", "b8": "i8", "e2m1": "mxf4", "f32": "f16"}


def rows(name):
    with gzip.open(DATA / name, "rt") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def mma(name=F16, target="sm_100a"):
    return mmacalc.instruction(target, name)


# --- layouts, against CUTLASS evaluated ---


@cache
def cells_of(form):
    """The cells of a form as the recording names it, such as "A cta_group::1 M128 K16 f16"."""
    words = form.split()
    size = {word[0]: int(word[1:]) for word in words if re.fullmatch(r"[MNK]\d+", word)}
    group = 2 if "cta_group::2" in words else 1
    kind = next((word for word in words if word in BITS), "")
    described = Form(KIND.get(kind, "mxf4"), words[0] == "E", "ws" in words, group)
    if words[0] == "D":
        return family.d_cells(described, size["M"], size["N"], BITS[kind])
    if words[0] == "A":
        return family.a_cells(described, size["M"], size["K"], BITS[kind])
    if words[0] == "E":
        return family.metadata_cells(described, size["M"], size["K"], BITS[kind])
    scales = {"1X": 1, "2X": 2, "4X": 4, "1X.k8": 8, "stream24": 24}[words[3]]
    halves = described._replace(cta_group=2 if words[0] == "SFB" else 1)
    return family.scale_cells(halves, "SB", int(words[2][4:]), 128, scales)


def test_every_element_is_where_cutlass_has_it():
    compared = 0
    for row in rows("layouts.tsv.gz"):
        cells, form = cells_of(row["form"]), row["form"].split()
        layout, first, second = cells.layout, int(row["c0"]), int(row["c1"])
        if form[0] == "E":  # recorded by group of k
            second *= family.GROUPS[BITS[form[-1]]][0]
        places = layout.locate(dict(zip(layout.axes, (first, second))))
        found = [dict(zip(layout.places, place)) for place in places]
        bits = {(p["lane"], p["column"], p.get("item", 0) * cells.slot_bits + cells.offset) for p in found}
        assert (int(row["lane"]), int(row["column"]), int(row["bit"])) in bits, row
        compared += 1
    assert compared == 24900


def test_every_thread_and_register_of_a_load_is_cutlass_s():
    for row in rows("ldst.tsv.gz"):
        shape, count, *pack = row["form"].split(".")
        layout = load_layout(shape, int(count[1:]), bool(pack))
        ((thread, item),) = layout.locate({"lane": int(row["lane"]), "column": int(row["column"])})
        place = (thread, item // 2, item % 2 * 16) if pack else (thread, item, 0)
        assert place == tuple(int(row[key]) for key in ("thread", "register", "register_bit")), row


def test_every_copied_word_is_where_cutlass_has_it():
    for row in rows("cp.tsv.gz"):
        places = copy_layout(row["shape"]).locate({"row": int(row["row"]), "column": int(row["column"])})
        assert (int(row["lane"]), int(row["tmem_column"])) in places, row


def forms():
    """(instruction, m, n) for every form and M, with a small and the largest N."""
    for name in entry("sm_100a").tensor_memory_names:
        if ".mma" not in name or "ti16" in name:
            continue
        inst = mma(name)
        sizes, columns = allowed_shapes(inst.form)
        yield from ((inst, m, n) for m in sizes for n in {columns[0], columns[len(columns) // 2], columns[-1]})


def test_every_cell_of_every_operand_holds_the_elements_that_are_located_there():
    compared = 0
    for inst, m, n in forms():
        for name in inst.operands:
            if name == "B":
                continue
            try:
                operand = inst.operand(name, m=m, n=n)
            except mmacalc.Error:
                assert name == "K"  # see test_open_points_say_that_they_are
                assert m // inst.form.cta_group < 128
                continue
            _, first, second = operand.axes
            _, rows_, columns = operand.shape
            for row in {0, 1, rows_ // 2 + 1, rows_ - 1}:
                for col in {0, columns // 2, columns - 1}:
                    for place in operand.locate(**{first: row, second: col}):
                        held = operand.contents(lane=place.lane, column=place.column, cta=place.cta)
                        here = [(e.row, e.col) for e in held if e.lsb == place.lsb]
                        assert (row, col) in here, (operand, place)
                        compared += 1
    assert compared > 5000


@pytest.mark.parametrize("shape", LOADS)
def test_a_loaded_element_of_d_is_what_the_load_reads_from_its_cell(shape):
    """The composition, taken apart: the cell by D's layout, and the thread that the load gives this cell to."""
    count = 4
    for m, n, half in ((128, 64, 0), (64, 64, 1)):
        d = mma().operand("D", m=m, n=n, half=half)
        loaded, one = d.loaded(shape, count), load_layout(shape, count)
        rows_, columns = one.extents
        for i in range(0, m, 7):
            for j in range(0, n, 5):
                ((_, lane, column, _, _),), ((cta, warp, thread, load, register, _, _),) = (
                    d.locate(i=i, j=j),
                    loaded.locate(i=i, j=j),
                )
                inside = {"lane": lane % 32 % rows_, "column": column % columns}
                assert ((thread, register),) == one.locate(inside)
                assert (cta, warp, load) == (0, lane // 32, column // columns * (32 // rows_) + lane % 32 // rows_)
                held = loaded.contents(warp=warp, lane=thread, load=load, register=register)
                assert (i, j) in [place[:2] for place in held]


def test_narrow_elements_of_a_lie_in_their_bytes_as_the_copies_of_the_ptx_isa_put_them():
    """tcgen05.cp with .b4x16_p64 and .b6x16_p32: of each byte, e2m1 has bits 5 to 2 and six-bit formats bits 5 to 0."""
    inst = mmacalc.instruction("sm_100a", "tcgen05.mma.cta_group::1.kind::f8f6f4")
    for name, low, width in (("e2m1", 2, 4), ("e2m3", 0, 6), ("e3m2", 0, 6), ("e4m3", 0, 8), ("e5m2", 0, 8)):
        operand = inst.operand("A", m=128, n=64, a=name, b="e4m3", d="f32")
        for k in range(8):
            (place,) = operand.locate(i=3, k=k)
            assert (place.column, place.lsb, place.width) == (k // 4, 8 * (k % 4) + low, width)


def test_packed_halves_of_a_16_bit_d_are_neighbouring_columns():
    d = mma().operand("D", m=128, n=64, d="f16")
    held = d.loaded("32x32b", 32, True).contents(warp=1, lane=3, load=0, register=5)
    assert [tuple(place) for place in held] == [(35, 10, 0, 0, 16), (35, 11, 0, 16, 16)]
    with pytest.raises(mmacalc.Error, match="for a D of 16 bits"):
        mma().operand("D", m=128, n=64).loaded("32x32b", 32, True)


# --- shapes ---


def numbers(text):
    """`8..256 step 8`, `64|128`, `8|16|48..256 step 16`."""
    found = []
    for part in text.split("|"):
        first, _, rest = part.partition("..")
        last, _, step = rest.partition(" step ")
        found += [int(first)] if not rest else range(int(first), int(last) + 1, int(step))
    return tuple(found)


def test_every_legal_shape_is_that_of_the_tables_of_the_ptx_isa():
    with (DATA / "shapes.tsv").open() as stream:
        listed = [row for row in csv.DictReader(stream, delimiter="\t") if not row["M"].startswith("as ")]
    for row in listed:
        form = Form(row["kind"], row["sparse"] == "1", row["ws"] == "1", int(row["cta_group"]))
        deep = int(row["K"])
        sizes, columns = allowed_shapes(form)
        if deep == 96:
            assert deep not in depths(form, "sm_100a", 256)
            assert deep in depths(form, "sm_103a", 256)
            assert deep not in depths(form, "sm_103a", 128)
            continue
        assert (sizes, columns) == (numbers(row["M"]), numbers(row["N"])), row
        assert depths(form, "sm_100a", sizes[0]) == (deep,)
    assert len(listed) == 38


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "name m and n, such as m=128, n=256"),
        ({"m": 96, "n": 8}, "M is 64 or 128"),
        ({"m": 256, "n": 16}, "kind::f16 with cta_group::2 supports M = 256"),
        ({"m": 32, "n": 64}, "kind::f16 .ws with cta_group::1 supports M = 32"),
        ({"m": 128, "n": 20}, "N is 8 to 256 in steps of 8"),
        ({"m": 128, "n": 64, "k": 32}, "is 16; got 32$"),
        ({"m": 128, "n": 64, "a": "e4m3"}, "A of kind::f16 is f16 or bf16; got 'e4m3'"),
        ({"m": 128, "n": 64, "a": "bf16", "d": "f16"}, "D of kind::f16 is f32 when A and B are bf16"),
        ({"m": 128, "n": 64, "half": 1}, "half of D .* is 0; got 1"),
        ({"m": 128, "n": 64, "halv": 1}, "no parameter 'halv'. Did you mean half"),
    ],
)
def test_a_shape_that_is_none_is_refused_with_those_that_are(arguments, reason):
    with pytest.raises(mmacalc.Error, match=reason):
        mma().operand("D", **arguments)


def test_a_k_of_other_targets_is_refused_with_the_targets_and_shapes_that_have_it():
    """PTX ISA 9.1, table 39: K = 96 on sm_103a for M = 256 of a pair of CTAs; 9.4, table 48: sm_107's 64, 96, 128."""
    mxf4, mxf8 = (f"tcgen05.mma.cta_group::2.kind::{kind}.block_scale" for kind in ("mxf4", "mxf8f6f4"))
    for name, k, usual, where in (
        (mxf4, 96, 64, "sm_103a or sm_107a, with cta_group::2 and M = 256"), (mxf4, 128, 64, "sm_107a or sm_107f"),
        (mxf8, 64, 32, "sm_107a or sm_107f"),
        (mxf8, 96, 32, None),
    ):  # fmt: skip
        with pytest.raises(mmacalc.Error, match=f"is {usual}; got {k}{f', which requires {where}' if where else ''}$"):
            mma(name).operand("D", m=256, n=64, k=k)


def test_open_points_say_that_they_are():
    assert "TVM" in mma().operand("A", m=64, n=64).doubt
    assert mma().operand("A", m=64, n=64).provenance == "unconfirmed"
    assert mma().operand("A", m=128, n=64).provenance == "two sources agree"
    with pytest.raises(mmacalc.Error, match="which no other source confirms"):
        mma("tcgen05.mma.sp.cta_group::1.kind::f16").operand("K", m=64, n=64)


# --- names and verdicts ---


def test_every_verdict_is_that_of_ptxas_13_5():
    column, compared = "accepted_13.5_100a_100f_103a_103f_107a_107f_110a_110f", 0
    for row in rows("ptxas_tcgen05.tsv.gz"):
        name, operands = row["instruction"], (row["operands"] or "").replace("A=", "").split()
        if "kind::i8" in name and any(word.startswith("scale") for word in operands):
            continue  # which ptxas takes unchecked, out of range as well; the PTX ISA does not have it
        accepted = "".join("10"[bool(entry(target).refusal(name, operands))] for target in TARGETS)
        assert accepted == row[column], (name, operands)
        compared += 1
    assert compared > 1990


def test_every_sass_opcode_is_that_of_ptxas_13_5():
    for row in rows("sass_tcgen05.tsv.gz"):
        opcodes = [opcode for opcode in (row["sass_opcodes"] or "").split("; ") if not opcode.startswith("SYNCS")]
        assert sass_of(parse(row["instruction"]), mmacalc.architecture(row["target"]).tcgen05) == "; ".join(opcodes), (
            row
        )


@pytest.mark.parametrize("target", TARGETS)
def test_every_listed_name_is_an_instruction_of_its_target(target):
    for name in entry(target).tensor_memory_names:
        inst = mmacalc.instruction(target, name)
        assert (inst.name, target in inst.targets) == (name, True)
    kinds = {
        inst.kind for name in entry(target).tensor_memory_names if (inst := mmacalc.instruction(target, name)).kind
    }
    assert kinds == {*mmacalc.architecture(target).tcgen05["kinds"]}


@pytest.mark.parametrize(
    ("target", "name", "reason"),
    [
        ("sm_100", F16, "it has no Tensor Memory; sm_100a, sm_100f"),
        ("sm_100f", "tcgen05.mma.cta_group::1.kind::i8", "sm_100f has no kind::i8; sm_100a, sm_110a have it"),
        ("sm_100a", "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale", "takes .block32 or .scale_vec::2X"),
        ("sm_100a", "tcgen05.mma.ws.cta_group::2.kind::f16", ".ws takes .cta_group::1"),
        ("sm_100a", "tcgen05.ld.sync.aligned.16x256b.x64.b32", ".16x256b takes .x1 to .x32"),
        ("sm_100a", "tcgen05.ld.aligned.16x256b.x8.b32", "lacks .sync"),
        ("sm_100a", "tcgen05.mma.cta_group::1.kind::f16.ashfit", "Did you mean ashift"),
        ("sm_100a", "tcgen05.mmma", "Did you mean mma"),
    ],
)
def test_a_refused_name_says_why(target, name, reason):
    with pytest.raises(mmacalc.Error, match=reason):
        mmacalc.instruction(target, name)


def test_registers_of_loads_are_those_that_ptxas_counts():
    for row in rows("ptxas_tcgen05.tsv.gz"):
        words = row["instruction"].split(".")
        if words[1] in ("ld", "st") and "red" not in words and "spcompress" not in words and row["operands"]:
            shape, count = words[4], int(words[5][1:])
            if row["accepted_13.5_100a_100f_103a_103f_107a_107f_110a_110f"] == "11111111":
                assert registers(shape, count) == int(row["operands"].split()[0]), row


# --- the command line ---


def told(*argv):
    reply = answer(argv)
    assert reply.status == 0, reply.err
    return reply.out.splitlines()


def test_the_command_line_answers_in_lanes_and_columns():
    query = ("-a", "B200", "-i", F16, "-M", "128", "-N", "256")
    assert told(*query, "--d-type", "f32", "-D", "-g", "-I", "3", "-J", "17")[2:] == [
        "Shape: M 128, N 256, K 16; A f16, B f16, D f32", "D[3][17] = Tensor Memory lane 3, column 17",
    ]  # fmt: skip
    assert told(*query, "-D", "-g", "-I", "35", "-J", "100", "--load", "32x32b.x32")[-1] == (
        "D[35][100] after the load = warp 1, lane 3, load 3, %r4"
    )
    assert told(*query, "-A", "-m", "-l", "3", "--column", "2")[-2:] == [
        "Tensor Memory lane 3, column 2, bits 15:0 = A[3][4]", "Tensor Memory lane 3, column 2, bits 31:16 = A[3][5]",
    ]  # fmt: skip
    assert told(*query, "-A", "-R", "-c")[3].startswith("A[M][K],0,1")
    assert told(*query, "-A", "-M", "-c")[5].startswith("0,A[0][0]")
    assert told(*query, "-D", "--pattern")[3] == "D: i j -> lane (i), column (j)"
    document = json.loads(answer([*query, "-D", "-g", "-J", "9", "--json"]).out)
    assert document["locations"] == [{"cta": 0, "lane": 0, "column": 9, "lsb": 0, "width": 32}]
    assert document["space"] == "tensor memory"
    assert "%r" not in answer([*query, "-D", "-R", "-c"]).out


def test_every_page_and_pattern_of_tensor_memory_is_written_and_is_json():
    for name in entry("sm_107a").tensor_memory_names[::7]:
        assert told("-a", "rubin", "-i", name, "-d")[1] == f"Instruction: {name}"
        assert json.loads(answer(["-a", "rubin", "-i", name, "-d", "--json"]).out)["instruction"] == name


@pytest.mark.parametrize("shape", COPIES)
def test_a_copy_fills_every_cell_of_its_box(shape):
    layout = copy_layout(shape)
    words = [layout.locate({"row": i, "column": c}) for i in range(layout.extents[0]) for c in range(layout.extents[1])]
    cells = [place for places in words for place in places]
    assert len(set(cells)) == len(cells)


def test_the_shape_of_other_instructions_is_their_own():
    reply = answer(["-a", "MI300X", "-i", "v_mfma_f32_16x16x16_f16", "-A", "-M", "128"])
    assert reply.status == 2
    assert "--m is for tcgen05" in reply.err


def test_details_say_shapes_and_orders_in_words():
    def said(kind):
        return answer(["-a", "B200", "-i", f"tcgen05.mma.{kind}", "-d"]).out

    assert "N: 8 to 256 in steps of 8\n" in said("cta_group::1.kind::f16")
    assert "N: 8, 16, 24, 32 to 256 in steps of 16\n" in said("cta_group::1.kind::i8")
    assert "A and B; N of a transposed B is in steps of 32\n" in said("cta_group::2.kind::f8f6f4")
    assert "none: A and B are K-major\n" in said("cta_group::1.kind::mxf4.block_scale.block32")
    assert "with the 128B swizzle of 32-byte atoms only\n" in said("ws.cta_group::1.kind::tf32")


@pytest.mark.parametrize(("kind", "n", "noted"), [("f8f6f4", 24, True), ("f8f6f4", 32, False), ("f16", 24, False)])
def test_a_transposed_b_of_8_bits_wants_n_in_steps_of_16(kind, n, noted):
    a = {"f8f6f4": "e4m3", "f16": "f16"}[kind]
    described = mmacalc.instruction_descriptor(kind, 64, n, a=a, transpose_b=1)
    assert any("steps of 16" in note for note in described.notes) == noted


@pytest.mark.parametrize("kind", ["mxf8f6f4", "mxf4"])
def test_block_scales_without_a_size_are_those_of_blocks_of_32(kind):
    """PTX ISA, tcgen05.mma: .block32 is the default of these kinds."""
    name = f"tcgen05.mma.cta_group::1.kind::{kind}.block_scale"
    plain, blocks = (mmacalc.instruction("B200", each).shaped(m=128, n=128) for each in (name, f"{name}.block32"))
    for operand in ("SA", "SB"):
        one, other = plain.operand(operand), blocks.operand(operand)
        assert (one.shape, one.layout) == (other.shape, other.layout)
