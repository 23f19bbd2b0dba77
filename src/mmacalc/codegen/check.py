"""Compile a generated kernel and look at what came out: the wanted matrix instructions, and no missing wait states."""

from __future__ import annotations

import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from ..asm.disassembler import disassemble
from ..asm.objects import read
from ..base.errors import Error
from ..base.records import TupleRecord, json_keys
from ..catalog import entry
from ..catalog.grammar.sass import sass_of
from ..hazards.lint import lint
from ..model.tensor_memory import TensorMemoryInstruction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..asm.objects import Section
    from ..hazards.lint import Finding
    from ..model import Instruction

__all__ = ["Checked", "check", "sass_products"]

CLANGS = ("clang-22", "clang-23", "clang-24", "amdclang", "clang", "/opt/rocm/llvm/bin/clang")

PTX_PRODUCTS = ("mma.", "wgmma.mma_async", "wmma.mma", "tcgen05.mma.")


class MissingWait(TupleRecord):
    """A line of the compiled kernel, and how many wait states are missing before it."""

    line: int
    missing: int


@json_keys(
    "instruction=instruction.name",
    "target",
    "compiler",
    "instructions",
    "matrix_instructions",
    "sass",
    "wanted: whether there are no other matrix instructions, and no wait state is missing",
    "findings=missing_waits",
    "scratch",
)
class Checked(TupleRecord):
    """What a compiled kernel contains.

    instruction: the wanted one; compiler: the program that compiled it; target: for which chip; instructions: how many
    there are; matrix_instructions: their mnemonics in order; findings: missing wait states, as `mmacalc.lint` has them;
    scratch: bytes of scratch (local) memory of a work-item, in which registers are spilled, at most of the kernels;
    single: whether there should be just one matrix instruction, rather than any number of the same. sass: of NVIDIA the
    matrix instructions of the machine code in order; None if no nvdisasm is installed.
    """

    instruction: Instruction
    compiler: str
    target: str
    instructions: int
    matrix_instructions: tuple[str, ...]
    findings: tuple[Finding, ...]
    single: bool
    sass: tuple[str, ...] | None = None
    scratch: int = 0

    @property
    def missing_waits(self) -> tuple[MissingWait, ...]:
        """The findings in short."""
        return tuple([MissingWait(finding.line, finding.missing) for finding in self.findings])

    @property
    def wanted(self) -> bool:
        """Whether there are no matrix instructions but the wanted one, and no wait state is missing."""
        return self.has_instructions and self.has_sass and not self.findings

    @property
    def has_instructions(self) -> bool:
        """Whether there are no matrix instructions but the wanted one."""
        found = self.matrix_instructions
        return set(found) == {self.instruction.name} and not (self.single and len(found) > 1)

    @property
    def becomes(self) -> str:
        """The SASS opcodes that the instruction is known to become; "" for none, or if that is not known."""
        if isinstance(self.instruction, TensorMemoryInstruction):
            return self.instruction.sass
        return sass_of(self.instruction, self.target)[0] if self.target.startswith("sm_") else ""

    @property
    def has_sass(self) -> bool:
        """Whether the machine code has just the opcodes that the instruction is known to become."""
        if self.sass is None or not self.becomes:
            return True
        counted = [text.partition("x") if text[0].isdigit() else ("1", "", text) for text in self.becomes.split(" + ")]
        wanted = {name: int(count) for count, _, name in counted if "MMA" in name}  # MOVM turns fragments over
        found = {name: self.sass.count(name) for name in self.sass}
        return found == wanted if self.single else set(found) == set(wanted)


def check(source: str, inst: Instruction, wave: int, single: bool = True) -> Checked:
    """Compile a generated kernel for the instruction's target and take it apart.

    Args:
        source, inst, wave: as generated. single: whether just one matrix instruction is expected.

    Raises:
        Error: no compiler is installed (names the package), or it refuses the source.
    """
    checks = {"cuda": _check_cuda, "hip": _check_hip}
    return checks[inst.architecture.family.language](source, inst, wave, single)


def _compiler(names: tuple[str, ...], package: str) -> str:
    for name in names:
        if found := _program(name):
            return found
    raise Error(f"--check needs {names[0]}, which is not installed: {package}")


def _program(name: str) -> str | None:
    """A program in PATH, or in one of NVIDIA's Python packages."""
    if found := shutil.which(name):
        return found
    for folder in sys.path:
        for path in glob.glob(os.path.join(glob.escape(folder or "."), "nvidia", "*", "bin", name)):
            return path
    return None


