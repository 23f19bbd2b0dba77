"""Kernels with one mistake each: what goes wrong, the instruction, the kernel, and what the diagnosis must say first.

The last is a regular expression. Where the numbers cannot tell two mistakes apart (k of A in another order, or k of B
in the reverse one), it allows both.
"""

from __future__ import annotations

import math

import numpy as np

import mmacalc
from kernels_by_hand import (
    AMPERE,
    AMPERE_I8,
    AMPERE_SMALL,
    AMPERE_SPARSE,
    BLACKWELL,
    CDNA3,
    CDNA3_32,
    CDNA3_BF16,
    CDNA3_BLOCKS,
    CDNA3_F64,
    CDNA3_FP8,
    CDNA3_I8,
    CDNA3_SPARSE,
    CDNA4,
    CDNA4_FP8,
    CDNA4_SCALED,
    CDNA5_SCALED,
    HOPPER,
    RDNA3,
    RDNA4,
    as_codes_of,
    bf16,
    bf16_cut,
    consecutive_rows,
    each_transposed,
    gelu,
    ldmatrix_trans_8bit,
    memory,
    one_for_all,
    other_wave,
    own_index,
    pairs_swapped,
    scales,
    silu,
    sparse,
    swapped_halves,
    tiles,
    with_values,
    zeroed,
)  # fmt: skip

BLACKWELL_NVFP4 = (
    "sm_120a", "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
)  # fmt: skip


def squared(codes):
    """Scales 2**e that are applied twice: codes e + 127."""
    return np.clip(2 * codes.astype(int) - 127, 0, 254).astype(np.uint8)


