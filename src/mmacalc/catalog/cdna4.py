"""CDNA4: the AMD Instinct MI350 series (gfx950).

Lines: (name, opcode, cycles, VALU co-execution cycles[, "features"]), see `mmacalc.catalog`; in the order
of the opcodes as the CDNA4 ISA guide (section 12.10) lists them; then the two MFMA with block scales, whose opcode
is that of the second half of their 16 bytes. Its fp8 and bf8 are the OCP formats.

`f8f6f4` stands for the format that CBSZ (for A) or BLGP (for B) chooses. "cycles" of such a line is that of the
default, two 8-bit operands; "narrow_cycles": (bits, cycles) is for operands that are both of at most that width.

Source: CDNA4 ISA guide tables 28 and 33 (FP64 4x4x4 corrected: docs/isa-errata.md); opcodes, register counts and
aliases also LLVM 22.1.8; AMD's hip-fpsan compares the SMFMAC layouts with gfx950 silicon. No public source states the
VALU co-execution cycles: they follow CDNA3's rule (the cycles less 4, sparse less 8), so the record says "assumed".
"""

ARCHITECTURES: tuple[dict[str, object], ...] = (
    {
        "name": "cdna4",
        "title": "CDNA4",
        "vendor": "amd",
        "layout": "mfma",
        "arithmetic": "cdna4",
        "assembly": "cdna", "assembly_of": {22: "cdna-llvm22"}, "hazards": "gfx950",
        "waves": (64,),
        "aliases": ("gfx950",),
        "targets": ("gfx950",),
        "encoding": "VOP3P-MAI",
        "register_alignment": 8,
        "accumulators": "allowed",
        "unit": "CU",
        # Which lanes LDS serves together: (access, bytes, banks, lanes, how sure, source). Measured on gfx950: reads have 64 banks, writes and b96 32.
        "lds_phases": (
            ("read", 4, 64, "0-63", "hardware-verified", "amd-shark-ai efa471ae, docs/empirical-lds"),
            ("read", 8, 64, "0-31", "hardware-verified", "amd-shark-ai efa471ae, docs/empirical-lds; HipKittens f09e9685, analysis/paper_experiments/phases"),
            ("read", 12, 32, "0-3 20-23, 4-7 16-19, 8-11 28-31, 12-15 24-27", "hardware-verified", "HipKittens f09e9685, analysis/paper_experiments/phases"),
            ("read", 16, 64, "0-3 12-15 20-27, 4-11 16-19 28-31", "hardware-verified", "amd-shark-ai efa471ae, docs/empirical-lds; HipKittens f09e9685, analysis/paper_experiments/phases; triton PR 11365"),
            ("write", 4, 32, "0-31", "unconfirmed", ""),
            ("write", 8, 32, "0-15", "hardware-verified", "HipKittens f09e9685, analysis/paper_experiments/phases"),
            ("write", 16, 32, "0-7", "one source", "Composable Kernel docs, LDS bank conflicts"),
        ),
        "builtins": "mfma",
        "lds_copies": (("global_load_lds_dwordx4", 16), ("global_load_lds_dword", 4)),
        "lds_bytes": 163840,
        "rocwmma": ("gfx950",),
        # Compute units and peak engine clock in GHz, memory bandwidth in GB/s: AMD's data sheets; of the MI350P the units are in the ROCm
        # documentation (AMD GPU specifications), which has no clocks.
        "memory_source": "AMD's data sheets",
        "products": (
            ("MI355X", 256, 2.4, 8000, {"aliases": ("mi355",)}), ("MI350X", 256, 2.2, 8000, {"aliases": ("mi350",)}),
            ("MI350P", 128, None),
        ),
        "assumed": ("valu_cycles",),
        # hip-fpsan's test mfma_gfx950_smfmac_test.cpp.
        "layouts_on_hardware": {"sparse": ("f16", "bf16", "e4m3", "e5m2")},
        "format_fields": {"A": "cbsz", "B": "blgp"},
        # The fields that choose among scales, with the number of their values: bit 0 for A, bit 1 for B.
        "scale_fields": {"opsel": 4, "op_sel_hi": 4},
        "notes": {
            "f8f6f4": "three public sources keep the 32 k of an fp6 or bf6 lane together; one compiler comment suggests "
            "that they are split in halves like fp8's",
        },
    },
)

