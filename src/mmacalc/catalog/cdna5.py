"""CDNA5: gfx1250 (AMD Instinct MI400 series) and gfx1251. Wave32 only.

Lines: (name, opcode, cycles, VALU co-execution cycles[, "features"]), see `mmacalc.catalog`; in the order
of the opcodes; the forms with block scales last (their opcode is that of the second half of their 16 bytes).

`f8f6f4` stands for the format that MATRIX_A_FMT or MATRIX_B_FMT chooses; "narrow_cycles": (bits, cycles) is for
operands that are both of at most that width.
"unconfirmed" names what no second public source confirms: of an architecture's record for all of its lines, of a
line for its operands.

Cycles: two numbers are those of gfx1250 and of gfx1251. They are the scheduling model of LLVM after 22: pull request
202522 (gfx1250, stepping B0: 8-bit 16x16x64 in 4 cycles, f8f6f4 in 4 with two 4-bit operands, else 8) and 203145
(gfx1251: 16 and 32). LLVM 22.1.8 has the figures of stepping A0 for both targets (ROCm's pull request 2915 names the
steppings): "wait_cycles", in the form (cycles, narrow_cycles), where they differ from gfx1250's. Its wait states count
by them, and they suffice on B0, where LLVM after 22 asks for fewer.

Source: LLVM 22.1.8 (names, opcodes, register counts, formats); AMD's CDNA5 ISA and machine-readable ISA (layouts);
of the SWMMAC layouts AMD's hip-fpsan (include/fpsan/amdgcn_swmmac_gfx1250.hpp, pinned on gfx1250), with which AMD's
emulator rocjitsu agrees (rocm-systems pull request 10521) and the ISA does not: docs/isa-errata.md.
No source says how many cycles run VALU instructions alongside; LLVM's wait states after a WMMA show that some do.
LLVM 24's encodings differ (block scales, NEG of A and B): they are the default, `--llvm 22` asks for the older.
"""

# What the two targets have in common.
COMMON: dict[str, object] = {
    "vendor": "amd",
    "layout": "wmma-cdna5",
    "arithmetic": "cdna5",
    "assembly": "cdna5", "hazards": "gfx1250",
    "assembly_of": {22: "cdna5-llvm22"},
    # LLVM also assembles RDNA4's forms, but cannot select them: they are no instructions of these architectures.
    "also_assembled": {24: ("rdna4", "v_swmmac_"), 22: ("rdna4", "v_")},
    "waves": (32,),
    "encoding": "VOP3P",
    "register_alignment": 8,
    "accumulators": "none",
    "unit": "CU",
    # Which lanes LDS serves together: (access, bytes, banks, lanes, how sure, source). One public note, fitted to AMD's simulator: two ports in a bank.
    "lds_phases": (
        ("read", 4, 64, "0-31", "unconfirmed", "lds_bank_conflict_analyzer, a public note", {"ports": 2}),
        ("write", 4, 64, "0-31", "unconfirmed", "", {"ports": 2}),
    ),
    "builtins": "gfx1250",
    "lds_copies": (("global_load_async_to_lds_b128", 16), ("global_load_async_to_lds_b32", 4)),
    "lds_bytes": 327680,
    "memory_source": "AMD's announcement of the MI400 series",  # repeated by pcmasters.de (MI455X, MI430X), awesomeagents.ai
    "unconfirmed": ("cycles", "valu_cycles"),
    "format_fields": {
        "A": "matrix_a_fmt", "B": "matrix_b_fmt", "SA": "matrix_a_scale_fmt", "SB": "matrix_b_scale_fmt",
    },
    # The fields that choose which half of the wave holds the scales, with the number of their values.
    "scale_fields": {"matrix_a_scale": 2, "matrix_b_scale": 2},
}

ARCHITECTURES: tuple[dict[str, object], ...] = (
    {
        "name": "cdna5", "title": "CDNA5", "aliases": ("gfx1250", "gfx12-5-generic"), "targets": ("gfx1250",),
        # The units are those of AMD's emulator rocjitsu (configs/gfx1250_mi455x.json); no clock is published.
        # MI450 is called gfx1250 in ROCm/FlyDSL's pull request 384.
        "products": (("MI455X", 256, None, 19600, {"aliases": ("mi400", "mi450", "mi450x")}),),
        # hip-fpsan's tests wmma_*_gfx1250_test.cpp and swmmac_*_gfx1250_test.cpp. Which k a slot of a dense A or B
        # holds cannot be seen in a product, so that of the plain 8-bit ones stays unconfirmed.
        "layouts_on_hardware": {
            "dense": ("f32", "f16", "bf16", "f8f6f4", "e2m1", "e4m3", "e5m2"), "scale": ("f8f6f4", "e2m1"),
            "sparse": ("f16", "bf16", "e4m3", "e5m2"),
        },
    },
    {"name": "gfx1251", "title": "GFX1251", "targets": ("gfx1251",), "hazards": "gfx1251", "assumed": ("transpose_loads",),
        "products": (("MI430X", None, None, 19600),)},
)
NOT_COVERED = {"mi440x": "no public source says whether it is gfx1250 or gfx1251; -a MI455X and -a MI430X answer for these"}

