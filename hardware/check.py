"""Hold what probe.cu measured against mmacalc's tables and models.

    ./probe > measured.json && python check.py measured.json [--json]
    ./probe --inputs > inputs.json && python check.py --inputs inputs.json     (needs no GPU)

Every run is repeated with `Instruction.execute` on the same inputs. Where a run with exact sums agrees, so do the
fragments, the metadata and the scales that it used; where the others agree as well, so does the arithmetic. The
status is 0 when all exact runs agree, for the arithmetic of some instructions is known to be assumed.
"""

import argparse
import json
import sys
from collections import namedtuple

import numpy as np
from inputs import CODES, MODES, Fill, fills, mix, names, seed, value, word

import mmacalc
from mmacalc.families import shared_memory

Result = namedtuple("Result", "instruction constants mode trial different words")


def inputs(inst, mode, trial):
    """The register files that the probe filled: name -> uint32 (registers, lanes)."""
    start, found = seed(inst.name), {}
    for name in names(inst):
        fill, lanes = fills(inst, name), inst.operand(name).lanes
        step = 2 if fill.width == 64 else 1
        file = np.zeros((fill.registers, lanes), np.uint32)
        for lane in range(lanes):
            for index in range(0, fill.registers, step):
                bits = word(start, trial, name, index, lane)
                if step == 2:
                    bits |= word(start, trial, name, index + 1, lane) << 32
                whole = value(fill, mode, bits)
                file[index, lane] = whole & 0xFFFFFFFF
                if step == 2:
                    file[index + 1, lane] = whole >> 32
        found[name] = file
    return found


