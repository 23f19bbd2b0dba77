"""The compiled core carries out instructions of kernels as their definitions on NumPy do, bit for bit."""

from functools import cache
from itertools import product as product_of
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
from mmacalc.kernels.amd.state import EXEC, VCC, Group, Registers, packed
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
    if name == "v_bitop3_b32":
        yield from ({"bitop3": table} for table in (0xE4, 0x17, 0x80, 0xFE))
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


class _NeverAlone(runs.Run):
    """A run of which the core declines nothing."""

    def _alone(self, group, at, ahead):
        raise AssertionError("declined")


def executed(instruction, machine, words, by_core):
    """The registers after an instruction on v[2:7], s[6:13], VCC and EXEC of some words: by the core, which declines
    nothing, or by the definition."""
    registers = Registers(2, machine.wave, 20, 1, 0xF0)
    registers.clean.update(range(3000))
    registers.v[2:8] = words[: 12 * machine.wave].reshape(6, 2, machine.wave)
    registers.s[[*range(6, 14), VCC, VCC + 1, EXEC, EXEC + 1]] = words[-24:].reshape(12, 2)
    group, step = Group(registers, _Batch(registers), np.arange(2)), Step(instruction, machine)
    with np.errstate(all="ignore"):
        _NeverAlone([step]).carry_out(group) if by_core else step._compiled(machine)[1](group)
    return [registers.v, registers.s, group.active]


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100"])
def test_divisions_of_usual_numbers_are_carried_out_by_the_core(target):
    machine, rng = MachineTarget(target, TARGETS[target]), np.random.default_rng(5)
    mask = RegisterOperand("vcc", 0, machine.wave // 32)
    a, b, c, d = (RegisterOperand("v", number, 1) for number in (2, 3, 4, 10))
    cases = {
        "v_div_scale_f32": [((one, b, c), (d, mask)) for one in (b, c)], "v_div_fixup_f32": [((a, b, c), (d,))],
        "v_div_fmas_f32": [((a, b, c, mask), (d,))], "v_ldexp_f32": [((a, RegisterOperand("s", 6, 1)), (d,))],
    }  # fmt: skip
    exponents = np.array([0, 1, 2, 22, 23, 24, 29, 30, 31, 60, 96, 126, 127, 128, 157, 158, 159, 223, 252, 253, 254])
    for name, operands in cases.items():
        near = name == "v_div_fixup_f32"
        for sources, destinations in operands:
            for _ in range(40):
                words = rng.integers(1, 1 << 23, 12 * machine.wave + 24, np.uint32)
                words |= rng.integers(0, 2, len(words), np.uint32) << 31
                field = rng.choice(exponents[8:13] if near or name == "v_div_fmas_f32" else exponents, len(words))
                words |= field.astype(np.uint32) << 23
                words[-24:] = rng.integers(-160, 160, 24).astype(np.uint32)
                words[-8:-4] = 0  # VCC: nothing is scaled
                instruction = DecodedInstruction(0, 8, name, name, "vop3", destinations, sources, {})
                found, wanted = (executed(instruction, machine, words, by_core) for by_core in (True, False))
                assert all((x == y).all() for x, y in zip(found, wanted)), (name, sources)


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_scalar_instructions_that_write_exec_do_it_in_the_core(target):
    machine, rng = MachineTarget(target, TARGETS[target]), np.random.default_rng(6)
    wide, bits, missed = machine.wave // 32, machine.wave, []
    execute, scc = RegisterOperand("exec", 0, wide), RegisterOperand("scc", 0, 1)
    s, t, constant = RegisterOperand("s", 6, wide), RegisterOperand("s", 10, wide), ConstantOperand(5, True, bits)
    part = RegisterOperand("s", 7, wide)
    cases = [(f"s_mov_b{bits}", (execute,), (s,)), (f"s_not_b{bits}", (execute, scc), (execute,))]
    cases += [(f"s_{name}_b{bits}", (execute, scc), (x, y)) for name in ("and", "or", "xor", "andn2", "orn2", "nor")
              for x, y in ((execute, s), (s, t), (constant, execute))]  # fmt: skip
    saving = ("and", "or", "xor", "nand", "nor", "xnor", "andn1", "andn2", "orn1", "orn2", "and_not0", "or_not1")
    cases += [(f"s_{name}_saveexec_b{bits}", (s, execute, scc), (x, execute)) for name in saving
              for x in (s, t, constant, execute, part)]  # fmt: skip
    for name, destinations, sources in cases:
        if not machine.has(name):
            continue
        instruction = DecodedInstruction(0, 8, name, name, "sop1", destinations, sources, {})
        if core_operations.operations_of(instruction, machine) is None:
            missed.append((name, sources[0]))
            continue
        words = rng.integers(0, 1 << 32, 12 * machine.wave + 24, np.uint32)
        found, wanted = (executed(instruction, machine, words, by_core) for by_core in (True, False))
        assert all((x == y).all() for x, y in zip(found, wanted)), (name, sources)
    assert all(one is part and bits == 64 for _, one in missed), missed


def test_moves_of_halves_name_every_half():
    machine, rng = MachineTarget("gfx1100", 32), np.random.default_rng(7)
    halves = [RegisterOperand("v", number, 1, half, 16) for number in (2, 3) for half in (0, 1)]
    for source in [*halves, ConstantOperand(0x3C00, True, 16), RegisterOperand("s", 6, 1)]:
        for destination in halves:
            instruction = DecodedInstruction(0, 8, "v_mov_b16", "v_mov_b16", "vop1", (destination,), (source,), {})
            words = rng.integers(0, 1 << 32, 12 * 32 + 24, np.uint32)
            found, wanted = (executed(instruction, machine, words, by_core) for by_core in (True, False))
            assert all((x == y).all() for x, y in zip(found, wanted)), instruction


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
MEETS = """__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");"""
READS = [
    "v += row[i % 64] + row[i * 5 % 256]; row[i % 96] = v;",
    f"v += row[i % 64] + row[255 - i]; {MEETS} row[i % 64 * 4 + i / 64] = v;",
    f"v += row[i ^ 64] + bytes[i % 32]; if (g) {{ {MEETS} }} row[i] = v; bytes[i] = g;",
    f"for (int n = 0; n < 9; n++) {{ v += row[(i + n) % 256]; if (n == 4 && g) {{ {MEETS} }} }} row[i] = v;",
]
"""Loads of LDS by several waves, and stores behind them: of which some race, or only those of one workgroup."""


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
        *READS,
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
    assert (report.findings, report.notes) == (other.findings, other.notes)
    assert any(one.kind == "race" for one in report.findings) or race not in (READS[0], *READS[2:])


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
    "lines and parts of them": "y[n] = x[n]; if (i & 8) y[n] += 1; y[n] *= 3; if (i != 77) x[n] = y[n]; x[n] += y[n];",
    "a wave by itself, twice": "float v = x[n & ~63]; y[n & ~1] = 2; y[n] = v; x[n & ~63] = y[n];",
    "lines of two waves": "float v = y[n] + y[n ^ 1]; y[n] = v; if (i < 70) y[n + 6] = v;",
    "read again after others": "float v = y[n / 2]; x[n] = y[n]; y[n] = v;",
}
BUFFER = "unsigned *u = (unsigned *)y; auto r = __builtin_amdgcn_make_buffer_rsrc(x, 0, RECORDS, 0x27000); "
BUFFERS = {
    "some lanes beyond": BUFFER.replace("RECORDS", "1000")
    + """
        u[n] = __builtin_amdgcn_raw_buffer_load_b32(r, 4 * n, 16, 0);
        u[n] += __builtin_amdgcn_raw_buffer_load_b8(r, 3 * n, 1, 0);
        __builtin_amdgcn_raw_buffer_store_b32(u[n] + 3, r, 4 * n, 0, 0);""",
    "all lanes beyond": BUFFER.replace("RECORDS", "8")
    + """
        u[n] = 5 + __builtin_amdgcn_raw_buffer_load_b16(r, 64 + 2 * n, 0, 0);
        __builtin_amdgcn_raw_buffer_store_b8(n, r, 64 + n, 0, 0);""",
    "a part of a lane beyond": BUFFER.replace("RECORDS", "1912")
    + """
        typedef unsigned four __attribute__((ext_vector_type(4)));
        four v = __builtin_amdgcn_raw_buffer_load_b128(r, 4 * (n & ~3), 0, 0); u[n] = v[i & 3] ^ v[0];
        if (!(n & 3)) __builtin_amdgcn_raw_buffer_store_b128(v + 1u, r, 4 * n, 0, 0);""",
    "a race": BUFFER.replace("RECORDS", "2048")
    + """
        __builtin_amdgcn_raw_buffer_store_b32(n, r, 4 * (n % 96), 0, 0);""",
    "records": """typedef unsigned four __attribute__((ext_vector_type(4)));
        unsigned long a = (unsigned long)x; unsigned v;
        four r = {(unsigned)a, (unsigned)(a >> 32) | 8 << 16, 100, 0x27000};
        asm volatile("buffer_load_dword %0, %1, %2, 0 idxen offset:4\\ns_waitcnt vmcnt(0)" : "=v"(v) : "v"(n), "s"(r));
        ((unsigned *)y)[n] = v;""",
}


