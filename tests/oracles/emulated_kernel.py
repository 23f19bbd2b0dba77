"""Runs generated CUDA kernels as PTX on the emulator; their PTX by nvcc is recorded, by the hash of the source.

`RECORD_PTX=1 ./test tests/test_generate.py` records what is missing (nvcc 13.0). With RECORD_PTX=no it is compiled, and
not recorded: so tools/ptx_deletions.py runs kernels that no test has.
"""

import hashlib
import os
import re
import subprocess
import zipfile
from pathlib import Path

import numpy as np

import mmacalc

RECORDED = Path(__file__).parents[1] / "data" / "ptx" / "generated.zip"
ATTENTION = RECORDED.with_name("attention.zip")
OLDEST = 75
"""The first target that nvcc 13 compiles for; its PTX has the instructions of those before."""


def code_of(source):
    """A source without its comments, which change no PTX."""
    return re.sub(r"[ \t]*//[^\n]*", "", source)


def ptx_of(source, target, folder, recorded=RECORDED):
    """The PTX of a CUDA source: recorded, or by nvcc if that is to be recorded."""
    number = int(re.search(r"\d+", target)[0])
    target = f"sm_{OLDEST}" if number < OLDEST else target
    whole, name = (
        f"{target}_{hashlib.sha256(text.encode()).hexdigest()[:16]}.ptx" for text in (source, code_of(source))
    )
    with zipfile.ZipFile(recorded) as archive:
        for known in {whole, name}.intersection(archive.namelist()):
            return archive.read(known).decode()
    assert os.environ.get("RECORD_PTX"), "the source is not the one whose PTX is recorded: see RECORD_PTX"
    (folder / "kernel.cu").write_text(source)
    subprocess.run(["nvcc", "-ptx", f"-arch={target}", "kernel.cu"], cwd=folder, check=True)
    text = re.sub(r"^//.*\n", "", (folder / "kernel.ptx").read_text(), flags=re.M)
    if os.environ["RECORD_PTX"] == "no":
        return text
    with zipfile.ZipFile(recorded, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(zipfile.ZipInfo(name, (2026, 11, 1, 0, 0, 0)), text, zipfile.ZIP_DEFLATED, 9)
    return text


class EmulatedKernel:
    """A generated CUDA kernel, compiled to PTX."""

    def __init__(self, inst, source, folder, wave=None, name=None):
        kernels = mmacalc.load(ptx_of(source, inst.targets[0], folder))
        name = name or next(iter(kernels))
        self.kernel = kernels[name]
        parameters = re.search(rf"__global__[^(]*?(?:\([^()]*\)[^(]*?)?\b{name}\(\s*([^)]*)\) \{{", source)[1]
        self.parameters = [re.split(r"[ *]", each.strip())[-1] for each in parameters.split(",")]
        self.group = 128 if "wgmma" in inst.features else 32

    def run(self, arguments, threads, blocks=(1, 1), alone=False, shared=None):
        """Run with {parameter: array or int}; arrays are written in place. The names of what was carried out.

        Args:
            alone: in another order of the warps, too. shared: bytes of dynamic shared memory.
        """
        given = [arguments[name] for name in self.parameters]
        values = [value if isinstance(value, np.ndarray) else np.int32(value) for value in given]
        shared = {"shared": shared} if shared else {}
        report = mmacalc.launch(self.kernel, blocks, threads, *values, schedule=1 if alone else None, **shared)
        assert report.findings == (), str(report)
        return [name for name, times in report.opcodes.items() for _ in range(-(-times // self.group))]
