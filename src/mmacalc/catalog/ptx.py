"""NVIDIA's matrix instructions as PTX names them, and the compilation targets that have them.

INSTRUCTIONS holds families, one line each, which `mmacalc.catalog.grammar.ptx` expands as a shell expands braces:

    (name, PTX version, targets[, {facts}])

    {s8,u8}        one of these                          {,.satfinite}   with or without
    {8..256..8}    8, 16 ... 256                         {d=f16,f32}     one of these, and the same at {d}

Targets: "80+" is sm_80 and every later target; otherwise a list. Shape, formats and all else that the name says
are read from the name. The name is PTX's, qualifiers in documented order; `mmacalc.catalog.grammar.ptx.key` tells which
other orders mean the same. A family that PTX gained after 9.5 is refused.

Sources: PTX ISA 9.1 (sections 9.7.14 and 9.7.15) and 9.4, CUTLASS 7107b055, ptxas 13.5.37 for what each target takes
(12.9.86 for sm_70 and sm_72). ptxas 13.0 lacks sm_107 and what has a PTX version above 9.0.
`unconfirmed` names the operand whose layout no second source confirms, and what about it.
"""

# Multiply-adds per clock and SM that differ from the target's: GeForce cards halve those with f32 accumulators, the L40
# all of them. Sources as of the target; for the L40 its data sheet.
TMA = (("cp.async.bulk.tensor", 0),)
# Looked up again in November 2026 in pages of resellers and reviewers that repeat the data sheets: hpctech.co.jp (H100),
# itkb.uw.cz (H200, B300), sysrqmts.com (T4, A100, A10, A40, RTX A6000), svethardware.cz (A100 of 80 GB), sourcecode.com
# (L4, L40S), yottalabs.ai (RTX 6000 Ada, RTX PRO 6000), 3dfxzone.it (RTX 20), thetechfeed.site (RTX 30 to 50), guru3d.com
# (RTX 4080), inferenceengineering.tech (B200; hmc-tech.com has 7.7 TB/s). What none of them has is "assumed".
SOURCE_OF_MEMORY = "NVIDIA's data sheets and architecture papers"
ASSUMED = {"memory_note": "assumed"}
GEFORCE_75 = {"fma_per_clock": {"f16.f32": 256}}
GEFORCE_86 = {"fma_per_clock": {"f16.f32": 256, "bf16": 256, "tf32": 128}}
GEFORCE_89 = {"fma_per_clock": {"f16.f32": 256, "bf16": 256, "tf32": 128, "fp8.f32": 512}}
HALF_OF_89 = {"fma_per_clock": {"f16": 256, "bf16": 256, "tf32": 128, "fp8": 512, "int8": 512, "int4": 1024}}
GEFORCE_120 = GEFORCE_89
RATES_OF_B200 = {"f16": 4096, "bf16": 4096, "tf32": 2048, "fp8": 8192, "int8": 8192, "fp4": 16384}
SOURCE_OF_B200 = "two times Hopper's, of mxf4 and mxf4nvf4 four times its FP8: CUTLASS, Blackwell SM100 GEMMs"
# Of FP4 with K = 96 only: NVIDIA publishes none of K = 64. There is no kind::i8.
RATES_OF_B300 = {"f16": 4096, "bf16": 4096, "tf32": 2048, "fp8": 8192, "fp4.k96": 24576}
SOURCE_OF_B300 = "derived from the dense peaks of DGX B300, 2025: those of B200, of FP4 half as much again"
# The peaks of f64 assume the clock of other work, 1.98 GHz (H100 paper, "GPU Boost Clock").
CLOCK_OF_F64 = {"clock_for": {"f64": 1.98}}
# 37 TFLOPS in the HGX B200's data sheet (an eighth of 296) are 64 multiply-adds a clock at 1.965 GHz.
F64_OF_B200 = {"fma_per_clock": {"f64": 64}, "clock_for": {"f64": 1.965}}
RATES_OF_H20 = {"fma_per_clock": dict.fromkeys(("f16", "bf16", "tf32", "fp8", "int8", "f64"))}  # reduced, to what is not published

# What Tensor Memory's instructions of each target have: see `mmacalc.catalog.grammar.tcgen05`. ptxas 13.5.37; K of PTX ISA
# 9.1, table 39, and 9.4, table 48.
KINDS = ("f16", "tf32", "f8f6f4", "mxf8f6f4", "mxf4", "mxf4nvf4")
OWN = ("shift", "scale_vec", "sparse mxf4")  # of the targets with an a
OF_RUBIN = ("scale-input-d", "red", "collector::b", "decompress::lut::b", "multicast::cluster::32b", "sync_restrict::shared::read::mma::a")
TCGEN05_100F = {"kinds": KINDS, "features": ("scale-input-d",), "block16": ".4X"}
TCGEN05_100A = {"kinds": (*KINDS, "i8"), "features": ("scale-input-d", *OWN), "block16": ".4X"}
TCGEN05_103F = {"kinds": KINDS, "features": ("scale-input-d", "red"), "block16": ".BLOCK16"}
TCGEN05_103A = {"kinds": KINDS, "features": ("scale-input-d", "red", *OWN), "block16": ".BLOCK16", "depths": {"mxf4": (96,), "mxf4nvf4": (96,)}}
TCGEN05_107F = {"kinds": (*KINDS, "ti16"), "features": OF_RUBIN, "block16": ".BLOCK16", "depths": {"mxf4": (128,), "mxf4nvf4": (128,), "f8f6f4": (64,), "mxf8f6f4": (64,)}}
TCGEN05_107A = {"kinds": (*KINDS, "ti16"), "features": (*OF_RUBIN, *OWN, "spcompress"), "block16": ".BLOCK16", "depths": {"mxf4": (96, 128), "mxf4nvf4": (96, 128), "f8f6f4": (64,), "mxf8f6f4": (64,)}}
TCGEN05_110F = {"kinds": KINDS, "features": ("red",), "block16": ".4X"}
TCGEN05_110A = {"kinds": (*KINDS, "i8"), "features": ("red", *OWN), "block16": ".4X"}

