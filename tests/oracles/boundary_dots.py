"""Dot products on which one parameter of an instruction's arithmetic shows, for every row of every table.

    pip install mmasim==2.1.1 torch
    python tests/oracles/boundary_dots.py tests/data/boundary_dots.txt.gz [--keep]

For every row of `mmacalc.arithmetic.tables` that decides about an instruction, and each of its parameters, one more and
one less are tried (a group of half and double the size, the other truth value) on dot products made for the
purpose; of those on which a result changes a few are kept that catch every change between them. The recorded result is
that of exact rational arithmetic (tests/exact_models), and where MMA-Sim 2.1.1 has the instruction, MMA-Sim's, which
must be the same. What never shows is printed: the floor of f32 results, and what a coarser step later hides.
"""

from __future__ import annotations

import gzip
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
from tests import exact_models
from tests.oracles import mmasim_answers

import mmacalc
from mmacalc.arithmetic.codecs import encode, round_to_format
from mmacalc.arithmetic.models import MODELS, numbers
from mmacalc.arithmetic.numerics import refusal
from mmacalc.catalog import entry
from mmacalc.families.tensor_memory import TYPES

TRIES, KEPT, ROUNDS = 6000, 3, 8
Case = tuple[np.ndarray, np.ndarray, np.ndarray]


def subjects() -> dict[tuple[object, ...], mmacalc.Instruction]:
    """One instruction for each way of computing, the one with the largest K."""
    found: dict[tuple[object, ...], mmacalc.Instruction] = {}
    for arch in mmacalc.architectures():
        table = entry(arch).architecture.arithmetic
        if "arithmetic" in entry(arch).architecture.family.unsupported_topics:
            continue  # nobody has published it
        for inst in entry(arch).instructions():
            if not {"A", "B"} <= set(inst.operands) or refusal(inst):
                continue
            if inst.numerics.model in ("integer", "block_scaled_fp4"):
                continue
            formats = tuple(inst.format(name).name for name in "ABCD")
            numerics = inst.numerics
            widths = [item for item in numerics.parameters.items() if item[0] != "group"]
            key = (table, numerics.model, *widths, numerics.step, formats, numerics.rounding)
            if key not in found or found[key].k < inst.k:
                found[key] = inst
    return found | {(name,): inst for name, inst in tensor_memory_subjects().items()}


def tensor_memory_subjects() -> dict[str, mmacalc.Instruction]:
    """tcgen05.mma of B200 with every choice of types, by a name that has them: every way of computing that MMA-Sim has.

    tests/test_tensor_memory_arithmetic.py holds all other targets, shapes and forms against these.
    """
    found = {}
    for name in entry("sm_100a").tensor_memory_names:
        kind = name.split("kind::")[-1].split(".")[0]
        if not name.startswith("tcgen05.mma.cta_group::1") or kind in ("i8", "ti16", "mxf4", "mxf4nvf4"):
            continue
        inputs, outputs = TYPES[kind]
        for a, b, d in product(inputs, inputs, outputs):
            if kind != "f16" or (a == b and (a, d) != ("bf16", "f16")):
                found[f"{name}:{a}:{b}:{d}"] = named_instruction("sm_100a", f"{name}:{a}:{b}:{d}")
    return found


def named_instruction(arch: str, name: str) -> mmacalc.Instruction:
    """The instruction of a name, to which ":A:B:D" adds the types of a tcgen05.mma."""
    name, *types = name.replace("::", "\0").split(":")
    inst = mmacalc.instruction(arch, name.replace("\0", "::"))
    return inst.shaped(m=128, n=8, a=types[0], b=types[1], d=types[2]) if types else inst


def name_of(inst: mmacalc.Instruction) -> str:
    """The name that `named_instruction` takes."""
    return ":".join([inst.name, *inst.types.values()]) if inst.in_tensor_memory else inst.name


