"""Generated kernels: their indices against the layouts, and what compilers make of them."""

import itertools
import json
import math
import re
import shutil
import subprocess

import numpy as np
import pytest

import mmacalc
from hip_kernels import hip_listing
from mmacalc import Error
from mmacalc.arithmetic.codecs import decode, encode
from mmacalc.catalog import entry
from mmacalc.catalog.grammar import expand
from mmacalc.cli import answer
from mmacalc.codegen import gemm_cuda, gemm_tma, gemm_wgmma, ldmatrix, staging
from mmacalc.codegen.check import Checked, check, sass_products
from mmacalc.codegen.fragments import fragment
from mmacalc.codegen.generate import formulas
from mmacalc.codegen.tensor_copies import box, swizzle_name
from mmacalc.questions.generate import check_text
from oracles.emulated_kernel import ptx_of
from oracles.host_products import gemm_product, small, tile_product
from samples import sampled

TARGETS = [("gfx908", 64), ("gfx90a", 64), ("gfx942", 64), ("gfx950", 64), ("gfx1100", 32), ("gfx1100", 64),
           ("gfx1200", 32), ("gfx1200", 64), ("gfx1250", 32)]  # fmt: skip
ORDERS = [("row", "col"), ("col", "row"), ("row", "row"), ("col", "col")]
NVIDIA = ("sm_70", "sm_80", "sm_90a", "sm_120a")


def c_value(expression, names):
    """The value of an expression of + * / % and names, as C computes it for non-negative integers."""
    return eval(expression.replace("/", "//"), {}, names)


LOAD = r"= \*\(const .* \*\)\([ABC] \+ "
ACCESS = re.compile(
    r"^ *(?:(?P<store>D\[(?P<to>.*)\] = d\.element\[(?P<from>\d+)\])"
    r"|(?P<a>[abc])\.element\[(?P<slot>\d+)\] = [ABC]\[(?P<at>.*)\]"
    rf"|\*\((?P<wide>unsigned int|u32x2|u32x4) \*\)&(?P<b>[abc])\.word\[(?P<word>\d+)\] {LOAD}(?P<start>.*)\)"
    rf"|\(\((?P<narrow>unsigned char|unsigned short) \*\)&(?P<c>[abc])\)\[(?P<part>\d+)\] {LOAD}(?P<first>.*)\));$"
)
BYTES = {"unsigned char": 1, "unsigned short": 2, "unsigned int": 4, "u32x2": 8, "u32x4": 16}


def moved(source, lane, bits_of):
    """What a kernel moves in one lane: for each operand {bit in the registers: bit in memory}, byte by byte."""
    names, result = {"lane": lane}, {"A": {}, "B": {}, "C": {}, "D": {}}
    for line in source.splitlines():
        if definition := re.match(r" *const int (\w+) = (.*);$", line):
            if "laneid" not in line and "__builtin" not in line:
                names[definition[1]] = c_value(definition[2], names)
            continue
        if not (access := ACCESS.match(line)):
            continue
        if access["store"]:
            matrix, slot, at, count = "D", int(access["from"]), c_value(access["to"], names), 0
        elif access["a"]:
            matrix, slot, at, count = access["a"].upper(), int(access["slot"]), c_value(access["at"], names), 0
        elif access["wide"]:
            matrix, count, at = access["b"].upper(), BYTES[access["wide"]], c_value(access["start"], names)
            slot = 4 * int(access["word"])
        else:
            matrix, count, at = access["c"].upper(), BYTES[access["narrow"]], c_value(access["first"], names)
            slot = count * int(access["part"])
        unit = max(bits_of[matrix], 8)
        places = (
            [(slot * unit, at * unit)] if not count else [(8 * slot + 8 * n, at * unit + 8 * n) for n in range(count)]
        )
        for register, memory in places:
            for byte in range(0, unit if not count else 8, 8):
                result[matrix][register + byte] = memory + byte
    return result


def expected(operand, order):
    """For each lane {bit: bit}: where each element is in registers by `locate`, and in memory by the order."""
    blocks, rows, columns = operand.shape
    bits, per_location = operand.placement.slot_bits, operand.placement.slots_per_location
    group = operand.layout.sizes["p"] if operand.name == "A" and operand.instruction.sparse else 1
    columns_stored = columns * per_location // group
    lanes = {}
    names = operand.axes[1:]
    for block in range(blocks):
        for row in range(rows):
            for column in range(0, columns, group):
                for place in operand.locate(block=block, **dict(zip(names, (row, column)))):
                    stored = column * per_location // group
                    major, minor, extent, length = (row, stored, rows, columns_stored)
                    if order == "col":
                        major, minor, extent, length = (stored, row, columns_stored, rows)
                    memory = ((block * extent + major) * length + minor) * bits
                    register = 32 * place.register + place.lsb // bits * bits
                    for bit in range(max(bits * per_location, 1)):
                        if (register + bit) % 8 == 0:
                            lanes.setdefault(place.lane, {})[register + bit] = memory + bit
    return lanes