# name, marketing generation, PTX version that introduced the target, what people call its chips; dense FMA per clock
# and SM where NVIDIA publishes them, with the source (of sm_90a for wgmma, of sm_100a and sm_103a for tcgen05, since mma.sync does not reach them).
# Products: name, SMs, and the boost clock in GHz that NVIDIA's peaks assume (None where it publishes none; of B200
# and B300 the clock that gives the 2.25 PFLOPS of dense FP16 of HGX B200 and DGX B300 on 148 SMs, for NVIDIA publishes none).
ARCHITECTURES: tuple[dict[str, object], ...] = (
    {"name": "sm_70", "title": "sm_70 (Volta)", "wmma_fragments": "volta", "ptx": "6.0", "arithmetic": "volta", "aliases": ("volta", "gv100"),
     "fma_per_clock": {"f16": 512},
     "fma_source": "NVIDIA Tesla V100 GPU Architecture, 2017",
     "memory_source": SOURCE_OF_MEMORY, "products": (("V100", 80, 1.53, 900, {"aliases": ("v100 sxm2",)}), ("V100 PCIe", 80, 1.38, 900, ASSUMED), ("Titan V", 80, 1.455, 653, ASSUMED))},
    {"name": "sm_72", "title": "sm_72 (Volta, Xavier)", "wmma_fragments": "volta", "ptx": "6.1", "arithmetic": "volta", "aliases": (),
     "memory_source": SOURCE_OF_MEMORY, "products": (("Jetson AGX Xavier", 8, None, {"aliases": ("xavier", "jetson xavier", "agx xavier")}),)},
    {"name": "sm_75", "title": "sm_75 (Turing)", "series": ("rtx 20#0", "quadro rtx #000",), "wmma_fragments": "turing", "ptx": "6.3", "arithmetic": "turing", "aliases": ("turing", "tu102"),
     "fma_per_clock": {"f16": 512, "int8": 1024, "int4": 2048},
     "fma_source": "NVIDIA Turing GPU Architecture, 2018",
     "memory_source": SOURCE_OF_MEMORY, "products": (("T4", 40, 1.59, 320), ("RTX 2080 Ti", 68, 1.545, 616, GEFORCE_75), ("RTX 2080", 46, 1.71, 448, GEFORCE_75), ("RTX 2070", 36, 1.62, 448, {**GEFORCE_75, **ASSUMED}), ("RTX 2060", 30, 1.68, 336, GEFORCE_75), ("Titan RTX", 72, 1.77, 672, ASSUMED))},
    {"name": "sm_80", "title": "sm_80 (Ampere)", "ptx": "7.0", "arithmetic": "ampere", "aliases": ("ampere", "ga100"),
     "fma_per_clock": {"f16": 1024, "bf16": 1024, "tf32": 512, "int8": 2048, "int4": 4096, "f64": 64},
     "fma_source": "NVIDIA A100 Tensor Core GPU Architecture, 2020",
     "memory_source": SOURCE_OF_MEMORY, "products": (("A100", 108, 1.41, 1555, {"aliases": ("a800", "a100 pcie"), "memory_note": "of 40 GB; with 80 GB --memory 2039"}), ("A30", 56, 1.44, 933, ASSUMED))},
    {"name": "sm_86", "title": "sm_86 (Ampere)", "series": ("rtx 30#0", "rtx a****",), "ptx": "7.1", "arithmetic": "ampere", "aliases": ("ga102",),
     "fma_per_clock": {"f16": 512, "bf16": 512, "tf32": 256, "int8": 1024, "int4": 2048},
     "fma_source": "NVIDIA Ampere GA102 GPU Architecture, 2021",
     "memory_source": SOURCE_OF_MEMORY, "products": (("A40", 84, 1.74, 696), ("RTX A6000", 84, 1.8, 768), ("A10", 72, 1.695, 600), ("A2", 10, 1.77, 200, ASSUMED), ("RTX 3090", 82, 1.695, 936, GEFORCE_86), ("RTX 3080", 68, 1.71, 760, GEFORCE_86), ("RTX 3070", 46, 1.725, 448, GEFORCE_86), ("RTX 3060", 28, 1.777, 360, {**GEFORCE_86, **ASSUMED}), ("A16", 10, None), ("A10G", None, None), ("RTX 2050", None, None))},
    {"name": "sm_87", "title": "sm_87 (Ampere)", "ptx": "7.4", "arithmetic": "ampere", "aliases": (),
     "memory_source": SOURCE_OF_MEMORY, "products": (("Jetson AGX Orin", 16, 1.3, 205, {**ASSUMED, "aliases": ("orin", "jetson orin", "agx orin")}),)},
    {"name": "sm_88", "title": "sm_88 (Ampere)", "ptx": "9.0", "arithmetic": "ampere", "aliases": ()},
    {"name": "sm_89", "title": "sm_89 (Ada)", "series": ("rtx 40#0", "rtx #000 ada",), "ptx": "7.8", "arithmetic": "ada", "aliases": ("ada", "ada lovelace", "ad102"),
     "fma_per_clock": {"f16": 512, "bf16": 512, "tf32": 256, "fp8": 1024, "int8": 1024, "int4": 2048},
     "fma_source": "NVIDIA Ada GPU Architecture, 2023",
     "memory_source": SOURCE_OF_MEMORY, "products": (("L40S", 142, 2.52, 864), ("L40", 142, 2.49, 864, {**HALF_OF_89, **ASSUMED}), ("L4", 58, 2.04, 300), ("RTX 6000 Ada", 142, 2.505, 960), ("RTX 4090", 128, 2.52, 1008, GEFORCE_89), ("RTX 4080", 76, 2.505, 717, GEFORCE_89), ("RTX 4070", 46, 2.475, GEFORCE_89), ("RTX 4060", 24, 2.46, GEFORCE_89))},
    {"name": "sm_90", "title": "sm_90 (Hopper)", "lds_copies": TMA, "ptx": "7.8", "arithmetic": "hopper", "aliases": ()},
    {"name": "sm_90a", "title": "sm_90a (Hopper)", "lds_copies": TMA, "ptx": "8.0", "arithmetic": "hopper", "aliases": ("hopper", "gh100"),
     "fma_per_clock": {"f16": 2048, "bf16": 2048, "tf32": 1024, "fp8": 4096, "int8": 4096, "f64": 128}, "fma_through": "wgmma",
     "fma_source": "derived from the peaks in NVIDIA H100 Tensor Core GPU Architecture, 2022",
     "memory_source": SOURCE_OF_MEMORY, "products": (("H100", 132, 1.83, 3350, {"aliases": ("h100 sxm", "h100 sxm5", "h800"), **CLOCK_OF_F64}), ("H100 PCIe", 114, 1.62, 2000, {"clock_for": {"f64": 1.755}}), ("H200", 132, 1.83, 4800, CLOCK_OF_F64), ("GH200", 132, 1.83, None, CLOCK_OF_F64), ("H20", 78, None, 4000, {**RATES_OF_H20, **ASSUMED}))},
    {"name": "sm_100", "title": "sm_100 (Blackwell)", "lds_copies": TMA, "ptx": "8.6", "assumed": ("lds_phases",), "arithmetic": "b200", "aliases": ()},
    {"name": "sm_100a", "title": "sm_100a (Blackwell)", "lds_copies": TMA, "tcgen05": TCGEN05_100A, "ptx": "8.6", "assumed": ("lds_phases",), "arithmetic": "b200", "aliases": ("blackwell", "gb100"),
     "fma_per_clock": RATES_OF_B200, "fma_through": "tcgen05", "fma_source": SOURCE_OF_B200,
     "memory_source": SOURCE_OF_MEMORY, "products": (("B200", 148, 1.856, 8000, F64_OF_B200), ("GB200", None, None), ("B100", None, None))},
    {"name": "sm_100f", "title": "sm_100f (Blackwell family)", "lds_copies": TMA, "tcgen05": TCGEN05_100F, "ptx": "8.8", "assumed": ("lds_phases",), "arithmetic": "b200", "aliases": (),
     "fma_per_clock": RATES_OF_B200, "fma_through": "tcgen05", "fma_source": SOURCE_OF_B200},
    {"name": "sm_103", "title": "sm_103 (Blackwell Ultra)", "lds_copies": TMA, "ptx": "8.8", "assumed": ("lds_phases",), "arithmetic": "blackwell", "aliases": ()},
    {"name": "sm_103a", "title": "sm_103a (Blackwell Ultra)", "lds_copies": TMA, "tcgen05": TCGEN05_103A, "ptx": "8.8", "assumed": ("lds_phases",), "arithmetic": "blackwell", "aliases": ("blackwell ultra",),
     "fma_per_clock": RATES_OF_B300, "fma_through": "tcgen05", "fma_source": SOURCE_OF_B300,
     "memory_source": SOURCE_OF_MEMORY, "products": (("B300", 148, 1.856, 8000), ("GB300", None, None))},
    {"name": "sm_103f", "title": "sm_103f (Blackwell Ultra family)", "lds_copies": TMA, "tcgen05": TCGEN05_103F, "ptx": "8.8", "assumed": ("lds_phases",), "arithmetic": "blackwell", "aliases": (),
     "fma_per_clock": RATES_OF_B300, "fma_through": "tcgen05", "fma_source": SOURCE_OF_B300},
    {"name": "sm_107", "title": "sm_107 (Rubin)", "lds_copies": TMA, "ptx": "9.4", "assumed": ("lds_phases",), "arithmetic": "rubin", "aliases": ()},
    {"name": "sm_107a", "title": "sm_107a (Rubin)", "lds_copies": TMA, "tcgen05": TCGEN05_107A, "ptx": "9.4", "assumed": ("lds_phases",), "arithmetic": "rubin", "aliases": ("rubin", "vr200", "vera rubin")},
    {"name": "sm_107f", "title": "sm_107f (Rubin family)", "lds_copies": TMA, "tcgen05": TCGEN05_107F, "ptx": "9.4", "assumed": ("lds_phases",), "arithmetic": "rubin", "aliases": ()},
    {"name": "sm_110", "title": "sm_110 (Blackwell, Thor)", "lds_copies": TMA, "ptx": "9.0", "assumed": ("lds_phases",), "arithmetic": "blackwell", "aliases": ("sm_101",)},
    {"name": "sm_110a", "title": "sm_110a (Blackwell, Thor)", "lds_copies": TMA, "tcgen05": TCGEN05_110A, "ptx": "9.0", "assumed": ("lds_phases",), "arithmetic": "blackwell", "aliases": ("sm_101a",),
     "memory_source": SOURCE_OF_MEMORY, "products": (("Jetson AGX Thor", 20, None, 273, {**ASSUMED, "aliases": ("thor", "jetson thor", "agx thor")}),)},
    {"name": "sm_110f", "title": "sm_110f (Blackwell family, Thor)", "lds_copies": TMA, "tcgen05": TCGEN05_110F, "ptx": "9.0", "assumed": ("lds_phases",), "arithmetic": "blackwell", "aliases": ("sm_101f",)},
    {"name": "sm_120", "title": "sm_120 (Blackwell)", "lds_copies": TMA, "ptx": "8.7", "assumed": ("lds_phases",), "arithmetic": "blackwell_rtx", "aliases": ()},
    {"name": "sm_120a", "title": "sm_120a (Blackwell, GeForce and RTX PRO)", "lds_copies": TMA, "series": ("rtx 50#0", "rtx pro ****",), "ptx": "8.7", "assumed": ("lds_phases",), "arithmetic": "blackwell_rtx", "aliases": ("gb202",),
     "fma_per_clock": {"f16": 512, "bf16": 512, "tf32": 256, "fp8": 1024, "int8": 1024, "fp4": 2048},
     "fma_source": "NVIDIA RTX Blackwell and RTX PRO Blackwell GPU Architecture, 2025",
     "memory_source": SOURCE_OF_MEMORY, "products": (("RTX PRO 6000", 188, 2.617, 1792), ("RTX 5090", 170, 2.407, 1792, GEFORCE_120), ("RTX 5080", 84, 2.617, 960, GEFORCE_120), ("RTX 5070", 48, 2.512, 672, GEFORCE_120), ("RTX 5060", 30, 2.497, 448, {**GEFORCE_120, **ASSUMED}))},
    {"name": "sm_120f", "title": "sm_120f (Blackwell family)", "lds_copies": TMA, "ptx": "8.8", "assumed": ("lds_phases",), "arithmetic": "blackwell_rtx", "aliases": ()},
    {"name": "sm_121", "title": "sm_121 (Blackwell, GB10)", "lds_copies": TMA, "ptx": "8.8", "assumed": ("lds_phases",), "arithmetic": "blackwell_rtx", "aliases": ()},
    {"name": "sm_121a", "title": "sm_121a (Blackwell, GB10)", "lds_copies": TMA, "ptx": "8.8", "assumed": ("lds_phases",), "arithmetic": "blackwell_rtx", "aliases": (),
     "memory_source": SOURCE_OF_MEMORY, "products": (("GB10", 48, None, 273, {**ASSUMED, "aliases": ("dgx spark", "spark")}),)},
    {"name": "sm_121f", "title": "sm_121f (Blackwell family, GB10)", "lds_copies": TMA, "ptx": "8.8", "assumed": ("lds_phases",), "arithmetic": "blackwell_rtx", "aliases": ()},
)
COMMON: dict[str, object] = {
    "vendor": "nvidia", "layout": "tensor-core", "waves": (32,), "unit": "SM",
    "notes": {"wmma": "NVIDIA leaves the fragments unspecified: these layouts are what ptxas 13.5 makes of wmma.load and store; not read from a GPU"},
    # Which lanes shared memory serves together: (access, bytes, banks, lanes, how sure, source). Published for sm_70 to sm_90.
    "lds_phases": (
        ("read", 4, 32, "0-31", "one source", "CUDA C++ Programming Guide, shared memory"),
        ("read", 8, 32, "0-15", "hardware-verified", "Nsight Compute on A100, zhihu p/690052715", {"merges": True}),
        ("read", 16, 32, "0-7", "hardware-verified", "Nsight Compute on A100, zhihu p/690052715", {"merges": True}),
        ("write", 4, 32, "0-31", "one source", "CUDA C++ Programming Guide, shared memory"),
        ("write", 8, 32, "0-15", "unconfirmed", "", {"merges": True}),
        ("write", 16, 32, "0-7", "unconfirmed", "", {"merges": True}),
        ("ldmatrix", 16, 32, "0-7", "one source", "CUTLASS, Swizzle<3,3,3> of halves"),
    ),
}

