"""Why is a kernel's D wrong? Compare it with the emulator's, and name the mistake that explains it.

`compare` re-runs an instruction on the kernel's inputs; `mistakes` and `roundings` are what it tries; `inputs` makes
test inputs, and `witness` finds a dot product that exposes how an instruction rounds.
"""
