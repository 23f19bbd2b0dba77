"""What `mmacalc` offers explains itself: examples, arguments, errors, types, and plain words."""

import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mmacalc
from mmacalc.cli import commands
from sources import syntax_tree

SOURCE = Path(__file__).parents[1] / "src"
# Words that a reader of LLVM's or CUTLASS's documentation would stumble over, for ordinary ones.
ODD_WORDS = (
    r"nobody", r"whatever", r"in either case", r"what is given", r"mend(s|ed)?", r"so many", r"passed over",
    r"(?<!there )(?<!here )(is|are) no (?!longer|more|less|such|other|need)[a-z]+",
    r"(is|are) of (the|a) targets?", r"(is|are) of sm_\w+", r"there is at least", r"does not (go with|concern)",
    r"there is no [a-z]+ '", r"there are those", r"(negates|transposes) nothing",
    r"is not a shape of", r"a fault of mmacalc, not",
)  # fmt: skip


def public_functions():
    for name in mmacalc.__all__:
        thing = getattr(mmacalc, name)
        if not inspect.isclass(thing):
            yield name, inspect.unwrap(thing)
            continue
        for method in (each for each in dir(thing) if not each.startswith("_")):
            function = inspect.getattr_static(thing, method)
            function = getattr(function, "__func__", function)
            if inspect.isfunction(function) and function.__module__.startswith("mmacalc"):
                yield f"{name}.{method}", inspect.unwrap(function)


FUNCTIONS = dict(public_functions())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_has_an_example_and_describes_its_arguments_and_errors(name):
    function = FUNCTIONS[name]
    text, parameters = inspect.getdoc(function) or "", inspect.signature(function).parameters
    assert ">>> " in text, "no example; the doctests run it"
    assert "Args:" in text or len([each for each in parameters if each != "self"]) < 4
    assert "Raises:" in text or "raise Error" not in inspect.getsource(function)


def texts(path):
    """The strings of a module, docstrings included, with their lines. Names and keys of one word are no sentences."""
    for node in ast.walk(syntax_tree(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


def test_texts_are_in_plain_words():
    odd = re.compile(rf"\b({'|'.join(ODD_WORDS)})\b", re.IGNORECASE)
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {match[0]}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line, text in texts(path)
        for match in odd.finditer(" ".join(text.split()))
    ]
    assert found == []


def test_commands_and_functions_have_one_name_but_for_those_that_the_reference_lists():
    """Each row of the table says of a command what it is in Python, or of functions that no command is theirs."""
    page = (SOURCE.parent / "docs/api/index.md").read_text(encoding="utf-8")
    rows = [[re.findall(r"`([\w.-]+)`", re.sub(r"\([^)]*\)", "", cell)) for cell in line.strip("|").split("|")]
            for line in page.splitlines() if line.startswith("| ") and not line.startswith("| command")]  # fmt: skip
    assert len(rows) > 12
    functions = {name for name in mmacalc.__all__ if not inspect.isclass(getattr(mmacalc, name))}
    listed = {word for _, python in rows for word in python}
    for command, found in commands().items():
        [row] = [python for named, python in rows if command in named] or [None]
        assert row is not None or command.replace("-", "_") in functions, command
        assert set(found.older) <= {word for named, _ in rows for word in named} | {"lds-transpose"}
    same = {command.replace("-", "_") for command in commands()}
    assert functions - same - listed - {"architecture"} == set()  # the record that `architectures NAME` shows
    for name in listed - {"none"}:
        thing = mmacalc
        for part in name.split("."):
            thing = getattr(thing, part, None) or getattr(mmacalc.Instruction, part)


def test_architectures_and_families_are_not_known_by_name_outside_catalog_and_families():
    known = {"mfma", "tensor-core"}  # builtins and words of mnemonics are called mfma too
    names = {*mmacalc.architectures(), *mmacalc.families.FAMILIES} - known
    compared = re.compile(r"\.(vendor|layout|arch|name) (==|!=|in|not in) [\"'(\[]")
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        if {"catalog", "families"}.isdisjoint(path.parts):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if compared.search(line) and any(f'"{name}"' in line for name in names):
                    found.append(f"{path.name}:{number}: {line.strip()}")
    assert found == []


@pytest.mark.whole  # mypy --strict, which ./test runs, knows most of it
def test_every_type_of_the_public_interface_is_known(tmp_path):
    (tmp_path / "mmacalc").symlink_to(SOURCE / "mmacalc")
    command = [
        str(Path(sys.executable).with_name("basedpyright")),
        "--pythonpath",
        sys.executable,
        "--verifytypes",
        "mmacalc",
        "--ignoreexternal",
    ]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    report = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False).stdout
    assert [line for line in report.splitlines() if " - error: " in line] == []
    assert "Type completeness score: 100%" in report