FP8 = "100a 100f 103a 103f 107a 107f 110a 110f 120a 120f 121a 121f"
FP4 = "120a 120f 121a 121f"
K_ONE_LANE = {"unconfirmed": {"K": "which lane of a quad the selector names: two sources, no measurement"}}
K_TWO_ROWS = {"unconfirmed": {"K": "which lane of the pair holds row r + 8: two sources, no measurement"}}
B_TF32 = {"unconfirmed": {"B": "the registers 2 and 3, by analogy with the 16-bit types"}}
PTXAS_ONLY = {"provenance": "one source"}  # not in the PTX ISA, or not as this type: ptxas takes it
WGMMA_SP = {"unconfirmed": {"K": "as in mma.sp, for each of the four warps"}}

# Tensor cores begin with Volta; of Turing's chips TU116 and TU117 lack them (NVIDIA Turing GPU Architecture, 2018).
WITHOUT_MATRIX_INSTRUCTIONS = {
    "sm_50": "tensor cores begin with Volta (sm_70)", "sm_52": "tensor cores begin with Volta (sm_70)",
    "sm_53": "tensor cores begin with Volta (sm_70)", "sm_60": "tensor cores begin with Volta (sm_70)",
    "sm_61": "tensor cores begin with Volta (sm_70)", "sm_62": "tensor cores begin with Volta (sm_70)",
    "pascal": "tensor cores begin with Volta (sm_70)", "maxwell": "tensor cores begin with Volta (sm_70)",
    "p100": "tensor cores begin with Volta (sm_70)", "p40": "tensor cores begin with Volta (sm_70)",
    "gtx 9#0": "tensor cores begin with Volta (sm_70)", "gtx 10#0": "tensor cores begin with Volta (sm_70)",
    "gtx 16#0": "Turing's chips TU116 and TU117 have no tensor cores",
}

