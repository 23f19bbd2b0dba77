"""What the documentation shows is what mmacalc answers: see tools/pages.py, which also brings the pages up to date."""

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import mmacalc
from mmacalc.cli import answer, command_parser, commands
from mmacalc.questions.classic import with_shape

ROOT = Path(__file__).parents[1]


def loaded(path):
    spec = spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pages = loaded(ROOT / "tools/pages.py")
PAGES = [page for page in pages.pages() if "generated" not in page.parts]
RUN = [page for page in PAGES if re.search(r"^```(console|pycon)$", page.read_text(), re.MULTILINE)]
ILLUSTRATIONS = {"asm", "cpp", "json", "lua", "python", "text", "toml", "yaml"}


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_output_and_picture_on_a_page_is_what_mmacalc_gives_now(page):
    found, pictures = pages.outputs(page.read_text())
    wrong = [(one.command, one.shown, one.now) for one in found if not one.right]
    assert not wrong, "run python tools/pages.py --update, and read what it changed"
    stale = [name for name, picture in pictures.items() if (pages.PICTURES / name).read_text() != picture]
    assert not stale, "run python tools/pages.py --update"


def test_every_picture_is_drawn_by_a_command_on_a_page_and_shown_on_one():
    text = "".join(page.read_text() for page in PAGES)
    for picture in pages.PICTURES.iterdir():
        assert f" -o {picture.name}" in text
        assert f"pictures/{picture.name})" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_is_not_run_on_a_page_is_an_illustration_or_a_command_for_the_readers_machine(page):
    for block in pages.blocks(page.read_text()):
        if block.language == "sh":  # those of testing.md are run by test_testing.py
            for line in block.lines:
                assert not re.match(r"mmacalc (?!completion|batch)", line) or parsed(line.partition(" >")[0])
        elif block.language not in ("console", "pycon") and not block.file:
            assert block.language in ILLUSTRATIONS or block.language.startswith("{")


def test_every_public_name_is_in_the_reference():
    text = "".join(page.read_text() for page in (ROOT / "docs/api").glob("*.md"))
    shown = set(re.findall(r"auto\w+:: mmacalc\.(\w+)", text))
    assert set(mmacalc.__all__) <= shown, f"name {sorted(set(mmacalc.__all__) - shown)} on a page of docs/api"


def test_the_pages_that_come_from_the_program_have_every_command_and_architecture():
    made = loaded(ROOT / "docs/reference.py").pages()
    assert all(f"\n## mmacalc {name}\n" in made["commands.md"] for name in commands())
    linked = "".join(page.read_text() for page in (ROOT / "docs").glob("*.md"))
    for name in mmacalc.architectures():
        assert f"# The instructions of {mmacalc.architecture(name).title}\n" in made[f"instructions-{name}.md"]
        assert name.endswith("f") or f"(generated/instructions-{name}.md)" in linked  # of a family: as its members


def parsed(command):
    """The options that a command line of mmacalc sets; an mmacalc.Error if it has another option, or lacks one."""
    first, *rest = words = pages.plain_words(command)
    if first in commands():
        return command_parser(first).parse_args(rest)
    return first == "help" or command_parser("").parse_args(with_shape(words))


def complete(command):
    """Whether a text is a whole command line, without the marks of something left out or of a pipe."""
    words = command.split()
    return words[-1] != "-h" and (words[1].startswith("-") or (words[1] in commands() and len(words) > 2))


def test_every_command_line_in_the_text_of_a_page_has_options_that_exist():
    found = 0
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for command in re.findall(r"`(mmacalc [^`]+)`", text):
            if complete(command) and not re.search(r"\.\.\.|\\?\||<|>", command):
                found += bool(parsed(command))
    assert found > 20


def test_every_example_in_a_help_text_has_options_that_exist():
    found = 0
    for name in ("", *commands()):
        text = re.sub(r" \\\n +", " ", answer([name, "--help"] if name else ["--help"]).out)
        for line in text.splitlines():
            command = re.split(r"  +", line.strip())[0]
            if line.startswith("    mmacalc ") and complete(command) and not re.search(r"[<>|]", command):
                found += bool(parsed(command))
    assert found > 40


def test_every_command_that_a_page_or_a_text_of_the_program_names_exists():
    texts = [*PAGES, *(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("*.md"), ROOT / "CHANGELOG.md"]
    named = {(path.name, name) for path in texts for name in re.findall(r"`mmacalc ([a-z][\w-]*)", path.read_text())}
    assert len(named) > 100
    assert not [(page, name) for page, name in named if name not in commands()]
