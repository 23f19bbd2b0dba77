"""Carries out X, then a chain, then Y on register files, beside NumPy."""

import numpy as np

import mmacalc
from mmacalc.arithmetic.codecs import decode
from mmacalc.emulator.execution import located
from mmacalc.emulator.registers import files, gather


def one_in_each_row(rng, shape):
    """A matrix with a single 1 in each row, which picks rows of another; it is 2:4 sparse as well."""
    matrix = np.zeros(shape, int)
    rows = matrix.reshape(-1, shape[-1])
    rows[np.arange(len(rows)), rng.integers(0, shape[-1], len(rows))] = 1
    return matrix


def run_x(chain, a, b, wave):
    """The D registers of every X, from whole A (blocks, M, K) and B (blocks, K, N)."""
    x = chain.x
    along_f, along_k = chain.tiles.x_tiles
    rows, columns = (along_f, along_k) if chain.tiles.use.f == "i" else (along_k, along_f)
    registers = {}
    for row in range(rows):
        for column in range(columns):
            parts = a[:, row * x.m : (row + 1) * x.m], b[..., column * x.n : (column + 1) * x.n]
            parts = [part if x.blocks > 1 else part[0] for part in parts]
            at = (row, column) if chain.tiles.use.f == "i" else (column, row)
            registers[at] = files(x, *parts, wave=wave)[1]
    return np.stack([registers[at] for at in sorted(registers)])


def run_y(chain, held, partner, wave, modifiers):
    """The product of Y: the operand from the chain, the other from `partner`, (F, n) or (n, F) for each block."""
    y, use = chain.y, chain.tiles.use
    along_f, along_k = chain.tiles.y_tiles
    operand = y.operand("D", wave, **modifiers)
    rows = []
    for f in range(along_f):
        d, total = 0, 0
        for k in range(along_k):
            part = partner[:, k * y.k : (k + 1) * y.k] if use.operand == "A" else partner[..., k * y.k : (k + 1) * y.k]
            zeros = np.zeros((y.blocks, y.m, y.k) if use.operand == "A" else (y.blocks, y.k, y.n), int)
            pair = [
                each if y.blocks > 1 else each[0] for each in ((zeros, part) if use.operand == "A" else (part, zeros))
            ]
            before, _ = files(y, *pair, wave=wave, **modifiers)
            before[use.operand] = held[f * along_k + k]
            b = before["B"] if "B" in y.register_operands else codes_of(y, pair[1])
            index = {"index": before["K"]} if "K" in before else {}
            d = y.execute(before["A"], b, d, **index, wave=wave, **modifiers)
            if y.formats["C"] != y.formats["D"]:  # then D cannot be accumulated
                total, d = total + decode(gather(d, located(operand)), operand.format), 0
        values = total if y.formats["C"] != y.formats["D"] else decode(gather(d, located(operand)), operand.format)
        rows.append(values if y.blocks > 1 else values[None])
    return np.concatenate(rows, axis=1 if use.operand == "A" else 2)


def codes_of(y, matrix):
    """The encodings of wgmma's B, which is no register file."""
    from mmacalc.arithmetic.codecs import encode

    return encode(np.asarray(matrix, float) if y.format("B").is_float else matrix, y.format("B"))


def products(chain, rng, wave, modifiers):
    """What X, the chain and Y compute, and what NumPy does: two arrays (blocks, rows, columns).

    The numbers are small, so that every format holds them, and not negative: RDNA3 adds a product of the other sign
    one unit too low.
    """
    x, y, use = chain.x, chain.y, chain.tiles.use
    f, k = chain.f, chain.k
    shape = (f, k) if use.f == "i" else (k, f)
    a = one_in_each_row(rng, (x.blocks, shape[0], x.k))
    if x.format("A").name == "b1":  # few ones, so that few places differ
        b = one_in_each_row(rng, (x.blocks, shape[1], x.k)).swapaxes(1, 2)
    else:
        b = rng.integers(0, 4, (x.blocks, x.k, shape[1]))
    order, relabel = np.array(chain.order), np.array(chain.relabel if chain.relabel is not None else range(k))
    follow = chain.followers[rng.integers(len(chain.followers))].where if chain.followers else "source"
    loaded_a, loaded_b = a, b
    if follow == "source" and use.f == "j":
        loaded_a = a[:, relabel]
    elif follow == "source":
        loaded_b = b[..., relabel]
    held = chain.apply(run_x(chain, loaded_a, loaded_b, wave))
    exact = product(x, a, b)
    if y.format("A").name == "b1":  # of an integer, the lowest bit
        exact = exact % 2
    s = exact if (use.f == "i") == (use.operand == "A") else exact.swapaxes(1, 2)  # (f, k) for A, (k, f) for B
    partner = other_operand(rng, y, use.operand, k)
    given = partner
    if follow == "partner":
        given = partner[:, order] if use.operand == "A" else partner[..., order]
        if y.sparse:  # pruned in the order of the relabelled k
            given = partner
            partner = partner[..., relabel]
    found = run_y(chain, held, given, wave, modifiers)
    return found, product(y, s, partner) if use.operand == "A" else product(y, partner, s)


def product(inst, a, b):
    """A B; of an instruction that takes exclusive ors, in how many places a row of A and a column of B differ."""
    return (a[..., :, :, None] != b[..., None, :, :]).sum(axis=-2) if inst.bit_operation == "xor" else a @ b


def other_operand(rng, y, operand, k):
    """Y's other operand, (blocks, k, n) or (blocks, m, k), with two ones in each column or row at most."""
    shape = (y.blocks, y.n, k) if operand == "A" else (y.blocks, y.m, k)
    first, second = (one_in_each_row(rng, shape) for _ in range(2))
    picked = first | (second if not y.sparse else 0)
    return picked.swapaxes(1, 2) if operand == "A" else picked


def questions(arch, wave):
    """A pair for every pair of layouts and formats of a result and an operand: (x, y, use, modifiers of y)."""
    known = [
        inst
        for inst in mmacalc.instructions(arch)
        if {"A", "B"} <= {*inst.operands} and "D" in inst.register_operands
        if "wgmma" not in inst.features or inst.n in (8, 24, 64)
        if "wmma" not in inst.features  # refused
    ]
    results, operands = {}, {}
    for inst in known:
        d = inst.operand("D", wave)
        results.setdefault((d.layout, d.format), inst)
        for modifiers in format_choices(inst):
            for use in ("A", "At", "B", "Bt"):
                if use[0] in inst.register_operands and not (use[0] == "A" and inst.sparse):
                    held = inst.operand(use[0], wave, **modifiers)
                    key = (held.layout, held.format, held.placement.slot_bits, inst.sparse, inst.format("D"), use)
                    operands.setdefault(key, (inst, use, modifiers))
    for x in results.values():
        for y, use, modifiers in operands.values():
            if x.blocks == y.blocks and ("wgmma" in x.features) == ("wgmma" in y.features) and alike(x, y):
                yield x, y, use, modifiers


def alike(x, y):
    """Whether D of both is an integer, an f64, or another float."""
    one, other = x.format("D"), y.format("D")
    return one.is_float == other.is_float and (one.bits == 64) == (other.bits == 64)


def format_choices(y):
    fields = [field for field, operand in y.choices.items() if operand in "AB"]
    return [dict.fromkeys(fields, value) for value in (0, 2, 4)] if fields else [{}]