def mutations(name: str, value: object, stored: int) -> list[object]:
    """Other values of a parameter."""
    if isinstance(value, bool):
        return [not value]
    if name == "group":
        return [size for size in (value // 2, value * 2) if 0 < size <= stored]
    if name == "pair":
        return [{2: 4, 4: 2}[value]]
    return [value - 1, value + 1] if isinstance(value, int) else []


def candidates(rng: np.random.Generator, inst: mmacalc.Instruction, stored: int) -> Case:
    """Dot products of few terms, whose exponents lie about as far apart as adders are wide."""
    forms = [inst.format(name) for name in "ABC"]
    used = rng.integers(1, stored + 1, TRIES)
    sparse = np.arange(stored)[None, :] < np.minimum(used, rng.choice([1, 2, 3, 4, stored], TRIES))[:, None]
    order = rng.permuted(np.broadcast_to(np.arange(stored), (TRIES, stored)), axis=1)
    mask = np.take_along_axis(sparse, order, axis=1)
    lowest, highest = 1 - forms[0].bias - forms[0].mantissa, forms[0].bias
    base = rng.integers(max(2 * lowest, -150), min(2 * highest, 60), TRIES)
    base = np.where(rng.random(TRIES) < 0.5, rng.integers(-6, 6, TRIES), base)
    far = np.where(rng.random((TRIES, stored)) < 0.4, 0, rng.integers(0, 36, (TRIES, stored)))
    exponent = base[:, None] - far
    left = np.clip((exponent + rng.integers(-8, 9, exponent.shape)) // 2, lowest, highest)
    x, y = (_significands(rng, form, (TRIES, stored)) for form in forms[:2])
    a, b = x * 2.0**left * mask, y * 2.0 ** (exponent - left) * mask
    c = _significands(rng, forms[2], (TRIES,)) * 2.0 ** (base - rng.integers(-6, 36, TRIES).astype(float))
    c *= rng.random(TRIES) < 0.7
    if forms[0].exponent == 8:  # a subnormal factor beside a large one
        apart = rng.choice([0, 0, 0, -125, 125], TRIES)[:, None]
        a, b = a * 2.0**apart, b * 2.0**-apart
    return tuple(_held(values, form) for values, form in zip((a, b, c), forms))  # type: ignore[return-value]


def _significands(rng: np.random.Generator, form: object, shape: tuple[int, ...]) -> np.ndarray:
    """1, 1 + one bit, all ones, or anything, of either sign."""
    bits = form.mantissa
    one_bit = 2.0 ** -rng.integers(1, bits + 1, shape).astype(float) if bits else 0.0
    anything = np.floor(rng.random(shape) * 2.0**bits) * 2.0**-bits
    fraction = np.choose(rng.integers(0, 4, shape), [0.0, one_bit, 1 - 2.0**-bits, anything])
    return (1 + fraction) * rng.choice([-1.0, 1.0], shape)


def _held(values: np.ndarray, form: object) -> np.ndarray:
    with np.errstate(all="ignore"):
        rounded = round_to_format(values, form)
    return np.where(np.isfinite(rounded), rounded, 0.0)


def computed(inst: mmacalc.Instruction, case: Case, parameters: dict[str, object]) -> np.ndarray:
    """The results of a model with some parameters."""
    a, b, c = (numbers(values.T, inst.format(name)) for values, name in zip(case, "ABC"))
    with np.errstate(all="ignore"):
        return MODELS[inst.numerics.model](a, b, c, inst.format("D"), **parameters)


def exactly(inst: mmacalc.Instruction, case: Case) -> list[float]:
    """The same in rational arithmetic."""
    model = getattr(exact_models, inst.numerics.model)
    emin = tuple(1 - inst.format(name).bias for name in "AB")
    smallest = 1 - inst.format("C").bias
    return [
        model(x, y, z, emin, inst.format("D").name, smallest, **inst.numerics.parameters)
        for x, y, z in zip(case[0].tolist(), case[1].tolist(), case[2].tolist())
    ]


def boundaries(inst: mmacalc.Instruction) -> tuple[Case, list[str]]:
    """Dot products that tell every parameter from its neighbours, and the changes that none was found for."""
    rng = np.random.default_rng(abs(hash(Fraction(len(inst.name), inst.k))))
    stored = inst.k // 2 if inst.sparse else inst.k
    parameters = dict(inst.numerics.parameters)
    wanted = [(name, other) for name, value in parameters.items() for other in mutations(name, value, stored)]
    kept: dict[tuple[str, object], list[Case]] = {change: [] for change in wanted}
    for _ in range(ROUNDS):
        case = candidates(rng, inst, stored)
        right = computed(inst, case, parameters)
        for name, other in wanted:
            have = kept[name, other]
            if len(have) < KEPT:
                wrong = computed(inst, case, {**parameters, name: other})
                differ = np.flatnonzero((right != wrong) & np.isfinite(right) & np.isfinite(wrong))
                terms = (case[0][differ] != 0).sum(axis=1)
                for at in differ[np.argsort(terms, kind="stable")][: KEPT - len(have)]:
                    have.append(tuple(values[at : at + 1] for values in case))
    found = [case for cases in kept.values() for case in cases]
    joined = tuple(np.concatenate([case[i] for case in found]) if found else np.empty((0,)) for i in range(3))
    return joined, [f"{name} {other}" for (name, other), cases in kept.items() if not cases]  # type: ignore[return-value]


def confirm(inst: mmacalc.Instruction, form: tuple[str, str, str], case: Case, wanted: np.ndarray) -> None:
    """MMA-Sim gives the same results."""
    d = inst.format("D")
    for row in range(len(wanted)):
        given = {
            "A": np.tile(encode(case[0][row], inst.format("A")), (inst.m, 1)),
            "B": np.tile(encode(case[1][row], inst.format("B"))[:, None], (1, inst.n)),
            "C": np.full((inst.m, inst.n), encode(case[2][row : row + 1], inst.format("C"))[0]),
        }
        if "SA" in inst.operands:
            one = encode(np.array(1.0), inst.format("SA"))
            given |= {"SA": np.full((inst.m, inst.k // inst.block_size), one)}
            given |= {"SB": np.full((inst.k // inst.block_size, inst.n), one)}
        answer = mmasim_answers.answer(*form, given)[0, 0]
        expected = encode(np.array(wanted[row]), d)
        assert answer == expected or (wanted[row] == 0 and not answer & 0x7FFF), (inst, row, answer, expected)


def caught(inst: mmacalc.Instruction, case: Case) -> np.ndarray:
    """Which row (second axis) shows which change of a parameter (first axis)."""
    parameters = dict(inst.numerics.parameters)
    stored = inst.k // 2 if inst.sparse else inst.k
    right = computed(inst, case, parameters)
    changes = [(name, other) for name, value in parameters.items() for other in mutations(name, value, stored)]
    return np.array([computed(inst, case, {**parameters, name: other}) != right for name, other in changes])


def fewest(inst: mmacalc.Instruction, case: Case) -> list[int]:
    """Rows that catch between them what all rows catch, the most telling first."""
    shown = caught(inst, case)
    left, rows = shown.any(axis=1), []
    while left.any():
        rows.append(int(shown[left].sum(axis=0).argmax()))
        left &= ~shown[:, rows[-1]]
    return rows


def write(path: str, record: dict[tuple[str, str], tuple[Case, np.ndarray]]) -> None:
    """Text: a line for the architecture and instruction, then for each dot product d, c, and k:a:b of its terms."""
    lines = []
    for (arch, name), ((a, b, c), d) in record.items():
        lines.append(f"{arch} {name}")
        for x, y, z, result in zip(a.tolist(), b.tolist(), c.tolist(), d.tolist()):
            terms = [f"{k}:{p!r}:{q!r}" for k, (p, q) in enumerate(zip(x, y)) if (repr(p), repr(q)) != ("0.0", "0.0")]
            lines.append(f"  {result!r} {z!r} {' '.join(terms)}")
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        file.write("\n".join(lines).encode() + b"\n")


def read(path: Path) -> dict[tuple[str, str], tuple[Case, np.ndarray]]:
    """What `write` wrote; the number of terms is the instruction's."""
    record: dict[tuple[str, str], list[list[str]]] = {}
    key = ("", "")
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        words = line.split()
        if line.startswith(" "):
            record.setdefault(key, []).append(words)
        else:
            key = (words[0], words[1])
    found = {}
    for (arch, name), entries in record.items():
        inst = named_instruction(arch, name)
        a, b = np.zeros((2, len(entries), inst.k // 2 if inst.sparse else inst.k))
        for row, (_, _, *terms) in enumerate(entries):
            for k, x, y in (term.split(":") for term in terms):
                a[row, int(k)], b[row, int(k)] = float(x), float(y)
        d, c = np.array([[float(word) for word in words[:2]] for words in entries]).T
        found[arch, name] = ((a, b, c), d)
    return found


def main(path: str, kept: bool = False) -> None:
    """Write the record; `kept`: what it has already stays as it is."""
    forms = {mmasim_answers.instruction(*form): form for form in mmasim_answers.forms()}
    record = dict(read(Path(path))) if kept else {}
    for inst in subjects().values():
        if (inst.arch, name_of(inst)) in record:
            continue
        case, missing = boundaries(inst)
        if not len(case[0]):
            continue
        rows = fewest(inst, case)
        case = tuple(values[rows] for values in case)
        results = np.array(exactly(inst, case))
        if inst in forms:
            confirm(inst, forms[inst], case, results)
        record[inst.arch, name_of(inst)] = case, results
        print(inst.arch, inst.name, len(results), "confirmed" if inst in forms else "", missing, flush=True)
    write(path, record)


if __name__ == "__main__":
    main(sys.argv[1], kept=sys.argv[2:] == ["--keep"])