INSTRUCTIONS: tuple[tuple[object, ...], ...] = (
    ("v_wmma_f32_16x16x128_f8f6f4", 0x33, (8, 32), None, "neg_c", {"narrow_cycles": ((4, 4), (4, 16)), "wait_cycles": (16, (6, 8))}),
    # On gfx1251 alone, and in LLVM since pull request 203141. The layout is the rule's, and rocjitsu's (rocm-systems
    # pull request 11124); no second source confirms it.
    ("v_wmma_f64_16x16x4_f64", 0x5b, 16, None, "neg", {"on": ("gfx1251",), "since_llvm": 24, "unconfirmed": ("A", "B", "C", "D")}),
    ("v_wmma_f32_16x16x4_f32", 0x5d, 16, None, "neg"),
    ("v_wmma_f32_16x16x32_f16", 0x60, (8, 16), None, "neg"),
    ("v_wmma_f16_16x16x32_f16", 0x61, (8, 16), None, "neg"),
    ("v_wmma_f32_16x16x32_bf16", 0x62, (8, 16), None, "neg"),
    ("v_wmma_bf16_16x16x32_bf16", 0x63, (8, 16), None, "neg"),
    ("v_wmma_bf16f32_16x16x32_bf16", 0x64, (8, 16), None, "neg"),
    ("v_swmmac_f32_16x16x64_f16", 0x65, (8, 16), None, "neg"),
    ("v_swmmac_f32_16x16x64_bf16", 0x66, (8, 16), None, "neg"),
    ("v_swmmac_f16_16x16x64_f16", 0x67, (8, 16), None, "neg"),
    ("v_swmmac_bf16_16x16x64_bf16", 0x68, (8, 16), None, "neg"),
    ("v_swmmac_bf16f32_16x16x64_bf16", 0x69, (8, 16), None, "neg", {"unconfirmed": ("D",), "formats": {"D": "f32"}}),
    ("v_wmma_f32_16x16x64_fp8_fp8", 0x6a, (4, 16), None, "neg_c", {"unconfirmed": ("A", "B"), "wait_cycles": (8, None)}),
    ("v_wmma_f32_16x16x64_fp8_bf8", 0x6b, (4, 16), None, "neg_c", {"unconfirmed": ("A", "B"), "wait_cycles": (8, None)}),
    ("v_wmma_f32_16x16x64_bf8_fp8", 0x6c, (4, 16), None, "neg_c", {"unconfirmed": ("A", "B"), "wait_cycles": (8, None)}),
    ("v_wmma_f32_16x16x64_bf8_bf8", 0x6d, (4, 16), None, "neg_c", {"unconfirmed": ("A", "B"), "wait_cycles": (8, None)}),
    ("v_wmma_f16_16x16x64_fp8_fp8", 0x6e, (4, 16), None, "neg_c", {"unconfirmed": ("A", "B"), "wait_cycles": (8, None)}),
    ("v_wmma_f16_16x16x64_fp8_bf8", 0x6f, (4, 16), None, "neg_c", {"unconfirmed": ("A", "B"), "wait_cycles": (8, None)}),
    ("v_wmma_f16_16x16x64_bf8_fp8", 0x70, (4, 16), None, "neg_c", {"unconfirmed": ("A", "B"), "wait_cycles": (8, None)}),
    ("v_wmma_f16_16x16x64_bf8_bf8", 0x71, (4, 16), None, "neg_c", {"unconfirmed": ("A", "B"), "wait_cycles": (8, None)}),
    ("v_wmma_i32_16x16x64_iu8", 0x72, (16, 32), None, "neg", {"unconfirmed": ("A", "B")}),
    ("v_swmmac_f32_16x16x128_fp8_fp8", 0x73, (8, 16), None),
    ("v_swmmac_f32_16x16x128_fp8_bf8", 0x74, (8, 16), None),
    ("v_swmmac_f32_16x16x128_bf8_fp8", 0x75, (8, 16), None),
    ("v_swmmac_f32_16x16x128_bf8_bf8", 0x76, (8, 16), None),
    ("v_swmmac_f16_16x16x128_fp8_fp8", 0x77, (8, 16), None),
    ("v_swmmac_f16_16x16x128_fp8_bf8", 0x78, (8, 16), None),
    ("v_swmmac_f16_16x16x128_bf8_fp8", 0x79, (8, 16), None),
    ("v_swmmac_f16_16x16x128_bf8_bf8", 0x7a, (8, 16), None),
    ("v_swmmac_i32_16x16x128_iu8", 0x7b, (16, 32), None, "neg"),
    ("v_wmma_f32_16x16x128_fp8_fp8", 0x80, (8, 32), None, "neg_c", {"unconfirmed": ("A", "B")}),
    ("v_wmma_f32_16x16x128_fp8_bf8", 0x81, (8, 32), None, "neg_c", {"unconfirmed": ("A", "B")}),
    ("v_wmma_f32_16x16x128_bf8_fp8", 0x82, (8, 32), None, "neg_c", {"unconfirmed": ("A", "B")}),
    ("v_wmma_f32_16x16x128_bf8_bf8", 0x83, (8, 32), None, "neg_c", {"unconfirmed": ("A", "B")}),
    ("v_wmma_f16_16x16x128_fp8_fp8", 0x84, (8, 32), None, "neg_c", {"unconfirmed": ("A", "B")}),
    ("v_wmma_f16_16x16x128_fp8_bf8", 0x85, (8, 32), None, "neg_c", {"unconfirmed": ("A", "B")}),
    ("v_wmma_f16_16x16x128_bf8_fp8", 0x86, (8, 32), None, "neg_c", {"unconfirmed": ("A", "B")}),
    ("v_wmma_f16_16x16x128_bf8_bf8", 0x87, (8, 32), None, "neg_c", {"unconfirmed": ("A", "B")}),
    ("v_wmma_f32_32x16x128_f4", 0x88, (8, 32), None, "neg_c"),
    ("v_wmma_scale_f32_16x16x128_f8f6f4", 0x33, (8, 32), None, "neg_c", {"narrow_cycles": ((4, 4), (4, 16)), "wait_cycles": (16, (6, 8)), "scale_format": "scale", "prefix_opcode": 0x35}),
    ("v_wmma_scale16_f32_16x16x128_f8f6f4", 0x33, (8, 32), None, "neg_c", {"narrow_cycles": ((4, 4), (4, 16)), "wait_cycles": (16, (6, 8)), "scale_format": "scale", "prefix_opcode": 0x3a}),
    ("v_wmma_scale_f32_32x16x128_f4", 0x88, (8, 32), None, "neg_c", {"scale_format": "scale", "prefix_opcode": 0x35}),
    ("v_wmma_scale16_f32_32x16x128_f4", 0x88, (8, 32), None, "neg_c", {"scale_format": "scale", "prefix_opcode": 0x3a}),
)

