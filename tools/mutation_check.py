"""How much of the data the tests hold: change one constant, run the tests, see whether they notice.

    python tools/mutation_check.py [--count 200] [--seed 1] [--only catalog] [--quick] [--list] [--rerun FILE]

The data are the constants of the catalog, the layout families, the arithmetic models, the tables of encodings, of
wait states and of memory instructions: every number, every truth value, and every string that is a word of a closed
vocabulary (a format, a provenance, a feature) or a field of bits ("40:32"). Messages are left out.
A mutation changes one of them in a copy of the source tree. It is caught if the tests fail: first those named beside
the file in FILES, then, if they pass, the whole suite. With --quick only the former run: the score is then a lower
bound. Survivors are listed with file, line and change; --rerun tries again those that such a list names.

A test that fails is run on the unchanged copy as well, once, and must pass there: else every mutation would seem to be
caught. The order of the tests named beside a file is that in which they are likely to fail, the quick ones first; tests
that noticed a mutation of the file go before all others. Tests that run for much longer than on the unchanged copy have
noticed: a length of 0 may never end. A run of 200 takes about an hour on two cores, so it is no part of `./test`.
"""

from __future__ import annotations

import argparse
import ast
import multiprocessing
import os
import random
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = "src/mmacalc"
NOT_COPIED = (".git", ".venv*", "__pycache__", ".*_cache", ".nox", "build", "dist")

# The data files, and for each the tests that are likeliest to notice, in this order (a prefix of a name is enough).
# catalog/grammar/sass.py is not among them: its numbers choose only what a message about a misspelt name proposes.
AMD_TESTS = (
    "provenance", "catalog_facts", "catalog", "asm_goldens", "cycles_llvm", "amd_calculator", "transpose_loads",
    "cdna4", "cdna5", "waits", "memory", "chain", "estimate",
)  # fmt: skip
NVIDIA_TESTS = ("provenance", "catalog", "nvidia", "ptxas_13_5", "estimate", "memory", "tensor_memory")
FILES = {
    "formats.py": ("arithmetic_codecs", "catalog", "find", "asm_goldens"),
    "throughput.py": ("estimate",),
    "catalog/cdna*.py": AMD_TESTS,
    "catalog/rdna*.py": AMD_TESTS,
    "catalog/ptx.py": NVIDIA_TESTS,
    "catalog/xe.py": ("provenance", "catalog", "dpas"),
    "catalog/grammar/__init__.py": ("catalog", "amd_calculator", "asm_goldens"),
    "catalog/grammar/chips.py": ("catalog", "code_objects", "nvidia"),
    "catalog/grammar/dpas.py": ("dpas", "catalog_facts"),
    "catalog/grammar/[ps]*.py": (
        "provenance", "catalog", "nvidia", "ptxas_13_5", "catalog_facts", "estimate", "explain",
    ),
    "catalog/grammar/t*.py": ("tensor_memory_forms", "tensor_memory", "provenance", "catalog", "ptxas_13_5"),
    "families/tensor_memory*.py": ("tensor_memory_forms", "tensor_memory", "catalog_facts", "ptxas_13_5"),
    "families/descriptors.py": ("descriptors", "tensor_memory"),
    "families/__init__.py": ("catalog_facts", "nvidia_layouts", "nvidia", "dpas"),
    "families/dpas.py": ("dpas",),
    "families/tensor_core.py": ("nvidia_layouts", "triton", "layout"),
    "families/wmma_fragments.py": ("nvidia",),
    "families/shared_memory.py": ("catalog_facts", "descriptors", "nvidia_layouts"),
    "families/amd.py": ("catalog_facts", "catalog", "amd_calculator", "layout", "cdna4", "cdna5", "transpose_loads"),
    "arithmetic/codecs.py": ("arithmetic_codecs", "arithmetic", "diagnosis"),
    "arithmetic/[!cu]*.py": (
        "arithmetic_boundaries", "arithmetic_amd", "arithmetic_measured", "nvidia_hardware", "catalog_facts",
        "numerics", "arithmetic",
    ),
    "asm/code_objects.py": ("code_objects",),
    "asm/[gs]*s.py": ("asm_goldens", "asm_llvm", "asm_properties"),
    "asm/targets.py": ("code_objects", "asm_cli", "catalog"),
    "asm/en*s.py": ("asm_goldens", "asm_llvm"),
    "asm/dpas_encodings.py": ("dpas",),
    "asm/immediates.py": ("decoder",),
    "asm/operand_codes.py": ("asm_properties", "decoder", "asm_goldens"),
    "hazards/tables.py": ("waits",),
    "chaining/conversions.py": ("chain", "catalog_facts"),
    "compiler/[bd]*s.py": ("builtins", "intrinsics"),
    "kernels/amd/memory.py": ("access_names", "machine"),
    "kernels/amd/modifiers.py": ("lanes", "machine_modifiers"),
    "rocwmma/support.py": ("rocwmma",),
    "memory_access/swizzles.py": ("memory", "nvidia_layouts"),
    "model/instruction.py": ("catalog", "layout", "cdna4", "cdna5", "asm_goldens"),
}  # fmt: skip
WORDS = (
    ("e4m3", "e5m2"), ("e4m3fnuz", "e5m2fnuz"), ("f16", "bf16"), ("e8m0", "ue4m3"), ("required", "allowed", "none"),
    ("hardware-verified", "two sources agree", "one source", "unconfirmed", "assumed"), ("neg", "neg_c"), ("CU", "WGP"),
)  # fmt: skip
FIELD = re.compile(r"\d([\d:,]*\d)?")  # bits of an encoding, of which the last number is changed


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
        return [repr(other) for other in sorted({value + 1, value - 1, 2 * value} - {value, -1})]
    if isinstance(value, float):
        return [repr(round(value * 1.25, 6) or 1.0)]
    if isinstance(value, str) and FIELD.fullmatch(value):
        return [repr(value[:-1] + str(int(value[-1]) ^ 1))]
    if isinstance(value, str):
        return [repr(other) for group in WORDS if value in group for other in group if other != value]
    return []


