"""Derive src/mmacalc/asm/instruction_tables.txt from LLVM's decoder.

    clang++-22 -std=c++17 -O1 -fno-rtti -I/usr/lib/llvm-22/include tools/decoder_tables/llvm_decoder.cpp \
        -o llvm_decoder -L/usr/lib/llvm-22/lib -l:libLLVM-22.so
    PYTHONPATH=src:tools python -m decoder_tables ./llvm_decoder [TARGET[=FAMILY] ...] > instruction_tables.txt

A target that the file does not have yet comes with its family of formats (`mmacalc.asm.formats`): gfx1170=rdna3.
Takes a minute or two for each of the seven targets. `nox -s tables` does it and compares; what is wrong in LLVM is put
right in corrections.py.
"""

from __future__ import annotations

import sys

from mmacalc.asm.formats import FAMILIES, encodings
from mmacalc.asm.operand_codes import registers_of
from mmacalc.asm.tables import FAMILY_OF

from . import lines, rows, vopd
from .llvm import Decoder


def main(program: str, *targets: str) -> None:
    """Write the tables of some targets, or of all."""
    found, flags = {}, {}
    for target in targets:
        name, _, family = target.partition("=")
        if family:
            FAMILY_OF[name] = family, registers_of(family), 64 if family.startswith("cdna") and family < "cdna5" else 32
    for target in [target.partition("=")[0] for target in targets] or FAMILY_OF:
        family, _, wave = FAMILY_OF[target]
        both = family in ("rdna3", "rdna4")
        decoder = Decoder(program, target, wave if wave == 32 else None)
        wide = rows.rows(program, target, 64, sweep=False) if both else []
        narrow = rows.rows(program, target, wave if wave == 32 else None)
        found[target], flags[target] = made(target, decoder, narrow, wide)
        print(target, len(found[target]), file=sys.stderr)
    order: dict[str, None] = {}
    for family in FAMILIES:
        order |= dict.fromkeys(encodings(family))
    sys.stdout.write(lines.text(found, flags, list(order)))


def made(target: str, decoder: Decoder, narrow: list[rows.Found], wide: list[rows.Found]) -> tuple:
    """The lines of a target, and the flags of its operations."""
    family, _, wave = FAMILY_OF[target]
    some = lines.lines(target, decoder, narrow, wide)
    if wave == 32:
        some += vopd.lines(decoder, encodings(family))
    return some, lines.operations(decoder, narrow, some)


if __name__ == "__main__":
    main(*sys.argv[1:])
