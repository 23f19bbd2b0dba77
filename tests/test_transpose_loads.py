"""The loads that transpose, against the CDNA4 ISA guide's section 11.4, what was measured, and LLVM 24's encodings."""

import json

import pytest

import mmacalc
import recorded
from closed_forms import distinct
from mmacalc.cli import answer
from mmacalc.memory_access.accesses import Placing
from mmacalc.memory_access.swizzles import swizzle_of
from mmacalc.memory_access.transpose_loads import loads_for, transpose_loads
from mmacalc.memory_access.transposed import transposing
from mmacalc.memory_access.units import tile
from samples import sampled


def k_of(step):
    return [(run[0], run[-1]) for run in step.k]


@pytest.mark.parametrize(
    ("name", "modifiers", "load", "first", "second"),
    [
        ("v_mfma_f32_32x32x16_f16", {}, "ds_read_b64_tr_b16", [(0, 3), (8, 11)], [(4, 7), (12, 15)]),
        (
            "v_mfma_i32_16x16x64_i8", {}, "ds_read_b64_tr_b8",
            [(0, 7), (16, 23), (32, 39), (48, 55)], [(8, 15), (24, 31), (40, 47), (56, 63)],
        ),
        ("v_mfma_f32_32x32x64_f8f6f4", {"cbsz": "fp4"}, "ds_read_b64_tr_b4", [(0, 15), (32, 47)], [(16, 31), (48, 63)]),
        ("v_mfma_f32_32x32x64_f8f6f4", {"cbsz": "fp6"}, "ds_read_b96_tr_b6", [(0, 15), (32, 47)], [(16, 31), (48, 63)]),
    ],
)  # fmt: skip
def test_two_loads_take_the_k_that_the_guide_says(name, modifiers, load, first, second):
    steps = loads_for(mmacalc.instruction("cdna4", name).operand("A", **modifiers))
    assert [step.load.name for step in steps] == [load, load]
    assert [k_of(step) for step in steps] == [first, second]
    assert [step.first_register for step in steps] == [0, steps[0].load.registers]


def test_what_the_loads_put_in_each_lane_is_what_the_operand_says():
    fed = 0
    known = [inst for arch in ("cdna4", "rdna4", "cdna5") for inst in mmacalc.instructions(arch)]
    for operand in distinct(inst.operand(name) for inst in known for name in "AB"):
        try:
            steps = loads_for(operand)
        except mmacalc.Error:
            continue
        fed += 1
        assert sum(step.load.registers for step in steps) == operand.registers
        for step in steps:
            received = step.load.lane_receives
            for first_lane, first_row, ks in step.groups:
                for lane in range(step.load.lanes):
                    for slot in range(step.load.elements):
                        ((k, row),) = received.contents((lane, slot))
                        held = list(operand.elements(first_lane + lane, step.number * step.load.elements + slot))
                        one, two = first_row + row, ks[k]
                        assert [found[:2] for found in held] == [(one, two) if operand.name == "A" else (two, one)]
    assert fed > 20


def test_a_tile_is_fetched_and_received_whole():
    for load in transpose_loads("mi355x"):
        for layout in (load.lane_receives, load.lane_fetches):
            places = {layout.locate({"k": k, "i": i}) for k in range(load.elements) for i in range(16)}
            assert len(places) == 16 * load.elements
            assert layout.spans == {"lane": 16, "item": load.elements}


def test_the_command_names_what_is_undocumented():
    text = answer(["lds-transpose", "-i", "v_mfma_f32_16x16x128_f8f6f4", "-A", "--cbsz", "fp6"]).out
    assert "ds_read_b96_tr_b6 fills v[5:3]" in text
    assert "lanes 16..31: i = 0..15, k = 48..63" in text
    assert "unconfirmed" in text
    for argv in (["-l", "ds_read_b64_tr_b8"], [], ["-i", "v_mfma_f32_16x16x32_f16", "-B"]):
        assert "Caveat: the CDNA4 ISA guide does not say" in answer(["lds-transpose", *argv]).out
        assert json.loads(answer(["lds-transpose", *argv, "--json"]).out)["architecture"] == "cdna4"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["-i", "v_mfma_f32_16x16x4_f32", "-A"], "transposes elements of 4, 6, 8, 16 bits"),
        (["-i", "v_smfmac_f32_16x16x64_f16", "-A"], "not compressed"),
        (["-i", "v_mfma_f32_4x4x4_16b_f16", "-A"], "it holds 4 and 4"),
        (["-i", "v_mfma_f32_16x16x32_f16"], "choose the matrix"),
        (["-a", "cdna3"], "CDNA3 has no loads that transpose; cdna4, cdna5, gfx1251 and rdna4 have"),
        (["-a", "gfx1170"], "GFX1170 has no loads that transpose"),
        (["-a", "gfx1250", "-l", "ds_load_tr4_b64"], "which lane ds_load_tr4_b64 gives which element is open"),
        (["-a", "gfx1250", "-i", "v_wmma_f32_32x16x128_f4", "-A"], "is open: no public source says"),
        (["-a", "gfx1250", "-i", "v_wmma_f32_16x16x32_f16", "-A", "-l", "ds_load_tr8_b64"], "ds_load_tr16_b128 and"),
        (["-l", "ds_read_b64_tr_b12"], "Did you mean"),
    ],
)
def test_what_no_load_can_do_is_refused(argv, message):
    done = answer(["lds-transpose", *argv])
    assert (done.status, done.out) == (2, "")
    assert message in done.err


