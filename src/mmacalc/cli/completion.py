"""Print the completion script of a shell.

    source <(mmacalc completion bash)                          bash
    mmacalc completion zsh > ~/.zfunc/_mmacalc                 zsh, with ~/.zfunc in fpath
    mmacalc completion fish > ~/.config/fish/completions/mmacalc.fish

The script completes commands, options and their values: architectures and products (`-a "RX 79`), the instructions of
the architecture that stands before, formats, modifiers, words such as `--order col`, and topics. zsh and fish say
beside each what it is. An installed package (pip, pipx, uv tool) brings the scripts along in share/, where the shells
find them if that folder is among theirs.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from ..base.errors import Error
from ..catalog import architectures, entry
from ..command import Command, argument
from ..formats import FORMATS
from . import command, command_names, summaries
from .help import COMPUTED, TOPICS
from .hints import is_architecture

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..command import Option, Options


# The script of each shell, in the folder beside this module; a wheel installs them where the shells look for them.
SCRIPTS = {"bash": "mmacalc.bash", "zsh": "_mmacalc", "fish": "mmacalc.fish"}
LISTS = ("GPU,...", "WORDS")
"""What help calls values that are several between commas."""


def run(options: Options) -> str:
    """The script, or the completions of a command line."""
    if options.shell in SCRIPTS:
        return Path(__file__).with_name("completions").joinpath(SCRIPTS[options.shell]).read_text(encoding="utf-8")
    found = completions(options.words)
    if options.shell == "words":
        return "".join(f"{word}\n" for word in found)
    return "".join(f"{word}\t{about}\n" for word, about in found.items())


def completions(words: list[str]) -> dict[str, str]:
    """Completions for the last word, each with what it is, where that takes no time to say.

    A word in the letters of the given one is preferred: `MI3` is completed as products are printed, `mi3` as aliases.

    >>> completions(["-a", "cdna3", "-i", "v_mfma_f64_16"])
    {'v_mfma_f64_16x16x4_f64': ''}
    >>> completions(["draw", "-a", "RX 7900 XTX", "--style", "p"]), [*completions(["-a", '"RX 7900 XTX'])]
    ({'print': ''}, ['RX 7900 XTX'])
    """
    joined = _joined(words) or [""]
    *before, start = [_unquoted(word) for word in joined]
    lead = ""
    if start.startswith("--") and "=" in start:
        name, _, start = start.partition("=")
        before, lead = [*before, name], f"{name}="
    option = _option(before)
    if option is not None and option.placeholder in LISTS:
        done, comma, start = start.rpartition(",")
        lead += done + comma
    every = _next(before, option)
    found = {word: about for word, about in every.items() if word.startswith(start)}
    if not found:
        found = {word: about for word, about in every.items() if word.lower().startswith(start.lower())}
    written = lead + start
    # Bash replaces what is after the last colon or equals sign.
    cut = max(written.rfind(":"), written.rfind("=")) + 1 if joined != words else 0
    return {f"{lead}{word}"[cut:]: about for word, about in found.items()}


def _joined(words: list[str]) -> list[str]:
    """The words as they were typed: bash breaks them at colons, which PTX names have, and at equals signs.

    >>> _joined(["-i", "tcgen05.mma.cta_group", "::", "1.kind"]), _joined(["lint", "--format", "=", "gi"])
    (['-i', 'tcgen05.mma.cta_group::1.kind'], ['lint', '--format=gi'])
    """
    found: list[str] = []
    for word in words:
        broken = bool(word) and not word.strip(":=")
        if found and (broken or (found[-1].endswith((":", "=")) and not word.startswith("-"))):
            found[-1] += word
        else:
            found.append(word)
    return found


def _unquoted(word: str) -> str:
    r"""A word as the program would get it, of which the last quotation mark may not be typed yet.

    >>> _unquoted('"RX 79'), _unquoted("RX\\ 79"), _unquoted("'A[3][7]'")
    ('RX 79', 'RX 79', 'A[3][7]')
    """
    if word[:1] in ("'", '"'):
        return word[1:].removesuffix(word[0])
    return word.replace("\\ ", " ").replace("\\(", "(").replace("\\)", ")").replace("\\\\", "\\")


def _known(before: list[str]) -> tuple[Command, dict[str, Option]]:
    """The command of a line, and its options by their spellings."""
    known = (command(before[0]) if before else None) or command("")
    assert known is not None
    return known, {way: each for each in known.options for way in (*each.spellings, *each.hidden)}


def _option(before: list[str]) -> Option | None:
    """The option whose value is typed; None: it is an argument by itself, or another option."""
    found = _known(before)[1].get(before[-1]) if before else None
    return found if found is not None and (found.placeholder or found.choices) else None


def _next(before: list[str], option: Option | None) -> Mapping[str, str]:
    """What may follow words: values of the option before, else commands, options, and what may stand by itself."""
    if option is not None:
        return _values(option, before)
    known, options = _known(before)
    if not before:
        return {
            **{each.name: each.summary for each in summaries()},
            **_plain(("-h", "--help")),
            **{way: each.help for way, each in options.items()},
        }
    found: dict[str, str] = {}
    if known.name == "help":
        return _plain((*TOPICS, *COMPUTED, *command_names()))
    for each in known.options:
        if not each.spellings:
            found |= _values(each, before)
    if len(before) == 1 and "-a" in options:  # an architecture as the first word stands for -a
        found |= _architectures()
    elif "-i" in options and _named(before):
        found |= _plain(_instructions(before))
    return {**found, **_plain(("-h", "--help")), **{way: each.help for way, each in options.items()}}


def _plain(words: Iterable[str]) -> dict[str, str]:
    return dict.fromkeys(words, "")


def _values(option: Option, before: list[str]) -> Mapping[str, str]:
    """The values of an option or an argument: none where files or numbers follow."""
    if option.name in ("architecture", "against") or option.placeholder == "ARCHITECTURE":
        return _architectures()
    if option.name in ("instruction", "x", "y") or option.placeholder == "INSTRUCTION":
        return _plain(_instructions(before))
    if option.name == "load":
        return _plain(_loads(before))
    if option.placeholder == "FORMAT":
        return _plain(FORMATS)
    return _plain(option.choices or option.known)


def _architectures() -> dict[str, str]:
    """Every name that -a takes, and products as they are printed; each with the architecture's title."""
    found: dict[str, str] = {}
    for known in architectures():
        one = entry(known).architecture
        products = [product.name for product in one.products]
        found |= dict.fromkeys((known, *one.aliases, *products), one.title)
    return dict(sorted(found.items(), key=lambda item: (item[0].lower(), item[0])))


