"""Why is a kernel's D wrong? Compare it with the emulator's, and name the mistake that explains it.

`compare.diagnose` is what users call. `problem` computes a product, or a whole GEMM, with changes. An explanation is a
sequence of at most two edits (`edits`), each of an operand, of D or of the sum, found by `search`, the cheapest first:
those of `library` (with `layouts`), and those that `solve` reads from D itself. `words` says them. `units` are rows,
lanes and tiles. `inputs` makes test inputs, and `witness` finds a dot product that exposes how an instruction rounds.
"""