def _check_cuda(source: str, inst: Instruction, wave: int, single: bool) -> Checked:
    """nvcc's PTX has the instruction by its name, ptxas takes it, and SASS has what it becomes."""
    compiler = _compiler(("nvcc",), "install the CUDA toolkit, or pip install nvidia-cuda-nvcc")
    with tempfile.TemporaryDirectory() as folder:
        path, listing, code = (os.path.join(folder, name) for name in ("kernel.cu", "kernel.ptx", "kernel.cubin"))
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(source)
        _run([compiler, f"-arch={inst.arch}", "-ptx", path, "-o", listing])
        said = _run([compiler, f"-arch={inst.arch}", "-cubin", "-Xptxas", "-v", listing, "-o", code])
        with open(listing, encoding="utf-8") as stream:
            words = [line.split()[0] for line in stream if line.strip()]
        disassembler = _program("nvdisasm")
        sass = sass_products(_run([disassembler, "-c", code])) if disassembler else None
    statements = [word for word in words if word[0].isalpha()]
    found = tuple([word for word in words if word.startswith(PTX_PRODUCTS)])
    scratch = _most(r"(\d+) bytes spill stores", said)
    return Checked(inst, compiler, inst.arch, len(statements), found, (), single, sass, scratch)


def sass_products(listing: str) -> tuple[str, ...]:
    """The matrix instructions of a listing of nvdisasm.

    >>> sass_products("        /*0170*/                   HMMA.16816.F32 R8, R4, R2, R8 ;")
    ('HMMA.16816.F32',)
    """
    return tuple(re.findall(r"^\s*/\*[0-9a-f]+\*/\s+(?:@\S+\s+)?([A-Z]+MMA(?:\.\S+)?)\s", listing, re.MULTILINE))


def _check_hip(source: str, inst: Instruction, wave: int, single: bool) -> Checked:
    """clang's assembly is linted, and its object disassembled."""
    target = inst.architecture.targets[0]
    compiler = _compiler(CLANGS, "apt-get install clang-22 lld-22, or ROCm")
    size = ["-mwavefrontsize64"] if wave == 64 and len(inst.architecture.waves) > 1 else []
    command = [
        compiler, "-x", "hip", f"--offload-arch={target}", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-O2",
        "--no-gpu-bundle-output", *size, *_options(source),
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path, listing, code = (os.path.join(folder, name) for name in ("kernel.hip", "kernel.s", "kernel.o"))
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(source)
        _run([*command, "-S", path, "-o", listing])
        _run([*command, "-c", path, "-o", code])
        with open(listing, encoding="utf-8") as stream:
            written = stream.read()
        report = lint(written, target)
        with open(code, "rb") as stream:
            sections = read(stream.read(), "the compiled kernel", target).sections
    found = _mnemonics(sections, inst, wave)
    scratch = _most(r"\.private_segment_fixed_size: *(\d+)", written)
    return Checked(inst, compiler, target, report.instructions, found, tuple(report.findings), single, scratch=scratch)


def _options(source: str) -> list[str]:
    """The compiler's options that the head of a source asks for.

    >>> _options("// Compile with -mllvm -amdgpu-enable-vopd=0: behind WMMA, ...")
    ['-mllvm', '-amdgpu-enable-vopd=0']
    """
    found = re.search(r"^// Compile with ([^:]*):", source, re.MULTILINE)
    return shlex.split(found[1]) if found else []


def _most(pattern: str, text: str) -> int:
    return max((int(number) for number in re.findall(pattern, text)), default=0)


def _mnemonics(sections: tuple[Section, ...], inst: Instruction, wave: int) -> tuple[str, ...]:
    """The matrix instructions of the code, under their own names."""
    listed = entry(inst.arch)
    known = {spelling: one.name for one in listed.instructions() for spelling in (one.name, *one.aliases)}
    texts = [disassemble(section.code, inst.architecture.targets[0], wave=wave) for section in sections]
    words = [line.split()[0].removesuffix("_e64") for text in texts for line in text.splitlines() if line.strip()]
    return tuple([known[word] for word in words if word in known])


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip()[:200])
        raise Error(f"{os.path.basename(command[0])} refuses the generated source: {first}")
    return done.stdout + done.stderr
