"""Runs launches that tools/launch_recorder.cpp has recorded, and says what is found.

    python tools/recorded_launch.py FOLDER ...
    SCHEDULES=-,1,2 python tools/recorded_launch.py ...      each in other orders of the warps, too
    --back                                                   writes the memory back, as it is after the launch

With --back it carries out the launches of a program that is linked with the recorder, which then checks its results as
on a GPU: OUT=launch RUN="python tools/recorded_launch.py --back" ./program. Memory lies at the addresses that it had in
the program, so pointers in it hold. The status is 1 where a launch is refused, and 0 where it has findings.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np

from mmacalc import Error
from mmacalc.kernels.device import memory as device_memory
from mmacalc.kernels.ptx.compiler import compile_kernel
from mmacalc.kernels.ptx.kernel import PtxKernel
from mmacalc.kernels.ptx.launch import Launch
from mmacalc.ptx.reader import read


def run(folder: Path, back: bool) -> None:
    """Carry out a launch in each order, and print its findings."""
    entry, *sizes, shared, rest = (folder / "launch.txt").read_text().split("\n", 5)
    blocks = [tuple(map(int, line.split())) for line in rest.splitlines()]
    files = [folder / f"memory{number}" for number in range(len(blocks))]
    kernel = PtxKernel(read((folder / "kernel.ptx").read_text()), entry)
    given = (folder / "parameters").read_bytes()[: compile_kernel(kernel.module, entry).parameter_bytes]
    grid, block, cluster = (tuple(map(int, size.split())) for size in sizes)
    for word in os.environ.get("SCHEDULES", "-").split(","):
        memory = [(at, np.fromfile(file, np.uint8)) for (at, _), file in zip(blocks, files)]
        device_memory._kept_arrays = lambda memory=memory: memory
        began = time.process_time()
        report = Launch(kernel, grid, block, (), shared=int(shared), cluster=cluster, buffer=given,
                        schedule=None if word == "-" else int(word)).run()  # fmt: skip
        spent = time.process_time() - began
        print(f"{entry[:60]}, grid {grid}, order {word}: {len(report.findings)} findings, {spent:.0f} s", flush=True)
        for finding in report.findings:
            print(f"  {finding.kind}: line {finding.line}: {finding.text}: {finding.message}; {finding.other_line}")
    if back:
        for (_, array), file in zip(memory, files):
            array.tofile(file)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--back"]
    try:
        for one in words:
            run(Path(one), "--back" in sys.argv)
    except Error as error:
        sys.exit(f"{one}: {error}")
