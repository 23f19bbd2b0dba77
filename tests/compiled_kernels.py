"""The kernels of data/kernels.cl, compiled by clang 22 once for each target and level."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from compiling import clang
from mmacalc.asm.tables import FAMILY_OF

SOURCE = Path(__file__).parent / "data" / "kernels.cl"
TARGETS = sorted(FAMILY_OF)
LEVELS = {target: at % 4 for at, target in enumerate(TARGETS)}  # one optimisation level for each


@cache
def compiled(target, level):
    """The code object of -O0 to -O3."""
    options = ["-x", "cl", "-cl-std=CL2.0", "-Xclang", "-finclude-default-header", "-nogpulib", f"-O{level}"]
    made = clang("-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", *options, text=SOURCE.read_text(), name=SOURCE.name)
    return made.read_bytes()
