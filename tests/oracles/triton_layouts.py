"""Write tests/data/triton_layouts.json.gz: what Triton's AMD backend knows of CDNA4 and CDNA5 layouts.

    pip install triton==3.9.0 && python tests/oracles/triton_layouts.py

No GPU is needed. Two things are asked of it:
linear: the linear layouts of MFMA (version 4) and WMMA (version 3) operands, results and scales. A layout is a
list of bases for the bits of the register and lane index; the coordinates are the XOR of the bases of the set bits.
addresses: the LDS address that every lane gives to each ds_read_*_tr_* load, read off the LLVM IR that Triton
generates for a matrix whose rows (M) are contiguous in LDS.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

DATA = Path(__file__).parent.parent / "data" / "triton_layouts.json.gz"

MFMA = (
    # M, N, K, bits of A and B, the k that a lane holds together (Triton's k_width)
    (32, 32, 8, 16, 4), (16, 16, 16, 16, 4), (32, 32, 16, 16, 8), (16, 16, 32, 16, 8),
    (32, 32, 16, 8, 8), (16, 16, 32, 8, 8), (32, 32, 32, 8, 16), (16, 16, 64, 8, 16),
    (32, 32, 64, 8, 16), (16, 16, 128, 8, 16),
)  # fmt: skip
WMMA = ((16, 16, 32, 16, 8), (16, 16, 128, 8, 16))


def linear_layouts():
    from triton._C.libtriton import gluon_ir, ir
    from triton.experimental.gluon.language import DotOperandLayout
    from triton.experimental.gluon.language.amd import AMDMFMALayout, AMDWMMALayout
    from triton.experimental.gluon.language.amd.cdna4 import get_mfma_scale_layout
    from triton.experimental.gluon.language.amd.cdna5 import get_wmma_scale_layout

    context = ir.context()
    ir.load_dialects(context)
    builder = gluon_ir.GluonOpBuilder(context)

    def entry(arch, shape, operand, layout, extent):
        found = builder.to_linear_layout(layout._to_ir(builder), list(extent))
        return {
            "arch": arch,
            "shape": shape,
            "operand": operand,
            "registers": found.reg_bases,
            "lanes": found.lane_bases,
        }

    def operands(arch, parent, m, n, k, bits, width):
        shape = [m, n, k, bits]
        yield entry(arch, shape, "A", DotOperandLayout(0, parent, width), (m, k))
        yield entry(arch, shape, "B", DotOperandLayout(1, parent, width), (k, n))
        yield entry(arch, shape, "D", parent, (m, n))

    for m, n, k, bits, width in MFMA:
        parent = AMDMFMALayout(4, [m, n, k], False, [1, 1])
        yield from operands("cdna4", parent, m, n, k, bits, width)
        if k >= 64 and m * k == 2048 and width == 16 and bits == 8:
            for index, name in enumerate(("SA", "SB")):
                scale = get_mfma_scale_layout(DotOperandLayout(index, parent, width), [m, k // 32])
                yield entry("cdna4", [m, n, k, bits], name, scale, (m, k // 32))
    for m, n, k, bits, width in WMMA:
        parent = AMDWMMALayout(3, False, [], None, [m, n, k])
        yield from operands("cdna5", parent, m, n, k, bits, width)
        if k == 128:
            packed = AMDWMMALayout(3, False, [], None, [m, n, 64])
            for index, name in enumerate(("SA", "SB")):
                scale = get_wmma_scale_layout(DotOperandLayout(index, packed, width), [m, k // 32], 32)
                yield entry("cdna5", [m, n, k, bits], name, scale, (m, k // 32))


# --- the addresses of the transposing loads ---


def compiled(kernel, arguments):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.experimental.gluon._runtime import GluonASTSource

    signature = {"out": "*i8", **dict.fromkeys(arguments, "constexpr")}
    source = GluonASTSource(kernel, signature, arguments)
    return triton.compile(source, target=GPUTarget("hip", "gfx950", 64), options={"num_warps": 1}).asm["llir"]


def addresses():
    from triton.experimental import gluon
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.language import DotOperandLayout
    from triton.experimental.gluon.language.amd import AMDMFMALayout
    from triton.experimental.gluon.language.amd.cdna4 import load_shared_fp4_repacked

    shared = gl.SwizzledSharedLayout(1, 1, 1, order=[0, 1])

    @gluon.jit
    def whole(out, m: gl.constexpr, k: gl.constexpr, element: gl.constexpr, dot: gl.constexpr, lds: gl.constexpr):
        value = gl.allocate_shared_memory(element, [m, k], lds).load(dot)
        rows = gl.arange(0, m, layout=gl.SliceLayout(1, dot))
        columns = gl.arange(0, k, layout=gl.SliceLayout(0, dot))
        gl.store(out.to(gl.pointer_type(element)) + rows[:, None] * k + columns[None, :], value)

    @gluon.jit
    def packed(out, m: gl.constexpr, k: gl.constexpr, dot: gl.constexpr, lds: gl.constexpr):
        value = load_shared_fp4_repacked(gl.allocate_shared_memory(gl.uint8, [m // 2, k], lds), dot)
        rows = gl.arange(0, m, layout=gl.SliceLayout(1, dot))
        columns = gl.arange(0, k // 2, layout=gl.SliceLayout(0, dot))
        gl.store(out.to(gl.pointer_type(gl.uint8)) + rows[:, None] * (k // 2) + columns[None, :], value)

    cases = [(m, k, bits, width) for m, _, k, bits, width in MFMA] + [(32, 64, 4, 16), (16, 128, 4, 16)]
    for m, k, bits, width in cases:
        dot = DotOperandLayout(0, AMDMFMALayout(4, [m, m, k], False, [1, 1]), width)
        arguments = {"m": m, "k": k, "dot": dot, "lds": shared}
        if bits == 4:
            text = compiled(packed, arguments)
        else:
            text = compiled(whole, {**arguments, "element": {16: gl.float16, 8: gl.int8}[bits]})
        loads = lds_addresses(text)
        if loads:
            yield {"shape": [m, m, k, bits], "loads": loads}


def lds_addresses(text):
    """For each ds.read.tr call of LLVM IR, in order, the LDS address of each of 64 lanes."""
    lanes = range(64)
    values = {"@global_smem": [0] * 64}

    def value(word):
        return values[word] if word in values else [int(word)] * 64

    operations = {
        "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "shl": lambda a, b: a << b,
        "lshr": lambda a, b: a >> b, "add": lambda a, b: a + b, "mul": lambda a, b: a * b,
    }  # fmt: skip
    found = []
    for line in text.splitlines():
        if "workitem.id.x()" in line and (made := re.match(r"\s*(%\d+) =", line)):
            values[made[1]] = list(lanes)
        elif made := re.match(r"\s*(%\d+) = (and|or|xor|shl|lshr|add|mul) [a-z ]*i32 (\S+), (\S+?)(,|$)", line):
            first, second = value(made[3]), value(made[4])
            values[made[1]] = [operations[made[2]](a, b) for a, b in zip(first, second)]
        elif made := re.match(r"\s*(%\d+) = getelementptr [a-z ]*i8, ptr addrspace\(3\) (\S+), i32 (\S+?)(,|$)", line):
            values[made[1]] = [a + b for a, b in zip(value(made[2]), value(made[3]))]
        elif made := re.search(r"ds\.read\.tr(\d+)\.b\d+\S*\(ptr addrspace\(3\) (?:nonnull )?(%\d+)\)", line):
            found.append({"bits": int(made[1]), "addresses": values[made[2]]})
    return found


if __name__ == "__main__":
    content = {"triton": "3.9.0", "linear": list(linear_layouts()), "addresses": list(addresses())}
    DATA.parent.mkdir(exist_ok=True)
    DATA.write_bytes(gzip.compress(json.dumps(content, separators=(",", ":")).encode(), 9, mtime=0))
    print(f"{DATA}: {len(content['linear'])} layouts, {len(content['addresses'])} sets of addresses")
