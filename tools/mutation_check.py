"""How much of the data the tests hold: change one constant, run the tests, see whether they notice.

    python tools/mutation_check.py [--count 200] [--seed 1] [--only catalog] [--list]

The data are the constants of the catalog, the layout families, the arithmetic tables and the wait-state tables: every
number, every truth value, and every string that is a word of a closed vocabulary (a format, a provenance, a feature).
A mutation changes one of them in a copy of the source tree. It is caught if the tests fail: first those named beside
the file in FILES, then, if they pass, the whole suite. Survivors are listed with file, line and change.

A run of 200 takes about an hour on two cores, so it is no part of `./test`. With --quick only the tests named beside
the file run: the score is then a lower bound.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = "src/mmacalc"
COPIED = (
    "src", "tests", "docs", "examples", "hardware", "benchmarks", "tools", "pyproject.toml", "README.md",
    "CONTRIBUTING.md", "CHANGELOG.md", "matrix_calculator.py", "test",
)  # fmt: skip

# The data files, and for each the tests that are likeliest to notice (a prefix of their names is enough).
AMD_TESTS = (
    "catalog",
    "cycles_llvm",
    "asm_goldens",
    "amd_calculator",
    "cdna4",
    "cdna5",
    "estimate",
    "waits",
    "memory",
    "chain",
    "provenance",
    "transpose_loads",
)
FILES = {
    "catalog/cdna*.py": AMD_TESTS,
    "catalog/rdna*.py": AMD_TESTS,
    "catalog/ptx.py": (
        "catalog",
        "nvidia",
        "nvidia_layouts",
        "ptxas_13_5",
        "tensor_memory",
        "provenance",
        "estimate",
        "memory",
    ),
    "families/tensor_memory*.py": ("tensor_memory", "ptxas_13_5"),
    "families/descriptors.py": ("descriptors", "tensor_memory"),
    "families/mfma.py": ("layout", "catalog", "cdna4", "amd_calculator"),
    "families/wmma.py": ("layout", "cdna5", "amd_calculator", "transpose_loads"),
    "families/tensor_core.py": ("layout", "nvidia_layouts", "triton"),
    "families/wmma_fragments.py": ("nvidia",),
    "families/shared_memory.py": ("catalog_facts", "nvidia_layouts", "descriptors"),
    "families/amd.py": ("layout", "cdna4", "cdna5", "amd_calculator", "transpose_loads"),
    "arithmetic/*.py": ("arithmetic", "numerics", "diagnosis", "emulator"),
    "asm/[cegls]*s.py": ("asm_", "cdna4"),
    "hazards/tables.py": ("waits", "waits_llvm", "asm_goldens"),
}
WORDS = (
    ("e4m3", "e5m2"), ("e4m3fnuz", "e5m2fnuz"), ("f16", "bf16"), ("e8m0", "ue4m3"), ("required", "allowed", "none"),
    ("hardware-verified", "two sources agree", "one source", "unconfirmed", "assumed"), ("neg", "neg_c"), ("CU", "WGP"),
)  # fmt: skip


class Mutation(NamedTuple):
    """One changed constant: its file, its place there, and the texts before and after."""

    path: Path
    line: int
    column: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}:{self.column + 1}  {self.before} -> {self.after}"

    def applied(self) -> str:
        """The file's text with the change."""
        lines = self.path.read_bytes().split(b"\n")
        row = lines[self.line - 1]
        lines[self.line - 1] = row[: self.column] + self.after.encode() + row[self.end :]
        return b"\n".join(lines).decode()


def alternatives(node: ast.Constant) -> list[str]:
    """What a constant may become."""
    value = node.value
    if isinstance(value, bool):
        return [repr(not value)]
    if isinstance(value, int):
        return [repr(value + 1), repr(value - 1), repr(2 * value)] if value else ["1"]
    if isinstance(value, float):
        return [repr(round(value * 1.25, 6))]
    if isinstance(value, str):
        return [repr(other) for group in WORDS if value in group for other in group if other != value]
    return []


def mutations(path: Path) -> list[Mutation]:
    """Every mutation of a file's constants outside docstrings and messages."""
    tree = ast.parse(path.read_text())
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    skipped |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in skipped and node.lineno == node.end_lineno:
            assert node.end_col_offset is not None
            before = path.read_bytes().split(b"\n")[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
            found += [
                Mutation(path, node.lineno, node.col_offset, node.end_col_offset, before, after)
                for after in alternatives(node)
            ]
    return found


def chosen(count: int, seed: int, only: str) -> list[tuple[Mutation, tuple[str, ...]]]:
    """So many mutations with their likeliest tests: the files in turn, the constants of a file at random."""
    draw = random.Random(seed)
    queues = []
    for pattern, tests in FILES.items():
        for path in sorted((ROOT / SOURCE).glob(pattern)):
            if only in str(path) and path.name != "__init__.py":
                found = mutations(path)
                draw.shuffle(found)
                queues.append([(mutation, tests) for mutation in found])
    result: list[tuple[Mutation, tuple[str, ...]]] = []
    while len(result) < count and any(queues):
        queue = draw.choices(queues, weights=[len(queue) for queue in queues])[0]
        if queue:
            result.append(queue.pop())
    return result


def caught(mutation: Mutation, tests: tuple[str, ...], copy: Path, quick: bool) -> bool:
    """Whether the tests notice a mutation."""
    target = copy / mutation.path.relative_to(ROOT)
    original = target.read_text()
    target.write_text(mutation.applied())
    try:
        files = [str(p) for name in tests for p in sorted((copy / "tests").glob(f"test_{name}*.py"))]
        runs = [list(dict.fromkeys(files))] + [["-n", "2"]] * (not quick)
        return any(failed(arguments, copy) for arguments in runs)
    finally:
        target.write_text(original)


def failed(arguments: list[str], copy: Path) -> bool:
    """Whether pytest fails."""
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True).returncode != 0


def main() -> int:
    """Run the check and print its score; status 1 below 95 %."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="a part of the path")
    parser.add_argument("--quick", action="store_true", help="only the tests named beside the file")
    parser.add_argument("--list", action="store_true", help="print the mutations without running them")
    options = parser.parse_args()
    todo = chosen(options.count, options.seed, options.only)
    if options.list:
        print(*[mutation for mutation, _ in todo], sep="\n")
        return 0
    survivors = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.exists():
                shutil.copy(source, copy / name)
        for number, (mutation, tests) in enumerate(todo, 1):
            if not caught(mutation, tests, copy, options.quick):
                survivors.append(mutation)
                print(f"{number}/{len(todo)} survived: {mutation}", flush=True)
    score = 1 - len(survivors) / len(todo)
    print(f"{len(todo) - len(survivors)} of {len(todo)} mutations caught ({score:.1%}), seed {options.seed}")
    return int(score < 0.95)


if __name__ == "__main__":
    sys.exit(main())