def _named(before: list[str]) -> str | None:
    """The architecture that a line names last: after -a, or by itself."""
    named = [word for flag, word in pairwise(before) if flag in ("-a", "--architecture")]
    named += [flag.partition("=")[2] for flag in before if flag.startswith("--architecture=")]
    if not named:
        named = [word for word in before[1:] if word[:1] != "-" and is_architecture(word)]
    return named[-1] if named else None


def _instructions(before: list[str]) -> list[str]:
    try:
        known = entry(name) if (name := _named(before)) else None
        return [*known.names, *known.tensor_memory_names] if known else []
    except Error:
        return []


def _loads(before: list[str]) -> list[str]:
    """The loads of the architecture that transpose, of `transpose-loads`; else tcgen05's, as --load names them."""
    try:
        known = entry(name) if (name := _named(before)) else None
    except Error:
        return []
    if known is None:
        return []
    if before[0] in ("transpose-loads", "lds-transpose"):
        from ..memory_access.transpose_loads import transpose_loads

        return [load.name for load in transpose_loads(known.architecture.name)]
    begin = "tcgen05.ld.sync.aligned."
    return [name.removeprefix(begin).removesuffix(".b32") for name in known.tensor_memory_names if begin in name]


COMMAND = Command(
    "completion", "print the completion script of a shell (bash, zsh, fish)", "work with it", __doc__,
    (
        argument(
            "shell", "bash, zsh or fish", placeholder="SHELL", choices=(*SCRIPTS, "words", "described"),
        ),
        argument("words", "what the scripts ask with: the words typed so far, the last one unfinished", nargs="*"),
    ),
    run,
)  # fmt: skip
