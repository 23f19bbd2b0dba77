"""Runs what the documentation shows: every command, every Python example, every picture.

    python tools/pages.py                      say what on the pages is not what mmacalc answers now
    python tools/pages.py --update             write what it answers now into the pages, and the pictures beside them
    python tools/pages.py docs/tutorial.md     only these pages

A page is Markdown. These fenced blocks of it are run, in their order, in an empty folder of the page's own:

    console     lines that begin with "$ " are commands (a backslash at the end continues one); the lines below each
                are its standard output, then its standard error
    pycon       Python with its prompts, as in a doctest; the examples of a page share their names
    any block with a :caption: is a file of that name, for the blocks below it

`...` in an expected output stands for any text, as in a doctest. A command line of `mmacalc` is answered in this
process, a shell runs every other one. The status of a command is 0, or of mmacalc 1 (a finding).
An SVG file that a command writes is a picture of docs/pictures. Blocks of other languages are not run; `sh` marks
commands for the reader's machine.
"""

from __future__ import annotations

import difflib
import doctest
import os
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from mmacalc.cli import answer

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs/pictures"
SHELL = set("|<>;&")
OPENING = re.compile(r"(`{3,})(?:\{code-block\} *)?(\S*)")


class Block(NamedTuple):
    """A fenced block: its language, the file it is, its lines, and the number of the first in the page."""

    language: str
    file: str
    lines: list[str]
    first: int


class Output(NamedTuple):
    """What was run: its text, the lines of the page that show its output (from, to), and what it is now."""

    command: str
    first: int
    last: int
    shown: str
    now: str

    @property
    def right(self) -> bool:
        """Whether the page shows what is so, with `...` for any text."""
        return doctest.OutputChecker().check_output(self.shown, self.now, doctest.ELLIPSIS)


def pages() -> list[Path]:
    """The pages with something to run: the documentation, the README and the guide to contributing."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, in their order."""
    found, lines, at = [], text.split("\n"), 0
    while at < len(lines):
        opened = OPENING.match(lines[at])
        at += 1
        if not opened:
            continue
        file = ""
        while option := re.match(r":(\w+): *(.*)", lines[at]):
            file = option[2] if option[1] == "caption" else file
            at += 1
        end = lines.index(opened[1], at)
        found.append(Block(opened[2], file, lines[at:end], at))
        at = end + 1
    return found


def commands(block: Block) -> list[tuple[str, int, int]]:
    """Each command of a console block, with the lines of the page (from, to) of its output."""
    starts = [at for at, line in enumerate(block.lines) if line.startswith("$ ")]
    found = []
    for at, following in zip(starts, [*starts[1:], len(block.lines)]):
        end = at
        while block.lines[end].endswith("\\"):
            end += 1
        found.append(("\n".join(block.lines[at : end + 1])[2:], block.first + end + 1, block.first + following))
    return found


def plain_words(command: str) -> list[str] | None:
    """The words of a command line of mmacalc that needs no shell; None of another."""
    lexer = shlex.shlex(command.replace("\\\n", " "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    words = list(lexer)
    return words[1:] if words[0] == "mmacalc" and not any(set(word) <= SHELL for word in words) else None


def run(command: str, folder: Path) -> str:
    """Standard output and standard error of a command.

    Raises:
        RuntimeError: it failed.
    """
    words = plain_words(command)
    if words is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as the program does
            status, out, err = answer(words)
    else:
        programs = f"{folder / '.programs'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": programs, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100"}
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment)
        status, out, err = done.returncode, done.stdout, done.stderr
    if status > (1 if "mmacalc" in command else 0):  # 1 is a finding
        raise RuntimeError(f"{command}: status {status}: {out}{err}")
    return out + err


class _Examples(doctest.DocTestRunner):
    """Runs a doctest and keeps what every example printed."""

    def __init__(self) -> None:
        super().__init__(verbose=True)
        self.printed: dict[doctest.Example, str] = {}

    def report_start(self, out, test, example) -> None:
        pass

    def report_success(self, out, test, example, got) -> None:
        self.printed[example] = got

    report_failure = report_success

    def report_unexpected_exception(self, out, test, example, exc_info) -> None:
        raise RuntimeError(f"{example.source}{exc_info[0].__name__}: {exc_info[1]}")


def run_examples(block: Block, names: dict[str, object]) -> list[Output]:
    """The outputs of a block of Python; what it defines is added to `names`."""
    test = doctest.DocTestParser().get_doctest("\n".join(block.lines) + "\n", names, "page", None, 0)
    test.globs = names
    runner = _Examples()
    runner.run(test, clear_globs=False)
    found = []
    for example in test.examples:
        first = block.first + example.lineno + example.source.count("\n")
        found.append(
            Output(example.source, first, first + example.want.count("\n"), example.want, runner.printed[example])
        )
    return found


def prepare(folder: Path) -> None:
    """What a reader has at hand: `mmacalc`, and the classic script and the examples of a clone."""
    (folder / ".programs").mkdir()
    for name, words in (("mmacalc", "-m mmacalc"), ("python", ""), ("python3", "")):
        program = folder / ".programs" / name
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n')
        program.chmod(0o755)
    for name in ("matrix_calculator.py", "examples"):
        (folder / name).symlink_to(ROOT / name)


def outputs(text: str) -> tuple[list[Output], dict[str, str]]:
    """Everything that a page runs, and the pictures that it makes by name."""
    found, names, here = [], {"__name__": "page"}, Path.cwd()
    lines = text.split("\n")
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        prepare(folder)
        try:
            os.chdir(folder)
            for block in blocks(text):
                if block.file:
                    (folder / block.file).write_text("\n".join(block.lines) + "\n")
                elif block.language == "pycon":
                    found += run_examples(block, names)
                elif block.language == "console":
                    for command, first, last in commands(block):
                        shown = "".join(f"{line}\n" for line in lines[first:last])
                        found.append(Output(command, first, last, shown, run(command, folder)))
        finally:
            os.chdir(here)
        return found, {path.name: path.read_text() for path in sorted(folder.glob("*.svg"))}


def updated(text: str, found: list[Output]) -> str:
    """The page with the outputs of now, where they are not what it shows."""
    lines = text.split("\n")
    for output in reversed(found):
        if not output.right:
            lines[output.first : output.last] = output.now.removesuffix("\n").split("\n") if output.now else []
    return "\n".join(lines)


def main(words: list[str]) -> int:
    """Check or update pages; 1 if one is not what it should be."""
    update = "--update" in words
    chosen = [Path(word).resolve() for word in words if word != "--update"] or pages()
    status = 0
    for page in chosen:
        text = page.read_text()
        try:
            found, pictures = outputs(text)
        except RuntimeError as problem:
            status = 1
            print(f"{page.relative_to(ROOT)}: {problem}")
            continue
        if (new := updated(text, found)) != text:
            status = 1
            change = difflib.unified_diff(text.split("\n"), new.split("\n"), lineterm="", n=1)
            print(f"{page.relative_to(ROOT)}:", *([] if update else list(change)[2:]), sep="\n")
            if update:
                page.write_text(new)
        for name, picture in pictures.items():
            kept = PICTURES / name
            if not kept.exists() or kept.read_text() != picture:
                status = 1
                print(f"docs/pictures/{name}: another picture")
                if update:
                    kept.write_text(picture)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
