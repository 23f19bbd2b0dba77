"""Intel's AMX: tiles of 16 rows of 64 bytes, of Sapphire Rapids, Granite Rapids and Diamond Rapids.

Lines are (name, architectures, shape, formats, kind); see `mmacalc.catalog.grammar.stated`. The shapes are those of
whole tiles (palette 1); TILECFG can make them smaller. A lane is 32 bits of a row, a register a row of the tile.

Source: Intel's Software Developer's Manual, volume 2, the pseudo code of TDPBF16PS, TDPFP16PS and TDPBSSD and its kin:
elements of A's rows along k; of B each 32 bits of a row hold neighbours along k of one column; C and D row by row.
AMX-FP8 and AMX-TF32: Intel Architecture Instruction Set Extensions Programming Reference (319433), the same words.
"""

ARCHITECTURES: tuple[dict[str, object], ...] = (
    {
        "name": "amx-spr",
        "title": "AMX of Sapphire Rapids",
        "aliases": ("sapphire rapids", "spr", "emerald rapids", "emr", "amx"),
    },
    {
        "name": "amx-gnr",
        "title": "AMX of Granite Rapids",
        "aliases": ("granite rapids", "gnr"),
    },
    {
        "name": "amx-dmr",
        "title": "AMX of Diamond Rapids",
        "aliases": ("diamond rapids", "dmr"),
    },
)
# A: 32 bits of a row of A hold 4 bytes along k. B: of column j. e is how many elements 32 bits hold.
ROWS = "i (d e) -> lane (d), item (i e)"
PAIRS = "(d e) j -> lane (j), item (d e)"
SUMS: tuple[str, dict[str, int]] = ("i j -> lane (j), item (i)", {})
COMMON: dict[str, object] = {
    "vendor": "intel",
    "layout": "amx",
    "arithmetic": "amx",
    "waves": (16,),
    "unit": "core",
    "provenance": "one source",
    "patterns": {
        "tf32": {"A": (ROWS, {"e": 1}), "B": (PAIRS, {"e": 1}), "C": SUMS, "D": SUMS},
        "pairs": {"A": (ROWS, {"e": 2}), "B": (PAIRS, {"e": 2}), "C": SUMS, "D": SUMS},
        "fours": {"A": (ROWS, {"e": 4}), "B": (PAIRS, {"e": 4}), "C": SUMS, "D": SUMS},
    },
}

ALL, LATER, NEWEST = "amx-spr amx-gnr amx-dmr", "amx-gnr amx-dmr", "amx-dmr"

INSTRUCTIONS: tuple[tuple[object, ...], ...] = (
    ("tdpbf16ps", ALL, "16x16x32", {"A": "bf16", "B": "bf16", "C": "f32", "D": "f32"}, "pairs",
     {"aliases": ("_tile_dpbf16ps",)}),
    ("tdpfp16ps", LATER, "16x16x32", {"A": "f16", "B": "f16", "C": "f32", "D": "f32"}, "pairs",
     {"aliases": ("_tile_dpfp16ps",)}),
    ("tdpbssd", ALL, "16x16x64", {"A": "i8", "B": "i8", "C": "i32", "D": "i32"}, "fours",
     {"aliases": ("_tile_dpbssd",)}),
    ("tdpbsud", ALL, "16x16x64", {"A": "i8", "B": "u8", "C": "i32", "D": "i32"}, "fours",
     {"aliases": ("_tile_dpbsud",)}),
    ("tdpbusd", ALL, "16x16x64", {"A": "u8", "B": "i8", "C": "i32", "D": "i32"}, "fours",
     {"aliases": ("_tile_dpbusd",)}),
    ("tdpbuud", ALL, "16x16x64", {"A": "u8", "B": "u8", "C": "u32", "D": "u32"}, "fours",
     {"aliases": ("_tile_dpbuud",)}),
    ("tdpbf8ps", NEWEST, "16x16x64", {"A": "e5m2", "B": "e5m2", "C": "f32", "D": "f32"}, "fours",
     {"aliases": ("_tile_dpbf8ps",)}),
    ("tdpbhf8ps", NEWEST, "16x16x64", {"A": "e5m2", "B": "e4m3", "C": "f32", "D": "f32"}, "fours",
     {"aliases": ("_tile_dpbhf8ps",)}),
    ("tdphbf8ps", NEWEST, "16x16x64", {"A": "e4m3", "B": "e5m2", "C": "f32", "D": "f32"}, "fours",
     {"aliases": ("_tile_dphbf8ps",)}),
    ("tdphf8ps", NEWEST, "16x16x64", {"A": "e4m3", "B": "e4m3", "C": "f32", "D": "f32"}, "fours",
     {"aliases": ("_tile_dphf8ps",)}),
    ("tmmultf32ps", NEWEST, "16x16x16", {"A": "tf32", "B": "tf32", "C": "f32", "D": "f32"}, "tf32",
     {"aliases": ("_tile_mmultf32ps",)}),
)
