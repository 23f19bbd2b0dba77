"""mmacalc.memory: loads of operands, LDS banks, padding and swizzles, against recorded and measured answers."""

import csv
import gzip
import itertools
import json
import random
import re
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmacalc
from mmacalc import Error, rocwmma
from mmacalc.cli import answer
from mmacalc.families import shared_memory
from mmacalc.memory_access.accesses import PERIOD, PLAIN, Accesses, Placing, fills, reads_without_conflict
from mmacalc.memory_access.banks import bank_access, rule
from mmacalc.memory_access.swizzles import RowSwizzle, Swizzle, swizzle_of
from samples import sampled

DATA = Path(__file__).parent / "data" / "chain"


def table(name):
    with gzip.open(DATA / f"{name}.tsv.gz", "rt") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def operand(row):
    modifiers = dict(word.split("=") for word in (row.get("modifiers") or "").split())
    return mmacalc.instruction(row["arch"], row["instruction"]).operand(row.get("operand", "A"), **modifiers)


def found(text):
    return None if text == "none" else int(text)


@pytest.mark.parametrize(
    "row", table("memory_golden"), ids=lambda row: f"{row['arch']} {row['operand']} {row['order']}"
)
def test_a_load_has_the_width_lines_and_bank_cycles_that_are_recorded(row):
    load = mmacalc.memory(operand(row), order=row["order"], ld=int(row["ld"]))
    for field in ("run_bytes", "access_bytes", "instructions", "lines64", "bytes_used", "bytes_fetched"):
        assert getattr(load, field) == int(row[field]), field
    for field in ("cycles", "ideal", "conflicts"):
        assert getattr(load.lds, field) == int(row[f"lds_{field}"]), field


@pytest.mark.parametrize("name", ["swizzle_golden", "relaid_golden"])
def test_the_search_finds_the_smallest_padding_and_swizzle_that_are_recorded(name):
    for row in table(name):
        which = operand(row)
        load = mmacalc.memory(
            which,
            order=row.get("order", "row"),
            ld=int(row["row_bytes"]) * 8 // which.format.bits,
            kpack=int(row["kpack"]) if "kpack" in row else None,
        )
        repair = load.search()
        wanted = row["xor_bits,base,shift"]
        assert repair.pad_bytes == found(row["pad_bytes"]), row
        assert repair.swizzle == (None if wanted == "none" else tuple(map(int, wanted.split(",")))), row
        assert (load.access_bytes, load.instructions) == (int(row["access_bytes"]), int(row["instructions"])), row
        assert (load.lds.cycles, load.lds.ideal) == (int(row["cycles"]), int(row["ideal"])), row


@pytest.mark.parametrize(
    ("arch", "name"),
    [
        ("gfx942", "v_mfma_f32_32x32x8_f16"),
        ("gfx950", "v_mfma_f32_16x16x32_f16"),
        ("gfx1100", "v_wmma_f32_16x16x16_f16"),
        ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
    ],
)
def test_what_the_search_finds_has_no_conflict_when_it_is_asked_for(arch, name):
    for matrix, order in (("A", "row"), ("B", "col"), ("A", "col")):
        which = mmacalc.instruction(arch, name).operand(matrix)
        repair = mmacalc.memory(which, order=order, ld=64).search()
        if repair.pad_bytes is not None:
            assert mmacalc.memory(which, order=order, ld=64, pad=repair.pad_bytes).lds.conflicts == 0
        if repair.swizzle is not None:
            assert mmacalc.memory(which, order=order, ld=64, swizzle=repair.swizzle).lds.conflicts == 0


# Conflicts of 64 reads by the counter SQ_LDS_BANK_CONFLICT of an MI300X, by bytes of a lane's access and stride.
# Source: nod-ai/amd-shark-ai efa471ae, docs/empirical-lds/cdna3info.md.
MI300X = {(4, 16): 384, (4, 32): 896, (4, 512): 3968, (8, 16): 256, (8, 64): 1792, (8, 128): 3840}


@pytest.mark.parametrize(("width", "stride"), MI300X)
def test_strided_reads_conflict_as_counted_on_an_mi300x(width, stride):
    access = bank_access(mmacalc.architecture("mi300x"), [stride * lane for lane in range(64)], width)
    assert 64 * access.conflicts == MI300X[width, stride]


