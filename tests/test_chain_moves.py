"""What chain claims of transposing loads, proved: the moves are compiled, counted and run on the emulator."""

from collections import Counter

import numpy as np
import pytest

import mmacalc
from generated_gemms import OPTIONS
from generated_kernels import compiled
from mmacalc.codegen.gemm import BUILTINS
from mmacalc.memory_access.transpose_loads import loads_for

WAY = "LDS, transposing loads"
SOURCE = """\
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
typedef _Float16 run __attribute__((ext_vector_type({run})));
typedef short loaded __attribute__((ext_vector_type({loaded})));
typedef loaded __attribute__((address_space(3))) *place;
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size({lanes}, {lanes})))
void moved(const float *D, const int *item, const int *write, const int *read, loaded *out) {{
    __shared__ __attribute__((aligned(16))) unsigned char tile[{bytes}];
    const int lane = __builtin_amdgcn_workitem_id_x();
    run given[{writes}];
    for (int n = 0; n < {writes}; ++n)
        for (int e = 0; e < {run}; ++e) given[n][e] = (_Float16)D[(item[n] + e) * {lanes} + lane];
    for (int n = 0; n < {writes}; ++n) *(run *)(tile + write[n * {lanes} + lane]) = given[n];
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront", "local");
    __builtin_amdgcn_wave_barrier();
    for (int n = 0; n < {reads}; ++n)
        out[n * {lanes} + lane] = __builtin_amdgcn_{load}((place)(tile + read[n * {lanes} + lane]));
}}
"""


def written(chain):
    """The first item of each run that a lane writes, and for each run and lane the byte in LDS: rows of k."""
    tiles, lanes = chain.tiles, chain.tiles.source.lanes
    relabel = chain.relabel or range(chain.k)
    at = np.full((chain.x_count * tiles.source.registers, lanes), -1)
    for f, (lane_f, item_f) in enumerate(tiles.source_f):
        for k, (lane_k, item_k) in enumerate(tiles.source_k):
            at[item_f + item_k, lane_f + lane_k] = 2 * (relabel[k] * chain.f + f)
    count = dict(chain._way(WAY).instructions)
    run = len(at) // next(count[name] for name in count if "tr" not in name)
    assert (np.diff(at.reshape(-1, run, lanes), axis=1) == 2).all()
    return np.arange(0, len(at), run), at[::run], run


