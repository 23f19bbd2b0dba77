"""The layers of pyproject.toml's import contract hold for what is imported by name as well as by statement."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mmacalc
from sources import syntax_tree

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
LAYERS = ast.literal_eval(re.search(r"^layers = (\[.*?^\])", (ROOT / "pyproject.toml").read_text(), re.M | re.S)[1])
RANK = {name: (rank, name) for rank, row in enumerate(LAYERS) for name in row.split(" | ")}
# The root sees every layer: it lists where the functions are that lower layers call, which `base.records` imports.
# The parts of `mmacalc.compiler` are in three layers, and it itself is a docstring.
EXEMPT = {"mmacalc", "mmacalc.__main__", "mmacalc.base.records", "mmacalc.compiler"}


def modules():
    for path in sorted((SOURCE / "mmacalc").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def layer(module):
    """The layer of a module: its number from the top, and its entry there."""
    while module not in RANK:
        module, dot, _ = module.rpartition(".")
        if not dot:
            return None
    return RANK[module]


def docstrings(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def named_imports(module, is_package, text):
    """What a module imports by name: the targets, absolute; what cannot be read is "?"."""
    if not re.search(r"import_module|__import__|[\"']mmacalc\.", text):
        return
    tree = ast.parse(text)
    package = module if is_package else module.rpartition(".")[0]
    skipped = {id(node) for node in docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in (
            "import_module", "__import__",
        ):  # fmt: skip
            name = node.args[0]
            if isinstance(name, ast.Constant):
                target = name.value
                skipped.add(id(name))
                yield f"{package}{target}" if re.match(r"\.\w", target) else "?" if target[0] == "." else target
            elif isinstance(name, ast.JoinedStr):
                start = ast.unparse(name)[2:]
                inside = start.startswith("{__name__}.") or (re.match(r"\.\{|\.\w", start) and len(node.args) == 2)
                yield f"{module}.x" if is_package and inside else "?"
            else:
                yield "?"
        elif (
            isinstance(node, ast.Constant)
            and id(node) not in skipped
            and re.fullmatch(r"mmacalc(\.\w+)+(:\w+)?", str(node.value))
        ):
            yield node.value.partition(":")[0]


def upward(module, is_package, text):
    """The imports by name of a module that are not of its own layer or of one below."""
    (rank, own) = layer(module)
    for target in named_imports(module, is_package, text):
        there = layer(target)
        if target == "?" or (there and (there[0] < rank or (there[0] == rank and there[1] != own))):
            yield target


def test_the_layers_import_in_one_direction_only():
    program = "from importlinter.cli import lint_imports; import sys; sys.exit(lint_imports())"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_every_module_has_a_layer():
    assert [module for module, _ in modules() if module not in EXEMPT and layer(module) is None] == []


def test_imports_by_name_obey_the_layers_too():
    found = {
        module: list(upward(module, path.name == "__init__.py", path.read_text(encoding="utf-8")))
        for module, path in modules()
        if module not in EXEMPT
    }
    assert {module: targets for module, targets in found.items() if targets} == {}


@pytest.mark.parametrize(
    "text",
    [
        "import importlib; importlib.import_module('mmacalc.cli.help')",
        "from importlib import import_module as im\nimport_module('..render.svg', __name__)",
        "import_module(name)",
        "import_module(f'mmacalc.{name}')",
        "LATE = 'mmacalc.emulator:multiply'",
        "__import__('mmacalc.drawing.matrix')",
    ],
)
def test_an_import_by_name_of_a_higher_layer_is_found(text):
    assert list(upward("mmacalc.model.operand", False, text))


@pytest.mark.parametrize(
    ("module", "is_package", "text"),
    [
        ("mmacalc.model.operand", False, "import_module('numpy')"),
        ("mmacalc.model.operand", False, "import_module('mmacalc.formats')"),
        ("mmacalc.families", True, "import_module(f'.{name}', __name__)"),
        ("mmacalc.catalog", True, "import_module(f'{__name__}.{name}')"),
        ("mmacalc.drawing.scene", False, "'mmacalc.catalog'"),
    ],
)
def test_an_import_by_name_of_the_own_layer_or_a_lower_one_is_fine(module, is_package, text):
    assert list(upward(module, is_package, text)) == []


def loaded_at_once(module, path):
    """The modules that a module imports when it is imported itself, not those that its functions import."""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in syntax_tree(path).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*package[: len(package) - node.level + 1], *(node.module.split(".") if node.module else [])]
            yield ".".join(base)
            yield from (".".join([*base, alias.name]) for alias in node.names)


def test_no_modules_import_each_other_in_a_circle():
    paths = dict(modules())
    ahead = {name: {each for each in loaded_at_once(name, path) if each in paths} for name, path in paths.items()}
    done, open_ = set(), []

    def walk(name):
        assert name not in open_, [*open_[open_.index(name) :], name]
        if name not in done:
            open_.append(name)
            for each in sorted(ahead[name]):
                if not f"{name}.".startswith(f"{each}."):  # a package is there before its modules
                    walk(each)
            done.add(open_.pop())

    for name in paths:
        walk(name)


def values_given_twice(path):
    """The constants, functions and classes that a module's own statements name more than once; overloads are one."""
    named = []
    for node in syntax_tree(path).body:
        if isinstance(node, ast.Assign):
            stored = (each for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name))
            named += [each.id for each in stored if isinstance(each.ctx, ast.Store)]
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            named.append(node.target.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.decorator_list:
            named.append(node.name)
    return {name for name in named if name != "_" and named.count(name) > 1}


def test_no_module_gives_two_values_to_one_name():
    """As when two modules with a constant of one name become one: the later value counts for both."""
    assert {module: names for module, path in modules() if (names := values_given_twice(path))} == {}


def test_the_public_names_of_the_stub_are_in_modules_that_there_are():
    assert len(dir(mmacalc)) > 60
    for name in dir(mmacalc):
        assert getattr(mmacalc, name) is not None
