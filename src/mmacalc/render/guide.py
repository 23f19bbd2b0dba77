"""The short page and the topics, as text and as JSON."""

from __future__ import annotations

from ..answers.guide import Topic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..answers.guide import Guide

__all__ = ["commands", "json_object", "text", "wrapped"]

TITLE = "mmacalc: which lane, register and bit of a GPU holds which element of a matrix, and what it computes"
NAMES = "For MI300X put any GPU, as its driver, compiler or shop calls it; `mmacalc architectures` lists them."
MORE = "`mmacalc -h` lists all commands and options, `mmacalc COMMAND -h` those of one."


def text(answer: Guide | Topic, width: int) -> str:
    """The page or the topic, in lines of `width` characters; an example that is longer stays whole."""
    if isinstance(answer, Topic):
        return wrapped(answer.text, width) + "\n"
    examples = answer.examples
    column = max(len(example.need) for example in examples) + 2
    longest = max(len(example.question) for example in examples) + 2
    one_line = column + longest + max(len(example.command) for example in examples) <= width
    lines = [wrapped(TITLE, width), ""]
    for need, question, command in examples:
        begin = f"{need:{column}}{question:{longest}}"
        lines += [begin + command] if one_line else [begin.rstrip(), " " * (column + 2) + command]
    end = [NAMES, f"`mmacalc help TOPIC` explains {', '.join(answer.topics)}, and every command.", MORE]
    return "\n".join([*lines, "", wrapped(" ".join(end), width)]) + "\n"


def commands(by_need: Mapping[str, Mapping[str, str]], width: int) -> str:
    """The commands by need, a paragraph each, in lines of `width` characters at most."""
    from textwrap import fill

    longest = max(len(name) for each in by_need.values() for name in each) + 2
    lines, further = [], " " * (longest + 4)
    for need, each in by_need.items():
        lines.append(f"  {need}:")
        for name, what in each.items():
            lines.append(fill(what, width, initial_indent=f"    {name:{longest}}", subsequent_indent=further))
    return "\n".join(lines)


def wrapped(text: str, width: int) -> str:
    """A text whose paragraphs are filled anew; indented lines stay as they are.

    >>> print(wrapped("One sentence that\\ngoes on.\\n\\n    an example", 80))
    One sentence that goes on.
    <BLANKLINE>
        an example
    """
    from textwrap import fill

    parts = text.strip("\n").split("\n\n")
    found = []
    for part in parts:
        kept = any(line.startswith("  ") for line in part.split("\n"))
        found.append(part if kept else fill(" ".join(part.split("\n")), width, break_on_hyphens=False))
    return "\n\n".join(found)


def json_object(answer: Guide | Topic) -> dict[str, Any]:
    """The same as plain data; of a topic its text."""
    if isinstance(answer, Topic):
        return {"topic": answer.name, "text": answer.text}
    return {
        "examples": [example._asdict() for example in answer.examples],
        "commands": {need: dict(each) for need, each in answer.commands.items()},
        "topics": list(answer.topics),
    }
