"""Arm's SME and SME2: outer products into the tiles of ZA, for streaming vector lengths (SVL) of 128 to 512 bits.

Lines are (name, architectures, shape, formats, kind); see `mmacalc.catalog.grammar.stated`. A name has the element sizes
of ZA's tile and of the two vectors: fmopa.s.h is FMOPA <ZAda>.S, <Pn>/M, <Pm>/M, <Zn>.H, <Zm>.H. The wave is the number
of 32-bit elements of a vector; M and N are that, K is how many elements each of them holds. A lane is 32 bits of a
vector, and of ZA a column; a register of ZA is a horizontal slice. All predicates are taken as true.

Source: Arm A64 Instruction Set Architecture (DDI 0602): FMOPA (non-widening; widening, 2-way, FP16 to FP32), BFMOPA
(widening), SMOPA, UMOPA, SUMOPA, USMOPA (4-way): each 32-bit container of the first source holds 2 (4) consecutive
columns of a row of the first matrix, each of the second that many consecutive rows of a column. The other names are
those of the Arm C Language Extensions.
"""

# SVL 512 is Apple's M4 ("Hello SME!", arXiv 2409.18779); others are allowed from 128 to 2048.
ARCHITECTURES: tuple[dict[str, object], ...] = (
    {"name": "sme-512", "title": "SME (SVL 512)", "waves": (16,), "aliases": ("sme", "sme2", "sme2-512", "m4 sme", "apple m4 sme", "mac m4 sme", "macbook m4 sme")},
    {"name": "sme-256", "title": "SME (SVL 256)", "waves": (8,), "aliases": ("sme2-256",)},
    {"name": "sme-128", "title": "SME (SVL 128)", "waves": (4,), "aliases": ("sme2-128",)},
)
FIRST, SECOND = "i e -> lane (i), item (e)", "e j -> lane (j), item (e)"
ZA: tuple[str, dict[str, int]] = ("i j -> lane (j), item (i)", {})
COMMON: dict[str, object] = {
    "vendor": "arm",
    "layout": "sme",
    "arithmetic": "sme",
    "unit": "core",
    "provenance": "one source",
    "patterns": {"outer": {"A": (FIRST, {}), "B": (SECOND, {}), "C": ZA, "D": ZA}},
}
EVERY = "sme-512 sme-256 sme-128"

INSTRUCTIONS: tuple[tuple[object, ...], ...] = (
    ("fmopa.s.s", EVERY, "vxvx1", {"A": "f32", "B": "f32", "C": "f32", "D": "f32"}, "outer",
     {"aliases": ("svmopa_za32_f32_m",)}),
    ("fmopa.s.h", EVERY, "vxvx2", {"A": "f16", "B": "f16", "C": "f32", "D": "f32"}, "outer",
     {"aliases": ("svmopa_za32_f16_m",)}),
    ("bfmopa.s.h", EVERY, "vxvx2", {"A": "bf16", "B": "bf16", "C": "f32", "D": "f32"}, "outer",
     {"aliases": ("svmopa_za32_bf16_m",)}),
    ("smopa.s.b", EVERY, "vxvx4", {"A": "i8", "B": "i8", "C": "i32", "D": "i32"}, "outer",
     {"aliases": ("svmopa_za32_s8_m",)}),
    ("umopa.s.b", EVERY, "vxvx4", {"A": "u8", "B": "u8", "C": "u32", "D": "u32"}, "outer",
     {"aliases": ("svmopa_za32_u8_m",)}),
    ("sumopa.s.b", EVERY, "vxvx4", {"A": "i8", "B": "u8", "C": "i32", "D": "i32"}, "outer",
     {"aliases": ("svsumopa_za32_s8_m",)}),
    ("usmopa.s.b", EVERY, "vxvx4", {"A": "u8", "B": "i8", "C": "i32", "D": "i32"}, "outer",
     {"aliases": ("svusmopa_za32_u8_m",)}),
)
