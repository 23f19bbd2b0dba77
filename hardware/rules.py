"""Which rule of arithmetic does a GPU follow? A program for the GPU, and a reader of what it printed.

    python rules.py run gfx950               write, compile with hipcc or nvcc, run, and read
    python rules.py write sm_90a             rules.cu (of AMD rules.hip) and rules.in
    python rules.py read sm_90a rules.out    what its results decide
    python rules.py run gfx950 --emulate     the results are computed here: shows that the reader finds the rule

The instructions are those whose arithmetic no measurement of their GPU has shown: one of each pair of formats and rule.
Their inputs are chosen so that rules differ: terms that are cut off, sums half a unit above a result, sums that cancel,
zeros of both signs, subnormal values, infinities and NaN. Every rule of mmacalc's tables, with each number of terms at
a time, is computed on the same inputs; what is left is what fits to the bit. Signs of zeros and the bits of NaN are
told beside it, since rules do not decide them alone.
"""

import argparse
import re
import shutil
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
from inputs import seed

import mmacalc
from mmacalc.arithmetic.codecs import decode, encode, largest
from mmacalc.arithmetic.tables import HARDWARE, TABLES
from mmacalc.emulator.computing import compute
from mmacalc.emulator.execution import execution_of as execution_under
from mmacalc.emulator.registers import scatter

KINDS = ("near", "wide", "halves", "cancelling", "zeros", "subnormal", "any")
TRIALS = 3
PLACES = ("A", "B", "C", "D", "K", "SA", "SB")
ARGUMENTS = {"index": "K", "metadata": "K", "scale_a": "SA", "scale_b": "SB"}
HOST = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#ifdef __HIP__
#define GPU(name) hip##name
#else
#define GPU(name) cuda##name
#endif
#define TRY(call) do { auto status = call; if (status) { \
    fprintf(stderr, "%s: %s\n", #call, GPU(GetErrorString)(status)); exit(1); } } while (0)

static FILE *in, *out;

static char *filled(size_t size, bool read) {  // memory of the GPU, from the file of inputs, or zeros
    void *host = calloc(size, 1), *memory;
    if (read && fread(host, 1, size, in) != size) { fprintf(stderr, "rules.in is too short\n"); exit(1); }
    TRY(GPU(Malloc)(&memory, size));
    TRY(GPU(Memcpy)(memory, host, size, GPU(MemcpyHostToDevice)));
    free(host);
    return (char *)memory;
}

static void written(void *memory, size_t size) {
    void *host = malloc(size);
    TRY(GPU(DeviceSynchronize)());
    TRY(GPU(Memcpy)(host, memory, size, GPU(MemcpyDeviceToHost)));
    fwrite(host, 1, size, out);
    free(host);
}

int main() {
    in = fopen("rules.in", "rb"), out = fopen("rules.out", "wb");
    if (!in || !out) { fprintf(stderr, "rules.in cannot be read, or rules.out not written\n"); return 1; }
@RUNS@
    return fclose(out);
}
"""


def execution_of(inst):
    """The execution of an instruction without modifiers."""
    return execution_under(inst, None, {}, False, False)


# --- what is asked ---


def asked(target, everything=False):
    """The smallest instruction of each pair of formats, rule and provenance whose kernel `generate` writes."""
    found = {}
    for inst in mmacalc.instructions(target):
        try:
            numerics = inst.numerics
        except mmacalc.Error:
            continue  # it only moves a matrix
        if numerics.model == "integer" or (numerics.provenance == HARDWARE and not everything):
            continue
        key = numerics.model, str(numerics.parameters), *(inst.format(name).name for name in "ABD"), inst.sparse
        if key not in found or inst.flops < found[key].flops:
            found[key] = inst
    return list(found.values())


def codes_of(inst, kind, trial):
    """The codes of each operand's elements, in the shapes that `multiply_bits` takes."""
    execution = execution_of(inst)
    found = {}
    for place, (name, shape) in enumerate(execution.shapes.items()):
        if name == "D":
            continue
        size = int(np.prod(shape))
        random = np.random.PCG64([seed(inst.name), KINDS.index(kind), trial, place]).random_raw(size)
        codes = (
            _metadata(random, execution.sparsity)
            if name == "K"
            else _floats(execution.formats[name], name, kind, random)
        )
        found[name] = codes.reshape(shape)
    if kind == "cancelling":  # the products of each two k cancel but for the lowest bits
        sign = 1 << (execution.formats["A"].bits - 1)
        found["A"][..., 1::2] = found["A"][..., 0::2] ^ sign
    return found


def _metadata(random, sparsity):
    """Positions of two of four values, in order, for each group; of tf32 of one of two."""
    if sparsity.period == 2:
        return (random >> np.uint64(33) & np.uint64(1)).astype(np.uint8)
    pairs = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]], np.uint8)
    return pairs[(random[::2] >> np.uint64(33)) % 6].ravel()


