"""Write the interactive page: every layout of every instruction, in one file that needs no network.

    mmacalc page --open                                              write layouts.html and open it
    mmacalc page -o x.html -a gfx942 -i v_mfma_f32_32x32x8_f16 -A    begin with that operand

What it shows is in its link, so that a colleague sees what you see: layouts.html#cdna3/v_mfma_f32_32x32x8_f16/D?at=22,5
"""

from __future__ import annotations

import base64
import json
import zlib
from functools import cache
from typing import Any

from ..base.errors import Error
from ..base.files import write
from ..base.version import __version__
from ..catalog import entry
from ..command import Command, flag, option
from ..command.common import MODIFIERS, WAVE
from ..command.options import MATRICES, MATRIX_NAMES, matrices, modifiers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..command import Options

VIEWS = ("chain", "generate", "memory", "tile", "waits")  # those of the page that a family can refuse


def page(start: str = "") -> str:
    """The page as HTML.

    Args:
        start: what it shows when it is opened without a link's `#...`, written as such a link without the `#`.
    """
    from importlib.resources import files

    template = files("mmacalc.page").joinpath("page.html").read_text(encoding="utf-8")
    data = _data_text()
    body = f'<body data-start="{_attribute(start)}">' if start else "<body>"
    marked = 'type="application/octet-stream;base64">'
    return template.replace("<body>", body, 1).replace(marked, marked + data, 1)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


@cache
def _data_text() -> str:
    """The tables as JSON, deflated, in base64: a third of their size, which the browser undoes by itself."""
    text = json.dumps(page_tables(), separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


def page_tables() -> dict[str, Any]:
    """The catalog's tables, and how it is spelled; each instruction also has the number of its statement in PTX."""
    from ..page.data import page_data
    from ..spelling import family_spelling
    from ..spelling.tensor_memory import statement as tensor_memory_statement
    from .classic.detail import page_of

    data = page_data()
    names = [record[0] for record in data["architectures"]]
    statements: dict[str, int] = {}
    for row in data["instructions"]:
        name, *_, members = row
        inst = entry(names[data["members"][members][0]]).instruction(name)
        text = tensor_memory_statement(inst) if inst.in_tensor_memory else page_of(inst).statement(inst)
        row.append(statements.setdefault(text, len(statements)))
    records = [entry(name).architecture for name in names]
    spelt = [(family_spelling(record.family), record.family.language.upper()) for record in records]
    registers = [[one.register, *one.names, one.counted, one.not_encoded, language] for one, language in spelt]
    refused = [
        {
            topic: _sentence(text.format(title=record.title))
            for topic, text in record.family.unsupported_topics.items()
            if topic in VIEWS
        }
        for record in records
    ]
    own = {"version": __version__, "registers": registers, "refused": refused, "statements": list(statements)}
    return {**data, **own}


def run(options: Options) -> str:
    """Write the page; say where, and open it if asked to."""
    start = _start(options)
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


def _start(options: Options) -> str:
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
    instruction = found.meant(options.instruction)
    fields = {name: value for name, value in instruction.resolved(given).items() if value}
    wave = found.architecture.wave(options.wavefront)
    instruction.check_modifiers(wave, fields)
    if chosen and chosen[0] not in instruction.operands:
        raise Error(f"{instruction.name} has no operand '{chosen[0]}'; it has {', '.join(instruction.operands)}")
    query = [f"w={wave}"] if wave != found.architecture.waves[0] else []
    query += [f"{name}={value}" for name, value in fields.items()]
    path = "/".join([found.architecture.name, instruction.name, *chosen])
    return path + (f"?{'&'.join(query)}" if query else "")


COMMAND = Command(
    "page", "write the interactive page of all layouts: one file, no network", "place", __doc__,
    (
        option(
            "-o", "--output", placeholder="FILE", default="layouts.html", help="the file to write (layouts.html)"
        ),
        flag("--open", help="open it in the browser"),
        option("-a", "--architecture", placeholder="NAME", help="the architecture to show first, by any of its names"),
        option("-i", "--instruction", placeholder="NAME", help="the instruction to show first"),
        WAVE,
        *matrices("show"),
        *MODIFIERS,
    ),
    run,
)  # fmt: skip