@pytest.mark.parametrize("product", ["w7900", "rx 9070 xt"])
@pytest.mark.parametrize("width", [4, 8])
def test_the_latency_of_strided_reads_saturates_at_128_bytes_as_measured_on_rdna(product, width):
    """Same source: empirical-lds, rdna3info.md and rdna4info.md."""
    strides = [16, 32, 64, 128, 256, 512]
    wave = [[stride * lane for lane in range(32)] for stride in strides]
    cycles = [bank_access(mmacalc.architecture(product), addresses, width).cycles for addresses in wave]
    assert cycles[:4] == sorted(set(cycles))
    assert cycles[3:] == [cycles[3]] * 3


def test_shared_memory_wavefronts_are_those_expected_of_each_pattern():
    """Strides, lanes that share addresses, ldmatrix with and without swizzle."""
    expected = (DATA / "bank_patterns_expected.tsv").read_text().split("\n")[1:-1]
    patterns = (DATA / "bank_patterns.txt").read_text().split("\n")[:-1]
    for line, wanted in zip(patterns, expected, strict=True):
        width, _, *addresses = line.split()
        matrix = width == "64"
        access = bank_access(
            mmacalc.architecture("h100"),
            [*map(int, addresses)],
            16 if matrix else int(width),
            "ldmatrix" if matrix else "read",
        )
        assert [str(access.cycles), str(access.conflicts)] == wanted.split()[2:], line


def test_two_lanes_of_16_bytes_that_share_an_address_pair_are_served_as_measured_on_an_a100():
    """zhihu p/690052715: case 1 of LDS.64, cases 2 and 5 of LDS.128."""
    a100 = mmacalc.architecture("a100")
    assert bank_access(a100, [8 * lane for lane in range(32)], 8).cycles == 2
    only = [0 if lane == 0 else 16 * 15 if lane == 15 else None for lane in range(32)]
    assert bank_access(a100, only, 16).cycles == 1


@pytest.mark.parametrize(
    ("name", "ld", "swizzle", "conflicts"),
    [
        # HipKittens f09e9685, include/types/shared/st_shape.cuh: what its tiles cost without their swizzles
        ("gfx950 v_mfma_f32_16x16x32_bf16", 32, None, 4),
        ("gfx950 v_mfma_f32_32x32x16_bf16", 32, None, 12),
        ("gfx950 v_mfma_f32_16x16x128_f8f6f4", 128, None, 24),
        # AMD-Ecosystem/flashinfer PR 207: a period of 8 rows leaves conflicts, one of 16 none
        ("gfx942 v_mfma_f32_16x16x16_f16", 64, (3, 4, 3), 4),
        ("gfx942 v_mfma_f32_16x16x16_f16", 64, (4, 3, 4), 0),
        # Triton, TritonGPUAttrDefs.td, the branch of gfx908 and gfx90a
        ("gfx942 v_mfma_f32_16x16x16_f16", 64, "vec,perPhase,maxPhase=4,1,16", 0),
        ("gfx942 v_mfma_f32_16x16x16_f16", 128, "vec,perPhase,maxPhase=4,1,16", 0),
        # docs.modular.com, make_mma_swizzle: Swizzle(2, 5, 4) does not clear this tile
        ("gfx950 v_mfma_f32_32x32x64_f8f6f4", 64, (2, 5, 4), 8),
    ],
)
def test_swizzles_of_known_kernels_cost_what_their_authors_say(name, ld, swizzle, conflicts):
    assert (
        mmacalc.memory(mmacalc.instruction(*name.split()).operand("A"), ld=ld, swizzle=swizzle).lds.conflicts
        == conflicts
    )


def test_phases_serve_every_lane_of_a_wave_exactly_once():
    for arch in mmacalc.architectures():
        record = mmacalc.architecture(arch)
        for row in record.lds_phases:
            for wave in record.waves:
                lanes = [lane for phase in rule(record, row[1], row[0]).lanes(wave) for lane in phase]
                assert sorted(lanes) == list(range(wave)), (arch, row)


MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
INT8 = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"