def _floats(form, name, kind, random):
    """Codes of a format; what is no finite number is a zero, but in "any"."""
    if kind == "any" and name not in ("SA", "SB"):
        return (random >> np.uint64(64 - form.bits)).astype(f"u{max(8, form.bits) // 8}")
    sign = np.where(random & 1, -1.0, 1.0) if name not in ("SA", "SB") else 1.0
    digits = 1 + (random >> np.uint64(12)).astype(float) / 2.0**52
    spread = {"near": 3, "wide": 40, "halves": 6, "cancelling": 2, "zeros": 1, "subnormal": 2}.get(kind, 1)
    power = (random >> np.uint64(1) & np.uint64(0x3FF)).astype(float) % (2 * spread + 1) - spread
    if name in ("SA", "SB"):
        digits, power = 1.0, np.round(power / 8)
    elif kind == "zeros":
        digits = np.where(random >> np.uint64(20) & np.uint64(7) == 0, 1.0, 0.0)
    elif kind == "halves" and name == "C":
        digits = 1 + 2.0**-23  # sums end half a unit beyond it
    elif kind == "subnormal":
        power = power + np.round(np.log2(smallest(form))) / (1 if name == "C" or form.bits < 32 else 2)
    values = np.clip(sign * digits * 2.0**power, -largest(form.name), largest(form.name))
    return encode(values, form)


def smallest(form):
    """The smallest positive value of a format."""
    codes = np.arange(1, 1 << min(14, form.bits - 1), dtype=f"u{max(8, form.bits) // 8}")
    values = decode(codes, form)
    return float(values[values > 0].min())


def by_rule(inst, model, parameters, codes):
    """D's codes by a rule."""
    execution = execution_of(inst)
    return compute(execution.with_numerics(model, parameters), codes, True)


def rules(inst):
    """(model, parameters) of every rule of the tables that could be one of an instruction."""
    stored = inst.k // 2 if inst.sparse else inst.k
    seen = set()
    for row in (row for table in TABLES.values() for row in table):
        takes = "block_scaled" in row.model, row.model == "fp8_two_halves"
        if inst.format("D").bits == 64 and row.model != "fma_chain":
            continue
        if row.model == "integer" or (takes[0] and not inst.scaled) or (takes[1] and inst.format("A").bits != 8):
            continue
        for group in (2, 4, 8, 16, 32, None) if "group" in row.parameters else (None,):
            parameters = dict(row.parameters)
            if group or "group" in parameters:
                parameters["group"] = min(group or stored, stored)
            if parameters.get("pair", 1) > parameters.get("group", 1):
                continue
            key = row.model, tuple(sorted(parameters.items()))
            if key not in seen:
                seen.add(key)
                yield row.model, parameters


# --- the program ---


def memory_image(inst, name, codes):
    """The bytes of an operand as the generated kernel reads it: rows of A, C and D, columns of B, words of others."""
    execution = execution_of(inst)
    if name in ("K", "SA", "SB"):
        place = execution.places(name)
        if name == "K" and execution.sparsity.period == 2:  # 0b0100 names the first of two, 0b1110 the second (PTX ISA)
            codes = np.stack([2 * codes, 2 * codes + 1], axis=-1).reshape(*codes.shape[:-1], -1)
        file = np.zeros((place.registers, place.lanes), np.uint32)
        scatter(file, codes, place)
        return np.ascontiguousarray(file.T).tobytes()  # the registers of a lane one after another
    bits = execution.formats[name].bits
    rows = np.swapaxes(codes, -1, -2) if name == "B" else codes
    slot = inst.operand(name).placement.slot_bits if name in inst.register_operands else bits
    if (slot, bits) == (8, 4):
        return (rows << 2).astype(np.uint8).tobytes()  # e2m1 is in bits 5:2 of its byte (PTX ISA, kind::f8f6f4)
    if bits == 4:
        pairs = rows.astype(np.uint8).reshape(-1, 2)
        return (pairs[:, 0] | pairs[:, 1] << 4).astype(np.uint8).tobytes()
    return np.ascontiguousarray(rows.astype(f"<u{max(bits, 8) // 8}")).tobytes()


