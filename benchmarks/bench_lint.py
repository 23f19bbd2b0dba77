"""How long `lint` takes for long listings with many branches.

    PYTHONPATH=src python benchmarks/bench_lint.py

Fails where a listing takes longer than its bar, in seconds of the processor. Nearly all lines of the two long listings
are different, and each costs 60 to 80 microseconds: it is read, what it does to registers is found, and the assembler
checks it. The first of them has 10,805 findings, and more outstanding loads than are followed. Beside other programs
they took 7.4 to 8.9 and 5.9 to 9.2 s; 3 and 5 are wanted.
"""

from __future__ import annotations

import random
import sys
import time

import mmacalc

MFMA = "v_mfma_f32_32x32x8_f16 v[{0}:{1}], v[{2}:{3}], v[{4}:{5}], v[{0}:{1}]"


def mfma(rng: random.Random) -> str:
    """An MFMA with its operands in random registers."""
    d, a, b = 16 * rng.randrange(12), 2 * rng.randrange(120), 2 * rng.randrange(120)
    return MFMA.format(d, d + 15, a, a + 1, b, b + 1)


def move(rng: random.Random) -> str:
    """A VALU instruction."""
    return f"v_add_f32_e32 v{rng.randrange(256)}, v{rng.randrange(256)}, v{rng.randrange(256)}"


def blocks(rng: random.Random, count: int) -> str:
    """Labelled blocks, each with an MFMA, a VALU instruction and a branch to any of them."""
    return "".join(f"L{at}:\n{mfma(rng)}\n{move(rng)}\ns_cbranch_scc0 L{rng.randrange(count)}\n" for at in range(count))


def branches(rng: random.Random, lines: int, count: int) -> str:
    """Lines of all kinds with branches from anywhere to anywhere."""
    kinds = (mfma, move, move, lambda rng: "s_nop 3", lambda rng: f"ds_read_b32 v{rng.randrange(256)}, v250")
    text = [rng.choice(kinds)(rng) for _ in range(lines)]
    for at in range(count):
        target = rng.randrange(lines)
        text[target] = f"L{at}: {text[target]}"
        text[rng.randrange(lines)] = f"s_cbranch_vccnz L{at}"
    return "\n".join(text)


def straight(rng: random.Random, lines: int) -> str:
    """A disassembly without branches."""
    text = [f"\t{rng.choice((mfma, move, move))(rng)}  // {8 * at:012X}: D3CC8100 04022510" for at in range(lines // 2)]
    return "\n\ts_nop 15\n".join(text)


def main() -> int:
    """Time every listing."""
    rng, slow = random.Random(1), 0
    listings = (
        ("400 labelled blocks with branches across", blocks(rng, 400), 0.5),
        ("60,000 lines with 15,000 random branches", branches(rng, 60_000, 15_000), 9.0),
        ("180,000 lines", straight(rng, 180_000), 9.0),
    )
    for name, text, bar in listings:
        start = time.process_time()
        report = mmacalc.lint(text, "gfx942")
        took = time.process_time() - start
        slow += took > bar
        print(f"{took:6.2f} s (at most {bar}): {name}, {len(report.findings)} findings")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
