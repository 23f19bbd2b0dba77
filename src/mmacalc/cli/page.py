"""Write the interactive page: every layout of every instruction, in one file that needs no network.

    mmacalc page --open                                              write layouts.html and open it
    mmacalc page -o x.html -a gfx942 -i v_mfma_f32_32x32x8_f16 -A    begin with that operand

What it shows is in its link, so that a colleague sees what you see: layouts.html#cdna3/v_mfma_f32_32x32x8_f16/D?at=22,5
"""

from __future__ import annotations

from ..catalog import entry
from ..errors import Error
from ..files import write
from .options import MATRICES, MATRIX_NAMES, spellings
from .parser import modifiers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """Where to write it, and what it shows first."""
    add = parser.add_argument
    add("-o", "--output", metavar="FILE", default="layouts.html", help="the file to write (layouts.html)")
    add("--open", action="store_true", help="open it in the browser")
    add("-a", "--architecture", metavar="NAME", help="the architecture to show first, by any of its names")
    add("-i", "--instruction", metavar="NAME", help="the instruction to show first")
    parser.add_common("wave")
    for name, (short, text) in MATRICES.items():
        add(*spellings(name, short), action="store_true", help=text.replace("query", "show"))
    parser.add_modifiers()


def run(options: Namespace) -> str:
    """Write the page; say where, and open it if asked to."""
    start = _start(options)
    from ..render.page import page

    text = page(start)
    write({options.output: text.encode()})
    if options.open:
        _open(options.output)
    return f"{options.output}: {len(text.encode()) / 1000:.0f} kB\n"


def _open(path: str) -> None:
    """Open a file in the browser. What to show is in the file: a `#...` would be lost on the way on some systems."""
    import webbrowser
    from pathlib import Path

    webbrowser.open(Path(path).resolve().as_uri())


def _start(options: Namespace) -> str:
    """What to show first, as a link of the page says it."""
    chosen = [MATRIX_NAMES[name] for name in MATRICES if getattr(options, name)]
    given = {name: value for name, value in modifiers(options).items() if value}
    if len(chosen) > 1:
        raise Error(f"{' and '.join(chosen)} were given together; choose one matrix to show first")
    if not options.architecture:
        if options.instruction or chosen or given or options.wavefront:
            raise Error("what to show first needs an architecture: -a, such as `-a gfx942`")
        return ""
    found = entry(options.architecture)
    if not options.instruction:
        return found.architecture.name
    instruction = found.instruction(options.instruction)
    fields = {name: value for name, value in instruction.resolved(given).items() if value}
    wave = found.architecture.wave(options.wavefront)
    instruction.check_modifiers(wave, fields)
    if chosen and chosen[0] not in instruction.operands:
        raise Error(f"{instruction.name} has no operand '{chosen[0]}'; it has {', '.join(instruction.operands)}")
    query = [f"w={wave}"] if wave != found.architecture.waves[0] else []
    query += [f"{name}={value}" for name, value in fields.items()]
    path = "/".join([found.architecture.name, instruction.name, *chosen])
    return path + (f"?{'&'.join(query)}" if query else "")
