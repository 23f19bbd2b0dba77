"""Write forms.inc: a kernel for every instruction of a target, from mmacalc's catalog.

    python make_forms.py sm_90a > forms.inc
    nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a -O1 probe.cu -o probe

A kernel runs one instruction once on the registers (and the shared memory) that the host filled; it knows of no
layout. What a constant changes (the sparsity selector, the ids of scales, wgmma's swizzle) is a form of its own.
"""

import json
import sys
from itertools import product

from inputs import ORDER, fills, names

import mmacalc
from mmacalc.families import shared_memory

WGMMA_N = (8, 24, 64)
TAILS = {"f16": ",1,1,0", "bf16": ",1,1,0", "tf32": ",1,1", "e4m3": ",1,1", "e5m2": ",1,1"}


def variants(inst, seen):
    """The values of the constants to try: all of them for the first instruction of each kind, else the ends."""
    limits = inst.modifier_limits()
    every = [dict(zip(limits, chosen)) for chosen in product(*limits.values())]
    kind = (inst.kind, inst.scale_vec, inst.sparse, inst.m, inst.n, inst.k)
    if len(every) > 4 and kind in seen:
        return [every[0], every[-1]]
    seen.add(kind)
    return every


def shared_image(inst, swizzle):
    """(leading, stride, bytes) of wgmma's B, K-major: tiles of eight columns, one after another."""
    depth = inst.k * inst.format("B").bits // 8
    row = shared_memory.SWIZZLES[swizzle].row_bytes
    tiles = max(1, depth // row)
    return 8 * row, 8 * row * tiles, inst.n // 8 * 8 * row * tiles


def slots(first, count):
    """A PTX vector of asm operands."""
    return f"{{{','.join(f'%{first + i}' for i in range(count))}}}"


def mma(inst, constants):
    """The body of an mma or mma.sp: results in d, or for f64 in w, inputs in x in the order of `names`."""
    wide = inst.formats["D"] == "f64"
    count = inst.operand("D").registers // (2 if wide else 1)
    results = [f'"=l"(w[{i}])' if wide else f'"=r"(d[{i}])' for i in range(count)]
    parts, inputs, word, at = {"D": slots(0, count)}, [], 0, count
    for name in names(inst):
        registers = fills(inst, name).registers
        pair = inst.formats.get(name) == "f64"
        given = [f'"l"(W64(x+{word + i}))' if pair else f'"r"(x[{word + i}])' for i in range(0, registers, 1 + pair)]
        parts[name] = slots(at, len(given)) if name in "ABC" else f"%{at}"
        inputs += given
        word, at = word + registers, at + len(given)
    text = [parts[name] for name in "DABC"]
    if inst.sparse:
        text += [parts["K"], str(constants["selector"])]
    for side in "ab" if inst.scaled else "":
        text += [parts[f"S{side.upper()}"], f"{{{constants[f'byte_id_{side}']},{constants[f'thread_id_{side}']}}}"]
    body = f'asm volatile("{inst.name} {", ".join(text)};":{",".join(results)}:{",".join(inputs)});'
    return f"u64 w[{count}];{body} SPLIT(d,w,{2 * count})" if wide else body


def wgmma(inst, constants):
    """The body of a wgmma: A and, when sparse, K in x; the accumulator in d; B's descriptor in b."""
    count, a = inst.operand("D").registers, fills(inst, "A").registers
    inputs = [*(f'"r"(x[{i}])' for i in range(a)), '"l"(b)']
    text = [slots(0, count), slots(count, a), f"%{count + a}"]
    if inst.sparse:
        inputs.append(f'"r"(x[{a + count}])')
        text += [f"%{count + a + 1}", str(constants["selector"])]
    results = ",".join(f'"+r"(d[{i}])' for i in range(count))
    issue = f"{inst.name} {', '.join(text)}, p{TAILS.get(inst.formats['A'], '')};"
    text = f"{{.reg .pred p; setp.eq.u32 p,0,0; {issue}}}"
    return f'COPY(d,x+{a},{count}) ISSUE("{text}",AS({results}),AS({",".join(inputs)}))'


def moving(inst):
    """The body of an ldmatrix, stmatrix or movmatrix, and its words in and out; s is the lane's row address."""
    count = inst.operand(inst.register_operands[0]).registers
    held, results = slots(0, count), ",".join(f'"=r"(d[{i}])' for i in range(count))
    if inst.moves == "movmatrix":
        return f'asm volatile("{inst.name} %0, %1;":"=r"(d[0]):"r"(x[0]));', 1, 1
    if inst.moves == "ldmatrix":
        return f'asm volatile("{inst.name} {held}, [%{count}];":{results}:"r"(s):"memory");', 0, count
    given = ",".join(f'"r"(x[{i}])' for i in range(count))
    return f'asm volatile("{inst.name} [%{count}], {held};"::{given},"r"(s):"memory");', count, 0


def row(inst, said, kernel, kind, kept, order, words, out, image=0, descriptor=0, b=None):
    """One line of the table, in the order of struct Form."""
    tables = ",".join(map(c_fill, kept)) or "{}"
    constants = json.dumps(said, separators=(",", ":")).replace('"', '\\"')
    shared = f"{image},{descriptor:#x}ull,{c_fill(b) if b else '{}'}"
    return f'{{"{inst.name}","{constants}",{kind},{kernel},{words},{out},"{order}",{{{tables}}},{shared}}}'


def c_fill(fill):
    """A Fill as a C initialiser."""
    codes = ",".join(f"{code:#x}ull" for code in fill.codes)
    masks = ",".join(f"{mask:#x}ull" for mask in (fill.keep, fill.force, fill.full))
    return f"{{{fill.registers},{fill.width},{fill.offset},{{{codes}}},{masks}}}"


def b_fill(inst):
    """How the shared memory of wgmma's B is filled: as A would be, with B's format."""
    from inputs import CODES, Fill

    codes, keep, force = CODES[inst.format("B").name]
    bits = inst.format("B").bits
    return Fill(1, bits, 0, codes, keep, force, (1 << bits) - 1)


def forms(target):
    """(kernel, line of the table) of every form of a target; `@` stands for its number."""
    seen = set()
    for inst in mmacalc.instructions(target):
        if "move" in inst.features and "wmma" not in inst.features:
            body, words, out = moving(inst)
            yield f"MOVE(@,{words},{out},{body})", row(inst, {}, "run_@", "MOVING", (), "", words, out, 512)
        elif "wmma" not in inst.features and ("wgmma" not in inst.features or inst.n in WGMMA_N):
            kept = [fills(inst, name) for name in names(inst)]
            order = "".join(str(ORDER.index(name)) for name in names(inst))
            words, out = sum(fill.registers for fill in kept), inst.operand("D").registers
            for said in variants(inst, seen):
                if "wgmma" not in inst.features:
                    kernel = f"MMA(@,{words},{out},{mma(inst, said)})"
                    yield kernel, row(inst, said, "run_@", "WARP", kept, order, words, out)
                    continue
                for swizzle in ("none", "128B"):
                    leading, stride, image = shared_image(inst, swizzle)
                    word = shared_memory.descriptor(0, leading, stride, swizzle)
                    kernel = f"WGMMA(@,{words},{out},{wgmma(inst, said)})"
                    about = {**said, "swizzle": swizzle}
                    shared = (image, word, b_fill(inst))
                    yield kernel, row(inst, about, "run_@", "GROUP", kept, order, words, out, *shared)


def main(target):
    """The text of forms.inc for a target."""
    kernels, table = zip(*forms(target))
    lines = [f'#define TARGET "{target}"']
    lines += [kernel.replace("@", str(number), 1) for number, kernel in enumerate(kernels)]
    lines += ["static const Form FORMS[] = {"]
    lines += [f"    {line.replace('run_@', f'run_{number}')}," for number, line in enumerate(table)]
    return "\n".join([*lines, "};"]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(main(sys.argv[1]))
