"""CDNA3: the AMD Instinct MI300 series (gfx940, gfx941, gfx942).

Lines: (name, opcode, cycles, VALU co-execution cycles[, "features"]); see `mmacalc.catalog`.
Source: AMD's Matrix Instruction Calculator 1.3.2; opcodes, register counts and aliases also LLVM 22.1.8.
AMD's hip-fpsan compares the SMFMAC layouts with gfx942 silicon (docs/gfx94x-coverage-audit.md there). Its fp8 and bf8
are the FNUZ formats. Opcodes 0x55 to 0x57 of the i8 lines are LLVM's: AMD's tool prints 0x54.
"""

ARCHITECTURES: tuple[dict[str, object], ...] = (
    {
        "name": "cdna3",
        "title": "CDNA3",
        "vendor": "amd",
        "amd_calculator": True,
        "layout": "mfma",
        "arithmetic": "cdna3",
        "assembly": "cdna", "assembly_of": {22: "cdna-llvm22"}, "hazards": "gfx942",
        "waves": (64,),
        "aliases": ("gfx940", "gfx941", "gfx942", "gfx9-4-generic", "aqua_vanjaram"),
        "targets": ("gfx942",),
        "encoding": "VOP3P-MAI",
        "format_names": {"fp8": "e4m3fnuz", "bf8": "e5m2fnuz"},
        "register_alignment": 8,
        "accumulators": "allowed",
        "unit": "CU",
        # Which lanes LDS serves together: (access, bytes, banks, lanes, how sure, source). Measured on gfx942.
        "lds_phases": (
            ("read", 4, 32, "0-31", "hardware-verified", "amd-shark-ai efa471ae, docs/empirical-lds"),
            ("read", 8, 32, "0-15", "hardware-verified", "amd-shark-ai efa471ae, docs/empirical-lds"),
            ("read", 16, 32, "0-3 20-23, 4-7 16-19, 8-11 28-31, 12-15 24-27", "hardware-verified", "amd-shark-ai efa471ae, docs/empirical-lds; triton PR 11365"),
            ("write", 4, 32, "0-31", "unconfirmed", ""),
            ("write", 8, 32, "0-15", "unconfirmed", ""),
            ("write", 16, 32, "0-7", "one source", "amd-shark-ai, AMDGPU kernel optimization guide; Composable Kernel docs, LDS bank conflicts"),
        ),
        "builtins": "mfma",
        "lds_copies": (("global_load_lds_dword", 4),),
        "lds_bytes": 65536,
        "rocwmma": ("gfx942",),
        # Compute units and peak engine clock in GHz, memory bandwidth in GB/s: AMD's data sheets; of the MI308X the units are in IREE's table of
        # targets (KnownTargets.cpp), and no clock is published. The MI300A's bandwidth is also in hothardware.com.
        "memory_source": "AMD's data sheets",
        "products": (
            ("MI300X", 304, 2.1, 5300, {"aliases": ("mi300",)}), ("MI300A", 228, 2.1, 5300), ("MI325X", 304, 2.1, 6000),
            ("MI308X", 80, None),
        ),
        # hip-fpsan's tests smfmac_cdna3_test.cpp.
        "layouts_on_hardware": {"sparse": ("f16", "bf16", "e4m3fnuz", "e5m2fnuz")},
    },
)

