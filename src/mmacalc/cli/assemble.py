"""Encode matrix instructions of AMD as machine code, byte for byte as LLVM does.

    mmacalc assemble -a gfx942 "v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15] cbsz:1" --fields

Prints one line of bytes per instruction, in memory order. With --fields, the encoding is drawn with every field, its
bits (numbered as in AMD's ISA guides) and its meaning. The text may have several lines, labels, comments and .long;
"-" reads it from standard input.
"""

from __future__ import annotations

from .files import read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """The architecture, the text, and what to print."""
    parser.add_common("architecture", "wave", "json")
    parser.add_argument("text", help="the instruction, or several on lines of their own; - reads standard input")
    parser.add_argument("--fields", action="store_true", help="draw the encoding with every field")


def run(options: Namespace) -> str:
    """The bytes of every statement."""
    from ..asm.assembler import assemble_lines

    text = read_text("-") if options.text == "-" else options.text
    lines = assemble_lines(text, options.architecture, options.wavefront)
    if options.json:
        from ..asm.disassembler import disassemble
        from ..render.encodings import fields
        from ..render.json import document

        answers = []
        for line in lines:
            shown = disassemble(line.code, options.architecture, options.wavefront)
            answer = {"text": shown, "bytes": line.code.hex(), "size": len(line.code)}
            if options.fields and line.form:
                answer |= {"encoding": line.form.encoding.name, "fields": fields(line)}
            answers.append(answer)
        return document("assemble", architecture=options.architecture, instructions=answers)
    if not options.fields:
        return "".join(f"{line.code.hex(' ')}\n" for line in lines)
    from ..render.encodings import figure

    return "\n".join(f"{line.code.hex(' ')}\n{figure(line) if line.form else ''}" for line in lines)
