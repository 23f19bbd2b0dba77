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

from ..base.errors import Error
from ..catalog import architectures, entry
from ..command import Command, argument
from ..formats import FORMATS
from . import command, command_names
from .help import COMPUTED, TOPICS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..command import Option, Options


# The script of each shell, in the folder beside this module; a wheel installs them where the shells look for them.
SCRIPTS = {"bash": "mmacalc.bash", "zsh": "_mmacalc", "fish": "mmacalc.fish"}


def run(options: Options) -> str:
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
    known = (command(before[0]) if before else None) or command("")
    assert known is not None
    options = {way: each for each in known.options for way in (*each.spellings, *each.hidden)}
    if before and (found := options.get(before[-1])) is not None and (found.placeholder or found.choices):
        return _values(found, before)
    if before and known.name == "help":
        return [*TOPICS, *COMPUTED, *command_names()]
    if before and known.name == "architectures":
        return _architectures()
    return [*([] if before else command_names()), "-h", "--help", *options]


def _values(option: Option, before: list[str]) -> list[str]:
    """The values of an option: none where files or numbers follow."""
    if option.name == "architecture":
        return _architectures()
    if option.name == "instruction":
        return _instructions(before)
    if option.placeholder == "FORMAT":
        return list(FORMATS)
    return list(option.choices)


def _architectures() -> list[str]:
    return sorted({name for known, aliases in architectures().items() for name in (known, *aliases)})


def _instructions(before: list[str]) -> list[str]:
    named = [word for flag, word in pairwise(before) if flag in ("-a", "--architecture")]
    try:
        known = entry(named[-1]) if named else None
        return [*known.names, *known.tensor_memory_names] if known else []
    except Error:
        return []


COMMAND = Command(
    "completion", "print the completion script of a shell (bash, zsh, fish)", "work with it", __doc__,
    (
        argument("shell", "the shell; `words` is what the scripts call", choices=(*SCRIPTS, "words")),
        argument("words", "the words typed so far, the last one unfinished", nargs="*"),
    ),
    run,
)  # fmt: skip
