"""Kernels with two mistakes at once, with an accumulator of rubbish, and with what may follow a product; as MISTAKES of
`mistaken_kernels`: what goes wrong, the instruction, the kernel, and what the diagnosis must say first."""

from __future__ import annotations

import math

import numpy as np

from kernels_by_hand import (
    AMPERE,
    CDNA3,
    CDNA3_FP8,
    CDNA3_I8,
    CDNA4,
    CDNA4_SCALED,
    HOPPER,
    RDNA4,
    as_codes_of,
    bf16,
    each_transposed,
    gelu,
    memory,
    scales,
    tiles,
    with_values,
)  # fmt: skip

TF32 = ("sm_80", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")


def f16(d):
    return d.astype(np.float16).astype(np.float32)


def relu(d):
    return np.maximum(d, 0)


def normal(k, *shape):
    return k.rng.standard_normal(shape).astype(np.float32)


def in_register(number, values):
    """A change of a register file: one register holds something else."""

    def change(file):
        return np.where(np.arange(len(file))[:, None] == number, np.asarray(values, np.uint32), file)

    return change


def softmax(d):
    grown = np.exp(d - d.max(axis=1, keepdims=True))
    return grown / grown.sum(axis=1, keepdims=True)


AT_ONCE = [
    # --- two mistakes
    ("D transposed, C missing", *CDNA3, lambda k: k.multiply(c=0).T, "C is not added.*tile is transposed"),
    ("D transposed and relu", *RDNA4, lambda k: relu(k.d.T), "tile is transposed.*relu was applied"),
    ("D transposed and f16", *CDNA3, lambda k: f16(k.d.T), "tile is transposed.*rounded to f16"),
    (
        "D transposed, last rows not stored",
        *CDNA3,
        lambda k: with_values(k.d.T, np.s_[12:], 0),
        "tile is transposed.*zero in rows 12-15",
    ),
    ("B transposed, C missing", *CDNA3, lambda k: k.multiply(b=k.b.T, c=0), "B is transposed.*C is not added"),
    (
        "B transposed, C missing, other sums",
        *CDNA3,
        lambda k: k.approximately(b=k.b.T, c=0 * k.c),
        "B is transposed.*C is",
    ),
    ("A and B transposed", *CDNA3, lambda k: k.multiply(a=k.a.T, b=k.b.T), "A and B alike: each is transposed"),
    ("B and D transposed", *CDNA3, lambda k: k.multiply(b=k.b.T).T, "B is transposed.*tile is transposed"),
    ("B transposed, alpha", *CDNA3, lambda k: k.multiply(b=k.b.T) * np.float32(0.125), r"B is transposed.*0\.125"),
    (
        "B transposed, last rows not stored",
        *CDNA3,
        lambda k: with_values(k.multiply(b=k.b.T), np.s_[12:], 0),
        "B is transposed.*zero in rows 12-15",
    ),
    (
        "A column-major, C missing",
        *CDNA4,
        lambda k: k.approximately(a=np.resize(k.a.T.ravel(), k.a.shape), c=0 * k.c),
        "A is read .*C is not added",
    ),
    (
        ".trans too many, C missing",
        *AMPERE,
        lambda k: k.multiply(b=tiles(k.b, 8, 8, each_transposed), c=0),
        r"B .*\.trans.*C is not added",
    ),
    (
        ".trans too many for A and B",
        *AMPERE,
        lambda k: k.multiply(a=tiles(k.a, 8, 8, each_transposed), b=tiles(k.b, 8, 8, each_transposed)),
        r"A and B alike.*\.trans",
    ),
    (
        "lda one too many, C missing",
        *CDNA3,
        lambda k: k.multiply(a=memory(k.a, 17, (16, 16)), c=0),
        r"A .*by \+1.*C is",
    ),
    (
        "lda and ldb one too many",
        *CDNA3,
        lambda k: k.multiply(a=memory(k.a, 17, (16, 16)), b=memory(k.b, 17, (16, 16))),
        r"A and B alike: .*leading dimension off by \+1",
    ),
    (
        "A one lane off, C missing",
        *CDNA3,
        lambda k: k.issue(A=lambda f: np.roll(f, -1, 1), C=np.zeros_like),
        r"A is one lane off.*C is not added|A .*row.*C is",
    ),
    (
        "OCP fp8 on gfx942, C missing",
        *CDNA3_FP8,
        lambda k: k.multiply(a=as_codes_of(k.a, "e4m3", "e4m3fnuz"), b=as_codes_of(k.b, "e4m3", "e4m3fnuz"), c=0),
        "A and B hold OCP fp8.*C is not added",
    ),
    ("C missing and relu", *AMPERE, lambda k: relu(k.multiply(c=0)), "C is not added.*relu was applied"),
    ("C missing and gelu", *HOPPER, lambda k: gelu(k.multiply(c=0)).astype(np.float32), "C is not added.*gelu"),
    ("C missing and bf16", *CDNA3, lambda k: bf16(k.multiply(c=0)), "C is not added.*rounded to bf16"),
    ("alpha, C missing", *AMPERE, lambda k: k.multiply(c=0) * np.float32(0.5), r"scaled by 0\.5, and C is not added"),
    ("alpha and relu", *CDNA3, lambda k: relu(k.d * np.float32(0.5)), r"scaled by 0\.5, and relu"),
    ("alpha and bf16", *CDNA3, lambda k: bf16(k.d * np.float32(0.125)), r"0\.125.*rounded to bf16"),
    ("bias and relu", *AMPERE, lambda k: relu(k.d + normal(k, 8)), "number for each column.*relu"),
    ("relu and bf16", *CDNA4, lambda k: bf16(relu(k.d)), "relu was applied.*rounded to bf16"),
    (
        "scale_a missing, D transposed",
        *CDNA4_SCALED,
        lambda k: scales(k, scale_a=lambda s: np.full_like(s, 127)).T,
        "scale_a is not applied.*tile is transposed",
    ),
    (
        "A swizzled, last half of k missing",
        *CDNA3,
        lambda k: k.multiply(
            a=k.a[np.arange(16)[:, None], np.arange(16) ^ (np.arange(16)[:, None] & 7)] * (np.arange(16) < 8)
        ),
        "only the first half of k.*A .*(swizzle|column)|A .*(swizzle|column).*only the first half of k",
    ),
    # --- rubbish in the accumulator
    (
        "a register of rubbish",
        *CDNA3,
        lambda k: k.issue(C=in_register(2, normal(k, 64).view(np.uint32))),
        "other values in rows 2 6",
    ),
    (
        "half of the wave not initialised",
        *CDNA3,
        lambda k: k.issue(C=lambda f: np.where(np.arange(64) < 32, f, normal(k, 4, 64).view(np.uint32))),
        "other values in (rows 8-15|lanes 32)",
    ),
    (
        "a huge number in a register",
        *CDNA3,
        lambda k: k.issue(C=in_register(1, 0x7149F2CA)),
        r"1\.0.*e\+30 throughout rows 1 5",
    ),
    (
        "NaN in every register",
        *AMPERE,
        lambda k: k.issue(C=lambda f: np.full_like(f, 0x7FC00000)),
        "NaN in every element.*not initialised",
    ),
    ("whole numbers' bits", *CDNA3, lambda k: k.issue(C=lambda f: np.full_like(f, 7)), "C is not added"),
    # --- what follows a product, and what comes before
    ("nothing stored", *CDNA3, lambda k: 0 * k.d, "D is zero in every element"),
    ("a causal mask", *CDNA3, lambda k: np.tril(k.d), "zero in the elements above the diagonal"),
    ("clipped", *CDNA3, lambda k: np.clip(k.d, -1, 1), "clipped below -1 and above 1"),
    ("softmax", *CDNA3, lambda k: softmax(k.d), "softmax was applied to each row"),
    ("tanh", *RDNA4, lambda k: np.tanh(k.d), "tanh was applied"),
    (
        "gelu by tanh",
        *AMPERE,
        lambda k: 0.5 * k.d * (1 + np.tanh(math.sqrt(2 / math.pi) * (k.d + 0.044715 * k.d**3))),
        "gelu .tanh.",
    ),
    ("zero point of A", *CDNA3_I8, lambda k: k.multiply(a=k.a.astype(int) % 256 - 128), "integers of A are off by 128"),
    ("A was fp8 before", *CDNA3, lambda k: k.multiply(a=as_codes_of(k.a, "e4m3", "e4m3")), "A was rounded to OCP fp8"),
    (
        "A and B were bf16 before",
        *CDNA3,
        lambda k: k.multiply(a=bf16(np.asarray(k.a, np.float32)), b=bf16(np.asarray(k.b, np.float32))),
        "A and B were rounded to bf16",
    ),
    (
        "A was bf16 before tf32",
        *TF32,
        lambda k: k.multiply(a=bf16(np.asarray(k.a, np.float32))),
        "A was rounded to bf16",
    ),
]
