"""The compiled core carries out instructions of kernels as their definitions on NumPy do, bit for bit."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import mmacalc
from hip_kernels import hip_kernels
from mmacalc.asm.decoded import ConstantOperand, DecodedInstruction, RegisterOperand
from mmacalc.base.records import Cache
from mmacalc.emulator import core
from mmacalc.kernels.amd import core_operations, runs
from mmacalc.kernels.amd.counters import Counters
from mmacalc.kernels.amd.cross_lane import CROSS_LANE
from mmacalc.kernels.amd.operations.packed import PACKED
from mmacalc.kernels.amd.program import Step
from mmacalc.kernels.amd.state import EXEC, Group, Registers, packed
from mmacalc.kernels.amd.target import MachineTarget
from mmacalc.kernels.device.findings import Tally
from samples import sampled

TARGETS = {"gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1100": 32, "gfx1201": 32, "gfx1250": 32}
SPECIAL = np.array(
    [0, 1, 2, 31, 32, 33, 0x7F, 0xFF, 0x3FF, 0x400, 0x7BFF, 0x7C00, 0x8000, 0xFFFF, 0x3F800000, 0xBF800000, 0x80000000,
     0x7FFFFFFF, 0xFFFFFFFF, 0x7F800000, 0xFF800000, 0x00800000, 0x007FFFFF, 0x477FEFFF, 0x477FF000, 0x33000000,
     0x33000001, 0x38800000, 0x387FFFFF, 0x4F000000, 0xCF000000, 0x4F800000, 0x3F000000, 0x7FC00000], np.uint32
)  # fmt: skip


def random_words(rng, shape):
    words = rng.integers(0, 1 << 32, shape, np.uint32)
    floats = (rng.standard_normal(shape) * 4.0 ** rng.integers(-12, 12, shape)).astype(np.float32).view(np.uint32)
    found = np.where(rng.random(shape) < 0.4, floats, words)
    return np.where(rng.random(shape) < 0.25, rng.choice(SPECIAL, shape), found)


class _Batch:
    """As much of a batch as runs ask for."""

    def __init__(self, registers):
        self.registers, self.core = registers, runs.CoreWaves(registers)
        self.counters, self.tally, self.steps = Counters(registers.waves, "gfx9"), Tally(str), 0
        self.grid_races = SimpleNamespace(checks=None)


@cache
def contents(wave, nan):
    """Words of vector registers, accumulators and scalar registers, some lanes inactive; NaN among them or not."""
    rng, empty = np.random.default_rng(nan), Registers(5, wave, 20, 8, 0xF0)
    files = [random_words(rng, file.shape) for file in (empty.v, empty.a, empty.s)]
    for file in files if not nan else ():
        file[(file & np.uint32(0x7FFFFFFF)) > 0x7F800000] &= np.uint32(0x3FFFFFFF)
    active = rng.random((5, wave)) < 0.7
    active[0], active[1, 1:] = True, False
    files[2][EXEC : EXEC + wave // 32] = packed(active)
    return files


def registers_of(wave, nan):
    registers = Registers(5, wave, 20, 8, 0xF0)
    for file, words in zip((registers.v, registers.a, registers.s), contents(wave, nan)):
        file[...] = words
    registers.clean.update(range(3000))
    return registers


WIDE = ("u64", "i64", "f64", "b64")


def operand(kind, place, variant, wave, scalar):
    """An operand of a type: a vector register, a scalar one, a constant, or all the same one."""
    if kind in ("mask", "exec"):
        return RegisterOperand(*(("vcc", 0) if variant == 0 else ("s", 20)), wave // 32)
    wide = 2 if kind in WIDE else 1
    if variant == 2 and place == 1:
        return ConstantOperand(0x3FC00000 if wide == 1 else 5, True, 32 * wide)
    if scalar or (variant == 1 and place == 0):
        return RegisterOperand("s", 6 + 2 * place, wide, 0, 32 * wide)
    if variant == 3:
        return RegisterOperand("v", 4, wide, 0, 32 * wide)
    return RegisterOperand("a" if variant == 4 and wide == 1 else "v", 2 + 2 * place, wide, 0, 32 * wide)


def modifiers_for(name, kinds, generation, packed_floats):
    """Some sets of modifiers of an instruction."""
    always = {"op_sel_hi": (1 << len(kinds)) - 1} if packed_floats else {}
    yield always
    if packed_floats:
        yield {**always, "neg_lo": 2, "neg_hi": 2}
        yield {"op_sel": 1, "op_sel_hi": 1, "neg_lo": 1, "neg_hi": 1}
        return
    if name.startswith("s_") or any(kind in WIDE for kind in kinds):
        return
    if kinds[0] in ("f32", "b32"):
        yield from ({"neg": 1}, {"abs": 1}, {"neg": 3, "abs": 2})
    dpp = {"row_mask": 15, "bank_mask": 15}
    controls = [
        (0xB1, {}),
        (0x113, {}),
        (0x113, {"bound_ctrl": 1}),
        (0x125, {"row_mask": 10}),
        (0x141, {"bank_mask": 3}),
    ]
    controls += [(0x142, {"row_mask": 10})] if generation == "gfx9" else [(0x163, {"fi": 1}), (0x113, {"fi": 1})]
    for control, more in controls:
        yield {"dpp_ctrl": control, **dpp, **more}
    if generation != "gfx9":
        yield {"dpp8": 0o76543210}
    else:
        for select in (1, 5, 6):
            yield {"dst_sel": 6, "dst_unused": 0, "src0_sel": select, "src1_sel": 4, "sext": 0}


def instructions(name, machine):
    """Instructions of a mnemonic, with all kinds of operands and modifiers."""
    packed_floats = name in PACKED
    if packed_floats:
        kinds, results = ("f64",) * (3 if "fma" in name else 2), ("f64",)
    elif name in CROSS_LANE:
        kinds = ("u32",) if "first" in name else ("u32", "u32")
        results = ("u32",)
    elif name.startswith("v_mbcnt"):
        kinds, results = ("u32", "u32"), ("u32",)
    elif machine.has(name):
        kinds, results, _ = machine.row(name)
    else:
        return
    scalar = name.startswith("s_")
    shown = [kind for kind in kinds if kind not in ("scc", "old", "old64", "simm", "uimm")]
    simm = {"simm16": 0x8123} if {"simm", "uimm"} & set(kinds) else {}
    for variant in range(5):
        sources = [operand(kind, place, variant, machine.wave, scalar) for place, kind in enumerate(shown)]
        destinations = []
        for place, kind in enumerate(results):
            if kind == "mask":
                destinations.append(RegisterOperand("s", 22, machine.wave // 32))
            elif kind != "scc":
                wide = 2 if kind in WIDE else 1
                own = "s" if scalar or name.startswith("v_read") else "v"
                first = 4 if variant == 3 and own == "v" else 10 + 4 * place
                destinations.append(RegisterOperand(own, first, wide, 0, 32 * wide))
        if name == "v_writelane_b32":
            sources = [RegisterOperand("s", 6, 1), ConstantOperand(5 + variant, False), destinations[0]]
        if "old" in kinds:
            sources.append(destinations[0])
        plain = name in CROSS_LANE or (variant and not packed_floats)
        for modifiers in [{}] if plain else modifiers_for(name, kinds, machine.generation, packed_floats):
            yield DecodedInstruction(
                0, 8, name, name, "vop3", tuple(destinations), tuple(sources), {**modifiers, **simm}
            )


def differing(instruction, machine, covered):
    """Whether registers differ after the core and after the definition, for registers without and with NaN."""
    operations = core_operations.operations_of(instruction, machine)
    if operations is None:
        return False
    step = Step(instruction, machine)
    kind, defined = step._compiled(machine)
    if kind == "control":  # the definition refuses these modifiers
        return instruction.modifiers == {}
    covered.add(operations[0].code)
    for nan in (False, True):
        results = []
        for by_core in (False, True):
            registers = registers_of(machine.wave, nan)
            batch = _Batch(registers)
            for rows in (np.array([0, 2, 3]), np.array([1, 4])):
                group = Group(registers, batch, rows)
                with np.errstate(all="ignore"):
                    runs.Run([step]).carry_out(group) if by_core else defined(group)
            results.append([registers.v, registers.a, registers.s])
        if any((x != y).any() for x, y in zip(*results)):
            return True
    return False


@sampled("step", [2, 1], 1, whole=0)
@sampled("target", TARGETS, 2)
def test_every_operation_of_the_core_computes_what_its_row_does(target, step):
    """In a sample each of two targets has half of them."""
    assert core.library() is not None, "compile the core: python -m mmacalc.emulator.core"
    machine = MachineTarget(target, TARGETS[target])
    covered, wrong = set(), []
    compared = {f"v_cmp_{r}_{k}" for r in ("lt", "eq", "le", "gt", "ge", "ne", "lg", "nlt", "neq", "nle", "ngt", "nlg",
                "nge", "o", "u") for k in ("i32", "u32", "i64", "u64", "f32")}  # fmt: skip
    compared |= {f"s_cmp{p}_{r}_{k}" for p in ("", "k") for r in ("eq", "lg", "gt", "ge", "lt", "le")
                 for k in ("i32", "u32", "u64")}  # fmt: skip
    for name in sorted({*core_operations._TABLE} | compared)[(target < "gfx9") % step :: step]:
        for instruction in instructions(name, machine):
            if differing(instruction, machine, covered):
                wrong.append((name, instruction.sources, instruction.modifiers))
    assert wrong[:10] == []
    if step == 1:
        assert [name for name, number in core_operations._codes().items() if number not in covered] == []


SOURCE = """typedef float float4_ __attribute__((ext_vector_type(4)));
extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(256, 256))) void k(float *x, float *y) {
    static __attribute__((shared)) float row[1024]; static __attribute__((shared)) unsigned char bytes[256];
    int i = __builtin_amdgcn_workitem_id_x(), g = __builtin_amdgcn_workgroup_id_x(); float v = x[g * 256 + i];
    float4_ w = {v, v * 2, v * 3, v - 1}; *(float4_ *)&row[4 * i] = w; bytes[i ^ 5] = (int)(v * 100);
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    for (int n = 0; n < 5; n++) if ((i + n) % 3) v += row[(i * 7 + n * 33) % 1024] * bytes[(i + n) % 256];
    RACE
    y[g * 256 + i] = v; }"""


PRODUCT = """typedef _Float16 half __attribute__((ext_vector_type(DEPTH)));
typedef float float_ __attribute__((ext_vector_type(ROWS)));
extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(256, 256))) void k(float *x, float *y) {
    int i = __builtin_amdgcn_workitem_id_x(), g = __builtin_amdgcn_workgroup_id_x(); half a, b; float_ c = {};
    for (int n = 0; n < DEPTH; n++) { a[n] = x[(3 * i + n + g) % 512]; b[n] = x[(i % 64 * 5 + n) % 512] / (i > 63); }
    for (int n = 0; n < 3; n++) { c = MULTIPLIED; c = c * 0.5f; }
    for (int n = 0; n < ROWS; n++) y[(g * 256 + i) % 512] += c[n]; }"""  # the first wave's B is infinite
PRODUCTS = {
    "gfx942": (4, 4, "__builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0)"),
    "gfx1100": (16, 8, "__builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c)"),
}


def product(target):
    depth, rows, multiplied = PRODUCTS[target]
    return PRODUCT.replace("DEPTH", str(depth)).replace("ROWS", str(rows)).replace("MULTIPLIED", multiplied)


def launched(source, target):
    kernel = hip_kernels(source, target)["k"]
    x = np.random.default_rng(4).standard_normal(512).astype(np.float32)
    y = np.zeros(512, np.float32)
    return y, mmacalc.launch(kernel, 2, 256, x, y)


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
@pytest.mark.parametrize(
    "race",
    [
        None,
        "",
        "row[i] = v; if (i > 100) v += row[i ^ 64];",
        "row[i + 300] = v; v += row[i * 3 % 700];",
        "static __attribute__((shared)) float other[64]; v += other[i % 64] * 2; row[i] = v; v += row[i];",
    ],
)
def test_a_launch_reports_the_same_with_and_without_the_core(target, race, monkeypatch):
    source = product(target) if race is None else SOURCE.replace("RACE", race)
    found, report = launched(source, target)
    monkeypatch.setattr("mmacalc.emulator.core.function", lambda *_: None)
    monkeypatch.setattr("mmacalc.kernels.amd.program._known", Cache(8))  # no program that was compiled for the core
    wanted, other = launched(source, target)
    assert (found.view(np.uint32) == wanted.view(np.uint32)).all()
    assert (report.traffic, report.executed) == (other.traffic, other.executed)
    assert report.lds == other.lds
    assert [(one.kind, one.address) for one in report.findings] == [(one.kind, one.address) for one in other.findings]
    assert [(one.kind, one.address) for one in report.notes] == [(one.kind, one.address) for one in other.notes]


MEMORY = """#define KERNEL extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(256, 256)))
KERNEL void k(float *x, float *y) {
    int i = __builtin_amdgcn_workitem_id_x(), g = __builtin_amdgcn_workgroup_id_x(), n = g * 256 + i;
    unsigned short *h = (unsigned short *)y; signed char *b = (signed char *)x; BODY }"""
BODIES = {
    "nothing is shared": "float v = x[n]; if (i % 3) y[n] = v + y[n]; x[n] = v * 2; y[n] += x[n];",
    "narrow": "if (i & 1) { h[2 * n] = b[4 * n] + b[4 * n + 1]; h[2 * n + 1] = h[2 * n] * 3; b[4 * n + 2] = (char)i; }",
    "read by many": "float v = x[n / 2] + x[n / 4 + 9]; y[n] = v + x[511 - n];",
    "a race of two waves": "y[n] = x[n]; if (i > 64) y[n] += y[n ^ 64];",
    "a race in one instruction": "y[n % 96] = x[n];",
    "the same value": "y[n % 96] = x[5]; y[n % 96 + 100] = 1;",
    "read, then written by another wave": "float v = y[n ^ 128]; y[n] = v + x[n];",
    "a barrier in between": """y[n] = x[n];
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); y[n ^ 64] += x[n]; y[n ^ 64] *= 2;""",
    "workgroups communicate": "y[n] = x[n]; __atomic_fetch_add((int *)&y[7], 1, __ATOMIC_RELAXED); y[n + 1] += x[n];",
    "outside": "y[n + (i == 200) * 1000000] = x[n];",
}


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("what", BODIES)
def test_accesses_of_global_memory_are_the_same_with_and_without_the_core(target, what, monkeypatch):
    def told():
        try:
            y, report = launched(MEMORY.replace("BODY", BODIES[what]), target)
        except mmacalc.Error as error:
            return str(error)
        return y.tobytes(), report.traffic, report.executed, report.findings, report.notes

    found = told()
    monkeypatch.setattr("mmacalc.emulator.core.function", lambda *_: None)
    monkeypatch.setattr("mmacalc.kernels.amd.program._known", Cache(8))
    assert found == told()
