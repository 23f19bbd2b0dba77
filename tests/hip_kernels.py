"""Kernels of HIP, compiled by clang 22 for a target, remembered."""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path

import mmacalc
from llvm_mc import tool

OPTIONS = ("-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-w", "--no-gpu-bundle-output")


@cache
def hip_kernels(source, target, *options):
    """The kernels of a source, by name. options: of clang, -O2 unless they say otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernels.hip"
        path.write_text(source)
        command = [tool("clang"), *OPTIONS, f"--offload-arch={target}", "-O2", *options, "-o", f"{path}.hsaco", path]
        subprocess.run(command, check=True, capture_output=True)
        return mmacalc.load(f"{path}.hsaco")


@cache
def assembled(text, target):
    """The kernels of an assembly text, by name: of `hip_listing`, perhaps changed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernels.s"
        path.write_text(text)
        command = [tool("clang"), "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", path, "-o", f"{path}.hsaco"]
        subprocess.run(command, check=True, capture_output=True)
        return mmacalc.load(f"{path}.hsaco")


@cache
def hip_listing(source, target, *options):
    """The assembly text of a source."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernels.hip"
        path.write_text(source)
        command = [tool("clang"), *OPTIONS, f"--offload-arch={target}", "-O2", "-S", *options, "-o", "-", path]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
