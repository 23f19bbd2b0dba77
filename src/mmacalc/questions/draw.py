"""Draw a layout: which lane holds which element, as a picture.

    mmacalc draw -a gfx942 -i v_mfma_f32_32x32x8_f16                      A, B and D, in this terminal
    mmacalc draw -a gfx942 -i v_mfma_f32_32x32x8_f16 -D -o d.svg          only D, as a file: .svg, .png, .html or .txt
    mmacalc draw -a gfx950 -i v_mfma_f32_16x16x128_f8f6f4 -A --cbsz fp6 --registers --mark "A[3][37]"
    mmacalc draw -a B200 -i tcgen05.mma.cta_group::1.kind::f16 --m 64 --n 32 -D --load 16x256b.x4

Neighbours that lie in one lane are one tile with one number, the lane. The strips at the edges are what each row and
each column adds to the lane and to the register, so they are the whole layout, and the legend of the colours.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from ..base.errors import Error
from ..catalog import entry
from ..command import Command, Reply, flag, number, option
from ..command.common import ARCHITECTURE, INSTRUCTION, MODIFIERS, TILE, WAVE, operand_of
from ..command.options import (
    MATRICES,
    MATRIX_NAMES,
    TENSOR_MEMORY,
    TENSOR_MEMORY_NAMES,
    matrices,
    modifiers,
    name_options,
    number_options,
    whole_number,
)
from .classic.tensor_memory import after_load, parameters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..command import Options
    from ..drawing import Drawing

WIDTH = 120  # characters, where nothing says how wide the terminal is


def run(options: Options) -> Reply:
    """Draw, into a file or as text."""
    drawing = _drawing(options)
    if options.output is not None:
        drawing.save(options.output)
        return Reply(0, "", "")
    colour = options.color == "always" or (options.color == "auto" and _colourful())
    width = options.width or _terminal_width()
    text = drawing.text(colour=colour, width=width)
    plain = drawing.text(width=width) if colour else text
    needed = max(map(len, plain.split("\n")))
    with suppress(AttributeError):
        try:
            text.encode(sys.stdout.encoding or "utf-8")
        except UnicodeEncodeError:
            text = text.replace("\N{MIDDLE DOT}", ".")
    note = f"mmacalc: the picture takes {needed} characters in a line, not {width}; -o FILE draws it in any size\n"
    return Reply(0, text, note if options.width and needed > width else "")


def _drawing(options: Options) -> Drawing:
    instruction = entry(options.architecture).meant(options.instruction)
    shape = parameters(options)
    if shape and not instruction.in_tensor_memory:
        raise Error(f"--m, --n and types are for tcgen05; the name of {instruction.name} fixes its shape")
    given = {**modifiers(options), **shape}
    look = {"style": options.style, "color_by": options.color_by, "mark": options.mark, "fold": options.fold}
    chosen = [MATRIX_NAMES[name] for name in MATRICES if getattr(options, name)]
    if len(chosen) > 1:
        raise Error(f"{' and '.join(chosen)} were given together; choose one matrix, or none for all of them")
    if chosen:
        operand: Any = operand_of(options, instruction, chosen[0], given)
        if options.load:
            operand = after_load(operand, options.load)
        drawing: Drawing = operand.draw(registers=options.registers, labels=options.labels, **look)
        return drawing
    for name in ("registers", "labels", "load", "waves", "repeat"):
        if getattr(options, name):
            raise Error(f"--{name} goes with one matrix; choose it with -A, -B, -C, -D, -k, --scale-a or --scale-b")
    return instruction.draw(wave=options.wavefront, **look, **given)


def _colourful() -> bool:
    """Whether the terminal shows colours, and its user wants them (https://no-color.org)."""
    from ..command.colours import wanted

    return wanted(sys.stdout)


def _terminal_width() -> int:
    if sys.stdout is None or not sys.stdout.isatty():
        return WIDTH
    from shutil import get_terminal_size

    return get_terminal_size((WIDTH, 24)).columns


COMMAND = Command(
    "draw", "draw which lane holds which element: in the terminal, as SVG, PNG or HTML", "place", __doc__,
    (
        ARCHITECTURE, INSTRUCTION, WAVE,
        *matrices("draw"),
        flag("--registers", help="draw its registers: lanes down, bits across, an element in each"),
        flag("--labels", help="label every cell, not every tile"),
        option(
            "--mark", placeholder="ELEMENT", many=True, default=[],
            help="mark an element, such as A[3][9] or D[1][2].B4",
        ),
        option(
            "--style", placeholder="NAME", default="light", help="light, dark, or print (no colour)",
            known=("light", "dark", "print"),
        ),
        option(
            "--color-by", placeholder="WHAT", default="lane", help="lane, register, or a digit of the pattern",
            known=("lane", "register"),
        ),
        flag("--no-fold", name="fold", default=True, constant=False, help="draw repetitions instead of an ellipsis"),
        option(
            "-o", "--output", placeholder="FILE",
            help="write FILE; its extension is the format: .svg, .png (needs resvg-py), .html, .txt",
        ),
        option(
            "--color", placeholder="", choices=("auto", "always", "never"), default="auto",
            help="colours in the terminal",
        ),
        number("--width", help="characters in a line of the terminal"),
        *TILE,
        *MODIFIERS,
        *number_options(
            {name: (None, text) for name, (_, text) in TENSOR_MEMORY.items() if name not in ("column", "cta")},
            whole_number,
        ),
        *name_options(TENSOR_MEMORY_NAMES),
    ),
    run,
)  # fmt: skip
