"""Derive src/mmacalc/asm/instruction_tables.txt from LLVM's decoder.

    clang++-22 -std=c++17 -O1 -fno-rtti -I/usr/lib/llvm-22/include tools/decoder_tables/llvm_decoder.cpp \
        -o llvm_decoder -L/usr/lib/llvm-22/lib -l:libLLVM-22.so
    PYTHONPATH=src:tools python -m decoder_tables ./llvm_decoder [TARGET[=FAMILY] ...] > instruction_tables.txt

Where targets are named, the others are as the file has them. One that the file does not have yet comes with its family
of formats (`mmacalc.asm.formats`): gfx1170=rdna3. Takes half a minute of processor time for each of the seven targets.
`nox -s tables` does it and compares; what is wrong in LLVM is put right in corrections.py.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from mmacalc.asm.formats import FAMILIES, encodings
from mmacalc.asm.operand_codes import registers_of
from mmacalc.asm.tables import FAMILY_OF, table
from mmacalc.asm.tables import lines as present_lines

from . import lines, rows, vopd
from .line import Line
from .llvm import Decoder


def main(program: str, *targets: str) -> None:
    """Write the file: the tables of some targets, or of all, made again."""
    families = {name: family for name, _, family in (target.partition("=") for target in targets) if family}
    for name, family in families.items():
        add(name, family)
    chosen = [target.partition("=")[0] for target in targets] or list(FAMILY_OF)
    found, flags = present(target for target in FAMILY_OF if target not in chosen)
    with ProcessPoolExecutor(min(len(chosen), os.cpu_count() or 1)) as pool:
        for target, (some, those) in zip(chosen, pool.map(partial(derived, program, families), chosen)):
            found[target], flags[target] = some, those
            print(target, len(some), file=sys.stderr)
    order: dict[str, None] = {}
    for family in FAMILIES:
        order |= dict.fromkeys(encodings(family))
    sys.stdout.write(lines.text(found, flags, list(order)))


def add(target: str, family: str) -> None:
    """A target that the file does not have."""
    FAMILY_OF.setdefault(target, (family, registers_of(family), 64 if "cdna" <= family < "cdna5" else 32))


def derived(program: str, families: dict[str, str], target: str) -> tuple:
    """The lines of a target and the flags of its operations, from LLVM. families: of targets that are new."""
    for name, family in families.items():
        add(name, family)
    family, _, wave = FAMILY_OF[target]
    decoder = Decoder(program, target, wave if wave == 32 else None)
    wide = rows.rows(program, target, 64, sweep=False) if family in ("rdna3", "rdna4") else []
    return made(target, decoder, rows.rows(program, target, wave if wave == 32 else None), wide)


def present(targets) -> tuple:
    """The lines of targets and the flags of their operations, as the file has them."""
    found, flags = defaultdict(list), {target: table(target, FAMILY_OF[target][2]).flags for target in targets}
    for line in present_lines():
        form, *signature, where, names = line.split("|")
        for target in flags.keys() & where.split():
            pairs = (each.split("=") for each in names.split())
            found[target] += [Line(form, "|".join(signature), name, int(opcode)) for name, opcode in pairs]
    return found, flags


def made(target: str, decoder: Decoder, narrow: list[rows.Found], wide: list[rows.Found]) -> tuple:
    """The lines of a target, and the flags of its operations."""
    family, _, wave = FAMILY_OF[target]
    some = lines.lines(target, decoder, narrow, wide)
    if wave == 32:
        some += vopd.lines(decoder, encodings(family))
    return some, lines.operations(decoder, narrow, some)


if __name__ == "__main__":
    main(*sys.argv[1:])
