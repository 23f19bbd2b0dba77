"""Write tests/data/pycute_layouts.json.gz: what pycute, NVIDIA's Python model of CuTe, evaluates layout texts to.

    pip install --no-deps nvidia-cutlass==4.2.0.0 && python tests/oracles/pycute_layouts.py

For every different text that `Layout.cute` writes of a matrix operand: the index of (thread, value), as a table of
threads and values. Texts are kept once for the whole catalog; wgmma only for three N.
"""

from __future__ import annotations

import ast
import gzip
import json
from pathlib import Path

import mmacalc

DATA = Path(__file__).parent.parent / "data" / "pycute_layouts.json.gz"


def texts():
    """Every different text of A, B, C and D in the catalog."""
    found = set()
    for arch in mmacalc.architectures():
        for inst in mmacalc.instructions(arch):
            if "wgmma" in inst.features and inst.n not in (8, 24, 96):
                continue
            for wave in inst.architecture.waves:
                for name in "ABCD":
                    if name in inst.register_operands and not (name == "A" and inst.sparse):
                        order = ("j", "k") if name == "B" else ()
                        found.add(inst.operand(name, wave).layout.cute(order))
    return sorted(found)


def evaluated(text):
    from pycute import Layout

    shape, stride = map(ast.literal_eval, text.split(":"))
    layout = Layout(shape, stride)
    threads, values = (Layout(mode).size() for mode in shape)
    return [[layout(thread, value) for value in range(values)] for thread in range(threads)]


if __name__ == "__main__":
    with gzip.GzipFile(DATA, "wb", mtime=0) as stream:
        stream.write(json.dumps({text: evaluated(text) for text in texts()}, separators=(",", ":")).encode())