def shared(inst, mode, trial, size):
    """The bytes of shared memory that the probe filled."""
    start = seed(inst.name)
    fill = None
    if "wgmma" in inst.features:
        codes, keep, force = CODES[inst.format("B").name]
        bits = inst.format("B").bits
        fill = Fill(1, bits, 0, codes, keep, force, (1 << bits) - 1)
    words = np.zeros(size // 4, np.uint32)
    for i in range(size // 4):
        random = word(start, trial, "B", i & 255, i >> 8)
        words[i] = value(fill, mode, random) if fill else random
    return words.view(np.uint8)


def wgmma_b(inst, mode, trial, swizzle):
    """B as a (K, N) matrix of encodings, read from shared memory where the descriptor says."""
    from make_forms import shared_image

    leading, stride, size = shared_image(inst, swizzle)
    memory, bits = shared(inst, mode, trial, size), inst.format("B").bits
    matrix = np.zeros((inst.k, inst.n), np.uint32)
    for k in range(inst.k):
        for j in range(inst.n):
            at = shared_memory.offset(j, k, bits, swizzle, leading=leading, stride=stride)
            raw = int.from_bytes(memory[at : at + max(1, bits // 8)].tobytes(), "little")
            matrix[k, j] = raw >> (k * bits % 8) & ((1 << bits) - 1)
    return matrix


def expected_product(inst, constants, mode, trial):
    """D's registers as the emulator computes them."""
    held = inputs(inst, mode, trial)
    given = {
        argument: held[name]
        for argument, name in zip(("index", "scale_a", "scale_b"), ("K", "SA", "SB"))
        if name in held
    }
    fields = {name: setting for name, setting in constants.items() if name != "swizzle"}
    b = held["B"] if "B" in held else wgmma_b(inst, mode, trial, constants["swizzle"])
    return inst.execute(held["A"], b, held["C"], **given, **fields)


def row_address(lane):
    """The byte address that the probe gives to a lane of ldmatrix or stmatrix."""
    return 16 * ((lane * 5 + 3) & 31)


def moved_bit(inst, element):
    """The first bit in memory of an element that ldmatrix loads or stmatrix stores."""
    (lane,) = {place.lane for place in inst.operand("P").locate(i=element.row, block=element.block)}
    return 8 * row_address(lane) + element.col * inst.format(inst.register_operands[0]).bits


def expected_move(inst, trial):
    """D's registers after an ldmatrix or movmatrix; the 128 words of shared memory after an stmatrix."""
    start, kind = seed(inst.name), inst.moves
    operand = inst.operand(inst.register_operands[0])
    memory = int.from_bytes(shared(inst, "any", trial, 512).tobytes(), "little")
    taken = [[word(start, trial, "A", r, lane) for lane in range(32)] for r in range(operand.registers)]
    result = np.zeros((inst.operand(inst.register_operands[-2 if kind == "stmatrix" else 0]).registers, 32), np.uint32)
    if kind == "movmatrix":
        source, target = inst.operand("A"), inst.operand("D")
        for lane in range(32):
            for e in target.contents(0, lane):
                (place,) = source.locate(i=e.row, j=e.col)
                result[0, lane] |= (taken[0][place.lane] >> place.lsb & 0xFFFF) << e.lsb
        return result
    mask = (1 << operand.format.bits) - 1
    for register in range(operand.registers):
        for lane in range(32):
            for e in operand.contents(register, lane):
                at = moved_bit(inst, e)
                if kind == "ldmatrix":
                    result[register, lane] |= (memory >> at & mask) << e.lsb
                else:
                    memory = memory & ~(mask << at) | (taken[register][lane] >> e.lsb & mask) << at
    return result if kind == "ldmatrix" else np.frombuffer(memory.to_bytes(512, "little"), np.uint32)


def expected(inst, constants, mode, trial):
    """What a run should have printed."""
    return expected_move(inst, trial) if inst.moves else expected_product(inst, constants, mode, trial)


def words_of(text):
    """Words printed as eight hexadecimal digits each."""
    return np.array([int(text[i : i + 8], 16) for i in range(0, len(text), 8)], np.uint32)


def check(document):
    """A Result for every run of a measurement."""
    for run in document["runs"]:
        inst = mmacalc.instruction(document["target"], run["instruction"])
        found = words_of(run["memory"] if "memory" in run else run["d"])
        wanted = expected(inst, run["constants"], run["mode"], run["trial"]).reshape(-1)
        different = int((found != wanted).sum())
        yield Result(inst.name, run["constants"], run["mode"], run["trial"], different, wanted.size)


def checksum(inst, run):
    """The checksum of a run's inputs, as `probe --inputs` prints it."""
    from make_forms import shared_image

    if inst.moves:
        start, loads = seed(inst.name), inst.moves == "ldmatrix"
        count = 0 if loads else inst.operand("A").registers
        words = [word(start, run["trial"], "A", r, lane) for r in range(count) for lane in range(32)]
        words += shared(inst, "any", run["trial"], 512).view(np.uint32).tolist()
    else:
        words = [w for file in inputs(inst, run["mode"], run["trial"]).values() for w in file.reshape(-1).tolist()]
        if "swizzle" in run["constants"]:
            size = shared_image(inst, run["constants"]["swizzle"])[2]
            words += shared(inst, run["mode"], run["trial"], size).view(np.uint32).tolist()
    total = 0
    for each in words:
        total = mix(total ^ each)
    return total


def check_inputs(document):
    """The runs whose inputs the two programs do not compute alike."""
    runs = [(mmacalc.instruction(document["target"], run["instruction"]), run) for run in document["inputs"]]
    return [run for inst, run in runs if checksum(inst, run) != run["sum"]]


def simulated(target, instructions, trials=1):
    """A document as the probe would print it if the hardware did what the tables say; for tests of this program."""
    from make_forms import variants

    runs = []
    for inst in instructions:
        modes = ("exact",) if inst.moves else MODES
        for said in [{}] if inst.moves else variants(inst, set()):
            about = {**said, "swizzle": "128B"} if "wgmma" in inst.features else said
            for mode in modes:
                for trial in range(trials):
                    result = expected(inst, about, mode, trial).reshape(-1)
                    key = "memory" if inst.moves == "stmatrix" else "d"
                    runs.append(
                        {"instruction": inst.name, "constants": about, "mode": mode, "trial": trial,
                         "d": "", key: "".join(f"{int(x):08x}" for x in result)}
                    )  # fmt: skip
    return {"device": "simulated", "target": target, "runs": runs}


def report(document):
    """The text of a comparison, and whether all exact runs agree."""
    tally = {}
    for result in check(document):
        agreed, wrong, of = tally.get((result.instruction, result.mode), (0, 0, 0))
        tally[result.instruction, result.mode] = (agreed + (not result.different), wrong + result.different, of + 1)
    lines = [f"{document['device']}, {document['target']}: runs that agree to the bit"]
    layouts = True
    for name in dict.fromkeys(name for name, _ in tally):
        cells = []
        for mode in MODES:
            if (name, mode) in tally:
                agreed, wrong, of = tally[name, mode]
                cells.append(f"{mode} {agreed}/{of}" + (f" ({wrong} words differ)" if wrong else ""))
                layouts = layouts and (mode != "exact" or agreed == of)
        lines.append(f"    {name}: {', '.join(cells)}")
    return "\n".join(lines) + "\n", layouts


def main(argv):
    """Check one file; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", help="what probe.cu printed")
    parser.add_argument("--json", action="store_true", help="print one JSON object a run")
    parser.add_argument("--inputs", action="store_true", help="compare the inputs that `probe --inputs` printed")
    options = parser.parse_args(argv)
    with open(options.measured, encoding="utf-8") as stream:
        document = json.load(stream)
    if options.inputs:
        wrong = check_inputs(document)
        print(f"{len(document['inputs']) - len(wrong)} of {len(document['inputs'])} inputs are alike")
        return 1 if wrong else 0
    if options.json:
        for result in check(document):
            print(json.dumps(result._asdict()))
        return 0
    text, layouts = report(document)
    print(text, end="")
    return 0 if layouts else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
