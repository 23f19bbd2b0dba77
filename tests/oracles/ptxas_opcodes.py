"""Record which candidates of tests/ptx_opcodes.py ptxas takes: python ptxas_opcodes.py | gzip -9n > TABLE

TABLE is tests/data/ptx/opcodes.tsv.gz: opcode, operands and the targets that take it, of those that some target takes.
ptxas 13.0 must be in PATH. Every other candidate is refused by ptxas for all of the targets.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from ptx_opcodes import DECLARED, candidates

TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_103a", "sm_120a")
CHUNK = 20000


def refused(target, lines):
    """The places of the lines that ptxas refuses."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "candidates.ptx"
        head = f".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k() {{\n{DECLARED}\n"
        path.write_text(head + "".join(f"{opcode} {line};\n" for opcode, line in lines) + "ret;\n}\n")
        ran = subprocess.run(["ptxas", "-arch", target, str(path), "-o", "/dev/null"], capture_output=True, text=True)
    return {int(number) - 6 for number in re.findall(r"line (\d+); error", ran.stdout + ran.stderr)}


def main():
    given = candidates()
    takes = {candidate: [] for candidate in given}
    for target in TARGETS:
        for first in range(0, len(given), CHUNK):
            part = given[first : first + CHUNK]
            wrong = refused(target, part)
            for place, candidate in enumerate(part):
                if place not in wrong:
                    takes[candidate].append(target)
    print("opcode\toperands\ttargets")
    for (opcode, line), targets in takes.items():
        if targets:
            print(f"{opcode}\t{line}\t{' '.join(targets)}")


if __name__ == "__main__":
    main()