# Loads that transpose: (name, opcode of DS or VGLOBAL, element bits, registers, provenance of the element each lane
# receives, and which its address fetches, {more}). Opcodes: LLVM 24.0.0git. Those of 16 and 8 bits were measured on an MI455X.
TRANSPOSE_LOADS: tuple[tuple[object, ...], ...] = (
    ("ds_load_tr4_b64", 0xfa, 4, 2, "unconfirmed", "unconfirmed", {
        "lanes": 0, "caveat": "no public source says which lane receives which element of 4 bits",
    }),
    ("ds_load_tr6_b96", 0xfb, 6, 3, "unconfirmed", "unconfirmed", {
        "lanes": 0, "caveat": "no public source says which lane receives which element of 6 bits",
    }),
    ("ds_load_tr16_b128", 0xfc, 16, 4, "hardware-verified", "hardware-verified", {
        "lanes": 8,
        "caveat": "measured on an MI455X by one author, not by us; an address that is not a multiple of 16 makes it a plain load",
    }),
    ("ds_load_tr8_b64", 0xfd, 8, 2, "hardware-verified", "hardware-verified", {
        "lanes": 16, "turn": 4, "caveat": "measured by two authors, on an MI455X by one, not by us; their addresses agree",
    }),
    ("global_load_tr16_b128", 0x57, 16, 4, "hardware-verified", "hardware-verified", {
        "lanes": 8, "memory": "global", "aliases": ("global_load_tr_b128",),
        "caveat": "measured on an MI455X by one author, not by us",
    }),
    ("global_load_tr8_b64", 0x58, 8, 2, "hardware-verified", "hardware-verified", {
        "lanes": 16, "memory": "global", "aliases": ("global_load_tr_b64",), "turn": 4,
        "caveat": "measured on an MI455X by one author, not by us",
    }),
    ("global_load_tr4_b64", 0x73, 4, 2, "unconfirmed", "unconfirmed", {
        "lanes": 0, "memory": "global", "caveat": "no public source says which lane receives which element of 4 bits",
    }),
    ("global_load_tr6_b96", 0x74, 6, 3, "unconfirmed", "unconfirmed", {
        "lanes": 0, "memory": "global", "caveat": "no public source says which lane receives which element of 6 bits",
    }),
)

# See `mmacalc.chaining.conversions`. Source: LLVM 22.1.8.
VECTOR_INSTRUCTIONS = {
    "v_mov_b32_dpp row_xmask": 16, "v_permlane16_b32": 16, "v_permlanex16_b32": 32, "v_permlane64_b32": 64,
    "v_permlane16_swap_b32": 32, "ds_bpermute_b32": 32, "ds_store_b32": 1,
    "v_cvt_pk_f16_f32": 1, "v_cvt_pk_bf16_f32": 1, "v_cvt_pk_fp8_f32": 1, "v_cvt_pk_bf8_f32": 1, "v_cvt_pk_fp8_f16": 1,
    "v_cvt_pk_bf8_f16": 1, "v_cvt_scalef32_pk8_fp4_f32": 1, "v_cvt_scalef32_pk16_fp6_f32": 1,
    "v_cvt_scalef32_pk16_bf6_f32": 1,
}
