"""The compiler's side of the instructions: builtins called on registers.

call       executes clang's builtins (public as `mmacalc.intrinsics`)
packing    elements of lanes packed into registers
"""
