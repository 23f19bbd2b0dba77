"""RDNA3 and RDNA3.5: Radeon RX 7000 and its integrated successors (gfx1100 to gfx1154).

Lines: (name, opcode, cycles, VALU co-execution cycles[, "features"]); see `mmacalc.catalog`.
Source: AMD's Matrix Instruction Calculator 1.3.2; opcodes and register counts also LLVM 22.1.8.
"""

ARCHITECTURES: tuple[dict[str, object], ...] = (
    {
        "name": "rdna3",
        "title": "RDNA3",
        "vendor": "amd",
        "amd_calculator": True,
        "layout": "wmma-rdna3",
        "arithmetic": "rdna3",
        "assembly": "rdna3", "hazards": "gfx11",
        # RDNA3.5. gfx1154, which LLVM 22 does not know, is taken to be like the others.
        "hazards_of": {
            "gfx1150": "gfx1150", "gfx1151": "gfx1150", "gfx1152": "gfx1150", "gfx1153": "gfx1150",
            "gfx1154": "gfx1150",
        },
        "since_llvm": {"gfx1154": 24},
        "waves": (32, 64),
        "aliases": (
            "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153",
            "gfx1154", "gfx11-generic",
        ),  # fmt: skip
        "series": ("rx 7***", "rx 7***m", "rx 7***s"),
        "targets": ("gfx1100", "gfx1150", "gfx1151"),
        "encoding": "VOP3P",
        "register_alignment": 4,
        "accumulators": "none",
        "unit": "WGP",
        # Which lanes LDS serves together: (access, bytes, banks, lanes, how sure, source). Measured on a W7900.
        "lds_phases": (
            ("read", 4, 32, "0-31", "hardware-verified", "amd-shark-ai efa471ae, docs/empirical-lds (W7900)"),
            ("read", 8, 32, "0-15", "hardware-verified", "amd-shark-ai efa471ae, docs/empirical-lds (W7900)"),
            ("read", 16, 32, "0-3 20-23, 4-7 16-19, 8-11 28-31, 12-15 24-27", "hardware-verified", "amd-shark-ai efa471ae, docs/empirical-lds (W7900)"),
            ("write", 4, 32, "0-31", "unconfirmed", ""),
            ("write", 8, 32, "0-15", "unconfirmed", ""),
            ("write", 16, 32, "0-7", "unconfirmed", ""),
        ),
        "builtins": "gfx11",
        "lds_bytes": 65536,
        "rocwmma": ("gfx1100", "gfx1101", "gfx1102"),
        # Compute units (two in a WGP) and boost clock in GHz, memory bandwidth in GB/s: AMD's product pages, whose FP16 peaks (122.8 TFLOPS of the
        # RX 7900 XTX) these reproduce; units and targets also the ROCm documentation (AMD GPU specifications).
        "memory_source": "AMD's product pages",
        "products": (
            ("RX 7900 XTX", 96, 2.5, 960, {"target": "gfx1100", "aliases": ("navi31",)}),
            ("RX 7900 XT", 84, 2.4, 800, {"target": "gfx1100"}),
            ("RX 7900 GRE", 80, 2.245, 576, {"memory_note": "assumed", "target": "gfx1100"}),
            ("PRO W7900", 96, 2.495, 864, {"target": "gfx1100", "aliases": ("w7900", "w7900 dual slot")}),
            ("PRO W7800", 70, 2.525, 576, {"memory_note": "assumed", "target": "gfx1100", "aliases": ("w7800", "w7800 48gb")}),
            ("RX 7800 XT", 60, 2.43, 624, {"target": "gfx1101", "aliases": ("navi32",)}),
            ("RX 7700 XT", 54, 2.544, 432, {"target": "gfx1101"}),
            ("RX 7700", 40, None, {"target": "gfx1101"}),
            ("PRO W7700", 48, 2.3, 576, {"memory_note": "assumed", "target": "gfx1101", "aliases": ("w7700",)}),
            ("PRO V710", 54, 2.0, {"target": "gfx1101", "aliases": ("v710",)}),
            ("RX 7600", 32, 2.655, 288, {"target": "gfx1102", "aliases": ("navi33",)}),
            ("RX 7600 XT", 32, 2.755, 288, {"memory_note": "assumed", "target": "gfx1102"}),
            ("PRO W7600", 32, 2.43, 288, {"memory_note": "assumed", "target": "gfx1102", "aliases": ("w7600",)}),
            ("PRO W7500", 28, 1.7, 172, {"memory_note": "assumed", "target": "gfx1102", "aliases": ("w7500",)}),
            ("Radeon 780M (Phoenix)", 12, 2.7, {"target": "gfx1103", "aliases": ("780m", "phoenix", "hawk point")}),
            ("Radeon 890M (Strix Point)", 16, 2.9, {"target": "gfx1150", "aliases": ("890m", "strix", "strix point")}),
            ("Radeon 8060S (Strix Halo)", 40, 2.9, 256, {"memory_note": "assumed", "target": "gfx1151", "aliases": ("8060s", "strix halo")}),
            ("Radeon 8050S (Strix Halo)", 32, 2.8, 256, {"memory_note": "assumed", "target": "gfx1151", "aliases": ("8050s",)}),
            ("Radeon 860M (Krackan Point)", 8, 3.0, {"target": "gfx1152", "aliases": ("860m", "krackan", "krackan point")}),
        ),  # fmt: skip
    },
)

WITHOUT_MATRIX_INSTRUCTIONS = {
    "gfx10**": "WMMA begins with RDNA3", "gfx10-1-generic": "WMMA begins with RDNA3",
    "gfx10-3-generic": "WMMA begins with RDNA3", "rdna1": "WMMA begins with RDNA3", "rdna2": "WMMA begins with RDNA3",
    "rx 5***": "WMMA begins with RDNA3", "rx 6***": "WMMA begins with RDNA3",
}

INSTRUCTIONS = (
    ("v_wmma_f32_16x16x16_f16", 0x40, 32, None, "neg"),
    ("v_wmma_f32_16x16x16_bf16", 0x41, 32, None, "neg"),
    ("v_wmma_f16_16x16x16_f16", 0x42, 32, None, "opsel neg"),
    ("v_wmma_bf16_16x16x16_bf16", 0x43, 32, None, "opsel neg"),
    ("v_wmma_i32_16x16x16_iu8", 0x44, 32, None, "neg"),
    ("v_wmma_i32_16x16x16_iu4", 0x45, 16, None, "neg"),
)

# See `mmacalc.chaining.conversions`. Source: LLVM 22.1.8, also for the 32 lanes of ds_bpermute_b32 in a wave64
# (GCNSubtarget::supportsWaveWideBPermute).
VECTOR_INSTRUCTIONS = {
    "v_mov_b32_dpp row_xmask": 16, "v_permlane16_b32": 16, "v_permlanex16_b32": 32, "v_permlane64_b32": 64,
    "ds_bpermute_b32": 32, "ds_store_b32": 1,
}
