"""RDNA4: Radeon RX 9000 (gfx1200, gfx1201).

Lines: (name, opcode, cycles, VALU co-execution cycles[, "features"]); see `mmacalc.catalog`.
Source: AMD's Matrix Instruction Calculator 1.3.2; opcodes and register counts also LLVM 22.1.8.
AMD's hip-fpsan compares the SWMMAC layouts with gfx1201 silicon, in wave32 and wave64.
"""

ARCHITECTURES = (
    {
        "name": "rdna4",
        "title": "RDNA4",
        "vendor": "amd",
        "layout": "wmma-wave",
        "waves": (32, 64),
        "aliases": ("gfx1200", "gfx1201"),
        "targets": ("gfx1200", "gfx1201"),
        "encoding": "VOP3P",
        "register_alignment": 4,
        "accumulators": "none",
        "unit": "WGP",
        # The Radeon RX 9070 XT (two compute units in a WGP): 195 TFLOPS of FP16, as published.
        "compute_units": 64,
        "clock_ghz": 2.97,
        # hip-fpsan's tests swmmac_gfx12_*_test.cpp, and AMD's integer tests of rocjitsu's corpus (int_isa_rdna4_*).
        "layouts_on_hardware": {"sparse": ("f16", "bf16", "e4m3", "e5m2", "iu8", "iu4")},
    },
)

INSTRUCTIONS = (
    ("v_wmma_f32_16x16x16_f16", 0x40, 16, None, "neg"),
    ("v_wmma_f32_16x16x16_bf16", 0x41, 16, None, "neg"),
    ("v_wmma_f16_16x16x16_f16", 0x42, 16, None, "neg"),
    ("v_wmma_bf16_16x16x16_bf16", 0x43, 16, None, "neg"),
    ("v_wmma_i32_16x16x16_iu8", 0x44, 8, None, "neg"),
    ("v_wmma_i32_16x16x16_iu4", 0x45, 8, None, "neg"),
    ("v_wmma_i32_16x16x32_iu4", 0x4a, 8, None, "neg"),
    ("v_wmma_f32_16x16x16_fp8_fp8", 0x46, 8, None),
    ("v_wmma_f32_16x16x16_fp8_bf8", 0x47, 8, None),
    ("v_wmma_f32_16x16x16_bf8_fp8", 0x48, 8, None),
    ("v_wmma_f32_16x16x16_bf8_bf8", 0x49, 8, None),
    ("v_swmmac_f32_16x16x32_f16", 0x50, 16, None, "neg"),
    ("v_swmmac_f32_16x16x32_bf16", 0x51, 16, None, "neg"),
    ("v_swmmac_f16_16x16x32_f16", 0x52, 16, None, "neg"),
    ("v_swmmac_bf16_16x16x32_bf16", 0x53, 16, None, "neg"),
    ("v_swmmac_i32_16x16x32_iu8", 0x54, 8, None, "neg"),
    ("v_swmmac_i32_16x16x32_iu4", 0x55, 8, None, "neg"),
    ("v_swmmac_i32_16x16x64_iu4", 0x56, 8, None, "neg"),
    ("v_swmmac_f32_16x16x32_fp8_fp8", 0x57, 8, None),
    ("v_swmmac_f32_16x16x32_fp8_bf8", 0x58, 8, None),
    ("v_swmmac_f32_16x16x32_bf8_fp8", 0x59, 8, None),
    ("v_swmmac_f32_16x16x32_bf8_bf8", 0x5a, 8, None),
)
