"""Write tests/data/triton_encodings.json.gz: the linear layouts that Triton 3.9 makes of its encodings.

    pip install triton==3.9.0 && python tests/oracles/triton_encodings.py

No GPU is needed. A row is the layout as Gluon's Python writes it, the shape of the tensor, and the bases of register,
lane, warp and block, or of the offset in shared memory.
"""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

from triton._C.libtriton import gluon_ir, ir
from triton.experimental.gluon.language import (
    BlockedLayout,
    DistributedLinearLayout,
    DotOperandLayout,
    NVMMADistributedLayout,
    NVMMASharedLayout,
    SliceLayout,
    SwizzledSharedLayout,
)
from triton.experimental.gluon.language.amd import AMDMFMALayout, AMDWMMALayout

DATA = Path(__file__).parent.parent / "data" / "triton_encodings.json.gz"
RNG = random.Random(30)


def power(*bits):
    return 1 << RNG.choice(bits)


def blocked():
    lanes = RNG.choice((5, 6))
    first = RNG.randint(0, lanes)
    warps = RNG.choice(([1, 4], [4, 1], [2, 2], [1, 1], [8, 1]))
    threads = [1 << first, 1 << lanes - first]
    return BlockedLayout([power(0, 0, 1, 2), power(0, 1, 2, 3)], threads, warps, RNG.choice(([1, 0], [0, 1])))


def parents():
    warps = RNG.choice(([1, 4], [4, 1], [2, 2], [1, 1], [4, 2]))
    yield NVMMADistributedLayout([2, 0], warps, [16, 8])
    shape = RNG.choice(([32, 32, 8], [16, 16, 16], [32, 32, 16], [16, 16, 32]))
    near = RNG.choice(([1, 1], [1, 1], [2, 2], [1, 2]))
    yield AMDMFMALayout(RNG.choice((3, 4)), shape, RNG.random() < 0.5, warps, tiles_per_warp=near)
    bases = RNG.choice(([[0, 1], [1, 0]], [[1, 0], [0, 1]], [[0, 1], [0, 2]], [[1, 0]], []))
    near = RNG.choice(([], [], []))
    for version, k in ((1, 16), (2, 16), (3, 32)):
        yield AMDWMMALayout(version, RNG.random() < 0.5, bases, near, [16, 16, k])


def layouts():
    for _ in range(60):
        one = blocked()
        yield one
        yield SliceLayout(RNG.choice((0, 1)), one)
        yield DotOperandLayout(RNG.choice((0, 1)), one, 0)
        for parent in parents():
            yield parent
            yield SliceLayout(RNG.choice((0, 1)), parent)
            width = 2 if isinstance(parent, NVMMADistributedLayout) else 4
            if isinstance(parent, AMDWMMALayout):
                width = 16 if parent.version == 1 else 8
            if not isinstance(parent, AMDWMMALayout):
                width = RNG.choice((width, 2 * width))
            yield DotOperandLayout(RNG.choice((0, 1)), parent, width)
        warps = RNG.choice(([4, 1], [8, 1], [4, 2]))
        parent = NVMMADistributedLayout([3, 0], warps, [16, RNG.choice((8, 16, 64, 128, 256)), 16])
        yield parent
        yield DotOperandLayout(0, parent, RNG.choice((2, 4)))
        yield AMDMFMALayout(3, [16, 16, 4], False, [2, 2], element_bitwidth=64)
        yield AMDMFMALayout(3, RNG.choice(([64, 4, 4], [4, 64, 4])), True, [2, 2])
        phases = [power(0, 1, 2, 3), power(0, 1, 2), power(0, 1, 2, 3)]
        yield SwizzledSharedLayout(*phases, RNG.choice(([1, 0], [0, 1])))
        bits = RNG.choice((8, 16, 32))
        yield NVMMASharedLayout(RNG.choice((0, 32, 64, 128)), bits, 2, RNG.random() < 0.3)


def main():
    context = ir.context()
    ir.load_dialects(context)
    builder = gluon_ir.GluonOpBuilder(context)
    rows = []
    for layout in layouts():
        shared = isinstance(layout, (SwizzledSharedLayout, NVMMASharedLayout))
        rank = 1 if isinstance(layout, SliceLayout) else 2
        shape = [power(4, 5, 6, 7, 8) for _ in range(rank)]
        if shared:
            shape = (
                [power(5, 6, 7), power(7, 8)]
                if not getattr(layout, "transposed", False)
                else [power(7, 8), power(6, 7)]
            )
        try:
            found = builder.to_linear_layout(layout._to_ir(builder), shape)
        except Exception as refused:
            print(layout, shape, str(refused)[:100])
            continue
        names = ("offset_bases",) if hasattr(found, "offset_bases") else ("reg_bases", "lane_bases", "warp_bases")
        rows.append([repr(layout), shape, *[getattr(found, name) for name in names]])
    lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]
    one = DistributedLinearLayout([[0, 1], [8, 0]], lanes, [[0, 8], [16, 0]], [], [32, 16])
    found = builder.to_linear_layout(one._to_ir(builder), [32, 16])
    rows.append([repr(one), [32, 16], found.reg_bases, found.lane_bases, found.warp_bases])
    DATA.write_bytes(gzip.compress(json.dumps(rows, separators=(",", ":")).encode(), mtime=0))
    print(len(rows))


if __name__ == "__main__":
    main()
