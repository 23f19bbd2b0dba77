"""Generated GEMMs around tcgen05.mma on the emulator: right for sizes with edges, without a finding."""

import random

import numpy as np
import pytest

import mmacalc
from generated_gemms import mapped, packed_rows
from mmacalc import Error
from mmacalc.arithmetic.codecs import decode, encode
from mmacalc.codegen import gemm_tcgen05
from mmacalc.emulator.execution import sparsity
from oracles.emulated_kernel import ptx_of
from samples import sampled
from test_generate_formats import thinned
from test_tensor_memory_forms import metadata

ONE, TWO = "tcgen05.mma.cta_group::1.kind::", "tcgen05.mma.cta_group::2.kind::"
SP_ONE, SP_TWO = "tcgen05.mma.sp.cta_group::1.kind::", "tcgen05.mma.sp.cta_group::2.kind::"
WS = "tcgen05.mma.ws"
EMPTY = 0x5A5A5A5A
CASES = [
    ("sm_100a", f"{ONE}f16", ("row", "col"), {"m": 128, "n": 64}),
    ("sm_100a", f"{ONE}f16", ("col", "row"), {"m": 128, "n": 128, "a": "bf16"}),
    ("sm_100a", f"{ONE}f16", ("col", "col"), {"m": 64, "n": 24, "d": "f16"}),
    ("sm_103a", f"{ONE}tf32", ("row", "col"), {"m": 128, "n": 32}),
    ("sm_110a", f"{ONE}i8", ("row", "row"), {"m": 64, "n": 64}),
    ("sm_100a", f"{ONE}i8", ("row", "col"), {"m": 128, "n": 16, "a": "u8"}),
    ("sm_100a", f"{ONE}f8f6f4", ("col", "row"), {"m": 128, "n": 64, "b": "e5m2"}),
    ("sm_100a", f"{TWO}f16", ("row", "col"), {"m": 256, "n": 128}),
    ("sm_110a", f"{ONE}f8f6f4", ("row", "col"), {"m": 128, "n": 64, "a": "e2m3", "b": "e2m1", "d": "f16"}),
    ("sm_100a", f"{TWO}f16", ("col", "row"), {"m": 128, "n": 128}),
    ("sm_103a", f"{TWO}f8f6f4", ("row", "row"), {"m": 256, "n": 64}),
    ("sm_100a", f"{TWO}i8", ("col", "col"), {"m": 128, "n": 64}),
    ("sm_100a", f"{WS}.cta_group::1.kind::f16", ("col", "row"), {"m": 64, "n": 64, "a": "bf16"}),
    ("sm_110a", f"{WS}.cta_group::1.kind::f8f6f4", ("row", "col"), {"m": 32, "n": 128, "b": "e3m2", "d": "f16"}),
]
SCALED = [
    ("sm_100a", f"{ONE}mxf8f6f4.block_scale.block32", ("row", "col"), {"m": 128, "n": 128}),
    ("sm_103a", f"{ONE}mxf8f6f4.block_scale.block32", ("col", "row"), {"m": 128, "n": 256, "a": "e5m2", "b": "e2m1"}),
    ("sm_110a", f"{ONE}mxf4.block_scale.block32", ("row", "col"), {"m": 128, "n": 256}),
    ("sm_100a", f"{ONE}mxf4nvf4.block_scale.block16", ("row", "col"), {"m": 128, "n": 128, "scale": "ue4m3"}),
    ("sm_100a", f"{TWO}mxf8f6f4.block_scale.block32", ("row", "row"), {"m": 256, "n": 256, "b": "e3m2"}),
    ("sm_103a", f"{TWO}mxf4nvf4.block_scale.block16", ("row", "col"), {"m": 256, "n": 256}),
]
SPARSE = [
    ("sm_100a", f"{SP_ONE}f16", ("row", "col"), {"n": 64}),
    ("sm_103a", f"{SP_ONE}tf32", ("row", "col"), {"n": 40}),
    ("sm_100a", f"{SP_TWO}f16", ("col", "row"), {"n": 128, "a": "bf16"}),
    ("sm_100a", f"{SP_ONE}i8", ("row", "row"), {"n": 32, "a": "u8"}),
    ("sm_103a", f"{SP_TWO}f8f6f4", ("col", "col"), {"n": 64, "a": "e5m2", "d": "f16"}),
    ("sm_110a", f"{SP_ONE}f8f6f4", ("col", "row"), {"n": 128, "a": "e2m3", "b": "e2m1"}),
    ("sm_100a", f"{SP_ONE}mxf8f6f4.block_scale.block32", ("row", "row"), {"n": 128, "a": "e2m1"}),
    ("sm_103a", f"{SP_TWO}mxf4nvf4.block_scale.block16", ("row", "col"), {"n": 256, "scale": "ue4m3"}),
    ("sm_110a", f"{SP_ONE}mxf4.block_scale.block32", ("row", "col"), {"n": 128}),
    ("sm_100a", f"{WS}.sp.cta_group::1.kind::tf32", ("row", "col"), {"n": 64}),
]


