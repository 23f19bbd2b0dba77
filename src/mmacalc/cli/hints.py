"""What was meant, where a command line cannot be answered: imported only then."""

from __future__ import annotations

import re

from ..base.errors import Error, did_you_mean
from ..catalog import entry
from ..catalog.grammar.sass import is_opcode
from ..command.options import FLAGS
from . import command_names
from .help import COMPUTED, TOPICS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

__all__ = ["option_for", "unknown_command"]

INSTRUCTIONS = ("v_", "mma.", "wgmma", "wmma", "ldmatrix", "stmatrix", "tcgen05", "dpas")
"""How the names of instructions begin."""
_NAME = re.compile(r"[\w .:+()/-]{1,60}")
"""What the names of products are written with."""


def unknown_command(word: str) -> str:
    """The message for a first word that is neither a command nor an option."""
    return f"unknown command '{word}'.{_meant(word)} Known: {', '.join(command_names())}; `mmacalc -h` has more"


def _meant(word: str) -> str:
    if hint := did_you_mean(word, command_names()):
        return hint
    if word.replace("-", "_") in FLAGS:
        return f" Did you mean --{word}?"
    for topic in (*TOPICS, *COMPUTED):
        if word.lower() in (topic, topic.removesuffix("s")):
            return f" Did you mean `mmacalc help {topic}`?"
    if is_architecture(word):
        return f" It is an architecture: `mmacalc -a {word} -L` lists its instructions."
    if is_instruction(word):
        return f" `mmacalc find {word.split(' ')[0]}` finds instructions, `mmacalc explain` explains lines of assembly."
    return ""


def option_for(word: str, known: Container[str]) -> str:
    """A clause with the option that should stand before a word, of those that the command has."""
    sizes = word.lower().split("x")
    if len(sizes) == 3 and all(map(str.isdecimal, sizes)):
        candidates: tuple[str, ...] = ("--shape", "--gemm")
    elif is_architecture(word):
        candidates = ("-a",)
    else:
        candidates = ("-i",) if is_instruction(word) else ()
    return next((f" Did you mean {option} {word}?" for option in candidates if option in known), "")


def is_architecture(word: str) -> bool:
    """Whether a word is the name of an architecture, and no line of a listing that has one among its words (`%a2`)."""
    if is_instruction(word) or not _NAME.fullmatch(word):
        return False
    try:
        entry(word)
    except Error:
        return False
    return True


def is_instruction(word: str) -> bool:
    """Whether a word looks like the name of an instruction."""
    lower = word.lower()
    return is_opcode(word) or lower.startswith(INSTRUCTIONS)
