"""The kernels of data/kernels.cl, compiled by clang 22 once for each target and level."""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path

from llvm_mc import tool
from mmacalc.asm.tables import FAMILY_OF

SOURCE = Path(__file__).parent / "data" / "kernels.cl"
TARGETS = sorted(FAMILY_OF)
LEVELS = {target: at % 4 for at, target in enumerate(TARGETS)}  # one optimisation level for each


@cache
def compiled(target, level):
    """The code object of -O0 to -O3."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernels.hsaco"
        options = ["-x", "cl", "-cl-std=CL2.0", "-Xclang", "-finclude-default-header", "-nogpulib", f"-O{level}"]
        command = [tool("clang"), "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", *options, SOURCE, "-o", path]
        subprocess.run(command, check=True, capture_output=True)
        return path.read_bytes()