INSTRUCTIONS = (
    # --- dense, 16-bit and 32-bit floating point ---
    ("mma.sync.aligned.m8n8k4.{row,col}.{row,col}.{f16.f16.f16.f16,f32.f16.f16.f16,f32.f16.f16.f32}", "6.4", "70+"),
    ("mma.sync.aligned.m16n8k8.row.col.{d=f16,f32}.f16.f16.{d}", "6.5", "75+"),
    ("mma.sync.aligned.m16n8k16.row.col.{d=f16,f32}.f16.f16.{d}", "7.0", "80+"),
    ("mma.sync.aligned.m16n8k{8,16}.row.col.f32.bf16.bf16.f32", "7.0", "80+"),
    ("mma.sync.aligned.m16n8k{4,8}.row.col.f32.tf32.tf32.f32", "7.0", "80+"),
    # --- dense, 64-bit floating point ---
    ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64{,.rn,.rz,.rm,.rp}", "7.0", "80+"),
    ("mma.sync.aligned.m16n8k{4,8,16}.row.col.f64.f64.f64.f64{,.rn,.rz,.rm,.rp}", "7.8", "90+"),
    # --- dense, 8, 6 and 4-bit floating point ---
    ("mma.sync.aligned.m16n8k16.row.col.{d=f16,f32}.{e4m3,e5m2}.{e4m3,e5m2}.{d}", "8.7", "89+"),
    ("mma.sync.aligned.m16n8k32.row.col.f16.{e4m3,e5m2}.{e4m3,e5m2}.f16", "8.7", "89+"),
    ("mma.sync.aligned.m16n8k32.row.col.f32.{e4m3,e5m2}.{e4m3,e5m2}.f32", "8.4", "89+"),
    ("mma.sync.aligned.m16n8k16.row.col.kind::f8f6f4.{d=f16,f32}.{e4m3,e5m2}.{e4m3,e5m2}.{d}", "8.7", FP8, PTXAS_ONLY),
    ("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.{d=f16,f32}.{e4m3,e5m2}.{e4m3,e5m2}.{d}", "8.7", FP8),
    ("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.{d=f16,f32}.{e4m3,e5m2}.{e3m2,e2m3,e2m1}.{d}", "8.7", FP4),
    ("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.{d=f16,f32}.{e3m2,e2m3,e2m1}.{e4m3,e5m2,e3m2,e2m3,e2m1}.{d}", "8.7", FP4),
    ("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale{,.scale_vec::1X}.f32.{e4m3,e5m2,e3m2,e2m3,e2m1}.{e4m3,e5m2,e3m2,e2m3,e2m1}.f32.ue8m0", "8.7", FP4),
    ("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale{,.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0", "8.7", FP4),
    ("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.{scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0,scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3}", "8.7", FP4),
    ("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0", "9.1", FP4),
    # --- dense, integers and single bits ---
    ("mma.sync.aligned.m8n8k16.row.col{,.satfinite}.s32.{s8,u8}.{s8,u8}.s32", "6.5", "75+"),
    ("mma.sync.aligned.m16n8k{16,32}.row.col{,.satfinite}.s32.{s8,u8}.{s8,u8}.s32", "7.0", "80+"),
    ("mma.sync.aligned.m8n8k32.row.col{,.satfinite}.s32.{s4,u4}.{s4,u4}.s32", "6.5", "75+"),
    ("mma.sync.aligned.m16n8k{32,64}.row.col{,.satfinite}.s32.{s4,u4}.{s4,u4}.s32", "7.0", "80+"),
    ("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", "7.0", "75+"),
    ("mma.sync.aligned.m16n8k{128,256}.row.col.s32.b1.b1.s32.xor.popc", "7.0", "80+"),
    ("mma.sync.aligned.{m8n8k128,m16n8k128,m16n8k256}.row.col.s32.b1.b1.s32.and.popc", "7.1", "80+"),
    # --- sparse: mma.sp, PTX 7.1 ---
    ("mma.sp.sync.aligned.m16n8k16.row.col.{d=f16,f32}.f16.f16.{d}", "7.1", "80+", K_ONE_LANE),
    ("mma.sp.sync.aligned.m16n8k32.row.col.{d=f16,f32}.f16.f16.{d}", "7.1", "80+"),
    ("mma.sp.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "7.1", "80+", K_ONE_LANE),
    ("mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32", "7.1", "80+"),
    ("mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "7.1", "80+", K_ONE_LANE),
    ("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", "7.1", "80+", B_TF32),
    ("mma.sp.sync.aligned.m16n8k32.row.col{,.satfinite}.s32.{s8,u8}.{s8,u8}.s32", "7.1", "80+", K_TWO_ROWS),
    ("mma.sp.sync.aligned.m16n8k64.row.col{,.satfinite}.s32.{s8,u8}.{s8,u8}.s32", "7.1", "80+"),
    ("mma.sp.sync.aligned.m16n8k64.row.col{,.satfinite}.s32.{s4,u4}.{s4,u4}.s32", "7.1", "80+", K_TWO_ROWS),
    ("mma.sp.sync.aligned.m16n8k128.row.col{,.satfinite}.s32.{s4,u4}.{s4,u4}.s32", "7.1", "80+"),
    ("mma.sp.sync.aligned.m16n8k64.row.col.f32.{e4m3,e5m2}.{e4m3,e5m2}.f32", "8.4", "89+"),
    # --- sparse: mma.sp::ordered_metadata, PTX 8.5 ---
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.{d=f16,f32}.f16.f16.{d}", "8.5", "80+", K_ONE_LANE),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.{d=f16,f32}.f16.f16.{d}", "8.5", "80+"),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "8.5", "80+", K_ONE_LANE),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32", "8.5", "80+"),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "8.5", "80+", K_ONE_LANE),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", "8.5", "80+", B_TF32),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col{,.satfinite}.s32.{s8,u8}.{s8,u8}.s32", "8.5", "80+", K_TWO_ROWS),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col{,.satfinite}.s32.{s8,u8}.{s8,u8}.s32", "8.5", "80+"),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col{,.satfinite}.s32.{s4,u4}.{s4,u4}.s32", "8.5", "80+", K_TWO_ROWS),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col{,.satfinite}.s32.{s4,u4}.{s4,u4}.s32", "8.5", "80+"),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f32.{e4m3,e5m2}.{e4m3,e5m2}.f32", "8.5", "89+"),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f16.{e4m3,e5m2}.{e4m3,e5m2}.f16", "8.7", FP4),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.{e4m3,e5m2}.{e4m3,e5m2}.f32", "8.7", FP8),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f16.{e4m3,e5m2}.{e4m3,e5m2}.f16", "8.7", FP4),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.{d=f16,f32}.{e4m3,e5m2}.{e3m2,e2m3,e2m1}.{d}", "8.7", FP4),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.{d=f16,f32}.{e3m2,e2m3,e2m1}.{e4m3,e5m2,e3m2,e2m3,e2m1}.{d}", "8.7", FP4),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::mxf8f6f4.block_scale{,.scale_vec::1X}.f32.{e4m3,e5m2,e3m2,e2m3,e2m1}.{e4m3,e5m2,e3m2,e2m3,e2m1}.f32.ue8m0", "8.7", FP4),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4.block_scale{,.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0", "8.7", "120a 121a"),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.{scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0,scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3}", "8.7", "120a 121a"),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0", "9.1", "120a 121a"),
    # --- loading, storing and transposing fragments ---
    ("ldmatrix.sync.aligned.m8n8.{x1,x2,x4}{,.trans}.shared.b16", "6.5", "75+"),
    ("ldmatrix.sync.aligned.m16n16.{x1,x2}.trans.shared.b8", "8.6", FP8),
    ("ldmatrix.sync.aligned.m8n16.{x1,x2,x4}.shared.b8x16.{b6x16_p32,b4x16_p64}", "8.6", FP8),
    ("ldmatrix.sync.aligned.m16n16.{x1,x2}.trans.shared.b8x16.{b6x16_p32,b4x16_p64}", "8.6", FP8),
    ("ldmatrix.sync.aligned.m8n16.{x1,x2,x4}.shared.s8.s4", "9.4", f"90a {FP8}", PTXAS_ONLY),
    ("stmatrix.sync.aligned.m8n8.{x1,x2,x4}{,.trans}.shared.b16", "7.8", "90+"),
    ("stmatrix.sync.aligned.m16n8.{x1,x2,x4}.trans.shared.b8", "8.6", FP8),
    ("movmatrix.sync.aligned.m8n8.trans.b16", "7.8", "75+"),
    # --- warpgroup instructions of Hopper ---
    ("wgmma.mma_async.sync.aligned.m64n{8..256..8}k16.{f16,f32}.f16.f16", "8.0", "90a"),
    ("wgmma.mma_async.sync.aligned.m64n{8..256..8}k16.f32.bf16.bf16", "8.0", "90a"),
    ("wgmma.mma_async.sync.aligned.m64n{8..256..8}k8.f32.tf32.tf32", "8.0", "90a"),
    ("wgmma.mma_async.sync.aligned.m64n{8..256..8}k32.{f16,f32}.{e4m3,e5m2}.{e4m3,e5m2}", "8.0", "90a"),
    ("wgmma.mma_async.sync.aligned.m64n{8,16,24,32..256..16}k32{,.satfinite}.s32.{s8,u8}.{s8,u8}", "8.0", "90a"),
    ("wgmma.mma_async.sync.aligned.m64n{8,16,24,32..256..16}k256.s32.b1.b1.and.popc", "8.0", "90a"),
    ("wgmma.mma_async.sp.sync.aligned.m64n{8..256..8}k32.{f16,f32}.f16.f16", "8.2", "90a", WGMMA_SP),
    ("wgmma.mma_async.sp.sync.aligned.m64n{8..256..8}k32.f32.bf16.bf16", "8.2", "90a", WGMMA_SP),
    ("wgmma.mma_async.sp.sync.aligned.m64n{8..256..8}k16.f32.tf32.tf32", "8.2", "90a", WGMMA_SP),
    ("wgmma.mma_async.sp.sync.aligned.m64n{8..256..8}k64.{f16,f32}.{e4m3,e5m2}.{e4m3,e5m2}", "8.2", "90a", WGMMA_SP),
    ("wgmma.mma_async.sp.sync.aligned.m64n{8,16,24,32..256..16}k64{,.satfinite}.s32.{s8,u8}.{s8,u8}", "8.2", "90a", WGMMA_SP),
    # --- wmma, whose fragments NVIDIA leaves unspecified: see `mmacalc.families.tensor_core` ---
    ("wmma.mma.sync.aligned.{row,col}.{row,col}.m16n16k16.{f16,f32}.{f16,f32}", "6.0", "70+", PTXAS_ONLY),
    ("wmma.mma.sync.aligned.{row,col}.{row,col}.{m8n32k16,m32n8k16}.{f16,f32}.{f16,f32}", "6.1", "70+", PTXAS_ONLY),
    ("wmma.mma.sync.aligned.{row,col}.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.s32.{t=s8,u8}.{t}.s32{,.satfinite}", "6.3", "72+", PTXAS_ONLY),
    ("wmma.mma.sync.aligned.{row,col}.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.f32.bf16.bf16.f32", "7.0", "80+", PTXAS_ONLY),
    ("wmma.mma.sync.aligned.{row,col}.{row,col}.m16n16k8.f32.tf32.tf32.f32", "7.0", "80+", PTXAS_ONLY),
    ("wmma.mma.sync.aligned.{row,col}.{row,col}.m8n8k4{,.rn,.rz,.rm,.rp}.f64.f64.f64.f64", "7.0", "80+", PTXAS_ONLY),
    ("wmma.mma.sync.aligned.{row,col}.{row,col}.m16n16k{8,16}{,.rn,.rz,.rm,.rp}.f64.f64.f64.f64", "7.0", "80+", PTXAS_ONLY),
    ("wmma.mma.sync.aligned.row.col.m8n8k32.s32.{t=s4,u4}.{t}.s32{,.satfinite}", "6.3", "75+", PTXAS_ONLY),
    ("wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", "6.3", "75+", PTXAS_ONLY),
    ("wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", "7.1", "80+", PTXAS_ONLY),
    ("wmma.load.{a,b}.sync.aligned.{row,col}.m16n16k16.shared.f16", "6.0", "70+", PTXAS_ONLY),
    ("wmma.load.{a,b}.sync.aligned.{row,col}.{m8n32k16,m32n8k16}.shared.f16", "6.1", "70+", PTXAS_ONLY),
    ("wmma.load.{a,b}.sync.aligned.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.shared.{s8,u8}", "6.3", "72+", PTXAS_ONLY),
    ("wmma.load.{a,b}.sync.aligned.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.shared.bf16", "7.0", "80+", PTXAS_ONLY),
    ("wmma.load.{a,b}.sync.aligned.{row,col}.m16n16k8.shared.tf32", "7.0", "80+", PTXAS_ONLY),
    ("wmma.load.{a,b,c}.sync.aligned.{row,col}.m8n8k4.shared.f64", "7.0", "80+", PTXAS_ONLY),
    ("wmma.load.{a.sync.aligned.row,b.sync.aligned.col}.m8n8k32.shared.{s4,u4}", "6.3", "75+", PTXAS_ONLY),
    ("wmma.load.{a.sync.aligned.row,b.sync.aligned.col}.m8n8k128.shared.b1", "6.3", "75+", PTXAS_ONLY),
    ("wmma.load.c.sync.aligned.{row,col}.m16n16k16.shared.{f16,f32}", "6.0", "70+", PTXAS_ONLY),
    ("wmma.load.c.sync.aligned.{row,col}.{m8n32k16,m32n8k16}.shared.{f16,f32}", "6.1", "70+", PTXAS_ONLY),
    ("wmma.load.c.sync.aligned.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.shared.s32", "6.3", "72+", PTXAS_ONLY),
    ("wmma.load.c.sync.aligned.{row,col}.{m8n8k32,m8n8k128}.shared.s32", "6.3", "75+", PTXAS_ONLY),
    ("wmma.load.c.sync.aligned.{row,col}.{m8n8k32,m8n8k128}.shared.f32", "6.3", "75+", PTXAS_ONLY),
    ("wmma.load.c.sync.aligned.{row,col}.m16n16k8.shared.f32", "7.0", "80+", PTXAS_ONLY),
    ("wmma.store.d.sync.aligned.{row,col}.m16n16k16.shared.{f16,f32}", "6.0", "70+", PTXAS_ONLY),
    ("wmma.store.d.sync.aligned.{row,col}.{m8n32k16,m32n8k16}.shared.{f16,f32}", "6.1", "70+", PTXAS_ONLY),
    ("wmma.store.d.sync.aligned.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.shared.s32", "6.3", "72+", PTXAS_ONLY),
    ("wmma.store.d.sync.aligned.{row,col}.{m8n8k32,m8n8k128}.shared.s32", "6.3", "75+", PTXAS_ONLY),
    ("wmma.store.d.sync.aligned.{row,col}.{m8n8k32,m8n8k128}.shared.f32", "6.3", "75+", PTXAS_ONLY),
    ("wmma.store.d.sync.aligned.{row,col}.m16n16k8.shared.f32", "7.0", "80+", PTXAS_ONLY),
    ("wmma.store.d.sync.aligned.{row,col}.m8n8k4.shared.f64", "7.0", "80+", PTXAS_ONLY),
)