MISTAKES = [
    # --- D stored wrongly
    ("D stored transposed", *CDNA3, lambda k: k.d.T, "transposed"),
    ("D stored transposed, other rounding", *CDNA3_32, lambda k: k.approximately().T, "transposed"),
    ("D stored column by column", *AMPERE, lambda k: k.d.T.reshape(16, 8), "column by column"),
    ("rows of a 32x32 D taken as consecutive", *CDNA3_32, consecutive_rows, "D is read as|rows"),
    ("D's registers stored in reverse", *CDNA3, lambda k: k.stored(lambda f: f[::-1]), "D.*registers.*3 2 1 0|rows"),
    ("c1 and c2 exchanged", *AMPERE, lambda k: k.stored(lambda f: f[[0, 2, 1, 3]]), "D .*(registers|layout|as )"),
    ("D one lane off", *CDNA3, lambda k: k.stored(lambda f: np.roll(f, 1, 1)), "D .*lane"),
    (
        "halves of the wave exchanged in D",
        *RDNA3,
        lambda k: k.stored(lambda f: np.roll(f, 16, 1)),
        "D .*(lane|swapped)",
    ),
    (
        "last rows of D not stored",
        *CDNA3,
        lambda k: with_values(k.d, np.s_[12:], 0),
        "zero in rows 12-15|zero in lanes 48",
    ),
    ("upper columns of D not stored", *AMPERE, lambda k: with_values(k.d, np.s_[:, 4:], 0), "zero in columns 4-7"),
    ("D of wave32 stored by wave64's layout", *RDNA4, other_wave, "wave64|zero in rows 4-7 12-15"),
    (
        "a register of the accumulator overwritten",
        *CDNA3,
        lambda k: k.stored(
            lambda f: np.where(
                np.arange(4)[:, None] == 2, np.uint32(0x3F9A1234) + np.arange(64, dtype=np.uint32) * np.uint32(977), f
            )
        ),
        "D holds other values in .*2",
    ),
    (
        "rows of D in pairs exchanged, other rounding",
        *CDNA4,
        lambda k: k.approximately()[np.arange(16) ^ 1],
        "in pairs",
    ),
    ("rows of D in no order", *CDNA3, lambda k: k.d[np.random.default_rng(3).permutation(16)], "other places.*row"),
    (
        "columns of D in no order, other rounding",
        *CDNA3,
        lambda k: k.approximately()[:, np.random.default_rng(4).permutation(16)],
        "other places.*column",
    ),
    # --- what follows the product
    ("D rounded to f16", *CDNA3, lambda k: k.d.astype(np.float16).astype(np.float32), "rounded to f16"),
    ("D rounded to bf16", *AMPERE, lambda k: bf16(k.d), "rounded to bf16"),
    ("D cut to bf16", *RDNA4, lambda k: bf16_cut(k.d), "cut to bf16"),
    (
        "D rounded to f16, other sums",
        *HOPPER,
        lambda k: k.approximately().astype(np.float16).astype(np.float32),
        "rounded to f16",
    ),
    (
        "D rounded to f16 and transposed",
        *CDNA3,
        lambda k: k.d.T.astype(np.float16).astype(np.float32),
        "transposed.*rounded to f16",
    ),
    ("alpha = 0.125", *AMPERE, lambda k: k.d * np.float32(0.125), r"scaled by a constant: it is 0\.125"),
    (
        "alpha = 1/sqrt(96)",
        *CDNA3,
        lambda k: k.d * np.float32(1 / math.sqrt(96)),
        r"scaled by a constant: it is 0\.102",
    ),
    ("the product scaled, C not", *CDNA3_32, lambda k: k.approximately(a=k.a * 0.5), r"product is scaled by 0\.5"),
    ("beta forgotten", *RDNA3, lambda k: k.approximately(c=0.25 * k.c), r"C is added 0\.25 times"),
    ("minus D", *CDNA3, lambda k: -k.d, "opposite sign"),
    ("relu", *AMPERE, lambda k: np.maximum(k.d, 0), "relu was applied"),
    ("relu, other sums", *CDNA4, lambda k: np.maximum(k.approximately(), 0), "relu was applied"),
    ("gelu", *CDNA3, lambda k: gelu(k.d).astype(np.float32), "gelu"),
    ("silu", *HOPPER, lambda k: silu(k.d), "silu"),
    ("a bias by column", *AMPERE, lambda k: k.d + k.rng.standard_normal(8).astype(np.float32), "bias.*column"),
    ("a scale by row", *CDNA3, lambda k: k.d * k.rng.uniform(0.5, 2, (16, 1)).astype(np.float32), "each row .*scaled"),
    ("clipped to int8", *CDNA3_I8, lambda k: np.clip(k.d, -128, 127), "clipped to int8"),
    # --- the accumulator
    ("C missing", *CDNA3, lambda k: k.multiply(c=0), "C is not added"),
    ("C missing, other sums", *RDNA3, lambda k: k.approximately(c=0 * k.c), "C is not added"),
    ("C added twice", *AMPERE, lambda k: k.multiply(c=k.d - k.approximately(c=0) + k.c), "C is added twice"),
    ("C added again after the product", *CDNA3_I8, lambda k: k.d + k.c, "C is added twice"),
    ("the product twice: accumulator not reset", *CDNA3_32, lambda k: k.multiply(c=k.d), "product is added twice"),
    ("accumulator starts as 1", *CDNA3, lambda k: k.multiply(c=1.0), "accumulator is 1 in every element"),
    ("C subtracted", *CDNA4, lambda k: k.multiply(c=-k.c), "C is subtracted"),
    ("C transposed", *CDNA3, lambda k: k.multiply(c=k.c.T), "C is transposed"),
    (
        "C taken as a bias: its row 0 for all",
        *AMPERE,
        lambda k: k.multiply(c=np.broadcast_to(k.c[:1], k.c.shape)),
        "row 0 of C|C has one row",
    ),
    (
        "C's registers in the wrong order",
        *CDNA3,
        lambda k: k.issue(C=lambda f: f[[1, 0, 3, 2]]),
        "C .*(registers|rows)",
    ),
    # --- loads of A and B
    ("A and B exchanged", *CDNA3, lambda k: k.multiply(a=k.b.T, b=k.a.T), "A and B are swapped"),
    ("B A for A B", *CDNA3, lambda k: k.multiply(a=k.b, b=k.a), "A and B are swapped: D is B A"),
    ("B row-major for column-major", *CDNA3, lambda k: k.multiply(b=k.b.T), "B is transposed"),
    (
        "B row-major for column-major (K, N differ)",
        *AMPERE,
        lambda k: k.multiply(b=k.b.ravel().reshape(8, 16).T),
        "B is read column by column",
    ),
    (
        "A column-major for row-major",
        *CDNA3_32,
        lambda k: k.multiply(a=k.a.ravel().reshape(8, 32).T),
        "A is read column by column",
    ),
    (
        "ldmatrix .trans too many (B)",
        *AMPERE,
        lambda k: k.multiply(b=tiles(k.b, 8, 8, each_transposed)),
        r"B .*\.trans",
    ),
    (
        "ldmatrix .trans too many (A)",
        *AMPERE,
        lambda k: k.multiply(a=tiles(k.a, 8, 8, each_transposed)),
        r"A .*\.trans",
    ),
    (
        "ldmatrix .trans, other sums",
        *AMPERE,
        lambda k: k.approximately(b=tiles(k.b, 8, 8, each_transposed)),
        r"B .*\.trans",
    ),
    ("ldmatrix .trans of 8-bit elements", *AMPERE_I8, lambda k: k.multiply(a=ldmatrix_trans_8bit(k.a)), r"A .*\.trans"),
    (
        "ldmatrix .trans of a small tile",
        *AMPERE_SMALL,
        lambda k: k.multiply(a=tiles(k.a, 8, 8, each_transposed)),
        r"A .*\.trans",
    ),
    (
        "a1 and a2 exchanged",
        *AMPERE,
        lambda k: k.issue(A=lambda f: f[[0, 2, 1, 3]]),
        "A .*(registers|column-major|as )",
    ),
    (
        "b0 and b1 exchanged",
        *AMPERE,
        lambda k: k.issue(B=lambda f: f[::-1]),
        "k is not in the same order in A and B",
    ),
    (
        "lda one too many",
        *CDNA3,
        lambda k: k.multiply(a=memory(k.a, 17, (16, 16))),
        r"A .*leading dimension off by \+1",
    ),
    ("ldb one too few", *CDNA3_32, lambda k: k.multiply(b=memory(k.b, 31, (8, 32))), "B .*leading dimension off by -1"),
    ("ldb padded, not counted", *AMPERE, lambda k: k.multiply(b=memory(k.b, 16, (16, 8))), "B .*leading dimension"),
    ("lda is 0", *CDNA3, lambda k: k.multiply(a=np.broadcast_to(k.a[:1], k.a.shape)), "A has one row|every row"),
    ("row of A off by one", *CDNA3, lambda k: k.multiply(a=np.roll(k.a, -1, 0)), r"A is displaced by \+1 row"),
    (
        "k of A off by one, the last zero",
        *CDNA3,
        lambda k: k.multiply(a=np.pad(k.a[:, 1:], ((0, 0), (0, 1)))),
        r"A is displaced by \+1 column",
    ),
    (
        "pointer of B one element off",
        *RDNA3,
        lambda k: k.multiply(b=np.roll(k.b.ravel(), -1).reshape(16, 16)),
        r"B is read from an address \+1",
    ),
    (
        "swizzle not undone",
        *CDNA3,
        lambda k: k.multiply(a=np.stack([k.a[i, np.arange(16) ^ ((i % 4) * 4)] for i in range(16)])),
        "A is swizzled",
    ),
    ("rows of A in pairs", *CDNA3, lambda k: k.multiply(a=k.a[np.arange(16) ^ 1]), "A .*in pairs"),
    (
        "rows of A in no order",
        *RDNA4,
        lambda k: k.multiply(a=k.a[np.random.default_rng(5).permutation(16)]),
        "rows of A",
    ),
    (
        "columns of B in no order",
        *CDNA4,
        lambda k: k.multiply(b=k.b[:, np.random.default_rng(6).permutation(16)]),
        "columns of B|D .*columns|columns come",
    ),
    (
        "k of A in no order",
        *CDNA3,
        lambda k: k.multiply(a=k.a[:, np.random.default_rng(7).permutation(16)]),
        "k is not in the same order in A and B|k of (A|B)|k come from",
    ),
    (
        "k of A in no order, other sums",
        *CDNA3,
        lambda k: k.approximately(a=k.a[:, np.random.default_rng(7).permutation(16)]),
        "k is not in the same order in A and B|k of (A|B)|k come from",
    ),
    # --- registers of A and B
    ("A one lane off", *CDNA3, lambda k: k.issue(A=lambda f: np.roll(f, -1, 1)), "A .*(one lane off|row)"),
    ("B one lane off", *CDNA3, lambda k: k.issue(B=lambda f: np.roll(f, -1, 1)), "B .*(one lane off|column)"),
    ("groups of lanes exchanged in A", *CDNA3, lambda k: k.issue(A=lambda f: np.roll(f, 16, 1)), "A .*(lanes|column)"),
    (
        "registers of A in reverse",
        *CDNA3,
        lambda k: k.issue(A=lambda f: f[::-1]),
        "k is not in the same order in A and B",
    ),
    ("register 1 of A zero", *CDNA3, lambda k: k.issue(A=zeroed(1)), "A is zero in .*(register|columns)"),
    ("lane 17 of A zero", *CDNA3, lambda k: k.issue(A=zeroed(np.s_[:, 17])), "A is zero in lane 17"),
    (
        "upper half of the wave not loaded (B)",
        *CDNA3,
        lambda k: k.issue(B=zeroed(np.s_[:, 32:])),
        "B is zero in (lanes 32|rows 8)|half of k",
    ),
    (
        "16-bit halves exchanged",
        *CDNA3,
        lambda k: k.issue(B=swapped_halves),
        "B .*(16-bit halves|in pairs)|same order in A and B",
    ),
    (
        "bytes exchanged",
        *CDNA3_I8,
        lambda k: k.issue(A=lambda f: f.byteswap()),
        "k is not in the same order in A and B",
    ),
    (
        "registers of A exchanged, bf16",
        *RDNA4,
        lambda k: k.issue(A=lambda f: f[[1, 0, 3, 2]]),
        "k is not in the same order in A and B",
    ),
    (
        "garbage in lane 5 of A",
        *CDNA3,
        lambda k: k.issue(A=lambda f: np.where(np.arange(64) == 5, np.uint32(0x3C014105), f)),
        "A holds other values in (lane 5|.*lane)",
    ),
    (
        "RDNA3's copies of A and B on RDNA4",
        *RDNA4,
        lambda k: k.issue(A=lambda f: np.tile(f[:, :16], 2), B=lambda f: np.tile(f[:, :16], 2)),
        "A and B alike: .* same in every group of 16 lanes",
    ),
    (
        "RDNA3's copies of A on RDNA4",
        *RDNA4,
        lambda k: k.issue(A=lambda f: np.tile(f[:, :16], 2)),
        "A .*same in every group of 16 lanes|A .*",
    ),
    # --- k
    (
        "half of k only",
        *CDNA4,
        lambda k: k.multiply(a=np.where(np.arange(32) < 16, k.a, 0)),
        "first half of k|A is zero in columns 16",
    ),
    (
        "halves of k exchanged in B",
        *AMPERE,
        lambda k: k.multiply(b=np.roll(k.b, 8, 0)),
        "k is not in the same order in A and B",
    ),
    (
        "k of A interleaved",
        *CDNA4,
        lambda k: k.multiply(a=k.a.reshape(16, 2, 16).transpose(0, 2, 1).reshape(16, 32)),
        "k is not in the same order in A and B",
    ),
    ("k backwards", *CDNA3_F64, lambda k: k.multiply(a=k.a[:, ::-1]), "A .*reverse"),
    # --- formats
    (
        "bf16 codes read as f16",
        *CDNA3,
        lambda k: k.multiply(a=as_codes_of(k.a, "bf16", "f16"), b=as_codes_of(k.b, "bf16", "f16")),
        "bf16 codes.* read as f16",
    ),
    (
        "f16 codes read as bf16",
        *CDNA3_BF16,
        lambda k: k.multiply(b=as_codes_of(k.b, "f16", "bf16")),
        "B holds f16 codes",
    ),
    (
        "OCP fp8 on gfx942",
        *CDNA3_FP8,
        lambda k: k.multiply(a=as_codes_of(k.a, "e4m3", "e4m3fnuz"), b=as_codes_of(k.b, "e4m3", "e4m3fnuz")),
        "A and B hold OCP fp8.*half",
    ),
    (
        "FNUZ fp8 on gfx950",
        *CDNA4_FP8,
        lambda k: k.multiply(a=as_codes_of(k.a, "e4m3fnuz", "e4m3")),
        "A holds FNUZ fp8.*twice",
    ),
    (
        "bf8 for fp8",
        *CDNA4_FP8,
        lambda k: mmacalc.instruction("gfx950", "v_mfma_f32_16x16x32_bf8_bf8").multiply(
            as_codes_of(k.a, "e4m3", "e5m2"), as_codes_of(k.b, "e4m3", "e5m2"), k.c
        ),
        "bf8",
    ),
    (
        "unsigned for signed",
        "sm_80",
        AMPERE_I8[1],
        lambda k: mmacalc.instruction("sm_80", AMPERE_I8[1].replace("s8.s8", "u8.u8")).multiply(
            k.a & 255, k.b & 255, k.c
        ),
        "u8",
    ),
    ("CBSZ and ABID left over", *CDNA3_BLOCKS, lambda k: k.multiply(cbsz=2, abid=1), "CBSZ = 2, ABID = 1"),
    ("BLGP left over", *CDNA3_BLOCKS, lambda k: k.multiply(blgp=2), "BLGP = 2"),
    ("NEG left over", *RDNA4, lambda k: k.multiply(neg=4), "C is subtracted|NEG = 4"),
    ("blocks of A shifted", *CDNA3_BLOCKS, lambda k: k.multiply(a=np.roll(k.a, -1, 0)), "blocks of A are shifted by 1"),
    ("blocks of D in reverse", *CDNA3_BLOCKS, lambda k: k.d[::-1], "blocks of D are in reverse|blocks"),
    # --- sparse
    ("index zero", *CDNA3_SPARSE, lambda k: sparse(k, np.zeros_like), "index is zero"),
    (
        "index not read",
        *AMPERE_SPARSE,
        lambda k: sparse(k, lambda x: np.resize(np.array([0, 1], np.uint8), x.shape)),
        "positions 0 and 1",
    ),
    (
        "positions of each pair exchanged",
        *CDNA3_SPARSE,
        lambda k: sparse(k, pairs_swapped),
        "two positions of each group are swapped",
    ),
    (
        "index one group off",
        *AMPERE_SPARSE,
        lambda k: sparse(k, lambda x: np.roll(x, -2, 1)),
        "index .*(1 group|2 column)",
    ),
    (
        "index of the next row",
        *CDNA3_SPARSE,
        lambda k: sparse(k, lambda x: np.roll(x, -1, 0)),
        r"index is displaced by \+1 row",
    ),
    (
        "positions of each pair exchanged (mma.sp)",
        *AMPERE_SPARSE,
        lambda k: sparse(k, pairs_swapped),
        "two positions of each group are swapped",
    ),
    # --- scales
    ("no scales", *CDNA4_SCALED, lambda k: k.inst.multiply(k.a, k.b, k.c), "scales are not applied"),
    (
        "scale_b missing",
        *CDNA5_SCALED,
        lambda k: scales(k, scale_b=lambda s: np.full_like(s, 127)),
        "scale_b is not applied",
    ),
    (
        "scale_a one block off",
        *CDNA4_SCALED,
        lambda k: scales(k, scale_a=lambda s: np.roll(s, -1, 1)),
        r"scale_a is off by \+1 block",
    ),
    (
        "scale_a one row off",
        *BLACKWELL,
        lambda k: scales(k, scale_a=lambda s: np.roll(s, -1, 0)),
        r"scale_a is displaced by \+1 row",
    ),
    ("one scale for all", *CDNA5_SCALED, lambda k: scales(k, scale_a=one_for_all), "one scale byte for all"),
    (
        "scale of block 0 for every block",
        *CDNA4_SCALED,
        lambda k: scales(k, scale_b=lambda s: np.repeat(s[:1], s.shape[0], 0)),
        "one scale byte for all|every row is row 0",
    ),
    (
        "scales encoded one too high",
        *BLACKWELL,
        lambda k: scales(k, scale_b=lambda s: s + 1),
        "off by .1|product is added twice",
    ),
    (
        "scales of A and B exchanged",
        *CDNA4_SCALED,
        lambda k: scales(k, scale_a=lambda s: k.extra["scale_b"].T, scale_b=lambda s: k.extra["scale_a"].T),
        "scales of A and B are swapped",
    ),
    (
        "scales of A and B encoded one too high",
        *CDNA4_SCALED,
        lambda k: scales(k, scale_a=lambda s: s + 1, scale_b=lambda s: s + 1),
        r"codes of (scale_a and scale_b|both scales) are off by \+1",
    ),
    (
        "scale_a encoded one too high, fp8",
        *CDNA4_SCALED,
        lambda k: scales(k, scale_a=lambda s: s + 1),
        r"codes of scale_a are off by \+1",
    ),
    ("scales applied twice", *CDNA4_SCALED, lambda k: scales(k, scale_a=squared, scale_b=squared), "applied twice"),
    ("scale_a applied twice", *CDNA4_SCALED, lambda k: scales(k, scale_a=squared), "scale_a is applied twice"),
    (
        "scales of even blocks for both",
        *BLACKWELL_NVFP4,
        lambda k: scales(k, scale_a=lambda s: s[:, np.arange(s.shape[1]) & ~1]),
        "scale_a of the first of each 2 blocks",
    ),
    # --- what comes before the product, and between it and C
    ("signs of A lost", *CDNA3, lambda k: k.multiply(a=np.abs(k.a)), "signs of A are lost"),
    ("relu before C", *CDNA3, lambda k: np.maximum(k.multiply(c=0), 0) + k.c.astype(np.float32), "relu .*before C"),
    ("D in steps of 0.25", *CDNA3, lambda k: np.round(4 * k.d) / 4, r"multiples of 0\.25"),
    ("C was f16 before", *CDNA3, lambda k: k.multiply(c=k.c.astype(np.float16)), "C was rounded to f16"),
    ("f16 through bf16", *AMPERE, lambda k: k.multiply(a=bf16(k.a), b=bf16(k.b)), "A and B were rounded to bf16"),
    (
        "every second element of B",
        *CDNA3,
        lambda k: k.multiply(b=np.concatenate([k.b.ravel()[::2], np.zeros(k.b.size // 2)]).reshape(k.b.shape)),
        "B is read with a stride of 2 between elements",
    ),
    # --- sparse: metadata and values
    ("metadata one lane off", *AMPERE_SPARSE, lambda k: k.issue(K=lambda f: np.roll(f, -1, 1)), "index .*lane"),
    ("the other half-word", *CDNA3_SPARSE, lambda k: k.issue(K=lambda f: f >> np.uint32(16)), "index"),
    (
        "values not compressed",
        *CDNA3_SPARSE,
        lambda k: k.inst.multiply(k.a[:, : k.a.shape[1] // 2], k.b, k.c, index=own_index(k)[1]),
        "A is not compressed",
    ),
]
