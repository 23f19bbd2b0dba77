"""CDNA2: the AMD Instinct MI200 series (gfx90a).

Lines: (name, opcode, cycles, VALU co-execution cycles[, "features"]); see `mmacalc.catalog`.
Source: AMD's Matrix Instruction Calculator 1.3.2; opcodes, register counts and aliases also LLVM 22.1.8.
"""

ARCHITECTURES: tuple[dict[str, object], ...] = (
    {
        "name": "cdna2",
        "title": "CDNA2",
        "vendor": "amd",
        "amd_calculator": True,
        "layout": "mfma",
        "arithmetic": "cdna2",
        "assembly": "cdna", "assembly_of": {22: "cdna-llvm22"}, "hazards": "gfx90a",
        "waves": (64,),
        "aliases": ("gfx90a", "aldebaran", "mi200"),
        "targets": ("gfx90a",),
        "encoding": "VOP3P-MAI",
        "register_alignment": 8,
        "accumulators": "allowed",
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
        "rocwmma": ("gfx90a",),
        # Compute units (of both dies) and peak engine clock in GHz, memory bandwidth in GB/s: AMD's data sheets.
        "memory_source": "AMD's data sheets",
        "products": (("MI250X", 220, 1.7, 3277), ("MI250", 208, 1.7, 3277), ("MI210", 104, 1.7, 1638)),
        # Operations per clock and CU of the vector unit: AMD lab notes, "AMD matrix cores".
    },
)

INSTRUCTIONS = (
    ("v_mfma_f32_32x32x1f32", 0x40, 64, 60, "blgp"),
    ("v_mfma_f32_16x16x1f32", 0x41, 32, 28, "blgp"),
    ("v_mfma_f32_4x4x1f32", 0x42, 8, 4, "blgp"),
    ("v_mfma_f32_32x32x2f32", 0x44, 64, 60, "blgp"),
    ("v_mfma_f32_16x16x4f32", 0x45, 32, 28, "blgp"),
    ("v_mfma_f32_32x32x4f16", 0x48, 64, 60, "blgp"),
    ("v_mfma_f32_16x16x4f16", 0x49, 32, 28, "blgp"),
    ("v_mfma_f32_4x4x4f16", 0x4a, 8, 4, "blgp"),
    ("v_mfma_f32_32x32x8f16", 0x4c, 64, 60, "blgp"),
    ("v_mfma_f32_16x16x16f16", 0x4d, 32, 28, "blgp"),
    ("v_mfma_i32_32x32x4i8", 0x50, 64, 60, "blgp"),
    ("v_mfma_i32_16x16x4i8", 0x51, 32, 28, "blgp"),
    ("v_mfma_i32_4x4x4i8", 0x52, 8, 4, "blgp"),
    ("v_mfma_i32_32x32x8i8", 0x54, 64, 60, "blgp"),
    ("v_mfma_i32_16x16x16i8", 0x55, 32, 28, "blgp"),
    ("v_mfma_f32_32x32x4bf16_1k", 0x63, 64, 60, "blgp"),
    ("v_mfma_f32_16x16x4bf16_1k", 0x64, 32, 28, "blgp"),
    ("v_mfma_f32_4x4x4bf16_1k", 0x65, 8, 4, "blgp"),
    ("v_mfma_f32_32x32x8bf16_1k", 0x66, 64, 60, "blgp"),
    ("v_mfma_f32_16x16x16bf16_1k", 0x67, 32, 28, "blgp"),
    ("v_mfma_f32_32x32x2bf16", 0x68, 64, 60, "blgp"),
    ("v_mfma_f32_16x16x2bf16", 0x69, 32, 28, "blgp"),
    ("v_mfma_f32_4x4x2bf16", 0x6b, 8, 4, "blgp"),
    ("v_mfma_f32_32x32x4bf16", 0x6c, 64, 60, "blgp"),
    ("v_mfma_f32_16x16x8bf16", 0x6d, 32, 28, "blgp"),
    ("v_mfma_f64_16x16x4f64", 0x6e, 32, None),
    ("v_mfma_f64_4x4x4f64", 0x6f, 16, None),
)

# See `mmacalc.chaining.conversions`. Source: LLVM 22.1.8.
VECTOR_INSTRUCTIONS = {
    "ds_bpermute_b32": 64, "ds_write_b32": 1,
}
