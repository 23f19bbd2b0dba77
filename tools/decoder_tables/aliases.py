"""Derive src/mmacalc/asm/mnemonic_aliases.txt from LLVM: older spellings of mnemonics, which its assembler still takes.

    PYTHONPATH=src:tools python -m decoder_tables.aliases > src/mmacalc/asm/mnemonic_aliases.txt

For each target llvm-mc 22 is given an instance of every mnemonic that other targets have and it lacks. What it takes is
an alias of the mnemonic that it then prints. An alias that sets modifiers too (v_dot4_i32_i8) is left out.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict

from mmacalc.asm.decoder import decode, text
from mmacalc.asm.encoder import encode
from mmacalc.asm.tables import FAMILY_OF, table
from mmacalc.asm.targets import target as target_of
from mmacalc.base.errors import Error

HEADER = """# Made by tools/decoder_tables/aliases.py from llvm-mc 22.1.8: do not edit, run it again.
# Targets, then older spellings of mnemonics with those that the tables have; suffixes of encodings are left out.
"""
_SUFFIXES = ("_e64_dpp", "_e32", "_e64", "_sdwa", "_dpp")


def instances() -> dict[str, list[str]]:
    """Of each mnemonic of any target some instructions, one for each encoding."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for target, (_, _, wave) in FAMILY_OF.items():
        for row in table(target, wave).every():
            try:
                first = next(iter(decode(row.value.to_bytes(row.size, "little"), target, 0, wave)))
            except (Error, StopIteration):
                continue
            found[row.name].setdefault(row.mnemonic, text(first))
    return {name: list(texts.values()) for name, texts in found.items()}


def aliases(assembler: str, target: str, known: dict[str, list[str]]) -> dict[str, str]:
    """The aliases of a target, without suffixes."""
    wave = FAMILY_OF[target][2]
    own = table(target, wave).by_name
    lines = [line for name, texts in known.items() if name not in own for line in texts]
    source = "".join(f".long {number}\n{line}\n" for number, line in enumerate(lines))
    command = [assembler, "-triple=amdgcn", f"-mcpu={target}", "-show-encoding"]
    printed = subprocess.run(command, input=source, capture_output=True, text=True).stdout
    found = {}
    for number, taken, code in re.findall(r"^\t\.long\t(\d+)\n\t(\S.*?)\s*; encoding: \[(.*?)\]", printed, re.M):
        line = lines[int(number)]
        older, newer = (_base(one.split()[0]) for one in (line, taken))
        if older != newer and _bytes(newer + line[len(older) :], target, wave) == code:
            found[older] = newer
    return found


def _bytes(line: str, target: str, wave: int) -> str:
    """The bytes of a line, as LLVM prints them; "" if it is refused."""
    try:
        return ",".join(f"0x{byte:02x}" for byte in encode(line, target_of(target, wave, 22)).code)
    except Error:
        return ""


def _base(mnemonic: str) -> str:
    return next((mnemonic[: -len(one)] for one in _SUFFIXES if mnemonic.endswith(one)), mnemonic)


def listing(assembler: str) -> str:
    """The file's text."""
    known, targets = instances(), defaultdict(list)
    for target in FAMILY_OF:
        for pair in aliases(assembler, target, known).items():
            targets[pair].append(target)
    groups = defaultdict(list)
    for (older, newer), which in targets.items():
        groups[" ".join(sorted(which))].append(f"{older}={newer}")
    return HEADER + "".join(f"{which}|{' '.join(sorted(pairs))}\n" for which, pairs in sorted(groups.items()))


if __name__ == "__main__":
    sys.stdout.write(listing(sys.argv[1] if len(sys.argv) > 1 else "llvm-mc-22"))
