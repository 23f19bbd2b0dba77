"""Print the completion script of a shell.

    source <(mmacalc completion bash)                          bash
    mmacalc completion zsh > ~/.zfunc/_mmacalc                 zsh, with ~/.zfunc in fpath
    mmacalc completion fish > ~/.config/fish/completions/mmacalc.fish

The script completes commands, options, architectures, the instructions of the architecture that stands before, formats
and topics. An installed package (pip, pipx, uv tool) brings the scripts along in share/, where the shells find them if
that folder is among theirs.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from ..answers.guide import TOPICS
from ..catalog import architectures, entry
from ..errors import Error
from ..formats import FORMATS
from . import OLDER_NAMES, SUBCOMMANDS, command_parser
from .help import COMPUTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Action, Namespace

    from .parser import Parser

# The script of each shell, in the folder beside this module; a wheel installs them where the shells look for them.
SCRIPTS = {"bash": "mmacalc.bash", "zsh": "_mmacalc", "fish": "mmacalc.fish"}


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    parser.add_argument("shell", choices=(*SCRIPTS, "words"), help="the shell; `words` is what the scripts call")
    parser.add_argument("words", nargs="*", help="the words typed so far, the last one unfinished")


def run(options: Namespace) -> str:
    """The script, or the completions of a command line."""
    if options.shell != "words":
        return Path(__file__).with_name("completions").joinpath(SCRIPTS[options.shell]).read_text(encoding="utf-8")
    return "".join(word + "\n" for word in candidates(options.words))


def candidates(words: list[str]) -> list[str]:
    """Completions for the last word.

    >>> candidates(["-a", "cdna3", "-i", "v_mfma_f64_16"])
    ['v_mfma_f64_16x16x4_f64']
    """
    *before, start = joined = _joined(words) or [""]
    found = [word for word in _next(before) if word.lower().startswith(start.lower())]
    # Bash replaces what is after the last colon.
    done = start.rfind(":") + 1 if joined != words else 0
    return [word[done:] for word in found]


def _joined(words: list[str]) -> list[str]:
    """The words as they were typed: bash breaks them at colons, which PTX names have.

    >>> _joined(["-i", "tcgen05.mma.cta_group", "::", "1.kind"])
    ['-i', 'tcgen05.mma.cta_group::1.kind']
    """
    found: list[str] = []
    for word in words:
        colons = bool(word) and not word.strip(":")
        if found and (colons or (found[-1].endswith(":") and not word.startswith("-"))):
            found[-1] += word
        else:
            found.append(word)
    return found


def _next(before: list[str]) -> list[str]:
    """What may follow words: values of the option before, or commands and options."""
    command = OLDER_NAMES.get(before[0], before[0]) if before else ""
    command = command if command in SUBCOMMANDS else "classic"
    known = command_parser(command)._option_string_actions
    if before and (action := known.get(before[-1])) is not None and action.nargs != 0:
        return _values(action, before)
    if before and command == "help":
        return [*TOPICS, *COMPUTED, *SUBCOMMANDS]
    if before and command == "architectures":
        return _architectures()
    return ([] if before else list(SUBCOMMANDS)) + list(known)


def _values(action: Action, before: list[str]) -> list[str]:
    """The values of an option: none where files or numbers follow."""
    if action.dest == "architecture":
        return _architectures()
    if action.dest == "instruction":
        return _instructions(before)
    if action.metavar == "FORMAT":
        return list(FORMATS)
    return [str(choice) for choice in action.choices or ()]


def _architectures() -> list[str]:
    return sorted({name for known, aliases in architectures().items() for name in (known, *aliases)})


def _instructions(before: list[str]) -> list[str]:
    named = [word for flag, word in pairwise(before) if flag in ("-a", "--architecture")]
    try:
        known = entry(named[-1]) if named else None
        return [*known.names, *known.tensor_memory_names] if known else []
    except Error:
        return []
