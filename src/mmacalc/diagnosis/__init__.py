"""Why is a kernel's D wrong? Compare it with the emulator's, and name the mistake that explains it.

`compare.diagnose` is what users call. `problem` computes a product, or a whole GEMM, with changes; `search` tries, the
cheapest first, the suspected mistakes of `mistakes.LIBRARY` (with `moves`, `layouts`, `conversions`, `scales`), of
`afterwards` and `partial`, and what `recovery` reads from D itself; `sums` are the orders and roundings of a right D.
`inputs` makes test inputs, and `witness` finds a dot product that exposes how an instruction rounds.
"""
