"""Intel's Xe with DPAS: Xe-HP, Xe-HPG, Xe-HPC, Xe2, Xe3P.

INSTRUCTIONS holds families of names, one line each, expanded as a shell expands braces:

    (names, generations[, {more}])

A name is iga64's mnemonic, systolic depth x repeat count, with the types of dst, src0, src1 and src2 (D, C, B, A):
`dpas.8x8.f.f.bf.bf` is `dpas.8x8 (16|M0) r40:f r30:f r20:bf r10.0:bf`. Shape, formats and K follow from it
(`mmacalc.catalog.grammar.dpas`). `more` may have provenance and unconfirmed, as in an AMD file. UNLISTED has further
names that are found but not listed: accumulators of which one is signed and the other is not.

waves is the execution size: the channels of 32 bits in a register. Sources: IGC's documentation/visa/instructions/
DPAS.md and DPASW.md, commit 98fff716, and what iga64 1.1.0 assembles for XeHP, XeHPG and XeHPC; for Xe2 the table of
Intel XMX combinations in sycl_ext_oneapi_matrix (intel/llvm).

Xe3P (CRI, Crescent Island) is described by IGC 98fff716 alone, which no one here has seen run: which sources BDPAS has
is in SpvSubgroupMMAResolution.cpp (populateSimd16ScaledTable) and IBiF_dpas.cl, where the scales lie in visa/G4_IR.cpp
(footprint of src3 and src4) and visa/G4_Verifier.cpp; intel-xpu-backend-for-triton (LinearLayoutConversions.cpp,
BlockScaledDPAS...) says the same of work items. dpas of 8 and 4 bits of floats is in IBiF_dpas.cl and HWCaps.inc
(hasDpasFP4), its other types in Triton's DPASEngineTypeXe3P.
"""

# Products: units and clocks are omitted: no rates are computed for Xe.
ARCHITECTURES: tuple[dict[str, object], ...] = (
    {
        "name": "xe-hp",
        "title": "Xe-HP",
        "waves": (8,),
        "aliases": ("xehp-sdv", "xe_hp_sdv", "arctic sound"),
        "targets": ("xehp-sdv",),
        "encoding": "Xe-HP DPAS",
        "assembly": "xe-hp",
        "register_alignment": 32,
    },
    {
        "name": "xe-hpg",
        "title": "Xe-HPG",
        "waves": (8,),
        "aliases": ("dg2", "alchemist", "arc alchemist", "dg2-g10", "dg2-g11", "dg2-g12", "acm-g10", "acm-g11", "acm-g12"),
        "targets": ("dg2-g10", "dg2-g11", "dg2-g12", "arl-h"),
        "encoding": "Xe-HP DPAS",
        "assembly": "xe-hp",
        "register_alignment": 32,
        "products": (
            ("Arc A770", None, None, {"target": "dg2-g10", "aliases": ("a770",)}),
            ("Arc A750", None, None, {"target": "dg2-g10", "aliases": ("a750",)}),
            ("Arc A580", None, None, {"target": "dg2-g10", "aliases": ("a580",)}),
            ("Arc A380", None, None, {"target": "dg2-g11", "aliases": ("a380",)}),
            ("Data Center GPU Flex 170", None, None, {"target": "dg2-g10", "aliases": ("flex 170",)}),
        ),
    },
    {
        "name": "xe-hpc",
        "title": "Xe-HPC",
        "waves": (16,),
        "aliases": ("pvc", "ponte vecchio"),
        "targets": ("pvc",),
        "encoding": "Xe-HPC DPAS",
        "assembly": "xe-hpc",
        "register_alignment": 64,
        "products": (
            ("Data Center GPU Max 1550", None, None, {"target": "pvc", "aliases": ("max 1550", "gpu max 1550")}),
            ("Data Center GPU Max 1100", None, None, {"target": "pvc", "aliases": ("max 1100", "gpu max 1100")}),
        ),
    },
    {
        "name": "xe2",
        "title": "Xe2",
        "waves": (16,),
        "aliases": ("battlemage", "bmg", "bmg-g21", "bmg-g31", "lunar lake", "lnl", "lnl-m", "xe2-hpg", "xe2-lpg"),
        "targets": ("bmg-g21", "bmg-g31", "lnl-m"),
        "register_alignment": 64,
        "products": (
            ("Arc B580", None, None, {"target": "bmg-g21", "aliases": ("b580",)}),
            ("Arc B570", None, None, {"target": "bmg-g21", "aliases": ("b570",)}),
        ),
    },
    {
        "name": "xe3p",
        "title": "Xe3P",
        "waves": (16,),
        "aliases": ("cri", "crescent island", "xe3p-cri", "xe3p_cri"),
        "targets": ("cri",),
        "register_alignment": 64,
        "provenance": "one source",
    },
)
COMMON: dict[str, object] = {
    "vendor": "intel",
    "layout": "dpas",
    "unit": "Xe-core",
    "notes": {
        "fused": "dpasw runs on two fused EUs, which share A: rows of the second half of its registers come from the second EU",
    },
}