def mutations(path: Path) -> list[Mutation]:
    """Every mutation of a file's constants outside docstrings and messages."""
    tree = ast.parse(path.read_text())
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    skipped |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Assign) and _is_for_checkers(node)}
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


def _is_for_checkers(node: ast.Assign) -> bool:
    """TYPE_CHECKING = False, which only type checkers look at."""
    return isinstance(node.targets[0], ast.Name) and node.targets[0].id == "TYPE_CHECKING"


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


def run_pytest(copy: Path, arguments: tuple[str, ...], output: Path) -> None:
    """Run pytest on a copy of the tree in this process, which ends with pytest's status."""
    with output.open("w") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    os.chdir(copy)
    os.environ["PYTHONPATH"] = str(copy / "src")
    sys.path.insert(0, str(copy / "src"))
    sys.dont_write_bytecode = True
    # Plugins of pytest that are loaded before it are no mistake here.
    quietly = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
    sys.exit(int(pytest.main([*quietly, "-x", "-q", "-p", "no:cacheprovider", *arguments])))


class UnsoundError(Exception):
    """A test fails on the unchanged copy too."""


class Checker:
    """Runs the tests in a copy of the tree. earlier: for each file the tests that noticed a mutation of it. sound: what
    passed on the unchanged copy. limit: the seconds after which tests are stopped."""

    def __init__(self, copy: Path, quick: bool) -> None:
        self.copy, self.quick, self.limit = copy, quick, 600.0
        self.earlier: dict[Path, dict[str, None]] = {}
        self.sound: set[tuple[str, ...]] = set()
        self.processes = multiprocessing.get_context("forkserver")
        self.processes.set_forkserver_preload(["pytest", "numpy", "ml_dtypes", "hypothesis.extra.numpy"])

    def caught(self, mutation: Mutation, tests: tuple[str, ...]) -> bool:
        """Whether the tests notice a mutation."""
        earlier = self.earlier.setdefault(mutation.path, {})
        first, second, *others = (*self.named(tests), "", "")
        stages = [(*earlier,), (first,), (second,), (*others,), ("-n", "2") * (not self.quick)]
        runs = (self.noticing(mutation, stage) for stage in [tuple(filter(None, stage)) for stage in stages] if stage)
        failing = next((test for test in runs if test is not None), None)
        if failing:
            earlier.pop(failing, None)
            self.earlier[mutation.path] = {failing: None, **earlier}
        return failing is not None

    def noticing(self, mutation: Mutation, stage: tuple[str, ...]) -> str | None:
        """The first test that fails with a mutation and passes without it; see `failing`."""
        target = self.copy / mutation.path.relative_to(ROOT)
        original = target.read_text()
        target.write_text(mutation.applied())
        try:
            failing = self.failing(stage, self.limit)
        finally:
            target.write_text(original)
        again = (failing,) if failing else stage
        if failing is None or again in self.sound:
            return failing
        start = time.monotonic()
        if self.failing(again, 3600) is not None:
            raise UnsoundError(" ".join(again))
        self.sound.add(again)
        enough = 60 + 3 * (time.monotonic() - start)
        if failing or enough <= self.limit:
            return failing
        self.limit = enough  # it was stopped too early
        return self.noticing(mutation, stage)

    def named(self, tests: tuple[str, ...]) -> tuple[str, ...]:
        """The files of the tests with these names, each once."""
        folder = self.copy / "tests"
        found = [sorted(f"tests/{path.name}" for path in folder.glob(f"test_{name}*.py")) for name in tests]
        assert all(found), f"no test has one of the names {tests}"
        return tuple(dict.fromkeys(name for names in found for name in names))

    def failing(self, arguments: tuple[str, ...], limit: float) -> str | None:
        """The first test that fails, without its parameters; "" if pytest fails otherwise or runs for longer than the
        limit in seconds, None if it passes."""
        output = self.copy.with_name("output")
        process = self.processes.Process(target=run_pytest, args=(self.copy, arguments, output))
        process.start()
        process.join(limit)
        if process.is_alive():
            process.kill()
            return ""
        if process.exitcode == 0:
            return None
        found = re.search(r"^FAILED (tests/\w+\.py::\w+)", output.read_text(errors="replace"), re.MULTILINE)
        return found[1] if found else ""


