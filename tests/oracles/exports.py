"""Compile the kernels that `generate` writes in Triton, Gluon and CuTe, and record what their compilers made of them.

    python tests/oracles/exports.py CUTLASS     with Triton 3.9 installed, and the folder of CUTLASS 4 for nvcc 13

Without CUTLASS those of Triton and Gluon are compiled, and those of CuTe are kept. Cases whose source has not changed
are kept, too.
"""

import importlib.util
import json
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


def main(cutlass=""):
    warnings.simplefilter("ignore")
    before, shapes, files = recorded() if RECORD.exists() else {}, {}, {}
    for case in CASES:
        source, (was, content, shape) = case.source, before.get(case.folder, ("", b"", {}))
        with tempfile.TemporaryDirectory() as folder:
            if was != source and case.language == "cute" and cutlass:
                content, shape = by_nvcc(case, source, folder, cutlass)
            elif was != source and case.language != "cute":
                content, shape = compiled_by_triton(case, source, folder)
            elif was != source:
                continue
        print(case.folder, len(content), "kept" if was == source else "compiled", flush=True)
        shapes[case.folder] = shape
        files |= {f"{case.folder}/source": source.encode(), f"{case.folder}/object": content}
    with zipfile.ZipFile(RECORD, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in {"cases.json": json.dumps(shapes, indent=1).encode(), **files}.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED, 9)


if __name__ == "__main__":
    main(*sys.argv[1:])
