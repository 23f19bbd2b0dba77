"""What chain claims of transposing loads, proved: the moves are compiled, counted and run on the emulator."""

from collections import Counter

import numpy as np
import pytest

import mmacalc
from generated_gemms import OPTIONS
from generated_kernels import compiled
from mmacalc.codegen.gemm_lds import BUILTINS
from mmacalc.memory_access.transpose_loads import loads_for

WAY = "LDS, transposing loads"
F16, FP8 = "v_wmma_f32_16x16x16_f16", "v_wmma_f32_16x16x64_fp8_fp8"
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


EXCHANGE = """\
extern "C" __attribute__((global)) void moved(unsigned *words, unsigned *out) {{
    const int lane = __builtin_amdgcn_workitem_id_x();
    unsigned {registers}, {copies};
    {loads}
    asm volatile("{moves}" : {written} : "s"(0x76543210), "s"(0xfedcba98), "s"({mask}));
    {stores}
}}
"""


def swapped(name, pairs, scalars, mask):
    return [f"{name} {first}, {second}" for first, second, _ in pairs]


def selected(name, pairs, scalars, mask):
    """What a lane sends, and into which register what it gets goes, by the lane bit, which is in `mask`."""
    for first, second, copy in pairs:
        yield f"v_cndmask_b32 {copy}, {second}, {first}, {mask}"
        yield f"{name} {copy}, {copy}{scalars if '64' not in name else ''}"
        yield f"v_cndmask_b32 {first}, {first}, {copy}, {mask}"
        yield f"v_cndmask_b32 {second}, {copy}, {second}, {mask}"


def under_exec(name, pairs, scalars, mask):
    """A copy of the first of each pair; then each register in the lanes that get something, fetched from the others."""
    yield from [f"v_mov_b32 {copy}, {first}" for first, _, copy in pairs]
    yield "s_mov_b32 exec_lo, 0xffff0000"
    yield from [f"v_permlanex16_b32 {first}, {second}{scalars} op_sel:[1,0]" for first, second, _ in pairs]
    yield "s_mov_b32 exec_lo, 0x0000ffff"
    yield from [f"v_permlanex16_b32 {second}, {copy}{scalars} op_sel:[1,0]" for _, second, copy in pairs]
    yield "s_mov_b32 exec_lo, -1"


@pytest.mark.parametrize(("target", "x", "y", "use", "way", "moves"), [
    ("gfx1201", F16, F16, "At", "v_permlanex16_b32, EXEC", under_exec),
    ("gfx1250", FP8, FP8, "At", "v_permlanex16_b32, EXEC", under_exec),
    ("gfx1201", F16, F16, "B", "v_permlanex16_b32", selected),
    ("gfx1201", F16, "v_swmmac_bf16_16x16x32_bf16", "B", "v_permlane64_b32", selected),
    ("gfx1250", FP8, FP8, "At", "v_permlane16_swap_b32", swapped),
    ("gfx950", "v_mfma_f32_32x32x16_f16", "v_mfma_f32_32x32x16_f16", "B", "v_permlane32_swap_b32", swapped),
])  # fmt: skip
def test_exchanges_in_the_vector_alu_take_as_many_instructions_as_chain_says(target, x, y, use, way, moves, tmp_path):
    wave = 64 if target == "gfx950" or "lane64" in way else 32
    x, y = (mmacalc.instruction(target, name) for name in (x, y))
    chain = mmacalc.chain(x, y, use, keep_k=True, wave=wave)
    (((item, lane_bit),), counted) = chain.exchanges, dict(chain._way(way).instructions)
    movers = sum(count for name, count in counted.items() if "permlane" in name)
    words = movers if moves is under_exec else 2 * movers
    distance = 1 << item - (32 // chain.tiles.target.placement.slot_bits).bit_length() + 1
    firsts = [at for at in range(words) if not at & distance]
    pairs = [(f"%{at}", f"%{at + distance}", f"%{words + number}") for number, at in enumerate(firsts)]
    last = words + len(firsts)
    made = [*moves(way, pairs, f", %{last}, %{last + 1}", f"%{last + 2}")]
    assert Counter(move.split()[0] for move in made) == counted
    registers, copies = [f"r{at}" for at in range(words)], [f"t{at}" for at in range(words // 2)]
    source = EXCHANGE.format(
        registers=", ".join(registers), copies=", ".join(copies), moves="\\n".join(made),
        mask="0xffffffff00000000ull" if wave == 64 else "0xffff0000",
        loads=" ".join(f"r{at} = words[{at} * {wave} + lane];" for at in range(words)),
        stores=" ".join(f"out[{at} * {wave} + lane] = r{at};" for at in range(words)),
        written=", ".join([*[f'"+v"({each})' for each in registers], *[f'"=&v"({each})' for each in copies]]),
    )  # fmt: skip
    kernel = mmacalc.load(compiled(source, target, tmp_path / "k.hsaco", wave, OPTIONS.get(target, ())))["moved"]
    given = np.random.default_rng(0).integers(0, 1 << 32, (words, wave), dtype=np.uint32)
    out = np.zeros_like(given)
    report = mmacalc.launch(kernel, 1, wave, given, out)
    register, lane = np.arange(words)[:, None], np.arange(wave)
    crossed = (register // distance & 1) ^ (lane >> lane_bit & 1)
    assert (out == np.where(crossed, given[register ^ distance, lane ^ 1 << lane_bit], given)).all()
    assert report.findings == ()
