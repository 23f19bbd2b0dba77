"""RDNA4: Radeon RX 9000 (gfx1200, gfx1201); and gfx1170 to gfx1172, which have its matrix instructions.

Lines: (name, opcode, cycles, VALU co-execution cycles[, "features"]); see `mmacalc.catalog`.
Source: AMD's Matrix Instruction Calculator 1.3.2; opcodes and register counts also LLVM 22.1.8.
AMD's hip-fpsan compares the SWMMAC layouts with gfx1201 silicon, in wave32 and wave64.
"""

COMMON: dict[str, object] = {
    "vendor": "amd",
    "layout": "wmma-rdna4",
    "assembly": "rdna4", "hazards": "gfx12",
    "waves": (32, 64),
    "encoding": "VOP3P",
    "register_alignment": 4,
    "accumulators": "none",
    "unit": "WGP",
    "builtins": "gfx12",
    "lds_bytes": 65536,
}

ARCHITECTURES: tuple[dict[str, object], ...] = (
    {
        "name": "rdna4",
        "title": "RDNA4",
        "amd_calculator": True,
        "arithmetic": "rdna4",
        "aliases": ("gfx1200", "gfx1201", "gfx12-generic"),
        "series": ("rx 9***", "rx 9***m", "rx 9***s"),
        "targets": ("gfx1200", "gfx1201"),
        # Which lanes LDS serves together: (access, bytes, banks, lanes, how sure, source). Measured on an RX 9070 XT.
        "lds_phases": (
            ("read", 4, 32, "0-31", "hardware-verified", "amd-shark-ai efa471ae, docs/empirical-lds (RX 9070 XT)"),
            ("read", 8, 32, "0-15", "hardware-verified", "amd-shark-ai efa471ae, docs/empirical-lds (RX 9070 XT)"),
            ("read", 16, 32, "0-7", "hardware-verified", "amd-shark-ai efa471ae, docs/empirical-lds (RX 9070 XT)"),
            ("write", 4, 32, "0-31", "unconfirmed", ""),
            ("write", 8, 32, "0-15", "unconfirmed", ""),
            ("write", 16, 32, "0-7", "unconfirmed", ""),
        ),
        "rocwmma": ("gfx1200", "gfx1201"),
        # Compute units (two in a WGP) and boost clock in GHz, memory bandwidth in GB/s: AMD's product pages, whose FP16 peaks (195 TFLOPS of the
        # RX 9070 XT) these reproduce; units and targets also the ROCm documentation (AMD GPU specifications). Bandwidths of
        # the RX 9000 are repeated by svethardware.cz; what no page was found for is "assumed".
        "memory_source": "AMD's product pages",
        "products": (
            ("RX 9070 XT", 64, 2.97, 640, {"target": "gfx1201", "aliases": ("navi48",)}),
            ("RX 9070", 56, 2.52, 640, {"target": "gfx1201"}),
            ("RX 9070 GRE", 48, 2.79, 432, {"target": "gfx1201"}),
            ("AI PRO R9700", 64, 2.92, 640, {"memory_note": "assumed", "target": "gfx1201", "aliases": ("r9700", "pro r9700", "r9700s")}),
            ("AI PRO R9600D", 48, None, {"target": "gfx1201", "aliases": ("r9600d", "r9600")}),
            ("RX 9060 XT", 32, 3.13, 320, {"target": "gfx1200", "aliases": ("navi44",)}),
            ("RX 9060", 28, 2.99, {"target": "gfx1200"}),
        ),
        # hip-fpsan's tests swmmac_gfx12_*_test.cpp, and AMD's integer tests of rocjitsu's corpus (int_isa_rdna4_*).
        "layouts_on_hardware": {"sparse": ("f16", "bf16", "e4m3", "e5m2", "iu8", "iu4")},
    },
    # LLVM's pull requests 180185, 180731 and 187735. Nothing but the encodings is published: the layouts, cycles and wait
    # states shown are RDNA4's, and the arithmetic is unpublished.
    {
        "name": "gfx1170", "title": "GFX1170", "aliases": ("gfx1171", "gfx1172"),
        "targets": ("gfx1170", "gfx1171", "gfx1172"),
        "since_llvm": {"gfx1170": 24, "gfx1171": 24, "gfx1172": 24},
        "assumed": ("cycles", "valu_cycles", "A", "B", "C", "D", "K"),
    },
)

WITHOUT_MATRIX_INSTRUCTIONS = {"gfx1310": "LLVM 24 assembles no WMMA and no SWMMAC for GFX13"}

INSTRUCTIONS = (
    ("v_wmma_f32_16x16x16_f16", 0x40, 16, None, "neg"),
    ("v_wmma_f32_16x16x16_bf16", 0x41, 16, None, "neg"),
    ("v_wmma_f16_16x16x16_f16", 0x42, 16, None, "neg"),
    ("v_wmma_bf16_16x16x16_bf16", 0x43, 16, None, "neg"),
    ("v_wmma_i32_16x16x16_iu8", 0x44, 8, None, "neg"),
    ("v_wmma_i32_16x16x16_iu4", 0x45, 8, None, "neg"),
    ("v_wmma_i32_16x16x32_iu4", 0x4a, 8, None, "neg"),
    ("v_wmma_f32_16x16x16_fp8_fp8", 0x46, 8, None, "neg_c"),
    ("v_wmma_f32_16x16x16_fp8_bf8", 0x47, 8, None, "neg_c"),
    ("v_wmma_f32_16x16x16_bf8_fp8", 0x48, 8, None, "neg_c"),
    ("v_wmma_f32_16x16x16_bf8_bf8", 0x49, 8, None, "neg_c"),
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

# Loads that transpose: (name, opcode of VGLOBAL, element bits, registers, provenance of the element each lane receives,
# and which its address fetches, {more}), in wave32. Opcodes: LLVM 24.0.0git. That of 16 bits was measured on gfx1201.
TRANSPOSE_LOADS: tuple[tuple[object, ...], ...] = (
    ("global_load_tr_b64", 0x58, 8, 2, "unconfirmed", "unconfirmed", {
        "on": ("rdna4",), "lanes": 0, "memory": "global",
        "caveat": "no public source says which lane receives which element of 8 bits",
    }),
    ("global_load_tr_b128", 0x57, 16, 4, "hardware-verified", "hardware-verified", {
        "on": ("rdna4",), "lanes": 8, "memory": "global",
        "caveat": "measured on gfx1201 in wave32 by one author, not by us; wave64 fills two registers, unmeasured",
    }),
)

# See `mmacalc.chaining.conversions`. Source: LLVM 22.1.8.
VECTOR_INSTRUCTIONS = {
    "v_mov_b32_dpp row_xmask": 16, "v_permlane16_b32": 16, "v_permlanex16_b32": 32, "v_permlane64_b32": 64,
    "ds_bpermute_b32": 64, "ds_store_b32": 1, "v_cvt_pk_fp8_f32": 1, "v_cvt_pk_bf8_f32": 1,
}
