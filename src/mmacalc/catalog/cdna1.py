"""CDNA1: the AMD Instinct MI100 (gfx908).

Lines: (name, opcode, cycles, VALU co-execution cycles[, "features"]); see `mmacalc.catalog`.
Source: AMD's Matrix Instruction Calculator 1.3.2; opcodes, register counts and aliases also LLVM 22.1.8.
"""

ARCHITECTURES: tuple[dict[str, object], ...] = (
    {
        "name": "cdna1",
        "title": "CDNA1",
        "vendor": "amd",
        "amd_calculator": True,
        "layout": "mfma",
        "arithmetic": "cdna1",
        "assembly": "cdna1", "assembly_of": {22: "cdna1-llvm22"}, "hazards": "gfx908",
        "waves": (64,),
        "aliases": ("cdna", "gfx908", "arcturus"),
        "targets": ("gfx908",),
        "encoding": "VOP3P-MAI",
        "register_alignment": 4,
        "accumulators": "required",
        "unit": "CU",
        # Which lanes LDS serves together: (access, bytes, banks, lanes, how sure, source). As CDNA3, by analogy.
        "lds_phases": (
            ("read", 4, 32, "0-31", "hardware-verified", "amd-shark-ai efa471ae, docs/empirical-lds"),
            ("read", 8, 32, "0-15", "hardware-verified", "amd-shark-ai efa471ae, docs/empirical-lds"),
            ("read", 16, 32, "0-3 20-23, 4-7 16-19, 8-11 28-31, 12-15 24-27", "hardware-verified", "amd-shark-ai efa471ae, docs/empirical-lds; triton PR 11365"),
            ("write", 4, 32, "0-31", "unconfirmed", ""),
            ("write", 8, 32, "0-15", "unconfirmed", ""),
            ("write", 16, 32, "0-7", "one source", "amd-shark-ai, AMDGPU kernel optimization guide; Composable Kernel docs, LDS bank conflicts"),
        ),
        "assumed": ("lds_phases",),
        "builtins": "mfma",
        "lds_copies": (("buffer_load_dword ... lds", 4),),
        "lds_bytes": 65536,
        "rocwmma": ("gfx908",),
        # Compute units and peak engine clock in GHz, memory bandwidth in GB/s: AMD's data sheet.
        "memory_source": "AMD's data sheets",
        "products": (("MI100", 120, 1.502, 1229),),
        # Operations per clock and CU of the vector unit: AMD lab notes, "AMD matrix cores".
    },
)

WITHOUT_MATRIX_INSTRUCTIONS = {
    "gfx90*": "MFMA begins with CDNA1 (gfx908)", "gfx90c": "MFMA begins with CDNA1 (gfx908)",
    "gfx9-generic": "MFMA begins with CDNA1 (gfx908)", "mi50": "MFMA begins with CDNA1 (MI100)",
    "mi60": "MFMA begins with CDNA1 (MI100)", "vega": "MFMA begins with CDNA1 (MI100)",
}

INSTRUCTIONS = (
    ("v_mfma_f32_32x32x1f32", 0x40, 64, 56, "blgp"),
    ("v_mfma_f32_16x16x1f32", 0x41, 32, 24, "blgp"),
    ("v_mfma_f32_4x4x1f32", 0x42, 8, None, "blgp"),
    ("v_mfma_f32_32x32x2f32", 0x44, 64, 56, "blgp"),
    ("v_mfma_f32_16x16x4f32", 0x45, 32, 24, "blgp"),
    ("v_mfma_f32_32x32x4f16", 0x48, 64, 56, "blgp"),
    ("v_mfma_f32_16x16x4f16", 0x49, 32, 24, "blgp"),
    ("v_mfma_f32_4x4x4f16", 0x4a, 8, None, "blgp"),
    ("v_mfma_f32_32x32x8f16", 0x4c, 64, 56, "blgp"),
    ("v_mfma_f32_16x16x16f16", 0x4d, 32, 24, "blgp"),
    ("v_mfma_i32_32x32x4i8", 0x50, 64, 56, "blgp"),
    ("v_mfma_i32_16x16x4i8", 0x51, 32, 24, "blgp"),
    ("v_mfma_i32_4x4x4i8", 0x52, 8, None, "blgp"),
    ("v_mfma_i32_32x32x8i8", 0x54, 64, 56, "blgp"),
    ("v_mfma_i32_16x16x16i8", 0x55, 32, 24, "blgp"),
    ("v_mfma_f32_32x32x2bf16", 0x68, 64, 56, "blgp"),
    ("v_mfma_f32_16x16x2bf16", 0x69, 32, 24, "blgp"),
    ("v_mfma_f32_4x4x2bf16", 0x6b, 8, None, "blgp"),
    ("v_mfma_f32_32x32x4bf16", 0x6c, 64, 56, "blgp"),
    ("v_mfma_f32_16x16x8bf16", 0x6d, 32, 24, "blgp"),
)

# See `mmacalc.chaining.conversions`. Source: LLVM 22.1.8.
VECTOR_INSTRUCTIONS = {
    "ds_bpermute_b32": 64, "ds_write_b32": 1,
}
