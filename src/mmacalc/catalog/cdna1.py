"""CDNA1: the AMD Instinct MI100 (gfx908).

Lines: (name, opcode, (M, N, K, blocks), (A, B, C, D), cycles, VALU co-execution cycles, "features").
Source: AMD's Matrix Instruction Calculator 1.3.2; opcodes, register counts and aliases also LLVM 22.1.8.
"""

ARCHITECTURES = (
    {
        "name": "cdna1",
        "title": "CDNA1",
        "vendor": "amd",
        "layout": "mfma",
        "waves": (64,),
        "aliases": ("cdna", "gfx908", "arcturus", "mi100"),
        "targets": ("gfx908",),
        "encoding": "VOP3P-MAI",
        "register_alignment": 4,
        "accumulators": "required",
        "unit": "CU",
        # The MI100, whose published peaks the cycle counts reproduce (184.6 TFLOPS of FP16).
        "compute_units": 120,
        "clock_ghz": 1.502,
        # Operations per clock and CU of the vector unit: AMD lab notes, "AMD matrix cores".
        "vector_flops": {"f64": 64, "f32": 128},
    },
)

INSTRUCTIONS = (
    ("v_mfma_f32_32x32x1f32", 0x40, (32, 32, 1, 2), ("f32", "f32", "f32", "f32"), 64, 56, "cbsz blgp"),
    ("v_mfma_f32_16x16x1f32", 0x41, (16, 16, 1, 4), ("f32", "f32", "f32", "f32"), 32, 24, "cbsz blgp"),
    ("v_mfma_f32_4x4x1f32", 0x42, (4, 4, 1, 16), ("f32", "f32", "f32", "f32"), 8, None, "cbsz blgp"),
    ("v_mfma_f32_32x32x2f32", 0x44, (32, 32, 2, 1), ("f32", "f32", "f32", "f32"), 64, 56, "blgp"),
    ("v_mfma_f32_16x16x4f32", 0x45, (16, 16, 4, 1), ("f32", "f32", "f32", "f32"), 32, 24, "blgp"),
    ("v_mfma_f32_32x32x4f16", 0x48, (32, 32, 4, 2), ("f16", "f16", "f32", "f32"), 64, 56, "cbsz blgp"),
    ("v_mfma_f32_16x16x4f16", 0x49, (16, 16, 4, 4), ("f16", "f16", "f32", "f32"), 32, 24, "cbsz blgp"),
    ("v_mfma_f32_4x4x4f16", 0x4a, (4, 4, 4, 16), ("f16", "f16", "f32", "f32"), 8, None, "cbsz blgp"),
    ("v_mfma_f32_32x32x8f16", 0x4c, (32, 32, 8, 1), ("f16", "f16", "f32", "f32"), 64, 56, "blgp"),
    ("v_mfma_f32_16x16x16f16", 0x4d, (16, 16, 16, 1), ("f16", "f16", "f32", "f32"), 32, 24, "blgp"),
    ("v_mfma_i32_32x32x4i8", 0x50, (32, 32, 4, 2), ("i8", "i8", "i32", "i32"), 64, 56, "cbsz blgp"),
    ("v_mfma_i32_16x16x4i8", 0x51, (16, 16, 4, 4), ("i8", "i8", "i32", "i32"), 32, 24, "cbsz blgp"),
    ("v_mfma_i32_4x4x4i8", 0x52, (4, 4, 4, 16), ("i8", "i8", "i32", "i32"), 8, None, "cbsz blgp"),
    ("v_mfma_i32_32x32x8i8", 0x54, (32, 32, 8, 1), ("i8", "i8", "i32", "i32"), 64, 56, "blgp"),
    ("v_mfma_i32_16x16x16i8", 0x55, (16, 16, 16, 1), ("i8", "i8", "i32", "i32"), 32, 24, "blgp"),
    ("v_mfma_f32_32x32x2bf16", 0x68, (32, 32, 2, 2), ("bf16", "bf16", "f32", "f32"), 64, 56, "cbsz blgp"),
    ("v_mfma_f32_16x16x2bf16", 0x69, (16, 16, 2, 4), ("bf16", "bf16", "f32", "f32"), 32, 24, "cbsz blgp"),
    ("v_mfma_f32_4x4x2bf16", 0x6b, (4, 4, 2, 16), ("bf16", "bf16", "f32", "f32"), 8, None, "cbsz blgp"),
    ("v_mfma_f32_32x32x4bf16", 0x6c, (32, 32, 4, 1), ("bf16", "bf16", "f32", "f32"), 64, 56, "blgp"),
    ("v_mfma_f32_16x16x8bf16", 0x6d, (16, 16, 8, 1), ("bf16", "bf16", "f32", "f32"), 32, 24, "blgp"),
)