# Instructions outside the matrix unit: (name, the lanes within which it moves data, targets); see
# `mmacalc.chaining.conversions`. Source: ptxas 13.0.88.
VECTOR_INSTRUCTIONS = (
    ("movmatrix.sync.aligned.m8n8.trans.b16", 32, "75+"),
    ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", 32, "75+"),
    ("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", 32, "75+"),
    ("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16", 32, "90+"),
    ("cvt.rn.f16x2.f32", 1, "80+"),
    ("cvt.rn.bf16x2.f32", 1, "80+"),
    ("cvt.f32.bf16", 1, "80+"),
    ("cvt.rna.tf32.f32", 1, "80+"),
    ("cvt.rn.satfinite.e4m3x2.f32", 1, "89+"),
    ("cvt.rn.satfinite.e5m2x2.f32", 1, "89+"),
    ("cvt.rn.satfinite.e4m3x2.f16x2", 1, "89+"),
    ("cvt.rn.satfinite.e5m2x2.f16x2", 1, "89+"),
    ("cvt.rn.satfinite.e2m3x2.f32", 1, FP8),
    ("cvt.rn.satfinite.e3m2x2.f32", 1, FP8),
    ("cvt.rn.satfinite.e2m1x2.f32", 1, FP8),
    ("cvt.pack.sat.s8.s32.b32", 1, "75+"),
    ("cvt.pack.sat.u8.s32.b32", 1, "75+"),
    ("cvt.pack.sat.s4.s32.b32", 1, "75+"),
    ("cvt.pack.sat.u4.s32.b32", 1, "75+"),
)

