"""Pages of the site that are written from the program: its commands, and the instructions of each architecture."""

from __future__ import annotations

import mmacalc
from mmacalc.catalog import entry
from mmacalc.cli import SUBCOMMANDS, answer


def pages() -> dict[str, str]:
    """The text of each page by its file name."""
    made = {"commands.md": commands()}
    for name in mmacalc.architectures():
        if mmacalc.architecture(name).vendor == "amd":
            made[f"instructions-{name}.md"] = instructions(name)
    return made


def commands() -> str:
    """What `-h` prints, of the classic command line and of every command."""
    text = "# Every command and option\n\nWhat `mmacalc -h` and `mmacalc COMMAND -h` print.\n"
    for name in ("", *SUBCOMMANDS):
        words = [name, "-h"] if name else ["-h"]
        text += f"\n## mmacalc {name}\n\n```text\n{answer(words).out}```\n"
    return text


def instructions(name: str) -> str:
    """The instructions of an architecture as a table; each links to the interactive page."""
    architecture = mmacalc.architecture(name)
    lines = [
        f"# The instructions of {architecture.title}",
        "",
        "Cycles are those for which one instruction occupies the matrix unit; registers are 32-bit registers of each"
        " lane, in the first wave size. A name leads to its layouts on the interactive page.",
        "",
        "| instruction | M x N x K | blocks | A, B, D | registers A, B, D | cycles |",
        "|---|---|---|---|---|---|",
    ]
    for inst in map(entry(name).instruction, entry(name).names):
        formats = [inst.formats[operand] for operand in "ABD"]
        registers = ", ".join(str(inst.operand(operand).registers) for operand in "ABD")
        link = f'<a href="../layouts.html#{name}/{inst.name}/D">{inst.name}</a>'
        shape = f"{inst.m} x {inst.n} x {inst.k}"
        lines.append(f"| {link} | {shape} | {inst.blocks} | {', '.join(formats)} | {registers} | {inst.cycles or '?'} |")
    return "\n".join(lines) + "\n"