def program(instructions):
    """The source and the inputs, for the instructions that `generate` writes a kernel for; and what is left out."""
    sources, runs, data, left_out, kept = [], [], [], [], []
    for inst in instructions:
        try:
            source = mmacalc.generate(inst)
        except mmacalc.Error as refused:
            left_out.append(f"{inst.name}: {refused}")
            continue
        name, parameters = re.search(r"__global__[^;]*?\b(\w+)\(\s*(const [^)]*)\) \{", source).groups()
        threads = re.search(r"dim3\((\d+)\), 0|<<<1, (\d+)>>>", source)
        threads = threads[1] or threads[2]  # of the launch that the last line of the source shows
        runs.append(_runs(inst, f"form_{len(kept)}::{name}", re.split(r",\s*", parameters), threads))
        data += [memory_image(inst, *operand) for codes in cases(inst) for operand in _ordered(inst, codes)]
        sources.append(f"namespace form_{len(kept)} {{\n{source}}}")  # each has its own vector types
        kept.append(inst)
    host = HOST.replace("@RUNS@", "\n".join(runs))
    header = "#include <hip/hip_runtime.h>\n" if any("<hip/" in source for source in sources) else ""
    return header + "\n".join(sources) + host, b"".join(data), kept, left_out


@cache
def cases(inst):
    """The codes of every case of an instruction."""
    return [codes_of(inst, kind, trial) for kind in KINDS for trial in range(TRIALS)]


def _ordered(inst, codes):
    return [(name, codes[name]) for name in ("A", "B", "C", "K", "SA", "SB") if name in codes]


def _runs(inst, name, parameters, threads):
    """The lines of main that run one kernel on all its cases."""
    codes = cases(inst)[0]
    sizes = {key: len(memory_image(inst, key, value)) for key, value in _ordered(inst, codes)}
    execution = execution_of(inst)
    sizes["D"] = int(np.prod(execution.shapes["D"])) * execution.formats["D"].bits // 8
    stored = execution.shapes["A"][-1]
    leading = {"lda": stored, "ldb": execution.shapes["B"][-2], "ldc": inst.n, "ldd": inst.n}
    given = []
    for parameter in parameters:
        kind, argument = re.fullmatch(r"(.*[ *])(\w+)", parameter).groups()
        operand = ARGUMENTS.get(argument, argument)
        given.append(str(leading[argument]) if argument in leading else f"({kind})memory[{PLACES.index(operand)}]")
    lines = [f"    for (int i = 0; i < {len(KINDS) * TRIALS}; i++) {{  // {inst.name}", "        char *memory[7] = {};"]
    for operand in ("A", "B", "C", "K", "SA", "SB", "D"):
        if operand in sizes:
            at, read = PLACES.index(operand), "false" if operand == "D" else "true"
            lines.append(f"        memory[{at}] = filled({sizes[operand]}, {read});")
    lines += [
        f"        {name}<<<1, {threads}>>>({', '.join(given)});",
        f"        written(memory[3], {sizes['D']});",
        "        for (char *each : memory) TRY(GPU(Free)(each));",
        "    }",
    ]
    return "\n".join(lines)


# --- the reader ---


def results_of(kept, data):
    """(instruction, codes of its cases, D's codes) from the bytes that the program wrote."""
    at = 0
    for inst in kept:
        execution = execution_of(inst)
        bits, shape = execution.formats["D"].bits, execution.shapes["D"]
        size = int(np.prod(shape)) * bits // 8 * len(KINDS) * TRIALS
        part = data[at : at + size]
        if len(part) < size:
            raise SystemExit(f"the results end within those of {inst.name}: {len(data)} bytes")
        yield inst, cases(inst), np.frombuffer(part, f"<u{bits // 8}").reshape(-1, *shape)
        at += size
    if at != len(data):
        raise SystemExit(f"the results have {len(data) - at} bytes too many: were they of another version or target?")


def read(kept, data):
    """What the results decide, in lines."""
    for inst, codes, measured in results_of(kept, data):
        form = inst.format("D")
        batch = {name: np.stack([case[name] for case in codes]) for name in codes[0]}
        ours = by_rule(inst, inst.numerics.model, inst.numerics.parameters, batch)
        yield f"{inst.name}: {inst.numerics.model} {dict(inst.numerics.parameters)} ({inst.numerics.provenance})"
        fits = Counter()
        for model, parameters in [(inst.numerics.model, inst.numerics.parameters), *rules(inst)]:
            fits[f"{model} {dict(parameters)}"] = _share(inst, model, parameters, batch, measured)
        yield from _verdict(fits, f"{inst.numerics.model} {dict(inst.numerics.parameters)}")
        yield from _zeros(ours, measured, form)
        yield from _nan(measured, form)


