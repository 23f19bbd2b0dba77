"""All kernels that `mmacalc generate` makes for a target, compiled at once, with inputs and what they must give."""

import shutil

import numpy as np

import mmacalc
from compiling import clang
from hip_kernels import OPTIONS
from mmacalc.arithmetic.codecs import encode
from mmacalc.emulator.execution import execution_of
from mmacalc.emulator.registers import files

HEADER = "#define __global__ __attribute__((global))\n"


def compiled(source, target, path, wave=None, options=()):
    """Compile HIP for a target to a code object."""
    size = ["-mwavefrontsize64"] if wave == 64 and target.startswith("gfx1") else []
    made = clang(*OPTIONS, f"--offload-arch={target}", *options, *size, text=source)
    return shutil.copyfile(made, path)


def assembled(text, target, folder):
    """A listing as a linked code object, fault.hsaco in the folder."""
    made = clang("-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nostdlib", text=text, name="fault.s")
    return mmacalc.load(shutil.copyfile(made, folder / "fault.hsaco"))


def sources(target, wave, step=1):
    """The instructions of a target, and one source with the kernels of them, named n0_... n1_..."""
    insts, parts = [], []
    for inst in mmacalc.instructions(target)[::step]:
        source = mmacalc.generate(inst, ld="constants", wave=wave).partition("#endif")[2]
        parts.append(f"namespace n{len(insts)} {{\n{source.replace('void ', f'void n{len(insts)}_', 1)}\n}}\n")
        insts.append(inst)
    return insts, HEADER + "".join(parts)


def case(inst, wave, seed):
    """The arrays that a generated kernel takes, with D last but for index and scales, and D's codes."""
    rng = np.random.default_rng(seed)
    execution = execution_of(inst, wave, {}, False, False)
    signs = {"neg": 3} if inst.format("A").kind == "either" else {}
    a, b, c = (codes(inst, name, execution.shapes[name], rng) for name in "ABC")
    keywords = dict(signs)
    if inst.sparse:
        keywords["index"] = positions(execution.shapes["K"], inst, rng)
    if inst.scaled:
        keywords |= {
            name: rng.integers(120, 134, execution.shapes[short]).astype(np.uint8)
            for name, short in (("scale_a", "SA"), ("scale_b", "SB"))
        }
    wanted = inst.multiply_bits(a, b, c, wave=wave, **keywords)
    arrays = [memory(inst, name, matrix) for name, matrix in (("A", a), ("B", np.swapaxes(b, -1, -2)), ("C", c))]
    d = np.zeros_like(memory(inst, "D", wanted))
    more = []
    if inst.sparse or inst.scaled:
        registers, _ = files(inst, a, b, c, bits=True, **{"wave": wave, **keywords})
        more = [np.ascontiguousarray(registers[name].T).ravel() for name in ("K", "SA", "SB") if name in registers]
    return [*arrays, d, *more], memory(inst, "D", wanted)


def codes(inst, name, shape, rng):
    form = inst.format(name)
    if form.is_float and form.bits >= 16:
        return encode(rng.standard_normal(shape), form)
    if form.is_float:
        return encode(rng.integers(-4, 5, shape) / 2.0, form)
    return rng.integers(0, 1 << min(form.bits, 20), shape).astype({4: "u1", 8: "u1", 32: "u4"}[form.bits])


def positions(shape, inst, rng):
    """Two ascending positions in every group of four; where one bit chooses, one position of every group of two."""
    period = execution_of(inst, None, {}, False, False).sparsity.period
    if period == 2:
        return rng.integers(0, 2, shape).astype(np.uint8)
    pairs = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], np.uint8)
    return pairs[rng.integers(0, 6, (*shape[:-1], shape[-1] // 2))].reshape(shape)


def memory(inst, name, matrix):
    """The bytes of a matrix of codes, row by row, elements of 4 bits in pairs."""
    bits = inst.operand(name if name in inst.operands else "D").placement.slot_bits
    if bits == 4:
        flat = matrix.reshape(-1, 2)
        return (flat[:, 0] | flat[:, 1] << 4).astype(np.uint8)
    return np.ascontiguousarray(matrix.astype(f"u{bits // 8}")).ravel()