INSTRUCTIONS: tuple[tuple[object, ...], ...] = (
    ("v_mfma_f32_16x16x128_f8f6f4", 0x2d, 32, 28, {"narrow_cycles": (6, 16)}),
    ("v_mfma_f32_32x32x64_f8f6f4", 0x2e, 64, 60, {"narrow_cycles": (6, 32)}),
    ("v_mfma_f32_16x16x32_bf16", 0x35, 16, 12),
    ("v_mfma_i32_16x16x64_i8", 0x36, 16, 12),
    ("v_mfma_f32_32x32x16_bf16", 0x37, 32, 28),
    ("v_mfma_i32_32x32x32_i8", 0x38, 32, 28),
    ("v_smfmac_f32_16x16x64_bf16", 0x39, 16, 8),
    ("v_smfmac_i32_16x16x128_i8", 0x3a, 16, 8),
    ("v_smfmac_f32_16x16x128_bf8_bf8", 0x3b, 16, 8),
    ("v_smfmac_f32_16x16x128_bf8_fp8", 0x3c, 16, 8),
    ("v_smfmac_f32_16x16x128_fp8_bf8", 0x3d, 16, 8),
    ("v_mfma_f32_32x32x1_2b_f32", 0x40, 64, None, "blgp"),
    ("v_mfma_f32_16x16x1_4b_f32", 0x41, 32, None, "blgp"),
    ("v_mfma_f32_4x4x1_16b_f32", 0x42, 8, None, "blgp"),
    ("v_smfmac_f32_16x16x128_fp8_fp8", 0x43, 16, 8),
    ("v_mfma_f32_32x32x2_f32", 0x44, 64, None, "blgp"),
    ("v_mfma_f32_16x16x4_f32", 0x45, 32, None, "blgp"),
    ("v_smfmac_f32_32x32x32_bf16", 0x46, 32, 24),
    ("v_smfmac_i32_32x32x64_i8", 0x47, 32, 24),
    ("v_mfma_f32_32x32x4_2b_f16", 0x48, 64, 60, "blgp"),
    ("v_mfma_f32_16x16x4_4b_f16", 0x49, 32, 28, "blgp"),
    ("v_mfma_f32_4x4x4_16b_f16", 0x4a, 8, 4, "blgp"),
    ("v_smfmac_f32_32x32x64_bf8_bf8", 0x4b, 32, 24),
    ("v_mfma_f32_32x32x8_f16", 0x4c, 32, 28),
    ("v_mfma_f32_16x16x16_f16", 0x4d, 16, 12),
    ("v_smfmac_f32_32x32x64_bf8_fp8", 0x4e, 32, 24),
    ("v_smfmac_f32_32x32x64_fp8_bf8", 0x4f, 32, 24),
    ("v_mfma_i32_32x32x4_2b_i8", 0x50, 64, 60, "blgp"),
    ("v_mfma_i32_16x16x4_4b_i8", 0x51, 32, 28, "blgp"),
    ("v_mfma_i32_4x4x4_16b_i8", 0x52, 8, 4, "blgp"),
    ("v_smfmac_f32_32x32x64_fp8_fp8", 0x53, 32, 24),
    ("v_mfma_f32_16x16x32_f16", 0x54, 16, 12),
    ("v_mfma_f32_32x32x16_f16", 0x55, 32, 28),
    ("v_mfma_i32_32x32x16_i8", 0x56, 32, 28),
    ("v_mfma_i32_16x16x32_i8", 0x57, 16, 12),
    ("v_smfmac_f32_16x16x64_f16", 0x5a, 16, 8),
    ("v_smfmac_f32_32x32x32_f16", 0x5b, 32, 24),
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
    ("v_mfma_f64_16x16x4_f64", 0x6e, 64, None, "blgp"),
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
    ("v_mfma_scale_f32_16x16x128_f8f6f4", 0x2d, 32, 28, {"narrow_cycles": (6, 16), "prefix_opcode": 0x2c, "unconfirmed": ("arithmetic",)}),
    ("v_mfma_scale_f32_32x32x64_f8f6f4", 0x2e, 64, 60, {"narrow_cycles": (6, 32), "prefix_opcode": 0x2c, "unconfirmed": ("arithmetic",)}),
)

# Loads that transpose a tile between LDS and the registers: (name, opcode, bits of an element, registers, how sure
# it is which element a lane receives, and which its address fetches). See `mmacalc.memory_access.transpose_loads`.
# Source: CDNA4 ISA guide, section 11.4 and the DS opcodes of chapter 12; the addresses that Triton 3.9.0 generates.
TRANSPOSE_LOADS = (
    ("ds_read_b64_tr_b4", 0xe0, 4, 2, "two sources agree", "one source"),
    ("ds_read_b96_tr_b6", 0xe1, 6, 3, "one source", "unconfirmed"),
    ("ds_read_b64_tr_b8", 0xe2, 8, 2, "two sources agree", "one source"),
    ("ds_read_b64_tr_b16", 0xe3, 16, 2, "two sources agree", "one source"),
)

# See `mmacalc.chaining.conversions`. Source: LLVM 22.1.8.
VECTOR_INSTRUCTIONS = {
    "ds_bpermute_b32": 64, "v_permlane16_swap_b32": 32, "v_permlane32_swap_b32": 64, "ds_write_b32": 1,
    "v_cvt_pk_f16_f32": 1, "v_cvt_pk_bf16_f32": 1, "v_cvt_pk_fp8_f32": 1, "v_cvt_pk_bf8_f32": 1,
    "v_cvt_scalef32_pk_fp4_f32": 1, "v_cvt_scalef32_2xpk16_fp6_f32": 1, "v_cvt_scalef32_2xpk16_bf6_f32": 1,
}