def check_indices(inst, wave, orders=("row", "col")):
    source = mmacalc.generate(inst, order_a=orders[0], order_b=orders[1], ld="constants", wave=wave)
    for name in "ABCD":
        operand = inst.operand(name if name in inst.operands else "D", wave=wave)
        want = expected(operand, {"A": orders[0], "B": orders[1]}.get(name, "row"))
        for lane in range(operand.lanes):
            got = moved(source, lane, {each: bits(inst, each, wave) for each in "ABCD"})[name]
            assert {bit: at for bit, at in got.items() if bit in want.get(lane, {})} == want.get(lane, {}), (name, lane)


def bits(inst, name, wave):
    return inst.operand(name if name in inst.operands else "D", wave=wave).placement.slot_bits


@sampled("step", [30, 8, 1], 1, whole=1)
@pytest.mark.parametrize(("target", "wave"), TARGETS)
def test_every_kernel_of_amd_loads_and_stores_each_element_where_the_layout_has_it(target, wave, step):
    for inst in mmacalc.instructions(target)[::step]:
        check_indices(inst, wave)


@pytest.mark.parametrize("orders", [("col", "row"), ("row", "row"), ("col", "col")])
def test_the_other_orders_are_indexed_as_well(orders):
    check_indices(mmacalc.instruction("gfx942", "v_mfma_f32_32x32x4_2b_f16"), 64, orders)
    check_indices(mmacalc.instruction("sm_80", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"), 32, orders)


@sampled("step", [11, 3, 1], 1, whole=1)
@pytest.mark.parametrize("target", NVIDIA)
def test_every_kind_of_mma_is_indexed_as_the_layout_has_it(target, step):
    for inst in kinds_of_mma(target)[::step]:
        check_indices(inst, 32)


def kinds_of_products(target):
    """The first instruction of each family that multiplies, but for those of Tensor Memory."""
    listed = entry(target)
    names = [next(iter(expand(family[0]))) for family in listed._families()]
    return [listed.instruction(name) for name in names if re.match(r"w?g?mma\.(?!load|store)", name)]


def ptx_version():
    """The PTX version of nvcc: CUDA 13.0 has 9.0."""
    told = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    major, minor = map(int, re.search(r"release (\d+)\.(\d+)", told).groups())
    return major - 4, minor


def kinds_of_mma(target):
    """The first instruction of each family of mma.sync and mma.sp."""
    return [inst for inst in kinds_of_products(target) if inst.name.startswith("mma.")]


@sampled(("target", "wave"), TARGETS, 2, first=2)
def test_every_kernel_of_amd_compiles_to_its_one_instruction(target, wave, tmp_path):
    """All kernels of a target in one file; the first by itself, with our disassembler."""
    parts, wanted = [], []
    for number, inst in enumerate(mmacalc.instructions(target)):
        source = mmacalc.generate(inst, ld="constants", wave=wave)
        if number == 0:
            assert check(source, inst, wave).wanted, inst.name
        parts.append(f"namespace n{number} {{\n{source.partition('#endif')[2]}\n}}\n")
        wanted.append(inst)
    header = "#define __global__ __attribute__((global))\n"
    size = ["-mwavefrontsize64"] if wave == 64 and target.startswith("gfx1") else []
    listing = hip_listing(header + "".join(parts), target, "-O1", *size)
    spellings = {name: inst.name for inst in wanted for name in (inst.name, *inst.aliases)}
    words = [line.split()[0].removesuffix("_e64") for line in listing.splitlines() if line.startswith("\tv_")]
    assert sorted(spellings[word] for word in words if word in spellings) == sorted(inst.name for inst in wanted)
    assert mmacalc.lint(listing, target).findings == ()


WGMMA = "wgmma.mma_async.sync.aligned"
ON_THE_HOST = [
    ("gfx90a", "v_mfma_f64_16x16x4f64", {}),
    ("gfx908", "v_mfma_f32_32x32x1f32", {"lds": True}),
    ("gfx942", "v_mfma_f32_32x32x8_f16", {"lds": True, "order_a": "col", "order_b": "row"}),
    ("gfx942", "v_smfmac_f32_16x16x32_f16", {"lds": True}),
    ("gfx950", "v_mfma_scale_f32_32x32x64_f8f6f4", {"cbsz": "fp6", "blgp": "fp4", "lds": True}),
    ("gfx1100", "v_wmma_i32_16x16x16_iu4", {"wave": 64, "lds": True}),
    ("gfx1250", "v_wmma_f32_16x16x128_fp8_fp8", {"order_b": "row"}),
    ("sm_70", "mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32", {"order_a": "col"}),
    ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", {"lds": True}),
    ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", {"lds": True, "order_a": "col", "order_b": "row"}),
    ("sm_80", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", {"lds": True, "order_a": "col"}),
    ("sm_80", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", {"lds": True}),
    ("sm_80", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", {"lds": True, "selector": 1}),
    ("sm_120a", "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", {"lds": True}),
    ("sm_80", "wmma.mma.sync.aligned.col.row.m16n16k16.f32.f32", {"order_a": "col", "order_b": "row"}),
    ("sm_80", "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", {}),
    ("sm_90a", f"{WGMMA}.m64n24k16.f32.f16.f16", {}),
    ("sm_90a", f"{WGMMA}.m64n64k16.f16.f16.f16", {"lds": True, "order_a": "col", "order_b": "row"}),
    ("sm_90a", f"{WGMMA}.m64n24k16.f32.bf16.bf16", {"lds": True, "order_b": "row"}),
    ("sm_90a", f"{WGMMA}.m64n8k8.f32.tf32.tf32", {"lds": True, "order_a": "col", "order_b": "row"}),
    ("sm_90a", f"{WGMMA}.m64n16k32.s32.s8.s8", {"lds": True}),
    ("sm_90a", "wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16", {"lds": True}),
    ("sm_90a", "wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e5m2", {}),
]


@sampled(("arch", "name", "options"), ON_THE_HOST, 12)
def test_a_kernel_that_runs_on_the_host_computes_its_product(arch, name, options, tmp_path):
    """Its loads, addresses in shared memory, descriptors and stores as compiled; the instructions by the emulator."""
    inst = mmacalc.instruction(arch, name)
    wave = options.get("wave")
    source = mmacalc.generate(inst, **options)
    orders = (options.get("order_a", "row"), options.get("order_b", "col"))
    fields = {key: value for key, value in options.items() if key in ("cbsz", "blgp", "selector")}
    different, performed = tile_product(inst, source, orders, tmp_path, wave, lead=1, **fields)
    assert different == 0
    assert (inst.name in performed) if inst.architecture.family.language == "cuda" else len(performed) == 1


@sampled(("target", "without"), [("sm_90a", ()), ("sm_120a", ("sm_90a",))], 1)
def test_every_kind_of_nvidia_kernel_compiles_to_its_one_instruction(target, without, tmp_path):
    """One of each family of instructions, in changing orders, through shared memory or not, all in one file.

    sm_90a has those of sm_80, but for their SASS; sm_120a those of both.
    """
    assert shutil.which("nvcc"), "nvcc is missing: the CUDA kernels are not checked"
    parts, wanted, version = [], [], ptx_version()
    for number, inst in enumerate(kinds_of_products(target)):
        if tuple(map(int, inst.ptx.split("."))) > version or set(without) & set(inst.targets):
            continue
        orders = inst.layouts if "wmma" in inst.features else ORDERS[number % 4 if inst.format("A").bits >= 8 else 0]
        lds = "wmma" not in inst.features and number % 3 > 0
        if "wmma" in inst.features and "m16n16k" in inst.name and inst.format("A").name == "f64":
            with pytest.raises(Error, match=r"has no wmma.load.a.* that would load its A"):  # ptxas takes the product
                mmacalc.generate(inst, order_a=orders[0], order_b=orders[1])
            continue
        source = mmacalc.generate(inst, order_a=orders[0], order_b=orders[1], lds=lds)
        parts.append(f"namespace n{number} {{\n{source.partition('#endif')[2]}\n}}\n")
        wanted.append(inst.name)
    (tmp_path / "kernels.cu").write_text("".join(parts))
    command = ["nvcc", f"-arch={target}", "-cubin", "-keep", "kernels.cu", "-o", "kernels.cubin"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    words = [line.split()[0] for line in (tmp_path / "kernels.ptx").read_text().splitlines() if line.strip()]
    assert sorted(word for word in words if word.startswith(("mma.", "wgmma.mma_async", "wmma.mma"))) == sorted(wanted)


def test_what_ldmatrix_reads_is_what_memory_says_and_free_of_conflicts():
    """The addresses of generated ldmatrix against `mmacalc.memory`, which compares bytes."""
    for name in (
        "m16n8k16.row.col.f32.f16.f16.f32",
        "m16n8k8.row.col.f32.tf32.tf32.f32",
        "m16n8k32.row.col.s32.s8.s8.s32",
    ):
        for matrix, order in itertools.product("AB", ("row", "col")):
            operand = mmacalc.instruction("sm_80", f"mma.sync.aligned.{name}").operand(matrix)
            found = ldmatrix.matrices(fragment(operand), order)
            swizzle = staging.matrix_swizzle(mmacalc.memory(operand, order).tile.row_bytes)
            loads = mmacalc.memory(operand, order, swizzle=swizzle).matrix_loads
            assert (found is None) == (not loads)
            for load in loads:
                assert (found.name, load.cost.conflicts) == (load.name, 0)
                rows = tuple((c_value(found.row(), {"lane": lane}), c_value(found.byte(), {"lane": lane}))
                             for lane in range(len(load.rows)))  # fmt: skip
                assert rows == load.rows


SASS = """.text.kernel:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0170*/               @P0 HMMA.{shape}.F32 R8, R4, R2, R8 ;
        /*0180*/                   EXIT ;
"""


def test_sass_is_compared_with_what_the_instruction_becomes():
    inst = mmacalc.instruction("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    for shape, wanted, says in (
        ("16816", True, "SASS: HMMA.16816.F32"),
        ("1688", False, "SASS: HMMA.1688.F32, where HMMA.16816.F32 was expected"),
    ):
        checked = Checked(inst, "nvcc", "sm_80", 74, (inst.name,), (), True, sass_products(SASS.format(shape=shape)))
        assert checked.wanted == wanted
        assert check_text(checked) == f"sm_80: 74 instructions, one {inst.name}; {says}\n"
    assert "pip install nvidia-cuda-nvdisasm" in check_text(checked._replace(sass=None))


@sampled("step", [12, 4, 1], 1, whole=1)
def test_no_tile_in_lds_has_a_bank_conflict_that_memory_knows_of(step):
    tiles = 0
    for target, wave in TARGETS:
        for inst in mmacalc.instructions(target)[::step]:
            for matrix, order in itertools.product("AB", ("row", "col")):
                operand = inst.operand(matrix, wave)
                if operand.placement.bits < 8 and order != {"A": "row", "B": "col"}[matrix]:
                    continue  # no load reaches them
                if inst.sparse and (matrix, order) == ("A", "col"):
                    continue  # read element by element
                tile = staging.staged(operand, fragment(operand), order, "element")
                load = mmacalc.memory(operand, order, swizzle=tile.swizzle, pad=tile.pad, fill=max(4, tile.width))
                assert load.lds.conflicts == 0, (inst.name, matrix, order)
                tiles += 1
    assert tiles > 60


def test_the_truncated_index_of_clang_is_gone_round_by_assembly():
    inst = mmacalc.instruction("gfx1250", "v_swmmac_f32_16x16x128_fp8_fp8")
    source = mmacalc.generate(inst)
    assert 'asm("v_swmmac_f32_16x16x128_fp8_fp8 %0, %1, %2, %3' in source
    assert "const long *index" in source


def test_the_instruction_without_scales_is_reached_by_the_scaled_builtin_with_both_scales_0():
    inst = mmacalc.instruction("gfx950", "v_mfma_f32_32x32x64_f8f6f4")
    source = mmacalc.generate(inst, cbsz="fp4", blgp="fp6")
    assert "__builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(a.value, b.value, c.value, 4, 2, 0, 0, 0, 0)" in source


PLACED = (
    ("gfx950", "v_mfma_f32_4x4x4_16b_f16"), ("gfx1200", "v_wmma_f32_16x16x16_f16"),
    ("gfx942", "v_smfmac_f32_16x16x32_f16"), ("gfx950", "v_smfmac_f32_32x32x32_fp8_fp8"),
    ("gfx1201", "v_swmmac_i32_16x16x32_iu4"), ("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4"),
    ("sm_80", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"),
    ("sm_80", "mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
    ("sm_80", "mma.sp.sync.aligned.m16n8k128.row.col.s32.s4.s4.s32"),
    ("sm_120a", "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"),
    ("xe-hp", "dpasw.8x6.f.f.bf.bf"), ("xe-hpg", "dpasw.8x3.f.f.bf.bf"), ("xe-hpg", "dpas.8x3.f.f.bf.bf"),
    ("sm_90a", "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16"),
)  # fmt: skip


@pytest.mark.parametrize(("arch", "name"), PLACED)
def test_formulas_give_every_element_its_place(arch, name):
    """Every slot of a lane holds the element of its row and column, of a sparse A a stored value of that group of k."""
    inst = mmacalc.instruction(arch, name)
    for matrix in inst.register_operands:
        operand = inst.operand(matrix)
        found, extents = formulas(operand), dict(zip(operand.axes, operand.shape))
        stored = re.search(r"stored values: (\d) of each (\d)", " ".join(found.notes))
        each, of = map(int, stored.groups()) if stored else (1, 1)
        assert bool(stored) == (matrix == "A" and inst.sparse)
        reached = set()
        only = re.findall(r"lanes with (.*?) == (\d)", " ".join(found.notes))
        for lane in range(operand.lanes):
            if any(c_value(text, {"lane": lane}) != int(value) for text, value in only):
                continue
            names = {digit: c_value(text, {"lane": lane}) for digit, text in found.digits}
            row, column, block = (c_value(text, names) for text in (found.row, found.column, found.block))
            for slot, more_block, more_row, more_column in found.items:
                at = {operand.axes[1]: row + more_row, operand.axes[2]: column + more_column}
                at["k"] = at.get("k", 0) // each * of
                if any(at.get(axis, 0) >= extent for axis, extent in extents.items()):
                    assert "ends at" in " ".join(found.notes)
                    continue
                places = operand.locate(block=block + more_block, **{axis: at[axis] for axis in operand.axes[1:]})
                item = slot // operand.placement.slots_per_location
                assert (lane, item) in {(place.lane, place.item) for place in places}
                reached.add((block + more_block, *[at[axis] for axis in operand.axes[1:]]))
        shared = of if stored else operand.layout.sizes.get("p", 1)
        assert len(reached) * shared == math.prod(operand.shape)


def cute_value(layout, thread, value):
    """What CuTe's layout ((threads), (values)):((strides)) maps a thread and a value to."""
    shapes, strides = (eval(part) for part in layout.split(":"))

    def mapped(index, shape, stride):
        if isinstance(shape, int):
            return index % shape * stride
        total = 0
        for one, step in zip(shape, stride):
            total += mapped(index, one, step)
            index //= one
        return total

    return mapped(thread, shapes[0], strides[0]) + mapped(value, shapes[1], strides[1])


@pytest.mark.parametrize(
    ("arch", "name"),
    [
        ("gfx942", "v_mfma_f32_32x32x8_f16"),
        ("gfx950", "v_mfma_f32_4x4x4_16b_f16"),
        ("gfx1100", "v_wmma_f32_16x16x16_f16"),
        ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        ("sm_90a", "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"),
    ],
)
def test_the_texts_for_triton_and_cute_give_every_place_its_element(arch, name):
    inst = mmacalc.instruction(arch, name)
    for matrix in ("A", "D"):
        operand = inst.operand(matrix)
        text = answer(["generate", "-a", arch, "-i", name, "--formula", matrix]).out
        written = re.search(r"#ttg.linear<{register = (\[.*\]), lane = (\[.*\]), warp = (\[.*\]), block = \[\]}>", text)
        bases = dict(zip(("register", "lane", "warp"), map(eval, written.groups())))
        gluon = re.search(r"reg_bases=(\[.*\]), lane_bases=(\[.*\]), warp_bases=(\[.*\]), block_bases=\[\]", text)
        assert list(bases.values()) == [eval(found) for found in gluon.groups()]
        cute = re.search(r"CuTe.*\n +(\S+)", text)[1]
        for lane, item in itertools.product(range(operand.lanes), range(operand.layout.spans["item"])):
            places = {"register": item, "lane": lane % operand.wave, "warp": lane // operand.wave}
            found = [0] * len(bases["lane"][0])
            for place, value in places.items():
                for bit, basis in enumerate(bases[place]):
                    found = [old ^ (new if value >> bit & 1 else 0) for old, new in zip(found, basis)]
            *block, row, column = found
            block = block[0] if block else 0
            coordinates = dict(zip(operand.axes, (block, row, column)))
            assert (lane, item) in {(place.lane, place.item) for place in operand.locate(**coordinates)}
            _, rows, columns = operand.shape
            assert cute_value(cute, lane, item) == row + rows * (column + columns * block)


def test_formulas_that_would_be_wrong_are_refused():
    swapped = ["generate", "-a", "gfx908", "-i", "v_mfma_f32_32x32x1f32", "--blgp", "1"]
    assert "BLGP makes lanes" in answer([*swapped, "--formula", "B"]).err
    sparse = answer(["generate", "-a", "gfx942", "-i", "v_smfmac_f32_16x16x32_f16", "--formula", "A"]).out
    assert sparse.count("p is shared, so a place has several elements") == 2


@pytest.mark.parametrize(
    ("arch", "name", "options", "says"),
    [
        ("gfx942", "v_mfma_f32_32x32x8_f16", {"order_a": "rwo"}, "order_a is row or col; got 'rwo'. Did you mean row"),
        ("gfx942", "v_mfma_f32_32x32x8_f16", {"language": "cuda"}, "the language is hip"),
        ("gfx950", "v_mfma_scale_f32_32x32x64_f8f6f4", {"order_a": "col", "cbsz": "fp4"}, "use order 'row'"),
        (
            "sm_90a",
            f"{WGMMA}.m64n8k256.s32.b1.b1.and.popc",
            {"order_b": "row"},
            "elements of 1 bit .* use order 'col'",
        ),
        (
            "sm_80",
            "wmma.mma.sync.aligned.col.col.m16n16k16.f32.f32",
            {},
            "A in order 'col' and B in order 'col', and no",
        ),
        ("sm_80", "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", {"lds": True}, "loads whole matrices"),
        ("sm_100a", "tcgen05.mma.cta_group::1.kind::f16", {}, "takes its operands from Tensor Memory"),
        ("sm_80", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", {}, "multiplies nothing"),
        ("gfx1200", "v_wmma_i32_16x16x16_iu4", {"lds": True, "order_a": "col"}, "use order 'row'"),
        ("gfx1251", "v_wmma_f64_16x16x4_f64", {}, "no builtin to call"),
    ],
)
def test_what_cannot_be_generated_is_refused_with_the_reason(arch, name, options, says):
    with pytest.raises(Error, match=says):
        mmacalc.generate(mmacalc.instruction(arch, name), **options)


def test_the_command_writes_checks_and_explains(tmp_path):
    line = ["generate", "-a", "gfx942", "-i", "v_mfma_f32_32x32x8_f16"]
    path = tmp_path / "kernel.hip"
    assert answer([*line, "-o", str(path)]).out == f"written to {path}\n"
    assert path.read_text() == answer(line).out == json.loads(answer([*line, "--json"]).out)["source"]
    assert answer([*line, "--check"]).out.endswith("one v_mfma_f32_32x32x8_f16, no wait state missing\n")
    assert "const int d_m = lane / 32 % 2;" in answer([*line, "--formula", "D"]).out


def test_a_source_is_checked_with_the_options_that_it_asks_for_and_spilled_registers_are_told():
    """Without them clang 22 leaves out wait states between WMMA and pairs of VALU instructions."""
    line = ["generate", "-a", "gfx1250", "-i", "v_wmma_scale_f32_32x16x128_f4", "--gemm", "512x512x512", "--check"]
    found = answer([*line, "--tile", "256x256x256"]).out.splitlines()
    assert found[0].endswith(", no wait state missing")
    assert re.fullmatch(r"  \d+ bytes of scratch for each work-item: registers are spilled; .*", found[1])
    assert json.loads(answer([*line, "--json"]).out)["scratch"] == 0


@pytest.mark.parametrize("option", [["--gemm", "8x8x8"], ["--lds"], ["--check"], ["-o", "kernel.hip"]])
def test_options_that_index_expressions_would_leave_out_are_refused(option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    got = answer(["generate", "-a", "gfx942", "-i", "v_mfma_f32_32x32x8_f16", "--formula", "A", *option])
    assert (got.status, got.out) == (2, "")
    assert "without a kernel: leave out --" in got.err
    assert not list(tmp_path.iterdir())


HMMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
NVIDIA_GEMMS = [  # with rows that vectors fit, and others
    ("sm_80", HMMA, ("row", "col"), (9, 1)),
    ("sm_80", HMMA, ("col", "row"), (3, 3)),
    ("sm_75", "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", ("row", "row"), (1, 3)),
    ("sm_80", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", ("col", "row"), (11, 2)),
    ("sm_90", "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", ("col", "col"), (1, 1)),
    ("sm_90a", f"{WGMMA}.m64n16k8.f32.tf32.tf32", ("row", "row"), (1, 1)),
]
MANY_REGISTERS = [  # of what the target has no opcode for, of a sparse A with long rows of B, and of f64
    ("sm_90a", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", ("row", "col")),
    ("sm_90a", "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", ("row", "col")),
    ("sm_80", "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", ("row", "col")),
    ("sm_90a", "mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32", ("row", "col")),
]
TMA_GEMMS = [
    (f"{WGMMA}.m64n128k16.f32.f16.f16", ("row", "col")),
    (f"{WGMMA}.m64n24k16.f16.f16.f16", ("col", "row")),
    (f"{WGMMA}.m64n256k32.f32.e4m3.e5m2", ("row", "col")),
    (f"{WGMMA}.m64n128k8.f32.tf32.tf32", ("col", "row")),
    (f"{WGMMA}.m64n128k32.s32.s8.u8", ("col", "row")),
]


def nvidia_gemm(target, name, orders):
    inst = mmacalc.instruction(target, name)
    found = (gemm_wgmma if "wgmma" in name else gemm_cuda).plan(inst, *orders)
    return inst, found, mmacalc.generate(inst, gemm="512x512x512", order_a=orders[0], order_b=orders[1])


@sampled(("target", "name", "orders", "padding"), NVIDIA_GEMMS, 1, first=1, whole=3)
def test_a_gemm_of_nvidia_computes_a_product_of_any_size_in_any_order(target, name, orders, padding, tmp_path):
    """Copies happen as late as they may, warps run in another order too."""
    inst, found, source = nvidia_gemm(target, name, orders)
    few = found.block_m - 16, found.block_n - 16 if found.block_n > 24 else 16
    for sizes, more in (
        ((few[0] + 5, few[1] - 3, 2 * found.block_k + 7), padding),
        ((found.block_m + 16, few[1], 3 * found.block_k + 16), (16, 16)),
    ):
        different, performed = gemm_product(inst, source, found, orders, tmp_path, sizes, alone=True, padding=more)
        assert different == 0
        assert performed.count(inst.name) >= 8


@pytest.mark.parametrize(
    "missing", ["        wait_for_copies();", '        asm volatile("bar.sync 0;" ::: "memory");  // and all warps']
)
def test_a_gemm_that_does_not_wait_is_noticed(missing, tmp_path):
    inst, found, source = nvidia_gemm("sm_80", HMMA, ("row", "col"))
    assert missing in source
    wrong = source.replace(missing, "//" * missing.endswith("warps"))
    sizes = (found.block_m, found.block_n, 5 * found.block_k)
    try:
        different, _ = gemm_product(inst, wrong, found, ("row", "col"), tmp_path, sizes, alone=True, padding=(16, 16))
    except AssertionError as error:
        different = str(error)
    assert different


@sampled(("name", "orders"), TMA_GEMMS, 1)
def test_a_gemm_by_tma_is_right_for_any_size_without_a_finding(name, orders, tmp_path):
    inst = mmacalc.instruction("sm_90a", name)
    found = gemm_tma.plan(inst, *orders)
    source = mmacalc.generate(inst, gemm="512x512x512", order_a=orders[0], order_b=orders[1])
    kernel = mmacalc.load(ptx_of(source, "sm_90a", tmp_path))[found.name]
    for m, n, k, seed in ((200, 40, 5 * found.a.depth + 16, None), (31, 2 * found.b.extent, 48, 1)):
        rng = np.random.default_rng(m)
        a, b = small(rng, (m, k), inst.format("A")), small(rng, (k, n), inst.format("B"))
        maps, leads = [], []
        for matrix, order, side in zip((a, b), orders, (found.a, found.b)):
            codes = encode(matrix if order == "row" else matrix.T, inst.format(side.name), "nvidia")
            leads.append(-(-codes.shape[1] // 16) * 16)
            rows = np.zeros((len(codes), leads[-1]), f"u{side.bytes}")
            rows[:, : codes.shape[1]] = codes  # zeros behind a row: the map has the row to its whole length
            maps.append(mmacalc.tensor_map(rows, box(side), swizzle=swizzle_name(side)))
        form = inst.format("D")
        d = np.full((m, n + 2), 0x5A5A5A5A & (1 << form.bits) - 1, f"u{form.bits // 8}")
        assert found.aligned(*leads, n, n + 2)
        report = mmacalc.launch(
            kernel, found.blocks(m, n), found.threads, *maps, d, m, n, k, n + 2, shared=found.shared, schedule=seed
        )
        assert report.findings == ()
        assert np.array_equal(decode(d[:, :n], form), a @ b)
        assert (d[:, n:] == 0x5A5A5A5A & (1 << form.bits) - 1).all()
    other, different = found.other, None
    sizes = (other.block_m + 5, 13, other.block_k + 7)
    different, _ = gemm_product(inst, source, other, orders, tmp_path, sizes, alone=True, padding=(3, 1))
    assert different == 0


@sampled("step", [4, 3, 1], 1, whole=1)
def test_every_gemm_of_nvidia_compiles_without_spills(step, tmp_path):
    jobs_of = {"sm_80": [], "sm_90a": [("sm_90a", *job) for job in TMA_GEMMS]}
    for target, more in jobs_of.items():
        jobs = ([job for job in NVIDIA_GEMMS + MANY_REGISTERS if job[0] == target] + more)[::step]
        parts = [nvidia_gemm(*job[:3])[2].partition("#endif")[2] for job in jobs]
        text = "".join(f"namespace n{n} {{\n{part.replace('gemm_', f'gemm{n}_')}\n}}\n" for n, part in enumerate(parts))
        (tmp_path / "kernels.cu").write_text(text)
        command = ["nvcc", f"-arch={target}", "-cubin", "-Xptxas", "-v", "kernels.cu", "-o", "kernels.cubin"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:2000]
        assert done.stderr.count(" 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads") == 2 * len(jobs)
        assert "C7508" not in done.stderr  # setmaxnreg ignored


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("v_mfma_f32_4x4x4_16b_f16", {"gemm": "1x1x1"}, "an AMD instruction of one block; not .* it has 16 blocks"),
        ("v_mfma_f32_32x32x8_f16", {"gemm": "1x1"}, "gemm is MxNxK"),
        ("v_mfma_f32_32x32x8_f16", {"gemm": (1, 1, None)}, "gemm is MxNxK"),
        ("v_mfma_f32_32x32x8_f16", {"gemm": "1x1x1", "tile": (None, 64, 16)}, "tile is MxNxK"),
        ("v_mfma_f32_32x32x8_f16", {"gemm": (0, 1, 1)}, "sizes of a GEMM are from 1"),
        ("v_mfma_f32_32x32x8_f16", {"gemm": "1x1x1", "lds": True}, "by itself: leave out lds"),
        ("v_mfma_f32_32x32x8_f16", {"gemm": "1x1x1", "ld": "constants"}, "takes its leading dimensions as arguments"),
        ("v_mfma_f32_32x32x8_f16", {"gemm": "1x1x1", "tile": "100x64x16"}, "a multiple of 64x64x16"),
        ("v_mfma_f32_32x32x8_f16", {"gemm": "1x1x1", "tile": "128"}, "tile is MxNxK"),
        ("v_mfma_f32_32x32x8_f16", {"gemm": "1x1x1", "tile": "256x256x128"}, "a workgroup has 65536"),
        ("v_mfma_f32_32x32x8_f16", {"gemm": "1x1x1", "stages": 5}, "stages is 1 or 2"),
        ("v_mfma_f32_32x32x8_f16", {"tile": "128x128x32"}, "give gemm, too"),
    ],
)
def test_a_gemm_that_cannot_be_generated_is_refused(name, options, says):
    with pytest.raises(Error, match=says):
        mmacalc.generate(mmacalc.instruction("gfx942", name), **options)


@pytest.mark.parametrize(
    ("arch", "name", "options", "says"),
    [
        (
            "sm_80",
            "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
            {},
            "a GEMM is generated around mma.sync, mma.sp and wgmma",
        ),
        ("sm_90a", f"{WGMMA}.m64n8k256.s32.b1.b1.and.popc", {}, "elements of whole bytes"),
        (
            "sm_90a",
            f"{WGMMA}.m64n8k32.s32.s8.s8",
            {"order_b": "row"},
            "use order_b='col', or a wgmma with more columns",
        ),
        ("sm_80", HMMA, {"lds": True}, "by itself: leave out lds"),
        ("sm_80", HMMA, {"ld": "constants"}, "takes its leading dimensions as arguments"),
    ],
)
def test_a_gemm_of_nvidia_that_cannot_be_generated_is_refused(arch, name, options, says):
    with pytest.raises(Error, match=says):
        mmacalc.generate(mmacalc.instruction(arch, name), gemm="64x64x64", **options)


@pytest.mark.parametrize(
    ("arch", "every"),
    [
        ("cdna1", 5),
        ("cdna3", 9),
        ("cdna5", 11),
        ("rdna3", 3),
        ("rdna4", 5),
        ("sm_80", 41),
        ("xe-hpc", 23),
        ("xe-hpg", 23),
    ],
)
def test_a_formula_gives_each_lane_and_item_what_it_holds_and_notes_those_that_hold_nothing(arch, every):
    """Every lane and item of operands whose items are elements, in Python's spelling."""
    seen = set()
    instructions = mmacalc.instructions(arch)
    few_rows = [inst for inst in instructions if inst.m in (1, 3) and inst.name.startswith("dpas")][:12]
    for inst in (*instructions[::every], *few_rows):
        for name in set("ABCD") & set(inst.register_operands):
            operand = inst.operand(name)
            found = formulas(operand)
            notes = " ".join(found.notes)
            if "stored values" in notes or "neighbouring" in notes:
                continue
            held = {}
            for block, row, column in itertools.product(*map(range, operand.shape)):
                element = dict(zip(operand.axes, (block, row, column)))
                for place in operand.locate(**element):
                    held.setdefault((place.lane, place.item), (block, row, column))
            texts = [*[value for _, value in found.digits], found.row, found.column, found.block]
            code = [text.replace("/", "//") for text in texts]
            names = [digit for digit, _ in found.digits]
            for lane in range(operand.lanes):
                values = {"lane": lane}
                for digit, text in zip(names, code):
                    values[digit] = eval(text, {}, values)
                row, column, block = (eval(text, {}, values) for text in code[len(names) :])
                empty = not any((lane, item[0]) in held for item in found.items)
                assert not empty or re.search("lanes .* hold", notes), (inst.name, name, lane)
                seen.add(empty)
                for slot, more_block, more_row, more_column in () if empty else found.items:
                    element = (block + more_block, row + more_row, column + more_column)
                    assert held.get((lane, slot)) == element or ("ends at" in notes and (lane, slot) not in held)
    assert seen == ({True, False} if arch.startswith("xe") else {False}), seen


@sampled("step", [9, 4, 1], 1, whole=1)
def test_a_modifier_changes_the_kernel_around_an_instruction_or_is_refused(step):
    """None is left out in silence: the first value of each that is not 0."""
    asked = [
        (inst, field, next(filter(None, values)))
        for arch in mmacalc.architectures()
        for inst in mmacalc.instructions(arch)
        for field, values in inst.modifier_limits().items()
        if any(values)
    ]
    changed = 0
    for inst, field, value in asked[::step]:
        try:
            plain, given = mmacalc.generate(inst), mmacalc.generate(inst, **{field: value})
        except Error:  # no kernel, or the modifier is refused
            continue
        assert plain != given, (inst, field)
        changed += 1
    assert changed > 3000 // step * 0.8


@pytest.mark.parametrize(("target", "name", "given", "says"), [
    ("gfx1100", "v_wmma_f32_16x16x16_f16", {"neg": 1}, "does not carry out neg: leave out neg"),
    ("gfx1100", "v_wmma_f16_16x16x16_f16", {"opsel": 4}, "does not carry out opsel: leave out opsel"),
    ("gfx1250", "v_wmma_f32_16x16x32_f16", {"neg_hi": 2}, "does not carry out neg_hi: leave out neg_hi"),
    ("gfx950", "v_mfma_scale_f32_32x32x64_f8f6f4", {"opsel": 1, "op_sel_hi": 2},
     "does not carry out opsel, op_sel_hi; it takes blgp, cbsz: leave out opsel, op_sel_hi"),
])  # fmt: skip
def test_a_modifier_that_a_kernel_does_not_carry_out_is_refused(target, name, given, says):
    with pytest.raises(Error, match=re.escape(says)):
        mmacalc.generate(mmacalc.instruction(target, name), **given)


@pytest.mark.parametrize(("neg", "signs"), [(None, "11"), (0, "00"), (1, "10"), (2, "01"), (3, "11")])
def test_neg_of_integers_says_which_of_a_and_b_are_signed(neg, signs):
    inst = mmacalc.instruction("gfx1100", "v_wmma_i32_16x16x16_iu8")
    source = mmacalc.generate(inst, **({} if neg is None else {"neg": neg}))
    assert f"({signs[0]}, a.value, {signs[1]}, b.value," in source
