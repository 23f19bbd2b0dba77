"""Waves that run Python kernels: a grid of workgroups, barriers, global memory and LDS.

launching   `launch`, which starts a kernel, and what it checks
waves       the wave that a kernel gets: its coordinates, its LDS
lanes       numbers of which each lane has its own, such as threadIdx.x
scheduler   which wave runs when: strict hand-over, the same order each time
memory      pointers into NumPy arrays, with bounds; what is written waits until the launch has succeeded
report      what a launch issued and moved
"""

from __future__ import annotations

from .lanes import PerLane
from .launching import launch
from .memory import Pointer
from .report import Report
from .waves import Dim3, Wave, current_wave

__all__ = ["Dim3", "PerLane", "Pointer", "Report", "Wave", "current_wave", "launch"]