TRANSPOSING = """typedef TYPE loaded __attribute__((ext_vector_type(COUNT)));
    typedef __attribute__((address_space(3))) loaded *local;
    static __attribute__((shared)) unsigned row[1024]; for (int k = 0; k < 4; k++) row[4 * i + k] = x[i + k] * 1e9f;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    loaded v = NAME((local)&row[(i * 4 + i / 16 * 36) % 1016]); unsigned *u = (unsigned *)&v;
    for (int k = 0; k < sizeof v / 4; k++) ((unsigned *)y)[n] += u[k] * (k + 1);"""
"""Of gfx950 and gfx1250: loads of every size."""
COPIES = """typedef __attribute__((address_space(3))) int *local; int t;
    typedef __attribute__((address_space(1))) int *global_;
    static __attribute__((shared)) int row[512], other[256]; other[i] = x[n];
    __builtin_amdgcn_global_load_lds((global_)(x + (i & ~63)), (local)&row[i & ~63], 4, 0, 0); int v = other[i]; READ
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory"); v += row[i]; y[n] = v;"""


def transposing(type_, count, name):
    return TRANSPOSING.replace("TYPE", type_).replace("COUNT", str(count)).replace("NAME", f"__builtin_amdgcn_{name}")


READ = """asm volatile("ds_read_b32 %0, %1\\ns_waitcnt lgkmcnt(0)" : "=v"(t) : "v"((unsigned)(local)&row[i ^ 1]));
    v += t;"""
