"""NVIDIA's matrix instructions as PTX names them, and the compilation targets that have them.

INSTRUCTIONS holds families, one line each, which `mmacalc.catalog.grammar.ptx` expands as a shell expands braces:

    (name, PTX version, targets[, {facts}])

    {s8,u8}        one of these                          {,.satfinite}   with or without
    {8..256..8}    8, 16 ... 256                         {d=f16,f32}     one of these, and the same at {d}

Targets: "80+" is sm_80 and every later target; otherwise a list. Shape, formats and whatever else the name says
are read from the name. The name is PTX's, qualifiers in documented order; `mmacalc.catalog.grammar.ptx.key` tells which
other orders mean the same. A family that PTX gained after 9.0 is refused: the reference is ptxas 13.0.

Sources: PTX ISA 9.1 (sections 9.7.14 and 9.7.15), CUTLASS 7107b055, ptxas 13.0.88 for what each target takes (12.9.86 for sm_70 and sm_72).
`unconfirmed` names the operand whose layout no second source confirms, and what about it.
"""

OUTSIDE = {"tcgen05": "works on tensor memory, not on fragments in a warp's registers"}

# name, marketing generation, PTX version that introduced the target, what people call its chips; dense FMA per clock
# and SM where NVIDIA publishes them, with the source (of sm_90a for wgmma, since mma.sync does not reach them)
ARCHITECTURES = (
    {"name": "sm_70", "title": "sm_70 (Volta)", "ptx": "6.0", "aliases": ("volta", "v100", "titan v", "gv100"), "fma_per_clock": {"f16": 512}, "fma_source": "NVIDIA Tesla V100 GPU Architecture, 2017"},
    {"name": "sm_72", "title": "sm_72 (Volta, Xavier)", "ptx": "6.1", "aliases": ("xavier", "jetson xavier", "agx xavier")},
    {"name": "sm_75", "title": "sm_75 (Turing)", "ptx": "6.3", "aliases": ("turing", "t4", "rtx 2060", "rtx 2070", "rtx 2080", "rtx 2080 ti", "titan rtx", "tu102"), "fma_per_clock": {"f16": 512, "int8": 1024, "int4": 2048}, "fma_source": "NVIDIA Turing GPU Architecture, 2018"},
    {"name": "sm_80", "title": "sm_80 (Ampere)", "ptx": "7.0", "aliases": ("ampere", "a100", "a800", "a30", "ga100"), "fma_per_clock": {"f16": 1024, "bf16": 1024, "tf32": 512, "int8": 2048, "int4": 4096, "f64": 64}, "fma_source": "NVIDIA A100 Tensor Core GPU Architecture, 2020"},
    {"name": "sm_86", "title": "sm_86 (Ampere)", "ptx": "7.1", "aliases": ("a2", "a10", "a16", "a40", "rtx a6000", "rtx 3060", "rtx 3070", "rtx 3080", "rtx 3090", "ga102"), "fma_per_clock": {"f16": 512}, "fma_source": "NVIDIA Ampere GA102 GPU Architecture, 2021"},
    {"name": "sm_87", "title": "sm_87 (Ampere)", "ptx": "7.4", "aliases": ("orin", "jetson orin", "agx orin")},
    {"name": "sm_88", "title": "sm_88 (Ampere)", "ptx": "9.0", "aliases": ()},
    {"name": "sm_89", "title": "sm_89 (Ada)", "ptx": "7.8", "aliases": ("ada", "ada lovelace", "l4", "l40", "l40s", "rtx 6000 ada", "rtx 4060", "rtx 4070", "rtx 4080", "rtx 4090", "ad102")},
    {"name": "sm_90", "title": "sm_90 (Hopper)", "ptx": "7.8", "aliases": ()},
    {"name": "sm_90a", "title": "sm_90a (Hopper)", "ptx": "8.0", "aliases": ("hopper", "h100", "h200", "h800", "h20", "gh200", "gh100"), "fma_per_clock": {"f16": 2048, "tf32": 1024, "fp8": 4096, "int8": 4096}, "fma_through": "wgmma", "fma_source": "derived from the peaks in NVIDIA H100 Tensor Core GPU Architecture, 2022"},
    {"name": "sm_100", "title": "sm_100 (Blackwell)", "ptx": "8.6", "aliases": ()},
    {"name": "sm_100a", "title": "sm_100a (Blackwell)", "ptx": "8.6", "aliases": ("blackwell", "b100", "b200", "gb200", "gb100")},
    {"name": "sm_100f", "title": "sm_100f (Blackwell family)", "ptx": "8.8", "aliases": ()},
    {"name": "sm_103", "title": "sm_103 (Blackwell Ultra)", "ptx": "8.8", "aliases": ()},
    {"name": "sm_103a", "title": "sm_103a (Blackwell Ultra)", "ptx": "8.8", "aliases": ("blackwell ultra", "b300", "gb300")},
    {"name": "sm_103f", "title": "sm_103f (Blackwell Ultra family)", "ptx": "8.8", "aliases": ()},
    {"name": "sm_110", "title": "sm_110 (Blackwell, Thor)", "ptx": "9.0", "aliases": ("sm_101",)},
    {"name": "sm_110a", "title": "sm_110a (Blackwell, Thor)", "ptx": "9.0", "aliases": ("thor", "jetson thor", "agx thor", "sm_101a")},
    {"name": "sm_110f", "title": "sm_110f (Blackwell family, Thor)", "ptx": "9.0", "aliases": ("sm_101f",)},
    {"name": "sm_120", "title": "sm_120 (Blackwell)", "ptx": "8.7", "aliases": ()},
    {"name": "sm_120a", "title": "sm_120a (Blackwell, GeForce and RTX PRO)", "ptx": "8.7", "aliases": ("rtx 5060", "rtx 5070", "rtx 5080", "rtx 5090", "rtx pro 6000", "gb202")},
    {"name": "sm_120f", "title": "sm_120f (Blackwell family)", "ptx": "8.8", "aliases": ()},
    {"name": "sm_121", "title": "sm_121 (Blackwell, GB10)", "ptx": "8.8", "aliases": ()},
    {"name": "sm_121a", "title": "sm_121a (Blackwell, GB10)", "ptx": "8.8", "aliases": ("gb10", "dgx spark", "spark")},
    {"name": "sm_121f", "title": "sm_121f (Blackwell family, GB10)", "ptx": "8.8", "aliases": ()},
)
COMMON = {"vendor": "nvidia", "layout": "tensor-core", "waves": (32,), "unit": "SM"}

