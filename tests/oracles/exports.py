"""Compile the kernels that `generate` writes in other languages, and record what their compilers made of them.

    python tests/oracles/exports.py [--cutlass FOLDER] [--ck FOLDER --rocm FOLDER]

Those of Triton and Gluon need Triton 3.9; of CuTe the folder of CUTLASS 4, and nvcc 13; of ck_tile the folder of
Composable Kernel (that of FlashAttention 2.8.3), clang 22, and one with HIP 6.3's headers and device libraries. Cases
whose source has not changed, or whose compiler is not there, are kept. $CK_FLAGS: more of clang's options for ck_tile.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from exported_kernels import CASES, RECORD, product, recorded


def module_of(source, folder):
    """The module of a source of Python."""
    path = Path(folder) / "exported.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def by_triton(case, source, folder):
    """What Triton makes of a source: its compiled kernel, and the module."""
    from mmacalc.triton import compiled

    module = module_of(source, folder)
    kernel = next(value for name, value in vars(module).items() if name.startswith("gemm_"))
    made = product(case, 256, 256, 256)
    values = [made.a, made.b, *made.arguments[2:]]
    return compiled(kernel, case.arch, dict(zip(kernel.arg_names, values)), module.OPTIONS), module


def compiled_by_triton(case, source, folder):
    """The object, and what a launch needs."""
    import triton

    made, _ = by_triton(case, source, folder)
    metadata, target = made.metadata, made.metadata.target
    shape = {
        "compiler": f"Triton {triton.__version__}", "entry": metadata.name, "shared": metadata.shared,
        "threads": metadata.num_warps * target.warp_size,
        "layouts": [line.partition(" = ")[2] for line in made.asm["ttgir"].splitlines() if line.startswith("#mma")],
    }  # fmt: skip
    return (made.asm["hsaco"] if "hsaco" in made.asm else made.asm["ptx"].encode()), shape


def by_nvcc(case, source, folder, cutlass):
    """The PTX, and what a launch needs."""
    path = Path(folder) / "kernel.cu"
    path.write_text(source)
    command = [
        "nvcc",
        "-std=c++17",
        "--expt-relaxed-constexpr",
        f"-arch={case.arch}",
        "-I",
        f"{cutlass}/include",
        "-ptx",
        str(path),
        "-o",
    ]
    subprocess.run([*command, str(path.with_suffix(".ptx"))], check=True)
    version = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    threads = int(source.rpartition("<<<")[2].partition(">>>")[0].split(", ")[1])
    release = version.rpartition("release ")[2].partition(",")[0]
    shape = {"compiler": f"nvcc {release}, CUTLASS 4", "entry": "", "shared": 0, "threads": threads, "layouts": []}
    return path.with_suffix(".ptx").read_bytes(), shape


def by_clang(case, source, folder, ck, rocm):
    """The code object, and what a launch needs."""
    path = Path(folder) / "kernel.hip"
    path.write_text(source)
    command = ["clang++-22", "-x", "hip", f"--rocm-path={rocm}", f"--offload-arch={case.arch}", "--cuda-device-only"]
    command += ["-O3", "-std=c++17", "-w", "--no-gpu-bundle-output", "-I", f"{ck}/include"]
    command += ["-D__AMDGCN_WAVEFRONT_SIZE=64"]  # HIP 6.3's headers want what clang 22 no longer defines
    subprocess.run([*command, *os.environ.get("CK_FLAGS", "").split(), str(path), "-o", f"{path}.o"], check=True)
    threads = int(source.rpartition("<<<")[2].partition(">>>")[0].split(", ")[1])
    what = "clang 22, Composable Kernel of FlashAttention 2.8.3"
    shape = {"compiler": what, "entry": "gemm", "shared": 0, "threads": threads, "layouts": []}
    return Path(f"{path}.o").read_bytes(), shape


def compiled_by(case, source, folder, options):
    """The object, and what a launch needs; nothing where the compiler is not there."""
    if case.language == "cute":
        return by_nvcc(case, source, folder, options.cutlass) if options.cutlass else None
    if case.language == "ck_tile":
        return by_clang(case, source, folder, options.ck, options.rocm) if options.ck else None
    return compiled_by_triton(case, source, folder) if importlib.util.find_spec("triton") else None


def main():
    parser = argparse.ArgumentParser()
    for name in ("--cutlass", "--ck", "--rocm"):
        parser.add_argument(name)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    before, shapes, files = recorded() if RECORD.exists() else {}, {}, {}
    for case in CASES:
        source, (was, content, shape) = case.source, before.get(case.folder, ("", b"", {}))
        with tempfile.TemporaryDirectory() as folder:
            made = (content, shape) if was == source else compiled_by(case, source, folder, options)
            if made is None:
                continue
            content, shape = made
        print(case.folder, len(content), "kept" if was == source else "compiled", flush=True)
        shapes[case.folder] = shape
        files |= {f"{case.folder}/source": source.encode(), f"{case.folder}/object": content}
    with zipfile.ZipFile(RECORD, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in {"cases.json": json.dumps(shapes, indent=1).encode(), **files}.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED, 9)


if __name__ == "__main__":
    main()
