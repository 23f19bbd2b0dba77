"""Apple's GPUs: simdgroup_matrix of M1 to M4, and the matmul2d fragments of M5.

Lines are (name, architectures, shape, formats, kind); see `mmacalc.catalog.grammar.stated`. A name is the function of
the Metal Shading Language with the shape and the types of D, A, B and C; of matmul2d, whose shape is in a descriptor,
the fragments that Apple's MLX gives to one call.

Sources: MLX (Apple, MIT), mlx/backend/metal/kernels/steel/gemm/mma.h (BaseMMAFrag::get_coord) and, at commit 1d90e7ff,
nax.h (BaseNAXFrag::get_coord and mma: the second fragment of B and of C lies behind the first). The map of 8x8 is also
that of MetalFlashAttention's simdgroup_matrix_internals.hpp. Which types may be mixed: llama.cpp's kernels for Metal.
Apple publishes neither rounding nor cycles.
"""

# A fragment of 8 x 8: the row is bits 4, 2 and 1 of the lane, the column its bits 3 and 0, and the item.
EIGHT = ("(r2 r1) (c2 c1 e) -> lane (r2 c2 r1 c1), item (e)", {"r1": 4, "c2": 2, "c1": 2, "e": 2})
# One of 16 x 16: four neighbours of a row in a lane, and rows 8 to 15 behind them; then a second fragment.
SIZES = {"r2": 2, "r1": 4, "c2": 2, "c1": 2, "e": 4}
ONE = ("(h r2 r1) (c2 c1 e) -> lane (r2 c2 r1 c1), item (h e)", SIZES)
TWO = ("(h r2 r1) (f c2 c1 e) -> lane (r2 c2 r1 c1), item (f h e)", SIZES)

ARCHITECTURES: tuple[dict[str, object], ...] = (
    {
        "name": "apple7",
        "title": "Apple M1 to M4",
        "aliases": ("apple8", "apple9", "apple m1", "apple m2", "apple m3", "apple m4"),
        "products": (
            ("M1", None, None, {"aliases": ("m1 pro", "m1 max", "m1 ultra")}),
            ("M2", None, None, {"aliases": ("m2 pro", "m2 max", "m2 ultra")}),
            ("M3", None, None, {"aliases": ("m3 pro", "m3 max", "m3 ultra")}),
            ("M4", None, None, {"aliases": ("m4 pro", "m4 max")}),
        ),
        "patterns": {"simdgroup": {"A": EIGHT, "B": EIGHT, "C": EIGHT, "D": EIGHT}},
    },
    {
        "name": "apple10",
        "title": "Apple M5",
        "aliases": ("apple m5",),
        "products": (("M5", None, None, {"aliases": ("m5 pro", "m5 max")}),),
        "provenance": "one source",
        "patterns": {"matmul2d": {"A": ONE, "B": TWO, "C": TWO, "D": TWO}},
    },
)
COMMON: dict[str, object] = {"vendor": "apple", "layout": "simdgroup", "waves": (32,), "unit": "core"}

INSTRUCTIONS: tuple[tuple[object, ...], ...] = (
    ("simdgroup_multiply_accumulate.8x8x8.f32.f32.f32.f32", "apple7", "8x8x8",
     {"A": "f32", "B": "f32", "C": "f32", "D": "f32"}, "simdgroup"),
    ("simdgroup_multiply_accumulate.8x8x8.f32.f16.f16.f32", "apple7", "8x8x8",
     {"A": "f16", "B": "f16", "C": "f32", "D": "f32"}, "simdgroup"),
    ("simdgroup_multiply_accumulate.8x8x8.f16.f16.f16.f16", "apple7", "8x8x8",
     {"A": "f16", "B": "f16", "C": "f16", "D": "f16"}, "simdgroup"),
    ("simdgroup_multiply_accumulate.8x8x8.f32.bf16.bf16.f32", "apple7", "8x8x8",
     {"A": "bf16", "B": "bf16", "C": "f32", "D": "f32"}, "simdgroup"),
    ("simdgroup_multiply_accumulate.8x8x8.bf16.bf16.bf16.bf16", "apple7", "8x8x8",
     {"A": "bf16", "B": "bf16", "C": "bf16", "D": "bf16"}, "simdgroup"),
    ("matmul2d.16x32x16.f32.f16.f16.f32", "apple10", "16x32x16",
     {"A": "f16", "B": "f16", "C": "f32", "D": "f32"}, "matmul2d"),
    ("matmul2d.16x32x16.f32.bf16.bf16.f32", "apple10", "16x32x16",
     {"A": "bf16", "B": "bf16", "C": "f32", "D": "f32"}, "matmul2d"),
)
