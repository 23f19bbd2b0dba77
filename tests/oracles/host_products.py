"""Products by generated kernels, on the host or as PTX, compared with what mmacalc computes of the same matrices."""

import numpy as np

from mmacalc.arithmetic.codecs import decode, encode
from mmacalc.emulator.registers import files, reference_case
from oracles.emulated_kernel import EmulatedKernel
from oracles.host_kernel import HostKernel

EMPTY = 0xA5


def small(rng, shape, form):
    """Random values that the format has and whose products are exact: small integers."""
    lowest = {"bits": 0, "unsigned": 0}.get(form.kind, -2)
    return rng.integers(lowest, 2 if form.bits == 1 else 3, shape).astype(float)


def inputs(inst, wave, seed, **fields):
    """A, B and C for one instruction, A 2:4 if that is sparse, and scales."""
    rng, blocks = np.random.default_rng(seed), (inst.blocks,) * (inst.blocks > 1)
    a = small(rng, (*blocks, inst.m, inst.k), inst.format("A", fields))
    b = small(rng, (*blocks, inst.k, inst.n), inst.format("B", fields))
    c = small(rng, (*blocks, inst.m, inst.n), inst.format("D", fields))
    if inst.sparse:
        sizes = inst.operand("A", wave).layout.sizes
        unit = 2 if sizes["p"] == 8 else 1  # 4-bit types keep pairs
        groups = rng.random((inst.m, inst.k // sizes["p"], sizes["p"] // unit)).argsort(-1) < sizes["s"] // unit
        a *= np.repeat(groups, unit, -1).reshape(a.shape)
        a[np.repeat(groups, unit, -1).reshape(a.shape) & (a == 0)] = 1
    rest = {}
    if inst.scaled:
        step = inst.block_size or inst.k // inst.scale_vec
        for side, shape in (("a", (inst.m, inst.k // step)), ("b", (inst.k // step, inst.n))):
            form = inst.format(f"S{side.upper()}", fields)
            rest[f"scale_{side}"] = encode(2.0 ** rng.integers(-1, 2, shape), form)
    return a, b, c, rest


def packed(codes, order, bits, lead, shift=0):
    """Encodings (..., rows, columns) in memory: row by row or column by column, `lead` elements apart."""
    rows = (codes if order == "row" else codes.swapaxes(-1, -2)).reshape(-1, codes.shape[-1 if order == "row" else -2])
    plane = np.full((len(rows), lead * bits // 8), EMPTY, np.uint8)
    each = (rows.astype(np.uint64) << np.uint64(shift))[..., None] >> np.arange(bits, dtype=np.uint64) & np.uint64(1)
    data = np.packbits(each.astype(np.uint8).reshape(len(rows), -1), axis=1, bitorder="little")
    plane[:, : data.shape[1]] = data
    return np.ascontiguousarray(plane).reshape(-1)


def tile_product(inst, source, orders, folder, wave=None, alone=False, seed=0, lead=0, **fields):
    """How many elements of D a kernel around one instruction gets wrong, and the instructions that it carried out.

    Args:
        lead: elements by which the leading dimensions exceed those of one tile; 0 if they are constants in the source.
    """
    wave = inst.architecture.wave(wave)
    if inst.integer and "neg" in inst.features:
        fields = {**fields, "neg": 3}  # A and B are signed
    a, b, c, rest = inputs(inst, wave, seed, **fields)
    given = {**rest, **fields, **({"wave": wave} if inst.architecture.family.language != "cuda" else {})}
    case = reference_case(inst, a, b, c, False, given)
    registers, _ = files(inst, a, b, c, **given)
    arguments = {}
    names = {"K": ("index", "metadata"), "SA": ("scale_a",), "SB": ("scale_b",)}
    for operand, found in names.items():
        if operand in registers:
            words = np.ascontiguousarray(registers[operand].T)
            arguments |= dict.fromkeys(found, words)
    for name, order in zip("ABCD", (*orders, "row", "row")):
        codes = case.expected if name == "D" else case.codes[name]
        bits, shift = width(inst, name, wave, fields)
        extra = lead * (128 if bits < 8 else 16)  # rows stay aligned to 16 bytes
        ld = codes.shape[-1 if order == "row" else -2] + extra
        arguments[name] = packed(codes, order, bits, ld, shift)
        arguments[f"ld{name.lower()}"] = ld
    wanted = arguments["D"].copy()
    padding = packed(np.zeros_like(case.expected), "row", width(inst, "D", wave, fields)[0], arguments["ldd"]) == EMPTY
    arguments["D"][~padding] = EMPTY
    kernel = runner(inst)(inst, source, folder, wave)
    threads = 128 if "wgmma" in inst.features else wave
    performed = kernel.run(arguments, threads, alone=alone)
    return int((arguments["D"] != wanted).sum()), performed


def runner(inst):
    """What runs a kernel: CUDA's as PTX on the emulator, HIP's and those of wmma (which it lacks) as C on the host."""
    return EmulatedKernel if inst.name.startswith(("mma.", "wgmma.")) else HostKernel


def width(inst, name, wave, fields):
    """The bits of an element's slot in memory, and the place of its lowest bit there."""
    name = name if name in inst.operands else "D"
    if name in inst.outside_registers:
        return inst.format(name).bits, 0
    placement = inst.operand(name, wave, **fields).placement
    return placement.slot_bits, placement.offset


def gemm_product(inst, source, plan, orders, folder, sizes, alone=False, padding=(3, 1)):
    """How many elements of D a generated GEMM gets wrong on small integers, what lies beyond its rows included.

    Args:
        plan: the sizes of the kernel; padding: elements behind each row of A and of B.
    """
    m, n, k = sizes
    rng = np.random.default_rng(1)
    a, b = small(rng, (m, k), inst.format("A")), small(rng, (k, n), inst.format("B"))
    beyond = 2  # columns behind each row of D
    arguments = {"M": m, "N": n, "K": k, "ldd": n + beyond}
    for name, matrix, order, more in zip("AB", (a, b), orders, padding):
        form = inst.format(name)
        arguments[f"ld{name.lower()}"] = ld = matrix.shape[order == "row"] + more
        bits, shift = width(inst, name, plan.wave, {})
        codes = encode(matrix, form, "nvidia" if inst.architecture.family.language == "cuda" else "amd")
        arguments[name] = np.append(packed(codes, order, bits, ld, shift), np.zeros(64, np.uint8))
    form = inst.format("D")
    wanted = np.full((m, n + beyond), np.uint64(0xA5A5A5A5A5A5A5A5)).astype(f"u{form.bits // 8}")
    arguments["D"] = wanted.copy()
    wanted[:, :n] = encode(a @ b, form)
    leads = (arguments[name] for name in ("lda", "ldb", "ldd"))
    name = plan.name + "_any" * (not plan.aligned(m, n, k, *leads))
    kernel = EmulatedKernel(inst, source, folder, plan.wave, name)
    more = {"shared": plan.shared} if getattr(plan, "shared", 0) else {}
    performed = kernel.run(arguments, plan.threads, (plan.blocks(m, n), 1), alone, **more)
    return different(arguments["D"], wanted, n, form), performed


def different(found, wanted, columns, form):
    """How many elements differ: what lies beyond the columns in a bit, the others, which are integers, by a half.

    RDNA3 rounds sums of products that others give exactly; see its arithmetic model.
    """
    inner, outer = np.s_[:, :columns], np.s_[:, columns:]
    far = abs(decode(found[inner], form) - decode(wanted[inner], form)) < 0.5
    return int((~far).sum() + (found[outer] != wanted[outer]).sum())