def main() -> int:
    """Run the check and print its score; status 1 below 95 %."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="a part of the path")
    parser.add_argument("--quick", action="store_true", help="only the tests named beside the file")
    parser.add_argument("--list", action="store_true", help="print the mutations without running them")
    parser.add_argument("--rerun", type=Path, metavar="FILE", help="the mutations that a list of survivors names")
    options = parser.parse_args()
    if options.rerun:
        lines = options.rerun.read_text()
        todo = [each for each in chosen(sys.maxsize, options.seed, options.only) if f"{each[0]}\n" in lines]
    else:
        todo = chosen(options.count, options.seed, options.only)
    if options.list:
        print(*[mutation for mutation, _ in todo], sep="\n")
        return 0
    survivors = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(*NOT_COPIED))
        checker = Checker(copy, options.quick)
        try:
            for number, (mutation, tests) in enumerate(todo, 1):
                if not checker.caught(mutation, tests):
                    survivors.append(mutation)
                    print(f"{number}/{len(todo)} survived: {mutation}", flush=True)
        except UnsoundError as error:
            print(f"it fails on the unchanged tree too: {error}")
            return 2
    score = 1 - len(survivors) / len(todo)
    print(f"{len(todo) - len(survivors)} of {len(todo)} mutations caught ({score:.1%}), seed {options.seed}")
    return int(score < 0.95)


if __name__ == "__main__":
    sys.exit(main())
