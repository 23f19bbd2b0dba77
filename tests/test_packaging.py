"""The source archive, and the wheel where there is no C compiler."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import mmacalc
from mmacalc.cli import answer, commands, manual
from mmacalc.cli.help import TOPICS

ROOT = Path(__file__).parents[1]


def test_the_source_archive_holds_every_file_and_folder_of_the_repository():
    text = (ROOT / "pyproject.toml").read_text()
    included = re.findall(r'"/([^"]+)"', text.partition("[tool.hatch.build.targets.sdist]")[2].partition("]")[0])
    assert all((ROOT / name).exists() for name in included)
    made = {"dist", "build", "LICENSE", "PKG-INFO", "pyproject.toml"}  # by builds, and what every archive holds
    own = {path.name for path in ROOT.iterdir() if path.name[0] != "." and not path.name.endswith(".egg-info")}
    assert own - {"__pycache__"} - made <= set(included)


@pytest.fixture
def hook(monkeypatch):
    """The hook that compiles the core into a wheel, with hatchling's classes as far as it uses them; no compiler."""
    name = "hatchling.builders.hooks.plugin.interface"
    interface = ModuleType(name)
    interface.BuildHookInterface = object
    parts = name.split(".")
    for end in range(1, len(parts)):
        monkeypatch.setitem(sys.modules, ".".join(parts[:end]), ModuleType(parts[end - 1]))
    monkeypatch.setitem(sys.modules, name, interface)
    monkeypatch.setenv("CC", "/no/such/compiler")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.CoreHook()
    made.root, made.target_name, made.warnings = str(ROOT), "wheel", []
    made.app = SimpleNamespace(display_warning=made.warnings.append)
    return made


def test_without_a_compiler_the_wheel_is_pure_python_and_says_so(hook, monkeypatch):
    data = {"force_include": {}}
    hook.initialize("standard", data)
    assert (data["force_include"], "tag" in data) == ({}, False)
    assert len(hook.warnings) == 1
    assert "will compute on NumPy" in hook.warnings[0]
    monkeypatch.setenv("MMACALC_BUILD_CORE", "1")
    with pytest.raises(OSError, match="no/such/compiler"):
        hook.initialize("standard", data)
    monkeypatch.setenv("MMACALC_BUILD_CORE", "0")
    hook.initialize("standard", data)
    assert data["force_include"] == {}


def test_a_wheel_has_a_manual_page_of_every_command_and_an_editable_install_has_none(hook, monkeypatch):
    monkeypatch.setenv("MMACALC_BUILD_CORE", "0")
    data = {"force_include": {}}
    hook.initialize("standard", data)
    names = ["mmacalc", *(f"mmacalc-{name}" for name in commands())]
    assert set(data["shared_data"].values()) == {f"share/man/man1/{name}.1" for name in names}
    assert {Path(path).read_text(): name for path, name in data["shared_data"].items()} == {
        text: f"share/man/man1/{name}" for name, text in manual.pages().items()
    }
    untouched = {"force_include": {}}
    hook.initialize("editable", untouched)
    assert untouched == {"force_include": {}}


def test_the_version_is_the_same_wherever_it_stands():
    def found(path, pattern):
        return re.findall(pattern, (ROOT / path).read_text(), re.M)

    version = mmacalc.__version__
    assert found("CHANGELOG.md", r"^## (\S+)")[0] == version
    assert found("contrib/vscode/package.json", r'^  "version": "(.*)"') == [version]
    assert found("docs/editors.md", r"mmacalc-(.*)\.vsix") == [version]
    assert found("CITATION.cff", r"^version: (.*)") == [version]


def test_nox_leaves_out_tests_that_there_are():
    text = (ROOT / "noxfile.py").read_text()
    names = re.findall(r'"(test_\w+)"', text.partition("WITH_PROGRAMS = [")[2].partition("]")[0])
    assert names
    assert all((ROOT / f"tests/{name}.py").exists() for name in names)


def test_help_names_no_document_that_an_installed_package_lacks():
    shown = "".join(answer([*words, "--help"]).out for words in ([], *([name] for name in commands())))
    shown += "".join(answer(["help", *topic]).out for topic in ([], *([name] for name in TOPICS)))
    assert not re.search(r"(?<![\w/.])(?:docs|src|tests|tools)/\w+", shown)
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    linked = re.findall(r"https://mmacalc\.github\.io/mmacalc/([\w-]+)\.html", shown)
    assert {"isa-errata", "json", "notation", "provenance", "start"} <= set(linked) <= pages