def scaled(rng, plan, name, matrix):
    """A matrix times random scales of its blocks along the last axis, and the tensor map of these."""
    inst = plan.instruction
    size, form = inst.block_size, inst.format(f"S{name}")
    values = 2.0 ** rng.integers(-1, 2, (len(matrix), -(-matrix.shape[1] // size)))
    packed = mmacalc.pack_scales(encode(values, form, "nvidia").astype(np.uint8), plan.block_k // size)
    repeated = np.repeat(values, size, 1)[:, : matrix.shape[1]]
    return matrix * repeated, mmacalc.tensor_map(packed.view(np.uint64), plan.scale_box(name))


def tried(target, name, orders, shape, folder):
    """Products of sizes with edges, with one block for each tile and with few blocks, warps in another order."""
    chance = random.Random(f"{target} {name} {orders} {shape}")
    inst = mmacalc.instruction(target, name)
    source = mmacalc.generate(inst, gemm="512x512x512", order_a=orders[0], order_b=orders[1], **shape)
    plan = gemm_tcgen05.plan(inst.shaped(**shape), *orders)
    kernel = mmacalc.load(ptx_of(source, target, folder))[plan.name]
    inst = plan.instruction
    m, n = (size + chance.randrange(1, size // 2) for size in (inst.m, inst.n))
    k = plan.block_k + chance.randrange(1, plan.block_k)
    k -= k % sparsity(inst).period if inst.sparse else 0
    for fewer, wide in ((1, False), (4, True)):
        rng = np.random.default_rng(fewer)
        least = 0 if inst.format("A").name == "u8" else -2
        a, b = rng.integers(least, 3, (m, k)).astype(float), rng.integers(-2, 3, (n, k)).astype(float)
        kept, metadata = a, []
        if inst.sparse:
            a = thinned(rng, a, sparsity(inst))
            kept, words = mmacalc.pack_sparse(inst, a)
            metadata = [mmacalc.tensor_map(words.view(np.uint64), (1, 256))]
        given = [
            mapped(
                packed_rows(encode(matrix if side.along_k else matrix.T, inst.format(side.name), "nvidia"), side), side
            )
            for matrix, side in ((kept, plan.a), (b, plan.b))
        ]
        if inst.scaled:
            (a, for_a), (b, for_b) = (scaled(rng, plan, name, matrix) for name, matrix in (("A", a), ("B", b)))
            given += [for_a, for_b]
        form = inst.format("D")
        ldd = n + (16 - n % 16 if wide else 3)
        d = np.full((m, ldd), EMPTY & (1 << form.bits) - 1, f"u{form.bits // 8}")
        blocks = max(1, plan.blocks(m, n) // plan.group // fewer) * plan.group
        report = mmacalc.launch(
            kernel, blocks, plan.threads, *given, *metadata, d, m, n, k, ldd,
            shared=plan.shared, schedule=fewer if wide else None,
        )  # fmt: skip
        assert report.findings == ()
        assert np.array_equal(decode(d[:, :n], form), a @ b.T)
        assert (d[:, n:] == EMPTY & (1 << form.bits) - 1).all()


@sampled(("target", "name", "orders", "shape"), CASES, 2, first=1, whole=4)
def test_a_gemm_by_tensor_memory_is_right_with_edges(target, name, orders, shape, tmp_path):
    tried(target, name, orders, shape, tmp_path)


@sampled(("target", "name", "orders", "shape"), SCALED, 1, whole=2)
def test_a_gemm_of_blocks_with_scales_is_right_with_edges(target, name, orders, shape, tmp_path):
    tried(target, name, orders, shape, tmp_path)


@sampled(("target", "name", "orders", "shape"), SPARSE, 2, whole=4)
def test_a_gemm_of_a_compressed_a_is_right_with_edges(target, name, orders, shape, tmp_path):
    tried(target, name, orders, shape, tmp_path)


@pytest.mark.parametrize(("kind", "types"), [("f16", {}), ("tf32", {}), ("i8", {}), ("f8f6f4", {"a": "e2m1"}),
                                             ("mxf4.block_scale.block32", {})])  # fmt: skip
@pytest.mark.parametrize("name", [SP_ONE, SP_TWO])
def test_metadata_lie_as_their_copy_to_tensor_memory_takes_them(name, kind, types):
    """Against closed forms: four columns of 128 lanes in a piece, and what is kept of each group of k in four bits."""
    inst = mmacalc.instruction("sm_100a", f"{name}{kind}")
    inst, rng = inst.shaped(m=inst.m, n=128, **types), np.random.default_rng(0)
    shape, bits = sparsity(inst), inst.format("A").bits
    dense = thinned(rng, rng.integers(1, 4, (300, 1024)).astype(float), shape)
    _, words = mmacalc.pack_sparse(inst, dense)
    pieces = words.reshape(len(words), -1, 128, 4)
    each = shape.period // 4 or 1  # k of a position: a pair of e2m1 in mxf4
    for i, first in zip(rng.integers(0, 300, 200), rng.integers(0, 1024 // shape.period, 200) * shape.period):
        tile, row = divmod(int(i), inst.m)
        step, k = divmod(int(first), inst.k)
        pair, selector = divmod(step, inst.index_sets())
        ((cta, lane, column, lsb, _),) = metadata(inst.form, inst.m, inst.k, row, k, bits, selector)
        column += pair * inst.operand("K").registers
        held = int(pieces[tile * inst.form.cta_group + cta, column // 4, lane, column % 4]) >> lsb & 15
        kept = [at // each for at in np.flatnonzero(dense[i, first : first + shape.period])[::each]]
        assert held == (kept[0] + 4 * kept[1] if shape.period > 2 else [0b0100, 0b1110][kept[0]])


def test_scales_lie_as_their_copy_to_tensor_memory_takes_them():
    """Against the layout of SA in Tensor Memory: lane, column and byte of each row and block of k."""
    inst = mmacalc.instruction("sm_100a", f"{ONE}mxf4nvf4.block_scale.block16").shaped(m=128, n=128)
    scales = np.random.default_rng(0).integers(0, 256, (128, 8)).astype(np.uint8)
    tiles = mmacalc.pack_scales(scales).reshape(2, 32, 4, 4)  # along k: 32 lanes of four columns of four bytes
    operand = inst.operand("SA")
    for i in range(128):
        for block in range(4):
            place = operand.locate(i=i, k=16 * block)[0]
            assert [tiles[word, place.lane % 32, place.column, place.lsb // 8] for word in range(2)] == [
                scales[i, block], scales[i, 4 + block]
            ]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "says"), [
    (f"{ONE}tf32", {"order_b": "row"}, "kind::tf32 takes A and B with neighbours along k .* other order of B"),
    (f"{ONE}mxf4.block_scale.block32", {"order_a": "col"}, "takes A and B with neighbours along k in memory: use"),
    (f"{ONE}mxf8f6f4.block_scale.block32", {"n": 64}, "M = 128 and N = 128 or 256; got M = 128, N = 64"),
    (f"{SP_ONE}f16", {"n": 64, "b": "f16", "m": 64}, "the metadata of M = 64 .* is known for 128 rows per CTA"),
    (f"{SP_ONE}f16", {"block_scales": "1x128,128x128"}, "is sparse"),
    (f"{WS}.sp.cta_group::1.kind::f16", {"n": 64, "b": "f16", "m": 64}, "M = 64 is known .* generated with M = 128"),
    (f"{ONE}f16", {"stages": 9}, "stages of .* are 2 to 4"),
    (f"{ONE}i8", {"n": 8, "order_b": "row"}, "B of .* has 8 bytes in a row of memory"),
    (f"{ONE}f16", {"tile": "128x128x64"}, "the shape of tcgen05.mma is its tile: give m and n"),
    (f"{ONE}f8f6f4", {"b": "e2m1", "n": 64, "order_b": "row"}, "64 elements of 4 bits in a row of memory, .* 128 at a"),
    ("tcgen05.ld.sync.aligned.32x32b.x4.b32", {}, "multiplies nothing"),
])  # fmt: skip
def test_what_no_gemm_is_generated_for_is_refused(name, options, says):
    inst = mmacalc.instruction("sm_100a", name)
    inst = inst.shaped(b=options.pop("b"), n=options.pop("n"), m=options.pop("m", None)) if "b" in options else inst
    with pytest.raises(Error, match=says):
        mmacalc.generate(inst, gemm="64x64x64", **options)


def test_a_kernel_without_gemm_is_refused_with_what_is_right():
    with pytest.raises(Error, match="give gemm"):
        mmacalc.generate(mmacalc.instruction("sm_100a", f"{ONE}f16"))