def _share(inst, model, parameters, batch, measured):
    """The share of the results that a rule gives: of the first trial of each kind, and of all if it gives those."""
    share = 1.0
    for cases_ in (slice(0, None, TRIALS), slice(None)):
        if share == 1:
            try:
                found = by_rule(inst, model, parameters, {name: codes[cases_] for name, codes in batch.items()})
            except (ValueError, KeyError, TypeError, mmacalc.Error):
                return 0.0  # the rule has no meaning for these formats
            share = float(_same(found, measured[cases_], inst.format("D")).mean())
    return share


def _same(found, measured, form):
    """Where two results are equal as numbers: zeros of either sign are, and all NaN."""
    ours, theirs = (decode(codes, form) for codes in (found, measured))
    return (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))


def _verdict(fits, ours):
    exact = [rule for rule, share in fits.items() if share == 1]
    if exact:
        yield f"    fits {'this rule' if ours in exact else 'ANOTHER RULE'} to the bit" + (
            "" if exact == [ours] else f"; rules that fit: {'; '.join(exact)}"
        )
        return
    best = fits.most_common(3)
    yield "    NO RULE FITS; nearest: " + "; ".join(f"{rule} {100 * share:.3f} %" for rule, share in best)


def _zeros(ours, measured, form):
    sign = 1 << (form.bits - 1)
    zeros = (measured & (sign - 1)) == 0
    differ = zeros & (ours != measured) & ((ours & (sign - 1)) == 0)
    if zeros.any():
        negative = int((measured[zeros] == sign).sum())
        yield f"    zeros: {int(zeros.sum())}, {negative} of them -0; {int(differ.sum())} of another sign than here"


def _nan(measured, form):
    codes = measured[np.isnan(decode(measured, form))]
    if len(codes):
        most = Counter(codes.tolist()).most_common(6)
        yield "    NaN: " + ", ".join(f"{code:#x} ({times})" for code, times in most)


# --- the command ---


def compiled_and_run(target, name):
    """Compile the program and run it here."""
    compiler = shutil.which("hipcc" if name.endswith(".hip") else "nvcc")
    if compiler is None:
        raise SystemExit("there is no hipcc (for AMD) or nvcc (for NVIDIA) here: it comes with the vendor's SDK")
    if name.endswith(".hip"):
        chosen = [f"--offload-arch={target}"]
    else:
        chosen = ["-gencode", f"arch={target.replace('sm', 'compute')},code={target}"]
    subprocess.run([compiler, *chosen, "-O1", "-std=c++17", name, "-o", "rules"], check=True)
    subprocess.run(["./rules"], check=True)


def emulated(kept):
    """The bytes that the program would write if mmacalc's rules are right."""
    found = []
    for inst in kept:
        batch = cases(inst)
        for codes in batch:
            found.append(
                np.ascontiguousarray(by_rule(inst, inst.numerics.model, inst.numerics.parameters, codes)).tobytes()
            )
    return b"".join(found)


def main(words=None):
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["run", "write", "read"])
    parser.add_argument("target", help="gfx950, sm_90a ...")
    parser.add_argument("results", nargs="?", default="rules.out", help="what the program wrote (default rules.out)")
    parser.add_argument("--all", action="store_true", help="also the instructions that have been measured")
    parser.add_argument("--emulate", action="store_true", help="compute the results here, without a GPU")
    given = parser.parse_args(words)
    source, data, kept, left_out = program(asked(given.target, given.all))
    for line in left_out:
        print(f"left out: {line}", file=sys.stderr)
    if not kept:
        raise SystemExit(f"nothing is left to ask {given.target}: --all asks what has been measured, too")
    name = "rules.hip" if "<hip/" in source else "rules.cu"
    if given.action != "read":
        Path(name).write_text(source)
        Path("rules.in").write_bytes(data)
    if given.action == "run" and not given.emulate:
        compiled_and_run(given.target, name)
    if given.action != "write":
        results = emulated(kept) if given.emulate else Path(given.results).read_bytes()
        print("\n".join(read(kept, results)))


if __name__ == "__main__":
    main()