# The names of Tensor Memory's instructions, for lists; which target has which, and what other qualifiers they take,
# follows from the records' `tcgen05` and the rules of `mmacalc.catalog.grammar.tcgen05`. Of the two spellings of a scale vector's size one is listed.
COUNTS = "{x1,x2,x4,x8,x16,x32,x64,x128}"
SHAPES = "{32x32b,16x64b,16x128b,16x256b,16x32bx2}"
TENSOR_MEMORY = (
    "tcgen05.mma{,.sp}.cta_group::{1,2}.kind::{f16,tf32,f8f6f4,i8,ti16}",
    "tcgen05.mma{,.sp}.cta_group::{1,2}.kind::{mxf8f6f4.block_scale.block32,mxf4.block_scale.block32,mxf4nvf4.block_scale.block16,mxf4nvf4.block_scale.block32}",
    "tcgen05.mma.ws{,.sp}.cta_group::1.kind::{f16,tf32,f8f6f4,i8,ti16}",
    f"tcgen05.ld.sync.aligned.{SHAPES}.{COUNTS}{{,.pack::16b}}.b32",
    f"tcgen05.st.sync.aligned.{SHAPES}.{COUNTS}{{,.unpack::16b}}.b32",
    "tcgen05.cp.cta_group::{1,2}.{128x256b,128x128b,4x256b,64x128b.warpx2::02_13,64x128b.warpx2::01_23,32x128b.warpx4}{,.b8x16.b4x16_p64,.b8x16.b6x16_p32}",
    "tcgen05.shift.cta_group::{1,2}.down",
)
