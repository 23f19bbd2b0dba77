"""Explain a topic or a command.

    mmacalc help                where to begin, and the topics
    mmacalc help layouts        how layouts are written
    mmacalc help modifiers      the modifiers of all instructions
    mmacalc help draw           the same as `mmacalc draw -h`

`mmacalc` without arguments is the first of these.
"""

from __future__ import annotations

from ..answers.guide import EXAMPLES, NEEDS, TOPICS, Guide, topic
from . import OLDER_NAMES, SUBCOMMANDS, Reply, command_parser, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping

    from .parser import Parser

COMPUTED = ("modifiers", "formats")
"""Topics whose texts are written from tables."""


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    parser.add_argument("topic", nargs="?", help=f"one of {', '.join((*TOPICS, *COMPUTED))}, or a command")
    parser.add_common("json")


def guide() -> Guide:
    """The short page."""
    return Guide(EXAMPLES, by_need(), (*TOPICS, *COMPUTED))


def by_need() -> Mapping[str, Mapping[str, str]]:
    """Every command with what it does, by need."""
    return {need: {name: SUBCOMMANDS[name] for name in names} for need, names in NEEDS.items()}


def run(options: Namespace) -> Reply:
    """A topic, a command's help, or the short page."""
    if options.topic is None:
        return first_page(options.json)
    name = OLDER_NAMES.get(options.topic, options.topic)
    if name in SUBCOMMANDS:
        return Reply(0, command_parser(name).format_help(), "")
    from ..render import guide as render
    from .parser import terminal_width

    found = topic(name, {"modifiers": _modifiers(), "formats": _formats()}, SUBCOMMANDS)
    return show(options.json, "help", found, render, terminal_width())


def first_page(as_json: bool = False) -> Reply:
    """The short page, of `mmacalc` without arguments."""
    from ..render import guide as render
    from .parser import terminal_width

    return show(as_json, "help", guide(), render, terminal_width())


def _modifiers() -> str:
    """Every modifier with its meaning, from the tables of options."""
    from .options import FIELDS, FORMAT_FIELDS, spellings

    rows = {**FORMAT_FIELDS, **FIELDS}
    width = max(len(name) for name in rows) + 4
    lines = [f"    {spellings(name, None)[0]:{width}}{text}" for name, (_, text) in rows.items()]
    table = "\n".join(lines)
    return f"""\
A modifier is a field of the instruction that changes which element is read, its sign, or its format. Every command that
takes an instruction takes them under the same names, and as -m NAME=VALUE (run, gemm, numerics: short for --modifier).
Numbers are decimal or 0x; where a field chooses a format, the format's name is taken.

{table}

    mmacalc -a gfx942 -i v_mfma_f32_32x32x1_2b_f32 -d     lists those that an instruction has, with their values
"""


def _formats() -> str:
    """Every format with its names, from the tables of formats."""
    from ..formats import ALIASES, BLOCK_SCALED, FORMATS, NUMPY_NAMES

    lines = []
    for name, form in FORMATS.items():
        others = [alias for alias, meant in ALIASES.items() if meant == name]
        dtype = NUMPY_NAMES.get(name)
        others += [dtype] if dtype and dtype not in others else []
        if form.kind != "bits":
            lines.append(f"    {name:10} {form.bits:2} bits  {', '.join(others)}".rstrip())
    table = "\n".join(lines)
    return f"""\
Formats are called as in PTX and in the OCP documents. The names of torch, NumPy, ml_dtypes and LLVM are taken as well,
also with torch. or np. in front, and f8E4M3FN as MLIR writes it. For `find`, fp8 and bf8 are OCP's and the FNUZ formats
alike. {", ".join(BLOCK_SCALED)} ask for instructions with such block scales.

{table}
"""