LOCAL = [
    ("gfx950", transposing("short", 4, "ds_read_tr16_b64_v4i16")),
    ("gfx950", transposing("int", 2, "ds_read_tr8_b64_v2i32")),
    ("gfx950", transposing("int", 2, "ds_read_tr4_b64_v2i32")),
    ("gfx950", transposing("int", 3, "ds_read_tr6_b96_v3i32")),
    ("gfx1250", transposing("short", 8, "ds_load_tr16_b128_v8i16")),
    ("gfx950", COPIES.replace("READ", "")),
    ("gfx950", COPIES.replace("READ", READ)),
]


@pytest.mark.parametrize("number", range(len(LOCAL)))
def test_loads_of_lds_that_transpose_or_meet_copies_are_the_same_with_and_without_the_core(number, monkeypatch):
    target, body = LOCAL[number]

    def told():
        y, report = launched(MEMORY.replace("BODY", body), target)
        return y.tobytes(), report.traffic, report.executed, report.lds, report.findings, report.notes

    found = told()
    assert [one.kind for one in found[4]] == ["wait"] * (READ in body)
    monkeypatch.setattr("mmacalc.emulator.core.function", lambda *_: None)
    monkeypatch.setattr("mmacalc.kernels.amd.program._known", Cache(8))
    assert found == told()


@pytest.mark.parametrize(
    ("what", "target"),
    [*product_of(BODIES, ["gfx942", "gfx1100"]), *product_of(BUFFERS, ["gfx90a", "gfx942", "gfx1100", "gfx1250"])][:-1],
)
def test_accesses_of_global_memory_are_the_same_with_and_without_the_core(target, what, monkeypatch):
    """The last one, of records, has another resource on gfx1250."""

    def told():
        try:
            y, report = launched(MEMORY.replace("BODY", (BODIES | BUFFERS)[what]), target)
        except mmacalc.Error as error:
            return str(error)
        return y.tobytes(), report.traffic, report.executed, report.findings, report.notes

    found = told()
    monkeypatch.setattr("mmacalc.emulator.core.function", lambda *_: None)
    monkeypatch.setattr("mmacalc.kernels.amd.program._known", Cache(8))
    assert found == told()
