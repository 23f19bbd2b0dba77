"""Print the completion script of a shell.

    source <(mmacalc completion bash)                          bash
    mmacalc completion zsh > ~/.zfunc/_mmacalc                 zsh, with ~/.zfunc in fpath
    mmacalc completion fish > ~/.config/fish/completions/mmacalc.fish

The script completes subcommands, options, architectures, and the instructions of the architecture already given.
"""

from __future__ import annotations

from itertools import pairwise

from ..catalog import architectures, entry
from ..errors import Error
from . import SUBCOMMANDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from .parser import Parser

_BASH = """\
_mmacalc() {
    local IFS=$'\\n'
    COMPREPLY=($(mmacalc completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -F _mmacalc mmacalc
"""
_ZSH = """\
#compdef mmacalc
_mmacalc() {
    local -a found
    found=("${(@f)$(mmacalc completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    compadd -Q -- $found
}
compdef _mmacalc mmacalc
"""
_FISH = """\
complete -c mmacalc -f -a '(mmacalc completion words -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
"""
SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    parser.add_argument("shell", choices=(*SCRIPTS, "words"), help="the shell; `words` is what the scripts call")
    parser.add_argument("words", nargs="*", help="the words typed so far, the last one unfinished")


def run(options: Namespace) -> str:
    """The script, or the completions of a command line."""
    if options.shell != "words":
        return SCRIPTS[options.shell]
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
    previous = before[-1] if before else ""
    if previous in ("-a", "--architecture"):
        return sorted({name for known, aliases in architectures().items() for name in (known, *aliases)})
    if previous in ("-i", "--instruction"):
        return _instructions(before)
    names = [] if before else list(SUBCOMMANDS)
    return names + _options(before[0] if before and before[0] in SUBCOMMANDS else "classic")


def _instructions(before: list[str]) -> list[str]:
    named = [word for flag, word in pairwise(before) if flag in ("-a", "--architecture")]
    try:
        known = entry(named[-1]) if named else None
        return [*known.names, *known.tensor_memory_names] if known else []
    except Error:
        return []


def _options(command: str) -> list[str]:
    from . import command_parser

    return [flag for action in command_parser(command)._actions for flag in action.option_strings]
