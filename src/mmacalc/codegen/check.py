"""Compile a generated kernel and look at what came out: the wanted matrix instructions, and no missing wait states."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections import namedtuple

from ..asm.disassembler import disassemble
from ..asm.objects import read
from ..catalog import entry
from ..errors import Error
from ..hazards.lint import lint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..asm.objects import Section
    from ..hazards.lint import Finding
    from ..model import Instruction

__all__ = ["Checked", "check_hip", "clang"]

CLANGS = ("clang-22", "clang-23", "clang-24", "amdclang", "clang", "/opt/rocm/llvm/bin/clang")


class Checked(namedtuple("Checked", "compiler target instructions matrix_instructions findings")):
    """What a compiled kernel contains.

    compiler: the program that compiled it; target: for which chip; instructions: how many there are;
    matrix_instructions: their mnemonics in order; findings: missing wait states, as `mmacalc.lint` gives them.
    """

    __slots__ = ()
    compiler: str
    target: str
    instructions: int
    matrix_instructions: tuple[str, ...]
    findings: tuple[Finding, ...]

    def wanted(self, inst: Instruction) -> bool:
        """Whether the only matrix instruction is the wanted one, and no wait state is missing."""
        return self.matrix_instructions == (inst.name,) and not self.findings


def clang() -> str:
    """The clang that compiles HIP.

    Raises:
        Error: none is installed; names the package.
    """
    for name in CLANGS:
        if found := shutil.which(name):
            return found
    raise Error("checking needs a clang for AMD GPUs: install clang-22 and lld-22 (Debian), or ROCm")


def check_hip(source: str, inst: Instruction, wave: int) -> Checked:
    """Compile a HIP kernel for the instruction's target and take it apart.

    Raises:
        Error: no clang is installed, or it refuses the source.
    """
    target, compiler = inst.architecture.targets[0], clang()
    size = ["-mwavefrontsize64"] if wave == 64 and len(inst.architecture.waves) > 1 else []
    command = [
        compiler, "-x", "hip", f"--offload-arch={target}", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-O2",
        "--no-gpu-bundle-output", *size,
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path, listing, code = (os.path.join(folder, name) for name in ("kernel.hip", "kernel.s", "kernel.o"))
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(source)
        _run([*command, "-S", path, "-o", listing])
        _run([*command, "-c", path, "-o", code])
        with open(listing, encoding="utf-8") as stream:
            report = lint(stream.read(), target)
        with open(code, "rb") as stream:
            sections = read(stream.read(), "the compiled kernel", target).sections
    return Checked(compiler, target, report.instructions, _mnemonics(sections, inst, wave), tuple(report.findings))


def _mnemonics(sections: tuple[Section, ...], inst: Instruction, wave: int) -> tuple[str, ...]:
    """The matrix instructions of the code, under their own names."""
    listed = entry(inst.arch)
    known = {spelling: one.name for one in listed.instructions() for spelling in (one.name, *one.aliases)}
    texts = [disassemble(section.code, inst.architecture.targets[0], wave=wave) for section in sections]
    words = [line.split()[0].removesuffix("_e64") for text in texts for line in text.splitlines() if line.strip()]
    return tuple([known[word] for word in words if word in known])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip()[:200])
        raise Error(f"{os.path.basename(command[0])} refuses the generated source: {first}")