@pytest.mark.parametrize(
    ("arch", "name", "matrix", "order", "loads"),
    [
        ("a100", MMA, "A", "row", ["x4"]), ("a100", MMA, "A", "col", ["x4.trans"]),
        ("a100", MMA, "B", "col", ["x2"]), ("a100", MMA, "B", "row", ["x2.trans"]),
        ("a100", INT8, "A", "row", ["x4"]), ("a100", INT8, "A", "col", []), ("a100", INT8, "B", "col", ["x2"]),
        ("v100", "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16", "A", "row", []),
        ("h100", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "D", "row", ["x2"]),
        ("a100", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "D", "row", []),
        ("b200", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "A", "col", ["x2.trans"]),
    ],
)  # fmt: skip
def test_ldmatrix_and_stmatrix_are_named_where_they_fill_an_operand(arch, name, matrix, order, loads):
    load = mmacalc.memory(mmacalc.instruction(arch, name).operand(matrix), order=order, ld=64)
    kinds = [each.name.split(".m")[1].split(".", 1)[1].split(".shared")[0] for each in load.matrix_loads]
    assert kinds == loads


def test_the_row_addresses_of_ldmatrix_are_those_of_the_ptx_manual():
    """PTX ISA 9.1, ldmatrix: threads 0-7, 8-15, 16-23 and 24-31 give the rows of the four matrices in turn."""
    load = mmacalc.memory(mmacalc.instruction("a100", MMA).operand("A"), ld=64, swizzle="128B")
    (ldmatrix,) = load.matrix_loads
    assert ldmatrix.rows == tuple((8 * (lane // 8 % 2) + lane % 8, 16 * (lane // 16)) for lane in range(32))
    assert (ldmatrix.cost.cycles, ldmatrix.cost.conflicts) == (4, 0)


@pytest.mark.parametrize(("mode", "bits"), [("none", 0), ("32B", 1), ("64B", 2), ("128B", 3)])
def test_nvidias_modes_are_cutes_swizzles_of_their_descriptors(mode, bits):
    """CUTLASS, cute/arch/mma_sm90_desc.hpp: Swizzle<0|1|2|3,4,3>."""
    assert swizzle_of(mode) == swizzle_of(mode.lower()) == swizzle_of(f"{bits},4,3") == Swizzle(bits, 4, 3)
    for address in range(0, 4096, 16):
        assert swizzle_of(mode).address(address) == shared_memory.swizzled(address, mode)


@pytest.mark.parametrize(("vec", "per_phase", "max_phase"), [(4, 1, 16), (8, 2, 4), (2, 4, 8), (16, 1, 1)])
def test_a_row_swizzle_permutes_vectors_as_triton_documents(vec, per_phase, max_phase):
    """TritonGPUAttrDefs.td, swizzled shared: phase = (i / perPhase) % maxPhase; vector j moves to j ^ phase."""
    swizzle = swizzle_of(f"vec,perPhase,maxPhase={vec},{per_phase},{max_phase}")
    for bits in (8, 16, 32):
        for row in range(2 * per_phase * max_phase):
            for element in range(vec * max_phase):
                place = ((element // vec) ^ (row // per_phase % max_phase)) * vec + element % vec
                assert swizzle.in_row(row, element * bits // 8, bits) == place * bits // 8
                assert swizzle.address(element) == element


def test_swizzles_are_taken_up_to_addresses_of_32_bits_and_phases_of_65536_rows():
    for bits, base, shift in ((3, 4, 25), (1, 30, 1), (0, 4, 1), (16, 0, 16)):
        assert swizzle_of((bits, base, shift)) == (bits, base, shift)
    for wrong in ((3, 4, 26), (1, 31, 1), (0, 4, 0), (3, 4, 2), (1, 1, -1), (65537, 0, 0), (1, 2), (1, 2, 3, 4)):
        with pytest.raises(mmacalc.Error, match="swizzle"):
            swizzle_of(wrong)
    for row in ("65536,1,1", "1,65536,1", "1,1,65536", "1,1,1"):
        assert ",".join(map(str, swizzle_of(f"vec,perPhase,maxPhase={row}"))) == row
    for row in ("65537,1,1", "0,1,1", "1,0,1", "1,1,0", "1,1,3"):
        with pytest.raises(mmacalc.Error, match="vec"):
            swizzle_of(f"vec,perPhase,maxPhase={row}")


@given(bits=st.integers(0, 5), base=st.integers(0, 8), extra=st.integers(0, 5), address=st.integers(0, 1 << 16))
def test_a_swizzle_is_its_own_inverse(bits, base, extra, address):
    swizzle = Swizzle(bits, base, max(bits, 1) + extra)
    assert swizzle.address(swizzle.address(address)) == address


def test_kpack_gives_every_lane_what_it_had_in_another_order():
    which = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x32_fp8_fp8").operand("B")
    one, two = mmacalc.memory(which, order="col"), mmacalc.memory(which, order="col", kpack=2)
    assert (one.access_bytes, two.access_bytes) == (8, 16)
    assert sum(map(len, two.tile.lanes)) == 2 * sum(map(len, one.tile.lanes))
    assert len({unit[1:] for lane in two.tile.lanes for unit in lane}) == 2 * 32 * 16


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"order": "diagonal"}, "the order is 'row' .* or 'col'"),
        ({"ld": 4}, "ld is at least 16"),
        ({"pad": 6}, "multiple of 4; got 6"),
        ({"pad": 4}, "pad by a multiple of 8"),
        ({"swizzle": (3, 4, 2)}, "shift is at least its bits"),
        ({"swizzle": "256B"}, "a swizzle is bits,base,shift"),
        ({"kpack": 0}, "kpack is a number of instructions"),
        ({"fill": 3}, "fill is 4, 8 or 16"),
    ],
)
def test_a_wrong_option_is_an_error_that_says_what_would_be_right(options, says):
    with pytest.raises(Error, match=says):
        mmacalc.memory(mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16").operand("A"), **options)


def test_what_no_load_can_reach_is_refused_with_a_way_out():
    fp4 = mmacalc.instruction("gfx950", "v_mfma_f32_32x32x64_f8f6f4").operand("A", cbsz="fp4")
    with pytest.raises(Error, match="use order 'row', or a load that transposes"):
        mmacalc.memory(fp4, order="col")
    sparse = mmacalc.instruction("gfx942", "v_smfmac_f32_16x16x32_f16")
    with pytest.raises(Error, match="packed into whole registers"):
        mmacalc.memory(sparse.operand("K"))
    assert mmacalc.memory(sparse.operand("A")).access_bytes == 8


def test_the_command_answers_as_the_function_in_text_and_json():
    line = ["memory", "-a", "gfx950", "-i", "v_mfma_f32_32x32x16_bf16", "-A", "--ld", "64", "--search"]
    text, data = answer(line).out, json.loads(answer([*line, "--json"]).out)
    load = mmacalc.memory(mmacalc.instruction("gfx950", line[4]).operand("A"), ld=64)
    assert data["lds"]["conflicts"] == load.lds.conflicts == 28
    assert data["search"] == {"pad_bytes": 16, "swizzle": [3, 4, 4], "sparse": {"pad_bytes": 16, "every": 256}}
    assert "byte address of a lane: (lane % 32) * 128 + (lane / 32 % 2) * 16" in text
    assert "address ^ ((address >> 4) & 0x70)" in text
    assert answer(["memory", "-a", "gfx950", "-i", line[4]]).err == "mmacalc: choose the matrix with -A, -B, -C or -D\n"


@pytest.mark.parametrize(
    ("arch", "name"), [("gfx942", "v_mfma_f32_32x32x8_f16"), ("gfx950", "v_mfma_f32_16x16x32_f16")]
)
@pytest.mark.parametrize("pad", [0, 16])
def test_a_launch_counts_the_conflicts_of_each_line_as_memory_does(arch, name, pad):
    """A kernel fills LDS row by row and loads A as the layout has it."""
    which = mmacalc.instruction(arch, name).operand("A")
    load = mmacalc.memory(which, ld=64, pad=pad)
    starts = np.array(load.found.addresses)[0]
    row, first, length = 64 + pad // 2, starts[:, 1] // 2, load.access_bytes // 2

    def kernel(wave, matrix):
        tile = wave.shared("tile", load.tile.rows * row, np.float16)
        lanes = np.arange(64)
        for at in range(0, load.tile.rows * 64, 512):
            place = at + 8 * lanes
            tile[place // 64 * row + place % 64 + np.arange(8)[:, None]] = matrix[place + np.arange(8)[:, None]]
        tile[starts[:, 0] * row + first + np.arange(length)[:, None]]

    report = mmacalc.launch(kernel, 1, 64, np.zeros(load.tile.rows * 64, np.float16), arch=arch)
    read = next(site for site in report.lds if site.access == "read")
    assert (read.bytes, read.cycles, read.ideal) == (load.access_bytes, load.lds.cycles, load.lds.ideal)
    assert read.place.startswith("test_memory.py:")
    (write,) = [site for site in report.lds if site.access == "write"]
    assert (write.bytes, write.conflicts) == (16, 0)
    assert "bank conflicts" in str(report)
    assert (f"{read.place}:" in str(report)) == bool(load.lds.conflicts)


def test_fragments_and_cooperative_loads_are_counted_by_line():
    def kernel(wave, source):
        tile = wave.shared("tile", 16 * 16, np.float16)
        one = rocwmma.fragment("matrix_a", 16, 16, 16, "float16_t", "row_major")
        rocwmma.load_matrix_coop_sync(one, source, 16, 0, 1, 1)
        rocwmma.store_matrix_coop_sync(tile, one, 16, 0, 1, 1)
        rocwmma.load_matrix_sync(one, tile, 16)

    report = mmacalc.launch(kernel, 1, 64, np.zeros(256, np.float16), arch="gfx942")
    assert {(site.access, site.bytes) for site in report.lds} == {("write", 8), ("read", 8)}
    assert sum(site.accesses * site.bytes * 64 for site in report.lds) == 2 * 512


def bytes_moved(swizzle, rows, row_bytes, stride, bits):
    """Where each byte of a tile goes."""
    return [
        swizzle.address(row * stride + swizzle.in_row(row, byte, bits))
        for row in range(rows)
        for byte in range(row_bytes)
    ]


@pytest.mark.parametrize("bits", [4, 6, 8, 16, 32, 64])
def test_a_swizzle_is_taken_just_where_it_permutes_the_bytes_of_the_tile(bits):
    """Every small tile: rows of whole bytes, whole elements of 6 bits among them."""
    every = itertools.product((1, 2, 3, 4, 5, 8), (8, 12, 16, 24, 40, 64), (1, 2, 3, 4, 6, 8), (1, 2, 3), (1, 2, 4, 8))
    taken = 0
    for rows, row_bytes, vec, per_phase, max_phase in every:
        swizzle = RowSwizzle(vec, per_phase, max_phase)
        fault = swizzle.fault(rows, row_bytes, row_bytes, bits)
        if vec * bits % 8:
            assert "whole number of bytes" in fault
            continue
        permuted = sorted(bytes_moved(swizzle, rows, row_bytes, row_bytes, bits)) == list(range(rows * row_bytes))
        assert permuted == (not fault), (rows, row_bytes, swizzle, fault)
        taken += not fault
    assert taken > 300


def test_an_xor_swizzle_is_taken_just_where_it_permutes_the_bytes_of_the_tile():
    taken = 0
    for rows, row_bytes, base, bits, extra in itertools.product(
        (1, 2, 3, 5, 6, 8), (4, 8, 12, 24, 32), range(4), range(4), range(3)
    ):
        swizzle = Swizzle(bits, base, max(bits, 1) + extra)
        fault = swizzle.fault(rows, row_bytes, row_bytes, 8)
        permuted = sorted(bytes_moved(swizzle, rows, row_bytes, row_bytes, 8)) == list(range(rows * row_bytes))
        assert permuted == (not fault), (rows, row_bytes, swizzle, fault)
        taken += not fault
    assert taken > 500


@pytest.mark.parametrize("form", ["fp4", "fp6", "bf6", "fp8"])
def test_every_swizzle_of_a_narrow_format_is_taken_or_refused_with_what_would_be_right(form):
    which = mmacalc.instruction("gfx950", "v_mfma_f32_16x16x128_f8f6f4").operand("A", cbsz=form)
    taken = 0
    for vec, max_phase in itertools.product((1, 2, 3, 4, 8, 16, 32, 64), (1, 2, 4, 16)):
        try:
            found = mmacalc.memory(which, ld=256, swizzle=f"vec,perPhase,maxPhase={vec},1,{max_phase}")
        except mmacalc.Error as error:
            refused = str(error)
        else:
            refused = ""
        if refused:
            assert re.search("should be|whole number of bytes", refused)
            continue
        addresses = [at for lanes in found.found.linear(found.tile, found.placing) for at in lanes]
        assert len(set(addresses)) == len(addresses)
        taken += 1
    assert taken > 8
    a = mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16").operand("A")
    with pytest.raises(mmacalc.Error, match="maxPhase should be at most 2, or a row 128 bytes"):
        mmacalc.memory(a, swizzle="vec,perPhase,maxPhase=4,1,16")
    with pytest.raises(mmacalc.Error, match="the base should be at least 3"):
        mmacalc.memory(a, ld=64, swizzle=(2, 2, 3))


@pytest.mark.parametrize("name", ["gfx942", "gfx950", "gfx1201", "sm_80"])
def test_the_accesses_that_stand_for_all_that_fill_a_tile_tell_as_much_as_all(name):
    """Against every access of the fill, for tiles whose rows an access crosses or does not."""
    architecture, random_ = mmacalc.architecture(name), random.Random(name)
    assert 4 * max(row[2] for row in architecture.lds_phases) <= PERIOD
    inst = next(inst for inst in mmacalc.instructions(name) if inst.formats.get("A") == "f16" and inst.k == 16)
    told = set()
    for _ in range(40):
        ld = random_.choice([16, 24, 40, 64, 72, 200, 512, 520, 1032, 4096, 4104])
        tile = mmacalc.memory(inst.operand("A"), ld=ld).tile
        width = random_.choice([4, 8, 16])
        pad = random_.choice([0, 16, 32, 48, 112])
        bits, base = random_.randrange(4), random_.randrange(4, 8)
        stands = random_.choice([0, 64, 256, 1024, 4096]) if pad else 0
        placing = Placing(pad, Swizzle(0 if pad else bits, base, max(bits, 1) + random_.randrange(6)), stands)
        some = fills(tile, width, pad > 0, stands)
        size = some.access_bytes
        pieces = [(row, byte) for row in range(tile.rows) for byte in range(0, tile.row_bytes, size)]
        wave = tile.operand.wave
        parts = [pieces[first : first + wave] for first in range(0, len(pieces), wave)]
        every = Accesses(size, size, tuple((*part, *[None] * (wave - len(part))) for part in parts))
        assert set(some.addresses) <= set(every.addresses)
        free = [reads_without_conflict(found, tile, placing, "write") for found in (some, every)]
        assert free[0] == free[1], (ld, width, placing)
        told.add(free[0])
    assert told == {True, False}


def test_a_search_takes_no_longer_for_a_leading_dimension_of_18_digits():
    start = time.process_time()
    tracemalloc.start()
    for ld in (64, 10**18 - 1):
        mmacalc.memory(mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16").operand("A"), ld=ld).search()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20e6
    assert time.process_time() - start < 10


@sampled(
    ("arch", "every"),
    [("cdna1", 3), ("cdna4", 5), ("rdna3", 1), ("rdna4", 5), ("cdna5", 7), ("sm_75", 9), ("sm_90a", 290)],
    4,
)
def test_the_byte_address_of_a_lane_is_a_sum_of_digits_wherever_it_is_shown(arch, every):
    shown = 0
    for inst in mmacalc.instructions(arch)[::every]:
        for name in set("ABCD") & set(inst.operands):
            try:
                found = mmacalc.memory(inst.operand(name))
            except mmacalc.Error:
                continue
            assert found.terms is not None, (inst.name, name)
            first = found.found.linear(found.tile, PLAIN)[0]
            for lane, address in enumerate(first):
                if address is not None:
                    assert sum(lane // t.divisor % t.size * t.bytes for t in found.terms) + first[0] == address
            shown += 1
    assert shown


def copied(found, one):
    """What LDS holds after a copy of LDS's instruction in the model: lanes fill it one behind the other."""
    tile, wave = found.tile, found.operand.wave
    size, step = tile.rows * tile.row_bytes, wave * one.width
    image = {}
    pieces = [(at // tile.row_bytes, at % tile.row_bytes) for at in range(0, size, one.width)]
    where = dict(zip(found.placing.addresses(tile, pieces), range(0, size, one.width)))
    every = found.placing.every or tile.row_bytes
    for number in range(one.instructions):
        base = number * step + number * step // every * found.placing.pad
        for lane in range(wave):
            image[base + lane * one.width] = where.get(base + lane * one.width)
    return image


@pytest.mark.parametrize(
    ("name", "ld", "options"),
    [
        ("v_mfma_f32_32x32x16_bf16", 64, {"swizzle": (3, 4, 4)}), ("v_mfma_f32_32x32x16_bf16", 64, {}),
        ("v_mfma_f32_16x16x32_f16", 128, {"swizzle": "vec,perPhase,maxPhase=8,1,8"}),
        ("v_mfma_f32_32x32x16_bf16", 512, {"pad": 16}),
        ("v_mfma_f32_32x32x16_bf16", 64, {"pad": 16, "pad_every": 1024}),
    ],
)  # fmt: skip
def test_a_copy_without_registers_fills_the_tile_as_reads_expect_it(name, ld, options):
    """Each lane's address in memory is the inverse of the swizzle; padding stands behind what an instruction fills."""
    found = mmacalc.memory(mmacalc.instruction("gfx950", name).operand("A"), ld=ld, **options)
    for one in found.copies:
        assert one.fault == ""
        assert one.together == 64 * one.width
        image = copied(found, one)
        assert sorted(at for at in image.values() if at is not None) == list(
            range(0, found.tile.rows * found.tile.row_bytes, one.width)
        )
        assert [image[lane * one.width] for lane in range(64)] == list(one.from_bytes)


def test_a_swizzle_goes_to_the_global_side_of_a_copy():
    a = mmacalc.instruction("gfx950", "v_mfma_f32_32x32x16_bf16").operand("A")
    wide, _ = mmacalc.memory(a, ld=64, swizzle=(3, 4, 4)).copies
    # Address bits 8 to 10 into bits 4 to 6: the third and fourth rows of 128 bytes are exchanged in pairs of 16.
    assert wide.from_bytes[15:20] == (240, 272, 256, 304, 288)
    assert all(at == lane * 16 ^ (lane * 16 >> 4 & 0x70) for lane, at in enumerate(wide.from_bytes))


@pytest.mark.parametrize(
    ("arch", "name", "options", "says"),
    [
        ("gfx950", "v_mfma_f32_32x32x16_bf16", {"pad": 16}, "pad every 1024 (--pad-every), or swizzle"),
        ("gfx942", "v_mfma_f32_32x32x8_f16", {"pad": 8}, "pad every 256"),
        ("sm_90a", "mma.m16n8k16.f32.f16.f16.f32", {"pad": 16}, "TMA puts no padding"),
        ("sm_90a", "mma.m16n8k16.f32.f16.f16.f32", {"swizzle": "64B"}, "the 64 bytes that the mode swizzles"),
        ("sm_90a", "mma.m16n8k16.f32.f16.f16.f32", {"swizzle": (1, 5, 3)}, "not in other ways"),
    ],
)
def test_what_a_copy_cannot_fill_is_said(arch, name, options, says):
    found = mmacalc.memory(mmacalc.instruction(arch, name).operand("A"), ld=64, **options)
    assert says in found.copies[0].fault


def test_targets_have_the_copies_that_llvm_assembles_for_them():
    """llvm-mc 22: which of these each target takes; sm_90 and later have TMA."""
    names = {arch: [name for name, _ in mmacalc.architecture(arch).lds_copies] for arch in mmacalc.architectures()}
    assert names["cdna1"] == names["cdna2"] == ["buffer_load_dword ... lds"]
    assert names["cdna3"] == ["global_load_lds_dword"]
    assert names["cdna4"] == ["global_load_lds_dwordx4", "global_load_lds_dword"]
    assert names["cdna5"] == ["global_load_async_to_lds_b128", "global_load_async_to_lds_b32"]
    assert not any(names[arch] for arch in ("rdna3", "rdna4", "sm_80", "sm_89"))
    assert {tuple(names[arch]) for arch in names if arch[:4] in ("sm_9", "sm_1")} == {("cp.async.bulk.tensor",)}
    found = mmacalc.memory(mmacalc.instruction("gfx1250", "v_wmma_f32_16x16x32_f16").operand("A"), ld=64, pad=16)
    assert [(one.together, one.fault) for one in found.copies] == [(0, ""), (0, "")]


def test_padding_every_so_many_bytes_is_refused_where_it_has_no_meaning():
    a = mmacalc.instruction("gfx950", "v_mfma_f32_32x32x16_bf16").operand("A")
    for options, says in (
        ({"pad_every": 1024}, "give pad"), ({"pad_every": 1024, "pad": 16, "swizzle": "128B"}, "leave out swizzle"),
        ({"pad_every": 1000, "pad": 16}, "multiples of 16"), ({"pad_every": 8192, "pad": 16}, "less than the tile's"),
    ):  # fmt: skip
        with pytest.raises(Error, match=says):
            mmacalc.memory(a, ld=64, **options)
    asked = ["memory", "-a", "gfx950", "-i", "v_mfma_f32_32x32x16_bf16", "-A", "--ld", "64", "--pad", "16"]
    assert "4 x global_load_lds_dwordx4" in answer([*asked, "--pad-every", "1024"]).out
    assert "not as the tile lies" in answer(asked).out