@pytest.mark.parametrize(
    ("arch", "name"),
    [("gfx1201", "global_load_tr_b128"), ("gfx1250", "ds_load_tr16_b128"), ("gfx1250", "global_load_tr16_b128")],
)
def test_the_16_bit_loads_are_what_was_measured(arch, name):
    """received(L, j) = run(8 floor(L / 8) + j)[L mod 8], run(L) being the 8 elements at the address of lane L."""
    (load,) = (load for load in transpose_loads(arch) if load.name == name)
    assert (load.lanes, load.received_by) == (8, "hardware-verified")
    for lane in range(8):
        for j in range(8):
            ((k, i),) = load.lane_receives.contents((lane, j))
            assert load.lane_fetches.locate({"k": k, "i": i}) == ((j, lane),)


def test_gfx1250_s_8_bit_loads_are_what_was_measured():
    """received(L, j) = run(4 floor(L / 8) + 8 floor(j / 4) + j mod 4)[L mod 8], in each half of a wave."""
    for load in (load for load in transpose_loads("gfx1250") if load.bits == 8):
        assert (load.lanes, load.received_by, load.fetched_by) == (16, *2 * ("hardware-verified",))
        for lane in range(16):
            for j in range(8):
                ((k, i),) = load.lane_receives.contents((lane, j))
                assert load.lane_fetches.locate({"k": k, "i": i}) == ((lane // 8 * 4 + j // 4 * 8 + j % 4, lane % 8),)


def test_rdna4_s_load_is_refused_in_wave64_which_nobody_measured():
    operand = mmacalc.instruction("rdna4", "v_wmma_f32_16x16x16_f16").operand("A", wave=64)
    with pytest.raises(mmacalc.Error, match="wave32 alone"):
        loads_for(operand)


def test_opcodes_registers_and_other_names_are_those_of_llvm_24():
    """DS has its opcode in bits 25 to 18 (of CDNA4: 24 to 17) of its first word, VGLOBAL in bits 21 to 14."""
    lines = (recorded.DATA / "llvm/loads_24.tsv").read_text().splitlines()[1:]
    told = {}
    for text, target, code in (line.split("\t") for line in lines):
        if code != "refused" and "_tr" in text and not target.endswith("w64"):
            word = int.from_bytes(bytes.fromhex(code)[:4], "little")
            shift = 14 if text.startswith("global") else 17 if target == "gfx950" else 18
            destination = text.split()[1].strip("v[],")
            first, _, last = destination.partition(":")
            told[target.split()[0], text.split()[0]] = (word >> shift & 0xFF, int(last or first) - int(first) + 1)
    ours = {}
    for target in ("gfx950", "gfx1200", "gfx1250"):
        for load in transpose_loads(target):
            ours |= {(target, name): (load.opcode, load.registers) for name in (load.name, *load.aliases)}
    assert ours == {key: value for key, value in told.items() if key[0] != "gfx1310"}


def test_the_older_name_is_the_same_command():
    argv = ["-a", "gfx1250", "-i", "v_wmma_f32_16x16x32_f16", "-B", "-l", "global_load_tr_b128"]
    assert answer(["lds-transpose", *argv]) == answer(["transpose-loads", *argv])
    assert "lanes 16..23: j = 0..7, k = 24..31" in answer(["transpose-loads", *argv]).out


@sampled("arch", ["cdna4", "rdna4", "cdna5"], 1)
def test_memory_names_the_loads_that_transpose_where_memory_has_their_order(arch):
    """The same loads as transpose-loads, for every instruction, and none for the other order."""
    for inst in mmacalc.instructions(arch):
        for name, order, other in (("A", "col", "row"), ("B", "row", "col")):
            operand = inst.operand(name)
            steps = []
            for load in transpose_loads(arch):
                try:
                    steps += [(step.load.name, step.first_register) for step in loads_for(operand, load.name)]
                except mmacalc.Error:
                    continue
            try:
                turned, straight = (tile(operand, one, None, None) for one in (order, other))
            except mmacalc.Error:  # 2:4 sparse A
                assert steps == []
                continue
            assert [(one.load, one.first_register) for one in transposing(turned)] == steps
            assert transposing(straight) == ()
    shown = answer(["memory", "-a", "gfx950", "-i", "v_mfma_f32_32x32x16_f16", "-A", "--order", "col"]).out
    assert "Transposed from LDS by ds_read_b64_tr_b16 into v[2:3]: k 4-7, 12-15" in shown


@pytest.mark.parametrize(
    ("arch", "name", "matrix", "ld", "placing"),
    [
        ("cdna4", "v_mfma_f32_32x32x16_f16", "A", 64, Placing()),
        ("cdna4", "v_mfma_f32_32x32x16_f16", "A", 64, Placing(16)),
        ("cdna4", "v_mfma_f32_16x16x32_bf16", "B", 128, Placing(0, swizzle_of((3, 4, 3)))),
        ("cdna4", "v_mfma_i32_16x16x64_i8", "A", 32, Placing(8)),
        ("cdna4", "v_mfma_f32_32x32x4_2b_f16", "A", 32, Placing()),
        ("rdna4", "v_wmma_f32_16x16x16_f16", "A", 48, Placing()),
        ("cdna5", "v_wmma_f32_16x16x32_f16", "B", 64, Placing(32)),
    ],
)
def test_bytes_at_the_addresses_of_transposing_loads_turned_over_are_the_operand(arch, name, matrix, ld, placing):
    """Exchanged as was measured: lane i of a group receives as its k-th element number i mod e of the e that one lane
    fetched, which is lane k (group / e) + i / e. It lies at the k and the row that the operand has there."""
    operand = mmacalc.instruction(arch, name).operand(matrix)
    size = operand.format.bits // 8
    seen = 0
    for one in transposing(tile(operand, "col" if matrix == "A" else "row", ld, None), placing):
        (load,) = (load for load in transpose_loads(arch) if load.name == one.load)
        elements, stride = one.access_bytes // size, ld * size + placing.pad * (one.memory == "LDS")
        undo = placing.swizzle.address if one.memory == "LDS" else int  # an XOR is its own inverse
        for lane in range(operand.wave):
            for slot in range(elements):
                group, i = lane - lane % load.lanes, lane % load.lanes
                source = group + slot * (load.lanes // elements) + i // elements
                row, byte = divmod(undo(one.addresses[source]), stride)
                item = one.first_register * 32 // operand.format.bits + slot
                first, second, block = next(iter(operand.elements(lane, item)))[:3]
                k, along = (second, first) if matrix == "A" else (first, second)
                assert (row - block * operand.instruction.k, byte // size + i % elements) == (k, along)
                seen += 1
    assert seen


def test_conflicts_of_transposing_loads_are_counted_bank_by_bank_and_the_search_frees_them():
    """ds_read_b64_tr_b16 of 64 columns in LDS: two phases of 32 lanes, 64 banks, a distinct dword each cycle."""
    operand = mmacalc.instruction("gfx950", "v_mfma_f32_16x16x32_f16").operand("A")
    for ld in (16, 32, 64, 128):
        for one in mmacalc.memory(operand, order="col", ld=ld).transposing:
            lost = -len(one.cost.rule.lanes(64))
            for lanes in one.cost.rule.lanes(64):
                dwords = {(one.addresses[lane] + more) // 4 for lane in lanes for more in (0, 4)}
                lost += max(sum(dword % 64 == bank for dword in dwords) for bank in range(64))
            assert (one.cost.conflicts, one.cost.rule.provenance) == (lost, "unconfirmed")
    argv = ["memory", "-a", "gfx950", "-i", "v_mfma_f32_32x32x16_f16", "-A", "--order", "col", "--ld", "128", "--json"]
    found = json.loads(answer([*argv, "--search"]).out)
    assert [one["conflicts"] for one in found["transposing"]] == [6, 6]
    repaired = json.loads(answer([*argv, "--pad", str(found["transposing_search"]["pad_bytes"])]).out)
    assert [one["conflicts"] for one in repaired["transposing"]] == [0, 0]


def test_a_tile_that_a_transposing_load_cannot_read_says_why():
    argv = ["memory", "-a", "gfx950", "-i", "v_mfma_f32_32x32x16_f16", "-A", "--order", "col"]
    assert "rows 68 bytes apart do not keep accesses of 8 bytes aligned" in answer([*argv, "--pad", "4"]).out
    assert "the swizzle keeps 4 bytes together, of the 8" in answer([*argv, "--swizzle", "2,2,4"]).out
    argv = ["memory", "-a", "gfx950", "-i", "v_mfma_f32_32x32x64_f8f6f4", "-A", "--cbsz", "fp4", "--order", "col"]
    assert "ds_read_b64_tr_b4" in answer(argv).err
