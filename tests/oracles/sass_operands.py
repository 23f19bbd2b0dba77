"""Record which register of a SASS line is which operand of PTX: python sass_operands.py > TABLE

TABLE is tests/data/nvidia/sass_operands.tsv (gzipped there). Each kernel loads every register of every operand from an
address of its own, runs one instruction and stores D; ptxas compiles it, nvdisasm reads it, and the loads and stores
say where each register comes from and goes. Columns: target, the PTX instruction, the matrix lines of SASS (separated
by " | "), what was loaded into the registers they name ("R4=a0 ..."; a descriptor's two words are its name with .0 and
.1), and which register is stored as which element of D ("d0=R8 ...").

With tcgen05 as its argument it writes tests/data/tensor_memory/sass_mma_operands.tsv: the forms of tcgen05.mma, whose
operands are in uniform registers and which store nothing.

ptxas and nvdisasm must be in PATH. The rows of sm_70 are m8n8k4 by version 12.4 of both, which has that target: call
this with sm_70 and them in PATH.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import mmacalc

LINES = re.compile(r"^\s*/\*[0-9a-f]{4}\*/\s+(.*?)\s*;", re.MULTILINE)
MATRIX = re.compile(r"(?:@!?U?P\w+ )?((?:[HIQOBD]|[HIQB]G|UTC[HIQO])MMA\S*) ")
LOAD = re.compile(r"LDG\.E(?:\.(64))?\S* R(\d+), .*\+(0x[0-9a-f]+)\]")
STORE = re.compile(r"STG\.E\S* .*\+(0x[0-9a-f]+)\], (R\d+)")
MOVE = re.compile(r"(?:R2UR|MOV|IMAD\.MOV\.U32|UMOV)\S* (U?R\d+), (?:RZ, RZ, )?(U?R\d+|0x[0-9a-f]+|U?RZ)$")
RESULTS = 0x4000  # the address of D, after the operands
WGMMA = "wgmma.mma_async.{}sync.aligned.m64n16k{}"


DENSE = """
m16n8k16:f32.f16.f16.f32 m16n8k8:f32.bf16.bf16.f32 m16n8k4:f32.tf32.tf32.f32 m16n8k8:f32.tf32.tf32.f32
m16n8k16:f16.f16.f16.f16 m16n8k32:s32.s8.u8.s32 m16n8k16:s32.u8.u8.s32 m16n8k64:s32.s4.u4.s32 m8n8k4:f64.f64.f64.f64
"""
SPARSE = """
m16n8k16:f32.f16.f16.f32 m16n8k32:f16.f16.f16.f16 m16n8k16:f32.tf32.tf32.f32 m16n8k64:s32.s8.u8.s32
m16n8k128:s32.s4.u4.s32
"""


def kernel(target, text, loads, stores):
    """PTX that loads registers (name: bits), runs `text` and stores others; and the addresses of the loads."""
    body, offsets = [], {}
    for name, bits in loads.items():
        at = 0x100 + 16 * len(offsets)
        body.append(f".reg .b{bits} {name}; ld.volatile.global.b{bits} {name}, [q+{at}];")
        offsets[at] = name
    body += [f".reg .b{bits} {name};" for name, bits in stores.items() if name not in loads]
    body += [text]
    for number, (name, bits) in enumerate(stores.items()):
        body.append(f"st.volatile.global.b{bits} [q+{RESULTS + 16 * number}], {name};")
    lines = "\n".join(body)
    version = "8.4" if target == "sm_70" else "9.0"
    header = f".version {version}\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 pp) {{"
    return f"{header}\n.reg .b64 q; .reg .pred p; ld.param.u64 q, [pp];\n{lines}\nret; }}\n", offsets


def disassembled(target, source):
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "k.cubin")
        subprocess.run(["ptxas", f"-arch={target}", "-o", made, "-"], input=source, text=True, check=True)
        return subprocess.run(["nvdisasm", made], text=True, check=True, capture_output=True).stdout


def traced(listing, offsets):
    """The matrix lines, what the registers before them were loaded with, and which register each store takes."""
    held, matrix, named, stored = {}, [], {}, {}
    for line in LINES.findall(listing):
        load, store, move = LOAD.match(line), STORE.match(line), MOVE.match(line)
        if load and int(load[3], 16) in offsets:
            name, first = offsets[int(load[3], 16)], int(load[2])
            held |= {f"R{first}": f"{name}.0", f"R{first + 1}": f"{name}.1"} if load[1] else {f"R{first}": name}
        elif move:
            held[move[1]] = held.get(move[2], move[2])
        elif store and int(store[1], 16) >= RESULTS:
            stored[f"d{(int(store[1], 16) - RESULTS) // 16}"] = store[2]
        elif MATRIX.match(line):
            named = named or dict(held)
            matrix.append(line)
    return matrix, named, stored


def names(letter, count, bits=32):
    return dict.fromkeys([f"{letter}{number}" for number in range(count)], bits)


def braces(words):
    return f"{{{', '.join(words)}}}"


def fragment(inst, operand):
    wide = inst.format(operand).bits == 64
    return names(operand.lower(), inst.operand(operand).registers // (2 if wide else 1), 64 if wide else 32)


def mma(target, name, ids=None):
    """An mma.sync or mma.sp: the instruction, what it loads and what it stores; ids: byte and thread of SA, of SB."""
    inst = mmacalc.instruction(target, name)
    d, a, b, c = [fragment(inst, operand) for operand in "DABC"]
    loads, words = {**a, **b, **c}, [braces(each) for each in (d, a, b, c)]
    if inst.sparse:
        loads |= {"k0": 32}
        words += ["k0", "0x0"]
    if inst.scaled:
        loads |= {"sa0": 32, "sb0": 32}
        step = inst.scale_vec
        ids = ids or ((4 - step) % 4, 1, (4 - step) % 4, 3)
        words += ["{sa0}", f"{{{ids[0]}, {ids[1]}}}", "{sb0}", f"{{{ids[2]}, {ids[3]}}}"]
    return target, f"{name} {', '.join(words)};", loads, d


def wgmma(k, types, immediates, in_registers=False, sparse=False, condition="p"):
    """A wgmma on sm_90a with the words after its operands."""
    name = f"{WGMMA.format('sp.' if sparse else '', k)}.{types}"
    inst = mmacalc.instruction("sm_90a", name)
    d = fragment(inst, "D")
    a = fragment(inst, "A") if in_registers else {"descA": 64}
    words = [braces(d), braces(a) if in_registers else "descA", "descB"]
    loads = {**a, "descB": 64, **d}
    if sparse:
        loads |= {"k0": 32}
        words += ["k0", "1" if types.count("f16") > 1 else "0"]
    text = f"{name} {', '.join([*words, condition, *immediates])};"
    return "sm_90a", text, {**loads, "cond": 32}, d


def steps(target):
    """The products that several opcodes do."""
    for d, c in (("f16", "f16"), ("f32", "f16"), ("f32", "f32")):
        for layouts in ("row.row", "row.col", "col.row", "col.col"):
            yield mma(target, f"mma.sync.aligned.m8n8k4.{layouts}.{d}.f16.f16.{c}")


def kernels():
    yield from steps("sm_75")
    for d in ("f16", "f32"):
        yield mma("sm_75", f"mma.sync.aligned.m16n8k8.row.col.{d}.f16.f16.{d}")
    yield mma("sm_75", "mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32")
    yield mma("sm_75", "mma.sync.aligned.m8n8k32.row.col.s32.u4.s4.s32")
    yield mma("sm_75", "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc")
    for one in DENSE.split():
        yield mma("sm_80", "mma.sync.aligned.{}.row.col.{}".format(*one.split(":")))
    yield mma("sm_80", "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc")
    for one in SPARSE.split():
        yield mma("sm_80", "mma.sp.sync.aligned.{}.row.col.{}".format(*one.split(":")))
    yield mma("sm_89", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32")
    yield mma("sm_89", "mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e5m2.f32")
    for k in (4, 8, 16):
        yield mma("sm_90a", f"mma.sync.aligned.m16n8k{k}.row.col.f64.f64.f64.f64")
    for types in ("f32.e4m3.e3m2.f32", "f16.e2m1.e5m2.f16"):
        yield mma("sm_120a", f"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.{types}")
        yield mma("sm_120a", f"mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.{types}")
    scaled = (
        ("k32", "kind::mxf8f6f4.block_scale.f32.e4m3.e3m2.f32.ue8m0"),
        ("k64", "kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"),
        ("k64", "kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"),
        ("k64", "kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"),
    )
    for k, rest in scaled:
        yield mma("sm_120a", f"mma.sync.aligned.m16n8{k}.row.col.{rest}")
        yield mma("sm_120a", f"mma.sp::ordered_metadata.sync.aligned.m16n8k{2 * int(k[1:])}.row.col.{rest}")
    for ids in ((0, 0, 0, 0), (1, 0, 0, 0), (2, 1, 1, 2), (3, 0, 2, 1), (0, 1, 3, 0)):
        yield mma("sm_120a", f"mma.sync.aligned.m16n8k32.row.col.{scaled[0][1]}", ids)
    yield from wgmmas()


def wgmmas():
    for sparse in (False, True):
        for scales in (("1", "1"), ("-1", "1"), ("1", "-1"), ("-1", "-1")):
            for a in "01":
                for b in "01":
                    yield wgmma(16 << sparse, "f32.bf16.bf16", (*scales, a, b), sparse=sparse)
                yield wgmma(16 << sparse, "f32.f16.f16", (*scales, a), in_registers=True, sparse=sparse)
        for condition in ("0", "1"):
            yield wgmma(16 << sparse, "f16.f16.f16", ("1", "1", "0", "1"), sparse=sparse, condition=condition)
        for in_registers in (False, True):
            yield wgmma(8 << sparse, "f32.tf32.tf32", ("1", "-1"), in_registers, sparse)
            yield wgmma(32 << sparse, "f32.e4m3.e5m2", ("-1", "1"), in_registers, sparse)
            yield wgmma(32 << sparse, "s32.u8.s8", (), in_registers, sparse)
            if not sparse:
                yield wgmma(256, "s32.b1.b1.and.popc", (), in_registers)


KINDS = ("f16", "tf32", "i8", "f8f6f4", "mxf8f6f4.block_scale.block32", "mxf4.block_scale.block32",
         "mxf4nvf4.block_scale.block32", "mxf4nvf4.block_scale.block16")  # fmt: skip
COLLECTED = ("discard", "fill", "use", "lastuse")


def tensor_memory(kind, ws="", sparse="", pair=1, in_registers=False, collector="", more=(), ashift=""):
    """A tcgen05.mma on sm_100a; more: the words after the predicate, "mask" before it."""
    name = f"tcgen05.mma{ws}{sparse}.cta_group::{pair}.kind::{kind}{ashift}{collector}"
    mask = names("mask", 4 * pair) if "mask" in more else {}
    scales = {"sa": 32, "sb": 32} if "scale" in kind else {}
    a = {"a": 32} if in_registers else {"descA": 64}
    metadata = {"k": 32} if sparse else {}
    loads = {"d": 32, **a, "descB": 64, **metadata, "idesc": 32, **scales, **mask, "cond": 32}
    loads |= {"zero": 64} if "zero" in more else {}
    words = ["[d]", "[a]" if in_registers else "descA", "descB", *(["[k]"] if sparse else []), "idesc"]
    words += [f"[{scale}]" for scale in scales] + ([braces(mask)] if mask else []) + ["p"]
    words += [word for word in more if word != "mask"]
    return "sm_100a", f"{name} {', '.join(words)};", loads, {}


def tensor_memory_products():
    for kind in KINDS:
        for sparse in ("", ".sp"):
            for pair in (1, 2):
                for in_registers in (False, True):
                    yield tensor_memory(kind, "", sparse, pair, in_registers)
                if "scale" not in kind:
                    yield tensor_memory(kind, "", sparse, pair, more=("mask",))
        if kind in ("f16", "tf32"):
            yield tensor_memory(kind, more=("7",))
            yield tensor_memory(kind, more=("mask", "3"), pair=2)
        for collector in COLLECTED:
            yield tensor_memory(kind, collector=f".collector::a::{collector}")
    for kind in KINDS[:4]:
        for sparse in ("", ".sp"):
            yield tensor_memory(kind, ".ws", sparse, in_registers=True)
            yield tensor_memory(kind, ".ws", sparse, more=("zero",))
            for buffer, what in ((0, "discard"), (0, "fill"), (1, "fill"), (1, "lastuse"), (2, "use"), (3, "use")):
                yield tensor_memory(kind, ".ws", sparse, collector=f".collector::b{buffer}::{what}")
    for pair in (1, 2):
        yield tensor_memory("f16", pair=pair, in_registers=True, ashift=".ashift")


CHOSEN = {"sm_70": lambda: steps("sm_70"), "tcgen05": tensor_memory_products}

if __name__ == "__main__":
    print("target", "ptx", "sass", "loaded", "stored", sep="\t")
    for target, text, loads, stores in CHOSEN.get("".join(sys.argv[1:]), kernels)():
        program = text if "cond" not in loads else f"setp.ne.b32 p, cond, 0; {text}"
        if text.startswith("wgmma"):
            program = (
                f"wgmma.fence.sync.aligned; {program} wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
            )
        source, offsets = kernel(target, program, loads, stores)
        matrix, held, stored = traced(disassembled(target, source), offsets)
        loaded = " ".join([f"{register}={name}" for register, name in held.items()])
        print(target, text, " | ".join(matrix), loaded, " ".join([f"{d}={r}" for d, r in stored.items()]), sep="\t")