FP8 = "100a 100f 103a 103f 110a 110f 120a 120f 121a 121f"
FP4 = "120a 120f 121a 121f"
K_ONE_LANE = {"unconfirmed": {"K": "which lane of a quad the selector names: two sources, no measurement"}}
K_TWO_ROWS = {"unconfirmed": {"K": "which lane of the pair holds row r + 8: two sources, no measurement"}}
B_TF32 = {"unconfirmed": {"B": "the registers 2 and 3, by analogy with the 16-bit types"}}
PTXAS_ONLY = {"provenance": "one source"}  # not in the PTX ISA; ptxas 13.0 takes it, as the same without .kind
WGMMA_SP = {"unconfirmed": {"K": "as in mma.sp, for each of the four warps"}}

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
    # --- wmma, whose fragments NVIDIA leaves unspecified: only the register counts are documented ---
    ("wmma.mma.sync.aligned.{row,col}.{row,col}.m16n16k16.{f16,f32}.{f16,f32}", "6.0", "70+"),
    ("wmma.mma.sync.aligned.{row,col}.{row,col}.{m8n32k16,m32n8k16}.{f16,f32}.{f16,f32}", "6.1", "70+"),
    ("wmma.mma.sync.aligned.{row,col}.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.s32.{t=s8,u8}.{t}.s32{,.satfinite}", "6.3", "72+"),
    ("wmma.mma.sync.aligned.{row,col}.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.f32.bf16.bf16.f32", "7.0", "80+"),
    ("wmma.mma.sync.aligned.{row,col}.{row,col}.m16n16k8.f32.tf32.tf32.f32", "7.0", "80+"),
    ("wmma.mma.sync.aligned.{row,col}.{row,col}.m8n8k4{,.rn,.rz,.rm,.rp}.f64.f64.f64.f64", "7.0", "80+"),
    ("wmma.mma.sync.aligned.row.col.m8n8k32.s32.{t=s4,u4}.{t}.s32{,.satfinite}", "6.3", "75+"),
    ("wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", "6.3", "75+"),
    ("wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", "7.1", "80+"),
    ("wmma.load.{a,b}.sync.aligned.{row,col}.m16n16k16.shared.f16", "6.0", "70+"),
    ("wmma.load.{a,b}.sync.aligned.{row,col}.{m8n32k16,m32n8k16}.shared.f16", "6.1", "70+"),
    ("wmma.load.{a,b}.sync.aligned.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.shared.{s8,u8}", "6.3", "72+"),
    ("wmma.load.{a,b}.sync.aligned.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.shared.bf16", "7.0", "80+"),
    ("wmma.load.{a,b}.sync.aligned.{row,col}.m16n16k8.shared.tf32", "7.0", "80+"),
    ("wmma.load.{a,b,c}.sync.aligned.{row,col}.m8n8k4.shared.f64", "7.0", "80+"),
    ("wmma.load.{a.sync.aligned.row,b.sync.aligned.col}.m8n8k32.shared.{s4,u4}", "6.3", "75+"),
    ("wmma.load.{a.sync.aligned.row,b.sync.aligned.col}.m8n8k128.shared.b1", "6.3", "75+"),
    ("wmma.load.c.sync.aligned.{row,col}.m16n16k16.shared.{f16,f32}", "6.0", "70+"),
    ("wmma.load.c.sync.aligned.{row,col}.{m8n32k16,m32n8k16}.shared.{f16,f32}", "6.1", "70+"),
    ("wmma.load.c.sync.aligned.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.shared.s32", "6.3", "72+"),
    ("wmma.load.c.sync.aligned.{row,col}.{m8n8k32,m8n8k128}.shared.s32", "6.3", "75+"),
    ("wmma.load.c.sync.aligned.{row,col}.m16n16k8.shared.f32", "7.0", "80+"),
    ("wmma.store.d.sync.aligned.{row,col}.m16n16k16.shared.{f16,f32}", "6.0", "70+"),
    ("wmma.store.d.sync.aligned.{row,col}.{m8n32k16,m32n8k16}.shared.{f16,f32}", "6.1", "70+"),
    ("wmma.store.d.sync.aligned.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.shared.s32", "6.3", "72+"),
    ("wmma.store.d.sync.aligned.{row,col}.{m8n8k32,m8n8k128}.shared.s32", "6.3", "75+"),
    ("wmma.store.d.sync.aligned.{row,col}.m16n16k8.shared.f32", "7.0", "80+"),
    ("wmma.store.d.sync.aligned.{row,col}.m8n8k4.shared.f64", "7.0", "80+"),
)
