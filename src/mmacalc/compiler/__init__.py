"""The compiler's side of the instructions: names of builtins and intrinsics; builtins called on registers.

builtins   clang's builtins and LLVM's intrinsics of every instruction
call       executes clang's builtins (public as `mmacalc.intrinsics`)
packing    elements of lanes packed into registers
"""