def read(chain):
    """For each load and lane the byte in LDS of what it fetches."""
    tiles, places = chain.tiles, []
    extents = chain.f // tiles.y_tiles[0], chain.k // tiles.y_tiles[1]
    for y in range(chain.y_count):
        f, k = (number * size for number, size in zip(divmod(y, tiles.y_tiles[1]), extents))
        for step in loads_for(tiles.target):
            each = step.load.lanes // step.load.elements
            for _, row, ks in sorted(step.groups):
                places += [
                    2 * ((k + ks[lane // each]) * chain.f + f + row + lane % each * step.load.elements)
                    for lane in range(step.load.lanes)
                ]
    return np.array(places).reshape(-1, tiles.target.lanes)


def written_once(name):
    """An instruction that writes two places, as two."""
    single = name.replace("2st64_b64", "_b64").replace("2_b64", "_b64")
    return [single] * (1 + (single != name))


@pytest.mark.parametrize(("target", "name", "use", "moves"), [
    ("gfx1250", "v_wmma_f32_16x16x32_f16", "A", {"ds_store_b128": 2, "ds_load_tr16_b128": 2}),
    ("gfx950", "v_mfma_f32_32x32x16_f16", "A", {"ds_write_b64": 4, "ds_read_b64_tr_b16": 4}),
    ("gfx950", "v_mfma_f32_16x16x32_f16", "Bt", {"ds_write_b64": 2, "ds_read_b64_tr_b16": 2}),
])  # fmt: skip
def test_loads_that_transpose_take_as_many_instructions_as_chain_says(target, name, use, moves, tmp_path):
    inst = mmacalc.instruction(target, name)
    chain = mmacalc.chain(inst, inst, use)
    assert dict(chain._way(WAY).instructions) == moves
    items, writes, run = written(chain)
    reads = read(chain)
    load, lanes = next(each for each in moves if "tr" in each), chain.tiles.source.lanes
    elements = loads_for(chain.tiles.target)[0].load.elements
    source = SOURCE.format(
        run=run, loaded=elements, lanes=lanes, bytes=2 * chain.f * chain.k, writes=len(writes), reads=len(reads),
        load=BUILTINS[load],
    )  # fmt: skip
    kernel = mmacalc.load(compiled(source, target, tmp_path / "k.hsaco", options=OPTIONS.get(target, ())))["moved"]
    d = np.random.default_rng(0).integers(-99, 99, (chain.x_count * chain.tiles.source.registers, lanes))
    d = d.astype(np.float32)
    out = np.zeros((len(reads), lanes, elements // 2), np.uint32)
    report = mmacalc.launch(kernel, 1, lanes, d, *[each.astype(np.int32) for each in (items, writes, reads)], out)
    right = chain.apply(d.view(np.uint32).reshape(chain.x_count, -1, lanes), WAY)
    assert (out.transpose(0, 2, 1).reshape(right.shape) == right).all()
    assert report.findings == ()
    names = [site.place.split(": ")[1].split()[0] for site in report.lds]
    assert Counter(each for name in names for each in written_once(name)) == moves


def test_the_cheapest_way_of_attention_backward_is_by_loads_that_transpose():
    for target, name in [("gfx1250", "v_wmma_f32_16x16x32_f16"), ("gfx950", "v_mfma_f32_32x32x16_bf16")]:
        inst = mmacalc.instruction(target, name)
        assert mmacalc.chain(inst, inst, "A").ways[0].name == WAY


MASKED = "v_permlanex16_b32, EXEC"
EXCHANGE = """\
extern "C" __attribute__((global)) void moved(unsigned *words, unsigned *out) {{
    const int lane = __builtin_amdgcn_workitem_id_x();
    unsigned {registers}, {copies};
    {loads}
    asm volatile("{moves}" : {written} : "s"(0x76543210), "s"(0xfedcba98));
    {stores}
}}
"""


def exchange(words, distance):
    """The moves of an exchange of a bit of the register, in pairs `distance` apart, with lane bit 4: a copy of the
    first of each pair; then each register in the lanes that get something, by EXEC, fetched from the others (FI)."""
    firsts = [at for at in range(words) if not at & distance]
    scalars = f"%{3 * words // 2}, %{3 * words // 2 + 1} op_sel:[1,0]"
    return [
        *[f"v_mov_b32 %{words + number}, %{first}" for number, first in enumerate(firsts)],
        "s_mov_b32 exec_lo, 0xffff0000",
        *[f"v_permlanex16_b32 %{first}, %{first + distance}, {scalars}" for first in firsts],
        "s_mov_b32 exec_lo, 0x0000ffff",
        *[f"v_permlanex16_b32 %{at + distance}, %{words + n}, {scalars}" for n, at in enumerate(firsts)],
        "s_mov_b32 exec_lo, -1",
    ]


@pytest.mark.parametrize(("target", "name"), [
    ("gfx1201", "v_wmma_f32_16x16x16_f16"), ("gfx1250", "v_wmma_f32_16x16x64_fp8_fp8"),
])  # fmt: skip
def test_permlanes_under_exec_exchange_registers_with_as_many_instructions_as_chain_says(target, name, tmp_path):
    inst = mmacalc.instruction(target, name)
    chain = mmacalc.chain(inst, inst, "At", keep_k=True)
    (((item, lane_bit),), counted) = chain.exchanges, dict(chain._way(MASKED).instructions)
    words = counted["v_permlanex16_b32"]
    distance = 1 << item - (32 // chain.tiles.target.placement.slot_bits).bit_length() + 1
    moves = exchange(words, distance)
    assert (lane_bit, Counter(move.split()[0] for move in moves)) == (4, counted)
    registers, copies = [f"r{at}" for at in range(words)], [f"t{at}" for at in range(words // 2)]
    source = EXCHANGE.format(
        registers=", ".join(registers), copies=", ".join(copies), moves="\\n".join(moves),
        loads=" ".join(f"r{at} = words[{at} * 32 + lane];" for at in range(words)),
        stores=" ".join(f"out[{at} * 32 + lane] = r{at};" for at in range(words)),
        written=", ".join([*[f'"+v"({each})' for each in registers], *[f'"=&v"({each})' for each in copies]]),
    )  # fmt: skip
    kernel = mmacalc.load(compiled(source, target, tmp_path / "k.hsaco", options=OPTIONS.get(target, ())))["moved"]
    given = np.random.default_rng(0).integers(0, 1 << 32, (words, 32), dtype=np.uint32)
    out = np.zeros_like(given)
    report = mmacalc.launch(kernel, 1, 32, given, out)
    register, lane = np.arange(words)[:, None], np.arange(32)
    crossed = (register // distance & 1) ^ (lane >> 4 & 1)
    assert (out == np.where(crossed, given[register ^ distance, lane ^ 16], given)).all()
    assert report.findings == ()
