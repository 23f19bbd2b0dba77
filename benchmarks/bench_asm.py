"""Instructions disassembled and assembled per second, in one process.

    PYTHONPATH=src python benchmarks/bench_asm.py

Fails below 20,000 disassembled instructions a second on any target.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import mmacalc
from asm_texts import TARGETS, random_text
from mmacalc.asm.forms import forms
from mmacalc.asm.targets import target

COUNT = 20_000
LEAST = 20_000


def rates(name: str, wave: int | None) -> tuple[float, float]:
    """Instructions a second of one target: (disassembled, assembled), everything but the first line's cost."""
    rng = random.Random(1)
    every = list(forms(target(name, wave)).values())
    texts = [random_text(rng.choice(every), rng) for _ in range(COUNT // 10)]
    mmacalc.assemble(texts[0], name, wave)
    start = time.perf_counter()
    code = b"".join(mmacalc.assemble(text, name, wave) for text in texts)
    assembled = len(texts) / (time.perf_counter() - start)
    start = time.perf_counter()
    lines = mmacalc.disassemble(code * 10, name, wave).count("\n") + 1
    return lines / (time.perf_counter() - start), assembled


def main() -> int:
    """Print the rates of every target; 1 if one is too low."""
    slow = 0
    for name, wave in TARGETS:
        disassembled, assembled = rates(name, wave)
        slow += disassembled < LEAST
        label = f"{name}{f' wave{wave}' if wave else ''}"
        print(f"{label:16}{disassembled:12,.0f} disassembled/s{assembled:12,.0f} assembled/s")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
