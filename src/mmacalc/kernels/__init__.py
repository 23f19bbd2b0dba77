"""Whole kernels on emulated waves: a grid of workgroups, barriers, global memory and LDS.

launching   `launch`, which checks its arguments and runs a kernel
waves       the wave that a kernel gets: its coordinates, its LDS
lanes       numbers of which each lane has its own, such as threadIdx.x
scheduler   the order in which waves run: one at a time, the same order each time
memory      pointers into NumPy arrays, bounds-checked; stores take effect when the launch has succeeded
report      what a launch issued and moved
device      what kernels of every kind share: memory, races, findings
amd         compiled kernels of AMD, instruction by instruction
ptx         PTX kernels, statement by statement
loading     `load`, which reads the files of both
rocwmma     rocWMMA's fragments (public as `mmacalc.rocwmma`)
"""

from __future__ import annotations

from .device.launch import Dim3
from .lanes import PerLane
from .launching import launch
from .memory import Pointer
from .ptx.kernel import PtxKernel
from .report import Report
from .waves import Wave, current_wave

__all__ = ["Dim3", "PerLane", "Pointer", "PtxKernel", "Report", "Wave", "current_wave", "launch"]