ALL = "xe-hp xe-hpg xe-hpc xe2"
FUSED = "xe-hp xe-hpg"
WIDE = "xe-hpc xe2"
NEW = "xe3p"

HALF_RESULT = {
    "unconfirmed": {
        "C": "iga64 takes 16-bit accumulators before Xe-HPC; IGC and the OpenCL extension have them from Xe-HPC on",
        "D": "iga64 takes 16-bit results before Xe-HPC; IGC and the OpenCL extension have them from Xe-HPC on",
    }
}
FUSED_A = {"A": "which of the two fused EUs is the first: DPASW.md leaves it open"}
IGA_ONLY: dict[str, object] = {
    "provenance": "one source",
    "unconfirmed": {"A": "iga64 takes bf8 on Xe-HPC; IGC has FP8 from a later generation on", "B": "as A"},
}
INTEGERS = "{u8,s8,u4,s4,u2,s2}.{u8,s8,u4,s4,u2,s2}"

INSTRUCTIONS: tuple[tuple[object, ...], ...] = (
    ("dpas.8x{1..8..1}.f.f.{b=bf,hf}.{b}", ALL),
    ("dpas.8x{1..8..1}.{f.bf,bf.f,bf.bf}.bf.bf", WIDE),
    ("dpas.8x{1..8..1}.{f.hf,hf.f,hf.hf}.hf.hf", WIDE),
    ("dpas.8x{1..8..1}.{f.bf,bf.f,bf.bf}.bf.bf", FUSED, HALF_RESULT),
    ("dpas.8x{1..8..1}.{f.hf,hf.f,hf.hf}.hf.hf", FUSED, HALF_RESULT),
    ("dpas.8x{1..8..1}.f.f.tf32.tf32", WIDE),
    ("dpas.8x{1..8..1}.f.f.bf8.bf8", "xe-hpc", IGA_ONLY),
    ("dpas.8x{1..8..1}.{d=d,ud}.{d}." + INTEGERS, ALL),
    ("dpas.8x{1..8..1}.{f.f,f.bf,bf.f,bf.bf}.bf.bf", NEW),
    ("dpas.8x{1..8..1}.{f.f,f.hf,hf.f,hf.hf}.hf.hf", NEW),
    ("dpas.8x{1..8..1}.f.f.tf32.tf32", NEW),
    ("dpas.8x{1..8..1}.{f.f,f.bf,bf.f,bf.bf}.{bf8,hf8}.{bf8,hf8}", NEW),
    ("dpas.8x{1..8..1}.{f.f,f.bf,bf.f,bf.bf}.e2m1.e2m1", NEW),
    ("dpas.8x{1..8..1}.{d=d,ud}.{d}.{u8,s8}.{u8,s8}", NEW),
    ("bdpas.8x8.{f.f,f.bf,bf.f,bf.bf}.bf.bf", NEW),
    ("bdpas.8x8.{f.f,f.hf,hf.f,hf.hf}.hf.hf", NEW),
    ("bdpas.8x8.{f.f,f.bf,bf.f,bf.bf}.{bf8,hf8}.{bf8,hf8}", NEW),
    ("bdpas.8x8.{f.f,f.bf,bf.f,bf.bf}.e2m1.e2m1", NEW),
    ("dpasw.8x{1..8..1}.f.f.{b=bf,hf}.{b}", FUSED, {"unconfirmed": FUSED_A}),
    ("dpasw.8x{1..8..1}.{f.bf,bf.f,bf.bf}.bf.bf", FUSED, {"unconfirmed": {**FUSED_A, **HALF_RESULT["unconfirmed"]}}),
    ("dpasw.8x{1..8..1}.{f.hf,hf.f,hf.hf}.hf.hf", FUSED, {"unconfirmed": {**FUSED_A, **HALF_RESULT["unconfirmed"]}}),
    ("dpasw.8x{1..8..1}.{d=d,ud}.{d}." + INTEGERS, FUSED, {"unconfirmed": FUSED_A}),
)
UNLISTED = (
    ("dpas.8x{1..8..1}.{d.ud,ud.d}." + INTEGERS, ALL),
    ("dpasw.8x{1..8..1}.{d.ud,ud.d}." + INTEGERS, FUSED, {"unconfirmed": FUSED_A}),
)
WITHOUT_MATRIX_INSTRUCTIONS = {
    "dg1": "Xe-LP has no DPAS", "tgl": "Xe-LP has no DPAS", "adls": "Xe-LP has no DPAS", "mtl": "Xe-LPG has no DPAS",
    "arls": "Xe-LPG has no DPAS", "meteor lake": "Xe-LPG has no DPAS",
}  # fmt: skip
# vLLM runs kernels written for Xe2 on Xe3 (vllm-xpu-kernels, pull request 240), and Linux's xe driver describes it as Xe2.
_XE3 = "IGC's sources name no difference of Xe3's dpas from Xe2's and do not confirm that there is none; -a xe2 answers for Xe2"
NOT_COVERED = dict.fromkeys(("xe3", "xe3-lpg", "panther lake", "ptl", "ptl-h", "ptl-u", "wildcat lake", "wcl"), _XE3)