INSTRUCTIONS = (
    ("v_mfma_f32_16x16x8_xf32", 0x3e, 16, 12),
    ("v_mfma_f32_32x32x4_xf32", 0x3f, 32, 28),
    ("v_mfma_f32_32x32x1_2b_f32", 0x40, 64, None, "blgp"),
    ("v_mfma_f32_16x16x1_4b_f32", 0x41, 32, None, "blgp"),
    ("v_mfma_f32_4x4x1_16b_f32", 0x42, 8, None, "blgp"),
    ("v_mfma_f32_32x32x2_f32", 0x44, 64, None, "blgp"),
    ("v_mfma_f32_16x16x4_f32", 0x45, 32, None, "blgp"),
    ("v_mfma_f32_32x32x4_2b_f16", 0x48, 64, 60, "blgp"),
    ("v_mfma_f32_16x16x4_4b_f16", 0x49, 32, 28, "blgp"),
    ("v_mfma_f32_4x4x4_16b_f16", 0x4a, 8, 4, "blgp"),
    ("v_mfma_f32_32x32x8_f16", 0x4c, 32, 28),
    ("v_mfma_f32_16x16x16_f16", 0x4d, 16, 12),
    ("v_mfma_i32_32x32x4_2b_i8", 0x50, 64, 60, "blgp"),
    ("v_mfma_i32_16x16x4_4b_i8", 0x51, 32, 28, "blgp"),
    ("v_mfma_i32_4x4x4_16b_i8", 0x52, 8, 4, "blgp"),
    ("v_mfma_i32_32x32x16_i8", 0x56, 32, 28),
    ("v_mfma_i32_16x16x32_i8", 0x57, 16, 12),
    ("v_mfma_f32_32x32x4_2b_bf16", 0x5d, 64, 60, "blgp"),
    ("v_mfma_f32_16x16x4_4b_bf16", 0x5e, 32, 28, "blgp"),
    ("v_mfma_f32_4x4x4_16b_bf16", 0x5f, 8, 4, "blgp"),
    ("v_mfma_f32_32x32x8_bf16", 0x60, 32, 28),
    ("v_mfma_f32_16x16x16_bf16", 0x61, 16, 12),
    ("v_smfmac_f32_16x16x32_f16", 0x62, 16, 8),
    ("v_smfmac_f32_32x32x16_f16", 0x64, 32, 24),
    ("v_smfmac_f32_16x16x32_bf16", 0x66, 16, 8),
    ("v_smfmac_f32_32x32x16_bf16", 0x68, 32, 24),
    ("v_smfmac_i32_16x16x64_i8", 0x6a, 16, 8),
    ("v_smfmac_i32_32x32x32_i8", 0x6c, 32, 24),
    ("v_mfma_f64_16x16x4_f64", 0x6e, 32, None, "blgp"),
    ("v_mfma_f64_4x4x4_4b_f64", 0x6f, 16, None, "blgp"),
    ("v_mfma_f32_16x16x32_bf8_bf8", 0x70, 16, 12),
    ("v_mfma_f32_16x16x32_bf8_fp8", 0x71, 16, 12),
    ("v_mfma_f32_16x16x32_fp8_bf8", 0x72, 16, 12),
    ("v_mfma_f32_16x16x32_fp8_fp8", 0x73, 16, 12),
    ("v_mfma_f32_32x32x16_bf8_bf8", 0x74, 32, 28),
    ("v_mfma_f32_32x32x16_bf8_fp8", 0x75, 32, 28),
    ("v_mfma_f32_32x32x16_fp8_bf8", 0x76, 32, 28),
    ("v_mfma_f32_32x32x16_fp8_fp8", 0x77, 32, 28),
    ("v_smfmac_f32_16x16x64_bf8_bf8", 0x78, 16, 8),
    ("v_smfmac_f32_16x16x64_bf8_fp8", 0x79, 16, 8),
    ("v_smfmac_f32_16x16x64_fp8_bf8", 0x7a, 16, 8),
    ("v_smfmac_f32_16x16x64_fp8_fp8", 0x7b, 16, 8),
    ("v_smfmac_f32_32x32x32_bf8_bf8", 0x7c, 32, 24),
    ("v_smfmac_f32_32x32x32_bf8_fp8", 0x7d, 32, 24),
    ("v_smfmac_f32_32x32x32_fp8_bf8", 0x7e, 32, 24),
    ("v_smfmac_f32_32x32x32_fp8_fp8", 0x7f, 32, 24),
)

# See `mmacalc.chaining.conversions`. Source: LLVM 22.1.8.
VECTOR_INSTRUCTIONS = {
    "ds_bpermute_b32": 64, "ds_write_b32": 1, "v_cvt_pk_fp8_f32": 1, "v_cvt_pk_bf8_f32": 1,
}
