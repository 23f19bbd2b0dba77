"""Pages of the site that are written from the program: its commands, and the instructions of each architecture."""

from __future__ import annotations

import re
from collections import Counter

import mmacalc
from mmacalc import Instruction
from mmacalc.catalog import entry
from mmacalc.cli import answer
from mmacalc.cli import commands as all_commands
from mmacalc.cli.help import guide
from mmacalc.model.architecture import PROVENANCES

MANY = 80  # instructions: more are shown by kind and shape
ORPHAN = "---\norphan: true\n---\n\n"  # not in the contents beside each page: the pages of the vendors link here


def pages() -> dict[str, str]:
    """The text of each page by its file name."""
    made = {"commands.md": commands(), "provenance.md": provenance()}
    for name in mmacalc.architectures():
        made[f"instructions-{name}.md"] = families(name) if len(entry(name).names) > MANY else instructions(name)
    return made


def commands() -> str:
    """What `--help` prints, of the classic command line and of every command."""
    text = (
        "# Every command and option\n\nWhat `mmacalc --help`, `mmacalc COMMAND --help`, `mmacalc help TOPIC` print.\n"
    )
    for name in ("", *all_commands()):
        words = [name, "--help"] if name else ["--help"]
        text += f"\n## mmacalc {name}\n\n```text\n{answer(words).out}```\n"
    text += options()
    for topic in guide().topics:
        text += f"\n## mmacalc help {topic}\n\n```text\n{answer(['help', topic]).out}```\n"
    return text


def options() -> str:
    """Every option, as the commands describe it, with the commands that have it so."""
    having: dict[tuple[str, str], list[str]] = {}
    for name, command in all_commands().items():
        for option in command.options:
            if option.spellings:
                written = ", ".join(f"`{way} {option.placeholder}`".replace(" `", "`") for way in option.spellings)
                having.setdefault((written, option.help), []).append(name)
    rows = [f"| {written} | {text} | {', '.join(names)} |" for (written, text), names in sorted(having.items())]
    return (
        "\n## Every option of the commands\n\n| option | what it is | commands |\n|---|---|---|\n"
        + "\n".join(rows)
        + "\n"
    )


def provenance() -> str:
    """How many instructions of each architecture have each provenance."""
    text = "| architecture | " + " | ".join(PROVENANCES) + " |\n" + "|---" * (len(PROVENANCES) + 1) + "|\n"
    for name in mmacalc.architectures():
        count = Counter(entry(name).instruction(each).provenance for each in entry(name).names)
        cells = [str(count[provenance] or "") for provenance in PROVENANCES]
        text += f"| {mmacalc.architecture(name).title} | {' | '.join(cells)} |\n"
    return text


def families(name: str) -> str:
    """The instructions of an architecture by kind and shape, where hundreds differ in types and qualifiers only."""
    architecture = mmacalc.architecture(name)
    lines = [ORPHAN + f"# The instructions of {architecture.title}", "",
             f"`mmacalc -a {name} -L` lists the names. A kind leads to its first on the interactive page.", "",
             "| instruction | M x N x K | A | D | names |", "|---|---|---|---|---|"]  # fmt: skip
    groups: dict[tuple[str, str], list[Instruction]] = {}
    for inst in map(entry(name).instruction, entry(name).names):
        kind = re.split(r"\.sync|\.\dx", inst.name)[0]  # PTX's names, and Intel's
        groups.setdefault((kind, f"{inst.m}x{inst.n}x{inst.k}"), []).append(inst)
    for (kind, shape), members in groups.items():
        link = f'<a href="../layouts.html#{name}/{members[0].name}">{kind}</a>'
        a, d = (", ".join(dict.fromkeys(inst.formats.get(operand, "") for inst in members)) for operand in "AD")
        lines.append(f"| {link} | {shape} | {a} | {d} | {len(members)} |")
    if tensor_memory := entry(name).tensor_memory_names:
        kinds = ", ".join(dict.fromkeys(".".join(each.split(".")[:2]) for each in tensor_memory))
        text = f"Then {len(tensor_memory)} of Tensor Memory, of which several shapes go by one name: {kinds}."
        lines += ["", f"{text} [More on them](../nvidia.md#tcgen05-tensor-memory)."]
    return "\n".join(lines) + "\n"


def instructions(name: str) -> str:
    """The instructions of an architecture as a table; each links to the interactive page."""
    architecture = mmacalc.architecture(name)
    lines = [
        ORPHAN + f"# The instructions of {architecture.title}",
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
        shape = f"{inst.m}x{inst.n}x{inst.k}"
        lines.append(
            f"| {link} | {shape} | {inst.blocks} | {', '.join(formats)} | {registers} | {inst.cycles or '?'} |"
        )
    return "\n".join(lines) + "\n"
