"""Sessions for nox: the package on every Python that it supports, and as it is published.

    nox                        all of them; a Python that is not there is skipped
    nox -s tests-3.13          the tests that need nothing but Python packages, on one Python
    nox -s triton              kernels by Triton's newest compiler, for AMD and NVIDIA, run on the emulator
    nox -s tables              the decoder's tables, made again from LLVM 22: every target, five minutes
    nox -s package install     wheel and source archive, checked, and installed in fresh environments

`./test` runs everything on one Python, with the oracles that are programs of their own.
"""

import os
import shutil
import tarfile
from pathlib import Path

import nox

nox.options.default_venv_backend = "virtualenv"
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
PROJECT = nox.project.load_toml("pyproject.toml")
TEST_PACKAGES = nox.project.dependency_groups(PROJECT, "test")
DOCS_PACKAGES = nox.project.dependency_groups(PROJECT, "docs")
README_QUERY = ["-a", "MI300X", "-i", "v_mfma_f32_16x16x32_fp8_fp8", "-A", "-g", "-I", "3", "-K", "17"]
ANSWER = "A[3][17] = v0{35}.[15:8]"

# Tests whose oracle is a program: LLVM 22, clang, iga64, nvcc, Node, groff, a shell, a browser, or a font.
WITH_PROGRAMS = [
    "test_architecture_files", "test_asm_cli", "test_asm_goldens", "test_asm_llvm", "test_asm_properties",
    "test_builtins", "test_cycles_llvm", "test_docs", "test_dpas", "test_draw", "test_fuzz_cli", "test_generate",
    "test_generate_gemm",
    "test_completion", "test_manual", "test_notebook",
    "test_page", "test_page_build", "test_page_tables", "test_waits_llvm",
]  # fmt: skip


def run_tests(session: nox.Session) -> None:
    """The tests that need Python packages only."""
    left_out = [f"--ignore=tests/{name}.py" for name in WITH_PROGRAMS]
    session.run("python", "-m", "mmacalc.emulator.core", success_codes=[0, 1])  # without a compiler NumPy computes
    session.run("pytest", "-q", "-p", "no:cacheprovider", *left_out, *session.posargs)


def newest(pattern: str) -> Path:
    """The newest file of dist/ with such a name."""
    return max(Path("dist").glob(pattern), key=lambda path: path.stat().st_mtime)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The tests on one Python."""
    session.install("-e", ".", *TEST_PACKAGES)
    run_tests(session)


@nox.session
def docs(session: nox.Session) -> None:
    """The site, in build/site."""
    session.install(".", *DOCS_PACKAGES)
    session.run("sphinx-build", "-W", "--keep-going", "-q", "-j", "auto", "docs", "build/site")


@nox.session(default=False)
def triton(session: nox.Session) -> None:
    """Kernels as in Triton's tutorials, compiled by its newest wheel and run for nine targets, without a GPU."""
    session.install(".", "triton")
    session.run("python", "-W", "ignore", "tools/triton_kernels.py", *session.posargs)


@nox.session
def package(session: nox.Session) -> None:
    """Build wheel and source archive into dist/, and check what PyPI would show of them."""
    session.install("build", "twine")
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build", env={"MMACALC_BUILD_CORE": "0"})  # a wheel for every platform
    session.run("twine", "check", "--strict", *map(str, Path("dist").iterdir()))


@nox.session(python=PYTHONS)
def install(session: nox.Session) -> None:
    """The wheel of dist/ in an environment with nothing else: README's first command, and one that needs NumPy."""
    session.install(str(newest("*.whl").resolve()))
    for program in (["mmacalc"], ["python", "-m", "mmacalc"]):
        out = session.run(*program, *README_QUERY, silent=True)
        if ANSWER not in (out or ""):
            session.error(f"{program} answered {out}")
    session.run("mmacalc", "numerics", "-a", "MI300X", "-i", "v_mfma_f32_16x16x16_f16", silent=True)
    session.run("mmacalc", "help", "agents", silent=True)  # a document of the package
    session.run("mmacalc", "page", "-o", str(Path(session.create_tmp()) / "page.html"), silent=True)


@nox.session
def sdist(session: nox.Session) -> None:
    """The tests of the source archive in dist/, where it is unpacked."""
    folder = Path(session.create_tmp()).resolve()
    with tarfile.open(newest("*.tar.gz")) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = folder.glob("mmacalc-*")
    session.chdir(unpacked)
    session.install("-e", ".", *TEST_PACKAGES)
    run_tests(session)


@nox.session(default=False)
def tables(session: nox.Session) -> None:
    """Make the decoder's tables again from LLVM 22 (llvm-22-dev), every target or those that are named behind `--`, and
    compare with what is here.

    LLVM_HEADERS says where the headers are, if not in /usr/lib/llvm-22/include: `apt-get download llvm-22-dev` and
    `dpkg -x` put them anywhere.
    """
    folder = Path(session.create_tmp())
    headers = os.environ.get("LLVM_HEADERS", "/usr/lib/llvm-22/include")
    options = ["-std=c++17", "-O1", "-fno-rtti", f"-I{headers}", "-L/usr/lib/llvm-22/lib", "-l:libLLVM-22.so"]
    program = folder / "llvm_decoder"
    source = "tools/decoder_tables/llvm_decoder.cpp"
    session.run("clang++-22", source, "-o", str(program), *options, external=True)
    made = session.run(
        "python", "-m", "decoder_tables", str(program), *session.posargs, env={"PYTHONPATH": "src:tools"}, silent=True
    )
    here = Path("src/mmacalc/asm/instruction_tables.txt").read_text()
    lines = [line for line in (made or "").splitlines() if "|" in line or line.startswith("#")]
    if lines != here.splitlines():
        (folder / "instruction_tables.txt").write_text("\n".join(lines) + "\n")
        session.error(f"the tables differ from those that LLVM makes: {folder / 'instruction_tables.txt'}")
