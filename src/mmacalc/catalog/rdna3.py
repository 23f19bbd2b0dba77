"""RDNA3 and RDNA3.5: Radeon RX 7000 and its integrated successors (gfx1100 to gfx1153).

Lines: (name, opcode, cycles, VALU co-execution cycles[, "features"]); see `mmacalc.catalog`.
Source: AMD's Matrix Instruction Calculator 1.3.2; opcodes and register counts also LLVM 22.1.8.
"""

ARCHITECTURES = (
    {
        "name": "rdna3",
        "title": "RDNA3",
        "vendor": "amd",
        "layout": "wmma-replicated",
        "waves": (32, 64),
        "aliases": (
            "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153",
        ),  # fmt: skip
        "targets": ("gfx1100", "gfx1150", "gfx1151"),
        "encoding": "VOP3P",
        "register_alignment": 4,
        "accumulators": "none",
        "unit": "WGP",
        # The Radeon RX 7900 XTX (two compute units in a WGP): 122.8 TFLOPS of FP16, as published.
        "compute_units": 96,
        "clock_ghz": 2.5,
    },
)

INSTRUCTIONS = (
    ("v_wmma_f32_16x16x16_f16", 0x40, 32, None, "neg"),
    ("v_wmma_f32_16x16x16_bf16", 0x41, 32, None, "neg"),
    ("v_wmma_f16_16x16x16_f16", 0x42, 32, None, "opsel neg"),
    ("v_wmma_bf16_16x16x16_bf16", 0x43, 32, None, "opsel neg"),
    ("v_wmma_i32_16x16x16_iu8", 0x44, 32, None, "neg"),
    ("v_wmma_i32_16x16x16_iu4", 0x45, 16, None, "neg"),
)
