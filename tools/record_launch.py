"""Runs a CUDA program on the emulator, and records one of its launches for tools/ptx_changes.py.

    python tools/record_launch.py FOLDER NUMBER ./gemm 512 512        the launch with that number, from 0

The program is linked with nvcc -cudart shared, as `mmacalc run-program` wants it. FOLDER gets launch.txt (the kernel,
its grid, block and cluster, shared memory, the address and size of each allocation), the parameters, the memory before
the launch, and the binary with the kernel's PTX.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from mmacalc.programs import running


class Recorder(running.Emulator):
    """An emulator of a program that writes one launch into a folder."""

    folder_of_launch: Path
    wanted: int

    def _launch(self, data: bytes, binary: str, *rest: str) -> None:
        if len(self.launches) == self.wanted:
            *sizes, shared, name = rest
            lines = [" ".join(sizes[first : first + 3]) for first in (0, 3, 6)]
            blocks = [f"{at} {len(array)}" for at, array in self.blocks.items()]
            to = self.folder_of_launch
            to.mkdir(parents=True, exist_ok=True)
            (to / "launch.txt").write_text("\n".join([name, *lines, shared, *blocks]) + "\n")
            (to / "parameters").write_bytes(data)
            shutil.copy(self.folder / f"binary{binary}", to / "program")
            for number, array in enumerate(self.blocks.values()):
                array.tofile(to / f"memory{number}")
        super()._launch(data, binary, *rest)


if __name__ == "__main__":
    Recorder.folder_of_launch, Recorder.wanted = Path(sys.argv[1]), int(sys.argv[2])
    running.Emulator = Recorder
    print(running.run_program(sys.argv[3:]).findings)
