"""Questions: one new file adds one, and every function of the questions has a caller that tools can see."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sources import syntax_tree

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/mmacalc"
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
QUESTION = re.search(r"```python\n(.*?)```", GUIDE.partition("## Add a question")[2], re.S)[1]
ASKED = ["registers", "-a", "gfx942", "-i", "v_mfma_f32_32x32x8_f16", "--tile", "2x4"]


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of the package with the question of CONTRIBUTING.md in it, in one new file."""
    folder = tmp_path_factory.mktemp("package")
    shutil.copytree(SOURCE, folder / "mmacalc", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    (folder / "mmacalc/questions/registers.py").write_text(QUESTION, encoding="utf-8")
    return folder


def said(package, *words):
    environment = {**os.environ, "PYTHONPATH": str(package), "COLUMNS": "110"}
    done = subprocess.run([sys.executable, *words], env=environment, cwd=package, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout


def test_a_question_in_one_new_file_has_text_json_help_and_completion(package):
    told = said(package, "-m", "mmacalc", *ASKED)
    assert told == "A: 4\nB: 8\nD: 128\n140 registers of each lane\n"
    found = json.loads(said(package, "-m", "mmacalc", *ASKED, "--json"))
    assert found == {
        "schema_version": 2, "query": "registers", "architecture": "cdna3", "instruction": "v_mfma_f32_32x32x8_f16",
        "rows": 2, "columns": 4, "registers": {"A": 4, "B": 8, "D": 128}, "total": 140,
    }  # fmt: skip
    assert "    registers        count the registers that a tile of instructions needs\n" in said(
        package, "-m", "mmacalc", "-h"
    )
    own = said(package, "-m", "mmacalc", "registers", "-h")
    assert "--tile RxC" in own
    assert "mmacalc registers -a gfx942" in own
    assert said(package, "-m", "mmacalc", "completion", "words", "--", "regis") == "registers\n"
    assert said(package, "-m", "mmacalc", "completion", "words", "--", "registers", "--t") == "--tile\n"


def test_a_question_in_one_new_file_is_in_the_schema_and_in_the_documentation(package):
    program = f"import sys; sys.path.insert(0, {str(ROOT / 'tools')!r}); import schema; print(schema.made())"
    answer = json.loads(said(package, "-c", program))["$defs"]["answer registers"]
    assert answer["properties"]["registers"]["description"] == "of each lane, by operand"
    assert answer["required"] == ["architecture", "instruction", "rows", "columns", "registers", "total"]
    program = f"import sys; sys.path.insert(0, {str(ROOT / 'docs')!r}); import reference; print(reference.commands())"
    page = said(package, "-c", program)
    assert "## mmacalc registers\n" in page
    assert "| `--tile RxC` | rows and columns of instructions (default: 1x1) | registers |" in page


def names_used(tree):
    """The names that a module uses, and the attributes that it asks for, besides those that it defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names)


def test_every_function_of_the_questions_has_a_caller_that_tools_can_see():
    """In its own module by name; else in one that imports it by name, or asks the imported module for it."""
    trees = {path: syntax_tree(path) for path in SOURCE.rglob("*.py")}
    used = {path: set(names_used(tree)) for path, tree in trees.items()}
    imports = {path: imported(tree) for path, tree in trees.items()}
    without = []
    for folder in ("cli", "command", "questions", "render"):
        for path in sorted((SOURCE / folder).rglob("*.py")):
            module = path.parent.name if path.name == "__init__.py" else path.stem
            for function in trees[path].body:
                if not isinstance(function, ast.FunctionDef):
                    continue
                near = path.parent if path.name == "__init__.py" else path
                others = (used[at] for at in used if at != path and (at.parent == near or module in imports[at]))
                if function.name not in used[path] and not any(function.name in names for names in others):
                    without.append(f"{path.relative_to(SOURCE)}: {function.name}")
    root = (SOURCE / "__init__.py").read_text(encoding="utf-8")
    # the functions that write str() of answers are named in a table of the root
    public = re.findall(r'"(\w+)": "questions', root) + re.findall(
        r'"[\w.]+": "[\w.]+:(\w+)"', root
    )  # writers of str()
    assert [found for found in without if found.split(": ")[1] not in public] == []


def imported(tree):
    """The last words of the names of modules that a module imports."""
    return {
        word
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for word in ((node.module or "").split(".")[-1], *(alias.name for alias in node.names))
    }
