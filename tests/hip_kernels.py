"""Kernels of HIP, compiled by clang 22 for a target, remembered."""

from __future__ import annotations

from functools import cache

import mmacalc
from compiling import clang

OPTIONS = ("-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-w", "--no-gpu-bundle-output", "-O2")


@cache
def hip_kernels(source, target, *options):
    """The kernels of a source, by name. options: of clang, -O2 unless they say otherwise."""
    return mmacalc.load(clang(*OPTIONS, f"--offload-arch={target}", *options, text=source))


@cache
def assembled(text, target):
    """The kernels of an assembly text, by name: of `hip_listing`, perhaps changed."""
    return mmacalc.load(clang("-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", text=text, name="kernels.s"))


@cache
def hip_listing(source, target, *options):
    """The assembly text of a source."""
    return clang(*OPTIONS, f"--offload-arch={target}", "-S", *options, text=source).read_text()
